"""Options with a unit that no plan has: line energies, measuring errors, a speed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from laserpath.base.errors import InputError
from laserpath.base.quantities import DOSE, LENGTH, SPEED, Units
from laserpath.cli.grouped import Said
from laserpath.config import request

LINE_ENERGY: Units = {"mJ/mm": Fraction(1), "uJ/mm": Fraction(1, 1000), "J/m": Fraction(1)}


class Amount(Said):
    """A number above 0 with a unit; unit: of a bare one."""

    def __init__(self, name: str, units: Units, unit: str) -> None:
        super().__init__(name)
        self._read = request.quantity(units, unit)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Fail with the sentence that quotes the value."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def length(unit: str = "um") -> Amount:
    """In mm."""
    return Amount("length", LENGTH, unit)


def speed() -> Amount:
    """In mm/s."""
    return Amount("speed", SPEED, "mm/s")


def dose() -> Amount:
    """In mJ/mm²."""
    return Amount("dose", DOSE, "mJ/cm2")


def line_energy() -> Amount:
    """In mJ/mm."""
    return Amount("line energy", LINE_ENERGY, "mJ/mm")
