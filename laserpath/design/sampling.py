"""Reading a grid function at points between its pixels, with its slope there, and the adjoint.

A smooth f is read by the Kaiser-windowed sinc of 12 pixels along each axis (Kaiser and Schafer 1980):

    f(t) = Σ_k f_k w(t − k) / Σ_k w(t − k),    w(x) = sinc(x) I₀(β √(1 − (x/6)²)) / I₀(β),

exactly where it is constant (I₀(β) cancels). Its slope is that of the formula times the factor that makes it
exact where f is linear, which is 1 to 2e-3. A wave of up to 0.25 periods a pixel is read to 1.2e-4 of its
amplitude; one of 0.34, the fastest that a spot passes at 3 pixels a FWHM, to 3 %. A spot passes so little of
these that the edges of a dose on such a grid are read to 3e-5 FWHM (r.m.s.).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import i0, i1

from gcode.compiled import cached
from laserpath.base.arrays import Floats, Indices
from laserpath.types import Grid

_TAPS = 12
"""Pixels along each axis from which a value is read: more are more accurate, and take longer."""

_KAISER = 9.0
"""β of the window: a larger one is more accurate for slow waves, and less for fast ones."""

njit = cached(error_model="numpy", nogil=True)


class _Taps(NamedTuple):
    """at: (M, `_TAPS`) pixels along one axis.  weight, slope: (M, `_TAPS`) of each in f and in ∂f/∂t."""

    at: Indices
    weight: Floats
    slope: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Reads (rows, columns) functions at M points. rows, columns: their pixels.  direction: (M, 2) per pixel.

    The grid repeats beyond its edges.
    """

    rows: _Taps
    columns: _Taps
    direction: Floats

    @classmethod
    def of(cls, grid: Grid, xy: Floats, direction: Floats) -> Sampler:
        """The sampler at xy (M, 2) mm; slopes are per mm of `direction` (M, 2), times its length."""
        u, v = grid.to_pixels(xy).T
        return cls(_taps(v, grid.shape[0]), _taps(u, grid.shape[1]), direction / grid.pitch)

    def __len__(self) -> int:
        return len(self.direction)

    def __call__(self, field: Floats) -> tuple[Floats, Floats]:
        """(values (M,), slopes (M,)) of a function (rows, columns)."""
        value, slope = np.empty(len(self)), np.empty(len(self))
        _read(field, self.rows, self.columns, self.direction, value, slope)
        return value, slope

    def pull(self, d_value: Floats, d_slope: Floats, out: Floats) -> None:
        """Add to `out` (rows, columns) the derivative by f, of those by the values and slopes (M,)."""
        _pull(d_value, d_slope, self.rows, self.columns, self.direction, out)


def _taps(t: Floats, count: int) -> _Taps:
    """The windowed sinc at t (M,), in pixels, of `count` that repeat."""
    first = np.floor(t).astype(np.int64) - (_TAPS // 2 - 1)
    at = first[:, None] + np.arange(_TAPS)
    x = t[:, None] - at
    across = np.sqrt(np.maximum(1 - (2 * x / _TAPS) ** 2, 1e-12))
    window = i0(_KAISER * across)
    window_slope = -_KAISER * i1(_KAISER * across) * (2 / _TAPS) ** 2 * x / across
    wave = np.sinc(x)
    wave_slope = np.divide(np.cos(np.pi * x) - wave, x, out=np.zeros_like(x), where=x != 0)
    weight, slope = wave * window, wave_slope * window + wave * window_slope
    total = weight.sum(axis=1, keepdims=True)
    weight /= total
    slope = slope / total - weight * slope.sum(axis=1, keepdims=True) / total
    slope /= -(slope * x).sum(axis=1, keepdims=True)
    return _Taps(np.mod(at, count), weight, slope)


@njit
def _read(field: Any, rows: _Taps, columns: _Taps, direction: Floats, value: Floats, slope: Floats) -> None:
    for m in range(len(direction)):
        f = f_x = f_y = 0.0
        for a in range(_TAPS):
            row = field[rows.at[m, a]]
            along = along_x = 0.0
            for b in range(_TAPS):
                g = row[columns.at[m, b]]
                along += g * columns.weight[m, b]
                along_x += g * columns.slope[m, b]
            f += rows.weight[m, a] * along
            f_x += rows.weight[m, a] * along_x
            f_y += rows.slope[m, a] * along
        value[m] = f
        slope[m] = direction[m, 0] * f_x + direction[m, 1] * f_y


@njit
def _pull(
    d_value: Floats, d_slope: Floats, rows: _Taps, columns: _Taps, direction: Floats, out: Any
) -> None:  # fmt: skip
    for m in range(len(direction)):
        by_x, by_y = d_slope[m] * direction[m, 0], d_slope[m] * direction[m, 1]
        for a in range(_TAPS):
            row = out[rows.at[m, a]]
            plain = d_value[m] * rows.weight[m, a] + by_y * rows.slope[m, a]
            across = by_x * rows.weight[m, a]
            for b in range(_TAPS):
                row[columns.at[m, b]] += plain * columns.weight[m, b] + across * columns.slope[m, b]
