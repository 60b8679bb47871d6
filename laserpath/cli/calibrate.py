"""`laserpath calibrate`: parse, lay out, report, write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError, figure
from laserpath.cli import amounts, show
from laserpath.cli.grouped import GroupedCommand, Options, options
from laserpath.cli.options import LIMITS, OUTPUT, PROCESS
from laserpath.config import request

if TYPE_CHECKING:
    from laserpath.calibration import Chart

_CHART: Options = {
    "Chart": {
        "--around": {
            "type": amounts.dose(),
            "metavar": "DOSE",
            "help": "Narrow the chart to around a roughly known critical dose, mJ/cm2  [a wide chart]",
        },
        "--from": {
            "type": amounts.line_energy(),
            "metavar": "ENERGY",
            "help": "Lowest line energy (power/speed), mJ/mm; needs --to",
        },
        "--to": {
            "type": amounts.line_energy(),
            "metavar": "ENERGY",
            "help": "Highest line energy, mJ/mm; needs --from",
        },
        "--powers": {
            "type": click.IntRange(2, 12),
            "default": 6,
            "metavar": "N",
            "help": "Number of powers, one row of lines each  [6]",
        },
        "--speeds": {
            "type": click.IntRange(2, 12),
            "default": 8,
            "metavar": "N",
            "help": "Number of speeds, one column of lines each  [8]",
        },
        "--name": {"metavar": "NAME", "default": "chart", "help": "File name without its suffix  [chart]"},
        "--decimal": {
            "type": click.Choice(["point", "comma"]),
            "default": "point",
            "help": "Decimal separator of your spreadsheet; with comma, semicolons separate columns  [point]",
        },
    },
}

_EPILOG = """\b
Examples:
  laserpath calibrate --machine my-laser.toml -o chart
  laserpath calibrate --machine my-laser.toml --spot-fwhm 80um --around 35
  laserpath calibrate --from 0.002 --to 2mJ/mm --powers 4

\b
By default, line energies run from 1/16 to 256 times what the resin's profile predicts for a line to cure.
Measure the chart, fill in NAME.csv, then run `laserpath fit NAME.csv`.

\b
CAUTION: a laser that cures resin can blind you faster than you can blink. Enclose the beam or
wear goggles rated for its wavelength; never leave the machine unattended."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@options(OUTPUT, _CHART, PROCESS, LIMITS)
def calibrate(**given: Any) -> None:
    """Write a test chart that measures spot, critical dose, penetration depth and reciprocity.

    The chart has lines of many powers and speeds, dots and wedges. Writes NAME.gcode for the machine,
    NAME.svg, a map of the chart, and NAME.csv, the sheet for your measurements.
    """
    from laserpath import calibration
    from laserpath.base.files import check_folder, check_places

    folder = Path(given["output"])
    check_folder(folder)
    name = plain_name(given["name"])
    check_places(folder / f"{name}.{end}" for end in ("gcode", "svg", "csv"))
    low, high = given["from"], given["to"]
    if (low is None) != (high is None):
        raise click.UsageError(
            f"--{'from' if high is None else 'to'} needs --{'to' if high is None else 'from'}."
        )
    with show.busy("laying out", hidden=given["quiet"]):
        chart = calibration.chart(
            request.process_of(given), around=given["around"], energies=None if low is None else (low, high),
            powers=given["powers"], speeds=given["speeds"],
        )  # fmt: skip
    talk = show.Talk(quiet=given["quiet"] or given["json"], verbose=given["verbose"])
    talk.tell(_in_short(chart))
    warnings = (*chart.notes, *chart.findings())
    for sentence in warnings:
        talk.warn(sentence)
    written = chart.write(folder, name=name, decimal=given["decimal"])
    if given["json"]:
        click.echo(_as_json(chart, written, warnings))
    elif not given["quiet"]:
        click.echo("wrote " + ", ".join(map(str, written)))


def plain_name(name: str) -> str:
    """`name`, checked to be a plain file name."""
    if not name.strip() or name != Path(name).name:
        raise InputError(f"name {name!r} is not a plain file name")
    return name


def _in_short(chart: Chart) -> str:
    width, height = chart.size
    size = f"{figure(width, 4)} × {figure(height, 4)} mm"
    return f"chart: {size}, {len(chart.items)} items, {chart.write_time:.0f} s to write"


def _as_json(chart: Chart, written: tuple[Path, ...], warnings: tuple[str, ...]) -> str:
    low, high = chart.energies
    content = {
        "files": [str(path) for path in written],
        "size_mm": chart.size,
        "items": len(chart.items),
        "write_time_s": chart.write_time,
        "line_energy_mJ_per_mm" if chart.process.resin.order == 1 else "line_energy": [low, high],
        "warnings": warnings,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
