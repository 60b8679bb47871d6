"""The one exception for bad input: a sentence with the name, the value and the limit."""

from __future__ import annotations

import re

QUOTE = 200
"""Characters of a user's text that a sentence repeats; the rest of it is cut."""
_SENTENCE = 1500
"""Characters of a whole sentence."""
_LONG = re.compile(rf"'[^'\n]{{{QUOTE},}}'|\"[^\"\n]{{{QUOTE},}}\"|\S{{{QUOTE},}}")


class InputError(ValueError):
    """User input that cannot be used. The message is one clear sentence; long quotations are cut."""

    def __init__(self, sentence: object = "") -> None:
        super().__init__(short(str(sentence)))


def short(sentence: str) -> str:
    """The sentence without the middle of long quotations and words, and of itself if it is still too long.

    A sentence of up to three times `QUOTE` characters stays as it is.
    """
    if len(sentence) <= 3 * QUOTE:
        return sentence
    half = QUOTE // 2
    cut = _LONG.sub(lambda found: f"{found[0][:half]}…{found[0][-half:]}", sentence)
    return cut if len(cut) <= _SENTENCE else f"{cut[: _SENTENCE // 2]} … {cut[-_SENTENCE // 2 :]}"
