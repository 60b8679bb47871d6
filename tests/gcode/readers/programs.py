"""Programs that the readers are given: random moves, and random texts that say them in every way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gcode
from readers import HERE

GOLDEN = sorted((HERE.parent / "golden").glob("*.gcode"))
FOREIGN = HERE.parents[1] / "data" / "gcode" / "foreign"
"""Files of other programs, and in expected.json what they are to be read as."""

FAST = 200.0
"""mm/s of rapids, which have no feed of their own."""

Pair = NDArray[np.float64]

LONG_COMMENTS = {
    "one word": "x" * 2000,
    "many words": "Settings: " + "initial auto, " * 150,
    "two bytes a letter": "Größe " * 400,
    "letters without ASCII": "дуга" * 500,
    "four bytes a letter": "\N{BUTTERFLY}" * 600,
    "a file's name": "from ;a) b (c; d).svg" + "_;)" * 700,
    "blanks": "a" + " " * 2000 + "b",
    "Python": "x" * 70 + " py,quit()" * 200,
    "Python in wide letters": "\uff50\uff59\uff0cquit() " * 200,
}
"""Comments longer than any controller's line, as a design's name, its source or a list of settings can be."""


def dialect_of(path: Path) -> str:
    """The dialect that a golden file's name says, NAME.DIALECT.gcode, or else GRBL's."""
    return next((part for part in path.name.split(".") if part in gcode.DIALECTS), "grbl")


def random_moves(seed: int, dialect: gcode.Dialect, rows: int = 200) -> gcode.Moves:
    """Rapids, lines, arcs, full circles and waits, at changing powers and speeds.

    The laser is on in the waits too, where the dialect can say so.
    """
    rng = np.random.default_rng(seed)
    kind = rng.choice([0, 1, 2, 3, 4], rows, p=[0.15, 0.4, 0.15, 0.15, 0.15]).astype(np.int8)
    xy, centre = np.zeros((rows + 1, 2)), np.zeros((rows, 2))
    for k in range(rows):
        xy[k + 1] = xy[k] if kind[k] == 4 else rng.uniform(-100, 100, 2)
        if kind[k] in (2, 3):
            to_centre, to_end = _arc(rng, kind[k] == 2, full=rng.random() < 0.2)
            centre[k], xy[k + 1] = xy[k] + to_centre, xy[k] + to_end
    dwell = np.where(kind == 4, rng.integers(1, 500, rows) / 1000, 0.0)
    lit = (kind > 0) & ((kind < 4) | dialect.power_line | bool(dialect.power_still))
    power = np.where(lit, rng.choice([0.0, 0.125, 0.5, 0.7501, 1.0], rows), 0.0)
    speed = np.where(kind == 0, FAST, rng.choice([5.0, 20.5, 50.0], rows))
    return gcode.Moves(xy, power, speed, kind, centre=centre, dwell=dwell)


def _arc(
    rng: np.random.Generator, clockwise: bool, *, full: bool = False, sweep: float = 0.0
) -> tuple[Pair, Pair]:
    """From the start to the centre and to the end of an arc."""
    arm = rng.uniform(2, 20) * np.array([math.cos(a := rng.uniform(0, math.tau)), math.sin(a)])
    angle = (sweep or rng.uniform(0.2, 6)) * (-1 if clockwise else 1)
    c, s = math.cos(angle), math.sin(angle)
    return -arm, np.zeros(2) if full else np.array([[c, -s], [s, c]]) @ arm - arm


def random_text(seed: int, lines: int = 150, *, output: bool = False) -> str:
    """A program in which most of the modal state changes. output: its power is M67's, else S's."""
    return "\n".join(_Author(np.random.default_rng(seed), output).program(lines)) + "\n"


@dataclass(slots=True)
class _Author:
    """Knows where the machine is, so that the arcs that it writes are arcs."""

    rng: np.random.Generator
    output: bool
    here: Pair = field(default_factory=lambda: np.zeros(2))
    offset: Pair = field(default_factory=lambda: np.zeros(2))
    unit: float = 1.0
    absolute: bool = True
    arc_absolute: bool = False
    motion: str = ""

    def program(self, lines: int) -> list[str]:
        power = ["M67 E0 Q0"] if self.output else ["M3 S0"]
        start = ["G21 G90 G91.1 G17 G94 G40 G49 G80", "F600", *power]
        body = [self.line() for _ in range(lines)]
        return [*start, *body, *(["M68 E0 Q0"] if self.output else ["M5"]), "M2"]

    def line(self) -> str:
        rng = self.rng
        steps = [self.move] * 10 + [
            self.units, self.distance, self.name, self.feed, self.power, self.power, self.wait,
        ]  # fmt: skip
        text = steps[rng.integers(len(steps))]()
        match rng.integers(6):
            case 0:
                return text.lower()
            case 1:
                return text.replace(" ", "")
            case 2:
                return f"N{rng.integers(1, 9999)} {text}"
            case 3:
                return f"{text} (not G1 X5)"
            case 4:
                return f"  {text} ; nor G0 Y7"
        return text

    def units(self) -> str:
        self.unit = self.rng.choice([1.0, 25.4])
        return "G21" if self.unit == 1 else "G20"

    def distance(self) -> str:
        if self.rng.random() < 0.3:
            self.arc_absolute = not self.arc_absolute
            return "G90.1" if self.arc_absolute else "G91.1"
        self.absolute = not self.absolute
        return "G90" if self.absolute else "G91"

    def name(self) -> str:
        """G92: the place where the machine is gets another name."""
        if self.rng.random() < 0.3:
            self.offset = np.zeros(2)
            return "G92.1"
        axis = self.rng.integers(2)
        word, value = self.word("XY"[axis], self.rng.uniform(-20, 20))
        self.offset[axis] = self.here[axis] - value
        return f"G92 {word}"

    def feed(self) -> str:
        return f"F{self.rng.uniform(60, 3000) / self.unit:.2f}"

    def power(self) -> str:
        if self.output:
            return f"{self.rng.choice(['M67', 'M68'])} E0 Q{self.rng.choice([0, 0.25, 0.5, 1]):g}"
        return str(self.rng.choice(["M3", "M5", "S0", "S250", "M3 S1000", "S12.5", "M4"]))

    def wait(self) -> str:
        return f"G4 P{self.rng.integers(1, 2000) / 1000:g}"

    def word(self, letter: str, mm: float) -> tuple[str, float]:
        """The word, and how many mm its digits say."""
        digits = f"{mm / self.unit:.5f}"
        return letter + (digits.rstrip("0") if self.rng.random() < 0.5 else digits), float(digits) * self.unit

    def move(self) -> str:
        """G0 to G3; a word that is modal may be left out, and so may one axis of a line."""
        code = str(self.rng.choice(["G0", "G1", "G1", "G2", "G3"]))
        words = [] if code == self.motion and self.rng.random() < 0.5 else [code.replace("G", "G0")]
        self.motion = code
        if code in ("G2", "G3"):
            return " ".join(words + self.arc(code == "G2"))
        axes = [0, 1] if self.rng.random() < 0.6 else [int(self.rng.integers(2))]
        target = self.rng.uniform(-50, 50, 2)
        return " ".join(words + [self.to(axis, target[axis]) for axis in axes])

    def to(self, axis: int, target: float) -> str:
        start = self.offset[axis] if self.absolute else self.here[axis]
        word, value = self.word("XY"[axis], target - start)
        self.here[axis] = start + value
        return word

    def arc(self, clockwise: bool) -> list[str]:
        """By R, for a sweep that is neither small nor near 180° or 360°; or by the centre."""
        by_radius = self.rng.random() < 0.4
        long = bool(self.rng.random() < 0.5)
        sweep = self.rng.uniform(0.5, 2.6) + (math.pi if long else 0.0) if by_radius else 0.0
        full = not by_radius and self.rng.random() < 0.2
        to_centre, to_end = _arc(self.rng, clockwise, full=full, sweep=sweep)
        start = self.here.copy()
        end = [] if full else [self.to(axis, start[axis] + to_end[axis]) for axis in (0, 1)]
        if by_radius:
            return [*end, self.word("R", math.hypot(*to_centre) * (-1 if long else 1))[0]]
        centre = to_centre + (start - self.offset if self.arc_absolute else 0.0)
        return [*end, self.word("I", centre[0])[0], self.word("J", centre[1])[0]]
