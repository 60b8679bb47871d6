"""`laserpath check`: read, check, report, exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base import limits
from laserpath.base.errors import InputError, figure
from laserpath.cli.ending import HAS_ERRORS
from laserpath.cli.options import LIMIT
from laserpath.cli.show import json_of
from laserpath.config import profiles

if TYPE_CHECKING:
    from gcode import Checked
    from laserpath.types import Machine

_STDIN = "-"
_EPILOG = """\b
Examples:
  laserpath check design.gcode
  laserpath check design.gcode --machine my-laser.toml --strict
  laserpath check design.gcode --dialect marlin --json

\b
Exit codes: 0 no errors; 1 the file has errors (with --strict: or warnings); 2 bad input, nothing
checked.

\b
This checks the machine's side only. For what the file will cure, use `laserpath simulate`."""


@click.command(epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--machine", metavar="NAME|FILE",
    help=f"Profile name or TOML file  [that in the head of FILE, else of a laserpath.toml beside it, "
    f"else {profiles.DEFAULTS['machine']}; see `laserpath profiles list`]",
)  # fmt: skip
@click.option("--dialect", metavar="NAME|FILE", help="G-code dialect: name or TOML file  [the machine's]")
@click.option("--strict", is_flag=True, help="Treat warnings as errors")
@click.option("--json", "as_json", is_flag=True, help="Print only JSON on stdout: findings and figures")
@click.option("--limit", **LIMIT)
@click.option("-q", "--quiet", is_flag=True, help="Print only the findings")
@click.pass_context
def check(
    context: click.Context,
    file: Path,
    machine: str | None,
    dialect: str | None,
    strict: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check FILE, a G-code program, before it runs on a machine. `-` reads stdin.

    Finds lines where the laser is on but must be off, values out of the machine's range, commands that its
    controller does not understand, and moves that it cannot follow.
    """
    data = _read(file)
    import gcode
    from laserpath.design import refuse_drawing
    from laserpath.machine.convert import envelope

    refuse_drawing(data, "" if str(file) == _STDIN else str(file))
    text = data.decode("utf-8", "surrogateescape")  # the check reports bytes that are not UTF-8
    del data  # of ten million moves it takes 340 MB
    laser, where = _machine_of(text, file) if machine is None else (profiles.machine(machine), "")
    if where and not quiet:
        click.echo(f"laserpath: for {laser.name!r}, the machine {where}", err=True)
    language = gcode.dialect(laser.dialect if dialect is None else dialect)
    checked = gcode.examine(text, language, envelope(laser, language))
    if as_json:
        _print(json_of(_as_json(file, checked)))
    else:
        for finding in checked.findings:
            _print(f"{file}:{finding.line}: {finding.severity}: {finding.message}")
        if not quiet:
            _print(_summary(file, checked))
    if checked.errors or (strict and checked.warnings):
        context.exit(HAS_ERRORS)


def _machine_of(text: str, file: Path) -> tuple[Machine, str]:
    """The machine in the head of a program, or in the project beside it, and where; else the default, ''."""
    from laserpath.config import project, request

    try:
        saved, where = project.in_head(text, file), f"in the head of {file}"
        if saved is None:
            saved = project.beside(None if str(file) == _STDIN else file)
            where = f"of {saved.path}" if saved else ""
        if saved and "machine" in saved.values:
            return request.machine_of(saved.values), where
    except InputError as error:
        raise InputError(f"{error}; name the machine by --machine") from None
    return profiles.machine(), ""


def _read(file: Path) -> bytes:
    """The content of a file, or of stdin for `-`."""
    return limits.stdin() if str(file) == _STDIN else limits.content(file, "program")


def _print(text: str) -> None:
    """Print on stdout; characters that cannot be encoded are escaped."""
    click.echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _summary(file: Path, checked: Checked) -> str:
    """`design.gcode: no errors, 2 warnings; 1234 moves in 12.3 s, X 0…20 Y 0…10 mm`."""
    counts = f"{file}: {_count(checked.errors, 'error')}, {_count(checked.warnings, 'warning')}"
    if checked.box is None:
        unread = checked.unread_from
        return f"{counts}; {'no moves' if unread is None else f'not read beyond line {unread}'}"
    x0, y0, x1, y1 = (f"{value:.6g}" for value in checked.box)
    moves, seconds = _count(checked.moves, "move"), checked.write_time
    return f"{counts}; {moves} in {figure(seconds, 4)} s, within X {x0}…{x1} and Y {y0}…{y1} mm"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _as_json(file: Path, checked: Checked) -> dict[str, Any]:
    return {
        "file": str(file),
        "errors": checked.errors,
        "warnings": checked.warnings,
        "findings": [
            {"severity": f.severity, "line": f.line, "column": f.column, "message": f.message}
            for f in checked.findings
        ],
        "moves": checked.moves,
        "write_time_s": checked.write_time,
        "box_mm": checked.box,
    }
