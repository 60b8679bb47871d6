"""The usual controllers, one record each.

What the records of the first three say is what these firmwares did when they were run, not what pages say of
them; the others follow the firmwares' sources and manuals:

- GRBL 1.1 in laser mode ($32=1): M4 scales the power with the actual speed and is dark at standstill; M3 is
  constant and stays lit. Both are dark in G0. `G1 F S` without a place changes M3's power at standstill.
  Its line buffer holds 80 bytes with the final zero; it acts on `!`, `?`, `~` the moment they arrive, in a
  comment too. A PWM of 8 bits, worked out anew every 10 ms.
- Marlin 2 with inline power: `M3 I S0` before the positioning G0, then S on every G1; after a G0 the power
  is 0 until an S says else. `M4 I` ignores S, and a plain `M3 S` lights at standstill: standing still, it
  keeps the power that it has, or `M5 I` ends it. It wants whole lines, and cuts off silently what is beyond
  95 characters.
- Klipper has no M3, M4, M5, and ignores S on G1: the power is a pin, `SET_PIN PIN=laser VALUE=`, of a
  [pwm_tool] (samples/klipper-laser.cfg), which follows the moves; an [output_pin] is held to one change per
  0.1 s. The pin stays on in G0 and at standstill. G0 is at the modal F.
- grblHAL understands all that GRBL does; after an error it fails every line, so that nothing but GRBL's words
  is written. Its line buffer holds 256 characters.
- Smoothieware: S is 0…1, kept in steps of 1/2048, and the power is in proportion to the speed. S holds on for
  later G1 whatever M3 and M5 say, which only work a switch; `G0 S0` ends it. G4 P is in milliseconds, unless
  `grbl_mode` is on. Lines above 128 characters are dropped when it plays a file.
- LinuxCNC: `M67 E0 Q` changes the power together with the next motion, `M68` at once, which stops the head.
  Neither M5 nor M2 touch it, so M68 says 0 first. G64 P and Q are how far corners may be cut and short lines
  merged, in the units of G21.

Sources: https://github.com/gnea/grbl/wiki (Laser Mode, Commands, Interface) and its gcode.c;
https://github.com/grblHAL/core (gcode.c, protocol.h); https://marlinfw.org/docs/gcode/M003.html;
https://www.klipper3d.org/G-Codes.html and Config_Reference.html; https://smoothieware.org/laser and
https://github.com/Smoothieware/Smoothieware (Laser.cpp, Robot.cpp, Player.cpp);
https://linuxcnc.org/docs/html/gcode/m-code.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gcode.dialects.record import Dialect

_GRBL = Dialect(
    "grbl", header=("G21", "G90", "G17", "G94"), footer=("S0", "M2"), laser_on_dynamic=("M4 S0",),
    power_still="G1 F60 S{power}", power_levels=255, dark_rapids=True, modal=True, realtime="!?~",
    controller="grbl",
    unknown=("G64", "M67", "M68", "M106", "M107", "SET_PIN", "N"),
)  # fmt: skip

_GRBLHAL = Dialect(
    "grblhal", header=("G21", "G90", "G17", "G94"), footer=("S0", "M2"), laser_on_dynamic=("M4 S0",),
    power_still="G1 F60 S{power}", dark_rapids=True, modal=True, line_limit=256, realtime="!?~",
    controller="grbl", unknown=("G64", "M106", "M107", "SET_PIN"),
)  # fmt: skip

_MARLIN = Dialect(
    "marlin", footer=(), laser_on=("M3 I S0",), laser_off=("M5 I",), power_max=255.0, power_decimals=0,
    power_levels=255, dark_rapids=True, rapid_resets=True, rapid_at_feed=True, dwell="G4 P{ms}",
    line_limit=95, controller="marlin", unknown=("G17", "G94", "G64", "M67", "M68", "SET_PIN", "("),
)  # fmt: skip

_KLIPPER = Dialect(
    "klipper", footer=(), laser_on=(), laser_off=("SET_PIN PIN=laser VALUE=0",),
    power="SET_PIN PIN=laser VALUE={power}", power_line=True, rapid_at_feed=True,
    xy_decimals=5, dwell="G4 P{ms}", arcs=False, line_limit=160, controller="klipper",
    unknown=("G94", "G64", "M2", "M3", "M4", "M5", "M30", "M67", "M68", "("),
)  # fmt: skip

_SMOOTHIEWARE = Dialect(
    "smoothieware", header=("G21", "G90", "G17"), footer=("G0 S0",), dark_rapids=True, always_dynamic=True,
    power_max=1.0, power_decimals=4, dwell="G4 P{ms}", line_limit=128, realtime="!?~",
    unknown=("G64", "M67", "M68", "SET_PIN"),
)  # fmt: skip

_LINUXCNC = Dialect(
    "linuxcnc", header=("G21", "G90", "G17", "G94", "G40", "G49", "G80", "G64 P0.005 Q0.005"),
    laser_on=("M3 S1",), laser_off=("M68 E0 Q0", "M5"), power="M67 E0 Q{power}", power_line=True,
    power_still="M68 E0 Q{power}", power_max=1.0, power_decimals=5, modal=True,
    xy_decimals=5, line_limit=254, unknown=("M106", "M107", "SET_PIN"),
)  # fmt: skip

_GENERIC = Dialect("generic", realtime="!?~")

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {d.name: d for d in (_GRBL, _GRBLHAL, _MARLIN, _KLIPPER, _SMOOTHIEWARE, _LINUXCNC, _GENERIC)}
)
