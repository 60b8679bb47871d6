"""From a tuned start to the moves that are written, on a design of about 1 mm.

A tolerance selects the fastest plan that keeps it.
"""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import SPOT, design, expose
from sets import one_fast

from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.powers import energies, exposing
from laserpath.machine.program import MachineProgram
from laserpath.physics.dose import DoseModel
from laserpath.planning import stages
from laserpath.planning.curve import initial_curve
from laserpath.planning.optimise.loop import Progress, dose_to_size
from laserpath.planning.optimise.loss import TIME_WEIGHTS
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.stages import _EdgeCheck, solve, trim
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Machine, Process, Resin, Settings, Toolpath
from laserpath.types.results import Solution

SETTINGS = Settings(initial="contour", iterations=100)
TEE = design(shapely.box(1, 1.7, 2, 2), shapely.box(1.35, 1, 1.65, 1.8), name="tee")
TARGET = rasterise(TEE, grid_for(TEE, SPOT, SETTINGS.pixels_per_fwhm))


def started(process: Process) -> EnergyPath:
    objective = Objective.of(Scene.of(TEE, TARGET, SPOT, process.resin))
    curve = initial_curve(TEE, process, SETTINGS)
    return dose_to_size(curve, DoseModel(TARGET.grid, SPOT), objective, process.machine)


def solved(process: Process, progress=None) -> Solution:
    return solve(started(process), Task.of(TEE, process, SETTINGS), progress)


def written(path: EnergyPath) -> Toolpath:
    return exposing(path, Machine(), SPOT)


def figures(toolpath: Toolpath, process: Process):
    return expose(toolpath, TEE, TARGET, process).commanded.figures


@pytest.fixture(scope="module")
def told() -> list[Progress]:
    """What `solution` reports."""
    return []


@pytest.fixture(scope="module")
def solution(told: list[Progress]) -> Solution:
    return solved(Process(), told.append)


def test_the_edges_are_at_least_twice_as_true_as_the_tuned_start_s(solution):
    start, end = figures(written(started(Process())), Process()), figures(solution.toolpath, Process())
    assert end.epe_mean < 0.5 * start.epe_mean
    assert end.epe_mean < 0.05
    assert end.missing_edges == 0
    assert end.iou > max(start.iou, 0.97)


def test_powers_are_on_the_machine_s_levels_and_speeds_within_its_limit(solution):
    machine, path = Machine(), solution.toolpath
    level = machine.level_for(path.power[path.on])
    np.testing.assert_allclose(level, np.rint(level), atol=1e-9)
    assert path.speed[path.on].max() <= min(machine.speed_max)
    assert (path.length > 0).all()


def test_all_iterations_are_reported_in_order(solution, told):
    seen = told
    stages = (("shape", 30), ("simplify", 1), ("refine", 45), ("execute", 12), ("levels", 1), ("place", 2))
    assert [s.stage for s in seen] == [stage for stage, count in stages for _ in range(count)]
    rounds = (*range(1, 13), 0, 0, 1)
    assert [s.iteration for s in seen] == [*range(1, 31), 0, *range(1, 46), *rounds]
    iterations = [s.loss for s in seen if s.stage in ("shape", "refine")]
    np.testing.assert_array_equal(iterations, solution.loss)
    assert solution.result == "all 100 iterations done"


@pytest.mark.parametrize("after", one_fast([5, 70, 80], 70))
def test_stopped_in_any_stage_the_path_can_still_be_written(after):
    count = 0

    def progress(now):
        nonlocal count
        count += now.iteration > 0
        if count == after:
            raise KeyboardInterrupt

    solution = solved(Process(), progress)
    assert solution.stopped and len(solution.loss) == min(after, 75)
    assert solution.result == f"stopped by the user after {after} of 100 iterations"
    level = Machine().level_for(solution.toolpath.power)
    np.testing.assert_allclose(level, np.rint(level), atol=1e-9)
    assert figures(solution.toolpath, Process()).iou > 0.8


def test_without_iterations_the_start_is_written():
    path = solve(started(Process()), Task.of(TEE, Process(), replace(SETTINGS, iterations=0))).toolpath
    start, end = figures(written(started(Process())), Process()), figures(path, Process())
    assert end.epe_mean == pytest.approx(start.epe_mean, abs=0.05)


@pytest.mark.parametrize(
    "process",
    [
        Process(machine=Machine(power_max=0.5)),
        pytest.param(Process(resin=Resin(critical_dose=5)), marks=pytest.mark.slow),
    ],
)
def test_a_laser_too_weak_at_full_speed_goes_slower(solution, process):
    """It once stayed at full speed and full power, and cured nothing."""
    path = solved(process).toolpath
    assert path.speed[path.on].max() <= 50 and path.power.max() <= process.machine.power_max
    reference = figures(solution.toolpath, Process())
    assert figures(path, process).epe_mean < 1.2 * reference.epe_mean + 0.005


