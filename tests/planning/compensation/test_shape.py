"""The executed pieces as a function of vertices and line energies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small

import gcode
from laserpath.machine import convert
from laserpath.machine.powers import energies, exposing
from laserpath.machine.program import MachineProgram, prepared, with_energies
from laserpath.physics.dose import DoseModel, accurate_model
from laserpath.physics.resin import path_energy
from laserpath.planning.compensation import on_steps
from laserpath.planning.compensation.shape import ExecutedShape
from laserpath.planning.task import Task
from laserpath.types import Toolpath

_TWO_STEPS = 2 / 250 * 2**0.5
"""mm, the longest move of two steps of each axis on the GRBL machine."""

DIALECTS = pytest.mark.parametrize("dialect", list(small.MACHINES))


def split(dialect: str) -> Toolpath:
    """A path as `refined` executes it."""
    process = small.task(dialect).process
    lines = energies(prepared(small.path(dialect), process), process.spot)
    return exposing(on_steps(lines, process.machine, process.spot), process.machine, process.spot)


@DIALECTS
def test_the_pieces_expose_what_the_program_exposes(dialect: str) -> None:
    """But for the rounding to levels."""
    task, path = small.task(dialect), split(dialect)
    shape, grid, spot = ExecutedShape.of(path, task.process), task.scene.grid, task.scene.spot
    moves = with_energies(convert.to_moves(path, task.machine), task.process)
    program = MachineProgram.of_moves(moves, task.process)
    executed = accurate_model(grid, spot).dose(program.executed)
    pieces = accurate_model(grid, spot).line_dose(*shape(path.xy, path_energy(path, spot)))
    assert np.sqrt(((pieces - executed) ** 2).mean()) < 0.01 * executed.max()
    assert pieces.sum() == pytest.approx(executed.sum(), rel=0.01)


@DIALECTS
def test_energies_are_those_of_the_path(dialect: str) -> None:
    """The pieces of a move have its energy, but moves of a step or two may be dark."""
    task, path = small.task(dialect), split(dialect)
    shape, energy = ExecutedShape.of(path, task.process), path_energy(path, task.scene.spot)
    ends, pieces = shape(path.xy, energy)
    length = np.hypot(*np.diff(ends, axis=0).T)
    got = np.bincount(shape.move, pieces * length, len(path))
    wanted, lit = energy * path.length, path.on
    long = lit & (path.length > _TWO_STEPS)
    assert long.sum() > 0.7 * lit.sum()
    np.testing.assert_allclose(got[long], wanted[long], rtol=0.01)
    assert got[lit].sum() == pytest.approx(wanted[lit].sum(), rel=0.01)
    assert not got[~lit].any()


@DIALECTS
def test_pull_is_the_adjoint(dialect: str) -> None:
    path, rng = split(dialect), np.random.default_rng(4)
    shape = ExecutedShape.of(path, small.task(dialect).process)
    d_xy, d_energy = rng.normal(size=path.xy.shape), rng.normal(size=len(path))
    at_rest = shape(path.xy, np.zeros(len(path)))[0]
    ends, pieces = shape(path.xy + d_xy, d_energy)
    on_ends, on_pieces = rng.normal(size=ends.shape), rng.normal(size=len(pieces))
    back_xy, back_energy = shape.pull(on_ends, on_pieces, len(path))
    forward = float((on_ends * (ends - at_rest)).sum() + on_pieces @ pieces)
    assert float((back_xy * d_xy).sum() + back_energy @ d_energy) == pytest.approx(forward, rel=1e-9)


def test_vertices_carry_the_pieces_of_their_moves() -> None:
    """A shift of all vertices shifts all pieces; that of one only the pieces beside it."""
    path = split("grbl")
    shape, energy = ExecutedShape.of(path, small.task("grbl").process), path.power
    ends, by = shape(path.xy, energy)[0], np.array([0.01, -0.02])
    # The first end is where the head rests before the path.
    np.testing.assert_allclose(shape(path.xy + by, energy)[0][1:], ends[1:] + by)
    one = path.xy.copy()
    one[5] += 0.01
    moved = np.hypot(*(shape(one, energy)[0] - ends).T) > 1e-12
    beside = np.isin(np.append(-1, shape.move), [4, 5])
    assert moved.any()
    assert (moved <= beside).all()


def test_behind_a_shaper_each_axis_follows_the_vertices_of_its_times() -> None:
    """Turned by a right angle, with the shapers exchanged, the pieces are turned too."""
    path, process = split("shaped"), small.task("shaped").process
    x, y = gcode.motion.Shaper("zv", 40.0), gcode.motion.Shaper("3hump_ei", 60.0)
    turn, by = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([0.01, -0.02])
    upright, turned = (
        ExecutedShape.of(replace(path, xy=xy), replace(process, machine=replace(machine, shapers=shapers)))
        for machine in [replace(process.machine, steps=None)]
        for xy, shapers in ((path.xy, (x, y)), (path.xy @ turn, (y, x)))
    )
    ends = upright(path.xy, path.power)[0]
    np.testing.assert_allclose(upright(path.xy + by, path.power)[0], ends + by)
    one = path.xy.copy()
    one[5] += by
    moved = upright(one, path.power)[0]
    assert np.hypot(*(moved - ends).T).max() > 0.005
    np.testing.assert_allclose(turned(one @ turn, path.power)[0], moved @ turn, atol=1e-9)


def smooth(path: Toolpath) -> np.ndarray:
    """Shifts by 2 µm that turn along the path, and hardly change its speeds."""
    along = np.append(0.0, np.cumsum(path.length))
    return 0.002 * np.column_stack([np.sin(3 * along), np.cos(4 * along)])


@pytest.mark.parametrize(("dialect", "abrupt", "most"), [("klipper", True, 0.5), ("shaped", False, 0.1)])
def test_the_dose_follows_the_vertices_as_the_execution_does(dialect: str, abrupt: bool, most: float) -> None:
    """With vertices moved by 2 µm, held pieces predict the executed dose, but for the rounding to steps.

    Behind a shaper the speeds near by, too, decide where a move is exposed: abrupt shifts change them.
    """
    task, path = small.task(dialect), split(dialect)
    machine = replace(task.machine, steps=None)
    task = Task.of(small.ELL, replace(task.process, machine=machine), small.SETTINGS)
    grid, spot = task.scene.grid, task.scene.spot
    model, energy = DoseModel(grid, spot), path_energy(path, spot)
    by = np.random.default_rng(1).normal(0, 0.002, path.xy.shape) if abrupt else smooth(path)
    moved = Toolpath(path.xy + by, path.power, path.speed)
    shape = ExecutedShape.of(path, task.process)
    before = model.line_dose(*shape(path.xy, energy))
    predicted = model.line_dose(*shape(moved.xy, path_energy(moved, spot)))
    again = ExecutedShape.of(moved, task.process)
    after = model.line_dose(*again(moved.xy, path_energy(moved, spot)))
    assert np.abs(predicted - after).mean() < most * np.abs(before - after).mean()
