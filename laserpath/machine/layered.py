"""Programs of parts: where each layer begins.

Between two layers Z moves alone, dark. Along a bed that is followed it moves with X and Y only.
"""

from __future__ import annotations

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Indices


def layer_rows(moves: gcode.Moves) -> Indices:
    """(L+1,) rows at which layers begin, and the end: after the last light before Z moves alone, dark."""
    lit = np.flatnonzero(moves.on)
    before = np.unique(np.searchsorted(lit, np.flatnonzero(climbs(moves))))
    begins = lit[before[(before > 0) & (before < len(lit))] - 1] + 1
    return np.concatenate([[0], begins, [len(moves)]])


def climbs(moves: gcode.Moves) -> Bools:
    """(N,) whether Z moves alone, dark."""
    flat = (np.diff(moves.xy, axis=0) == 0).all(axis=1)
    return flat & (np.diff(moves.z) != 0) & ~moves.on
