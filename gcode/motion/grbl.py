"""GRBL 1.1h line by line: what its buffers hold when each line arrives, and so how it really moves.

`planner` takes it that the next moves are always known. Here they come over a serial line to a processor
of 16 MHz, and a plan is only ever made with what has arrived. Everything happens as in the firmware:

The sender counts characters: a line leaves when it and all that is not yet acknowledged fit in the
receive buffer. A byte takes 10 bits/baud. A line is read, parsed and planned, which takes `Times`; then
"ok" goes back, 4 bytes. While the planner is full (`blocks`) the line waits.

The planner, at each new block n: e_n² = min(m_n², 2·a_n·L_n); backwards
e_k² = min(m_k², e_{k+1}² + 2·a_k·L_k); forwards e_{k+1}² = min(e_{k+1}², e_k² + 2·a_k·L_k).
m_k² is the least of the junction's v_j² and both nominal v²; a block that starts from rest has m = 0.
Neither pass goes before the newest block whose entry no later block can change. The block that is left
last is being executed, so a block's entry sees `blocks` − 1 blocks ahead.

The stepper prepares at most 5 segments ahead: one tick each, less at the end of a block, more where that
would be under 1.25 steps. What is prepared never changes; the rest of its block is planned anew from the
speed reached. Within a segment the speed is constant, and a dynamic power (M4) is that of the speed at the
segment's end. PWM with n levels: level = floor((n − 1)·power) + 1 for power > 0, and power = level/n.

Motion begins when the planner is full or when nothing is left to read. Where the stepper finds no segment
it stops, and the processor does nothing for `idle_lock`. M3, M4, M5 and G4 wait until all is executed.

Where the line keeps up, this equals `planner.profile` with a `look_ahead` of `blocks` − 1.

Units: mm, s. Sources: https://github.com/gnea/grbl (planner.c, stepper.c, protocol.c, serial.c,
motion_control.c, spindle_control.c; comments) and its wiki, "Grbl v1.1 Interface" and "Laser Mode".
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcode.errors import GcodeError
from gcode.levels import quantise
from gcode.motion import grbl_kernel as kernel
from gcode.motion.planner import SPEED_MIN, STRAIGHT, Triple, along, junctions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PWM_LEVELS = 255


@dataclass(frozen=True, slots=True)
class Times:
    """s, that an atmega328p at 16 MHz takes.

    From the floating-point operations in each routine, at the cycles that avr-libc's manual ("Benchmarks")
    has for them (add 113, multiply 138, divide 466, square root 492), times `overhead` for all else. That
    was set, and the rest within a third, so that recorded runs on a starving line last as they did.

    character: to receive, filter and read one.  line: to plan a straight move.  bend: more, where the
    direction changes.  axis: more, for each axis that moves.  block: to change one in a pass of the planner.
    profile: of a block's ramps.  load: more, for a new block.  segment: to prepare one.
    interrupt: each tick of the step timer, all told; these slow down all else.
    """

    character: float = 18e-6
    line: float = 450e-6
    bend: float = 206e-6
    axis: float = 120e-6
    block: float = 33e-6
    profile: float = 170e-6
    load: float = 125e-6
    segment: float = 340e-6
    interrupt: float = 9.9e-6
    overhead: float = 1.41


@dataclass(frozen=True, slots=True)
class Grbl:
    """The controller and its line; triples are (x, y, z).

    max_rate: mm/s ($110–$112), the speed of rapids too.  acceleration: mm/s² ($120–$122).
    junction_deviation: mm ($11).  steps: steps/mm ($100–$102).  tick: s of a segment.
    idle_lock: s that every stop costs ($1; 0 where that is 255).  blocks: that the planner holds.
    receive_buffer: bytes.  baud: bits/s; None for a line and a processor that take no time.
    """

    max_rate: Triple = (100.0, 100.0, 100.0)
    acceleration: Triple = (500.0, 500.0, 500.0)
    junction_deviation: float = 0.01
    steps: Triple = (80.0, 80.0, 80.0)
    tick: float = 0.01
    idle_lock: float = 0.025
    blocks: int = 15
    receive_buffer: int = 128
    baud: float | None = 115200.0
    times: Times = Times()

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None or isinstance(value, Times):
                continue
            if not np.isfinite(value).all() or np.any(np.asarray(value) < 0):
                raise GcodeError(f"limit {f.name} is {value}, but must be finite and not below 0")
            if f.name != "idle_lock" and not np.all(value):
                raise GcodeError(f"limit {f.name} is {value}, but must be above 0")

    @property
    def link(self) -> kernel.Link:
        """What the kernel needs of it."""
        t, free = self.times, self.baud is None
        part = 0.0 if free else t.overhead
        return kernel.Link(
            byte=0.0 if self.baud is None else 10 / self.baud, receive=self.receive_buffer,
            blocks=self.blocks, tick=self.tick, lock=self.idle_lock, character=part * t.character,
            block=part * t.block, profile=part * t.profile, load=part * t.load, segment=part * t.segment,
            interrupt=0.0 if free else t.interrupt,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What was executed: (P,) pieces of constant speed, in order and without gaps, the first at 0 s.

    row: of the program.  start, duration: s.  end: mm from the start of the row to the end of the piece.
    speed: mm/s at the end of the piece, which sets a dynamic power. Where the head stands, because the
    row is a stop or the next one has not come, the piece has speed 0 and the end of the piece before it.
    """

    row: Ints
    start: Floats
    duration: Floats
    end: Floats
    speed: Floats

    def __len__(self) -> int:
        return len(self.row)

    @property
    def time(self) -> float:
        """s, of all."""
        return float(self.start[-1] + self.duration[-1]) if len(self) else 0.0

    def ends(self, xyz: ArrayLike) -> Floats:
        """(P, 3) mm, where each piece ends; xyz as given to `plan`."""
        place = np.asarray(xyz, dtype=np.float64)
        delta = np.diff(place, axis=0)
        length = np.linalg.norm(delta, axis=1)[self.row]
        part = np.divide(self.end, length, out=np.zeros(len(self)), where=length > 0)
        return place[self.row] + delta[self.row] * np.minimum(part, 1)[:, None]

    def at(self, t: ArrayLike, xyz: ArrayLike) -> Floats:
        """(T, 3) mm at times t, s."""
        knots = np.append(self.start, self.time)
        path = np.vstack([np.asarray(xyz, dtype=np.float64)[:1], self.ends(xyz)])
        when = np.atleast_1d(np.asarray(t, dtype=np.float64))
        return np.stack([np.interp(when, knots, axis) for axis in path.T], axis=1)

    def stepping(self, xyz: ArrayLike, steps: Triple) -> tuple[float, float]:
        """s, of the first and of the last step: half a step after the start and before the end."""
        path = np.vstack([np.asarray(xyz, dtype=np.float64)[:1], self.ends(xyz)])
        events = np.append(0.0, np.cumsum((np.abs(np.diff(path, axis=0)) * steps).max(axis=1)))
        if events[-1] < 1:
            return 0.0, 0.0
        wanted = np.array([0.5, events[-1] - 0.5])
        piece = np.searchsorted(events, wanted) - 1
        part = (wanted - events[piece]) / (events[piece + 1] - events[piece])
        first, last = self.start[piece] + part * self.duration[piece]
        return float(first), float(last)

    def power(
        self, power: ArrayLike, speed: ArrayLike, dynamic: ArrayLike, levels: int | None = PWM_LEVELS
    ) -> Floats:
        """(P,) of full power. power, speed, dynamic: (N,) of the rows as commanded; power 0 where dark."""
        told, wanted, scaled = (np.asarray(a)[self.row] for a in np.broadcast_arrays(power, speed, dynamic))
        shown = told * np.where(scaled, np.minimum(self.speed / wanted, 1.0), 1.0)
        return shown if levels is None else quantise(shown, levels)


