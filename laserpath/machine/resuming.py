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

Layers: a program of a part moves Z alone, dark, between them, and each begins from rest. So the rest is that
of the layer in which the next light is, found as above, and all later layers as they are. Before it comes
what the program did in the dark before that layer: the lift, the wiper, the wait for the resin. It begins
where Z is highest, since what is cured must not be pressed onto the floor of a vat. Z goes there first,
alone, and as fast as the program lifts it, which may be slow so that the part is not torn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError, figure, one_line
from laserpath.base.quantities import place as written
from laserpath.machine.gate import verified, verified_by_pieces
from laserpath.machine.program import EYE_SAFETY, MachineProgram, execute, moves_of_part
from laserpath.machine.rest import rested
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
SAME_Z = 0.002
"""mm, by which the Z of a place may be off: programs and displays give 0.001."""
_AT_ONCE = 300_000
"""Moves of a program that are executed at once: more take more memory."""
_WAIT = 0.1
"""s, from which a wait before the first light is one for the machine or its resin, not for the controller."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Where a program ended: a place (x, y) mm, the last line executed, or a time, s from its start.

    z: mm, of the place; None: the only one at which the program passes it.
    """

    place: Point | None = None
    line: int | None = None
    time: float | None = None
    z: float | None = None

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.place, self.line, self.time)) != 1:
            raise InputError("a program ended at a place, after a line or at a time: give one of them")
        if self.z is not None and self.place is None:
            raise InputError(f"z {self.z:g} mm is of a place: give x and y with it")
        values = np.array([v for v in (*(self.place or ()), self.line, self.time, self.z) if v is not None])
        if not np.isfinite(values).all():
            raise InputError(f"the program's end is {values.tolist()}, but must be finite")


@dataclass(frozen=True, slots=True)
class LayerReached:
    """The layer in which a program goes on. number: from 1, of `count`.  z: mm.

    way: what is done before it, dark, from where Z is highest; no moves: nothing.
    climb: mm/s, at which the program goes to there; None: in a rapid.
    """

    number: int
    count: int
    z: float
    way: gcode.Moves
    climb: float | None = None

    __repr__ = one_line


@dataclass(frozen=True, slots=True)
class Resumption:
    """The rest of a program. cut: u of the whole at which that had ended.

    begin: u from which there is light again.  start: u at which the head starts, dark.  twice: mm of lines
    between `begin` and `cut`, which are exposed twice.  ends: (2, 2) mm, and times: s, of that piece.
    line: of the whole's text, in which the light begins.  left: share of the whole's light still to come.
    off: the most by which its light differs from the whole's, in that of a FWHM.
    layer: where it goes on, of a program in layers.
    program: of the rest of that layer, or of all.  text: G-code of all that is left, verified.
    """

    cut: float
    begin: float
    start: float
    twice: float
    ends: Floats
    times: tuple[float, float]
    line: int
    left: float
    layer: LayerReached | None = None
    off: float = 0.0
    program: MachineProgram = None  # type: ignore[assignment]  # None: while it is made
    text: str = ""

    __repr__ = one_line

    def sentences(self, fwhm: float) -> tuple[str, ...]:
        """What was decided. fwhm: mm."""
        begin, end = (written(xy, fwhm) for xy in self.ends)
        twice = f"{figure(1000 * self.twice, 3)} um of lines are exposed twice, from {begin} to {end} mm"
        differs = f"Up to the end of that move the dose differs by up to about {100 * self.off:.0f} %."
        return (
            f"The program ended {figure(self.times[1], 4)} s after its start, at {end} mm; "
            f"{figure(100 * self.left, 3)} % of its light is still to come.",
            *self._of_layer(),
            f"It goes on in line {self.line}; {twice if self.twice else 'nothing is exposed twice'}.",
            f"The work zero must be the one that the program had{', that of Z too' if self.layer else ''}.",
            *([differs] if self.off > _SAME else []),
        )

    def _of_layer(self) -> Iterator[str]:
        """How it comes to its layer."""
        layer = self.layer
        if layer is None:
            return
        heights = [figure(z, 5) for z in dict.fromkeys(layer.way.z.tolist())]
        several = layer.count > 1
        where = f"in layer {layer.number} of {layer.count}" if several else f"at Z {figure(layer.z, 5)} mm"
        yield (
            f"It goes on {where}, after what the program does before that{' layer' * several}, dark: Z goes "
            f"to {' and to '.join(heights)} mm."
        )


