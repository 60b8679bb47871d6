"""Regions of the plane on a grid of pixels: which polygon each pixel is in, which regions meet, and where.

A pixel belongs to the polygon that its centre is in. Each edge of a polygon crosses rows of centres; one that
goes down has the inside of its polygon at its right (exteriors counter-clockwise, holes clockwise), so that
the polygon's number is added from the crossing on, and taken off again where an edge goes up. The
running sum along the row is the number of the polygon at each centre, exact however close two polygons are.

A **seam** is where two regions of a kind meet inside a third: of the pixels of the third each belongs to
the nearest of the regions (their Voronoi cells), and the seam is the border between those. Two parts joined
by a bridge have their seam across the bridge.
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
"""(rows, columns) number of the region of each pixel, from 1; 0: none."""

_WAYS = np.stack([np.sin(np.pi / 8 * np.arange(8)), np.cos(np.pi / 8 * np.arange(8))])
"""(2, 8) directions (row, column) that a region's size is looked for along."""

_ALL_ROUND = np.ones((3, 3), dtype=bool)


def numbered(polygons: Sequence[shapely.Polygon], grid: Grid) -> Labels:
    """Which of some polygons, none over another, each pixel's centre is in: k + 1 for polygons[k]."""
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
    """Connected regions of a mask; corners: whether pixels that touch at a corner only are connected."""
    label: Labels = ndimage.label(mask, _ALL_ROUND if corners else None, output=np.int32)[0]
    return label


@dataclass(frozen=True, slots=True)
class Meetings:
    """Which regions of one kind meet which of another: (M,) numbers of both, and pixels in common."""

    a: Indices
    b: Indices
    pixels: Indices

    def kept(self, enough: Bools) -> Meetings:
        """Some of them."""
        return Meetings(self.a[enough], self.b[enough], self.pixels[enough])

    def several(self) -> Meetings:
        """Those of regions `a` that meet two or more `b`."""
        return self.kept(np.bincount(self.a, minlength=1)[self.a] > 1)


def meetings(a: Labels, b: Labels) -> Meetings:
    """All pairs of regions, one of `a` and one of `b`, with pixels in common."""
    wide = int(b.max(initial=0)) + 1
    key = np.where((a > 0) & (b > 0), a.astype(np.int64) * wide + b, 0).ravel()
    # Runs along the rows are few: sorting them is fast where sorting pixels is not.
    start = np.flatnonzero(np.diff(key, prepend=-1))
    length = np.diff(start, append=len(key))
    pair, at = np.unique(key[start], return_inverse=True)
    pixels = np.bincount(at, length).astype(np.int64)
    return Meetings(pair[pair > 0] // wide, pair[pair > 0] % wide, pixels[pair > 0])


@dataclass(frozen=True, slots=True)
class Blob:
    """One connected region. at: its pixel nearest to its middle, (x, y) mm.  size: mm, along its longest way.

    area: mm².  clear: of a seam, mm from `at` to the nearest of the regions: half the way between them.
    wide: mm, its mean width across, also where it is bent; 0 of a seam.
    """

    at: Point
    size: float
    area: float
    clear: float = 0.0
    wide: float = 0.0


def blobs(mask: Bools, grid: Grid, least: float = 0.0) -> tuple[Blob, ...]:
    """The connected regions of a mask that have at least an area, mm², the largest first."""
    label = components(mask, corners=True)
    count = np.bincount(label.ravel())
    found = []
    for k, box in enumerate(ndimage.find_objects(label), start=1):
        if count[k] * grid.pixel_area >= least:
            one = _blob(np.argwhere(label[box] == k) + [s.start for s in box], grid)
            found.append(replace(one, wide=_wide(label[box] == k) * grid.pitch))
    return tuple(sorted(found, key=lambda blob: -blob.area))


def _wide(region: Bools) -> float:
    """The mean width w of a region of area A, pixels.

    In a rectangle it is w/4 − w³/(12 A) on average to the nearest edge, half a pixel before the next pixel.
    """
    way = ndimage.distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
    strip = max(4 * float(way[region].mean()) - 2, 1.0)
    return strip + strip**3 / (3 * float(region.sum()))


def _blob(pixels: Indices, grid: Grid) -> Blob:
    row, column = pixels[np.argmin(np.hypot(*(pixels - pixels.mean(axis=0)).T))]
    size = float(np.ptp(pixels @ _WAYS, axis=0).max() + 1) * grid.pitch
    at = (float(grid.origin[0] + column * grid.pitch), float(grid.origin[1] + row * grid.pitch))
    return Blob(at, size, len(pixels) * grid.pixel_area)


def seams(inside: Labels, of: Labels, met: Meetings, grid: Grid) -> tuple[Blob, ...]:
    """Where two regions `of` a kind meet in one `inside`; met: the pairs (inside, of) that count."""
    if not len(met.a):
        return ()
    chosen = np.isin(inside, np.unique(met.a))
    box = _box(chosen)
    chosen, inside, of = chosen[box], inside[box], of[box]
    wide = int(of.max()) + 1
    counts = np.sort(met.a * wide + met.b)
    # A region's number counts only inside the regions that it was found to meet.
    key = np.where(chosen & (of > 0), inside.astype(np.int64) * wide + of, 0)
    seed = _among(key, counts)
    way, (row, column) = ndimage.distance_transform_edt(~seed, return_indices=True)
    cell = np.where(chosen, key[row, column], 0)
    seam = np.zeros(cell.shape, dtype=bool)
    for axis in (0, 1):
        a, b = (np.take(cell, range(s, cell.shape[axis] - 1 + s), axis=axis) for s in (0, 1))
        border = (a != b) & (a > 0) & (b > 0) & (a // wide == b // wide)
        seam |= np.pad(border, [(0, 1) if k == axis else (0, 0) for k in (0, 1)])
    y0, x0 = (int(s.start) for s in box)
    origin = (grid.origin[0] + x0 * grid.pitch, grid.origin[1] + y0 * grid.pitch)
    part = Grid(origin, grid.pitch, (len(seam), len(seam[0])))
    found = []
    for blob in blobs(seam, part):
        u, v = np.rint(part.to_pixels([blob.at])[0]).astype(int).tolist()
        clear = max(float(way[v, u]), 0.5) * grid.pitch
        found.append(Blob(blob.at, blob.size, blob.area, clear))
    return tuple(found)


def _box(mask: Bools) -> tuple[slice, slice]:
    """The rows and columns that a mask is in."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _among(key: Indices, some: Indices) -> Bools:
    """Whether each key is one of `some`, sorted; many keys, few of them."""
    place = np.minimum(np.searchsorted(some, key), len(some) - 1)
    return np.asarray(some[place] == key)
