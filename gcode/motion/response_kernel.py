"""The light of the pieces of one row at a commanded power, compiled; symbols are those of `response`.

Powers are whole numbers of the last digit that a program writes, so that what is chosen is what is sent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcode.compiled import cached
from gcode.levels import shine, staircase

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TINY = 1e-9

njit = cached(error_model="numpy")
_shine, _staircase = njit(shine), njit(staircase)


class PowerRules(NamedTuple):
    """after: whether the level is chosen after the scaling.  levels: N, 0 for continuous power.

    offset: o, of the light.  digit: power of the last digit, fraction of full.  highest, lowest: digits.
    order: N of light^N.
    """

    after: bool
    levels: int
    offset: float
    digit: float
    lowest: int
    highest: int
    order: int


@njit
def level(rules: PowerRules, share: float, power: int) -> float:
    """0…levels, the level that a piece has if its row is commanded `power` digits."""
    fraction = rules.digit * power
    if not rules.after:
        return np.rint(fraction * rules.levels)
    return _staircase(min(fraction * share, 1.0), rules.levels)


@njit
def light(rules: PowerRules, share: float, power: int) -> float:
    """Fraction of full optical power in a piece, to the power of `order`."""
    if rules.levels == 0:
        shines = min(share * rules.digit * power, 1.0)
    else:
        shines = _shine(level(rules, share, power), rules.levels, rules.offset)
        shines *= 1.0 if rules.after else share
    return shines**rules.order


@njit
def energy(rules: PowerRules, share: Floats, duration: Floats, power: int) -> float:
    """s, ∫ light^order dt over the pieces of a row."""
    total = 0.0
    for p in range(len(share)):
        total += light(rules, share[p], power) * duration[p]
    return total


@njit
def neighbour(rules: PowerRules, share: Floats, power: int, up: bool) -> int:
    """The next power, in digits, at which the light of a row differs; −1 if there is none."""
    if rules.levels == 0:
        other = power + (max(power // 100, 1) if up else -max(power // 100, 1))
        return other if rules.lowest <= other <= rules.highest else -1
    best = -1
    for p in range(len(share)):
        if share[p] <= _TINY:
            continue
        now = level(rules, share[p], power)
        if not rules.after:
            other = int(np.rint((now + (1 if up else -1)) / (rules.levels * rules.digit)))
        else:
            # The level is n for powers from (n − 1)/((N − 1)·share) on.
            at = (now if up else now - 1) / ((rules.levels - 1) * share[p] * rules.digit)
            other = int(np.ceil(at - 1e-6)) - (0 if up else 1)
        if rules.lowest <= other <= rules.highest and other != power:
            nearer = other < best if up else other > best
            best = other if best < 0 or nearer else best
    return best


@njit
def centred(rules: PowerRules, share: Floats, power: int) -> int:
    """The middle of the powers, in digits, that give the same light: the least sensitive to rounding."""
    if rules.levels == 0 or power == 0:
        return power
    below, above = neighbour(rules, share, power, False), neighbour(rules, share, power, True)
    if not rules.after:
        return int(np.rint(level(rules, 1.0, power) / (rules.levels * rules.digit)))
    if (share > 1 - _TINY).all():  # n/N has the level n however a board rounds
        return int(np.rint(level(rules, 1.0, power) / (rules.levels * rules.digit)))
    if below < 0 or above < 0:
        return power
    return (below + above) // 2


@njit
def powers_for(
    rules: PowerRules, first: Ints, share: Floats, duration: Floats, target: Floats, keep: Floats
) -> Ints:
    """(N,) digits that give each row the energy nearest to its target, s.

    first: (N + 1,) where the pieces of each row begin.  keep: (N,) share of a row's error that the next row
    makes up for.  A row without a target is dark.
    """
    power, owed = np.zeros(len(target), np.int64), 0.0
    for k in range(len(target)):
        if target[k] <= 0:
            owed = 0.0
            continue
        here = slice(first[k], first[k + 1])
        needed = target[k] + owed
        low, high = rules.lowest, rules.highest
        while high - low > 1:
            middle = (low + high) // 2
            if energy(rules, share[here], duration[here], middle) < needed:
                low = middle
            else:
                high = middle
        below = energy(rules, share[here], duration[here], low)
        above = energy(rules, share[here], duration[here], high)
        if above <= 0:  # a row that the controller leaves out, or leaves dark
            power[k], owed = rules.lowest, keep[k] * needed
            continue
        nearest = low if needed - below < above - needed else high
        owed = keep[k] * (needed - (below if nearest == low else above))
        power[k] = centred(rules, share[here], nearest)
    return power
