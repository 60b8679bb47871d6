"""Compact integers for the page, which the viewer's `decode.js` unpacks.

A list of integers is written as variable-length bytes (7 bits a byte, low ones first, the top bit of all but
the last byte set) of its zigzag numbers 2v for v ≥ 0 and −2v − 1 for v < 0, deflated (zlib, RFC 1950) and
written in base64. Values that change slowly are replaced by differences first: those of a curve from point to
point, those of a raster from the plane through its neighbours,

    r[i, j] = v[i, j] − v[i, j−1] − v[i−1, j] + v[i−1, j−1],   0 outside,

since small numbers take one byte each and deflate well. The numbers are rounded before they are subtracted,
so that errors do not add up.
"""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import ArrayLike

from laserpath.base.arrays import Indices

_BITS = 7
_MOST = 9
"""Bytes of the longest number: 9 hold 62 bits and a sign."""


def packed(values: ArrayLike) -> str:
    """Integers of any shape, in row order, as base64."""
    flat = np.asarray(values, dtype=np.int64).ravel()
    return base64.b64encode(zlib.compress(_varints(flat), 9)).decode("ascii")


def packed_curve(values: Indices) -> str:
    """Integers (N,) that change little from one to the next."""
    return packed(np.diff(values, prepend=0))


def packed_raster(values: Indices) -> str:
    """Integers (rows, columns) that change little from pixel to pixel."""
    rows = np.diff(np.asarray(values, dtype=np.int64), axis=0, prepend=0)
    return packed(np.diff(rows, axis=1, prepend=0))


def _varints(flat: Indices) -> bytes:
    zigzag = np.where(flat < 0, -2 * flat - 1, 2 * flat).astype(np.uint64)
    groups = np.ones(len(flat), dtype=np.int64)
    for k in range(1, _MOST):
        groups += zigzag >> np.uint64(_BITS * k) > 0
    ends = np.cumsum(groups)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for k in range(int(groups.max(initial=0))):
        has = groups > k
        low = (zigzag[has] >> np.uint64(_BITS * k)) & np.uint64(127)
        more = np.where(groups[has] > k + 1, 128, 0)
        out[(ends - groups)[has] + k] = low.astype(np.uint8) + more.astype(np.uint8)
    return out.tobytes()
