"""Gerber's modal state, and the effect of each command on it.

A stroke continues until a change of aperture or polarity or a move without light ends it, so that its joins
are drawn as joins. Blocks (step and repeat, block apertures) are paintings of their own until they are
closed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import EMPTY
from laserpath.design.gerber import arcs, macros
from laserpath.design.gerber.apertures import Aperture, Turn, define, of_area
from laserpath.design.gerber.numbers import MM, Format, decimal, whole
from laserpath.design.gerber.paint import Painting, Path, repeat
from laserpath.design.gerber.shapes import Point, step
from laserpath.design.gerber.words import Fields

OFF = 0.02  # error of an arc's end, relative to its radius, from which a warning is given
_NEUTRAL = {
    "OF": (r"(A[+-]?[0.]+)?(B[+-]?[0.]+)?", "moves the image: take --offset"),
    "SF": (r"(A\+?1(\.0*)?)?(B\+?1(\.0*)?)?", "scales the image: take --scale"),
    "IR": (r"0*", "turns the image: take --rotate"),
    "AS": (r"(AXBY)?", "swaps the axes"),
    "IP": (r"POS", "makes the image negative, on a sheet whose size Gerber does not say: take --negative"),
}
"""Obsolete commands → (values without effect, the effect of any other value)."""
_SILENT = ("TF", "TA", "TO", "TD", "IN", "LN", "IC")  # attributes and names, which draw nothing


@dataclass(slots=True)
class _Block:
    """The painting that a block interrupts. number: that of the block aperture; None: step and repeat."""

    painting: Painting
    number: int | None
    shifts: list[Point] = field(default_factory=list)  # mm, of step and repeat


class Plotter:
    """The state between commands. scale: the file's unit in mm, if it is known.  tolerance: mm.

    dry: the objects are only counted.
    """

    def __init__(self, tolerance: float, scale: float | None, dry: bool = False) -> None:
        self.tolerance = tolerance
        self._format = Format(scale)
        self.painting = Painting(tolerance, dry)
        self.warnings: dict[str, None] = {}
        self.ended = False
        self.bare: list[Path] = []  # lines of an aperture without width, outside of blocks
        self.mirror = (False, False)  # of x and of y, of the whole image
        self._stack: list[_Block] = []
        self._macros: dict[str, macros.Macro] = {}
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
            macro = macros.parse(text[2:])
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
        }
        if key not in actions:
            if re.fullmatch(r"[GDMXYN][\dGDMXYIJ+-]*", text):  # a word command between %
                return self.word(re.findall(r"([A-Z])([+-]?\d*)", text))
            raise InputError(f"{text[:40]!r} is not a command of Gerber")
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
        self._open(_Block(self.painting, None, shifts))

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

    def _include(self, text: str) -> None:
        raise InputError(f"the file includes another one, {text[:40]!r}, which is not opened")

    def _open(self, block: _Block) -> None:
        if self._contour is not None:
            raise InputError("a block begins inside a region")
        if len(self._stack) >= 20:
            raise InputError("blocks are nested more than 20 deep")
        self._stack.append(block)
        self.painting = Painting(self.tolerance, block.painting.dry)

    def _close(self) -> None:
        self._lift()
        block, layers, copies = self._stack.pop(), self.painting.layers(), self.painting.copies
        self.painting = block.painting
        if block.number is None:
            self.painting.copies += copies * len(block.shifts)
            repeat(layers, np.array(block.shifts), self.painting)
        elif len(layers) == 1 and layers[0].solid:
            self._set(block.number, replace(of_area(layers[0].pieces[0]), objects=copies))
        else:
            nothing = of_area(EMPTY)
            self._set(block.number, Aperture(nothing.area, None, None, layers=tuple(layers), objects=copies))

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
        make = arcs.single if self._quadrant == "single" else arcs.multi
        arc = make(start, self._at, centre, 1 if self._mode == 3 else -1)
        radius = max(arc.radii)
        if not math.isfinite(radius) or radius == 0 or arc.sweep == 0:
            return [self._at]
        missed = abs(arc.radii[0] - arc.radii[1])
        if missed > max(OFF * radius, self.tolerance):
            self.warnings[f"an arc misses its end by {figure(missed, 2)} mm, and is bent to reach it"] = None
        return arcs.vertices(arc, step(radius + wide, self.tolerance))

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
