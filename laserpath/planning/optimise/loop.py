"""The loop: Adam, then L-BFGS, on smooth displacements and line energies; the best iterate kept.

While Adam runs, the threshold sharpens, so that far edges pull first and near edges are placed exactly last;
its steps fall on a half cosine. L-BFGS ends by itself where it gains no more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.dose import DoseModel
from laserpath.planning.optimise.defocus import DefocusTerm
from laserpath.planning.optimise.descent import Adam, Slopes, lbfgs
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.optimise.variables import Variables
from laserpath.planning.optimise.write_time import WriteTimeTerm
from laserpath.resin import dose_unit, line_energy, path_energy, power_for, speed_for
from laserpath.types import Grid, Machine, Process, Spot, Toolpath
from laserpath.types.results import Solution

_SHIFT_SIGMA_FWHM, _ENERGY_SIGMA_FWHM = 0.35, 0.3
_UNIT_FWHM = 0.3
"""Displacement that L-BFGS begins with as the equal of a log energy of 1."""

_ENERGY_ROOM = 2.0
"""How far above the strongest line of the start a line energy may rise when the laser is weak."""

_DOSES = (1e-30, 1e30)
"""Critical doses that single precision holds, with room for slopes and sums."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the planner is. stage: a word or two.  iteration of at most `of`.  loss: the latest."""

    stage: str
    iteration: int
    of: int
    loss: float


def report_measuring(progress: Callable[[Progress], None] | None, loss: Floats) -> None:
    """Report that only measuring is left. A stop by the user comes too late here: the optimiser has ended."""
    if progress is not None:
        with contextlib.suppress(KeyboardInterrupt):
            progress(Progress("measure", 1, 1, float(loss[-1]) if len(loss) else 0.0))


@dataclass(frozen=True, slots=True)
class Schedule:
    """iterations: at most, the last `finish` of them by L-BFGS, until 20 gain less than `tolerance` of
    the loss.  stage: its name in `Progress`.

    Adam's first step sizes (`shift` in FWHM, `energy` in log q), falling to `final` of them;
    contrast: first and last steepness of the threshold, in five steps, the last from half-way on.
    """

    iterations: int
    shift: float = 0.04
    energy: float = 0.1
    final: float = 0.05
    contrast: tuple[float, float] = (8.0, 20.0)
    finish: float = 0.5
    tolerance: float = 1e-3
    stage: str = "optimise"

    @property
    def steps(self) -> int:
        """Iterations by Adam."""
        return self.iterations - round(self.finish * self.iterations)

    def at(self, k: int) -> tuple[float, float]:
        """Relative step and contrast of Adam's iteration k."""
        t = k / max(self.steps - 1, 1)
        step = self.final + (1 - self.final) * (1 + np.cos(np.pi * t)) / 2
        sharpening = min(np.floor(8 * t) / 4, 1.0)
        return step, self.contrast[0] * (self.contrast[1] / self.contrast[0]) ** sharpening


def dose_to_size(start: Toolpath, model: DoseModel, objective: Objective, machine: Machine) -> Toolpath:
    """The toolpath at the one exposure factor that has the lowest loss, slower if full power needs it."""
    low, high = _DOSES
    if not low <= objective.resin.critical_dose <= high:
        raise InputError(
            f"critical dose {objective.resin.critical_dose:g} {dose_unit(objective.resin.order)} "
            f"is not between {low:g} and {high:g}, so single precision cannot hold it"
        )
    dose = model.dose(start)
    inside = float(np.average(dose, weights=objective.target.coverage))
    middle = objective.resin.critical_dose / max(inside, 1e-12)

    def best(factors: Floats) -> float:
        losses = [objective(dose * dose.dtype.type(k))[0] for k in factors]
        return float(factors[int(np.argmin(losses))])

    coarse = best(middle * np.geomspace(0.4, 6, 40))
    factor = best(coarse * np.geomspace(0.93, 1.07, 9))
    energy = factor * path_energy(start, model.spot)
    return _exposing(start.xy, energy, start.speed, machine, model.spot)


@dataclass(frozen=True, slots=True)
class Terms:
    """The loss of a path: of its dose, of its write time, and of its dose out of focus, where these count."""

    objective: Objective
    write_time: WriteTimeTerm | None = None
    defocus: DefocusTerm | None = None


def optimise(
    start: Toolpath,
    model: DoseModel,
    terms: Terms,
    process: Process,
    schedule: Schedule,
    progress: Callable[[Progress], None] | None = None,
    bounds: tuple[Floats, Floats] | None = None,
) -> Solution:
    """Move vertices and line energies of all exposing moves downhill in the sum of the terms.

    bounds: lower-left and upper-right corner (2,) mm where vertices stay; None: those of `vertex_bounds`.

    The first KeyboardInterrupt ends the loop with the best iterate so far.
    """
    bounds = bounds or vertex_bounds(terms.objective.target.grid, process.machine)
    search = _Search(start, model, terms, process, bounds)

    def tell(loss: float) -> None:
        if progress:
            progress(Progress(schedule.stage, len(search.history), schedule.iterations, loss))

    search.tell = tell
    stopped, converged = False, False
    try:
        search.approach(schedule)
        converged = search.arrive(schedule)
    except KeyboardInterrupt:
        stopped = True
    path = _exposing(search.xy, search.energy, start.speed, process.machine, model.spot)
    result = outcome(len(search.history), schedule.iterations, stopped, converged)
    return Solution(path, np.array(search.history), result, stopped, converged)


