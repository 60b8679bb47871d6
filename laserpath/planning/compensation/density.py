"""The light of the spot at a point while its middle goes along a line: tables of its density and integrals.

At a distance d from the line the integral of a round spot's density h is I(d, s) = ∫₀ˢ h(√(d² + t²)) dt, from
the place nearest to the point as far as s mm. The mean density over a line of length L, whose ends are at s₁
and s₂, is (I(d, s₂) − I(d, s₁))/L: two values of a table. Of a short line the difference is inexact, and a
spot that is not round has no such table; then it is the mean of some places.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcode.compiled import cached
from laserpath.base.arrays import Floats
from laserpath.machine.powers import energy_at_full_power
from laserpath.physics import optics
from laserpath.types import Process, Spot

Array = NDArray[Any]

_TABLE_FWHM = 1 / 20
"""Pitch of the table of the spot: a smaller one is more exact."""

_LINE_FWHM = 1 / 40
"""Pitch of the table of its integral along lines: a smaller one is more exact, of short lines above all."""

_LONG = 0.15
"""Length, in reaches of the spot, from which the density along a line comes from that table."""

njit = cached(error_model="numpy", nogil=True)


class SpotTable(NamedTuple):
    """density: (n, n) of the spot on a square around its middle, dose per mJ.  pitch: mm.  reach: mm.

    line: (k, k) its integral along a line that passes its middle at a distance of row/`per_mm`, from the
    place nearest to the middle as far as column/`per_mm`; (0, 0) of a spot that is not round.
    """

    density: Array
    pitch: float
    reach: float
    line: Array
    per_mm: float


def spot_table(spot: Spot, process: Process, within: float) -> SpotTable:
    """The spot's density times the relative dose of 1 s of full light. within: FWHM, its reach."""
    fwhm = optics.fwhm(spot)
    reach, pitch = within * fwhm, _TABLE_FWHM * fwhm
    at = np.arange(-reach, reach + 1.5 * pitch, pitch)
    x, y = np.meshgrid(at, at)
    full = float(energy_at_full_power(1.0, process.machine, spot)) / process.resin.critical_dose
    density = np.where(np.hypot(x, y) <= reach, optics.profile(spot, x, y), 0.0)
    line = full * _along_lines(spot, reach) if spot.round and spot.aspect == 1 else np.zeros((0, 0))
    return SpotTable(full * density, pitch, reach, line, 1 / (_LINE_FWHM * fwhm))


@lru_cache(maxsize=4)
def _along_lines(spot: Spot, reach: float) -> Floats:
    """(k, k) `SpotTable.line` of a round spot's density, which is 0 beyond `reach`, mm."""
    pitch = _LINE_FWHM * optics.fwhm(spot)
    at = pitch * np.arange(math.ceil(reach / pitch) + 2)
    node = (0.5 + np.array([-0.5, 0.5]) / math.sqrt(3)) * pitch  # of Gauss's rule
    radius = np.hypot(at[:, None, None], at[:-1, None] + node)
    density = np.where(radius <= reach, optics.profile(spot, radius), 0.0)
    return np.pad(np.cumsum(pitch * density.mean(axis=2), axis=1), ((0, 0), (1, 0)))


@njit
def mean_density(x: float, y: float, u: float, v: float, parts: int, spot: SpotTable) -> float:
    """Mean density of the spot at (x, y) while its middle goes from (0, 0) to (u, v), at `parts` places."""
    total, per = 0.0, 1 / spot.pitch
    for i in range(parts):
        f = (i + 0.5) / parts
        total += density_at((x - f * u + spot.reach) * per, (y - f * v + spot.reach) * per, spot)
    return total / parts


@njit
def is_long(u: float, v: float, spot: SpotTable) -> bool:
    """Whether the density along a line (u, v) comes from its integral. Of a short line that is inexact."""
    return len(spot.line) > 0 and u * u + v * v > (_LONG * spot.reach) ** 2


