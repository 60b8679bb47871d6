"""`laserpath estimate`: what a plan and its program would take, and what the machine cannot keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from laserpath.base.errors import InputError, figure
from laserpath.cli import board as boards
from laserpath.cli import plan as planning
from laserpath.cli import progress, show, slicer
from laserpath.cli.grouped import GroupedCommand, options
from laserpath.cli.options import COLOURS, DESIGN, FILES, LIMITS, OUTPUT, PARTS, PLAN, PROCESS
from laserpath.config import request

if TYPE_CHECKING:
    from laserpath.config.request import PlannedPart
    from laserpath.planning import Forecast
    from laserpath.types import Design, Process, Settings

_EPILOG = """\b
Examples:
  laserpath estimate design.svg
  laserpath estimate board.zip --layers top-copper,top-mask
  laserpath estimate board.gbr --negative --machine my-laser.toml
  laserpath estimate part.stl --layer 50um --machine my-laser.toml
  laserpath estimate chip.gds --layer 1/0 --spot-fwhm 2um --json

\b
The options are those of `laserpath plan`, which prints the same before it begins.
Planning time is that of this computer if nothing else uses it, right within a factor of 1.5; the
first plan after an installation also compiles. Write time is right within a factor of 3.

\b
Exit codes: 0 success; 2 bad input, or a design that the machine cannot write."""

_OUTPUT = {
    "Parts": {"--settle": PARTS["Parts"]["--settle"]},
    "Output": {
        "--json": {"is_flag": True, "help": "Print only JSON on stdout"},
        "-q --quiet": OUTPUT["Output"]["-q --quiet"],
        "--project": FILES["Output"]["--project"],
    },
}


_OF_BOARDS = [name.removeprefix("--").replace("-", "_") for name in boards.OF_EXPOSURE["Board"]]


class _Expected(NamedTuple):
    """design: as drawn.  forecast: of its plan.  exposed: mm², the area that is lit."""

    design: Design
    forecast: Forecast
    exposed: float


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@click.argument("design", metavar="[DESIGN]", type=click.Path(), required=False)
@options(_OUTPUT, PROCESS, DESIGN, COLOURS, boards.OF_EXPOSURE, PLAN, LIMITS)
def estimate(design: str | None, **given: Any) -> None:
    """Say what planning and writing DESIGN, a drawing, a board or a part, would take, without planning it.

    Prints the size, the exposed area, the time and memory of a plan, the time to write it, and what slows
    the machine down.
    """
    file, values = planning.inputs(design, given)
    layered = planning.is_part(file, values)
    if not layered and boards.is_board([file]):
        _of_board(file, given, values)
        return
    if idle := [name for name in _OF_BOARDS if given[name] is not None]:
        raise InputError(
            f"--{idle[0].replace('_', '-')} is of a board, and {file} is a {'part' if layered else 'drawing'}"
        )
    if layered:
        _of_part(file, given, values)
        return
    planning.check_parts(file, given, values)
    if values.get("grey"):
        raise InputError(
            "estimate is for drawings: with --grey the lines are laid out before their time is known, and "
            "plan then prints it"
        )
    process, settings = request.process_and_settings_of(values)
    with show.busy(f"reading {file}", hidden=given["quiet"]):
        found = _estimates(file, values, process, settings)
    talk = show.Talk(quiet=given["quiet"])
    talk.warn(*_warnings(found))
    if given["json"]:
        click.echo(show.json_of(_as_json(found)))
        return
    for one in found:
        click.echo(_in_words(one))
    whole = _together(found)
    if len(found) > 1:
        part = found[0].design.part
        click.echo(f"all {len(found)} {part.kind if part else 'design'}s: {show.expected(whole)}")
    _say_notes(whole, talk)


def _of_board(file: str, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Print the table of a board's layers. `--layer` says which file is one, as in `laserpath board`."""
    said, talk = tuple(values.get("layer", ())), show.Talk(quiet=given["quiet"])
    values = {name: value for name, value in values.items() if name != "layer"}
    boards.check_values(values)
    process, settings = request.process_and_settings_of(values)
    exposure = boards.exposure_of(given, values)
    with show.busy(f"reading {file}", hidden=given["quiet"]):
        read = boards.read_board((file,), said, values, process)
        designs = read.designs(exposure, process.resin.tone)
        found = _expected(request.planned_parts(values, process, settings, designs))
    if given["json"]:
        click.echo(show.json_of(_as_json(found, read.warnings)))
        return
    boards.say_read(read, talk)
    talk.warn(*_warnings(found))
    _print_table(found)
    whole = _together(found)
    _say_notes(whole, talk)


