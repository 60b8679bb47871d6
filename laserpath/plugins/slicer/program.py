"""Layers → one program: each is planned, equal ones once, and all are told with the heights between them.

Between two layers the laser is dark: Z first, then as long a wait as is wanted, then the way to the next
layer's start. Z is what the slicer said; which of head and plate moves is the machine's affair.

Layers keep their places to each other: with c(A) the place of an area A that the work zero is put at, the
layer A_k of all layers A goes to c(A_k) − c(A) from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely

import gcode
from laserpath import convert, optics
from laserpath._plan import Plan, plan
from laserpath.arrays import Floats
from laserpath.errors import InputError
from laserpath.optimise import Progress
from laserpath.overlay import union
from laserpath.placement import placed
from laserpath.plugins.slicer.areas import Layer, corner, layers, same
from laserpath.plugins.slicer.walls import read
from laserpath.program import export, header
from laserpath.types import Design, Process, Settings

Z_SPEED = 5.0
"""mm/s, slow enough for any leadscrew; GRBL's G0 heeds its own limit instead."""

_SAME_FWHM = 1 / 100
"""Layers that are nearer to each other than this are planned once."""
_LISTED = 5
_THICKNESS = 0.05
"""Relative difference of the layers' thickness that one critical dose is not right for."""

Listener = Callable[[int, int, Progress], None]
"""Told the layer that is planned, from 0, of how many, and how far it is."""


@dataclass(frozen=True, slots=True)
class Relaid:
    """A sliced file as a laser's program.

    planned: layers that are unlike all before.  missed: heights (mm) where the tolerance asked for is missed.
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
    if not (np.isfinite(settle) and settle >= 0):
        raise InputError(f"settle is {settle} s, but must be 0 s or more")
    stack = layers(read(text))
    whole = Design(_polygons(union([layer.area for layer in stack])), name=name)
    settings, notes = _settled(whole, process, settings)
    plans = _planned(stack, whole, process, settings, progress)
    each = list({id(one): one for one in plans}.values())
    warnings = (*notes, *_told(stack, plans), *_uneven(stack))
    moves = _stacked(stack, plans, process, settings, settle)
    machine = process.machine
    shift = np.array(settings.offset) - corner(whole.area, settings.origin)
    placed = replace(whole, area=shapely.transform(whole.area, lambda xy: xy + shift))
    top = (
        *header(placed, process, settings, warnings),
        f"Layers: {len(stack)}, {len(each)} of them planned, z {stack[0].z:g} to {stack[-1].z:g} mm",
    )
    return Relaid(
        gcode.write(moves, convert.spoken(machine), machine.s_max, top),
        len(stack), len(each), warnings,
        tuple(layer.z for layer, one in zip(stack, plans, strict=True) if not one.within_tolerance),
    )  # fmt: skip


def _settled(whole: Design, process: Process, settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """The settings with the origin in effect for all layers, and why. The slicer's bed is their page."""
    if settings.origin != "auto":
        return settings, ()
    machine, resin = process.machine, replace(process.resin, tone="negative")
    sheet = replace(whole, page=(0.0, 0.0, *machine.size))
    at = placed(sheet, resin, machine, process.spot, settings.origin, settings.offset)
    return replace(settings, origin=at.origin), at.notes


def _polygons(area: shapely.Geometry) -> shapely.MultiPolygon:
    return shapely.MultiPolygon([part for part in shapely.get_parts(area) if part.geom_type == "Polygon"])


def _planned(
    stack: Sequence[Layer], whole: Design, process: Process, settings: Settings, progress: Listener | None
) -> list[Plan]:
    """A plan for each layer, the same one for those that are alike."""
    tolerance = _SAME_FWHM * optics.fwhm(process.spot)
    zero = corner(whole.area, settings.origin)
    known: list[tuple[Layer, Plan]] = []
    plans = []
    for number, layer in enumerate(stack):
        found = next((p for other, p in reversed(known) if same(layer.area, other.area, tolerance)), None)
        if found is None:
            x, y = corner(layer.area, settings.origin) - zero + settings.offset
            listen = _listener(progress, number, len(stack))
            try:
                design = Design(layer.area, name=whole.name)
                found = plan(design, process, replace(settings, offset=(float(x), float(y))), listen)
            except InputError as error:
                raise InputError(f"layer at z {layer.z:g} mm: {error}") from error
            known.append((layer, found))
        plans.append(found)
    return plans


