"""The result of a simulation: the exposure as executed, its figures, and the best power for the same path.

Areas are measured to sub-pixel, as in `measure`. Over-dosed is the area of more than the resin's `over_dose`
critical doses.

It is shown by a report with answers about the program, and by its cured area as an SVG. That is in mm, to be
laid over the drawing in an editor. With a design the sheet is the design's page, so both coincide when one is
imported into the other; without, it is the exposed area and a margin. The file's y points down, ours up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import shapely
import svgwrite
from contourpy import FillType, contour_generator
from scipy import ndimage

import gcode
from laserpath import report
from laserpath.base import files
from laserpath.base.arrays import Floats
from laserpath.base.errors import one_line
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram
from laserpath.measure import cured_fraction
from laserpath.operators.volume import CuredDepth
from laserpath.physics import optics
from laserpath.report import PageText, Picture, ShownProgram, advice
from laserpath.report.canvas import Box
from laserpath.report.toolpath_svg import printable
from laserpath.report.wording import number
from laserpath.types import Design, Grid, Point, Process, Resin, Toolpath
from laserpath.types.results import Edges, Measurement, MotionFigures, Sensitivity


@dataclass(frozen=True, slots=True, eq=False)
class BestExposure:
    """The same path with its dose multiplied by the best `factor`. epe_mean, epe_p95: in FWHM."""

    factor: float
    edges: Edges
    epe_mean: float
    epe_p95: float


@dataclass(frozen=True, eq=False)
class Simulation:
    """The result of `simulate`: a program of any tool on one machine and resin, exposed and measured.

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

    def page(self) -> str:
        """The report as the text of one HTML file."""
        return page(self)

    def drawing(self) -> str:
        """The cured area as the text of an SVG file, placed on the design's page."""
        return draw(self)

    def write(self, folder: str | Path = ".") -> tuple[Path, ...]:
        """Write NAME.simulation.html and NAME.cured.svg, both or none; return their paths."""
        report, cured = paths_of(self.name, folder)
        return files.write_all({report: self.page(), cured: self.drawing()})


def paths_of(name: str, folder: str | Path = ".") -> tuple[Path, Path]:
    """The paths of the report and of the drawing of a program of that name."""
    stem = Path(name).stem or "program"
    return Path(folder) / f"{stem}.simulation.html", Path(folder) / f"{stem}.cured.svg"


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


_MISPLACED = 0.5
"""Overlap (IoU) below which no other power is suggested: the program lies elsewhere than the design."""

_WORTH = 0.9
"""Ratio of the mean edge error at the best power to the present one, above which no other power is
suggested."""


def page(simulation: Simulation) -> str:
    """The report as the text of one HTML file."""
    text = PageText(
        simulation.name,
        warnings=simulation.warnings,
        answers=tuple(answers(simulation)),
        header=simulation.head,
        pictures=_in_depth(simulation),
        sensitivity=simulation.sensitivity,
    )
    return report.render_exposure(exposed(simulation), text, simulation.executed.measured)


def _in_depth(simulation: Simulation) -> Sequence[Picture]:
    """The section and the turned part, if the depth was computed."""
    if simulation.depth is None:
        return ()
    from laserpath.report import depth  # JSON alone need not wait for it

    return depth.pictures(simulation.depth, simulation.process.resin.done)


def exposed(simulation: Simulation) -> ShownProgram:
    """The simulation's data for the pictures of the report."""
    executed = simulation.executed
    edges = executed.measured.edges if executed.measured else None
    return ShownProgram(
        simulation.toolpath, simulation.run, executed.grid, executed.dose, simulation.process,
        simulation.scene, edges,
    )  # fmt: skip


def answers(simulation: Simulation) -> Iterator[tuple[str, str]]:
    """(question, answer) about the program and its power."""
    yield "What this file is", what_it_is(simulation)
    if simulation.best is not None:
        yield "Whether another power would do better", another_power(simulation)
    if simulation.depth is not None:
        from laserpath.report import depth

        yield depth.said(simulation.depth, simulation.process.resin.done)


