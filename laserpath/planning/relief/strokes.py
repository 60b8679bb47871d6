"""Fitted strokes instead of a raster: `laserpath plan photo.png --grey 60mJ/cm2 --initial strokes`.

Strokes are laid one after the other where most dose is missing (`strokes.residual`), fitted together
(`strokes.additive`) and turned into lines side by side, in short moves whose energies are then optimised like
those of a raster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import shapely

from laserpath.base.arrays import Bools, Floats
from laserpath.base.overlay import clipped
from laserpath.base.plan_steps import PlanPart
from laserpath.planning.curve import joined, order, quicker
from laserpath.planning.curve.strokes import side_by_side
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.relief.lines import PIECE_FWHM, PITCH_FWHM
from laserpath.planning.relief.target import GreyTarget
from laserpath.strokes import fit_additive, lay_strokes
from laserpath.types import Grid, Machine

STROKES = 256
"""Strokes of a grey picture unless the user says how many: more show finer detail and take longer."""

_ITERATIONS = 60
"""Most iterations of the fit: the energies are optimised again afterwards."""


_LAYING, _FITTING, _PIXELS = 15e-9, 0.5e-6, 2.0
"""Seconds for laying one stroke, for each pixel of the grid; for one iteration of the fit, for each pixel
near strokes; and how many of these there are for each pixel of the grid, as strokes overlap. Measured."""


@dataclass(frozen=True, slots=True, eq=False)
class StrokeLines:
    """xy: (N+1, 2) mm.  lit: (N,) whether each move may be on.  energy: (N,) mJ/mm, of its line.

    stopped: whether the user stopped the fit of the strokes.
    """

    xy: Floats
    lit: Bools
    energy: Floats
    stopped: bool


def seconds_of(pixels: float, most: int) -> float:
    """Seconds for laying and fitting strokes on a grid of so many pixels."""
    return most * _LAYING * pixels + _ITERATIONS * _FITTING * _PIXELS * pixels


@dataclass(slots=True)
class _Steps:
    """Reports strokes and iterations as the steps of one stage. stopped: by the user."""

    most: int
    progress: Callable[[Progress], None] | None
    done: int = 0
    stopped: bool = field(default=False, init=False)

    def __call__(self, number: int, loss: float) -> None:
        """Report a step."""
        if self.progress is None:
            return
        try:
            self.progress(Progress(PlanPart.FIT, self.done + number, self.most + _ITERATIONS, loss))
        except KeyboardInterrupt:
            self.stopped = True
            raise


def _inside(lines: Sequence[Floats], wanted: Bools, grid: Grid, fwhm: float) -> list[Floats]:
    """The lines (K, 2) mm cut off half an FWHM outside the wanted pixels' bounds: the sides of a wide stroke
    may lie outside the grid.
    """
    rows, columns = (np.flatnonzero(wanted.any(axis=axis)) for axis in (1, 0))
    x, y = grid.x()[columns[[0, -1]]], grid.y()[rows[[0, -1]]]
    room = fwhm / 2
    cut = clipped(shapely.multilinestrings(list(lines)), x[0] - room, y[0] - room, x[1] + room, y[1] + room)
    return [shapely.get_coordinates(part) for part in shapely.get_parts(cut) if part.length > 0]


def stroke_lines(
    target: GreyTarget,
    grid: Grid,
    fwhm: float,
    most: int,
    machine: Machine,
    progress: Callable[[Progress], None] | None = None,
) -> StrokeLines:
    """The lines of a target's strokes.

    grid: of the target.  fwhm: of the spot, mm.  most: number of strokes.  progress: called for each stroke
    and in each iteration of their fit; a KeyboardInterrupt from it ends with what there is.
    """
    steps = _Steps(most, progress)
    scale = max(float(np.sum(target.residual(np.zeros(grid.shape))[0] ** 2)), 1e-30)

    def loss(dose: Floats) -> tuple[float, Floats]:
        error, slope = target.residual(dose)
        return float((error**2).sum() / scale), 2 / scale * error * slope

    found = lay_strokes(target.dose, grid, fwhm, most, steps)
    if not steps.stopped:
        steps.done = most
        found = fit_additive(found, grid, fwhm, loss, _ITERATIONS, steps).strokes
    fitted = side_by_side(found, fwhm, PITCH_FWHM * fwhm)
    tour = quicker(order(_inside(fitted.strokes, target.dose > 0, grid, fwhm)), machine)
    pieces = [joined.subdivide(stroke, PIECE_FWHM * fwhm) for stroke in tour]
    xy = np.concatenate(pieces)
    lit = np.ones(len(xy) - 1, dtype=bool)
    lit[np.cumsum([len(piece) for piece in pieces[:-1]]) - 1] = False
    energy = np.where(lit, fitted.energies((xy[1:] + xy[:-1]) / 2), 0.0)
    return StrokeLines(xy, lit, energy, steps.stopped)
