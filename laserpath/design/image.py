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

from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import EMPTY, valid
from laserpath.design import colours
from laserpath.design.joined import Polygons, check_reach, joined, without_specks
from laserpath.design.pixels import Pixels, decode, decode_colours, ink
from laserpath.design.reading import Reading
from laserpath.design.squares import squares
from laserpath.types import Design

__all__ = ["ink", "outline", "read", "read_colours"]

FULL = 0.02  # tolerance of full and of no ink, for an edge to be located by the sum
GREY_SHARE = 0.05  # share of grey ink above which a warning is given
EDGE = 0.5  # range of ink in a 3×3 neighbourhood from which an edge runs through it
SPECK = 1e-6  # pixels²: smaller areas are rounding errors
STEP = 0.49  # pixels: no corner of a step of one pixel is nearer to the line past it, so all are kept
_CORNER = 0.5  # work of a corner of pixels whose steps are smoothed, relative to that of a crossing
ROUNDING = 1e-9  # pixels
NUDGE = 1e-3  # pixels: least distance of a vertex from the pixels' centres, so that no two vertices meet


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a PNG or TIFF file. name: of the design."""
    _check_layers(reading)
    pixels = decode(data)
    size = _size(pixels.pixel, reading)
    rows, columns = pixels.ink.shape
    page = _page(rows, columns, size)
    area = outline(pixels.ink, reading.threshold)
    if area.is_empty:
        raise InputError(
            f"the image is empty: no ink reaches the threshold {reading.threshold:g}, the most is "
            f"{figure(pixels.ink.max())}"
        )
    area = _placed(area, pixels.ink, size, page, reading)
    source = f"{columns} × {rows} pixels of {size:.6g} mm, ink from {reading.threshold:g} on"
    return Design(shapely.normalize(area), name, page, (*pixels.warnings, *_grey(pixels)), (source,))


def read_colours(data: bytes, name: str, reading: Reading) -> tuple[Design, ...]:
    """A design for each of `reading.colours` colours, the largest first. name: of the picture."""
    from laserpath.design.regions import regions

    _check_layers(reading)
    picture = decode_colours(data)
    size = _size(picture.pixel, reading)
    rows, columns = picture.rgb.shape[:2]
    page = _page(rows, columns, size)
    found = regions(picture.rgb, reading.colours or 1)
    patches = []
    for k, group in enumerate(found.groups):
        limits.spend()  # looks at the clock
        covered = found.coverage(k)
        area = outline(covered, 0.5)
        if not area.is_empty:
            patches.append(colours.Patch(group[:1], _placed(area, covered, size, page, reading)))
    background = f"background {colours.in_words(found.background)}"
    source = f"{columns} × {rows} pixels of {size:.6g} mm, {background}"
    return colours.designs(patches, name, page, reading, (picture.warnings, (source,)))


def _check_layers(reading: Reading) -> None:
    if reading.layers:
        raise InputError(f"an image has no layers, but layer {reading.layers[0]!r} is requested")


def _size(pixel: float | None, reading: Reading) -> float:
    """Width of a pixel, mm. pixel: as the file says."""
    size = reading.pixel or pixel
    if size is None:
        raise InputError(
            "the image does not say how large its pixels are: give it, as in --pixel 10um, or save it with a "
            "resolution"
        )
    return size


def _page(rows: int, columns: int, size: float) -> tuple[float, float, float, float]:
    """The sheet of an image, mm."""
    page = (0.0, 0.0, columns * size, rows * size)
    check_reach("the image", np.array(page))
    return page


def _placed(
    area: BaseGeometry, ink: Floats, size: float, page: tuple[float, float, float, float], reading: Reading
) -> BaseGeometry:
    """An outline in pixels, in mm on the page and without needless vertices. ink: that it is of."""
    area = shapely.transform(area, lambda xy: np.clip((xy + 0.5) * size, 0, page[2:]))
    return _simplified(area, ink, size, reading.tolerance)


def outline(ink: Floats, threshold: float) -> BaseGeometry:
    """The area where ink is at or above the threshold, in pixels from the centre of the lower left one."""
    if _has_two_levels(ink):
        polygons = squares(ink >= threshold)
        return shapely.multipolygons(polygons) if len(polygons) else EMPTY
    polygons = shapely.transform(_polygons(np.pad(ink, 1), threshold), lambda xy: xy - 1)
    return without_specks(joined(polygons), SPECK)


def _has_two_levels(ink: Floats) -> bool:
    """Whether an image has two values, or one."""
    return bool(((ink == ink.min()) | (ink == ink.max())).all())


def _simplified(area: BaseGeometry, ink: Floats, size: float, tolerance: float) -> BaseGeometry:
    """The outline without vertices that the tolerance allows to leave out. size: of a pixel, mm."""
    if _has_two_levels(ink):
        if tolerance < STEP * size:
            return area
        limits.spend(_CORNER * shapely.get_num_coordinates(area))  # steps become slopes, which may cross
    return valid(joined(shapely.simplify(shapely.get_parts(area), tolerance)))


def _polygons(ink: Floats, threshold: float) -> Polygons:
    """The polygons of a padded image, in pixels; they may touch themselves in points."""
    contours = contour_generator(z=ink, name="serial", fill_type=FillType.OuterOffset)
    filled: Any = contours.filled(threshold, 2.0)
    points, offsets = filled
    if not points:
        return np.empty(0, dtype=object)
    sizes = np.concatenate([np.diff(o.astype(np.int64)) for o in offsets])  # vertices of each ring
    rings = np.array([len(o) - 1 for o in offsets])  # of each polygon
    xy = np.concatenate(points)
    if threshold == 0.5:
        xy = _by_height(xy, ink)
    made = shapely.linearrings(xy, indices=np.repeat(np.arange(len(sizes)), sizes))
    polygons: Polygons = shapely.polygons(made, indices=np.repeat(np.arange(len(rings)), rings))
    return polygons


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
