"""Learning by conversion: the path of a kinetic resin, corrected by what its executed timeline converts.

The dose model plans as if light added up whenever it came. So its path is executed, the flashes of light go
through the kinetic model at their times, and line energies and vertices go down the gradient of the loss of
the conversion, with the times and the pieces' distortion held (`shape`). Then it is executed again. As with
`compensation.refined`, this is iterative learning control, with the conversion as the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.plan_steps import PlanPart
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for
from laserpath.machine import convert
from laserpath.machine.powers import energy_at_full_power, exposing
from laserpath.machine.program import MachineProgram, early, with_energies
from laserpath.measure.conversion import PieceGradient, by_conversion, kinetics_of, relative
from laserpath.measure.exposure import Exposure
from laserpath.physics.dose.segments import PathGradient
from laserpath.physics.kinetics import Conversion, KineticModel, Light
from laserpath.physics.kinetics.light import Flashes
from laserpath.physics.kinetics.model import usual_interval
from laserpath.planning.compensation.shape import ExecutedShape
from laserpath.planning.optimise.loop import Progress, Schedule, bounds_of, optimise
from laserpath.planning.optimise.loss import LightTerm, Loss, over_dose
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.task import Task
from laserpath.types import EnergyPath
from laserpath.types.results import PrintFigures

Listener = Callable[[Progress], None]
Feasible = Callable[[EnergyPath], EnergyPath]

_PIXELS_PER_FWHM = 4.0
"""Of the grid on which conversions are computed while learning: a finer one costs its square."""

_FACTORS = np.geomspace(0.6, 1.6, 9)
"""Factors on all energies that are compared first, since the dose model may be wrong as a whole."""

_FINER = np.linspace(0.94, 1.06, 7)
"""Factors that are compared next, on the energies times the best of `_FACTORS`."""

_ROUNDS = ((False, 0.5), (True, 0.5))
"""Whether vertices stay, and the share of the evaluations, of each execution."""

_BRIGHTEST = 1.05
"""Largest dose, relative to the resin's limit, of a program that is taken: above it, `simulate` warns."""

_EVALUATIONS = (6, 60)
"""Fewest and most evaluations in all: each is a simulation with its gradient."""

_WORK = 3e8
"""Flashes × cells that they reach, of all evaluations, about a minute on two cores: more take longer."""

_REACHED = np.pi * (4 * _PIXELS_PER_FWHM) ** 2
"""Cells that a flash reaches."""

_FORWARD, _BACKWARD = (8e-8, 5e-8, 9e-4), (2.1e-7, 9e-8, 2.7e-3)
"""Processor seconds for a flash in a cell, a cell in an interval, and an interval; fitted, within a third."""

_ON_THE_SCENE = 8
"""Simulations on the grid of the scene: to compare programs, and for the report."""


@dataclass(slots=True)
class _Exposed:
    """A polyline's light, and its conversion as soon as that is known."""

    light: Light
    length: Floats
    conversion: Conversion | None = None


class KineticLines:
    """Lines with energies → conversion, and its adjoint: what `optimise` needs of a dose model.

    The times are those of one execution.
    """

    def __init__(self, model: KineticModel, shape: ExecutedShape, fwhm: float) -> None:
        self._model, self.spot = model, model.spot
        length = np.hypot(*np.diff(shape.ends, axis=0).T)
        self._flashes = Flashes.of(length, shape.duration, np.flatnonzero(shape.share > 0), fwhm)
        self._end = float(shape.duration.sum()) + model.kinetics.wait

    def __len__(self) -> int:
        return len(self._flashes.time)

    def points(self, ends: Floats, line_energy: Floats) -> _Exposed:
        """The light of a polyline (P + 1, 2) mm with line energies (P,) mJ/mm."""
        length = np.hypot(*np.diff(ends, axis=0).T)
        return _Exposed(self._flashes.on(ends, line_energy * length), length)

    def near(self, points: object) -> KineticLines:
        """These lines: nothing is held."""
        return self

    def spread(self, points: _Exposed) -> Floats:
        """(rows, columns) u, the relative conversion (`measure.conversion`)."""
        points.conversion = self._model.expose(points.light, self._end)
        return relative(points.conversion.conversion, self._model.kinetics.gel_conversion)[0]

    def pull(self, points: _Exposed, d_relative: Floats, ends: Floats, line_energy: Floats) -> PathGradient:
        """∂L/∂(ends, line energy) from ∂L/∂u, at fixed times: the derivative by a duration has no use here.

        The controller's durations follow from all vertices and feeds near by, and its acceleration.
        """
        if points.conversion is None:
            self.spread(points)
        assert points.conversion is not None
        _, slope = relative(points.conversion.conversion, self._model.kinetics.gel_conversion)
        flashes = points.conversion.gradient(d_relative * slope)
        found = PieceGradient.of(self._flashes, flashes, len(line_energy))
        along = np.diff(ends, axis=0) / np.maximum(points.length, 1e-12)[:, None]
        stretch = (found.energy * line_energy)[:, None] * along
        d_ends = found.ends
        d_ends[:-1] -= stretch
        d_ends[1:] += stretch
        return PathGradient(d_ends, found.energy * points.length)


