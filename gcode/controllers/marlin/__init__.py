"""Marlin 2.1 with inline power.

`planner` is its motion and power, line by line, compiled in `kernel`. Both are imported when a program is
executed, since the facts are needed without Numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from gcode.commands import PRINTER_G, PRINTER_IGNORED
from gcode.controllers.common import LINE_CHARACTERS, Executed, pauses
from gcode.controllers.interface import BlockPlanner, Hardware, Notation, Triple, axes_of, check_triples
from gcode.errors import GcodeError
from gcode.move import Floats, Ints, Moves

_NOTATION = Notation(
    one_command=True,
    executes=PRINTER_G | {("M", float(m)) for m in (0, 1, 3, 4, 5, 106, 107, 220, 400)},
    passes_over=PRINTER_IGNORED,
    never=("always_dynamic", "laser_on_dynamic"), laser_words=("M3", "M4", "M5", "M106", "M107"),
    upper_case=True, checksums=True, inline=True, fan=True, dwell_seconds=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Marlin(BlockPlanner):
    """The controller and its link; triples are (x, y, z).

    max_rate: mm/s (M203).  acceleration: mm/s² (M201).  along: mm/s² of the path (M204 T).
    junction_deviation: mm (M205 J).  jerk: mm/s (M205 X Y Z), instead of it.  small_segments:
    JD_HANDLE_SMALL_SEGMENTS.  steps: steps/mm (M92).  blocks: BLOCK_BUFFER_SIZE.
    minimum_segment_time: s (M205 B), 0 without SLOWDOWN.  shortest: MIN_STEPS_PER_SEGMENT.
    baud: bits/s, None for lines that take no time.  reply: s from "ok" to the next line's first character.
    wraps: a level below 0 is taken modulo 256, else it is dark; it differs between processors.
    """

    name: ClassVar[str] = "marlin"
    title: ClassVar[str] = "Marlin"
    notation: ClassVar[Notation] = _NOTATION
    validated: ClassVar[bool] = True
    rounds_vertices: ClassVar[bool] = True
    rounds_speeds: ClassVar[bool] = True
    power_follows: ClassVar[bool] = False
    ramp_levels: ClassVar[int] = 255
    surely_lit: ClassVar[int] = 3  # ramps are truncated to levels, so one level may stay dark
    setting_of: ClassVar[Mapping[str, str]] = {"acceleration": "M201 and M204", "junction": "M205 J"}
    least_look_ahead: ClassVar[int] = 3
    look_ahead_is: ClassVar[str] = "BLOCK_BUFFER_SIZE − 1"

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
        check_triples(self)
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None or isinstance(value, bool):
                continue
            least = 0.0 if f.name in ("minimum_segment_time", "reply", "jerk") else np.nextafter(0.0, 1.0)
            if not (np.all(np.asarray(value) >= least) and np.isfinite(value).all()):
                raise GcodeError(f"limit {f.name} is {value}, but must be above 0")
        if self.blocks < 4:
            raise GcodeError(f"limit blocks is {self.blocks}, but must be at least 4")

    @classmethod
    def of(cls, machine: Hardware) -> Marlin:
        """Of its buffer one block is never used. Its senders wait for each "ok"."""
        rate, acceleration, steps = axes_of(machine)
        made = cls(
            max_rate=rate, acceleration=acceleration, steps=steps,
            along=max(machine.acceleration), baud=machine.baud, reply=machine.host_delay,
            junction_deviation=machine.junction_deviation, blocks=int(machine.look_ahead) + 1,
        )  # fmt: skip
        return made.unlinked() if machine.host_window == "card" else made

    def unlinked(self) -> Marlin:
        """Lines that take no time."""
        return replace(self, baud=None, reply=0.0)

    @property
    def shortest_steps(self) -> int:
        """One more than MIN_STEPS_PER_SEGMENT, however a move is rounded."""
        return self.shortest + 1

    @property
    def shortest_move(self) -> float:
        """Mm along x or y, above which a move is never added to the next one, however it is rounded."""
        return self.shortest_steps / min(self.steps[:2])

    def peaks(self, moves: Moves) -> Floats:
        """(N,) mm/s, at which each row peaks; where it takes no time, the commanded speed."""
        from gcode.controllers.marlin import planner

        sent = np.full(len(moves), LINE_CHARACTERS)
        planned = planner.plan(moves.xyz, moves.speed, pauses(moves), sent, self)
        return np.where(planned.duration > 0, planned.peak, moves.speed)

    def run(self, moves: Moves, sent: Ints, levels: int | None, longest: float) -> Executed:
        """By `planner`, whose power has steps of its own."""
        from gcode.controllers.marlin import planner

        planned = planner.plan(moves.xyz, moves.speed, pauses(moves), sent, self)
        executed = planner.pieces(planned, moves.power, self, longest)
        xyz = np.vstack([planned.vertex[:1], executed.xyz])
        stepping = planned.first_step, planned.time
        return Executed(executed.row, executed.duration, xyz, executed.power, stepping)
