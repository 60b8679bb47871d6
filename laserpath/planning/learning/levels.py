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
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

import gcode
from laserpath import optics
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.design.scene import Scene
from laserpath.dose import accurate_model
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, ProgramPart, longest_piece
from laserpath.machine.rest import RESTS, rested
from laserpath.planning.learning import kernel
from laserpath.planning.task import Task
from laserpath.resin import line_energy
from laserpath.types import Process, Spot

_REACH_FWHM = 2.5
"""Radius of the spot within which a change of level is followed: a larger one is more exact and slower."""

_TABLE_FWHM = 1 / 20
"""Pitch of the table of the spot: a smaller one is more exact."""

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
    if convert.lag(machine, task.scene.fwhm):
        return program
    moves, response = response_of(part, process)
    digits = np.rint(moves.power / response.rules.digit).astype(np.int64)
    field = _Watch.of(response, digits, task)
    changes = kernel.descend(
        digits, field.groups, response.rules, field.dose, field.points, field.effect, PENALTY, _SWEEPS,
    )  # fmt: skip
    if not changes:
        return program
    power = np.minimum(digits[RESTS:] * response.rules.digit, 1.0) * machine.power_max
    return MachineProgram.of_moves(convert.to_moves(replace(part.path, power=power), machine), process)


def response_of(part: ProgramPart, process: Process) -> tuple[gcode.Moves, gcode.motion.Response]:
    """The moves of a part with the dwells before them, and the light of their execution as sent."""
    machine = process.machine
    moves = rested(convert.to_moves(part.path, machine))
    return moves, gcode.motion.Response.of(
        moves, convert.controller(machine), convert.board(process), characters=sent(part),
        longest=longest_piece(process),
    )  # fmt: skip


def sent(part: ProgramPart) -> Indices:
    """(RESTS + N,) characters of the dwells and of each move."""
    assert part.transmitted is not None, "a program that was read back knows its lines"
    return np.append(np.asarray(part.transmitted.rests, np.int64), part.transmitted.characters)


@dataclass(frozen=True, slots=True)
class _Watch:
    """groups: of pieces that change together.  dose: (M,) relative, at the points.  effect: of each group on
    them.
    """

    groups: kernel.LightGroups
    dose: Floats
    points: kernel.WatchedPoints
    effect: kernel.Influence

    @classmethod
    def of(cls, response: gcode.motion.Response, digits: Indices, task: Task) -> _Watch:
        """The points around a design, and the dose of a run there."""
        run = response.run
        light = response.light((digits * response.rules.digit).astype(np.float64))
        lit = light > 0
        points, spot, at = watched(run, light, task, _REACH_FWHM, coarse=False)
        groups = kernel.groups_of(response.first, response.share, run.duration)
        effect = kernel.influence(run.xyz[:, :2].copy(), lit, run.duration, groups, spot, points)
        return cls(groups, at, points, effect)


def _relative_dose(run: gcode.motion.Executed, light: Floats, task: Task) -> Floats:
    """(rows, columns) dose of a run with this light (P,), in critical doses."""
    path = convert.from_moves(replace(run, light=np.asarray(light, np.float64)).moves(), task.machine)
    scene = task.scene
    return np.asarray(accurate_model(scene.grid, scene.spot).dose(path) / scene.critical_dose, np.float64)


def watched(
    run: gcode.motion.Executed, light: Floats, task: Task, reach: float, *, coarse: bool
) -> tuple[kernel.WatchedPoints, kernel.SpotTable, Floats]:
    """The points around a design, the spot's table, and the relative doses (M,) of a run at the points.

    light: (P,) of the pieces of the run.  reach: FWHM, of the table.
    coarse: for small changes of dose; of the hot pixels only the lattice and the hottest ones are watched, of
    the path fewer places, and nothing that is far within its limits.
    """
    dose, scene = _relative_dose(run, light, task), task.scene
    control = _Control.of(scene, dose, run.xyz[:, :2], light > 0, coarse=coarse)
    points, at = _points(dose, control, scene, reach)
    return points, _table(task.scene.spot, task.process, reach), at


