"""Lines of a DXF that enclose nothing: left out, of a given width, or as wide as the spot."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from same_shape_cad import Draw, dxf
from sets import examples

from laserpath.base.errors import InputError
from laserpath.design import load
from laserpath.design.dxf import read
from laserpath.design.reading import FLATTEN_FWHM, Reading
from laserpath.types import Design

Line = tuple[tuple[float, float], tuple[float, float]]

SPOT = 0.1
TOLERANCE = FLATTEN_FWHM * SPOT
SQUARE = [(0, 0), (10, 0), (10, 10), (0, 10)]


def drawn(draw: Draw, **how: Any) -> Design:
    return read(dxf(draw), "test", Reading(TOLERANCE, **how))


def lines(model: Any, points: list[tuple[float, float]], **attributes: Any) -> None:
    for a, b in pairwise(points):
        model.add_line(a, b, attributes)


def square_and_axes(_: Any, model: Any) -> None:
    lines(model, [*SQUARE, SQUARE[0]])
    model.add_line((20, 0), (30, 0), {"layer": "Axis"})
    model.add_lwpolyline([(0, 20), (5, 25)], dxfattribs={"layer": "Axis"})


def stadium(length: float, width: float) -> float:
    return length * width + math.pi * width**2 / 4


def test_beside_outlines_open_lines_are_left_out_and_the_option_is_named() -> None:
    design = drawn(square_and_axes)
    assert design.area.area == pytest.approx(100)
    (warning,) = design.warnings
    assert "2 lines on layer 'Axis' are left out, because what is not closed has no area" in warning
    assert "the nearest loose ends are" in warning
    assert "--line-width 0.2mm" in warning


@pytest.mark.parametrize("width", [0.05, 0.2, 3.0])
def test_with_a_width_they_are_drawn_and_outlines_stay_areas(width: float) -> None:
    design = drawn(square_and_axes, line_width=width)
    length = math.hypot(5, 5)
    expected = 100 + stadium(10, width) + stadium(length, width)
    assert design.area.area == pytest.approx(expected, abs=6 * TOLERANCE * width + 1e-6)
    assert design.warnings == ()


def test_only_open_lines_are_as_wide_as_the_spot_with_a_warning() -> None:
    design = drawn(square_and_axes, layers=("axis",))
    assert design.area.area == pytest.approx(stadium(10, SPOT) + stadium(math.hypot(5, 5), SPOT), rel=0.01)
    (warning,) = design.warnings
    assert "the 2 lines have no width, and are drawn 0.1 mm wide, as the spot is: --line-width" in warning


def polyline(*points: tuple[float, float]) -> list[Line]:
    return list(pairwise(points))


SQUARE_OF_5 = polyline((0, 0), (5, 0), (5, 5), (0, 5), (0, 0))


@pytest.mark.parametrize(
    ("pieces", "area", "said"),
    [
        (SQUARE_OF_5 + polyline((5, 0), (9, 0), (9, 5), (5, 5)), 45, "the 2 cells between them are filled"),
        (SQUARE_OF_5 + polyline((5, 1), (9, 1), (9, 4), (5, 4)), 37, "the cell between them is filled"),
        (SQUARE_OF_5 + polyline((5.04, 1), (9, 1), (9, 4), (5.04, 4)), 37, "2 gaps between lines are taken"),
        (SQUARE_OF_5 + polyline((1, 1), (4, 1), (4, 4), (1, 4), (1, 1)) + polyline((1, 2), (4, 2)), 16, None),
        (
            polyline((-0.2, 0), (9.2, 0))
            + polyline((9, -0.2), (9, 5.2))
            + polyline((9.2, 5), (-0.2, 5))
            + polyline((0, 5.2), (0, -0.2)),
            45,
            "the cell between them is filled",
        ),
        (
            polyline((-0.1, -0.1), (4.1, 4.1))
            + polyline((-0.1, 4.1), (4.1, -0.1))
            + polyline((0, -0.1), (0, 4.1))
            + polyline((4, -0.1), (4, 4.1)),
            8,
            "the 2 cells between them are filled",
        ),
    ],
    ids=["common edge", "against an edge", "short of it", "across a hole", "beyond corners", "by a corner"],
)
def test_cells_between_lines_are_filled(pieces: list[Line], area: float, said: str | None) -> None:
    """The first is of https://github.com/LaserWeb/LaserWeb4/issues/442's kind."""
    design = drawn(lambda _, m: [m.add_line(a, b) for a, b in pieces])
    assert design.area.area == pytest.approx(area, rel=1e-6)
    assert said is None or any(said in warning for warning in design.warnings)


