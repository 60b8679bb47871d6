"""The laser in time, as the controller executes the path: for the viewer's clock.

Knots (t, x, y) with a straight line between each and the next, run in constant time: the pieces of
`gcode.motion` with the lag of mirrors and laser. Where there are more than can be shown, every second inner
knot is left out again and again, as long as the place at its own time moves by no more than a tolerance
and the power of both its pieces is the same within another; both double when that is not enough.
What is left keeps its exact time and place, and a merged piece the energy of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.machine import convert
from laserpath.types import Machine

_LAG_STEP = 1e-3
_FINEST = 1 / 200
"""Of the spot's FWHM: the first tolerance of a place."""
_POWERS = 1 / 255
"""Of full power: the first tolerance of a power."""
_ROUNDS, _PASSES = 12, 6


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """t: (N+1,) s, rising from 0.  xy: (N+1, 2) mm.  power: (N,) mW.  off: mm, how far places were moved."""

    t: Floats
    xy: Floats
    power: Floats
    off: float = 0.0

    def __len__(self) -> int:
        return len(self.power)

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        return self.power > 0

    @property
    def speed(self) -> Floats:
        """(N,) mm/s, as executed."""
        length = np.hypot(*np.diff(self.xy, axis=0).T)
        return length / np.diff(self.t)


def track(run: gcode.motion.Executed, machine: Machine) -> Track:
    """Where the spot is, and its power, all along a run."""
    moves = gcode.motion.lagged(run.moves(), convert.lag(machine), _LAG_STEP)
    t = np.concatenate([[0.0], np.cumsum(moves.duration)])
    # A piece may be so short that the clock does not see it.
    kept = np.diff(t) > 0
    ends = np.concatenate([[True], kept])
    return Track(t[ends], moves.xy[ends], moves.power[kept] * machine.power_max)


def thinned(whole: Track, most: int, fwhm: float, power_max: float) -> Track:
    """At most about `most` pieces of a track, or as few as the widest tolerance leaves."""
    thin, place, power = whole, _FINEST * fwhm, 0.0
    for _ in range(_ROUNDS):
        if len(thin) <= most:
            break
        for _ in range(_PASSES):
            before = len(thin)
            thin = _halved(thin, place / _PASSES, power)
            if len(thin) in (before, most):
                break
        place, power = 2 * place, max(2 * power, _POWERS * power_max)
    return thin


def _halved(whole: Track, tolerance: float, power: float) -> Track:
    """Without every second inner knot, where leaving it out moves and changes little."""
    t, xy = whole.t, whole.xy
    inner = np.arange(1, len(whole), 2)
    part = ((t[inner] - t[inner - 1]) / (t[inner + 1] - t[inner - 1]))[:, None]
    moved = np.hypot(*(xy[inner - 1] * (1 - part) + xy[inner + 1] * part - xy[inner]).T)
    before, after = whole.power[inner - 1], whole.power[inner]
    alike = (np.abs(after - before) <= power) & ((before > 0) == (after > 0))
    dropped = inner[(moved <= tolerance) & alike]
    if not len(dropped):
        return whole
    kept = np.ones(len(t), dtype=bool)
    kept[dropped] = False
    energy = np.add.reduceat(whole.power * np.diff(t), np.flatnonzero(kept[:-1]))
    off = whole.off + float(moved[np.isin(inner, dropped)].max())
    return Track(t[kept], xy[kept], energy / np.diff(t[kept]), off)
