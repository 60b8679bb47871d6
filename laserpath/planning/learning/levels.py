"""Choice of the levels: for each move the power whose light, as executed, places the edges best.

The energies of the moves can only have the values that levels and segments allow: at level 3 the next one is
25 % brighter. Rounding each to the nearest leaves that error to chance. Here the moves are taken one by one,
and each gets the power, of those with the next higher and lower energies, that lowers

    Σ_m √(ε_m² + δ²) + w Σ_j max(0, l_j − u_j, u_j − h_j)²,   ε_m = (u_m − 1)/(F |∂u/∂n|_m),

over the points m of the outline with the relative dose u, and control points j inside and outside, until no
single change helps: coordinate descent on an integer problem. So errors of neighbours cancel within the spot,
and what no level can give is dithered. The dose is exact at the start, and each change adds the spot's
density along the pieces within `_REACH_FWHM`; with an Airy spot 5 % of the change lies outside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

import gcode
from laserpath import optics
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.design.contour import sampling_matrix
from laserpath.design.scene import Scene
from laserpath.dose import accurate_model
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, ProgramPart, longest_piece
from laserpath.machine.rest import RESTS, rested
from laserpath.planning.learning import kernel
from laserpath.planning.optimise.objective import EdgeTerm
from laserpath.planning.task import Task
from laserpath.resin import line_energy
from laserpath.types import Process, Spot

_REACH_FWHM = 2.5
"""Radius of the spot within which a change of level is followed: a larger one is more exact and slower."""

_TABLE_FWHM = 1 / 20
"""Pitch of the table of the spot: a smaller one is more exact."""

_FLATTEST = 0.5
"""Least F|∂u/∂n|, so that an edge without slope does not outweigh all others."""

_CONTROL_FWHM = 0.35
"""Distance of the control points inside and outside: a smaller one finds narrower hot spots."""

_DEEP_FWHM, _NEAR_FWHM, _FAR_FWHM = 0.4, 0.15, 1.5
"""Distances from the outline: points deeper inside than the first must be cured and those further outside, up
to the third, not; over-dose counts from the second on."""

_CURED, _DARK = 1.3, 0.7
"""Relative doses that points inside may not fall below, and outside not exceed, unless they did before."""

_OVER_DOSE_SHARE = 1.0
"""Doses above this share of the limit are penalised: a smaller one leaves more margin."""

_HOT = 0.85
"""Share of the largest dose allowed from which every pixel is a control point: a smaller one watches more."""

_WEIGHT = 200.0
"""w, in edge errors of one FWHM: a larger one holds the control points more strictly."""

_SWEEPS = 20
"""Most passes over all moves; they end when nothing changes any more."""


def best_levels(program: MachineProgram, task: Task) -> MachineProgram:
    """The program with the powers that place its edges best; its positions and feeds stay.

    Programs of machines with a lag are returned as they are: their commands come early, between the moves.
    """
    (part,) = program.parts
    machine, process = task.machine, task.process
    if any((machine.lag, machine.laser_on_delay, machine.laser_off_delay)):
        return program
    for _ in range(2 if gcode.dialect(machine.dialect).controller == "marlin" else 1):
        moves = rested(convert.to_moves(part.path, machine))
        response = gcode.motion.Response.of(
            moves, convert.controller(machine), convert.board(process), characters=_sent(part),
            longest=longest_piece(process),
        )  # fmt: skip
        digits = np.rint(moves.power / response.rules.digit).astype(np.int64)
        field = _Watch.of(response, digits, task)
        kernel.descend(
            digits, response.first, response.share, response.run.duration, response.rules,
            field.dose, field.points, field.effect, _WEIGHT, _SWEEPS,
        )  # fmt: skip
        power = np.minimum(digits[RESTS:] * response.rules.digit, 1.0) * machine.power_max
        moves = convert.to_moves(replace(part.path, power=power), machine)
        program = MachineProgram.of_moves(moves, process)
        (part,) = program.parts
    return program


def _sent(part: ProgramPart) -> Indices:
    """(RESTS + N,) characters of the dwells, which do not matter, and of each move."""
    assert part.transmitted is not None, "a program that was read back knows its lines"
    return np.append(np.zeros(RESTS, np.int64), part.transmitted.characters)


@dataclass(frozen=True, slots=True)
class _Watch:
    """dose: (M,) relative, at the points.  effect: of each piece on them."""

    dose: Floats
    points: kernel.WatchedPoints
    effect: kernel.Influence

    @classmethod
    def of(cls, response: gcode.motion.Response, digits: Indices, task: Task) -> _Watch:
        """The points around a design, and the dose of a run there."""
        scene, run = task.scene, response.run
        light = response.light((digits * response.rules.digit).astype(np.float64))
        lit = light > 0
        dose = _relative_dose(run, light, task)
        points, at = _points(dose, scene)
        spot = _table(scene.spot, task.process)
        room = 40 * len(lit)
        while True:
            effect = kernel.Influence(
                np.zeros(len(lit) + 1, np.int64), np.zeros(room, np.int32), np.zeros(room, np.float32)
            )
            needed = kernel.influence(run.xyz[:, :2].copy(), lit, spot, points, room, effect)
            if needed <= room:
                return cls(at, points, effect)
            room = needed


def _relative_dose(run: gcode.motion.Executed, light: Floats, task: Task) -> Floats:
    """(rows, columns) dose of a run with this light (P,), in critical doses."""
    path = convert.from_moves(replace(run, light=np.asarray(light, np.float64)).moves(), task.machine)
    scene = task.scene
    return np.asarray(accurate_model(scene.grid, scene.spot).dose(path) / scene.critical_dose, np.float64)


def _points(dose: Floats, scene: Scene) -> tuple[kernel.WatchedPoints, Floats]:
    """The points of the outline and the control points, and the relative doses there."""
    edge, flat = EdgeTerm.of(scene), dose.ravel()
    on = edge.value @ flat
    steep = np.maximum(np.abs(edge.slope @ flat), _FLATTEST)
    xy, deep = _control(scene, dose)
    around = sampling_matrix(scene.grid, xy) @ flat
    highest = _OVER_DOSE_SHARE * scene.resin.over_dose
    inside, outside = deep > _DEEP_FWHM * scene.fwhm, deep < 0
    low = np.where(inside, np.minimum(_CURED, around), -np.inf)
    high = np.where(outside, np.maximum(_DARK, around), highest)
    places = np.vstack([scene.samples.xy, xy])
    columns, corner, start, member = _cells(places, _REACH_FWHM * scene.fwhm)
    free = np.full(len(on), np.inf)
    points = kernel.WatchedPoints(
        places, np.concatenate([steep, np.zeros(len(xy))]), np.concatenate([-free, low]),
        np.concatenate([free, high]), start, member, columns, corner,
    )  # fmt: skip
    return points, np.concatenate([on, around])


def _control(scene: Scene, dose: Floats) -> tuple[Floats, Floats]:
    """(J, 2) control points, mm, and (J,) how deep inside they are, mm, negative outside.

    They are on a square lattice, and wherever the dose (rows, columns) is high.
    """
    grid = scene.grid
    solid: Bools = scene.target.coverage > 0.5
    deep = ndimage.distance_transform_edt(solid) - ndimage.distance_transform_edt(~solid)
    stride = max(1, round(_CONTROL_FWHM * scene.fwhm / grid.pitch))
    chosen = dose > _HOT * scene.resin.over_dose
    chosen[::stride, ::stride] = True
    rows, columns = np.nonzero(chosen)
    deep = deep[rows, columns] * grid.pitch
    near = (deep > _NEAR_FWHM * scene.fwhm) | (
        (deep < -_DEEP_FWHM * scene.fwhm) & (deep > -_FAR_FWHM * scene.fwhm)
    )
    xy = np.asarray(grid.origin) + grid.pitch * np.column_stack([columns[near], rows[near]])
    return xy, deep[near]


def _cells(xy: Floats, side: float) -> tuple[int, Floats, Indices, Indices]:
    """Points by square cells: their columns, the lower-left corner, where each begins, and the points."""
    corner = xy.min(axis=0)
    place = ((xy - corner) / side).astype(np.int64)
    columns, rows = place.max(axis=0) + 1
    cell = place[:, 1] * columns + place[:, 0]
    member = np.argsort(cell, kind="stable")
    start = np.searchsorted(cell[member], np.arange(columns * rows + 1))
    return int(columns), corner, start.astype(np.int64), member.astype(np.int64)


def _table(spot: Spot, process: Process) -> kernel.SpotTable:
    """The spot's density times the relative dose of 1 s of full light."""
    fwhm = optics.fwhm(spot)
    reach, pitch = _REACH_FWHM * fwhm, _TABLE_FWHM * fwhm
    at = np.arange(-reach, reach + 1.5 * pitch, pitch)
    x, y = np.meshgrid(at, at)
    full = float(line_energy(process.machine.power_max, 1.0, spot))
    density = np.where(np.hypot(x, y) <= reach, optics.profile(spot, x, y), 0.0)
    return kernel.SpotTable(full / process.resin.critical_dose * density, pitch, reach)
