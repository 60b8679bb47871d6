"""Shared by `simulate` and `compare`: options, their values, progress, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base import limits
from laserpath.cli.grouped import Options
from laserpath.cli.options import DESIGN, PLAN
from laserpath.config import project, request

if TYPE_CHECKING:
    from laserpath.simulation import Choices, Simulation
    from laserpath.types import Design, Process, Settings

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
            "help": "If there are several heights: the layer at Z mm, or all of them added up  [the first]",
        },
        "--align": {
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
        "--design": {"metavar": "FILE", "help": "Design to compare with: SVG, DXF, Gerber …  [none]"},
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

PROJECT: Options = {
    "Output": {
        "--project": {
            "metavar": "FILE",
            "help": "Project file: machine, resin, spot, placement of the design  "
            f"[{project.NAME} beside the design, or here]",
        },
    },
}


# Values of the options


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the options give: process, settings, design to compare with (or None), choices of the program."""

    process: Process
    settings: Settings
    design: Design | None
    choices: Choices


def inputs_of(given: Mapping[str, Any]) -> Inputs:
    """The inputs that options give; the project file gives those that are missing."""
    from laserpath import optics
    from laserpath.simulation import Choices

    if given["design"] is None:
        _only_with_a_design(given)
    chosen = {name: value for name, value in given.items() if value is not None and value != ()}
    file = project.load(given["project"]) if given["project"] else project.beside(given["design"])
    values = request.over(file.values, chosen) if file else chosen
    if file and not given["quiet"]:
        click.echo(f"laserpath: with the settings of {file.path}", err=True)
    process = request.process_of(values)
    settings = request.settings_of(values, optics.fwhm(process.spot))
    design = None
    if given["design"] is not None:
        from laserpath.design import FLATTEN_FWHM, load

        tolerance = FLATTEN_FWHM * optics.fwhm(process.spot)
        design = load(
            given["design"],
            tolerance=tolerance,
            reading=request.reading_of(values, tolerance),
            arrangement=request.arrangement_of(values),
        )
    return Inputs(
        process, settings, design,
        Choices(
            given["dialect"], given["s_max"], _height(given), given["align"], given["sensitivity"],
            given.get("depth", False),
        ),
    )  # fmt: skip


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
    for name in ("--align", "--max-epe", "--sensitivity", *(names.split()[0] for names in DESIGN["Design"])):
        if given[name.removeprefix("--").replace("-", "_")]:
            raise click.UsageError(f"{name} needs a design; give it with --design FILE.")


def program(file: str) -> tuple[Path | bytes, str]:
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


def plain(content: Any) -> Any:
    """The same with plain Python numbers throughout, None if not finite."""
    if isinstance(content, Mapping):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [plain(value) for value in content]
    if isinstance(content, bool) or content is None or isinstance(content, str):
        return content
    number = int(content) if isinstance(content, int) else float(content)
    return number if math.isfinite(number) else None


def as_json(content: Mapping[str, Any], written: Iterable[Path]) -> str:
    """Figures and files as JSON. Edge errors are in FWHM."""
    full = {**content, "files": [str(path) for path in written]}
    return json.dumps(plain(full), indent=2, ensure_ascii=False, allow_nan=False)


def tolerance_missed(simulation: Simulation) -> str:
    """A sentence with the edge error and the tolerance that it exceeds."""
    from laserpath import optics
    from laserpath.report import figure_table

    fwhm = optics.fwhm(simulation.process.spot)
    missed = figure_table.tolerance_missed(simulation.epe_p95, simulation.within or 0.0, fwhm)
    return f"tolerance missed by {simulation.name}: {missed}"
