"""Choice of the levels: for each move the power whose light, as executed, places the edges best.

The energies of the moves can only have the values that levels and segments allow: at level 3 the next one is
25 % brighter. Rounding each to the nearest leaves that error to chance. Here the moves are taken one by one,
and each gets the power, of those with the next higher and lower energies, that lowers

    Σ_m [√(ε_m² + δ²) + η/s_m] + w Σ_j max(0, l_j − u_j, u_j − h_j)²,   ε_m = (u_m − 1)/s_m,  s = F |∂u/∂n|,

over the points m of the outline with the relative dose u, and control points j inside and outside, until no
single change helps. η/s is the shift of an edge where the dose is off by the share η. It is linearised, as a
price on the dose of points beside the outline. This is coordinate descent on an integer problem: errors of
neighbours cancel within the spot, and what no level can give is dithered. It runs again on what it made,
executed with the new powers, because a line deep inside, which moves the edge only by a ring of the spot, may
have become too bright. The dose is exact at the start, and each change adds the spot's density along the
pieces within `_REACH_FWHM`; with an Airy spot 5 % of the change lies outside.

Influence of pieces on points, and the descent, are compiled: it goes through the moves one by one, each with
the result of those before, which no array operation does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gcode
from gcode.compiled import cached
from gcode.motion.response import PowerRules, centred, light, neighbour
from gcode.move import numbered
from laserpath.base.arrays import Bools, Floats, Indices, by_group
from laserpath.base.arrays import Indices as Ints
from laserpath.base.compute.beside import in_parts
from laserpath.design.partition import FieldView, given_model
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, ProgramPart, longest_piece
from laserpath.machine.rest import RESTS, rested
from laserpath.measure.edges import doses_at
from laserpath.physics.dose import TiledDose, accurate_model
from laserpath.physics.dose.uneven import acting
from laserpath.physics.resin import path_energy
from laserpath.planning.compensation.by_field import FieldDose, JobOfField, RunPart, by_fields, run_parts
from laserpath.planning.compensation.density import (
    SpotTable,
    density_along,
    is_long,
    mean_density,
    spot_table,
)
from laserpath.planning.task import Task
from laserpath.types import Process, Spot, Toolpath

Array = NDArray[Any]

_ROUNDING2 = 1e-4
"""δ², the square of the edge error, in FWHM, below which it counts less: a larger one weighs small errors
less."""

_STEPS = 2
"""Levels up and down that are tried at once: more leave fewer local minima, and take longer."""

_GAIN = 1e-9
"""Least gain of a change: a larger one ends the descent earlier."""

njit = cached(error_model="numpy", nogil=True)


class WatchedPoints(NamedTuple):
    """xy: (M, 2) mm.  steepness: (M,) F·|∂u/∂n| of points on the outline, 0 elsewhere.

    low, high: (M,) doses beyond which a point is penalised.  price: (M,) loss per dose.
    start: where the points of each square cell begin, which have the side `spot.reach` and are on `columns`
    columns, the first with its corner at `corner`.
    """

    xy: Array
    steepness: Array
    low: Array
    high: Array
    price: Array
    start: Ints
    columns: int
    corner: Array


class LightGroups(NamedTuple):
    """Neighbouring pieces of one row with one share of its power: they brighten and darken together.

    piece: (G+1,) first piece of each group.  first: (rows + 1,) first group of each row.
    share: (G,) of the row's power.  duration: (G,) s.
    """

    piece: Ints
    first: Ints
    share: Array
    duration: Array


class Influence(NamedTuple):
    """Dose of group g at point[first[g]] … point[first[g + 1]], per s of full light."""

    first: Ints
    point: Any
    dose: Any


def groups_of(first: Ints, share: Array, duration: Array) -> LightGroups:
    """The groups of pieces (P,) with these shares and durations. first: (rows + 1,) piece of each row."""
    new = np.append(True, share[1:] != share[:-1])
    new[first[first < len(share)]] = True
    piece = np.append(np.flatnonzero(new), len(share))
    total = np.add.reduceat(duration, piece[:-1])
    return LightGroups(piece, np.searchsorted(piece, first), share[piece[:-1]], total)


@njit
def cells_near(a: Array, b: Array, spot: SpotTable, points: WatchedPoints) -> tuple[int, int, int, int]:
    """First and last column, and first and last row, of the cells that the spot reaches from a to b."""
    low = np.floor((np.minimum(a, b) - points.corner) / spot.reach) - 1
    high = np.floor((np.maximum(a, b) - points.corner) / spot.reach) + 1
    rows = (len(points.start) - 1) // points.columns
    left, right = max(int(low[0]), 0), min(int(high[0]), points.columns - 1)
    return left, right, max(int(low[1]), 0), min(int(high[1]), rows - 1)


def influence(
    ends: Array, lit: Any, duration: Array, groups: LightGroups, spot: SpotTable, points: WatchedPoints
) -> Influence:
    """The dose of each group at the points that its pieces reach.

    ends: (P+1, 2) mm, lit, duration: (P,), s, of the pieces.
    """

    def part(first: int, end: int) -> tuple[Ints, Any, Any]:
        return _influence(first, end, ends, lit, duration, groups, spot, points)

    return Influence(*joined(in_parts(part, len(groups.share))))


def joined(parts: Sequence[tuple[Ints, Any, Any]]) -> tuple[Ints, Any, Any]:
    """One list of the lists of successive rows: where each row begins, its points, and what they get."""
    if len(parts) == 1:
        return parts[0]
    counts, points, values = zip(*parts, strict=True)
    first = np.append(0, np.cumsum(np.concatenate([np.diff(one) for one in counts])))
    return first, np.concatenate(points), np.concatenate(values)


@njit
def _influence(
    start: int, end: int, ends: Array, lit: Any, duration: Array, groups: LightGroups, spot: SpotTable,
    points: WatchedPoints,
) -> tuple[Ints, Any, Any]:  # fmt: skip
    """`influence` of the groups from `start` to before `end`, as `joined` takes it."""
    count, first = 0, np.zeros(end - start + 1, np.int64)
    room = 64 * (groups.piece[end] - groups.piece[start])
    point, value = np.empty(room, np.int32), np.empty(room, np.float32)
    total, touched = np.zeros(len(points.xy)), np.zeros(len(points.xy), np.int64)
    for g in range(start, end):
        n = first[0]  # 0, not as a literal: that is a type of its own, and `_expose` compiled once more
        for p in range(groups.piece[g], groups.piece[g + 1]):
            if lit[p]:
                part = duration[p] / groups.duration[g]
                n = _expose(total, touched, n, ends[p], ends[p + 1], part, spot, points)
        if count + n > len(point):
            more = max(len(point) // 2, n)
            point = np.append(point, np.empty(more, np.int32))
            value = np.append(value, np.empty(more, np.float32))
        for m in touched[:n]:
            point[count], value[count] = m, total[m]
            total[m] = 0.0
            count += 1
        first[g - start + 1] = count
    return first, point[:count], value[:count]


@njit
def _expose(
    total: Array, touched: Ints, n: int, a: Array, b: Array, part: float, spot: SpotTable,
    points: WatchedPoints,
) -> int:  # fmt: skip
    """Add `part` of the mean dose of a piece from a to b to `total`; return how many are now `touched`."""
    u, v, xy = b[0] - a[0], b[1] - a[1], points.xy
    length, along = math.sqrt(u * u + v * v), is_long(u, v, spot)
    parts = max(2, int(np.ceil(length / (spot.reach / 8))))
    near = (spot.reach + 1.5 * spot.pitch + length / 2) ** 2
    left, right, lower, upper = cells_near(a, b, spot, points)
    for row in range(lower, upper + 1):
        cell = row * points.columns
        for m in range(points.start[cell + left], points.start[cell + right + 1]):
            x, y = xy[m, 0] - a[0], xy[m, 1] - a[1]
            if (x - u / 2) ** 2 + (y - v / 2) ** 2 > near:
                continue
            dose = density_along(x, y, u, v, spot) if along else mean_density(x, y, u, v, parts, spot)
            if dose > 0:
                if total[m] == 0:
                    touched[n] = m
                    n += 1
                total[m] += part * dose
    return n


@njit
def cost(u: float, m: int, points: WatchedPoints, weight: float) -> float:
    """Loss of point m at relative dose u: its edge error in FWHM, its price, and the penalty."""
    loss = points.price[m] * u
    if points.steepness[m] > 0:
        error = (u - 1) / points.steepness[m]
        loss += np.sqrt(error * error + _ROUNDING2)
    beyond = max(points.low[m] - u, u - points.high[m], 0.0)
    return loss + weight * beyond * beyond


@njit
def cost_slope(u: float, m: int, points: WatchedPoints, weight: float) -> float:
    """Derivative of `cost` by u. Cost is convex, so that a change by d gains at most −d times that."""
    slope = points.price[m]
    if points.steepness[m] > 0:
        error = (u - 1) / points.steepness[m]
        slope += error / np.sqrt(error * error + _ROUNDING2) / points.steepness[m]
    return slope + 2 * weight * (max(u - points.high[m], 0.0) - max(points.low[m] - u, 0.0))


@njit
def descend(
    power: Ints, groups: LightGroups, rules: PowerRules, dose: Array, points: WatchedPoints,
    effect: Influence, weight: float, sweeps: int,
) -> int:  # fmt: skip
    """Change `power` (rows,) digits and `dose` (M,) in place while the loss falls; return how often.

    After the first sweep a row is looked at only if the dose of a point has changed that it reaches. So the
    result is that of looking at all.
    """
    change, touched = np.zeros(len(dose)), np.zeros(len(dose), np.int64)
    seen, changed = np.full(len(power), -1), np.zeros(len(dose), np.int64)
    slope = np.empty(len(dose))
    for m in range(len(dose)):
        slope[m] = cost_slope(dose[m], m, points, weight)
    changes = before = 0
    for _ in range(sweeps):
        for k in range(len(power)):
            if power[k] <= 0 or not _concerned(k, groups, effect, changed, seen[k]):
                continue
            seen[k] = changes
            chosen = _best(change, touched, k, power[k], groups, rules, dose, slope, points, effect, weight)
            if chosen < 0:
                continue
            changes += 1
            n = _add(change, touched, k, power[k], chosen, groups, rules, effect)
            for m in touched[:n]:
                dose[m] += change[m]
                slope[m] = cost_slope(dose[m], m, points, weight)
                change[m] = 0.0
                changed[m] = changes
            share = groups.share[groups.first[k] : groups.first[k + 1]]
            power[k] = centred(rules, share, chosen)
        if changes == before:
            break
        before = changes
    return changes


@njit
def _best(
    change: Array, touched: Ints, k: int, power: int, groups: LightGroups, rules: PowerRules, dose: Array,
    slope: Array, points: WatchedPoints, effect: Influence, weight: float,
) -> int:  # fmt: skip
    """The power of row k, of those next to its own, that lowers the loss most; −1 if none does.

    What the slopes rule out is not evaluated. A direction is left where a step gains no more than the best.
    """
    share = groups.share[groups.first[k] : groups.first[k + 1]]
    pull = np.zeros(len(share))
    for g in range(len(share)):
        here = groups.first[k] + g
        for i in range(effect.first[here], effect.first[here + 1]):
            pull[g] += slope[effect.point[i]] * effect.dose[i]
    best, chosen = _GAIN, -1
    for up in (False, True):
        other = power
        for _step in range(_STEPS):
            other = neighbour(rules, share, other, up)
            if other < 0:
                break
            most = 0.0
            for g in range(len(share)):
                duration = groups.duration[groups.first[k] + g]
                most -= (light(rules, share[g], other) - light(rules, share[g], power)) * duration * pull[g]
            if most <= best:
                continue
            gain = 0.0
            n = _add(change, touched, k, power, other, groups, rules, effect)
            for m in touched[:n]:
                gain += cost(dose[m], m, points, weight)
                gain -= cost(dose[m] + change[m], m, points, weight)
                change[m] = 0.0
            if gain <= best:
                break
            best, chosen = gain, other
    return chosen


@njit
def _concerned(k: int, groups: LightGroups, effect: Influence, changed: Ints, seen: int) -> bool:
    """Whether row k was not looked at yet, or the dose of a point that it reaches has changed since."""
    if seen < 0:
        return True
    for i in range(effect.first[groups.first[k]], effect.first[groups.first[k + 1]]):
        if changed[effect.point[i]] > seen:
            return True
    return False


@njit
def _add(
    change: Array, touched: Ints, k: int, before: int, after: int,
    groups: LightGroups, rules: PowerRules, effect: Influence,
) -> int:  # fmt: skip
    """Add to `change` what row k changes; return how many points are `touched`."""
    n = 0
    for g in range(groups.first[k], groups.first[k + 1]):
        share = groups.share[g]
        energy = (light(rules, share, after) - light(rules, share, before)) * groups.duration[g]
        if energy == 0:
            continue
        for i in range(effect.first[g], effect.first[g + 1]):
            m = effect.point[i]
            if change[m] == 0:
                touched[n] = m
                n += 1
            change[m] += energy * effect.dose[i]
    return n


_REACH_FWHM = 2.5
"""Radius of the spot within which a change of level is followed: a larger one is more exact and slower."""

_FLATTEST = 0.5
"""Least F|∂u/∂n|, so that an edge without slope does not outweigh all others."""

_DOSE_ERROR = 0.1
"""η: a larger value gives a narrower PV band, but a larger edge error."""

_BESIDE_FWHM = 0.15
"""Distance from the outline of the points that give its slope: a larger one blurs it."""

_SLOPED = 1.0
"""s from which an edge is to become steeper: flatter ones are at tips, which a larger value keeps."""

_CONTROL_FWHM = 0.35
"""Distance of the control points inside and outside: a smaller one finds narrower hot spots."""

_DEEP_FWHM, _NEAR_FWHM, _FAR_FWHM = 0.4, 0.15, 1.5
"""Distances from the outline: points deeper inside than the first must be cured and those further outside, up
to the third, not; over-dose counts from the second on."""

_CURED, _DARK = 1.3, 0.7
"""Relative doses that points inside may not fall below, and outside not exceed, unless they did before."""

_FAINT, _FULL = 0.75, 1.25
"""Relative doses that points of the outline may not fall below, and not exceed, unless they did before: a
narrow tip that is lost, or a narrow gap, is worse than its edge error tells."""

_THIN = 1.05
"""Relative dose that the middle of a narrow bar may not fall below, and its inverse that of a narrow gap not
exceed, unless they did before; a larger one keeps more of both, and leaves less freedom to the edges."""

_SLACK = 0.4
"""Relative dose by which points may be within their limits and are watched though changes are small: a larger
one watches more that cannot be reached."""

_OVER_DOSE_SHARE = 1.0
"""Doses above this share of the limit are penalised: a smaller one leaves more margin."""

_HOT = 0.85
"""Share of the largest dose allowed from which every pixel is a control point: a smaller one watches more."""

_WARM = 0.6
"""Share of the largest dose allowed from which the lit path is watched: a smaller one watches more of it."""

PENALTY = 200.0
"""w, in edge errors of one FWHM: a larger one holds the control points more strictly."""

_PATH_FWHM = 0.2
"""Distance of the control points along the lit path: a smaller one finds narrower hot spots."""

_SWEEPS = 20
"""Most passes over all moves; they end when nothing changes any more."""


def best_levels(program: MachineProgram, task: Task) -> MachineProgram:
    """The program with the powers that place its edges best; its positions and feeds stay.

    This is one descent, from one execution. A further one finds the hot spots that the one before it made. On
    Marlin the ramps, and on a serial line the first moves, depend on powers.
    Programs of machines with a lag are returned as they are: their commands come early, between the moves.
    """
    (part,) = program.parts
    machine, process = task.machine, task.process
    if convert.strokes_move(machine, task.scene.fwhm):
        return program
    power = _best_powers(part, task)
    if power is None:
        return program
    return MachineProgram.of_moves(convert.to_moves(replace(part.path, power=power), machine), process)


def _best_powers(part: ProgramPart, task: Task) -> Floats | None:
    """(N,) mW, the powers of a program's path that place its edges best; None: they are its own.

    Apart from the program that has them, so that what it takes is let go before that is written.
    """
    moves, response = response_of(part, task.process)
    digits = np.rint(moves.power / response.rules.digit).astype(np.int64)
    found = _best_digits(moves.xy, response, digits, task)
    if (found == digits).all():
        return None
    return np.minimum(found[RESTS:] * response.rules.digit, 1.0) * task.machine.power_max


def _best_digits(xy: Floats, response: gcode.motion.Response, digits: Indices, task: Task) -> Indices:
    """(rows,) the powers, in digits, that place the edges best; of a large design, field by field.

    xy: (rows + 1, 2) mm.  digits: (rows,) as they are.
    """
    run, scene, rules, digits = response.run, task.scene, response.rules, digits.copy()

    def light() -> Floats:
        return np.asarray(response.light((digits * rules.digit).astype(np.float64)))

    lit, ends, process = light() > 0, run.xyz[:, :2].copy(), task.process
    partition = task.partition
    if partition.single:
        seen = FieldDose(scene, relative_dose(run, light(), task))
        pieces = ends, lit, run.duration, response.share
        return field_levels(LevelsJob(seen, *pieces, response.first, digits, rules, process))
    model = given_model(partition.given_grid, scene.spot)

    def given() -> Floats | TiledDose:
        path = path_of(run, light(), task)
        return model.dose_by_rows(path.xy, path_energy(path, scene.spot) / scene.critical_dose)

    def job(view: FieldView, part: RunPart, zero: Floats) -> JobOfField[LevelsJob]:
        own = np.repeat(part.own, np.diff(part.first)) & part.of_pieces(lit, False)
        duration, share = (part.of_pieces(one, 0.0) for one in (run.duration, response.share))
        now, at = np.where(part.own, part.of_rows(digits, -1), -1), ends[part.end] - zero
        return partial(
            LevelsJob, ends=at, lit=own, duration=duration, share=share, first=part.first, digits=now,
            rules=rules, process=process,
        )  # fmt: skip

    parts = run_parts(partition, xy, response.first, digits > 0)
    for part, found in by_fields(partition, parts, given, job, field_levels, scene):
        digits[part.row[part.own]] = found[part.own]
    return digits


@dataclass(frozen=True, slots=True, eq=False)
class LevelsJob:
    """A run whose powers are to be chosen. seen: its dose.  ends: (P+1, 2) mm.

    lit, duration, share: (P,) of each piece.  first: (rows + 1,).  digits: (rows,), −1 of rows that stay.
    """

    seen: FieldDose
    ends: Floats
    lit: Bools
    duration: Floats
    share: Floats
    first: Indices
    digits: Indices
    rules: PowerRules
    process: Process


def field_levels(job: LevelsJob) -> Indices:
    """(rows,) the digits that place the edges best."""
    points, spot, dose = watched(job.seen, job.ends, job.lit, job.process, _REACH_FWHM)
    duration = job.duration * acting_on(job.ends, job.seen.scene.spot)
    groups, digits = groups_of(job.first, job.share, duration), job.digits.copy()
    effect = influence(job.ends, job.lit, duration, groups, spot, points)
    descend(digits, groups, job.rules, dose, points, effect, PENALTY, _SWEEPS)
    return digits


def acting_on(ends: Floats, spot: Spot) -> Floats | float:
    """What share of the dose of pieces acts, (P,), by the spot's map; 1 without one. ends: (P+1, 2) mm."""
    return 1.0 if spot.dose_map is None else acting(spot.dose_map, (ends[1:] + ends[:-1]) / 2)[0]


