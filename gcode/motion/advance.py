"""Commands for a laser that is late on a gantry: its changes come early.

A head that moves as a planner lets it is at s(t) along its path. A change of the light that is due at the
place s(T) must be commanded at T − d, with d the delay of the laser, on or off: a vertex is inserted at
s(T − d), across the vertices that lie between, and around corners. The line that ends a travel is lit before
the travel is over, the end of a stroke is dark.

The motion stays as it is, since vertices on a line do not slow the head; where they do, near corners on
Klipper, it is executed anew. What a row commands from t₁ to t₂ shines from t₁ + d to t₂ + d, so its energy is
that of the places which the head passes then, and the power that follows the speed is corrected for the speed
that the head had d before (`correction`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gcode.controllers.common import Executed
from gcode.controllers.interface import Controller
from gcode.errors import GcodeError
from gcode.motion.correction import at_peak, inserted, prepared, with_energies
from gcode.motion.execution import execute, move_rates
from gcode.motion.lag import Lag, lagged
from gcode.motion.response import Board
from gcode.move import Bools, Floats, Ints, Kind, Moves

_NOTICED = 0.05
"""Relative change of the light between two lit rows from which it is moved, too: a smaller one adds rows."""

_CROWDED = 0.98
"""Share of the link's rate that a run of parts may need: a smaller one moves fewer changes of level."""

_SLOWER = 1.05
"""Ratio of the times, with a cut and without, up to which a change of level is moved: a larger one places
light better and takes longer."""

_ROUNDS = 4
"""Executions of the cut moves: a cut near a corner may slow the head there, and so move the next round's."""

_EVENED = 2
"""Rounds in which rows make up for light that shines elsewhere, or that different delays on and off take."""

_SAME = 1e-9
"""mm, within which two places along the way are the same."""

_FREE = 1.1
"""Speed that the lit end of a travel is told, relative to the head's own: a smaller one brakes it."""


def advanced(
    moves: Moves,
    controller: Controller,
    board: Board,
    lag: Lag,
    *,
    rate: float,
    shortest: float,
    longest: float,
) -> Moves:
    """The moves to command so that a laser with the delays of `lag` exposes `moves` (lines, rapids, dwells).

    moves: from rest, with powers as written.  rate: moves/s that the link delivers.  shortest: mm, least
    length of a part.  longest: mm, as in `execute`.  Raises GcodeError for arcs.
    """
    if not (lag.on_delay or lag.off_delay) or not moves.on.any():
        return moves
    if moves.arc.any():
        raise GcodeError("arcs cannot be commanded early; cut them into chords first")
    least = max(shortest, controller.shortest_move)
    run = execute(moves, controller, power_levels=board.power_levels, light=board.light, longest=longest)
    light = DueLight.of(moves, run, board.order)
    whole = course = _Passage.of(moves, run)
    fed = np.ones(len(moves) + 1, dtype=bool)
    for left in reversed(range(_ROUNDS)):
        cuts = _cuts(moves, course, lag, least, fed)
        parts, ends = at_peak(_parted(moves, course, cuts), controller, board.order), cuts.ends(len(moves))
        course = _Passage.of(parts, execute(parts, controller, longest=longest)).of_parts(ends)
        if left:  # for the next round
            fed &= _fed(parts, cuts, controller, rate, len(moves))
            fed &= _unhindered(cuts, course, whole, len(moves))
    if not (controller.power_follows or controller.ramp_levels):
        # Parts of constant power are cut again where a cut near a corner has made new ramps.
        finer = prepared(parts, controller, shortest=longest / 2, segment_rate=rate)
        parts, ends = finer, places_of_finer(parts, finer, ends)
        course = _Passage.of(parts, execute(parts, controller, longest=longest)).of_parts(ends)
    begins, stops = _windows(cuts, course, ends, (lag.on_delay + lag.off_delay) / 2)
    wanted = np.where(parts.on, np.maximum(light.until(stops) - light.until(begins), 0.0), 0.0)
    done, due = with_energies(parts, wanted, controller, board, longest=longest), wanted
    for _ in range(_EVENED):
        run = execute(done, controller, power_levels=board.power_levels, light=board.light, longest=longest)
        shone = DueLight.shone(
            _Passage.of(done, run).of_parts(ends), lagged(run.moves(), lag, longest), board.order
        )
        missing = wanted - (shone.until(stops) - shone.until(begins))
        due = np.where(parts.on, np.maximum(due + missing, 0.0), 0.0)
        done = with_energies(parts, due, controller, board, longest=longest)
    return done


