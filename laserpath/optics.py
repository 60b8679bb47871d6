"""The spot: how the light of one position is spread over the resin.

Airy pattern of a uniformly filled circular aperture (Born & Wolf, Principles of Optics, §8.5.2):

    h(r) = (π NA²/λ²) [2 J₁(x)/x]²,   x = 2π NA r/λ,   ∫ h dA = 1,   h in 1/mm².

Its optical transfer function is the self-overlap of the aperture (Goodman, Introduction to
Fourier Optics, §6.3), zero above the cut-off f_c = 2 NA/λ:

    H(f) = (2/π) [arccos ν − ν √(1 − ν²)],   ν = f/f_c.

Only NA/λ matters, so that a spot is given by its FWHM = 0.5145 λ/NA.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import j0, j1

from laserpath.arrays import Floats
from laserpath.errors import InputError
from laserpath.types import Spot

# The half maximum of [2 J₁(x)/x]² lies at x = 1.616340; FWHM = 2·1.616340/(2π) λ/NA.
_HALF_MAXIMUM = 1.6163399483107026
FWHM_PER_RESOLUTION = _HALF_MAXIMUM / np.pi


def airy_fwhm(na: float, wavelength: float) -> float:
    """FWHM of the Airy spot in the unit of `wavelength`, from the numerical aperture."""
    for name, value in (("na", na), ("wavelength", wavelength)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} is {value}, but must be above 0")
    return FWHM_PER_RESOLUTION * wavelength / na


def cutoff(spot: Spot) -> float:
    """f_c = 2 NA/λ, 1/mm: the dose holds no frequency above it."""
    return 2 * FWHM_PER_RESOLUTION / spot.fwhm


def profile(spot: Spot, radius: ArrayLike) -> Floats:
    """h(r), 1/mm², for radii in mm, same shape."""
    k = 2 * _HALF_MAXIMUM / spot.fwhm
    x = np.maximum(k * np.abs(np.asarray(radius, dtype=np.float64)), 1e-8)  # 2 J₁(x)/x is 1 to 1e-17 there
    return k**2 / (4 * np.pi) * (2 * j1(x) / x) ** 2


def profile_slope(spot: Spot, radius: ArrayLike) -> Floats:
    """dh/d(r²), 1/mm⁴, for radii in mm: from d/dx [J₁(x)/x] = −J₂(x)/x."""
    k = 2 * _HALF_MAXIMUM / spot.fwhm
    x = np.maximum(k * np.abs(np.asarray(radius, dtype=np.float64)), 1e-3)  # the limit is flat to 1e-7 there
    j2 = 2 * j1(x) / x - j0(x)
    return -(k**4) / np.pi * (j1(x) / x) * (j2 / x**2)


def transfer(spot: Spot, frequency: ArrayLike) -> Floats:
    """H(f), dimensionless, H(0) = 1, for frequencies in 1/mm, same shape."""
    nu = np.clip(np.abs(np.asarray(frequency, dtype=np.float64)) / cutoff(spot), 0, 1)
    return 2 / np.pi * (np.arccos(nu) - nu * np.sqrt(1 - nu**2))


def energy_outside(spot: Spot, radius: float) -> float:
    """Fraction of the energy outside a circle: J₀²(x) + J₁²(x) (Rayleigh 1881)."""
    x = 2 * _HALF_MAXIMUM / spot.fwhm * radius
    return float(j0(x) ** 2 + j1(x) ** 2)
