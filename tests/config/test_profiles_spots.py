"""Spot profiles: widths, shapes and measured beams from TOML, PNG and CSV, and sentences where that fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import in_process
import numpy as np
import pytest
from builders import design
from PIL import Image
from shapely import box

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.cli import main
from laserpath.config import profiles
from laserpath.physics import optics
from laserpath.physics.optics import BeamImage, BeamTable
from laserpath.planning import header
from laserpath.types import Process, Resin, Settings, Spot

pytestmark = in_process.HERE

SAMPLE = Path(__file__).parents[2] / "samples" / "holes.svg"


def spot(folder: Path, text: str) -> Spot:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return profiles.spot(path)


def beam(
    fwhm: tuple[float, float] = (50.0, 50.0),
    size: int = 240,
    noise: float = 0.0,
    dark: float = 0.04,
    peak: float = 0.9,
    centre: float = 0.5,
) -> Floats:
    """A Gaussian beam of these widths (x, y) in pixels on a dark level, 0 to 1; row 0 is the top."""
    y, x = np.mgrid[:size, :size] - centre * (size - 1)
    light = (peak - dark) * np.exp(-4 * np.log(2) * ((x / fwhm[0]) ** 2 + (y / fwhm[1]) ** 2))
    return light + dark + noise * np.random.default_rng(0).standard_normal(light.shape)


def save(folder: Path, light: Floats, kind: type = np.uint8) -> None:
    full = np.iinfo(kind).max
    Image.fromarray((np.clip(light, 0, 1) * full).round().astype(kind)).save(folder / "beam.png")


# Widths and shapes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fwhm_um = 80", Spot(0.08)),
        ("fwhm_um = [80, 80]", Spot(0.08)),
        ("profile = 'gaussian'\nfwhm_mm = 0.02", Spot(0.02, "gaussian")),
        ("profile = 'airy-function'\nfwhm_mm = 0.02", Spot(0.02, "airy-function")),
        ("fwhm_um = 80\nangle_deg = -30", Spot(0.08, angle=-30.0)),
        ("fwhm_um = 2\ndefocus_um = -3\nwavelength_nm = 405",
         Spot(0.002, defocus=-0.003, wavelength=405e-6)),
    ],
)  # fmt: skip
def test_what_a_profile_says(tmp_path: Path, text: str, expected: Spot) -> None:
    assert spot(tmp_path, text) == expected


def test_two_widths_make_an_ellipse(tmp_path: Path) -> None:
    bare = spot(tmp_path, "profile = 'gaussian'\nfwhm_um = [120, 30]\nangle_deg = 90")
    assert (bare.fwhm, bare.aspect) == (pytest.approx(0.06), pytest.approx(4))
    half = optics.profile(bare, 0) / 2
    assert optics.profile(bare, 0, 0.06) == pytest.approx(half)
    assert optics.profile(bare, 0.015, 0) == pytest.approx(half)


def test_the_radius_at_1e2_is_that_of_a_data_sheet(tmp_path: Path) -> None:
    fibre = spot(tmp_path, "profile = 'gaussian'\nradius_1e2_um = 10")
    ratio = optics.profile(fibre, 0.01) / optics.profile(fibre, 0)
    assert ratio == pytest.approx(np.exp(-2))
    assert spot(tmp_path, "profile = 'gaussian'\nradius_1e2_um = [20, 10]").aspect == pytest.approx(2)


def test_an_objective_out_of_focus(tmp_path: Path) -> None:
    objective = spot(tmp_path, "na = 0.1\nwavelength_nm = 405\ndefocus_um = 35")
    sharp = replace(objective, defocus=0.0)
    assert optics.fwhm(sharp) == pytest.approx(0.5145 * 405e-6 / 0.1, rel=1e-4)
    assert optics.profile(objective, 0) / optics.profile(sharp, 0) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("angle_deg = 30", "key 'fwhm_mm' is missing"),
        ("fwhm_mm = [1, 2, 3]", "fwhm_mm has 3 numbers"),
        ("fwhm_mm = [0.1, 0]", "fwhm_mm is 0, but must be a finite number above 0"),
        ("fwhm_mm = 0.1\nangle_deg = nan", "angle_deg is nan, but must be a finite number$"),
        ("fwhm_mm = 0.1\nangle_deg = 400", "angle is 400.*between -360 and 360"),
        ("fwhm_mm = 0.1\nangle = 40", "key 'angle' is unknown; did you mean angle_deg"),
        ("fwhm_mm = [2, 0.1]", "aspect is 20.*between 0.1 and 10"),
        ("fwhm_mm = 0.1\nradius_1e2_mm = 1", "gives the FWHM as well as radius_1e2"),
        ("radius_1e2_mm = 1", "radius_1e2 is the width of a Gaussian"),
        ("profile = 'gaussian'\nna = 0.1\nwavelength_nm = 405",
         "na is the width of an Airy spot, not .*'gaussian'"),
        ("fwhm_mm = 0.1\ndefocus_mm = 1", "spot defocus 1 mm needs a wavelength"),
        ("profile = 'airy-function'\nfwhm_mm = 0.1\ndefocus_mm = 1\nwavelength_nm = 405",
         "'airy-function' has no defocus"),
        ("fwhm_mm = 0.1\nwavelength_nm = -5", "wavelength"),
        ("na = 2.5\nwavelength_nm = 405", "na is 2.5, but must be at most 1.7"),
        ("profile = 'measured'\nfwhm_mm = 0.1", "key 'measured' is missing"),
        ("fwhm_mm = 0.1\npixel_um = 3", "key 'measured' is missing"),
        ("measured = 'beam.png'\npixel_um = 1", "beam.png' is missing"),
        ("measured = 'beam.bmp'", "beam.bmp' is neither a .png nor a .csv"),
        ("measured = 'mine.toml'", "mine.toml' is neither a .png nor a .csv"),
        ("measured = ''", "measured is '', but must be text"),
    ],
)  # fmt: skip
def test_a_bad_spot_is_refused_with_its_key_and_value(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        spot(tmp_path, text)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


# Photographs


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_photograph_of_a_gaussian_is_a_gaussian(tmp_path: Path, kind: type, noise: float) -> None:
    save(tmp_path, beam((60.0, 40.0), noise=noise), kind)
    measured = spot(tmp_path, "measured = 'beam.png'\npixel_um = 0.5")
    assert measured.profile == "measured"
    assert measured.fwhm == pytest.approx(np.sqrt(60 * 40) * 0.5e-3, rel=3e-3)
    gaussian = Spot(measured.fwhm, "gaussian", aspect=1.5)
    x, y = np.random.default_rng(1).uniform(-0.03, 0.03, (2, 500))
    expected = optics.profile(gaussian, x, y)
    np.testing.assert_allclose(optics.profile(measured, x, y), expected, atol=0.012 * expected.max())


def test_the_top_of_the_picture_is_the_top_of_the_spot(tmp_path: Path) -> None:
    light = beam()
    light += np.roll(beam((20.0, 20.0), dark=0.0, peak=0.3), (-40, 25), (0, 1))  # up and to the right
    save(tmp_path, light * 0.8)
    measured = spot(tmp_path, "measured = 'beam.png'\npixel_um = 1")
    lobe, opposite = (optics.profile(measured, s * 0.022, s * 0.035) for s in (1, -1))
    assert lobe > 1.5 * opposite


@pytest.mark.slow
def test_noise_neither_widens_the_spot_nor_asks_for_a_finer_grid(tmp_path: Path) -> None:
    save(tmp_path, beam(fwhm=(30.0, 30.0), size=144, noise=0.02))
    measured = spot(tmp_path, "measured = 'beam.png'\npixel_um = 1")
    gaussian = Spot(measured.fwhm, "gaussian")
    for radius in (0.03, 0.06):
        outside = optics.energy_outside(gaussian, radius)
        assert optics.energy_outside(measured, radius) == pytest.approx(outside, abs=0.01)
    assert optics.cutoff(measured, 1e-4) * measured.fwhm < 5
    as_it_is = spot(tmp_path, "measured = 'beam.png'\npixel_um = 1\nsmooth_um = 0")
    assert optics.cutoff(as_it_is, 1e-2) * as_it_is.fwhm > 8


def test_a_coarse_photograph_and_a_fine_one_are_the_same_spot(tmp_path: Path) -> None:
    spots = []
    for pixels in (6, 150):
        save(tmp_path, beam((pixels, pixels), size=5 * pixels), np.uint16)
        spots.append(spot(tmp_path, f"measured = 'beam.png'\npixel_um = {60 / pixels}"))
        assert isinstance(spots[-1].measured, BeamImage)
        assert 20 < spots[-1].fwhm / spots[-1].measured.pitch < 70
    coarse, fine = spots
    assert coarse.fwhm == pytest.approx(fine.fwhm, rel=0.02)
    r = np.linspace(0, 0.1, 50)
    peak = optics.profile(fine, 0.0)
    np.testing.assert_allclose(optics.profile(coarse, r), optics.profile(fine, r), atol=0.04 * peak)


def test_the_width_may_be_given_and_the_picture_turned(tmp_path: Path) -> None:
    save(tmp_path, beam((60.0, 30.0)))
    turned = spot(tmp_path, "measured = 'beam.png'\npixel_um = 1\nfwhm_um = 80\nangle_deg = 90")
    assert turned.fwhm == 0.08
    assert optics.profile(turned, 0, 0.04) > 2 * optics.profile(turned, 0.04, 0)


def test_a_photograph_is_not_stretched(tmp_path: Path) -> None:
    """A table is round, and may be; a photograph has a shape, which a pair of widths would stretch again."""
    save(tmp_path, beam((60.0, 30.0)))
    with pytest.raises(InputError, match="photograph has its own shape; give one fwhm_um") as caught:
        spot(tmp_path, "measured = 'beam.png'\npixel_um = 1\nfwhm_um = [80, 120]")
    assert "mine.toml" in str(caught.value)
    one = spot(tmp_path, "measured = 'beam.png'\npixel_um = 1\nfwhm_um = [80, 80]")
    assert (one.fwhm, one.aspect) == (0.08, 1)
    with pytest.raises(InputError, match="spot aspect is 2, but a photograph has its own shape"):
        replace(one, aspect=2.0)
    table(tmp_path)
    assert spot(tmp_path, "measured = 'beam.csv'\nfwhm_um = [80, 20]").aspect == pytest.approx(4)


def test_colours_are_added_up(tmp_path: Path) -> None:
    light = (beam() * 200).astype(np.uint8)
    Image.fromarray(np.stack([0 * light, 0 * light, light], axis=2)).save(tmp_path / "beam.png")
    blue = spot(tmp_path, "measured = 'beam.png'\npixel_um = 1")
    assert blue.fwhm == pytest.approx(0.05, rel=5e-3)


@pytest.mark.parametrize(
    ("light", "words"),
    [
        (beam(peak=2.0), r"overexposed: \d+% of its bright pixels have the highest value, 255"),
        (beam(centre=0.1),
         r"part of the beam only: its edge has \d+% of the peak, but must be dark, below 5%"),
        (beam((240.0, 240.0)), r"its edge has \d+% of the peak, but must be dark, below 5%"),
        (beam((240.0, 240.0), noise=0.02), r"its edge has \d+% of the peak, but must be dark, below 5%"),
        (np.full((50, 50), 0.3), "shows no beam"),
        (beam(peak=0.04, noise=0.02), "shows no beam"),
        (np.full((2, 9), 0.3), "9 × 2 pixels, but at least 3 × 3"),
    ],
)  # fmt: skip
def test_a_bad_photograph_is_refused(tmp_path: Path, light: Floats, words: str) -> None:
    save(tmp_path, light)
    with pytest.raises(InputError, match=rf"measured spot '.*beam.png': it .*{words}"):
        spot(tmp_path, "measured = 'beam.png'\npixel_um = 1")


def test_a_photograph_needs_its_pixels_and_must_be_one(tmp_path: Path) -> None:
    save(tmp_path, beam())
    with pytest.raises(InputError, match="needs 'pixel_um'"):
        spot(tmp_path, "measured = 'beam.png'")
    data = (tmp_path / "beam.png").read_bytes()
    for broken in (b"", b"hello", data[: len(data) // 2]):
        (tmp_path / "beam.png").write_bytes(broken)
        with pytest.raises(InputError, match=r"beam.png'.* (PNG file|cut off)"):
            spot(tmp_path, "measured = 'beam.png'\npixel_um = 1")


# Tables


def table(folder: Path, rows: int = 41, first: str = "radius_um,intensity", end: float = 90.0) -> None:
    radius = np.linspace(0, end, rows)
    intensity = 3 * np.exp(-4 * np.log(2) * (radius / 40) ** 2)
    lines = (f"{r},{i}" for r, i in zip(radius, intensity, strict=True))
    (folder / "beam.csv").write_text("\n".join(["# measured yesterday", first, *lines]), encoding="utf-8")


def test_a_table_of_a_gaussian_is_a_gaussian(tmp_path: Path) -> None:
    table(tmp_path)
    measured = spot(tmp_path, "measured = 'beam.csv'")
    assert isinstance(measured.measured, BeamTable)
    assert measured.fwhm == pytest.approx(0.04, rel=1e-3)
    gaussian = Spot(measured.fwhm, "gaussian")
    r = np.linspace(0, 0.09, 100)
    peak = optics.profile(gaussian, 0)
    np.testing.assert_allclose(optics.profile(measured, r), optics.profile(gaussian, r), atol=2e-3 * peak)
    assert optics.cutoff(measured, 1e-5) * measured.fwhm < 5


def test_a_table_may_be_taken_as_it_is(tmp_path: Path) -> None:
    table(tmp_path, first="radius_mm,intensity")
    measured = spot(tmp_path, "measured = 'beam.csv'\nsmooth_um = 0\nfwhm_um = 7").measured
    assert isinstance(measured, BeamTable)
    assert len(measured.radius) == 41
    assert measured.radius[-1] == 90


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begins with '', but must with 'radius_um,intensity'"),
        ("r,i\n0,1\n1,0", "begins with 'r,i', but must with 'radius_um,intensity'"),
        ("radius_um,intensity\n0,1\n1,zero", "has '1,zero' as row 3, but two numbers"),
        ("radius_um,intensity\n0,1\n1", "has '1' as row 3, but two numbers"),
        ("radius_um,intensity\n0,1\n1,nan", "beam intensity is not finite in 1 of 2 values"),
        ("radius_um,intensity\n0,1\n1,-1", "beam intensity must be nowhere below 0"),
        ("radius_um,intensity\n1,1\n2,0", "beam radius must begin at 0"),
        ("radius_um,intensity\n0,1\n2,1\n1,0", "beam radius must begin at 0 and rise"),
        ("radius_um,intensity\n", "must begin at 0|nowhere below 0"),
        ("radius_um,intensity\n0,1\n1,0.5", "ends at 50% of its peak, above 5%; measure farther out"),
        ("radius_um,intensity\n0,1\n1,0\n999999,0", r"out to 766 \d00 FWHM, too far"),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "beam.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"beam.csv': .*({words})"):
        spot(tmp_path, "measured = 'beam.csv'")


def test_a_table_has_no_pixels_and_is_text(tmp_path: Path) -> None:
    table(tmp_path)
    with pytest.raises(InputError, match="is a table, and has no pixels"):
        spot(tmp_path, "measured = 'beam.csv'\npixel_um = 1")
    (tmp_path / "beam.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InputError, match="not a text file"):
        spot(tmp_path, "measured = 'beam.csv'")


# What the program's header and the command line say


@pytest.mark.parametrize(
    ("spot", "resin", "line"),
    [
        (Spot(0.1), Resin(), "Spot: airy, FWHM 0.1 mm"),
        (Spot(0.1, "gaussian", aspect=2.0, angle=30.0), Resin(),
         "Spot: gaussian, FWHM 0.1 mm, 2 times as long along 30 degrees as across"),
        (
            Spot(0.002, defocus=-0.01, wavelength=405e-6),
            Resin(order=2),
            "Spot: airy, FWHM 0.002 mm, -0.01 mm out of focus at 405 nm, "
            "to the power 2: as many photons at once",
        ),
        (Spot(0.02, "measured", measured=BeamTable([0, 1, 2], [1, 0.5, 0])), Resin(),
         "Spot: measured table, FWHM 0.02 mm"),
    ],
)  # fmt: skip
def test_the_header_says_what_the_spot_is(spot: Spot, resin: Resin, line: str) -> None:
    assert line in header(design(box(0, 0, 1, 1)), Process(spot, resin), Settings())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fwhm_mm = 0.1\nangel_deg = 3", "did you mean angle_deg"),
        ("measured = 'beam.png'\npixel_um = 1", "beam.png' is missing"),
        ("fwhm_mm = 0.1\ndefocus_mm = 1e6\nwavelength_nm = 405", "must be within 20"),
    ],
)
def test_a_bad_spot_ends_the_command_with_2_and_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    arguments = ["plan", str(SAMPLE), "--spot", str(tmp_path / "bad.toml"), "--iterations", "2"]
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "-o", str(tmp_path / "out")])
    assert caught.value.code == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert words in sentence
    assert not (tmp_path / "out").exists()
