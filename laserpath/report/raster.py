"""The dose of an exposure prepared for a picture: cropped, resampled, classified.

Dose ÷ critical dose is interpolated by cubic splines, which is accurate enough at the 3 and more pixels
per FWHM of a grid. `measure.cured_fraction` and `design.target.rasterise` give the fractions of each pixel
that are cured, c, and drawn, w: min(c, w) of it is right, max(c − w, 0) overcured and max(w − c, 0)
undercured. Its colour is the mixture, so that the picture shows the areas of the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import ndimage

from laserpath.base.arrays import Floats
from laserpath.base.overlay import clipped
from laserpath.design.target import rasterise
from laserpath.measure import cured_fraction
from laserpath.types import Design, Grid

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in mm."""

RIGHT, OVER, UNDER, PAPER = "#b9c4cc", "#d55e00", "#0072b2", "#ffffff"
"""Cured as drawn, overcured, undercured (the last two from the Okabe–Ito set, which colour-blind
readers tell apart), and neither cured nor drawn."""

_FINER = 6
"""Largest factor by which pixels are made smaller. A larger one smooths edges and takes longer to draw."""


@dataclass(frozen=True, slots=True)
class DoseRaster:
    """dose: (rows, columns) in critical doses, on `grid`."""

    grid: Grid
    dose: Floats

    @property
    def extent(self) -> Box:
        """(x0, x1, y0, y1), mm."""
        return self.grid.extent


def grown(box: Box, by: float) -> Box:
    """`box` with its sides moved outwards by `by` mm."""
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


class HasDose(Protocol):
    """Anything with a dose on a grid: a measurement, an unconstrained optimum, an exposed program."""

    @property
    def grid(self) -> Grid:
        """The grid of the dose."""

    @property
    def dose(self) -> Floats:
        """(rows, columns) mJ/mm²."""


def window(exposure: HasDose, box: Box, critical_dose: float, pixels: int) -> DoseRaster:
    """The dose in `box`, ÷ the critical dose, with about `pixels` or more along its longer side."""
    grid, p = exposure.grid, exposure.grid.pitch
    rows, columns = grid.shape
    c0, r0 = np.clip(np.floor(grid.to_pixels(box[:2])).astype(int), 0, (columns - 2, rows - 2))
    c1, r1 = np.clip(np.ceil(grid.to_pixels(box[2:])).astype(int) + 1, (c0 + 2, r0 + 2), (columns, rows))
    dose = exposure.dose[r0:r1, c0:c1] / critical_dose
    part = Grid((grid.origin[0] + c0 * p, grid.origin[1] + r0 * p), p, (int(r1 - r0), int(c1 - c0)))
    return _finer(part, dose, min(_FINER, math.ceil(pixels / max(part.shape))))


def _finer(grid: Grid, dose: Floats, times: int) -> DoseRaster:
    """The dose with pixels `times` smaller, between the centres of the outermost pixels."""
    if times <= 1:
        return DoseRaster(grid, dose)
    rows, columns = ((n - 1) * times + 1 for n in grid.shape)
    fine = ndimage.zoom(dose, (rows / grid.shape[0], columns / grid.shape[1]), order=3, mode="nearest")
    return DoseRaster(Grid(grid.origin, grid.pitch / times, (rows, columns)), fine)


def coverage(design: Design, grid: Grid) -> Floats:
    """(rows, columns) fraction of each pixel that is drawn; the design may reach outside the grid."""
    x0, x1, y0, y1 = grid.extent
    inset = grid.pitch * 1e-6
    area = clipped(design.area, x0 + inset, y0 + inset, x1 - inset, y1 - inset)
    parts = [g for g in shapely.get_parts(shapely.make_valid(area)) if g.area > 0]
    polygons = [g for part in parts for g in shapely.get_parts(part) if g.geom_type == "Polygon"]
    if not polygons:
        return np.zeros(grid.shape)
    return rasterise(Design(shapely.MultiPolygon(polygons)), grid).coverage


def cure_picture(field: DoseRaster, design: Design | None) -> NDArray[np.uint8]:
    """(rows, columns, 3) colour 0..255: right, overcured and undercured shares of each pixel.

    Without a design everything that cures is right.
    """
    cured = cured_fraction(field.dose, 1.0)
    drawn = cured if design is None else coverage(design, field.grid)
    right = np.minimum(cured, drawn)
    image = np.zeros((*field.grid.shape, 3))
    for share, colour in (
        (right, RIGHT),
        (cured - right, OVER),
        (drawn - right, UNDER),
        (1 - np.maximum(cured, drawn), PAPER),
    ):
        image += share[..., None] * np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.rint(image * 255).astype(np.uint8)
