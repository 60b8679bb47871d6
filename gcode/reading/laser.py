"""When the laser shines: what S, M3, M4, M5, a pin and a fan do in each controller.

Two channels are kept apart, and the brighter one counts: the word of the motion's line (S), which M3, M4 and
M5 arm; and a pin, which a line of its own sets (SET_PIN, M67, M106).

    controller    moving                              standing still
    GRBL          S, armed by M3 or M4; dark in G0    M3: S while the modal motion is G1–G3; M4: dark
    Marlin        inline (M3 I): S; G0 sets it to 0   what it was last
                  else the last `M3 S`; G0 sets it 0  the same
    Klipper       the pin, in G0 too                  the pin
    LinuxCNC      M67's, from the next motion on      M68's, or the last motion's

Sources: https://github.com/gnea/grbl/wiki/Grbl-v1.1-Laser-Mode; https://marlinfw.org/docs/gcode/M003.html;
https://www.klipper3d.org/G-Codes.html#output_pin; https://linuxcnc.org/docs/html/gcode/m-code.html.
"""

from __future__ import annotations

from gcode.dialects.record import Dialect
from gcode.errors import GcodeError
from gcode.reading.rows import DYNAMIC
from gcode.reading.templates import Command, Spoken
from gcode.reading.words import Word

FAN = Command(("M", 106.0), (("P", 0.0),), "S", default=1.0)
FAN_OFF = Command(("M", 107.0), (("P", 0.0),), "S", default=0.0)
FAN_FULL = 255.0
_DRAWING = (1, 2, 3)


class Laser:
    """power: 0…1, what the next motion has of the word; still: what shines of it now, at standstill.

    pin, pin_still: the same of the pin.  armed: by M3 or M4.  dynamic: power follows the speed (M4).
    inline: Marlin's `M3 I`.  waiting: the pin's power is for the next motion; what is set at once leaves it.
    """

    def __init__(self, dialect: Dialect, how: Spoken, s_max: float) -> None:
        self.dialect, self.how, self.s_max = dialect, how, s_max
        self.marlin = dialect.controller == "marlin"
        self.power = self.still = self.pin = self.pin_still = 0.0
        # Where no M3 is needed, or where it need not be, an unknown laser is taken for a live one.
        self.armed = not how.gated or how.letter is None or dialect.always_dynamic
        self.follows = dialect.controller == "grbl" or any(
            "M4" in line.upper().split() for line in dialect.laser_on_dynamic
        )
        self.dynamic = self.inline = self.fan = self.waiting = False

    @property
    def flags(self) -> int:
        """Of a row."""
        return DYNAMIC if self.dialect.always_dynamic or (self.armed and self.dynamic) else 0

    @property
    def pin_live(self) -> bool:
        """Whether the pin is not switched off by M5."""
        return self.fan or self.armed or not self.how.gated

    def moving(self, motion: int) -> float:
        """What shines in a G0, G1, G2, G3."""
        rapid = motion == 0
        dark = rapid and self.dialect.dark_rapids
        word = self.power if self.how.letter and self.armed and not dark else 0.0
        pin = self.pin if self.pin_live and not (dark and not self.fan) else 0.0
        return max(word, pin)

    def standing(self, motion: int | None) -> float:
        """What shines on a resting head; motion: the modal one."""
        if self.dialect.always_dynamic:
            return 0.0
        word = 0.0
        if self.how.letter and self.armed:
            if self.marlin:
                word = self.still
            elif not self.dynamic and (motion in _DRAWING or not self.dialect.dark_rapids):
                word = self.power
        return max(word, self.pin_still if self.pin_live else 0.0)

    def moved(self) -> None:
        """A motion has taken over what waited for it."""
        self.still, self.pin_still = self.power, self.pin
        self.waiting = False

    def fraction(self, word: Word, full: float | None = None) -> float:
        """0…1 of a power word."""
        full = self.s_max if full is None else full
        value = (-1.0 if word.value is None else word.value) / full
        if not 0 <= value <= 1:
            raise GcodeError(f"power {word} is outside 0…{full:g}", column=word.column)
        return value

    def rapid(self) -> None:
        """A line says G0."""
        if self.dialect.rapid_resets or self.marlin:
            self.power = self.still = 0.0

    def word(self, word: Word, motion: int | None) -> str | None:
        """An S on a line that is no M3; the sentence to note where it does nothing."""
        if self.how.letter != word.letter:
            return f"{word} is no power to {self.dialect.name}"
        value = self.fraction(word)
        if self.marlin:
            if motion == 0:
                return f"{word} does nothing in G0, which {self.dialect.name} keeps dark"
            if not self.inline:
                return f"{word} does nothing to {self.dialect.name} before M3 I"
        self.power = value
        return None

    def arm(self, code: int, power: Word | None, inline: Word | None) -> bool:
        """M3, M4, M5; whether the controller waits for its moves first."""
        if self.marlin:
            return self._arm_marlin(code, power, inline)
        if power is not None:
            self.power = self.fraction(power)
        before = self.armed, self.dynamic
        self.armed = code != 5
        if code != 5:
            self.dynamic = code == 4 and self.follows
        return before != (self.armed, self.dynamic)

    def _arm_marlin(self, code: int, power: Word | None, inline: Word | None) -> bool:
        """`M3 I` waits for the motions before it, unless it is inline already; M5 always does."""
        if code == 5:
            self.armed, self.still = False, 0.0
            if inline is not None or not self.inline:
                self.power, self.inline = 0.0, False
            return True
        if inline is not None and code == 4:
            raise GcodeError("M4 I takes the power from the feed, not from S", column=inline.column)
        value = None if power is None else self.fraction(power)
        waits = not self.inline
        if inline is not None:
            self.inline, self.power, self.still = True, 0.0, 0.0
        elif value is None and not self.inline:
            raise GcodeError(f"M{code} without S lights with a power that the file does not state")
        self.armed = True
        if value is not None:
            self.power = self.still = value
        return waits

    def set_pin(self, command: Command, power: float) -> None:
        """A line of its own says power."""
        if command.waits:
            self.pin, self.waiting = power, True
            return
        self.pin_still = power
        if not self.waiting:
            self.pin = power

    def end(self) -> None:
        """M2, M30."""
        if self.how.gated or self.how.letter:
            self.armed = False
