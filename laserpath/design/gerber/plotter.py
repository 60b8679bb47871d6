"""The text of a Gerber file → its commands, and the effect of each on the modal state.

A stroke continues until a change of aperture or polarity or a move without light ends it, so that its joins
are drawn as joins. Blocks (step and repeat, block apertures) are paintings of their own until they are
closed.

Commands are

word commands       X100Y200D01*        letters and numbers, ended by *
extended commands   %ADD10C,0.5*%       between two %, several * inside

Coordinates are whole numbers of 10⁻ᵈ units; FS gives d, the number of digits before the point, whether
leading or trailing zeros are omitted, and whether coordinates are incremental (as does G91).

The centre of an arc is at (I, J) from the start. In G75 these are signed, and an arc that ends where it
starts is a full circle. In G74 they are unsigned: of the four possible centres, the right one makes an arc of
at most 90° in the right direction, with the most equal radii.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import EMPTY
from laserpath.design.gerber import apertures
from laserpath.design.gerber.apertures import Aperture, Point, Turn, define, of_area, step
from laserpath.design.gerber.paint import Painting, Path, repeat

_COMMENT = r"\s*G0?4(?!\d)[^*]*\*(?:%\*)?"  # Eagle puts whole extended commands into them
_HIDDEN = r"\s*G0?4\s*#@!\s*(T[OD][^*%]*)\*"  # attributes in comments, for readers that know none
_COMMAND = re.compile(_HIDDEN + "|" + _COMMENT + r"|%([^%]*)%|([^*%]+)\*|([^\s*%][^*%]*)|(%)")
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
        hidden, extended, word, rest, percent = match.groups()
        extended = hidden or extended
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


MM = {"MM": 1.0, "IN": 25.4}

_FORMAT = re.compile(r"([LTD]?)([AI]?)(?:[NGDM]\d)*X(\d)(\d)Y(\d)(\d)(?:[NGDM]\d)*")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")


@dataclass(slots=True)
class Format:
    """scale: the file's unit in mm; None: not known yet.  guessed: it was needed before it was known.

    digits: before and after the decimal point.  trailing: trailing zeros are omitted, not leading ones.
    incremental: coordinates are relative to the previous point.
    """

    scale: float | None
    digits: tuple[int, int] | None = None
    trailing: bool = False
    incremental: bool = False
    guessed: bool = False

    def read(self, text: str) -> None:
        """Read the parameters of FS."""
        match = _FORMAT.fullmatch(text)
        if not match or match[3] + match[4] != match[5] + match[6]:
            raise InputError(f"the format {text[:40]!r} is not a Gerber format such as LAX36Y36")
        self.digits = int(match[3]), int(match[4])
        self.trailing, self.incremental = match[1] == "T", match[2] == "I"

    def mm(self) -> float:
        """The file's unit in mm."""
        if self.scale is None:
            self.scale, self.guessed = MM["IN"], True  # Gerber's unit before MO was introduced
        return self.scale

    def measured_in(self, unit: str) -> None:
        """Set the file's unit, MM or IN."""
        if self.guessed:
            raise InputError("the file names its unit (MO) after it is needed: give it, as in --unit mm")
        self.scale = MM[unit]

    def length(self, text: str) -> float:
        """A coordinate in mm."""
        if self.digits is None:
            raise InputError("coordinates come before their format (FS)")
        if not text.strip("+-."):
            raise InputError("a coordinate has no number")
        if "." in text:
            return float(text) * self.mm()
        if self.trailing:
            sign = "-" if text.startswith("-") else ""
            text = sign + text.lstrip("+-").ljust(sum(self.digits), "0")
        return float(text) / 10 ** self.digits[1] * self.mm()


def whole(text: str) -> int:
    """The number in a command code."""
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{text[:20]!r} is not the number of a command")
    return int(text)


def decimal(text: str, what: str) -> float:
    """A decimal number without a unit."""
    if not _DECIMAL.fullmatch(text) or len(text) > 40:
        raise InputError(f"the {what} {text[:40]!r} is not a number")
    return float(text)


QUARTER = math.pi / 2 + 1e-3  # a quarter turn with a margin for rounding
TURN = 2 * math.pi
ROUNDING = 1e-9  # radians
FIT = 0.25  # difference of the radii, relative to the larger, up to which a centre of G74 is accepted


