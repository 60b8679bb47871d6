"""Spiral: contour-parallel rings drawn as one stroke wherever the next ring runs alongside.

Between two separate rings the head stops twice, and the laser is switched off and on. Here a drift leads from
one ring to the next: where both run parallel for a length L, the path is

    p(t) + e(t) (q(t) − p(t)),    e(t) = t² (3 − 2t),    0 ≤ t ≤ 1,

where p runs along the one ring and q is the nearest point of the other, a pitch away. The drifts of a chain
of rings lie side by side: each ends beside the end of the one before and is not much longer, so that two
neighbours are never much more than a pitch apart:

    ─────────────────────────────   the first ring, closed
    ───────────╮                    its end drifts
    ──────╮     ╰────────────────   onto the second ring, whose own end drifts
           ╰─────────────────────   onto the third, and so on

The first and the last ring of a chain are drawn in full. A chain ends where no ring runs alongside for long
enough; the rings that are left, such as those of a fork's smaller arms, begin other chains.

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Floats
from laserpath.planning.curve.contour import centre_lines, rings

_LONGEST, _SHORTEST = 5.0, 1.5
"""Longest and shortest drift, in pitches. At 5 the slope is 17°, over several vertices; longer drifts save no
time."""

_SHARE = 0.4
"""Largest share of a ring that a drift may replace: a larger value allows chains into smaller rings."""

_GROWTH = 1.15
"""Largest length of a drift, relative to the one before: e(0.13) = 0.05, so the gap is at most 1.05 pitches;
a larger value widens it."""

_SHORTER = (1.0, 0.75, 0.5, 0.35)
"""Lengths that are tried, relative to the longest possible drift."""

_BESIDE = (0.6, 1.3)
"""Range of the distance between two rings that run alongside, in pitches."""

_STEPS = 8
"""Moves of a drift: more turn less at each vertex."""

_TURN = np.radians(20.0)
"""Largest turn of a drift at a vertex: a larger one allows more drifts, on which the head slows down."""

_SEAMS = 24
"""Places of the first ring where a chain is tried: more may give longer chains, and take longer."""


def spiral(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm: open chains of rings, closed single rings, and centre lines.

    inset, pitch: mm.  flatness: largest distance of a ring from the true offset curve, mm.
    """
    if area.is_empty:
        return []
    closed = rings(area, inset, pitch, flatness)
    lines = centre_lines(area, inset, pitch, flatness, closed)
    return _chains([Ring(xy) for xy in closed], pitch) + lines


@dataclass(frozen=True, slots=True)
class _Drift:
    """xy: (N, 2) mm, from arc length `start` of one ring to `end` of another, `onto`.

    span: the length of `onto` that it runs beside, mm.  index: the index of `onto` in the list of rings.
    """

    xy: Floats
    start: float
    onto: Ring
    end: float
    span: float
    index: int


def _chains(all_rings: list[Ring], pitch: float) -> list[Floats]:
    """The strokes of chains that contain each ring once and begin at the outermost rings."""
    tree, left = shapely.STRtree([ring.line for ring in all_rings]), set(range(len(all_rings)))
    strokes = []
    for first, ring in enumerate(all_rings):
        if first not in left:
            continue
        left.remove(first)
        chains = [_chain(ring, seam, tree, all_rings, left, pitch) for seam in ring.seams(_SEAMS)]
        best = max(chains, key=lambda chain: (len(chain), sum(drift.span for drift in chain)))
        left -= {drift.index for drift in best}
        strokes.append(_stroke(ring, best, pitch / 50))
    return strokes


