"""The translation between a program and its design where the work zeros differ; no rotation, no scale.

**Level.** Where an edge prints depends on the exposure. Edges are taken at the dose above which the print has
the area of the design: it is then neither too wide nor too narrow.

**Coarse.** Of all shifts s by whole pixels, take the one with the largest overlap ∫ c(x) w(x − s) dx, with c
the cured fraction at that level and w the coverage of the design (one FFT). Shifting changes neither area, so
this shift also has the largest IoU. Where many shifts are equally good, their middle is taken.

**Fine.** An edge at x with normal n is off by ε. If the print is shifted by t and too wide by b all around,
then ε ≈ n·t + b; t follows by least squares over the edges that print. The design is moved by t until t
vanishes.
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
"""Pixels of the coarse overlap; with more, the shift is finer and the FFT takes longer."""

_SAME = 2e-3
"""Relative difference up to which overlaps count as equally good."""

_SLOPE = (0.02, 0.9)
"""Lowest and highest level, relative to the largest dose; outside this range edges are ill-defined."""

_STEPS, _SETTLED_FWHM = 8, 1e-4
_FEWEST = 8


def translation(dose: Floats, grid: Grid, design: Design, spot: Spot) -> Point:
    """The translation (x, y) mm that lays a design on its print."""
    level = _level(dose, grid, design)
    return _fine(dose, grid, design, spot, level, np.array(_coarse(dose, grid, design, level)))


def _level(dose: Floats, grid: Grid, design: Design) -> float:
    """The dose above which the area equals the design's, kept within _SLOPE."""
    count = min(round(design.area.area / grid.pixel_area), dose.size - 1)
    level = float(np.partition(dose.ravel(), dose.size - 1 - count)[dose.size - 1 - count])
    low, high = _SLOPE
    return min(max(level, low * float(dose.max())), high * float(dose.max()))


def moved(design: Design, by: Point) -> Design:
    """The design and its page, translated `by` mm."""
    (x, y), page = by, design.page
    return replace(
        design,
        area=valid(affinity.translate(design.area, x, y)),
        page=page and (page[0] + x, page[1] + y, page[2] + x, page[3] + y),
    )


def _coarse(dose: Floats, grid: Grid, design: Design, level: float) -> Point:
    """The translation to about a pixel, from the overlap of all shifts."""
    cured = cured_fraction(dose, level)
    (width, height), (rows, columns) = design.size, grid.shape
    many = (columns + width / grid.pitch) * (rows + height / grid.pitch)
    field, pitch, corner = _blocks(cured, grid, max(1, int(np.ceil(np.sqrt(many / _PIXELS)))))
    target = _raster(design, pitch)
    v, u = _middle_of_best(fftconvolve(field, target.coverage[::-1, ::-1]))
    # Pixel (0, 0) of the full convolution: the last pixel of the design lies on the first of the field.
    last = np.array(target.grid.origin) + pitch * (np.array(target.grid.shape[::-1]) - 1)
    x, y = corner + pitch * np.array([u, v]) - last
    return float(x), float(y)


def _blocks(field: Floats, grid: Grid, times: int) -> tuple[Floats, float, Floats]:
    """(means of times × times pixels, their pitch, centre of the first), padded with zeros."""
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
    """(row, column) of the largest overlap: the middle of the region of equally good ones."""
    best = np.unravel_index(int(np.argmax(overlap)), overlap.shape)
    parts, _ = ndimage.label(overlap >= (1 - _SAME) * overlap[best])
    v, u = ndimage.center_of_mass(parts == parts[best])
    return float(v), float(u)


def _fine(dose: Floats, grid: Grid, design: Design, spot: Spot, level: float, shift: Floats) -> Point:
    """The translation from the edges, by least squares for shift and overexposure."""
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
