"""`laserpath compare`: read, expose each program, compare, write, report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.cli import exposures, show
from laserpath.cli.exposures import PROGRAM, PROJECT, TARGET
from laserpath.cli.grouped import GroupedCommand, options
from laserpath.cli.options import DESIGN, LIMITS, OUTPUT, PROCESS

if TYPE_CHECKING:
    from laserpath.simulation.comparison import Comparison, FigureRow

_DESIGN_FILE = {"Design": {"--design": TARGET["Design"]["--design"]}}

_EPILOG = """\b
Examples:
  laserpath compare lightburn.gc design.gcode --design design.svg
  laserpath compare hatch.nc outline.nc design.gcode --design design.svg --align
  laserpath compare a.gcode b.gcode --design design.svg --json

\b
Exit codes: 0 success; 2 bad input, nothing written."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@click.argument("programs", metavar="FILE FILE …", type=click.Path(), nargs=-1, required=True)
@options(OUTPUT, PROJECT, PROGRAM, _DESIGN_FILE, DESIGN, PROCESS, LIMITS)
def compare(programs: tuple[str, ...], **given: Any) -> None:
    """Compare what two or more G-code programs cure on the same machine and resin.

    Writes DESIGN.comparison.html: figures side by side, cured outlines, doses, and where they differ.
    """
    from laserpath.base.files import check_folder, check_places

    if len(programs) < 2:
        raise click.UsageError(f"{len(programs)} program cannot be compared; give two or more.")
    folder = Path(given["output"])
    check_folder(folder)
    talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
    inputs = exposures.inputs_of({"max_epe": None, "sensitivity": False, **given})
    if inputs.design is not None:
        talk.tell(show.in_short(inputs.design))
    count = len(programs) * (len(exposures.STAGES) - 1) + 1
    with exposures.stages(count, hidden=given["quiet"]) as stage:
        from laserpath.simulation.comparison import compare as compare_programs
        from laserpath.simulation.comparison import path_of

        check_places([path_of(programs, inputs.design, folder)])

        def begin(name: str) -> None:
            stage(name)
            talk.more(name)

        comparison = compare_programs(
            [Path(file) for file in programs], inputs.process, inputs.design, inputs.settings, inputs.choices,
            names=programs, progress=begin,
        )  # fmt: skip
        begin("drawing")
        written = comparison.write(folder)
    for simulation in comparison.simulations:
        for sentence in simulation.warnings:
            talk.warn(f"{simulation.name}: {sentence}")
    if given["json"]:
        click.echo(exposures.as_json(comparison.as_dict(), written))
    elif not given["quiet"]:
        summary(comparison, written)


def summary(comparison: Comparison, written: Iterable[Path]) -> None:
    """Print the figures side by side, and the files written."""
    from rich.console import Console
    from rich.table import Table

    from laserpath import optics
    from laserpath.report.figure_table import ROWS
    from laserpath.simulation.comparison.page import explained, headline

    fwhm = optics.fwhm(comparison.process.spot)
    caption = f"(as executed; ✓ the best; × relative to {comparison.names[0]}"
    caption += f"; in brackets: in FWHM of the spot, {fwhm:g} mm)" if comparison.design else ")"
    table = Table(caption=caption, caption_justify="left")
    table.add_column()
    for name in comparison.names:
        table.add_column(name, justify="right")
    for row in comparison.rows:
        table.add_row(ROWS[row.key].name, *(_cell(row, k, fwhm) for k in range(len(comparison.names))))
    console = Console(highlight=False, markup=False)
    for sentence in headline(comparison):
        console.print(sentence, soft_wrap=True)
    console.print(table)
    for name, why in explained(comparison):
        console.print(f"{name}: {why}", soft_wrap=True)
    console.print("Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True)


def _cell(row: FigureRow, k: int, fwhm: float) -> str:
    """`✓ 2.9 µm (0.029) × 0.1`"""
    import math

    from laserpath.report.figure_table import cell
    from laserpath.report.wording import number

    ratio = row.ratios[k]
    times = f"  × {number(ratio, 2)}" if k and math.isfinite(ratio) else ""
    return f"{'✓ ' if k in row.best else ''}{cell(row.key, {row.key: row.values[k]}, fwhm)}{times}"
