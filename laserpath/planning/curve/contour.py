"""Contour-parallel curve: rings at a first inset and then every pitch, plus what rings leave out.

Rings at depths inset, inset + pitch, … are the level lines of the distance to the edge, with rounded
corners: a machine all but stops in a sharp one, and the optimiser draws out those that the design needs.
Where the design is thinner than twice the inset no ring fits, and where two opposite innermost rings stay
more than a pitch apart there is an uncured seam: both get a stroke along the medial axis.
"""

from __future__ import annotations

import numpy as np
import shapely
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.planning.curve.medial import medial_axis

_CORNER = 1.25
"""Radius of a ring's corners, in insets."""

_TURNS = 4
"""Vertices that share a corner of 90°: a controller takes small turns much faster than a large one."""

_CORNER_OFF = 1.0
"""Radii by which a corner may be cut: (√2 − 1) of a square one, more of a sharp one."""

_FLATTER = 0.5
"""Of the flatness, so that those vertices stay."""

_SEAM = 0.6
"""A centre line is added where the innermost rings are more than 2·0.6 pitches apart."""


def contour(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; rings are closed, their last vertex repeating the first.

    inset, pitch: mm.  flatness: how far a ring may be from the true offset curve, mm.
    """
    if area.is_empty:
        return []
    strokes = rings(area, inset, pitch, flatness)
    return strokes + centre_lines(area, inset, pitch, flatness)


def rings(
    area: MultiPolygon, inset: float, pitch: float, flatness: float, most: int | None = None
) -> list[Floats]:
    """The rings at the first `most` depths, all without; their corners are rounded."""
    strokes: list[Floats] = []
    depth = inset
    while not (region := area.buffer(-depth, join_style="mitre")).is_empty and most != 0:
        for polygon in _polygons(region):
            rounded = _rounded(polygon, _CORNER * inset)
            for ring in (rounded.exterior, *rounded.interiors):
                strokes.append(shapely.get_coordinates(ring.simplify(_FLATTER * flatness)))
        depth += pitch
        most = None if most is None else most - 1
    return strokes


def _rounded(polygon: Polygon, radius: float) -> Polygon:
    """The polygon with corners of that radius, or less where an arm or a hole would be lost."""
    for r in (radius, radius / 2, radius / 4):
        shrunk = polygon.buffer(-r, join_style="mitre")
        found = shrunk.buffer(2 * r, quad_segs=_TURNS).buffer(-r, quad_segs=_TURNS)
        # A rounded square corner is (√2 − 1) r off; an arm that is lost, more.
        whole = isinstance(found, Polygon) and len(found.interiors) == len(polygon.interiors)
        if whole and polygon.within(found.buffer(_CORNER_OFF * r)):
            return found
    return polygon


def _polygons(region: BaseGeometry) -> list[Polygon]:
    return [polygon for polygon in getattr(region, "geoms", [region]) if not polygon.is_empty]


def centre_lines(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Strokes along the medial axis where rings leave a place out, and in islands too small for either."""
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
