"""Between pixels a band-limited function is read by least squares, as their formulas say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import SPOT, design
from scipy import ndimage
from scipy.linalg import null_space
from shapely import affinity

from laserpath.base import arrays
from laserpath.base.arrays import Floats
from laserpath.design import scene
from laserpath.physics.dose import DoseModel, usual_model
from laserpath.types import Grid, Resin, Spot


def test_taps_are_those_of_the_formulas() -> None:
    t = np.append(np.random.default_rng(5).uniform(-3, 40, 500), [0.0, 7.0, 1e-9, 8 - 1e-12])
    taps = scene.taps_at(t, 30)
    weight, slope = scene._weights(t - np.floor(t), scene.TAPS)
    assert np.abs(taps.weight - weight).max() < 1e-7
    assert np.abs(taps.slope - slope).max() < 2e-7
    assert (taps.at[:, 3] == np.mod(np.floor(t), 30)).all()


@pytest.mark.parametrize(
    ("fastest", "error", "slope_error"), [(0.2, 1.5e-3, 6e-3), (0.25, 3.3e-3, 8e-3), (0.34, 0.07, 0.11)]
)
def test_waves_are_read_as_well_as_is_said(fastest: float, error: float, slope_error: float) -> None:
    """All that repeat on a line of 100 pixels, up to so many periods a pixel; slopes by what they are."""
    t = np.random.default_rng(6).uniform(0, 100, 500)
    taps = scene.taps_at(t, 100)
    for turn in 2 * np.pi / 100 * np.arange(1, round(100 * fastest) + 1):
        values, exact = np.exp(1j * turn * np.arange(100)), np.exp(1j * turn * t)
        assert np.abs((taps.weight * values[taps.at]).sum(axis=1) - exact).max() < error
        slopes = (taps.slope * values[taps.at]).sum(axis=1) / (1j * turn)
        assert np.abs(slopes - exact).max() < slope_error


def test_a_straight_line_is_read_exactly_with_its_slope() -> None:
    t = np.random.default_rng(7).uniform(10, 80, 200)
    taps = scene.taps_at(t, 100)
    weight, slope = (one.astype(float) for one in (taps.weight, taps.slope))
    for weights, value, rise in ((weight, 1, 0), (slope, 0, 1)):
        np.testing.assert_allclose(weights.sum(axis=1), value, atol=1e-6)
        np.testing.assert_allclose((weights * (taps.at - t[:, None])).sum(axis=1), rise, atol=1e-6)


@pytest.mark.parametrize("taps", [scene.TAPS, scene._MATRIX_TAPS])
def test_the_weights_are_the_best_for_what_a_spot_passes(taps: int) -> None:
    """The mean square is stationary: A w − b has no part along any change that keeps both sums."""
    fraction, wave = np.random.default_rng(8).uniform(0, 1, 20), (np.arange(400) + 0.5) / 800
    ratio = np.minimum(wave / 0.35, 1)
    power = (2 / np.pi * (np.arccos(ratio) - ratio * np.sqrt(1 - ratio**2))) ** 2 + 1e-6
    pixels = np.arange(taps) - (taps // 2 - 1)
    waves = np.exp(2j * np.pi * wave[:, None] * pixels)
    exact = np.exp(2j * np.pi * wave[:, None] * fraction)
    free = null_space(np.stack([np.ones(taps), pixels]))
    for weights, wanted in zip(
        scene._weights(fraction, taps), (exact, 2j * np.pi * wave[:, None] * exact), strict=True
    ):
        away = power[:, None] * (waves @ weights.T - wanted)
        assert np.abs(free.T @ (waves.conj().T @ away).real).max() < 1e-9 * power.sum()


@pytest.mark.parametrize(
    ("spot", "error"),
    [
        (SPOT, 1e-4),
        (Spot(0.1, profile="gaussian"), 5e-4),
        pytest.param(Spot(0.1, aspect=2.0), 3e-3, marks=pytest.mark.slow),
    ],
)
def test_the_edges_of_a_coarse_dose_are_read_as_well_as_is_said(spot: Spot, error: float) -> None:
    """Of a bar that is turned, drawn along its rim, against a spline on four times as many pixels."""
    bar = affinity.rotate(shapely.box(0.2, 0.2, 1, 0.6), 17)
    some = scene.Scene.around(design(bar), spot, Resin(), 3)
    fine = Grid(some.grid.origin, some.grid.pitch / 8, tuple(8 * n - 7 for n in some.grid.shape))
    xy = shapely.get_coordinates(bar.buffer(-0.05).exterior)
    dose = DoseModel(fine, spot, precision="f64", tolerance=1e-6).line_dose(xy, np.full(len(xy) - 1, 3.0))
    value, slope = some.sampler(dose[::8, ::8])
    at = fine.to_pixels(some.samples.xy).T[::-1]
    away = (value - ndimage.map_coordinates(dose, at, order=5, mode="nearest")) / slope
    assert np.sqrt((away**2).mean()) < error


@pytest.mark.parametrize("least", [0.0, 0.5, 1.3])
def test_what_is_deep_inside_is_found_tile_by_tile(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    some = scene.Scene.around(
        design(shapely.box(0, 0, 2, 1.4), shapely.box(2.1, 0, 2.2, 1)), SPOT, Resin(), 6
    )
    monkeypatch.setattr(arrays, "_TILE", 32)
    deep = some.deeper(least)
    assert deep.any() and not deep.all()
    assert (deep == (exact_depth(some) > least)).all()


@pytest.mark.parametrize("reach", [0.3, 1.5])
def test_how_deep_a_pixel_is_is_exact_up_to_a_distance(reach: float) -> None:
    rng = np.random.default_rng(3)
    boxes = [
        shapely.box(x, 0.4 * k, x + w, 0.4 * k + h)
        for k, (x, w, h) in enumerate(rng.uniform(0.05, 0.35, (6, 3)))
    ]
    some = scene.Scene.around(design(*boxes), SPOT, Resin(), 6)
    found, exact = some.depth(reach), exact_depth(some)
    near = np.abs(exact) <= reach
    assert near.any() and not near.all()
    assert found[near] == pytest.approx(exact[near], rel=1e-6)
    assert (np.abs(found[~near]) > reach).all()
    assert (np.sign(found) == np.sign(exact)).all()


def exact_depth(some: scene.Scene) -> Floats:
    """(rows, columns) FWHM, distance of each pixel from those beyond the outline, by SciPy."""
    solid = some.target.coverage > 0.5
    inside, outside = (ndimage.distance_transform_edt(part) for part in (solid, ~solid))
    return (inside - outside) * some.grid.pitch / some.fwhm


@pytest.mark.parametrize(
    ("aspect", "pixels"), [(1.0, 3.0), (2.0, 3.0), (0.5, 3.0), (3.0, 3.46), (1 / 8, 5.66)]
)
@pytest.mark.parametrize("profile", ["airy", "gaussian"])
def test_the_coarse_grid_holds_what_the_spot_passes(aspect: float, pixels: float, profile: str) -> None:
    """The dose of a dot is read between its pixels as on the fine grid; the narrow axis has two at least."""
    spot = replace(SPOT, aspect=aspect, profile=profile)
    made = scene.Scene.around(design(shapely.box(0, 0, 0.4, 0.4)), spot, Resin(), 12.0)
    assert made.fwhm / made.coarse.grid.pitch >= pixels - 0.01
    at, energy = np.array([[0.2, 0.2]]), np.ones(1)
    doses = [usual_model(one.grid, spot).engine.spread(at, energy) for one in (made, made.coarse)]
    fine, coarse = (one.sampler(dose)[0] for one, dose in zip((made, made.coarse), doses, strict=True))
    np.testing.assert_allclose(coarse, fine, atol=5e-3 * doses[0].max())
