"""When the head is where: GRBL 1.1's planner, from the formulas that it documents.

Move k has length L, unit vector u, acceleration a and nominal speed v. With per-axis limits,
a = min_i a_i/|u_i|, and likewise the rapid speed and the most that a feed can reach. At the
junction of two moves, with cos θ = −u₀·u₁ and s = sin(θ/2) = √((1 − cos θ)/2),
    v_j² = a_j·d·s/(1 − s),    d the junction deviation, a_j the acceleration along u₁ − u₀;
a straight line has no limit, a reversal stops. The entry speed v_k of a move keeps to
    v_k² ≤ min(v_j², v²_{k−1 nominal}, v²_{k nominal}),
    v_k² ≤ Σ 2·a·L over the next `look_ahead` moves    (must be able to stop at the last one seen),
    v_k² ≤ v²_{k+1} + 2·a·L                            (reverse pass),
    v_{k+1}² ≤ v_k² + 2·a·L                            (forward pass).
Both passes are running minima: with C_k = Σ_{j<k} 2·a·L, v_k² = min_{j≥k}(cap_j + C_j) − C_k.
Each move is then a trapezoid: up to min(v, √((2aL + v_k² + v_{k+1}²)/2)), and down.

The link: at most `segment_rate` moves/s. The buffer of `look_ahead` moves evens out what is
shorter, so each run of that many moves takes at least look_ahead/segment_rate; where it
starves, all its speeds fall by one factor.

A dwell is a stop. Arcs must have been cut into chords.

Units: mm, s. Sources: https://github.com/gnea/grbl/blob/master/grbl/planner.c (comments) and
S. K. Jeon, "Improving Grbl: Cornering Algorithm", 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from gcode.errors import GcodeError
from gcode.move import Bools, Floats, Moves

Pair = tuple[float, float]

STRAIGHT = 0.999999  # |cos θ| from which GRBL takes two moves for one line, or for a reversal
SPEED_MIN = 1 / 60  # mm/s, GRBL's MINIMUM_FEED_RATE of 1 mm/min
LENGTH_MIN = 1e-9  # mm; shorter moves have no step, so the planner never sees them


@dataclass(frozen=True, slots=True)
class Limits:
    """What the machine can do; pairs are (x, y).

    speed_max, rapid, z_speed: mm/s.  acceleration, z_acceleration: mm/s².  junction_deviation: mm.
    look_ahead: moves that the planner sees.  segment_rate: moves/s that the link delivers.
    steps: steps/mm of the axes, to which the planner rounds every vertex; short moves then turn
    more than they should (4 % of the time of a 0.25 mm spiral at 80 steps/mm). None: not rounded.
    """

    speed_max: Pair = (50.0, 50.0)
    rapid: Pair = (100.0, 100.0)
    acceleration: Pair = (500.0, 500.0)
    junction_deviation: float = 0.01
    look_ahead: int = 15
    segment_rate: float = 250.0
    steps: Pair | None = None
    z_speed: float = 10.0
    z_acceleration: float = 100.0

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None:
                continue
            if not (np.all(np.asarray(value) > 0) and np.isfinite(value).all()):
                raise GcodeError(f"limit {f.name} is {value}, but must be above 0")


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """entry, peak, exit: (N,) mm/s as planned.  acceleration: (N,) mm/s².  duration: (N,) s.

    slowing: (N,) ≥ 1, by how much the link stretches each move; it is part of duration.
    """

    entry: Floats
    peak: Floats
    exit: Floats
    acceleration: Floats
    slowing: Floats
    duration: Floats

    @property
    def write_time(self) -> float:
        """s, of all moves, with what the link costs."""
        return float(self.duration.sum())


def profile(moves: Moves, limits: Limits) -> Motion:
    """The speed profile of every move, from standstill to standstill."""
    if moves.arc.any():
        raise GcodeError("arcs have no profile of their own; cut them into chords first")
    moves = on_steps(moves, limits)
    seen = moves.length > LENGTH_MIN
    length = moves.length[seen]
    unit = np.diff(moves.xyz, axis=0)[seen] / length[:, None]
    acceleration = _along((*limits.acceleration, limits.z_acceleration), unit)
    nominal = _nominal(moves.speed[seen], moves.rapid[seen], unit, limits)
    stops = np.diff(np.cumsum(moves.still)[seen]) > 0
    square = _vertex_speeds_squared(unit, length, acceleration, nominal, stops, limits)
    v0, v1 = np.sqrt(square[:-1]), np.sqrt(square[1:])
    peak = np.sqrt(np.minimum(nominal**2, (2 * acceleration * length + square[:-1] + square[1:]) / 2))
    peak = np.maximum(peak, np.maximum(v0, v1))
    ramps = (2 * peak**2 - square[:-1] - square[1:]) / (2 * acceleration)
    planned = (2 * peak - v0 - v1) / acceleration + np.maximum(length - ramps, 0) / peak
    slowing = _slowing(planned, limits)
    # A move without length lasts no time, at the speed of its place; a dwell lasts what it says.
    before: NDArray[np.int64] = np.cumsum(seen) - seen
    at = np.concatenate([v0, [0.0]])[before]

    def spread(values: Floats, empty: Floats | float) -> Floats:
        out = np.array(np.broadcast_to(empty, len(moves)))
        out[seen] = values
        out.flags.writeable = False
        return out

    return Motion(
        entry=spread(v0, at), peak=spread(peak, at), exit=spread(v1, at),
        acceleration=spread(acceleration, min(limits.acceleration)),
        slowing=spread(slowing, 1.0), duration=spread(planned * slowing, moves.dwell),
    )  # fmt: skip


def on_steps(moves: Moves, limits: Limits) -> Moves:
    """The moves between the places that the axes can really take."""
    if limits.steps is None:
        return moves
    return replace(moves, xy=np.rint(moves.xy * limits.steps) / limits.steps)


def _along(limit: tuple[float, float, float], unit: Floats) -> Floats:
    """(N,) the largest value along each (N, 3) direction that exceeds no axis' limit."""
    least: Floats = np.min(np.asarray(limit) / np.maximum(np.abs(unit), 1e-12), axis=1)
    return least


