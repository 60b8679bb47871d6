"""Faults of a print by kind and place: the print is compared with the drawing in topology and in area.

A pixel is printed if its dose reaches the critical dose. Pixels are at most FWHM/6 (FWHM/12 if they are few),
interpolated by a cubic spline. Drawn and printed parts meet where they have pixels in common, and so do drawn
gaps (the surroundings of the parts, and each hole) and unprinted regions:

| fault | drawn | printed |
| --- | --- | --- |
| lost | a part | less than a tenth of it |
| filled | a hole | less than a tenth of it is open |
| closed | a narrow gap | the same; or it is bridged, open on both sides |
| cut | one part | in two or more; or two gaps have become one through it |
| joined | two or more parts | in one |
| pad | a pad of a board | less than half of it, in a part that is not lost |

Apart from these, *pinholes* are unprinted spots inside a part, and *specks* are printed spots that meet no
part. A *bite* is unprinted more than a FWHM inside the outline; a *blob* is printed more than a FWHM outside.
**Wrong area** is the area of all pinholes and specks and of everything wrong more than a FWHM from the
outline; nearer errors are edge errors and counted by the edge's figures. **Wrong outline** is the share of
the outline's points without a printed edge near, except at corners that the spot rounds off
(`measure.edges`).

Three rules ignore details that are too small. Slivers, and slits between polygons that nearly touch, narrower
than FWHM/25 are no parts, gaps, necks or walls. Regions meet only if their overlap is at least FWHM²/10 or
half of the smaller one. Pixels that touch at a corner only count as connected when a cut is looked for, and
as separate when a bridge is.

**Regions**: a pixel belongs to the polygon that contains its centre. The edges of a polygon cross rows of
centres. An edge that goes down has the inside of its polygon on its right (exteriors counter-clockwise,
holes clockwise), so the polygon's number is added at the crossing and subtracted again where an edge goes
up. The running sum along the row is the number of the polygon at each centre, which is exact however close
two polygons are.

A **seam** is where two regions meet inside a third: each pixel of the third belongs to the nearer of the two
regions (their Voronoi cells), and the seam is the border between the cells. Two parts joined by a bridge have
their seam across the bridge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import ndimage

from gcode.move import numbered
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.overlay import areas, clipped, minus, valid
from laserpath.design.scene import Scene
from laserpath.measure.edges import HAIR_FWHM
from laserpath.types import Grid, Pads, Point
from laserpath.types.results import Fault

Labels = NDArray[np.int32]
"""(rows, columns) number of each pixel's region, from 1; 0: none."""

_DIRECTIONS = np.stack([np.sin(np.pi / 8 * np.arange(8)), np.cos(np.pi / 8 * np.arange(8))])
"""(2, 8) directions (row, column) along which a region's size is measured."""

_ROWS = 256
"""Rows that are gone through at a time: more hold more memory."""

_ALL_ROUND = np.ones((3, 3), dtype=bool)


def labelled(polygons: Sequence[shapely.Polygon], grid: Grid) -> Labels:
    """The polygon that contains each pixel's centre: k + 1 for polygons[k]. Polygons must not overlap."""
    rows, columns = grid.shape
    rings, owner = shapely.get_rings(np.asarray(polygons, dtype=object), return_index=True)
    exterior = np.diff(owner, prepend=-1) > 0
    number = np.where(shapely.is_ccw(rings) == exterior, 1, -1) * (owner + 1)
    xy, ring = shapely.get_coordinates(rings, return_index=True)
    inner = ring[1:] == ring[:-1]
    start, end = (grid.to_pixels(ends[inner]) for ends in (xy[:-1], xy[1:]))
    number = number[ring[1:][inner]]
    edge, row, column = rows_crossed(start, end, grid.shape)
    labels, inside = np.zeros((rows, columns), np.int32), column < columns
    down = end[:, 1] < start[:, 1]
    np.add.at(labels, (row[inside], column[inside]), np.where(down, number, -number)[edge][inside])
    return np.cumsum(labels, axis=1, out=labels)


def rows_crossed(start: Floats, end: Floats, shape: tuple[int, int]) -> tuple[Indices, Indices, Indices]:
    """Where edges from start to end (N, 2), (column, row) in pixels, cross the rows of pixels' centres.

    Returns the number of the edge, the row, and the first column to the right of the crossing: the number of
    columns if there is none.
    """
    (x0, y0), (x1, y1) = start.T, end.T
    low, high = (
        np.clip(np.ceil(one(y0, y1)), 0, shape[0]).astype(np.int64) for one in (np.minimum, np.maximum)
    )
    edge, nth = numbered(high - low)
    row = nth + low[edge]
    x = x0[edge] + (row - y0[edge]) / (y1 - y0)[edge] * (x1 - x0)[edge]
    return edge, row, np.clip(np.ceil(x), 0, shape[1]).astype(np.int64)


