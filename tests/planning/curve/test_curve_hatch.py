"""Hatch lines: pitch, angle, to and fro, inside the design."""

import numpy as np
import pytest
import shapely
from builders import design, polygons
from hypothesis import given
from hypothesis import strategies as st

from laserpath.planning.curve.hatch import hatch

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
