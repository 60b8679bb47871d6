"""Where a photograph of a print shows its edges, and which place of the machine each pixel is.

**Sight.** A place x on the machine is seen at the pixel p = A x + b, (column, row), rows from the top. Marks
give A and b by least squares; two of them a similarity, more any A. Without marks the predicted print is laid
on the photograph: its size is that of the larger part of two grey levels (N. Otsu, IEEE Trans. SMC 9 (1979)
62), a quarter turn is tried, and `prints.pose_of` finds the rest to about a pixel.

**Edges.** The grey is scaled to 1 inside and 0 outside by levels that may change slowly over the photograph:
means over `_LEVEL_FWHM` of what is inside, or outside, by more than `_DEEP_FWHM`. An edge is where that falls
through 1/2 along a normal, nearest to where it is expected. A blur by σ moves no straight edge there, but one
of radius R by about σ²/2R inward, and those of narrow bars. `blur` tells σ from how steeply the grey falls
there, √(2π) σ = 1/slope, so that an expected print can be blurred as much before they are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates, spline_filter

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.isolated import picture
from laserpath.calibration.prints import likeness, pose_of, shrunk
from laserpath.types import Fiducial, Grid

_COARSE = 256
"""Largest side of the images that are laid on each other: larger ones tell the pose more exactly, slowly."""
_LEAST_LIKENESS = 0.5
"""Correlation below which a photograph is of something else."""
_DEEP_FWHM, _LEVEL_FWHM, _LEVELS_PER_FWHM = 0.7, 8.0, 3.0
SMOOTHED = 0.7
"""Pixels, σ of a Gaussian against noise: a larger one rounds corners off."""
_STEP = 0.5
"""Pixels from one reading along a normal to the next."""
_AT_ONCE = 20_000
"""Normals that are read at a time, for memory."""
_FAINT = 4.0
"""Contrast in standard deviations of the noise below which no edge is seen."""


def read_photograph(data: bytes) -> Floats:
    """The brightness of a PNG, TIFF or JPEG, (rows, columns) with row 0 at the top, in any unit."""
    shown = picture(data, ("PNG", "TIFF", "JPEG"))
    if shown is None:
        raise InputError("it is not a PNG, TIFF or JPEG file that can be read")
    grey: Floats = shown.colours.mean(axis=2, dtype=np.float64)
    if not np.isfinite(grey).all() or np.ptp(grey) == 0:
        raise InputError(f"it is {grey.flat[0]:g} everywhere, so that nothing can be seen")
    return grey


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """The module's p = A x + b. matrix: (2, 2) A, pixels per mm.  at: (2,) b, pixels."""

    matrix: Floats
    at: Floats

    def pixels(self, xy: Floats) -> Floats:
        """(N, 2) columns and rows of places (N, 2) mm."""
        return np.asarray(xy @ self.matrix.T + self.at)

    @property
    def pixel(self) -> float:
        """mm, the side of a square as large as a pixel."""
        return float(abs(np.linalg.det(self.matrix)) ** -0.5)

    @property
    def stretch(self) -> float:
        """Longest ÷ shortest image of a length: 1 of a photograph that is taken at a right angle."""
        long, short = np.linalg.svd(self.matrix, compute_uv=False)
        return float(long / short)

    @property
    def turn(self) -> float:
        """Degrees by which the print is turned in the photograph, counter-clockwise."""
        return float(np.degrees(np.arctan2(-self.matrix[1, 0], self.matrix[0, 0])))

    @classmethod
    def fitted(cls, xy: Floats, pixels: Floats) -> Sight:
        """By least squares from places (N, 2) mm and their pixels (N, 2), N at least 3."""
        found = np.linalg.lstsq(np.column_stack([xy, np.ones(len(xy))]), pixels, rcond=None)[0]
        return cls(found[:2].T, found[2])


def seen_by_marks(marks: Sequence[Fiducial]) -> Sight:
    """The sight of marks. design: of each, the pixel (column, row).  machine: its place, mm."""
    if len(marks) < 2:
        raise InputError("a photograph needs two marks or more, or none")
    pixels, xy = (np.array([getattr(mark, where) for mark in marks]) for where in ("design", "machine"))
    if len(marks) > 2:
        spread = np.linalg.svd(xy - xy.mean(axis=0), compute_uv=False)
        if spread[1] < 0.02 * spread[0]:
            raise InputError(f"the {len(marks)} marks lie on a line; give one beside it, or two only")
        return Sight.fitted(xy, pixels)
    # Rows go down and y up: the third place is a quarter turn further in both.
    along, across = pixels[1] - pixels[0], xy[1] - xy[0]
    if not np.hypot(*along) > 0 or not np.hypot(*across) > 0:
        raise InputError("the two marks of the photograph are at one place")
    third = pixels[0] + (along[1], -along[0]), xy[0] + (-across[1], across[0])
    return Sight.fitted(np.vstack([xy, third[1]]), np.vstack([pixels, third[0]]))


