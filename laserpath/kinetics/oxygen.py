"""Oxygen between two reactions: it diffuses in the plane and comes through the surface.

    ∂O/∂t = D ∇²O + s (1 − O), with no flow through the edges of the grid.

Of the differences from 1 the discrete equation is linear, and its eigenvectors are cosines (DCT): each decays
by exp(−(D λ + s) t), with λ = (4/p²)(sin²(π m/2M) + sin²(π n/2N)) of mode (m, n) on (M, N) cells of pitch p.
That is exact, so any time is stable.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from laserpath.base.arrays import Floats
from laserpath.types import Grid, Kinetics


class OxygenSupply:
    """Diffusion and supply of oxygen on a grid."""

    def __init__(self, grid: Grid, kinetics: Kinetics) -> None:
        self._diffusion = kinetics.diffusion / grid.pitch**2  # pixels² per s
        self._supply = kinetics.supply
        self._modes = _modes(grid)

    def __bool__(self) -> bool:
        """Whether any oxygen moves."""
        return self._diffusion > 0 or self._supply > 0

    def spread(self, lack: Floats, seconds: float) -> Floats:
        """O − 1 (rows, columns) after some seconds, of that before them. Linear, and its own adjoint."""
        if self._diffusion == 0:
            return lack * np.exp(-self._supply * seconds)
        waves = fft.dctn(lack, norm="ortho", workers=-1)
        waves *= np.exp(-(self._diffusion * self._modes + self._supply) * seconds)
        return np.asarray(fft.idctn(waves, norm="ortho", workers=-1))


def _modes(grid: Grid) -> Floats:
    """Eigenvalues of the discrete −∇² with no flow through the edges, (rows, columns), per pixel²."""
    rows, columns = (4 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2 for n in grid.shape)
    return np.asarray(rows[:, None] + columns)
