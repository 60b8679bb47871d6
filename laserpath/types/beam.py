"""The focused beam."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.checks import between, number, positive, whole
from laserpath.base.errors import InputError, one_line

SPOT_PROFILES = ("airy", "gaussian", "airy-function", "measured")
"""Names of the spot profiles."""


@dataclass(frozen=True, slots=True, eq=False)
class BeamImage:
    """A photograph of the spot. intensity: (rows, columns) ≥ 0, row 0 at the lowest y.  pitch: mm/pixel."""

    intensity: Floats
    pitch: float

    __repr__ = one_line

    def __post_init__(self) -> None:
        positive(self, "pitch")
        object.__setattr__(self, "intensity", frozen_array(self.intensity, "beam intensity", (None, None)))
        _some_light(self.intensity)


_NEAREST, _FARTHEST = 1e-9, 1e3
"""mm, limits of a measured spot's radii; beyond them its slopes and areas have no finite numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class BeamTable:
    """A measured round spot. radius: (K,) mm, rising from 0.  intensity: (K,) ≥ 0, dark beyond the last."""

    radius: Floats
    intensity: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", frozen_array(self.radius, "beam radius", (None,)))
        shape = (len(self.radius),)
        object.__setattr__(self, "intensity", frozen_array(self.intensity, "beam intensity", shape))
        if len(self.radius) < 2 or self.radius[0] != 0 or np.diff(self.radius).min() <= 0:
            raise InputError("beam radius must begin at 0 and rise from value to value")
        if np.diff(self.radius).min() < _NEAREST or self.radius[-1] > _FARTHEST:
            raise InputError(
                f"beam radius must rise by {_NEAREST:g} mm at least, and to {_FARTHEST:g} mm at most"
            )
        _some_light(self.intensity)


def _some_light(intensity: Floats) -> None:
    if intensity.size == 0 or intensity.min() < 0 or intensity.max() == 0:
        raise InputError("beam intensity must be nowhere below 0, and somewhere above it")


@dataclass(frozen=True, slots=True)
class Spot:
    """The focused beam, h(x, y) with ∫h = 1; `optics` defines the profiles.

    fwhm: full width at half maximum in focus, mm; for an elliptical spot the geometric mean of both.
    profile: 'airy', 'gaussian', 'airy-function' or 'measured'.
    aspect: FWHM along `angle` ÷ FWHM across it; 1 for a photograph, which has its own shape and is rotated
    by the angle.  angle: degrees from +x, counter-clockwise.
    defocus: distance from the focal plane, mm.  wavelength: mm, needed with a defocus.
    photons: number absorbed at once; the dose is spread as h^photons.
    measured: the data of a 'measured' spot, scaled to `fwhm`.  source: name or path of the profile that it
    comes from, for the project file.
    """

    fwhm: float = 0.1
    profile: str = "airy"
    aspect: float = 1.0
    angle: float = 0.0
    defocus: float = 0.0
    wavelength: float | None = None
    photons: int = 1
    measured: BeamImage | BeamTable | None = None
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        positive(self, "fwhm")
        if self.profile not in SPOT_PROFILES:
            raise InputError(f"spot profile {self.profile!r} is unknown; known: {', '.join(SPOT_PROFILES)}")
        between(self, aspect=(0.1, 10), angle=(-360, 360), photons=(1, 8))
        whole(self, "photons")
        if (self.measured is None) == (self.profile == "measured"):
            raise InputError("spot measured must be given for the profile 'measured', and only there")
        if isinstance(self.measured, BeamImage) and self.aspect != 1:
            raise InputError(
                f"spot aspect is {self.aspect:g}, but a photograph has its own shape; give one FWHM"
            )
        if self.wavelength is not None:
            positive(self, "wavelength")
        number("spot defocus", self.defocus)
        if self.defocus:
            self._check_defocus()

    def _check_defocus(self) -> None:
        if self.profile not in ("airy", "gaussian"):
            raise InputError(f"spot profile {self.profile!r} has no defocus; airy and gaussian have")
        if not np.isfinite(self.defocus):
            raise InputError(f"spot defocus is {self.defocus}, but must be finite")
        if self.wavelength is None:
            raise InputError(f"spot defocus {self.defocus:g} mm needs a wavelength")
