"""The whole way: the chart's G-code, executed and spread by the dose engine, measured, filled in and fitted.

The process that exposes it is not the one that the chart was made for, and nothing of it goes into the fit
but sizes as they are seen on the dose map. So the fit's formulas are the physics that plans are made with.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from charted import measured
from test_calibration_sheet import fill

import laserpath
from laserpath import Process, Resin, Settings, Spot, calibration
from laserpath.calibration import Fit, Measured, Measurements, Options
from laserpath.config import profiles

E_C, DEPTH = 0.12, 0.1
NOISE = 0.002
SQUARE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="3mm" height="3mm" viewBox="0 0 3 3">'
    '<rect x="1" y="1" width="1" height="1"/></svg>'
)


def with_noise(rows: list[Measured], rng: np.random.Generator) -> Measurements:
    """Each size with an error of the microscope; a depth's is twice a width's, a wedge's is in its gap."""
    noisy = []
    for row in rows:
        scale = {
            "width": 1.0,
            "diameter": 1.0,
            "depth": 2.0,
            "merged": row.item.length / max(row.item.gap, 1e-9),
        }
        sizes = {
            name: max(size + float(rng.normal(0, NOISE * factor)), 1e-4)
            for name, factor in scale.items()
            if (size := getattr(row, name)) is not None
        }
        noisy.append(replace(row, **sizes))
    return Measurements(tuple(noisy))


def exposed_and_fitted(machine: str, truth: Process, options: Options) -> tuple[Fit, Measurements]:
    chart = calibration.chart(Process(machine=profiles.machine(machine)))
    rows = with_noise(measured(chart, truth, E_C, DEPTH), np.random.default_rng(1))
    # By the file, as a user does it.
    again = calibration.read_sheet(fill(chart.sheet(), rows))
    return calibration.fit(again, options), again


def check(found: Fit, truth: Process) -> None:
    true = {
        "fwhm": truth.spot.fwhm, "critical_dose": truth.resin.critical_dose, "penetration_depth": DEPTH,
        "e_c": E_C, "reciprocity": 0.0, "level_offset": truth.machine.light.offset,
    }  # fmt: skip
    assert set(found.names) == set(true)
    for name, value in true.items():
        estimate = found[name]
        # All five at once: 99 % intervals, 1.35 times as wide.
        half = 1.35 * (estimate.high - estimate.low) / 2
        assert abs(estimate.value - value) <= half, name
    assert found["fwhm"].value == pytest.approx(truth.spot.fwhm, rel=0.02)


@pytest.mark.slow
def test_the_fit_finds_the_process_that_exposed_the_chart_and_plan_takes_its_profiles(tmp_path: Path) -> None:
    machine = profiles.machine("grbl-diode-405")
    truth = Process(Spot(0.085), Resin(critical_dose=0.5), machine)
    found, rows = exposed_and_fitted("grbl-diode-405", truth, Options())
    check(found, truth)
    for name, text in calibration.files_of(found, rows, name="mine", source="chart.csv").items():
        (tmp_path / name).write_text(text)
    spot = profiles.spot(tmp_path / "mine.spot.toml")
    resin = profiles.resin(tmp_path / "mine.resin.toml")
    assert spot.fwhm == pytest.approx(found.spot().fwhm, rel=1e-3)
    assert resin.critical_dose == pytest.approx(found.resin().critical_dose, rel=1e-3)
    assert resin.penetration_depth == pytest.approx(found["penetration_depth"].value, rel=1e-3)
    (tmp_path / "square.svg").write_text(SQUARE)
    plan = laserpath.plan(
        tmp_path / "square.svg", Process(spot, resin, machine), Settings(iterations=10, report="brief")
    )
    assert plan.process.spot == spot


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["klipper-diode-405", "marlin-diode-405", "linuxcnc-stage-405"])
@pytest.mark.parametrize("profile", ["airy", "gaussian"])
def test_on_every_controller(machine: str, profile: str) -> None:
    laser = replace(profiles.machine(machine), power_max=10.0)  # the stage's own is for spots of micrometres
    truth = Process(Spot(0.11, profile), Resin(critical_dose=0.08), laser)
    options = Options()
    chart = calibration.chart(Process(machine=truth.machine))
    rows = with_noise(measured(chart, truth, 0.02, DEPTH), np.random.default_rng(2))
    found = calibration.fit(rows, options)
    assert found["fwhm"].value == pytest.approx(0.11, rel=0.03)
    assert found["critical_dose"].value == pytest.approx(0.08, rel=0.04)
    assert found["penetration_depth"].value == pytest.approx(DEPTH, rel=0.03)
    assert found["e_c"].value == pytest.approx(0.02, rel=0.06)
    assert abs(found["reciprocity"].value) < 0.02
