"""The design on the machine: tone, shrinkage, work zero and bounds, and a warning for too fine details.

**Shrinkage.** Development leaves the edges of what stays b farther out than where the dose is critical
(`Resin.development_bias`), and what is cured then becomes shorter by a share s of its length along each axis
(`Resin.shrinkage`). So a design A is exposed as

    A′ = (A scaled by 1/(1 − s) along x and y) with its edges moved in by b,

and a layer at the height z is exposed at z/(1 − s), so that it is as drawn after development, and once the
resin has shrunk. Fixed is the zero of the drawing's coordinates, so that all layers and colours of a drawing
stay in register, or the middle of the marks of an aligned one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
import shapely
from shapely import affinity

from laserpath.base import quantities
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import buffered, minus, valid
from laserpath.physics import optics
from laserpath.types import Alignment, Design, Machine, Point, Resin, Spot
from laserpath.types.drawing import DrawnLines

Box = tuple[float, float, float, float]
"""(x0, y0, x1, y1), mm."""

_FRAME_FWHM = 3.0
_NARROW_FWHM = 0.5
_LISTED = 3
_MITRE = 5.0
"""Longest corner of an edge that is moved, in the distance by which it is moved: longer ones are cut off."""
_SLACK = 1e-6
"""mm that a design may reach beyond the machine, for rounding."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A placed design. design: in machine coordinates.  origin: the one in effect, never 'auto'.

    notes: why 'auto' moved the design.
    """

    design: Design
    origin: str
    notes: tuple[str, ...] = ()


def placed(
    design: Design,
    resin: Resin,
    machine: Machine,
    spot: Spot,
    origin: str = "auto",
    offset: Point = (0.0, 0.0),
) -> Placed:
    """The area to expose, moved to the work zero and by `offset` mm; raises if it is off the machine.

    'auto' means 'own' for a design that is aligned to marks, and 'page' if the file has a page and the design
    then lies on the machine; otherwise it means 'design', because a board or a chip may have its zero
    anywhere, often with all coordinates below zero.
    """
    exposed = to_expose(design, resin, spot)
    origin, notes = origin_of(exposed, machine, spot, origin, offset)
    moved = _moved(exposed, origin, offset)
    check_fits(moved, machine, origin, offset)
    return Placed(moved, origin, notes)


def origin_of(
    exposed: Design, machine: Machine, spot: Spot, origin: str, offset: Point
) -> tuple[str, tuple[str, ...]]:
    """The origin in effect of an area to expose, never 'auto'; and notes."""
    notes: tuple[str, ...] = ()
    if exposed.alignment:
        origin, notes = _of_marks(origin, offset), tuple(_how_well(exposed.alignment, spot))
    if origin == "auto":
        origin = "page" if _on_its_page(exposed, machine, offset) else "design"
        notes = _why_moved(exposed, machine, offset) if origin == "design" else ()
    if origin == "page" and exposed.page is None and _mirrored(exposed):
        raise _without_an_axis(exposed)
    return origin, notes


def _mirrored(design: Design) -> bool:
    return any(line.startswith("mirror = ") for line in design.recipe)


def _without_an_axis(design: Design) -> InputError:
    """The error for a mirrored design on a page that the file does not have."""
    x0, y0, x1, y1 = (figure(value, 4) for value in design.extent)
    zero = ",".join(f"{math.ceil(-1e3 * value - _SLACK) / 1e3:.9g}" for value in design.extent[:2])
    return InputError(
        f"{_file(design)} names no page to be mirrored in, so --mirror turns it over about the zero of its "
        f"file, and it reaches from ({x0}, {y0}) to ({x1}, {y1}) mm: --origin own --offset {zero}mm puts its "
        "lower left corner at the work zero, and `laserpath board` lays both sides over each other"
    )


def _file(design: Design) -> str:
    return PurePath(design.file).name if design.file else f"design {design.name!r}"


def _of_marks(origin: str, offset: Point) -> str:
    """The origin of an aligned design; raises if another place was asked for as well."""
    if origin not in ("auto", "own"):
        raise InputError(f"--origin {origin} cannot be used with --align: the marks say where the design is")
    if any(offset):
        raise InputError("--offset cannot be used with --align: the marks say where the design is")
    return "own"


def _how_well(alignment: Alignment, spot: Spot) -> Iterator[str]:
    """What was fitted to the marks; and what would help if the place is less certain than half the spot."""
    yield alignment.in_words()
    within, fwhm = alignment.placed, optics.fwhm(spot)
    if within is not None and within > _NARROW_FWHM * fwhm:
        less = ", or correct less (--align-fit rotation, scale)" if alignment.fit == "affine" else ""
        yield (
            f"the marks place the drawing's farthest corner within +/- {figure(1000 * within, 2)} um only "
            f"(95 %), more than half the spot of {figure(1000 * fwhm)} um: measure more marks, farther "
            f"apart{less}"
        )


def zero_of(design: Design, origin: str) -> Point:
    """The point of a design, mm, that an origin puts at the work zero."""
    x0, y0, x1, y1 = design.extent
    page = (0.0, 0.0) if design.page is None else design.page[:2]
    middle = (x0 + x1) / 2, (y0 + y1) / 2
    return {"page": page, "design": (x0, y0), "centre": middle, "own": (0.0, 0.0)}[origin]


def _moved(design: Design, origin: str, offset: Point) -> Design:
    """The design with its origin at the work zero, and then moved by `offset`."""
    corner = zero_of(design, origin)
    if design.page is None:
        design = replace(design, page=(0.0, 0.0, *design.extent[2:]))
    return design.moved(offset[0] - corner[0], offset[1] - corner[1])


def _reach(design: Design, offset: Point) -> Box:
    """The extent of the design with its page at the work zero, and then moved by `offset`."""
    (x, y), (x0, y0, x1, y1) = zero_of(design, "page"), design.extent
    x, y = offset[0] - x, offset[1] - y
    return x0 + x, y0 + y, x1 + x, y1 + y


def _on_its_page(design: Design, machine: Machine, offset: Point) -> bool:
    """Whether the design has a page and fits on the machine there, with or without the offset."""
    if design.page is None:
        return False
    return any(not _outside(_reach(design, by), machine) for by in (offset, (0.0, 0.0)))


def _why_moved(design: Design, machine: Machine, offset: Point) -> tuple[str, ...]:
    """A sentence if 'auto' moves the design's corner to the work zero."""
    name = _file(design)
    moved = "so its lower left corner is put at the work zero"
    if design.page is None:
        if max(map(abs, design.extent[:2])) <= _SLACK:
            return ()
        stays = not _outside(_reach(design, offset), machine)
        own = "own" if _mirrored(design) else "page"
        other = f"--origin {own} keeps its own coordinates" if stays else "--offset puts it elsewhere"
        return (f"{name} names no page, {moved}; {other}",)
    axis, low, high, start, end = _outside(_reach(design, offset), machine)[0]
    return (
        f"on its page {name} would reach from {axis} = {figure(low, 4)} to {figure(high, 4)} mm, outside the "
        f"machine's {start:g} to {end:g} mm, {moved}; --offset puts it elsewhere",
    )


