"""Plans for a machine with a late laser, or slack, beside the same machine in order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from test_plan_dialects import BRACKET, MACHINES, QUICK

import gcode
import laserpath
from laserpath.machine.convert import envelope
from laserpath.measure.window import Disturbance, key_figures
from laserpath.planning.task import Task
from laserpath.types import Machine, Process

WRONG = {
    "late": {"laser_on_delay": 3e-3, "laser_off_delay": 3e-3},
    "slack": {"backlash": (0.1, 0.1)},
    "both": {"laser_on_delay": 2e-3, "laser_off_delay": 1e-3, "backlash": (0.05, 0.1)},
}


pytestmark = pytest.mark.usefixtures("alone")


@cache
def planned(dialect: str, wrong: str = "") -> laserpath.Plan:
    return laserpath.plan(BRACKET, Process(machine=machine(dialect, wrong)), QUICK)


def machine(dialect: str, wrong: str = "") -> Machine:
    return replace(MACHINES[dialect], **WRONG.get(wrong, {}))


def errors(dialect: str, wrong: str) -> tuple[float, float, float]:
    """Mean edge errors in FWHM: in order; on the wrong machine, not knowing it; and knowing it."""
    plan, known = planned(dialect), planned(dialect, wrong)
    task = Task.of(plan.design, plan.process, plan.settings)
    on_wrong = Disturbance("", "", machine(dialect, wrong)).program(plan.shipped)
    return (
        plan.report.executed.figures.epe_mean,
        key_figures(on_wrong, task.scene).epe_mean,
        known.report.executed.figures.epe_mean,
    )


SLOW = pytest.mark.slow
CASES = [
    pytest.param(dialect, wrong, marks=() if (dialect, wrong) in (("grbl", "both"),) else SLOW)
    for dialect in ("grbl", "klipper", "linuxcnc", "marlin")
    for wrong in WRONG
]


@pytest.mark.parametrize(("dialect", "wrong"), CASES)
def test_a_plan_that_knows_it_is_as_good_as_on_a_machine_in_order(dialect: str, wrong: str) -> None:
    in_order, unplanned, known = errors(dialect, wrong)
    assert unplanned > 1.2 * in_order
    assert known - in_order < 0.1 * (unplanned - in_order)


@pytest.mark.parametrize(("dialect", "wrong"), CASES)
def test_its_program_is_sound(dialect: str, wrong: str) -> None:
    spoken = gcode.dialect(machine(dialect).dialect)
    findings = gcode.check(planned(dialect, wrong).program, spoken, envelope(machine(dialect, wrong), spoken))
    assert [f for f in findings if f.severity == "error"] == []
