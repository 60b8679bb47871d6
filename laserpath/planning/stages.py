"""The stages of the optimisation, from the starting curve to the moves to be written.

0. *Find*, for a random start only, half of the iterations: the spot is first as wide as half of the design,
   then half as wide again, and so on, because the loss has a gradient only where the spot reaches.
1. *Shape*: many short moves are optimised by the area term, in which pixels that the outline crosses count by
   its closed form, while the threshold steepens. Write time is part of the loss, here and in *refine*.
2. *Simplify*: moves are merged within the tolerance, the edges are checked, and powers are put on levels.
3. *Refine*: these moves are optimised with the edge term in the loss.
4. *Trim*: all line energies are multiplied by one common factor. This is the path to expose.
5. *Execute*: the moves to command for it are learned from the model of the controller (`compensation`).

**With a tolerance** of the edges (`solve_within`), the fastest plan is sought whose 95th percentile of |EPE|
as executed is within it. If the first plan meets the tolerance, the weight of the write time is raised until
a plan misses it. If the first plan misses it, the weight is lowered until a plan meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from laserpath.base.arrays import Floats
from laserpath.base.plan_steps import PlanPart
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for
from laserpath.machine import convert
from laserpath.machine.powers import energies, executable, to_levels
from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel, usual_model
from laserpath.planning import compensation
from laserpath.planning.dots import drawn_out, filled
from laserpath.planning.optimise.fields import PathProblem, cut_at_borders, optimised
from laserpath.planning.optimise.loop import (
    Optimised,
    Progress,
    Schedule,
    bounds_of,
    dose_to_size,
    optimise,
    outcome,
    tell,
)
from laserpath.planning.optimise.loss import share_of_peak, terms_of_path, weight_for
from laserpath.planning.optimise.objective import EdgeTerm, Objective
from laserpath.planning.smooth import decimate, simplify
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Toolpath
from laserpath.types.results import Solution

Listener = Callable[[Progress], None]

_PATH_SHARE = 0.75
"""Share of the iterations for the stages that find the path to expose. With those of *execute* it is not all:
the rest gains nothing in either."""

_EXECUTE_SHARE, _SHAPED_EXECUTE_SHARE = 0.12, 0.25
"""Share of the iterations for *execute*, without an input shaper and behind one, where the motion changes
more with the path: a larger one brings the print closer to the path to expose. Without a shaper a quarter
takes an eighth more work for edges as true."""

_SHAPE_SHARE = 0.4
"""Share of these iterations for *shape*; the rest is for *refine*."""

_FINISH_OF_SHAPE = 0.7
"""Share of L-BFGS in *shape* of a start that was not tried: a smaller one leaves poor starts more often."""

EDGE_WEIGHT, SHARP = 0.15, 1.2
"""Weight of the edge term in *refine*, and the final steepness of the threshold, relative to the resin's
contrast. A larger weight favours edge position over area; a steeper threshold confines gradients to edges."""

_SHAPED = 2e-2
"""Share of the loss that 20 iterations of *shape* have to gain for it to go on: *refine* does the rest. With
0.3 % the prints of 18 designs are as true."""

_BY_AREA = 4.0
"""Pixels per FWHM of *find*, where pixels that the outline crosses count as others do, for what their centres
say. A larger value takes more time."""

_NARROWEST_FIND = 1.3
"""Spot width, relative to the true one, at which *find* ends: a larger value saves a step and leaves more
work to *shape*."""

_THINNING_FWHM = 0.05
"""Tolerance for dropping vertices where the link is too slow: a larger one keeps more speed, but moves the
path further, which *refine* has to correct."""

_THINNING_OF_STROKES = 0.5
"""That tolerance for strokes, relative to other curves. One line shapes both edges, so a vertex is worth
more, and the write time that strokes win pays for it: a smaller value gives smaller edge errors and takes
longer to write."""

_INSIDE_FWHM, _INSIDE_ROOM = (0.8, 1.4), 5.0
"""Tolerance factor per vertex: 1 up to 0.8 FWHM from the outline, rising to 5 from 1.4 FWHM on, where a
vertex shapes no edge. A larger factor drops more vertices inside."""

_TRIES = 4
"""Attempts to simplify, each at half the previous tolerance; if all fail, the path is not simplified."""

_TRIM_FWHM = 0.0003
"""Mean edge error that *trim* accepts for a lower power: a larger value gives a weaker exposure."""


@dataclass(frozen=True, slots=True)
class SolverStage:
    """One stage. edge_weight: weight of the edge term, as of `Objective.of`: 0 is the area alone.

    width: spot width, relative to the true one.  simplified: whether its path is simplified first.
    """

    edge_weight: float | None
    schedule: Schedule
    width: float = 1.0
    simplified: bool = False

    def scene(self, task: Task) -> Scene:
        """The scene of a task on which this stage works, with its own spot width."""
        if self.edge_weight is not None:
            return task.scene.coarse
        spot = optics.widened(task.scene.spot, self.width)
        pixels = min(_BY_AREA, task.settings.pixels_per_fwhm)
        return replace(task.scene, spot=spot, grid=grid_for(task.design, spot, pixels))


def solve(
    start: EnergyPath,
    task: Task,
    progress: Listener | None = None,
    time_weight: float | None = None,
    *,
    stopped: bool = False,
    aimed: Callable[[Toolpath], None] | None = None,
) -> Solution:
    """Optimise a path in all stages; return the toolpath to be exposed, and what to command for it.

    time_weight: of the write time; None: the weight of the settings' quality.  stopped: by the user, before.
    aimed: told the path to be exposed as soon as it is known, before what to command for it.
    The losses are those of the path to expose, of all its stages in order; a stop by the user ends them.
    """
    weight = weight_for(task) if time_weight is None else time_weight
    edges, path, losses = _EdgeCheck.of(task), start, []
    for stage in stages_of(task):
        if stage.simplified:
            if tell(progress, PlanPart.SIMPLIFY):
                stopped, path = True, lean(path, edges.error(path), edges)
                break
            path = _decimated(path, edges)
        found = _run(stage, path, task, weight, progress)
        path = drawn_out(found.path, task.process) if _exposes(found.path) else path
        losses.append(found.loss)
        if found.stopped:
            path = _cut_short(path, stage, edges)
            break
    exposed = executable(trim(path, edges), task.scene.spot, task.machine, share_of_peak(weight))
    if aimed is not None:
        aimed(exposed)
    history = np.concatenate(losses)
    refined, shipped = _learned(exposed, task, weight, progress, stopped=stopped or found.stopped)
    done = len(history) + len(refined.loss)
    return Solution(
        toolpath=exposed,
        loss=history,
        result=outcome(done, task.settings.iterations, shipped.stopped, found.converged),
        stopped=shipped.stopped,
        converged=found.converged,
        written=shipped.program.path,
        time_weight=weight,
    )


def _cut_short(path: EnergyPath, stage: SolverStage, edges: _EdgeCheck) -> EnergyPath:
    """The path of a stage that the user has stopped, simplified, and at its size if its spot was wider."""
    if stage.width > 1:
        path = dose_to_size(path, edges.model, Objective.of(edges.task.overview), edges.task.machine)
    return lean(path, edges.error(path), edges)


def executions(task: Task) -> int:
    """Iterations of *execute*."""
    shaped = convert.controller(task.machine).impulses is not None
    return round((_SHAPED_EXECUTE_SHARE if shaped else _EXECUTE_SHARE) * task.settings.iterations)


def _learned(
    path: Toolpath, task: Task, weight: float, progress: Listener | None, *, stopped: bool = False
) -> tuple[compensation.Learned, compensation.LearnedProgram]:
    """The path to command for the one to expose, and its program. stopped: by the user, before this."""
    loss, left = final_loss(task.scene.coarse), 0 if stopped else executions(task)
    # A late laser is told early in the moves of the refined path.
    refined = compensation.refined(path, task.punctual, loss, weight, left, progress)
    refined = replace(refined, stopped=stopped or refined.stopped)
    program = compensation.learned(refined, task, loss, weight, progress)
    if task.scene.resin.kinetics is not None:
        program = compensation.converted(refined, program, task, final_loss, progress)
    return refined, program


def relearned(solution: Solution, task: Task, progress: Listener | None = None) -> MachineProgram:
    """The program that *execute* learns for the path of a solution, which may be of another machine's task.

    Raises KeyboardInterrupt if the user stops it.
    """
    _, shipped = _learned(solution.toolpath, task, solution.time_weight, progress)
    if shipped.stopped:
        raise KeyboardInterrupt
    return shipped.program


def final_loss(scene: Scene) -> Objective:
    """The loss of *refine* on any grid, without its write-time and defocus terms."""
    return Objective.of(scene, EDGE_WEIGHT).at_contrast(SHARP * scene.resin.contrast)


def _decimated(path: EnergyPath, edges: _EdgeCheck) -> EnergyPath:
    """The path that *refine* starts from, with fewer vertices, and at the speeds of powers on levels."""
    spot, machine = edges.task.scene.spot, edges.task.machine
    path = lean(*edges.filled(path), edges)
    strokes = edges.task.settings.initial == "strokes"
    tolerance = _THINNING_FWHM * (_THINNING_OF_STROKES if strokes else 1.0)
    path = decimate(path, edges.task.scene.fwhm, machine, tolerance, _room(path, edges.task.scene))
    return energies(to_levels(path, machine, spot), spot)


def _room(path: EnergyPath, scene: Scene) -> Floats:
    """(N+1,) tolerance factor per vertex: 1 at the outline, `_INSIDE_ROOM` inside."""
    # To samples a quarter of the FWHM apart: 0.01 FWHM too far at most, in a tenth of the time of lines.
    distance = cKDTree(scene.samples.xy).query(path.xy)[0] / scene.fwhm
    return np.interp(distance, _INSIDE_FWHM, (1.0, _INSIDE_ROOM))


def _exposes(path: EnergyPath) -> bool:
    """If nothing can be cured, the write time alone shrinks the path to no length: the start is better."""
    return bool((path.on & (path.length > 0)).any())


def stages_of(task: Task) -> list[SolverStage]:
    """The stages for the settings' starting curve, with `_PATH_SHARE` of the iterations in all."""
    n, beta, widths = round(_PATH_SHARE * task.settings.iterations), task.scene.resin.contrast, []
    if task.settings.initial == "random":
        width = max(task.design.size) / (2 * task.scene.fwhm)
        while width > _NARROWEST_FIND:
            widths.append(width)
            width /= 2
    each = n // (2 * len(widths)) if widths else 0
    rest = n - each * len(widths)
    shape = round(_SHAPE_SHARE * rest)
    # `start_curve` tries these: where trials have settled the start, there is nothing left to escape from.
    finish = 1.0 if task.settings.initial in ("auto", "strokes") else _FINISH_OF_SHAPE
    still = task.follows  # which needs L-BFGS, as `auto` has
    find, sharp = (0.4 * beta, 0.8 * beta), (SHARP * beta, SHARP * beta)
    return [
        *(
            SolverStage(None, Schedule(each, contrast=find, finish=0.0, stage=PlanPart.FIND), width)
            for width in widths
        ),
        SolverStage(
            0.0,  # with the integral along the outline
            Schedule(
                shape,
                contrast=(0.8 * beta, SHARP * beta),
                finish=finish,
                tolerance=_SHAPED,
                stage=PlanPart.SHAPE,
                still=still,
            ),
        ),
        SolverStage(
            EDGE_WEIGHT,
            Schedule(rest - shape, contrast=sharp, finish=1.0, stage=PlanPart.REFINE, still=still),
            simplified=True,
        ),
    ]


