"""What a user may ask of a plan, by name: on the command line, in a project file, from another program.

    said = {"machine": "my-laser.toml", "critical_dose": 0.35, "quality": "fine", "rotate": 90.0}
    process, settings = process_of(said), settings_of(said, fwhm=0.1)

`KEYS` has all names, and for each what makes a value of ours of what people write: `"35 mJ/cm2"`,
`"0.1fwhm"`. A name that is missing, or None, is left to its profile or its default.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from laserpath.base.choices import QUALITIES
from laserpath.base.errors import InputError
from laserpath.base.quantities import ANGLE, DOSE, LENGTH, NUMBER, Length, Units, convert, parse
from laserpath.config import profiles

if TYPE_CHECKING:  # the command line's help does not wait for NumPy and Shapely
    from laserpath.design.arrange import Arrangement, Repeat
    from laserpath.design.reading import Black, Reading
    from laserpath.types import Process, Resin, Settings, Spot

Said = Mapping[str, Any]
"""Values by name, as `KEYS` makes them."""

TONES = ("negative", "positive")
ORIGINS = ("auto", "page", "design", "centre")
MIRRORS = ("x", "y", "xy")
_PITCH_LIMITS = (0.1, 10.0)
_WIDEST = 10.0
"""mm, of a spot."""


_REPLACES = {
    "spot": ("spot_fwhm", "na", "wavelength"),
    "spot_fwhm": ("spot", "na", "wavelength"),
    "na": ("spot", "spot_fwhm"),
    "resin": ("critical_dose", "tone"),
    "scale": ("size",),
    "size": ("scale",),
}
"""Name → others that say the same thing in another way, or that are a part of it."""


def over(usual: Said, given: Said) -> dict[str, Any]:
    """What is usual, with what is given in its place; what is given in another way takes its place too."""
    replaced = {name for new in given for name in _REPLACES.get(new, ())}
    return {**{name: value for name, value in usual.items() if name not in replaced}, **given}


# From what is written


def quantity(
    units: Units, unit: str, low: float | None = 0.0, relative: bool = False
) -> Callable[[Any], float | Length]:
    """What reads a number with a unit, above `low`. relative: lengths in FWHM of the spot too."""
    known = {**units, "fwhm": Fraction(1)} if relative else units

    def read(value: Any) -> float | Length:
        number, said = parse(_text(value), known, unit)
        result = convert(number, said, known)
        if low is not None and result <= low:
            raise InputError(f"{_text(value)!r} must be above {low:g}")
        return Length(result, said == "fwhm") if relative else result

    return read


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise InputError(f"{value!r} is not a number")
    return str(value)


def _one_of(*known: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in known:
            raise InputError(f"{value!r} is unknown; known: {', '.join(known)}")
        return str(value)

    return read


def _whole(low: int, high: float = math.inf) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            upper = "" if high == math.inf else f" and at most {high:g}"
            raise InputError(f"{value!r} must be a whole number of at least {low}{upper}")
        return value

    return read


def _yes(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{value!r} must be true or false")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{value!r} must be text")
    return value


def _profile(value: Any) -> str | Mapping[str, Any]:
    """A name, a file, or a table with the keys of a profile."""
    return value if isinstance(value, Mapping) else _name(value)


def layers(value: Any) -> tuple[str, ...]:
    """One name, or several."""
    return tuple(_name(one) for one in (value if isinstance(value, list | tuple) else [value]))


def size(value: Any) -> tuple[float | None, float | None]:
    """`20`, `20mm`, `20x30`, `20x`, `x30mm` → width and height in mm; a single number is the width."""
    text = _text(value)
    found = re.fullmatch(r"\s*([\d.,+\-e]*)\s*(?:([x×])\s*([\d.,+\-e]*))?\s*([a-zµμ]*)\s*", text, re.I)
    if not found or not (found[1] or found[3]):
        raise InputError(f"{text!r} is not a size such as 20mm, 20x30mm, 20x or x30mm")
    read = quantity(LENGTH, "mm")
    width, height = (read(part + found[4]) if part else None for part in (found[1], found[3] or ""))
    return width, height  # type: ignore[return-value]  # relative lengths were not asked for


def offset(value: Any) -> tuple[float, float]:
    """`5,3`, `5,3mm`, `[5, 3]` → (x, y) mm."""
    read = quantity(LENGTH, "mm", low=None)
    parts = value if isinstance(value, list) else _text(value).split(",")
    unit = "" if isinstance(value, list) else (re.search(r"[a-zµμ]*\s*$", parts[-1]) or [""])[0]
    if len(parts) != 2:
        raise InputError(f"{value!r} is not a pair of lengths such as 5,3mm")
    first = parts[0] if isinstance(value, list) or re.search(r"[a-zµμ]\s*$", parts[0]) else parts[0] + unit
    x, y = read(first), read(parts[1])
    return x, y  # type: ignore[return-value]


def repeat(value: Any) -> Repeat:
    """`3x2@10mm`, `3x2@10x8mm` → columns × rows, and the pitch."""
    from laserpath.design.arrange import Repeat

    text = _text(value)
    found = re.fullmatch(r"\s*(\d{1,9})\s*[x×]\s*(\d{1,9})\s*@\s*(.+)", text)
    if not found:
        raise InputError(f"{text!r} is not a repetition such as 3x2@10mm or 3x2@10x8mm")
    x, y = size(found[3])
    if x is None:
        raise InputError(f"{text!r} gives no pitch in x; such as 3x2@10mm or 3x2@10x8mm")
    return Repeat(int(found[1]), int(found[2]), (x, y or x))


def spot_fwhm(value: Any) -> float:
    """A length of at most 10 mm: a bare 100 was meant in um."""
    width = quantity(LENGTH, "mm")(value)
    assert isinstance(width, float)
    if width > _WIDEST:
        raise InputError(f"a spot of {width:g} mm is above {_WIDEST:g} mm; was {_text(value)}um meant?")
    return width


def grey(value: Any) -> Black:
    """`60um`: black is a height; `80mJ/cm2`: black is a dose."""
    from laserpath.design.reading import Black

    number, unit = parse(_text(value), {**LENGTH, **DOSE}, "")
    if unit in LENGTH:
        return Black(height=convert(number, unit, LENGTH))
    if unit in DOSE:
        return Black(dose=convert(number, unit, DOSE))
    raise InputError(f"{_text(value)!r} has no unit; give a height, such as 60um, or a dose: 80mJ/cm2")


KEYS: dict[str, Callable[[Any], Any]] = {
    "layer": layers,
    "cell": _name,
    "unit": _one_of(*LENGTH),
    "line_width": quantity(LENGTH, "mm"),
    "pixel": quantity(LENGTH, "mm"),
    "threshold": quantity(NUMBER, ""),
    "grey": grey,
    "mirror": _one_of(*MIRRORS),
    "rotate": quantity(ANGLE, "deg", low=None),
    "scale": quantity(NUMBER, ""),
    "size": size,
    "negative": _yes,
    "repeat": repeat,
    "machine": _profile,
    "resin": _profile,
    "critical_dose": quantity(DOSE, "mJ/cm2"),
    "tone": _one_of(*TONES),
    "spot": _profile,
    "spot_fwhm": spot_fwhm,
    "na": quantity(NUMBER, ""),
    "wavelength": quantity(LENGTH, "nm"),
    "quality": _one_of(*QUALITIES),
    "initial": _name,
    "pitch": quantity(LENGTH, "mm", relative=True),
    "angle": quantity(ANGLE, "deg", low=None),
    "iterations": _whole(0),
    "seed": _whole(0),
    "passes": _whole(1, 100),
    "origin": _one_of(*ORIGINS),
    "offset": offset,
    "max_epe": quantity(LENGTH, "mm", relative=True),
    "blur": quantity(NUMBER, ""),
    "inset_fwhm": quantity(NUMBER, "", low=None),
    "segment_fwhm": quantity(NUMBER, ""),
    "pixels_per_fwhm": quantity(NUMBER, ""),
    "simplify_fwhm": quantity(NUMBER, ""),
}
"""Name → what reads it."""


# To the nouns


def process_of(said: Said) -> Process:
    """The physics that is asked for."""
    from laserpath.types import Process

    return Process(
        spot=_spot(said),
        resin=_resin(said),
        machine=profiles.machine(said.get("machine") or profiles.DEFAULTS["machine"]),
    )


def _resin(said: Said) -> Resin:
    from dataclasses import replace

    changes = {name: said[name] for name in ("critical_dose", "tone") if said.get(name) is not None}
    resin = profiles.resin(said.get("resin") or profiles.DEFAULTS["resin"])
    if resin.order > 1 and "critical_dose" in changes:
        raise InputError(
            f"critical dose is in mJ/cm2, but {resin.name!r} absorbs {resin.order} photons at once; "
            "write its dose into the resin's profile"
        )
    return replace(resin, **changes)


def _spot(said: Said) -> Spot:
    ways = [option for option in ("spot", "spot_fwhm", "na") if said.get(option) is not None]
    if len(ways) > 1:
        first, second = (way.replace("_", "-") for way in ways[:2])
        raise InputError(f"{first} and {second} both say what the spot is; give one of them")
    if (said.get("na") is None) != (said.get("wavelength") is None):
        given, lacking = ("na", "wavelength") if said.get("wavelength") is None else ("wavelength", "na")
        raise InputError(f"{given} needs {lacking} with it")
    if said.get("spot_fwhm") is None and said.get("na") is None:
        return profiles.spot(said.get("spot") or profiles.DEFAULTS["spot"])
    from laserpath.optics import airy_fwhm
    from laserpath.types import Spot

    return Spot(said.get("spot_fwhm") or airy_fwhm(said["na"], said["wavelength"]))


def settings_of(said: Said, fwhm: float) -> Settings:
    """The choices; fwhm: of the spot, mm."""
    from dataclasses import fields

    from laserpath.types import Settings

    names = {field.name for field in fields(Settings)}
    values = {name: value for name, value in said.items() if name in names and value is not None}
    for name, field in (("pitch", "pitch_fwhm"), ("max_epe", "max_epe_fwhm")):
        if said.get(name) is not None:
            values[field] = said[name].in_fwhm(fwhm)
    low, high = _PITCH_LIMITS
    if not low <= values.get("pitch_fwhm", 1) <= high:
        raise InputError(
            f"pitch {values['pitch_fwhm'] * fwhm:g} mm must be between {low:g} and {high:g} times "
            f"the spot's {fwhm:g} mm"
        )
    return Settings(**values)


def reading_of(said: Said, tolerance: float) -> Reading:
    """What of the design's file counts. tolerance: of flattened curves, mm."""
    from laserpath.design.reading import Reading

    plain = ("cell", "unit", "line_width", "pixel", "threshold", "grey")
    values = {name: said[name] for name in plain if said.get(name) is not None}
    return Reading(tolerance, layers=tuple(said.get("layer") or ()), **values)


def arrangement_of(said: Said) -> Arrangement:
    """How the design is turned, sized and repeated."""
    from laserpath.design.arrange import Arrangement

    plain = ("mirror", "rotate", "scale", "size", "negative", "repeat")
    return Arrangement(**{name: said[name] for name in plain if said.get(name) is not None})
