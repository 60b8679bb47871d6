"""A dialect: how one controller wants its program written. A record, and nothing else.

`known` has those of the usual controllers; `lookup` finds them by name, and reads those of users.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gcode.errors import GcodeError

Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one controller.

    header, footer: lines before and after all moves.
    laser_on: lines that arm the laser at constant power, dark.  laser_on_dynamic: the same for power that
    follows the speed; empty: the controller has none.  laser_off: lines that disarm it.
    power: how a power is said; {power} is the number. A word of the G1 line, or with power_line a line of its
    own before the move.  power_still: the line that sets it at once, where `power` waits for a motion.
    power_max: the number of full power.  power_decimals: its digits; more where they would lose a level.
    power_levels: PWM levels above zero, None for continuous power.
    dark_rapids: the controller is dark in G0 by itself; else the power is set to 0 before one.
    rapid_resets: after a G0 the power is 0 until it is said again.  rapid_at_feed: G0 keeps to the modal F.
    always_dynamic: the power follows the speed however the laser is armed.
    modal: F, S and Z that have not changed may be left out; else every line says all. G, X, Y always stand.
    units: 'mm' (G21) or 'inch' (G20), which the header must say.
    xy_decimals, feed_decimals: digits after the point of X Y Z I J (units), and of F (units/min).
    dwell: how a wait is said, with {s} or {ms}.  arcs: whether it takes G2 and G3.
    comment: what starts one; '(' closes it too.  line_limit: characters in a line, comments included.
    line_end: between lines.  realtime: characters that it picks out of the stream, even from a comment.
    unknown: words that it does not know.
    controller: whose motion it has: 'grbl', 'marlin', 'klipper', or 'trapezoid' for a planner that sees all.
    tick: s between two updates of speed and power, None for a continuous controller.
    """

    name: str
    header: Lines = ("G21", "G90")
    footer: Lines = ("M2",)
    laser_on: Lines = ("M3 S0",)
    laser_on_dynamic: Lines = ()
    laser_off: Lines = ("M5",)
    power: str = "S{power}"
    power_line: bool = False
    power_still: str = ""
    power_max: float = 1000.0
    power_decimals: int = 3
    power_levels: int | None = None
    dark_rapids: bool = True
    rapid_resets: bool = False
    rapid_at_feed: bool = False
    always_dynamic: bool = False
    modal: bool = False
    units: str = "mm"
    xy_decimals: int = 4
    feed_decimals: int = 1
    dwell: str = "G4 P{s}"
    arcs: bool = True
    comment: str = ";"
    line_limit: int = 79
    line_end: str = "\n"
    realtime: str = ""
    unknown: tuple[str, ...] = ()
    controller: str = "trapezoid"
    tick: float | None = None

    def __post_init__(self) -> None:
        for name in ("header", "footer", "laser_on", "laser_on_dynamic", "laser_off", "unknown"):
            lines = getattr(self, name)
            object.__setattr__(self, name, (lines,) if isinstance(lines, str) else tuple(lines))
        _check(self)

    @property
    def dynamic_power(self) -> bool:
        """Whether the power can follow the actual speed."""
        return self.always_dynamic or bool(self.laser_on_dynamic)

    @property
    def unit(self) -> float:
        """How many mm one unit is."""
        return 25.4 if self.units == "inch" else 1.0

    @property
    def fixed_lines(self) -> tuple[Lines, ...]:
        """Groups of lines that it writes as they are."""
        return self.header, self.footer, self.laser_on, self.laser_on_dynamic, self.laser_off


_NUMBERS = {
    "xy_decimals": (0, 9), "feed_decimals": (0, 6), "power_decimals": (0, 9), "line_limit": (40, 10_000),
}  # fmt: skip
_CONTROLLERS = ("grbl", "marlin", "klipper", "trapezoid")


def _check(dialect: Dialect) -> None:
    """Raise GcodeError for a record that no program can be written with."""
    who = f"dialect {dialect.name!r}"
    for name, (low, high) in _NUMBERS.items():
        value = getattr(dialect, name)
        if not (isinstance(value, int) and low <= value <= high):
            raise GcodeError(f"{who}: {name} is {value!r}, but must be a whole number from {low} to {high}")
    for name in ("power_max", "power_levels", "tick"):
        value = getattr(dialect, name)
        if value is not None and not (math.isfinite(value) and value > 0):
            raise GcodeError(f"{who}: {name} is {value}, but must be above 0")
    if "{power}" not in dialect.power:
        raise GcodeError(f"{who}: power is {dialect.power!r}, but must say {{power}} somewhere")
    if ("{s}" in dialect.dwell) == ("{ms}" in dialect.dwell):
        raise GcodeError(f"{who}: dwell is {dialect.dwell!r}, but must say {{s}} or {{ms}}")
    for name, choices in (
        ("units", ("mm", "inch")), ("line_end", ("\n", "\r\n", "\r")), ("comment", (";", "(")),
        ("controller", _CONTROLLERS),
    ):  # fmt: skip
        if getattr(dialect, name) not in choices:
            known = ", ".join(map(repr, choices))
            raise GcodeError(f"{who}: {name} is {getattr(dialect, name)!r}, but must be one of {known}")
    unit = "G20" if dialect.units == "inch" else "G21"
    if not any(unit in line.split() for line in dialect.header):
        raise GcodeError(f"{who}: header says nowhere {unit}, though units is {dialect.units!r}")
    for line in (line for group in dialect.fixed_lines for line in group):
        if len(line) > dialect.line_limit or not line.isascii() or not line.isprintable():
            raise GcodeError(
                f"{who}: line {line[:40]!r} is no plain text of at most {dialect.line_limit} characters"
            )
