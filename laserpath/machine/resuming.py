"""The rest of a program that was interrupted, as a program of its own.

A place of the path is a number u: the row of the moves + the share of its length that is passed. The rest
begins an overlap before the place u at which the program ended, so that no gap is left, and goes on to the
end with the powers and speeds of the whole.

Speeds: a head that started there from rest would be slower than the whole was, and where the power does not
follow the speed it would expose more. So the head starts farther back, and goes along the same path in the
dark. After a way s its speed is at least √(2as), whatever it was before, up to that of the whole: a way of
v²/(2a) is enough, and the lead is twice that. At a wait of the whole the head rests anyway, and the lead
begins there. What is exposed is compared with the whole as executed, and the overlap is made longer if they
differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError, figure, one_line
from laserpath.base.quantities import place as written
from laserpath.machine.program import EYE_SAFETY, MachineProgram, execute, moves_from_zero
from laserpath.physics import optics
from laserpath.types import Machine, Point, Process

_NEAR_FWHM = 0.5
"""Distance from a line up to which a place is on it. A larger one finds more lines at once."""
_SNAP_FWHM = 0.25
"""Shortest piece of a move that is cut off at the overlap's begin."""
_LEAD = 2.0
"""Length of the lead, in v²/(2a)."""
_LONGEST = 5.0
"""Length of an overlap, in FWHM, that is preferred to a dose that differs."""
_TRIED = 6
"""Ends of executed pieces that are tried; each is a program to be written and executed."""
_SAME = 0.03
"""Light by which a rest may differ from the whole, in that of a FWHM: 0.06 was 4 % of the dose. A smaller
value makes overlaps longer."""
_LONG = 0.2
"""The same, up to which no more than `_LONGEST` is exposed twice."""
_LISTED = 4
_ARC = 0.002
"""mm, of chords from their arc, for distances."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Where a program ended: a place (x, y) mm, the last line executed, or a time, s from its start."""

    place: Point | None = None
    line: int | None = None
    time: float | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.place, self.line, self.time)) != 1:
            raise InputError("a program ended at a place, after a line or at a time: give one of them")
        values = np.array([v for v in (*(self.place or ()), self.line, self.time) if v is not None])
        if not np.isfinite(values).all():
            raise InputError(f"the program's end is {values.tolist()}, but must be finite")


@dataclass(frozen=True, slots=True)
class Resumption:
    """The rest of a program. cut: u of the whole at which that had ended.

    begin: u from which there is light again.  start: u at which the head starts, dark.  twice: mm of lines
    between `begin` and `cut`, which are exposed twice.  ends: (2, 2) mm, and times: s, of that piece.
    line: of the whole's text, in which the light begins.  left: share of the whole's light still to come.
    off: the most by which its light differs from the whole's, in that of a FWHM.
    program: of the rest, verified.
    """

    cut: float
    begin: float
    start: float
    twice: float
    ends: Floats
    times: tuple[float, float]
    line: int
    left: float
    off: float = 0.0
    program: MachineProgram = None  # type: ignore[assignment]  # None: while it is made

    __repr__ = one_line

    def sentences(self, fwhm: float) -> tuple[str, ...]:
        """What was decided. fwhm: mm."""
        begin, end = (written(xy, fwhm) for xy in self.ends)
        twice = f"{figure(1000 * self.twice, 3)} um of lines are exposed twice, from {begin} to {end} mm"
        differs = f"Up to the end of that move the dose differs by up to about {100 * self.off:.0f} %."
        return (
            f"The program ended {figure(self.times[1], 4)} s after its start, at {end} mm; "
            f"{figure(100 * self.left, 3)} % of its light is still to come.",
            f"It goes on in line {self.line}; {twice if self.twice else 'nothing is exposed twice'}.",
            "The work zero must be the one that the program had.",
            *([differs] if self.off > _SAME else []),
        )


