"""Moves split where their speed changes, so that each part can have a power of its own.

A line that speeds up or brakes has one power for all of its speeds. Where the power follows the speed (GRBL's
M4), GRBL sets it for 10 ms at a time, to that of the speed at their end, starting anew with each line: a part
for each length of the spot lets the energy be right within the spot. Elsewhere a part is cut off where the
speed has changed by a quarter.

Marlin's own power trapezoid is P·v/F at the ends of a line and linear between, if the line reaches its F. So
a line with ramps is split into the shortest parts that Marlin takes, and the F of each is the highest speed
that the head has in it: its power then follows the speed, and the motion stays as it was.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gcode.compiled import njit
from gcode.controllers.executed import Executed
from gcode.controllers.interface import Controller
from gcode.errors import GcodeError
from gcode.motion.execution import execute
from gcode.motion.link import move_rates
from gcode.move import Bools, Floats, Ints, Kind, Moves

STEP = 1.25
"""Ratio of actual speeds at which a line of constant power is cut; a larger one means fewer, coarser
parts."""

_STEADY = 1.03
"""Ratio of the actual speeds of a line up to which its power need not change; a larger one splits fewer."""

_BUSY = 0.8
"""Share of the link's rate that a part alone may need; a larger one allows shorter parts."""

_CROWDED = 0.98
"""Share of the link's rate that a run of moves may need; a larger one leaves less margin."""

_TRIES = 6
"""Halvings of the parts where the link is too slow; after them, the moves there stay whole."""

_SLOWER = 1.005
"""Largest ratio of write times after and before splitting: a controller with a short look-ahead slows down
where lines are short. A larger one allows shorter parts."""

_INSTANT = 1e-12
"""s, shortest duration of a part on a link without a limit; only above 0."""


def prepared(
    moves: Moves, controller: Controller, *, shortest: float, segment_rate: float = math.inf, order: int = 1
) -> Moves:
    """`moves` (lines, rapids, dwells) with lit lines split where the speed of their head changes.

    Every part keeps power^order/speed, and on Marlin has its highest actual speed as its speed.
    shortest: mm, least length of a part.  segment_rate: moves/s that the link delivers.  order: photons that
    the resist absorbs at once.
    Power that follows the speed stays so only if the controller can do that.  Raises GcodeError for arcs.
    """
    if not (math.isfinite(shortest) and shortest > 0):
        raise GcodeError(f"shortest is {shortest}, but must be above 0")
    if moves.arc.any():
        raise GcodeError("an arc has one power; cut arcs into chords first")
    controller = controller.stepless()  # the jumps of single steps are no changes of speed
    if controller.power_follows and (moves.dynamic & moves.on).any():
        return _ramps_split(moves, controller, shortest, segment_rate)
    # The commanded power already suits the commanded speed, so it must not follow the speed.
    moves = replace(moves, dynamic=np.zeros(len(moves), dtype=bool))
    if controller.ramp_levels:
        return _at_peak(_shortest_parts(moves, controller, shortest, segment_rate), controller, order)
    return _cut(moves, controller, shortest, 1 / segment_rate)


def _ramps_split(moves: Moves, controller: Controller, shortest: float, segment_rate: float) -> Moves:
    """Lit lines on which the head speeds up or brakes, in equal parts of about 2·`shortest`.

    No part takes less than a move may at `_BUSY` of the link's rate. If parts slow the controller down,
    longer ones are tried.
    """
    before, least = execute(moves, controller, longest=shortest), 1 / (_BUSY * segment_rate)
    varying, lasts = _varying(moves, before), before.durations(len(moves))
    for longest in (2 * shortest, 4 * shortest, 8 * shortest):
        count = np.minimum(np.ceil(moves.length / longest - 1e-6), np.floor(lasts / max(least, _INSTANT)))
        count = np.where(varying, np.maximum(count, 1), 1).astype(np.int64)
        split = _uncrowded(moves, count, controller, segment_rate)
        slower = execute(split, controller, longest=shortest).write_time / max(before.write_time, 1e-12)
        if slower <= _SLOWER:
            return split
    return moves


def _uncrowded(moves: Moves, count: Ints, controller: Controller, segment_rate: float) -> Moves:
    """The moves in `count` (N,) equal parts, without the parts that the link could not feed in time."""
    # Without a link: on a link that is too slow the moves last as long as it takes to send them.
    free, window = controller.unlinked(), controller.buffered
    for _ in range(_TRIES):
        split = _in_parts(moves, count)
        rates = move_rates(execute(split, free).durations(len(split)), window)
        highest = np.zeros(len(moves))
        np.maximum.at(highest, np.repeat(np.arange(len(moves)), count), rates)
        crowded = (highest > _CROWDED * segment_rate) & (count > 1)
        if not crowded.any():
            return split
        count = np.where(crowded, count // 2, count)
    return _in_parts(moves, np.where(crowded, 1, count))


def _in_parts(moves: Moves, count: Ints) -> Moves:
    """The moves in `count` (N,) equal parts."""
    row = np.repeat(np.arange(len(moves)), count - 1)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count - 1) - (count - 1), count - 1) + 1
    return _inserted(moves, row, nth / count[row])


