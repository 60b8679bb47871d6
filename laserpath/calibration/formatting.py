"""Estimates in the words and units of people."""

from __future__ import annotations

from laserpath.calibration.data import LINEAR
from laserpath.calibration.estimates import Estimate
from laserpath.resin import dose_unit

_PEOPLE = {
    "fwhm": ("spot's FWHM", 1000.0, "µm"),
    "aspect": ("FWHM along x ÷ along y", 1.0, ""),
    "critical_dose": ("critical dose", 100.0, "mJ/cm²"),
    "penetration_depth": ("penetration depth", 1000.0, "µm"),
    "e_c": ("E_c, where gelling begins", 100.0, "mJ/cm²"),
    LINEAR: ("reciprocity exponent m", 1.0, ""),
}
"""What people call it, our unit in theirs, and that."""
PLURAL = {"width": "widths", "diameter": "diameters", "merged": "gaps of wedges", "depth": "depths"}
"""Of the sizes."""


def in_words(estimate: Estimate, order: int) -> tuple[str, float, float, float, str]:
    """(name, value, low, high, unit) as people say them."""
    name, scale, unit = _PEOPLE[estimate.name]
    if unit == "mJ/cm²" and order > 1:
        scale, unit = 1.0, dose_unit(order)
    return name, estimate.value * scale, estimate.low * scale, estimate.high * scale, unit


def shown(value: float) -> str:
    """Four digits, or three behind the point of what is nearly 0."""
    return f"{value:.4g}" if abs(value) >= 0.01 else f"{value:.3f}"


def sentence(estimate: Estimate, order: int) -> str:
    """`spot's FWHM 79.2 µm, 95 % from 78.0 to 80.4`."""
    name, value, low, high, unit = in_words(estimate, order)
    return f"{name} {shown(value)}{' ' + unit if unit else ''}, 95 % from {shown(low)} to {shown(high)}"
