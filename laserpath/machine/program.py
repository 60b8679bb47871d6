"""The program of a machine: written with a header that says how it was made, read back, and executed.

    toolpath → text → moves, and the lines that carry them → run of the controller → path as executed

The *path* has power and feed as written. The *executed* path cuts each move into pieces of constant speed,
as the controller's planner reaches it, with the power that it then sets (`gcode.motion`), and includes the
lag of head and laser. `measure` has the exposure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

import gcode
from gcode.motion import peak_rate
from gcode.move import approached
from laserpath.base.arrays import Indices, return_freed
from laserpath.base.errors import InputError, one_line
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.heights import followed
from laserpath.machine.rest import RESTS, rested
from laserpath.physics import optics
from laserpath.types import Machine, Point, Process, Toolpath
from laserpath.types.results import MotionFigures

_PIECE_FWHM = 0.5
"""Longest piece of constant speed, in FWHM: a larger one blurs the dose along a ramp."""

_CORRECTED_PIECE_FWHM = 0.5
"""Shortest piece of a corrected move, in FWHM: a smaller value adds moves that the spot blurs."""

_SWALLOWED_FWHM = 0.1
"""Largest reversal of an axis, in FWHM, that is left to its slack: a larger one saves jumps and places
vertices more coarsely."""

_LATE_PART_FWHM = 0.01
"""Shortest part of a move that is cut for a late laser, in FWHM, and at least a motor step: a larger one
places the ends of strokes more coarsely."""

_LAG_STEP = 1e-3
"""Longest time step, s, in which a lag is followed; a shorter time constant has steps of a quarter of it."""

EYE_SAFETY = (
    "CAUTION: laser radiation. Enclose the beam or wear goggles rated for its wavelength;",
    "405 nm light can blind before you blink, and its reflections too. Never leave it running alone.",
)


@dataclass(frozen=True, slots=True)
class Transmitted:
    """What is sent for a path. characters: (N,) characters for each move, line ends included.

    lines: lines of the program.  rests: characters of each dwell before the path.
    """

    characters: Indices
    lines: int
    rests: tuple[int, ...] = (0,) * RESTS

    @classmethod
    def of(cls, characters: Indices, row: Indices, lines: int) -> Transmitted:
        """What is sent for moves (N,), each of which comes from a row of a program.

        characters: of each row.  row: (N,).  The first chord of an arc carries the whole line.
        """
        first = np.diff(row, prepend=-1) > 0
        return cls(np.where(first, characters[row], 0), lines)

    def of_moves(self, first: int, last: int) -> Transmitted:
        """What is sent for moves first to last − 1; lines without a move belong to the first part."""
        characters = self.characters[first:last]
        alone = self.lines - int(np.count_nonzero(self.characters)) if first == 0 else 0
        return Transmitted(characters, int(np.count_nonzero(characters)) + alone)


@dataclass(frozen=True, eq=False)
class ProgramPart:
    """A part of a program from rest to rest, and its execution; each result is computed once.

    path: mm, as the text has it.  transmitted: None means lines of usual length.
    start: mm, position of the head before the part, by default the work zero; None: the path's first vertex,
    where the part before ends.
    execution: that of the whole file, if the file holds more than the path (other layers, dwells, arcs);
    None: the path is executed.  override: of the feed, by the controller; 1: as written.

    The parts are independent: at a rest the head stands still, the laser is dark on one side of it, and the
    controller has read ahead. With a lag τ of the mirrors, e^(−t/τ) of their distance is left at a time t
    after a stop; the next part neglects it, and also a laser delay that has not yet passed.
    """

    path: Toolpath
    process: Process
    transmitted: Transmitted | None = None
    start: Point | None = (0.0, 0.0)
    execution: gcode.motion.Executed | None = None
    override: float = 1.0

    @cached_property
    def run(self) -> gcode.motion.Executed:
        """The controller's execution, including the travel from the start."""
        if self.execution is not None:
            return self.execution
        run = execute(self._from_rest, self._characters, self.process, self.override)
        return run if self.start is None else replace(run, row=np.maximum(run.row - RESTS, 0))

    @property
    def _from_rest(self) -> gcode.Moves:
        """The moves that are executed: the travel from the start, a rest, and the path."""
        path = convert.to_moves(self.path, self.process.machine)
        machine = self.process.machine
        return rested(path, machine, self.start, min(machine.rapid_speed)) if self.start else path

    @property
    def _characters(self) -> Indices:
        """(rows,) characters sent for each row of `_from_rest`."""
        sent, usual = self.transmitted, gcode.motion.LINE_CHARACTERS
        characters = np.full(len(self.path), usual) if sent is None else sent.characters
        rests = (0,) * RESTS if sent is None else sent.rests
        return characters if self.start is None else np.concatenate([[0], rests, characters])

    @cached_property
    def executed(self) -> Toolpath:
        """The path that the spot exposes, in x and y, with the lag of its mirrors and its laser."""
        above = replace(self.run, xyz=self.run.xyz * (1.0, 1.0, 0.0))
        machine = self.process.machine
        return convert.from_moves(lagged(above, machine, optics.fwhm(self.process.spot)), machine)

    @cached_property
    def motion(self) -> MotionFigures:
        """Times and lengths, including the travel from the start."""
        machine, whole = self.process.machine, self._whole
        free = gcode.motion.profile(convert.to_moves(whole, machine), convert.limits(machine))
        return MotionFigures.along(
            whole,
            write_time=self.run.write_time,
            lines=self.transmitted.lines if self.transmitted else 0,
            segment_rate=peak_rate(free.duration / free.slowing, machine.look_ahead),
        )

    @property
    def _whole(self) -> Toolpath:
        """The path with the travel from the start and the dark move before it, if there is one."""
        if self.start is None:
            return self.path
        if self.execution is not None:  # the path is that of the file, which may be another tool's
            return from_zero(self.path, self.process.machine, self.start)
        return convert.toolpath_of(self._from_rest, self.process.machine)[0]


