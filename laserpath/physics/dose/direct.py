"""The direct engine: h itself, summed over all pixels within a radius. For few points, and as a cross-check.

A Gaussian along the axes is a product of two one-dimensional ones; its box ends where it is below a third
of the tolerance. Every other round or elliptical spot is read from a table over the squared radius (cubic
Hermite), which ends smoothly where the spot is below half of the tolerance, at 8 FWHM at most. So a single
point is within the tolerance, but the energy `outside` is lost. For an Airy spot this is some per cent,
spread thinly over the plane; a large exposed area lacks it. The FFT engine cuts no tail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
from scipy.interpolate import PchipInterpolator

from laserpath.base.arrays import Floats
from laserpath.base.compute.runtime import device, strips_of
from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.dose import engines
from laserpath.physics.dose.stencils import radial, separable
from laserpath.types import Grid, Spot

_KNOTS = 1 << 14
_FARTHEST = 8.0
"""Largest radius of a stencil, in FWHM; a larger one loses less energy and costs its square in time."""

_WIDEST = 32
"""Largest width of an unrolled stencil, pixels. A wider one takes long to compile, and the FFT is faster."""


def direct_engine(
    grid: Grid, spot: Spot, precision: str = "f32", tolerance: float = engines.TOLERANCE
) -> SeparableEngine | RadialEngine:
    """The stencil that suits the spot and the device."""
    engines.check(grid, spot, precision, tolerance)
    engines.check_memory(grid.shape, precision)
    if device() == "cpu" and (bell := _along_axes(spot)) and _box(max(bell), grid, tolerance) <= _WIDEST:
        return SeparableEngine(grid, spot, precision, tolerance)
    return RadialEngine(grid, spot, precision, tolerance)


def _along_axes(spot: Spot) -> tuple[float, float] | None:
    """FWHM along x and y of a Gaussian whose axes are those of the grid."""
    turns = spot.angle / 90
    if not optics.is_gaussian(spot) or (spot.aspect != 1 and turns != round(turns)):
        return None
    wide, narrow = optics.fwhm(spot) * spot.aspect**0.5, optics.fwhm(spot) / spot.aspect**0.5
    return (narrow, wide) if round(turns) % 2 else (wide, narrow)


def _box(fwhm: float, grid: Grid, tolerance: float) -> int:
    """Width in pixels, even, outside which a Gaussian is below a third of the tolerance."""
    radius = fwhm * np.sqrt(np.log(3 / tolerance) / (4 * np.log(2)))
    return 2 * int(np.ceil(radius / grid.pitch))


class SeparableEngine:
    """h(x, y) = peak · exp(−a x²) exp(−b y²) on a box of pixels. outside: the energy lost, at most."""

    def __init__(self, grid: Grid, spot: Spot, precision: str, tolerance: float) -> None:
        self.grid, self.spot, self.precision = grid, spot, precision
        fwhms = _along_axes(spot)
        if fwhms is None:
            raise InputError(f"spot {spot.profile!r} is not a Gaussian along the axes")
        self._kernels = separable(precision, _box(fwhms[0], grid, tolerance))
        self._above = _box(fwhms[1], grid, tolerance) // 2
        self.outside = tolerance / 3
        self._rates = tuple(4 * np.log(2) * (grid.pitch / fwhm) ** 2 for fwhm in fwhms)
        self._peak = 4 * np.log(2) / (np.pi * fwhms[0] * fwhms[1])

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""
        xy, energy = engines.checked_points(xy, energy, self)
        dose = np.zeros(self.grid.shape, engines.DTYPE[self.precision])
        strips = strips_of(xy[:, 1], self.grid.origin[1], self.grid.pitch, len(dose))
        self._kernels.spread(xy, self._peak * energy, *self._place(), *self._rates, self._above, strips, dose)
        return dose

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        xy, energy = engines.checked_points(xy, energy, self)
        field = engines.checked_slope(d_dose, self)
        d_energy, d_xy = np.empty(len(energy)), np.empty((len(energy), 2))
        self._kernels.gather(
            xy, self._peak * energy, *self._place(), *self._rates, self._above, field, d_energy, d_xy
        )
        return self._peak * d_energy, d_xy

    def spot_gradient(self, xy: Floats, energy: Floats, d_dose: Floats) -> engines.SpotGradient:
        """Only the FFT engine has it."""
        raise InputError("the direct engine has no gradient of the spot; use method 'fft'")

    def _place(self) -> tuple[float, float, float]:
        return *self.grid.origin, 1 / self.grid.pitch


@dataclass(frozen=True, slots=True)
class RadialTable:
    """h over the squared radius in the spot's own axes, in cubic Hermite pieces.

    value, slope: (knots,) 1/mm², and per knot.  form: (3,) A, B, C of A x² + B x y + C y² in knots, with x, y
    in pixels.  reach: pixels beyond which h is 0.  outside: the part of the energy that is lost there.
    """

    value: Floats
    slope: Floats
    form: Floats
    reach: int
    outside: float

    @property
    def energy(self) -> float:
        """∫h dA of the table, pixels² mm⁻²: times the pixel's area it is the part of the energy in it."""
        (a, b, c), h, slope = self.form, self.value, self.slope
        along = h.sum() - (h[0] + h[-1]) / 2 + (slope[0] - slope[-1]) / 12
        return float(2 * np.pi / np.sqrt(4 * a * c - b**2) * along)


