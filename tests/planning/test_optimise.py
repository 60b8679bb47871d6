"""The loop: it goes downhill, always the same way, within limits, and can be stopped."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from builders import SPOT, design

from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for
from laserpath.physics.dose import DoseModel
from laserpath.planning.curve import initial_curve
from laserpath.planning.optimise.loop import Schedule, dose_to_size, optimise, vertex_bounds
from laserpath.planning.optimise.loss import Loss, WriteTimeTerm
from laserpath.planning.optimise.objective import Objective
from laserpath.types import EnergyPath, Machine, Process, Resin, Settings

SQUARE = design(shapely.box(1, 1, 1.4, 1.4))
GRID = grid_for(SQUARE, SPOT, 4)
MODEL = DoseModel(GRID, SPOT)
OBJECTIVE = Objective.of(Scene(SQUARE, GRID, SPOT, Resin()))
PROCESS, CONTOUR = Process(), Settings(initial="contour")
START = dose_to_size(initial_curve(SQUARE, PROCESS, CONTOUR), MODEL, OBJECTIVE, PROCESS.machine)
SCHEDULE = Schedule(60, contrast=(10.0, 10.0))
ADAM = Schedule(60, contrast=(10.0, 10.0), finish=0.0)


def run(process=PROCESS, schedule=SCHEDULE, progress=None, objective=OBJECTIVE, start=START):
    return optimise(start, Loss.of(objective, MODEL), process, schedule, progress)


@cache
def usual():
    """What the usual run comes to."""
    return run()


def loss_of(path: EnergyPath, contrast: float = 10.0) -> float:
    return OBJECTIVE.at_contrast(contrast)(MODEL.line_dose(path.xy, path.energy))[0]


def test_the_loss_falls():
    solution = run(schedule=ADAM)
    assert len(solution.loss) == 60
    assert solution.loss[0] == pytest.approx(loss_of(START), rel=1e-5)
    assert solution.loss[-1] < 0.5 * solution.loss[0]
    assert solution.result == "all 60 iterations done"
    assert not solution.stopped


def test_the_finish_goes_on_from_the_best_and_arrives_lower_than_adam():
    both, adam = usual(), run(schedule=ADAM)
    assert both.loss[30] == pytest.approx(both.loss[:30].min(), rel=1e-3)
    assert both.loss.min() < adam.loss.min()


@pytest.mark.slow
def test_it_stops_by_itself_where_nothing_is_gained():
    solution = run(schedule=Schedule(5000, contrast=(10.0, 10.0), finish=0.99, tolerance=0.01))
    assert len(solution.loss) < 1000
    assert solution.result == f"converged after {len(solution.loss)} of at most 5000 iterations"


@pytest.mark.slow
def test_write_time_is_traded_for_loss():
    paces = [WriteTimeTerm.of(START, SQUARE, PROCESS.machine, weight) for weight in (1e-4, 3e-2)]
    true, quick = (
        optimise(START, Loss.of(OBJECTIVE, MODEL, path=(pace,)), PROCESS, SCHEDULE).path for pace in paces
    )
    assert loss_of(true) < loss_of(quick)
    assert paces[0](true.xy, true.energy)[0] > 1.1 * paces[0](quick.xy, quick.energy)[0]


def test_the_best_iterate_is_what_comes_back():
    solution = run(schedule=replace(ADAM, shift=0.6, energy=1.0, final=1.0))
    assert solution.loss[-1] > solution.loss.min()
    assert loss_of(solution.path) == pytest.approx(solution.loss.min(), rel=1e-4)


def test_the_same_start_gives_the_same_bits():
    first, second = usual().path, run().path
    assert (first.xy == second.xy).all()
    assert (first.energy == second.energy).all()


def test_the_shape_of_the_path_is_kept():
    path = usual().path
    np.testing.assert_array_equal(path.on, START.on)
    np.testing.assert_array_equal(path.speed, START.speed)


def test_an_interrupt_from_outside_ends_with_the_best_so_far():
    seen = []

    def progress(news):
        seen.append(news)
        if len(seen) == 20:
            raise KeyboardInterrupt

    solution = run(progress=progress)
    assert solution.stopped
    assert solution.result == "stopped by the user after 20 of 60 iterations"
    assert len(solution.loss) == 20
    assert loss_of(solution.path) == pytest.approx(solution.loss.min(), rel=1e-4)
    assert [n.iteration for n in seen] == list(range(1, 21))
    assert {(n.stage, n.of) for n in seen} == {("optimise", 60)}


def test_an_interrupt_before_anything_was_found_gives_the_start_back():
    class Interrupted(Objective):
        def at_contrast(self, contrast):
            raise KeyboardInterrupt

    fields = ("scene", "scale", "contrast", "over")
    broken = Interrupted(**{name: getattr(OBJECTIVE, name) for name in fields})
    solution = run(objective=broken)
    assert solution.stopped and len(solution.loss) == 0
    np.testing.assert_array_equal(solution.path.xy, START.xy)
    np.testing.assert_array_equal(solution.path.energy, START.energy)


def test_a_loss_that_is_not_finite_stops_at_once():
    sick = replace(OBJECTIVE, scale=np.nan)
    with pytest.raises(InputError, match="loss is nan at iteration 0, but must be finite"):
        run(objective=sick)


@pytest.mark.parametrize("power_max", [0.3, 1.0, 10.0, 500.0])
def test_power_never_exceeds_the_machine_s(power_max):
    machine = Machine(power_max=power_max)
    start = dose_to_size(START, MODEL, OBJECTIVE, machine)
    path = run(replace(PROCESS, machine=machine), start=start).path
    for checked in (start, path):
        assert (checked.energy * checked.speed).max() <= power_max * (1 + 1e-12)
        assert (checked.speed[checked.on] <= min(machine.speed_max)).all()


def test_a_weak_laser_goes_slower_and_cures_as_well():
    machine = Machine(power_max=0.3)
    weak = dose_to_size(START, MODEL, OBJECTIVE, machine)
    assert weak.speed[weak.on].max() < 20
    np.testing.assert_allclose(weak.energy, START.energy, rtol=1e-6)
    solution = run(replace(PROCESS, machine=machine), start=weak)
    assert solution.loss[-1] < 0.5 * solution.loss[0]


def test_tuning_finds_the_best_single_power():
    tuned = [loss_of(replace(START, energy=START.energy * k), 10.0) for k in (0.9, 1, 1.1)]
    assert tuned[1] <= min(tuned[0], tuned[2])


def test_tuning_does_not_depend_on_the_power_it_starts_from():
    again = dose_to_size(replace(START, energy=START.energy * 0.01), MODEL, OBJECTIVE, PROCESS.machine)
    np.testing.assert_allclose(again.energy, START.energy, rtol=0.03)


def test_vertices_stay_on_the_machine():
    """The design touches the work zero; the path may not go beyond it."""
    square = design(shapely.box(0, 0, 0.4, 0.4))
    grid = grid_for(square, SPOT, 4)
    objective = Objective.of(Scene(square, grid, SPOT, Resin()))
    model = DoseModel(grid, SPOT)
    start = initial_curve(square, PROCESS, replace(CONTOUR, inset_fwhm=0.0))
    path = optimise(start, Loss.of(objective, model), PROCESS, Schedule(30, shift=0.2)).path
    assert path.xy.min() >= 0
    low, high = vertex_bounds(grid, PROCESS.machine, centred=True)
    assert (low < 0).all() and (high > 0.4).all()


def test_the_schedule_falls_and_sharpens():
    schedule = Schedule(100, final=0.05, contrast=(8.0, 20.0), finish=0.0)
    steps, contrasts = zip(*(schedule.at(k) for k in range(100)), strict=True)
    assert steps[0] == 1 and steps[-1] == pytest.approx(0.05)
    assert (np.diff(steps) < 0).all()
    assert contrasts[0] == 8 and contrasts[50] == contrasts[-1] == pytest.approx(20)
