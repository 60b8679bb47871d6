"""What the moves of a program say: places, speeds and powers in range, and what the controller can follow.

A planner that sees n moves ahead reaches the speed v only where n of them in a row are at least
v²/(2·a) long, a the acceleration along them: on average v²/(2·a·n) each. A link that delivers
r moves/s and c characters/s feeds n moves in max(n/r, characters/c); where they take less, it starves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gcode import arcs, motion
from gcode.checking.envelope import Envelope
from gcode.checking.findings import Finding
from gcode.checking.text import Text, first_motion, often
from gcode.dialects.record import Dialect
from gcode.levels import level_of
from gcode.move import Bools, Floats, Kind, Moves

if TYPE_CHECKING:
    from gcode.reading.program import Program


REACHED = 0.9  # of the commanded speed counts as reached
TOLD = 0.1  # of the lit length, from which slow moves are told
STARVED = 1.02  # times the time it should take, from which a run is told to starve
_PIECES_MAX = 1_000_000
_TOLERANCE = 0.01  # mm, of chords from their arc, for the planner
_MANY_SHORT = 0.5  # of the lit length, that is told also where the power follows the speed
_LONGEST = 0.5  # mm, of a piece as executed
_FLASH = 1.2  # times the power that a move says, from which the controller's own is told
_EPS = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """peak: (N,) mm/s, of each move as executed.  planned: (N,) s without the link.  slowing: (N,) ≥ 1.

    brightest: (N,) the most that shines in each move, fraction of full power.  write_time: s, of all.
    """

    peak: Floats
    planned: Floats
    slowing: Floats
    brightest: Floats
    write_time: float

    @classmethod
    def of(cls, program: Program, envelope: Envelope, dialect: Dialect) -> Pace:
        """As the controller has it, or the planner of `motion`; arcs are cut into chords."""
        moves = program.moves
        straight, row = _cut(moves)
        limits = envelope.limits
        if sees_all(dialect):
            limits = replace(limits, look_ahead=max(len(straight), 1), segment_rate=1e12)
        profile = motion.profile(straight, limits)
        count = len(moves)
        peak, slowing = np.zeros(count), np.ones(count)
        np.maximum.at(peak, row, profile.peak)
        np.maximum.at(slowing, row, profile.slowing)
        planned = np.bincount(row, profile.duration / profile.slowing, count).astype(np.float64)
        if envelope.controller is None:
            return cls(peak, planned, slowing, moves.power, float(profile.duration.sum()))
        done = motion.execute(
            moves,
            envelope.controller,
            characters=program.characters,
            longest=_LONGEST,
            tolerance=_tolerance(moves),
        )
        length = np.linalg.norm(np.diff(done.xyz, axis=0), axis=1)
        moving = (length > 0) & (done.duration > 0)
        peak, brightest = np.zeros(count), np.zeros(count)
        np.maximum.at(peak, done.row[moving], length[moving] / done.duration[moving])
        np.maximum.at(brightest, done.row[moving], done.power[moving])
        return cls(peak, planned, slowing, brightest, done.write_time)


def sees_all(dialect: Dialect) -> bool:
    """Whether its planner's buffer has no end that matters, and no serial line feeds it."""
    return dialect.controller in ("klipper", "trapezoid")


def _cut(moves: Moves) -> tuple[Moves, NDArray[np.int64]]:
    """Chords for arcs."""
    return moves.cut(_tolerance(moves))


def _tolerance(moves: Moves) -> float:
    """mm, of chords from their arc; more where there would be too many."""
    k = np.flatnonzero(moves.arc)
    if not k.size:
        return _TOLERANCE
    radius = np.hypot(*(moves.xy[k] - moves.centre[k]).T)
    many = int(arcs.pieces(radius, moves.sweep[k], _TOLERANCE).sum()) / _PIECES_MAX
    return _TOLERANCE * max(many, 1.0) ** 2


def check(
    program: Program, text: Text, pace: Pace, envelope: Envelope, dialect: Dialect
) -> Iterator[Finding]:
    """Findings of all rules about moves."""
    yield from _places(program, text, envelope)
    yield from _heights(program, envelope)
    yield from _speeds(program, envelope, dialect)
    yield from _levels(program, envelope)
    yield from _link(program, pace, envelope, dialect)
    yield from _short(program, envelope, dialect)
    yield from _unreached(program, pace, envelope, dialect)
    yield from _flashes(program, pace, dialect)


def _first(program: Program, rows: Bools, severity: str, message: str) -> Finding:
    """About the moves in `rows`, at the first of them."""
    k = np.flatnonzero(rows)
    return Finding(severity, int(program.line[k[0]]), None, message + often(k.size, "moves"))


