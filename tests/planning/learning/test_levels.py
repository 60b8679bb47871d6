"""The choice of levels: the edges as executed never become worse, and the largest dose is held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small

from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, prepared, with_energies
from laserpath.measure.exposure import Exposure
from laserpath.planning.learning import on_steps
from laserpath.planning.learning.levels import best_levels
from laserpath.planning.task import Task
from laserpath.types.results import Measurement

DIALECTS = pytest.mark.parametrize("dialect", list(small.MACHINES))


def fitted(task: Task, dialect: str, factor: float = 1.0) -> MachineProgram:
    """With the level nearest to each energy. factor: on all powers."""
    path = on_steps(prepared(small.path(dialect), task.process), task.machine)
    path = replace(path, power=np.minimum(factor * path.power, task.machine.power_max))
    return MachineProgram.of_moves(
        with_energies(convert.to_moves(path, task.machine), task.process), task.process
    )


def measured(program: MachineProgram, scene: Scene) -> Measurement:
    return Exposure(program, scene, program.path).executed


@DIALECTS
def test_the_edges_are_no_worse_and_mostly_better(dialect: str) -> None:
    task = small.task(dialect)
    program = fitted(task, dialect)
    best = best_levels(program, task)
    before, after = (measured(one, task.scene).figures for one in (program, best))
    assert after.epe_mean <= before.epe_mean + 2e-4
    if dialect != "marlin":  # whose ramps depend on the power, so that levels are chosen for others
        assert after.epe_mean < 0.95 * before.epe_mean
        assert after.missing_edges <= before.missing_edges


@DIALECTS
def test_only_powers_change(dialect: str) -> None:
    task = small.task(dialect)
    program = fitted(task, dialect)
    best = best_levels(program, task)
    np.testing.assert_array_equal(best.path.xy, program.path.xy)
    np.testing.assert_array_equal(best.path.speed, program.path.speed)
    np.testing.assert_array_equal(best.path.on, program.path.on)
    assert best.run.write_time == pytest.approx(program.run.write_time, rel=0.01)
    again = best_levels(best, task)
    assert measured(again, task.scene).figures.epe_mean <= measured(best, task.scene).figures.epe_mean + 2e-4


@pytest.mark.parametrize("dialect", ["grbl", "klipper"])
def test_over_dose_is_held(dialect: str) -> None:
    """A path that is dosed too strongly anywhere is weakened there."""
    task = small.task(dialect)
    peak = measured(fitted(task, dialect), task.scene).figures.dose_max
    limit = 0.95 * peak
    resin = replace(task.process.resin, over_dose=limit)
    held = Task.of(small.ELL, replace(task.process, resin=resin), small.SETTINGS)
    best = best_levels(fitted(held, dialect), held)
    assert peak > 1.04 * limit
    assert measured(best, held.scene).figures.dose_max <= 1.02 * limit


def test_a_machine_with_a_lag_keeps_its_program() -> None:
    """Its commands come early, between the moves."""
    task = small.task("grbl")
    late = replace(task.machine, lag=1e-4)
    lagging = Task.of(small.ELL, replace(task.process, machine=late), small.SETTINGS)
    program = fitted(task, "grbl")
    assert best_levels(program, lagging) is program