@dataclass(frozen=True, eq=False)
class MachineProgram:
    """A program in parts from rest to rest, and its execution.

    parts: the first has a start, and each other one starts where the one before ends.  text: the G-code, ''
    if none was written.  shift: mm, added to all positions of spot and head, for a comparison with a design
    that has another work zero.
    """

    parts: tuple[ProgramPart, ...]
    text: str = ""
    shift: Point = (0.0, 0.0)
    __repr__ = one_line

    def __post_init__(self) -> None:
        if not self.parts:
            raise InputError("a program has no parts, but must have at least 1")
        if self.parts[0].start is None:
            raise InputError(
                "part 1 has no start, but must begin with the travel from the position of the head"
            )
        for k, (before, after) in enumerate(pairwise(self.parts), start=2):
            end, start = before.path.xy[-1].tolist(), after.path.xy[0].tolist()
            if after.start is not None or end != start:
                raise InputError(f"part {k} does not start at {end} mm, where part {k - 1} ends")
            if before.path.on[-1] and after.path.on[0]:
                raise InputError(f"the laser is on before and after the rest between parts {k - 1} and {k}")

    @classmethod
    def of(
        cls,
        path: Toolpath,
        process: Process,
        transmitted: Transmitted | None = None,
        execution: gcode.motion.Executed | None = None,
    ) -> MachineProgram:
        """The program of a path in one part; the arguments are those of `ProgramPart`."""
        return cls((ProgramPart(path, process, transmitted, execution=execution),))

    @classmethod
    def written(
        cls, path: Toolpath, process: Process, passes: int = 1, header: Sequence[str] = ()
    ) -> MachineProgram:
        """The program that exposes a path in `passes` passes: its text, and the moves read back from it."""
        return cls.of_moves(export(path, process, passes), process, header)

    @classmethod
    def of_moves(
        cls, moves: gcode.Moves, process: Process, header: Sequence[str] = (), *, raised: bool = False
    ) -> MachineProgram:
        """The program of moves as they are: its text, and the moves read back from it.

        raised: see `verified`.
        """
        machine = process.machine
        return_freed()  # a large program is in memory several times until it is verified
        text, parsed = verified(rested(moves, machine), machine, header, spot=process.spot, raised=raised)
        path = parsed.moves.span(RESTS, len(parsed.moves))
        commanded, row = convert.toolpath_of(path, machine)
        sent = Transmitted.of(parsed.characters[RESTS:], row, text.count("\n"))
        sent = replace(sent, rests=tuple(parsed.characters[:RESTS].tolist()))
        return cls((ProgramPart(commanded, process, sent),), text)

    @property
    def bare(self) -> MachineProgram:
        """The same program without its text and without what was computed of it, which take most memory."""
        return replace(self, parts=tuple(replace(part) for part in self.parts), text="")

    def split(self, rests: Sequence[int]) -> MachineProgram:
        """The same program, split from one part into several.

        rests: rising indices of moves before which the head rests and the laser is dark on one side.
        """
        (whole,) = self.parts
        if whole.execution is not None:
            raise InputError("a program that was executed with its whole file cannot be split")
        ends = [0, *rests, len(whole.path)]
        if min(np.diff(ends)) < 1:
            raise InputError(f"moves to split at are {tuple(rests)}, but must rise between 0 and {ends[-1]}")
        parts = []
        for first, last in pairwise(ends):
            path, sent = whole.path.cut(first, last), whole.transmitted
            sent = sent and sent.of_moves(first, last)
            parts.append(ProgramPart(path, whole.process, sent, None if first else whole.start))
        return replace(self, parts=tuple(parts))

    @property
    def process(self) -> Process:
        """The process of all parts."""
        return self.parts[0].process

    @cached_property
    def path(self) -> Toolpath:
        """The path as written, of all parts, without the shift."""
        return self._joined([part.path for part in self.parts])

    @cached_property
    def executed_parts(self) -> tuple[Toolpath, ...]:
        """The path that the spot exposes, part by part."""
        return tuple(self._shifted(part.executed) for part in self.parts)

    @cached_property
    def shifted_path(self) -> Toolpath:
        """The path as written, of all parts, with the shift."""
        return self._shifted(self.path)

    @cached_property
    def executed(self) -> Toolpath:
        """The path that the spot exposes, in x and y, with the lag of its mirrors and its laser."""
        return self._joined(self.executed_parts)

    @cached_property
    def run(self) -> gcode.motion.Executed:
        """The controller's execution, including the travel from the work zero."""
        run = self._run
        return replace(run, xyz=run.xyz + (*self.shift, 0.0)) if any(self.shift) else run

    @cached_property
    def motion(self) -> MotionFigures:
        """Times and lengths, including the travel from the work zero; `segment_rate`: the parts' largest."""
        return _summed([part.motion for part in self.parts])

    def moved(self, by: Point) -> MachineProgram:
        """The program with its spot and head shifted; the head's travel from its zero does not change."""
        x, y = self.shift
        return replace(self, shift=(x + by[0], y + by[1]))

    def _shifted(self, path: Toolpath) -> Toolpath:
        return replace(path, xy=path.xy + self.shift) if any(self.shift) else path

    def _joined(self, paths: Sequence[Toolpath]) -> Toolpath:
        """The paths one after the other, with a travel wherever one does not begin at the end of the last."""
        if len(paths) == 1:
            return paths[0]
        first, rapid = paths[0], min(self.process.machine.rapid_speed)
        xy, power, speed = [first.xy], [first.power], [first.speed]
        for before, after in pairwise(paths):
            apart = int((before.xy[-1] != after.xy[0]).any())
            xy.append(after.xy[1 - apart :])
            power += [np.zeros(apart), after.power]
            speed += [np.full(apart, rapid), after.speed]
        return Toolpath(np.concatenate(xy), np.concatenate(power), np.concatenate(speed))

    @cached_property
    def _run(self) -> gcode.motion.Executed:
        """The parts' runs one after the other, without the shift; rows are numbered through all parts."""
        runs = [part.run for part in self.parts]
        if len(runs) == 1:
            return runs[0]
        # Row 0 of the first part is the travel from its start.
        before = np.cumsum([0, 1] + [len(part.path) for part in self.parts])[[0, *range(2, len(runs) + 1)]]
        last = runs[-1].stepping[1] + sum(run.write_time for run in runs[:-1])
        return gcode.motion.Executed(
            row=np.concatenate([run.row + k for run, k in zip(runs, before, strict=True)]),
            duration=np.concatenate([run.duration for run in runs]),
            xyz=np.concatenate([runs[0].xyz, *(run.xyz[1:] for run in runs[1:])]),
            power=np.concatenate([run.power for run in runs]),
            light=np.concatenate([run.light for run in runs]),
            stepping=(runs[0].stepping[0], last),
        )


