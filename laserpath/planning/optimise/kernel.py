"""The dose terms of the loss, pixel by pixel and edge by edge, compiled; symbols are those of `objective`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gcode.compiled import cached
from laserpath.base.arrays import Floats

_SATURATED = 7.0
"""|β(d u − 1)| from which a threshold that agrees with the target is 0 or 1: a larger value takes longer and
changes the loss of a pixel by less than its square, e^−14."""

_STEEP = 300.0
"""β from which its exponential does not fit a double beside others: each is then computed by itself."""

njit = cached(error_model="numpy", nogil=True)


@njit
def area(
    dose: Any, coverage: Floats, per_critical: float, contrast: float, window: Floats, scale: float,
    slope: Any,
) -> float:  # fmt: skip
    """Σ_pixels Σ_d w_d (σ_d − T)²; its derivative by the dose, times `scale`, is added to `slope`.

    window: (K, 2) relative doses d, ascending multiples of the same step, and weights w_d.
    """
    total, last = 0.0, len(window) - 1
    lowest, highest, step = window[0, 0], window[last, 0], window[1, 0] - window[0, 0]
    # The doses are multiples of their step, so one exponential e = exp(−β step u) does for all.
    multiple, unit, gentle = round(lowest / step), math.exp(min(contrast, _STEEP)), contrast < _STEEP
    for i in range(dose.shape[0]):
        for j in range(dose.shape[1]):
            u, wanted = dose[i, j] * per_critical, coverage[i, j]
            if wanted < 1e-6 and contrast * (highest * u - 1) < -_SATURATED:
                continue
            if wanted > 1 - 1e-6 and contrast * (lowest * u - 1) > _SATURATED:
                continue
            by_u = 0.0
            ratio = math.exp(-contrast * step * u)
            power = unit * ratio**multiple if gentle else math.exp(-contrast * (lowest * u - 1))
            for k in range(len(window)):
                d, weight = window[k]
                cured = 1 / (1 + power)
                error = cured - wanted
                total += weight * error * error
                by_u += weight * d * error * cured * (1 - cured)
                power *= ratio
            slope[i, j] += 2 * contrast * per_critical * scale * by_u
    return total


@njit
def over(dose: Any, per_critical: float, limit: float, scale: float, slope: Any) -> float:
    """Σ_pixels max(0, u − `limit`)²; its derivative by the dose, times `scale`, is added to `slope`."""
    total = 0.0
    for i in range(dose.shape[0]):
        for j in range(dose.shape[1]):
            beyond = dose[i, j] * per_critical - limit
            if beyond > 0:
                total += beyond * beyond
                slope[i, j] += 2 * scale * per_critical * beyond
    return total


@njit
def edges(value: Floats, steep: Floats, rounding: float, dose_error: float, flattest: float) -> float:
    """Σ (√(ε² + δ²) − δ + η/s) of edges; `value` and `steep` are replaced by its derivatives by them.

    value: (M,) u.  steep: (M,) F ∂u/∂n, at least `flattest` in size.  rounding: δ.  dose_error: η.
    """
    total = 0.0
    for m in range(len(value)):
        s = max(abs(steep[m]), flattest)
        error = (value[m] - 1) / s
        size = math.sqrt(error * error + rounding * rounding)
        total += size - rounding + dose_error / s
        value[m] = error / size / s
        steep[m] = -dose_error * np.sign(steep[m]) / (s * s) if s > flattest else 0.0
    return total
