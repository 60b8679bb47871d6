"""The physics of one job: resin with its kinetics, machine, and the process that joins them with a spot."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

import gcode
from gcode.controllers.interface import WINDOWS, z_of
from laserpath.base.arrays import Floats
from laserpath.base.checks import between, number, one_of, positive, whole
from laserpath.base.errors import InputError, PlausibilityWarning, figure
from laserpath.types.beam import Spot
from laserpath.types.drawing import Point

LIGHT = ("above", "below")
"""From where a machine exposes the layers of a part."""

_HIGHEST_LIFT, _LONGEST_REST = 1000.0, 86400.0
"""mm and s, of a layer change."""

_LONGEST_WAIT = 1e6
"""s, twelve days. A simulation takes at least a step for each second of the wait."""


@dataclass(frozen=True, slots=True)
class Kinetics:
    """Rates of radicals R, oxygen O and monomer m, in a layer that light fills evenly from top to bottom.

        dR/dt = I/E_R − k_o R O − k₁ R − k₂ R²
        dO/dt = D ∇²O + s (1 − O) − k_o R O
        dm/dt = −k_p R m

    R and O are in units of the oxygen that the resin holds at rest, m is 1 before exposure, and 1 − m is the
    conversion. Unreacted initiator is plentiful, and radicals do not move.

    radical_dose: E_R, mJ/mm², the dose that makes as many radicals as there is oxygen at rest.
    propagation: k_p, 1/s.  inhibition: k_o, 1/s.  termination: k₁, 1/s, where a radical ends alone.
    pair_termination: k₂, 1/s, where two end each other.  diffusion: D of oxygen, mm²/s.  supply: s, 1/s, of
    oxygen through the surface.  oxygen: at first, 1 in air and 0 under nitrogen.  gel_conversion: from which
    the resin stays.  wait: s, at most 1e6, from the last light until the rest is washed away, at which plans
    and simulations of programs measure the conversion.

    Sources: E. Andrzejewska, "Photopolymerization kinetics of multifunctional monomers", Prog. Polym. Sci. 26
    (2001), 605–665, for termination of both orders; C. Decker and A. D. Jenkins, "Kinetic approach of oxygen
    inhibition in ultraviolet- and laser-induced polymerizations", Macromolecules 18 (1985), 1241–1244.
    """

    radical_dose: float
    propagation: float
    inhibition: float = 0.0
    termination: float = 0.0
    pair_termination: float = 0.0
    diffusion: float = 0.0
    supply: float = 0.0
    oxygen: float = 1.0
    gel_conversion: float = 0.2
    wait: float = 10.0

    def __post_init__(self) -> None:
        positive(self, "radical_dose", "propagation", "gel_conversion")
        for name in (
            "inhibition", "termination", "pair_termination", "diffusion", "supply", "oxygen", "wait",
        ):  # fmt: skip
            value = getattr(self, name)
            number(f"kinetics {name}", value)
            if not 0 <= value < float("inf"):
                raise InputError(f"kinetics {name} is {value:g}, but must be finite and at least 0")
        if self.wait > _LONGEST_WAIT:
            raise InputError(f"kinetics wait is {self.wait:g} s, but must be at most {_LONGEST_WAIT:g} s")
        if self.gel_conversion >= 1:
            raise InputError(f"kinetics gel_conversion is {self.gel_conversion:g}, but must be below 1")

    @property
    def critical_dose(self) -> float:
        """mJ/mm², the dose that reaches the gel point if it comes at once, and no oxygen does.

        Of the radicals D/E_R that it makes, oxygen takes as many as it is; the rest, R, ends in the dark:

            k_p ∫R dt = (k_p/k₂) ln(1 + k₂ R/k₁) = −ln(1 − gel),   and k_p R/k₁ without ends of second order.

        0 where radicals live for ever and nothing inhibits them.
        """
        needed, ends = -math.log1p(-self.gel_conversion) / self.propagation, self.pair_termination
        left = self.termination * (math.expm1(min(ends * needed, 700.0)) / ends if ends else needed)
        return self.radical_dose * ((self.oxygen if self.inhibition else 0.0) + left)


Shapers = tuple["gcode.motion.Shaper | None", "gcode.motion.Shaper | None"]
"""Of x and of y."""

_MOST_SHRINKAGE = 0.1
"""Largest share by which a resin may shrink or swell; resins have 0.005 to 0.05. A larger one lets percents
pass for shares."""

_MOST_BIAS = 0.2
"""mm. Resists have a bias of micrometres; a larger one most likely was meant in µm."""

_MOST_BLEACHED = 100.0
"""Penetration depths. Positive resists become ten to thirty times as clear; a larger one was most likely
meant in another unit."""

_MOST_BOTTOM = 1000
_MOST_EXPOSURE = 50.0
"""Slicers give their first 2 to 10 layers 5 to 30 times the time of the others."""

_LARGE_DOSE = 10.0
"""mJ/mm², 1000 mJ/cm². Resins of printers need 5 to 50 mJ/cm², resists up to some 500, thick SU-8 and solder
masks up to 1000: a larger dose most likely was meant in mJ/cm². A larger value here warns less often."""


@cache
def _doubt(dose: float) -> None:
    """Warn, at the line that makes the resin, of a dose that was most likely meant in mJ/cm², once."""
    meant = figure(dose)
    warnings.warn(
        f"resin critical_dose is {meant} mJ/mm², which is {figure(100 * dose)} mJ/cm² and above the "
        f"{100 * _LARGE_DOSE:g} mJ/cm² that resins need at most; if {meant} mJ/cm² is meant, it is "
        f"{figure(dose / 100)} mJ/mm²",
        PlausibilityWarning,
        stacklevel=4,
    )


@dataclass(frozen=True, slots=True)
class Resin:
    """The resin's response to the dose. Negative tone: exposed resin stays. Positive: it is washed away.

    critical_dose: D_c, mJ/mm², the dose above which the layer is cured (or cleared); 1 mJ/mm² is
    100 mJ/cm². A `PlausibilityWarning` says if it is above 10 mJ/mm².
    contrast: steepness of the logistic function of D/D_c that replaces the threshold in the loss.
    over_dose: largest dose that the loss allows without a penalty, in D_c.
    order: absorption order N, photons absorbed at once: the dose grows as power^N/speed.
    e_c: mJ/mm², and penetration_depth: mm, of Jacobs' working curve, if known; both or neither.
    bleached_depth: mm, the penetration depth once light has destroyed what it can of the absorber, and
    bleaching_dose: mJ/mm², the dose that leaves 1/e of it; both or neither (`laserpath.physics.absorption`).
    Less than the penetration depth is absorption that builds up.
    kinetics: its reaction through time, which then decides what cures; a plan begins with the critical dose.
    shrinkage: (x, y, z), shares by which what is cured becomes shorter; swelling is below 0.
    development_bias: mm, by which edges of what stays lie farther out after development than where the dose
    is critical. Both are compensated in what is exposed (`laserpath.machine.placement`).
    bottom_layers: the lowest layers of a part, which get bottom_exposure critical doses, so that they
    hold to the plate.
    source: of the doses, where they are published and were not measured with this laser.
    calibrated: when and by what it was measured, a line for each time, the last one newest.
    """

    name: str = "generic 405 nm resin"
    critical_dose: float = 0.2
    tone: str = "negative"
    contrast: float = 10.0
    over_dose: float = 3.0
    order: int = 1
    e_c: float | None = None
    penetration_depth: float | None = None
    kinetics: Kinetics | None = None
    bleached_depth: float | None = None
    bleaching_dose: float | None = None
    shrinkage: tuple[float, float, float] = (0.0, 0.0, 0.0)
    development_bias: float = 0.0
    bottom_layers: int = 0
    bottom_exposure: float = 1.0
    source: str = field(default="", compare=False)
    calibrated: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        positive(self, "critical_dose", "contrast", "over_dose")
        if (self.e_c is None) != (self.penetration_depth is None):
            raise InputError(
                "resin e_c and penetration_depth are of one working curve; give both, or neither"
            )
        if self.e_c is not None:
            positive(self, "e_c", "penetration_depth")
            if self.e_c > self.critical_dose:
                raise InputError(
                    f"resin e_c is {self.e_c:g} mJ/mm², above the critical dose {self.critical_dose:g} mJ/mm²"
                )
        whole(self, "order")
        between(self, order=(1, 8))
        if self.over_dose <= 1:
            raise InputError(f"resin over_dose is {self.over_dose}, but must be above 1 (in critical doses)")
        if self.order == 1 and self.critical_dose > _LARGE_DOSE:
            _doubt(self.critical_dose)
        one_of("resin tone", self.tone, ("negative", "positive"))
        if self.kinetics is not None and (self.tone, self.order) != ("negative", 1):
            raise InputError(
                f"a resin with kinetics has the tone {self.tone!r} and the absorption order {self.order}, "
                "but must have 'negative' and 1"
            )
        _check_lengths(self)
        _check_bottom(self)
        _check_bleaching(self)

    @property
    def done(self) -> str:
        """What a dose above the critical one does, as a verb: 'cure', or 'clear' in a positive resist."""
        return "cure" if self.tone == "negative" else "clear"


def _check_bleaching(resin: Resin) -> None:
    """Raise InputError for a bleaching of which a part is missing, or that no resin has."""
    given = resin.bleached_depth, resin.bleaching_dose
    if given == (None, None):
        return
    if None in given:
        raise InputError("resin bleached_depth and bleaching_dose are of one model; give both, or neither")
    if resin.penetration_depth is None:
        raise InputError("resin bleached_depth needs a working curve beside it: e_c and penetration_depth")
    positive(resin, "bleached_depth", "bleaching_dose")
    times = resin.bleached_depth / resin.penetration_depth  # type: ignore[operator]
    if not 1 / _MOST_BLEACHED <= times <= _MOST_BLEACHED:
        raise InputError(
            f"resin bleached_depth is {figure(times)} times the penetration depth, but must be between "
            f"{1 / _MOST_BLEACHED:g} and {_MOST_BLEACHED:g} times"
        )


def _check_bottom(resin: Resin) -> None:
    """Raise InputError for bottom layers without more light, or for more light without any."""
    whole(resin, "bottom_layers")
    number("resin bottom_exposure", resin.bottom_exposure)
    if not 0 <= resin.bottom_layers <= _MOST_BOTTOM:
        raise InputError(
            f"resin bottom_layers is {resin.bottom_layers}, but must be between 0 and {_MOST_BOTTOM}"
        )
    if not 1 <= resin.bottom_exposure <= _MOST_EXPOSURE:
        raise InputError(
            f"resin bottom_exposure is {figure(resin.bottom_exposure)} critical doses, but must be between 1 "
            f"and {_MOST_EXPOSURE:g}"
        )
    if (resin.bottom_layers > 0) != (resin.bottom_exposure > 1):
        raise InputError(
            f"resin bottom_layers is {resin.bottom_layers} and bottom_exposure "
            f"{figure(resin.bottom_exposure)}; give both, a number of layers and their critical doses, or "
            "neither"
        )
    if resin.bottom_layers and resin.tone != "negative":
        raise InputError(f"resin bottom_layers need the tone 'negative', and this one is {resin.tone!r}")
    if resin.bottom_layers and resin.kinetics is not None:
        # Its programs are corrected until the conversion is as drawn, whatever dose they began with.
        raise InputError(
            f"resin bottom_layers is {resin.bottom_layers}, but must be 0 in a resin with kinetics, whose "
            "programs are planned for a conversion, not for a dose"
        )


def _check_lengths(resin: Resin) -> None:
    """Raise InputError for a shrinkage, or a bias of development, that no resin has."""
    number("resin shrinkage", resin.shrinkage)
    if np.shape(resin.shrinkage) != (3,):
        raise InputError(f"resin shrinkage is {resin.shrinkage}, but must be three numbers, of x, y and z")
    for axis, share in zip("xyz", resin.shrinkage, strict=True):
        if not abs(share) <= _MOST_SHRINKAGE:
            raise InputError(
                f"resin shrinkage in {axis} is {figure(100 * share)} %, but must be between "
                f"{-100 * _MOST_SHRINKAGE:g} and {100 * _MOST_SHRINKAGE:g} %"
            )
    number("resin development_bias", resin.development_bias)
    if not abs(resin.development_bias) <= _MOST_BIAS:
        raise InputError(
            f"resin development_bias is {figure(1000 * resin.development_bias)} µm, but must be between "
            f"{-1000 * _MOST_BIAS:g} and {1000 * _MOST_BIAS:g} µm"
        )


_SLOWEST = 1e-3
"""mm/s². A head that speeds up more slowly takes minutes a move; GRBL's ticks of it would fill the memory."""

