"""The page of a drawing in several colours: what cures of all of them together, and of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Template
from scipy.ndimage import map_coordinates

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.errors import figure
from laserpath.measure import cured_fraction
from laserpath.report import pictures, templates
from laserpath.report.canvas import map_sheet
from laserpath.report.data import ExposedProgram, PageData, Picture
from laserpath.report.figure_table import ROWS, cell
from laserpath.report.marks import Line, Mark
from laserpath.report.numbers import area, duration
from laserpath.report.provenance import records, versions
from laserpath.report.raster import Box, grown
from laserpath.report.toolpath_svg import printable
from laserpath.report.verdict import judge
from laserpath.types import Grid, Part

Shown = Sequence[tuple[PageData, gcode.motion.Executed]]
"""The plan of each colour, and its execution."""

_PIXELS = 900
"""Pixels along the longer side of the map of all colours."""
_RIM_FWHM = 2.0
"""Margin of that map, in FWHM."""
_FIGURES = ("epe_mean", "epe_p95", "iou", "overcure", "undercure", "dose_max", "write_time")


@cache
def _template() -> Template:
    return templates.template("colours.html")


def colours_page(name: str, shown: Shown) -> str:
    """The page as HTML."""
    first = shown[0][0]
    x0, y0, x1, y1 = first.design.extent
    size = f"{figure(x1 - x0, 4)} × {figure(y1 - y0, 4)} mm"
    exposed = [data.exposed(run) for data, run in shown]
    box = grown(first.design.extent, _RIM_FWHM * first.fwhm)
    grid = _grid(box)
    cured = [_cured(one, grid) for one in exposed]
    rows = [_row(data) for data, _ in shown]
    return str(_template().render(
        name=printable(name),
        subtitle=f"laserpath report · {len(shown)} colours · {size} · spot {first.fwhm:g} mm",
        styles=templates.text("page.css"),
        headline=_headline(shown), level=_worst(shown), twice=_twice(cured, grid, first.done),
        picture=_together(cured, grid, box, [data for data, _ in shown]),
        each=list(_each(exposed, shown)), rows=rows, labels=[ROWS[key] for key in _FIGURES],
        warnings=_warnings(shown),
        zero=_zero(first),
        records=records(first.process, first.settings, None), versions=versions(),
    ))  # fmt: skip


def _part(data: PageData) -> Part:
    assert data.design.part is not None  # `planning.colours` has checked it
    return data.design.part


def _headline(shown: Shown) -> str:
    """How many print well, and how long all take."""
    levels = [judge(data).level for data, _ in shown]
    words = {"good": "good", "fair": "usable, with flaws", "poor": "not as drawn"}
    names: dict[str, list[str]] = {level: [] for level in words if level in levels}
    for (data, _), level in zip(shown, levels, strict=True):
        names[level].append(_part(data).name)
    counted = "; ".join(f"{', '.join(some)}: {words[level]}" for level, some in names.items())
    seconds = sum(data.report.executed.motion.write_time for data, _ in shown)
    return f"{counted}. {duration(seconds)} to write all {len(shown)} programs."


def _worst(shown: Shown) -> str:
    """The level of the worst print."""
    levels = [judge(data).level for data, _ in shown]
    return next(level for level in ("poor", "fair", "good") if level in levels)


def _zero(data: PageData) -> str:
    x0, y0, x1, y1 = data.design.extent
    return (
        f"All programs have one work zero; from there the whole drawing reaches from x {figure(x0, 4)} to "
        f"{figure(x1, 4)} and from y {figure(y0, 4)} to {figure(y1, 4)} mm. Do not move the part, nor set "
        "the zero anew, between them."
    )


def _row(data: PageData) -> dict[str, Any]:
    """One colour in the table: its part, resin, files and figures."""
    figures = data.report.executed.as_dict()
    return {
        "part": _part(data),
        "file": printable(data.design.name),
        "resin": printable(data.process.resin.name),
        "area": area(data.design.area.area),
        "level": judge(data).level,
        "cells": [cell(key, figures, data.fwhm) for key in _FIGURES],
    }


def _warnings(shown: Shown) -> list[tuple[str, list[str]]]:
    """(name, warnings) of each plan that has some; those that all have stand once, for the whole drawing."""
    common = [
        text for text in shown[0][0].report.warnings if all(text in d.report.warnings for d, _ in shown)
    ]
    every = [("All colours", common)]
    every += [
        (data.design.name, [text for text in data.report.warnings if text not in common]) for data, _ in shown
    ]
    return [(printable(name), [printable(text) for text in texts]) for name, texts in every if texts]


def _each(exposed: Sequence[ExposedProgram], shown: Shown) -> Iterator[Picture]:
    """The map of what cures of each colour."""
    for one, (data, _) in zip(exposed, shown, strict=True):
        yield Picture.from_svg(
            f"{_part(data).number} {_part(data).name}",
            pictures.cure_map(one, data.done),
            f"What {data.design.name} {data.done}s against the design.",
            f"{judge(data).headline} Vermilion is too much, blue is missing.",
        )


# All colours in one map


def _grid(box: Box) -> Grid:
    """The pixels of the map."""
    width, height = box[2] - box[0], box[3] - box[1]
    pitch = max(width, height) / _PIXELS
    shape = (max(int(np.ceil(height / pitch)), 2), max(int(np.ceil(width / pitch)), 2))
    return Grid((box[0] + pitch / 2, box[1] + pitch / 2), pitch, shape)


def _cured(exposed: ExposedProgram, grid: Grid) -> Floats:
    """(rows, columns) the share of each pixel that gets the critical dose; none outside the dose's grid."""
    own = exposed.grid
    columns = (grid.x() - own.origin[0]) / own.pitch
    rows = (grid.y() - own.origin[1]) / own.pitch
    at = np.stack(np.meshgrid(rows, columns, indexing="ij"))
    dose = map_coordinates(exposed.dose, at, order=1, mode="constant", cval=0.0)
    return cured_fraction(dose, exposed.process.resin.critical_dose)


def _twice(cured: Sequence[Floats], grid: Grid, done: str) -> str:
    """How much more than one colour cures."""
    several = float(np.maximum(np.sum(cured, axis=0) - 1, 0).sum()) * grid.pixel_area
    return f"{area(several, 2)} {done}s in more than one colour, along shared edges."


def _together(cured: Sequence[Floats], grid: Grid, box: Box, each: Sequence[PageData]) -> Picture:
    """What cures in each colour, as inks on paper: where two lie over each other it is darker."""
    image = np.ones((*grid.shape, 3))
    for share, data in zip(cured, each, strict=True):
        colour = _part(data).colour
        rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        image *= 1 - share[..., None] * (1 - rgb)
    sheet, ax = map_sheet(box, below=0.35)
    ax.image(np.rint(255 * image).astype(np.uint8), grid.extent)
    marks = []
    for data in each:
        part = _part(data)
        ax.design(data.design, pen=Line("#444444", 0.4))
        marks.append(Mark(f"{part.number} {part.name}", fill=part.colour, pen=Line("#444444")))
    ax.close("x, mm", "y, mm")
    sheet.legend(marks, columns=min(len(marks), 4))
    done = each[0].done
    return Picture.from_svg(
        f"What will {done}, all colours together",
        sheet.svg(),
        f"What {len(each)} programs {done} together, each in its colour.",
        "As executed by the controller, in the machine's coordinates. Thin lines are the design; where two "
        "colours lie over each other, the map is darker.",
    )
