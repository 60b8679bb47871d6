"""The planner of `marlin`, one line after the other, compiled. Symbols and sources are there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcode.motion.marlin_ramps import walk

if TYPE_CHECKING:
    from gcode.motion.marlin import Marlin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[np.void]


POLL = 1e-3  # s, at which a stepper that stands looks for a block
PATIENCE = 99  # polls before one or two blocks are started
AT_ONCE = 3  # blocks that are started at once
STRAIGHT = 0.999999  # |cos θ|
OCTAGON = math.sqrt(0.5)  # −cos θ from which small segments are chords of an arc
SMALL = 1.0  # mm
NEVER = 1e300


class Rules(NamedTuple):
    """Marlin, for Numba. jerk is inf in all axes where the junction deviation counts."""

    max_rate: Floats
    acceleration: Floats
    along: float
    deviation: float
    jerk: Floats
    small: bool
    per_mm: Floats
    blocks: int
    slowdown: float
    shortest: int
    arc: tuple[Floats, Floats]

    @classmethod
    def of(cls, m: Marlin) -> Rules:
        """Of the parameters."""

        def axes(values: ArrayLike) -> Floats:
            return np.array(values, dtype=float)

        return cls(
            axes(m.max_rate), axes(m.acceleration), float(m.along), float(m.junction_deviation),
            axes(m.jerk if m.jerk is not None else (np.inf,) * 3), m.small_segments, axes(m.steps),
            m.blocks, float(m.minimum_segment_time), m.shortest, _chords_of_acos(),
        )  # fmt: skip


# One block of the queue. entry, limit, floor: of the entry speed, squared, (mm/s)².  gain: 2aL, (mm/s)².
BLOCK = np.dtype(
    [(name, np.int64) for name in ("row", "origin", "count", "stale")]
    + [(name, np.float64) for name in ("x", "y", "z", "length", "per_mm", "nominal", "rate", "ramp", "gain")]
    + [(name, np.float64) for name in ("entry", "limit", "floor", "first", "last", "peak")]
    + [(name, np.float64) for name in ("start", "wait", "duration")]
)

# tail, head: blocks executed and queued.  busy: 1 while one runs.  unseen: 1 while M3 I waits.
# free: s of the running block's end.  fetch: of the next one's start.  latest: of the end of patience.
STATE = np.dtype(
    [(name, np.int64) for name in ("tail", "head", "busy", "unseen")]
    + [(name, np.float64) for name in ("free", "fetch", "latest")]
)


def _chords_of_acos() -> tuple[Floats, Floats]:
    """Slope and offset of the lines between acos at 1 − 2^−i, i = 0…16, that stand for it: acos itself at
    0 and 1, and 0.75 % above it between, which halves the largest relative error.
    """
    x = np.append(1 - 2.0 ** -np.arange(16), STRAIGHT)
    y = np.arccos(x) * 1.00751495
    y[0], y[-1] = np.arccos(x[0]), np.arccos(x[-1])
    slope = np.diff(y) / np.diff(x)
    return slope, y[:-1] - slope * x[:-1]


@numba.njit(cache=True)
def run(
    steps: Ints, speed: Floats, dwell: Floats, line: Floats, queue: Records, state: Records, rules: Rules
) -> int:
    """Each row as its line arrives; fills the queue and returns its number of blocks."""
    s, now, origin = state[0], 0.0, 0
    s.unseen, s.fetch, s.latest = 1, NEVER, NEVER
    for i in range(len(speed)):
        now += line[i]
        if not np.isnan(dwell[i]):
            now = _stand(queue, state, i, now, dwell[i])
            continue
        now = _find_room(queue, state, now, rules.blocks)
        block = queue[s.head]
        block.row, block.origin = i, origin
        if _measure(block, steps[origin], steps[i + 1], rules) < rules.shortest:
            continue
        waiting = s.head - s.tail - s.busy + s.unseen
        _limit(block, speed[i], waiting, rules)
        _limit_entry(block, queue[max(s.head - 1, 0)], waiting if s.head else 0, rules)
        origin, empty = i + 1, s.head == s.tail
        s.head += 1
        _backwards(queue, s.tail + s.busy - s.unseen, s.head - 1)
        _forwards(queue, s.tail, s.head, s.busy)
        if not s.busy:
            _wake(state, now, empty)
    _execute(queue, state, NEVER)
    return s.head


@numba.njit(cache=True)
def _measure(block: Any, begin: Ints, end: Ints, rules: Rules) -> int:
    """The way of the block; returns its steps."""
    x, y, z = end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]
    block.count = max(abs(x), abs(y), abs(z))
    block.x, block.y, block.z = x / rules.per_mm[0], y / rules.per_mm[1], z / rules.per_mm[2]
    block.length = math.sqrt(block.x**2 + block.y**2 + block.z**2)
    if block.count > 0:
        block.x, block.y, block.z = block.x / block.length, block.y / block.length, block.z / block.length
        block.per_mm = block.count / block.length
    return block.count


@numba.njit(cache=True)
def _limit(block: Any, speed: float, waiting: int, rules: Rules) -> None:
    """Nominal speed, with the slowdown, and acceleration."""
    seconds = block.length / speed
    if 2 <= waiting < rules.blocks // 2 and seconds < rules.slowdown:
        seconds += 2 * (rules.slowdown - seconds) / waiting
    block.nominal = _along(rules.max_rate, block.x, block.y, block.z, block.length / seconds)
    acceleration = _along(rules.acceleration, block.x, block.y, block.z, rules.along)
    block.rate = max(1.0, math.ceil(block.nominal * block.per_mm - 1e-6))
    block.ramp = acceleration * block.per_mm
    block.gain = 2 * acceleration * block.length
    block.stale, block.first = 1, 0.0


@numba.njit(cache=True)
def _along(limit: Floats, x: float, y: float, z: float, value: float) -> float:
    """`value`, or less, so that its part along no axis exceeds that axis' limit; (x, y, z) a unit vector."""
    if value * abs(x) > limit[0]:
        value = limit[0] / abs(x)
    if value * abs(y) > limit[1]:
        value = limit[1] / abs(y)
    if value * abs(z) > limit[2]:
        value = limit[2] / abs(z)
    return value


