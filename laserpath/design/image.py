"""PNG and TIFF → `Design`: what has at least so much ink, with edges between the pixels.

A picture of two levels is a map of square pixels, and its design is these squares, steps and all. Any other
is taken as the coverage of each pixel, as everything that draws with anti-aliased edges leaves it: the
outline is the level line of the ink, by marching squares between the pixels' centres. Where the ink falls
from full to none within four pixels of a row or column, c₀ ≥ c₁ ≥ c₂ ≥ c₃, the level line of one half is put
where their sum says,

    x = c₀ + c₁ + c₂ + c₃ − ½      from the first centre, in pixels,

which is exact for a straight edge; interpolated between two of them it is off by up to 0.09 pixels (height
functions of the volume-of-fluid method: Cummins, Francois, Kothe, Comput. Struct. 83, 425, 2005). Corners
are rounded within a pixel. The page is the picture, (0, 0) its lower left corner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from contourpy import FillType, contour_generator
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter, minimum_filter
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError
from laserpath.design.joined import Polygons, joined, reached, without_specks
from laserpath.design.pixels import Pixels, decode, ink
from laserpath.design.reading import Reading
from laserpath.types import Design

__all__ = ["ink", "outline", "read"]

FULL = 0.02  # of the range of ink, by which full and none may be missed
GREY_SHARE = 0.05  # of the ink, from which on a picture is not just black and white
EDGE = 0.5  # least range of ink among a pixel and its neighbours where an edge goes through
SPECK = 1e-6  # pixels²: less is rounding
ROUNDING = 1e-9  # pixels
NUDGE = 1e-3  # pixels that a vertex stays away from the centres, so that no two meet


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a PNG or TIFF file. name: of the design."""
    if reading.layers:
        raise InputError(f"an image has no layers, but layer {reading.layers[0]!r} is asked for")
    pixels = decode(data)
    size = reading.pixel or pixels.pixel
    if size is None:
        raise InputError(
            "the image does not say how large its pixels are: give it, as in --pixel 10um, or save it with a "
            "resolution"
        )
    rows, columns = pixels.ink.shape
    page = (0.0, 0.0, columns * size, rows * size)
    reached("the image", np.array(page))
    area = outline(pixels.ink, reading.threshold)
    if area.is_empty:
        raise InputError(
            f"the image is empty: no ink reaches the threshold {reading.threshold:g}, the most is "
            f"{pixels.ink.max():.3g}"
        )
    area = shapely.transform(area, lambda xy: np.clip((xy + 0.5) * size, 0, page[2:]))
    area = joined(shapely.simplify(shapely.get_parts(area), reading.tolerance))
    source = f"{columns} × {rows} pixels of {size:.6g} mm, ink from {reading.threshold:g} on"
    return Design(shapely.normalize(area), name, page, (*pixels.warnings, *_grey(pixels)), (source,))


def outline(ink: Floats, threshold: float) -> BaseGeometry:
    """Where there is that much ink, in pixels from the centre of the lowest left one."""
    levels = _levels(ink)
    padded = np.pad(ink, 1)
    polygons = _polygons(padded, threshold, levels)
    polygons = shapely.transform(polygons, lambda xy: xy - 1)
    return without_specks(joined(polygons), SPECK)


def _levels(ink: Floats) -> tuple[float, ...]:
    """Its two values, or one; nothing if there are more."""
    low, high = float(ink.min()), float(ink.max())
    two = bool(((ink == low) | (ink == high)).all())
    return tuple(sorted({low, high})) if two else ()


def _polygons(ink: Floats, threshold: float, levels: tuple[float, ...]) -> Polygons:
    """The polygons of a padded picture, in pixels; they may touch themselves in points."""
    if levels:
        ink = (ink >= threshold).astype(np.float64)
        threshold = 0.5
    contours = contour_generator(z=ink, name="serial", fill_type=FillType.OuterOffset)
    filled: Any = contours.filled(threshold, 2.0)
    points, offsets = filled
    if not points:
        return np.empty(0, dtype=object)
    sizes = np.concatenate([np.diff(o.astype(np.int64)) for o in offsets])  # vertices of each ring
    rings = np.array([len(o) - 1 for o in offsets])  # of each polygon
    xy = np.concatenate(points)
    if levels:
        xy, sizes = _squared(xy, sizes)
    elif threshold == 0.5:
        xy = _by_height(xy, ink)
    made = shapely.linearrings(xy, indices=np.repeat(np.arange(len(sizes)), sizes))
    polygons: Polygons = shapely.polygons(made, indices=np.repeat(np.arange(len(rings)), rings))
    return polygons


def _squared(xy: Floats, sizes: Indices) -> tuple[Floats, Indices]:
    """Rings that go round the pixels' corners instead of cutting them.

    A level line of 0 and 1 goes from side to side of the squares between four centres, crossing each in
    its middle; the corner of the four pixels is the middle of the square.
    """
    ends = np.cumsum(sizes)
    corner = np.floor((xy[:-1] + xy[1:]) / 2) + 0.5
    both = np.empty((2 * len(xy) - 1, 2))
    both[::2], both[1::2] = xy, corner
    keep = np.ones(len(both), dtype=bool)
    keep[2 * ends[:-1] - 1] = False  # between the end of a ring and the start of the next
    return both[keep], 2 * sizes - 1


def _by_height(xy: Floats, ink: Floats) -> Floats:
    """The vertices where the sum of the ink across the edge says. ink: padded."""
    out = xy.copy()
    padded = np.pad(ink, 2)
    off = np.abs(xy - np.rint(xy))
    for axis in (0, 1):  # of the grid line that a vertex is on: along x, along y
        lies = (off[:, 1 - axis] < ROUNDING) & (off[:, axis] > ROUNDING)
        at = np.flatnonzero(lies)
        first = np.floor(xy[at, axis]).astype(np.int64)
        other = np.rint(xy[at, 1 - axis]).astype(np.int64)
        four = _four(padded, first, other, axis)
        rises = four[3] > four[0]
        falling = np.where(rises, four[::-1], four)
        x = np.clip(falling.sum(axis=0) - 1.5, NUDGE, 1 - NUDGE)  # from the second centre
        good = _is_step(falling)
        out[at[good], axis] = first[good] + np.where(rises, 1 - x, x)[good]
    return out


def _four(padded: Floats, first: Indices, other: Indices, axis: int) -> Floats:
    """(4, n) ink of the pixels first − 1 … first + 2 along an axis. padded: by 2 more."""
    along = first + 2 + np.arange(-1, 3)[:, None]
    across = np.broadcast_to(other + 2, along.shape)
    return padded[across, along] if axis == 0 else padded[along, across]


def _is_step(falling: NDArray[np.floating]) -> Bools:
    """(n,) whether the ink falls from full to none, once. falling: (4, n)."""
    steps: Bools = (
        (falling[0] >= 1 - FULL) & (falling[3] <= FULL) & (np.diff(falling, axis=0) <= FULL).all(axis=0)
    )
    return steps


def _grey(pixels: Pixels) -> tuple[str, ...]:
    """A sentence about ink that is neither black nor on the way from black to white."""
    ink = pixels.ink.astype(np.float32)
    inked = ink > 0.05
    around = maximum_filter(ink, 3, mode="nearest") - minimum_filter(ink, 3, mode="nearest")
    grey = inked & (ink < 0.95) & (around < EDGE)
    share = float(grey.sum() / max(1, inked.sum()))
    if share < GREY_SHARE:
        return ()
    return (
        f"{share:.0%} of the ink is grey, and becomes solid or nothing by the threshold; "
        "with --grey it is read as wanted dose",
    )