@pytest.mark.parametrize(
    "pieces",
    [
        polyline((0, 0), (2, 5), (4, 0)) + polyline((0.8, 2), (3.2, 2)),
        [((0, y), (10, y)) for y in (0, 0.05)],
        [((0, 0), (0.04, 0)), ((5, 5), (5.03, 5.02))],
    ],
    ids=["a letter A", "two lines side by side", "lines shorter than the spot"],
)
def test_strokes_that_are_no_outlines_stay_strokes(pieces: list[Line]) -> None:
    design = drawn(lambda _, m: [m.add_line(a, b) for a, b in pieces])
    assert "no width, and are drawn 0.1 mm wide" in design.warnings[-1]
    assert not any("closed" in warning for warning in design.warnings)


def test_with_a_width_branching_lines_are_drawn() -> None:
    pieces = SQUARE_OF_5 + polyline((5, 0), (9, 0), (9, 5), (5, 5))
    design = drawn(lambda _, m: [m.add_line(a, b) for a, b in pieces], line_width=0.1)
    assert design.area.area == pytest.approx(3.29, abs=0.01)
    assert design.warnings == ()


def test_curves_are_drawn_as_wide_within_the_tolerance() -> None:
    arc = drawn(lambda _, m: m.add_arc((0, 0), 5, 0, 90), line_width=1.0)
    assert arc.area.area == pytest.approx(stadium(5 * math.pi / 2, 1.0), abs=10 * TOLERANCE)
    spline = drawn(lambda _, m: m.add_spline([(0, 0), (5, 3), (9, -2)]), line_width=0.3)
    bezier = drawn(lambda _, m: m.add_ellipse((0, 0), (4, 0), 0.5, 0, 2), line_width=0.3)
    assert spline.area.area > 0.3 * 9 and bezier.area.area > 0.3 * 4


def test_a_line_of_two_points_in_a_block_is_as_wide_however_it_is_placed() -> None:
    def draw(document: Any, model: Any) -> None:
        document.blocks.new("B").add_lwpolyline([(0, 0), (1, 0)])
        model.add_blockref("B", (0, 0), {"xscale": 10, "yscale": -3, "rotation": 30})

    assert drawn(draw, line_width=0.2).area.area == pytest.approx(stadium(10, 0.2), rel=1e-3)


def test_a_polyline_with_a_width_of_its_own_keeps_it() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_lwpolyline([(0, 0), (10, 0)], dxfattribs={"const_width": 2})

    assert drawn(draw, line_width=0.2).area.area == pytest.approx(20)


def test_the_width_is_in_mm_whatever_the_unit() -> None:
    data = dxf(lambda _, m: m.add_line((0, 0), (1, 0)), units=1)
    design = read(data, "test", Reading(TOLERANCE, line_width=0.2))
    assert design.area.area == pytest.approx(stadium(25.4, 0.2), rel=1e-3)


