"""A small design and a path for it that GRBL, Klipper and Marlin can execute, quickly made. Lengths in mm."""

from __future__ import annotations

from functools import cache

import shapely
from builders import SPOT, design

import gcode
from laserpath.machine.powers import exposing
from laserpath.physics.dose import DoseModel
from laserpath.planning.curve import initial_curve
from laserpath.planning.optimise.loop import Schedule, dose_to_size, optimise
from laserpath.planning.optimise.loss import Loss
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.stages import final_loss
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Machine, Process, Settings, Toolpath

ELL = design(shapely.box(1, 1, 1.6, 1.25), shapely.box(1, 1, 1.25, 1.5), name="ell")
SETTINGS = Settings(initial="contour", iterations=40)
_MZV = gcode.motion.Shaper("mzv", 50.0)
MACHINES = {
    "grbl": Machine(),
    "klipper": Machine(dialect="klipper", steps=(80.0, 80.0), baud=None),
    "shaped": Machine(
        dialect="klipper", steps=(80.0, 80.0), baud=None, acceleration=(1500.0, 1500.0), shapers=(_MZV, _MZV)
    ),
    "marlin": Machine(dialect="marlin", steps=(80.0, 80.0)),
}


@cache
def task(dialect: str) -> Task:
    return Task.of(ELL, Process(spot=SPOT, machine=MACHINES[dialect]), SETTINGS)


def path(dialect: str) -> Toolpath:
    """Optimised as commanded, in a few iterations."""
    return exposing(lines(dialect), MACHINES[dialect], SPOT)


@cache
def lines(dialect: str) -> EnergyPath:
    """The same before it has powers."""
    made = task(dialect)
    scene = made.scene
    model, objective = DoseModel(scene.grid, scene.spot), Objective.of(scene)
    start = dose_to_size(initial_curve(ELL, made.process, SETTINGS), model, objective, made.machine)
    contrast = (final_loss(scene).contrast,) * 2
    schedule = Schedule(25, contrast=contrast, finish=1.0)
    return optimise(start, Loss.of(final_loss(scene), model), made.process, schedule).path
