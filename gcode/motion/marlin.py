"""Marlin 2.1 line by line: what its planner knows when each line arrives, how it moves, and how bright it is.

A block of n steps (of the axis with the most) and length L has σ = n/L steps/mm, unit vector u, nominal
speed v, acceleration a = min(along, min_i a_i/|u_i|) and the slowest planned speed w² = a/2σ (`planner.cpp`:
the mean speed over the first step from rest). At a junction, with cos θ = −u₀·u₁ and s = sin(θ/2),
    v_j² = a_j·d·s/(1 − s),    a_j = min(a, min_i a_i/|ĵ_i|),  ĵ the unit vector of u₁ − u₀;
with the small-segment rule, for L < 1 mm and θ > 135°, also v_j² ≤ L·a_j/(π − θ): the arc of which the
block is a chord. acos is Marlin's: straight lines between points of the curve, some % off. Classic jerk
instead: v_j is the largest speed at which no axis' speed changes by more than its jerk. A reversal, and
what arrives where no block waits, has w. Always w² ≤ v_j² ≤ v², v² of the block before.

Slowdown: a block that finds 2 ≤ q < blocks/2 others waiting lasts Δt + 2·(minimum_segment_time − Δt)/q,
where that is more than its Δt = L/v. Each new block is planned with those that wait: backwards
v_k² = min(v_j², v²_{k+1} + 2aL), forwards likewise, the newest to stop; nothing changes the block that
runs, nor the entry of the one behind it. A block under `shortest` steps is left to the next one.

A ramp: step k follows after 1/r_k s, with r_{k+1} = r_k ± A/r_k steps/s (A = a·σ), as r is worked out
anew at each step: r² = r₀² ± 2Ak + A²·Σ1/r². ⌈(r_v² − r₀²)/2A⌉ steps lead up to nominal speed, and
as many by the same rule down; where they do not fit, they meet.

Power (LASER_POWER_TRAP), with P the block's S: from P·r₀/r_v by equal parts per step up to P at the end of
the steps that accelerate, also where nominal speed is never reached; P; down by (P − P·r₁/r_v) in
equal parts. So a block that only brakes from r₀ ends at P·(r₀ + r₁ − r_v)/r_v, and where that is
below 0, an 8-bit number runs through 255 (`wraps`). Fractions of a level are cut off. While nothing
waits, the last level goes on shining. G0 has P = 0.

The link: the sender waits for "ok", which comes as soon as a line is queued; then the next line's
characters take 10 bits/baud each. A full queue (blocks − 1, with the one that runs) holds a line up. The
first block of an empty queue starts with the third, or 0.1 s later, as the stepper looks every 1 ms.
M3 I, which begins a file, is a block too. G4 and M400 wait until all is executed. Where the link
starves, queue and slowdown swing against each other, and 1 µs per line moves the swings: the run time is
then good to 1 %, the place at a time to some tenths of a mm.

Units: mm, s. Sources: https://github.com/MarlinFirmware/Marlin (bugfix-2.1.x of 2025: planner.cpp and
stepper.cpp, comments; docs/Cutter.md, "Continuous Inline Trap Power Calculations"),
https://marlinfw.org/docs/configuration/configuration.html.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcode.errors import GcodeError
from gcode.motion import marlin_kernel as kernel
from gcode.motion.marlin_ramps import Written, shine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[np.void]
Triple = tuple[float, float, float]

LEVELS = 255  # of the laser


@dataclass(frozen=True, slots=True)
class Marlin:
    """The controller and its link; triples are (x, y, z).

    max_rate: mm/s (M203).  acceleration: mm/s² (M201).  along: mm/s² of the path (M204 T).
    junction_deviation: mm (M205 J).  jerk: mm/s (M205 X Y Z), instead of it.  small_segments:
    JD_HANDLE_SMALL_SEGMENTS.  steps: steps/mm (M92).  blocks: BLOCK_BUFFER_SIZE.
    minimum_segment_time: s (M205 B), 0 without SLOWDOWN.  shortest: MIN_STEPS_PER_SEGMENT.
    baud: bits/s, None for lines that take no time.  reply: s from "ok" to the next line's first character.
    wraps: a level below 0 is taken modulo 256, else it is dark; it differs between processors.
    """

    max_rate: Triple = (100.0, 100.0, 100.0)
    acceleration: Triple = (500.0, 500.0, 500.0)
    along: float = 500.0
    junction_deviation: float = 0.01
    jerk: Triple | None = None
    small_segments: bool = True
    steps: Triple = (80.0, 80.0, 80.0)
    blocks: int = 16
    minimum_segment_time: float = 0.02
    shortest: int = 6
    baud: float | None = 115200.0
    reply: float = 0.0
    wraps: bool = True

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(f.default, tuple) and np.shape(value) != (3,):
                raise GcodeError(f"limit {f.name} is {value}, but must be three numbers, of x, y and z")
            if value is None or isinstance(value, bool):
                continue
            least = 0.0 if f.name in ("minimum_segment_time", "reply", "jerk") else np.nextafter(0.0, 1.0)
            if not (np.all(np.asarray(value) >= least) and np.isfinite(value).all()):
                raise GcodeError(f"limit {f.name} is {value}, but must be above 0")
        if self.blocks < 4:
            raise GcodeError(f"limit blocks is {self.blocks}, but must be at least 4")

    @property
    def shortest_move(self) -> float:
        """Mm along x or y, from which a move is not left to the next one, however it is rounded to steps."""
        return (self.shortest + 1) / min(self.steps[:2])


@dataclass(frozen=True, eq=False)
class Plan:
    """What is executed of each of N rows; one that is left to the next has duration 0.

    entry, peak, exit: (N,) mm/s.  nominal: mm/s, with the slowdown.  acceleration: mm/s².  start: s from
    when motion begins.  wait: s of standing before it.  duration: s.  origin: the vertex where it begins.
    first, last, rate, ramp: steps/s of entry, exit and nominal speed, and steps/s².  count: steps.
    vertex: (N+1, 3) mm, as the axes can take them.
    """

    entry: Floats
    peak: Floats
    exit: Floats
    nominal: Floats
    acceleration: Floats
    start: Floats
    wait: Floats
    duration: Floats
    origin: Ints
    first: Floats
    last: Floats
    rate: Floats
    ramp: Floats
    count: Ints
    vertex: Floats

    @property
    def time(self) -> float:
        """s, from when motion begins to the end."""
        return float(np.max(self.start + self.duration, initial=0.0))

    @property
    def blocks(self) -> tuple[Ints, Floats, Floats, Floats, Floats]:
        """What a ramp is made of."""
        return self.count, self.first, self.last, self.rate, self.ramp

    @cached_property
    def first_step(self) -> float:
        """s, from when motion begins to the first step; a clock that starts with it is that much behind."""
        moving = np.flatnonzero(self.count)
        return float(self.start[moving[0]] + 1 / self.first[moving[0]]) if len(moving) else 0.0


@dataclass(frozen=True, eq=False)
class Pieces:
    """What is executed, in order and without a gap: (P,) row, duration s, power of full; (P, 3) xyz at the
    end, mm.  distance: mm of the row at the end, from its `Plan.origin`.
    """

    row: Ints
    duration: Floats
    distance: Floats
    power: Floats
    xyz: Floats

    @property
    def exposure(self) -> float:
        """∫ power dt, s."""
        return float(self.power @ self.duration)


def plan(xyz: ArrayLike, speed: ArrayLike, dwell: ArrayLike, characters: ArrayLike, limits: Marlin) -> Plan:
    """What Marlin does with N rows from xyz[0] on.

    xyz: (N+1, 3) mm.  speed: (N,) mm/s commanded, of G0 too.  dwell: (N,) s of standing once all is
    executed, nan where the row moves.  characters: (N,) sent for each row, line ends included.
    """
    per_mm = np.asarray(limits.steps)
    steps = np.rint(np.asarray(xyz, dtype=float) * per_mm).astype(np.int64)
    line = np.asarray(characters) * (10 / limits.baud if limits.baud else 0.0) + limits.reply
    speeds, still = np.asarray(speed, dtype=float), np.asarray(dwell, dtype=float)
    wrong = np.flatnonzero(np.isnan(still) & ~(speeds > 0))
    if len(wrong):
        raise GcodeError(f"speed of row {wrong[0]} is {speeds[wrong[0]]} mm/s, but must be above 0")
    queue = np.zeros(len(steps) - 1, kernel.BLOCK)
    blocks = kernel.run(steps, speeds, still, line, queue, np.zeros(1, kernel.STATE), _rules(limits))
    return _rows(queue, blocks, steps / per_mm)


def pieces(plan: Plan, power: ArrayLike, limits: Marlin, longest: float = 0.1) -> Pieces:
    """The plan, with power (N,) of full as commanded (0 of G0; of a dwell, what shines while it stands).

    longest: mm; what is shorter is joined, with the mean power. At constant speed a piece may be longer.
    """
    if not longest > 0:
        raise GcodeError(f"longest is {longest}, but must be above 0")
    level = np.rint(np.clip(power, 0, 1) * float(LEVELS))
    origin = plan.vertex[plan.origin]
    along = plan.vertex[1:] - origin
    length = np.linalg.norm(along, axis=1)
    per_mm = plan.count / np.where(length > 0, length, 1.0)
    stride = np.clip(per_mm * min(longest, 1e6), 1, 2.0**31).astype(np.int64)
    size = shine(plan.blocks, level, plan.wait, plan.duration, stride, limits.wraps, Written.empty(0))
    out = Written.empty(size)
    shine(plan.blocks, level, plan.wait, plan.duration, stride, limits.wraps, out)
    done = out.steps / np.maximum(plan.count[out.row], 1)
    return Pieces(
        row=out.row, duration=out.duration, distance=done * length[out.row], power=out.level / LEVELS,
        xyz=origin[out.row] + done[:, None] * along[out.row],
    )  # fmt: skip


def _rules(m: Marlin) -> kernel.Rules:
    """The parameters as the compiled planner takes them."""

    def axes(values: ArrayLike) -> Floats:
        return np.array(values, dtype=float)

    return kernel.Rules(
        axes(m.max_rate), axes(m.acceleration), float(m.along), float(m.junction_deviation),
        axes(m.jerk if m.jerk is not None else (np.inf,) * 3), m.small_segments, axes(m.steps),
        m.blocks, float(m.minimum_segment_time), m.shortest, _chords_of_acos(),
    )  # fmt: skip


def _chords_of_acos() -> tuple[Floats, Floats]:
    """Slope and offset of the lines between acos at 1 − 2^−i, i = 0…16, that stand for it: acos itself at
    0 and 1, and 0.75 % above it between, which halves the largest relative error.
    """
    x = np.append(1 - 2.0 ** -np.arange(16), kernel.STRAIGHT)
    y = np.arccos(x) * 1.00751495
    y[0], y[-1] = np.arccos(x[0]), np.arccos(x[-1])
    slope = np.diff(y) / np.diff(x)
    return slope, y[:-1] - slope * x[:-1]


def _rows(queue: Records, blocks: int, vertex: Floats) -> Plan:
    """From blocks to rows."""
    queue, n = queue[:blocks], len(vertex) - 1

    def spread(values: NDArray[Any], empty: Any = 0) -> Any:
        out = np.empty(n, values.dtype)
        out[:] = empty
        out[queue["row"]] = values
        return out

    begins = queue["start"] - (queue["start"][0] if blocks else 0.0)
    start, duration, wait = spread(begins, np.nan), spread(queue["duration"]), spread(queue["wait"])
    wait[queue["row"][:1]] = 0.0
    ends = np.maximum.accumulate(np.nan_to_num(start + duration))
    start = np.where(np.isnan(start), np.concatenate([[0.0], ends[:-1]]), start)
    per_mm = np.where(queue["count"] > 0, queue["per_mm"], 1.0)
    entry, peak, leaving, acceleration = (
        spread(queue[name] / per_mm) for name in ("first", "peak", "last", "ramp")
    )
    return Plan(
        entry=entry, peak=peak, exit=leaving, nominal=spread(queue["nominal"]), acceleration=acceleration,
        start=start, wait=wait, duration=duration, origin=spread(queue["origin"], np.arange(n)),
        first=spread(queue["first"]), last=spread(queue["last"]), rate=spread(queue["rate"]),
        ramp=spread(queue["ramp"]), count=spread(queue["count"]), vertex=vertex,
    )  # fmt: skip
