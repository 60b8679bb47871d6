"""The nouns of laserpath: what goes in, what is planned, what comes out.

Everything is immutable: arrays are read-only, records are changed with `dataclasses.replace`.
Every noun checks itself and names the bad value.

Units inside: mm, s, mW (= mJ/s), mJ/mm². y points up. Lengths called "in FWHM" are
multiples of the spot's full width at half maximum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import PurePath

import numpy as np
import shapely
from numpy.typing import ArrayLike
from shapely.geometry import MultiPolygon, Polygon

import gcode
from laserpath.arrays import Bools, Floats, frozen_array
from laserpath.checks import between, number, positive, whole
from laserpath.choices import INITIAL_CURVES, QUALITIES
from laserpath.errors import InputError

Point = tuple[float, float]

SPOT_PROFILES = ("airy", "gaussian", "airy-function", "measured")
"""Names of the spot profiles."""


@dataclass(frozen=True, slots=True)
class Design:
    """The area that shall be solid.

    area: valid polygons in mm, y up, never empty.
    page: lower-left and upper-right corner of the sheet (x0, y0, x1, y1) in mm, if there is one.
    warnings: one sentence for each thing of the file that was not understood.
    """

    area: MultiPolygon
    name: str = "design"
    page: tuple[float, float, float, float] | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name or self.name != PurePath(self.name).name:
            raise InputError(f"design name {self.name!r} is not a plain file name")
        area = MultiPolygon([self.area]) if isinstance(self.area, Polygon) else self.area
        object.__setattr__(self, "area", area)
        if not isinstance(area, MultiPolygon):
            raise InputError(f"design area is a {type(area).__name__}, but must be polygons")
        if area.is_empty or area.area == 0:
            raise InputError(f"design {self.name!r} is empty: nothing in it is filled or stroked")
        if not np.isfinite(area.bounds).all():
            raise InputError(f"design {self.name!r} has coordinates that are not finite")
        if not area.is_valid:
            raise InputError(f"design {self.name!r} is not valid: {shapely.is_valid_reason(area)}")

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1), mm."""
        x0, y0, x1, y1 = self.area.bounds
        return float(x0), float(y0), float(x1), float(y1)

    @property
    def size(self) -> Point:
        """(width, height), mm."""
        x0, y0, x1, y1 = self.bounds
        return x1 - x0, y1 - y0


@dataclass(frozen=True, slots=True)
class Grid:
    """Square pixels. Arrays are indexed [row, column] = [y, x]; row 0 is the lowest y.

    origin: centre of pixel [0, 0], (x, y) mm.  pitch: mm.  shape: (rows, columns).
    """

    origin: Point
    pitch: float
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or not all(isinstance(n, (int, np.integer)) for n in self.shape):
            raise InputError(f"grid shape is {self.shape}, but must be two whole numbers, (rows, columns)")
        positive(self, "pitch", "shape")
        number("grid origin", self.origin)
        if not np.isfinite(self.origin).all():
            raise InputError(f"grid origin is {self.origin}, but must be finite")

    @property
    def pixel_area(self) -> float:
        """mm²."""
        return self.pitch**2

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Outer edges (x0, x1, y0, y1) in mm, as matplotlib's `imshow` wants them."""
        (x0, y0), (rows, columns), p = self.origin, self.shape, self.pitch
        return x0 - p / 2, x0 + (columns - 0.5) * p, y0 - p / 2, y0 + (rows - 0.5) * p

    def x(self) -> Floats:
        """Centres of the columns, (columns,) mm."""
        return self.origin[0] + self.pitch * np.arange(self.shape[1])

    def y(self) -> Floats:
        """Centres of the rows, (rows,) mm."""
        return self.origin[1] + self.pitch * np.arange(self.shape[0])

    def to_pixels(self, xy: ArrayLike) -> Floats:
        """(N, 2) positions in mm → (N, 2) fractional (column, row) indices."""
        return (np.asarray(xy, dtype=np.float64) - self.origin) / self.pitch


@dataclass(frozen=True, slots=True)
class Target:
    """What each pixel shall be. coverage: (rows, columns), the fraction of each pixel inside."""

    grid: Grid
    coverage: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverage", frozen_array(self.coverage, "coverage", self.grid.shape))


@dataclass(frozen=True, slots=True, eq=False)
class BeamImage:
    """A photograph of the spot. intensity: (rows, columns) ≥ 0, row 0 lowest y.  pitch: mm per pixel."""

    intensity: Floats
    pitch: float

    def __post_init__(self) -> None:
        positive(self, "pitch")
        object.__setattr__(self, "intensity", frozen_array(self.intensity, "beam intensity", (None, None)))
        _some_light(self.intensity)


