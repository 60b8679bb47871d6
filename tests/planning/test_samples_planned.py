"""The samples, planned in full: what the README promises of them."""

from pathlib import Path

import pytest

import gcode
import laserpath
from laserpath.config import profiles
from laserpath.machine.convert import envelope

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grating", "holes", "pcb", "text"])
def test_plan_is_truer_than_the_best_constant_power(name):
    plan = laserpath.plan(SAMPLES / f"{name}.svg")
    planned, start = plan.report.commanded.figures, plan.report.start.figures
    assert planned.epe_mean < 0.5 * start.epe_mean
    assert planned.iou > start.iou
    assert planned.missing_edges <= start.missing_edges
    assert planned.dose_max < 3.2


@pytest.mark.slow
def test_butterfly_prints_within_a_hundredth_of_the_spot():
    figures = laserpath.plan(SAMPLES / "butterfly.svg").report.commanded.figures
    assert figures.epe_mean < 0.01
    assert figures.iou > 0.999


@pytest.mark.slow
@pytest.mark.parametrize("machine", profiles.shipped("machine"))
@pytest.mark.parametrize("name", ["butterfly", "grating", "holes", "pcb", "text"])
def test_the_link_keeps_up_with_a_plan_as_the_check_counts_it(name, machine):
    """One definition of the rate for the planner and the check: no plan of ours is warned of by ours."""
    laser = profiles.machine(machine)
    plan = laserpath.plan(
        SAMPLES / f"{name}.svg", laserpath.Process(machine=laser), laserpath.Settings(iterations=10)
    )
    spoken = gcode.dialect(laser.dialect)
    found = gcode.check(plan.program, spoken, envelope(laser, spoken))
    assert not [one.message for one in found if "a second" in one.message]
