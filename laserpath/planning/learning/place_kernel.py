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
from laserpath.planning.learning.kernel import SpotTable, WatchedPoints, cells_near, cost, density_at

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


class Kept(NamedTuple):
    """What the shifts of each vertex change, kept until a vertex moves on which that depends.

    first, held, room: (rows + 1,) where the points of each vertex begin in the store, how many they are, and
    for how many there is room.  used: (1,) length of the store in use.  seen: (rows + 1,) number of moves
    when the vertex was last looked at, −1: never.  moved: (rows + 1,) number of its own last move.
    changed: (M,) number of the move that last changed the dose of each point.
    """

    first: Ints
    held: Ints
    room: Ints
    used: Ints
    seen: Ints
    moved: Ints
    changed: Ints


def nothing_kept(vertices: int, points: int) -> Kept:
    """Before the first sweep."""
    first, held, room, moved = (np.zeros(vertices, np.int64) for _ in range(4))
    used, seen = np.zeros(1, np.int64), np.full(vertices, -1)
    return Kept(first, held, room, used, seen, moved, np.zeros(points, np.int64))


@njit
def descend(
    xy: Floats, near: Any, room: Floats, price: Floats, step: Floats, pieces: MovedPieces,
    corners: CornerSpeeds, spot: SpotTable, dose: Floats, points: WatchedPoints, weight: float, sweeps: int,
    furthest: int, kept: Kept,
) -> int:  # fmt: skip
    """Move vertices `xy` (rows + 1, 2) by `step` (2,) while the loss falls; `dose` follows; return how often.

    near: (rows + 1,) which may move.  room: (2, 2) lower-left and upper-right corner of their range.
    price: (rows + 1, 2) loss per mm.  furthest: steps that a vertex may go.  kept: nothing yet.

    After the first sweep a vertex is looked at only if something has changed on which its answer depends: a
    vertex beside it, or the dose of a point that it reaches. So the result is that of looking at all.
    """
    point, change = np.zeros(64 * len(xy), np.int32), np.zeros((64 * len(xy), 4), np.float32)
    total, touched = np.zeros((len(dose), 5)), np.zeros(len(dose), np.int64)
    gone, gain = np.zeros((len(xy), 2), np.int64), np.zeros((3, 3))
    changes = before = 0
    for _ in range(sweeps):
        for j in range(1, len(xy)):
            if not near[j]:
                continue
            if kept.seen[j] < 0 or kept.moved[j - 1 : j + 2].max() > kept.seen[j]:
                n = _changes(total, touched, j, xy, step, pieces, spot, points)
                point, change = _keep(kept, j, touched[:n], total, point, change)
            elif not _concerned(kept, j, point):
                continue
            kept.seen[j] = changes
            here = slice(kept.first[j], kept.first[j] + kept.held[j])
            _gains(gain, point[here], change[here], dose, points, weight)
            dx, dy = _best(gain, xy, j, gone[j], step, room, price[j], corners, furthest)
            if dx == 0 and dy == 0:
                continue
            changes += 1
            for i in range(here.start, here.stop):
                dose[point[i]] += _shifted(change[i], dx, dy)
                kept.changed[point[i]] = changes
            _move(xy, j, dx * step[0], dy * step[1], pieces)
            kept.moved[j] = changes
            gone[j, 0] += dx
            gone[j, 1] += dy
        if changes == before:
            break
        before = changes
    return changes


@njit
def _keep(kept: Kept, j: int, touched: Ints, total: Floats, point: Any, change: Any) -> tuple[Any, Any]:
    """Store what vertex j changes, and clear `total`; return the store, which may have grown."""
    n = len(touched)
    if n > kept.room[j]:
        kept.first[j], kept.room[j] = kept.used[0], n + n // 8
        kept.used[0] += kept.room[j]
        if kept.used[0] > len(point):
            more = max(len(point) // 2, n + n // 8)
            point = np.append(point, np.zeros(more, np.int32))
            change = np.append(change, np.zeros((more, 4), np.float32)).reshape(-1, 4)
    kept.held[j] = n
    for i in range(n):
        m = touched[i]
        point[kept.first[j] + i] = m
        for c in range(4):
            change[kept.first[j] + i, c] = total[m, c]
            total[m, c] = 0.0
        total[m, 4] = 0.0
    return point, change


@njit
def _concerned(kept: Kept, j: int, point: Any) -> bool:
    """Whether the answer for vertex j may have changed, though it and its neighbours stayed."""
    if kept.moved[max(j - 2, 0) : j + 3].max() > kept.seen[j]:
        return True  # the speed at which the head passes a neighbour
    for i in range(kept.first[j], kept.first[j] + kept.held[j]):
        if kept.changed[point[i]] > kept.seen[j]:
            return True
    return False


@njit
def _gains(gain: Floats, point: Any, change: Any, dose: Floats, points: WatchedPoints, weight: float) -> None:
    """Fill `gain` (3, 3) by how much the loss of the points falls for shifts by −1, 0, 1 steps each way."""
    gain[:] = 0.0
    for i in range(len(point)):
        m = point[i]
        now = cost(dose[m], m, points, weight)
        for x in range(-1, 2):
            for y in range(-1, 2):
                if x or y:
                    u = dose[m] + _shifted(change[i], x, y)
                    gain[x + 1, y + 1] += now - cost(u, m, points, weight)


@njit
def _shifted(change: Floats, x: int, y: int) -> float:
    """Change of a dose for a shift by x and y steps: their mixed derivative is neglected."""
    total = 0.0
    if x:
        total += change[0 if x > 0 else 1]
    if y:
        total += change[2 if y > 0 else 3]
    return total


@njit
def _best(
    gain: Floats, xy: Floats, j: int, gone: Ints, step: Floats, room: Floats, price: Floats,
    corners: CornerSpeeds, furthest: int,
) -> tuple[int, int]:  # fmt: skip
    """The steps of vertex j that gain most, write time included, of those that it may go."""
    best, dx, dy = _GAIN, 0, 0
    for x in range(-1, 2):
        for y in range(-1, 2):
            more = gain[x + 1, y + 1] - (price[0] * x * step[0] + price[1] * y * step[1])
            if (x == 0 and y == 0) or more <= best:
                continue
            if _free(xy, j, x, y, gone, step, room, furthest) and _keeps_speed(
                xy, j, x * step[0], y * step[1], corners
            ):
                best, dx, dy = more, x, y
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
    total: Floats, touched: Ints, j: int, xy: Floats, step: Floats,
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
