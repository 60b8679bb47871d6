"""Where the edge of a dose is printed, at points along the design's contour.

**Edge placement error**: at points every FWHM/4 along the contour, the signed distance along the outward
normal to the nearest place within ±2 FWHM where the dose falls through the critical dose; ±2 FWHM, the cap,
if there is none. Corners: points within 0.75 FWHM of a turn by more than 30°.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.design.scene import Samples, Scene
from laserpath.types import Grid
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
