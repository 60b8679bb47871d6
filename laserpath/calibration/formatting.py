"""Estimates for display, in the usual units."""

from __future__ import annotations

import numpy as np

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
_PLACES = 2
"""Most decimals of an offset in levels: a hundredth changes the light of level 1 by 1 %."""


def in_words(estimate: Estimate, order: int) -> tuple[str, float, float, float, str]:
    """(name, value, low, high, unit) for display. order: photons absorbed at once."""
    name, scale, unit = _DISPLAYED[estimate.name]
    if unit == "mJ/cm²" and order > 1:
        scale, unit = 1.0, dose_unit(order)
    return name, estimate.value * scale, estimate.low * scale, estimate.high * scale, unit


def shown(value: float) -> str:
    """The value with four significant digits, or with three decimals below 0.01."""
    return f"{value:.4g}" if abs(value) >= 0.01 else f"{value:.3f}"


def supported(estimate: Estimate, order: int = 1) -> tuple[str, str, str]:
    """(value, low, high) as text.

    An offset has the decimals of the leading digit of half its interval, two at most; others are as `shown`.
    """
    _, value, low, high, _ = in_words(estimate, order)
    if estimate.name != OFFSET:
        return shown(value), shown(low), shown(high)
    half = (high - low) / 2
    places = int(np.clip(np.ceil(-np.log10(half)), 0, _PLACES)) if half > 0 else _PLACES
    return f"{value:.{places}f}", f"{low:.{places}f}", f"{high:.{places}f}"


def sentence(estimate: Estimate, order: int) -> str:
    """`spot's FWHM 79.2 µm, 95 % from 78.0 to 80.4`."""
    name, *_, unit = in_words(estimate, order)
    value, low, high = supported(estimate, order)
    return f"{name} {value}{' ' + unit if unit else ''}, 95 % from {low} to {high}"
