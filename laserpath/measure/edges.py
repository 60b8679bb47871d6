"""Where the edge of a dose is printed, at points along the design's contour.

The dose is read at up to 81 places along each normal, by the cubic B-spline through all pixels (Unser,
Aldroubi and Eden 1993), from the contour outwards until the edge is found: one near its place needs four.

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

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import shapely
from scipy.spatial import cKDTree

from gcode.compiled import cached
from laserpath.base.arrays import Bools, Floats, Indices, by_group
from laserpath.base.compute.beside import in_order, in_parts
from laserpath.base.errors import InputError
from laserpath.design.scene import CORNER_FWHM, SAMPLE_FWHM, Samples, Scene
from laserpath.physics.dose.uneven import spline_weights
from laserpath.types import Design, Grid
from laserpath.types.results import EPE_CAP_FWHM, Edges

_BLOCK, _SPLINE_REACH = 1024, 24
"""Pixels along a block of a large dose, and those beyond which a spline has forgotten its ends: 0.27^24 of
them is left, below rounding."""

_POLE = math.sqrt(3.0) - 2.0
"""√3 − 2, the pole of the cubic B-spline's recursion."""

_STRIP, _TOGETHER = 64, 8
"""Columns, and rows, that are filtered side by side: more do not stay in a processor's cache."""

_LARGE = 1 << 22
"""Pixels above which edges are searched for by blocks: all of a spline takes 16 bytes for each."""

_PROBES = 81
_MIDDLE = _PROBES // 2

njit = cached(error_model="numpy", nogil=True)


def edge_errors(dose: Floats, scene: Scene, level: float | None = None) -> Edges:
    """The edge placement error at each contour sample.

    dose: (rows, columns) mJ/mm² on the scene's grid.  level: the dose at an edge; None: the critical dose.
    """
    return edges_at(dose, scene, (1.0,), level)[0]


def edges_at(
    dose: Floats, scene: Scene, exposures: Sequence[float], level: float | None = None
) -> tuple[Edges, ...]:
    """The edge placement errors at each relative exposure; `dose` and `level` as in `edge_errors`."""
    samples, found = scene.samples, errors_at(dose, scene, exposures, level)
    return tuple(
        Edges(samples.xy, samples.normal, epe, missing, samples.corner)
        for epe, missing in zip(*found, strict=True)
    )


def errors_at(
    dose: Floats, scene: Scene, exposures: Sequence[float], level: float | None = None
) -> tuple[Floats, Bools]:
    """(EPE (K, M) mm, whether it is missing (K, M)) of `edges_at`, at K relative exposures."""
    threshold = scene.critical_dose if level is None else level
    return _along(dose, scene, scene.samples, exposures, threshold, _LARGE)


def best_exposure(dose: Floats, scene: Scene) -> float:
    """The factor on a dose with the lowest mean |EPE|: the dose to size, with one power for the whole path.

    It is the best of 26 factors that put the brighter parts of the contour at 0.3 to 6 critical doses,
    refined with 11 factors around it.
    """
    critical_dose, normals = scene.critical_dose, _Normals.of(dose, scene.grid, scene.samples, scene.fwhm)

    def best(factors: Floats) -> float:
        epe, _ = normals.edges(factors, critical_dose)
        return float(factors[np.argmin(np.abs(epe).mean(axis=1))])

    bright = float(np.percentile(normals.dose_at_contour(), 90))
    if bright <= 0:
        raise InputError("the dose is nowhere above 0 along the outline, so no exposure is the best")
    coarse = best(np.geomspace(0.3, 6, 26) * critical_dose / bright)
    return best(coarse * np.geomspace(0.9, 1.11, 11))


def placed_along(dose: Floats, scene: Scene, samples: Samples) -> tuple[Floats, Bools]:
    """(EPE (M,) mm, whether it is missing (M,)) of the samples along their normals."""
    epe, missing = _along(dose, scene, samples, (1.0,), scene.critical_dose, _BLOCK**2)
    return epe[0], missing[0]


