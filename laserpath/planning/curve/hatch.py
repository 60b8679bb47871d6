"""Hatch: parallel lines at one pitch and angle, drawn back and forth (boustrophedon)."""

from __future__ import annotations

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Floats
from laserpath.base.overlay import crossings


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
