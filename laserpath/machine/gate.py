"""The gate through which every program goes that laserpath writes: plan, frame, chart, greys, layers.

Moves are put at the focus of the machine, along the heights of its bed, and become text. The text is read
back by the machine's own dialect, and unless it is certain to be dark in every travel, at rest, before and
after, there is no program. `gcode.verify` says what is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import gcode
from laserpath.base.errors import InputError
from laserpath.machine import convert
from laserpath.machine.heights import at_focus
from laserpath.types import Machine, Spot


def verified(
    moves: gcode.Moves,
    machine: Machine,
    header: Iterable[str] = (),
    pauses: Sequence[int] = (),
    *,
    spot: Spot | None = None,
    raised: bool = False,
    at_height: bool = False,
) -> tuple[str, gcode.Program]:
    """The program of moves, and what is read back from it. header: comments at its top.

    pauses: rows before which it waits for the user; only where all of it is dark.
    spot: how well the bed must be followed; see `heights.bend`.
    raised: Z is that of the machine already, not counted from the surface in focus.
    at_height: it goes to its Z also if that is 0 throughout.

    Raises InputError if the program could light where it must not, whoever wrote its dialect, is lit beyond
    the heights of the bed, or leaves the machine's travel in Z.
    """
    dialect = convert.dialect_of(machine)
    moves = moves if raised else at_focus(moves, machine, spot)
    asked = moves if dialect.arcs else moves.chords(gcode.motion.ARC_TOLERANCE)
    text = gcode.write(asked, dialect, machine.s_max, header, pauses=pauses, at_height=at_height)
    try:
        program = gcode.verify(
            text, dialect, machine.s_max, asked=asked, least=_least(machine),
            rapid_speed=min(machine.rapid_speed), pauses=bool(pauses),
        )  # fmt: skip
    except gcode.GcodeError as error:
        raise InputError(
            f"the program for {machine.name} is not safe, so it is not written: {error}"
        ) from error
    return text, program


def _least(machine: Machine) -> float:
    """The lowest power of a lit move, fraction of full: half a level below the lowest level that lases."""
    return (machine.level_min - 0.5) / machine.power_levels
