"""Corners that a spot rounds off, told from outlines that do not print.

An edge error is looked for along the outline's normal (`figures`). Next to a corner that line runs along the
other wall. If that wall is printed a hair too far in (or out), all of the line is unprinted (or printed): the
point has no edge along its normal, or finds the next part's, though its own passes close by. There it is
looked for once more along the corner's bisector, away from the middle of what is drawn within 0.3 FWHM. If it
is found so within the neighbourhood of a corner (0.75 FWHM), the point is *rounded off*; no spot does better.
What is lost, or filled, has no edge that way either, or the walls at that corner have none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from scipy.spatial import cKDTree

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.design.contour import CORNER_FWHM, SAMPLE_FWHM, Samples
from laserpath.design.scene import Scene
from laserpath.measure.figures import placed_along
from laserpath.types import Design
from laserpath.types.results import Edges, Measurement

HAIR_FWHM = 0.02
"""FWHM, that the drawing is shrunk and grown by; larger, and fine gaps and lines are not looked at."""

_ROUND_FWHM = (0.1, 0.2, 0.3)
"""FWHM, radii of the rings on which the inside of a corner is looked for; larger, and thin lines lose it."""

_WALL_FWHM = CORNER_FWHM + 2 * SAMPLE_FWHM
"""FWHM, from a corner to the first points of its walls that do not count as near it, at most."""

_WAYS = 32


def rounded_off(exposure: Measurement, scene: Scene) -> Edges:
    """The edges of an exposure in a scene, those of rounded corners along the bisector: no longer missing."""
    edges, design, fwhm = exposure.edges, scene.design, scene.fwhm
    far = edges.missing | (np.abs(edges.epe) > CORNER_FWHM * fwhm)
    some = np.flatnonzero(far & edges.corner)
    if not len(some):
        return edges
    lost = cKDTree(_lost_walls(edges, far, design, fwhm)).query(edges.xy[some])[0] <= _WALL_FWHM * fwhm
    outward, sharp = _bisectors(edges.xy[some], design, fwhm)
    some, outward = some[sharp & ~lost], outward[sharp & ~lost]
    if not len(some):
        return edges
    samples = Samples(edges.xy[some], outward, edges.corner[some])
    along, nothing = placed_along(exposure.dose, scene, samples)
    near = ~nothing & (np.abs(along) <= CORNER_FWHM * fwhm)
    epe, missing = edges.epe.copy(), edges.missing.copy()
    epe[some[near]], missing[some[near]] = along[near], False
    return replace(edges, epe=epe, missing=missing)


def along_hairs(edges: Edges, some: Indices, design: Design, fwhm: float) -> Bools:
    """Which of some points are on what is narrower than twice `HAIR_FWHM`, a sliver or a slit. fwhm: mm."""
    # From a point right at a corner the normal would run along the other wall.
    outward = edges.normal[some].copy()
    corner = np.flatnonzero(edges.corner[some])
    bisector, sharp = _bisectors(edges.xy[some[corner]], design, fwhm)
    outward[corner[sharp]] = bisector[sharp]
    out, back = (edges.xy[some] + sign * 2 * HAIR_FWHM * fwhm * outward for sign in (1, -1))
    shapely.prepare(design.area)
    return np.asarray(shapely.contains_xy(design.area, *out.T) | ~shapely.contains_xy(design.area, *back.T))


def _lost_walls(edges: Edges, far: Bools, design: Design, fwhm: float) -> Floats:
    """(K, 2) points far from an edge of walls, no corners and no hairs."""
    some = np.flatnonzero(far & ~edges.corner)
    return edges.xy[some[~along_hairs(edges, some, design, fwhm)]]


def _bisectors(xy: Floats, design: Design, fwhm: float) -> tuple[Floats, Bools]:
    """((M, 2) unit vectors out of the corner at each point, whether it has any) of points on the outline."""
    angle = 2 * np.pi * (np.arange(_WAYS) + 0.5) / _WAYS
    ring = fwhm * np.concatenate([r * np.stack([np.cos(angle), np.sin(angle)], 1) for r in _ROUND_FWHM])
    shapely.prepare(design.area)
    within = shapely.contains_xy(design.area, *(xy[:, None] + ring).reshape(-1, 2).T)
    outward = -(within.reshape(len(xy), len(ring)).astype(np.float64) @ ring)
    length = np.hypot(*outward.T)
    return outward / np.maximum(length, 1e-12)[:, None], length > 1e-6 * fwhm
