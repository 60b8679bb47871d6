"""Areas of shapes, paths and strokes against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st
from sets import examples

from laserpath.base.overlay import tidy
from laserpath.design.fill import fill
from laserpath.design.reading import Reading
from laserpath.design.svg import read
from laserpath.design.svg.values import NotFinite, NotUnderstood, length, transform
from laserpath.types import Design

TOLERANCE = 1e-3
MM = 'xmlns="http://www.w3.org/2000/svg" width="100mm" height="100mm" viewBox="0 0 100 100"'


def svg(body: str, tolerance: float = TOLERANCE) -> Design:
    """A drawing on a page of 100 x 100 mm, where one unit is 1 mm."""
    return read(f"<svg {MM}>{body}</svg>", "test", Reading(tolerance))


def area(body: str) -> float:
    return svg(body).area.area


def spread(perimeter: float) -> float:
    """The area that a boundary of this length may gain or lose by flattening."""
    return perimeter * TOLERANCE


@pytest.mark.parametrize(
    ("body", "expected", "perimeter"),
    [
        ('<rect x="1" y="2" width="30" height="20"/>', 600, 0),
        ('<rect width="30" height="20" rx="4"/>', 600 - (4 - math.pi) * 16, 100),
        ('<rect width="30" height="20" rx="40" ry="5"/>', 600 - (4 - math.pi) * 15 * 5, 100),
        ('<circle cx="50" cy="50" r="20"/>', math.pi * 400, 126),
        ('<ellipse cx="50" cy="50" rx="20" ry="5"/>', math.pi * 100, 90),
        ('<ellipse cx="50" cy="50" ry="5"/>', math.pi * 25, 32),
        ('<polygon points="0,0 30,0 30,40"/>', 600, 0),
        ('<polyline points="0 0 30 0 30 40"/>', 600, 0),
        ('<path d="M10 10h20v10l-10-5-10 5z"/>', 150, 0),
        ('<path d="m10,10 20,0 0,10 -20,0z m 40 0 h10 v10 h-10"/>', 300, 0),
        ('<path d="M0 0A50 50 0 0 1 100 0Z" transform="translate(0 50)"/>', math.pi * 1250, 257),
        ('<path d="M20 50a10 10 0 1150 0z"/>', math.pi * 625 / 2, 129),
        ('<path d="M0 0Q50 100 100 0"/>', 100 * 100 / 3, 200),
        ('<path d="M0 0Q25 50 50 50T100 0"/>', 100 * 50 * 2 / 3, 200),
        ('<path d="M10 10C10 40 40 40 40 10"/>', 0.6 * 30 * 30, 90),
    ],
)
def test_filled_area_is_the_closed_form(body: str, expected: float, perimeter: float) -> None:
    assert area(body) == pytest.approx(expected, abs=spread(perimeter) + 1e-6)


def test_curves_keep_to_the_stated_distance_and_no_closer_than_needed() -> None:
    for tolerance in (0.1, 0.01, 0.001):
        ring = svg('<circle cx="50" cy="50" r="40"/>', tolerance).area.geoms[0].exterior
        xy = np.asarray(ring.coords)
        middle = (xy[:-1] + xy[1:]) / 2
        gap = 40 - np.hypot(*(middle - 50).T)
        assert gap.max() <= tolerance
        assert gap.max() > tolerance / 8
        assert np.abs(np.hypot(*(xy - 50).T) - 40).max() < 1e-5


def test_tolerance_holds_after_enlarging() -> None:
    ring = (
        svg('<g transform="scale(40)"><circle cx="1.25" cy="1.25" r="1"/></g>', 0.01).area.geoms[0].exterior
    )
    xy = np.asarray(ring.coords)
    assert 40 - np.hypot(*((xy[:-1] + xy[1:]) / 2 - 50).T).min() <= 0.01


def test_y_points_up_and_the_origin_is_the_lower_left_of_the_page() -> None:
    design = svg('<rect x="10" y="20" width="5" height="3"/>')
    assert design.bounds == pytest.approx((10, 77, 15, 80))
    assert design.page == (0, 0, 100, 100)
    assert design.name == "test"


@pytest.mark.parametrize(
    ("d", "nonzero", "evenodd"),
    [
        ("M10 10H90V90H10Z M30 30H70V70H30Z", 6400, 4800), ("M10 10H90V90H10Z M30 30V70H70V30Z", 4800, 4800),
        ("M10 10H60V60H10Z M40 40V90H90V40Z", 4200, 4200), ("M10 10H60V60H10Z M40 40H90V90H40Z", 4600, 4200),
        ("M10 10L90 90V10L10 90Z", 3200, 3200),
    ],
)  # fmt: skip
def test_fill_rules(d: str, nonzero: float, evenodd: float) -> None:
    assert area(f'<path d="{d}"/>') == pytest.approx(nonzero, rel=1e-6)
    assert area(f'<path fill-rule="evenodd" d="{d}"/>') == pytest.approx(evenodd, rel=1e-6)


numbers = st.floats(0, 100).map(lambda v: round(v, 2))
rings = st.lists(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=9), min_size=1, max_size=4)


def winding(polygons: list[list[tuple[float, float]]], points: np.ndarray) -> np.ndarray:
    """Winding numbers by the angle that each ring subtends, independent of the reader's method."""
    total = np.zeros(len(points))
    for ring in polygons:
        v = np.asarray(ring)[None] - points[:, None]
        w = np.roll(v, -1, axis=1)
        cross, dot = v[..., 0] * w[..., 1] - v[..., 1] * w[..., 0], (v * w).sum(axis=2)
        total += np.arctan2(cross, dot).sum(axis=1)
    return np.rint(total / (2 * np.pi)).astype(int)


