"""Union and even-odd area of very many polygons, most of which touch no other.

Polygons that meet no other are left as they are: the union of 10⁵ separate squares takes GEOS 14 s, finding
that they are separate 0.1 s. Groups are the connected components of "meets". In a union, polygons that
another covers are dropped first. Even-odd is the sum modulo 2, so that the order does not matter: rings that
lie wholly inside or outside of each other are nested by counting; the others are combined in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import figure
from laserpath.base.overlay import EMPTY, differing, tidy, union, valid
from laserpath.design.fill import EVENODD, NONZERO, fill
from laserpath.design.joined import distinct

VERTICES = 20  # of a shape, from which on comparing two takes twice as long as comparing two squares
SAMPLES = (16, 1000)  # shapes from which the number of pairs is estimated: a few first, then more
_CROWDED = 100.0
"""Others that a shape meets on average, from which on pairs take longer than the union of all at once."""

Geometry = BaseGeometry
Geometries = NDArray[np.object_]
Indices = NDArray[np.intp]


def polygons(points: Floats, ends: Indices, rule: str = NONZERO) -> Geometries:
    """Rings, each filled by itself → (m,) valid polygons, without those of no area.

    points: (P, 2), one ring after the other, open or closed.  ends: (R+1,) index at which each begins.
    """
    first, size = ends[:-1], np.diff(ends)
    closed = (size > 1) & (points[first % max(len(points), 1)] == points[ends[1:] - 1]).all(axis=1)
    keep = size - closed >= 3
    first, size = first[keep], (size - closed)[keep] + 1
    ends = np.concatenate([[0], np.cumsum(size)])
    which = np.repeat(first - ends[:-1], size) + np.arange(ends[-1])
    which[ends[1:] - 1] = first
    made = shapely.from_ragged_array(
        shapely.GeometryType.POLYGON, points[which], (ends, np.arange(len(ends)))
    )
    good = shapely.is_valid(made)
    mended = [filled([points[which[ends[k] : ends[k + 1]]]], rule) for k in np.flatnonzero(~good)]
    return np.concatenate([_with_area(made[good]), parts(*mended)])


def filled(rings: Sequence[Floats], rule: str) -> BaseGeometry:
    """The area inside a few rings, which may cross; valid also where faces meet in a point (GEOS 3.13)."""
    return tidy(fill(rings, rule))


def flat(rings: Sequence[Floats]) -> tuple[Floats, Indices]:
    """A list of rings as (points, ends), for `polygons`."""
    sizes = np.array([len(ring) for ring in rings], dtype=np.intp)
    return np.concatenate([np.zeros((0, 2)), *rings]), np.concatenate([[0], np.cumsum(sizes)])


def parts(*geometries: BaseGeometry) -> Geometries:
    """The polygons of polygons and multipolygons, without those of no area."""
    single: Geometries = shapely.get_parts(np.array(geometries, dtype=object))
    return _with_area(single)


def covered(pieces: Geometries) -> BaseGeometry:
    """The union of valid polygons."""
    pieces = distinct(pieces)
    tree = shapely.STRtree(pieces)
    if _checked_pairs(tree, pieces) > _CROWDED * len(pieces):
        return shapely.normalize(valid(tidy(union(pieces))))
    first, second = _meeting(pieces)
    if len(first):
        pieces = pieces[~_redundant(pieces, first, second)]
        first, second = _meeting(pieces)
    groups = _groups(len(pieces), first, second)
    alone = np.bincount(groups)[groups] == 1 if len(pieces) else np.zeros(0, dtype=bool)
    order = np.argsort(groups[~alone], kind="stable")
    cuts = np.flatnonzero(np.diff(groups[~alone][order])) + 1
    crowds = np.split(pieces[~alone][order], cuts) if len(order) else []
    joined = [tidy(union(list(crowd))) for crowd in crowds]
    # Groups that touch in a point may cross there by the distance that tidying has moved them.
    return shapely.normalize(valid(_together([pieces[alone], parts(*joined)])))


def even_odd(rings: Sequence[Floats]) -> BaseGeometry:
    """The area that an odd number of the rings encloses; the rule holds within a ring that crosses itself."""
    pieces = polygons(*flat(rings), EVENODD)
    first, second = _meeting(pieces)
    inside = shapely.contains_properly(pieces[first], pieces[second])
    outside = shapely.contains_properly(pieces[second], pieces[first])
    crossing = ~(inside | outside)
    tangled = np.zeros(len(pieces), dtype=bool)
    tangled[first[crossing]] = tangled[second[crossing]] = True
    # A polygon with holes, because its ring crosses itself, cannot be nested by counting.
    tangled |= shapely.get_num_interior_rings(pieces) > 0
    outer = np.concatenate([first[inside], second[outside]])
    inner = np.concatenate([second[inside], first[outside]])
    plain = ~(tangled[outer] | tangled[inner])
    nested = _nested(pieces, outer[plain], inner[plain], ~tangled)
    if not tangled.any():
        return nested
    return tidy(differing(nested, _sum(pieces[tangled])))


def _with_area(pieces: Geometries) -> Geometries:
    return pieces[shapely.area(pieces) > 0]


def _meeting(pieces: Geometries) -> tuple[Indices, Indices]:
    """Pairs i < j of pieces that share at least a point."""
    tree = shapely.STRtree(pieces)
    _checked_pairs(tree, pieces)
    a, b = tree.query(pieces, predicate="intersects")
    return a[a < b], b[a < b]


def _checked_pairs(tree: shapely.STRtree, pieces: Geometries) -> float:
    """About how many pairs of pieces have boxes that meet, from a sample; raises if they are too many."""
    order, pairs = np.random.default_rng(0).permutation(len(pieces)), 0.0
    for size in SAMPLES:
        sample = pieces[order[:size]]
        pairs = tree.query(sample).shape[1] / max(len(sample), 1) * len(pieces) / 2
        vertices = float(shapely.get_num_coordinates(sample).mean()) if len(sample) else 0.0
        squares = pairs * (1 + vertices / VERTICES)
        if squares > limits.now().pairs:
            raise limits.exceeded(
                f"about {figure(pairs, 1)} pairs of the {len(pieces)} shapes overlap, which take as long as "
                f"{figure(squares, 1)} pairs of squares",
                "pairs",
                squares,
            )
    return pairs


def _redundant(pieces: Geometries, first: Indices, second: Indices) -> Bools:
    """(n,) whether another piece covers it; of two equal pieces, the second."""
    shapely.prepare(pieces)
    drop = np.zeros(len(pieces), dtype=bool)
    drop[second[shapely.covers(pieces[first], pieces[second])]] = True
    keeps = ~drop[second]
    first, second = first[keeps], second[keeps]
    drop[first[shapely.covers(pieces[second], pieces[first])]] = True
    return drop


def _groups(n: int, first: Indices, second: Indices) -> NDArray[np.int32]:
    """(n,) index of the group of each piece."""
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return labels


def _nested(pieces: Geometries, outer: Indices, inner: Indices, which: Bools) -> BaseGeometry:
    """Even-odd area of rings that do not cross. outer[k] encloses inner[k].  which: (n,) those to use."""
    depth = np.bincount(inner, minlength=len(pieces))
    holes = (depth[inner] % 2 == 1) & (depth[outer] == depth[inner] - 1)
    shells = pieces.copy()
    order = np.argsort(outer[holes], kind="stable")
    owner, hole = outer[holes][order], inner[holes][order]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    ends = np.flatnonzero(np.diff(owner, append=-1)) + 1
    edges = shapely.get_exterior_ring(pieces)
    for a, b in zip(begins, ends, strict=True):
        shells[owner[a]] = shapely.polygons(edges[owner[a]], edges[hole[a:b]])
    return _together([shells[which & (depth % 2 == 0)]])


def _sum(pieces: Geometries) -> BaseGeometry:
    """Even-odd area of any polygons; neighbours are combined first, so that intermediate ones stay small."""
    x, y = shapely.get_coordinates(shapely.centroid(pieces)).T
    cells = np.ceil(np.sqrt(len(pieces)))
    row = np.floor((y - y.min()) / (np.ptp(y) or 1) * cells)
    level = pieces[np.lexsort([np.where(row % 2, -x, x), row])]
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else level[:0]
        pairs = zip(level[: len(level) - len(odd) : 2], level[1::2], strict=True)
        level = np.array([*(differing(*pair) for pair in pairs), *odd], dtype=object)
    last: BaseGeometry = level[0]
    return last


def _together(parts: Sequence[Geometries]) -> BaseGeometry:
    """Polygons that do not meet, as one geometry."""
    every = np.concatenate([shapely.get_parts(part) for part in parts])
    every = _with_area(every[shapely.get_type_id(every) == shapely.GeometryType.POLYGON])
    return shapely.multipolygons(every) if len(every) else EMPTY
