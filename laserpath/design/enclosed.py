"""The area that lines without a width enclose, such as the single lines in which CAD programs draw outlines.

Lines whose ends meet are joined to loops (`loops`), which are rings like any other: the even-odd rule holds
over all rings, so that an outline in another is a hole. Lines that are left and branch, cross, or share an
edge with a ring cut the plane into cells. A cell outside every ring that the lines touch is solid; inside a
ring, the ring decides: two boxes with a common edge are one area. Such lines are an outline only if hardly
any of them hangs loose; otherwise, as in the letters of a single-stroke font, they enclose nothing.

An end that misses another line by a small gap is taken to meet it. An area narrower than the gaps that were
closed for it is not filled: two lines side by side stay lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import figure
from laserpath.base.overlay import GRID, groups, mosaic, noded
from laserpath.design import scattered
from laserpath.design.fill import NONZERO
from laserpath.design.loops import Gap, Loops, between, joined

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
    return Enclosed(scattered.even_odd(rings), found.open, found.branching, again, cells, closed, nearest)


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
    points, ends = scattered.flat(rings)
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


def _cells(
    lines: scattered.Geometries, rings: Rings, loose: float
) -> tuple[scattered.Geometries, scattered.Geometries]:
    """The cells between lines that are outside of their rings, and those that are solid by the rings alone.

    loose: largest length that may hang loose, mm; none if it is more.
    """
    faces, _, dangles, _ = shapely.polygonize_full(noded(lines))
    every: scattered.Geometries = shapely.get_parts(faces)
    if len(every) == 0 or shapely.length(dangles) > loose:
        return every[:0], every[:0]
    inner = shapely.point_on_surface(every)
    inside, odd = np.zeros((2, len(every)), dtype=bool)
    if rings:
        tree = shapely.STRtree(scattered.polygons(*scattered.flat(rings), NONZERO))
        inside[tree.query(inner, predicate="within")[0]] = True
        odd = shapely.covers(scattered.even_odd(rings), inner)
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
