"""The pictures and tables of docs/settings.md: `python docs/figures/settings.py` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

import laserpath
from laserpath import Plan, Process, Settings, Spot
from laserpath.report.canvas import grown
from laserpath.report.data import cure_picture, window

DOCS = Path(__file__).parents[1]
SAMPLES = DOCS.parent / "samples"
QUALITIES = ("draft", "standard", "fine")
DRAWN = ("pcb", "butterfly", "grating", "holes", "text")
"""Samples; the picture is of the first."""
WIDTHS = {"60 µm": 0.06, "100 µm": 0.1, "160 µm": 0.16}


def main() -> None:
    by_quality = {
        name: {q: laserpath.plan(SAMPLES / f"{name}.svg", settings=Settings(quality=q)) for q in QUALITIES}
        for name in DRAWN
    }
    draw("settings-quality.png", by_quality[DRAWN[0]], (0.6, 2.2, 3.4, 4.6))
    write(DOCS / "settings.md", "quality", by_sample(by_quality))
    base = Process()
    by_spot = {
        name: laserpath.plan(SAMPLES / "text.svg", replace(base, spot=Spot(width)))
        for name, width in WIDTHS.items()
    }
    draw("settings-spot.png", by_spot, (0.4, 0.2, 6.2, 4.6))
    table("spot", "spot, FWHM", by_spot)


def draw(name: str, plans: dict[str, Plan], box: tuple[float, float, float, float]) -> None:
    """What will cure in a part of the design, as executed: grey right, vermilion too much, blue lacking."""
    figure, axes = plt.subplots(1, len(plans), figsize=(11, 4), layout="constrained")
    for ax, (title, plan) in zip(axes, plans.items(), strict=True):
        executed, fwhm = plan.report.executed, plan.process.spot.fwhm
        field = window(executed, grown(box, fwhm), plan.process.resin.critical_dose, 700)
        picture, extent = cure_picture(field, plan.design)
        ax.imshow(picture, origin="lower", extent=extent, interpolation="bilinear")
        ax.set(xlim=box[::2], ylim=box[1::2], title=title, xticks=[], yticks=[])
    figure.savefig(DOCS / "img" / name, dpi=110)
    plt.close(figure)


def by_sample(plans: dict[str, dict[str, Plan]]) -> list[str]:
    """A table of mean edge error and write time, both as executed: a row for each sample."""
    lines = [f"| sample | {' | '.join(QUALITIES)} |", "| --- |" + " ---: |" * len(QUALITIES)]
    for name, of in plans.items():
        cells = []
        for plan in of.values():
            executed, um = plan.report.executed, 1000 * plan.process.spot.fwhm
            cells.append(f"{um * executed.figures.epe_mean:.1f} µm, {executed.motion.write_time:.1f} s")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def table(name: str, head: str, plans: dict[str, Plan]) -> None:
    """Edge errors and write time, between the markers of the page."""
    titles = (head, "mean edge error, executed", "95 % of the edge", "edges missing", "write time")
    lines = [f"| {' | '.join(titles)} |", "| --- |" + " ---: |" * (len(titles) - 1)]
    for title, plan in plans.items():
        executed, um = plan.report.executed, 1000 * plan.process.spot.fwhm
        figures = executed.figures
        lines.append(
            f"| {title} | {um * figures.epe_mean:.1f} µm | {um * figures.epe_p95:.1f} µm "
            f"| {figures.missing_edges} of {figures.samples} | {executed.motion.write_time:.1f} s |"
        )
    page = DOCS / "settings.md"
    write(page, name, lines)


def write(page: Path, name: str, lines: Iterable[str]) -> None:
    marks = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = page.read_text(encoding="utf-8")
    inner = f"{marks[0]}\n\n" + "\n".join(lines) + f"\n\n{marks[1]}"
    page.write_text(re.sub(rf"{marks[0]}.*?{marks[1]}", inner, text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
