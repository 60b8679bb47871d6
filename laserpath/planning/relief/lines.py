"""The raster: horizontal lines a pitch apart, back and forth, cut into pieces, where there is a target dose.

Lines a pitch p apart leave a ripple of the relative amplitude 2 H(1/p), where H is the spot's transfer
function; an Airy spot leaves none for p ≤ 0.972 FWHM, its cut-off.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError
from laserpath.types import Grid, Relief, Toolpath

PITCH_FWHM = 0.9
PIECE_FWHM = 0.5
"""Length of a piece of one power: a longer one lets the link feed more speed, and the spot blurs a shorter
one."""

_DARK = 1e-3
"""Share of the largest dose below which a place is left dark: a larger one writes less of a faint picture."""


def resample(relief: Relief, values: Floats, grid: Grid) -> Floats:
    """`values` of a relief's pixels on another grid: averaged over its pixels, then linear between them."""
    share = grid.pitch / relief.grid.pitch
    smooth = ndimage.uniform_filter(values, max(1, round(share)), mode="constant") if share > 1 else values
    columns, rows = np.meshgrid(grid.x(), grid.y())
    x0, y0 = relief.grid.origin
    pixels = [(rows - y0) / relief.grid.pitch, (columns - x0) / relief.grid.pitch]
    return ndimage.map_coordinates(smooth, pixels, order=1, mode="constant", cval=0.0)


def raster(dose: Floats, grid: Grid, fwhm: float, piece: float) -> tuple[Floats, Bools]:
    """The vertices (N+1, 2) mm of a path over the whole target, and whether each move (N,) may be on.

    dose: (rows, columns), the target on `grid`.  piece: length of a piece of one power, mm.
    Raises InputError if the target is 0 everywhere.
    """
    near = ndimage.maximum_filter(dose, max(1, round(fwhm / 2 / grid.pitch))) > _DARK * dose.max()
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    if not len(rows):
        raise InputError("the target dose is 0 everywhere")
    y0, y1 = grid.y()[rows[[0, -1]]]
    x0, x1 = grid.x()[columns[[0, -1]]]
    count = max(1, round((y1 - y0) / (PITCH_FWHM * fwhm)) + 1)
    pieces = max(1, int(np.ceil((x1 - x0) / piece)))
    ends = np.linspace(x0, x1, pieces + 1)
    points, lit = [], []
    for n, y in enumerate(np.linspace(y0, y1, count) if count > 1 else [(y0 + y1) / 2]):
        xs = ends[::-1] if n % 2 else ends
        on = _lit_at(near, grid, (xs[1:] + xs[:-1]) / 2, float(y))
        if on.any():
            first, last = np.flatnonzero(on)[[0, -1]]
            points.append(np.stack([xs[first : last + 2], np.full(last - first + 2, y)], axis=1))
            lit.append(np.append(on[first : last + 1], False))  # then to the next line, dark
    return np.concatenate(points), np.concatenate(lit)[:-1]


def _lit_at(near: Bools, grid: Grid, x: Floats, y: float) -> Bools:
    columns, row = grid.to_pixels(np.stack([x, np.full_like(x, y)], axis=1)).T
    inside = np.clip(np.rint(columns).astype(int), 0, grid.shape[1] - 1)
    lit: Bools = near[np.clip(np.rint(row).astype(int), 0, grid.shape[0] - 1), inside]
    return lit


def with_runs(path: Toolpath, length: float, low: float, high: float) -> tuple[Toolpath, bool]:
    """The path with dark runs before and after each horizontal line, and whether all runs have room.

    The runs let the head have the commanded speed at both ends of a line.
    length: of a run, mm.  low, high: the machine's range in x, mm.
    """
    on, whole = path.on, True
    xy: list[Floats] = []
    power: list[Floats] = []
    speed: list[Floats] = []
    rapid = path.speed[~on].max(initial=path.speed.max())
    starts, ends = _rows(path)
    for a, b in zip(starts, ends, strict=True):
        way = 1.0 if path.xy[b, 0] > path.xy[a, 0] else -1.0
        run = path.xy[[a, b]] + length * np.array([[-way, 0.0], [way, 0.0]])
        whole &= bool(((run[:, 0] >= low) & (run[:, 0] <= high)).all())
        run[:, 0] = np.clip(run[:, 0], low, high)
        xy += [run[:1], path.xy[a : b + 1], run[1:]]
        power += [np.zeros(2), path.power[a:b], np.zeros(1)]
        speed += [np.full(2, rapid), path.speed[a:b], np.full(1, rapid)]
    joined = np.concatenate(xy)
    longer = Toolpath(joined, np.concatenate(power)[1:], np.concatenate(speed)[1:])
    real = longer.length > 0
    return Toolpath(joined[np.append(True, real)], longer.power[real], longer.speed[real]), whole


def _rows(path: Toolpath) -> tuple[Indices, Indices]:
    """First and last lit vertex of each horizontal line."""
    leaves = path.xy[1:, 1] != path.xy[:-1, 1]
    row = np.concatenate([[0], np.cumsum(leaves)])
    lit = np.unique(row[:-1][path.on])
    starts = np.array([int(np.flatnonzero((row[:-1] == r) & path.on)[0]) for r in lit], dtype=np.int64)
    ends = np.array([int(np.flatnonzero((row[:-1] == r) & path.on)[-1]) + 1 for r in lit], dtype=np.int64)
    return starts, ends