def extent(moves: Moves) -> Floats:
    """(N, 4) x0, y0, x1, y1 in mm of each move, arcs with their bulges."""
    a, b = moves.xy[:-1], moves.xy[1:]
    box = np.hstack([np.minimum(a, b), np.maximum(a, b)])
    k = np.flatnonzero(moves.arc)
    if not k.size:
        return box
    away, sweep = a[k] - moves.centre[k], moves.sweep[k]
    radius, begin = np.hypot(*away.T), np.arctan2(away[:, 1], away[:, 0])
    low = np.where(sweep > 0, begin, begin + sweep)
    for quarter, (column, sign) in enumerate(((2, 1), (3, 1), (0, -1), (1, -1))):
        touched = (quarter * np.pi / 2 - low) % (2 * np.pi) <= np.abs(sweep)
        at = moves.centre[k, column % 2] + sign * radius
        box[k[touched], column] = at[touched]
    return box


def _places(program: Program, text: Text, envelope: Envelope) -> Iterator[Finding]:
    moves = program.moves
    limit, lines = np.asarray(envelope.box), program.line
    # Where a move begins, the one before has come to, or nothing is known of it.
    box = np.where(moves.arc[:, None], extent(moves), np.tile(moves.xy[1:], 2))
    if program.start_stated:  # the first G0 X Y, which is no row
        offset = first_motion(text)
        lines = np.append(text.place(offset)[0] if offset is not None else 1, lines)
        box = np.vstack([np.tile(moves.xy[0], 2), box])
    over = np.hstack([limit[:2] - box[:, :2], box[:, 2:] - limit[2:]])
    for column, (axis, least) in enumerate((("X", True), ("Y", True), ("X", False), ("Y", False))):
        beyond = over[:, column] > _EPS
        if beyond.any():
            k = int(np.flatnonzero(beyond)[0])
            side = f"below {limit[column]:g}" if least else f"above {limit[column]:g}"
            message = f"{axis} {box[k, column]:.6g} mm is {side} mm, outside the work area"
            yield Finding("error", int(lines[k]), None, message + often(int(beyond.sum()), "places"))


def _heights(program: Program, envelope: Envelope) -> Iterator[Finding]:
    z = program.moves.z[1:]
    if envelope.z is None:
        moved = np.diff(program.moves.z) != 0
        if moved.any():
            worst = z[np.argmax(np.abs(z))]
            message = f"Z moves, as far as {worst:.6g} mm, and nothing is known of the machine's range in Z"
            yield _first(program, moved, "warning", message)
        return
    low, high = envelope.z
    beyond = (z < low - _EPS) | (z > high + _EPS)
    if beyond.any():
        worst = z[np.flatnonzero(beyond)[0]]
        yield _first(program, beyond, "error", f"Z {worst:.6g} mm is outside {low:g}…{high:g} mm")


def _speeds(program: Program, envelope: Envelope, dialect: Dialect) -> Iterator[Finding]:
    moves = program.moves
    rapid = _rapids(program)
    feed = ~rapid & ~moves.still
    for rows, limit, severity, what in (
        (feed & moves.on, envelope.speed_max, "error", "machine's"),
        (feed & ~moves.on, envelope.rapid, "warning", "machine's rapid"),
        (rapid, envelope.rapid, "warning", "machine's rapid"),
    ):
        if what != "machine's" and not rows.any():
            continue
        most = _along(moves, limit)
        fast = rows & (moves.speed > most * (1 + _EPS))
        if dialect.rapid_at_feed is False:
            fast &= ~rapid  # a G0 has its own speed
        if fast.any():
            k = int(np.flatnonzero(fast)[0])
            message = f"F{moves.speed[k] * 60:.6g} is above the {what} {most[k] * 60:.6g} mm/min on this way"
            yield _first(program, fast, severity, message)


def _rapids(program: Program) -> Bools:
    """(N,) what the text calls G0, lit or not."""
    rapid = program.moves.rapid.copy()
    rapid[program.lit_rapids] = True
    return rapid


def _along(moves: Moves, limit: tuple[float, float]) -> Floats:
    """(N,) mm/s that no axis' limit forbids; on arcs that of the slower axis."""
    step = np.abs(np.diff(moves.xy, axis=0))
    length = np.maximum(np.hypot(*step.T), 1e-300)[:, None]
    with np.errstate(divide="ignore"):
        most: Floats = np.min(np.asarray(limit) * length / step, axis=1, initial=np.inf)
    return np.where(moves.arc, min(limit), most)


def _levels(program: Program, envelope: Envelope) -> Iterator[Finding]:
    """Powers at which the laser does not lase."""
    moves, n = program.moves, envelope.power_levels
    if n is None or envelope.level_min <= 1:
        return
    level = level_of(moves.power, n)
    dim = moves.on & (level < envelope.level_min)
    if dim.any():
        k = int(np.flatnonzero(dim)[0])
        message = (
            f"power {moves.power[k]:.3g} is level {level[k]:g} of {n}, below the lowest that lases, "
            f"{envelope.level_min}"
        )
        yield _first(program, dim, "warning", message)