def _nominal(speed: Floats, rapid: NDArray[np.bool_], unit: Floats, limits: Limits) -> Floats:
    """(N,) mm/s wanted: the axes' own in a rapid, else the feed where the axes can."""
    feed = np.minimum(speed, _along((*limits.speed_max, limits.z_speed), unit))
    quick = _along((*limits.rapid, limits.z_speed), unit)
    return np.maximum(np.where(rapid, quick, feed), SPEED_MIN)


def _junctions(unit: Floats, limits: Limits) -> Floats:
    """(N−1,) v_j² between successive moves."""
    cos = -(unit[:-1] * unit[1:]).sum(axis=1)
    s = np.sqrt(np.clip((1 - cos) / 2, 0, 1))
    turn = unit[1:] - unit[:-1]
    turn /= np.maximum(np.linalg.norm(turn, axis=1), 1e-12)[:, None]
    along = _along((*limits.acceleration, limits.z_acceleration), turn)
    square = along * limits.junction_deviation * s / np.maximum(1 - s, 1e-12)
    return np.select([cos > STRAIGHT, cos < -STRAIGHT], [0.0, np.inf], square)


def _vertex_speeds_squared(
    unit: Floats, length: Floats, acceleration: Floats, nominal: Floats, stops: Bools, limits: Limits
) -> Floats:
    """(N+1,) v² at every vertex; 0 at both ends and at `stops` (N−1,) between."""
    n = len(length)
    gain = np.concatenate([[0.0], np.cumsum(2 * acceleration * length)])  # C: v² that ramps can win
    seen = gain[np.minimum(np.arange(n) + limits.look_ahead, n)] - gain[:n]
    cap = np.zeros(n + 1)
    if n > 1:
        slower = np.minimum(nominal[:-1], nominal[1:]) ** 2
        cap[1:n] = np.where(stops, 0.0, np.minimum.reduce([_junctions(unit, limits), slower, seen[1:]]))
    braked = np.minimum.accumulate((cap + gain)[::-1])[::-1] - gain
    ramped = np.minimum.accumulate(braked - gain) + gain
    square: Floats = np.clip(ramped, 0, cap)
    return square


def _slowing(planned: Floats, limits: Limits) -> Floats:
    """(N,) factor ≥ 1 by which each run of `look_ahead` moves waits for the link."""
    if not len(planned):
        return planned
    starts = np.arange(0, len(planned), limits.look_ahead)
    count = np.diff(np.append(starts, len(planned)))
    least = count / limits.segment_rate
    return np.repeat(np.maximum(1.0, least / np.add.reduceat(planned, starts)), count)
