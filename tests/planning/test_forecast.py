"""The forecast of a plan against the plan itself."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from sets import examples
from shapes import plus

import laserpath
from laserpath.base.errors import InputError
from laserpath.base.plan_steps import PlanPart
from laserpath.planning import forecasts
from laserpath.planning.forecasts import forecast
from laserpath.types import Design, Kinetics, Machine, Process, Resin, Settings, Spot

PROCESS = Process()
QUICK = Settings(initial="contour", iterations=10, origin="design")
TEE = Design(plus(shapely.box(0, 0, 3, 1), shapely.box(1, 0, 2, 4)), "tee")


def field(count: int, gap: float = 2.0) -> Design:
    """count × count squares of 1 mm."""
    boxes = [
        shapely.box(gap * i, gap * j, gap * i + 1, gap * j + 1) for i in range(count) for j in range(count)
    ]
    return Design(shapely.MultiPolygon(boxes), "field")


def test_more_to_do_takes_longer() -> None:
    few, many = (forecast(field(count), PROCESS, QUICK) for count in (2, 6))
    assert many.plan_seconds > few.plan_seconds
    assert 7 < many.write_seconds / few.write_seconds < 11
    assert many.memory > few.memory
    patient = forecast(field(2), PROCESS, replace(QUICK, iterations=1000))
    shape = [one.seconds(("shape", "refine", "execute")) for one in (few, patient)]
    assert shape[1] > 10 * shape[0] and patient.write_seconds == few.write_seconds
    twice = forecast(field(2), PROCESS, replace(QUICK, passes=2))
    assert twice.write_seconds == pytest.approx(2 * few.write_seconds)


@examples(20)
@given(power=st.floats(0.01, 10), dose=st.floats(0.1, 10), acceleration=st.floats(10, 1e5))
def test_a_better_machine_is_never_slower(power: float, dose: float, acceleration: float) -> None:
    machine = Machine(power_max=power, acceleration=(acceleration, acceleration))
    process = Process(Spot(), Resin(critical_dose=dose), machine)
    took = forecast(TEE, process, QUICK).write_seconds
    stronger = replace(machine, power_max=2 * power)
    quicker = replace(machine, acceleration=(2 * acceleration, 2 * acceleration))
    for better in (stronger, quicker):
        assert forecast(TEE, replace(process, machine=better), QUICK).write_seconds <= took * (1 + 1e-9)


def test_where_the_dose_sets_the_speed_twice_the_dose_takes_twice_the_time() -> None:
    weak = replace(PROCESS, machine=Machine(power_max=1e-3))
    hard = replace(weak, resin=Resin(critical_dose=0.4))
    weaker, harder = (forecast(TEE, process, QUICK) for process in (weak, hard))
    assert harder.write_seconds == pytest.approx(2 * weaker.write_seconds, rel=0.05)
    assert any("full power, 0.001 mW, writes this resin at" in note for note in weaker.notes)


def test_a_brief_report_leaves_out_the_best_of_all_paths() -> None:
    full, brief = (forecast(TEE, PROCESS, replace(QUICK, report=report)) for report in ("full", "brief"))
    (extra,) = {step.name for step in full.steps} - {step.name for step in brief.steps}
    assert extra == PlanPart.LIMIT


def test_correcting_by_conversion_takes_its_time() -> None:
    quick = Kinetics(0.15, 2.0, inhibition=100.0, termination=0.5, diffusion=1e-4, wait=1.0)
    resin = Resin(kinetics=quick)

    def longer(kinetics: Kinetics, iterations: int, design: Design = TEE) -> float:
        settings = replace(QUICK, iterations=iterations)
        by_dose = forecast(design, PROCESS, settings)
        process = replace(PROCESS, resin=replace(resin, kinetics=kinetics))
        by_conversion = forecast(design, process, settings)
        assert by_conversion.seconds() - by_conversion.seconds(("convert",)) == pytest.approx(
            by_dose.seconds()
        )
        return by_conversion.plan_seconds - by_dose.plan_seconds

    short = longer(quick, 10)
    assert short > 1
    assert longer(quick, 60) > 1.5 * short
    assert longer(quick, 500) == pytest.approx(longer(quick, 60))  # more simulations than 60 are not made
    assert longer(replace(quick, wait=100.0), 10) > 1.3 * short
    assert longer(quick, 10, field(3)) > short


def test_what_slows_the_machine_down_is_reported() -> None:
    disc = Design(shapely.Point(5, 5).buffer(4, quad_segs=400), "disc")
    slow = replace(PROCESS, machine=Machine(segment_rate=5.0))
    (note,) = forecast(disc, slow, QUICK).notes
    assert "the link carries 5 moves/s" in note
    lazy = replace(PROCESS, machine=Machine(acceleration=(5.0, 5.0)))
    (note,) = forecast(field(3), lazy, QUICK).notes
    assert "acceleration of 5 mm/s²" in note
    assert forecast(disc, PROCESS, QUICK).notes == ()


def test_more_memory_than_installed_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", lambda name: 10_000)
    (warning,) = forecast(TEE, PROCESS, QUICK).warnings
    assert "0.1 GB of this computer" in warning
    monkeypatch.undo()
    assert forecast(TEE, PROCESS, QUICK).warnings == ()


def test_more_pixels_than_there_may_be_are_refused_before_planning() -> None:
    with pytest.raises(InputError, match="pixels"):
        forecast(Design(shapely.box(0, 0, 2000, 2000)), PROCESS, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("design", [field(2), TEE], ids=lambda design: design.name)
def test_the_write_time_is_near_the_plan_s(design: Design) -> None:
    made = laserpath.plan(design, PROCESS, QUICK)
    ratio = forecast(design, PROCESS, QUICK).write_seconds / made.report.executed.motion.write_time
    assert 1 / 3 < ratio < 3


_MEASURED = """
import time
from laserpath import Settings, plan
from laserpath.planning import forecast
from test_forecast import PROCESS, TEE
settings = Settings(origin="design", iterations=200)
expected = forecast(TEE, PROCESS, settings).plan_seconds
start = time.process_time()
plan(TEE, PROCESS, settings).files(".")
print(expected / (time.process_time() - start))
"""


@pytest.mark.slow(60)
def test_the_planning_time_is_near_the_plan_s_processor_time() -> None:
    """In a process of its own, as a command; the median of three, as others may use the computer, too."""
    here = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ratios = [
        float(
            subprocess.run(
                [sys.executable, "-c", _MEASURED], env=here, capture_output=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    assert 1 / 1.5 < sorted(ratios)[1] < 1.5, ratios


def test_a_design_smaller_than_the_spot_is_warned_of() -> None:
    cell = Design(shapely.box(0, 0, 0.01, 0.002), "cell")
    (warning,) = forecast(cell, replace(PROCESS, machine=Machine(power_max=0.5)), QUICK).warnings
    assert "10 times smaller than the spot of 100 µm" in warning
    assert forecast(TEE, PROCESS, QUICK).warnings == ()


def test_what_the_first_plan_loads_and_compiles_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty small layers were forecast with twenty times all of it."""
    one = forecast(TEE, PROCESS, QUICK).without_report
    monkeypatch.setattr("laserpath.planning.costs.is_kept", lambda kernel: False)
    fresh = forecast(TEE, PROCESS, QUICK).without_report
    assert fresh.plan_seconds - one.plan_seconds == pytest.approx(fresh.compiling)
    both, many = (forecasts.Forecast.of_all([fresh] * count) for count in (2, 20))
    assert both.compiling == many.compiling == fresh.compiling > 1
    assert many.plan_seconds - fresh.plan_seconds == pytest.approx(19 * one.later.plan_seconds)
    assert one.later.plan_seconds < 0.6 * one.plan_seconds
