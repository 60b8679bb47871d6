"""The pages: verdict, viewer, pictures and tables put into HTML templates.

There is one for a plan, one for a program that laserpath did not plan, and one for a drawing in several
colours. Every page extends `base.html` and imports the macros of `blocks.html`. A page says what it was made
with: settings, spot, resin, machine and design field by field, and the versions.

The file stands alone: pictures are SVG, or PNG in base64, the script and its numbers are inline, and a
content security policy forbids everything else. The template engine escapes all text from the user's files;
the viewer's numbers are JSON without a '<'.

With a design, a program of another tool is judged as a plan is, and the page names the dose that would print
it best. A factor f on the whole dose is a factor f^(1/N) on the power, where the resin absorbs N photons at
once, or 1/f on the speed.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib import metadata
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from scipy.ndimage import map_coordinates
from shapely import affinity

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.compute.beside import pool
from laserpath.base.errors import figure
from laserpath.base.quantities import decimals
from laserpath.config.profiles import writing
from laserpath.design.scene import Scene
from laserpath.measure import best_exposure, cured_fraction, edges_at, inspect
from laserpath.physics import optics
from laserpath.report import advice, pictures, wording
from laserpath.report.canvas import Box, Line, Mark, Pixels, grown, map_sheet
from laserpath.report.data import Column, PageData, PageText, Picture, Place, ShownProgram, Underlay, marked
from laserpath.report.figure_table import GLOSSARY, GROUPS, ROWS, Row, at_least, cell, means_explained
from laserpath.report.payload import payload
from laserpath.report.toolpath_svg import printable
from laserpath.report.verdict import NOTHING, Verdict, judge
from laserpath.report.wording import area, duration, number
from laserpath.types import Design, Grid, Kinetics, LayerChange, Machine, Part, Process, Settings
from laserpath.types.results import Limit, Measurement, Report

PACKAGE = "laserpath.report"

_LONGEST = 20
"""Letters in a row that are not broken. Longer words widen the narrow columns of a phone."""


def installed_text(name: str, package: str = PACKAGE) -> str:
    """The text of a file that is installed with a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def template(name: str, package: str = PACKAGE, **filters: Callable[[str], str]) -> Template:
    """A template of a package; it can extend and import those of this one. filters: by name."""
    environment = Environment(
        loader=FunctionLoader(installed_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"pieces": pieces, **filters}
    return environment.from_string(installed_text(name, package))


def pieces(words: str) -> list[str]:
    """A cell's text in pieces between which a line may break: after _ and slashes, and in long words."""
    return re.findall(rf"[^_/\\\s]{{1,{_LONGEST}}}[_/\\]*|[_/\\]+|\s+", words)


Record = tuple[str, list[tuple[str, str]]]
"""A title, and the (name, value) pairs under it."""

_OF_SOME = {"junction_deviation", "square_corner_velocity", "minimum_cruise_ratio"}
"""Fields of a machine that only some controllers have."""

_OF_LINES = {"baud", "host_delay", "host_window"}
"""Fields of a machine that matter only where moves arrive over a serial line."""


def records(process: Process, settings: Settings | None, design: Design | None) -> list[Record]:
    """The records that are needed to plan or expose the same again; settings: None if nothing was planned."""
    nouns: list[tuple[str, Any]] = [
        ("Settings", settings),
        ("Spot", process.spot),
        ("Resin", process.resin),
        ("Machine", process.machine),
    ]
    firmware = gcode.dialect(process.machine.dialect).firmware
    unused = (_OF_SOME - {*firmware.corner}) | (set() if firmware.serial else _OF_LINES)
    if not any(process.machine.shapers):
        unused |= {"shapers"}
    return [
        *_design(design, optics.fwhm(process.spot)),
        *(
            (title, [(name, text) for name, text in _said(noun) if name not in unused])
            for title, noun in nouns
            if noun is not None
        ),
    ]


def versions() -> str:
    """The versions of laserpath, Python and the packages that compute."""
    from laserpath import __version__

    parts = [f"laserpath {__version__}", f"Python {platform.python_version()}"]
    parts += [f"{name} {metadata.version(name)}" for name in ("numpy", "shapely", "taichi")]
    return ", ".join(parts)


def _design(design: Design | None, fwhm: float) -> Iterator[Record]:
    if design is None:
        return
    x0, y0, x1, y1 = (f"{value:.{decimals(fwhm)}f}" for value in design.bounds)
    shapes = len(design.area.geoms)
    items = [
        ("name", printable(design.name)),
        ("place", f"x {x0} to {x1}, y {y0} to {y1} mm"),
        ("area", f"{figure(design.area.area, 4)} mm² in {shapes} part{'s' * (shapes != 1)}"),
        *([("source", "; ".join(map(printable, design.source)))] if design.source else []),
    ]
    yield "Design", items
    if design.alignment:
        rows = (*design.alignment.figures(), *design.alignment.of_marks())
        yield "Alignment", [(printable(name), printable(text)) for name, text in rows]


def _said(noun: Any) -> Iterator[tuple[str, str]]:
    """Name and value of each field, with its unit."""
    measured = writing.measures(noun) if not isinstance(noun, Settings) else {}
    for name in (one.name for one in fields(noun)):
        yield name, measured.get(name) or _with_unit(name, getattr(noun, name))


_UNITS = {"offset": " mm", "angle": "°", "frequency": " Hz"}
"""Units of what no profile has a key for."""


def _with_unit(name: str, value: object) -> str:
    """`1.2 FWHM`"""
    shown = _value(value)
    if value is None or not isinstance(value, float | tuple):
        return shown
    return shown + (" FWHM" if name.endswith("_fwhm") and "per" not in name else _UNITS.get(name, ""))


def _chosen(noun: Any, measured: Mapping[str, str]) -> str:
    """`lift speed 4 mm/s, settle 1 s`: the fields that are not as by default; 'none' without any."""
    own = (f.name for f in fields(noun) if getattr(noun, f.name) != f.default)
    said = (
        f"{name.replace('_', ' ')} {measured.get(name) or _with_unit(name, getattr(noun, name))}"
        for name in own
    )
    return ", ".join(said) or "none"


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return " × ".join(_value(v) for v in value)
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, LayerChange | Kinetics):
        return _chosen(value, writing.measures(value))
    if isinstance(value, gcode.motion.Shaper):
        return _chosen(value, {})
    return "none" if value is None else printable(str(value))


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