@dataclass(frozen=True, slots=True, eq=False)
class BeamTable:
    """A measured round spot. radius: (K,) mm, 0 and rising.  intensity: (K,) ≥ 0, dark beyond the last."""

    radius: Floats
    intensity: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", frozen_array(self.radius, "beam radius", (None,)))
        shape = (len(self.radius),)
        object.__setattr__(self, "intensity", frozen_array(self.intensity, "beam intensity", shape))
        if len(self.radius) < 2 or self.radius[0] != 0 or np.diff(self.radius).min() <= 0:
            raise InputError("beam radius must begin at 0 and rise from value to value")
        _some_light(self.intensity)


def _some_light(intensity: Floats) -> None:
    if intensity.size == 0 or intensity.min() < 0 or intensity.max() == 0:
        raise InputError("beam intensity must be nowhere below 0, and somewhere above it")


@dataclass(frozen=True, slots=True)
class Spot:
    """The focused beam, h(x, y) with ∫h = 1; `optics` says what the profiles are.

    fwhm: full width at half maximum in focus, mm; of an elliptical spot the geometric mean of both.
    profile: 'airy', 'gaussian', 'airy-function' or 'measured'.
    aspect: FWHM along `angle` ÷ FWHM across it; 1 for a photograph, which has its own shape and is turned
    by the angle.  angle: degrees from +x, counter-clockwise.
    defocus: distance from the focal plane, mm.  wavelength: mm, needed with a defocus.
    photons: absorbed at once; the dose is spread as h^photons.
    measured: what a 'measured' spot looks like, scaled to `fwhm`.
    """

    fwhm: float = 0.1
    profile: str = "airy"
    aspect: float = 1.0
    angle: float = 0.0
    defocus: float = 0.0
    wavelength: float | None = None
    photons: int = 1
    measured: BeamImage | BeamTable | None = None

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


