"""The walk of learning: split → refine the executed dose → motor steps → energies → program → levels.

What the optimiser's path loses in execution is deterministic: braking, segments, steps, levels. So the model
executes it, the executed dose is optimised as the commanded one was, with the pieces' distortion held
(`shape`), and it is executed again. Vertices then go to the nearest motor steps, as the controller would put
them, and the energies are optimised once more with all vertices held. At last `levels` chooses the powers,
and `places` and `levels` in turn the steps and the powers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.arrays import Floats
from laserpath.dose import DoseModel, accurate_model
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, early, prepared, with_energies
from laserpath.measure.exposure import Exposure
from laserpath.planning.learning.levels import best_levels
from laserpath.planning.learning.places import best_places
from laserpath.planning.learning.shape import ExecutedShape
from laserpath.planning.optimise.defocus import DefocusTerm
from laserpath.planning.optimise.loop import Progress, Schedule, Terms, optimise, vertex_bounds
from laserpath.planning.optimise.objective import EdgeTerm, Objective
from laserpath.planning.optimise.variables import runs
from laserpath.planning.optimise.write_time import WriteTimeTerm
from laserpath.planning.rate import fed
from laserpath.planning.task import Task
from laserpath.resin import path_energy
from laserpath.types import Machine, Toolpath

Listener = Callable[[Progress], None]

_MOVING, _STILL = (0.35, 0.35), (0.15, 0.15)
"""Shares of the iterations for each round with moving and with fixed vertices; each begins with an
execution."""

_DOT_FWHM = 0.2
"""Least extent of a stroke, which exposes a dot: a longer one makes dots oval, and in a shorter one GRBL's M4
is dark, since the head gains no speed."""

_RUN_OUT_FWHM = 0.5
"""Length of the dark move after a last stroke that is short: a longer one takes more time."""

_BRIEF = 3.0
"""Segments of GRBL that a last stroke may last without such a move: with more, fewer plans have one."""

_ROUNDS = {"draft": 1, "standard": 2, "fine": 3}
"""Most rounds of motor steps and powers by quality: a further one gains less than the one before."""


@dataclass(frozen=True, slots=True)
class Learned:
    """path: has the energies to be exposed, and vertices on motor steps if the controller rounds them.

    loss: (iterations,) history, of the executed dose.  stopped: by the user.
    """

    path: Toolpath
    loss: Floats
    stopped: bool = False


def refined(
    path: Toolpath,
    task: Task,
    objective: Objective,
    time_weight: float,
    iterations: int,
    progress: Listener | None = None,
) -> Learned:
    """The path, split and optimised for its executed dose. objective: the loss of that dose.

    time_weight: of the write time.  iterations: in all.
    """
    model, bounds = DoseModel(task.scene.grid, task.scene.spot), _bounds(task)
    path, stopped = _run_out(prepared(drawn_out(path, task), task.process), task), False
    losses: list[Floats] = [np.zeros(0)]
    order, blur, spot = task.process.resin.order, task.settings.blur, task.scene.spot
    first = on_steps(path, task.machine, order)
    defocus = DefocusTerm.of(blur, objective, spot) if blur > 1 else None
    for still, shares in ((False, _MOVING), (True, _STILL)):
        if still:
            # As the controller would round it; and moving vertices may have crowded the link.
            path = fed(on_steps(path, task.machine, order), spot, task.machine)
        for share in shares:
            if stopped or round(share * iterations) == 0:
                break
            time = None if still else WriteTimeTerm.of(path, task.design, task.machine, time_weight)
            shape = ExecutedShape.of(path, task.process, moving=not still)
            terms = Terms(objective, time, defocus, shape)
            contrast = (objective.contrast,) * 2
            schedule = Schedule(
                round(share * iterations), contrast=contrast, finish=1.0, stage="execute", still=still
            )
            done = optimise(path, model, terms, task.process, schedule, progress, bounds)
            path, stopped = done.toolpath, done.stopped
            losses.append(done.loss)
    best = min((path, first), key=lambda one: _executed_loss(one, model, objective, task))
    return Learned(best, np.concatenate(losses), stopped)


def drawn_out(path: Toolpath, task: Task) -> Toolpath:
    """The path with strokes that are shorter than a dot may be drawn out to lines, at their energies."""
    order, least, speed = task.process.resin.order, _DOT_FWHM * task.scene.fwhm, path.speed.copy()
    xy, energy = path.xy.copy(), path.power**order * path.length / path.speed
    kept = np.ones(len(xy), np.bool_)
    for first, last in runs(path.on):
        stroke = path.xy[first : last + 1]
        extent = np.ptp(stroke, axis=0)
        if np.hypot(*extent) >= least:
            continue
        half = least / 2 * (np.arange(2) == np.argmax(extent))
        middle = (stroke.min(axis=0) + stroke.max(axis=0)) / 2
        xy[first], xy[last] = middle - half, middle + half
        kept[first + 1 : last] = False
        energy[last - 1], speed[last - 1] = energy[first:last].sum(), min(task.machine.speed_max)
    if (xy == path.xy).all():
        return path
    moves = kept[1:]
    return _at_energies(xy[kept], energy[moves], speed[moves], task.machine, order)


def _at_energies(xy: Floats, energy: Floats, speed: Floats, machine: Machine, order: int) -> Toolpath:
    """A path whose moves have these energies ∫ P^order dt (N,), slower where full power is too little."""
    power = (energy * speed / np.hypot(*np.diff(xy, axis=0).T)) ** (1 / order)
    speed = speed * np.minimum(machine.power_max / np.maximum(power, 1e-300), 1.0) ** order
    return Toolpath(xy, np.minimum(power, machine.power_max), speed)


def _run_out(path: Toolpath, task: Task) -> Toolpath:
    """The path with a dark move after its last stroke, if GRBL would leave that stroke dark.

    M4's power is that of the speed at the end of each segment, and a program ends with speed 0: a dot in
    which the head only brakes is one dark segment.
    """
    machine = task.machine
    controller, strokes = convert.controller(machine), runs(path.on)
    if not (isinstance(controller, gcode.motion.Grbl) and convert.power_follows(machine) and strokes):
        return path
    first, last = strokes[-1]
    brief, way = _BRIEF * controller.tick, path.xy[last] - path.xy[last - 1]
    # A head that only brakes comes no further than this in a time so brief.
    furthest = np.hypot(*machine.acceleration) * brief**2 / 2
    if last < len(path) or path.length[first:last].sum() > furthest or not way.any():
        return path
    moves = convert.to_moves(path, machine)
    if gcode.motion.execute(moves, controller).durations(len(moves))[first:last].sum() > brief:
        return path
    way *= _RUN_OUT_FWHM * task.scene.fwhm / np.hypot(*way)
    end = np.clip(path.xy[last] + way, *_bounds(task))
    return Toolpath(
        np.vstack([path.xy, end]), np.append(path.power, 0.0), np.append(path.speed, min(machine.rapid_speed))
    )


def _executed_loss(path: Toolpath, model: DoseModel, objective: Objective, task: Task) -> float:
    """The loss of a path's dose as executed."""
    shape = ExecutedShape.of(path, task.process)
    return float(objective(model.line_dose(*shape(path.xy, path_energy(path, model.spot))))[0])


