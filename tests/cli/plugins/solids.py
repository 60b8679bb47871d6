"""Solids for slicers, as ASCII STL, and what their sections are. Lengths in mm."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import shapely

from laserpath.base.arrays import Floats

Solid = list[tuple[Floats, Floats, float, float]]
"""Tubes, one on the other: outer and inner ring (n, 2), from z, to z."""


def box(width: float, height: float) -> Floats:
    """Corners of a rectangle about (0, 0), counter-clockwise."""
    return np.array([(-width, -height), (width, -height), (width, height), (-width, height)]) / 2


def circle(radius: float, n: int = 48) -> Floats:
    """A regular polygon."""
    angle = 2 * np.pi * np.arange(n) / n
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


FRAME: Solid = [(box(8, 6), box(4, 2), 0.0, 0.8), (circle(2.5), circle(1.2), 0.8, 1.2)]
"""A frame with a ring on it, which overhangs its opening."""


def section(solid: Solid, z: float) -> shapely.Polygon:
    """The area of the solid at a height."""
    ((outer, inner),) = [(a, b) for a, b, low, high in solid if low < z < high]
    return shapely.Polygon(outer, [inner])


def stl(solid: Solid) -> str:
    """The file."""
    lines = ["solid made"]
    for a, b, low, high in solid:
        lines += [facet for k in range(len(a)) for facet in _facets(a, b, low, high, k)]
    return "\n".join([*lines, "endsolid made", ""])


def _facets(outer: Floats, inner: Floats, low: float, high: float, k: int) -> list[str]:
    """The four sides of a tube between two neighbouring corners."""
    (a, b), (c, d) = (np.roll(ring, -k, axis=0)[:2] for ring in (outer, inner))
    walls = [(a, b, low, high), (d, c, low, high)]
    quads = [[(*p, z0), (*q, z0), (*q, z1), (*p, z1)] for p, q, z0, z1 in walls]
    quads += [[(*a, high), (*b, high), (*d, high), (*c, high)], [(*b, low), (*a, low), (*c, low), (*d, low)]]
    return [_facet(quad[0], p, q) for quad in quads for p, q in pairwise(quad[1:])]


def _facet(*corners: tuple[float, ...]) -> str:
    vertices = "\n".join("  vertex {:.6f} {:.6f} {:.6f}".format(*corner) for corner in corners)
    return f"facet normal 0 0 0\n outer loop\n{vertices}\n endloop\nendfacet"
