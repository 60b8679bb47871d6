"""Union, difference and intersection of polygons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

EMPTY = shapely.MultiPolygon()
GRID = 1e-7  # mm, on which edges are noded where that must not fail


def union(pieces: Sequence[BaseGeometry]) -> BaseGeometry:
    """What any of the pieces covers."""
    if len(pieces) < 2:
        return pieces[0] if pieces else EMPTY
    try:
        # What lies apart is not overlaid: of 10⁴ discs, GEOS is a hundred times faster.
        return areas(shapely.disjoint_subset_union_all(pieces))
    except shapely.GEOSException:  # a piece that rounding has made invalid
        valid = shapely.make_valid(np.array(pieces, dtype=object), method="structure", keep_collapsed=False)
        return areas(shapely.union_all(valid, grid_size=GRID))


def plus(a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """What a or b covers."""
    if a.is_empty or b.is_empty:
        return b if a.is_empty else a
    return areas(shapely.union(a, b))


def minus(a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """What a covers and b does not."""
    if a.is_empty or b.is_empty or not shapely.intersects(shapely.envelope(a), shapely.envelope(b)):
        return a
    return areas(shapely.difference(a, b))


def within(a: BaseGeometry, b: BaseGeometry | None) -> BaseGeometry:
    """What both cover; b None covers everything."""
    return a if b is None else areas(shapely.intersection(a, b))


def tidy(area: BaseGeometry) -> BaseGeometry:
    """The same area on a grid of GRID, without the slits and whiskers that overlay leaves.

    Tiles that touch agree to about 1e-14 mm and not to the last bit. What is left between them has
    no area, but two edges right through the design, where its contour is measured and followed.
    Parts that meet no other are snapped one by one, which for 10⁴ of them is thirty times faster.
    """
    parts = shapely.get_parts(area)
    near = shapely.STRtree(parts).query(parts, predicate="dwithin", distance=2 * GRID)
    alone = np.bincount(near[0], minlength=len(parts)) < 2  # each is near itself
    crowd = shapely.multipolygons(parts[~alone]) if not alone.all() else EMPTY
    snapped = shapely.set_precision(np.append(parts[alone], crowd), GRID)
    free = shapely.set_precision(snapped, 0)  # what is done with it next shall not snap
    polygons = shapely.get_parts([areas(part) for part in free])
    return shapely.multipolygons(polygons) if len(polygons) else EMPTY


def areas(geometry: BaseGeometry) -> BaseGeometry:
    """The polygons of an overlay's result, which is valid but may hold lines and points."""
    if geometry.geom_type in ("Polygon", "MultiPolygon"):
        return geometry
    parts = shapely.get_parts(shapely.get_parts(geometry))
    polygons = parts[shapely.get_dimensions(parts) == 2]
    return shapely.multipolygons(polygons) if len(polygons) else EMPTY