def _summed(parts: Sequence[MotionFigures]) -> MotionFigures:
    """The figures of parts one after the other; the busiest moves are searched for within each part only."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: [getattr(part, name) for part in parts] for name in parts[0].as_dict()}
    totals = {name: sum(values) for name, values in columns.items()}
    return MotionFigures(**{**totals, "segment_rate": max(columns["segment_rate"])})


def longest_piece(process: Process) -> float:
    """mm, longest piece of a ramp of which the light is taken as constant."""
    return _PIECE_FWHM * optics.fwhm(process.spot)


def execute(
    moves: gcode.Moves, characters: Indices, process: Process, override: float = 1.0
) -> gcode.motion.Executed:
    """The controller's execution of moves. characters: (N,) sent for each; 0 for the way to the path.

    override: of the feed, by the controller.
    """
    machine, controller = process.machine, convert.controller(process.machine)
    if override != 1:
        dialect = gcode.dialect(machine.dialect)
        moves, controller = gcode.motion.overridden(moves, controller, override, dialect)
    run = gcode.motion.execute(
        moves,
        controller,
        characters=characters,
        power_levels=machine.power_levels,
        light=machine.light,
        longest=longest_piece(process),
    )
    return gcode.motion.played(run, machine.backlash)


def lagged(run: gcode.motion.Executed, machine: Machine, fwhm: float = math.inf) -> gcode.Moves:
    """The moves of the spot during a run, with the lag of mirrors and laser. fwhm: mm; see `convert.lag`."""
    return gcode.motion.lagged(run.moves(), convert.lag(machine, fwhm), _LAG_STEP)


def early(moves: gcode.Moves, process: Process) -> gcode.Moves:
    """The moves to command so that axes with slack, and a head and a laser that lag, expose `moves`."""
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    slack, late, lag = any(machine.backlash), convert.late(machine), convert.lag(machine, fwhm)
    if slack or late:
        own, rate, longest = rested(moves, machine), convert.segment_rate(machine), longest_piece(process)
        # Light is early by a time, and an input shaper leaves all times as planned.
        unshaped, board = convert.controller(machine).unshaped(), convert.board(process)
        if slack:
            own = gcode.motion.taken_up(
                own, unshaped, board, _take_up(process), rate=rate, shortest=_CORRECTED_PIECE_FWHM * fwhm,
                longest=longest,
            )  # fmt: skip
        if late:
            own = gcode.motion.advanced(
                own, unshaped, board, lag, rate=rate, shortest=_shortest_part(process), longest=longest
            )
        moves = own.span(RESTS, len(own))
    return moves if late else gcode.motion.compensated(moves, lag, min(machine.acceleration))


def _take_up(process: Process) -> gcode.motion.TakeUp:
    """How the slack of the machine's axes is taken up."""
    machine = process.machine
    return gcode.motion.TakeUp(
        machine.backlash,
        _steps(machine),
        _SWALLOWED_FWHM * optics.fwhm(process.spot),
        min(machine.rapid_speed),
    )


