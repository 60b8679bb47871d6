"""`laserpath calibrate` and `laserpath fit`: files, words, exit codes."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from datetime import date
from pathlib import Path

import click
import numpy as np
import pytest
from commands import Answer, Captured, Refused, run

from laserpath import calibration
from laserpath.calibration import profiles as written
from laserpath.cli import cli
from laserpath.config import profiles
from laserpath.types import FITTED_PROFILES

sys.path.insert(0, str(Path(__file__).parents[1] / "calibration"))
from synthetic import TRUE, filled_in
from test_calibration_sheet import fill


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matplotlib's drawing takes most of the time of a fit; one test looks at it."""
    monkeypatch.setattr(written, "fit_svg", lambda *_: "<svg/>")


@pytest.fixture
def sheet(folder: Path) -> Path:
    """chart.csv, filled in."""
    chart = calibration.chart()
    measured = filled_in(np.random.default_rng(1), chart=chart.items)
    (folder / "chart.csv").write_text(fill(chart.sheet(), measured))
    return folder / "chart.csv"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_chart_is_written_and_its_size_printed_before(folder: Path, capsys: Captured) -> None:
    assert run("calibrate", "-o", "out", "--name", "first") == 0
    assert files(folder / "out") == ["first.csv", "first.gcode", "first.svg"]
    printed = capsys.readouterr()
    assert "125 items" in printed.err and " mm" in printed.err and " s to write" in printed.err
    assert run("check", "out/first.gcode", "--strict") == 0


def test_a_chart_as_json(folder: Path, answer: Answer) -> None:
    content = answer("calibrate", "--around", "35mJ/cm2", "--spot-fwhm", "80um")
    assert content["items"] > 60 and content["write_time_s"] > 10 and len(content["files"]) == 3
    low, high = content["line_energy_mJ_per_mm"]
    assert low < 0.35 * 0.08 / 0.8734 < high


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", "0.1"), "--from needs --to"),
        (("--from", "1", "--to", "0.1mJ/mm"), "not a range"),
        (("--from", "1e-9", "--to", "1e-8"), "even the weakest line"),
        (("--around", "much"), "'much' is not a number"),
        (("--name", "../chart"), "not a plain file name"),
        (("--powers", "1"), "1"),
        (("--machine", "no-such"), "no-such"),
    ],
)
def test_a_chart_that_cannot_be(
    folder: Path, refused: Refused, arguments: tuple[str, ...], words: str
) -> None:
    assert words in refused("calibrate", *arguments)
    assert files(folder) == []


@pytest.mark.slow
def test_a_fit_writes_profiles_that_can_be_read(sheet: Path, capsys: Captured) -> None:
    assert run("fit", "chart.csv", "--name", "mine", "--speed", "4") == 0
    assert files(sheet.parent) == ["chart.csv", "mine.fit.svg", "mine.resin.toml", "mine.spot.toml"]
    printed = capsys.readouterr()
    assert (
        "spot's FWHM" in printed.out and "critical dose" in printed.out and "reciprocity fails" in printed.err
    )
    spot, resin = (
        profiles.spot(sheet.parent / "mine.spot.toml"),
        profiles.resin(sheet.parent / "mine.resin.toml"),
    )
    assert spot.fwhm == pytest.approx(TRUE.fwhm[0], rel=0.03)
    assert resin.critical_dose == pytest.approx(TRUE.critical_dose, rel=0.05)
    assert resin.penetration_depth == pytest.approx(TRUE.penetration_depth, rel=0.05)
    assert "95 % from" in (sheet.parent / "mine.resin.toml").read_text(encoding="utf-8")
    today = date.today().isoformat()
    assert spot.calibrated.startswith(f"{today} chart.csv: ") and "FWHM" in spot.calibrated
    assert resin.calibrated.startswith(f"{today} chart.csv: ") and "critical dose" in resin.calibrated
    assert ET.fromstring((sheet.parent / "mine.fit.svg").read_bytes()).tag.endswith("svg")


