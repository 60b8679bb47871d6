"""The page: verdict, viewer, pictures and tables put into the template.

The file needs nothing else and asks for nothing: pictures are PNG in base64, the viewer's script and its
numbers stand in it, and a content security policy forbids the rest. Everything that comes from the
user's files is escaped by the template engine, or is JSON without a '<'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.quantities import decimals
from laserpath.measure import inspect
from laserpath.report import album, faults, reach
from laserpath.report.payload import Exposed, payload
from laserpath.report.records import records, versions
from laserpath.report.rows import GLOSSARY, GROUPS, ROWS, Row, at_least, means_explained
from laserpath.report.toolpath_svg import printable
from laserpath.report.verdict import Facts, Verdict, judge
from laserpath.report.worst import Place, marked, worst_places
from laserpath.types import Design, Process, Settings, Toolpath
from laserpath.types.results import Limit, PrintFigures, Report

SCRIPTS = ("decode", "raster", "map", "laser", "words", "viewer", "hands", "start")
"""Of the viewer, in this order."""

RATES = tuple(f"{one * 10.0**ten:g}" for ten in range(-2, 4) for one in (1, 2, 5)) + ("10000",)
"""Times real time that the laser plays at, rising."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table of figures. figures: by name, as `Measurement.as_dict` has them."""

    title: str
    note: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Told:
    """What is said beside the pictures. subtitle: under the name.  project: text of a laserpath.toml.

    answers: (question, answer) after those of the verdict.  extra: pictures: title, PNG, alt, text.
    """

    name: str
    subtitle: str = ""
    warnings: Sequence[str] = ()
    answers: Sequence[tuple[str, str]] = ()
    columns: Sequence[Column] = ()
    extra: Sequence[tuple[str, bytes, str, str]] = ()
    header: Sequence[str] = ()
    project: str = ""
    headline: str = ""


def _bound(text: str) -> str:
    """`text` with numbers bound to their units and x to y, so that no line breaks between them."""
    return re.sub(
        r"(?<=[\d)]) (?=[%×µ]|(?:mm²?|mW|s|min|h)\b)|(?<=min) (?=\d)|(?<=\d,) (?=[-−]?[\d.]+\))",
        "\u00a0",
        text,
    )


