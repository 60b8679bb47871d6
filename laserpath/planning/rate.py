"""Speeds: no more moves a second than the link delivers, and steady where time does not matter.

A controller fed over a serial line starves where moves are short and the head is quick: it brakes, and all
that was planned for full speed is late. `look_ahead` moves are buffered, so what counts is a run of as many.

1. `thin` takes out the vertices that matter least, where the head would be too quick for them.
2. `share_of_speed` slows down what is left. That costs no time, since the link would have cost it anyway.

A stroke that only speeds up and brakes has no power that fits: the controller sets it every few milliseconds,
to a level, and a speed behind. `steady` cuts off the peak of its speed, so that most of it is drawn at one.
"""

from __future__ import annotations

import numpy as np

import gcode
from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.machine import convert
from laserpath.machine.program import from_zero
from laserpath.planning.optimise.variables import runs
from laserpath.planning.optimise.write_time import steadiness
from laserpath.planning.smooth import importance, merged, to_levels
from laserpath.types import Machine, Spot, Toolpath

_BLURRED_FWHM = 1.2
"""A corner between shorter moves is blurred by the spot; between longer ones the edge would show it."""

_ROUNDS = 9
_SLOWINGS = 4
"""Rounds; a move too weak to go slower has its neighbours do so."""

_BUSY = 0.99
"""Of the link's rate, that is allowed: coordinates are still to be rounded."""

_SHORT_FWHM = 5.0
"""A stroke so short is slow anyway, and needs its vertices."""

_SHORT = 0.8
"""Of the speed that a stroke is told; what peaks below speeds up and brakes all the time."""

_REACHED = 0.99
"""Of that speed, which is as good as all of it."""

_ROOM = 0.9
"""Of the link's rate: what comes after thinning may still make the path a little quicker."""


def crowding(path: Toolpath, machine: Machine) -> Floats:
    """(N,) the most moves a second in any run of `look_ahead` moves around each, ÷ the link's rate."""
    if not len(path):
        return np.zeros(0)
    rates = gcode.motion.move_rates(_durations(path, machine), machine.look_ahead)
    return rates[1:] / machine.segment_rate


def thin(
    path: Toolpath, spot: Spot, machine: Machine, tolerance_fwhm: float, room: Floats | float = 1.0
) -> Toolpath:
    """The path without vertices that the link is too slow for, none much further than the tolerance off.

    room: (N+1,) or one, how many times as far each vertex may be.
    """
    matters = importance(path, spot, room, _BLURRED_FWHM)
    keep, thinned, long = np.ones(len(path.xy), dtype=bool), path, np.zeros(len(path), dtype=bool)
    for first, last in runs(path.on):
        long[first:last] = path.length[first:last].sum() > _SHORT_FWHM * optics.fwhm(spot)
    for tolerance in tolerance_fwhm * np.geomspace(1 / 16, 1, _ROUNDS):
        crowded = path.on & (crowding(thinned, machine) > _ROOM)[np.cumsum(keep)[:-1] - 1]
        if not crowded.any():
            break
        crowded &= long
        inner = np.concatenate([[False], crowded[1:] & crowded[:-1], [False]])
        keep &= ~inner | (matters > tolerance)
        thinned = merged(path, keep, spot)
    return thinned


def executable(path: Toolpath, spot: Spot, machine: Machine, time_weight: float) -> Toolpath:
    """The path with powers on levels, as slow as the link, and steadier the less time weighs."""
    path = to_levels(path, machine, spot)
    path = to_levels(path, machine, spot, steady(path, machine, steadiness(time_weight)))
    for _ in range(_SLOWINGS):
        share = share_of_speed(path, machine)
        if (share == 1).all():
            break
        now = np.where(path.on, path.speed / min(machine.speed_max), 1.0)
        path = to_levels(path, machine, spot, np.minimum(now, share))
    return path


def share_of_speed(path: Toolpath, machine: Machine) -> Floats:
    """(N,) share of the full speed at which each exposing move's run keeps to the link's rate."""
    share, full = np.ones(len(path)), min(machine.speed_max)
    for _ in range(_ROUNDS):
        slower = Toolpath(
            path.xy, path.power, np.where(path.on, np.minimum(path.speed, share * full), path.speed)
        )
        crowded = crowding(slower, machine)
        if crowded[path.on].max(initial=0) <= _BUSY:
            break
        reached = path.length / np.maximum(_durations(slower, machine)[1:], 1e-12) / full
        share = np.where(crowded > _BUSY, np.minimum(share, reached / (1.03 * crowded)), share)
    return share


def steady(path: Toolpath, machine: Machine, share: float) -> Floats:
    """(N,) of full speed: `share` of the peak speed of strokes that come nowhere near what they are told."""
    moves = convert.to_moves(from_zero(_lit(path, machine), machine), machine)
    peak = gcode.motion.profile(moves, convert.limits(machine)).peak[1:]
    wanted = path.speed / min(machine.speed_max)
    for first, last in runs(path.on):
        stroke = slice(first, last)
        reached = float((peak[stroke] / path.speed[stroke]).max())
        if reached < _REACHED:
            highest = peak[stroke].max() / min(machine.speed_max)
            cut = float(np.interp(reached, (_SHORT, _REACHED), (share, 1.0)))
            wanted[stroke] = np.minimum(wanted[stroke], cut * highest)
    return np.minimum(wanted, 1.0)


def _durations(path: Toolpath, machine: Machine) -> Floats:
    """(N+1,) s of each move if the link kept up, the way from the work zero first."""
    moves = convert.to_moves(from_zero(_lit(path, machine), machine), machine)
    motion = gcode.motion.profile(moves, convert.limits(machine))
    return motion.duration / motion.slowing


def _lit(path: Toolpath, machine: Machine) -> Toolpath:
    """The path at powers that the machine has: for how the head moves they do not matter."""
    return Toolpath(path.xy, np.minimum(path.power, machine.power_max), path.speed)
