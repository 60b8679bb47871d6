"""The page: verdict, viewer, pictures and tables put into the template.

The file stands alone: pictures are SVG or PNG in base64, the script and its numbers are inline, and a
content security policy forbids everything else. The template engine escapes all text from the user's files;
the viewer's numbers are JSON without a '<'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import Template

import gcode
from laserpath import optics
from laserpath.base.errors import figure
from laserpath.base.quantities import decimals
from laserpath.report import album, faults, optimum, sensitivity, templates
from laserpath.report.data import Column, ExposedProgram, PageData, PageText
from laserpath.report.figure_table import GLOSSARY, GROUPS, ROWS, Row, at_least, means_explained
from laserpath.report.payload import payload
from laserpath.report.provenance import records, versions
from laserpath.report.toolpath_svg import printable
from laserpath.report.verdict import Verdict, judge
from laserpath.report.worst_places import Place, marked
from laserpath.types import Machine
from laserpath.types.results import Limit, PrintFigures, Report

SCRIPTS = ("decode", "raster", "map", "laser", "grown", "words", "marks", "viewer", "hands", "start")
"""The viewer's scripts, in the order in which the page holds them."""

RATES = tuple(f"{one * 10.0**ten:g}" for ten in range(-2, 4) for one in (1, 2, 5)) + ("10000",)
"""Playback rates of the viewer, in multiples of real time, rising."""


def _bound(text: str) -> str:
    """`text` with numbers bound to their units and x to y, so that no line breaks between them."""
    return re.sub(
        r"(?<=[\d)]) (?=[%×µ]|(?:mm²?|mW|s|min|h)\b)|(?<=min) (?=\d)|(?<=\d,) (?=[-−]?[\d.]+\))",
        "\u00a0",
        text,
    )


@cache
def _template() -> Template:
    return templates.template("template.html", bound=_bound)


def page(exposed: ExposedProgram, data: PageData | None, verdict: Verdict, text: PageText) -> str:
    """The whole page as HTML; data: None where there is no design to compare with."""
    places: Sequence[Place] = marked(data.places, data.inspection, data.fwhm) if data else ()
    done = "cure" if exposed.process.resin.tone == "negative" else "clear"
    numbers = payload(exposed, places)
    report = data.report if data else None
    charts = [
        *text.pictures,
        *album.enlarged(exposed, places, done),
        *(album.errors(data) if data else ()),
        *album.distributions(exposed),
        *album.courses(exposed, data),
    ]
    return str(_template().render(
        name=printable(text.name), subtitle=printable(text.subtitle),
        warnings=[printable(w) for w in text.warnings], verdict=_with(verdict, _answers(text, exposed)),
        maps=list(album.maps(exposed, places, done)), charts=charts,
        places=places, compared=data is not None, planned=data is not None and data.planned, done=done,
        limit=_limit(data, report.limit) if data and report and report.limit else None,
        not_computed=optimum.NOT_COMPUTED,
        columns=text.columns, groups=_groups(text.columns, data), glossary=GLOSSARY,
        records=records(exposed.process, data.settings if data else None, exposed.design),
        versions=versions(), header="\n".join(printable(line) for line in text.header),
        project="\n".join(map(printable, text.project.splitlines())),
        tolerance=_tolerance(data) if data else "", model=_model(exposed.process.machine),
        sensitivity=text.sensitivity and sensitivity.rows(text.sensitivity, exposed.process),
        sensitivity_columns=sensitivity.COLUMNS,
        decimals=decimals(optics.fwhm(exposed.process.spot)),
        faults=faults.listed(data.inspection, data.fwhm) if data else ((), 0),
        rounded=faults.rounded(data.inspection, data.fwhm) if data else "",
        means_explained=means_explained((c.note.capitalize(), c.figures) for c in text.columns),
        payload=numbers.text, notes=numbers.notes,
        rates=RATES,
        styles=templates.text("page.css") + templates.text("viewer.css"),
        script="\n".join(templates.text(f"viewer/{name}.js") for name in SCRIPTS),
    ))  # fmt: skip