@dataclass(frozen=True, slots=True)
class Arc:
    """start, end, centre: mm.  sweep: radians, positive if anticlockwise."""

    start: Point
    end: Point
    centre: Point
    sweep: float

    @property
    def radii(self) -> Point:
        """Distances of start and end from the centre, mm; equal but for the file's rounding."""
        return math.dist(self.start, self.centre), math.dist(self.end, self.centre)


def multi(start: Point, end: Point, centre: Point, turn: int) -> Arc:
    """An arc of any length (G75). centre: from the start.  turn: 1 anticlockwise, -1 clockwise."""
    middle = (start[0] + centre[0], start[1] + centre[1])
    return Arc(start, end, middle, turn * TURN if start == end else _sweep(start, end, middle, turn))


def single(start: Point, end: Point, centre: Point, turn: int) -> Arc:
    """An arc of at most 90° (G74). centre: from the start, its signs are ignored."""
    if start == end:
        return Arc(start, end, start, 0.0)
    (x, y), (i, j) = start, (abs(value) for value in centre)
    middles = [(x + i, y + j), (x - i, y + j), (x + i, y - j), (x - i, y - j)]
    arcs = [Arc(start, end, middle, _sweep(start, end, middle, turn)) for middle in middles]
    arcs = [arc for arc in arcs if abs(arc.sweep) <= QUARTER and _missed(arc) <= FIT * max(arc.radii)]
    if not arcs:
        raise InputError("an arc of at most 90 degrees (G74) has no centre that fits")
    return min(arcs, key=_missed)


def vertices(arc: Arc, most: float) -> list[Point]:
    """The vertices after the start. most: largest angle between two of them, radians.

    If the radii of start and end differ, the radius changes linearly from one to the other.
    """
    (x, y), n = arc.centre, max(1, math.ceil(abs(arc.sweep) / most - 1e-9))
    share = np.arange(1, n) / n
    first, last = arc.radii
    angle = math.atan2(arc.start[1] - y, arc.start[0] - x) + arc.sweep * share
    radius = first + (last - first) * share
    points = np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)], axis=1)
    return [*map(tuple, points.tolist()), arc.end]


def _missed(arc: Arc) -> float:
    return abs(arc.radii[0] - arc.radii[1])


def _sweep(start: Point, end: Point, centre: Point, turn: int) -> float:
    """Radians from start to end about the centre, in the direction of `turn`, less than a full turn."""
    a = math.atan2(start[1] - centre[1], start[0] - centre[0])
    b = math.atan2(end[1] - centre[1], end[0] - centre[0])
    sweep = (turn * (b - a)) % TURN
    return 0.0 if sweep > TURN - ROUNDING else turn * sweep


OFF = 0.02  # error of an arc's end, relative to its radius, from which a warning is given
_NEUTRAL = {
    "OF": (r"(A[+-]?[0.]+)?(B[+-]?[0.]+)?", "moves the image: take --offset"),
    "SF": (r"(A\+?1(\.0*)?)?(B\+?1(\.0*)?)?", "scales the image: take --scale"),
    "IR": (r"0*", "turns the image: take --rotate"),
    "AS": (r"(AXBY)?", "swaps the axes"),
    "IP": (r"POS", "makes the image negative, on a sheet whose size Gerber does not say: take --negative"),
}
"""Obsolete commands → (values without effect, the effect of any other value)."""
_SILENT = ("TF", "TA", "IN", "LN", "IC")  # attributes and names, which draw nothing
_NO_NET = "N/C"  # the name that X2 reserves for pads without a net
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True)
class Pad:
    """A flash of copper. pin: as `R1.2`.  '' is unknown."""

    aperture: Aperture
    at: Point
    pin: str
    net: str


@dataclass(slots=True)
class _Block:
    """The painting that a block interrupts. number: that of the block aperture; None: step and repeat."""

    painting: Painting
    number: int | None
    shifts: list[Point] = field(default_factory=list)  # mm, of step and repeat
    pads: int = 0  # number of pads before it


