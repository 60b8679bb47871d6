"""The figures of a dose that need no design: areas, and the largest dose.

Areas are measured to sub-pixel, as in `measure`. Over-dosed is the area of more than the resin's `over_dose`
critical doses.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from contourpy import FillType, contour_generator
from scipy import ndimage

from laserpath.base.arrays import Floats
from laserpath.base.errors import one_line
from laserpath.design.scene import Scene
from laserpath.measure import cured_fraction
from laserpath.types import Grid, Point, Resin
from laserpath.types.results import Measurement, MotionFigures

_FINER, _FINEST = 4, 1 << 24
"""For outlines: refinement of the grid, and largest number of pixels. Larger ones are smoother and slower."""


@dataclass(frozen=True, slots=True)
class DoseFigures:
    """The figures of one dose without a design.

    dose_max: in critical doses, at (x, y) mm `brightest`.  cured, over_dosed: mm².
    """

    dose_max: float
    brightest: Point
    cured: float
    over_dosed: float

    def as_dict(self) -> dict[str, float | Point]:
        """Plain numbers by name, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True, eq=False)
class PathExposure:
    """The exposure of an executed path. dose: (rows, columns) mJ/mm² on `grid`, which decides what cures.

    light: the dose itself; of a resin with kinetics `dose` is the equivalent one.  motion: of the whole
    program.  scene: of the design on this grid, if there is one.  measured: against it.  overflow: whether
    the cured area reaches beyond the grid.
    """

    figures: DoseFigures
    motion: MotionFigures
    grid: Grid
    dose: Floats
    light: Floats
    scene: Scene | None = None
    measured: Measurement | None = None
    overflow: bool = False

    __repr__ = one_line

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, for JSON; `epe_capped` names the edge errors that are lower bounds."""
        plain = {**self.figures.as_dict(), **self.motion.as_dict()}
        if self.measured is None:
            return plain
        figures = self.measured.figures
        return {**plain, **figures.as_dict(), "epe_capped": list(figures.epe_capped)}


def dose_figures(light: Floats, dose: Floats, grid: Grid, resin: Resin) -> DoseFigures:
    """The figures of a dose, `light`, and of what decides what cures, `dose`: (rows, columns) mJ/mm²."""
    row, column = np.unravel_index(int(np.argmax(light)), light.shape)
    area, critical = grid.pixel_area, resin.critical_dose
    return DoseFigures(
        dose_max=float(light[row, column] / critical),
        brightest=(
            float(grid.origin[0] + column * grid.pitch),
            float(grid.origin[1] + row * grid.pitch),
        ),
        cured=float(cured_fraction(dose, critical).sum() * area),
        over_dosed=float(cured_fraction(light, resin.over_dose * critical).sum() * area),
    )


def outline(dose: Floats, grid: Grid, critical_dose: float) -> shapely.MultiPolygon:
    """The area of the critical dose or more, as polygons in mm.

    Between pixels the dose is a cubic spline, which is cut into straight pieces on a finer grid. Straight
    lines from pixel to pixel would be inaccurate, since a much too high dose falls off steeply at its edge.
    """
    times = max(1, min(_FINER, int((_FINEST / dose.size) ** 0.5)))
    rows, columns = ((n - 1) * times + 1 for n in dose.shape)
    fine = (
        dose if times == 1 else ndimage.zoom(dose, (rows / dose.shape[0], columns / dose.shape[1]), order=3)
    )
    x, y = (o + grid.pitch / times * np.arange(n) for o, n in zip(grid.origin, (columns, rows), strict=True))
    points, offsets = contour_generator(x, y, fine, fill_type=FillType.OuterOffset).filled(  # type: ignore[misc]
        critical_dose, np.inf
    )
    polygons = []
    for xy, ends in zip(points, offsets, strict=True):
        rings = [xy[a:b] for a, b in pairwise(ends.tolist())]
        polygons.append(shapely.Polygon(rings[0], rings[1:]))
    whole = shapely.make_valid(shapely.MultiPolygon(polygons))
    parts = [p for g in shapely.get_parts(whole) for p in shapely.get_parts(g) if p.geom_type == "Polygon"]
    return shapely.MultiPolygon(parts)
