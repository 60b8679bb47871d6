"""Basic shapes and paths → subpaths of cubics, in the shape's own coordinates (px, y down).

Path data (`d`) are parsed here, too. The parser is fast (10⁵ commands in a fraction of a second). It stops at
the first mistake and keeps everything before it, as SVG requires. Lines and quadratics become cubics exactly.

A `Leaf` is one shape in its place in the drawing, with the areas of its fill and stroke in mm. Fills are
transformed, then flattened. Strokes are drawn in the shape's own coordinates, where the pen is round, and
then transformed: a skewed shape has a skewed pen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from xml.etree.ElementTree import Element

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import within
from laserpath.design.curves import Chain, Pen, Polyline, Subpath, arc, dashes, lines, polylines, stroke
from laserpath.design.fill import NONZERO, fill
from laserpath.design.svg.style import Values, font_size
from laserpath.design.svg.values import (
    IDENTITY,
    LARGE,
    NUMBER,
    NUMBERS,
    NotFinite,
    NotUnderstood,
    apply,
    length,
    lengths,
    number,
    numbers,
    stretch,
)

LARGEST = 1e5  # mm from the page's corner
MAX_DASHES = 20_000  # dashes of one line
"""Crossings of outlines that take as long as a dash."""
MITRE = 1e4  # largest mitre limit; larger ones are taken as this

Complain = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class State:
    """What applies to an element. matrix: its coordinates → mm.  host: the page's px → mm.

    values: inherited properties.  viewport: (width, height) for percentages, px.
    clip: the area outside which nothing shows, mm.  alpha: of the groups around it.
    mode: 'paint'; 'shape' in a clip, where opacity does not count; 'bounds', where clips do not either.
    chain: elements that `use` is drawing.  depth: of nesting.  bare: the element whose own transform is
    omitted, to have its bounds in the coordinates inside it.
    """

    matrix: Floats
    host: Floats
    values: Values
    viewport: tuple[float, float]
    clip: BaseGeometry | None = None
    alpha: float = 1.0
    mode: str = "paint"
    chain: tuple[Element, ...] = ()
    depth: int = 0
    bare: Element | None = None

    def along(self, axis: str) -> float:
        """100 % in px: of widths ('x'), of heights ('y'), or of other lengths ('both')."""
        w, h = self.viewport
        return {"x": w, "y": h}.get(axis, float(np.hypot(w, h) / np.sqrt(2)))


@dataclass(frozen=True, slots=True)
class Work:
    """An area to be made: curves to flatten, and the function that makes polygons (mm) of the result.

    width: of the line that the function makes instead, mm; 0: it makes polygons.
    """

    chains: list[Chain]
    finish: Callable[[list[Polyline]], list[BaseGeometry]]
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class Dashes:
    """pattern: (2n,) lengths on, off, …  stated: pathLength of the whole shape, not above 0 if not given."""

    pattern: Floats
    offset: float
    stated: float

    def on(self, lines: Sequence[Polyline]) -> Dashes:
        """The dashes in the units of the lines, which are the whole shape."""
        if self.stated <= 0:
            return self
        scale = sum(map(_length, lines)) / self.stated
        return Dashes(self.pattern * scale, self.offset * scale, 0.0)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A shape to be painted. subpaths: in its own coordinates.  name: for errors."""

    element: Element
    name: Callable[[Element], str]
    subpaths: list[Subpath]
    state: State
    fixed_pen: bool  # vector-effect: non-scaling-stroke

    def rings(self, tolerance: float) -> list[Chain]:
        """The subpaths in mm."""
        matrix = self.state.matrix
        return [Chain(self._checked(apply(matrix, s.cubics)), tolerance) for s in self.subpaths]

    def interior(self, rule: str, tolerance: float) -> Work:
        """The filled area, mm."""

        def finish(lines: list[Polyline]) -> list[BaseGeometry]:
            area = fill([line.points for line in lines], rule)
            return [] if area.is_empty else [area]

        return Work(self.rings(tolerance), finish)

    def stroked(self, tolerance: float, complain: Complain, *, bare: bool = False) -> Work:
        """Pieces whose union is the stroked area, mm; or only its lines, if they are to be `bare`."""
        self.rings(tolerance)  # refuses shapes that reach too far
        before, after = IDENTITY, self.state.matrix
        if self.fixed_pen:
            before = np.asarray(np.linalg.inv(self.state.host) @ after, dtype=np.float64)
            after = self.state.host
        scale = stretch(after) if abs(np.linalg.det(self.state.matrix)) > 0 else 0.0
        pen = self._pen(tolerance / scale, complain) if scale > 0 else None
        if pen is None:
            return Work([], lambda lines: [])
        self._checked(np.array(pen.width * scale))
        pattern = self._pattern(complain)
        chains = [Chain(apply(before, s.cubics), pen.tolerance / 2, pen.turn) for s in self.subpaths]

        def finish(lines: list[Polyline]) -> list[BaseGeometry]:
            pieces: list[BaseGeometry] = []
            scaled = pattern and pattern.on(lines)
            for subpath, whole in zip(self.subpaths, lines, strict=True):
                for line, closed in dashed(whole, subpath.closed, scaled, complain):
                    pieces += [shapely.LineString(line.points)] if bare else stroke(line, closed, pen)
            return list(shapely.transform(np.array(pieces, dtype=object), lambda xy: apply(after, xy)))

        return Work(chains, finish, pen.width * scale if bare else 0.0)

    def _checked(self, points: Floats) -> Floats:
        if not np.isfinite(points).all() or (points.size and np.abs(points).max() > LARGEST):
            raise InputError(
                f"{self.name(self.element)} reaches farther than {LARGEST / 1000:g} m from the page's corner"
            )
        return points

    def _pen(self, tolerance: float, complain: Complain) -> Pen | None:
        """The pen of the stroke; None: it has no width."""
        values, size = self.state.values, font_size(self.state.values)
        try:
            width = length(values["stroke-width"], self.state.along("both"), size)
            limit = number(values["stroke-miterlimit"])
        except NotUnderstood as error:
            complain(f"{str(error)!r} is not a stroke width or mitre limit, so the default is used")
            width, limit = 1.0, 4.0
        if width < 0:
            complain("a stroke width below 0 draws nothing")
        if width <= 0:
            return None
        cap, join = values["stroke-linecap"], values["stroke-linejoin"]
        if cap not in ("butt", "round", "square"):
            complain(f"stroke-linecap {cap!r} is not understood, and drawn as butt")
            cap = "butt"
        if join not in ("miter", "round", "bevel"):
            complain(f"stroke-linejoin {join!r} is not understood, and drawn as miter")
            join = "miter"
        return Pen(width, cap, join, min(max(limit, 1.0), MITRE), tolerance)

    def _pattern(self, complain: Complain) -> Dashes | None:
        """The dashes of the line; None: it is solid."""
        text = self.state.values["stroke-dasharray"]
        if text == "none":
            return None
        along, size = self.state.along("both"), font_size(self.state.values)
        try:
            pattern = np.array(lengths(text, along, size))
            offset = length(self.state.values["stroke-dashoffset"], along, size)
            stated = number(self.element.get("pathLength") or "-1")
        except NotUnderstood as error:
            complain(f"dashes {str(error)!r} are not understood, and the line is drawn whole")
            return None
        if len(pattern) == 0 or pattern.min() < 0 or pattern.sum() == 0 or stated == 0:
            return None  # a pathLength of 0 makes the first dash infinite
        return Dashes(np.tile(pattern, 1 + len(pattern) % 2), offset, stated)


