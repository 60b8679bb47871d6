"""PNG and TIFF → `Design`: the area where ink is above a threshold, with edges located between pixels.

An image of two levels is a map of square pixels, and its design is these squares, steps and all. Any other
image is taken as the coverage of each pixel, as anti-aliased drawing leaves it: the outline is the level line
of the ink, by marching squares between the pixels' centres. Where the ink falls from full to none within four
pixels of a row or column, c₀ ≥ c₁ ≥ c₂ ≥ c₃, the level line of one half is placed by their sum,

    x = c₀ + c₁ + c₂ + c₃ − ½      from the first centre, in pixels,

which is exact for a straight edge; interpolating between two pixels is off by up to 0.09 pixels (height
functions of the volume-of-fluid method: Cummins, Francois, Kothe, Comput. Struct. 83, 425, 2005). Corners
are rounded within a pixel. The page is the image, with (0, 0) its lower left corner.

How much ink is in a pixel:

    ink = α (1 − min(R, G, B))      0 paper … 1 black;  α opacity, paper is white

Ink is linear in the numbers of the file, so that a pixel half covered by a black edge has half the ink. It is
taken from the smallest channel, not from the brightness: a saturated colour is as solid as black, as in SVG,
and half a pixel of pure yellow or red is half ink too. Floating-point greys go from 0 black to 1 white.

A map of square pixels becomes polygons along the pixels' edges. Runs of edges from corner to corner are
directed such that the solid is on their left. Rings follow them, and turn left where four runs meet, so that
squares that touch in a corner alone are separate polygons, as a valid area has them. A ring that passes a
corner twice turns right there, which cuts it in two: such passes cannot interleave in the plane, so that all
are cut at once. Then each part of the map has one ring around it, and one around each of its holes. All of it
is done for all runs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from contourpy import FillType, contour_generator
from numpy.typing import NDArray
from scipy.ndimage import label, maximum_filter, minimum_filter
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError, figure
from laserpath.base.isolated import Decoded, picture
from laserpath.base.overlay import EMPTY, valid
from laserpath.design import colours
from laserpath.design.fill import Polygons, check_reach, joined, without_specks
from laserpath.design.reading import Reading
from laserpath.types import Design

SQUARE = 1e-3  # relative difference of a pixel's width and height that is taken for rounding


@dataclass(frozen=True, slots=True)
class Pixels:
    """ink: (rows, columns) float64, 0 paper … 1 black, row 0 the lowest.

    pixel: width of a pixel, mm; None: not in the file.  warnings: a sentence each.
    """

    ink: Floats
    pixel: float | None
    warnings: tuple[str, ...] = ()


def ink(data: bytes) -> tuple[Floats, float | None]:
    """The ink of an image file, (rows, columns) with row 0 the lowest, and the width of its pixels in mm."""
    pixels = decode(data)
    return pixels.ink, pixels.pixel


def decode(data: bytes) -> Pixels:
    """The first image of a PNG or TIFF file."""
    image = _decoded(data)
    return Pixels(_ink(image)[::-1], _pixel(image), (*_first_of(image), *_scaled(image)))


def _decoded(data: bytes) -> Decoded:
    if not data:
        raise InputError("the file is empty")
    image = picture(data, ("PNG", "TIFF"))
    if image is None:
        raise InputError(_unknown(data))
    return image


def _first_of(image: Decoded) -> tuple[str, ...]:
    """The warning that a file has more images than one."""
    return (f"only the first of the file's {image.pages} pictures is read",) if image.pages > 1 else ()


@dataclass(frozen=True, slots=True)
class Coloured:
    """rgb: (rows, columns, 3) uint8 on white paper, row 0 the lowest.  pixel, warnings: as of `Pixels`."""

    rgb: NDArray[np.uint8]
    pixel: float | None
    warnings: tuple[str, ...] = ()


def decode_colours(data: bytes) -> Coloured:
    """The colours of the first image of a PNG or TIFF file; raises if it has none."""
    image = _decoded(data)
    numbers = image.numbers
    if numbers.ndim == 2:
        raise InputError(
            "the picture has no colours, only black, white or greys: leave --colours out, or read the greys "
            "as wanted dose with --grey"
        )
    if numbers.shape[2] == 4:
        opacity = numbers[..., 3:].astype(np.uint16)
        mixed = (numbers[..., :3] * opacity + 255 * (255 - opacity) + 127) // 255
        numbers = mixed.astype(np.uint8)
    return Coloured(numbers[::-1], _pixel(image), _first_of(image))


def _unknown(data: bytes) -> str:
    """Why a file is not an image that can be read."""
    known = {b"\xff\xd8\xff": "JPEG", b"GIF8": "GIF", b"BM": "BMP", b"RIFF": "WebP", b"%PDF": "PDF"}
    for magic, kind in known.items():
        if data.startswith(magic):
            return f"the file is {kind}, but only PNG and TIFF are read"
    if data.startswith((b"\x89PNG", b"II*\0", b"MM\0*")):
        return "the image is broken or cut off"
    return "the file is neither PNG nor TIFF"


@np.errstate(invalid="ignore")  # a signalling NaN, which is refused by its name
def _ink(image: Decoded) -> Floats:
    """(rows, columns) ink, row 0 the uppermost."""
    numbers = image.numbers
    if numbers.ndim == 3:
        ink = 1 - numbers[..., :3].min(axis=2) / 255
        return ink if numbers.shape[2] == 3 else numbers[..., 3] / 255 * ink
    if numbers.dtype == np.uint8:
        return 1 - numbers / 255
    if numbers.dtype == np.uint16 or _is_16_bit_png(image):
        return _from_white(numbers / 65535, image)
    if numbers.dtype == np.float32:
        return _from_white(_unit(numbers.astype(np.float64)), image)
    low, high = _range(image)
    return _from_white((numbers.astype(np.float64) - low) / (high - low), image)


def _is_16_bit_png(image: Decoded) -> bool:
    """Whether it is a 16-bit PNG as Pillow before version 11 decodes it."""
    return image.numbers.dtype == np.int32 and image.format == "PNG"


def _range(image: Decoded) -> tuple[int, int]:
    """The least and the largest value of an integer image; raises if they are the same."""
    low, high = int(image.numbers.min()), int(image.numbers.max())
    if low == high:
        raise InputError(f"the image is {low} everywhere, which says neither black nor white")
    return low, high


def _scaled(image: Decoded) -> tuple[str, ...]:
    """The warning about integers of 32 bits or with a sign, which do not define black and white."""
    if image.numbers.dtype != np.int32 or _is_16_bit_png(image):
        return ()
    low, high = _range(image)
    ends = "white to black" if image.inverted else "black to white"
    return (f"the image has whole numbers from {low} to {high}, which are taken as {ends}",)


def _from_white(white: Floats, image: Decoded) -> Floats:
    """The ink of greys that Pillow leaves as they are in the file."""
    return white if image.inverted else 1 - white


def _unit(white: Floats) -> Floats:
    """Floating-point greys, checked to be from 0 to 1."""
    low, high = float(white.min()), float(white.max())
    if not (low >= 0 and high <= 1):  # NaN too
        raise InputError(
            f"the image has floats from {low:g} to {high:g}, but they must go from 0 black to 1 white"
        )
    return white


def _pixel(image: Decoded) -> float | None:
    """Width of a pixel in mm; None: the file has no resolution in a unit of length."""
    if image.dpi is None:
        return None
    x, y = image.dpi
    if not (np.isfinite([x, y]).all() and min(x, y) > 0):
        return None
    if abs(x - y) > SQUARE * max(x, y):
        raise InputError(
            f"the image's pixels are {figure(25.4 / x, 4)} × {figure(25.4 / y, 4)} mm, but must be square"
        )
    return 25.4 / x


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
    return _with_holes(xy[runs.start[order]], ring[order], runs.part[order])


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


def _with_holes(xy: Floats, ring: Indices, part: Indices) -> Polygons:
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


__all__ = ["ink", "outline", "read", "read_colours"]

FULL = 0.02  # tolerance of full and of no ink, for an edge to be located by the sum
GREY_SHARE = 0.05  # share of grey ink above which a warning is given
EDGE = 0.5  # range of ink in a 3×3 neighbourhood from which an edge runs through it
SPECK = 1e-6  # pixels²: smaller areas are rounding errors
STEP = 0.49  # pixels: no corner of a step of one pixel is nearer to the line past it, so all are kept
ROUNDING = 1e-9  # pixels
NUDGE = 1e-3  # pixels: least distance of a vertex from the pixels' centres, so that no two vertices meet


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a PNG or TIFF file. name: of the design."""
    _check_layers(reading)
    pixels = decode(data)
    size = _size(pixels.pixel, reading)
    rows, columns = pixels.ink.shape
    page = _page(rows, columns, size)
    limits.spend()
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
    from laserpath.design.colours import regions

    _check_layers(reading)
    picture = decode_colours(data)
    size = _size(picture.pixel, reading)
    rows, columns = picture.rgb.shape[:2]
    page = _page(rows, columns, size)
    found = regions(picture.rgb, reading.colours or 1)
    patches = []
    for k, group in enumerate(found.groups):
        limits.spend()
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
    if _has_two_levels(ink) and tolerance < STEP * size:
        return area
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
        limits.spend()
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
    limits.spend()
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