def planned_page(exposed: ExposedProgram, data: PageData, text: PageText) -> str:
    """The page of a plan, compared with the curve that it started from."""
    report = data.report
    columns = (
        Column("planned", "as executed", report.executed.as_dict()),
        Column("starting curve", "best single power, as executed", report.start.as_dict()),
        *_aimed_at(report),
    )
    return page(exposed, data, judge(data), replace(text, columns=columns))


def _aimed_at(report: Report) -> Iterator[Column]:
    """The figures of the dose that the program was made to give, in which only the print differs."""
    if report.commanded is not None:
        yield Column("aimed at", "as commanded", report.commanded.as_dict())


def _model(machine: Machine) -> str:
    """What executes the program, and whether that was checked against recordings of the firmware."""
    dialect = gcode.dialect(machine.dialect)
    if dialect.firmware.validated:
        return "a model of the controller"
    return (
        "a constant-acceleration planner, which was not validated against recordings of a controller that "
        f"speaks {dialect.name}"
    )


def _with(verdict: Verdict, answers: Sequence[tuple[str, str]]) -> Verdict:
    """The verdict with further (question, answer)."""
    further = tuple((printable(question), printable(answer)) for question, answer in answers)
    return replace(verdict, answers=(*verdict.answers, *further))


def _answers(text: PageText, exposed: ExposedProgram) -> Sequence[tuple[str, str]]:
    """(question, answer) beyond the verdict's: the text's own, and those on the sensitivity."""
    return (*text.answers, *_sensitivity_in_words(text, exposed))


def _sensitivity_in_words(text: PageText, exposed: ExposedProgram) -> Iterator[tuple[str, str]]:
    if text.sensitivity is None:
        return
    yield "What it is most sensitive to", sensitivity.headline(text.sensitivity, exposed.process)
    if sentences := sensitivity.help_in_words(text.sensitivity, exposed.process):
        yield "What would help this machine", " ".join(sentences)


def _groups(columns: Sequence[Column], data: PageData | None) -> list[tuple[str, list[dict[str, Any]]]]:
    """(heading, rows) of the table of figures."""
    if not data or not columns:
        return []
    return [(title, [_cells(row, columns, data) for row in rows]) for title, rows in GROUPS]


def _cells(row: Row, columns: Sequence[Column], data: PageData) -> dict[str, Any]:
    """One row of the table of figures."""
    figures = [column.figures for column in columns]
    trend = _trend(row, data.report) if data.planned else ""
    return {"row": row, "cells": _texts(row, figures, data.fwhm), "trend": trend}


def _texts(row: Row, columns: Sequence[Mapping[str, float]], fwhm: float) -> list[tuple[str, str]]:
    """(number, the same in µm if it is a length) for each column."""
    return [(row.text(f), row.micrometres(f, fwhm)) for f in columns]


def _limit(data: PageData, limit: Limit) -> dict[str, Any]:
    """The section on unprintable places: sentences, figures, and a picture if there is such a place."""
    columns = [limit.figures.as_dict(), data.report.executed.as_dict()]
    return {
        "sentences": optimum.unprintable_in_words(limit),
        "rows": [(ROWS[key], _texts(ROWS[key], columns, data.fwhm)) for key in optimum.ROWS_OF_LIMIT],
        "picture": album.unprintable(data, limit),
    }


def _trend(row: Row, report: Report) -> str:
    """'better' or 'worse' if the figure differs from the starting curve's by more than 1 %, else ''."""
    before, after = row.value(report.start.as_dict()), row.value(report.executed.as_dict())
    if not row.better or abs(after - before) <= 0.01 * max(abs(before), abs(after)):
        return ""
    return "better" if (after < before) == (row.better == "low") else "worse"


def _tolerance(data: PageData) -> str:
    """Whether the user's tolerance is met, if one was given."""
    report, tolerance = data.report, data.settings and data.settings.max_epe_fwhm
    if not tolerance:
        return ""
    met = report.epe_p95 <= tolerance
    return (
        f"Tolerance asked for: 95 % of the edge within {tolerance:g} FWHM. "
        f"As executed it is {_p95(report.executed.figures)} FWHM: {'met' if met else 'missed'}."
    )


def _p95(figures: PrintFigures) -> str:
    return f"{at_least('epe_p95', figures.epe_p95)}{figure(figures.epe_p95)}"
