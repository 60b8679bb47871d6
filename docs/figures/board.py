"""The picture of the README: `python docs/figures/board.py`; about a minute.

`samples/pcb.svg` with the default process, and a part of it in two exposures, both as the controller
executes them: hatched at constant power with lines FWHM/2 apart, at the level with the smallest mean edge
error, and as laserpath plans it. Both come from the program behind docs/compare.md.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")
import shapely
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Patch, Rectangle
from PIL import Image

DOCS = Path(__file__).parents[1]
sys.path[:0] = [str(DOCS.parent / "tests" / folder) for folder in ("", "compare")]
from exposed import Compared, Print, compare  # noqa: E402

from laserpath import Design, Process, Settings  # noqa: E402
from laserpath.report.canvas import OVER, RIGHT, UNDER, Box, grown  # noqa: E402
from laserpath.report.data import cure_picture, window  # noqa: E402

DESIGN = DOCS.parent / "samples" / "pcb.svg"
SHOWN: Box = (4.5, 3.1, 6.1, 4.7)
"""Of the board, mm: its narrowest tracks, and pads."""
PIXELS = 900
BAR = 0.2
"""mm, of the scale bar."""
COLOURS = 48
"""Of the file: fewer make it smaller, and its edges rougher."""
INK, COPPER = "#1a1a1a", "#8d9aa3"


def main() -> None:
    board = compare(str(DESIGN), Process(), Settings())
    assert board.common is not None
    figure = plt.figure(figsize=(11.5, 4.7), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    whole, hatched, planned = figure.subplots(1, 3, width_ratios=(1.18, 1, 1))
    drawing(whole, board.design)
    exposure(hatched, board, board.common, "Hatched at constant power")
    exposure(planned, board, board.plan, "Planned by laserpath")
    scale(hatched, board.process.spot.fwhm)
    marks = [
        Patch(color=RIGHT, label="cures as drawn"),
        Patch(color=OVER, label="cures, but should not"),
        Patch(color=UNDER, label="should cure, but does not"),
        plt.Line2D([], [], color=INK, lw=1, label="outline as drawn"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=4, frameon=False, fontsize=11)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=130)
    plt.close(figure)
    picture = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(DOCS / "img" / "board.png", optimize=True)


def drawing(ax: Axes, design: Design) -> None:
    """The whole board, and the part that the other panels show."""
    for polygon in design.area.geoms:
        hole = [shapely.get_coordinates(ring) for ring in polygon.interiors]
        ax.fill(*shapely.get_coordinates(polygon.exterior).T, color=COPPER, lw=0)
        for ring in hole:
            ax.fill(*ring.T, color="white", lw=0)
    x0, y0, x1, y1 = SHOWN
    ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, ec=INK, lw=1.5))
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.set_title("A circuit board, 7 × 5.5 mm,\nand the part shown", fontsize=12)
    ax.spines[:].set_visible(False)


def exposure(ax: Axes, board: Compared, one: Print, title: str) -> None:
    """What cures there, and the outline."""
    spot, resin = board.process.spot, board.process.resin
    dose = SimpleNamespace(grid=board.target.grid, dose=one.dose)
    field = window(dose, grown(SHOWN, spot.fwhm), resin.critical_dose, PIXELS)
    picture, extent = cure_picture(field, board.design)
    ax.imshow(picture, origin="lower", extent=extent, interpolation="bilinear")
    for polygon in board.design.area.geoms:
        for ring in (polygon.exterior, *polygon.interiors):
            ax.plot(*shapely.get_coordinates(ring).T, color=INK, lw=1)
    ax.set(xlim=SHOWN[::2], ylim=SHOWN[1::2], xticks=[], yticks=[])
    error = 1000 * spot.fwhm * one.figures.epe_mean
    ax.set_title(f"{title}\nmean edge error {error:.1f} µm, {one.write_time:.1f} s to write", fontsize=12)


def scale(ax: Axes, fwhm: float) -> None:
    """A bar and the spot's FWHM, between two tracks."""
    x, y = SHOWN[0] + 1.25 * BAR, SHOWN[1] + 1.4 * BAR
    ax.plot([x, x + BAR], [y, y], color=INK, lw=3, solid_capstyle="butt")
    ax.text(x + BAR / 2, y - 0.15 * BAR, f"{1000 * BAR:.0f} µm", ha="center", va="top", fontsize=10)
    ax.add_patch(Circle((x + 0.3 * BAR, y + 0.9 * BAR), fwhm / 2, fill=False, ec=INK, ls=":", lw=1.2))
    ax.text(x + 0.7 * BAR, y + 0.9 * BAR, "spot", va="center", fontsize=10)


if __name__ == "__main__":
    main()