def _points(
    dose: Floats, control: _Control, scene: Scene, reach: float
) -> tuple[kernel.WatchedPoints, Floats]:
    """The points of the outline and beside it, the control points, and the relative doses there."""
    on, slope = scene.sampler(dose)
    steep = np.maximum(np.abs(slope), _FLATTEST)
    xy = control.xy
    around = ndimage.map_coordinates(dose, scene.grid.to_pixels(xy).T[::-1], order=3, mode="grid-wrap")
    # What is not cured, or not dark, before need not become so.
    low, highest = np.minimum(control.cured, around), _OVER_DOSE_SHARE * scene.resin.over_dose
    high = np.where(np.isinf(control.dark), highest, np.maximum(control.dark, around))
    beside, price = _beside(scene, steep)
    places = np.vstack([scene.samples.xy, beside, xy])
    columns, corner, start, order = _cells(places, reach * scene.fwhm)
    free = np.full(len(beside), np.inf)
    others = np.zeros(len(beside) + len(xy))
    points = kernel.WatchedPoints(
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
        grid, deep = scene.grid, scene.depth
        narrow = (np.abs(deep) < _DEEP_FWHM) & (_ridge(deep) | _ridge(-deep))
        stride = max(1, round(_CONTROL_FWHM * scene.fwhm / grid.pitch))
        hot, warm = (dose > share * scene.resin.over_dose for share in (_HOT, _WARM))
        chosen = warm & (dose >= ndimage.maximum_filter(dose, 3))
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
        xy = np.asarray(grid.origin) + grid.pitch * np.column_stack([columns, rows])
        path = _along(ends, lit, (_CONTROL_FWHM if coarse else _PATH_FWHM) * scene.fwhm)
        column, row = np.rint(grid.to_pixels(path)).astype(np.int64).T
        path = path[dose[row, column] > (_HOT if coarse else _WARM) * scene.resin.over_dose]
        free = np.full(len(path), np.inf)
        return cls(np.vstack([xy, path]), np.append(cured, -free), np.append(dark, free))


def _ridge(distance: Floats) -> Bools:
    """(rows, columns) whether no pixel beside one is further from the outline. distance: ≤ 0 beyond it."""
    return np.asarray((distance > 0) & (distance >= ndimage.maximum_filter(distance, 3)))


def _along(ends: Floats, lit: Bools, apart: float) -> Floats:
    """(K, 2) mm, places on the lit pieces with these ends (P+1, 2), one in each square of side `apart`."""
    start, way = ends[:-1][lit], np.diff(ends, axis=0)[lit]
    count = np.ceil(np.hypot(*way.T) / apart).astype(np.int64).clip(1)
    piece = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    xy = start[piece] + way[piece] * ((nth + 0.5) / count[piece])[:, None]
    _, first = np.unique(np.floor(xy / apart).astype(np.int64), axis=0, return_index=True)
    return np.asarray(xy[first])


def _cells(xy: Floats, side: float) -> tuple[int, Floats, Indices, Indices]:
    """Square cells: their columns, the lower-left corner, where each begins, and their points in turn."""
    corner = xy.min(axis=0)
    place = ((xy - corner) / side).astype(np.int64)
    columns, rows = place.max(axis=0) + 1
    cell = place[:, 1] * columns + place[:, 0]
    start = np.append(0, np.cumsum(np.bincount(cell, minlength=columns * rows)))
    return int(columns), corner, start, np.argsort(cell, kind="stable")


def _table(spot: Spot, process: Process, within: float) -> kernel.SpotTable:
    """The spot's density times the relative dose of 1 s of full light. within: FWHM, its reach."""
    fwhm = optics.fwhm(spot)
    reach, pitch = within * fwhm, _TABLE_FWHM * fwhm
    at = np.arange(-reach, reach + 1.5 * pitch, pitch)
    x, y = np.meshgrid(at, at)
    full = float(line_energy(process.machine.power_max, 1.0, spot))
    density = np.where(np.hypot(x, y) <= reach, optics.profile(spot, x, y), 0.0)
    return kernel.SpotTable(full / process.resin.critical_dose * density, pitch, reach)