def dashed(
    whole: Polyline, closed: bool, pattern: Dashes | None, complain: Complain
) -> list[tuple[Polyline, bool]]:
    """The line or its dashes, and whether each is closed."""
    if pattern is None:
        return [(whole, closed)]
    count = _length(whole) / pattern.pattern.sum() * len(pattern.pattern)
    if count > MAX_DASHES:
        complain(f"there would be more than {MAX_DASHES} dashes, and the line is drawn whole")
        return [(whole, closed)]
    return dashes(whole, closed, pattern.pattern, pattern.offset)


def _length(line: Polyline) -> float:
    return float(np.hypot(*np.diff(line.points, axis=0).T).sum())


def moved(state: State, matrix: Floats) -> State:
    """The state in new coordinates, which the matrix maps to the present ones."""
    return replace(state, matrix=state.matrix @ matrix)


def window(box: tuple[float, float, float, float], state: State) -> BaseGeometry:
    """The state's clip intersected with a rectangle in the state's coordinates."""
    x, y, w, h = box
    corners = np.array([[x, y], [x + w, y], [x + w, y + h], [x, y + h]])
    corners = apply(state.matrix, corners)
    if not np.abs(corners).max() < LARGE:
        raise NotFinite("a viewport without end")
    return within(fill([corners], NONZERO), state.clip)


