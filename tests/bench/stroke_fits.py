"""Fits of strokes: `python stroke_fits.py REQUEST` says the seconds of each as JSON, and how good they are.

`fit_strokes`: 32 strokes of a smooth picture of 256², 1000 steps, float32. `lay_strokes` and `fit_additive`:
64 strokes of a laser for a shaded disc of 256² pixels, three for each FWHM, and 60 iterations of their fit.
"""

from __future__ import annotations

import time

import asked
import numpy as np

from laserpath.operators.strokes import (
    Canvas,
    FitSettings,
    StrokePainter,
    fit_additive,
    fit_strokes,
    lay_strokes,
)
from laserpath.types import Grid

PIXELS, COUNT = 256, 32
FWHM, PITCH, LINES, ITERATIONS = 0.09, 0.03, 64, 60


def shaded(size: int):
    """(size, size): a disc, brighter to the left, with soft edges; 0 to 1."""
    y, x = np.mgrid[:size, :size] / size - 0.5
    return (0.6 - 0.8 * x) / (1 + np.exp((np.hypot(x, y) - 0.35) * 60))


def picture() -> dict:
    """Seconds of `fit_strokes`, and by what factor the loss fell."""
    target = np.stack([shaded(PIXELS), shaded(PIXELS).T, 0.5 + 0.5 * shaded(PIXELS)], axis=2).astype(
        np.float32
    )
    painter = StrokePainter(Canvas((PIXELS, PIXELS)))
    fit_strokes(painter, target, FitSettings(2, steps=8, rounds=1, moves=1, curved=False))  # builds kernels
    begin = time.perf_counter()
    found = fit_strokes(painter, target, FitSettings(strokes=COUNT, curved=False))
    return {"seconds": time.perf_counter() - begin, "fell": found.losses[0] / found.loss}


def laser() -> tuple[dict, dict]:
    """The same of `lay_strokes`, whose loss begins at that of no dose, and of `fit_additive`."""
    grid = Grid((0.0, 0.0), PITCH, (PIXELS, PIXELS))
    target = 3.0 * shaded(PIXELS)

    def loss(dose):
        return float(((dose - target) ** 2).sum()), 2 * (dose - target)

    begin = time.perf_counter()
    laid = lay_strokes(target, grid, FWHM, LINES)
    between = time.perf_counter()
    fitted = fit_additive(laid, grid, FWHM, loss, ITERATIONS)
    end = time.perf_counter()
    first, last = fitted.losses[0], fitted.losses[-1]
    return (
        {"seconds": between - begin, "fell": float((target**2).sum() / first)},
        {"seconds": end - between, "fell": float(first / last)},
    )


def main(request) -> dict:
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(request["rounds"]):
        rows = dict(zip(("fit_strokes", "lay_strokes", "fit_additive"), (picture(), *laser()), strict=True))
        for name, row in rows.items():
            for key, value in row.items():
                found.setdefault(name, {}).setdefault(key, []).append(value)
    return found


if __name__ == "__main__":
    asked.answer(main(asked.REQUEST))
