"""Spiral: contour-parallel rings drawn as one stroke wherever the next one runs alongside.

Between two rings the head stops twice and the laser goes off and on. Here a ring goes over into the next
by a drift: where both run parallel for a length L, the path is

    p(t) + e(t) (q(t) − p(t)),    e(t) = t² (3 − 2t),    0 ≤ t ≤ 1,

p along the one, q the nearest point of the other, a pitch beside it. The drifts of a chain of rings lie side
by side and end where the one before ended, none much longer than that, so that two neighbours are never much
more than a pitch apart:

    ─────────────────────────────   the first ring, closed
    ───────────╮ from there
    ──────╮     ╰────────────────   onto the next, of which the drift takes the place on the left
           ╰─────────────────────   and so on

The first ring of a chain and the last are drawn in full. Where no ring runs alongside for long enough the
chain ends, and what is left begins others: after a fork, its smaller arms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Floats
from laserpath.planning.curve.contour import centre_lines, rings
from laserpath.planning.curve.ring import Ring

_LONGEST, _SHORTEST = 5.0, 1.5
"""Lengths of drifts, in pitches. 5 are 17° steep, shared by several vertices; longer ones save no time."""

_SHARE = 0.4
"""Of a ring that a drift may take at most."""

_GROWTH = 1.15
"""How much longer than the one before a drift may be: e(0.13) = 0.05, so the gap is 1.05 pitches at most."""

_SHORTER = (1.0, 0.75, 0.5, 0.35)
"""What is tried, of the longest drift possible."""

_BESIDE = (0.6, 1.3)
"""Pitches between two rings that run alongside."""

_STEPS = 8
"""Moves of a drift."""

_TURN = np.radians(20.0)
"""The most that a drift may turn at a vertex."""

_SEAMS = 24
"""Places of the first ring that are tried."""


def spiral(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm: chains of rings, open; rings alone, closed; centre lines.

    inset, pitch: mm.  flatness: how far a ring may be from the true offset curve, mm.
    """
    if area.is_empty:
        return []
    found = [Ring(xy) for xy in rings(area, inset, pitch, flatness)]
    return _chains(found, pitch) + centre_lines(area, inset, pitch, flatness)


@dataclass(frozen=True, slots=True)
class _Drift:
    """xy: (N, 2) mm, from arc length `start` of one ring to `end` of another, `onto`.

    span: how much of that ring it runs beside, mm.  index: of that ring.
    """

    xy: Floats
    start: float
    onto: Ring
    end: float
    span: float
    index: int


def _chains(found: list[Ring], pitch: float) -> list[Floats]:
    """Every ring in one stroke, chains begun by the outermost rings."""
    tree, left = shapely.STRtree([ring.line for ring in found]), set(range(len(found)))
    strokes = []
    for first, ring in enumerate(found):
        if first not in left:
            continue
        left.remove(first)
        ways = [_walk(ring, seam, tree, found, left, pitch) for seam in ring.seams(_SEAMS)]
        best = max(ways, key=lambda way: (len(way), sum(d.span for d in way)))
        left -= {drift.index for drift in best}
        strokes.append(_stroke(ring, best, pitch / 50))
    return strokes


def _walk(
    ring: Ring, seam: float, tree: shapely.STRtree, found: list[Ring], left: set[int], pitch: float
) -> list[_Drift]:
    """Drifts from a ring to the next and the next, all ending beside its arc length `seam`."""
    ways: list[_Drift] = []
    end, longest, free = seam, _LONGEST * pitch, set(left)
    while True:
        point = shapely.Point(ring.at(np.array([end]))[0])
        beside = sorted(free & set(tree.query(point, "dwithin", _BESIDE[1] * pitch).tolist()))
        longest = min(longest, _SHARE * ring.length)
        lengths = [f * longest for f in _SHORTER if f * longest >= _SHORTEST * pitch]
        drifts = (_drift(ring, end, length, found[k], k, pitch) for length in lengths for k in beside)
        drift = next((d for d in drifts if d is not None), None)
        if drift is None:
            return ways
        ways.append(drift)
        free.remove(drift.index)
        ring, end, longest = drift.onto, drift.end, _GROWTH * drift.span


def _drift(a: Ring, end: float, length: float, b: Ring, index: int, pitch: float) -> _Drift | None:
    """The drift to ring b from the `length` mm of ring a that end at `end`; None where b is not beside."""
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


def _stroke(first: Ring, ways: list[_Drift], apart: float) -> Floats:
    """The polyline (K, 2) through the first ring, the drifts and the rings between."""
    if not ways:
        return first.xy
    parts, ring, entry = [], first, ways[0].start
    for drift in ways:
        parts += [ring.piece(entry, drift.start + ring.length, apart), drift.xy[1:-1]]
        ring, entry = drift.onto, drift.end
    return np.vstack([*parts, ring.piece(entry, entry + ring.length, apart)])
