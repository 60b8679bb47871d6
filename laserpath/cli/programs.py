"""Programs for the work at the machine: `laserpath frame` and `resume`, made from a program, and `marks`.

For the first two, machine, resin and spot come from the options, else from the project in the head of a
program that laserpath has written, else from a laserpath.toml beside it, else they are the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base import limits
from laserpath.base.errors import InputError, figure
from laserpath.base.files import check_folder, check_places, write_all
from laserpath.cli.grouped import GroupedCommand, Options, Parsed, options
from laserpath.cli.options import DESIGN, FILES, LIMITS, OUTPUT, PROCESS
from laserpath.cli.show import Talk
from laserpath.cli.simulate import PROGRAM
from laserpath.config import options as known
from laserpath.config import project, request, values

if TYPE_CHECKING:
    from laserpath.design.marks import DrawnMark
    from laserpath.simulation.source import Source
    from laserpath.types import Point, Process

_FOLDER_AND_QUIET = {name: OUTPUT["Output"][name] for name in ("-o --output", "-q --quiet")}
_OUT: Options = {
    "Output": {
        **_FOLDER_AND_QUIET,
        "--project": {
            "metavar": "FILE",
            "help": "Project file with machine, resin and spot  [that in the head of FILE, else "
            f"{project.NAME} beside it]",
        },
    }
}
_READ: Options = {"Program": {name: PROGRAM["Program"][name] for name in ("--dialect", "--s-max")}}


@dataclass(frozen=True, slots=True)
class _GivenProgram:
    """A program as its controller reads it, and the machine, resin and spot of the command.

    text: of the file.  place: where the command writes.
    """

    source: Source
    process: Process
    text: str
    place: Path
    talk: Talk

    def write(self, text: str, *sentences: str) -> None:
        """Write the program, and say what it does."""
        (written,) = write_all({self.place: text})
        self.talk.tell(*sentences)
        if not self.talk.quiet:
            click.echo(f"Written: {written}")


def _given_program(file: Path, given: Mapping[str, Any], suffix: str) -> _GivenProgram:
    """Read the program of a command that writes FILE with another suffix."""
    from laserpath.simulation import source

    folder, talk = check_folder(given["output"]), Talk(quiet=given["quiet"])
    place = folder / f"{file.stem}{suffix}"
    check_places([place])
    text = limits.content(file, "program").decode("utf-8", "surrogateescape")
    saved, where = project.for_programs(given["project"], [file], file)
    if saved is not None and saved.path != file:
        talk.tell(f"with the settings {where}")
    names = {option.name for option in known.OPTIONS["Machine, resin, spot"]}
    chosen = {name: value for name, value in given.items() if name in names and value is not None}
    every = request.over(saved.values, chosen) if saved else chosen
    if saved is None and "machine" not in chosen:
        talk.warn(
            "no machine is named, neither by --machine nor in the file or beside it; the default one is taken"
        )
    process = request.process_of({name: value for name, value in every.items() if name in names})
    read = source.read(file, process.machine, given["dialect"], given["s_max"])
    talk.warn(*read.remarks)
    return _GivenProgram(read, replace(process, machine=read.machine), text, place, talk)


_FRAME_EPILOG = """\b
Examples:
  laserpath frame design.gcode
  laserpath frame lightburn.gc --machine my-laser.toml --resin my-resin.toml
  laserpath frame design.gcode --lit         # with the resin covered, or before it is in place

\b
The pass is lit only where the machine's weakest light at full speed leaves less than a hundredth of the
critical dose, and is dark near corners. Else it is dark: the head shows the place.

