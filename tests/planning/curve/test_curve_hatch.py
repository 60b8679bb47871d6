"""Hatch lines: pitch, angle, to and fro, inside the design.

A ring along the edge and straight lines inside.
"""

import numpy as np
import pytest
import shapely
from builders import FWHM, design, polygons
from hypothesis import given
from hypothesis import strategies as st
from shapely import affinity
from shapes import NODING

from laserpath.planning.curve import is_closed, main_direction
from laserpath.planning.curve.contour import hatch, outline

SQUARE = design(shapely.box(0, 0, 1, 1)).area


def test_lines_lie_a_pitch_apart_and_symmetric():
    strokes = hatch(SQUARE, 0.05, 0.12, 0.0)
    y = np.array([s[0, 1] for s in strokes])
    np.testing.assert_allclose(np.diff(y), 0.12)
    np.testing.assert_allclose(y + y[::-1], 1.0)
    assert y[0] - 0.05 < 0.12
    np.testing.assert_allclose([np.ptp(s[:, 0]) for s in strokes], 0.9)


def test_lines_run_to_and_fro():
    strokes = hatch(SQUARE, 0.05, 0.12, 0.0)
    direction = np.array([np.sign(s[1, 0] - s[0, 0]) for s in strokes])
    np.testing.assert_array_equal(direction, (-1.0) ** np.arange(len(strokes)))


def test_rows_in_several_parts_are_drawn_in_their_direction():
    comb = design(shapely.box(0, 0, 1, 1), shapely.box(2, 0, 3, 1), shapely.box(4, 0, 5, 1)).area
    strokes = hatch(comb, 0.05, 0.3, 0.0)
    first, second = np.array(strokes[:3]), np.array(strokes[3:6])
    assert (np.diff(first[:, :, 0].ravel()) > 0).all()
    assert (np.diff(second[:, :, 0].ravel()) < 0).all()


@given(polygon=polygons(), angle=st.floats(-180, 180), pitch=st.floats(0.05, 0.3))
def test_lines_are_straight_at_the_angle_and_inside(polygon, angle, pitch):
    shrunk = polygon.buffer(-0.03)
    turn = np.radians(angle)
    across = np.array([-np.sin(turn), np.cos(turn)])
    for stroke in hatch(design(polygon).area, 0.03, pitch, angle):
        assert stroke.shape == (2, 2)
        assert abs((stroke[1] - stroke[0]) @ across) < 1e-9
        assert shrunk.buffer(1e-6).covers(shapely.LineString(stroke))


@given(polygon=polygons(), angle=st.floats(-180, 180))
def test_all_lines_are_on_one_comb(polygon, angle):
    turn = np.radians(angle)
    level = [s[0] @ (-np.sin(turn), np.cos(turn)) for s in hatch(design(polygon).area, 0.03, 0.1, angle)]
    phase = np.exp(2j * np.pi * np.array(level) / 0.1)
    np.testing.assert_allclose(phase, phase[:1].repeat(len(phase)), atol=1e-6)


@pytest.mark.parametrize("inset", [0.5, 0.7])
def test_where_nothing_is_left_there_is_no_line(inset):
    assert hatch(SQUARE, inset, 0.1, 0.0) == []


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
