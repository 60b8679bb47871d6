"""Dose D(x) = Σ_k q_k ∫ h(|x − γ_k(s)|) ds on a grid, and its adjoint.

Two engines behind one interface:

`FftEngine` (default): points are splatted with a cubic B-spline, and the grid is multiplied in the
frequency domain by the spot's closed-form transfer function H, so that no tail of the spot is cut.
The blur of the splat itself, sinc⁴(f_x p) sinc⁴(f_y p) for pitch p, is divided out (Unser 1999,
"Splines: a perfect fit", eq. 11), and the grid does not widen the spot. The grid is periodic.

`DirectEngine`: h itself, summed over all pixels within a radius; the energy outside is the error.
Slow; the cross-check.

With g = ∂L/∂D the adjoint is the same filter (H is real and even) and the gather of the same splat:
∂L/∂e_k = G(x_k), ∂L/∂x_k = e_k ∇G(x_k), G = filter(g).

Arrays in and out are NumPy float64; inside, `precision` ('f32' or 'f64').
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import fft

from laserpath import optics
from laserpath.arrays import Floats
from laserpath.dose.runtime import kernels
from laserpath.dose.segments import PIECE_FWHM, PathGradient, Points, from_points, to_points
from laserpath.errors import InputError
from laserpath.types import Grid, Spot, Toolpath

_RIM_FWHM = 20.0
"""What `isolated_dose` puts around the grid."""

_DTYPE = {"f32": np.float32, "f64": np.float64}


class Engine(Protocol):
    """Points of energy ↔ dose on a grid."""

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""


class FftEngine:
    """Soft splat + transfer function, exact for the periodic grid up to the splat's own error:

    at 3, 4, 6, 8 pixels per FWHM 4e-3, 1e-3, 2e-4, 6e-5 of a point's peak dose.
    """

    def __init__(self, grid: Grid, spot: Spot, precision: str = "f32") -> None:
        self.grid, self.precision = grid, _checked(precision)
        rows, columns = grid.shape
        fy = np.fft.fftfreq(rows, grid.pitch)[:, None]
        fx = np.fft.rfftfreq(columns, grid.pitch)[None, :]
        if 0.5 / grid.pitch < optics.cutoff(spot):
            raise InputError(
                f"pixel pitch {grid.pitch:g} mm is above {0.5 / optics.cutoff(spot):g} mm, "
                f"too coarse for a spot of {spot.fwhm:g} mm FWHM"
            )
        blur = (np.sinc(fx * grid.pitch) * np.sinc(fy * grid.pitch)) ** 4
        filter_ = optics.transfer(spot, np.hypot(fx, fy)) / blur / grid.pixel_area
        self._filter = filter_.astype(_DTYPE[precision])

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""
        u, v = _pixels(xy, self.grid, self.precision)
        energy = energy.astype(_DTYPE[self.precision])
        canvas = np.zeros(self.grid.shape, _DTYPE[self.precision])
        kernels(self.precision).splat(u, v, energy, canvas)
        return self._apply(canvas)

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        u, v = _pixels(xy, self.grid, self.precision)
        field = self._apply(np.ascontiguousarray(d_dose, _DTYPE[self.precision]))
        value, du, dv = (np.empty_like(u) for _ in range(3))
        kernels(self.precision).gather(u, v, field, value, du, dv)
        return _per_point(value, du, dv, energy, self.grid)

    def _apply(self, canvas: Floats) -> Floats:
        spectrum = fft.rfft2(canvas, workers=-1, overwrite_x=True)
        spectrum *= self._filter
        return fft.irfft2(spectrum, s=canvas.shape, workers=-1, overwrite_x=True)


class DirectEngine:
    """The spot's stencil, faded out to zero between 0.9 and 1 `radius_fwhm`.

    `optics.energy_outside` says what is lost. The fade is smooth, so the gradient is that of the sum.
    """

    _KNOTS = 1 << 14

    def __init__(self, grid: Grid, spot: Spot, precision: str = "f64", radius_fwhm: float = 3.0) -> None:
        self.grid, self.precision = grid, _checked(precision)
        radius = radius_fwhm * spot.fwhm
        r = np.sqrt(np.linspace(0, radius**2, self._KNOTS))
        fade = np.clip((1 - (r / radius) ** 2) / (1 - 0.9**2), 0, 1)
        window, window_slope = fade**2 * (3 - 2 * fade), -6 * fade * (1 - fade) / (1 - 0.9**2) / radius**2
        h, slope = optics.profile(spot, r), optics.profile_slope(spot, r)
        per_knot = radius**2 / (self._KNOTS - 1)
        self._table = (h * window).astype(_DTYPE[precision])
        self._slopes = ((slope * window + h * window_slope) * per_knot).astype(_DTYPE[precision])
        self._per_square = grid.pitch**2 / per_knot
        self._reach = int(np.ceil(radius / grid.pitch))

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""
        u, v = _pixels(xy, self.grid, self.precision)
        energy = energy.astype(_DTYPE[self.precision])
        dose = np.zeros(self.grid.shape, _DTYPE[self.precision])
        kernels(self.precision).direct(
            u, v, energy, self._table, self._slopes, self._per_square, self._reach, dose
        )
        return dose

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        u, v = _pixels(xy, self.grid, self.precision)
        field = np.ascontiguousarray(d_dose, _DTYPE[self.precision])
        value, du, dv = (np.empty_like(u) for _ in range(3))
        kernels(self.precision).direct_adjoint(
            u, v, self._table, self._slopes, self._per_square, self._reach, field, value, du, dv
        )
        return _per_point(value, du, dv, energy, self.grid)


def _checked(precision: str) -> str:
    if precision not in _DTYPE:
        raise InputError(f"precision {precision!r} is unknown; known: f32, f64")
    return precision


def _pixels(xy: Floats, grid: Grid, precision: str) -> tuple[Floats, Floats]:
    """Fractional (column, row) indices of the points, contiguous, in the engine's precision."""
    uv = grid.to_pixels(xy).astype(_DTYPE[precision])
    return np.ascontiguousarray(uv[:, 0]), np.ascontiguousarray(uv[:, 1])


