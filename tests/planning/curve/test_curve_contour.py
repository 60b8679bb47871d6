"""Contour-parallel rings, centre lines where no ring fits, and a stroke in every small island.

Parallel lines along narrow bars, from end to end.
"""

import numpy as np
import pytest
import shapely
from builders import FWHM, POCKET, design, polygons
from hypothesis import example, given
from sets import examples
from shapely import affinity
from shapes import NODING

from laserpath.planning.curve import is_closed
from laserpath.planning.curve.contour import centreline, contour

INSET, PITCH, FLAT = 0.4 * FWHM, 1.2 * FWHM, 0.01 * FWHM


def strokes_of(*shapes):
    return contour(design(*shapes).area, INSET, PITCH, FLAT)


def depth(stroke, area):
    """Distances of a stroke's vertices from the edge."""
    return shapely.distance(shapely.points(stroke), area.boundary)


def test_rings_lie_at_the_inset_and_then_every_pitch():
    disc = shapely.Point(0, 0).buffer(0.5, quad_segs=90)
    rings = [s for s in strokes_of(disc) if is_closed(s)]
    depths = [depth(r, disc).mean() for r in rings]
    np.testing.assert_allclose(depths, INSET + PITCH * np.arange(len(rings)), atol=FLAT)
    assert len(rings) == 4
    for ring in rings:
        assert np.ptp(depth(ring, disc)) <= FLAT


def test_rings_follow_holes_too():
    area = shapely.box(0, 0, 1, 1).difference(shapely.box(0.4, 0.4, 0.6, 0.6), grid_size=NODING)
    rings = [shapely.LineString(s) for s in strokes_of(area) if is_closed(s)]
    outer, inner = area.exterior, area.interiors[0]
    assert sum(np.isclose(outer.distance(ring), INSET) for ring in rings) == 1
    # Around a hole the round corners come nearer: by (√2 − 1) of their radius, 1.25 insets.
    assert sum(0.48 * INSET < inner.distance(ring) <= INSET + 1e-9 for ring in rings) == 1


@examples(30)
@given(polygon=polygons())
def test_every_stroke_is_inside_the_design(polygon):
    """Rings at their depth at least; dots may be longer than a tiny island."""
    for stroke in strokes_of(polygon):
        assert polygon.buffer(FLAT).covers(shapely.LineString(stroke))
        if is_closed(stroke):
            assert depth(stroke, polygon).min() >= 0.48 * INSET - 2 * FLAT


LAST_RING = shapely.Polygon(
    [(0, -0.75), (-1, 0), (0, 0.75), (0.75, 0)], [[(0, 0.3), (-0.4, 0), (0, -0.3), (0.3, 0)]]
)
"""Its second ring would be 2 µm wide, at a depth of 160 µm."""


@examples(30)
@given(polygon=polygons())
@example(polygon=LAST_RING)
@example(polygon=POCKET)
def test_no_part_of_the_design_is_far_from_a_stroke(polygon):
    """Nowhere more than a pitch, but in tips narrower than the spot: a place at a depth d is d − r from the
    ring at the depth r before it, and where that ring is missing, an axis is drawn.

    Missing are last rings that are narrower than some hundredths of their depth, which GEOS leaves out, and
    those beside a reflex corner, which mitred level lines keep further away than their depth.
    """
    area = polygon.buffer(-INSET).buffer(INSET)
    lines = shapely.MultiLineString(strokes_of(polygon))
    rng = np.random.default_rng(0)
    points = shapely.points(rng.uniform(-1, 1, (500, 2)))
    points = points[shapely.contains(area, points)]
    assert shapely.distance(points, lines).max(initial=0) <= max(PITCH, 2 * INSET)


def test_a_line_thinner_than_twice_the_inset_gets_one_stroke_along_its_middle():
    width = 0.3 * FWHM
    (stroke,) = strokes_of(shapely.box(0, 0, 1, width))
    assert not is_closed(stroke)
    np.testing.assert_allclose(stroke[:, 1], width / 2, atol=PITCH / 40)
    assert stroke[:, 0].min() < width and stroke[:, 0].max() > 1 - width


def test_a_bent_thin_line_keeps_its_bend():
    thin = shapely.LineString([(0, 0), (0.5, 0), (0.5, 0.5)]).buffer(
        0.15 * FWHM, cap_style="flat", join_style="mitre"
    )
    strokes = strokes_of(thin)
    assert sum(np.hypot(*np.diff(s, axis=0).T).sum() for s in strokes) > 0.9
    for stroke in strokes:
        assert thin.covers(shapely.LineString(stroke))


def test_a_bar_whose_rings_leave_a_seam_gets_a_centre_line():
    width = 3 * FWHM
    strokes = strokes_of(shapely.box(0, 0, 1, width))
    (centre,) = [s for s in strokes if not is_closed(s)]
    np.testing.assert_allclose(centre[:, 1], width / 2, atol=PITCH / 40)
    assert np.ptp(centre[:, 0]) > 0.5


@pytest.mark.parametrize("width", [1.6, 2.0])
def test_a_bar_whose_rings_meet_gets_none(width):
    """The rings are 0.8 and 1.2 FWHM apart, no more than a pitch."""
    assert all(is_closed(s) for s in strokes_of(shapely.box(0, 0, 1, width * FWHM)))


@pytest.mark.parametrize("size", [0.001, 0.2, 0.5])
@pytest.mark.parametrize("shape", ["square", "disc", "triangle"])
def test_an_island_that_no_ring_fits_into_gets_a_stroke_all_the_same(size, shape):
    r = size * FWHM / 2
    island = {
        "square": shapely.box(1 - r, 1 - r, 1 + r, 1 + r),
        "disc": shapely.Point(1, 1).buffer(r),
        "triangle": shapely.Polygon([(1 - r, 1 - r), (1 + r, 1 - r), (1, 1 + r)]),
    }[shape]
    strokes = strokes_of(shapely.box(0, 0, 0.5, 0.5), island)
    near = [s for s in strokes if np.hypot(*(s - 1).T).min() < FWHM]
    assert len(near) == 1
    assert 0 < np.hypot(*np.diff(near[0], axis=0).T).sum() < 0.6 * FWHM


def test_without_an_inset_the_first_ring_is_the_edge_itself():
    strokes = contour(design(shapely.box(0, 0, 1, 1)).area, 0.0, PITCH, FLAT)
    assert shapely.LinearRing(strokes[0]).equals(shapely.box(0, 0, 1, 1).exterior)


def test_the_corners_of_rings_are_shared_by_several_small_turns():
    """A controller all but stops in a sharp one."""
    (outer, *_) = (s for s in strokes_of(shapely.box(0, 0, 1, 1)) if is_closed(s))
    heading = np.unwrap(np.arctan2(*np.diff(outer, axis=0).T[::-1]))
    assert np.abs(np.diff(heading)).max() < np.radians(30)
    assert np.abs(heading[-1] - heading[0]) > np.radians(240)


@pytest.mark.parametrize("width", [0.9, 1.0, 1.2])
def test_no_arm_is_lost_to_the_rounding(width):
    """A plate with an arm too narrow for round corners: its ring was once lost, and nothing came instead."""
    arm = shapely.box(0, 0.4, -1, 0.4 + width * FWHM)
    lines = shapely.MultiLineString(strokes_of(shapely.box(0, 0, 1, 1), arm))
    assert lines.distance(shapely.Point(-1, 0.4 + width * FWHM / 2)) < FWHM


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