@dataclass(frozen=True, slots=True)
class Resin:
    """What the dose does. Negative tone: exposed stays. Positive: exposed is washed away.

    critical_dose: D_c, mJ/mm², the dose above which the layer is cured (or cleared).
    contrast: steepness of the logistic in D/D_c that stands for the threshold in the loss.
    over_dose: largest dose wanted, in D_c.
    order: absorption order N, photons absorbed at once: the dose grows as power^N/speed.
    """

    name: str = "generic 405 nm resin"
    critical_dose: float = 0.2
    tone: str = "negative"
    contrast: float = 10.0
    over_dose: float = 3.0
    order: int = 1

    def __post_init__(self) -> None:
        positive(self, "critical_dose", "contrast", "over_dose")
        whole(self, "order")
        between(self, order=(1, 8))
        if self.over_dose <= 1:
            raise InputError(f"resin over_dose is {self.over_dose}, but must be above 1 (in critical doses)")
        if self.tone not in ("negative", "positive"):
            raise InputError(f"resin tone {self.tone!r} is unknown; known: negative, positive")


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine can do. Pairs are (x, y).

    size: work area, mm.  speed_max, rapid_speed: mm/s.  acceleration: mm/s².
    junction_deviation: mm, as in GRBL.  power_max: mW at S = s_max; 0: the dialect's.
    power_levels: PWM levels above zero; usable powers are power_max·n/power_levels.
    level_min: the smallest usable n.  segment_rate: moves/s that the link keeps up with.
    look_ahead: moves that the planner sees.  dialect: name of a G-code dialect, or a TOML file of one.
    baud: bits/s of a serial line, None for one without limit.  steps: per mm, of the motors; None: many.
    square_corner_velocity: mm/s, and minimum_cruise_ratio: as in Klipper, for the junction deviation.
    lag, of the head, as of a galvo's mirrors, laser_on_delay, laser_off_delay: s.
    """

    name: str = "generic 405 nm GRBL diode"
    size: Point = (300.0, 200.0)
    speed_max: Point = (50.0, 50.0)
    rapid_speed: Point = (100.0, 100.0)
    acceleration: Point = (500.0, 500.0)
    junction_deviation: float = 0.01
    power_max: float = 10.0
    s_max: float = 0.0
    power_levels: int = 255
    level_min: int = 1
    segment_rate: float = 250.0
    look_ahead: int = 15
    dialect: str = "grbl"
    baud: float | None = 115200.0
    steps: Point | None = None
    square_corner_velocity: float = 5.0
    minimum_cruise_ratio: float = 0.5
    lag: float = 0.0
    laser_on_delay: float = 0.0
    laser_off_delay: float = 0.0

    def __post_init__(self) -> None:
        if self.s_max == 0:
            object.__setattr__(self, "s_max", gcode.dialect(self.dialect).power_max)
        positive(
            self, "size", "speed_max", "rapid_speed", "acceleration", "junction_deviation",
            "power_max", "s_max", "power_levels", "level_min", "segment_rate", "look_ahead",
            "square_corner_velocity",
        )  # fmt: skip
        positive(self, *(name for name in ("baud", "steps") if getattr(self, name) is not None))
        between(self, minimum_cruise_ratio=(0, 0.99), lag=(0, 1))
        between(self, laser_on_delay=(0, 1), laser_off_delay=(0, 1))
        whole(self, "power_levels", "level_min", "look_ahead")
        if self.level_min > self.power_levels:
            raise InputError(f"machine level_min {self.level_min} is above power_levels {self.power_levels}")

    @property
    def power_step(self) -> float:
        """One PWM level, mW."""
        return self.power_max / self.power_levels

    @property
    def power_min(self) -> float:
        """Smallest usable power, mW."""
        return self.level_min * self.power_step


@dataclass(frozen=True, slots=True)
class Process:
    """Spot, resin and machine: the physics of one job. The spot's photons are the resin's order."""

    spot: Spot = field(default_factory=Spot)
    resin: Resin = field(default_factory=Resin)
    machine: Machine = field(default_factory=Machine)

    def __post_init__(self) -> None:
        if self.spot.photons == 1:
            object.__setattr__(self, "spot", replace(self.spot, photons=self.resin.order))
        if self.spot.photons != self.resin.order:
            raise InputError(
                f"spot photons {self.spot.photons} are not the resin's absorption order {self.resin.order}"
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """How to plan: numerics and choices, no physics. Lengths are in FWHM where named so.

    quality: 'draft', 'standard' or 'fine': how much true edges count against write time.
    initial: 'contour', 'spiral', 'hatch', 'rim', 'tracks', 'random', or 'auto': what a short trial finds best
    for each region.
    pitch_fwhm: between lines.
    inset_fwhm: first ring inside the edge.  angle: of the hatch, degrees from +x.
    segment_fwhm: longest move while optimising.  iterations: at most, in all stages.
    pixels_per_fwhm: of the grid.  simplify_fwhm: how far a vertex may be from the simplified path.
    max_epe_fwhm: tolerance on the 95th percentile of |EPE|; None: none asked for.
    blur: a relative width of the spot, out of focus, that the plan shall be good with too; 1: in focus only.
    passes: how often the path is repeated, the power divided by it.
    origin: work zero: lower-left corner of the 'page', of the 'design', or the design's 'centre'.
    """

    quality: str = "standard"
    initial: str = "auto"
    pitch_fwhm: float = 1.2
    inset_fwhm: float = 0.4
    angle: float = 0.0
    segment_fwhm: float = 1.0
    iterations: int = 500
    pixels_per_fwhm: float = 6.0
    simplify_fwhm: float = 0.005
    max_epe_fwhm: float | None = None
    blur: float = 1.0
    passes: int = 1
    origin: str = "page"
    seed: int = 0

    def __post_init__(self) -> None:
        whole(self, "iterations", "passes", "seed")
        if self.quality not in QUALITIES:
            raise InputError(f"quality {self.quality!r} is unknown; known: {', '.join(QUALITIES)}")
        if self.initial not in INITIAL_CURVES:
            raise InputError(f"initial curve {self.initial!r} is unknown; known: {', '.join(INITIAL_CURVES)}")
        between(self, pitch_fwhm=(0.1, 10), inset_fwhm=(0, 2), angle=(-360, 360))
        between(self, segment_fwhm=(0.1, 100), simplify_fwhm=(1e-6, 1), seed=(0, 2**63))
        between(self, pixels_per_fwhm=(3, 100), iterations=(0, 1_000_000), passes=(1, 100), blur=(1, 2))
        if self.origin not in ("page", "design", "centre"):
            raise InputError(f"origin {self.origin!r} is unknown; known: page, design, centre")
        if self.max_epe_fwhm is not None:
            positive(self, "max_epe_fwhm")


@dataclass(frozen=True, slots=True, eq=False)
class Toolpath:
    """Straight moves one after the other, exactly what `G1 X Y F S` says.

    xy: (N+1, 2) vertices, mm.  power: (N,) mW, 0 means travel (laser off, rapid).
    speed: (N,) mm/s. Move k runs from vertex k to k+1.
    """

    xy: Floats
    power: Floats
    speed: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "xy", frozen_array(self.xy, "toolpath xy", (None, 2)))
        n = max(len(self.xy) - 1, 0)
        for name in ("power", "speed"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"toolpath {name}", (n,)))
        if n and self.power.min() < 0:
            raise InputError(f"toolpath power {self.power.min():g} mW is below 0 mW")
        if n and self.speed.min() <= 0:
            raise InputError(f"toolpath speed {self.speed.min():g} mm/s is not above 0 mm/s")

    def __len__(self) -> int:
        return len(self.power)

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        return self.power > 0

    @property
    def length(self) -> Floats:
        """(N,) length of each move, mm."""
        return np.hypot(*np.diff(self.xy, axis=0).T)

    @property
    def line_energy(self) -> Floats:
        """(N,) q = power/speed, mJ/mm."""
        return self.power / self.speed
