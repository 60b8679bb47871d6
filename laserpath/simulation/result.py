"""The result of a simulation: the exposure as executed, its figures, and the best power for the same path.

Areas are measured to sub-pixel, as in `measure`. Over-dosed is the area of more than the resin's `over_dose`
critical doses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from contourpy import FillType, contour_generator
from scipy import ndimage

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.errors import one_line
from laserpath.design.scene import Scene
from laserpath.machine.program import MachineProgram
from laserpath.measure import cured_fraction
from laserpath.operators.volume import CuredDepth
from laserpath.physics import optics
from laserpath.report import advice
from laserpath.types import Design, Grid, Point, Process, Resin, Toolpath
from laserpath.types.results import Edges, Measurement, MotionFigures
from laserpath.types.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True, eq=False)
class BestExposure:
    """The same path with its dose multiplied by the best `factor`. epe_mean, epe_p95: in FWHM."""

    factor: float
    edges: Edges
    epe_mean: float
    epe_p95: float


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """A program of any tool on one machine and resin, exposed and measured.

    process: with the dialect in which the program was read.  shipped: the program, moved onto its design if
    that was requested.  executed: its exposure.  best: the same, at the best power.
    within: the tolerance on the 95th percentile of |EPE| in FWHM, if one was given.
    head: the program's first comments.  sensitivity: to the machine, and
    depth: to which it cures, if they were computed.
    """

    name: str
    process: Process
    shipped: MachineProgram
    executed: PathExposure
    best: BestExposure | None = None
    within: float | None = None
    warnings: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    sensitivity: Sensitivity | None = None
    depth: CuredDepth | None = None

    __repr__ = one_line

    @property
    def scene(self) -> Scene | None:
        """The design on the exposure's grid."""
        return self.executed.scene

    @property
    def design(self) -> Design | None:
        """The design that the program is compared with, where it was placed."""
        return self.scene.design if self.scene else None

    @property
    def toolpath(self) -> Toolpath:
        """The toolpath as written, in the design's coordinates, mm."""
        return self.shipped.shifted_path

    @property
    def run(self) -> gcode.motion.Executed:
        """The program as the controller executes it, from the work zero."""
        return self.shipped.run

    @property
    def shift(self) -> Point:
        """The translation of the program onto its design, mm."""
        return self.shipped.shift

    @cached_property
    def cured(self) -> shapely.MultiPolygon:
        """The area that cures (of a positive resist: is cleared) as executed, mm; may be empty."""
        return outline(self.executed.dose, self.executed.grid, self.process.resin.critical_dose)

    @property
    def epe_p95(self) -> float:
        """The 95th percentile of |EPE| as executed, in FWHM; NaN without a design."""
        measured = self.executed.measured
        return math.nan if measured is None else measured.figures.epe_p95

    @property
    def within_tolerance(self) -> bool:
        """Whether 95 % of the edge are within the given tolerance, if any."""
        return self.within is None or self.epe_p95 <= self.within

    def as_dict(self) -> dict[str, Any]:
        """The figures, for JSON: plain numbers by name; edges are None without a design."""
        best = self.best
        return {
            "program": self.name,
            "design": self.design.name if self.design else None,
            "within_tolerance": bool(self.within_tolerance),
            "warnings": list(self.warnings),
            "fwhm_mm": optics.fwhm(self.process.spot),
            "shift_mm": list(self.shift),
            "pixel_mm": self.executed.grid.pitch,
            "executed": self.executed.as_dict(),
            "sensitivity": self.sensitivity and advice.sensitivity_as_dict(self.sensitivity, self.process),
            "depth": self.depth and self.depth.as_dict(),
            "best_dose": best and {"factor": best.factor, "epe_mean": best.epe_mean, "epe_p95": best.epe_p95},
        }


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