@dataclass(frozen=True, slots=True)
class _EdgeCheck:
    """Measures the mean edge error, in FWHM, of paths of one task, on its fine grid."""

    task: Task
    model: DoseModel
    edge: EdgeTerm

    @classmethod
    def of(cls, task: Task) -> _EdgeCheck:
        return cls(task, task.overview_model, EdgeTerm(task.overview))

    def errors(self, path: EnergyPath, factors: Floats) -> Floats:
        """(K,) mean edge errors of the path at K relative doses, `factors`."""
        return self._of_dose(self.model.line_dose(path.xy, path.energy), factors)

    def error(self, path: EnergyPath) -> float:
        """The mean edge error of the path."""
        return float(self.errors(path, np.ones(1))[0])

    def filled(self, path: EnergyPath) -> tuple[EnergyPath, float]:
        """The path with dots where it leaves the inside uncured, unless it is to be followed; its `error`."""
        if self.task.follows:
            return path, self.error(path)
        dose = self.model.line_dose(path.xy, path.energy)
        whole = filled(path, dose, self.task.overview, self.task.process)
        return whole, float(self._of_dose(dose, np.ones(1))[0]) if whole is path else self.error(whole)

    def _of_dose(self, dose: Floats, factors: Floats) -> Floats:
        """`errors` of a dose (rows, columns), mJ/mm²."""
        return self.edge.at_factors(dose, factors / self.task.scene.critical_dose)


