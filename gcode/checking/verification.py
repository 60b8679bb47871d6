"""Proof that a program is dark wherever it must be, before it is put in place: the gate of our own programs.

`check` tells a user what may be wrong with any tool's file. `verify` is for a program that this package has
written: it is read back as its controller would read it, and whatever is not certain is refused, also what
another tool's file may have on purpose. Nothing that a dialect says can pass it: the words are what counts.

    before      the laser is turned off, or a power stated, before anything moves
    travels     no G0 is lit, and none names a power above 0
    standstill  no dwell and no stop is lit, unless `asked` has that dwell; no line lights a head at rest, nor
                one that only moves in Z
    end         the laser is dark and disarmed before M2 or M30, its outputs are 0, and nothing follows
    power       within 0…s_max, lit moves at least `least`
    words       no word outside the dialect's own lines is passed over
    lengths     no line is longer than the controller takes
    moves       with `asked`: from the first lit move to the last, what is read back is what was asked for

What is read back and what was asked for are compared from the first lit move to the last: every move with its
kind, end, power, speed, and whether the power follows the speed; and every dwell. The moves that were asked
for are rounded as the writer rounds them. Dark moves before and after, such as a way to a parking place in a
footer, are left alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcode.dialects.fixed import PYTHON, check_fixed, may_be_linuxcnc
from gcode.dialects.record import Dialect, size
from gcode.errors import GcodeError, figure
from gcode.move import Bools, Floats, Kind, Moves
from gcode.reading import read
from gcode.reading.interpreter import WAITS
from gcode.reading.program import Program
from gcode.reading.words import patterns_of
from gcode.writing.layout import LineLayout, lay_out, with_approach

Problem = tuple[int, str]

_CLOSE = 1e-9
"""Relative difference that counts as none: both sides are sums of the same decimal numbers."""


def verify(
    text: str,
    dialect: Dialect,
    s_max: float | None = None,
    *,
    asked: Moves | None = None,
    least: float = 0.0,
    rapid_speed: float = 100.0,
    pauses: bool = False,
) -> Program:
    """The program, read back, if it is certain to be dark in travels, at rest, before and after; see above.

    s_max, rapid_speed: as for `read`.  asked: the moves that it was written from, with chords for arcs if the
    dialect has none; None: they are not known, and no lit dwell is allowed.
    least: the lowest power of a lit move, fraction of full.
    pauses: whether it may wait for the user, which only a program may that is dark throughout.
    Raises GcodeError with the first line that is wrong, and for a dialect whose fixed lines may light.
    """
    check_fixed(dialect)
    program = read(text, dialect, s_max, rapid_speed=rapid_speed)
    problems = [
        *_lit(program, dwells=asked is not None and bool((asked.still & asked.on).any())),
        *_end(program, dialect), *_powers(program, least), *_words(program, pauses=pauses),
        *_python(text, dialect), *_lengths(text, dialect),
    ]  # fmt: skip
    if problems:
        line, sentence = min(problems)
        raise GcodeError(f"{sentence}, at {_shown(text, line)}", line)
    if asked is not None:
        _compare(program, asked, dialect, dialect.power_max if s_max is None else s_max)
    return program


def _lit(program: Program, *, dwells: bool) -> Iterator[Problem]:
    """Light in travels and at standstill."""
    moves = program.moves
    if not program.dark_first:
        yield 1, "nothing turns the laser off before the first motion"
    if program.lit_rapids.size:
        yield int(program.line[program.lit_rapids[0]]), "the laser is on in a rapid"
    still = np.flatnonzero(moves.still & moves.on & ~(dwells & (moves.dwell > 0)))
    if still.size:
        yield int(program.line[still[0]]), "the laser is on at a standstill"
    flat = (moves.xy[1:] == moves.xy[:-1]).all(axis=1)
    climbs = np.flatnonzero((moves.kind == Kind.LINE) & moves.on & flat & (np.diff(moves.z) != 0))
    if climbs.size:
        yield int(program.line[climbs[0]]), "the laser is on while only Z moves"
    if program.lit_rests:
        yield program.lit_rests[0], "the laser is turned on where the head rests"


def _end(program: Program, dialect: Dialect) -> Iterator[Problem]:
    """Light, or an armed laser, at the end. Klipper's output is its pin alone, and nothing arms it."""
    last, patterns = program.lines, patterns_of(dialect)
    if program.power_at_end > 0:
        yield last, f"the laser is on at the end, at power {figure(program.power_at_end)}"
    switched = patterns.gated or patterns.letter is not None
    if switched and (program.armed_at_end or program.armed_at_stop):
        yield last, "the laser is still armed at the end"
    if program.power_kept > 0:
        yield last, f"the output keeps the power {figure(program.power_kept)} after the end"


def _powers(program: Program, least: float) -> Iterator[Problem]:
    """Lit moves below the lowest power that lases; those above full power cannot be read."""
    moves = program.moves
    dim = np.flatnonzero(moves.on & (moves.power < least * (1 - _CLOSE)))
    if dim.size:
        k = int(dim[0])
        yield int(program.line[k]), f"power {moves.power[k]:.6g} of full is below the lowest, {least:.6g}"


def _words(program: Program, *, pauses: bool) -> Iterator[Problem]:
    """Words that the reader passed over, outside the lines that the dialect itself has."""
    pauses = pauses and not program.moves.on.any()
    for note in program.notes:
        if not note.own and not (pauses and note.message.endswith(WAITS)):
            yield note.line, note.message


def _python(text: str, dialect: Dialect) -> Iterator[Problem]:
    """A comment that is a program of its own."""
    if may_be_linuxcnc(dialect) and (found := PYTHON.search(text)):
        yield len(_lines(text[: found.end()])), "LinuxCNC runs this comment as Python"


