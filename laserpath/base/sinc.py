"""Values of a band-limited function between the pixels of its grid, by a windowed sinc.

A smooth function f on a line of pixels is read at t, in pixels, with its slope there, by the Kaiser-windowed
sinc of 12 pixels (Kaiser and Schafer 1980):

    f(t) = Σ_k f_k w(t − k) / Σ_k w(t − k),    w(x) = sinc(x) I₀(β √(1 − (x/6)²)) / I₀(β),

exactly where it is constant (I₀(β) cancels). Its slope is that of the formula times the factor that makes it
exact where f is linear, which is 1 to 2e-3. A wave of up to 0.25 periods a pixel is read to 1.2e-4 of its
amplitude; one of 0.34, the fastest that a spot passes at 3 pixels a FWHM, to 3 %.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import i0, i1

from laserpath.base.arrays import Floats, Indices

TAPS = 12
"""Pixels along each axis from which a value is read: more are more accurate, and take longer."""

_KAISER = 9.0
"""β of the window: a larger one is more accurate for slow waves, and less for fast ones."""


class SincTaps(NamedTuple):
    """at: (M, `TAPS`) pixels along one axis.  weight, slope: (M, `TAPS`) of each in f and in ∂f/∂t."""

    at: Indices
    weight: Floats
    slope: Floats


def sinc_taps(t: Floats, count: int) -> SincTaps:
    """The windowed sinc at t (M,), in pixels, of `count` that repeat."""
    first = np.floor(t).astype(np.int64) - (TAPS // 2 - 1)
    at = first[:, None] + np.arange(TAPS)
    x = t[:, None] - at
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
    return SincTaps(np.mod(at, count), weight, slope)


def reading(t: Floats, count: int) -> sparse.csr_matrix:
    """(M, count) matrix that reads `count` values, which repeat, at t (M,), in pixels."""
    taps = sinc_taps(t, count)
    pointer = TAPS * np.arange(len(t) + 1)
    return sparse.csr_matrix((taps.weight.ravel(), taps.at.ravel(), pointer), shape=(len(t), count))
