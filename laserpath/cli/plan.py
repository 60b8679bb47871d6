"""`laserpath plan`: parse, load, plan, write, exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError
from laserpath.cli import progress, show
from laserpath.cli.codes import TOLERANCE_MISSED
from laserpath.cli.colours import check_colours, plan_colours
from laserpath.cli.grey import plan_grey
from laserpath.cli.grouped import GroupedCommand, options
from laserpath.cli.interrupt import Interrupts, Stopped
from laserpath.cli.job import Job, Made
from laserpath.cli.options import COLOURS, DESIGN, FILES, LIMITS, OUTPUT, PLAN, PROCESS
from laserpath.config import project, request

if TYPE_CHECKING:
    from laserpath import Plan, Progress

_EPILOG = """\b
Examples:
  laserpath plan design.svg
  laserpath plan design.svg -o out --spot-fwhm 80um --critical-dose 35
  laserpath plan board.gbr --negative --mirror x --machine my-laser.toml
  laserpath plan chip.gds --layer 1/0 --resin positive-photoresist --na 0.1 --wavelength 405 \\
      --machine linuxcnc-stage-405 --origin design
  laserpath plan logo.png --size 20mm --max-epe 10um --json
  laserpath plan poster.svg --colours 3 --colour-resin red=red-resin.toml
  laserpath plan                     # the design that laserpath.toml in this folder names

\b
Ctrl-C while optimising takes the best plan so far; a second Ctrl-C stops without writing.
Ctrl-C while the sensitivity is computed keeps the plan, which is written before.
With --colours the first Ctrl-C stops without writing.

\b
Exit codes: 0 success; 2 bad input, nothing written; 3 files written, but --max-epe is not met;
130 interrupted by a second Ctrl-C, or before there was any plan, nothing written.

\b
CAUTION: a laser that cures resin can blind you faster than you can blink. Enclose the beam or
wear goggles rated for its wavelength; never leave the machine unattended."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@click.argument("design", metavar="[DESIGN]", type=click.Path(), required=False)
@options(OUTPUT, FILES, PROCESS, DESIGN, COLOURS, PLAN, LIMITS)
@click.pass_context
def plan(context: click.Context, /, design: str | None, **given: Any) -> None:
    """Plan a toolpath that exposes DESIGN: SVG, DXF, GDSII, OASIS, Gerber, PNG, TIFF, GeoJSON or WKT.

    Writes DESIGN.gcode for the machine, DESIGN.toolpath.svg, a drawing, and DESIGN.report.html, which shows
    what will cure. Options that are not given come from a laserpath.toml beside the design.
    """
    with Interrupts() as interrupts:
        from laserpath import optics
        from laserpath.base.files import check_folder

        folder = Path(given["output"])
        check_folder(folder)
        if given["save_project"] and (folder / project.NAME).exists():
            raise InputError(f"{str(folder / project.NAME)!r} is there already, and would be lost")
        file, values = _inputs(design, given)
        check_colours(given, values)
        process = request.process_of(values)
        fwhm = optics.fwhm(process.spot)
        settings = request.settings_of(values, fwhm)
        talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
        talk.more(f"spot {fwhm:g} mm; {process.resin.name}; {process.machine.name}")
        job = Job(file, given, values, process, settings, folder, talk, interrupts.check, interrupts.kept)
        with progress.meter(hidden=given["quiet"]) as meter:
            interrupts.show_on(meter)

            def listen(now: Progress) -> None:
                meter(now)
                interrupts.on_progress()

            made = _made(job, listen, meter)
    for sentence in made.warnings:
        if sentence not in made.reported:
            talk.warn(sentence)
    if given["json"]:
        click.echo(made.as_json())
    elif not given["quiet"]:
        made.summary()
    if made.missed:
        click.echo(f"laserpath: {made.missed}", err=True)
        context.exit(TOLERANCE_MISSED)


def _made(job: Job, listen: Callable[[Progress], None], meter: progress.Meter) -> Made:
    """Plan greys, colours or a drawing, and write the files."""
    if job.values.get("grey"):
        return plan_grey(job, listen, meter)
    if job.values.get("colours") and not job.values.get("colour"):
        return plan_colours(job, meter)
    return _plan(job, listen, meter)


def _plan(job: Job, listen: Callable[[Progress], None], meter: progress.Meter) -> Made:
    """Plan a drawing and write its files."""
    frame, save_project = job.given["frame"], job.given["save_project"]
    import laserpath
    from laserpath import optics
    from laserpath.design import FLATTEN_FWHM

    tolerance = FLATTEN_FWHM * optics.fwhm(job.process.spot)
    meter.name = f"reading {Path(job.file).name}"
    drawn = laserpath.load(
        job.file,
        tolerance=tolerance,
        reading=request.reading_of(job.values, tolerance),
        arrangement=request.arrangement_of(job.values),
    )
    job.check_places(drawn.name)
    job.talk.tell(show.in_short(drawn))
    for sentence in drawn.warnings:
        job.talk.warn(sentence)
    for note in show.placing(drawn, job.process, job.settings):
        job.talk.tell(note)
    told = progress.expect(
        drawn, job.process, job.settings, job.talk, meter, sensitivity=job.given["sensitivity"]
    )
    planned = laserpath.plan(drawn, job.process, job.settings, progress=listen)
    job.talk.more(f"the optimiser {planned.solution.result}")
    job.check()
    meter.writing()
    written, untold = planned.write(job.folder, frame=frame, project=save_project), ""
    if job.given["sensitivity"] and not planned.solution.stopped:
        planned, untold = _with_sensitivity(planned, job, listen, meter)
    warnings = (*show.warnings(planned, frame=frame), *([untold] if untold else ()))
    return Made(
        warnings,
        as_json=lambda: show.as_json(planned, written, warnings),
        summary=lambda: show.summary(planned, written),
        missed="" if planned.within_tolerance else show.tolerance_missed(planned),
        reported=(*drawn.warnings, *told),
    )


def _with_sensitivity(
    planned: Plan, job: Job, listen: Callable[[Progress], None], meter: progress.Meter
) -> tuple[Plan, str]:
    """The written plan with its sensitivity, also in its files; or as it is, and a sentence that says why."""
    import laserpath

    job.kept()
    try:
        found = replace(planned, sensitivity=laserpath.sensitivity(planned, listen))
        meter.writing()
        found.write(job.folder, frame=job.given["frame"], project=job.given["save_project"])
    except InputError as error:
        return planned, f"the plan is written without its sensitivity: {error}"
    except Stopped:
        return planned, "the plan is written without its sensitivity, which Ctrl-C has stopped"
    return found, ""


def _inputs(design: str | None, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The design's file, and the options; the project file gives those that are missing."""
    chosen = {name: value for name, value in given.items() if value is not None and value != ()}
    saved = project.load(given["project"]) if given["project"] else project.beside(design)
    file = design or (str(saved.design) if saved and saved.design else None)
    if file is None:
        reason = f"{saved.path} names no design" if saved else f"there is no {project.NAME} here"
        raise click.UsageError(f"Which design? None is given, and {reason}.")
    if saved is None:
        return file, chosen
    if not given["quiet"]:
        click.echo(f"laserpath: with the settings of {saved.path}", err=True)
    return file, request.over(saved.values, chosen)
