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
from laserpath.planning.learning.kernel import SpotTable, WatchedPoints, cells_near, cost, mean_density

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


@njit
def descend(
    xy: Floats, near: Any, room: Floats, price: Floats, step: Floats, pieces: MovedPieces,
    corners: CornerSpeeds, spot: SpotTable, dose: Floats, points: WatchedPoints, weight: float, sweeps: int,
    furthest: int,
) -> int:  # fmt: skip
    """Move vertices `xy` (rows + 1, 2) by `step` (2,) while the loss falls; `dose` follows; return how often.

    near: (rows + 1,) which may move.  room: (2, 2) lower-left and upper-right corner of their range.
    price: (rows + 1, 2) loss per mm.  furthest: steps that a vertex may go.
    """
    change = np.zeros((4, len(dose)))
    touched = np.zeros(len(dose), np.int64)
    marked = np.zeros(len(dose), np.bool_)
    gone = np.zeros((len(xy), 2), np.int64)
    changes = 0
    for _ in range(sweeps):
        done = 0
        for j in range(1, len(xy)):
            if not near[j]:
                continue
            n = _changes(change, touched, marked, j, xy, step, pieces, spot, points)
            if n == 0:
                continue
            best, dx, dy = _GAIN, 0, 0
            for x in range(-1, 2):
                for y in range(-1, 2):
                    if (x == 0 and y == 0) or not _free(xy, j, x, y, gone[j], step, room, furthest):
                        continue
                    if not _keeps_speed(xy, j, x * step[0], y * step[1], corners):
                        continue
                    gain = -(price[j, 0] * x * step[0] + price[j, 1] * y * step[1])
                    for m in touched[:n]:
                        u = dose[m] + _sum(change, m, x, y)
                        gain += cost(dose[m], m, points, weight) - cost(u, m, points, weight)
                    if gain > best:
                        best, dx, dy = gain, x, y
            if dx or dy:
                for m in touched[:n]:
                    dose[m] += _sum(change, m, dx, dy)
                _move(xy, j, dx * step[0], dy * step[1], pieces)
                gone[j, 0] += dx
                gone[j, 1] += dy
                done += 1
            for m in touched[:n]:
                marked[m] = False
                change[:, m] = 0.0
        changes += done
        if done == 0:
            break
    return changes


@njit
def _sum(change: Floats, m: int, x: int, y: int) -> float:
    """Change of dose at point m for a shift by x and y steps: their mixed derivative is neglected."""
    total = 0.0
    if x:
        total += change[0 if x > 0 else 1, m]
    if y:
        total += change[2 if y > 0 else 3, m]
    return total


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
    change: Floats, touched: Ints, marked: Any, j: int, xy: Floats, step: Floats,
    pieces: MovedPieces, spot: SpotTable, points: WatchedPoints,
) -> int:  # fmt: skip
    """Fill `change` for the four shifts of vertex j by one step; return how many points are `touched`."""
    n = 0
    last = pieces.first[min(j + 1, len(pieces.first) - 1)]
    for p in range(pieces.first[j - 1], last):
        if pieces.energy[p] <= 0:
            continue
        a, b = pieces.ends[p].copy(), pieces.ends[p + 1].copy()
        fa, fb = _shares(p, j, pieces)
        length = np.hypot(b[0] - a[0], b[1] - a[1])
        parts = max(2, int(np.ceil(length / (spot.reach / 6))))
        left, right, lower, upper = cells_near(a, b, spot, points)
        for row in range(lower, upper + 1):
            for column in range(left, right + 1):
                cell = row * points.columns + column
                for m in points.member[points.start[cell] : points.start[cell + 1]]:
                    old = mean_density(a, b, parts, spot, points.xy[m])
                    if old <= 0:
                        continue
                    if not marked[m]:
                        marked[m], touched[n] = True, m
                        n += 1
                    for c in range(4):
                        axis, d = c // 2, (1 - 2 * (c % 2)) * step[c // 2]
                        a[axis] += fa * d
                        b[axis] += fb * d
                        now = np.hypot(b[0] - a[0], b[1] - a[1])
                        more = now / length if length > _POINT else 1.0
                        new = mean_density(a, b, parts, spot, points.xy[m])
                        change[c, m] += pieces.energy[p] * (more * new - old)
                        a[axis] -= fa * d
                        b[axis] -= fb * d
    return n


@njit
def _shares(p: int, j: int, pieces: MovedPieces) -> tuple[float, float]:
    """Shares of a shift of vertex j in those of both ends of piece p."""
    begins = pieces.first[j] if j < len(pieces.first) else len(pieces.part)
    if p >= begins:
        return (1.0 if p == begins else 1 - pieces.part[p - 1]), 1 - pieces.part[p]
    return (0.0 if p == pieces.first[j - 1] else pieces.part[p - 1]), pieces.part[p]


@njit
def _move(xy: Floats, j: int, dx: float, dy: float, pieces: MovedPieces) -> None:
    """Shift vertex j, and the pieces on both sides of it."""
    xy[j, 0] += dx
    xy[j, 1] += dy
    begin, end = pieces.first[j - 1], pieces.first[min(j + 1, len(pieces.first) - 1)]
    old = np.empty(end - begin)
    for p in range(begin, end):
        old[p - begin] = _length(pieces.ends, p)
    for p in range(begin, end):
        share = _shares(p, j, pieces)[1]
        pieces.ends[p + 1, 0] += share * dx
        pieces.ends[p + 1, 1] += share * dy
    for p in range(begin, end):
        if old[p - begin] > _POINT:
            pieces.energy[p] *= _length(pieces.ends, p) / old[p - begin]


@njit
def _length(ends: Floats, p: int) -> float:
    return float(np.hypot(ends[p + 1, 0] - ends[p, 0], ends[p + 1, 1] - ends[p, 1]))
