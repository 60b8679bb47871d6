"""The keys of a profile file and their units, and the `Machine`, `Resin` or `Spot` that they describe.

A field is written with one of its keys, its name and a unit: `power_max_mW`, `power_max_W`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import gcode
from laserpath.base import quantities
from laserpath.base.errors import InputError, did_you_mean, figure
from laserpath.config.profiles import beams, bed
from laserpath.physics.absorption import Absorption
from laserpath.physics.optics import airy_fwhm, gaussian_fwhm
from laserpath.physics.resin import contrast_of, critical_dose
from laserpath.types import SPOT_PROFILES, DoseMap, Kinetics, LayerChange, Machine, NamedProfile, Resin, Spot
from laserpath.types.process import LONGEST, MOST_BACKLASH, MOST_CRUISE

Noun = TypeVar("Noun")


_SEVERAL = {2: "two, [x, y], or be one for both", 3: "three, [x, y, z], or be one for all"}
"""How several numbers of a field are given."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a profile. units: None for text.  kind: of number.

    count: of numbers: 2 are (x, y) and 3 (x, y, z), or one number for all.
    least: the smallest number allowed; None: any above 0.  most: the largest one, in laserpath's unit.
    within: the fields of a table; () for a number or text.
    """

    name: str
    units: quantities.Units | None = None
    required: bool = True
    kind: type = float
    count: int = 1
    least: float | None = None
    most: float = math.inf
    within: tuple[Field, ...] = ()

    @property
    def keys(self) -> dict[str, str]:
        """The keys of the field: key → unit."""
        if not self.units:
            return {self.name: ""}
        return {"_".join(filter(None, (self.name, _suffix(unit)))): unit for unit in self.units}


def _suffix(unit: str) -> str:
    return unit.replace("1/", "per_").replace("/", "_per_").replace(" ", "_")


_FEW_LENGTHS = {unit: quantities.LENGTH[unit] for unit in ("mm", "um")}
_FEW_DOSES = {unit: quantities.DOSE[unit] for unit in ("mJ/cm2", "mJ/mm2")}

SHAPERS = (
    Field("shaper_type", required=False),
    Field("shaper_type_x", required=False),
    Field("shaper_type_y", required=False),
    Field("shaper_freq_x", quantities.FREQUENCY, required=False, least=0),
    Field("shaper_freq_y", quantities.FREQUENCY, required=False, least=0),
    Field("damping_ratio_x", quantities.NUMBER, required=False, least=0),
    Field("damping_ratio_y", quantities.NUMBER, required=False, least=0),
)
"""As Klipper's [input_shaper] has them: `shaper_type` is of both axes, and an axis of 0 Hz has none."""

_ANY_MODE = 50.0
"""Hz, with which the other keys of an axis of 0 Hz are checked."""

LAYER_CHANGE = (
    Field("light", required=False),
    Field("lift", _FEW_LENGTHS, required=False, least=0),
    Field("lift_speed", quantities.SPEED, required=False),
    Field("wait", quantities.TIME, required=False, least=0),
    Field("sweep_from", _FEW_LENGTHS, required=False, count=2, least=0),
    Field("sweep_to", _FEW_LENGTHS, required=False, count=2, least=0),
    Field("sweep_speed", quantities.SPEED, required=False),
    Field("settle", quantities.TIME, required=False, least=0),
)

