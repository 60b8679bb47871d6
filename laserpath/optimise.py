"""The loop: Adam on smooth displacements and line energies, the best iterate kept.

Adam (Kingma and Ba 2015) with steps that fall on a half cosine. The threshold sharpens on the way,
so that far edges pull first and near edges are placed exactly last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from laserpath import optics
from laserpath.arrays import Floats
from laserpath.dose import DoseModel
from laserpath.errors import InputError
from laserpath.objective import Objective
from laserpath.resin import dose_unit, line_energy, path_energy, power_for, speed_for
from laserpath.results import Solution
from laserpath.types import Grid, Machine, Process, Spot, Toolpath
from laserpath.variables import Variables

_BETA1, _BETA2 = 0.9, 0.99
_SHIFT_SIGMA_FWHM, _ENERGY_SIGMA_FWHM = 0.5, 0.3
_ENERGY_ROOM = 2.0
"""How far above the strongest line of the start a line energy may rise when the laser is weak."""

_DOSES = (1e-30, 1e30)
"""Critical doses that single precision holds, with room for slopes and sums."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the planner is. stage: a word or two.  iteration of `of`.  loss: the latest."""

    stage: str
    iteration: int
    of: int
    loss: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """iterations; first step sizes (`shift` in FWHM, `energy` in log q), falling to `final` of them;
    contrast: first and last steepness of the threshold, in five steps, the last from half-way on.
    """

    iterations: int
    shift: float = 0.02
    energy: float = 0.05
    final: float = 0.05
    contrast: tuple[float, float] = (8.0, 20.0)

    def at(self, k: int) -> tuple[float, float]:
        """Relative step and contrast of iteration k."""
        t = k / max(self.iterations - 1, 1)
        step = self.final + (1 - self.final) * (1 + np.cos(np.pi * t)) / 2
        sharpening = min(np.floor(8 * t) / 4, 1.0)
        return step, self.contrast[0] * (self.contrast[1] / self.contrast[0]) ** sharpening


def tune(start: Toolpath, model: DoseModel, objective: Objective, machine: Machine) -> Toolpath:
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


def optimise(
    start: Toolpath,
    model: DoseModel,
    objective: Objective,
    process: Process,
    schedule: Schedule,
    progress: Callable[[Progress], None] | None = None,
    stage: str = "optimise",
    centred: bool = False,
) -> Solution:
    """Move vertices and line energies of all exposing moves downhill in the objective.

    Vertices stay on the grid and in the machine's work area (`centred`: around the work zero).

    The first KeyboardInterrupt ends the loop with the best iterate so far.
    """
    fwhm = optics.fwhm(process.spot)
    low, high = reach(objective.target.grid, process.machine, centred)
    started = path_energy(start, model.spot)
    variables = Variables.of(start, started, _SHIFT_SIGMA_FWHM * fwhm, _ENERGY_SIGMA_FWHM * fwhm)
    state = _Adam(variables, schedule, fwhm)
    best, history = (np.inf, 0.0, start.xy, started), []
    highest = _highest_energy(started, process.machine, model.spot)
    stopped = False
    try:
        for k in range(schedule.iterations):
            step, contrast = schedule.at(k)
            xy, energy = state.path()
            xy, energy = np.clip(xy, low, high), np.minimum(energy, highest)
            points = model.points(xy, energy)
            loss, slope = objective.at_contrast(contrast)(model.spread(points))
            if not np.isfinite(loss):
                raise InputError(f"loss is {loss} at iteration {k}, but must be finite")
            history.append(loss)
            # Only losses at the same contrast can be compared.
            if loss < best[0] or contrast != best[1]:
                best = (loss, contrast, xy, energy)
            gradient = model.pull(points, slope, xy, energy)
            state.step(*variables.pull(gradient.xy, gradient.line_energy, energy), step)
            if progress:
                progress(Progress(stage, k + 1, schedule.iterations, loss))
    except KeyboardInterrupt:
        stopped = True
    _, _, xy, energy = best
    path = _exposing(xy, energy, start.speed, process.machine, model.spot)
    result = outcome(len(history), schedule.iterations, stopped)
    return Solution(path, np.array(history), result, stopped)


def outcome(done: int, planned: int, stopped: bool) -> str:
    """How an optimisation ended, in one sentence."""
    if stopped:
        return f"stopped by the user after {done} of {planned} iterations"
    return f"all {planned} iterations done"


class _Adam:
    """First and second moments of the displacements and log energies."""

    def __init__(self, variables: Variables, schedule: Schedule, fwhm: float) -> None:
        k, m = variables.sizes
        self._variables = variables
        self._values = [np.zeros((k, 2)), np.zeros(m)]
        self._mean = [np.zeros_like(v) for v in self._values]
        self._square = [np.zeros_like(v) for v in self._values]
        self._rates = (schedule.shift * fwhm, schedule.energy)
        self._count = 0

    def path(self) -> tuple[Floats, Floats]:
        return self._variables.path(*self._values)

    def step(self, d_shift: Floats, d_energy: Floats, relative: float) -> None:
        self._count += 1
        for value, mean, square, slope, rate in zip(
            self._values, self._mean, self._square, (d_shift, d_energy), self._rates, strict=True
        ):
            mean += (1 - _BETA1) * (slope - mean)
            # x and y share a scale, so that a step keeps the direction of the gradient.
            size = (slope**2).sum(axis=1, keepdims=True) if slope.ndim == 2 else slope**2
            square += (1 - _BETA2) * (size - square)
            unbiased = np.sqrt(square / (1 - _BETA2**self._count)) + 1e-300
            value -= rate * relative * (mean / (1 - _BETA1**self._count)) / unbiased


def reach(grid: Grid, machine: Machine, centred: bool = False) -> tuple[Floats, Floats]:
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
