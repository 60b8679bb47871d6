"""What the steps of a plan cost: unit costs, the work that a design makes, and the speed of this machine.

A step of r rounds (iterations, evaluations, or one) takes

    r · (once + a p + b ℓ + c o) · pace      seconds of one processor,

p: pixels of its grid;  ℓ: FWHM of line, or the pieces in which the controller executes them, where these are
what the step goes through;  o: FWHM of outline. The unit costs are `COSTS`. They are measured: `make costs`
plans some designs and prints the table anew, to be done when a step has become faster. `pace` compares this
machine with the one of the table by a short fixed work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import NamedTuple

import numpy as np
import shapely

import gcode
from gcode.compiled import is_kept
from laserpath.base.compute.runtime import cpu_count
from laserpath.base.compute.workers import worker_count
from laserpath.base.plan_steps import PlanPart
from laserpath.design.partition import is_alone, partition_of
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import longest_piece
from laserpath.planning.compensation import places
from laserpath.planning.compensation.compensate import ROUNDS
from laserpath.planning.curve.strokes import ITERATIONS, STROKES
from laserpath.planning.optimise.loop import Schedule
from laserpath.planning.stages import executions, stages_of
from laserpath.planning.start import CANDIDATES, ITERATIONS_EACH, SETTLING, is_line_drawing
from laserpath.planning.task import Task
from laserpath.planning.unconstrained import EVALUATIONS, is_wanted
from laserpath.types import Toolpath


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one round. once: s.  pixel, line, edge: µs for each pixel, FWHM of line (or piece) and of outline.

    share: rounds that are needed on average, relative to those allowed.
    """

    once: float = 0.0
    pixel: float = 0.0
    line: float = 0.0
    edge: float = 0.0
    share: float = 1.0


class PlanStep(NamedTuple):
    """A step of a plan, as its `Progress` names it. seconds: forecast.  rounds: expected in these.

    compiling: s of `seconds` in which kernels are compiled.  first: s that only a process' first plan takes.
    """

    name: str
    seconds: float
    rounds: float = 1.0
    compiling: float = 0.0
    first: float = 0.0

    @property
    def later(self) -> PlanStep:
        """The step in a further plan of the same process."""
        return self._replace(seconds=self.seconds - self.compiling - self.first, compiling=0.0, first=0.0)


COSTS: dict[str, Cost] = {
    "start": Cost(once=0.66, line=25, edge=200),
    "fit": Cost(pixel=0.49),
    "try": Cost(once=0.0067, line=1.2, edge=0.35, share=0.85),
    "find": Cost(once=0.0021, pixel=0.026, edge=1.7, share=0.94),
    "shape": Cost(once=0.0021, pixel=0.026, edge=1.7, share=0.94),
    "simplify": Cost(once=0.23, pixel=0.053, edge=2.6),
    "refine": Cost(once=0.002, pixel=0.014, edge=2.6, share=0.61),
    "execute": Cost(once=0.0033, line=0.44, edge=1.9),
    "levels": Cost(once=0.17, edge=38),
    "place": Cost(once=0.032, pixel=0.59, line=84, edge=99),
    "measure": Cost(once=0.1, pixel=1.2, line=8, edge=46),
    "limit": Cost(once=0.00035, pixel=0.046, share=0.55),
    "report": Cost(once=0.43, pixel=0.36, line=20, edge=130),
}
"""The unit costs of each step, as `make costs` prints them."""

COMPILING = {"start": 11.0, "try": 4.4, "simplify": 2.4, "levels": 12.0, "place": 14.0}
"""Seconds by which these steps are longer the first time on a computer, where kernels are compiled."""

FIRST = {"start": 0.63, "simplify": 0.20, "levels": 0.05}
"""Seconds of `Cost.once` that only the first plan of a process takes, to load what it needs: of eight discs
of 0.2 to 2.4 mm planned one after the other, the first one against the others."""

_BY_FIELDS = {
    "try": 0.54, "shape": 0.97, "refine": 0.94, "execute": 0.82,
    "levels": 0.73, "place": 0.79, "measure": 0.44,
}  # fmt: skip
"""The share of each step that workers take of a large design, field by field; of a board of 94 × 74 mm."""

