"""The lines that a dialect writes unchanged: they may set modes, but must not light the laser.

A header or footer may have only words whose effect is known: modes, places, dark rapids, waits, coolant, M5,
and printers' commands that neither move nor light. Power words must be 0. A line of `laser_off` may be one
that this package does not know, such as a macro, but must not name a power above 0; an output that it sets
must be set to 0. A line of `laser_on` or `laser_on_dynamic` arms the laser, which is its purpose; that it
stays dark then is found where the program is read back (`gcode.checking.verification`). A dwell is G4 and
nothing else, and a template of a power moves nothing: the reader takes both for what they should be.
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
_ALONE = re.compile(rf"(?<=[\s=])({_NUMBER})(?!\w)")
_POWER = re.compile(rf"(?:VALUE\s*=|[SQ])\s*({_NUMBER})")
_NAMED_OUTPUTS = frozenset(["SET_PIN", "SET_FAN_SPEED", "SET_LED"])
"""Klipper's named commands that can set the pin to which a laser is wired."""
_NEED_ZERO = frozenset([42.0, 67.0, 68.0, 106.0, 280.0, 355.0])
"""M numbers that turn an output off only by a 0: `M106` alone is full power."""
_ON = frozenset([3.0, 4.0, 62.0, 64.0])
_DRAWING = frozenset([1.0, 2.0, 3.0])
_MOVING = frozenset("XYZABCUVWIJR")
_SCALES = frozenset([("M", 220.0), ("M", 221.0)])
"""Commands that scale all speeds, or Smoothieware's power, by S percent."""
_USER_PROGRAMS = range(100, 200)
"""M numbers that are programs of the user's own on LinuxCNC, whatever they are on a printer."""
_MACHINE = re.compile(r"\$(?:H[XYZ]*|X)")
_DWELL = re.compile(r"\s*G0*4\s*[PS]\s*1\s*")
PYTHON = re.compile(r"[;(]\s*py,", re.IGNORECASE)
"""A comment that LinuxCNC runs as Python (its manual, Remap Extending G-code)."""

Words = list[tuple[str, float | None]]


def may_be_linuxcnc(dialect: Dialect) -> bool:
    """Whether the controller is LinuxCNC, or one of which as little is known."""
    return dialect.firmware.any_firmware and "M67" not in dialect.unknown


@cache
def check_fixed(dialect: Dialect) -> None:
    """Raise GcodeError for a line that may light the laser, with the key and the line.

    Also for a claim that its controller, where that is known, does not keep.
    """
    _check_claims(dialect)
    for key, lines, problem in (
        ("header", dialect.header, _may_light), ("footer", dialect.footer, _may_light),
        ("laser_off", dialect.laser_off, _lights), ("laser_on", dialect.laser_on, _no_problem),
        ("laser_on_dynamic", dialect.laser_on_dynamic, _no_problem),
        ("power", (dialect.power,), _moves), ("power_still", (dialect.power_still,), _moves),
        ("dwell", (re.sub(r"{m?s}", "1", dialect.dwell),), _no_wait),
    ):  # fmt: skip
        for line in lines:
            text = _COMMENT.sub("", line).strip().upper()
            why = "LinuxCNC runs that comment as Python" if PYTHON.search(line) else ""
            if why := why or (problem(text, dialect) if text else ""):
                raise GcodeError(f"dialect {dialect.name!r}: {key} has {line!r}, but {why}")


def _check_claims(dialect: Dialect) -> None:
    """Raise GcodeError for a claim about a known controller that is not true of it."""
    for name in dialect.notation.never:
        if said := getattr(dialect, name):
            raise GcodeError(
                f"dialect {dialect.name!r}: {name} is {said!r}, but must be empty or false: a controller "
                f"{dialect.controller!r} does not do that"
            )
    for word in dialect.notation.laser_words:
        if word in map(str.upper, dialect.unknown):
            raise GcodeError(
                f"dialect {dialect.name!r}: unknown has {word!r}, but a controller {dialect.controller!r} "
                "may turn the laser on by it"
            )


def _may_light(text: str, dialect: Dialect) -> str:
    """Why a line of a header or footer is refused; empty if it is not."""
    if text == "%" or text in _zeros(dialect) or _MACHINE.fullmatch(text):
        return ""
    if named := _NAMED.match(text):
        if named[0] in _NAMED_OUTPUTS:
            return f"{named[0]} sets an output that may be the laser's"
        return "" if named[0] in dialect.notation.named else _unknown(named[0])
    words = _words(text)
    if words is None or (dialect.notation.one_command and words[0][0] not in "GMT"):
        return _unknown(text)  # `L1` is a macro of Klipper
    codes = [(letter, value) for letter, value in words if letter in "GM"]
    for letter, value in codes:
        if why := _code(letter, value, dialect):
            return why
    amounts = any(_amount(letter, value, dialect) for letter, value in codes if value is not None)
    bright = [value for letter, value in words if letter == "S" and value]
    if bright not in ([], [100.0]) and not _SCALES.isdisjoint(codes):
        return f"S{bright[0]:g} changes every speed or power; it must be 100 there"
    return "" if amounts or not bright else f"S{bright[0]:g} is a power; it must be 0 there"


def _amount(letter: str, value: float, dialect: Dialect) -> bool:
    """Whether S in the line of this word is its own, such as a temperature; else it is a power for M3."""
    if letter == "G":
        return value == 4
    if dialect.notation.one_command:
        return value != 5
    return (letter, value) in _SCALES or commands.harmless(letter, value)


def _code(letter: str, value: float | None, dialect: Dialect) -> str:
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
    if value in commands.OUTPUTS:
        return f"{word} sets an output that may be the laser's"
    known = value in commands.M_GROUPS or (
        commands.harmless(letter, value) and not (int(value) in _USER_PROGRAMS and may_be_linuxcnc(dialect))
    )
    return "" if known else _unknown(word)


def _lights(text: str, dialect: Dialect) -> str:
    """Why a line of `laser_off` is refused; empty if it is not."""
    if text in _zeros(dialect):
        return ""
    powers = [float(found) for found in _POWER.findall(text)]
    named = _NAMED.match(text)
    needs = named is not None and named[0] in _NAMED_OUTPUTS
    if named is not None and not needs:
        powers += [float(found) for found in _ALONE.findall(text)]  # `fire 50`
    for letter, value in _words(text) or []:
        if (letter == "M" and value in _ON) or (letter == "G" and value in _DRAWING):
            return f"{letter}{value:g} does not turn a laser off"
        needs = needs or (letter == "M" and value in _NEED_ZERO)
    if any(powers):
        return f"{next(filter(None, powers)):g} is a power; it must be 0 there"
    return "it does not set its output to 0" if needs and not powers else ""


def _moves(text: str, _: Dialect) -> str:
    """Why the template of a power is refused; empty if it is not."""
    for letter, value in _words(text.replace("{POWER}", "0")) or []:
        if letter in _MOVING and value is not None:
            return f"{letter}{value:g} moves"
    return ""


def _no_wait(text: str, _: Dialect) -> str:
    """Why a dwell is refused; empty if it is not."""
    return "" if _DWELL.fullmatch(text) else "a wait must be G4 with P or S, and nothing else"


def _no_problem(text: str, _: Dialect) -> str:
    """Arming lines may have any words: what they do is found where the program is read back."""
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
    return f"nothing is known about {what}: it may light the laser"
