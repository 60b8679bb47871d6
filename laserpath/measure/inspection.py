"""Faults of a print by kind and place: the print is compared with the drawing in topology and in area.

A pixel is printed if its dose reaches the critical dose. Pixels are at most FWHM/6 (FWHM/12 if they are few),
interpolated by a cubic spline. Drawn and printed parts meet where they have pixels in common, and so do drawn
gaps (the surroundings of the parts, and each hole) and unprinted regions:

| fault | drawn | printed |
| --- | --- | --- |
| lost | a part | less than a tenth of it |
| closed | a gap | less than a tenth of it is open; or it is bridged, open on both sides |
| cut | one part | in two or more; or two gaps have become one through it |
| joined | two or more parts | in one |

Apart from these, *pinholes* are unprinted spots inside a part, and *specks* are printed spots that meet no
part. A *bite* is unprinted more than a FWHM inside the outline; a *blob* is printed more than a FWHM outside.
**Wrong area** is the area of all pinholes and specks and of everything wrong more than a FWHM from the
outline; nearer errors are edge errors and counted by the edge's figures. **Wrong outline** is the share of
the outline's points without a printed edge near, except at corners that the spot rounds off
(`measure.corners`).

Three rules ignore details that are too small. Slivers, and slits between polygons that nearly touch, narrower
than FWHM/25 are no parts, gaps, necks or walls. Regions meet only if their overlap is at least FWHM²/10 or
half of the smaller one. Pixels that touch at a corner only count as connected when a cut is looked for, and
as separate when a bridge is.
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
from laserpath.measure.corners import HAIR_FWHM, hairs_right, rounded_off
from laserpath.measure.regions import Blob, Labels, blobs, components, meetings, numbered, seams
from laserpath.types import Design, Grid
from laserpath.types.results import Fault, Inspection, Measurement

_LEFT = 0.1
"""Share of a part or gap below which it is lost or closed: a larger value reports more of them."""

MEET_FWHM2 = 0.1
"""Smallest overlap, in FWHM², of regions that meet: a larger one ignores larger fragments."""

_SLENDER = 4.0
"""Ratio of length to width from which a fault is listed with both: a larger value lists fewer widths."""

SMALLEST_FWHM2 = 0.05
"""Area of a flaw in FWHM² below which it is not listed; a larger value hides more."""

_COARSEST, _FINE, _MANY = 6, 12, 4_000_000
"""Pixels per FWHM: at least the first; the second, if the grid then has no more pixels than the third."""


def inspect(exposure: Measurement, scene: Scene) -> Inspection:
    """The faults of the print of an exposure in a scene."""
    design, fwhm = scene.design, scene.fwhm
    seen = _Seen.of_dose(exposure.dose, scene)
    faults, lost = _topology(seen)
    grid = seen.grid
    masks = _Wrong.of(seen, lost)
    flaws = [
        _flaw(kind, blob)
        for kind, mask in masks.by_kind
        for blob in blobs(mask, grid, SMALLEST_FWHM2 * fwhm**2)
        if not any(kind in ("bite", "blob") and _near(blob, fault, fwhm) for fault in faults)
    ]
    drawn, rounded = exposure.edges, rounded_off(exposure.edges, exposure.dose, scene)
    edges = hairs_right(rounded, scene)
    wrong = np.logical_or.reduce([mask for _, mask in masks.by_kind] + [masks.of_lost])
    return Inspection(
        faults=tuple(sorted(faults, key=lambda fault: -fault.size)),
        flaws=tuple(sorted(flaws, key=lambda flaw: -flaw.area)),
        wrong_area=float(wrong.sum()) * grid.pixel_area,
        wrong_share=float(wrong.sum()) * grid.pixel_area / design.area.area,
        wrong_outline=float(edges.missing.mean()),
        rounded=int(drawn.missing.sum() - rounded.missing.sum()),
        astray=int((rounded.epe != drawn.epe)[~drawn.missing].sum()),
        edges=edges,
        missing=_largest(masks.inside, grid, fwhm),
        excess=_largest(masks.outside, grid, fwhm),
    )


def topology(dose: Floats, scene: Scene) -> tuple[Fault, ...]:
    """What is lost, closed, cut or joined by a dose (rows, columns), mJ/mm² on the scene's grid."""
    return tuple(_topology(_Seen.of_dose(dose, scene))[0])


