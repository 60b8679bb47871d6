"""Moves at several heights, projected onto the one plane that is exposed.

A move of length L and speed v in space, and of length L_xy in the plane, goes at v L_xy/L in the plane, so
that it takes as long. Where L_xy = 0, it stands still for L/v. The spot is taken as focused at every height.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import gcode
from gcode.move import Kind
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.simulation.source import lit

_SAME = 1e-3
"""Distance in mm up to which heights count as one."""

_LISTED = 4
"""Heights that a sentence lists at most."""

Height = float | str | None


@dataclass(frozen=True, slots=True, eq=False)
class ProgramLayer:
    """The lit moves of one height. rows: (N,) bool.  height: mm; None: all.  heights: (H,) mm of the file."""

    rows: Bools
    height: float | None
    heights: Floats

    @property
    def remarks(self) -> tuple[str, ...]:
        """A sentence if the file has more than one height, with the one that was chosen."""
        if len(self.heights) == 1:
            return ()
        some = f"{len(self.heights)} heights, Z {_listed(self.heights)} mm"
        if self.height is None:
            return (f"the file exposes at {some}: what falls at all of them is added up, all in focus",)
        return (
            f"the file exposes at {some}: taken as layers, of which this is the one at Z {self.height:g}; "
            "--z picks another, --z all adds them up; the times are those of the whole file",
        )


def layer(moves: gcode.Moves, height: Height = None) -> ProgramLayer:
    """The moves of one height; None: of the first lit one; 'all': of all heights.

    Raises InputError if nothing is lit at that height.
    """
    on = lit(moves)
    z = np.rint(moves.z[1:] / _SAME) * _SAME
    heights, first = np.unique(z[on], return_index=True)
    if height == "all" or (len(heights) == 1 and height is None):
        return ProgramLayer(on, None, heights)
    if height is None:
        height = float(heights[np.argmin(first)])
    near = np.abs(heights - float(height)) <= _SAME
    if not near.any():
        raise InputError(f"nothing is exposed at Z {height} mm; the file exposes at Z {_listed(heights)} mm")
    chosen = float(heights[near][0])
    return ProgramLayer(on & (np.abs(z - chosen) <= _SAME / 2), chosen, heights)


def _listed(heights: Floats) -> str:
    """`0.1, 0.2 … 1.2`"""
    texts = [f"{round(z, 3):g}" for z in heights.tolist()]
    if len(texts) > _LISTED:
        return f"{', '.join(texts[: _LISTED - 1])} … {texts[-1]}"
    return ", ".join(texts)


def darkened(moves: gcode.Moves, kept: Bools) -> gcode.Moves:
    """The same moves with the power of only the kept rows."""
    return moves if kept[moves.on].all() else replace(moves, power=np.where(kept, moves.power, 0.0))


def flat(moves: gcode.Moves) -> gcode.Moves:
    """Straight moves projected onto the plane, each with its duration unchanged."""
    if not np.ptp(moves.z):
        return moves
    across = np.hypot(*np.diff(moves.xy, axis=0).T)
    duration = moves.duration
    stands = moves.still | (across == 0)
    speed = np.where(stands, 1.0, across / np.where(stands, 1.0, duration))
    kind = np.where(stands, Kind.DWELL, np.where(moves.rapid, Kind.RAPID, Kind.LINE)).astype(np.int8)
    return gcode.Moves(
        moves.xy, moves.power, speed, kind,
        dwell=np.where(stands, duration, 0.0), dynamic=moves.dynamic,
    )  # fmt: skip
