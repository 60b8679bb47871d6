"""Influence of pieces on points, and the descent over levels, compiled; symbols are those of `levels`.

The descent goes through the moves one by one, each with the result of those before: no array operation does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcode.compiled import cached
from gcode.motion.response import PowerRules, centred, light, neighbour
from laserpath.base.arrays import Indices as Ints
from laserpath.compute.beside import in_parts

Floats = NDArray[Any]

_ROUNDING2 = 1e-4
"""δ², the square of the edge error, in FWHM, below which it counts less: a larger one weighs small errors
less."""

_STEPS = 2
"""Levels up and down that are tried at once: more leave fewer local minima, and take longer."""

_GAIN = 1e-9
"""Least gain of a change: a larger one ends the descent earlier."""

njit = cached(error_model="numpy", nogil=True)


class SpotTable(NamedTuple):
    """density: (n, n) of the spot on a square around its middle, dose per mJ.  pitch: mm.  reach: mm."""

    density: Floats
    pitch: float
    reach: float


class WatchedPoints(NamedTuple):
    """xy: (M, 2) mm.  steepness: (M,) F·|∂u/∂n| of points on the outline, 0 elsewhere.

    low, high: (M,) doses beyond which a point is penalised.  price: (M,) loss per dose.
    start: where the points of each square cell begin, which have the side `spot.reach` and are on `columns`
    columns, the first with its corner at `corner`.
    """

    xy: Floats
    steepness: Floats
    low: Floats
    high: Floats
    price: Floats
    start: Ints
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


def influence(
    ends: Floats, lit: Any, duration: Floats, groups: LightGroups, spot: SpotTable, points: WatchedPoints
) -> Influence:
    """The dose of each group at the points that its pieces reach.

    ends: (P+1, 2) mm, lit, duration: (P,), s, of the pieces.
    """

    def part(first: int, end: int) -> tuple[Ints, Any, Any]:
        return _influence(first, end, ends, lit, duration, groups, spot, points)

    return Influence(*joined(in_parts(part, len(groups.share))))


def joined(parts: Sequence[tuple[Ints, Any, Any]]) -> tuple[Ints, Any, Any]:
    """One list of the lists of successive rows: where each row begins, its points, and what they get."""
    if len(parts) == 1:
        return parts[0]
    counts, points, values = zip(*parts, strict=True)
    first = np.append(0, np.cumsum(np.concatenate([np.diff(one) for one in counts])))
    return first, np.concatenate(points), np.concatenate(values)


@njit
def _influence(
    start: int, end: int, ends: Floats, lit: Any, duration: Floats, groups: LightGroups, spot: SpotTable,
    points: WatchedPoints,
) -> tuple[Ints, Any, Any]:  # fmt: skip
    """`influence` of the groups from `start` to before `end`, as `joined` takes it."""
    count, first = 0, np.zeros(end - start + 1, np.int64)
    room = 64 * (groups.piece[end] - groups.piece[start])
    point, value = np.empty(room, np.int32), np.empty(room, np.float32)
    total, touched = np.zeros(len(points.xy)), np.zeros(len(points.xy), np.int64)
    for g in range(start, end):
        n = 0
        for p in range(groups.piece[g], groups.piece[g + 1]):
            if lit[p]:
                part = duration[p] / groups.duration[g]
                n = _expose(total, touched, n, ends[p], ends[p + 1], part, spot, points)
        if count + n > len(point):
            more = max(len(point) // 2, n)
            point = np.append(point, np.empty(more, np.int32))
            value = np.append(value, np.empty(more, np.float32))
        for m in touched[:n]:
            point[count], value[count] = m, total[m]
            total[m] = 0.0
            count += 1
        first[g - start + 1] = count
    return first, point[:count], value[:count]


@njit
def _expose(
    total: Floats, touched: Ints, n: int, a: Floats, b: Floats, part: float, spot: SpotTable,
    points: WatchedPoints,
) -> int:  # fmt: skip
    """Add `part` of the mean dose of a piece from a to b to `total`; return how many are now `touched`."""
    length = np.hypot(b[0] - a[0], b[1] - a[1])
    parts = max(2, int(np.ceil(length / (spot.reach / 8))))
    near = (spot.reach + 1.5 * spot.pitch + length / 2) ** 2
    left, right, lower, upper = cells_near(a, b, spot, points)
    for row in range(lower, upper + 1):
        cell = row * points.columns
        for m in range(points.start[cell + left], points.start[cell + right + 1]):
            x, y = points.xy[m, 0] - (a[0] + b[0]) / 2, points.xy[m, 1] - (a[1] + b[1]) / 2
            if x * x + y * y > near:
                continue
            dose = mean_density(a, b, parts, spot, points.xy[m])
            if dose > 0:
                if total[m] == 0:
                    touched[n] = m
                    n += 1
                total[m] += part * dose
    return n


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
def cost_slope(u: float, m: int, points: WatchedPoints, weight: float) -> float:
    """Derivative of `cost` by u. Cost is convex, so that a change by d gains at most −d times that."""
    slope = points.price[m]
    if points.steepness[m] > 0:
        error = (u - 1) / points.steepness[m]
        slope += error / np.sqrt(error * error + _ROUNDING2) / points.steepness[m]
    return slope + 2 * weight * (max(u - points.high[m], 0.0) - max(points.low[m] - u, 0.0))


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
    slope = np.empty(len(dose))
    for m in range(len(dose)):
        slope[m] = cost_slope(dose[m], m, points, weight)
    changes = before = 0
    for _ in range(sweeps):
        for k in range(len(power)):
            if power[k] <= 0 or not _concerned(k, groups, effect, changed, seen[k]):
                continue
            seen[k] = changes
            chosen = _best(change, touched, k, power[k], groups, rules, dose, slope, points, effect, weight)
            if chosen < 0:
                continue
            changes += 1
            n = _add(change, touched, k, power[k], chosen, groups, rules, effect)
            for m in touched[:n]:
                dose[m] += change[m]
                slope[m] = cost_slope(dose[m], m, points, weight)
                change[m] = 0.0
                changed[m] = changes
            share = groups.share[groups.first[k] : groups.first[k + 1]]
            power[k] = centred(rules, share, chosen)
        if changes == before:
            break
        before = changes
    return changes


@njit
def _best(
    change: Floats, touched: Ints, k: int, power: int, groups: LightGroups, rules: PowerRules, dose: Floats,
    slope: Floats, points: WatchedPoints, effect: Influence, weight: float,
) -> int:  # fmt: skip
    """The power of row k, of those next to its own, that lowers the loss most; −1 if none does.

    What the slopes rule out is not evaluated. A direction is left where a step gains no more than the best.
    """
    share = groups.share[groups.first[k] : groups.first[k + 1]]
    pull = np.zeros(len(share))
    for g in range(len(share)):
        here = groups.first[k] + g
        for i in range(effect.first[here], effect.first[here + 1]):
            pull[g] += slope[effect.point[i]] * effect.dose[i]
    best, chosen = _GAIN, -1
    for up in (False, True):
        other = power
        for _step in range(_STEPS):
            other = neighbour(rules, share, other, up)
            if other < 0:
                break
            most = 0.0
            for g in range(len(share)):
                duration = groups.duration[groups.first[k] + g]
                most -= (light(rules, share[g], other) - light(rules, share[g], power)) * duration * pull[g]
            if most <= best:
                continue
            gain = 0.0
            n = _add(change, touched, k, power, other, groups, rules, effect)
            for m in touched[:n]:
                gain += cost(dose[m], m, points, weight)
                gain -= cost(dose[m] + change[m], m, points, weight)
                change[m] = 0.0
            if gain <= best:
                break
            best, chosen = gain, other
    return chosen


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