def resume(
    program: gcode.Program, process: Process, ended: Ended, name: str = "", head: Sequence[str] = ()
) -> Resumption:
    """The rest of a program, as it was read, after the place where it ended.

    name: of the program.  head: comments to keep, such as those of its own head.
    Raises InputError if the place is not on its path, or on it several times, or nothing is left to expose.
    """
    moves, machine, fwhm = program.moves, process.machine, optics.fwhm(process.spot)
    whole = _Interrupted(program, process, layer_rows(moves))
    cut = _cut(whole, ended, fwhm)
    light, lit = moves.power * moves.duration, np.flatnonzero(moves.on)
    rest = moves.span(cut, len(moves))
    left = float((rest.power * rest.duration).sum() / light.sum()) if light.sum() else 0.0
    if left <= 0:
        raise InputError("nothing is left to expose after that: the last light is before it")
    number = whole.number_of(int(lit[np.searchsorted(lit, int(cut))]))
    timeline, layer, end = whole.timeline(number), whole.reached(number), int(whole.rows[number + 1])
    # Of a layer that has had no light, all of it is left.
    to = cut if layer is None else max(cut, float(whole.first_lit[number]))
    title = f"laserpath resume: the rest of {name or 'a program'}"
    best: Resumption | None = None
    for begin in _begins(moves, timeline, to, fwhm):
        overlap, row = moves.span(begin, to), min(int(begin), len(moves) - 1)
        made = Resumption(
            cut, begin, _start(moves, begin, machine, fwhm), float(overlap.length[overlap.on].sum()),
            np.stack([moves.span(u, u).xy[0] for u in (begin, cut)]),
            (timeline.time_at(begin), timeline.time_at(cut)), int(program.line[row]), left, layer,
        )  # fmt: skip
        if best and best.off <= _LONG and made.twice > _LONGEST * fwhm:
            break  # to expose a long move twice is worse than to expose its end a little differently
        header = (title, *EYE_SAFETY, *made.sentences(fwhm), *head)
        done = MachineProgram.of_moves(_rest(moves, made, end), process, header, raised=True)
        made = replace(made, program=done, text=done.text)
        made = replace(made, off=timeline.off(made, process))
        best = made if best is None or made.off < best.off else best
        if made.off <= _SAME:
            break
    assert best is not None
    if best.layer is None:
        return best
    return replace(best, text=_text(whole, number, best, (title, *EYE_SAFETY, *best.sentences(fwhm), *head)))


def _rest(moves: gcode.Moves, made: Resumption, end: int) -> gcode.Moves:
    """The moves of the rest up to a row: dark up to its begin."""
    lead = moves.span(made.start, made.begin)
    dark = replace(lead, power=np.zeros(len(lead)), comments=())
    return gcode.concat([dark, moves.span(made.begin, end)])


def _text(whole: _Interrupted, number: int, made: Resumption, header: Sequence[str]) -> str:
    """The program of a layer from where it goes on, after the way to it, and of all layers after it."""
    moves, machine, spot = whole.program.moves, whole.process.machine, whole.process.spot
    layer, climbing = made.layer, np.flatnonzero(climbs(moves))
    assert layer is not None
    # Pieces are dark at both ends: they meet where Z has moved last before a layer.
    meets = climbing[np.searchsorted(climbing, whole.first_lit[number + 1 :]) - 1] + 1
    ends = [*meets.tolist(), len(moves)]
    way = rested(layer.way, machine)
    first = gcode.concat([way, rested(_rest(moves, made, ends[0]), machine)], min(machine.rapid_speed))
    pieces = (first, *(moves.span(*both) for both in pairwise(ends)))
    follows, climb = moves.dynamic[moves.on], True if layer.climb is None else layer.climb
    if follows.all() or not follows.any():
        return verified_by_pieces(pieces, machine, header, spot=spot, raised=True, at_height=climb)
    # Where another tool's program changes the mode of power between layers, that is written with both.
    return verified(gcode.concat(pieces), machine, header, spot=spot, raised=True, at_height=climb)[0]


# Layers


