"""A tolerance selects the fastest plan that keeps it."""

from dataclasses import replace

import pytest
import shapely
from builders import SPOT, design, expose

from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.program import MachineProgram
from laserpath.physics.dose import DoseModel
from laserpath.planning import stages
from laserpath.planning.curve import initial_curve
from laserpath.planning.optimise.loop import dose_to_size
from laserpath.planning.optimise.loss import TIME_WEIGHTS
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.stages import solve
from laserpath.planning.task import Task
from laserpath.types import Process, Settings

PROCESS, SETTINGS = Process(), Settings(initial="contour", iterations=60)
BAR = design(shapely.box(1, 1, 1.3, 2))
TARGET = rasterise(BAR, grid_for(BAR, SPOT, SETTINGS.pixels_per_fwhm))
START = dose_to_size(
    initial_curve(BAR, PROCESS, SETTINGS),
    DoseModel(TARGET.grid, SPOT),
    Objective.of(Scene.of(BAR, TARGET, SPOT, PROCESS.resin)),
    PROCESS.machine,
)


def p95(path):
    return expose(path, BAR, TARGET, PROCESS).executed.figures.epe_p95


def time(path):
    return expose(path, BAR, TARGET, PROCESS).commanded.motion.write_time


def ship(solution):
    return MachineProgram.of(solution.written, PROCESS)


def within(limit):
    task = Task.of(BAR, PROCESS, replace(SETTINGS, max_epe_fwhm=limit))
    return stages.solve_within(START, task, ship=ship).written


@pytest.fixture
def weights(monkeypatch):
    """The weights of the attempts."""
    seen = []

    def watched(*args):
        seen.append(args[-1])
        return solve(*args)

    monkeypatch.setattr(stages, "solve", watched)
    return seen


@pytest.mark.slow
def test_a_loose_tolerance_is_spent_on_speed(weights):
    path = within(0.8)
    assert weights[1:] and weights == sorted(weights)
    assert weights[0] == TIME_WEIGHTS["standard"]
    assert p95(path) <= 0.8
    assert time(path) < time(solve(START, Task.of(BAR, PROCESS, SETTINGS)).written)


@pytest.mark.slow
def test_a_tolerance_that_cannot_be_kept_gives_the_most_accurate(weights):
    path = within(1e-4)
    assert weights == sorted(weights, reverse=True) and len(weights) == 4
    assert p95(path) <= p95(solve(START, Task.of(BAR, PROCESS, SETTINGS)).written) + 1e-9


@pytest.mark.slow
def test_without_a_tolerance_there_is_one_solution(weights):
    stages.solve_within(START, Task.of(BAR, PROCESS, SETTINGS), ship=ship)
    assert weights == [TIME_WEIGHTS["standard"]]


def test_a_stop_in_a_later_attempt_is_reported(weights):
    count = 0

    def progress(news):
        nonlocal count
        count += 1
        if len(weights) == 1 and news.iteration > 5:
            raise KeyboardInterrupt

    solution = stages.solve_within(
        START, Task.of(BAR, PROCESS, replace(SETTINGS, max_epe_fwhm=0.8)), progress, ship=ship
    )
    assert solution.stopped and "stopped by the user" in solution.result


@pytest.mark.slow
def test_what_is_shipped_is_what_has_to_keep_it():
    """The shipped programs expose less than their paths, which would keep the tolerance at once."""
    shipped = []

    def spoilt(solution):
        path = solution.written
        shipped.append(path)
        return MachineProgram.of(replace(path, power=0.6 * path.power), PROCESS)

    stages.solve_within(START, Task.of(BAR, PROCESS, replace(SETTINGS, max_epe_fwhm=0.25)), ship=spoilt)
    assert p95(shipped[0]) < 0.25
    assert len(shipped) == 4
