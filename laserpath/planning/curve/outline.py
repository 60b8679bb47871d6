"""Outline and hatch: one ring along the edge, for its accuracy, and straight lines inside, for speed.

What the hatch misses, because it is narrower than a pitch, gets the strokes that rings would leave there.
"""

from __future__ import annotations

import numpy as np
import shapely
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Floats
from laserpath.base.overlay import outside
from laserpath.planning.curve.contour import centre_lines, rings
from laserpath.planning.curve.hatch import hatch

_EVEN = 1e-6
"""Share of the outline below which one direction is as good as another, and rounding would choose."""

_REACHED = 0.75
"""Pitches from a hatch line within which a place is exposed."""


def outline(area: MultiPolygon, inset: float, pitch: float, angle: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; rings are closed.  angle: of the hatch, degrees from +x."""
    if area.is_empty:
        return []
    lines = hatch(area, inset + pitch, pitch, angle)
    reached = shapely.MultiLineString(lines).buffer(_REACHED * pitch)
    left = [
        stroke
        for stroke in centre_lines(area, inset, pitch, flatness)
        if outside(line := shapely.LineString(stroke), reached).length > line.length / 2
    ]
    return rings(area, inset, pitch, flatness, most=1) + lines + left


def main_direction(area: MultiPolygon) -> float:
    """Degrees from +x, 0 ≤ … < 90, along which most of the outline runs, or across; 0 where none is."""
    edges = [np.diff(shapely.get_coordinates(ring), axis=0) for ring in shapely.get_parts(area.boundary)]
    step = np.concatenate(edges)
    # Turned fourfold, directions a quarter turn apart are one.
    turned = (np.hypot(*step.T) * np.exp(4j * np.arctan2(step[:, 1], step[:, 0]))).sum()
    if abs(turned) < _EVEN * area.length:
        return 0.0
    return round(float(np.degrees(np.angle(turned))) / 4, 6) % 90
