"""`laserpath simulate`: read, expose, write, report, exit code."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.cli import exposures, show
from laserpath.cli.codes import TOLERANCE_MISSED
from laserpath.cli.exposures import DEPTH, PROGRAM, PROJECT, TARGET
from laserpath.cli.grouped import GroupedCommand, options
from laserpath.cli.options import DESIGN, LIMITS, OUTPUT, PROCESS

if TYPE_CHECKING:
    from laserpath.simulation import Simulation

_EPILOG = """\b
Examples:
  laserpath simulate job.nc
  laserpath simulate job.nc --design board.svg --spot-fwhm 80um --critical-dose 35
  laserpath simulate lightburn.gc --design board.svg --align --max-epe 20um
  laserpath simulate job.nc --resin working-curve --depth
  laserpath simulate printer.gcode --dialect marlin --s-max 255 --json

\b
Exit codes: 0 success; 2 bad input, nothing written; 3 files written, but --max-epe is not met.

\b
This computes the exposure only. For errors on the machine, use `laserpath check`."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path())
@options(OUTPUT, PROJECT, PROGRAM, DEPTH, TARGET, DESIGN, PROCESS, LIMITS)
@click.pass_context
def simulate(context: click.Context, /, file: str, **given: Any) -> None:
    """Compute what FILE, a G-code program from any tool, cures on a machine and resin.

    Writes FILE.simulation.html, the report, and FILE.cured.svg, the cured outline. With --design it also
    measures how far that is from the design. `-` reads stdin.
    """
    from laserpath.base.files import check_folder, check_places

    folder = Path(given["output"])
    check_folder(folder)
    talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
    inputs = exposures.inputs_of(given)
    if inputs.design is not None:
        talk.tell(show.in_short(inputs.design))
    with exposures.stages(len(exposures.STAGES), hidden=given["quiet"]) as stage:
        from laserpath.simulation import paths_of
        from laserpath.simulation import simulate as simulate_program

        program, name = exposures.program(file)
        check_places(paths_of(name, folder))

        def begin(name: str) -> None:
            stage(name)
            talk.more(name)

        simulation = simulate_program(
            program, inputs.process, inputs.design, inputs.settings, inputs.choices, name=name, progress=begin
        )
        begin("drawing")
        written = simulation.write(folder)
    for sentence in simulation.warnings:
        talk.warn(sentence)
    if given["json"]:
        click.echo(exposures.as_json(simulation.as_dict(), written))
    elif not given["quiet"]:
        summary(simulation, written)
    if not simulation.within_tolerance:
        click.echo(f"laserpath: {exposures.tolerance_missed(simulation)}", err=True)
        context.exit(TOLERANCE_MISSED)


def summary(simulation: Simulation, written: Iterable[Path]) -> None:
    """Print the table of figures and the files written."""
    from rich.console import Console
    from rich.table import Table

    from laserpath import optics
    from laserpath.report.figure_table import ROWS, Shown, cell, keys_of, means_explained
    from laserpath.simulation.page import another_power, what_it_is

    fwhm, content = optics.fwhm(simulation.process.spot), simulation.as_dict()
    caption = f"(in brackets: in FWHM of the spot, {fwhm:g} mm)" if simulation.design else None
    table = Table(caption=caption, caption_justify="left")
    table.add_column()
    table.add_column("as executed", justify="right")
    for key in (key for key in keys_of(Shown.SIMULATION) if key in content["executed"]):
        table.add_row(ROWS[key].name, cell(key, content["executed"], fwhm))
    console = Console(highlight=False, markup=False)
    console.print(f"{simulation.name}: {what_it_is(simulation)}", soft_wrap=True)
    console.print(table)
    for name, why in means_explained([("As executed", content["executed"])]):
        console.print(f"{name}: {why}", soft_wrap=True)
    if simulation.depth:
        from laserpath.report.depth import said

        done = "cure" if simulation.process.resin.tone == "negative" else "clear"
        console.print(said(simulation.depth, done)[1], soft_wrap=True)
    if simulation.best:
        console.print(f"Another power? {another_power(simulation)}", soft_wrap=True)
    if simulation.sensitivity:
        show.tell_sensitivity(simulation.sensitivity, simulation.process)
    console.print("Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True)
