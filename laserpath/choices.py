"""Names to choose from, for `types` that check them and for a help that must not wait for the numerics."""

from __future__ import annotations

INITIAL_CURVES = ("auto", "contour", "spiral", "hatch", "rim", "tracks", "random")
"""Of the initial curves; 'auto' is the best of several for each region."""

QUALITIES = ("draft", "standard", "fine")
"""From the fastest to write to the truest."""
