"""`laserpath simulate`: read, expose, write, report, exit code."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.cli import exposures, show
from laserpath.cli.codes import TOLERANCE_MISSED
from laserpath.cli.exposures import PROGRAM, PROJECT, WANTED
from laserpath.cli.grouped import GroupedCommand, options
from laserpath.cli.options import DESIGN, OUTPUT, PROCESS

if TYPE_CHECKING:
    from laserpath.simulation import Simulation

_EPILOG = """\b
Examples:
  laserpath simulate job.nc
  laserpath simulate job.nc --design board.svg --spot-fwhm 80um --critical-dose 35
  laserpath simulate lightburn.gc --design board.svg --align --max-epe 20um
  laserpath simulate printer.gcode --dialect marlin --s-max 255 --json

\b
Exit codes: 0 success; 2 bad input, nothing written; 3 files written, but --max-epe is not met.

\b
This computes the exposure only. For errors on the machine, use `laserpath check`."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path())
@options(OUTPUT, PROJECT, PROGRAM, WANTED, DESIGN, PROCESS)
@click.pass_context
def simulate(context: click.Context, /, file: str, **said: Any) -> None:
    """Compute what FILE, a G-code program from any tool, cures on a machine and resin.

    Writes FILE.simulation.html, the report, and FILE.cured.svg, the cured outline. With --design it also
    measures how far that is from the design. `-` reads stdin.
    """
    from laserpath.base.files import check_folder

    folder = Path(said["output"])
    check_folder(folder)
    talk = show.Talk(quiet=said["quiet"], verbose=said["verbose"])
    wanted = exposures.asked(said)
    if wanted.design is not None:
        talk.tell(show.in_short(wanted.design))
    with exposures.stages(len(exposures.STAGES), hidden=said["quiet"]) as stage:
        from laserpath import simulation

        program, name = exposures.program(file)

        def tell(what: str) -> None:
            stage(what)
            talk.more(what)

        found = simulation.simulate(
            program, wanted.process, wanted.design, wanted.settings, wanted.choices, name=name, progress=tell
        )
        tell("drawing")
        written = found.write(folder)
    for sentence in found.warnings:
        talk.warn(sentence)
    if said["json"]:
        click.echo(exposures.as_json(found.as_dict(), written))
    elif not said["quiet"]:
        summary(found, written)
    if not found.within_tolerance:
        click.echo(f"laserpath: {exposures.tolerance_missed(found)}", err=True)
        context.exit(TOLERANCE_MISSED)


def summary(found: Simulation, written: Iterable[Path]) -> None:
    """Print the table of figures and the files written."""
    from rich.console import Console
    from rich.table import Table

    from laserpath import optics
    from laserpath.report.rows import means_explained
    from laserpath.simulation.labels import LABELS, cell
    from laserpath.simulation.page import another_power, what_it_is

    fwhm, content = optics.fwhm(found.process.spot), found.as_dict()
    caption = f"(in brackets: in FWHM of the spot, {fwhm:g} mm)" if found.design else None
    table = Table(caption=caption, caption_justify="left")
    table.add_column()
    for heading in ("as commanded", "as executed"):
        table.add_column(heading, justify="right")
    for key in (key for key in LABELS if key in content["executed"]):
        table.add_row(LABELS[key], *(cell(key, content[how], fwhm) for how in ("commanded", "executed")))
    console = Console(highlight=False, markup=False)
    console.print(f"{found.name}: {what_it_is(found)}", soft_wrap=True)
    console.print(table)
    for name, why in means_explained((f"As {how}", content[how]) for how in ("commanded", "executed")):
        console.print(f"{name}: {why}", soft_wrap=True)
    if found.best:
        console.print(f"Another power? {another_power(found)}", soft_wrap=True)
    console.print("Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True)
