"""How each controller wants its program written. Data only: what a controller does is elsewhere.

GRBL 1.1 in laser mode ($32=1): M4 scales the power with the actual speed, so that the line energy
power/speed stays as commanded through corners, and is dark at standstill and in G0. Its line
buffer holds 80 bytes with the final zero; spaces and comments are not counted, but a controller
that counts them must also be able to read the file, so the writer counts everything.
Source: https://github.com/gnea/grbl/wiki (Grbl v1.1 Laser Mode, Commands, Interface).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gcode.errors import GcodeError


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one controller.

    header, footer: lines before and after all moves.  laser_on: arms the laser, dark.
    laser_off: disarms it.  dynamic_power: the controller scales power with actual speed.
    power_levels: PWM levels above zero, None for continuous power.
    tick: s between two updates of speed and power, None for a continuous controller.
    xy_decimals, feed_decimals, s_decimals: digits after the point of X Y (mm), F (mm/min) and S;
    S gets more where s_max is so small that a PWM level would be lost.
    line_limit: characters in a line, comments included.  comment: what starts one.
    realtime: characters that the controller picks out of the stream, even from a comment.
    """

    name: str
    header: tuple[str, ...] = ("G21", "G90", "G17", "G94")
    footer: tuple[str, ...] = ("M5", "S0", "M2")
    laser_on: str = "M4 S0"
    laser_off: str = "M5"
    dynamic_power: bool = True
    power_levels: int | None = 255
    tick: float | None = 0.01
    xy_decimals: int = 4
    feed_decimals: int = 1
    s_decimals: int = 3
    line_limit: int = 79
    comment: str = ";"
    realtime: str = ""


DIALECTS: Mapping[str, Dialect] = MappingProxyType({"grbl": Dialect("grbl", realtime="!?~")})


def dialect(name: str) -> Dialect:
    """The dialect called `name`."""
    if name in DIALECTS:
        return DIALECTS[name]
    near = difflib.get_close_matches(str(name).lower(), DIALECTS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise GcodeError(f"dialect {name!r} is unknown; known: {', '.join(sorted(DIALECTS))}{hint}")
