"""Union, difference and intersection: the only place that calls shapely's set operations.

All are noded on a grid of `NODING`. Without it GEOS 3.14.1 errs: for two polygons that differ by one unit in
the last place, it returns a symmetric difference of twice their area. The grid makes an overlay up to eight
times slower, so only geometries that meet are overlaid. Lengths are in mm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits

EMPTY = shapely.MultiPolygon()

NODING = 1e-10
"""mm, pitch of the grid on which edges are cut where they cross. Much larger, it would bend edges; below
1e-11 it would be finer than the rounding at 1e5 mm from the origin."""

GRID = 1e-7
"""mm, pitch of the grid to which results are cleaned; larger closes wider slits and whiskers."""

_PAIRS = 2e6
"""Pairs of boxes per batch; more need more memory."""

Geometries = NDArray[np.object_]


def union(pieces: Sequence[BaseGeometry] | Geometries) -> BaseGeometry:
    """The area that any of the pieces covers."""
    if len(pieces) < 2:
        return areas(pieces[0]) if len(pieces) else EMPTY
    every = np.array(pieces, dtype=object)
    group = groups(every)
    alone = np.bincount(group)[group] == 1
    order = np.flatnonzero(~alone)[np.argsort(group[~alone], kind="stable")]
    crowds = np.split(every[order], np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []
    return _collected([*every[alone], *map(_united, crowds)])


def plus(a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """The area that a or b covers."""
    return _both_kept(shapely.union, a, b)


def minus(a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """The area that a covers and b does not."""
    near, apart = _split(a, b)
    beside, _ = _split(b, a)
    if near.is_empty or beside.is_empty:
        return a
    rest = areas(_overlaid(shapely.difference, near, beside))
    return _collected([rest, *apart]) if len(apart) else rest


def within(a: BaseGeometry, b: BaseGeometry | None) -> BaseGeometry:
    """The area that both cover; b None covers everything."""
    if b is None:
        return a
    near, beside = _split(a, b)[0], _split(b, a)[0]
    return EMPTY if near.is_empty or beside.is_empty else areas(_overlaid(shapely.intersection, near, beside))


def differing(a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """The area that exactly one of them covers."""
    return _both_kept(shapely.symmetric_difference, a, b)


def _both_kept(overlay: Callable[..., BaseGeometry], a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """An overlay that leaves the parts of a and b unchanged that do not meet the other."""
    (near, apart), (beside, away) = _split(a, b), _split(b, a)
    if near.is_empty or beside.is_empty:
        return a if b.is_empty else b if a.is_empty else _collected([a, b])
    return _collected([areas(_overlaid(overlay, near, beside)), *apart, *away])


def buffered(area: BaseGeometry, by: float) -> BaseGeometry:
    """The area grown by some mm, or shrunk by a negative number, with mitred corners.

    Part by part: of thousands of parts at once GEOS takes over a kilobyte a vertex, and longer.
    """
    parts = shapely.buffer(shapely.get_parts(area), by, join_style="mitre")
    return union(parts) if by > 0 else _collected(parts)


def crossings(lines: Any, other: BaseGeometry) -> Any:
    """The parts of a line, or of each line of an array, on the other geometry: points or lines."""
    return shapely.intersection(lines, other, grid_size=NODING)


def outside(lines: Any, area: BaseGeometry) -> Any:
    """The parts of a line, or of each line of an array, outside the area."""
    return shapely.difference(lines, area, grid_size=NODING)


def noded(lines: Geometries) -> Geometries:
    """The lines, snapped to GRID and cut where they meet; no piece occurs twice."""
    pieces: Geometries = shapely.get_parts(shapely.union_all(lines, grid_size=GRID))
    return pieces


def mosaic(faces: Geometries) -> BaseGeometry:
    """The union of polygons that only touch, along edges with the same ends."""
    try:
        return areas(shapely.coverage_union_all(faces))  # no overlay: edges that occur twice are left out
    except shapely.GEOSException:  # GEOS 3.13 at times sees them overlap in the last bits
        return union(faces)


def clipped(geometry: BaseGeometry, x0: float, y0: float, x1: float, y1: float) -> BaseGeometry:
    """The part of lines or of an area in the rectangle. Fast, without noding: areas may become invalid."""
    return shapely.clip_by_rect(geometry, x0, y0, x1, y1)


def groups(pieces: Geometries) -> NDArray[np.intp]:
    """(n,) the number of each piece's group; pieces that meet, directly or through others, are one group."""
    label = np.arange(len(pieces))
    tree = shapely.STRtree(pieces)
    start, size = 0, 64
    while start < len(pieces):
        limits.spend()
        some = pieces[start : start + size]
        a, b = tree.query(some)
        size = int(np.clip(_PAIRS / max(len(a) / len(some), 1), 64, 4 * size))  # the next may meet more
        a += start
        apart = (label[a] != label[b]) & ((a < b) | (b < start))  # the others are known, or come twice
        a, b = a[apart], b[apart]
        shapely.prepare(some)
        meet = shapely.intersects(pieces[a], pieces[b])
        shapely.destroy_prepared(some)
        label = _merged(label, a[meet], b[meet])
        start += len(some)
    return label


