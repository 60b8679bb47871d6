"""`laserpath simulate` and `laserpath compare`: read, expose each program, compare, write, report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.cli import show
from laserpath.cli.ending import end_if_missed
from laserpath.cli.grouped import GroupedCommand, Options, options
from laserpath.cli.options import DESIGN, LIMITS, OUTPUT, PLAN, PROCESS
from laserpath.cli.plan import is_part
from laserpath.config import project, request

if TYPE_CHECKING:
    from laserpath.simulation import Choices, PlacedPart, Simulation
    from laserpath.simulation.comparison import Comparison, FigureRow
    from laserpath.types import Design, Heights, Process, Settings


STAGES = ("reading", "executing", "exposing", "measuring", "drawing")
STDIN = "-"

PROGRAM: Options = {
    "Program": {
        "--dialect": {"metavar": "NAME|FILE", "help": "G-code dialect: name or TOML file  [the machine's]"},
        "--s-max": {
            "type": click.FloatRange(min=0, min_open=True),
            "metavar": "S",
            "help": "S value of full power  [the machine's, or that of --dialect if it differs]",
        },
        "--z": {
            "metavar": "Z|all",
            "help": "If there are several heights: the layer at Z mm, or all of them added up  [the first; "
            "of a part all layers]",
        },
        "--align aligned": {  # `align` is the name of the design's marks
            "is_flag": True,
            "help": "Align the program with the design: find its offset and remove it",
        },
    },
}

DEPTH: Options = {
    "Program": {
        "--depth": {
            "is_flag": True,
            "help": "Also compute how deep it cures, and show a section and the part turned over; needs the "
            "resin's working curve",
        },
    },
}

TARGET: Options = {
    "Design": {
        "--design": {
            "metavar": "FILE",
            "help": "Design to compare with: SVG, DXF, Gerber …, or a part  [none]",
        },
        "--sensitivity": {
            "is_flag": True,
            "help": "Also compute how the program prints if the machine differs from its profile",
        },
        "--max-epe": {
            **PLAN["Plan"]["--max-epe"],
            "help": "Edge tolerance for 95 % of the edge: 10um, 0.1fwhm; exit code 3 if it is missed  [none]",
        },
    },
}

DRAWN: Options = {
    "Design": {name: row for name, row in DESIGN["Design"].items() if name not in ("--align", "--align-fit")}
}
"""The design's options. Its marks come from a project file: here --align aligns the program."""

PROJECT: Options = {
    "Output": {
        "--project": {
            "metavar": "FILE",
            "help": "Project file: machine, resin, spot, placement of the design  [that in the head of a "
            f"program of laserpath, else {project.NAME} beside the design, or here]",
        },
    },
}


