"""Values as users write them → values in laserpath's units: `"35 mJ/cm2"` → 0.35 mJ/mm², `"3x2@10mm"` → a
`Repeat`.

Each parser takes a text of the command line, or a value of a TOML file, and raises `InputError` with a
sentence that quotes it. `Option` is an entry in the table of options (`options`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from laserpath.base.errors import InputError
from laserpath.base.quantities import DOSE, LENGTH, TIME, Length, Units, convert, parse

if TYPE_CHECKING:  # the command line's help does not wait for NumPy and Shapely
    from laserpath.design.arrange import Repeat
    from laserpath.design.reading import Black
    from laserpath.machine.resuming import Ended

_SPOT_MAX = 10.0
"""mm; a larger number was most likely meant in µm."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Parser of a number with a unit. unit: of a bare number.  low: the value must be above it; None: any.

    relative: lengths in FWHM of the spot are accepted too, and the value is a `Length`.
    """

    units: Units
    unit: str
    low: float | None = 0.0
    relative: bool = False

    def __call__(self, value: Any) -> float | Length:
        """The value in laserpath's units."""
        known = {**self.units, "fwhm": Fraction(1)} if self.relative else self.units
        number, unit = parse(as_written(value), known, self.unit)
        result = convert(number, unit, known)
        if self.low is not None and result <= self.low:
            raise InputError(f"{as_written(value)!r} must be above {self.low:g}")
        return Length(result, unit == "fwhm") if self.relative else result


@dataclass(frozen=True, slots=True)
class Series:
    """Parser of `0.8:1.2:5`, five numbers from 0.8 to 1.2, and of `0.8,1,1.2`; a unit at the end is of all.

    unit: of bare numbers.
    """

    units: Units
    unit: str

    def __call__(self, value: Any) -> tuple[float, ...]:
        """The numbers in laserpath's units."""
        written, one = as_written(value), Quantity(self.units, self.unit, low=None)
        end = re.search(r"[a-zµμ]*\s*$", written, re.I)
        body, unit = (written[: end.start()], end[0]) if end else (written, "")
        parts = body.split(":") if ":" in body else body.split(",")
        if ":" not in body:
            return tuple(one(part + unit) for part in parts)  # type: ignore[misc]  # no lengths in FWHM
        if len(parts) != 3 or not re.fullmatch(r"\s*\d{1,3}\s*", parts[2]) or int(parts[2]) < 2:
            raise InputError(f"{written!r} is not like 0.8:1.2:5, five from 0.8 to 1.2, or 0.8,1,1.2")
        low, high, count = one(parts[0] + unit), one(parts[1] + unit), int(parts[2])
        return tuple(low + (high - low) * k / (count - 1) for k in range(count))  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Parser of a word that must be one of these."""

    words: tuple[str, ...]

    def __call__(self, value: Any) -> str:
        """The word itself."""
        if value not in self.words:
            raise InputError(f"{value!r} is unknown; known: {', '.join(self.words)}")
        return str(value)


@dataclass(frozen=True, slots=True)
class Whole:
    """Parser of a whole number from `low` to `high`. high: None: any."""

    low: int = 0
    high: int | None = None

    def __call__(self, value: Any) -> int:
        """The number itself."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < self.low or (self.high is not None and value > self.high):
            upper = "" if self.high is None else f" and at most {self.high}"
            raise InputError(f"{value!r} must be a whole number of at least {self.low}{upper}")
        return int(value)


def yes_no(value: Any) -> bool:
    """`true` or `false`."""
    if not isinstance(value, bool):
        raise InputError(f"{value!r} must be true or false")
    return value


