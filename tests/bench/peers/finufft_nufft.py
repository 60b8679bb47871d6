"""finufft: points → modes (type 1), filter, pixels by irfft2; rfft2, filter, modes → points (type 2).

The dose's modes are cut off where leaving them out changes it by 5e-4 of its peak. The field g̃ and its
slopes are real, so that two of the three are one complex type 2: of g̃ + i ∂g̃/∂x, and of ∂g̃/∂y.
"""

from __future__ import annotations

import os

import finufft
import numpy as np
from peers.ours import Loss
from problem import Array, Problem, Result
from scipy import fft

from laserpath.types import Grid

TOLERANCE = 1e-3


class Peer:
    """grid: where the loss is taken. modes: frequencies −K … K each way."""

    def __init__(self, task: Problem, grid: Grid, device: str) -> None:
        self._grid, self._size = grid, task.size
        self._workers = len(os.sched_getaffinity(0))
        cut = min(int(task.cutoff() * self._size), grid.shape[0] // 2 - 1)
        k = np.arange(-cut, cut + 1)
        self.modes = (len(k), len(k))
        self._cut, self._k = cut, (2 * np.pi * k / self._size).astype(np.float32)
        filter_ = task.transfer(k[None, cut:] / self._size, k[:, None] / self._size) / self._size**2
        # Pixel [0, 0] is half a pixel away from the origin of the modes.
        self._shift = np.exp(1j * self._k * (grid.pitch / 2))
        self._filter = (filter_ * self._shift[:, None] * self._shift[None, cut:]).astype(np.complex64)
        options = {"eps": TOLERANCE, "dtype": "complex64", "nthreads": self._workers}
        self._to_modes = finufft.Plan(1, self.modes, isign=-1, **options)
        self._to_points = finufft.Plan(2, self.modes, n_trans=2, isign=1, **options)
        self._loss = Loss(task.target(grid))

    def dose(self, xy: Array, energy: Array) -> Array:
        self._place(xy)
        return self._spread(energy)

    def __call__(self, xy: Array, energy: Array) -> Result:
        self._place(xy)
        loss, slope = self._loss(self._spread(energy))
        modes = self._modes_of(slope)
        both = np.empty((2, *self.modes), np.complex64)
        both[0] = modes - self._k[None, :] * modes  # g̃ + i (i k_x g̃)
        both[1] = 1j * self._k[:, None] * modes
        values, slopes = self._to_points.execute(both)
        d_xy = np.stack([values.imag * energy, slopes.real * energy], axis=1)
        return loss, d_xy, values.real

    def _place(self, xy: Array) -> None:
        """finufft wants −π … π; the first axis of the modes is y."""
        angles = (xy * (2 * np.pi / self._size)).astype(np.float32)
        angles -= np.where(angles > np.pi, np.float32(2 * np.pi), np.float32(0))
        x, y = np.ascontiguousarray(angles[:, 0]), np.ascontiguousarray(angles[:, 1])
        self._to_modes.setpts(y, x)
        self._to_points.setpts(y, x)

    def _spread(self, energy: Array) -> Array:
        half = self._to_modes.execute(energy.astype(np.complex64))[:, self._cut :]
        half *= self._filter
        rows, columns = self._grid.shape
        tall = np.zeros((rows, columns // 2 + 1), np.complex64)
        tall[: self._cut + 1, : self._cut + 1] = half[self._cut :]
        tall[rows - self._cut :, : self._cut + 1] = half[: self._cut]
        dose = fft.irfft2(tall, s=self._grid.shape, workers=self._workers, overwrite_x=True)
        dose *= np.float32(rows * columns)
        return dose

    def _modes_of(self, slope: Array) -> Array:
        """All modes of the filtered slope, the adjoint of what `_spread` does after type 1."""
        rows, cut = self._grid.shape[0], self._cut
        tall = fft.rfft2(slope, workers=self._workers)
        half = np.concatenate([tall[rows - cut :, : cut + 1], tall[: cut + 1, : cut + 1]])
        half *= np.conj(self._filter)
        whole = np.empty(self.modes, np.complex64)
        whole[:, cut:] = half
        whole[:, :cut] = np.conj(half[::-1, :0:-1])
        return whole
