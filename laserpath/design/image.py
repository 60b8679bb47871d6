"""PNG and TIFF → `Design`: the area where ink is above a threshold, with edges located between pixels.

An image of two levels is a map of square pixels, and its design is these squares, steps and all. Any other
image is taken as the coverage of each pixel, as anti-aliased drawing leaves it: the outline is the level line
of the ink, by marching squares between the pixels' centres. Where the ink falls from full to none within four
pixels of a row or column, c₀ ≥ c₁ ≥ c₂ ≥ c₃, the level line of one half is placed by their sum,

    x = c₀ + c₁ + c₂ + c₃ − ½      from the first centre, in pixels,

which is exact for a straight edge; interpolating between two pixels is off by up to 0.09 pixels (height
functions of the volume-of-fluid method: Cummins, Francois, Kothe, Comput. Struct. 83, 425, 2005). Corners
are rounded within a pixel. The page is the image, with (0, 0) its lower left corner.
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
from laserpath.design.joined import Polygons, check_reach, joined, without_specks
from laserpath.design.pixels import Pixels, decode, ink
from laserpath.design.reading import Reading
from laserpath.types import Design

__all__ = ["ink", "outline", "read"]

FULL = 0.02  # tolerance of full and of no ink, for an edge to be located by the sum
GREY_SHARE = 0.05  # share of grey ink above which a warning is given
EDGE = 0.5  # range of ink in a 3×3 neighbourhood from which an edge runs through it
SPECK = 1e-6  # pixels²: smaller areas are rounding errors
ROUNDING = 1e-9  # pixels
NUDGE = 1e-3  # pixels: least distance of a vertex from the pixels' centres, so that no two vertices meet


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a PNG or TIFF file. name: of the design."""
    if reading.layers:
        raise InputError(f"an image has no layers, but layer {reading.layers[0]!r} is requested")
    pixels = decode(data)
    size = reading.pixel or pixels.pixel
    if size is None:
        raise InputError(
            "the image does not say how large its pixels are: give it, as in --pixel 10um, or save it with a "
            "resolution"
        )
    rows, columns = pixels.ink.shape
    page = (0.0, 0.0, columns * size, rows * size)
    check_reach("the image", np.array(page))
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
    """The area where ink is at or above the threshold, in pixels from the centre of the lower left one."""
    levels = _levels(ink)
    padded = np.pad(ink, 1)
    polygons = _polygons(padded, threshold, levels)
    polygons = shapely.transform(polygons, lambda xy: xy - 1)
    return without_specks(joined(polygons), SPECK)


def _levels(ink: Floats) -> tuple[float, ...]:
    """The values of an image that has one or two; () if it has more."""
    low, high = float(ink.min()), float(ink.max())
    two = bool(((ink == low) | (ink == high)).all())
    return tuple(sorted({low, high})) if two else ()


def _polygons(ink: Floats, threshold: float, levels: tuple[float, ...]) -> Polygons:
    """The polygons of a padded image, in pixels; they may touch themselves in points."""
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
    """Rings along the pixels' edges instead of cutting their corners.

    The level line of a binary image crosses the squares between four centres from the middle of one side to
    that of another; the middle of the square is the corner of the four pixels.
    """
    ends = np.cumsum(sizes)
    corner = np.floor((xy[:-1] + xy[1:]) / 2) + 0.5
    both = np.empty((2 * len(xy) - 1, 2))
    both[::2], both[1::2] = xy, corner
    keep = np.ones(len(both), dtype=bool)
    keep[2 * ends[:-1] - 1] = False  # between the end of a ring and the start of the next
    return both[keep], 2 * sizes - 1


def _by_height(xy: Floats, ink: Floats) -> Floats:
    """The vertices moved to where the sum of the ink across the edge puts it. ink: padded."""
    out = xy.copy()
    padded = np.pad(ink, 2)
    off = np.abs(xy - np.rint(xy))
    for axis in (0, 1):  # vertices on grid lines along x, then along y
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
    """(4, n) ink of the pixels first − 1 … first + 2 along an axis. padded: by 2 pixels more."""
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
    """The warning about grey areas: ink that is neither black nor an anti-aliased edge."""
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
