"""Layers → one program: every distinct layer is planned once, and all are joined by changes of height.

Between two layers the laser is dark: first Z moves, then the program waits as long as requested, then the
head travels to the next layer's start. Z is the slicer's; head or plate moves, depending on the machine.

Layers keep their relative positions: with c(A) the point of an area A that becomes the work zero, the layer
A_k of all layers A is shifted by c(A_k) − c(A).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import shapely

import gcode
from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import union
from laserpath.base.plan_steps import PlanPart
from laserpath.cli.plugins.slicer.areas import SlicedLayer, corner, layers, same
from laserpath.cli.plugins.slicer.walls import Wall, read
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.placement import placed
from laserpath.machine.rest import rested
from laserpath.physics import optics
from laserpath.planning import Forecast, Plan, Progress, forecast, header, plan
from laserpath.types import Design, Process, Settings

Z_SPEED = 5.0
"""mm/s, slow enough for any leadscrew; GRBL's G0 uses the controller's own limit instead."""

_SAME_FWHM = 1 / 100
"""Tolerance, in FWHM, within which layers count as equal; a larger one plans fewer layers."""
_WIDER = 0.05
"""Relative excess of walls over the spot from which a warning says that they are too wide."""
_LISTED = 5
_THICKNESS = 0.05
"""Relative difference of thickness from which a warning says that one critical dose does not suit all."""

Made = TypeVar("Made")

Listener = Callable[[int, int, Progress], None]
"""Called with the index of the current plan, the number of plans, and its progress."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A sliced file's layers, lowest first, before they are planned. settings: with the origin in effect.

    whole: the union of all layers, as a design.  plan_of: for each layer its index in `each`.
    each: the distinct layers, as sliced, with the settings that place them.
    notes: why the work zero differs from the slicer's; what walls wider than the spot leave out.
    """

    layers: tuple[SlicedLayer, ...]
    whole: Design
    process: Process
    settings: Settings
    plan_of: tuple[int, ...]
    each: tuple[tuple[Design, Settings], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relaid:
    """A sliced file as a laser's program.

    planned: number of distinct layers.  missed: heights (mm) of layers that miss the requested tolerance.
    """

    program: str
    layers: int
    planned: int
    warnings: tuple[str, ...]
    missed: tuple[float, ...] = ()


def relaid(
    text: str,
    process: Process,
    settings: Settings,
    *,
    name: str = "sliced",
    settle: float = 0.0,
    progress: Listener | None = None,
) -> Relaid:
    """The program that exposes the layers of a sliced file.

    settle: s, dark at each new height, for the resin to come to rest.
    """
    return plan_stack(stack_of(text, process, settings, name=name), settle=settle, progress=progress)


def stack_of(text: str, process: Process, settings: Settings, *, name: str = "sliced") -> Stack:
    """The placed layers of a sliced file, equal ones grouped."""
    with limits.work(name):
        walls = read(text)
        sliced = layers(walls)
    whole = Design(_polygons(union([layer.area for layer in sliced])), name=name)
    settings, notes = _settled(whole, process, settings)
    notes = (*notes, *_coarse(walls, optics.fwhm(process.spot)))
    settings = replace(settings, report="brief")  # no layer has a report
    tolerance, zero = _SAME_FWHM * optics.fwhm(process.spot), corner(whole.area, settings.origin)
    first: list[SlicedLayer] = []
    plan_of: list[int] = []
    each: list[tuple[Design, Settings]] = []
    for layer in sliced:
        # From the latest one backwards, since neighbours are most often alike.
        alike = range(len(first) - 1, -1, -1)
        number = next((k for k in alike if same(layer.area, first[k].area, tolerance)), len(first))
        if number == len(first):
            first.append(layer)
            x, y = corner(layer.area, settings.origin) - zero + settings.offset
            each.append((Design(layer.area, name=name), replace(settings, offset=(float(x), float(y)))))
        plan_of.append(number)
    return Stack(tuple(sliced), whole, process, settings, tuple(plan_of), tuple(each), notes)


def _coarse(walls: Sequence[Wall], fwhm: float) -> tuple[str, ...]:
    """A sentence if most of the walls are wider than the spot: the slicer loses finer features."""
    width = np.concatenate([wall.width for wall in walls])
    length = np.concatenate([np.hypot(*np.diff(wall.xy, axis=0).T) for wall in walls])
    wide = width > fwhm * (1 + _WIDER)
    if length[wide].sum() <= length.sum() / 2:
        return ()
    widest = float(np.average(width[wide], weights=length[wide]))
    return (
        f"the slicer's walls are {widest:.3g} mm wide and the spot {fwhm:.3g} mm: what is narrower than two "
        "walls is left out or blurred; set nozzle diameter and line widths to the spot's width",
    )


def forecast_stack(stack: Stack) -> tuple[Forecast, ...]:
    """The forecast of each of `stack.each`. Raises InputError for a layer that cannot be planned."""

    def forecast_layer(design: Design, settings: Settings) -> Forecast:
        process = stack.process
        # A layer that is off the machine is refused before the first one is planned.
        placed(design, process.resin, process.machine, process.spot, settings.origin, settings.offset)
        expected = forecast(design, process, settings)
        return replace(expected, steps=tuple(step for step in expected.steps if step.name != PlanPart.REPORT))

    return tuple(_of_layer(stack, number, forecast_layer) for number in range(len(stack.each)))


def together(stack: Stack, each: Sequence[Forecast], settle: float = 0.0) -> Forecast:
    """The forecasts of all layers as one.

    Notes are those of the layer that takes longest, warnings those of the layer that needs most memory.
    """
    _check_settle(settle)
    longest, largest = (max(each, key=key) for key in (lambda one: one.write_seconds, lambda one: one.memory))
    return Forecast(
        tuple(step for one in each for step in one.steps),
        largest.memory,
        sum(each[number].write_seconds + settle for number in stack.plan_of),
        longest.notes,
        largest.warnings,
        each[0].plans,
    )


def plan_stack(stack: Stack, *, settle: float = 0.0, progress: Listener | None = None) -> Relaid:
    """Plan the layers, equal ones once, and put them into one program.

    settle: s, dark wait at each new height.
    """
    _check_settle(settle)
    process, settings, machine = stack.process, stack.settings, stack.process.machine
    each = [_planned(stack, number, progress) for number in range(len(stack.each))]
    plans = [each[number] for number in stack.plan_of]
    warnings = (*stack.notes, *_layer_warnings(stack.layers, plans), *_uneven(stack.layers))
    moves = _stacked(stack.layers, plans, process, settle)
    shift = np.array(settings.offset) - corner(stack.whole.area, settings.origin)
    placed = replace(stack.whole, area=shapely.transform(stack.whole.area, lambda xy: xy + shift))
    lowest, highest = stack.layers[0].z, stack.layers[-1].z
    top = (
        *header(placed, process, settings, warnings),
        f"Layers: {len(plans)}, {len(each)} of them planned, z {lowest:g} to {highest:g} mm",
    )
    return Relaid(
        verified(moves, machine, top)[0],
        len(plans), len(each), warnings,
        tuple(layer.z for layer, one in zip(stack.layers, plans, strict=True) if not one.within_tolerance),
    )  # fmt: skip


def _check_settle(settle: float) -> None:
    if not (np.isfinite(settle) and settle >= 0):
        raise InputError(f"settle is {settle} s, but must be 0 s or more")


def _settled(whole: Design, process: Process, settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """The settings with one origin for all layers, and notes on it. The slicer's bed is the page."""
    if settings.origin != "auto":
        return settings, ()
    machine, resin = process.machine, replace(process.resin, tone="negative")
    sheet = replace(whole, page=(0.0, 0.0, *machine.size))
    at = placed(sheet, resin, machine, process.spot, settings.origin, settings.offset)
    return replace(settings, origin=at.origin), at.notes