MACHINE = (
    Field("name", required=False),
    Field("size", _FEW_LENGTHS, count=2),
    Field("speed_max", quantities.SPEED, count=2),
    Field("rapid_speed", quantities.SPEED, count=2),
    Field("acceleration", quantities.ACCELERATION, count=2),
    Field("junction_deviation", _FEW_LENGTHS, required=False),
    Field("power_max", quantities.POWER),
    Field("s_max", quantities.NUMBER, required=False),
    Field("power_levels", quantities.NUMBER, kind=int),
    Field("level_min", quantities.NUMBER, kind=int, required=False),
    Field("level_offset", quantities.NUMBER, required=False, least=-math.inf),
    Field("pwm_period", quantities.TIME, required=False, least=0, most=LONGEST),
    Field("segment_rate", quantities.RATE, required=False),
    Field("look_ahead", quantities.NUMBER, kind=int, required=False),
    Field("dialect"),
    Field("baud", quantities.NUMBER, required=False),
    Field("host_delay", quantities.TIME, required=False, least=0, most=LONGEST),
    Field("host_window", required=False),
    Field("steps", quantities.DENSITY, required=False, count=2),
    Field("square_corner_velocity", quantities.SPEED, required=False),
    Field("minimum_cruise_ratio", quantities.NUMBER, required=False, least=0, most=MOST_CRUISE),
    *SHAPERS,
    Field("lag", quantities.TIME, required=False, least=0, most=LONGEST),
    Field("laser_delay", quantities.TIME, required=False, least=0, most=LONGEST),
    Field("laser_on_delay", quantities.TIME, required=False, least=0, most=LONGEST),
    Field("laser_off_delay", quantities.TIME, required=False, least=0, most=LONGEST),
    Field("backlash", _FEW_LENGTHS, required=False, count=2, least=0, most=MOST_BACKLASH),
    Field("z_travel", _FEW_LENGTHS, required=False, count=2, least=-math.inf),
    Field("focus", _FEW_LENGTHS, required=False, least=-math.inf),
    Field("heights", required=False),
    Field("z_speed_max", quantities.SPEED, required=False),
    Field("z_acceleration", quantities.ACCELERATION, required=False),
    Field("z_steps", quantities.DENSITY, required=False),
    Field("layer_change", required=False, within=LAYER_CHANGE),
)
_THIN = {unit: quantities.LENGTH[unit] for unit in ("um", "mm")}

_ORDERS = range(1, 9)


def _doses(order: int) -> quantities.Units:
    """Units of a dose if N photons are absorbed at once: (mW/mm²)^N s for N > 1."""
    if order == 1:
        return _FEW_DOSES
    n = order
    return {f"mW{n} s/um{2 * n}": Fraction(10) ** (6 * n), f"mW{n} s/mm{2 * n}": Fraction(1)}


def resin_fields(order: int) -> tuple[Field, ...]:
    """The fields of a resin that absorbs `order` photons at once."""
    return (
        Field("name", required=False),
        Field("critical_dose", _doses(order), required=False),
        Field("e_c", _FEW_DOSES, required=False),
        Field("penetration_depth", _THIN, required=False),
        Field("layer", _THIN, required=False),
        Field("bleached_depth", _THIN, required=False),
        Field("bleaching_dose", _FEW_DOSES, required=False),
        Field("absorption_order", quantities.NUMBER, required=False, kind=int),
        Field("tone"),
        Field("model", required=False),
        Field("contrast", quantities.NUMBER, required=False),
        Field("gamma", quantities.NUMBER, required=False),
        Field("over_dose", quantities.NUMBER, required=False),
        Field("shrinkage", quantities.SHARE, required=False, count=3, least=-math.inf),
        Field("development_bias", _THIN, required=False, least=-math.inf),
        Field("bottom_layers", quantities.NUMBER, required=False, kind=int, least=0),
        Field("bottom_exposure", quantities.NUMBER, required=False),
        Field("source", required=False),
        Field("calibrated", required=False),
    )


KINETICS = (
    Field("radical_dose", _FEW_DOSES),
    Field("propagation", quantities.RATE),
    Field("inhibition", quantities.RATE, required=False, least=0),
    Field("termination", quantities.RATE, required=False, least=0),
    Field("pair_termination", quantities.RATE, required=False, least=0),
    Field("diffusion", quantities.DIFFUSION, required=False, least=0),
    Field("supply", quantities.RATE, required=False, least=0),
    Field("oxygen", quantities.NUMBER, required=False, least=0),
    Field("gel_conversion", quantities.NUMBER, required=False),
    Field("wait", quantities.TIME, required=False, least=0),
)
"""The fields of a resin with `model = "kinetics"`, besides the others."""