def seen_by_outline(photo: Floats, printed: Floats, grid: Grid, pixel: float | None = None) -> Sight:
    """The sight of a photograph (H, W) of a predicted print, to about a coarse pixel.

    printed: (rows, columns) 0 … 1 on the grid.  pixel: mm, of the photograph, if it is known.
    """
    fewer = max(1.0, max(printed.shape) / _COARSE)
    image, wide = shrunk(printed, fewer)[::-1], grid.pitch * fewer
    if pixel is None:
        pixel = grid.pitch * float(np.sqrt(printed.sum() / _area(photo)))
    times = wide / pixel
    if not min(photo.shape) / times >= 16:
        raise InputError("it shows the print too small, or only a part of it")
    small = shrunk(photo, times)
    found = []
    for quarters in range(4):
        turned = np.rot90(small, quarters)
        pose = pose_of(turned, image, turned=True)
        found.append((likeness(turned, image, pose) - 0.02 * (quarters > 0), quarters, pose))
    like, quarters, pose = max(found, key=lambda one: one[0])
    if like < _LEAST_LIKENESS:
        raise InputError(
            f"it does not look like the print of the design: their correlation is {figure(like, 2)}, but "
            f"must be at least {_LEAST_LIKENESS:g}; give marks, or crop the photograph to the print"
        )
    turned = np.rot90(small, quarters)
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) * grid.pitch * max(printed.shape)
    columns, rows = (places.T / grid.pitch + 0.5) / fewer - 0.5
    at = pose.printed(np.stack([image.shape[0] - 1 - rows, columns]), turned.shape, image.shape)
    for _ in range(quarters):  # back, one quarter turn clockwise at a time
        at = np.stack([at[1], turned.shape[0] - 1 - at[0]])
        turned = np.rot90(turned, -1)
    seen = (at + 0.5) * times - 0.5
    return Sight.fitted(places + grid.origin, seen[::-1].T)


def _area(photo: Floats) -> float:
    """Pixels of the print: of the one of two grey levels that is rarer along the border."""
    times = max(1.0, max(photo.shape) / (2 * _COARSE))
    small = shrunk(photo, times)
    count, ends = np.histogram(small, 256)
    middle = (ends[1:] + ends[:-1]) / 2
    below, moment = np.cumsum(count), np.cumsum(count * middle)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = (moment[-1] * below / below[-1] - moment) ** 2 / (below * (below[-1] - below))
    bright = small > ends[1 + int(np.nanargmax(apart[:-1]))]
    border = np.concatenate([bright[0], bright[-1], bright[:, 0], bright[:, -1]])
    share = float(bright.mean())
    return max(1.0, (1 - share if border.mean() > 0.5 else share) * photo.size)


@dataclass(frozen=True, slots=True, eq=False)
class GreyPhotograph:
    """grey: (H, W), row 0 at the top.  spline: its coefficients, smoothed.  noise: of a pixel, r.m.s."""

    grey: Floats
    spline: Floats
    noise: float

    @classmethod
    def of(cls, grey: Floats) -> GreyPhotograph:
        """Of a grey image."""
        noise = 1.4826 * float(np.median(np.abs(grey - gaussian_filter(grey, 1.0))))
        return cls(grey, spline_filter(gaussian_filter(grey, SMOOTHED), order=3, mode="mirror"), noise)