def _polygons(area: shapely.Geometry) -> shapely.MultiPolygon:
    return shapely.MultiPolygon([part for part in shapely.get_parts(area) if part.geom_type == "Polygon"])


def _planned(stack: Stack, number: int, progress: Listener | None) -> Plan:
    """The plan of one of `stack.each`."""
    of = len(stack.each)
    listen = None if progress is None else lambda one: progress(number, of, one)
    return _of_layer(stack, number, lambda design, settings: plan(design, stack.process, settings, listen))


def _of_layer(stack: Stack, number: int, make: Callable[[Design, Settings], Made]) -> Made:
    """The result of `make` for one of `stack.each`; an error names its height."""
    try:
        return make(*stack.each[number])
    except InputError as error:
        z = stack.layers[stack.plan_of.index(number)].z
        raise InputError(f"layer at z {z:g} mm: {error}") from error


def _stacked(
    stack: Sequence[SlicedLayer], plans: Sequence[Plan], process: Process, settle: float
) -> gcode.Moves:
    """The moves of all layers, one after the other."""
    # What each plan measured: its path as written, after the rest with which its own program begins.
    written = {id(one): rested(convert.to_moves(one.toolpath, process.machine)) for one in plans}
    rapid = min(process.machine.rapid_speed)
    parts: list[gcode.Moves] = []
    comments: list[tuple[int, str]] = []
    end: tuple[Floats, float] | None = None
    for number, (layer, one) in enumerate(zip(stack, plans, strict=True), 1):
        moves = written[id(one)]
        comments.append((sum(map(len, parts)), f"layer {number} of {len(stack)}, z {layer.z:g} mm"))
        parts += [_between(end, moves.xy[0], layer.z, rapid, settle)]
        parts += [replace(moves, z=np.full(len(moves.xy), layer.z), comments=())]
        end = (moves.xy[-1], layer.z)
    return replace(gcode.concat(parts), comments=tuple(comments))


