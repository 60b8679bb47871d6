"""One straight segment against the exact integral: any length, angle and sub-pixel offset, any pixel size.

The deviation is the largest one of all pixels ÷ the segment's own largest dose, and below the tolerance
requested of the model: 1e-3 by default, in f32, and 1e-6 in f64.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from exact import airy_segment, gaussian_segment
from hypothesis import example, given
from hypothesis import strategies as st
from sets import examples, one_fast

from laserpath.physics import optics
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Spot, Toolpath

HALF = 0.5
"""Half of the field, mm; the segment may go from corner to corner of it."""
REQUESTED = ({}, {"precision": "f64", "tolerance": 1e-6})
SPOTS = {
    "airy": Spot(fwhm=0.1),
    "gaussian": Spot(fwhm=0.1, profile="gaussian"),
    "elliptical": Spot(fwhm=0.12, profile="gaussian", aspect=1.5, angle=30.0),
    "two-photon": Spot(fwhm=0.15, profile="gaussian", photons=2),
}
PIXELS_PER_FWHM = (2.6, 6.0, 13.0)
"""Of the dose's spot, which absorbing two photons makes narrower."""

lengths = st.one_of(st.just(0.0), st.floats(-6, np.log10(2 * HALF)).map(lambda e: 10.0**e))
"""mm, from nothing to the whole field, every decade alike."""
offsets = st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
"""Pixels."""


@cache
def model(spot: str, pixels: float, requested: int) -> DoseModel:
    pitch = optics.fwhm(SPOTS[spot]) / pixels
    n = int(HALF / pitch)
    grid = Grid(origin=(-n * pitch, -n * pitch), pitch=pitch, shape=(2 * n + 1, 2 * n + 1))
    return DoseModel(grid, SPOTS[spot], **REQUESTED[requested])


def deviation(how: DoseModel, length: float, angle: float, offset: tuple[float, float]) -> float:
    """Of a segment about the middle of the field, from the exact integral, in its largest dose."""
    direction = np.array([np.cos(angle), np.sin(angle)])
    middle = np.array(offset) * how.grid.pitch
    limit = HALF - how.spot.fwhm - how.grid.pitch
    ends = np.clip(middle + np.outer((-length / 2, length / 2), direction), -limit, limit)
    exact = airy_segment if how.spot.profile == "airy" else gaussian_segment
    expected = exact(how.grid, how.spot, *ends)
    found = how.dose(Toolpath(ends, np.ones(1), np.ones(1)))
    assert np.isfinite(found).all()
    return float(np.abs(found - expected).max() / max(expected.max(), 1e-300))


@pytest.mark.parametrize("requested", range(len(REQUESTED)), ids=("default", "1e-6 in f64"))
@pytest.mark.parametrize("pixels", one_fast(PIXELS_PER_FWHM, min(PIXELS_PER_FWHM)))
@pytest.mark.parametrize("spot", SPOTS)
@examples(12)
@given(length=lengths, angle=st.floats(0, np.pi), offset=offsets)
@example(length=2 * HALF, angle=np.pi / 4, offset=(0.3, -0.2))
@example(length=0.05, angle=0.0, offset=(0.5, 0.5))
@example(length=1e-9, angle=1.0, offset=(0.0, 0.0))
def test_a_segment_is_the_exact_integral(spot, pixels, requested, length, angle, offset):
    how = model(spot, pixels, requested)
    assert deviation(how, length, angle, offset) <= REQUESTED[requested].get("tolerance", 1e-3)


@pytest.mark.parametrize("requested", range(len(REQUESTED)), ids=("default", "1e-6 in f64"))
@pytest.mark.parametrize("spot", ["airy", "gaussian"])
def test_a_segment_at_the_edge_does_not_come_back_on_the_other_side(spot, requested):
    """Where a periodic grid would show it: one end in the corner pixel, along the whole edge."""
    how = model(spot, 6.0, requested)
    x0, _, y0, y1 = how.grid.extent
    ends = np.array([[x0, y0], [x0 + 0.01, 0.9 * y1]])
    exact = airy_segment if spot == "airy" else gaussian_segment
    expected = exact(how.grid, how.spot, *ends)
    found = how.dose(Toolpath(ends, np.ones(1), np.ones(1)))
    assert np.abs(found - expected).max() <= REQUESTED[requested].get("tolerance", 1e-3) * expected.max()
