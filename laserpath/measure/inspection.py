"""Faults of a print by kind and place: what is printed against what is drawn, as topology and as area.

Printed is where the dose reaches the critical one, on pixels of at most FWHM/6 (of FWHM/12 where they are
few), the dose between them a cubic spline. Drawn parts and printed parts meet where they have pixels in
common, and so do drawn gaps (what is around the parts, and each hole) and what stays unprinted:

| fault | drawn | printed |
| --- | --- | --- |
| lost | a part | less than a tenth of it |
| closed | a gap | less than a tenth of it is open; or it is bridged, open on both sides |
| cut | one part | in two or more; or two gaps have become one through it |
| joined | two or more parts | in one |

Away from those, *pinholes* are unprinted spots inside a part and *specks* are printed ones that meet no
part; a *bite* is missing more than a FWHM inside the outline, a *blob* is printed more than a FWHM outside.
**Wrong area** is that of all pinholes and specks and of what is wrong more than a FWHM from the outline:
nearer, it is an error of the edge, and the edge's figures have it. **Wrong outline** is the share of its
points that have no printed edge near, but for those at corners that the spot rounds off (`measure.corners`).

Three floors keep a hair from counting. What is drawn narrower than FWHM/25, a sliver or a slit between
polygons that nearly touch, is neither part nor gap, nor a neck or a wall. Regions that meet in less than
FWHM²/10 and in less than half of the smaller one do not meet. For a cut and for a bridge pixels that touch
at a corner only count as connected and as apart, whichever is not the fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from scipy import ndimage

from laserpath.base.arrays import Bools, Floats
from laserpath.base.overlay import minus
from laserpath.design.scene import Scene
from laserpath.measure.corners import HAIR_FWHM, along_hairs, rounded_off
from laserpath.measure.regions import Blob, Labels, blobs, components, meetings, numbered, seams
from laserpath.types import Design, Grid
from laserpath.types.results import Edges, Fault, Inspection, Measurement

_LEFT = 0.1
"""Of a part or gap; what has less is lost or closed."""

MEET_FWHM2 = 0.1
"""FWHM², of the overlap of regions that count as meeting; larger, and a crumb is no part."""

_SLENDER = 4.0
"""Ratio of length to width from which on a fault is listed with both."""

SMALLEST_FWHM2 = 0.05
"""Area of a flaw in FWHM² below which it is not listed; a larger value hides more."""

_COARSEST, _FINE, _MANY = 6, 12, 4_000_000
"""Pixels per FWHM at least, and where there are not more than so many of them."""


def inspect(exposure: Measurement, scene: Scene) -> Inspection:
    """The faults of what an exposure prints in a scene."""
    design, fwhm = scene.design, scene.fwhm
    grid, dose = _finer(exposure.grid, exposure.dose, fwhm)
    seen = _Seen.of(dose >= scene.critical_dose, grid, design, fwhm)
    lost, closed = _gone(seen.solid, seen.printed, grid), _gone(seen.gaps, ~seen.printed, grid)
    faults = [
        *(_whole("lost", seen.solid, k, fwhm) for k in lost),
        *(_whole("closed", seen.gaps, k, fwhm) for k in closed),
        *_severed(seen, lost),
        *_bridged(seen, closed),
    ]
    masks = _Wrong.of(seen, lost)
    flaws = [
        _flaw(kind, blob)
        for kind, mask in masks.by_kind
        for blob in blobs(mask, grid, SMALLEST_FWHM2 * fwhm**2)
        if not any(kind in ("bite", "blob") and _near(blob, fault, fwhm) for fault in faults)
    ]
    drawn, edges = exposure.edges, rounded_off(exposure, scene)
    wrong = np.logical_or.reduce([mask for _, mask in masks.by_kind] + [masks.of_lost])
    return Inspection(
        faults=tuple(sorted(faults, key=lambda one: -one.size)),
        flaws=tuple(sorted(flaws, key=lambda one: -one.area)),
        wrong_area=float(wrong.sum()) * grid.pixel_area,
        wrong_share=float(wrong.sum()) * grid.pixel_area / design.area.area,
        wrong_outline=_without_edge(edges, design, fwhm),
        rounded=int(drawn.missing.sum() - edges.missing.sum()),
        astray=int((edges.epe != drawn.epe)[~drawn.missing].sum()),
        edges=edges,
        missing=_largest(masks.inside, grid, fwhm),
        excess=_largest(masks.outside, grid, fwhm),
    )


def _without_edge(edges: Edges, design: Design, fwhm: float) -> float:
    """The share of the outline's points without a printed edge near, those along hairs left out."""
    some = np.flatnonzero(edges.missing)
    if not len(some):
        return 0.0
    return float((~along_hairs(edges, some, design, fwhm)).sum()) / len(edges.epe)


