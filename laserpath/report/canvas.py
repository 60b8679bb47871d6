"""Sheets to draw on, by matplotlib's object interface only, so that threads share no state.

Sizes are in inches of 96 CSS pixels; pictures have `DPI` pixels per inch, which is sharp on a fine screen.
Text is 10 pt, which is still readable when a phone shows the picture at two thirds.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
import shapely
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from PIL import Image

from laserpath.base.arrays import Floats
from laserpath.report.raster import Box
from laserpath.types import Design

DPI = 150
WIDTH = 5.6
INK = "#222222"
FAINT = "#8a949c"
_LARGE = 200_000
"""Bytes above which a PNG gets a palette; a larger limit keeps more colours and makes pages larger."""
_NEARLY_WHITE = 248
"""Level of all three channels from which a palette's colour counts as white."""


def sheet(width: float, height: float) -> Figure:
    """An empty white figure, inches."""
    return Figure(figsize=(width, height), dpi=DPI, facecolor="white")


def axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches from the lower-left corner."""
    w, h = figure.get_size_inches()
    result = figure.add_axes((left / w, bottom / h, width / w, height / h))
    result.tick_params(labelsize=9.5, colors=INK, length=3)
    for side in result.spines.values():
        side.set_color(FAINT)
    return result


def labelled(ax: Axes, x: str, y: str) -> Axes:
    """The axes with their labels."""
    ax.set_xlabel(x, fontsize=10, color=INK, labelpad=2)
    ax.set_ylabel(y, fontsize=10, color=INK, labelpad=4)
    return ax


def map_sheet(box: Box, below: float = 0.6) -> tuple[Figure, Axes, Axes]:
    """A map of `box` (mm) as wide as the page, and axes for a colour key under it.

    below: inches under the map's ticks that the key with its labels needs.
    """
    left, right, top, ticks = 0.66, 0.15, 0.1, 0.45
    span = np.array([box[2] - box[0], box[3] - box[1]])
    width = WIDTH - left - right
    height = float(np.clip(width * span[1] / span[0], 1.0, 1.25 * width))
    figure = sheet(WIDTH, height + top + ticks + below)
    ax = axes(figure, left, below + ticks, width, height)
    # A long or tall box gets margins, so that a mm is as long in x as in y.
    half = np.array([width, height]) * max(span / (width, height)) / 2
    middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
    (x0, y0), (x1, y1) = middle - half, middle + half
    ax.set(xlim=(x0, x1), ylim=(y0, y1))
    key = axes(figure, left, below - 0.17, width, 0.13)
    return figure, labelled(ax, "x, mm", "y, mm"), key


def legend(figure: Figure, handles: Sequence[object], columns: int | None = None) -> None:
    """A legend along the lower edge, in one row unless `columns` is given."""
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=columns or len(handles),
        fontsize=9.5,
        frameon=False,
        labelcolor=INK,
        borderpad=0.1,
        handlelength=1.6,
        columnspacing=1.6,
    )


def outline(design: Design) -> Path:
    """The design's rings as one path; filled with the nonzero rule its holes stay open."""
    oriented = (shapely.geometry.polygon.orient(p) for p in design.area.geoms)
    rings = [shapely.get_coordinates(r) for p in oriented for r in (p.exterior, *p.interiors)]
    return Path.make_compound_path(*(Path(r, closed=True) for r in rings))


def add_segments(ax: Axes, pieces: Floats, **style: Any) -> None:
    """Lines between pairs of points (N, 2, 2) as one patch, much faster than a collection of N lines."""
    if len(pieces):
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO], dtype=np.uint8), len(pieces))
        ax.add_artist(PathPatch(Path(pieces.reshape(-1, 2), codes), fill=False, capstyle="round", **style))


def add_design(ax: Axes, design: Design, **style: Any) -> None:
    """The design as a patch; the axes' limits stay."""
    ax.add_artist(PathPatch(outline(design), **style))


def png(figure: Figure) -> bytes:
    """The figure as a PNG file; a large one with a palette, which takes a quarter of the bytes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
    image = Image.fromarray(np.ascontiguousarray(pixels))
    data = _encoded(image)
    return data if len(data) <= _LARGE else _encoded(_reduced(image))


def _encoded(image: Image.Image) -> bytes:
    buffer = BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _reduced(image: Image.Image) -> Image.Image:
    """The image in 256 colours. An octree keeps rare colours, but renders white slightly grey: corrected."""
    result = image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette = np.array(result.getpalette()).reshape(-1, 3)
    palette[(palette >= _NEARLY_WHITE).all(axis=1)] = 255
    result.putpalette(palette.ravel().tolist())
    return result
