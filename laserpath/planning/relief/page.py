"""The report of a relief: the page of any exposure, with maps of the target, the result and the error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.planning.relief.result import ReliefResult, in_words
from laserpath.report import PageText, Picture, ShownProgram, render_exposure
from laserpath.report.canvas import CIVIDIS, DIVERGING, WIDTH, Axes, ColourKey, Paper, add_key, coloured

_TITLES = ("target", "as executed", "error")


def page(result: ReliefResult, header: Sequence[str], project: str) -> str:
    """The report as the text of one HTML file. header: of the program.  project: text of a laserpath.toml."""
    process = result.process
    scene = Scene(result.design, result.grid, process.spot, process.resin)
    exposed = ShownProgram(result.toolpath, result.run, result.grid, result.dose, process, scene)
    text = PageText(
        name=result.relief.name,
        warnings=result.warnings,
        answers=[("How near it comes to the target", in_words(result))],
        pictures=[
            Picture.from_svg(
                "Target, and as executed",
                maps(result),
                "Maps of the target, of the result as executed, and of the error.",
                unit(result),
            )
        ],
        header=header,
        project=project,
        headline=in_words(result).split(";")[0] + ".",
    )
    return render_exposure(exposed, text)


def unit(result: ReliefResult) -> str:
    """The quantity and the unit of the maps, in one sentence."""
    if result.relief.height is not None:
        return "Height in µm, by the resin's working curve."
    return "Surface dose in mJ/cm²."


def maps(result: ReliefResult) -> str:
    """The target, the result and the error side by side, as one SVG."""
    target, executed, error = _values(result)
    top, most = float(target.max()), float(np.percentile(np.abs(error), 99.5)) or 1.0
    wide = WIDTH / 3
    high = min(1.6 * wide, max(0.5 * wide, wide * result.grid.shape[0] / result.grid.shape[1]))
    sheet, (x0, x1, y0, y1) = Paper(WIDTH, high + 0.9), result.grid.extent
    for k, (title, values) in enumerate(zip(_TITLES, (target, executed, error), strict=True)):
        low, end, stops = (-most, most, DIVERGING) if title == "error" else (0.0, top, CIVIDIS)
        ax = Axes(sheet, _fitted((k * wide + 0.5, 0.75, wide - 0.6, high - 0.25), (x1 - x0) / (y1 - y0)),
                  (x0, x1), (y0, y1))  # fmt: skip
        ax.image(coloured((_small(values) - low) / (end - low), stops), result.grid.extent)
        ax.close("x, mm", title=title)
        add_key(sheet, ColourKey(stops, (low, end)), k * wide + 0.5, 0.22, wide - 0.6)
    return sheet.svg()


def _fitted(place: tuple[float, float, float, float], ratio: float) -> tuple[float, float, float, float]:
    """The part of a place (left, bottom, width, height) that has a ratio of width to height."""
    left, bottom, width, height = place
    wide, high = min(width, height * ratio), min(height, width / ratio)
    return left + (width - wide) / 2, bottom + (height - high) / 2, wide, high


def _values(result: ReliefResult) -> tuple[Floats, Floats, Floats]:
    """(target, executed, error), (rows, columns) each: µm of height, or mJ/cm²."""
    target, dose = result.target, result.dose
    if target.height is None:
        return 100.0 * target.dose, 100.0 * dose, 100.0 * target.residual(dose)[0]
    depth = np.maximum(1000.0 * target.depth(dose)[0], 0)
    return 1000.0 * target.height, depth, 1000.0 * target.residual(dose)[0]


def _small(values: Floats, most: int = 500) -> Floats:
    step = max(1, max(values.shape) // most)
    return values[::step, ::step]
