"""The shapes of apertures. Curves become polygons within a tolerance, with their vertices on the curve."""

from __future__ import annotations

import math

import numpy as np
import shapely
from shapely.affinity import rotate
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.overlay import EMPTY

MOST_STEPS = 4096  # edges of a circle
Point = tuple[float, float]


def step(radius: float, tolerance: float) -> float:
    """Angle between the vertices of a circle whose edges are within the tolerance, radians."""
    angle = 2 * math.acos(max(1 - tolerance / radius, 0.0)) if radius > tolerance else math.pi / 4
    return min(max(angle, 2 * math.pi / MOST_STEPS), math.pi / 4)


def disc(diameter: float, centre: Point, tolerance: float) -> BaseGeometry:
    """A disc as a polygon."""
    if diameter <= 0:
        return EMPTY
    n = math.ceil(2 * math.pi / step(diameter / 2, tolerance))
    n += -n % 4  # the width and the height are exact
    return regular(diameter, n, 0.0, centre)


def regular(diameter: float, n: int, degrees: float, centre: Point) -> BaseGeometry:
    """A regular polygon of n sides in a circle of that diameter. degrees: of its first corner."""
    if diameter <= 0:
        return EMPTY
    angle = np.radians(degrees) + 2 * np.pi * np.arange(n) / n
    return shapely.polygons(
        np.array(centre) + diameter / 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    )


def rectangle(width: float, height: float, centre: Point) -> BaseGeometry:
    """A rectangle about `centre`."""
    if width <= 0 or height <= 0:
        return EMPTY
    (x, y) = centre
    return shapely.box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def obround(width: float, height: float, tolerance: float) -> BaseGeometry:
    """A rectangle about the origin whose shorter sides are semicircles."""
    if width <= 0 or height <= 0:
        return EMPTY
    length, across = max(width, height), min(width, height)
    ends = np.array([[(across - length) / 2, 0.0], [(length - across) / 2, 0.0]])
    area = stadiums(ends[:1], ends[1:], across, tolerance)[0]
    return area if width >= height else rotate(area, 90, origin=(0, 0))


def stadiums(start: Floats, end: Floats, width: float, tolerance: float) -> Floats:
    """(n,) areas of straight strokes with round ends. start, end: (n, 2)."""
    along = end - start
    length = np.hypot(*along.T)
    u = np.divide(along, length[:, None], out=np.tile([1.0, 0.0], (len(along), 1)), where=length[:, None] > 0)
    half = math.ceil(math.pi / step(width / 2, tolerance))
    half += half % 2  # the tip is on the axis
    angle = np.pi / 2 + np.pi * np.arange(half + 1) / half
    around = width / 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    turn = np.stack([u, np.stack([-u[:, 1], u[:, 0]], axis=1)], axis=1)  # (n, 2, 2): x and y axis of each
    rim = np.einsum("kc,ncd->nkd", around, turn)
    return shapely.polygons(np.concatenate([start[:, None] + rim, end[:, None] - rim], axis=1))
