"""The report's maps: each function returns one as a PNG. `plots` has the charts.

Colours: overcure is vermilion and undercure blue everywhere, with grey between (Okabe–Ito, safe for
colour-blind readers); power as in the toolpath's SVG; dose in matplotlib's cividis, made for the same
readers. Lengths are in mm, edge errors in FWHM and µm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch as Swatch
from scipy.spatial import cKDTree

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.report.canvas import (
    FAINT,
    INK,
    WIDTH,
    add_design,
    add_segments,
    axes,
    legend,
    map_sheet,
    png,
    sheet,
)
from laserpath.report.data import ExposedProgram
from laserpath.report.raster import OVER, RIGHT, UNDER, Box, cure_picture, grown, window
from laserpath.report.toolpath_svg import DESIGN_FILL, POWER_STOPS, near
from laserpath.report.worst_places import Place
from laserpath.types import Design, Machine, Process, Toolpath
from laserpath.types.results import Edges, Limit, Unprintable

POWER_MAP = LinearSegmentedColormap.from_list("power", POWER_STOPS)
EPE_MAP = LinearSegmentedColormap.from_list("epe", (UNDER, "#c9c9c9", OVER))

_PIXELS = 800
"""Pixels along the longer side of a map. More show edges sharper and make the page larger."""
_SHADES = 24
"""Colours that powers are drawn in; more draw slower."""
_RIM_FWHM = 2.0
"""Margin of a map around its content, in FWHM."""
ZOOM_FWHM = 4.0
"""Half the width of an enlarged place, in FWHM."""
ZOOMED = 4
"""Number of places shown enlarged."""

_RINGS: dict[str, dict[str, Any]] = {
    "lost": {"marker": "o", "mec": INK, "mew": 1.6, "ms": 12},
    "lost at ±10 % dose": {"marker": "s", "mec": INK, "mew": 1.1, "ms": 10},
    "edge is off": {"marker": "D", "mec": INK, "mew": 1.0, "ms": 7},
}
"""Marks of places that cannot be printed, the worst first; they differ in shape, not in colour."""


def toolpath_map(exposed: ExposedProgram) -> bytes:
    """The moves over the design, if there is one, coloured by power; travels dashed."""
    design, machine = exposed.design, exposed.process.machine
    path = near(exposed.light, design) if design else _lit(exposed.light)
    points = np.concatenate([np.array(exposed.box).reshape(2, 2), path.xy])
    box = grown((*points.min(axis=0), *points.max(axis=0)), _RIM_FWHM * exposed.fwhm)
    figure, ax, key = map_sheet(box, below=0.88)
    if design:
        add_design(ax, design, facecolor=DESIGN_FILL, edgecolor="none")
    norm = _power_range(path, machine)
    _add_moves(ax, path, norm, _line_width(path, box))
    ax.plot(*path.xy[:1].T, "o", color="#00c08b", mec=INK, ms=6)
    ax.plot(*path.xy[-1:].T, "s", color="white", mec=INK, ms=5)
    _colour_key(figure, key, ScalarMappable(norm, POWER_MAP), "laser power, mW")
    marks = [
        Line2D([], [], ls="", marker="o", color="#00c08b", mec=INK, label="start"),
        Line2D([], [], ls="", marker="s", color="white", mec=INK, label="end"),
        Line2D([], [], lw=0.8, ls=(0, (5, 4)), color="#4a86b8", label="travel, laser off"),
    ]
    legend(figure, marks)
    return png(figure)


def dose_map(exposed: ExposedProgram) -> bytes:
    """Dose ÷ critical dose, with the critical contour, the design's edge and the area above the limit."""
    resin, design = exposed.process.resin, exposed.design
    box = grown(exposed.box, _RIM_FWHM * exposed.fwhm)
    field = window(exposed, box, resin.critical_dose, _PIXELS // 2)
    figure, ax, key = map_sheet(box, below=0.88)
    scale = colormaps["cividis"].with_extremes(over=OVER)
    norm = Normalize(0, resin.over_dose)
    image = ax.imshow(field.dose, origin="lower", extent=field.extent, cmap=scale, norm=norm, aspect="auto")
    ax.set_facecolor(scale(0.0))
    x, y = field.grid.x(), field.grid.y()
    if field.dose.min() < 1 < field.dose.max():
        ax.contour(x, y, field.dose, levels=[1.0], colors="white", linewidths=0.9)
    _colour_key(figure, key, image, "dose ÷ critical dose", extend="max")
    marks: list[object] = [
        _swatch(OVER, f"above {resin.over_dose:g} ×"),
        Swatch(facecolor="#666666", edgecolor="white", label="critical dose (white)"),
    ]
    if design:
        add_design(ax, design, fill=False, edgecolor="black", linewidth=0.5)
        marks.insert(1, Line2D([], [], color="black", lw=1, label="design"))
    legend(figure, marks)
    return png(figure)


def cure_map(exposed: ExposedProgram, done: str = "cure") -> bytes:
    """The area that cures; against the design, if there is one: right, too much, too little."""
    if exposed.design is None:
        figure, _ = _cure_sheet(exposed, None, exposed.box, exposed.process, below=0.35)
        legend(figure, [_swatch(RIGHT, f"{done}s")])
        return png(figure)
    figure, _ = _cure_sheet(exposed, exposed.design, exposed.box, exposed.process, below=0.35)
    legend(figure, _cure_marks(done))
    return png(figure)


def _cure_sheet(
    exposure: ExposedProgram | Limit, design: Design | None, around: Box, process: Process, below: float
) -> tuple[Figure, Axes]:
    """The cured area in a box and its surroundings, with room for a legend of `below` inches."""
    box = grown(around, _RIM_FWHM * optics.fwhm(process.spot))
    field = window(exposure, box, process.resin.critical_dose, _PIXELS)
    figure, ax, key = map_sheet(box, below=below)
    key.remove()
    ax.imshow(cure_picture(field, design), origin="lower", extent=field.extent, aspect="auto")
    return figure, ax


def limit_map(limit: Limit, design: Design, process: Process, done: str = "cure") -> bytes:
    """The area that the best exposure cures, against the design, with unprintable places marked."""
    figure, ax = _cure_sheet(limit, design, design.bounds, process, below=0.55)
    add_design(ax, design, fill=False, edgecolor="black", linewidth=0.5)
    marks: list[object] = list(_cure_marks(done))
    for label, style in _RINGS.items():
        points = np.array([one.at for one in limit.unprintable if _ring(one) == label]).reshape(-1, 2)
        if len(points):
            ax.plot(*points.T, ls="", mfc="none", **style)
            marks.append(Line2D([], [], ls="", mfc="none", **style, label=label))
    legend(figure, _by_rows(marks, 3), columns=3)
    return png(figure)


def zooms(exposed: ExposedProgram, design: Design, places: Sequence[Place], done: str = "cure") -> bytes:
    """The worst places enlarged: the cured area, the design's edge and the lines of the toolpath."""
    shown, fwhm, critical = places[:ZOOMED], exposed.fwhm, exposed.process.resin.critical_dose
    side, rows = (WIDTH - 1.3) / 2, (len(places[:ZOOMED]) + 1) // 2
    figure = sheet(WIDTH, rows * (side + 0.62) + 0.35)
    for i, place in enumerate(shown):
        column, row = i % 2, rows - 1 - i // 2
        ax = axes(figure, 0.55 + column * (side + 0.65), 0.72 + row * (side + 0.62), side, side)
        box = grown((*place.xy, *place.xy), ZOOM_FWHM * fwhm)
        field = window(exposed, box, critical, _PIXELS // 3)
        ax.set(xlim=(box[0], box[2]), ylim=(box[1], box[3]))
        ax.imshow(cure_picture(field, design), origin="lower", extent=field.extent, aspect="auto")
        add_design(ax, design, fill=False, edgecolor="black", linewidth=0.9)
        _add_lines(ax, exposed.toolpath, box)
        ax.locator_params(nbins=4)
        ax.set_title(f"{i + 1}:  {place.amount}", fontsize=10, color=INK, pad=3)
        ax.plot(*place.xy, "o", mfc="none", mec=INK, ms=9)
    legend(figure, [*_cure_marks(done)[1:], Line2D([], [], color="#7a7a7a", lw=0.8, label="laser line")])
    return png(figure)


def epe_map(edges: Edges, design: Design, process: Process, places: Sequence[Place]) -> bytes:
    """The edge error along the contour, the worst places numbered."""
    fwhm = optics.fwhm(process.spot)
    box = grown(design.bounds, max(_RIM_FWHM * fwhm, 0.06 * max(design.size)))
    figure, ax, key = map_sheet(box)
    add_design(ax, design, facecolor="#f1f3f5", edgecolor="none")
    error = edges.epe / fwhm
    printed = ~edges.missing
    limit = max(0.05, float(np.percentile(np.abs(error[printed]), 99))) if printed.any() else 2.0
    norm = Normalize(-limit, limit)
    # The large errors last, so that they lie on top.
    order = np.argsort(np.abs(error[printed]))
    xy, size = edges.xy[printed][order], _dot_size(design, box)
    dots = ax.scatter(
        xy[:, 0], xy[:, 1], c=error[printed][order], cmap=EPE_MAP, norm=norm, s=size, linewidths=0
    )
    ax.scatter(edges.xy[edges.missing, 0], edges.xy[edges.missing, 1], c="black", s=size, linewidths=0)
    _number(ax, places, edges, box)
    label = "edge error, FWHM   (blue: inside, red: outside"
    label += "; black: no edge)" if edges.missing.any() else ")"
    _colour_key(figure, key, dots, label, extend="both")
    return png(figure)


def _lit(path: Toolpath) -> Toolpath:
    """The toolpath from its first exposing move to its last."""
    lit = np.flatnonzero(path.on)
    if not len(lit):
        return path
    first, last = int(lit[0]), int(lit[-1]) + 1
    return Toolpath(path.xy[first : last + 1], path.power[first:last], path.speed[first:last])


def _power_range(path: Toolpath, machine: Machine) -> Normalize:
    lit = path.power[path.on]
    low, high = (float(lit.min()), float(lit.max())) if len(lit) else (0.0, machine.power_max)
    return Normalize(low, high) if high - low > machine.power_step / 2 else Normalize(0, high)


def _add_moves(ax: Axes, path: Toolpath, norm: Normalize, width: float) -> None:
    """Travels dashed, then the exposing moves from the weakest to the strongest class of power."""
    pieces = np.stack([path.xy[:-1], path.xy[1:]], axis=1)
    add_segments(ax, pieces[~path.on], edgecolor="#4a86b8", linewidth=0.5, linestyle=(0, (5, 4)))
    low, high = norm.vmin or 0.0, norm.vmax or 1.0
    share = np.clip((path.power - low) / (high - low), 0, 1)
    shade = np.where(path.on, np.rint(share * (_SHADES - 1)), -1)
    for k in range(_SHADES):
        add_segments(ax, pieces[shade == k], edgecolor=POWER_MAP(k / (_SHADES - 1)), linewidth=width)


def _line_width(path: Toolpath, box: Box) -> float:
    """Points: a third of the mean distance between lines, within visible limits."""
    lit = float(path.length[path.on].sum())
    pitch = (box[2] - box[0]) * (box[3] - box[1]) / max(lit, 1e-9)
    return float(np.clip(pitch / (box[2] - box[0]) * WIDTH * 72 / 4, 0.35, 1.3))


def _dot_size(design: Design, box: Box) -> float:
    """Points²: dots touch on a contour of moderate length, and stay apart on a long one."""
    crowded = design.area.length / max(box[2] - box[0], box[3] - box[1])
    return float(np.clip(60 / crowded, 3, 14))


def _colour_key(
    figure: Figure, key: Axes, mappable: ScalarMappable, label: str, extend: str = "neither"
) -> None:
    bar = figure.colorbar(mappable, cax=key, orientation="horizontal", extend=extend)
    bar.ax.tick_params(labelsize=9.5, colors=INK, length=3)
    bar.set_label(label, fontsize=10, color=INK, labelpad=2)
    bar.outline.set_edgecolor(FAINT)


def _swatch(colour: str, label: str) -> Swatch:
    return Swatch(facecolor=colour, edgecolor=FAINT, linewidth=0.5, label=label)


def _cure_marks(done: str) -> list[Swatch]:
    return [_swatch(RIGHT, f"{done}s as drawn"), _swatch(OVER, "too much"), _swatch(UNDER, "missing")]


def _ring(one: Unprintable) -> str:
    """Key of `_RINGS`."""
    lost, at_a_dose, off = _RINGS
    return off if not one.lost else lost if one.exposure == 1 else at_a_dose


def _by_rows(marks: list[object], columns: int) -> list[object]:
    """Marks in the order in which a legend, which fills its columns first, shows them row by row."""
    return [mark for column in range(columns) for mark in marks[column::columns]]


def _add_lines(ax: Axes, toolpath: Toolpath, box: Box) -> None:
    """The exposing moves that come near `box`."""
    pieces = np.stack([toolpath.xy[:-1], toolpath.xy[1:]], axis=1)
    low, high = pieces.min(axis=1), pieces.max(axis=1)
    hit = toolpath.on & (high > box[:2]).all(axis=1) & (low < box[2:]).all(axis=1)
    add_segments(ax, pieces[hit], edgecolor="#7a7a7a", linewidth=0.7)


def _number(ax: Axes, places: Sequence[Place], edges: Edges, box: Box) -> None:
    """Rings around the places, with their numbers beside them, not over each other or the contour."""
    if not places:
        return
    contour = cKDTree(edges.xy)
    taken: list[Floats] = [np.array(p.xy) for p in places]
    step = max(box[2] - box[0], box[3] - box[1]) / 26
    for i, place in enumerate(places):
        label = _free_spot(np.array(place.xy), np.array(place.normal), taken, contour, step, box)
        taken.append(label)
        ax.plot(*place.xy, "o", mfc="none", mec=INK, mew=1, ms=8)
        ax.annotate(
            str(i + 1),
            place.xy,
            tuple(label),
            fontsize=10,
            fontweight="bold",
            color=INK,
            ha="center",
            va="center",
            bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
            arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.6, "shrinkA": 6, "shrinkB": 4},
        )


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
