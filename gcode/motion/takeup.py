"""Commands that take up the slack of the axes in the dark (`backlash`).

The drive of an axis that is engaged in direction σ = ±1 is at x = y + σ b/2, with y the head and b the slack.
`taken_up` commands that: all vertices are shifted by σ b/2, and where σ changes, a dark jump of b takes up
the slack while the head stands. In a travel the jump is part of the way, unless the stroke after it goes the
other way. A reversal by less than a tolerance needs no jump: the slack swallows it, and the head is off by no
more than that. LinuxCNC's BACKLASH and Marlin's BACKLASH_COMPENSATION do the same, with the laser on.

Units: mm, s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcode.compiled import njit
from gcode.controllers.interface import Controller, Pair
from gcode.errors import GcodeError
from gcode.motion.advance import DueLight, places_of_finer
from gcode.motion.correction import prepared, with_energies
from gcode.motion.execution import execute
from gcode.motion.response import Board
from gcode.move import Bools, Floats, Ints, Kind, Moves


@dataclass(frozen=True, slots=True)
class TakeUp:
    """How slack is taken up. backlash: mm, of x and y.  step: mm, that vertices are rounded to; 0: none.

    tolerance: mm, largest reversal that is left to the slack.  rapid: mm/s, of the jumps.
    """

    backlash: Pair
    step: Pair = (0.0, 0.0)
    tolerance: float = 0.0
    rapid: float = 100.0

    @property
    def sides(self) -> Floats:
        """(2, 2) mm, x and y of the drive relative to the head, engaged downward and upward."""
        slack = np.array(self.backlash)
        up, jump = _rounded(slack / 2, self.step), _rounded(slack, self.step)
        return np.array([up - jump, up])


def _rounded(length: Floats, step: Pair) -> Floats:
    """(2,) mm, the nearest whole number of steps."""
    by = np.array(step)
    return np.where(by > 0, np.rint(length / np.where(by > 0, by, 1)) * by, length)


def taken_up(
    moves: Moves, controller: Controller, board: Board, take: TakeUp, *, rate: float, shortest: float,
    longest: float,
) -> Moves:  # fmt: skip
    """The moves to command so that a machine with slack exposes `moves` (lines, rapids, dwells).

    moves: from rest, with powers as written, whose head came from (0, 0).  rate: moves/s that the link
    delivers.  shortest: mm, least length of a part.  longest: mm, as in `execute`.  Raises GcodeError for
    arcs.
    """
    if not any(take.backlash):
        return moves
    if moves.arc.any():
        raise GcodeError("arcs cannot take up slack; cut them into chords first")
    run = execute(moves, controller, power_levels=board.power_levels, light=board.light, longest=longest)
    due = DueLight.of(moves, run, board.order)
    jumped, of = _jumped(moves, take)
    parts = prepared(jumped, controller, shortest=shortest, segment_rate=rate, order=board.order)
    # Place of each vertex: a row + a share, of the moves with jumps, then of those without.
    rows = np.arange(len(jumped) + 1.0)
    place = places_of_finer(jumped, parts, rows)
    energy = np.diff(due.until(np.interp(place, rows, np.append(of, len(moves)))))
    wanted = np.where(parts.on, energy, 0.0)
    return with_energies(parts, wanted, controller, board, longest=longest)


def _jumped(moves: Moves, take: TakeUp) -> tuple[Moves, Floats]:
    """The moves shifted to the side that is engaged, with the jumps; and the row that each of them begins at.

    A jump begins at the row after it.
    """
    wanted = np.column_stack([_sides(moves.xy[:, k], moves.on, take.tolerance) for k in (0, 1)])
    came = np.where(moves.xy[0] > 0, 1, -1)
    # The side that is engaged at the end of each row: as wanted, or else as before.
    known = np.vstack([came, wanted])
    last = np.maximum.accumulate(np.where(known != 0, np.arange(len(known))[:, None], 0), axis=0)
    side = np.take_along_axis(known, last, axis=0)
    before, side = side[:-1], side[1:]
    jumps = ((side != before) & moves.on[:, None]).any(axis=1)
    row = np.repeat(np.arange(len(moves)), 1 + jumps)
    jump = np.append(row[1:] == row[:-1], False)
    at = np.where(jump, row, row + 1)
    start, shift = (take.sides[(of + 1) // 2, [0, 1]] for of in (came, side[row]))
    lit = ~jump
    return Moves(
        np.vstack([moves.xy[0] + start, moves.xy[at] + shift]),
        moves.power[row] * lit,
        np.where(jump, take.rapid, moves.speed[row]),
        np.where(jump, np.int8(Kind.RAPID), moves.kind[row]),
        z=np.append(moves.z[:1], moves.z[at]),
        dwell=moves.dwell[row] * lit, dynamic=moves.dynamic[row],
        comments=tuple((int(np.searchsorted(row, k)), text) for k, text in moves.comments),
    ), row.astype(np.float64)  # fmt: skip


@njit
def _sides(x: Floats, lit: Bools, tolerance: float) -> Ints:
    """(N,) the direction ±1 in which each row moves an axis at (N+1,) mm; 0: in none.

    Of a lit row it is that of the way between two turns, a turn being followed by more than `tolerance`.
    """
    side = np.zeros(len(lit), np.int64)
    k = 0
    while k < len(lit):
        if not lit[k]:
            side[k] = 1 if x[k + 1] > x[k] else (-1 if x[k + 1] < x[k] else 0)
            k += 1
            continue
        turn, now = k, 0
        low, high = k, k  # the vertices of the least and the largest x since the turn
        while k < len(lit) and lit[k]:
            k += 1
            low = k if x[k] < x[low] else low
            high = k if x[k] > x[high] else high
            if now <= 0 and x[k] - x[low] > tolerance:
                side[turn : low if now else turn] = now
                turn, now, high = (low if now else turn), 1, k
            elif now >= 0 and x[high] - x[k] > tolerance:
                side[turn : high if now else turn] = now
                turn, now, low = (high if now else turn), -1, k
        side[turn:k] = now
    return side
