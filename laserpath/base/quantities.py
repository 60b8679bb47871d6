"""Numbers with units → our units: mm, mm/s, mm/s², mW, mJ/mm².

Units are tables: name → factor to our unit, an exact fraction, so that 35 mJ/cm²
is 0.35 mJ/mm² and not 0.35000000000000003.
"""

from __future__ import annotations

import math
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from laserpath.base.errors import InputError

Units = Mapping[str, Fraction]

LENGTH: Units = {
    "mm": Fraction(1),
    "um": Fraction(1, 1000),
    "nm": Fraction(1, 1_000_000),
    "cm": Fraction(10),
    "in": Fraction(254, 10),
}
DOSE: Units = {"mJ/cm2": Fraction(1, 100), "mJ/mm2": Fraction(1), "J/m2": Fraction(1, 1000)}
SPEED: Units = {"mm/min": Fraction(1, 60), "mm/s": Fraction(1)}
ACCELERATION: Units = {"mm/s2": Fraction(1)}
POWER: Units = {"mW": Fraction(1), "W": Fraction(1000)}
RATE: Units = {"1/s": Fraction(1)}
FREQUENCY: Units = {"Hz": Fraction(1)}
DIFFUSION: Units = {"mm2/s": Fraction(1), "um2/s": Fraction(1, 10**6)}
DENSITY: Units = {"1/mm": Fraction(1)}
TIME: Units = {"s": Fraction(1), "ms": Fraction(1, 1000), "us": Fraction(1, 1_000_000)}
ANGLE: Units = {"deg": Fraction(1)}
NUMBER: Units = {"": Fraction(1)}
SHARE: Units = {"percent": Fraction(1, 100)}

_URL = "file:"

_WRITTEN = re.compile(
    r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?|[-+]?nan|[-+]?inf(?:inity)?)\s*(.*?)\s*", re.I | re.A
)
_SPELLED = str.maketrans({"µ": "u", "μ": "u", "²": "2", "°": "deg"})


def parse(text: str, units: Units, unit: str) -> tuple[Decimal, str]:
    """`0.1mm`, `100 µm` → the number and its unit, a key of `units`; bare numbers are in `unit`."""
    match = _WRITTEN.fullmatch(text)
    if not match:
        raise InputError(f"{text!r} is not a number{_with_unit(units, unit)}")
    if re.match(r"\s*,\d", match[2]):
        raise InputError(f"{text!r} has a decimal comma; write a point")
    number = Decimal(match[1])
    if not number.is_finite():
        raise InputError(f"{text!r} is not a finite number")
    own_unit = match[2].translate(_SPELLED)
    for known in units:
        if own_unit.lower() == known.lower():
            return number, known
    if own_unit and not any(units):
        raise InputError(f"{text!r} is not a number")
    if own_unit:
        raise InputError(
            f"{text!r} has the unknown unit {match[2]!r}; known: {', '.join(k for k in units if k)}"
        )
    return number, unit


def convert(number: Decimal | float | int, unit: str, units: Units) -> float:
    """The value in our units, correctly rounded; raises InputError if it is too large for a float."""
    exact = Fraction(number) * units[unit]
    value = float(exact) if abs(exact) < Fraction(10) ** 300 else math.inf
    if not math.isfinite(value):
        raise InputError(f"{number} {unit} is too large")
    return value


def lengths(parts: Sequence[str]) -> list[float]:
    """`10`, `20um` → mm; a bare number has the unit of the last one, and a bare last one is in mm."""
    _, unit = parse(parts[-1], LENGTH, "mm")
    return [convert(*parse(part, LENGTH, unit), LENGTH) for part in parts]


def _with_unit(units: Units, unit: str) -> str:
    others = [k for k in units if k]
    bare = f" (without one: {unit})" if unit else ""
    return f" with a unit of {', '.join(others)}{bare}" if others else ""


@dataclass(frozen=True, slots=True)
class Length:
    """mm, or multiples of the spot's FWHM."""

    value: float
    relative: bool

    def in_fwhm(self, fwhm: float) -> float:
        """fwhm: of the spot, mm."""
        return self.value if self.relative else self.value / fwhm


def decimals(fwhm: float) -> int:
    """Decimals of lengths in mm beside a spot of that FWHM (mm): to a 20th of it or finer, at least three."""
    return max(3, 2 - math.floor(math.log10(fwhm) + 1e-12))


def place(xy: Iterable[float], fwhm: float) -> str:
    """`(87.200, 12.600)`; xy: mm.  fwhm: of the spot, mm."""
    return f"({', '.join(f'{value:.{decimals(fwhm)}f}' for value in xy)})"


def quoted(text: str) -> str:
    """A string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escape(ord(c)) for c in escaped) + '"'


def quoted_path(path: str) -> str:
    """The same for the name of a file, which `path_of` reads.

    TOML has no bytes that are not UTF-8, so a name with such bytes is written as `file:` with %FF for each.
    """
    odd = path.startswith(_URL) or path.encode("utf-8", "replace").decode() != path
    return quoted(_URL + urllib.parse.quote(path, errors="surrogateescape") if odd else path)


def path_of(written: str) -> str:
    """The name of a file that `quoted_path` has written."""
    if not written.startswith(_URL):
        return written
    return urllib.parse.unquote(written.removeprefix(_URL), errors="surrogateescape")


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
