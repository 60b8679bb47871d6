"""The page: pictures, verdict and tables put into the template.

The file needs nothing else: pictures are PNG in base64, there is no script, and everything that comes
from the user's files is escaped by the template engine.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

import gcode
from laserpath import optics
from laserpath.arrays import Floats
from laserpath.report import pictures, plots, reach
from laserpath.report.rows import GLOSSARY, GROUPS, ROWS, Row
from laserpath.report.verdict import Facts, Verdict, judge
from laserpath.report.worst import patches, worst_places
from laserpath.results import Figures, Limit, Report
from laserpath.toolpath_svg import printable
from laserpath.types import Design, Process, Settings, Toolpath


@dataclass(frozen=True, slots=True)
class Picture:
    """title: above it.  source: data URI.  text: below it; `alt` for who cannot see it."""

    title: str
    source: str
    alt: str
    text: str


def _bound(text: str) -> str:
    """`text` with numbers bound to their units and x to y, so that no line breaks between them."""
    return re.sub(
        r"(?<=[\d)]) (?=[%×µ]|(?:mm²?|mW|s|min|h)\b)|(?<=min) (?=\d)|(?<=\d,) (?=[-−]?[\d.]+\))",
        "\u00a0",
        text,
    )


@cache
def _template() -> Template:
    text = files("laserpath.report").joinpath("template.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["bound"] = _bound
    return environment.from_string(text)


def page(
    report: Report,
    design: Design,
    target_name: str,
    toolpath: Toolpath,
    process: Process,
    settings: Settings,
    loss: Floats,
    program_header: Sequence[str],
) -> str:
    """The whole report as HTML."""
    executed, fwhm = report.executed, optics.fwhm(process.spot)
    places = worst_places(executed.edges, design, fwhm, report.planned.edges)
    inside, outside = patches(executed, design, fwhm, process.resin.critical_dose)
    facts = Facts(report, design, toolpath, process, settings, loss, places, inside, outside)
    verdict: Verdict = judge(facts)
    html = _template().render(
        name=printable(target_name),
        size=design.size,
        warnings=[printable(w) for w in report.warnings],
        verdict=verdict,
        pictures=list(_pictures(facts)),
        places=places,
        limit=_limit(facts, report.limit) if report.limit else None,
        not_computed=reach.NOT_COMPUTED,
        fwhm=fwhm,
        quality=settings.quality,
        scored_as=report.scored_as,
        groups=[(title, [_cells(row, report, fwhm) for row in rows]) for title, rows in GROUPS],
        glossary=GLOSSARY,
        records=_records(process, settings),
        header="\n".join(printable(line) for line in program_header),
        tolerance=_tolerance(report, settings),
    )
    return str(html)


def _cells(row: Row, report: Report, fwhm: float) -> dict[str, Any]:
    """One row of the table of figures."""
    columns = [report.start.figures, report.commanded.figures, report.executed.figures]
    return {"row": row, "cells": _texts(row, columns, fwhm), "trend": _trend(row, report)}


def _texts(row: Row, columns: Sequence[Figures], fwhm: float) -> list[tuple[str, str]]:
    """(number, the same in µm or nothing) of each column."""
    return [(row.text(f), row.micrometres(f, fwhm)) for f in columns]


def _limit(facts: Facts, limit: Limit) -> dict[str, Any]:
    """The section about what no path could print: sentences, figures, and a picture if there is a place."""
    fwhm, places = optics.fwhm(facts.process.spot), len(limit.unprintable)
    columns = [limit.figures, facts.report.scored.figures]
    picture = places and _picture(
        f"What light without a path would {facts.done}",
        pictures.limit_map(limit, facts.design, facts.process, facts.done),
        f"The best that this spot can do against the design, with marks at {places} "
        f"place{'s' * (places > 1)} that cannot be printed as drawn.",
        "The black line is the design. Marked is what even the best light misses.",
    )
    return {
        "sentences": reach.unprintable_in_words(limit),
        "rows": [(ROWS[key], _texts(ROWS[key], columns, fwhm)) for key in reach.ROWS_OF_LIMIT],
        "picture": picture,
    }


def _trend(row: Row, report: Report) -> str:
    """'better' or 'worse' than the starting curve, by more than 1 %; else nothing."""
    before, after = row.value(report.start.figures), row.value(report.scored.figures)
    if not row.better or abs(after - before) <= 0.01 * max(abs(before), abs(after)):
        return ""
    return "better" if (after < before) == (row.better == "low") else "worse"


def _tolerance(report: Report, settings: Settings) -> str:
    if settings.max_epe_fwhm is None:
        return ""
    met = report.epe_p95 <= settings.max_epe_fwhm
    return (
        f"Tolerance asked for: 95 % of the edge within {settings.max_epe_fwhm:g} FWHM. "
        f"As commanded it is {report.commanded.figures.epe_p95:.3g} FWHM, as executed "
        f"{report.executed.figures.epe_p95:.3g} FWHM: {'met' if met else 'missed'}."
    )


def _records(process: Process, settings: Settings) -> list[tuple[str, list[tuple[str, str]]]]:
    """(title, [(name, value)]) of all that is needed to plan the same again."""
    named: list[tuple[str, Any]] = [
        ("Settings", settings),
        ("Spot", process.spot),
        ("Resin", process.resin),
        ("Machine", process.machine),
    ]
    klipper = gcode.dialect(process.machine.dialect).controller == "klipper"
    idle = {"junction_deviation", "baud"} if klipper else {"square_corner_velocity", "minimum_cruise_ratio"}
    return [
        (t, [(f.name, _value(getattr(r, f.name))) for f in fields(r) if f.name not in idle]) for t, r in named
    ]


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return " × ".join(_value(v) for v in value)
    if isinstance(value, float):
        return f"{value:.10g}"
    return "none" if value is None else printable(str(value))


def _pictures(facts: Facts) -> Iterator[Picture]:
    report, design, path, process = facts.report, facts.design, facts.toolpath, facts.process
    executed, fwhm = report.executed, optics.fwhm(process.spot)
    yield _picture(
        "Design and toolpath",
        pictures.toolpath_map(path, design, process),
        "The moves of the laser over the design.",
        "Grey is the design. The laser's moves are coloured by power.",
    )
    yield _picture(
        f"What will {facts.done}",
        pictures.cure_map(executed, design, process, facts.done),
        "The predicted cure against the design.",
        "As executed by the controller. Vermilion is outside the drawing, blue is lacking.",
    )
    yield _picture(
        "Dose",
        pictures.dose_map(executed, design, process),
        "Map of the dose in critical doses.",
        "The white line is the critical dose: the printed edge. The black one is the design.",
    )
    yield _picture(
        "Edge error along the contour",
        pictures.epe_map(executed.edges, design, process, facts.places),
        "Map of the edge placement error, worst places numbered.",
        "The numbers are those of the list of worst places.",
    )
    if facts.places:
        yield _picture(
            "The worst places, enlarged",
            pictures.zooms(executed, design, path, process, facts.places, facts.done),
            "The worst places enlarged.",
            f"Each is {2 * pictures.ZOOM_FWHM:g} spots wide; axes in mm.",
        )
    yield _picture(
        "Edge errors",
        plots.epe_histogram(executed, report.start, fwhm),
        "Histogram of the edge errors.",
        "As executed; larger errors are counted in the outermost bars.",
    )
    if report.window:
        yield _picture(
            "Edge errors if dose or focus is off",
            plots.process_window(report.window, facts.tolerance, fwhm),
            "Edge error against dose, in focus and with a wider spot.",
            _window_caption(facts),
        )
    yield _picture(
        "Power and speed along the path",
        plots.power_along(path, process.machine),
        "Power and speed against the length exposed.",
        "As commanded, without the travels.",
    )
    if len(facts.loss):
        yield _picture(
            "Loss of the optimiser",
            plots.loss_history(facts.loss),
            "Loss against iteration.",
            "Jumps are where the optimiser goes to its next stage.",
        )


def _window_caption(facts: Facts) -> str:
    given = facts.settings.max_epe_fwhm is not None
    order = facts.process.resin.order
    return (
        "As executed, with all of the dose off alike, and with a spot that is wider at the same power. "
        f"Dashed: {facts.tolerance:g} FWHM, {'the tolerance asked for' if given else 'what counts as good'}; "
        "shaded: the doses that keep it in focus, if any."
        + (f" The dose goes with the power to the {order}." if order > 1 else "")
    )


def _picture(title: str, png: bytes, alt: str, text: str) -> Picture:
    return Picture(title, "data:image/png;base64," + base64.b64encode(png).decode("ascii"), alt, text)
