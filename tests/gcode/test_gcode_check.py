"""Every rule of the check: a program that breaks it alone, beside a sound one that does not.

No line is longer than its controller takes: comments are wrapped, `verify` and `check` measure lines.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within
from readers.programs import LONG_COMMENTS
from sets import examples, one_fast

import gcode
from gcode import checking
from gcode.checking.paths import Envelope, Timing
from gcode.checking.text import Finding
from gcode.controllers.grbl import Grbl
from gcode.controllers.marlin import Marlin
from gcode.move import approached

SOUND = {
    "grbl": "G21 G90 G17\nM5\nM4 S0\nG0 X1 Y1\nG1 X11 Y1 F1200 S500\nG0 X1 Y2\nG1 X11 Y2 F1200 S500\n"
    "M5\nM2\n",
    "marlin": "G21\nG90\nM5 I\nM3 I S0\nG0 X1 Y1 F6000\nG1 X11 Y1 F1200 S128\nG0 X1 Y2 F6000\n"
    "G1 X11 Y2 F1200 S128\nM5 I\n",
    "klipper": "G21\nG90\nSET_PIN PIN=laser VALUE=0\nG0 X1 Y1 F6000\nSET_PIN PIN=laser VALUE=500\n"
    "G1 X11 Y1 F1200\nSET_PIN PIN=laser VALUE=0\nG0 X1 Y2 F6000\nSET_PIN PIN=laser VALUE=500\n"
    "G1 X11 Y2 F1200\nSET_PIN PIN=laser VALUE=0\n",
    "smoothieware": "G21\nG90\nG17\nM5\nM3 S0\nG0 X1 Y1\nG1 X11 Y1 F1200 S0.5\nG0 X1 Y2\n"
    "G1 X11 Y2 F1200 S0.5\nM5\nS0\n",
    "linuxcnc": "G21 G90 G17 G94\nM67 E0 Q0\nM3 S1\nG0 X1 Y1\nM67 E0 Q0.5\nG1 X11 Y1 F1200\nM67 E0 Q0\n"
    "G0 X1 Y2\nM67 E0 Q0.5\nG1 X11 Y2 F1200\nM68 E0 Q0\nM5\nM2\n",
    "generic": "G21\nG90\nG17\nM5\nM3 S0\nG0 X1 Y1\nG1 X11 Y1 F1200 S500\nM5\nM2\n",
}
SOUND["grblhal"] = SOUND["grbl"]
"""Without any finding in their dialect."""


def envelope(dialect: str, **changes: Any) -> Envelope:
    s_max = gcode.dialect(dialect).power_max
    return replace(Envelope(box=(0, 0, 300, 200), s_max=s_max, power_levels=255), **changes)


def check(text: str, dialect: str, **changes: Any) -> tuple[Finding, ...]:
    return checking.check(text, gcode.dialect(dialect), envelope(dialect, **changes))


@pytest.mark.parametrize("dialect", SOUND)
def test_a_sound_program_has_no_finding(dialect: str) -> None:
    assert check(SOUND[dialect], dialect) == ()


BROKEN = [
    # dialect, what is replaced, by what, severity, line, words of the message
    ("grbl", "G21 ", "", "error", 4, "mm or inches"),
    ("grbl", "G90 ", "", "error", 4, "absolute or relative"),
    ("grbl", " G17", "", "warning", 4, "plane"),
    ("smoothieware", "G17\n", "", "warning", 5, "plane"),
    ("grbl", "M4 S0\nG0", "M3 S500\nG0", "warning", 3, "standstill"),
    ("grbl", "M4 S0", "M4 S0\nG4 P1", None, 0, ""),
    ("grbl", "S500\nG0", "S500\nM3\nG0", "error", 6, "standstill"),
    ("grbl", "S500\nM5", "S1001\nM5", "error", 7, "outside 0…1000"),
    ("grbl", "S500\nM5", "S-1\nM5", "error", 7, "outside 0…1000"),
    ("grbl", "X11 Y2", "X301 Y2", "error", 7, "X 301 mm is above 300"),
    ("grbl", "X1 Y2", "X1 Y-2", "error", 6, "Y -2 mm is below 0"),
    ("grbl", "F1200 S500\nG0", "F3001 S500\nG0", "error", 5, "F3001 is above"),
    ("grbl", "F1200 S500\nG0", "F0 S500\nG0", "error", 5, "zero"),
    ("grbl", "M5\nM2", "M2", "warning", 8, "M5 is missing"),
    ("grbl", "M5\nM2\n", "", "error", 7, "cut off: M5 is missing"),
    ("grbl", "M5\nM2\n", "G0 X0 Y0\n", "warning", 8, "still armed"),
    ("linuxcnc", "G1 X11 Y2 F1200\nM68 E0 Q0\nM5\nM2\n", "", "error", 9, "cut off"),
    ("smoothieware", "M5\nS0\n", "", "error", 9, "cut off"),
    ("grbl", "G0 X1 Y2", "G20\nG0 X1 Y2", "warning", 6, "from mm (G21) to inches (G20) in mid-program"),
    ("grbl", "M5\nM4", "G20\nM5\nM4", "warning", 2, "from mm (G21) to inches (G20)"),
    ("grbl", "G21 G90", "; laserpath 1.0: design\nG20 G90", "warning", 2, "laserpath writes grbl in mm"),
    ("grbl", "G21 G90", "G20 G90 G17 M5\nG0 X0 Y0\nG21 G90", None, 0, ""),
    ("grbl", "M2", "G20\nG0 X0\nM2", None, 0, ""),
    ("grbl", "G0 X1 Y2", "G21 ; G20\nG0 X1 Y2", None, 0, ""),
    ("grbl", "M2", "G64\nM2", "error", 9, "G64"),
    ("grbl", "M2", "SET_PIN PIN=laser VALUE=0\nM2", "error", 9, "SET_PIN"),
    ("grbl", "M2", "M106 S5\nM2", "error", 9, "M106"),
    ("grbl", "M5\nM4", "N10 M5*92\nM4", "error", 2, "line number"),
    ("grbl", "M5\nM4", "M5*33\nM4", "error", 2, "checksum"),
    ("grbl", "M5\nM4", "; stop!\nM5\nM4", "error", 2, "feed hold"),
    ("grbl", "M5\nM4", "(why?)\nM5\nM4", "warning", 2, "status request"),
    ("grbl", "M5\nM4", "; 1–2\nM5\nM4", "error", 2, "realtime"),
    ("grbl", "M5\nM4", "; 5 µm\nM5\nM4", "warning", 2, "not ASCII"),
    ("grbl", "X11 Y2", "X1.1e1 Y2", "error", 7, "exponent"),
    ("grbl", "X11 Y2 F1200", "X11." + "0" * 80 + " Y2 F1200", "error", 7, "above grbl's 79"),
    ("grbl", "X11 Y2 F1200", "X11" + " " * 80 + "Y2 F1200", None, 0, ""),
    ("grbl", "S500\nM5", "S500 ;" + "c" * 100 + "\nM5", None, 0, ""),
    ("grbl", "G1 X11 Y2 F1200", "G2 X11 Y2 I4 J1 F1200", "error", 7, "arc"),
    ("grbl", "G1 X11 Y2 F1200", "G2 X1 Y2 R5 F1200", "error", 7, "R"),
    ("grbl", "G1 X11 Y2 F1200", "G2 X11 Y2 I5 J0 F1200", None, 0, ""),
    ("grbl", "G1 X11 Y2 F1200", "G1 X11 Y2 Q F1200", "error", 7, "Q"),
    ("marlin", "M3 I S0", "M4 I S0", "error", 4, "M4 I ignores"),
    ("marlin", "M3 I S0\nG0", "M3 S50\nG0", "error", 4, "lights the laser"),
    ("marlin", "G90\n", "G90\nG17\n", "warning", 3, "G17"),
    ("marlin", "G90\n", "G90\n(a comment)\n", "warning", 3, "( )"),
    ("marlin", "S128\nM5", "S128 (a comment)\nM5", "error", 8, "( )"),
    ("marlin", "G1 X11 Y2", "X11 Y2", "error", 8, "G word"),
    ("marlin", "G1 X11 Y2", "g1 X11 Y2", "error", 8, "lower case"),
    ("marlin", "G1 X11 Y2", "N5 G1 X11 Y2", "error", 8, "again"),
    ("marlin", "X11 Y2 F1200", "X11" + " " * 80 + "Y2 F1200", "error", 8, "drops the rest"),
    ("marlin", "S128\nM5", "S128 ;" + "c" * 100 + "\nM5", "warning", 8, "comment alone"),
    ("marlin", "S128\nM5", "\nM5", "warning", 8, "dark behind a G0"),
    ("marlin", "S128\nM5", "S256\nM5", "error", 8, "outside 0…255"),
    ("klipper", "VALUE=0\nG0 X1 Y2", "VALUE=500\nG0 X1 Y2", "error", 8, "rapid"),
    ("klipper", "0\nG0 X1 Y2", "500\nG4 P10\nSET_PIN PIN=laser VALUE=0\nG0 X1 Y2", "error", 8, "standstill"),
    ("klipper", "Y2 F1200\nSET_PIN PIN=laser VALUE=0\n", "Y2 F1200\n", "error", 10, "end of the file"),
    ("klipper", "VALUE=500\nG1 X11 Y2", "VALUE=1500\nG1 X11 Y2", "error", 9, "outside 0…1000"),
    ("klipper", "G1 X11 Y2", "X11 Y2", "error", 10, "G word"),
    ("klipper", "G90\n", "G90\nM5\n", "warning", 3, "M5"),
    ("klipper", "Y2 F1200", "Y2 F1200 (c)", "error", 10, "( )"),
    ("linuxcnc", "Q0\nG0 X1 Y2", "Q0.5\nG0 X1 Y2", "error", 8, "rapid"),
    ("linuxcnc", "Q0.5\nG1 X11 Y2", "Q1.5\nG1 X11 Y2", "error", 9, "outside 0…1"),
    ("linuxcnc", "M2\n", "M106\nM2\n", "error", 13, "M106"),
    ("linuxcnc", "M2\n", "", "warning", 12, "M2 is missing"),
    ("grbl", "G0 X1 Y1", "G0 X400 Y1", "error", 4, "X 400"),
    ("grbl", "G0 X1 Y1\n", "", "warning", 4, "wherever the head is"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "old", "new", "severity", "line", "words"),
    BROKEN,
    ids=[f"{b[0]}-{b[2][:20]!r}" for b in BROKEN],
)
def test_what_breaks_a_rule_is_reported_with_its_line(
    dialect: str, old: str, new: str, severity: str | None, line: int, words: str
) -> None:
    assert old in SOUND[dialect]
    findings = check(SOUND[dialect].replace(old, new, 1), dialect)
    if severity is None:
        assert findings == ()
        return
    matching = [f for f in findings if words in f.message]
    assert [(f.severity, f.line) for f in matching] == [(severity, line)], findings


@pytest.mark.parametrize("dialect", ["marlin", "klipper", "linuxcnc"])
def test_a_program_for_grbl_exposes_nothing_elsewhere_and_that_is_an_error(dialect: str) -> None:
    text = SOUND["grbl"].replace("G21 G90 G17", "G21\nG90")
    findings = check(text if dialect != "marlin" else text.replace("S500", "S128"), dialect)
    (finding,) = [f for f in findings if "nothing is exposed" in f.message]
    assert finding.error
    assert dialect in finding.message
    # And where it cannot even be read to its end.
    findings = check(text.replace("G1 X11 Y2", "X11 Y2"), dialect)
    assert [f.error for f in findings if "nothing is exposed" in f.message] == [True]


@pytest.mark.parametrize(
    ("armed", "end", "severity"),
    [
        ("M3 S0", "", "error"), ("M3 S0", "M0\n", "error"), ("M3 S0", "M2\n", "warning"),
        ("M3 S0", "M30\n", "warning"), ("M4 S0", "", "error"), ("M4 S0", "M0\n", "error"),
        ("M4 S0", "M2\n", "warning"), ("M4 S0", "M5\n", None), ("M3 S0", "M5\n", None),
        ("M3 S0", "M5\nM0\n", None), ("M3 S0", "M5\nM30\n", None),
        ("M3 S0", "M0\nG0 X0\nM5\n", "error"), ("M4 S0", "M0\nG0 X0\nM5\n", None),
    ],
)  # fmt: skip
def test_on_every_exit_the_laser_must_be_off(armed: str, end: str, severity: str | None) -> None:
    findings = check(SOUND["grbl"].replace("M4 S0", armed).replace("M5\nM2\n", end), "grbl")
    severities = [f.severity for f in findings if "laser" in f.message]
    assert severities == ([] if severity is None else [severity])


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    text = SOUND["grbl"].replace("S500\nM5", "S5000\nM5").replace("\n", end)
    assert [(f.line, f.column) for f in check(text, "grbl")] == [(7, 17)]


def test_a_dark_program_and_one_without_motion_are_errors() -> None:
    (finding,) = check(SOUND["grbl"].replace("S500", "S0"), "grbl")
    assert finding.error and "nothing is exposed" in finding.message
    for text in ("", "\n\n", "G21\nG90\nM2\n", "; only a comment"):
        (finding,) = check(text, "grbl")
        assert finding.error and "nothing moves" in finding.message


def test_what_is_wrong_ten_thousand_times_is_reported_once() -> None:
    body = "".join(f"G0 X0 Y{k % 200}\nG1 X400 Y{k % 200} F9000 S900\n" for k in range(5000))
    findings = check(f"G21 G90 G17\nM4 S0\n{body}M5\nM2\n", "grbl")
    assert 0 < len(findings) < 6
    assert any("5000 places" in f.message for f in findings if "X 400" in f.message)
    assert any("5000 moves" in f.message for f in findings if "F9000" in f.message)
    findings = check(f"G21 G90 G17\nM4 S0\n{body.replace('S900', 'S2000')}M5\nM2\n", "grbl")
    assert any("5000 times" in f.message for f in findings if "S2000" in f.message)


def test_what_cannot_be_read_is_one_error_and_the_lines_are_checked_all_the_same() -> None:
    text = SOUND["grbl"].replace("G1 X11 Y1", "G1 X Y1") + "G64 " + "X" * 200 + "\n"
    findings = check(text, "grbl")
    assert [f.line for f in findings if f.line == 5 and f.error] == [5]
    assert any("G64" in f.message for f in findings)
    assert any("above grbl's 79" in f.message for f in findings)


def test_the_bulge_of_an_arc_must_be_within_the_work_area_too() -> None:
    arc = SOUND["grbl"].replace("G1 X11 Y2", "G3 X11 Y2 I5 J0")  # down to y = 2 − 5
    (finding,) = check(arc, "grbl")
    assert "Y -3 mm is below 0" in finding.message
    assert check(arc.replace("G3", "G2"), "grbl") == ()


def test_a_file_in_inches_is_as_good_unless_half_of_it_is_in_mm() -> None:
    text = SOUND["grbl"].replace("G21", "G20").replace("F1200", "F100")
    assert check(text, "grbl", box=(0, 0, 300, 200)) == ()
    (finding,) = check(text.replace("G0 X1 Y2", "G21 G0 X1 Y2"), "grbl")
    assert (finding.severity, finding.line) == ("warning", 6)
    assert "from inches (G20) to mm (G21)" in finding.message


def test_heights_are_checked_where_the_machine_has_a_range() -> None:
    text = SOUND["grbl"].replace("G0 X1 Y1", "G0 X1 Y1 Z5")
    assert check(text, "grbl") == ()
    (finding,) = check(text, "grbl", z=(-1.0, 1.0))
    assert finding.error and "Z 5 mm" in finding.message


def test_powers_below_the_lowest_level_that_lases_are_reported() -> None:
    # Level of S10 of 1000: floor(254·0.01) + 1 = 3.
    text = SOUND["grbl"].replace("S500\nM5", "S10\nM5")
    assert check(text, "grbl", level_min=3) == ()
    (finding,) = check(text, "grbl", level_min=4)
    assert (finding.severity, finding.line) == ("warning", 7)
    assert "level 3" in finding.message


def circle(step: float, feed: float, dialect: str = "grbl", radius: float = 20.0) -> str:
    """A circle in chords of `step` mm."""
    count = round(2 * np.pi * radius / step)
    angle = np.linspace(0, 2 * np.pi, count + 1)
    x, y = 50 + radius * np.cos(angle), 50 + radius * np.sin(angle)
    body = "".join(f"G1 X{a:.4f} Y{b:.4f}\n" for a, b in zip(x[1:], y[1:], strict=True))
    return f"G21 G90 G17\nM4 S0\nG0 X{x[0]:.4f} Y{y[0]:.4f}\nG1 F{feed} S500\n{body}M5\nM2\n"


def test_moves_too_short_for_the_look_ahead_are_reported() -> None:
    """v²/(2·a·15) = 50²/(2·500·15) = 0.167 mm at 50 mm/s: 0.2 mm will do, 0.1 mm will not."""
    assert not [f for f in check(circle(0.2, 3000), "grbl", segment_rate=1000) if "too short" in f.message]
    (finding,) = [f for f in check(circle(0.1, 3000), "grbl", segment_rate=1000) if "too short" in f.message]
    assert finding.severity == "warning"
    assert "0.167 mm" in finding.message
    assert not [f for f in check(circle(0.1, 1200), "grbl", segment_rate=1000) if "too short" in f.message]


def test_more_moves_a_second_than_the_link_carries_are_reported() -> None:
    (finding,) = [f for f in check(circle(0.05, 1200), "grbl") if "a second" in f.message]
    assert finding.severity == "warning"
    assert not [f for f in check(circle(0.1, 1200), "grbl") if "a second" in f.message]
    # Klipper has no serial line of this kind.
    assert not [f for f in check(circle(0.05, 1200), "klipper") if "a second" in f.message]


def test_a_link_that_is_modelled_is_late_where_the_model_says_so() -> None:
    """As for plans: not where the rate in the profile says it, and by as much as the program takes longer."""
    model = Grbl()
    quick = circle(0.1, 1200)
    assert [f for f in check(quick, "grbl", segment_rate=100) if "the link" in f.message]
    assert not [
        f for f in check(quick, "grbl", segment_rate=100, controller=model) if "the link" in f.message
    ]
    dense = circle(0.02, 1200)
    (late,) = [f for f in check(dense, "grbl", controller=model) if "the link" in f.message]
    program = gcode.read(dense, gcode.dialect("grbl"), 1000)
    moves = gcode.Moves.straight([(0, 0), program.moves.xy[0]], [0], [100], [True]) + program.moves
    linked, free = (
        gcode.motion.execute(moves, one, characters=np.append(0, program.characters)).write_time
        for one in (model, model.unlinked())
    )
    assert f"takes {linked:.3g} s instead of {free:.3g} s" in late.message


def test_the_characters_count_as_well() -> None:
    """Lines of about 22 characters every 0.1 mm, at 20 mm/s: 4400 characters a second."""
    text = circle(0.1, 1200)
    assert not [f for f in check(text, "grbl", character_rate=5500.0) if "characters" in f.message]
    (finding,) = [f for f in check(text, "grbl", character_rate=3000.0) if "characters" in f.message]
    assert finding.severity == "warning"


@pytest.mark.parametrize(("baud", "late"), [(115200, False), (600, True)])
def test_light_at_rest_while_the_link_is_late_is_reported(baud: float, late: bool) -> None:
    """Marlin's laser keeps its last level until the next line is there."""
    lines = "".join(f"G1 X{1 + 0.5 * k:g} S128\n" for k in range(1, 13))
    program = f"G21\nG90\nM5 I\nG0 X1 Y1 F3000\nM3 I S0\nG1 F1200\n{lines}M5 I\n"
    found = check(program, "marlin", controller=Marlin(baud=baud))
    waits = [one for one in found if "where the head waits" in one.message]
    assert [one.severity for one in waits] == ["warning"] * late


