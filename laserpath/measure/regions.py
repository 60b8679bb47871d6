"""Regions of the plane on a grid of pixels: which polygon each pixel is in, which regions meet, and where.

A pixel belongs to the polygon that contains its centre. The edges of a polygon cross rows of centres. An edge
that goes down has the inside of its polygon on its right (exteriors counter-clockwise, holes clockwise), so
the polygon's number is added at the crossing and subtracted again where an edge goes up. The running sum
along the row is the number of the polygon at each centre, which is exact however close two polygons are.

A **seam** is where two regions meet inside a third: each pixel of the third belongs to the nearer of the two
regions (their Voronoi cells), and the seam is the border between the cells. Two parts joined by a bridge have
their seam across the bridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import ndimage

from laserpath.base.arrays import Bools, Indices
from laserpath.types import Grid, Point

Labels = NDArray[np.int32]
"""(rows, columns) number of each pixel's region, from 1; 0: none."""

_DIRECTIONS = np.stack([np.sin(np.pi / 8 * np.arange(8)), np.cos(np.pi / 8 * np.arange(8))])
"""(2, 8) directions (row, column) along which a region's size is measured."""

_ALL_ROUND = np.ones((3, 3), dtype=bool)


def numbered(polygons: Sequence[shapely.Polygon], grid: Grid) -> Labels:
    """The polygon that contains each pixel's centre: k + 1 for polygons[k]. Polygons must not overlap."""
    rows, columns = grid.shape
    rings, owner = shapely.get_rings(np.asarray(polygons, dtype=object), return_index=True)
    exterior = np.diff(owner, prepend=-1) > 0
    number = np.where(shapely.is_ccw(rings) == exterior, 1, -1) * (owner + 1)
    xy, ring = shapely.get_coordinates(rings, return_index=True)
    inner = ring[1:] == ring[:-1]
    (x0, y0), (x1, y1) = (grid.to_pixels(ends[inner]).T for ends in (xy[:-1], xy[1:]))
    number = number[ring[1:][inner]]
    low = np.clip(np.ceil(np.minimum(y0, y1)), 0, rows).astype(np.int64)
    high = np.clip(np.ceil(np.maximum(y0, y1)), 0, rows).astype(np.int64)
    count = high - low
    edge = np.repeat(np.arange(len(count)), count)
    row = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + low[edge]
    x = x0[edge] + (row - y0[edge]) / (y1 - y0)[edge] * (x1 - x0)[edge]
    column = np.clip(np.ceil(x), 0, columns).astype(np.int64)
    steps = np.bincount(
        row * (columns + 1) + column, np.where(y1 < y0, number, -number)[edge], rows * (columns + 1)
    )
    return np.cumsum(steps.reshape(rows, columns + 1), axis=1)[:, :columns].astype(np.int32)


def components(mask: Bools, *, corners: bool) -> Labels:
    """Connected regions of a mask. corners: whether pixels that only touch at a corner are connected."""
    label: Labels = ndimage.label(mask, _ALL_ROUND if corners else None, output=np.int32)[0]
    return label


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
    stride = int(b.max(initial=0)) + 1
    key = np.where((a > 0) & (b > 0), a.astype(np.int64) * stride + b, 0).ravel()
    # Runs along the rows are few, so that sorting them is much faster than sorting pixels.
    start = np.flatnonzero(np.diff(key, prepend=-1))
    length = np.diff(start, append=len(key))
    pair, index = np.unique(key[start], return_inverse=True)
    pixels = np.bincount(index, length).astype(np.int64)
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
    count = np.bincount(label.ravel())
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
    y0, x0 = (int(s.start) for s in box)
    origin = (grid.origin[0] + x0 * grid.pitch, grid.origin[1] + y0 * grid.pitch)
    part = Grid(origin, grid.pitch, (len(seam), len(seam[0])))
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
