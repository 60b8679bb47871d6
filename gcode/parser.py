"""The text of a program → Moves: a controller without a machine, that remembers what is modal.

Understood: G0–G3 (arcs become chords), G4 (no motion), G17, G20/G21, G40, G49, G54, G61, G80,
G90/G91, G91.1, G92, G92.1, G94, M0, M1, M2, M3, M4, M5, M7–M9, M30, and F, S, I, J, R, N. Anything
else is an error with its line: no motion is ever skipped in silence. So are G18, G19, G93 (another
plane, inverse time) and G10, G28, G30, G53 (places that the file does not state).

Power is S/s_max while M3 or M4 is on and the motion is not G0; F becomes mm/s. A motion that ends
where it starts is no move. xy is physical: G92 renames the place, it does not move the head.
"""

from __future__ import annotations

import math
import re

import numpy as np

from gcode import arcs
from gcode.dialects import Dialect
from gcode.errors import GcodeError
from gcode.move import Moves
from gcode.words import Word, split

# Far outside any machine, and few enough chords that no text can fill the memory.
COORDINATE_MAX = 1e6
MOVES_MAX = 5_000_000

_MOTION = {0.0, 1.0, 2.0, 3.0, 80.0}
_GROUPS = {
    **dict.fromkeys(_MOTION, "motion"), 4.0: "dwell", 17.0: "plane", 20.0: "units", 21.0: "units",
    40.0: "cutter", 49.0: "length", 54.0: "system", 61.0: "path", 90.0: "distance", 91.0: "distance",
    91.1: "arc distance", 92.0: "offset", 92.1: "offset", 94.0: "feed mode",
}  # fmt: skip
_REFUSED = {
    10.0: "sets a place that the file does not state", 18.0: "is not the XY plane",
    19.0: "is not the XY plane", 28.0: "goes to a place that the file does not state",
    30.0: "goes to a place that the file does not state", 53.0: "is in the machine's own coordinates",
    93.0: "is inverse time, not feed",
}  # fmt: skip
_M_GROUPS = {
    **dict.fromkeys((0.0, 1.0, 2.0, 30.0), "stop"), **dict.fromkeys((3.0, 4.0, 5.0), "laser"),
    **dict.fromkeys((7.0, 8.0, 9.0), "coolant"),
}  # fmt: skip
_VALUES = frozenset("XYIJRFSP")


def parse(
    text: str,
    dialect: Dialect,
    s_max: float,
    *,
    rapid_speed: float = 100.0,
    start: tuple[float, float] | None = None,
    tolerance: float = 0.001,
) -> Moves:
    """The moves of a program.

    rapid_speed: mm/s, of G0, which has no F of its own.  tolerance: mm, of chords from their arc.
    start: where the head is before the program. None: at the end of the first `G0 X Y`, or at
    (0, 0) if the program begins otherwise; (0, 0) makes the way from the work zero a move.
    """
    for name, value in (("s_max", s_max), ("rapid_speed", rapid_speed), ("tolerance", tolerance)):
        if not (math.isfinite(value) and value > 0):
            raise GcodeError(f"{name} is {value}, but must be above 0")
    controller = _Controller(s_max, rapid_speed, tolerance, start)
    for n, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        try:
            controller.run(split(line, dialect.line_limit))
        except GcodeError as error:
            raise GcodeError(str(error).removeprefix(f"column {error.column}: "), n, error.column) from None
    return controller.moves()


