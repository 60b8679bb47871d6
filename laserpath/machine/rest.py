"""The rest before a path, so that its first moves are the same wherever the head comes from.

After a travel the head would enter the path at the speed that the bend between them allows, and with as many
moves planned ahead as the link has delivered by then: both change the dose at the start of the path. So two
dwells come first: one of 0 s, at which the controller executes and acknowledges all that was sent before, and
one of `_FILL`, in which a serial line fills the receive buffer, so that the first moves are planned together.
"""

from __future__ import annotations

import numpy as np

import gcode
from gcode import Kind
from laserpath.types import Point

_FILL = 0.05
"""s. GRBL's 128 bytes take 11 ms at 115200 baud, and GRBL counts dwells in steps of 50 ms; a longer one also
suits slower lines."""

RESTS = 2
"""Number of dwells."""


def rested(moves: gcode.Moves, start: Point | None = None, speed: float = 1.0) -> gcode.Moves:
    """The moves after the dwells. start: mm, of a travel before them, at `speed`, mm/s; None: no travel."""
    before = RESTS if start is None else RESTS + 1
    kinds = [Kind.RAPID, *[Kind.DWELL] * RESTS][-before:]
    places = np.repeat(moves.xy[:1], RESTS, axis=0)
    places = places if start is None else np.vstack([[start], places])
    return gcode.Moves(
        np.vstack([places, moves.xy]), np.append(np.zeros(before), moves.power),
        np.append(np.full(before, speed), moves.speed), np.append(np.array(kinds, np.int8), moves.kind),
        z=np.append(np.repeat(moves.z[:1], before), moves.z),
        centre=np.vstack([np.zeros((before, 2)), moves.centre]),
        dwell=np.concatenate([np.zeros(before - 1), [_FILL], moves.dwell]),
        dynamic=np.append(np.full(before, bool(moves.dynamic[:1].any())), moves.dynamic),
        comments=tuple((row + before, text) for row, text in moves.comments),
    )  # fmt: skip