@pytest.mark.slow
def test_the_picture_is_the_same_again(sheet: Path) -> None:
    pictures = []
    for k in range(2):
        assert run("fit", "chart.csv", "-q") == 0
        assert len(profiles.spot("chart.spot.toml").calibrated.splitlines()) == k + 1
        pictures.append((sheet.parent / "chart.fit.svg").read_bytes())
    assert pictures[0] == pictures[1]


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_layer_is_cured_through_by_the_working_curve(sheet: Path) -> None:
    assert run("fit", "chart.csv", "--layer", "50um", "--spot", "gaussian", "-q") == 0
    resin = profiles.resin(sheet.parent / "chart.resin.toml")
    assert resin.e_c is not None and resin.penetration_depth is not None
    assert resin.critical_dose == pytest.approx(resin.e_c * np.exp(0.05 / resin.penetration_depth), rel=1e-3)


@pytest.mark.usefixtures("undrawn")
def test_a_fit_as_json(sheet: Path, answer: Answer) -> None:
    arguments = ("--spot", "gaussian", "--width-error", "3um", "--depth-error", "5um", "--robust")
    content = answer("fit", "chart.csv", *arguments)
    assert {e["name"] for e in content["estimates"]} >= {
        "fwhm", "critical_dose", "penetration_depth", "reciprocity",
    }  # fmt: skip
    assert all(e["low"] <= e["value"] <= e["high"] for e in content["estimates"])
    assert content["chi2"] > 0 and content["sizes"] and content["shapes"] == {"gaussian": 1}


_PAIRS = "id,kind,along,power_mW,speed_mm_per_s,length_um,gap_um,offset_um\n" + "".join(
    f"Q{speed},pair,x,1,{speed},2500,600,{2 * speed - 30}\n" for speed in (12, 24, 48)
)
"""Offsets, um, of a laser that is 1 ms late and an axis with 30 um of slack."""


