"""What all rows are checked with: dose, loss and gradient in float64, each point summed over its pixels.

`python reference.py SIZE POINTS PROFILE FOLDER` writes dose.npy, gradient.npy (M, 3: x, y, energy), loss.npy.

Gaussian: e_k g(x) g(y) with g one-dimensional, out to 2.7 FWHM, where h is 2e-9 of its peak. Airy: nothing
can be cut off there, so the engine itself is the reference, in float64 and at its tolerance of 1e-6.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numba
import numpy as np
from problem import CONTRAST, CRITICAL_DOSE, FWHM, SIGMA, Array, Problem, Result, problem

_REACH = 2.7 * FWHM


@numba.njit(parallel=True, cache=True)
def _spread(xy, energy, pitch, reach, sigma, order, starts, out):
    """Each strip of rows is one thread's. order: the points by row; starts: the first of each row."""
    n, strips = len(out), 64
    for strip in numba.prange(strips):
        low, high = strip * n // strips, (strip + 1) * n // strips
        for place in range(starts[max(low - reach - 1, 0)], starts[min(high + reach + 1, n)]):
            k = order[place]
            u, v = xy[k, 0] / pitch - 0.5, xy[k, 1] / pitch - 0.5
            j0, i0 = round(u) - reach, round(v) - reach
            g = np.exp(-0.5 * ((np.arange(j0, j0 + 2 * reach + 1) - u) * (pitch / sigma)) ** 2)
            for i in range(max(i0, low), min(i0 + 2 * reach + 1, high)):
                weight = energy[k] / (2 * np.pi * sigma**2) * np.exp(-0.5 * ((i - v) * pitch / sigma) ** 2)
                for j in range(max(j0, 0), min(j0 + 2 * reach + 1, n)):
                    out[i, j] += weight * g[j - j0]


@numba.njit(parallel=True, cache=True)
def _gather(xy, energy, pitch, reach, sigma, field, out):
    n = len(field)
    for k in numba.prange(len(xy)):
        u, v = xy[k, 0] / pitch - 0.5, xy[k, 1] / pitch - 0.5
        j0, i0 = round(u) - reach, round(v) - reach
        g = np.exp(-0.5 * ((np.arange(j0, j0 + 2 * reach + 1) - u) * (pitch / sigma)) ** 2)
        f, fx, fy = 0.0, 0.0, 0.0
        for i in range(max(i0, 0), min(i0 + 2 * reach + 1, n)):
            dy = (i - v) * pitch / sigma
            row, slope = 0.0, 0.0
            for j in range(max(j0, 0), min(j0 + 2 * reach + 1, n)):
                part = field[i, j] * g[j - j0]
                row += part
                slope += part * (j - u) * pitch / sigma
            weight = np.exp(-0.5 * dy**2) / (2 * np.pi * sigma**2)
            f += weight * row
            fx += weight * slope
            fy += weight * dy * row
        out[k, 0], out[k, 1], out[k, 2] = energy[k] * fx / sigma, energy[k] * fy / sigma, f


def loss_and_slope(dose: Array, target: Array) -> tuple[float, Array]:
    """L and ∂L/∂D in float64."""
    cured = 1 / (1 + np.exp(-CONTRAST * (dose / CRITICAL_DOSE - 1)))
    error = cured - target.astype(np.float64)
    slope = 2 * error * cured * (1 - cured) * (CONTRAST / CRITICAL_DOSE / dose.size)
    return float(np.mean(error**2)), slope


def exact(task: Problem) -> tuple[Array, Result]:
    """Dose (rows, columns) and result at the row's pixels."""
    grid, (xy, energy) = task.grid(), task.points_and_energies()
    target = task.target(grid)
    if task.profile != "gaussian":
        return _by_engine(task, xy, energy, target)
    reach = int(np.ceil(_REACH / grid.pitch))
    rows = np.clip(np.round(xy[:, 1] / grid.pitch - 0.5).astype(np.int64), 0, task.pixels - 1)
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(task.pixels + 1))
    dose = np.zeros(grid.shape)
    _spread(xy, energy, grid.pitch, reach, SIGMA, order, starts, dose)
    loss, slope = loss_and_slope(dose, target)
    gradient = np.empty((len(xy), 3))
    _gather(xy, energy, grid.pitch, reach, SIGMA, slope, gradient)
    return dose, (loss, gradient[:, :2], gradient[:, 2])


def _by_engine(task: Problem, xy: Array, energy: Array, target: Array) -> tuple[Array, Result]:
    from laserpath.physics.dose import engine

    one = engine(task.grid(), task.spot, precision="f64", tolerance=1e-6)
    dose = one.spread(xy, energy)
    loss, slope = loss_and_slope(dose, target)
    d_energy, d_xy = one.gather(xy, energy, slope)
    return dose, (loss, d_xy, d_energy)


def main(name: str, used: str, profile: str, folder: str) -> None:
    dose, (loss, d_xy, d_energy) = exact(problem(name, int(used), profile))
    np.save(Path(folder) / "dose.npy", dose)
    np.save(Path(folder) / "gradient.npy", np.column_stack([d_xy, d_energy]))
    np.save(Path(folder) / "loss.npy", loss)


if __name__ == "__main__":
    main(*sys.argv[1:])
