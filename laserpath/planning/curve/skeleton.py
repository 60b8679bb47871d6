"""The skeleton of a drawing: its medial axis as a graph, without the spurs into corners.

The medial axis of lines that cross, bend and end is nearly the lines that were drawn, but for two things: at
a square end or an outer corner the axis has branches into the corners, which are dropped; and two lines that
cross at a slant leave two junctions a little apart, which are joined.

The medial axis has the centres of the circles that touch the edge on opposite sides. It is the part of the
Voronoi diagram of the densified edge that lies inside, without the branches into corners. A Voronoi edge is
kept if its two generators a, b subtend a wide angle at it: |a − b| ≥ 1.7 r (180° is 2 r; a branch into a
square corner has 1.41 r). See Attali, Boissonnat and Edelsbrunner, "Stability and computation of medial axes"
(2009), §3, for this criterion.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import shapely
from scipy.spatial import Voronoi
from shapely.geometry import MultiPolygon, Polygon

from laserpath.base.arrays import Bools, Floats, Indices

_WIDE = 1.7
_POINTS_MAX = 40_000


@dataclass(frozen=True, slots=True)
class MedialAxis:
    """start, end: (N, 2) ends of the pieces, mm.  radius: (N,) distance to the edge, mm."""

    start: Floats
    end: Floats
    radius: Floats

    def strokes(self, chosen: Bools, shortest: float, flatness: float) -> list[Floats]:
        """The chosen pieces (N,) joined to polylines (K, 2) of at least `shortest` mm.

        flatness: tolerance for simplifying them, mm.
        """
        pieces = np.stack([self.start[chosen], self.end[chosen]], axis=1)
        if len(pieces) == 0:
            return []
        merged = shapely.line_merge(shapely.multilinestrings(shapely.linestrings(pieces)))
        lines = shapely.get_parts(shapely.simplify(merged, flatness))
        return [shapely.get_coordinates(line) for line in lines[shapely.length(lines) >= shortest]]


@lru_cache(2)
def medial_axis(area: MultiPolygon, spacing: float, wide: float = _WIDE) -> MedialAxis:
    """The medial axis of `area`, whose edge is sampled every `spacing` mm (less densely if it is long).

    wide: least distance of a point's two nearest edge points, in radii; a smaller one keeps more branches.
    The last two are kept: candidates for a starting curve differ in what they draw along it.
    """
    spacing = max(spacing, area.length / _POINTS_MAX)
    edge = shapely.get_coordinates(area.boundary.segmentize(spacing))
    edge = np.unique(edge, axis=0)
    diagram = Voronoi(edge)
    ridges = np.asarray(diagram.ridge_vertices)
    finite = (ridges >= 0).all(axis=1)
    a, b = edge[diagram.ridge_points[finite, 0]], edge[diagram.ridge_points[finite, 1]]
    start, end = diagram.vertices[ridges[finite, 0]], diagram.vertices[ridges[finite, 1]]
    radius = np.hypot(*((start + end) / 2 - a).T)
    keep = np.hypot(*(a - b).T) >= wide * radius
    shapely.prepare(area)
    for point in (start, end):
        keep[keep] = shapely.contains_xy(area, point[keep])
    return MedialAxis(start[keep], end[keep], radius[keep])


_ANGLE = 1.3
"""Least distance of an axis point's two nearest edge points, in radii: 1.41 of a branch into a square corner
and of the middle of a crossing; a larger value loses crossings, a smaller one gives spurs from noise."""

_SPUR, _SHARP = 2.0, 0.5
"""A branch is a spur if it is shorter than this, in radii at its foot, and its tip is nearer to the edge than
this share of that radius. Larger values drop short pointed lines, smaller ones keep corners' branches."""

_DOT = 0.1
"""Length of a part's chains, relative to the diagonal of its bounds, below which it is a dot: a larger value
takes the skeleton of short fat lines away, a smaller one leaves discs with a stroke that has no direction."""

