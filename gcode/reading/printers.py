"""Marlin's and Klipper's lines: one whole command each, and words of printers.

They answer a command that they do not know with a sentence, and go on: that is a note, if nothing was to move
by it. Of a second command in a line nothing is left, so that is an error. Marlin counts lines: one with a
number needs its checksum, and the number after the last one's, or it is asked for again.

Sources: https://marlinfw.org/meta/gcode/; https://reprap.org/wiki/G-code#Special_fields;
https://www.klipper3d.org/G-Codes.html.
"""

from __future__ import annotations

import re

from gcode.errors import GcodeError
from gcode.reading import commands
from gcode.reading.head import Codes, Values
from gcode.reading.lines import MOTION, VALUES, Reader, put
from gcode.reading.words import Line, Word, split

_HEAD = re.compile(r"[ \t]*(?P<letter>[GMTgmt])[ \t]*(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)(?![0-9])")


class PrinterReader(Reader):
    """Lines of Marlin or Klipper. last: the number of the last line."""

    last: int | None = None

    def words(self, said: str, shift: int, role: str | None) -> None:
        """One command."""
        head = _HEAD.match(said)
        if "(" in said and "(" in self.unknown and self._brackets(said, shift, head):
            return
        if head is None:
            self._headless(said, shift)
            return
        word = Word(
            head["letter"].upper(), float(head["number"]), head.start("letter") + shift + 1, head["number"]
        )
        self.alive(word)
        if self.controller == "marlin" and (small := re.search(r"[a-z]", self._own(said, word))):
            column = small.start() + shift + 1
            raise GcodeError(
                f"{small[0]} is lower case, which {self.dialect.name} does not know", column=column
            )
        code = (word.letter, word.value)
        if code not in self.codes and self._ignored(word, said[head.end() :], head.end() + shift):
            self.settle(role, {})
            return
        words, comments = split(said, shift)
        for text in comments:
            self.rows.comment(text)
        codes, values = self._command(words, role)
        if codes or role is None:
            self.machine.execute(codes, values)
        self.settle(role, codes)

    def numbered(self, line: Line) -> None:
        """A line number with its checksum."""
        if self.controller != "marlin":
            super().numbered(line)
            return
        if line.number is None or not line.checked:
            lacks = "number" if line.number is None else "checksum"
            raise GcodeError(f"the line has no {lacks}, so {self.dialect.name} asks for it again", column=1)
        renumbers = re.match(r"M110(?![0-9])(?:[ \t]*N[ \t]*([0-9]{1,18}))?", line.said)
        if renumbers is None and self.last not in (None, line.number - 1):
            follows = f"N{line.number} follows N{self.last}"
            raise GcodeError(f"{follows}, so {self.dialect.name} asks for it again", column=1)
        self.last = int(renumbers[1]) if renumbers and renumbers[1] else line.number

    @staticmethod
    def _own(said: str, word: Word) -> str:
        """The part of a line that is no text to show."""
        return "" if commands.harmless(word.letter, word.value or 0.0) else said.split("(", 1)[0]

    def _brackets(self, said: str, shift: int, head: re.Match[str] | None) -> bool:
        """( ) are no comment here: whether the line says nothing but that."""
        column = said.index("(") + shift + 1
        if head and commands.harmless(head["letter"].upper(), float(head["number"])):
            return False
        if re.sub(r"\([^)]*\)?", "", said).strip():
            raise GcodeError(f"( ) is no comment to {self.dialect.name}", column=column)
        self.rows.note(column, f"a line of ( ) is unknown to {self.dialect.name}, which passes over it")
        return True

    def _headless(self, said: str, shift: int) -> None:
        """A line without a command, which no controller of a printer knows."""
        words, comments = split(said, shift)
        for text in comments:
            self.rows.comment(text)
        for word in words:
            if word.letter in MOTION or word.letter in "GM":
                raise GcodeError(f"{word} comes without G0, G1, G2 or G3", column=word.column)
        if words:
            alone = f"{' '.join(map(str, words))} alone"
            sentence = f"{alone} is unknown to {self.dialect.name}, which passes over it"
            self.rows.note(words[0].column, sentence)

    def _ignored(self, word: Word, rest: str, shift: int) -> bool:
        """Whether a command neither moves nor lights; then it is noted, and its other words are its own."""
        code, value = (word.letter, word.value or 0.0), word.value or 0.0
        klipper = self.controller == "klipper"
        foreign = f"{word.letter}{value:g}" in self.unknown or code in commands.PRINTER_IGNORED
        if foreign or (klipper and code in commands.KLIPPER_IGNORED):
            for other in split(rest, shift)[0]:
                if (other.letter in MOTION and other.value is not None) or other.letter in "GM":
                    lost = f"{other} is passed over with {word}"
                    raise GcodeError(f"{lost}, which {self.dialect.name} does not know", column=other.column)
            self.rows.note(word.column, f"{word} is unknown to {self.dialect.name}, which passes over it")
            return True
        if commands.harmless(*code) or (klipper and code in (("M", 106.0), ("M", 107.0))):
            self.rows.note(word.column, f"{word} neither moves nor lights")
            return True
        return False

    def _command(self, words: list[Word], role: str | None) -> tuple[Codes, Values]:
        """One command and its values."""
        first, *others = words
        values: Values = {}
        group = self._known(first, role)
        for word in others:
            letter = word.letter
            if letter in "GMT":
                raise GcodeError(f"{word} comes after {first}: one command a line", column=word.column)
            if group == "home":
                values.setdefault(letter, word)
            elif letter == "E" and group in ("motion", "offset"):
                self.rows.note(word.column, f"{word} is an extruder's")
            elif letter in VALUES or letter == self.how.letter:
                if word.value is None and letter != "I":
                    raise GcodeError(f"{letter} has no number", column=word.column)
                put(values, letter, word)
            elif group is not None or letter in MOTION:
                raise GcodeError(f"{word} is not a word of a laser", column=word.column)
        codes = {} if group is None else {group: first}
        self._plain(codes, values, first)
        return codes, values

    def _plain(self, codes: Codes, values: Values, first: Word) -> None:
        """Settle what is not the machine's: a speed factor, and G92 of an extruder."""
        if codes.pop("factor", None) is not None:
            factor = values.pop("S", None)
            if factor is not None and factor.value != 100:
                raise GcodeError(f"{first} {factor} changes every speed", column=first.column)
            self.rows.note(first.column, f"{first} changes nothing")
        if "offset" in codes and not values.keys() & set("XYZ"):
            del codes["offset"]
            self.rows.note(first.column, f"{first} names no place")

    def _known(self, word: Word, role: str | None) -> str | None:
        """The group of a command that Marlin or Klipper has."""
        value = word.value or 0.0
        code = (word.letter, value)
        if code in self.codes:
            return commands.group(word.letter, value) or "power"
        name = self.dialect.name
        if code in (("G", 2.0), ("G", 3.0)) and not self.dialect.arcs:
            raise GcodeError(f"{word} is unknown to {name}: it knows no arcs", column=word.column)
        if code == ("G", 20.0) and self.controller == "klipper":
            raise GcodeError(f"{word} is refused by {name}: it knows no inches", column=word.column)
        if code not in commands.PRINTER_KNOWN[self.controller]:
            if role is not None:
                return None
            why = commands.G_REFUSED.get(value) if word.letter == "G" else None
            raise GcodeError(f"{word} {why or 'is unknown: it may move or light'}", column=word.column)
        return commands.group(word.letter, value)
