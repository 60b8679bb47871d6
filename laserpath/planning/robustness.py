"""What a plan is most sensitive to, and what would help its machine: both computed, neither by rule.

1. The program, as it is, is executed under each disturbance (`measure.window`).
2. The path that the plan aims at is learned again for machines that are better in one respect, and measured
   like the plan. That path, its order and its lines stay, so a new plan for such a machine may gain more.

A neutral filter of transmission t divides the power that is needed into 1/t times as many levels. Of the
filters that are sold, three are tried: the darkest one that leaves every power that is written, and the next
two, with which the strongest lines are cut off, or written more slowly at the same energy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import gcode
from laserpath.base.plan_steps import PlanPart
from laserpath.machine import convert
from laserpath.machine.powers import energies, exposing
from laserpath.measure.window import disturbances, disturbed, key_figures
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.pipeline import Plan
from laserpath.planning.stages import relearned
from laserpath.planning.task import Task
from laserpath.types import Machine, Toolpath
from laserpath.types.results import KeyFigures, Sensitivity, Solution, Variation

Listener = Callable[[Progress], None]

FILTERS = (0.79, 0.63, 0.5, 0.4, 0.32, 0.25, 0.2, 0.16, 0.1, 0.05, 0.02, 0.01)
"""Transmissions of neutral-density filters as they are sold, optical density 0.1 to 2."""

_DARKER = 2
"""Filters tried beyond the darkest one that leaves all powers: more of them cut off more."""

_MORE_LEVELS = 1023
"""Levels of a board with 10 bits."""

_FASTER, _FINER = 2.0, 4.0
"""Factors on acceleration and on steps per mm."""

_FREE_RATE = 4000.0
"""Moves/s of a link that does not limit: more would split moves further than the spot can show."""


@dataclass(frozen=True, slots=True)
class BetterMachine:
    """A machine that is better in one respect. cause, change: as in `Variation`."""

    cause: str
    change: str
    machine: Machine


def sensitivity(plan: Plan, progress: Listener | None = None) -> Sensitivity:
    """The prints of a plan on machines that differ from its own, and what better machines would print.

    progress: called with the stage 'sensitivity' before each print; a KeyboardInterrupt that it raises ends
    the work, and the result has what was computed until then. If the plan is its starting curve, which was
    not learned, no better machine is tried.
    """
    task, planned = Task.of(plan.design, plan.process, plan.settings), KeyFigures.of(plan.report.executed)
    written = plan.solution.written
    better = () if written is None else better_machines(written, task)
    count, found, improved = _Count(len(disturbances(task.machine)) + len(better), progress), [], []
    try:
        count()
        for one in disturbed(task.machine, task.scene, lambda d: d.program(plan.shipped)):
            found.append(one)
            count(one.figures.epe_mean)
        for machine in better:
            figures = _learned_for(machine, plan.solution, task, count.again)
            improved.append(Variation(machine.cause, machine.change, figures))
            count(figures.epe_mean)
    except KeyboardInterrupt:
        return Sensitivity(planned, tuple(found), tuple(improved), stopped=True)
    return Sensitivity(planned, tuple(found), tuple(improved))


class _Count:
    """Reports how many of the prints are done."""

    def __init__(self, of: int, progress: Listener | None) -> None:
        self._of, self._progress, self._done, self._latest = of, progress, -1, 0.0

    def __call__(self, epe_mean: float = 0.0) -> None:
        """One more is done."""
        self._done, self._latest = self._done + 1, epe_mean
        self._tell()

    def again(self, _: Progress) -> None:
        """Nothing new, but the user may stop here."""
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(Progress(PlanPart.SENSITIVITY, self._done, self._of, self._latest))


def _learned_for(better: BetterMachine, solution: Solution, task: Task, progress: Listener) -> KeyFigures:
    task = replace(task, process=replace(task.process, machine=better.machine))
    path = exposing(energies(solution.toolpath, task.scene.spot), better.machine, task.scene.spot)
    return key_figures(relearned(replace(solution, toolpath=path), task, progress), task.scene)


def better_machines(written: Toolpath, task: Task) -> tuple[BetterMachine, ...]:
    """The machines to try for a path as it is written; only changes that the controller notices."""
    machine = task.machine
    tried = (*_filters(written, machine), *_boards(machine))
    own = convert.controller(machine)
    return tuple(
        one for one in tried if one.cause in ("filter", "levels") or convert.controller(one.machine) != own
    )


def _filters(written: Toolpath, machine: Machine) -> Iterator[BetterMachine]:
    if not written.on.any():
        return
    needed = float(written.power.max()) / machine.power_max
    keep = [one for one in FILTERS if one >= needed]
    slow = [one for one in FILTERS if one < needed]
    for transmission in (*keep[-1:], *slow[:_DARKER]):
        weaker = replace(machine, power_max=transmission * machine.power_max)
        yield BetterMachine("filter", f"a filter of {100 * transmission:.0f} %", weaker)


def _boards(machine: Machine) -> Iterator[BetterMachine]:
    if machine.power_levels < _MORE_LEVELS and not gcode.dialect(machine.dialect).firmware.ramp_levels:
        times = _MORE_LEVELS / machine.power_levels
        finer = partial(replace, machine, power_levels=_MORE_LEVELS)
        offset, least = machine.light.offset, machine.level_min
        # A threshold of the diode is a current, not a number of levels; the smallest level must lie above it.
        offset = offset if offset >= 0 else times * offset
        least = max(least if least == 1 else round(times * least), math.floor(-offset) + 1)
        changed = finer(level_offset=offset, level_min=least)
        yield BetterMachine("levels", f"{_MORE_LEVELS} power levels", changed)
    x, y = machine.acceleration
    faster = replace(machine, acceleration=(_FASTER * x, _FASTER * y))
    yield BetterMachine("acceleration", "twice the acceleration", faster)
    rate = max(_FREE_RATE, machine.segment_rate)
    free = replace(machine, baud=None, host_delay=0.0, segment_rate=rate)
    yield BetterMachine("link", "a link without limit", free)
    if machine.steps is not None:
        fine = replace(machine, steps=(_FINER * machine.steps[0], _FINER * machine.steps[1]))
        yield BetterMachine("steps", "motor steps a quarter as long", fine)