def response_of(part: ProgramPart, process: Process) -> tuple[gcode.Moves, gcode.motion.Response]:
    """The moves of a part with the dwells before them, and the light of their execution as sent."""
    machine = process.machine
    moves = rested(convert.to_moves(part.path, machine), machine)
    return moves, gcode.motion.Response.of(
        moves, convert.controller(machine), convert.board(process), characters=sent(part),
        longest=longest_piece(process),
    )  # fmt: skip


def sent(part: ProgramPart) -> Indices:
    """(RESTS + N,) characters of the dwells and of each move."""
    assert part.transmitted is not None, "a program that was read back knows its lines"
    return np.append(np.asarray(part.transmitted.rests, np.int64), part.transmitted.characters)


def relative_dose(run: gcode.motion.Executed, light: Floats, task: Task) -> Floats:
    """(rows, columns) accurate dose of a run with this light (P,) on the task's grid, in critical doses."""
    dose: Floats = accurate_model(task.scene.grid, task.scene.spot).dose(path_of(run, light, task))
    dose /= dose.dtype.type(task.scene.critical_dose)
    return dose


def path_of(run: gcode.motion.Executed, light: Floats, task: Task) -> Toolpath:
    """A run with this light (P,)."""
    return convert.from_moves(replace(run, light=np.asarray(light, np.float64)).moves(), task.machine)


