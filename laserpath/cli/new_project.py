"""`laserpath new-project`: a laserpath.toml with all layers of a design, to edit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError
from laserpath.base.files import write_all
from laserpath.base.quantities import quoted, quoted_path
from laserpath.cli.board import is_board
from laserpath.cli.grouped import GroupedCommand, Options, options
from laserpath.cli.options import DESIGN, LIMITS, OUTPUT, PROCESS
from laserpath.config import request
from laserpath.config.project import NAME, folder_of, is_file

if TYPE_CHECKING:
    from laserpath.config.new_project import ListedLayer
    from laserpath.types import Process

    Found = tuple[Sequence[ListedLayer], str, Sequence[str]]
    """(what is listed, `layer` or `colour`, notes)."""

_EPILOG = """\b
Examples:
  laserpath new-project panel.dxf
  laserpath new-project poster.svg --colours 3
  laserpath new-project board.zip --machine my-laser.toml

\b
Then edit laserpath.toml: which layers are on, their order, dose, passes, quality and resin; and run
`laserpath plan` or `laserpath board` in its folder.

\b
Exit codes: 0 success; 2 bad input, nothing written."""

_OUT: Options = {
    "Output": {
        "--force": {"is_flag": True, "help": f"Replace a {NAME} that is there"},
        "-q --quiet": OUTPUT["Output"]["-q --quiet"],
    }
}
_OF_PROCESS = ("--machine", "--resin", "--spot-fwhm")
_OF_DESIGN = ("--colours", "--cell")
_GIVEN: Options = {
    "Machine, resin, spot": {name: PROCESS["Machine, resin, spot"][name] for name in _OF_PROCESS},
    "Design": {name: DESIGN["Design"][name] for name in _OF_DESIGN},
}


@click.command("new-project", cls=GroupedCommand, epilog=_EPILOG)
@click.argument("files", metavar="FILE…", type=click.Path(), nargs=-1, required=True)
@options(_OUT, _GIVEN, LIMITS)
def new_project(files: tuple[str, ...], **given: Any) -> None:
    """Write a laserpath.toml with all layers or colours of FILE, ready to edit.

    FILE is a drawing, or a board: its folder, ZIP archive, or several files. The project is written beside
    it, or into the folder.
    """
    from laserpath.config.new_project import new_text

    folder = folder_of(files[0])
    file = folder / NAME
    if not given["force"] and os.path.lexists(file):
        raise InputError(f"{str(file)!r} is there already, and would be lost; --force replaces it")
    values = {name: value for name, value in given.items() if value is not None}
    process = request.process_of(values)  # which refuses profiles that are not there
    board = is_board(files)
    layers, noun, notes = _of_board(files) if board else _of_drawing(files[0], values, process)
    design = Path(os.path.relpath(files[0], folder)) if len(files) == 1 else None
    command = "laserpath board" + ("" if design else " FILES…") if board else "laserpath plan"
    text = new_text(
        design,
        layers,
        values=dict(_written(values, folder)),
        command=command,
        noun=noun,
        follows=noun == "layer" and not board,
        notes=notes,
    )
    (written,) = write_all({file: text})
    if not given["quiet"]:
        for one in layers:
            click.echo(f"laserpath: {noun} {one.name!r}{'' if one.on else ', off'}: {one.note}", err=True)
        for note in notes:
            click.echo(f"laserpath: {note}", err=True)
    click.echo(f"Written: {written}; edit it, and run `{command}` in its folder")


def _of_board(files: Sequence[str]) -> Found:
    """The layers of a board."""
    from laserpath.config.new_project import listed_board
    from laserpath.design.board.files import gather

    found = gather([Path(file) for file in files])
    layers, unasked = listed_board(found), ", ".join(found.unknown)
    if not layers:
        raise InputError(f"{found.name} has no layer that can be exposed; --layer says which file is one")
    notes = [f"nothing says which layer these are: {unasked}; `laserpath board --layer LAYER=FILE` does"]
    return layers, "layer", notes if unasked else []


def _of_drawing(file: str, values: Mapping[str, Any], process: Process) -> Found:
    """The layers or colours of a drawing."""
    from laserpath.config.new_project import listed_parts
    from laserpath.design import found_parts, tolerance_for

    reading = request.reading_of(values, tolerance_for(process.spot))
    found = found_parts(file, reading)
    if not found:
        name = Path(file).name
        return (), "layer", [f"{name} has no layers; if it is a picture in 3 colours, --colours 3 lists them"]
    return listed_parts(found), found[0].kind, []


def _written(values: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Key and value of what is given, as a project in that folder writes it."""
    for name in ("machine", "resin"):
        if is_file(values.get(name)):
            yield name, quoted_path(Path(os.path.relpath(values[name], folder)).as_posix())
        elif name in values:
            yield name, quoted(values[name])
    if "spot_fwhm" in values:
        yield "spot_fwhm", f'"{values["spot_fwhm"]:.12g}mm"'
    if "cell" in values:
        yield "cell", quoted(values["cell"])
