"""What a project file says of each layer, colour of a drawing, or layer of a board.

    [[layers]]
    name = "pads"
    dose = 1.2               # times the resin's critical dose; "42mJ/cm2" is one
    passes = 2
    resin = "clear.toml"

    [[layers]]
    name = "frame"
    on = false

They are written in this order. A name alone, as in `layers = ["pads", "frame"]`, is a layer that is on.
Besides `name`, `on`, `dose` and `resin` a layer may have any option of the plan, which holds for it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from laserpath.base.errors import InputError, did_you_mean
from laserpath.base.quantities import DOSE, convert, parse
from laserpath.config import values
from laserpath.config.values import Option

if TYPE_CHECKING:
    from laserpath.types import Resin

FACTORS = (0.1, 10.0)
"""Least and largest dose of a layer, in critical doses of its resin: what differs by more is another resin,
or was meant in mJ/cm²."""


@dataclass(frozen=True, slots=True)
class Dose:
    """The dose at which a layer is planned to cure. factor: in critical doses of its resin.

    absolute: mJ/mm². One of them is given.
    """

    factor: float | None = None
    absolute: float | None = None

    def of(self, resin: Resin) -> Resin:
        """The resin with this critical dose."""
        if resin.kinetics is not None:
            raise InputError(
                f"it has a dose, but what cures of {resin.name!r} is decided by its reaction, and by no "
                "critical dose; leave the dose out, or take another resin"
            )
        if self.factor is not None:
            return replace(resin, critical_dose=self.factor * resin.critical_dose)
        if resin.order > 1:
            raise InputError(
                f"its dose is in mJ/cm2, but {resin.name!r} absorbs {resin.order} photons at "
                "once; give it as a factor, such as 1.2"
            )
        assert self.absolute is not None
        return replace(resin, critical_dose=self.absolute)


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """What is said of a layer. on: whether it is planned.  values: of its own resin, and of the plan."""

    name: str
    on: bool = True
    dose: Dose | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LayerList:
    """Parser of layers. own: the options that each may have for itself."""

    own: tuple[Option, ...]

    def __call__(self, value: Any) -> tuple[LayerChoice, ...]:
        """`top,text`, a list of names, or of tables with a name each."""
        if isinstance(value, str):
            given: Sequence[Any] = [one.strip() for one in value.split(",") if one.strip()]
        else:
            given = value if isinstance(value, list | tuple) else [value]
        if not given:
            raise InputError(f"{value!r} names no layer")
        out = tuple(map(self._layer, given))
        names = [one.name for one in out]
        again = next((name for k, name in enumerate(names) if name in names[:k]), None)
        if again is not None:
            raise InputError(f"layer {again!r} is listed twice; each layer has one program")
        return out

    def _layer(self, value: Any) -> LayerChoice:
        if isinstance(value, LayerChoice):
            return value
        if not isinstance(value, Mapping):
            return LayerChoice(values.text(value))
        table = dict(value)
        if "name" not in table:
            raise InputError('a layer has no name; it begins with [[layers]] and name = "…"')
        name = values.text(table.pop("name"))
        parsers: dict[str, Callable[[Any], Any]] = {"on": values.yes_no, "dose": _dose}
        parsers |= {one.name: one.parse for one in self.own}
        said = {}
        for key, one in table.items():
            plain = key.replace("-", "_")
            if plain not in parsers:
                near = did_you_mean(plain, parsers) or f"; known: name, {', '.join(parsers)}"
                raise InputError(f"layer {name!r}: key {key!r} is unknown{near}")
            try:
                said[plain] = parsers[plain](one)
            except InputError as error:
                raise InputError(f"layer {name!r}: {key}: {error}") from None
        return LayerChoice(name, said.pop("on", True), said.pop("dose", None), said)


NONE_ON = "no layer is on: at least one of the layers must be planned"


def names_on(choices: Sequence[LayerChoice]) -> tuple[str, ...]:
    """The names of the layers that are on; raises InputError if there are layers, and none of them is."""
    names = tuple(one.name for one in choices if one.on)
    if choices and not names:
        raise InputError(NONE_ON)
    return names


def chosen(usual: Sequence[LayerChoice], given: Sequence[LayerChoice]) -> tuple[LayerChoice, ...]:
    """The given layers, each with what is usual for it; the others are off, and still set size and place."""
    own = {one.name: replace(one, on=True) for one in usual}
    names = {one.name for one in given}
    rest = (replace(one, on=False) for one in usual if one.name not in names)
    return (*(own.get(one.name, one) for one in given), *rest)


def _dose(value: Any) -> Dose:
    """`1.2`: a factor; `42mJ/cm2`: a dose."""
    written = values.as_written(value)
    number, unit = parse(written, {"": Fraction(1), **DOSE}, "")
    if unit:
        absolute = convert(number, unit, DOSE)
        if absolute <= 0:
            raise InputError(f"{written!r} must be above 0")
        return Dose(absolute=absolute)
    low, high = FACTORS
    if not low <= number <= high:
        meant = f"; a dose has a unit: {written}mJ/cm2" if number > 0 else ""
        raise InputError(
            f"{written} is a factor of the resin's critical dose and must be {low:g} to {high:g}{meant}"
        )
    return Dose(factor=float(number))
