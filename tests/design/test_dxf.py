"""DXF: areas of entities against closed forms, blocks, hidden layers, units."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ezdxf
import numpy as np
import pytest
import shapely
from ezdxf.xclip import XClip
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within
from same_shape import AREA, shape
from same_shape_cad import Draw, as_dxf, dxf, text
from sets import examples
from shapes import differing_area, edges_apart

from laserpath.base.errors import InputError
from laserpath.design import load
from laserpath.design.dxf import read
from laserpath.design.enclosed import joined
from laserpath.design.reading import Reading
from laserpath.types import Design

TOLERANCE = 1e-3
DRAWINGS = Path(__file__).parents[1] / "data" / "drawings"
SQUARE = ((0, 0), (10, 0), (10, 10), (0, 10))


def drawn(draw: Draw, units: int = 4, **how: Any) -> Design:
    return read(dxf(draw, units), "test", Reading(TOLERANCE, **how))


def lines(model: Any, points: Any, **attributes: Any) -> None:
    """A closed outline of single lines."""
    for a, b in zip(points, [*points[1:], points[0]], strict=True):
        model.add_line(a, b, attributes)


# The same shape as in every other format


@pytest.mark.parametrize("how", [{}, {"binary": True}, {"version": "R2000"}, {"version": "R2018"}])
@pytest.mark.parametrize("tolerance", [0.02, 0.001])
def test_the_shape_of_all_formats(how: Any, tolerance: float) -> None:
    design = read(as_dxf(**how), "test", Reading(tolerance))
    assert edges_apart(design.area, shape()) <= tolerance * 1.001
    assert design.area.area == pytest.approx(AREA, abs=tolerance * 6)
    assert design.warnings == ()


@pytest.mark.parametrize(
    ("units", "mm"),
    [(1, 25.4), (2, 304.8), (4, 1), (5, 10), (6, 1000), (8, 25.4e-6), (9, 0.0254), (12, 1e-6), (13, 1e-3)],
)
def test_the_header_says_the_unit(units: int, mm: float) -> None:
    design = read(as_dxf(scale=1 / mm, units=units), "test", Reading(TOLERANCE))
    assert design.area.area == pytest.approx(AREA, abs=TOLERANCE * 6)
    assert "as its header says" in design.source[0]
    assert design.warnings == ()


@pytest.mark.parametrize("name", ["inkscape.dxf", "inkscape-polylines.dxf"])
def test_what_inkscape_exports(name: str) -> None:
    design = load(DRAWINGS / name, tolerance=TOLERANCE)
    assert edges_apart(design.area, shape()) < 3 * TOLERANCE  # its circle is four cubics
    assert design.source[0] == f"from {name}"


def test_without_a_unit_mm_are_taken_with_a_warning() -> None:
    for data in (
        dxf(lambda _, m: m.add_circle((0, 0), 1), units=0),
        text("0 CIRCLE; 8 0; 10 0; 20 0; 40 1", header=""),  # ezdxf's own header would say metres
    ):
        design = read(data, "test", Reading(TOLERANCE))
        assert design.size == pytest.approx((2, 2), abs=2 * TOLERANCE)
        assert "names no unit, so mm are assumed" in design.warnings[0]
        inches = read(data, "test", Reading(TOLERANCE, unit="in"))
        assert inches.size == pytest.approx((50.8, 50.8), abs=2 * TOLERANCE)
        assert inches.warnings == ()


def test_a_unit_that_contradicts_the_header_does_not_count() -> None:
    design = drawn(lambda _, m: m.add_circle((0, 0), 1), units=4, unit="in")
    assert design.size == pytest.approx((2, 2), abs=2 * TOLERANCE)
    assert "millimetres" in design.warnings[0]


@pytest.mark.parametrize(("units", "mm"), [(4, 1.0), (1, 25.4), (13, 1e-3)])
def test_curves_keep_to_the_tolerance_in_mm_and_no_closer_than_needed(units: int, mm: float) -> None:
    radius = 40 / mm
    ring = drawn(lambda _, m: m.add_circle((0, 0), radius), units=units).area.geoms[0].exterior
    xy = np.asarray(ring.coords)
    gap = 40 - np.hypot(*((xy[:-1] + xy[1:]) / 2).T)
    assert TOLERANCE / 8 < gap.max() <= TOLERANCE
    assert np.abs(np.hypot(*xy.T) - 40).max() < 1e-5


# Entities


def spline(model: Any, points: Any, weights: Any = None, degree: int = 3) -> None:
    one = model.add_spline()
    p = [(x, y, 0) for x, y in points]
    if weights:
        one.set_closed_rational(p, weights, degree)
    else:
        one.set_closed(p, degree)


def quarter_circles(model: Any) -> None:
    """A circle of radius 5 as a rational spline of degree 2, exactly."""
    w = math.sqrt(0.5)
    points = [(5, 0), (5, 5), (0, 5), (-5, 5), (-5, 0), (-5, -5), (0, -5), (5, -5), (5, 0)]
    model.add_rational_spline(
        [(x, y, 0) for x, y in points],
        weights=[1, w, 1, w, 1, w, 1, w, 1],
        degree=2,
        knots=[0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    )


@pytest.mark.parametrize(
    ("draw", "expected", "perimeter"),
    [
        (lambda m: m.add_circle((5, 5), 3), math.pi * 9, 19),
        (lambda m: m.add_ellipse((5, 5), (0, 4), 0.25), math.pi * 4, 18),
        (lambda m: m.add_lwpolyline(SQUARE, close=True), 100, 0),
        (lambda m: m.add_lwpolyline([*SQUARE, SQUARE[0]]), 100, 0),
        (lambda m: m.add_lwpolyline([(0, 0, 1), (2, 0, 1)], format="xyb", close=True), math.pi, 7),
        (lambda m: m.add_lwpolyline([(0, 0, 0), (4, 0, -1), (4, 4, 0), (0, 4, 0)], format="xyb", close=True),
         16 - 2 * math.pi, 20),
        (lambda m: m.add_polyline2d([(0, 0, 1), (2, 0, 1)], format="xyb", close=True), math.pi, 7),
        (lambda m: m.add_polyline3d([(x, y, 7) for x, y in SQUARE], close=True), 100, 0),
        (lambda m: m.add_solid([(0, 0), (4, 0), (0, 3), (4, 3)]), 12, 0),
        (lambda m: m.add_solid([(0, 0), (4, 0), (0, 3)]), 6, 0),
        (lambda m: m.add_trace([(0, 0), (4, 0), (0, 3), (4, 3)]), 12, 0),
        (quarter_circles, math.pi * 25, 32),
        (lambda m: lines(m, SQUARE), 100, 0),
        (lambda m: [m.add_line((0, y), (10, y)) for y in (-1, 1)]
         + [m.add_arc((0, 0), 1, 90, 270), m.add_arc((10, 0), 1, -90, 90)], 20 + math.pi, 7),
        (lambda m: [m.add_ellipse((0, 0), (4, 0), 0.5, 0, math.pi), m.add_line((4, 0), (-4, 0))],
         math.pi * 4, 18),
    ],
)  # fmt: skip
def test_areas_are_the_closed_forms(draw: Any, expected: float, perimeter: float) -> None:
    design = drawn(lambda _, model: draw(model))
    assert design.area.area == pytest.approx(expected, abs=perimeter * TOLERANCE + 1e-9)
    assert design.warnings == ()


def test_a_spline_of_any_degree_is_within_the_tolerance_of_its_points() -> None:
    control = [(0, 0), (9, 1), (8, 8), (3, 5), (-2, 9)]
    for degree, weights in ((2, None), (3, None), (4, None), (3, [1, 5, 0.2, 3, 1])):
        design = drawn(lambda _, m, w=weights, d=degree: spline(m, control, w, d))
        document = ezdxf.new()
        spline(document.modelspace(), control, weights, degree)
        curve = document.modelspace()[0].construction_tool()
        t = np.linspace(curve.knots()[degree], curve.knots()[-degree - 1], 5001)
        points = shapely.points([(p.x, p.y) for p in curve.points(t)])
        assert shapely.distance(points, shapely.boundary(design.area)).max() <= TOLERANCE


def test_a_spline_through_points_goes_through_them() -> None:
    through = [(0, 0), (5, 4), (10, 0), (5, -4), (0, 0)]
    design = drawn(lambda _, m: m.add_spline(through))
    gaps = shapely.distance(shapely.points(through), shapely.boundary(design.area))
    assert gaps.max() <= TOLERANCE


def test_what_is_drawn_from_below_is_mirrored() -> None:
    mirrored = {"extrusion": (0, 0, -1)}
    design = drawn(
        lambda _, m: [
            m.add_arc((5, 2), 3, 0, 90, dxfattribs=mirrored),
            m.add_lwpolyline([(5, 5), (5, 2), (8, 2)], dxfattribs=mirrored),
        ]
    )
    assert design.bounds == pytest.approx((-8, 2, -5, 5), abs=TOLERANCE)


# Widths


def test_a_polyline_with_a_width_is_its_stroke() -> None:
    design = drawn(lambda _, m: m.add_lwpolyline([(0, 0), (10, 0), (10, 10)], dxfattribs={"const_width": 2}))
    assert design.area.area == pytest.approx(2 * 20)  # the corner is mitred
    assert design.bounds == pytest.approx((0, -1, 11, 10))


def test_a_closed_polyline_with_a_width_is_a_ring() -> None:
    old = drawn(
        lambda _, m: m.add_polyline2d(
            SQUARE, close=True, dxfattribs={"default_start_width": 1, "default_end_width": 1}
        )
    )
    new = drawn(lambda _, m: m.add_lwpolyline(SQUARE, close=True, dxfattribs={"const_width": 1}))
    assert old.area.area == new.area.area == pytest.approx(40)
    assert len(new.area.geoms[0].interiors) == 1


@pytest.mark.parametrize("width", [0.01, 1.0, 3.9])
def test_a_donut_is_within_the_tolerance(width: float) -> None:
    (ring,) = drawn(
        lambda _, m: m.add_lwpolyline([(0, 0, width, width, 1), (4, 0, width, width, 1)], close=True)
    ).area.geoms
    for edge, radius in ((ring.exterior, 2 + width / 2), (ring.interiors[0], 2 - width / 2)):
        xy = np.asarray(edge.segmentize(0.05).coords)
        assert np.abs(np.hypot(*(xy - [2, 0]).T) - radius).max() <= TOLERANCE


def test_a_width_that_changes_is_a_trapezium() -> None:
    assert drawn(
        lambda _, m: m.add_lwpolyline([(0, 0, 3, 1, 0), (10, 0, 1, 1, 0)])
    ).area.area == pytest.approx(20)


# What is inside: the even-odd rule


def test_outlines_nest_by_turns_over_all_layers() -> None:
    def draw(_: Any, model: Any) -> None:
        for k, radius in enumerate((10, 8, 5, 1)):
            model.add_circle((0, 0), radius, {"layer": f"L{k}"})

    assert drawn(draw).area.area == pytest.approx(math.pi * (100 - 64 + 25 - 1), abs=0.2)
    only = drawn(draw, layers=("l0", "L2")).area.area
    assert only == pytest.approx(math.pi * (100 - 25), abs=0.2)


def test_an_outline_that_is_drawn_twice_counts_once() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_lwpolyline(SQUARE, close=True)
        model.add_lwpolyline(SQUARE[2:] + SQUARE[:2], close=True)
        model.add_lwpolyline(SQUARE[::-1], close=True)
        lines(model, [(20, 0), (24, 0), (24, 3)])
        model.add_line((24, 0), (20, 0))

    design = drawn(draw)
    assert design.area.area == pytest.approx(106)
    assert design.warnings == ("3 outlines drawn more than once: counted once",)


def test_what_is_filled_stays_filled_under_outlines() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_hatch().paths.add_polyline_path(SQUARE)
        model.add_lwpolyline(SQUARE, close=True)
        model.add_circle((5, 5), 1)

    assert drawn(draw).area.area == pytest.approx(100)


def test_outlines_that_cancel_each_other_name_the_option() -> None:
    """The result of a set operation beside its operands, each on a layer."""

    def draw(_: Any, model: Any) -> None:
        model.add_lwpolyline([(0, 0), (4, 0), (4, 4), (0, 4)], close=True)
        model.add_lwpolyline([(4, 0), (8, 0), (8, 4), (4, 4)], close=True, dxfattribs={"layer": "B"})
        model.add_lwpolyline([(0, 0), (8, 0), (8, 4), (0, 4)], close=True, dxfattribs={"layer": "C"})

    with pytest.raises(InputError, match="cancel each other by the even-odd rule: choose a layer by --layer"):
        drawn(draw)


def test_lines_that_branch_enclose_what_is_between_them() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_lwpolyline([(0, 0), (10, 0), (10, 10)])
        model.add_lwpolyline([(10, 10), (0, 10), (0, 0)])
        model.add_line((0, 0), (10, 10), {"layer": "Cut"})
        model.add_circle((5, 2), 1)
        lines(model, [(20, 0), (24, 0), (24, 3)])

    design = drawn(draw)
    assert design.area.area == pytest.approx(106 - np.pi, abs=0.05)
    (warning,) = design.warnings
    assert "the 2 cells between them are filled, as one area: --line-width" in warning


@given(
    corners=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=12, unique=True),
    seed=st.integers(0, 10**6),
)
@examples(60)
def test_any_closed_walk_in_pieces_is_found_again(corners: list[tuple[int, int]], seed: int) -> None:
    """Shuffled and reversed segments join to loops that use each of them once."""
    rng = np.random.default_rng(seed)
    p = np.array(corners, dtype=float)
    ends = np.stack([p, np.roll(p, -1, axis=0)], axis=1)
    ends = ends[rng.permutation(len(ends))]
    turned = rng.random(len(ends)) < 0.5
    ends[turned] = ends[turned][:, ::-1]
    found = joined(ends, 1e-9)
    assert not found.open.any() and not found.branching.any()
    assert sorted(k for loop in found.loops for k, _ in loop) == list(range(len(ends)))
    for loop in found.loops:
        way = [ends[k][::-1] if back else ends[k] for k, back in loop]
        for one, following in zip(way, way[1:] + way[:1], strict=True):
            assert (one[1] == following[0]).all()


# Hatches


def hatched(style: int, flags: tuple[int, int, int]) -> float:
    def draw(_: Any, model: Any) -> None:
        hatch = model.add_hatch(dxfattribs={"hatch_style": style})
        for size, flag in zip((5, 3, 1), flags, strict=True):
            hatch.paths.add_polyline_path(
                [(-size, -size), (size, -size), (size, size), (-size, size)], flags=flag
            )

    return drawn(draw).area.area


def test_islands_are_those_of_the_style_and_the_flags() -> None:
    external, outermost, default = 1, 16, 0
    flags = (external, outermost, default)
    assert hatched(0, flags) == pytest.approx(100 - 36 + 4)
    assert hatched(1, flags) == pytest.approx(100 - 36)
    assert hatched(2, flags) == pytest.approx(100)
    assert hatched(0, (1, 1, 1)) == pytest.approx(100 - 36 + 4)
    assert hatched(2, (0, 0, 0)) == pytest.approx(100 - 36 + 4)  # nothing is flagged: by turns


def test_a_hatch_of_edges() -> None:
    """A slot of lines and arcs, one of them clockwise; in it an ellipse, and a spline."""

    def draw(_: Any, model: Any) -> None:
        hatch = model.add_hatch()
        slot = hatch.paths.add_edge_path(flags=1)
        slot.add_line((0, -5), (20, -5))
        slot.add_arc((20, 0), 5, -90, 90, ccw=True)
        slot.add_line((20, 5), (0, 5))
        slot.add_arc((0, 0), 5, 90, 270, ccw=False)  # bulges to the left all the same
        hole = hatch.paths.add_edge_path(flags=16)
        hole.add_ellipse((10, 0), (2, 0), 0.5, 0, 360)
        bow = hatch.paths.add_edge_path(flags=16)
        bow.add_spline(control_points=[(0, 0), (1, 2), (2, 0)], degree=2, knot_values=[0, 0, 0, 1, 1, 1])
        bow.add_line((2, 0), (0, 0))

    expected = 200 + math.pi * 25 - math.pi * 2 - 2 / 3 * 2 * 1
    assert drawn(draw).area.area == pytest.approx(expected, abs=60 * TOLERANCE)


def test_a_pattern_is_filled_as_a_whole_with_a_warning() -> None:
    def draw(_: Any, model: Any) -> None:
        hatch = model.add_hatch()
        hatch.set_pattern_fill("ANSI31")
        hatch.paths.add_polyline_path(SQUARE)

    design = drawn(draw)
    assert design.area.area == pytest.approx(100)
    assert "pattern 'ANSI31': filled as a whole" in design.warnings[0]


# Blocks


def test_blocks_in_blocks_are_turned_scaled_and_mirrored() -> None:
    def draw(document: Any, model: Any) -> None:
        inner = document.blocks.new("INNER", base_point=(1, 0))
        inner.add_lwpolyline([(1, 0), (3, 0), (1, 1)], close=True)
        outer = document.blocks.new("OUTER")
        outer.add_blockref("INNER", (0, 0), {"xscale": 2, "yscale": 3})
        model.add_blockref("outer", (10, 20), {"rotation": 90, "xscale": -1})

    # Triangle (0,0) (2,0) (0,1) → (0,0) (4,0) (0,3) → x mirrored → a quarter turn → moved.
    expected = shapely.Polygon([(10, 20), (10, 16), (7, 20)])
    assert differing_area(drawn(draw).area, expected) < 1e-9


def test_flat_blocks_are_read() -> None:
    """Some programs write a z scale of 0 into every INSERT, by which ezdxf divides to draw it. The outline is
    a box with an arc of three quarters at a corner, in blocks at half and at twice its size."""

    def draw(document: Any, model: Any) -> None:
        inner = document.blocks.new("INNER")
        for ends in (((20, 90), (90, 90)), ((90, 90), (90, 60)), ((90, 60), (30, 60)), ((30, 60), (30, 80))):
            inner.add_line(*ends)
        inner.add_arc((20, 80), 10, 90, 0)
        document.blocks.new("OUTER").add_blockref("INNER", (0, 0), {"xscale": 2, "yscale": 2, "zscale": 0})
        model.add_blockref("OUTER", (5, 7), {"xscale": 0.5, "yscale": 0.5, "zscale": 0})

    # Left of x = 30 three quarters of the disc and the square in the fourth one; right of it the box.
    assert drawn(draw).area.area == pytest.approx(0.75 * math.pi * 100 + 100 + 60 * 30, rel=1e-4)


def test_arrays_are_turned_but_their_pitch_is_not_scaled() -> None:
    array = {
        "column_count": 4,
        "row_count": 3,
        "column_spacing": 5,
        "row_spacing": 7,
        "rotation": 30,
        "xscale": 2,
    }

    def draw(document: Any, model: Any) -> None:
        document.blocks.new("B").add_circle((0, 0), 1)
        model.add_blockref("B", (1, 1), array)

    design = drawn(draw)
    turn = np.array(
        [[math.cos(math.pi / 6), math.sin(math.pi / 6)], [-math.sin(math.pi / 6), math.cos(math.pi / 6)]]
    )
    expected = np.array([(i * 5, j * 7) for i in range(4) for j in range(3)]) @ turn + 1
    found = shapely.get_coordinates(shapely.centroid(shapely.get_parts(design.area)))
    assert len(found) == 12
    assert np.abs(np.sort(found, axis=0) - np.sort(expected, axis=0)).max() < 1e-6
    assert design.area.area == pytest.approx(12 * math.pi * 2, rel=1e-3)


def test_the_tolerance_holds_after_a_block_is_enlarged() -> None:
    def draw(document: Any, model: Any) -> None:
        block = document.blocks.new("B")
        block.add_lwpolyline([(0, 0, 0.01, 0.01, 1), (0.04, 0, 0.01, 0.01, 1)], close=True)
        model.add_blockref("B", (0, 0), {"xscale": 1000, "yscale": 1000})

    (ring,) = drawn(draw).area.geoms
    xy = np.asarray(ring.exterior.segmentize(0.05).coords)
    assert np.abs(np.hypot(*(xy - [20, 0]).T) - 25).max() <= TOLERANCE


def test_a_clipped_block_counts_as_a_whole_with_a_warning() -> None:
    def draw(document: Any, model: Any) -> None:
        document.blocks.new("B").add_circle((0, 0), 2)
        XClip(model.add_blockref("B", (0, 0))).set_block_clipping_path([(0, 0), (9, 9)])

    design = drawn(draw)
    assert design.area.area == pytest.approx(4 * math.pi, abs=0.02)
    assert design.warnings == ("block 'B' on layer '0' is clipped: it counts as a whole",)


def test_lines_of_different_blocks_join() -> None:
    def draw(document: Any, model: Any) -> None:
        document.blocks.new("HALF").add_lwpolyline([(0, 0), (5, 0), (5, 5), (0, 5)])
        model.add_blockref("HALF", (0, 0))
        model.add_blockref("HALF", (0, 0), {"xscale": -1})

    assert drawn(draw).area.area == pytest.approx(50)


# Layers


def test_layer_0_of_a_block_is_the_layer_of_its_insert() -> None:
    def draw(document: Any, model: Any) -> None:
        block = document.blocks.new("B")
        block.add_circle((0, 0), 1)
        block.add_circle((5, 0), 2, {"layer": "Fixed"})
        model.add_blockref("B", (0, 0), {"layer": "Cut"})

    assert drawn(draw, layers=("CUT",)).area.area == pytest.approx(math.pi, abs=0.01)
    assert drawn(draw, layers=("fixed",)).area.area == pytest.approx(4 * math.pi, abs=0.02)
    with pytest.raises(InputError, match=r"no layer 'fixd'; there are .*'Fixed'.* did you mean 'Fixed'"):
        drawn(draw, layers=("fixd",))


@pytest.mark.parametrize("how", ["off", "freeze", "plot"])
def test_layers_that_do_not_show_do_not_count_unless_they_are_named(how: str) -> None:
    def draw(document: Any, model: Any) -> None:
        layer = document.layers.add("Hidden")
        if how == "plot":
            layer.dxf.plot = 0
        else:
            getattr(layer, how)()
        model.add_circle((0, 0), 2, {"layer": "hidden"})
        model.add_text("note", dxfattribs={"layer": "Hidden"})
        model.add_circle((9, 0), 1)
        model.add_circle((20, 0), 1, {"invisible": 1})

    design = drawn(draw)
    assert design.area.area == pytest.approx(math.pi, abs=0.01)
    assert "1 curve left out, because layer 'Hidden' is" in design.warnings[0]
    assert not any("TEXT" in warning for warning in design.warnings)
    named = drawn(draw, layers=("HIDDEN",))
    assert named.area.area == pytest.approx(4 * math.pi, abs=0.05)
    assert "1 TEXT is left out" in named.warnings[0]


def test_a_frozen_layer_hides_the_blocks_on_it_and_one_that_is_off_only_its_own() -> None:
    def draw(document: Any, model: Any) -> None:
        document.layers.add("Frozen").freeze()
        document.layers.add("Off").off()
        block = document.blocks.new("B")
        block.add_circle((0, 0), 1, {"layer": "Shown"})
        block.add_circle((0, 5), 1)
        model.add_blockref("B", (0, 0), {"layer": "Frozen"})
        model.add_blockref("B", (10, 0), {"layer": "Off"})

    assert drawn(draw).bounds == pytest.approx((9, -1, 11, 1), abs=TOLERANCE)


def test_paper_space_is_not_read() -> None:
    def draw(document: Any, model: Any) -> None:
        model.add_circle((0, 0), 1)
        document.layout("Layout1").add_circle((100, 0), 50)

    design = drawn(draw)
    assert design.size == pytest.approx((2, 2), abs=2 * TOLERANCE)
    assert any("paper space" in warning for warning in design.warnings)


@pytest.mark.parametrize(("rows", "units"), [(20, 15), pytest.param(250, 180, marks=pytest.mark.slow)])
def test_a_hundred_thousand_squares_in_an_array_take_seconds_at_most(rows: int, units: float) -> None:
    """Measured 3 s; the bound catches quadratic growth, first with a twelfth of the entities."""

    def draw(document: Any, model: Any) -> None:
        document.blocks.new("B").add_lwpolyline([(0, 0), (1, 0), (1, 1), (0, 1)], close=True)
        array = {"column_count": 400, "row_count": rows, "column_spacing": 2, "row_spacing": 2}
        model.add_blockref("B", (0, 0), array)

    data = dxf(draw)
    design = within(units, lambda: read(data, "test", Reading(TOLERANCE)))
    assert len(design.area.geoms) == 400 * rows
    assert design.area.area == pytest.approx(400 * rows)
