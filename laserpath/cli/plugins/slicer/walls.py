"""The outer walls in the G-code of PrusaSlicer, OrcaSlicer, SuperSlicer and Bambu Studio.

Comments before an extrusion name its feature:

    ;TYPE:External perimeter   ;TYPE:Outer wall   ; FEATURE: Outer wall     an outer wall
    ;TYPE:Overhang perimeter   ;TYPE:Overhang wall                          part of any wall, in the air
    ;WIDTH:0.45                ; LINE_WIDTH: 0.45                           of the line, mm

A way is a run of moves that extrude (E rises) without a travel between them. It is an outer wall from the
first to the last move of that feature, overhangs included. A way of overhangs alone may be an outer or an
inner wall. Nothing in the file distinguishes the two, so it is refused.

Sources: PrusaSlicer's and OrcaSlicer's libslic3r/GCode/GCodeProcessor.cpp (reserved tags), and sliced files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from gcode import arcs
from laserpath.base import limits
from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.errors import InputError

OUTER = frozenset({"external perimeter", "outer wall"})
OVERHANG = frozenset({"overhang perimeter", "overhang wall"})

_PER_CHORD = 300
"""Bytes of memory for each chord of an arc."""
_CHORD = 0.002
"""mm, largest distance of a chord from its arc; as fine as the finest resolution of slicers."""
_FLAT = 1e-4
"""mm, largest change of Z along a wall."""
_FARTHEST = 1e6
"""mm, largest coordinate, radius and width: far beyond any printer; an arc has at most some 10⁵ chords."""
_SPIRAL = 2.0
"""Largest ratio of an arc's radii at its two ends; slicers round them, and fit arcs to points near them."""

_COMMENT = re.compile(r"\s*;\s*(TYPE|FEATURE|WIDTH|LINE_WIDTH)\s*:\s*(.*?)\s*")
_COMMAND = re.compile(r"\s*(?:N\d+\s*)?([GM])0*(\d+)(?![\d.])", re.I)
_WORD = re.compile(r"([XYZEIJR])\s*([-+]?(?:\d+\.?\d*|\.\d+))", re.I)


_Place = tuple[float, float, float]
"""X, Y, Z, mm."""


@dataclass(frozen=True, slots=True, eq=False)
class Wall:
    """One pass along an outer wall. xy: (K, 2) mm, of the line's middle.  width: (K−1,) mm.  z: mm."""

    xy: Floats
    width: Floats
    z: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "xy", frozen_array(self.xy, "wall xy", (None, 2)))
        object.__setattr__(self, "width", frozen_array(self.width, "wall width", (len(self.xy) - 1,)))


def read(text: str) -> list[Wall]:
    """All outer walls, in the order of the file."""
    nozzle = _Nozzle()
    walls = [wall for line in text.splitlines() for wall in nozzle.execute(line)]
    walls += nozzle.ended()
    if not walls:
        raise InputError(
            "the sliced file has no outer wall: where one is, PrusaSlicer says ';TYPE:External perimeter', "
            "OrcaSlicer ';TYPE:Outer wall'"
        )
    return walls


@dataclass(slots=True)
class _Way:
    """The extrusions since the last travel. points: one more than kinds and widths."""

    points: list[_Place]
    kinds: list[str] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)

    def walls(self) -> Iterator[Wall]:
        """The outer walls in it."""
        if self.kinds and OVERHANG.issuperset(self.kinds):
            x, y, z = self.points[0]
            raise InputError(
                f"a wall at z {z:g} mm, near ({x:g}, {y:g}) mm, is all in the air, and nothing says whether "
                "it is an outer one; in the slicer, switch off 'Detect bridging perimeters' (OrcaSlicer: "
                "'Detect overhang walls')"
            )
        of_walls = [kind in OUTER or kind in OVERHANG for kind in self.kinds]
        for is_wall, run in groupby(range(len(self.kinds)), of_walls.__getitem__):
            pieces = list(run)
            if is_wall and any(self.kinds[k] in OUTER for k in pieces):
                yield self._wall(pieces[0], pieces[-1] + 1)

    def _wall(self, first: int, end: int) -> Wall:
        points = np.array(self.points[first : end + 1])
        if np.ptp(points[:, 2]) > _FLAT:
            low, high = points[:, 2].min(), points[:, 2].max()
            raise InputError(f"a wall climbs from z {low:g} to {high:g} mm; a spiral vase has no layers")
        # Slicers state the nozzle's width for an overhang, but its edge lies as far out as the wall's.
        outer = [kind in OUTER for kind in self.kinds[first:end]]
        widths = np.array(self.widths[first:end])
        return Wall(points[:, :2], np.where(outer, widths, widths[outer].mean()), float(points[0, 2]))