_REFERENCE = 0.0046
"""Seconds of the fixed work where `COSTS` were measured."""

_NEAR_LINE, _NEAR_END = 32.0, 90.0
"""Pixels near 1 FWHM of a stroke, and near its two ends: 9 pixels per FWHM², up to 1.8 FWHM from it."""

_ASIDE = 16
"""Fields of a design from which a process aside measures some of its prints; it takes 3 s to start."""

_SAMPLED = 2000
"""Moves along the outline that are executed to see in how many pieces: more are more exact and slower."""


@dataclass(frozen=True, slots=True)
class StepWork:
    """What a step does. rounds: most of them.  pixels, line, edge: of each, as in `COSTS`."""

    step: str
    rounds: float = 1.0
    pixels: float = 0.0
    line: float = 0.0
    edge: float = 0.0

    @property
    def expected(self) -> float:
        """The rounds that are needed on average."""
        return COSTS[self.step].share * self.rounds

    @property
    def seconds(self) -> float:
        """S on the machine of `COSTS`."""
        cost = COSTS[self.step]
        each = cost.once + 1e-6 * (cost.pixel * self.pixels + cost.line * self.line + cost.edge * self.edge)
        return self.expected * each


def steps_of(task: Task, length: float) -> tuple[PlanStep, ...]:
    """The steps of a plan in their order, each with its seconds on this machine. length: of lines, mm."""
    compiling = dict(COMPILING) if not is_kept(places.descend) else {}
    loading = dict(FIRST)
    found = [
        PlanStep(work.step, pace() * (seconds + more), work.expected, pace() * more, pace() * first)
        for work, seconds in _shared_out(works(task, length), task)
        # A step that a plan has several times does this only once.
        for more, first in [(compiling.pop(work.step, 0.0), loading.pop(work.step, 0.0))]
    ]
    if cpu_count() == 1:
        return tuple(found)
    # A second processor computes the limit beside the plan; only what is left of it then takes time.
    plan = sum(step.seconds for step in found if step.name not in (PlanPart.LIMIT, PlanPart.REPORT))
    return tuple(
        step._replace(seconds=max(step.seconds - plan, 0.0)) if step.name == PlanPart.LIMIT else step
        for step in found
    )


def _shared_out(each: Iterable[StepWork], task: Task) -> Iterator[tuple[StepWork, float]]:
    """Each work with its seconds; of several fields, workers take those in which something is drawn."""
    partition = task.partition
    if partition.single:
        yield from ((work, work.seconds) for work in each)
        return
    drawn = sum(partition.draws(field, task.scene) for field in partition) / len(partition)
    for work in each:
        theirs = _BY_FIELDS.get(work.step, 0.0)
        work = replace(work, pixels=work.pixels * (1 - theirs + theirs * drawn))
        yield work, work.seconds * (1 - theirs + theirs / at_once(task))


def at_once(task: Task) -> int:
    """Fields of a task's design that are worked on at the same time; 1 of a small one."""
    count = len(task.partition)
    return 1 if is_alone(count) else min(worker_count(), ceil(count / 2))


def measures_aside(task: Task) -> bool:
    """Whether a process aside measures the prints that a report sets beside the plan's."""
    fields, by_dose = len(partition_of(task.scene)), task.process.resin.kinetics is None
    return by_dose and fields >= _ASIDE and not (task.partition.single or is_alone(fields))


