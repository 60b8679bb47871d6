"""Klipper 0.13, whose laser is a pin.

`planner` is its motion, `shaping` what an input shaper makes of it: compiled, and imported when it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from gcode.commands import PRINTER_G, PRINTER_IGNORED
from gcode.controllers.common import Executed, Ramps, pauses, places
from gcode.controllers.interface import FINE, Controller, Hardware, Notation, z_of
from gcode.controllers.klipper import planner
from gcode.controllers.shapers import Impulses, Shaper, impulses_of
from gcode.errors import GcodeError
from gcode.move import Ints, Moves

_NAMED = frozenset([
    "SET_PIN", "SET_VELOCITY_LIMIT", "SET_PRESSURE_ADVANCE", "SET_INPUT_SHAPER", "RESPOND", "STATUS",
    "HELP", "SET_FAN_SPEED", "SET_HEATER_TEMPERATURE", "TURN_OFF_HEATERS", "TEMPERATURE_WAIT",
    "SET_DISPLAY_TEXT", "SET_DISPLAY_GROUP", "SET_PRINT_STATS_INFO", "SET_LED", "SET_GCODE_VARIABLE",
    "SET_IDLE_TIMEOUT", "GET_POSITION", "EXCLUDE_OBJECT", "EXCLUDE_OBJECT_START", "EXCLUDE_OBJECT_END",
    "EXCLUDE_OBJECT_DEFINE",
])  # fmt: skip
"""Named commands that can neither move nor light; SET_PIN, if its pin is not the laser's."""

_NOTATION = Notation(
    one_command=True,
    executes=PRINTER_G | {("M", 220.0), ("M", 400.0)},
    passes_over=PRINTER_IGNORED
    | {("G", g) for g in (90.1, 91.1, 92.1)} | {("M", float(m)) for m in (0, 1, 3, 4, 5)},
    named=_NAMED, limiting=frozenset(["SET_VELOCITY_LIMIT", "SET_INPUT_SHAPER"]),
    harmless=frozenset([("M", 106.0), ("M", 107.0)]),
    never=("dark_rapids", "rapid_resets", "always_dynamic", "laser_on_dynamic"), laser_words=("SET_PIN",),
    inches=False, bare_dwell=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Klipper(Controller):
    """The [printer] section of a Cartesian or CoreXY machine.

    max_velocity, square_corner_velocity, max_z_velocity: mm/s.  max_accel, max_z_accel: mm/s²; None for
    Z: no limit of its own.  minimum_cruise_ratio: 0 ≤ r < 1; Klipper's own default is 0.5.
    steps: steps/mm of x, y, z. They change no speed, but axes stand at the nearest step (`planner`), and
    they set when the first and the last step come. None: steps too fine to matter.
    shapers: [input_shaper] of x and y (`gcode.controllers.shapers`); None: the axis goes as planned.
    """

    name: ClassVar[str] = "klipper"
    title: ClassVar[str] = "Klipper"
    notation: ClassVar[Notation] = _NOTATION
    validated: ClassVar[bool] = True
    sees_all: ClassVar[bool] = True
    serial: ClassVar[bool] = False
    shapes: ClassVar[bool] = True
    power_follows: ClassVar[bool] = False
    corner: ClassVar[Mapping[str, str]] = {"square_corner_velocity": "mm/s", "minimum_cruise_ratio": ""}
    setting_of: ClassVar[Mapping[str, str]] = {
        "acceleration": "max_accel", "junction": "square_corner_velocity",
    }  # fmt: skip

    max_velocity: float = 100.0
    max_accel: float = 500.0
    square_corner_velocity: float = 5.0
    minimum_cruise_ratio: float = 0.5
    max_z_velocity: float | None = None
    max_z_accel: float | None = None
    steps: tuple[float, float, float] | None = None
    shapers: tuple[Shaper | None, Shaper | None] = (None, None)

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None or f.name in ("square_corner_velocity", "minimum_cruise_ratio", "shapers"):
                continue
            if not (np.all(np.asarray(value) > 0) and np.isfinite(value).all()):
                raise GcodeError(f"limit {f.name} is {value}, but must be above 0")
        corner, ratio = self.square_corner_velocity, self.minimum_cruise_ratio
        if not 0 <= corner < np.inf:
            raise GcodeError(f"limit square_corner_velocity is {corner}, but must be at least 0")
        if not 0 <= ratio < 1:
            raise GcodeError(f"limit minimum_cruise_ratio is {ratio}, but must be from 0 to below 1")

    @property
    def junction_deviation(self) -> float:
        """Of a right angle taken at the square corner velocity, mm."""
        return self.square_corner_velocity**2 * (math.sqrt(2) - 1) / self.max_accel

    @classmethod
    def of(cls, machine: Hardware) -> Klipper:
        """It has one limit for all directions: that of the slower axis."""
        z_speed, z_acceleration = z_of(machine)
        return cls(
            max_velocity=min(machine.rapid_speed), max_accel=min(machine.acceleration),
            square_corner_velocity=machine.square_corner_velocity,
            minimum_cruise_ratio=machine.minimum_cruise_ratio,
            max_z_velocity=z_speed, max_z_accel=z_acceleration,
            steps=None if machine.steps is None else (*machine.steps, FINE), shapers=machine.shapers,
        )  # fmt: skip

    @classmethod
    def deviation_of(cls, machine: Hardware) -> float:
        """That of the square corner velocity, mm."""
        return cls.of(machine).junction_deviation

    @property
    def buffered(self) -> int:
        """It waits for as many moves as it needs."""
        return 1

    @property
    def ramp(self) -> float:
        """Mm/s²: a part of each move is kept for cruising."""
        return self.max_accel * (1 - self.minimum_cruise_ratio)

    @property
    def impulses(self) -> tuple[Impulses, Impulses] | None:
        """Those of the input shapers."""
        return impulses_of(self.shapers) if any(self.shapers) else None

    def stepless(self) -> Klipper:
        """Axes that stand where they are planned, or shaped."""
        return replace(self, steps=None)

    def unshaped(self) -> Klipper:
        """Axes that go as planned."""
        return replace(self, shapers=(None, None))

    def run(self, moves: Moves, sent: Ints, levels: int | None, longest: float) -> Executed:
        """By `planner`, then `shaping`; axes stand at the nearest step of that place."""
        p = planner.plan(moves.xyz, moves.speed, pauses(moves), self)
        power = moves.power if levels is None else np.rint(moves.power * levels) / levels
        if (impulses := self.impulses) is not None:
            from gcode.controllers.klipper import shaping

            done = shaping.executed(moves.xyz, p, impulses, power, longest)
            if self.steps is not None:
                done = replace(done, stepping=planner.steps_of(done, self.steps))
        else:
            pieces = Ramps(p.length, p.entry, p.peak, p.exit, p.acceleration, p.duration, moves.on).cut(
                longest
            )
            stepping = planner.stepping(moves.xyz, p, self)
            done = Executed(pieces.row, pieces.duration, places(moves, pieces), power[pieces.row], stepping)
        return done if self.steps is None else planner.on_nearest_steps(done, self.steps, longest)
