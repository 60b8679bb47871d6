"""Fewer, longer moves for the same exposure: arcs for runs of chords, and one line for collinear ones.

Only consecutive rows that expose alike are joined, those of the same PWM level, speed, mode and height. The
path moves by no more than `tolerance`:

- `fit_arcs`: the circle through the first, the middle and the last vertex of a run. Every vertex, and the
  middle of every chord, is within the tolerance of it; all turns have one sense, and sum to less than a full
  turn.
- `merge_lines`: a line is extended while it passes every vertex between within the tolerance, which is a
  cone of directions that narrows from vertex to vertex (Williams, "An efficient algorithm for the piecewise
  linear approximation of planar curves", Computer Graphics and Image Processing 8, 1978), and never back.

A controller like GRBL cuts arcs into short blocks again: arcs relieve its serial line, not its look-ahead. An
arc has one power, so a run ends where the level changes; otherwise a shaded curve would lose its shades.

`without_short` draws strokes again with lines that are no shorter than a controller accepts. Some drop short
lines, or join them in their own way. Joining each short line with the next one gives chords of up to twice
the least length s, and rounds off what is between. Here a stroke may turn at any of its points c_0 … c_n, its
vertices and points about s/4 apart, and the chords are those with the least

    Σ_chords (∫ d² ds + ε s³),    each of them at least s long along x or y,

d being the distance of the old path from its chord: the shortest path through a graph in which an edge joins
two points (Imai and Iri, "Computational-geometric methods for polygonal approximations of a curve", Computer
Vision, Graphics, and Image Processing 36, 1986). A chord spans at most 4 s of the old path, or a part of one
old line.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gcode.compiled import njit
from gcode.errors import GcodeError
from gcode.levels import level_of
from gcode.move import Bools, Floats, Ints, Kind, Kinds, Moves, numbered

LEAST_CHORDS = 3
"""Least number of chords that make an arc. With two, every corner would become an arc, since a circle passes
through any three points."""

_MOST_SWEEP = 1.9 * math.pi
_SAME_SPEED = 1e-9


def compress(
    moves: Moves, tolerance: float, levels: int | None = None, *, arcs: bool = False, slack: float = 0.0
) -> Moves:
    """`moves` with fewer rows, displaced by no more than `tolerance` mm. levels: PWM levels above zero.

    Each of the two steps may displace the path by the tolerance.  slack: relative difference of speeds up to
    which rows are joined; the joined row has their mean speed, and their energy.
    """
    if arcs:
        moves = fit_arcs(moves, tolerance, levels, slack)
    return merge_lines(moves, tolerance, levels, slack)


def merge_lines(moves: Moves, tolerance: float, levels: int | None = None, slack: float = 0.0) -> Moves:
    """Replace each run of collinear lines that expose alike by one line."""
    last = np.arange(len(moves))
    _merge(moves.xy, alike(moves, levels, slack), _checked(tolerance), last)
    return _kept(moves, last)


def fit_arcs(moves: Moves, tolerance: float, levels: int | None = None, slack: float = 0.0) -> Moves:
    """Replace each run of at least `LEAST_CHORDS` chords that expose alike by one arc."""
    last, centre, kind = np.arange(len(moves)), moves.centre.copy(), moves.kind.copy()
    _fit(moves.xy, alike(moves, levels, slack), _checked(tolerance), last, centre, kind)
    return _kept(replace(moves, centre=centre, kind=kind), last)


def join_short(moves: Moves, shortest: float, order: int = 1) -> Moves:
    """Join lit lines that are shorter than `shortest` mm along both axes with the lines that follow.

    Some controllers drop such lines, or join them in their own way. The chord of the joined lines has their
    energy ∫ P^order dt and their mean speed. A whole stroke that is shorter becomes a line of length
    `shortest` through its middle.
    """
    lit = moves.on & (moves.kind == Kind.LINE)
    last, energy = np.arange(len(moves)), np.where(lit, moves.power**order * moves.length / moves.speed, 0.0)
    _join(moves.xy, lit, _checked(shortest), last, energy)
    first = np.flatnonzero(last >= np.arange(len(moves)))
    xy = moves.xy.copy()
    alone = first[lit[first] & (np.abs(xy[last[first] + 1] - xy[first]).max(axis=1) < shortest)]
    for k in alone:
        # No stroke continues from it; otherwise it would have been joined.
        middle = xy[k : last[k] + 2].mean(axis=0)
        along = xy[last[k] + 1] - xy[k] if (xy[last[k] + 1] != xy[k]).any() else np.array([1.0, 0.0])
        half = along / np.abs(along).max() * shortest / 2
        xy[k], xy[last[k] + 1] = middle - half, middle + half
    kept, energy = _kept(replace(moves, xy=_still_kept(moves, xy)), last), energy[first]
    changed = kept.on & (kept.kind == Kind.LINE) & (kept.length > 0)
    mean = (energy * kept.speed / np.maximum(kept.length, 1e-300)) ** (1 / order)
    power = np.where(changed, mean, kept.power)
    return replace(kept, power=np.minimum(power, 1.0))


def _still_kept(moves: Moves, xy: Floats) -> Floats:
    """The vertices, with the end of each dwell moved to its start."""
    for k in np.flatnonzero(moves.still):
        xy[k + 1] = xy[k]
    return xy


def alike(moves: Moves, levels: int | None = None, slack: float = 0.0) -> Bools:
    """(N,) whether a row is a line that continues the one before it and exposes alike.

    Speeds are binned in steps of 1 + slack; those in one bin count as equal.
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
    commented = np.array([row for row, _ in moves.comments if row < len(moves)], dtype=np.int64)
    same[commented] = False
    return same


