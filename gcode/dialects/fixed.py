"""The lines that a dialect writes unchanged: they may set modes, but must not light the laser.

A header or footer may have only words whose effect is known: modes, places, dark rapids, waits, coolant, M5,
and printers' commands that neither move nor light. Power words must be 0. A line of `laser_off` may be one
that this package does not know, such as M42 P4 S0, but must not name a power above 0. A line of `laser_on` or
`laser_on_dynamic` arms the laser, which is its purpose; that it stays dark then is found where the program is
read back (`gcode.checking.verification`).
"""

from __future__ import annotations

import re
from functools import cache

from gcode import commands
from gcode.dialects.record import Dialect
from gcode.errors import GcodeError

_COMMENT = re.compile(r";.*|\([^)]*\)")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_WORD = re.compile(rf"\s*([A-Z])\s*({_NUMBER})?(?![A-Z_=])")
_NAMED = re.compile(r"[A-Z_]{2}\w*(?=\s|$)")
_POWER = re.compile(rf"(?:VALUE\s*=|[SQ])\s*({_NUMBER})")
_OUTPUTS = frozenset([42.0, 62.0, 63.0, 64.0, 65.0, 67.0, 68.0, 106.0, 280.0, 355.0])
"""M numbers that can set the pin to which a laser is wired, whatever it was made for."""
_ON = frozenset([3.0, 4.0, 62.0, 64.0])
_DRAWING = frozenset([1.0, 2.0, 3.0])
_MACHINE = re.compile(r"\$(?:H[XYZ]*|X)")

_FALSE_OF = {
    "klipper": ("dark_rapids", "rapid_resets", "always_dynamic", "laser_on_dynamic"),
    "marlin": ("always_dynamic", "laser_on_dynamic"), "grbl": ("always_dynamic",),
}  # fmt: skip
"""What these controllers do not do (`known`); a dialect that says otherwise would leave the laser on."""

Words = list[tuple[str, float | None]]


@cache
def check_fixed(dialect: Dialect) -> None:
    """Raise GcodeError for a line that may light the laser, with the key and the line.

    Also for a claim that its controller, where that is known, does not keep.
    """
    for name in _FALSE_OF.get(dialect.controller, ()):
        if said := getattr(dialect, name):
            raise GcodeError(
                f"dialect {dialect.name!r}: {name} is {said!r}, but must be empty or false: a controller "
                f"{dialect.controller!r} does not do that"
            )
    for key, lines, problem in (
        ("header", dialect.header, _may_light), ("footer", dialect.footer, _may_light),
        ("laser_off", dialect.laser_off, _lights),
        ("dwell", (re.sub(r"{m?s}", "1", dialect.dwell),), _no_wait),
    ):  # fmt: skip
        for line in lines:
            text = _COMMENT.sub("", line).strip().upper()
            if text and (why := problem(text, dialect)):
                raise GcodeError(f"dialect {dialect.name!r}: {key} has {line!r}, but {why}")


def _may_light(text: str, dialect: Dialect) -> str:
    """Why a line of a header or footer is refused; empty if it is not."""
    if text == "%" or text in _zeros(dialect) or _MACHINE.fullmatch(text):
        return ""
    if named := _NAMED.match(text):
        known = named[0] in commands.KLIPPER_HARMLESS and named[0] != "SET_PIN"
        return "" if known and dialect.controller == "klipper" else _unknown(named[0])
    words = _words(text)
    if words is None:
        return _unknown(text)
    codes = [(letter, value) for letter, value in words if letter in "GM"]
    for letter, value in codes:
        if why := _code(letter, value):
            return why
    amounts = any(letter == "M" or value == 4 for letter, value in codes)
    bright = [value for letter, value in words if letter == "S" and value]
    return "" if amounts or not bright else f"S{bright[0]:g} is a power; it must be 0 there"


def _code(letter: str, value: float | None) -> str:
    """Why a header may not have a G or M word; empty if it may."""
    word = letter if value is None else f"{letter}{value:g}"
    if value is None:
        return _unknown(word)
    if letter == "G":
        if value in _DRAWING:
            return f"{word} moves as lit moves do; only G0 may move there"
        return "" if value in commands.G_GROUPS and value not in commands.G_REFUSED else _unknown(word)
    if value in (3.0, 4.0):
        return f"{word} arms the laser; that is for laser_on and laser_on_dynamic"
    if value in _OUTPUTS:
        return f"{word} sets an output that may be the laser's"
    return "" if value in commands.M_GROUPS or commands.harmless(letter, value) else _unknown(word)


def _lights(text: str, dialect: Dialect) -> str:
    """Why a line of `laser_off` is refused; empty if it is not."""
    if text in _zeros(dialect):
        return ""
    for letter, value in _words(text) or []:
        if (letter == "M" and value in _ON) or (letter == "G" and value in _DRAWING):
            return f"{letter}{value:g} does not turn a laser off"
    bright = [found for found in _POWER.findall(text) if float(found) != 0]
    if bright:
        return f"{bright[0]} is a power; it must be 0 there"
    return ""


def _no_wait(text: str, _: Dialect) -> str:
    """Why a dwell is refused; empty if it is not."""
    for letter, value in _words(text) or []:
        if (letter == "M" and value in _ON | _OUTPUTS) or (letter == "G" and value in _DRAWING):
            return f"{letter}{value:g} is no wait"
    return ""


def _zeros(dialect: Dialect) -> set[str]:
    """The lines that set the power to 0."""
    templates = filter(None, (dialect.power, dialect.power_still))
    return {template.replace("{power}", "0").upper() for template in templates}


def _words(text: str) -> Words | None:
    """Letters and numbers; None if the line has anything else."""
    words: Words = []
    place = 0
    while place < len(text):
        found = _WORD.match(text, place)
        if found is None:
            return None
        words.append((found[1], None if found[2] is None else float(found[2])))
        place = found.end()
    return words


def _unknown(what: str) -> str:
    return f"nothing is known of {what}: it may light the laser"
