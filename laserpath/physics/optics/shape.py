"""Shapes: spots of FWHM 1.

A shape is u(p, q) with ∫u = 1: lengths in FWHM of the one-photon spot in focus, frequencies κ in 1/FWHM,
U(κ) = ∫ u exp(−2πi κ·p) dA. Its defocus is a number ψ ∝ λ z/FWHM², defined by each profile, so that

    h(x) = u(x/F)/F²,   H(f) = U(F f, ψ),   ∂H/∂F = (κ·∇U − 2ψ ∂U/∂ψ)/F,   ∂H/∂z = ∂U/∂ψ · ψ/z.

An elliptical spot is a shape in coordinates that are stretched; `laserpath.physics.optics` does that.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
import scipy

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.types import Shape

_SAMPLES = 4001


HIGHEST_KEPT = 5.0
"""`highest_kept` of a shape with kinks, a table's or a cusp, for one photon; √N times that for N.

Kinks are rounded over a tenth of the FWHM; no real beam is sharper.
"""


def check_light(intensity: Floats) -> None:
    """Raise InputError unless the intensities of a measured beam are ≥ 0, and not all 0."""
    if intensity.size == 0 or intensity.min() < 0 or intensity.max() == 0:
        raise InputError("beam intensity must be nowhere below 0, and somewhere above it")


class Round(Shape):
    """A shape that depends on the distance ρ = |(p, q)| alone."""

    @abstractmethod
    def radial(self, rho: Floats) -> Floats:
        """u(ρ)."""

    @abstractmethod
    def radial_slope(self, rho: Floats) -> Floats:
        """du/d(ρ²)."""

    @abstractmethod
    def hankel(self, kappa: Floats) -> Floats:
        """U(κ)."""

    @abstractmethod
    def hankel_slopes(self, kappa: Floats) -> tuple[Floats, Floats]:
        """(dU/dκ, ∂U/∂ψ)."""

    @abstractmethod
    def beyond(self, rho: Floats) -> Floats:
        """Energy outside circles."""

    @abstractmethod
    def far(self, tolerance: float) -> float:
        """An upper bound of `reach`."""

    def density(self, p: Floats, q: Floats) -> Floats:
        """u, 1/FWHM²."""
        return self.radial(np.hypot(p, q))

    def spectrum(self, p: Floats, q: Floats) -> Floats:
        """U at the frequencies (p, q), 1/FWHM."""
        return self.hankel(np.hypot(p, q))

    def spectrum_slopes(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """(κ·∇U, ∂U/∂ψ)."""
        kappa = np.hypot(p, q)
        slope, defocus = self.hankel_slopes(kappa)
        return kappa * slope, defocus

    def outside(self, radius: float, aspect: float) -> float:
        """Energy outside a circle: in round coordinates an ellipse, which is averaged over its angle.

        The mean of a smooth periodic function over equal steps converges exponentially.
        """
        if aspect == 1:
            return float(self.beyond(np.array([radius]))[0])
        steps = 64 * int(np.ceil(max(aspect, 1 / aspect)))
        angle = np.pi * (np.arange(steps) + 0.5) / steps
        rim = radius / np.sqrt(aspect * np.cos(angle) ** 2 + np.sin(angle) ** 2 / aspect)
        return float(self.beyond(rim).mean())

    @cached_property
    def _profile(self) -> tuple[Floats, Floats]:
        """Radii, and u at these radii, out to the farthest possible half maximum."""
        rho = np.linspace(0, self.far(0.4), _SAMPLES)
        return rho, self.radial(rho)

    @cached_property
    def peak(self) -> float:
        """The largest u. In a spot far out of focus it may be off the axis."""
        rho, u = self._profile
        i = int(u.argmax())
        if i == 0:
            return float(u[0])
        near = np.linspace(rho[max(i - 1, 0)], rho[min(i + 1, len(rho) - 1)], 201)
        return float(self.radial(near).max())

    @cached_property
    def width(self) -> float:
        """FWHM: twice the largest radius at which u is half its maximum."""
        rho, u = self._profile
        last = int(np.flatnonzero(u >= self.peak / 2)[-1])
        if last + 1 == len(rho):
            return 2 * float(rho[-1])

        def above(r: float) -> float:
            return float(self.radial(np.array([r]))[0]) - self.peak / 2

        return 2 * float(scipy.optimize.brentq(above, rho[last], rho[last + 1], xtol=1e-14, rtol=1e-14))

    def reach(self, tolerance: float) -> float:
        """ρ beyond which u ≤ tolerance × the largest u, to a hundredth of the FWHM."""
        end = self.far(tolerance)
        if not np.isfinite(end):
            return end
        rho = np.linspace(0, end, 2 + int(100 * end))
        above = np.flatnonzero(self.radial(rho) > tolerance * self.peak)
        return float(rho[min(above[-1] + 1, len(rho) - 1)]) if len(above) else 0.0