def test_a_laser_far_too_strong_is_refused_in_a_sentence():
    with pytest.raises(InputError, match=r"smallest usable power .* attenuate the beam 200 times.*= 25$"):
        solved(Process(machine=Machine(power_max=5000.0)))


def test_trimming_changes_all_powers_by_one_factor_and_does_no_harm(solution):
    path = replace(solution.toolpath, power=solution.toolpath.power * 1.04)
    trimmed = written(trim(energies(path, SPOT), _EdgeCheck.of(Task.of(TEE, Process(), SETTINGS))))
    factor = trimmed.power[path.on] / path.power[path.on]
    np.testing.assert_allclose(factor, factor[0])
    assert 0.95 <= factor[0] < 1
    assert figures(trimmed, Process()).epe_mean < figures(path, Process()).epe_mean + 1e-3


PROCESS, BRIEF = Process(), Settings(initial="contour", iterations=60)
BAR = design(shapely.box(1, 1, 1.3, 2))
BAR_TARGET = rasterise(BAR, grid_for(BAR, SPOT, BRIEF.pixels_per_fwhm))
START = dose_to_size(
    initial_curve(BAR, PROCESS, BRIEF),
    DoseModel(BAR_TARGET.grid, SPOT),
    Objective.of(Scene.of(BAR, BAR_TARGET, SPOT, PROCESS.resin)),
    PROCESS.machine,
)


def p95(path):
    return expose(path, BAR, BAR_TARGET, PROCESS).executed.figures.epe_p95


def time(path):
    return expose(path, BAR, BAR_TARGET, PROCESS).commanded.motion.write_time


def ship(solution):
    return MachineProgram.of(solution.written, PROCESS)


def within(limit):
    task = Task.of(BAR, PROCESS, replace(BRIEF, max_epe_fwhm=limit))
    return stages.solve_within(START, task, ship=ship).written


@pytest.fixture
def weights(monkeypatch):
    """The weights of the attempts."""
    seen = []

    def watched(*args, **named):
        seen.append(args[-1])
        return solve(*args, **named)

    monkeypatch.setattr(stages, "solve", watched)
    return seen


@pytest.mark.slow
def test_a_loose_tolerance_is_spent_on_speed(weights):
    path = within(0.8)
    assert weights[1:] and weights == sorted(weights)
    assert weights[0] == TIME_WEIGHTS["standard"]
    assert p95(path) <= 0.8
    assert time(path) < time(solve(START, Task.of(BAR, PROCESS, BRIEF)).written)


@pytest.mark.slow
def test_a_tolerance_that_cannot_be_kept_gives_the_most_accurate(weights):
    path = within(1e-4)
    assert weights == sorted(weights, reverse=True) and len(weights) == 4
    assert p95(path) <= p95(solve(START, Task.of(BAR, PROCESS, BRIEF)).written) + 1e-9


@pytest.mark.slow
def test_without_a_tolerance_there_is_one_solution(weights):
    stages.solve_within(START, Task.of(BAR, PROCESS, BRIEF), ship=ship)
    assert weights == [TIME_WEIGHTS["standard"]]


def test_a_stop_in_a_later_attempt_is_reported(weights):
    count = 0

    def progress(news):
        nonlocal count
        count += 1
        if len(weights) == 1 and news.iteration > 5:
            raise KeyboardInterrupt

    solution = stages.solve_within(
        START, Task.of(BAR, PROCESS, replace(BRIEF, max_epe_fwhm=0.8)), progress, ship=ship
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

    stages.solve_within(START, Task.of(BAR, PROCESS, replace(BRIEF, max_epe_fwhm=0.25)), ship=spoilt)
    assert p95(shipped[0]) < 0.25
    assert len(shipped) == 4


def test_find_counts_all_pixels_and_the_later_stages_the_outline():
    """*Find* has a spot of its own on 4 pixels per FWHM; *shape* and *refine* have the coarse grid."""
    task = Task.of(design(shapely.box(0, 0, 1, 1)), Process(SPOT), Settings(initial="random", iterations=40))
    *find, shape, refine = stages.stages_of(task)
    assert find and all(one.edge_weight is None and one.width > 1 for one in find)
    assert find[0].scene(task).grid.pitch == pytest.approx(find[0].scene(task).fwhm / 4, rel=0.01)
    assert shape.edge_weight == 0 < refine.edge_weight
    assert shape.scene(task) is refine.scene(task) is task.scene.coarse