class Plotter:
    """The state between commands. scale: the file's unit in mm, if it is known.  tolerance: mm."""

    def __init__(self, tolerance: float, scale: float | None) -> None:
        self.tolerance = tolerance
        self._format = Format(scale)
        self.painting = Painting(tolerance)
        self.warnings: dict[str, None] = {}
        self.ended = False
        self.bare: list[Path] = []  # lines of an aperture without width, outside of blocks
        self.mirror = (False, False)  # of x and of y, of the whole image
        self.pads: list[Pad] = []
        self._about: dict[str, str] = {}  # attributes of the objects to come
        self._stack: list[_Block] = []
        self._macros: dict[str, apertures.Macro] = {}
        self._apertures: dict[int, Aperture] = {}
        self._number: int | None = None
        self._aperture: Aperture | None = None  # the current one, turned
        self._turn, self._solid = Turn(), True
        self._mode, self._quadrant, self._last = 1, "", 0
        self._at: Point = (0.0, 0.0)
        self._path: Path = []
        self._contour: Path | None = None  # None: not in a region

    def word(self, fields: Fields) -> None:
        """Execute a word command."""
        words = {}
        operation = -1
        for letter, number in fields:
            if letter == "G":
                if whole(number) == 4:
                    return
                self._g(whole(number))
            elif letter == "D":
                operation = whole(number)
            elif letter == "M":
                self._m(whole(number))
            elif letter in "XYIJ":
                words[letter] = number
            elif letter != "N":
                raise InputError(f"{letter + number!r} is not a command of Gerber")
        if operation >= 10:
            self._select(operation)
        elif operation >= 0 or words:
            self._operate(operation, words)

    def extended(self, text: str) -> None:
        """Execute one or several extended commands."""
        if text.startswith("AM"):
            macro = apertures.parse(text[2:])
            self._macros[macro.name] = macro
            return
        for part in text.split("*"):
            if part := part.strip():
                self._extended(part)

    @property
    def scale(self) -> float | None:
        """The file's unit in mm, if it is known."""
        return self._format.scale

    def finish(self) -> Painting:
        """The image after all commands."""
        if self._format.guessed:
            self.warnings["the file names no unit (MO), so inches are assumed: --unit mm if it is mm"] = None
        self._lift()
        if self._contour is not None:
            raise InputError("the file ends inside a region (G36 without G37)")
        while self._stack:
            if self._stack[-1].number is not None:
                raise InputError("the file ends inside a block aperture")
            self._close()
        return self.painting

    # Extended commands

    def _extended(self, text: str) -> None:
        key, rest = text[:2], re.sub(r"\s+", "", text[2:])
        if key in _SILENT:
            return None
        if key in _NEUTRAL:
            allowed, instead = _NEUTRAL[key]
            if not re.fullmatch(allowed, rest):
                raise InputError(f"{text[:40]!r} {instead}")
            return None
        actions: dict[str, Callable[[str], None]] = {
            "FS": self._format.read,
            "MO": self._unit,
            "AD": lambda _: self._define(text),
            "LP": self._polarity,
            "LM": self._mirrored,
            "MI": self._mirror_image,
            "LR": self._rotated,
            "LS": self._scaled,
            "SR": self._step_repeat,
            "AB": self._block,
            "IF": self._include,
            "TO": self._attribute,
            "TD": self._forget,
        }
        if key not in actions:
            if re.fullmatch(r"[GDMXYN][\dGDMXYIJ+-]*", text):  # a word command between %
                return self.word(re.findall(r"([A-Z])([+-]?\d*)", text))
            raise InputError(f"{text[:40]!r} is not a command of Gerber")
        if key not in ("TO", "TD"):  # which may come within a stroke
            self._lift()
        actions[key](rest)
        return None

    def _unit(self, text: str) -> None:
        if text not in MM:
            raise InputError(f"the unit {text[:40]!r} is neither MM nor IN")
        self._format.measured_in(text)

    def _define(self, text: str) -> None:
        number, aperture = define(text, self._macros, self._format.mm(), self.tolerance)
        self._set(number, aperture)

    def _set(self, number: int, aperture: Aperture) -> None:
        self._apertures[number] = aperture
        if number == self._number:
            self._select(number)

    def _polarity(self, text: str) -> None:
        if text not in ("D", "C"):
            raise InputError(f"the polarity {text[:40]!r} is neither D nor C")
        self._solid = text == "D"

    def _mirrored(self, text: str) -> None:
        if text not in ("N", "X", "Y", "XY"):
            raise InputError(f"the mirroring {text[:40]!r} is none of N, X, Y, XY")
        self._turned(Turn(text, self._turn.degrees, self._turn.scale))

    def _mirror_image(self, text: str) -> None:
        found = re.fullmatch(r"(?:A([01]))?(?:B([01]))?", text)
        if not found:
            raise InputError(f"the mirroring {text[:40]!r} of the image is not like A1B0")
        mirror = (found[1] == "1", found[2] == "1")
        if mirror != self.mirror and (self.painting.objects or self._stack or self.bare):
            raise InputError(f"the mirroring {text[:40]!r} of the image comes after something is drawn")
        self.mirror = mirror

    def _rotated(self, text: str) -> None:
        self._turned(Turn(self._turn.mirror, decimal(text, "rotation"), self._turn.scale))

    def _scaled(self, text: str) -> None:
        scale = decimal(text, "scale")
        if not 1e-6 <= scale <= 1e6:
            raise InputError(f"the scale {text[:40]!r} is not above 0")
        self._turned(Turn(self._turn.mirror, self._turn.degrees, scale))

    def _turned(self, turn: Turn) -> None:
        self._turn = turn
        if self._number is not None:
            self._select(self._number)

    def _step_repeat(self, text: str) -> None:
        if self._stack and self._stack[-1].number is None:
            self._close()
        if not text:
            return
        found = re.fullmatch(r"X(\d{1,7})Y(\d{1,7})I([+-]?[\d.]+)J([+-]?[\d.]+)", text)
        if not found:
            raise InputError(f"step and repeat {text[:40]!r} is not like X3Y2I5.0J4.0")
        columns, rows = int(found[1]), int(found[2])
        if not (1 <= columns * rows <= 1_000_000 and columns and rows):
            raise InputError(f"step and repeat has {columns} x {rows} copies, but 1 to 1000000 are possible")
        x, y = (decimal(found[k], "step") * self._format.mm() for k in (3, 4))
        shifts = [(i * x, j * y) for i in range(columns) for j in range(rows)]
        self._open(_Block(self.painting, None, shifts, len(self.pads)))

    def _block(self, text: str) -> None:
        if text:
            found = re.fullmatch(r"D0*(\d{2,9})", text)
            if not found or int(found[1]) < 10:
                raise InputError(f"the block aperture {text[:40]!r} has no number from D10 on")
            self._open(_Block(self.painting, int(found[1])))
        elif not self._stack or self._stack[-1].number is None:
            raise InputError("a block aperture is closed that was not opened")
        else:
            self._close()

    def _attribute(self, text: str) -> None:
        """Keep the net (.N) or the pin (.P) of the objects to come."""
        name, *values = text.split(",")
        values = [_ESCAPED.sub(lambda found: chr(int(found[1], 16)), value) for value in values]
        self._about[name] = ".".join(values[:2]) if name == ".P" else "".join(values[:1])

    def _forget(self, text: str) -> None:
        """Delete one attribute, or all."""
        if text:
            self._about.pop(text, None)
        else:
            self._about.clear()

    def _include(self, text: str) -> None:
        raise InputError(f"the file includes another one, {text[:40]!r}, which is not opened")

    def _open(self, block: _Block) -> None:
        if self._contour is not None:
            raise InputError("a block begins inside a region")
        if len(self._stack) >= 20:
            raise InputError("blocks are nested more than 20 deep")
        self._stack.append(block)
        self.painting = Painting(self.tolerance)

    def _close(self) -> None:
        self._lift()
        block, layers = self._stack.pop(), self.painting.layers()
        self.painting = block.painting
        if block.number is None:
            repeat(layers, np.array(block.shifts), self.painting)
            once = self.pads[block.pads :]
            self.pads += [
                replace(pad, at=(pad.at[0] + x, pad.at[1] + y)) for x, y in block.shifts[1:] for pad in once
            ]
        elif len(layers) == 1 and layers[0].solid:
            self._set(block.number, of_area(layers[0].pieces[0]))
        else:
            nothing = of_area(EMPTY)
            self._set(block.number, Aperture(nothing.area, None, None, layers=tuple(layers)))

    # Word commands

    def _g(self, code: int) -> None:
        if code in (0, 1, 2, 3):
            self._mode = max(code, 1)
        elif code == 36:
            self._lift()
            self._contour = []
        elif code == 37:
            self._end_contour()
            self._contour = None
        elif code in (70, 71):
            self._format.measured_in("IN" if code == 70 else "MM")
        elif code in (74, 75):
            self._quadrant = "single" if code == 74 else "multi"
        elif code in (90, 91):
            self._format.incremental = code == 91
        elif code not in (54, 55):
            raise InputError(f"G{code:02d} is not a command of Gerber")

    def _m(self, code: int) -> None:
        if code in (0, 2):
            self.ended = True
        elif code != 1:
            raise InputError(f"M{code:02d} is not a command of Gerber")

    def _select(self, number: int) -> None:
        if number not in self._apertures:
            raise InputError(f"aperture D{number} is not defined")
        self._lift()
        self._number, self._aperture = number, self._turn.aperture(self._apertures[number])

    def _operate(self, operation: int, words: dict[str, str]) -> None:
        """D01, D02 or D03; the previous one if the command has none."""
        if operation < 0:
            operation = self._last
        start, self._at = self._at, self._point(words)
        self._last = operation
        if operation == 1:
            self._line(start, words)
        elif operation == 2:
            self._lift()
            self._end_contour()
        elif operation == 3:
            self._flash()
        else:
            raise InputError("coordinates come without D01, D02 or D03")

    def _point(self, words: dict[str, str]) -> Point:
        out = []
        for axis, now in zip("XY", self._at, strict=True):
            if axis not in words:
                out.append(now)
            else:
                value = self._format.length(words[axis])
                out.append(now + value if self._format.incremental else value)
        return out[0], out[1]

    def _flash(self) -> None:
        self._lift()
        if self._contour is not None:
            raise InputError("a flash (D03) stands inside a region")
        if self._aperture is None:
            raise InputError("a flash (D03) comes before an aperture is chosen")
        self.painting.flash(self._aperture, self._at, self._solid)
        if self._solid and all(block.number is None for block in self._stack):
            about = self._about
            net = about.get(".N", "").replace("{slash}", "/")  # as KiCad writes it
            self.pads.append(
                Pad(self._aperture, self._at, about.get(".P", ""), "" if net == _NO_NET else net)
            )

    def _line(self, start: Point, words: dict[str, str]) -> None:
        path = self._path if self._contour is None else self._contour
        if not path:
            path.append(start)
        if self._mode == 1:
            path.append(self._at)
            return
        i, j = (self._format.length(words[k]) if k in words else 0.0 for k in "IJ")
        wide = (self._aperture.round or 0.0) / 2 if self._contour is None and self._aperture else 0.0
        path += self._arc(start, (i, j), wide)

    def _arc(self, start: Point, centre: Point, wide: float) -> Path:
        """Vertices of the arc from `start` to the current point. centre: from start.  wide: half width."""
        if not self._quadrant:
            self.warnings["arcs come without G74 or G75, and are read as of G75"] = None
        make = single if self._quadrant == "single" else multi
        arc = make(start, self._at, centre, 1 if self._mode == 3 else -1)
        radius = max(arc.radii)
        if not math.isfinite(radius) or radius == 0 or arc.sweep == 0:
            return [self._at]
        missed = abs(arc.radii[0] - arc.radii[1])
        if missed > max(OFF * radius, self.tolerance):
            self.warnings[f"an arc misses its end by {figure(missed, 2)} mm, and is bent to reach it"] = None
        return vertices(arc, step(radius + wide, self.tolerance))

    def _lift(self) -> None:
        """End the current stroke."""
        if not self._path:
            return
        path, self._path = self._path, []
        aperture = self._aperture
        if aperture is None:
            raise InputError("a line (D01) comes before an aperture is chosen")
        if aperture.layers or (aperture.round is None and aperture.pen is None):
            raise InputError(
                f"a line is drawn with aperture D{self._number}, which is not convex: Gerber does not say how"
            )
        if aperture.holed:
            self.warnings["lines are drawn with an aperture that has a hole, which they do not leave"] = None
        if aperture.pen is None or aperture.pen.is_empty:
            if self._stack:
                self.warnings["lines of an aperture without width leave nothing in a block"] = None
            else:
                self.bare.append(path)
            return
        self.painting.draw(aperture, path, self._solid)

    def _end_contour(self) -> None:
        if self._contour:
            if len(self._contour) > 2:
                self.painting.fill(self._contour, self._solid)
            self._contour = []
