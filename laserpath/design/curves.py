"""Cubic Bézier curves → polylines within a stated distance, and the areas of stroked ones.

Every curve is a chain of cubics B(t) = Σ bᵢ(t) Pᵢ: lines and quadratics exactly, elliptic
arcs in pieces of at most 22.5°, whose largest radial error is 7e-8 of the radius. Cubics are
affine-invariant, so they can be transformed before they are flattened.

Flatness: the distance to the segment P₀P₃ is a convex function, so on the curve it is at most
Σ bᵢ dᵢ = b₁ d₁ + b₂ d₂ ≤ ¾ max(d₁, d₂), with dᵢ the distance of Pᵢ. A piece that may be farther
than the tolerance is halved (de Casteljau).

cubics: (n, 4, 2), piece k from [k, 0] to [k, 3], which is [k+1, 0].

**Strokes.** The area of a stroked polyline, exactly as SVG defines it, comes as pieces whose union it is.
Each segment is a rectangle of the stroke's width; each join adds the wedge between two of them (mitre, round
or bevel), each end its cap. GEOS's own buffer cannot be used: it moves the edge by up to 1 % of the width and
cuts a mitre over its limit where SVG bevels it. At smooth vertices neighbours are merged: both edges are
moved to the intersection of the offset lines, and a whole run is one polygon. Between the pieces of one curve
the join is round (it shows at cusps only).

With u the direction of a segment, n = h·(−u_y, u_x) the offset to its left, θ the turn at a
vertex: tip of the mitre (n₀ + n₁)/(1 + cos θ), at h/cos(θ/2); reach along the edge h·tan(θ/2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats

ARC_STEP = np.pi / 8  # largest angle of one cubic of an arc, radians
ROUNDS = 24  # most halvings: 2²⁴ pieces per curve


@dataclass(frozen=True, slots=True)
class Subpath:
    """One stroke of the pen. cubics: (n, 4, 2), n ≥ 1."""

    cubics: Floats
    closed: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """Cubics to be flattened. tolerance: largest distance from the curve.

    turn: pieces are also halved until their end tangents differ by less (radians). Strokes need
    this, since their edges lie off the curve.
    """

    cubics: Floats
    tolerance: float
    turn: float = np.inf


@dataclass(frozen=True, slots=True)
class Polyline:
    """points: (n, 2) vertices.  joint: (n,) whether a vertex is the end of a cubic, not of a piece of one."""

    points: Floats
    joint: Bools


def lines(points: ArrayLike) -> Floats:
    """(n+1, 2) vertices → (n, 4, 2) straight cubics."""
    p = np.asarray(points, dtype=np.float64)
    return np.stack([p[:-1], p[:-1], p[1:], p[1:]], axis=1)


def arc(centre: ArrayLike, x_axis: ArrayLike, y_axis: ArrayLike, start: float, sweep: float) -> Floats:
    """The elliptic arc centre + x_axis·cos θ + y_axis·sin θ, θ from `start` over `sweep` (radians)."""
    n = max(1, int(np.ceil(abs(sweep) / ARC_STEP - 1e-9)))
    step = sweep / n
    theta = start + step * np.arange(n + 1)
    unit = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    tangent = 4 / 3 * np.tan(step / 4) * np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    controls = np.stack([unit[:-1], unit[:-1] + tangent[:-1], unit[1:] - tangent[1:], unit[1:]], axis=1)
    return np.asarray(controls @ np.array([x_axis, y_axis], dtype=np.float64) + centre, dtype=np.float64)


def polylines(chains: Sequence[Chain]) -> list[Polyline]:
    """Each chain flattened. Flatten many at once: a thousand take little longer than one."""
    if not chains:
        return []
    sizes = np.array([len(c.cubics) for c in chains])
    cubics = np.concatenate([c.cubics for c in chains])
    tolerance = np.repeat([c.tolerance for c in chains], sizes)
    turn = np.repeat([c.turn for c in chains], sizes)
    key, end = _pieces(cubics, tolerance, turn)
    out = []
    first = np.cumsum(sizes) - sizes  # index of each chain's first cubic
    splits = np.searchsorted(key, first[1:])
    for c, k, xy in zip(chains, np.split(key, splits), np.split(end, splits), strict=True):
        limits.spend()
        joint = np.concatenate([[True], k[1:] % 1 == 0, [True]])  # where a piece begins a cubic
        out.append(Polyline(np.concatenate([c.cubics[:1, 0], xy]), joint))
    return out


def _pieces(cubics: Floats, tolerance: Floats, turn: Floats) -> tuple[Floats, Floats]:
    """(m,) where each flat piece begins, counted in cubics (cubic k spans k to k+1); (m, 2) its end point."""
    key = np.arange(len(cubics), dtype=np.float64)
    width = 1.0
    keys, ends = [], []
    for _ in range(ROUNDS):
        flat = _is_flat(cubics, tolerance) & _is_straight(cubics, turn, tolerance)
        keys.append(key[flat])
        ends.append(cubics[flat, 3])
        bent = ~flat
        limits.spend()
        if not bent.any():
            break
        width /= 2
        cubics, tolerance, turn = (
            _halve(cubics[bent]),
            np.repeat(tolerance[bent], 2),
            np.repeat(turn[bent], 2),
        )
        key = np.stack([key[bent], key[bent] + width], axis=1).ravel()
    else:
        keys.append(key)
        ends.append(cubics[:, 3])
    begin = np.concatenate(keys)
    order = np.argsort(begin)
    return begin[order], np.concatenate(ends)[order]


def _is_flat(c: Floats, tolerance: Floats) -> Bools:
    """(n,) whether the curve is within the tolerance of its chord."""
    chord = c[:, 3] - c[:, 0]
    square = np.einsum("ij,ij->i", chord, chord)
    worst = np.zeros(len(c))
    for k in (1, 2):
        arm = c[:, k] - c[:, 0]
        along = np.einsum("ij,ij->i", arm, chord)
        s = np.clip(np.divide(along, square, out=np.zeros_like(along), where=square > 0), 0, 1)
        foot = arm - s[:, None] * chord
        worst = np.maximum(worst, np.einsum("ij,ij->i", foot, foot))
    flat: Bools = 0.75**2 * worst <= tolerance**2
    return flat


def _is_straight(c: Floats, turn: Floats, tolerance: Floats) -> Bools:
    """(n,) whether the end tangents differ by at most `turn`; pieces far below the tolerance always pass."""
    if not np.isfinite(turn).any():
        return np.ones(len(c), dtype=bool)
    chord = c[:, 3] - c[:, 0]
    first = np.where((c[:, 1] != c[:, 0]).any(1)[:, None], c[:, 1] - c[:, 0], chord)
    last = np.where((c[:, 2] != c[:, 3]).any(1)[:, None], c[:, 3] - c[:, 2], chord)
    cross = first[:, 0] * last[:, 1] - first[:, 1] * last[:, 0]
    angle = np.abs(np.arctan2(cross, np.einsum("ij,ij->i", first, last)))
    span = np.abs(c - c[:, :1]).max(axis=(1, 2))
    straight: Bools = (angle <= turn) | (span < 0.01 * tolerance)
    return straight


def _halve(c: Floats) -> Floats:
    """(n, 4, 2) → (2n, 4, 2), both halves of each in order."""
    p0, p1, p2, p3 = c[:, 0], c[:, 1], c[:, 2], c[:, 3]
    p01, p12, p23 = (p0 + p1) / 2, (p1 + p2) / 2, (p2 + p3) / 2
    p012, p123 = (p01 + p12) / 2, (p12 + p23) / 2
    middle = (p012 + p123) / 2
    halves = [p0, p01, p012, middle, middle, p123, p23, p3]
    return np.stack(halves, axis=1).reshape(-1, 4, 2)


RUN = 128  # most segments in one polygon; longer runs are fewer polygons, but more of them cross themselves

ROUNDING = 1e-9  # relative error of lengths along a line, within which dashes count as ending together

FINEST = (
    3e-3  # least angle between vertices, radians; it keeps half a tolerance of 2 µm up to widths of 1.8 m
)


@dataclass(frozen=True, slots=True)
class Pen:
    """How a line is drawn. width: in the units of the points.  cap: butt, round or square.

    join: miter, round or bevel.  miter_limit: longest mitre ÷ width.
    tolerance: of round joins and caps.
    """

    width: float
    cap: str
    join: str
    miter_limit: float
    tolerance: float

    @property
    def half(self) -> float:
        """Half the width."""
        return self.width / 2

    @property
    def turn(self) -> float:
        """Angle between the vertices of a round edge that keeps to half the tolerance, radians."""
        return max(float(2 * np.arccos(max(1 - 0.5 * self.tolerance / self.half, 0.5))), FINEST)


def stroke(line: Polyline, closed: bool, pen: Pen) -> list[BaseGeometry]:
    """Polygons whose union is the stroke of the polyline. A closed one ends where it begins."""
    points = np.vstack([line.points[:-1], line.points[:1]]) if closed else line.points
    moved = np.ones(len(points), dtype=bool)
    moved[1:] = (points[1:] != points[:-1]).any(axis=1)
    joint = np.logical_or.reduceat(line.joint, np.flatnonzero(moved))
    points = points[moved]
    if len(points) < 2:
        return _dot(points[0], pen)
    edge = np.diff(points, axis=0)
    length = np.hypot(edge[:, 0], edge[:, 1])
    u = edge / length[:, None]
    normal = pen.half * np.stack([-u[:, 1], u[:, 0]], axis=1)
    before, after = _neighbours(len(edge), closed)
    cross = u[before, 0] * u[after, 1] - u[before, 1] * u[after, 0]
    dot = np.einsum("ij,ij->i", u[before], u[after])
    mitred = _is_mitred(dot, joint[after], pen)
    smooth = mitred & (pen.half * np.abs(cross) <= np.minimum(length[before], length[after]) / 2 * (1 + dot))
    corners, merged = np.empty((len(edge), 6, 2)), np.zeros(len(edge) + 1, dtype=bool)
    corners[:, 1], corners[:, 4] = points[:-1], points[1:]
    tip = (normal[before] + normal[after]) / np.maximum(1 + dot, 1e-9)[:, None]
    for side, start, end in ((1, 0, 5), (-1, 2, 3)):  # left, right
        corners[:, start] = points[:-1] + side * normal
        corners[:, end] = points[1:] + side * normal
        cut = smooth | (mitred & (side * cross < 0))  # an outer edge reaches its mitre in any case
        corners[after[cut], start] = corners[before[cut], end] = points[after[cut]] + side * tip[cut]
    merged[after[smooth]] = True
    pieces = _ribbons(corners, merged)
    for join, which in ((pen.join, ~mitred & joint[after]), ("round", ~mitred & ~joint[after])):
        a, b = before[which], after[which]
        pieces += _joins(points[b], normal[a], normal[b], cross[which], dot[which], replace(pen, join=join))
    return pieces if closed else pieces + _caps(points, u, normal, pen)


def dashes(line: Polyline, closed: bool, pattern: Floats, offset: float) -> list[tuple[Polyline, bool]]:
    """The dashes of one polyline, and whether each is closed. pattern: lengths on, off, on, off, …

    A dash that ends where a closed line begins, and one that begins there, are one dash with a join.
    """
    points = line.points
    at = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    period, least = pattern.sum(), ROUNDING * at[-1]
    shift = offset % period
    repeats = np.arange(np.ceil((at[-1] + shift) / period) + 1)
    ends = np.concatenate([[0.0], np.cumsum(pattern)])
    start, stop = ((repeats[:, None] * period + e[::2]).ravel() - shift for e in (ends[:-1], ends[1:]))
    dot = (start == stop) & (start >= 0)  # a dash of no length has caps, even at the start
    keep = (dot | (stop > least)) & (start < at[-1] - least)
    out = []
    for a, b in zip(np.maximum(start[keep], 0), np.minimum(stop[keep], at[-1]), strict=True):
        # A vertex at an end would give the cap a direction that is a rounding error.
        inner = slice(np.searchsorted(at, a + least, "right"), np.searchsorted(at, b - least, "left"))
        ends_xy = [[np.interp(s, at, points[:, k]) for k in (0, 1)] for s in (a, b)]
        joint = np.concatenate([[True], line.joint[inner], [True]])
        out.append(Polyline(np.vstack([ends_xy[:1], points[inner], ends_xy[1:]]), joint))
    meets = closed and keep.any() and start[keep][0] <= least and stop[keep][-1] >= at[-1] - least
    if meets and len(out) == 1:
        return [(line, True)]
    if meets:
        first, last = out.pop(0), out.pop()
        seam = Polyline(
            np.vstack([last.points, first.points[1:]]), np.concatenate([last.joint, first.joint[1:]])
        )
        out.append(seam)
    return [(dash, False) for dash in out]


def _neighbours(n: int, closed: bool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The segments before and after each vertex that joins two; segment k begins at vertex k."""
    after = np.arange(0 if closed else 1, n)
    return (after - 1) % n, after


