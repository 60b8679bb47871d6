"""The Gaussian spot, in closed form.

    h(r) = (a/π) exp(−a r²),   H(f) = exp(−π² f²/a),   a = 4 ln 2 N/w²

with w the FWHM. Its N-th power is a Gaussian again, √N narrower. In w_1e2, the radius at 1/e² of the
peak, FWHM = w_1e2 √(2 ln 2), and along the axis the width grows as (Siegman, Lasers, §17.1)

    w(z) = w₀ √(1 + s²),   s = z λ/(π w₀_1e2²) = (2 ln 2/π) λ z/FWHM².
"""

from __future__ import annotations

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.physics.optics.shape import Round

FWHM_PER_RADIUS = np.sqrt(2 * np.log(2))
"""FWHM ÷ 1/e² radius."""


class Gaussian(Round):
    """defocus: s.  photons: N."""

    gaussian = True
    DEFOCUS = 2 * np.log(2) / np.pi

    def __init__(self, defocus: float, photons: int) -> None:
        self._s, self._n = defocus, photons
        one = 4 * np.log(2) / (1 + defocus**2)
        self._a = one * photons
        self.power_integral = float((one / np.pi) ** photons * np.pi / self._a)

    def radial(self, rho: Floats) -> Floats:
        """u(ρ)."""
        return self._a / np.pi * np.exp(-self._a * rho**2)

    def radial_slope(self, rho: Floats) -> Floats:
        """du/d(ρ²)."""
        return -self._a * self.radial(rho)

    def hankel(self, kappa: Floats) -> Floats:
        """U(κ)."""
        return np.exp(-((np.pi * kappa) ** 2) / self._a)

    def hankel_slopes(self, kappa: Floats) -> tuple[Floats, Floats]:
        """(dU/dκ, ∂U/∂s)."""
        u = self.hankel(kappa)
        exponent = -((np.pi * kappa) ** 2) / self._a
        return -2 * np.pi**2 / self._a * kappa * u, u * exponent * 2 * self._s / (1 + self._s**2)

    def beyond(self, rho: Floats) -> Floats:
        """Energy outside circles."""
        return np.exp(-self._a * rho**2)

    def far(self, tolerance: float) -> float:
        """ρ at which u is exactly `tolerance` of its peak."""
        return float(np.sqrt(-np.log(min(tolerance, 1)) / self._a)) if tolerance > 0 else np.inf

    def reach(self, tolerance: float) -> float:
        """ρ beyond which u ≤ tolerance × the largest u."""
        return self.far(tolerance)

    def cutoff(self, tolerance: float) -> float:
        """κ_c above which lies `tolerance` of ∫U."""
        return float(np.sqrt(-np.log(min(tolerance, 1)) * self._a) / np.pi) if tolerance > 0 else np.inf

    @property
    def width(self) -> float:
        """FWHM."""
        return float(2 * np.sqrt(np.log(2) / self._a))