def page(exposed: ShownProgram, data: PageData | None, verdict: Verdict, text: PageText) -> str:
    """The whole page as HTML; data: None where there is no design to compare with."""
    places: Sequence[Place] = marked(data.places, data.inspection, data.fwhm) if data else ()
    done = exposed.done
    report = data.report if data else None
    _ = exposed.light, exposed.track  # once, before several threads ask for them
    # Most of it is numbers, without Python's lock: one part beside the other.
    drawn = [pool().submit(draw) for draw in pictures.maps(exposed, places, done) if text.illustrated]
    charts = list(_charts(exposed, data, places, text))
    numbers, maps = payload(exposed, places), [one.result() for one in drawn]
    return str(template("template.html", bound=_bound).render(
        name=printable(text.name), subtitle=printable(text.subtitle),
        warnings=[printable(w) for w in text.warnings], verdict=_with(verdict, _answers(text, exposed)),
        maps=maps, charts=charts,
        places=places, compared=data is not None, planned=data is not None and data.planned, done=done,
        limit=_limit(data, report.limit, text) if data and report and report.limit else None,
        not_computed=wording.not_computed(data.settings if data else None),
        columns=text.columns, groups=_groups(text.columns, data), glossary=GLOSSARY,
        records=records(exposed.process, data.settings if data else None, exposed.design),
        versions=versions(), header="\n".join(printable(line) for line in text.header),
        project="\n".join(map(printable, text.project.splitlines())),
        tolerance=_tolerance(data) if data else "", model=_model(exposed.process.machine),
        sensitivity=text.sensitivity and advice.rows(text.sensitivity, exposed.process),
        sensitivity_columns=advice.COLUMNS,
        decimals=decimals(optics.fwhm(exposed.process.spot)),
        faults=wording.listed(data.inspection, data.fwhm) if data else ((), 0),
        rounded=wording.rounded(data.inspection, data.fwhm) if data else "",
        means_explained=means_explained((c.note.capitalize(), c.figures) for c in text.columns),
        payload=numbers.text, notes=numbers.notes,
        rates=RATES,
        styles=installed_text("page.css") + installed_text("viewer.css"),
        script="\n".join(installed_text(f"viewer/{name}.js") for name in SCRIPTS),
    ))  # fmt: skip


