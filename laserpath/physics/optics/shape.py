"""Shapes: spots of FWHM 1.

A shape is u(p, q) with ∫u = 1: lengths in FWHM of the one-photon spot in focus, frequencies κ in 1/FWHM,
U(κ) = ∫ u exp(−2πi κ·p) dA. Its defocus is a number ψ ∝ λ z/FWHM², defined by each profile, so that

    h(x) = u(x/F)/F²,   H(f) = U(F f, ψ),   ∂H/∂F = (κ·∇U − 2ψ ∂U/∂ψ)/F,   ∂H/∂z = ∂U/∂ψ · ψ/z.

An elliptical spot is a shape in coordinates that are stretched; `laserpath.physics.optics` does that.

**Quadrature and interpolation.** Gauss–Legendre on panels: 8 nodes are exact for a polynomial of degree 15;
1.35 more for each radian of an oscillation integrate it to rounding. Splines of degree 5 on equal steps s are
off by about s⁶/30240 times the sixth derivative.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cache, cached_property

import numpy as np
import scipy

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.types import Shape

RADIANS_PER_PANEL = 12.0


def j0(x: Floats) -> Floats:
    """The Bessel function J₀. What SciPy needs for it is loaded when it is first called."""
    return scipy.special.j0(x)


def j1(x: Floats) -> Floats:
    """The Bessel function J₁."""
    return scipy.special.j1(x)


@cache
def _gauss(nodes: int) -> tuple[Floats, Floats]:
    node, weight = np.polynomial.legendre.leggauss(nodes)
    return (node + 1) / 2, weight / 2


def panels(edges: Floats, radians: float = RADIANS_PER_PANEL) -> tuple[Floats, Floats]:
    """Nodes and weights of ∫ over the panels between `edges` (K+1,), each of at most that many radians."""
    node, weight = _gauss(8 + int(np.ceil(1.35 * radians)))
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + node * width).ravel(), (weight * width).ravel()


def quadrature(start: float, end: float, radians: float) -> tuple[Floats, Floats]:
    """Nodes and weights of ∫ from start to end of an integrand whose phase turns by `radians`."""
    count = 1 + int(radians / RADIANS_PER_PANEL)
    return panels(np.linspace(start, end, count + 1))


class Spline:
    """A table of smooth functions of one variable. values: (K,) or (K, columns) at K equal steps."""

    def __init__(self, start: float, end: float, values: Floats) -> None:
        self._spline = scipy.interpolate.make_interp_spline(
            np.linspace(start, end, len(values)), values, k=5, axis=0
        )

    def __call__(self, x: Floats) -> Floats:
        """(…) → (…) or (…, columns)."""
        return self._spline(x)


def bessel_zeros(count: int) -> Floats:
    """The first zeros of J₀, (count,): McMahon's expansion (DLMF 10.21.19), then Newton's method."""
    b = 8 * np.pi * (np.arange(1, count + 1) - 0.25)
    zero = b / 8 + 1 / b - 124 / (3 * b**3)
    for _ in range(3):
        zero += j0(zero) / j1(zero)
    return zero


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
