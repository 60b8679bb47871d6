"""The loss in Numba, for the peers that are written in it."""

from __future__ import annotations

import numba
import numpy as np
from problem import CONTRAST, CRITICAL_DOSE


@numba.njit(parallel=True, fastmath=True, cache=True)
def loss_and_slope(dose, target, slope):
    """L; ∂L/∂D is written to `slope`. One row at a time, the sum in float64."""
    contrast, scale = np.float32(CONTRAST), np.float32(CONTRAST / CRITICAL_DOSE)
    factor = np.float32(2 * CONTRAST / CRITICAL_DOSE / dose.size)
    total = 0.0
    for i in numba.prange(len(dose)):
        row = np.float32(0)
        for j in range(dose.shape[1]):
            cured = np.float32(1) / (np.float32(1) + np.exp(contrast - scale * dose[i, j]))
            error = cured - target[i, j]
            row += error * error
            slope[i, j] = factor * error * cured * (np.float32(1) - cured)
        total += row
    return total / dose.size
