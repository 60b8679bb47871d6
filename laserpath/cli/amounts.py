"""Types of options with units that only calibration has: line energies, measuring errors, a speed."""

from __future__ import annotations

from fractions import Fraction

from laserpath.base.quantities import DOSE, LENGTH, SPEED, Units
from laserpath.cli.grouped import Parsed
from laserpath.config.values import Quantity

LINE_ENERGY: Units = {"mJ/mm": Fraction(1), "uJ/mm": Fraction(1, 1000), "J/m": Fraction(1)}


def length(unit: str = "um") -> Parsed:
    """A length, as mm."""
    return Parsed(Quantity(LENGTH, unit), "length")


def speed() -> Parsed:
    """A speed, as mm/s."""
    return Parsed(Quantity(SPEED, "mm/s"), "speed")


def dose() -> Parsed:
    """A dose, as mJ/mm²."""
    return Parsed(Quantity(DOSE, "mJ/cm2"), "dose")


def line_energy() -> Parsed:
    """An energy per length, as mJ/mm."""
    return Parsed(Quantity(LINE_ENERGY, "mJ/mm"), "line energy")
