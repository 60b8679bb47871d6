"""Corners that a spot rounds off, told from outlines that do not print.

An edge error is looked for along the outline's normal (`figures`). Next to a corner that line runs along the
other wall. If that wall is printed a hair too far in (or out), all of the line is unprinted (or printed): the
point has no edge along its normal, though the edge passes close by. There it is looked for once more along
the corner's bisector, that is away from the middle of what is drawn within 0.3 FWHM of the point. If its edge
is found so within the neighbourhood of a corner (0.75 FWHM), the point is *rounded off*; no spot does better.
What is lost, or filled, has no edge that way either, or the walls at that corner have none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from scipy.spatial import cKDTree

from laserpath.arrays import Bools, Floats
from laserpath.edges import CORNER_FWHM, SAMPLE_FWHM, Samples
from laserpath.metrics.figures import placed_along
from laserpath.results import Edges, Measurement
from laserpath.types import Design

_ROUND_FWHM = (0.1, 0.2, 0.3)
"""FWHM, radii of the rings on which the inside of a corner is looked for; larger, and thin lines lose it."""

_WALL_FWHM = CORNER_FWHM + 2 * SAMPLE_FWHM
"""FWHM, from a corner to the first points of its walls that do not count as near it, at most."""

_WAYS = 32


def rounded_off(exposure: Measurement, design: Design, fwhm: float, critical_dose: float) -> Edges:
    """The edges of an exposure, those of rounded corners along the bisector: no longer missing.

    fwhm: mm.  critical_dose: mJ/mm², as `exposure.dose`.
    """
    edges = exposure.edges
    some = np.flatnonzero(edges.missing & edges.corner & ~_beside_lost(edges, fwhm))
    outward, sharp = bisectors(edges.xy[some], design, fwhm)
    some, outward = some[sharp], outward[sharp]
    if not len(some):
        return edges
    samples = Samples(edges.xy[some], outward, edges.corner[some])
    along, nothing = placed_along(exposure.dose, exposure.grid, samples, fwhm, critical_dose)
    near = ~nothing & (np.abs(along) <= CORNER_FWHM * fwhm)
    epe, missing = edges.epe.copy(), edges.missing.copy()
    epe[some[near]], missing[some[near]] = along[near], False
    return replace(edges, epe=epe, missing=missing)


def _beside_lost(edges: Edges, fwhm: float) -> Bools:
    """(M,) whether a point of a wall that has no edge is near."""
    lost = edges.xy[edges.missing & ~edges.corner]
    if not len(lost):
        return np.zeros(len(edges.epe), dtype=bool)
    return np.asarray(cKDTree(lost).query(edges.xy)[0] <= _WALL_FWHM * fwhm)


def bisectors(xy: Floats, design: Design, fwhm: float) -> tuple[Floats, Bools]:
    """((M, 2) unit vectors out of the corner at each point, whether it has any) of points on the outline."""
    angle = 2 * np.pi * (np.arange(_WAYS) + 0.5) / _WAYS
    ring = fwhm * np.concatenate([r * np.stack([np.cos(angle), np.sin(angle)], 1) for r in _ROUND_FWHM])
    shapely.prepare(design.area)
    within = shapely.contains_xy(design.area, *(xy[:, None] + ring).reshape(-1, 2).T)
    outward = -(within.reshape(len(xy), len(ring)).astype(np.float64) @ ring)
    length = np.hypot(*outward.T)
    return outward / np.maximum(length, 1e-12)[:, None], length > 1e-6 * fwhm
