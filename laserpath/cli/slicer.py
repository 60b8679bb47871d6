"""`laserpath slicer`, and `laserpath-slicer`, which slicers call: parse, read, plan, write, exit code.

What it says of layers, `laserpath plan part.stl` says too.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base import limits
from laserpath.cli import progress, show
from laserpath.cli.ending import Interrupts, end_if_missed
from laserpath.cli.grouped import GroupedCommand, Options, options
from laserpath.cli.options import DESIGN, LIMITS, PLAN, PROCESS
from laserpath.config import project, request
from laserpath.config.options import setting

if TYPE_CHECKING:
    from laserpath.cli.progress import Meter
    from laserpath.planning import Keeping, LayerPlans, Stack
    from laserpath.types import Process, Settings

ARGUMENTS = "LASERPATH_ARGS"
"""Environment variable with options of `laserpath-slicer`; options on its command line come after them."""

_IDLE = {option.name for option in setting("Reading", "Arrangement")}
"""Options of drawings, without effect on a sliced file; a project may hold them for its drawings."""

_PLACE: Options = {
    "Place": {
        "--origin": {
            **DESIGN["Design"]["--origin"],
            "help": "Work zero: the slicer's (page), or the lower left corner or the centre of the whole "
            "print; auto: the slicer's if the print then fits on the machine, else the corner  [auto]",
        },
        "--offset": DESIGN["Design"]["--offset"],
    }
}
_LAYERS: Options = {
    "Layers": {
        "--settle": {
            "type": click.FloatRange(0, 86400),
            "metavar": "SECONDS",
            "help": "Seconds to wait at each height, laser off, for the resin to settle  [the profile's "
            "layer_change, or 0]",
        },
        "--project": {"metavar": "FILE", "help": "Project file (laserpath.toml) with the settings  [none]"},
        "--json": {"is_flag": True, "help": "Print only JSON on stdout: layers and warnings"},
        "-q --quiet": {"is_flag": True, "help": "Print only warnings and errors"},
    },
}

_EPILOG = """\b
As a post-processing script in PrusaSlicer or OrcaSlicer, which add FILE themselves:
  laserpath-slicer --machine my-laser.toml --resin my-resin.toml --quality draft;
By hand:
  laserpath slicer --machine my-laser.toml --initial contour --iterations 100 part.gcode

\b
laserpath-slicer also reads options from the environment variable LASERPATH_ARGS.

\b
Exit codes: 0 success; 2 bad input, FILE unchanged; 3 FILE replaced, but --max-epe is not met;
130 interrupted by Ctrl-C, FILE unchanged.

\b
CAUTION: FILE becomes a laser program. A laser can blind you faster than you can blink: enclose
the beam."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@options(PROCESS, PLAN, _PLACE, _LAYERS, LIMITS)
@click.pass_context
def slicer(context: click.Context, /, file: Path, **given: Any) -> None:
    """Replace FILE, a slicer's G-code, with a program for the laser.

    The outer walls of each layer are its design. Identical layers are planned once.
    """
    from laserpath.base.files import check_places, write_all
    from laserpath.cli.plugins.slicer import stack_of

    # A part of a stack is of no use, so one Ctrl-C stops at once.
    with Interrupts() as interrupts:
        text = _read(file)
        check_places([file])
        process, settings = _inputs(given)
        talk = show.Talk(quiet=given["quiet"])
        with progress.meter(hidden=given["quiet"]) as meter:
            meter.name = f"reading {file.name}"
            stack = stack_of(text, process, settings, name=_name(file))
            done = planned(stack, given["settle"], talk, meter, interrupts.check)
        interrupts.check()
        write_all({file: done.program})
    talk.warn(*done.warnings)
    if given["json"]:
        click.echo(show.json_of(_as_json(file, done)))
    elif not given["quiet"]:
        click.echo(f"{in_short(done)}: {file}")
    end_if_missed(context, missed(done))


def _inputs(given: Mapping[str, Any]) -> tuple[Process, Settings]:
    """Process and settings of the options; the project file gives those that are missing."""
    from laserpath.physics import optics

    chosen = {name: value for name, value in given.items() if value is not None}
    values = request.over(project.load(given["project"]).values, chosen) if given["project"] else chosen
    process = request.process_of(values)
    for name in (name for name in values if name in _IDLE and values[name]):
        click.echo(f"laserpath: warning: {name} of the project is ignored here", err=True)
    return process, request.settings_of(values, optics.fwhm(process.spot))