def what_it_is(simulation: Simulation) -> str:
    """The number, power and speed of the exposing moves, and the dialect they were read in."""
    machine = simulation.process.machine
    path = convert.as_light(simulation.toolpath, machine)
    on = simulation.toolpath.on
    power, speed = path.power[on], path.speed[on]
    levels = _range(power.min(), power.max())
    moves = f"{on.sum()} exposing moves" if on.sum() != 1 else "One exposing move"
    dialect = gcode.dialect(machine.dialect)
    return (
        f"{moves}, {number(float(path.length[on].sum()))} mm with {levels} mW at "
        f"{_range(speed.min(), speed.max())} mm/s. Read as {dialect.name} writes it, with "
        f"{machine.power_max:g} mW at S{machine.s_max:g}."
    )


def another_power(simulation: Simulation) -> str:
    """The mean edge error of the same path at the best factor on its dose, and the power for that."""
    best, measured = simulation.best, simulation.executed.measured
    if best is None or measured is None:
        return ""
    micrometres = 1000 * optics.fwhm(simulation.process.spot)
    now, then = measured.figures.epe_mean, best.epe_mean
    order = simulation.process.resin.order
    if measured.figures.iou < _MISPLACED:
        return "That cannot be said: what cures and the design hardly overlap. Is it in the right place?"
    if then > _WORTH * now:
        return "For the edges hardly: their mean error is about the least that this path can have."
    power = best.factor ** (1 / order)
    return (
        f"With {number(best.factor, 2)} times the dose ({number(power, 2)} times the power, or "
        f"{number(1 / best.factor, 2)} times the speed) the edges of the same path would be "
        f"{number(then * micrometres, 2)} µm off on average instead of {number(now * micrometres, 2)} µm, "
        "as far as the machine keeps that power or speed."
    )


def _range(low: float, high: float) -> str:
    """`3`, or `1.2 to 3`."""
    a, b = number(float(low)), number(float(high))
    return a if a == b else f"{a} to {b}"


CURED_FILL, DESIGN_INK = "#e69f00", "#000000"
_DECIMALS = 4
_RIM_FWHM = 4.0


def draw(simulation: Simulation) -> str:
    """The cured area, and the outline of the design if there is one, as the text of an SVG file."""
    x0, y0, x1, y1 = sheet(simulation)
    width, height = x1 - x0, y1 - y0
    drawing = svgwrite.Drawing(
        size=(f"{width:.4f}mm", f"{height:.4f}mm"), viewBox=f"0 0 {width:.4f} {height:.4f}", debug=False
    )
    resin = simulation.process.resin
    drawing.set_desc(
        title=f"What {resin.done}s: {printable(simulation.name)}",
        desc=f"as executed; one unit is one mm; the lower left corner is x {x0:.4f}, y {y0:.4f} mm",
    )
    corner = (x0, y1)
    area = {"fill": CURED_FILL, "fill_opacity": 0.6, "fill_rule": "evenodd", "id": "cured"}
    drawing.add(drawing.path(_path(simulation.cured, corner), **area))
    if simulation.design is not None:
        line = {"fill": "none", "stroke": DESIGN_INK, "id": "design"}
        hair = optics.fwhm(simulation.process.spot) / 20
        drawing.add(drawing.path(_path(simulation.design.area, corner), stroke_width=round(hair, 5), **line))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + str(drawing.tostring()) + "\n"


def sheet(simulation: Simulation) -> Box:
    """The sheet of the drawing."""
    design = simulation.design
    if design is not None and design.page is not None:
        return design.page
    areas = [area for area in (simulation.cured, design and design.area) if area]
    path = simulation.toolpath
    bounds = [*(area.bounds for area in areas), shapely.MultiPoint(path.xy[1:][path.on]).bounds]
    rim = _RIM_FWHM * optics.fwhm(simulation.process.spot)
    x0, y0, x1, y1 = zip(*bounds, strict=True)
    return min(x0) - rim, min(y0) - rim, max(x1) + rim, max(y1) + rim


def _path(area: shapely.MultiPolygon, corner: tuple[float, float]) -> str:
    """The `d` of all rings, a point if there are none. corner: upper left of the sheet, mm."""
    rings = [ring for p in area.geoms for ring in (p.exterior, *p.interiors)]
    return " ".join(_ring(ring, corner) for ring in rings) or "M0,0"


def _ring(ring: shapely.LinearRing, corner: tuple[float, float]) -> str:
    xy = (shapely.get_coordinates(ring)[:-1] - corner) * (1, -1)
    points = " ".join([f"{x:.{_DECIMALS}f},{y:.{_DECIMALS}f}" for x, y in xy.tolist()])
    return f"M{points}Z"