_MODELS = ("dose", "kinetics")
RESIN = (*resin_fields(1), *KINETICS)
"""All fields of a resin that absorbs one photon at once."""
SPOT = (
    Field("profile", required=False),
    Field("fwhm", _FEW_LENGTHS, required=False, count=2),
    Field("na", quantities.NUMBER, required=False),
    Field("wavelength", {"nm": quantities.LENGTH["nm"]}, required=False),
    Field("radius_1e2", _FEW_LENGTHS, required=False, count=2),
    Field("angle", quantities.ANGLE, required=False, least=-math.inf),
    Field("defocus", _FEW_LENGTHS, required=False, least=-math.inf),
    Field("measured", required=False),
    Field("pixel", _FEW_LENGTHS, required=False),
    Field("smooth", _FEW_LENGTHS, required=False, least=0),
    Field("dose_map", required=False),
    Field("calibrated", required=False),
)


def build(
    noun: type[Noun],
    fields: tuple[Field, ...],
    table: Mapping[str, Any],
    owner: str,
    folder: Path | None = None,
) -> Noun:
    """The `Machine`, `Resin` or `Spot` that a profile describes. table: its keys and values.

    owner: name of the profile for sentences.  folder: of the files that it names.
    """
    try:
        if noun is Resin:
            fields = _fields_of_resin(table)
        values = _values(fields, table)
        if "calibrated" in values:
            values["calibrated"] = _calibrated(values["calibrated"])
        if noun is Spot:
            values = _spot_values(values, folder or Path())
        elif noun is Resin:
            values = _resin_values(values)
        elif noun is Machine:
            values.setdefault("steps", None)  # unknown, not those of another machine
            values = _machine_values(values)
        if "heights" in values:
            values["heights"] = bed.read(values["heights"], folder or Path())
        if "dialect" in values:
            values["dialect"] = _dialect(values["dialect"], folder or Path())
        return noun(**values)
    except (InputError, gcode.GcodeError) as error:
        raise InputError(f"{owner}: {error}") from error


def _calibrated(text: str) -> str:
    """The lines of `2026-11-26 measured.csv: 42 sizes …`, each of which begins with a day."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        try:
            date.fromisoformat(line.partition(" ")[0])
        except ValueError:
            raise InputError(
                f"calibrated has the line {line[:40]!r}, but must begin with a day, as in "
                "'2026-11-26 measured.csv: …'"
            ) from None
    return "\n".join(lines)


def _machine_values(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a `Machine`: delays of its laser given as one, and a shaper of each axis."""
    if "layer_change" in values:
        values["layer_change"] = LayerChange(**values["layer_change"])
    delay, delays = values.pop("laser_delay", None), ("laser_on_delay", "laser_off_delay")
    if delay is not None:
        for name in delays:
            if name in values:
                raise InputError(
                    f"gives laser_delay as well as {name}; give laser_delay, or {' and '.join(delays)}"
                )
        values |= dict.fromkeys(delays, delay)
    given = {field.name: values.pop(field.name) for field in SHAPERS if field.name in values}
    if not given:  # so that most profiles are read without the models of motion, and Numba
        return values
    shapers = tuple(_shaper(axis, given) for axis in "xy")
    if not given.keys() & {"shaper_freq_x", "shaper_freq_y"}:
        raise InputError(f"key 'shaper_freq_x_Hz' or 'shaper_freq_y_Hz' is missing, of {next(iter(given))}")
    return {**values, "shapers": shapers}


