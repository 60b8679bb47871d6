"""What is exposed so that it is as drawn after development, and once the resin has shrunk.

Development leaves the edges of what stays b farther out than where the dose is critical
(`Resin.development_bias`), and what is cured then becomes shorter by a share s of its length along each axis
(`Resin.shrinkage`). So a design A is exposed as

    A′ = (A scaled by 1/(1 − s) along x and y) with its edges moved in by b,

and a layer at the height z is exposed at z/(1 − s). Fixed is the zero of the drawing's coordinates, so that
all layers and colours of a drawing stay in register, or the middle of the marks of an aligned one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from shapely import affinity

from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import valid
from laserpath.types import Design, Resin
from laserpath.types.drawing import DrawnLines

_MITRE = 5.0
"""Longest corner of an edge that is moved, in the distance by which it is moved: longer ones are cut off."""


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