def _between(
    end: tuple[Floats, float] | None, start: Floats, z: float, rapid: float, settle: float
) -> gcode.Moves:
    """The moves from the end of a layer to the start of the next; before the first one, a wait only."""
    position, below = end or (start, z)
    rows = [(position, z, gcode.Kind.RAPID, min(Z_SPEED, rapid), 0.0)] if below != z else []
    rows += [(position, z, gcode.Kind.DWELL, rapid, settle)] if settle else []
    rows += [(start, z, gcode.Kind.RAPID, rapid, 0.0)] if (position != start).any() else []
    n = len(rows)
    return gcode.Moves(
        np.array([position, *(row[0] for row in rows)]), np.zeros(n), np.array([row[3] for row in rows]),
        np.array([row[2] for row in rows], dtype=np.int8), z=np.array([below, *(row[1] for row in rows)]),
        dwell=np.array([row[4] for row in rows]),
    )  # fmt: skip


def _layer_warnings(stack: Sequence[SlicedLayer], plans: Sequence[Plan]) -> tuple[str, ...]:
    """The warnings of the layers' plans, without repetitions."""
    by_plan: dict[tuple[int, str], str] = {}
    for layer, one in zip(stack, plans, strict=True):
        for warning in one.report.warnings:
            by_plan.setdefault((id(one), warning), f"layer at z {layer.z:g} mm: {warning}")
    sentences = list(by_plan.values())
    more = len(sentences) - _LISTED
    return (*sentences[:_LISTED], *((f"{more} more warnings of other layers",) if more > 0 else ()))


def _uneven(stack: Sequence[SlicedLayer]) -> tuple[str, ...]:
    """A sentence if the layers differ in thickness, which the critical dose depends on."""
    thickness = np.diff([0.0, *(layer.z for layer in stack)])
    if np.ptp(thickness) <= _THICKNESS * thickness.max():
        return ()
    return (
        f"the layers are {thickness.min():g} to {thickness.max():g} mm thick, but are all planned with one "
        "critical dose; slice with one layer height, the first layer's too",
    )
