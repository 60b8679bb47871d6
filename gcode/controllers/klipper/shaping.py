"""Input shaping under Klipper: each axis goes along a sum of delayed copies of its planned place,

    x_s(t) = Σ_i A_i x(t − τ_i),    Σ A_i = 1,    Σ A_i τ_i = 0.

The vibrations of a mode of natural frequency f and damping ratio ζ, one by each copy, cancel out. The delays
are about their mean, so that at steady speed the head is where it was planned: corners are rounded, and a
motion begins and ends up to half a shaper earlier and later than planned. The laser is switched at planned
times.

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

The planned motion has constant acceleration between its knots, so the sum is exact at any time. It is cut
into straight pieces of even speed, off by at most `longest`/250 at any time: 0.2 µm for a spot of 0.1 mm.

Units: mm, s, Hz.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gcode.compiled import njit
from gcode.controllers.common import Executed
from gcode.controllers.klipper.planner import Trapezoids
from gcode.errors import GcodeError, did_you_mean
from gcode.move import Bools, Floats, Ints

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

CHORD = 1 / 250
"""Largest distance of a piece from the shaped place at the same time, in `longest`. A larger one makes fewer,
longer pieces."""

_FREQUENCY_MIN = 1.0
"""Least frequency, Hz; frames resonate at 20 Hz and above. A shaper lasts up to two periods: of a smaller one
run-ups would take minutes, and samples fill the memory."""

_APART = 1e-9
"""s, least time between two cuts."""


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


def _tail(impulses: tuple[Impulses, Impulses]) -> float:
    """s, by which the head moves later than planned."""
    return max(float(one.delay[-1]) for one in impulses)


@dataclass(frozen=True, slots=True, eq=False)
class _Phases:
    """(K,) phases of constant acceleration in order. start, duration: s.  place: (K, 3) mm, where they begin.

    velocity, acceleration: (K, 3), mm/s there, mm/s².  row_end: (N,) s, of each row.
    """

    start: Floats
    duration: Floats
    place: Floats
    velocity: Floats
    acceleration: Floats
    row_end: Floats

    @classmethod
    def of(cls, xyz: Floats, motion: Trapezoids) -> _Phases:
        """The three phases of each row; those without duration are left out."""
        m, end = motion, np.cumsum(motion.duration)
        a = np.where(m.acceleration > 0, m.acceleration, 1.0)
        up, down = (m.peak - m.entry) / a, (m.peak - m.exit) / a
        begin = end - m.duration
        start = np.column_stack([begin, begin + up, end - down])
        duration = np.column_stack([up, np.maximum(m.duration - up - down, 0.0), down])
        done = np.column_stack(
            [np.zeros(len(end)), (m.entry + m.peak) / 2 * up, m.length - (m.exit + m.peak) / 2 * down]
        )
        unit = np.diff(xyz, axis=0) / np.where(m.length > 0, m.length, 1.0)[:, None]
        unit[m.length == 0] = 0.0
        row = np.arange(3 * len(end)) // 3
        place = xyz[row] + unit[row] * done.ravel()[:, None]
        speed = np.column_stack([m.entry, m.peak, m.peak]).ravel()
        gain = np.column_stack([m.acceleration, np.zeros(len(end)), -m.acceleration]).ravel()
        some = duration.ravel() > 0
        velocity, acceleration = unit[row] * speed[:, None], unit[row] * gain[:, None]
        return cls(
            start.ravel()[some], duration.ravel()[some], place[some], velocity[some], acceleration[some], end
        )  # fmt: skip

    def at(self, time: Floats, axis: int) -> Floats:
        """(T,) mm, place of an axis at rising times; before the start and after the end it rests."""
        here = np.maximum(np.searchsorted(self.start, time, side="right") - 1, 0)
        t = np.clip(time - self.start[here], 0.0, self.duration[here])
        v, a = self.velocity[here, axis], self.acceleration[here, axis]
        return np.asarray(self.place[here, axis] + t * (v + 0.5 * a * t))

    def shaped(self, time: Floats, impulses: tuple[Impulses, Impulses]) -> Floats:
        """(T, 3) mm, place of the head at rising times; z is not shaped."""
        xy = [
            sum(
                share * self.at(time - delay, axis) for share, delay in zip(one.share, one.delay, strict=True)
            )
            for axis, one in enumerate(impulses)
        ]
        return np.column_stack([*xy, self.at(time, 2)])

    def corners(self, impulses: tuple[Impulses, Impulses], least: float) -> Floats:
        """s, when an axis of the head changes its speed by `least`, mm/s, or more at once."""
        late = self.velocity[:-1] + self.acceleration[:-1] * self.duration[:-1, None]
        jump = np.abs(self.velocity[1:] - late)
        times = [
            self.start[1:][share * jump[:, axis] > least] + delay
            for axis, one in enumerate(impulses)
            for share, delay in zip(one.share, one.delay, strict=True)
        ]
        return np.unique(np.concatenate(times))


def executed(
    xyz: Floats,
    motion: Trapezoids,
    impulses: tuple[Impulses, Impulses],
    power: Floats,
    longest: float,
) -> Executed:
    """The pieces of the head's path. xyz: (N+1, 3) mm.  motion, power: (N,) of the rows, as planned.

    Its clock starts when the head does: `lead` before the first row, which that time and the last row's
    afterwards belong to, in the dark. longest: mm.
    """
    if not (motion.length > 0).any():
        still = np.broadcast_to(xyz[:1], (len(power) + 1, 3)).copy()
        return Executed(np.arange(len(power)), motion.duration.copy(), still, power)
    planned, tolerance = _Phases.of(xyz, motion), CHORD * longest
    early, late = lead(impulses), _tail(impulses)
    most = float(np.linalg.norm(np.abs(planned.acceleration).max(axis=0)))
    # Half of the tolerance is for the samples, and half for leaving some of them out.
    step = math.sqrt(4 * tolerance / most)
    begin, end = planned.row_end - motion.duration, planned.row_end.copy()
    whole = float(end[-1])
    begin[0], end[-1] = -early, whole + late
    corners = np.concatenate([planned.corners(impulses, 2 * tolerance / step), [0.0, whole]])
    row, time, fixed = _sampled(begin, end, step, corners)
    fixed |= (time == 0.0) | (time == whole)
    time = np.append(-early, time)
    place = planned.shaped(time, impulses)
    kept = _thinned(time, place, np.append(True, fixed), tolerance / (2 * math.sqrt(3)))
    time, row = time[kept], row[kept[1:]]
    middle = (time[1:] + time[:-1]) / 2
    shines = np.where((middle > 0) & (middle < whole), power[row], 0.0)
    last = float(planned.row_end[np.flatnonzero(motion.length > 0)[-1]]) + late
    return Executed(row, np.diff(time), place[kept], shines, (0.0, last + early))


def _sampled(begin: Floats, end: Floats, step: float, corners: Floats) -> tuple[Ints, Floats, Bools]:
    """(S,) row and time of samples at most `step` s apart, and whether each is the end of its row."""
    count = np.maximum(np.ceil((end - begin) / step - 1e-9), 1).astype(np.int64)
    row = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + 1
    last = nth == count[row]
    time = np.where(last, end[row], begin[row] + (end - begin)[row] * nth / count[row])
    inside = corners[(corners > begin[0]) & (corners < end[-1])]
    row = np.append(row, np.searchsorted(end, inside))
    time, last = np.append(time, inside), np.append(last, np.zeros(len(inside), bool))
    order = np.lexsort((last, time, row))
    row, time, last = row[order], time[order], last[order]
    near = np.diff(time, append=np.inf) < _APART
    near |= np.diff(time, prepend=-np.inf) < _APART
    kept = last | ~near
    return row[kept], time[kept], last[kept]


@njit
def _thinned(time: Floats, place: Floats, fixed: Bools, tolerance: float) -> Bools:
    """(S,) samples between which the head goes evenly, to within `tolerance`, mm, along each axis.

    fixed: those that stay. From a kept sample each axis has a range of speeds that pass all samples since.
    """
    count, axes = place.shape
    kept = fixed.copy()
    low, high = np.full(axes, -np.inf), np.full(axes, np.inf)
    since = 0
    for k in range(1, count):
        after = time[k] - time[since]
        fits = True
        for axis in range(axes):
            way = place[k, axis] - place[since, axis]
            if after > 0 and not low[axis] * after <= way <= high[axis] * after:
                fits = False
        if not fits:
            since = k - 1
            kept[since] = True
            low[:], high[:] = -np.inf, np.inf
            after = time[k] - time[since]
        if kept[k]:
            since = k
            low[:], high[:] = -np.inf, np.inf
        elif after > 0:
            for axis in range(axes):
                way = place[k, axis] - place[since, axis]
                low[axis] = max(low[axis], (way - tolerance) / after)
                high[axis] = min(high[axis], (way + tolerance) / after)
    return kept
