"""Light as flashes, and derivatives by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from gcode.move import numbered
from laserpath.base.arrays import Floats, Indices, not_complex
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


_APART_FWHM = 0.1
"""Distance of flashes along a line, in FWHM: radicals of two that are further apart hardly meet."""

_LONGEST = 0.02
"""s, longest time between flashes of a head that is slow or stands still: a larger one makes radicals in
fewer and larger bursts."""


@dataclass(frozen=True, slots=True, eq=False)
class Flashes:
    """Where along which piece of a polyline the flashes are, and when.

    piece: (M,) index.  fraction: (M,) 0..1 along it.  share: (M,) of its energy.  time: (M,) s.
    """

    piece: Indices
    fraction: Floats
    share: Floats
    time: Floats

    @classmethod
    def of(cls, length: Floats, duration: Floats, lit: Indices, fwhm: float) -> Self:
        """The flashes of pieces (P,), mm and s, of which those of the indices `lit` shine."""
        begin = np.cumsum(duration) - duration
        far, slow = length[lit] / (_APART_FWHM * fwhm), duration[lit] / _LONGEST
        count = np.maximum(np.ceil(np.maximum(far, slow) - 1e-9), 1).astype(np.int64)
        which, within = numbered(count)
        piece, parts = lit[which], count[which]
        fraction = (within + 0.5) / parts
        return cls(piece, fraction, 1 / parts, begin[piece] + fraction * duration[piece])

    def on(self, ends: Floats, energy: Floats) -> Light:
        """The light of a polyline (P + 1, 2) mm whose pieces have the energies (P,), mJ."""
        f = self.fraction[:, None]
        xy = (1 - f) * ends[self.piece] + f * ends[self.piece + 1]
        return Light(xy, self.share * energy[self.piece], self.time)


def fewest_flashes(length: float, seconds: float, fwhm: float) -> float:
    """Flashes of a line (length and fwhm in mm) that takes so long; bends and short pieces add some."""
    return max(length / (_APART_FWHM * fwhm), seconds / _LONGEST)
