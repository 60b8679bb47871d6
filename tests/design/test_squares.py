"""Maps of pixels become the valid polygons of their squares."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from laserpath.design.image import squares


@pytest.mark.parametrize("seed", range(40))
def test_polygons_are_the_union_of_the_pixels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    solid = rng.random((rng.integers(1, 12), rng.integers(1, 12))) < rng.uniform(0.2, 0.9)
    row, column = np.nonzero(solid)
    pixels = shapely.box(column - 0.5, row - 0.5, column + 0.5, row + 0.5)
    area = shapely.multipolygons(squares(solid))
    assert area.is_valid
    union = shapely.union_all(pixels, grid_size=0.5)
    assert shapely.symmetric_difference(area, union, grid_size=0.5).area == 0


def test_squares_that_touch_in_a_corner_are_two_and_a_ring_closed_by_a_corner_has_a_hole() -> None:
    assert len(squares(np.eye(2, dtype=bool))) == 2
    (ring,) = squares(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0]], dtype=bool))
    assert ring.is_valid and ring.area == 7
    assert shapely.get_num_interior_rings(ring) == 1


def test_an_empty_map_has_no_polygon() -> None:
    assert len(squares(np.zeros((3, 4), dtype=bool))) == 0
