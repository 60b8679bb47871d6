"""The process window: its middle is the plan, and dose, focus and edges are related as in physics."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import SPOT, design, expose, path

from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.measure import DEFOCUS, EPE_CAP_FWHM, best_exposure
from laserpath.measure.window import DOSES, WIDTHS, process_window
from laserpath.physics.dose import accurate_model
from laserpath.types import Process, Resin, Toolpath

BAR = design(shapely.box(1, 1, 2, 1.2))
TARGET = rasterise(BAR, grid_for(BAR, SPOT, 6))
PROCESS = Process()
SCENE = Scene.of(BAR, TARGET, SPOT, PROCESS.resin)


def brighter(toolpath: Toolpath, factor: float) -> Toolpath:
    return replace(toolpath, power=toolpath.power * factor)


@pytest.fixture(scope="module")
def exposed():
    """Two lines in the bar at the power that is best in focus."""
    lines = path(np.array([[1.03, 1.05], [1.97, 1.05], [1.97, 1.15], [1.03, 1.15]]))
    dose = accurate_model(TARGET.grid, SPOT).dose(lines)
    return brighter(lines, best_exposure(dose, SCENE))


@pytest.fixture(scope="module")
def window(exposed):
    return process_window(exposed, SCENE)


@pytest.mark.parametrize("which", ["commanded", "executed"])
def test_its_middle_is_what_is_measured_of_the_plan(exposed, which):
    exposure = expose(exposed, BAR, TARGET, PROCESS)
    figures = getattr(exposure, which).figures
    measured = process_window(exposed if which == "commanded" else exposure.program.executed, SCENE)
    middle = WIDTHS.index(1.0), DOSES.index(1.0)
    assert measured.epe_mean[middle] == pytest.approx(figures.epe_mean, rel=1e-9)
    assert measured.epe_p95[middle] == pytest.approx(figures.epe_p95, rel=1e-9)
    assert measured.missing_edges[middle] == figures.missing_edges
    assert measured.samples == figures.samples


def test_less_dose_cures_less_and_more_dose_more(window):
    in_focus = window.epe_signed[0]
    assert (np.diff(window.epe_signed, axis=1) > 0).all()
    assert in_focus[0] < -0.02 < 0.01 < in_focus[-1]
    assert window.epe_mean[0][0] > window.epe_mean[0][4] < window.epe_mean[0][-1]


def test_a_wider_spot_spreads_the_light_of_a_narrow_bar(window):
    at = DOSES.index(1.0)
    assert window.width.tolist() == [1.0, DEFOCUS, 1.3]
    assert (np.diff(window.epe_mean[:, at]) > 0).all()


@pytest.mark.parametrize("factor", [0.8, 1.1])
def test_a_relative_dose_is_a_relative_power(exposed, window, factor):
    alone = process_window(brighter(exposed, factor), SCENE, doses=(1.0,))
    at = DOSES.index(factor)
    np.testing.assert_allclose(alone.epe_signed[:, 0], window.epe_signed[:, at], atol=1e-6)
    np.testing.assert_array_equal(alone.missing_edges[:, 0], window.missing_edges[:, at])


def test_with_two_photons_the_dose_goes_with_the_power_squared(exposed):
    process = Process(resin=Resin(order=2, critical_dose=60.0))
    scene = Scene.of(BAR, TARGET, process.spot, process.resin)
    once = process_window(exposed, scene, doses=(0.81, 1.0), widths=(1.0,))
    dimmed = process_window(brighter(exposed, 0.9), scene, doses=(1.0,), widths=(1.0,))
    assert once.missing_edges[0, 0] < once.samples
    assert dimmed.epe_signed[0, 0] == pytest.approx(once.epe_signed[0, 0], abs=1e-6)


def test_where_nothing_cures_every_edge_is_missing_and_counts_as_the_cap(exposed):
    dark = process_window(brighter(exposed, 0.01), SCENE)
    assert (dark.missing_edges == dark.samples).all()
    np.testing.assert_allclose(dark.epe_mean, EPE_CAP_FWHM)
    np.testing.assert_allclose(dark.epe_signed, -EPE_CAP_FWHM)


@pytest.mark.parametrize("factors", [(), (0.0, 1.0), (1.0, 0.9), (1.0, 1.0), (1.0, float("inf"))])
@pytest.mark.parametrize("axis", ["doses", "widths"])
def test_factors_that_do_not_rise_from_above_0_are_refused(exposed, axis, factors):
    with pytest.raises(InputError, match=f"{axis} are .* must be above 0 and rise"):
        process_window(exposed, SCENE, **{axis: factors})


def test_it_is_written_as_plain_numbers(window):
    plain = window.as_dict()
    assert plain["dose"] == list(DOSES)
    assert plain["epe_mean"] == window.epe_mean.tolist()
    assert plain["samples"] == window.samples