_STEEPEST = 0.05
"""Largest slope of a bed: a plate that is tilted by 3° would be levelled. A larger one lets outliers pass."""

MOST_BACKLASH = 2.0
"""mm. Worn machines have some tenths; a larger one most likely was meant in µm."""

LONGEST = 1.0
"""s, of a lag, a delay or a period of the PWM; a longer one most likely was meant in ms."""

MOST_CRUISE = 0.99
"""The largest minimum cruise ratio: with 1 nothing would ever speed up."""


@dataclass(frozen=True, slots=True)
class Heights:
    """The surface of the bed: heights on a grid, bilinear between, in the coordinates of programs.

    x: (I,) and y: (J,) mm, rising, two or more.  z: (J, I) mm, rows of equal y. It ends where the grid does.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    z: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        x, y, z = self._arrays
        if x.ndim != 1 or y.ndim != 1 or min(len(x), len(y)) < 2 or z.shape != (len(y), len(x)):
            raise InputError(
                f"heights have {x.size} places in x, {y.size} in y and {z.size} values, but must be a "
                "grid of 2 x 2 or more"
            )
        if not (np.isfinite(z).all() and (np.diff(x) > 0).all() and (np.diff(y) > 0).all()):
            raise InputError("heights must be finite, at places in x and in y that rise")
        self._check_slopes(x, y, z)

    @property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        x, y, z = (np.asarray(values, dtype=np.float64) for values in (self.x, self.y, self.z))
        return x, y, z

    def _check_slopes(self, x: Floats, y: Floats, z: Floats) -> None:
        for axis, (places, values) in enumerate(((x, z), (y, z.T))):
            slopes = np.abs(np.diff(values, axis=1) / np.diff(places))
            if slopes.max() > _STEEPEST:
                row, k = np.unravel_index(int(slopes.argmax()), slopes.shape)
                ends = [(places[n], (y, x)[axis][row], values[row, n]) for n in (k, k + 1)]
                before, after = (f"{z:g} mm at {p[axis]:g}, {p[1 - axis]:g} mm" for *p, z in ends)
                raise InputError(
                    f"the heights {before} and {after} make a slope of {100 * slopes.max():.3g} %, above "
                    f"{100 * _STEEPEST:g} %: is one an outlier, or in another unit?"
                )

    @property
    def box(self) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1) mm that they cover."""
        return self.x[0], self.y[0], self.x[-1], self.y[-1]

    @property
    def slope(self) -> float:
        """The steepest anywhere, or somewhat above."""
        x, y, z = self._arrays
        return math.hypot(
            float(np.abs(np.diff(z, axis=1) / np.diff(x)).max()),
            float(np.abs(np.diff(z, axis=0) / np.diff(y)[:, None]).max()),
        )

    def at(self, xy: ArrayLike) -> Floats:
        """(N,) mm, heights at (N, 2) places, mm; outside the grid those of its nearest place."""
        x, y, z = self._arrays
        places = np.asarray(xy, dtype=np.float64)
        u, v = (
            np.interp(places[:, k], grid, np.arange(len(grid), dtype=np.float64))
            for k, grid in enumerate((x, y))
        )
        i, j = (np.minimum(w.astype(np.int64), n - 2) for w, n in ((u, len(x)), (v, len(y))))
        u, v = u - i, v - j
        low = (1 - u) * z[j, i] + u * z[j, i + 1]
        high = (1 - u) * z[j + 1, i] + u * z[j + 1, i + 1]
        return np.asarray((1 - v) * low + v * high)