def _topology(seen: _Seen) -> tuple[list[Fault], list[int]]:
    """(faults of topology, numbers of the parts that are lost)."""
    fwhm, grid = seen.fwhm, seen.grid
    lost, closed = _gone(seen.solid, seen.printed, grid), _gone(seen.gaps, ~seen.printed, grid)
    return [
        *(_whole("lost", seen.solid, k, fwhm) for k in lost),
        *(_whole("closed", seen.gaps, k, fwhm) for k in closed),
        *_severed(seen, lost),
        *_bridged(seen, closed),
    ], lost


def _finer(grid: Grid, dose: Floats, fwhm: float) -> tuple[Grid, Floats]:
    """The dose on pixels that are fine enough to distinguish a neck from a gap."""
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
    """Parts or gaps. polygons: one for each.  label: (rows, columns).  pixels: (parts + 1,) size of each."""

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
    """The print and the drawing to compare. printed: (rows, columns).

    solid, space: the drawing shrunk by a hair, and its surroundings.  grown, gaps: the drawing grown by a
    hair, and its surroundings.
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
    def of_dose(cls, dose: Floats, scene: Scene) -> _Seen:
        grid, fine = _finer(scene.grid, dose, scene.fwhm)
        return cls.of(fine >= scene.critical_dose, grid, scene.design, scene.fwhm)

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
    """The numbers of the parts of which less than the share `_LEFT` is kept."""
    left = np.bincount(drawn.label.ravel(), kept.ravel(), minlength=len(drawn.pixels))
    share = left / np.maximum(drawn.pixels, 1)
    gone = np.flatnonzero((share < _LEFT) & (drawn.pixels > 0))
    unseen = 1 + np.flatnonzero(drawn.pixels[1:] == 0)
    if len(unseen):
        # A part smaller than a pixel is judged by one point.
        points = shapely.point_on_surface(np.asarray(drawn.polygons, dtype=object)[unseen - 1])
        column, row = np.rint(grid.to_pixels(shapely.get_coordinates(points))).astype(np.int64).T
        rows, columns = grid.shape
        within = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        unseen, row, column = unseen[within], row[within], column[within]
        gone = np.concatenate([gone, unseen[~kept[row, column]]])
    return [int(k) for k in gone if k > 0]


def _whole(kind: str, drawn: _Parts, number: int, fwhm: float) -> Fault:
    """The fault of a whole part or gap, which was shrunk by a hair."""
    polygon = drawn.polygons[number - 1]
    x0, y0, x1, y1 = polygon.bounds
    point, hair = shapely.point_on_surface(polygon), 2 * HAIR_FWHM * fwhm
    # In a rectangle, and in a slit however bent, half the outline is l + w and the area is l w.
    half = polygon.length / 2
    long = (half + math.sqrt(max(half**2 - 4 * polygon.area, 0))) / 2
    width = _narrow(long + hair, polygon.area / long + hair)
    size = (max(x1 - x0, y1 - y0) if width is None else long) + hair
    return Fault(kind, (point.x, point.y), size, polygon.area, width)


def _flaw(kind: str, blob: Blob) -> Fault:
    """The flaw of a blob. The length of a bent one follows from its area and width."""
    width = _narrow(blob.area / blob.wide, blob.wide)
    size = blob.size if width is None else blob.area / width
    return Fault(kind, blob.at, size, blob.area, width)


def _narrow(long: float, wide: float) -> float | None:
    """The width, if it is narrow for its length; else None."""
    return wide if long >= _SLENDER * wide else None


def _severed(seen: _Seen, lost: list[int]) -> Iterator[Fault]:
    """The places where a part is cut, or a wall between two gaps is open."""
    pieces = components(seen.printed, corners=True)
    open_ = components(~seen.printed, corners=False)
    cuts = _several(seen, seen.solid.label, pieces, seen.solid.pixels, None)
    holes = _several(seen, open_, seen.space.label, None, seen.space.pixels)
    across = [Fault("cut", blob.at, 2 * blob.clear, blob.area) for blob in cuts]
    along = [Fault("cut", blob.at, blob.size, blob.area) for blob in holes]
    yield from _without_repeats(seen, across, along, seen.solid.label, lost)


def _bridged(seen: _Seen, closed: list[int]) -> Iterator[Fault]:
    """The places where parts are joined, or one part is joined to itself across a gap."""
    pieces = components(seen.printed, corners=False)
    open_ = components(~seen.printed, corners=True)
    bridges = _several(seen, pieces, seen.grown.label, None, seen.grown.pixels)
    halves = _several(seen, seen.gaps.label, open_, seen.gaps.pixels, None)
    along = [Fault("joined", blob.at, blob.size, blob.area) for blob in bridges]
    across = [Fault("closed", blob.at, 2 * blob.clear, blob.area) for blob in halves]
    yield from _without_repeats(seen, along, across, seen.gaps.label, closed)


def _several(
    seen: _Seen, outer: Labels, inner: Labels, in_outer: np.ndarray | None, in_inner: np.ndarray | None
) -> tuple[Blob, ...]:
    """The seams in each `outer` region that meets several `inner` ones.

    in_outer, in_inner: pixels of each region; one of the two is None, the other those of the drawing.
    """
    met = meetings(outer, inner)
    drawn = in_outer[met.a] if in_outer is not None else in_inner[met.b]  # type: ignore[index]
    enough = np.minimum(MEET_FWHM2 * (seen.fwhm / seen.grid.pitch) ** 2, 0.5 * drawn)
    return seams(outer, inner, met.kept(met.pixels >= enough).several(), seen.grid)


def _without_repeats(
    seen: _Seen, first: Sequence[Fault], second: Sequence[Fault], drawn: Labels, gone: list[int]
) -> Iterator[Fault]:
    """Both lists without parts that are lost or closed, and the second without faults near listed ones."""
    listed: list[Fault] = []
    for fault, is_second in (*((f, False) for f in first), *((f, True) for f in second)):
        column, row = np.rint(seen.grid.to_pixels([fault.at])[0]).astype(int)
        beside = any(
            math.dist(fault.at, other.at) < seen.fwhm + (fault.size + other.size) / 2 for other in listed
        )
        if drawn[row, column] not in gone and not (beside and is_second):
            listed.append(fault)
            yield fault


@dataclass(frozen=True, slots=True)
class _Wrong:
    """Masks of wrong pixels. inside, outside: more than a FWHM from the outline.  of_lost: in lost parts."""

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
    """The connected regions of a mask that lie entirely within another mask."""
    label = components(mask, corners=True)
    pixels = np.bincount(label.ravel())
    beyond = np.bincount(label.ravel(), (~within).ravel(), minlength=len(pixels))
    alone = beyond == 0
    alone[0] = False
    return np.asarray(alone[label])


def _near(blob: Blob, fault: Fault, fwhm: float) -> bool:
    return math.dist(blob.at, fault.at) < (blob.size + fault.size) / 2 + 2 * fwhm


def _largest(mask: Bools, grid: Grid, fwhm: float) -> Fault | None:
    """The wrong area on one side of the outline: the place of its largest region, and the total area."""
    area = float(mask.sum()) * grid.pixel_area
    if area < SMALLEST_FWHM2 * fwhm**2:
        return None
    first = blobs(mask, grid)[0]
    return Fault("area", first.at, first.size, area)
