"""Layers at heights → plans with one zero, equal layers planned once, and one program that exposes all.

Between two layers the laser is dark: first Z moves, then the machine does what its `LayerChange` says, then
the head travels to the next layer's start. Head or plate moves, depending on the machine. Light from below
makes a part that hangs from its plate: with Z turned down it keeps its shape only if its layers are mirrored.

Layers keep their relative positions: with c(A) the point of an area A that becomes the work zero, the layer
A_k of all layers A is shifted by c(A_k) − c(A).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import shapely
from shapely import affinity

import gcode
from gcode.controllers.interface import z_of
from laserpath.base.arrays import Floats
from laserpath.base.checks import a_list as check_list
from laserpath.base.checks import number as check_number
from laserpath.base.compute import workers
from laserpath.base.errors import InputError, figure, one_line, told_once
from laserpath.base.files import write_all
from laserpath.base.overlay import differing, union
from laserpath.base.plan_steps import PlanPart
from laserpath.design import as_design, tolerance_for
from laserpath.design.arrange import Arrangement, arrange
from laserpath.design.partition import Partition
from laserpath.design.supports import Unsupported, unprintable, warnings_of
from laserpath.design.target import grid_for
from laserpath.machine import convert
from laserpath.machine.gate import verified_by_pieces
from laserpath.machine.heights import TIMED_AT_ONCE, check_bed, write_time
from laserpath.machine.placement import check_fits, origin_of, scales, to_expose, zero_of
from laserpath.machine.program import MachineProgram, moves_from_zero
from laserpath.machine.rest import pieces, rested
from laserpath.measure.surface import COLUMN_PIXELS, thickness_of
from laserpath.physics import optics
from laserpath.planning.costs import PlanStep, pace
from laserpath.planning.depth import (
    FAR_DEPTHS,
    InDepth,
    applies,
    inset,
    limits_of,
    planned_in_depth,
)
from laserpath.planning.forecasts import Forecast, forecast
from laserpath.planning.keeping import Keeping
from laserpath.planning.optimise.fields import begin
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.output import header
from laserpath.planning.pipeline import ColourListener, Listener, Plan, listener_of, plan
from laserpath.types import Design, Grid, Machine, Point, Process, Resin, Settings

_SAME_FWHM = 1 / 100
"""Tolerance, in FWHM, within which layers count as equal; a larger one plans fewer layers."""
_SAME_HEIGHT = 1e-3
"""mm, the last digit of programs: heights that differ by less are equal."""
_SEVERAL = 400_000
"""Pixels of all distinct layers from which several are planned at a time, some 10 s of work: workers take
seconds to start."""
_DIMMING = 8.5e-7
"""s a pixel that the search for a layer's dimmed program takes; measured on a part of 20 mm in 400 layers."""
_DIMMING_BYTES = 180.0, 13.0
"""A pixel, of the dimming, and of each different layer; measured on the same part, with 2.1 GB in all."""
_PAGE = 3.4
"""s at the pace of `costs`, of the page of a small part: three of 2 to 3 mm, with and without it."""
_THICKNESS = 0.05
"""Relative difference of thickness from which a warning says that one critical dose does not suit all."""

