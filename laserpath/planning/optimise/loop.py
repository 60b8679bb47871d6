"""The loop: Adam where the schedule has it, then L-BFGS, on smooth displacements and line energies; the best
iterate is kept.

While Adam runs, the threshold becomes steeper: distant edges act first, and near edges are placed exactly at
the end. Its step size falls along a half cosine. L-BFGS ends by itself when the loss no longer falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.machine.powers import energy_at_full_power, within_power
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel
from laserpath.physics.resin import dose_unit
from laserpath.planning.optimise.descent import Adam, Slopes, lbfgs
from laserpath.planning.optimise.loss import Loss
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.optimise.variables import Variables
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Grid, Machine, Process, Spot

_SHIFT_SIGMA_FWHM, _ENERGY_SIGMA_FWHM = 0.35, 0.3
_UNIT_FWHM = 0.8
"""Displacement that L-BFGS scales like a log energy of 1: a larger value moves vertices more in its first
steps."""

_SETTLED = 10
"""Iterations of Adam for which what hardly changes is held (`Loss.near`): more are less accurate, fewer
take longer. L-BFGS, which moves less, holds it from its beginning to its end."""

_ENERGY_ROOM = 2.0
"""Largest line energy for a weak laser, relative to the strongest line of the start: a larger value lets the
path become slower."""

_DOSES = (1e-30, 1e30)
"""Range of critical doses, in the resin's unit, whose slopes and sums fit into single precision."""

_SPARSE = 4
"""Of a large dose one strip in so many is read, except in the last step: a larger value is faster, and may
miss features."""

_AT_ONCE = 1 << 24
"""Pixels of a dose that are averaged at a time: more take more memory."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the planner is. stage: its name.  iteration: those done, of at most `of`; 0: it begins.

    loss: the latest; nan where there is none.
    """

    stage: str
    iteration: int
    of: int
    loss: float


Listener = Callable[[Progress], None]


class Free(NamedTuple):
    """What an optimisation may change. vertices: (N+1,) of a path.  moves: (N,) line energies."""

    vertices: Bools
    moves: Bools


def tell(progress: Listener | None, stage: str, done: int = 0, of: int = 1) -> bool:
    """Report a stage without a loss; return whether the user stops here, which the caller may ignore."""
    if progress is not None:
        try:
            progress(Progress(stage, done, of, math.nan))
        except KeyboardInterrupt:
            return True
    return False


def share_of(progress: Listener | None, before: int, of: int) -> Listener | None:
    """A listener for a part of a stage, which has `before` iterations behind it, of `of`."""
    if progress is None:
        return None
    return lambda now: progress(Progress(now.stage, before + now.iteration, of, now.loss))


@dataclass(frozen=True, slots=True)
class Schedule:
    """How one stage is optimised. iterations: the most, of which L-BFGS does the share `finish` at the end.

    shift, energy: Adam's first step sizes, in FWHM and in log q; they fall to the share `final`.
    contrast: first and last steepness of the threshold; it rises in five steps and is constant from half-way.
    tolerance: L-BFGS ends when 20 iterations gain less than this share of the loss.
    stage: its name in `Progress`.  still: whether vertices stay, and only line energies change.
    """

    iterations: int
    shift: float = 0.04
    energy: float = 0.1
    final: float = 0.05
    contrast: tuple[float, float] = (8.0, 20.0)
    finish: float = 0.5
    tolerance: float = 6e-3
    stage: str = "optimise"
    still: bool = False

    @property
    def steps(self) -> int:
        """The iterations that Adam does."""
        return self.iterations - round(self.finish * self.iterations)

    def at(self, k: int) -> tuple[float, float]:
        """Relative step and contrast of Adam's iteration k."""
        t = k / max(self.steps - 1, 1)
        step = self.final + (1 - self.final) * (1 + np.cos(np.pi * t)) / 2
        sharpening = min(np.floor(8 * t) / 4, 1.0)
        return step, self.contrast[0] * (self.contrast[1] / self.contrast[0]) ** sharpening


