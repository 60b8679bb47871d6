"""The options of `plan`: their types, their groups in the help, and what they make of the profiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import click

from laserpath import profiles
from laserpath.choices import INITIAL_CURVES, QUALITIES
from laserpath.errors import InputError
from laserpath.quantities import ANGLE, DOSE, LENGTH, NUMBER, Units, convert, parse

if TYPE_CHECKING:
    from laserpath.types import Process, Resin, Settings, Spot

    Type = click.ParamType[Any]
else:
    Type = click.ParamType  # generic only for the type checker, and only since click 8.4

Command = TypeVar("Command", bound=Callable[..., Any])

_FWHM = "fwhm"
_PITCH_LIMITS = (0.1, 10.0)


class Quantity(Type):
    """A number with a unit, converted to ours. unit: of a bare number."""

    def __init__(self, name: str, units: Units, unit: str, *, low: float | None = 0.0) -> None:
        self.name, self.units, self.unit, self.low = name, units, unit, low

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Fail with a sentence that quotes the value."""
        if not isinstance(value, str):
            return value
        try:
            number, unit = parse(value, self.units, self.unit)
            result = convert(number, unit, self.units)
        except InputError as error:
            self.fail(str(error), param, ctx)
        if self.low is not None and result <= self.low:
            self.fail(f"{value!r} must be above {self.low:g}", param, ctx)
        return self.wrap(result, unit)

    def wrap(self, value: float, unit: str) -> Any:
        """What the option's value is."""
        return value


@dataclass(frozen=True, slots=True)
class Length:
    """mm, or multiples of the spot's FWHM."""

    value: float
    relative: bool

    def in_fwhm(self, fwhm: float) -> float:
        """fwhm: of the spot, mm."""
        return self.value if self.relative else self.value / fwhm


class RelativeLength(Quantity):
    """A length in mm, µm … or in FWHM of the spot."""

    def __init__(self) -> None:
        super().__init__("length", {**LENGTH, _FWHM: Fraction(1)}, "mm")

    def wrap(self, value: float, unit: str) -> Length:
        """Remembers whether the unit was the spot's FWHM."""
        return Length(value, unit == _FWHM)


class GroupedOption(click.Option):
    """An option under a heading of the help."""

    def __init__(self, *args: Any, heading: str = "Other", **more: Any) -> None:
        super().__init__(*args, **more)
        self.heading = heading