Made = TypeVar("Made")
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers, lowest first, before they are planned. z: (K,) mm.  settings: with the origin in effect.

    process: of all but the resin's bottom layers.

    whole: what all of them together expose, as a design on the machine.  plan_of: (K,) index in `each`.
    each: the distinct layers to plan, where they were drawn.  offsets: mm, that place each by the origin.
    drawn: (mm) area of each as drawn, on the machine; `each` is inset from it if light in depth is planned.
    notes: why the work zero was moved; warnings of designs, heights, resin.  hanging: what cannot print.
    full: whether a page is wanted.
    """

    z: tuple[float, ...]
    whole: Design
    process: Process
    settings: Settings
    plan_of: tuple[int, ...]
    each: tuple[Design, ...]
    offsets: tuple[Point, ...]
    drawn: tuple[Design, ...]
    notes: tuple[str, ...] = ()
    hanging: tuple[Unsupported, ...] = ()
    full: bool = True

    __repr__ = one_line

    @property
    def layers(self) -> tuple[tuple[float, Design], ...]:
        """(z, area) of each layer, mm, as drawn and placed on the machine, lowest first."""
        return tuple((z, self.drawn[number]) for z, number in zip(self.z, self.plan_of, strict=True))

    @property
    def paged(self) -> bool:
        """Whether it will have a page: it shows what light in depth cures."""
        return self.full and applies(self.process.resin, len(self.z))

    def places(self, folder: str | Path = ".", *, apart: bool = False) -> tuple[Path, ...]:
        """The files that `LayerPlans.write` writes."""
        name, count = self.whole.name, len(self.z)
        page = (f"{name}.report.html",) * self.paged
        digits = max(3, len(str(count)))
        each = tuple(f"{name}-{k:0{digits}d}.gcode" for k in range(1, count + 1))
        return tuple(Path(folder) / one for one in (*(each if apart else (f"{name}.gcode",)), *page))

    def of_each(self, make: Callable[[int, Design, Process, Settings], Made]) -> tuple[Made, ...]:
        """The results of `make` for the distinct layers, with number, process and settings; errors name z."""
        made = []
        for number, (design, offset) in enumerate(zip(self.each, self.offsets, strict=True)):
            lowest = self.plan_of.index(number)
            with _naming(self.z[lowest]):
                process = self.process
                if lowest < process.resin.bottom_layers:
                    process = replace(process, resin=_raised(process.resin))
                made.append(make(number, design, process, replace(self.settings, offset=offset)))
        return tuple(made)

    def bottom(self, numbers: Sequence[int]) -> str:
        """What the bottom layers among those of the numbers get, a phrase after a comma; or ''."""
        resin = self.process.resin
        count = sum(k < resin.bottom_layers for k in numbers)
        if not count:
            return ""
        which = "the lowest" if count == 1 else f"the lowest {count}"
        return f", {which} with {resin.bottom_exposure:g} times the critical dose"

    @property
    def hangs(self) -> str:
        """What is done for light from below, a phrase after a comma; or ''."""
        hangs = self.process.machine.layer_change.hangs
        return ", mirrored in x, as the part hangs from its plate" if hangs else ""

    def settling(self, seconds: float | None) -> Stack:
        """The same with another wait, s, at each height; None: as it is. Raises InputError below 0."""
        if seconds is None:
            return self
        if not (np.isfinite(seconds) and seconds >= 0):
            raise InputError(f"settle is {seconds} s, but must be 0 s or more")
        machine = self.process.machine
        change = replace(machine.layer_change, settle=float(seconds))
        return replace(self, process=replace(self.process, machine=replace(machine, layer_change=change)))


def _raised(resin: Resin) -> Resin:
    """The resin for its bottom layers, which get more light."""
    dose = resin.bottom_exposure * resin.critical_dose
    return replace(resin, critical_dose=dose, bottom_layers=0, bottom_exposure=1.0)


@contextmanager
def _naming(z: float) -> Iterator[None]:
    """Within it, an InputError begins with the layer that it is of. z: mm."""
    try:
        yield
    except InputError as error:
        raise InputError(f"layer at z {z:g} mm: {error}") from error


@dataclass(frozen=True)
class LayerPlans:
    """The result of `plan_layers`. program: G-code that exposes all layers.

    each: the plans of the distinct layers of `stack`, as if alone.  warnings: each once, with its layers.
    in_depth: what is exposed instead, if the resin's working curve is known: layers dimmed for the light of
    those above them.
    """

    stack: Stack
    each: tuple[Plan, ...]
    program: str
    warnings: tuple[str, ...]
    in_depth: InDepth | None = None

    __repr__ = one_line

    @property
    def programs(self) -> tuple[MachineProgram, ...]:
        """The program of each layer by itself, lowest first; equal layers have the same one."""
        return _programs(self.plans, self.in_depth)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plan of each layer, lowest first; equal layers have the same one."""
        return tuple(self.each[number] for number in self.stack.plan_of)

    @property
    def missed(self) -> tuple[float, ...]:
        """Heights, mm, of the layers that miss the requested tolerance."""
        return tuple(z for z, one in zip(self.stack.z, self.plans, strict=True) if not one.within_tolerance)

    @property
    def within_tolerance(self) -> bool:
        """Whether all layers keep the given tolerance."""
        return not self.missed

    @cached_property
    def write_time(self) -> float:
        """Seconds that the machine takes for all layers, the way from the work zero included.

        Some layers at a time, as if each of these groups began a program: hundredths of a second differ.
        """
        process = self.stack.process
        each = _pieces(self.stack.z, self.programs, process)
        some = iter(lambda: list(islice(each, TIMED_AT_ONCE)), [])
        first = moves_from_zero(gcode.concat(next(some)), process.machine)
        return write_time(first, process) + sum(write_time(gcode.concat(moves), process) for moves in some)

    def write(self, folder: str | Path = ".", *, apart: bool = False) -> tuple[Path, ...]:
        """Write NAME.gcode; apart: instead NAME-001.gcode … for each layer, all or none. Returns the paths.

        With light in depth also NAME.report.html, unless the settings' report was to be brief.
        A program first goes to the height of its first layer. If z 0 is the only one, it leaves Z alone.
        """
        places = self.stack.places(folder, apart=apart)
        texts = [self.program]
        if apart:
            given = self.stack, self.programs, self.warnings
            texts = [_program(*given, [number]) for number in range(len(self.stack.z))]
        if self.stack.paged:
            texts.append(self.page)
        return write_all(dict(zip(places, texts, strict=True)))

    @property
    def page(self) -> str:
        """The page of the part, one HTML file; '' without light in depth."""
        if self.in_depth is None:
            return ""
        from laserpath.report.part import PartData, part_page  # which brings the template engine

        stack, found = self.stack, self.in_depth
        return part_page(
            PartData(
                stack.whole, stack.process, stack.settings, stack.z, len(self.each), self.write_time,
                found.cured, found.surface, found.undimmed, found.undimmed_surface, found.shape,
                self.warnings, stack.hanging,
            )
        )  # fmt: skip


