"""Every spot through the engines: as its profile says, along lines, its own derivatives, its limits."""

from dataclasses import replace

import numpy as np
import pytest
from builders import FWHM, centred_grid, coordinates, random_path
from sets import one_fast

from laserpath.physics import optics
from laserpath.physics.dose import DoseModel, engine
from laserpath.physics.optics import BeamTable
from laserpath.physics.resin import path_energy
from laserpath.types import Spot

SPOTS = {
    "airy": Spot(FWHM),
    "gaussian": Spot(FWHM, "gaussian"),
    "defocused airy": Spot(FWHM, defocus=0.5, wavelength=405e-6),
    "defocused gaussian": Spot(FWHM, "gaussian", defocus=20, wavelength=405e-6),
    "rings out of focus": Spot(FWHM, defocus=4.0, wavelength=405e-6),
    "elliptical": Spot(FWHM, aspect=0.8, angle=25),
    "two photons": Spot(FWHM, photons=2),
    "table": Spot(
        FWHM,
        "measured",
        measured=BeamTable(np.linspace(0, 0.3, 31), np.cos(np.linspace(0, np.pi / 2, 31)) ** 2),
    ),
}


@pytest.mark.parametrize("name", one_fast(SPOTS, *(set(SPOTS) - {"defocused airy", "rings out of focus"})))
def test_every_spot_is_spread_as_its_profile(name):
    """At a point, 1e-3 of the peak; and an area of points, 1e-3 of its flat dose: no tail is cut."""
    spot, grid = SPOTS[name], centred_grid(0.8, 6)
    x, y = coordinates(grid)
    spread = engine(grid, spot, precision="f64").spread
    for at in ((0.0, 0.0), (0.31, -0.473), (-0.79, 0.7)):
        expected = optics.profile(spot, x - at[0], y - at[1])
        found = spread(np.array([at]), np.ones(1))
        assert np.abs(found - expected).max() <= 1e-3 * optics.profile(spot, 0, 0)
    side = np.arange(-0.6, 0.6, FWHM / 3)
    area = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    some = slice(1, None, 4), slice(2, None, 4)  # of the pixels; the direct sum takes long
    expected = sum(optics.profile(spot, x[some] - a, y[some] - b) for a, b in area)
    assert np.abs(spread(area, np.ones(len(area)))[some] - expected).max() <= 1e-3 * expected.max()


@pytest.mark.parametrize("spot", SPOTS.values(), ids=SPOTS.keys())
def test_the_gradient_of_the_spot_is_a_central_difference(spot):
    """At the same line energies, in mJ/mm."""
    grid = centred_grid(0.6, 6)
    options = {"precision": "f64", "tolerance": 1e-4}
    toolpath = random_path(np.random.default_rng(0), half=0.2)
    model, d_dose = DoseModel(grid, spot, **options), smooth_slope(grid)
    gradient, energy = model.spot_gradient(toolpath, d_dose), path_energy(toolpath, spot)
    for name, step in (("fwhm", 1e-2 * FWHM), ("defocus", 1e-2 * spot.defocus)):
        if step:
            sides = (replace(spot, **{name: getattr(spot, name) + s * step}) for s in (-1, 1))
            low, high = (DoseModel(grid, side, **options).line_dose(toolpath.xy, energy) for side in sides)
            expected = float(((high - low) * d_dose).sum()) / (2 * step)
            assert getattr(gradient, name) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("spot", SPOTS.values(), ids=SPOTS.keys())
@pytest.mark.parametrize("method", ["fft", "direct"])
def test_a_line_of_any_spot_is_many_short_ones(spot, method):
    """The quadrature follows the finest structure of the spot, not its width; relative to the peak."""
    grid = centred_grid(0.8, 6)
    ends = np.array([[-0.43, -0.11], [0.38, 0.27]])
    pieces = ends[0] + np.linspace(0, 1, 301)[:, None] * (ends[1] - ends[0])
    model = DoseModel(grid, spot, method=method, precision="f64")
    whole, cut = model.line_dose(ends, np.ones(1)), model.line_dose(pieces, np.ones(300))
    assert np.abs(whole - cut).max() <= 1e-3 * cut.max()


def test_a_narrow_gaussian_does_not_fade_from_its_box():
    spot = Spot(FWHM, "gaussian", aspect=4.0)
    grid = centred_grid(0.6, 4.2)
    at = np.array([[0.011, 0.003]])
    x, y = coordinates(grid)
    expected = optics.profile(spot, x - at[0, 0], y - at[0, 1])
    one = engine(grid, spot, method="direct")
    assert np.abs(one.spread(at, np.ones(1)) - expected).max() <= 1e-3 * expected.max()
    d_dose = np.random.default_rng(0).normal(size=grid.shape)
    expected = float((expected * d_dose).sum())
    assert one.gather(at, np.ones(1), d_dose)[0][0] == pytest.approx(expected, rel=1e-3, abs=0.1)


@pytest.mark.slow
def test_a_cusp_is_rounded_and_not_overshot():
    """The airy-function: within its stated bound everywhere, and nowhere above its own peak."""
    spot = Spot(FWHM, "airy-function")
    grid = centred_grid(0.5, 8)
    x, y = coordinates(grid)
    for method in ("fft", "direct"):
        one = engine(grid, spot, method=method, precision="f64")
        for offset in (0.0, 5e-4, 1.5e-3, 6e-3):
            expected = optics.profile(spot, x - offset, y)
            error = np.abs(one.spread(np.array([[offset, 0.0]]), np.ones(1)) - expected).max()
            assert error <= (0.05 if method == "fft" else 0.01) * optics.profile(spot, 0)
    assert 0.01 < engine(grid, spot, method="fft").left_out < 0.2


def smooth_slope(grid):
    x, y = coordinates(grid)
    return 1 + 3 * x - y + np.sin(20 * x * y) + 20 * (x**2 + y**2)