def watched(
    seen: FieldDose, ends: Floats, lit: Bools, process: Process, reach: float, *, coarse: bool = False
) -> tuple[WatchedPoints, SpotTable, Floats]:
    """The points around a design, the spot's table, and the relative doses (M,) of a run at the points.

    ends: (P+1, 2) mm, of the pieces of the run, of which some are lit (P,).  reach: FWHM, of the table.
    coarse: for small changes of dose; of the hot pixels only the lattice and the hottest ones are watched, of
    the path fewer places, and nothing that is far within its limits.
    """
    control = _Control.of(seen.scene, seen.dose, ends, lit, coarse=coarse)
    points, at = _points(seen, control, reach)
    return points, spot_table(seen.scene.spot, process, reach), at


def _points(seen: FieldDose, control: _Control, reach: float) -> tuple[WatchedPoints, Floats]:
    """The points of the outline and beside it, the control points, and the relative doses there.

    What is too bright, or a pinhole, beyond the core is left to the field in whose core it is: as a rule its
    lines are the nearest. This one could only dim its own lines for it, and so lose their edges; it is not to
    make it worse.
    """
    scene, dose = seen.scene, seen.dose
    on, slope = scene.sampler(dose)
    steep = np.maximum(np.abs(slope), _FLATTEST)
    xy = control.xy
    around = doses_at(dose, scene.grid, xy)
    # What is not cured, or not dark, before need not become so; but a pinhole is to close.
    core = np.zeros(dose.shape, dtype=bool)
    core[seen.core] = True
    column, row = np.rint(scene.grid.to_pixels(xy)).astype(np.int64).T
    low, own = np.minimum(control.cured, around), core[row, column]
    low = np.where(own & (control.cured == _CURED), np.maximum(low, _THIN), low)
    bright, highest = np.isinf(control.dark), _OVER_DOSE_SHARE * scene.resin.over_dose
    high = np.where(bright, highest, control.dark)
    high = np.where(own & bright, high, np.maximum(high, around))
    beside, price = _beside(scene, steep)
    places = np.vstack([scene.samples.xy, beside, xy])
    columns, corner, start, order = _cells(places, reach * scene.fwhm)
    free = np.full(len(beside), np.inf)
    others = np.zeros(len(beside) + len(xy))
    points = WatchedPoints(
        places[order], np.concatenate([steep, others])[order],
        np.concatenate([np.minimum(_FAINT, on), -free, low])[order],
        np.concatenate([np.maximum(_FULL, on), free, high])[order],
        np.concatenate([np.zeros(len(on)), price, np.zeros(len(xy))])[order], start, columns, corner,
    )  # fmt: skip
    # Only changes of dose count beside the outline, so that the doses there may be any.
    return points, np.concatenate([on, np.ones(len(beside)), around])[order]