def plan_layers(
    layers: Iterable[tuple[float, Design | shapely.Polygon | shapely.MultiPolygon | str | Path]],
    process: Process | None = None,
    settings: Settings | None = None,
    *,
    name: str = "layers",
    settle: float | None = None,
    progress: ColourListener | None = None,
    keep: str | Path | None = None,
) -> LayerPlans:
    """Plan layers, equal ones once, with one zero, and join them to one program.

    layers: (z, area) each, the lowest first: z in mm, of the finished part, and a `Design`, a file, or
    polygons of Shapely, mm, y up, in coordinates that all share.  name: of the program.
    settle: s, dark wait at each height; None: as the machine's `layer_change` says.
    The origin of the settings is that of all layers together; by default it is that of their coordinates.
    No best of all paths is computed for a layer, as with `report="brief"`.
    progress: called with the number of the plan, from 0, how many there are, and the plan's progress.
    keep: folder for what is found for each layer; after an interruption, the same call goes on where it was.
    Raises InputError for input that cannot be used.
    """
    stack = stacked(layers, process or Process(), settings or Settings(), name=name)
    keeping = None if keep is None else Keeping(Path(keep))
    return plan_stack(stack, settle=settle, progress=progress, keeping=keeping)


def stacked(
    layers: Iterable[tuple[float, Design | shapely.Geometry | str | Path]],
    process: Process,
    settings: Settings,
    *,
    name: str = "layers",
    page: Box | None = None,
) -> Stack:
    """The placed layers, equal ones grouped. page: mm, that the origin may be of, if they name none.

    Raises InputError for heights that do not rise, and for a layer that is empty or off the machine.
    """
    z, designs = _checked(layers, process)
    spot, machine = process.spot, process.machine
    if machine.layer_change.hangs:
        width = machine.size[0]
        designs = [_mirrored(one, width) for one in designs]
        page = page and (width - page[2], page[1], width - page[0], page[3])
    told = dict.fromkeys(sentence for one in designs for sentence in one.warnings)
    designs = [replace(one, warnings=()) for one in designs]  # they are told once, not for each plan
    pages, offset = {one.page for one in designs}, settings.offset
    area = shapely.MultiPolygon(_polygons(union([one.area for one in designs])))
    drawn = Design(area, name, pages.pop() if len(pages) == 1 else None, alignment=designs[0].alignment)
    if len({(one.file, one.source, one.recipe) for one in designs}) == 1:  # the layers of one file
        first = designs[0]
        drawn = replace(drawn, file=first.file, source=first.source, recipe=first.recipe)
    exposed = to_expose(drawn, process.resin, spot)
    sheet = replace(exposed, page=exposed.page or page)
    origin, notes = origin_of(sheet, machine, spot, settings.origin, offset)
    full = settings.report == "full"
    settings = replace(settings, origin=origin, report="brief")  # no layer has a report of its own
    fwhm = optics.fwhm(spot)
    plan_of, alike = _grouped(designs, _SAME_FWHM * fwhm, process.resin.bottom_layers)
    each = alike
    if applies(process.resin, len(z)):
        each = tuple(replace(one, area=inset(one.area, fwhm)) if one.lines is None else one for one in alike)
    zero, offsets, placed = np.subtract(zero_of(sheet, origin), offset), [], []
    for number, design in enumerate(each):
        with _naming(z[plan_of.index(number)]):
            alone = to_expose(design, process.resin, spot)
            placed.append(_translated(to_expose(alike[number], process.resin, spot), -zero))
            check_fits(placed[-1], machine, origin, offset, "scale or turn all of it where it was drawn")
            check_bed(placed[-1], process)
            x, y = np.array(zero_of(alone, origin)) - zero
            offsets.append((float(x), float(y)))
    whole = _translated(exposed, -zero)
    hanging: tuple[Unsupported, ...] = ()
    if process.resin.tone == "negative":
        hanging = _unprintable(z, [placed[number].area for number in plan_of], _axis(whole, zero, machine))
    return Stack(
        z, whole, process, settings, plan_of, each, tuple(offsets), tuple(placed),
        (*notes, *told, *_uneven(z), *limits_of(process.resin, thickness_of(z)), *warnings_of(hanging)),
        hanging, full,
    )  # fmt: skip