@numba.njit(cache=True)
def _limit_entry(block: Any, before: Any, waiting: int, rules: Rules) -> None:
    """The entry speed, to begin with, its limit v_j² and its floor w²."""
    floor = min(block.ramp / block.per_mm**2 / 2, block.nominal**2)
    limit = floor
    if np.isfinite(rules.jerk[0]):
        limit = _jerk(block, before, waiting, rules.jerk) ** 2
    elif waiting:
        limit = min(_junction(block, before, floor, rules), block.nominal**2, before.nominal**2)
    block.entry, block.limit, block.floor = floor, max(limit, floor), floor


@numba.njit(cache=True)
def _jerk(block: Any, before: Any, waiting: int, jerk: Floats) -> float:
    """The speed at which no axis' own changes by more than its jerk, mm/s; from rest where none waits."""
    speed, x, y, z = block.nominal, block.x, block.y, block.z
    if waiting:
        speed = min(speed, before.nominal)
        x, y, z = x - before.x, y - before.y, z - before.z
    return _along(jerk, x, y, z, speed)


@numba.njit(cache=True)
def _junction(block: Any, before: Any, floor: float, rules: Rules) -> float:
    """v_j², (mm/s)², by junction deviation."""
    cos = -(block.x * before.x + block.y * before.y + block.z * before.z)
    if cos > STRAIGHT:
        return floor
    x, y, z = block.x - before.x, block.y - before.y, block.z - before.z
    size = max(math.sqrt(x * x + y * y + z * z), 1e-12)
    acceleration = _along(rules.acceleration, x / size, y / size, z / size, block.ramp / block.per_mm)
    cos = max(cos, -STRAIGHT)
    s = math.sqrt((1 - cos) / 2)
    limit = acceleration * rules.deviation * s / (1 - s)
    if rules.small and block.length < SMALL and cos < -OCTAGON:
        slope, offset = rules.arc
        piece = min(int(-math.log2(1 + cos)), len(slope) - 1)
        limit = min(limit, block.length * acceleration / (offset[piece] - slope[piece] * cos))
    return limit


