"""Centrelines: as few parallel lines as a narrow bar needs, along it, from end to end; rings elsewhere.

A ring in a bar of one or two spots' width turns at both ends, where the machine is slow, and rounds what
should be square. One line in the middle cures a bar up to three insets wide, two lines one of a pitch more.
"""

from __future__ import annotations

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Polygon

from laserpath.base.arrays import Floats
from laserpath.planning.curve.contour import contour
from laserpath.planning.curve.medial import medial_axis

_BAR = 0.9
"""Share of its smallest rectangle that a bar fills."""

_MOST = 3
"""Lines in a bar, at most; a wider bar is better off with an outline and a hatch."""

_ONE = 3.0
"""Insets: width of a bar up to which one line cures it."""


def centreline(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; the rings of `contour` for islands that are neither bars nor narrow.

    inset: of the outermost line, mm.  pitch: largest distance of lines, mm.  flatness: of centre lines, mm.
    """
    narrow = [_narrow(polygon, inset, pitch, flatness) for polygon in area.geoms]
    wide = [p for p, strokes in zip(area.geoms, narrow, strict=True) if not strokes]
    return [s for strokes in narrow for s in strokes] + contour(MultiPolygon(wide), inset, pitch, flatness)


def _narrow(polygon: Polygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """The lines of one island; none where it is no bar and not narrow."""
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
    """Lines (2, 2) along the longer side of a rectangle, to and fro; none if it needs more than `_MOST`."""
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
    # A dot is a short stroke, since M4 is dark standing still.
    half = along / length * max(length, pitch / 5) / 2
    lines = [np.stack([middle + s * room - half, middle + s * room + half]) for s in sides]
    return [line[::-1] if k % 2 else line for k, line in enumerate(lines)]
