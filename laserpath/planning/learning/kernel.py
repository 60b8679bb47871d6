"""Influence of pieces on points, and the descent over levels, compiled; symbols are those of `levels`.

The descent goes through the moves one by one, each with the result of those before: no array operation does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcode.compiled import cached
from gcode.motion.response_kernel import PowerRules, centred, light, neighbour
from laserpath.base.arrays import Indices as Ints

Floats = NDArray[Any]

_ROUNDING2 = 1e-4
"""δ², the square of the edge error, in FWHM, below which it counts less: a larger one weighs small errors
less."""

_STEPS = 2
"""Levels up and down that are tried at once: more leave fewer local minima, and take longer."""

_GAIN = 1e-9
"""Least gain of a change: a larger one ends the descent earlier."""

njit = cached(error_model="numpy")


class SpotTable(NamedTuple):
    """density: (n, n) of the spot on a square around its middle, dose per mJ.  pitch: mm.  reach: mm."""

    density: Floats
    pitch: float
    reach: float


class WatchedPoints(NamedTuple):
    """xy: (M, 2) mm.  steepness: (M,) F·|∂u/∂n| of points on the outline, 0 elsewhere.

    low, high: (M,) doses beyond which a point is penalised.  price: (M,) loss per dose.
    start, member: points by square cells of side `spot.reach` on `columns` columns, the first with its
    corner at `corner`.
    """

    xy: Floats
    steepness: Floats
    low: Floats
    high: Floats
    price: Floats
    start: Ints
    member: Ints
    columns: int
    corner: Floats


class LightGroups(NamedTuple):
    """Neighbouring pieces of one row with one share of its power: they brighten and darken together.

    piece: (G+1,) first piece of each group.  first: (rows + 1,) first group of each row.
    share: (G,) of the row's power.  duration: (G,) s.
    """

    piece: Ints
    first: Ints
    share: Floats
    duration: Floats


class Influence(NamedTuple):
    """Dose of group g at point[first[g]] … point[first[g + 1]], per s of full light."""

    first: Ints
    point: Any
    dose: Any


def groups_of(first: Ints, share: Floats, duration: Floats) -> LightGroups:
    """The groups of pieces (P,) with these shares and durations. first: (rows + 1,) piece of each row."""
    new = np.append(True, share[1:] != share[:-1])
    new[first[first < len(share)]] = True
    piece = np.append(np.flatnonzero(new), len(share))
    total = np.add.reduceat(duration, piece[:-1])
    return LightGroups(piece, np.searchsorted(piece, first), share[piece[:-1]], total)


@njit
def cells_near(a: Floats, b: Floats, spot: SpotTable, points: WatchedPoints) -> tuple[int, int, int, int]:
    """First and last column, and first and last row, of the cells that the spot reaches from a to b."""
    low = np.floor((np.minimum(a, b) - points.corner) / spot.reach) - 1
    high = np.floor((np.maximum(a, b) - points.corner) / spot.reach) + 1
    rows = (len(points.start) - 1) // points.columns
    left, right = max(int(low[0]), 0), min(int(high[0]), points.columns - 1)
    return left, right, max(int(low[1]), 0), min(int(high[1]), rows - 1)


@njit
def influence(
    ends: Floats, lit: Any, duration: Floats, groups: LightGroups, spot: SpotTable, points: WatchedPoints,
    room: int, out: Influence,
) -> int:  # fmt: skip
    """Fill `out`, which has room for so many values; return how many there are.

    ends: (P+1, 2) mm, lit, duration: (P,), s, of the pieces.
    """
    count = 0
    total, touched = np.zeros(len(points.xy)), np.zeros(len(points.xy), np.int64)
    for g in range(len(groups.share)):
        out.first[g], n = count, 0
        for p in range(groups.piece[g], groups.piece[g + 1]):
            if not lit[p]:
                continue
            a, b, part = ends[p], ends[p + 1], duration[p] / groups.duration[g]
            parts = max(2, int(np.ceil(np.hypot(b[0] - a[0], b[1] - a[1]) / (spot.reach / 8))))
            left, right, lower, upper = cells_near(a, b, spot, points)
            for row in range(lower, upper + 1):
                for column in range(left, right + 1):
                    cell = row * points.columns + column
                    for m in points.member[points.start[cell] : points.start[cell + 1]]:
                        dose = mean_density(a, b, parts, spot, points.xy[m])
                        if dose > 0:
                            if total[m] == 0:
                                touched[n] = m
                                n += 1
                            total[m] += part * dose
        for m in touched[:n]:
            if count < room:
                out.point[count], out.dose[count] = m, total[m]
            count += 1
            total[m] = 0.0
    out.first[len(groups.share)] = count
    return count


@njit
def mean_density(a: Floats, b: Floats, parts: int, spot: SpotTable, at: Floats) -> float:
    """Mean density of the spot at a point while its middle goes from a to b."""
    total = 0.0
    for i in range(parts):
        f = (i + 0.5) / parts
        u = (at[0] - a[0] - f * (b[0] - a[0]) + spot.reach) / spot.pitch
        v = (at[1] - a[1] - f * (b[1] - a[1]) + spot.reach) / spot.pitch
        total += density_at(u, v, spot)
    return total / parts


@njit
def density_at(u: float, v: float, spot: SpotTable) -> float:
    """The spot's density at column u and row v of its table, between its values; 0 outside."""
    d, last = spot.density, len(spot.density) - 1
    if u < 0 or v < 0 or u >= last or v >= last:
        return 0.0
    c, r = int(u), int(v)
    u, v = u - c, v - r
    return (1 - v) * ((1 - u) * d[r, c] + u * d[r, c + 1]) + v * ((1 - u) * d[r + 1, c] + u * d[r + 1, c + 1])


