"""Between pixels a band-limited function is read by least squares, as their formulas say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import SPOT, design
from scipy import ndimage

from laserpath.base import arrays
from laserpath.base.arrays import Floats
from laserpath.design import scene
from laserpath.physics.dose import DoseModel, usual_model
from laserpath.types import Grid, Resin


def test_taps_are_those_of_the_formulas() -> None:
    t = np.append(np.random.default_rng(5).uniform(-3, 40, 500), [0.0, 7.0, 1e-9, 8 - 1e-12])
    taps = scene.taps_at(t, 30)
    weight, slope = scene._weights(t - np.floor(t))
    assert np.abs(taps.weight - weight).max() < 1e-7
    assert np.abs(taps.slope - slope).max() < 2e-7
    assert (taps.at[:, 3] == np.mod(np.floor(t), 30)).all()


@pytest.mark.parametrize(("periods", "error"), [(0.15, 1e-3), (0.2, 1e-4), (0.25, 3.3e-3), (0.34, 0.065)])
def test_a_wave_is_read_as_well_as_is_said(periods: float, error: float) -> None:
    """A line of 100 pixels, on which a wave of about so many periods a pixel repeats."""
    turn = 2 * np.pi * round(100 * periods) / 100
    t = np.random.default_rng(6).uniform(0, 100, 500)
    taps, values = scene.taps_at(t, 100), np.exp(1j * turn * np.arange(100))
    assert np.abs((taps.weight * values[taps.at]).sum(axis=1) - np.exp(1j * turn * t)).max() < error


def test_a_straight_line_is_read_exactly_with_its_slope() -> None:
    t = np.random.default_rng(7).uniform(10, 80, 200)
    taps = scene.taps_at(t, 100)
    weight, slope = (one.astype(float) for one in (taps.weight, taps.slope))
    assert np.abs(weight.sum(axis=1) - 1).max() < 1e-6
    assert np.abs(slope.sum(axis=1)).max() < 1e-6
    assert np.abs((slope * (taps.at - t[:, None])).sum(axis=1) - 1).max() < 1e-6


def test_the_weights_are_the_best_for_what_a_spot_passes() -> None:
    """No small change that keeps their sum reads waves of that power better, at any place between pixels."""
    rng, wave = np.random.default_rng(8), np.linspace(0, 0.5, 2001)[1:]
    ratio = np.minimum(wave / 0.35, 1)
    power = (2 / np.pi * (np.arccos(ratio) - ratio * np.sqrt(1 - ratio**2))) ** 2 + 1e-6
    for fraction in rng.uniform(0, 1, 20):
        (weight,), _ = scene._weights(np.array([fraction]))
        change = rng.normal(size=(50, scene.TAPS))
        change -= change.mean(axis=1, keepdims=True)
        waves = np.exp(2j * np.pi * wave[:, None] * (np.arange(scene.TAPS) - 3))
        exact = np.exp(2j * np.pi * wave * fraction)

        def error(w: Floats, waves: Floats = waves, exact: Floats = exact) -> float:
            return float((power * np.abs(waves @ w - exact) ** 2).sum())

        assert all(error(weight) < error(weight + 1e-2 * one) for one in change)


def test_the_edges_of_a_coarse_dose_are_those_of_a_fine_one() -> None:
    """As the module says: to 1e-4 FWHM (r.m.s.), of lines of an Airy spot on 3 pixels a FWHM."""
    some = scene.Scene.around(design(shapely.box(0, 0, 1, 0.7)), SPOT, Resin(), 3)
    fine = Grid(some.grid.origin, some.grid.pitch / 4, tuple(4 * n - 3 for n in some.grid.shape))
    xy = shapely.get_coordinates(shapely.box(0.05, 0.05, 0.95, 0.65).exterior)
    energy = np.full(len(xy) - 1, 3.0)
    coarse, exact = (
        one.sampler(DoseModel(one.grid, SPOT, precision="f64", tolerance=1e-6).line_dose(xy, energy))
        for one in (some, some.on(fine))
    )
    away = (coarse[0] - exact[0]) / exact[1]
    assert np.sqrt((away**2).mean()) < 1e-4


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
