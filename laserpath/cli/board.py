"""`laserpath board`: from a folder of Gerbers to a program for each layer, all with one zero."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError, figure
from laserpath.base.files import check_folder, check_places
from laserpath.base.quantities import LENGTH
from laserpath.cli import plan as planning
from laserpath.cli import progress, show
from laserpath.cli.ending import Interrupts, end_if_missed
from laserpath.cli.grouped import AS_GIVEN, GroupedCommand, Options, Parsed, options
from laserpath.cli.options import CAUTION, DESIGN, LIMITS, OUTPUT, PLAN, PROCESS, WORKERS
from laserpath.config import options as known
from laserpath.config import request
from laserpath.config.layers import names_on
from laserpath.config.values import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from laserpath.cli.progress import Meter
    from laserpath.cli.show import Talk
    from laserpath.config.request import PlannedPart
    from laserpath.design.board import BoardExposure, CircuitBoard
    from laserpath.planning import BoardPlans
    from laserpath.types import Process, Settings

_EPILOG = """\b
Examples:
  laserpath board board.zip --machine my-laser.toml
  laserpath board gerbers/ --layers top-copper,top-mask -o out
  laserpath board board.zip --tone positive --isolation 0.4mm
  laserpath board board.zip --layer outline=keepout.art --panel 2x3 --gap 2mm
  laserpath board                    # the board that laserpath.toml in this folder names

\b
Layers that can be exposed: top-copper, bottom-copper, top-mask, bottom-mask, top-paste, bottom-paste,
top-silk, bottom-silk, and inner1-copper … inner30-copper, counted from the front: odd ones are seen from
the front of their core, even ones from its back, and mirrored. Others that --layer can name: outline, drill,
plated-drill, unplated-drill, inner-copper, other.
What a layer means: copper as drawn stays; mask and paste are the board without their openings. With a
positive tone what does not stay is exposed, for copper also the rim around the board.

