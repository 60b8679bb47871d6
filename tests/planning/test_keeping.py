"""What is kept for an interrupted run is read back to the last digit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely

from laserpath.base.errors import InputError
from laserpath.planning.keeping import Keeping, Solved, _digest
from laserpath.types import Design, Process, Settings, Spot, Toolpath
from laserpath.types.results import Solution

PATH = Toolpath(np.array([[0.1, 1 / 3], [2.0, 1e-17]]), np.array([10 / 7]), np.array([50.0]))
FOUND = Solved(PATH, Solution(PATH, np.array([0.3, 1 / 9]), "converged", converged=True, time_weight=0.1))
DESIGN = Design(shapely.box(0, 0, 1, 1))


def test_what_is_kept_is_what_was_found(tmp_path: Path) -> None:
    keeping = Keeping(tmp_path / "part.layers")
    assert keeping.solved(DESIGN, lambda: FOUND) is FOUND
    kept = keeping.solved(DESIGN, pytest.fail)
    for one, other in ((kept.start, PATH), (kept.solution.toolpath, PATH)):
        assert np.array_equal(one.xy, other.xy)
        assert np.array_equal(one.power, other.power)
        assert np.array_equal(one.speed, other.speed)
    assert np.array_equal(kept.solution.loss, FOUND.solution.loss)
    assert kept.solution.written is None
    assert (kept.solution.result, kept.solution.converged) == ("converged", True)
    keeping.clear()
    assert not list(tmp_path.iterdir())


def test_what_layers_are_dimmed_by_is_kept(tmp_path: Path) -> None:
    keeping, shares = Keeping(tmp_path / "part.layers"), np.array([0, 17, 255], np.uint8)
    assert keeping.dimmed((DESIGN, 1), lambda: shares) is shares
    assert np.array_equal(keeping.dimmed((DESIGN, 1), pytest.fail), shares)
    (place,) = keeping.folder.iterdir()
    place.write_text(place.read_text().replace("e", "f"))
    with pytest.raises(InputError, match="of an interrupted run cannot be read: remove it"):
        keeping.dimmed((DESIGN, 1), pytest.fail)
    keeping.clear()
    assert not list(tmp_path.iterdir())


def test_what_the_user_stopped_is_not_kept(tmp_path: Path) -> None:
    stopped = replace(FOUND, solution=replace(FOUND.solution, stopped=True))
    Keeping(tmp_path).solved(DESIGN, lambda: stopped)
    assert not list(tmp_path.iterdir())


def test_a_plan_of_anything_else_is_not_taken() -> None:
    """A digit of the outline, of the spot or of a setting."""
    inputs = (DESIGN, Process(), Settings())
    others = [
        (Design(shapely.box(0, 0, 1, 1 + 1e-15)), *inputs[1:]),
        (DESIGN, Process(Spot(0.1 + 1e-16)), Settings()),
        (DESIGN, Process(), Settings(offset=(0.0, 1e-9))),
    ]
    assert _digest(inputs) == _digest((Design(shapely.box(0, 0, 1, 1)), Process(), Settings()))
    assert len({_digest(one) for one in (inputs, *others)}) == 4


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    keeping = Keeping(tmp_path)
    keeping.solved(DESIGN, lambda: FOUND)
    (place,) = tmp_path.iterdir()
    place.write_text(place.read_text()[:-9])
    with pytest.raises(InputError, match="of an interrupted run cannot be read: remove it"):
        keeping.solved(DESIGN, pytest.fail)
