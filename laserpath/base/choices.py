"""Names of choices, for the checks in `types` and for the help, which must not import the numerics."""

from __future__ import annotations

from laserpath.base import entry_points

INITIAL_CURVES = ("auto", "contour", "spiral", "hatch", "outline", "centreline", "strokes", "random")
"""Starting curves: 'outline' has a hatch inside, 'auto' is the best of several for each region."""

STROKES_MAX = 10_000
"""Most strokes that the starting curve 'strokes' may fit: more take minutes."""

FORMER_CURVES = {"rim": "outline", "tracks": "centreline"}
"""Names of version 0.1, which mean the same."""

QUALITIES = ("draft", "standard", "fine")
"""From the shortest write time to the most accurate edges."""


def is_initial_curve(name: str) -> bool:
    """Whether laserpath or an installed package has a starting curve of this name."""
    return name in INITIAL_CURVES or entry_points.find(entry_points.CURVES, name, INITIAL_CURVES) is not None


def initial_curves() -> tuple[str, ...]:
    """Names of laserpath's starting curves, then of those of installed packages."""
    return entry_points.names(entry_points.CURVES, INITIAL_CURVES)


MOST_COLOURS = 12
"""Most colours that a drawing is split into, and so the most programs that are written for it."""
