"""GDSII and OASIS: cells in cells, arrays, paths, layers and units, against closed forms and gdstk's own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gdstk
import in_process
import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st
from pace_of_machine import within
from same_shape import AREA, shape
from same_shape_cad import as_gds, written
from sets import examples, one_fast
from shapes import NODING, differing_area, edges_apart

from laserpath.base.errors import InputError
from laserpath.design import load
from laserpath.design.gds import read
from laserpath.design.reading import Reading
from laserpath.types import Design

pytestmark = in_process.HERE

TOLERANCE = 1e-4
DRAWINGS = Path(__file__).parents[1] / "data" / "drawings"
BOTH = pytest.mark.parametrize("oasis", one_fast([False, True], False), ids=["GDSII", "OASIS"])


def library(unit: float = 1e-3, precision: float = 1e-9) -> tuple[Any, Any]:
    """An empty one whose unit is the mm, and its cell TOP."""
    made = gdstk.Library(unit=unit, precision=precision)
    return made, made.new_cell("TOP")


def drawn(made: Any, oasis: bool = False, **how: Any) -> Design:
    return read(written(made, oasis), "test", Reading(TOLERANCE, **how))


# The same shape as in every other format


@BOTH
@pytest.mark.parametrize("unit", [1e-6, 1e-9, 1e-3])
def test_the_shape_of_all_formats(oasis: bool, unit: float) -> None:
    design = read(as_gds(oasis, unit), "test", Reading(TOLERANCE))
    assert edges_apart(design.area, shape()) < 1.1e-4
    assert design.area.area == pytest.approx(AREA, abs=1e-3)
    assert design.warnings == ()
    assert design.source == ("layer 0/0 of cell 'TOP'",)


@pytest.mark.parametrize("name", one_fast(["klayout.gds", "klayout.oas"], "klayout.gds"))
def test_what_klayout_writes(name: str) -> None:
    """A polygon with a cut line, a rotated and mirrored array, a magnified path with round ends."""

    def layer(choice: str) -> Design:
        return load(DRAWINGS / name, tolerance=TOLERANCE, reading=Reading(1, layers=(choice,)))

    solid = layer("1/0").area
    assert edges_apart(solid, shape()) < 2e-3  # the database unit is 1 µm
    assert solid.length == pytest.approx(shape().length, rel=1e-3)  # nothing is left of the cut
    boxes = layer("2")
    assert len(boxes.area.geoms) == 35
    assert boxes.area.area == pytest.approx(35 * 0.1 * 0.2)
    assert boxes.bounds == pytest.approx((0, 10, 4 * 0.4 + 0.2 + 0.2, 10 + 6 * 0.3 - 0.1))
    path = layer("3/0")
    assert path.area.area == pytest.approx(4 * 0.8 + math.pi * 0.16, abs=3e-3)
    assert path.bounds == pytest.approx((-0.4, -3.4, 4.4, -2.6), abs=2e-3)


# What is drawn


@BOTH
def test_a_polygon_is_filled_even_where_it_winds_twice(oasis: bool) -> None:
    made, top = library()
    t = np.arange(5) * 4 * math.pi / 5
    star = np.stack([np.cos(t), np.sin(t)], axis=1)
    top.add(gdstk.Polygon(star))
    area = drawn(made, oasis).area
    assert shapely.contains_xy(area, 0, 0)
    ring = shapely.LinearRing(star)
    whole = shapely.union_all(shapely.get_parts(shapely.polygonize([shapely.node(ring)])), grid_size=NODING)
    assert area.area == pytest.approx(whole.area, abs=1e-5)


@BOTH
def test_overlapping_polygons_count_once_and_touching_ones_are_joined(oasis: bool) -> None:
    made, top = library()
    top.add(gdstk.rectangle((0, 0), (2, 2)), gdstk.rectangle((1, 1), (3, 3)), gdstk.rectangle((3, 1), (4, 3)))
    top.add(gdstk.rectangle((0.5, 0.5), (1, 1)), gdstk.rectangle((9, 9), (10, 10)))
    area = drawn(made, oasis).area
    assert area.area == pytest.approx(4 + 4 - 1 + 2 + 1)
    assert len(area.geoms) == 2


@pytest.mark.parametrize(
    ("ends", "extra"), [("flush", 0.0), ("extended", 0.5 * 1.0), ("round", math.pi * 0.25), ((0.2, 0.7), 0.9)]
)
def test_paths_have_their_width_and_their_ends(ends: Any, extra: float) -> None:
    made, top = library()
    top.add(gdstk.FlexPath([(0, 0), (5, 0), (5, 5)], 1, ends=ends, simple_path=True))
    if ends == "extended":
        extra = 2 * 0.5
    assert drawn(made).area.area == pytest.approx(10 + extra, abs=1e-3)


def test_a_path_without_width_gives_a_warning() -> None:
    made, top = library()
    top.add(gdstk.FlexPath([(0, 0), (5, 0)], 0, simple_path=True), gdstk.rectangle((0, 0), (1, 1)))
    design = drawn(made)
    assert design.area.area == pytest.approx(1)
    assert design.warnings == ("1 path without a width: a line needs one to have an area",)


@BOTH
def test_labels_give_a_warning(oasis: bool) -> None:
    made, top = library()
    top.add(gdstk.rectangle((0, 0), (1, 1)), gdstk.Label("a", (0, 0)), gdstk.Label("b", (0, 0), layer=9))
    assert drawn(made, oasis).warnings == ("2 labels: text is not exposed",)


@pytest.mark.parametrize("magnification", [1.0, 50.0])
def test_round_ends_keep_to_the_tolerance_though_magnified(magnification: float) -> None:
    made, top = library()
    cell = made.new_cell("A")
    radius = 10 / magnification
    cell.add(gdstk.FlexPath([(0, 0), (radius, 0)], 2 * radius, ends="round", simple_path=True))
    top.add(gdstk.Reference(cell, magnification=magnification))
    (disc,) = drawn(made).area.geoms
    xy = np.asarray(disc.exterior.segmentize(0.01).coords)
    left = xy[xy[:, 0] < -0.1]
    assert np.abs(np.hypot(*left.T) - 10).max() < 2 * TOLERANCE


@BOTH
def test_repeated_polygons_and_circles_of_oasis(oasis: bool) -> None:
    made, top = library()
    square = gdstk.rectangle((0, 0), (1, 1))
    square.repetition = gdstk.Repetition(columns=3, rows=4, spacing=(2, 3))
    circle = gdstk.ellipse((20, 20), 5, tolerance=TOLERANCE / 4)
    circle.repetition = gdstk.Repetition(x_offsets=[12, 30])
    top.add(square, circle)
    design = drawn(made, oasis)
    assert len(design.area.geoms) == 15
    assert design.area.area == pytest.approx(12 + 3 * math.pi * 25, abs=100 * TOLERANCE)


# Cells in cells


placements = st.tuples(
    st.integers(-20, 20), st.integers(-20, 20), st.sampled_from([0.0, 0.3, math.pi / 2, 3.0]),
    st.sampled_from([0.5, 1.0, 3.0]), st.booleans(), st.integers(1, 3), st.integers(1, 2),
)  # fmt: skip


@pytest.mark.slow
@given(outer=st.lists(placements, min_size=1, max_size=3), inner=st.lists(placements, min_size=1, max_size=2))
@example([(0, 0, 3.0, 3.0, False, 1, 2)], [(0, 0, 0.0, 3.0, False, 2, 1)])  # invalid in the last bit
@examples(12)
def test_any_hierarchy_is_what_gdstk_flattens_it_to(outer: list[Any], inner: list[Any]) -> None:
    made, top = library()
    low, middle = made.new_cell("LOW"), made.new_cell("MIDDLE")
    low.add(gdstk.Polygon([(0, 0), (3, 0), (0, 1)]))
    for host, guest, all_places in ((top, middle, outer), (middle, low, inner)):
        for x, y, turn, size, flip, columns, rows in all_places:
            host.add(gdstk.Reference(guest, (x, y), turn, size, flip, columns, rows, (7, 9)))
    area = drawn(made).area
    flat = [shapely.polygons(p.points) for p in top.get_polygons()]
    assert differing_area(area, shapely.union_all(flat, grid_size=NODING)) < 1e-3


def two_tops() -> Any:
    made, top = library()
    for name in ("FIRST", "SECOND"):
        cell = made.new_cell(name)
        cell.add(gdstk.rectangle((0, 0), (len(name), 1)))
    made.new_cell("$$$CONTEXT_INFO$$$")
    made.remove(top)
    return made


@BOTH
def test_of_several_cells_the_largest_is_read_and_all_are_listed(oasis: bool) -> None:
    made = two_tops()
    found = drawn(made, oasis)
    assert found.size == pytest.approx((6, 1))
    assert found.source == ("layer 0/0 of cell 'SECOND'",)
    assert found.warnings == (
        "no other cell places 'SECOND' (6 × 1 mm), 'FIRST' (5 × 1 mm): the largest is read; --cell NAME "
        "chooses another",
    )
    assert drawn(made, oasis, cell="FIRST").warnings == ()
    assert drawn(made, oasis, cell="SECOND").size == pytest.approx((6, 1))
    with pytest.raises(InputError, match=r"no cell 'SECND'; there are 'FIRST', .* did you mean 'SECOND'"):
        drawn(made, oasis, cell="SECND")


def test_a_cell_below_the_top_can_be_chosen() -> None:
    made, top = library()
    low = made.new_cell("LOW")
    low.add(gdstk.rectangle((0, 0), (1, 1)))
    top.add(gdstk.Reference(low, (5, 5), magnification=2), gdstk.rectangle((0, 0), (9, 1)))
    assert drawn(made).area.area == pytest.approx(9 + 4)
    assert drawn(made, cell="LOW").bounds == pytest.approx((0, 0, 1, 1))


# Layers


@BOTH
def test_of_several_layers_one_is_read_and_all_are_listed(oasis: bool) -> None:
    made, top = library()
    low = made.new_cell("LOW")
    low.add(gdstk.rectangle((0, 0), (1, 1), layer=1, datatype=5))
    top.add(gdstk.Reference(low, columns=3, rows=1, spacing=(2, 2), magnification=2))
    top.add(gdstk.rectangle((10, 0), (13, 1), layer=1), gdstk.rectangle((20, 0), (24, 1), layer=7))
    found = drawn(made, oasis)
    assert found.area.area == pytest.approx(12)
    (warning,) = found.warnings
    assert "3 layers" in warning
    assert ": 1/5 (12 mm²), 7/0 (4 mm²), 1/0 (3 mm²); 1/5 is read, and --layer 7/0 would" in warning
    for layers, area in ((("1/5",), 12), (("1",), 15), (("1/0", "7"), 7), ((" 7 / 0 ",), 4)):
        assert drawn(made, oasis, layers=layers).area.area == pytest.approx(area)
    assert drawn(made, oasis, layers=("1",)).source == ("layer 1/0, 1/5 of cell 'TOP'",)
    for wrong, words in (
        ("2", "no layer 2 in cell 'TOP'; there are 1/0, 1/5, 7/0"),
        ("metal", "'metal' is neither a number"),
    ):
        with pytest.raises(InputError, match=words):
            drawn(made, oasis, layers=(wrong,))


# How many


@pytest.mark.slow
@BOTH
def test_a_million_squares_take_seconds(oasis: bool) -> None:
    """Measured 7 s; the bound catches quadratic growth."""
    made, top = library()
    cell = made.new_cell("A")
    cell.add(gdstk.rectangle((0, 0), (0.01, 0.01)))
    top.add(gdstk.Reference(cell, columns=1000, rows=1000, spacing=(0.02, 0.02)))
    data = written(made, oasis)
    design = within(550, lambda: read(data, "array", Reading(TOLERANCE)))
    assert len(design.area.geoms) == 1_000_000
    assert design.area.area == pytest.approx(100, rel=1e-6)


@pytest.mark.parametrize("rows", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_fifty_thousand_squares_side_by_side_are_one(rows: int) -> None:
    made, top = library()
    cell = made.new_cell("A")
    cell.add(gdstk.rectangle((0, 0), (1, 1)))
    top.add(gdstk.Reference(cell, columns=250, rows=rows, spacing=(1, 1)))
    (one,) = drawn(made).area.geoms
    assert one.area == pytest.approx(250 * rows)
    assert len(one.interiors) == 0