def _per_point(value: Floats, du: Floats, dv: Floats, energy: Floats, grid: Grid) -> tuple[Floats, Floats]:
    scale = energy / grid.pitch
    return value.astype(np.float64), np.stack([du * scale, dv * scale], axis=1)


@dataclass(frozen=True, slots=True)
class ToolpathGradient:
    """Derivatives of a scalar. xy: (N+1, 2) per mm.  power: (N,) per mW.  speed: (N,) per mm/s."""

    xy: Floats
    power: Floats
    speed: Floats


class DoseModel:
    """Dose of polylines on one grid, with a stated quadrature (`piece_fwhm`)."""

    def __init__(
        self,
        grid: Grid,
        spot: Spot,
        *,
        engine: Engine | None = None,
        precision: str = "f32",
        piece_fwhm: float = PIECE_FWHM,
    ) -> None:
        self.grid, self.spot = grid, spot
        self._engine = engine or FftEngine(grid, spot, precision)
        self._piece = piece_fwhm * spot.fwhm

    def dose(self, toolpath: Toolpath) -> Floats:
        """Dose (rows, columns), mJ/mm², of all exposing moves."""
        return self.line_dose(toolpath.xy, toolpath.line_energy)

    def gradient(self, toolpath: Toolpath, d_dose: Floats) -> ToolpathGradient:
        """∂L/∂(xy, power, speed) from ∂L/∂D."""
        path = self.line_gradient(toolpath.xy, toolpath.line_energy, d_dose)
        per_power = path.line_energy / toolpath.speed
        return ToolpathGradient(path.xy, per_power, -per_power * toolpath.line_energy)

    def line_dose(self, xy: Floats, line_energy: Floats) -> Floats:
        """Dose of the polyline xy: (N+1, 2) mm with line energies (N,) mJ/mm."""
        return self.spread(self.points(xy, line_energy))

    def line_gradient(self, xy: Floats, line_energy: Floats, d_dose: Floats) -> PathGradient:
        """∂L/∂(xy, line energy) from ∂L/∂D (rows, columns). Dark segments have no derivative."""
        return self.pull(self.points(xy, line_energy), d_dose, xy, line_energy)

    def points(self, xy: Floats, line_energy: Floats) -> Points:
        """The quadrature points of a polyline, for `spread` and `pull`; refused outside the grid."""
        if not np.isfinite(xy).all():
            raise InputError(f"path holds {int((~np.isfinite(xy)).sum())} coordinates that are not finite")
        points = to_points(np.asarray(xy), np.asarray(line_energy), self._piece)
        x0, x1, y0, y1 = self.grid.extent
        low, high = points.xy.min(axis=0, initial=np.inf), points.xy.max(axis=0, initial=-np.inf)
        if (low < (x0, y0)).any() or (high > (x1, y1)).any():
            raise InputError(
                f"exposing moves reach from {low} to {high} mm, outside the grid {self.grid.extent} mm"
            )
        return points

    def spread(self, points: Points) -> Floats:
        """Dose (rows, columns), mJ/mm², of the points."""
        return self._engine.spread(points.xy, points.energy)

    def pull(self, points: Points, d_dose: Floats, xy: Floats, line_energy: Floats) -> PathGradient:
        """`line_gradient` with the points of that polyline at hand."""
        return from_points(points, *self._engine.gather(points.xy, points.energy, d_dose), xy, line_energy)


def isolated_dose(path: Toolpath, grid: Grid, spot: Spot) -> Floats:
    """Dose (rows, columns) mJ/mm², float64, of one part alone: on a grid with a wider dark rim.

    The FFT repeats its grid. At the 6 FWHM rim of the optimiser's grid the neighbours' Airy tails add
    about 0.5 % of the critical dose, which may help a loss but not a report.
    """
    rim = round(_RIM_FWHM * spot.fwhm / grid.pitch)
    rows, columns = (fft.next_fast_len(n + 2 * rim, real=True) for n in grid.shape)
    (x0, y0), p = grid.origin, grid.pitch
    wide = Grid((x0 - rim * p, y0 - rim * p), p, (rows, columns))
    dose = DoseModel(wide, spot, precision="f64").dose(path)
    return dose[rim : rim + grid.shape[0], rim : rim + grid.shape[1]].copy()
