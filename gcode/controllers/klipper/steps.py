"""Where steppers stand that follow a trajectory to the nearest step, as Klipper's do.

Klipper plans in mm, and takes a step of an axis when the planned place n, in steps, reaches the middle
between two steps. So the axis stands at k while k − ½ < n < k + ½; at a middle it goes on in its direction.

The path between two steps of an axis is a tread, of length ℓ. Within a spot, short treads average to the
planned place: no spot resolves a wave shorter than half its FWHM. So only long ones are followed, along lines
parallel to the other axis, or nearly so. Half of a step is taken on each side of the middle, within a step's
length of path, so that speeds stay finite.

Each axis has its own stepper. On a CoreXY machine the steppers follow x + y and x − y, so diagonals are the
lines that are off; that is not modelled.

Steps come at the planned time (Klipper: to within 25 µs). Source: comments of
https://github.com/Klipper3d/klipper/blob/v0.13.0/klippy/chelper/itersolve.c ("half_step", "midway point").
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gcode.controllers.executed import Executed
from gcode.move import Bools, Floats

_DIGITS = 6
"""Decimals of a place in steps. With more, errors of the arithmetic would make steps at a middle."""

_TREAD = 0.4
"""Shortest tread that is followed, in `longest`. With it, whole plans at 80 steps/mm are within 1.95 % of the
recorded peak dose at a `longest` of half a FWHM. A larger one follows fewer: 1 makes that 2.5 %."""

_RAMPS = 4
"""Least ratio of a tread to the path of half a step at its end. A larger one makes the step more abrupt."""

_APART = 1e-9
"""s, least time between two cuts. A larger one moves steps."""


def on_nearest_steps(done: Executed, steps: tuple[float, float, float], longest: float) -> Executed:
    """`done` with x and y at their nearest steps on long treads of its lit path; z stays as planned.

    steps: steps/mm of x, y, z.  longest: mm, of pieces of varying speed; long treads are 0.4 of it or more.
    """
    if not len(done):
        return done
    way = _Elapsed.of(done)
    x, y = (_held(way, done.xyz[:, axis], steps[axis], _TREAD * longest) for axis in (0, 1))
    cuts = _apart(np.concatenate([x.time, y.time]), way.time)
    cuts, place = np.concatenate([way.time, cuts]), np.arange(len(way.time) + len(cuts))
    order = np.argsort(cuts, kind="stable")
    cuts, known = cuts[order], place[order] < len(way.time)
    source = np.cumsum(known)[:-1] - 1
    xyz = np.column_stack([x.at(cuts), y.at(cuts), np.interp(cuts, way.time, done.xyz[:, 2])])
    return replace(
        done,
        row=done.row[source],
        duration=np.diff(cuts),
        xyz=xyz,
        power=done.power[source],
        light=done.light[source],
    )


@dataclass(frozen=True, slots=True)
class _Elapsed:
    """(P+1,) at the ends of the pieces. time: s.  length: mm of path in x and y.

    lit: s of light before.  rested: s of light at rest before.
    """

    time: Floats
    length: Floats
    lit: Floats
    rested: Floats

    @classmethod
    def of(cls, done: Executed) -> _Elapsed:
        """The way of an execution."""
        length = np.hypot(*np.diff(done.xyz[:, :2], axis=0).T)
        lit = np.where(done.power > 0, done.duration, 0.0)
        each = done.duration, length, lit, np.where(length == 0, lit, 0.0)
        return cls(*(np.append(0.0, np.cumsum(x)) for x in each))


@dataclass(frozen=True, slots=True)
class _Knots:
    """(K,) an axis between knots: time, s, and value, mm."""

    time: Floats
    value: Floats

    def at(self, time: Floats) -> Floats:
        """(T,) mm at T times."""
        return np.interp(time, self.time, self.value)


@dataclass(frozen=True, slots=True)
class _StepTimes:
    """(J,) steps of an axis. time: s.  length: mm of path before.

    middle: the place at that time, in steps.  after: where the axis stands then, in steps.
    close: whether steps follow that are less than a long tread apart, and are not listed.
    """

    time: Floats
    length: Floats
    middle: Floats
    after: Floats
    close: Bools

    @classmethod
    def of(cls, way: _Elapsed, n: Floats, tread: float) -> _StepTimes:
        """The steps along places n (P+1,); of those less than `tread` mm apart in a piece, the ends."""
        stand = _stands(n)
        change, path = np.diff(stand), np.diff(way.length)
        count = np.abs(change).astype(np.int64)
        close = path < tread * count
        listed = np.where(close, np.minimum(count, 2), count)
        piece = np.repeat(np.arange(len(count)), listed)
        nth = np.arange(len(piece)) - np.repeat(np.cumsum(listed) - listed, listed)
        first = nth == 0
        nth = np.where(close[piece] & ~first, count[piece] - 1, nth)
        middle = stand[piece] + np.sign(change[piece]) * (nth + 0.5)
        share = (middle - n[piece]) / (n[piece + 1] - n[piece])
        time = way.time[piece] + share * np.diff(way.time)[piece]
        return cls(
            time, way.length[piece] + share * path[piece], middle,
            middle + np.sign(change[piece]) / 2, close[piece] & first & (count[piece] > 2),
        )  # fmt: skip


def _stands(n: Floats) -> Floats:
    """(P+1,) steps at which an axis stands that follows n. At a middle it goes on in its direction."""
    change = np.diff(n)
    reached = np.where(change > 0, np.floor(n[1:] + 0.5), np.ceil(n[1:] - 0.5))
    stand = np.append(np.rint(n[0]), reached)
    last = np.maximum.accumulate(np.where(np.append(True, change != 0), np.arange(len(n)), 0))
    return stand[last]


def _held(way: _Elapsed, place: Floats, per_mm: float, tread: float) -> _Knots:
    """The places of an axis (P+1,) mm: at rest on treads of at least `tread` mm, else as planned."""
    n = np.round(place * per_mm, _DIGITS)
    steps = _StepTimes.of(way, n, tread)
    begin, end = np.append(0.0, steps.length), np.append(steps.length, way.length[-1])
    since, until = np.append(way.time[0], steps.time), np.append(steps.time, way.time[-1])
    lit, rested = (
        np.interp(until, way.time, x) > np.interp(since, way.time, x) for x in (way.lit, way.rested)
    )
    long = ((lit & (end - begin >= tread)) | rested) & ~np.append(False, steps.close)
    ramp = np.minimum(1 / per_mm, (end - begin) / _RAMPS)
    arrived = np.where(rested, since, np.interp(begin + ramp, way.length, way.time))
    left = np.where(rested, until, np.interp(end - ramp, way.length, way.time))
    # No step comes before the start or after the end.
    arrived[0], left[-1] = way.time[0], way.time[-1]
    stand = np.append(np.rint(n[0]), steps.after)
    planned = ~long[np.searchsorted(steps.time, way.time, side="right")]
    near = long[:-1] | long[1:]
    time = np.concatenate([way.time[planned], left[long], steps.time[near], arrived[long]])
    value = np.concatenate([n[planned], stand[long], steps.middle[near], stand[long]])
    order = np.argsort(time, kind="stable")
    return _Knots(time[order], value[order] / per_mm)


def _apart(some: Floats, known: Floats) -> Floats:
    """The times that are not within a nanosecond of another, or of a known one (rising)."""
    some = np.unique(some)
    some = some[np.diff(some, prepend=-np.inf) > _APART]
    at = np.searchsorted(known, some)
    before, after = known[np.maximum(at - 1, 0)], known[np.minimum(at, len(known) - 1)]
    return some[(some - before > _APART) & (after - some > _APART)]
