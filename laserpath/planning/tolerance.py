"""The fastest plan that meets an edge tolerance: the 95th percentile of |EPE|, as commanded and as executed.

A plan that meets it is followed by attempts with more weight on the write time, until one misses it; a plan
that misses it, by attempts with less weight, until one meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.optimise.write_time import TIME_WEIGHTS
from laserpath.planning.stages import solve
from laserpath.planning.task import Task
from laserpath.types import Toolpath
from laserpath.types.results import Solution

_FACTOR = 4.0
"""Ratio of one attempt's write-time weight to the next: a larger one covers a wider range, in coarser
steps."""

_TRIES = 3
"""Attempts after the first, at most; each takes as long as a plan without tolerance."""


@dataclass(frozen=True, slots=True)
class _WeightTrial:
    """A solution, its p95 of |EPE| in FWHM, and its write time in s."""

    solution: Solution
    epe_p95: float
    write_time: float


def solve_within(
    start: Toolpath,
    task: Task,
    progress: Callable[[Progress], None] | None = None,
    *,
    stopped: bool = False,
    ship: Callable[[Toolpath], MachineProgram] | None = None,
) -> Solution:
    """The solution at the quality's weight; with `max_epe_fwhm`, the fastest found that meets it.

    If none meets it, the one of the lowest 95th percentile. No attempt follows one that the user stopped.
    stopped: the user has stopped already; the start is made executable and not optimised.
    ship: makes the program, with all passes, that is measured against the tolerance; None: the path is.
    """
    weight, limit = TIME_WEIGHTS[task.settings.quality], task.settings.max_epe_fwhm
    if stopped:
        solution = solve(start, task.within(0))
        return replace(solution, stopped=True, result="stopped by the user while curves were tried")
    if limit is None:
        return solve(start, task, progress, weight)

    def attempt(weight: float) -> _WeightTrial:
        solution = solve(start, task, progress, weight)
        program = ship(solution.toolpath) if ship else MachineProgram.of(solution.toolpath, task.process)
        return _WeightTrial(solution, Exposure(program, task.scene).epe_p95, program.run.write_time)

    return _fastest(_attempts(attempt, weight, limit), limit)


def _attempts(attempt: Callable[[float], _WeightTrial], weight: float, limit: float) -> list[_WeightTrial]:
    """The one of the given weight of the write time, and those after it up to the first that turns out
    otherwise: misses the limit where the first met it, or meets it where the first missed it.
    """
    attempts = [attempt(weight)]
    kept = attempts[0].epe_p95 <= limit
    for _ in range(_TRIES):
        if attempts[-1].solution.stopped or (attempts[-1].epe_p95 <= limit) != kept:
            break
        weight = weight * _FACTOR if kept else weight / _FACTOR
        attempts.append(attempt(weight))
    return attempts


def _fastest(attempts: Sequence[_WeightTrial], limit: float) -> Solution:
    """The solution of the shortest write time within the limit, or the most accurate one if none is."""
    within = [one for one in attempts if one.epe_p95 <= limit]
    truest = min(attempts, key=lambda one: one.epe_p95)
    best = min(within, key=lambda one: one.write_time, default=truest).solution
    last = attempts[-1].solution
    return replace(best, stopped=True, result=last.result) if last.stopped else best