def _varying(moves: Moves, done: Executed) -> Bools:
    """(N,) the lit lines on which the actual speed changes."""
    length = np.linalg.norm(np.diff(done.xyz, axis=0), axis=1)
    goes = (length > 0) & (done.duration > 0)
    speed, row = length[goes] / done.duration[goes], done.row[goes]
    low, high = np.full(len(moves), np.inf), np.zeros(len(moves))
    np.minimum.at(low, row, speed)
    np.maximum.at(high, row, speed)
    varying: Bools = moves.on & (moves.kind == Kind.LINE) & (high > _STEADY * low)
    return varying


def _shortest_parts(moves: Moves, controller: Controller, longest: float, segment_rate: float) -> Moves:
    """Lit lines on which the head speeds up or brakes, in equal parts, the shortest that Marlin takes."""
    varying = _varying(moves, execute(moves, controller, longest=longest))
    size = np.abs(np.diff(moves.xy, axis=0)).max(axis=1)
    count = np.where(varying, np.maximum(np.floor(size / controller.shortest_move + 1e-6), 1), 1)
    return _uncrowded(moves, count.astype(np.int64), controller, segment_rate)


def _at_peak(moves: Moves, controller: Controller, order: int) -> Moves:
    """The moves with the peak speed of each lit line as its speed, and power^order in proportion."""
    lit = moves.on & (moves.kind == Kind.LINE)
    share = np.where(lit, np.minimum(controller.peaks(moves) / moves.speed, 1.0), 1.0)
    return replace(moves, power=moves.power * share ** (1 / order), speed=moves.speed * share)


def _cut(moves: Moves, controller: Controller, shortest: float, least: float) -> Moves:
    """The moves with lines cut where their actual speed changes; least: s, shortest duration of a part."""
    done = execute(moves, controller, longest=shortest / 4)
    length = np.linalg.norm(np.diff(done.xyz, axis=0), axis=1)
    lit = (moves.on & (moves.kind == Kind.LINE))[done.row] & (length > 0) & (done.duration > 0)
    actual = np.divide(length, done.duration, out=np.ones(len(length)), where=lit)
    share = np.where(lit, actual / moves.speed[done.row], 1.0)
    step = np.rint(np.log(np.maximum(share, 1e-6)) / math.log(STEP)).astype(np.int64)
    whole = np.bincount(done.row, length, len(moves)).astype(np.float64)
    cuts = np.zeros(len(length), dtype=bool)
    _mark(done.row, step, lit, length, done.duration, whole, shortest, least, cuts)
    at = np.flatnonzero(cuts)
    gone = np.cumsum(length) - np.concatenate([[0.0], np.cumsum(whole)])[:-1][done.row]
    fraction = gone[at] / np.maximum(whole[done.row[at]], 1e-300)
    return _inserted(moves, done.row[at], fraction)


@njit
def _mark(
    row: Ints, step: Ints, lit: Bools, length: Floats, duration: Floats, whole: Floats,
    shortest: float, least: float, cuts: Bools,
) -> None:  # fmt: skip
    """Sets cuts[p] where the row is to be cut after piece p. A kernel, so it takes flat arrays."""
    here, since, lasted, place, now = -1, 0.0, 0.0, 0.0, 0
    for p in range(len(row)):
        if row[p] != here:
            here, since, lasted, place, now = row[p], 0.0, 0.0, 0.0, step[p]
        elif lit[p] and step[p] != now and min(since, whole[here] - place) >= shortest and lasted >= least:
            cuts[p - 1] = True
            since, lasted, now = 0.0, 0.0, step[p]
        since += length[p]
        lasted += duration[p]
        place += length[p]


def _inserted(moves: Moves, row: Ints, fraction: Floats) -> Moves:
    """The moves with a vertex inserted at each fraction of each row; fractions ascend."""
    if not len(row):
        return moves
    xy = moves.xy[row] + (moves.xy[row + 1] - moves.xy[row]) * fraction[:, None]
    z = moves.z[row] + (moves.z[row + 1] - moves.z[row]) * fraction
    of = np.sort(np.concatenate([np.arange(len(moves)), row]), kind="stable")
    columns = {name: getattr(moves, name)[of] for name in ("power", "speed", "kind", "dwell", "dynamic")}
    first = np.searchsorted(of, np.arange(len(moves) + 1))
    comments = tuple((int(first[at]), text) for at, text in moves.comments)
    return Moves(
        xy=np.insert(moves.xy, row + 1, xy, axis=0), z=np.insert(moves.z, row + 1, z), comments=comments,
        **columns,
    )  # fmt: skip
