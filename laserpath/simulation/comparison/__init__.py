"""Several programs on one machine and resin, against one design: which is more accurate, which faster.

    compare(["hatch.nc", "plan.gcode"], process, "design.svg").write()

Each is simulated by itself (`simulation`) and compared as the controller executes it. The result has a row
for each figure, and which programs have the best value. Its page has one table, and the pictures of all
programs side by side; no script. Two pictures are its own: the area that only one of two programs cures, and
the edge errors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import map_coordinates

from laserpath.base import files
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, one_line
from laserpath.design import as_design, tolerance_for
from laserpath.measure import cured_fraction
from laserpath.physics import optics
from laserpath.report import Picture, pages, pictures
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
)
from laserpath.report.data import window
from laserpath.report.figure_table import ROWS, Shown, cell, keys_of, means_explained
from laserpath.report.pages import records, versions
from laserpath.report.pictures import stairs
from laserpath.report.toolpath_svg import printable
from laserpath.report.wording import duration, number
from laserpath.simulation import Choices, simulate
from laserpath.simulation.result import Simulation, another_power, exposed, what_it_is
from laserpath.simulation.simulator import joined
from laserpath.types import Design, Grid, Process, Settings

MOST = 8
"""Largest number of programs; a table with more columns is unreadable."""

_SAME = 0.01
"""Relative difference up to which values count as equal, so that no program is the best."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of all programs. better: 'low', 'high' or ''.  best: indices of those that have the best."""

    key: str
    values: tuple[float, ...]
    better: str
    best: tuple[int, ...]

    @classmethod
    def of(cls, key: str, values: tuple[float, ...]) -> FigureRow:
        """The row of a figure, with the programs that have its best value."""
        better = ROWS[key].better
        best: tuple[int, ...] = ()
        if better and max(values) - min(values) > _SAME * max(map(abs, values)):
            top = min(values) if better == "low" else max(values)
            best = tuple(k for k, value in enumerate(values) if value == top)
        return cls(key, values, better, best)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Each value over the first program's; NaN where that is 0."""
        first = self.values[0]
        return tuple(value / first if first else math.nan for value in self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The result of `compare`.

    simulations: one for each program, all on one machine and resin, against one design.
    """

    simulations: tuple[Simulation, ...]

    __repr__ = one_line

    @property
    def design(self) -> Design | None:
        """The design of all programs, if it was given."""
        return self.simulations[0].design

    @property
    def process(self) -> Process:
        """The process of all programs."""
        return self.simulations[0].process

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the programs."""
        return tuple(s.name for s in self.simulations)

    @property
    def rows(self) -> tuple[FigureRow, ...]:
        """All figures that every program has."""
        programs = [_figures(s) for s in self.simulations]
        keys = [key for key in keys_of(Shown.SIMULATION) if all(key in figures for figures in programs)]
        return tuple(FigureRow.of(key, tuple(float(figures[key]) for figures in programs)) for key in keys)

    def as_dict(self) -> dict[str, Any]:
        """The figures for JSON: each program's, and for each figure the best and the ratios to the first."""
        return {
            "design": self.design.name if self.design else None,
            "fwhm_mm": optics.fwhm(self.process.spot),
            "programs": [s.as_dict() for s in self.simulations],
            "figures": {
                row.key: {
                    "values": list(row.values),
                    "ratios": list(row.ratios),
                    "better": row.better or None,
                    "best": [self.names[k] for k in row.best],
                }
                for row in self.rows
            },
        }

    def page(self) -> str:
        """The comparison as the text of one HTML file."""
        return page(self)

    def write(self, folder: str | Path = ".") -> tuple[Path, ...]:
        """Write NAME.comparison.html, of the design's name or the first program's; return its path."""
        return files.write_all({path_of(self.names, self.design, folder): self.page()})


def path_of(names: Sequence[str], design: Design | None, folder: str | Path = ".") -> Path:
    """The path of the page that compares programs of these names."""
    name = design.name if design else Path(names[0]).stem
    return Path(folder) / f"{name}.comparison.html"


def compare(
    programs: Sequence[str | bytes | Path],
    process: Process | None = None,
    design: Design | str | None = None,
    settings: Settings | None = None,
    choices: Choices | None = None,
    *,
    names: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Simulate 2 to 8 programs on one machine and resin; the other parameters are those of `simulate`.

    names: of the programs, instead of their files'. Raises InputError for a program that cannot be simulated.
    """
    if not 2 <= len(programs) <= MOST:
        raise InputError(f"{len(programs)} programs cannot be compared; give 2 to {MOST} of them")
    process = process or Process()
    if design is not None:
        design = as_design(design, tolerance_for(process.spot))
    unique = list(_unique(names or [_name(p, k) for k, p in enumerate(programs)]))
    return Comparison(
        tuple(
            simulate(program, process, design, settings, choices, name=name, progress=progress)
            for program, name in zip(programs, unique, strict=True)
        )
    )


def _name(program: str | bytes | Path, k: int) -> str:
    """The file's name; a text gets a number."""
    if isinstance(program, Path) or (isinstance(program, str) and "\n" not in program):
        return str(program)
    return f"program {k + 1}"


def _unique(names: Sequence[str]) -> Iterator[str]:
    """The files' names where they differ, else the names as given, else numbered ones."""
    short, full = Counter(Path(name).name for name in names), Counter(names)
    for k, name in enumerate(names):
        if full[name] > 1:
            yield f"{k + 1}: {Path(name).name}"
        else:
            yield Path(name).name if short[Path(name).name] == 1 else name


def _figures(simulation: Simulation) -> dict[str, Any]:
    """The figures as executed, and the mean edge error of the same path at its best power."""
    figures = dict(simulation.as_dict()["executed"])
    if simulation.best is not None:
        figures["epe_mean_tuned"] = simulation.best.epe_mean
    return figures


FIRST, SECOND = "#0072b2", "#d55e00"
"""Cured by one of two programs alone; blue and vermilion of the Okabe–Ito set."""

LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#000000")
"""Colours of the programs in a chart, of the same set."""

_DASHES = (None, (6.0, 2.5), (6.0, 6.0), (1.5, 2.5))
_PIXELS = 800
_RIM_FWHM = 2.0
_FAR_FWHM = 2.0
_LONGEST = 26


def difference(first: Simulation, second: Simulation, box: Box) -> str:
    """The area that both cure, and that only one of them cures; the outline of the design, if any."""
    fwhm = optics.fwhm(first.process.spot)
    wide = grown(box, _RIM_FWHM * fwhm)
    sheet, ax = map_sheet(wide, below=0.55)
    field = window(exposed(first), wide, first.process.resin.critical_dose, _PIXELS)
    other = cured_fraction(_on(second, field.grid), second.process.resin.critical_dose)
    image = _mixed(cured_fraction(field.dose, field.critical_dose), other)
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


def errors(simulations: Sequence[Simulation]) -> str:
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


def _on(simulation: Simulation, pixels: Grid) -> Floats:
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


def _short(simulation: Simulation) -> str:
    """The name, cut to the width of a legend."""
    name = printable(simulation.name)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-_LONGEST // 2 :]}"


def page(comparison: Comparison) -> str:
    """The HTML text."""
    process, design = comparison.process, comparison.design
    names = [printable(name) for name in comparison.names]
    what = f"for {design.name}" if design else "without a design"
    return str(pages.template("template.html", "laserpath.simulation.comparison").render(
        name=printable(f"{' or '.join(comparison.names)}, {what}"),
        subtitle=printable(
            f"laserpath comparison · {process.machine.name} · {process.resin.name} · "
            f"spot {optics.fwhm(process.spot):g} mm"
        ),
        styles=pages.installed_text("page.css"),
        names=names, headline=list(headline(comparison)), rows=list(_rows(comparison)),
        means=explained(comparison),
        warnings=[
            (name, [printable(w) for w in s.warnings])
            for name, s in zip(names, comparison.simulations, strict=True) if s.warnings
        ],
        groups=list(_groups(comparison)),
        files=[(n, _in_short(s)) for n, s in zip(names, comparison.simulations, strict=True)],
        records=records(process, None, design), versions=versions(),
    ))  # fmt: skip


def headline(comparison: Comparison) -> Iterator[str]:
    """The most accurate program (mean edge error) and the fastest one, a sentence each."""
    rows = {row.key: row for row in comparison.rows}
    names, fwhm = comparison.names, optics.fwhm(comparison.process.spot)

    def write(row: FigureRow, k: int) -> str:
        value = row.values[k]
        return duration(value) if row.key == "write_time" else f"{number(1000 * fwhm * value, 2)} µm"

    for key, best, alike in (
        ("epe_mean", "has the truer edges: {} off on average, instead of {}", "Their edges are equally true"),
        ("write_time", "is faster to write: {} instead of {}", "They take the same time to write"),
    ):
        row = rows.get(key)
        if row is None:
            continue
        if not row.best:
            yield f"{alike}: {write(row, 0)}."
            continue
        k = row.best[0]
        others = " and ".join(write(row, j) for j in range(len(names)) if j != k)
        yield printable(f"{names[k]} {best.format(write(row, k), others)}.")


def explained(comparison: Comparison) -> list[tuple[str, str]]:
    """(program, reason) for each program whose mean edge error exceeds its 95th percentile."""
    measured = [(printable(s.name), s.executed.measured) for s in comparison.simulations]
    return means_explained((name, one.figures.as_dict()) for name, one in measured if one)


def _in_short(simulation: Simulation) -> str:
    text = what_it_is(simulation)
    return printable(f"{text} {another_power(simulation)}" if simulation.best else text)


def _rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Rows of the table: label, meaning, and (text, ratio, whether it is the best) of each program."""
    fwhm = optics.fwhm(comparison.process.spot)
    for row in comparison.rows:
        cells = [
            (cell(row.key, {row.key: value}, fwhm), _times(ratio) if k else "", k in row.best)
            for k, (value, ratio) in enumerate(zip(row.values, row.ratios, strict=True))
        ]
        figure = ROWS[row.key]
        yield {"label": figure.name, "meaning": figure.meaning, "cells": cells}


def _times(ratio: float) -> str:
    return f"× {number(ratio, 2)}" if math.isfinite(ratio) else ""


def _groups(comparison: Comparison) -> Iterator[tuple[str, list[Picture]]]:
    """(heading, pictures side by side)."""
    resin, some = comparison.process.resin, comparison.simulations
    done = resin.done
    against = " against the design" if comparison.design else ""
    yield (
        f"What will {done}",
        [
            _picture(
                s.name, pictures.cure_map(exposed(s), done), f"What {s.name} {done}s{against}.", _cured(s)
            )
            for s in some
        ],
    )
    yield "Dose", [
        _picture(
            s.name, pictures.dose_map(exposed(s)), f"The dose of {s.name}.",
            f"Largest {number(s.executed.figures.dose_max)} × critical. White: the critical dose.",
        )
        for s in some
    ]  # fmt: skip
    box = _box(comparison)
    different = [
        _picture(
            f"{some[0].name} and {s.name}", difference(some[0], s, box),
            f"What {some[0].name} and {s.name} {done} both, and each alone.",
            f"Grey: both {done}. Blue and vermilion: only one of them.",
        )
        for s in some[1:]
    ]  # fmt: skip
    if comparison.design:
        different.append(
            _picture(
                "Edge errors", errors(some), "Share of the outline that is off by more than a distance.",
                "The lower the curve the truer the edge.",
            )
        )  # fmt: skip
    yield "The difference", different


def _box(comparison: Comparison) -> Box:
    """The box of the design, or of all lit moves."""
    box = exposed(comparison.simulations[0]).box
    for simulation in comparison.simulations[1:]:
        box = joined(box, exposed(simulation).box)
    return box


def _cured(simulation: Simulation) -> str:
    measured = simulation.executed.measured
    if measured is None:
        return "As executed by the controller."
    fwhm = optics.fwhm(simulation.process.spot)
    return (
        f"As executed: mean edge error {cell('epe_mean', measured.figures.as_dict(), fwhm)}, "
        f"{duration(simulation.executed.motion.write_time)}. Vermilion is too much, blue is missing."
    )


def _picture(title: str, svg: str, alt: str, text: str) -> Picture:
    return Picture.from_svg(printable(title), svg, printable(alt), printable(text))
