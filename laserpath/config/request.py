"""Options of a plan by name → process, settings, and how to read and arrange the design.

    given = {"machine": "my-laser.toml", "critical_dose": 0.35, "quality": "fine", "rotate": 90.0}
    process, settings = process_of(given), settings_of(given, fwhm=0.1)

`options.by_name()` has all names, each with its parser, which accepts values as users write them:
`"35 mJ/cm2"`, `"0.1fwhm"`. An option that is missing or None keeps the value of its profile, or its default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from laserpath.base.errors import InputError
from laserpath.base.quantities import Length
from laserpath.config import options, profiles
from laserpath.config.values import colour_resins

if TYPE_CHECKING:  # the command line's help does not wait for NumPy and Shapely
    from laserpath.design.arrange import Arrangement
    from laserpath.design.reading import Reading
    from laserpath.types import Design, Process, Resin, Settings, Spot

Values = Mapping[str, Any]
"""Values by the names of the options, as their parsers make them."""

_PITCH_LIMITS = (0.1, 10.0)
"""In FWHM, as in `Settings`; checked here so that the message can name them in mm."""


def over(usual: Values, given: Values) -> dict[str, Any]:
    """`usual`, overridden by `given`; options that set the same in another way are overridden, too."""
    known = options.by_name()
    replaced = {other for name in given if name in known for other in known[name].replaces}
    return {**{name: value for name, value in usual.items() if name not in replaced}, **given}


def process_of(given: Values) -> Process:
    """Machine, resin and spot."""
    from laserpath.types import Process

    return Process(
        spot=_spot(given),
        resin=_resin(given),
        machine=profiles.machine(_profile(given, "machine")),
    )


def _profile(given: Values, kind: str) -> Any:
    """The profile that is given. An empty name, as of a shell's unset variable, is not the default's."""
    return profiles.DEFAULTS[kind] if given.get(kind) is None else given[kind]


def colour_processes(given: Values, process: Process, parts: Sequence[Design]) -> tuple[Process, ...]:
    """The process of each colour, which differ in their resins. parts: of `design.load_colours`.

    process: of colours that are given no resin of their own. An own resin has its own critical dose and tone.
    """
    from dataclasses import replace

    from laserpath.design.colours import chosen

    resins: dict[str, str] = {}
    for text in colour_resins(given.get("colour_resin", ())):
        which, _, resin = text.partition("=")
        name = chosen(parts, which).name
        if name in resins:
            raise InputError(
                f"colour {which.strip()} is given two resins, {resins[name]} and {resin.strip()}"
            )
        resins[name] = resin.strip()
    own = {name: _resin(over(given, {"resin": resin})) for name, resin in resins.items()}
    return tuple(replace(process, resin=own.get(part.name, process.resin)) for part in parts)


def _resin(given: Values) -> Resin:
    from dataclasses import replace

    changes = _fields("Resin", given)
    resin = profiles.resin(_profile(given, "resin"))
    if resin.order > 1 and "critical_dose" in changes:
        raise InputError(
            f"critical dose is in mJ/cm2, but {resin.name!r} absorbs {resin.order} photons at once; "
            "write its dose into the resin's profile"
        )
    return replace(resin, **changes)


def _spot(given: Values) -> Spot:
    ways = [name for name in ("spot", "spot_fwhm", "na") if given.get(name) is not None]
    if len(ways) > 1:
        first, second = (way.replace("_", "-") for way in ways[:2])
        raise InputError(f"{first} and {second} both describe the spot; give one of them")
    if (given.get("na") is None) != (given.get("wavelength") is None):
        one, missing = ("na", "wavelength") if given.get("wavelength") is None else ("wavelength", "na")
        raise InputError(f"{one} needs {missing} with it")
    if given.get("spot_fwhm") is None and given.get("na") is None:
        return profiles.spot(_profile(given, "spot"))
    from laserpath.physics.optics import airy_fwhm
    from laserpath.types import Spot

    return Spot(given.get("spot_fwhm") or airy_fwhm(given["na"], given["wavelength"]))


def settings_of(given: Values, fwhm: float) -> Settings:
    """How to plan. fwhm: of the spot, mm, for the lengths that are given in mm.

    The origin is 'auto' unless it is given, not that of `Settings` (`options.UNLESS_GIVEN`).
    """
    from laserpath.types import Settings

    values = {**options.UNLESS_GIVEN, **_fields("Settings", given)}
    values |= {field: v.in_fwhm(fwhm) for field, v in values.items() if isinstance(v, Length)}
    low, high = _PITCH_LIMITS
    if not low <= values.get("pitch_fwhm", 1) <= high:
        raise InputError(
            f"pitch {values['pitch_fwhm'] * fwhm:g} mm must be between {low:g} and {high:g} times "
            f"the spot's {fwhm:g} mm"
        )
    return Settings(**values)


def reading_of(given: Values, tolerance: float) -> Reading:
    """How to read the design's file. tolerance: largest error of flattened curves, mm."""
    from laserpath.design.reading import Reading

    values = _fields("Reading", given)
    return Reading(tolerance, **{**values, "layers": tuple(values.get("layers", ()))})


def arrangement_of(given: Values) -> Arrangement:
    """How to turn, size and repeat the design."""
    from laserpath.design.alignment import marks_of
    from laserpath.design.arrange import Arrangement

    fields = _fields("Arrangement", given)
    return Arrangement(**{**fields, "align": marks_of(fields.get("align", ()))})


def _fields(record: str, given: Values) -> dict[str, Any]:
    """The fields of a record that options set, with their values; a field's own name is an option's, too."""
    values = {o.field: given.get(o.name, given.get(o.field)) for o in options.setting(record)}
    return {field: value for field, value in values.items() if value is not None}
