"""The line work of a plotter program such as vpype → `Design`.

vpype has lines of complex numbers x + iy in px, 96 to the inch, y down from the page's upper left corner. A
pen's line is an area as wide as the pen, with round ends and joins. In a filled layer the closed lines bound
an area by the even-odd rule. The area off the page is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from numpy.typing import NDArray

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import within
from laserpath.design.fill import EVENODD, check_reach, fill, joined
from laserpath.design.reading import Reading
from laserpath.design.vector import Shapes, followed
from laserpath.types import Design, Point

PX = 25.4 / 96
"""Length of a px, mm."""

_CLOSED = 0.05
"""px, largest gap between the ends of a closed line; as small as vpype's own limit."""


@dataclass(frozen=True, slots=True)
class PenLayer:
    """lines: (n,) complex each, px, y down.  pen: mm, their width; None: not drawn.

    filled: whether the closed lines are filled.
    """

    lines: Sequence[NDArray[np.complex128]]
    pen: float | None = None
    filled: bool = False


def design(
    layers: Sequence[PenLayer], page: Point | None, name: str, tolerance: float, *, follow: bool = False
) -> Design:
    """The area of all layers. page: its width and height in px.  tolerance: mm, of round ends.

    follow: the lines of the pens are the path (`vector.followed`), also off the page.
    """
    height = page[1] if page else 0.0
    sheet = (0.0, 0.0, page[0] * PX, page[1] * PX) if page else None
    if follow:
        lines = [(_flipped(line, height), layer.pen) for layer in layers for line in layer.lines if len(line)]
        return replace(followed(lines, name, Reading(tolerance)), page=sheet)
    with np.errstate(all="ignore"):  # GEOS divides by the lengths of tiny edges, and takes care of it
        area = joined([area for layer in layers for area in _areas(layer, height, tolerance)])
        if sheet:
            area = within(area, shapely.box(*sheet))
    solid = [part for part in shapely.get_parts(area) if part.geom_type == "Polygon" and part.area > 0]
    if not solid:
        on = " on the page" if page else ""
        raise InputError(
            f"the line work has no area{on}: no line is drawn with a pen, no closed one is filled"
        )
    return Design(shapely.MultiPolygon(solid), name, sheet, tuple(_warnings(layers)))


def _areas(layer: PenLayer, height: float, tolerance: float) -> list[shapely.Geometry]:
    lines = [_flipped(line, height) for line in layer.lines if len(line)]
    for line in lines:
        check_reach("the line work", line)
    areas: list[shapely.Geometry] = []
    if layer.pen is not None:
        shapes = Shapes(1.0, tolerance)
        for line in lines:
            shapes.line(line, layer.pen, "the line work")
        areas += list(shapes.polygons())
    if layer.filled:
        areas.append(fill([line for line in lines if _is_closed(line)], EVENODD))
    return areas


def _flipped(line: NDArray[np.complex128], height: float) -> Floats:
    """(n, 2) mm, y up."""
    return PX * np.column_stack([line.real, height - line.imag])


def _is_closed(line: Floats) -> bool:
    return len(line) > 2 and bool(np.hypot(*(line[-1] - line[0])) <= _CLOSED * PX)


def _warnings(layers: Sequence[PenLayer]) -> list[str]:
    """A sentence if open lines were left out."""
    lost = sum(
        not _is_closed(_flipped(line, 0.0))
        for layer in layers
        if layer.filled and layer.pen is None
        for line in layer.lines
    )
    if not lost:
        return []
    return [f"open lines cannot be filled and are left out: {lost}; draw them with a pen width"]
