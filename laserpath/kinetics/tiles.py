"""Tiles of the grid that have something to compute, and the points of light that reach each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from laserpath.base.arrays import Bools, Floats
from laserpath.kinetics.kernels import SIDE


class LitTiles(NamedTuple):
    """Tiles and their points, as the kernels take them.

    corner: (T, 2) first row and column.  first: (T + 1,) where the points of each begin in `lit`.
    lit: (E,) points, ascending within a tile.
    """

    corner: NDArray[np.int32]
    first: NDArray[np.int32]
    lit: NDArray[np.int64]


def lit_tiles(uv: Floats, reach: int, radicals: Bools) -> LitTiles:
    """Tiles that points at fractional columns and rows uv (M, 2) reach, or that hold radicals.

    reach: pixels.  radicals: (rows, columns), whether a cell has any.
    """
    rows, columns = radicals.shape
    down, across = -(-rows // SIDE), -(-columns // SIDE)
    low = np.clip(np.floor((uv - reach) / SIDE), 0, [across, down]).astype(np.int64)
    high = np.clip(np.floor((uv + reach) / SIDE), -1, [across - 1, down - 1]).astype(np.int64)
    size = np.maximum(high - low + 1, 0)
    count = size[:, 0] * size[:, 1]
    point = np.repeat(np.arange(len(uv)), count)
    within = np.arange(len(point)) - np.repeat(np.cumsum(count) - count, count)
    width = np.maximum(size[point, 0], 1)
    tile = (low[point, 1] + within // width) * across + low[point, 0] + within % width
    order = np.argsort(tile, kind="stable")
    padded = np.zeros((down * SIDE, across * SIDE), bool)
    padded[:rows, :columns] = radicals
    active = padded.reshape(down, SIDE, across, SIDE).any(axis=(1, 3)).ravel()
    active[tile] = True
    used = np.flatnonzero(active)
    first = np.searchsorted(tile[order], np.append(used, down * across)).astype(np.int32)
    corner = np.stack([used // across, used % across], axis=1).astype(np.int32) * SIDE
    return LitTiles(corner, first, point[order])
