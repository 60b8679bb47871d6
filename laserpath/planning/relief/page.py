"""The report of a relief: the page of any exposure, with what is wanted and what comes of it."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize

from laserpath.base.arrays import Floats
from laserpath.planning.relief.walk import ReliefPlan
from laserpath.planning.relief.words import in_words
from laserpath.report import ExposedProgram, PageText, Picture, render_exposure
from laserpath.report.canvas import WIDTH, axes, labelled, png, sheet

_TITLES = ("wanted", "as executed", "error")


def page(plan: ReliefPlan) -> str:
    """The report as the text of one HTML file."""
    exposed = ExposedProgram(plan.toolpath, plan.run, plan.grid, plan.dose, plan.process, plan.design)
    text = PageText(
        name=plan.relief.name,
        warnings=plan.warnings,
        answers=[("How near it comes to what is wanted", in_words(plan))],
        pictures=[
            Picture.from_png(
                "Wanted, and as executed", maps(plan), "Maps of what is wanted and of what comes.", unit(plan)
            )
        ],
        header=plan.program_header,
        project=plan.project,
        headline=in_words(plan).split(";")[0] + ".",
    )
    return render_exposure(exposed, text)


def unit(plan: ReliefPlan) -> str:
    """What the maps show."""
    if plan.relief.height is not None:
        return "Height in µm, by the resin's working curve."
    return "Surface dose in mJ/cm²."


def maps(plan: ReliefPlan) -> bytes:
    """What is wanted, what comes, and the difference, as one PNG."""
    scale = 100.0 if plan.relief.height is None else 1000.0
    wrong = scale * plan.wanted(plan.dose)[0]
    want = scale * (plan.wanted.dose if plan.wanted.height is None else plan.wanted.height)
    got = (
        scale * plan.dose
        if plan.wanted.height is None
        else np.maximum(scale * plan.wanted.depth(plan.dose)[0], 0)
    )
    top, most = float(want.max()), float(np.percentile(np.abs(wrong), 99.5)) or 1.0
    wide = WIDTH / 3
    high = min(1.6 * wide, max(0.5 * wide, wide * plan.grid.shape[0] / plan.grid.shape[1]))
    figure = sheet(WIDTH, high + 0.9)
    for k, (title, values) in enumerate(zip(_TITLES, (want, got, wrong), strict=True)):
        ax = labelled(axes(figure, k * wide + 0.5, 0.75, wide - 0.6, high - 0.25), "x, mm", "")
        ax.set_title(title, fontsize=10)
        norm = Normalize(-most, most) if title == "error" else Normalize(0, top)
        image = ax.imshow(_small(values), origin="lower", extent=plan.grid.extent, norm=norm,
                          cmap=colormaps["RdBu_r" if title == "error" else "cividis"])  # fmt: skip
        key = axes(figure, k * wide + 0.5, 0.3, wide - 0.6, 0.1)
        figure.colorbar(image, cax=key, orientation="horizontal").ax.tick_params(labelsize=8)
    return png(figure)


def _small(values: Floats, most: int = 500) -> Floats:
    step = max(1, max(values.shape) // most)
    return values[::step, ::step]
