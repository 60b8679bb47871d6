"""One shape in its place in the drawing, and the areas of its fill and stroke in mm.

Fills are transformed, then flattened. Strokes are drawn in the shape's own coordinates, where
the pen is round, and then transformed: a skewed shape has a skewed pen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from xml.etree.ElementTree import Element

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import within
from laserpath.design.curves import Chain, Pen, Polyline, Subpath, dashes, polylines, stroke
from laserpath.design.fill import NONZERO, fill
from laserpath.design.svg.style import Values, font_size
from laserpath.design.svg.values import (
    IDENTITY,
    LARGE,
    NotFinite,
    NotUnderstood,
    apply,
    length,
    lengths,
    number,
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
