"""Corners that a spot rounds off, distinguished from outlines that do not print.

The edge of a point is searched for along the outline's normal (`edges`). Next to a corner that line runs
along the other wall. If that wall is printed slightly too far in (or out), the whole line is unprinted (or
printed): the point has no edge along its normal, or that of another part, although its own edge is near.
There the edge is searched for again along the corner's bisector, which points away from the centroid of the
drawing within 0.3 FWHM. If an edge lies on it within the neighbourhood of a corner (0.75 FWHM), the point is
*rounded off*, which no spot avoids. A lost feature or a filled gap has no edge along the bisector either, or
the walls at the corner have none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import shapely
from scipy.spatial import cKDTree

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.design.scene import CORNER_FWHM, SAMPLE_FWHM, Samples, Scene
from laserpath.measure.edges import placed_along
from laserpath.types import Design
from laserpath.types.results import Edges

HAIR_FWHM = 0.02
"""Distance, in FWHM, by which the drawing is shrunk and grown: a larger one ignores wider gaps and lines."""

_ROUND_FWHM = (0.1, 0.2, 0.3)
"""Radii, in FWHM, of the rings that sample the inside of a corner: larger ones fail at thin lines."""

_WALL_FWHM = CORNER_FWHM + 2 * SAMPLE_FWHM
"""Largest distance, in FWHM, from a corner to the first points of its walls that do not count as near it."""

_DIRECTIONS = 32


def rounded_off(edges: Edges, dose: Floats, scene: Scene) -> Edges:
    """The edges of a dose in a scene; those of rounded corners are along the bisector, not missing.

    edges: of `dose` (rows, columns) mJ/mm², along the normals.
    """
    design, fwhm = scene.design, scene.fwhm
    far = edges.missing | (np.abs(edges.epe) > CORNER_FWHM * fwhm)
    some = np.flatnonzero(far & edges.corner)
    if not len(some):
        return edges
    lost = cKDTree(_lost_walls(edges, far, design, fwhm)).query(edges.xy[some])[0] <= _WALL_FWHM * fwhm
    outward, sharp = _bisectors(edges.xy[some], design, fwhm)
    some, outward = some[sharp & ~lost], outward[sharp & ~lost]
    if not len(some):
        return edges
    along, absent = placed_along(dose, scene, Samples(edges.xy[some], outward, edges.corner[some]))
    near = ~absent & (np.abs(along) <= CORNER_FWHM * fwhm)
    epe, missing = edges.epe.copy(), edges.missing.copy()
    epe[some[near]], missing[some[near]] = along[near], False
    return replace(edges, epe=epe, missing=missing)


def judged(edges: Edges, dose: Floats, scene: Scene) -> Edges:
    """The edges as verdict and largest error count them: `rounded_off`, without those of `hairs_right`."""
    return hairs_right(rounded_off(edges, dose, scene), scene)


def tip_error(xy: Floats, dose: Floats, scene: Scene) -> tuple[float, bool]:
    """(EPE, mm, whether there is no edge within the cap) across the corner at a point xy (2,) mm."""
    outward, _ = _bisectors(xy[None], scene.design, scene.fwhm)
    error, absent = placed_along(dose, scene, Samples(xy[None], outward, np.ones(1, dtype=bool)))
    return float(error[0]), bool(absent[0])


def hairs_right(edges: Edges, scene: Scene) -> Edges:
    """The edges with an error of 0 where a sliver or a slit has none, unless nothing else is drawn."""
    some = np.flatnonzero(edges.missing)
    hairs = some[along_hairs(edges, some, scene.design, scene.fwhm)] if len(some) else some
    if len(hairs) in (0, len(edges.epe)):
        return edges
    epe, missing = edges.epe.copy(), edges.missing.copy()
    epe[hairs], missing[hairs] = 0.0, False
    return replace(edges, epe=epe, missing=missing)


def along_hairs(edges: Edges, some: Indices, design: Design, fwhm: float) -> Bools:
    """Whether each of some points is at a sliver or a slit, narrower than 2 `HAIR_FWHM`. fwhm: mm."""
    # The normal at a point next to a corner would run along the other wall.
    outward = edges.normal[some].copy()
    corner = np.flatnonzero(edges.corner[some])
    bisector, sharp = _bisectors(edges.xy[some[corner]], design, fwhm)
    outward[corner[sharp]] = bisector[sharp]
    out, back = (edges.xy[some] + sign * 2 * HAIR_FWHM * fwhm * outward for sign in (1, -1))
    shapely.prepare(design.area)
    return np.asarray(shapely.contains_xy(design.area, *out.T) | ~shapely.contains_xy(design.area, *back.T))


def _lost_walls(edges: Edges, far: Bools, design: Design, fwhm: float) -> Floats:
    """(K, 2) mm, the points of walls that are far from an edge, without corners and hairs."""
    some = np.flatnonzero(far & ~edges.corner)
    return edges.xy[some[~along_hairs(edges, some, design, fwhm)]]


def _bisectors(xy: Floats, design: Design, fwhm: float) -> tuple[Floats, Bools]:
    """((M, 2) unit vectors out of the corner at each point, (M,) whether there is one). xy: (M, 2) mm."""
    angle = 2 * np.pi * (np.arange(_DIRECTIONS) + 0.5) / _DIRECTIONS
    ring = fwhm * np.concatenate([r * np.stack([np.cos(angle), np.sin(angle)], 1) for r in _ROUND_FWHM])
    shapely.prepare(design.area)
    within = shapely.contains_xy(design.area, *(xy[:, None] + ring).reshape(-1, 2).T)
    outward = -(within.reshape(len(xy), len(ring)).astype(np.float64) @ ring)
    length = np.hypot(*outward.T)
    return outward / np.maximum(length, 1e-12)[:, None], length > 1e-6 * fwhm
