"""The fastest plan that keeps a tolerance: write time gets more weight while it is kept, or less until it is.

The tolerance is on the 95th percentile of |EPE|, both as commanded and as executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from laserpath.machine.program import Shipped
from laserpath.measure.exposure import Exposure
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.optimise.write_time import TIME_WEIGHTS
from laserpath.planning.stages import solve
from laserpath.types import Design, Process, Settings, Target, Toolpath
from laserpath.types.results import Solution

_FACTOR = 4.0
"""From one weight to the next."""

_TRIES = 3
"""After the first."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A solution, its p95 of |EPE| in FWHM, and its write time in s."""

    solution: Solution
    epe_p95: float
    write_time: float


def solve_within(
    start: Toolpath,
    design: Design,
    target: Target,
    process: Process,
    settings: Settings,
    progress: Callable[[Progress], None] | None = None,
    *,
    stopped: bool = False,
    ship: Callable[[Toolpath], Shipped] | None = None,
) -> Solution:
    """The solution at the quality's weight, or the fastest found that keeps `max_epe_fwhm`.

    Where none keeps it, the truest. A solution that the user stopped is the last one; `stopped`: the user
    did so already, and the start is only made executable.  ship: the program of a path, in all its passes,
    which is what has to keep the tolerance; None: the path itself.
    """
    if stopped:
        solution = solve(start, design, process, replace(settings, iterations=0))
        return replace(solution, stopped=True, result="stopped by the user while curves were tried")
    weight, limit = TIME_WEIGHTS[settings.quality], settings.max_epe_fwhm
    if limit is None:
        return solve(start, design, process, settings, progress, weight)

    def attempt(weight: float) -> _Tried:
        solution = solve(start, design, process, settings, progress, weight)
        path = solution.toolpath
        program = ship(path) if ship else Shipped(path, process)
        return _Tried(solution, Exposure(program, design, target).epe_p95, program.run.write_time)

    tried = [attempt(weight)]
    kept = tried[0].epe_p95 <= limit
    for _ in range(_TRIES):
        if tried[-1].solution.stopped or (tried[-1].epe_p95 <= limit) != kept:
            break
        weight = weight * _FACTOR if kept else weight / _FACTOR
        tried.append(attempt(weight))
    within = [one for one in tried if one.epe_p95 <= limit]
    truest = min(tried, key=lambda one: one.epe_p95)
    best = min(within, key=lambda one: one.write_time, default=truest).solution
    last = tried[-1].solution
    return replace(best, stopped=True, result=last.result) if last.stopped else best
