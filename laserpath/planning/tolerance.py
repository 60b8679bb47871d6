"""The fastest plan that meets an edge tolerance: the 95th percentile of |EPE| as executed.

If the first plan meets the tolerance, the weight of the write time is raised until a plan misses it. If the
first plan misses it, the weight is lowered until a plan meets it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.optimise.write_time import weight_for
from laserpath.planning.stages import solve
from laserpath.planning.task import Task
from laserpath.types import EnergyPath
from laserpath.types.results import Solution

_FACTOR = 4.0
"""Ratio of the write-time weights of two attempts: a larger one covers a wider range in coarser steps."""

_TRIES = 3
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
) -> Solution:
    """The solution at the quality's weight; with `max_epe_fwhm`, the fastest of the attempts that meet it.

    If no attempt meets it, the one with the lowest 95th percentile. A stop by the user ends the attempts.
    ship: makes the program of a solution as it is written, with all passes; that program is measured.
    stopped: the user has stopped already; the start is made executable but not optimised.
    """
    weight, limit = weight_for(task.settings), task.settings.max_epe_fwhm
    if stopped:
        solution = solve(start, task.within(0), stopped=True)
        doing = "strokes were fitted" if task.settings.initial == "strokes" else "curves were tried"
        return replace(solution, result=f"stopped by the user while {doing}")
    if limit is None:
        return solve(start, task, progress, weight)

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
    for _ in range(_TRIES):
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
