"""Types of options with units that only calibration has: line energies, measuring errors, a speed."""

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
    """A number above 0 with a unit. unit: assumed if the text names none."""

    def __init__(self, name: str, units: Units, unit: str) -> None:
        super().__init__(name)
        self._read = request.quantity(units, unit)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The parsed value; fails with a sentence that quotes the text."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def length(unit: str = "um") -> Amount:
    """A length, as mm."""
    return Amount("length", LENGTH, unit)


def speed() -> Amount:
    """A speed, as mm/s."""
    return Amount("speed", SPEED, "mm/s")


def dose() -> Amount:
    """A dose, as mJ/mm²."""
    return Amount("dose", DOSE, "mJ/cm2")


def line_energy() -> Amount:
    """An energy per length, as mJ/mm."""
    return Amount("line energy", LINE_ENERGY, "mJ/mm")
