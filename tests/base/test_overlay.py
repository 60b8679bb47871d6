"""Set operations where edges almost meet, against areas that are known; and what lies apart."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
import shapely
from builders import polygons
from hypothesis import given
from hypothesis import strategies as st
from sets import examples
from shapes import differing_area

from laserpath.base import overlay
from laserpath.base.arrays import Floats

FOUND = (
    shapely.Polygon(
        [
            (-0.24073626325788808, 0.10226587320120122),
            (0.5602249953219153, 0.42191445053056603),
            (0.07329593948249098, -0.598329550777981),
        ],
        [
            [
                (0.22408999812876612, 0.16876578021222643),
                (-0.09629450530315524, 0.04090634928048049),
                (0.029318375792996395, -0.2393318203111924),
            ]
        ],
    ),
    shapely.Polygon(
        [
            (0.512095679979087, 0.5659342387337222),
            (0.19225140788654313, -0.5966788860773172),
            (-0.22996922532806888, 0.049472994407360596),
        ],
        [
            [
                (0.07690056315461725, -0.2386715544309269),
                (0.20483827199163482, 0.22637369549348887),
                (-0.09198769013122755, 0.01978919776294424),
            ]
        ],
    ),
)
"""With all vertices (the first) or some (the second) moved by one unit in the last place, GEOS 3.14.1 without
a grid says that they differ from themselves by 0.38 of their area, which is twice the hole's."""


def up(xy: Floats) -> Floats:
    return np.nextafter(xy, np.inf)


def some(xy: Floats) -> Floats:
    return np.where((xy * 1e9).astype(int) % 2 == 0, up(xy), xy)


@pytest.mark.parametrize("moved", [up, some])
@pytest.mark.parametrize("one", FOUND)
def test_a_last_bit_is_no_area(one: shapely.Polygon, moved: Callable[[Floats], Floats]) -> None:
    other = shapely.transform(one, moved)
    assert differing_area(one, other) < 1e-9
    assert overlay.differing(one, other).area < 1e-9
    assert overlay.minus(one, other).area < 1e-9
    for whole in (overlay.union([one, other]), overlay.plus(one, other), overlay.within(one, other)):
        assert whole.area == pytest.approx(one.area, abs=1e-9)


@given(st.lists(polygons(), min_size=2, max_size=5), st.floats(0, 1.5))
@examples(30)
def test_areas_add_up(shapes: list[shapely.Geometry], step: float) -> None:
    """|a ∪ b| + |a ∩ b| = |a| + |b| and so on, for parts that meet and parts that do not."""
    placed = [shapely.affinity.translate(g, step * k, 0) for k, g in enumerate(shapes)]
    a, b = overlay.union(placed[::2]), overlay.union(placed[1::2])
    common = overlay.within(a, b).area
    assert overlay.plus(a, b).area == pytest.approx(a.area + b.area - common, abs=1e-8)
    assert overlay.union(placed).area == pytest.approx(a.area + b.area - common, abs=1e-8)
    assert overlay.minus(a, b).area == pytest.approx(a.area - common, abs=1e-8)
    assert overlay.differing(a, b).area == pytest.approx(a.area + b.area - 2 * common, abs=1e-8)


def test_nothing_adds_and_takes_nothing() -> None:
    square, empty = shapely.box(0, 0, 1, 1), shapely.Polygon()
    for one in (overlay.plus, overlay.minus, overlay.differing):
        assert one(square, empty).area == 1
    assert overlay.plus(empty, square).area == overlay.differing(empty, square).area == 1
    assert overlay.minus(empty, square).is_empty and overlay.within(square, empty).is_empty
    assert overlay.union([]).is_empty


def test_what_lies_apart_is_not_overlaid() -> None:
    """10⁴ discs that do not meet are left as they are; overlaid with a grid they would take 20 s."""
    at = shapely.points(*(2.0 * np.indices((100, 100)).reshape(2, -1)))
    start = time.process_time()
    whole = overlay.union(shapely.buffer(at, 0.8))
    assert time.process_time() - start < 4
    assert shapely.get_num_geometries(whole) == 10000
    assert overlay.minus(whole, shapely.box(-1, -1, 3, 1)).area == pytest.approx(whole.area * 9998 / 10000)