# Values of the options


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the options give: process, settings, design to compare with (or None), choices of the program.

    part: of which all layers are to be compared.
    """

    process: Process
    settings: Settings
    design: Design | None
    choices: Choices
    part: PlacedPart | None = None


def inputs_of(given: Mapping[str, Any], *programs: str) -> Inputs:
    """The inputs that options give; `project.for_programs` gives those that are missing."""
    from laserpath.simulation import Choices

    if given["design"] is None:
        _only_with_a_design(given)
    chosen = {name: value for name, value in given.items() if value is not None and value != ()}
    saved, where = project.for_programs(given["project"], programs, given["design"])
    values = request.over(saved.of(given["design"]), chosen) if saved else chosen
    if saved and not given["quiet"]:
        click.echo(f"laserpath: with the settings {where}", err=True)
    process, settings = request.process_and_settings_of(values)
    choices = Choices(
        given["dialect"], given["s_max"], _height(given), given["aligned"], given["sensitivity"],
        given.get("depth", False),
    )  # fmt: skip
    if given["design"] is not None and is_part(given["design"], values):
        return _inputs_of_part(given, values, Inputs(process, settings, None, choices))
    design = None
    if given["design"] is not None:
        from laserpath.design import load, tolerance_for

        tolerance = tolerance_for(process.spot)
        design = load(
            given["design"],
            tolerance=tolerance,
            reading=request.reading_of(values, tolerance),
            arrangement=request.arrangement_of(values),
        )
    return Inputs(process, settings, design, choices)


_ALONE = "this is one layer by itself: the light of the layers above it, which cures it too, is not in it"
_OF_DRAWINGS = ("aligned", "depth", "max_epe")
"""Options without effect on all layers of a part, besides those that no part has."""


def _inputs_of_part(given: Mapping[str, Any], values: Mapping[str, Any], inputs: Inputs) -> Inputs:
    """Those for a part: all of its layers, or with --z one of them as a design in its place."""
    from laserpath.cli.plan import stack_of
    from laserpath.machine.resuming import SAME_Z
    from laserpath.simulation.part import PlacedPart, check_part

    file, height = given["design"], inputs.choices.height
    stack = stack_of(Path(file), given, values, inputs.process, inputs.settings)
    machine, bed = stack.process.machine, stack.process.machine.heights
    # A program along a bed has the height of its middle there, which is said to be that of the layer.
    each = [z + machine.focus + (0.0 if bed is None else _middle_of(bed, area)) for z, area in stack.layers]
    if not isinstance(height, float):
        if idle := [name for name in _OF_DRAWINGS if given.get(name)]:
            raise InputError(
                f"--{idle[0].replace('aligned', 'align').replace('_', '-')} is for drawings, and {file} is a "
                f"part: leave it out, or compare one of its layers, as by --z {each[0]:g}"
            )
        check_part(inputs.process.resin, each[0])
        part = PlacedPart(stack.whole, stack.layers, stack.hanging)
        return replace(inputs, part=part, process=stack.process)
    apart = [abs(z - height) for z in each]
    nearest = apart.index(min(apart))
    if apart[nearest] > (SAME_Z if bed is None else stack.z[0] / 2):
        raise InputError(
            f"{file} has no layer at Z {height:g} mm: its {len(each)} layers are at {each[0]:g} to "
            f"{each[-1]:g} mm"
        )
    area = stack.layers[nearest][1]
    if inputs.process.resin.e_c is not None:
        area = replace(area, warnings=(*area.warnings, _ALONE))
    # It is where it is exposed already, as large as it is exposed.
    resin = replace(inputs.process.resin, shrinkage=(0.0, 0.0, 0.0), development_bias=0.0)
    settings = replace(inputs.settings, origin="own", offset=(0.0, 0.0))
    return replace(inputs, design=area, process=replace(inputs.process, resin=resin), settings=settings)


def _middle_of(bed: Heights, area: Design) -> float:
    """mm, the height of a bed in the middle of an area."""
    import numpy as np

    x0, y0, x1, y1 = area.bounds
    return float(bed.at(np.array([[(x0 + x1) / 2, (y0 + y1) / 2]]))[0])


def _height(given: Mapping[str, Any]) -> float | str | None:
    height = given["z"]
    if height in (None, "all"):
        return height
    try:
        return float(height)
    except ValueError:
        raise click.UsageError(f"--z {height!r} is neither a number of mm nor 'all'.") from None


def _only_with_a_design(given: Mapping[str, Any]) -> None:
    """Refuse options of a design if none is given."""
    if given["aligned"]:
        raise click.UsageError("--align needs a design; give it with --design FILE.")
    for name in ("--max-epe", "--sensitivity", *(names.split()[0] for names in DRAWN["Design"])):
        if given[name.removeprefix("--").replace("-", "_")]:
            raise click.UsageError(f"{name} needs a design; give it with --design FILE.")


def _check_programs(*files: str) -> None:
    """Raise InputError for a program that is missing, before anything is said of the design."""
    for file in files:
        if file != STDIN and not Path(file).exists():
            limits.content(Path(file), "program")


def program_of(file: str) -> tuple[Path | bytes, str]:
    """(path, or the bytes of stdin; name)."""
    if file == STDIN:
        return limits.stdin(), "stdin"
    return Path(file), Path(file).name


# Progress


@contextmanager
def stages(count: int, *, hidden: bool) -> Iterator[Callable[[str], None]]:
    """A progress bar over `count` stages, with the time left; none if stderr is not a terminal."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if hidden or not console.is_terminal:
        yield lambda stage: None
        return
    columns = (
        rich.TextColumn("{task.description:<10}"), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(), rich.TimeRemainingColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=count)
        done = -1

        def begin(stage: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, description=stage, completed=done)

        yield begin


# Output