def _lengths(text: str, dialect: Dialect) -> Iterator[Problem]:
    """A line that is longer than the controller takes, a CR before its LF included."""
    limit, end = dialect.line_limit, "\n" if "\n" in text else "\r"
    if not dialect.line_excess or (text.isascii() and _longest(text, end) <= limit):
        return
    for number, line in enumerate(text.split(end), start=1):
        if size(line) > limit and (found := dialect.counted(line)) > limit:
            yield number, f"the line has {found} characters, above {dialect.name}'s {limit}"
            return


def _longest(text: str, end: str) -> int:
    """Characters of the longest line of an ASCII text; to split it would take four times its memory."""
    ends = np.flatnonzero(np.frombuffer(text.encode("ascii"), np.uint8) == ord(end))
    return int(np.diff(ends, prepend=-1, append=len(text)).max()) - 1


def _lines(text: str) -> list[str]:
    """The lines as the reader splits them: at LF, CR LF and CR only."""
    return io.StringIO(text, newline=None).readlines()


def _shown(text: str, number: int) -> str:
    """A line in quotes, cut short; a program is refused once, so that splitting it costs nothing."""
    lines = _lines(text)
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return repr(line[:40]) if line else "the end"


_F, _S, _DWELL = 6, 7, 8
_AXES = {"x": 1, "y": 2, "z": 3}
_NAMES = ("kind", "x", "y", "z", "power", "speed", "follows")


def _compare(program: Program, asked: Moves, dialect: Dialect, s_max: float) -> None:
    """Raise GcodeError, with its line, for the first move that differs.

    asked: with chords for arcs if the dialect has none.
    """
    layout = lay_out(with_approach(asked), dialect, s_max)
    due, got = _due(layout, dialect, s_max), _got(program.moves)
    rows = np.flatnonzero(_kept(program.moves))[got.span]
    wanted, found = (one.span.stop - one.span.start for one in (due, got))
    n = min(wanted, found)
    # Column by column: a part has millions of moves.
    differs = {}
    for name in _NAMES:
        one, other = due.column(name)[:n], got.column(name)[:n]
        apart = np.abs(one - other) > _CLOSE * np.maximum(np.abs(one), 1.0)
        if apart.any():
            differs[name] = int(np.argmax(apart)), one, other
    if differs:
        k = min(first for first, _, _ in differs.values())
        what = ", ".join(
            f"{name} {other[k]:.9g} instead of {one[k]:.9g}"
            for name, (first, one, other) in differs.items() if first == k
        )  # fmt: skip
        raise GcodeError(
            f"what is read back differs from what was asked for: {what}", int(program.line[rows[k]])
        )
    if wanted != found:
        line = int(program.line[rows[n]]) if found > n else program.lines
        raise GcodeError(
            f"between the first lit move and the last, {found} moves are read back, but {wanted} were asked "
            "for", line,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _MoveTable:
    """Rows by `_NAMES`, x and y in mm, each column made when it is compared: a part has millions of moves.

    make: the column of a name, (M,).  span: from the first lit row to the last.
    """

    make: Callable[[str], NDArray[Any]]
    span: slice

    @classmethod
    def of(cls, make: Callable[[str], NDArray[Any]], lit: Bools) -> _MoveTable:
        at = np.flatnonzero(lit)
        span = slice(int(at[0]), int(at[-1]) + 1) if at.size else slice(0, 0)
        return cls(make, span)

    def column(self, name: str) -> Floats:
        """The rows of the span.

        A rapid has the controller's own speed, and a dark move no power that could follow anything.
        """
        found = np.asarray(self.make(name)[self.span], dtype=np.float64)
        if name == "speed":
            return np.where(self.make("kind")[self.span] == Kind.RAPID, 0.0, found)
        return np.where(self.make("power")[self.span] > 0, found, 0.0) if name == "follows" else found


def _due(layout: LineLayout, dialect: Dialect, s_max: float) -> _MoveTable:
    """The rows of the layout that move the head, and dwells."""
    rows = np.flatnonzero((layout.kind != Kind.DWELL) | (layout.numbers[_DWELL] > 0))

    def number(j: int) -> Floats:
        found: Floats = layout.numbers[j][rows] * 10.0 ** -layout.decimals[j]
        return found

    kind, unit = layout.kind[rows], dialect.unit
    lit = (layout.numbers[_S][rows] > 0) & (kind != Kind.RAPID)

    def make(name: str) -> NDArray[Any]:
        if name == "speed":
            # A wait is rounded to whole ms, whatever the unit of the template.
            wait = number(_DWELL) * (1.0 if "{s}" in dialect.dwell else 0.001)
            return np.where(kind == Kind.DWELL, wait, number(_F) * unit / 60)
        if name == "power":
            return np.where(lit, number(_S) / s_max, 0.0)
        if name in _AXES:
            return number(_AXES[name]) * unit
        return kind if name == "kind" else layout.follows[rows]

    return _MoveTable.of(make, lit)


def _kept(moves: Moves) -> Bools:
    """(N,) whether a row moves or waits; a bare stop, which a controller may make by itself, does neither."""
    return ~moves.still | (moves.dwell > 0)


def _got(moves: Moves) -> _MoveTable:
    """The same rows of the moves that were read back."""
    kept = _kept(moves)

    def make(name: str) -> NDArray[Any]:
        if name == "speed":
            return np.where(moves.still[kept], moves.dwell[kept], moves.speed[kept])
        whole: dict[str, NDArray[Any]] = {
            "kind": moves.kind, "power": moves.power, "follows": moves.dynamic, "z": moves.z[1:],
        }  # fmt: skip
        return (whole[name] if name in whole else moves.xy[1:, _AXES[name] - 1])[kept]

    return _MoveTable.of(make, moves.power[kept] > 0)
