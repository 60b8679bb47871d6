"""Quadrature and interpolation for the spots.

Gauss–Legendre on panels: 8 nodes are exact for a polynomial of degree 15; 1.35 more for each radian of an
oscillation integrate it to rounding. Splines of degree 5 on equal steps s are off by about s⁶/30240 times the
sixth derivative.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy

from laserpath.base.arrays import Floats

RADIANS_PER_PANEL = 12.0


def j0(x: Floats) -> Floats:
    """The Bessel function J₀. What SciPy needs for it is loaded when it is first called."""
    return scipy.special.j0(x)


def j1(x: Floats) -> Floats:
    """The Bessel function J₁."""
    return scipy.special.j1(x)


@cache
def _gauss(nodes: int) -> tuple[Floats, Floats]:
    node, weight = np.polynomial.legendre.leggauss(nodes)
    return (node + 1) / 2, weight / 2


def panels(edges: Floats, radians: float = RADIANS_PER_PANEL) -> tuple[Floats, Floats]:
    """Nodes and weights of ∫ over the panels between `edges` (K+1,), each of at most that many radians."""
    node, weight = _gauss(8 + int(np.ceil(1.35 * radians)))
    width = np.diff(edges)[:, None]
    return (edges[:-1, None] + node * width).ravel(), (weight * width).ravel()


def quadrature(start: float, end: float, radians: float) -> tuple[Floats, Floats]:
    """Nodes and weights of ∫ from start to end of an integrand whose phase turns by `radians`."""
    count = 1 + int(radians / RADIANS_PER_PANEL)
    return panels(np.linspace(start, end, count + 1))


class Spline:
    """A table of smooth functions of one variable. values: (K,) or (K, columns) at K equal steps."""

    def __init__(self, start: float, end: float, values: Floats) -> None:
        self._spline = scipy.interpolate.make_interp_spline(
            np.linspace(start, end, len(values)), values, k=5, axis=0
        )

    def __call__(self, x: Floats) -> Floats:
        """(…) → (…) or (…, columns)."""
        return self._spline(x)


def bessel_zeros(count: int) -> Floats:
    """The first zeros of J₀, (count,): McMahon's expansion (DLMF 10.21.19), then Newton's method."""
    b = 8 * np.pi * (np.arange(1, count + 1) - 0.25)
    zero = b / 8 + 1 / b - 124 / (3 * b**3)
    for _ in range(3):
        zero += j0(zero) / j1(zero)
    return zero
