"""The figures of a dose against the vector design.

**Edge errors** are those of `edges`. Their mean and percentile count a point without an edge as 2 FWHM. The
largest error is that of `edges.judged`, as in the verdict: a corner that the spot rounds off is measured
across, and slivers do not count, so that it is at the cap only where an edge is really missing.

**Areas** have sub-pixel accuracy: within a pixel the dose is taken as a plane, so that the cured part is the
unit square cut by a line. Let a ≤ b be the shares of |∂D/∂x| and |∂D/∂y| in their sum g (a + b = 1), and
t = ½ + (D − D_c)/(p g) the line's position, 0 to 1 across the square (Scardovelli and Zaleski 2000):

    t²/(2ab) for t ≤ a,   (t − a/2)/b for a ≤ t ≤ b,   1 − (1 − t)²/(2ab) for t ≥ b.

**Process-variation band**: area cured at dose +10 % and not at −10 %, over perimeter × FWHM.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import numpy as np

from gcode.compiled import cached
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.design.partition import WHOLE
from laserpath.design.scene import Scene
from laserpath.measure.edges import judged
from laserpath.types.results import EPE_CAP_FWHM, Edges, PrintFigures

DEFOCUS = 1.15
"""The defocused spot's FWHM relative to the focused one's, at the same energy."""

DOSE_BAND = (0.9, 1.1)
"""Relative doses between which a print should not change; the process-variation band is between them."""


_BINS = 8192
"""Bins of |EPE| from 0 to the cap, 2.4e-4 FWHM each. More make percentiles finer, and take more memory for
each of the 27 spots and doses of a window."""

_ROUNDED = 1e-6
"""Part of a bin by which a size may miss the cap through rounding."""

njit = cached(error_model="numpy")


def cured_fraction(dose: Floats, critical_dose: float) -> Floats:
    """(rows, columns) fraction of each pixel above the critical dose."""
    cured = np.empty(np.shape(dose))
    _cure(np.asarray(dose, dtype=np.float64), critical_dose, cured)
    return cured


@njit
def _cure(dose: Floats, critical: float, cured: Floats) -> None:
    """Fill `cured` (rows, columns) with the part of each pixel above the critical dose."""
    for i in range(dose.shape[0]):
        for j in range(dose.shape[1]):
            cured[i, j] = _part(dose[i, j] - critical, *_rise(dose, i, j))


@njit
def _rise(dose: Floats, i: int, j: int) -> tuple[float, float]:
    """(|∂D/∂x| + |∂D/∂y|) p at pixel [i, j], and the smaller one of both."""
    rows, columns = dose.shape
    above, below = max(i - 1, 0), min(i + 1, rows - 1)
    left, right = max(j - 1, 0), min(j + 1, columns - 1)
    gy, gx = abs(dose[below, j] - dose[above, j]), abs(dose[i, right] - dose[i, left])
    gy, gx = gy / max(below - above, 1), gx / max(right - left, 1)
    return gx + gy, min(gx, gy)


@njit
def _part(beyond: float, rise: float, smaller: float) -> float:
    """The part of a pixel above a dose, where that at its centre is `beyond` it. rise, smaller: `_rise`."""
    if 2 * abs(beyond) >= rise:  # most pixels: no edge runs through them
        return 1.0 if beyond > 0 else 0.5 if beyond == 0 else 0.0
    t, a = 0.5 + beyond / rise, min(max(smaller / rise, 1e-9), 0.5)
    small = min(t, 1 - t)
    part = small * small / (2 * a * (1 - a)) if small <= a else (small - a / 2) / (1 - a)
    return part if t <= 0.5 else 1 - part


@njit
def _areas(
    dose: Floats, defocused: Floats, coverage: Any, critical: float, band: tuple[float, float],
    corner: tuple[int, int],
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """The areas of `CuredAreas` in pixels, of those that the coverage is of: from `corner` on.

    A multiple of a dose is above the critical one where the dose is above a part of it.
    """
    top, left = corner
    change = blurred = both = either = over = under = 0.0
    for i in range(top, top + coverage.shape[0]):
        for j in range(left, left + coverage.shape[1]):
            at, drawn = dose[i, j], float(coverage[i - top, j - left])
            rise, smaller = _rise(dose, i, j)
            cured = _part(at - critical, rise, smaller)
            change += _part(at - critical / band[1], rise, smaller)
            change -= _part(at - critical / band[0], rise, smaller)
            blurred += abs(_part(defocused[i, j] - critical, *_rise(defocused, i, j)) - cured)
            both += min(cured, drawn)
            either += max(cured, drawn)
            over += max(cured - drawn, 0.0)
            under += max(drawn - cured, 0.0)
    return change, blurred, both, either, over, under


@dataclass(frozen=True, slots=True)
class CuredAreas:
    """Sums over pixels of the parts of them that cure. band: at +10 % of dose and not at −10 %.

    blurred: that change out of focus.  both, either: of print and drawing.  over, under: beyond the drawing,
    and missing in it.  brightest: the largest dose, in critical doses.
    """

    band: float
    blurred: float
    both: float
    either: float
    over: float
    under: float
    brightest: float

    @classmethod
    def of(
        cls, dose: Floats, defocused: Floats, scene: Scene, core: tuple[slice, slice] = WHOLE
    ) -> CuredAreas:
        """dose, defocused: (rows, columns) mJ/mm² on the scene's grid.  core: the pixels that count."""
        corner = core[0].indices(len(dose))[0], core[1].indices(dose.shape[1])[0]
        drawn = np.ascontiguousarray(scene.target.coverage[core])
        doses = (np.ascontiguousarray(one, dtype=np.float64) for one in (dose, defocused))
        brightest = float(dose[core].max() / scene.critical_dose)
        return cls(*(*_areas(*doses, drawn, scene.critical_dose, DOSE_BAND, corner), brightest))

    @classmethod
    def added(cls, parts: Sequence[CuredAreas]) -> CuredAreas:
        """Those of several parts of a grid together."""
        sums = np.sum([astuple(part) for part in parts], axis=0).tolist()
        return replace(cls(*sums), brightest=max(part.brightest for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class ErrorSpread:
    """The edge errors of any number of points, for K spots and D exposures, in memory that does not grow.

    signed, size: (K, D) sums of the errors and of their sizes, FWHM.  missing: (K, D) points without an edge.
    counts: (K, D, `_BINS` + 1) points by the size of their error, from 0 to the cap, and of those at the cap.
    """

    signed: Floats
    size: Floats
    missing: Indices
    counts: Indices

    @classmethod
    def of(cls, epe: Floats, missing: Bools, fwhm: float) -> ErrorSpread:
        """epe: (K, D, M) mm; a missing one is at the cap.  fwhm: mm."""
        error = epe / fwhm
        size = np.abs(error)
        bins = np.minimum(size * (_BINS / EPE_CAP_FWHM) + _ROUNDED, _BINS).astype(np.int64)
        shape = epe.shape[:2]
        bins += (_BINS + 1) * np.arange(math.prod(shape)).reshape(*shape, 1)
        counts = np.bincount(bins.ravel(), minlength=(_BINS + 1) * math.prod(shape))
        return cls(
            error.sum(axis=2), size.sum(axis=2), missing.sum(axis=2),
            counts.reshape(*shape, -1).astype(np.int32),
        )  # fmt: skip

    def __add__(self, other: ErrorSpread) -> ErrorSpread:
        """That of both's points."""
        return ErrorSpread(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def points(self) -> int:
        """Number of points."""
        return int(self.counts[0, 0].sum())

    def percentile(self, percent: float) -> Floats:
        """(K, D) FWHM, a percentile of the sizes of many points: within a bin they are taken as even."""
        found = np.empty(self.size.shape)
        rank = percent / 100 * (self.points - 1) + 0.5  # of the middle of a point
        for at in np.ndindex(found.shape):
            reached = np.cumsum(self.counts[at])
            k = int(np.searchsorted(reached, rank))
            found[at] = k if k == _BINS else k + (rank - (reached[k - 1] if k else 0)) / self.counts[at][k]
        return found * (EPE_CAP_FWHM / _BINS)


def cure_figures(dose: Floats, defocused: Floats, edges: Edges, scene: Scene) -> PrintFigures:
    """The figures of a dose against its design.

    dose, defocused: (rows, columns) mJ/mm² on the scene's grid, the second with FWHM · 1.15.
    """
    areas, worst = CuredAreas.of(dose, defocused, scene), judged(edges, dose, scene)
    return print_figures(areas, edges, worst, scene)


def print_figures(cured: CuredAreas, edges: Edges, counted: Edges, scene: Scene) -> PrintFigures:
    """The figures of a dose whose areas and edges are known. counted: the edges as `judged` has them."""
    error = np.abs(edges.epe) / scene.fwhm
    worst = np.abs(counted.epe) / scene.fwhm
    smooth = ~edges.corner
    area, band = scene.grid.pixel_area, scene.design.area.length * scene.fwhm
    return PrintFigures(
        epe_mean=float(error.mean()),
        epe_p95=float(np.percentile(error, 95)),
        epe_max=float(worst.max()),
        epe_mean_smooth=float(error[smooth].mean()) if smooth.any() else 0.0,
        epe_max_smooth=float(worst[smooth].max(initial=0.0)),
        missing_edges=int(edges.missing.sum()),
        samples=len(error),
        pv_band=cured.band * area / band,
        pv_defocus=cured.blurred * area / band,
        iou=cured.both / cured.either,
        overcure=cured.over * area,
        undercure=cured.under * area,
        dose_max=cured.brightest,
    )