def window(square: Floats) -> tuple[Floats, Floats]:
    """The part of h that a table holds, of the squared radius relative to that of its end; and its slope."""
    fade = np.clip((1 - square) / (1 - 0.9**2), 0, 1)
    return fade**2 * (3 - 2 * fade), -6 * fade * (1 - fade) / (1 - 0.9**2)


def radial_table(grid: Grid, spot: Spot, tolerance: float, farthest: float = _FARTHEST) -> RadialTable:
    """The table of a spot, which ends where h is below half of the tolerance, at `farthest` FWHM at most."""
    base = replace(spot, aspect=1.0)
    radius = min(optics.reach(base, tolerance / 2), farthest * optics.fwhm(spot)) / 0.9
    r = np.sqrt(np.linspace(0, radius**2, _KNOTS))
    part, part_slope = window((r / radius) ** 2)
    h, slope = optics.profile(base, r), optics.profile_slope(base, r)
    per_knot = radius**2 / (_KNOTS - 1)
    if optics.has_kinks(spot):  # where a cubic would overshoot
        slope = PchipInterpolator(r**2, h).derivative()(r**2)
    widest = max(spot.aspect, 1 / spot.aspect) ** 0.5
    return RadialTable(
        value=h * part,
        slope=(slope * part + h * part_slope / radius**2) * per_knot,
        form=engines.quadratic_form(spot) * grid.pitch**2 / per_knot,
        reach=int(np.ceil(radius * widest / grid.pitch)),
        outside=optics.energy_outside(base, 0.9 * radius),
    )


class RadialEngine:
    """h from a table over the squared radius in the spot's own axes. outside: the energy lost."""

    def __init__(self, grid: Grid, spot: Spot, precision: str, tolerance: float = engines.TOLERANCE) -> None:
        if not spot.round:
            raise InputError("the direct engine has no stencil for a photographed spot; use method 'fft'")
        self.grid, self.spot, self.precision = grid, spot, precision
        table = radial_table(grid, spot, tolerance)
        self.outside = table.outside
        self._table = table.value.astype(engines.DTYPE[precision])
        self._slopes = table.slope.astype(engines.DTYPE[precision])
        self._form, self._reach = table.form, table.reach

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""
        xy, energy = engines.checked_points(xy, energy, self)
        u, v = self._pixels(xy)
        dose = np.zeros(self.grid.shape, engines.DTYPE[self.precision])
        self._kernels().spread(
            u, v, energy.astype(dose.dtype), self._table, self._slopes, self._form, self._reach, dose
        )
        return dose

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        xy, energy = engines.checked_points(xy, energy, self)
        field = engines.checked_slope(d_dose, self)
        u, v = self._pixels(xy)
        value, du, dv = (np.empty_like(u) for _ in range(3))
        self._kernels().gather(u, v, self._table, self._slopes, self._form, self._reach, field, value, du, dv)
        scale = energy / self.grid.pitch
        return value.astype(np.float64), np.stack([du * scale, dv * scale], axis=1)

    def spot_gradient(self, xy: Floats, energy: Floats, d_dose: Floats) -> engines.SpotGradient:
        """Only the FFT engine has it."""
        raise InputError("the direct engine has no gradient of the spot; use method 'fft'")

    def _kernels(self) -> SimpleNamespace:
        return radial(self.precision, device() != "cpu")

    def _pixels(self, xy: Floats) -> tuple[Floats, Floats]:
        """Fractional (column, row) indices of the points, contiguous, in the engine's precision."""
        uv = self.grid.to_pixels(xy).astype(engines.DTYPE[self.precision])
        return np.ascontiguousarray(uv[:, 0]), np.ascontiguousarray(uv[:, 1])
