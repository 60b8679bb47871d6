"""What a machine can do, as far as a check of its programs must know."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gcode.errors import GcodeError
from gcode.motion.planner import Limits, Pair


@dataclass(frozen=True, slots=True)
class Envelope:
    """Pairs are (x, y).

    box: (x0, y0, x1, y1) mm, the work area.  z: (lowest, highest) mm; None: anywhere.
    speed_max: mm/s, of lit moves.  rapid: mm/s.  acceleration: mm/s².  junction_deviation: mm.
    s_max: the number of full power.  power_levels: PWM levels above zero; None: continuous.
    level_min: the lowest level at which the laser lases.
    segment_rate: moves/s that the link delivers.  character_rate: characters/s; None: no limit.
    look_ahead: moves that the planner sees.
    """

    box: tuple[float, float, float, float]
    z: Pair | None = None
    speed_max: Pair = (50.0, 50.0)
    rapid: Pair = (100.0, 100.0)
    acceleration: Pair = (500.0, 500.0)
    junction_deviation: float = 0.01
    s_max: float = 1000.0
    power_levels: int | None = None
    level_min: int = 1
    segment_rate: float = 250.0
    character_rate: float | None = None
    look_ahead: int = 15

    def __post_init__(self) -> None:
        x0, y0, x1, y1 = self.box
        if not (all(map(math.isfinite, self.box)) and x0 < x1 and y0 < y1):
            raise GcodeError(f"envelope box is {self.box}, but must be finite, with x0 < x1 and y0 < y1")
        if self.z is not None and not self.z[0] <= self.z[1]:
            raise GcodeError(f"envelope z is {self.z}, but must be lowest, highest")
        for name in ("s_max", "power_levels", "level_min", "character_rate"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise GcodeError(f"envelope {name} is {value}, but must be above 0")
        if self.power_levels is not None and self.level_min > self.power_levels:
            raise GcodeError(f"envelope level_min {self.level_min} is above power_levels {self.power_levels}")
        _ = self.limits  # which checks the rest

    @property
    def limits(self) -> Limits:
        """What the planner keeps to."""
        return Limits(
            speed_max=self.speed_max, rapid=self.rapid, acceleration=self.acceleration,
            junction_deviation=self.junction_deviation, look_ahead=self.look_ahead,
            segment_rate=self.segment_rate,
        )  # fmt: skip
