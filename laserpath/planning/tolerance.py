"""The fastest plan that meets an edge tolerance: the 95th percentile of |EPE|, as commanded and as executed.

A plan that meets it is followed by attempts with more weight on the write time, until one misses it; a plan
that misses it, by attempts with less weight, until one meets it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.optimise.write_time import TIME_WEIGHTS
from laserpath.planning.stages import solve
from laserpath.types import Design, Process, Settings, Target, Toolpath
from laserpath.types.results import Solution

_FACTOR = 4.0
"""Ratio of one attempt's write-time weight to the next: a larger one covers a wider range, in coarser
steps."""

_TRIES = 3
"""Attempts after the first, at most; each takes as long as a plan without tolerance."""


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
    ship: Callable[[Toolpath], MachineProgram] | None = None,
) -> Solution:
    """The solution at the quality's weight; with `max_epe_fwhm`, the fastest found that meets it.

    If none meets it, the one of the lowest 95th percentile. No attempt follows one that the user stopped.
    stopped: the user has stopped already; the start is made executable and not optimised.
    ship: makes the program, with all passes, that is measured against the tolerance; None: the path is.
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
        program = ship(path) if ship else MachineProgram.of(path, process)
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
