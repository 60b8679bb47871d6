"""What the models share: the record of an execution, trapezoids of speed in pieces, and rounding to steps.

A move is cut where its ramps end, and each ramp into pieces of equal time, none longer than `longest`. A
piece from speed v_a to v_b takes 2·length/(v_a + v_b).

Firmware rounds vertices to whole steps in single precision, halves away from zero. With 250
steps/mm and places of four decimals one in forty lies half-way between two steps, so the arithmetic decides
where it goes. A step of 4 µm turns a short line, and junction speeds with it: 14 % of a plan's peak dose in
one place.

GRBL (`grbl.kernel`) and Marlin read a number in single precision, multiply it by steps/mm and call lround.
Sources: https://github.com/gnea/grbl (planner.c: plan_buffer_line) and
https://github.com/MarlinFirmware/Marlin (planner.cpp), comments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from gcode.errors import one_line
from gcode.move import Bools, Floats, Ints, Kind, Moves, numbered

LINE_CHARACTERS = 25
"""Characters of a typical line, used if the text is not known. More make a serial link slower."""

ACKNOWLEDGEMENT = 4
"""Bytes of "ok" and the end of its line."""

PLANNED_CHARACTERS = 31
"""Those of a plan's line, with F and S, in the mean; with more, a slow host delivers fewer moves."""


@dataclass(frozen=True, slots=True, eq=False)
class Executed:
    """(P,) pieces in order, without gaps, the first at 0 s.

    row: index of the executed move.  duration: s.  xyz: (P+1, 3) mm, the ends of the pieces.
    power: the actual level, fraction of full power.
    stepping: s, the times of the first and the last step, as measured at the motors.
    light: fraction of full optical power, by the board's `LightCurve`; None: the same as power.

    The dose comes from the light, so `exposure`, `energies` and `moves` are of light.
    """

    row: Ints
    duration: Floats
    xyz: Floats
    power: Floats
    stepping: tuple[float, float] = (0.0, 0.0)
    light: Floats = None  # type: ignore[assignment]  # None: the power

    __repr__ = one_line

    def __post_init__(self) -> None:
        if cast("Floats | None", self.light) is None:
            object.__setattr__(self, "light", self.power)

    def __len__(self) -> int:
        return len(self.row)

    @property
    def end(self) -> Floats:
        """(P,) s, the time at which each piece ends."""
        return np.cumsum(self.duration)

    @property
    def write_time(self) -> float:
        """s, the sum of all durations."""
        return float(self.duration.sum())

    @property
    def exposure(self) -> float:
        """∫ light dt, s."""
        return float(self.light @ self.duration)

    def durations(self, rows: int) -> Floats:
        """(rows,) s, duration of each move."""
        return np.bincount(self.row, self.duration, rows)[:rows].astype(np.float64)

    def energies(self, rows: int) -> Floats:
        """(rows,) s, ∫ light dt over each move."""
        return np.bincount(self.row, self.light * self.duration, rows)[:rows].astype(np.float64)

    def at(self, t: ArrayLike) -> Floats:
        """(T, 3) mm, position of the head at T times, s."""
        knots = np.append(0.0, self.end)
        return np.stack([np.interp(np.asarray(t), knots, axis) for axis in self.xyz.T], axis=1)

    def cut(self, time: Floats) -> Executed:
        """The pieces between (Q+1,) rising times, s, all ends of pieces up to the last time among them."""
        knots = np.append(0.0, self.end)
        piece = np.clip(np.searchsorted(knots, time[:-1], side="right") - 1, 0, len(self) - 1)
        return replace(
            self, row=self.row[piece], duration=np.diff(time), xyz=self.at(time), power=self.power[piece],
            light=self.light[piece],
        )  # fmt: skip

    def moves(self) -> Moves:
        """The pieces as lines, and as dwells where the head stands still; their power is the light."""
        busy = self.duration > 0
        ends = np.concatenate([[True], busy])
        xyz, duration = self.xyz[ends], self.duration[busy]
        length = np.linalg.norm(np.diff(xyz, axis=0), axis=1)
        still = length == 0
        return Moves(
            xyz[:, :2], self.light[busy], np.where(still, 1.0, length / duration),
            np.where(still, Kind.DWELL, Kind.LINE).astype(np.int8), z=xyz[:, 2],
            dwell=np.where(still, duration, 0.0),
        )  # fmt: skip


LENGTH_MIN = 1e-9  # mm; shorter moves have no step, so a planner never sees them

_DARK = 0.1
"""mm, longest piece of a dark ramp, unless `longest` is larger."""


def pauses(moves: Moves) -> Floats:
    """(N,) s of dwells, NaN for motions."""
    return np.where(moves.still, moves.dwell, np.nan)


@dataclass(frozen=True, slots=True)
class RampPieces:
    """(P,) pieces in order. row: of each.  end: mm from the row's start.  length: mm.  duration: s."""

    row: Ints
    end: Floats
    length: Floats
    duration: Floats


@dataclass(frozen=True, slots=True)
class Ramps:
    """(N,) trapezoids, in mm, mm/s, mm/s² and s; lit: whether the row is. A row of length 0 is a wait."""

    length: Floats
    v0: Floats
    top: Floats
    v1: Floats
    acceleration: Floats
    duration: Floats
    lit: Bools

    def cut(self, longest: float) -> RampPieces:
        """The three phases of each row, ramps in parts of equal time; rounding goes to the steady phase."""
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
        which, nth = numbered(count.T.ravel())
        row, phase = np.divmod(which, 3)
        part = 1 / count[phase, row]
        speed = np.stack([self.v0, self.top, self.top, self.v1])
        begin, gain = speed[phase, row], speed[phase + 1, row] - speed[phase, row]
        duration = phases[phase, row] * part
        length = np.where(whole[row], 0.0, (begin + gain * (nth + 0.5) * part) * duration)
        end = np.cumsum(length)
        first = np.searchsorted(row, row)
        return RampPieces(row, end - (end - length)[first], length, duration)


def places(moves: Moves, pieces: RampPieces) -> Floats:
    """(P+1, 3) mm; the last piece of a row ends exactly where the row does."""
    xyz, row = moves.xyz, pieces.row
    last = np.append(row[1:] != row[:-1], True)[: len(row)]
    length = np.maximum(moves.length[row], LENGTH_MIN)
    fraction = np.where(last, 1.0, pieces.end / length)[:, None]
    ends = np.where(last[:, None], xyz[row + 1], xyz[row] + (xyz[row + 1] - xyz[row]) * fraction)
    return np.vstack([xyz[:1], ends])


def whole_steps(mm: ArrayLike, per_mm: ArrayLike) -> Floats:
    """(…,) whole numbers of steps, the nearest to places in mm; per_mm: steps/mm."""
    steps = (np.asarray(mm, dtype=np.float32) * np.asarray(per_mm, dtype=np.float32)).astype(np.float64)
    return np.asarray(np.sign(steps) * np.floor(np.abs(steps) + 0.5))
