"""Arcs: where their centre is, how far they go, and vertices along them.

The centre is at (I, J) from the start. With G75 the signs are given, and an arc that ends where it starts is
a full circle. With G74 they are not: of the four centres it is the one that makes an arc of at most 90° in
the right direction with the most equal radii.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from laserpath.base.errors import InputError
from laserpath.design.gerber.shapes import Point

QUARTER = math.pi / 2 + 1e-3
TURN = 2 * math.pi
ROUNDING = 1e-9  # radians
FIT = 0.25  # share of the radius by which a centre of G74 may miss one of the ends


@dataclass(frozen=True, slots=True)
class Arc:
    """start, end, centre: mm.  sweep: radians, anticlockwise above 0."""

    start: Point
    end: Point
    centre: Point
    sweep: float

    @property
    def radii(self) -> Point:
        """Distances of start and end from the centre, mm; equal but for the file's rounding."""
        return math.dist(self.start, self.centre), math.dist(self.end, self.centre)


def multi(start: Point, end: Point, centre: Point, turn: int) -> Arc:
    """Of any length. centre: from the start.  turn: 1 anticlockwise, -1 clockwise."""
    middle = (start[0] + centre[0], start[1] + centre[1])
    return Arc(start, end, middle, turn * TURN if start == end else _sweep(start, end, middle, turn))


def single(start: Point, end: Point, centre: Point, turn: int) -> Arc:
    """Of at most 90°. centre: from the start, its signs not heeded."""
    if start == end:
        return Arc(start, end, start, 0.0)
    (x, y), (i, j) = start, (abs(value) for value in centre)
    middles = [(x + i, y + j), (x - i, y + j), (x + i, y - j), (x - i, y - j)]
    found = [Arc(start, end, middle, _sweep(start, end, middle, turn)) for middle in middles]
    found = [arc for arc in found if abs(arc.sweep) <= QUARTER and _missed(arc) <= FIT * max(arc.radii)]
    if not found:
        raise InputError("an arc of at most 90 degrees (G74) has no centre that fits")
    return min(found, key=_missed)


def vertices(arc: Arc, most: float) -> list[Point]:
    """Those after the start. most: radians between two of them.

    Where start and end are at different distances, the radius goes evenly from one to the other.
    """
    (x, y), n = arc.centre, max(1, math.ceil(abs(arc.sweep) / most - 1e-9))
    share = np.arange(1, n) / n
    first, last = arc.radii
    angle = math.atan2(arc.start[1] - y, arc.start[0] - x) + arc.sweep * share
    radius = first + (last - first) * share
    points = np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)], axis=1)
    return [*map(tuple, points.tolist()), arc.end]


def _missed(arc: Arc) -> float:
    return abs(arc.radii[0] - arc.radii[1])


def _sweep(start: Point, end: Point, centre: Point, turn: int) -> float:
    """Radians from start to end about the centre, in the direction of `turn`, less than a full turn."""
    a = math.atan2(start[1] - centre[1], start[0] - centre[0])
    b = math.atan2(end[1] - centre[1], end[0] - centre[0])
    sweep = (turn * (b - a)) % TURN
    return 0.0 if sweep > TURN - ROUNDING else turn * sweep