def works(task: Task, length: float) -> Iterator[StepWork]:
    """The steps of a plan of one task in their order. length: of all lines, mm."""
    settings, scene = task.settings, task.scene
    line, edge, pixels = length / scene.fwhm, task.design.area.length / scene.fwhm, _pixels(scene)
    coarse = _pixels(scene.coarse)
    yield StepWork(PlanPart.START, 1, pixels, line, edge)
    curves, settling = settings.initial == "auto" and not task.follows, min(SETTLING, settings.iterations)
    if curves:
        yield StepWork(PlanPart.TRY, CANDIDATES * ITERATIONS_EACH, coarse, line, edge)
    if settings.initial == "strokes" or (curves and is_line_drawing(task.design, scene.fwhm)):
        ends = min(edge, settings.strokes or STROKES)
        near = _NEAR_LINE * line + _NEAR_END * ends
        yield StepWork(PlanPart.FIT, min(ITERATIONS, settings.iterations), near)
        yield StepWork(PlanPart.TRY, settling + (ITERATIONS_EACH if curves else 0), coarse, line, edge)
    yield from _solving(task, line, edge)
    pieces = settings.passes * line * pieces_per_fwhm(task)
    yield StepWork(PlanPart.MEASURE, 1, pixels, pieces, edge)
    if is_wanted(scene, settings):
        yield StepWork(PlanPart.LIMIT, EVALUATIONS, pixels)
    yield StepWork(PlanPart.REPORT, 1, pixels, pieces, edge)


def _solving(task: Task, line: float, edge: float) -> Iterator[StepWork]:
    """The steps from the starting curve to the program. line, edge: FWHM."""
    settings, pixels, pieces = task.settings, _pixels(task.scene), line * pieces_per_fwhm(task)
    for stage in stages_of(task):
        schedule: Schedule = stage.schedule
        blurred = 2 if settings.blur > 1 and stage.width == 1 else 1
        if stage.simplified:
            yield StepWork(PlanPart.SIMPLIFY, 1, pixels, line, edge)
        yield StepWork(schedule.stage, schedule.iterations, blurred * _pixels(stage.scene(task)), line, edge)
    yield StepWork(PlanPart.EXECUTE, executions(task), _pixels(task.scene.coarse), pieces, edge)
    if not convert.strokes_move(task.machine, task.scene.fwhm):
        yield StepWork(PlanPart.LEVELS, 1, pixels, pieces, edge)
        yield StepWork(PlanPart.PLACE, ROUNDS[settings.quality], pixels, pieces, edge)


def _pixels(scene: Scene) -> float:
    return float(math.prod(scene.grid.shape))


def pieces_per_fwhm(task: Task) -> float:
    """Pieces in which the controller executes 1 FWHM of line, from a part of the outline."""
    machine, fwhm = task.machine, task.scene.fwhm
    step, xy = task.settings.segment_fwhm * fwhm, []
    for part in task.design.area.geoms:
        ring = shapely.segmentize(part.exterior.simplify(fwhm / 30), step)
        xy.append(shapely.get_coordinates(ring))
        if sum(map(len, xy)) > _SAMPLED:
            break
    on = np.concatenate([np.append(np.ones(len(one) - 1, dtype=bool), False) for one in xy])[:-1]
    power, speed = np.where(on, machine.power_max / 2, 0.0), np.where(on, min(machine.speed_max), 0.0)
    path = Toolpath(
        np.concatenate(xy)[: _SAMPLED + 1], power[:_SAMPLED],
        np.where(on, speed, min(machine.rapid_speed))[:_SAMPLED],
    )  # fmt: skip
    lit = path.on
    moves = convert.to_moves(path, machine)
    run = gcode.motion.execute(moves, convert.controller(machine), longest=longest_piece(task.process))
    return float(lit[run.row].sum()) * fwhm / max(float(path.length[lit].sum()), fwhm)


@cache
def pace() -> float:
    """Seconds that this machine needs for one second of `COSTS`: it is measured once, in some 0.03 s.

    The shortest of several times counts, and of the processor: others may use the machine, too. Where the
    clock is too coarse for one of them, their mean counts.
    """
    times = [fixed_work() for _ in range(10)]
    return (min(times) or sum(times) / len(times) or _REFERENCE) / _REFERENCE


def fixed_work() -> float:
    """Seconds for a fixed work: array operations and plain Python, about half of the time each."""
    start, wave = time.thread_time(), np.sin(np.arange(16384.0)).reshape(128, 128)
    for _ in range(8):
        wave = np.fft.irfft2(np.fft.rfft2(wave) * 0.5)
    sum(k * k % 7 for k in range(40_000))
    return time.thread_time() - start
