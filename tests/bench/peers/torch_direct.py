"""PyTorch: stencils of K × K pixels by `index_put_` with accumulation; the gradient by autograd.

The Gaussian is made as the product of a row and a column, 2K exponentials a point instead of K².
"""

from __future__ import annotations

import numpy as np
import torch
from problem import CONTRAST, CRITICAL_DOSE, SIGMA, Array, Problem, Result

from laserpath.types import Grid


class Peer:
    def __init__(self, task: Problem, grid: Grid, device: str) -> None:
        self._device, self._shape, self._pitch = torch.device(device), grid.shape, grid.pitch
        self._target = torch.from_numpy(task.target(grid)).to(self._device)
        half = task.stencil // 2
        self._taps = torch.arange(-half, half + 1, device=self._device)

    def dose(self, xy: Array, energy: Array) -> Array:
        with torch.no_grad():
            return self._dose(*self._tensors(xy, energy)).cpu().numpy()

    def __call__(self, xy: Array, energy: Array) -> Result:
        places, energies = (one.requires_grad_() for one in self._tensors(xy, energy))
        cured = torch.sigmoid(CONTRAST * (self._dose(places, energies) / CRITICAL_DOSE - 1))
        loss = torch.mean((cured - self._target) ** 2)
        loss.backward()
        return loss.item(), places.grad.cpu().numpy(), energies.grad.cpu().numpy()

    def _tensors(self, *arrays: Array) -> list[torch.Tensor]:
        return [torch.from_numpy(one).to(self._device, torch.float32) for one in arrays]

    def _dose(self, xy: torch.Tensor, energy: torch.Tensor) -> torch.Tensor:
        place = xy / self._pitch - 0.5
        nearest = torch.round(place.detach())
        tap = nearest.long()[:, :, None] + self._taps
        away = self._taps - (place - nearest)[:, :, None]
        g = torch.exp(-0.5 * (away * (self._pitch / SIGMA)) ** 2)
        column = g[:, 1] * (energy / (2 * np.pi * SIGMA**2))[:, None]
        parts = column[:, :, None] * g[:, 0, None, :]
        canvas = torch.zeros(self._shape, device=self._device)
        rows, columns = (one.expand(parts.shape) for one in (tap[:, 1, :, None], tap[:, 0, None, :]))
        return canvas.index_put_((rows, columns), parts, accumulate=True)
