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

The descent is compiled: it goes through the vertices one by one, each with the result of those before, which
no array operation does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

import gcode
from gcode.compiled import cached
from laserpath.base.arrays import Bools, Floats, ends_of
from laserpath.base.arrays import Indices as Ints
from laserpath.base.compute.beside import in_parts
from laserpath.design.partition import FieldView, Partition, given_model
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.powers import crowding, energy_at_full_power
from laserpath.machine.program import MachineProgram
from laserpath.machine.rest import RESTS
from laserpath.physics.dose import TiledDose
from laserpath.physics.optics import fwhm
from laserpath.physics.resin import path_energy
from laserpath.planning.compensation.by_field import FieldDose, JobOfField, RunPart, by_fields, run_parts
from laserpath.planning.compensation.density import (
    SpotTable,
    densities_of_shifts,
    densities_of_shifts_along,
    is_long,
)
from laserpath.planning.compensation.levels import (
    PENALTY,
    WatchedPoints,
    acting_on,
    cells_near,
    cost,
    cost_slope,
    joined,
    path_of,
    relative_dose,
    response_of,
    watched,
)
from laserpath.planning.compensation.shape import parts_behind
from laserpath.planning.optimise.loop import bounds_of
from laserpath.planning.optimise.loss import WriteTimeTerm
from laserpath.planning.smooth import FULL
from laserpath.planning.task import Task
from laserpath.types import Machine, Process, Toolpath

Array = NDArray[Any]

_GAIN = 1e-9  # least gain of a change
POINT = 1e-7  # mm, shortest piece that exposes along its length
_SLOWER, _FASTER = 0.94, 1.3  # square of a corner's speed after a shift ÷ before: less room keeps the motion
_HELD = 1.05  # square of a corner's speed limit ÷ speed up to which the limit holds the head back

njit = cached(error_model="numpy", nogil=True)


class MovedPieces(NamedTuple):
    """ends: (P+1, 2) mm.  part: (P,) of its row that lies behind each piece's end, 0 … 1.

    energy: (P,) s of full light.  first: (rows + 1,) index of the first piece of each row.
    """

    ends: Array
    part: Array
    energy: Array
    first: Ints


class CornerSpeeds(NamedTuple):
    """square: (rows + 1,) (mm/s)², planned speed at each vertex.

    acceleration: (2,) mm/s².  deviation: mm, of a junction.
    shortest: mm along x or y, of a move that the controller does not add to the next one.
    """

    square: Array
    acceleration: Array
    deviation: float
    shortest: float


class ShiftEffects(NamedTuple):
    """What a step of vertex j changes: the doses of point[first[j]] … point[first[j + 1]].

    change: (…, 4) of them, for a step to the right, left, up and down.
    """

    first: Ints
    point: Any
    change: Any


def effects(
    near: Any, step: Array, pieces: MovedPieces, spot: SpotTable, points: WatchedPoints
) -> ShiftEffects:
    """What the steps of the vertices change of which `near` (rows + 1,) is true."""

    def part(first: int, end: int) -> tuple[Ints, Any, Any]:
        return _effects(first, end, near, step, pieces, spot, points)

    return ShiftEffects(*joined(in_parts(part, len(near))))


class _Reached(NamedTuple):
    """What the steps of one vertex change, while it is added up: in place[m] − 1 the point m, if that is ≥ 0.

    point: (M,) the points in the order in which they were reached.  change: (M, 4) of each of those.
    """

    place: Ints
    point: Ints
    change: Array


