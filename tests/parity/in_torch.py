"""The discretisation in plain PyTorch, float64; gradients by torch's autograd."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from discretisation import Canvas, Discretisation

from laserpath.base.arrays import Floats


def splat(canvas: Canvas, xy: torch.Tensor, energy: torch.Tensor) -> torch.Tensor:
    """Points (M, 2) mm of energy (M,) mJ on a canvas, with index_add."""
    n, (rows, columns) = canvas.order, canvas.shape
    origin, pitch = torch.tensor([canvas.origin, canvas.pitch], dtype=xy.dtype)
    uv = (xy - origin) / pitch
    tap = torch.floor(uv.detach()).long()[:, :, None] + torch.arange(n) - n // 2 + 1
    weight = canvas.weight(torch, tap - uv[:, :, None])
    parts = energy[:, None, None] * weight[:, 1, :, None] * weight[:, 0, None, :]
    flat = tap[:, 1, :, None] * columns + tap[:, 0, None, :]
    empty = torch.zeros(rows * columns, dtype=xy.dtype)
    return empty.index_add(0, flat.reshape(-1), parts.reshape(-1)).reshape(rows, columns)


def spread(how: Discretisation, xy: torch.Tensor, energy: torch.Tensor) -> torch.Tensor:
    """Dose (rows, columns) of points (M, 2) mm of energy (M,) mJ."""
    columns = how.modes[1] + 1
    spectrum = torch.fft.rfft2(splat(how.canvas, xy, energy))
    kept = spectrum[how.rows(how.canvas.shape[0]), :columns] * torch.from_numpy(how.filter)
    fine = torch.zeros((how.fine[0], how.fine[1] // 2 + 1), dtype=kept.dtype)
    fine[how.rows(how.fine[0]), :columns] = kept
    dose = torch.fft.irfft2(fine, s=how.fine)[how.crop[0], how.crop[1]]
    if how.tail is None:
        return dose
    tail, (n, m) = how.tail, how.tail.canvas.shape
    nodes = torch.fft.rfft2(splat(tail.canvas, xy, energy), s=tail.wide) * torch.from_numpy(tail.transfer)
    field = torch.fft.irfft2(nodes, s=tail.wide)[:n, :m]
    return dose - torch.from_numpy(tail.rows) @ field @ torch.from_numpy(tail.columns).T


def dose(how: Discretisation, xy: torch.Tensor, power: torch.Tensor, speed: torch.Tensor) -> torch.Tensor:
    """Dose of moves between the vertices xy: (N+1, 2) mm, power (N,) mW, speed (N,) mm/s."""
    line_energy = power / speed
    length = np.hypot(*np.diff(xy.detach().numpy(), axis=0).T)
    cuts = how.cuts(length, line_energy.detach().numpy())
    segment, fraction = torch.from_numpy(cuts.segment), torch.from_numpy(cuts.fraction)
    step = xy[segment + 1] - xy[segment]
    points = xy[segment] + fraction[:, None] * step
    energy = line_energy[segment] * torch.sqrt((step**2).sum(dim=1)) * torch.from_numpy(cuts.share)
    return spread(how, points, energy)


def pull(
    function: Callable[..., torch.Tensor], arguments: tuple[Floats, ...], d_dose: Floats
) -> tuple[Floats, tuple[Floats, ...]]:
    """The dose, and ∂L/∂arguments from ∂L/∂D."""
    tensors = [torch.tensor(one, requires_grad=True) for one in arguments]
    found = function(*tensors)
    gradient = torch.autograd.grad(found, tensors, torch.from_numpy(d_dose), materialize_grads=True)
    return found.detach().numpy(), tuple(one.numpy() for one in gradient)
