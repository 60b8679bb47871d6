"""Rings joined to one stroke wherever the next one runs alongside."""

from functools import cache

import numpy as np
import pytest
import shapely
from builders import FWHM, POCKET, design, polygons
from hypothesis import example, given
from sets import examples, one_fast
from shapes import NODING

import gcode
from laserpath.machine import convert
from laserpath.machine.powers import exposing
from laserpath.planning.curve import drawn, is_closed, order, quicker
from laserpath.planning.curve.contour import contour
from laserpath.planning.curve.spiral import spiral
from laserpath.planning.smooth import decimate, simplify
from laserpath.types import Process, Settings

INSET, PITCH, FLAT = 0.4 * FWHM, 1.2 * FWHM, 0.01 * FWHM

DISC = shapely.Point(3, 3).buffer(1.5, quad_segs=60)
SQUARE = shapely.box(1, 1, 4, 4)
ELL = shapely.box(0, 0, 3, 3).difference(shapely.box(1.2, 1.2, 4, 4), grid_size=NODING)
WASHER = DISC.difference(shapely.Point(3, 3).buffer(0.6, quad_segs=60), grid_size=NODING)
HOLED = SQUARE.difference(shapely.box(2.2, 1.7, 2.9, 2.6), grid_size=NODING)
ISLANDS = shapely.union_all([shapely.box(0, 0, 1, 1), shapely.box(1.5, 0, 3, 1.2)], grid_size=NODING)
SHAPES = {"disc": DISC, "square": SQUARE, "L": ELL, "washer": WASHER, "holed": HOLED, "islands": ISLANDS}


@cache
def strokes_of(shape, pitch=PITCH):
    return spiral(design(shape).area, INSET, pitch, FLAT)


@cache
def contour_of(shape, pitch=PITCH):
    return contour(design(shape).area, INSET, pitch, FLAT)


def write_time(strokes):
    """s, of the strokes as the first moves that go to the machine: thinned to what the link delivers."""
    process = Process()
    path = drawn(quicker(order(strokes), process.machine), process, Settings())
    path = decimate(simplify(path, FWHM, 0.01), FWHM, process.machine, 0.05)
    moves = convert.to_moves(exposing(path, process.machine, process.spot), process.machine)
    return gcode.motion.profile(moves, convert.limits(process.machine)).write_time


def gaps(strokes, area, count=5000):
    """(N,) mm from random places, an inset deep in the area, to the nearest stroke."""
    x0, y0, x1, y1 = area.bounds
    points = shapely.points(np.random.default_rng(0).uniform((x0, y0), (x1, y1), (count, 2)))
    points = points[shapely.contains(area.buffer(-INSET), points)]
    return shapely.distance(points, shapely.MultiLineString(strokes))


def turns(stroke):
    """(K-2,) degrees at the inner vertices."""
    heading = np.unwrap(np.arctan2(*np.diff(stroke, axis=0).T[::-1]))
    return np.degrees(np.abs(np.diff(heading)))


@pytest.mark.parametrize(
    ("name", "strokes"), [("disc", 3), ("square", 3), ("L", 3), ("washer", 1), ("holed", 9), ("islands", 4)]
)
def test_rings_are_joined(name, strokes):
    """What stays are centre lines, rings too small for a drift, and one chain more at a fork."""
    drawn = strokes_of(SHAPES[name])
    assert len(drawn) <= strokes < len(contour_of(SHAPES[name]))


def test_a_washer_is_one_open_stroke_from_edge_to_edge():
    (stroke,) = strokes_of(WASHER)
    assert not is_closed(stroke)
    outer, inner = WASHER.exterior, WASHER.interiors[0]
    ends = shapely.points(stroke[[0, -1]])
    for edge in (outer, inner):
        assert shapely.distance(ends, edge).min() == pytest.approx(INSET, abs=FLAT)


@pytest.mark.parametrize("name", SHAPES)
def test_the_ring_that_makes_the_edge_is_drawn_in_full(name):
    area = design(SHAPES[name]).area
    lines = shapely.MultiLineString(strokes_of(SHAPES[name]))
    edge = area.buffer(-INSET).boundary.segmentize(INSET / 4)
    at = shapely.points(shapely.get_coordinates(edge))
    # A corner of 90° is rounded by (√2 − 1) of 1.25 insets.
    assert shapely.distance(at, lines).max() <= 0.53 * INSET + 2 * FLAT


def test_nothing_turns_sharply_on_a_disc():
    longest = max(strokes_of(DISC), key=len)
    assert turns(longest).max() <= 20
    assert np.percentile(turns(longest), 95) <= 12


@pytest.mark.parametrize("name", ["square", "L", "holed", "islands"])
def test_a_drift_is_no_sharper_than_a_corner(name):
    """Rings share corners of 90° among vertices of 22.5°."""
    assert turns(max(strokes_of(SHAPES[name]), key=len)).max() <= 23


@pytest.mark.parametrize("pitch", one_fast([PITCH, 1.5 * FWHM], 1.5 * FWHM))
@pytest.mark.parametrize("name", one_fast(SHAPES, "holed", "islands"))
def test_it_covers_what_rings_cover(name, pitch):
    area = SHAPES[name]
    largest, rings = gaps(strokes_of(area, pitch), area).max(), gaps(contour_of(area, pitch), area).max()
    assert largest <= max(rings, 0.6 * pitch)


@examples(30)
@given(polygon=polygons())
@example(polygon=POCKET)
def test_every_stroke_is_inside_and_no_part_is_far_from_one(polygon):
    strokes = strokes_of(polygon)
    assert polygon.buffer(FLAT).covers(shapely.MultiLineString(strokes))
    wide = polygon.buffer(-INSET).buffer(INSET)
    if not wide.is_empty:
        assert gaps(strokes, wide, 500).max(initial=0) <= max(PITCH, 2 * INSET)


@pytest.mark.parametrize("name", one_fast(SHAPES, "holed"))
def test_the_same_every_time(name):
    for a, b in zip(strokes_of(SHAPES[name]), strokes_of(SHAPES[name]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_area_has_no_stroke():
    assert spiral(shapely.MultiPolygon(), INSET, PITCH, FLAT) == []


@pytest.mark.parametrize("width", [0.5 * FWHM, 1.6 * FWHM])
def test_where_no_ring_lies_in_another_it_is_the_contour(width):
    bar = shapely.box(0, 0, 1, width)
    for a, b in zip(strokes_of(bar), contour_of(bar), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_ring_left_alone_stays_closed():
    alone = [s for s in strokes_of(SQUARE) if is_closed(s)]
    assert len(alone) == 2


@pytest.mark.parametrize(("shape", "share"), [(shapely.Point(3, 3).buffer(2.5, quad_segs=60), 0.85),
                                              (shapely.box(1, 1, 6, 6), 0.95)])  # fmt: skip
@pytest.mark.parametrize("pitch", [pytest.param(PITCH, marks=pytest.mark.slow), 1.5 * FWHM])
def test_it_is_quicker_to_write_than_rings(shape, share, pitch):
    """No stops between rings; in a square its corners take most of the time."""
    assert write_time(strokes_of(shape, pitch)) <= share * write_time(contour_of(shape, pitch))