def tolerance_missed(simulation: Simulation) -> str:
    """A sentence with the edge error and the tolerance that it exceeds, or nothing."""
    from laserpath.physics import optics
    from laserpath.report import figure_table

    if simulation.within_tolerance:
        return ""
    fwhm = optics.fwhm(simulation.process.spot)
    missed = figure_table.tolerance_missed(simulation.epe_p95, simulation.within or 0.0, fwhm)
    return f"tolerance missed by {simulation.name}: {missed}"


_SIMULATE_EPILOG = """\b
Examples:
  laserpath simulate job.nc
  laserpath simulate job.nc --design board.svg --spot-fwhm 80um --critical-dose 35
  laserpath simulate lightburn.gc --design board.svg --align --max-epe 20um
  laserpath simulate job.nc --resin working-curve --depth
  laserpath simulate part.gcode --design part.stl --layer 50um
  laserpath simulate printer.gcode --dialect marlin --s-max 255 --json

\b
Exit codes: 0 success; 2 bad input, nothing written; 3 files written, but --max-epe is not met.

\b
This computes the exposure only. For errors on the machine, use `laserpath check`."""


@click.command(cls=GroupedCommand, epilog=_SIMULATE_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path())
@options(OUTPUT, PROJECT, PROGRAM, DEPTH, TARGET, DRAWN, PROCESS, LIMITS)
@click.pass_context
def simulate(context: click.Context, /, file: str, **given: Any) -> None:
    """Compute what FILE, a G-code program from any tool, cures on a machine and resin.

    Writes FILE.simulation.html, the report, and FILE.cured.svg, the cured outline. With --design it also
    measures how far that is from the design. If that is a part, it measures what all of its layers cure, and
    writes the report alone. `-` reads stdin.
    """
    from laserpath.base.files import check_folder, check_places

    folder = check_folder(given["output"])
    talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
    _check_programs(file)
    inputs = inputs_of(given, file)
    if inputs.part is not None:
        _simulate_part(file, inputs, given, folder, talk)
        return
    if inputs.design is not None:
        talk.tell(show.in_short(inputs.design))
    with stages(len(STAGES), hidden=given["quiet"]) as stage:
        from laserpath.simulation import paths_of
        from laserpath.simulation import simulate as simulate_program

        program, name = program_of(file)
        check_places(paths_of(name, folder))

        def begin(name: str) -> None:
            stage(name)
            talk.more(name)

        simulation = simulate_program(
            program, inputs.process, inputs.design, inputs.settings, inputs.choices, name=name, progress=begin
        )
        begin("drawing")
        written = simulation.write(folder)
    talk.warn(*simulation.warnings)
    if given["json"]:
        click.echo(show.json_of({**simulation.as_dict(), "files": list(map(str, written))}))
    elif not given["quiet"]:
        _simulation_summary(simulation, written)
    end_if_missed(context, tolerance_missed(simulation))


def _simulate_part(
    file: str, inputs: Inputs, given: Mapping[str, Any], folder: Path, talk: show.Talk
) -> None:
    """Simulate all layers of a part's program, and write and print what they cure."""
    from laserpath.base.files import check_places
    from laserpath.report.wording import duration
    from laserpath.simulation.part import path_of_part, simulate_part

    assert inputs.part is not None
    program, name = program_of(file)
    check_places([path_of_part(name, folder)])
    choices = inputs.choices
    with show.busy(f"exposing {len(inputs.part.layers)} layers", hidden=given["quiet"]):
        made = simulate_part(
            program, inputs.process, inputs.part, dialect=choices.dialect, s_max=choices.s_max, name=name
        )
        written = made.write(folder)
    talk.warn(*made.warnings)
    if given["json"]:
        click.echo(show.json_of({**made.as_dict(), "files": list(map(str, written))}))
    elif not given["quiet"]:
        layers = f"{len(inputs.part.layers)} layers, as executed"
        click.echo(f"{made.name}: {layers}; {duration(made.write_time)} to write")
        click.echo("\n".join(made.sentences))
        show.tell_written(written)


