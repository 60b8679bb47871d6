"""Labels of a program's figures, and their values with units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from laserpath.report.rows import area, at_least, duration, number

LABELS = {
    "epe_mean": "Edge error, mean",
    "epe_p95": "Edge error, 95 %",
    "epe_max": "Edge error, largest",
    "epe_mean_tuned": "… mean, at its best power",
    "missing_edges": "Edge missing",
    "pv_band": "Dose ±10 % band",
    "pv_defocus": "Out-of-focus band",
    "iou": "Overlap (IoU)",
    "overcure": "Too much",
    "undercure": "Missing",
    "cured": "Area exposed",
    "dose_max": "Largest dose",
    "over_dosed": "Area over-dosed",
    "write_time": "Write time",
    "write_length": "Length, laser on",
    "travel_length": "Length, travel",
    "toggles": "Laser switched",
    "lines": "G-code lines",
    "segment_rate": "Peak move rate",
}
"""Short names, for 80 columns."""

MEANINGS = {
    "epe_mean_tuned": "The mean edge error of the same path with the dose multiplied by the best factor.",
    "cured": "What gets the critical dose or more.",
    "over_dosed": "What gets more than the resin's largest dose wanted.",
}
"""Explanations of figures that `report.rows` does not have."""

_WRITTEN: dict[str, Callable[[Any], str]] = {
    "cured": area,
    "over_dosed": area,
    "overcure": area,
    "undercure": area,
    "write_time": duration,
    "iou": lambda value: f"{100 * value:.1f} %",
    "dose_max": lambda value: f"{number(value)} × critical",
    "write_length": lambda value: f"{number(value)} mm",
    "travel_length": lambda value: f"{number(value)} mm",
    "toggles": lambda value: f"{value:.0f} times",
    "lines": lambda value: f"{value:.0f}",
    "missing_edges": lambda value: f"{value:.0f}",
    "segment_rate": lambda value: f"{number(value)} moves/s",
}


def cell(key: str, values: Mapping[str, Any], fwhm: float) -> str:
    """A figure with its unit; edge errors in µm and FWHM; a dash where there is none."""
    value = values.get(key)
    if value is None or not math.isfinite(value):
        return "–"
    if key.startswith("epe_"):
        return f"{at_least(key, value)}{number(1000 * fwhm * value, 2)} µm ({number(value, 2)})"
    if key == "missing_edges" and "samples" in values:
        return f"{value} of {values['samples']}"
    return _WRITTEN.get(key, number)(value)