\b
Exit codes: 0 success; 2 bad input, nothing written."""


@click.command(cls=GroupedCommand, epilog=_FRAME_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--lit", is_flag=True, help="Light the whole pass at the lowest power; it exposes resin, too")
@options(_OUT, _READ, PROCESS, LIMITS)
def frame(file: Path, lit: bool, **given: Any) -> None:
    """Write a pass around what FILE, a G-code program of any tool, exposes: FILE.frame.gcode.

    It shows the place on the machine, and leaves less than a hundredth of the critical dose.
    """
    from gcode.checking.paths import extent
    from laserpath.machine import framing
    from laserpath.physics import optics
    from laserpath.simulation.source import lit as exposes

    given_program = _given_program(file, given, ".frame.gcode")
    moves, process = given_program.source.moves, given_program.process
    each, margin = extent(moves)[exposes(moves)], optics.fwhm(process.spot) / 2
    x0, y0 = (each[:, :2].min(axis=0) - margin).tolist()
    x1, y1 = (each[:, 2:].max(axis=0) + margin).tolist()
    done = framing.framing_pass((x0, y0, x1, y1), process, lit=lit)
    sentence = done.sentence(process.machine)
    box = f"x {figure(x0, 5)} to {figure(x1, 5)}, y {figure(y0, 5)} to {figure(y1, 5)} mm"
    text = framing.program(done, process, file.name)
    if done.dose > framing.SAFE:
        given_program.talk.warn(sentence)
        given_program.write(text, f"{file.name} exposes {box}")
    else:
        given_program.write(text, f"{file.name} exposes {box}: {sentence}")


_RESUME_EPILOG = """\b
Examples:
  laserpath resume design.gcode --after 12.31,8.05      # where the head stopped
  laserpath resume design.gcode --after 812             # the last line that was executed
  laserpath resume part.gcode --after 12.3,8.05,0.4     # of a part: with the height, Z
  laserpath resume lightburn.gc --after 95s --machine my-laser.toml

\b
A sender shows the last line that it sent: the controller has some of them in its queue still. The place
of the head is exact, if it has not moved since. Keep the work zero, of a part that of Z too.

\b
Exit codes: 0 success; 2 bad input, nothing written."""


@click.command(cls=GroupedCommand, epilog=_RESUME_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--after", metavar="X,Y[,Z]|LINE|TIME", required=True, type=Parsed(values.ended, "after"),
    help="Where FILE ended: place of the head (10.2,5.1mm), line (812), or time from its start (95s, 2min)",
)  # fmt: skip
@options(_OUT, _READ, PROCESS, LIMITS)
def resume(file: Path, after: Any, **given: Any) -> None:
    """Write the rest of FILE, a G-code program of any tool that was interrupted: FILE.resume.gcode.

    The head goes along the path in the dark, and has its speed where the light begins, one spot before the
    place where FILE ended. What is exposed twice is said. A part goes on in its layer, after what the program
    does before that layer in the dark: Z, lift, wiper, wait.
    """
    from laserpath.machine import resuming
    from laserpath.physics import optics

    program = _given_program(file, given, ".resume.gcode")
    first = project.first_comments(program.text)
    head = ("Head of the program that it continues:", *first) if first else ()
    rest = resuming.resume(program.source.program, program.process, after, file.name, head)
    program.write(rest.text, *rest.sentences(optics.fwhm(program.process.spot)))


_MARKS: Options = {
    "Marks": {
        "--marks": {
            "multiple": True,
            "metavar": "WHICH",
            "required": True,
            "help": "round:1mm, discs of that diameter; hole:1mm, round holes; drill:1mm, those of a drill "
            "file; layer:NAME, the parts of a layer; or a place, 10,20 or NW:10,20; may be repeated",
        },
        "--most": {
            "type": click.IntRange(1, 100),
            "default": 4,
            "help": "Of those found by their shape, take so many that lie far apart  [4]",
        },
        "--wait": {
            "type": click.FloatRange(0, 3600),
            "metavar": "SECONDS",
            "help": "Wait so long at each mark  [until the user continues: M0]",
        },
        "--each": {"is_flag": True, "help": "Write a program for each mark, which ends there: for jogging"},
        "--dim": {
            "is_flag": True,
            "help": "With --wait: stand at each mark with the weakest light, if that leaves less than a "
            "hundredth of the critical dose  [dark]",
        },
    }
}
_MARKS_OUT: Options = {"Output": {**_FOLDER_AND_QUIET, "--project": FILES["Output"]["--project"]}}

_MARKS_EPILOG = """\b
Examples:
  laserpath marks board-F_Cu.gbr --marks round:1mm --origin design --offset 10,10
  laserpath marks board.drl --marks drill:3.2mm --most 3 --origin own --offset 10,90 --each
  laserpath marks chip.gds --marks layer:63/0 --wait 20
  laserpath marks chip.gds --marks layer:63/0 --wait 20 --dim
  laserpath marks design.svg --marks NW:1,19 --marks SE:19,1