def test_pairs_alone_give_the_machine_s_values_alone(folder: Path, capsys: Captured, answer: Answer) -> None:
    (folder / "pairs.csv").write_text(_PAIRS)
    assert run("fit", "pairs.csv", "--machine", "grbl-diode-405", "-o", "out") == 0
    assert files(folder / "out") == ["pairs.machine.toml"]
    assert "the laser is late by 1 ms" in capsys.readouterr().out
    assert profiles.machine("out/pairs.machine.toml").laser_on_delay == pytest.approx(1e-3)
    assert run("fit", "pairs.csv", "-o", "out") == 0
    told = capsys.readouterr().out
    assert "fit again with --machine FILE" in told and "wrote nothing" in told
    assert list(answer("fit", "pairs.csv")) == ["files", "mechanics", "focus"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is empty"),
        ("power_mW,speed_mm_per_s,width_um\n1,1,a\n", "row 2, column 'width_um': 'a' is not a number"),
        ("power_mW,speed_mm_per_s,width_um\n1,1,80\n2,2,81\n3,3,82\n", "all 3 widths are of one line energy"),
        ("power_mW,speed_mm_per_s,width_um\n1,1,\n", "nothing is filled in"),
        ("power_mW,speed_mm_per_s,depth_um\n1,1,5\n2,1,6\n3,1,7\n", "only depths are filled in"),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_a_sheet_that_tells_nothing_leaves_nothing(
    folder: Path, refused: Refused, content: str, words: str
) -> None:
    (folder / "bad.csv").write_text(content)
    printed = refused("fit", "bad.csv")
    assert words in printed and printed.count("\n") == 1
    assert files(folder) == ["bad.csv"]


@pytest.mark.usefixtures("undrawn")
def test_a_missing_sheet_is_named(folder: Path, refused: Refused) -> None:
    assert "'no.csv' cannot be read: No such file" in refused("fit", "no.csv")


@pytest.mark.usefixtures("undrawn")
def test_layers_need_depths(folder: Path, refused: Refused) -> None:
    rows = "".join(f"{1.4**k},10,{40 + 8 * k}\n" for k in range(6))
    (folder / "a.csv").write_text("power_mW,speed_mm_per_s,width_um\n" + rows)
    assert "e_c was not found" in refused("fit", "a.csv", "--layer", "50")
    assert files(folder) == ["a.csv"]


def test_every_profile_that_can_be_fitted_is_a_choice() -> None:
    """They stand in the command, too, so that its help need not wait for NumPy."""
    (spot,) = [one for one in cli.commands_by_name()["fit"].params if one.name == "spot"]
    assert isinstance(spot.type, click.Choice)
    assert tuple(spot.type.choices) == ("auto", *FITTED_PROFILES)


# laserpath matrix

MATRIX = ("--initial", "contour", "--iterations", "5", "--quality", "draft")


@pytest.fixture
def square(folder: Path) -> Path:
    text = '<svg xmlns="http://www.w3.org/2000/svg" width="2mm" height="2mm" viewBox="0 0 2 2">{}</svg>'
    (folder / "square.svg").write_text(text.format('<rect x=".4" y=".4" width="1.2" height="1.2"/>'))
    return folder / "square.svg"


@pytest.mark.slow
def test_a_matrix_of_a_design(square: Path, capsys: Captured) -> None:
    text = (
        profiles.text("machine", "grbl-diode-405")
        .replace("# z_travel_mm", "z_travel_mm")
        .replace("[0, 40]", "[-1, 40]")
    )
    Path("mine.toml").write_text(text)
    words = ("--dose", "0.9:1.1:3", "--focus", "-50:50:2um", "--machine", "mine.toml", "--json", "-o", "out")
    assert run("matrix", "square.svg", *MATRIX, *words) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["doses"] == [0.9, 1, 1.1] and content["focus_mm"] == [-0.05, 0.05]
    assert content["executed"] == pytest.approx(content["doses"], rel=0.01)
    names = [f"square.matrix{end}" for end in ("-A.csv", "-B.csv", ".gcode", ".svg")]
    assert files(Path("out")) == names
    assert run("check", "out/square.matrix.gcode", "--machine", "mine.toml") == 0
    assert run("frame", "out/square.matrix.gcode", "-o", "out") == 0, "with the project in its head"


@pytest.mark.slow
def test_a_matrix_says_what_it_wrote(square: Path, capsys: Captured) -> None:
    """Also with the origin of a project beside it, which says nothing here."""
    Path("laserpath.toml").write_text('origin = "own"\noffset = "-1,-1mm"\n')
    assert run("matrix", "square.svg", *MATRIX, "--dose", "0.9,1.1") == 0
    printed = capsys.readouterr()
    assert "doses 0.9, 1.1, " in printed.out and " s to write; the plan: " in printed.out
    assert "wrote square.matrix.gcode, square.matrix.svg, square.matrix.csv" in printed.out
    assert "about " in printed.err and " to plan" in printed.err
    assert run("matrix", "square.svg", *MATRIX, "--dose", "1", "--max-epe", "1nm", "-q") == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--dose", "0.8:1.2"), "'0.8:1.2' is not like 0.8:1.2:5, five from 0.8 to 1.2, or 0.8,1,1.2"),
        (("--dose", "0.8:1.2:1"), "is not like 0.8:1.2:5"),
        (("--dose", "much"), "'much' is not a number"),
        (("--dose", "0,1"), "dose 0 must be between 0.05 and 20"),
        (("--dose", "0.8:1.2:13"), "there are 13 doses, but must be 1 to 12"),
        (("--dose", "1mm"), "'1mm' is not a number"),
        (("--focus", "-0.1:0.1:3mm"), "focus needs a Z, and machine "),
        (("--focus", "0.1J"), "'0.1J' has the unknown unit 'J'"),
        (("--scale", "50"), "mm long in x, above the 300 mm of machine"),
        (("--layers", "a,b"), "a matrix is of one drawing"),
        (("--origin", "own"), "No such option '--origin'"),
    ],
)
def test_a_matrix_that_cannot_be(
    square: Path, refused: Refused, arguments: tuple[str, ...], words: str
) -> None:
    printed = refused("matrix", "square.svg", *MATRIX, *arguments)
    assert words in printed and "Traceback" not in printed
    assert files(square.parent) == ["square.svg"]
