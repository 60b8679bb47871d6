"""Areas of closed rings under a fill rule, and of very many polygons, that cross themselves and each other.

The winding number w of a point counts how often the rings go round it, anticlockwise positive.
Non-zero: inside where w ≠ 0. Even-odd: inside where w is odd. The rings are noded on a grid
(snap rounding, which cannot fail) and cut the plane into faces; w of one point in each face is
counted with a ray to the right. Checked by point sampling on 600 random and degenerate ring sets,
this made no mistake; pyclipper made two, and more when its result was turned into polygons.

**Polygons** that may cross themselves and each other become one valid area. A polygon whose rings cross is
filled by the even-odd rule over all its rings; polygons that overlap are joined. Only polygons that touch are
overlaid: overlaying all of 10⁵ separate polygons takes GEOS 11 s, overlaying those that touch 0.3 s.

**Very many polygons**, most of which touch no other. Polygons that meet no other are left as they are: the
union of 10⁵ separate squares takes GEOS 14 s, finding that they are separate 0.1 s. Groups are the connected
components of "meets". Even-odd is the sum modulo 2, so that the order does not matter: rings that lie wholly
inside or outside of each other are nested by counting; the others are combined in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import EMPTY, GRID, differing, groups, mosaic, noded, tidy, union, valid

NONZERO, EVENODD = "nonzero", "evenodd"
FEW = 20  # rings below which grouping is not worth its time
RAYS = 2000  # rays cast at once; more take more memory


def fill(rings: Sequence[Floats], rule: str) -> BaseGeometry:
    """Rings of (n, 2) vertices, open or closed → valid polygons."""
    rings = [r[:-1] if len(r) > 1 and (r[0] == r[-1]).all() else r for r in rings]
    rings = [r for r in rings if len(r) >= 3]
    if not rings:
        return EMPTY
    groups = _groups(rings)
    if len(groups) == 1:
        return _filled(rings, rule)
    parts = shapely.get_parts([_filled(group, rule) for group in groups])
    return shapely.multipolygons(parts) if len(parts) else EMPTY


def _groups(rings: Sequence[Floats]) -> list[list[Floats]]:
    """Groups of rings whose boxes meet, directly or through others. Groups are filled independently."""
    if len(rings) < FEW:
        return [list(rings)]
    low, high = np.array([r.min(axis=0) for r in rings]), np.array([r.max(axis=0) for r in rings])
    boxes = shapely.box(*(low - GRID).T, *(high + GRID).T)
    owner = groups(boxes)
    order = np.argsort(owner, kind="stable")
    cuts = np.flatnonzero(np.diff(owner[order])) + 1
    return [[rings[k] for k in group] for group in np.split(order, cuts)]


def _filled(rings: Sequence[Floats], rule: str) -> BaseGeometry:
    """The same for open rings with at least three vertices."""
    if len(rings) == 1:
        polygon = shapely.polygons(rings[0])
        if shapely.is_valid(polygon):
            return polygon if polygon.area > 0 else EMPTY
    faces = _faces(rings)
    if len(faces) == 0:
        return EMPTY
    winding = _winding(rings, shapely.get_coordinates(shapely.point_on_surface(faces)))
    inside = winding != 0 if rule == NONZERO else winding % 2 == 1
    return mosaic(faces[inside])


def _faces(rings: Sequence[Floats]) -> NDArray[np.object_]:
    """The bounded faces into which the rings cut the plane."""
    closed = np.array([shapely.linestrings(np.vstack([r, r[:1]])) for r in rings], dtype=object)
    if not shapely.is_simple(shapely.multilinestrings(closed)):
        closed = noded(closed)
    faces: NDArray[np.object_] = shapely.get_parts(shapely.polygonize(closed))
    return faces


def _winding(rings: Sequence[Floats], points: Floats) -> NDArray[np.int64]:
    """(m,) winding number of the rings about each point: signed crossings of a ray towards +x."""
    a = np.concatenate(rings)
    b = np.concatenate([np.roll(r, -1, axis=0) for r in rings])
    low, high = np.minimum(a, b), np.maximum(a, b)
    tree = shapely.STRtree(shapely.box(*low.T, *high.T))
    end, counts = high[:, 0].max() + 1, []
    for some in np.array_split(points, len(points) // RAYS + 1):
        limits.spend()
        counts.append(_crossings(tree, a, b, some, end))
    return np.concatenate(counts)


def _crossings(tree: shapely.STRtree, a: Floats, b: Floats, points: Floats, end: float) -> NDArray[np.int64]:
    """The same for edges a → b, whose boxes are in the tree; no edge reaches x = end."""
    far = np.stack([np.full(len(points), end), points[:, 1]], axis=1)
    ray, edge = tree.query(shapely.linestrings(np.stack([points, far], axis=1)))
    p, a, b = points[ray], a[edge], b[edge]
    side = (b[:, 0] - a[:, 0]) * (p[:, 1] - a[:, 1]) - (p[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])
    up = (a[:, 1] <= p[:, 1]) & (b[:, 1] > p[:, 1]) & (side > 0)
    down = (b[:, 1] <= p[:, 1]) & (a[:, 1] > p[:, 1]) & (side < 0)
    counts = np.bincount(ray, weights=up.astype(np.float64) - down, minlength=len(points))
    return np.rint(counts).astype(np.int64)


LARGEST = 1e5  # mm from the origin; coordinates beyond it are a mistake in the unit or the file

Polygons = NDArray[np.object_]


def check_reach(what: str, coordinates: Floats) -> None:
    """Raise for coordinates (n, any) in mm that are not finite, or beyond LARGEST."""
    if not coordinates.size:
        return
    far = float(np.abs(coordinates).max())  # NaN stays NaN
    if not np.isfinite(far):
        raise InputError(f"{what} has coordinates that are not finite")
    if far > LARGEST:
        raise InputError(
            f"{what} reaches {figure(far / 1000)} m from the origin, but {LARGEST / 1000:g} m is the limit"
        )


def joined(pieces: Iterable[BaseGeometry] | Polygons) -> BaseGeometry:
    """The union of polygons and multipolygons, valid."""
    polygons = _valid(distinct(_array(pieces)))
    if len(polygons) == 0:
        return EMPTY
    whole = shapely.multipolygons(polygons)
    return whole if shapely.is_valid(whole) else union(polygons)


def distinct(polygons: Polygons) -> Polygons:
    """The polygons without exact copies, in their order."""
    _, first = np.unique(shapely.to_wkb(polygons), return_index=True)
    return polygons[np.sort(first)]


def _array(pieces: Iterable[BaseGeometry] | Polygons) -> Polygons:
    """Polygons one by one, without the empty ones."""
    if not isinstance(pieces, np.ndarray):
        pieces = np.fromiter(pieces, dtype=object)
    parts: Polygons = shapely.get_parts(pieces)
    return parts[~shapely.is_empty(parts)]


def _valid(polygons: Polygons) -> Polygons:
    """The same, with polygons that cross themselves replaced by those of their even-odd area."""
    bad = ~shapely.is_valid(polygons)
    if not bad.any():
        return polygons
    rings = (
        [shapely.get_coordinates(one) for one in shapely.get_rings(polygon)] for polygon in polygons[bad]
    )
    mended = [fill(some, EVENODD) for some in rings]
    parts = shapely.get_parts(np.array(mended, dtype=object))
    return np.concatenate([polygons[~bad], parts[shapely.area(parts) > 0]])


def without_specks(area: BaseGeometry, smallest: float) -> BaseGeometry:
    """The area without polygons and holes of at most `smallest` mm², which rounding leaves."""
    parts: Polygons = shapely.get_parts(area)
    parts = parts[shapely.area(parts) > smallest]
    holed = shapely.get_num_interior_rings(parts) > 0
    kept = [
        shapely.Polygon(p.exterior, [r for r in p.interiors if shapely.Polygon(r).area > smallest])
        for p in parts[holed]
    ]
    both = np.concatenate([parts[~holed], np.array(kept, dtype=object)])
    return shapely.multipolygons(both) if len(both) else EMPTY


FEWEST, PAIRS = 16, 20_000  # shapes, and pairs of shapes, after which the time is looked at
Geometry = BaseGeometry
Indices = NDArray[np.intp]


def polygons(points: Floats, ends: Indices, rule: str = NONZERO) -> Polygons:
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


def parts(*geometries: BaseGeometry) -> Polygons:
    """The polygons of polygons and multipolygons, without those of no area."""
    single: Polygons = shapely.get_parts(np.array(geometries, dtype=object))
    return _with_area(single)


def covered(pieces: Polygons) -> BaseGeometry:
    """The union of valid polygons, tidied. Those that meet no other stay as they are."""
    pieces = distinct(pieces)
    owner = groups(pieces)
    alone = np.bincount(owner)[owner] == 1 if len(pieces) else np.zeros(0, dtype=bool)
    # Groups that touch in a point may cross there by the distance that tidying has moved them.
    return shapely.normalize(valid(_together([pieces[alone], parts(tidy(union(pieces[~alone])))])))


def even_odd(rings: Sequence[Floats]) -> BaseGeometry:
    """The area that an odd number of the rings encloses; the rule holds within a ring that crosses itself."""
    pieces = polygons(*flat(rings), EVENODD)
    first, second = _meeting(pieces)
    inside = _holding(shapely.contains_properly, pieces[first], pieces[second])
    outside = _holding(shapely.contains_properly, pieces[second], pieces[first])
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


def _with_area(pieces: Polygons) -> Polygons:
    return pieces[shapely.area(pieces) > 0]


def _meeting(pieces: Polygons) -> tuple[Indices, Indices]:
    """Pairs i < j of pieces that share at least a point, a few pieces at a time: a search cannot be ended."""
    tree, found, start, size = shapely.STRtree(pieces), [np.zeros((2, 0), dtype=np.intp)], 0, FEWEST
    while start < len(pieces):
        limits.spend()
        some = tree.query(pieces[start : start + size], predicate="intersects")
        found.append(some + [[start], [0]])
        start += size
        size = int(np.clip(size * PAIRS / max(some.shape[1], 1), FEWEST, 4 * size))
    a, b = np.concatenate(found, axis=1)
    return a[a < b], b[a < b]


def _holding(predicate: Callable[[Polygons, Polygons], Bools], a: Polygons, b: Polygons) -> Bools:
    """(m,) whether a predicate of shapely holds for a[k] and b[k]; no call of it can be ended, either."""
    held = [np.zeros(0, dtype=bool)]
    for start in range(0, len(a), PAIRS):
        limits.spend()
        held.append(predicate(a[start : start + PAIRS], b[start : start + PAIRS]))
    return np.concatenate(held)


def _nested(pieces: Polygons, outer: Indices, inner: Indices, which: Bools) -> BaseGeometry:
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


def _sum(pieces: Polygons) -> BaseGeometry:
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


def _together(parts: Sequence[Polygons]) -> BaseGeometry:
    """Polygons that do not meet, as one geometry."""
    every = np.concatenate([shapely.get_parts(part) for part in parts])
    every = _with_area(every[shapely.get_type_id(every) == shapely.GeometryType.POLYGON])
    return shapely.multipolygons(every) if len(every) else EMPTY
