"""The pictures of a comparison: the area that only one of two programs cures, and the edge errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import map_coordinates

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.measure import cured_fraction
from laserpath.report.canvas import (
    FAINT,
    RIGHT,
    WIDTH,
    Axes,
    Box,
    Line,
    Mark,
    Paper,
    grown,
    map_sheet,
    window,
)
from laserpath.report.pictures import stairs
from laserpath.report.toolpath_svg import printable
from laserpath.simulation.page import exposed
from laserpath.simulation.result import SimulationResult
from laserpath.types import Grid

FIRST, SECOND = "#0072b2", "#d55e00"
"""Cured by one of two programs alone; blue and vermilion of the Okabe–Ito set."""

LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#000000")
"""Colours of the programs in a chart, of the same set."""

_DASHES = (None, (6.0, 2.5), (6.0, 6.0), (1.5, 2.5))
_PIXELS = 800
_RIM_FWHM = 2.0
_FAR_FWHM = 2.0
_LONGEST = 26


def difference(first: SimulationResult, second: SimulationResult, box: Box) -> str:
    """The area that both cure, and that only one of them cures; the outline of the design, if any."""
    fwhm = optics.fwhm(first.process.spot)
    wide = grown(box, _RIM_FWHM * fwhm)
    sheet, ax = map_sheet(wide, below=0.55)
    field = window(exposed(first), wide, first.process.resin.critical_dose, _PIXELS)
    other = _on(second, field.grid) / second.process.resin.critical_dose
    image = _mixed(cured_fraction(field.dose, 1.0), cured_fraction(other, 1.0))
    ax.image(image, field.extent)
    marks = [
        Mark(label, fill=colour, pen=Line(FAINT, 0.5))
        for colour, label in (
            (RIGHT, "both"),
            (FIRST, f"only {_short(first)}"),
            (SECOND, f"only {_short(second)}"),
        )
    ]
    if first.design:
        ax.design(first.design, pen=Line("#000000", 0.5))
        marks.append(Mark("design", pen=Line("#000000")))
    ax.close("x, mm", "y, mm")
    sheet.legend(marks, columns=2)
    return sheet.svg()


def errors(simulations: Sequence[SimulationResult]) -> str:
    """The share of the outline whose edge error exceeds a distance, for each program."""
    fwhm = 1000 * optics.fwhm(simulations[0].process.spot)
    measured = [(k, s, s.executed.measured) for k, s in enumerate(simulations) if s.executed.measured]
    sizes = [np.sort(np.abs(found.edges.epe)) * 1000 for _, _, found in measured if found]
    worst = max((float(np.percentile(error, 99)) for error in sizes), default=0.0)
    sheet, end = Paper(WIDTH, 3.4), min(max(1.1 * worst, 0.05 * fwhm), _FAR_FWHM * fwhm)
    ax = Axes(sheet, (0.7, 1.05, WIDTH - 0.9, 2.2), (0, end), (0, 100))
    for height in (20, 40, 60, 80):
        ax.across(height, Line("#e3e7ea", 0.6))
    marks = []
    for (k, s, _), error in zip(measured, sizes, strict=True):
        share = 100 * (1 - np.arange(len(error) + 1) / max(len(error), 1))
        pen = Line(LINES[k % 8], 1.6, _DASHES[k % 4])
        ax.line(stairs(np.concatenate([[0], error, [max(end, error[-1])]]), share)[: 2 * len(share)], pen)
        marks.append(Mark(_short(s), pen=pen))
    ax.close("edge error, µm", "% of the outline off by more")
    sheet.legend(marks, columns=2)
    return sheet.svg()


def _on(simulation: SimulationResult, pixels: Grid) -> Floats:
    """The dose at the pixels of another grid; 0 outside its own."""
    own, dose = simulation.executed.grid, simulation.executed.dose
    u, v = (pixels.x() - own.origin[0]) / own.pitch, (pixels.y() - own.origin[1]) / own.pitch
    rows, columns = np.meshgrid(v, u, indexing="ij")
    return np.maximum(map_coordinates(dose, [rows, columns], order=3, mode="constant"), 0.0)


def _mixed(first: Floats, second: Floats) -> np.ndarray:
    """(rows, columns, 3) colours 0…255 by the shares of each pixel."""
    both = np.minimum(first, second)
    image = np.zeros((*both.shape, 3))
    for share, colour in (
        (both, RIGHT),
        (first - both, FIRST),
        (second - both, SECOND),
        (1 - np.maximum(first, second), "#ffffff"),
    ):
        image += share[..., None] * np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return np.rint(image).astype(np.uint8)


def _short(simulation: SimulationResult) -> str:
    """The name, cut to the width of a legend."""
    name = printable(simulation.name)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 :]}"
