"""Points along the design's contour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.types import Design

SAMPLE_FWHM = 0.25  # distance between samples
CORNER_FWHM = 0.75  # distance along the contour within which a sample is near a corner
CORNER_DEGREES = 30.0  # turn from which a vertex is a corner


@dataclass(frozen=True, slots=True)
class Samples:
    """xy: (M, 2) mm.  normal: (M, 2) outward.  corner: (M,) whether near a corner."""

    xy: Floats
    normal: Floats
    corner: Bools


def contour_samples(design: Design, fwhm: float) -> Samples:
    """Points every FWHM/4 (at least 8 a ring) in the middle of equal arcs of all rings.

    Near a corner: within 0.75 FWHM of a turn by more than 30°.
    """
    parts = []
    for polygon in design.area.geoms:
        parts.append(_ring(polygon.exterior, fwhm, solid_left=polygon.exterior.is_ccw))
        parts += [_ring(hole, fwhm, solid_left=not hole.is_ccw) for hole in polygon.interiors]
    return Samples(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _ring(ring: shapely.LinearRing, fwhm: float, solid_left: bool) -> tuple[Floats, Floats, Bools]:
    """Samples of one ring, in its own direction; a sample on a vertex belongs to the edge behind it."""
    vertices = shapely.get_coordinates(ring)
    step = np.diff(vertices, axis=0)
    length = np.hypot(*step.T)
    step, length, start = step[length > 0], length[length > 0], vertices[:-1][length > 0]
    tangent = step / length[:, None]
    s = np.concatenate([[0.0], np.cumsum(length)])
    n = max(8, int(s[-1] / (SAMPLE_FWHM * fwhm)))
    at = (np.arange(n) + 0.5) * s[-1] / n

    def segment(position: Floats) -> Indices:
        return np.clip(np.searchsorted(s, position % s[-1], side="right") - 1, 0, len(length) - 1)

    k = segment(at)
    xy = start[k] + (at - s[k])[:, None] * tangent[k]
    around = np.linspace(-1, 1, 9) * CORNER_FWHM * fwhm
    straight = np.min([np.einsum("ij,ij->i", tangent[k], tangent[segment(at + o)]) for o in around], axis=0)
    normal = np.stack([tangent[k, 1], -tangent[k, 0]], axis=1) * (1 if solid_left else -1)
    return xy, normal, straight < np.cos(np.radians(CORNER_DEGREES))