def to_expose(design: Design, resin: Resin, spot: Spot) -> Design:
    """The area to expose: the design for a negative tone, the page without it for a positive one.

    The design is first made larger, and its edges are moved, by what the resin's profile says (`shrinkage`).
    Without a page, a margin of 3 FWHM around the design takes its place.
    """
    design = compensated(design, resin)
    if resin.tone == "negative":
        return design
    if design.lines:
        raise InputError(
            "--follow needs a negative tone: a positive resist is exposed where nothing is drawn, which has "
            "no lines"
        )
    x0, y0, x1, y1 = design.extent
    margin = _FRAME_FWHM * optics.fwhm(spot)
    sheet = shapely.box(*(design.page or (x0 - margin, y0 - margin, x1 + margin, y1 + margin)))
    rest = minus(sheet, design.area)
    if rest.is_empty:
        raise InputError(
            f"design {design.name!r} covers its whole page, so a positive resist would have nothing to expose"
        )
    polygons = [g for g in shapely.get_parts(rest) if g.geom_type == "Polygon"]
    part = design.part and replace(design.part, hull=sheet)
    return replace(design, area=shapely.MultiPolygon(polygons), part=part, pads=None)


def _outside(
    extent: Box, machine: Machine, centred: bool = False
) -> list[tuple[str, float, float, float, float]]:
    """(axis, lowest, highest, the machine's start, its end), mm, of each axis that the extent exceeds."""
    x0, y0, x1, y1 = extent
    out = []
    for axis, low, high, size in (("x", x0, x1, machine.size[0]), ("y", y0, y1, machine.size[1])):
        start, end = (-size / 2, size / 2) if centred else (0.0, size)
        if low < start - _SLACK or high > end + _SLACK:
            out.append((axis, low, high, start, end))
    return out


def check_fits(
    design: Design, machine: Machine, origin: str, offset: Point,
    smaller: str = "make it smaller (--size, --scale), turn it (--rotate)",
) -> None:  # fmt: skip
    """Raise InputError if a design is beyond the machine. origin, offset: by which it was moved there.

    smaller: what helps if it is too large.
    """
    name = design.part.drawing if design.part else design.name
    for axis, low, high, start, end in _outside(design.extent, machine, centred=origin == "centre"):
        if high - low > end - start:
            raise InputError(
                f"design {name!r} is {figure(high - low, 4)} mm long in {axis}, "
                f"above the {end - start:g} mm of machine {machine.name!r}; {smaller}, or take another "
                "--machine"
            )
        mend = "--origin design starts at its own corner"
        if any(offset):
            mend = f"use another --offset than {offset[0]:g},{offset[1]:g} mm"
        if design.alignment:
            mend = "the marks put it there, which are read in the coordinates of the program's work zero"
        raise InputError(
            f"design {name!r} reaches from {axis} = {figure(low, 4)} to {figure(high, 4)} mm, outside the "
            f"machine's {start:g} to {end:g} mm; {mend}"
        )


