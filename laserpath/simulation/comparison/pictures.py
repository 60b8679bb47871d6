"""The pictures of a comparison: the area that only one of two programs cures, and the edge errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.ndimage import map_coordinates

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.measure import cured_fraction
from laserpath.report.canvas import FAINT, WIDTH, add_design, axes, labelled, legend, map_sheet, png, sheet
from laserpath.report.raster import RIGHT, Box, grown, window
from laserpath.report.toolpath_svg import printable
from laserpath.simulation.page import exposed
from laserpath.simulation.result import SimulationResult
from laserpath.types import Grid

FIRST, SECOND = "#0072b2", "#d55e00"
"""Cured by one of two programs alone; blue and vermilion of the Okabe–Ito set."""

LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#000000")
"""Colours of the programs in a chart, of the same set."""

_STYLES = ("-", "--", "-.", ":")
_PIXELS = 800
_RIM_FWHM = 2.0
_FAR_FWHM = 2.0
_LONGEST = 26


def difference(first: SimulationResult, second: SimulationResult, box: Box) -> bytes:
    """The area that both cure, and that only one of them cures; the outline of the design, if any."""
    fwhm = optics.fwhm(first.process.spot)
    wide = grown(box, _RIM_FWHM * fwhm)
    figure, ax, key = map_sheet(wide, below=0.55)
    key.remove()
    field = window(exposed(first), wide, first.process.resin.critical_dose, _PIXELS)
    other = _on(second, field.grid) / second.process.resin.critical_dose
    image = _mixed(cured_fraction(field.dose, 1.0), cured_fraction(other, 1.0))
    ax.imshow(image, origin="lower", extent=field.extent, aspect="auto")
    marks: list[object] = [
        Patch(facecolor=colour, edgecolor=FAINT, linewidth=0.5, label=label)
        for colour, label in (
            (RIGHT, "both"),
            (FIRST, f"only {_short(first)}"),
            (SECOND, f"only {_short(second)}"),
        )
    ]
    if first.design:
        add_design(ax, first.design, fill=False, edgecolor="black", linewidth=0.5)
        marks.append(Line2D([], [], color="black", lw=1, label="design"))
    legend(figure, marks, columns=2)
    return png(figure)


def errors(simulations: Sequence[SimulationResult]) -> bytes:
    """The share of the outline whose edge error exceeds a distance, for each program."""
    fwhm = 1000 * optics.fwhm(simulations[0].process.spot)
    figure = sheet(WIDTH, 3.4)
    ax = labelled(axes(figure, 0.7, 1.05, WIDTH - 0.9, 2.2), "edge error, µm", "% of the outline off by more")
    worst = 0.0
    for k, s in enumerate(simulations):
        if s.executed.measured is None:
            continue
        error = np.sort(np.abs(s.executed.measured.edges.epe)) * 1000
        share = 100 * (1 - np.arange(1, len(error) + 1) / len(error))
        ax.step(error, share, where="post", color=LINES[k % 8], ls=_STYLES[k % 4], lw=1.6, label=_short(s))
        worst = max(worst, float(np.percentile(error, 99)))
    ax.set(xlim=(0, min(max(1.1 * worst, 0.05 * fwhm), _FAR_FWHM * fwhm)), ylim=(0, 100))
    ax.grid(True, color="#e3e7ea", lw=0.6)
    legend(figure, ax.get_legend_handles_labels()[0], columns=2)
    return png(figure)


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
    name = printable(simulation.name).replace("$", "")  # matplotlib would take a $ for mathematics
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 :]}"