def lean(path: EnergyPath, error: float, edges: _EdgeCheck) -> EnergyPath:
    """The simplified path of an `error`, which rises by no more than the settings' tolerance."""
    tolerance = edges.task.settings.simplify_fwhm
    for k in range(_TRIES):
        simpler = simplify(path, edges.task.scene.fwhm, tolerance / 2**k)
        if edges.error(simpler) <= error + tolerance:
            return simpler
    return path


def trim(path: EnergyPath, edges: _EdgeCheck) -> EnergyPath:
    """The path at the lowest dose whose mean edge error is within `_TRIM_FWHM` of the least.

    Of two equally accurate exposures the weaker one is better: an undercured print can be exposed again.
    """
    factors = np.linspace(0.95, 1.05, 51)
    errors = edges.errors(path, factors)
    factor = factors[np.flatnonzero(errors <= errors.min() + _TRIM_FWHM)[0]]
    return replace(path, energy=factor * path.energy)


def _run(
    stage: SolverStage, start: EnergyPath, task: Task, time_weight: float, progress: Listener | None
) -> Optimised:
    """Run one stage with its own spot width."""
    settings, process, scene = task.settings, task.process, stage.scene(task)
    if stage.width > 1:
        process = replace(process, spot=scene.spot)
    objective = Objective.of(scene, stage.edge_weight)
    # A coarse grid's margin may be a little wider than the fine one's, where all paths are measured.
    problem = PathProblem(scene, objective, process, bounds_of(task), settings.field_fwhm)
    if stage.width > 1:
        start = dose_to_size(start, usual_model(scene.grid, scene.spot), objective, task.machine)
        return optimise(start, problem.loss(), process, stage.schedule, progress, problem.bounds)
    start = cut_at_borders(start, problem.partition)
    own = terms_of_path(start, task, time_weight)
    problem = replace(problem, own=own, blur=settings.blur)
    return optimised(start, problem, stage.schedule, progress)


