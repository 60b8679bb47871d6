"""Arcs: their centre, their sweep, and vertices along them.

The centre is at (I, J) from the start. In G75 these are signed, and an arc that ends where it starts is a
full circle. In G74 they are unsigned: of the four possible centres, the right one makes an arc of at most 90°
in the right direction, with the most equal radii.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from laserpath.base.errors import InputError
from laserpath.design.gerber.shapes import Point

QUARTER = math.pi / 2 + 1e-3  # a quarter turn with a margin for rounding
TURN = 2 * math.pi
ROUNDING = 1e-9  # radians
FIT = 0.25  # difference of the radii, relative to the larger, up to which a centre of G74 is accepted


@dataclass(frozen=True, slots=True)
class Arc:
    """start, end, centre: mm.  sweep: radians, positive if anticlockwise."""

    start: Point
    end: Point
    centre: Point
    sweep: float

    @property
    def radii(self) -> Point:
        """Distances of start and end from the centre, mm; equal but for the file's rounding."""
        return math.dist(self.start, self.centre), math.dist(self.end, self.centre)


def multi(start: Point, end: Point, centre: Point, turn: int) -> Arc:
    """An arc of any length (G75). centre: from the start.  turn: 1 anticlockwise, -1 clockwise."""
    middle = (start[0] + centre[0], start[1] + centre[1])
    return Arc(start, end, middle, turn * TURN if start == end else _sweep(start, end, middle, turn))


def single(start: Point, end: Point, centre: Point, turn: int) -> Arc:
    """An arc of at most 90° (G74). centre: from the start, its signs are ignored."""
    if start == end:
        return Arc(start, end, start, 0.0)
    (x, y), (i, j) = start, (abs(value) for value in centre)
    middles = [(x + i, y + j), (x - i, y + j), (x + i, y - j), (x - i, y - j)]
    arcs = [Arc(start, end, middle, _sweep(start, end, middle, turn)) for middle in middles]
    arcs = [arc for arc in arcs if abs(arc.sweep) <= QUARTER and _missed(arc) <= FIT * max(arc.radii)]
    if not arcs:
        raise InputError("an arc of at most 90 degrees (G74) has no centre that fits")
    return min(arcs, key=_missed)


def vertices(arc: Arc, most: float) -> list[Point]:
    """The vertices after the start. most: largest angle between two of them, radians.

    If the radii of start and end differ, the radius changes linearly from one to the other.
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
