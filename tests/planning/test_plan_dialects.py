"""Plans for every controller: its own dialect, its own motion, and exposure where it was drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import SPOKEN, expose
from sets import one_fast
from shapes import NODING

import gcode
import laserpath
from laserpath.config import profiles
from laserpath.machine.convert import envelope
from laserpath.types import Design, Machine, Process, Settings

BRACKET = Design(shapely.box(1, 1, 2.2, 1.6).union(shapely.box(1, 1, 1.6, 2.2), grid_size=NODING), "bracket")
QUICK = Settings(iterations=30, quality="draft", initial="contour", report="brief")

MACHINES = {**SPOKEN, "klipper": replace(SPOKEN["klipper"], minimum_cruise_ratio=0)}


@cache
def planned(name: str) -> laserpath.Plan:
    """One small plan for each dialect, made when a test needs it."""
    return laserpath.plan(BRACKET, Process(machine=MACHINES[name]), QUICK)


FAST = ("grbl", "marlin", "klipper", "linuxcnc")
"""One of each controller. The others are read like GRBL's; `make test-guards` plans for all."""


@pytest.mark.parametrize("name", one_fast(MACHINES, *FAST))
def test_the_program_is_sound_in_its_dialect(name: str) -> None:
    machine, dialect = MACHINES[name], gcode.dialect(name)
    findings = gcode.check(planned(name).program, dialect, envelope(machine, dialect))
    assert [f for f in findings if f.severity == "error"] == []


@pytest.mark.parametrize("name", one_fast(MACHINES, *FAST))
def test_what_is_executed_cures_the_design(name: str) -> None:
    figures = planned(name).report.executed.figures
    assert figures.iou > 0.93
    assert figures.epe_mean < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_whatever_the_start_it_is_sound_and_cures_the_design(name: str) -> None:
    """QUICK starts with the contour alone."""
    machine, dialect = MACHINES[name], gcode.dialect(name)
    plan = laserpath.plan(BRACKET, Process(machine=machine), replace(QUICK, initial="auto"))
    findings = gcode.check(plan.program, dialect, envelope(machine, dialect))
    assert [f for f in findings if f.severity == "error"] == []
    assert plan.report.executed.figures.iou > 0.93
    assert plan.report.executed.figures.epe_mean < 0.12


@pytest.mark.parametrize("name", one_fast((n for n in MACHINES if not gcode.dialect(n).dynamic_power), *FAST))
def test_power_for_the_actual_speed_is_more_accurate_than_the_planned_one(name: str) -> None:
    plan = planned(name)
    raw = expose(plan.solution.toolpath, plan.design, plan.target, plan.process).executed
    assert plan.report.executed.figures.epe_mean < raw.figures.epe_mean / 1.5
    assert plan.report.executed.figures.dose_max < raw.figures.dose_max


@pytest.mark.parametrize("name", one_fast(sorted(profiles.names("machine")), "linuxcnc-stage-405"))
def test_every_profile_plans_within_its_machine(name: str) -> None:
    machine = profiles.machine(name)
    plan = laserpath.plan(BRACKET, Process(machine=machine), replace(QUICK, iterations=10))
    dialect = gcode.dialect(machine.dialect)
    findings = gcode.check(plan.program, dialect, envelope(machine, dialect))
    assert [f for f in findings if f.severity == "error"] == []


def test_a_late_laser_is_commanded_early() -> None:
    late = Machine(
        name="galvo", dialect="linuxcnc", baud=None, segment_rate=1e5, look_ahead=1000,
        speed_max=(500, 500), rapid_speed=(8000, 8000), acceleration=(1e8, 1e8), junction_deviation=0.1,
        power_max=100, lag=2e-4, laser_on_delay=5e-4, laser_off_delay=4e-4,
    )  # fmt: skip
    plan = laserpath.plan(BRACKET, Process(machine=late), QUICK)
    raw = expose(plan.solution.toolpath, plan.design, plan.target, plan.process).executed
    assert plan.report.executed.figures.epe_mean < raw.figures.epe_mean / 1.5


@pytest.mark.slow
def test_passes_add_up_on_a_controller_of_constant_power() -> None:
    machine = MACHINES["klipper"]
    plan = laserpath.plan(BRACKET, Process(machine=machine), replace(QUICK, passes=3))
    assert plan.report.executed.figures.iou > 0.93
    energy = plan.run.exposure * machine.power_max
    once = plan.solution.toolpath
    assert energy == pytest.approx(once.line_energy @ once.length, rel=0.1)


@pytest.mark.slow
def test_a_machine_may_speak_a_dialect_of_its_user(tmp_path: Path) -> None:
    (tmp_path / "fan.toml").write_text(
        'base = "marlin"\nname = "fan"\nlaser_on = []\nlaser_off = ["M107"]\npower = "M106 S{power}"\n'
        "power_line = true\ndark_rapids = false\nrapid_resets = false\n"
    )
    shipped = Path(profiles.__path__[0]) / "machines" / "marlin-diode-405.toml"
    (tmp_path / "mine.toml").write_text(shipped.read_text().replace('"marlin"', '"fan.toml"'))
    machine = profiles.machine(tmp_path / "mine.toml")
    plan = laserpath.plan(BRACKET, Process(machine=machine), replace(QUICK, iterations=5))
    assert "M106 S" in plan.program
    assert plan.program.rstrip().endswith("M107")
    assert np.isfinite(plan.report.executed.figures.epe_mean)
