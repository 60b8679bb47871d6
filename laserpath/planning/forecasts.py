"""Forecast of a plan before it starts: planning time, memory and write time.

**Write time.** Lines a pitch apart fill the area A, and the outline, of length P, adds the share
`_OUTLINE_SHARE` of its length: L = A/pitch + 0.28 P. The mean speed on them is taken to be that along the
outline, which the controller's planner computes with its bends, its ends and the link's limit. The commanded
speed is the machine's full speed, or the one that full power allows, E_N P^N/(D_c · pitch), if that is lower.

**Planning.** The steps of `costs`, on this machine, with nothing else to do; the conversion of a resin with
kinetics takes simulations with their gradients besides (`compensation.conversion.seconds_of`).

The memory is 400 MB + 200 B for each pixel; of a design of several fields 40 B up to 2^24 pixels and 8 B
for those beyond, of which less is kept, and 0.5 GB for each worker beside this process and for what measures
aside (measured on a board of 94 × 74 mm: 1.25 GB, and 0.4 and 0.5 GB; on squares of 1.3e8 pixels: 2.0 GB, and
1.0 GB each). Forecast ÷ measured was 0.65 to 1.4 for memory, and 1.01 to 1.37 for writing, where only
`_OUTLINE_SHARE` is a fit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely

import gcode
from laserpath.base.errors import figure
from laserpath.base.plan_steps import SOLVING, PlanPart
from laserpath.design.target import PIXELS_MAX
from laserpath.machine import convert
from laserpath.machine.attenuation import check_process, too_strong
from laserpath.machine.convert import slow_host
from laserpath.machine.placement import to_expose
from laserpath.machine.powers import speed_at_full_power
from laserpath.physics.kinetics.light import fewest_flashes
from laserpath.planning.compensation import conversion
from laserpath.planning.costs import PlanStep, at_once, measures_aside, steps_of
from laserpath.planning.task import Task
from laserpath.types import Design, Machine, Process, Settings, Toolpath

_OUTLINE_SHARE = 0.28
"""Length of lines that the outline adds, relative to its own length; measured."""

_TOLERANCE_PLANS = 2.5
"""Plans that the search for a tolerance takes on average."""

_BYTES_PER_PIXEL, _BYTES_PER_PIXEL_OF_FIELDS, _WORKER_BYTES = 200.0, (40.0, 8.0), 0.5e9
"""Memory of a design of one field; of a larger one, up to `_HEAPED` pixels and beyond them; of each worker
beside this process."""

_HEAPED = 1 << 24
"""Pixels whose fields fill a heap of 1 GiB; of more, what is free goes back to the system."""

BASE_BYTES = 4e8
"""Memory of the program itself and of the packages that it imports."""

_SIMPLE_FWHM = 0.03
"""Tolerance for simplifying the outline: a larger one leaves fewer bends, and so a shorter write time."""

_SLOWER = 1.15
"""Write time, relative to that without the link's limit, above which a note names the link."""

_TINY_FWHM = 0.5
"""Extent of a design below which a warning asks for its unit: a larger value also warns of intended dots."""

_LEARNING = 6.0
"""Times that a plan's sensitivity learns it again, for other machines; measured."""

