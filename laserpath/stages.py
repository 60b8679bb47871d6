"""From the tuned start to the moves that will be written: (find,) shape, simplify, refine, trim.

0. *Find*, for a random start only: with a spot as wide as half of the design, then half of that
   and so on, since a line feels only the part of the design that its spot reaches.
1. *Shape*: many moves on a coarse grid find the form, the threshold sharpening on the way.
2. *Simplify*: what the tolerance allows is merged, and powers are put on the machine's levels.
3. *Refine*: those very moves on the fine grid, with the edges in the loss.
4. *Trim*: one last factor on all powers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from laserpath.dose import DoseModel
from laserpath.objective import EdgeTerm, Objective
from laserpath.optimise import Progress, Schedule, optimise, tune
from laserpath.smooth import simplify, to_levels
from laserpath.target import grid_for, rasterise
from laserpath.types import Design, Process, Settings, Solution, Toolpath

Listener = Callable[[Progress], None]

_SHAPE_SHARE = 0.6
"""Of all iterations."""

_NARROWEST_FIND = 1.3
"""Spot width, relative to the true one, at which finding ends."""

_TRIM_FWHM = 0.0005
"""How much mean edge error the weaker of two exposures may have more."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """name; pixels per FWHM relative to the settings'; weight of the edge term; how to step; spot width."""

    name: str
    scale: float
    edge_weight: float
    schedule: Schedule
    width: float = 1.0


def solve(
    start: Toolpath,
    design: Design,
    process: Process,
    settings: Settings,
    progress: Listener | None = None,
) -> Solution:
    """The toolpath to be written, its powers on the machine's levels; losses of all stages in order.

    A stage that the user stopped is the last one.
    """
    path, losses, stages = start, [], _stages(design, process, settings)
    for stage in stages:
        if stage.name == "refine":
            path = to_levels(simplify(path, process.spot, settings.simplify_fwhm), process.machine)
        solution = _run(stage, path, design, process, settings, progress)
        path = solution.toolpath
        losses.append(solution.loss)
        if solution.stopped:
            path = simplify(path, process.spot, settings.simplify_fwhm)
            break
    history = np.concatenate(losses)
    planned = sum(stage.schedule.iterations for stage in stages)
    result = (
        f"stopped by the user after {len(history)} of {planned} iterations"
        if solution.stopped
        else f"all {planned} iterations done"
    )
    return Solution(
        toolpath=to_levels(trim(path, design, process, settings), process.machine),
        loss=history,
        result=result,
        stopped=solution.stopped,
    )


def _stages(design: Design, process: Process, settings: Settings) -> list[_Stage]:
    """What is done for the start that the settings name."""
    n = settings.iterations
    shape = round(_SHAPE_SHARE * n)
    find = []
    if settings.initial == "random":
        width = max(design.size) / (2 * process.spot.fwhm)
        while width > _NARROWEST_FIND:
            find.append(_Stage("find", 2 / 3, 0.0, Schedule(n // 2, contrast=(4.0, 8.0)), width))
            width /= 2
    return [
        *find,
        _Stage("shape", 2 / 3, 0.0, Schedule(shape, contrast=(8.0, 12.0))),
        _Stage("refine", 1.0, 0.05, Schedule(n - shape, shift=0.006, energy=0.02, contrast=(12.0, 12.0))),
    ]


def trim(path: Toolpath, design: Design, process: Process, settings: Settings) -> Toolpath:
    """The path at the lowest power factor whose mean edge error is within 0.0005 FWHM of the best one's.

    Of two equally true exposures the weaker is the better: what is undercured can be exposed again.
    """
    grid = grid_for(design, process.spot, settings.pixels_per_fwhm)
    u = DoseModel(grid, process.spot).dose(path) / process.resin.critical_dose
    edge = EdgeTerm.for_design(rasterise(design, grid), design, process.spot)
    factors = np.linspace(0.95, 1.05, 51)
    errors = np.array([edge(k * u)[0] for k in factors])
    factor = factors[np.flatnonzero(errors <= errors.min() + _TRIM_FWHM)[0]]
    return replace(path, power=path.power * factor)


def _run(
    stage: _Stage,
    start: Toolpath,
    design: Design,
    process: Process,
    settings: Settings,
    progress: Listener | None,
) -> Solution:
    """One stage on its own grid, of at least 3 pixels per FWHM."""
    process = replace(process, spot=replace(process.spot, fwhm=stage.width * process.spot.fwhm))
    grid = grid_for(design, process.spot, max(3.0, stage.scale * settings.pixels_per_fwhm))
    objective = Objective.for_design(
        rasterise(design, grid), design, process.spot, process.resin, stage.edge_weight
    )
    model = DoseModel(grid, process.spot)
    if stage.width > 1:
        start = tune(start, model, objective, process.machine)
    return optimise(
        start,
        model,
        objective,
        process,
        stage.schedule,
        progress,
        stage.name,
        centred=settings.origin == "centre",
    )