def _file(name: str) -> str:
    return files("laserpath.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["bound"] = _bound
    return environment.from_string(_file("template.html"))


def facts_of(
    report: Report,
    design: Design,
    toolpath: Toolpath,
    process: Process,
    settings: Settings | None,
    loss: Floats,
) -> Facts:
    """What the sentences are made of. settings: None where nothing was planned."""
    executed, fwhm = report.executed, optics.fwhm(process.spot)
    found = report.inspection or inspect(executed, design, fwhm, process.resin.critical_dose)
    places = worst_places(found.edges or executed.edges, design, fwhm, report.planned.edges)
    return Facts(report, design, toolpath, process, settings, loss, places, found)


def page(exposed: Exposed, facts: Facts | None, verdict: Verdict, told: Told) -> str:
    """The whole page as HTML; without facts there is no design to compare with."""
    places: Sequence[Place] = marked(facts.places, facts.inspection, facts.fwhm) if facts else ()
    done = "cure" if exposed.process.resin.tone == "negative" else "clear"
    numbers = payload(exposed, places)
    report = facts.report if facts else None
    charts = [
        *(album.picture(*one) for one in told.extra),
        *album.enlarged(exposed, places, done),
        *(album.errors(facts) if facts else ()),
        *album.distributions(exposed),
        *album.courses(exposed, facts),
    ]
    return str(_template().render(
        name=printable(told.name), subtitle=printable(told.subtitle),
        warnings=[printable(w) for w in told.warnings], verdict=_with(verdict, told.answers),
        maps=list(album.maps(exposed, places, done)), charts=charts,
        places=places, compared=facts is not None, planned=facts is not None and facts.planned, done=done,
        limit=_limit(facts, report.limit) if facts and report and report.limit else None,
        not_computed=reach.NOT_COMPUTED, scored_as=report.scored_as if report else "",
        columns=told.columns, groups=_groups(told.columns, facts), glossary=GLOSSARY,
        records=records(exposed.process, facts.settings if facts else None, exposed.design),
        versions=versions(), header="\n".join(printable(line) for line in told.header),
        project="\n".join(map(printable, told.project.splitlines())),
        tolerance=_tolerance(facts) if facts else "",
        decimals=decimals(optics.fwhm(exposed.process.spot)),
        faults=faults.listed(facts.inspection, facts.fwhm) if facts else ((), 0),
        rounded=faults.rounded(facts.inspection, facts.fwhm) if facts else "",
        means_explained=means_explained((c.note.capitalize(), c.figures) for c in told.columns),
        payload=numbers.text, notes=numbers.notes,
        rates=RATES,
        styles=_file("page.css") + _file("viewer.css"),
        script="\n".join(_file(f"viewer/{name}.js") for name in SCRIPTS),
    ))  # fmt: skip


def planned_page(exposed: Exposed, facts: Facts, told: Told) -> str:
    """The page of a plan, next to the curve that it started from."""
    report = facts.report
    columns = (
        Column("starting curve", "best single power", report.start.as_dict()),
        Column("planned", "as commanded", report.commanded.as_dict()),
        Column("planned", "as executed", report.executed.as_dict()),
    )
    return page(exposed, facts, judge(facts), replace(told, columns=columns))


def _with(verdict: Verdict, answers: Sequence[tuple[str, str]]) -> Verdict:
    further = tuple((printable(question), printable(answer)) for question, answer in answers)
    return Verdict(verdict.level, verdict.headline, (*verdict.answers, *further), verdict.advice)


def _groups(columns: Sequence[Column], facts: Facts | None) -> list[tuple[str, list[dict[str, Any]]]]:
    if not facts or not columns:
        return []
    return [(title, [_cells(row, columns, facts) for row in rows]) for title, rows in GROUPS]


def _cells(row: Row, columns: Sequence[Column], facts: Facts) -> dict[str, Any]:
    """One row of the table of figures."""
    figures = [column.figures for column in columns]
    trend = _trend(row, facts.report) if facts.planned else ""
    return {"row": row, "cells": _texts(row, figures, facts.fwhm), "trend": trend}


def _texts(row: Row, columns: Sequence[Mapping[str, float]], fwhm: float) -> list[tuple[str, str]]:
    """(number, the same in µm or nothing) of each column."""
    return [(row.text(f), row.micrometres(f, fwhm)) for f in columns]


def _limit(facts: Facts, limit: Limit) -> dict[str, Any]:
    """The section about what no path could print: sentences, figures, and a picture if there is a place."""
    columns = [limit.figures.as_dict(), facts.report.scored.as_dict()]
    return {
        "sentences": reach.unprintable_in_words(limit),
        "rows": [(ROWS[key], _texts(ROWS[key], columns, facts.fwhm)) for key in reach.ROWS_OF_LIMIT],
        "picture": album.unprintable(facts, limit),
    }


def _trend(row: Row, report: Report) -> str:
    """'better' or 'worse' than the starting curve, by more than 1 %; else nothing."""
    before, after = row.value(report.start.as_dict()), row.value(report.scored.as_dict())
    if not row.better or abs(after - before) <= 0.01 * max(abs(before), abs(after)):
        return ""
    return "better" if (after < before) == (row.better == "low") else "worse"


def _tolerance(facts: Facts) -> str:
    report, asked = facts.report, facts.settings and facts.settings.max_epe_fwhm
    if not asked:
        return ""
    met = report.epe_p95 <= asked
    return (
        f"Tolerance asked for: 95 % of the edge within {asked:g} FWHM. "
        f"As commanded it is {_p95(report.commanded.figures)} FWHM, as executed "
        f"{_p95(report.executed.figures)} FWHM: {'met' if met else 'missed'}."
    )


def _p95(figures: PrintFigures) -> str:
    return f"{at_least('epe_p95', figures.epe_p95)}{figures.epe_p95:.3g}"
