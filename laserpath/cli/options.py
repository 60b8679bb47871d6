"""Options that several commands share, by heading, for `grouped.options`: made from `config.options`.

Text in [brackets] is the default, from `Settings` or from a profile.
"""

from __future__ import annotations

from typing import Any

import click

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.base.quantities import LENGTH
from laserpath.cli.grouped import Options, Parsed, WholeNumber
from laserpath.config import options, values
from laserpath.config.project import NAME
from laserpath.config.values import Option, Quantity


def group(heading: str) -> Options:
    """The flags under a heading of `config.options`, as arguments of `click.option`."""
    shown = (option for option in options.OPTIONS[heading] if option.flag)
    return {heading: {f"--{option.name.replace('_', '-')}": _arguments(option) for option in shown}}


def _arguments(option: Option) -> dict[str, Any]:
    row: dict[str, Any] = {"help": option.shown, **_typed(option)}
    return row if option.metavar is None else {**row, "metavar": option.metavar}


def _typed(option: Option) -> dict[str, Any]:
    """The arguments that depend on the parser: click has types of its own for some values."""
    match option.parse:
        case values.text | values.profile:
            return {}
        case values.texts | values.colour_resins | values.marks:
            return {"multiple": True}
        case values.yes_no:
            return {"is_flag": True, "default": None}
        case values.OneOf(words) if option.metavar is None:
            return {"type": click.Choice(words)}
        case values.Whole(low, high):
            return {"type": WholeNumber(low, high)}
    return {"type": Parsed(option.parse, option.name)}


CAUTION = """

\b
CAUTION: a laser that cures resin can blind you faster than you can blink. Enclose the beam or
wear goggles rated for its wavelength; never leave the machine unattended."""
"""The end of the help of every command that writes a program."""

OUTPUT: Options = {
    "Output": {
        "-o --output": {"metavar": "DIR", "default": ".", "help": "Output folder  [the current one]"},
        "--json": {"is_flag": True, "help": "Print only JSON on stdout: figures and file names"},
        "-q --quiet": {"is_flag": True, "help": "Print only warnings and errors"},
        "-v --verbose": {"is_flag": True, "help": "Also print each step and how long it takes"},
    },
}


def _raise_limits(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> None:
    """Have these limits until the command ends."""
    if context.resilient_parsing:
        return  # for completions only
    try:
        context.with_resource(limits.limits(**limits.parsed(texts)))
    except InputError as error:
        raise click.BadParameter(str(error), context, option) from None


LIMIT: dict[str, Any] = {
    "multiple": True,
    "metavar": "NAME=VALUE",
    "expose_value": False,
    "callback": _raise_limits,
    "help": "Raise a limit of what is read, for a file that you trust; an error message names it: "
    "shapes=400000, memory=16GiB",
}
"""The option `--limit`. Not in `config.options`: a project that came with a design must not raise limits."""

LIMITS: Options = {"Limits": {"--limit": LIMIT}}

WORKERS: Options = {
    "Workers": {
        "--scheduler": {
            "metavar": "ADDRESS",
            "help": "Have the squares of a large design planned by the workers of a Dask scheduler, such as "
            "tcp://10.0.0.5:8786  [one worker for each processor here]",
        },
    },
}
"""Not in `config.options`: where a plan is made is no part of it."""

PROCESS = group("Machine, resin, spot")
DESIGN = group("Design")
COLOURS = group("Colours")
PLAN = group("Plan")

FILES: Options = {
    "Output": {
        "--frame": {
            "is_flag": True,
            "help": "Also write DESIGN.frame.gcode: a pass around the design's bounding box that leaves less "
            "than a hundredth of the critical dose; dark where the laser cannot be so weak",
        },
        "--joined": {
            "is_flag": True,
            "help": "With --colours or --layers: also write DESIGN.gcode, all of them in one program",
        },
        "--sensitivity": {
            "is_flag": True,
            "help": "Also compute how the plan prints if the machine differs from its profile, and what "
            "would help the machine; takes about as long again",
        },
        "--save-project": {
            "is_flag": True,
            "help": f"Also write {NAME}; put beside the design, it makes `laserpath plan` repeat this plan",
        },
        "--project": {
            "metavar": "FILE",
            "help": f"Project file with settings  [{NAME} beside the design, if any]",
        },
    },
}

PRINTED: Options = {
    "The last print": {
        "--printed": {
            "metavar": "PHOTO",
            "help": "Make up for what a photograph of the last print shows, PNG, TIFF or JPEG: a spot "
            "that is wider, and a dose that is uneven",
        },
        "--printed-program": {
            "metavar": "FILE",
            "help": "The program that was printed  [DESIGN.gcode in the output folder, from the plan before]",
        },
        "--printed-pixel": {
            "type": Parsed(Quantity(LENGTH, "um"), "length"),
            "metavar": "LENGTH",
            "help": "Size of the photograph's pixels on the print, such as 4um  [that of the outline]",
        },
        "--printed-marks": {
            "multiple": True,
            "metavar": "PX,PY=X,Y",
            "help": "A mark in the photograph: its pixel from the upper left, and its place on the machine "
            "in mm; give two or more  [the outline is looked for]",
        },
    },
}
"""A photograph of what a plan has printed. Not in `config.options`: a project holds what it has told."""

PARTS: Options = {
    "Parts": {
        "--settle": {
            "type": click.FloatRange(0, 86400),
            "metavar": "SECONDS",
            "help": "Seconds to wait at each layer of a part, laser off, for the resin to settle  [the "
            "profile's layer_change, or 0]",
        },
        "--apart": {
            "is_flag": True,
            "help": "A program for each layer of a part (STL, 3MF, OBJ, SL1 or drawings): DESIGN-001.gcode "
            "…  [one for all]",
        },
        "--resume": {
            "is_flag": True,
            "help": "Keep what is found for each layer of a part in the folder DESIGN.layers until the "
            "program is written; called again after an interruption, go on with that  [start anew]",
        },
    },
}
"""Of a part, which is cut into layers."""