@njit
def cost(u: float, m: int, points: WatchedPoints, weight: float) -> float:
    """Loss of point m at relative dose u: its edge error in FWHM, its price, and the penalty."""
    loss = points.price[m] * u
    if points.steepness[m] > 0:
        error = (u - 1) / points.steepness[m]
        loss += np.sqrt(error * error + _ROUNDING2)
    beyond = max(points.low[m] - u, u - points.high[m], 0.0)
    return loss + weight * beyond * beyond


@njit
def descend(
    power: Ints, groups: LightGroups, rules: PowerRules, dose: Floats, points: WatchedPoints,
    effect: Influence, weight: float, sweeps: int,
) -> int:  # fmt: skip
    """Change `power` (rows,) digits and `dose` (M,) in place while the loss falls; return how often.

    After the first sweep a row is looked at only if the dose of a point has changed that it reaches. So the
    result is that of looking at all.
    """
    change, touched = np.zeros(len(dose)), np.zeros(len(dose), np.int64)
    seen, changed = np.full(len(power), -1), np.zeros(len(dose), np.int64)
    changes = before = 0
    for _ in range(sweeps):
        for k in range(len(power)):
            if power[k] <= 0 or not _concerned(k, groups, effect, changed, seen[k]):
                continue
            seen[k] = changes
            share = groups.share[groups.first[k] : groups.first[k + 1]]
            best, chosen = _GAIN, -1
            for up in (False, True):
                other = power[k]
                for _step in range(_STEPS):
                    other = neighbour(rules, share, other, up)
                    if other < 0:
                        break
                    n = _add(change, touched, k, power[k], other, groups, rules, effect)
                    gain = 0.0
                    for m in touched[:n]:
                        gain += cost(dose[m], m, points, weight)
                        gain -= cost(dose[m] + change[m], m, points, weight)
                        change[m] = 0.0
                    if gain > best:
                        best, chosen = gain, other
            if chosen >= 0:
                changes += 1
                n = _add(change, touched, k, power[k], chosen, groups, rules, effect)
                for m in touched[:n]:
                    dose[m] += change[m]
                    change[m] = 0.0
                    changed[m] = changes
                power[k] = centred(rules, share, chosen)
        if changes == before:
            break
        before = changes
    return changes


@njit
def _concerned(k: int, groups: LightGroups, effect: Influence, changed: Ints, seen: int) -> bool:
    """Whether row k was not looked at yet, or the dose of a point that it reaches has changed since."""
    if seen < 0:
        return True
    for i in range(effect.first[groups.first[k]], effect.first[groups.first[k + 1]]):
        if changed[effect.point[i]] > seen:
            return True
    return False


@njit
def _add(
    change: Floats, touched: Ints, k: int, before: int, after: int,
    groups: LightGroups, rules: PowerRules, effect: Influence,
) -> int:  # fmt: skip
    """Add to `change` what row k changes; return how many points are `touched`."""
    n = 0
    for g in range(groups.first[k], groups.first[k + 1]):
        share = groups.share[g]
        energy = (light(rules, share, after) - light(rules, share, before)) * groups.duration[g]
        if energy == 0:
            continue
        for i in range(effect.first[g], effect.first[g + 1]):
            m = effect.point[i]
            if change[m] == 0:
                touched[n] = m
                n += 1
            change[m] += energy * effect.dose[i]
    return n
