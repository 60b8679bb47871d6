"""The dose terms of the loss, pixel by pixel and edge by edge, compiled; symbols are those of `objective`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gcode.compiled import cached
from laserpath.base.arrays import Floats

_SATURATED = 30.0
"""|β(d u − 1)| beyond which a threshold is taken as here, e^−30 from 0 or 1, so that its exponential fits."""

njit = cached(error_model="numpy", nogil=True)

_vectorised = cached(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
"""For loops over pixels without a branch or a call, which then go over four or eight pixels at a time. The
order of a sum is left open for that, but no value is assumed to be finite: a NaN stays one."""


@_vectorised
def area(
    dose: Any, coverage: Any, per_critical: float, contrast: float, window: Floats, scale: float, slope: Any
) -> float:
    """Σ_pixels Σ_d w_d (σ_d − T)²; its derivative by the dose, times `scale`, is added to `slope`.

    dose, slope: (rows, columns), of the same precision, in which each row is computed.  window: (K, 2)
    relative doses d and weights w_d.  e^x is 2^n e^r with n whole and |r| ≤ ln 2/2, and e^r its Taylor series
    up to r^9, 8e-12 off before rounding: a call of `exp` would take five times as long as the rest. A dose
    that is not finite is told by the loss of `over` beside this one, which no threshold cuts off.
    """
    real = dose.dtype.type
    one, half, most, beta = real(1), real(0.5), real(_SATURATED), real(contrast)
    ln2, per_ln2 = real(math.log(2)), real(1 / math.log(2))
    c3, c4, c5, c6 = real(1 / 6), real(1 / 24), real(1 / 120), real(1 / 720)
    c7, c8, c9 = real(1 / 5040), real(1 / 40320), real(1 / 362880)
    total = 0.0
    for i in range(dose.shape[0]):
        for k in range(len(window)):
            steep = window[k, 0] * contrast * per_critical
            by_dose, by_slope, sum_of_row = real(steep), real(2 * window[k, 1] * steep * scale), real(0)
            for j in range(dose.shape[1]):
                x = min(max(beta - by_dose * dose[i, j], -most), most)
                n = np.floor(x * per_ln2 + half)
                r = x - n * ln2
                tail = c4 + r * (c5 + r * (c6 + r * (c7 + r * (c8 + r * c9))))
                fraction = one + r * (one + r * (half + r * (c3 + r * tail)))
                # A float32 with n in its exponent is 2^n.
                power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
                cured = one / (one + fraction * real(power))
                error = cured - real(coverage[i, j])
                sum_of_row += error * error
                slope[i, j] += by_slope * error * cured * (one - cured)
            total += window[k, 1] * sum_of_row
    return total


@_vectorised
def over(dose: Any, per_critical: float, limit: float, scale: float, slope: Any) -> float:
    """Σ_pixels max(0, u − `limit`)²; its derivative by the dose, times `scale`, is added to `slope`."""
    real = dose.dtype.type
    nothing, most, by, per = real(0), real(limit), real(2 * scale * per_critical), real(per_critical)
    total = 0.0
    for i in range(dose.shape[0]):
        sum_of_row = nothing
        for j in range(dose.shape[1]):
            beyond = max(dose[i, j] * per - most, nothing)
            sum_of_row += beyond * beyond
            slope[i, j] += by * beyond
        total += sum_of_row
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