@njit
def _effects(
    start: int, end: int, near: Any, step: Array, pieces: MovedPieces, spot: SpotTable, points: WatchedPoints
) -> tuple[Ints, Any, Any]:
    """`effects` of the vertices from `start` to before `end`, as `joined` takes it."""
    count, first, many = 0, np.zeros(end - start + 1, np.int64), len(points.xy)
    room = 256 * (end - start)
    point, change = np.empty(room, np.int32), np.empty((room, 4), np.float32)
    # 0, not as a literal: that is a type of its own, for which `_shift_row` would be compiled once more.
    n, next_n = first[0], first[0]
    this = _Reached(np.zeros(many, np.int64), np.empty(many, np.int64), np.empty((many, 4)))
    after = _Reached(np.zeros(many, np.int64), np.empty(many, np.int64), np.empty((many, 4)))
    # The row before the first vertex ends at it; what it does to the vertex before is left out.
    for j in range(max(start - 1, 0), end):
        if j + 1 < len(near) and (near[j] or near[j + 1]):
            n, next_n = _shift_row(this, n, after, j, step, pieces, spot, points)
        if near[j] and j > 0 and j >= start:
            if count + n > len(point):
                more = max(len(point) // 2, n)
                point = np.append(point, np.empty(more, np.int32))
                change = np.append(change, np.empty((more, 4), np.float32)).reshape(-1, 4)
            for i in range(n):
                point[count] = this.point[i]
                for c in range(4):
                    change[count, c] = this.change[i, c]
                count += 1
        for i in range(n):
            this.place[this.point[i]] = 0
        if j >= start:
            first[j - start + 1] = count
        this, n, after, next_n = after, next_n, this, first[0]
    return first, point[:count], change[:count]


@njit
def _place_of(m: int, n: int, reached: _Reached) -> int:
    """Where point m is in `reached`, which has n points before; n if it is new, and zero there."""
    at = reached.place[m] - 1
    if at >= 0:
        return at
    reached.place[m], reached.point[n] = n + 1, m
    for c in range(4):
        reached.change[n, c] = 0.0
    return n


@njit
def descend(
    xy: Array, gone: Ints, room: Array, price: Array, step: Array, corners: CornerSpeeds, dose: Array,
    points: WatchedPoints, effect: ShiftEffects, weight: float, sweeps: int, furthest: int,
) -> int:  # fmt: skip
    """Move vertices `xy` (rows + 1, 2) by `step` (2,) while the loss falls; return how often.

    `dose` follows, and `gone` (rows + 1, 2), the steps that each has made since `effect` was found.

    room: (2, 2) lower-left and upper-right corner of their range.  price: (rows + 1, 2) loss per mm.
    effect: of those that may move.  furthest: steps that a vertex may go.

    After the first sweep a vertex is looked at only if something has changed on which its answer depends: a
    vertex beside it, or the dose of a point that it reaches. So the result is that of looking at all.
    """
    seen, moved, changed = np.full(len(xy), -1), np.zeros(len(xy), np.int64), np.zeros(len(dose), np.int64)
    slope = np.empty(len(dose))
    for m in range(len(dose)):
        slope[m] = cost_slope(dose[m], m, points, weight)
    changes = before = 0
    for _ in range(sweeps):
        for j in range(1, len(xy)):
            here = slice(effect.first[j], effect.first[j + 1])
            point, change = effect.point[here], effect.change[here]
            if len(point) == 0 or not _concerned(j, point, seen[j], moved, changed):
                continue
            seen[j] = changes
            dx, dy = _best(
                xy, j, gone[j], step, room, price[j], corners, furthest, point, change, dose, slope, points,
                weight,
            )  # fmt: skip
            if dx == 0 and dy == 0:
                continue
            changes += 1
            shares = _shares_of(gone[j], dx, dy)
            for i in range(len(point)):
                at = np.int64(point[i])  # the type of m above: for another one cost is compiled once more
                dose[at] += _sum_of(change, i, shares)
                slope[at] = cost_slope(dose[at], at, points, weight)
                changed[at] = changes
            xy[j, 0] += dx * step[0]
            xy[j, 1] += dy * step[1]
            moved[j] = changes
            gone[j, 0] += dx
            gone[j, 1] += dy
        if changes == before:
            break
        before = changes
    return changes


@njit
def _concerned(j: int, point: Any, seen: int, moved: Ints, changed: Ints) -> bool:
    """Whether the answer for vertex j may have changed since it was last looked at, −1: never."""
    for m in point:
        if changed[m] > seen:
            return True
    passed = False  # the speed at which the head passes a neighbour may have changed
    for i in range(max(j - 2, 0), min(j + 3, len(moved))):
        if moved[i] > seen:
            passed = True
    return passed


@njit
def _shares_of(gone: Ints, x: int, y: int) -> tuple[float, float, float, float]:
    """Shares of the four changes of a dose in that by a shift of x and y steps from where it has `gone`.

    Quadratic along each axis; the mixed derivative is neglected.
    """
    a, b = 2 * gone[0] + x, 2 * gone[1] + y
    return 0.5 * x * (a + 1), 0.5 * x * (a - 1), 0.5 * y * (b + 1), 0.5 * y * (b - 1)


@njit
def _sum_of(change: Any, i: int, shares: tuple[float, float, float, float]) -> float:
    """The sum of the four changes in row i, times these shares."""
    right, left = shares[0] * change[i, 0], shares[1] * change[i, 1]
    return right + left + shares[2] * change[i, 2] + shares[3] * change[i, 3]


@njit
def _best(
    xy: Array, j: int, gone: Ints, step: Array, room: Array, price: Array, corners: CornerSpeeds,
    furthest: int, point: Any, change: Any, dose: Array, slope: Array, points: WatchedPoints, weight: float,
) -> tuple[int, int]:  # fmt: skip
    """The steps of vertex j that gain most, write time included, of those that it may go."""
    pull = np.zeros((1, 4))
    for i in range(len(point)):
        for c in range(4):
            pull[0, c] += slope[point[i]] * change[i, c]
    best, dx, dy = _GAIN, 0, 0
    for x in range(-1, 2):
        for y in range(-1, 2):
            if x == 0 and y == 0:
                continue
            paid = price[0] * x * step[0] + price[1] * y * step[1]
            shares = _shares_of(gone, x, y)
            most = -_sum_of(pull, 0, shares) - paid
            if most <= best:
                continue
            if not _free(xy, j, x, y, gone, step, room, furthest):
                continue
            if not _keeps_moves(xy, j, x * step[0], y * step[1], corners.shortest) or not _keeps_speed(
                xy, j, x * step[0], y * step[1], corners
            ):
                continue
            gain = -paid
            for i in range(len(point)):
                m = np.int64(point[i])
                u = dose[m]
                gain += cost(u, m, points, weight)
                gain -= cost(u + _sum_of(change, i, shares), m, points, weight)
            if gain > best:
                best, dx, dy = gain, x, y
    return dx, dy


@njit
def _free(xy: Array, j: int, x: int, y: int, gone: Ints, step: Array, room: Array, furthest: int) -> bool:
    """Whether vertex j may go there: near, within its range, and not onto a neighbour."""
    if abs(gone[0] + x) > furthest or abs(gone[1] + y) > furthest:
        return False
    a, b = xy[j, 0] + x * step[0], xy[j, 1] + y * step[1]
    if a < room[0, 0] or b < room[0, 1] or a > room[1, 0] or b > room[1, 1]:
        return False
    for i in (j - 1, j + 1):
        if i < len(xy) and abs(xy[i, 0] - a) < step[0] / 2 and abs(xy[i, 1] - b) < step[1] / 2:
            return False
    return True


@njit
def _keeps_moves(xy: Array, j: int, dx: float, dy: float, shortest: float) -> bool:
    """Whether no move at vertex j becomes so short by its shift that the controller leaves it out.

    Its light would be lost, or the next move's would begin where it begins.
    """
    for i in (j - 1, j + 1):
        if i < 0 or i >= len(xy):
            continue
        x, y = xy[j, 0] - xy[i, 0], xy[j, 1] - xy[i, 1]
        after = max(abs(x + dx), abs(y + dy))
        if after < shortest - POINT and after < max(abs(x), abs(y)) - POINT:
            return False
    return True


@njit
def _keeps_speed(xy: Array, j: int, dx: float, dy: float, corners: CornerSpeeds) -> bool:
    """Whether the head passes vertex j and its neighbours about as fast as before, if j is shifted."""
    for i in (j - 1, j, j + 1):
        if i < 1 or i + 1 >= len(xy):
            continue
        need = corners.square[i]
        if need <= 0:
            continue
        old = _junction(xy, i, j, 0.0, 0.0, corners)
        new = _junction(xy, i, j, dx, dy, corners)
        if new < _SLOWER * min(old, need):
            return False
        if old < _HELD * need and new > _FASTER * old:
            return False
    return True


@njit
def _junction(xy: Array, i: int, j: int, dx: float, dy: float, corners: CornerSpeeds) -> float:
    """(mm/s)² at which the head may pass vertex i if vertex j is shifted."""
    ux, uy = xy[i, 0] - xy[i - 1, 0], xy[i, 1] - xy[i - 1, 1]
    vx, vy = xy[i + 1, 0] - xy[i, 0], xy[i + 1, 1] - xy[i, 1]
    a = (1.0 if i == j else 0.0) - (1.0 if i - 1 == j else 0.0)
    b = (1.0 if i + 1 == j else 0.0) - (1.0 if i == j else 0.0)
    ux, uy, vx, vy = ux + a * dx, uy + a * dy, vx + b * dx, vy + b * dy
    lu, lv = np.hypot(ux, uy), np.hypot(vx, vy)
    if lu < 1e-9 or lv < 1e-9:
        return 0.0
    ux, uy, vx, vy = ux / lu, uy / lu, vx / lv, vy / lv
    s = np.sqrt(max((1 + ux * vx + uy * vy) / 2, 0.0))
    tx, ty = vx - ux, vy - uy
    t = max(np.hypot(tx, ty), 1e-12)
    most = min(
        corners.acceleration[0] / max(abs(tx) / t, 1e-12), corners.acceleration[1] / max(abs(ty) / t, 1e-12)
    )
    return most * corners.deviation * s / max(1 - s, 1e-12)


@njit
def _shift_row(
    start: _Reached, n: int, end: _Reached, k: int, step: Array, pieces: MovedPieces, spot: SpotTable,
    points: WatchedPoints,
) -> tuple[int, int]:  # fmt: skip
    """Add to `start`, of n points, what row k changes if its first vertex goes right, left, up or down.

    To `end`, of none, if its last one does. Return how many points both have then.
    """
    next_n, mean, xy = 0, np.zeros(9), points.xy
    for p in range(pieces.first[k], pieces.first[k + 1]):
        if pieces.energy[p] <= 0:
            continue
        a, b = pieces.ends[p], pieces.ends[p + 1]
        u, v, energy = b[0] - a[0], b[1] - a[1], pieces.energy[p]
        shares = (0.0 if p == pieces.first[k] else pieces.part[p - 1]), pieces.part[p]
        length, along = math.sqrt(u * u + v * v), is_long(u, v, spot)
        longer = _lengthened(u, v, length, shares[1] - shares[0], step)
        parts = max(2, int(np.ceil(length / (spot.reach / 6))))
        near = (spot.reach + 1.5 * spot.pitch + length / 2) ** 2
        left, right, lower, upper = cells_near(a, b, spot, points)
        for row in range(lower, upper + 1):
            cell = row * points.columns
            for m in range(points.start[cell + left], points.start[cell + right + 1]):
                x, y = xy[m, 0] - a[0], xy[m, 1] - a[1]
                if (x - u / 2) ** 2 + (y - v / 2) ** 2 > near:
                    continue
                if along:
                    densities_of_shifts_along(mean, x, y, u, v, shares, spot, step)
                else:
                    densities_of_shifts(mean, x, y, u, v, shares, parts, spot, step)
                if mean[8] <= 0:
                    continue
                here, there = _place_of(m, n, start), _place_of(m, next_n, end)
                n, next_n = max(n, here + 1), max(next_n, there + 1)
                for c in range(4):
                    # What makes a piece longer at its end makes it shorter at its start.
                    start.change[here, c] += energy * (longer[c ^ 1] * mean[c] - mean[8])
                    end.change[there, c] += energy * (longer[c] * mean[4 + c] - mean[8])
    return n, next_n


@njit
def _lengthened(x: float, y: float, length: float, more: float, step: Array) -> tuple[float, ...]:
    """Length of a piece (x, y), mm, after its end went `more` steps further than its start ÷ before.

    To the right, to the left, up and down.
    """
    if length <= POINT:
        return 1.0, 1.0, 1.0, 1.0
    dx, dy = more * step[0], more * step[1]
    return (
        np.hypot(x + dx, y) / length, np.hypot(x - dx, y) / length,
        np.hypot(x, y + dy) / length, np.hypot(x, y - dy) / length,
    )  # fmt: skip


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


_RESTORED_FWHM = 2.0
"""Distance from a place up to which `restored` moves change its dose by more than some hundredths: a larger
one gives up more of what was gained around."""


def best_places(
    program: MachineProgram, task: Task, edge_weight: float, time_weight: float
) -> MachineProgram:
    """The program with its vertices where they place its edges best; its powers and feeds stay.

    edge_weight, time_weight: of the mean edge error and of the write time in the loss.
    Programs of machines with a lag are returned as they are: their commands come early, between the moves.
    So are those of machines with an input shaper, whose pieces follow the vertices of several moves.
    """
    machine, path = task.machine, program.path
    if convert.strokes_move(machine, task.scene.fwhm) or convert.controller(machine).impulses is not None:
        return program
    xy = _best_places(program, task, edge_weight, time_weight)
    return _written(replace(path, xy=xy), path, task.process)


def _best_places(program: MachineProgram, task: Task, edge_weight: float, time_weight: float) -> Floats:
    """(N+1, 2) mm, the vertices of a program's path where they place its edges best.

    Apart from the program that has them, so that what it takes is let go before that is written.
    """
    (part,) = program.parts
    machine, process, scene = task.machine, task.process, task.scene
    moves, response = response_of(part, process)
    light, run = response.light(moves.power), response.run
    energy = light**process.resin.order * run.duration
    pieces = MovedPieces(run.xyz[:, :2].copy(), parts_behind(moves, run), energy, response.first)
    price = _price(part.path, task, time_weight) * len(scene.samples.xy) / edge_weight
    step, corners, room = _shift(machine, scene.fwhm), _corners(moves, machine), np.array(bounds_of(task))
    partition = task.partition
    # Of a large design each field has its own.
    dose = relative_dose(run, light, task) if partition.single else np.zeros((0, 0))
    movable = np.ones(len(moves.xy), dtype=bool)
    seen = FieldDose(scene, dose)
    whole = PlacesJob(seen, moves.xy, movable, pieces, price, corners, step, room, process)
    if partition.single:
        xy, _ = field_places(whole)
    else:
        path = path_of(run, light, task)
        exposed = path.xy, path_energy(path, scene.spot) / scene.critical_dose
        xy = moves.xy + step * _by_fields(whole, exposed, moves.power > 0, partition)
    return xy[RESTS:]


def restored(
    program: MachineProgram, before: MachineProgram, places: Floats, wider: float = 1.0
) -> MachineProgram:
    """The program with its vertices and powers as they were before, around some places (K, 2) mm.

    wider: how far around them, relative to `_RESTORED_FWHM`.  Returned as it is if it has other moves than
    before.
    """
    (new,), (old,) = (tuple(part.path for part in one.parts) for one in (program, before))
    if len(new) != len(old) or not len(places):
        return program
    process = program.process
    away, _ = cKDTree(places).query((new.xy[1:] + new.xy[:-1]) / 2)
    near = away <= wider * _RESTORED_FWHM * fwhm(process.spot) + new.length / 2
    path = Toolpath(
        np.where(ends_of(near)[:, None], old.xy, new.xy),
        np.where(near, old.power, new.power),
        np.where(near, old.speed, new.speed),
    )
    return _written(path, old, process)


def _written(path: Toolpath, before: Toolpath, process: Process) -> MachineProgram:
    """The program of a path whose vertices have moved. before: the path with them as they were."""
    moves = convert.to_moves(_uncrowded(path, before, process.machine), process.machine)
    # Sharper corners make the head slower than it was told.
    placed = gcode.motion.at_peak(moves, convert.controller(process.machine), process.resin.order)
    return MachineProgram.of_moves(placed, process)


@dataclass(frozen=True, slots=True, eq=False)
class PlacesJob:
    """Vertices xy (rows + 1, 2) mm to be moved, those that are `movable` (rows + 1,).

    seen: the dose.  price: (rows + 1, 2) loss per mm.  step: (2,) mm.  room: (2, 2) mm, corners of their
    range.
    """

    seen: FieldDose
    xy: Floats
    movable: Bools
    pieces: MovedPieces
    price: Floats
    corners: CornerSpeeds
    step: Floats
    room: Floats
    process: Process


def field_places(job: PlacesJob) -> tuple[Floats, Ints]:
    """The vertices (rows + 1, 2), mm, where they place the edges best, and their steps."""
    scene, pieces, xy = job.seen.scene, job.pieces, job.xy.copy()
    pieces = pieces._replace(energy=pieces.energy * acting_on(pieces.ends, scene.spot))
    rows = job.movable[1:] | job.movable[:-1]
    lit = (pieces.energy > 0) & np.repeat(rows, np.diff(pieces.first))
    points, spot, dose = watched(job.seen, pieces.ends, lit, job.process, _REACH_FWHM, coarse=True)
    bright = points.xy[(dose > _BRIGHT * scene.resin.over_dose) | (dose < points.low)]
    near, total = _near(pieces, scene, bright) & job.movable, np.zeros(xy.shape, np.int64)
    for _ in range(_FURTHEST):
        gone = np.zeros(xy.shape, np.int64)
        effect = effects(near, job.step, pieces, spot, points)
        if not descend(
            xy, gone, job.room, job.price, job.step, job.corners, dose, points, effect, PENALTY, _SWEEPS, 1
        ):
            break
        pieces, total = _shifted(pieces, gone * job.step), total + gone
    return xy, total


def _by_fields(whole: PlacesJob, exposed: tuple[Floats, Floats], lit: Bools, partition: Partition) -> Ints:
    """(rows + 1, 2) steps of the vertices of a whole design, field by field. lit: (rows,).

    exposed: (P + 1, 2) mm and (P,) line energies, relative, of the path before vertices move.
    """
    pieces, scene, process = whole.pieces, whole.seen.scene, whole.process
    steps = np.zeros(whole.xy.shape, np.int64)
    full = float(energy_at_full_power(1.0, process.machine, scene.spot)) / scene.critical_dose
    model = given_model(partition.given_grid, scene.spot)

    def per_length(shown: MovedPieces, changed: Bools) -> Floats:
        length = np.hypot(*np.diff(shown.ends, axis=0).T)
        exposes = changed & (length > POINT)
        return full * np.divide(shown.energy, length, out=np.zeros(len(length)), where=exposes)

    def light() -> Floats | TiledDose:
        if not steps.any():
            return model.dose_by_rows(*exposed)
        now, (xy, energy) = _shifted(pieces, steps * whole.step), exposed
        moved = (now.ends != pieces.ends).any(axis=1)
        changed = moved[1:] | moved[:-1]
        # With what the pieces expose where they are, less what they did where they were, as one path.
        ends = np.vstack([xy, now.ends, pieces.ends])
        parts = energy, np.zeros(1), per_length(now, changed), np.zeros(1), -per_length(pieces, changed)
        return model.dose_by_rows(ends, np.concatenate(parts))

    def job(view: FieldView, part: RunPart, zero: Floats) -> JobOfField[PlacesJob]:
        own = MovedPieces(
            pieces.ends[part.end] - zero, part.of_pieces(pieces.part, 1.0),
            part.of_pieces(pieces.energy, 0.0), part.first,
        )  # fmt: skip
        square = whole.corners.square[part.vertex].copy()
        square[ends_of(part.row < 0)] = 0.0  # no head passes there
        return partial(
            PlacesJob,
            xy=whole.xy[part.vertex] - zero,
            movable=part.vertices,
            pieces=own,
            price=whole.price[part.vertex],
            corners=whole.corners._replace(square=square),
            step=whole.step,
            room=whole.room - zero,
            process=process,
        )

    parts = run_parts(partition, whole.xy, pieces.first, lit)
    for part, (_, found) in by_fields(partition, parts, light, job, field_places, scene):
        steps[part.vertex[part.vertices]] = found[part.vertices]
    return steps


def _shifted(pieces: MovedPieces, by: Floats) -> MovedPieces:
    """The pieces after shifts of their rows' vertices, by: (rows + 1, 2) mm, with their energy per length."""
    count = np.diff(pieces.first)
    row, part = np.repeat(np.arange(len(count)), count), pieces.part[:, None]
    ends = pieces.ends.copy()
    ends[1:] += (1 - part) * by[row] + part * by[row + 1]
    before, after = (np.hypot(*np.diff(xy, axis=0).T) for xy in (pieces.ends, ends))
    longer = np.divide(after, before, out=np.ones_like(after), where=before > POINT)
    return pieces._replace(ends=ends, energy=pieces.energy * longer)


def _near(pieces: MovedPieces, scene: Scene, bright: Floats) -> Bools:
    """(rows + 1,) whether a line that begins or ends at a vertex has a lit piece near what counts.

    That is the outline, and places that are nearly too bright, bright: (K, 2) mm.
    """
    places = cKDTree(np.vstack([scene.samples.xy, bright]))
    distance, _ = places.query(pieces.ends, distance_upper_bound=_NEAR_FWHM * scene.fwhm)
    close = np.isfinite(distance)
    lit = (close[:-1] | close[1:]) & (pieces.energy > 0)
    rows = np.diff(np.append(0, np.cumsum(lit))[pieces.first]) > 0
    return ends_of(rows)


def _uncrowded(moved: Toolpath, before: Toolpath, machine: Machine) -> Toolpath:
    """The moved path, with vertices back where they were wherever the link could feed it no longer."""
    if not (moved.on & (crowding(moved, machine) > FULL)).any():
        return moved
    xy, allowed = moved.xy.copy(), np.maximum(crowding(before, machine), FULL)
    while (crowded := moved.on & (crowding(moved, machine) > allowed)).any():
        here = ends_of(crowded)
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


def _corners(moves: gcode.Moves, machine: Machine) -> CornerSpeeds:
    """The planned speeds at all vertices, and the limits that they come from."""
    limits = convert.limits(machine)
    entry = gcode.motion.profile(moves, limits).entry
    acceleration = np.asarray(limits.acceleration, np.float64)
    shortest = convert.controller(machine).shortest_move
    return CornerSpeeds(
        np.append(entry, 0.0) ** 2, acceleration, float(limits.junction_deviation), float(shortest)
    )