@pytest.mark.parametrize("gap", [0.0, 0.5, 0.99])
def test_ends_that_nearly_meet_are_closed(gap: float) -> None:
    """Without a warning up to the tolerance of 2 µm, and with one up to the spot's width."""

    def draw(scale: float, by: float) -> Draw:
        corners = [(x * scale, y * scale) for x, y in SQUARE]
        return lambda _, m: [
            m.add_lwpolyline(corners[:3]),
            m.add_lwpolyline([(corners[2][0], corners[2][1] + by), corners[3], (corners[0][0] - by, 0)]),
        ]

    small = drawn(draw(1, gap * TOLERANCE))
    assert small.area.area == pytest.approx(100, abs=0.1)
    assert small.warnings == ()
    wide = drawn(draw(1, gap * SPOT))
    assert wide.area.area == pytest.approx(100, abs=2 * SPOT * 10)
    assert ("2 gaps between lines are taken as closed" in str(wide.warnings)) is (gap > 0)
    assert (f"of {gap * SPOT:.3g} mm at (" in str(wide.warnings)) is (gap > 0)


def test_the_place_of_a_gap_is_said() -> None:
    """https://github.com/KLayout/klayout/issues/243's kind: a rectangle of lines, open by half a spot."""
    sides = [((0, 0), (10, 0)), ((10, 0), (10, 6)), ((10, 6), (0, 6)), ((0, 6), (0, 0.05))]
    design = drawn(lambda _, m: [m.add_line(a, b) for a, b in sides])
    assert design.area.area == pytest.approx(60)
    (warning,) = design.warnings
    assert "a gap of 0.05 mm between lines at (0, 0.025) mm is taken as closed" in warning
    sides[-1] = ((0, 6), (0, 0.3))
    wider = drawn(lambda _, m: [m.add_line(a, b) for a, b in sides])
    assert wider.area.area < 4
    assert "the nearest loose ends are 0.3 mm apart, at (0, 0.15) mm" in wider.warnings[-1]


def test_a_gap_beside_whole_outlines_leaves_them_as_they_are() -> None:
    """Closing it would make a third line end at two corners of the square."""
    square = polyline((0, 0), (10, 0), (10, 10), (0, 10), (0, 0))
    loose = [((10, 0), (20, 5)), ((20, 5.05), (10, 10))]
    alone = drawn(lambda _, m: [m.add_line(a, b) for a, b in square])
    assert alone.area.area == 100
    both = drawn(lambda _, m: [m.add_line(a, b) for a, b in square + loose])
    assert both.area.area == pytest.approx(100 + 50, abs=0.3)


def test_a_wider_gap_stays_open_and_is_measured() -> None:
    def draw(_: Any, model: Any) -> None:
        lines(model, [(0, 0), (10, 0), (10, 10)])
        model.add_line((10, 10.3), (0, 0))
        model.add_circle((50, 0), 1)

    assert "nearest loose ends are 0.3 mm apart, at (10, 10.15) mm" in drawn(draw).warnings[0]


@given(st.integers(3, 40), st.integers(0, 10**6))
@examples(20)
def test_a_ring_of_short_lines_with_gaps_is_one_ring(n: int, seed: int) -> None:
    """Lines far shorter than the largest gap that is closed do not count as gaps."""
    rng = random.Random(seed)
    radius = 0.0005 * n
    ends = [
        (radius * math.cos(2 * math.pi * k / n), radius * math.sin(2 * math.pi * k / n)) for k in range(n)
    ]
    pairs = list(zip(ends, ends[1:] + ends[:1], strict=True))
    rng.shuffle(pairs)

    def draw(_: Any, model: Any) -> None:
        for a, b in pairs:
            model.add_line(a, b)
        model.add_circle((300, 0), 1)

    small = min(part.area for part in drawn(draw).area.geoms)
    ring = n / 2 * radius**2 * math.sin(2 * math.pi / n)
    assert small == pytest.approx(ring, rel=1e-6)


def test_an_option_that_says_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9mm" height="9mm"><circle r="9"/></svg>')
    with pytest.raises(InputError, match="--line-width says nothing"):
        load(path, tolerance=TOLERANCE, reading=Reading(TOLERANCE, line_width=0.2))
    with pytest.raises(InputError, match="line"):
        Reading(TOLERANCE, line_width=-1.0)


def test_the_recipe_of_a_project_says_it() -> None:
    assert list(Reading(TOLERANCE, line_width=0.25).recipe()) == ["line_width = 0.25"]
