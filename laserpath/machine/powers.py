"""Line energies ↔ powers and speeds: where the path to expose becomes one that a machine can be told.

**Powers** are the light P_n of the levels n of the controller's PWM (`gcode.levels`). The line energy
q = E_N P^N/v (`resin`) is kept exactly: n is rounded down and the speed is reduced to match, to no less than
(P_n/P_{n+1})^N of full speed. Only a move that needs less than the smallest usable power at full speed gets
more energy; one that needs less than half of that power becomes a travel.

**Speeds.** Over a serial link, a controller runs out of moves where they are short and fast. It then brakes,
and powers chosen for full speed are too high. It buffers `look_ahead` moves, so the rate is averaged over as
many moves. `share_of_speed` slows the moves down to the link's rate, which takes no longer than braking. On a
stroke that only accelerates and brakes the power never fits: the controller updates it every few
milliseconds, in levels, and late. `limit_peak_speed` lets most of such a stroke run at one speed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

import gcode
from laserpath.base.arrays import Bools, Floats, runs
from laserpath.base.errors import InputError, figure
from laserpath.machine import convert
from laserpath.machine.attenuation import Strength
from laserpath.machine.program import from_zero
from laserpath.physics.resin import line_energy, path_energy, power_for, speed_for
from laserpath.types import EnergyPath, Machine, Spot, StraightMoves, Toolpath

_ROUNDS = 9
"""Rounds in `share_of_speed`: more meet the link's rate more closely."""

_SLOWINGS = 4
"""Most rounds of slowing and quantising. One is not enough: a move at the smallest power cannot go slower, so
that its neighbours have to."""

_BUSY = 0.99
"""Highest share of the link's rate: a larger one leaves less margin for the rounding of coordinates."""

_SHORT = 0.8
"""Peak speed, relative to the commanded one, below which a stroke's peak is limited in full, as the stroke
only accelerates and brakes: a larger value limits more strokes."""

_REACHED = 0.99
"""Peak speed, relative to the commanded one, from which a stroke is not limited."""

# At any power


def energies(path: Toolpath, spot: Spot) -> EnergyPath:
    """The path with the line energies of its powers and speeds."""
    return EnergyPath(path.xy, path_energy(path, spot), path.speed)


def exposing(path: EnergyPath, machine: Machine, spot: Spot) -> Toolpath:
    """The path with the powers for its line energies, slower where full power is not enough."""
    path = within_power(path, machine, spot)
    power = np.minimum(power_for(path.energy, path.speed, spot), machine.power_max)
    return Toolpath(path.xy, power, path.speed)


def within_power(path: EnergyPath, machine: Machine, spot: Spot) -> EnergyPath:
    """The path no faster than full power can write it."""
    return replace(path, speed=np.minimum(path.speed, speed_at_full_power(path.energy, machine, spot)))


def within_speed(path: EnergyPath, limit: Floats, machine: Machine, spot: Spot) -> EnergyPath:
    """The path no faster than `limit` (N,) mm/s, where the smallest power is not too much for that."""
    slower = np.minimum(path.speed, limit)
    possible = slower >= speed_for(path.energy, machine.power_min, spot)
    return replace(path, speed=np.where(possible, slower, path.speed))


def speed_at_full_power(energy: ArrayLike, machine: Machine, spot: Spot) -> Floats:
    """The speeds, mm/s, at which full power writes line energies; infinite where they are 0."""
    return speed_for(energy, machine.power_max, spot)


def energy_at_full_power(speed: ArrayLike, machine: Machine, spot: Spot) -> Floats:
    """The line energies that full power writes at speeds, mm/s."""
    return line_energy(machine.power_max, speed, spot)


# On levels


def to_levels(path: EnergyPath, machine: Machine, spot: Spot, share: Floats | float = 1.0) -> Toolpath:
    """The same line energies with powers on the machine's levels; raises if all moves are too weak.

    share: speed limit relative to full speed, (N,) or one for all. A move that would need less than the
    smallest power at its limit runs at the speed that belongs to the smallest power.
    """
    full, energy = min(machine.speed_max), path.energy
    exact = power_for(energy, full, spot)
    slower = power_for(energy, full * np.broadcast_to(share, len(path)), spot)
    possible = slower >= machine.power_min
    limit = full * np.where(possible, share, 1.0)
    exact = np.where(possible, slower, np.minimum(exact, machine.power_min))
    level = machine.level_below(exact)
    dark = ~path.on | (exact < machine.power_min / 2)
    if path.on.any() and dark.all():
        needed = float(exact.max())
        raise InputError(
            f"the smallest usable power {figure(machine.power_min)} mW at {full:g} mm/s is more than twice "
            f"the {figure(needed)} mW that the path needs, so the program would expose nothing; "
            f"{Strength(machine, needed, full).filter}"
        )
    power = np.where(dark, 0.0, machine.power_of(level))
    speed = np.minimum(speed_for(energy, power, spot), limit)
    return drop_dark(Toolpath(path.xy, power, np.where(dark, min(machine.rapid_speed), speed)))


