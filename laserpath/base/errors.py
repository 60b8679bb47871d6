"""The one exception for bad input: a sentence with the name, the value and the limit."""

from __future__ import annotations

from gcode.errors import QUOTE, figure, short

__all__ = ["QUOTE", "InputError", "figure", "short"]


class InputError(ValueError):
    """User input that cannot be used. The message is one clear sentence; long quotations are cut."""

    def __init__(self, sentence: object = "") -> None:
        super().__init__(short(str(sentence)))
