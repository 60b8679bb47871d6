# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""One cell of resin in the dark for a while: radicals meet oxygen, terminate, and propagate; and the adjoint.

For the radicals R and the oxygen O two flows follow each other, half of the second, the first, half of the
second (Strang 1968), so that a step of duration s is wrong by O(s³). Both are solved exactly, so that any s
is stable and no concentration becomes negative:

1. Inhibition, dR/ds = dO/ds = −k_o R O. With S and L the smaller and the larger of R and O, L − S stays and

       S' = S/(1 + k_o s L φ(k_o s (L − S))),   φ(w) = (eʷ − 1)/w.

2. Termination, dR/ds = −k₁ R − k₂ R²:

       R' = R e⁻ᵃ/(1 + q),   a = k₁ s,   q = k₂ R s ψ(a),   ψ(a) = φ(−a) = (1 − e⁻ᵃ)/a.

The monomer m' = m exp(−k_p J) needs J = ∫ R ds. Without oxygen it is J₂ = R s ψ(a) λ(q), λ(q) = ln(1 + q)/q.
Inhibition alone leaves the share F of R s, since J = ln(O/O')/k_o = R s F there:

       F = φ(α − β) λ(α φ(α − β)),   α = k_o s R, β = k_o s O.

J = J₂ F, with F of the radicals after the first half of 2, is exact for each flow alone and wrong by O(s³)
for both. Where oxygen takes the radicals long before s is over, R ≪ O and k_o O s ≫ 1, it is right for
k₁ s ≪ 1 and k₂ R s ≪ 1. For a larger k₁ s it is too small there, by the factor ψ(k₁ s): by 14 % at 0.3.

φ, ψ and λ have finite limits at 0, taken by their series, so nothing divides by a rate or a difference that
may vanish. The derivatives by s of a flow are its right-hand sides, at its end.
"""

from laserpath.base.compute.runtime import ti

RATES = 4
"""Rates of a resin in a row: k_o, k₁, k₂, k_p."""

Rates = ti.types.vector(RATES, ti.f64)
Cell = ti.types.vector(3, ti.f64)
"""R, O, m: radicals and oxygen in units of the oxygen that the resin holds at rest, monomer that is left."""
Three = Cell
"""A value and two derivatives, or three derivatives."""

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
def decay_slope(a: ti.f64) -> ti.f64:
    """ψ'(a), of a ≥ 0."""
    out = -1 / 2 + a * (1 / 3 - a * (1 / 8 - a * (1 / 30 - a * (1 / 144 - a / 840))))
    if a > _SMALL_GROWTH:
        out = (ti.exp(-a) * (1 + a) - 1) / (a * a)
    return out


@ti.func
def relative_log(q: ti.f64) -> ti.f64:
    """λ(q) = ln(1 + q)/q, of q ≥ 0."""
    out = 1 - q * (1 / 2 - q * (1 / 3 - q * (1 / 4 - q / 5)))
    if q > _SMALL_LOG:
        out = ti.log(1 + q) / q
    return out


@ti.func
def relative_log_slope(q: ti.f64) -> ti.f64:
    """λ'(q), of q ≥ 0."""
    out = -1 / 2 + q * (2 / 3 - q * (3 / 4 - q * (4 / 5 - q * 5 / 6)))
    if q > _SMALL_LOG:
        out = (1 / (1 + q) - ti.log(1 + q) / q) / q
    return out


@ti.func
def uninhibited(alpha: ti.f64, beta: ti.f64) -> Three:
    """F(α, β) and its derivatives."""
    w = alpha - beta
    f, rise = ti.cast(0, ti.f64), ti.cast(0, ti.f64)
    if w < 0:
        f, rise = decay(-w), -decay_slope(-w)
    elif w < _LARGEST:
        f, rise = growth(w), growth_slope(w)
    out = Three(0)
    if w < _LARGEST:
        x = alpha * f
        part, bend = relative_log(x), relative_log_slope(x)
        out = Three([f * part, rise * part + f * bend * (f + alpha * rise), -rise * (part + x * bend)])
    else:  # ln(1 + α φ) = ln α + w − ln w; there α is large
        share = (ti.log(alpha) + w - ti.log(w)) / alpha
        out = Three([share, (1 / alpha + 1 - 1 / w - share) / alpha, (1 / w - 1) / alpha])
    return out


@ti.func
def inhibited(small: ti.f64, large: ti.f64, rate: ti.f64) -> ti.f64:
    """What is left of the scarcer of two that consume each other. rate: k_o s."""
    return small / (1 + large * rate * growth(ti.min(rate * (large - small), _LARGEST)))


@ti.func
def after(cell: Cell, s: ti.f64, k: Rates) -> Cell:
    """The cell after s seconds in the dark."""
    a, rate = k[1] * s / 2, k[0] * s
    rest, half = ti.exp(-a), s / 2 * decay(a)
    lasting = half * (1 + rest)
    q = k[2] * cell[0] * lasting
    radicals = cell[0] * rest / (1 + k[2] * cell[0] * half)
    exposure = cell[0] * lasting * relative_log(q) * uninhibited(rate * radicals, rate * cell[1])[0]
    small, large = ti.min(radicals, cell[1]), ti.max(radicals, cell[1])
    left = inhibited(small, large, rate)
    radicals_left, oxygen = left, left + (large - small)
    if radicals > cell[1]:
        radicals_left, oxygen = oxygen, radicals_left
    ended = radicals_left * rest / (1 + k[2] * radicals_left * half)
    return Cell([ended, oxygen, cell[2] * ti.exp(-k[3] * exposure)])


@ti.func
def inhibition_adjoint(radicals: ti.f64, oxygen: ti.f64, k: ti.f64, s: ti.f64, slope: ti.template()) -> Three:
    """∂L/∂(R, O, s) before an inhibition at the rate k of s seconds, of ∂L/∂(R, O) after it."""
    small, large, rate = ti.min(radicals, oxygen), ti.max(radicals, oxygen), k * s
    w = ti.min(rate * (large - small), _LARGEST)
    per = 1 / (1 + large * rate * growth(w))
    left = small * per
    d_small, d_large = slope[0], slope[1]
    if radicals > oxygen:
        d_small, d_large = d_large, d_small
    both, bend = d_small + d_large, left * per * large * rate * rate * growth_slope(w)
    d_left_large = -left * per * rate * growth(w) - bend
    d_small, d_large = both * (per + bend) - d_large, both * d_left_large + d_large
    if radicals > oxygen:
        d_small, d_large = d_large, d_small
    return Three([d_small, d_large, -(slope[0] + slope[1]) * k * left * (left + (large - small))])


@ti.func
def adjoint(cell: Cell, s: ti.f64, k: Rates, slope: Cell) -> ti.types.vector(4, ti.f64):
    """∂L/∂(R, O, m, s) before the dark time, of ∂L/∂(R, O, m) after it."""
    a, rate = k[1] * s / 2, k[0] * s
    rest, half = ti.exp(-a), s / 2 * decay(a)
    lasting = half * (1 + rest)
    q = k[2] * cell[0] * lasting
    per = 1 / (1 + k[2] * cell[0] * half)
    radicals = cell[0] * rest * per
    share = uninhibited(rate * radicals, rate * cell[1])
    alone = cell[0] * lasting * relative_log(q)
    small, large = ti.min(radicals, cell[1]), ti.max(radicals, cell[1])
    left = inhibited(small, large, rate)
    if radicals > cell[1]:
        left += large - small
    kept = ti.exp(-k[3] * alone * share[0])
    d_exposure = -k[3] * cell[2] * kept * slope[2]
    d_share, d_alone = d_exposure * alone, d_exposure * share[0]

    after_per = 1 / (1 + k[2] * left * half)
    last = left * rest * after_per
    back = inhibition_adjoint(
        radicals, cell[1], k[0], s, ti.Vector([slope[0] * rest * after_per**2, slope[1]])
    )
    d_radicals = back[0] + d_share * share[1] * rate
    d_s = (
        back[2]
        - slope[0] * last * (k[1] + k[2] * last) / 2
        + d_share * k[0] * (share[1] * radicals + share[2] * cell[1])
        - d_radicals * radicals * (k[1] + k[2] * radicals) / 2
        + d_alone * cell[0] * rest**2 / (1 + q)
    )
    return ti.Vector(
        [
            d_radicals * rest * per**2 + d_alone * lasting / (1 + q),
            back[1] + d_share * share[2] * rate,
            slope[2] * kept,
            d_s,
        ]
    )
