"""The kinetic model written in PyTorch, for its autograd: every cell, every flash, float64.

The spot is the model's own table and the intervals are its own, so that values and derivatives differ by
rounding only. Nothing is cut off: the formulas of `kinetics.kernels` as they stand, by series near 0 alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from laserpath.physics.dose.direct import RadialTable
from laserpath.types import Grid, Kinetics


def _series(x: Tensor, small: Tensor, coefficients: Sequence[float], otherwise: Tensor) -> Tensor:
    total = torch.zeros_like(x)
    for c in reversed(coefficients):
        total = total * torch.where(small, x, 0.0) + c
    return torch.where(small, total, otherwise)


def growth(w: Tensor) -> Tensor:
    """φ(w) = (eʷ − 1)/w, of any sign."""
    small = w.abs() < 0.05
    safe = torch.where(small, 1.0, w)
    factorials = np.cumprod(np.arange(1, 10, dtype=float))
    return _series(w, small, list(1 / factorials), torch.expm1(safe) / safe)


def relative_log(q: Tensor) -> Tensor:
    """λ(q) = ln(1 + q)/q, of q ≥ 0."""
    small = q < 0.02
    safe = torch.where(small, 1.0, q)
    return _series(q, small, [(-1) ** n / (n + 1) for n in range(10)], torch.log1p(safe) / safe)


def after(cell: tuple[Tensor, Tensor, Tensor], s: Tensor, rates: Sequence) -> tuple[Tensor, Tensor, Tensor]:
    """R, O, m after s seconds in the dark."""
    (r, o, m), (k_o, k_1, k_2, k_p) = cell, rates
    half = s / 2 * growth(-k_1 * s / 2)
    rest = torch.exp(-k_1 * s / 2)
    lasting = half * (1 + rest)
    alone = r * lasting * relative_log(k_2 * r * lasting)
    r = r * rest / (1 + k_2 * r * half)
    alpha = k_o * s * r
    w = alpha - k_o * s * o
    phi = growth(w)
    m = m * torch.exp(-k_p * alone * phi * relative_log(alpha * phi))
    r, o = r / (1 + k_o * s * o * growth(-w)), o / (1 + k_o * s * r * phi)
    return r * rest / (1 + k_2 * r * half), o, m


def _hermite(table: RadialTable, at: Tensor) -> Tensor:
    knot = at.detach().floor().long().clamp(max=len(table.value) - 2)
    value, slope = torch.from_numpy(table.value), torch.from_numpy(table.slope)
    f, step = at - knot, value[knot + 1] - value[knot]
    c2 = 3 * step - 2 * slope[knot] - slope[knot + 1]
    c3 = slope[knot] + slope[knot + 1] - 2 * step
    inside = value[knot] + f * (slope[knot] + f * (c2 + f * c3))
    return torch.where(at < len(table.value) - 1, inside, 0.0)


def _spread(n: int, pitch: float, kinetics: Kinetics, seconds: float) -> Tensor:
    """exp(D ∇² t) of n cells in a row without flow through the ends, (n, n), by the matrix exponential."""
    chain = np.diag(np.full(n - 1, 1.0), 1) + np.diag(np.full(n - 1, 1.0), -1)
    chain -= np.diag(chain.sum(axis=1))
    return torch.linalg.matrix_exp(torch.from_numpy(chain) * kinetics.diffusion / pitch**2 * seconds)


def conversion(
    grid: Grid, table: RadialTable, kinetics: Kinetics, light: Sequence[Tensor], edges: np.ndarray
) -> Tensor:
    """(rows, columns) at the last of the edges of the intervals, s. light: xy, energy, time."""
    (rows, columns), (xy, energy, time) = grid.shape, light
    rates = kinetics.inhibition, kinetics.termination, kinetics.pair_termination, kinetics.propagation
    seconds = float(edges[1] - edges[0]) / 2
    along, across = (_spread(n, grid.pitch, kinetics, seconds) for n in (rows, columns))
    supplied = float(np.exp(-kinetics.supply * seconds))
    j, i = torch.arange(columns, dtype=torch.float64), torch.arange(rows, dtype=torch.float64)[:, None]
    a, b, c = table.form
    r, o, m = (torch.full((rows, columns), v, dtype=torch.float64) for v in (0.0, kinetics.oxygen, 1.0))
    cell = r, o, m
    for begin, end in pairwise(edges):
        cell = cell[0], 1 + supplied * along @ (cell[1] - 1) @ across, cell[2]
        now = torch.full((rows, columns), float(begin), dtype=torch.float64)
        for p in np.flatnonzero((time.detach().numpy() >= begin) & (time.detach().numpy() < end)):
            x, y = j - (xy[p, 0] - grid.origin[0]) / grid.pitch, i - (xy[p, 1] - grid.origin[1]) / grid.pitch
            h = _hermite(table, a * x**2 + b * x * y + c * y**2)
            reached = h != 0
            later = after(cell, torch.where(reached, time[p] - now, 0.0), rates)
            cell = later[0] + energy[p] / kinetics.radical_dose * h, later[1], later[2]
            now = torch.where(reached, time[p], now)
        cell = after(cell, float(end) - now, rates)
        cell = cell[0], 1 + supplied * along @ (cell[1] - 1) @ across, cell[2]
    return 1 - cell[2]