def _checked(tolerance: float) -> float:
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise GcodeError(f"tolerance is {tolerance}, but must be a length of at least 0 mm")
    return tolerance


def _kept(moves: Moves, last: Ints) -> Moves:
    """Rows k to last[k] become one, with the columns of row k; rows with last < k are dropped."""
    first = np.flatnonzero(last >= np.arange(len(moves)))
    ends = np.concatenate([[0], last[first] + 1])
    columns = {name: getattr(moves, name)[first] for name in ("power", "kind", "centre", "dwell")}
    if len(first):
        # The mean speed of the run keeps its duration; equal speeds are kept to the last bit.
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


@njit
def _join(xy: Floats, lit: Bools, shortest: float, last: Ints, energy: Floats) -> None:
    """Writes into last[k] the last row joined to row k, −1 for the rows joined; sums their energy."""
    n, k, before = len(lit), 0, -1
    while k < n:
        end = k
        while lit[k] and _extent(xy, k, end + 1) < shortest and end + 1 < n and lit[end + 1]:
            end += 1
            last[end] = -1
            energy[k] += energy[end]
        last[k] = end
        goes_on = lit[k] and before >= 0 and lit[before] and last[before] == k - 1
        if goes_on and _extent(xy, k, end + 1) < shortest and _extent(xy, before, end + 1) >= shortest:
            # A short remainder of a stroke is joined to the line before it.
            last[before], last[k] = end, -1
            energy[before] += energy[k]
        else:
            before = k
        k = end + 1


@njit
def _extent(xy: Floats, a: int, b: int) -> float:
    """Distance of two vertices along x or y, the larger."""
    return max(abs(xy[b, 0] - xy[a, 0]), abs(xy[b, 1] - xy[a, 1]))


@njit
def _merge(xy: Floats, same: Bools, tolerance: float, last: Ints) -> None:
    """Writes into last[k] the last row of the line from row k, −1 for the rows joined to it."""
    n, k = len(same), 0
    while k < n:
        end, left, right, far = k, -math.inf, math.inf, 0.0
        heading = math.atan2(xy[k + 1, 1] - xy[k, 1], xy[k + 1, 0] - xy[k, 0])
        while end + 1 < n and same[end + 1]:
            # First the vertex to be dropped, then the vertex at which the line would end.
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