def learned(path: Toolpath, task: Task, objective: Objective, time_weight: float) -> MachineProgram:
    """The program of a refined path, with the powers and the motor steps that place its edges best.

    objective: the loss of its executed dose.  time_weight: of the write time.
    """
    machine, process = task.machine, task.process
    # Moves too short for Marlin are not joined: its model adds them to their neighbours, as it does.
    moves = with_energies(convert.to_moves(path, machine, task.settings.passes, process.resin.order), process)
    moved = best = best_levels(MachineProgram.of_moves(early(moves, process), process), task, 1)
    least = _loss(best, objective, task, time_weight)
    for _ in range(_ROUNDS[task.settings.quality]):
        moved = best_levels(best_places(moved, task, objective.edge_weight, time_weight), task, 1)
        loss = _loss(moved, objective, task, time_weight)
        if loss < least and _missing(moved, task) <= _missing(best, task):
            best, least = moved, loss
    return best


def _loss(program: MachineProgram, objective: Objective, task: Task, time_weight: float) -> float:
    """The mean edge error of a program as executed, in FWHM, and its write time."""
    dose = accurate_model(task.scene.grid, task.scene.spot).dose(program.executed)
    unit = WriteTimeTerm.of(program.path, task.design, task.machine, time_weight).unit
    error = EdgeTerm.of(task.scene)(dose / task.scene.critical_dose)[0]
    return error + time_weight / objective.edge_weight * program.motion.write_time / unit


def _missing(program: MachineProgram, task: Task) -> int:
    """Points of the outline without a printed edge near."""
    return Exposure(program, task.scene, program.path).executed.figures.missing_edges


def on_steps(path: Toolpath, machine: Machine, order: int = 1) -> Toolpath:
    """The path with its vertices on the nearest motor steps, with its energies. order: of the absorption.

    Klipper rounds the motion, not the vertices, and LinuxCNC's steps are far below the spot. A stroke that is
    shorter than a step becomes one of one step, so that a dot is not lost. Where full power is too little for
    the energy, the move is slower.
    """
    rounds = gcode.dialect(machine.dialect).controller in ("grbl", "marlin")
    if machine.steps is None or not rounds or not path.on.any():
        return path
    steps, energy = np.asarray(machine.steps), path.power**order * path.length / path.speed
    at: Floats = np.rint(path.xy * steps)
    for first, last in runs(path.on):
        if (at[first : last + 1] == at[first]).all():
            at[first:last], at[last] = _one_step(path.xy[first] * steps, path.xy[last] * steps)
            energy[last - 1] = energy[first:last].sum()
    length = np.hypot(*np.diff(at / steps, axis=0).T)
    kept = np.append(True, length > 0)
    moves = kept[1:]
    return _at_energies((at / steps)[kept], energy[moves], path.speed[moves], machine, order)


def _one_step(start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Both ends (2,), in whole steps, of the line of one step through the middle of another, in steps."""
    way = end - start
    along = np.arange(2) == np.argmax(np.abs(way))
    low = np.where(along, np.floor((start + end) / 2), np.rint((start + end) / 2))
    return (low, low + along) if way[along][0] >= 0 else (low + along, low)


def _bounds(task: Task) -> tuple[Floats, Floats]:
    return vertex_bounds(task.scene.grid, task.machine, task.settings.origin == "centre")
