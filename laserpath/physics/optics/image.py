"""A photographed spot: each pixel is spread as a cubic B-spline of the pixel's width.

    h(x) = Σ_jk a_jk β³((x − x_j)/s) β³((y − y_k)/s) / (s² Σa),   s the pitch,
    H(f) = sinc⁴(f_x s) sinc⁴(f_y s) Σ_jk a_jk exp(−2πi (f_x x_j + f_y y_k)) / Σa.

So h is nowhere negative, twice differentiable, and wider than the photograph by s²/3 in variance, which the
scaling to the given FWHM removes. The origin is the centroid. H is complex, since h need not be even. The
image's own FWHM is the diameter of the circle that has the area where h is above half its maximum. For N
photons the pixels are raised to the N.

On a mesh of frequencies the sum is two matrix products. The mesh of a turned spot is turned too; then the
Fourier transform, on a finer mesh than the image needs, is interpolated by splines of degree 5.

Cut-off: sinc⁴(fs) is sin⁴(πfs), which repeats with 1/s as the sum does, times a power. So ∫|H| outside a
square of whole periods is a sum over one period, with ζ(4, ·) for all others (DLMF 25.11.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.checks import positive
from laserpath.base.errors import one_line
from laserpath.physics.optics.shape import HIGHEST_KEPT, check_light, quadrature
from laserpath.types import MeasuredBeam, Shape

_MESH_PER_PIXEL = 8
"""Oversampling of the finer mesh, for images of up to 256 pixels; half of it for larger ones."""
_FEW = 1 << 26
"""Largest number of terms that are summed directly; with more, a mesh is interpolated."""
_PIXELS_PER_FWHM = 128
"""Pitch of the mesh for the area of the half maximum; more pixels give a more accurate FWHM."""
_PERIODS = tuple(2**k for k in range(21))
"""Sizes, in periods, of the squares in which the cut-off is sought, outwards from the image's own band."""


@dataclass(frozen=True, slots=True, eq=False)
class BeamImage(MeasuredBeam):
    """A photograph of the spot. intensity: (rows, columns) ≥ 0, row 0 at the lowest y.  pitch: mm/pixel."""

    title: ClassVar[str] = "photograph"
    round: ClassVar[bool] = False

    intensity: Floats
    pitch: float

    __repr__ = one_line

    def __post_init__(self) -> None:
        positive(self, "pitch")
        object.__setattr__(self, "intensity", frozen_array(self.intensity, "beam intensity", (None, None)))
        check_light(self.intensity)

    def shape(self, defocus: float, photons: int) -> Shape:
        """Its shape, in focus."""
        return Photograph(self, photons)

    def fwhm(self) -> float:
        """FWHM of the photograph itself, mm: the diameter of the circle of equal area."""
        through_the_pixels = scipy.ndimage.spline_filter(np.pad(self.intensity, 8), 3)
        return _half_maximum(through_the_pixels)[1] * self.pitch