_SLOW = 0.2
"""Mean speed, relative to the commanded one, below which a note names the acceleration."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """steps: of the plan, in their order.  memory: bytes.  write_seconds: s.

    notes: sentences on what slows the machine down.  warnings: sentences on the laser, the design and this
    computer.
    plans: how often the steps of solving are taken on average; a tolerance takes several plans.
    """

    steps: tuple[PlanStep, ...]
    memory: float
    write_seconds: float
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    plans: float = 1.0

    @property
    def plan_seconds(self) -> float:
        """Time to plan and to write the files, s."""
        return self.seconds() + self.further(1)

    @property
    def compiling(self) -> float:
        """S of it in which kernels are compiled: many in the first plan after an installation, then none."""
        return sum(step.compiling for step in self.steps)

    @property
    def later(self) -> Forecast:
        """The forecast of the plan after another one in the same process, which has loaded and compiled."""
        return replace(self, steps=tuple(step.later for step in self.steps))

    @property
    def with_sensitivity(self) -> Forecast:
        """The forecast if the plan's sensitivity is computed, too, and the report written again."""
        more = _LEARNING * self.seconds((PlanPart.EXECUTE, PlanPart.LEVELS, PlanPart.PLACE))
        return replace(self, steps=(*self.steps, PlanStep(PlanPart.SENSITIVITY, more), *self.steps[-1:]))

    @property
    def without_report(self) -> Forecast:
        """The forecast of a plan whose report is written later, or not at all."""
        return replace(self, steps=tuple(step for step in self.steps if step.name != PlanPart.REPORT))

    @classmethod
    def of_all(cls, each: Sequence[Forecast]) -> Forecast:
        """Several plans as one: they are made, and written, one after the other."""
        planned = each[0], *(one.later for one in each[1:])
        return cls(
            tuple(step for one in planned for step in one.steps),
            max(one.memory for one in each),
            sum(one.write_seconds for one in each),
            tuple(dict.fromkeys(note for one in each for note in one.notes)),
            tuple(dict.fromkeys(warning for one in each for warning in one.warnings)),
            each[0].plans,
        )

    def further(self, plans: float) -> float:
        """S that the plans expected after so many take; the last one may need more than expected."""
        return max(self.plans - plans, 0.0) * sum(s.later.seconds for s in self.steps if s.name in SOLVING)

    def seconds(self, steps: Container[str] | None = None) -> float:
        """S that the named steps take, each once; None: all of them."""
        return sum(step.seconds for step in self.steps if steps is None or step.name in steps)


def forecast(design: Design, process: Process, settings: Settings) -> Forecast:
    """The time and memory of planning a design, and its write time.

    Raises InputError if it needs more pixels than allowed, or if the machine cannot write it.
    """
    design = to_expose(design, process.resin, process.spot)
    check_process(process, settings, design)
    requested = settings.pixels_per_fwhm
    task = Task.affordable(design, process, settings)
    settings = task.settings
    memory = _memory(task)
    write, notes = _writing(task)
    strong = too_strong(process, settings, design)
    warnings = (*strong, *_tiny(task), *coarser(settings, requested), *tight(memory))
    return Forecast(_steps(task, write), memory, write, notes, warnings, _plans(settings))


def _steps(task: Task, write_seconds: float) -> tuple[PlanStep, ...]:
    """The steps of a plan, with the correction by conversion where the resin has kinetics."""
    steps = steps_of(task, length_of(task))
    if task.process.resin.kinetics is None:
        return steps
    after = [step.name for step in steps].index(PlanPart.MEASURE)
    return (*steps[:after], PlanStep(PlanPart.CONVERT, _converting(task, write_seconds)), *steps[after:])


def _memory(task: Task) -> float:
    """Bytes that a plan needs, its workers' included."""
    rows, columns = task.scene.grid.shape
    if task.partition.single:
        return BASE_BYTES + _BYTES_PER_PIXEL * rows * columns
    first, further = _BYTES_PER_PIXEL_OF_FIELDS
    pixels = first * min(rows * columns, _HEAPED) + further * max(rows * columns - _HEAPED, 0)
    others = at_once(task) - 1 + measures_aside(task)
    return BASE_BYTES + pixels + others * _WORKER_BYTES


def _plans(settings: Settings) -> float:
    """Plans that are made on average until one keeps the tolerance, if there is one."""
    return 1.0 if settings.max_epe_fwhm is None else _TOLERANCE_PLANS


def _converting(task: Task, write_seconds: float) -> float:
    """Seconds for correcting the program by what it converts."""
    length = task.settings.passes * length_of(task)
    flashes = fewest_flashes(length, write_seconds, task.scene.fwhm)
    return conversion.seconds_of(task, flashes, write_seconds)


def length_of(task: Task) -> float:
    """The length of all lines, mm."""
    area, pitch = task.design.area, task.settings.pitch_fwhm * task.scene.fwhm
    return area.area / pitch + _OUTLINE_SHARE * area.length