@dataclass(frozen=True, slots=True)
class LayerChange:
    """What a machine does before each layer of a part, all of it dark.

    light: 'above', onto the surface of the resin, or 'below', through the floor of a vat: the part then hangs
    from its plate, and its layers are exposed mirrored.
    lift: mm, by which Z goes beyond the layer's height and comes back: a dip, or the way off the floor.
    lift_speed: mm/s of both ways; None: as fast as other moves of Z.  wait: s, at the end of the lift.
    sweep_from, sweep_to: mm from the work zero, between which the head then draws a wiper over the resin;
    None: it has none.  sweep_speed: mm/s, of that way.  settle: s, at the layer's height, before it is lit.
    """

    light: str = "above"
    lift: float = 0.0
    lift_speed: float | None = None
    wait: float = 0.0
    sweep_from: Point | None = None
    sweep_to: Point | None = None
    sweep_speed: float = 10.0
    settle: float = 0.0

    def __post_init__(self) -> None:
        one_of("light of layer_change", self.light, LIGHT)
        between(self, lift=(0, _HIGHEST_LIFT), wait=(0, _LONGEST_REST), settle=(0, _LONGEST_REST))
        positive(self, "sweep_speed", *(["lift_speed"] if self.lift_speed is not None else []))
        if (self.sweep_from is None) != (self.sweep_to is None):
            raise InputError(
                "layer_change gives one end of a sweep: give sweep_from and sweep_to, or neither"
            )
        if self.wait and not self.lift:
            raise InputError(f"layer_change waits {self.wait:g} s at the end of a lift, but gives no lift")

    @property
    def hangs(self) -> bool:
        """Whether the part hangs from its plate, so that its layers are exposed mirrored."""
        return self.light == "below"

    def seconds(self, z_speed: float) -> float:
        """The least duration, s. z_speed: mm/s of Z, where no other speed is given."""
        first, last = self.sweep_from, self.sweep_to
        sweep = math.dist(first, last) / self.sweep_speed if first and last else 0.0
        return self.settle + self.wait + 2 * self.lift / (self.lift_speed or z_speed) + sweep