class _Controller:
    """The modal state, and the moves so far."""

    def __init__(
        self, s_max: float, rapid_speed: float, tolerance: float, start: tuple[float, float] | None
    ) -> None:
        self.s_max, self.rapid_speed, self.tolerance = s_max, rapid_speed, tolerance
        self.x, self.y = start or (0.0, 0.0)
        self.offset_x = self.offset_y = 0.0
        self.placed = start is not None
        self.motion: int | None = None
        self.unit, self.absolute, self.lit, self.ended = 1.0, True, False, False
        self.feed: float | None = None
        self.power = 0.0
        self.vertices = [(self.x, self.y)]
        self.rows: list[tuple[float, float, bool]] = []

    def moves(self) -> Moves:
        power, speed, rapid = zip(*self.rows, strict=True) if self.rows else ((), (), ())
        return Moves(np.array(self.vertices), np.array(power), np.array(speed), np.array(rapid, dtype=bool))

    def run(self, words: list[Word]) -> None:
        """One line. What a line sets holds for the line itself, wherever in it the word stands."""
        if not words:
            return
        if self.ended:
            raise GcodeError(f"{words[0]} comes after the end of the program", column=words[0].column)
        codes, values = _sorted(words)
        self._modes(codes, values)
        self._laser(codes, values)
        if "dwell" in codes and values.pop("P", None) is None:
            raise GcodeError("G4 has no P, the time to wait", column=codes["dwell"].column)
        if "offset" in codes:
            self._rename(codes["offset"], values)
        elif values.keys() & set("XYIJR"):
            self._move(values)
        if values:
            word = next(iter(values.values()))
            raise GcodeError(f"{word} belongs to no command of the line", column=word.column)
        self.ended = "stop" in codes and codes["stop"].value in (2, 30)

    def _modes(self, codes: dict[str, Word], values: dict[str, Word]) -> None:
        if "units" in codes:
            self.unit = 25.4 if codes["units"].value == 20 else 1.0
        if "distance" in codes:
            self.absolute = codes["distance"].value == 90
        if "motion" in codes:
            value = int(codes["motion"].value)
            self.motion = None if value == 80 else value
        if "F" in values:
            word = values.pop("F")
            self.feed = word.value * self.unit / 60
            if not 0 < self.feed <= COORDINATE_MAX:
                raise GcodeError(f"feed {word} is outside 0…{COORDINATE_MAX:g} mm/s", column=word.column)

    def _laser(self, codes: dict[str, Word], values: dict[str, Word]) -> None:
        if "S" in values:
            word = values.pop("S")
            self.power = word.value / self.s_max
            if not 0 <= self.power <= 1:
                raise GcodeError(f"power {word} is outside 0…{self.s_max:g}", column=word.column)
        if "laser" in codes:
            self.lit = codes["laser"].value != 5

    def _rename(self, code: Word, values: dict[str, Word]) -> None:
        """G92: the place where the head is gets a new name."""
        if code.value != 92:
            self.offset_x = self.offset_y = 0.0
            return
        if not values.keys() & set("XY"):
            raise GcodeError("G92 needs X or Y", column=code.column)
        if "X" in values:
            self.offset_x = self.x - values.pop("X").value * self.unit
        if "Y" in values:
            self.offset_y = self.y - values.pop("Y").value * self.unit
        self.placed = True

    def _move(self, values: dict[str, Word]) -> None:
        first = next(iter(values.values()))
        if self.motion is None:
            raise GcodeError(f"{first} comes without G0, G1, G2 or G3", column=first.column)
        if not values.keys() & set("XY"):
            raise GcodeError(f"{first} comes without X or Y", column=first.column)
        known = values.keys() >= set("XY") and self.absolute and self.motion == 0
        x = self._target(values.pop("X", None), self.x, self.offset_x)
        y = self._target(values.pop("Y", None), self.y, self.offset_y)
        path = self._arc((x, y), values, first) if self.motion in (2, 3) else [(x, y)]
        if not self.placed:
            self.placed = True
            if known:
                (self.x, self.y), self.vertices = path[-1], path
                return
        self._append(path, first)

    def _target(self, word: Word | None, here: float, offset: float) -> float:
        if word is None:
            return here
        value = word.value * self.unit + (offset if self.absolute else here)
        if not abs(value) <= COORDINATE_MAX:
            raise GcodeError(f"{word} is beyond {COORDINATE_MAX:g} mm", column=word.column)
        return value

    def _arc(self, end: arcs.Point, values: dict[str, Word], first: Word) -> list[arcs.Point]:
        start, clockwise = (self.x, self.y), self.motion == 2
        shift = [values.pop(letter, None) for letter in "IJ"]
        radius = values.pop("R", None)
        if (radius is None) == (shift == [None, None]):
            raise GcodeError("an arc needs either I and J or R", column=first.column)
        i, j = (0.0 if word is None else word.value * self.unit for word in shift)
        try:
            centre = start[0] + i, start[1] + j
            if radius is not None:
                centre = arcs.centre_of(start, end, radius.value * self.unit, clockwise)
            if not all(abs(c) <= COORDINATE_MAX for c in centre):
                raise GcodeError(f"the arc's centre is beyond {COORDINATE_MAX:g} mm")
            return arcs.chords(start, end, centre, clockwise, self.tolerance)
        except GcodeError as error:
            raise GcodeError(str(error), column=first.column) from None

    def _append(self, path: list[arcs.Point], first: Word) -> None:
        rapid = self.motion == 0
        if not rapid and self.feed is None:
            raise GcodeError(f"the move to {first} has no feed F", column=first.column)
        speed = self.rapid_speed if rapid or self.feed is None else self.feed
        row = (self.power if self.lit and not rapid else 0.0, speed, rapid)
        for place in path:
            if place != (self.x, self.y):
                self.vertices.append(place)
                self.rows.append(row)
                self.x, self.y = place
        if len(self.rows) > MOVES_MAX:
            raise GcodeError(f"the program has more than {MOVES_MAX} moves", column=first.column)


def _sorted(words: list[Word]) -> tuple[dict[str, Word], dict[str, Word]]:
    """(commands by modal group, values by letter) of one line; no group and no letter twice."""
    codes: dict[str, Word] = {}
    values: dict[str, Word] = {}
    for word in words:
        if word.letter in "GM":
            groups = _GROUPS if word.letter == "G" else _M_GROUPS
            if word.letter == "G" and word.value in _REFUSED:
                raise GcodeError(f"{word} {_REFUSED[word.value]}", column=word.column)
            if word.value not in groups:
                raise GcodeError(f"{word} is unknown", column=word.column)
            name, into = groups[word.value], codes
        elif word.letter in _VALUES:
            name, into = word.letter, values
        else:
            raise GcodeError(f"{word} is not a word of a two-axis laser", column=word.column)
        if name in into:
            raise GcodeError(
                f"{word} and {into[name]} are on one line, but exclude each other", column=word.column
            )
        into[name] = word
    return codes, values
