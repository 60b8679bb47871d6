"""Values of a band-limited function between the pixels of its grid, by a windowed sinc.

A smooth function f on a line of pixels is read at t, in pixels, with its slope there, by the Kaiser-windowed
sinc of 12 pixels (Kaiser and Schafer 1980):

    f(t) = Σ_k f_k w(t − k) / Σ_k w(t − k),    w(x) = sinc(x) I₀(β √(1 − (x/6)²)) / I₀(β),

exactly where it is constant (I₀(β) cancels). Its slope is that of the formula times the factor that makes it
exact where f is linear, which is 1 to 2e-3. A wave of up to 0.25 periods a pixel is read to 1.2e-4 of its
amplitude; one of 0.34, the fastest that a spot passes at 3 pixels a FWHM, to 3.4 %.

Both weights of a pixel depend on the fraction of t alone, smoothly, so they are read from polynomials
through Chebyshev points: 2e-14 off, an order of magnitude sooner than by Bessel functions.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy import sparse
from scipy.special import i0, i1

from gcode.compiled import cached
from laserpath.base.arrays import Floats, Indices

njit = cached(error_model="numpy", nogil=True)

TAPS = 12
"""Pixels along each axis from which a value is read: more are more accurate, and take longer."""

_KAISER = 9.0
"""β of the window: a larger one is more accurate for slow waves, and less for fast ones."""


_POINTS = 20
"""Coefficients of the polynomials: fewer are less exact."""


class SincTaps(NamedTuple):
    """at: (M, `TAPS`) pixels along one axis.  weight, slope: (M, `TAPS`) of each in f and in ∂f/∂t."""

    at: Indices
    weight: Floats
    slope: Floats


def sinc_taps(t: Floats, count: int) -> SincTaps:
    """The windowed sinc at t (M,), in pixels, of `count` that repeat."""
    at = np.empty((len(t), TAPS), np.int64)
    weight, slope = np.empty((2, len(t), TAPS))
    _read_taps(np.asarray(t, float), count, _polynomials(), at, weight, slope)
    return SincTaps(at, weight, slope)


@njit
def _read_taps(
    t: Floats, count: int, polynomials: Floats, at: Indices, weight: Floats, slope: Floats
) -> None:
    for m in range(len(t)):
        whole = np.floor(t[m])
        u = 2 * (t[m] - whole) - 1
        for k in range(TAPS):
            at[m, k] = (int(whole) - (TAPS // 2 - 1) + k) % count
            w = s = 0.0
            for n in range(polynomials.shape[2]):
                w = w * u + polynomials[0, k, n]
                s = s * u + polynomials[1, k, n]
            weight[m, k] = w
            slope[m, k] = s


@cache
def _polynomials() -> Floats:
    """(2, `TAPS`, n) coefficients of weights and slopes in 2 (t − ⌊t⌋) − 1, the highest power first."""
    points = chebyshev.chebpts1(_POINTS)
    by_point = chebyshev.chebfit(points, np.hstack(_weights((points + 1) / 2)), _POINTS - 1)
    by_power = np.array([np.resize(chebyshev.cheb2poly(one), _POINTS) for one in by_point.T])
    return np.ascontiguousarray(by_power[:, ::-1].reshape(2, TAPS, _POINTS))


def _weights(fraction: Floats) -> tuple[Floats, Floats]:
    """(M, `TAPS`) weights and slopes at fractions (M,), by their formulas."""
    x = fraction[:, None] + (TAPS // 2 - 1) - np.arange(TAPS)
    across = np.sqrt(np.maximum(1 - (2 * x / TAPS) ** 2, 1e-12))
    window = i0(_KAISER * across)
    window_slope = -_KAISER * i1(_KAISER * across) * (2 / TAPS) ** 2 * x / across
    wave = np.sinc(x)
    wave_slope = np.divide(np.cos(np.pi * x) - wave, x, out=np.zeros_like(x), where=x != 0)
    weight, slope = wave * window, wave_slope * window + wave * window_slope
    total = weight.sum(axis=1, keepdims=True)
    weight /= total
    slope = slope / total - weight * slope.sum(axis=1, keepdims=True) / total
    slope /= -(slope * x).sum(axis=1, keepdims=True)
    return weight, slope


def reading(t: Floats, count: int) -> sparse.csr_matrix:
    """(M, count) matrix that reads `count` values, which repeat, at t (M,), in pixels."""
    taps = sinc_taps(t, count)
    pointer = TAPS * np.arange(len(t) + 1)
    return sparse.csr_matrix((taps.weight.ravel(), taps.at.ravel(), pointer), shape=(len(t), count))
