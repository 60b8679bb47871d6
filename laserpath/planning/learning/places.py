"""Choice of the steps: each vertex goes to the neighbouring motor step that places the edges best.

Rounding every vertex to its nearest step leaves an error of up to half a step to chance, and the powers can
make up only for a part of it. So the vertices are taken one by one, and each goes one step, along an axis or
a diagonal, if that lowers the loss of `levels` plus the write time,

    Σ_m [√(ε_m² + δ²) + η/s_m] + penalties + (M/w_e) ∂T/∂v · Δv,

until no single step helps; T is the term of the write time, and w_e/M the weight of one edge in the final
loss. The dose of each shift is exact for the pieces as executed, which keep their places relative to their
move and their energy per length (`shape`). It is found for all vertices at once, before they move: until
each may have gone one step, what it changes is taken not to depend on its neighbours' steps. All that holds
while the motion does: so no shift may lower the speed at which a corner is passed, nor raise it much where
the corner is what holds the head back. Where the link could not feed the moved path, its vertices go back.
Then the path is executed again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram
from laserpath.machine.rest import RESTS
from laserpath.planning.learning import place_kernel
from laserpath.planning.learning.levels import PENALTY, response_of, watched
from laserpath.planning.learning.shape import parts_behind
from laserpath.planning.optimise.loop import bounds_of
from laserpath.planning.optimise.write_time import WriteTimeTerm
from laserpath.planning.rate import FULL, crowding
from laserpath.planning.task import Task
from laserpath.types import Machine, Toolpath

_REACH_FWHM = 2.0
"""Radius of the spot within which a shift is followed: a larger one is more exact and slower."""

_SHIFT_FWHM = 0.04
"""Length of a shift if the motor's steps are finer: a smaller one is more exact and gains less in each."""

_FURTHEST = 2
"""Steps that a vertex may go along each axis before the path is executed again: with more of them the motion
changes more."""

_NEAR_FWHM = 1.0
"""Distance from the outline within which a line's vertices are moved: a larger one is slower, and gains
little, since the edges hardly depend on lines further inside."""

_BRIGHT = 0.97
"""Dose, relative to the largest allowed, from which lines around a place are moved, too."""

_SWEEPS = 6
"""Most passes over all vertices; they end when nothing changes any more."""


def best_places(
    program: MachineProgram, task: Task, edge_weight: float, time_weight: float
) -> MachineProgram:
    """The program with its vertices where they place its edges best; its powers and feeds stay.

    edge_weight, time_weight: of the mean edge error and of the write time in the loss.
    Programs of machines with a lag are returned as they are: their commands come early, between the moves.
    """
    (part,) = program.parts
    machine, process, scene = task.machine, task.process, task.scene
    if convert.lag(machine, scene.fwhm):
        return program
    moves, response = response_of(part, process)
    light, run = response.light(moves.power), response.run
    points, spot, dose = watched(run, light, task, _REACH_FWHM, coarse=True)
    energy = light**process.resin.order * run.duration
    pieces = place_kernel.MovedPieces(run.xyz[:, :2].copy(), parts_behind(moves, run), energy, response.first)
    price = _price(part.path, task, time_weight) * len(scene.samples.xy) / edge_weight
    room = np.array(bounds_of(task))
    bright = points.xy[dose > _BRIGHT * scene.resin.over_dose]
    xy = moves.xy.copy()
    step, near, corners = _shift(machine, scene.fwhm), _near(pieces, scene, bright), _corners(moves, machine)
    for _ in range(_FURTHEST):
        gone = np.zeros(xy.shape, np.int64)
        effect = place_kernel.effects(near, step, pieces, spot, points)
        if not place_kernel.descend(
            xy, gone, room, price, step, corners, dose, points, effect, PENALTY, _SWEEPS, 1
        ):
            break
        pieces = _shifted(pieces, gone * step)
    moved = _uncrowded(replace(part.path, xy=xy[RESTS:]), part.path, machine)
    return MachineProgram.of_moves(convert.to_moves(moved, machine), process)


def _shifted(pieces: place_kernel.MovedPieces, by: Floats) -> place_kernel.MovedPieces:
    """The pieces after shifts of their rows' vertices, by: (rows + 1, 2) mm, with their energy per length."""
    count = np.diff(pieces.first)
    row, part = np.repeat(np.arange(len(count)), count), pieces.part[:, None]
    ends = pieces.ends.copy()
    ends[1:] += (1 - part) * by[row] + part * by[row + 1]
    before, after = (np.hypot(*np.diff(xy, axis=0).T) for xy in (pieces.ends, ends))
    longer = np.divide(after, before, out=np.ones_like(after), where=before > place_kernel.POINT)
    return pieces._replace(ends=ends, energy=pieces.energy * longer)


def _near(pieces: place_kernel.MovedPieces, scene: Scene, bright: Floats) -> Bools:
    """(rows + 1,) whether a line that begins or ends at a vertex has a lit piece near what counts.

    That is the outline, and places that are nearly too bright, bright: (K, 2) mm.
    """
    places = cKDTree(np.vstack([scene.samples.xy, bright]))
    distance, _ = places.query(pieces.ends, distance_upper_bound=_NEAR_FWHM * scene.fwhm)
    close = np.isfinite(distance)
    lit = (close[:-1] | close[1:]) & (pieces.energy > 0)
    rows = np.diff(np.append(0, np.cumsum(lit))[pieces.first]) > 0
    return np.asarray(np.append(rows, False) | np.append(False, rows))


def _uncrowded(moved: Toolpath, before: Toolpath, machine: Machine) -> Toolpath:
    """The moved path, with vertices back where they were wherever the link could feed it no longer."""
    if not (moved.on & (crowding(moved, machine) > FULL)).any():
        return moved
    xy, allowed = moved.xy.copy(), np.maximum(crowding(before, machine), FULL)
    while (crowded := moved.on & (crowding(moved, machine) > allowed)).any():
        here = np.append(crowded, False) | np.append(False, crowded)
        if (xy[here] == before.xy[here]).all():
            break
        xy[here] = before.xy[here]
        moved = replace(moved, xy=xy.copy())
    return moved


def _price(path: Toolpath, task: Task, time_weight: float) -> Floats:
    """(RESTS + N + 1, 2) derivative of the write time's term by each vertex, the dwells' included."""
    time = WriteTimeTerm.of(path, task.design, task.machine, time_weight)
    return np.vstack([np.zeros((RESTS, 2)), time(path.xy, path.power)[1].xy])


def _shift(machine: Machine, fwhm: float) -> Floats:
    """(2,) mm, whole motor steps nearest to `_SHIFT_FWHM`, at least one."""
    shift = np.full(2, _SHIFT_FWHM * fwhm)
    if machine.steps is None:
        return shift
    step = 1 / np.asarray(machine.steps)
    return np.asarray(step * np.maximum(np.rint(shift / step), 1))


def _corners(moves: gcode.Moves, machine: Machine) -> place_kernel.CornerSpeeds:
    """The planned speeds at all vertices, and the limits that they come from."""
    limits = convert.limits(machine)
    entry = gcode.motion.profile(moves, limits).entry
    acceleration = np.asarray(limits.acceleration, np.float64)
    return place_kernel.CornerSpeeds(
        np.append(entry, 0.0) ** 2, acceleration, float(limits.junction_deviation)
    )
