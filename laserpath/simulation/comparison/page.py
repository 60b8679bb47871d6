"""The page of a comparison: one table, and the pictures of all programs side by side; no script."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

from jinja2 import Template

from laserpath import optics
from laserpath.report import Picture, pages, pictures
from laserpath.report.figure_table import ROWS, cell, means_explained
from laserpath.report.pages import records, versions
from laserpath.report.toolpath_svg import printable
from laserpath.report.wording import duration, number
from laserpath.simulation.comparison.pictures import difference, errors
from laserpath.simulation.comparison.result import ComparisonResult, FigureRow
from laserpath.simulation.page import another_power, exposed, what_it_is
from laserpath.simulation.result import SimulationResult
from laserpath.simulation.view import Box, joined


@cache
def _template() -> Template:
    return pages.template("template.html", "laserpath.simulation.comparison")


def page(comparison: ComparisonResult) -> str:
    """The HTML text."""
    process, design = comparison.process, comparison.design
    names = [printable(name) for name in comparison.names]
    what = f"for {design.name}" if design else "without a design"
    return str(_template().render(
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


def headline(comparison: ComparisonResult) -> Iterator[str]:
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


def explained(comparison: ComparisonResult) -> list[tuple[str, str]]:
    """(program, reason) for each program whose mean edge error exceeds its 95th percentile."""
    measured = [(printable(s.name), s.executed.measured) for s in comparison.simulations]
    return means_explained((name, one.figures.as_dict()) for name, one in measured if one)


def _in_short(simulation: SimulationResult) -> str:
    text = what_it_is(simulation)
    return printable(f"{text} {another_power(simulation)}" if simulation.best else text)


def _rows(comparison: ComparisonResult) -> Iterator[dict[str, Any]]:
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


def _groups(comparison: ComparisonResult) -> Iterator[tuple[str, list[Picture]]]:
    """(heading, pictures side by side)."""
    resin, some = comparison.process.resin, comparison.simulations
    done = "cure" if resin.tone == "negative" else "clear"
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


def _box(comparison: ComparisonResult) -> Box:
    """The box of the design, or of all lit moves."""
    box = exposed(comparison.simulations[0]).box
    for simulation in comparison.simulations[1:]:
        box = joined(box, exposed(simulation).box)
    return box


def _cured(simulation: SimulationResult) -> str:
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