def _checked(
    layers: Iterable[tuple[float, Design | shapely.Geometry | str | Path]], process: Process
) -> tuple[tuple[float, ...], list[Design]]:
    """Heights that rise, of the layers before the resin shrinks, and a design at each."""
    check_list("layers", layers, "pairs (z, area)")
    *_, higher = scales(process.resin)
    heights: list[float] = []
    designs: list[Design] = []
    for number, layer in enumerate(layers, 1):
        if not (isinstance(layer, tuple | list) and len(layer) == 2):
            raise InputError(
                f"layer {number} is of type {type(layer).__name__}, but must be a pair (z, area)"
            )
        z, area = layer
        check_number(f"the height of layer {number}", z)
        height = higher * float(z)
        _check_height(number, height, heights, process.machine)
        with _naming(height):
            designs.append(as_design(area, tolerance_for(process.spot)))
        heights.append(height)
    if not designs:
        raise InputError("there are no layers to plan")
    return tuple(heights), designs


def _check_height(number: int, z: float, below: Sequence[float], machine: Machine) -> None:
    """Raise InputError unless z, mm, is above the heights below, and within the machine's travel."""
    low, high = machine.z_travel or (-np.inf, np.inf)
    if not np.isfinite(z):
        raise InputError(f"the height of layer {number} is {z} mm, but must be finite")
    if not low <= z <= high:
        raise InputError(
            f"layer {number} at z {z:g} mm is outside the {low:g} to {high:g} mm in which machine "
            f"{machine.name!r} travels (z_travel_mm)"
        )
    lift = machine.layer_change.lift
    if z + lift > high:
        raise InputError(
            f"layer {number} at z {z:g} mm and the lift of {lift:g} mm before it (layer_change) are above "
            f"the {high:g} mm to which machine {machine.name!r} travels (z_travel_mm)"
        )
    if below and abs(z - below[-1]) < _SAME_HEIGHT:
        raise InputError(
            f"layers {number - 1} and {number} are both at z {z:g} mm; join their areas to one layer"
        )
    if below and z < below[-1]:
        raise InputError(
            f"layer {number} at z {z:g} mm is below layer {number - 1} at {below[-1]:g} mm; give the lowest "
            "layer first"
        )
    step = 1 / machine.z_steps if machine.z_steps else 0.0
    if below and z - below[-1] < step * (1 - 1e-9):
        raise InputError(
            f"layers {number - 1} and {number} are {figure(1000 * (z - below[-1]))} µm apart, less than the "
            f"{figure(1000 * step)} µm of a step in Z of machine {machine.name!r} (z_steps)"
        )


