# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels: the cells of tiles through one interval of time, with the light that reaches them.

Between two points of light a cell is in the dark (`reaction`); a point adds radicals at once, in proportion
to its dose there. A cell depends on no other within an interval, so a tile's points, in the order of time,
are all that it needs: no two threads add to one number. The adjoint computes a cell's states forward again
and keeps them for the way back, one cell at a time.
"""

from functools import cache
from types import SimpleNamespace

from laserpath.base.compute.runtime import CHUNK, POSITIONS, REALS, ROWS, Kernel, ti
from laserpath.physics.kinetics.reaction import RATES, Cell, Rates, adjoint, after

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
