# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""One cell of resin in the dark for a while: radicals meet oxygen, terminate, and propagate; and the adjoint.

Two flows follow each other (Lie splitting, so that a step of duration s is wrong by O(s²)). Both are solved
exactly, so that any s is stable and no concentration becomes negative:

1. Inhibition, dR/ds = dO/ds = −k_o R O. With S and L the smaller and the larger of R and O, L − S stays and

       S' = S/(1 + k_o s L φ(k_o s (L − S))),   φ(w) = (eʷ − 1)/w.

2. Termination and propagation, dR/ds = −k₁ R − k₂ R², dm/ds = −k_p R m:

       R' = R e⁻ᵃ/(1 + q),   a = k₁ s,   q = k₂ R s ψ(a),   ψ(a) = (1 − e⁻ᵃ)/a,
       J  = ∫ R ds = R s ψ(a) λ(q),   λ(q) = ln(1 + q)/q,   m' = m exp(−k_p J).

φ, ψ and λ have finite limits at 0, taken by their series, so nothing divides by a rate or a difference that
may vanish. The derivatives by s are the right-hand sides themselves, at the end of the flow.
"""

import numpy as np

from laserpath.compute.runtime import ti

RATES = 4
"""Rates of a resin in a row: k_o, k₁, k₂, k_p."""

Rates = ti.types.vector(RATES, ti.f64)
Cell = ti.types.vector(3, ti.f64)
"""R, O, m: radicals and oxygen in units of the oxygen that the resin holds at rest, monomer that is left."""

_SMALL_GROWTH, _SMALL_LOG = 0.02, 1e-3
"""Arguments up to which the series are used; the first term left out is below 1e-13."""
_LARGEST = 80.0
"""Largest argument of φ: beyond, e⁻⁸⁰ of the smaller one is left, whatever its exact number."""


@ti.func
def growth(w: ti.f64) -> ti.f64:
    """φ(w) = (eʷ − 1)/w, of w ≥ 0."""
    out = 1 + w / 2 * (1 + w / 3 * (1 + w / 4 * (1 + w / 5 * (1 + w / 6))))
    if w > _SMALL_GROWTH:
        out = (ti.exp(w) - 1) / w
    return out


@ti.func
def growth_slope(w: ti.f64) -> ti.f64:
    """φ'(w), of w ≥ 0."""
    out = 1 / 2 + w * (1 / 3 + w * (1 / 8 + w * (1 / 30 + w * (1 / 144 + w / 840))))
    if w > _SMALL_GROWTH:
        out = (ti.exp(w) * (w - 1) + 1) / (w * w)
    return out


@ti.func
def decay(a: ti.f64) -> ti.f64:
    """ψ(a) = (1 − e⁻ᵃ)/a, of a ≥ 0."""
    out = 1 - a / 2 * (1 - a / 3 * (1 - a / 4 * (1 - a / 5 * (1 - a / 6))))
    if a > _SMALL_GROWTH:
        out = (1 - ti.exp(-a)) / a
    return out


@ti.func
def relative_log(q: ti.f64) -> ti.f64:
    """λ(q) = ln(1 + q)/q, of q ≥ 0."""
    out = 1 - q * (1 / 2 - q * (1 / 3 - q * (1 / 4 - q / 5)))
    if q > _SMALL_LOG:
        out = ti.log(1 + q) / q
    return out


@ti.func
def inhibited(small: ti.f64, large: ti.f64, rate: ti.f64) -> ti.f64:
    """What is left of the scarcer of two that consume each other. rate: k_o s."""
    return small / (1 + large * rate * growth(ti.min(rate * (large - small), _LARGEST)))


@ti.func
def after(cell: Cell, s: ti.f64, k: Rates) -> Cell:
    """The cell after s seconds in the dark."""
    small, large = ti.min(cell[0], cell[1]), ti.max(cell[0], cell[1])
    left = inhibited(small, large, k[0] * s)
    radicals, oxygen = left, left + (large - small)
    if cell[0] > cell[1]:
        radicals, oxygen = oxygen, radicals
    a = k[1] * s
    lasting = s * decay(a)
    q = k[2] * radicals * lasting
    exposure = radicals * lasting * relative_log(q)
    return Cell([radicals * ti.exp(-a) / (1 + q), oxygen, cell[2] * ti.exp(-k[3] * exposure)])


@ti.func
def adjoint(cell: Cell, s: ti.f64, k: Rates, slope: Cell) -> ti.types.vector(4, ti.f64):
    """∂L/∂(R, O, m, s) before the dark time, of ∂L/∂(R, O, m) after it."""
    small, large = ti.min(cell[0], cell[1]), ti.max(cell[0], cell[1])
    rate = k[0] * s
    w = ti.min(rate * (large - small), _LARGEST)
    per = 1 / (1 + large * rate * growth(w))
    left = small * per
    radicals, oxygen = left, left + (large - small)
    if cell[0] > cell[1]:
        radicals, oxygen = oxygen, radicals
    a = k[1] * s
    rest, lasting = ti.exp(-a), s * decay(a)
    q = k[2] * radicals * lasting
    later = radicals * rest / (1 + q)
    kept = ti.exp(-k[3] * radicals * lasting * relative_log(q))
    d_exposure = -k[3] * cell[2] * kept * slope[2]
    d_radicals = slope[0] * rest / (1 + q) ** 2 + d_exposure * lasting / (1 + q)
    d_s = (
        d_exposure * later
        - slope[0] * later * (k[1] + k[2] * later)
        - (d_radicals + slope[1]) * k[0] * radicals * oxygen
    )
    d_small, d_large = d_radicals, slope[1]
    if cell[0] > cell[1]:
        d_small, d_large = d_large, d_radicals
    both, bend = d_small + d_large, left * per * large * rate * rate * growth_slope(w)
    d_left_large = -left * per * rate * growth(w) - bend
    d_small, d_large = both * (per + bend) - d_large, both * d_left_large + d_large
    out = ti.Vector([d_small, d_large, slope[2] * kept, d_s])
    if cell[0] > cell[1]:
        out = ti.Vector([d_large, d_small, slope[2] * kept, d_s])
    return out


def rates(inhibition: float, first: float, second: float, propagation: float) -> np.ndarray:
    """(4,) the rates in the order of `Rates`."""
    return np.array([inhibition, first, second, propagation])