class GroupedCommand(click.Command):
    """A command whose help lists the options by heading."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Headings in the order of their first options."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if record and isinstance(option, click.Option):
                rows.setdefault(getattr(option, "heading", "Other"), []).append(record)
        for heading, records in rows.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _names(kind: str) -> str:
    return f"Name or TOML file  [{profiles.DEFAULTS[kind]}; `laserpath profiles` lists all]"


_OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "Output": {
        "-o --output": {"metavar": "DIR", "default": ".", "help": "Folder for the files  [the current one]"},
        "--frame": {
            "is_flag": True,
            "help": "Write DESIGN.frame.gcode too: a weak pass around the design's bounding box. "
            "Its light exposes resin as well",
        },
        "--json": {"is_flag": True, "help": "Figures and files as JSON on stdout, nothing else there"},
        "-q --quiet": {"is_flag": True, "help": "Say nothing but errors and warnings"},
    },
    "Machine, resin, spot": {
        "--machine": {"metavar": "NAME|FILE", "help": _names("machine")},
        "--resin": {"metavar": "NAME|FILE", "help": _names("resin")},
        "--critical-dose": {
            "type": Quantity("dose", DOSE, "mJ/cm2"),
            "metavar": "DOSE",
            "help": "Dose that cures the layer (or clears it), mJ/cm2  [the resin's]",
        },
        "--tone": {
            "type": click.Choice(["negative", "positive"]),
            "help": "Exposed stays, or is washed away  [the resin's]",
        },
        "--spot": {"metavar": "NAME|FILE", "help": _names("spot")},
        "--spot-fwhm": {
            "type": Quantity("length", LENGTH, "mm"),
            "metavar": "LENGTH",
            "help": "Full width at half maximum: 0.1, 0.1mm, 100um",
        },
        "--na": {
            "type": Quantity("number", NUMBER, ""),
            "metavar": "NUMBER",
            "help": "Numerical aperture, with --wavelength: FWHM = 0.5145 wavelength/NA",
        },
        "--wavelength": {
            "type": Quantity("length", LENGTH, "nm"),
            "metavar": "LENGTH",
            "help": "Of the light: 405, 405nm",
        },
    },
    "Plan": {
        "--quality": {
            "type": click.Choice(QUALITIES),
            "help": "From the fastest to write to the truest edges  [standard]",
        },
        "--initial": {
            "type": click.Choice(INITIAL_CURVES),
            "help": "Starting curve; auto takes what a short trial finds best for each part  [auto]",
        },
        "--pitch": {
            "type": RelativeLength(),
            "metavar": "LENGTH",
            "help": "Between lines: 0.12mm, 120um, 1.2fwhm  [1.2fwhm]",
        },
        "--angle": {
            "type": Quantity("angle", ANGLE, "deg", low=None),
            "metavar": "DEGREES",
            "help": "Of the hatch, from +x  [0]",
        },
        "--iterations": {
            "type": click.IntRange(min=0),
            "metavar": "N",
            "help": "Of the optimiser, at most  [500]",
        },
        "--seed": {
            "type": click.IntRange(min=0),
            "metavar": "N",
            "help": "Of the random starting curve  [0]",
        },
        "--passes": {
            "type": click.IntRange(1, 100),
            "metavar": "N",
            "help": "Expose so many times, each with its share of the power  [1]",
        },
        "--origin": {
            "type": click.Choice(["page", "design", "centre"]),
            "help": "Work zero: lower left corner of the page or of the design, or its centre  [page]",
        },
        "--max-epe": {
            "type": RelativeLength(),
            "metavar": "LENGTH",
            "help": "Tolerance on the edge (95 % of it): 10um, 0.1fwhm. Takes the fastest plan found that "
            "keeps it, whatever the quality; exit code 3 if none does  [none]",
        },
        "--blur": {
            "type": Quantity("number", NUMBER, ""),
            "metavar": "N",
            "help": "The edges shall be good with a spot N times as wide too, 1 to 2, as where the plate is "
            "tilted or the focus is off; 1.15 costs a little truth in focus, 1 counts none  [1]",
        },
    },
}
"""By heading. What stands in [brackets] is the default, of `Settings` or of a profile."""


def plan_options(command: Command) -> Command:
    """All options of `plan`, for a function that takes them as keywords."""
    every = [(heading, names, more) for heading, group in _OPTIONS.items() for names, more in group.items()]
    for heading, names, more in reversed(every):
        command = click.option(*names.split(), cls=GroupedOption, heading=heading, **more)(command)
    return command


def process_of(said: dict[str, Any]) -> Process:
    """The physics that the options and the profiles say."""
    from laserpath.types import Process

    return Process(
        spot=_spot(said),
        resin=_resin(said),
        machine=profiles.machine(said["machine"] or profiles.DEFAULTS["machine"]),
    )


def _resin(said: dict[str, Any]) -> Resin:
    from dataclasses import replace

    changes = {name: said[name] for name in ("critical_dose", "tone") if said[name] is not None}
    resin = profiles.resin(said["resin"] or profiles.DEFAULTS["resin"])
    if resin.order > 1 and "critical_dose" in changes:
        raise click.UsageError(
            f"--critical-dose is in mJ/cm2, but {resin.name!r} absorbs {resin.order} photons at once; "
            "write its dose into the resin's profile."
        )
    return replace(resin, **changes)


def _spot(said: dict[str, Any]) -> Spot:
    ways = [option for option in ("spot", "spot_fwhm", "na") if said[option] is not None]
    if len(ways) > 1:
        first, second = (f"--{way.replace('_', '-')}" for way in ways[:2])
        raise click.UsageError(f"{first} and {second} both say what the spot is; give one of them.")
    if (said["na"] is None) != (said["wavelength"] is None):
        given, lacking = ("na", "wavelength") if said["wavelength"] is None else ("wavelength", "na")
        raise click.UsageError(f"--{given} needs --{lacking} with it.")
    if said["spot_fwhm"] is None and said["na"] is None:
        return profiles.spot(said["spot"] or profiles.DEFAULTS["spot"])
    from laserpath.optics import airy_fwhm
    from laserpath.types import Spot

    return Spot(said["spot_fwhm"] or airy_fwhm(said["na"], said["wavelength"]))


def settings_of(said: dict[str, Any], fwhm: float) -> Settings:
    """The choices that the options say; fwhm: of the spot, mm."""
    from laserpath.types import Settings

    plain = ("quality", "initial", "angle", "iterations", "seed", "passes", "origin", "blur")
    values = {name: said[name] for name in plain if said[name] is not None}
    for option, name in (("pitch", "pitch_fwhm"), ("max_epe", "max_epe_fwhm")):
        if said[option] is not None:
            values[name] = said[option].in_fwhm(fwhm)
    low, high = _PITCH_LIMITS
    if not low <= values.get("pitch_fwhm", 1) <= high:
        raise InputError(
            f"pitch {values['pitch_fwhm'] * fwhm:g} mm must be between {low:g} and {high:g} times "
            f"the spot's {fwhm:g} mm"
        )
    return Settings(**values)
