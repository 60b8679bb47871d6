"""What shows a simulation: a report with answers about the program, and its cured area as an SVG.

The SVG is in mm, to be laid over the drawing in an editor. With a design the sheet is the design's page, so
both coincide when one is imported into the other; without, it is the exposed area and a margin. The file's y
points down, ours up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import shapely
import svgwrite

import gcode
from laserpath import report
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.report import PageText, Picture, ShownProgram
from laserpath.report.canvas import Box
from laserpath.report.toolpath_svg import printable
from laserpath.report.wording import number
from laserpath.simulation.result import SimulationResult

_MISPLACED = 0.5
"""Overlap (IoU) below which no other power is suggested: the program lies elsewhere than the design."""

_WORTH = 0.9
"""Ratio of the mean edge error at the best power to the present one, above which no other power is
suggested."""


def page(simulation: SimulationResult) -> str:
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


def _in_depth(simulation: SimulationResult) -> Sequence[Picture]:
    """The section and the turned part, if the depth was computed."""
    if simulation.depth is None:
        return ()
    from laserpath.report import depth  # JSON alone need not wait for it

    return depth.pictures(simulation.depth, _done(simulation))


def _done(simulation: SimulationResult) -> str:
    return "cure" if simulation.process.resin.tone == "negative" else "clear"


def exposed(simulation: SimulationResult) -> ShownProgram:
    """The simulation's data for the pictures of the report."""
    executed = simulation.executed
    edges = executed.measured.edges if executed.measured else None
    return ShownProgram(
        simulation.toolpath, simulation.run, executed.grid, executed.dose, simulation.process,
        simulation.scene, edges,
    )  # fmt: skip


def answers(simulation: SimulationResult) -> Iterator[tuple[str, str]]:
    """(question, answer) about the program and its power."""
    yield "What this file is", what_it_is(simulation)
    if simulation.best is not None:
        yield "Whether another power would do better", another_power(simulation)
    if simulation.depth is not None:
        from laserpath.report import depth

        yield depth.said(simulation.depth, _done(simulation))


def what_it_is(simulation: SimulationResult) -> str:
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


def another_power(simulation: SimulationResult) -> str:
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


def draw(simulation: SimulationResult) -> str:
    """The cured area, and the outline of the design if there is one, as the text of an SVG file."""
    x0, y0, x1, y1 = sheet(simulation)
    width, height = x1 - x0, y1 - y0
    drawing = svgwrite.Drawing(
        size=(f"{width:.4f}mm", f"{height:.4f}mm"), viewBox=f"0 0 {width:.4f} {height:.4f}", debug=False
    )
    resin = simulation.process.resin
    done = "cures" if resin.tone == "negative" else "is cleared"
    drawing.set_desc(
        title=f"What {done}: {printable(simulation.name)}",
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


def sheet(simulation: SimulationResult) -> Box:
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
