"""The far tail of a spot, which no table of the kinetic model reaches: a smooth background of light.

A table ends at R, 4 FWHM, and 4.8 % of the energy of an Airy spot is beyond it, spread over the plane. The
mean over its rings is h̄(r) = c/r³ (`optics.tail`), so the background is the convolution of the light with

    b(r) = h̄(r) (1 − w(r)) (1 + β (R/r)²),   β such that ∫ b dA = 1 − ∫ h w dA,

where w is the part of h that is in the table. β, some per cent, makes up for the table's end within a ring.
b is smooth over a FWHM, so nodes that far apart hold it (`dose.smooth`). What is left out are the rings:
beside a line, a wave of a fifth of the background near R, and less further away; and light that is more than
some 500 FWHM outside the grid.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laserpath import optics
from laserpath.base.arrays import Bools, Floats
from laserpath.dose.direct import RadialTable, window
from laserpath.dose.smooth import MARGIN, SmoothField
from laserpath.dose.tail import mean_tail
from laserpath.types import Grid, Spot

_APART = 1.0
"""Distance of the nodes, in FWHM along the narrow axis. A larger one blurs the background near R."""
_WITHIN = 4
"""Samples of b along a side of the square that a node stands for."""
_BLOCK = 8
"""Nodes by which the margin grows for light outside the grid, so that it is the same for similar light."""
_FARTHEST = 500
"""Nodes, about as many FWHM, from the grid to light that counts. A half-plane full of light beyond 500 FWHM
would add 1.2e-4 of its dose at the edge of the grid; twice as far would need four times the memory."""


class FarTail:
    """The background of light on a grid, for a spot that falls as r^−3."""

    def __init__(self, grid: Grid, spot: Spot, table: RadialTable) -> None:
        self._grid, self._spot = grid, spot
        narrow = optics.fwhm(spot) * min(spot.aspect, 1 / spot.aspect) ** 0.5
        self._ratio = max(1, int(_APART * narrow / grid.pitch))
        self._form = table.form / grid.pitch**2 / (len(table.value) - 1)  # of (r/R)²
        a, b, c = self._form
        self._radius = float((4 / (4 * a * c - b**2)) ** 0.25)
        s = np.linspace(0.9, 1, 201)
        out = 1 - window(s**2)[0]
        whole, inner = (np.trapezoid(out * s**-n, s) + 1 / (n - 1) for n in (2, 4))
        mean = 2 * np.pi * optics.tail(replace(spot, aspect=1.0)) / self._radius
        self._more = ((1 - table.energy * grid.pixel_area) / mean - whole) / inner
        self._fields: dict[int, SmoothField] = {}

    def is_near(self, uv: Floats) -> Bools:
        """(M,) whether points at fractional columns and rows uv (M, 2) add to the background of the grid."""
        return self._beyond(uv) <= _FARTHEST * self._ratio

    def _beyond(self, uv: Floats) -> Floats:
        """(M,) pixels by which points are outside the grid, along the axis on which they are further out."""
        return np.maximum(-uv, uv - self._grid.shape[::-1]).max(axis=1).clip(0)

    def field(self, uv: Floats) -> SmoothField:
        """The background of points at fractional columns and rows uv (M, 2), all of which are near."""
        beyond = float(self._beyond(uv).max(initial=0.0))
        margin = MARGIN + _BLOCK * int(np.ceil(beyond / self._ratio / _BLOCK))
        if margin not in self._fields:
            self._fields[margin] = SmoothField.of(self._grid, self._ratio, self._kernel, "f64", margin)
        return self._fields[margin]

    def _kernel(self, x: Floats, y: Floats) -> Floats:
        """The mean of b, 1/mm², over the square of a node at displacements x, y in mm."""
        within = (np.arange(_WITHIN) - (_WITHIN - 1) / 2) / _WITHIN * self._ratio * self._grid.pitch
        a, b, c = self._form
        total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
        for u, v in ((x + dx, y + dy) for dx in within for dy in within):
            square = np.maximum(a * u**2 + b * u * v + c * v**2, 0.5)
            far = (1 - window(square)[0]) * (1 + self._more / square)
            total += mean_tail(self._spot, u, v, self._radius / 2) * far
        return total / _WITHIN**2
