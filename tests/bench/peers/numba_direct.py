"""Numba: stencils of K × K pixels in loops, with the adjoint written by hand.

Each thread has strips of rows of its own, and the points are sorted by row. The Gaussian is made as the
product of a row and a column, 2K exponentials a point instead of K².
"""

from __future__ import annotations

import numba
import numpy as np
from peers.numba_loss import loss_and_slope
from problem import SIGMA, Array, Problem, Result

from laserpath.types import Grid

_STRIP = 64
"""Rows."""


@numba.njit(parallel=True, fastmath=True, cache=True)
def _spread(uv, energy, starts, order, half, rate, out):
    n = len(out)
    for strip in numba.prange((n + _STRIP - 1) // _STRIP):
        low, high = strip * _STRIP, min((strip + 1) * _STRIP, n)
        g = np.empty(2 * half + 1, np.float32)
        for place in range(starts[max(low - half, 0)], starts[min(high + half, n)]):
            k = order[place]
            j0, i0 = int(uv[k, 0] + np.float32(0.5)) - half, int(uv[k, 1] + np.float32(0.5)) - half
            for j in range(2 * half + 1):
                g[j] = np.exp(-rate * (np.float32(j0 + j) - uv[k, 0]) ** 2)
            for i in range(max(i0, low), min(i0 + 2 * half + 1, high)):
                weight = energy[k] * np.exp(-rate * (np.float32(i) - uv[k, 1]) ** 2)
                row = out[i, j0 : j0 + 2 * half + 1]
                for j in range(2 * half + 1):
                    row[j] += weight * g[j]


@numba.njit(parallel=True, fastmath=True, cache=True)
def _gather(uv, order, half, rate, field, out):
    for turn in numba.prange(len(uv)):
        k = order[turn]
        j0, i0 = int(uv[k, 0] + np.float32(0.5)) - half, int(uv[k, 1] + np.float32(0.5)) - half
        g, s = np.empty(2 * half + 1, np.float32), np.empty(2 * half + 1, np.float32)
        for j in range(2 * half + 1):
            away = np.float32(j0 + j) - uv[k, 0]
            g[j] = np.exp(-rate * away**2)
            s[j] = away * g[j]
        f, fx, fy = np.float32(0), np.float32(0), np.float32(0)
        for i in range(i0, i0 + 2 * half + 1):
            row = field[i, j0 : j0 + 2 * half + 1]
            value, slope = np.float32(0), np.float32(0)
            for j in range(2 * half + 1):
                value += row[j] * g[j]
                slope += row[j] * s[j]
            away = np.float32(i) - uv[k, 1]
            weight = np.exp(-rate * away**2)
            f += weight * value
            fx += weight * slope
            fy += weight * away * value
        out[k, 0], out[k, 1], out[k, 2] = fx, fy, f


class Peer:
    def __init__(self, task: Problem, grid: Grid, device: str) -> None:
        self._grid, self._half = grid, task.stencil // 2
        self._rate = np.float32(0.5 * (grid.pitch / SIGMA) ** 2)
        self._peak = 1 / (2 * np.pi * SIGMA**2)
        self._target = task.target(grid)
        self._slope = np.empty(grid.shape, np.float32)

    def dose(self, xy: Array, energy: Array) -> Array:
        uv, order, starts = self._sorted(xy)
        dose = np.zeros(self._grid.shape, np.float32)
        weights = (energy * self._peak).astype(np.float32)
        _spread(uv, weights, starts, order, self._half, self._rate, dose)
        return dose

    def __call__(self, xy: Array, energy: Array) -> Result:
        uv, order, starts = self._sorted(xy)
        dose = np.zeros(self._grid.shape, np.float32)
        weights = (energy * self._peak).astype(np.float32)
        _spread(uv, weights, starts, order, self._half, self._rate, dose)
        loss = loss_and_slope(dose, self._target, self._slope)
        slopes = np.empty((len(xy), 3), np.float32)
        _gather(uv, order, self._half, self._rate, self._slope, slopes)
        per_mm = (energy * (self._peak * self._grid.pitch / SIGMA**2))[:, None]
        return loss, slopes[:, :2] * per_mm, slopes[:, 2] * self._peak

    def _sorted(self, xy: Array) -> tuple[Array, Array, Array]:
        """Pixel coordinates, the order by row, and the first of each row."""
        uv = self._grid.to_pixels(xy).astype(np.float32)
        rows = (uv[:, 1] + np.float32(0.5)).astype(np.int16)
        order = np.argsort(rows, kind="stable")
        starts = np.zeros(len(self._slope) + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=len(self._slope)), out=starts[1:])
        return uv, order, starts