def _polygons(area: shapely.Geometry) -> list[shapely.Polygon]:
    return [part for part in shapely.get_parts(area) if part.geom_type == "Polygon"]


def _translated(design: Design, by: Floats) -> Design:
    return replace(design.moved(float(by[0]), float(by[1])), page=design.page, part=None)


def _mirrored(design: Design, width: float) -> Design:
    """The layer of a part that hangs, left and right exchanged on a machine of a width, mm.

    Its recipe is that of the part, as it stands.
    """
    return replace(arrange(design, Arrangement(mirror="x")).moved(width, 0), recipe=design.recipe)


def _axis(whole: Design, zero: Floats, machine: Machine) -> float | None:
    """Twice the x, mm, of the axis about which a part that hangs is mirrored back; None: it does not hang.

    Its coordinates are kept, or counted from its own corner or middle.
    """
    x0, _, x1, _ = whole.bounds
    if not machine.layer_change.hangs:
        return None
    return machine.size[0] if zero[0] == 0 else x0 + x1


def _unprintable(
    z: Sequence[float], areas: Sequence[shapely.MultiPolygon], axis: float | None
) -> tuple[Unsupported, ...]:
    """What cannot print, with sentences that name the places as they were drawn. axis: of `_axis`."""
    if axis is None:
        return unprintable(z, areas)
    one_of = {id(area): affinity.affine_transform(area, [-1, 0, 0, 1, axis, 0]) for area in areas}
    found = unprintable(z, [one_of[id(area)] for area in areas])
    return tuple(replace(one, place=(axis - one.place[0], one.place[1])) for one in found)


def _grouped(
    designs: Sequence[Design], tolerance: float, bottom: int
) -> tuple[tuple[int, ...], tuple[Design, ...]]:
    """For each design the number of its group, and the first design of each group. tolerance: mm.

    bottom: number of the lowest ones, which are in groups of their own.
    """
    plan_of: list[int] = []
    each: list[Design] = []
    first = 0
    for k, design in enumerate(designs):
        if k == bottom:
            first = len(each)
        # From the latest one backwards, since neighbours are most often alike.
        alike = (k for k in range(len(each) - 1, first - 1, -1) if each[k].page == design.page)
        found = (k for k in alike if same(design.area, each[k].area, tolerance))
        number = next(found, len(each))
        if number == len(each):
            each.append(design)
        plan_of.append(number)
    return tuple(plan_of), tuple(each)


def same(one: shapely.Geometry, other: shapely.Geometry, tolerance: float) -> bool:
    """Whether two areas differ by strips narrower than twice the tolerance only."""
    far = np.abs(np.subtract(one.bounds, other.bounds)).max() > 2 * tolerance
    if far or abs(one.area - other.area) > 2 * tolerance * min(one.length, other.length):
        return False
    return bool(differing(one, other).buffer(-tolerance).is_empty)


def forecast_stack(stack: Stack) -> tuple[Forecast, ...]:
    """The forecast of each of `stack.each`. Raises InputError for a layer that cannot be planned."""

    def of_layer(number: int, design: Design, process: Process, settings: Settings) -> Forecast:
        return forecast(design, process, settings).without_report

    each = stack.of_each(of_layer)
    if not applies(stack.process.resin, len(stack.z)):
        return each
    # All layers are dimmed after the last one is planned.
    rows, columns = grid_for(stack.whole, stack.process.spot, COLUMN_PIXELS).shape
    page = _PAGE * pace() if stack.paged else 0.0
    dim = PlanStep(PlanPart.DIM, _DIMMING * searched(stack) * rows * columns + page, len(stack.z))
    once, of_each = _DIMMING_BYTES
    memory = max(one.memory for one in each) + (once + of_each * len(each)) * rows * columns
    return (*each[:-1], replace(each[-1], steps=(*each[-1].steps, dim), memory=memory))


