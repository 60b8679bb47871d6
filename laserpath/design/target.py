"""The design on a grid: which fraction of each pixel is inside, exactly.

Each edge of the polygons is followed from one grid line to the next. A piece inside one pixel that
climbs by dy at mean distance m (in pixels) from the pixel's left side adds dy·(1 − m) to that pixel and
dy·m to the next one; the running sum along the row is then the signed area left of … right of all edges,
which is the coverage (the accumulation buffer of font rasterisers: Levien, font-rs, 2016). No boundary is
painted, so the sum over the pixels is the area of the design to rounding.
"""

from __future__ import annotations

import math

import numpy as np
import shapely
from scipy.fft import next_fast_len

from gcode.compiled import cached
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.physics import optics
from laserpath.types import Design, Grid, Spot, Target

MARGIN_FWHM = 4.0
"""Margin of the grid around the design, FWHM, for spots and edges outside it; a wider one costs pixels."""

PIXELS_MAX = 1 << 26
"""Most pixels of a grid of which all is worked on at once."""

COARSE_MAX = 1 << 28
"""Most pixels of the coarsest grid of a design that is worked on field by field, of which all is there at
once. A larger value takes designs that need more memory, about 50 bytes for each."""

_STRIP = 512
"""Rows that are covered at a time: more take more memory, and fewer more time to choose their edges."""

_ROUNDED = 1e-6
"""Pixels by which a design that was clipped to its grid may reach beyond it, by rounding."""

_EMPTY = 1e-13
"""Coverage up to which a pixel is empty: edges that cancel leave less than that, by rounding."""

_LEVEL = 1e-100
"""Pixels up to which an edge is level: the slope of one that climbs less may not be finite."""

COARSEST = 3.0
"""Fewest pixels per FWHM; fewer would make the interpolated edges of a dose wrong."""


def affordable(design: Design, spot: Spot, pixels_per_fwhm: float) -> float:
    """The requested pixels per FWHM, or the most that `PIXELS_MAX` allows.

    Raises InputError where that is below `COARSEST`.
    """
    pixels = math.prod(_cells(design, spot, pixels_per_fwhm))
    if pixels <= PIXELS_MAX:
        return pixels_per_fwhm
    # A little fewer, since each side has one pixel more than it has pitches.
    fitting = 0.999 * pixels_per_fwhm * math.sqrt(PIXELS_MAX / pixels)
    if fitting < COARSEST:
        raise _too_large(design, spot, pixels_per_fwhm, PIXELS_MAX * (pixels_per_fwhm / COARSEST) ** 2)
    return fitting


def _too_large(design: Design, spot: Spot, pixels_per_fwhm: float, most: float) -> InputError:
    """That a design needs more than `most` pixels."""
    (width, height), pitch = design.size, optics.fwhm(spot) / pixels_per_fwhm
    pixels = math.prod(_cells(design, spot, pixels_per_fwhm))
    return InputError(
        f"{design.name!r}, {figure(width, 4)} × {figure(height, 4)} mm, needs {figure(pixels, 2)} pixels of "
        f"{figure(pitch)} mm, above the {figure(most, 2)} that fit into memory: use a wider spot, or split "
        "the design"
    )


def _cells(design: Design, spot: Spot, pixels_per_fwhm: float) -> tuple[float, float]:
    """(rows, columns) of the grid, not rounded."""
    pitch, margin = optics.fwhm(spot) / pixels_per_fwhm, MARGIN_FWHM * optics.fwhm(spot)
    x0, y0, x1, y1 = design.bounds
    return (y1 - y0 + 2 * margin) / pitch + 1, (x1 - x0 + 2 * margin) / pitch + 1


