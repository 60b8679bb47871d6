"""Removes the wrap-around dose of the FFT's periodic images: the far tail, diffracted at an aperture.

An Airy spot falls only as r^−3. Averaged over its rings it is h̄(r) = c/r³ (`optics.tail`), so with a
period L the copies add at a displacement d

    C(d) = Σ_{n ≠ 0} h̄(d + n L) ≈ Σ_{0 < |n|∞ ≤ 4} h̄(d + n L) + (1/L_x L_y) [∫_{beyond} h̄ dA − …],

with ∫ = c Σ_corners √(a² + b²)/(a b), a and b the distances of d from the sides of the rectangle of those
images, and the first term of Euler and Maclaurin. Beside its copy, a large exposed area has a dose too high
by the fraction 2 c/(distance): 0.06 FWHM/distance for an Airy spot, small, but not as small as the tolerance.
C is smooth, since no copy is nearer than the padding: coarse nodes, without periodicity (padded to twice
their number), hold it (`smooth`). h̄ leaves out the oscillation of the rings, which the padding keeps below
half of the tolerance.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gcode.compiled import njit
from laserpath.base.arrays import Floats
from laserpath.physics import optics
from laserpath.physics.dose.engines import quadratic_form
from laserpath.physics.dose.smooth import SmoothField
from laserpath.types import Grid, Spot

_IMAGES = 4


def copies_of(grid: Grid, padded: Grid, spot: Spot, precision: str, tolerance: float) -> SmoothField | None:
    """−C for a picture and its padded grid, to be added; None for a spot that falls faster than r^−3."""
    if not optics.tail(spot):
        return None
    size, period = np.array(grid.shape) * grid.pitch, np.array(padded.shape) * padded.pitch
    gap = (period - size).min()
    ratio = nodes_apart(spot, gap, grid.pitch, tolerance)

    def kernel(x: Floats, y: Floats) -> Floats:
        return -copies(spot, x, y, (period[1], period[0]), gap / 2)

    return SmoothField.of(grid, ratio, kernel, precision)


def nodes_apart(spot: Spot, gap: float, pitch: float, tolerance: float) -> int:
    """Pixels between the nodes that hold the far tail of points at a distance of at least `gap`, mm.

    Spline and interpolation change 2 c/gap by about (pitch/gap)²/2 of itself: an eighth of the tolerance.
    """
    return max(1, int(gap / (1 + np.sqrt(8 * optics.tail(spot) / (gap * tolerance))) / pitch))


def copies(spot: Spot, x: Floats, y: Floats, period: tuple[float, float], nearest: float) -> Floats:
    """C at displacements x, y (mm, broadcast together) for a period (x, y) in mm; 1/mm².

    h̄ is that of the round spot whose stretched image the elliptical one is. No copy counts as nearer than
    `nearest`; only nodes outside the picture are that near.
    """
    lx, ly = period
    far = optics.tail(replace(spot, aspect=1.0))
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    wide, high = (np.broadcast_to(one, total.shape).ravel() for one in (x, y))
    _add_images(wide, high, np.array(period), quadratic_form(spot), nearest, total.ravel())
    a, b = (_IMAGES + 0.5) * lx, (_IMAGES + 0.5) * ly
    corners = [(a + i * x, b + j * y) for i in (-1, 1) for j in (-1, 1)]
    beyond = sum(np.hypot(i, j) / (i * j) for i, j in corners) - _midpoint(a, b, lx) - _midpoint(b, a, ly)
    return far * total + optics.tail(spot) * beyond / (lx * ly)


@njit
def _add_images(x: Floats, y: Floats, period: Floats, form: Floats, nearest: float, total: Floats) -> None:
    """Add Σ r^−3 of the images of displacements x, y (K,), mm, in place. form: (A, B, C) of r²."""
    a, b, c = form
    for k in range(len(total)):
        for m in range(-_IMAGES, _IMAGES + 1):
            for n in range(-_IMAGES, _IMAGES + 1):
                if m != 0 or n != 0:
                    u, v = x[k] + m * period[0], y[k] + n * period[1]
                    square = max(a * u * u + b * u * v + c * v * v, nearest * nearest)
                    total[k] += 1 / (square * math.sqrt(square))


def _midpoint(a: float, b: float, step: float) -> float:
    """(step²/24) ∫ ∂²(r^−3)/∂a² outside the rectangle: the integral less the sum at midpoints."""
    return step**2 / 24 * 4 * b * (3 * a**2 + 2 * b**2) / (a**3 * np.hypot(a, b) ** 3)


def mean_tail(spot: Spot, x: Floats, y: Floats, nearest: float) -> Floats:
    """h̄ at (x, y): c/r³ of the round spot whose stretched image the elliptical one is; 1/mm².

    Nearer than `nearest`, mm, it is what it is there.
    """
    a, b, c = quadratic_form(spot)
    square = np.maximum(a * x**2 + b * x * y + c * y**2, nearest**2)
    return optics.tail(replace(spot, aspect=1.0)) * square**-1.5
