"""Moves at several heights, in the one plane that is exposed.

A move that climbs while it shines lights its way in the plane for as long as it takes: of length L and speed
v in space, L_xy in the plane, it goes at v L_xy/L there. Where L_xy = 0 it stands, for L/v. The spot is
taken as focused at every height.
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
"""mm; heights that are nearer are one."""

_LISTED = 4

Height = float | str | None


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The lit moves that count. rows: (N,) bool.  height: mm, None: of all.  heights: (H,) mm of the file."""

    rows: Bools
    height: float | None
    heights: Floats

    @property
    def remarks(self) -> tuple[str, ...]:
        """That there is more than one height, and what was made of it."""
        if len(self.heights) == 1:
            return ()
        some = f"{len(self.heights)} heights, Z {_listed(self.heights)} mm"
        if self.height is None:
            return (f"the file exposes at {some}: what falls at all of them is added up, all in focus",)
        return (
            f"the file exposes at {some}: taken as layers, of which this is the one at Z {self.height:g}; "
            "--z picks another, --z all adds them up; the times are those of the whole file",
        )


def layer(moves: gcode.Moves, height: Height = None) -> Layer:
    """The moves of one height: that named, or the first that is lit; 'all': those of all heights."""
    on = lit(moves)
    z = np.rint(moves.z[1:] / _SAME) * _SAME
    heights, first = np.unique(z[on], return_index=True)
    if height == "all" or (len(heights) == 1 and height is None):
        return Layer(on, None, heights)
    if height is None:
        height = float(heights[np.argmin(first)])
    near = np.abs(heights - float(height)) <= _SAME
    if not near.any():
        raise InputError(f"nothing is exposed at Z {height} mm; the file exposes at Z {_listed(heights)} mm")
    chosen = float(heights[near][0])
    return Layer(on & (np.abs(z - chosen) <= _SAME / 2), chosen, heights)


def _listed(heights: Floats) -> str:
    """`0.1, 0.2 … 1.2`"""
    said = [f"{round(z, 3):g}" for z in heights.tolist()]
    if len(said) > _LISTED:
        said = [", ".join(said[: _LISTED - 1]) + " …", said[-1]]
        return " ".join(said)
    return ", ".join(said)


def darkened(moves: gcode.Moves, kept: Bools) -> gcode.Moves:
    """The same with the light of only some rows."""
    return moves if kept[moves.on].all() else replace(moves, power=np.where(kept, moves.power, 0.0))


def flat(moves: gcode.Moves) -> gcode.Moves:
    """Straight moves as seen from above, each as long as before in time."""
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