@dataclass(frozen=True, slots=True, eq=False)
class _Lesson:
    """What all rounds share. scene: by conversion, on the coarse grid.  loss: of the conversion there.

    over_dose: of the light there.
    """

    task: Task
    scene: Scene
    model: KineticModel
    loss: Objective
    over_dose: LightTerm

    @classmethod
    def of(cls, task: Task, loss_of: Callable[[Scene], Objective]) -> _Lesson:
        spot = task.scene.spot
        scene = by_conversion(task.scene, grid_for(task.design, spot, _PIXELS_PER_FWHM))
        model = KineticModel(scene.grid, spot, kinetics_of(task.scene.resin))
        return cls(task, scene, model, loss_of(scene), over_dose(task.scene.on(scene.grid)))

    def lines(self, path: EnergyPath, *, moving: bool) -> tuple[ExecutedShape, KineticLines]:
        """The execution of a path, and what its lines convert."""
        process = self.task.punctual.process
        shape = ExecutedShape.of(exposing(path, process.machine, process.spot), process, moving=moving)
        return shape, KineticLines(self.model, shape, self.scene.fwhm)

    def to_size(self, path: EnergyPath) -> EnergyPath:
        """The path with all energies times the factor whose conversion has the lowest loss, at its speeds."""
        shape, lines = self.lines(path, moving=False)
        full = energy_at_full_power(path.speed, self.task.machine, self.scene.spot)
        most = 1 / float((path.energy / full).max(initial=1e-300))

        def loss(factor: float) -> float:
            pieces = shape(path.xy, factor * path.energy)
            return float(self.loss(lines.spread(lines.points(*pieces)))[0]) + self.over_dose(*pieces)[0]

        coarse = min(np.minimum(_FACTORS, most), key=loss)
        return replace(path, energy=path.energy * min(np.minimum(coarse * _FINER, most), key=loss))


def converted(
    path: EnergyPath,
    learned: MachineProgram,
    task: Task,
    loss_of: Callable[[Scene], Objective],
    feasible: Feasible,
    progress: Listener | None = None,
) -> tuple[MachineProgram, bool]:
    """The program that converts best as executed, of the learned one and the corrections of its path.

    path: with the energies to be exposed.  loss_of: the loss of a scene.  feasible: makes a path such that
    the machine can execute it.  The second is whether the user stopped it.
    """
    lesson = _Lesson.of(task, loss_of)
    best, known, stopped = learned, _figures(learned, task), False
    for rests, share in _ROUNDS:
        still = rests or task.follows
        path = lesson.to_size(feasible(path))
        shape, lines = lesson.lines(path, moving=not still)
        count = max(round(share * _evaluations(len(lines), task)), 1)
        contrast = (lesson.loss.contrast,) * 2
        schedule = Schedule(count, contrast=contrast, finish=1.0, stage=PlanPart.CONVERT, still=still)
        loss = Loss.of(lesson.loss, lines, too_bright=lesson.over_dose, shape=shape)
        done = optimise(path, loss, task.process, schedule, progress, bounds_of(task))
        path, stopped = done.path, done.stopped
        program = _program(feasible(path), task)
        figures = _figures(program, task)
        if _is_better(figures, known, task):
            best, known = program, figures
        if stopped:
            break
    return best, stopped


def seconds_of(task: Task, flashes: float, write_seconds: float) -> float:
    """Forecast of the time that `converted` takes and of the simulations of the report, s.

    flashes: of light.  write_seconds: until the last of them.
    """
    spot, kinetics, settings = task.scene.spot, kinetics_of(task.scene.resin), task.settings
    intervals = (write_seconds + kinetics.wait) / usual_interval(spot, kinetics)
    finer = (settings.pixels_per_fwhm / _PIXELS_PER_FWHM) ** 2
    cells = float(np.prod(task.scene.grid.shape)) / finer

    def once(cost: tuple[float, float, float], finer: float) -> float:
        return finer * (cost[0] * flashes * _REACHED + cost[1] * cells * intervals) + cost[2] * intervals

    evaluations = _evaluations(flashes, task)
    forward = len(_ROUNDS) * (len(_FACTORS) + len(_FINER)) + evaluations
    return (
        forward * once(_FORWARD, 1) + evaluations * once(_BACKWARD, 1) + _ON_THE_SCENE * once(_FORWARD, finer)
    )


def _evaluations(flashes: float, task: Task) -> int:
    """How many simulations with their gradients are worth their time."""
    worth = np.clip(_WORK / max(flashes * _REACHED, 1.0), *_EVALUATIONS)
    return min(int(worth), task.settings.iterations)


def _figures(program: MachineProgram, task: Task) -> PrintFigures:
    """The figures of a program, as the report shows them."""
    return Exposure(program, task.scene, program.path).executed.figures


def _is_better(new: PrintFigures, old: PrintFigures, task: Task) -> bool:
    """Whether the mean edge error of the report is smaller, with no more light than is acceptable."""
    most = max(_BRIGHTEST * task.scene.resin.over_dose, old.dose_max)
    return new.epe_mean < old.epe_mean and new.dose_max <= most


def _program(path: EnergyPath, task: Task) -> MachineProgram:
    """The program that exposes a path."""
    exposed = exposing(path, task.machine, task.process.spot)
    moves = convert.to_moves(exposed, task.machine, task.settings.passes, task.process.resin.order)
    return MachineProgram.of_moves(early(with_energies(moves, task.process), task.process), task.process)