def work(jobs: Sequence[Work]) -> list[list[BaseGeometry]]:
    """The polygons of each job; all their curves are flattened together."""
    lines = iter(polylines([chain for job in jobs for chain in job.chains]))
    return [job.finish(list(islice(lines, len(job.chains)))) for job in jobs]


LETTERS = "MmZzLlHhVvCcSsQqTtAa"
_VALID = re.compile(rf"(?:[\s,]*+(?:[{LETTERS}]|{NUMBER}))*+[\s,]*")
_COMMAND = re.compile(rf"([{LETTERS}])([^{LETTERS}]*)")
_SEP = r"[\s,]*"
_ARC = re.compile(
    _SEP + _SEP.join(f"({p})" for p in (NUMBER, NUMBER, NUMBER, "[01]", "[01]", NUMBER, NUMBER))
)
COUNT = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2}
_FLAT = 1e-60
"""Half the chord of an arc, in radii, below which it is a line, as above the inverse: squares stay finite."""

Pair = tuple[float, float]


@dataclass(slots=True)
class _PathBuilder:
    """The state of the path. x, y: current point.  rows: 8 numbers for each cubic of the open subpath.

    control: the last control point of a cubic (`smooth` C) or quadratic (Q), for S and T.
    """

    x: float = 0.0
    y: float = 0.0
    start: Pair = (0.0, 0.0)
    control: Pair = (0.0, 0.0)
    smooth: str = ""
    rows: list[float] = field(default_factory=list)
    done: list[Subpath] = field(default_factory=list)

    def line(self, x: float, y: float) -> None:
        self.rows += (self.x, self.y, self.x, self.y, x, y, x, y)
        self.x, self.y = x, y

    def cubic(self, a: Pair, b: Pair, end: Pair) -> None:
        self.rows += (self.x, self.y, *a, *b, *end)
        self.x, self.y = end

    def quadratic(self, q: Pair, end: Pair) -> None:
        a = (self.x + 2 / 3 * (q[0] - self.x), self.y + 2 / 3 * (q[1] - self.y))
        self.cubic(a, (end[0] + 2 / 3 * (q[0] - end[0]), end[1] + 2 / 3 * (q[1] - end[1])), end)

    def finish(self, closed: bool) -> None:
        """End the subpath. A closed one gets its last edge, or an edge of no length if it is a point."""
        if closed and (not self.rows or (self.x, self.y) != self.start):
            self.line(*self.start)
        if self.rows:
            cubics = np.array(self.rows, dtype=np.float64).reshape(-1, 4, 2)
            self.done.append(Subpath(cubics, closed))
            self.rows = []


def parse(d: str) -> tuple[list[Subpath], bool]:
    """The subpaths, and whether all of `d` was understood."""
    valid = d[: _end_of_valid(d)]
    understood = len(valid) == len(d)
    pen, begun = _PathBuilder(), False
    commands = _COMMAND.findall(valid)
    if valid.strip(" \t\r\n\f,")[:1] not in ("", "M", "m") or d.strip() == "none":
        return [], d.strip() == "none"
    for letter, text in commands:
        kind = letter.upper()
        if kind == "Z":
            pen.finish(closed=True)
            pen.x, pen.y = pen.start
            pen.smooth = ""
            complete = not text.strip(" \t\r\n\f,")
        elif kind == "A":
            complete = _arcs(pen, text, letter == "a")
        else:
            complete = _run(pen, letter, _floats(NUMBERS.findall(text)))
        begun = True
        if not complete:
            understood = False
            break
    if begun:
        pen.finish(closed=False)
    return pen.done, understood


