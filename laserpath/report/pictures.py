"""The report's maps: each function returns one as an SVG. `plots` has the charts.

Colours: overcure is vermilion and undercure blue everywhere, with grey between (Okabe–Ito, safe for
colour-blind readers); power as in the toolpath's SVG; dose in cividis, made for the same readers. Lengths
are in mm, edge errors in FWHM and µm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from contourpy import contour_generator
from scipy.spatial import cKDTree

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.report.canvas import WIDTH, Axes, ColourKey, Paper, add_key, map_sheet
from laserpath.report.data import ExposedProgram
from laserpath.report.marks import FAINT, INK, Dot, Line, Mark
from laserpath.report.raster import OVER, RIGHT, UNDER, Box, cure_picture, grown, window
from laserpath.report.scales import CIVIDIS, coloured, hexes, rgb
from laserpath.report.toolpath_svg import DESIGN_FILL, POWER_STOPS, near
from laserpath.report.worst_places import Place
from laserpath.types import Design, Machine, Process, Toolpath
from laserpath.types.results import Edges, Limit, Unprintable

EPE_STOPS = (UNDER, "#c9c9c9", OVER)

_PIXELS = 800
"""Pixels along the longer side of a map. More show edges sharper and make the page larger."""
_SHADES = 24
"""Colours that powers are drawn in, and edge errors of each sign; more make the page larger."""
_ARROW = 0.13
"""Inches at the ends of a key, where arrows may be."""
_RIM_FWHM = 2.0
"""Margin of a map around its content, in FWHM."""
ZOOM_FWHM = 4.0
"""Half the width of an enlarged place, in FWHM."""
ZOOMED = 4
"""Number of places shown enlarged."""

_RINGS = {
    "lost": Dot("o", "none", 12, Line(INK, 1.6)),
    "lost at ±10 % dose": Dot("s", "none", 10, Line(INK, 1.1)),
    "edge is off": Dot("D", "none", 7, Line(INK, 1)),
}
"""Marks of places that cannot be printed, the worst first; they differ in shape, not in colour."""

_TRAVEL = Line("#4a86b8", 0.5, (2.5, 2.0))
_BEGIN, _END = Dot("o", "#00c08b", 6, Line(INK)), Dot("s", "white", 5, Line(INK))
_LASER_LINE = Line("#7a7a7a", 0.7)
_EDGE, _RIM = Line("#000000", 0.5), Line(FAINT, 0.5)


def toolpath_map(exposed: ExposedProgram) -> str:
    """The moves over the design, if there is one, coloured by power; travels dashed."""
    design, machine = exposed.design, exposed.process.machine
    path = near(exposed.light, design) if design else _lit(exposed.light)
    points = np.concatenate([np.array(exposed.box).reshape(2, 2), path.xy])
    box = grown((*points.min(axis=0), *points.max(axis=0)), _RIM_FWHM * exposed.fwhm)
    sheet, ax = map_sheet(box, below=0.88)
    if design:
        ax.design(design, fill=DESIGN_FILL)
    limits = _power_range(path, machine)
    _add_moves(ax, path, limits, _line_width(path, box))
    ax.dots(path.xy[:1], _BEGIN)
    ax.dots(path.xy[-1:], _END)
    ax.close("x, mm", "y, mm")
    _key(sheet, ColourKey(POWER_STOPS, limits, "laser power, mW"), 0.88)
    travel = Mark("travel, laser off", pen=Line(_TRAVEL.colour, 0.8, _TRAVEL.dash))
    sheet.legend([Mark("start", dot=_BEGIN), Mark("end", dot=_END), travel])
    return sheet.svg()


def dose_map(exposed: ExposedProgram) -> str:
    """Dose ÷ critical dose, with the critical contour, the design's edge and the area above the limit."""
    resin, design = exposed.process.resin, exposed.design
    box = grown(exposed.box, _RIM_FWHM * exposed.fwhm)
    field = window(exposed, box, resin.critical_dose, _PIXELS // 2)
    sheet, ax = map_sheet(box, below=0.88)
    pixels = coloured(field.dose / resin.over_dose, CIVIDIS)
    pixels[field.dose > resin.over_dose] = rgb(OVER)
    ax.backed(CIVIDIS[0])
    ax.image(pixels, field.extent)
    marks = [Mark(f"above {resin.over_dose:g} ×", fill=OVER, pen=_RIM)]
    if design:
        ax.design(design, pen=_EDGE)
        marks.append(Mark("design", pen=Line("#000000")))
    add_contour(ax, field.grid.x(), field.grid.y(), field.dose, 1.0, Line("#ffffff", 0.9))
    ax.close("x, mm", "y, mm")
    key = ColourKey(CIVIDIS, (0, resin.over_dose), "dose ÷ critical dose", above=OVER)
    _key(sheet, key, 0.88)
    sheet.legend([*marks, Mark("critical dose (white)", fill="#666666", pen=Line("#ffffff"))])
    return sheet.svg()


def add_contour(ax: Axes, x: Floats, y: Floats, values: Floats, level: float, pen: Line) -> None:
    """The lines on which values (rows, columns) at x (columns,) and y (rows,) have a level."""
    if values.min() < level < values.max():
        for line in contour_generator(x, y, values).lines(level):
            ax.line(np.asarray(line), pen)


def cure_map(exposed: ExposedProgram, done: str = "cure") -> str:
    """The area that cures; against the design, if there is one: right, too much, too little."""
    sheet, ax = _cure_sheet(exposed, exposed.design, exposed.box, exposed.process, below=0.35)
    ax.close("x, mm", "y, mm")
    sheet.legend(_cure_marks(done) if exposed.design else [Mark(f"{done}s", fill=RIGHT, pen=_RIM)])
    return sheet.svg()


def _cure_sheet(
    exposure: ExposedProgram | Limit, design: Design | None, around: Box, process: Process, below: float
) -> tuple[Paper, Axes]:
    """The cured area in a box and its surroundings, with room for a legend of `below` inches."""
    box = grown(around, _RIM_FWHM * optics.fwhm(process.spot))
    field = window(exposure, box, process.resin.critical_dose, _PIXELS)
    sheet, ax = map_sheet(box, below=below)
    ax.image(cure_picture(field, design), field.extent)
    return sheet, ax


def limit_map(limit: Limit, design: Design, process: Process, done: str = "cure") -> str:
    """The area that the best exposure cures, against the design, with unprintable places marked."""
    sheet, ax = _cure_sheet(limit, design, design.bounds, process, below=0.55)
    ax.design(design, pen=_EDGE)
    marks = _cure_marks(done)
    for label, dot in _RINGS.items():
        points = np.array([one.at for one in limit.unprintable if _ring(one) == label]).reshape(-1, 2)
        if len(points):
            ax.dots(points, dot)
            marks.append(Mark(label, dot=dot))
    ax.close("x, mm", "y, mm")
    sheet.legend(marks, columns=3)
    return sheet.svg()


def zooms(exposed: ExposedProgram, design: Design, places: Sequence[Place], done: str = "cure") -> str:
    """The worst places enlarged: the cured area, the design's edge and the lines of the toolpath."""
    shown, fwhm, critical = places[:ZOOMED], exposed.fwhm, exposed.process.resin.critical_dose
    side, rows = (WIDTH - 1.3) / 2, (len(places[:ZOOMED]) + 1) // 2
    sheet = Paper(WIDTH, rows * (side + 0.62) + 0.35)
    for i, place in enumerate(shown):
        column, row = i % 2, rows - 1 - i // 2
        x0, y0, x1, y1 = box = grown((*place.xy, *place.xy), ZOOM_FWHM * fwhm)
        at = (0.55 + column * (side + 0.65), 0.72 + row * (side + 0.62), side, side)
        ax = Axes(sheet, at, (x0, x1), (y0, y1))
        field = window(exposed, box, critical, _PIXELS // 3)
        ax.image(cure_picture(field, design), field.extent)
        ax.design(design, pen=Line("#000000", 0.9))
        _add_lines(ax, exposed.toolpath, box)
        ax.dots(np.array([place.xy]), Dot("o", "none", 9, Line(INK)))
        ax.close(title=f"{i + 1}:  {place.amount}")
    sheet.legend([*_cure_marks(done)[1:], Mark("laser line", pen=_LASER_LINE)])
    return sheet.svg()


def epe_map(edges: Edges, design: Design, process: Process, places: Sequence[Place]) -> str:
    """The edge error along the contour, the worst places numbered."""
    fwhm = optics.fwhm(process.spot)
    box = grown(design.bounds, max(_RIM_FWHM * fwhm, 0.06 * max(design.size)))
    sheet, ax = map_sheet(box)
    ax.design(design, fill="#f1f3f5")
    error, printed, size = edges.epe / fwhm, ~edges.missing, _dot_size(design, box)
    limit = max(0.05, float(np.percentile(np.abs(error[printed]), 99))) if printed.any() else 2.0
    step = np.rint(np.clip(error / limit, -1, 1) * _SHADES).astype(int)
    # The large errors last, so that they lie on top.
    for k in sorted(range(-_SHADES, _SHADES + 1), key=abs):
        (colour,) = hexes(np.array([0.5 + 0.5 * k / _SHADES]), EPE_STOPS)
        ax.specks(edges.xy[printed & (step == k)], colour, size)
    ax.specks(edges.xy[edges.missing], "#000000", size)
    _number(ax, places, edges, box)
    ax.close("x, mm", "y, mm")
    label = "edge error, FWHM   (blue: inside, red: outside"
    label += "; black: no edge)" if edges.missing.any() else ")"
    _key(sheet, ColourKey(EPE_STOPS, (-limit, limit), label, below=UNDER, above=OVER), 0.6)
    return sheet.svg()


def _lit(path: Toolpath) -> Toolpath:
    """The toolpath from its first exposing move to its last."""
    lit = np.flatnonzero(path.on)
    if not len(lit):
        return path
    first, last = int(lit[0]), int(lit[-1]) + 1
    return Toolpath(path.xy[first : last + 1], path.power[first:last], path.speed[first:last])


def _power_range(path: Toolpath, machine: Machine) -> tuple[float, float]:
    lit = path.power[path.on]
    low, high = (float(lit.min()), float(lit.max())) if len(lit) else (0.0, machine.power_max)
    return (low, high) if high - low > machine.power_step / 2 else (0.0, high or 1.0)


def _add_moves(ax: Axes, path: Toolpath, limits: tuple[float, float], width: float) -> None:
    """Travels dashed, then the exposing moves from the weakest to the strongest class of power."""
    pieces = np.stack([path.xy[:-1], path.xy[1:]], axis=1)
    ax.pieces(pieces[~path.on], _TRAVEL)
    low, high = limits
    share = np.clip((path.power - low) / (high - low), 0, 1)
    shade = np.where(path.on, np.rint(share * (_SHADES - 1)), -1)
    for k, colour in enumerate(hexes(np.linspace(0, 1, _SHADES), POWER_STOPS)):
        ax.pieces(pieces[shade == k], Line(colour, width))


def _line_width(path: Toolpath, box: Box) -> float:
    """Points: a third of the mean distance between lines, within visible limits."""
    lit = float(path.length[path.on].sum())
    pitch = (box[2] - box[0]) * (box[3] - box[1]) / max(lit, 1e-9)
    return float(np.clip(pitch / (box[2] - box[0]) * WIDTH * 72 / 4, 0.35, 1.3))


def _dot_size(design: Design, box: Box) -> float:
    """Points: dots touch on a contour of moderate length, and stay apart on a long one."""
    crowded = design.area.length / max(box[2] - box[0], box[3] - box[1])
    return float(np.sqrt(np.clip(60 / crowded, 3, 14)))


def _key(sheet: Paper, scale: ColourKey, below: float) -> None:
    """The colours of a map with so many inches below it."""
    add_key(sheet, scale, 0.66 + _ARROW, below - 0.17, WIDTH - 0.81 - 2 * _ARROW)


def _cure_marks(done: str) -> list[Mark]:
    shown = ((RIGHT, f"{done}s as drawn"), (OVER, "too much"), (UNDER, "missing"))
    return [Mark(label, fill=colour, pen=_RIM) for colour, label in shown]


def _ring(one: Unprintable) -> str:
    """Key of `_RINGS`."""
    lost, at_a_dose, off = _RINGS
    return off if not one.lost else lost if one.exposure == 1 else at_a_dose


def _add_lines(ax: Axes, toolpath: Toolpath, box: Box) -> None:
    """The exposing moves that come near `box`."""
    pieces = np.stack([toolpath.xy[:-1], toolpath.xy[1:]], axis=1)
    low, high = pieces.min(axis=1), pieces.max(axis=1)
    hit = toolpath.on & (high > box[:2]).all(axis=1) & (low < box[2:]).all(axis=1)
    ax.pieces(pieces[hit], _LASER_LINE)


def _number(ax: Axes, places: Sequence[Place], edges: Edges, box: Box) -> None:
    """Rings around the places, with their numbers beside them, not over each other or the contour."""
    if not places:
        return
    contour = cKDTree(edges.xy)
    taken: list[Floats] = [np.array(p.xy) for p in places]
    step = max(box[2] - box[0], box[3] - box[1]) / 26
    for i, place in enumerate(places):
        xy = np.array(place.xy)
        label = _free_spot(xy, np.array(place.normal), taken, contour, step, box)
        taken.append(label)
        ax.line(np.stack([xy, label]), Line(INK, 0.6))
        ax.dots(xy[None], Dot("o", "none", 8, Line(INK)))
        ax.dots(label[None], Dot("o", "#ffffff", 13))
        ax.note(str(i + 1), label, (0, 0), text_anchor="middle", font_weight="bold")


def _free_spot(
    xy: Floats, normal: Floats, taken: Sequence[Floats], contour: cKDTree, step: float, box: Box
) -> Floats:
    """A place for a label near `xy`, outwards if possible, at least `step` from all in `taken`."""
    base = np.arctan2(normal[1], normal[0])
    turns = np.array([0, 0.5, -0.5, 1, -1, 1.6, -1.6, 2.4, -2.4, np.pi]) + base
    ways = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    spots = (xy + step * np.array([1.2, 1.9, 2.7, 3.5])[:, None, None] * ways).reshape(-1, 2)
    room = np.min([np.hypot(*(spots - t).T) for t in taken], axis=0) / step
    room = np.minimum(room, 2 * contour.query(spots)[0] / step)
    inner = grown(box, -0.4 * step)
    room[~((spots >= inner[:2]) & (spots <= inner[2:])).all(axis=1)] = -1
    # The first free spot, or else the spot with most room.
    return np.asarray(spots[int(np.argmax(np.minimum(room, 1)))])