@numba.njit(cache=True)
def _backwards(queue: Records, fixed: int, newest: int) -> None:
    """Raises the entry speeds from the newest block on, but not that of block `fixed`."""
    leaving = queue[newest].floor
    for k in range(newest, fixed, -1):
        block = queue[k]
        entry = min(block.limit, leaving + block.gain)
        if entry == block.entry or block.entry == block.limit:
            return
        block.stale, block.entry, leaving = 1, entry, entry


@numba.njit(cache=True)
def _forwards(queue: Records, tail: int, head: int, busy: int) -> None:
    """Lowers the entry speeds to what can be reached, and sets the rates of all that has changed."""
    slowest, entry = queue[head - 1].floor, 0.0
    for k in range(tail, head):
        block = queue[k]
        if not block.stale:
            continue
        before = queue[max(k - 1, tail)]
        if k == tail:
            block.entry = block.floor
            entry = math.sqrt(block.floor)
            continue
        if busy and k == tail + 1:
            block.entry = block.floor
            if block.first == 0:
                block.first = before.last  # as fast as the running block ends
        else:
            if before.entry < block.entry and block.entry != block.floor:
                reached = before.entry + before.gain
                if reached < block.entry:
                    block.entry = block.limit = max(reached, block.floor)
            block.floor = block.entry
            leaving = math.sqrt(block.entry)
            _set_rates(before, entry, leaving)
            entry = leaving
        before.stale = 0
    _set_rates(queue[head - 1], entry, math.sqrt(slowest))
    queue[head - 1].stale = 0


@numba.njit(cache=True)
def _set_rates(block: Any, entry: float, leaving: float) -> None:
    """Whole steps/s of both ends; entry 0 leaves that one as it is."""
    if entry > 0:
        block.first = math.floor(entry * block.per_mm + 0.5)
    block.first = max(1.0, block.first)
    block.last = max(1.0, math.floor(leaving * block.per_mm + 0.5))


@numba.njit(cache=True)
def _wake(state: Records, now: float, empty: bool) -> None:
    """Sets when a stepper that stands starts, after a block has arrived."""
    s = state[0]
    poll = s.free + math.ceil((now - s.free) / POLL) * POLL
    if empty:
        s.latest, s.fetch = poll + PATIENCE * POLL, NEVER
    if s.head - s.tail + s.unseen >= AT_ONCE:
        s.fetch = min(s.fetch, poll)
    s.fetch = min(s.fetch, s.latest)


@numba.njit(cache=True)
def _execute(queue: Records, state: Records, until: float) -> None:
    """Lets the stepper work up to that time."""
    s = state[0]
    while True:
        if s.busy and s.free <= until:
            s.busy, s.fetch = 0, s.free
            s.tail += 1
        elif not s.busy and s.tail < s.head and s.fetch <= until:
            block = queue[s.tail]
            block.start, block.wait = s.fetch, s.fetch - s.free
            _time(block)
            s.busy, s.unseen, s.free = 1, 0, s.fetch + block.duration
        else:
            return


@numba.njit(cache=True)
def _find_room(queue: Records, state: Records, now: float, blocks: int) -> float:
    """When the queue can take another block; executes until then."""
    s = state[0]
    _execute(queue, state, now)
    while s.head - s.tail + s.unseen >= blocks - 1:
        now = max(now, s.free if s.busy else s.fetch)
        _execute(queue, state, now)
    return now


@numba.njit(cache=True)
def _stand(queue: Records, state: Records, i: int, now: float, seconds: float) -> float:
    """Executes all, then stands; returns when that is over. It is a block of no steps."""
    s = state[0]
    _execute(queue, state, NEVER)
    block, now = queue[s.head], max(now, s.free)
    block.row, block.origin, block.count = i, i, 0
    block.start, block.wait, block.duration = now, now - s.free, seconds
    s.head += 1
    s.tail, s.unseen, s.free, s.fetch = s.head, 0, now + seconds, NEVER
    return now + seconds


@numba.njit(cache=True)
def _time(block: Any) -> None:
    """The block's duration and highest speed, from its ramps, which are now fixed."""
    parts = (block.count, block.first, block.last, block.rate, block.ramp)
    block.duration = block.peak = 0.0
    for _, seconds, _, _, rate in walk(parts, 0.0, 1 << 31):
        block.duration += seconds
        block.peak = max(block.peak, rate)