@dataclass(frozen=True, slots=True, eq=False)
class PhotoEdges:
    """A photograph whose edges can be read. inside, outside: (rows, columns) levels of the grey on a grid."""

    photo: GreyPhotograph
    sight: Sight
    grid: Grid
    inside: Floats
    outside: Floats

    @classmethod
    def of(cls, photo: GreyPhotograph, sight: Sight, depth: Floats, grid: Grid, fwhm: float) -> PhotoEdges:
        """depth: (rows, columns) FWHM that a pixel of the grid is inside the expected print; < 0 outside."""
        fewer = slice(None, None, max(1, int(fwhm / grid.pitch / _LEVELS_PER_FWHM)))
        depth, grid = depth[fewer, fewer], grid.part(fewer, fewer)
        y, x = np.meshgrid(grid.y(), grid.x(), indexing="ij")
        at = sight.pixels(np.stack([x.ravel(), y.ravel()], axis=1))
        seen = map_coordinates(photo.grey, at.T[::-1], order=1, mode="nearest").reshape(grid.shape)
        height, width = photo.grey.shape
        shown = ((at > 0) & (at < (width - 1, height - 1))).all(axis=1).reshape(grid.shape)
        sigma = _LEVEL_FWHM * fwhm / grid.pitch
        inside, outside = (
            _level(seen, shown & (sign * depth > min(_DEEP_FWHM, 0.7 * float((sign * depth).max()))), sigma)
            for sign in (1, -1)
        )
        if not float(np.median(np.abs(inside - outside))) > _FAINT * photo.noise:
            raise InputError(
                "the print hardly differs from what is around it; light it from the side, or dye it"
            )
        return cls(photo, sight, grid, inside, outside)

    def blur(self, xy: Floats, normal: Floats, at: Floats) -> float:
        """σ, mm, of the grey along the normals at xy (M, 2), of edges that are seen at mm (M,)."""
        step = 0.5 * self.sight.pixel
        ends = [self._share(xy + (at + sign * step)[:, None] * normal) for sign in (-1, 1)]
        slope = float(np.median(ends[0] - ends[1])) / (2 * step)
        return float(1 / (np.sqrt(2 * np.pi) * max(slope, 1e-9)))

    def _share(self, xy: Floats) -> Floats:
        """(N,) the grey at places (N, 2), 0 outside … 1 inside."""
        at, spline = self.sight.pixels(xy).T[::-1], self.photo.spline
        grey = map_coordinates(spline, at, order=3, mode="mirror", prefilter=False)
        low, high = (
            map_coordinates(level, self.grid.to_pixels(xy).T[::-1], order=1, mode="nearest")
            for level in (self.outside, self.inside)
        )
        return np.asarray((grey - low) / (high - low))

    def along(self, xy: Floats, normal: Floats, expected: Floats, reach: float) -> tuple[Floats, Bools]:
        """((M,) mm from xy (M, 2) along the normals to the edge, (M,) whether one was found).

        expected: (M,) mm, where it is looked for, to `reach` mm on both sides.
        """
        parts = [slice(k, k + _AT_ONCE) for k in range(0, len(xy), _AT_ONCE)]
        found = [self._along(xy[p], normal[p], expected[p], reach) for p in parts]
        offset, seen = (np.concatenate([one[k] for one in found]) for k in (0, 1))
        return offset, seen

    def _along(self, xy: Floats, normal: Floats, expected: Floats, reach: float) -> tuple[Floats, Bools]:
        count = 2 * max(4, int(np.ceil(reach / (_STEP * self.sight.pixel)))) + 1
        t = np.linspace(-reach, reach, count)
        middle = xy + expected[:, None] * normal
        places = middle[:, None] + t[:, None] * normal[:, None]
        at = self.sight.pixels(places.reshape(-1, 2))
        share = self._share(places.reshape(-1, 2)).reshape(len(xy), count) - 0.5
        falls = (share[:, :-1] >= 0) & (share[:, 1:] < 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            crossing = t[:-1] + share[:, :-1] / (share[:, :-1] - share[:, 1:]) * (t[1] - t[0])
        crossing = np.where(falls, crossing, np.inf)
        nearest = np.argmin(np.abs(crossing), axis=1)[:, None]
        offset = np.take_along_axis(crossing, nearest, axis=1)[:, 0]
        height, width = self.photo.grey.shape
        shown = ((at > 1) & (at < (width - 2, height - 2))).all(axis=1).reshape(len(xy), count).all(axis=1)
        found = np.isfinite(offset) & shown
        return np.where(found, offset, 0.0) + expected, found


def _level(seen: Floats, where: Bools, sigma: float) -> Floats:
    """Means of what is seen (rows, columns) over some pixels, around each."""
    if not where.any():
        raise InputError("it shows too little of the print")
    usual, sums = float(np.median(seen[where])), []
    for one in (where * (seen - usual), where.astype(np.float64)):
        sums.append(gaussian_filter(one, sigma, mode="constant"))
    return np.asarray(usual + sums[0] / (sums[1] + 1e-3))
