"""The gate through which every program goes that laserpath writes: plan, frame, chart, greys, layers.

Moves are put at the focus of the machine, along the heights of its bed, and become text. The text is read
back by the machine's own dialect, and unless it is certain to be dark in every travel, at rest, before and
after, there is no program. `gcode.verify` says what is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

import gcode
from laserpath.base.errors import InputError
from laserpath.machine import convert
from laserpath.machine.heights import at_focus
from laserpath.types import Machine, Spot

_AT_ONCE = 300_000
"""Moves of a long program that are read back at a time: more take more memory."""


def verified(
    moves: gcode.Moves,
    machine: Machine,
    header: Iterable[str] = (),
    pauses: Sequence[int] = (),
    *,
    spot: Spot | None = None,
    raised: bool = False,
    at_height: bool | float = False,
) -> tuple[str, gcode.Program]:
    """The program of moves, and what is read back from it. header: comments at its top.

    pauses: rows before which it waits for the user; only where all of it is dark.
    spot: how well the bed must be followed; see `heights.bend`.
    raised: Z is that of the machine already, not counted from the surface in focus.
    at_height: it goes to its Z also if that is 0 throughout; a number: mm/s, at which it goes there first.

    Raises InputError if the program could light where it must not, whoever wrote its dialect, is lit beyond
    the heights of the bed, or leaves the machine's travel in Z.
    """
    asked = _asked(moves if raised else at_focus(moves, machine, spot), machine)
    dialect = convert.dialect_of(machine)
    text = gcode.write(asked, dialect, machine.s_max, header, pauses=pauses, at_height=at_height)
    return text, _checked(text, _climbing(asked, at_height), machine, pauses=bool(pauses))


def verified_by_pieces(
    pieces: Iterable[gcode.Moves],
    machine: Machine,
    header: Iterable[str] = (),
    *,
    spot: Spot | None = None,
    raised: bool = False,
    at_height: bool | float = False,
) -> str:
    """`verified`, of a program too long to be in memory several times. pieces: dark at both ends, joined.

    Some pieces at a time are read back, as a program of their own that begins with the last one of those
    before: so each piece, and each place where two meet, is read as it is written.
    """
    dialect, texts = convert.dialect_of(machine), list[str]()
    group: list[_WrittenPiece] = []
    for piece in pieces:
        if sum(len(one.asked) for one in group) > _AT_ONCE:
            _check_group(group, machine)
            group = group[-1:]
        asked = _asked(piece if raised else at_focus(piece, machine, spot), machine)
        written = gcode.write_piece(
            asked, dialect, machine.s_max, () if texts else header, at_height=not texts and at_height
        )
        asked = asked if texts else _climbing(asked, at_height)
        texts += [written[1]] if texts else written[:2]
        group.append(_WrittenPiece(asked, *written))
    _check_group(group, machine)
    return "".join([*texts, group[-1].end])


def _climbing(asked: gcode.Moves, at_height: bool | float) -> gcode.Moves:
    """The moves after the one that goes to their Z, if a speed is given for that, mm/s."""
    if isinstance(at_height, bool):
        return asked
    climb = gcode.Moves.straight(asked.xy[[0, 0]], [0], [at_height], [False])
    return replace(climb, z=np.array([0.0, asked.z[0]]), dynamic=asked.dynamic[:1]) + asked


@dataclass(frozen=True, slots=True)
class _WrittenPiece:
    """A piece of a program, its lines, and those before and after it if it is one of its own."""

    asked: gcode.Moves
    begin: str
    lines: str
    end: str


def _check_group(group: Sequence[_WrittenPiece], machine: Machine) -> None:
    """Verify pieces as a program."""
    text = "".join([group[0].begin, *(one.lines for one in group), group[-1].end])
    _checked(text, gcode.concat(one.asked for one in group), machine)


def _asked(moves: gcode.Moves, machine: Machine) -> gcode.Moves:
    """The moves as the machine's dialect has them."""
    return moves if convert.dialect_of(machine).arcs else moves.chords(gcode.motion.ARC_TOLERANCE)


def _checked(text: str, asked: gcode.Moves, machine: Machine, *, pauses: bool = False) -> gcode.Program:
    """What is read back of a program. Raises InputError unless that was asked for, and is dark elsewhere."""
    try:
        return gcode.verify(
            text, convert.dialect_of(machine), machine.s_max, asked=asked, least=_least(machine),
            rapid_speed=min(machine.rapid_speed), pauses=pauses,
        )  # fmt: skip
    except gcode.GcodeError as error:
        raise InputError(
            f"the program for {machine.name} is not safe, so it is not written: {error}"
        ) from error


def _least(machine: Machine) -> float:
    """The lowest power of a lit move, fraction of full: half a level below the lowest level that lases."""
    return (machine.level_min - 0.5) / machine.power_levels
