"""Mirror, rotation, scale, size, negative and repeat: what each keeps, and their order."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st
from pace_of_machine import within
from sets import examples
from shapely import affinity
from shapes import NODING, differing_area, minus

from laserpath.base.errors import InputError
from laserpath.design import load
from laserpath.design.arrange import Arrangement, Repeat, arrange
from laserpath.design.reading import Reading
from laserpath.design.svg import read
from laserpath.types import Design

L = shapely.Polygon([(1, 2), (7, 2), (7, 4), (3, 4), (3, 9), (1, 9)])
RING = minus(shapely.box(9, 1, 12, 4), shapely.box(10, 2, 11, 3))
PAGE = (0.0, 0.0, 14.0, 10.0)
DESIGN = Design(shapely.MultiPolygon([L, RING]), "parts", PAGE)

angles = st.floats(-360, 360)
factors = st.floats(1e-3, 1e3)
mirrors = st.sampled_from(["", "x", "y", "xy"])
cells = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=20, unique=True)


def arranged(design: Design = DESIGN, **how: Any) -> Design:
    return arrange(design, Arrangement(**how))


def of_cells(where: list[tuple[int, int]]) -> Design:
    """Unit squares that share edges and corners; the page is 8 x 8 mm."""
    squares = [shapely.box(x, y, x + 1, y + 1) for x, y in where]
    whole = shapely.union_all(squares, grid_size=NODING)
    return Design(shapely.MultiPolygon(shapely.get_parts(whole).tolist()), "cells", (0.0, 0.0, 8.0, 8.0))


def same(a: shapely.Geometry, b: shapely.Geometry, within: float = 1e-6) -> bool:
    """Whether the areas agree within a relative error."""
    return differing_area(a, b) <= within * b.area


# What each keeps


@given(mirror=mirrors, rotate=angles, scale=factors)
def test_perimeter_and_area_go_with_the_scale_and_its_square(
    mirror: str, rotate: float, scale: float
) -> None:
    grown = arranged(mirror=mirror, rotate=rotate, scale=scale)
    assert grown.area.area == pytest.approx(DESIGN.area.area * scale**2)
    assert grown.area.length == pytest.approx(DESIGN.area.length * scale)


@given(where=cells, mirror=mirrors, rotate=angles, scale=factors)
@examples(60)
def test_what_touches_in_corners_stays_valid(
    where: list[tuple[int, int]], mirror: str, rotate: float, scale: float
) -> None:
    design = of_cells(where)
    turned = arranged(design, mirror=mirror, rotate=rotate, scale=scale)
    assert turned.area.is_valid
    assert turned.area.area == pytest.approx(len(where) * scale**2, rel=1e-5)


@pytest.mark.parametrize("quarter", [-4, -3, -2, -1, 1, 2, 3, 4])
def test_right_angles_are_exact(quarter: int) -> None:
    turned = shapely.get_coordinates(arranged(rotate=90 * quarter).area)
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[quarter % 4]
    x, y = shapely.get_coordinates(DESIGN.area).T
    np.testing.assert_array_equal(turned, np.stack([c * x - s * y, s * x + c * y], axis=1))


def test_rotation_is_anticlockwise_and_mirrors_are_what_they_say() -> None:
    flag = Design(shapely.MultiPolygon([shapely.box(2, 0, 3, 1)]))
    assert arranged(flag, rotate=90).bounds == (-1, 2, 0, 3)
    assert arranged(flag, mirror="x").bounds == (-3, 0, -2, 1)
    assert arranged(flag, mirror="y").bounds == (2, -1, 3, 0)
    assert same(arranged(mirror="xy").area, arranged(rotate=180).area)


@given(mirror=mirrors)
def test_mirroring_twice_is_nothing(mirror: str) -> None:
    assert arranged(arranged(mirror=mirror), mirror=mirror).area.equals_exact(DESIGN.area)


# Size


@given(rotate=angles, width=factors, height=factors)
def test_a_size_gives_that_size(rotate: float, width: float, height: float) -> None:
    assert arranged(rotate=rotate, size=(width, height)).size == pytest.approx((width, height))


@given(rotate=angles, length=factors, which=st.integers(0, 1))
def test_one_side_of_a_size_keeps_the_shape(rotate: float, length: float, which: int) -> None:
    before = arranged(rotate=rotate).size
    after = arranged(rotate=rotate, size=(length, None) if which == 0 else (None, length)).size
    assert after[which] == pytest.approx(length)
    assert after[0] / after[1] == pytest.approx(before[0] / before[1])


# The page


@given(rotate=angles, mirror=mirrors, scale=factors)
def test_the_page_goes_along_as_the_box_around_it(rotate: float, mirror: str, scale: float) -> None:
    page = arranged(rotate=rotate, mirror=mirror, scale=scale).page
    sheet = Design(shapely.MultiPolygon([shapely.box(*PAGE)]))
    assert page == pytest.approx(arranged(sheet, rotate=rotate, mirror=mirror, scale=scale).bounds)


def test_without_a_page_there_is_none() -> None:
    assert arranged(Design(DESIGN.area), rotate=30, scale=2).page is None


# Negative


@given(where=cells, rotate=angles, scale=st.floats(0.1, 10))
@examples(40)
def test_negative_and_area_are_the_page(where: list[tuple[int, int]], rotate: float, scale: float) -> None:
    design = of_cells(where)
    positive = arranged(design, rotate=rotate, scale=scale)
    negative = arranged(design, rotate=rotate, scale=scale, negative=True)
    assert positive.page is not None
    assert negative.page == positive.page
    sheet = shapely.box(*positive.page).area
    assert negative.area.area + positive.area.area == pytest.approx(sheet, rel=1e-6)
    assert shapely.intersection(negative.area, positive.area, grid_size=NODING).area < 1e-6 * sheet


def test_without_a_page_the_negative_is_of_the_box_around_it() -> None:
    negative = arranged(Design(DESIGN.area), negative=True)
    assert negative.page == DESIGN.bounds
    assert negative.area.area == pytest.approx(shapely.box(*DESIGN.bounds).area - DESIGN.area.area)


def test_a_full_page_has_no_negative() -> None:
    full = Design(shapely.MultiPolygon([shapely.box(*PAGE)]), "full", PAGE)
    with pytest.raises(InputError, match="'full' covers its whole page, so its negative is empty"):
        arranged(full, negative=True)


# Repeat


@given(columns=st.integers(1, 6), rows=st.integers(1, 6), gap=st.floats(0.01, 5))
def test_copies_that_do_not_touch_multiply_the_area(columns: int, rows: int, gap: float) -> None:
    pitch = (DESIGN.size[0] + gap, DESIGN.size[1] + gap)
    many = arranged(repeat=Repeat(columns, rows, pitch))
    assert many.area.area == pytest.approx(DESIGN.area.area * columns * rows)
    assert len(many.area.geoms) == len(DESIGN.area.geoms) * columns * rows
    assert many.page == pytest.approx((0, 0, 14 + (columns - 1) * pitch[0], 10 + (rows - 1) * pitch[1]))


@given(
    where=cells,
    columns=st.integers(1, 5),
    rows=st.integers(1, 5),
    pitch=st.tuples(st.floats(0.2, 9), st.floats(0.2, 9)),
)
@example(where=[(0, 0)], columns=5, rows=5, pitch=(1.0, 1.0))
@example(where=[(0, 0), (1, 1)], columns=3, rows=4, pitch=(1.0, 2.0))
@examples(60)
def test_copies_that_touch_are_their_union(
    where: list[tuple[int, int]], columns: int, rows: int, pitch: tuple[float, float]
) -> None:
    design = of_cells(where)
    copies = [
        affinity.translate(design.area, i * pitch[0], j * pitch[1])
        for i in range(columns)
        for j in range(rows)
    ]
    many = arranged(design, repeat=Repeat(columns, rows, pitch))
    assert same(many.area, shapely.union_all(copies, grid_size=1e-9))


@pytest.mark.parametrize("side", [1.0, 0.7, 1 / 3])
def test_tiles_side_by_side_are_one_area_without_a_slit(side: float) -> None:
    tile = Design(shapely.MultiPolygon([shapely.box(0, 0, side, side)]))
    wall = arranged(tile, repeat=Repeat(13, 7, (side, side))).area
    assert len(wall.geoms) == 1
    assert wall.length == pytest.approx(40 * side, rel=1e-5)
    assert wall.area == pytest.approx(91 * side**2, rel=1e-5)


def wheel(vertices: int, reach: float = 1.0) -> Design:
    """A wavy disc of about 2 mm."""
    t = np.linspace(0, 2 * np.pi, vertices, endpoint=False)
    r = reach * (1 + 0.1 * np.cos(9 * t)) / 1.1
    return Design(shapely.MultiPolygon([shapely.Polygon(np.stack([r * np.cos(t), r * np.sin(t)], axis=1))]))


@pytest.mark.parametrize(
    ("pitch", "side", "units"),
    [
        pytest.param(2.5, 100, 8, marks=pytest.mark.slow), (1.6, 15, 12),
        pytest.param(1.6, 30, 24, marks=pytest.mark.slow), pytest.param(0.7, 30, 10, marks=pytest.mark.slow),
        pytest.param(1.6, 100, 420, marks=pytest.mark.slow),
        pytest.param(0.7, 100, 100, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_ten_thousand_copies_take_seconds(pitch: float, side: int, units: float) -> None:
    """Measured 0.2 s apart, 4 s overlapping (only 900 copies); the bound catches what takes minutes."""
    many = within(units, lambda: arranged(wheel(40), repeat=Repeat(side, side, (pitch, pitch))))
    width, height = many.size
    assert width == pytest.approx((side - 1) * pitch + wheel(40).size[0])
    assert height == pytest.approx((side - 1) * pitch + wheel(40).size[1])


def test_too_many_vertices_are_refused_with_their_number() -> None:
    with pytest.raises(InputError, match=r"10000 copies of 1001 .*, 10 000 000 in all, .* below 5 000 000"):
        arranged(wheel(1000), repeat=Repeat(100, 100, (3, 3)))


# The order, and what `source` reports


def test_the_order_is_mirror_rotate_size_negative_repeat() -> None:
    steps: list[dict[str, Any]] = [
        {"mirror": "x"}, {"rotate": 30}, {"size": (5, None)}, {"negative": True},
        {"repeat": Repeat(2, 3, (9, 9))},
    ]  # fmt: skip
    at_once = arranged(**{name: value for step in steps for name, value in step.items()})
    one_by_one = DESIGN
    for step in steps:
        one_by_one = arranged(one_by_one, **step)
    assert same(at_once.area, one_by_one.area)
    assert at_once.page == pytest.approx(one_by_one.page)
    assert at_once.source == one_by_one.source
    assert at_once.recipe == one_by_one.recipe


def test_nothing_to_do_changes_nothing() -> None:
    assert arranged() == DESIGN
    assert arranged(repeat=Repeat(1, 1, (1, 1))).area.equals_exact(DESIGN.area)


def test_the_source_names_each_step() -> None:
    words = arranged(
        mirror="xy", rotate=-90, size=(None, 5), negative=True, repeat=Repeat(2, 1, (30, 40))
    ).source
    assert words == (
        "mirrored in x and y", "turned by -90 degrees", "sized to any x 5 mm", "negative",
        "repeated 2x1 every 30 x 40 mm",
    )  # fmt: skip


def test_a_design_that_grows_keeps_its_tolerance(tmp_path: Path) -> None:
    """The tolerance holds for the arranged design."""
    disc = '<circle cx="2" cy="2" r="1"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="4mm" viewBox="0 0 4 4">{disc}</svg>'
    path = tmp_path / "disc.svg"
    path.write_text(svg)
    grown = load(path, tolerance=0.01, arrangement=Arrangement(size=(200, None)))
    xy = shapely.get_coordinates(grown.area) - np.mean(np.reshape(grown.bounds, (2, 2)), axis=0)
    middle = (xy[:-1] + xy[1:]) / 2
    assert 100 - np.hypot(*middle.T).min() < 0.0101
    plain = arrange(read(svg, "disc", Reading(0.01)), Arrangement(size=(200, None)))
    assert len(xy) > 3 * shapely.get_num_coordinates(plain.area)


# Values out of range


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"mirror": "z"}, "mirror 'z' is unknown; known: x, y, xy"),
        ({"rotate": 361}, "rotate is 361, but must be between -360 and 360"),
        ({"rotate": math.nan}, "rotate is nan"),
        ({"scale": 0}, "scale is 0, but must be between 1e-06 and 1e+06"),
        ({"scale": -1}, "scale is -1"),
        ({"scale": math.inf}, "scale is inf"),
        ({"scale": 2, "size": (1, 1)}, "scale 2 and a size"),
        ({"size": (None, None)}, "size is"),
        ({"size": (0, None)}, "size is"),
        ({"size": (math.nan, 1)}, "size is"),
        ({"size": (1e300, None)}, "size is"),
        ({"size": (1e-300, None)}, "size is"),
    ],
)
def test_values_out_of_range_are_named(how: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as error:
        Arrangement(**how)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("columns", "rows", "pitch"),
    [(0, 1, (1, 1)), (101, 100, (1, 1)), (2, 2, (0, 1)), (2, 2, (1, math.nan)), (2, 2, (math.inf, 1)),
     (1.5, 2, (1, 1)), (2, 2, (1e300, 1))],
)  # fmt: skip
def test_repeats_out_of_range_are_named(columns: Any, rows: int, pitch: tuple[float, float]) -> None:
    with pytest.raises(InputError, match=r"repeat|columns"):
        Repeat(columns, rows, pitch)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_extremes_are_still_a_design(scale: float) -> None:
    tiny = arranged(scale=scale, rotate=33.3, mirror="x")
    assert tiny.area.area == pytest.approx(DESIGN.area.area * scale**2, rel=1e-6)
    assert tiny.area.is_valid
