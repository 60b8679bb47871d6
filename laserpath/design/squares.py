"""A map of square pixels → polygons along the pixels' edges, steps and all.

Runs of edges from corner to corner are directed such that the solid is on their left. Rings follow them, and
turn left where four runs meet, so that squares that touch in a corner alone are separate polygons, as a valid
area has them. A ring that passes a corner twice turns right there, which cuts it in two: such passes cannot
interleave in the plane, so that all are cut at once. Then each part of the map has one ring around it, and
one around each of its holes. All of it is done for all runs together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.ndimage import label

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.design.joined import Polygons

EAST, NORTH, WEST, SOUTH = range(4)


@dataclass(frozen=True, slots=True)
class _Runs:
    """(n,) directed runs. start, end: numbers of corners.  direction: EAST ….  part: on the left."""

    start: Indices
    end: Indices
    direction: Indices
    part: Indices


def squares(solid: Bools) -> Polygons:
    """The polygons of a map (rows, columns), row 0 the lowest; (0, 0) is the centre of its first pixel."""
    solid = np.pad(solid, 1)
    row, column = np.nonzero(_corners(solid))
    if not len(row):
        return np.empty(0, dtype=object)
    runs = _runs(label(solid)[0], row, column)
    following = _following(runs, len(row))
    following = _other_way(runs, _rings(following)[0])[following]
    ring, order = _rings(following)
    xy = np.stack([column, row], axis=1) - 0.5  # of the corner above and to the right of a padded pixel
    return _polygons(xy[runs.start[order]], ring[order], runs.part[order])


def _corners(solid: Bools) -> Bools:
    """Whether a run ends between each four pixels: an edge along x and one along y meet there."""
    along_x, along_y = solid[:-1] != solid[1:], solid[:, :-1] != solid[:, 1:]
    corners: Bools = (along_x[:, :-1] | along_x[:, 1:]) & (along_y[:-1] | along_y[1:])
    return corners


def _runs(parts: NDArray[np.integer], row: Indices, column: Indices) -> _Runs:
    """The runs between the corners, which are in the order of their rows."""
    by_row, by_column = np.arange(len(row)), np.lexsort((row, column))
    sides = []
    for order, (di, dj), forth, back in (
        (by_row, (1, 0), EAST, WEST),  # the pixel above is on the left of a run to the east
        (by_column, (0, 1), SOUTH, NORTH),  # the one to the right is on the left of a run to the south
    ):
        i, j = row[order], column[order]
        beside, other = parts[i + 1, j + 1], parts[i + 1 - di, j + 1 - dj]  # of the edge from each corner on
        at = np.flatnonzero((beside > 0) != (other > 0))  # the next corner ends it
        first, last, ahead = order[at], order[np.minimum(at + 1, len(order) - 1)], beside[at] > 0
        swap = ahead == (forth == SOUTH)  # edges were found from low to high
        sides.append((
            np.where(swap, last, first), np.where(swap, first, last), np.where(ahead, forth, back),
            np.where(ahead, beside[at], other[at]),
        ))  # fmt: skip
    return _Runs(*(np.concatenate(column) for column in zip(*sides, strict=True)))


def _following(runs: _Runs, corners: int) -> Indices:
    """(n,) the run that follows each on its ring: to the left, or to the right if there is none."""
    leaving = np.full((4, corners), -1)
    leaving[runs.direction, runs.start] = np.arange(len(runs.start))
    left = leaving[(runs.direction + 1) % 4, runs.end]
    return np.where(left >= 0, left, leaving[(runs.direction + 3) % 4, runs.end])


def _rings(following: Indices) -> tuple[Indices, Indices]:
    """(n,) the ring of each run, named by its first; and all runs, ring after ring in their order.

    By doubling the steps: 2^k runs ahead are the 2^(k−1) runs ahead of those 2^(k−1) ahead.
    """
    ring = np.arange(len(following))
    ahead = following
    while True:
        least = np.minimum(ring, ring[ahead])
        if (least == ring).all():
            break
        ring, ahead = least, ahead[ahead]
    last = following == ring
    ahead = np.where(last, np.arange(len(ring)), following)
    left = np.where(last, 0, 1)  # runs until the last
    while (more := left[ahead]).any():
        left, ahead = left + more, ahead[ahead]
    return ring, np.lexsort((-left, ring))


def _other_way(runs: _Runs, ring: Indices) -> Indices:
    """(n,) each run, or the other that leaves the same corner if it is on the same ring."""
    order = np.argsort(runs.start, kind="stable")  # two runs at most leave a corner
    a, b = order[:-1], order[1:]
    twice = (runs.start[a] == runs.start[b]) & (ring[a] == ring[b])
    other = np.arange(len(ring))
    other[a[twice]], other[b[twice]] = b[twice], a[twice]
    return other


def _polygons(xy: Floats, ring: Indices, part: Indices) -> Polygons:
    """The polygons of rings, whose corners follow each other."""
    first = np.flatnonzero(np.append(True, ring[1:] != ring[:-1]))
    sizes = np.diff(np.append(first, len(xy)))
    after = np.arange(1, len(xy) + 1)
    after[first + sizes - 1] = first
    around = np.add.reduceat(xy[:, 0] * xy[after, 1] - xy[after, 0] * xy[:, 1], first)
    rings = shapely.linearrings(xy, indices=np.repeat(np.arange(len(first)), sizes))
    order = np.lexsort((around < 0, part[first]))  # the ring around a part, then its holes
    owner = np.unique(part[first][order], return_inverse=True)[1]
    polygons: Polygons = shapely.polygons(rings[order], indices=owner)
    return polygons
