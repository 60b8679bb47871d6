"""GRBL 1.1 in laser mode, and what acts as it does, such as grblHAL.

`planner` is its motion, line by line, compiled in `kernel`. Both are imported when a program is executed,
since the facts are needed without Numba.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from gcode.controllers.common import ACKNOWLEDGEMENT, PLANNED_CHARACTERS, Executed, pauses
from gcode.controllers.interface import BlockPlanner, Hardware, Notation, Triple, axes_of, check_triples
from gcode.controllers.trapezoid.planner import SPEED_MIN
from gcode.errors import GcodeError
from gcode.move import Ints, Moves

LATE_HOST = 2e-3
"""s. A sender that counts characters and answers sooner keeps up; a gear for one of 16 ms has 17 % less edge
error if it is planned for what arrives and not for 250 moves/s."""

ACCELERATION_MIN = 1e-3  # mm/s²; with less, a move takes minutes, and its segments fill the memory

_NOTATION = Notation(
    never=("always_dynamic", "rapid_resets"), laser_words=("M3", "M4", "M5"), checksums=False, settings=True,
    extended=frozenset([0x84, 0x85, *range(0x90, 0x98), *range(0x99, 0x9F), 0xA0, 0xA1]),
    m4_follows=True, waits=True, m1=False, arc_ends=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Times:
    """s, processing times of an atmega328p at 16 MHz, without what interrupts it.

    Counted in GRBL 1.1h as avr-gcc -Os makes it, instruction by instruction, on a plan of 270 moves and a
    circle of 628, between what each routine writes, less interrupts: 17 µs (rms) of a line's 1.6 ms are left.

    arrival, departure: interrupts of a character that comes or goes.  receive: to take it from the buffer and
    filter it.  turn: of the main loop, before it sees a line that it waited for.  answer: to give one.
    read: to parse a line, once it is complete, and character: more, for each of it.
    line: to plan a move.  axis: more, for each axis that moves.  junction: more, if another block is before
    it in the planner, and bend: more, if the direction changes there.  block: to pass one in the planner,
    both ways.  profile: of a block's speeds, and peak: more, if it brakes as soon as it has sped up.
    load: more, for a new block.  segment: to prepare one, and part: more, for each part of a ramp or at
    constant speed in it.  interrupt: one tick of the step timer, in total; interrupts slow down all else.
    """

    arrival: float = 6.3e-6
    departure: float = 3.8e-6
    receive: float = 3.3e-6
    turn: float = 9e-6
    answer: float = 22e-6
    read: float = 86e-6
    character: float = 15e-6
    line: float = 384e-6
    junction: float = 84e-6
    bend: float = 323e-6
    axis: float = 120e-6
    block: float = 43e-6
    profile: float = 190e-6
    peak: float = 70e-6
    load: float = 120e-6
    segment: float = 150e-6
    part: float = 150e-6
    interrupt: float = 20.5e-6


INSTANT = Times(*(0.0 for _ in fields(Times)))
"""Those of a processor that takes no time."""

TICK_MIN = 1e-5
"""s; GRBL's is 1000 times as long. Segments of shorter ones would fill the memory."""


