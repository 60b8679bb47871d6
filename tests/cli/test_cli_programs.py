"""Programs made from another program, at the machine: `laserpath frame` and `laserpath resume`."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Captured, Refused, run

import gcode

FOREIGN = "G21\nG90\nM4 S0\nG0 X20 Y10\nG1 X30 F3000 S200\nG3 X30 Y20 I0 J5\nG0 X50 Y50\nM5\nM2\n"
"""A line and a half circle to the right of it, whose extent is x 20 to 35, y 10 to 20; and a travel."""

BAR = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="2mm" height="2mm" viewBox="0 0 2 2">'
    '<rect width="1" height="0.5"/></svg>'
)
QUICK = ("--iterations", "2", "--initial", "contour", "--report", "brief", "-q")

SLOW = ("--critical-dose", "100000")
"""mJ/cm², for which the weakest light may be seen."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("part.nc").write_text(FOREIGN)
    return tmp_path


def written(name: str) -> gcode.Moves:
    return gcode.parse(Path(name).read_text(), gcode.dialect("grbl"))


def test_a_frame_is_around_what_another_tools_program_exposes(capsys: Captured) -> None:
    assert run("frame", "part.nc", "--spot-fwhm", "0.1") == 0
    told = capsys.readouterr()
    assert told.out == "Written: part.frame.gcode\n"
    assert "part.nc exposes x 19.95 to 35.05, y 9.95 to 20.05 mm: 2 dark laps" in told.err
    assert "the default one is taken" in told.err
    framed = written("part.frame.gcode")
    assert not framed.on.any()
    assert framed.xy.min(axis=0) == pytest.approx((19.95, 9.95), abs=0.01)
    assert framed.xy.max(axis=0) == pytest.approx((35.05, 20.05), abs=0.01)


def test_a_frame_is_lit_where_that_is_safe_or_wanted(capsys: Captured) -> None:
    assert run("frame", "part.nc", *SLOW) == 0
    err = capsys.readouterr().err
    assert "4 laps at 0.0781" in err and "dark near corners" in err
    part = written("part.frame.gcode")
    assert 0.1 < part.length[part.on].sum() / part.length.sum() < 0.9
    assert run("frame", "part.nc", "--lit", "-q", "-o", "lit") == 0
    told = capsys.readouterr()
    assert "with it covered" in told.err
    assert told.out == ""
    assert written("lit/part.frame.gcode").on.all()


@pytest.mark.slow
def test_the_head_of_our_own_program_names_the_machine(capsys: Captured, refused: Refused) -> None:
    """In a dialect of its own; the options come before it."""
    Path("bar.svg").write_text(BAR)
    assert run("plan", "bar.svg", "--machine", "klipper-diode-405", *QUICK) == 0
    assert run("frame", "bar.gcode") == 0
    err = capsys.readouterr().err
    assert "default" not in err
    assert "SET_PIN PIN=laser VALUE=0" in Path("bar.frame.gcode").read_text()
    assert run("frame", "bar.gcode", "--machine", "grbl-diode-405", "--dialect", "klipper") == 0
    text = Path("bar.gcode").read_text()
    Path("bar.gcode").write_text(text.replace("; [machine]", "; [machine"))
    assert "the project in the head of 'bar.gcode'" in refused("frame", "bar.gcode")


def test_the_head_of_a_program_comes_before_the_project_beside_it(
    capsys: Captured,
) -> None:
    """And options before both; without a head the project holds."""
    Path("laserpath.toml").write_text('machine = "marlin-diode-405"\ncritical_dose = "5 mJ/cm2"\n')
    head = '; laserpath.toml, to plan this again:\n; machine = "klipper-diode-405"\n'
    lines = "G21\nG90\nG0 X1 Y1 F3000\nSET_PIN PIN=laser VALUE=0.5\nG1 X9 F600\nSET_PIN PIN=laser VALUE=0\n"
    Path("own.gcode").write_text(head + lines)
    for command in ("check", "frame", "simulate"):
        run(command, "own.gcode")
    told = capsys.readouterr().err
    assert "'generic 405 nm diode on Klipper', the machine in the head of own.gcode" in told
    assert "with the settings in the head of own.gcode" in told and "laserpath.toml" not in told
    assert "SET_PIN" in Path("own.frame.gcode").read_text()
    assert run("check", "own.gcode", "--machine", "marlin-diode-405") == 1
    Path("bare.gcode").write_text("G21\nG90\nM5 I\nG0 X1 Y1 F3000\nM3 I S0\nG1 F600\nG1 X9 S128\nM5 I\n")
    capsys.readouterr()
    for command in ("check", "frame", "simulate"):
        assert run(command, "bare.gcode") == 0
    assert capsys.readouterr().err.count("laserpath.toml") == 3


@pytest.mark.parametrize(
    ("text", "words"), [("<svg/>", "is a drawing (SVG)"), ("", "is empty"), ("G0 X1 Y1\n", "exposes nothing")]
)
def test_what_is_no_program_is_refused(text: str, words: str, refused: Refused) -> None:
    Path("odd.nc").write_text(text)
    assert words in refused("frame", "odd.nc")


def test_the_rest_of_a_program_goes_on_where_it_ended(capsys: Captured) -> None:
    assert run("resume", "part.nc", "--after", "25,10mm", "--spot-fwhm", "0.1") == 0
    told = capsys.readouterr()
    assert told.out == "Written: part.resume.gcode\n"
    assert "at (25.000, 10.000) mm" in told.err
    assert "100 um of lines are exposed twice, from (24.900, 10.000) to (25.000, 10.000) mm" in told.err
    rest = written("part.resume.gcode")
    assert rest.xy[int(rest.on.argmax())] == pytest.approx((24.9, 10))
    assert rest.length[rest.on].sum() == pytest.approx(5.1 + 5 * 3.14159, abs=0.01)
    assert run("check", "part.resume.gcode") == 0


def test_the_rest_has_the_head_of_the_program(capsys: Captured) -> None:
    """So that it can be resumed, too, for the same machine."""
    Path("bar.svg").write_text(BAR)
    assert run("plan", "bar.svg", "--machine", "marlin-diode-405", *QUICK) == 0
    assert run("resume", "bar.gcode", "--after", "0.3s", "-q") == 0
    assert run("resume", "bar.resume.gcode", "--after", "0.3s") == 0
    assert "default" not in capsys.readouterr().err
    text = Path("bar.resume.resume.gcode").read_text()
    assert "the rest of bar.resume.gcode" in text
    assert "M5 I" in text


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("nowhere", "'nowhere' is no place such as 10.2,5.1mm, or with its Z 10.2,5.1,0.4mm, no line"),
        ("1,2,3,4", "is not a pair of lengths"),
        ("12", "line 12 is not among the 9 lines"),
        ("9", "nothing is left to expose"),
        ("2min", "120 s is not within the program's"),
        ("100,100", "nowhere within"),
    ],
)
def test_where_it_ended_must_be_known(after: str, words: str, refused: Refused) -> None:
    assert words in refused("resume", "part.nc", "--after", after)
    assert not Path("part.resume.gcode").exists()
