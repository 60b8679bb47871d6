# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels: scattered points ↔ pixels.

Points carry an energy e_k (mJ) at (u_k, v_k), fractional (column, row) indices. The *soft splat*
gives pixel (i, j) the energy e_k B(j − u_k) B(i − v_k) with the cubic B-spline

    B(t) = 2/3 − t² + |t|³/2 for |t| < 1,   (2 − |t|)³/6 for 1 ≤ |t| < 2,

which is twice differentiable, so that the gradient with respect to the position is right and
nowhere zero by construction. `gather` is its adjoint. Indices wrap around: the grid is
periodic, and nothing is ever written outside it.

The *direct* kernels are the slow, plain reference: e_k h(|x − x_k|) for all pixels within a radius,
h from a table over r² with its slopes (cubic Hermite).
"""

from functools import cache
from types import SimpleNamespace

import taichi as ti

SPLAT_WIDTH = 4


@cache
def kernels(precision: str) -> SimpleNamespace:
    """The kernels for 'f32' or 'f64' arrays."""
    real = {"f32": ti.f32, "f64": ti.f64}[precision]
    line, plane = ti.types.ndarray(real, 1), ti.types.ndarray(real, 2)

    @ti.func
    def weight(t: real) -> real:
        a = ti.abs(t)
        # Literals are f32 in Taichi: 2.0 / 3.0 alone would put an error of 2e-8 into an f64 kernel.
        near = ti.cast(2.0, real) / 3.0 - a * a * (1.0 - 0.5 * a)
        far = ti.max(2.0 - a, 0.0)
        return near if a < 1.0 else far * far * far / 6.0

    @ti.func
    def slope(t: real) -> real:
        a = ti.abs(t)
        far = ti.max(2.0 - a, 0.0)
        size = a * (1.5 * a - 2.0) if a < 1.0 else -0.5 * far * far
        return size if t > 0 else -size

    @ti.func
    def hermite(value: ti.template(), slopes: ti.template(), at: real) -> ti.types.vector(2, real):
        # Cubic between the knots and its exact derivative, so that the gradient is that of the sum.
        k = ti.min(ti.cast(at, ti.i32), value.shape[0] - 2)
        f = at - ti.cast(k, real)
        h0, h1, s0, s1 = value[k], value[k + 1], slopes[k], slopes[k + 1]
        c2 = 3 * (h1 - h0) - 2 * s0 - s1
        c3 = 2 * (h0 - h1) + s0 + s1
        return ti.Vector([h0 + f * (s0 + f * (c2 + f * c3)), s0 + f * (2 * c2 + 3 * f * c3)], real)

    @ti.kernel
    def splat(u: line, v: line, energy: line, out: plane):
        # One thread: the same sum in the same order every time, and fast enough (16 adds a point).
        ti.loop_config(serialize=True)
        for k in range(u.shape[0]):
            j0, i0 = ti.floor(u[k], ti.i32) - 1, ti.floor(v[k], ti.i32) - 1
            fu, fv = ti.cast(j0, real) - u[k], ti.cast(i0, real) - v[k]
            for a in ti.static(range(SPLAT_WIDTH)):
                row = energy[k] * weight(fv + a)
                i = (i0 + a) % out.shape[0]
                for b in ti.static(range(SPLAT_WIDTH)):
                    out[i, (j0 + b) % out.shape[1]] += row * weight(fu + b)

    @ti.kernel
    def gather(u: line, v: line, field: plane, value: line, du: line, dv: line):
        for k in range(u.shape[0]):
            j0, i0 = ti.floor(u[k], ti.i32) - 1, ti.floor(v[k], ti.i32) - 1
            fu, fv = ti.cast(j0, real) - u[k], ti.cast(i0, real) - v[k]
            f, f_u, f_v = ti.cast(0, real), ti.cast(0, real), ti.cast(0, real)
            for a in ti.static(range(SPLAT_WIDTH)):
                wv, sv = weight(fv + a), slope(fv + a)
                i = (i0 + a) % field.shape[0]
                for b in ti.static(range(SPLAT_WIDTH)):
                    g = field[i, (j0 + b) % field.shape[1]]
                    f += g * wv * weight(fu + b)
                    f_u -= g * wv * slope(fu + b)
                    f_v -= g * sv * weight(fu + b)
            value[k], du[k], dv[k] = f, f_u, f_v

    @ti.kernel
    def direct(
        u: line, v: line, energy: line, table: line, slopes: line, per_square: real, reach: ti.i32, out: plane
    ):  # fmt: skip
        ti.loop_config(serialize=True)
        for k in range(u.shape[0]):
            j0, i0 = ti.floor(u[k], ti.i32), ti.floor(v[k], ti.i32)
            for i in range(ti.max(i0 - reach, 0), ti.min(i0 + reach + 2, out.shape[0])):
                for j in range(ti.max(j0 - reach, 0), ti.min(j0 + reach + 2, out.shape[1])):
                    x, y = ti.cast(j, real) - u[k], ti.cast(i, real) - v[k]
                    at = (x * x + y * y) * per_square
                    if at < ti.cast(table.shape[0] - 1, real):
                        out[i, j] += energy[k] * hermite(table, slopes, at)[0]

    @ti.kernel
    def direct_adjoint(
        u: line, v: line, table: line, slopes: line, per_square: real, reach: ti.i32, field: plane,
        value: line, du: line, dv: line,
    ):  # fmt: skip
        for k in range(u.shape[0]):
            j0, i0 = ti.floor(u[k], ti.i32), ti.floor(v[k], ti.i32)
            f, f_u, f_v = ti.cast(0, real), ti.cast(0, real), ti.cast(0, real)
            for i in range(ti.max(i0 - reach, 0), ti.min(i0 + reach + 2, field.shape[0])):
                for j in range(ti.max(j0 - reach, 0), ti.min(j0 + reach + 2, field.shape[1])):
                    x, y = ti.cast(j, real) - u[k], ti.cast(i, real) - v[k]
                    at = (x * x + y * y) * per_square
                    if at < ti.cast(table.shape[0] - 1, real):
                        h = hermite(table, slopes, at)
                        f += field[i, j] * h[0]
                        f_u -= 2 * field[i, j] * h[1] * per_square * x
                        f_v -= 2 * field[i, j] * h[1] * per_square * y
            value[k], du[k], dv[k] = f, f_u, f_v

    return SimpleNamespace(splat=splat, gather=gather, direct=direct, direct_adjoint=direct_adjoint)
