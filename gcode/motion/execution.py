"""What the controller really does with the moves: pieces of near-constant actual speed and power.

Each controller has its own model: `grbl` and `marlin` follow their firmware line by line, `klipper` looks
ahead over all; whatever else has a planner that accelerates evenly is taken for that of `planner`. Within a
move the speed is then a trapezoid. It is cut where the ramps end, and a ramp into pieces of equal time, none
longer than `longest`; a piece from speed v_a to v_b takes 2·length/(v_a + v_b).

Power is constant, or in proportion to the speed (`Moves.dynamic`): then a piece has that of its mean speed,
so that the line energy power/speed stays as commanded. GRBL and Marlin do it in steps: see their modules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gcode.errors import GcodeError
from gcode.levels import quantise
from gcode.motion import grbl, klipper, marlin
from gcode.motion.executed import Executed
from gcode.motion.grbl import Grbl
from gcode.motion.klipper import Klipper
from gcode.motion.marlin import Marlin
from gcode.motion.planner import LENGTH_MIN, Limits, on_steps, profile
from gcode.move import Bools, Floats, Ints, Moves

Controller = Limits | Grbl | Marlin | Klipper

LINE_CHARACTERS = 25
"""Of a usual line, where it is not known what was sent."""

_DARK = 0.1
"""mm, of a piece of a dark move, or `longest` where that is more."""

ARC_TOLERANCE = 0.002
"""mm, of the chords that controllers cut arcs into: GRBL's own."""


def execute(
    moves: Moves,
    controller: Controller,
    *,
    characters: ArrayLike | None = None,
    power_levels: int | None = None,
    longest: float = 0.05,
) -> Executed:
    """The moves as executed, with actual speed and power.

    characters: (N,) sent for each move, line ends included (`gcode.read` has them).
    power_levels: PWM levels above zero, None for continuous power.
    longest: mm, of a piece of a lit move that accelerates or brakes.
    """
    if not (math.isfinite(longest) and longest > 0):
        raise GcodeError(f"longest is {longest}, but must be above 0")
    chords, row = moves.cut(ARC_TOLERANCE)
    sent = np.full(len(moves), LINE_CHARACTERS) if characters is None else np.asarray(characters)
    if sent.shape != (len(moves),):
        raise GcodeError(f"characters has shape {sent.shape}, but {(len(moves),)} is needed")
    # A line is sent once, with its first chord.
    sent = np.where(np.diff(row, prepend=-1) > 0, sent[row], 0)
    if isinstance(controller, Grbl):
        done = _grbl(chords, controller, sent, power_levels)
    elif isinstance(controller, Marlin):
        done = _marlin(chords, controller, sent, longest)
    elif isinstance(controller, Klipper):
        done = _klipper(chords, controller, power_levels, longest)
    else:
        done = _trapezoids(chords, controller, power_levels, longest)
    return replace(done, row=row[done.row])


def _pauses(moves: Moves) -> Floats:
    """(N,) s of dwells, NaN where the row is a motion."""
    return np.where(moves.still, moves.dwell, np.nan)


def _grbl(moves: Moves, controller: Grbl, sent: Ints, levels: int | None) -> Executed:
    run = grbl.plan(moves.xyz, moves.speed, moves.rapid, _pauses(moves), sent, controller)
    places = np.rint(moves.xyz * controller.steps) / controller.steps
    power = run.power(moves.power, moves.speed, moves.dynamic, levels)
    xyz = np.vstack([places[:1], run.ends(places)])
    return Executed(run.row, run.duration, xyz, power, run.stepping(places, controller.steps))


def _marlin(moves: Moves, controller: Marlin, sent: Ints, longest: float) -> Executed:
    planned = marlin.plan(moves.xyz, moves.speed, _pauses(moves), sent, controller)
    shone = marlin.pieces(planned, moves.power, controller, longest)
    xyz = np.vstack([planned.vertex[:1], shone.xyz])
    return Executed(shone.row, shone.duration, xyz, shone.power, (planned.first_step, planned.time))