class Photograph(Shape):
    """The shape of an image, scaled to a one-photon FWHM of 1."""

    def __init__(self, image: BeamImage, photons: int) -> None:
        self.highest_kept = HIGHEST_KEPT * np.sqrt(photons)
        one = image.intensity / image.intensity.sum()
        self._centre = np.arange(len(one)) @ one.sum(axis=1), one.sum(axis=0) @ np.arange(one.shape[1])
        self._pixel = 1 / _half_maximum(one)[1]
        power = (one / one.max()) ** photons
        self._weight = power / power.sum()
        self.power_integral = float((one**photons).sum() / self._pixel ** (2 * photons - 2))
        self._y, self._x = (
            (np.arange(n) - c) * self._pixel for n, c in zip(one.shape, self._centre, strict=True)
        )
        self._meshes: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def density(self, p: Floats, q: Floats) -> Floats:
        """u, 1/FWHM²."""
        p, q = np.broadcast_arrays(p, q)
        row, column = q / self._pixel + self._centre[0], p / self._pixel + self._centre[1]
        return _spread(self._weight, row, column) / self._pixel**2

    def spectrum(self, p: Floats, q: Floats) -> Floats:
        """U at the frequencies (p, q), 1/FWHM."""
        return np.sinc(p * self._pixel) ** 4 * np.sinc(q * self._pixel) ** 4 * self._sum(p, q)

    def spectrum_slopes(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """(κ·∇U, 0): an image has no defocus of its own."""
        a, b = p * self._pixel, q * self._pixel
        blur = np.sinc(a) ** 4 * np.sinc(b) ** 4
        # x d/dx sinc⁴ = 4 sinc³ (cos πx − sinc x)
        widen = 4 * np.sinc(a) ** 3 * (np.cos(np.pi * a) - np.sinc(a)) * np.sinc(b) ** 4
        widen = widen + 4 * np.sinc(b) ** 3 * (np.cos(np.pi * b) - np.sinc(b)) * np.sinc(a) ** 4
        moments = p * self._sum(p, q, 1, 0) + q * self._sum(p, q, 0, 1)
        slope = widen * self._sum(p, q) - 2j * np.pi * blur * moments
        return slope, np.zeros(slope.shape)

    # The sum Σ a x^m y^n exp(−2πi (p x + q y))

    def _sum(self, p: Floats, q: Floats, m: int = 0, n: int = 0) -> Floats:
        if p.ndim == q.ndim == 2 and p.shape[1] == q.shape[0] == 1:
            return self._products(p, q, m, n).T
        if p.ndim == q.ndim == 2 and p.shape[0] == q.shape[1] == 1:
            return self._products(p, q, m, n)
        p, q = np.broadcast_arrays(p, q)
        if p.size * self._weight.size <= _FEW:
            rows, columns = self._waves(p, q, m, n)
            return ((rows @ self._weight) * columns).sum(axis=1).reshape(p.shape)
        return self._interpolated(p, q, m, n)

    def _products(self, p: Floats, q: Floats, m: int, n: int) -> Floats:
        rows, columns = self._waves(p, q, m, n)
        return rows @ self._weight @ columns.T

    def _waves(self, p: Floats, q: Floats, m: int, n: int) -> tuple[Floats, Floats]:
        rows = self._y**n * np.exp(-2j * np.pi * q.reshape(-1, 1) * self._y)
        return rows, self._x**m * np.exp(-2j * np.pi * p.reshape(-1, 1) * self._x)

    def _interpolated(self, p: Floats, q: Floats, m: int, n: int) -> Floats:
        if (m, n) not in self._meshes:
            self._meshes[m, n] = self._mesh(m, n)
        parts = self._meshes[m, n]
        rows, columns = parts[0].shape
        at = np.stack([q * rows, p * columns]) * self._pixel
        re, im = (
            scipy.ndimage.map_coordinates(part, at, order=5, prefilter=False, mode="grid-wrap")
            for part in parts
        )
        # The mesh is centred on a whole pixel, so that it repeats with the period of the sum.
        dy, dx = (c - round(c) for c in self._centre)
        return (re + 1j * im) * np.exp(2j * np.pi * self._pixel * (p * dx + q * dy))

    def _mesh(self, m: int, n: int) -> tuple[Floats, Floats]:
        """Spline coefficients of the sum over one period, real and imaginary."""
        finer = _MESH_PER_PIXEL if max(self._weight.shape) <= 256 else _MESH_PER_PIXEL // 2
        shape = [scipy.fft.next_fast_len(finer * k) for k in self._weight.shape]
        moment = np.zeros(shape)
        rows, columns = self._weight.shape
        moment[:rows, :columns] = self._weight * self._x**m * self._y[:, None] ** n
        spectrum = scipy.fft.fft2(np.roll(moment, [-round(c) for c in self._centre], (0, 1)))
        re, im = (
            scipy.ndimage.spline_filter(part, 5, mode="grid-wrap") for part in (spectrum.real, spectrum.imag)
        )
        return re, im

    # Widths and limits

    def outside(self, radius: float, aspect: float) -> float:
        """Energy outside a circle, by quadrature in polar coordinates, to about 1e-6."""
        limit = self._farthest * np.sqrt(max(aspect, 1 / aspect))
        radius = min(radius, limit)
        around = 64 + 4 * int(2 * np.pi * radius / self._pixel)
        angle = 2 * np.pi * np.arange(around) / around
        rho, weight = quadrature(0, radius, 6 * radius / self._pixel)
        inside = 0.0
        for r, w in zip(rho, weight * rho * 2 * np.pi, strict=True):
            p, q = r * np.cos(angle) / np.sqrt(aspect), r * np.sin(angle) * np.sqrt(aspect)
            inside += float(w * self.density(p, q).mean())
        return min(max(1 - inside, 0.0), 1.0)

    @property
    def _farthest(self) -> float:
        """Radius that holds all light."""
        return float(np.hypot(np.abs(self._x).max(), np.abs(self._y).max()) + 3 * self._pixel)

    @cached_property
    def _half(self) -> tuple[float, float]:
        """Largest u, and diameter."""
        highest, pixels = _half_maximum(self._weight)
        return highest / self._pixel**2, pixels * self._pixel

    @property
    def width(self) -> float:
        """FWHM of u."""
        return self._half[1]

    def reach(self, tolerance: float) -> float:
        """ρ beyond which u ≤ tolerance × the largest u: u is nowhere above its nearest pixels."""
        row, column = np.nonzero(self._weight / self._pixel**2 > tolerance * self._half[0])
        return float(np.hypot(self._x[column], self._y[row]).max(initial=0) + 2**1.5 * self._pixel)

    def cutoff(self, tolerance: float) -> float:
        """κ_c; inf for tolerance 0."""
        if tolerance <= 0:
            return np.inf
        shape = [scipy.fft.next_fast_len(3 * k) for k in self._weight.shape]
        size = np.abs(scipy.fft.fft2(self._weight, shape)) / (shape[0] * shape[1] * self._pixel**2)
        y, x = (np.fft.fftfreq(k) for k in shape)  # in periods of the sum
        allowed = tolerance * self._half[0]
        all_y, all_x = (2 + np.cos(2 * np.pi * y)) / 3, (2 + np.cos(2 * np.pi * x)) / 3  # Σ_m sinc⁴(x + m)
        total = float(all_y @ size @ all_x)
        low = (size * np.sinc(y)[:, None] ** 4 * np.sinc(x) ** 4).ravel()
        radius = np.hypot(y[:, None], x).ravel()
        order = np.argsort(radius)
        enough = np.flatnonzero(total - np.cumsum(low[order]) <= allowed)
        last = radius[order[enough[0]]] + 1 / min(shape) if len(enough) else np.inf
        if last <= 0.5:
            return float(last / self._pixel)
        for m in (0, *_PERIODS):
            rest_y, rest_x = _periods_above(y, m), _periods_above(x, m)
            if rest_y @ size @ all_x + (all_y - rest_y) @ size @ rest_x <= allowed:
                return float(np.sqrt(2) * (m + 0.5) / self._pixel)
        return np.inf


def _periods_above(x: Floats, m: int) -> Floats:
    """Σ over |n| > m of sinc⁴(x + n)."""
    return (np.sin(np.pi * x) / np.pi) ** 4 * (
        scipy.special.zeta(4, m + 1 + x) + scipy.special.zeta(4, m + 1 - x)
    )


def _half_maximum(weight: Floats) -> tuple[float, float]:
    """The largest value of the spread pixels, and the diameter of the half maximum in pixels."""
    bright = np.argwhere(weight >= weight.max() / 4)
    low, high = bright.min(axis=0) - 3, bright.max(axis=0) + 3
    step = min(1.0, max(1 / 32, np.sqrt(4 / np.pi * len(bright)) / _PIXELS_PER_FWHM))
    row, column = (np.arange(a, b + step, step) for a, b in zip(low, high, strict=True))
    u = _spread(weight, *np.meshgrid(row, column, indexing="ij"))
    # The slope gives the place of the area's edge within a cell.
    slope = np.hypot(*np.gradient(u))
    above = u - u.max() / 2
    inside = np.clip(0.5 + above / np.maximum(slope, 1e-12 * u.max()), 0, 1)
    return float(u.max()), float(np.sqrt(4 / np.pi * inside.sum()) * step)


def _spread(weight: Floats, row: Floats, column: Floats) -> Floats:
    """Σ a β³ β³ at fractional indices, nothing outside."""
    at = np.stack([np.ravel(row), np.ravel(column)])
    values = scipy.ndimage.map_coordinates(
        weight, at, order=3, prefilter=False, mode="grid-constant", cval=0.0
    )
    return values.reshape(np.shape(row))