def _along(
    dose: Floats, scene: Scene, samples: Samples, exposures: Sequence[float], threshold: float, most: int
) -> tuple[Floats, Bools]:
    """(EPE (K, M) mm, whether it is missing (K, M)); of more pixels than `most` in blocks around samples."""
    if dose.size <= most:
        return _Normals.of(dose, scene.grid, samples, scene.fwhm).edges(exposures, threshold)
    shape = len(exposures), len(samples.xy)
    epe, missing = np.empty(shape), np.empty(shape, dtype=np.bool_)

    def search(block: tuple[Indices, tuple[slice, slice], Grid]) -> None:
        mine, window, grid = block
        some = Samples(samples.xy[mine], samples.normal[mine], samples.corner[mine])
        normals = _Normals.of(dose[window], grid, some, scene.fwhm)
        epe[:, mine], missing[:, mine] = normals.edges(exposures, threshold, alone=True)

    in_order(search, list(_blocks(scene, samples.xy)))
    return epe, missing


def _blocks(scene: Scene, xy: Floats) -> Iterator[tuple[Indices, tuple[slice, slice], Grid]]:
    """The points (M, 2) mm of each block by their numbers, the pixels to read them from, and their grid."""
    grid = scene.grid
    rim = math.ceil(EPE_CAP_FWHM * scene.fwhm / grid.pitch) + _SPLINE_REACH
    counts = [math.ceil(n / _BLOCK) for n in grid.shape]
    row, column = np.floor(grid.to_pixels(xy)[:, ::-1].T / _BLOCK).astype(np.int64).clip(0)
    order, start = by_group(
        row.clip(max=counts[0] - 1) * counts[1] + column.clip(max=counts[1] - 1), math.prod(counts)
    )
    for k in np.flatnonzero(np.diff(start)).tolist():
        ends = [
            (max(n * _BLOCK - rim, 0), min((n + 1) * _BLOCK + rim, m))
            for n, m in zip(divmod(k, counts[1]), grid.shape, strict=True)
        ]
        rows, columns = (slice(*end) for end in ends)
        yield order[start[k] : start[k + 1]], (rows, columns), grid.part(rows, columns)


@dataclass(frozen=True, slots=True)
class _Normals:
    """A dose along the normals of M samples. spline: (rows, columns) its coefficients, mJ/mm².

    place: (M, 2) pixels, row and column of each sample.  step: (M, 2) pixels, between two probes.
    apart: mm, their distance.
    """

    spline: Floats
    place: Floats
    step: Floats
    apart: float

    @classmethod
    def of(cls, dose: Floats, grid: Grid, samples: Samples, fwhm: float) -> Self:
        spline, apart = _spline_of(dose), EPE_CAP_FWHM * fwhm / _MIDDLE
        place = grid.to_pixels(samples.xy)[:, ::-1]
        step = grid.to_pixels(samples.xy + apart * samples.normal)[:, ::-1] - place
        return cls(spline, np.ascontiguousarray(place), step, apart)

    def edges(
        self, exposures: Sequence[float] | Floats, threshold: float, *, alone: bool = False
    ) -> tuple[Floats, Bools]:
        """(EPE (K, M) mm, whether it is missing (K, M)) at K relative exposures. alone: by one thread."""
        factors, count = np.asarray(exposures, dtype=np.float64), len(self.place)
        epe, missing = np.empty((len(factors), count)), np.empty((len(factors), count), dtype=np.bool_)

        def part(first: int, end: int) -> None:
            _nearest(first, end, self.spline, self.place, self.step, factors, threshold, epe, missing)

        if alone:
            part(0, count)
        else:
            in_parts(part, count)
        return self.apart * epe, missing

    def dose_at_contour(self) -> Floats:
        """(M,) mJ/mm²."""
        return _read(self.spline, self.place)


