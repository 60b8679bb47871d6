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
from laserpath.design import FLATTEN_FWHM, load
from laserpath.design.dxf import read
from laserpath.design.reading import Reading
from laserpath.types import Design

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


def test_branching_lines_are_drawn_too() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_line((0, 0), (10, 0))
        lines(model, [(0, 0), (10, 0), (10, 10), (0, 0)])
        model.add_line((0, 0), (10, 5))
        model.add_line((10, 5), (10, 0))

    design = drawn(draw)
    assert "are drawn 0.1 mm wide" in design.warnings[-1]
    assert 30 * SPOT < design.area.area < 60 * SPOT
    beside = drawn(lambda d, m: (draw(d, m), m.add_circle((50, 50), 1)))
    assert beside.area.area == pytest.approx(math.pi, abs=0.01)
    assert any("branching lines do not say" in w and "--line-width" in w for w in beside.warnings)


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
    """Up to 1e-4 of the drawing's size, here 1 µm below the tolerance of 2 µm; and at 100 times the size."""

    def draw(scale: float, by: float) -> Draw:
        corners = [(x * scale, y * scale) for x, y in SQUARE]
        return lambda _, m: [
            m.add_lwpolyline(corners[:3]),
            m.add_lwpolyline([(corners[2][0], corners[2][1] + by), corners[3], (corners[0][0] - by, 0)]),
        ]

    small = drawn(draw(1, gap * TOLERANCE))
    assert small.area.area == pytest.approx(100, abs=0.1)
    assert small.warnings == ()
    large = drawn(draw(100, 10 * gap * TOLERANCE))
    assert large.area.area == pytest.approx(1e6, rel=1e-4)
    assert ("2 gaps of up to" in str(large.warnings)) is (gap > 0.1)


def test_a_wider_gap_stays_open_and_is_measured() -> None:
    def draw(_: Any, model: Any) -> None:
        lines(model, [(0, 0), (10, 0), (10, 10)])
        model.add_line((10, 10.03), (0, 0))
        model.add_circle((50, 0), 1)

    assert "nearest loose ends are 0.03 mm apart" in drawn(draw).warnings[0]


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
