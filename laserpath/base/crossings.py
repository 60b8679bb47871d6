"""How many crossings of edges a set operation will meet, estimated from a sample before it begins.

GEOS takes about 20 µs for each crossing that remains in the result, and a twentieth of that for one that
another piece covers, since it unites neighbours first. n random edges cross n²/8 times or so: a file of
300 kB can make 10⁸ of them. The estimate compares a sample of the edges with all of them.
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from laserpath.base.arrays import Bools, Floats

FEW = 1000
"""Edges up to which nothing is estimated: they cross 100 000 times at most, which takes two seconds."""
_SAMPLE, _LEAST, _TESTS = 200, 16, 2e7
"""Edges of a sample, fewest for very many edges, and pairs of edges that are compared."""
_MANY = 1e5
"""Crossings from which on it matters whether other pieces cover them."""
_COVERED = 0.05
"""Work of a crossing that another piece covers, relative to one in the result."""
_SEEN = 200
"""Crossings of which this is found out."""

Geometries = NDArray[np.object_]


def estimate(pieces: Geometries, united: bool) -> float:
    """Crossings of the pieces' edges (polygons or lines). united: those that a piece covers count less."""
    edges = _edges(pieces)
    n = len(edges)
    if n < FEW:
        return 0.0
    rng = np.random.default_rng(0)
    some = _sample(n, rng)
    at, points = _crossings(edges[some], edges)
    count = len(at) / len(some) * n / 2
    if not united or count < _MANY:
        return count
    points = points[rng.choice(len(points), min(_SEEN, len(points)), replace=False)]
    # Each lies on the outlines of the two pieces that cross there; rounding puts it in or out of those.
    inside = shapely.STRtree(shapely.points(points)).query(pieces, predicate="contains")[1]
    covered = float((np.bincount(inside, minlength=len(points)) > 2).mean())
    return count * (1 - covered + _COVERED * covered)


def meetings(line: shapely.LineString) -> float:
    """Pairs of edges of a line that may cross or lie on each other: their boxes meet, and not as neighbours.

    Edges that lie on each other do not cross, but take GEOS as long: a circle that is traced 500 times.
    """
    edges = _edges(np.array([line]))
    n = len(edges)
    if n < FEW:
        return 0.0
    some = _sample(n, np.random.default_rng(0))
    low, high = edges.min(axis=1), edges.max(axis=1)
    meet = (low <= high[some][:, None]).all(axis=2) & (high >= low[some][:, None]).all(axis=2)
    return max(float(meet.sum()) / len(some) - 3, 0.0) * n / 2  # 3: itself and two neighbours


def _sample(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Some of n edges."""
    return rng.choice(n, min(n, int(np.clip(_TESTS / n, _LEAST, _SAMPLE))), replace=False)


def _edges(pieces: Geometries) -> Floats:
    """(n, 2, 2) the ends of all edges."""
    parts = shapely.get_parts(pieces)
    polygons = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    lines = np.concatenate([shapely.get_rings(parts[polygons]), parts[~polygons]])
    xy, owner = shapely.get_coordinates(lines, return_index=True)
    same = owner[1:] == owner[:-1]
    ends: Floats = np.stack([xy[:-1][same], xy[1:][same]], axis=1)
    return ends


def _crossings(some: Floats, edges: Floats) -> tuple[NDArray[np.intp], Floats]:
    """(m,) which of some edges cross another, and (m, 2) where."""
    low, high = edges.min(axis=1), edges.max(axis=1)
    least, most = some.min(axis=1)[:, None], some.max(axis=1)[:, None]
    near = (low[:, 0] < most[..., 0]) & (high[:, 0] > least[..., 0])
    near &= (low[:, 1] < most[..., 1]) & (high[:, 1] > least[..., 1])
    a, b = np.nonzero(near)
    cross = _apart(some[a], edges[b]) & _apart(edges[b], some[a])
    a, p, q = a[cross], some[a[cross]], edges[b[cross]]
    u, v, w = p[:, 1] - p[:, 0], q[:, 1] - q[:, 0], q[:, 0] - p[:, 0]
    s = (w[:, 0] * v[:, 1] - w[:, 1] * v[:, 0]) / (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    return a, p[:, 0] + s[:, None] * u


def _apart(line: Floats, edge: Floats) -> Bools:
    """(m,) whether the ends of each edge are on both sides of a line through two points."""
    along = line[:, 1] - line[:, 0]
    first, last = (
        along[:, 0] * (edge[:, k, 1] - line[:, 0, 1]) - along[:, 1] * (edge[:, k, 0] - line[:, 0, 0])
        for k in (0, 1)
    )
    opposite: Bools = np.sign(first) * np.sign(last) < 0
    return opposite
