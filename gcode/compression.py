"""Fewer, longer moves for the same light: arcs for rows of chords, and one line for collinear ones.

Only rows that expose alike are joined: the same PWM level, the same speed, the same mode, one after the other
at one height. Nothing leaves its place by more than `tolerance`:

- `fit_arcs`: the circle through the first, the middle and the last vertex of a run. Every vertex, and the
  middle of every chord, is within the tolerance of it; the turns go one way, and less than a full turn.
- `merge_lines`: a line may go on as long as it passes every vertex between within the tolerance, which is a
  cone of directions that shrinks from vertex to vertex (Williams, "An efficient algorithm for the piecewise
  linear approximation of planar curves", Computer Graphics and Image Processing 8, 1978), and never back.

A controller like GRBL cuts arcs into short blocks again: arcs save its serial line, not its look-ahead. An
arc has one power. So a run ends where the level changes: what overlooks that turns a shaded curve dark.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numba
import numpy as np

from gcode.errors import GcodeError
from gcode.levels import level_of
from gcode.move import Bools, Floats, Ints, Kind, Kinds, Moves

LEAST_CHORDS = 3
"""Fewer are no curve: through two chords goes always a circle."""

_MOST_SWEEP = 1.9 * math.pi
_SAME_SPEED = 1e-9


def compress(
    moves: Moves, tolerance: float, levels: int | None = None, *, arcs: bool = False, slack: float = 0.0
) -> Moves:
    """`moves` with fewer rows, nowhere further than `tolerance` mm away. levels: PWM levels above zero.

    Each of the two steps may move what it joins by the tolerance.  slack: by how much, relatively, the speeds
    of rows may differ that are joined; they then have the mean speed of the run, and its energy.
    """
    if arcs:
        moves = fit_arcs(moves, tolerance, levels, slack)
    return merge_lines(moves, tolerance, levels, slack)


def merge_lines(moves: Moves, tolerance: float, levels: int | None = None, slack: float = 0.0) -> Moves:
    """One line for collinear ones that expose alike."""
    last = np.arange(len(moves))
    _merge(moves.xy, alike(moves, levels, slack), _checked(tolerance), last)
    return _kept(moves, last)


def fit_arcs(moves: Moves, tolerance: float, levels: int | None = None, slack: float = 0.0) -> Moves:
    """Arcs for runs of at least `LEAST_CHORDS` chords that expose alike."""
    last, centre, kind = np.arange(len(moves)), moves.centre.copy(), moves.kind.copy()
    _fit(moves.xy, alike(moves, levels, slack), _checked(tolerance), last, centre, kind)
    return _kept(replace(moves, centre=centre, kind=kind), last)


def join_short(moves: Moves, shortest: float) -> Moves:
    """Lit lines one after the other that are shorter than `shortest` mm, joined until they are not.

    Some controllers leave such lines out, or join them as they like. The chord of joined lines has their
    energy ∫ P dt at the speed of the first; a stroke that is shorter as a whole stays one line.
    """
    lit = moves.on & (moves.kind == Kind.LINE)
    last, energy = np.arange(len(moves)), np.where(lit, moves.power * moves.length / moves.speed, 0.0)
    _join(moves.xy, lit, _checked(shortest), last, energy)
    kept = _kept(moves, last)
    energy = energy[last >= np.arange(len(moves))]
    changed = kept.on & (kept.kind == Kind.LINE) & (kept.length > 0)
    power = np.where(changed, energy * kept.speed / np.maximum(kept.length, 1e-300), kept.power)
    return replace(kept, power=np.minimum(power, 1.0))


def alike(moves: Moves, levels: int | None = None, slack: float = 0.0) -> Bools:
    """(N,) whether a row is a line that exposes as the one before it, and goes on from it.

    Speeds are put into steps of 1 + slack; those of one step are alike.
    """
    if not 0 <= slack < 1:
        raise GcodeError(f"slack is {slack}, but must be from 0 to below 1")
    level = moves.power if levels is None else level_of(moves.power, levels)
    line, flat = moves.kind == Kind.LINE, np.diff(moves.z) == 0
    same = np.zeros(len(moves), dtype=bool)
    same[1:] = line[1:] & line[:-1] & flat[1:] & flat[:-1]
    same[1:] &= (level[1:] == level[:-1]) & (moves.on[1:] == moves.on[:-1])
    same[1:] &= (moves.dynamic[1:] == moves.dynamic[:-1]) | ~moves.on[1:]
    if slack:
        step = np.floor(np.log(moves.speed) / math.log1p(slack))
        same[1:] &= step[1:] == step[:-1]
    else:
        same[1:] &= np.abs(moves.speed[1:] - moves.speed[:-1]) <= _SAME_SPEED * moves.speed[1:]
    said = np.array([row for row, _ in moves.comments if row < len(moves)], dtype=np.int64)
    same[said] = False
    return same


def _checked(tolerance: float) -> float:
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise GcodeError(f"tolerance is {tolerance}, but must be a length of at least 0 mm")
    return tolerance


def _kept(moves: Moves, last: Ints) -> Moves:
    """Rows from k to last[k] become one, of row k; what is between is gone (last < k)."""
    first = np.flatnonzero(last >= np.arange(len(moves)))
    ends = np.concatenate([[0], last[first] + 1])
    columns = {name: getattr(moves, name)[first] for name in ("power", "kind", "centre", "dwell")}
    if len(first):
        # The run's mean speed, so that it lasts as long; of even ones, their own to the last bit.
        length = np.diff(moves.xy, axis=0)
        way = np.hypot(*length.T)
        lasts, whole = (np.add.reduceat(v, first) for v in (way / moves.speed, way))
        even = np.maximum.reduceat(moves.speed, first) == np.minimum.reduceat(moves.speed, first)
        even |= lasts == 0
        columns["speed"] = np.where(even, moves.speed[first], whole / np.where(lasts > 0, lasts, 1.0))
    else:
        columns["speed"] = moves.speed[first]
    comments = tuple((int(np.searchsorted(first, row)), text) for row, text in moves.comments)
    return Moves(
        xy=moves.xy[ends], z=moves.z[ends], dynamic=moves.dynamic[first], comments=comments, **columns
    )


@numba.njit(cache=True)
def _join(xy: Floats, lit: Bools, shortest: float, last: Ints, energy: Floats) -> None:
    """Writes into last[k] the row that row k goes on to, −1 for rows joined to one before; sums energy."""
    n, k, before = len(lit), 0, -1
    while k < n:
        end = k
        while lit[k] and end + 1 < n and lit[end + 1]:
            if math.hypot(xy[end + 1, 0] - xy[k, 0], xy[end + 1, 1] - xy[k, 1]) >= shortest:
                break
            end += 1
            last[end] = -1
            energy[k] += energy[end]
        last[k] = end
        short = math.hypot(xy[end + 1, 0] - xy[k, 0], xy[end + 1, 1] - xy[k, 1]) < shortest
        if lit[k] and short and before >= 0 and last[before] == k - 1 and lit[before]:
            # A short rest of a stroke goes with what is before it.
            last[before], last[k] = end, -1
            energy[before] += energy[k]
        else:
            before = k
        k = end + 1


@numba.njit(cache=True)
def _merge(xy: Floats, same: Bools, tolerance: float, last: Ints) -> None:
    """Writes into last[k] the row that the line from row k goes to, −1 for rows that are joined to one."""
    n, k = len(same), 0
    while k < n:
        end, left, right, far = k, -math.inf, math.inf, 0.0
        heading = math.atan2(xy[k + 1, 1] - xy[k, 1], xy[k + 1, 0] - xy[k, 0])
        while end + 1 < n and same[end + 1]:
            # The vertex that falls away, and where the line would go on to.
            d = math.hypot(xy[end + 1, 0] - xy[k, 0], xy[end + 1, 1] - xy[k, 1])
            if d > tolerance:
                at = _turn(math.atan2(xy[end + 1, 1] - xy[k, 1], xy[end + 1, 0] - xy[k, 0]) - heading)
                slack = math.asin(tolerance / d) if tolerance > 0 else 1e-9
                left, right = max(left, at - slack), min(right, at + slack)
            far = max(far, d)
            dx, dy = xy[end + 2, 0] - xy[k, 0], xy[end + 2, 1] - xy[k, 1]
            toward = _turn(math.atan2(dy, dx) - heading)
            if not (left <= toward <= right) or math.hypot(dx, dy) < far or abs(toward) > math.pi / 2:
                break
            end += 1
            last[end] = -1
        last[k] = end
        k = end + 1


@numba.njit(cache=True)
def _turn(angle: float) -> float:
    """The angle in −π…π."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


