"""Speeds that the link can feed, and constant speeds on short strokes.

Over a serial link, a controller runs out of moves where they are short and fast. It then brakes, and powers
chosen for full speed are too high. It buffers `look_ahead` moves, so the rate is averaged over as many moves.

1. `decimate` drops the least important vertices where moves come too fast for the link.
2. `share_of_speed` slows the other moves down to the link's rate, which takes no longer than braking.

On a stroke that only accelerates and brakes the power never fits: the controller updates it every few
milliseconds, in levels, and late. `limit_peak_speed` lets most of such a stroke run at one speed.
"""

from __future__ import annotations

import numpy as np

import gcode
from laserpath.base.arrays import Floats
from laserpath.machine import convert
from laserpath.machine.program import from_zero
from laserpath.physics import optics
from laserpath.physics.resin import path_energy, power_for
from laserpath.planning.optimise.variables import runs
from laserpath.planning.optimise.write_time import share_of_peak
from laserpath.planning.smooth import importance, merged, to_levels
from laserpath.types import Machine, Spot, Toolpath

_BLURRED_FWHM = 1.2
"""Length of a move up to which the spot blurs the corners at its ends: a larger value lets longer moves
deviate by the full tolerance."""

_ROUNDS = 9
"""Steps of tolerance in `decimate` and rounds in `share_of_speed`: more meet the link's rate more closely."""

_SLOWINGS = 4
"""Most rounds of slowing and quantising. One is not enough: a move at the smallest power cannot go slower, so
that its neighbours have to."""

_BUSY = 0.99
"""Highest share of the link's rate: a larger one leaves less margin for the rounding of coordinates."""

_SHORT_FWHM = 5.0
"""Length up to which a stroke keeps all vertices, as it is slow anyway: a larger value decimates less."""

_SHORT = 0.8
"""Peak speed, relative to the commanded one, below which a stroke's peak is limited in full, as the stroke
only accelerates and brakes: a larger value limits more strokes."""

_REACHED = 0.99
"""Peak speed, relative to the commanded one, from which a stroke is not limited."""

_DROPS, _DROPPED_FWHM = 100, 0.005
"""Most vertices dropped from a stretch whose link cannot keep up after learning, and the tolerance for each:
larger values slow the head down less, and move the edge further."""

FULL = 1.01
"""Share of the link's rate up to which a learned path stays as it is: a larger one moves fewer vertices."""

_ROOM = 0.9
"""Share of the link's rate that `decimate` aims at: a smaller one drops more vertices and leaves more margin
for *refine*, which may raise the rate again."""


def crowding(path: Toolpath, machine: Machine) -> Floats:
    """(N,) highest rate in any run of `look_ahead` moves around each, relative to the link's rate."""
    if not len(path):
        return np.zeros(0)
    return _crowding(_durations(path, machine), machine)


def _crowding(durations: Floats, machine: Machine) -> Floats:
    """(N,) `crowding` of moves of the given durations, (N+1,) s, the travel from the work zero first."""
    return gcode.motion.move_rates(durations, machine.look_ahead)[1:] / machine.segment_rate


def decimate(
    path: Toolpath, spot: Spot, machine: Machine, tolerance_fwhm: float, room: Floats | float = 1.0
) -> Toolpath:
    """The path with fewer vertices where the link is too slow, within about the tolerance.

    room: tolerance factor, (N+1,) per vertex or one for all.
    """
    required = importance(path, spot, room, _BLURRED_FWHM)
    keep, thinned, long = np.ones(len(path.xy), dtype=bool), path, np.zeros(len(path), dtype=bool)
    for first, last in runs(path.on):
        long[first:last] = path.length[first:last].sum() > _SHORT_FWHM * optics.fwhm(spot)
    rate = crowding(path, machine)
    for tolerance in tolerance_fwhm * np.geomspace(1 / 16, 1, _ROUNDS):
        crowded = path.on & (rate > _ROOM)[np.cumsum(keep)[:-1] - 1]
        if not crowded.any():
            break
        crowded &= long
        inner = np.concatenate([[False], crowded[1:] & crowded[:-1], [False]])
        dropped = keep & inner & (required <= tolerance)
        keep &= ~dropped
        if dropped.any() or thinned is path:
            thinned = merged(path, keep, spot)
            rate = crowding(thinned, machine)
    return thinned


