"""The spot of a uniformly filled circular aperture: Airy's pattern, in focus and out of it, and its powers.

With v = 2π NA r/λ = K ρ, K = 2·1.61634, so that the FWHM in focus is 1 (Born & Wolf, §8.5.2):

    u = (K²/4π) |A(v)|²,   in focus A = 2 J₁(v)/v,   ψ = π NA² z/λ = π 0.5145² λ z/FWHM².

ψ is the paraxial, aberration-free defocus. The transfer function is zero from f_c = 2NA/λ on; in focus

    H = (2/π) [arccos ν − ν √(1 − ν²)],   ν = f/f_c   (Goodman, Introduction to Fourier Optics, §6.3).

Energy outside a circle: J₀²(v) + J₁²(v) in focus (Rayleigh 1881), else, from H with ν = f/(N f_c),

    1 − 2Nv ∫₀¹ H(ν) J₁(2Nvν) dν.

Out of focus and for N ≥ 2 photons integrals are tabulated.
Far away the mean of |A|² is 4/(πv³), in focus or not: the light that the rim of the aperture diffracts.

**The integrals** are those over a uniformly filled circular pupil whose rim is ψ radians out of phase with
its centre. Amplitude in the image plane, with v = 2π NA r/λ and ρ the radius in the pupil:

    A(v) = 2 ∫₀¹ exp(iψρ²) J₀(vρ) ρ dρ,   ∫ |A|² d²v = 4π,   |A(0)| = 1 in focus.

Beyond the geometrical shadow u = 2ψ, Lommel's series hold (Born & Wolf, Principles of Optics, §8.8.1):

    |A|² = W₁² + W₂²,   W_n = (2/u) Σ_s (−1)^s (u/v)^{n+2s} J_{n+2s}(v),   dW_n/dv = −(v/u) W_{n+1}.

Transfer function, ν = f/f_c (Hopkins 1955, Proc. R. Soc. A 231, 91; here in ν = cos θ, t = cos φ, which
makes it the integral of a smooth function, smooth in θ):

    H(ν) = (4/π) ∫_ν^1 √(1−t²) cos(4ψν(t−ν)) dt = (4/π) ∫_0^θ sin²φ cos(4ψν(cos φ − ν)) dφ.

Transform of a power of the spot: the power has no angular frequency above 2N and falls as v^{−3N}, so for
N ≥ 2 a short Fourier–Bessel series, which samples it at the zeros j_n of J₀, suffices (v_n = j_n/2N):

    G(ν) = ∫ |A|^{2N} exp(−i 2Nν·v) d²v = (π/N²) Σ_n |A(v_n)|^{2N} J₀(j_n ν)/J₁(j_n)².
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.physics.optics.shape import Round, Spline, bessel_zeros, j0, j1, quadrature

_CHUNK = 1 << 22
"""Numbers of a matrix per batch; more need more memory."""


def amplitude(v: Floats, psi: float) -> tuple[Floats, Floats, Floats]:
    """A, dA/d(v²) and ∂A/∂ψ at v (M,), complex."""
    rho, weight = quadrature(0, 1, float(v.max(initial=0)) + abs(psi))
    light = 2 * weight * rho * np.exp(1j * psi * rho**2)
    # J₁(x)/x is smooth at 0, where it is 1/2.
    both = np.stack([light, light * 1j * rho**2], axis=1)
    out = np.empty((3, len(v)), np.complex128)
    step = max(1, _CHUNK // len(rho))
    for i in range(0, len(v), step):
        part = slice(i, i + step)
        x = np.maximum(v[part, None] * rho, 1e-12)
        out[[0, 2], part] = (j0(x) @ both).T
        out[1, part] = -(j1(x) / x) @ (light * rho**2) / 2
    return out[0], out[1], out[2]


def intensity_far(v: Floats, u: float) -> tuple[Floats, Floats]:
    """|A|² and d|A|²/d(v²) where v ≥ 4u and v ≥ 64: ten terms of Lommel's series leave 1e-12 out."""
    terms = 10
    order = np.empty((2 * terms + 4, *v.shape))
    order[0], order[1] = j0(v), j1(v)
    for n in range(1, len(order) - 1):  # upward is stable as long as n < v
        order[n + 1] = 2 * n / v * order[n] - order[n - 1]

    def series(n: int, power: int) -> Floats:
        s = range(terms)
        return 2 * sum((-1) ** i * u ** (power + 2 * i) * v ** -(n + 2.0 * i) * order[n + 2 * i] for i in s)

    one, two = series(1, 0), series(2, 1)
    return one**2 + two**2, -(one * series(2, 0) + two * series(3, 1))


