"""A design turned, mirrored, sized and repeated before it is placed on the machine, in this order:

mirror → rotate → scale or size → negative → repeat. All about the origin; the page goes along, as the box
around it. `placement` moves the result to the work zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import shapely
from shapely import affinity

from laserpath.checks import between
from laserpath.errors import InputError
from laserpath.types import Design, Point

_MOST_COPIES = 10_000

Box = tuple[float, float, float, float]

Map = tuple[float, float, float, float, float, float]
"""(a, b, d, e, x, y): x' = a x + b y + x, y' = d x + e y + y, as Shapely has it."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Copies in columns × rows. pitch: (x, y) mm from one to the next."""

    columns: int
    rows: int
    pitch: Point

    def __post_init__(self) -> None:
        if self.columns < 1 or self.rows < 1 or self.columns * self.rows > _MOST_COPIES:
            raise InputError(
                f"repeat is {self.columns}x{self.rows}, but must be 1 to {_MOST_COPIES} copies in all"
            )
        if not (np.isfinite(self.pitch).all() and min(self.pitch) > 0):
            raise InputError(f"repeat pitch is {self.pitch} mm, but must be above 0 mm")


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is done to a design. Angles are in degrees, counter-clockwise.

    mirror: '', 'x' (left becomes right), 'y' (top becomes bottom) or 'xy'.  scale: factor of all lengths.
    size: (width, height) in mm of what is drawn, instead of a scale; None leaves one of them to the other.
    negative: what is not drawn on the page counts as drawn.
    """

    mirror: str = ""
    rotate: float = 0.0
    scale: float = 1.0
    size: tuple[float | None, float | None] | None = None
    negative: bool = False
    repeat: Repeat | None = None

    def __post_init__(self) -> None:
        if self.mirror not in ("", "x", "y", "xy"):
            raise InputError(f"mirror {self.mirror!r} is unknown; known: x, y, xy")
        between(self, rotate=(-360, 360), scale=(1e-6, 1e6))
        if self.size is None:
            return
        if self.scale != 1:
            raise InputError(f"scale {self.scale:g} and a size both say how large it is; give one of them")
        given = [value for value in self.size if value is not None]
        if not given or not all(math.isfinite(value) and value > 0 for value in given):
            raise InputError(f"size is {self.size} mm, but must be above 0 mm")

    def in_words(self) -> Iterator[str]:
        """A phrase for each thing that is done."""
        if self.mirror:
            yield f"mirrored in {' and '.join(self.mirror)}"
        if self.rotate:
            yield f"turned by {self.rotate:g} degrees"
        if self.scale != 1:
            yield f"scaled by {self.scale:g}"
        if self.size:
            yield "sized to " + " x ".join("any" if v is None else f"{v:g}" for v in self.size) + " mm"
        if self.negative:
            yield "negative"
        if self.repeat:
            x, y = self.repeat.pitch
            yield f"repeated {self.repeat.columns}x{self.repeat.rows} every {x:g} x {y:g} mm"

    def recipe(self) -> Iterator[str]:
        """The lines of a project file that say the same."""
        if self.mirror:
            yield f'mirror = "{self.mirror}"'
        if self.rotate:
            yield f"rotate = {self.rotate:.12g}"
        if self.scale != 1:
            yield f"scale = {self.scale:.12g}"
        if self.size:
            yield 'size = "' + "x".join("" if value is None else f"{value:.12g}" for value in self.size) + '"'
        if self.negative:
            yield "negative = true"
        if self.repeat:
            x, y = self.repeat.pitch
            yield f'repeat = "{self.repeat.columns}x{self.repeat.rows}@{x:.12g}x{y:.12g}"'


def arrange(design: Design, arrangement: Arrangement) -> Design:
    """The design with all of that done to it, and told of in its `source`."""
    area, page = design.area, design.page
    for matrix in _matrices(arrangement, design):
        area = affinity.affine_transform(area, matrix)
        page = None if page is None else _box(affinity.affine_transform(shapely.box(*page), matrix))
    if arrangement.negative:
        page = page or _box(area)
        area = _rest(area, page, design.name)
    if arrangement.repeat:
        area, page = _repeated(area, page, arrangement.repeat)
    return replace(
        design,
        area=area,
        page=page,
        source=(*design.source, *arrangement.in_words()),
        recipe=(*design.recipe, *arrangement.recipe()),
    )


def enlargement(design: Design, arrangement: Arrangement) -> float:
    """The factor by which lengths grow, the larger one of x and y."""
    return max(_growth(arrangement, design))


def _matrices(arrangement: Arrangement, design: Design) -> Iterator[Map]:
    """The affine maps of mirror, rotation and scale."""
    if arrangement.mirror:
        x, y = (-1.0 if axis in arrangement.mirror else 1.0 for axis in "xy")
        yield (x, 0, 0, y, 0, 0)
    if arrangement.rotate:
        yield _turn(arrangement)
    x, y = _growth(arrangement, design)
    if (x, y) != (1, 1):
        yield (x, 0, 0, y, 0, 0)


def _turn(arrangement: Arrangement) -> Map:
    angle = np.radians(arrangement.rotate)
    # Right angles come out exactly.
    c, s = (round(float(f(angle)), 15) for f in (np.cos, np.sin))
    return (c, -s, s, c, 0, 0)


def _growth(arrangement: Arrangement, design: Design) -> Point:
    """How much longer x and y become."""
    if arrangement.size is None:
        return arrangement.scale, arrangement.scale
    x0, y0, x1, y1 = affinity.affine_transform(design.area, _turn(arrangement)).bounds
    return _factors(arrangement.size, (x1 - x0, y1 - y0))


def _factors(size: tuple[float | None, float | None], now: Point) -> Point:
    """How much wider and higher; with one of both given, both alike."""
    x, y = (None if want is None else want / have for want, have in zip(size, now, strict=True))
    return float(x or y or 1), float(y or x or 1)


def _box(area: shapely.Geometry) -> Box:
    x0, y0, x1, y1 = area.bounds
    return float(x0), float(y0), float(x1), float(y1)


def _rest(area: shapely.Geometry, page: Box, name: str) -> shapely.MultiPolygon:
    """The page without the area."""
    rest = [g for g in shapely.get_parts(shapely.difference(shapely.box(*page), area)) if g.area > 0]
    if not rest:
        raise InputError(f"design {name!r} covers its whole page, so that its negative is empty")
    return shapely.MultiPolygon([g for g in rest if g.geom_type == "Polygon"])


def _repeated(
    area: shapely.MultiPolygon, page: Box | None, repeat: Repeat
) -> tuple[shapely.MultiPolygon, Box | None]:
    """Copies side by side; what touches is joined."""
    x, y = repeat.pitch
    shifts = [(i * x, j * y) for j in range(repeat.rows) for i in range(repeat.columns)]
    copies = [affinity.translate(area, *shift) for shift in shifts]
    polygons = [g for copy in copies for g in shapely.get_parts(copy)]
    joined = shapely.MultiPolygon(polygons)
    if not joined.is_valid:
        whole = shapely.get_parts(shapely.union_all(copies))
        joined = shapely.MultiPolygon([g for g in whole if g.geom_type == "Polygon"])
    if page is not None:
        (dx, dy) = shifts[-1]
        page = (page[0], page[1], page[2] + dx, page[3] + dy)
    return joined, page