def searched(stack: Stack) -> int:
    """About how many layers need another dimmed program than those above: near undersides, and near the top.

    Light from farther than `FAR_DEPTHS` penetration depths changes nothing.
    """
    resin, z = stack.process.resin, stack.z
    reach = FAR_DEPTHS * (resin.penetration_depth or 0.0)
    ends = [k for k in range(1, len(z)) if stack.plan_of[k] != stack.plan_of[k - 1]] + [len(z)]
    runs = zip([0, *ends[:-1]], ends, strict=True)
    return sum(min(last - first, 1 + math.ceil(reach / (z[-1] / len(z)))) for first, last in runs)


def together(stack: Stack, each: Sequence[Forecast], settle: float | None = None) -> Forecast:
    """The forecasts of all layers as one.

    Notes are those of the layer that takes longest, warnings those of the layer that needs most memory.
    """
    machine = stack.settling(settle).process.machine
    change = machine.layer_change.seconds(z_of(machine)[0])
    longest, largest = (max(each, key=key) for key in (lambda one: one.write_seconds, lambda one: one.memory))
    return replace(
        Forecast.of_all(each),
        write_seconds=sum(each[number].write_seconds + change for number in stack.plan_of),
        notes=longest.notes,
        warnings=largest.warnings,
    )


def plan_stack(
    stack: Stack,
    *,
    settle: float | None = None,
    progress: ColourListener | None = None,
    keeping: Keeping | None = None,
) -> LayerPlans:
    """Plan the layers, equal ones once, and put them into one program.

    settle: as in `plan_layers`.  keeping: of what is found for each layer.
    """
    stack = stack.settling(settle)
    each = _planned(stack, progress, keeping)
    plans = [each[number] for number in stack.plan_of]
    found = _in_depth(stack, plans, progress, keeping)
    of_plans = told_once([one.report.warnings for one in plans], layers_named)
    warnings = (*stack.notes, *of_plans, *(found.warnings if found else ()))
    program = _program(stack, _programs(plans, found), warnings, range(len(plans)))
    return LayerPlans(stack, each, program, warnings, found)


@dataclass(frozen=True)
class _LayerTask:
    """A distinct layer to plan, in this process or another. z: mm.  dimmed: whether it is, afterwards.

    listener: of this process.
    """

    design: Design
    process: Process
    settings: Settings
    z: float
    dimmed: bool
    keeping: Keeping | None
    listener: Listener | None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "listener": None}

    def planned(self) -> Plan:
        """The plan of the layer. Raises InputError with its z."""
        with _naming(self.z):
            made = plan(self.design, self.process, self.settings, self.listener, keeping=self.keeping)
        return _lighter(made, dimmed=self.dimmed)

    @property
    def grid(self) -> Grid:
        """That of its dose."""
        design = to_expose(self.design, self.process.resin, self.process.spot)
        return grid_for(design, self.process.spot, self.settings.pixels_per_fwhm)


def _planned(stack: Stack, progress: ColourListener | None, keeping: Keeping | None) -> tuple[Plan, ...]:
    """The plans of the distinct layers: several at a time if none is large enough for all processors."""
    of, dimmed = len(stack.each), applies(stack.process.resin, len(stack.z))
    tasks = stack.of_each(
        lambda number, design, process, settings: _LayerTask(
            design, process, settings, stack.z[stack.plan_of.index(number)], dimmed, keeping,
            listener_of(progress, number, of),
        )
    )  # fmt: skip
    side, fwhm = stack.settings.field_fwhm, optics.fwhm(stack.process.spot)
    grids = [one.grid for one in tasks]
    small = all(Partition.of(grid, fwhm, side).single for grid in grids)
    worth = sum(grid.shape[0] * grid.shape[1] for grid in grids) > _SEVERAL and of > 1
    if not (small and worth and workers.worker_count()):
        return tuple(one.planned() for one in tasks)
    workers.prepare(begin)
    return tuple(workers.each(_LayerTask.planned, tasks))


