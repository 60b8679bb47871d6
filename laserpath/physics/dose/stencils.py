# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels of the direct engine: e_k h(x − x_k) for every pixel within a reach, and the adjoint.

With fractional (column, row) indices (u, v) of a point and x = j − u, y = i − v:

*Separable*, for a Gaussian along the axes: h = peak · exp(−a x²) · exp(−b y²), K × K pixels around the
point. exp(−a (x₀ + m)²) = exp(−a x₀²) exp(−2 a x₀)^m exp(−a m²): two exponentials an axis, not K.

*Radial*: h is a function of the quadratic form s = A x² + B x y + C y² (a round or elliptical spot), read
from a table over s with its slopes by cubic Hermite pieces, whose own derivative is the gradient.

Pixels outside the grid are skipped. One thread sums each strip of rows (separable), or all of them (radial),
in the order of the points. On other devices than the CPU, points are added in any order.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any

from laserpath.base.compute.runtime import CHUNK, POSITIONS, REAL, REALS, ROWS, Kernel, ti


@cache
def separable(precision: str, width: int) -> SimpleNamespace:
    """`spread` and `gather` of a Gaussian along the axes on `width` columns, an even number.

    above: rows on either side of the point. The weights of the rows follow from that of the first one by a
    recurrence, so the Gaussian must not have vanished there.
    """
    bell = _bell(REAL[precision], width)
    return SimpleNamespace(
        spread=_spread(REAL[precision], width, bell), gather=_gather(REAL[precision], width, bell)
    )


def _bell(real: Any, width: int) -> Any:
    """exp(−a x²) at `width` columns, as a Taichi function.

    t: of the point from the pixel below it. It is computed from that pixel outwards, so that no factor
    overflows. square: exp(−2 a), the ratio of one step's factor to the last.
    """
    taps = ti.types.vector(width, real)
    half = width // 2 - 1

    @ti.func
    def bell(t: real, a: real, square: real) -> taps:
        w = taps(0)
        middle, step_up = ti.exp(-a * t * t), ti.exp(a * (2 * t - 1))
        up, down, step_down = middle, middle, square / step_up
        w[half] = middle
        for m in ti.static(range(1, half + 2)):
            up *= step_up
            step_up *= square
            w[half + m] = up
            if ti.static(m <= half):
                down *= step_down
                step_down *= square
                w[half - m] = down
        return w

    return bell