# GEOS 3.13.1 took faces of these rings, which touch, for overlapping.
TOUCHING = [
    [(0.0, 3.0), (7.0, 0.0), (0.0, 1.0), (4.0, 1.0)],
    [(0.0, 0.0), (7.0, 4.0), (0.0, 2.0), (4.0, 1.0), (1.0, 3.0), (0.0, 0.0), (7.0, 4.0), (0.0, 1.0)],
]


@example(polygons=TOUCHING, rule="nonzero", seed=0)
@given(polygons=rings, rule=st.sampled_from(["nonzero", "evenodd"]), seed=st.integers(0, 99))
@examples(60)
def test_inside_is_what_the_winding_number_says(
    polygons: list[list[tuple[float, float]]], rule: str, seed: int
) -> None:
    d = "".join("M" + "L".join(f"{x} {y}" for x, y in ring) + "Z" for ring in polygons)
    frame = '<rect x="98" y="98" width="1" height="1"/>'
    solid = svg(f'<path fill-rule="{rule}" d="{d}"/>{frame}').area
    points = np.random.default_rng(seed).uniform(0, 97.9, (200, 2))
    w = winding(polygons, points)
    expected = (w != 0) if rule == "nonzero" else (w % 2 == 1)
    found = shapely.contains_xy(solid, points[:, 0], 100 - points[:, 1])
    for k in np.flatnonzero(found != expected):
        edges = [shapely.LinearRing(ring) for ring in polygons]
        assert shapely.distance(edges, shapely.Point(points[k])).min() < 1e-5


@given(
    a=st.floats(-2, 2), b=st.floats(-2, 2), c=st.floats(-2, 2), d=st.floats(-2, 2),
    dx=st.floats(-5, 5), dy=st.floats(-5, 5),
)  # fmt: skip
@examples(40)
def test_a_transform_scales_the_area_by_its_determinant(
    a: float, b: float, c: float, d: float, dx: float, dy: float
) -> None:
    det = abs(a * d - b * c)
    if det < 0.05:
        return
    shape = '<path d="M-6-6h12v12h-12z M-3-3v6h6v-6z"/>'
    moved = area(f'<g transform="translate(50 50) matrix({a} {b} {c} {d} {dx} {dy})">{shape}</g>')
    assert moved == pytest.approx(det * 108, rel=1e-6)


