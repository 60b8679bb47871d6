"""Dots: strokes that are nearly points, made so that the controller exposes them.

A stroke far shorter than the spot exposes the same round dot as a point, but no controller exposes a point:
GRBL's M4 is dark where the head has no speed, and a stroke shorter than a motor step is not a move at all. So
a stroke whose extent is below `DOT_FWHM` becomes a straight line of that length, with the same energy. Marlin
leaves out longer moves, too: its dots are as long as the shortest that it takes.

A steep threshold has no slope where the dose is far below it, so no optimiser finds a place that its path has
left out, such as the middle of a spiral. `filled` puts a dot there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats, runs
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.powers import within_power
from laserpath.physics import optics
from laserpath.planning.optimise.loop import bounds_of
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Machine, Process, Spot, StraightMoves, Toolpath

DOT_FWHM = 0.2
"""Least extent of a stroke, which exposes a dot: a longer one makes dots oval, and in a shorter one GRBL's M4
is dark, since the head gains no speed."""

_INSIDE_FWHM = 0.5
"""Distance inside the outline from which a place is filled: a smaller one fills what an edge or tip lacks."""

_FILLED = 1.3
"""Relative dose of a place that is filled: a larger one leaves more to take away."""

_MOST_DARK = 0.05
"""Share of the inside that dots may fill: where more is dark, lines are missing, or power."""

_ROUNDING = 1e-9
"""Relative error of lengths: without it, a stroke of just the least extent may be too short."""

_RUN_OUT_FWHM = 0.5
"""Length of the dark move after a last stroke that is short: a longer one takes more time."""

_PARTS = 8
"""Points that stand for a dot: more give its peak more exactly."""

_BEFORE = 100
"""Moves before a last stroke with which it is executed, in which the head is at speed again: of all of a long
path that takes a second."""

_BRIEF = 3.0
"""Segments of GRBL that a last stroke may last without such a move: with more, fewer plans have one."""


def shortest_stroke(machine: Machine, spot: Spot) -> float:
    """mm, the least extent of a stroke, along the diagonal of its bounding box."""
    return max(DOT_FWHM * optics.fwhm(spot), convert.controller(machine).shortest_move)


def is_short(stroke: Floats, least: float) -> bool:
    """Whether the extent of a stroke (K, 2) is below `least`, both in mm."""
    return bool(np.hypot(*np.ptp(stroke, axis=0)) < (1 - _ROUNDING) * least)


def dots_of(path: StraightMoves, least: float) -> list[tuple[int, int]]:
    """First move and end of each stroke that is shorter than `least`, mm."""
    return [(first, last) for first, last in runs(path.on) if is_short(path.xy[first : last + 1], least)]


def stroke_of_dot(stroke: Floats, least: float) -> Floats:
    """A stroke (K, 2), or a line (2, 2) of the length `least` in its place if it is shorter; mm."""
    if not is_short(stroke, least):
        return stroke
    extent = np.ptp(stroke, axis=0)
    half = least / 2 * (np.arange(2) == np.argmax(extent))
    middle = (stroke.min(axis=0) + stroke.max(axis=0)) / 2
    return np.stack([middle - half, middle + half])


def drawn_out(path: EnergyPath, process: Process) -> EnergyPath:
    """The path with strokes that are shorter than a dot may be drawn out to lines, at their energies."""
    machine = process.machine
    least = shortest_stroke(machine, process.spot)
    xy, energy, speed = path.xy.copy(), path.energy.copy(), path.speed.copy()
    deposited, kept = path.energy * path.length, np.ones(len(xy), np.bool_)
    for first, last in runs(path.on):
        stroke, total = path.xy[first : last + 1], deposited[first:last].sum()
        line = stroke_of_dot(stroke, least)
        if line is not stroke and total > 0:
            xy[first], xy[last] = line
            kept[first + 1 : last] = False
            energy[last - 1], speed[last - 1] = total / least, min(machine.speed_max)
    if (xy == path.xy).all():
        return path
    return within_power(EnergyPath(xy[kept], energy[kept[1:]], speed[kept[1:]]), machine, process.spot)


def filled(path: EnergyPath, dose: Floats, scene: Scene, process: Process) -> EnergyPath:
    """The path with dots at places inside the design that stay uncured.

    dose: (rows, columns) mJ/mm² of the path on the scene's grid.
    """
    deep = scene.deeper(_INSIDE_FWHM)
    dark = deep & (dose < scene.critical_dose)
    if not dark.any() or dark.sum() > _MOST_DARK * deep.sum():
        return path
    machine, least = process.machine, shortest_stroke(process.machine, process.spot)
    ways, half = _DarkMoves(path, machine), np.array([[-least / 2, 0.0], [least / 2, 0.0]])
    for middle, line_energy in _missing(dose, dark, scene, least):
        ways.insert(middle + half, line_energy)
    return within_power(ways.path(), machine, process.spot)


class _DarkMoves:
    """The dark moves of a path, into which dots are put one after the other.

    start, end: (T, 2) mm, in the order of the path.  move: (T,) the move of the path that each is a part of,
    −1 before all.  dots: of each of those, in their order: line (2, 2) mm, and line energy.
    """

    def __init__(self, path: EnergyPath, machine: Machine) -> None:
        self._path, self._machine = path, machine
        self._move = np.flatnonzero(~path.on)
        self._start, self._end = path.xy[self._move], path.xy[self._move + 1]
        self._dots: dict[int, list[tuple[Floats, float]]] = {}
        self._first = path.xy[0]

    def insert(self, dot: Floats, line_energy: float) -> None:
        """Put a line (2, 2) into the dark move that is the least longer by it, or before all moves.

        No dark move becomes so short that the controller would leave it out.
        """
        ways = [end - xy for end, xy in zip(dot, (self._start, self._end), strict=True)]
        longer = sum(np.hypot(*way.T) for way in ways) - np.hypot(*(self._end - self._start).T)
        brief = np.min([np.abs(way).max(axis=1) for way in ways], axis=0)
        fits = brief >= convert.controller(self._machine).shortest_move
        before = np.hypot(*(dot[1] - self._first))
        k = int(np.argmin(np.append(np.where(fits, longer, np.inf), before)))
        if k == len(self._move):
            self._dots.setdefault(-1, []).insert(0, (dot, line_energy))
            self._move = np.append(-1, self._move)
            self._start, self._end = np.vstack([dot[1], self._start]), np.vstack([self._first, self._end])
            self._first = dot[0]
            return
        move = int(self._move[k])
        # Before all moves a dot comes first, elsewhere a dark move.
        place = k - int(np.searchsorted(self._move, move)) + (move < 0)
        self._dots.setdefault(move, []).insert(place, (dot, line_energy))
        self._move = np.insert(self._move, k, move)
        self._start = np.insert(self._start, k + 1, dot[1], axis=0)
        self._end = np.insert(self._end, k, dot[0], axis=0)

    def path(self) -> EnergyPath:
        """The path with all dots."""
        path, put = self._path, sorted(self._dots.items())
        dots = [one for _, some in put for one in some]
        if not dots:
            return path
        at = np.repeat([move + 1 for move, some in put for _ in some], 2)
        fastest, rapid = min(self._machine.speed_max), min(self._machine.rapid_speed)
        return EnergyPath(
            np.insert(path.xy, at, np.concatenate([line for line, _ in dots]), axis=0),
            np.insert(path.energy, at, [value for _, energy in dots for value in (energy, 0.0)]),
            np.insert(path.speed, at, [fastest, rapid] * len(dots)),
        )


def _missing(dose: Floats, dark: Bools, scene: Scene, length: float) -> Iterator[tuple[Floats, float]]:
    """Middle (2,), mm, and line energy of lines along x of this length, mm, that cure what is dark.

    dose: (rows, columns) mJ/mm².  dark: (rows, columns), the pixels to be cured.
    """
    grid = scene.grid
    around = np.arange(-(n := math.ceil(2 * scene.fwhm / grid.pitch)), n + 1)
    x, y = np.meshgrid(grid.pitch * around, grid.pitch * around)
    parts = length * ((np.arange(_PARTS) + 0.5) / _PARTS - 0.5)
    rise = length * np.mean([optics.profile(scene.spot, x - part, y) for part in parts], axis=0)
    rows, columns = np.nonzero(dark)  # row by row
    known = dose[rows, columns].astype(np.float64)
    for i in np.argsort(known, kind="stable"):
        r, c = int(rows[i]), int(columns[i])
        if known[i] < scene.critical_dose:
            energy = (_FILLED * scene.critical_dose - known[i]) / rise[n, n]
            near = np.arange(*np.searchsorted(rows, (r - n, r + n + 1)))
            near = near[np.abs(columns[near] - c) <= n]
            known[near] += energy * rise[rows[near] - r + n, columns[near] - c + n]
            yield grid.of_pixels([c, r]), float(energy)


def run_out(path: Toolpath, task: Task) -> Toolpath:
    """The path with a dark move after its last stroke, if the controller would leave that stroke too dark.

    GRBL's power by M4 is that of the speed at the end of each segment, and a program ends with speed 0: a dot
    in which the head only brakes is one dark segment, and a line that is followed, whose vertices stay, loses
    half a FWHM.
    """
    machine = task.machine
    controller, strokes = convert.controller(machine), runs(path.on)
    if not (controller.power_tick and convert.power_follows(machine) and strokes):
        return path
    first, last = strokes[-1]
    brief, way = _BRIEF * controller.power_tick, path.xy[last] - path.xy[last - 1]
    # A head that only brakes comes no further than this in a time so brief.
    furthest = np.hypot(*machine.acceleration) * brief**2 / 2
    if last < len(path) or not way.any():
        return path
    if not task.follows:
        if path.length[first:last].sum() > furthest:
            return path
        before = max(first - _BEFORE, 0)
        moves = convert.to_moves(path.cut(before, last), machine)
        duration = gcode.motion.execute(moves, controller).durations(len(moves))
        if duration[first - before :].sum() > brief:
            return path
    way *= _RUN_OUT_FWHM * task.scene.fwhm / np.hypot(*way)
    end = np.clip(path.xy[last] + way, *bounds_of(task))
    return Toolpath(
        np.vstack([path.xy, end]), np.append(path.power, 0.0), np.append(path.speed, min(machine.rapid_speed))
    )
