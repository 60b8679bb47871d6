# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels: the cells of tiles through one interval of time, with the light that reaches them.

Between two points of light a cell is in the dark (below); a point adds radicals at once, in proportion
to its dose there. A cell depends on no other within an interval, so a tile's points, in the order of time,
are all that it needs: no two threads add to one number. The adjoint computes a cell's states forward again
and keeps them for the way back, one cell at a time.

**In the dark** radicals meet oxygen, terminate, and propagate. For the radicals R and the oxygen O two flows
follow each other, half of the second, the first, half of the second (Strang 1968), so that a step of duration
s is wrong by O(s³). Both are solved exactly, so that any s is stable and no concentration becomes negative:

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

from functools import cache
from types import SimpleNamespace

from laserpath.base.compute.runtime import CHUNK, POSITIONS, REALS, ROWS, Kernel, ti

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


SIDE = 16
"""Cells on the side of a tile."""

PLANE = ti.types.ndarray(ti.f64, 2)


@ti.func
def _spot(x: ti.f64, y: ti.f64, form: ti.template(), value: ti.template(), slope: ti.template()):
    """The spot h and its derivative by the squared radius, in knots, of a cubic Hermite table."""
    at = form[0] * x * x + form[1] * x * y + form[2] * y * y
    h, rise = ti.cast(0, ti.f64), ti.cast(0, ti.f64)
    if at < value.shape[0] - 1:
        knot = ti.cast(at, ti.i32)
        f = at - knot
        step = value[knot + 1] - value[knot]
        c2 = 3 * step - 2 * slope[knot] - slope[knot + 1]
        c3 = slope[knot] + slope[knot + 1] - 2 * step
        h = value[knot] + f * (slope[knot] + f * (c2 + f * c3))
        rise = slope[knot] + f * (2 * c2 + 3 * f * c3)
    return h, rise


@ti.func
def _rates(k: ti.template()):
    out = Rates(0)
    for n in ti.static(range(RATES)):
        out[n] = k[n]
    return out


@cache
def kernels() -> SimpleNamespace:
    """`forward` and `backward` through one interval, from `begin` to `end`, s.

    corner: (T, 2) first row and column of each tile.  first: (T + 1,) where its entries in `lit` begin, and
    the end.  lit: (E,) points that reach it, in the order of time.  uv: (M, 2) fractional column and row of
    the points.  radicals: (M,) made by each per unit of h.  time: (M,) s.  state: (3·rows, columns) R, O, m,
    changed in place.
    """

    @ti.kernel
    def forward(
        corner: ti.types.ndarray(ti.i32, 2), first: ROWS, lit: ROWS, uv: POSITIONS, radicals: REALS,
        time: REALS, begin: ti.f64, end: ti.f64, rates: REALS, form: REALS, value: REALS, slope: REALS,
        state: PLANE,
    ):  # fmt: skip
        rows, columns = state.shape[0] // 3, state.shape[1]
        for index in range(corner.shape[0] * SIDE * SIDE):
            tile, inside = index // (SIDE * SIDE), index % (SIDE * SIDE)
            i, j = corner[tile, 0] + inside // SIDE, corner[tile, 1] + inside % SIDE
            if i < rows and j < columns:
                k = _rates(rates)
                cell = Cell([state[i, j], state[rows + i, j], state[2 * rows + i, j]])
                now = begin
                for entry in range(first[tile], first[tile + 1]):
                    p = lit[entry]
                    h, _ = _spot(j - uv[p, 0], i - uv[p, 1], form, value, slope)
                    if h != 0:
                        cell = after(cell, time[p] - now, k)
                        cell[0] += radicals[p] * h
                        now = time[p]
                cell = after(cell, end - now, k)
                for n in ti.static(range(3)):
                    state[n * rows + i, j] = cell[n]

    @ti.kernel
    def backward(
        corner: ti.types.ndarray(ti.i32, 2), first: ROWS, lit: ROWS, uv: POSITIONS, radicals: REALS,
        time: REALS, begin: ti.f64, end: ti.f64, rates: REALS, form: REALS, value: REALS, slope: REALS,
        state: PLANE, kept: PLANE, d_state: PLANE, d_entry: PLANE,
    ):  # fmt: skip
        # kept: (E + 1, 4) scratch.  d_state: changed in place.  d_entry: (E, 4) by radicals, u, v, time.
        rows, columns = state.shape[0] // 3, state.shape[1]
        ti.loop_config(block_dim=CHUNK)
        for turn in range(corner.shape[0] * CHUNK):
            if turn % CHUNK == 0:
                tile = turn // CHUNK
                k = _rates(rates)
                low, high = first[tile], first[tile + 1]
                for inside in range(SIDE * SIDE):
                    i, j = corner[tile, 0] + inside // SIDE, corner[tile, 1] + inside % SIDE
                    if i < rows and j < columns:
                        cell = Cell([state[i, j], state[rows + i, j], state[2 * rows + i, j]])
                        now = begin
                        for entry in range(low, high):
                            p = lit[entry]
                            h, _ = _spot(j - uv[p, 0], i - uv[p, 1], form, value, slope)
                            if h != 0:
                                for n in ti.static(range(3)):
                                    kept[entry, n] = cell[n]  # before the dark time that this point ends
                                kept[entry, 3] = now
                                cell = after(cell, time[p] - now, k)
                                cell[0] += radicals[p] * h
                                now = time[p]
                        d = Cell([d_state[i, j], d_state[rows + i, j], d_state[2 * rows + i, j]])
                        back = adjoint(cell, end - now, k, d)
                        for entry in range(high - low):
                            e = high - 1 - entry
                            p = lit[e]
                            x, y = j - uv[p, 0], i - uv[p, 1]
                            h, rise = _spot(x, y, form, value, slope)
                            if h != 0:
                                d_entry[e, 0] += back[0] * h
                                pull = -back[0] * radicals[p] * rise
                                d_entry[e, 1] += pull * (2 * form[0] * x + form[1] * y)
                                d_entry[e, 2] += pull * (form[1] * x + 2 * form[2] * y)
                                d_entry[e, 3] -= back[3]  # the dark time after this point
                                before = Cell([kept[e, 0], kept[e, 1], kept[e, 2]])
                                back = adjoint(
                                    before, time[p] - kept[e, 3], k, Cell([back[0], back[1], back[2]])
                                )
                                d_entry[e, 3] += back[3]
                        for n in ti.static(range(3)):
                            d_state[n * rows + i, j] = back[n]

    return SimpleNamespace(forward=Kernel(forward), backward=Kernel(backward))
