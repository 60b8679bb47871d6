"""Fitted strokes instead of a raster: `laserpath plan photo.png --grey 60mJ/cm2 --initial strokes`.

Strokes are laid one after the other where most dose is missing (`strokes.residual`), fitted together
(`strokes.additive`) and turned into lines side by side, in short moves whose energies are then optimised like
those of a raster.
"""

from __future__ import annotations

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.planning.curve import joined, order, quicker
from laserpath.planning.curve.strokes import side_by_side
from laserpath.planning.relief.lines import PIECE_FWHM, PITCH_FWHM
from laserpath.planning.relief.target import GreyTarget
from laserpath.strokes.additive import fit
from laserpath.strokes.residual import greedy
from laserpath.types import Grid, Machine

STROKES = 256
"""Strokes of a grey picture unless the user says how many: more show finer detail and take longer."""

_ITERATIONS = 60
"""Most iterations of the fit: the energies are optimised again afterwards."""


def stroke_lines(
    target: GreyTarget, grid: Grid, fwhm: float, most: int, machine: Machine
) -> tuple[Floats, Bools, Floats]:
    """(vertices (N+1, 2) mm, whether each move is lit (N,), its line energy (N,) mJ/mm) for a target.

    grid: of the target.  fwhm: of the spot, mm.  most: number of strokes.
    """
    scale = max(float(np.sum(target.residual(np.zeros(grid.shape))[0] ** 2)), 1e-30)

    def loss(dose: Floats) -> tuple[float, Floats]:
        error, slope = target.residual(dose)
        return float((error**2).sum() / scale), 2 / scale * error * slope

    found, _ = fit(greedy(target.dose, grid, fwhm, most), grid, fwhm, loss, _ITERATIONS)
    fitted = side_by_side(found, fwhm, PITCH_FWHM * fwhm)
    tour = quicker(order(fitted.strokes), machine)
    pieces = [joined.subdivide(stroke, PIECE_FWHM * fwhm) for stroke in tour]
    xy = np.concatenate(pieces)
    lit = np.ones(len(xy) - 1, dtype=bool)
    lit[np.cumsum([len(piece) for piece in pieces[:-1]]) - 1] = False
    return xy, lit, np.where(lit, fitted.energies((xy[1:] + xy[:-1]) / 2), 0.0)
