# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""The reference engine: the direct stencil differentiated by Taichi itself. Slow; for tests.

Taichi 1.7's reverse mode is silently wrong if a local variable is carried over an inner loop at run time. It
is right for the flat loop over (point, row, column) below, whose innermost body computes everything.
"""

from functools import cache

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.compute.runtime import REAL, Kernel, ti
from laserpath.physics.dose.direct import RadialEngine
from laserpath.physics.dose.engines import checked_points, checked_slope


@cache
def _kernel(precision: str) -> tuple[Kernel, Kernel]:
    real = REAL[precision]
    line, plane = ti.types.ndarray(real, 1), ti.types.ndarray(real, 2)

    @ti.kernel
    def spread(
        u: line, v: line, energy: line, value: line, slope: line, a: real, b: real, c: real,
        reach: ti.i32, out: plane,
    ):  # fmt: skip
        for k, m, n in ti.ndrange(u.shape[0], 2 * reach + 2, 2 * reach + 2):
            i, j = ti.floor(v[k], ti.i32) - reach + m, ti.floor(u[k], ti.i32) - reach + n
            x, y = j - u[k], i - v[k]
            at = a * x * x + b * x * y + c * y * y
            knot = ti.min(ti.cast(at, ti.i32), value.shape[0] - 2)
            f = at - knot
            rise = value[knot + 1] - value[knot]
            c2 = 3 * rise - 2 * slope[knot] - slope[knot + 1]
            c3 = slope[knot] + slope[knot + 1] - 2 * rise
            if at < value.shape[0] - 1 and i >= 0 and i < out.shape[0] and j >= 0 and j < out.shape[1]:
                out[i, j] += energy[k] * (value[knot] + f * (slope[knot] + f * (c2 + f * c3)))

    return Kernel(spread), Kernel(spread.grad)


class AutodiffEngine(RadialEngine):
    """The radial stencil; its adjoint is Taichi's."""

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        xy, energy = checked_points(xy, energy, self)
        slope = checked_slope(d_dose, self)
        if len(energy) == 0:
            return energy.copy(), xy.copy()
        u, v = self._pixels(xy)
        inputs = [self._array(a) for a in (u, v, energy.astype(u.dtype))]
        tables = [self._array(a) for a in (self._table, self._slopes)]
        dose = self._array(np.zeros(self.grid.shape, u.dtype))
        dose.grad.from_numpy(slope)
        arguments = (*inputs, *tables, *(float(f) for f in self._form), self._reach, dose)
        forward, backward = _kernel(self.precision)
        forward(*arguments)
        backward(*arguments)
        du, dv, d_energy = (a.grad.to_numpy().astype(np.float64) for a in inputs)
        return d_energy, np.stack([du, dv], axis=1) / self.grid.pitch

    def _array(self, values: Floats) -> ti.Ndarray:
        real = REAL[self.precision]
        array = ti.ndarray(real, values.shape, needs_grad=True)
        array.from_numpy(np.ascontiguousarray(values))
        array.grad.fill(0)
        return array