_FACTOR = 4.0
"""Ratio of the write-time weights of two attempts: a larger one covers a wider range in coarser steps."""

_ATTEMPTS = 3
"""Most attempts after the first; each takes as long as a plan without a tolerance."""


@dataclass(frozen=True, slots=True)
class _WeightTrial:
    """A solution, its p95 of |EPE| as executed, in FWHM, and its write time in s."""

    solution: Solution
    epe_p95: float
    write_time: float


def solve_within(
    start: EnergyPath,
    task: Task,
    progress: Callable[[Progress], None] | None = None,
    *,
    ship: Callable[[Solution], MachineProgram],
    stopped: bool = False,
    aimed: Callable[[Toolpath], None] | None = None,
) -> Solution:
    """The solution at the quality's weight; with `max_epe_fwhm`, the fastest of the attempts that meet it.

    If no attempt meets it, the one with the lowest 95th percentile. A stop by the user ends the attempts.
    ship: makes the program of a solution as it is written, with all passes; that program is measured.
    stopped: the user has stopped already; the start is made executable but not optimised.
    aimed: as of `solve`; with `max_epe_fwhm` it is not told, since each attempt has a path of its own.
    """
    weight, limit = weight_for(task), task.settings.max_epe_fwhm
    if stopped:
        solution = solve(start, task.within(0), stopped=True)
        doing = "strokes were fitted" if task.settings.initial == "strokes" else "curves were tried"
        return replace(solution, result=f"stopped by the user while {doing}")
    if limit is None:
        return solve(start, task, progress, weight, aimed=aimed)

    def attempt(weight: float) -> _WeightTrial:
        solution = solve(start, task, progress, weight)
        program = ship(solution)
        executed = Exposure(program, task.scene).executed
        return _WeightTrial(solution, executed.figures.epe_p95, program.run.write_time)

    return _fastest(_attempts(attempt, weight, limit), limit)


def _attempts(attempt: Callable[[float], _WeightTrial], weight: float, limit: float) -> list[_WeightTrial]:
    """The attempt at the given weight of the write time, and the attempts after it.

    If the first meets the limit, they end with the first to miss it; otherwise with the first to meet it.
    """
    attempts = [attempt(weight)]
    met = attempts[0].epe_p95 <= limit
    for _ in range(_ATTEMPTS):
        if attempts[-1].solution.stopped or (attempts[-1].epe_p95 <= limit) != met:
            break
        weight = weight * _FACTOR if met else weight / _FACTOR
        attempts.append(attempt(weight))
    return attempts


def _fastest(attempts: Sequence[_WeightTrial], limit: float) -> Solution:
    """The solution with the shortest write time within the limit; if none is, the most accurate one."""
    within = [trial for trial in attempts if trial.epe_p95 <= limit]
    most_accurate = min(attempts, key=lambda trial: trial.epe_p95)
    best = min(within, key=lambda trial: trial.write_time, default=most_accurate).solution
    last = attempts[-1].solution
    return replace(best, stopped=True, result=last.result) if last.stopped else best