@numba.njit(cache=True)
def _fit(xy: Floats, same: Bools, tolerance: float, last: Ints, centre: Floats, kind: Kinds) -> None:
    """Writes arcs into last, centre and kind; their ends are found by doubling, then by halving."""
    n, k = len(same), 0
    while k < n:
        stop = k
        while stop + 1 < n and same[stop + 1]:
            stop += 1
        while stop - k + 1 >= LEAST_CHORDS:
            good, bad, step = k + LEAST_CHORDS - 1, stop + 1, LEAST_CHORDS
            if _circle(xy, k, good, tolerance)[0] == 0:
                k += 1
                continue
            while good + step < bad:
                if _circle(xy, k, good + step, tolerance)[0] != 0:
                    good, step = good + step, 2 * step
                else:
                    bad = good + step
                    break
            while bad - good > 1:
                middle = (good + bad) // 2
                if _circle(xy, k, middle, tolerance)[0] != 0:
                    good = middle
                else:
                    bad = middle
            way, cx, cy = _circle(xy, k, good, tolerance)
            last[k], kind[k] = good, 3 if way > 0 else 2
            centre[k, 0], centre[k, 1] = cx, cy
            last[k + 1 : good + 1] = -1
            k = good + 1
        k = stop + 1


@numba.njit(cache=True)
def _circle(xy: Floats, first: int, end: int, tolerance: float) -> tuple[int, float, float]:
    """The circle of rows first…end: (+1 counter-clockwise, −1 clockwise or 0 if there is none, centre)."""
    none = (0, 0.0, 0.0)
    ax, ay = xy[first]
    bx, by = xy[(first + end + 1) // 2] - xy[first]
    cx, cy = xy[end + 1] - xy[first]
    d = 2 * (bx * cy - by * cx)
    size = max(abs(bx) + abs(by), abs(cx) + abs(cy))
    if abs(d) <= 1e-9 * size * size:
        return none
    ux = (cy * (bx * bx + by * by) - by * (cx * cx + cy * cy)) / d
    uy = (bx * (cx * cx + cy * cy) - cx * (bx * bx + by * by)) / d
    radius = math.hypot(ux, uy)
    way, swept = 1 if d > 0 else -1, 0.0
    ux, uy = ux + ax, uy + ay
    for k in range(first, end + 1):
        px, py, qx, qy = xy[k, 0] - ux, xy[k, 1] - uy, xy[k + 1, 0] - ux, xy[k + 1, 1] - uy
        if abs(math.hypot(qx, qy) - radius) > tolerance:
            return none
        if abs(math.hypot((px + qx) / 2, (py + qy) / 2) - radius) > tolerance:
            return none
        turn = math.atan2(px * qy - py * qx, px * qx + py * qy)
        if turn * way <= 0:
            return none
        swept += abs(turn)
    return (way, ux, uy) if swept <= _MOST_SWEEP else none
