"""Any controller of which little is known: a planner that accelerates evenly and looks ahead (`planner`).

LinuxCNC, Smoothieware and others are executed by it; it was checked against none of them. Plans for every
controller are optimised with it, as its write time has a derivative (`gradient`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from gcode.controllers.common import LENGTH_MIN, Executed, Ramps, places
from gcode.controllers.interface import USUAL_Z, Controller, Hardware, Pair, Triple, z_of
from gcode.controllers.trapezoid.planner import on_steps, profile
from gcode.errors import GcodeError
from gcode.levels import quantise
from gcode.move import Ints, Moves


@dataclass(frozen=True, slots=True)
class Limits(Controller):
    """The limits of a machine; pairs are (x, y).

    speed_max, rapid, z_speed: mm/s.  acceleration, z_acceleration: mm/s².  junction_deviation: mm.
    look_ahead: moves that the planner sees.  segment_rate: moves/s that the link delivers.
    steps: steps/mm of the axes, to which the planner rounds every vertex; short moves then turn
    more than they should (4 % of the time of a 0.25 mm spiral at 80 steps/mm). None: not rounded.
    """

    name: ClassVar[str] = "trapezoid"
    title: ClassVar[str] = "LinuxCNC and others"
    any_firmware: ClassVar[bool] = True
    sees_all: ClassVar[bool] = True

    speed_max: Pair = (50.0, 50.0)
    rapid: Pair = (100.0, 100.0)
    acceleration: Pair = (500.0, 500.0)
    junction_deviation: float = 0.01
    look_ahead: int = 15
    segment_rate: float = 250.0
    steps: Pair | None = None
    z_speed: float = USUAL_Z[0]
    z_acceleration: float = USUAL_Z[1]

    @property
    def triple(self) -> Triple:
        """Acceleration of x, y, z, mm/s²."""
        return (*self.acceleration, self.z_acceleration)

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None:
                continue
            if not (np.all(np.asarray(value) > 0) and np.isfinite(value).all()):
                raise GcodeError(f"limit {f.name} is {value}, but must be above 0")

    @classmethod
    def of(cls, machine: Hardware) -> Limits:
        """speed_max belongs to the process; the axes themselves can move at the rapid speed.

        A planner with a buffer of n moves sees n − 1 of them when it plans the start of the next one.
        """
        z_speed, z_acceleration = z_of(machine)
        return cls(
            speed_max=machine.rapid_speed, rapid=machine.rapid_speed, acceleration=machine.acceleration,
            junction_deviation=machine.junction_deviation, look_ahead=max(int(machine.look_ahead) - 1, 1),
            segment_rate=machine.segment_rate, z_speed=z_speed, z_acceleration=z_acceleration,
        )  # fmt: skip

    @property
    def buffered(self) -> int:
        """The moves that it sees, and the one that it plans."""
        return self.look_ahead + 1

    @property
    def ramp(self) -> float:
        """That of the slower axis, mm/s²."""
        return min(self.acceleration)

    def run(self, moves: Moves, sent: Ints, levels: int | None, longest: float) -> Executed:
        """By `planner.profile`; the power of a piece is that of its mean speed, if it follows the speed."""
        moves = on_steps(moves, self)
        motion = profile(moves, self)
        length = np.where(moves.length > LENGTH_MIN, moves.length, 0.0)
        quick = motion.duration / motion.slowing
        ramps = Ramps(length, motion.entry, motion.peak, motion.exit, motion.acceleration, quick, moves.on)
        pieces = ramps.cut(longest)
        duration = pieces.duration * motion.slowing[pieces.row]
        actual = np.divide(pieces.length, duration, out=np.zeros(len(duration)), where=duration > 0)
        part = np.where(moves.dynamic[pieces.row], np.minimum(actual / moves.speed[pieces.row], 1.0), 1.0)
        power = moves.power[pieces.row] * part
        power = power if levels is None else quantise(power, levels)
        return Executed(pieces.row, duration, places(moves, pieces), power, (0.0, float(duration.sum())))
