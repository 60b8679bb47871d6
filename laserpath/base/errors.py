"""The one exception for bad input, a sentence with the name, the value and the limit; and a warning."""

from __future__ import annotations

from gcode.errors import QUOTE, did_you_mean, figure, one_line, short

__all__ = ["QUOTE", "InputError", "PlausibilityWarning", "did_you_mean", "figure", "one_line", "short"]


class InputError(ValueError):
    """User input that cannot be used. The message is one clear sentence; long quotations are cut."""

    def __init__(self, sentence: object = "") -> None:
        super().__init__(short(str(sentence)))


class PlausibilityWarning(UserWarning):
    """A value that can be used, but was most likely meant in another unit."""