@dataclass(frozen=True, slots=True)
class Grbl(BlockPlanner):
    """The controller and its line; triples are (x, y, z).

    max_rate: mm/s ($110–$112), the speed of rapids too.  acceleration: mm/s² ($120–$122).
    junction_deviation: mm ($11).  steps: steps/mm ($100–$102).  tick: s of a segment.
    idle_lock: s that every stop costs ($1; 0 if $1 is 255).  blocks: that the planner holds.
    receive_buffer: bytes.  baud: bits/s; None for a link and a processor that take no time.
    host_delay: s from an acknowledgement to the line that it lets the sender send.  counts_characters: the
    sender keeps the receive buffer full; otherwise a line is sent when the one before is acknowledged.
    feed_override: factor on the speeds of all moves but rapids (`gcode.motion.execution`).
    stepped: whether axes go by steps where these are coarse for the work (`planner`), or always evenly.
    """

    name: ClassVar[str] = "grbl"
    title: ClassVar[str] = "GRBL"
    notation: ClassVar[Notation] = _NOTATION
    validated: ClassVar[bool] = True
    rounds_vertices: ClassVar[bool] = True
    run_in: ClassVar[float] = 0.12
    counts_steps: ClassVar[bool] = True
    slowest: ClassVar[float] = SPEED_MIN
    unplugs_pin: ClassVar[bool] = True
    laser_mode: ClassVar[str] = "laser mode on ($32=1)"
    setting_of: ClassVar[Mapping[str, str]] = {"acceleration": "$120 and $121", "junction": "$11"}

    max_rate: Triple = (100.0, 100.0, 100.0)
    acceleration: Triple = (500.0, 500.0, 500.0)
    junction_deviation: float = 0.01
    steps: Triple = (80.0, 80.0, 80.0)
    tick: float = 0.01
    idle_lock: float = 0.025
    blocks: int = 15
    receive_buffer: int = 128
    baud: float | None = 115200.0
    host_delay: float = 0.0
    counts_characters: bool = True
    times: Times = Times()
    feed_override: float = 1.0
    stepped: bool = True

    def __post_init__(self) -> None:
        check_triples(self)
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None or isinstance(value, Times | bool):
                continue
            if not np.isfinite(value).all() or np.any(np.asarray(value) < 0):
                raise GcodeError(f"limit {f.name} is {value}, but must be finite and not below 0")
            if f.name not in ("idle_lock", "host_delay") and not np.all(value):
                raise GcodeError(f"limit {f.name} is {value}, but must be above 0")
        for name, least, unit in (("acceleration", ACCELERATION_MIN, "mm/s²"), ("tick", TICK_MIN, "s")):
            value = getattr(self, name)
            if np.min(value) < least:
                raise GcodeError(f"limit {name} is {value}, but must be at least {least:g} {unit}")

    @classmethod
    def of(cls, machine: Hardware) -> Grbl:
        """Without steps nothing interrupts the processor."""
        rate, acceleration, steps = axes_of(machine)
        return cls(
            max_rate=rate, acceleration=acceleration, steps=steps,
            junction_deviation=machine.junction_deviation,
            baud=None if machine.host_window == "card" else machine.baud,
            host_delay=machine.host_delay, counts_characters=machine.host_window == "characters",
            blocks=int(machine.look_ahead),
            times=Times() if machine.steps is not None else Times(interrupt=0.0),
        )  # fmt: skip

    @property
    def pace(self) -> Times:
        """The times of the processor; none on a link that takes no time."""
        return self.times if self.baud is not None else INSTANT

    @property
    def link_rate(self) -> float:
        """The lines that may be under way ÷ the time from one's first byte to the host's next line.

        A host that counts characters has B/c − ½ lines of c characters under way, in the mean, in a receive
        buffer of B. If it answers within `LATE_HOST` plans for the full rate are truer: the planner evens it
        out. Line by line it does not: of a gear for a host of 1 ms, planned for the full rate, GRBL made 8 %
        more of the largest dose and 0.002 to 0.003 FWHM more edge error than the model.
        """
        if self.baud is None or (self.counts_characters and self.host_delay < LATE_HOST):
            return math.inf
        byte, t = 10 / self.baud, self.times
        processor = (
            t.turn + t.answer + t.read + t.line + t.junction + t.bend + 2 * t.axis + self.blocks * t.block
        )
        processor += t.load + t.profile + t.segment + 2 * t.part
        processor += PLANNED_CHARACTERS * (t.arrival + t.receive + t.character)
        trip = (PLANNED_CHARACTERS + ACKNOWLEDGEMENT) * byte + processor + self.host_delay
        flying = self.receive_buffer / PLANNED_CHARACTERS - 0.5 if self.counts_characters else 1.0
        return min(max(flying, 1.0) / trip, 1 / processor, 1 / (PLANNED_CHARACTERS * byte))

    @property
    def power_tick(self) -> float:
        """The time of a segment, s."""
        return self.tick

    def stepless(self) -> Grbl:
        """Axes that go evenly."""
        return replace(self, stepped=False)

    def unlinked(self) -> Grbl:
        """A link and a processor that take no time."""
        return replace(self, baud=None)

    def overridden(self, moves: Moves, factor: float, *, rapids: bool) -> tuple[Moves, Grbl]:
        """The model has one of its own: M4's power follows the speed, beyond the programmed one, too."""
        return moves, replace(self, feed_override=factor)

    def run(self, moves: Moves, sent: Ints, levels: int | None, longest: float) -> Executed:
        """By `planner`; axes stand where their counters have come to, if steps are coarse for `longest`."""
        from gcode.controllers.grbl import planner

        run = planner.plan(moves.xyz, moves.speed, moves.rapid, pauses(moves), sent, self)
        places = planner.places(moves.xyz, self)
        power = run.power(moves.power, moves.speed, moves.dynamic, levels)
        path = run.path(places)
        done = Executed(run.row, run.duration, path, power, run.stepping(path, self.steps))
        return planner.on_counted_steps(done, places, np.array(self.steps), longest) if self.stepped else done

    def run_in_parts(
        self, way: Moves, moves: Moves, sent: Ints, levels: int | None, longest: float
    ) -> Iterator[Executed]:
        """By `planner`, some rows at a time; as a whole with axes that go by steps, which all rows decide."""
        if self.stepped:
            yield self.run(way + moves, sent, levels, longest)
            return
        from gcode.controllers.grbl import planner

        def span(first: int, end: int) -> Moves:
            some = moves.span(max(first - len(way), 0), max(end - len(way), 0))
            return way.span(first, min(end, len(way))) + some if first < len(way) else some

        def rows(first: int, end: int) -> planner.GrblRows:
            some = span(first, end)
            return planner.GrblRows(some.xyz, some.speed, some.rapid, pauses(some))

        at = None
        for part in planner.runs(rows, np.asarray(sent, np.float64), self):
            if not len(part):
                continue
            first = int(part.row[0])
            run, some = replace(part, row=part.row - first), span(first, int(part.row[-1]) + 1)
            path = run.path(planner.places(some.xyz, self))
            path[0] = path[0] if at is None else at
            at = path[-1]
            power = run.power(some.power, some.speed, some.dynamic, levels)
            yield Executed(part.row, run.duration, path, power)
