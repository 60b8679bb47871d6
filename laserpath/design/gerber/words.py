"""The text of a Gerber file → its commands, each with its position.

word commands       X100Y200D01*        letters and numbers, ended by *
extended commands   %ADD10C,0.5*%       between two %, several * inside
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from laserpath.base.errors import InputError

_COMMENT = r"\s*G0?4(?!\d)[^*]*\*(?:%\*)?"  # Eagle puts whole extended commands into them
_COMMAND = re.compile(_COMMENT + r"|%([^%]*)%|([^*%]+)\*|([^\s*%][^*%]*)|(%)")
_SPACE = re.compile(r"\s+")
_FIELD = re.compile(r"([A-Z])([+-]?[0-9]*\.?[0-9]*)")

Fields = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One command. text: of an extended command, between its %; '' for a word command.

    fields: letters and numbers of a word command.  at: its position in the file's text.
    """

    text: str
    fields: Fields
    at: int


def text_of(data: bytes) -> str:
    """The file as text; raises for files of another format."""
    if not data.strip():
        raise InputError("the file is empty")
    head = data[:4096].lstrip(b"\xef\xbb\xbf \r\n\t")
    if b"\0" in data[:65536] or head.startswith(b"\x89"):
        raise InputError("the file is not text, but Gerber is")
    if re.match(rb"(;[^\n]*\n|%?\s)*M48\b", head):
        raise InputError("the file holds drills (Excellon), not a Gerber image")
    if b"*" not in data:
        raise InputError("the file is not Gerber: no command in it ends with '*'")
    return data.decode("utf-8", "replace")


def commands(text: str) -> Iterator[Instruction]:
    """The commands in their order, without comments."""
    for match in _COMMAND.finditer(text):
        extended, word, rest, percent = match.groups()
        if word is not None:
            word = _SPACE.sub("", word)
            fields = _FIELD.findall(word)
            if sum(len(letter) + len(number) for letter, number in fields) != len(word):
                raise InputError(f"{where(text, match.start())}: {word[:40]!r} is not a command of Gerber")
            if fields:
                yield Instruction("", fields, match.start())
        elif extended is not None:
            yield Instruction(extended.strip(), [], match.start())
        elif percent is not None:
            raise InputError(f"{where(text, match.start())}: a '%' opens a command that no second one closes")
        elif rest is not None:
            raise InputError(f"{where(text, match.start())}: the file is cut off in {rest.strip()[:40]!r}")


def where(text: str, at: int) -> str:
    """The line of a position in the text, for a message."""
    begins = len(text[at:]) - len(text[at:].lstrip()) + at
    return f"line {text.count(chr(10), 0, begins) + 1}"