_JOINED = 1.0
"""Distance of two junctions, in radii, below which they are one: a larger value joins lines side by side."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """vertices: (M, 2) mm.  radius: (M,) mm, their distance to the edge.  chains: vertices along each line.

    A chain ends at a junction or at the end of a line; of a loop the first and last vertex are the same.
    """

    vertices: Floats
    radius: Floats
    chains: list[Indices]

    def simplified(self, flatness: float) -> tuple[Floats, Indices, Floats]:
        """(vertices (M, 2), ends (N, 2), radius (N,)) of straight lines within `flatness` of the chains.

        All in mm, but for ends, which are indices of vertices.
        """
        ends, radii = [], []
        for chain in self.chains:
            kept = _kept(self.vertices[chain], flatness)
            for first, last in pairwise(kept):
                ends.append((chain[first], chain[last]))
                radii.append(float(np.median(self.radius[chain[first : last + 1]])))
        used, index = np.unique(np.array(ends, dtype=np.int64).reshape(-1, 2), return_inverse=True)
        return self.vertices[used], index.reshape(-1, 2), np.array(radii)

    def outside(self, wide: MultiPolygon) -> Skeleton:
        """The chains without those, or those parts, that lie in an area."""
        shapely.prepare(wide)
        inside, chains = shapely.contains_xy(wide, self.vertices), []
        for chain in self.chains:
            cuts = np.flatnonzero(inside[chain])
            parts = np.split(chain, np.unique(np.concatenate([cuts, cuts + 1]))) if len(cuts) else [chain]
            chains += [part for part in parts if len(part) > 1]
        return Skeleton(self.vertices, self.radius, chains)

    def with_dots(self, area: MultiPolygon, filled: MultiPolygon) -> Skeleton:
        """With a line for each part of an area that has hardly any of the chains, as a disc.

        The line is in the middle of the part, half as long. Parts that touch `filled` are left as they are.
        """
        parts = shapely.get_parts(area)
        middles = [self.vertices[chain[len(chain) // 2]] for chain in self.chains]
        owner = shapely.STRtree(parts).nearest(shapely.points(np.array(middles).reshape(-1, 2)))
        lengths = [np.hypot(*np.diff(self.vertices[chain], axis=0).T).sum() for chain in self.chains]
        drawn = np.bincount(owner, np.array(lengths, dtype=np.float64), len(parts))
        low, high = np.split(shapely.bounds(parts), 2, axis=1)
        dot = (drawn < _DOT * np.hypot(*(high - low).T)) & ~shapely.intersects(parts, filled)
        vertices, radius = [self.vertices], [self.radius]
        chains = [chain for chain, part in zip(self.chains, owner, strict=True) if not dot[part]]
        for number, part in enumerate(parts[dot]):
            line, wide = _middle_line(part)
            vertices.append(line)
            radius.append(np.full(2, wide / 2))
            chains.append(len(self.vertices) + 2 * number + np.arange(2))
        return Skeleton(np.concatenate(vertices), np.concatenate(radius), chains)


def _middle_line(part: Polygon) -> tuple[Floats, float]:
    """(line (2, 2), width), mm: half of the longer middle line of the smallest box around a part."""
    box = shapely.get_coordinates(part.minimum_rotated_rectangle)
    if len(box) < 5:  # so thin that the box is a line
        box = shapely.get_coordinates(shapely.box(*part.bounds))
    sides = np.diff(box[:3], axis=0)
    long = int(np.argmax(np.hypot(*sides.T)))
    return box[:4].mean(axis=0) + np.outer([-0.25, 0.25], sides[long]), float(np.hypot(*sides[1 - long]))


def skeleton(area: MultiPolygon, spacing: float) -> Skeleton:
    """The skeleton of an area whose edge is sampled every `spacing` mm."""
    axis = medial_axis(area, spacing, _ANGLE)
    vertices, index = np.unique(np.concatenate([axis.start, axis.end]), axis=0, return_inverse=True)
    pairs = np.sort(index.reshape(2, -1).T, axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    radius = shapely.distance(area.boundary, shapely.points(vertices))
    while True:
        chains = _chains(pairs, len(vertices))
        spurs = [chain for chain in chains if _is_spur(chain, pairs, vertices, radius)]
        if not spurs:
            break
        gone = {tuple(sorted(step)) for chain in spurs for step in pairwise(chain)}
        pairs = pairs[[tuple(pair) not in gone for pair in pairs.tolist()]]
    return _with_joined_junctions(Skeleton(vertices, radius, chains), pairs)


def _degrees(pairs: Indices, count: int) -> Indices:
    return np.bincount(pairs.ravel(), minlength=count)


def _chains(pairs: Indices, count: int) -> list[Indices]:
    """The chains between vertices that have not just two neighbours, then the loops."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for one, other in pairs.tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)
    degree, chains = _degrees(pairs, count), []
    seen: set[tuple[int, int]] = set()
    nodes = np.flatnonzero((degree > 0) & (degree != 2)).tolist()
    for begin in (*nodes, *np.flatnonzero(degree == 2).tolist()):
        for following in neighbours[begin]:
            if (begin, following) in seen:
                continue
            chain = [begin, following]
            while degree[chain[-1]] == 2 and chain[-1] != begin:
                one, other = neighbours[chain[-1]]
                chain.append(other if one == chain[-2] else one)
            seen.update(pairwise(chain))
            seen.update(pairwise(chain[::-1]))
            chains.append(np.array(chain))
    return chains


