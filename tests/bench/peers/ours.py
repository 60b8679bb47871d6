"""laserpath: its engine, and the loss in NumPy, in strips that stay in the cache, on all threads.

With t = tanh(β (D/D_c − 1)/2): σ = (1 + t)/2, so (σ − T)² = (t − (2T − 1))²/4 and σ(1 − σ) = (1 − t²)/4.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from problem import CONTRAST, CRITICAL_DOSE, Array, Problem, Result

from laserpath.base.compute.runtime import cpu_count
from laserpath.physics.dose import engine
from laserpath.types import Grid

_STRIP = 1 << 16
"""Pixels."""


class Peer:
    """method: 'fft' or 'direct'."""

    def __init__(self, task: Problem, grid: Grid, device: str, method: str = "auto") -> None:
        self._engine = engine(grid, task.spot, method=method, device=device)
        self._loss = Loss(task.target(grid))
        self._target_size = grid.shape[0] * grid.shape[1]

    def dose(self, xy: Array, energy: Array) -> Array:
        return self._engine.spread(xy, energy)

    def __call__(self, xy: Array, energy: Array) -> Result:
        loss, slope = self._loss(self._engine.spread(xy, energy))
        d_energy, d_xy = self._engine.gather(xy, energy, slope)
        return loss, d_xy, d_energy

    def bytes_moved(self, points: int) -> int:
        """Bytes that must go through memory in one call if every array is touched once where it is needed.

        Positions and energies are read twice, the slopes written; the dose is written and read, the target
        read, ∂L/∂D written and read, all float32. The splat's grid likewise, there and back; without an FFT
        the dose is read, too, where it is added to.
        """
        fine, coarse = self._target_size, 0
        if hasattr(self._engine, "splat"):
            coarse = int(np.prod(self._engine.splat.shape))
        return 72 * points + 4 * (5 * fine + (4 * coarse or fine))

    def fft_shapes(self) -> list[tuple[int, int]]:
        """Real arrays that one call transforms: of the splat twice, of the picture twice."""
        if not (hasattr(self._engine, "splat") and hasattr(self._engine, "padded")):
            return []
        return 2 * [self._engine.splat.shape] + 2 * [self._engine.padded.shape]


class Loss:
    """L and ∂L/∂D (rows, columns), float32."""

    def __init__(self, target: Array) -> None:
        self._shape = target.shape
        self._target = (2 * target - 1).ravel()
        self._strips = [slice(i, i + _STRIP) for i in range(0, target.size, _STRIP)]
        self._pool = ThreadPoolExecutor(cpu_count())

    def __call__(self, dose: Array) -> tuple[float, Array]:
        flat, slope = dose.reshape(-1), np.empty(dose.size, np.float32)

        def one(strip: slice) -> float:
            return self._strip(flat[strip], self._target[strip], slope[strip])

        several = cpu_count() > 1 and len(self._strips) > 1
        losses = (self._pool.map if several else map)(one, self._strips)
        return sum(losses) / (4 * dose.size), slope.reshape(self._shape)

    def _strip(self, dose: Array, target: Array, slope: Array) -> float:
        t = dose * np.float32(CONTRAST / CRITICAL_DOSE / 2)
        t -= np.float32(CONTRAST / 2)
        np.tanh(t, out=t)
        error = t - target
        loss = float(np.dot(error, error))
        t *= t
        np.subtract(np.float32(1), t, out=t)
        t *= np.float32(CONTRAST / CRITICAL_DOSE / (4 * self._target.size))
        np.multiply(t, error, out=slope)
        return loss
