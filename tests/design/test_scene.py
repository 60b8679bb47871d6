"""Between pixels a band-limited function is read by the windowed sinc, as its formulas say."""

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
from laserpath.physics.dose import usual_model
from laserpath.types import Resin


def test_taps_are_those_of_the_formulas() -> None:
    t = np.append(np.random.default_rng(5).uniform(-3, 40, 500), [0.0, 7.0, 1e-9, 8 - 1e-12])
    taps = scene.sinc_taps(t, 30)
    weight, slope = scene._weights(t - np.floor(t))
    assert np.abs(taps.weight - weight).max() < 1e-14
    assert np.abs(taps.slope - slope).max() < 1e-12
    assert (taps.at[:, 5] == np.mod(np.floor(t), 30)).all()


@pytest.mark.parametrize(("periods", "error"), [(0.2, 1.2e-4), (0.34, 0.0345)])
def test_a_wave_is_read_as_well_as_is_said(periods: float, error: float) -> None:
    """A line of 100 pixels, on which a wave of about so many periods a pixel repeats."""
    turn = 2 * np.pi * round(100 * periods) / 100
    t = np.random.default_rng(6).uniform(0, 100, 500)
    taps, values = scene.sinc_taps(t, 100), np.exp(1j * turn * np.arange(100))
    assert np.abs((taps.weight * values[taps.at]).sum(axis=1) - np.exp(1j * turn * t)).max() < error


def test_a_straight_line_is_read_exactly_with_its_slope() -> None:
    t = np.random.default_rng(7).uniform(10, 80, 200)
    taps = scene.sinc_taps(t, 100)
    assert np.abs(taps.weight.sum(axis=1) - 1).max() < 1e-13
    assert np.abs(taps.slope.sum(axis=1)).max() < 1e-12
    assert np.abs((taps.slope * taps.at).sum(axis=1) - 1).max() < 1e-11


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
