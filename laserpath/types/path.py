"""The toolpath: where the laser goes, with what power and speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Bools, Floats, frozen_array
from laserpath.base.errors import InputError, one_line


@dataclass(frozen=True, slots=True, eq=False)
class Toolpath:
    """Straight moves one after the other, as in `G1 X Y F S`. Move k runs from vertex k to k+1.

    xy: (N+1, 2) vertices, mm.  power: (N,) mW, 0 means travel (laser off, rapid).  speed: (N,) mm/s.
    """

    xy: Floats
    power: Floats
    speed: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "xy", frozen_array(self.xy, "toolpath xy", (None, 2)))
        n = max(len(self.xy) - 1, 0)
        for name in ("power", "speed"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"toolpath {name}", (n,)))
        if n and self.power.min() < 0:
            raise InputError(f"toolpath power {self.power.min():g} mW is below 0 mW")
        if n and self.speed.min() <= 0:
            raise InputError(f"toolpath speed {self.speed.min():g} mm/s is not above 0 mm/s")

    def __len__(self) -> int:
        return len(self.power)

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        return self.power > 0

    @property
    def length(self) -> Floats:
        """(N,) length of each move, mm."""
        return np.hypot(*np.diff(self.xy, axis=0).T)

    @property
    def line_energy(self) -> Floats:
        """(N,) q = power/speed, mJ/mm."""
        return self.power / self.speed
