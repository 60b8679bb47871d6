"""Power for controllers that do not scale it with the speed themselves.

A line of power P at speed v has the line energy P/v. Where the head is really slower, at corners and ends, a
constant power burns. So each lit line is cut where its actual speed passes a step of `STEP`; each part is
told the mean speed v̄ that it really has, and P v̄/v. That is the same line energy, and the head no longer
falls far short of what it is told. What is left, E = ∫ P dt as executed against the wanted P L/v, corrects P
by P L/(v E), worked out again with the new powers. No part is shorter than the link can deliver, nor than
`shortest`: what the spot blurs needs no finer power.

Marlin's own power trapezoid (`marlin`) shades ramps that reach their nominal speed well, and parts of them
badly: there lines stay whole.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numba
import numpy as np

from gcode.errors import GcodeError
from gcode.motion.execution import Controller, execute
from gcode.motion.marlin import Marlin
from gcode.move import Bools, Floats, Ints, Kind, Moves

STEP = 1.25
"""Ratio of the actual speeds of neighbouring parts."""

_ROUNDS = 3


def corrected(
    moves: Moves,
    controller: Controller,
    *,
    shortest: float,
    segment_rate: float = math.inf,
    power_levels: int | None = None,
    level_min: int = 1,
) -> Moves:
    """`moves` (lines, rapids, dwells) with constant powers that give every lit line its energy as executed.

    shortest: mm, of a part.  segment_rate: moves/s that the link delivers.  power_levels, level_min: powers
    become levels; a part that wants less than half of the smallest is dark.
    """
    if not (math.isfinite(shortest) and shortest > 0):
        raise GcodeError(f"shortest is {shortest}, but must be above 0")
    # The power that is told is for the speed that is told: nothing has to follow.
    moves = replace(moves, dynamic=np.zeros(len(moves), dtype=bool))
    if moves.arc.any():
        raise GcodeError("an arc has one power; cut arcs into chords first")
    whole = isinstance(controller, Marlin)
    parts = moves if whole else _cut(moves, controller, shortest, 1 / segment_rate)
    lit = parts.on & ~parts.still
    wanted = np.where(lit, parts.power * parts.length / parts.speed, 0.0)
    parts = _slowed(parts, controller, shortest)
    power = parts.power
    for _ in range(_ROUNDS):
        trial = _with_power(parts, power)
        shone = execute(trial, controller, power_levels=power_levels, longest=shortest).energies(len(parts))
        ratio = np.divide(wanted, shone, out=np.ones(len(parts)), where=lit & (shone > 0))
        power = np.where(lit, np.clip(power * ratio, 0, 1), power)
    return _with_power(parts, power if power_levels is None else _on_levels(power, power_levels, level_min))


def _on_levels(power: Floats, levels: int, level_min: int) -> Floats:
    nearest = np.rint(power * levels)
    nearest = np.where(
        (power > 0) & (nearest < level_min), np.where(2 * power * levels < level_min, 0, level_min), nearest
    )
    return np.minimum(nearest, levels) / levels


def _with_power(moves: Moves, power: Floats) -> Moves:
    columns = {name: getattr(moves, name) for name in ("xy", "speed", "kind", "z", "dwell", "dynamic")}
    return Moves(power=power, comments=moves.comments, **columns)


def _slowed(moves: Moves, controller: Controller, longest: float) -> Moves:
    """The lit lines told their mean actual speed, and power in proportion."""
    lasts = execute(moves, controller, longest=longest).durations(len(moves))
    lit = moves.on & (moves.kind == Kind.LINE) & (lasts > 0)
    actual = np.divide(moves.length, lasts, out=np.ones(len(moves)), where=lit)
    share = np.where(lit, np.minimum(actual / moves.speed, 1.0), 1.0)
    columns = {name: getattr(moves, name) for name in ("xy", "kind", "z", "dwell", "dynamic")}
    return Moves(power=moves.power * share, speed=moves.speed * share, comments=moves.comments, **columns)


def _cut(moves: Moves, controller: Controller, shortest: float, least: float) -> Moves:
    """The lines cut where their actual speed changes; least: s that a part lasts."""
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


@numba.njit(cache=True)
def _mark(
    row: Ints, step: Ints, lit: Bools, length: Floats, duration: Floats, whole: Floats,
    shortest: float, least: float, cuts: Bools,
) -> None:  # fmt: skip
    """Sets cuts[p] where the row is to be cut after piece p."""
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
    """The moves with a vertex more at each fraction (rising) of each row."""
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