@dataclass(frozen=True, slots=True)
class Machine:
    """The limits of a machine and its laser. Pairs are (x, y).

    size: work area, mm.  speed_max, rapid_speed: mm/s.  acceleration: mm/s².
    junction_deviation: mm, as in GRBL.  power_max: mW at S = s_max.  s_max: 0 means the dialect's value.
    power_levels: PWM levels above zero; S = s_max·n/power_levels gives level n.
    level_min: the smallest usable n.  level_offset: o of the light (n + o)/(power_levels + o) of level n
    (`gcode.levels`), and pwm_period: s, 0 for one in which the head does not move; None: the dialect's.
    segment_rate: moves/s that the link can carry.  look_ahead: moves that the planner sees.
    dialect: name of a G-code dialect, or a TOML file of one.
    baud: bits/s of a serial line; None: no limit.  steps: per mm, of the motors or the encoder; None: so many
    that they do not matter.  host_delay: s from an acknowledgement to the line that it lets the sender send.
    host_window: 'characters' keep the receive buffer full, 'lines' go one by one, a 'card' is read at once.
    square_corner_velocity: mm/s, and minimum_cruise_ratio: Klipper's settings,
    which take the place of the junction deviation.  shapers: Klipper's input shapers of both axes, or None.
    lag: s, of the head, such as a galvo's mirrors.  laser_on_delay, laser_off_delay: s.
    backlash: mm, that an axis stands still after a reversal.
    z_travel: (lowest, highest) mm that a program's Z may be; None: not known, or there is no Z.
    focus: mm, the Z of the best focus, where programs expose; 0 leaves Z alone.
    heights: of the bed; programs follow it if there is a Z.  z_speed_max: mm/s, and z_acceleration: mm/s², of
    Z, z_steps: per mm, of its motor; None: not known.  layer_change: what is done before each layer of parts.
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
    level_offset: float | None = None
    pwm_period: float | None = None
    segment_rate: float = 250.0
    look_ahead: int = 15
    dialect: str = "grbl"
    baud: float | None = 115200.0
    steps: Point | None = (250.0, 250.0)
    host_delay: float = 0.0
    host_window: str = "characters"
    square_corner_velocity: float = 5.0
    minimum_cruise_ratio: float = 0.5
    shapers: Shapers = (None, None)
    lag: float = 0.0
    laser_on_delay: float = 0.0
    laser_off_delay: float = 0.0
    backlash: Point = (0.0, 0.0)
    z_travel: Point | None = None
    focus: float = 0.0
    heights: Heights | None = None
    z_speed_max: float | None = None
    z_acceleration: float | None = None
    z_steps: float | None = None
    layer_change: LayerChange = LayerChange()

    def __post_init__(self) -> None:
        if self.s_max == 0:
            object.__setattr__(self, "s_max", gcode.dialect(self.dialect).power_max)
        positive(
            self, "size", "speed_max", "rapid_speed", "acceleration", "junction_deviation",
            "power_max", "s_max", "power_levels", "level_min", "segment_rate", "look_ahead",
            "square_corner_velocity",
        )  # fmt: skip
        given = (
            k
            for k in ("baud", "steps", "z_speed_max", "z_acceleration", "z_steps")
            if getattr(self, k) is not None
        )
        positive(self, *given)
        if np.min(self.acceleration) < _SLOWEST:
            raise InputError(
                f"machine acceleration is {self.acceleration}, but must be at least {_SLOWEST:g} mm/s²"
            )
        between(self, minimum_cruise_ratio=(0, MOST_CRUISE), lag=(0, LONGEST))
        between(self, laser_on_delay=(0, LONGEST), laser_off_delay=(0, LONGEST), host_delay=(0, LONGEST))
        if self.host_window not in WINDOWS:
            raise InputError(
                f"machine host_window is {self.host_window!r}, but must be one of {', '.join(WINDOWS)}"
            )
        number("machine backlash", self.backlash)
        if np.shape(self.backlash) != (2,):
            raise InputError(f"machine backlash is {self.backlash}, but must be two numbers, of x and y")
        if not (min(self.backlash) >= 0 and max(self.backlash) <= MOST_BACKLASH):
            raise InputError(
                f"machine backlash is {self.backlash} mm, but must be between 0 and {MOST_BACKLASH:g} mm"
            )
        whole(self, "power_levels", "level_min", "look_ahead")
        if self.level_min > self.power_levels:
            raise InputError(f"machine level_min {self.level_min} is above power_levels {self.power_levels}")
        if self.level_offset is not None:
            number("machine level_offset", self.level_offset)
        if not -self.level_min < self._level_offset < math.inf:
            raise InputError(
                f"machine level_offset is {self._level_offset:g}, but must be above {-self.level_min}, "
                f"so that level_min {self.level_min} shines"
            )
        if self.pwm_period is not None:
            between(self, pwm_period=(0, LONGEST))
        if self.z_travel is not None:
            number("machine z_travel", self.z_travel)
            if not -math.inf < self.z_travel[0] < self.z_travel[1] < math.inf:
                raise InputError(
                    f"machine z_travel is {self.z_travel} mm, but must be the lowest and the highest Z"
                )
        _check_focus(self)
        _check_sweep(self)
        check_look_ahead(self, gcode.dialect(self.dialect))
        _check_shapers(self)

    @property
    def _level_offset(self) -> float:
        own = self.level_offset
        return gcode.dialect(self.dialect).level_offset if own is None else own

    @property
    def light(self) -> gcode.motion.LightCurve:
        """The light of each level, by `level_offset` or else of the dialect's usual board."""
        return gcode.motion.LightCurve(self._level_offset)

    @property
    def light_period(self) -> float:
        """s, the period in which PWM lights a level once, by `pwm_period` or else of the usual board.

        On a line at v mm/s, dashes of (light of the level)·v·period follow each other at a distance v·period.
        The spot blurs them where that is below its optical cut-off, so that light is taken as the mean; only
        the ends of lines depend on the phase of the PWM (`laserpath.machine.phase`).
        """
        own = self.pwm_period
        return gcode.dialect(self.dialect).pwm_period if own is None else own

    @property
    def settling(self) -> float:
        """s, after which head and laser follow: within 1 % after five time constants, and the delays."""
        return 5 * self.lag + self.laser_on_delay + self.laser_off_delay + self.shaping

    @property
    def shaping(self) -> float:
        """s, the longest by which an input shaper moves the head before or after it was planned."""
        return max((float(abs(one.impulses.delay).max()) for one in self.shapers if one), default=0.0)

    @property
    def power_step(self) -> float:
        """mW, the light that each PWM level above the first adds."""
        return self.power_max / (self.power_levels + self._level_offset)

    @property
    def power_min(self) -> float:
        """mW, the light of the smallest usable level."""
        return float(self.power_of(self.level_min))

    def power_of(self, level: ArrayLike) -> NDArray[np.float64]:
        """mW, the light of levels."""
        share = np.asarray(level, dtype=np.float64) / self.power_levels
        return self.power_max * self.light.of(share, self.power_levels)

    def level_for(self, power: ArrayLike) -> NDArray[np.float64]:
        """The levels, not rounded, whose light these powers (mW) are: the inverse of `power_of`."""
        return self.light.level(np.asarray(power, dtype=np.float64) / self.power_max, self.power_levels)

    def level_below(self, power: ArrayLike) -> NDArray[np.float64]:
        """The highest usable levels whose light is at most these powers, mW; the lowest one for less."""
        # The light of a level, computed and inverted, is that level again.
        return np.clip(np.floor(self.level_for(power) + 1e-9), self.level_min, self.power_levels)


