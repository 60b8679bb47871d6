"""Contour-parallel curve: rings at a first inset and then every pitch, plus what rings leave out.

Rings at depths inset, inset + pitch, … are the level lines of the distance to the edge, but with
sharp corners around the design's concave ones. Where the design is thinner than twice the inset no
ring fits, and where two opposite innermost rings stay more than a pitch apart there is an uncured
seam: both get a stroke along the medial axis.
"""

from __future__ import annotations

import numpy as np
import shapely
from shapely.geometry import MultiPolygon

from laserpath.arrays import Floats
from laserpath.curve.medial import medial_axis

_SEAM = 0.6
"""A centre line is added where the innermost rings are more than 2·0.6 pitches apart."""


def contour(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; rings are closed, their last vertex repeating the first.

    inset, pitch: mm.  flatness: how far a ring may be from the true offset curve, mm.
    """
    if area.is_empty:
        return []
    strokes = []
    depth = inset
    while not (region := area.buffer(-depth, join_style="mitre")).is_empty:
        for polygon in getattr(region, "geoms", [region]):
            for ring in (polygon.exterior, *polygon.interiors):
                strokes.append(shapely.get_coordinates(ring.simplify(flatness)))
        depth += pitch
    return strokes + _centre_lines(area, inset, pitch, flatness)


def _centre_lines(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    axis = medial_axis(area, spacing=min(max(inset, pitch / 4), pitch) / 4)
    below = axis.radius - inset
    gap = np.mod(below, pitch)
    wanted = (below <= 0) | (gap > _SEAM * pitch)
    strokes = axis.strokes(wanted, shortest=pitch / 2, flatness=max(flatness, pitch / 50))
    return strokes + _dots(area, inset, strokes, pitch / 5)


def _dots(area: MultiPolygon, inset: float, strokes: list[Floats], length: float) -> list[Floats]:
    """A short stroke (M4 is dark standing still) in each island that neither ring nor axis reached."""
    lines = shapely.MultiLineString(strokes) if strokes else shapely.MultiLineString()
    dots = []
    for polygon in area.geoms:
        if polygon.buffer(-inset).is_empty and not polygon.intersects(lines):
            centre = np.array(shapely.maximum_inscribed_circle(polygon).coords[0])
            corners = shapely.get_coordinates(polygon.minimum_rotated_rectangle)
            if len(corners) < 4:
                continue
            side = max(corners[1] - corners[0], corners[2] - corners[1], key=lambda s: float(np.hypot(*s)))
            half = side / np.hypot(*side) * length / 2
            dots.append(np.stack([centre - half, centre + half]))
    return dots
