"""Hatch: parallel lines at one pitch and angle, drawn back and forth (boustrophedon).

`outline` draws one ring along the edge, for accuracy, and such lines inside, for speed. Places that are too
narrow for the lines get the centre lines of `contour`.
"""

from __future__ import annotations

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Floats
from laserpath.base.overlay import crossings, outside
from laserpath.planning.curve.contour import centre_lines, rings


def hatch(area: MultiPolygon, inset: float, pitch: float, angle: float) -> list[Floats]:
    """Strokes (2, 2) in mm inside `area` shrunk by `inset` mm; angle in degrees from +x.

    Lines lie a pitch apart, symmetric about the middle of the shrunk area, so that a symmetric design
    gets symmetric lines.
    """
    region = affinity.rotate(area.buffer(-inset, join_style="mitre"), -angle, origin=(0, 0))
    if region.is_empty:
        return []
    x0, y0, x1, y1 = region.bounds
    count = int(np.floor((y1 - y0) / pitch)) + 1
    levels = (y0 + y1) / 2 + pitch * (np.arange(count) - (count - 1) / 2)
    strokes: list[Floats] = []
    for n, y in enumerate(levels):
        row = crossings(shapely.LineString([(x0 - 1, y), (x1 + 1, y)]), region)
        lines = [shapely.get_coordinates(g) for g in getattr(row, "geoms", [row]) if g.length > 0]
        lines = sorted((line[[0, -1]] for line in lines), key=lambda line: float(line[0, 0]))
        strokes += [line[::-1] for line in lines[::-1]] if n % 2 else lines
    turn = np.radians(angle)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return [stroke @ rotation for stroke in strokes]


_EVEN = 1e-6
"""Share of the outline that must prefer one direction: below it, rounding would choose the direction."""

_REACHED = 0.75
"""Distance from a hatch line, in pitches, within which a place counts as exposed: a larger value adds fewer
centre lines."""


def outline(area: MultiPolygon, inset: float, pitch: float, angle: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; rings are closed.  angle: of the hatch, degrees from +x."""
    if area.is_empty:
        return []
    lines = hatch(area, inset + pitch, pitch, angle)
    reached = shapely.MultiLineString(lines).buffer(_REACHED * pitch)
    added = [
        stroke
        for stroke in centre_lines(area, inset, pitch, flatness)
        if outside(line := shapely.LineString(stroke), reached).length > line.length / 2
    ]
    return rings(area, inset, pitch, flatness, most=1) + lines + added


def main_direction(area: MultiPolygon) -> float:
    """The direction in degrees from +x, 0 to below 90, that most of the outline runs along or across.

    0 if no direction prevails.
    """
    edges = [np.diff(shapely.get_coordinates(ring), axis=0) for ring in shapely.get_parts(area.boundary)]
    step = np.concatenate(edges)
    # With angles times four, directions a quarter turn apart are equal.
    turned = (np.hypot(*step.T) * np.exp(4j * np.arctan2(step[:, 1], step[:, 0]))).sum()
    if abs(turned) < _EVEN * area.length:
        return 0.0
    return round(float(np.degrees(np.angle(turned))) / 4, 6) % 90
