"""Levels of a machine and their light, mW; `gcode.levels` has the formula.

A chart is written in levels, but laid out, and fitted, in mW of light. Its fit also finds the offset o of the
light, because the light of low levels depends on it: the row of `doubled` has one line energy throughout, at
levels that double from line to line, if o is that of the machine's profile. With another o the lines at the
lowest levels have another dose, and so another width and depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

import gcode
from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import InputError
from laserpath.types import Machine

_FAINT = 1e-9
"""Least light of a level, as a fraction of full power, so that its logarithm is finite."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that a chart was written with. count: N, above zero.

    offset: o of the machine's profile. The powers of the chart's items are the light of their levels with it.
    """

    count: int
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"power_levels is {self.count}, but must be at least 1")
        if not (np.isfinite(self.offset) and self.offset > -self.count):
            raise InputError(f"level_offset is {self.offset:g}, but must be above {-self.count}")

    @classmethod
    def of(cls, machine: Machine) -> Levels:
        """Those of a machine."""
        return cls(machine.power_levels, machine.light.offset)

    def light(self, level: ArrayLike, offset: float | None = None) -> Floats:
        """Light of levels above zero, as a fraction of full power. offset: o, if not that of the profile."""
        curve = gcode.motion.LightCurve(self.offset if offset is None else offset)
        share = np.asarray(level, dtype=np.float64) / self.count
        return np.maximum(curve.of(share, self.count), _FAINT)

    def gain(self, level: Floats, offset: float) -> Floats:
        """Light of levels with another offset o ÷ that with the profile's; 1 where the level is NaN."""
        known = np.where(np.isnan(level), self.count, level)
        return self.light(known, offset) / self.light(known)


def level_for(power: ArrayLike, machine: Machine) -> Indices:
    """The usable level whose light is nearest to a power in mW."""
    level = np.rint(machine.level_for(power))
    return np.clip(level, machine.level_min, machine.power_levels).astype(np.int64)


def doubled(machine: Machine) -> Indices:
    """The usable levels from the lowest up, each twice the one before."""
    count = int(np.log2(machine.power_levels / machine.level_min) + 1e-9) + 1
    return machine.level_min * 2 ** np.arange(count)
