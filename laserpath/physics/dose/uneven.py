"""What share of a dose acts at each place: g = exp(s), s(x, y) = Σ_ij c_ij B_i(v) B_j(u), and ∇s = ∇g/g.

u, v: places in the intervals of the map's box, of which n coefficients have n − 3 along an axis; places
beyond the box have the share of its border, and a slope of 0 across it. B are uniform cubic B-splines, whose
coefficients bound their sum (C. de Boor, A Practical Guide to Splines, 1978, chapter XI).

A point of energy e at x exposes g(x) e h: the share is taken where the light is, not where its spot reaches.
Both are the same to second order in (FWHM ÷ length over which g changes).
"""

from __future__ import annotations

import math

import numpy as np

from gcode.compiled import cached
from laserpath.base.arrays import Floats
from laserpath.types import DoseMap

_PLACES = 48
"""Places each way: four an interval of the finest maps that are fitted to photographs."""

njit = cached(error_model="numpy", nogil=True)


def acting(dose_map: DoseMap, xy: Floats) -> tuple[Floats, Floats]:
    """((M,) shares g, (M, 2) ∇ ln g, 1/mm) at places (M, 2) mm."""
    xy = np.ascontiguousarray(xy, dtype=np.float64)
    share, slope = np.empty(len(xy)), np.empty((len(xy), 2))
    _acting(np.reshape(dose_map.coefficients, dose_map.shape), np.array(dose_map.box), xy, share, slope)
    return share, slope


def range_of(dose_map: DoseMap) -> tuple[float, float]:
    """The lowest and the highest share in the map's box, to what a grid of `_PLACES` each way tells."""
    share = acting(dose_map, places(dose_map.box))[0]
    return float(share.min()), float(share.max())


def places(box: tuple[float, float, float, float]) -> Floats:
    """(`_PLACES`², 2) mm, places all over a box."""
    x, y = (np.linspace(box[k], box[k + 2], _PLACES) for k in (0, 1))
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def basis(dose_map: DoseMap, xy: Floats) -> tuple[np.ndarray, Floats]:
    """((M, 16) numbers of the coefficients that count at places (M, 2) mm, (M, 16) their weights in ln g)."""
    xy = np.ascontiguousarray(xy, dtype=np.float64)
    number, weight = np.empty((len(xy), 16), np.int64), np.empty((len(xy), 16))
    _basis(dose_map.shape[0], dose_map.shape[1], np.array(dose_map.box), xy, number, weight)
    return number, weight


@njit
def spline_weights(t: float) -> tuple[float, float, float, float]:
    """Of the four coefficients around a place that is the fraction t after the second of them."""
    r = 1 - t
    return r**3 / 6, (3 * t**3 - 6 * t**2 + 4) / 6, (3 * r**3 - 6 * r**2 + 4) / 6, t**3 / 6


@njit
def _slopes(t: float) -> tuple[float, float, float, float]:
    """Derivatives of the weights by t."""
    r = 1 - t
    return -(r**2) / 2, (3 * t**2 - 4 * t) / 2, (4 * r - 3 * r**2) / 2, t**2 / 2


@njit
def _place(x: float, low: float, high: float, count: int) -> tuple[int, float, float]:
    """(first coefficient, fraction of the interval, intervals per mm; 0 beyond the box) along an axis."""
    per_mm = (count - 3) / (high - low)
    u = (x - low) * per_mm
    inside = min(max(u, 0.0), count - 3.0)
    first = min(int(inside), count - 4)
    return first, inside - first, per_mm if u == inside else 0.0


@njit
def _acting(coefficients: Floats, box: Floats, xy: Floats, share: Floats, slope: Floats) -> None:
    rows, columns = coefficients.shape
    for m in range(len(xy)):
        i, v, down = _place(xy[m, 1], box[1], box[3], rows)
        j, u, across = _place(xy[m, 0], box[0], box[2], columns)
        by_row, by_column, d_row, d_column = spline_weights(v), spline_weights(u), _slopes(v), _slopes(u)
        s = s_x = s_y = 0.0
        for a in range(4):
            along = along_x = 0.0
            for b in range(4):
                c = coefficients[i + a, j + b]
                along += c * by_column[b]
                along_x += c * d_column[b]
            s += by_row[a] * along
            s_x += by_row[a] * along_x
            s_y += d_row[a] * along
        share[m] = math.exp(s)
        slope[m, 0], slope[m, 1] = s_x * across, s_y * down


@njit
def _basis(rows: int, columns: int, box: Floats, xy: Floats, number: np.ndarray, weight: Floats) -> None:
    for m in range(len(xy)):
        i, v, _ = _place(xy[m, 1], box[1], box[3], rows)
        j, u, _ = _place(xy[m, 0], box[0], box[2], columns)
        by_row, by_column = spline_weights(v), spline_weights(u)
        for a in range(4):
            for b in range(4):
                number[m, 4 * a + b] = (i + a) * columns + j + b
                weight[m, 4 * a + b] = by_row[a] * by_column[b]