def plan(
    xyz: ArrayLike, speed: ArrayLike, rapid: ArrayLike, dwell: ArrayLike, characters: ArrayLike, limits: Grbl
) -> Run:
    """What GRBL does with N rows from xyz[0] on.

    xyz: (N+1, 3) mm.  speed: (N,) mm/s commanded.  rapid: (N,) bool.  dwell: (N,) s to stand once all
    before is executed, 0 for a bare stop (M3, M4, M5), NaN for a motion.  characters: (N,) sent for
    each row, line ends included.
    """
    place, pause, sent = (np.array(a, dtype=np.float64) for a in (xyz, dwell, characters))
    rows = len(pause)
    for name, got, needed in (("xyz", place.shape, (rows + 1, 3)), ("characters", sent.shape, (rows,))):
        if got != needed:
            raise GcodeError(f"{name} has shape {got}, but {needed} is needed")
    place = np.rint(place * limits.steps) / limits.steps
    blocks = _blocks(place, np.asarray(speed, np.float64), np.asarray(rapid, np.bool_), pause, limits)
    block = np.full(rows, -1)
    block[blocks["row"]] = np.arange(len(blocks))
    pieces = np.zeros(_ticks(blocks, limits) + rows, kernel.PIECE)
    while True:
        count = kernel.run(block, pause, sent, blocks.copy(), limits.link, pieces)
        if count <= len(pieces):
            return _whole(pieces[:count])
        pieces = np.zeros(count, kernel.PIECE)


