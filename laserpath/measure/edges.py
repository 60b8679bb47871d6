"""Where the edge of a dose is printed, at points along the design's contour.

**Edge placement error**: at points every FWHM/4 along the contour, the signed distance along the outward
normal to the nearest place within ±2 FWHM where the dose falls through the critical dose; ±2 FWHM, the cap,
if there is none. Corners: points within 0.75 FWHM of a turn by more than 30°.

**Rounded off**: corners that no spot prints sharp are told from outlines that do not print. Next to a corner
the normal runs along the other wall. If that wall is printed slightly too far in (or out), the whole line is
unprinted (or printed): the point has no edge along its normal, or that of another part, although its own
edge is near. There the edge is searched for again along the corner's bisector, which points away from the
centroid of the drawing within 0.3 FWHM. If an edge lies on it within the neighbourhood of a corner (0.75
FWHM), the point is *rounded off*. A lost feature or a filled gap has no edge along the bisector either, or
the walls at the corner have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import shapely
from scipy.ndimage import map_coordinates, spline_filter
from scipy.spatial import cKDTree

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError
from laserpath.design.scene import CORNER_FWHM, SAMPLE_FWHM, Samples, Scene
from laserpath.types import Design, Grid
from laserpath.types.results import EPE_CAP_FWHM, Edges

_PROBES = 81


def edge_errors(dose: Floats, scene: Scene, level: float | None = None) -> Edges:
    """The edge placement error at each contour sample.

    dose: (rows, columns) mJ/mm² on the scene's grid.  level: the dose at an edge; None: the critical dose.
    """
    return edges_at(dose, scene, (1.0,), level)[0]


def edges_at(
    dose: Floats, scene: Scene, exposures: Sequence[float], level: float | None = None
) -> tuple[Edges, ...]:
    """The edge placement errors at each relative exposure; `dose` and `level` as in `edge_errors`."""
    samples, threshold = scene.samples, scene.critical_dose if level is None else level
    across = _across(dose, scene.grid, samples, scene.fwhm)
    edges = []
    for factor in exposures:
        epe, missing = _placed(factor * across - threshold, scene.fwhm)
        edges.append(Edges(samples.xy, samples.normal, epe, missing, samples.corner))
    return tuple(edges)


def best_exposure(dose: Floats, scene: Scene) -> float:
    """The factor on a dose with the lowest mean |EPE|: the dose to size, with one power for the whole path.

    It is the best of 26 factors that put the brighter parts of the contour at 0.3 to 6 critical doses,
    refined with 11 factors around it.
    """
    fwhm, critical_dose = scene.fwhm, scene.critical_dose
    across = _across(dose, scene.grid, scene.samples, fwhm)

    def error(factor: float) -> float:
        return float(np.abs(_placed(factor * across - critical_dose, fwhm)[0]).mean())

    bright = float(np.percentile(across[:, _PROBES // 2], 90))
    if bright <= 0:
        raise InputError("the dose is nowhere above 0 along the outline, so no exposure is the best")
    coarse = min(np.geomspace(0.3, 6, 26) * critical_dose / bright, key=error)
    return float(min(coarse * np.geomspace(0.9, 1.11, 11), key=error))


def placed_along(dose: Floats, scene: Scene, samples: Samples) -> tuple[Floats, Bools]:
    """(EPE (M,) mm, whether it is missing (M,)) of the samples along their normals."""
    return _placed(_across(dose, scene.grid, samples, scene.fwhm) - scene.critical_dose, scene.fwhm)


def _probes(fwhm: float) -> Floats:
    """(81,) positions along the outward normal, mm; the middle one is on the contour."""
    return EPE_CAP_FWHM * fwhm * np.linspace(-1, 1, _PROBES)


def _across(dose: Floats, grid: Grid, samples: Samples, fwhm: float) -> Floats:
    """(M, 81) mJ/mm², dose along the normal at each sample, by a cubic spline through all pixels."""
    spline = spline_filter(np.asarray(dose, dtype=np.float64), order=3, mode="grid-wrap")
    across = np.empty((len(samples.xy), _PROBES))
    for k, distance in enumerate(_probes(fwhm)):
        u, v = grid.to_pixels(samples.xy + distance * samples.normal).T
        across[:, k] = map_coordinates(spline, [v, u], order=3, mode="grid-wrap", prefilter=False)
    return across


def _placed(excess: Floats, fwhm: float) -> tuple[Floats, Bools]:
    """(EPE (M,) mm, whether it is missing (M,)). excess: (M, 81) dose minus the critical dose."""
    t, cap = _probes(fwhm), EPE_CAP_FWHM * fwhm
    before, after = excess[:, :-1], excess[:, 1:]
    edge = (before >= 0) & (after < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = t[:-1] + (t[1] - t[0]) * np.where(edge, before / (before - after), 0)
    place = np.where(edge, place, np.inf)
    epe = place[np.arange(len(excess)), np.argmin(np.abs(place), axis=1)]
    missing = ~np.isfinite(epe)
    epe[missing] = np.where(excess[missing, _PROBES // 2] >= 0, cap, -cap)
    return epe, missing


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
