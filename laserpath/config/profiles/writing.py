"""`Machine`, `Resin`, `Spot` → the text of a profile file, from which `fields` reads the same."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from laserpath.base.errors import InputError
from laserpath.base.quantities import quoted
from laserpath.config.profiles import bed, fields
from laserpath.physics.absorption import Absorption
from laserpath.types import DoseMap, Kinetics, LayerChange, Machine, Resin, Spot

_UNITS = {"acceleration": "mm/s2", "speed_max": "mm/min", "rapid_speed": "mm/min", "lag": "ms",
          "laser_on_delay": "ms", "laser_off_delay": "ms", "pwm_period": "ms", "host_delay": "ms",
          "square_corner_velocity": "mm/s", "z_speed_max": "mm/s", "z_acceleration": "mm/s2",
          "lift_speed": "mm/s", "sweep_speed": "mm/s"}  # fmt: skip
_DIGITS = 12


def text(noun: Machine | Resin | Spot) -> str:
    """The keys and values of the profile, one per line; a measured spot has none, and raises."""
    return "".join(f"{key} = {value}\n" for key, value in _rows(noun))


def _rows(noun: Machine | Resin | Spot) -> Iterator[tuple[str, str]]:
    if isinstance(noun, Machine):
        values = {field.name: getattr(noun, field.name, None) for field in fields.MACHINE}
        values["heights"] = noun.heights and bed.text(noun.heights)
        change, usual = noun.layer_change, LayerChange()
        own = {one.name: getattr(change, one.name) for one in fields.LAYER_CHANGE}
        own = {name: value for name, value in own.items() if value != getattr(usual, name)}
        values["layer_change"] = own or None
        return _written(fields.MACHINE, values | _shapers(noun))
    if isinstance(noun, Resin):
        known = fields.resin_fields(noun.order)
        values = {f.name: getattr(noun, f.name) for f in known if hasattr(noun, f.name)}
        values["development_bias"] = noun.development_bias or None
        if not noun.bottom_layers:
            values |= {"bottom_layers": None, "bottom_exposure": None}
        values["shrinkage"] = noun.shrinkage if any(noun.shrinkage) else None
        if noun.kinetics is not None:
            known = (*known, *fields.KINETICS)
            values["model"] = "kinetics"
            values |= {f.name: getattr(noun.kinetics, f.name) for f in fields.KINETICS}
        values |= {"source": noun.source or None, "calibrated": newest(noun)}
        if noun.order > 1:
            values["absorption_order"] = noun.order
        if noun.e_c is not None and noun.penetration_depth is not None:
            del values["critical_dose"]
            values["layer"] = float(Absorption.of(noun).reach(noun.critical_dose, noun.e_c))
        return _written(known, values)
    return _written(fields.SPOT, _spot(noun))


def _shapers(machine: Machine) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for axis, shaper in zip("xy", machine.shapers, strict=True):
        if shaper is not None:
            values |= {f"shaper_type_{axis}": shaper.kind, f"shaper_freq_{axis}": shaper.frequency}
            values |= {f"damping_ratio_{axis}": shaper.damping}
    return values


def _spot(spot: Spot) -> dict[str, Any]:
    if spot.measured is not None:
        raise InputError("a measured spot has no text of its own: its profile names a photograph or a table")
    values: dict[str, Any] = {"profile": spot.profile, "fwhm": (spot.fwhm, spot.fwhm)}
    if spot.aspect != 1:
        root = math.sqrt(spot.aspect)
        values |= {"fwhm": (spot.fwhm * root, spot.fwhm / root), "angle": spot.angle}
    if spot.defocus:
        values |= {"defocus": spot.defocus}
    if spot.dose_map is not None:
        values |= {"dose_map": dose_map(spot.dose_map)}
    return values | {"wavelength": spot.wavelength, "calibrated": newest(spot)}


def newest(noun: Resin | Spot) -> str | None:
    """The last line of what it was measured by: a program's head does not repeat all of them."""
    return noun.calibrated.rpartition("\n")[2] or None


def dose_map(made: DoseMap) -> str:
    """The text of which `fields.dose_map` reads the same, to a hundredth of a percent."""
    box = " ".join(f"{value:.6g}" for value in made.box)
    percent = " ".join(f"{value:+.2f}" for value in 100 * np.expm1(made.coefficients))
    known = f", {made.prints} print{'s' * (made.prints != 1)}" if made.prints else ""
    return f"{made.shape[0]} x {made.shape[1]} over {box} mm{known}: {percent}"


def measures(noun: Any) -> dict[str, str]:
    """The name of each field that has a unit → its value, as in a profile: `speed_max` → `3000 mm/min`.

    noun: a machine, resin or spot, its kinetics, or what is done between layers.
    """
    known = _OF_KIND[type(noun)] if type(noun) in _OF_KIND else fields.resin_fields(noun.order)
    found = {}
    for field in known:
        value, unit = getattr(noun, field.name, None), _unit_of(field)
        if value is None or not unit or not field.units:
            continue
        several = value if isinstance(value, tuple) else (value,)
        numbers = [f"{float(Fraction(one) / field.units[unit]):.10g}" for one in several]
        place = field.name in ("sweep_from", "sweep_to")
        joined = ", " if place else " to " if field.name == "z_travel" else " × "
        shown = f"({joined.join(numbers)})" if place else joined.join(numbers)
        found[field.name] = shown + ("" if unit == "deg" else " ") + spelled(unit)
    return found


_OF_KIND = {
    Machine: fields.MACHINE, Spot: fields.SPOT, Kinetics: fields.KINETICS, LayerChange: fields.LAYER_CHANGE,
}  # fmt: skip


def spelled(unit: str) -> str:
    """A unit as people read it: `mm/s2` → `mm/s²`, `1/s` → `per s`, `percent` → `%`."""
    words = {"um": "µm", "um2/s": "µm²/s", "deg": "°", "percent": "%"}
    return words.get(unit, re.sub(r"(?<=[a-zW])(\d)", lambda n: _RAISED[n[1]], unit).replace("1/", "per "))


_RAISED = dict(zip("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))


def _unit_of(field: fields.Field) -> str:
    """The usual unit of a field, or the first of its units; '' for a plain number."""
    return _UNITS.get(field.name) or next(iter(field.units or [""]))


def _written(known: tuple[fields.Field, ...], values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Key and value of each field that is set, in the usual unit, or the first of its units."""
    for field in known:
        value = values.get(field.name)
        if value is None:
            continue
        unit = _unit_of(field)
        key = next(key for key, its in field.keys.items() if its == unit)
        if field.within:
            # On lines of their own, which the head of a program does not break as it would a long table.
            yield from ((f"{key}.{name}", one) for name, one in _written(field.within, value))
            continue
        yield key, _value(value, field.units[unit] if field.units else None)


def _value(value: Any, unit: Fraction | None) -> str:
    """A number in its unit, several numbers (one for all if they are equal), or text in quotes."""
    if unit is None:
        return quoted(str(value))
    if isinstance(value, tuple):
        parts = [_value(part, unit) for part in value]
        return parts[0] if len(set(parts)) == 1 else f"[{', '.join(parts)}]"
    return f"{float(Fraction(value) / unit):.{_DIGITS}g}"