def outcome(done: int, planned: int, stopped: bool, converged: bool = False) -> str:
    """How an optimisation ended, in one sentence."""
    if stopped:
        return f"stopped by the user after {done} of {planned} iterations"
    if converged:
        return f"converged after {done} of at most {planned} iterations"
    return f"all {planned} iterations done"


class _Search:
    """One descent: the best path so far (xy, energy), and the loss of every iteration."""

    def __init__(
        self,
        start: Toolpath,
        model: DoseModel,
        terms: Terms,
        process: Process,
        bounds: tuple[Floats, Floats],
    ) -> None:
        self._start, self._model, self._terms, self._bounds = start, model, terms, bounds
        self._fwhm = optics.fwhm(process.spot)
        self.xy, self.energy = start.xy, path_energy(start, model.spot)
        self._highest = _highest_energy(self.energy, process.machine, model.spot)
        self._best = (np.inf, 0.0)
        self.history: list[float] = []
        self.tell: Callable[[float], None] = lambda loss: None

    def approach(self, schedule: Schedule) -> None:
        """Adam's part."""
        variables = self._variables()
        state = Adam(variables.sizes, (schedule.shift * self._fwhm, schedule.energy))
        for k in range(schedule.steps):
            relative, contrast = schedule.at(k)
            _, slopes = self._evaluate(variables, contrast, *state.values)
            state.step(slopes, relative)

    def arrive(self, schedule: Schedule) -> bool:
        """L-BFGS's part, from the best so far; whether it ended by itself."""
        left = schedule.iterations - schedule.steps
        if left == 0:
            return False
        variables, contrast = self._variables(), schedule.contrast[1]
        scale = _UNIT_FWHM * self._fwhm
        return lbfgs(
            lambda z, u: self._evaluate(variables, contrast, z, u),
            variables.sizes, scale, left, schedule.tolerance,
        )  # fmt: skip

    def _variables(self) -> Variables:
        """Of the best path so far."""
        path = Toolpath(self.xy, self._start.power, self._start.speed)
        return Variables.of(
            path, self.energy, _SHIFT_SIGMA_FWHM * self._fwhm, _ENERGY_SIGMA_FWHM * self._fwhm
        )

    def _evaluate(self, variables: Variables, contrast: float, z: Floats, u: Floats) -> tuple[float, Slopes]:
        """Loss and slopes at displacements and log energies; both are recorded and reported."""
        free_xy, free_energy = variables.path(z, u)
        xy, energy = np.clip(free_xy, *self._bounds), np.minimum(free_energy, self._highest)
        points, terms = self._model.points(xy, energy), self._terms
        loss, slope = terms.objective.at_contrast(contrast)(self._model.spread(points))
        if not np.isfinite(loss):
            raise InputError(f"loss is {loss} at iteration {len(self.history)}, but must be finite")
        gradient = self._model.pull(points, slope, xy, energy)
        d_xy, d_energy = gradient.xy, gradient.line_energy
        if terms.defocus is not None:
            out, d_out = terms.defocus(xy, energy, contrast)
            loss, d_xy, d_energy = loss + out, d_xy + d_out.xy, d_energy + d_out.line_energy
        if terms.write_time is not None:
            time, d_time = terms.write_time(xy)
            loss, d_xy = loss + time, d_xy + d_time
        self._note(loss, contrast, xy, energy)
        # What a bound holds does not change the loss.
        d_xy = np.where(xy == free_xy, d_xy, 0.0)
        d_energy = np.where(energy == free_energy, d_energy, 0.0)
        return loss, variables.pull(d_xy, d_energy, energy)

    def _note(self, loss: float, contrast: float, xy: Floats, energy: Floats) -> None:
        """Keep the best; only losses at the same contrast can be compared."""
        self.history.append(loss)
        if loss < self._best[0] or contrast != self._best[1]:
            self._best, self.xy, self.energy = (loss, contrast), xy, energy
        self.tell(loss)


def vertex_bounds(grid: Grid, machine: Machine, centred: bool = False) -> tuple[Floats, Floats]:
    """Lower-left and upper-right corner (2,) mm of where vertices may be."""
    x0, x1, y0, y1 = grid.extent
    corner = -np.asarray(machine.size) / 2 if centred else np.zeros(2)
    low = np.maximum(corner, (x0 + grid.pitch, y0 + grid.pitch))
    high = np.minimum(corner + machine.size, (x1 - grid.pitch, y1 - grid.pitch))
    return low, high


def _highest_energy(started: Floats, machine: Machine, spot: Spot) -> float:
    """Full power at full speed, or what a path that must go slower has, with room above it."""
    full = float(line_energy(machine.power_max, min(machine.speed_max), spot))
    return max(full, _ENERGY_ROOM * float(started.max()))


def _exposing(xy: Floats, energy: Floats, speed: Floats, machine: Machine, spot: Spot) -> Toolpath:
    """The path with line energies (N,) at `speed`, or slower where full power is not enough."""
    speed = np.minimum(speed, speed_for(energy, machine.power_max, spot))
    return Toolpath(xy, np.minimum(power_for(energy, speed, spot), machine.power_max), speed)
