"""The order of the strokes, and the path through them.

First always the nearest one next, entered at its nearest point. Closed rings may be entered at any vertex,
open strokes at either end. A greedy tour is about a quarter longer than the shortest (Johnson and McGeoch
1997), but travel is a small part of the time.

Then a quicker tour through the same strokes, counting acceleration. A travel of length d from rest to rest
takes 2√(d/a), or d/v + v/a if it reaches the rapid speed v, so many short travels take longer than one of the
same total length. Two steps shorten the tour:

1. Or-opt (Or 1976): up to three strokes in a row are moved to near ones if that is quicker, until no move is.
2. Ends: the direction of each stroke, and the vertex where each ring begins, are chosen for the least time
   from the stroke before to the stroke after, by the controller's planner (`gcode.motion`). A travel that
   continues in the stroke's direction need not stop.

Open strokes may be wanted in one direction only (`one_way`).

At last the strokes are cut into short moves, and joined by travels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from scipy.spatial import cKDTree

import gcode
from gcode.compiled import cached
from gcode.move import numbered
from laserpath.base.arrays import Bools, Floats, Indices, runs
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.planning.dots import shortest_stroke, stroke_of_dot
from laserpath.types import EnergyPath, Machine, Point, Process, Settings

njit = cached(error_model="numpy", nogil=True)

_PASSES = 2
_SEAMS = 8
_CONTEXT = 6
"""Vertices of the neighbouring strokes that the planner sees: more predict the time better."""

_NO_LINK = 1e9
"""Moves/s of a link that keeps up: its delays do not depend on where a stroke begins."""

_NEIGHBOURS, _LONGEST, _PASSES_OF_MOVES = 12, 3, 20
"""Near ends beside which strokes are moved, most strokes in a row that are, and most passes over all: more
gain little, and take longer."""

_AT_ONCE = 64
"""Strokes whose ends are looked at in one call of the planner: more hold more memory."""


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
    start = list(strokes)
    tour = _ends_chosen(_or_opt(start, machine), machine)
    # Or-opt assumes travels from rest to rest, and ends are chosen one at a time: the result may be slower.
    return tour if write_time(tour, machine) < write_time(start, machine) else start


def write_time(tour: Sequence[Floats], machine: Machine) -> float:
    """The write time, s, of the strokes in this order from the work zero, by the controller's planner."""
    if not tour:
        return 0.0
    return _planned(*_joined([np.zeros((1, 2)), *tour]), convert.limits(machine)).write_time


def _ends_chosen(tour: list[Floats], machine: Machine) -> list[Floats]:
    """The tour with the best ends of each stroke, chosen in passes until none changes.

    They depend on the neighbours alone: every other stroke is looked at, and then those between them.
    """
    chosen, looked_at = list(tour), set(range(len(tour)))
    for _ in range(_PASSES):
        later = set[int]()
        for odd, beside in ((0, looked_at), (1, later)):
            now = [k for k in sorted(looked_at) if k % 2 == odd and k < len(tour)]
            for k, best in zip(now, _best_ends(chosen, now, machine), strict=True):
                if best is not chosen[k]:
                    chosen[k] = best
                    beside |= {k - 1, k + 1} - {-1}
        looked_at = later
    return chosen


def _or_opt(tour: list[Floats], machine: Machine) -> list[Floats]:
    """The tour with up to `_LONGEST` strokes in a row moved, and reversed or not, as long as it gets quicker.

    They are moved beside a stroke that has an end near one of theirs: its time is n log n for n strokes.
    """
    if len(tour) < 2:
        return tour
    # Stroke 0 is the work zero, where the tour begins.
    ends = np.array([np.zeros((2, 2)), *(stroke[[0, -1]] for stroke in tour)])
    points = ends.reshape(-1, 2)
    most = min(_NEIGHBOURS + 2, len(points))
    near = cKDTree(points).query(points, most)[1].reshape(len(ends), 2, most) // 2
    after, turned = np.append(np.arange(1, len(ends)), -1), np.zeros(len(ends), dtype=np.bool_)
    _relocate(ends, near, after, turned, min(machine.acceleration), min(machine.rapid_speed))
    found, k = [], int(after[0])
    while k >= 0:
        found.append(tour[k - 1][::-1] if turned[k] else tour[k - 1])
        k = int(after[k])
    return found


@njit
def _relocate(
    ends: Floats, near: Indices, after: Indices, turned: Bools, acceleration: float, rapid: float
) -> None:
    """Or-opt of strokes `ends` (n, 2, 2), which follow each other as `after` (n,) says: −1 after the last.

    near: (n, 2, K) strokes with an end near each end.  turned: (n,) strokes to be reversed.
    """
    before = np.full(len(after), -1)
    for k in range(len(after)):
        if after[k] >= 0:
            before[after[k]] = k
    for _ in range(_PASSES_OF_MOVES):
        moved = False
        for first in range(1, len(after)):
            last = first
            for _ in range(_LONGEST):
                if _moved(first, last, ends, near, after, before, turned, acceleration, rapid):
                    moved = True
                    break
                last = after[last]
                if last < 0:
                    break
        if not moved:
            break


