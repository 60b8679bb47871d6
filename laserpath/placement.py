"""The design as the machine sees it: tone, work zero, bounds; and what is too fine."""

from __future__ import annotations

from dataclasses import replace

import shapely
from shapely import affinity

from laserpath import optics
from laserpath.errors import InputError
from laserpath.types import Design, Machine, Point, Resin, Spot

_FRAME_FWHM = 3.0
_NARROW_FWHM = 0.5
_LISTED = 3


def place(
    design: Design,
    resin: Resin,
    machine: Machine,
    spot: Spot,
    origin: str = "page",
    offset: Point = (0.0, 0.0),
) -> Design:
    """The area to expose, moved to the work zero and by `offset` mm; raises if it is off the machine."""
    exposed = to_expose(design, resin, spot)
    x0, y0, x1, y1 = exposed.bounds
    page = exposed.page or (0.0, 0.0, x1, y1)
    corner = {"page": page[:2], "design": (x0, y0), "centre": ((x0 + x1) / 2, (y0 + y1) / 2)}[origin]
    zero = corner[0] - offset[0], corner[1] - offset[1]
    moved = replace(
        exposed,
        area=affinity.translate(exposed.area, -zero[0], -zero[1]),
        page=(page[0] - zero[0], page[1] - zero[1], page[2] - zero[0], page[3] - zero[1]),
    )
    _check_fits(moved, machine, centred=origin == "centre", offset=offset)
    return moved


def to_expose(design: Design, resin: Resin, spot: Spot) -> Design:
    """Negative tone: the design. Positive tone: the page without it (no page: a frame of 3 FWHM)."""
    if resin.tone == "negative":
        return design
    x0, y0, x1, y1 = design.bounds
    rim = _FRAME_FWHM * optics.fwhm(spot)
    sheet = shapely.box(*(design.page or (x0 - rim, y0 - rim, x1 + rim, y1 + rim)))
    rest = shapely.difference(sheet, design.area)
    if rest.is_empty:
        raise InputError(
            f"design {design.name!r} covers its whole page, so a positive resist would have nothing to expose"
        )
    polygons = [g for g in shapely.get_parts(rest) if g.geom_type == "Polygon"]
    return replace(design, area=shapely.MultiPolygon(polygons))


def _check_fits(design: Design, machine: Machine, centred: bool, offset: Point) -> None:
    x0, y0, x1, y1 = design.bounds
    for axis, low, high, size in (("x", x0, x1, machine.size[0]), ("y", y0, y1, machine.size[1])):
        if high - low > size:
            raise InputError(
                f"design {design.name!r} is {high - low:.4g} mm long in {axis}, "
                f"above the {size:g} mm of machine {machine.name!r}"
            )
        start, end = (-size / 2, size / 2) if centred else (0.0, size)
        if low < start - 1e-6 or high > end + 1e-6:
            mend = "use origin 'design' to start at its own corner"
            if any(offset):
                mend = f"use another offset than {offset[0]:g},{offset[1]:g} mm"
            raise InputError(
                f"design {design.name!r} reaches from {axis} = {low:.4g} to {high:.4g} mm, outside the "
                f"machine's {start:g} to {end:g} mm; {mend}"
            )


def too_fine(design: Design, spot: Spot) -> tuple[str, ...]:
    """One sentence each for features and for gaps narrower than half the spot, with the places."""
    reach = _NARROW_FWHM / 2 * optics.fwhm(spot)
    opened = design.area.buffer(-reach, join_style="mitre").buffer(reach * 1.001, join_style="mitre")
    lost = design.area.difference(opened)
    closed = design.area.buffer(reach, join_style="mitre").buffer(-reach * 1.001, join_style="mitre")
    filled = closed.difference(design.area)
    # Slivers along slanted edges are rounding; whole islands and holes count however small.
    smallest = 0.02 * optics.fwhm(spot) ** 2
    holes = [shapely.Polygon(ring) for polygon in design.area.geoms for ring in polygon.interiors]
    sentences = []
    for what, region, whole in (("features", lost, list(design.area.geoms)), ("gaps", filled, holes)):
        parts = [g for g in shapely.get_parts(region) if g.area > smallest]
        parts += [g for g in whole if g.area <= smallest]
        if parts:
            places = [g.representative_point() for g in sorted(parts, key=lambda g: -g.area)[:_LISTED]]
            where = ", ".join(f"({p.x:.3f}, {p.y:.3f})" for p in places)
            sentences.append(
                f"{len(parts)} {what[: -1 if len(parts) == 1 else None]} narrower than {2 * reach:.3g} mm "
                f"(half the spot of {optics.fwhm(spot):g} mm) will print badly or not at all, "
                f"the largest at {where} mm"
            )
    return tuple(sentences)
