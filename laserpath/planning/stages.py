"""The stages of the optimisation, from the starting curve to the moves to be written.

0. *Find*, for a random start only, half of the iterations: the spot is first as wide as half of the design,
   then half of that, and so on, because a line has a gradient only where its spot reaches.
1. *Shape*: many moves on a coarse grid find the form, while the threshold steepens. Write time is in the
   loss, here and in *refine*.
2. *Simplify*: moves are merged within the tolerance, the edges are checked, and powers are put on levels.
3. *Refine*: these moves are optimised on the fine grid, with the edge term in the loss.
4. *Trim*: one common factor on all powers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import shapely

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.design.target import grid_for, rasterise
from laserpath.dose import DoseModel, accurate_model
from laserpath.planning.optimise.defocus import Blur
from laserpath.planning.optimise.loop import Progress, Schedule, optimise, outcome, reach, tune
from laserpath.planning.optimise.objective import EdgeTerm, Objective
from laserpath.planning.optimise.write_time import TIME_WEIGHTS, Pace
from laserpath.planning.rate import executable, thin
from laserpath.planning.smooth import simplify, to_levels
from laserpath.resin import same_energy
from laserpath.types import Design, Process, Settings, Spot, Target, Toolpath
from laserpath.types.results import Solution

Listener = Callable[[Progress], None]

_SHAPE_SHARE = 0.4
"""Share of the iterations for *shape*; the rest is for *refine*."""

EDGE_WEIGHT, SHARP = 0.05, 1.2
"""Weight of the edge term in *refine*, and the final steepness of the threshold, relative to the resin's
contrast. A larger weight favours edge position over area; a steeper threshold confines gradients to edges."""

_NARROWEST_FIND = 1.3
"""Spot width, relative to the true one, at which *find* ends; a wider one saves a step and leaves more to
*shape*."""

_THINNING_FWHM = 0.05
"""Tolerance for dropping vertices that the link is too slow for: a larger one keeps more speed and moves
the path more, for *refine* to correct."""

_INSIDE_FWHM, _INSIDE_ROOM = (0.8, 1.4), 5.0
"""Tolerance factor per vertex: 1 up to 0.8 FWHM from the outline, rising to 5 from 1.4 FWHM on, where a
vertex shapes no edge. A larger factor drops more vertices inside."""

_TRIES = 4
"""Attempts to simplify, each at half the tolerance of the one before; if all fail, the path stays as it
is."""

_TRIM_FWHM = 0.001
"""Mean edge error that *trim* trades for lower power: a larger value trims to a weaker exposure."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """scale: pixels per FWHM, relative to the settings'.  edge_weight: of the edge term.

    width: of the spot, relative to the true one.
    """

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
    time_weight: float | None = None,
) -> Solution:
    """Optimise a path in all stages: the toolpath to be written, with powers on the machine's levels.

    time_weight: of the write time; None: that of the settings' quality.
    The losses are those of all stages in order. No stage follows one that the user stopped.
    """
    path, losses, stages = start, [], _stages(design, process, settings)
    weight = TIME_WEIGHTS[settings.quality] if time_weight is None else time_weight
    edges = _EdgeCheck.of(design, process, settings)
    # A coarse grid's rim may be a little wider than the fine one's, where all paths are measured.
    within = reach(edges.model.grid, process.machine, settings.origin == "centre")
    for stage in stages:
        if stage.name == "refine":
            path = lean(path, edges, settings.simplify_fwhm)
            room = _room(path, design, process.spot)
            path = thin(path, process.spot, process.machine, _THINNING_FWHM, room)
            path = to_levels(path, process.machine, process.spot)
        solution = _run(stage, path, design, process, settings, weight, within, progress)
        # Where nothing can be cured, all that time asks for is to have no length: the start is better.
        path = solution.toolpath if _exposes(solution.toolpath) else path
        losses.append(solution.loss)
        if solution.stopped:
            if stage.width > 1:
                path = tune(path, edges.model, edges.objective(design), process.machine)
            path = lean(path, edges, settings.simplify_fwhm)
            break
    history = np.concatenate(losses)
    planned = sum(stage.schedule.iterations for stage in stages)
    return Solution(
        toolpath=executable(trim(path, edges), process.spot, process.machine, weight),
        loss=history,
        result=outcome(len(history), planned, solution.stopped, solution.converged),
        stopped=solution.stopped,
        converged=solution.converged,
    )


def final_loss(design: Design, target: Target, process: Process) -> Objective:
    """The loss of *refine* on any grid, without its write-time and defocus terms."""
    loss = Objective.for_design(target, design, process.spot, process.resin, EDGE_WEIGHT)
    return loss.at_contrast(SHARP * process.resin.contrast)


def _room(path: Toolpath, design: Design, spot: Spot) -> Floats:
    """(N+1,) tolerance factor per vertex: 1 at the outline, `_INSIDE_ROOM` inside."""
    boundary = design.area.boundary
    shapely.prepare(boundary)
    distance = shapely.distance(boundary, shapely.points(path.xy)) / optics.fwhm(spot)
    return np.interp(distance, _INSIDE_FWHM, (1.0, _INSIDE_ROOM))


def _exposes(path: Toolpath) -> bool:
    return bool((path.on & (path.length > 0)).any())


def _stages(design: Design, process: Process, settings: Settings) -> list[_Stage]:
    """The stages for the settings' starting curve, `settings.iterations` altogether."""
    n, beta, widths = settings.iterations, process.resin.contrast, []
    if settings.initial == "random":
        width = max(design.size) / (2 * optics.fwhm(process.spot))
        while width > _NARROWEST_FIND:
            widths.append(width)
            width /= 2
    each = n // (2 * len(widths)) if widths else 0
    rest = n - each * len(widths)
    shape = round(_SHAPE_SHARE * rest)
    find, sharp = (0.4 * beta, 0.8 * beta), (SHARP * beta, SHARP * beta)
    finish = Schedule(rest - shape, shift=0.02, energy=0.05, contrast=sharp, finish=0.8)
    return [
        *(_Stage("find", 2 / 3, 0.0, Schedule(each, contrast=find, finish=0.0), w) for w in widths),
        _Stage("shape", 2 / 3, 0.0, Schedule(shape, contrast=(0.8 * beta, SHARP * beta), finish=0.4)),
        _Stage("refine", 1.0, EDGE_WEIGHT, finish),
    ]