def _listener(progress: Listener | None, number: int, of: int) -> Callable[[Progress], None] | None:
    return None if progress is None else lambda one: progress(number, of, one)


def _stacked(
    stack: Sequence[Layer], plans: Sequence[Plan], process: Process, settings: Settings, settle: float
) -> gcode.Moves:
    """The moves of all layers, one after the other."""
    exported = {id(one): export(one.solution.toolpath, process, settings) for one in plans}
    rapid = min(process.machine.rapid_speed)
    parts: list[gcode.Moves] = []
    comments: list[tuple[int, str]] = []
    here: tuple[Floats, float] | None = None
    for number, (layer, one) in enumerate(zip(stack, plans, strict=True), 1):
        moves = exported[id(one)]
        comments.append((sum(map(len, parts)), f"layer {number} of {len(stack)}, z {layer.z:g} mm"))
        parts += [_between(here, moves.xy[0], layer.z, rapid, settle)]
        parts += [replace(moves, z=np.full(len(moves.xy), layer.z), comments=())]
        here = (moves.xy[-1], layer.z)
    return _joined(parts, tuple(comments))


def _between(
    here: tuple[Floats, float] | None, start: Floats, z: float, rapid: float, settle: float
) -> gcode.Moves:
    """From the end of a layer to the start of the next; of the first one, a wait alone."""
    at, below = here or (start, z)
    rows = [(at, z, gcode.Kind.RAPID, min(Z_SPEED, rapid), 0.0)] if below != z else []
    rows += [(at, z, gcode.Kind.DWELL, rapid, settle)] if settle else []
    rows += [(start, z, gcode.Kind.RAPID, rapid, 0.0)] if (at != start).any() else []
    n = len(rows)
    return gcode.Moves(
        np.array([at, *(row[0] for row in rows)]), np.zeros(n), np.array([row[3] for row in rows]),
        np.array([row[2] for row in rows], dtype=np.int8), z=np.array([below, *(row[1] for row in rows)]),
        dwell=np.array([row[4] for row in rows]),
    )  # fmt: skip


def _joined(parts: Sequence[gcode.Moves], comments: tuple[tuple[int, str], ...]) -> gcode.Moves:
    """Moves of which each begins where the one before ends."""
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("power", "speed", "kind", "centre", "dwell", "dynamic")
    }
    vertices = {
        name: np.concatenate([getattr(parts[0], name)[:1], *(getattr(part, name)[1:] for part in parts)])
        for name in ("xy", "z")
    }
    return gcode.Moves(**vertices, **columns, comments=comments)


def _told(stack: Sequence[Layer], plans: Sequence[Plan]) -> tuple[str, ...]:
    """What to know of the layers' plans, each said once."""
    told: dict[tuple[int, str], str] = {}
    for layer, one in zip(stack, plans, strict=True):
        for warning in one.report.warnings:
            told.setdefault((id(one), warning), f"layer at z {layer.z:g} mm: {warning}")
    sentences = list(told.values())
    more = len(sentences) - _LISTED
    return (*sentences[:_LISTED], *((f"{more} more warnings of other layers",) if more > 0 else ()))


def _uneven(stack: Sequence[Layer]) -> tuple[str, ...]:
    """A sentence if the layers are not all of one thickness, which the critical dose depends on."""
    thickness = np.diff([0.0, *(layer.z for layer in stack)])
    if np.ptp(thickness) <= _THICKNESS * thickness.max():
        return ()
    return (
        f"the layers are {thickness.min():g} to {thickness.max():g} mm thick, but are all planned with one "
        "critical dose; slice with one layer height, the first layer's too",
    )
