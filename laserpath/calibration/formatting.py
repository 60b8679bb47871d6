"""Estimates for display, in the usual units."""

from __future__ import annotations

from laserpath.calibration.data import LINEAR, OFFSET
from laserpath.calibration.estimates import Estimate
from laserpath.resin import dose_unit

_DISPLAYED = {
    "fwhm": ("spot's FWHM", 1000.0, "µm"),
    "aspect": ("FWHM along x ÷ along y", 1.0, ""),
    "critical_dose": ("critical dose", 100.0, "mJ/cm²"),
    "penetration_depth": ("penetration depth", 1000.0, "µm"),
    "e_c": ("E_c, where gelling begins", 100.0, "mJ/cm²"),
    LINEAR: ("reciprocity exponent m", 1.0, ""),
    OFFSET: ("level_offset o of the light", 1.0, "levels"),
}
"""Name → displayed name, number of displayed units in our unit, displayed unit."""
PLURAL = {"width": "widths", "diameter": "diameters", "merged": "gaps of wedges", "depth": "depths"}
"""Size → its plural in sentences."""


def in_words(estimate: Estimate, order: int) -> tuple[str, float, float, float, str]:
    """(name, value, low, high, unit) for display. order: photons absorbed at once."""
    name, scale, unit = _DISPLAYED[estimate.name]
    if unit == "mJ/cm²" and order > 1:
        scale, unit = 1.0, dose_unit(order)
    return name, estimate.value * scale, estimate.low * scale, estimate.high * scale, unit


def shown(value: float) -> str:
    """The value with four significant digits, or with three decimals below 0.01."""
    return f"{value:.4g}" if abs(value) >= 0.01 else f"{value:.3f}"


def sentence(estimate: Estimate, order: int) -> str:
    """`spot's FWHM 79.2 µm, 95 % from 78.0 to 80.4`."""
    name, value, low, high, unit = in_words(estimate, order)
    return f"{name} {shown(value)}{' ' + unit if unit else ''}, 95 % from {shown(low)} to {shown(high)}"
