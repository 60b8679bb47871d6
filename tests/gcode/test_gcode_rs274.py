"""LinuxCNC's own interpreter reads our programs, and every program, as we do: motion by motion.

`tests/gcode/readers/fetch` brings the interpreter; `readers.canon` says how it prints each command.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import readers
from readers import canon
from readers.compared import READ_BY_RS274, assert_equal, ours, rounding
from readers.programs import FAST, FOREIGN, GOLDEN, dialect_of, random_moves, random_text

import gcode

INCHES = {"place": 2 * 25.4 * canon.PRINTED, "feed": 25.4 * canon.PRINTED}
"""rs274 prints inches with as many digits as millimetres, and a place as offset and rest."""

RS274 = readers.rs274()
pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(RS274 is None, reason=readers.MISSING.format("LinuxCNC's interpreter rs274")),
]

EXPECTED = json.loads((FOREIGN / "expected.json").read_text()) if FOREIGN.is_dir() else {}


def run(text: str) -> canon.Run:
    assert RS274
    return canon.run(RS274, text)


# ---------------------------------------------------------------------------- what rs274 prints


START = "G21 G90 G17 F600\n"


@pytest.mark.parametrize(
    ("text", "kinds", "ends"),
    [
        ("G0 X1 Y2\nG1 X3\nY4 Z5", [0, 1, 1], [(1, 2, 0), (3, 2, 0), (3, 4, 5)]),
        ("G20\nG0 X1\nG21\nG1 X1", [0, 1], [(25.4, 0, 0), (1, 0, 0)]),
        ("G1 X1\nG91\nG1 X1\nY-1", [1, 1, 1], [(1, 0, 0), (2, 0, 0), (2, -1, 0)]),
        ("G1 X1\nG92 X5 Y5\nG1 X6\nG92.1\nX6", [1, 1, 1], [(1, 0, 0), (2, 0, 0), (6, 0, 0)]),
        ("G1 X2.54\nG92 X0\nG20\nX1\nG92 X0\nX1", [1, 1, 1], [(2.54, 0, 0), (27.94, 0, 0), (53.34, 0, 0)]),
        ("G10 L2 P1 X5 Y6\nG0 X0 Y0\nG55 G0 X0\nG53 G0 X1", [0] * 3, [(5, 6, 0), (0, 6, 0), (1, 6, 0)]),
        ("G1 X1\nG4 P0.5\nG28 Y3", [1, 4, 0, 0], [(1, 0, 0), (1, 0, 0), (1, 3, 0), (1, 0, 0)]),
    ],
)  # fmt: skip
def test_where_rs274_goes(text: str, kinds: list[int], ends: list[tuple[float, float, float]]) -> None:
    found = run(f"{START}{text}\nM2\n").motions
    assert [m.kind for m in found] == kinds
    np.testing.assert_allclose([m.end for m in found], ends, atol=25.4 * canon.PRINTED)
    assert [m.start for m in found[1:]] == [m.end for m in found[:-1]]


@pytest.mark.parametrize(
    ("text", "kind", "end", "centre", "turns"),
    [
        ("G2 X2 Y0 I1 J0", 2, (2, 0), (1, 0), 1), ("G3 X2 Y0 I1", 3, (2, 0), (1, 0), 1),
        ("G2 I1 J0", 2, (0, 0), (1, 0), 1), ("G90.1 G3 X2 Y0 I1 J0", 3, (2, 0), (1, 0), 1),
        ("G2 X1 Y1 R1", 2, (1, 1), (1, 0), 1), ("G2 X1 Y1 R-1", 2, (1, 1), (0, 1), 1),
        ("G3 X1 Y1 R1", 3, (1, 1), (0, 1), 1), ("G3 X2 Y0 I1 P3", 3, (2, 0), (1, 0), 3),
        ("G20 G2 X2 Y0 I1 J0", 2, (50.8, 0), (25.4, 0), 1),
    ],
)  # fmt: skip
def test_how_rs274_tells_arcs(
    text: str, kind: int, end: tuple[float, float], centre: tuple[float, float], turns: int
) -> None:
    (found,) = run(f"{START}{text}\nM2\n").motions
    assert (found.kind, found.turns) == (kind, turns)
    np.testing.assert_allclose([*found.end[:2], *(found.centre or ())], [*end, *centre], atol=1e-9)


def test_rs274_knows_feeds_in_both_units_and_in_inverse_time() -> None:
    found = run("G21 G1 X1 F600\nG20 X1\nX2 F60\nG93 X3 F2\nG94\nG21 X1 F60\nX2 F60\nM2\n").motions
    assert [m.speed for m in found] == pytest.approx([10, 10, 25.4, 25.4 / 30, 25.4, 1], abs=1e-4)


def test_rs274_changes_the_power_with_the_motion_or_at_once() -> None:
    text = "M67 E0 Q0.5\nG4 P1\nG1 X1\nM67 E0 Q0.25\nM67 E1 Q1\nM68 E0 Q0.75\nG4 P1\nG1 X2\nM67 E0 Q1"
    found = run(f"{START}M3 S7\n{text}\nM5\nM2\n")
    # Nothing had set the output before the first wait.
    assert [m.analog for m in found.motions] == [None, 0.5, 0.75, 0.25]
    assert {m.spindle for m in found.motions} == {7}
    assert found.analog_at_end == 1


def test_rs274_turns_the_spindle_with_s() -> None:
    found = run(f"{START}S5\nG1 X1\nM3\nX2\nX3 S6\nM5\nX4\nM4\nX5\nS0\nX6\nM2\n").motions
    assert [m.spindle for m in found] == [0, 5, 6, 0, 6, 0]


# ---------------------------------------------------------------------------- our programs


@pytest.mark.parametrize("path", [p for p in GOLDEN if dialect_of(p) in READ_BY_RS274], ids=lambda p: p.stem)
def test_golden_files(path: Path) -> None:
    text, name = path.read_text(), dialect_of(path)
    assert_equal(run(text).motions, ours(text, name), s_max=gcode.dialect(name).power_max)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", READ_BY_RS274)
def test_random_moves_as_we_write_them(name: str, seed: int) -> None:
    dialect = gcode.dialect(name)
    moves = random_moves(seed, dialect)
    text = gcode.write(moves, dialect, dialect.power_max, header=["random moves"])
    found = run(text)
    assert_equal(found.motions, ours(text, name), s_max=dialect.power_max)
    assert_equal(found.motions, moves, s_max=dialect.power_max, **rounding(dialect))
    assert not found.analog_at_end, "the laser is off when the program is over"


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CR LF"])
@pytest.mark.parametrize("line", ["; ", "(", "G0 X1"], ids=["comment", "brackets", "words"])
def test_rs274_takes_lines_up_to_the_dialects_limit(line: str, end: str) -> None:
    room = replace(gcode.dialect("linuxcnc"), line_end=end).line_room
    for length in (room, room + 1):
        long = line.ljust(length - 1, " " if line[0] == "G" else "c") + (")" if line[0] == "(" else " ")
        text = end.join(["G21 G90", long, "G1 X2 F60", "M2", ""])
        if length == room:
            assert run(text).motions[-1].end == (2, 0, 0)
        else:
            with pytest.raises(canon.RefusedError, match="Command too long"):
                run(text)


# ---------------------------------------------------------------------------- everybody's programs


@pytest.mark.parametrize("output", [False, True], ids=["S", "M67"])
@pytest.mark.parametrize("seed", range(10))
def test_random_texts_are_read_alike(seed: int, output: bool) -> None:
    text = random_text(seed, output=output)
    # Its G0 keeps S, which is then a controller's to take for dark, as here, or not.
    dialect = gcode.dialect("linuxcnc") if output else replace(gcode.dialect("generic"), dark_rapids=True)
    moves = gcode.parse(text, dialect, start=(0.0, 0.0), rapid_speed=FAST)
    assert_equal(run(text).motions, moves, s_max=dialect.power_max, **INCHES)


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if "error" not in expected])
def test_files_of_other_programs(name: str) -> None:
    """Those that are for LinuxCNC, or that it understands; what it refuses is none of its language.

    Not those that go home: where that is, the machine knows.
    """
    text = (FOREIGN / name).read_bytes().decode("latin-1")
    try:
        found = run(text if text.lstrip().startswith("%") else f"%\n{text}\n%\n")
    except canon.RefusedError:
        return
    if re.search(r"G(28|30|53)\b", text):
        return
    dialect, s_max = str(EXPECTED[name]["dialect"]), float(EXPECTED[name]["s_max"])
    assert_equal(found.motions, ours(text, dialect, s_max), s_max=s_max, **INCHES)


@pytest.mark.parametrize(
    "text",
    [
        "G1 X1",  # no feed
        "F600 G2 X2 Y0 I1.5",  # the ends are not as far from the centre
        "F600 G2 X5 Y0 R1",
        "F600 G2 X0 Y0 R1",
        "F600 G2 X1 Y1",
        "G0 X1\nG80\nX2",
        "G0 X1 G1 F600",
        "G90 G91",
        "M3 M5",
        "X1 X2 G0",
        "G4",
        "G0 X1e1",
        "G0 X",
        "G123 X1",
        "F600 G18 G2 X1 Z1 R-",
        "G92",
    ],
)
def test_what_linuxcnc_refuses_is_refused(text: str) -> None:
    text = f"G21 G90\n{text}\nM2\n"
    with pytest.raises(canon.RefusedError):
        run(text)
    with pytest.raises(gcode.GcodeError, match=r"^line "):
        ours(text, "linuxcnc")