def _check_focus(machine: Machine) -> None:
    """Raise InputError for a focus that the machine cannot go to."""
    number("machine focus", machine.focus)
    if machine.focus and machine.z_travel is None:
        raise InputError(
            f"machine focus is {machine.focus:g} mm, but the machine names no Z: give its z_travel, too"
        )
    low, high = machine.z_travel or (0.0, 0.0)
    if not (machine.focus == 0 or low <= machine.focus <= high):
        raise InputError(
            f"machine focus is {machine.focus:g} mm, but must be within z_travel, {low:g} to {high:g} mm"
        )
    if machine.heights is not None and machine.z_travel is not None:
        _check_z(machine, machine.heights.slope)


def _check_sweep(machine: Machine) -> None:
    """Raise InputError for a wiper's way, or a speed of a layer change, that is beyond the machine."""
    change, (width, depth) = machine.layer_change, machine.size
    for name in ("sweep_from", "sweep_to"):
        place = getattr(change, name)
        if place is not None and not (0 <= place[0] <= width and 0 <= place[1] <= depth):
            raise InputError(
                f"{name} of layer_change is {place[0]:g}, {place[1]:g} mm, but must be within 0 to {width:g} "
                f"and 0 to {depth:g} mm"
            )
    most, z_most = min(machine.speed_max), machine.z_speed_max or min(machine.rapid_speed)
    given = (
        ("sweep_speed", change.sweep_to and change.sweep_speed, most),
        ("lift_speed", change.lift_speed, z_most),
    )
    for name, speed, limit in given:
        if speed and speed > limit:
            raise InputError(
                f"{name} of layer_change is {speed:g} mm/s, above the {limit:g} mm/s of machine "
                f"{machine.name!r}"
            )


