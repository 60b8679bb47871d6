"""Write time as a term of the loss: the controller's planner, and its derivative by every vertex.

The unit is U = P/v, the time that the design's perimeter P takes at full speed v, so that a weight means the
same for every design: with weight w, one U of write time counts as much as w of the loss. The final loss
contains 0.15 of the mean edge error in FWHM, so a saving of one U is worth an edge error of 7 w FWHM. Only
one of several passes is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.machine import convert
from laserpath.physics.dose import PathGradient
from laserpath.types import Design, Machine, Settings, StraightMoves

TIME_WEIGHTS = {"draft": 1.2e-2, "standard": 1.9e-3, "fine": 6e-4}
"""Weight of the write time by quality: a larger one gives a faster and less accurate plan."""

_ONCE = 0.3
"""Weight of the write time for strokes, relative to that of other curves. They write each line once, which is
so much faster that they can afford it; a larger weight makes them less accurate than the other curves."""

SHARES_OF_PEAK = {"draft": 1.0, "standard": 0.9, "fine": 0.9}
"""Speed limit of a short stroke by quality, relative to its peak speed: a smaller one makes the speed more
constant, and so the dose more accurate and the write time longer."""

_NO_LINK = 1e9
"""Moves/s. Where the link limits the speed, the positions of vertices do not change the time. `smooth` drops
vertices there, and more of them on a straighter path."""


@dataclass(frozen=True, slots=True)
class WriteTimeTerm:
    """Weighted write time of a path whose vertices move. on, speed: (N,) of each move.  unit: U, s.

    limits: those of the machine, with a link that always keeps up.
    """

    on: Bools
    speed: Floats
    limits: gcode.Limits
    unit: float
    weight: float

    @classmethod
    def of(cls, path: StraightMoves, design: Design, machine: Machine, weight: float) -> WriteTimeTerm:
        """The term for the vertices of `path`; `weight` in units of the loss."""
        unit = design.area.length / min(machine.speed_max)
        return cls(path.on, path.speed, unhindered(machine), unit, weight)

    def __call__(self, xy: Floats, line_energy: Floats) -> tuple[float, PathGradient]:
        """The term of vertices xy (N+1, 2) mm and its derivatives; the travel from the work zero counts."""
        rapid = np.concatenate([[True], ~self.on])
        moves = gcode.Moves.straight(
            xy=np.vstack([np.zeros((1, 2)), xy]),
            power=np.where(rapid, 0.0, 1.0),
            speed=np.concatenate([[min(self.limits.rapid)], self.speed]),
            rapid=rapid,
        )
        gradient = gcode.motion.time_gradient(moves, self.limits)
        scale = self.weight / self.unit
        return scale * gradient.time, PathGradient(scale * gradient.xy[1:], np.zeros(len(line_energy)))

    def at_contrast(self, contrast: float) -> WriteTimeTerm:
        """The same: it has no threshold."""
        return self

    def near(self, xy: Floats, line_energy: Floats) -> WriteTimeTerm:
        """The same: nothing is held."""
        return self


def weight_for(settings: Settings) -> float:
    """The weight of the write time for the settings' quality and starting curve."""
    return TIME_WEIGHTS[settings.quality] * (_ONCE if settings.initial == "strokes" else 1.0)


def share_of_peak(time_weight: float) -> float:
    """The share of a short stroke's peak speed for a weight of time, interpolated between the qualities."""
    logs = [-np.log(TIME_WEIGHTS[quality]) for quality in SHARES_OF_PEAK]
    return float(np.interp(-np.log(max(time_weight, 1e-300)), logs, list(SHARES_OF_PEAK.values())))


def unhindered(machine: Machine) -> gcode.Limits:
    """The machine's limits with a link that always keeps up."""
    return replace(convert.limits(machine), segment_rate=_NO_LINK)
