"""Light in depth: by Beer and Lambert's law, or in a resin whose absorption changes with the dose.

    ∂I/∂z = −(A M + B) I,   ∂M/∂t = −C I M,   M = 1 at first

with the intensity I (mW/mm²) at the depth z (mm) and the share M of an absorber that light destroys (F. Dill,
W. Hornberger, P. Hauge, J. Shaw, *Characterization of positive photoresist*, IEEE Trans. Electron Devices 22,
445, 1975). A fresh resin absorbs A + B = 1/D_p, a bleached one B = 1/D_b; with D_b < D_p absorption builds up
(A < 0). 1/C is the dose D₀ that leaves M = 1/e.

With the dose H = ∫ I dt, M = e^(−C H). Integrated over time, and so for any number of exposures one after
another, whatever was written between,

    ∂H/∂z = −g(H) H/D_p,   g = (1 − r) (1 − e^(−x))/x + r,   x = H/D₀,   r = D_p/D_b,

so that a dose H at one place is H′ at a depth z below with Φ(H′) = Φ(H) − z/D_p and

    Φ(H) = ∫ dH/(g H);   without bleaching g = 1, Φ = ln H and H′ = H e^(−z/D_p).

In a stack of layers, each exposed at its own top before those above are there, H within a layer is that of
all exposures so far, and the equation holds from its top to its bottom: what arrives there, and the dose of
the next layer below, are together the H at that layer's top. One sweep from the top finds what layers get.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.types import Resin

_FROM, _TO, _STEP = -16.0, 16.0, 1 / 256
"""Of ln x in the table of Φ: beyond, g is 1 or r to 1e-6. A larger step is less exact, by its square."""
_DARK = 1e-30
"""mJ/mm², for which a dose of 0 is taken: its logarithm is finite."""


@dataclass(frozen=True, slots=True)
class Absorption:
    """How a dose falls with depth. depth: D_p, mm, of a fresh resin.

    bleached: D_b, mm, and dose: D₀, mJ/mm²; both None if light does not change the resin.
    """

    depth: float
    bleached: float | None = None
    dose: float | None = None

    @classmethod
    def of(cls, resin: Resin) -> Absorption:
        """That of a resin with a working curve; of another one, whose depth nobody asks for, that of 1 mm."""
        return cls(resin.penetration_depth or 1.0, resin.bleached_depth, resin.bleaching_dose)

    def below(self, dose: ArrayLike, depth: ArrayLike) -> Floats:
        """What is left of doses, mJ/mm², at depths, mm, below the places that have them."""
        if self.bleached is None:
            return np.asarray(dose * np.exp(-np.asarray(depth) / self.depth))
        left = self._dose(self.optical(dose) - np.asarray(depth) / self.depth)
        return np.where(np.asarray(dose) > 0, left, 0.0)

    def above(self, dose: ArrayLike, depth: ArrayLike) -> Floats:
        """The doses, mJ/mm², by which places at depths, mm, below get doses.

        Raises InputError for a depth that no dose reaches.
        """
        depths = np.asarray(depth) / self.depth
        with np.errstate(over="ignore"):
            found = self._dose(self.optical(dose) + depths)
        if not np.isfinite(found).all():
            raise InputError(
                f"depth {np.max(depth):g} mm is {figure(depths.max())} penetration depths, too deep for any "
                "dose to reach"
            )
        return found

    def reach(self, dose: ArrayLike, least: float) -> Floats:
        """mm, depths down to which doses are at least `least`, mJ/mm²; 0 where they never are."""
        return np.maximum(self.depth * (self.optical(dose) - self.optical(least)), 0.0)

    def optical(self, dose: ArrayLike) -> Floats:
        """Φ of doses, mJ/mm²; it falls by 1 in a depth D_p of fresh resin."""
        log: Floats = np.log(np.maximum(np.asarray(dose, dtype=np.float64), _DARK))
        if self.bleached is None or self.dose is None:
            return log
        u, phi = _table(self.depth / self.bleached)
        u, log = u + np.log(self.dose), np.asarray(log)
        slope = self.bleached / self.depth
        found = np.interp(log, u, phi) + np.minimum(log - u[0], 0.0) + slope * np.maximum(log - u[-1], 0.0)
        return np.asarray(found + np.log(self.dose))

    def _dose(self, optical: Floats) -> Floats:
        """The doses, mJ/mm², of Φ."""
        if self.bleached is None or self.dose is None:
            return np.asarray(np.exp(optical))
        u, phi = _table(self.depth / self.bleached)
        optical = optical - np.log(self.dose)
        slope = self.depth / self.bleached
        log = np.interp(optical, phi, u) + np.minimum(optical - phi[0], 0.0)
        return np.asarray(self.dose * np.exp(log + slope * np.maximum(optical - phi[-1], 0.0)))


@lru_cache(maxsize=8)
def _table(r: float) -> tuple[Floats, Floats]:
    """The logarithms of x, and Φ there, which is the same where x is small."""
    u = np.arange(_FROM, _TO + _STEP / 2, _STEP)
    x = np.exp(u)
    slope = 1 / ((1 - r) * -np.expm1(-x) / x + r)  # of Φ by ln x
    middle = np.exp(u[:-1] + _STEP / 2)
    between = 1 / ((1 - r) * -np.expm1(-middle) / middle + r)
    parts = (slope[:-1] + 4 * between + slope[1:]) * (_STEP / 6)  # Simpson
    return u, _FROM + np.concatenate([[0.0], np.cumsum(parts)])