@njit
def _turn(angle: float) -> float:
    """The angle in −π…π."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


@njit
def _fit(xy: Floats, same: Bools, tolerance: float, last: Ints, centre: Floats, kind: Kinds) -> None:
    """Writes arcs into last, centre and kind; the end of each is found by doubling, then by bisection."""
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


@njit
def _circle(xy: Floats, first: int, end: int, tolerance: float) -> tuple[int, float, float]:
    """Circle of rows first…end: (+1 counter-clockwise, −1 clockwise, 0 if none fits; centre x, y)."""
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


_POINTS = 4
"""Points per least length at which a stroke may turn: more follow the old path more closely, and take more
time."""

_SPAN = 4.0
"""Most old path that one chord replaces, in least lengths: more of it follows tighter curls."""

_CHORD = 1.5e-4
"""ε: a larger one means fewer, longer chords where the stroke is nearly straight."""


def without_short(moves: Moves, shortest: float, order: int = 1) -> Moves:
    """`moves` without lit lines that are shorter than `shortest` mm along both axes.

    The chords keep ∫ power^order dt and the mean speed of what they replace. A whole stroke that is shorter
    becomes a line of that length through its middle.  Raises GcodeError for arcs.
    """
    if not (math.isfinite(shortest) and shortest > 0):
        raise GcodeError(f"shortest is {shortest}, but must be above 0")
    if moves.arc.any():
        raise GcodeError("an arc has one power; cut arcs into chords first")
    lit = moves.on & (moves.kind == Kind.LINE)
    short = lit & (np.abs(np.diff(moves.xy, axis=0)).max(axis=1) < shortest)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lit.astype(np.int8), [0]])))
    if not short.any():
        return moves
    drawn = []
    for first, last in edges.reshape(-1, 2):
        if short[first:last].any():
            drawn.append((first, last, _redrawn(moves.xyz[first : last + 1], shortest)))
    # What is left is shorter as a whole, or cannot be divided otherwise.
    return join_short(_replaced(moves, drawn, order), shortest, order)


def _redrawn(xyz: Floats, shortest: float) -> Floats:
    """(K+1,) places of the new vertices along a stroke (N+1, 3), in old rows; as they were if none fit."""
    size = np.hypot(*np.diff(xyz[:, :2], axis=0).T)
    count = np.maximum(np.ceil(size * _POINTS / shortest), 1).astype(np.int64)
    row, nth = numbered(count)
    place = np.append(0.0, row + (nth + 1) / count[row])
    old = np.arange(len(xyz), dtype=np.float64)
    xy = np.column_stack([np.interp(place, old, axis) for axis in xyz[:, :2].T])
    way = np.interp(place, old, np.append(0.0, np.cumsum(size)))
    before = np.full(len(xy), -1)
    _shortest_path(xy, way, row, np.cumsum(count) - count, shortest, before)
    if before[-1] < 0:
        return old
    chain = [len(xy) - 1]
    while chain[-1] > 0:
        chain.append(int(before[chain[-1]]))
    return place[chain[::-1]]


def _replaced(moves: Moves, drawn: list[tuple[int, int, Floats]], order: int) -> Moves:
    """The moves with the strokes of rows first … last − 1 drawn through other places, in rows."""
    ends: list[Floats] = [np.zeros(1)]
    position = 0
    for first, last, place in drawn:
        ends.append(np.arange(position + 1, first + 1, dtype=np.float64))
        ends.append(first + place[1:])
        position = last
    end = np.concatenate([*ends, np.arange(position, len(moves)) + 1.0])
    old = np.arange(len(moves) + 1, dtype=np.float64)

    def along(values: Floats) -> Floats:
        return np.diff(np.interp(end, old, np.append(0.0, np.cumsum(values))))

    # Where a stroke turns within a row, the row's columns are those of the point's middle; powers follow.
    of = np.minimum(((end[1:] + end[:-1]) / 2).astype(np.int64), len(moves) - 1)
    lasts, energy = moves.length / moves.speed, moves.power**order * moves.length / moves.speed
    xyz = np.column_stack([np.interp(end, old, axis) for axis in moves.xyz.T])
    length, same = np.linalg.norm(np.diff(xyz, axis=0), axis=1), (end[:-1] == of) & (end[1:] == of + 1)
    speed = np.where(same, moves.speed[of], along(moves.length) / np.maximum(along(lasts), 1e-300))
    power = (along(energy) * speed / np.maximum(length, 1e-300)) ** (1 / order)
    power = np.where(same, moves.power[of], np.minimum(power, 1.0))
    begins = np.searchsorted(end[:-1], old)
    return Moves(
        xyz[:, :2], power, speed, moves.kind[of], z=xyz[:, 2], dwell=moves.dwell[of],
        dynamic=moves.dynamic[of], comments=tuple((int(begins[at]), text) for at, text in moves.comments),
    )  # fmt: skip


@njit
def _shortest_path(xy: Floats, way: Floats, row: Ints, start: Ints, shortest: float, before: Ints) -> None:
    """Set before[j] to the point from which the cheapest chain of chords reaches point j, −1 if none does.

    way: (P,) mm along the old path.  row: (P−1,) old row of each piece.  start: its first point.
    """
    cost = np.full(len(xy), np.inf)
    cost[0] = 0.0
    for j in range(1, len(xy)):
        i, own = j - 1, start[row[j - 1]]
        while i >= 0:
            if way[j] - way[i] > _SPAN * shortest and i > own:
                i = own  # of a long line only the whole
            if way[j] - way[i] > _SPAN * shortest and i < own:
                break
            far = max(abs(xy[j, 0] - xy[i, 0]), abs(xy[j, 1] - xy[i, 1]))
            if far >= shortest and cost[i] < np.inf:
                total = cost[i] + _CHORD * shortest**3
                if i < own:
                    total += _deviation(xy, way, i, j)
                if total < cost[j]:
                    cost[j], before[j] = total, i
            i -= 1


@njit
def _deviation(xy: Floats, way: Floats, i: int, j: int) -> float:
    """∫ d² ds of the points between two from their chord, mm³."""
    ux, uy = xy[j, 0] - xy[i, 0], xy[j, 1] - xy[i, 1]
    length = math.hypot(ux, uy)
    ux, uy, total = ux / length, uy / length, 0.0
    for k in range(i + 1, j):
        x, y = xy[k, 0] - xy[i, 0], xy[k, 1] - xy[i, 1]
        along = x * ux + y * uy
        beyond = max(-along, along - length, 0.0)
        across = x * uy - y * ux
        total += (across * across + beyond * beyond) * (way[k + 1] - way[k - 1]) / 2
    return total
