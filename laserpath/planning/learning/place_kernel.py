"""The descent over the vertices' steps, compiled; symbols are those of `places`.

The descent goes through the vertices one by one, each with the result of those before: no array operation
does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcode.compiled import cached
from laserpath.base.arrays import Indices as Ints
from laserpath.planning.learning.kernel import (
    SpotTable,
    WatchedPoints,
    cells_near,
    cost,
    cost_slope,
    density_at,
)

Floats = NDArray[Any]

_GAIN = 1e-9  # least gain of a change
_POINT = 1e-7  # mm, shortest piece that exposes along its length
_SLOWER, _FASTER = 0.94, 1.3  # square of a corner's speed after a shift ÷ before: less room keeps the motion
_HELD = 1.05  # square of a corner's speed limit ÷ speed up to which the limit holds the head back


njit = cached(error_model="numpy")


class MovedPieces(NamedTuple):
    """ends: (P+1, 2) mm.  part: (P,) of its row that lies behind each piece's end, 0 … 1.

    energy: (P,) s of full light.  first: (rows + 1,) index of the first piece of each row.
    """

    ends: Floats
    part: Floats
    energy: Floats
    first: Ints


class CornerSpeeds(NamedTuple):
    """square: (rows + 1,) (mm/s)², planned speed at each vertex.

    acceleration: (2,) mm/s².  deviation: mm, of a junction.
    """

    square: Floats
    acceleration: Floats
    deviation: float


class ShiftEffects(NamedTuple):
    """What a step of vertex j changes: the doses of point[first[j]] … point[first[j + 1]].

    change: (…, 4) of them, for a step to the right, left, up and down.
    """

    first: Ints
    point: Any
    change: Any


@njit
def effects(
    near: Any, step: Floats, pieces: MovedPieces, spot: SpotTable, points: WatchedPoints
) -> ShiftEffects:
    """What the steps of the vertices change of which `near` (rows + 1,) is true."""
    count, first = 0, np.zeros(len(near) + 1, np.int64)
    point, change = np.empty(64 * len(near), np.int32), np.empty((64 * len(near), 4), np.float32)
    total, touched = np.zeros((len(points.xy), 5)), np.zeros(len(points.xy), np.int64)
    for j in range(len(near)):
        n = _changes(total, touched, j, step, pieces, spot, points) if near[j] and j > 0 else 0
        if count + n > len(point):
            more = max(len(point) // 2, n)
            point = np.append(point, np.empty(more, np.int32))
            change = np.append(change, np.empty((more, 4), np.float32)).reshape(-1, 4)
        for m in touched[:n]:
            point[count] = m
            for c in range(4):
                change[count, c] = total[m, c]
            total[m] = 0.0
            count += 1
        first[j + 1] = count
    return ShiftEffects(first, point[:count], change[:count])


@njit
def descend(
    xy: Floats, gone: Ints, room: Floats, price: Floats, step: Floats, corners: CornerSpeeds, dose: Floats,
    points: WatchedPoints, effect: ShiftEffects, weight: float, sweeps: int, furthest: int,
) -> int:  # fmt: skip
    """Move vertices `xy` (rows + 1, 2) by `step` (2,) while the loss falls; return how often.

    `dose` follows, and `gone` (rows + 1, 2), the steps that each has made since `effect` was found.

    room: (2, 2) lower-left and upper-right corner of their range.  price: (rows + 1, 2) loss per mm.
    effect: of those that may move.  furthest: steps that a vertex may go.

    After the first sweep a vertex is looked at only if something has changed on which its answer depends: a
    vertex beside it, or the dose of a point that it reaches. So the result is that of looking at all.
    """
    seen, moved, changed = np.full(len(xy), -1), np.zeros(len(xy), np.int64), np.zeros(len(dose), np.int64)
    slope = np.empty(len(dose))
    for m in range(len(dose)):
        slope[m] = cost_slope(dose[m], m, points, weight)
    changes = before = 0
    for _ in range(sweeps):
        for j in range(1, len(xy)):
            here = slice(effect.first[j], effect.first[j + 1])
            point, change = effect.point[here], effect.change[here]
            if len(point) == 0 or not _concerned(j, point, seen[j], moved, changed):
                continue
            seen[j] = changes
            dx, dy = _best(
                xy, j, gone[j], step, room, price[j], corners, furthest, point, change, dose, slope, points,
                weight,
            )  # fmt: skip
            if dx == 0 and dy == 0:
                continue
            changes += 1
            for i in range(len(point)):
                m = point[i]
                dose[m] += _shifted(change[i], gone[j], dx, dy)
                slope[m] = cost_slope(dose[m], m, points, weight)
                changed[m] = changes
            xy[j, 0] += dx * step[0]
            xy[j, 1] += dy * step[1]
            moved[j] = changes
            gone[j, 0] += dx
            gone[j, 1] += dy
        if changes == before:
            break
        before = changes
    return changes


@njit
def _concerned(j: int, point: Any, seen: int, moved: Ints, changed: Ints) -> bool:
    """Whether the answer for vertex j may have changed since it was last looked at, −1: never."""
    for m in point:
        if changed[m] > seen:
            return True
    return moved[max(j - 2, 0) : j + 3].max() > seen  # the speed at which the head passes a neighbour


@njit
def _shifted(change: Any, gone: Ints, x: int, y: int) -> float:
    """Change of a dose for a shift by x and y steps from where its vertex has `gone`.

    Quadratic along each axis; the mixed derivative is neglected.
    """
    return _along(change[0], change[1], gone[0], x) + _along(change[2], change[3], gone[1], y)


@njit
def _along(ahead: float, back: float, gone: int, x: int) -> float:
    return 0.5 * x * ((ahead - back) + (ahead + back) * (2 * gone + x))


@njit
def _best(
    xy: Floats, j: int, gone: Ints, step: Floats, room: Floats, price: Floats, corners: CornerSpeeds,
    furthest: int, point: Any, change: Any, dose: Floats, slope: Floats, points: WatchedPoints, weight: float,
) -> tuple[int, int]:  # fmt: skip
    """The steps of vertex j that gain most, write time included, of those that it may go."""
    pull = np.zeros(4)
    for i in range(len(point)):
        for c in range(4):
            pull[c] += slope[point[i]] * change[i, c]
    best, dx, dy = _GAIN, 0, 0
    for x in range(-1, 2):
        for y in range(-1, 2):
            if x == 0 and y == 0:
                continue
            paid = price[0] * x * step[0] + price[1] * y * step[1]
            most = -_shifted(pull, gone, x, y) - paid
            if most <= best:
                continue
            if not _free(xy, j, x, y, gone, step, room, furthest) or not _keeps_speed(
                xy, j, x * step[0], y * step[1], corners
            ):
                continue
            gain = -paid
            for i in range(len(point)):
                m = point[i]
                u = dose[m]
                gain += cost(u, m, points, weight) - cost(
                    u + _shifted(change[i], gone, x, y), m, points, weight
                )
            if gain > best:
                best, dx, dy = gain, x, y
    return dx, dy


@njit
def _free(xy: Floats, j: int, x: int, y: int, gone: Ints, step: Floats, room: Floats, furthest: int) -> bool:
    """Whether vertex j may go there: near, within its range, and not onto a neighbour."""
    if abs(gone[0] + x) > furthest or abs(gone[1] + y) > furthest:
        return False
    a, b = xy[j, 0] + x * step[0], xy[j, 1] + y * step[1]
    if a < room[0, 0] or b < room[0, 1] or a > room[1, 0] or b > room[1, 1]:
        return False
    for i in (j - 1, j + 1):
        if i < len(xy) and abs(xy[i, 0] - a) < step[0] / 2 and abs(xy[i, 1] - b) < step[1] / 2:
            return False
    return True


@njit
def _keeps_speed(xy: Floats, j: int, dx: float, dy: float, corners: CornerSpeeds) -> bool:
    """Whether the head passes vertex j and its neighbours about as fast as before, if j is shifted."""
    for i in (j - 1, j, j + 1):
        if i < 1 or i + 1 >= len(xy):
            continue
        need = corners.square[i]
        if need <= 0:
            continue
        old = _junction(xy, i, j, 0.0, 0.0, corners)
        new = _junction(xy, i, j, dx, dy, corners)
        if new < _SLOWER * min(old, need):
            return False
        if old < _HELD * need and new > _FASTER * old:
            return False
    return True


@njit
def _junction(xy: Floats, i: int, j: int, dx: float, dy: float, corners: CornerSpeeds) -> float:
    """(mm/s)² at which the head may pass vertex i if vertex j is shifted."""
    ux, uy = xy[i, 0] - xy[i - 1, 0], xy[i, 1] - xy[i - 1, 1]
    vx, vy = xy[i + 1, 0] - xy[i, 0], xy[i + 1, 1] - xy[i, 1]
    a = (1.0 if i == j else 0.0) - (1.0 if i - 1 == j else 0.0)
    b = (1.0 if i + 1 == j else 0.0) - (1.0 if i == j else 0.0)
    ux, uy, vx, vy = ux + a * dx, uy + a * dy, vx + b * dx, vy + b * dy
    lu, lv = np.hypot(ux, uy), np.hypot(vx, vy)
    if lu < 1e-9 or lv < 1e-9:
        return 0.0
    ux, uy, vx, vy = ux / lu, uy / lu, vx / lv, vy / lv
    s = np.sqrt(max((1 + ux * vx + uy * vy) / 2, 0.0))
    tx, ty = vx - ux, vy - uy
    t = max(np.hypot(tx, ty), 1e-12)
    most = min(
        corners.acceleration[0] / max(abs(tx) / t, 1e-12), corners.acceleration[1] / max(abs(ty) / t, 1e-12)
    )
    return most * corners.deviation * s / max(1 - s, 1e-12)


@njit
def _changes(
    total: Floats, touched: Ints, j: int, step: Floats,
    pieces: MovedPieces, spot: SpotTable, points: WatchedPoints,
) -> int:  # fmt: skip
    """Fill `total` (M, 5) for a shift of vertex j by one step to the right, left, up and down.

    Its fifth column is 1 for points that are touched, so that each is counted once.

    Return how many points are `touched`.
    """
    n, density = 0, np.zeros(5)
    last = pieces.first[min(j + 1, len(pieces.first) - 1)]
    for p in range(pieces.first[j - 1], last):
        if pieces.energy[p] <= 0:
            continue
        a, b, shares = pieces.ends[p], pieces.ends[p + 1], _shares(p, j, pieces)
        length = np.hypot(b[0] - a[0], b[1] - a[1])
        longer = _lengthened(b[0] - a[0], b[1] - a[1], length, shares[1] - shares[0], step)
        parts = max(2, int(np.ceil(length / (spot.reach / 6))))
        near = (spot.reach + 1.5 * spot.pitch + length / 2) ** 2
        left, right, lower, upper = cells_near(a, b, spot, points)
        for row in range(lower, upper + 1):
            for cell in range(row * points.columns + left, row * points.columns + right + 1):
                for m in points.member[points.start[cell] : points.start[cell + 1]]:
                    x = points.xy[m, 0] - (a[0] + b[0]) / 2
                    y = points.xy[m, 1] - (a[1] + b[1]) / 2
                    if x * x + y * y > near:
                        continue
                    _densities(density, a, b, shares, parts, spot, points.xy[m], step)
                    if density[4] <= 0:
                        continue
                    if total[m, 4] == 0:
                        touched[n], total[m, 4] = m, 1.0
                        n += 1
                    for c in range(4):
                        total[m, c] += pieces.energy[p] * (longer[c] * density[c] - density[4])
    return n


@njit
def _lengthened(x: float, y: float, length: float, more: float, step: Floats) -> tuple[float, ...]:
    """Length of a piece (x, y), mm, after its end went `more` steps further than its start ÷ before.

    To the right, to the left, up and down.
    """
    if length <= _POINT:
        return 1.0, 1.0, 1.0, 1.0
    dx, dy = more * step[0], more * step[1]
    return (
        np.hypot(x + dx, y) / length, np.hypot(x - dx, y) / length,
        np.hypot(x, y + dy) / length, np.hypot(x, y - dy) / length,
    )  # fmt: skip


@njit
def _densities(
    density: Floats, a: Floats, b: Floats, shares: tuple[float, float], parts: int, spot: SpotTable,
    at: Floats, step: Floats,
) -> None:  # fmt: skip
    """Mean densities of the spot at a point while its middle goes from a to b.

    Five: with the ends shifted by their `shares` of a step to the right, left, up and down, and unshifted.
    """
    density[:] = 0.0
    for i in range(parts):
        f = (i + 0.5) / parts
        u = (at[0] - a[0] - f * (b[0] - a[0]) + spot.reach) / spot.pitch
        v = (at[1] - a[1] - f * (b[1] - a[1]) + spot.reach) / spot.pitch
        share = (shares[0] + f * (shares[1] - shares[0])) / spot.pitch
        x, y = share * step[0], share * step[1]
        density[0] += density_at(u - x, v, spot)
        density[1] += density_at(u + x, v, spot)
        density[2] += density_at(u, v - y, spot)
        density[3] += density_at(u, v + y, spot)
        density[4] += density_at(u, v, spot)
    density /= parts


@njit
def _shares(p: int, j: int, pieces: MovedPieces) -> tuple[float, float]:
    """Shares of a shift of vertex j in those of both ends of piece p."""
    begins = pieces.first[j] if j < len(pieces.first) else len(pieces.part)
    if p >= begins:
        return (1.0 if p == begins else 1 - pieces.part[p - 1]), 1 - pieces.part[p]
    return (0.0 if p == pieces.first[j - 1] else pieces.part[p - 1]), pieces.part[p]