def _steps(machine: Machine) -> Point:
    """mm, that the controller rounds vertices to; 0: it does not."""
    steps = convert.vertex_steps(machine)
    return (0.0, 0.0) if steps is None else (1 / steps[0], 1 / steps[1])


def _shortest_part(process: Process) -> float:
    """mm, least part of a move that is cut for a late laser: a shorter one is lost in steps."""
    return max(*_steps(process.machine), _LATE_PART_FWHM * optics.fwhm(process.spot))


def from_zero(path: Toolpath, machine: Machine, start: Point = (0.0, 0.0)) -> Toolpath:
    """The path with a travel from the position of the head, by default the work zero."""
    return Toolpath(
        np.vstack([[start], path.xy]),
        np.concatenate([[0.0], path.power]),
        np.concatenate([[min(machine.rapid_speed)], path.speed]),
    )


def moves_from_zero(moves: gcode.Moves, machine: Machine) -> gcode.Moves:
    """The moves after one from the work zero, where the head is when the program starts."""
    return approached(moves, min(machine.rapid_speed))


def moves_of_part(moves: gcode.Moves, first: int, machine: Machine) -> gcode.Moves:
    """Rows of a program from `first` on, after one move that brings the head there by itself.

    That is one from the work zero if the program begins with them, or else a rest where they begin.
    """
    if first == 0:
        return moves_from_zero(moves, machine)
    kind = np.array([gcode.Kind.DWELL], np.int8)
    return gcode.Moves(moves.xy[[0, 0]], np.zeros(1), np.ones(1), kind, z=moves.z[[0, 0]]) + moves


