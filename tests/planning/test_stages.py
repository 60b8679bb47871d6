"""From a tuned start to the moves that are written, on a design of about 1 mm."""

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
from laserpath.physics.dose import DoseModel
from laserpath.planning.curve import initial_curve
from laserpath.planning.optimise.loop import Progress, dose_to_size
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
    stages = (("shape", 30), ("simplify", 1), ("refine", 45), ("execute", 26), ("levels", 1), ("place", 3))
    assert [s.stage for s in seen] == [stage for stage, count in stages for _ in range(count)]
    rounds = (*range(1, 27), 0, 0, 1, 2)
    assert [s.iteration for s in seen] == [*range(1, 31), 0, *range(1, 46), *rounds]
    iterations = [s.loss for s in seen if s.stage in ("shape", "refine")]
    np.testing.assert_array_equal(iterations, solution.loss)
    assert solution.result == "all 100 iterations done"


@pytest.mark.parametrize("after", one_fast([5, 70, 90], 70))
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
