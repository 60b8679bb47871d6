"""The spots that several tests of `laserpath.physics.optics` use, FWHM 0.1 mm, and plain references."""

from __future__ import annotations

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.physics import optics
from laserpath.physics.optics import BeamImage, BeamTable
from laserpath.types import Spot

F = 0.1
WAVELENGTH = 405e-6


def defocus(psi: float) -> float:
    """z in mm for ψ = π NA² z/λ."""
    na = optics.FWHM_PER_RESOLUTION * WAVELENGTH / F
    return psi * WAVELENGTH / (np.pi * na**2)


def gaussian_table(fwhm: float = 0.02, rows: int = 61) -> BeamTable:
    """A Gaussian out to 3 FWHM."""
    radius = np.linspace(0, 3 * fwhm, rows)
    return BeamTable(radius, 7 * np.exp(-4 * np.log(2) * (radius / fwhm) ** 2))


def image(
    fwhm: tuple[float, float] = (24.0, 24.0), centre: tuple[float, float] = (60.3, 58.8), skew: float = 0.0
) -> BeamImage:
    """A Gaussian on 120 × 120 pixels of 1 µm; skew makes it lopsided."""
    y, x = np.mgrid[:120, :120]
    p, q = (x - centre[0]) / fwhm[0], (y - centre[1]) / fwhm[1]
    light = np.exp(-4 * np.log(2) * (p**2 + q**2))
    light += skew * np.exp(-4 * np.log(2) * ((p - 0.6) ** 2 + (q - 0.3) ** 2) * 3)
    return BeamImage(light, 1e-3)


SPOTS = {
    "airy": Spot(F),
    "airy, 2 photons": Spot(F, photons=2),
    "airy, 3 photons": Spot(F, photons=3),
    "airy, defocused": Spot(F, defocus=defocus(4.0), wavelength=WAVELENGTH),
    "airy, defocused, 2 photons": Spot(F, defocus=defocus(-2.5), wavelength=WAVELENGTH, photons=2),
    "gaussian": Spot(F, "gaussian"),
    "gaussian, defocused, 2 photons": Spot(F, "gaussian", defocus=30.0, wavelength=WAVELENGTH, photons=2),
    "flat-top": Spot(F, "flat-top"),
    "flat-top, 2 photons": Spot(F, "flat-top", photons=2),
    "airy-function": Spot(F, "airy-function"),
    "airy-function, 2 photons": Spot(F, "airy-function", photons=2),
    "table": Spot(F, "measured", measured=gaussian_table()),
    "table, 3 photons": Spot(F, "measured", measured=gaussian_table(), photons=3),
}
"""Round ones."""

ELLIPTICAL = {
    "airy": Spot(F, aspect=1.7, angle=25.0),
    "airy, defocused": Spot(F, defocus=defocus(4.0), wavelength=WAVELENGTH, aspect=0.6, angle=-50.0),
    "gaussian": Spot(F, "gaussian", aspect=2.0, angle=110.0),
    "table": Spot(F, "measured", measured=gaussian_table(), aspect=0.5, angle=90.0),
}

PHOTOGRAPHS = {
    "photograph": Spot(F, "measured", measured=image(skew=0.5)),
    "photograph, turned": Spot(F, "measured", measured=image((30.0, 20.0), skew=0.5), angle=35.0),
    "photograph, 2 photons": Spot(F, "measured", measured=image(skew=0.5), photons=2),
}

ALL = {**SPOTS, **{f"elliptical {name}": spot for name, spot in ELLIPTICAL.items()}, **PHOTOGRAPHS}


def rings(end: float, steps: int = 40_000) -> tuple[Floats, Floats]:
    """Radii (mm) and weights of ∫ … 2πr dr by the midpoint rule."""
    r = (np.arange(steps) + 0.5) * end / steps
    return r, 2 * np.pi * r * end / steps