def dose_to_size(start: EnergyPath, model: DoseModel, objective: Objective, machine: Machine) -> EnergyPath:
    """The path with all line energies times the factor of lowest loss, slowed where power is short."""
    low, high = _DOSES
    if not low <= objective.scene.resin.critical_dose <= high:
        raise InputError(
            f"critical dose {objective.scene.resin.critical_dose:g} {dose_unit(objective.scene.resin.order)} "
            f"is not between {low:g} and {high:g}, so single precision cannot hold it"
        )
    dose = model.line_dose(start.xy, start.energy)
    inside = _average(dose, objective.scene.target.coverage)
    middle = objective.scene.resin.critical_dose / max(inside, 1e-12)

    def best(factors: Floats, every: int = 1) -> float:
        return float(factors[int(np.argmin(objective.at_factors(dose, factors, every)))])

    coarse = best(middle * np.geomspace(0.4, 6, 15), _SPARSE)
    nearer = best(coarse * np.geomspace(0.82, 1.22, 7), _SPARSE)
    factor = best(nearer * np.geomspace(0.93, 1.07, 9))
    return within_power(replace(start, energy=factor * start.energy), machine, model.spot)


def _average(values: Floats, weights: Floats) -> float:
    """The weighted mean of an array (rows, columns), of a large one by parts, which takes less memory."""
    rows = max(1, _AT_ONCE // values.shape[1])
    parts = [slice(first, first + rows) for first in range(0, len(values), rows)]
    return float(sum((values[part] * weights[part]).sum() for part in parts) / weights.sum(dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Optimised:
    """The best path found. loss: (iterations,) history.  result: how it ended, in one sentence.

    stopped: by the user.  converged: it ended because the loss no longer fell.
    """

    path: EnergyPath
    loss: Floats
    result: str
    stopped: bool
    converged: bool


def optimise(
    start: EnergyPath,
    loss: Loss,
    process: Process,
    schedule: Schedule,
    progress: Callable[[Progress], None] | None = None,
    bounds: tuple[Floats, Floats] | None = None,
    free: Free | None = None,
) -> Optimised:
    """Optimise the vertices and line energies of all exposing moves for the least loss.

    bounds: lower-left and upper-right corner (2,) mm of the range of the vertices; None: `vertex_bounds`.
    free: what may change; None: all.

    The first KeyboardInterrupt ends the loop with the best iterate so far.
    """
    bounds = bounds or vertex_bounds(loss.grid, process.machine)
    search = _Search(start, loss, process, bounds, free)

    def report(latest: float) -> None:
        if progress:
            progress(Progress(schedule.stage, len(search.history), schedule.iterations, latest))

    search.report = report
    stopped, converged = False, False
    try:
        search.approach(schedule)
        converged = search.arrive(schedule)
    except KeyboardInterrupt:
        stopped = True
    path = within_power(replace(start, xy=search.xy, energy=search.energy), process.machine, process.spot)
    result = outcome(len(search.history), schedule.iterations, stopped, converged)
    return Optimised(path, np.array(search.history), result, stopped, converged)


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
        start: EnergyPath,
        loss: Loss,
        process: Process,
        bounds: tuple[Floats, Floats],
        free: Free | None,
    ) -> None:
        self._start, self._bounds, self._free = start, bounds, free
        self._loss = self._near = loss
        self._fwhm = optics.fwhm(process.spot)
        self.xy, self.energy = start.xy, start.energy
        self._highest = _highest_energy(self.energy, process.machine, process.spot)
        self._best = (np.inf, 0.0)
        self.history: list[float] = []
        self.report: Callable[[float], None] = lambda loss: None

    def approach(self, schedule: Schedule) -> None:
        """Run Adam's iterations of the schedule."""
        variables = self._variables()
        state = Adam(variables.sizes, (schedule.shift * self._fwhm, schedule.energy))
        for k in range(schedule.steps):
            if k % _SETTLED == 0:
                self._settle()
            relative, contrast = schedule.at(k)
            _, slopes = self._evaluate(variables, contrast, *state.values)
            state.step(slopes, relative)

    def arrive(self, schedule: Schedule) -> bool:
        """Run L-BFGS from the best path so far; return whether it ended by itself."""
        left = schedule.iterations - schedule.steps
        if left == 0:
            return False
        variables, contrast = self._variables(), schedule.contrast[1]
        self._settle()
        self._best = (np.inf, 0.0)  # the first evaluation is of the best path, with what is held now
        shift, log_energy = variables.units
        units = (_UNIT_FWHM * self._fwhm * shift, log_energy)

        def evaluate(z: Floats, u: Floats) -> tuple[float, Slopes]:
            loss, (d_z, d_u) = self._evaluate(variables, contrast, z, u)
            return loss, (np.zeros_like(d_z) if schedule.still else d_z, d_u)

        return lbfgs(evaluate, units, left, schedule.tolerance)

    def _settle(self) -> None:
        """Hold what hardly changes as it is for the best path so far."""
        self._near = self._loss.near(self.xy, self.energy)

    def _variables(self) -> Variables:
        """The variables of the best path so far."""
        path = replace(self._start, xy=self.xy, energy=self.energy)
        return Variables.of(path, _SHIFT_SIGMA_FWHM * self._fwhm, _ENERGY_SIGMA_FWHM * self._fwhm)

    def _evaluate(self, variables: Variables, contrast: float, z: Floats, u: Floats) -> tuple[float, Slopes]:
        """(loss, slopes) at displacements z and log energies u; the loss is recorded and reported."""
        free_xy, free_energy = variables.path(z, u)
        xy, energy = np.clip(free_xy, *self._bounds), np.minimum(free_energy, self._highest)
        if self._free is not None:
            xy = np.where(self._free.vertices[:, None], xy, self._start.xy)
            energy = np.where(self._free.moves, energy, self._start.energy)
        loss, gradient = self._near.at_contrast(contrast)(xy, energy)
        if not np.isfinite(loss):
            raise InputError(f"loss is {loss} at iteration {len(self.history)}, but must be finite")
        self._note(loss, contrast, xy, energy)
        # A variable held by its bound does not change the loss.
        d_xy = np.where(xy == free_xy, gradient.xy, 0.0)
        d_energy = np.where(energy == free_energy, gradient.line_energy, 0.0)
        if self._free is not None:
            d_xy[~self._free.vertices], d_energy[~self._free.moves] = 0.0, 0.0
        return loss, variables.pull(d_xy, d_energy, energy)

    def _note(self, loss: float, contrast: float, xy: Floats, energy: Floats) -> None:
        """Keep the best iterate; only losses at the same contrast can be compared."""
        self.history.append(loss)
        if loss < self._best[0] or contrast != self._best[1]:
            self._best, self.xy, self.energy = (loss, contrast), xy, energy
        self.report(loss)


def vertex_bounds(grid: Grid, machine: Machine, centred: bool = False) -> tuple[Floats, Floats]:
    """Lower-left and upper-right corner (2,) mm of the range of the vertices."""
    x0, x1, y0, y1 = grid.extent
    corner = -np.asarray(machine.size) / 2 if centred else np.zeros(2)
    low = np.maximum(corner, (x0 + grid.pitch, y0 + grid.pitch))
    high = np.minimum(corner + machine.size, (x1 - grid.pitch, y1 - grid.pitch))
    return low, high


def bounds_of(task: Task) -> tuple[Floats, Floats]:
    """`vertex_bounds` of a task's grid, machine and origin."""
    return vertex_bounds(task.scene.grid, task.machine, task.settings.origin == "centre")


def _highest_energy(started: Floats, machine: Machine, spot: Spot) -> float:
    """mJ/mm: full power at full speed, or `_ENERGY_ROOM` times the start's largest if that is more."""
    full = float(energy_at_full_power(min(machine.speed_max), machine, spot))
    return max(full, _ENERGY_ROOM * float(started.max()))
