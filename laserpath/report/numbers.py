"""Numbers as text: significant digits, areas, durations, shares."""

from __future__ import annotations

import math

_TINY = 1e-4
"""Positive numbers below this are written as '<0.0001'."""

_SMALL = 0.01
"""mm²; smaller areas are written in µm²."""


def number(value: float, digits: int = 3) -> str:
    """`value` to `digits` significant digits, never in exponent form; a dash if it is not finite."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) < _TINY:
        return f"<{_TINY:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)) + 1e-12))
    return f"{value:.{decimals}f}"


def area(value: float, digits: int = 3) -> str:
    """An area given in mm², with its unit: mm², or µm² if it is small."""
    return (
        f"{number(value, digits)} mm²"
        if value == 0 or value >= _SMALL
        else f"{number(1e6 * value, digits)} µm²"
    )


def duration(seconds: float) -> str:
    """A time in s as text: 0.84 s, 32 s, 5 min 20 s, 2 h 05 min."""
    if not math.isfinite(seconds):
        return "–"
    if seconds < 59.95:
        return f"{number(seconds)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def percent(share: float) -> str:
    """A share of 0…1 in percent, with a second decimal where the first would round it to 100 %."""
    text = f"{100 * share:.1f}"
    return f"{100 * share:.2f} %" if text == "100.0" and share < 1 else f"{text} %"
