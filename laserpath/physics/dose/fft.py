"""The default engine: points splatted on a coarse grid, a filter in the frequency domain, pixels.

The dose is band-limited, because the spot is: H(f) = 0, or negligible, above a cut-off f_c (`optics`).
So this is a type-1 non-uniform FFT (Dutt & Rokhlin 1993; Barnett, Magland & af Klinteberg 2019) with a
filter, and its adjoint a type-2:

    canvas  = Σ_k e_k B((x − x_k)/p_x) B((y − y_k)/p_y)                  on the splat's own coarse grid
    D̂(f)    = H(f)/[sinc(f_x p_x) sinc(f_y p_y)]^n · FFT(canvas)          |f_x|, |f_y| ≤ f_c
    D       = inverse FFT onto the picture's pixels, cropped.

B is the B-spline of order n, sinc^n its transform (Unser 1999, eq. 5): dividing by it removes the splat's own
blur, so that no grid widens the spot. What remains is the error by the aliases k ≠ 0 of the splat,

    error/peak ≤ ∫ |H| [ρ(f_x p_x) + ρ(f_y p_y)] d²f / ∫ |H| d²f,   ρ(ν) = Σ_k |sinc(ν + k)/sinc(ν)|^n,

and the cheapest n and p that keep this below a quarter of the tolerance are taken (the errors of many
points on a lattice add up); the measured table is in docs/dose.md. An FFT repeats its grid. The grid is
padded until the next copy's spot is below half of the tolerance, and the smooth mean of the far tail of
all copies is subtracted (`smooth`).

**A large grid** is exposed tile by tile: one FFT of all would hold several arrays of its size. The points in
a window, a tile with a rim R around it, are exposed as on a grid of their own. Those beyond add the far tail
of the spot, h̄(r) = c/r³ (`smooth`), which is smooth there. It is computed on coarse nodes of the whole grid,
for all points with h̄(max(r, R)); what the points of the window have of that is computed on the window's
nodes, which are the same places, and taken off,

    D = D_window + S(all) − S(window).

R is that beyond which the rings of the spot do not count. A tile without points in its window stays
0, and as NumPy's zeros take no memory before they are changed, what is empty costs nothing.

**Energies on the pixels** of the picture itself need no splat, and two small FFTs each way: energies
e (rows, columns) at pixel centres are already a canvas, so that

    D = h ∗ e,   ∂L/∂e = h(−·) ∗ ∂L/∂D,

are one filter each, with the modes and the dark rim of `FftEngine`. What the periodic copies add is
at most some thousandths of the dose. It depends on where the light is only from afar, so it keeps the shape t
that it has for energies e⁰, and grows with the sum of all: D = h ∗ e + t Σe/Σe⁰.
"""

from __future__ import annotations

import copy
import weakref
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from laserpath.base.arrays import Bools, Floats, Indices, by_cell
from laserpath.base.compute.beside import in_parts
from laserpath.base.compute.runtime import cpu_count, strips_of
from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.dose.engines import (
    DTYPE,
    TOLERANCE,
    Engine,
    SpotGradient,
    check,
    check_memory,
    checked_points,
    checked_slope,
)
from laserpath.physics.dose.kernels import interpolation, splatting
from laserpath.physics.dose.smooth import HeldField, SmoothField, copies_of, mean_tail, nodes_apart
from laserpath.types import Grid, Spot

_ORDERS = (4, 6, 8, 10)
_FINEST = 24.0
"""Largest number of splat pixels per FWHM; more allow a finer tolerance and cost time."""

_MOSTLY_RIM = 4
"""Ratio of the padded grid's size to the picture's above which an error names the rim as the reason."""

_BLOCK = 64
"""Columns that a thread transforms at a time: more leave threads idle at the end, fewer take more calls."""

_THREADED_FROM = 4_000_000
"""Elements of an array from which its transforms take all processors. SciPy starts threads for each call:
with fewer elements two take as long as one or longer, and a fifth to a half more processor time."""

Spectrum = NDArray[np.complexfloating]

PointsOf = Callable[[Indices], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True)
class Splat:
    """order: n of the B-spline.  origin: (x, y) mm of pixel [0, 0].  pitch: (x, y) mm.

    shape: (rows, columns). The grid repeats after shape × pitch, the period of the engine.
    """

    order: int
    origin: tuple[float, float]
    pitch: tuple[float, float]
    shape: tuple[int, int]


