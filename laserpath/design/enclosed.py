"""The area that lines without a width enclose, such as the single lines in which CAD programs draw outlines.

Lines whose ends meet are joined to loops, which are rings like any other: the even-odd rule holds
over all rings, so that an outline in another is a hole. Lines that are left and branch, cross, or share an
edge with a ring cut the plane into cells. A cell outside every ring that the lines touch is solid; inside a
ring, the ring decides: two boxes with a common edge are one area. Such lines are an outline only if hardly
any of them hangs loose; otherwise, as in the letters of a single-stroke font, they enclose nothing.

An end that misses another line by a small gap is taken to meet it. An area narrower than the gaps that were
closed for it is not filled: two lines side by side stay lines.

**Loops.** Ends no farther apart than the tolerance are one node. Two loose ends, each the nearest to the
other, are one node too if the gap between them is small. Curves with a loose end are removed, one after the
other. Where an even number of ends is left at every node, the curves are a sum of closed loops, and every way
to traverse them gives the same even-odd area. Where three curves meet, say at a line that divides a
rectangle, that is undefined: such curves branch, and are no loops.

ends: (n, 2, 2), the first and the last point of n curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import figure
from laserpath.base.overlay import GRID, groups, mosaic, noded
from laserpath.design import fill
from laserpath.design.fill import NONZERO

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap between two ends. width: mm.  place: its middle, mm."""

    width: float
    place: tuple[float, float]

    @property
    def at(self) -> str:
        """The place for a message: `(10, 6) mm`."""
        return f"({self.place[0]:.5g}, {self.place[1]:.5g}) mm"


@dataclass(frozen=True, slots=True)
class Loops:
    """loops: the curves of each in order, and whether each is reversed.  open, branching: (n,) the other
    curves.

    nearest: the smallest gap between two loose ends; None if there are fewer.
    """

    loops: list[list[tuple[int, bool]]]
    open: Bools
    branching: Bools
    nearest: Gap | None


def joined(ends: Floats, tolerance: float, gap: float = 0.0) -> Loops:
    """The loops of curves. gap: largest distance of two loose ends that are taken to meet."""
    if len(ends) == 0:
        none = np.zeros(0, dtype=bool)
        return Loops([], none, none.copy(), None)
    nodes = _bridged(ends, _nodes(ends.reshape(-1, 2), tolerance).reshape(-1, 2), gap)
    live = _without_loose(nodes)
    degree = np.bincount(nodes[live].ravel(), minlength=nodes.max() + 1)
    links = (np.ones(live.sum()), (nodes[live, 0], nodes[live, 1]))
    graph = coo_array(links, shape=(len(degree), len(degree)))
    island = connected_components(graph, directed=False)[1]
    odd = np.isin(island, island[degree % 2 == 1])
    branching = live & odd[nodes[:, 0]]
    return Loops(_trails(nodes, live & ~branching), ~live, branching, _nearest(ends, nodes))