\b
Exit codes: 0 success; 2 bad input, nothing written; 3 files written, but --max-epe is not met;
130 interrupted, nothing written."""


def _panel(text: str) -> tuple[int, int]:
    """The columns and rows of `2x3`."""
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text.strip())
    if not found or not int(found[1]) or not int(found[2]):
        raise InputError(f"panel {text!r} is not like 2x3: columns x rows")
    return int(found[1]), int(found[2])


def _length(name: str) -> Parsed:
    return Parsed(Quantity(LENGTH, "mm", low=None), name)


OF_EXPOSURE: Options = {
    "Board": {
        "--flip": {
            "type": click.Choice(("x", "y")),
            "help": "How it is turned over for its back: x swaps left and right, y top and bottom  [x]",
        },
        "--isolation": {
            "type": _length("isolation"),
            "metavar": "LENGTH",
            "help": "Remove only a band of this width around the copper  [all that is not copper]",
        },
        "--rim": {
            "type": _length("rim"),
            "metavar": "LENGTH",
            "help": "With a positive tone: expose this much around the board, too  [1mm]",
        },
        "--drill-clear": {
            "type": _length("drill-clear"),
            "metavar": "LENGTH",
            "help": "No copper in the holes, nor this far around them: 0 for the holes alone  [as drawn]",
        },
        "--drill-marks": {
            "type": _length("drill-marks"),
            "metavar": "LENGTH",
            "help": "A mark of this diameter without copper in the middle of each hole  [none]",
        },
        "--panel": {
            "type": Parsed(_panel, "panel"),
            "metavar": "NxM",
            "help": "Columns x rows of copies  [1x1]",
        },
        "--gap": {"type": _length("gap"), "metavar": "LENGTH", "help": "Distance between copies  [2mm]"},
    },
}
"""What is exposed of a board, also for its estimate."""
_BOARD: Options = {
    "Board": {
        "--layers": {
            **DESIGN["Design"]["--layers"],
            "help": "Layers to plan, in this order: top-copper,top-mask. In a project file each may have "
            "settings of its own  [top-copper,bottom-copper]",
        },
        "--layer": {
            "multiple": True,
            "metavar": "LAYER=FILE",
            "help": "Which file a layer is, where nothing else says it; may be repeated",
        },
        **OF_EXPOSURE["Board"],
        "--rotate": {
            **DESIGN["Design"]["--rotate"],
            "help": "Rotation of the board, counter-clockwise, seen from its front  [0]",
        },
        "--offset": DESIGN["Design"]["--offset"],
        "--align": {
            **DESIGN["Design"]["--align"],
            "help": "Mark on the part, for layers of one side: its place in the board's files = where the "
            "machine finds it, as in 10,20=110.2,35.1mm; may be repeated; or a table",
        },
        "--align-fit": DESIGN["Design"]["--align-fit"],
    },
}
_FILES: Options = {
    "Output": {
        "--frame": {
            "is_flag": True,
            "help": "Also write BOARD.frame.gcode: a faint or dark pass around the board's box",
        },
        "--project": {
            "metavar": "FILE",
            "help": "Project file with machine, resin and plan  [laserpath.toml beside the board]",
        },
    }
}
_NOT_OF_A_BOARD = [
    option.name
    for option in known.setting("Arrangement", "Reading")
    if option.name not in ("layers", "layer", "rotate", "align", "align_fit")
]


@click.command(cls=GroupedCommand, epilog=_EPILOG + CAUTION)
@click.argument("files", metavar="[FILES…]", type=click.Path(), nargs=-1)
@options(OUTPUT, _FILES, _BOARD, PROCESS, PLAN, WORKERS, LIMITS)
@click.pass_context
def board(context: click.Context, /, files: tuple[str, ...], **given: Any) -> None:
    """Plan the layers of a circuit board: a folder, a ZIP archive, or several files.

    The layers are told by Gerber X2, the job file, or the names that CAD programs use. All get one work zero,
    the lower left corner of the board's outline; the back is mirrored. Writes BOARD-top-copper.gcode, a
    drawing and a report for each layer, and BOARD.board.html, which shows all over each other.
    """
    with Interrupts() as interrupts:
        import laserpath
        from laserpath.planning import paths_of_all

        folder = check_folder(given["output"])
        first, values = planning.inputs(files[0] if files else None, {**given, "layer": ()})
        files = files or (first,)
        check_values(values, "; take it out of the project file")
        process, settings = request.process_and_settings_of(values)
        talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
        planning.join_cluster(context, given["scheduler"], talk)
        exposure = exposure_of(given, values)
        with progress.meter(hidden=given["quiet"]) as meter:
            interrupts.show_on(meter)
            meter.name = f"reading {files[0]}"
            read = read_board(files, given["layer"], values, process)
            designs = read.designs(exposure, process.resin.tone)
            each = request.planned_parts(values, process, settings, designs)
            _announce(read, each, process, settings, talk, meter)
            names = [one.design.name for one in each]
            check_places(paths_of_all(exposure.name_of(read), "board", names, folder, frame=given["frame"]))
            interrupts.check()
            listen = progress.of_several(meter, interrupts.check)
            processes, how = [one.process for one in each], [one.settings for one in each]
            plans = laserpath.plan_board(read, processes, how, exposure, listen)
            interrupts.check()
            meter.writing()
            written = plans.write(folder, frame=given["frame"])
            marks = plans.write_marks(folder)
            written = (*written, *marks)
    warnings = list(show.warnings_of_each(plans.plans, frame=given["frame"]))
    talk.warn(*warnings)
    if given["json"]:
        click.echo(show.json_of(_as_json(plans, written, (*read.warnings, *warnings))))
    elif not given["quiet"]:
        _summary(plans, written)
    if command := _for_other_side(plans, context.meta[AS_GIVEN], folder):
        talk.tell(
            f"when the board is turned over, and {marks[0] if marks else 'its table'} filled in: {command}"
        )
    end_if_missed(context, show.tolerances_missed(plans.plans))


def is_board(files: Sequence[str]) -> bool:
    """Whether the files are a board: several, a folder, or an archive."""
    from laserpath.design import content
    from laserpath.design.formats import is_archive

    return len(files) > 1 or Path(files[0]).is_dir() or is_archive(content(Path(files[0])))


def check_values(values: Mapping[str, Any], instead: str = "") -> None:
    """Refuse options of drawings. instead: what to do, after a semicolon."""
    if idle := [name for name in _NOT_OF_A_BOARD if values.get(name)]:
        raise InputError(f"{idle[0]} says nothing about a board{instead}")


def exposure_of(given: Mapping[str, Any], values: Mapping[str, Any]) -> BoardExposure:
    """What is exposed. values: with those of the project."""
    from laserpath.design.board import BoardExposure

    names = ("rim", "isolation", "drill_clear", "drill_marks", "gap")
    chosen = {name: given[name] for name in names if given[name] is not None}
    columns, rows = given["panel"] or (1, 1)
    placing = ("rotate", "align", "align_fit")
    arrangement = request.arrangement_of({name: values[name] for name in placing if name in values})
    chosen |= {name: getattr(arrangement, name) for name in placing}
    return BoardExposure(mirror=given["flip"] or "x", columns=columns, rows=rows, **chosen)


def read_board(
    files: Sequence[str], said: Sequence[str], values: Mapping[str, Any], process: Process
) -> CircuitBoard:
    """The board with the layers to plan. said: which file a layer is."""
    from laserpath.design import tolerance_for
    from laserpath.design.board import check_exposable, load_board

    named = {}
    for text in said:
        kind, sign, file = text.partition("=")
        if not (sign and kind and file):
            raise InputError(f"--layer {text!r} is not like top-copper=FILE")
        named[kind.strip()] = file.strip()
    choices = values.get("layers", ())
    for one in choices:
        check_exposable(one.name)
        if one.values.get("follow"):
            raise InputError(f"layer {one.name!r}: follow says nothing about a board; take it out")
    wanted = names_on(choices)
    tolerance = tolerance_for(process.spot)
    return load_board(list(map(Path, files)), tolerance=tolerance, layers=wanted or None, files=named)


def say_read(read: CircuitBoard, talk: Talk) -> None:
    """Say what the board is, and how it was read."""
    x0, y0, x1, y1 = read.box
    holes = f", {len(read.holes)} hole{'s' * (len(read.holes) > 1)}" if read.holes else ""
    talk.tell(f"{read.name}: {figure(x1 - x0, 4)} × {figure(y1 - y0, 4)} mm{holes}")
    talk.tell(*read.notes)
    talk.warn(*read.warnings)


def _announce(
    read: CircuitBoard,
    each: Sequence[PlannedPart],
    process: Process,
    settings: Settings,
    talk: Talk,
    meter: Meter,
) -> None:
    """Say what each layer means, where the board lies, and how long it will take."""
    from laserpath.planning import Forecast, forecast

    say_read(read, talk)
    for one in each:
        talk.tell(show.part_in_short(one, process, settings))
        talk.warn(*one.design.warnings)
    talk.tell(*show.placing(*each[0]))
    expected = [forecast(*one) for one in each]
    progress.tell_expected(Forecast.of_all(expected), talk)
    talk.tell(*dict.fromkeys(said for one in each for said in show.ages(one.process, date.today())))
    meter.expect(*planning.reported_last(expected), noun="layer")


def _for_other_side(plans: BoardPlans, given: Sequence[str], folder: Path) -> str:
    """The command that plans the other side of an aligned board; '': there is nothing there.

    given: arguments of this command.
    """
    sheet, kinds = plans.other_side(folder)
    if sheet is None:
        return ""
    rest = [*_without(given, ("--align", "--layers")), "--layers", ",".join(kinds), "--align", str(sheet)]
    return shlex.join(["laserpath", "board", *rest])


def _without(given: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Arguments without some options, each of which has a value."""
    words = iter(given)
    for word in words:
        if word in names:
            next(words, "")
        elif word.partition("=")[0] not in names:
            yield word