def text(value: Any) -> str:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{value!r} must be text")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """One text, or a list of them."""
    return tuple(text(one) for one in (value if isinstance(value, list | tuple) else [value]))


def colour_resins(value: Any) -> tuple[str, ...]:
    """`red=clear.toml`, or a list of such: a colour and the profile of its resin."""
    given = texts(value)
    for one in given:
        colour, _, resin = one.partition("=")
        if not (colour.strip() and resin.strip()):
            raise InputError(f"{one!r} must name a colour and its resin, as in red=clear.toml")
    return given


def marks(value: Any) -> tuple[str, ...]:
    """`10,20=110.2,35.1mm`, a table of marks, or a list of such."""
    from laserpath.design.alignment import mark_of

    given = texts(value)
    for one in given:
        if "=" in one:
            mark_of(one)
    return given


def heights(value: Any) -> str:
    """`0,0,0:100,0,0.2:0,80,-0.1`, or the file of a table or a mesh, with `@X,Y` of the work zero or not."""
    from laserpath.config.profiles import bed

    given = text(value)
    if bed.are_points(given):
        bed.read(given)
    return given


def profile(value: Any) -> str | Mapping[str, Any]:
    """A name, a file, or a table with the keys of a profile."""
    return value if isinstance(value, Mapping) else text(value)


def size(value: Any) -> tuple[float | None, float | None]:
    """`20`, `20mm`, `20x30`, `20x`, `x30mm` → width and height in mm; a single number is the width."""
    written = as_written(value)
    match = re.fullmatch(r"\s*([\d.,+\-e]*)\s*(?:([x×])\s*([\d.,+\-e]*))?\s*([a-zµμ]*)\s*", written, re.I)
    if not match or not (match[1] or match[3]):
        raise InputError(f"{written!r} is not a size such as 20mm, 20x30mm, 20x or x30mm")
    length = Quantity(LENGTH, "mm")
    width, height = (length(part + match[4]) if part else None for part in (match[1], match[3] or ""))
    return width, height  # type: ignore[return-value]  # no lengths in FWHM: they are not `relative`


def offset(value: Any) -> tuple[float, float]:
    """`5,3`, `5,3mm`, `[5, 3]` → (x, y) mm."""
    length = Quantity(LENGTH, "mm", low=None)
    parts = value if isinstance(value, list) else as_written(value).split(",")
    unit = "" if isinstance(value, list) else (re.search(r"[a-zµμ]*\s*$", parts[-1]) or [""])[0]
    if len(parts) != 2:
        raise InputError(f"{value!r} is not a pair of lengths such as 5,3mm")
    first = parts[0] if isinstance(value, list) or re.search(r"[a-zµμ]\s*$", parts[0]) else parts[0] + unit
    x, y = length(first), length(parts[1])
    return x, y  # type: ignore[return-value]


def ended(value: str) -> Ended:
    """`10.2,5.1mm`, `10.2,5.1,0.4mm`: a place; `812`: a line; `95s`, `2min`: a time."""
    from laserpath.machine.resuming import Ended

    if value.count(",") == 2:
        xy, _, height = value.rpartition(",")
        unit = (re.search(r"[a-zµμ]*\s*$", height) or [""])[0]
        z = Quantity(LENGTH, "mm", low=None)(height)
        assert isinstance(z, float)
        return Ended(place=offset(xy if re.search(r"[a-zµμ]\s*$", xy) else xy + unit), z=z)
    if "," in value:
        return Ended(place=offset(value))
    if re.fullmatch(r"\s*\d{1,9}\s*", value):
        return Ended(line=int(value))
    try:
        time = Quantity({**TIME, "min": Fraction(60)}, "", low=None)(value)
    except (InputError, KeyError):
        raise InputError(
            f"{value!r} is no place such as 10.2,5.1mm, or with its Z 10.2,5.1,0.4mm, no line such as 812, "
            "and no time such as 95s or 2min"
        ) from None
    assert isinstance(time, float)
    return Ended(time=time)


def repeat(value: Any) -> Repeat:
    """`3x2@10mm`, `3x2@10x8mm` → columns × rows, and the pitch."""
    from laserpath.design.arrange import Repeat

    written = as_written(value)
    match = re.fullmatch(r"\s*(\d{1,9})\s*[x×]\s*(\d{1,9})\s*@\s*(.+)", written)
    if not match:
        raise InputError(f"{written!r} is not a repetition such as 3x2@10mm or 3x2@10x8mm")
    x, y = size(match[3])
    if x is None:
        raise InputError(f"{written!r} gives no pitch in x; such as 3x2@10mm or 3x2@10x8mm")
    return Repeat(int(match[1]), int(match[2]), (x, y or x))


def spot_fwhm(value: Any) -> float:
    """A length of at most 10 mm, since a bare 100 was most likely meant in µm."""
    width = Quantity(LENGTH, "mm")(value)
    assert isinstance(width, float)
    if width > _SPOT_MAX:
        raise InputError(
            f"a spot of {width:g} mm is above {_SPOT_MAX:g} mm; was {as_written(value)}um meant?"
        )
    return width


def grey(value: Any) -> Black:
    """`60um`: black is a height; `80mJ/cm2`: black is a dose."""
    from laserpath.design.reading import Black

    number, unit = parse(as_written(value), {**LENGTH, **DOSE}, "")
    if unit in LENGTH:
        return Black(height=convert(number, unit, LENGTH))
    if unit in DOSE:
        return Black(dose=convert(number, unit, DOSE))
    raise InputError(f"{as_written(value)!r} has no unit; give a height, such as 60um, or a dose: 80mJ/cm2")


def as_written(value: Any) -> str:
    """The text of a number, with or without a unit."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise InputError(f"{value!r} is not a number")
    return str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. name: its key in a project file; as a flag, `--` and the name with dashes.

    sets: `Record.field`, in `types` or `design`.  parse: parser of its value (`values`); a `Length` is turned
    into multiples of the spot's FWHM. `Quantity` refuses 0 and below unless `low` is given: for a number that
    may be 0 use `low=None` and check the limit in the record.
    metavar, help, default: as shown; a `OneOf` without a metavar lists its words.
    replaces: options that are left out of a project if this one is given, since they set the same or a part
    of it.  drawings_only: it has no effect on grey images.  flag: False if only a project file has it.
    """

    name: str
    sets: str
    parse: Callable[[Any], Any]
    help: str
    default: str = ""
    metavar: str | None = None
    replaces: tuple[str, ...] = ()
    drawings_only: bool = False
    flag: bool = True

    @property
    def record(self) -> str:
        """The record that the option sets a field of: 'Settings', 'Resin' …"""
        return self.sets.partition(".")[0]

    @property
    def field(self) -> str:
        """The field that the option sets."""
        return self.sets.partition(".")[2]

    @property
    def shown(self) -> str:
        """The help, with the default in brackets."""
        return f"{self.help}  [{self.default}]" if self.default else self.help
