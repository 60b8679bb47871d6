"""Backlash: an axis stands still while its drive takes up the slack after a reversal.

With slack b the head is at y for a drive at x, where x has been so far, by the play operator

    y ← max(x − b/2, min(x + b/2, y)),

so that after a reversal y stays until x has gone b, and then follows b/2 behind. Source: M. A. Krasnosel'skii
and A. V. Pokrovskii, "Systems with Hysteresis", Springer 1989 (ordinary play).

Units: mm, s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gcode.compiled import njit
from gcode.controllers.common import Executed
from gcode.controllers.interface import Pair
from gcode.move import Floats


def played(run: Executed, backlash: Pair) -> Executed:
    """The execution with the head where slack lets it be. backlash: mm, of x and y.

    At the start the drive stands in the middle of the slack. Pieces are cut where an axis engages.
    """
    slack = np.array(backlash, dtype=np.float64)
    if not slack.any() or not len(run):
        return run
    end = np.append(0.0, run.end)
    engages = _engaged(run.xyz[:, :2], end, slack)
    time = np.unique(np.concatenate([end, engages]))
    cut = run.cut(time)
    head = cut.xyz.copy()
    for axis in (0, 1):
        head[:, axis] = _play(cut.xyz[:, axis], slack[axis])
    return replace(cut, xyz=head)


@njit
def _play(drive: Floats, slack: float) -> Floats:
    """(P,) the places of a head for those of its drive."""
    head = drive.copy()
    for k in range(1, len(drive)):
        head[k] = max(drive[k] - slack / 2, min(drive[k] + slack / 2, head[k - 1]))
    return head


def _engaged(drive: Floats, time: Floats, slack: Floats) -> Floats:
    """(E,) s, the times at which an axis begins to follow its drive (P+1, 2) within a piece."""
    found = []
    for axis in (0, 1):
        if slack[axis] == 0:
            continue
        x, way = drive[:, axis], np.diff(drive[:, axis])
        head = _play(x, slack[axis])[:-1]
        gap = head + np.sign(way) * slack[axis] / 2 - x[:-1]
        share = np.divide(gap, way, out=np.zeros(len(way)), where=way != 0)
        inside = (share > 0) & (share < 1)
        found.append((time[:-1] + share * np.diff(time))[inside])
    return np.concatenate(found)
