"""What a laser program says, without its notation: straight moves one after the other.

Move k runs from vertex k to vertex k+1 at constant power and speed. Units: mm, mm/s; power is
the fraction of full power, 0…1. A rapid (G0) is always dark: its power is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcode.errors import GcodeError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def _frozen(values: ArrayLike, name: str, dtype: type, shape: tuple[int, ...]) -> NDArray[np.generic]:
    """A read-only copy of `values`, checked for shape and finiteness."""
    array: NDArray[np.generic] = np.array(values, dtype=dtype)
    if array.shape != shape:
        raise GcodeError(f"moves {name} has shape {array.shape}, but {shape} is needed")
    if not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise GcodeError(f"moves {name} is not finite in {bad} of {array.size} values")
    array.flags.writeable = False
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """xy: (N+1, 2) mm, absolute vertices, xy[0] the start.  power: (N,) 0…1.  speed: (N,) mm/s.

    rapid: (N,) bool, G0; the controller moves these at its own speed, `speed` is what is expected.
    """

    xy: Floats
    power: Floats
    speed: Floats
    rapid: Bools

    def __post_init__(self) -> None:
        vertices = max(np.shape(self.xy)[0] if np.ndim(self.xy) else 0, 1)
        object.__setattr__(self, "xy", _frozen(self.xy, "xy", np.float64, (vertices, 2)))
        for name, dtype in (("power", np.float64), ("speed", np.float64), ("rapid", np.bool_)):
            object.__setattr__(self, name, _frozen(getattr(self, name), name, dtype, (vertices - 1,)))
        if not len(self):
            return
        if self.power.min() < 0 or self.power.max() > 1:
            worst = self.power.min() if self.power.min() < 0 else self.power.max()
            raise GcodeError(f"power {worst:g} is outside 0…1, the fraction of full power")
        if self.speed.min() <= 0:
            raise GcodeError(f"speed {self.speed.min():g} mm/s is not above 0 mm/s")
        lit = np.flatnonzero(self.rapid & (self.power > 0))
        if lit.size:
            raise GcodeError(f"move {lit[0]} is a rapid with power {self.power[lit[0]]:g}, but must be dark")

    def __len__(self) -> int:
        return len(self.power)

    @property
    def length(self) -> Floats:
        """(N,) mm."""
        dx, dy = np.diff(self.xy, axis=0).T
        length: Floats = np.hypot(dx, dy)
        return length

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        return self.power > 0

    @property
    def kind(self) -> NDArray[np.str_]:
        """(N,) 'rapid' (G0), 'lit' (G1 with power) or 'dark' (G1 without)."""
        return np.select([self.rapid, self.on], ["rapid", "lit"], "dark")
