"""The picture of docs/planning.md's section on learning: `python docs/figures/learning.py`; half a minute.

One contact of a design in three exposures: what the plan aims at, what the machine makes of the same moves
written as they are, and what it makes of the program that is shipped. It is the contact that gains most.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import shapely
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Patch, Rectangle

import laserpath
from laserpath import Plan
from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.report.canvas import OVER, RIGHT, UNDER, Box, grown
from laserpath.report.data import cure_picture, window
from laserpath.types.results import Edges, Measurement

DOCS = Path(__file__).parents[1]
DESIGN = DOCS.parent / "tests" / "data" / "designs" / "lithobench_StdContact_BUF_X16__0_0.svg"
SIDE_FWHM = 4.0
"""Of the square that is shown. A larger one shows more, and its errors smaller."""
PIXELS = 800
BAR = 0.1
"""mm, of the scale bar."""
INK = "#1a1a1a"


def main() -> None:
    plan = laserpath.plan(DESIGN)
    titles = "what the plan aims at", "executed, without learning", "executed, as shipped"
    shown = dict(zip(titles, exposures(plan), strict=True))
    _, before, after = shown.values()
    draw(plan, shown, gained_most(plan, before.edges, after.edges))


def exposures(plan: Plan) -> Iterator[Measurement]:
    """Of the path that is aimed at, of its moves written as they are, and of the program as shipped."""
    scene = Scene.around(plan.design, plan.process.spot, plan.process.resin, plan.settings.pixels_per_fwhm)
    target = plan.solution.toolpath
    plain = MachineProgram.of_moves(convert.to_moves(target, plan.process.machine), plan.process)
    shipped = Exposure(plan.shipped, scene, target)
    yield shipped.commanded
    yield Exposure(plain, scene).executed
    yield shipped.executed


def gained_most(plan: Plan, before: Edges, after: Edges) -> Box:
    """The square about the contact whose edge errors fall most."""
    gain = np.abs(before.epe) - np.abs(after.epe)
    parts = shapely.get_parts(plan.design.area)
    at = shapely.points(before.xy)
    best = max(parts, key=lambda part: gain[shapely.dwithin(part, at, 0.01)].mean())
    (x, y), half = best.centroid.coords[0], SIDE_FWHM / 2 * plan.process.spot.fwhm
    return x - half, y - half, x + half, y + half


def draw(plan: Plan, shown: dict[str, Measurement], square: Box) -> None:
    figure = plt.figure(figsize=(11, 4.0), layout="constrained", facecolor="white")
    where, *panels = figure.subplots(1, 4, width_ratios=(0.62, 1, 1, 1))
    whole(where, plan, square)
    for ax, (title, one) in zip(panels, shown.items(), strict=True):
        exposure(ax, plan, one, square)
        epe = 1000 * plan.process.spot.fwhm * one.figures.epe_mean
        ax.set_title(f"{title}\nmean edge error {epe:.1f} µm", fontsize=11)
    scale(panels[0], square, plan.process.spot.fwhm)
    marks = [
        Patch(color=RIGHT, label="cured as drawn"),
        Patch(color=OVER, label="cured too much"),
        Patch(color=UNDER, label="lacking"),
        plt.Line2D([], [], color=INK, lw=1.2, label="outline as drawn"),
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=4, frameon=False, fontsize=10)
    figure.savefig(DOCS / "img" / "learning.png", dpi=110)
    plt.close(figure)


def exposure(ax: Axes, plan: Plan, one: Measurement, square: Box) -> None:
    """What will cure in the square, and the design's outline."""
    field = window(one, grown(square, plan.process.spot.fwhm), plan.process.resin.critical_dose, PIXELS)
    picture, extent = cure_picture(field, plan.design)
    ax.imshow(picture, origin="lower", extent=extent, interpolation="bilinear")
    for ring in rings(plan):
        ax.plot(*ring.T, color=INK, lw=1.2)
    ax.set(xlim=square[::2], ylim=square[1::2], xticks=[], yticks=[])


def whole(ax: Axes, plan: Plan, square: Box) -> None:
    """The design, and where the square is."""
    for ring in rings(plan):
        ax.fill(*ring.T, color=RIGHT)
    x0, y0, x1, y1 = square
    ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, ec=INK, lw=1.5))
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.set_title("the design,\nand the square shown", fontsize=11)
    ax.spines[:].set_visible(False)


def scale(ax: Axes, square: Box, fwhm: float) -> None:
    """A bar, and the spot's FWHM beside it."""
    x, y = square[0] + 0.2 * BAR, square[1] + 0.25 * BAR
    ax.plot([x, x + BAR], [y, y], color=INK, lw=3, solid_capstyle="butt")
    ax.text(x + BAR / 2, y + 0.1 * BAR, f"{1000 * BAR:.0f} µm", ha="center", va="bottom", fontsize=9)
    ax.add_patch(Circle((x + 1.9 * BAR, y + 0.4 * BAR), fwhm / 2, fill=False, ec=INK, ls=":", lw=1.2))
    ax.text(x + 1.9 * BAR, y + 0.4 * BAR, "spot", ha="center", va="center", fontsize=9)


def rings(plan: Plan) -> Iterator[Floats]:
    for polygon in shapely.get_parts(plan.design.area):
        for ring in (polygon.exterior, *polygon.interiors):
            yield shapely.get_coordinates(ring)


if __name__ == "__main__":
    main()
