"""The sensitivity of a plan: the same program on other machines, and its path learned for better ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from builders import SPOT, design

import laserpath
from laserpath import Plan, Process, Progress, Settings
from laserpath.machine.powers import energies, exposing
from laserpath.measure.window import disturbances
from laserpath.physics.resin import path_energy
from laserpath.planning.robustness import FILTERS, _boards, better_machines
from laserpath.planning.task import Task
from laserpath.types import Machine
from laserpath.types.results import WORTH, KeyFigures, Sensitivity, Variation

ELL = design(shapely.box(1, 1, 1.6, 1.25), shapely.box(1, 1, 1.25, 1.5), name="ell")


@cache
def planned(machine: Machine | None = None) -> Plan:
    process = Process(spot=SPOT, machine=machine or Machine())
    return laserpath.plan(ELL, process, Settings(initial="contour", iterations=8, report="brief"))


@cache
def computed() -> Sensitivity:
    return laserpath.sensitivity(planned())


def tried(plan: Plan) -> dict[str, list[Machine]]:
    """The better machines by their causes."""
    found: dict[str, list[Machine]] = {}
    assert plan.solution.written is not None
    for one in better_machines(plan.solution.written, Task.of(plan.design, plan.process, plan.settings)):
        found.setdefault(one.cause, []).append(one.machine)
    return found


@pytest.mark.slow
def test_it_begins_with_what_the_report_says() -> None:
    executed = planned().report.executed
    own = computed().planned
    assert (own.epe_mean, own.dose_max) == (executed.figures.epe_mean, executed.figures.dose_max)
    assert own.write_time == executed.motion.write_time


@pytest.mark.slow
def test_every_disturbance_and_every_better_machine_is_printed() -> None:
    assert [one.cause for one in computed().disturbed] == [one.cause for one in disturbances(Machine())]
    assert {one.cause for one in computed().improved} == {
        "filter", "levels", "acceleration", "link", "steps",
    }  # fmt: skip


@pytest.mark.slow
def test_more_acceleration_saves_time() -> None:
    (faster,) = (one for one in computed().improved if one.cause == "acceleration")
    assert faster.figures.write_time < computed().planned.write_time


def test_learning_again_for_the_same_machine_gives_the_plan_itself() -> None:
    """So a gain is that of the machine, not of learning once more."""
    from laserpath.planning.stages import relearned

    plan = planned()
    again = relearned(plan.solution, Task.of(plan.design, plan.process, plan.settings))
    np.testing.assert_allclose(again.path.xy, plan.toolpath.xy)
    np.testing.assert_allclose(again.path.power, plan.toolpath.power)


def test_filters_are_chosen_by_the_powers_that_are_used() -> None:
    plan = planned()
    strongest = float(plan.toolpath.power.max())
    light, dark, darkest = (one.power_max for one in tried(plan)["filter"])
    assert darkest < dark < strongest <= light
    assert {light / 10, dark / 10, darkest / 10} <= set(FILTERS)


def test_behind_a_dark_filter_strong_lines_are_slower_at_the_same_energy() -> None:
    path = planned().solution.toolpath
    weak = replace(Machine(), power_max=0.5 * float(path.power.max()))
    made = exposing(energies(path, SPOT), weak, SPOT)
    assert made.power.max() <= weak.power_max
    np.testing.assert_allclose(path_energy(made, SPOT), path_energy(path, SPOT))
    assert (made.speed <= path.speed).all()


@pytest.mark.parametrize(
    ("dialect", "steps", "missing"),
    [
        ("klipper", (80.0, 80.0), {"link"}),
        ("marlin", (80.0, 80.0), {"levels"}),
        ("linuxcnc", None, {"steps"}),
    ],
)
def test_only_what_a_controller_can_gain_by_is_tried(
    dialect: str, steps: tuple[float, float] | None, missing: set[str]
) -> None:
    """Klipper's link does not limit, Marlin's power has 8 bits, and a stage's steps do not matter."""
    plan = planned()
    other = replace(plan, process=replace(plan.process, machine=Machine(dialect=dialect, steps=steps)))
    assert {"filter", "levels", "acceleration", "link", "steps"} - set(tried(other)) == missing


def test_a_diode_s_threshold_is_a_current_not_a_number_of_levels() -> None:
    plan = planned()
    machine = Machine(level_offset=-4.0, level_min=5)
    (finer,) = tried(replace(plan, process=replace(plan.process, machine=machine)))["levels"]
    assert finer.light.of(np.array([0.5]), 1023) == pytest.approx(
        machine.light.of(np.array([0.5]), 255), rel=0.01
    )
    assert finer.level_min == 20


@pytest.mark.slow
def test_a_stop_keeps_what_is_done() -> None:
    def stop(progress: Progress) -> None:
        if progress.iteration == 3:
            raise KeyboardInterrupt

    found = laserpath.sensitivity(planned(), stop)
    assert found.stopped
    assert found.disturbed == computed().disturbed[:3]
    assert found.improved == ()


@pytest.mark.slow
def test_a_stop_while_learning_leaves_that_machine_out() -> None:
    calls: list[int] = []

    def stop(progress: Progress) -> None:
        calls.append(progress.iteration)
        if calls.count(len(computed().disturbed)) == 3:
            raise KeyboardInterrupt

    found = laserpath.sensitivity(planned(), stop)
    assert found.stopped
    assert found.disturbed == computed().disturbed
    assert found.improved == ()


def figures(epe_mean: float, missing: int = 0) -> KeyFigures:
    return KeyFigures(epe_mean, missing, 3.0, 10.0)


def test_what_helps_is_sorted_and_worth_it() -> None:
    made = Sensitivity(
        figures(0.02),
        (Variation("override", "120 %", figures(0.09)), Variation("link", "half", figures(0.03))),
        (
            Variation("filter", "a filter of 50 %", figures(0.018)),
            Variation("filter", "a filter of 40 %", figures(0.015)),
            Variation("levels", "1023 levels", figures(0.0101)),
            Variation("steps", "finer steps", figures(0.02 * (1 - WORTH / 2))),
            Variation("link", "a fast link", figures(0.01, missing=2)),
        ),
    )
    assert [one.change for one in made.helpful] == ["1023 levels", "a filter of 40 %"]
    assert made.worst and made.worst.change == "half"
    assert made.worst_override and made.worst_override.change == "120 %"


def test_a_board_of_more_levels_keeps_the_threshold_of_a_diode() -> None:
    """The smallest level of 1023 lies above it, as that of 255 did."""
    machine = Machine(level_offset=-0.712)
    (board,) = (one.machine for one in _boards(machine) if one.cause == "levels")
    assert board.light.offset == pytest.approx(-0.712 * 1023 / 255)
    assert board.power_min > 0
    assert float(board.power_of(board.level_min - 1)) <= 0 or board.level_min == 1
