"""The walk of learning: split → refine the executed dose → motor steps → energies → program → levels.

What the optimiser's path loses in execution is deterministic: braking, segments, steps, levels. So the model
executes it, the executed dose is optimised as the commanded one was, with the pieces' distortion held
(`shape`), and it is executed again. Vertices then go to the nearest motor steps, as the controller would put
them, and the energies are optimised once more with all vertices held. At last `levels` chooses the powers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.arrays import Floats
from laserpath.dose import DoseModel
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, prepared, with_energies
from laserpath.planning.learning.levels import best_levels
from laserpath.planning.learning.shape import ExecutedShape
from laserpath.planning.optimise.defocus import DefocusTerm
from laserpath.planning.optimise.loop import Progress, Schedule, Terms, optimise, vertex_bounds
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.optimise.write_time import WriteTimeTerm
from laserpath.planning.task import Task
from laserpath.resin import path_energy
from laserpath.types import Machine, Toolpath

Listener = Callable[[Progress], None]

_MOVING, _STILL = (0.35, 0.35), (0.15, 0.15)
"""Shares of the iterations for each round with moving and with fixed vertices; each begins with an
execution."""


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
    path, stopped = prepared(path, task.process), False
    losses: list[Floats] = [np.zeros(0)]
    order, blur, spot = task.process.resin.order, task.settings.blur, task.scene.spot
    first = on_steps(path, task.machine, order)
    defocus = DefocusTerm.of(blur, objective, spot) if blur > 1 else None
    for still, shares in ((False, _MOVING), (True, _STILL)):
        if still:
            path = on_steps(path, task.machine, order)  # as the controller would round it
        for share in shares:
            if stopped or round(share * iterations) == 0:
                break
            time = None if still else WriteTimeTerm.of(path, task.design, task.machine, time_weight)
            terms = Terms(objective, time, defocus, ExecutedShape.of(path, task.process))
            contrast = (objective.contrast,) * 2
            schedule = Schedule(
                round(share * iterations), contrast=contrast, finish=1.0, stage="execute", still=still
            )
            done = optimise(path, model, terms, task.process, schedule, progress, bounds)
            path, stopped = done.toolpath, done.stopped
            losses.append(done.loss)
    best = min((path, first), key=lambda one: _executed_loss(one, model, objective, task))
    return Learned(best, np.concatenate(losses), stopped)


def _executed_loss(path: Toolpath, model: DoseModel, objective: Objective, task: Task) -> float:
    """The loss of a path's dose as executed."""
    shape = ExecutedShape.of(path, task.process)
    return float(objective(model.line_dose(*shape(path.xy, path_energy(path, model.spot))))[0])


def learned(path: Toolpath, task: Task) -> MachineProgram:
    """The program of a refined path, with the powers that place its edges best."""
    machine, process = task.machine, task.process
    # Moves too short for Marlin are not joined: its model adds them to their neighbours, as it does.
    moves = with_energies(convert.to_moves(path, machine, task.settings.passes), process)
    moves = gcode.motion.compensated(moves, convert.lag(machine), min(machine.acceleration))
    return best_levels(MachineProgram.of_moves(moves, process), task)


def on_steps(path: Toolpath, machine: Machine, order: int = 1) -> Toolpath:
    """The path with its vertices on the nearest motor steps, with its energies. order: of the absorption.

    Klipper rounds the motion, not the vertices, and LinuxCNC's steps are far below the spot. A path that is
    shorter than a step stays as it is.
    """
    rounds = gcode.dialect(machine.dialect).controller in ("grbl", "marlin")
    if machine.steps is None or not rounds:
        return path
    steps = np.asarray(machine.steps)
    xy: Floats = np.rint(path.xy * steps) / steps
    length = np.hypot(*np.diff(xy, axis=0).T)
    if not (path.on & (length > 0)).any():
        return path
    kept = np.append(True, length > 0)
    moves = kept[1:]
    factor = np.divide(path.length, length, out=np.ones(len(length)), where=moves)[moves]
    power = np.minimum(path.power[moves] * factor ** (1 / order), machine.power_max)
    return Toolpath(xy[kept], power, path.speed[moves])


def _bounds(task: Task) -> tuple[Floats, Floats]:
    return vertex_bounds(task.scene.grid, task.machine, task.settings.origin == "centre")