def _finer(grid: Grid, dose: Floats, fwhm: float) -> tuple[Grid, Floats]:
    """The dose on pixels that are fine enough to tell a neck from a gap."""
    per_fwhm = fwhm / grid.pitch
    times = max(1, math.ceil(_FINE / per_fwhm - 1e-6))
    if times**2 * dose.size > _MANY:
        times = max(1, math.ceil(_COARSEST / per_fwhm - 1e-6))
    if times == 1:
        return grid, dose
    rows, columns = ((n - 1) * times + 1 for n in grid.shape)
    fine = ndimage.zoom(dose, (rows / grid.shape[0], columns / grid.shape[1]), order=3, mode="nearest")
    return Grid(grid.origin, grid.pitch / times, (rows, columns)), fine


@dataclass(frozen=True, slots=True)
class _Parts:
    """polygons: one each.  label: of the pixels in them.  pixels: (parts + 1,) how many each has."""

    polygons: Sequence[shapely.Polygon]
    label: Labels
    pixels: np.ndarray

    @classmethod
    def of(cls, area: shapely.Geometry, grid: Grid) -> _Parts:
        polygons = [p for p in shapely.get_parts(area) if p.geom_type == "Polygon" and p.area > 0]
        label = numbered(polygons, grid) if polygons else np.zeros(grid.shape, dtype=np.int32)
        return cls(polygons, label, np.bincount(label.ravel(), minlength=len(polygons) + 1))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is compared. printed: (rows, columns).

    solid, space: the drawing shrunk by a hair, and all around it; grown, gaps: grown by a hair, likewise.
    """

    printed: Bools
    grid: Grid
    area: shapely.MultiPolygon
    fwhm: float
    solid: _Parts
    grown: _Parts
    gaps: _Parts
    space: _Parts

    @classmethod
    def of(cls, printed: Bools, grid: Grid, design: Design, fwhm: float) -> _Seen:
        x0, x1, y0, y1 = grid.extent
        frame = shapely.box(x0 - fwhm, y0 - fwhm, x1 + fwhm, y1 + fwhm)
        hair = HAIR_FWHM * fwhm
        shrunk, grown = (design.area.buffer(by, join_style="mitre") for by in (-hair, hair))
        shrunk = design.area if shrunk.is_empty else shrunk
        areas = (shrunk, grown, minus(frame, grown), minus(frame, shrunk))
        return cls(printed, grid, design.area, fwhm, *(_Parts.of(area, grid) for area in areas))


def _gone(drawn: _Parts, kept: Bools, grid: Grid) -> list[int]:
    """Numbers of the parts of which next to nothing is kept."""
    there = np.bincount(drawn.label.ravel(), kept.ravel(), minlength=len(drawn.pixels))
    share = there / np.maximum(drawn.pixels, 1)
    gone = np.flatnonzero((share < _LEFT) & (drawn.pixels > 0))
    unseen = 1 + np.flatnonzero(drawn.pixels[1:] == 0)
    if len(unseen):
        # Smaller than a pixel: one point of it must do.
        points = shapely.point_on_surface(np.asarray(drawn.polygons, dtype=object)[unseen - 1])
        column, row = np.rint(grid.to_pixels(shapely.get_coordinates(points))).astype(np.int64).T
        rows, columns = grid.shape
        within = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        unseen, row, column = unseen[within], row[within], column[within]
        gone = np.concatenate([gone, unseen[~kept[row, column]]])
    return [int(k) for k in gone if k > 0]


def _whole(kind: str, drawn: _Parts, number: int, fwhm: float) -> Fault:
    """That of a whole part or gap, which was shrunk by a hair."""
    polygon = drawn.polygons[number - 1]
    x0, y0, x1, y1 = polygon.bounds
    at, hair = shapely.point_on_surface(polygon), 2 * HAIR_FWHM * fwhm
    # Of a rectangle, and of a slit however bent: half the outline is l + w, the area l w.
    half = polygon.length / 2
    long = (half + math.sqrt(max(half**2 - 4 * polygon.area, 0))) / 2
    width = _narrow(long + hair, polygon.area / long + hair)
    size = (max(x1 - x0, y1 - y0) if width is None else long) + hair
    return Fault(kind, (at.x, at.y), size, polygon.area, width)


def _flaw(kind: str, blob: Blob) -> Fault:
    """One of a pinhole and the like; how long a bent one is follows from its area and width."""
    width = _narrow(blob.area / blob.wide, blob.wide)
    size = blob.size if width is None else blob.area / width
    return Fault(kind, blob.at, size, blob.area, width)


def _narrow(long: float, wide: float) -> float | None:
    """The width of what is long and narrow."""
    return wide if long >= _SLENDER * wide else None


def _severed(seen: _Seen, lost: list[int]) -> Iterator[Fault]:
    """Where a part is cut, or a wall between two gaps is open."""
    pieces = components(seen.printed, corners=True)
    open_ = components(~seen.printed, corners=False)
    cuts = _several(seen, seen.solid.label, pieces, seen.solid.pixels, None)
    holes = _several(seen, open_, seen.space.label, None, seen.space.pixels)
    across = [Fault("cut", blob.at, 2 * blob.clear, blob.area) for blob in cuts]
    along = [Fault("cut", blob.at, blob.size, blob.area) for blob in holes]
    yield from _without_repeats(seen, across, along, seen.solid.label, lost)


def _bridged(seen: _Seen, closed: list[int]) -> Iterator[Fault]:
    """Where parts are joined, or one part is joined to itself over a gap."""
    pieces = components(seen.printed, corners=False)
    open_ = components(~seen.printed, corners=True)
    bridges = _several(seen, pieces, seen.grown.label, None, seen.grown.pixels)
    halves = _several(seen, seen.gaps.label, open_, seen.gaps.pixels, None)
    along = [Fault("joined", blob.at, blob.size, blob.area) for blob in bridges]
    across = [Fault("closed", blob.at, 2 * blob.clear, blob.area) for blob in halves]
    yield from _without_repeats(seen, along, across, seen.gaps.label, closed)


def _several(
    seen: _Seen, inside: Labels, of: Labels, pixels_inside: np.ndarray | None, pixels_of: np.ndarray | None
) -> tuple[Blob, ...]:
    """The seams of each region `inside` that meets several `of` the others."""
    met = meetings(inside, of)
    drawn = pixels_inside[met.a] if pixels_inside is not None else pixels_of[met.b]  # type: ignore[index]
    enough = np.minimum(MEET_FWHM2 * (seen.fwhm / seen.grid.pitch) ** 2, 0.5 * drawn)
    return seams(inside, of, met.kept(met.pixels >= enough).several(), seen.grid)


def _without_repeats(
    seen: _Seen, first: Sequence[Fault], second: Sequence[Fault], drawn: Labels, gone: list[int]
) -> Iterator[Fault]:
    """Both without what is listed as lost or closed, the second without what the first has, too."""
    listed: list[Fault] = []
    for fault, is_second in (*((one, False) for one in first), *((one, True) for one in second)):
        column, row = np.rint(seen.grid.to_pixels([fault.at])[0]).astype(int)
        beside = any(
            math.dist(fault.at, other.at) < seen.fwhm + (fault.size + other.size) / 2 for other in listed
        )
        if drawn[row, column] not in gone and not (beside and is_second):
            listed.append(fault)
            yield fault


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Masks of what is wrong. inside, outside: more than a FWHM from the outline.  of_lost: in lost parts."""

    by_kind: tuple[tuple[str, Bools], ...]
    inside: Bools
    outside: Bools
    of_lost: Bools

    @classmethod
    def of(cls, seen: _Seen, lost: list[int]) -> _Wrong:
        core, halo = (
            _Parts.of(seen.area.buffer(by * seen.fwhm, quad_segs=4), seen.grid).label > 0 for by in (-1, 1)
        )
        inside, outside = core & ~seen.printed, seen.printed & ~halo
        gone = np.isin(seen.solid.label, lost) & ~seen.printed if lost else np.zeros_like(core)
        pinhole = _alone(~seen.printed, seen.solid.label > 0) & ~gone
        speck = _alone(seen.printed, seen.grown.label == 0)
        kinds = (
            ("pinhole", pinhole),
            ("speck", speck),
            ("bite", inside & ~pinhole & ~gone),
            ("blob", outside & ~speck),
        )
        return cls(kinds, inside, outside, inside & gone)


def _alone(mask: Bools, within: Bools) -> Bools:
    """The connected regions of a mask that lie wholly within another."""
    label = components(mask, corners=True)
    pixels = np.bincount(label.ravel())
    beyond = np.bincount(label.ravel(), (~within).ravel(), minlength=len(pixels))
    alone = beyond == 0
    alone[0] = False
    return np.asarray(alone[label])


def _near(blob: Blob, fault: Fault, fwhm: float) -> bool:
    return math.dist(blob.at, fault.at) < (blob.size + fault.size) / 2 + 2 * fwhm


def _largest(mask: Bools, grid: Grid, fwhm: float) -> Fault | None:
    """All that is wrong on one side of the outline: where most of it is, and the whole area."""
    area = float(mask.sum()) * grid.pixel_area
    if area < SMALLEST_FWHM2 * fwhm**2:
        return None
    first = blobs(mask, grid)[0]
    return Fault("area", first.at, first.size, area)
