"""Sliced G-code → one program for the laser: the outer walls of each layer are that layer's design.

    plan_stack(stack_of(text, process, settings)).program

`read` finds the path of the nozzle, `layers` turns it into areas, and `planning` plans them.

**Walls** are known by the comments of PrusaSlicer, OrcaSlicer, SuperSlicer and Bambu Studio, each before an
extrusion:

    ;TYPE:External perimeter   ;TYPE:Outer wall   ; FEATURE: Outer wall     an outer wall
    ;TYPE:Overhang perimeter   ;TYPE:Overhang wall                          part of any wall, in the air
    ;WIDTH:0.45                ; LINE_WIDTH: 0.45                           of the line, mm

A way is a run of moves that extrude (E rises) without a travel between them. It is an outer wall from the
first to the last move of that feature, overhangs included. A way of overhangs alone may be an outer or an
inner wall. Nothing in the file distinguishes the two, so it is refused.

**Areas.** The middle of a wall of width w lies w/2 inside the model's edge, with sharp corners. So a closed
wall P bounds P ⊕ w/2 (mitred) if it is an outer boundary, or P ⊖ w/2 if it is a hole. By the even-odd rule,
it is an outer boundary if an even number of other closed walls is around it. If w changes along a wall, P is
widened or narrowed by its pieces instead, each with its own w and round ends. An open wall is one line of
plastic, and its area is that of its pieces.

A closed wall ends a little before its start, so that no blob is left at the seam. A gap of at most its width
is closed, with a corner if its ends are not in line. Areas are simplified by 1 µm, the last digit that
slicers write.

Sources: PrusaSlicer's and OrcaSlicer's libslic3r/GCode/GCodeProcessor.cpp (reserved tags), and sliced files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import shapely

from gcode import arcs
from laserpath.base import limits
from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.errors import InputError
from laserpath.base.overlay import areas, minus, plus, union
from laserpath.design.fill import check_reach
from laserpath.physics import optics
from laserpath.planning import Stack, stacked
from laserpath.types import Process, Settings

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


_LAST_DIGIT = 1e-3
"""mm, of the coordinates that slicers write."""
_ROUNDING = 1.5 * _LAST_DIGIT
"""mm, largest distance of a rounded point from the line that it lay on: at most √2 digits."""
_SPECK = 3 * _LAST_DIGIT
_SURE = 5 * _LAST_DIGIT
"""mm, shortest piece with a usable direction: rounding turns it by at most a tenth of a radian."""
_IN_LINE = 0.05
"""rad, largest turn between pieces that need no corner."""
_SAME_WIDTH = 0.01
"""Largest relative change of a width that counts as constant; slicers round it."""
_MITRE = 3.0
"""Limit of mitred corners in half widths, that of Slic3r; sharper ones are cut."""


@dataclass(frozen=True, slots=True)
class SlicedLayer:
    """The solid area at one height. z: mm."""

    z: float
    area: shapely.MultiPolygon


def layers(walls: Sequence[Wall]) -> list[SlicedLayer]:
    """One layer for each height, from the lowest up; objects that were printed one by one are joined."""
    for wall in walls:
        check_reach(f"a wall at z {wall.z:g} mm", wall.xy)
        check_reach(f"the width of a wall at z {wall.z:g} mm", wall.width)
    heights = np.array([wall.z for wall in walls])
    order = np.argsort(heights, kind="stable")
    cuts = np.flatnonzero(np.diff(heights[order]) > _LAST_DIGIT) + 1
    with np.errstate(all="ignore"):  # GEOS divides by lengths of 0, and heeds it
        return [_layer([walls[k] for k in group]) for group in np.split(order, cuts)]


def _layer(walls: list[Wall]) -> SlicedLayer:
    closed = [wall for wall in walls if _is_closed(wall)]
    area = _filled(closed)
    lines = [_bars(wall) for wall in walls if not _is_closed(wall)]
    whole = shapely.simplify(union([area, *lines]), _LAST_DIGIT)
    parts = [part for part in shapely.get_parts(whole) if part.geom_type == "Polygon" and part.area > 0]
    if not parts:
        raise InputError(f"the walls at z {walls[0].z:g} mm bound no area")
    return SlicedLayer(walls[0].z, shapely.MultiPolygon(parts))


def _is_closed(wall: Wall) -> bool:
    gap = float(np.hypot(*(wall.xy[-1] - wall.xy[0])))
    return len(wall.xy) > 3 and gap <= wall.width.max() and _middle(wall).area > wall.width.max() ** 2 / 4


def _middle(wall: Wall) -> shapely.Geometry:
    """The area that the middle of a closed wall encloses."""
    # The direction of a piece of one micrometre is due to rounding, and its mitre would become a bevel.
    way = shapely.LineString(_without_seam(wall.xy))
    points = shapely.get_coordinates(shapely.remove_repeated_points(way, _SPECK))
    # Without these pieces a tiny arc may have too few points for a ring.
    return areas(shapely.make_valid(shapely.Polygon(points))) if len(points) > 3 else shapely.Polygon()


def _without_seam(xy: Floats) -> Floats:
    """A closed wall (N, 2) mm without the ends that its seam made, or with the corner that its gap hides.

    An end in line with its neighbours is no corner of the model. The piece between such an end and a
    corner a few micrometres away has no usable direction, so keeping it would turn the corner.
    """
    ring = xy[1:] if _off_line(xy[0], xy[-1], xy[1]) <= _ROUNDING else xy
    ring = ring[:-1] if _off_line(ring[-1], ring[-2], ring[0]) <= _ROUNDING else ring
    return ring if len(ring) < len(xy) else np.vstack([xy, _corner_at_seam(xy)])


def _off_line(point: Floats, a: Floats, b: Floats) -> float:
    """Mm between a point and the line from a to b."""
    return float(shapely.Point(point).distance(shapely.LineString([a, b])))


def _corner_at_seam(xy: Floats) -> Floats:
    """(0 or 1, 2): where the last piece of a closed wall, carried on, meets the first, carried back.

    p + a u = s − b v, with a and b at least 0. Pieces too short for a direction are taken together.
    """
    gap = xy[0] - xy[-1]
    u, v = -_direction(xy[::-1]), _direction(xy)
    turn = u[0] * v[1] - u[1] * v[0]
    if abs(turn) < _IN_LINE:
        return np.empty((0, 2))
    a, b = (gap[0] * v[1] - gap[1] * v[0]) / turn, (u[0] * gap[1] - u[1] * gap[0]) / turn
    near = min(a, b) >= 0 and max(a, b) <= 2 * np.hypot(*gap)
    return xy[-1:] + a * u if near else np.empty((0, 2))


def _direction(xy: Floats) -> Floats:
    """Unit vector from the first point to the next one far enough away, or 0 if none is."""
    ways = xy[1:] - xy[0]
    lengths = np.hypot(*ways.T)
    far = int(np.argmax(lengths >= _SURE))
    return ways[far] / lengths[far] if lengths[far] >= _SURE else np.zeros(2)


def _filled(walls: list[Wall]) -> shapely.Geometry:
    """The area of closed walls: outer boundaries and holes alternate from the outside in."""
    middles = [_middle(wall) for wall in walls]
    depths = _depths(middles)
    area: shapely.Geometry = shapely.Polygon()
    for k in np.argsort(depths, kind="stable"):
        if depths[k] % 2:
            area = minus(area, _offset(walls[k], middles[k], -1))
        else:
            area = plus(area, _offset(walls[k], middles[k], 1))
    return area


def _depths(middles: list[shapely.Geometry]) -> list[int]:
    """For each ring, the number of other rings around it."""
    tree = shapely.STRtree(middles)
    inside = [shapely.point_on_surface(middle.boundary) for middle in middles]
    return [int((tree.query(point, predicate="within") != k).sum()) for k, point in enumerate(inside)]


def _offset(wall: Wall, middle: shapely.Geometry, sign: int) -> shapely.Geometry:
    """The enclosed area, half a width larger or smaller."""
    width = wall.width
    if np.ptp(width) <= _SAME_WIDTH * width.max():
        return middle.buffer(sign * width.mean() / 2, join_style="mitre", mitre_limit=_MITRE)
    bars = _bars(wall)
    return plus(middle, bars) if sign > 0 else minus(middle, bars)


def _bars(wall: Wall) -> shapely.Geometry:
    """The area that the plastic of a wall covers."""
    pieces = shapely.linestrings(np.stack([wall.xy[:-1], wall.xy[1:]], axis=1))
    return union(shapely.buffer(pieces, wall.width / 2))


__all__ = ["SlicedLayer", "Wall", "layers", "read", "stack_of"]

_WIDER = 0.05
"""Relative excess of walls over the spot from which a warning says that they are too wide."""


def stack_of(text: str, process: Process, settings: Settings, *, name: str = "sliced") -> Stack:
    """The placed layers of a sliced file, equal ones grouped. The slicer's bed is the page."""
    with limits.work(name):
        walls = read(text)
        sliced = layers(walls)
    bed = (0.0, 0.0, *process.machine.size)
    stack = stacked([(one.z, one.area) for one in sliced], process, settings, name=name, page=bed)
    return replace(stack, notes=(*stack.notes, *_coarse(walls, optics.fwhm(process.spot))))


def _coarse(walls: Sequence[Wall], fwhm: float) -> tuple[str, ...]:
    """A sentence if most of the walls are wider than the spot: the slicer loses finer features."""
    width = np.concatenate([wall.width for wall in walls])
    length = np.concatenate([np.hypot(*np.diff(wall.xy, axis=0).T) for wall in walls])
    wide = width > fwhm * (1 + _WIDER)
    if length[wide].sum() <= length.sum() / 2:
        return ()
    widest = float(np.average(width[wide], weights=length[wide]))
    return (
        f"the slicer's walls are {widest:.3g} mm wide and the spot {fwhm:.3g} mm: what is narrower than two "
        "walls is left out or blurred; set nozzle diameter and line widths to the spot's width",
    )