def _end_of_valid(d: str) -> int:
    """The length of the valid beginning of path data; raises for NaN and infinity after it."""
    match = _VALID.match(d)
    end = match.end() if match else 0
    if wrong := re.match(r"(?i)[\s,]*([-+]?(nan|inf(inity)?))", d[end:]):
        raise NotFinite(wrong[1])
    return end


def _floats(texts: Sequence[str]) -> list[float]:
    values = list(map(float, texts))
    for value, text in zip(values, texts, strict=True):
        if not abs(value) < LARGE:
            raise NotFinite(text)
    return values


def _run(pen: _PathBuilder, letter: str, v: list[float]) -> bool:
    """One command with all its repetitions. False: numbers are missing at the end."""
    kind, relative = letter.upper(), letter.islower()
    n = COUNT[kind]
    whole = len(v) // n * n
    for k in range(0, whole, n):
        ox, oy = (pen.x, pen.y) if relative else (0.0, 0.0)
        if kind == "M" and k == 0:
            pen.finish(closed=False)
            pen.x, pen.y = ox + v[0], oy + v[1]
            pen.start = pen.x, pen.y
        elif kind in "ML":
            pen.line(ox + v[k], oy + v[k + 1])
        elif kind == "H":
            pen.line(ox + v[k], pen.y)
        elif kind == "V":
            pen.line(pen.x, oy + v[k])
        else:
            _curve(pen, kind, [(ox + v[j], oy + v[j + 1]) for j in range(k, k + n, 2)])
            continue
        pen.smooth = ""
    return whole == len(v) and whole > 0


def _curve(pen: _PathBuilder, kind: str, p: list[Pair]) -> None:
    """One C, S, Q or T with absolute points."""
    family = "C" if kind in "CS" else "Q"
    if kind in "ST":  # the last control point, mirrored at the current point
        mirrored = (2 * pen.x - pen.control[0], 2 * pen.y - pen.control[1])
        p = [mirrored if pen.smooth == family else (pen.x, pen.y), *p]
    pen.control, pen.smooth = p[-2], family
    if family == "C":
        pen.cubic(p[0], p[1], p[2])
    else:
        pen.quadratic(p[0], p[1])


def _arcs(pen: _PathBuilder, text: str, relative: bool) -> bool:
    """One A command with all its repetitions; its flags need no space around them."""
    at, any_ = 0, False
    while match := _ARC.match(text, at):
        rx, ry, phi, large, sweep, x, y = _floats(match.groups())
        end = (pen.x + x, pen.y + y) if relative else (x, y)
        curve = endpoint_arc((pen.x, pen.y), end, (rx, ry), phi, bool(large), bool(sweep))
        if curve is None:
            pen.line(*end)
        else:
            pen.rows += curve.ravel().tolist()
            pen.x, pen.y = end
        pen.smooth = ""
        at, any_ = match.end(), True
    return any_ and not text[at:].strip(" \t\r\n\f,")


def endpoint_arc(p: Pair, q: Pair, radii: Pair, phi: float, large: bool, sweep: bool) -> Floats | None:
    """The elliptic arc from p to q (SVG 1.1 appendix F.6); None: a straight line.

    phi: angle of the ellipse's x axis, degrees. Radii that are too small to reach q are scaled up.
    """
    rx, ry = abs(radii[0]), abs(radii[1])
    if rx == 0 or ry == 0 or p == q:
        return None
    c, s = math.cos(math.radians(phi)), math.sin(math.radians(phi))
    hx, hy = (p[0] - q[0]) / 2, (p[1] - q[1]) / 2
    x, y = (c * hx + s * hy) / rx, (c * hy - s * hx) / ry  # half the chord, on the unit circle
    reach = math.hypot(x, y)
    if not _FLAT < reach < 1 / _FLAT:
        return None
    scale = max(1.0, reach)
    rx, ry, x, y = rx * scale, ry * scale, x / scale, y / scale
    away = math.sqrt(max(0.0, 1 / (x * x + y * y) - 1)) * (-1 if large == sweep else 1)
    ux, uy = away * y, -away * x  # the centre on the unit circle, from the middle of the chord
    start = math.atan2(y - uy, x - ux)
    angle = math.atan2(-y - uy, -x - ux) - start
    if sweep and angle < 0:
        angle += 2 * math.pi
    elif not sweep and angle > 0:
        angle -= 2 * math.pi
    x_axis, y_axis = (c * rx, s * rx), (-s * ry, c * ry)
    centre = (
        (p[0] + q[0]) / 2 + ux * x_axis[0] + uy * y_axis[0],
        (p[1] + q[1]) / 2 + ux * x_axis[1] + uy * y_axis[1],
    )
    curve = arc(centre, x_axis, y_axis, start, angle)
    curve[0, 0], curve[-1, 3] = p, q
    return curve