class FftEngine:
    """Points ↔ dose by splat and FFT.

    splat: the coarse grid.  padded: the picture's grid with its dark rim, `crop` where the picture is in it.
    modes: the largest whole frequencies (rows, columns) that are kept.  left_out: bound on the change by
    leaving out the others, relative to the spot's peak: an eighth of the tolerance, and more for a spot with
    kinks.
    """

    def __init__(
        self,
        grid: Grid,
        spot: Spot,
        precision: str = "f32",
        tolerance: float = TOLERANCE,
        *,
        alone: bool = False,
    ) -> None:
        """alone: with one thread, as a part of what takes them all."""
        check(grid, spot, precision, tolerance)
        self.grid, self.spot, self.precision, self.tolerance = grid, spot, precision, tolerance
        self._alone = alone
        self._seen: tuple[Callable[[], object], Callable[[], object]] = (lambda: None, lambda: None)
        band = optics.band(spot, tolerance)
        self.left_out = _left_out(spot, band) if optics.has_kinks(spot) else tolerance / 8
        order, pitch = _resolution(spot, band, tolerance / 4)
        self._refine = max(1, ceil(2 * band * grid.pitch))
        self.padded, self.crop = _padded(grid, rim_of(spot, tolerance), order * pitch, self._refine)
        rim = np.prod(self.padded.shape) > _MOSTLY_RIM * self._refine**2 * np.prod(grid.shape)
        note = f", most of them the dark rim of a spot of FWHM {optics.fwhm(spot):g} mm," if rim else ""
        check_memory(self.padded.shape, precision, note)
        period = np.array(self.padded.shape) * self.padded.pitch
        shape = tuple(fft.next_fast_len(ceil(n / pitch), real=True) for n in period)
        self.splat = Splat(
            order=order,
            origin=self.padded.origin,
            pitch=(period[1] / shape[1], period[0] / shape[0]),
            shape=(shape[0], shape[1]),
        )
        self.modes = tuple(
            min(int(band * n), (s - 1) // 2, (o - 1) // 2)
            for n, s, o in zip(period, shape, self.padded.shape, strict=True)
        )
        self._filter = self._transfer().astype(np.result_type(DTYPE[precision], np.complex64))
        self._tail: SmoothField | HeldField | None = copies_of(grid, self.padded, spot, precision, tolerance)

    @cached_property
    def _spot(self) -> Spectrum:
        """H/(pixel area) at the modes, from pixels of the picture to pixels of the picture."""
        fy, fx = self.frequencies()
        spot = optics.transfer(self.spot, fx, fy) / self.padded.pixel_area
        return np.asarray(spot, dtype=self._filter.dtype)

    def frequencies(self) -> tuple[Floats, Floats]:
        """f_y (2K_y + 1, 1), in the order of an FFT, and f_x (1, K_x + 1) of the modes, 1/mm."""
        (ky, kx), (rows, columns), p = self.modes, self.padded.shape, self.padded.pitch
        y = np.concatenate([np.arange(ky + 1), np.arange(-ky, 0)])
        return y[:, None] / (rows * p), np.arange(kx + 1)[None, :] / (columns * p)

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""
        xy, energy = checked_points(xy, energy, self)
        self._seen = weakref.ref(xy), weakref.ref(energy)
        return self.of_checked(xy, energy)

    def of_checked(self, xy: Floats, energy: Floats) -> Floats:
        """`spread` of points that `checked_points` has taken."""
        spectrum = self._spectrum(xy, energy)
        spectrum *= self._filter
        dose = self._picture(spectrum)
        if self._tail:
            self._tail.add(dose, self._tail.field(xy, energy))
        return dose

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        # Those of the `spread` before are checked.
        if not all(before() is one for before, one in zip(self._seen, (xy, energy), strict=True)):
            xy, energy = checked_points(xy, energy, self)
        d_dose = checked_slope(d_dose, self)
        spectrum = self._slope_spectrum(d_dose)
        spectrum *= np.conj(self._filter)
        field = self._coarse(spectrum)
        d_energy, d_xy = np.zeros(len(energy)), np.zeros((len(energy), 2))
        splatting(self.precision, self.splat.order).gather(xy, energy, *self._place(), field, d_energy, d_xy)
        if self._tail:
            self._tail.pull(xy, energy, d_dose, d_energy, d_xy)
        return d_energy, d_xy

    def convolved(self, picture: Floats, *, adjoint: bool = False) -> Floats:
        """The spot's convolution with a picture (rows, columns): the dose of energies at pixel centres.

        What the copies of the periodic grid add is in it. adjoint: with the spot turned by 180°.
        """
        spectrum = self._slope_spectrum(picture)
        spectrum *= np.conj(self._spot) if adjoint else self._spot
        return self._picture(spectrum)

    def far_copies(self, xy: Floats, energy: Floats) -> Floats | None:
        """(rows, columns) what `convolved` needs besides: less the far tail of all copies of points."""
        xy, energy = checked_points(xy, energy, self)
        return HeldField.of(self._tail, xy, energy).picture if isinstance(self._tail, SmoothField) else None

    def holding(self, xy: Floats, energy: Floats) -> FftEngine:
        """The engine for points near these ones: the tail of the copies, a third of the work, is theirs.

        It is at most some thousandths of the dose. A change of all energies by a tenth changes it by a tenth.
        """
        if not isinstance(self._tail, SmoothField):
            return self
        held = copy.copy(self)
        held._tail = HeldField.of(self._tail, *checked_points(xy, energy, self))
        return held

    def spot_gradient(self, xy: Floats, energy: Floats, d_dose: Floats) -> SpotGradient:
        """∂L/∂(FWHM, defocus) from ∂L/∂D (rows, columns): Parseval's sum of ∂H/∂(FWHM, defocus)."""
        xy, energy = checked_points(xy, energy, self)
        d_dose = checked_slope(d_dose, self)
        cross = self._spectrum(xy, energy) * np.conj(self._slope_spectrum(d_dose))
        cross *= self._shift() / self._blur()
        cross[:, 1:] *= 2  # the other half of the plane
        fy, fx = self.frequencies()
        period = np.prod(self.padded.shape) * self.padded.pixel_area
        per_fwhm, per_defocus = (
            float((cross * slope).real.sum(dtype=np.float64)) / period
            for slope in optics.transfer_slopes(self.spot, fx, fy)
        )
        if self._tail:  # proportional to the FWHM
            far = np.zeros(self.grid.shape, d_dose.dtype)
            self._tail.add(far, self._tail.field(xy, energy))
            per_fwhm += float(np.vdot(far, d_dose)) / self.spot.fwhm
        return SpotGradient(float(per_fwhm), float(per_defocus))

    def _transfer(self) -> Spectrum:
        """H/(blur · pixel area) at the modes, from the splat's origin to the picture's."""
        fy, fx = self.frequencies()
        return optics.transfer(self.spot, fx, fy) * self._shift() / self._blur() / self.padded.pixel_area

    def _shift(self) -> Spectrum:
        """The phase that puts the first pixel of the picture first."""
        fy, fx = self.frequencies()
        top, left = (crop.start * self.padded.pitch for crop in self.crop)
        return np.exp(2j * np.pi * (fy * top + fx * left))

    def _blur(self) -> Floats:
        fy, fx = self.frequencies()
        return (np.sinc(fx * self.splat.pitch[0]) * np.sinc(fy * self.splat.pitch[1])) ** self.splat.order

    def _place(self) -> tuple[float, float, float, float]:
        """x0, y0, 1/p_x, 1/p_y of the splat's grid."""
        (x0, y0), (px, py) = self.splat.origin, self.splat.pitch
        return x0, y0, 1 / px, 1 / py

    def _spectrum(self, xy: Floats, energy: Floats) -> Spectrum:
        """FFT of the splatted points at the modes (2K_y + 1, K_x + 1)."""
        canvas = np.zeros(self.splat.shape, DTYPE[self.precision])
        strips = strips_of(xy[:, 1], self.splat.origin[1], self.splat.pitch[1], len(canvas))
        splatting(self.precision, self.splat.order).splat(xy, energy, *self._place(), strips, canvas)
        return self._low(canvas, self.splat.shape)

    def _slope_spectrum(self, d_dose: Floats) -> Spectrum:
        """FFT of ∂L/∂D, the padding behind it, at the modes (2K_y + 1, K_x + 1)."""
        if self._refine > 1:
            fine = np.zeros([self._refine * n for n in d_dose.shape], d_dose.dtype)
            fine[:: self._refine, :: self._refine] = d_dose
            d_dose = fine
        return self._low(d_dose, self.padded.shape)

    def _low(self, canvas: Floats, shape: tuple[int, int]) -> Spectrum:
        """The modes of a real array, padded with zeros at its end up to `shape`."""
        (ky, kx), threads = self.modes, self._threads(shape)
        half = fft.rfft(canvas, n=shape[1], axis=1, workers=threads)[:, : kx + 1]
        tall = np.empty((shape[0], kx + 1), half.dtype)
        tall[: len(half)], tall[len(half) :] = half, 0
        full = _along_columns(fft.fft, tall, threads)
        return np.concatenate([full[: ky + 1], full[len(full) - ky :]])

    def _rows(self, spectrum: Spectrum, count: int) -> Spectrum:
        """Inverse FFT along the rows' axis onto `count` rows."""
        ky = self.modes[0]
        tall = np.zeros((count, spectrum.shape[1]), spectrum.dtype)
        tall[: ky + 1] = spectrum[: ky + 1]
        tall[count - ky :] = spectrum[ky + 1 :]
        return _along_columns(fft.ifft, tall, self._threads(self.padded.shape))

    def _picture(self, spectrum: Spectrum) -> Floats:
        """The real array of a half spectrum on the picture's pixels."""
        rows, columns = (self._refine * n for n in self.grid.shape)
        half = self._rows(spectrum, self.padded.shape[0])[:rows]
        wide = fft.irfft(half, n=self.padded.shape[1], axis=1, workers=self._threads(self.padded.shape))
        return np.ascontiguousarray(wide[:: self._refine, : columns : self._refine])

    def _coarse(self, spectrum: Spectrum) -> Floats:
        """The real array of a half spectrum on the splat's pixels: the adjoint of `_low` for the splat."""
        rows, columns = self.splat.shape
        wide = fft.irfft(
            self._rows(spectrum, rows), n=columns, axis=1, workers=self._threads(self.splat.shape)
        )
        wide *= wide.dtype.type(rows * columns / np.prod(self.padded.shape))
        return wide

    def _threads(self, shape: tuple[int, int]) -> int:
        """Threads for the transforms of an array of this shape."""
        return cpu_count() if prod(shape) >= _THREADED_FROM and not self._alone else 1


def _along_columns(transform: Callable[..., Spectrum], values: Spectrum, threads: int) -> Spectrum:
    """A transform of each column of an array (rows, columns), which is overwritten.

    Blocks of columns, one thread each, have the same bits for any number of threads; SciPy 1.18 shares the
    columns out in single precision so that they have not.
    """
    if threads == 1:
        return transform(values, axis=0, overwrite_x=True)

    def part(first: int, end: int) -> None:
        for k in range(first, end):
            columns = values[:, k * _BLOCK : (k + 1) * _BLOCK]
            found = transform(columns, axis=0, overwrite_x=True)
            if not np.may_share_memory(found, columns):
                columns[:] = found

    in_parts(part, ceil(values.shape[1] / _BLOCK))
    return values


def _left_out(spot: Spot, band: float) -> float:
    """Bound on the change of the spot, over its peak, by leaving out the frequencies above the band."""
    low, high = -7.0, 0.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if optics.cutoff(spot, 10**middle) > band else (low, middle)
    return float(10**high)


def rim_of(spot: Spot, tolerance: float) -> float:
    """Least distance of the next copy, mm: the rings that `tail` leaves out stay below half of the tolerance.

    Along a line at a distance d the rings, about 0.6 FWHM apart, add up over √(0.6 FWHM d).
    """
    near = optics.reach(spot, tolerance / 2)
    if not optics.tail(spot):
        return near
    return optics.reach(spot, tolerance / 2 / max(1.0, (0.6 * near / spot.fwhm) ** 0.5))


def _padded(grid: Grid, rim: float, support: float, refine: int) -> tuple[Grid, tuple[slice, slice]]:
    """The grid with a dark rim, its pixels `refine` times finer, and where the picture's pixels are in it.

    rim: mm to the next copy.  support: mm, the splat's width, which must not reach beyond the edge.
    """
    pitch = grid.pitch / refine
    before = refine * ceil((support / 2) / grid.pitch + 2)
    after = max(ceil(rim / pitch) - before, before)
    rows, columns = (fft.next_fast_len(before + refine * n + after, real=True) for n in grid.shape)
    origin = (grid.origin[0] - before * pitch, grid.origin[1] - before * pitch)
    top, left = (slice(before, before + refine * n, refine) for n in grid.shape)
    return Grid(origin, pitch, (rows, columns)), (top, left)


@lru_cache(maxsize=64)
def _resolution(spot: Spot, band: float, tolerance: float) -> tuple[int, float]:
    """The cheapest order and pitch (mm) of a splat whose aliases stay below the tolerance."""
    f = np.linspace(-band, band, 65)
    weight = np.abs(optics.transfer(spot, f[None, :], f[:, None]))
    along = (weight.sum(axis=0) + weight.sum(axis=1)) / weight.sum()
    best = None
    pitches = spot.fwhm / np.linspace(2 * band * spot.fwhm, _FINEST, 200)
    for order in _ORDERS:
        # A finer pitch has fewer aliases.
        first = bisect_left(
            pitches, True, key=lambda pitch: along @ alias_ratio(f * pitch, order) <= tolerance
        )
        if first < len(pitches):
            pitch = float(pitches[first])
            # ns per FWHM²: two transforms of its pixels, two passes over about 0.6 points.
            cost = 6 * (spot.fwhm / pitch) ** 2 + 1.1 * order**2
            if best is None or cost < best[0]:
                best = (cost, order, pitch)
    if best is None:
        raise InputError(f"tolerance {2 * tolerance:g} cannot be kept for the spot {spot.profile!r}")
    return best[1], best[2]


def alias_ratio(frequency: Floats, order: int) -> Floats:
    """ρ(ν), |ν| < 1/2: the aliases of the B-spline's spectrum at ν over the spectrum itself."""
    copies = sum(np.abs(np.sinc(frequency + k)) ** order for k in (-3, -2, -1, 1, 2, 3))
    return copies / np.abs(np.sinc(frequency)) ** order


TILED_FROM = 1 << 22
"""Pixels above which a grid is tiled: a smaller value takes less memory, with as much of the tolerance."""

_SIDE = 1024
"""Pixels along a tile: more cost more memory, fewer more time for rims."""

_RIM = 64
"""Fewest pixels around a tile: a wider one takes longer, a narrower one needs more nodes of far light."""

_ROWS = 128
"""Rows of nodes at which the far tail is computed at a time: more take more memory."""

_PASSED = 256
"""Rows that have been read from which they are let go: fewer are copied more often."""

_AT_ONCE = 1 << 17
"""Lines, or points, that add to the far light at a time: more take more memory."""

_FAR = 1e-4
"""Least tolerance of far light: a smaller one makes rims wider, and takes more memory for nodes."""


class TiledEngine:
    """Points → dose by tiles. Its derivatives are those of one FFT of all, `whole`, made where wanted.

    side: pixels (rows, columns) of a tile.  counts: of tiles.
    """

    def __init__(self, grid: Grid, spot: Spot, precision: str = "f32", tolerance: float = TOLERANCE) -> None:
        check(grid, spot, precision, tolerance)
        self.grid, self.spot, self.precision, self.tolerance = grid, spot, precision, tolerance
        # All of an edge's rings meet at the end of a window. An elliptical spot is a round one, stretched.
        least, stretched = max(tolerance, _FAR), max(spot.aspect, 1 / spot.aspect) ** 0.5
        rim = max(rim_of(spot, least / 2) * stretched, _RIM * grid.pitch)
        self._ratio = nodes_apart(spot, rim / stretched, grid.pitch, least)
        self._rim = self._ratio * ceil(rim / grid.pitch / self._ratio)
        # Tiles as large as each other, and not much smaller than their rims.
        counts = [max(1, round(n / max(_SIDE, self._rim))) for n in grid.shape]
        sides = [self._ratio * ceil(n / k / self._ratio) for n, k in zip(grid.shape, counts, strict=True)]
        self.side = sides[0], sides[1]
        self.counts = ceil(grid.shape[0] / sides[0]), ceil(grid.shape[1] / sides[1])
        window = Grid((0.0, 0.0), grid.pitch, (sides[0] + 2 * self._rim, sides[1] + 2 * self._rim))
        self._near = FftEngine(window, spot, precision, tolerance, alone=True)
        self._tails: tuple[SmoothField, SmoothField] | None = None
        if optics.tail(spot):

            def kernel(x: Floats, y: Floats) -> Floats:
                # Some rows after the other: of all of them it takes several arrays of their size.
                some = np.array_split(y, ceil(len(y) / _ROWS))
                tails = (mean_tail(spot, x, rows, rim / stretched).astype(DTYPE[precision]) for rows in some)
                return np.concatenate(list(tails))

            far, near = (SmoothField.of(one, self._ratio, kernel, precision) for one in (grid, window))
            self._tails = far, near

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""
        xy, energy = checked_points(xy, energy, self)
        return self.dose_of(xy, xy, lambda some: (xy[some], energy[some])).whole

    def dose_of(self, low: Floats, high: Floats, points: PointsOf) -> TiledDose:
        """The dose of things that are points: of lines, say, all of whose points would take much memory.

        low, high: (N, 2) mm, corners of each.  points: xy (M, 2) mm and mJ (M,) of those with given numbers.
        """
        far, count = None, len(low)
        some = (np.arange(k, min(k + _AT_ONCE, count)) for k in range(0, count, _AT_ONCE))
        parts = (checked_points(*points(one), self) for one in some)
        if self._tails is not None:
            far = self._tails[0].of_parts(parts)
        else:
            for _ in parts:  # which are refused if they have to be
                pass
        # The window of a tile reaches beyond its sides by the rim.
        first, last = (self.grid.to_pixels(one)[:, ::-1] for one in (low, high))
        reached = np.ceil((first - self._rim + 1) / self.side - 1), np.floor((last + self._rim) / self.side)
        return TiledDose(self, points, far, *by_cell(*reached, self.counts))

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        return self.whole.gather(xy, energy, d_dose)

    def spot_gradient(self, xy: Floats, energy: Floats, d_dose: Floats) -> SpotGradient:
        """∂L/∂(FWHM, defocus) from ∂L/∂D (rows, columns)."""
        return self.whole.spot_gradient(xy, energy, d_dose)

    @cached_property
    def whole(self) -> FftEngine:
        """One FFT of all pixels, for what needs derivatives: it holds several arrays of the grid's size."""
        return FftEngine(self.grid, self.spot, self.precision, self.tolerance)

    def tile(self, tile: tuple[int, int], xy: Floats, energy: Floats, far: Floats | None) -> Floats | None:
        """The dose of a tile, of points (M, 2) mm and the far light of all; None: none is in its window."""
        row, column = (k * side - self._rim for k, side in zip(tile, self.side, strict=True))
        xy = xy - self.grid.of_pixels([column, row])
        size = self.grid.pitch * (np.array(self._near.grid.shape[::-1]) - 1.0)
        inside = ((xy >= 0) & (xy <= size)).all(axis=1)
        if not inside.any():
            return None
        xy, energy = xy[inside], energy[inside]
        shape = [min(side, n - k * side) for n, k, side in zip(self.grid.shape, tile, self.side, strict=True)]
        core = tuple(slice(self._rim, self._rim + n) for n in shape)
        dose = np.ascontiguousarray(self._near.of_checked(xy, energy)[core])
        if self._tails is not None and far is not None:
            whole, window = self._tails
            own, count = window.field(xy, energy), [ceil(n / self._ratio) + 1 for n in shape]
            here = tuple(
                slice(a := whole.margin + k * side // self._ratio, a + n)
                for k, n, side in zip(tile, count, self.side, strict=True)
            )
            there = tuple(slice(a := window.margin + self._rim // self._ratio, a + n) for n in count)
            nodes = np.ascontiguousarray(far[here] - own[there], dose.dtype)
            interpolation(self.precision).add(nodes, self._ratio, 0, dose)
        return dose


class TiledDose:
    """A dose (rows, columns), mJ/mm², of which only rows of tiles are there: as many as are read at a time.

    It is read by slices, best from the first row to the last.
    """

    def __init__(
        self, engine: TiledEngine, points: PointsOf, far: Floats | None, order: Indices, start: Indices
    ) -> None:
        """points: as in `TiledEngine.dose_of`.  far: the far light of all of them at nodes, None without any.

        order, start: of what may reach each tile, as in `by_cell`.
        """
        self._engine, self._points, self._far, self._order, self._start = engine, points, far, order, start
        self._rows: dict[int, tuple[int, Floats]] = {}  # from which row on, of a row of tiles
        self.shape, self.dtype = engine.grid.shape, np.dtype(DTYPE[engine.precision])

    def __getitem__(self, window: slice | tuple[slice, slice]) -> Floats:
        """A copy of a part of it. window: slices of rows, and of columns, of step 1."""
        rows, columns = window if isinstance(window, tuple) else (window, slice(None))
        side, (first, last, _) = self._engine.side[0], rows.indices(self.shape[0])
        if last <= first:
            return np.zeros((0, self.shape[1]), self.dtype)[:, columns]
        known, self._rows = self._rows, {}
        found = []
        for k in range(first // side, (last - 1) // side + 1):
            zero = k * side
            wanted = max(first - zero, 0)
            begin, rows_of_tiles = known.pop(k, (wanted + 1, None))
            if rows_of_tiles is None or begin > wanted:
                begin, rows_of_tiles = 0, self._row(k)
            if wanted - begin > _PASSED:  # a copy lets go of what has been read
                begin, rows_of_tiles = wanted, rows_of_tiles[wanted - begin :].copy()
            self._rows[k] = begin, rows_of_tiles
            found.append(rows_of_tiles[wanted - begin : last - zero - begin, columns])
        return np.concatenate(found)

    @property
    def whole(self) -> Floats:
        """All of it."""
        picture = np.zeros(self.shape, self.dtype)
        self.fill(picture, 0, self.shape[0])
        return picture

    def fill(self, picture: Floats, first: int, last: int) -> int:
        """Write rows from `first`, where a row of tiles begins, up to `last` at least to a picture of zeros.

        Returns the first row that is not written; beyond the last one if all are.
        """
        side, many = self._engine.side[0], self._engine.counts[1]
        until = max(ceil(min(last, self.shape[0]) / side) * side, first)
        self._write(picture, first, first // side * many, until // side * many)
        return until

    def _row(self, k: int) -> Floats:
        """(`side` or fewer, columns) a row of tiles."""
        side, many = self._engine.side[0], self._engine.counts[1]
        row = np.zeros((min(side, self.shape[0] - k * side), self.shape[1]), self.dtype)
        self._write(row, 0, k * many, (k + 1) * many)
        return row

    def _write(self, out: Floats, row: int, first: int, end: int) -> None:
        """Write tiles, by their numbers, to zeros (rows, columns), the first of them from a row on."""
        (high, wide), many = self._engine.side, self._engine.counts[1]

        def work(a: int, b: int) -> None:
            for number in range(first + a, first + b):
                some = self._order[self._start[number] : self._start[number + 1]]
                if not len(some):
                    continue
                tile = divmod(number, many)
                dose = self._engine.tile(tile, *self._points(some), self._far)
                if dose is not None:
                    top, left = row + (tile[0] - first // many) * high, tile[1] * wide
                    out[top : top + high, left : left + wide] = dose

        in_parts(work, end - first)


@dataclass(frozen=True, slots=True, eq=False)
class LatticeDose:
    """Dose of energies at chosen pixels. chosen: (rows, columns).  xy: (M, 2) mm, of these, row by row.

    far: (rows, columns) 1/mm², the dose of the copies to be added for each mJ; None: of an engine without
    copies.
    """

    engine: Engine
    chosen: Bools
    xy: Floats
    far: Floats | None = None

    @classmethod
    def of(cls, engine: Engine, chosen: Bools, energy: Floats) -> LatticeDose:
        """energy: (M,) mJ, about those to come, e⁰."""
        engine = engine.whole if isinstance(engine, TiledEngine) else engine
        rows, columns = np.nonzero(chosen)
        grid = engine.grid
        xy = grid.of_pixels(np.column_stack([columns, rows]))
        far = engine.far_copies(xy, energy) if isinstance(engine, FftEngine) else None
        return cls(engine, chosen, xy, None if far is None else far / far.dtype.type(energy.sum()))

    def spread(self, energy: Floats) -> Floats:
        """Dose (rows, columns), mJ/mm², of energies (M,) mJ."""
        if not isinstance(self.engine, FftEngine):
            return self.engine.spread(self.xy, energy)
        canvas = np.zeros(self.chosen.shape, np.float32 if self.engine.precision == "f32" else np.float64)
        canvas[self.chosen] = energy
        dose = self.engine.convolved(canvas)
        if self.far is not None:
            dose += dose.dtype.type(energy.sum()) * self.far
        return dose

    def gather(self, d_dose: Floats) -> Floats:
        """∂L/∂energy (M,) from ∂L/∂D (rows, columns)."""
        if not isinstance(self.engine, FftEngine):
            return self.engine.gather(self.xy, np.zeros(len(self.xy)), d_dose)[0]
        d_energy = self.engine.convolved(d_dose, adjoint=True)[self.chosen].astype(np.float64)
        if self.far is not None:
            d_energy += float(np.vdot(self.far, d_dose))
        return d_energy
