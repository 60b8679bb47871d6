"""The samples, planned in full: what the README promises of them."""

from pathlib import Path

import pytest

import laserpath

SAMPLES = Path(__file__).parents[1] / "samples"


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
