"""Strokes drawn again with lines that are no shorter than a controller accepts.

Some controllers drop short lines, or join them in their own way. Joining each short line with the next one
gives chords of up to twice the least length s, and rounds off what is between. Here a stroke may turn at any
of its points c_0 … c_n, its vertices and points about s/4 apart, and the chords are those with the least

    Σ_chords (∫ d² ds + ε s³),    each of them at least s long along x or y,

d being the distance of the old path from its chord: the shortest path through a graph in which an edge joins
two points (Imai and Iri, "Computational-geometric methods for polygonal approximations of a curve", Computer
Vision, Graphics, and Image Processing 36, 1986). A chord spans at most 4 s of the old path, or a part of one
old line.
"""

from __future__ import annotations

import math

import numpy as np

from gcode.compiled import njit
from gcode.compression import join_short
from gcode.errors import GcodeError
from gcode.move import Floats, Ints, Kind, Moves

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
    row = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + 1
    place = np.append(0.0, row + nth / count[row])
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
