"""The order of the strokes, and the path through them.

First always the nearest one next, entered at its nearest point. Closed rings may be entered at any vertex,
open strokes at either end. A greedy tour is about a quarter longer than the shortest (Johnson and McGeoch
1997), but travel is a small part of the time.

Then a quicker tour through the same strokes, counting acceleration. A travel of length d from rest to rest
takes 2√(d/a), or d/v + v/a if it reaches the rapid speed v, so many short travels take longer than one of the
same total length. Two steps shorten the tour:

1. Or-opt (Or 1976): a stroke is moved between two others if that is quicker, until no move is.
2. Ends: the direction of each stroke, and the vertex where each ring begins, are chosen for the least time
   from the stroke before to the stroke after, by the controller's planner (`gcode.motion`). A travel that
   continues in the stroke's direction need not stop.

Open strokes may be wanted in one direction only (`one_way`).

At last the strokes are cut into short moves, and joined by travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

import gcode
from laserpath.base.arrays import Floats, Indices, runs
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.planning.dots import shortest_stroke, stroke_of_dot
from laserpath.types import EnergyPath, Machine, Point, Process, Settings

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


def is_closed(stroke: Floats) -> bool:
    """Whether a polyline (K, 2) ends where it starts."""
    return len(stroke) > 2 and bool((stroke[0] == stroke[-1]).all())


def order(strokes: Sequence[Floats], start: Point = (0.0, 0.0)) -> list[Floats]:
    """The strokes reordered and reversed, and rings begun elsewhere, to shorten travel from `start`, mm."""
    entries = [stroke[:-1] if is_closed(stroke) else stroke[[0, -1]] for stroke in strokes]
    counts = np.array([len(e) for e in entries], dtype=np.int64)
    if len(counts) == 0:
        return []
    owner = np.repeat(np.arange(len(strokes)), counts)
    first = np.cumsum(counts) - counts
    open_entries = _OpenEntries(np.concatenate(entries), owner)
    position, tour = np.asarray(start, dtype=np.float64), []
    for _ in range(len(strokes)):
        entry = open_entries.nearest(position)
        k = int(owner[entry])
        open_entries.close(k)
        tour.append(_entered(strokes[k], entry - int(first[k])))
        position = tour[-1][-1]
    return tour


class _OpenEntries:
    """Entry points (M, 2) mm of the strokes that are not yet drawn.

    A k-d tree cannot drop points, so it is rebuilt whenever half of its points are closed.
    """

    def __init__(self, points: Floats, owner: Indices) -> None:
        self._points, self._owner = points, owner
        self._open = np.ones(int(owner[-1]) + 1, dtype=bool)
        self._build()

    def nearest(self, position: Floats) -> int:
        """Index of the open point nearest to a position (2,) mm."""
        k = 4
        while True:
            k = min(k, len(self._ids))
            _, neighbours = self._tree.query(position, k=k)
            ids = self._ids[np.atleast_1d(neighbours)]
            ids = ids[self._open[self._owner[ids]]]
            if len(ids):
                return int(ids[0])
            k *= 4

    def close(self, stroke: int) -> None:
        """Drop all points of a stroke."""
        self._open[stroke] = False
        self._closed += int(
            np.searchsorted(self._owner, stroke, "right") - np.searchsorted(self._owner, stroke)
        )
        if 2 * self._closed > len(self._ids) and self._open.any():
            self._build()

    def _build(self) -> None:
        self._ids = np.flatnonzero(self._open[self._owner])
        self._tree = cKDTree(self._points[self._ids])
        self._closed = 0


def _entered(stroke: Floats, entry: int) -> Floats:
    """The stroke begun at its entry: a ring is rotated, an open stroke reversed if entered at its end."""
    if is_closed(stroke):
        return np.vstack([stroke[entry:-1], stroke[: entry + 1]])
    return stroke if entry == 0 else stroke[::-1]


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
    options = _turned_to(tour[k])
    times = _times([[before, option, after] for option in options], machine)
    best = int(np.argmin(times))
    return options[best] if times[best] < times[0] - 1e-6 else tour[k]


def _turned_to(stroke: Floats) -> list[Floats]:
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


def drawn(tour: Sequence[Floats], process: Process, settings: Settings) -> EnergyPath:
    """The path of strokes (K, 2) mm in the given order, cut into moves of at most `segment_fwhm`.

    A stroke that is nearly a point, such as a ring that just fits into a dot, becomes a line.
    """
    fwhm, least = optics.fwhm(process.spot), shortest_stroke(process.machine, process.spot)
    pieces = [subdivide(stroke_of_dot(stroke, least), settings.segment_fwhm * fwhm) for stroke in tour]
    # A wide area of lines a pitch apart gets the mean dose q/pitch; a third more cures its edge.
    energy = 4 / 3 * process.resin.critical_dose * settings.pitch_fwhm * fwhm
    return join(pieces, [np.full(len(p) - 1, energy) for p in pieces], process.machine)


def one_way(path: EnergyPath, machine: Machine) -> EnergyPath:
    """The path with its open strokes drawn to the right, or up where they rise or fall more than they run.

    A late laser, or slack, that nobody knows of then moves all of them alike. Rings stay as they are.
    """
    strokes, energies = list[Floats](), list[Floats]()
    for first, last in runs(path.on):
        stroke, energy = path.xy[first : last + 1], path.energy[first:last]
        way = stroke[-1] - stroke[0]
        backward = not is_closed(stroke) and way[np.argmax(np.abs(way))] < 0
        strokes.append(stroke[::-1] if backward else stroke)
        energies.append(energy[::-1] if backward else energy)
    if not strokes:
        return path
    return join(strokes, energies, machine)


def subdivide(stroke: Floats, longest: float) -> Floats:
    """The polyline (K, 2) with each segment cut into equal pieces of at most `longest` mm."""
    step = np.diff(stroke, axis=0)
    count = np.maximum(1, np.ceil(np.hypot(*step.T) / longest - 1e-9)).astype(np.int64)
    segment = np.repeat(np.arange(len(step)), count)
    k = np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)
    return np.vstack([stroke[segment] + (k / count[segment])[:, None] * step[segment], stroke[-1:]])


def join(strokes: Sequence[Floats], line_energy: Sequence[Floats], machine: Machine) -> EnergyPath:
    """Strokes (K, 2) with line energies (K−1,), joined by travels, at the machine's full speed."""
    speed, rapid = min(machine.speed_max), min(machine.rapid_speed)
    xy: list[Floats] = [strokes[0][:1]]
    energies: list[Floats] = []
    speeds: list[Floats] = []
    position = strokes[0][0]
    for stroke, energy in zip(strokes, line_energy, strict=True):
        if (stroke[0] != position).any():
            xy.append(stroke[:1])
            energies.append(np.zeros(1))
            speeds.append(np.full(1, rapid))
        xy.append(stroke[1:])
        energies.append(energy)
        speeds.append(np.full(len(energy), speed))
        position = stroke[-1]
    return EnergyPath(np.vstack(xy), np.concatenate(energies), np.concatenate(speeds))
