"""Where the head is, and what a motion word makes of it.

xy is physical: G92 renames the place, it does not move the head.

Nothing is known at first. Without a `start` the head is where a first dark absolute `G0 X Y` ends, and a Z
that is stated before or with it is its height; else it is at 0. G28, G30, $H and G53 go to places that no
file states: the axes are lost then, until a dark absolute G0 or G1 says where they are. Whatever is lit or
relative before that is an error. The way back is taken for a straight one from the last known place.
"""

from __future__ import annotations

import math

import numpy as np

from gcode import arcs
from gcode.dialects.record import Dialect
from gcode.errors import GcodeError
from gcode.move import Kind
from gcode.reading.laser import Laser
from gcode.reading.rows import LIT_RAPID, Rows
from gcode.reading.templates import spoken
from gcode.reading.words import Word

# Far outside any machine.
COORDINATE_MAX = 1e6

# GRBL's ARC_ANGULAR_TRAVEL_EPSILON: an arc that turns less is a full one.
FULL_TURN = 5e-7

Place = tuple[float, float, float]
Codes = dict[str, Word]
Values = dict[str, Word]
DRAWING = (1, 2, 3)


class Head:
    """motion: the modal G0…G3.  feed: mm/s, 1/s in G93; None before the first F.

    placed: whether anything has said where X and Y are.  height_known: the same of Z.  moved: whether a row
    has moved the head.  lost: axes whose place is unknown, and why.
    said: which of 'units', 'distance', 'plane' the text has stated; stated: the same at the first motion.
    """

    def __init__(
        self, dialect: Dialect, s_max: float, rapid_speed: float, start: tuple[float, ...] | None
    ) -> None:
        self.dialect, self.rapid_speed = dialect, rapid_speed
        self.laser = Laser(dialect, spoken(dialect), s_max)
        self.x, self.y, self.z = (*(start or (0.0, 0.0)), 0.0)[:3]
        self.rows = Rows(self.x, self.y, self.z)
        self.offset = {"X": 0.0, "Y": 0.0, "Z": 0.0}
        self.placed = self.height_known = self.start_stated = start is not None
        self.moved = self.inverse = self.arc_absolute = False
        self.motion: int | None = None
        self.unit, self.absolute, self.plane = 1.0, True, 17.0
        self.feed: float | None = None
        self.system = 54.0
        self.system_used: float | None = None
        self.lost: dict[str, str] = {}
        self.said: set[str] = set()
        self.stated: frozenset[str] | None = None

    def begin(self) -> None:
        """The first motion: what has been stated until here?"""
        if self.stated is None:
            self.stated = frozenset(self.said)

    def move(self, values: Values) -> None:
        """A line with X, Y, Z, I, J or R; takes these out of `values`."""
        first = next(word for word in values.values() if word.letter in "XYZIJR")
        motion = self._ready(values, first)
        said = {axis for axis in "XYZ" if axis in values}
        x, y, z = (
            self._target(values.pop(axis, None), axis, here)
            for axis, here in zip("XYZ", (self.x, self.y, self.z), strict=True)
        )
        power = self.laser.moving(motion)
        centre = None
        if motion > 1:
            (x, y), centre = self._arc((x, y), values, first)
        if self.lost and self._found(said, (x, y, z), power, first):
            return
        if not self._placing(said, (x, y, z), power):
            self._append((x, y, z), centre, power, first)

    def lose(self, axes: list[str], code: Word) -> None:
        """The head goes to a place that the file does not state."""
        self.begin()
        lit = max(self.laser.standing(self.motion), self.laser.moving(0))
        if self.motion in DRAWING:
            lit = max(lit, self.laser.moving(1))
        sentence = f"{code} goes to a place that the file does not state"
        if lit > 0:
            raise GcodeError(f"{sentence} with the laser on", column=code.column)
        for axis in axes:
            self.lost[axis] = f"{code} in line {self.rows.line}"
        self.rows.note(code.column, sentence)

    def rename(self, axis: str, word: Word) -> None:
        """G92: the place where the head is gets a new name."""
        if axis in self.lost:
            if self.moved:
                raise GcodeError(
                    f"{word} names an unknown place, after {self.lost[axis]}", column=word.column
                )
            del self.lost[axis]
        here = {"X": self.x, "Y": self.y, "Z": self.z}[axis]
        self.offset[axis] = here - number(word) * self.unit
        if not abs(self.offset[axis]) <= COORDINATE_MAX:
            raise GcodeError(f"{word} is beyond {COORDINATE_MAX:g} mm", column=word.column)
        self.placed = True
        self.height_known = self.height_known or axis == "Z"

    def _ready(self, values: Values, first: Word) -> int:
        """The modal motion. Raise GcodeError for one that this machine cannot do."""
        motion, dialect = self.motion, self.dialect
        if motion is None:
            raise GcodeError(f"{first} comes without G0, G1, G2 or G3", column=first.column)
        self.begin()
        if self.system_used is None:
            self.system_used = self.system
        if self.system != self.system_used:
            apart = f"how far that is from G{self.system_used:g} the file does not state"
            raise GcodeError(f"{first} is in G{self.system:g}; {apart}", column=first.column)
        if motion > 1 and self.plane != 17:
            other = f"the plane of G{self.plane:g}, not in XY"
            raise GcodeError(f"G{motion} turns in {other}", column=first.column)
        axes = values.keys() & set("XY" if motion > 1 else "XYZ")
        if not axes and (motion < 2 or dialect.controller == "grbl"):
            raise GcodeError(f"{first} comes without X or Y", column=first.column)
        return motion

    def _target(self, word: Word | None, axis: str, here: float) -> float:
        if word is None:
            return here
        value = number(word) * self.unit + (self.offset[axis] if self.absolute else here)
        if not abs(value) <= COORDINATE_MAX:
            raise GcodeError(f"{word} is beyond {COORDINATE_MAX:g} mm", column=word.column)
        return value

    def _found(self, said: set[str], place: Place, power: float, first: Word) -> bool:
        """A motion from an unknown place; whether it is dealt with."""
        lost = self.lost.keys() & set("XY" if said <= set("XY") else "XYZ")
        if not lost:
            return False
        why = next(self.lost[axis] for axis in "XYZ" if axis in lost)
        if power > 0 or self.motion in (2, 3) or (not self.absolute and said & lost):
            raise GcodeError(f"{first} starts at an unknown place, after {why}", column=first.column)
        for axis in said & lost:
            del self.lost[axis]
        self.placed, unknown = True, bool(self.lost.keys() & {"X", "Y"})
        self.height_known = self.height_known or "Z" in said
        if not self.moved:
            self.x, self.y, self.z = place
            self.rows.place(*place)
            self.start_stated = not unknown
        elif unknown:
            self.x, self.y, self.z = place
            self.rows.note(first.column, f"{first} ends at an unknown place, after {why}")
        else:
            sentence = f"the way from an unknown place, after {why}, is taken for a straight one"
            self.rows.note(first.column, sentence)
            self._append(place, None, power, first, always=True)
        return True

    def _placing(self, said: set[str], place: Place, power: float) -> bool:
        """The first words on where the head is; whether they move nothing."""
        plain = self.motion == 0 and self.absolute and power == 0 and not self.placed
        flat = plain and said >= {"X", "Y"}
        high = plain and not self.height_known and "Z" in said and not self.moved
        if said & {"X", "Y"} or self.motion in (2, 3):
            self.placed = True
        self.height_known = self.height_known or "Z" in said
        if flat:
            self.x, self.y = place[:2]
            self.start_stated = True
        if high:
            self.z = place[2]
        if flat or high:
            self.rows.place(self.x, self.y, None if self.moved else self.z)
        return (flat or high) and (self.x, self.y, self.z) == place

    def _arc(self, end: arcs.Point, values: Values, first: Word) -> tuple[arcs.Point, arcs.Point]:
        """(end, centre); the end is the start where the arc is a full turn but for rounding."""
        start, clockwise = (self.x, self.y), self.motion == 2
        shift = [values.pop(letter, None) for letter in "IJ"]
        radius = values.pop("R", None)
        if (radius is None) == (shift == [None, None]):
            raise GcodeError("an arc needs either I and J or R", column=first.column)
        try:
            if radius is not None:
                r = number(radius) * self.unit
                if not abs(r) <= COORDINATE_MAX:
                    raise GcodeError(f"{radius} is beyond {COORDINATE_MAX:g} mm", column=radius.column)
                centre = arcs.centre_of(start, end, r, clockwise)
            else:
                centre = self._centre(shift)
                arcs.check(start, end, centre)
                if math.dist(start, end) < FULL_TURN * math.dist(start, centre):
                    end = start
            if not all(abs(c) <= COORDINATE_MAX for c in centre):
                raise GcodeError(f"the arc's centre is beyond {COORDINATE_MAX:g} mm")
        except GcodeError as error:
            raise at(error, first) from None
        return end, centre

    def _centre(self, shift: list[Word | None]) -> arcs.Point:
        i, j = (0.0 if word is None else number(word) * self.unit for word in shift)
        if not self.arc_absolute:
            return self.x + i, self.y + j
        x = self.x if shift[0] is None else i + self.offset["X"]
        return x, self.y if shift[1] is None else j + self.offset["Y"]

    def _append(
        self, place: Place, centre: arcs.Point | None, power: float, first: Word, *, always: bool = False
    ) -> None:
        here = self.x, self.y, self.z
        if place == here and centre is None and not always:
            return
        speed, flags = self._speed(here, place, centre, first), self.laser.flags
        kind = int(self.motion or 0)
        if kind == Kind.RAPID and power > 0:
            kind, flags = int(Kind.LINE), flags | LIT_RAPID
        self.x, self.y, self.z = place
        try:
            self.rows.move(place, power, speed, kind | flags)
        except GcodeError as error:
            raise at(error, first) from None
        if centre is not None:
            self.rows.centre[len(self.rows) - 1] = centre
        self.laser.moved()
        self.moved = True

    def _speed(self, here: Place, place: Place, centre: arcs.Point | None, first: Word) -> float:
        if self.motion == 0:
            if self.dialect.rapid_at_feed and self.feed is None:
                self.rows.note(first.column, "no F has been said: this G0 is taken for as fast as a rapid")
            return (self.feed if self.dialect.rapid_at_feed else None) or self.rapid_speed
        if self.feed is None:
            of = "F of its own in G93" if self.inverse else "feed F"
            raise GcodeError(f"the move to {first} has no {of}", column=first.column)
        if not self.inverse:
            return self.feed
        flat = math.dist(here[:2], place[:2])
        if centre is not None:
            start, end, middle = (np.array([p]) for p in (here[:2], place[:2], centre))
            turn = arcs.sweep(start, end, middle, np.array([self.motion == 2]))
            flat = abs(float(turn[0])) * math.dist(here[:2], centre)
        speed = self.feed * math.hypot(flat, place[2] - here[2])
        if not 0 < speed <= COORDINATE_MAX:
            raise GcodeError(f"the move to {first} is outside 0…{COORDINATE_MAX:g} mm/s", column=first.column)
        return speed


def number(word: Word) -> float:
    """The number of a word that must have one."""
    if word.value is None:
        raise GcodeError(f"{word.letter} has no number", column=word.column)
    return word.value


def at(error: GcodeError, word: Word) -> GcodeError:
    """The same error, with the column of `word` if it has none."""
    sentence = str(error).removeprefix(f"column {error.column}: ")
    return GcodeError(sentence, column=error.column or word.column)