def _chain(
    ring: Ring, seam: float, tree: shapely.STRtree, all_rings: list[Ring], left: set[int], pitch: float
) -> list[_Drift]:
    """The drifts of a chain that begins at a ring; all of them end beside its arc length `seam`."""
    chain: list[_Drift] = []
    end, longest, free = seam, _LONGEST * pitch, set(left)
    while True:
        point = shapely.Point(ring.at(np.array([end]))[0])
        beside = sorted(free & set(tree.query(point, "dwithin", _BESIDE[1] * pitch).tolist()))
        longest = min(longest, _SHARE * ring.length)
        lengths = [f * longest for f in _SHORTER if f * longest >= _SHORTEST * pitch]
        drifts = (_drift(ring, end, length, all_rings[k], k, pitch) for length in lengths for k in beside)
        drift = next((d for d in drifts if d is not None), None)
        if drift is None:
            return chain
        chain.append(drift)
        free.remove(drift.index)
        ring, end, longest = drift.onto, drift.end, _GROWTH * drift.span


def _drift(a: Ring, end: float, length: float, b: Ring, index: int, pitch: float) -> _Drift | None:
    """The drift to ring b along the `length` mm of ring a that end at `end`; None if b is not alongside."""
    t = np.linspace(0, 1, _STEPS + 1)
    p = a.at(end + (t - 1) * length)
    s = b.nearest(p)
    step = np.mod(np.diff(s) + b.length / 2, b.length) - b.length / 2
    if step.sum() < 0:
        b, s, step = b.turned(), b.length - s, -step
    q = b.at(s)
    gap = np.hypot(*(q - p).T)
    if gap.min() < _BESIDE[0] * pitch or gap.max() > _BESIDE[1] * pitch or step.min() <= 0:
        return None
    xy = p + (t * t * (3 - 2 * t))[:, None] * (q - p)
    ends = a.at(np.array([end - length - step[0]])), b.at(s[-1:] + step[-1])
    heading = np.unwrap(np.arctan2(*np.diff(np.vstack([ends[0], xy, ends[1]]), axis=0).T))
    if np.abs(np.diff(heading)).max() > _TURN:
        return None
    return _Drift(xy, end - length, b, float(s[-1]), float(step.sum()), index)


def _stroke(first: Ring, chain: list[_Drift], apart: float) -> Floats:
    """The polyline (K, 2) through the first ring, the drifts and the rings that they lead to."""
    if not chain:
        return first.xy
    parts, ring, entry = [], first, chain[0].start
    for drift in chain:
        parts += [ring.piece(entry, drift.start + ring.length, apart), drift.xy[1:-1]]
        ring, entry = drift.onto, drift.end
    return np.vstack([*parts, ring.piece(entry, entry + ring.length, apart)])


class Ring:
    """A closed polyline (K, 2) mm. Its arc length s, mm, is taken modulo the ring's length."""

    def __init__(self, xy: Floats) -> None:
        self.xy, self.line = xy, shapely.LineString(xy)
        self._s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
        self.length = float(self._s[-1])

    def at(self, s: Floats) -> Floats:
        """(N, 2) points at arc lengths (N,)."""
        s = np.mod(s, self.length)
        return np.stack([np.interp(s, self._s, x) for x in self.xy.T], axis=1)

    def nearest(self, xy: Floats) -> Floats:
        """(N,) arc lengths of the ring's points nearest to points (N, 2)."""
        return shapely.line_locate_point(self.line, shapely.points(xy))

    def turned(self) -> Ring:
        """The ring in the opposite direction."""
        return Ring(self.xy[::-1])

    def piece(self, start: float, end: float, apart: float) -> Floats:
        """(N, 2) mm, from one arc length to a larger one, without vertices within `apart` of the ends."""
        turns = np.arange(np.floor(start / self.length), np.floor(end / self.length) + 1)
        s = (turns[:, None] * self.length + self._s[:-1]).ravel()
        between = s[(s > start + apart) & (s < end - apart)]
        return self.at(np.concatenate([[start], between, [end]]))

    def seams(self, count: int) -> Floats:
        """(count,) arc lengths: half are the middles of the longest moves, half are evenly spaced."""
        longest = np.argsort(-np.diff(self._s), kind="stable")[: count // 2]
        around = np.linspace(0, self.length, count - len(longest), endpoint=False)
        return np.concatenate([(self._s[longest] + self._s[longest + 1]) / 2, around])