def _writing(task: Task) -> tuple[float, tuple[str, ...]]:
    """The write time, s, and a sentence on what slows the head down, if anything."""
    machine, fwhm = task.machine, task.scene.fwhm
    energy = task.scene.critical_dose * task.settings.pitch_fwhm * fwhm
    fastest = min(machine.speed_max)
    allowed = float(speed_at_full_power(energy, machine, task.scene.spot))
    speed = min(fastest, allowed)
    rings = _rings(task.design, _SIMPLE_FWHM * fwhm)
    along = sum(ring.length for ring in rings)
    unlinked = replace(machine, segment_rate=1e9, baud=None, host_delay=0.0)
    seconds, free = (_outline(rings, speed, one) for one in (machine, unlinked))
    total = length_of(task) / along
    notes = []
    if allowed < fastest:
        notes.append(slowed(machine, allowed, "this resin"))
    if seconds > _SLOWER * free:
        notes.append(
            f"the link carries {figure(convert.segment_rate(machine), 3)} moves/s, and bends this fine have "
            f"more at {figure(speed, 2)} mm/s: the head will go at about {figure(along / seconds, 2)} mm/s"
        )
    elif along / free < _SLOW * speed:
        notes.append(
            f"bends and ends keep the head at about {figure(along / free, 2)} of {figure(speed, 2)} mm/s: "
            f"that is the machine's acceleration of {min(machine.acceleration):g} mm/s²"
        )
    travels = _travels(task.design, len(rings), machine)
    return task.settings.passes * total * (seconds + travels), (*notes, *slow_host(machine))


def _rings(design: Design, tolerance: float) -> list[shapely.LinearRing]:
    """All rings of the outline, simplified within the tolerance, mm."""
    simple = [
        ring.simplify(tolerance) for part in design.area.geoms for ring in (part.exterior, *part.interiors)
    ]
    return [ring for ring in simple if ring.length > 0]


def _outline(rings: list[shapely.LinearRing], speed: float, machine: Machine) -> float:
    """Seconds along all rings, from rest to rest, without the travels between them."""
    xy = [shapely.get_coordinates(ring) for ring in rings]
    on = np.concatenate([np.append(np.ones(len(ring) - 1, dtype=bool), False) for ring in xy])[:-1]
    path = Toolpath(
        np.concatenate(xy),
        np.where(on, machine.power_max, 0.0),
        np.where(on, speed, min(machine.rapid_speed)),
    )
    motion = gcode.motion.profile(convert.to_moves(path, machine), convert.limits(machine))
    return float(motion.duration[on].sum())


def _travels(design: Design, count: int, machine: Machine) -> float:
    """Seconds of `count` travels, each to a neighbouring ring."""
    width, height = design.size
    each = math.sqrt(width * height / count) / 2
    return count * 2 * math.sqrt(each / min(machine.acceleration))


def _tiny(task: Task) -> tuple[str, ...]:
    """A sentence if the whole design is smaller than half the spot: its unit may be wrong."""
    fwhm, size = task.scene.fwhm, max(task.design.size)
    if size >= _TINY_FWHM * fwhm:
        return ()
    return (
        f"the whole design is {figure(fwhm / size, 2)} times smaller than the spot of "
        f"{figure(1000 * fwhm)} µm: "
        "take a smaller spot (--spot-fwhm), or a larger design if its unit is wrong",
    )


def coarser(settings: Settings, requested: float) -> tuple[str, ...]:
    """A sentence if the grid is coarser than requested, to stay within `PIXELS_MAX`."""
    if settings.pixels_per_fwhm == requested:
        return ()
    return (
        f"the dose is computed with {figure(settings.pixels_per_fwhm, 2)} pixels per FWHM instead of "
        f"{requested:g}, as more than {figure(PIXELS_MAX, 2)} pixels would be needed; a wider spot, or a "
        "part at a time, is faster",
    )


def slowed(machine: Machine, speed: float, what: str) -> str:
    """A sentence that full power lets the head go no faster than `speed`, mm/s."""
    return (
        f"full power, {machine.power_max:g} mW, writes {what} at about {figure(speed, 2)} mm/s, "
        f"below the {min(machine.speed_max):g} mm/s of the machine"
    )


def tight(memory: float) -> tuple[str, ...]:
    """A sentence if the memory needed is more than this computer has."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system reports it
        return ()
    if memory <= total:
        return ()
    return (
        f"it needs about {figure(memory / 1e9, 2)} GB of memory, above the {figure(total / 1e9, 2)} GB of "
        "this computer: plan a part of the design at a time, or with a wider spot",
    )
