"""Points along the design's contour, and the dose there.

`contour_samples` walks the rings; `sampling_matrix` reads a smooth grid function, or its slope
along a direction, at any points: the cubic spline through all pixels (Unser 1999), whose
coefficients are the pixels filtered by √3 z^|k| with z = √3 − 2, here cut at |k| ≤ 5 and normalised to sum to
one: along each axis a wave keeps its amplitude to 0.2 %, a constant is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy import sparse

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.types import Design, Grid

SAMPLE_FWHM = 0.25  # distance between samples
CORNER_FWHM = 0.75  # distance along the contour within which a sample is near a corner
CORNER_DEGREES = 30.0  # turn from which a vertex is a corner

_REACH = 5  # pixels to either side in the spline's prefilter; the cut-off error falls as 0.27^reach


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


def sampling_matrix(grid: Grid, xy: Floats, direction: Floats | None = None) -> sparse.csr_matrix:
    """(M, pixels) matrix W: W @ f.ravel() is f at xy (M, 2), or its slope per mm along `direction`."""
    u, v = grid.to_pixels(xy).T
    (ju, wu, su), (jv, wv, sv) = _taps(u), _taps(v)
    rows, columns = grid.shape
    if direction is None:
        weight = wv[:, :, None] * wu[:, None, :]
    else:
        du, dv = (direction / grid.pitch).T[:, :, None, None]
        weight = du * wv[:, :, None] * su[:, None, :] + dv * sv[:, :, None] * wu[:, None, :]
    index = np.mod(jv, rows)[:, :, None] * columns + np.mod(ju, columns)[:, None, :]
    indptr = np.arange(len(u) + 1) * weight[0].size if len(u) else np.zeros(1, dtype=np.int64)
    return sparse.csr_matrix((weight.ravel(), index.ravel(), indptr), shape=(len(u), rows * columns))


def _taps(t: Floats) -> tuple[Indices, Floats, Floats]:
    """Indices, weights and slopes (M, 2·reach + 4) of the cardinal cubic spline at t (M,)."""
    z = np.sqrt(3) - 2
    inverse = z ** np.abs(np.arange(-_REACH, _REACH + 1))
    inverse /= inverse.sum()
    first = np.floor(t).astype(np.int64) - 1
    gap = np.abs(t[:, None] - first[:, None] - np.arange(4))
    sign = np.sign(first[:, None] + np.arange(4) - t[:, None])
    near, far = gap < 1, np.maximum(2 - gap, 0)
    value = np.where(near, 2 / 3 - gap**2 * (1 - gap / 2), far**3 / 6)
    slope = np.where(near, gap * (2 - 1.5 * gap), far**2 / 2) * sign
    weights, slopes = np.zeros((len(t), 4 + 2 * _REACH)), np.zeros((len(t), 4 + 2 * _REACH))
    for k, b in enumerate(inverse):
        weights[:, k : k + 4] += b * value
        slopes[:, k : k + 4] += b * slope
    return first[:, None] - _REACH + np.arange(4 + 2 * _REACH), weights, slopes