def export(path: Toolpath, process: Process, passes: int = 1) -> gcode.Moves:
    """The moves to command so that the machine exposes `path`, in `passes` passes.

    Moves are split where the head speeds up or brakes, and their powers are those that give every part its
    energy as executed. If head or laser lag, they are commanded early.
    """
    return early(with_energies(_split(path, process, passes), process), process)


def with_energies(moves: gcode.Moves, process: Process, *, unbroken: bool = False) -> gcode.Moves:
    """The moves with powers so that each, executed from rest, delivers its commanded energy.

    unbroken: as in `gcode.motion.with_energies`.
    """
    board, after = convert.board(process), rested(moves, process.machine)
    due = gcode.motion.energies_due(after, board.order)
    longest = longest_piece(process)
    controller = convert.controller(process.machine)
    done = gcode.motion.with_energies(after, due, controller, board, longest=longest, unbroken=unbroken)
    return replace(moves, power=done.power[RESTS:])


def prepared(path: Toolpath, process: Process) -> Toolpath:
    """The path with its moves split where the head speeds up or brakes, as `export` splits them."""
    return convert.from_moves(_split(path, process), process.machine)


def _split(path: Toolpath, process: Process, passes: int = 1) -> gcode.Moves:
    machine = process.machine
    moves = gcode.motion.prepared(
        joined(path, process, passes), convert.controller(machine),
        shortest=_CORRECTED_PIECE_FWHM * optics.fwhm(process.spot),
        segment_rate=convert.segment_rate(machine), order=process.resin.order,
    )  # fmt: skip
    return followed(moves, process)


def joined(path: Toolpath, process: Process, passes: int = 1) -> gcode.Moves:
    """The moves of a path, without any that the controller would leave out as too short."""
    controller = convert.controller(process.machine)
    moves = convert.to_moves(path, process.machine, passes, process.resin.order)
    if controller.shortest_move > 0:
        moves = gcode.without_short(moves, controller.shortest_move, process.resin.order)
    return moves
