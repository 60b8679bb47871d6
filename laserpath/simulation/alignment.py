"""Where a design lies in a file that has another work zero: the translation alone, no turn and no scale.

**Level.** Where a print ends depends on how much it is exposed. It is looked at where its dose falls below
the level above which it has as much area as the design: then it is neither too wide nor too narrow.

**Coarse.** Of the shifts s by whole pixels the one of the largest overlap ∫ c(x) w(x − s) dx, c the cured
fraction at that level, w the coverage of the design (one FFT). The areas of both do not change, so that it is
the shift of the largest IoU too. Where many shifts are as good the middle of them is taken.

**Fine.** An edge at x with normal n is off by ε. If the print is off by t and all around too wide by b,
ε ≈ n·t + b; t is found by least squares over the edges that print, and the design moved by it, until it
stays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import ndimage
from scipy.signal import fftconvolve
from shapely import affinity

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.overlay import valid
from laserpath.design.scene import Scene
from laserpath.design.target import rasterise
from laserpath.measure import cured_fraction, edge_errors
from laserpath.types import Design, Grid, Point, Resin, Spot, Target

_PIXELS = 1 << 22
"""Of the overlap, as a function of the shift."""

_SAME = 2e-3
"""Relative difference of overlaps that are as good as each other."""

_SLOPE = (0.02, 0.9)
"""Of the largest dose."""

_STEPS, _SETTLED_FWHM = 8, 1e-4
_FEWEST = 8


def translation(dose: Floats, grid: Grid, design: Design, spot: Spot) -> Point:
    """How far a print is from its design, (x, y) mm: the design moved by that lies on it."""
    level = _level(dose, grid, design)
    return _fine(dose, grid, design, spot, level, np.array(_coarse(dose, grid, design, level)))


def _level(dose: Floats, grid: Grid, design: Design) -> float:
    """The dose above which there is as much area as is drawn; not at the foot or the top of its slopes."""
    count = min(round(design.area.area / grid.pixel_area), dose.size - 1)
    level = float(np.partition(dose.ravel(), dose.size - 1 - count)[dose.size - 1 - count])
    low, high = _SLOPE
    return min(max(level, low * float(dose.max())), high * float(dose.max()))


def moved(design: Design, by: Point) -> Design:
    """The design `by` mm further, with its page."""
    (x, y), page = by, design.page
    return replace(
        design,
        area=valid(affinity.translate(design.area, x, y)),
        page=page and (page[0] + x, page[1] + y, page[2] + x, page[3] + y),
    )


def _coarse(dose: Floats, grid: Grid, design: Design, level: float) -> Point:
    """Within a pixel or so, from the overlap of all shifts."""
    cured = cured_fraction(dose, level)
    (width, height), (rows, columns) = design.size, grid.shape
    many = (columns + width / grid.pitch) * (rows + height / grid.pitch)
    field, pitch, corner = _blocks(cured, grid, max(1, int(np.ceil(np.sqrt(many / _PIXELS)))))
    wanted = _raster(design, pitch)
    v, u = _middle_of_best(fftconvolve(field, wanted.coverage[::-1, ::-1]))
    # Pixel (0, 0) of the full convolution: the last pixel of the design lies on the first of the field.
    last = np.array(wanted.grid.origin) + pitch * (np.array(wanted.grid.shape[::-1]) - 1)
    x, y = corner + pitch * np.array([u, v]) - last
    return float(x), float(y)


def _blocks(field: Floats, grid: Grid, times: int) -> tuple[Floats, float, Floats]:
    """(means of times × times pixels, their pitch, centre of the first), dark where the last are not full."""
    rows, columns = (-(-n // times) * times for n in field.shape)
    whole = np.pad(field, [(0, rows - field.shape[0]), (0, columns - field.shape[1])])
    means = whole.reshape(rows // times, times, columns // times, times).mean(axis=(1, 3))
    return means, grid.pitch * times, np.array(grid.origin) + grid.pitch * (times - 1) / 2


def _raster(design: Design, pitch: float) -> Target:
    """The coverage of the design alone, in pixels of any pitch."""
    x0, y0, x1, y1 = design.bounds
    shape = int((y1 - y0) / pitch) + 2, int((x1 - x0) / pitch) + 2
    return rasterise(design, Grid((x0 + pitch / 4, y0 + pitch / 4), pitch, shape))


def _middle_of_best(overlap: Floats) -> tuple[float, float]:
    """(row, column) of the largest overlap; the middle of where it is as good as that."""
    best = np.unravel_index(int(np.argmax(overlap)), overlap.shape)
    parts, _ = ndimage.label(overlap >= (1 - _SAME) * overlap[best])
    v, u = ndimage.center_of_mass(parts == parts[best])
    return float(v), float(u)


def _fine(dose: Floats, grid: Grid, design: Design, spot: Spot, level: float, shift: Floats) -> Point:
    """From the edges: shift and overexposure told apart by least squares."""
    x0, x1, y0, y1 = grid.extent
    for _ in range(_STEPS):
        edges = edge_errors(dose, Scene(moved(design, (shift[0], shift[1])), grid, spot, Resin()), level)
        (x, y), used = edges.xy.T, ~edges.missing
        used &= (x > x0) & (x < x1) & (y > y0) & (y < y1)
        if used.sum() < _FEWEST:
            break
        unknowns = np.column_stack([edges.normal[used], np.ones(used.sum())])
        by = np.linalg.lstsq(unknowns, edges.epe[used], rcond=None)[0][:2]
        shift = shift + by
        if np.hypot(*by) < _SETTLED_FWHM * optics.fwhm(spot):
            break
    return float(shift[0]), float(shift[1])