def _is_spur(chain: Indices, pairs: Indices, vertices: Floats, radius: Floats) -> bool:
    degree = _degrees(pairs, len(vertices))[chain[[0, -1]]]
    if sorted(degree.tolist())[0] != 1 or max(degree) < 3:
        return False
    foot, tip = (chain[0], chain[-1]) if degree[1] == 1 else (chain[-1], chain[0])
    length = np.hypot(*np.diff(vertices[chain], axis=0).T).sum()
    return bool(length < _SPUR * radius[foot] and radius[tip] < _SHARP * radius[foot])


def _with_joined_junctions(found: Skeleton, pairs: Indices) -> Skeleton:
    """The skeleton with chains that are shorter than the line is wide drawn together into one junction."""
    degree = _degrees(pairs, len(found.vertices))
    to, vertices, chains = np.arange(len(found.vertices)), found.vertices.copy(), []
    for chain in found.chains:
        length = np.hypot(*np.diff(vertices[chain], axis=0).T).sum()
        first, last = chain[[0, -1]]
        short = first != last and length < _JOINED * found.radius[chain].max()
        if short and min(degree[first], degree[last]) > 2 and to[first] != to[last]:
            joined = (to == to[first]) | (to == to[last])
            vertices[joined] = vertices[[to[first], to[last]]].mean(axis=0)
            to[joined] = to[first]
        else:
            chains.append(chain)
    chains = [np.concatenate([to[c[:1]], c[1:-1], to[c[-1:]]]) for c in chains]
    return Skeleton(vertices, found.radius, [c for c in chains if len(c) > 2 or c[0] != c[-1]])


def _kept(line: Floats, flatness: float) -> Indices:
    """Indices of a polyline's vertices (K, 2) that stay when it is simplified (Douglas and Peucker 1973)."""
    keep: Bools = np.zeros(len(line), dtype=bool)
    keep[[0, -1]] = True
    parts = [(0, len(line) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        chord = shapely.LineString(line[[first, last]]) if (line[first] != line[last]).any() else None
        points = shapely.points(line[first + 1 : last])
        off = shapely.distance(points, chord or shapely.Point(line[first]))
        worst = int(np.argmax(off))
        if off[worst] > flatness:
            keep[first + 1 + worst] = True
            parts += [(first, first + 1 + worst), (first + 1 + worst, last)]
    return np.flatnonzero(keep)
