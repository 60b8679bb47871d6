"""Programs as other tools write them are read as their controller would run them.

tests/data/gcode/foreign/expected.json says by hand what each one does; the README beside it says why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gcode
from gcode.move import Kind, Moves

FILES = Path(__file__).parents[1] / "data" / "gcode" / "foreign"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FILES / "expected.json").read_text())
READ = [name for name, expected in EXPECTED.items() if "error" not in expected]
REFUSED = [name for name in EXPECTED if name not in READ]
REMARKED = [name for name, expected in EXPECTED.items() if "remarks" in expected]

TOLERANCE = 1e-4
"""mm, s and parts of full power: what the numbers in expected.json are rounded to, ten times."""


def text(name: str) -> str:
    """As it is, with the line ends that the tool wrote."""
    return (FILES / name).read_bytes().decode()


def read(name: str) -> Moves:
    """Its moves from the work zero on, so that the first way is a move too."""
    expected = EXPECTED[name]
    return gcode.parse(text(name), gcode.dialect(expected["dialect"]), expected["s_max"], start=(0.0, 0.0))


def facts(moves: Moves) -> dict[str, Any]:
    """What expected.json says of a program, of these moves. A plunge draws nothing: it does not leave X Y."""
    across = (np.diff(moves.xy, axis=0) != 0).any(axis=1) | moves.arc
    drawn = across & ~moves.rapid
    lit = drawn & moves.on
    found: dict[str, Any] = {
        "lit_moves": int(lit.sum()),
        "lit_length": moves.length[lit].sum(),
        "drawn_length": moves.length[drawn].sum(),
        "feeds": np.unique(moves.speed[lit].round(4)),
        "end": moves.xy[-1],
        "z": moves.z[-1],
        "wait": moves.dwell.sum(),
        "lit_wait": moves.dwell[moves.on].sum(),
    }
    if lit.any():
        fine, row = moves.cut(TOLERANCE / 10)
        ends = np.flatnonzero(lit[row])
        corners = np.vstack([fine.xy[ends], fine.xy[ends + 1]])
        found["box"] = [*corners.min(axis=0), *corners.max(axis=0)]
        found["power"] = [moves.power[lit].min(), moves.power[lit].max()]
        found["dynamic"] = moves.dynamic[lit].all() if moves.dynamic[lit].any() else False
    return found


@pytest.mark.parametrize("name", READ)
def test_a_program_of_another_tool_is_read_as_its_controller_runs_it(name: str) -> None:
    moves = read(name)
    found = facts(moves)
    for fact in found.keys() & EXPECTED[name].keys():
        assert found[fact] == pytest.approx(EXPECTED[name][fact], abs=TOLERANCE), fact
    assert not moves.power[moves.kind == Kind.RAPID].any(), "a rapid is dark"


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_can_know_is_refused_with_its_line(name: str) -> None:
    with pytest.raises(gcode.GcodeError, match=EXPECTED[name]["error"]) as refused:
        read(name)
    assert refused.value.line == EXPECTED[name]["line"]
    assert refused.value.column is not None


@pytest.mark.parametrize("name", REMARKED)
def test_what_is_passed_over_is_noted(name: str) -> None:
    expected = EXPECTED[name]
    notes = gcode.read(text(name), gcode.dialect(expected["dialect"]), expected["s_max"]).notes
    for line, word in expected["remarks"].items():
        assert [n for n in notes if n.line == int(line) and word in n.message], f"line {line}: {word}"


def test_every_file_is_here_and_expected() -> None:
    files = {path.name for path in FILES.iterdir()} - {"README.md", "expected.json"}
    assert files == EXPECTED.keys()
    assert all((FILES / name).stat().st_size < 5000 for name in files)


def test_line_ends_are_those_of_the_tools() -> None:
    """MeerK40t ends lines with a bare CR, LaserGRBL with CR LF; an editor must not mend them."""
    assert b"\r" in (raw := (FILES / "meerk40t.gcode").read_bytes()) and b"\n" not in raw
    assert b"\r\n" in (FILES / "lasergrbl_raster.nc").read_bytes()
