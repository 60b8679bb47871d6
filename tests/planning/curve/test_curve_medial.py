"""The medial axis of shapes whose axis is known."""

import numpy as np
import shapely
from builders import design
from shapes import NODING

from laserpath.planning.curve.skeleton import medial_axis


def axis_of(shape, spacing=0.01):
    return medial_axis(design(shape).area, spacing)


def test_the_axis_of_a_bar_is_its_centre_line_without_the_branches_into_corners():
    axis = axis_of(shapely.box(0, 0, 1, 0.2))
    middle = (axis.start + axis.end) / 2
    np.testing.assert_allclose(middle[:, 1], 0.1, atol=0.005)
    assert middle[:, 0].min() > 0.08 and middle[:, 0].max() < 0.92
    np.testing.assert_allclose(axis.radius, 0.1, atol=0.002)
    (stroke,) = axis.strokes(np.ones(len(axis.radius), bool), shortest=0.1, flatness=0.005)
    assert abs(np.ptp(stroke[:, 0]) - 0.8) < 0.05


def test_the_radius_is_the_distance_to_the_edge():
    wedge = shapely.Polygon([(0, 0), (2, -0.2), (2, 0.2)])
    axis = axis_of(wedge)
    distance = shapely.distance(shapely.points((axis.start + axis.end) / 2), wedge.exterior)
    np.testing.assert_allclose(axis.radius, distance, atol=0.006)


def test_only_the_chosen_pieces_are_joined():
    wedge = shapely.Polygon([(0, 0), (2, -0.2), (2, 0.2)])
    axis = axis_of(wedge)
    (stroke,) = axis.strokes(axis.radius < 0.05, shortest=0.05, flatness=0.002)
    # The radius of a circle in the wedge at x is x sin α with tan α = 0.1.
    assert stroke[:, 0].max() < 0.05 / np.sin(np.arctan(0.1)) + 0.02
    assert axis.strokes(axis.radius < 0, shortest=0.05, flatness=0.002) == []
    assert axis.strokes(axis.radius < 0.05, shortest=5, flatness=0.002) == []


def test_a_ring_s_axis_is_a_circle():
    ring = (
        shapely.Point(0, 0)
        .buffer(0.55, quad_segs=60)
        .difference(shapely.Point(0, 0).buffer(0.45, quad_segs=60), grid_size=NODING)
    )
    axis = axis_of(ring)
    np.testing.assert_allclose(np.hypot(*axis.start.T), 0.5, atol=0.005)


def test_the_hole_s_side_of_the_edge_has_no_axis():
    frame = shapely.box(0, 0, 1, 1).difference(shapely.box(0.1, 0.1, 0.9, 0.9), grid_size=NODING)
    axis = axis_of(frame)
    assert shapely.contains_xy(frame, axis.start).all()
