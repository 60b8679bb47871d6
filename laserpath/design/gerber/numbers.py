"""Numbers of a Gerber file.

Coordinates are whole numbers of 10⁻ᵈ units; FS says d, how many digits stand before the point, whether the
zeros before or behind are left out, and whether they count from the point before (G91 too).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from laserpath.base.errors import InputError

MM = {"MM": 1.0, "IN": 25.4}

_FORMAT = re.compile(r"([LTD]?)([AI]?)(?:[NGDM]\d)*X(\d)(\d)Y(\d)(\d)(?:[NGDM]\d)*")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")


@dataclass(slots=True)
class Format:
    """scale: mm of the file's unit, None: not said yet.  guessed: it was needed and had not been said.
    digits: before and behind the point.

      trailing: the zeros behind are left out, not those before.  incremental: from the point before.
    """

    scale: float | None
    digits: tuple[int, int] | None = None
    trailing: bool = False
    incremental: bool = False
    guessed: bool = False

    def read(self, text: str) -> None:
        """What follows FS."""
        found = _FORMAT.fullmatch(text)
        if not found or found[3] + found[4] != found[5] + found[6]:
            raise InputError(f"the format {text[:40]!r} is not one of Gerber, as LAX36Y36")
        self.digits = int(found[3]), int(found[4])
        self.trailing, self.incremental = found[1] == "T", found[2] == "I"

    def mm(self) -> float:
        """How much the file's unit is in mm."""
        if self.scale is None:
            self.scale, self.guessed = MM["IN"], True  # the format's own units, before MO was in it
        return self.scale

    def measured_in(self, unit: str) -> None:
        """What the file says of its unit, MM or IN."""
        if self.guessed:
            raise InputError("the file names its unit (MO) after it is needed: give it, as in --unit mm")
        self.scale = MM[unit]

    def length(self, text: str) -> float:
        """A coordinate in mm."""
        if self.digits is None:
            raise InputError("coordinates come before their format (FS)")
        if not text.strip("+-."):
            raise InputError("a coordinate has no number")
        if "." in text:
            return float(text) * self.mm()
        if self.trailing:
            sign = "-" if text.startswith("-") else ""
            text = sign + text.lstrip("+-").ljust(sum(self.digits), "0")
        return float(text) / 10 ** self.digits[1] * self.mm()


def whole(text: str) -> int:
    """The number of a command."""
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{text[:20]!r} is not the number of a command")
    return int(text)


def decimal(text: str, what: str) -> float:
    """A number with a point, without a unit."""
    if not _DECIMAL.fullmatch(text) or len(text) > 40:
        raise InputError(f"the {what} {text[:40]!r} is not a number")
    return float(text)