def grid_for(design: Design, spot: Spot, pixels_per_fwhm: float) -> Grid:
    """The grid around a design, its shape rounded up to lengths with fast Fourier transforms.

    Raises InputError where the coarsest one would have more than `COARSE_MAX` pixels.
    """
    pitch = optics.fwhm(spot) / pixels_per_fwhm
    x0, y0, x1, y1 = design.bounds
    cells = _cells(design, spot, pixels_per_fwhm)
    most = COARSE_MAX * (pixels_per_fwhm / COARSEST) ** 2
    if math.prod(cells) > most:
        raise _too_large(design, spot, pixels_per_fwhm, most)
    rows, columns = (next_fast_len(math.ceil(n), real=True) for n in cells)
    origin = ((x0 + x1 - (columns - 1) * pitch) / 2, (y0 + y1 - (rows - 1) * pitch) / 2)
    return Grid(origin=origin, pitch=pitch, shape=(rows, columns))


def rasterise(design: Design, grid: Grid) -> Target:
    """The exact coverage of each pixel of `grid`; raises if the design reaches outside it."""
    edges = _edges(design)
    corner = np.asarray(grid.origin) - grid.pitch / 2
    start, end = (edges[:, :2] - corner) / grid.pitch, (edges[:, 2:] - corner) / grid.pitch
    rows, columns = grid.shape
    most = np.array([columns, rows])
    if (
        min(start.min(), end.min()) < -_ROUNDED
        or (np.maximum(start, end).max(axis=0) > most + _ROUNDED).any()
    ):
        raise InputError(f"design {design.name!r} reaches outside the grid {grid.extent} mm")
    start, end = np.clip(start, 0, most), np.clip(end, 0, most)
    coverage, steps = np.zeros((rows, columns), np.float32), np.empty((min(rows, _STRIP), columns + 2))
    for first in range(0, rows, _STRIP):
        _cover(start, end, first, steps, coverage[first : first + _STRIP])
    coverage.flags.writeable = False  # so that it is not copied
    return Target(grid, coverage)


def _edges(design: Design) -> Floats:
    """(N, 4) x0 y0 x1 y1 of all rings; exteriors counter-clockwise, holes clockwise."""
    rings = [
        shapely.get_coordinates(ring)
        for polygon in shapely.geometry.MultiPolygon(design.area).geoms
        for oriented in [shapely.geometry.polygon.orient(polygon)]
        for ring in (oriented.exterior, *oriented.interiors)
    ]
    return np.concatenate([np.hstack([ring[:-1], ring[1:]]) for ring in rings])


njit = cached(nogil=True)


@njit
def _cover(start: Floats, end: Floats, first: int, steps: Floats, coverage: Floats) -> None:
    """Fill in the coverage (rows, columns) of the rows from `first` on by edges (N, 2), in pixels.

    steps: (rows, columns + 2), room for what each pixel adds to the sum along its row.
    """
    rows, columns = coverage.shape
    steps[:rows] = 0.0
    for k in range(len(start)):
        (x0, y0), (x1, y1) = start[k], end[k]
        low, high = min(y0, y1), max(y0, y1)
        per_row = (x1 - x0) / (y1 - y0) if high - low > _LEVEL else 0.0
        for row in range(max(math.floor(low), first), min(math.ceil(high), first + rows)):
            bottom, top = max(low, row), min(high, row + 1)
            # A descending edge adds the area to its right: exteriors are counter-clockwise.
            climb = top - bottom if y0 > y1 else bottom - top
            a, b = x0 + (bottom - y0) * per_row, x0 + (top - y0) * per_row
            left, right = max(min(a, b, columns), 0.0), max(min(max(a, b), columns), 0.0)
            begin, width = math.floor(left), right - left
            for column in range(begin, max(math.ceil(right), begin + 1)):
                within = min(right, column + 1) - max(left, column)
                share = climb * (within / width if width > 0 else 1.0)
                beside = share * ((max(left, column) + min(right, column + 1)) / 2 - column)
                steps[row - first, column] += share - beside
                steps[row - first, column + 1] += beside
    for row in range(rows):
        total = 0.0
        for column in range(columns):
            total += steps[row, column]
            # What is empty stays unwritten, and so takes no memory.
            if total > _EMPTY:
                coverage[row, column] = min(total, 1.0)
