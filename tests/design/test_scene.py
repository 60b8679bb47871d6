"""Between pixels a band-limited function is read by the windowed sinc, as its formulas say."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from builders import SPOT, design

from laserpath.base import arrays
from laserpath.design import scene
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
    assert (deep == (some.depth > least)).all()


def test_scenes_of_the_same_pixels_have_the_same_depth_which_nobody_may_change() -> None:
    one, same, wider = (
        scene.Scene.around(design(shapely.box(0, 0, w, 1.4)), SPOT, Resin(), 6) for w in (2, 2, 2.2)
    )
    assert one.depth is same.depth and wider.depth.max() >= one.depth.max() > 0
    with pytest.raises(ValueError, match="read-only"):
        one.depth[0, 0] = 1