def _of_part(file: str, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Print what the layers of a part would take, equal ones planned once."""
    from laserpath.planning import forecast_stack, together

    process, settings = request.process_and_settings_of(values)
    with show.busy(f"cutting {file}", hidden=given["quiet"]):
        stack = planning.stack_of(Path(file), given, values, process, settings)
        each = forecast_stack(stack)
    whole, talk = together(stack, each, given["settle"]), show.Talk(quiet=given["quiet"])
    talk.warn(*stack.notes)
    x0, y0, x1, y1 = stack.whole.bounds
    size = (x1 - x0, y1 - y0, stack.z[-1])
    if given["json"]:
        own = {
            "name": stack.whole.name,
            "size_mm": [float(side) for side in size],
            "layers": len(stack.z),
            "planned": len(each),
        }
        click.echo(show.json_of(_json_of(whole, stack.notes, own)))
        return
    click.echo(f"{stack.whole.name}: {' × '.join(f'{side:.4g}' for side in size)} mm; {slicer.told(stack)}")
    click.echo(f"all layers: {show.expected(whole)}")
    _say_notes(whole, talk)


def _say_notes(whole: Forecast, talk: show.Talk) -> None:
    """Print the notes of a forecast, and its warnings."""
    for note in show.notes(whole):
        click.echo(note)
    progress.warn_of(whole, talk)


def _print_table(found: Sequence[_Expected]) -> None:
    """A row for each layer, and one for all."""
    from laserpath.report.wording import number

    def row(place: str, name: str, exposed: float, expected: Forecast) -> list[str]:
        times = [show.rough(seconds) for seconds in (expected.plan_seconds, expected.write_seconds)]
        memory = f"{number(expected.memory / 1e9, 1)} GB"
        return [place, name, f"{figure(exposed, 3)} mm²", times[0], memory, times[1]]

    each = [(part.name if (part := one.design.part) else "", one.exposed, one.forecast) for one in found]
    rows = [row(str(number), *one) for number, one in enumerate(each, 1)]
    rows.append(row("", "all", sum(one.exposed for one in found), _together(found)))
    show.tell_table(("", "layer", "to expose", "to plan", "memory", "to write"), rows, left=2)


def _estimates(
    file: str, values: Mapping[str, Any], process: Process, settings: Settings
) -> tuple[_Expected, ...]:
    """That of the drawing, or of each of its colours or layers."""
    designs = planning.designs_of(file, values, process)
    return _expected(request.planned_parts(values, process, settings, designs))


def _expected(parts: Sequence[PlannedPart]) -> tuple[_Expected, ...]:
    """What each of them will take. Raises InputError where a plan would, as they do not fit."""
    from laserpath.machine.placement import to_expose
    from laserpath.planning import forecast

    show.placing(*parts[0])
    return tuple(
        _Expected(
            one.design, forecast(*one), to_expose(one.design, one.process.resin, one.process.spot).area.area
        )
        for one in parts
    )


def _together(found: Sequence[_Expected]) -> Forecast:
    """The forecast of all of them."""
    from laserpath.planning import Forecast

    return Forecast.of_all([one.forecast for one in found])


def _warnings(found: Sequence[_Expected]) -> tuple[str, ...]:
    """What was said when they were read, once each."""
    return tuple(dict.fromkeys(text for one in found for text in one.design.warnings))


def _in_words(one: _Expected) -> str:
    """`clip: 0.9 × 1 mm, 1 shape; from clip.svg; 0.66 mm² to expose; about 8 s to plan, …`."""
    exposed = figure(one.exposed, 3)
    return f"{show.in_short(one.design)}; {exposed} mm² to expose; {show.expected(one.forecast)}"


def _as_json(found: Sequence[_Expected], told: Sequence[str] = ()) -> dict[str, Any]:
    """The sums, and under `designs` the figures of each: of the drawing, or of its colours or layers.

    told: warnings of the board.
    """
    designs = [
        {
            "name": one.design.name,
            "size_mm": [float(side) for side in one.design.size],
            "shapes": len(one.design.area.geoms),
            "exposed_area_mm2": float(one.exposed),
            **_figures(one.forecast),
        }
        for one in found
    ]
    return _json_of(_together(found), (*told, *_warnings(found)), {"designs": designs})


def _json_of(whole: Forecast, told: Sequence[str], own: Mapping[str, Any]) -> dict[str, Any]:
    """The sums as JSON, warnings that were told among them, and what is of this kind of design only."""
    return {**_figures(whole), "notes": list(whole.notes), "warnings": [*told, *whole.warnings], **own}


def _figures(forecast: Forecast) -> dict[str, float]:
    return {
        "plan_s": float(forecast.plan_seconds),
        "memory_bytes": float(forecast.memory),
        "write_s": float(forecast.write_seconds),
    }