def test_transforms_compose_from_the_left_and_turn_clockwise_as_seen() -> None:
    at = transform("translate(10 20) rotate(90) scale(2,3)") @ [1, 1, 1]
    assert at[:2] == pytest.approx((10 - 3, 20 + 2))
    assert transform("rotate(90 5 5)") @ [5, 0, 1] == pytest.approx((10, 5, 1))
    assert transform("skewX(45)") @ [0, 1, 1] == pytest.approx((1, 1, 1))
    assert transform("matrix(1,2,3,4,5,6)") @ [1, 1, 1] == pytest.approx((9, 12, 1))
    assert transform("translate(1in) rotate(0.25turn)") @ [1, 0, 1] == pytest.approx((96, 1, 1))
    with pytest.raises(NotUnderstood):
        transform("rotate(1,2)")
    with pytest.raises(NotFinite):
        transform("scale(nan)")


@pytest.mark.parametrize(
    ("text", "millimetres"),
    [("1in", 25.4), ("2.54cm", 25.4), ("10mm", 10), ("40q", 10), ("72pt", 25.4), ("6pc", 25.4),
     ("96px", 25.4), ("96", 25.4), ("6em", 25.4), ("50%", 25.4), ("9.6e1", 25.4)],
)  # fmt: skip
def test_units(text: str, millimetres: float) -> None:
    assert length(text, percent_of=192, font_size=16) * 25.4 / 96 == pytest.approx(millimetres)


# Strokes


@pytest.mark.parametrize(
    ("cap", "expected"), [("butt", 320), ("square", 320 + 64), ("round", 320 + math.pi * 16)]
)
def test_caps(cap: str, expected: float) -> None:
    line = f'<path d="M20 30h40" stroke="black" stroke-width="8" stroke-linecap="{cap}"/>'
    assert area(line) == pytest.approx(expected, abs=spread(26))


@pytest.mark.parametrize(
    ("join", "corner"), [("miter", 4.0), ("bevel", 2.0), ("round", math.pi), ("miter-limited", 2.0)]
)
def test_joins_of_a_square(join: str, corner: float) -> None:
    """A square of side 40 stroked 4 wide: four edges, and at each corner its outer quarter."""
    limit = 'stroke-miterlimit="1.4"' if join == "miter-limited" else ""
    style = f'fill="none" stroke="black" stroke-width="4" stroke-linejoin="{join.split("-")[0]}" {limit}'
    edges = 44**2 - 36**2 - 4 * 4
    assert area(f'<rect x="20" y="20" width="40" height="40" {style}/>') == pytest.approx(
        edges + 4 * corner, abs=spread(20)
    )


def test_a_mitre_stands_up_to_its_limit_and_is_cut_to_a_bevel_above() -> None:
    tip = 'fill="none" stroke="black" stroke-width="2" d="M10 50L50 55L10 60"'
    half = math.atan(5 / 40)
    ratio = 1 / math.sin(half)
    sharp = svg(f'<path {tip} stroke-miterlimit="{ratio * 1.01}"/>').bounds[2]
    blunt = svg(f'<path {tip} stroke-miterlimit="{ratio * 0.99}"/>').bounds[2]
    assert sharp == pytest.approx(50 + 1 / math.sin(half), abs=1e-6)
    assert blunt == pytest.approx(50 + math.sin(half), abs=1e-6)


@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_a_stroked_circle_is_a_ring_within_the_tolerance(width: float) -> None:
    ring = svg(f'<circle cx="50" cy="50" r="30" fill="none" stroke="black" stroke-width="{width}"/>').area
    assert ring.area == pytest.approx(2 * math.pi * 30 * width, abs=spread(380))
    (polygon,) = ring.geoms
    for edge, radius in ((polygon.exterior, 30 + width / 2), (polygon.interiors[0], 30 - width / 2)):
        xy = np.asarray(edge.segmentize(0.05).coords)
        assert np.abs(np.hypot(*(xy - 50).T) - radius).max() <= TOLERANCE


def test_a_skewed_shape_has_a_skewed_pen() -> None:
    body = '<g transform="translate(10 10) scale(4 1)"><path d="M0 0h10" {0}/><path d="M20 0v10" {0}/></g>'
    assert area(body.format('stroke="black" stroke-width="1"')) == pytest.approx(40 + 40)
    fixed = 'stroke="black" stroke-width="1" vector-effect="non-scaling-stroke"'
    assert area(body.format(fixed)) == pytest.approx((40 + 10) * 25.4 / 96)


def test_a_stroke_crossing_itself_counts_once() -> None:
    cross = '<path d="M20 50H80M50 20V80" stroke="black" stroke-width="4"/>'
    assert area(cross) == pytest.approx(2 * 240 - 16)