def too_fine(design: Design, spot: Spot) -> tuple[str, ...]:
    """A sentence each for features and for gaps narrower than half the spot, with the largest places."""
    reach = _NARROW_FWHM / 2 * optics.fwhm(spot)
    opened = buffered(buffered(design.area, -reach), reach * 1.001)
    lost = minus(design.area, opened)
    closed = buffered(buffered(design.area, reach), -reach * 1.001)
    filled = minus(closed, design.area)
    # Slivers along slanted edges come from rounding; whole islands and holes count, however small.
    smallest = 0.02 * optics.fwhm(spot) ** 2
    holes = [shapely.Polygon(ring) for polygon in design.area.geoms for ring in polygon.interiors]
    sentences = []
    for what, region, whole in (("features", lost, list(design.area.geoms)), ("gaps", filled, holes)):
        parts = [g for g in shapely.get_parts(region) if g.area > smallest]
        parts += [g for g in whole if g.area <= smallest]
        if parts:
            places = [g.representative_point() for g in sorted(parts, key=lambda g: -g.area)[:_LISTED]]
            where = ", ".join(quantities.place((p.x, p.y), optics.fwhm(spot)) for p in places)
            sentences.append(
                f"{len(parts)} {what[: -1 if len(parts) == 1 else None]} narrower than {figure(2 * reach)} "
                f"mm (half the spot of {optics.fwhm(spot):g} mm) will print badly or not at all, the largest "
                f"at {where} mm"
            )
    return tuple(sentences)


def scales(resin: Resin) -> tuple[float, float, float]:
    """By which lengths along x, y and z are multiplied, to be as drawn once the resin has shrunk."""
    x, y, z = (1 / (1 - share) for share in resin.shrinkage)
    return x, y, z


def compensated(design: Design, resin: Resin) -> Design:
    """The design to expose: larger by what the resin shrinks, its edges moved against the development's bias.

    Raises InputError if nothing is left of it.
    """
    bias, (x, y, _) = resin.development_bias, scales(resin)
    if not bias and x == y == 1:
        return design
    fixed_x, fixed_y = _fixed(design)
    matrix = (x, 0.0, 0.0, y, fixed_x * (1 - x), fixed_y * (1 - y))
    scaled = valid(affinity.affine_transform(design.area, matrix))
    area = scaled.buffer(-bias, join_style="mitre", mitre_limit=_MITRE) if bias else scaled
    if area.is_empty:
        raise InputError(
            f"design {design.name!r} has nothing wider than {figure(2000 * bias)} µm, by which the "
            f"development of resin {resin.name!r} makes it wider (development_bias): nothing would be exposed"
        )
    part, pads = design.part, design.pads
    return replace(
        design,
        area=area,
        warnings=(*design.warnings, *_lost(scaled, bias)),
        source=(*design.source, in_words(resin)),
        part=part and replace(part, hull=affinity.affine_transform(part.hull, matrix)),
        pads=pads and pads.mapped(matrix),
        lines=design.lines and _narrower(design.lines.mapped(matrix), bias),
    )


def in_words(resin: Resin) -> str:
    """What of the resin's profile is compensated, as a phrase; '' if nothing is."""
    said = []
    if any(resin.shrinkage):
        x, y, z = (f"{figure(100 * share)} %" for share in resin.shrinkage)
        each = x if x == y == z else f"{x} in x, {y} in y and {z} in z"
        said.append(f"made larger for a shrinkage of {each}")
    if bias := resin.development_bias:
        way = "in" if bias > 0 else "out"
        said.append(f"edges moved {way} by {figure(1000 * abs(bias))} µm for the bias of development")
    return ", ".join(said)


def _fixed(design: Design) -> tuple[float, float]:
    """The point, mm, that stays where it is."""
    if design.alignment is None:
        return 0.0, 0.0
    x, y = np.mean([mark.machine for mark in design.alignment.marks], axis=0).tolist()
    return x, y


def _lost(area: shapely.Geometry, bias: float) -> tuple[str, ...]:
    """A sentence on what is too narrow to be left, or to stay open, once its edges are moved by the bias."""
    if bias > 0:
        what, each = "features", list(shapely.get_parts(area))
    else:
        what = "holes"
        each = [shapely.Polygon(ring) for one in shapely.get_parts(area) for ring in one.interiors]
    gone = sum(one.buffer(-abs(bias), join_style="mitre").is_empty for one in each) if bias else 0
    if not gone:
        return ()
    return (
        f"{gone} {what[: -1 if gone == 1 else None]} narrower than {figure(2000 * abs(bias))} µm cannot "
        "print: the bias of development is as wide",
    )


def _narrower(lines: DrawnLines, bias: float) -> DrawnLines:
    """Lines with their edges moved in. Raises InputError for one that would be gone."""
    widths = tuple(width - 2 * bias for width in lines.widths)
    if min(widths) <= 0:
        raise InputError(
            f"the narrowest line is {figure(1000 * min(lines.widths))} µm wide, but must be wider than "
            f"{figure(2000 * bias)} µm, by which development makes it wider (development_bias)"
        )
    return replace(lines, widths=widths)