def _lighter(made: Plan, *, dimmed: bool) -> Plan:
    """The plan with the dose of its program only, in single precision: all of 40 layers take gigabytes.

    Without any if its layers are dimmed: then that is not what is exposed.
    """
    report = made.report
    executed = replace(report.executed, dose=report.executed.dose.astype(np.float32))
    light = replace(
        report,
        executed=executed.without_dose if dimmed else executed,
        start=report.start.without_dose,
        commanded=report.commanded and report.commanded.without_dose,
    )
    return replace(made, report=light)


def _in_depth(
    stack: Stack, plans: Sequence[Plan], progress: ColourListener | None, keeping: Keeping | None
) -> InDepth | None:
    """The layers dimmed for the light of those above them, if that can be known."""
    if not applies(stack.process.resin, len(plans)):
        return None
    last = len(stack.each) - 1

    def told(done: int, of: int) -> None:
        if progress is not None:
            progress(last, last + 1, Progress(PlanPart.DIM, done, of, math.nan))

    workers.release()
    drawn = [stack.drawn[number] for number in stack.plan_of]
    return planned_in_depth(stack.whole, drawn, plans, thickness_of(stack.z), told, keeping)


def _programs(plans: Sequence[Plan], in_depth: InDepth | None) -> tuple[MachineProgram, ...]:
    return tuple(one.shipped for one in plans) if in_depth is None else in_depth.programs


def _program(
    stack: Stack, programs: Sequence[MachineProgram], warnings: Iterable[str], numbers: Sequence[int]
) -> str:  # fmt: skip
    """The verified program of some of the layers."""
    heights, chosen = [stack.z[k] for k in numbers], [programs[k] for k in numbers]
    planned = len({stack.plan_of[k] for k in numbers})
    parts = f"Layers: {len(chosen)}, {planned} of them planned, z {heights[0]:g} to {heights[-1]:g} mm"
    parts += stack.bottom(numbers) + stack.hangs
    top = header(stack.whole, stack.process, stack.settings, warnings, parts)
    process = stack.process
    each = _pieces(heights, chosen, process)
    return verified_by_pieces(each, process.machine, top, spot=process.spot, at_height=any(stack.z))


def _pieces(
    heights: Sequence[float], programs: Sequence[MachineProgram], process: Process
) -> Iterator[gcode.Moves]:
    """The moves of layers at their heights, one after the other; Z is counted from the surface in focus.

    Those of a part are millions, so that they are made when they are needed.
    """
    # What each program was measured by: its path as written, after the rest with which it begins.
    machine, layers = process.machine, enumerate(zip(heights, programs, strict=True), 1)
    parts = (
        (f"layer {k} of {len(programs)}, z {z:g} mm", rested(convert.to_moves(one.path, machine), machine), z)
        for k, (z, one) in layers
    )
    return pieces(parts, machine, machine.layer_change)


def layers_named(layers: Sequence[int]) -> str:
    """`layers 3 to 9 and 12`, counted from 1, of rising numbers from 0."""
    ends = [k for k, one in enumerate(layers) if k + 1 == len(layers) or layers[k + 1] != one + 1]
    runs = zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True)
    named = [f"{layers[a] + 1}" + (f" to {layers[b] + 1}" if b > a else "") for a, b in runs]
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)
    return f"layer{'s' * (len(layers) > 1)} {listed}"


def _uneven(heights: Sequence[float]) -> tuple[str, ...]:
    """A sentence if the layers differ in thickness, which the critical dose depends on."""
    thickness = np.diff([0.0, *heights] if heights[0] > 0 else heights)
    if not len(thickness) or np.ptp(thickness) <= _THICKNESS * thickness.max():
        return ()
    return (
        f"the layers are {thickness.min():g} to {thickness.max():g} mm thick, but are all planned with one "
        "critical dose; give all one height, the first layer's too",
    )
