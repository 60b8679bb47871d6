# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi: stencils of K × K pixels, the gradient by Taichi's own autodiff.

Flat `ti.ndrange(N, K, K)`, everything computed in the innermost loop: with a local that is made before an
inner loop, or kept across one, Taichi 1.7's gradient is silently wrong. The loss is summed in float64.
"""

import os

import numpy as np
import taichi as ti
from problem import CONTRAST, CRITICAL_DOSE, SIGMA, Array, Problem, Result

from laserpath.types import Grid


class Peer:
    def __init__(self, task: Problem, grid: Grid, device: str) -> None:
        threads = len(os.sched_getaffinity(0))
        ti.init(arch=getattr(ti, device), cpu_max_num_threads=threads, log_level=ti.ERROR)
        self._grid, self._fields = grid, {}
        self._target = ti.field(ti.f32, grid.shape)
        self._target.from_numpy(task.target(grid))
        self._dose = ti.field(ti.f32, grid.shape, needs_grad=True)
        self._loss = ti.field(ti.f64, (), needs_grad=True)
        self._spread, self._resist = _kernels(task, grid)

    def dose(self, xy: Array, energy: Array) -> Array:
        self._forward(*self._points(xy, energy))
        return self._dose.to_numpy()

    def __call__(self, xy: Array, energy: Array) -> Result:
        place, power = self._points(xy, energy)
        self._forward(place, power)
        self._loss[None] = 0
        self._resist(self._dose, self._target, self._loss)
        for one in (place, power, self._dose):
            one.grad.fill(0)
        self._loss.grad[None] = 1
        self._resist.grad(self._dose, self._target, self._loss)
        self._spread.grad(place, power, self._dose)
        slope = place.grad.to_numpy() / self._grid.pitch
        return float(self._loss[None]), slope, power.grad.to_numpy()

    def _forward(self, place, power) -> None:
        self._dose.fill(0)
        self._spread(place, power, self._dose)

    def _points(self, xy: Array, energy: Array):
        """The points' fields, made once for every number of points: new ones would never be freed."""
        m = len(energy)
        if m not in self._fields:
            self._fields[m] = (
                ti.Vector.field(2, ti.f32, m, needs_grad=True),
                ti.field(ti.f32, m, needs_grad=True),
            )
        place, power = self._fields[m]
        place.from_numpy(self._grid.to_pixels(xy).astype(np.float32))
        power.from_numpy(energy.astype(np.float32))
        return place, power


def _kernels(task: Problem, grid: Grid):
    stencil, half = task.stencil, task.stencil // 2
    rate, peak = 0.5 * (grid.pitch / SIGMA) ** 2, 1 / (2 * np.pi * SIGMA**2)
    scale, pixels = CONTRAST / CRITICAL_DOSE, grid.shape[0] * grid.shape[1]

    @ti.kernel
    def spread(place: ti.template(), power: ti.template(), dose: ti.template()):
        for k, a, b in ti.ndrange(place.shape[0], stencil, stencil):
            j = ti.floor(place[k][0] + 0.5, ti.i32) + b - half
            i = ti.floor(place[k][1] + 0.5, ti.i32) + a - half
            x, y = j - place[k][0], i - place[k][1]
            dose[i, j] += power[k] * peak * ti.exp(-rate * (x * x + y * y))

    @ti.kernel
    def resist(dose: ti.template(), target: ti.template(), loss: ti.template()):
        for i, j in dose:
            error = 1 / (1 + ti.exp(CONTRAST - scale * dose[i, j])) - target[i, j]
            loss[None] += ti.cast(error * error, ti.f64) / pixels

    return spread, resist