def resume(
    program: gcode.Program, process: Process, ended: Ended, name: str = "", head: Sequence[str] = ()
) -> Resumption:
    """The rest of a program, as it was read, after the place where it ended.

    name: of the program.  head: comments to keep, such as those of its own head.
    Raises InputError if the place is not on its path, or on it several times, or nothing is left to expose.
    """
    moves, machine, fwhm = program.moves, process.machine, optics.fwhm(process.spot)
    whole = _Timeline.of(program, process)
    cut = _cut(program, whole, ended, fwhm)
    light = moves.power * moves.duration
    rest = moves.span(cut, len(moves))
    left = float((rest.power * rest.duration).sum() / light.sum()) if light.sum() else 0.0
    if left <= 0:
        raise InputError("nothing is left to expose after that: the last light is before it")
    title = f"laserpath resume: the rest of {name or 'a program'}"
    best: Resumption | None = None
    for begin in _begins(moves, whole, cut, fwhm):
        overlap, row = moves.span(begin, cut), min(int(begin), len(moves) - 1)
        made = Resumption(
            cut, begin, _start(moves, begin, machine, fwhm), float(overlap.length[overlap.on].sum()),
            overlap.xy[[0, -1]], (whole.time_at(begin), whole.time_at(cut)), int(program.line[row]), left,
        )  # fmt: skip
        if best and best.off <= _LONG and made.twice > _LONGEST * fwhm:
            break  # to expose a long move twice is worse than to expose its end a little differently
        header = (title, *EYE_SAFETY, *made.sentences(fwhm), *head)
        made = replace(
            made, program=MachineProgram.of_moves(_rest(moves, made), process, header, raised=True)
        )
        made = replace(made, off=whole.off(made, process))
        best = made if best is None or made.off < best.off else best
        if made.off <= _SAME:
            break
    assert best is not None
    return best


def _rest(moves: gcode.Moves, made: Resumption) -> gcode.Moves:
    """The moves of the rest: dark up to its begin."""
    lead = moves.span(made.start, made.begin)
    dark = replace(lead, power=np.zeros(len(lead)), comments=())
    return gcode.concat([dark, moves.span(made.begin, len(moves))])


# Where it ended


@dataclass(frozen=True, slots=True)
class _Timeline:
    """An execution in order: (P+1,) at the ends of its pieces. time: s.  u: places.

    way: mm, and light: ∫ light^N dt, s, up to there, of N photons.
    """

    time: Floats
    u: Floats
    way: Floats
    light: Floats

    @classmethod
    def of(cls, program: gcode.Program, process: Process) -> _Timeline:
        """That of a program from the work zero."""
        joined = moves_from_zero(program.moves, process.machine)
        run = execute(joined, np.append(0, program.characters), process)
        still = joined.still[run.row]
        # Within a row the way is passed by length, a dwell by time.
        length = _lengths(run)
        passed = _summed(np.where(still, run.duration, length))
        first = np.searchsorted(run.row, run.row)
        last = np.searchsorted(run.row, run.row, side="right")
        whole = np.maximum(passed[last] - passed[first], np.finfo(float).tiny)
        share = np.minimum((passed[1:] - passed[first]) / whole, 1.0)
        u = np.maximum.accumulate(np.append(0.0, np.maximum(run.row - 1 + share, 0.0)))
        return cls(_summed(run.duration), u, _summed(length), _light(run, process))

    def off(self, made: Resumption, process: Process) -> float:
        """The most by which the light still to come differs in a rest, in that of a FWHM.

        Places of both are compared by the way that is left.
        """
        run = made.program.run
        whole = _still_to_come(self.way, self.light)
        rest = _still_to_come(_summed(_lengths(run)), _light(run, process))
        left = float(np.interp(made.begin, self.u, self.way[-1] - self.way))
        at = np.concatenate([rest[0], whole[0], [left]])
        # Farther from the end than the begin, where the rest is to be dark, none is to be left.
        off = np.abs(np.interp(at, *rest) - np.interp(np.minimum(at, left), *whole)).max()
        twice = float(np.diff(np.interp([left - made.twice, left], *whole))[0])
        return float(off / twice * made.twice / optics.fwhm(process.spot)) if twice > 0 else 0.0

    def time_at(self, u: float) -> float:
        """s, from the start of the program to a place."""
        return float(np.interp(u, self.u, self.time))

    def place_at(self, time: float) -> float:
        """The place at a time, s."""
        return float(np.interp(time, self.time, self.u))


def _lengths(run: gcode.motion.Executed) -> Floats:
    """(P,) mm, of the pieces."""
    return np.linalg.norm(np.diff(run.xyz, axis=0), axis=1)


def _light(run: gcode.motion.Executed, process: Process) -> Floats:
    """(P+1,) s, ∫ light^N dt up to each end of a piece."""
    return _summed(run.light**process.spot.photons * run.duration)


def _still_to_come(way: Floats, light: Floats) -> tuple[Floats, Floats]:
    """The way and the light still to come, rising, of those up to each end of a piece."""
    return (way[-1] - way)[::-1], (light[-1] - light)[::-1]