@njit
def _nearest(
    first: int, end: int, spline: Floats, place: Floats, step: Floats, factors: Floats, threshold: float,
    epe: Floats, missing: Bools,
) -> None:  # fmt: skip
    """Fill `epe` (K, M), in probes, and `missing` (K, M) of the samples from `first` to before `end`."""
    dose, known = np.empty(_PROBES), np.empty(_PROBES, np.bool_)
    for m in range(first, end):
        known[:] = False
        for k in range(len(factors)):
            nearest = np.inf
            # The pairs of probes beside the middle, then the next ones out on both sides.
            for away in range(_MIDDLE):
                for i in (_MIDDLE - 1 - away, _MIDDLE + away):
                    for at in (i, i + 1):
                        if not known[at]:
                            t = at - _MIDDLE
                            dose[at] = _value(
                                spline, place[m, 0] + t * step[m, 0], place[m, 1] + t * step[m, 1]
                            )
                            known[at] = True
                    before, after = factors[k] * dose[i] - threshold, factors[k] * dose[i + 1] - threshold
                    if before >= 0 and after < 0:
                        found = i - _MIDDLE + before / (before - after)
                        if abs(found) < abs(nearest):
                            nearest = found
                if nearest < np.inf:
                    break
            missing[k, m] = nearest == np.inf
            if missing[k, m]:
                nearest = _MIDDLE if factors[k] * dose[_MIDDLE] >= threshold else -_MIDDLE
            epe[k, m] = nearest


def doses_at(dose: Floats, grid: Grid, xy: Floats) -> Floats:
    """(M,) of a dose (rows, columns) on a grid at places (M, 2) mm."""
    return _read(_spline_of(dose), np.ascontiguousarray(grid.to_pixels(xy)[:, ::-1]))


def _spline_of(dose: Floats) -> Floats:
    """(rows, columns) coefficients of the cubic B-spline through all pixels, which repeats."""
    spline = np.array(dose, dtype=np.float64)
    _to_spline(spline)
    return spline


@njit
def _to_spline(values: Floats) -> None:
    """Turn values (rows, columns) into the coefficients of their spline.

    Unser, Aldroubi and Eden's recursions of 1993, as in `scipy.ndimage.spline_filter`, which takes four times
    as long: it copies each line apart, and a recursion along one line waits for each of its steps.
    """
    rows, columns = values.shape
    for first in range(0, columns, _STRIP):
        _filter(values, first, min(first + _STRIP, columns))
    several = np.zeros((columns, _TOGETHER))
    for first in range(0, rows, _TOGETHER):
        count = min(_TOGETHER, rows - first)
        for k in range(count):
            for i in range(columns):
                several[i, k] = values[first + k, i]
        _filter(several, 0, _TOGETHER)
        for k in range(count):
            for i in range(columns):
                values[first + k, i] = several[i, k]


@njit
def _filter(values: Floats, first: int, end: int) -> None:
    """The coefficients c along the first axis of some of many lines s, which lie beside each other.

    c⁺ᵢ = 6 sᵢ + z c⁺ᵢ₋₁ and then cᵢ = z (cᵢ₊₁ − c⁺ᵢ), each begun by the sum of `_SPLINE_REACH` terms around.
    """
    count, many = len(values), end - first
    before, after = np.zeros(many), np.zeros(many)
    weight = 6.0
    for k in range(_SPLINE_REACH):
        line = values[-k % count, first:end]
        for j in range(many):
            before[j] += weight * line[j]
        weight *= _POLE
    values[0, first:end] = before
    for i in range(1, count):
        line, beside = values[i, first:end], values[i - 1, first:end]
        for j in range(many):
            line[j] = 6.0 * line[j] + _POLE * beside[j]
    weight = -_POLE
    for k in range(_SPLINE_REACH):
        line = values[(count - 1 + k) % count, first:end]
        for j in range(many):
            after[j] += weight * line[j]
        weight *= _POLE
    values[count - 1, first:end] = after
    for i in range(count - 2, -1, -1):
        line, beside = values[i, first:end], values[i + 1, first:end]
        for j in range(many):
            line[j] = _POLE * (beside[j] - line[j])


@njit
def _read(spline: Floats, place: Floats) -> Floats:
    """(M,) values of a spline at places (M, 2), in pixels."""
    values = np.empty(len(place))
    for m in range(len(place)):
        values[m] = _value(spline, place[m, 0], place[m, 1])
    return values


@njit
def _value(spline: Floats, row: float, column: float) -> float:
    """A cubic B-spline with coefficients (rows, columns), which repeat, at a place in pixels."""
    rows, columns = spline.shape
    r, c = int(np.floor(row)), int(np.floor(column))
    down, across = spline_weights(row - r), spline_weights(column - c)
    value = 0.0
    for i in range(4):
        line = spline[(r - 1 + i) % rows]
        for j in range(4):
            value += down[i] * across[j] * line[(c - 1 + j) % columns]
    return value


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
