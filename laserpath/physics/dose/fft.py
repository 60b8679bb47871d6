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
all copies is subtracted (`tail`).
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from laserpath.base.arrays import Floats
from laserpath.base.compute.runtime import cpu_count, strips_of
from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.dose.engines import (
    DTYPE,
    TOLERANCE,
    SpotGradient,
    check,
    check_memory,
    checked_points,
    checked_slope,
)
from laserpath.physics.dose.kernels import splatting
from laserpath.physics.dose.smooth import HeldField, SmoothField
from laserpath.physics.dose.tail import copies_of
from laserpath.types import Grid, Spot

_ORDERS = (4, 6, 8, 10)
_FINEST = 24.0
"""Largest number of splat pixels per FWHM; more allow a finer tolerance and cost time."""

_MOSTLY_RIM = 4
"""Ratio of the padded grid's size to the picture's above which an error names the rim as the reason."""

Spectrum = NDArray[np.complexfloating]


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

    def __init__(self, grid: Grid, spot: Spot, precision: str = "f32", tolerance: float = TOLERANCE) -> None:
        check(grid, spot, precision, tolerance)
        self.grid, self.spot, self.precision, self.tolerance = grid, spot, precision, tolerance
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
        spectrum = self._spectrum(xy, energy)
        spectrum *= self._filter
        dose = self._picture(spectrum)
        if self._tail:
            self._tail.add(dose, self._tail.field(xy, energy))
        return dose

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
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
        ky, kx = self.modes
        half = fft.rfft(canvas, n=shape[1], axis=1, workers=cpu_count())[:, : kx + 1]
        full = fft.fft(half, n=shape[0], axis=0, workers=cpu_count())
        return np.concatenate([full[: ky + 1], full[len(full) - ky :]])

    def _rows(self, spectrum: Spectrum, count: int) -> Spectrum:
        """Inverse FFT along the rows' axis onto `count` rows."""
        ky = self.modes[0]
        tall = np.zeros((count, spectrum.shape[1]), spectrum.dtype)
        tall[: ky + 1] = spectrum[: ky + 1]
        tall[count - ky :] = spectrum[ky + 1 :]
        return fft.ifft(tall, axis=0, workers=cpu_count(), overwrite_x=True)

    def _picture(self, spectrum: Spectrum) -> Floats:
        """The real array of a half spectrum on the picture's pixels."""
        rows, columns = (self._refine * n for n in self.grid.shape)
        half = self._rows(spectrum, self.padded.shape[0])[:rows]
        wide = fft.irfft(half, n=self.padded.shape[1], axis=1, workers=cpu_count())
        return np.ascontiguousarray(wide[:: self._refine, : columns : self._refine])

    def _coarse(self, spectrum: Spectrum) -> Floats:
        """The real array of a half spectrum on the splat's pixels: the adjoint of `_low` for the splat."""
        rows, columns = self.splat.shape
        wide = fft.irfft(self._rows(spectrum, rows), n=columns, axis=1, workers=cpu_count())
        wide *= wide.dtype.type(rows * columns / np.prod(self.padded.shape))
        return wide


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