def test_speeds_out_of_reach_of_the_acceleration_are_reported() -> None:
    """2 mm from rest to rest at 500 mm/s² come to √(500·2) = 31.6 mm/s, not to 50."""
    lines = "".join(f"G0 X1 Y{k}\nG1 X3 Y{k} F3000 S500\n" for k in range(1, 9))
    text = f"G21 G90 G17\nM4 S0\n{lines}M5\nM2\n"
    assert check(text, "grbl") == (), "with M4 the power follows"
    (finding,) = check(text.replace("M4", "M3"), "grbl")
    assert "overexposes" in finding.message
    assert check(text.replace("F3000", "F1500"), "grbl") == ()
    lines = text.replace("M4", "M3").splitlines(keepends=True)
    varied = "".join(line.replace("S500", f"S{400 + 10 * k}") for k, line in enumerate(lines))
    assert check(varied, "grbl") == (), "powers that were made for the real speeds"


TEXTS = [*SOUND.items(), *((dialect, SOUND[dialect].replace(old, new)) for dialect, old, new, *_ in BROKEN)]


@pytest.mark.parametrize(("dialect", "text"), TEXTS, ids=range(len(TEXTS)))
def test_rules_find_the_same_part_by_part(dialect: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = {"grbl": Grbl(baud=2400.0), "marlin": Marlin()}.get(dialect)
    whole = gcode.examine(text, gcode.dialect(dialect), envelope(dialect, controller=model))
    for module in ("gcode.checking.paths", "gcode.checking.text", "gcode.controllers.trapezoid.planner"):
        monkeypatch.setattr(f"{module}._AT_ONCE", 3)
    monkeypatch.setattr("gcode.controllers.grbl.planner.ROWS_AT_ONCE", 2)
    parts = gcode.examine(text, gcode.dialect(dialect), envelope(dialect, controller=model))
    assert parts.findings == whole.findings and (parts.box, parts.moves) == (whole.box, whole.moves)
    assert parts.write_time == pytest.approx(whole.write_time, rel=1e-12)


def test_the_time_of_a_program_with_arcs_is_that_of_its_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts as in the whole, whose chords are more than its rows."""
    controller = Grbl(baud=None, stepped=False)
    dialect, machine = gcode.dialect("grbl"), envelope("grbl", controller=controller)
    circles = "G21 G90 G17\nM5\nM4 S0\nG0 X50 Y50\n" + "".join(
        f"G{2 + k % 2} X50 Y50 I{5 + k} J0 F3000 S{100 * (k % 3)}\nG4 P0.1\nG1 X{50 + k} Y50\nG1 X50 Y50\n"
        for k in range(6)
    )
    moves = gcode.read(circles, dialect, 1000).moves
    run = gcode.motion.execute(approached(moves, min(machine.rapid)), controller, tolerance=0.01, longest=0.5)
    monkeypatch.setattr("gcode.controllers.grbl.planner.ROWS_AT_ONCE", 7)
    timing = Timing.of(gcode.read(circles, dialect, 1000), machine, dialect)
    assert timing.write_time == pytest.approx(run.write_time, rel=1e-12)
    assert timing.executed == pytest.approx(run.durations(len(moves) + 1)[1:], rel=1e-12)


@st.composite
def programs(draw: st.DrawFn) -> gcode.Moves:
    """Within the envelope, and somewhere lit."""
    n = draw(st.integers(1, 12))
    place = st.tuples(st.integers(0, 300_000), st.integers(0, 200_000))
    points = draw(st.lists(place, min_size=n + 1, max_size=n + 1, unique=True))
    rapid = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    rapid[draw(st.integers(0, n - 1))] = False
    power = np.array(draw(st.lists(st.floats(0.01, 1), min_size=n, max_size=n)))
    speed = np.array(draw(st.lists(st.floats(0.1, 50), min_size=n, max_size=n)))
    return gcode.Moves.straight(
        np.array(points) / 1000, np.where(rapid, 0, power), np.where(rapid, 100.0, speed), rapid,
        dynamic=draw(st.booleans()),
    )  # fmt: skip


@pytest.mark.parametrize("name", gcode.DIALECTS)
@given(moves=programs())
@examples(40)
def test_what_is_written_within_the_envelope_has_no_error(name: str, moves: gcode.Moves) -> None:
    dialect = gcode.dialect(name)
    if not dialect.dynamic_power:
        moves = replace(moves, dynamic=np.zeros(len(moves), dtype=bool))
    text = gcode.write(moves, dialect, dialect.power_max, header=["5 µm – 20 °C! why?"])
    assert [f for f in check(text, name) if f.error] == []


@pytest.mark.parametrize("name", gcode.DIALECTS)
def test_what_is_written_well_has_no_finding_at_all(name: str) -> None:
    dialect = gcode.dialect(name)
    xy = np.array([[1, 1], [2, 2], [40, 2], [40, 30], [5, 30], [5, 40], [60, 40]])
    rapid = np.array([True, False, False, True, False, False])
    moves = gcode.Moves.straight(
        xy, np.where(rapid, 0, 0.5), np.where(rapid, 100, 20.0), rapid, dynamic=dialect.dynamic_power
    )
    assert check(gcode.write(moves, dialect, dialect.power_max, header=["5 µm – why?"]), name) == ()


@given(st.text() | st.lists(st.sampled_from([*"GMXYSFIJRNP0123456789.-; ()\n\r!", "SET_PIN "])).map("".join))
@examples(200)
def test_no_text_ends_in_a_traceback(text: str) -> None:
    for name in gcode.DIALECTS:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
        for finding in check(text, name):
            assert 1 <= finding.line <= lines
            assert finding.severity in ("error", "warning")


@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_hundred_thousand_lines_are_checked_in_a_moment(n: int) -> None:
    body = "".join(f"G1 X{k % 2000 / 10} Y{k % 777 / 10}\n" for k in range(n))
    text = f"G21 G90 G17\nM4 S0\nG0 X0 Y0\nG1 F1200 S500\n{body}M5\nM2\n"
    dialect = gcode.dialect("grbl")
    within(25 * n / 100_000, lambda: checking.check(text, dialect, envelope("grbl")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"box": (0, 0, 0, 10)}, "box"), ({"z": (1, 0)}, "z"), ({"s_max": 0}, "s_max"),
        ({"level_min": 300}, "level_min"), ({"look_ahead": 0}, "look_ahead"),
        ({"acceleration": (500.0, 9e-4)}, r"acceleration is .* at least 0\.001 mm/s²"),
    ],
)  # fmt: skip
def test_an_envelope_that_is_none_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(gcode.GcodeError, match=message):
        envelope("grbl", **change)


def test_a_controller_too_slow_to_compute_is_refused_when_it_is_made() -> None:
    """So that no check of a program raises, whatever the controller."""
    slowest = gcode.motion.Grbl(acceleration=(1e-3, 1e-3, 1e-3))
    assert check(SOUND["grbl"], "grbl", controller=slowest) == ()
    with pytest.raises(gcode.GcodeError, match=r"limit acceleration is .* at least 0\.001 mm/s²"):
        gcode.motion.Grbl(acceleration=(500.0, 9e-4, 100.0))
    with pytest.raises(gcode.GcodeError, match=r"limit tick is 1e-12, but must be at least 1e-05 s"):
        gcode.motion.Grbl(tick=1e-12)


LONG = (
    ("", "("), ("", "7"), ("", "M"), ("", ";"), ("", "G1 "), ("", "G0 "), ("", "M3 "), ("", "N1 "),
    ("", "g1 "), ("", "S9999 "), ("M117 g1 ", "g1 "), ("X1E5 X", "7"), ("F", "0"), ("S", "7"),
    ("SET_PIN ", "A"),
)  # fmt: skip
"""How lines begin, and what they repeat."""


@pytest.mark.parametrize("name", one_fast(["grbl", "marlin", "klipper", "linuxcnc"], "klipper"))
def test_a_line_of_any_length_takes_time_in_proportion(name: str) -> None:
    """A rule that searched the rest of the line from each word would take minutes."""
    dialect = gcode.dialect(name)
    texts = [
        f"G21\nG90\nM5\nG0 X0 Y0\n{begin}{repeated * (20_000 // len(repeated))}x\nM5\n"
        for begin, repeated in LONG
    ]
    found = within(7, lambda: [gcode.check(text, dialect, envelope(name)) for text in texts])
    assert all(found)
    assert max(len(finding.message) for some in found for finding in some) < 400


def test_messages_of_marlin_about_the_rest_of_a_line() -> None:
    head = "G21\nG90\nM5\nG0 X0 Y0\n"
    marlin = gcode.dialect("marlin")

    def messages(line: str) -> str:
        return "\n".join(
            str(one)
            for one in gcode.check(head + line + "\nM5\n", marlin, envelope("marlin"))
            if one.line == 5
        )

    assert "M4 I ignores S" in messages("M4 I S5")
    assert "M3 S5 lights the laser" in messages("M3 S5")
    assert "lights the laser" not in messages("M3 I S5") + messages("M3 S0.0") + messages("M3 ; S5")
    assert "asks to send it again" in messages("N5 G1 X1 F100")
    assert "asks to send it again" not in messages("N5 G1 X1 F100*86")


def test_a_comment_that_linuxcnc_runs_as_python_is_an_error() -> None:
    comment = ";py,self.execute('M68 E0 Q1')\n"
    (finding,) = check(comment + SOUND["linuxcnc"], "linuxcnc")
    assert finding.error and finding.line == 1 and "Python" in finding.message
    assert check(comment + SOUND["grbl"], "grbl") == ()


def test_powers_of_another_scale_are_reported() -> None:
    text = SOUND["grbl"].replace("S500\nM5", "S0.5\nM5")
    (finding,) = check(text, "grbl", power_levels=255)
    assert finding.severity == "warning" and "power 0.0005 is below half a level" in finding.message


@pytest.mark.parametrize(("dialect", "word"), [("marlin", "M42 P4 S255"), ("grbl", "M64 P0")])
def test_an_output_that_may_be_the_lasers_is_a_warning(dialect: str, word: str) -> None:
    head, motion, rest = SOUND[dialect].partition("G0 ")
    (finding,) = check(f"{head}{word}\n{motion}{rest}", dialect)
    assert finding.severity == "warning" and "sets an output" in finding.message


CRLF = replace(gcode.dialect("linuxcnc"), name="crlf", line_end="\r\n")
BRACKETS = replace(CRLF, name="brackets", comment="(", line_end="\n")
OWN = replace(gcode.dialect("generic"), name="own", line_limit=40)
EVERY = [*gcode.DIALECTS.values(), CRLF, BRACKETS, OWN]
LONGEST = {
    "grbl": 79, "grblhal": 256, "marlin": 95, "klipper": 160, "smoothieware": 128, "linuxcnc": 252,
    "generic": 79, "crlf": 252, "brackets": 252, "own": 40,
}  # fmt: skip
"""Bytes, the CR before an LF among them."""

ENVELOPE = gcode.Envelope(box=(0, 0, 300, 200))

each = pytest.mark.parametrize("dialect", EVERY, ids=lambda d: d.name)


def moves() -> gcode.Moves:
    return gcode.Moves.straight([[1, 1], [11, 1]], [0.5], [20], [False])


def raw_lines(text: str, dialect: gcode.Dialect) -> list[str]:
    """As a controller has them that ends a line at LF."""
    assert text.endswith(dialect.line_end)
    return text.split("\n")[:-1]


@each
@pytest.mark.parametrize("name", one_fast(LONG_COMMENTS, "two bytes a letter", "many words"))
def test_long_comments_are_wrapped(dialect: gcode.Dialect, name: str) -> None:
    said = LONG_COMMENTS[name]
    text = gcode.write(replace(moves(), comments=((0, said),)), dialect, header=[said])
    assert max(len(line.encode()) for line in raw_lines(text, dialect)) <= LONGEST[dialect.name]
    program = gcode.verify(text, dialect, asked=moves())
    assert len(program.moves) == 1
    assert gcode.examine(text, dialect, replace(ENVELOPE, s_max=dialect.power_max)).errors == 0


@each
def test_wrapping_loses_nothing_but_blanks(dialect: gcode.Dialect) -> None:
    said = "every-word " * 30 + "/a/path/without/a/blank" * 40
    text = gcode.write(moves(), dialect, header=[said])
    words = [line.strip("();\r ") for line in raw_lines(text, dialect) if line[0] in ";("]
    assert "".join(words).replace(" ", "") == said.replace(" ", "")


COUNTS_COMMENTS = [dialect for dialect in EVERY if dialect.line_counts == "all" and dialect.line_excess]


@pytest.mark.parametrize("dialect", COUNTS_COMMENTS, ids=lambda d: d.name)
def test_a_longer_comment_is_no_proof(dialect: gcode.Dialect) -> None:
    text, fits = gcode.write(moves(), dialect), "; " + "c" * (dialect.line_room - 2)
    gcode.verify(f"{fits}{dialect.line_end}{text}", dialect)
    limit = LONGEST[dialect.name]
    with pytest.raises(
        gcode.GcodeError, match=rf"has {limit + 1} characters, above {dialect.name}'s {limit}"
    ):
        gcode.verify(f"{fits}c{dialect.line_end}{text}", dialect)


BEYOND = [
    # dialect, bytes before the comment, bytes of the comment, words of the error; none if it is none
    ("linuxcnc", 5, 247, ""), ("linuxcnc", 5, 248, r"253 characters, above linuxcnc's 252.*Command too long"),
    ("grblhal", 5, 251, ""), ("grblhal", 5, 252, r"257 characters, above grblhal's 256.*error 11"),
    ("grbl", 79, 900, ""), ("grbl", 80, 0, r"80 characters, above grbl's 79.*error 11"),
    ("marlin", 95, 0, ""), ("marlin", 5, 91, ""), ("marlin", 96, 0, r"above marlin's 95.*drops the rest"),
    ("smoothieware", 5, 123, ""), ("smoothieware", 5, 124, r"above smoothieware's 128.*silently drops it"),
    ("klipper", 5, 9999, ""), ("generic", 5, 75, r"above generic's 79.*may reject it"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words", "comment", "error"), BEYOND)
def test_check_and_proof_count_as_the_controller_does(
    name: str, words: int, comment: int, error: str
) -> None:
    dialect = gcode.dialect(name)
    line = "G0X".ljust(words, "0") + ";".ljust(comment, "c") * bool(comment)
    text = gcode.write(moves(), dialect).replace("G0 ", f"{line}\nG0 ", 1)
    found = gcode.check(text, dialect, replace(ENVELOPE, s_max=dialect.power_max))
    said = [f.message for f in found if f.error and "characters" in f.message]
    assert len(said) == bool(error) and re.search(error, " ".join(said))
    if error:
        with pytest.raises(gcode.GcodeError, match="characters"):
            gcode.verify(text, dialect)


def test_check_counts_bytes_and_carriage_returns() -> None:
    dialect = gcode.dialect("linuxcnc")
    text = gcode.write(moves(), dialect)
    for line, end, fits in (
        ("; " + "ö" * 125, "\n", True), ("; " + "ö" * 125 + "c", "\n", False),
        ("; " + "c" * 249, "\r\n", True), ("; " + "c" * 250, "\r\n", False),
    ):  # fmt: skip
        told = (line + "\n" + text).replace("\n", end)
        for program in (told, told.encode()):
            found = gcode.check(program, dialect, replace(ENVELOPE, s_max=1))
            assert any("above linuxcnc's 252" in f.message for f in found) != fits


def test_only_what_linuxcnc_would_run_is_changed() -> None:
    said = ["py,quit()", "copy, then (py,quit()); py,x", "PY,a", "happy, py, py"]
    text = gcode.write(moves(), gcode.dialect("linuxcnc"), header=said)
    told = [line[2:] for line in text.splitlines() if line[0] == ";"]
    assert told == ["py.quit()", "copy, then (py.quit()); py.x", "PY.a", "happy, py, py"]