def places_of_finer(moves: Moves, finer: Moves, ends: Floats) -> Floats:
    """(M+1,) places of the vertices of moves that were cut finer. ends: (N+1,) those of the moves' own."""
    way, finer_way = (np.append(0.0, np.cumsum(one.length)) for one in (moves, finer))
    # A dwell has no length: it and its vertices keep their places.
    kept = np.searchsorted(finer_way, way - _SAME)
    places = np.interp(finer_way, way, ends)
    places[kept] = ends
    rising: Floats = np.maximum.accumulate(places)
    return rising


@dataclass(frozen=True, slots=True)
class DueLight:
    """The light that is due, by place: a row + the share of it that is passed.

    place: (P+1,), not falling.  energy: (P+1,) s, ∫ light^order dt until there.
    """

    place: Floats
    energy: Floats

    @classmethod
    def of(cls, moves: Moves, run: Executed, order: int) -> DueLight:
        """That of a run of moves."""
        energy = np.append(0.0, np.cumsum(run.light**order * run.duration))
        return cls(_places(moves, run), energy)

    @classmethod
    def shone(cls, course: _Passage, late: Moves, order: int) -> DueLight:
        """That of a late laser's moves on a course."""
        time = np.append(0.0, np.cumsum(late.duration))
        energy = np.append(0.0, np.cumsum(late.power**order * late.duration))
        return cls(course.at(time), energy)

    def until(self, place: Floats) -> Floats:
        """(K,) s, the energy that is due until the head passes places."""
        return np.interp(place, self.place, self.energy)


@dataclass(frozen=True, slots=True)
class _Passage:
    """A motion. time: (P+1,) s.  place: (P+1,) at those times, not falling.  speed: (P,) mm/s."""

    time: Floats
    place: Floats
    speed: Floats

    @classmethod
    def of(cls, moves: Moves, run: Executed) -> _Passage:
        """That of a run of moves."""
        length = np.linalg.norm(np.diff(run.xyz, axis=0), axis=1)
        speed = length / np.maximum(run.duration, 1e-12)
        return cls(np.append(0.0, run.end), _places(moves, run), speed)

    def of_parts(self, ends: Floats) -> _Passage:
        """The course by the places of the moves that were cut. ends: (M+1,) places of the parts' vertices."""
        return replace(self, place=np.interp(self.place, np.arange(len(ends)), ends))

    def at(self, time: Floats) -> Floats:
        """(K,) places at times, s; before the start and after the end the head rests."""
        return np.interp(time, self.time, self.place)

    def when(self, place: Floats) -> Floats:
        """(K,) s, the times at which places are passed."""
        return np.interp(place, self.place, self.time)

    def speed_at(self, place: Floats) -> Floats:
        """(K,) mm/s, the mean speed of the piece after each place."""
        piece = np.searchsorted(self.place, place, side="right") - 1
        found: Floats = self.speed[np.clip(piece, 0, len(self.speed) - 1)]
        return found


def _places(moves: Moves, run: Executed) -> Floats:
    """(P+1,) rows + shares at the ends of the pieces of a run; of a dwell the share of its time."""
    begin = np.searchsorted(run.row, run.row)
    gone = np.concatenate([[0.0], np.cumsum(run.duration)])
    rests = (gone[1:] - gone[begin]) / np.maximum(run.durations(len(moves))[run.row], 1e-300)
    way = moves.xyz[run.row + 1] - moves.xyz[run.row]
    square = (way**2).sum(axis=1)
    along = ((run.xyz[1:] - moves.xyz[run.row]) * way).sum(axis=1) / np.maximum(square, 1e-300)
    share = np.clip(np.where(square > 0, along, rests), 0, 1)
    share[np.append(run.row[1:] != run.row[:-1], True)[: len(share)]] = 1.0
    place: Floats = np.maximum.accumulate(np.concatenate([[0.0], run.row + share]))
    return place


@dataclass(frozen=True, slots=True)
class _LightCuts:
    """(K,) changes of the light, in order. place: where each is commanded.  row: that it begins.

    switches: whether it turns the laser on or off.
    """

    place: Floats
    row: Ints
    switches: Bools

    def ends(self, rows: int) -> Floats:
        """(M+1,) places of the vertices of the moves that `rows` moves are cut into."""
        return np.unique(np.concatenate([np.arange(rows + 1), self.place]))


