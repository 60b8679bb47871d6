# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Kernels that call the functions of `kinetics.kernels` for many cells, for its tests."""

from functools import cache
from types import SimpleNamespace

import numpy as np

from laserpath.base.compute.runtime import POSITIONS, REALS, Kernel, ti
from laserpath.physics.kinetics.kernels import Cell, Rates, adjoint, after


@cache
def _kernels() -> SimpleNamespace:
    @ti.kernel
    def forward(cell: POSITIONS, s: REALS, rates: POSITIONS, out: POSITIONS):
        for i in range(cell.shape[0]):
            k = Rates([rates[i, 0], rates[i, 1], rates[i, 2], rates[i, 3]])
            found = after(Cell([cell[i, 0], cell[i, 1], cell[i, 2]]), s[i], k)
            for n in ti.static(range(3)):
                out[i, n] = found[n]

    @ti.kernel
    def backward(cell: POSITIONS, s: REALS, rates: POSITIONS, slope: POSITIONS, out: POSITIONS):
        for i in range(cell.shape[0]):
            k = Rates([rates[i, 0], rates[i, 1], rates[i, 2], rates[i, 3]])
            d = Cell([slope[i, 0], slope[i, 1], slope[i, 2]])
            found = adjoint(Cell([cell[i, 0], cell[i, 1], cell[i, 2]]), s[i], k, d)
            for n in ti.static(range(4)):
                out[i, n] = found[n]

    return SimpleNamespace(forward=Kernel(forward), backward=Kernel(backward))


def after_all(cell: np.ndarray, s: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """R, O, m (N, 3) after s (N,) seconds in the dark. rates: (N, 4) k_o, k₁, k₂, k_p."""
    out = np.empty_like(cell)
    _kernels().forward(cell, s, rates, out)
    return out


def adjoint_all(cell: np.ndarray, s: np.ndarray, rates: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """∂L/∂(R, O, m, s) (N, 4) before the dark, of ∂L/∂(R, O, m) (N, 3) after it."""
    out = np.empty((len(cell), 4))
    _kernels().backward(cell, s, rates, slope, out)
    return out


CASES = {
    # R, O, m, s, k_o, k₁, k₂, k_p
    "few radicals": (1e-3, 1.0, 0.9, 0.1, 50.0, 2.0, 5.0, 3.0),
    "few radicals, all taken": (0.02, 1.0, 0.9, 2.0, 300.0, 0.1, 0.1, 3.0),
    "as many": (0.7, 0.7, 0.9, 0.1, 50.0, 0.0, 0.0, 3.0),
    "almost as many": (0.7, 0.7 - 1e-7, 0.9, 0.1, 50.0, 0.0, 0.0, 3.0),
    "many radicals": (3.0, 0.5, 0.9, 0.1, 50.0, 2.0, 5.0, 3.0),
    "just below the branch": (2.0, 0.4, 0.9, 1.0, 49.5, 0.0, 0.0, 0.3),
    "just above the branch": (2.0, 0.4, 0.9, 1.0, 50.5, 0.0, 0.0, 0.3),
    "far above the branch": (3.0, 0.5, 0.9, 0.2, 900.0, 1.0, 1.0, 0.3),
    "no termination": (0.4, 0.9, 0.9, 0.3, 20.0, 0.0, 0.0, 3.0),
    "first order alone": (0.4, 0.9, 0.9, 0.3, 0.0, 4.0, 0.0, 3.0),
    "second order alone": (0.4, 0.9, 0.9, 0.3, 0.0, 0.0, 9.0, 3.0),
    "no oxygen": (0.4, 0.0, 0.9, 0.3, 50.0, 2.0, 5.0, 3.0),
    "no radicals": (0.0, 0.8, 0.9, 0.3, 50.0, 2.0, 5.0, 3.0),
    "no rate": (0.4, 0.9, 0.9, 0.3, 0.0, 0.0, 0.0, 0.0),
    "no time": (0.4, 0.9, 0.9, 0.0, 50.0, 2.0, 5.0, 3.0),
}
"""Cells of each branch. α − β, k_o s (R − O), is 79.2 and 80.8 at the branch of the large ones."""


def case(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cell (1, 3), s (1,) and rates (1, 4) of a case."""
    row = np.array(CASES[name])
    return row[None, :3].copy(), row[3:4].copy(), row[None, 4:].copy()