def _merged(label: NDArray[np.intp], a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.intp]:
    """The groups' numbers, with the groups of a[k] and b[k] merged."""
    if not len(a):
        return label
    n = len(label)
    graph = scipy.sparse.coo_array((np.ones(len(a), dtype=np.int8), (label[a], label[b])), shape=(n, n))
    found: NDArray[np.intp] = scipy.sparse.csgraph.connected_components(graph, directed=False)[1].astype(
        np.intp
    )[label]
    return found


def _united(pieces: Geometries) -> BaseGeometry:
    """The union of pieces that meet."""
    try:
        return areas(shapely.union_all(pieces, grid_size=NODING))
    except shapely.GEOSException:  # rounding has made a piece invalid
        return areas(shapely.union_all(_valid(pieces), grid_size=GRID))


def _overlaid(overlay: Callable[..., BaseGeometry], a: BaseGeometry, b: BaseGeometry) -> BaseGeometry:
    """The overlay of a and b, which rounding may have made invalid."""
    try:
        return overlay(a, b, grid_size=NODING)
    except shapely.GEOSException:
        return overlay(*_valid(np.array([a, b], dtype=object)), grid_size=GRID)


def _valid(pieces: Geometries) -> Geometries:
    mended: Geometries = shapely.make_valid(pieces, method="structure", keep_collapsed=False)
    return mended


def _split(a: BaseGeometry, b: BaseGeometry) -> tuple[BaseGeometry, Geometries]:
    """The parts of a that the box around b may meet, as one geometry, and the list of its other parts."""
    parts = shapely.get_parts(a)
    x0, y0, x1, y1 = shapely.bounds(b)  # NaN if b is empty; an empty b meets nothing
    left, low, right, high = shapely.bounds(parts).T
    near = (left <= x1) & (right >= x0) & (low <= y1) & (high >= y0)
    if near.all() and len(parts):
        return a, parts[:0]
    return (_collected(list(parts[near])) if near.any() else EMPTY), parts[~near]


def _collected(pieces: Sequence[BaseGeometry]) -> BaseGeometry:
    """Areas that do not overlap, as one geometry."""
    parts = shapely.get_parts([areas(piece) for piece in pieces])
    parts = parts[~shapely.is_empty(parts)]
    return parts[0] if len(parts) == 1 else shapely.multipolygons(parts) if len(parts) else EMPTY


def tidy(area: BaseGeometry) -> BaseGeometry:
    """The same area on a grid of GRID, without the slits and whiskers that overlay leaves.

    Touching tiles agree to about 1e-14 mm, but not to the last bit. The gap between them has no area, but two
    edges across the design, which would be measured and followed as contour. Parts that meet no other are
    snapped one by one, which is thirty times faster for 10⁴ parts.
    """
    parts = shapely.get_parts(area)
    alone = ~_meeting(parts, 2 * GRID)
    crowd = shapely.multipolygons(parts[~alone]) if not alone.all() else EMPTY
    snapped = shapely.set_precision(np.append(parts[alone], crowd), GRID)
    free = shapely.set_precision(snapped, 0)  # later operations must not snap to it
    polygons = shapely.get_parts([areas(part) for part in free])
    return valid(shapely.multipolygons(polygons)) if len(polygons) else EMPTY


def _meeting(parts: Geometries, distance: float) -> NDArray[np.bool_]:
    """Which parts come so near to another one, mm.

    Each pair is looked at once, from the part with more vertices: a plane is indexed once, not for each pad.
    """
    boxes = shapely.box(*(shapely.bounds(parts) + distance * np.array([-1, -1, 1, 1])).T)
    size = shapely.get_num_coordinates(parts)
    one, other = shapely.STRtree(parts).query(boxes)
    once = (size[one] > size[other]) | ((size[one] == size[other]) & (one < other))
    one, other = one[once], other[once]
    shapely.prepare(parts)
    near = shapely.dwithin(parts[one], parts[other], distance)
    meets = np.zeros(len(parts), dtype=bool)
    meets[one[near]] = meets[other[near]] = True
    return meets


def valid(area: BaseGeometry) -> BaseGeometry:
    """The same area, repaired where rounding has made it invalid.

    A ring may touch itself or another ring at a point. When the area is moved, or leaves the grid, its
    coordinates are rounded, and the rings may cross there.
    """
    if shapely.is_valid(area):
        return area
    return areas(_valid(np.array([area], dtype=object))[0])


def areas(geometry: BaseGeometry) -> BaseGeometry:
    """The polygons of an overlay's result, which is valid but may hold lines and points."""
    if geometry.geom_type in ("Polygon", "MultiPolygon"):
        return geometry
    parts = shapely.get_parts(shapely.get_parts(geometry))
    polygons = parts[shapely.get_dimensions(parts) == 2]
    return shapely.multipolygons(polygons) if len(polygons) else EMPTY
