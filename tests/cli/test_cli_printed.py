"""`laserpath fit --printed`: a photograph and a mask in, profiles of spot and resin out."""

from __future__ import annotations

from pathlib import Path

import in_process
import numpy as np
import pytest
from commands import Answer, Captured, Refused, run
from PIL import Image
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from laserpath.config import profiles

pytestmark = in_process.HERE

PIXEL, SIGMA, CONTRAST = 0.1, 3.0, 8.0
"""µm; pixels; of the print that is made up here."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """mask.png and photo.png: blurred, developed, shifted, with noise."""
    mask = np.zeros((128, 128))
    mask[20:60, 20:100] = mask[70:110, 30:34] = mask[75:105, 60:90] = mask[75:105, 94:98] = 1
    cured = expit(CONTRAST * (gaussian_filter(mask, SIGMA) / 0.5 - 1))
    noise = np.random.default_rng(1).normal(0, 3, mask.shape)
    Image.fromarray(np.uint8(255 * (1 - mask))).save(tmp_path / "mask.png")
    photo = np.clip(200 - 120 * np.roll(cured, (3, -5), (0, 1)) + noise, 0, 255)
    Image.fromarray(np.uint8(photo)).save(tmp_path / "photo.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PRINTED = ("--printed", "photo.png", "--commanded", "mask.png", "--pixel", "0.1um")


@pytest.mark.slow
def test_blur_and_contrast_become_profiles(folder: Path, answer: Answer) -> None:
    content = answer("fit", *PRINTED, "--name", "mine")
    estimates = {e["name"]: e for e in content["estimates"]}
    fwhm = SIGMA * PIXEL * 2 * np.sqrt(2 * np.log(2)) / 1000
    assert estimates["fwhm"]["low"] < fwhm < estimates["fwhm"]["high"]
    assert estimates["contrast"]["low"] < CONTRAST < estimates["contrast"]["high"]
    assert content["shift_mm"] == pytest.approx([-0.0005, -0.0003], abs=2e-5)
    assert sorted(content["files"]) == ["mine.resin.toml", "mine.spot.toml"]
    assert profiles.calibrated("spot", "mine.spot.toml").endswith("photo.png: the blur of a print")
    assert profiles.spot("mine.spot.toml").fwhm == pytest.approx(estimates["fwhm"]["value"])
    resin, base = profiles.resin("mine.resin.toml"), profiles.resin()
    assert resin.contrast == pytest.approx(estimates["contrast"]["value"])
    assert (resin.critical_dose, resin.tone) == (base.critical_dose, base.tone)


@pytest.mark.slow
def test_the_result_is_printed(folder: Path, capsys: Captured) -> None:
    assert run("fit", *PRINTED) == 0
    printed = capsys.readouterr().out
    assert "spot's FWHM: 0.7" in printed
    assert "% of what the image shows is explained" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Give the FILE of a chart, or a photograph"),
        (("chart.csv", *PRINTED), "Give the FILE of a chart, or a photograph"),
        (PRINTED[:4], "--printed needs --pixel with it"),
        (PRINTED[:2] + PRINTED[4:], "--printed needs --commanded with it"),
        (("--printed", "no.png", *PRINTED[2:]), "no.png does not exist"),
        (("--printed", "wrong.png", *PRINTED[2:]), "wrong.png: "),
    ],
)
def test_bad_input_is_one_sentence(
    folder: Path, arguments: tuple[str, ...], words: str, refused: Refused
) -> None:
    (folder / "wrong.png").write_bytes(b"\x89PNG and no more")
    before = sorted(folder.iterdir())
    assert words in refused("fit", *arguments)
    assert sorted(folder.iterdir()) == before