def _summed(values: Floats) -> Floats:
    """(P+1,) the sums up to each of P values, 0 first."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _cut(program: gcode.Program, whole: _Timeline, ended: Ended, fwhm: float) -> float:
    """The place at which a program ended."""
    if ended.line is not None:
        if not 0 <= ended.line <= program.lines:
            raise InputError(f"line {ended.line} is not among the {program.lines} lines of the program")
        return float(np.searchsorted(program.line, ended.line, side="right"))
    if ended.time is not None:
        most = float(whole.time[-1])
        if not 0 <= ended.time <= most:
            raise InputError(f"{figure(ended.time, 4)} s is not within the program's {figure(most, 4)} s")
        return whole.place_at(ended.time)
    assert ended.place is not None
    return _of_place(program, whole, ended.place, fwhm)


def _of_place(program: gcode.Program, whole: _Timeline, place: Point, fwhm: float) -> float:
    """The place on the only piece of path near a place; one with light comes before a dark one."""
    chords, row = program.moves.cut(_ARC)
    away, share = _distances(chords, place)
    near = np.flatnonzero(away <= _NEAR_FWHM * fwhm)
    near = near[chords.on[near]] if chords.on[near].any() else near
    if not near.size:
        raise InputError(
            f"the program's path is nowhere within {figure(_NEAR_FWHM * fwhm)} mm of "
            f"{written(place, fwhm)} mm, the nearest is {figure(float(away.min()))} mm away"
        )
    # Chords of one row share its length.
    length = chords.length
    before = _summed(length)
    first, count = np.searchsorted(row, row), np.bincount(row)[row]
    of_row = np.maximum(np.where(count > 1, before[first + count] - before[first], length), 1e-300)
    u = row + (before[:-1] + share * length - before[first]) / of_row
    runs = _runs(near, before, share, length, fwhm)
    found = [float(u[some[np.argmin(away[some])]]) for some in runs]
    if len(found) > 1:
        some = ", ".join(
            f"in line {program.line[min(int(one), len(program.line) - 1)]} "
            f"({figure(whole.time_at(one), 4)} s)" for one in found[:_LISTED]
        )  # fmt: skip
        more = f" and {len(found) - _LISTED} more times" if len(found) > _LISTED else ""
        raise InputError(
            f"the program passes {written(place, fwhm)} mm {len(found)} times, {some}{more}: say after which "
            "line, or at what time, it ended"
        )
    return found[0]


def _distances(chords: gcode.Moves, place: Point) -> tuple[Floats, Floats]:
    """((N,) mm from each straight move to a place, (N,) the share of its length at which it is nearest)."""
    start, along = chords.xy[:-1], np.diff(chords.xy, axis=0)
    square = (along**2).sum(axis=1)
    share = np.where(square > 0, ((place - start) * along).sum(axis=1) / np.where(square > 0, square, 1), 0.0)
    share = np.clip(share, 0, 1)
    return np.hypot(*(start + share[:, None] * along - place).T), share


def _runs(near: Indices, before: Floats, share: Floats, length: Floats, fwhm: float) -> list[Indices]:
    """The moves of `near` in runs that are nearer to each other along the path than two FWHM."""
    at = before[near] + share[near] * length[near]
    breaks = np.flatnonzero(np.diff(at) > 2 * fwhm) + 1
    return np.split(near, breaks)


# Where it goes on


def _begins(moves: gcode.Moves, whole: _Timeline, cut: float, fwhm: float) -> Iterator[float]:
    """Places at which the overlap may begin, a FWHM of lit lines or more before the cut.

    A move that is cut may be lit in another way: Marlin's power on a ramp is that of a whole block, GRBL's
    that of a segment of some ms. So places follow at which pieces of the whole end as executed, and at last
    the begin of the move, where nothing is cut.
    """
    lit = moves.on & ~moves.still
    nearest, farthest = (_back(moves, cut, ways * fwhm, lit) for ways in (1.0, _LONGEST))
    row = int(nearest)
    ends = whole.u[(whole.u < nearest) & (whole.u >= max(farthest, row))]
    for begin in (nearest, *np.unique(ends)[::-1][:_TRIED].tolist()):
        if begin > row and (begin - row) * float(moves.length[row]) >= _SNAP_FWHM * fwhm:
            yield begin
    yield float(row)


def _start(moves: gcode.Moves, begin: float, machine: Machine, fwhm: float) -> float:
    """The place at which the head starts: far enough before the light to have its speed, or at a rest."""
    speed = float(np.where(moves.rapid, min(machine.rapid_speed), moves.speed)[: math.ceil(begin) + 1].max())
    lead = _LEAD * speed**2 / (2 * min(machine.acceleration)) + speed * machine.settling + fwhm
    return _back(moves, begin, lead, ~moves.still)


def _back(moves: gcode.Moves, u: float, way: float, allowed: Bools) -> float:
    """The place at a length before a place, but not beyond the first row that is not allowed."""
    row, share = int(u), u - int(u)
    if share == 0:
        row, share = row - 1, 1.0
    length = moves.length
    while row >= 0 and allowed[row]:
        here = share * float(length[row])
        if here >= way:
            return row + share - way / float(length[row]) if way else row + share
        way -= here
        row, share = row - 1, 1.0
    return float(row + 1) if share == 1.0 else u
