"""`laserpath plan`: parse, load, plan, write, exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from laserpath.cli import show
from laserpath.cli.interrupt import Interrupts
from laserpath.cli.options import GroupedCommand, plan_options, process_of, settings_of

TOLERANCE_MISSED = 3

_EPILOG = """\b
Examples:
  laserpath plan design.svg
  laserpath plan design.svg -o out --spot-fwhm 80um --critical-dose 35
  laserpath plan mask.svg --resin positive-photoresist --na 0.1 --wavelength 405
  laserpath plan design.svg --machine my-laser.toml --max-epe 10um --json

\b
Ctrl-C while optimising finishes with the best so far; a second one stops and writes nothing.

\b
Exit codes: 0 done; 2 bad input, nothing written; 3 files written, but --max-epe is missed;
130 stopped by Ctrl-C, nothing written.

\b
CAUTION: a laser that cures resin blinds before you blink. Enclose the beam or wear goggles
rated for its wavelength; never leave the machine running alone."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@click.argument("design", metavar="DESIGN", type=click.Path())
@plan_options
@click.pass_context
def plan(context: click.Context, /, design: str, **said: Any) -> None:
    """Plan the laser's way over DESIGN, an SVG file.

    Writes DESIGN.gcode for the machine, and DESIGN.toolpath.svg and DESIGN.report.html, which say
    what it will cure.
    """
    with Interrupts() as interrupts:
        import laserpath
        from laserpath.files import check_folder

        folder = Path(said["output"])
        check_folder(folder)
        process = process_of(said)
        from laserpath import optics

        settings = settings_of(said, optics.fwhm(process.spot))
        with show.progress_bar(settings.iterations, hidden=said["quiet"]) as bar:

            def listen(progress: laserpath.Progress) -> None:
                bar(progress)
                interrupts.on_progress()

            planned = laserpath.plan(design, process, settings, progress=listen)
            written = planned.write(folder, frame=said["frame"])
    warnings = tuple(show.warnings(planned, frame=said["frame"]))
    for sentence in warnings:
        click.echo(f"laserpath: warning: {sentence}", err=True)
    if said["json"]:
        click.echo(show.as_json(planned, written, warnings))
    elif not said["quiet"]:
        show.summary(planned, written)
    if not planned.within_tolerance:
        click.echo(f"laserpath: {show.tolerance_missed(planned)}", err=True)
        context.exit(TOLERANCE_MISSED)
