"""The medial axis: centres of the circles that touch the edge on opposite sides.

It is the part of the Voronoi diagram of the densified edge that lies inside, without the branches into
corners. A Voronoi edge is kept if its two generators a, b subtend a wide angle at it: |a − b| ≥ 1.7 r (180°
is 2 r; a branch into a square corner has 1.41 r). See Attali, Boissonnat and Edelsbrunner, "Stability and
computation of medial axes" (2009), §3, for this criterion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy.spatial import Voronoi
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Bools, Floats

_WIDE = 1.7
_POINTS_MAX = 40_000


@dataclass(frozen=True, slots=True)
class MedialAxis:
    """start, end: (N, 2) ends of the pieces, mm.  radius: (N,) distance to the edge, mm."""

    start: Floats
    end: Floats
    radius: Floats

    def strokes(self, chosen: Bools, shortest: float, flatness: float) -> list[Floats]:
        """The chosen pieces (N,) joined to polylines (K, 2) of at least `shortest` mm.

        flatness: tolerance for simplifying them, mm.
        """
        pieces = np.stack([self.start[chosen], self.end[chosen]], axis=1)
        if len(pieces) == 0:
            return []
        merged = shapely.line_merge(shapely.MultiLineString(list(pieces)))
        lines = shapely.get_parts(shapely.simplify(merged, flatness))
        return [shapely.get_coordinates(line) for line in lines[shapely.length(lines) >= shortest]]


def medial_axis(area: MultiPolygon, spacing: float, wide: float = _WIDE) -> MedialAxis:
    """The medial axis of `area`, whose edge is sampled every `spacing` mm (less densely if it is long).

    wide: least distance of a point's two nearest edge points, in radii; a smaller one keeps more branches.
    """
    spacing = max(spacing, area.length / _POINTS_MAX)
    edge = shapely.get_coordinates(area.boundary.segmentize(spacing))
    edge = np.unique(edge, axis=0)
    diagram = Voronoi(edge)
    ridges = np.asarray(diagram.ridge_vertices)
    finite = (ridges >= 0).all(axis=1)
    a, b = edge[diagram.ridge_points[finite, 0]], edge[diagram.ridge_points[finite, 1]]
    start, end = diagram.vertices[ridges[finite, 0]], diagram.vertices[ridges[finite, 1]]
    radius = np.hypot(*((start + end) / 2 - a).T)
    keep = np.hypot(*(a - b).T) >= wide * radius
    shapely.prepare(area)
    for point in (start, end):
        keep[keep] = shapely.contains_xy(area, point[keep])
    return MedialAxis(start[keep], end[keep], radius[keep])
