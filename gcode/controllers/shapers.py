"""Input shapers: an axis goes along a sum of delayed copies of its planned place,

    x_s(t) = Σ_i A_i x(t − τ_i),    Σ A_i = 1,    Σ A_i τ_i = 0.

The vibrations of a mode of natural frequency f and damping ratio ζ, one by each copy, cancel out. The delays
are about their mean, so that at steady speed the head is where it was planned: corners are rounded, and a
motion begins and ends up to half a shaper earlier and later than planned.

With T = 1/(f √(1 − ζ²)) and K = exp(−ζπ/√(1 − ζ²)), impulse i = 0, 1, … of these comes at i·s·T with a weight
w_i K^(2is), then divided by the sum:

    ZV   s = ½  w = 1, 1           no vibration is left at f
    ZVD  s = ½  w = 1, 2, 1        nor does it rise at once beside f
    MZV  s = ⅜  w = a, √2 − 1, a   a = 1 − 1/√2; Klipper's own, between ZV and ZVD

EI, 2HUMP_EI and 3HUMP_EI leave up to V = 5 % in a band about f. Without damping,

    EI        (1 + V)/4, (1 − V)/2, (1 + V)/4 at 0, ½ T, T
    2HUMP_EI  b, ½ − b, ½ − b, b at 0, ½ T, …      b = (3X² + 2X + 3V²)/(16X), X = ∛(V²(√(1 − V²) + 1))
    3HUMP_EI  c, (1 − V)/4, (1 + V)/2 − 2c, …      c = (1 + 3V + 2√(2V(1 + V)))/16, symmetric

and with it by the polynomials in ζ that their authors fitted (`_EI`, `_HUMPS`).

Sources: N. Singer and W. Seering, J. Dyn. Sys. Meas. Control 112 (1990) 76 (ZV, ZVD); W. Singhose, W. Seering
and N. Singer, J. Mech. Des. 116 (1994) 654 (EI), and "Input shaping for vibration reduction with specified
insensitivity to modeling errors", Japan–USA Symp. on Flexible Automation, 1996 (humps);
https://www.klipper3d.org/Resonance_Compensation.html. Klipper has the polynomials since September 2025; its
release 0.13.0 takes the weights without damping times K^(2is) instead.

Units: s, Hz.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gcode.errors import GcodeError, did_you_mean
from gcode.move import Floats

_VIBRATION = 0.05
"""V. Klipper's; a larger one would make the EI shapers insensitive to a wider band."""

Damped = Callable[[float], tuple[Floats, Floats]]
"""ζ → times, in T, and weights of the impulses."""


def _even(spacing: float, *weights: float) -> Damped:
    """Impulses so many T apart. weights: without damping."""
    nth = np.arange(len(weights), dtype=np.float64)

    def damped(damping: float) -> tuple[Floats, Floats]:
        fading = damping * math.pi / math.sqrt(1 - damping**2)
        return spacing * nth, np.array(weights) * np.exp(-2 * spacing * fading * nth)

    return damped


_EI = np.array([
    [[0.24968, 0.24961], [0.80008, 1.23328], [0.49599, 3.17316]],
    [[0.25149, 0.21474], [-0.83249, 1.41498], [0.85181, -4.90094]],
])  # fmt: skip
"""(2, 3, 2): first and third weight, coefficients of ζ⁰ … ζ², those of V⁰ and V¹."""

_EI_TIME = np.array([[0.0, 0.46159, 8.57843], [0.0, 4.26169, -108.644], [0.0, 1.75601, 336.989]])
"""(3, 3): of ζ¹ … ζ³, those of V⁰ … V²; 0.4999 T is the time of the second impulse without damping."""


def _ei(damping: float) -> tuple[Floats, Floats]:
    v, z = _VIBRATION, damping ** np.arange(4)
    first, third = _EI @ [1, v] @ z[:3]
    second = 0.4999 + (_EI_TIME @ [1, v, v * v]) @ z[1:]
    return np.array([0, second, 1]), np.array([first, 1 - first - third, third])