def transfer(theta: Floats, psi: float) -> tuple[Floats, Floats, Floats]:
    """H, dH/dν and ∂H/∂ψ at ν = cos θ, θ (M,) from 0 to π/2."""
    node, weight = quadrature(0, 1, np.pi + 2 * abs(psi))
    theta = theta[:, None]
    nu, phi = np.cos(theta), theta * node
    weight = 4 / np.pi * theta * weight * np.sin(phi) ** 2
    t = np.cos(phi)
    turn = 4 * psi * nu * (t - nu)
    sine = weight * np.sin(turn)
    slope = -4 / np.pi * np.sin(theta[:, 0]) - 4 * psi * (sine * (t - 2 * nu)).sum(axis=1)
    return (weight * np.cos(turn)).sum(axis=1), slope, -4 * (sine * nu * (t - nu)).sum(axis=1)


def power_transfer(nu: Floats, psi: float, photons: int) -> tuple[Floats, Floats, Floats]:
    """G, dG/dν and ∂G/∂ψ at ν (M,), a fraction of the N times wider band."""
    # The energy of the tails is left out: (far end)^(2−3N) of the whole, less than 1e-9.
    end = (400 if photons == 2 else 100) + 8 * abs(psi)
    zero = bessel_zeros(int(end * 2 * photons / np.pi))
    a, _, d_a = amplitude(zero / (2 * photons), psi)
    weight = np.pi / photons**2 / j1(zero) ** 2
    intensity = np.abs(a) ** 2
    light = weight * intensity**photons
    d_light = weight * photons * intensity ** (photons - 1) * 2 * (a.conj() * d_a).real
    out = np.empty((3, len(nu)))
    step = max(1, _CHUNK // len(zero))
    for i in range(0, len(nu), step):
        part = slice(i, i + step)
        x = nu[part, None] * zero
        out[[0, 2], part] = (j0(x) @ np.stack([light, d_light], axis=1)).T
        out[1, part] = -j1(x) @ (light * zero)
    return out[0], out[1], out[2]


HALF_MAXIMUM = 1.6163399483107026
"""v at which [2 J₁(v)/v]² = 1/2."""
FWHM_PER_RESOLUTION = HALF_MAXIMUM / np.pi
"""FWHM ÷ (λ/NA)."""
DEFOCUS_MAX = 20.0
"""Largest |ψ| for which the tables are tested; the light is then a disc 25 FWHM across."""

NA_MAX = 1.7
"""Largest numerical aperture, that of the best immersion objectives."""

_K = 2 * HALF_MAXIMUM


def _disc(v: Floats) -> Floats:
    """|A|² in focus, (2 J₁(v)/v)², which is 1 to 1e-17 below 1e-8."""
    x = np.maximum(v, 1e-8)
    found: Floats = (2 * j1(x) / x) ** 2
    return found


class Airy(Round):
    """defocus: ψ.  photons: N."""

    ideal = "airy"
    DEFOCUS = np.pi * FWHM_PER_RESOLUTION**2

    def __init__(self, defocus: float, photons: int) -> None:
        if abs(defocus) > DEFOCUS_MAX:
            raise InputError(
                f"spot defocus is {figure(defocus, 4)} λ/(π NA²), but the Airy spot must be within "
                f"{DEFOCUS_MAX:g} λ/(π NA²) of its focus"
            )
        self._psi, self._n = defocus, photons
        self._in_focus = defocus == 0 and photons == 1
        self._band = 2 * FWHM_PER_RESOLUTION * photons
        self.tail = 1 / (2 * np.pi**3 * FWHM_PER_RESOLUTION) if photons == 1 else 0.0
        self._integral = 4 * np.pi  # ∫|A|^2N d²v
        if photons > 1:
            self._integral = float(power_transfer(np.zeros(1), defocus, photons)[0][0])
        self.power_integral = float((_K**2 / (4 * np.pi)) ** photons * self._integral / _K**2)

    def radial(self, rho: Floats) -> Floats:
        """u(ρ)."""
        v = _K * np.abs(rho)
        intensity = _disc(v) if self._psi == 0 else self._intensity(v)[0]
        return _K**2 / self._integral * intensity**self._n

    def radial_slope(self, rho: Floats) -> Floats:
        """du/d(ρ²)."""
        intensity, slope = self._intensity(_K * np.abs(rho))
        return _K**4 / self._integral * self._n * intensity ** (self._n - 1) * slope

    def _intensity(self, v: Floats) -> tuple[Floats, Floats]:
        """|A|² and d|A|²/d(v²)."""
        if self._psi == 0:
            y = np.maximum(v, 1e-3)  # below, the slope is flat to 1e-7
            return _disc(v), -4 * (j1(y) / y) * (2 * j1(y) / y - j0(y)) / y**2
        both = np.empty((2, *np.shape(v)))
        near = v <= self._near
        re, im, d_re, d_im = np.moveaxis(self._amplitude(v[near]), -1, 0)
        both[:, near] = re**2 + im**2, 2 * (re * d_re + im * d_im)
        both[:, ~near] = intensity_far(v[~near], 2 * self._psi)
        return both[0], both[1]

    @property
    def _near(self) -> float:
        """Largest v of the table of amplitudes; beyond it, short Lommel series suffice."""
        return 8 * abs(self._psi) + 64

    @cached_property
    def _amplitude(self) -> Spline:
        """From v to Re and Im of A, and of dA/d(v²)."""
        v = np.linspace(0, self._near, 2 + int(self._near / 0.06))
        a, slope, _ = amplitude(v, self._psi)
        return Spline(0, self._near, np.stack([a.real, a.imag, slope.real, slope.imag], axis=-1))

    def hankel(self, kappa: Floats) -> Floats:
        """U(κ)."""
        nu = np.minimum(kappa / self._band, 1)
        if self._in_focus:
            return 2 / np.pi * (np.arccos(nu) - nu * np.sqrt(1 - nu**2))
        return np.where(nu < 1, self._table(np.arccos(nu))[..., 0], 0.0)

    def hankel_slopes(self, kappa: Floats) -> tuple[Floats, Floats]:
        """(dU/dκ, ∂U/∂ψ)."""
        nu = np.minimum(kappa / self._band, 1)
        if self._in_focus:
            return -4 / np.pi / self._band * np.sqrt(1 - nu**2), np.zeros_like(nu)
        _, slope, defocus = np.moveaxis(self._table(np.arccos(nu)), -1, 0)
        return np.where(nu < 1, slope / self._band, 0.0), np.where(nu < 1, defocus, 0.0)

    @cached_property
    def _table(self) -> Spline:
        """θ → U, dU/dν and ∂U/∂ψ; ν = cos θ is a fraction of the band."""
        # The light within v is a wave of 2Nv radians in ν; so many steps leave less than 1e-9.
        steps = 200 + int(self._n * (80 * abs(self._psi) + 200))
        theta = np.linspace(0, np.pi / 2, steps + 1)
        if self._n == 1:
            return Spline(0, np.pi / 2, np.stack(transfer(theta, self._psi), axis=-1))
        g, slope, defocus = power_transfer(np.cos(theta), self._psi, self._n)
        values = np.stack([g, slope, defocus - g / g[-1] * defocus[-1]], axis=-1) / g[-1]
        return Spline(0, np.pi / 2, values)

    def beyond(self, rho: Floats) -> Floats:
        """Energy outside circles; 1e-9 of the whole at best out of focus and for N ≥ 2."""
        v = _K * np.abs(rho)
        if self._in_focus:
            return j0(v) ** 2 + j1(v) ** 2
        k = 2 * self._n * v
        theta, weight = quadrature(0, np.pi / 2, float(k.max(initial=0)) + 4 * abs(self._psi) + 20)
        weight = weight * np.sin(theta) * self.hankel(self._band * np.cos(theta))
        inside = np.array([x * (j1(x * np.cos(theta)) @ weight) for x in k.ravel()])
        return np.clip(1 - inside.reshape(k.shape), 0, 1)

    def far(self, tolerance: float) -> float:
        """From |A|² ≤ (8/π)/v³ far away, and less than twice that from the geometrical shadow on."""
        if tolerance <= 0:
            return np.inf
        peak = self._highest if self._psi else 1.0
        rings = (16 / np.pi / peak) ** (1 / 3) * tolerance ** (-1 / (3 * self._n))
        return float(max(rings, 4 * abs(self._psi))) / _K

    @cached_property
    def width(self) -> float:
        """FWHM of u; in focus it is exactly 1."""
        return 1.0 if self._in_focus else super().width

    @cached_property
    def _highest(self) -> float:
        """The largest |A|²."""
        return float(self._intensity(np.linspace(0, self._near, 20 * int(self._near)))[0].max())

    def cutoff(self, tolerance: float) -> float:
        """κ_c; with tolerance 0 the whole band, N times 2 NA/λ."""
        if tolerance <= 0:
            return self._band
        theta = np.linspace(0, np.pi / 2, 8001)
        nu = np.cos(theta)
        size = np.abs(self.hankel(self._band * nu)) * 2 * np.pi * nu * np.sin(theta) * self._band**2
        above = np.cumsum(size) * theta[1]
        return float(self._band * nu[max(int(np.searchsorted(above, tolerance * self.peak)) - 1, 0)])