def _beside(scene: Scene, steep: Floats) -> tuple[Floats, Floats]:
    """(2M, 2) points inside and outside of the outline, mm, and (2M,) what their dose costs there.

    steep: (M,) s. With s = (u_inside − u_outside)/2b at a distance of b FWHM, ∂(η/s)/∂u = ∓η/(2b s²).
    """
    samples, by = scene.samples, _BESIDE_FWHM * scene.fwhm
    price = np.where(steep > _SLOPED, _DOSE_ERROR / (2 * _BESIDE_FWHM * steep**2), 0.0)
    xy = np.vstack([samples.xy - by * samples.normal, samples.xy + by * samples.normal])
    return xy, np.concatenate([-price, price])


@dataclass(frozen=True, slots=True)
class _Control:
    """xy: (J, 2) mm.  cured, dark: (J,) relative doses not to fall below, or not to exceed; infinite: any.

    The points are on a square lattice, along the lit path where the dose may become too high, wherever it is
    high already, and in the middle of bars and gaps too narrow for the lattice.
    """

    xy: Floats
    cured: Floats
    dark: Floats

    @classmethod
    def of(cls, scene: Scene, dose: Floats, ends: Floats, lit: Bools, *, coarse: bool) -> _Control:
        """dose: (rows, columns) relative.  ends: (P+1, 2) mm, of pieces that are `lit` (P,).

        coarse: as in `watched`.
        """
        grid, deep = scene.grid, scene.depth(_FAR_FWHM)
        narrow = _peaks(deep, 0.0, _DEEP_FWHM) | _peaks(-deep, 0.0, _DEEP_FWHM)
        stride = max(1, round(_CONTROL_FWHM * scene.fwhm / grid.pitch))
        hot = dose > _HOT * scene.resin.over_dose
        chosen = _peaks(dose, _WARM * scene.resin.over_dose, np.inf)
        if coarse:
            close = hot | np.where(deep > 0, dose < _CURED + _SLACK, dose > _DARK - _SLACK)
            chosen[::stride, ::stride] |= close[::stride, ::stride]
        else:
            chosen |= hot
            chosen[::stride, ::stride] = True
        chosen &= (deep > _NEAR_FWHM) | ((deep < -_DEEP_FWHM) & (deep > -_FAR_FWHM))
        rows, columns = np.nonzero(chosen | narrow)
        deep, narrow = deep[rows, columns], narrow[rows, columns]
        cured = np.where(deep > _DEEP_FWHM, _CURED, np.where(narrow & (deep > 0), _THIN, -np.inf))
        dark = np.where(deep < -_DEEP_FWHM, _DARK, np.where(narrow & (deep < 0), 1 / _THIN, np.inf))
        xy = grid.of_pixels(np.column_stack([columns, rows]))
        path = _along(ends, lit, (_CONTROL_FWHM if coarse else _PATH_FWHM) * scene.fwhm)
        column, row = np.rint(grid.to_pixels(path)).astype(np.int64).T
        path = path[dose[row, column] > (_HOT if coarse else _WARM) * scene.resin.over_dose]
        free = np.full(len(path), np.inf)
        return cls(np.vstack([xy, path]), np.append(cured, -free), np.append(dark, free))