Length = Callable[[str, str], float | None]
"""(attribute, along) → px, or None if it is not given. along: 'x', 'y' or 'both', for percentages."""

TAGS = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon")


def outline(tag: str, length: Length, text: Callable[[str], str]) -> tuple[list[Subpath], str]:
    """The subpaths of a shape, and a warning about it, or ''."""
    if tag == "path":
        subpaths, understood = parse(text("d"))
        return subpaths, "" if understood else "the path data has a mistake, and what follows it is left out"
    if tag in ("polyline", "polygon"):
        return _polyline(text("points"), closed=tag == "polygon")
    if tag == "line":
        ends = [[length(f"x{k}", "x") or 0.0, length(f"y{k}", "y") or 0.0] for k in (1, 2)]
        return [Subpath(lines(ends), closed=False)], ""
    if tag == "rect":
        return _rect(length)
    return _ellipse(tag, length)


def _polyline(text: str, closed: bool) -> tuple[list[Subpath], str]:
    values = numbers(text)
    wrong = "there is an odd number of coordinates, and the last is left out" if len(values) % 2 else ""
    points = np.array(values[: len(values) // 2 * 2]).reshape(-1, 2)
    if len(points) < 2:
        return [], wrong
    if closed and (points[0] != points[-1]).any():
        points = np.vstack([points, points[:1]])
    return [Subpath(lines(points), closed)], wrong


def _ellipse(tag: str, length: Length) -> tuple[list[Subpath], str]:
    cx, cy = length("cx", "x") or 0.0, length("cy", "y") or 0.0
    if tag == "circle":
        rx = ry = length("r", "both") or 0.0
    else:
        rx, ry = _radii(length)
    if rx < 0 or ry < 0:
        return [], "a radius below 0 draws nothing"
    if rx == 0 or ry == 0:
        return [], ""
    return [Subpath(arc((cx, cy), (rx, 0), (0, ry), 0, 2 * np.pi), closed=True)], ""


def _radii(length: Length) -> tuple[float, float]:
    """Radii along x and y; one that is not given equals the other."""
    rx, ry = length("rx", "x"), length("ry", "y")
    if rx is None:
        rx = ry
    if ry is None:
        ry = rx
    return rx or 0.0, ry or 0.0


def _rect(length: Length) -> tuple[list[Subpath], str]:
    x, y = length("x", "x") or 0.0, length("y", "y") or 0.0
    w, h = length("width", "x") or 0.0, length("height", "y") or 0.0
    if w < 0 or h < 0:
        return [], "a width or height below 0 draws nothing"
    if w == 0 or h == 0:
        return [], ""
    rx, ry = _radii(length)
    rx, ry = min(max(rx, 0), w / 2), min(max(ry, 0), h / 2)
    if rx == 0 or ry == 0:
        corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]
        return [Subpath(lines(corners), closed=True)], ""
    return [Subpath(_rounded(x, y, w, h, rx, ry), closed=True)], ""


def _rounded(x: float, y: float, w: float, h: float, rx: float, ry: float) -> np.ndarray:
    """Four edges and four quarter ellipses, clockwise on the screen from the upper left."""
    corners = [
        arc((x + w - rx, y + ry), (rx, 0), (0, ry), -np.pi / 2, np.pi / 2),
        arc((x + w - rx, y + h - ry), (rx, 0), (0, ry), 0, np.pi / 2),
        arc((x + rx, y + h - ry), (rx, 0), (0, ry), np.pi / 2, np.pi / 2),
        arc((x + rx, y + ry), (rx, 0), (0, ry), np.pi, np.pi / 2),
    ]
    pieces = []
    for before, corner in zip([corners[-1], *corners[:-1]], corners, strict=True):
        pieces += [lines([before[-1, 3], corner[0, 0]]), corner]
    return np.concatenate(pieces)
