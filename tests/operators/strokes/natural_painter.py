# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""The natural kernels of a painter: a canvas that is read and written over, and loops with float bounds."""

import json
import sys

import numpy as np

from laserpath.base.compute.runtime import Kernel, ti

_STROKES = ti.types.ndarray(ti.f64, 2)


@ti.func
def _share(strokes: ti.template(), k: ti.i32, x: ti.f64, y: ti.f64) -> ti.f64:
    """alpha · coverage. strokes: (N, 7) a, b, width, grey, alpha."""
    ex, ey = strokes[k, 2] - strokes[k, 0], strokes[k, 3] - strokes[k, 1]
    wx, wy = x - strokes[k, 0], y - strokes[k, 1]
    t = ti.max(ti.min((wx * ex + wy * ey) / (ex * ex + ey * ey), 1.0), 0.0)
    dx, dy = wx - t * ex, wy - t * ey
    distance = ti.sqrt(dx * dx + dy * dy) - 0.5 * strokes[k, 4]
    return strokes[k, 6] * ti.max(ti.min(0.5 - distance, 1.0), 0.0)


@ti.kernel
def over_whole_rows(strokes: _STROKES, canvas: _STROKES):
    for y in range(canvas.shape[0]):
        for k in range(strokes.shape[0]):
            for x in range(canvas.shape[1]):
                share = _share(strokes, k, x, y)
                canvas[y, x] = share * strokes[k, 5] + (1 - share) * canvas[y, x]


@ti.kernel
def over_float_bounds(strokes: _STROKES, canvas: _STROKES):
    """Only the columns near each stroke."""
    for y in range(canvas.shape[0]):
        for k in range(strokes.shape[0]):
            x0 = ti.floor(ti.min(strokes[k, 0], strokes[k, 2]) - strokes[k, 4]) - 1
            x1 = ti.ceil(ti.max(strokes[k, 0], strokes[k, 2]) + strokes[k, 4]) + 1
            for x in range(x0, x1):
                share = _share(strokes, k, x, y)
                canvas[y, x] = share * strokes[k, 5] + (1 - share) * canvas[y, x]


def natural_gradient(kernel, strokes, shape, slope):
    """(picture, ∂/∂strokes) of the sum of picture · slope, as Taichi's reverse mode has it."""
    found = []

    def run():
        given, canvas = (ti.ndarray(ti.f64, one, needs_grad=True) for one in (strokes.shape, shape))
        given.from_numpy(strokes)
        canvas.fill(0)
        given.grad.fill(0)
        kernel(given, canvas)
        found.append(canvas.to_numpy())
        canvas.grad.from_numpy(np.ascontiguousarray(slope))
        kernel.grad(given, canvas)
        found.append(given.grad.to_numpy())

    Kernel(run)()
    return found


if __name__ == "__main__":  # python natural_painter.py REQUEST, since it may crash
    rows, slope = (np.array(one) for one in json.loads(sys.argv[1]))
    answer = natural_gradient(over_float_bounds, rows, slope.shape, slope)
    sys.stdout.write(json.dumps([one.tolist() for one in answer]) + "\n")