def fed(path: Toolpath, spot: Spot, machine: Machine) -> Toolpath:
    """The path without what its link cannot feed in time: fewer vertices there, and slower moves after that.

    Learning moves vertices, so that a run within the link's rate may no longer be. In each crowded stretch
    the least important vertex goes, then the next, up to `_DROPPED_FWHM`. The others and all energies stay.
    """
    rate = crowding(path, machine)
    for _ in range(_DROPS):
        crowded = path.on & (rate > FULL)
        inner = np.concatenate([[False], crowded[1:] & crowded[:-1], [False]])
        if not inner.any():
            break
        required = np.where(inner, importance(path, spot, blurred_fwhm=_BLURRED_FWHM), np.inf)
        stretches = np.split(np.arange(len(inner)), np.flatnonzero(np.diff(inner)) + 1)
        least = np.array([stretch[np.argmin(required[stretch])] for stretch in stretches])
        keep = np.ones(len(inner), dtype=bool)
        keep[least[required[least] <= _DROPPED_FWHM]] = False
        if keep.all():
            break
        path = merged(path, keep, spot)
        rate = crowding(path, machine)
    if rate[path.on].max(initial=0.0) <= FULL:
        return path
    limit = np.where(path.on, share_of_speed(path, machine) * min(machine.speed_max), np.inf)
    slower = np.minimum(path.speed, limit)
    power = power_for(path_energy(path, spot), slower, spot)
    possible = power >= machine.power_min
    return Toolpath(path.xy, np.where(possible, power, path.power), np.where(possible, slower, path.speed))


def executable(path: Toolpath, spot: Spot, machine: Machine, time_weight: float) -> Toolpath:
    """The path as the machine can run it: powers on levels, peak speeds limited, within the link's rate.

    time_weight: weight of the write time; a larger one limits peak speeds less.
    """
    path = to_levels(path, machine, spot)
    path = to_levels(path, machine, spot, limit_peak_speed(path, machine, share_of_peak(time_weight)))
    for _ in range(_SLOWINGS):
        share = share_of_speed(path, machine)
        if (share == 1).all():
            break
        current = np.where(path.on, path.speed / min(machine.speed_max), 1.0)
        path = to_levels(path, machine, spot, np.minimum(current, share))
    return path


def share_of_speed(path: Toolpath, machine: Machine) -> Floats:
    """(N,) share of full speed at which each exposing move stays within the link's rate."""
    share, full = np.ones(len(path)), min(machine.speed_max)
    for _ in range(_ROUNDS):
        slower = Toolpath(
            path.xy, path.power, np.where(path.on, np.minimum(path.speed, share * full), path.speed)
        )
        durations = _durations(slower, machine)
        crowded = _crowding(durations, machine)
        if crowded[path.on].max(initial=0) <= _BUSY:
            break
        reached = path.length / np.maximum(durations[1:], 1e-12) / full
        share = np.where(crowded > _BUSY, np.minimum(share, reached / (1.03 * crowded)), share)
    return share


def limit_peak_speed(path: Toolpath, machine: Machine, share: float) -> Floats:
    """(N,) speed limit ÷ full speed: `share` of the peak in strokes far below the commanded speed."""
    moves = convert.to_moves(from_zero(_lit(path, machine), machine), machine)
    peak = gcode.motion.profile(moves, convert.limits(machine)).peak[1:]
    relative = path.speed / min(machine.speed_max)
    for first, last in runs(path.on):
        stroke = slice(first, last)
        reached = float((peak[stroke] / path.speed[stroke]).max())
        if reached < _REACHED:
            highest = peak[stroke].max() / min(machine.speed_max)
            cut = float(np.interp(reached, (_SHORT, _REACHED), (share, 1.0)))
            relative[stroke] = np.minimum(relative[stroke], cut * highest)
    return np.minimum(relative, 1.0)


def _durations(path: Toolpath, machine: Machine) -> Floats:
    """(N+1,) s, duration of each move without link limits; the first is the travel from the work zero."""
    moves = convert.to_moves(from_zero(_lit(path, machine), machine), machine)
    motion = gcode.motion.profile(moves, convert.limits(machine))
    return motion.duration / motion.slowing


def _lit(path: Toolpath, machine: Machine) -> Toolpath:
    """The path with powers clipped to the machine's range; the motion does not depend on them."""
    return Toolpath(path.xy, np.minimum(path.power, machine.power_max), path.speed)