def _spread(real: Any, width: int, bell: Any) -> Kernel:
    plane, half = ti.types.ndarray(real, 2), width // 2 - 1

    @ti.kernel
    def spread(
        xy: POSITIONS, energy: REALS, x0: ti.f64, y0: ti.f64, per: ti.f64, a: real, b: real, above: ti.i32,
        strips: ROWS, out: plane,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for turn in range((strips.shape[0] - 1) * CHUNK):
            if turn % CHUNK == 0:
                low, high = strips[turn // CHUNK], strips[turn // CHUNK + 1]
                square_a, square_b = ti.exp(-2 * a), ti.exp(-2 * b)
                for k in range(energy.shape[0]):
                    u, v = (xy[k, 0] - x0) * per, (xy[k, 1] - y0) * per
                    j, i = ti.floor(u, ti.i32), ti.floor(v, ti.i32)
                    left, first, last = j - half, i - above + 1, ti.min(i + above + 1, high)
                    if ti.max(first, low) < last:
                        wu, y = bell(ti.cast(u - j, real), a, square_a), ti.cast(first - v, real)
                        weight, step = ti.exp(-b * y * y) * ti.cast(energy[k], real), ti.exp(-b * (2 * y + 1))
                        inside = left >= 0 and left + width <= out.shape[1]
                        # From the point's first row: where the strip begins must not change the rounding.
                        for row in range(first, last):
                            if row < low:
                                pass
                            elif inside:
                                for n in ti.static(range(width)):
                                    out[row, left + n] = out[row, left + n] + weight * wu[n]
                            else:
                                for n in ti.static(range(width)):
                                    if left + n >= 0 and left + n < out.shape[1]:
                                        out[row, left + n] = out[row, left + n] + weight * wu[n]
                            weight *= step
                            step *= square_b

    return Kernel(spread)


def _gather(real: Any, width: int, bell: Any) -> Kernel:
    plane, half, moments = ti.types.ndarray(real, 2), width // 2 - 1, _moments(real, width)

    @ti.kernel
    def gather(
        xy: POSITIONS, energy: REALS, x0: ti.f64, y0: ti.f64, per: ti.f64, a: real, b: real, above: ti.i32,
        field: plane, d_energy: REALS, d_xy: POSITIONS,
    ):  # fmt: skip
        for k in range(energy.shape[0]):
            u, v = (xy[k, 0] - x0) * per, (xy[k, 1] - y0) * per
            j, i = ti.floor(u, ti.i32), ti.floor(v, ti.i32)
            tu, left, first = ti.cast(u - j, real), j - half, ti.max(i - above + 1, 0)
            wu, y = bell(tu, a, ti.exp(-2 * a)), ti.cast(first - v, real)
            weight, step, square_b = ti.exp(-b * y * y), ti.exp(-b * (2 * y + 1)), ti.exp(-2 * b)
            inside = left >= 0 and left + width <= field.shape[1]
            f, f_u, f_v = ti.cast(0, real), ti.cast(0, real), ti.cast(0, real)
            for row in range(first, ti.min(i + above + 1, field.shape[0])):
                total, moment = moments(field, row, left, inside, wu)
                f += total * weight
                f_u += (moment - total * tu) * weight
                f_v += total * weight * y
                weight *= step
                step *= square_b
                y += 1
            d_energy[k] = f
            d_xy[k, 0] = 2 * a * per * energy[k] * f_u
            d_xy[k, 1] = 2 * b * per * energy[k] * f_v

    return Kernel(gather)


def _moments(real: Any, width: int) -> Any:
    """Σ g and Σ g (n − half) over the columns of one row, g = field · weight, as a Taichi function."""
    half = width // 2 - 1

    @ti.func
    def moments(
        field: ti.template(), row: ti.i32, left: ti.i32, inside: ti.template(), wu: ti.template()
    ) -> ti.types.vector(2, real):
        total, moment = ti.cast(0, real), ti.cast(0, real)
        if inside:
            for n in ti.static(range(width)):
                g = field[row, left + n] * wu[n]
                total += g
                moment += g * (n - half)
        else:
            for n in ti.static(range(width)):
                if left + n >= 0 and left + n < field.shape[1]:
                    g = field[row, left + n] * wu[n]
                    total += g
                    moment += g * (n - half)
        return ti.Vector([total, moment], real)

    return moments


@cache
def radial(precision: str, atomic: bool) -> SimpleNamespace:
    """`spread` and `gather` of a spot from a table; atomic: points in any order, for devices but the CPU."""
    hermite = _hermite(REAL[precision])
    return SimpleNamespace(
        spread=_spread_table(REAL[precision], hermite, atomic), gather=_gather_table(REAL[precision], hermite)
    )


def _hermite(real: Any) -> Any:
    """The table's value and slope between its nodes, as a Taichi function."""

    @ti.func
    def hermite(value: ti.template(), slope: ti.template(), at: real) -> ti.types.vector(2, real):
        k = ti.min(ti.cast(at, ti.i32), value.shape[0] - 2)
        f = at - ti.cast(k, real)
        h0, h1, s0, s1 = value[k], value[k + 1], slope[k], slope[k + 1]
        c2 = 3 * (h1 - h0) - 2 * s0 - s1
        c3 = 2 * (h0 - h1) + s0 + s1
        return ti.Vector([h0 + f * (s0 + f * (c2 + f * c3)), s0 + f * (2 * c2 + 3 * f * c3)], real)

    return hermite


def _spread_table(real: Any, hermite: Any, atomic: bool) -> Kernel:
    line, plane, form = ti.types.ndarray(real, 1), ti.types.ndarray(real, 2), ti.types.vector(3, real)

    @ti.kernel
    def spread(u: line, v: line, energy: line, value: line, slope: line, s: form, reach: ti.i32, out: plane):
        ti.loop_config(serialize=not atomic)
        for k in range(u.shape[0]):
            j0, i0 = ti.floor(u[k], ti.i32), ti.floor(v[k], ti.i32)
            for i in range(ti.max(i0 - reach, 0), ti.min(i0 + reach + 2, out.shape[0])):
                for j in range(ti.max(j0 - reach, 0), ti.min(j0 + reach + 2, out.shape[1])):
                    x, y = ti.cast(j, real) - u[k], ti.cast(i, real) - v[k]
                    at = s[0] * x * x + s[1] * x * y + s[2] * y * y
                    if at < ti.cast(value.shape[0] - 1, real):
                        out[i, j] += energy[k] * hermite(value, slope, at)[0]

    return Kernel(spread)


def _gather_table(real: Any, hermite: Any) -> Kernel:
    line, plane, form = ti.types.ndarray(real, 1), ti.types.ndarray(real, 2), ti.types.vector(3, real)

    @ti.kernel
    def gather(
        u: line, v: line, value: line, slope: line, s: form, reach: ti.i32, field: plane,
        d_energy: line, d_u: line, d_v: line,
    ):  # fmt: skip
        for k in range(u.shape[0]):
            j0, i0 = ti.floor(u[k], ti.i32), ti.floor(v[k], ti.i32)
            f, f_u, f_v = ti.cast(0, real), ti.cast(0, real), ti.cast(0, real)
            for i in range(ti.max(i0 - reach, 0), ti.min(i0 + reach + 2, field.shape[0])):
                for j in range(ti.max(j0 - reach, 0), ti.min(j0 + reach + 2, field.shape[1])):
                    x, y = ti.cast(j, real) - u[k], ti.cast(i, real) - v[k]
                    at = s[0] * x * x + s[1] * x * y + s[2] * y * y
                    if at < ti.cast(value.shape[0] - 1, real):
                        h = hermite(value, slope, at)
                        f += field[i, j] * h[0]
                        f_u -= field[i, j] * h[1] * (2 * s[0] * x + s[1] * y)
                        f_v -= field[i, j] * h[1] * (2 * s[2] * y + s[1] * x)
            d_energy[k], d_u[k], d_v[k] = f, f_u, f_v

    return Kernel(gather)
