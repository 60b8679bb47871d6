"""The samples, planned in full: what the README promises of them. And planned a little, on every machine."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import gcode
import laserpath
from laserpath.config import profiles
from laserpath.machine.convert import envelope
from laserpath.measure.window import disturbances, key_figures
from laserpath.planning.forecasts import Forecast, forecast
from laserpath.planning.task import Task

SAMPLES = Path(__file__).parents[2] / "samples"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["grating", "holes", "pcb", "text"])
def test_plan_is_more_accurate_than_the_best_constant_power(name):
    plan = laserpath.plan(SAMPLES / f"{name}.svg")
    planned, start = plan.report.executed.figures, plan.report.start.figures
    assert planned.epe_mean < 0.5 * start.epe_mean
    assert planned.iou > start.iou
    assert planned.missing_edges <= start.missing_edges
    assert planned.dose_max < 4.0
    assert plan.report.commanded is not None and plan.report.commanded.figures.dose_max < 3.2


@pytest.mark.slow(50)
def test_butterfly_prints_within_a_hundredth_of_the_spot():
    figures = laserpath.plan(SAMPLES / "butterfly.svg").report.executed.figures
    assert figures.epe_mean < 0.01
    assert figures.iou > 0.999


@pytest.mark.slow(40)
def test_with_its_input_shaper_a_printer_may_accelerate_three_times_as_fast():
    """MZV at 50 Hz, 1500 instead of 500 mm/s²: about as true, in 0.6 of the time; unknown, it ruins edges.

    This board has no rounded tips, whose points without an edge, each counted as 2 FWHM, hang on chance.
    """
    usual = profiles.machine("klipper-diode-405")
    mzv, quick = gcode.motion.Shaper("mzv", 50.0), replace(usual, acceleration=(1500.0, 1500.0))
    shaped = replace(quick, shapers=(mzv, mzv))
    own, known, unknown = (
        laserpath.plan(
            SAMPLES / "pcb.svg", laserpath.Process(machine=machine), laserpath.Settings(report="brief")
        )
        for machine in (usual, shaped, quick)
    )
    before, after = own.report.executed, known.report.executed
    assert after.figures.epe_mean < 1.2 * before.figures.epe_mean
    assert after.motion.write_time < 0.6 * before.motion.write_time
    (turned_on,) = (one for one in disturbances(quick) if one.machine == shaped)
    scene = Task.of(unknown.design, unknown.process, unknown.settings).scene
    assert key_figures(turned_on.program(unknown.shipped), scene).epe_mean > 5 * after.figures.epe_mean


@dataclass(frozen=True)
class Planned:
    """A sample's plan of a few iterations, its forecast, and the processor time (s) that it took."""

    plan: laserpath.Plan
    expected: Forecast
    took: float


PAIRS = [
    (file, machine)
    for file in sorted(SAMPLES.glob("*.svg"), key=lambda file: file.stem)
    for machine in profiles.shipped("machine")
    if machine == "grbl-diode-405" or file.stem in ("pcb", "text")
]
"""All on the default machine; on the others the two with the shortest moves, as each takes up to a minute."""


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: f"{pair[0].stem}-{pair[1]}")
def planned(request: pytest.FixtureRequest) -> Planned:
    """One plan for each sample and machine, which the tests below share."""
    file, name = request.param
    laser = profiles.machine(name)
    if name == "linuxcnc-stage-405":
        laser = replace(laser, power_max=10.0)  # its own is for spots of micrometres
    process, settings = laserpath.Process(machine=laser), laserpath.Settings(iterations=10, report="brief")
    design = laserpath.load(file, tolerance=0.001)
    expected = forecast(design, process, settings)
    begun = time.process_time()
    plan = laserpath.plan(design, process, settings)
    return Planned(plan, expected, time.process_time() - begun)


def test_the_link_keeps_up_with_a_plan_as_the_check_counts_it(planned):
    """Planner and check define the rate alike: the check warns of no plan."""
    laser = planned.plan.process.machine
    dialect = gcode.dialect(laser.dialect)
    findings = gcode.check(planned.plan.program, dialect, envelope(laser, dialect))
    assert not [finding.message for finding in findings if "the link" in finding.message]


def test_the_forecast_is_near(planned):
    write_time = planned.plan.report.executed.motion.write_time
    assert 1 / 3 < planned.expected.write_seconds / write_time < 3
    # The first plan of a process compiles; another computer may be twice as quick or as slow.
    assert 1 / 6 < planned.expected.plan_seconds / (planned.took + 2) < 6


def test_all_parts_and_gaps_are_there(planned):
    """On the default machine. Ten iterations are too few for the others, and for the strokes of `text`."""
    plan = planned.plan
    assert plan.report.inspection is not None
    if plan.process.machine == laserpath.Process().machine and plan.design.name != "text":
        assert plan.report.inspection.faults == ()
