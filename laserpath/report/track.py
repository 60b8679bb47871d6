"""Position and power of the laser over time, as the controller executes the path: for the viewer's clock.

The track is a list of knots (t, x, y). Between two knots the spot moves straight and at constant speed: these
are the pieces of `gcode.motion` with the lag of mirrors and laser. If there are more pieces than a page can
hold, every second inner knot is dropped, repeatedly, where that moves the spot at the knot's time by no more
than a tolerance, and the powers of both pieces agree within another; both tolerances double when that is not
enough. The remaining knots keep their exact time and place, and a merged piece has the energy of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.machine.program import lagged
from laserpath.types import Machine

_FINEST = 1 / 200
"""First tolerance of position, in FWHM of the spot. A larger one drops more knots at once."""
_POWERS = 1 / 255
"""First tolerance of power, as a share of full power. A larger one merges more pieces at once."""
_ROUNDS, _PASSES = 12, 6
"""Tolerances, each twice the one before, and passes with each. More of them thin a long track further."""


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """t: (N+1,) s, rising from 0.  xy: (N+1, 2) mm.  power: (N,) mW.  off: largest shift of xy, mm."""

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
    """Position and power of the spot during a run."""
    moves = lagged(run, machine)
    t = np.concatenate([[0.0], np.cumsum(moves.duration)])
    # A piece may be so short that adding its duration does not change the time.
    kept = np.diff(t) > 0
    ends = np.concatenate([[True], kept])
    return Track(t[ends], moves.xy[ends], moves.power[kept] * machine.power_max)


def thinned(whole: Track, most: int, fwhm: float, power_max: float) -> Track:
    """The track with about `most` pieces at most, or with as few as the last tolerance allows."""
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
    """The track without those of every second inner knot that the tolerances allow to drop."""
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