def _summary(plans: BoardPlans, written: Sequence[Path]) -> None:
    """Print a row for each layer: its order, verdict, edge error and time; and the time of all."""
    from laserpath.report.figure_table import ROWS, cell
    from laserpath.report.wording import duration

    fwhm, rows = next(iter(plans.plans.values())).page_data.fwhm, []
    for number, (kind, one) in enumerate(plans.plans.items(), 1):
        figures, seconds = one.report.executed.as_dict(), one.report.executed.motion.write_time
        cells = (cell(key, figures, fwhm) for key in ("epe_mean", "epe_p95"))
        rows.append([str(number), kind, one.verdict[0], *cells, duration(seconds)])
        click.echo(f"{kind} {show.what_cures(one)}. {one.verdict[1]}")
    rows.append(["", "all", "", "", "", duration(plans.write_time)])
    headings = ("", "layer", "print", ROWS["epe_mean"].name, ROWS["epe_p95"].name, "write time")
    show.tell_table(headings, rows, f"(as executed; in brackets: in FWHM of the spot, {fwhm:g} mm)", left=3)
    show.tell_written(written)


def _as_json(plans: BoardPlans, written: Sequence[Path], warnings: Sequence[str]) -> dict[str, Any]:
    """Figures and files as JSON: those of all, and for each layer those of a plan."""
    x0, y0, x1, y1 = plans.board.box
    return {
        "board": plans.board.name,
        "size_mm": [x1 - x0, y1 - y0],
        "holes": len(plans.board.holes),
        "files": [str(path) for path in written],
        "within_tolerance": bool(plans.within_tolerance),
        "write_s": float(plans.write_time),
        "warnings": list(warnings),
        "notes": list(plans.board.notes),
        "layers": [
            {
                "layer": layer.kind,
                "file": layer.file,
                "said_by": layer.said,
                **show.content(one, planning.own(one.design.name, written), one.report.warnings),
            }
            for layer, one in zip(plans.board.layers, plans.plans.values(), strict=True)
        ],
    }