_HUMPS = {
    2: np.array([
        [[0, 0, 0, 0], [0.16054, 0.76699, 2.26560, -1.22750]],
        [[0.49890, 0.16270, -0.54262, 6.16180], [0.33911, 0.45081, -2.58080, 1.73650]],
        [[0.99748, 0.18382, -1.58270, 8.17120], [0.34089, -0.61533, -0.68765, 0.42261]],
        [[1.49920, -0.09297, -0.28338, 1.85710], [0.15997, -0.60246, 1.00280, -0.93145]],
    ]),
    3: np.array([
        [[0, 0, 0, 0], [0.11275, 0.76632, 3.29160, -1.44380]],
        [[0.49974, 0.23834, 0.44559, 12.4720], [0.23698, 0.61164, -2.57850, 4.85220]],
        [[0.99849, 0.29808, -2.36460, 23.3990], [0.30008, -0.19062, -2.14560, 0.13744]],
        [[1.49870, 0.10306, -2.01390, 17.0320], [0.23775, -0.73297, 0.46885, -2.08650]],
        [[1.99960, -0.28231, 0.61536, 5.40450], [0.11244, -0.45439, 0.96382, -1.46000]],
    ]),
}  # fmt: skip
"""(I, 2, 4): time, in 1/f, and weight of each impulse, coefficients of ζ⁰ … ζ³, for V = 5 %."""


def _humps(number: int) -> Damped:
    def damped(damping: float) -> tuple[Floats, Floats]:
        time, weight = (_HUMPS[number] @ damping ** np.arange(4.0)).T
        return time * math.sqrt(1 - damping**2), weight

    return damped


_MZV = 1 - math.sqrt(0.5), math.sqrt(2) - 1, 1 - math.sqrt(0.5)

KINDS: dict[str, tuple[float, Damped]] = {
    "zv": (0.99, _even(1 / 2, 1, 1)),
    "mzv": (0.99, _even(3 / 8, *_MZV)),
    "zvd": (0.99, _even(1 / 2, 1, 2, 1)),
    "ei": (0.4, _ei),
    "2hump_ei": (0.3, _humps(2)),
    "3hump_ei": (0.2, _humps(3)),
}
"""Klipper's name → the largest damping ratio that Klipper takes, and the impulses."""

_FREQUENCY_MIN = 1.0
"""Least frequency, Hz; frames resonate at 20 Hz and above. A shaper lasts up to two periods: of a smaller one
run-ups would take minutes, and samples fill the memory."""


@dataclass(frozen=True, slots=True)
class Impulses:
    """Copies of an axis's planned place. share: (I,) A, of sum 1.  delay: (I,) s, τ, rising, of mean 0."""

    share: Floats
    delay: Floats


UNSHAPED = Impulses(np.ones(1), np.zeros(1))


@dataclass(frozen=True, slots=True)
class Shaper:
    """Of one axis. kind: a name of `KINDS`.  frequency: Hz, of the mode.  damping: its ratio ζ."""

    kind: str
    frequency: float
    damping: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str):
            raise GcodeError(f"shaper_type is {self.kind!r}, but must be one of: {', '.join(KINDS)}")
        for name, value in (("shaper_freq", self.frequency), ("damping_ratio", self.damping)):
            if np.asarray(value).dtype.kind not in "iuf" or np.ndim(value):
                raise GcodeError(f"{name} is {value!r}, but must be a number")
        if self.kind not in KINDS:
            near = did_you_mean(self.kind, KINDS) or f"; known: {', '.join(KINDS)}"
            raise GcodeError(f"shaper_type {self.kind!r} is unknown{near}")
        if not _FREQUENCY_MIN <= self.frequency < math.inf:
            raise GcodeError(
                f"shaper_freq is {self.frequency:g} Hz, but must be at least {_FREQUENCY_MIN:g} Hz"
            )
        most = KINDS[self.kind][0]
        if not 0 <= self.damping <= most:
            raise GcodeError(
                f"damping_ratio is {self.damping:g}, but must be from 0 to {most:g} for {self.kind}"
            )

    def __str__(self) -> str:
        return f"{self.kind} at {self.frequency:g} Hz, damping {self.damping:g}"

    @property
    def impulses(self) -> Impulses:
        """The copies of the planned place."""
        time, weight = KINDS[self.kind][1](self.damping)
        share = weight / weight.sum()
        period = 1 / (self.frequency * math.sqrt(1 - self.damping**2))
        return Impulses(share, period * (time - float(share @ time)))


def impulses_of(shapers: tuple[Shaper | None, Shaper | None]) -> tuple[Impulses, Impulses]:
    """Those of x and of y."""
    x, y = (UNSHAPED if one is None else one.impulses for one in shapers)
    return x, y


def lead(impulses: tuple[Impulses, Impulses]) -> float:
    """s, by which the head moves earlier than planned."""
    return -min(float(one.delay[0]) for one in impulses)


def tail(impulses: tuple[Impulses, Impulses]) -> float:
    """s, by which the head moves later than planned."""
    return max(float(one.delay[-1]) for one in impulses)
