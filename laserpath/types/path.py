"""Paths of straight moves: with the line energies to be exposed, and as a program states them.

Planning works on an `EnergyPath`; `machine.powers` makes it a `Toolpath`, with the powers and speeds of a
machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Bools, Floats, frozen_array
from laserpath.base.errors import InputError, one_line


class StraightMoves:
    """Straight moves one after the other. Move k runs from vertex k to k+1.

    xy: (N+1, 2) vertices, mm.  speed: (N,) mm/s.
    """

    __slots__ = ()

    xy: Floats
    speed: Floats

    def __len__(self) -> int:
        return len(self.speed)

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        raise NotImplementedError

    @property
    def length(self) -> Floats:
        """(N,) length of each move, mm."""
        return np.hypot(*np.diff(self.xy, axis=0).T)


@dataclass(frozen=True, slots=True, eq=False)
class EnergyPath(StraightMoves):
    """Moves with the line energies that they are to expose, whatever powers and speeds give them.

    xy: (N+1, 2) vertices, mm.  energy: (N,) q in the resin's unit, mJ/mm for one photon (`physics.resin`); 0
    means travel.  speed: (N,) mm/s, the fastest at which each move may be written.
    """

    xy: Floats
    energy: Floats
    speed: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        _check(self, "energy", "")

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        return self.energy > 0


@dataclass(frozen=True, slots=True, eq=False)
class Toolpath(StraightMoves):
    """Straight moves one after the other, as in `G1 X Y F S`. Move k runs from vertex k to k+1.

    xy: (N+1, 2) vertices, mm.  power: (N,) mW, 0 means travel (laser off, rapid).  speed: (N,) mm/s.
    """

    xy: Floats
    power: Floats
    speed: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        _check(self, "power", " mW")

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        return self.power > 0

    @property
    def line_energy(self) -> Floats:
        """(N,) q = power/speed, mJ/mm."""
        return self.power / self.speed

    def cut(self, first: int, last: int) -> Toolpath:
        """Moves first to last − 1."""
        return Toolpath(self.xy[first : last + 1], self.power[first:last], self.speed[first:last])

    def exposing(self) -> Toolpath:
        """From the first exposing move to the last; all of it if there is none."""
        lit = np.flatnonzero(self.on)
        return self.cut(int(lit[0]), int(lit[-1]) + 1) if len(lit) else self


def _check(path: Toolpath | EnergyPath, light: str, unit: str) -> None:
    """Make the arrays of a path read-only; raise InputError if they do not fit. light: the power's name."""
    object.__setattr__(path, "xy", frozen_array(path.xy, "toolpath xy", (None, 2)))
    n = max(len(path.xy) - 1, 0)
    for name in (light, "speed"):
        object.__setattr__(path, name, frozen_array(getattr(path, name), f"toolpath {name}", (n,)))
    if n and getattr(path, light).min() < 0:
        raise InputError(f"toolpath {light} {getattr(path, light).min():g}{unit} is below 0{unit}")
    if n and path.speed.min() <= 0:
        raise InputError(f"toolpath speed {path.speed.min():g} mm/s is not above 0 mm/s")