def _simulation_summary(simulation: Simulation, written: Iterable[Path]) -> None:
    """Print the table of figures and the files written."""
    from laserpath.physics import optics
    from laserpath.report.figure_table import ROWS, Shown, cell, keys_of, means_explained
    from laserpath.simulation.result import another_power, what_it_is

    fwhm, content = optics.fwhm(simulation.process.spot), simulation.as_dict()
    caption = f"(in brackets: in FWHM of the spot, {fwhm:g} mm)" if simulation.design else None
    executed = content["executed"]
    click.echo(f"{simulation.name}: {what_it_is(simulation)}")
    known = (key for key in keys_of(Shown.SIMULATION) if key in executed)
    show.tell_table(
        ["", "as executed"], ([ROWS[key].name, cell(key, executed, fwhm)] for key in known), caption
    )
    for name, why in means_explained([("As executed", executed)]):
        click.echo(f"{name}: {why}")
    if simulation.depth:
        from laserpath.report.depth import said

        click.echo(said(simulation.depth, simulation.process.resin.done)[1])
    if simulation.best:
        click.echo(f"Another power? {another_power(simulation)}")
    if simulation.sensitivity:
        show.tell_sensitivity(simulation.sensitivity, simulation.process)
    show.tell_written(written)


_DESIGN_FILE = {"Design": {"--design": TARGET["Design"]["--design"]}}

_COMPARE_EPILOG = """\b
Examples:
  laserpath compare lightburn.gc design.gcode --design design.svg
  laserpath compare hatch.nc outline.nc design.gcode --design design.svg --align
  laserpath compare a.gcode b.gcode --design design.svg --json

\b
Exit codes: 0 success; 2 bad input, nothing written."""


@click.command(cls=GroupedCommand, epilog=_COMPARE_EPILOG)
@click.argument("programs", metavar="FILE FILE …", type=click.Path(), nargs=-1, required=True)
@options(OUTPUT, PROJECT, PROGRAM, _DESIGN_FILE, DRAWN, PROCESS, LIMITS)
def compare(programs: tuple[str, ...], **given: Any) -> None:
    """Compare what two or more G-code programs cure on the same machine and resin.

    Writes DESIGN.comparison.html: figures side by side, cured outlines, doses, and where they differ.
    """
    from laserpath.base.files import check_folder, check_places

    if len(programs) < 2:
        raise click.UsageError(f"{len(programs)} program cannot be compared; give two or more.")
    folder = check_folder(given["output"])
    talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
    _check_programs(*programs)
    if given["design"] is not None and is_part(given["design"], given) and given["z"] in (None, "all"):
        raise _part_compared(given["design"])
    inputs = inputs_of({"max_epe": None, "sensitivity": False, **given}, *programs)
    if inputs.part is not None:
        raise _part_compared(given["design"])
    if inputs.design is not None:
        talk.tell(show.in_short(inputs.design))
    count = len(programs) * (len(STAGES) - 1) + 1
    with stages(count, hidden=given["quiet"]) as stage:
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
        click.echo(show.json_of({**comparison.as_dict(), "files": list(map(str, written))}))
    elif not given["quiet"]:
        _comparison_summary(comparison, written)


def _part_compared(file: str) -> InputError:
    return InputError(
        f"{file} is a part, and compare sets programs of a drawing side by side: compare one of its layers, "
        "by --z with its height in mm, and by --layer and --machine unless the head of each says them; "
        "`laserpath simulate` measures all layers of one program"
    )


def _comparison_summary(comparison: Comparison, written: Iterable[Path]) -> None:
    """Print the figures side by side, and the files written."""
    from laserpath.physics import optics
    from laserpath.report.figure_table import ROWS
    from laserpath.simulation.comparison import explained, headline

    fwhm = optics.fwhm(comparison.process.spot)
    caption = f"(as executed; ✓ the best; × relative to {comparison.names[0]}"
    caption += f"; in brackets: in FWHM of the spot, {fwhm:g} mm)" if comparison.design else ")"
    for sentence in headline(comparison):
        click.echo(sentence)
    columns = range(len(comparison.names))
    rows = ([ROWS[row.key].name, *(_cell(row, k, fwhm) for k in columns)] for row in comparison.rows)
    show.tell_table(["", *comparison.names], rows, caption)
    for name, why in explained(comparison):
        click.echo(f"{name}: {why}")
    show.tell_written(written)


def _cell(row: FigureRow, k: int, fwhm: float) -> str:
    """`✓ 2.9 µm (0.029) × 0.1`"""
    from laserpath.report.figure_table import cell
    from laserpath.report.wording import number

    ratio = row.ratios[k]
    times = f"  × {number(ratio, 2)}" if k and math.isfinite(ratio) else ""
    return f"{'✓ ' if k in row.best else ''}{cell(row.key, {row.key: row.values[k]}, fwhm)}{times}"
