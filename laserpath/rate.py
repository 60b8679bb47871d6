"""No more moves a second than the link delivers.

A controller fed over a serial line starves where moves are short and the head is quick: it brakes, and all
that was planned for full speed is late. `look_ahead` moves are buffered, so what counts is a run of as many.

1. `thin` takes out the vertices that matter least, where the head would be too quick for them.
2. `share_of_speed` slows down what is left. That costs no time, since the link would have cost it anyway.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import maximum_filter1d

import gcode
from laserpath import convert, optics
from laserpath.arrays import Floats
from laserpath.measure import run_rates
from laserpath.smooth import merged, needed
from laserpath.types import Machine, Spot, Toolpath
from laserpath.variables import runs

_ROUNDS = 9
_SHORT_FWHM = 5.0
"""A stroke so short is slow anyway, and needs its vertices."""

_ROOM = 0.9
"""Of the link's rate: what comes after thinning may still make the path a little quicker."""


def crowding(path: Toolpath, machine: Machine) -> Floats:
    """(N,) the most moves a second in any run of `look_ahead` moves around each, ÷ the link's rate."""
    if not len(path):
        return np.zeros(0)
    motion = _motion(path, machine)
    window = min(int(machine.look_ahead), len(path))
    rate = run_rates(motion.duration / motion.slowing, window) / machine.segment_rate
    # A run that begins at k holds the moves k … k + window − 1.
    padded = np.concatenate([rate, np.zeros(window - 1)])
    return maximum_filter1d(padded, window, origin=(window - 1) // 2, mode="constant")


def thin(path: Toolpath, spot: Spot, machine: Machine, tolerance_fwhm: float) -> Toolpath:
    """The path without vertices that the link is too slow for, none much further than the tolerance off."""
    keep, thinned, long = np.ones(len(path.xy), dtype=bool), path, np.zeros(len(path), dtype=bool)
    for first, last in runs(path.on):
        long[first:last] = path.length[first:last].sum() > _SHORT_FWHM * optics.fwhm(spot)
    for tolerance in tolerance_fwhm * np.geomspace(1 / 16, 1, _ROUNDS):
        crowded = path.on & (crowding(thinned, machine) > _ROOM)[np.cumsum(keep)[:-1] - 1]
        if not crowded.any():
            break
        crowded &= long
        inner = np.concatenate([[False], crowded[1:] & crowded[:-1], [False]])
        keep &= ~inner | needed(path, spot, tolerance)
        thinned = merged(path, keep, spot)
    return thinned


def share_of_speed(path: Toolpath, machine: Machine) -> Floats:
    """(N,) share of the full speed at which each exposing move's run keeps to the link's rate."""
    share, full = np.ones(len(path)), min(machine.speed_max)
    for _ in range(_ROUNDS):
        slower = Toolpath(
            path.xy, path.power, np.where(path.on, np.minimum(path.speed, share * full), path.speed)
        )
        crowded = crowding(slower, machine)
        if crowded[path.on].max(initial=0) <= 1:
            break
        motion = _motion(slower, machine)
        reached = path.length / np.maximum(motion.duration / motion.slowing, 1e-12) / full
        share = np.where(crowded > 1, np.minimum(share, reached / (1.03 * crowded)), share)
    return share


def _motion(path: Toolpath, machine: Machine) -> gcode.Motion:
    """How the head moves; powers do not matter, and may still be too high."""
    lit = Toolpath(path.xy, np.minimum(path.power, machine.power_max), path.speed)
    return gcode.motion.profile(convert.to_moves(lit, machine), convert.limits(machine))
