"""PNG and TIFF: edges between pixels, whole pixels for two levels, and ink of every mode."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any

import in_process
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within
from PIL import Image
from refusals import refusal
from same_shape import as_png
from shapes import NODING, differing_area

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.image import ink, outline, read
from laserpath.design.reading import Reading
from laserpath.design.target import rasterise
from laserpath.types import Design, Grid

pytestmark = in_process.HERE

PIXEL = 0.1  # mm
READING = Reading(1e-4, pixel=PIXEL)


def saved(array: Any, kind: str = "PNG", mode: str = "", **how: Any) -> bytes:
    """An array or an image as a file."""
    picture = array if isinstance(array, Image.Image) else Image.fromarray(array)
    out = io.BytesIO()
    (picture.convert(mode) if mode else picture).save(out, kind, **how)
    return out.getvalue()


def drawn(area: shapely.Geometry, columns: int, rows: int) -> Floats:
    """The coverage of unit pixels, centres at whole numbers, in 256 steps."""
    coverage = rasterise(Design(area), Grid((0.0, 0.0), 1.0, (rows, columns))).coverage
    return np.round(255 * coverage) / 255


# Edges


@given(radius=st.floats(20, 60), x=st.floats(-0.5, 0.5), y=st.floats(-0.5, 0.5))
def test_an_anti_aliased_disc_has_its_area_and_its_edge(radius: float, x: float, y: float) -> None:
    n = int(2 * radius) + 6
    centre = np.array([n / 2 + x, n / 2 + y])
    area = outline(drawn(shapely.Point(centre).buffer(radius, quad_segs=400), n, n), 0.5)
    assert area.area == pytest.approx(np.pi * radius**2, rel=1e-3)
    distance = np.hypot(*(shapely.get_coordinates(area) - centre).T) - radius
    assert np.abs(distance).max() < 0.05


@given(angle=st.floats(0, 90), x=st.floats(-0.5, 0.5))
def test_a_straight_edge_lies_where_it_was_drawn(angle: float, x: float) -> None:
    """Away from the corners of the square: interpolation alone would leave up to 0.09 pixels."""
    n = 60
    middle = np.array([n / 2 + x, n / 2])
    square = shapely.affinity.rotate(shapely.box(*(middle - 15), *(middle + 15)), angle)
    area = outline(drawn(square, n, n), 0.5)
    vertices = shapely.points(shapely.get_coordinates(area))
    corners = shapely.points(shapely.get_coordinates(square))
    away = shapely.distance(vertices[:, None], corners[None]).min(axis=1) > 2
    assert shapely.distance(vertices[away], square.exterior).max() < 0.03


def test_an_upright_edge_is_exact() -> None:
    area = outline(drawn(shapely.box(3.13, 4.71, 20.32, 9.04), 30, 20), 0.5)
    x, y = shapely.get_coordinates(area).T
    assert (x.min(), x.max()) == pytest.approx((3.13, 20.32), abs=0.003)
    assert (y.min(), y.max()) == pytest.approx((4.71, 9.04), abs=0.003)


def test_a_thin_line_keeps_its_width() -> None:
    """A line narrower than two pixels leaves no pixel of full ink beside an empty one; it is not lost."""
    for width in (1.2, 1.5, 1.7):
        area = outline(drawn(shapely.box(5, 9.5 - width / 2, 25, 9.5 + width / 2), 30, 20), 0.5)
        assert area.area / 20 == pytest.approx(width, abs=0.2)


def test_another_threshold_is_another_level_line() -> None:
    ramp = np.tile(np.linspace(0, 1, 101), (11, 1))
    for threshold in (0.205, 0.5, 0.815):
        x0, _, x1, _ = outline(ramp, threshold).bounds
        assert (x0, x1) == pytest.approx((100 * threshold, 100.5), abs=0.5)


# Two levels


@given(st.integers(0, 2**32), st.floats(0.1, 0.9))
def test_pixels_of_two_levels_are_squares(seed: int, share: float) -> None:
    mask = np.random.default_rng(seed).random((9, 12)) < share
    mask[0, 0] = True
    squares = [
        shapely.box(c - 0.5, r - 0.5, c + 0.5, r + 0.5) for r, c in zip(*np.nonzero(mask), strict=True)
    ]
    area = outline(mask.astype(float), 0.5)
    assert area.is_valid
    assert differing_area(area, shapely.union_all(squares, grid_size=NODING)) < 1e-9


def test_two_greys_are_two_levels() -> None:
    picture = np.full((6, 6), 200, np.uint8)
    picture[2:4, 2:4] = 90
    assert read(saved(picture), "a", READING).area.area == pytest.approx(4 * PIXEL**2)


def test_a_black_page_is_solid_to_its_rim() -> None:
    design = read(saved(np.zeros((5, 7), np.uint8)), "a", READING)
    assert design.bounds == pytest.approx((0, 0, 0.7, 0.5))
    assert design.area.area == pytest.approx(0.35)
    assert design.page == pytest.approx((0, 0, 0.7, 0.5))


# Where things are, and how large


def test_rows_go_down_the_picture() -> None:
    picture = np.full((4, 6), 255, np.uint8)
    picture[0, 5] = 0  # upper right
    x0, y0, x1, y1 = read(saved(picture), "a", READING).bounds
    assert (x0, y0, x1, y1) == pytest.approx((0.5, 0.3, 0.6, 0.4))
    array, _ = ink(saved(picture))
    assert array.shape == (4, 6) and array[3, 5] == 1 and array.sum() == 1


def test_the_resolution_of_the_file_is_used_unless_another_is_given() -> None:
    disc = saved(_dot(), dpi=(254, 254))
    assert read(disc, "a", Reading(1e-4)).size == pytest.approx((2, 2), rel=1e-4)
    assert read(disc, "a", Reading(1e-4, pixel=0.01)).size == pytest.approx((0.2, 0.2))


@pytest.mark.parametrize(("unit", "per"), [(2, 25.4), (3, 10.0)])
def test_tiff_says_its_resolution_per_inch_or_per_centimetre(unit: int, per: float) -> None:
    data = saved(_dot(), "TIFF", resolution_unit=unit, x_resolution=500, y_resolution=500)
    assert read(data, "a", Reading(1e-4)).size == pytest.approx((20 * per / 500,) * 2)


def _dot() -> np.ndarray:
    picture = np.full((40, 40), 255, np.uint8)
    picture[10:30, 10:30] = 0
    return picture


@pytest.mark.parametrize(
    "data",
    [
        saved(_dot()),
        saved(_dot(), "TIFF"),
        saved(_dot(), "TIFF", resolution_unit=1, x_resolution=5, y_resolution=5),
    ],
)
def test_without_a_resolution_a_pixel_is_required(data: bytes) -> None:
    with pytest.raises(InputError, match="--pixel 10um"):
        read(data, "a", Reading(0.01))


def test_pixels_must_be_square() -> None:
    with pytest.raises(InputError, match=r"0\.1 × 0\.2 mm"):
        read(saved(_dot(), dpi=(254, 127)), "a", Reading(0.01))


def test_simplifying_keeps_the_tolerance() -> None:
    fine = read(as_png(50), "a", Reading(1e-6)).area
    coarse = read(as_png(50), "a", Reading(0.01)).area
    assert shapely.get_num_coordinates(coarse) < shapely.get_num_coordinates(fine) / 3
    assert shapely.hausdorff_distance(fine.boundary, coarse.boundary) <= 0.01


# Ink

GREYS = np.tile(np.linspace(0, 255, 16).round().astype(np.uint8), (4, 1))
EXPECTED = 1 - GREYS[::-1] / 255


@pytest.mark.parametrize(
    ("kind", "mode", "how"),
    [
        ("PNG", "L", {}), ("PNG", "P", {}), ("PNG", "RGB", {}), ("PNG", "RGBA", {}), ("PNG", "LA", {}),
        ("TIFF", "L", {}), ("TIFF", "RGB", {"compression": "tiff_lzw"}),
        ("TIFF", "RGBA", {"compression": "tiff_deflate"}), ("TIFF", "LA", {}), ("TIFF", "P", {}),
        ("TIFF", "CMYK", {}),
    ],
)  # fmt: skip
def test_a_grey_is_its_ink_in_every_mode(kind: str, mode: str, how: dict[str, str]) -> None:
    array, pixel = ink(saved(GREYS, kind, mode, **how))
    assert array == pytest.approx(EXPECTED, abs=1e-9)
    assert pixel is None


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_kept(kind: str) -> None:
    fine = np.arange(32000, 32400, dtype=np.uint16).reshape(1, -1)
    assert ink(saved(fine, kind))[0] == pytest.approx(1 - fine / 65535, abs=1e-12)


@pytest.mark.parametrize("mode", ["1", "L", "I;16"])
def test_a_tiff_whose_white_is_zero(mode: str) -> None:
    """PhotometricInterpretation 0, as faxes and some scanners write it."""
    levels = {"1": np.array([[0, 255]], np.uint8), "L": GREYS, "I;16": GREYS.astype(np.uint16) * 257}[mode]
    data = bytearray(saved(levels, "TIFF", "1" if mode == "1" else ""))
    at = data.index(b"\x06\x01\x03\x00\x01\x00\x00\x00\x01\x00")  # tag 262, one SHORT, 1: black is zero
    plain = ink(bytes(data))[0]
    data[at + 8] = 0
    assert ink(bytes(data))[0] == pytest.approx(1 - plain, abs=1e-9)


def test_floats_go_from_black_to_white() -> None:
    array, _ = ink(saved((GREYS / 255).astype(np.float32), "TIFF"))
    assert array == pytest.approx(EXPECTED, abs=1e-6)


def test_what_is_transparent_is_paper() -> None:
    rgba = np.zeros((1, 3, 4), np.uint8)
    rgba[0, :, 3] = (0, 51, 255)
    assert ink(saved(rgba))[0] == pytest.approx(np.array([[0, 0.2, 1]]))


def test_a_transparent_index_of_a_palette_is_paper() -> None:
    picture = Image.fromarray(np.array([[0, 1, 2]], np.uint8), "P")
    picture.putpalette([0, 0, 0, 0, 0, 0, 255, 255, 255])
    assert ink(saved(picture, transparency=0))[0].tolist() == [[0, 1, 0]]


def test_a_saturated_colour_is_as_solid_as_black() -> None:
    colours = np.array(
        [[(255, 0, 0), (255, 255, 0), (0, 0, 255), (255, 255, 255), (128, 128, 128)]], np.uint8
    )
    assert ink(saved(colours))[0][0] == pytest.approx([1, 1, 1, 0, 127 / 255])


# Warnings


def test_anti_aliased_edges_are_no_greys() -> None:
    assert read(as_png(20), "a", Reading(0.002)).warnings == ()


def test_greys_give_a_warning_with_their_share() -> None:
    picture = np.full((50, 80), 255, np.uint8)
    picture[10:40, 10:30] = 0
    picture[10:40, 50:70] = 100
    (warning,) = read(saved(picture), "a", READING).warnings
    assert "--grey" in warning
    assert 40 <= int(warning.partition("%")[0]) <= 50  # half of the ink, less its rim


def test_only_the_first_of_several_pictures_is_read() -> None:
    other = Image.fromarray(np.zeros((40, 40), np.uint8))
    data = saved(_dot(), "TIFF", save_all=True, append_images=[other, other])
    design = read(data, "a", READING)
    assert design.size == pytest.approx((2, 2))
    assert design.warnings == ("only the first of the file's 3 pictures is read",)


# Bad input

GOOD = saved(_dot(), dpi=(254, 254))
TIFF = saved(_dot(), "TIFF", dpi=(254, 254), compression="tiff_lzw")
NAN = np.full((3, 3), np.nan, np.float32)


def _claims(width: int, height: int) -> bytes:
    """A PNG whose header gives that size."""
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\0\0\0\0"
    return GOOD[:8] + b"\0\0\0\r" + head + zlib.crc32(head).to_bytes(4, "big") + GOOD[33:]


BAD = {
    "text": (b"<svg/>", "is SVG: --pixel says nothing about SVG files"),
    "binary": (bytes(range(255, 0, -1)) * 9, "neither PNG nor TIFF"),
    "only the mark": (GOOD[:8], "broken or cut off"),
    "cut in the head": (GOOD[:20], "broken or cut off"),
    "cut in the picture": (GOOD[: len(GOOD) - 30], "broken or cut off"),
    "cut TIFF": (TIFF[:9], "broken or cut off"),
    "cut in a TIFF's picture": (TIFF[:150], "broken or cut off"),
    "large": (_claims(9000, 9000), "9000 × 9000 = 81 000 000 pixels, but 67 108 864 is the limit"),
    "a bomb": (_claims(2**31 - 1, 2**31 - 1), "pixels"),
    "white": (saved(np.full((9, 9), 255, np.uint8)), "no ink reaches the threshold 0.5, the most is 0"),
    "NaN": (saved(NAN, "TIFF"), "floats from nan to nan"),
    "infinite": (
        saved(NAN * 0 + np.inf if False else np.full((3, 3), np.inf, np.float32), "TIFF"),
        "from inf",
    ),
    "floats up to 255": (saved(np.array([[0, 255]], np.float32), "TIFF"), "from 0 to 255"),
    "one number": (saved(np.full((3, 3), -7, np.int32), "TIFF"), "the image is -7 everywhere"),
}


@pytest.mark.parametrize(("low", "high"), [(0, 70000), (-9999, 4232), (0, 1)])
def test_whole_numbers_without_a_black_of_their_own_are_scaled(low: int, high: int) -> None:
    heights = np.full((6, 8), high, np.int32)
    heights[2:4, 1:6] = low
    design = read(saved(heights, "TIFF"), "a", Reading(0.01, pixel=0.1))
    assert design.area.area == pytest.approx(10 * 0.01)
    (warning,) = design.warnings
    assert f"whole numbers from {low} to {high}, which are taken as black to white" in warning


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_sentence_that_names_it(case: str, tmp_path: Path) -> None:
    content, words = BAD[case]
    assert words in refusal(tmp_path / "bad.png", content, reading=READING)


def test_a_gigantic_pixel_is_refused() -> None:
    with pytest.raises(InputError, match="from the origin"):
        read(GOOD, "a", Reading(0.01, pixel=1e300))


def test_layers_are_refused() -> None:
    with pytest.raises(InputError, match="no layers"):
        read(GOOD, "a", Reading(0.01, layers=("top",)))


@pytest.mark.slow
def test_forty_thousand_dots_take_a_second() -> None:
    """Measured 1.1 s; the bound catches quadratic growth."""
    picture = np.full((400, 400), 255, np.uint8)
    picture[::2, ::2] = 0
    design = within(60, lambda: read(saved(picture), "a", READING))
    assert len(design.area.geoms) == 40_000