def _klipper(moves: Moves, controller: Klipper, levels: int | None, longest: float) -> Executed:
    plan = klipper.plan(moves.xyz, moves.speed, _pauses(moves), controller)
    speeds = _Ramps(plan.length, plan.entry, plan.peak, plan.exit, plan.acceleration, plan.duration, moves.on)
    pieces = speeds.cut(longest)
    power = moves.power if levels is None else np.rint(moves.power * levels) / levels
    stepping = klipper.stepping(moves.xyz, plan, controller)
    return Executed(pieces.row, pieces.duration, _places(moves, pieces), power[pieces.row], stepping)


def _trapezoids(moves: Moves, limits: Limits, levels: int | None, longest: float) -> Executed:
    moves = on_steps(moves, limits)
    motion = profile(moves, limits)
    length = np.where(moves.length > LENGTH_MIN, moves.length, 0.0)
    quick = motion.duration / motion.slowing
    ramps = _Ramps(length, motion.entry, motion.peak, motion.exit, motion.acceleration, quick, moves.on)
    pieces = ramps.cut(longest)
    duration = pieces.duration * motion.slowing[pieces.row]
    actual = np.divide(pieces.length, duration, out=np.zeros(len(duration)), where=duration > 0)
    part = np.where(moves.dynamic[pieces.row], np.minimum(actual / moves.speed[pieces.row], 1.0), 1.0)
    power = moves.power[pieces.row] * part
    power = power if levels is None else quantise(power, levels)
    return Executed(pieces.row, duration, _places(moves, pieces), power, (0.0, float(duration.sum())))


@dataclass(frozen=True, slots=True)
class _Pieces:
    """(P,) in order: of which row, mm to the end from the row's start, mm, s."""

    row: Ints
    end: Floats
    length: Floats
    duration: Floats


@dataclass(frozen=True, slots=True)
class _Ramps:
    """(N,) rows: mm, mm/s, mm/s², s; whether they are lit. One without length is a wait."""

    length: Floats
    v0: Floats
    top: Floats
    v1: Floats
    acceleration: Floats
    duration: Floats
    lit: Bools

    def cut(self, longest: float) -> _Pieces:
        """The three phases of each row, its ramps in parts of equal time; what rounding leaves is steady."""
        a = np.where(self.acceleration > 0, self.acceleration, 1.0)
        up, down = (self.top - self.v0) / a, (self.top - self.v1) / a
        whole = self.length == 0
        ramped = (self.v0 + self.top) / 2 * up + (self.v1 + self.top) / 2 * down
        flat = np.divide(self.length - ramped, self.top, out=np.zeros(len(a)), where=~whole)
        flat = np.where(flat * self.top > LENGTH_MIN, flat, 0.0)
        most = np.where(self.lit, longest, max(longest, _DARK))
        phases = np.stack([up, np.where(whole, self.duration, flat), down])
        count = np.ceil(phases * self.top / most - 1e-9).astype(np.int64)
        count = np.maximum(count, phases * self.top > LENGTH_MIN)
        count[1] = phases[1] > 0
        count[1] += count.sum(axis=0) == 0
        which, nth = _numbered(count.T.ravel())
        row, phase = np.divmod(which, 3)
        part = 1 / count[phase, row]
        speed = np.stack([self.v0, self.top, self.top, self.v1])
        begin, gain = speed[phase, row], speed[phase + 1, row] - speed[phase, row]
        duration = phases[phase, row] * part
        length = np.where(whole[row], 0.0, (begin + gain * (nth + 0.5) * part) * duration)
        end = np.cumsum(length)
        first = np.searchsorted(row, row)
        return _Pieces(row, end - (end - length)[first], length, duration)


def _numbered(count: Ints) -> tuple[Ints, Ints]:
    """count[k] pieces of each k → (which k, how manieth of it) of every piece."""
    which = np.repeat(np.arange(count.size), count)
    return which, np.arange(which.size) - np.repeat(np.cumsum(count) - count, count)


def _places(moves: Moves, pieces: _Pieces) -> Floats:
    """(P+1, 3) mm; the last piece of a row ends exactly where the row does."""
    xyz, row = moves.xyz, pieces.row
    last = np.append(row[1:] != row[:-1], True)[: len(row)]
    length = np.maximum(moves.length[row], LENGTH_MIN)
    fraction = np.where(last, 1.0, pieces.end / length)[:, None]
    ends = np.where(last[:, None], xyz[row + 1], xyz[row] + (xyz[row + 1] - xyz[row]) * fraction)
    return np.vstack([xyz[:1], ends])
