"""Parallel lines along narrow bars, from end to end."""

import numpy as np
import pytest
import shapely
from builders import FWHM, design
from shapely import affinity
from shapes import NODING

from laserpath.planning.curve.contour import centreline, contour

INSET, PITCH, FLAT = 0.4 * FWHM, 1.2 * FWHM, 0.01 * FWHM


def bar(width, length=10.0):
    """A bar along x, both in FWHM."""
    return shapely.box(0, 0, length * FWHM, width * FWHM)


def lines_of(*shapes):
    return centreline(design(*shapes).area, INSET, PITCH, FLAT)


@pytest.mark.parametrize(("width", "count"), [(0.3, 1), (1.1, 1), (1.3, 2), (1.9, 2), (2.1, 3), (3.1, 3)])
def test_as_many_lines_as_the_width_needs_at_most_a_pitch_apart(width, count):
    strokes = lines_of(bar(width))
    assert len(strokes) == count
    y = np.array([stroke[:, 1] for stroke in strokes])
    np.testing.assert_allclose(y[:, 0], y[:, 1])
    assert np.diff(y[:, 0]).max(initial=0) <= PITCH + 1e-12
    np.testing.assert_allclose(y.mean(), width * FWHM / 2)
    if count > 1:
        assert y.min() == pytest.approx(INSET)


def test_lines_run_from_end_to_end_to_and_fro():
    first, second = lines_of(bar(1.5))
    assert sorted(first[:, 0]) == pytest.approx([0, 10 * FWHM])
    np.testing.assert_allclose(first[:, 0], second[::-1, 0])


@pytest.mark.parametrize("angle", [0, 30, 90, 137])
def test_they_turn_with_the_bar(angle):
    straight, turned = lines_of(bar(1.5)), lines_of(affinity.rotate(bar(1.5), angle, origin=(0, 0)))
    one, other = (shapely.MultiLineString(strokes) for strokes in (straight, turned))
    assert affinity.rotate(one, angle, origin=(0, 0)).hausdorff_distance(other) < 1e-9


def test_a_narrow_bend_is_drawn_along_its_middle():
    arm = FWHM
    bend = shapely.union_all([shapely.box(0, 0, 1, arm), shapely.box(0, 0, arm, 1)], grid_size=NODING)
    (stroke,) = lines_of(bend)
    assert shapely.LineString(stroke).length > 1.5
    inside = shapely.LineString(stroke).buffer(0.45 * arm)
    assert bend.buffer(1e-3).covers(inside)


def test_a_bar_with_a_hole_is_none():
    holed = bar(1.9).difference(shapely.box(0.4, 0.05, 0.6, 0.12), grid_size=NODING)
    hole = shapely.Polygon(holed.interiors[0])
    assert not any(shapely.LineString(stroke).intersects(hole) for stroke in lines_of(holed))


def test_a_dot_is_a_stroke_of_a_fifth_of_a_pitch():
    (stroke,) = lines_of(bar(0.05, length=0.05))
    assert shapely.LineString(stroke).length == pytest.approx(PITCH / 5)
    assert shapely.LineString(stroke).centroid.coords[0] == pytest.approx([0.025 * FWHM] * 2)


def test_what_is_no_bar_gets_its_rings():
    disc = shapely.Point(3, 3).buffer(1)
    both = [shapely.LineString(stroke) for stroke in lines_of(disc, bar(1.5))]
    rings = [shapely.LineString(ring) for ring in contour(design(disc).area, INSET, PITCH, FLAT)]
    assert len(both) == 2 + len(rings)
    for ring in rings:
        assert min(ring.hausdorff_distance(line) for line in both) < FLAT
