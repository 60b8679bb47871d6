"""The focused beam: a spot, and what may be asked of its light.

A spot's light is a profile with a name, or measured. `laserpath.physics.optics` has the shapes of both, and
nothing else asks which one it is. Another spot is a `Shape`, and

- a line in `SPOT_PROFILES`, if it is to have a name, or
- a `MeasuredBeam` that makes it, for `Spot(fwhm, "measured", measured=…)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from laserpath.base.arrays import Floats
from laserpath.base.checks import between, number, one_of, positive, whole
from laserpath.base.errors import InputError


class Shape(ABC):
    """A spot whose light has, in focus, the FWHM 1; without angle or width in mm.

    Lengths p, q, ρ are in FWHM, frequencies κ in 1/FWHM, and ∫u = 1. Its formulas are in `optics.shape`.
    """

    power_integral: float
    """∫ u₁^N dA of the one-photon spot u₁."""
    tail: float = 0.0
    """c of the mean far tail u ≈ c/ρ³."""
    highest_kept: float = np.inf
    """κ above which nothing is kept: it rounds the kinks of a shape that has some, whose spectrum would need
    too fine a grid; inf for a smooth one."""
    gaussian: bool = False
    """Whether it is a Gaussian: the one round shape that is a product of functions of p and of q."""
    ideal: str = "gaussian"
    """Name of the profile, of one parameter, by which sizes of strokes of such a spot are computed."""
    DEFOCUS: float = 0.0
    """ψ ÷ (λ z/FWHM²), for a profile that is known by name."""

    @abstractmethod
    def density(self, p: Floats, q: Floats) -> Floats:
        """u, 1/FWHM²."""

    @abstractmethod
    def spectrum(self, p: Floats, q: Floats) -> Floats:
        """U at the frequencies (p, q), 1/FWHM."""

    @abstractmethod
    def spectrum_slopes(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """(κ·∇U, ∂U/∂ψ)."""

    @abstractmethod
    def outside(self, radius: float, aspect: float) -> float:
        """Energy outside a circle, when the shape is stretched to an ellipse of that aspect."""

    @abstractmethod
    def cutoff(self, tolerance: float) -> float:
        """κ_c with ∫_{|κ|>κ_c} |U| d²κ ≤ tolerance × the largest u; inf if none does."""

    @abstractmethod
    def reach(self, tolerance: float) -> float:
        """ρ beyond which u ≤ tolerance × the largest u."""

    @property
    @abstractmethod
    def width(self) -> float:
        """FWHM of u: defocused, h^N."""


class MeasuredBeam(ABC):
    """The light of a measured spot. Equal ones must have equal hashes: shapes are cached by them."""

    __slots__ = ()

    title: ClassVar[str]
    """What it is, in a word: 'photograph'."""
    round: ClassVar[bool] = True
    """Whether it depends on the radius alone; only then a spot of it may have an aspect."""
    defocuses: ClassVar[bool] = False
    """Whether it is known out of focus, too."""

    @abstractmethod
    def shape(self, defocus: float, photons: int) -> Shape:
        """The shape at the defocus ψ, for N photons."""

    def defocus_per_mm(self, fwhm: float, wavelength: float | None) -> float:
        """ψ/z of a spot that has that FWHM (mm) in focus, 1/mm; ψ is 1/FWHM² times what does not change."""
        return 0.0


@dataclass(frozen=True, slots=True)
class NamedProfile:
    """A profile that is known by its name.

    shape: module and class of its `Shape` in `optics`, which is made from ψ and the number of photons; empty
    if the spot must bring a `MeasuredBeam`.  defocuses: whether it is known out of focus.  fitted: whether it
    can be fitted to the sizes of strokes.  width_key: of spot files, what may stand for its FWHM.
    """

    shape: str = ""
    defocuses: bool = False
    fitted: bool = False
    width_key: str = ""


SPOT_PROFILES = {
    "airy": NamedProfile("airy:Airy", defocuses=True, fitted=True, width_key="na"),
    "gaussian": NamedProfile("gaussian:Gaussian", defocuses=True, fitted=True, width_key="radius_1e2"),
    "flat-top": NamedProfile("flattop:FlatTop", fitted=True),
    "airy-function": NamedProfile("radial:AiryFunction"),
    "measured": NamedProfile(),
}
"""The spot profiles by name."""

FITTED_PROFILES = tuple(name for name, profile in SPOT_PROFILES.items() if profile.fitted)
"""Names of the profiles that can be fitted to the sizes of strokes."""


@dataclass(frozen=True, slots=True)
class DoseMap:
    """What share of the dose acts at each place: g(x, y) = exp(Σ_ij c_ij B_i(y) B_j(x)).

    B: uniform cubic B-splines over the box (x0, y0, x1, y1) mm; beyond it g is that of its border.
    coefficients: c, row by row from (x0, y0) on, as many as `shape` (rows, columns) says, at least 4 × 4.
    prints: number of prints whose photographs have told it.

    A light that is uneven over the bed, a resin that is thicker at one side and a development that goes on
    longer there all act like it. The log of g is between the lowest and the highest c everywhere.
    """

    box: tuple[float, float, float, float]
    shape: tuple[int, int]
    coefficients: tuple[float, ...]
    prints: int = 0

    def __post_init__(self) -> None:
        x0, y0, x1, y1 = self.box
        if not (np.isfinite(self.box).all() and x0 < x1 and y0 < y1):
            raise InputError(
                f"dose map box is {self.box} mm, but must be x0, y0, x1, y1 with x0 < x1, y0 < y1"
            )
        if min(self.shape) < FEWEST_COEFFICIENTS:
            raise InputError(
                f"dose map shape is {self.shape}, but must be at least {FEWEST_COEFFICIENTS} each"
            )
        if len(self.coefficients) != self.shape[0] * self.shape[1]:
            raise InputError(
                f"dose map has {len(self.coefficients)} coefficients, but its shape {self.shape} needs "
                f"{self.shape[0] * self.shape[1]}"
            )
        if not np.abs(self.coefficients).max() <= _MOST_LOG_DOSE:
            raise InputError(
                f"dose map has a coefficient of {max(self.coefficients, key=abs):g}, but must be within "
                f"±{_MOST_LOG_DOSE:g}"
            )

    def moved(self, by: ArrayLike) -> DoseMap:
        """The map of places that have moved by (x, y) mm."""
        dx, dy = np.asarray(by, dtype=np.float64).tolist()
        x0, y0, x1, y1 = self.box
        return replace(self, box=(x0 + dx, y0 + dy, x1 + dx, y1 + dy))


FEWEST_COEFFICIENTS = 4
"""Of a cubic B-spline along one axis."""

_MOST_LOG_DOSE = 2.0
"""A share of the dose below e^−2 or above e^2 is no unevenness, but another laser."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The focused beam, h(x, y) with ∫h = 1; `optics` defines the profiles.

    fwhm: full width at half maximum in focus, mm; for an elliptical spot the geometric mean of both.
    profile: 'airy', 'gaussian', 'flat-top', 'airy-function' or 'measured'.
    aspect: FWHM along `angle` ÷ FWHM across it; 1 for a photograph, which has its own shape and is rotated
    by the angle.  angle: degrees from +x, counter-clockwise.
    defocus: distance from the focal plane, mm.  wavelength: mm, needed with the
    defocus of a profile that is known by name.
    photons: number absorbed at once; the dose is spread as h^photons.
    measured: the data of a 'measured' spot, scaled to `fwhm`.  source: name or path of the profile that it
    comes from, for the project file.
    calibrated: when and by what it was measured, a line for each time, the last one newest.
    dose_map: what share of its dose acts at each place of the machine; None: all of it everywhere.
    """

    fwhm: float = 0.1
    profile: str = "airy"
    aspect: float = 1.0
    angle: float = 0.0
    defocus: float = 0.0
    wavelength: float | None = None
    photons: int = 1
    measured: MeasuredBeam | None = None
    source: str = field(default="", compare=False)
    dose_map: DoseMap | None = None
    calibrated: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        positive(self, "fwhm")
        one_of("spot profile", self.profile, SPOT_PROFILES)
        between(self, aspect=(0.1, 10), angle=(-360, 360), photons=(1, 8))
        whole(self, "photons")
        if (self.measured is None) == (not SPOT_PROFILES[self.profile].shape):
            raise InputError("spot measured must be given for the profile 'measured', and only there")
        if self.measured is not None and not self.measured.round and self.aspect != 1:
            raise InputError(
                f"spot aspect is {self.aspect:g}, but a {self.measured.title} has its own shape; "
                "give one FWHM"
            )
        if self.wavelength is not None:
            positive(self, "wavelength")
        number("spot defocus", self.defocus)
        if self.defocus:
            self._check_defocus()

    @property
    def round(self) -> bool:
        """Whether it is round, or elliptical with its `aspect`."""
        return self.measured is None or self.measured.round

    def seen_from(self, zero: ArrayLike) -> Spot:
        """The same where places are counted from (x, y) mm."""
        return (
            self if self.dose_map is None else replace(self, dose_map=self.dose_map.moved(-np.asarray(zero)))
        )

    @property
    def even(self) -> Spot:
        """The same without its `dose_map`."""
        return self if self.dose_map is None else replace(self, dose_map=None)

    @property
    def spreads(self) -> bool:
        """Whether it is known how wide it is out of focus."""
        if self.measured is not None:
            return self.measured.defocuses
        return SPOT_PROFILES[self.profile].defocuses and self.wavelength is not None

    def _check_defocus(self) -> None:
        known = SPOT_PROFILES[self.profile].defocuses if self.measured is None else self.measured.defocuses
        if not known:
            have = " and ".join(name for name, profile in SPOT_PROFILES.items() if profile.defocuses)
            raise InputError(f"spot profile {self.profile!r} has no defocus; {have} have")
        if not np.isfinite(self.defocus):
            raise InputError(f"spot defocus is {self.defocus}, but must be finite")
        if self.measured is None and self.wavelength is None:
            raise InputError(f"spot defocus {self.defocus:g} mm needs a wavelength")
