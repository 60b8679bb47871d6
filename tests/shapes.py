"""Comparisons of areas for all tests. Without a grid GEOS is wrong by whole areas where edges almost meet."""

from __future__ import annotations

import shapely

NODING = 1e-10
"""mm, the `grid_size` of every set operation in tests; a test holds that."""


def differing_area(a: shapely.Geometry, b: shapely.Geometry) -> float:
    """mm² that one of both covers and the other does not."""
    return float(shapely.symmetric_difference(a, b, grid_size=NODING).area)


def edges_apart(a: shapely.Geometry, b: shapely.Geometry) -> float:
    """mm, Hausdorff distance of the edges of two areas, at the vertices of either."""
    return float(shapely.hausdorff_distance(shapely.boundary(a), shapely.boundary(b)))


def plus(*shapes: shapely.Geometry) -> shapely.Geometry:
    """What any of them covers."""
    return shapely.union_all(shapes, grid_size=NODING)


def minus(a: shapely.Geometry, *others: shapely.Geometry) -> shapely.Geometry:
    """What a covers and the others do not."""
    return shapely.difference(a, plus(*others), grid_size=NODING)


def both(a: shapely.Geometry, b: shapely.Geometry) -> shapely.Geometry:
    """What a and b cover."""
    return shapely.intersection(a, b, grid_size=NODING)
