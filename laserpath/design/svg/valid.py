"""Whether a value is valid for its property. Invalid declarations are ignored, as CSS requires.

A declaration of lower precedence then applies: `fill="black" style="fill: light-dark(...)"` is black in a
reader that does not know `light-dark`. Only properties that affect the area are checked.
"""

from __future__ import annotations

from functools import lru_cache

import tinycss2.color4

from laserpath.design.svg.values import NotFinite, NotUnderstood, length, lengths, number

_RULES = ("nonzero", "evenodd")
_WORDS = {
    "fill-rule": _RULES,
    "clip-rule": _RULES,
    "visibility": ("visible", "hidden", "collapse"),
    "stroke-linecap": ("butt", "round", "square"),
    "stroke-linejoin": ("miter", "round", "bevel"),
}
_PAINTS = ("fill", "stroke")
_COLOURS = ("color", "stop-color")
_SHARES = ("opacity", "fill-opacity", "stroke-opacity", "stop-opacity")
_EVERYWHERE = ("", "inherit", "initial", "unset", "revert")
GEOMETRY = ("x", "y", "width", "height", "cx", "cy", "r", "rx", "ry")


@lru_cache(maxsize=4096)
def normal(name: str, value: str) -> str | None:
    """The value, with keywords in lower case; None: it is invalid for the property."""
    word = value.lower()
    if word in _EVERYWHERE or name in _WORDS:
        return word if word in _WORDS.get(name, ()) or word in _EVERYWHERE else None
    if name in _PAINTS or name in _COLOURS:
        return _paint(name, value, word)
    if name == "display":
        return word
    try:
        return value if _is_measure(name, value, word) else None
    except NotUnderstood:
        return None
    except NotFinite:
        return value  # refused later, by name


def plain_length(value: str) -> bool:
    """Whether a length other than 0 has no unit, which only attributes allow."""
    try:
        return number(value) != 0
    except ValueError:
        return False


def _paint(name: str, value: str, word: str) -> str | None:
    if name in _PAINTS and (word == "none" or word.startswith("url(")):
        return word if word == "none" else value
    return value if tinycss2.color4.parse_color(value) is not None else None


def _is_measure(name: str, value: str, word: str) -> bool:
    """Whether a value is a number, a length or a list of them, and not negative where that is invalid."""
    if name in _SHARES:
        length(value, 1.0)
    elif name == "stroke-width":
        return length(value, 1.0) >= 0
    elif name == "stroke-miterlimit":
        return number(value) >= 0
    elif name == "stroke-dashoffset":
        length(value, 1.0)
    elif name == "stroke-dasharray" and word != "none":
        return all(part >= 0 for part in lengths(value, 1.0))
    return True