def _check_z(machine: Machine, slope: float) -> None:
    """Raise InputError if Z would have to be faster than it can be to follow a slope."""
    keys = (
        ("z_speed_max", "mm/s", max(machine.rapid_speed)),
        ("z_acceleration", "mm/s²", max(machine.acceleration)),
    )
    for (name, unit, along), limit in zip(keys, z_of(machine), strict=True):
        if slope * along > limit:
            key = f"{name}_{unit.replace('/', '_per_').replace('²', '2')}"
            hint = f"; put {key} into the profile if Z can do more" if getattr(machine, name) is None else ""
            raise InputError(
                f"on the bed's steepest slope, {100 * slope:.2g} %, Z would need {slope * along:.3g} {unit}, "
                f"above {limit:g} {unit} of machine {machine.name!r}: level the bed, or let x and y be "
                f"slower{hint}"
            )


def check_look_ahead(machine: Machine, dialect: gcode.Dialect) -> None:
    """Raise InputError if a machine's planner sees fewer moves than the model of the controller needs."""
    firmware = dialect.firmware
    if machine.look_ahead < firmware.least_look_ahead:
        raise InputError(
            f"machine look_ahead is {machine.look_ahead}, but must be at least {firmware.least_look_ahead} "
            f"for {firmware.title}: it is {firmware.look_ahead_is}"
        )


def _check_shapers(machine: Machine) -> None:
    """Raise InputError for shapers that are none, or on a controller that is not modelled with any."""
    shapers, firmware = machine.shapers, gcode.dialect(machine.dialect).firmware
    if not (isinstance(shapers, tuple) and len(shapers) == 2) or not all(
        one is None or isinstance(one, gcode.motion.Shaper) for one in shapers
    ):
        raise InputError(f"machine shapers are {shapers}, but must be two, of x and y, each a Shaper or None")
    if any(shapers) and not firmware.shapes:
        raise InputError(
            f"machine has the input shaper {next(filter(None, shapers))}, but none is modelled for "
            f"{firmware.title}; turn it off there, and leave it out of the profile"
        )


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
        if self.resin.kinetics is not None and not self.spot.round:
            raise InputError(
                f"resin {self.resin.name!r} reacts through time, and there the spot cannot be a photograph; "
                "give its FWHM and a profile"
            )
        if self.resin.kinetics is not None and self.spot.dose_map is not None:
            raise InputError(
                f"resin {self.resin.name!r} reacts through time, and there the spot cannot have a dose map; "
                "leave it out"
            )
