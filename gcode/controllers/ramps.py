"""Trapezoids of speed cut into pieces of near-constant speed, for planners that accelerate evenly.

A move is cut where its ramps end, and each ramp into pieces of equal time, none longer than `longest`. A
piece from speed v_a to v_b takes 2·length/(v_a + v_b).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcode.move import Bools, Floats, Ints, Moves

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
        which, nth = _numbered(count.T.ravel())
        row, phase = np.divmod(which, 3)
        part = 1 / count[phase, row]
        speed = np.stack([self.v0, self.top, self.top, self.v1])
        begin, gain = speed[phase, row], speed[phase + 1, row] - speed[phase, row]
        duration = phases[phase, row] * part
        length = np.where(whole[row], 0.0, (begin + gain * (nth + 0.5) * part) * duration)
        end = np.cumsum(length)
        first = np.searchsorted(row, row)
        return RampPieces(row, end - (end - length)[first], length, duration)


def _numbered(count: Ints) -> tuple[Ints, Ints]:
    """count[k] pieces of each k → (k, index within k) of every piece."""
    which = np.repeat(np.arange(count.size), count)
    return which, np.arange(which.size) - np.repeat(np.cumsum(count) - count, count)


def places(moves: Moves, pieces: RampPieces) -> Floats:
    """(P+1, 3) mm; the last piece of a row ends exactly where the row does."""
    xyz, row = moves.xyz, pieces.row
    last = np.append(row[1:] != row[:-1], True)[: len(row)]
    length = np.maximum(moves.length[row], LENGTH_MIN)
    fraction = np.where(last, 1.0, pieces.end / length)[:, None]
    ends = np.where(last[:, None], xyz[row + 1], xyz[row] + (xyz[row + 1] - xyz[row]) * fraction)
    return np.vstack([xyz[:1], ends])