def _is_mitred(dot: Floats, joint: Bools, pen: Pen) -> Bools:
    """(m,) vertices whose outer edge is a mitre, or differs from one by about half the tolerance."""
    cosine = np.sqrt(np.clip((1 + dot) / 2, 1e-12, 1))  # of half the turn
    mitre = (pen.join == "miter") & joint & (1 / cosine <= pen.miter_limit)
    close = pen.half * (1 / cosine - 1) <= 0.6 * pen.tolerance
    mitred: Bools = (dot > 0) & (mitre | close)
    return mitred


def _ribbons(corners: Floats, merged: Bools) -> list[BaseGeometry]:
    """The segments, in runs over merged vertices. corners: (n, 6, 2) of each; merged: (n+1,).

    Both ends of a run have the line's own vertex, as the neighbouring pieces have: a vertex on one
    side alone would leave a slit of no area, but with two edges right through the stroke.
    """
    n = len(corners)
    cut = np.flatnonzero(~merged[1:-1]) + 1
    bounds = np.concatenate([[0], cut, [n]])
    starts = np.concatenate([np.arange(a, b, RUN) for a, b in pairwise(bounds)])
    if len(starts) == 1 and merged[0]:  # one smooth ring: a run must not touch its own start
        starts = np.array([0, n // 2])
    stops = np.append(starts[1:], n)
    out: list[BaseGeometry] = list(shapely.polygons(corners[starts[stops - starts == 1]]))
    for a, b in zip(starts, stops, strict=True):
        if b - a == 1:
            continue
        run = corners[a:b]
        ring = np.vstack([run[:1, 0], run[:, 5], run[-1:, 4], run[::-1, 3], run[:1, 2], run[:1, 1]])
        polygon = shapely.polygons(ring)
        out.extend([polygon] if shapely.is_valid(polygon) else shapely.polygons(run))
    return out


def _joins(p: Floats, n0: Floats, n1: Floats, cross: Floats, dot: Floats, pen: Pen) -> list[BaseGeometry]:
    """The wedges on the outer side of each turn."""
    if len(p) == 0:
        return []
    outer = np.where(cross > 0, -1.0, 1.0)[:, None]
    a, b = outer * n0, outer * n1
    if pen.join == "round":
        # On the outer side; straight back, the sign of the cross product is a rounding error.
        angle = -outer[:, 0] * np.abs(np.arctan2(cross, dot))
        steps = np.maximum(1, np.ceil(np.abs(angle) / pen.turn)).astype(int)
        groups = [(k, steps == k) for k in np.unique(steps)]
        return [fan for k, at in groups for fan in _fans(p[at], a[at], b[at], angle[at], k)]
    bevel = np.stack([p, p + a, p + b], axis=1)
    if pen.join != "miter":
        return list(shapely.polygons(bevel))
    cosine = np.sqrt(np.clip((1 + dot) / 2, 0, 1))
    sharp = cosine * pen.miter_limit >= 1
    tip = p[sharp] + (a + b)[sharp] / (1 + dot[sharp])[:, None]
    mitre = np.stack([p[sharp], (p + a)[sharp], tip, (p + b)[sharp]], axis=1)
    return [*shapely.polygons(mitre), *shapely.polygons(bevel[~sharp])]


def _fans(p: Floats, spoke: Floats, last: Floats, angle: Floats, steps: int) -> list[BaseGeometry]:
    """Sectors about p (m, 2) from `spoke` (m, 2) through `angle` (m,) to `last`.

    The last point is given, since rounding would leave a slit to the next piece.
    """
    theta = angle[:, None] * np.linspace(0, 1, steps + 1)
    c, s = np.cos(theta), np.sin(theta)
    x = p[:, :1] + c * spoke[:, :1] - s * spoke[:, 1:]
    y = p[:, 1:] + s * spoke[:, :1] + c * spoke[:, 1:]
    rim = np.stack([x, y], axis=2)
    rim[:, -1] = p + last
    return list(shapely.polygons(np.concatenate([p[:, None], rim], axis=1)))


def _caps(points: Floats, u: Floats, normal: Floats, pen: Pen) -> list[BaseGeometry]:
    """The caps at both ends of an open line."""
    p = points[[0, -1]]
    out = np.stack([-u[0], u[-1]])
    left = np.stack([normal[0], -normal[-1]])  # from here half a turn anticlockwise goes round the end
    if pen.cap == "round":
        return _fans(p, left, -left, np.full(2, np.pi), max(2, int(np.ceil(np.pi / pen.turn))))
    if pen.cap == "square":
        far = pen.half * out
        return list(
            shapely.polygons(np.stack([p, p + left, p + left + far, p - left + far, p - left], axis=1))
        )
    return []


def _dot(point: Floats, pen: Pen) -> list[BaseGeometry]:
    """The stroke of a line of no length: a disc, a square or nothing."""
    h = pen.half
    if pen.cap == "round":
        theta = np.linspace(0, 2 * np.pi, max(8, int(np.ceil(2 * np.pi / pen.turn))) + 1)
        return [shapely.polygons(point + h * np.stack([np.cos(theta), np.sin(theta)], axis=1))]
    if pen.cap == "square":
        return [shapely.box(*(point - h), *(point + h))]
    return []