def _blocks(place: Floats, speed: Floats, rapid: Bools, pause: Floats, limits: Grbl) -> NDArray[np.void]:
    """The rows that have a step, with all that does not depend on when they come."""
    delta = np.diff(place, axis=0)
    length = np.linalg.norm(delta, axis=1)
    row = np.flatnonzero((length > 0) & np.isnan(pause))
    delta, length = delta[row], length[row]
    unit = delta / length[:, None]
    rate = along(limits.max_rate, unit)
    nominal = np.maximum(np.where(rapid[row], rate, np.minimum(speed[row], rate)), SPEED_MIN) ** 2
    junction, bent = _junctions(unit, limits)
    cap = np.minimum.reduce([junction, nominal, np.append(nominal[:1], nominal[:-1])])
    t = limits.times
    effort = t.line + t.axis * (delta != 0).sum(axis=1) + t.bend * bent
    effort *= 0.0 if limits.baud is None else t.overhead
    blocks = np.zeros(len(row), kernel.BLOCK)
    blocks["row"], blocks["length"], blocks["left"] = row, length, length
    blocks["acceleration"], blocks["nominal"] = along(limits.acceleration, unit), nominal
    blocks["cap"], blocks["effort"] = cap, effort
    blocks["events"] = (np.abs(delta) * limits.steps).max(axis=1, initial=0.0) / length
    return blocks


def _junctions(unit: Floats, limits: Grbl) -> tuple[Floats, Bools]:
    """(M,) v_j² at the start of each block, and whether the direction changes there."""
    first = np.zeros(min(len(unit), 1))
    bent = np.abs((unit[:-1] * unit[1:]).sum(axis=1)) <= STRAIGHT
    square = junctions(unit, limits.acceleration, limits.junction_deviation)
    return np.append(first, square), np.append(first > 0, bent)


def _ticks(blocks: NDArray[np.void], limits: Grbl) -> int:
    """How many pieces there may be, about: the ticks of both ramps from rest, and what ends they have."""
    a = blocks["acceleration"]
    ramp = np.minimum(np.sqrt(blocks["nominal"]) / a, np.sqrt(blocks["length"] / a))
    return int(np.ceil(2 * ramp / limits.tick + 5).sum())


def _whole(pieces: NDArray[np.void]) -> Run:
    """With the times that the head stands as pieces of their own."""
    row, start, duration, end, speed = (np.ascontiguousarray(pieces[name]) for name in kernel.COLUMNS)
    start -= start[:1]
    until = (start + duration)[:-1]
    gap = start[1:] - until
    late = np.flatnonzero(gap > kernel.TOGETHER)
    at = late + 1
    return Run(
        np.insert(row, at, row[late]), np.insert(start, at, until[late]), np.insert(duration, at, gap[late]),
        np.insert(end, at, end[late]), np.insert(speed, at, 0.0),
    )  # fmt: skip