@njit
def _peaks(values: Floats, least: float, most: float) -> Bools:
    """(rows, columns) whether a value between both limits, exclusive, is no less than any beside it."""
    rows, columns = values.shape
    found = np.zeros((rows, columns), np.bool_)
    for i in range(rows):
        for j in range(columns):
            value = values[i, j]
            if least < value < most:
                highest = True
                for k in range(max(i - 1, 0), min(i + 2, rows)):
                    for n in range(max(j - 1, 0), min(j + 2, columns)):
                        highest &= values[k, n] <= value
                found[i, j] = highest
    return found


def _along(ends: Floats, lit: Bools, apart: float) -> Floats:
    """(K, 2) mm, places on the lit pieces with these ends (P+1, 2), one in each square of side `apart`."""
    start, way = ends[:-1][lit], np.diff(ends, axis=0)[lit]
    count = np.ceil(np.hypot(*way.T) / apart).astype(np.int64).clip(1)
    piece, nth = numbered(count)
    xy = start[piece] + way[piece] * ((nth + 0.5) / count[piece])[:, None]
    _, first = np.unique(np.floor(xy / apart).astype(np.int64), axis=0, return_index=True)
    return np.asarray(xy[first])


def _cells(xy: Floats, side: float) -> tuple[int, Floats, Indices, Indices]:
    """Square cells: their columns, the lower-left corner, where each begins, and their points in turn."""
    corner = xy.min(axis=0)
    place = ((xy - corner) / side).astype(np.int64)
    columns, rows = place.max(axis=0) + 1
    cell = place[:, 1] * columns + place[:, 0]
    order, start = by_group(cell, int(columns * rows))
    return int(columns), corner, start, order
