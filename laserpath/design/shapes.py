"""Polygons, lines and points of a file, collected to become one area.

Lines and points have an area only if they have a width; their ends and joins are round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike
from shapely.geometry.base import BaseGeometry

from laserpath.base.errors import InputError, figure
from laserpath.design.curves import Polyline
from laserpath.design.joined import Polygons, check_reach
from laserpath.design.reading import Reading
from laserpath.design.stroke import Pen, stroke


@dataclass(slots=True)
class Shapes:
    """The shapes of a file. scale: its unit in mm.  tolerance: mm, of round ends and joins.

    Coordinates, rings and polygons are flat lists, so that 10⁶ polygons are built at once.
    """

    scale: float
    tolerance: float
    numbers: list[float] = field(default_factory=list)
    vertices: list[int] = field(default_factory=list)  # of each ring
    rings: list[int] = field(default_factory=list)  # of each polygon
    pieces: list[BaseGeometry] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    bare: list[tuple[ArrayLike, str]] = field(default_factory=list)  # lines without a width
    points: int = 0  # without a width

    def warn(self, sentence: str) -> None:
        """Add a warning, once."""
        self.notes[sentence] = None

    def warnings(self) -> tuple[str, ...]:
        """A sentence each."""
        return tuple(self.notes)

    def line(self, xy: ArrayLike, width: float, where: str) -> None:
        """Add a stroke along xy (n, 2), n ≥ 1, or a dot; in the file's unit. where: its name in messages."""
        points = self.scale * np.asarray(xy, dtype=np.float64)
        check_reach(where, points)
        pen = Pen(self.scale * width, "round", "round", 4.0, self.tolerance)
        check_reach(f"the width of {where}", np.array([pen.width]))
        closed = len(points) > 2 and bool((points[0] == points[-1]).all())
        points = points[:-1] if closed else points
        joint = np.ones(len(points) + closed, dtype=bool)
        outline = Polyline(np.vstack([points, points[:1]]) if closed else points, joint)
        self.pieces += stroke(outline, closed, pen)

    def without_width(self, kind: str, xy: ArrayLike, where: str) -> None:
        """Add a line or a point that has no width of its own."""
        if "Point" in kind:
            self.points += 1
        else:
            self.bare.append((xy, where))

    def settle(self, reading: Reading) -> None:
        """Draw the lines without a width or leave them out, leave out the points, and warn of it."""
        width, n = reading.line_width, len(self.bare)
        if self.points:
            self.warn(left_out(self.points, "point", 'give it a "width", or draw a circle'))
        if n and width is None and not (self.rings or self.pieces):
            width = reading.hairline
            self.warn(hairlines(n, width))
        if width is None and n:
            self.warn(left_out(n, "line", "draw the lines with --line-width 0.2mm"))
        elif width is not None:
            for xy, where in self.bare:
                self.line(xy, width / reading.grown / self.scale, where)

    def polygons(self) -> Polygons:
        """(n,) polygons of all shapes, mm."""
        pieces = np.fromiter(self.pieces, dtype=object)
        if not self.rings:
            return pieces
        xy = self.scale * np.array(self.numbers, dtype=np.float64).reshape(-1, 2)
        check_reach("the design", xy)
        vertices = np.repeat(np.arange(len(self.vertices)), self.vertices)
        rings = shapely.linearrings(xy, indices=vertices)
        polygons = shapely.polygons(rings, indices=np.repeat(np.arange(len(self.rings)), self.rings))
        return np.concatenate([polygons, pieces])


def left_out(n: int, what: str, instead: str) -> str:
    """The warning about lines or points that have no area."""
    return (
        f"{n} {what}{'s are' if n > 1 else ' is'} left out, because what has no width has no area: {instead}"
    )


def hairlines(n: int, width: float) -> str:
    """The warning about lines that are drawn in the spot's width."""
    some = "the line has" if n == 1 else f"the {n} lines have"
    be = "is" if n == 1 else "are"
    return (
        f"{some} no width, and {be} drawn {figure(width, 4)} mm wide, as the spot is: "
        "--line-width 0.2mm would make that 0.2 mm"
    )


def needs_width(kind: str, where: str, width: float | None) -> None:
    """Raise for a line or point without a width."""
    if width is None:
        raise InputError(
            f'{where} is a {kind}, which has no area: in GeoJSON give its feature a property "width", '
            "in Python a width, or buffer it"
        )


def as_width(width: Any, where: str) -> float:
    """A given width, checked."""
    if isinstance(width, bool) or not isinstance(width, (int, float, np.number)):
        raise InputError(f"the width of {where} is {json_kind(width)}, but must be a number")
    if not (0 < width < 1e30):
        raise InputError(f"the width of {where} is {str(width)[:20]}, but must be above 0")
    return float(width)


def json_kind(value: Any) -> str:
    """The kind of a JSON value, for a message."""
    if value is None:
        return "nothing"
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false"}.get(
        type(value), "a number"
    )