def _cuts(moves: Moves, course: _Passage, lag: Lag, least: float, fed: Bools) -> _LightCuts:
    """Where to command each change. least: mm, of a part.  fed: (N+1,) where a change of level may be cut."""
    lit = np.concatenate([[False], moves.on, [False]])
    # A power that follows the speed is another one where power/speed is: its steps on ramps are no changes.
    told = np.concatenate([[0.0], np.where(moves.dynamic, moves.power / moves.speed, moves.power), [0.0]])
    begins, before, after = lit[1:], told[:-1], told[1:]
    switches = begins != lit[:-1]
    step = fed & begins & lit[:-1] & (np.abs(after - before) > _NOTICED * np.maximum(before, after))
    row = np.flatnonzero(switches | step)
    rises = np.where(switches, begins, after > before)[row]
    when = course.when(row.astype(np.float64)) - np.where(rises, lag.on_delay, lag.off_delay)
    place = _snapped(moves, course.at(when), least)
    return _LightCuts(np.maximum.accumulate(place), row, switches[row])


def _snapped(moves: Moves, place: Floats, least: float) -> Floats:
    """Places, those nearer than `least` to a vertex moved to it, and those in a dwell to its end."""
    row = np.minimum(np.floor(place).astype(np.int64), len(moves) - 1)
    share, length = place - row, moves.length[row]
    near = np.minimum(share, 1 - share) * length < least
    near = np.where(near, np.where(share > 0.5, row + 1, row), place)
    return np.where(moves.still[row] & (share > 0), row + 1, near)


def _fed(parts: Moves, cuts: _LightCuts, controller: Controller, rate: float, rows: int) -> Bools:
    """(rows+1,) whether the link can feed the parts around the change of level at each vertex."""
    run = execute(parts, controller.unlinked())
    crowded = move_rates(run.durations(len(parts)), controller.buffered) > _CROWDED * rate
    at = np.minimum(np.searchsorted(cuts.ends(rows), cuts.place), len(parts) - 1)
    fed = np.ones(rows + 1, dtype=bool)
    fed[cuts.row[~cuts.switches & (crowded[at] | crowded[np.maximum(at - 1, 0)])]] = False
    return fed


def _unhindered(cuts: _LightCuts, course: _Passage, whole: _Passage, rows: int) -> Bools:
    """(rows+1,) whether the head is as fast as on the whole moves around the change of level at each vertex.

    Klipper and Marlin take the corners of short moves more slowly.
    """
    before, behind = np.maximum(cuts.row - 1.0, 0), np.minimum(cuts.row + 1.0, rows)
    lasts, lasted = (one.when(behind) - one.when(before) for one in (course, whole))
    fed = np.ones(rows + 1, dtype=bool)
    fed[cuts.row[~cuts.switches & (lasts > _SLOWER * lasted)]] = False
    return fed


def _parted(moves: Moves, course: _Passage, cuts: _LightCuts) -> Moves:
    """The moves cut at the cuts, lit from each switching on to the next switching off."""
    at = cuts.ends(len(moves))
    between = at[at % 1 > 0]
    parts = inserted(moves, np.floor(between).astype(np.int64), between % 1)
    turn, begins = cuts.place[cuts.switches], cuts.row[cuts.switches]
    last = np.searchsorted(turn, at[:-1], side="right") - 1
    # The row that the last change began: a lit one, or the dark one after a stroke.
    of = np.append(begins, len(moves))[last]
    lit = (last >= 0) & np.append(moves.on, False)[of] & ~parts.still
    of = np.minimum(np.where(lit, of, 0), len(moves) - 1)
    travels = lit & ~parts.on
    # The end of a travel that is lit is entered as fast as before.
    actual = np.maximum(course.speed_at(at[:-1]), course.speed_at(at[1:] - 1e-9)) * _FREE
    return replace(
        parts,
        power=np.where(lit, np.where(travels, moves.power[of], parts.power), 0.0),
        speed=np.where(travels, np.maximum(moves.speed[of], actual), parts.speed),
        kind=np.where(travels, np.int8(Kind.LINE), parts.kind),
        dynamic=np.where(travels, moves.dynamic[of], parts.dynamic),
    )


def _windows(cuts: _LightCuts, course: _Passage, ends: Floats, delay: float) -> tuple[Floats, Floats]:
    """(N,) the places where the light of each part begins and stops to shine.

    course: that of the parts.  ends: (N+1,) places of their vertices.  delay: s, on average.
    """
    shines = course.at(course.when(ends) + delay)
    # A change shines exactly where it is due; several at one place: the first ends, the last begins.
    begins, stops, where = shines.copy(), shines.copy(), np.searchsorted(ends, cuts.place)
    begins[where] = cuts.row
    stops[where[::-1]] = cuts.row[::-1]
    return _rising(begins)[:-1], _rising(stops)[1:]


def _rising(place: Floats) -> Floats:
    """Places that do not fall: none is beyond a later one."""
    rising: Floats = np.minimum.accumulate(place[::-1])[::-1]
    return rising