@dataclass(frozen=True, eq=False)
class _Interrupted:
    """A program and its layers. rows: of `layer_rows`.

    Layers are executed some at a time, up to `_AT_ONCE` moves, each group from the rest with which it begins.
    """

    program: gcode.Program
    process: Process
    rows: Indices

    def number_of(self, row: int) -> int:
        """The layer of a row, from 0."""
        return int(np.searchsorted(self.rows, row, side="right")) - 1

    def timeline(self, number: int) -> _Timeline:
        """The execution of a layer."""
        first, last = self.rows[number : number + 2].tolist()
        return self._group_of(first).between(first, last)

    def time_at(self, u: float) -> float:
        """s, from the start of the program to a place."""
        return self._group_of(u).time_at(u)

    def place_at(self, time: float) -> float:
        """The place at a time, s. Raises InputError beyond the end."""
        most = float(self._begins[-1])
        if not 0 <= time <= most:
            raise InputError(f"{figure(time, 4)} s is not within the program's {figure(most, 4)} s")
        return self._group(int(np.searchsorted(self._begins[1:-1], time, side="right"))).place_at(time)

    def reached(self, number: int) -> LayerReached | None:
        """What there is to say of a layer and to do before it; None: the program is flat, with no wait."""
        first, last = self.rows[number : number + 2].tolist()
        moves = self.program.moves.span(first, last)
        begin = int(np.argmax(moves.on))
        dark = moves.span(0, begin)
        if len(self.rows) == 2 and not climbs(dark).any() and not (dark.dwell >= _WAIT).any():
            return None
        end = _before_rest(dark)
        top = min(int(np.argmax(dark.z)), end)
        way, up = dark.span(top, end), top > 0 and dark.kind[top - 1] == gcode.Kind.LINE
        climb = float(dark.speed[top - 1]) if up and dark.z[top] else None
        way = replace(way, comments=()) if first == 0 else way  # the first ones are the program's head
        heights = self.program.moves.z[self.first_lit + 1]
        own, each = (np.unique(some).size for some in (heights[: number + 1], heights))
        return LayerReached(own, each, float(heights[number]), way, climb)

    @cached_property
    def first_lit(self) -> Indices:
        """(L,) the first lit row of each layer."""
        lit = np.flatnonzero(self.program.moves.on)
        return lit[np.searchsorted(lit, self.rows[:-1])]

    @cached_property
    def _groups(self) -> Indices:
        """(G+1,) rows at which groups of layers begin, and the end."""
        begins = [0]
        for row, after in pairwise(self.rows.tolist()):
            if after - begins[-1] > _AT_ONCE and row > begins[-1]:
                begins.append(row)
        return np.array([*begins, self.rows[-1]])

    @cached_property
    def _begins(self) -> Floats:
        """(G+1,) s, from the start of the program to each group, and to the end."""
        count = len(self._groups) - 1
        lasting = [self._first.time[-1], *(self._executed(k).time[-1] for k in range(1, count))]
        return _summed(np.array(lasting))

    @cached_property
    def _first(self) -> _Timeline:
        return self._executed(0)

    def _group_of(self, u: float) -> _Timeline:
        return self._group(int(np.searchsorted(self._groups[1:-1], u, side="right")))

    def _group(self, number: int) -> _Timeline:
        if number == 0:
            return self._first
        found = self._executed(number)
        return replace(found, time=self._begins[number] + found.time)

    def _executed(self, number: int) -> _Timeline:
        """A group, its time from its own begin."""
        first, last = self._groups[number : number + 2].tolist()
        characters = self.program.characters[first:last]
        return _Timeline.of(self.program.moves.span(first, last), characters, first, self.process)


def _before_rest(dark: gcode.Moves) -> int:
    """The row of dark moves before a layer at which the travel to its begin starts, or their number.

    What comes after it is the rest before the layer (`rest`), which the rest of a program has of its own.
    """
    across = np.flatnonzero(dark.rapid & (np.diff(dark.xy, axis=0) != 0).any(axis=1))
    if not across.size:
        return len(dark)
    last, bare = int(across[-1]), dark.still & (dark.dwell < _WAIT)
    rests = last + 1 == len(dark) or bool(bare[last + 1])
    later = climbs(dark)[last:].any() or (dark.dwell[last:] >= _WAIT).any()
    return last if rests and not later else len(dark)


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
    def of(cls, moves: gcode.Moves, characters: Indices, first: int, process: Process) -> _Timeline:
        """That of moves from a row `first` on: 0, so that the head comes from the work zero, or a rest."""
        joined = moves_of_part(moves, first, process.machine)
        run = execute(joined, np.append(0, characters), process)
        still = joined.still[run.row]
        # Within a row the way is passed by length, a dwell by time.
        length = _lengths(run)
        passed = _summed(np.where(still, run.duration, length))
        begin = np.searchsorted(run.row, run.row)
        last = np.searchsorted(run.row, run.row, side="right")
        whole = np.maximum(passed[last] - passed[begin], np.finfo(float).tiny)
        share = np.minimum((passed[1:] - passed[begin]) / whole, 1.0)
        u = first + np.maximum.accumulate(np.append(0.0, np.maximum(run.row - 1 + share, 0.0)))
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

    def between(self, first: int, last: int) -> _Timeline:
        """Of the rows from one to another."""
        some = slice(
            max(int(np.searchsorted(self.u, first, side="right")) - 1, 0),
            int(np.searchsorted(self.u, last, side="right")),
        )
        return _Timeline(self.time[some], self.u[some], self.way[some], self.light[some])

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


