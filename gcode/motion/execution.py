"""What the controller really does with the moves: pieces of near-constant actual speed and power.

Within a lit move the speed is a trapezoid (`planner`). It is cut in one of two ways:

- by distance: where the ramps end, and the ramps into pieces no longer than `longest`. A piece from
  speed v_a to v_b takes 2·length/(v_a + v_b), so its actual speed, and the speed that sets its
  power, is their mean. This is the ideal controller.
- by time: GRBL works out steps and power anew every tick of 10 ms from the start of a move, with the
  power of the speed at the *end* of the tick. So it is too bright where it accelerates and too dark
  where it brakes (the last tick before a stop is dark). GRBL 1.1h on an atmega328p shows just these
  PWM levels; its exposure, ∫ power dt, is met within 0.25 % (2.5 % where the link starves).

With dynamic power (GRBL's M4), power = commanded power · that speed/commanded speed, so the line
energy power/speed stays about as commanded; with constant power (M3) it grows where the head is slow.
PWM with n levels: level = floor((n − 1)·power) + 1 for power > 0, and power = level/n.
Sources: https://github.com/gnea/grbl, stepper.c and spindle_control.c (comments); wiki, "Laser Mode".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gcode.errors import GcodeError
from gcode.motion.planner import LENGTH_MIN, Limits, Motion, on_steps, profile
from gcode.move import Floats, Moves


def execute(
    moves: Moves,
    limits: Limits,
    *,
    dynamic_power: bool,
    power_levels: int | None,
    longest: float,
    tick: float | None = None,
) -> Moves:
    """The moves as executed, with actual speed and power. Dark moves stay one piece each.

    longest: mm, of a piece that accelerates or brakes, when cut by distance.  tick: s, cuts by
    time instead.  power_levels: None for no PWM.  Moves without length are gone: they last no time.
    """
    for name, value in (("longest", longest), ("tick", tick)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise GcodeError(f"{name} is {value}, but must be above 0")
    moves = on_steps(moves, limits)
    motion, keep = profile(moves, limits), moves.length > LENGTH_MIN
    ramp = _Trapezoids.of(motion, moves, keep)
    pieces = _by_distance(ramp, longest) if tick is None else _by_time(ramp, tick)
    move, slowing = pieces.move, motion.slowing[keep][pieces.move]
    power = moves.power[keep][move]
    if dynamic_power:
        power = power * np.minimum(pieces.shown / (slowing * moves.speed[keep][move]), 1.0)
    if power_levels is not None:
        power = quantise(power, power_levels)
    speed = pieces.length / (pieces.duration * slowing)
    return Moves(_vertices(moves, keep, pieces), power, speed, moves.rapid[keep][move])


def quantise(power: Floats, levels: int) -> Floats:
    """The duty that GRBL's PWM gives to each power fraction."""
    level = np.where(power > 0, np.floor((levels - 1) * power) + 1, 0)
    return np.minimum(level, levels) / levels


@dataclass(frozen=True, slots=True)
class _Trapezoids:
    """(M,) moves with a length: mm, mm/s, mm/s², s. up, flat, down: (M,) s of each phase."""

    length: Floats
    v0: Floats
    top: Floats
    v1: Floats
    acceleration: Floats
    on: NDArray[np.bool_]
    up: Floats
    flat: Floats
    down: Floats

    @classmethod
    def of(cls, motion: Motion, moves: Moves, keep: NDArray[np.bool_]) -> _Trapezoids:
        v0, top, v1, a = (x[keep] for x in (motion.entry, motion.peak, motion.exit, motion.acceleration))
        up, down = (top - v0) / a, (top - v1) / a
        flat = np.maximum((motion.duration / motion.slowing)[keep] - up - down, 0)
        return cls(moves.length[keep], v0, top, v1, a, moves.on[keep], up, flat, down)

    @property
    def duration(self) -> Floats:
        return self.up + self.flat + self.down

    def at(self, move: NDArray[np.int64], t: Floats) -> tuple[Floats, Floats]:
        """(mm from the start of the move, mm/s) at time t, s, of each `move`."""
        up, a, top, v0, v1 = (x[move] for x in (self.up, self.acceleration, self.top, self.v0, self.v1))
        left = np.maximum(self.duration[move] - t, 0)
        place = np.where(t < up, v0 * t + a * t**2 / 2, (v0 + top) / 2 * up + top * (t - up))
        braking = left < self.down[move]
        place = np.where(braking, self.length[move] - v1 * left - a * left**2 / 2, place)
        speed = np.minimum(np.minimum(v0 + a * t, v1 + a * left), top)
        return np.clip(place, 0, self.length[move]), speed


