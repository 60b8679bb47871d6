"""Centrelines: a narrow bar gets as few lines along it as it needs; other islands get rings.

In a bar one or two spots wide, a ring turns at both ends, where the machine is slow, and rounds square
corners. One line in the middle cures a bar up to three insets wide; two lines cure one a pitch wider.
"""

from __future__ import annotations

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Polygon

from laserpath.base.arrays import Floats
from laserpath.planning.curve.contour import contour
from laserpath.planning.curve.skeleton import medial_axis

_BAR = 0.9
"""Share of its smallest rectangle that an island must fill to be a bar: a larger value allows fewer bars."""

_MOST = 3
"""Most lines in a bar: a wider bar is written faster with an outline and a hatch."""

_ONE = 3.0
"""Width, in insets, up to which one line cures a bar: a larger value leaves the sides of bars uncured."""


def centreline(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; islands that are neither bars nor narrow get the rings of `contour`.

    inset: distance of the outermost line from the edge, mm.  pitch: largest distance between lines, mm.
    flatness: tolerance for simplifying centre lines, mm.
    """
    narrow = [_narrow(polygon, inset, pitch, flatness) for polygon in area.geoms]
    wide = [p for p, strokes in zip(area.geoms, narrow, strict=True) if not strokes]
    return [s for strokes in narrow for s in strokes] + contour(MultiPolygon(wide), inset, pitch, flatness)


def _narrow(polygon: Polygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """The lines of one island; none if it is neither a bar nor narrow."""
    box = polygon.minimum_rotated_rectangle
    if not isinstance(box, Polygon) or polygon.interiors:
        return []
    if polygon.area >= _BAR * box.area:
        return _bar(shapely.get_coordinates(box), inset, pitch)
    if 2 * shapely.maximum_inscribed_circle(polygon).length > _ONE * inset:
        return []
    axis = medial_axis(MultiPolygon([polygon]), spacing=inset / 4)
    return axis.strokes(np.ones(len(axis.radius), dtype=bool), shortest=pitch / 2, flatness=flatness)


def _bar(corners: Floats, inset: float, pitch: float) -> list[Floats]:
    """Lines (2, 2) mm along a rectangle's longer side, back and forth; none if it needs more than `_MOST`."""
    along, across = corners[1] - corners[0], corners[3] - corners[0]
    if np.hypot(*along) < np.hypot(*across):
        along, across = across, along
    width, length = float(np.hypot(*across)), float(np.hypot(*along))
    count = 1 if width < _ONE * inset else 2 + int((width - 2 * inset) / (pitch * (1 + 1e-9)))
    if count > _MOST:
        return []
    middle, room = corners[0] + across / 2, across / width * max(width / 2 - inset, 0)
    sides = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    middle += along / 2
    # A dot needs a short stroke: with M4 the laser is dark while the head stands still.
    half = along / length * max(length, pitch / 5) / 2
    lines = [np.stack([middle + s * room - half, middle + s * room + half]) for s in sides]
    return [line[::-1] if k % 2 else line for k, line in enumerate(lines)]