@njit
def density_along(x: float, y: float, u: float, v: float, spot: SpotTable) -> float:
    """`mean_density` of a round spot and a long line, of all places along it."""
    length, last = math.sqrt(u * u + v * v), len(spot.line) - 1
    scale = spot.per_mm / length
    row = abs(x * v - y * u) * scale
    if row >= last:
        return 0.0
    k, passed = int(row), (x * u + y * v) * scale
    part, whole = row - k, length * spot.per_mm
    ends = _integral(passed, k, part, last, spot) + _integral(whole - passed, k, part, last, spot)
    return max(ends, 0.0) / length


@njit
def _integral(way: float, k: int, part: float, last: int, spot: SpotTable) -> float:
    """The integral from the nearest place as far as column `way`, between rows k and k + 1; odd in `way`."""
    column = min(abs(way), last - 1e-9)
    c = int(column)
    f, line = column - c, spot.line
    found = (1 - part) * ((1 - f) * line[k, c] + f * line[k, c + 1])
    found += part * ((1 - f) * line[k + 1, c] + f * line[k + 1, c + 1])
    return found if way >= 0 else -found


@njit
def density_at(u: float, v: float, spot: SpotTable) -> float:
    """The spot's density at column u and row v of its table, between its values; 0 outside."""
    d, last = spot.density, len(spot.density) - 1
    if u < 0 or v < 0 or u >= last or v >= last:
        return 0.0
    c, r = int(u), int(v)
    u, v = u - c, v - r
    return (1 - v) * ((1 - u) * d[r, c] + u * d[r, c + 1]) + v * ((1 - u) * d[r + 1, c] + u * d[r + 1, c + 1])


@njit
def densities_of_shifts(
    mean: Array, x: float, y: float, u: float, v: float, shares: tuple[float, float], parts: int,
    spot: SpotTable, step: Array,
) -> None:  # fmt: skip
    """Mean densities of the spot at (x, y) while its middle goes from (0, 0) to (u, v).

    Nine: with the row's first vertex shifted by a step to the right, left, up and down, with its last one,
    and unshifted.  shares: of the last vertex's shift at both ends; the first one's are the rest. Densities
    in between are quadratic in the share.
    """
    mean[:] = 0.0
    dx, dy = step[0] / spot.pitch, step[1] / spot.pitch
    for i in range(parts):
        f = (i + 0.5) / parts
        column, row = (x - f * u + spot.reach) / spot.pitch, (y - f * v + spot.reach) / spot.pitch
        still = density_at(column, row, spot)
        one, two = density_at(column - dx, row, spot), density_at(column + dx, row, spot)
        along_x, bent_x = _quadratic(one, two, still)
        one, two = density_at(column, row - dy, spot), density_at(column, row + dy, spot)
        along_y, bent_y = _quadratic(one, two, still)
        share = shares[0] + f * (shares[1] - shares[0])
        for c in range(2):
            s = share if c else 1 - share
            mean[4 * c] += still + s * (along_x + s * bent_x)
            mean[4 * c + 1] += still - s * (along_x - s * bent_x)
            mean[4 * c + 2] += still + s * (along_y + s * bent_y)
            mean[4 * c + 3] += still - s * (along_y - s * bent_y)
        mean[8] += still
    for c in range(9):
        mean[c] /= parts


@njit
def densities_of_shifts_along(
    mean: Array, x: float, y: float, u: float, v: float, shares: tuple[float, float], spot: SpotTable,
    step: Array,
) -> None:  # fmt: skip
    """`densities_of_shifts` of a long line and a round spot, of all places along the shifted line."""
    mean[8] = density_along(x, y, u, v, spot)
    for c in range(2):
        first, last = (shares[0], shares[1]) if c else (1 - shares[0], 1 - shares[1])
        for way in range(2):
            dx, dy = (1 - 2 * way) * step[0], (1 - 2 * way) * step[1]
            more_x, more_y = (last - first) * dx, (last - first) * dy
            mean[4 * c + way] = density_along(x - first * dx, y, u + more_x, v, spot)
            mean[4 * c + 2 + way] = density_along(x, y - first * dy, u, v + more_y, spot)


@njit
def _quadratic(ahead: float, back: float, still: float) -> tuple[float, float]:
    """Both coefficients of a density by the share of a shift, which it has ahead and back."""
    return 0.5 * (ahead - back), 0.5 * (ahead + back) - still