@dataclass(frozen=True, slots=True)
class _Pieces:
    """(P,) pieces in order: of which move, mm to their end from its start, mm, s, mm/s for the power."""

    move: NDArray[np.int64]
    end: Floats
    length: Floats
    duration: Floats
    shown: Floats


def _numbered(count: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """count[k] pieces of each k → (which k, how manieth of it) of every piece."""
    which = np.repeat(np.arange(count.size), count)
    return which, np.arange(which.size) - np.repeat(np.cumsum(count) - count, count)


def _by_time(ramp: _Trapezoids, tick: float) -> _Pieces:
    """Ticks from the start of each lit move, the last one cut short."""
    count = np.where(ramp.on, np.maximum(np.ceil(ramp.duration / tick - 1e-6), 1), 1).astype(np.int64)
    move, nth = _numbered(count)
    last = nth == count[move] - 1
    t0 = (nth * tick).astype(np.float64)
    t1 = np.where(last, ramp.duration[move], t0 + tick)
    begin, _ = ramp.at(move, t0)
    end, speed = ramp.at(move, t1)
    return _Pieces(move, end, np.maximum(end - begin, LENGTH_MIN / 10), t1 - t0, speed)


def _by_distance(ramp: _Trapezoids, longest: float) -> _Pieces:
    """The three phases of each lit move, its ramps in equal parts; what rounding leaves is steady."""
    up, down = (ramp.v0 + ramp.top) / 2 * ramp.up, (ramp.v1 + ramp.top) / 2 * ramp.down
    phases = np.stack([up, np.maximum(ramp.length - up - down, 0), down])
    phases *= ramp.length / phases.sum(axis=0)
    count = np.ceil(phases / longest - 1e-9).astype(np.int64)
    count[1] = phases[1] > LENGTH_MIN
    phases[:, ~ramp.on] = np.stack([0 * up, ramp.length, 0 * up])[:, ~ramp.on]
    count[:, ~ramp.on] = [[0], [1], [0]]
    which, nth = _numbered(count.T.ravel())
    move, phase = np.divmod(which, 3)
    part = 1 / count[phase, move]
    # v² is linear in the distance.
    square = np.stack([ramp.v0, ramp.top, ramp.top, ramp.v1]) ** 2
    gain = (square[phase + 1, move] - square[phase, move]) * part
    va, vb = (np.sqrt(np.maximum(square[phase, move] + gain * k, 0)) for k in (nth, nth + 1))
    length = phases[phase, move] * part
    duration = np.where(ramp.on[move], 2 * length / (va + vb), ramp.duration[move])
    end = (np.cumsum(phases, axis=0) - phases)[phase, move] + length * (nth + 1)
    return _Pieces(move, end, length, duration, length / duration)


def _vertices(moves: Moves, keep: NDArray[np.bool_], pieces: _Pieces) -> Floats:
    """(P+1, 2) mm; the last piece of a move ends exactly where the move does."""
    move = pieces.move
    a, b = moves.xy[:-1][keep][move], moves.xy[1:][keep][move]
    last = np.append(move[1:] != move[:-1], True)[: len(move)]
    fraction = (pieces.end / moves.length[keep][move])[:, None]
    return np.vstack([moves.xy[:1], np.where(last[:, None], b, a + (b - a) * fraction)])
