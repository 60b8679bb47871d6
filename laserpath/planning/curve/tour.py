"""A quicker tour through the same strokes, counting acceleration.

A travel of length d from rest to rest takes 2√(d/a), or d/v + v/a if it reaches the rapid speed v, so that
many short travels take longer than one of the same total length. Two steps shorten the tour:

1. Or-opt (Or 1976): a stroke is moved between two others if that is quicker, until no move is.
2. Ends: the direction of each stroke, and the vertex where each ring begins, are chosen for the least time
   from the stroke before to the stroke after, by the controller's planner (`gcode.motion`). A travel that
   continues in the stroke's direction need not stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import gcode
from laserpath.base.arrays import Floats, Indices
from laserpath.machine import convert
from laserpath.planning.curve.order import is_closed
from laserpath.types import Machine

_PASSES = 2
_SEAMS = 8
_CONTEXT = 6
"""Vertices of the neighbouring strokes that the planner sees: more predict the time better."""

_APART = np.array([gcode.Kind.DWELL, gcode.Kind.RAPID])
"""The moves between two ways: a dwell after the one, and a travel to the other."""

_NO_LINK = 1e9
"""Moves/s of a link that keeps up: its delays do not depend on where a stroke begins."""

_STROKES_MAX = 400
"""Strokes above which the order is kept: a larger value takes longer, as the square of the number."""


def quicker(strokes: Sequence[Floats], machine: Machine) -> list[Floats]:
    """The strokes (K, 2) mm reordered and reversed, and rings begun elsewhere, if that is quicker.

    The tour begins at the work zero.
    """
    if len(strokes) > _STROKES_MAX:
        return list(strokes)
    start = list(strokes)
    tour = _ends_chosen(_or_opt(list(start), machine), machine)
    # Or-opt assumes travels from rest to rest, and ends are chosen one at a time: the result may be slower.
    return tour if write_time(tour, machine) < write_time(start, machine) else start


def write_time(tour: Sequence[Floats], machine: Machine) -> float:
    """The write time, s, of the strokes in this order from the work zero, by the controller's planner."""
    if not tour:
        return 0.0
    return _planned(*_joined([np.zeros((1, 2)), *tour]), convert.limits(machine)).write_time


def _ends_chosen(tour: list[Floats], machine: Machine) -> list[Floats]:
    """The tour with the best ends of each stroke, chosen in passes until none changes."""
    open_ends = set(range(len(tour)))
    for _ in range(_PASSES):
        # The best ends depend on the neighbours alone, which most strokes keep.
        looked_at, open_ends = open_ends, set[int]()
        for k in range(len(tour)):
            if k in looked_at:
                best = _best_ends(tour, k, machine)
                if best is not tour[k]:
                    tour[k] = best
                    looked_at.add(k + 1)
                    open_ends.add(k - 1)
    return tour


def _travel_time(distance: Floats, machine: Machine) -> Floats:
    """Seconds of travels of the given distances, mm, from rest to rest."""
    a, v = min(machine.acceleration), min(machine.rapid_speed)
    return np.where(distance < v**2 / a, 2 * np.sqrt(distance / a), distance / v + v / a)


def _or_opt(tour: list[Floats], machine: Machine) -> list[Floats]:
    """The tour with single strokes moved, and reversed or not, as long as the travels get quicker."""
    if len(tour) < 3:
        return tour

    def gaps(ends: Floats, starts: Floats) -> Floats:
        return _travel_time(np.hypot(*(starts - ends).T), machine)

    for _ in range(_PASSES):
        moved = False
        for k in range(len(tour)):
            stroke, rest = tour[k], tour[:k] + tour[k + 1 :]
            ends = np.vstack([np.zeros(2), *(s[-1] for s in rest)])
            starts = np.vstack([s[0] for s in rest])
            direct = gaps(ends[:-1], starts)
            costs = []
            for begin, end in ((stroke[0], stroke[-1]), (stroke[-1], stroke[0])):
                after = gaps(end[None], starts)
                added = gaps(ends, begin[None])
                added[:-1] += after - direct
                costs.append(added)
            best = int(np.argmin(np.minimum(*costs)))
            if min(c[best] for c in costs) < costs[0][k] - 1e-9:
                turned = stroke if costs[0][best] <= costs[1][best] else stroke[::-1]
                tour, moved = rest[:best] + [turned] + rest[best:], True
        if not moved:
            break
    return tour


def _best_ends(tour: list[Floats], k: int, machine: Machine) -> Floats:
    """The stroke k with the start and the direction of the least time between its neighbours."""
    before = tour[k - 1][-_CONTEXT:] if k else np.zeros((1, 2))
    after = tour[k + 1][:_CONTEXT] if k + 1 < len(tour) else np.zeros((0, 2))
    options = _entered(tour[k])
    times = _times([[before, option, after] for option in options], machine)
    best = int(np.argmin(times))
    return options[best] if times[best] < times[0] - 1e-6 else tour[k]


def _entered(stroke: Floats) -> list[Floats]:
    """The ways to draw a stroke; the first is the stroke itself."""
    ways = [stroke]
    if is_closed(stroke):
        seams = np.unique(np.linspace(0, len(stroke) - 1, _SEAMS, endpoint=False).astype(np.int64))
        ways += [np.vstack([stroke[s:-1], stroke[: s + 1]]) for s in seams if s]
    return ways + [way[::-1] for way in ways]


def _times(ways: Sequence[Sequence[Floats]], machine: Machine) -> Floats:
    """(W,) write times, s, of ways of several pieces of path (K, 2) mm each, with a link that keeps up.

    All are planned at once: each begins at rest, since the head dwells before it and after it.
    """
    drawn = [_joined(way) for way in ways]
    xy = np.concatenate([np.vstack([one[:1], one, one[-1:]]) for one, _ in drawn])
    kind = np.concatenate([np.concatenate([[gcode.Kind.DWELL], kinds, _APART]) for _, kinds in drawn])[:-1]
    first = np.cumsum([0, *(len(kinds) + len(_APART) + 1 for _, kinds in drawn[:-1])])
    count = np.array([len(kinds) for _, kinds in drawn])
    limits = replace(convert.limits(machine), segment_rate=_NO_LINK)
    ends = np.cumsum(np.append(0.0, _planned(xy, kind, limits).duration))
    times: Floats = ends[first + count + 1] - ends[first]
    return times


def _joined(pieces: Sequence[Floats]) -> tuple[Floats, Indices]:
    """The vertices of pieces of path (K, 2) with travels between them, and the kinds of the moves."""
    xy = np.concatenate(pieces, dtype=np.float64)
    kind = np.full(len(xy) - 1, gcode.Kind.LINE)
    lengths = [len(piece) for piece in pieces if len(piece)]
    kind[np.cumsum(lengths[:-1]) - 1] = gcode.Kind.RAPID
    return xy, kind


def _planned(xy: Floats, kind: Indices, limits: gcode.Limits) -> gcode.motion.Motion:
    """The motion along vertices (N+1, 2) mm at full speed."""
    speed = np.where(kind == gcode.Kind.RAPID, min(limits.rapid), min(limits.speed_max))
    power = (kind == gcode.Kind.LINE).astype(np.float64)
    return gcode.motion.profile(
        gcode.Moves(np.asarray(xy, np.float64), power, speed, kind.astype(np.int8)), limits
    )
