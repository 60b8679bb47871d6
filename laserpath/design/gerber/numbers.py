"""Numbers of a Gerber file.

Coordinates are whole numbers of 10⁻ᵈ units; FS gives d, the number of digits before the point, whether
leading or trailing zeros are omitted, and whether coordinates are incremental (as does G91).
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
    """scale: the file's unit in mm; None: not known yet.  guessed: it was needed before it was known.

    digits: before and after the decimal point.  trailing: trailing zeros are omitted, not leading ones.
    incremental: coordinates are relative to the previous point.
    """

    scale: float | None
    digits: tuple[int, int] | None = None
    trailing: bool = False
    incremental: bool = False
    guessed: bool = False

    def read(self, text: str) -> None:
        """Read the parameters of FS."""
        match = _FORMAT.fullmatch(text)
        if not match or match[3] + match[4] != match[5] + match[6]:
            raise InputError(f"the format {text[:40]!r} is not a Gerber format such as LAX36Y36")
        self.digits = int(match[3]), int(match[4])
        self.trailing, self.incremental = match[1] == "T", match[2] == "I"

    def mm(self) -> float:
        """The file's unit in mm."""
        if self.scale is None:
            self.scale, self.guessed = MM["IN"], True  # Gerber's unit before MO was introduced
        return self.scale

    def measured_in(self, unit: str) -> None:
        """Set the file's unit, MM or IN."""
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
    """The number in a command code."""
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{text[:20]!r} is not the number of a command")
    return int(text)


def decimal(text: str, what: str) -> float:
    """A decimal number without a unit."""
    if not _DECIMAL.fullmatch(text) or len(text) > 40:
        raise InputError(f"the {what} {text[:40]!r} is not a number")
    return float(text)