def planned(
    stack: Stack,
    settle: float | None,
    talk: show.Talk,
    meter: Meter,
    check: Callable[[], None],
    keeping: Keeping | None = None,
) -> LayerPlans:
    """Print what is known of the layers before, and plan them. check: raises if the user has interrupted.

    keeping: of what is found for each layer.
    """
    from laserpath.planning import forecast_stack, plan_stack, together

    each = forecast_stack(stack)
    talk.warn(*stack.notes)
    talk.tell(told(stack))
    progress.tell_expected(together(stack, each, settle), talk)
    meter.expect(*each)
    check()
    listen = progress.of_several(meter, check)
    return plan_stack(stack, settle=settle, progress=listen, keeping=keeping)


def told(stack: Stack) -> str:
    """`5 layers, of which 2 differ`, what the bottom ones get, and whether they are mirrored."""
    count, differ = len(stack.z), len(set(stack.plan_of))
    alike = "" if differ == count else f", of which {differ} differ" if differ > 1 else ", all alike"
    return f"{_layers(count)}{alike}{stack.bottom(range(count))}{stack.hangs}"


def missed(done: LayerPlans) -> str:
    """A sentence with the heights of layers that miss the tolerance; '' if there are none."""
    if not done.missed:
        return ""
    places = ", ".join(f"{z:g}" for z in done.missed[:5])
    return f"tolerance missed in {_layers(len(done.missed))}, at z {places} mm"


def in_short(done: LayerPlans) -> str:
    """`5 layers, 2 of them planned`."""
    return f"{_layers(len(done.plans))}, {len(done.each)} of them planned"


def _layers(count: int) -> str:
    return f"{count} layer{'s' * (count != 1)}"


def part_summary(done: LayerPlans, written: Sequence[Path]) -> None:
    """Print what was planned, how long it takes, and the files."""
    from laserpath.report.wording import duration

    click.echo(f"{in_short(done)}; {duration(done.write_time)} to write")
    if done.in_depth:
        click.echo(done.in_depth.sentence)
    show.tell_written(written)


def part_json(done: LayerPlans, written: Sequence[Path]) -> dict[str, Any]:
    """Figures and files as JSON: those of the part, and for each layer its height, plan and verdict."""
    return {
        "design": done.stack.whole.name,
        "files": [str(path) for path in written],
        "within_tolerance": bool(done.within_tolerance),
        "write_s": float(done.write_time),
        "planned": len(done.each),
        "missed_z_mm": list(done.missed),
        "warnings": list(done.warnings),
        "in_depth": done.in_depth and done.in_depth.as_dict(),
        "layers": [
            {"z_mm": z, "plan": number, "verdict": done.each[number].verdict[0]}
            for z, number in zip(done.stack.z, done.stack.plan_of, strict=True)
        ],
    }


def _as_json(file: Path, done: LayerPlans) -> dict[str, Any]:
    return {
        "file": str(file),
        "layers": len(done.plans),
        "planned": len(done.each),
        "missed_z_mm": list(done.missed),
        "warnings": list(done.warnings),
    }


def _read(file: Path) -> str:
    from laserpath.design import refuse_drawing

    data = limits.content(file, "sliced file")
    refuse_drawing(data, str(file))
    return data.decode("utf-8", "replace")


def _name(file: Path) -> str:
    """The file's name: slicers pass a temporary copy, and its final name in the environment."""
    final = os.environ.get("SLIC3R_PP_OUTPUT_NAME") or str(file)
    return Path(final.replace("\\", "/")).stem or "sliced"


def main() -> None:
    """The command that slicers call."""
    from laserpath.cli import main as laserpath

    try:
        first = shlex.split(os.environ.get(ARGUMENTS, ""))
    except ValueError as error:
        click.echo(f"laserpath: {ARGUMENTS} cannot be read: {error}", err=True)
        sys.exit(2)
    laserpath(["slicer", *first, *sys.argv[1:]])
