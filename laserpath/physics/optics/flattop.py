"""The flat top: a super-Gaussian, of light that is even inside and falls fast at a rim.

    h₁(r) = A exp(−ln 2 (2r/w)^p),   w the FWHM,   p = 4

(order p/2 = 2 of Parent, Morin and Lavigne, Optical and Quantum Electronics 24, S1071, 1992; p = 2 is the
Gaussian). From 90 % to 10 % of its peak it falls within 0.36 FWHM, a Gaussian within 0.72.
Its N-th power is a super-Gaussian again, narrower by N^(−1/p), and with a = N ln 2 (2/w)^p

    ∫ exp(−a r^p) dA = (2π/p) Γ(2/p) a^(−2/p),   energy outside a circle = Q(2/p, a r^p),

Q the regularised incomplete gamma function (DLMF 8.2.4). Its Hankel transform is summed (`radial`).
"""

from __future__ import annotations

import numpy as np
import scipy

from laserpath.base.arrays import Floats
from laserpath.physics.optics.radial import Summed

_POWER = 4
"""p: a larger one is flatter, but its steeper rim needs a finer grid."""
_DARK = 40.0
"""−ln of the light, relative to the peak, where the spot ends."""


class FlatTop(Summed):
    """defocus: 0, in focus.  photons: N."""

    ideal = "flat-top"

    def __init__(self, defocus: float, photons: int) -> None:
        self._a = np.log(2) * 2.0**_POWER
        super().__init__(np.linspace(0, (_DARK / self._a) ** (1 / _POWER), 5), photons)
        self.highest_kept = np.inf  # it has no kinks

    def one_photon(self, rho: Floats) -> Floats:
        """The light over its peak."""
        return np.exp(-self._a * rho**_POWER)

    def one_photon_slope(self, rho: Floats) -> Floats:
        """Its derivative with respect to ρ."""
        return -_POWER * self._a * rho ** (_POWER - 1) * self.one_photon(rho)

    def beyond(self, rho: Floats) -> Floats:
        """Energy outside circles."""
        return scipy.special.gammaincc(2 / _POWER, self._n * self._a * np.abs(rho) ** _POWER)
