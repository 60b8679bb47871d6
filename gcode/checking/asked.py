"""Is what was read back from a program what was asked for?

Both are compared from the first lit move to the last: every move with its kind, end, power, speed, and
whether the power follows the speed; and every dwell. The moves that were asked for are rounded as the
writer rounds them. Dark moves before and after, such as a way to a parking place in a footer, are left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike

from gcode.dialects.record import Dialect
from gcode.errors import GcodeError
from gcode.move import Bools, Floats, Kind, Moves
from gcode.reading.program import Program
from gcode.writing.layout import LineLayout, lay_out, with_approach

_X, _Y, _Z, _F, _S, _DWELL = 1, 2, 3, 6, 7, 8
_CLOSE = 1e-9
"""Relative difference that counts as none: both sides are sums of the same decimal numbers."""
_NAMES = ("kind", "x", "y", "z", "power", "speed", "follows")


def compare(program: Program, asked: Moves, dialect: Dialect, s_max: float) -> None:
    """Raise GcodeError, with its line, for the first move that differs.

    asked: with chords for arcs if the dialect has none.
    """
    layout = lay_out(with_approach(asked), dialect, s_max)
    due, got = _due(layout, dialect, s_max), _got(program.moves)
    rows = np.flatnonzero(_kept(program.moves))[got.span]
    wanted, found = due.table[due.span], got.table[got.span]
    n = min(len(wanted), len(found))
    differs = np.abs(wanted[:n] - found[:n]) > _CLOSE * np.maximum(np.abs(wanted[:n]), 1.0)
    if differs.any():
        k = int(np.argmax(differs.any(axis=1)))
        what = ", ".join(
            f"{name} {found[k, j]:.9g} instead of {wanted[k, j]:.9g}"
            for j, name in compress(enumerate(_NAMES), differs[k])
        )
        raise GcodeError(
            f"what is read back differs from what was asked for: {what}", int(program.line[rows[k]])
        )
    if len(wanted) != len(found):
        line = int(program.line[rows[n]]) if len(found) > n else program.lines
        raise GcodeError(
            f"between the first lit move and the last, {len(found)} moves are read back, but "
            f"{len(wanted)} were asked for", line,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _MoveTable:
    """table: (M, 7) by `_NAMES`, x and y in mm.  span: from the first lit row to the last."""

    table: Floats
    span: slice

    @classmethod
    def of(cls, columns: Sequence[ArrayLike], lit: Bools) -> _MoveTable:
        kind, _, _, _, _, speed, follows = columns
        table = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
        # A rapid has the controller's own speed, and a dark move no power that could follow anything.
        table[:, 5] = np.where(np.asarray(kind) == Kind.RAPID, 0.0, speed)
        table[:, 6] = np.where(table[:, 4] > 0, follows, 0.0)
        at = np.flatnonzero(lit)
        return cls(table, slice(int(at[0]), int(at[-1]) + 1) if at.size else slice(0, 0))


def _due(layout: LineLayout, dialect: Dialect, s_max: float) -> _MoveTable:
    """The rows of the layout that move the head, and dwells."""
    digit = 10.0 ** -np.array(layout.decimals)
    numbers, kind = layout.numbers * digit, layout.kind
    lit = (numbers[:, _S] > 0) & (kind != Kind.RAPID)
    kept = (kind != Kind.DWELL) | (numbers[:, _DWELL] > 0)
    numbers, kind, lit = numbers[kept], kind[kept], lit[kept]
    unit, still = dialect.unit, kind == Kind.DWELL
    # Rounded to whole ms, whatever the unit of the template.
    wait = numbers[:, _DWELL] * (1.0 if "{s}" in dialect.dwell else 0.001)
    power = np.where(lit, numbers[:, _S] / s_max, 0.0)
    speed = np.where(still, wait, numbers[:, _F] * unit / 60)
    return _MoveTable.of(
        (kind, numbers[:, _X] * unit, numbers[:, _Y] * unit, numbers[:, _Z] * unit, power, speed,
         layout.follows[kept]), lit,
    )  # fmt: skip


def _kept(moves: Moves) -> Bools:
    """(N,) whether a row moves or waits; a bare stop, which a controller may make by itself, does neither."""
    return ~moves.still | (moves.dwell > 0)


def _got(moves: Moves) -> _MoveTable:
    """The same rows of the moves that were read back."""
    kept = _kept(moves)
    x, y = moves.xy[1:][kept].T
    still, power = moves.still[kept], moves.power[kept]
    speed = np.where(still, moves.dwell[kept], moves.speed[kept])
    return _MoveTable.of(
        (moves.kind[kept], x, y, moves.z[1:][kept], power, speed, moves.dynamic[kept]), power > 0
    )
