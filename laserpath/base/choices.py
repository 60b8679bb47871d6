"""Names to choose from, for `types` that check them and for a help that must not wait for the numerics."""

from __future__ import annotations

from laserpath.base import entry_points

INITIAL_CURVES = ("auto", "contour", "spiral", "hatch", "rim", "tracks", "random")
"""Of the initial curves; 'auto' is the best of several for each region."""

QUALITIES = ("draft", "standard", "fine")
"""From the fastest to write to the truest."""


def is_initial_curve(name: str) -> bool:
    """Whether it is one of ours, or an installed package's."""
    return name in INITIAL_CURVES or entry_points.find(entry_points.CURVES, name, INITIAL_CURVES) is not None


def initial_curves() -> tuple[str, ...]:
    """Ours, and then those of installed packages."""
    return entry_points.names(entry_points.CURVES, INITIAL_CURVES)
