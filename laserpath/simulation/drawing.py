"""The cured area as an SVG in mm, to lay over the drawing in an editor.

With a design the sheet is the design's page, so that both coincide when one is imported into the other;
without, it is the exposed area and a margin. The file's y points down, ours up.
"""

from __future__ import annotations

import shapely
import svgwrite

from laserpath import optics
from laserpath.report.toolpath_svg import printable
from laserpath.simulation.result import SimulationResult

CURED_FILL, DESIGN_INK = "#e69f00", "#000000"
_DECIMALS = 4
_RIM_FWHM = 4.0

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in mm."""


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