def _cut(whole: _Interrupted, ended: Ended, fwhm: float) -> float:
    """The place at which a program ended."""
    program = whole.program
    if ended.line is not None:
        if not 0 <= ended.line <= program.lines:
            raise InputError(f"line {ended.line} is not among the {program.lines} lines of the program")
        return float(np.searchsorted(program.line, ended.line, side="right"))
    if ended.time is not None:
        return whole.place_at(ended.time)
    return _of_place(whole, ended, fwhm)


def _of_place(whole: _Interrupted, ended: Ended, fwhm: float) -> float:
    """The place on the only piece of path near a place; one with light comes before a dark one."""
    assert ended.place is not None
    program, place = whole.program, ended.place
    chords, row = program.moves.cut(_ARC)
    away, share = _distances(chords, ended)
    near = np.flatnonzero(away <= _NEAR_FWHM * fwhm)
    near = near[chords.on[near]] if chords.on[near].any() else near
    said = written(place, fwhm) + ("" if ended.z is None else f" mm and Z {ended.z:g}")
    if not near.size:
        nearest = float(away.min())
        raise InputError(
            f"the program's path is nowhere within {figure(_NEAR_FWHM * fwhm)} mm of {said} mm, "
            + ("and never at that Z" if nearest == np.inf else f"the nearest is {figure(nearest)} mm away")
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
        raise InputError(_several(whole, found, said, ended))
    return found[0]


def _several(whole: _Interrupted, found: Sequence[float], said: str, ended: Ended) -> str:
    """What is asked if the path passes a place more than once. found: u of each time."""
    program = whole.program
    rows = [min(int(one), len(program.line) - 1) for one in found]
    heights = list(dict.fromkeys(program.moves.z[[row + 1 for row in rows]].tolist()))
    if ended.z is None and len(heights) > 1:
        some = ", ".join(f"{z:.5g}" for z in heights[:_LISTED]) + " …" * (len(heights) > _LISTED)
        x, y = ended.place or (0.0, 0.0)
        return (
            f"the program passes {said} mm at {len(heights)} heights, Z {some} mm: say Z too, as in "
            f"{x:g},{y:g},{heights[0]:.5g}mm, or after which line, or at what time, it ended"
        )
    times = (whole.time_at(one) for one in found[:_LISTED])
    some = ", ".join(
        f"in line {program.line[row]} ({figure(time, 4)} s)" for row, time in zip(rows, times, strict=False)
    )
    more = f" and {len(found) - _LISTED} more times" if len(found) > _LISTED else ""
    return (
        f"the program passes {said} mm {len(found)} times, {some}{more}: say after which line, or at what "
        "time, it ended"
    )


def _distances(chords: gcode.Moves, ended: Ended) -> tuple[Floats, Floats]:
    """((N,) mm from each straight move to a place, (N,) the share of its length at which it is nearest).

    Those that are not at its Z, if that is given, are infinitely far away.
    """
    high = ended.z is not None
    place = np.array([*(ended.place or ()), *([ended.z] if high else [])], dtype=np.float64)
    vertices = chords.xyz[:, : len(place)]
    start, along = vertices[:-1], np.diff(vertices, axis=0)
    square = (along**2).sum(axis=1)
    share = np.where(square > 0, ((place - start) * along).sum(axis=1) / np.where(square > 0, square, 1), 0.0)
    share = np.clip(share, 0, 1)
    off = start + share[:, None] * along - place
    away = np.hypot(*off[:, :2].T)
    return np.where(np.abs(off[:, 2]) > SAME_Z, np.inf, away) if high else away, share


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
    return _back(moves, begin, lead, ~moves.still & ~climbs(moves))


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


def layer_rows(moves: gcode.Moves) -> Indices:
    """(L+1,) rows at which layers begin, and the end: after the last light before Z moves alone, dark."""
    lit = np.flatnonzero(moves.on)
    before = np.unique(np.searchsorted(lit, np.flatnonzero(climbs(moves))))
    begins = lit[before[(before > 0) & (before < len(lit))] - 1] + 1
    return np.concatenate([[0], begins, [len(moves)]])


def climbs(moves: gcode.Moves) -> Bools:
    """(N,) whether Z moves alone, dark."""
    flat = (np.diff(moves.xy, axis=0) == 0).all(axis=1)
    return flat & (np.diff(moves.z) != 0) & ~moves.on