def _share(length: Floats, rows: Bools, lit: Bools) -> float:
    whole = float(length[lit].sum())
    return float(length[rows & lit].sum()) / whole if whole > 0 else 0.0


def _link(program: Program, pace: Pace, envelope: Envelope, dialect: Dialect) -> Iterator[Finding]:
    """Runs of moves that come too fast for the link."""
    moves = program.moves
    if not len(moves) or sees_all(dialect):
        return
    length = moves.length
    starved = pace.slowing > STARVED
    if starved.any():
        share = _share(length, starved, np.ones(len(moves), dtype=bool))
        message = (
            f"the moves come {envelope.segment_rate * pace.slowing.max():.0f} a second, above the "
            f"{envelope.segment_rate:g} of the link: {_percent(share)} of the way is slower than commanded"
        )
        yield _first(program, starved, "warning", message)
    if envelope.character_rate is None:
        return
    starts = np.arange(0, len(moves), envelope.look_ahead)
    sent = program.characters.astype(np.float64)
    sent[0] = 0  # with the header, before anything moves
    needed = np.add.reduceat(sent, starts) / envelope.character_rate
    wait = needed / np.maximum(np.add.reduceat(pace.planned + moves.dwell, starts), 1e-12)
    counts = np.diff(np.append(starts, len(moves)))
    wait[counts < envelope.look_ahead] = 0  # the rest at the end is in the buffer by then
    slow = np.repeat(wait, counts) > STARVED
    if slow.any():
        share = _share(length, slow, np.ones(len(moves), dtype=bool))
        message = (
            f"the serial line carries {envelope.character_rate:g} characters a second, but up to "
            f"{envelope.character_rate * wait.max():.0f} are needed: {_percent(share)} of the way is slower"
        )
        yield _first(program, slow, "warning", message)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "all"


def _short(program: Program, envelope: Envelope, dialect: Dialect) -> Iterator[Finding]:
    """Rows of lit moves that are too short for the look-ahead."""
    moves, n = program.moves, envelope.look_ahead
    if len(moves) <= n or sees_all(dialect):
        return
    lines = moves.kind == Kind.LINE  # arcs the controller cuts by itself
    length = moves.length
    way = np.append(0.0, np.cumsum(length))
    broken = np.append(0, np.cumsum(~(lines & moves.on)))
    ahead = np.arange(len(moves) - n) + n
    k = ahead - n
    whole = broken[ahead] == broken[k]
    need = moves.speed[k] ** 2 / (2 * min(envelope.acceleration))
    bad = whole & (way[ahead] - way[k] < need * (1 - _EPS))
    if not bad.any():
        return
    rows = np.zeros(len(moves), dtype=bool)
    reach = np.cumsum(np.bincount(k[bad], minlength=len(moves) + 1)[:-1])
    rows[:] = reach - np.append(np.zeros(n, dtype=reach.dtype), reach[:-n]) > 0
    share, first = _share(length, rows, moves.on), int(k[bad][0])
    if moves.dynamic[rows & moves.on].all() and share < _MANY_SHORT:
        return
    least = moves.speed[first] ** 2 / (2 * min(envelope.acceleration) * n)
    message = (
        f"moves of {length[first]:.3g} mm are too short for F{moves.speed[first] * 60:.6g}: a planner that "
        f"sees {n} moves needs {least:.3g} mm each; so is {_percent(share)} of the lit length"
    )
    yield _first(program, rows, "warning", message)


def _unreached(program: Program, pace: Pace, envelope: Envelope, dialect: Dialect) -> Iterator[Finding]:
    """Lit moves that never come near the commanded speed."""
    moves = program.moves
    lit = moves.on & ~moves.still & ~_rapids(program)
    wanted = np.minimum(moves.speed, _along(moves, envelope.speed_max))  # above it is told elsewhere
    slow = lit & (pace.peak < REACHED * wanted)
    share = _share(moves.length, slow, lit)
    if share < TOLD or moves.dynamic[slow].all():
        return  # where the power follows the speed it is only late
    effect = "constant power overexposes there"
    if dialect.controller == "marlin":
        effect = "the power follows it only with the firmware's power trapezoid"
    message = (
        f"{_percent(share)} of the lit length never comes within 10 % of the commanded speed, "
        f"for want of acceleration; {effect}"
    )
    yield _first(program, slow, "warning", message)


def _flashes(program: Program, pace: Pace, dialect: Dialect) -> Iterator[Finding]:
    """Moves in which more shines than they say: Marlin's power trapezoid where a move only brakes."""
    moves = program.moves
    least = 1.0 / 255
    bright = ~moves.still & (pace.brightest > _FLASH * moves.power + least)
    if bright.any():
        k = int(np.flatnonzero(bright)[np.argmax(pace.brightest[bright])])
        message = (
            f"{dialect.name}'s power comes to {pace.brightest[k]:.2g} of full in moves that say "
            f"{moves.power[k]:.2g}: where a move only brakes its power trapezoid runs over"
        )
        yield _first(program, bright, "error", message)
