"""The light of an execution as a function of the commanded powers.

No controller plans its motion by the power of the laser. So one execution serves for all powers: each piece
has the share c of the power P of its row, and with the light ℓ of a level (`gcode.levels`)

    light = ℓ(level(c·P))    with GRBL, LinuxCNC and others: c = actual/nominal speed if the power follows it
    light = c·ℓ(level(P))    elsewhere: c = 1 with Klipper; of Marlin's own trapezoid, as executed at P

Both are staircases in P. `Response.powers` finds the powers for given energies, and passes on what no level
can give to the next row: error diffusion (Floyd and Steinberg 1976), here along the path, which the spot
blurs.

In compiled code powers are whole numbers of the last digit that a program writes, so that what is chosen is
what is sent.

Slack is part of the response too: after a reversal an axis stands still while its drive takes up the slack b.
The head is at y for a drive at x, where x has been so far, by the play operator

    y ← max(x − b/2, min(x + b/2, y)),

so that after a reversal y stays until x has gone b, and then follows b/2 behind. Source: M. A. Krasnosel'skii
and A. V. Pokrovskii, "Systems with Hysteresis", Springer 1989 (ordinary play).

Units: mm, s.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gcode.compiled import cached
from gcode.controllers.common import Executed
from gcode.controllers.interface import Controller, Pair
from gcode.levels import LightCurve, shine, staircase
from gcode.motion.execution import execute
from gcode.move import Floats, Ints, Moves

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
    below = above = power
    for up in (False, True):  # literals would be types of their own, and compiled once more each
        other = neighbour(rules, share, power, up)
        below, above = (below, other) if up else (other, above)
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


_FINEST = 1e-6
"""Last digit of a power that is not written, fraction of full; a larger one rounds powers more."""


_BRIGHT = 16.0
"""Level at which Marlin's ramps are tried if a row is dark at its own; a larger one is cut off less."""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """What turns a commanded power into light. light: of each level.  power_levels: None: continuous power.

    digit: power of the last digit of S, fraction of full.  level_min: smallest usable level.  order: photons
    that the resist absorbs at once; energies are ∫ light^order dt.  delay: s, until the light follows, and
    backlash: mm, of x and y: the pieces of a response lie where the head is when their light shines.
    """

    power_levels: int | None = None
    light: LightCurve = field(default_factory=LightCurve)
    digit: float = _FINEST
    level_min: int = 1
    order: int = 1
    delay: float = 0.0
    backlash: Pair = (0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """run: the execution, whose motion holds for all powers.  share: (P,) c of this module.

    first: (rows + 1,) index of the first piece of each row, and P.
    """

    run: Executed
    share: Floats
    first: Ints
    rules: PowerRules

    @classmethod
    def of(
        cls,
        moves: Moves,
        controller: Controller,
        board: Board,
        *,
        characters: ArrayLike | None = None,
        longest: float = 0.05,
    ) -> Response:
        """The response of `moves` (no arcs). characters, longest: as in `execute`."""
        own, after = controller.ramp_levels, controller.power_follows
        full = moves if own else replace(moves, power=np.where(moves.on, 1.0, 0.0))
        run = execute(full, controller, characters=characters, longest=longest)
        share, levels = run.power, own or board.power_levels
        if own:
            share = _ramped_share(moves, moves.power, run, own)
            dark = np.bincount(run.row, share * run.duration, len(moves)) <= 0
            if (dark & moves.on).any():
                # All levels of such a row are cut off at its power; at a higher one they are not.
                bright = np.maximum(moves.power, _BRIGHT / own) * moves.on
                trial = execute(
                    replace(moves, power=bright), controller, characters=characters, longest=longest
                )
                share = np.where(dark[run.row], _ramped_share(moves, bright, trial, own), share)
        if any(board.backlash) or board.delay:
            run = _shone(played(replace(run, light=share), board.backlash), board.delay)
            share = run.light
        # Below the middle of the smallest level the light would be the same, or none on another board.
        steps = levels - 1 if levels and after else levels
        lowest = int(np.ceil((board.level_min - 0.5) / steps / board.digit)) if steps else 1
        rules = PowerRules(
            after, levels or 0, float(board.light.offset), float(board.digit), max(lowest, 1),
            int(np.floor(1 / board.digit + 1e-9)), board.order,
        )  # fmt: skip
        return cls(run, share, np.searchsorted(run.row, np.arange(len(moves) + 1)), rules)

    def light(self, power: Floats) -> Floats:
        """(P,) fraction of full optical power. power: (rows,) commanded, fractions of full."""
        return self._light(power, rounded=True)

    def mean_light(self, power: Floats) -> Floats:
        """(P,) `light`, averaged over all powers that have the same level: free of steps."""
        return self._light(power, rounded=False)

    def energies(self, light: Floats) -> Floats:
        """(rows,) s, ∫ light^order dt over each row. light: (P,)."""
        shining = light**self.rules.order * self.run.duration
        return np.bincount(self.run.row, shining, len(self.first) - 1).astype(np.float64)

    @property
    def least_energies(self) -> Floats:
        """(rows,) s, the energies at the smallest power of use: no lit row has less."""
        rows = len(self.first) - 1
        return self.energies(self.light(np.full(rows, self.rules.lowest * self.rules.digit)))

    def powers(self, target: Floats, keep: ArrayLike = 0.0) -> Floats:
        """(rows,) powers, fractions of full, whose energies are nearest to `target` (rows,), s.

        keep: share of a row's error that the next row makes up for.  Rows without a target are dark.
        """
        kept = np.broadcast_to(np.asarray(keep, dtype=np.float64), np.shape(target)).copy()
        digits = powers_for(
            self.rules, self.first, self.share, self.run.duration, np.asarray(target, np.float64), kept
        )
        return np.minimum(digits * self.rules.digit, 1.0)

    def _light(self, power: Floats, *, rounded: bool) -> Floats:
        rules, commanded = self.rules, np.asarray(power)[self.run.row]
        scaled, n = np.minimum(self.share * commanded, 1.0), rules.levels
        if not n:
            return scaled
        if rules.after:
            level = staircase(scaled, n) if rounded else np.maximum((n - 1) * scaled + 0.5, 1) * (scaled > 0)
            return np.asarray(shine(level, n, rules.offset))
        level = np.rint(commanded * n) if rounded else np.maximum(commanded * n, 1) * (commanded > 0)
        return np.asarray(self.share * shine(level, n, rules.offset))


def _ramped_share(moves: Moves, power: Floats, run: Executed, levels: int) -> Floats:
    """(P,) power of each piece ÷ that of its row, for rows commanded `power` (N,)."""
    level = np.maximum(np.rint(power * levels), 1) / levels
    return np.where(moves.on[run.row], run.power / level[run.row], 0.0)


def _shone(run: Executed, delay: float) -> Executed:
    """The run with its pieces where the head is `delay` s later."""
    if not delay:
        return run
    end = np.append(0.0, run.end)
    time = np.unique(np.concatenate([end, end[(end > delay)] - delay]))
    return replace(run.cut(time), xyz=run.at(time + delay))


def played(run: Executed, backlash: Pair) -> Executed:
    """The execution with the head where slack lets it be. backlash: mm, of x and y.

    At the start the drive stands in the middle of the slack. Pieces are cut where an axis engages.
    """
    slack = np.array(backlash, dtype=np.float64)
    if not slack.any() or not len(run):
        return run
    end = np.append(0.0, run.end)
    engages = _engaged(run.xyz[:, :2], end, slack)
    time = np.unique(np.concatenate([end, engages]))
    cut = run.cut(time)
    head = cut.xyz.copy()
    for axis in (0, 1):
        head[:, axis] = _play(cut.xyz[:, axis], slack[axis])
    return replace(cut, xyz=head)


@njit
def _play(drive: Floats, slack: float) -> Floats:
    """(P,) the places of a head for those of its drive."""
    head = drive.copy()
    for k in range(1, len(drive)):
        head[k] = max(drive[k] - slack / 2, min(drive[k] + slack / 2, head[k - 1]))
    return head


def _engaged(drive: Floats, time: Floats, slack: Floats) -> Floats:
    """(E,) s, the times at which an axis begins to follow its drive (P+1, 2) within a piece."""
    found = []
    for axis in (0, 1):
        if slack[axis] == 0:
            continue
        x, way = drive[:, axis], np.diff(drive[:, axis])
        head = _play(x, slack[axis])[:-1]
        gap = head + np.sign(way) * slack[axis] / 2 - x[:-1]
        share = np.divide(gap, way, out=np.zeros(len(way)), where=way != 0)
        inside = (share > 0) & (share < 1)
        found.append((time[:-1] + share * np.diff(time))[inside])
    return np.concatenate(found)