def _nodes(points: Floats, tolerance: float) -> Ints:
    """(m,) node of each point; points within the tolerance, directly or in chains, share a node."""
    pairs = cKDTree(points).query_pairs(tolerance, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
    nodes: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return nodes


def _bridged(ends: Floats, nodes: Ints, gap: float) -> Ints:
    """The nodes, (n, 2), with loose ends across small gaps merged."""
    loose = np.flatnonzero(np.bincount(nodes.ravel())[nodes.ravel()] == 1)
    if len(loose) < 2:
        return nodes
    points = ends.reshape(-1, 2)[loose]
    far, near = cKDTree(points).query(points, k=2)
    partner = np.where(near[:, 0] == np.arange(len(loose)), near[:, 1], near[:, 0])
    mutual = (partner[partner] == np.arange(len(loose))) & (far[:, 1] <= gap)
    first = np.flatnonzero(mutual & (np.arange(len(loose)) < partner))
    flat = nodes.ravel().copy()
    flat[loose[partner[first]]] = flat[loose[first]]
    return flat.reshape(-1, 2)


def _without_loose(nodes: Ints) -> Bools:
    """(n,) whether a curve remains when curves with a loose end are removed repeatedly."""
    touching: dict[int, list[int]] = {}
    for curve, pair in enumerate(nodes.tolist()):
        for node in pair:
            touching.setdefault(node, []).append(curve)
    degree = np.bincount(nodes.ravel())
    live = np.ones(len(nodes), dtype=bool)
    loose = np.flatnonzero(degree == 1).tolist()
    while loose:
        node = loose.pop()
        for curve in touching[node]:
            if live[curve] and degree[node] == 1:
                live[curve] = False
                for end in nodes[curve].tolist():
                    degree[end] -= 1
                    if degree[end] == 1:
                        loose.append(end)
    return live


def _trails(nodes: Ints, live: Bools) -> list[list[tuple[int, bool]]]:
    """Closed trails over the live curves, each curve once. Every node has an even number of ends."""
    leaving: dict[int, list[tuple[int, bool]]] = {}
    for curve in np.flatnonzero(live).tolist():
        a, b = nodes[curve].tolist()
        leaving.setdefault(a, []).append((curve, False))
        leaving.setdefault(b, []).append((curve, True))
    used = ~live
    loops = []
    for first in np.flatnonzero(live).tolist():
        if used[first]:
            continue
        used[first] = True
        start, at = nodes[first].tolist()
        loop = [(first, False)]
        while at != start:
            curve, back = leaving[at].pop()
            if used[curve]:
                continue
            used[curve] = True
            loop.append((curve, back))
            at = int(nodes[curve, 0 if back else 1])
        loops.append(loop)
    return loops


def _nearest(ends: Floats, nodes: Ints) -> Gap | None:
    """The smallest gap between loose ends, where an outline may have been intended to close."""
    loose = ends[np.bincount(nodes.ravel())[nodes] == 1]
    if len(loose) < 2:
        return None
    apart, near = cKDTree(loose).query(loose, k=2)
    k = int(apart[:, 1].argmin())
    return between(loose[k], loose[near[k, 1]])


def between(p: Floats, q: Floats) -> Gap:
    """The gap between two points, mm."""
    x, y = ((p + q) / 2).tolist()
    return Gap(float(np.hypot(*(p - q))), (x, y))


SAME = 1e-6  # mm: outlines that agree within this are one outline drawn twice
LOOSE = 0.1
"""Largest share of branching lines that may hang loose, as ends beyond a corner do. In a letter A of single
lines a quarter does; larger values fill such letters."""
_BEYOND = 10 * GRID
"""mm by which a line is extended over the one that it meets, so that rounding leaves no gap."""

Rings = list[Floats]


@dataclass(frozen=True, slots=True)
class Enclosed:
    """area: of all outlines.  open, branching: (n,) the lines that enclose nothing.

    again: rings that are drawn twice.  cells: of each outline of branching lines.  closed: the gaps that were
    closed.  nearest: the smallest gap between loose ends that was not; None: there is none.
    """

    area: BaseGeometry
    open: Bools
    branching: Bools
    again: int
    cells: list[int]
    closed: list[Gap]
    nearest: Gap | None

    def notes(self, spot: float) -> list[str]:
        """Warnings about gaps and branching lines. spot: the widest gap that is closed, mm."""
        return [*_about_gaps(self.closed, spot), *_about_cells(self.cells)]


@dataclass(frozen=True, slots=True)
class _Net:
    """Lines and rings that meet. lines, rings: their numbers.  area: of all.  cells: between the lines."""

    lines: list[int]
    rings: list[int]
    area: BaseGeometry
    cells: int
    gaps: list[Gap]


@dataclass(frozen=True, slots=True)
class _Bars:
    """Short lines from ends to the lines that they meet. gaps: the one that each closes; None: none."""

    lines: list[BaseGeometry] = field(default_factory=list)
    gaps: list[Gap | None] = field(default_factory=list)


def enclosed(rings: Rings, lines: Rings, tolerance: float, gap: float, *, branching: bool = True) -> Enclosed:
    """The area that closed rings, and lines of two vertices and more, enclose together, mm.

    tolerance: largest distance of ends that meet.  gap: the largest that is closed.  branching: whether lines
    that branch or cross enclose something, too.
    """
    rings = list(rings)
    closed: list[Gap] = []
    found = _joined(rings, closed, lines, tolerance, gap)
    rings, again = _each_once(rings)
    outlines: list[_Net] = []
    if branching and (left := np.flatnonzero(found.open | found.branching)).size:
        outlines = list(_outlines([lines[k] for k in left], rings, tolerance, gap))
        for outline in outlines:
            found.open[left[outline.lines]] = found.branching[left[outline.lines]] = False
            closed += outline.gaps
    taken = {k for outline in outlines for k in outline.rings}
    rings = [ring for k, ring in enumerate(rings) if k not in taken]
    for outline in outlines:
        parts = shapely.get_parts(outline.area)  # a multipolygon has no rings for shapely
        rings += [shapely.get_coordinates(ring) for ring in shapely.get_rings(parts)]
    nearest = found.nearest if found.open.any() else None
    cells = [outline.cells for outline in outlines]
    return Enclosed(fill.even_odd(rings), found.open, found.branching, again, cells, closed, nearest)


def _joined(rings: Rings, closed: list[Gap], lines: Rings, tolerance: float, gap: float) -> Loops:
    """The lines that are no loops. Adds those that are to `rings`, and the gaps in them to `closed`.

    Gaps are closed between what is left without that, so that they change no outline that is whole.
    """
    ends = np.array([line[[0, -1]] for line in lines]).reshape(-1, 2, 2)
    left = np.arange(len(lines))
    for reach in (0.0, gap):
        found = joined(ends[left], tolerance, reach)
        for loop in found.loops:
            parts = [lines[left[k]][::-1] if back else lines[left[k]] for k, back in loop]
            ring, gaps = np.concatenate(parts), _gaps(parts, tolerance) if reach else []
            if gaps and (len(ring) < 3 or _is_sliver(shapely.Polygon(ring), gaps)):
                found.open[[k for k, _ in loop]] = True
            else:
                rings.append(ring)
                closed += gaps
        which = left[found.open], left[found.branching]
        left = left[found.open | found.branching]
    opened, branching = np.zeros((2, len(lines)), dtype=bool)
    opened[which[0]] = branching[which[1]] = True
    return Loops([], opened, branching, found.nearest)


def _gaps(parts: Sequence[Floats], tolerance: float) -> list[Gap]:
    """The gaps between consecutive lines of a loop."""
    gaps = [between(before[-1], after[0]) for before, after in pairwise([parts[-1], *parts])]
    return [gap for gap in gaps if gap.width > tolerance]


def _is_sliver(area: BaseGeometry, gaps: Sequence[Gap]) -> bool:
    """Whether an area is narrower than the widest of the gaps that were closed for it."""
    return bool(2 * area.area <= max(gap.width for gap in gaps) * area.length)


def _each_once(rings: Rings) -> tuple[Rings, int]:
    """The rings without duplicates (of any start and direction), and how many are dropped."""
    if not rings:
        return [], 0
    points, ends = fill.flat(rings)
    first = ends[:-1]
    box = np.column_stack([np.minimum.reduceat(points, first), np.maximum.reduceat(points, first)])
    _, which, count = np.unique(np.round(box / SAME), axis=0, return_inverse=True, return_counts=True)
    drop, seen = set(), set()
    for k in np.flatnonzero(count[which.ravel()] > 1).tolist():  # a ring with a unique box has no duplicate
        vertices = np.unique(np.round(rings[k] / SAME), axis=0).tobytes()
        if vertices in seen:
            drop.add(k)
        seen.add(vertices)
    return [ring for k, ring in enumerate(rings) if k not in drop], len(drop)


def _outlines(lines: Rings, rings: Rings, tolerance: float, gap: float) -> Iterator[_Net]:
    """The outlines that lines make with each other and with the rings that they touch."""
    around = [np.vstack([ring, ring[:1]]) for ring in rings]
    drawn = [shapely.linestrings(one) for one in (*lines, *around)]
    bars = _bars(lines, around, tolerance, gap)
    every = np.array([*drawn, *bars.lines], dtype=object)
    owner, n, m = groups(every), len(lines), len(drawn)
    for group in np.unique(owner[:n][np.bincount(owner)[owner[:n]] > 1]):
        at = np.flatnonzero(owner == group)
        touched = at[(at >= n) & (at < m)] - n
        gaps = [one for k in at[at >= m] if (one := bars.gaps[k - m])]
        length = float(shapely.length(every[at[at < n]]).sum())
        new, old = _cells(every[at], [rings[k] for k in touched], LOOSE * length)
        new = np.array([one for one in new if not (gaps and _is_sliver(one, gaps))], dtype=object)
        if len(new):
            area = mosaic(np.concatenate([new, old]))
            yield _Net(at[at < n].tolist(), touched.tolist(), area, len(new), gaps)


def _cells(lines: fill.Polygons, rings: Rings, loose: float) -> tuple[fill.Polygons, fill.Polygons]:
    """The cells between lines that are outside of their rings, and those that are solid by the rings alone.

    loose: largest length that may hang loose, mm; none if it is more.
    """
    faces, _, dangles, _ = shapely.polygonize_full(noded(lines))
    every: fill.Polygons = shapely.get_parts(faces)
    if len(every) == 0 or shapely.length(dangles) > loose:
        return every[:0], every[:0]
    inner = shapely.point_on_surface(every)
    inside, odd = np.zeros((2, len(every)), dtype=bool)
    if rings:
        tree = shapely.STRtree(fill.polygons(*fill.flat(rings), NONZERO))
        inside[tree.query(inner, predicate="within")[0]] = True
        odd = shapely.covers(fill.even_odd(rings), inner)
    return every[~inside], every[inside & odd]


def _bars(lines: Rings, around: Rings, tolerance: float, gap: float) -> _Bars:
    """From each end of a line to the others within the tolerance; or else to the nearest within the gap."""
    every = [*lines, *around]
    pieces = np.concatenate([np.stack([one[:-1], one[1:]], axis=1) for one in every])
    owner = np.repeat(np.arange(len(every)), [len(one) - 1 for one in every])
    segments = shapely.linestrings(pieces)
    ends = np.array([line[[0, -1]] for line in lines]).reshape(-1, 2)
    before = np.array([line[[1, -2]] for line in lines]).reshape(-1, 2)
    end, other = shapely.STRtree(segments).query(
        shapely.points(ends), predicate="dwithin", distance=max(gap, tolerance)
    )
    foreign = owner[other] != end // 2
    end, other = end[foreign], other[foreign]
    apart = shapely.distance(shapely.points(ends[end]), segments[other])
    order = np.lexsort([apart, end])
    bars, done = _Bars(), -1
    for k in order.tolist():
        tip, near = ends[end[k]], float(apart[k])
        if near > tolerance and end[k] == done:
            continue
        done = end[k]
        foot = shapely.get_coordinates(shapely.shortest_line(segments[other[k]], shapely.Point(tip)))[0]
        along = foot - tip if near > GRID else tip - before[end[k]]
        bars.lines.append(shapely.linestrings([tip, foot + _BEYOND * along / max(np.hypot(*along), GRID)]))
        bars.gaps.append(between(tip, foot) if near > tolerance else None)
    return bars


def _about_gaps(gaps: Sequence[Gap], spot: float) -> list[str]:
    """The warning about gaps that were closed. spot: the largest that is, mm."""
    if not gaps:
        return []
    widest = max(gaps, key=lambda gap: gap.width)
    up_to = f"as gaps up to the spot's {figure(spot)} mm are"
    if len(gaps) == 1:
        one = f"a gap of {figure(widest.width)} mm between lines"
        return [f"{one} at {widest.at} is taken as closed, {up_to}"]
    many = f"{len(gaps)} gaps between lines are taken as closed, {up_to}, the widest"
    return [f"{many} of {figure(widest.width)} mm at {widest.at}"]


def _about_cells(cells: Sequence[int]) -> list[str]:
    """The warning about outlines of lines that share edges. cells: of each outline."""
    if not cells:
        return []
    n, outlines = sum(cells), f"{len(cells)} areas" if len(cells) > 1 else "one area"
    between = f"the {n} cells between them are" if n > 1 else "the cell between them is"
    return [
        f"lines branch or cross, and {between} filled, as {outlines}: "
        "--line-width 0.2mm would draw the lines instead"
    ]
