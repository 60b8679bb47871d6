"""`laserpath plan --colours`: the same steps for each colour of a drawing, and one page for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laserpath.base.errors import InputError
from laserpath.base.files import check_places
from laserpath.cli import progress, show
from laserpath.cli.job import Job, Made
from laserpath.config import request

if TYPE_CHECKING:
    from laserpath.cli.progress import Meter
    from laserpath.planning import ColourPlans, Forecast, Progress
    from laserpath.types import Design


def check_colours(given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse options that say nothing with --colours, or without it."""
    if not values.get("colours"):
        for name in ("colour", "colour_resin"):
            if values.get(name):
                raise InputError(f"--{name.replace('_', '-')} needs --colours with it, which says how many")
        return
    if values.get("colour"):
        if values.get("colour_resin"):
            raise InputError("--colour plans one colour: give its resin by --resin, and no --colour-resin")
    elif given["sensitivity"]:
        raise InputError("--sensitivity is of one program: choose one of the --colours with --colour")
    elif given["save_project"] and values.get("colour_resin"):
        raise InputError(
            "--save-project cannot be used with --colour-resin; the head of each program has the project "
            "that plans its colour again"
        )


def plan_colours(job: Job, meter: Meter) -> Made:
    """Plan each colour of a drawing and write the files of all."""
    import laserpath
    from laserpath.planning import forecast

    parts = _load(job, meter)
    job.check_places(*(part.name for part in parts))
    check_places([job.folder / f"{part.part.drawing}.colours.html" for part in parts[:1] if part.part])
    processes = request.colour_processes(job.values, job.process, parts)
    for sentence in parts[0].warnings:
        job.talk.warn(sentence)
    for note in show.placing(parts[0], processes[0], job.settings):
        job.talk.tell(note)
    each = [forecast(part, process, job.settings) for part, process in zip(parts, processes, strict=True)]
    progress.tell_expected(_together(each), job.talk)
    meter.expect(*reported_last(each), noun="colour")
    job.check()

    # A part of the colours is of little use, so one Ctrl-C stops at once.
    plans = laserpath.plan_colours(parts, processes, job.settings, _listener(job.check, meter))
    job.check()
    meter.writing()
    written = plans.write(job.folder, frame=job.given["frame"], project=job.given["save_project"])
    warnings = tuple(_warnings(plans, parts[0].warnings, frame=job.given["frame"]))
    return Made(
        (*parts[0].warnings, *warnings),
        as_json=lambda: as_json(plans, written, (*parts[0].warnings, *warnings)),
        summary=lambda: summary(plans, written),
        missed="; ".join(
            f"{one.design.name}: {show.tolerance_missed(one)}"
            for one in plans.plans
            if not one.within_tolerance
        ),
        reported=parts[0].warnings,
    )


def _load(job: Job, meter: Meter) -> tuple[Design, ...]:
    """The colours of the job's file, each with a line that says what it is."""
    from laserpath import optics
    from laserpath.design import FLATTEN_FWHM, load_colours

    tolerance = FLATTEN_FWHM * optics.fwhm(job.process.spot)
    meter.name = f"reading {Path(job.file).name}"
    parts = load_colours(
        job.file,
        job.values["colours"],
        tolerance=tolerance,
        reading=request.reading_of(job.values, tolerance),
        arrangement=request.arrangement_of(job.values),
    )
    for part in parts:
        colour = part.part.colour if part.part else ""
        job.talk.tell(f"{colour} {show.in_short(part)}")
    return parts


def _listener(check: Callable[[], None], meter: Meter) -> Callable[[int, int, Progress], None]:
    """Shows the progress of each plan. check: raises if the user has interrupted."""

    def listen(number: int, of: int, now: Progress) -> None:
        check()
        meter.layer(number)
        meter(now)

    return listen


def reported_last(each: Sequence[Forecast]) -> list[Forecast]:
    """The forecasts of all plans, with all reports in the last one, as they are written together."""
    reports = sum(one.seconds(("report",)) for one in each)
    plans = [replace(one, steps=tuple(step for step in one.steps if step.name != "report")) for one in each]
    last = (*plans[-1].steps, each[-1].steps[-1]._replace(seconds=reports))
    return [*plans[:-1], replace(plans[-1], steps=last)]


def _together(each: Sequence[Forecast]) -> Forecast:
    """The forecasts of all plans as one: they are made, and written, one after the other."""
    from laserpath.planning import Forecast

    return Forecast(
        tuple(step for one in each for step in one.steps),
        max(one.memory for one in each),
        sum(one.write_seconds for one in each),
        tuple(dict.fromkeys(note for one in each for note in one.notes)),
        tuple(dict.fromkeys(warning for one in each for warning in one.warnings)),
        each[0].plans,
    )


def _warnings(plans: ColourPlans, known: Sequence[str], *, frame: bool) -> Iterator[str]:
    """The warnings of each plan, with its name, without those of the drawing, which are `known`."""
    for one in plans.plans:
        yield from (f"{one.design.name}: {text}" for text in one.report.warnings if text not in known)
    if frame:
        first = plans.plans[0]
        yield from (text for text in show.warnings(first, frame=True) if text not in first.report.warnings)


def summary(plans: ColourPlans, written: Sequence[Path]) -> None:
    """Print the verdict on each plan, a table of their figures, and the files written."""
    from rich.console import Console
    from rich.table import Table

    from laserpath.report.figure_table import ROWS, Shown, cell, keys_of

    first = plans.plans[0]
    fwhm = first.page_data.fwhm
    table = Table(
        caption=f"(as executed; in brackets: in FWHM of the spot, {fwhm:g} mm)", caption_justify="left"
    )
    table.add_column()
    for one in plans.plans:
        table.add_column(one.design.name, justify="right")
    for key in keys_of(Shown.TERMINAL):
        cells = (cell(key, one.report.executed.as_dict(), fwhm) for one in plans.plans)
        table.add_row(ROWS[key].name, *cells)
    console = Console(highlight=False, markup=False)
    for one in plans.plans:
        console.print(f"{one.design.name} {show.what_cures(one)}. {one.verdict[1]}", soft_wrap=True)
    console.print(table)
    console.print("Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True)


def as_json(plans: ColourPlans, written: Sequence[Path], warnings: Sequence[str]) -> str:
    """Figures and files as JSON: those of all, and for each colour those of a plan."""
    full = {
        "design": plans.name,
        "files": [str(path) for path in written],
        "within_tolerance": bool(plans.within_tolerance),
        "warnings": list(warnings),
        "colours": [
            {
                "number": one.design.part.number if one.design.part else None,
                "name": one.design.part.name if one.design.part else None,
                "colour": one.design.part.colour if one.design.part else None,
                "resin": one.process.resin.name,
                **show.content(one, _own(one.design.name, written), one.report.warnings),
            }
            for one in plans.plans
        ],
    }
    return json.dumps(full, indent=2, ensure_ascii=False, allow_nan=False)


def _own(name: str, written: Sequence[Path]) -> list[Path]:
    """The files of one plan."""
    return [path for path in written if path.name.startswith(f"{name}.")]