def _shaper(axis: str, given: Mapping[str, Any]) -> gcode.motion.Shaper | None:
    """The input shaper of an axis, with Klipper's defaults, or None."""
    frequency = given.get(f"shaper_freq_{axis}", 0.0)
    kind = given.get(f"shaper_type_{axis}", given.get("shaper_type", "mzv"))
    own = f"damping_ratio_{axis}"
    # Made even for an axis that is not shaped: what is said of it must be right before it is turned on.
    shaper = gcode.motion.Shaper(kind, frequency or _ANY_MODE, *([given[own]] if own in given else []))
    return shaper if frequency else None


def _dialect(name: str, folder: Path) -> str:
    """The dialect's name, or the path of its file in the folder; raises if it cannot be read."""
    dialect = str(folder / name) if name.endswith(".toml") else name
    gcode.dialect(dialect)
    return dialect


def _check_keys(fields: tuple[Field, ...], table: Mapping[str, Any]) -> None:
    known = {key: field for field in fields for key in field.keys}
    for key in table:
        if key not in known:
            near = did_you_mean(key, known) or f"; known: {', '.join(known)}"
            raise InputError(f"key {key!r} is unknown{near}")


def _check_swallowed(fields: tuple[Field, ...], table: Mapping[str, Any]) -> None:
    """Raise InputError if a table holds keys that belong beside it: in TOML it ends where the next begins."""
    beside = {key for field in fields for key in field.keys}
    for field in fields:
        inner = table.get(field.name)
        if not (field.within and isinstance(inner, Mapping)):
            continue
        own = {key for one in field.within for key in one.keys}
        lost = [key for key in inner if key in beside and key not in own]
        if lost:
            others = len(lost) - 1
            more = f" and {others} more {'keys' if others > 1 else 'key'}" if others else ""
            raise InputError(
                f"in TOML {lost[0]!r}{more} below [{field.name}] {'count' if others else 'counts'} as part "
                f"of it: move [{field.name}] with its own keys to the end of the file"
            )


