"""Flashes on a regular lattice that overlap their neighbours: blocks of 8 × 8 places are united once each.

Uniting 50 000 overlapping discs one by one takes seconds. In an array nearly all blocks look the same, so
each different block is united once, and its area is then placed wherever the block occurs.
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.overlay import union

LEAST = 1000
"""Flashes of an array below which it does not matter."""
_SIDE = 8  # places of a block in each direction: one bit each of 64
_OFF = 1e-9  # mm, from a place of the lattice, for a flash on it
_GAIN = 4  # times a block has to occur, on average

Places = list[tuple[BaseGeometry, Floats]]
"""Areas, and the points (n, 2) where each is placed."""


def blocks(area: BaseGeometry, points: Floats) -> Places:
    """Fewer, larger areas and their points with the same union as `area` at all points (n, 2), mm."""
    whole = [(area, points)]
    if len(points) < LEAST or area.is_empty:
        return whole
    x0, y0, x1, y1 = area.bounds
    pitch = np.array([_pitch(points[:, 0]), _pitch(points[:, 1])])
    if (pitch > (x1 - x0, y1 - y0)).all():
        return whole
    origin = points.min(axis=0)
    place = np.rint((points - origin) / pitch)
    if np.abs(place * pitch + origin - points).max() > _OFF:
        return whole
    tile, mask = _masks(place.astype(np.int64))
    kinds, kind = np.unique(mask, return_inverse=True)
    if len(kinds) * _GAIN > len(mask):
        return whole
    corners = origin + tile * (_SIDE * pitch)
    return [(_united(area, bits, pitch), corners[kind.ravel() == k]) for k, bits in enumerate(kinds)]


def _pitch(x: Floats) -> float:
    """The smallest distance of different coordinates; any length if there is only one."""
    steps = np.diff(np.unique(x))
    return float(min(steps[steps > _OFF], default=1.0))


def _masks(place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """(m, 2) numbers of the blocks, and (m,) which of its 64 places each has. place: (n, 2), no two equal."""
    tile, inside = np.divmod(place, _SIDE)
    tiles, which = np.unique(tile, axis=0, return_inverse=True)
    bits = np.uint64(1) << (inside[:, 0] * _SIDE + inside[:, 1]).astype(np.uint64)
    mask = np.zeros(len(tiles), dtype=np.uint64)
    np.bitwise_or.at(mask, which.ravel(), bits)
    return tiles, mask


def _united(area: BaseGeometry, bits: np.uint64, pitch: Floats) -> BaseGeometry:
    """The area of one block."""
    at = np.flatnonzero(bits >> np.arange(_SIDE**2, dtype=np.uint64) & np.uint64(1))
    shifts = np.stack(np.divmod(at, _SIDE), axis=1) * pitch
    copies = [shapely.transform(area, lambda xy, shift=shift: xy + shift) for shift in shifts]
    return union(copies)
