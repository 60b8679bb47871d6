"""What a careful user gets at constant power today: eight toolpaths, each at its best exposure.

Lines of light in mm, (n, 2) each: level hatches with rows there and back, rings parallel to the contour,
and a hatch within a ring. Pitch and inset in FWHM; a hatch begins half a pitch above its lowest point.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import shapely
from shapes import NODING

from laserpath.base.arrays import Floats
from laserpath.types import Design, Machine, Toolpath

HATCHES = ((0.5, 0.0), (0.5, 0.15), (0.25, 0.1), (1.0, 0.0))
"""(pitch, inset), FWHM."""

CONTOURS = ((0.5, 0.25), (0.5, 0.4), (1.0, 0.4))
"""(pitch, inset of the first ring), FWHM."""

COMMON = "hatch 0.5"
"""The default of most tools."""

_SMOOTH_FWHM = 0.01


def candidates(design: Design, fwhm: float) -> dict[str, list[Floats]]:
    """The eight by name; those of which nothing is left in so narrow a design are not among them."""
    area = design.area
    found = {
        f"hatch {pitch:g}" + f", inset {inset:g}" * (inset > 0): hatch(area, pitch * fwhm, inset * fwhm)
        for pitch, inset in HATCHES
    }
    for pitch, inset in CONTOURS:
        found[f"contour {pitch:g}, inset {inset:g}"] = list(rings(area, inset * fwhm, pitch * fwhm, fwhm))
    outline = list(rings(area, 0.4 * fwhm, np.inf, fwhm))
    found["outline 0.4 and hatch 0.5"] = hatch(area, 0.5 * fwhm, 0.8 * fwhm) + outline
    return {name: lines for name, lines in found.items() if lines}


def hatch(area: shapely.Geometry, pitch: float, inset: float = 0.0) -> list[Floats]:
    """Level rows through the area less its rim, there and back."""
    inner = area.buffer(-inset)
    if inner.is_empty:
        return []
    x0, y0, x1, y1 = inner.bounds
    lines: list[Floats] = []
    for k, y in enumerate(np.arange(y0 + pitch / 2, y1, pitch)):
        row = inner.intersection(shapely.LineString([(x0 - 1, y), (x1 + 1, y)]), grid_size=NODING)
        parts = [shapely.get_coordinates(g) for g in shapely.get_parts(row) if g.length > 0]
        parts = [np.sort(part, axis=0) for part in parts]
        parts.sort(key=lambda part: part[0, 0])
        lines += [part[::-1] for part in reversed(parts)] if k % 2 else parts
    return lines


def rings(area: shapely.Geometry, inset: float, pitch: float, fwhm: float) -> Iterator[Floats]:
    """The contour moved inwards again and again; once if the pitch is infinite."""
    while np.isfinite(inset) and not (inner := area.buffer(-inset)).is_empty:
        for polygon in shapely.get_parts(inner):
            for ring in (polygon.exterior, *polygon.interiors):
                yield shapely.get_coordinates(ring.simplify(_SMOOTH_FWHM * fwhm))
        inset += pitch


def toolpath(lines: list[Floats], machine: Machine, power: float) -> Toolpath:
    """The lines in their order at one power and full speed, dark in between."""
    moves = [len(line) - 1 for line in lines]
    on = np.concatenate([np.concatenate([np.ones(n), np.zeros(1)]) for n in moves])[:-1] > 0
    speed = np.where(on, min(machine.speed_max), min(machine.rapid_speed))
    return Toolpath(np.concatenate(lines), np.where(on, power, 0.0), speed)
