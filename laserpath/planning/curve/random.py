"""Random walk: one lit stroke of normally distributed steps, reflected at the design's bounds.

The forum script that started this project used such a curve: it shows nothing of the design, so that the
optimiser has to find the shape.
"""

from __future__ import annotations

import numpy as np
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Floats


def random_walk(area: MultiPolygon, pitch: float, rng: np.random.Generator) -> list[Floats]:
    """One stroke (K, 2) in mm, with steps of about one pitch, long enough to cover the bounds once."""
    x0, y0, x1, y1 = area.bounds
    low, size = np.array([x0, y0]), np.array([x1 - x0, y1 - y0])
    steps = max(8, int(np.ceil(size.prod() / pitch**2)))
    walk = np.cumsum(rng.normal(0, pitch / np.sqrt(2), (steps, 2)), axis=0) + size / 2
    folded = size - np.abs(np.mod(walk, 2 * size) - size)
    return [low + folded]
