"""The program of a machine: written with a header that says how it was made, read back, and executed.

    toolpath → text → moves, and the lines that carry them → run of the controller → path as executed

*Commanded* takes power and feed as they are written. *Executed* cuts every move into pieces of the speed that
the controller's planner reaches, with the power that it then gives (`gcode.motion`), and lets head and laser
come as late as they do. What it exposes is in `measure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import gcode
from gcode.motion import peak_rate
from laserpath import optics
from laserpath.base.arrays import Indices
from laserpath.machine import convert
from laserpath.types import Machine, Point, Process, Toolpath
from laserpath.types.results import MotionFigures

_PIECE_FWHM = 0.5
"""Longest piece of constant speed; longer ones blur the light of a ramp."""

_LAG_STEP = 1e-3
"""s; a lag is followed in steps of a quarter of its time constant, or of this."""

EYE_SAFETY = (
    "CAUTION: laser radiation. Enclose the beam or wear goggles rated for its wavelength;",
    "405 nm light can blind before you blink, and its reflections too. Never leave it running alone.",
)


_PART_FWHM = 0.5
"""The spot blurs what is shorter."""


@dataclass(frozen=True, slots=True)
class Transmitted:
    """What is sent for a path. characters: (N,) of each move, line ends included.  lines: of the program."""

    characters: Indices
    lines: int

    @classmethod
    def of(cls, characters: Indices, row: Indices, lines: int) -> Transmitted:
        """What is sent for moves (N,) of which each comes from the given row of a program.

        characters: of each row.  Of the chords of an arc the first one carries the line.
        """
        first = np.diff(row, prepend=-1) > 0
        return cls(np.where(first, characters[row], 0), lines)


@dataclass(frozen=True, eq=False)
class Shipped:
    """A program, and what the controller does with it: each step is found when first asked for, and once.

    path: as commanded, where the text has it.  transmitted: None: lines of usual length.  text: '' where
    none is written.  execution: of the whole file, where that holds more than the path (other layers,
    dwells, arcs); else the path is executed.  shift: mm, where it is looked at, from where the text has it.
    """

    path: Toolpath
    process: Process
    transmitted: Transmitted | None = None
    text: str = ""
    execution: gcode.motion.Executed | None = None
    shift: Point = (0.0, 0.0)

    @classmethod
    def written(
        cls, path: Toolpath, process: Process, passes: int = 1, header: Sequence[str] = ()
    ) -> Shipped:
        """The program that exposes a path in all its passes: its text, and what that says, read back."""
        text, machine = write_program(path, process, passes, header), process.machine
        spoken = gcode.dialect(machine.dialect)
        said = gcode.read(text, spoken, machine.s_max, rapid_speed=min(machine.rapid_speed))
        commanded, row = convert.toolpath_of(said.moves, machine)
        return cls(commanded, process, Transmitted.of(said.characters, row, text.count("\n")), text)

    @property
    def power_follows(self) -> bool:
        """Whether the laser's power follows the speed of the head, so that what is commanded counts too.

        Where it does not, the program is bent so that what is executed is right (`export`).
        """
        return bool(gcode.dialect(self.process.machine.dialect).dynamic_power)

    @cached_property
    def commanded(self) -> Toolpath:
        """Where the spot should shine."""
        return replace(self.path, xy=self.path.xy + self.shift) if any(self.shift) else self.path

    @cached_property
    def run(self) -> gcode.motion.Executed:
        """What the controller does, the way from the work zero included."""
        run = self._unmoved
        return replace(run, xyz=run.xyz + (*self.shift, 0.0)) if any(self.shift) else run

    @cached_property
    def executed(self) -> Toolpath:
        """Where the spot really shines, from above, with the lag of its mirrors and its laser."""
        above = replace(self.run, xyz=self.run.xyz * (1.0, 1.0, 0.0))
        machine = self.process.machine
        return convert.from_moves(
            gcode.motion.lagged(above.moves(), convert.lag(machine), _LAG_STEP), machine
        )

    @cached_property
    def motion(self) -> MotionFigures:
        """Times and lengths, the way from the work zero included."""
        machine, path = self.process.machine, from_zero(self.path, self.process.machine)
        free = gcode.motion.profile(convert.to_moves(path, machine), convert.limits(machine))
        return MotionFigures.along(
            path,
            write_time=self.run.write_time,
            lines=self.transmitted.lines if self.transmitted else 0,
            segment_rate=peak_rate(free.duration / free.slowing, machine.look_ahead),
        )

    def moved(self, by: Point) -> Shipped:
        """The same program looked at elsewhere; how far the head comes from its zero stays as it is."""
        x, y = self.shift
        return replace(self, shift=(x + by[0], y + by[1]), execution=self._unmoved)

    @cached_property
    def _unmoved(self) -> gcode.motion.Executed:
        """The run where the text has it."""
        if self.execution is not None:
            return self.execution
        machine, path, sent = self.process.machine, self.path, self.transmitted
        characters = np.full(len(path), gcode.motion.LINE_CHARACTERS) if sent is None else sent.characters
        return execute(convert.to_moves(from_zero(path, machine), machine), characters, self.process)


def execute(moves: gcode.Moves, characters: Indices, process: Process) -> gcode.motion.Executed:
    """What the controller does with moves of which the first is the way from the work zero.

    characters: sent for each of the others.
    """
    machine = process.machine
    return gcode.motion.execute(
        moves,
        convert.controller(machine),
        characters=np.concatenate([[0], characters]),
        power_levels=machine.power_levels,
        longest=_PIECE_FWHM * optics.fwhm(process.spot),
    )


def from_zero(path: Toolpath, machine: Machine) -> Toolpath:
    """The path with a travel from the work zero, where the head stands when the program starts."""
    return Toolpath(
        np.vstack([np.zeros((1, 2)), path.xy]),
        np.concatenate([[0.0], path.power]),
        np.concatenate([[min(machine.rapid_speed)], path.speed]),
    )


def write_program(path: Toolpath, process: Process, passes: int = 1, header: Sequence[str] = ()) -> str:
    """The G-code text of a toolpath in the machine's dialect. header: comment lines to begin with."""
    machine = process.machine
    return gcode.write(export(path, process, passes), convert.spoken(machine), machine.s_max, header)


def export(path: Toolpath, process: Process, passes: int = 1) -> gcode.Moves:
    """The moves that the machine is told, so that it exposes `path`, in as many passes as wanted.

    Where its power does not follow the speed, ours does; where head or laser come late, they are told early.
    """
    machine = process.machine
    moves = convert.to_moves(path, machine, passes)
    controller = convert.controller(machine)
    if isinstance(controller, gcode.motion.Marlin):
        moves = gcode.join_short(moves, controller.shortest_move)
    if not gcode.dialect(machine.dialect).dynamic_power:
        moves = gcode.motion.corrected(
            moves, controller, shortest=_PART_FWHM * optics.fwhm(process.spot),
            segment_rate=machine.segment_rate, power_levels=machine.power_levels, level_min=machine.level_min,
        )  # fmt: skip
    return gcode.motion.compensated(moves, convert.lag(machine), min(machine.acceleration))


def exported(path: Toolpath, process: Process) -> Toolpath:
    """The toolpath that the machine is told, one pass of it."""
    return convert.from_moves(export(path, process), process.machine)
