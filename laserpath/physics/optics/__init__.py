"""The spot: the distribution of light over the resin at one position of the head.

    h(x, y), 1/mm², ∫ h dA = 1;   H(f) = ∫ h exp(−2πi f·x) dA, f in 1/mm, H(0) = 1.

| profile | spot | module |
| --- | --- | --- |
| airy | a uniformly filled circular aperture, in focus or defocused | `airy` |
| gaussian | a Gaussian beam, in focus or defocused | `gaussian` |
| flat-top | even light with a soft rim, in focus | `flattop` |
| airy-function | Ai(κr), which is not the physical spot | `radial` |
| measured | a table of radius and intensity, or a photograph | `radial`, `image` |

Each is computed for a FWHM of 1 (`shape`), cached, and scaled. An elliptical spot is a round one in stretched
coordinates: with ξ along `angle` and η across it,

    h(x, y) = u(ξ/(F√a), η√a/F)/F²,   H = U(F√a f_ξ, F f_η/√a),   F the FWHM, a the aspect.

N photons: h = h₁^N/∫h₁^N with h₁ the spot of one photon, whose FWHM is the spot's `fwhm`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.physics.optics.airy import FWHM_PER_RESOLUTION, NA_MAX
from laserpath.physics.optics.gaussian import FWHM_PER_RADIUS
from laserpath.physics.optics.image import BeamImage
from laserpath.physics.optics.radial import BeamTable
from laserpath.physics.optics.shape import Round
from laserpath.types import SPOT_PROFILES, MeasuredBeam, Shape, Spot

__all__ = [
    "BeamImage", "BeamTable", "FWHM_PER_RADIUS", "FWHM_PER_RESOLUTION", "airy_fwhm", "at_depth", "band",
    "cutoff", "energy_outside", "finest_width", "fwhm", "gaussian_fwhm", "has_kinks", "ideal", "is_gaussian",
    "power_integral", "profile", "profile_slope", "reach", "tail", "transfer", "transfer_slopes", "widened",
]  # fmt: skip

# Widths


def airy_fwhm(na: float, wavelength: float) -> float:
    """FWHM of the Airy spot in the unit of `wavelength`, from the numerical aperture."""
    for name, value in (("na", na), ("wavelength", wavelength)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} is {value}, but must be above 0")
    if na > NA_MAX:
        raise InputError(f"na is {na:g}, but must be at most {NA_MAX:g}")
    return FWHM_PER_RESOLUTION * wavelength / na


def gaussian_fwhm(radius: float) -> float:
    """FWHM of a Gaussian in the unit of `radius`, at which its intensity is 1/e² of the peak."""
    if not (np.isfinite(radius) and radius > 0):
        raise InputError(f"radius is {radius}, but must be above 0")
    return float(FWHM_PER_RADIUS * radius)


def fwhm(spot: Spot) -> float:
    """FWHM of the effective spot (defocused, h^N), mm: geometric mean of both axes.

    Of a disc or a ring: the largest diameter at which it is half its maximum.
    """
    return spot.fwhm * _shape(spot).width


# In space


def profile(spot: Spot, x: ArrayLike, y: ArrayLike = 0.0) -> Floats:
    """h, 1/mm², at (x, y) in mm, broadcast; a round spot needs the radius only."""
    p, q = _turned(spot, x, y)
    long, short = _axes(spot)
    return _shape(spot).density(p / long, q / short) / spot.fwhm**2


def profile_slope(spot: Spot, radius: ArrayLike) -> Floats:
    """dh/d(r²), 1/mm⁴, for radii in mm; of an elliptical spot, of the round one of the same FWHM."""
    shape = _shape(spot)
    if not isinstance(shape, Round):
        raise InputError("a photographed spot is not round, and has no slope along a radius")
    return shape.radial_slope(np.asarray(radius, dtype=np.float64) / spot.fwhm) / spot.fwhm**4


def energy_outside(spot: Spot, radius: float) -> float:
    """Fraction of the energy outside a circle of that radius in mm."""
    return _shape(spot).outside(abs(float(radius)) / spot.fwhm, spot.aspect)


def reach(spot: Spot, tolerance: float) -> float:
    """Radius (mm) beyond which h ≤ tolerance × its peak."""
    return max(_axes(spot)) * _shape(spot).reach(_checked(tolerance))


def tail(spot: Spot) -> float:
    """Far tail: c (mm) of h ≈ c/r³, the mean over the rings and over the angle; 0 if h falls faster."""
    a = max(spot.aspect, 1 / spot.aspect)
    # The mean of (a cos² + sin²/a)^(−3/2) over the angle (DLMF 19.6.15).
    mean = 2 / np.pi * np.sqrt(a) * scipy.special.ellipe(1 - a**-2)
    return float(spot.fwhm * _shape(spot).tail * mean)


def power_integral(spot: Spot) -> float:
    """∫ h₁^N dA of the one-photon spot, mm^(2−2N)."""
    return _shape(spot).power_integral / spot.fwhm ** (2 * spot.photons - 2)


# In frequency


def transfer(spot: Spot, fx: ArrayLike, fy: ArrayLike = 0.0) -> Floats:
    """H at (fx, fy) in 1/mm, broadcast: float64; complex128 of a photograph, which need not be even."""
    p, q = _turned(spot, fx, fy)
    long, short = _axes(spot)
    return _shape(spot).spectrum(p * long, q * short)


def transfer_slopes(spot: Spot, fx: ArrayLike, fy: ArrayLike = 0.0) -> tuple[Floats, Floats]:
    """(∂H/∂fwhm, ∂H/∂defocus), 1/mm, with the other and the wavelength fixed."""
    p, q = _turned(spot, fx, fy)
    long, short = _axes(spot)
    stretch, defocus = _shape(spot).spectrum_slopes(p * long, q * short)
    per_mm = _defocus_per_mm(spot)
    return (stretch - 2 * per_mm * spot.defocus * defocus) / spot.fwhm, defocus * per_mm


def cutoff(spot: Spot, tolerance: float = 0.0) -> float:
    """f_c, 1/mm, above which H may be left out: that changes h nowhere by more than tolerance × its peak.

    Along the sharpest axis; ∫_{|f|>f_c} |H| d²f ≤ tolerance × the largest h. With tolerance 0 it is the
    frequency above which H is zero: 2 NA/λ for the Airy spot, N times that for N photons, inf for the others.
    """
    return _shape(spot).cutoff(_checked(tolerance)) / min(_axes(spot))


def band(spot: Spot, tolerance: float) -> float:
    """The highest frequency that is kept, 1/mm; the others would change h by an eighth of the tolerance.

    Of a spot with kinks they change it by more: those above 5√N/FWHM are left out, too.
    """
    return float(min(cutoff(spot, tolerance / 8), _shape(spot).highest_kept / spot.fwhm))


def has_kinks(spot: Spot) -> bool:
    """Whether h is not smooth, so that `band` ends below the cut-off and a cubic would overshoot."""
    return bool(np.isfinite(_shape(spot).highest_kept))


def finest_width(spot: Spot, tolerance: float) -> float:
    """FWHM (mm) of the spot in focus, or of an Airy spot that holds frequencies as high, for a quadrature.

    A defocused Airy spot is wide but has fine rings, and a photograph may have any structure.
    """
    if has_kinks(spot):
        return 2 * FWHM_PER_RESOLUTION / band(spot, tolerance)
    return fwhm(replace(spot, defocus=0.0)) * min(spot.aspect, 1 / spot.aspect) ** 0.5


# Kin


def is_gaussian(spot: Spot) -> bool:
    """Whether h is a Gaussian, round or elliptical."""
    return _shape(spot).gaussian


def ideal(spot: Spot) -> str:
    """Name of the profile, of one parameter, that stands for the spot where sizes of strokes are computed."""
    return _shape(spot).ideal


INDEX = 1.5
"""Refractive index of a liquid resin: that of most acrylates at 405 nm is 1.47 to 1.55."""


def at_depth(spot: Spot, z: float, index: float) -> Spot:
    """The spot at a depth z (mm) in a medium of that refractive index: defocused as by z/index in air.

    The same spot where nothing says how it spreads.
    """
    return replace(spot, defocus=spot.defocus + z / index) if spot.spreads and z else spot


def widened(spot: Spot, width: float) -> Spot:
    """The spot of the same shape and power, `width` times as wide.

    A defocus z has the parameter ψ ∝ z λ/FWHM² of its shape, so z grows with the square of the width.
    """
    return replace(spot, fwhm=width * spot.fwhm, defocus=width**2 * spot.defocus)


# From a spot to its shape


def _axes(spot: Spot) -> tuple[float, float]:
    """FWHM along and across the angle."""
    stretch = float(np.sqrt(spot.aspect))
    return spot.fwhm * stretch, spot.fwhm / stretch


def _turned(spot: Spot, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Coordinates along and across the angle; a mesh that is not turned stays a row and a column."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    angle = spot.angle % 360
    if angle in (0, 180):
        return (x, y) if angle == 0 else (-x, -y)
    if angle in (90, 270):
        return (y, -x) if angle == 90 else (-y, x)
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return x * cos + y * sin, y * cos - x * sin


def _defocus_per_mm(spot: Spot) -> float:
    """ψ/z of the light. At z = 0 an unknown wavelength does not matter: there ∂H/∂ψ is 0."""
    if spot.measured is not None:
        return spot.measured.defocus_per_mm(spot.fwhm, spot.wavelength)
    return _named(spot.profile).DEFOCUS * (spot.wavelength or 0.0) / spot.fwhm**2


def _shape(spot: Spot) -> Shape:
    psi = _defocus_per_mm(spot) * spot.defocus if spot.defocus else 0.0
    return _made(spot.profile, psi, spot.photons, spot.measured)


@lru_cache(maxsize=32)
def _made(profile: str, psi: float, photons: int, measured: MeasuredBeam | None) -> Shape:
    """The shape, with its tables. In focus, a change of the FWHM alone needs no new shape."""
    return _named(profile)(psi, photons) if measured is None else measured.shape(psi, photons)


def _named(profile: str) -> Any:
    """The class of a named profile's shape, which is called with ψ and the number of photons."""
    module, name = SPOT_PROFILES[profile].shape.split(":")
    return getattr(import_module(f"{__name__}.{module}"), name)


def _checked(tolerance: float) -> float:
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance}, but must be at least 0 and below 1")
    return float(tolerance)
