"""Union and even-odd of many polygons against GEOS's own union and the winding number."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within
from sets import examples
from shapes import NODING, differing_area

from laserpath.design import fill as areas

rings = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=7), min_size=1, max_size=7
)


def arrays(polygons: list[list[tuple[int, int]]]) -> list[np.ndarray]:
    return [np.array(ring, dtype=float) for ring in polygons]


@given(polygons=rings)
@examples(100)
def test_even_odd_is_what_the_winding_numbers_say(polygons: list[list[tuple[int, int]]]) -> None:
    area = areas.even_odd(arrays(polygons))
    assert shapely.is_valid(area)
    assert differing_area(area, areas.fill(arrays(polygons), "evenodd")) < 1e-5


@given(polygons=rings)
@examples(100)
def test_covered_is_the_union(polygons: list[list[tuple[int, int]]]) -> None:
    pieces = areas.polygons(*areas.flat(arrays(polygons)))
    area = areas.covered(pieces)
    assert shapely.is_valid(area)
    assert differing_area(area, shapely.union_all(pieces, grid_size=NODING)) < 1e-5
    shared = shapely.intersection(
        *np.meshgrid(shapely.get_parts(area), shapely.get_parts(area)), grid_size=NODING
    )
    assert shapely.area(shared[~np.eye(len(shared), dtype=bool)]).sum() < 1e-5


def test_rings_may_be_closed_or_open_and_those_without_area_are_left_out() -> None:
    square = np.array([[0, 0], [2, 0], [2, 2], [0, 2]], dtype=float)
    shapes = [square, square[[0, 1, 2, 3, 0]], square[:2], square[:1], square[[0, 1, 0]]]
    pieces = areas.polygons(*areas.flat(shapes))
    assert shapely.area(pieces).tolist() == [4, 4]
    assert [len(one.exterior.coords) for one in pieces] == [5, 5]
    assert len(areas.polygons(*areas.flat([]))) == 0
    assert areas.covered(pieces[:0]).is_empty
    assert areas.even_odd([]).is_empty


def grid(n: int, size: float) -> list[np.ndarray]:
    i, j = np.meshgrid(np.arange(n), np.arange(n))
    corners = np.stack([i.ravel(), j.ravel()], axis=1)[:, None] * 1.0
    return list(corners + size * np.array([[0, 0], [1, 0], [1, 1], [0, 1]]))


@pytest.mark.parametrize(
    ("size", "each", "units"), [(0.5, 0.25, 20), pytest.param(1.0, 1.0, 60, marks=pytest.mark.slow)]
)
def test_a_frame_round_many_squares_has_them_as_holes(size: float, each: float, units: float) -> None:
    """Measured 0.5 s; quadratic growth would take minutes."""
    frame = np.array([[-1, -1], [120, -1], [120, 120], [-1, 120]], dtype=float)
    area = within(units, lambda: areas.even_odd([frame, *grid(100, size)]))
    assert area.area == pytest.approx(121**2 - 10_000 * each)
    assert areas.covered(areas.parts(area)).area == pytest.approx(area.area)


def test_a_stack_of_squares_is_their_union() -> None:
    """Each meets all others, and each next one adds two slivers."""
    count, step = 800, 1e-6
    stack = areas.polygons(*areas.flat([ring + k * step for k in range(count) for ring in grid(1, 1.0)]))
    area = within(20, lambda: areas.covered(stack))
    assert area.area == pytest.approx(1 + (count - 1) * (2 * step - step**2), abs=1e-9)
