"""A drill file (Excellon) → where the holes are, mm, y up.

    drills = read(data, "board.drl", fits)

The format is that of a machine of 1982, and files omit what every machine of a shop was set to. Read are:

- tools with their diameters, in the header, where they are first taken, or in Allegro's comments
  (`Holesize 1. = 12.0 … MILS`), and whether their holes are plated, by `;TYPE=` or X2's `.FileFunction`;
- units (`INCH`, `METRIC`, `M71`, `M72`), which zeros are kept (`LZ`, `TZ`), and the digits (`000.000`,
  `;FILE_FORMAT=2:4`, `; Format : 2.4`), decimal points, coordinates that are left out because they stay;
- repeated holes (`R5X0100`), slots (`G85`), routed lines and arcs (`G00`, `M15`, `G01` to `G03`, `M16`);
- panels: what stands between `M25` (or `%`) and `M01` is repeated by each `M02X…Y…`, a step from the copy
  before, or by `R5M02X…`; `M08` ends that. After another `M01` all copies are the pattern.

Mirrored copies (`M70`, `M80`, `M90`), stored patterns (`M99`), texts, incremental coordinates (`G91`) and
shifted zeros (`G93`) are refused.

Coordinates without a point are whole numbers, and which digits stand before the point is not always said.
Then all usual formats are tried, and the one in which most holes lie where they belong counts: `fits` says
how many do, and it knows the copper. Without a difference the usual one is taken: 2.4 in inches, 3.3 in mm,
with leading zeros omitted.

Sources: Excellon, CNC-7 manual; Ucamco, XNC Format Specification 2021.11.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.fill import check_reach

INCH = 25.4
_ARC = math.radians(10)
"""Angle between vertices of a routed arc. Its error, 0.4 % of the radius, is of a hole and not of copper."""
BESIDE = 1.0
"""mm that a hole may lie beside the board: half-holes of castellated edges do."""
_WIDEST = 1000.0
"""mm of a tool: circles that are milled out of a board are drawn as tools, too."""
_MOST_REPEATS = 10_000
"""Holes of one command; a larger number is damage, and takes seconds."""

_MOST_HOLES = 200_000
"""Holes of a file with all repeats and copies: those of a panel of a hundred dense boards. More take long."""

Fits = Callable[[Floats], float]
"""(centres of holes, (n, 2) mm) → how well they fit the board, larger is better."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole, or a slot along a line. points: its centre, or the vertices of the line, mm.

    diameter: mm.  plated: None: nothing says it.
    """

    points: tuple[tuple[float, float], ...]
    diameter: float
    plated: bool | None = None

    @classmethod
    def of(cls, area: shapely.Polygon) -> Hole:
        """A disc, or a stadium, as a hole."""
        corners = shapely.get_coordinates(shapely.minimum_rotated_rectangle(area))[:3]
        a, b = np.diff(corners, axis=0)
        sides, along = (np.hypot(*a), np.hypot(*b)), max(a, b, key=lambda v: np.hypot(*v))
        length, width = max(sides), min(sides)
        middle, half = np.array(area.centroid.coords[0]), along / np.hypot(*along) * (length - width) / 2
        if length - width < 0.02 * length:
            return cls(((float(middle[0]), float(middle[1])),), float(2 * np.sqrt(area.area / np.pi)))
        ends = [(float(x), float(y)) for x, y in (middle - half, middle + half)]
        return cls(tuple(ends), float(width))

    @property
    def centre(self) -> tuple[float, float]:
        """Its centre, or the middle of the box around the slot, mm."""
        (x0, x1), (y0, y1) = ((min(values), max(values)) for values in zip(*self.points, strict=True))
        return (x0 + x1) / 2, (y0 + y1) / 2

    def area(self, grown: float = 0.0) -> shapely.Polygon:
        """What is drilled away, and `grown` mm around it."""
        one = shapely.Point(self.points[0]) if len(self.points) == 1 else shapely.LineString(self.points)
        return one.buffer(self.diameter / 2 + grown, quad_segs=16)


@dataclass(frozen=True, slots=True)
class Digits:
    """How whole numbers are coordinates. unit: mm.  digits: before and after the point.  trailing: trailing
    zeros are omitted, not leading ones.
    """

    unit: float
    digits: tuple[int, int]
    trailing: bool

    def mm(self, text: str) -> float:
        """A coordinate in mm."""
        if "." in text:
            return float(text) * self.unit
        sign, number = (-1 if text.startswith("-") else 1), text.lstrip("+-")
        if self.trailing:
            number = number.ljust(sum(self.digits), "0")
        return sign * float(number) / 10 ** self.digits[1] * self.unit

    def __str__(self) -> str:
        before, after = self.digits
        zeros = "trailing" if self.trailing else "leading"
        unit = "inches" if self.unit == INCH else "mm"
        return f"{before}.{after} digits in {unit}, {zeros} zeros omitted"


@dataclass(frozen=True, slots=True)
class Drilled:
    """The holes of a file. digits: how it was read; None: it has none.  notes: what was assumed."""

    holes: tuple[Hole, ...]
    digits: Digits | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Header:
    """What a file says of itself; None: nothing. tools: number → diameter in the file's unit, or in mm if
    `own` has it.
    """

    unit: float | None = None
    digits: tuple[int, int] | None = None
    trailing: bool | None = None
    tools: dict[int, float] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    plated: dict[int, bool | None] = field(default_factory=dict)
    now: bool | None = None

    def notations(self) -> list[Digits]:
        """The notations that the file may mean, the likeliest first."""
        units = [self.unit] if self.unit else [INCH, 1.0]
        zeros = [self.trailing] if self.trailing is not None else [False, True]
        usual = {
            INCH: [(2, 4), (2, 3), (3, 5), (2, 5)],
            1.0: [(3, 3), (3, 2), (4, 2), (4, 4), (3, 4), (2, 4)],
        }
        return [
            Digits(unit, digits, trailing)
            for unit in units
            for trailing in zeros
            for digits in ([self.digits] if self.digits else usual[unit])
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Copy:
    """A copy of a pattern: so often a step from the copy before, or from the pattern. step: as written."""

    before: _Copy | None
    times: int
    step: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Path:
    """A hole or a route with coordinates as written. steps: (x, y) texts after each other.

    copies: of a pattern, in which this path is; several if copies have become the pattern.
    """

    tool: int
    plated: bool | None
    line: int
    steps: list[dict[str, str]]
    repeats: int = 0
    copies: tuple[_Copy, ...] = ()


_TOOL = re.compile(r"T0*(\d+)(?=\D|$)(.*)$")
_DIAMETER = re.compile(r"C\+?(\d*\.?\d+)")
_ALLEGRO = re.compile(
    r";?\s*(?:T0*(\d+) +)?Holesize (\d+)\.? = (\d+\.?\d*)[^A-Z]*Tol[^A-Z]*(NON_PLATED|PLATED|OPTIONAL)?\s*"
    r"(MILS|MM|INCH\w*|MICRONS)"
)
_ALLEGRO_UNITS = {"MILS": 0.0254, "MM": 1.0, "MICRONS": 1e-3}
_DIGITS = re.compile(r"(?:FILE_FORMAT=|[Ff]ormat\s*:\s*|FORMAT=\{)(\d)[:.](\d)")
_STEP = re.compile(r"(?:R(\d+))?M(25|0?[128]|2[467])((?:[XY][+-]?\d*\.?\d*)*)(?:M30)?")
"""Beginning, end, copy and end of the copies of a pattern; M24, M26 and M27 are older words for the last."""
_UNREAD = re.compile(r"(?:R\d+)?M0?2[XYM]|(?:R\d+)?M26[XYM]|G93|M70|M80|M90|M9[789]|P\d+[XY]")
_XY = re.compile(r"([XYIJAR])([+-]?\d*\.?\d*)")


def lie_in(outline: BaseGeometry, copper: Sequence[BaseGeometry]) -> Fits:
    """How many holes lie on the board, and how many in its copper: 0 to 2."""
    box = shapely.box(*outline.bounds).buffer(BESIDE)
    shapely.prepare(np.array([box, *copper], dtype=object))

    def share(xy: Floats) -> float:
        hit = np.zeros(len(xy), dtype=bool)
        for area in copper:
            hit |= shapely.contains_xy(area, xy[:, 0], xy[:, 1])
        return float(hit.mean() + shapely.contains_xy(box, xy[:, 0], xy[:, 1]).mean())

    return share


def read(data: bytes, name: str, fits: Fits | None = None, like: Digits | None = None) -> Drilled:
    """The holes of a drill file. name: for messages.

    fits, like: for a file that leaves its digits open: how well they fit, and those of another file of the
    board, which count if they are possible here.
    """
    try:
        header, paths, decimal = _parsed(data.decode("latin-1"))
        if not paths:
            return Drilled(())
        notations = header.notations()
        notes: tuple[str, ...] = ()
        if header.unit is None or not decimal:
            if like in notations:
                notations = [like]
            notation, notes = _chosen(notations, header, paths, fits, name)
        else:
            notation = notations[0]
        holes = tuple(_holes(paths, header, notation))
        check_reach("a hole", np.array([point for hole in holes for point in hole.points]))
        return Drilled(holes, notation, notes)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _chosen(
    notations: list[Digits], header: _Header, paths: list[_Path], fits: Fits | None, name: str
) -> tuple[Digits, tuple[str, ...]]:
    """The notation that fits best, and a note if the file leaves a choice. Copies show nothing more."""
    paths = [path for path in paths if not path.copies]
    if len(notations) == 1:
        return notations[0], ()
    scores = [0.0] * len(notations)
    for k, notation in enumerate(notations):
        limits.spend()
        try:
            centres = np.array([hole.centre for hole in _holes(paths, header, notation)])
        except InputError:  # tools too wide in one unit; if all are wrong, reading the best says why
            scores[k] = -1.0
            continue
        scores[k] = fits(centres) if fits is not None else 0.0
    best = max(range(len(notations)), key=lambda k: (round(scores[k], 3), -k))
    why = "as its holes then meet the copper" if scores[best] > 0 else "which is usual"
    return notations[best], (f"{name} does not say its format: {notations[best]}, {why}",)


def _parsed(text: str) -> tuple[_Header, list[_Path], bool]:
    """(header, paths, whether all coordinates have a point)."""
    header, body = _Header(), _Body()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        try:
            if line.startswith((";", "G04")) or (line.startswith("(") and line.endswith(")")):
                _comment(line, header)
            elif line:
                _command(line.split(";")[0].strip().removesuffix("*"), header, body, number)
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None
        if body.ended:
            break
    body.finish()
    return header, body.paths, body.decimal


def _comment(line: str, header: _Header) -> None:
    """What programs write into comments."""
    if found := _DIGITS.search(line):
        header.digits = int(found[1]), int(found[2])
    if found := _ALLEGRO.match(line):
        tool = int(found[1] or found[2])
        header.tools.setdefault(tool, float(found[3]) * _ALLEGRO_UNITS.get(found[5], INCH))
        header.own.add(tool)
        header.plated[tool] = found[4] != "NON_PLATED" if found[4] in ("PLATED", "NON_PLATED") else None
    if "TYPE=" in line:
        header.now = "NON" not in line
    elif "FileFunction,NonPlated" in line:
        header.now = False
    elif "FileFunction,Plated" in line:
        header.now = True


@dataclass(slots=True)
class _Body:
    """The state while a file is read. heading: in its header.  route: what is being cut; None: nothing.

    at: the last coordinates; replaced and never changed, since paths hold them.
    begin: number of the path with which a pattern begins.  pattern: those in it, once it has ended.
    last: the copy of it from which the next one is a step.  holes: how many there are.
    """

    paths: list[_Path] = field(default_factory=list)
    heading: bool = False
    tool: int | None = None
    plated: bool | None = None
    routing: bool = False
    route: list[dict[str, str]] | None = None
    at: dict[str, str] = field(default_factory=dict)
    incremental: bool = False
    decimal: bool = True
    ended: bool = False
    begin: int = 0
    pattern: tuple[_Path, ...] = ()
    last: _Copy | None = None
    holes: int = 0

    def count(self, more: int) -> None:
        """Refuse more holes than a file may have, before they are made."""
        self.holes += more
        if self.holes > _MOST_HOLES:
            raise InputError(f"the file repeats its holes to {self.holes}, above {_MOST_HOLES}")

    def add(self, steps: list[dict[str, str]], number: int, repeats: int = 0) -> None:
        """Add a hole or a route."""
        if self.tool is None:
            raise InputError("a hole comes before a tool is chosen")
        limits.spend()
        self.count(repeats if 0 < repeats <= _MOST_REPEATS else 1)
        self.paths.append(_Path(self.tool, self.plated, number, steps, repeats))

    def finish(self, number: int = 0) -> None:
        """End the route."""
        route, self.route = self.route, None
        if route is not None and len(route) > 1:
            self.add(route, number)


def _command(line: str, header: _Header, body: _Body, number: int) -> None:
    """Take in one line that is no comment."""
    word = line.upper()
    if word in ("M48", "%", "M95"):
        if word != "M48" and body.heading:
            body.tool = None  # a definition in the header is no choice
        body.begin = len(body.paths)
        body.heading = word == "M48"
    elif word.startswith(("INCH", "METRIC", "M71", "M72")):
        _units(word, header)
    elif tool := _TOOL.match(word):
        _take(int(tool[1]), tool[2], header, body, number)
    elif word in ("M15", "M16", "M17"):
        _plunge(word, body, number)
    elif word in ("G90", "G91", "ICI", "ICI,ON", "ICI,OFF"):
        body.incremental = word in ("G91", "ICI", "ICI,ON")
    elif word in ("M30", "M00", "M0"):
        body.ended = word == "M30" or bool(body.paths)
    elif re.match(r"G93X\+?0*\.?0*Y\+?0*\.?0*$", word):
        pass
    elif step := _STEP.fullmatch(word.replace(" ", "")):
        _step_and_repeat(step, body, number)
    elif _UNREAD.match(word):
        raise InputError(f"{word[:20]!r} repeats, moves or draws a pattern of holes, which is not read")
    elif re.match(r"(?:G\d+)?\s*[XYR]", word):
        _move(word.replace(" ", ""), body, number)
    elif word in ("G05", "G5"):
        body.finish(number)
        body.routing = False
    elif word in ("G00", "G01", "G02", "G03", "G0", "G1", "G2", "G3"):
        body.routing = True


def _units(word: str, header: _Header) -> None:
    """INCH,TZ,00.0000 and the like."""
    header.unit = INCH if word.startswith(("INCH", "M72")) else 1.0
    parts = word.split(",")[1:]
    if "LZ" in parts or "TZ" in parts:
        header.trailing = "LZ" in parts
    for part in parts:
        if found := re.fullmatch(r"(0+)\.(0+)", part):
            header.digits = len(found[1]), len(found[2])


def _take(tool: int, rest: str, header: _Header, body: _Body, number: int) -> None:
    """Define a tool, choose it, or both."""
    body.finish(number)
    if found := _DIAMETER.search(rest):
        header.tools[tool] = float(found[1])
        header.own.discard(tool)
        header.plated.setdefault(tool, header.now)
    body.tool, body.routing = (tool or None), False
    told = header.plated.get(tool)
    body.plated = header.now if told is None else told
    if found := re.search(r"[XY][+-]?\d.*$", rest):
        _move(found[0], body, number)


def _step_and_repeat(step: re.Match[str], body: _Body, number: int) -> None:
    """Begin or end a pattern, or repeat it."""
    code, words = int(step[2]), _words(step[3])
    body.finish(number)
    if code == 25:
        body.begin, body.pattern, body.last = len(body.paths), (), None
    elif code in (1, 24):
        body.pattern, body.last = tuple(body.paths[body.begin :]), None
    elif code in (8, 27):
        body.begin, body.pattern, body.last = len(body.paths), (), None
        body.ended = step[0].endswith("M30")
    elif words:
        _repeat(int(step[1] or 1), words, body)
    else:
        body.last = None  # the next copy is a step from the pattern again


def _repeat(times: int, step: dict[str, str], body: _Body) -> None:
    """Copy the pattern, each copy a step from the one before. step: words of its coordinates."""
    if not body.pattern:
        raise InputError("a pattern is repeated (M02) before it has ended (M01)")
    if times > _MOST_REPEATS:
        raise InputError(f"a pattern is repeated {times} times, above {_MOST_REPEATS}")
    body.count(times * sum(path.repeats or 1 for path in body.pattern))
    body.decimal &= _is_pointed(step)
    before = body.last
    for k in range(1, times + 1):
        limits.spend()
        body.last = copy = _Copy(before, k, step)
        body.paths += [
            _Path(one.tool, one.plated, one.line, one.steps, one.repeats, (*one.copies, copy))
            for one in body.pattern
        ]


def _plunge(word: str, body: _Body, number: int) -> None:
    """Lower or raise the router."""
    body.finish(number)
    if word == "M15":
        body.routing, body.route = True, [body.at]


def _move(word: str, body: _Body, number: int) -> None:
    """A hole, a slot, repeated holes, or a step of a route."""
    before, slot, after = word.partition("G85")
    mode = re.match(r"G0*(\d+)", before)
    code = int(mode[1]) if mode else None
    if code == 5:
        body.finish(number)
        body.routing, code = False, None
    if code is not None and code > 3:
        raise InputError(f"{word[:40]!r} is a cycle of the machine, which is not read: write its holes")
    words = _words(before)
    repeats = int(words.pop("R")) if "R" in words and words["R"].isdecimal() else 0
    body.decimal &= _is_pointed(words)
    if repeats:
        body.add([body.at, words], number, repeats)
        return
    if body.incremental:
        raise InputError("coordinates are incremental (G91), which is not read: write absolute ones")
    start, body.at = body.at, {**body.at, **{k: v for k, v in words.items() if k in "XY"}}
    if slot:
        end = _words(after)
        body.decimal &= _is_pointed(end)
        begin, body.at = body.at, {**body.at, **end}
        body.add([begin, body.at], number)
    elif code == 0:
        body.finish(number)
        body.routing = True
    elif code is not None or body.route is not None:
        if body.route is None:
            body.route = [start]  # a route without M15
        turn = {"turn": str(code)} if code in (2, 3) else {}
        body.route.append({**body.at, **{k: v for k, v in words.items() if k in "IJA"}, **turn})
    elif not body.routing:
        body.add([body.at], number)


def _words(text: str) -> dict[str, str]:
    """Letter → number as written, without letters that have none."""
    return {letter: number for letter, number in _XY.findall(text) if number.strip("+-.")}


def _is_pointed(words: dict[str, str]) -> bool:
    """Whether all numbers have a point, or are 0."""
    return all("." in number or not number.strip("+-0") for number in words.values())


def _holes(paths: list[_Path], header: _Header, notation: Digits) -> Iterator[Hole]:
    """The holes of all paths in mm."""

    @cache  # the copy before has been asked for before, so that it never goes deep
    def shift(copy: _Copy) -> tuple[float, float]:
        x, y = shift(copy.before) if copy.before else (0.0, 0.0)
        dx, dy = _point(copy.step, notation)
        return x + copy.times * dx, y + copy.times * dy

    for path in paths:
        if path.tool not in header.tools:
            raise InputError(
                f"line {path.line}: tool T{path.tool} has no diameter, neither here nor in the header"
            )
        size = header.tools[path.tool] * (1.0 if path.tool in header.own else notation.unit)
        if not size < _WIDEST:
            raise InputError(f"line {path.line}: tool T{path.tool} is {size:g} mm wide, above {_WIDEST:g} mm")
        limits.spend()
        each = _repeated(path, notation) if path.repeats else iter([_points(path.steps, notation)])
        shifts = [shift(copy) for copy in path.copies]
        dx, dy = sum(x for x, _ in shifts), sum(y for _, y in shifts)
        for points in each:
            yield Hole(tuple((x + dx, y + dy) for x, y in points), size, path.plated)


def _repeated(path: _Path, notation: Digits) -> Iterator[Iterable[tuple[float, float]]]:
    """The place of each hole that is repeated at equal steps."""
    (x, y), step = _point(path.steps[0], notation), _point(path.steps[1], notation)
    if path.repeats > _MOST_REPEATS:
        raise InputError(f"line {path.line} repeats a hole {path.repeats} times, above {_MOST_REPEATS}")
    for k in range(1, path.repeats + 1):
        yield [(x + k * step[0], y + k * step[1])]


def _point(step: dict[str, str], notation: Digits) -> tuple[float, float]:
    x, y = (notation.mm(step[axis]) if axis in step else 0.0 for axis in "XY")
    return x, y


def _points(steps: list[dict[str, str]], notation: Digits) -> Iterator[tuple[float, float]]:
    """The vertices of a path; arcs by their radius (A) or their centre from the start (I, J)."""
    at = _point(steps[0], notation)
    yield at
    for step in steps[1:]:
        end = _point(step, notation)
        if "turn" in step:
            yield from _arc(at, end, step, notation)
        yield end
        at = end


def _arc(
    at: tuple[float, float], end: tuple[float, float], step: dict[str, str], notation: Digits
) -> Iterator[tuple[float, float]]:
    """Vertices between the ends of an arc. G02 turns clockwise."""
    sign = -1 if step["turn"] == "2" else 1
    chord = math.dist(at, end)
    if "A" in step:  # the shorter of the two arcs
        radius = max(abs(notation.mm(step["A"])), chord / 2)
        off = sign * math.sqrt(max(radius**2 - chord**2 / 4, 0.0)) / (chord or 1.0)
        centre = (
            (at[0] + end[0]) / 2 - off * (end[1] - at[1]),
            (at[1] + end[1]) / 2 + off * (end[0] - at[0]),
        )
    else:
        i, j = (notation.mm(step[k]) if k in step else 0.0 for k in "IJ")
        centre = (at[0] + i, at[1] + j)
    first = math.atan2(at[1] - centre[1], at[0] - centre[0])
    last = math.atan2(end[1] - centre[1], end[0] - centre[0])
    sweep = (sign * (last - first)) % (2 * math.pi) or 2 * math.pi
    radius = math.dist(at, centre)
    for k in range(1, count := max(1, math.ceil(sweep / _ARC))):
        angle = first + sign * sweep * k / count
        yield centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