@dataclass(frozen=True, slots=True)
class _EdgeCheck:
    """Measures the mean edge error, in FWHM, of toolpaths of one design, on the fine grid."""

    process: Process
    model: DoseModel
    edge: EdgeTerm

    @classmethod
    def of(cls, design: Design, process: Process, settings: Settings) -> _EdgeCheck:
        grid = grid_for(design, process.spot, settings.pixels_per_fwhm)
        model = accurate_model(grid, process.spot)
        return cls(process, model, EdgeTerm.for_design(rasterise(design, grid), design, process.spot))

    def objective(self, design: Design) -> Objective:
        """The loss, without an edge term, on the same grid."""
        target = rasterise(design, self.model.grid)
        return Objective.for_design(target, design, self.process.spot, self.process.resin)

    def errors(self, path: Toolpath, factors: Floats) -> Floats:
        """(K,) mean edge errors of the path at K relative doses, `factors`."""
        u = self.model.dose(path) / self.process.resin.critical_dose
        return np.array([self.edge(k * u)[0] for k in factors])


def lean(path: Toolpath, edges: _EdgeCheck, tolerance_fwhm: float) -> Toolpath:
    """The simplified path; its mean edge error rises by no more than the tolerance."""
    one = np.ones(1)
    allowed = edges.errors(path, one)[0] + tolerance_fwhm
    for k in range(_TRIES):
        simpler = simplify(path, edges.process.spot, tolerance_fwhm / 2**k)
        if edges.errors(simpler, one)[0] <= allowed:
            return simpler
    return path


def trim(path: Toolpath, edges: _EdgeCheck) -> Toolpath:
    """The path at the lowest dose whose mean edge error is within `_TRIM_FWHM` of the least.

    Of two equally accurate exposures the weaker one is better: what is undercured can be exposed again.
    """
    factors = np.linspace(0.95, 1.05, 51)
    errors = edges.errors(path, factors)
    factor = factors[np.flatnonzero(errors <= errors.min() + _TRIM_FWHM)[0]]
    return replace(path, power=path.power * factor ** (1 / edges.process.resin.order))


def _run(
    stage: _Stage,
    start: Toolpath,
    design: Design,
    process: Process,
    settings: Settings,
    time_weight: float,
    within: tuple[Floats, Floats],
    progress: Listener | None,
) -> Solution:
    """One stage on its own grid, of at least 3 pixels per FWHM."""
    true = process.spot
    process = replace(process, spot=optics.widened(true, stage.width))
    grid = grid_for(design, process.spot, max(3.0, stage.scale * settings.pixels_per_fwhm))
    objective = Objective.for_design(
        rasterise(design, grid), design, process.spot, process.resin, stage.edge_weight
    )
    model = DoseModel(grid, process.spot)
    if stage.width > 1:
        start = tune(start, model, objective, process.machine)
    pace = Pace.of(start, design, process.machine, time_weight) if stage.width == 1 else None
    counted = settings.blur > 1 and stage.width == 1
    blur = Blur.of(settings.blur, objective, process.spot) if counted else None
    found = optimise(
        start, model, objective, process, stage.schedule, progress, stage.name, within, pace, blur
    )
    return replace(found, toolpath=same_energy(found.toolpath, process.spot, true))
