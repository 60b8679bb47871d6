"""Light as flashes, and derivatives by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats, not_complex
from laserpath.base.errors import InputError, one_line


@dataclass(frozen=True, slots=True)
class Light:
    """Flashes of light. xy: (M, 2) mm.  energy: (M,) mJ.  time: (M,) s, ascending, from 0.

    Contiguous arrays of float64 are kept as they are; others are copied. An exposure copies what it needs, so
    that its gradient is that of the light at the time of `expose`, whatever is written into the arrays later.
    """

    xy: Floats
    energy: Floats
    time: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        for name in ("xy", "energy", "time"):  # as the kernels take them
            object.__setattr__(
                self, name, np.require(not_complex(getattr(self, name), f"light {name}"), np.float64, "C")
            )
        n = self.energy.size
        if self.energy.shape != (n,) or self.xy.shape != (n, 2) or self.time.shape != (n,):
            raise InputError(
                f"light has places of shape {self.xy.shape}, energies of shape {self.energy.shape} and times "
                f"of shape {self.time.shape}, but must have (M, 2), (M,) and (M,)"
            )
        if not all(np.isfinite(a).all() for a in (self.xy, self.energy, self.time)):
            raise InputError("light is not finite in a place, an energy or a time")
        if n and (self.time[0] < 0 or (np.diff(self.time) < 0).any()):
            raise InputError("light has times that do not ascend from 0 s")
        if n and self.energy.min() < 0:
            raise InputError(f"light has an energy of {self.energy.min():g} mJ, but must be at least 0 mJ")


@dataclass(frozen=True, slots=True)
class LightGradient:
    """Derivatives of a scalar. xy: (M, 2) per mm.  energy: (M,) per mJ.  time: (M,) per s."""

    xy: Floats
    energy: Floats
    time: Floats
