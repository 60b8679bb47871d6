# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels: points ↔ pixels. Arrays in, arrays out; each is built for one precision.

Points are at xy (M, 2) in mm, float64, and carry an energy e_k in mJ. On a grid of its own with origin
(x0, y0) and pitches (p_x, p_y) a point has the fractional (column, row) u = (x − x0)/p_x, v = (y − y0)/p_y.

*Splat*: pixel (i, j) gets e_k B(j − u_k) B(i − v_k) with the B-spline B of even order n (n pixels wide,
piecewise of degree n − 1, n − 2 times differentiable), so that its gradient with respect to the position is
exact, and not zero almost everywhere. The weights at the fraction t = u − ⌊u⌋ follow from

    w_d[j] = ((t + d − j) w_{d−1}[j−1] + (1 − t + j) w_{d−1}[j])/d,    w_0 = [1],    j = 0 … d,
    w_d′[j] = w_{d−1}[j−1] − w_{d−1}[j]                    (de Boor 1978; Unser 1999, box 1),

written out as polynomials in t, whose coefficients are whole numbers over d!. Most of the time in which a
process loads a kernel goes into Taichi's visits to the nodes of unrolled loops, and polynomials have few.

`gather` is the adjoint. Each strip of rows of a splat belongs to one thread. Every pixel is summed in the
order of the points, so that the result does not depend on the number of threads, to the last bit.

*Interpolation*: see `smooth`. The direct engine's kernels are in `stencils`.
"""

from functools import cache
from math import factorial
from types import SimpleNamespace
from typing import Any

from laserpath.base.compute.runtime import CHUNK, POSITIONS, REAL, REALS, ROWS, Kernel, ti


@cache
def splatting(precision: str, order: int) -> SimpleNamespace:
    """`splat` and `gather` with the B-spline of an even order, for canvases of 'f32' or 'f64'."""
    spline = _spline(REAL[precision], order)
    return SimpleNamespace(
        splat=_splat(REAL[precision], order, spline),
        gather=_gather(REAL[precision], order, spline, _slopes(REAL[precision], order)),
    )


def _spline(real: Any, order: int) -> Any:
    """w_d of the module's docstring for d = order − 1, as a Taichi function of t."""
    return _horner(real, _numerators(order), factorial(order - 1))


def _slopes(real: Any, order: int) -> Any:
    """w_d′ of the module's docstring for d = order − 1, as a Taichi function of t."""
    slopes = [[k * c for c in row] for k, row in enumerate(_numerators(order))][1:]
    return _horner(real, slopes, factorial(order - 1))


def _horner(real: Any, rows: list[list[int]], divisor: int) -> Any:
    """Polynomials in t as a Taichi function. rows: numerators of all of them, by the power of t, from t⁰ on.

    They are whole numbers, which Taichi passes on as they are: a literal such as 0.1 is f32 there, which
    would put an error of 1e-8 into an f64 kernel.
    """
    count, last = len(rows[0]), len(rows) - 1

    @ti.func
    def polynomials(t: real) -> ti.types.vector(count, real):
        w = ti.cast(ti.Vector(rows[last]), real)
        for k in ti.static(range(last - 1, -1, -1)):
            w = w * t + ti.Vector(rows[k])
        return w / divisor

    return polynomials


def _numerators(order: int) -> list[list[int]]:
    """(order, order) (order − 1)! times the coefficient of t^k in w_d[j], by k and j: whole numbers."""
    w = [[1]]  # by j and k
    for d in range(1, order):
        last, w = w, [[0] * (d + 1) for _ in range(d + 1)]
        for j in range(d + 1):
            for k in range(d):
                if j > 0:
                    w[j][k] += (d - j) * last[j - 1][k]
                    w[j][k + 1] += last[j - 1][k]
                if j < d:
                    w[j][k] += (1 + j) * last[j][k]
                    w[j][k + 1] -= last[j][k]
    return [list(row) for row in zip(*w, strict=True)]


