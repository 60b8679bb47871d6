"""`vpype read drawing.svg laserpath …`: a command of vpype, found by the entry point `vpype.plugins`.

Only vpype imports this module: laserpath works without vpype.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import vpype
import vpype_cli

from laserpath.base.errors import InputError
from laserpath.cli import progress, show
from laserpath.cli.grouped import GroupedCommand, Options, Parsed, options
from laserpath.cli.options import DESIGN, FILES, OUTPUT, PLAN, PROCESS
from laserpath.config import request, values

if TYPE_CHECKING:
    from laserpath.types import Design, Spot

_LINES: Options = {
    "Line work": {
        "-l --layer": {
            "type": vpype_cli.LayerType(accept_multiple=True),
            "default": "all",
            "help": "Layers to plan  [all]",
        },
        "--stroke": {
            "type": Parsed(values.spot_fwhm, "spot_fwhm"),
            "metavar": "LENGTH",
            "help": "Line width: 0.2mm, 150um  [the layer's pen width, or the spot's FWHM]",
        },
        "--fill": {
            "is_flag": True,
            "help": "Fill closed lines (even-odd); lines are stroked only if --stroke is given",
        },
        "--follow": {
            "is_flag": True,
            "help": "Expose the lines along themselves, each in its width, and fill nothing",
        },
    },
}
_PLACE: Options = {"Place": {name: DESIGN["Design"][name] for name in ("--origin", "--offset")}}
_FRAME: Options = {"Output": {"--frame": FILES["Output"]["--frame"]}}

_EPILOG = """\b
Examples:
  vpype read drawing.svg laserpath -o out --machine my-laser.toml
  vpype read drawing.svg linemerge linesort penwidth 0.2mm laserpath
  vpype read text.svg laserpath --follow
  vpype read logo.svg laserpath --fill --quality fine"""


class _BadInput(click.ClickException):
    """An error in one sentence, with laserpath's exit code for bad input."""

    exit_code = 2


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@options(OUTPUT, _FRAME, PROCESS, _LINES, _PLACE, PLAN)
@vpype_cli.global_processor
def laserpath(document: vpype.Document, **given: Any) -> vpype.Document:
    """Plan a toolpath that cures the line work in resin, and write G-code, a drawing and a report.

    The line work is passed on unchanged to the commands that follow.
    """
    import gcode

    try:
        _plan(document, given)
    except (InputError, gcode.GcodeError) as error:
        raise _BadInput(" ".join(str(error).split())) from error
    return document


laserpath.help_group = "Output"  # type: ignore[attr-defined]  # under which vpype's own help lists it


def _plan(document: vpype.Document, given: dict[str, Any]) -> None:
    from laserpath import plan
    from laserpath.base.files import check_folder, check_places
    from laserpath.planning import paths_of

    folder = check_folder(given["output"])
    process, settings = request.process_and_settings_of(given)
    drawn = _design(document, given, process.spot)
    check_places(paths_of(drawn.name, folder, frame=given["frame"], project=False))
    talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
    talk.tell(show.in_short(drawn))
    talk.tell(*show.placing(drawn, process, settings))
    with progress.meter(hidden=given["quiet"]) as meter:
        progress.expect(drawn, process, settings, talk, meter)
        planned = plan(drawn, process, settings, progress=meter)
        meter.writing()
        written = planned.write(folder, frame=given["frame"])
    warnings = tuple(show.warnings(planned, frame=given["frame"]))
    talk.warn(*warnings)
    if given["json"]:
        click.echo(show.json_of(show.content(planned, written, warnings)))
    elif not given["quiet"]:
        show.summary(planned, written)
    if missed := show.tolerance_missed(planned):
        talk.warn(missed)


def _design(document: vpype.Document, given: dict[str, Any], spot: Spot) -> Design:
    """The line work of the document as a design."""
    from laserpath.cli.plugins.linework import PX, PenLayer, design
    from laserpath.design import tolerance_for
    from laserpath.physics import optics

    if given["follow"] and given["fill"]:
        raise InputError("--fill cannot be used with --follow, which exposes lines alone")
    layers = []
    for number in vpype_cli.multiple_to_layer_ids(given["layer"], document):
        collection = document.layers[number]
        own = collection.property(vpype.METADATA_FIELD_PEN_WIDTH)
        pen = given["stroke"] or (None if given["fill"] else PX * own if own else optics.fwhm(spot))
        layers.append(PenLayer([line.copy() for line in collection], pen, given["fill"]))
    size = document.page_size
    page = (float(size[0]), float(size[1])) if size and math.prod(size) > 0 else None
    source = document.property(vpype.METADATA_FIELD_SOURCE)
    name = Path(str(source)).stem if source else "vpype"
    return design(layers, page, name or "vpype", tolerance_for(spot), follow=given["follow"])