def components(mask: Bools, *, corners: bool) -> Labels:
    """Connected regions of a mask. corners: whether pixels that only touch at a corner are connected."""
    label: Labels = ndimage.label(mask, _ALL_ROUND if corners else None, output=np.int32)[0]
    return label


def sizes(label: Labels, count: int, mask: Bools | None = None) -> Indices:
    """(count,) pixels of each region, of those in a mask (rows, columns) if there is one."""
    total = np.zeros(count, np.int64)
    for first in range(0, len(label), _ROWS):
        some = label[first : first + _ROWS]
        some = some.ravel() if mask is None else some[mask[first : first + _ROWS]]
        total += np.bincount(some, minlength=count)
    return total


@dataclass(frozen=True, slots=True)
class Meetings:
    """Pairs of regions of two kinds that meet: (M,) numbers a, b of both, and number of common pixels."""

    a: Indices
    b: Indices
    pixels: Indices

    def kept(self, enough: Bools) -> Meetings:
        """The pairs that are `enough` (M,)."""
        return Meetings(self.a[enough], self.b[enough], self.pixels[enough])

    def several(self) -> Meetings:
        """The pairs of regions `a` that meet two or more `b`."""
        return self.kept(np.bincount(self.a, minlength=1)[self.a] > 1)


def meetings(a: Labels, b: Labels) -> Meetings:
    """All pairs of regions, one of `a` and one of `b`, with pixels in common."""
    stride, keys, lengths = int(b.max(initial=0)) + 1, [], []
    # Runs along the rows are few, so that sorting them is much faster than sorting pixels.
    for first in range(0, len(a), _ROWS):
        left, right = (one[first : first + _ROWS].ravel() for one in (a, b))
        key = np.where((left > 0) & (right > 0), left.astype(np.int64) * stride + right, 0)
        start = np.flatnonzero(np.diff(key, prepend=-1))
        keys.append(key[start])
        lengths.append(np.diff(start, append=len(key)))
    pair, index = np.unique(np.concatenate(keys), return_inverse=True)
    pixels = np.bincount(index, np.concatenate(lengths)).astype(np.int64)
    return Meetings(pair[pair > 0] // stride, pair[pair > 0] % stride, pixels[pair > 0])


@dataclass(frozen=True, slots=True)
class Blob:
    """One connected region. at: its pixel nearest to its middle, (x, y) mm.  size: largest extent, mm.

    area: mm².  clear: for a seam, the distance from `at` to the nearest of its regions, mm, which is half the
    gap between them.  wide: mean width, mm, also of a bent region; 0 for a seam.
    """

    at: Point
    size: float
    area: float
    clear: float = 0.0
    wide: float = 0.0


def blobs(mask: Bools, grid: Grid, least: float = 0.0) -> tuple[Blob, ...]:
    """The connected regions of a mask with an area of at least `least` mm², the largest first."""
    label = components(mask, corners=True)
    count = sizes(label, int(label.max(initial=0)) + 1)
    regions = []
    for k, box in enumerate(ndimage.find_objects(label), start=1):
        if count[k] * grid.pixel_area >= least:
            blob = _blob(np.argwhere(label[box] == k) + [s.start for s in box], grid)
            regions.append(replace(blob, wide=_wide(label[box] == k) * grid.pitch))
    return tuple(sorted(regions, key=lambda blob: -blob.area))


def _wide(region: Bools) -> float:
    """The mean width w of a region of area A, in pixels.

    In a rectangle the mean distance to the nearest edge is w/4 − w³/(12 A); the edge is half a pixel before
    the next pixel.
    """
    distance = ndimage.distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
    strip = max(4 * float(distance[region].mean()) - 2, 1.0)
    return strip + strip**3 / (3 * float(region.sum()))


def _blob(pixels: Indices, grid: Grid) -> Blob:
    row, column = pixels[np.argmin(np.hypot(*(pixels - pixels.mean(axis=0)).T))]
    size = float(np.ptp(pixels @ _DIRECTIONS, axis=0).max() + 1) * grid.pitch
    at = (float(grid.origin[0] + column * grid.pitch), float(grid.origin[1] + row * grid.pitch))
    return Blob(at, size, len(pixels) * grid.pixel_area)


def seams(outer: Labels, inner: Labels, met: Meetings, grid: Grid) -> tuple[Blob, ...]:
    """The seams between `inner` regions in one `outer` region. met: the pairs (outer, inner) that count."""
    if not len(met.a):
        return ()
    chosen = np.isin(outer, np.unique(met.a))
    box = _box(chosen)
    chosen, outer, inner = chosen[box], outer[box], inner[box]
    stride = int(inner.max()) + 1
    counts = np.sort(met.a * stride + met.b)
    # An inner region counts only inside the outer regions that it meets.
    key = np.where(chosen & (inner > 0), outer.astype(np.int64) * stride + inner, 0)
    seed = _among(key, counts)
    distance, (row, column) = ndimage.distance_transform_edt(~seed, return_indices=True)
    cell = np.where(chosen, key[row, column], 0)
    seam = np.zeros(cell.shape, dtype=bool)
    for axis in (0, 1):
        a, b = (np.take(cell, range(s, cell.shape[axis] - 1 + s), axis=axis) for s in (0, 1))
        border = (a != b) & (a > 0) & (b > 0) & (a // stride == b // stride)
        seam |= np.pad(border, [(0, 1) if k == axis else (0, 0) for k in (0, 1)])
    part = grid.part(*box)
    borders = []
    for blob in blobs(seam, part):
        u, v = np.rint(part.to_pixels([blob.at])[0]).astype(int).tolist()
        clear = max(float(distance[v, u]), 0.5) * grid.pitch
        borders.append(Blob(blob.at, blob.size, blob.area, clear))
    return tuple(borders)


def _box(mask: Bools) -> tuple[slice, slice]:
    """The rows and columns that a mask occupies."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _among(key: Indices, some: Indices) -> Bools:
    """Whether each key is one of `some`, which are few and sorted."""
    place = np.minimum(np.searchsorted(some, key), len(some) - 1)
    return np.asarray(some[place] == key)


LEFT = 0.1
"""Share of a part or gap below which it is lost or closed: a larger value reports more of them."""

_LEFT_OF_PAD = 0.5
"""The same for pads, to which something is to be soldered."""

MEET_FWHM2 = 0.1
"""Smallest overlap, in FWHM², of regions that meet: a larger one ignores larger fragments."""

_SLENDER = 4.0
"""Ratio of length to width from which a fault is listed with both: a larger value lists fewer widths."""

SMALLEST_FWHM2 = 0.05
"""Area of a flaw in FWHM² below which it is not listed; a larger value hides more."""

_COARSEST, _FINE, _MANY = 6, 12, 4_000_000
"""Pixels per FWHM: at least the first; the second, if the grid then has no more pixels than the third."""


def topology(dose: Floats, scene: Scene) -> tuple[Fault, ...]:
    """What is lost, closed, cut or joined by a dose (rows, columns), mJ/mm² on the scene's grid."""
    seen = SeenPrint.of_dose(dose, scene)
    return tuple(with_nets(_Topology.of(seen).faults(seen), scene))


@dataclass(frozen=True, slots=True)
class _Topology:
    """Faults of topology. lost, closed: numbers of the parts and gaps of which next to nothing is left.

    alone: those of `lost` that are nothing but a lost pad.  local: parts that are cut or joined, and gaps.
    """

    lost: list[int]
    closed: list[int]
    alone: list[int]
    pads: list[Fault]
    local: list[Fault]

    @classmethod
    def of(cls, seen: SeenPrint) -> _Topology:
        lost, closed = (
            _gone(drawn, kept, seen.grid)
            for drawn, kept in ((seen.solid, seen.printed), (seen.gaps, ~seen.printed))
        )
        pads, alone = _pads_lost(seen, lost)
        cuts = (one for one in _severed(seen, lost) if not any(_near(one, pad, seen.fwhm) for pad in pads))
        return cls(lost, closed, alone, pads, [*cuts, *_bridged(seen, closed)])

    @property
    def parts(self) -> list[int]:
        """The numbers of the parts that are lost, but for pads."""
        return [k for k in self.lost if k not in self.alone]

    def faults(self, seen: SeenPrint) -> list[Fault]:
        """All of them."""
        return [
            *(whole_fault("lost", seen.solid.polygons[k - 1], seen.fwhm) for k in self.parts),
            *self.pads,
            *(whole_fault("closed", seen.gaps.polygons[k - 1], seen.fwhm) for k in self.closed),
            *self.local,
        ]


@dataclass(frozen=True, slots=True)
class WindowCore:
    """The rectangle of a window, mm, for which it answers; its lower sides belong to it."""

    x0: float
    y0: float
    x1: float
    y1: float

    def near(self, at: Point, most: float) -> bool:
        """Whether a point is in it, or at most so many mm beside it."""
        return self.x0 - most <= at[0] < self.x1 + most and self.y0 - most <= at[1] < self.y1 + most

    def pixels(self, grid: Grid) -> tuple[slice, slice]:
        """(rows, columns) of a grid whose centres are in it."""
        rows = np.searchsorted(grid.y(), (self.y0, self.y1))
        columns = np.searchsorted(grid.x(), (self.x0, self.x1))
        return slice(*rows.tolist()), slice(*columns.tolist())

    def within(self, polygons: Iterable[shapely.Polygon], most: float) -> tuple[shapely.Geometry, ...]:
        """What of each polygon is in it, or at most so many mm beside it."""
        x0, y0, x1, y1 = self.x0 - most, self.y0 - most, self.x1 + most, self.y1 + most
        found = (areas(valid(clipped(one, x0, y0, x1, y1))) for one in polygons)
        return tuple(one for one in found if not one.is_empty)


@dataclass(frozen=True, slots=True)
class FoundFaults:
    """What is wrong in a print. wrong: mm², the area of all of it.

    missing, excess: the place of the largest wrong region on one side of the outline, with the area of all of
    them, mm²; None without any.  parts, gaps: the polygons that are lost and closed in a window.
    """

    faults: list[Fault]
    flaws: list[Fault]
    wrong: float
    missing: Fault | None
    excess: Fault | None
    parts: tuple[shapely.Geometry, ...] = ()
    gaps: tuple[shapely.Geometry, ...] = ()


def found_in(seen: SeenPrint, core: WindowCore | None = None) -> FoundFaults:
    """What is wrong in what is seen. core: the part of it, mm, that counts."""
    topology, fwhm = _Topology.of(seen), seen.fwhm
    masks = _Wrong.of(seen, topology.lost)
    faults = topology.faults(seen)
    flaws = [
        _flaw(kind, blob)
        for kind, mask in masks.by_kind
        for blob in blobs(mask, seen.grid, SMALLEST_FWHM2 * fwhm**2)
        if not any(kind in ("bite", "blob") and _near(blob, fault, fwhm) for fault in faults)
    ]
    wrong = np.logical_or.reduce([mask for _, mask in masks.by_kind] + [masks.of_lost])
    every = (slice(None), slice(None))
    inner = every if core is None else core.pixels(seen.grid)
    area = float(wrong[inner].sum()) * seen.grid.pixel_area
    missing, excess = (_largest(mask, seen.grid, inner) for mask in (masks.inside, masks.outside))
    if core is None:
        return FoundFaults(faults, flaws, area, missing, excess)
    return FoundFaults(
        [fault for fault in (*topology.pads, *topology.local) if core.near(fault.at, fwhm)],
        [flaw for flaw in flaws if core.near(flaw.at, fwhm)],
        area,
        missing,
        excess,
        parts=core.within((seen.solid.polygons[k - 1] for k in topology.parts), HAIR_FWHM * fwhm),
        gaps=core.within((seen.gaps.polygons[k - 1] for k in topology.closed), HAIR_FWHM * fwhm),
    )


def _pads_lost(seen: SeenPrint, lost: list[int]) -> tuple[list[Fault], list[int]]:
    """(pads that are lost, the numbers of lost parts that are nothing but one of them)."""
    if seen.pads is None:
        return [], []
    label = labelled(seen.pads.areas.geoms, seen.grid)
    label[seen.solid.label == 0] = 0
    count = len(seen.pads.areas.geoms) + 1
    drawn, left = sizes(label, count), sizes(label, count, seen.printed)
    gone = 1 + np.flatnonzero(left[1:] < _LEFT_OF_PAD * drawn[1:])
    met = meetings(seen.solid.label, label)
    pads_in, part = np.bincount(met.a, minlength=1), dict(zip(met.b.tolist(), met.a.tolist(), strict=True))
    out, alone = [], []
    for k in gone.tolist():
        if part[k] in lost and pads_in[part[k]] > 1:
            continue
        alone += [part[k]] if part[k] in lost else []
        pad = seen.pads.areas.geoms[k - 1]
        x0, y0, x1, y1 = pad.bounds
        out.append(Fault("pad", (pad.centroid.x, pad.centroid.y), max(x1 - x0, y1 - y0), pad.area))
    return out, alone


def with_nets(found: list[Fault], scene: Scene) -> list[Fault]:
    """The faults of a board with the names of the pins and nets that they concern, if the file has them."""
    pads = scene.design.pads
    if pads is None or not found:
        return found
    parts = np.array(scene.design.area.geoms, dtype=object)
    pad_tree, part_tree = shapely.STRtree(pads.areas.geoms), shapely.STRtree(parts)

    def about(fault: Fault) -> str:
        at, n = shapely.Point(fault.at), min(2 if fault.kind == "joined" else 1, len(parts))
        on = pad_tree.query(at, predicate="intersects") if fault.kind in ("pad", "filled") else []
        if len(on):
            return " ".join(filter(None, (pads.pins[on[0]], _net({pads.nets[on[0]]}))))
        if not any(pads.nets):
            return ""
        reach = scene.fwhm
        while len(near := part_tree.query(at, predicate="dwithin", distance=reach)) < n:
            reach *= 2
        beside = near[np.argsort(shapely.distance(parts[near], at))[:n]]
        nets = [
            [pads.nets[k] for k in pad_tree.query(part, predicate="intersects")] for part in parts[beside]
        ]
        return _net({names[0] for names in nets if names})

    return [replace(fault, net=about(fault)) for fault in found]


def _net(names: set[str]) -> str:
    """A phrase such as 'of net GND'; '' without names."""
    known = sorted(filter(None, names))
    return f"of net{'s' * (len(known) > 1)} {' and '.join(known)}" if known else ""


def times_finer(grid: Grid, fwhm: float) -> int:
    """How many times finer pixels must be to distinguish a neck from a gap."""
    per_fwhm = fwhm / grid.pitch
    times = max(1, math.ceil(_FINE / per_fwhm - 1e-6))
    if times**2 * math.prod(grid.shape) > _MANY:
        times = max(1, math.ceil(_COARSEST / per_fwhm - 1e-6))
    return times


def finer(grid: Grid, dose: Floats, times: int) -> tuple[Grid, Floats]:
    """The dose on pixels that are so many times finer, between the centres of the outermost ones."""
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
        label = labelled(polygons, grid) if polygons else np.zeros(grid.shape, dtype=np.int32)
        return cls(polygons, label, sizes(label, len(polygons) + 1))


@dataclass(frozen=True, slots=True)
class SeenPrint:
    """The print and the drawing to compare. printed: (rows, columns).

    solid, space: the drawing shrunk by a hair, and its surroundings.  grown, gaps: the drawing grown by a
    hair, and its surroundings.
    """

    printed: Bools
    grid: Grid
    area: shapely.MultiPolygon
    pads: Pads | None
    fwhm: float
    solid: _Parts
    grown: _Parts
    gaps: _Parts
    space: _Parts

    @classmethod
    def of_dose(cls, dose: Floats, scene: Scene) -> SeenPrint:
        """All of a dose (rows, columns), mJ/mm²."""
        grid, fine = finer(scene.grid, dose, times_finer(scene.grid, scene.fwhm))
        design, fwhm = scene.design, scene.fwhm
        return cls.of(fine >= scene.critical_dose, grid, design.area, design.pads, fwhm, fwhm)

    @classmethod
    def of(
        cls,
        printed: Bools,
        grid: Grid,
        area: shapely.MultiPolygon,
        pads: Pads | None,
        fwhm: float,
        around: float = 0.0,
    ) -> SeenPrint:
        """around: mm, by which the surroundings reach beyond the grid, where they meet."""
        x0, x1, y0, y1 = grid.extent
        frame = shapely.box(x0 - around, y0 - around, x1 + around, y1 + around)
        hair = HAIR_FWHM * fwhm
        shrunk, grown = (area.buffer(by, join_style="mitre") for by in (-hair, hair))
        shrunk = area if shrunk.is_empty else shrunk
        found = (shrunk, grown, minus(frame, grown), minus(frame, shrunk))
        return cls(printed, grid, area, pads, fwhm, *(_Parts.of(one, grid) for one in found))


def _gone(drawn: _Parts, kept: Bools, grid: Grid) -> list[int]:
    """The numbers of the parts of which less than the share `LEFT` is kept."""
    left = sizes(drawn.label, len(drawn.pixels), kept)
    share = left / np.maximum(drawn.pixels, 1)
    gone = np.flatnonzero((share < LEFT) & (drawn.pixels > 0))
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


def whole_fault(kind: str, polygon: shapely.Polygon, fwhm: float) -> Fault:
    """The fault of a whole part or gap, which was shrunk by a hair."""
    x0, y0, x1, y1 = polygon.bounds
    point, hair = polygon.centroid, 2 * HAIR_FWHM * fwhm
    if not polygon.contains(point):
        point = shapely.point_on_surface(polygon)
    # In a rectangle, and in a slit however bent, half the outline is l + w and the area is l w.
    half = polygon.length / 2
    long = (half + math.sqrt(max(half**2 - 4 * polygon.area, 0))) / 2
    width = _narrow(long + hair, polygon.area / long + hair)
    size = (max(x1 - x0, y1 - y0) if width is None else long) + hair
    if kind == "closed" and width is None:
        kind = "filled"
    return Fault(kind, (point.x, point.y), size, polygon.area, width)


def _flaw(kind: str, blob: Blob) -> Fault:
    """The flaw of a blob. The length of a bent one follows from its area and width."""
    width = _narrow(blob.area / blob.wide, blob.wide)
    size = blob.size if width is None else blob.area / width
    return Fault(kind, blob.at, size, blob.area, width)


def _narrow(long: float, wide: float) -> float | None:
    """The width, if it is narrow for its length; else None."""
    return wide if long >= _SLENDER * wide else None


def _severed(seen: SeenPrint, lost: list[int]) -> Iterator[Fault]:
    """The places where a part is cut, or a wall between two gaps is open."""
    pieces = components(seen.printed, corners=True)
    open_ = components(~seen.printed, corners=False)
    cuts = _several(seen, seen.solid.label, pieces, seen.solid.pixels, None)
    holes = _several(seen, open_, seen.space.label, None, seen.space.pixels)
    across = [Fault("cut", blob.at, 2 * blob.clear, blob.area) for blob in cuts]
    along = [Fault("cut", blob.at, blob.size, blob.area) for blob in holes]
    yield from _without_repeats(seen, across, along, seen.solid.label, lost)


def _bridged(seen: SeenPrint, closed: list[int]) -> Iterator[Fault]:
    """The places where parts are joined, or one part is joined to itself across a gap."""
    pieces = components(seen.printed, corners=False)
    open_ = components(~seen.printed, corners=True)
    bridges = _several(seen, pieces, seen.grown.label, None, seen.grown.pixels)
    halves = _several(seen, seen.gaps.label, open_, seen.gaps.pixels, None)
    along = [Fault("joined", blob.at, blob.size, blob.area) for blob in bridges]
    across = [Fault("closed", blob.at, 2 * blob.clear, blob.area) for blob in halves]
    yield from _without_repeats(seen, along, across, seen.gaps.label, closed)


def _several(
    seen: SeenPrint, outer: Labels, inner: Labels, in_outer: np.ndarray | None, in_inner: np.ndarray | None
) -> tuple[Blob, ...]:
    """The seams in each `outer` region that meets several `inner` ones.

    in_outer, in_inner: pixels of each region; one of the two is None, the other those of the drawing.
    """
    met = meetings(outer, inner)
    drawn = in_outer[met.a] if in_outer is not None else in_inner[met.b]  # type: ignore[index]
    enough = np.minimum(MEET_FWHM2 * (seen.fwhm / seen.grid.pitch) ** 2, 0.5 * drawn)
    return seams(outer, inner, met.kept(met.pixels >= enough).several(), seen.grid)


def _without_repeats(
    seen: SeenPrint, first: Sequence[Fault], second: Sequence[Fault], drawn: Labels, gone: list[int]
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
    def of(cls, seen: SeenPrint, lost: list[int]) -> _Wrong:
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
    alone = sizes(label, int(label.max(initial=0)) + 1, ~within) == 0
    alone[0] = False
    return np.asarray(alone[label])


def _near(blob: Blob | Fault, fault: Fault, fwhm: float) -> bool:
    return math.dist(blob.at, fault.at) < (blob.size + fault.size) / 2 + 2 * fwhm


def _largest(mask: Bools, grid: Grid, core: tuple[slice, slice]) -> Fault | None:
    """The wrong area on one side of the outline: the place of its largest region, and the total area.

    core: (rows, columns) of the pixels that count.
    """
    area = float(mask[core].sum()) * grid.pixel_area
    if not area:
        return None
    first = blobs(mask, grid)[0]
    return Fault("area", first.at, first.size, area)
