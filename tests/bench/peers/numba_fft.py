"""Numba and scipy.fft: cubic B-splines in loops, sorted by row, with the adjoint written by hand."""

from __future__ import annotations

import os

import numba
import numpy as np
from peers.numba_loss import loss_and_slope
from problem import Array, Problem, Result, spline_filter
from scipy import fft

from laserpath.types import Grid

_STRIP = 64
"""Rows."""


@numba.njit(fastmath=True, cache=True)
def _cubic(t):
    s = np.float32(1) - t
    sixth = np.float32(1 / 6)
    return (
        s * s * s * sixth,
        (np.float32(4) - t * t * (np.float32(6) - np.float32(3) * t)) * sixth,
        (np.float32(4) - s * s * (np.float32(6) - np.float32(3) * s)) * sixth,
        t * t * t * sixth,
    )


@numba.njit(fastmath=True, cache=True)
def _slopes(t):
    s, half = np.float32(1) - t, np.float32(0.5)
    three, two = np.float32(1.5), np.float32(2)
    return -half * s * s, t * (three * t - two), s * (two - three * s), half * t * t


@numba.njit(parallel=True, fastmath=True, cache=True)
def _splat(uv, energy, starts, order, out):
    n = len(out)
    for strip in numba.prange((n + _STRIP - 1) // _STRIP):
        low, high = strip * _STRIP, min((strip + 1) * _STRIP, n)
        for place in range(starts[max(low - 2, 0)], starts[min(high + 1, n)]):
            k = order[place]
            j, i = int(uv[k, 0]), int(uv[k, 1])
            wx = _cubic(uv[k, 0] - np.float32(j))
            wy = _cubic(uv[k, 1] - np.float32(i))
            for a in range(4):
                if low <= i - 1 + a < high:
                    weight = energy[k] * wy[a]
                    row = out[i - 1 + a, j - 1 : j + 3]
                    for b in range(4):
                        row[b] += weight * wx[b]


@numba.njit(parallel=True, fastmath=True, cache=True)
def _gather(uv, order, field, out):
    for turn in numba.prange(len(uv)):
        k = order[turn]
        j, i = int(uv[k, 0]), int(uv[k, 1])
        tx, ty = uv[k, 0] - np.float32(j), uv[k, 1] - np.float32(i)
        wx = _cubic(tx)
        wy = _cubic(ty)
        sx = _slopes(tx)
        sy = _slopes(ty)
        f, fx, fy = np.float32(0), np.float32(0), np.float32(0)
        for a in range(4):
            row = field[i - 1 + a, j - 1 : j + 3]
            value, slope = np.float32(0), np.float32(0)
            for b in range(4):
                value += row[b] * wx[b]
                slope += row[b] * sx[b]
            f += wy[a] * value
            fx += wy[a] * slope
            fy += sy[a] * value
        out[k, 0], out[k, 1], out[k, 2] = fx, fy, f


class Peer:
    def __init__(self, task: Problem, grid: Grid, device: str) -> None:
        self._grid, self._workers = grid, len(os.sched_getaffinity(0))
        self._filter = spline_filter(task, grid).astype(np.float32)
        self._target = task.target(grid)
        self._slope = np.empty(grid.shape, np.float32)

    def dose(self, xy: Array, energy: Array) -> Array:
        return self._spread(*self._sorted(xy), energy)

    def __call__(self, xy: Array, energy: Array) -> Result:
        uv, order, starts = self._sorted(xy)
        dose = self._spread(uv, order, starts, energy)
        loss = loss_and_slope(dose, self._target, self._slope)
        slopes = np.empty((len(xy), 3), np.float32)
        _gather(uv, order, self._filtered(self._slope), slopes)
        return loss, slopes[:, :2] * (energy / self._grid.pitch)[:, None], slopes[:, 2]

    def _spread(self, uv: Array, order: Array, starts: Array, energy: Array) -> Array:
        canvas = np.zeros(self._grid.shape, np.float32)
        _splat(uv, energy.astype(np.float32), starts, order, canvas)
        return self._filtered(canvas)

    def _filtered(self, canvas: Array) -> Array:
        """The filter is real: the same for the adjoint."""
        spectrum = fft.rfft2(canvas, workers=self._workers)
        spectrum *= self._filter
        return fft.irfft2(spectrum, s=canvas.shape, workers=self._workers, overwrite_x=True)

    def _sorted(self, xy: Array) -> tuple[Array, Array, Array]:
        """Pixel coordinates, the order by row, and the first of each row."""
        uv = self._grid.to_pixels(xy).astype(np.float32)
        rows = uv[:, 1].astype(np.int16)
        order = np.argsort(rows, kind="stable")
        starts = np.zeros(len(self._slope) + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=len(self._slope)), out=starts[1:])
        return uv, order, starts
