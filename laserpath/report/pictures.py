"""The pictures of the report with their captions: maps, charts and histograms; each function returns an SVG.

The viewer replaces the maps where it runs.

Colours: overcure is vermilion and undercure blue everywhere, with grey between (Okabe–Ito, safe for
colour-blind readers); power as in the toolpath's SVG; dose in cividis, made for the same readers. Lengths
are in mm, edge errors in FWHM and µm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle

import numpy as np
import shapely
from contourpy import contour_generator
from scipy.spatial import cKDTree

from laserpath.base.arrays import Floats
from laserpath.physics import optics
from laserpath.physics.dose.uneven import acting
from laserpath.report.canvas import (
    CIVIDIS,
    DASHED,
    FAINT,
    INK,
    OVER,
    RIGHT,
    UNDER,
    WIDTH,
    Axes,
    Box,
    ColourKey,
    Dot,
    Line,
    Mark,
    Paper,
    add_key,
    coloured,
    grown,
    hexes,
    map_sheet,
    rgb,
)
from laserpath.report.data import (
    PageData,
    Picture,
    Place,
    ShownProgram,
    Track,
    coarser,
    coverage,
    cure_picture,
    strips,
    window,
)
from laserpath.report.toolpath_svg import DESIGN_FILL, POWER_STOPS, near
from laserpath.report.wording import focus, latitude
from laserpath.types import Design, DoseMap, Machine, Process, Toolpath
from laserpath.types.results import Edges, Limit, Measurement, ProcessWindow, Unprintable

_BINS = 60
_PIXELS_OF_SHARE = 120
"""Pixels each way of a map that is smooth over many spots."""
_AROUND_FWHM = 1.0
"""Width of the strip around the design, in FWHM."""
_LIT = 0.05
"""Smallest dose that counts as exposed, in critical doses."""
_COUNTED = 1 << 20
"""Pixels of which a histogram tells the dose: of more, every second or third one each way."""
_INSIDE, _OUTSIDE = "#5b7f95", "#e69f00"


def doses(exposed: ShownProgram) -> str:
    """The dose by area, inside the design and around it; of all that is exposed if there is no design."""
    resin = exposed.process.resin
    every = math.ceil(math.sqrt(exposed.dose.size / _COUNTED))
    dose = exposed.dose[::every, ::every]
    lit = dose[dose > _LIT * resin.critical_dose] / resin.critical_dose
    top = 1.1 * float(max(np.percentile(lit, 99.9), 1.0)) if lit.size else 1.1
    bins, heights, marks = np.linspace(0, top, _BINS + 1), [], []
    for height, (colour, label) in zip(_areas_by_dose(exposed, bins, every), _parts(exposed), strict=True):
        heights.append((100 * height / max(float(height.sum()), 1e-12), colour))
        marks.append(Mark(label, fill=colour))
    sheet = Paper(WIDTH, 2.75)
    ax = Axes(sheet, (0.62, 1.0, WIDTH - 0.9, 1.6), (0, top), (0, _room(*(height for height, _ in heights))))
    for height, colour in heights:
        ax.area(stairs(bins, height), colour, opacity=0.75)
    lines = [(1.0, Line(INK), "critical dose")]
    if resin.over_dose < top:
        lines.append((resin.over_dose, Line(OVER, 1, DASHED), f"limit, {resin.over_dose:g} ×"))
    for at, pen, label in lines:
        ax.upright(at, pen)
        marks.append(Mark(label, pen=pen))
    ax.close("dose ÷ critical dose", "share of area, %")
    sheet.legend(marks, columns=2)
    return sheet.svg()


def stairs(bins: Floats, height: Floats, base: Floats | float = 0.0) -> Floats:
    """(N, 2) the outline of bars between bins (N + 1,), from `base` up to the heights (N,)."""
    x = np.repeat(bins, 2)[1:-1]
    upper, lower = np.repeat(height, 2), np.repeat(np.broadcast_to(base, height.shape), 2)
    return np.concatenate([np.stack([x, upper], axis=1), np.stack([x, lower], axis=1)[::-1]])


def _room(*heights: Floats) -> float:
    """The upper limit of an axis on which all bars have room."""
    return 1.05 * max((float(height.max(initial=0)) for height in heights), default=0.0) or 1.0


def _parts(exposed: ShownProgram) -> tuple[tuple[str, str], ...]:
    """(colour, label) of each histogram of the dose."""
    if exposed.design is None:
        return ((_INSIDE, "exposed"),)
    return ((_INSIDE, "inside the design"), (_OUTSIDE, f"outside, up to {_AROUND_FWHM:g} FWHM from it"))


def _areas_by_dose(exposed: ShownProgram, bins: Floats, every: int) -> Floats:
    """(parts, bins) each `every`-th pixel of `_parts` by critical doses; those above are in the last bin."""
    critical, areas = exposed.process.resin.critical_dose, []
    if exposed.design is not None:
        around = exposed.design.area.buffer(_AROUND_FWHM * exposed.fwhm, quad_segs=4)
        parts = [g for g in shapely.get_parts(around) if g.geom_type == "Polygon"]
        areas = [exposed.design, Design(shapely.MultiPolygon(parts))]
    total = np.zeros((len(_parts(exposed)), len(bins) - 1))
    some = slice(None, None, every)
    grid, doses = exposed.grid.part(some, some), exposed.dose[some, some]
    for rows in strips(grid):
        dose = doses[rows] / critical
        shares: list[Floats] = [(dose > _LIT).astype(np.float64)]
        if areas:
            inside, near = (coverage(one, grid.part(rows, slice(None))) for one in areas)
            shares = [inside, np.maximum(near - inside, 0)]
        for sums, share in zip(total, shares, strict=True):
            seen = share > 0
            sums += np.histogram(np.clip(dose[seen], 0, bins[-1]), bins, weights=share[seen])[0]
    return total


def powers_and_speeds(track: Track) -> str:
    """Power and speed, as executed, by time with the laser on."""
    sheet = Paper(WIDTH, 2.1)
    on, time = track.on, np.diff(track.t)
    wide = (WIDTH - 1.5) / 2
    for left, values, name, colour in (
        (0.62, track.power[on], "power, mW", "#86216b"),
        (1.32 + wide, track.speed[on], "speed, mm/s", "#5b7f95"),
    ):
        top = float(values.max(initial=0.0)) * 1.02 or 1.0
        share = 100 * time[on] / max(float(time[on].sum()), 1e-12)
        height, bins = np.histogram(values, np.linspace(0, top, 41), weights=share)
        ax = Axes(sheet, (left, 0.5, wide, 1.45), (0, top), (0, _room(height)))
        ax.area(stairs(bins, height), colour)
        ax.close(name, "share of time, %")
    return sheet.svg()


_LINES = ((INK, "o"), ("#86216b", "s"), ("#e69f00", "^"))
"""Colour and mark of the lines in focus and out of it."""
_KEPT_COLOUR = "#e2f3ec"
_MIDDLE = Line(FAINT, 0.8)
_MOST_STEPS = 900
"""Steps of a course along the path; more show no more."""


def epe_histogram(exposure: Measurement, start: Measurement | None, fwhm: float) -> str:
    """Histogram of the edge errors, with that of the starting curve if there is one."""
    edges, error = exposure.edges, exposure.edges.epe / fwhm
    before = start.edges.epe / fwhm if start else np.zeros(0)
    drawn = before[~start.edges.missing] if start else before
    known = np.concatenate([error[~edges.missing], drawn, [0.0]])
    limit = float(np.clip(np.percentile(np.abs(known), 98) * 1.2, 0.1, 2.05))
    bins = np.linspace(-limit, limit, 62)
    away, near, first = (
        100 / max(len(every), 1) * np.histogram(np.clip(some, -limit, limit), bins)[0]
        for some, every in ((error[~edges.corner], error), (error[edges.corner], error), (before, before))
    )
    sheet, top = Paper(WIDTH, 2.95), 1.05 * float(max((away + near).max(), first.max()))
    ax = Axes(sheet, (0.62, 0.72, WIDTH - 0.9, 1.65), (-limit, limit), (0, top or 1.0))
    marks = [Mark("away from corners", fill="#5b7f95"), Mark("near corners", fill="#e69f00")]
    ax.area(stairs(bins, away), "#5b7f95")
    ax.area(stairs(bins, away + near, away), "#e69f00")
    if start:
        ax.line(stairs(bins, first)[: 2 * len(first)], Line(INK))
        marks.append(Mark("starting curve", pen=Line(INK)))
    ax.upright(0, _MIDDLE)
    ax.close("edge error, FWHM", "share of points, %")
    ax.scale("top", "µm   (inside the design ← → outside)", factor=1000 * fwhm)
    sheet.legend(marks)
    return sheet.svg()


def process_window(window: ProcessWindow, limit: float, fwhm: float) -> str:
    """Mean and 95 % edge error against dose, a line for each width of the spot.

    limit: of the 95 %, FWHM, dashed. The doses that keep it in focus are shaded.
    """
    sheet, left, wide = Paper(WIDTH, 4.0), 0.62, WIDTH - 1.24
    off = 100 * (window.dose - 1)
    mean, most = (
        Axes(sheet, (left, bottom, wide, 1.4), (off[0] - 1, off[-1] + 1), (0, _top(errors, limit)))
        for bottom, errors in ((2.4, window.epe_mean), (0.85, window.epe_p95))
    )
    kept = latitude(window.dose, window.epe_p95[0], limit)
    if kept:
        low, high, top = 100 * (kept.low - 1), 100 * (kept.high - 1), most.y[1]
        most.area(np.array([[low, 0], [high, 0], [high, top], [low, top]]), _KEPT_COLOUR)
    marks = []
    for ax, errors in ((mean, window.epe_mean), (most, window.epe_p95)):
        ax.upright(0, _MIDDLE)
        for width, error, (colour, kind) in zip(window.width, errors, cycle(_LINES), strict=False):
            mark = Mark(focus(width), pen=Line(colour, 1.3), dot=Dot(kind, colour, 4))
            ax.line(np.stack([off, error], axis=1), Line(colour, 1.3))
            ax.dots(np.stack([off, error], axis=1), Dot(kind, colour, 4))
            marks += [mark] if ax is mean else []
    most.across(limit, Line(FAINT, 1, DASHED))
    mean.close("", "mean, FWHM", numbers=False)
    most.close("dose, % off the planned one", "95 %, FWHM")
    for ax in (mean, most):
        ax.scale("right", "µm", factor=1000 * fwhm)
    sheet.legend(marks)
    return sheet.svg()


def _top(errors: Floats, limit: float) -> float:
    """The upper end of an axis for errors (F, D), FWHM. Lines may leave it: lost edges would flatten all."""
    top = max(4 * limit, 2.5 * float(errors[0].min()))
    return max(min(1.1 * float(errors.max()), top), limit)


def power_along(toolpath: Toolpath, machine: Machine) -> str:
    """Light and speed as written against the exposed length."""
    sheet, on = Paper(WIDTH, 3.1), toolpath.on
    length, power, speed = toolpath.length[on], toolpath.power[on], toolpath.speed[on]
    for bottom, values, name, colour, top in (
        (1.8, power, "power, mW", "#86216b", machine.power_max),
        (0.5, speed, "speed, mm/s", "#5b7f95", max(machine.speed_max)),
    ):
        highest = 1.12 * max(top, float(values.max(initial=0)))
        ax = Axes(
            sheet, (0.62, bottom, WIDTH - 0.74, 1.15), (0, max(float(length.sum()), 1e-9)), (0, highest)
        )
        _add_course(ax, length, values, colour)
        ax.across(top, Line(FAINT, 0.8, DASHED))
        last = bottom < 1
        ax.close("exposed length, mm   (dashed: the machine's maximum)" if last else "", name, numbers=last)
    return sheet.svg()


def loss_history(loss: Floats) -> str:
    """The loss at each iteration, on a logarithmic scale where it is positive."""
    low, high = float(loss.min()), float(loss.max())
    log = low > 0 and high > 3 * low
    rim = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    y = (low * (low / high) ** 0.05, high * (high / low) ** 0.05) if log else (low - rim, high + rim)
    sheet = Paper(WIDTH, 2.2)
    ax = Axes(sheet, (0.62, 0.5, WIDTH - 0.74, 1.6), (0, len(loss) + 1), y, log=log)
    course = np.stack([np.arange(1, len(loss) + 1), loss], axis=1)
    ax.line(course, Line("#5b7f95", 1.2))
    ax.dots(course[-1:], Dot("o", OVER, 5))
    ax.note(f"{loss[-1]:.3g}", course[-1], (-5, -12), text_anchor="end")
    ax.close("iteration", "loss")
    return sheet.svg()


def _add_course(ax: Axes, length: Floats, values: Floats, colour: str) -> None:
    """Values along the length: in each step their range and, over it, their mean."""
    if not len(values):
        return
    end, pen = np.cumsum(length), Line(colour, 0.9)
    if len(values) <= _MOST_STEPS:
        ax.line(stairs(np.concatenate([[0], end]), values)[: 2 * len(values)], pen)
        return
    which = np.minimum(((end - length / 2) / end[-1] * _MOST_STEPS).astype(int), _MOST_STEPS - 1)
    first = np.flatnonzero(np.diff(which, prepend=-1))
    low, high = np.minimum.reduceat(values, first), np.maximum.reduceat(values, first)
    mean = np.add.reduceat(values * length, first) / np.maximum(np.add.reduceat(length, first), 1e-12)
    bins = np.append(which[first], _MOST_STEPS) * end[-1] / _MOST_STEPS
    ax.area(stairs(bins, high, low), colour, opacity=0.3)
    ax.line(stairs(bins, mean)[: 2 * len(mean)], pen)


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


def toolpath_map(exposed: ShownProgram) -> str:
    """The moves over the design, if there is one, coloured by power; travels dashed."""
    design, machine = exposed.design, exposed.process.machine
    path = near(exposed.light, design) if design else exposed.light.exposing()
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


def dose_map(exposed: ShownProgram) -> str:
    """Dose ÷ critical dose, with the critical contour, the design's edge and the area above the limit."""
    resin, design = exposed.process.resin, exposed.design
    box = grown(exposed.box, _RIM_FWHM * exposed.fwhm)
    field = coarser(window(exposed, box, resin.critical_dose, _PIXELS // 2))
    sheet, ax = map_sheet(box, below=0.88)
    dose = field.dose / field.critical_dose
    pixels = coloured(dose / resin.over_dose, CIVIDIS)
    pixels[dose > resin.over_dose] = rgb(OVER)
    ax.backed(CIVIDIS[0])
    ax.image(pixels, field.extent)
    marks = [Mark(f"above {resin.over_dose:g} ×", fill=OVER, pen=_RIM)]
    if design:
        ax.design(design, pen=_EDGE)
        marks.append(Mark("design", pen=Line("#000000")))
    add_contour(ax, field.grid.x(), field.grid.y(), dose, 1.0, Line("#ffffff", 0.9))
    ax.close("x, mm", "y, mm")
    key = ColourKey(CIVIDIS, (0, resin.over_dose), "dose ÷ critical dose", above=OVER)
    _key(sheet, key, 0.88)
    sheet.legend([*marks, Mark("critical dose (white)", fill="#666666", pen=Line("#ffffff"))])
    return sheet.svg()


def evenness_map(exposed: ShownProgram, made: DoseMap) -> str:
    """What share of the dose acts at each place, in percent beside what the process says, and the design."""
    box = grown(exposed.box, _RIM_FWHM * exposed.fwhm)
    x, y = (np.linspace(box[k], box[k + 2], _PIXELS_OF_SHARE) for k in (0, 1))
    places = np.stack(np.meshgrid(x, y), axis=-1)
    percent = 100 * (acting(made, places.reshape(-1, 2))[0].reshape(places.shape[:2]) - 1)
    low, high = float(percent.min()), float(percent.max())
    middle, half = (low + high) / 2, max((high - low) / 2, 1.0)
    sheet, ax = map_sheet(box, below=0.88)
    ax.image(coloured((percent - middle + half) / (2 * half), CIVIDIS), (box[0], box[2], box[1], box[3]))
    if exposed.design:
        ax.design(exposed.design, pen=_EDGE)
    add_contour(ax, x, y, percent, 0.0, Line("#ffffff", 0.9))
    ax.close("x, mm", "y, mm")
    _key(sheet, ColourKey(CIVIDIS, (middle - half, middle + half), "dose that acts, % more or less"), 0.88)
    sheet.legend([Mark("as the resin's profile says (white)", fill="#666666", pen=Line("#ffffff"))])
    return sheet.svg()


def add_contour(ax: Axes, x: Floats, y: Floats, values: Floats, level: float, pen: Line) -> None:
    """The lines on which values (rows, columns) at x (columns,) and y (rows,) have a level.

    Their points are as many as are seen (Douglas and Peucker 1973).
    """
    if values.min() < level < values.max():
        for line in contour_generator(x, y, values).lines(level):
            seen = shapely.simplify(shapely.LineString(line), ax.unseen, preserve_topology=False)
            ax.line(shapely.get_coordinates(seen), pen)


def cure_map(exposed: ShownProgram, done: str = "cure") -> str:
    """The area that cures; against the design, if there is one: right, too much, too little."""
    sheet, ax = _cure_sheet(exposed, exposed.design, exposed.box, exposed.process, below=0.35)
    ax.close("x, mm", "y, mm")
    sheet.legend(_cure_marks(done) if exposed.design else [Mark(f"{done}s", fill=RIGHT, pen=_RIM)])
    return sheet.svg()


def _cure_sheet(
    exposure: ShownProgram | Limit, design: Design | None, around: Box, process: Process, below: float
) -> tuple[Paper, Axes]:
    """The cured area in a box and its surroundings, with room for a legend of `below` inches."""
    box = grown(around, _RIM_FWHM * optics.fwhm(process.spot))
    field = window(exposure, box, process.resin.critical_dose, _PIXELS)
    sheet, ax = map_sheet(box, below=below)
    ax.image(*cure_picture(field, design))
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


def zooms(exposed: ShownProgram, design: Design, places: Sequence[Place], done: str = "cure") -> str:
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
        ax.image(*cure_picture(field, design))
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


def maps(exposed: ShownProgram, places: Sequence[Place], done: str) -> Iterator[Callable[[], Picture]]:
    """What draws maps of path, cure and dose, and of the edge error if there is a design: each takes a while.

    They may be drawn at the same time.
    """
    over = " over the design" if exposed.design else ""
    yield lambda: Picture.from_svg(
        f"{'Design and toolpath' if exposed.design else 'Toolpath'}",
        toolpath_map(exposed),
        f"The moves of the laser{over}.",
        f"{'Grey is the design. ' if exposed.design else ''}The laser's moves are coloured by power.",
    )
    yield partial(cured, exposed, done)
    yield lambda: Picture.from_svg(
        "Dose",
        dose_map(exposed),
        "Map of the dose in critical doses.",
        "The white line is the critical dose: the printed edge."
        + (" The black one is the design." if exposed.design else ""),
    )
    if (made := exposed.process.spot.dose_map) is not None:
        yield partial(_evenness, exposed, made)
    if (design := exposed.design) and (edges := exposed.edges):
        yield lambda: Picture.from_svg(
            "Edge error along the contour",
            epe_map(edges, design, exposed.process, places),
            "Map of the edge placement error, worst places numbered.",
            "The numbers are those of the list of worst places.",
        )


def _evenness(exposed: ShownProgram, made: DoseMap) -> Picture:
    """What share of the dose acts at each place."""
    prints = f", told by {made.prints} print{'s' * (made.prints > 1)}" if made.prints else ""
    return Picture.from_svg(
        "Where more or less of the dose acts",
        evenness_map(exposed, made),
        "Map of the share of the dose that acts at each place.",
        f"From the spot's dose map{prints}. A plan makes up for it: where more acts, it exposes less.",
    )


def cured(exposed: ShownProgram, done: str) -> Picture:
    """The area that cures, against the design if there is one."""
    return Picture.from_svg(
        f"What will {done}",
        cure_map(exposed, done),
        f"The predicted {done}{' against the design' if exposed.design else ''}.",
        "As executed by the controller."
        + (" Vermilion is outside the drawing, blue is lacking." if exposed.design else ""),
    )


def enlarged(exposed: ShownProgram, places: Sequence[Place], done: str) -> Iterator[Picture]:
    """The worst places enlarged, if there are any."""
    if exposed.design and places:
        yield Picture.from_svg(
            "The worst places, enlarged",
            zooms(exposed, exposed.design, places, done),
            "The worst places enlarged.",
            f"Each is {2 * ZOOM_FWHM:g} spots wide; axes in mm.",
        )


def distributions(exposed: ShownProgram) -> Iterator[Picture]:
    """Histograms of dose, power and speed."""
    yield Picture.from_svg(
        "Doses",
        doses(exposed),
        "Histogram of the dose" + (" inside the design and around it." if exposed.design else "."),
        "As executed. "
        + (
            "Inside should lie above the critical dose, outside below it."
            if exposed.design
            else "Above the critical dose it cures."
        ),
    )
    executed = exposed.track
    if executed.on.any():
        yield Picture.from_svg(
            "Powers and speeds",
            powers_and_speeds(executed),
            "Histograms of power and speed.",
            "While the laser is on, as executed.",
        )


def errors(data: PageData) -> Iterator[Picture]:
    """The edge errors, as planned and with dose or focus off."""
    executed, fwhm = data.report.executed, data.fwhm
    yield Picture.from_svg(
        "Edge errors",
        epe_histogram(executed, data.report.start if data.planned else None, fwhm),
        "Histogram of the edge errors.",
        "As executed; larger errors are counted in the outermost bars.",
    )
    if data.report.window:
        yield Picture.from_svg(
            "Edge errors if dose or focus is off",
            process_window(data.report.window, data.tolerance, fwhm),
            "Edge error against dose, in focus and with a wider spot.",
            _window_caption(data),
        )


def courses(exposed: ShownProgram, data: PageData | None) -> Iterator[Picture]:
    """Power and speed along the path, and the loss of the optimiser."""
    yield Picture.from_svg(
        "Power and speed along the path",
        power_along(exposed.light, exposed.process.machine),
        "Power and speed against the length exposed.",
        "As written, without the travels.",
    )
    if data and len(data.loss):
        yield Picture.from_svg(
            "Loss of the optimiser",
            loss_history(data.loss),
            "Loss against iteration.",
            "Jumps are where the optimiser goes to its next stage.",
        )


def unprintable(data: PageData, limit: Limit) -> Picture | None:
    """The places that even the best exposure misses, if there are any."""
    places = len(limit.unprintable)
    if not places:
        return None
    return Picture.from_svg(
        f"What light without a path would {data.done}",
        limit_map(limit, data.design, data.process, data.done),
        f"The best that this spot can do against the design, with marks at {places} "
        f"place{'s' * (places > 1)} that cannot be printed as drawn.",
        "The black line is the design. Marked is what even the best light misses.",
    )


def _window_caption(data: PageData) -> str:
    given = data.settings is not None and data.settings.max_epe_fwhm is not None
    order = data.process.resin.order
    return (
        "As executed, with all of the dose off alike, and with a spot that is wider at the same power. "
        f"Dashed: {data.tolerance:g} FWHM, {'the tolerance asked for' if given else 'what counts as good'}; "
        "shaded: the doses that keep it in focus, if any."
        + (f" The dose goes with the power to the {order}." if order > 1 else "")
    )