class _Nozzle:
    """Position, modes and current feature of the nozzle."""

    def __init__(self) -> None:
        self._position = {"X": 0.0, "Y": 0.0, "Z": 0.0, "E": 0.0}
        self._absolute = {"X": True, "Y": True, "Z": True, "E": True}
        self._kind, self._width = "", 0.0
        self._way = _Way([(0.0, 0.0, 0.0)])
        self._chords = 0

    def execute(self, line: str) -> Iterator[Wall]:
        """Execute a line; yield the walls that end with it."""
        code, _, comment = line.partition(";")
        if not code.strip():
            if comment:
                self._comment(line)
            return
        match = _COMMAND.match(code)
        if match is None:
            return
        command = match[1].upper() + match[2]
        words = {
            letter.upper(): float(number) if letter in "eE" else _number(letter + number, number)
            for letter, number in _WORD.findall(code[match.end() :])
        }
        if command in ("G0", "G1", "G2", "G3"):
            yield from self._move(command, words)
        elif command == "G92":
            self._position.update({name: value for name, value in words.items() if name in self._position})
        elif command in ("G90", "G91"):
            # E has its own mode: slicers say M83 once, and G90 again after every lift.
            self._absolute.update(dict.fromkeys("XYZ", command == "G90"))
        elif command in ("M82", "M83"):
            self._absolute["E"] = command == "M82"
        elif command == "G20":
            raise InputError("it is in inches (G20), which is not read")

    def ended(self) -> list[Wall]:
        """The walls of the last way."""
        return list(self._way.walls())

    def _comment(self, line: str) -> None:
        """Take over the feature or the width that a comment gives."""
        match = _COMMENT.fullmatch(line)
        if match is None:
            return
        if match[1] in ("TYPE", "FEATURE"):
            self._kind = match[2].lower()
            return
        try:
            self._width = _number(line.strip(), match[2])
        except InputError:
            raise
        except ValueError:
            raise InputError(f"comment {line.strip()!r} gives no width") from None

    def _move(self, command: str, words: dict[str, float]) -> Iterator[Wall]:
        start = dict(self._position)
        for name in self._position.keys() & words.keys():
            self._position[name] = words[name] + (0.0 if self._absolute[name] else start[name])
            if name != "E":  # which only has to rise
                _number(f"{name} after {command}", self._position[name])
        place = (self._position["X"], self._position["Y"], self._position["Z"])
        before = (start["X"], start["Y"], start["Z"])
        turns = command in ("G2", "G3")
        if place == before and not turns:
            return
        if self._position["E"] <= start["E"]:
            yield from self._way.walls()
            self._way = _Way([place])
            return
        self._extrude(self._arc(before, place, command == "G2", words) if turns else [place])

    def _extrude(self, places: list[_Place]) -> None:
        if self._kind in OUTER and not 0 < self._width < np.inf:
            x, y, z = places[0]
            raise InputError(
                f"the wall at z {z:g} mm, near ({x:g}, {y:g}) mm, has no comment ';WIDTH:' before it"
            )
        self._way.points += places
        self._way.kinds += [self._kind] * len(places)
        self._way.widths += [self._width] * len(places)

    def _arc(self, start: _Place, end: _Place, clockwise: bool, words: dict[str, float]) -> list[_Place]:
        """The ends of an arc's chords."""
        near = f"an arc near ({start[0]:g}, {start[1]:g}) mm"
        if "R" in words:
            raise InputError(f"{near} is given by R, but must be by I and J")
        first, last = np.array([start[:2]]), np.array([end[:2]])
        centre = first + (words.get("I", 0.0), words.get("J", 0.0))
        radius = np.hypot(*(first - centre).T)
        before, after = float(radius[0]), float(np.hypot(*(last - centre)[0]))
        if not 0 < max(before, after) <= _SPIRAL * min(before, after):
            raise InputError(f"{near} starts {before:g} mm and ends {after:g} mm from its centre")
        sweep = arcs.sweep(first, last, centre, np.array([clockwise]))
        count = int(arcs.pieces(radius, sweep, _CHORD)[0])
        self._chords += count
        limits.reserve(_PER_CHORD * self._chords)
        part = np.arange(1, count) / count
        first, last, centre, sweep = (
            np.repeat(column, count - 1, axis=0) for column in (first, last, centre, sweep)
        )
        middle = arcs.at(first, last, centre, sweep, part)
        return [(float(x), float(y), end[2]) for x, y in middle] + [end]


def _number(what: str, number: str | float) -> float:
    """A number of the file; raises InputError beyond `_FARTHEST`. what: it, in a sentence."""
    value = float(number)
    if abs(value) > _FARTHEST:
        raise InputError(f"{what[:40]} is beyond {_FARTHEST:g} mm")
    return value