def drop_dark(path: Toolpath) -> Toolpath:
    """The path with adjacent travels merged, and without travels at the end and moves of no length."""
    on = path.on & (path.length > 0)
    keep = np.concatenate([[True], on | np.concatenate([on[1:], [False]])])
    # Vertices between two travels and after the last exposing move are dropped.
    kept = np.flatnonzero(keep)
    moves = kept[1:] - 1
    merged = Toolpath(path.xy[kept], np.where(on[moves], path.power[moves], 0.0), path.speed[moves])
    real = merged.length > 0
    return Toolpath(merged.xy[np.append(True, real)], merged.power[real], merged.speed[real])


def executable(path: EnergyPath, spot: Spot, machine: Machine, share: float) -> Toolpath:
    """The path as the machine can run it: powers on levels, peak speeds limited, within the link's rate.

    share: of the peak speed of a short stroke, as in `limit_peak_speed`.
    """
    made = to_levels(path, machine, spot)
    made = to_levels(energies(made, spot), machine, spot, limit_peak_speed(made, machine, share))
    for _ in range(_SLOWINGS):
        slower = share_of_speed(made, machine)
        if (slower == 1).all():
            break
        current = np.where(made.on, made.speed / min(machine.speed_max), 1.0)
        made = to_levels(energies(made, spot), machine, spot, np.minimum(current, slower))
    return made


# Within the link's rate, and at one speed


def crowding(path: StraightMoves, machine: Machine) -> Floats:
    """(N,) highest rate in any run of `look_ahead` moves around each, relative to the link's rate."""
    if not len(path):
        return np.zeros(0)
    return _crowding(_durations(path.xy, path.on, path.speed, machine), machine)


def _crowding(durations: Floats, machine: Machine) -> Floats:
    """(N,) `crowding` of moves of the given durations, (N+1,) s, the travel from the work zero first."""
    return gcode.motion.move_rates(durations, machine.look_ahead)[1:] / convert.segment_rate(machine)


def share_of_speed(path: StraightMoves, machine: Machine) -> Floats:
    """(N,) share of full speed at which each exposing move stays within the link's rate."""
    share, full = np.ones(len(path)), min(machine.speed_max)
    for _ in range(_ROUNDS):
        speed = np.where(path.on, np.minimum(path.speed, share * full), path.speed)
        durations = _durations(path.xy, path.on, speed, machine)
        crowded = _crowding(durations, machine)
        if crowded[path.on].max(initial=0) <= _BUSY:
            break
        reached = path.length / np.maximum(durations[1:], 1e-12) / full
        share = np.where(crowded > _BUSY, np.minimum(share, reached / (1.03 * crowded)), share)
    return share


def limit_peak_speed(path: StraightMoves, machine: Machine, share: float) -> Floats:
    """(N,) speed limit ÷ full speed: `share` of the peak in strokes far below the commanded speed."""
    peak = _motion(path.xy, path.on, path.speed, machine).peak[1:]
    relative = path.speed / min(machine.speed_max)
    for first, last in runs(path.on):
        stroke = slice(first, last)
        reached = float((peak[stroke] / path.speed[stroke]).max())
        if reached < _REACHED:
            highest = peak[stroke].max() / min(machine.speed_max)
            cut = float(np.interp(reached, (_SHORT, _REACHED), (share, 1.0)))
            relative[stroke] = np.minimum(relative[stroke], cut * highest)
    return np.minimum(relative, 1.0)


def _durations(xy: Floats, on: Bools, speed: Floats, machine: Machine) -> Floats:
    """(N+1,) s, duration of each move without link limits; the first is the travel from the work zero."""
    motion = _motion(xy, on, speed, machine)
    return motion.duration / motion.slowing


def _motion(xy: Floats, on: Bools, speed: Floats, machine: Machine) -> gcode.motion.Motion:
    """The motion along a path from the work zero, which does not depend on its powers."""
    path = Toolpath(xy, np.where(on, machine.power_max, 0.0), speed)
    return gcode.motion.profile(convert.to_moves(from_zero(path, machine), machine), convert.limits(machine))
