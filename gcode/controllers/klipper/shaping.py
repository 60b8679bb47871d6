"""Execution of a planned motion behind input shapers (`gcode.controllers.shapers`).

The laser is switched at planned times.

The planned motion has constant acceleration between its knots, so the sum is exact at any time. It is cut
into straight pieces of even speed, off by at most `longest`/250 at any time: 0.2 µm for a spot of 0.1 mm.

Units: mm, s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gcode.compiled import njit
from gcode.controllers.common import Executed
from gcode.controllers.klipper.planner import APART, Trapezoids
from gcode.controllers.shapers import Impulses, lead, tail
from gcode.move import Bools, Floats, Ints, numbered

CHORD = 1 / 250
"""Largest distance of a piece from the shaped place at the same time, in `longest`. A larger one makes fewer,
longer pieces."""


@dataclass(frozen=True, slots=True, eq=False)
class _Phases:
    """(K,) phases of constant acceleration in order. start, duration: s.  place: (K, 3) mm, where they begin.

    velocity, acceleration: (K, 3), mm/s there, mm/s².  row_end: (N,) s, of each row.
    """

    start: Floats
    duration: Floats
    place: Floats
    velocity: Floats
    acceleration: Floats
    row_end: Floats

    @classmethod
    def of(cls, xyz: Floats, motion: Trapezoids) -> _Phases:
        """The three phases of each row; those without duration are left out."""
        m, end = motion, np.cumsum(motion.duration)
        a = np.where(m.acceleration > 0, m.acceleration, 1.0)
        up, down = (m.peak - m.entry) / a, (m.peak - m.exit) / a
        begin = end - m.duration
        start = np.column_stack([begin, begin + up, end - down])
        duration = np.column_stack([up, np.maximum(m.duration - up - down, 0.0), down])
        done = np.column_stack(
            [np.zeros(len(end)), (m.entry + m.peak) / 2 * up, m.length - (m.exit + m.peak) / 2 * down]
        )
        unit = np.diff(xyz, axis=0) / np.where(m.length > 0, m.length, 1.0)[:, None]
        unit[m.length == 0] = 0.0
        row = np.arange(3 * len(end)) // 3
        place = xyz[row] + unit[row] * done.ravel()[:, None]
        speed = np.column_stack([m.entry, m.peak, m.peak]).ravel()
        gain = np.column_stack([m.acceleration, np.zeros(len(end)), -m.acceleration]).ravel()
        some = duration.ravel() > 0
        velocity, acceleration = unit[row] * speed[:, None], unit[row] * gain[:, None]
        return cls(
            start.ravel()[some], duration.ravel()[some], place[some], velocity[some], acceleration[some], end
        )  # fmt: skip

    def at(self, time: Floats, axis: int) -> Floats:
        """(T,) mm, place of an axis at rising times; before the start and after the end it rests."""
        here = np.maximum(np.searchsorted(self.start, time, side="right") - 1, 0)
        t = np.clip(time - self.start[here], 0.0, self.duration[here])
        v, a = self.velocity[here, axis], self.acceleration[here, axis]
        return np.asarray(self.place[here, axis] + t * (v + 0.5 * a * t))

    def shaped(self, time: Floats, impulses: tuple[Impulses, Impulses]) -> Floats:
        """(T, 3) mm, place of the head at rising times; z is not shaped."""
        xy = [
            sum(
                share * self.at(time - delay, axis) for share, delay in zip(one.share, one.delay, strict=True)
            )
            for axis, one in enumerate(impulses)
        ]
        return np.column_stack([*xy, self.at(time, 2)])

    def corners(self, impulses: tuple[Impulses, Impulses], least: float) -> Floats:
        """s, when an axis of the head changes its speed by `least`, mm/s, or more at once."""
        late = self.velocity[:-1] + self.acceleration[:-1] * self.duration[:-1, None]
        jump = np.abs(self.velocity[1:] - late)
        times = [
            self.start[1:][share * jump[:, axis] > least] + delay
            for axis, one in enumerate(impulses)
            for share, delay in zip(one.share, one.delay, strict=True)
        ]
        return np.unique(np.concatenate(times))


def executed(
    xyz: Floats,
    motion: Trapezoids,
    impulses: tuple[Impulses, Impulses],
    power: Floats,
    longest: float,
) -> Executed:
    """The pieces of the head's path. xyz: (N+1, 3) mm.  motion, power: (N,) of the rows, as planned.

    Its clock starts when the head does: `lead` before the first row, which that time and the last row's
    afterwards belong to, in the dark. longest: mm.
    """
    if not (motion.length > 0).any():
        still = np.broadcast_to(xyz[:1], (len(power) + 1, 3)).copy()
        return Executed(np.arange(len(power)), motion.duration.copy(), still, power)
    planned, tolerance = _Phases.of(xyz, motion), CHORD * longest
    early, late = lead(impulses), tail(impulses)
    most = float(np.linalg.norm(np.abs(planned.acceleration).max(axis=0)))
    # Half of the tolerance is for the samples, and half for leaving some of them out.
    step = math.sqrt(4 * tolerance / most)
    begin, end = planned.row_end - motion.duration, planned.row_end.copy()
    whole = float(end[-1])
    begin[0], end[-1] = -early, whole + late
    corners = np.concatenate([planned.corners(impulses, 2 * tolerance / step), [0.0, whole]])
    row, time, fixed = _sampled(begin, end, step, corners)
    fixed |= (time == 0.0) | (time == whole)
    time = np.append(-early, time)
    place = planned.shaped(time, impulses)
    kept = _thinned(time, place, np.append(True, fixed), tolerance / (2 * math.sqrt(3)))
    time, row = time[kept], row[kept[1:]]
    middle = (time[1:] + time[:-1]) / 2
    shines = np.where((middle > 0) & (middle < whole), power[row], 0.0)
    last = float(planned.row_end[np.flatnonzero(motion.length > 0)[-1]]) + late
    return Executed(row, np.diff(time), place[kept], shines, (0.0, last + early))


def _sampled(begin: Floats, end: Floats, step: float, corners: Floats) -> tuple[Ints, Floats, Bools]:
    """(S,) row and time of samples at most `step` s apart, and whether each is the end of its row."""
    count = np.maximum(np.ceil((end - begin) / step - 1e-9), 1).astype(np.int64)
    row, nth = numbered(count)
    last = nth + 1 == count[row]
    time = np.where(last, end[row], begin[row] + (end - begin)[row] * (nth + 1) / count[row])
    inside = corners[(corners > begin[0]) & (corners < end[-1])]
    row = np.append(row, np.searchsorted(end, inside))
    time, last = np.append(time, inside), np.append(last, np.zeros(len(inside), bool))
    order = np.lexsort((last, time, row))
    row, time, last = row[order], time[order], last[order]
    near = np.diff(time, append=np.inf) < APART
    near |= np.diff(time, prepend=-np.inf) < APART
    kept = last | ~near
    return row[kept], time[kept], last[kept]


@njit
def _thinned(time: Floats, place: Floats, fixed: Bools, tolerance: float) -> Bools:
    """(S,) samples between which the head goes evenly, to within `tolerance`, mm, along each axis.

    fixed: those that stay. From a kept sample each axis has a range of speeds that pass all samples since.
    """
    count, axes = place.shape
    kept = fixed.copy()
    low, high = np.full(axes, -np.inf), np.full(axes, np.inf)
    since = 0
    for k in range(1, count):
        after = time[k] - time[since]
        fits = True
        for axis in range(axes):
            way = place[k, axis] - place[since, axis]
            if after > 0 and not low[axis] * after <= way <= high[axis] * after:
                fits = False
        if not fits:
            since = k - 1
            kept[since] = True
            low[:], high[:] = -np.inf, np.inf
            after = time[k] - time[since]
        if kept[k]:
            since = k
            low[:], high[:] = -np.inf, np.inf
        elif after > 0:
            for axis in range(axes):
                way = place[k, axis] - place[since, axis]
                low[axis] = max(low[axis], (way - tolerance) / after)
                high[axis] = min(high[axis], (way + tolerance) / after)
    return kept