def _splat(real: Any, order: int, spline: Any) -> Kernel:
    plane = ti.types.ndarray(real, 2)

    @ti.kernel
    def splat(
        xy: POSITIONS, energy: REALS, x0: ti.f64, y0: ti.f64, per_x: ti.f64, per_y: ti.f64, strips: ROWS,
        out: plane,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for turn in range((strips.shape[0] - 1) * CHUNK):
            if turn % CHUNK == 0:
                low, high = strips[turn // CHUNK], strips[turn // CHUNK + 1]
                for k in range(energy.shape[0]):
                    v = (xy[k, 1] - y0) * per_y
                    i0 = ti.floor(v, ti.i32)
                    first = i0 - (order // 2 - 1)
                    if first + order > low and first < high:
                        u = (xy[k, 0] - x0) * per_x
                        j0 = ti.floor(u, ti.i32)
                        column = j0 - (order // 2 - 1)
                        wu = spline(ti.cast(u - j0, real))
                        wv = spline(ti.cast(v - i0, real)) * ti.cast(energy[k], real)
                        for a in ti.static(range(order)):
                            if low <= first + a and first + a < high:
                                for b in ti.static(range(order)):
                                    # Not +=, which would be atomic and twice as slow: no other thread writes
                                    # this row.
                                    out[first + a, column + b] = out[first + a, column + b] + wv[a] * wu[b]

    return Kernel(splat)


def _gather(real: Any, order: int, spline: Any, slopes: Any) -> Kernel:
    plane = ti.types.ndarray(real, 2)

    @ti.kernel
    def gather(
        xy: POSITIONS, energy: REALS, x0: ti.f64, y0: ti.f64, per_x: ti.f64, per_y: ti.f64, field: plane,
        d_energy: REALS, d_xy: POSITIONS,
    ):  # fmt: skip
        for k in range(energy.shape[0]):
            u, v = (xy[k, 0] - x0) * per_x, (xy[k, 1] - y0) * per_y
            j0, i0 = ti.floor(u, ti.i32), ti.floor(v, ti.i32)
            tu, tv = ti.cast(u - j0, real), ti.cast(v - i0, real)
            wu, su, wv, sv = spline(tu), slopes(tu), spline(tv), slopes(tv)
            f, f_u, f_v = ti.cast(0, real), ti.cast(0, real), ti.cast(0, real)
            i0, j0 = i0 - (order // 2 - 1), j0 - (order // 2 - 1)
            for a in ti.static(range(order)):
                near = ti.Vector([field[i0 + a, j0 + b] for b in range(order)])
                row, row_u = near.dot(wu), near.dot(su)
                f += row * wv[a]
                f_u += row_u * wv[a]
                f_v += row * sv[a]
            d_energy[k] = d_energy[k] + f
            d_xy[k, 0] = d_xy[k, 0] + energy[k] * per_x * f_u
            d_xy[k, 1] = d_xy[k, 1] + energy[k] * per_y * f_v

    return Kernel(gather)


@cache
def interpolation(precision: str) -> SimpleNamespace:
    """Nodes `ratio` pixels apart ↔ pixels, linearly; pixel [0, 0] is node [margin, margin]."""
    plane = ti.types.ndarray(REAL[precision], 2)
    real = REAL[precision]

    @ti.kernel
    def add(nodes: plane, ratio: ti.i32, margin: ti.i32, out: plane):
        for i in range(out.shape[0]):
            top, t = margin + i // ratio, ti.cast(i % ratio, real) / ratio
            for c in range((out.shape[1] + ratio - 1) // ratio):
                left = (1 - t) * nodes[top, margin + c] + t * nodes[top + 1, margin + c]
                right = (1 - t) * nodes[top, margin + c + 1] + t * nodes[top + 1, margin + c + 1]
                step = (right - left) / ratio
                for j in range(c * ratio, ti.min((c + 1) * ratio, out.shape[1])):
                    out[i, j] = out[i, j] + (left + step * (j - c * ratio))

    @ti.kernel
    def restrict(field: plane, ratio: ti.i32, margin: ti.i32, along: plane):
        for i in range(field.shape[0]):
            for c in range((field.shape[1] + ratio - 1) // ratio):
                left, right = ti.cast(0, real), ti.cast(0, real)
                for j in range(c * ratio, ti.min((c + 1) * ratio, field.shape[1])):
                    s = ti.cast(j - c * ratio, real) / ratio
                    left += (1 - s) * field[i, j]
                    right += s * field[i, j]
                along[i, margin + c] = along[i, margin + c] + left
                along[i, margin + c + 1] = along[i, margin + c + 1] + right

    return SimpleNamespace(add=Kernel(add), restrict=Kernel(restrict))
