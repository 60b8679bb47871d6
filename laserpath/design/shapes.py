"""Polygons, lines and points of a file, gathered to become one area.

Lines and points have an area only with a width, with round ends and joins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike
from shapely.geometry.base import BaseGeometry

from laserpath.design.curves import Polyline
from laserpath.design.joined import Polygons, reached
from laserpath.design.stroke import Pen, stroke
from laserpath.errors import InputError

DEEPEST = 50  # collections inside collections


@dataclass(slots=True)
class Shapes:
    """What is gathered from a file. scale: its unit in mm.

    coordinates, rings, polygons' rings: flat, so that 10⁶ polygons are made at once.
    """

    scale: float
    tolerance: float
    numbers: list[float] = field(default_factory=list)
    vertices: list[int] = field(default_factory=list)  # of each ring
    rings: list[int] = field(default_factory=list)  # of each polygon
    pieces: list[BaseGeometry] = field(default_factory=list)
    said: dict[str, None] = field(default_factory=dict)

    def warn(self, sentence: str) -> None:
        """Note what was not understood."""
        self.said[sentence] = None

    def warnings(self) -> tuple[str, ...]:
        """A sentence each."""
        return tuple(self.said)

    def line(self, xy: ArrayLike, width: float, where: str) -> None:
        """A stroke along xy (n, 2), n ≥ 1, or a dot; both in the file's unit."""
        points = self.scale * np.asarray(xy, dtype=np.float64)
        reached(where, points)
        pen = Pen(self.scale * width, "round", "round", 4.0, self.tolerance)
        reached(f"the width of {where}", np.array([pen.width]))
        closed = len(points) > 2 and bool((points[0] == points[-1]).all())
        points = points[:-1] if closed else points
        joint = np.ones(len(points) + closed, dtype=bool)
        outline = Polyline(np.vstack([points, points[:1]]) if closed else points, joint)
        self.pieces += stroke(outline, closed, pen)

    def polygons(self) -> Polygons:
        """All of it as (n,) polygons in mm."""
        pieces = np.fromiter(self.pieces, dtype=object)
        if not self.rings:
            return pieces
        xy = self.scale * np.array(self.numbers, dtype=np.float64).reshape(-1, 2)
        reached("the design", xy)
        vertices = np.repeat(np.arange(len(self.vertices)), self.vertices)
        rings = shapely.linearrings(xy, indices=vertices)
        polygons = shapely.polygons(rings, indices=np.repeat(np.arange(len(self.rings)), self.rings))
        return np.concatenate([polygons, pieces])


def needs_width(kind: str, where: str, width: float | None) -> None:
    """Raise for a line or point without one."""
    if width is None:
        raise InputError(
            f'{where} is a {kind}, which has no area: in GeoJSON give its feature a property "width", '
            "in Python a width, or buffer it"
        )


def as_width(width: Any, where: str) -> float:
    """A width as it is given, checked."""
    if isinstance(width, bool) or not isinstance(width, (int, float, np.number)):
        raise InputError(f"the width of {where} is {told(width)}, but must be a number")
    if not (0 < width < 1e30):
        raise InputError(f"the width of {where} is {str(width)[:20]}, but must be above 0")
    return float(width)


def told(value: Any) -> str:
    """A JSON value in a sentence."""
    if value is None:
        return "nothing"
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false"}.get(
        type(value), "a number"
    )
