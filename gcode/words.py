"""One line of a program → its words. `;` and `( )` comments, `%` and line numbers fall away."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gcode.errors import GcodeError

_TOKEN = re.compile(
    r"(?P<skip>[ \t]+|;.*|\([^)]*\))|(?P<letter>[A-Za-z])[ \t]*(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
)


@dataclass(frozen=True, slots=True)
class Word:
    """letter: upper case.  column: from 1."""

    letter: str
    value: float
    column: int

    def __str__(self) -> str:
        return f"{self.letter}{self.value:.12g}"


def split(text: str, line_limit: int) -> list[Word]:
    """The words of one line; whatever is neither word nor comment is an error with its column."""
    if text.strip() == "%":
        return []
    words: list[Word] = []
    place = used = 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise GcodeError(_complaint(text, place), column=place + 1)
        if token["letter"]:
            words.append(Word(token["letter"].upper(), float(token["number"]), place + 1))
            used += token.end() - place
            if used > line_limit:
                raise GcodeError(f"the line has more than {line_limit} characters", column=place + 1)
        place = token.end()
    if words and words[0].letter == "N":
        del words[0]
    return words


def _complaint(text: str, place: int) -> str:
    """What is wrong at `place`."""
    letter = text[place]
    if letter == "(":
        return "a comment is not closed"
    if letter.isascii() and letter.isalpha():
        return f"{letter} has no number"
    return f"{letter!r} is not understood"
