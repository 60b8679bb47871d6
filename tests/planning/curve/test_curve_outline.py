"""A ring along the edge and straight lines inside."""

import numpy as np
import pytest
import shapely
from builders import FWHM, design
from shapely import affinity
from shapes import NODING

from laserpath.planning.curve import is_closed, main_direction
from laserpath.planning.curve.hatch import outline

INSET, PITCH, FLAT = 0.4 * FWHM, 1.2 * FWHM, 0.01 * FWHM


def strokes_of(shape, angle=0.0):
    return outline(design(shape).area, INSET, PITCH, angle, FLAT)


def test_one_ring_then_lines_along_the_angle():
    strokes = strokes_of(shapely.box(0, 0, 2, 1), angle=90)
    rings, lines = [s for s in strokes if is_closed(s)], [s for s in strokes if not is_closed(s)]
    assert len(rings) == 1
    assert shapely.LinearRing(rings[0]).distance(shapely.box(0, 0, 2, 1).exterior) == pytest.approx(INSET)
    assert len(lines) == pytest.approx((2 - 2 * INSET - 2 * PITCH) / PITCH, abs=1)
    for line in lines:
        assert np.ptp(line[:, 0]) == pytest.approx(0, abs=1e-9)


def test_nothing_inside_is_far_from_a_stroke():
    shape = shapely.Point(0, 0).buffer(1).difference(shapely.Point(0.3, 0).buffer(0.2), grid_size=NODING)
    lines = shapely.MultiLineString(strokes_of(shape, 30))
    points = shapely.points(np.random.default_rng(0).uniform(-1, 1, (500, 2)))
    points = points[shapely.contains(shape, points)]
    assert shapely.distance(points, lines).max() <= 1.1 * PITCH


def test_what_is_narrower_than_a_pitch_still_has_its_strokes():
    """A comb: its back has lines, its teeth have one stroke or ring each."""
    teeth = [shapely.box(x, 1, x + 0.6 * FWHM, 2) for x in (0.2, 0.5, 0.8)]
    strokes = strokes_of(shapely.union_all([shapely.box(0, 0, 1, 1.01), *teeth], grid_size=NODING))
    lines = shapely.MultiLineString(strokes)
    for tooth in teeth:
        assert lines.distance(shapely.Point(tooth.centroid.x, 1.9)) < FWHM / 2


@pytest.mark.parametrize("angle", [0.0, 20.0, 44.0, 70.0])
def test_the_main_direction_is_that_of_most_of_the_outline(angle):
    bar = affinity.rotate(shapely.box(0, 0, 3, 1), angle)
    assert (main_direction(design(bar).area) - angle + 45) % 90 - 45 == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "shape", [shapely.Point(0, 0).buffer(1), shapely.box(0, 0, 1, 1), shapely.box(3, 0.1, 5, 0.7)]
)
def test_the_main_direction_does_not_hang_on_rounding(shape):
    assert main_direction(design(shape).area) == 0
