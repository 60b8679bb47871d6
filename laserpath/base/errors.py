"""The one exception for bad input, a sentence with the name, the value and the limit; and warnings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from gcode.errors import QUOTE, did_you_mean, figure, one_line, short

__all__ = [
    "QUOTE",
    "InputError",
    "PlausibilityWarning",
    "did_you_mean",
    "figure",
    "one_line",
    "short",
    "told_once",
]

_FIGURES = re.compile(r"(?:[-−±(]*\d[\d.,   ]*[)%, ]*)+")
"""Numbers of a sentence, and lists of places."""


class InputError(ValueError):
    """User input that cannot be used. The message is one clear sentence; long quotations are cut."""

    def __init__(self, sentence: object = "") -> None:
        super().__init__(short(str(sentence)))


class PlausibilityWarning(UserWarning):
    """A value that can be used, but was most likely meant in another unit."""


def told_once(of_each: Sequence[Iterable[str]], naming: Callable[[Sequence[int]], str]) -> tuple[str, ...]:
    """The sentences of several plans, each once: `layers 3 to 41: …`; without names what all say.

    Sentences of several plans, not of one, that differ in their figures only are one, the first:
    `layers 3 to 41 (figures of layer 3): …`.
    naming: of plans with these numbers, from 0, in rising order.
    """
    found: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for number, sentences in enumerate(of_each):
        alike = Counter[str]()
        for sentence in dict.fromkeys(sentences):
            form = _FIGURES.sub("#", sentence)
            found.setdefault((form, alike[form]), []).append((number, sentence))
            alike[form] += 1
    told = list[str]()
    for those in found.values():
        first, sentence = those[0]
        numbers = list(dict.fromkeys(number for number, _ in those))
        same = all(other == sentence for _, other in those)
        figures = "" if same or len(numbers) == 1 else f" (figures of {naming([first])})"
        everywhere = len(numbers) == len(of_each) > 1 and same
        told.append(sentence if everywhere else f"{naming(numbers)}{figures}: {sentence}")
    return tuple(told)
