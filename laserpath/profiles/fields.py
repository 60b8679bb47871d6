"""What a profile file may say: which keys, in which units, and what they mean for laserpath's nouns.

A field of a noun is written as one of its keys, its name and a unit: `power_max_mW`, `power_max_W`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import gcode
from laserpath.errors import InputError
from laserpath.optics import airy_fwhm
from laserpath.profiles import hint
from laserpath.quantities import ACCELERATION, DOSE, LENGTH, NUMBER, POWER, RATE, SPEED, Units, convert
from laserpath.types import Spot

Noun = TypeVar("Noun")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a noun. units: None for text.  kind: of number.  pair: (x, y), or one for both."""

    name: str
    units: Units | None = None
    required: bool = True
    kind: type = float
    pair: bool = False

    @property
    def keys(self) -> dict[str, str]:
        """How it may be written: key → unit."""
        if not self.units:
            return {self.name: ""}
        return {"_".join(filter(None, (self.name, _suffix(unit)))): unit for unit in self.units}


def _suffix(unit: str) -> str:
    return unit.replace("1/", "per_").replace("/", "_per_")


_FEW_LENGTHS = {unit: LENGTH[unit] for unit in ("mm", "um")}
_FEW_DOSES = {unit: DOSE[unit] for unit in ("mJ/cm2", "mJ/mm2")}

MACHINE = (
    Field("name", required=False),
    Field("size", _FEW_LENGTHS, pair=True),
    Field("speed_max", SPEED, pair=True),
    Field("rapid_speed", SPEED, pair=True),
    Field("acceleration", ACCELERATION, pair=True),
    Field("junction_deviation", _FEW_LENGTHS),
    Field("power_max", POWER),
    Field("s_max", NUMBER),
    Field("power_levels", NUMBER, kind=int),
    Field("level_min", NUMBER, kind=int, required=False),
    Field("segment_rate", RATE, required=False),
    Field("look_ahead", NUMBER, kind=int, required=False),
    Field("dialect"),
)
RESIN = (
    Field("name", required=False),
    Field("critical_dose", _FEW_DOSES),
    Field("tone"),
    Field("contrast", NUMBER, required=False),
    Field("over_dose", NUMBER, required=False),
)
SPOT = (
    Field("profile", required=False),
    Field("fwhm", _FEW_LENGTHS, required=False),
    Field("na", NUMBER, required=False),
    Field("wavelength", {"nm": LENGTH["nm"]}, required=False),
)


def build(noun: type[Noun], fields: tuple[Field, ...], said: Mapping[str, Any], owner: str) -> Noun:
    """The noun that a profile describes. owner: what to call the profile in a sentence."""
    try:
        _check_keys(fields, said)
        values = {f.name: value for f in fields if (value := _value(f, said)) is not None}
        if noun is Spot:
            values = _spot_values(values)
        if "dialect" in values:
            gcode.dialect(values["dialect"])
        return noun(**values)
    except (InputError, gcode.GcodeError) as error:
        raise InputError(f"{owner}: {error}") from error


def _check_keys(fields: tuple[Field, ...], said: Mapping[str, Any]) -> None:
    known = {key: field for field in fields for key in field.keys}
    for key in said:
        if key not in known:
            raise InputError(f"key {key!r} is unknown{hint(key, known) or '; known: ' + ', '.join(known)}")


def _value(field: Field, said: Mapping[str, Any]) -> Any:
    """The field in our units, None where it is left to its default."""
    given = [key for key in field.keys if key in said]
    if not given:
        if field.required:
            raise InputError(f"key {next(iter(field.keys))!r} is missing")
        return None
    if len(given) > 1:
        raise InputError(f"keys {given[0]!r} and {given[1]!r} say the same; give one of them")
    key, value = given[0], said[given[0]]
    if field.units is None:
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{key} is {_shown(value)}, but must be text in quotes")
        return value
    if not field.pair:
        return _number(field, key, value)
    pair = value if isinstance(value, list) else [value, value]
    if len(pair) != 2:
        raise InputError(f"{key} has {len(pair)} numbers, but must have two, [x, y], or be one for both")
    return tuple(_number(field, key, v) for v in pair)


def _number(field: Field, key: str, value: Any) -> float | int:
    """A finite number above zero, in our units."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise InputError(f"{key} is {_shown(value)}, but must be a number")
    if not (Decimal(value).is_finite() and value > 0):
        raise InputError(f"{key} is {_shown(value)}, but must be a finite number above 0")
    if field.kind is int:
        if value != int(value):
            raise InputError(f"{key} is {_shown(value)}, but must be a whole number")
        return int(value)
    return convert(value, field.keys[key], field.units or NUMBER)


def _shown(value: Any) -> str:
    """A value as the file has it."""
    if isinstance(value, Decimal):
        return str(value).lower().replace("infinity", "inf")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _spot_values(values: dict[str, Any]) -> dict[str, Any]:
    """The FWHM, given or from numerical aperture and wavelength."""
    na, wavelength = values.pop("na", None), values.pop("wavelength", None)
    if "fwhm" in values:
        if na or wavelength:
            raise InputError("gives the FWHM as well as na or wavelength_nm; give one or the other")
    elif na and wavelength:
        values["fwhm"] = airy_fwhm(na, wavelength)
    else:
        raise InputError("key 'fwhm_mm' is missing (or 'na' and 'wavelength_nm')")
    return values
