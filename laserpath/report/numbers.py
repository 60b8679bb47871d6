"""Numbers as text: significant digits, areas, durations, shares."""

from __future__ import annotations

import math

_TINY = 1e-4
_SMALL = 0.01


def number(value: float, digits: int = 3) -> str:
    """`value` to `digits` significant digits, never in exponent form; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) < _TINY:
        return f"<{_TINY:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)) + 1e-12))
    return f"{value:.{decimals}f}"


def area(value: float, digits: int = 3) -> str:
    """mm² with the unit, in µm² where they are few."""
    return (
        f"{number(value, digits)} mm²"
        if value == 0 or value >= _SMALL
        else f"{number(1e6 * value, digits)} µm²"
    )


def duration(seconds: float) -> str:
    """Seconds as people say them: 0.84 s, 32 s, 5 min 20 s, 2 h 05 min."""
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
    """A share of 0…1, with as many digits as tell it from all."""
    said = f"{100 * share:.1f}"
    return f"{100 * share:.2f} %" if said == "100.0" and share < 1 else f"{said} %"