def _values(fields: tuple[Field, ...], table: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields in laserpath's units, those that are given; there are no other keys."""
    _check_swallowed(fields, table)
    _check_keys(fields, table)
    return {one.name: value for one in fields if (value := _value(one, table)) is not None}


def _value(field: Field, table: Mapping[str, Any]) -> Any:
    """The value of the field in laserpath's units; None if it is not given."""
    given = [key for key in field.keys if key in table]
    if not given:
        if field.required:
            raise InputError(f"key {next(iter(field.keys))!r} is missing")
        return None
    if len(given) > 1:
        raise InputError(f"keys {given[0]!r} and {given[1]!r} mean the same; give one of them")
    key, value = given[0], table[given[0]]
    if field.within:
        return _table(field, value)
    if field.units is None:
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{key} is {_shown(value)}, but must be text in quotes")
        return value
    if field.count == 1:
        return _number(field, key, value)
    each = value if isinstance(value, list) else [value] * field.count
    if len(each) != field.count:
        raise InputError(f"{key} has {len(each)} numbers, but must have {_SEVERAL[field.count]}")
    return tuple(_number(field, key, v) for v in each)


def _table(field: Field, value: Any) -> dict[str, Any]:
    """The values of a table's fields in laserpath's units, those that are given."""
    if not isinstance(value, Mapping):
        raise InputError(f"{field.name} is {_shown(value)}, but must be a table, as in [{field.name}]")
    try:
        return _values(field.within, value)
    except InputError as error:
        raise InputError(f"{field.name}: {error}") from None


def _number(field: Field, key: str, value: Any) -> float | int:
    """A finite number within the limit of its field, in laserpath's units."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise InputError(f"{key} is {_shown(value)}, but must be a number")
    if not Decimal(value).is_finite() or (value <= 0 if field.least is None else value < field.least):
        limit = {None: " above 0", -math.inf: ""}.get(field.least, f" of at least {field.least}")
        raise InputError(f"{key} is {_shown(value)}, but must be a finite number{limit}")
    unit, units = field.keys[key], field.units or quantities.NUMBER
    if field.kind is int:
        if value != int(value):
            raise InputError(f"{key} is {_shown(value)}, but must be a whole number")
        return int(value)
    number = quantities.convert(value, unit, units)
    if number > field.most:
        limit = f"{figure(field.most / float(units[unit]), 4)} {unit}".rstrip()
        raise InputError(f"{key} is {_shown(value)}, but must be at most {limit}")
    return number


def _shown(value: Any) -> str:
    """A value as it is written in the file."""
    if isinstance(value, Decimal):
        return str(value).lower().replace("infinity", "inf")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _fields_of_resin(table: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields for the absorption order given; a dose in the unit of another order is refused."""
    order = 1
    for field in RESIN:
        if field.name == "absorption_order":
            order = _value(field, table) or 1
    if order not in _ORDERS:
        raise InputError(f"absorption_order is {order}, but must be between 1 and {_ORDERS[-1]}")
    fields = (*resin_fields(order), *_of_model(table))
    key_of_order = next(key for field in fields for key in field.keys if field.name == "critical_dose")
    for other in _ORDERS:
        keys = Field("critical_dose", _doses(other)).keys
        if other != order and (given := [key for key in keys if key in table]):
            raise InputError(
                f"{given[0]} is a dose of absorption_order {other}, but that is {order}; give {key_of_order}"
            )
    return fields


def _of_model(table: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields that the model of the resin adds; one of them without the model is refused."""
    model = table.get("model", "dose")
    if model not in _MODELS:
        raise InputError(f"model is {_shown(model)}, but must be one of: {', '.join(_MODELS)}")
    if model == "kinetics":
        return KINETICS
    if given := [key for field in KINETICS for key in field.keys if key in table]:
        raise InputError(f'key {given[0]!r} is of another model; give model = "kinetics", too')
    return ()


def _kinetics(values: dict[str, Any]) -> Kinetics | None:
    """The rates, taken out of the values of a resin; None for the model of the dose."""
    if values.pop("model", "dose") == "dose":
        return None
    names = [field.name for field in KINETICS]
    return Kinetics(**{name: values.pop(name) for name in names if name in values})


_USUAL = Spot().profile
_CURVE = ("e_c", "penetration_depth", "layer")
_BLEACHING = ("bleached_depth", "bleaching_dose")


def _resin_values(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a `Resin`. Its critical dose and its contrast may each be given in one of two ways."""
    order = values.pop("absorption_order", 1)
    kinetics = _kinetics(values)
    curve = {name: values.pop(name) for name in _CURVE if name in values}
    if curve and "critical_dose" in values:
        raise InputError(f"gives the critical dose as well as {next(iter(curve))}; give one or the other")
    if curve and order != 1:
        raise InputError(
            f"{next(iter(curve))} is of a working curve, which has absorption_order 1, not {order}"
        )
    keys = {field.name: next(iter(field.keys)) for field in resin_fields(order)}
    missing = [repr(keys[name]) for name in _CURVE if name not in curve]
    if curve and missing:
        raise InputError(f"key {missing[0]} is missing: a working curve needs {', '.join(_CURVE)}")
    if curve:
        light = Absorption(curve["penetration_depth"], *(values.get(name) for name in _BLEACHING))
        if None not in (light.bleached, light.dose):
            values["critical_dose"] = float(light.above(curve["e_c"], curve["layer"]))
        else:  # or one of them is missing, as `Resin` says
            values["critical_dose"] = critical_dose(**curve)
        del curve["layer"]
        values |= curve
    if "critical_dose" not in values and kinetics and kinetics.critical_dose > 0:
        values["critical_dose"] = kinetics.critical_dose
    if "critical_dose" not in values:
        instead = f" (or {', '.join(missing)})" if order == 1 else ""
        raise InputError(f"key {keys['critical_dose']!r} is missing{instead}")
    gamma = values.pop("gamma", None)
    if gamma is not None:
        if "contrast" in values:
            raise InputError("gives contrast as well as gamma; give one or the other")
        values["contrast"] = contrast_of(gamma)
    return {**values, "order": order, "kinetics": kinetics}


def _named(values: Mapping[str, Any]) -> NamedProfile:
    """What is known of the profile that is named; of an unknown one, which `Spot` refuses, nothing."""
    return SPOT_PROFILES.get(values.get("profile", _USUAL), NamedProfile(shape="unknown"))


def _spot_values(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The values of a `Spot`. Its FWHM may be given in one of several ways."""
    if "dose_map" in values:
        values["dose_map"] = dose_map(values["dose_map"])
    photo = {name: values.pop(name) for name in ("pixel", "smooth") if name in values}
    file = values.pop("measured", None)
    if file is None and (photo or not _named(values).shape):
        raise InputError("key 'measured' is missing, the photograph or table of a measured spot")
    widths = _widths(values)
    if file is not None:
        beam = beams.read(folder / file, **photo)
        values = {"profile": "measured", **values, "measured": beam.measured}
        widths = widths or (beam.fwhm, beam.fwhm)
    if widths is None:
        raise InputError("key 'fwhm_mm' is missing (or 'na' and 'wavelength_nm')")
    along, across = widths
    if along != across and file is not None and not beam.measured.round:
        raise InputError(f"fwhm is a pair, but a {beam.measured.title} has its own shape; give one fwhm_um")
    # One width is taken exactly, not as the root of its square.
    size = along if along == across else math.sqrt(along * across)
    return {**values, "fwhm": size, "aspect": along / across}


_DOSE_MAP = re.compile(
    r"\s*(\d{1,3})\s*x\s*(\d{1,3})\s+over([^:]*)mm\s*(?:,\s*(\d{1,3}) prints?\s*)?:(.*)", re.DOTALL
)


def dose_map(text: str) -> DoseMap:
    """`4 x 5 over 0 0 20 10 mm, 2 prints: +1.5 -3 …`: rows, columns, box, and 100 (e^c − 1) of each c."""
    match = _DOSE_MAP.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        x0, y0, x1, y1 = map(float, match[3].split())
        percent = np.array(match[5].split(), dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log1p(percent / 100)
    except ValueError:
        raise InputError(
            f"dose_map begins with {text[:40]!r}, but must be as in "
            "'4 x 5 over 0 0 20 10 mm: +1.5 -3 …', with rows, columns, a box and percents"
        ) from None
    shape, prints = (int(match[1]), int(match[2])), int(match[4] or 0)
    return DoseMap((x0, y0, x1, y1), shape, tuple(logs.tolist()), prints)


def _widths(values: dict[str, Any]) -> tuple[float, float] | None:
    """FWHM along and across, removed from `values`; None if not given."""
    fwhm, radius, na = (values.pop(name, None) for name in ("fwhm", "radius_1e2", "na"))
    ways = {"the FWHM": fwhm, "radius_1e2": radius, "na": na}
    given = [name for name, way in ways.items() if way is not None]
    if len(given) > 1:
        raise InputError(f"gives {given[0]} as well as {given[1]}; give one or the other")
    if radius is not None:
        if _named(values).width_key != "radius_1e2":
            raise InputError("radius_1e2 is the width of a Gaussian; give profile = 'gaussian' with it")
        return gaussian_fwhm(radius[0]), gaussian_fwhm(radius[1])
    if na is not None:
        if "wavelength" not in values:
            raise InputError("key 'fwhm_mm' is missing (or 'wavelength_nm', with 'na')")
        if _named(values).width_key != "na":
            raise InputError(f"na is the width of an Airy spot, not of a spot {values['profile']!r}")
        fwhm = airy_fwhm(na, values["wavelength"])
        return fwhm, fwhm
    return fwhm