\b
Run DESIGN.marks.gcode: it goes to where each mark should be, dark, and waits. Write where each is found
into DESIGN.marks.csv, then: laserpath plan DESIGN --align DESIGN.marks.csv

\b
Exit codes: 0 success; 2 bad input, nothing written."""


@click.command(cls=GroupedCommand, epilog=_MARKS_EPILOG)
@click.argument("design", metavar="DESIGN", type=click.Path())
@options(_MARKS, _MARKS_OUT, DESIGN, PROCESS, LIMITS)
def marks(design: str, **given: Any) -> None:
    """Write a program that drives to marks of DESIGN, a drawing or a drill file, and waits at each.

    It is dark throughout, or with --dim leaves less than a hundredth of the critical dose at a mark.

    Also writes and prints the table to fill in, DESIGN.marks.csv, which `plan --align` reads.
    """
    from laserpath.cli import plan
    from laserpath.design.marks import keep, table
    from laserpath.machine.framing import dim_tour, tour

    if given["dim"] and (given["wait"] is None or given["each"]):
        raise InputError("--dim needs --wait with it, and no --each: what light leaves grows with its time")
    folder, talk = check_folder(given["output"]), Talk(quiet=given["quiet"])
    file, every = plan.inputs(design, given)
    process = request.process_of(every)
    found, places = _places(file, every, process, talk)
    name, machine = Path(file).stem, process.machine
    sheet = folder / f"{name}.marks.csv"
    keep(sheet)
    texts = {sheet: table(found)}
    if given["each"]:
        texts |= {
            folder / f"{name}.marks-{_plain(mark)}.gcode": tour({mark: xy}, machine, name)
            for mark, xy in places.items()
        }
    elif given["dim"]:
        texts[folder / f"{name}.marks.gcode"], dose = dim_tour(places, process, name, given["wait"])
        talk.tell(f"the light leaves {figure(100 * dose, 2)} % of the critical dose at a mark")
    else:
        texts[folder / f"{name}.marks.gcode"] = tour(places, machine, name, given["wait"])
    check_places(list(texts))
    written = write_all(texts)
    if not talk.quiet:
        click.echo(texts[sheet], nl=False)
        for path in written:
            click.echo(f"Written: {path}", err=True)


def _places(
    file: str, every: Mapping[str, Any], process: Process, talk: Talk
) -> tuple[Sequence[DrawnMark], dict[str, Point]]:
    """The marks of a file, and where on the machine each is expected."""
    from laserpath.design import arrange, load, tolerance_for
    from laserpath.design.arrange import arranged_places
    from laserpath.design.marks import drills, find_marks
    from laserpath.machine.placement import placed
    from laserpath.physics import optics

    reading, how = request.reading_of(every, tolerance_for(process.spot)), request.arrangement_of(every)
    reading = replace(reading, split=(), layers=reading.split or reading.layers)  # all of them, as one design
    settings = request.settings_of(every, optics.fwhm(process.spot))
    drawn = drills(Path(file)) or load(file, tolerance=reading.tolerance, reading=reading)
    talk.warn(*drawn.warnings)
    found = find_marks(
        every["marks"], drawn,
        lambda layer: load(file, tolerance=reading.tolerance, reading=replace(reading, layers=(layer,))),
        every["most"],
    )  # fmt: skip
    arranged = arrange(drawn, how)
    at = placed(arranged, process.resin, process.machine, process.spot, settings.origin, settings.offset)
    talk.tell(*at.notes)
    xy = arranged_places([mark.xy for mark in found], how, drawn, arranged.alignment)
    page, was = at.design.page or (0.0, 0.0), arranged.page or (0.0, 0.0)
    xy = xy + (page[0] - was[0], page[1] - was[1])
    return found, {mark.name: (float(x), float(y)) for mark, (x, y) in zip(found, xy, strict=True)}


def _plain(name: str) -> str:
    """A name of a mark for a file."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