def _charts(
    exposed: ShownProgram, data: PageData | None, places: Sequence[Place], text: PageText
) -> Iterator[Picture]:
    """The pictures below the maps."""
    if not text.illustrated:
        return
    yield from text.pictures
    yield from pictures.enlarged(exposed, places, exposed.done)
    if data:
        yield from pictures.errors(data)
    yield from pictures.distributions(exposed)
    yield from pictures.courses(exposed, data)


def planned_page(exposed: ShownProgram, data: PageData, text: PageText) -> str:
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


def _answers(text: PageText, exposed: ShownProgram) -> Sequence[tuple[str, str]]:
    """(question, answer) beyond the verdict's: the text's own, and those on the sensitivity."""
    return (*text.answers, *_sensitivity_in_words(text, exposed))


def _sensitivity_in_words(text: PageText, exposed: ShownProgram) -> Iterator[tuple[str, str]]:
    if text.sensitivity is None:
        return
    yield "What it is most sensitive to", advice.headline(text.sensitivity, exposed.process)
    if sentences := advice.help_in_words(text.sensitivity, exposed.process):
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


def _limit(data: PageData, limit: Limit, text: PageText) -> dict[str, Any]:
    """The section on unprintable places: sentences, figures, and a picture if there is such a place."""
    columns = [limit.figures.as_dict(), data.report.executed.as_dict()]
    return {
        "sentences": wording.unprintable_in_words(limit),
        "rows": [(ROWS[key], _texts(ROWS[key], columns, data.fwhm)) for key in wording.ROWS_OF_LIMIT],
        "picture": pictures.unprintable(data, limit) if text.illustrated else None,
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
    met, p95 = report.epe_p95 <= tolerance, report.executed.figures.epe_p95
    return (
        f"Tolerance asked for: 95 % of the edge within {tolerance:g} FWHM. "
        f"As executed it is {at_least('epe_p95', p95)}{figure(p95)} FWHM: {'met' if met else 'missed'}."
    )


_WORTH = 0.9
"""Mean edge error at the best dose ÷ the present one, below which the best dose is named. A larger ratio
names doses that gain less."""
_TELLING = 0.03
"""Relative change of dose below which the best dose is not named, because no machine can be set so finely."""


def exposure_page(exposed: ShownProgram, executed: Measurement | None, text: PageText) -> str:
    """The page as HTML; executed: None where there is no design to measure against."""
    scene = exposed.scene
    text = replace(text, subtitle=text.subtitle or _subtitle(exposed, text))
    if scene is None or executed is None:
        alone = replace(exposed, scene=None, edges=None)
        return page(alone, None, _unmeasured(alone, text), text)
    columns = (Column("this program", "as executed", executed.as_dict()), *text.columns)
    report = Report(
        executed, start=executed, warnings=tuple(text.warnings), inspection=inspect(executed, scene)
    )
    data = PageData.of(report, scene.design, exposed.toolpath, exposed.process)
    verdict = judge(data)
    better = tuple(_better_dose(exposed, scene))
    if better:
        kept = tuple(sentence for sentence in verdict.advice if sentence != NOTHING)
        verdict = replace(verdict, advice=better + kept)
    shown = replace(exposed, edges=data.edges)
    return page(shown, data, verdict, replace(text, columns=columns))


def _better_dose(exposed: ShownProgram, scene: Scene) -> Iterator[str]:
    """The power or speed that gives the truest edges, where it differs from the program's."""
    process, dose = exposed.process, exposed.dose
    if dose.max() <= 0:
        return
    factor = best_exposure(dose, scene)
    now, then = (float(np.abs(edges.epe).mean()) for edges in edges_at(dose, scene, (1.0, factor)))
    if then > _WORTH * now or abs(factor - 1) < _TELLING:
        return
    power = factor ** (1 / process.resin.order)
    yield (
        f"The edges would be truest with {number(power, 2)} × the power at the same speed, "
        f"or with {number(1 / factor, 2)} × the speed at the same power."
    )


_NO_DESIGN = "That needs the design that it should print: give it with --design."


def _unmeasured(exposed: ShownProgram, text: PageText) -> Verdict:
    """The answers for a program that has no design to be compared with."""
    resin = exposed.process.resin
    relative = exposed.dose / resin.critical_dose
    cured = area(float(cured_fraction(relative, 1.0).sum()) * exposed.grid.pixel_area)
    most = float(relative.max(initial=0.0))
    what = f"{cured}. The largest dose is {number(most)} × critical"
    if most > resin.over_dose:
        share = float((relative > resin.over_dose).sum()) * exposed.grid.pixel_area
        what += f", and {area(share)} have more than the resin's limit of {resin.over_dose:g} ×"
    answers = (
        (f"What will {resin.done}", f"{what}."),
        *([] if text.headline else [("Where it will miss", _NO_DESIGN)]),
        ("How long it takes", _how_long(exposed)),
    )
    plain = f"{resin.done.capitalize()}s {cured} in {duration(exposed.run.write_time)}."
    return Verdict("", text.headline or plain, answers, ())


def _how_long(exposed: ShownProgram) -> str:
    executed = exposed.track
    length = np.hypot(*np.diff(executed.xy, axis=0).T)
    lit, dark = (float(length[on].sum()) for on in (executed.on, ~executed.on))
    lengths = f"{number(lit)} mm with the laser on, {number(dark)} mm of travel"
    return f"{duration(exposed.run.write_time)}: {lengths}."


def _subtitle(exposed: ShownProgram, text: PageText) -> str:
    x0, y0, x1, y1 = exposed.box
    kind = "report" if text.headline else "simulation"
    return (
        f"laserpath {kind} · {figure(x1 - x0, 4)} × {figure(y1 - y0, 4)} mm · spot {exposed.fwhm:g} mm · "
        f"{exposed.process.machine.name} · {exposed.process.resin.name}"
    )


Shown = Sequence[tuple[PageData, gcode.motion.Executed]]
"""The plan of each colour, and its execution."""

_PIXELS = 900
"""Pixels along the longer side of the map of all colours."""
_RIM_FWHM = 2.0
"""Margin of that map, in FWHM."""
_FIGURES = ("epe_mean", "epe_p95", "iou", "overcure", "undercure", "dose_max", "write_time")


def colours_page(name: str, shown: Shown, board: Underlay | None = None) -> str:
    """The page as HTML. board: of which the designs are the layers, if they are no colours."""
    first, noun = shown[0][0], _part(shown[0][0]).kind
    x0, y0, x1, y1 = first.design.extent
    size = f"{figure(x1 - x0, 4)} × {figure(y1 - y0, 4)} mm"
    exposed = [data.exposed(run) for data, run in shown]
    box = grown(first.design.extent, _RIM_FWHM * first.fwhm)
    grid = _grid(box)
    cured = [_cured(one, grid) for one in exposed]
    if board is None:
        twice, picture = _twice(cured, grid, first), _together(cured, grid, box, [d for d, _ in shown])
    else:
        twice, picture = "", _over_each_other(cured, grid, box, [data for data, _ in shown], board)
    rows = [_row(data) for data, _ in shown]
    return str(template("colours.html").render(
        name=printable(name),
        subtitle=f"laserpath report · {len(shown)} {noun}s · {size} · spot {first.fwhm:g} mm",
        noun=noun,
        styles=installed_text("page.css"),
        headline=_headline(shown), level=_worst(shown), twice=twice,
        picture=picture,
        each=list(_each(exposed, shown)), rows=rows, labels=[ROWS[key] for key in _FIGURES],
        warnings=_warnings(shown, noun),
        zero=_zero(first, board),
        records=_records_of([data for data, _ in shown]), versions=versions(),
        differing=len({(data.process, data.settings) for data, _ in shown}) > 1,
    ))  # fmt: skip


def _records_of(each: Sequence[PageData]) -> list[Record]:
    """The records of all programs; where they differ, the values in the order of the programs."""
    merged: list[Record] = []
    for same in zip(*(records(data.process, data.settings, None) for data in each), strict=True):
        rows = zip(*(rows for _, rows in same), strict=True)
        merged.append((same[0][0], [(row[0][0], _one_or_all([value for _, value in row])) for row in rows]))
    return merged


def _one_or_all(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else "; ".join(map(str, values))


def _part(data: PageData) -> Part:
    assert data.design.part is not None  # `planning.colours` has checked it
    return data.design.part


def _headline(shown: Shown) -> str:
    """How many print well, and how long all take."""
    levels = [judge(data).level for data, _ in shown]
    words = {"good": "good", "fair": "usable, with flaws", "poor": "not as drawn"}
    names: dict[str, list[str]] = {level: [] for level in words if level in levels}
    for (data, _), level in zip(shown, levels, strict=True):
        names[level].append(_part(data).name)
    counted = "; ".join(f"{', '.join(some)}: {words[level]}" for level, some in names.items())
    seconds = sum(data.report.executed.motion.write_time for data, _ in shown)
    return f"{counted}. {duration(seconds)} to write all {len(shown)} programs."


def _worst(shown: Shown) -> str:
    """The level of the worst print."""
    levels = [judge(data).level for data, _ in shown]
    return next(level for level in ("poor", "fair", "good") if level in levels)


def _zero(data: PageData, board: Underlay | None) -> str:
    x0, y0, x1, y1 = data.design.extent
    if board is not None:
        turn, ends = (
            ("left to right", ("right", "left"))
            if board.axis == "x"
            else ("top to bottom", ("upper", "lower"))
        )
        return (
            f"All programs have one work zero; from there the board's box reaches from x {figure(x0, 4)} to "
            f"{figure(x1, 4)} and from y {figure(y0, 4)} to {figure(y1, 4)} mm. For the back, turn the board "
            f"over from {turn}: its {ends[0]} edge then lies where its {ends[1]} edge lay."
        )
    return (
        f"All programs have one work zero; from there the whole drawing reaches from x {figure(x0, 4)} to "
        f"{figure(x1, 4)} and from y {figure(y0, 4)} to {figure(y1, 4)} mm. Do not move the part, nor set "
        "the zero anew, between them."
    )


def _row(data: PageData) -> dict[str, Any]:
    """One colour in the table: its part, resin, files and figures."""
    figures, resin = data.report.executed.as_dict(), data.process.resin
    dose = f", {figure(100 * resin.critical_dose, 4)} mJ/cm²" if resin.order == 1 else ""
    return {
        "part": _part(data),
        "file": printable(data.design.name),
        "resin": printable(f"{resin.name}{dose}"),
        "area": area(data.design.area.area),
        "level": judge(data).level,
        "cells": [cell(key, figures, data.fwhm) for key in _FIGURES],
    }


def _warnings(shown: Shown, noun: str) -> list[tuple[str, list[str]]]:
    """(name, warnings) of each plan that has some; those that all have stand once, for the whole drawing."""
    common = [
        text for text in shown[0][0].report.warnings if all(text in d.report.warnings for d, _ in shown)
    ]
    every = [(f"All {noun}s", common)]
    every += [
        (data.design.name, [text for text in data.report.warnings if text not in common]) for data, _ in shown
    ]
    return [(printable(name), [printable(text) for text in texts]) for name, texts in every if texts]


def _each(exposed: Sequence[ShownProgram], shown: Shown) -> Iterator[Picture]:
    """The map of what cures of each colour."""
    for one, (data, _) in zip(exposed, shown, strict=True):
        yield Picture.from_svg(
            f"{_part(data).number} {_part(data).name}",
            pictures.cure_map(one, data.done),
            f"What {data.design.name} {data.done}s against the design.",
            f"{judge(data).headline} Vermilion is too much, blue is missing.",
        )


# All colours in one map


def _grid(box: Box) -> Grid:
    """The pixels of the map."""
    width, height = box[2] - box[0], box[3] - box[1]
    pitch = max(width, height) / _PIXELS
    shape = (max(int(np.ceil(height / pitch)), 2), max(int(np.ceil(width / pitch)), 2))
    return Grid((box[0] + pitch / 2, box[1] + pitch / 2), pitch, shape)


def _cured(exposed: ShownProgram, grid: Grid) -> Floats:
    """(rows, columns) the share of each pixel that gets the critical dose; none outside the dose's grid."""
    own = exposed.grid
    columns = (grid.x() - own.origin[0]) / own.pitch
    rows = (grid.y() - own.origin[1]) / own.pitch
    at = np.stack(np.meshgrid(rows, columns, indexing="ij"))
    dose = map_coordinates(exposed.dose, at, order=1, mode="constant", cval=0.0)
    return cured_fraction(dose, exposed.process.resin.critical_dose)


def _twice(cured: Sequence[Floats], grid: Grid, first: PageData) -> str:
    """How much more than one colour or layer cures."""
    several = float(np.maximum(np.sum(cured, axis=0) - 1, 0).sum()) * grid.pixel_area
    where, kind = (", along shared edges" if _part(first).kind == "colour" else ""), _part(first).kind
    return f"{area(several, 2)} {first.done}s in more than one {kind}{where}."


def _inks(cured: Sequence[Floats], grid: Grid, each: Sequence[PageData]) -> Pixels:
    """(rows, columns, 3) what cures in each colour, as inks on paper."""
    image = np.ones((*grid.shape, 3))
    for share, data in zip(cured, each, strict=True):
        colour = _part(data).colour
        rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        image *= 1 - share[..., None] * (1 - rgb)
    return np.rint(255 * image).astype(np.uint8)


def _together(cured: Sequence[Floats], grid: Grid, box: Box, each: Sequence[PageData]) -> Picture:
    """What cures in each colour, as inks on paper: where two lie over each other it is darker."""
    sheet, ax = map_sheet(box, below=0.35)
    ax.image(_inks(cured, grid, each), grid.extent)
    marks = []
    for data in each:
        part = _part(data)
        ax.design(data.design, pen=Line("#444444", 0.4))
        marks.append(Mark(f"{part.number} {part.name}", fill=part.colour, pen=Line("#444444")))
    ax.close("x, mm", "y, mm")
    sheet.legend(marks, columns=min(len(marks), 4))
    done, kind = each[0].done, _part(each[0]).kind
    return Picture.from_svg(
        f"What will {done}, all {kind}s together",
        sheet.svg(),
        f"What {len(each)} programs {done} together, each in its colour.",
        "As executed by the controller, in the machine's coordinates. Thin lines are the design; where two "
        f"{kind}s lie over each other, the map is darker.",
    )


def _over_each_other(
    cured: Sequence[Floats], grid: Grid, box: Box, each: Sequence[PageData], board: Underlay
) -> Picture:
    """The layers of a board as they will lie over each other, seen from its front, with outline and holes."""
    flip = np.fliplr if board.axis == "x" else np.flipud
    seen = [
        flip(share) if data.design.name in board.backs else share
        for share, data in zip(cured, each, strict=True)
    ]
    sheet, ax = map_sheet(box, below=0.35)
    ax.image(_inks(seen, grid, each), grid.extent)
    x0, y0, _, _ = each[0].design.extent
    for under, pen in ((board.outline, Line("#000000", 0.8)), (board.holes, Line("#c02060", 0.6))):
        if under is not None:
            ax.design(replace(under, area=affinity.translate(under.area, x0, y0)), pen=pen)
    ax.close("x, mm", "y, mm")
    marks = [Mark(_part(data).name, fill=_part(data).colour, pen=Line("#444444")) for data in each]
    if board.holes is not None:
        marks.append(Mark("holes", pen=Line("#c02060")))
    sheet.legend(marks, columns=min(len(marks), 4))
    done = each[0].done
    return Picture.from_svg(
        f"What will {done}, all layers over each other",
        sheet.svg(),
        f"What {len(each)} programs {done}, in the outline of the board.",
        "As executed by the controller, seen from the front: the layers of the back are mirrored back.",
    )
