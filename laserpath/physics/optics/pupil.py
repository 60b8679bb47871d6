"""Integrals over a uniformly filled circular pupil whose rim is ψ radians out of phase with its centre.

Amplitude in the image plane, with v = 2π NA r/λ and ρ the radius in the pupil:

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

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.physics.optics.numerics import bessel_zeros, j0, j1, quadrature

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