@given(
    points=st.lists(st.tuples(*[st.integers(10, 90)] * 2), min_size=8, max_size=8, unique=True),
    join=st.sampled_from(["miter", "round", "bevel"]),
    cap=st.sampled_from(["butt", "round", "square"]),
    width=st.sampled_from([0.3, 2, 9]),
    angle=st.integers(0, 90),
)
@examples(60)
def test_a_stroke_is_one_piece_without_slits(
    points: list[tuple[int, int]], join: str, cap: str, width: float, angle: int
) -> None:
    """Closing gaps of 2 nm must not shorten the contour."""
    a, b, c, d, e, f, g, h = (f"{x} {y}" for x, y in points)
    style = (
        f'fill="none" stroke="black" stroke-width="{width}" stroke-linejoin="{join}" stroke-linecap="{cap}"'
    )
    path = f'<path d="M{a}C{b} {c} {d}L{e} {f}Q{g} {h}" {style}/>'
    solid = svg(
        f'<g transform="translate(50 50) rotate({angle}) scale(.4) translate(-50 -50)">{path}</g>'
    ).area
    closed = solid.buffer(1e-6, join_style="mitre").buffer(-1e-6, join_style="mitre")
    assert len(solid.geoms) == 1
    assert closed.length == pytest.approx(solid.length, rel=1e-4)


def test_a_cusp_gets_a_round_end() -> None:
    top = svg('<path d="M20 50C80 10 20 10 80 50" fill="none" stroke="black" stroke-width="14"/>')
    assert top.bounds[3] == pytest.approx(100 - 20 + 7, abs=2 * TOLERANCE)


def test_dots() -> None:
    dot = '<path d="M50 50h0" stroke="black" stroke-width="10" stroke-linecap="{}"/>'
    frame = '<rect width="1" height="1"/>'
    assert area(dot.format("round")) == pytest.approx(math.pi * 25, abs=spread(31))
    assert area(dot.format("square")) == pytest.approx(100)
    assert area(dot.format("butt") + frame) == pytest.approx(1)


@pytest.mark.parametrize(
    ("dashes", "length_on"),
    [
        ("5", 25),
        ("10 5", 10 + 10 + 10 + 5),
        ("5 3 1", 2 * (5 + 1 + 3) + 5 + 1),  # odd, so repeated: 5 on 3 off 1 on 5 off 3 on 1 off
        ("10%", 10 + 10 + 10),
        ("0", 50),
        ("none", 50),
    ],
)
def test_dashes(dashes: str, length_on: float) -> None:
    got = area(f'<path d="M10 50h50" stroke="black" stroke-width="2" stroke-dasharray="{dashes}"/>')
    assert got == pytest.approx(2 * length_on)


def test_dash_offset_and_path_length() -> None:
    line = '<path d="M10 50h50" stroke="black" stroke-width="2" stroke-dasharray="{}" {}/>'
    shifted = svg(line.format("10 40", 'stroke-dashoffset="-5"'))
    assert shifted.bounds == pytest.approx((15, 49, 25, 51))
    assert svg(line.format("10 40", 'stroke-dashoffset="45"')).bounds[0] == pytest.approx(15)
    scaled = svg(line.format("1 9", 'pathLength="10"'))
    assert scaled.bounds == pytest.approx((10, 49, 15, 51))


def test_a_dash_goes_round_a_corner_with_its_join() -> None:
    square = (
        '<rect x="20" y="20" width="20" height="20" fill="none" stroke="black" stroke-dasharray="30 50"/>'
    )
    assert area(square) == pytest.approx(30)
    assert area(square.replace("/>", ' stroke-linejoin="bevel"/>')) == pytest.approx(30 - 0.125)


def test_no_stroke_without_width_and_no_fill_without_area() -> None:
    assert area('<rect width="10" height="10" stroke="black" stroke-width="0"/>') == pytest.approx(100)
    assert area('<line x2="50" stroke="black" stroke-width="2" y1="10" y2="10"/>') == pytest.approx(100)