@njit
def _moved(
    first: int, last: int, ends: Floats, near: Indices, after: Indices, before: Indices, turned: Bools,
    acceleration: float, rapid: float,
) -> bool:  # fmt: skip
    """Whether the strokes from first to last were moved to their best place among those near."""
    head, tail = ends[first, int(turned[first])], ends[last, 1 - int(turned[last])]
    out, into = before[first], after[last]
    left = _gap(_end(out, ends, turned), head, acceleration, rapid)
    if into >= 0:
        start = ends[into, int(turned[into])]
        left += _gap(tail, start, acceleration, rapid)
        left -= _gap(_end(out, ends, turned), start, acceleration, rapid)
    best, place, reverse = 1e-9, -1, False
    for side in range(2):
        here = first if side == 0 else last
        point = int(turned[here]) if side == 0 else 1 - int(turned[here])
        for n in range(near.shape[2]):
            for behind in range(2):
                p = near[here, point, n] if behind == 0 else before[near[here, point, n]]
                if p < 0 or p == out or _between(p, first, last, after):
                    continue
                q, end = after[p], _end(p, ends, turned)
                gained, back = left - _gap(end, head, acceleration, rapid), left
                back -= _gap(end, tail, acceleration, rapid)
                if q >= 0:
                    start = ends[q, int(turned[q])]
                    direct = _gap(end, start, acceleration, rapid)
                    gained += direct - _gap(tail, start, acceleration, rapid)
                    back += direct - _gap(head, start, acceleration, rapid)
                if max(gained, back) > best:
                    best, place, reverse = max(gained, back), p, back > gained
    if place < 0:
        return False
    after[out] = into
    if into >= 0:
        before[into] = out
    behind = after[place]
    if reverse:
        k = first
        while True:
            following = after[k]
            after[k], before[k] = before[k], following
            turned[k] = not turned[k]
            if k == last:
                break
            k = following
        first, last = last, first
    after[place], before[first], after[last] = first, place, behind
    if behind >= 0:
        before[behind] = last
    return True


@njit
def _between(k: int, first: int, last: int, after: Indices) -> bool:
    """Whether stroke k is one of those from first to last."""
    here = first
    while here != last:
        if here == k:
            return True
        here = after[here]
    return k == last


@njit
def _end(k: int, ends: Floats, turned: Bools) -> Floats:
    """(2,) mm, where stroke k ends."""
    return ends[k, 1 - int(turned[k])]


@njit
def _gap(end: Floats, start: Floats, acceleration: float, rapid: float) -> float:
    """Seconds of a travel from rest to rest."""
    distance = math.hypot(start[0] - end[0], start[1] - end[1])
    if distance < rapid * rapid / acceleration:
        return 2 * math.sqrt(distance / acceleration)
    return distance / rapid + rapid / acceleration


def _best_ends(tour: list[Floats], strokes: Sequence[int], machine: Machine) -> Iterator[Floats]:
    """Each of some strokes with the start and the direction of the least time between its neighbours."""
    for first in range(0, len(strokes), _AT_ONCE):
        some = strokes[first : first + _AT_ONCE]
        options = [_turned_to(tour[k]) for k in some]
        ways = [
            [
                tour[k - 1][-_CONTEXT:] if k else np.zeros((1, 2)), option,
                tour[k + 1][:_CONTEXT] if k + 1 < len(tour) else np.zeros((0, 2)),
            ]
            for k, each in zip(some, options, strict=True) for option in each
        ]  # fmt: skip
        counts = np.cumsum([len(each) for each in options])
        for each, taken in zip(options, np.split(_times(ways, machine), counts[:-1]), strict=True):
            best = int(np.argmin(taken))
            yield each[best] if taken[best] < taken[0] - 1e-6 else each[0]


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
    pieces = list(chain.from_iterable(ways))
    length = np.array([len(piece) for piece in pieces]).reshape(len(ways), -1)
    end = np.cumsum(length.sum(axis=1))
    start = np.append(0, end[:-1])
    xy = np.concatenate(pieces, dtype=np.float64)
    # The vertex at which the head dwells is there twice, before a way and after it.
    twice = np.stack([xy[start], xy[end - 1]], axis=1).reshape(-1, 2)
    xy = np.insert(xy, np.stack([start, end], axis=1).ravel(), twice, axis=0)
    first, last = (at + 2 * np.arange(len(ways)) for at in (start, end))
    kind = np.full(len(xy) - 1, gcode.Kind.LINE)
    kind[first[:, None] + np.cumsum(length, axis=1)[:, :-1]] = gcode.Kind.RAPID
    kind[first] = kind[last] = gcode.Kind.DWELL
    kind[last[:-1] + 1] = gcode.Kind.RAPID
    limits = replace(convert.limits(machine), segment_rate=_NO_LINK)
    ends = np.cumsum(np.append(0.0, _planned(xy, kind, limits).duration))
    times: Floats = ends[last] - ends[first]
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
    pieces = subdivided([stroke_of_dot(stroke, least) for stroke in tour], settings.segment_fwhm * fwhm)
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


def subdivided(strokes: Sequence[Floats], longest: float) -> list[Floats]:
    """The polylines (K, 2) with each segment cut into equal pieces of at most `longest` mm."""
    if not strokes:
        return []
    xy, last = np.concatenate(strokes), np.cumsum([len(stroke) for stroke in strokes]) - 1
    step = np.diff(xy, axis=0, append=xy[-1:])
    count = np.maximum(1, np.ceil(np.hypot(*step.T) / longest - 1e-9)).astype(np.int64)
    count[last] = 1  # the last vertex of a stroke, with no way to the next stroke
    segment, nth = numbered(count)
    fine = xy[segment] + (nth / count[segment])[:, None] * step[segment]
    return np.split(fine, np.cumsum(count)[last[:-1]])


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
