"""The walk: program → moves → executed → exposed → measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import gcode
from gcode.move import Kind
from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design import FLATTEN_FWHM, load
from laserpath.machine import convert
from laserpath.machine.placement import Placed, placed
from laserpath.machine.program import MachineProgram, Transmitted, execute
from laserpath.simulation import source
from laserpath.simulation.exposing import exposures, shift_onto, tuned
from laserpath.simulation.plane import Height, Layer, darkened, flat, layer
from laserpath.simulation.result import Simulation
from laserpath.simulation.source import Program, Source
from laserpath.simulation.telling import of_light, of_place, of_shift
from laserpath.types import Design, Machine, Process, Settings

Listener = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Choices:
    """What is said of the program.

    dialect: that it is written in; None: the machine's.  s_max: the number of full power; None: the
    machine's.  height: Z of the layer, mm; 'all': all at once; None: the first.
    align: find out where the design lies.
    """

    dialect: str | None = None
    s_max: float | None = None
    height: Height = None
    align: bool = False


def simulate(
    program: Program,
    process: Process | None = None,
    design: Design | str | None = None,
    settings: Settings | None = None,
    choices: Choices | None = None,
    *,
    name: str = "",
    progress: Listener | None = None,
) -> Simulation:
    """Expose a program, a file's (a Path, or a str without line ends) or a text, on a machine and a resin.

    design: a file, or a `Design` in mm; it is placed by the `origin` and `offset` of the settings.
    progress: is told what is done now. Raises InputError for what cannot be simulated.
    """
    process, settings, choices = process or Process(), settings or Settings(), choices or Choices()
    tell = progress or (lambda stage: None)
    tell("reading")
    read = source.read(program, process.machine, choices.dialect, choices.s_max, name)
    process = replace(process, machine=read.machine)
    chosen = layer(read.moves, choices.height)
    at = None if design is None else _placed(design, process, settings, _lit(chosen, read.moves))
    drawn, notes = (at.design, at.notes) if at else (None, ())
    tell("executing")
    shipped = _shipped(read, chosen, process)
    tell("exposing")
    if drawn is not None and choices.align:
        shipped = shipped.moved(shift_onto(drawn, shipped, settings, read.name))
    found = exposures(shipped, drawn, settings, read.name)
    tell("measuring")
    return Simulation(
        name=read.name, process=process, design=drawn, shipped=shipped,
        commanded=found.commanded, executed=found.executed,
        best=None if drawn is None else tuned(found.executed, drawn, process),
        within=None if drawn is None else settings.max_epe_fwhm, head=read.head,
        warnings=(
            *of_light(found, process), *of_shift(shipped.shift, optics.fwhm(process.spot)), *read.remarks,
            *chosen.remarks, *(drawn.warnings if drawn else ()), *notes,
            *of_place(found, shipped, drawn, process, choices.align),
        ),
    )  # fmt: skip


def _placed(design: Design | str, process: Process, settings: Settings, lit: Floats) -> Placed:
    """The design where a plan has it.

    One without a page is left to 'auto' at its own coordinates or with its corner at the work zero: other
    tools keep those, `plan` does this. The place is taken whose corner is nearer to the light's.
    lit: (N, 2) mm.
    """
    spot = process.spot
    if not isinstance(design, Design):
        design = load(design, tolerance=FLATTEN_FWHM * spot.fwhm)
    arguments = design, process.resin, process.machine, spot
    at = placed(*arguments, settings.origin, settings.offset)
    if settings.origin != "auto" or design.page is not None or not at.notes or not len(lit):
        return at
    try:
        own = placed(*arguments, "page", settings.offset)
    except InputError:  # its own coordinates are off the machine
        return at
    first = lit.min(axis=0)
    apart = [float(np.hypot(*(first - one.design.bounds[:2]))) for one in (own, at)]
    return own if apart[0] < apart[1] else at


def _lit(chosen: Layer, moves: gcode.Moves) -> Floats:
    """(N, 2) mm, the ends of the moves of the chosen layer that expose."""
    on = moves.on & chosen.rows
    return np.concatenate([moves.xy[:-1][on], moves.xy[1:][on]])


def _shipped(read: Source, chosen: Layer, process: Process) -> MachineProgram:
    """The moves of the chosen layer as commanded, and as the controller executes the whole file."""
    machine, moves = process.machine, read.moves
    chords, row = moves.cut(gcode.motion.ARC_TOLERANCE)
    path, at = convert.toolpath_of(flat(darkened(chords, chosen.rows[row])), machine)
    of = row[at]
    sent = Transmitted.of(read.said.characters, of, read.said.lines)
    run = execute(_from_zero(moves, machine), np.append(0, read.said.characters), process)
    kept = np.concatenate([[False], chosen.rows])[run.row]
    run = replace(run, power=np.where(kept, run.power, 0.0))
    return MachineProgram.of(path, process, sent, execution=run)


def _from_zero(moves: gcode.Moves, machine: Machine) -> gcode.Moves:
    """The moves with the way from the work zero, where the head stands when the program starts."""
    return gcode.Moves(
        np.vstack([np.zeros((1, 2)), moves.xy]), np.append(0.0, moves.power),
        np.append(min(machine.rapid_speed), moves.speed), np.append(np.int8(Kind.RAPID), moves.kind),
        z=np.append(moves.z[0], moves.z), centre=np.vstack([np.zeros((1, 2)), moves.centre]),
        dwell=np.append(0.0, moves.dwell), dynamic=np.append(np.False_, moves.dynamic),
    )  # fmt: skip
