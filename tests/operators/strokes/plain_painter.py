"""The painter in NumPy, written from its equations alone: the reference of the tests. One pixel at a time."""

from __future__ import annotations

import numpy as np

from laserpath.operators.strokes import Canvas, Strokes


def distance(points, p) -> float:
    """From p to the stroke: a line by its closed form, a curve by all critical points of the distance."""
    a, b = points[0], points[-1]
    if len(points) == 2:
        e = b - a
        t = [np.clip((p - a) @ e / (e @ e), 0, 1) if e @ e else 0.5]
    else:
        e, f = points[1] - a, a - 2 * points[1] + b
        w = a - p
        roots = np.roots(np.trim_zeros([f @ f, 3 * e @ f, 2 * e @ e + w @ f, w @ e], "f"))
        real = roots.real[np.abs(roots.imag) < 1e-6]
        t = [0.0, 1.0, *real[(real > 0) & (real < 1)]]
    if len(points) == 2:
        return min(float(np.hypot(*(p - (1 - s) * a - s * b))) for s in t)
    return min(float(np.hypot(*(w + 2 * s * e + s * s * f))) for s in t)


def picture(strokes: Strokes, canvas: Canvas):
    """(rows, columns, C)."""
    out = np.array(np.broadcast_to(canvas.background, (*canvas.shape, canvas.channels)))
    for i, j in np.ndindex(*canvas.shape):
        for k in range(len(strokes)):
            r = 0.5 + strokes.width[k] / 2 - distance(strokes.points[k], np.array([j, i], float))
            share = strokes.alpha[k] * min(max(r, 0.0), 1.0)
            beneath = out[i, j] if canvas.mode == "add" else (1 - share) * out[i, j]
            out[i, j] = beneath + share * strokes.colour[k]
    return out