def test_parts_grow_and_shrink_as_the_whole() -> None:
    """Squares of which some meet when they grow, and one with a hole that closes."""
    squares = [shapely.box(x, 0, x + 1, 1) for x in (0.0, 1.3, 4.0)]
    ring = shapely.Polygon(
        shapely.box(7, 0, 9, 2).exterior, [shapely.box(7.8, 0.8, 8.1, 1.1).exterior.coords]
    )
    area = shapely.MultiPolygon([*squares, ring])
    for by in (0.2, -0.2, -0.6):
        whole = area.buffer(by, join_style="mitre")
        assert differing_area(overlay.buffered(area, by), whole) < 1e-9
    assert len(shapely.get_parts(overlay.buffered(area, 0.2))) == 3
    assert overlay.buffered(overlay.EMPTY, 0.2).is_empty and overlay.buffered(area, -2.0).is_empty


@given(st.integers(1, 300), st.floats(0.1, 3.0), st.integers(0, 99))
@examples(20)
def test_groups_are_the_parts_of_the_union(n: int, size: float, seed: int) -> None:
    discs = shapely.buffer(shapely.points(np.random.default_rng(seed).uniform(0, 20, (n, 2))), size)
    whole = shapely.union_all(discs, grid_size=overlay.NODING)
    assert len(np.unique(overlay.groups(discs))) == shapely.get_num_geometries(whole)
    assert overlay.union(discs).area == pytest.approx(whole.area)


def test_no_result_snaps_what_is_done_with_it_next() -> None:
    ring = overlay.minus(shapely.box(0, 0, 3, 3), shapely.box(1, 1, 2, 2))
    assert shapely.get_precision(ring) == shapely.get_precision(overlay.tidy(ring)) == 0


def test_parts_of_a_plane_that_meet_are_snapped_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pads in the clearances of a plane are alone; one that touches it within the grid is not."""
    centres = [(x + 0.5, y + 0.5) for x in range(6) for y in range(6)]
    holes = [shapely.box(x - 0.3, y - 0.3, x + 0.3, y + 0.3) for x, y in centres]
    pads = [shapely.box(x - 0.2, y - 0.2, x + 0.2, y + 0.2) for x, y in centres[1:]]
    touching = shapely.box(0.2 + overlay.GRID, 0.4, 0.6, 0.6)  # beside the left edge of the first clearance
    plane = shapely.Polygon([(0, 0), (6, 0), (6, 6), (0, 6)], [hole.exterior.coords for hole in holes])
    parts = np.array([*pads, touching, plane], dtype=object)
    snapped: list[int] = []
    own = shapely.set_precision
    monkeypatch.setattr(
        shapely,
        "set_precision",
        lambda shape, grid: (snapped.append(len(shape)) if grid else None, own(shape, grid))[1],
    )
    tidied = overlay.tidy(shapely.multipolygons(parts))
    assert snapped == [len(pads) + 1], "the pads one by one, and the plane with what touches it"
    assert tidied.area == pytest.approx(shapely.area(parts).sum(), abs=1e-6)


def test_what_a_move_makes_invalid_is_mended() -> None:
    """A hole that touches the rim at a point, in the middle of an edge that is not along an axis."""
    rng = np.random.default_rng(11)
    broken = 0
    for shift in rng.uniform(-200, 200, (40, 2)):
        hole = [(1 / 3, 0.1), (0.9, 0.5), (0.3, 0.4)]  # (1/3, 0.1) is on the edge from (0, 0) to (10/3, 1)
        area = shapely.Polygon([(0, 0), (10 / 3, 1), (3, 3), (-1, 3)], [hole])
        moved = shapely.transform(area, lambda xy, by=shift: xy + by)
        broken += not moved.is_valid
        mended = overlay.valid(moved)
        assert mended.is_valid
        assert abs(mended.area - area.area) < 1e-9
    assert broken, "no move has broken it, so that nothing was tested"
