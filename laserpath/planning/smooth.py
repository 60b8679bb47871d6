"""The optimiser's path in fewer moves: those that shape the print, and that the link can feed.

**Simplification** (Ramer 1972, Douglas and Peucker 1973) of each stroke in three dimensions: x, y and the
energy deposited so far, E(s) = ∫ q ds, scaled so that a change of q by 1 % over one FWHM counts like an edge
shift of 0.4 % FWHM. Merged moves keep their total energy.

**Thinning.** `decimate` drops the least important vertices where moves come too fast for the link
(`machine.powers`), before *refine*, and `fed` those that learning has moved too close to each other.
"""

from __future__ import annotations

import math

import numpy as np

from gcode.compiled import njit
from laserpath.base.arrays import Bools, Floats, runs
from laserpath.machine.powers import crowding, share_of_speed, within_speed
from laserpath.physics import optics
from laserpath.types import EnergyPath, Machine, Spot

_EDGE_PER_ENERGY = 0.4
"""Edge shift, in FWHM, per excess energy of one FWHM of path: a larger value keeps more vertices where the
power changes."""

_BLURRED_FWHM = 1.2
"""Length of a move up to which the spot blurs the corners at its ends: a larger value lets longer moves
deviate by the full tolerance."""

_ROUNDS = 9
"""Steps of tolerance in `decimate`: more meet the link's rate more closely."""

_SHORT_FWHM = 5.0
"""Length up to which a stroke keeps all vertices, as it is slow anyway: a larger value decimates less."""

_DROPS, _DROPPED_FWHM = 100, 0.005
"""Most vertices dropped from a stretch whose link cannot keep up after learning, and the tolerance for each:
larger values slow the head down less, and move the edge further."""

FULL = 1.01
"""Share of the link's rate up to which a learned path stays as it is: a larger one moves fewer vertices."""

_ROOM = 0.9
"""Share of the link's rate that `decimate` aims at: a smaller one drops more vertices and leaves more margin
for *refine*, which may raise the rate again."""


def simplify(path: EnergyPath, fwhm: float, tolerance_fwhm: float) -> EnergyPath:
    """The path with vertices dropped while position and deposited energy stay within the tolerance.

    fwhm: of the spot, mm.
    """
    if not (path.on & (path.length > 0)).any():
        return path
    return merged(path, importance(path, fwhm) > tolerance_fwhm)


def importance(
    path: EnergyPath, fwhm: float, room: Floats | float = 1.0, blurred_fwhm: float = np.inf
) -> Floats:
    """(N+1,) FWHM: the tolerance at which each vertex may be dropped; infinite at the ends of strokes.

    fwhm: of the spot, mm.  room: tolerance factor, (N+1,) per vertex or one for all: at factor 5 a fifth of
    the tolerance is enough.
    blurred_fwhm: longest move with the full tolerance; a move twice as long has half the tolerance.
    """
    lit = path.on & (path.length > 0)
    typical = float(np.average(path.energy[lit], weights=path.length[lit])) if lit.any() else 1.0
    lifted = np.column_stack([path.xy, _EDGE_PER_ENERGY * _energy_so_far(path) / typical])
    lifted /= fwhm
    wide = np.full(len(path.xy), room, dtype=np.float64)
    tolerances = np.full(len(path.xy), np.inf)
    for first, last in runs(path.on):
        stroke = slice(first, last + 1)
        _importance(lifted[stroke], wide[stroke], blurred_fwhm, tolerances[stroke])
    return tolerances


def merged(path: EnergyPath, keep: Bools) -> EnergyPath:
    """The path with only the vertices to keep, (N+1,); merged moves keep their total energy."""
    kept = np.flatnonzero(keep)
    xy = path.xy[kept]
    length = np.hypot(*np.diff(xy, axis=0).T)
    total = np.diff(_energy_so_far(path)[kept])
    energy = np.where(total > 0, total / np.maximum(length, 1e-12), 0)
    return EnergyPath(xy, energy, path.speed[kept[:-1]])


def _energy_so_far(path: EnergyPath) -> Floats:
    """(N+1,) mJ, energy deposited up to each vertex."""
    return np.concatenate([[0.0], np.cumsum(path.energy * path.length)])


def decimate(
    path: EnergyPath, fwhm: float, machine: Machine, tolerance_fwhm: float, room: Floats | float = 1.0
) -> EnergyPath:
    """The path with fewer vertices where the link is too slow, within about the tolerance.

    fwhm: of the spot, mm.  room: tolerance factor, (N+1,) per vertex or one for all.
    """
    required = importance(path, fwhm, room, _BLURRED_FWHM)
    keep, thinned, long = np.ones(len(path.xy), dtype=bool), path, np.zeros(len(path), dtype=bool)
    length = path.length
    for first, last in runs(path.on):
        long[first:last] = length[first:last].sum() > _SHORT_FWHM * fwhm
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
            thinned = merged(path, keep)
            rate = crowding(thinned, machine)
    return thinned


def fed(path: EnergyPath, spot: Spot, machine: Machine) -> EnergyPath:
    """The path without what its link cannot feed in time: fewer vertices there, and slower moves after that.

    Learning moves vertices, so that a run within the link's rate may no longer be. In each crowded stretch
    the least important vertex goes, then the next, up to `_DROPPED_FWHM`. The others and all energies stay.
    """
    fwhm, rate = optics.fwhm(spot), crowding(path, machine)
    for _ in range(_DROPS):
        crowded = path.on & (rate > FULL)
        inner = np.concatenate([[False], crowded[1:] & crowded[:-1], [False]])
        if not inner.any():
            break
        required = np.where(inner, importance(path, fwhm, blurred_fwhm=_BLURRED_FWHM), np.inf)
        stretches = np.split(np.arange(len(inner)), np.flatnonzero(np.diff(inner)) + 1)
        least = np.array([stretch[np.argmin(required[stretch])] for stretch in stretches])
        keep = np.ones(len(inner), dtype=bool)
        keep[least[required[least] <= _DROPPED_FWHM]] = False
        if keep.all():
            break
        path = merged(path, keep)
        rate = crowding(path, machine)
    if rate[path.on].max(initial=0.0) <= FULL:
        return path
    limit = np.where(path.on, share_of_speed(path, machine) * min(machine.speed_max), np.inf)
    return within_speed(path, limit, machine, spot)


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
