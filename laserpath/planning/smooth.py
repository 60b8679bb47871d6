"""The optimiser's path in fewer moves, with powers on the machine's levels.

**Simplification** (Ramer 1972, Douglas and Peucker 1973) of each stroke in three dimensions: x, y and the
energy deposited so far, E(s) = ∫ q ds, scaled so that a change of q by 1 % over one FWHM counts like an edge
shift of 0.4 % FWHM. Merged moves keep their total energy.

**Powers** are the light P_n of the levels n of the controller's PWM (`gcode.levels`). The line energy
q = E_N P^N/v (`resin`) is kept exactly: n is rounded down and the speed is reduced to match, to no less than
(P_n/P_{n+1})^N of full speed. Only a move that needs less than the smallest usable power at full speed gets
more energy; one that needs less than half of that power becomes a travel.
"""

from __future__ import annotations

import math

import numpy as np

from gcode.compiled import njit
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, figure
from laserpath.machine.attenuation import Strength
from laserpath.physics import optics
from laserpath.physics.resin import path_energy, power_for, speed_for
from laserpath.planning.optimise.variables import runs
from laserpath.types import Machine, Spot, Toolpath

_EDGE_PER_ENERGY = 0.4
"""Edge shift, in FWHM, per excess energy of one FWHM of path: a larger value keeps more vertices where the
power changes."""


def simplify(path: Toolpath, spot: Spot, tolerance_fwhm: float) -> Toolpath:
    """The path with vertices dropped while position and deposited energy stay within the tolerance."""
    if not (path.on & (path.length > 0)).any():
        return path
    return merged(path, importance(path, spot) > tolerance_fwhm, spot)


def importance(
    path: Toolpath, spot: Spot, room: Floats | float = 1.0, blurred_fwhm: float = np.inf
) -> Floats:
    """(N+1,) FWHM: the tolerance at which each vertex may be dropped; infinite at the ends of strokes.

    room: tolerance factor, (N+1,) per vertex or one for all: at factor 5 a fifth of the tolerance is enough.
    blurred_fwhm: longest move with the full tolerance; a move twice as long has half the tolerance.
    """
    per_length, lit = path_energy(path, spot), path.on & (path.length > 0)
    typical = float(np.average(per_length[lit], weights=path.length[lit])) if lit.any() else 1.0
    lifted = np.column_stack([path.xy, _EDGE_PER_ENERGY * _energy_so_far(path, per_length) / typical])
    lifted /= optics.fwhm(spot)
    wide = np.full(len(path.xy), room, dtype=np.float64)
    tolerances = np.full(len(path.xy), np.inf)
    for first, last in runs(path.on):
        stroke = slice(first, last + 1)
        _importance(lifted[stroke], wide[stroke], blurred_fwhm, tolerances[stroke])
    return tolerances


def merged(path: Toolpath, keep: Bools, spot: Spot) -> Toolpath:
    """The path with only the vertices to keep, (N+1,); merged moves keep their total energy."""
    kept = np.flatnonzero(keep)
    xy = path.xy[kept]
    length = np.hypot(*np.diff(xy, axis=0).T)
    total = np.diff(_energy_so_far(path, path_energy(path, spot))[kept])
    speed = path.speed[kept[:-1]]
    energy = np.where(total > 0, total / np.maximum(length, 1e-12), 0)
    return Toolpath(xy, power_for(energy, speed, spot), speed)


def _energy_so_far(path: Toolpath, per_length: Floats) -> Floats:
    """(N+1,) mJ, energy deposited up to each vertex."""
    return np.concatenate([[0.0], np.cumsum(per_length * path.length * path.on)])


@njit
def _importance(points: Floats, room: Floats, blurred: float, tolerances: Floats) -> None:
    """Fill in `importance` of the points (K, 3) of one stroke; none exceeds that of the ends of its chord.

    tolerances: (K,), infinite.
    """
    todo = [(0, len(points) - 1, np.inf)]
    while todo:
        a, b, highest = todo.pop()
        furthest, middle = -1.0, a
        for k in range(a + 1, b):
            gap = _distance(points[k], points[a], points[b]) / room[k]
            if gap > furthest:
                furthest, middle = gap, k
        if middle > a:
            chord = math.hypot(points[b, 0] - points[a, 0], points[b, 1] - points[a, 1])
            tolerances[middle] = min(highest, furthest * max(1.0, chord / blurred))
            todo.append((a, middle, tolerances[middle]))
            todo.append((middle, b, tolerances[middle]))


@njit
def _distance(point: Floats, start: Floats, end: Floats) -> float:
    """Distance of a point (3,) from the segment start–end."""
    along, square = 0.0, 0.0
    for d in range(3):
        along += (point[d] - start[d]) * (end[d] - start[d])
        square += (end[d] - start[d]) ** 2
    t = min(max(along / square, 0.0), 1.0) if square > 0 else 0.0
    total = 0.0
    for d in range(3):
        total += (point[d] - start[d] - t * (end[d] - start[d])) ** 2
    return math.sqrt(total)


def to_levels(path: Toolpath, machine: Machine, spot: Spot, share: Floats | float = 1.0) -> Toolpath:
    """The same line energies with powers on the machine's levels; raises if all moves are too weak.

    share: speed limit relative to full speed, (N,) or one for all. A move that would need less than the
    smallest power at its limit runs at the speed that belongs to the smallest power.
    """
    full = min(machine.speed_max)
    energy = path_energy(path, spot)
    exact = power_for(energy, full, spot)
    slower = power_for(energy, full * np.broadcast_to(share, len(path)), spot)
    possible = slower >= machine.power_min
    limit = full * np.where(possible, share, 1.0)
    exact = np.where(possible, slower, np.minimum(exact, machine.power_min))
    level = np.clip(np.floor(machine.level_for(exact) + 1e-9), machine.level_min, machine.power_levels)
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
