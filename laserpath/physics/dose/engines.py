"""The interface of an engine: points of energy ↔ dose on a grid.

`fft`, `direct` and `autodiff` implement it. All of them compute D_j = Σ_k e_k h(x_j − x_k) at the pixel
centres x_j of a grid, for a spot h with ∫h = 1, and with g = ∂L/∂D the adjoint
∂L/∂e_k = Σ_j g_j h(x_j − x_k), ∂L/∂x_k = e_k ∇(Σ_j g_j h(x_j − ·)).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from laserpath.base.arrays import Floats, not_complex
from laserpath.base.checks import known_precision, number
from laserpath.base.errors import InputError, figure
from laserpath.physics import optics
from laserpath.types import Grid, Spot

DTYPE = {"f32": np.float32, "f64": np.float64}

TOLERANCE = 1e-3
"""Default of the largest error of an engine, relative to the peak of the dose."""

_FEWEST_PIXELS = 2.0
_BRIGHTEST = 1e30
_GRIDS = 8
"""Largest number of grid-sized arrays that an engine holds at once, for the check of memory. A larger one
refuses more grids."""


@dataclass(frozen=True, slots=True)
class SpotGradient:
    """Derivatives of a scalar with respect to the spot, per mm of FWHM and of defocus."""

    fwhm: float
    defocus: float


class Engine(Protocol):
    """Points of energy ↔ dose on `grid`. Arrays in and out are NumPy; none is written to."""

    grid: Grid
    spot: Spot
    precision: str

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""

    def spot_gradient(self, xy: Floats, energy: Floats, d_dose: Floats) -> SpotGradient:
        """∂L/∂(FWHM, defocus) from ∂L/∂D (rows, columns)."""


def check(grid: Grid, spot: Spot, precision: str, tolerance: float) -> None:
    """Raise InputError for a request that no engine can meet."""
    known_precision(precision)
    number("tolerance", tolerance)
    if not 1e-6 <= tolerance <= 0.1:
        raise InputError(f"tolerance is {tolerance:g}, but must be between 1e-06 and 0.1")
    if tolerance < 1e-5 and precision == "f32":
        raise InputError(f"tolerance {tolerance:g} is below 1e-05, too fine for f32; use precision 'f64'")
    narrow = optics.fwhm(spot) * min(spot.aspect, 1 / spot.aspect) ** 0.5
    if narrow < _FEWEST_PIXELS * grid.pitch * (1 - 1e-9):
        raise InputError(
            f"spot FWHM {narrow:g} mm is {figure(narrow / grid.pitch, 2)} pixels of {grid.pitch:g} mm, "
            f"but must be at least {_FEWEST_PIXELS:g}"
        )


def check_memory(shape: tuple[int, int], precision: str, note: str = "") -> None:
    """Refuse a padded grid that would not fit in memory, before any allocation. note: why it is so large."""
    needed = _GRIDS * np.dtype(DTYPE[precision]).itemsize * float(shape[0]) * shape[1]
    if needed > (available := _memory()):
        raise InputError(
            f"grid of {shape[0]} × {shape[1]} pixels{note} needs {needed / 2**30:.1f} GiB, "
            f"above the {available / 2**30:.1f} GiB that are free"
        )


def _memory() -> float:
    """Free memory in bytes, or the machine's whole memory; infinite if the system reports neither."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            (free,) = (line.split()[1] for line in lines if line.startswith("MemAvailable"))
        return 1024 * float(free)
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return np.inf


def checked_points(xy: Floats, energy: Floats, owner: Engine) -> tuple[Floats, Floats]:
    """The points as contiguous float64; refused if not finite, too bright for f32, or outside the grid."""
    xy = np.ascontiguousarray(not_complex(xy, "points xy"), dtype=np.float64)
    energy = np.ascontiguousarray(not_complex(energy, "points energy"), dtype=np.float64)
    if xy.shape != (len(energy), 2) or energy.ndim != 1:
        raise InputError(
            f"points xy {xy.shape} and energy {energy.shape} do not go together: (M, 2) and (M,)"
        )
    # nan and inf persist in a sum: checking it is quicker than checking every energy.
    if not np.isfinite(energy.sum()) and (bad := int((~np.isfinite(energy)).sum())):
        raise InputError(f"path is not finite in {bad} of {energy.size} energies")
    if owner.precision == "f32" and len(energy):
        brightest = np.abs(energy).max() * float(optics.profile(owner.spot, 0.0, 0.0))
        if brightest > _BRIGHTEST:
            raise InputError(
                f"dose {figure(brightest)} of one point is above {_BRIGHTEST:g}, too large for f32; "
                "use precision 'f64'"
            )
    check_inside(xy, owner.grid)
    return xy, energy


def check_inside(xy: Floats, grid: Grid) -> None:
    """Refuse positions (M, 2) that are not finite, or outside the grid."""
    if len(xy) == 0:
        return
    low, high = np.array([[x.min(), x.max()] for x in xy.T]).T
    if not np.isfinite(low + high).all():
        bad = int((~np.isfinite(xy)).sum())
        raise InputError(f"path is not finite in {bad} of {xy.size} coordinates")
    x0, x1, y0, y1 = grid.extent
    if (low < (x0, y0)).any() or (high > (x1, y1)).any():
        raise InputError(f"exposing moves reach from {low} to {high} mm, outside the grid {grid.extent} mm")


def checked_slope(d_dose: Floats, owner: Engine) -> Floats:
    """∂L/∂D as a contiguous array of the engine's precision."""
    shape, d_dose = owner.grid.shape, not_complex(d_dose, "slope of the dose")
    if np.shape(d_dose) != shape:
        raise InputError(f"slope of the dose has shape {np.shape(d_dose)}, but the grid has {shape}")
    # As above; but the sum may itself overflow, so every value is checked if it is not finite.
    if not np.isfinite(np.sum(d_dose)) and not np.isfinite(d_dose).all():
        raise InputError("slope of the dose holds values that are not finite")
    return np.ascontiguousarray(d_dose, DTYPE[owner.precision])


def quadratic_form(spot: Spot) -> Floats:
    """(A, B, C) of r² = A x² + B x y + C y² in the round spot that the elliptical one stretches."""
    angle = np.radians(spot.angle)
    c, s, wide, narrow = np.cos(angle), np.sin(angle), 1 / spot.aspect, spot.aspect
    return np.array([wide * c**2 + narrow * s**2, 2 * (wide - narrow) * c * s, wide * s**2 + narrow * c**2])