@pytest.mark.parametrize("cap", ["round", "square"])
def test_dashes_without_length_are_dots_from_the_start_on(cap: str) -> None:
    """Every 10 mm from 0 to below 75."""
    style = f'stroke="black" stroke-width="4" stroke-linecap="{cap}" stroke-dasharray="0 10"'
    dots = svg(f'<path d="M10 50h75" {style}/>').area
    assert len(dots.geoms) == 8
    assert dots.area == pytest.approx(8 * (4 * math.pi if cap == "round" else 16), rel=1e-3)
    assert dots.bounds[0] == pytest.approx(8, abs=TOLERANCE)


def test_dashes_end_across_the_line_wherever_a_vertex_is() -> None:
    """Eighths of a ring end at the ends of its curves, up to rounding."""
    ring = '<circle cx="50" cy="50" r="30" fill="none" stroke="black" stroke-width="10" {}/>'
    dashes = svg(ring.format('pathLength="8" stroke-dasharray="1"')).area
    assert dashes.area == pytest.approx(math.pi * 30 * 10, rel=1e-4)
    xy = shapely.get_coordinates(dashes) - 50
    radius, angle = np.hypot(*xy.T), np.degrees(np.arctan2(*xy.T[::-1])) % 45
    on_edge = (np.abs(radius - 25) < 2e-3) | (np.abs(radius - 35) < 2e-3)
    assert (on_edge | (np.minimum(angle, 45 - angle) < 0.01)).all()


def test_dashes_meet_around_the_start_of_a_closed_line() -> None:
    """Both dashes at the corner are on: it is joined like any other, as in all renderers."""
    square = '<rect x="20" y="20" width="40" height="40" fill="none" stroke="black" stroke-width="4" {}/>'
    dashed = svg(square.format('stroke-dasharray="20" stroke-dashoffset="10"')).area
    assert [corner.area for corner in dashed.geoms] == pytest.approx([20 * 4] * 4)
    assert svg(square.format('stroke-dasharray="500 9"')).area.equals(svg(square.format("")).area)


def test_a_line_that_doubles_back_has_a_round_end_where_joins_are_round() -> None:
    line = '<path d="M20 50H60H40" fill="none" stroke="black" stroke-width="8" stroke-linejoin="{}"/>'
    assert area(line.format("round")) == pytest.approx(320 + 8 * math.pi, abs=spread(20))
    assert area(line.format("miter")) == area(line.format("bevel")) == pytest.approx(320)


# Very many rings


@pytest.mark.slow
@given(seed=st.integers(0, 999), n=st.integers(20, 60), rule=st.sampled_from(["nonzero", "evenodd"]))
@examples(20)
def test_rings_that_lie_apart_do_not_change_each_other(seed: int, n: int, rule: str) -> None:
    """Many rings filled at once, in groups, against each group filled by itself."""
    rng = np.random.default_rng(seed)
    groups = [rng.uniform(0, 8, (rng.integers(1, 4), 4, 2)) + (12 * (k % 8), 12 * (k // 8)) for k in range(n)]
    alone = sum(fill(list(group), rule).area for group in groups)
    together = fill([ring for k in rng.permutation(n) for ring in groups[k]], rule)
    assert together.is_valid
    assert together.area == pytest.approx(alone, rel=1e-6)


@pytest.mark.slow
def test_holes_in_a_frame_of_thousands() -> None:
    corners = np.array([(0.0, 0.0), (1, 0), (1, 1), (0, 1)])
    holes = [0.5 * corners + (k % 60 + 1, k // 60 + 1) for k in range(3600)]
    assert fill([62 * corners, *holes], "evenodd").area == pytest.approx(62**2 - 900)
    assert fill([62 * corners, *holes], "nonzero").area == pytest.approx(62**2)


def test_parts_that_meet_are_tidied_together_and_others_alone() -> None:
    apart = [shapely.box(3 * k, 0, 3 * k + 1, 1) for k in range(50)]
    slit = [shapely.box(0, 5, 1, 6), shapely.box(1 + 1e-12, 5, 2, 6), shapely.box(2 + 1e-12, 5.5, 3, 7)]
    area = tidy(shapely.MultiPolygon(apart + slit))
    assert len(area.geoms) == 51
    assert area.length == pytest.approx(50 * 4 + 6 + 5 - 2 * 0.5)
    assert area.area == pytest.approx(50 + 2 + 1.5)
