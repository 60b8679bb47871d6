"""A quicker tour through the same strokes, counting acceleration.

A travel of length d from rest to rest takes 2√(d/a), or d/v + v/a where it reaches rapid speed v: many short
travels cost more than one of their length. So:

1. Or-opt (Or 1976): a stroke is moved between two others wherever that is quicker, until none is.
2. Ends: of each stroke the direction, and of each ring also the vertex where it begins, for which the
   controller's planner (`gcode.motion`) takes least time from the stroke before to the stroke after. A
   travel that goes on in the stroke's own direction need not stop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import gcode
from laserpath.base.arrays import Floats
from laserpath.machine import convert
from laserpath.planning.curve.order import is_closed
from laserpath.types import Machine

_PASSES = 2
_SEAMS = 8
_CONTEXT = 6
"""Vertices of the neighbouring strokes that the planner is shown."""

_STROKES_MAX = 400
"""Above, the order as it is has to do: Or-opt looks at all pairs, and the planner at all ends."""


def quicker(strokes: Sequence[Floats], machine: Machine) -> list[Floats]:
    """The strokes (K, 2) mm in another order, reversed, and rings begun elsewhere, from the work zero."""
    if len(strokes) > _STROKES_MAX:
        return list(strokes)
    start = list(strokes)
    tour = _ends_chosen(_or_opt(list(start), machine), machine)
    # Or-opt reckons from rest to rest, and ends are chosen one at a time: the whole may yet be slower.
    return tour if write_time(tour, machine) < write_time(start, machine) else start


def write_time(tour: Sequence[Floats], machine: Machine) -> float:
    """s, of the strokes one after the other from the work zero, by the controller's planner."""
    if not tour:
        return 0.0
    return _planned([np.zeros((1, 2)), *tour], machine)


def _ends_chosen(tour: list[Floats], machine: Machine) -> list[Floats]:
    """The tour with the best ends of each stroke, in passes until none changes."""
    for _ in range(_PASSES):
        before = list(tour)
        for k in range(len(tour)):
            tour[k] = _best_ends(tour, k, machine)
        if all(a is b for a, b in zip(before, tour, strict=True)):
            break
    return tour


def _travel_time(distance: Floats, machine: Machine) -> Floats:
    """s, from rest to rest."""
    a, v = min(machine.acceleration), min(machine.rapid_speed)
    return np.where(distance < v**2 / a, 2 * np.sqrt(distance / a), distance / v + v / a)


def _or_opt(tour: list[Floats], machine: Machine) -> list[Floats]:
    """Single strokes moved, either way round, while the travels get quicker."""
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
    """The stroke k, begun and directed for the least time between its neighbours."""
    before = tour[k - 1][-_CONTEXT:] if k else np.zeros((1, 2))
    after = tour[k + 1][:_CONTEXT] if k + 1 < len(tour) else np.zeros((0, 2))
    options = _entered(tour[k])
    times = [_time(before, option, after, machine) for option in options]
    best = int(np.argmin(times))
    return options[best] if times[best] < times[0] - 1e-6 else tour[k]


def _entered(stroke: Floats) -> list[Floats]:
    """The ways to draw a stroke, the first as it is."""
    ways = [stroke]
    if is_closed(stroke):
        seams = np.unique(np.linspace(0, len(stroke) - 1, _SEAMS, endpoint=False).astype(np.int64))
        ways += [np.vstack([stroke[s:-1], stroke[: s + 1]]) for s in seams if s]
    return ways + [way[::-1] for way in ways]


def _time(before: Floats, stroke: Floats, after: Floats, machine: Machine) -> float:
    """Write time, s, from the start of one piece of path through the stroke to the end of another."""
    return _planned([before, stroke, *([after] if len(after) else [])], machine)


def _planned(pieces: Sequence[Floats], machine: Machine) -> float:
    """s, of pieces of path (K, 2) at full speed with travels between them."""
    xy = np.concatenate(pieces, dtype=np.float64)
    rapid = np.zeros(len(xy) - 1, dtype=bool)
    rapid[np.cumsum([len(piece) for piece in pieces[:-1]]) - 1] = True
    speed = np.where(rapid, min(machine.rapid_speed), min(machine.speed_max))
    moves = gcode.Moves.straight(xy, np.where(rapid, 0.0, 1.0), speed, rapid)
    return gcode.motion.profile(moves, convert.limits(machine)).write_time
