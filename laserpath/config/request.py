"""Options of a plan by name → process, settings, and how to read and arrange the design.

    given = {"machine": "my-laser.toml", "critical_dose": 0.35, "quality": "fine", "rotate": 90.0}
    process, settings = process_of(given), settings_of(given, fwhm=0.1)

`options.by_name()` has all names, each with its parser, which accepts values as users write them:
`"35 mJ/cm2"`, `"0.1fwhm"`. An option that is missing or None keeps the value of its profile, or its default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from laserpath.base.errors import InputError
from laserpath.base.quantities import Length
from laserpath.config import layers, options, profiles
from laserpath.config.values import colour_resins

if TYPE_CHECKING:  # the command line's help does not wait for NumPy and Shapely
    from laserpath.design.arrange import Arrangement
    from laserpath.design.reading import Reading
    from laserpath.types import Design, Machine, Process, Resin, Settings, Spot

Values = Mapping[str, Any]
"""Values by the names of the options, as their parsers make them."""

_PITCH_LIMITS = (0.1, 10.0)
"""In FWHM, as in `Settings`; checked here so that the message can name them in mm."""


def over(usual: Values, given: Values) -> dict[str, Any]:
    """`usual`, overridden by `given`; options that set the same in another way are overridden, too.

    `layers` that are given keep the settings that are usual for them.
    """
    known = options.by_name()
    replaced = {other for name in given if name in known for other in known[name].replaces}
    both = {**{name: value for name, value in usual.items() if name not in replaced}, **given}
    if usual.get("layers") and given.get("layers"):
        both["layers"] = layers.chosen(_choices(usual), _choices(given))
    return both


def process_of(given: Values) -> Process:
    """Machine, resin and spot."""
    from laserpath.types import Process

    return Process(spot=_spot(given), resin=_resin(given), machine=machine_of(given))


def machine_of(given: Values) -> Machine:
    """The machine alone."""
    machine = profiles.machine(_profile(given, "machine"))
    if given.get("heights") is None:
        return machine
    from laserpath.config.profiles import bed

    return replace(machine, heights=bed.read(given["heights"]))


def _profile(given: Values, kind: str) -> Any:
    """The profile that is given. An empty name, as of a shell's unset variable, is not the default's."""
    return profiles.DEFAULTS[kind] if given.get(kind) is None else given[kind]


class PlannedPart(NamedTuple):
    """One design of a drawing or a board, and what it is planned with."""

    design: Design
    process: Process
    settings: Settings

    @property
    def kind(self) -> str:
        """What it is of the drawing: `colour` or `layer`."""
        return self.design.part.kind if self.design.part else ""

    @property
    def drawing(self) -> str:
        """The name of the drawing, or of the board."""
        return self.design.part.drawing if self.design.part else self.design.name


def planned_parts(
    given: Values, process: Process, settings: Settings, parts: Sequence[Design]
) -> tuple[PlannedPart, ...]:
    """The parts to plan, in the order of `layers`, each with its own resin, dose and settings.

    process, settings: of what nothing else is said of.  parts: of `design.load_colours`, `load_layers` or a
    board's `designs`; a single design is planned whatever `layers` has on. An own resin has its own critical
    dose and tone.
    """
    own = _colour_resins(given, parts)
    usual = {
        k: PlannedPart(part, replace(process, resin=own.get(k, process.resin)), settings)
        for k, part in enumerate(parts)
    }
    choices = _choices(given)
    out = dict[int, PlannedPart]()
    for choice in choices:
        k = _matching(choice.name, parts)
        if k is None or not (choice.on or len(parts) == 1):
            continue
        if k in out:
            raise InputError(f"layer {choice.name!r} is listed twice, by its number and by its name")
        if k in own and "resin" in choice.values:
            raise InputError(f"colour {choice.name!r} is given two resins, by layers and by colour_resin")
        try:
            out[k] = _with_own(usual[k], choice, given)
        except InputError as error:
            raise InputError(f"layer {choice.name!r}: {error}") from None
    if choices and not out and len(parts) > 1:
        raise InputError(layers.NONE_ON)
    return tuple(out.values()) or tuple(usual.values())


def _choices(given: Values) -> tuple[layers.LayerChoice, ...]:
    """What is said of each layer."""
    said = given.get("layers")
    return options.by_name()["layers"].parse(said) if said else ()


def _matching(name: str, parts: Sequence[Design]) -> int | None:
    """Which of the parts a layer or colour of that name is; None: it is not wanted."""
    from laserpath.design.colours import chosen

    kinds = {part.part.kind for part in parts if part.part}
    if kinds == {"colour"} and len(parts) > 1:
        return parts.index(chosen(parts, name))
    wanted = name.strip().lower() if kinds == {"colour"} else name
    for k, one in enumerate(parts):
        part = one.part
        if part and wanted in (part.name, *((str(part.number),) if part.kind == "colour" else ())):
            return k
    return None


def _with_own(usual: PlannedPart, choice: layers.LayerChoice, given: Values) -> PlannedPart:
    """A part with the resin, dose and settings that are said of it."""
    from laserpath.physics import optics

    every, process = over(given, choice.values), usual.process
    resin = _resin(every) if "resin" in choice.values else process.resin
    if choice.dose:
        resin = choice.dose.of(resin)
    settings = settings_of(every, optics.fwhm(process.spot)) if choice.values else usual.settings
    return usual._replace(process=replace(process, resin=resin), settings=settings)


def _colour_resins(given: Values, parts: Sequence[Design]) -> dict[int, Resin]:
    """The own resin of each part that `colour_resin` gives one."""
    from laserpath.design.colours import chosen

    resins: dict[int, str] = {}
    for text in colour_resins(given.get("colour_resin", ())):
        which, _, resin = text.partition("=")
        k = parts.index(chosen(parts, which))
        if k in resins:
            raise InputError(f"colour {which.strip()} is given two resins, {resins[k]} and {resin.strip()}")
        resins[k] = resin.strip()
    return {k: _resin(over(given, {"resin": resin})) for k, resin in resins.items()}


def _resin(given: Values) -> Resin:
    changes = _fields("Resin", given)
    resin = profiles.resin(_profile(given, "resin"))
    if resin.order > 1 and "critical_dose" in changes:
        raise InputError(
            f"critical dose is in mJ/cm2, but {resin.name!r} absorbs {resin.order} photons at once; "
            "write its dose into the resin's profile"
        )
    if "critical_dose" in changes:
        changes |= {"source": "", "calibrated": ""}  # of the dose that this one replaces
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


def process_and_settings_of(given: Values) -> tuple[Process, Settings]:
    """Machine, resin and spot, and how to plan for them."""
    from laserpath.physics import optics

    process = process_of(given)
    return process, settings_of(given, optics.fwhm(process.spot))


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
    choices = _choices({"layers": values.pop("split", None)})
    wanted = tuple(values.pop("layers", ()))
    own = [one.name for one in choices if "follow" in one.values]
    if own and values.get("colours"):
        raise InputError(f"layer {own[0]!r}: follow is of all colours, or of none: give --follow")
    if choices and not values.get("colours"):
        values["split"] = tuple(one.name for one in choices)
        every = values.get("follow", False)
        values["followed"] = tuple(one.name for one in choices if one.values.get("follow", every))
        values["follow"] = len(values["followed"]) == len(choices)
        if not wanted:
            on = layers.names_on(choices)
            wanted = on if len(on) < len(choices) else ()
    return Reading(tolerance, layers=wanted, **values)


def arrangement_of(given: Values) -> Arrangement:
    """How to turn, size and repeat the design."""
    from laserpath.design.alignment import marks_of
    from laserpath.design.arrange import Arrangement

    fields = _fields("Arrangement", given)
    return Arrangement(**{**fields, "align": marks_of(fields.get("align", ()))})


def _fields(record: str, given: Values) -> dict[str, Any]:
    """The fields of a record that options set, with their values; a field's own name is an option's, too."""
    known = options.by_name()
    values = {
        o.field: given.get(o.name, None if o.field in known else given.get(o.field))
        for o in options.setting(record)
    }
    return {field: value for field, value in values.items() if value is not None}
