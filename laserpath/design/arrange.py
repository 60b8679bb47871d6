"""Mirroring, rotating, scaling, repeating and aligning a design before it is placed on the machine.

The order is mirror → rotate → scale or size → negative → repeat → align, all about the origin. The page is
transformed too, to the box around the result. `machine.placement` moves the result to the work zero, unless
it is aligned: then it is where the marks of the part are. Marks are mirrored, rotated and scaled with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from shapely import affinity

from laserpath.base.arrays import Floats
from laserpath.base.checks import between, number, one_of, whole
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import GRID, minus, tidy, union, valid
from laserpath.base.quantities import quoted
from laserpath.design.alignment import as_text, check_fit, fit_marks
from laserpath.design.reading import SHOWS_ABSENCE
from laserpath.types import Alignment, Design, DrawnLines, Fiducial, Pads, Part, Point
from laserpath.types.drawing import Affine

_MOST_COPIES = 10_000
_MOST_VERTICES = 5_000_000
"""Vertices of all copies together: they take about 0.5 GiB, and some seconds to find which copies touch."""

_TIDIED = 200_000
"""Vertices up to which touching copies are tidied after their union; tidying takes 15 µs a vertex."""

_LEAST, _MOST = 1e-6, 1e6
"""Range of a scale, and of sizes and pitches in mm; beyond it coordinates lose their precision."""

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Copies in columns × rows. pitch: (x, y) mm from one copy to the next."""

    columns: int
    rows: int
    pitch: Point

    def __post_init__(self) -> None:
        whole(self, "columns", "rows")
        if self.columns < 1 or self.rows < 1 or self.columns * self.rows > _MOST_COPIES:
            raise InputError(
                f"repeat is {self.columns}x{self.rows}, but must be 1 to {_MOST_COPIES} copies in all"
            )
        number("repeat pitch", self.pitch)
        if not all(_LEAST <= pitch <= _MOST for pitch in self.pitch):
            raise InputError(f"repeat pitch is {self.pitch} mm, but must be {_LEAST:g} to {_MOST:g} mm")


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How a design is mirrored, rotated, scaled and repeated. Angles in degrees, counter-clockwise.

    mirror: '', 'x' (left becomes right), 'y' (top becomes bottom) or 'xy'.  scale: factor of all lengths.
    size: (width, height) of the drawing in mm, instead of a scale; one that is None follows from the other.
    negative: the empty part of the page becomes solid, and the drawing empty.
    align: marks that were found on the part, drawn in the file's own coordinates.
    align_fit: what they correct: 'auto' or one of `ALIGN_FITS`.
    """

    mirror: str = ""
    rotate: float = 0.0
    scale: float = 1.0
    size: tuple[float | None, float | None] | None = None
    negative: bool = False
    repeat: Repeat | None = None
    align: tuple[Fiducial, ...] = ()
    align_fit: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "align", tuple(self.align))
        check_fit(self.align_fit)
        if self.align_fit != "auto" and not self.align:
            raise InputError(f"--align-fit {self.align_fit} needs marks: --align 10,20=110.2,35.1mm")
        one_of("mirror", self.mirror, ("", "x", "y", "xy"))
        between(self, rotate=(-360, 360), scale=(_LEAST, _MOST))
        if self.size is None:
            return
        if self.scale != 1:
            raise InputError(f"scale {self.scale:g} and a size both set the size; give one of them")
        given = [value for value in self.size if value is not None]
        if not given or not all(_LEAST <= value <= _MOST for value in given):
            raise InputError(f"size is {self.size} mm, but must be {_LEAST:g} to {_MOST:g} mm")

    def _steps(self) -> Iterator[tuple[str, str]]:
        """A phrase for each step, and its line in a project file."""
        if self.mirror:
            yield f"mirrored in {' and '.join(self.mirror)}", f'mirror = "{self.mirror}"'
        if self.rotate:
            yield f"turned by {self.rotate:g} degrees", f"rotate = {self.rotate:.12g}"
        if self.scale != 1:
            yield f"scaled by {self.scale:g}", f"scale = {self.scale:.12g}"
        if self.size:
            shown = " x ".join("any" if side is None else f"{side:g}" for side in self.size)
            exact = "x".join("" if side is None else f"{side:.12g}" for side in self.size)
            yield f"sized to {shown} mm", f'size = "{exact}"'
        if self.negative:
            yield "negative", "negative = true"
        if self.repeat:
            count, (x, y) = f"{self.repeat.columns}x{self.repeat.rows}", self.repeat.pitch
            yield f"repeated {count} every {x:g} x {y:g} mm", f'repeat = "{count}@{x:.12g}x{y:.12g}"'

    def in_words(self) -> Iterator[str]:
        """A phrase for each step."""
        return (phrase for phrase, _ in self._steps())

    def recipe(self) -> Iterator[str]:
        """The same as lines of a project file."""
        yield from (line for _, line in self._steps())
        if self.align:
            yield f"align = [{', '.join(quoted(as_text(mark)) for mark in self.align)}]"
        if self.align_fit != "auto":
            yield f'align_fit = "{self.align_fit}"'


def arrange(design: Design, arrangement: Arrangement) -> Design:
    """The arranged design; its `source` names each step."""
    drawn = _Drawn.of(design)
    for matrix in _matrices(arrangement, design):
        drawn = drawn.mapped(matrix)
    area, page, part, pads, lines = drawn
    area = _polygons(valid(area))
    if arrangement.negative and part:
        raise InputError(
            "--negative cannot be used with --colours or --layers: the empty part of a page belongs to none"
        )
    if arrangement.negative and lines:
        raise InputError("--negative cannot be used with --follow: what is not drawn has no lines")
    if arrangement.negative:
        page = page or _box(area)
        area, pads = _rest(area, page, design.name), None
    if arrangement.repeat:
        area, page = _repeated(area, page, arrangement.repeat)
        shifts = _shifts(arrangement.repeat)
        pads, lines = pads and pads.copied(shifts), lines and lines.copied(shifts)
        part = part and replace(part, hull=_hull(part.hull, arrangement.repeat))
    arranged = replace(
        design,
        area=area,
        page=page,
        part=part,
        pads=pads,
        lines=lines,
        warnings=tuple(w for w in design.warnings if w != SHOWS_ABSENCE or not arrangement.negative),
        source=(*design.source, *arrangement.in_words()),
        recipe=(*design.recipe, *arrangement.recipe()),
    )
    return _aligned(arranged, _alignment(arrangement, design, arranged)) if arrangement.align else arranged


def arranged_places(
    places: ArrayLike, arrangement: Arrangement, drawn: Design, alignment: Alignment | None = None
) -> Floats:
    """(N, 2) mm, places of a drawing as it is mirrored, turned and scaled; of the first copy.

    alignment: that of the arranged drawing, by which they are moved, too; None: they are not aligned.
    """
    points: shapely.Geometry = shapely.MultiPoint(np.reshape(places, (-1, 2)))
    for matrix in (*_matrices(arrangement, drawn), *([alignment.matrix] if alignment else [])):
        points = affinity.affine_transform(points, matrix)
    return shapely.get_coordinates(points)


def _alignment(arrangement: Arrangement, drawn: Design, arranged: Design) -> Alignment:
    """That of a drawing, whose marks are mirrored, turned and scaled with it."""
    places = arranged_places([mark.design for mark in arrangement.align], arrangement, drawn)
    moved = [
        replace(mark, design=(float(x), float(y)))
        for mark, (x, y) in zip(arrangement.align, places, strict=True)
    ]
    x0, y0, x1, y1 = arranged.extent
    found = fit_marks(moved, arrangement.align_fit, [(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
    return replace(found, marks=arrangement.align)


def _aligned(design: Design, alignment: Alignment) -> Design:
    """The design where the marks of the part are."""
    area, page, part, pads, lines = _Drawn.of(design).mapped(alignment.matrix)
    return replace(
        design,
        area=_polygons(valid(area)),
        page=page,
        part=part,
        pads=pads,
        lines=lines,
        warnings=(*design.warnings, *([alignment.suspect] if alignment.suspect else [])),
        source=(*design.source, alignment.in_short()),
        alignment=alignment,
    )


def enlargement(design: Design, arrangement: Arrangement) -> float:
    """The factor by which lengths grow, the larger of x and y."""
    return max(_growth(arrangement, design))


class _Drawn(NamedTuple):
    """What has a place in a design, as there; the area need not be valid."""

    area: shapely.Geometry
    page: Box | None
    part: Part | None
    pads: Pads | None
    lines: DrawnLines | None

    @classmethod
    def of(cls, design: Design) -> _Drawn:
        return cls(design.area, design.page, design.part, design.pads, design.lines)

    def mapped(self, matrix: Affine) -> _Drawn:
        """The same under an affine map."""
        page, part = self.page, self.part
        return _Drawn(
            affinity.affine_transform(self.area, matrix),
            None if page is None else _box(affinity.affine_transform(shapely.box(*page), matrix)),
            part and replace(part, hull=affinity.affine_transform(part.hull, matrix)),
            self.pads and self.pads.mapped(matrix),
            self.lines and self.lines.mapped(matrix),
        )


def _matrices(arrangement: Arrangement, design: Design) -> Iterator[Affine]:
    """The affine maps of mirror, rotation and scale."""
    if arrangement.mirror:
        yield _flip(arrangement)
    if arrangement.rotate:
        yield _turn(arrangement)
    x, y = _growth(arrangement, design)
    if (x, y) != (1, 1):
        yield (x, 0, 0, y, 0, 0)


def _flip(arrangement: Arrangement) -> Affine:
    x, y = (-1.0 if axis in arrangement.mirror else 1.0 for axis in "xy")
    return (x, 0, 0, y, 0, 0)


def _turn(arrangement: Arrangement) -> Affine:
    angle = np.radians(arrangement.rotate)
    # Rounded, so that right angles are exact.
    c, s = (round(float(f(angle)), 15) for f in (np.cos, np.sin))
    return (c, -s, s, c, 0, 0)


def _growth(arrangement: Arrangement, design: Design) -> Point:
    """The factors by which x and y grow."""
    if arrangement.size is None:
        return arrangement.scale, arrangement.scale
    whole = design.area if design.part is None else design.part.hull
    turned = affinity.affine_transform(whole, _flip(arrangement))
    x0, y0, x1, y1 = affinity.affine_transform(turned, _turn(arrangement)).bounds
    return _factors(arrangement.size, (x1 - x0, y1 - y0))


def _factors(size: tuple[float | None, float | None], now: Point) -> Point:
    """The factors of width and height; if only one size is given, its factor holds for both."""
    x, y = (None if new is None else new / old for new, old in zip(size, now, strict=True))
    return float(x or y or 1), float(y or x or 1)


def _box(area: shapely.Geometry) -> Box:
    x0, y0, x1, y1 = area.bounds
    return float(x0), float(y0), float(x1), float(y1)


def _polygons(area: shapely.Geometry) -> shapely.MultiPolygon:
    return shapely.MultiPolygon(
        [g for g in shapely.get_parts(area) if g.geom_type == "Polygon" and g.area > 0]
    )


def _rest(area: shapely.Geometry, page: Box, name: str) -> shapely.MultiPolygon:
    """The page without the area."""
    rest = _polygons(minus(shapely.box(*page), area))
    if rest.is_empty:
        raise InputError(f"design {name!r} covers its whole page, so its negative is empty")
    return rest


def _repeated(
    area: shapely.MultiPolygon, page: Box | None, repeat: Repeat
) -> tuple[shapely.MultiPolygon, Box | None]:
    """Copies side by side; those that touch are joined."""
    n, vertices = repeat.columns * repeat.rows, int(shapely.get_num_coordinates(area))
    if n * vertices > _MOST_VERTICES:
        raise InputError(
            f"repeat makes {n} copies of {vertices} vertices, {figure(n * vertices, 2)} in all, "
            f"but must stay below {figure(_MOST_VERTICES, 2)}"
        )
    shift = _shifts(repeat)
    copies = np.tile(shapely.get_parts(area), n)
    shapely.set_coordinates(copies, shapely.get_coordinates(copies) + np.repeat(shift, vertices, axis=0))
    joined = shapely.MultiPolygon(copies.tolist())
    if not joined.is_valid:
        joined = _joined(copies)
    if page is not None:
        page = (page[0], page[1], page[2] + float(shift[-1, 0]), page[3] + float(shift[-1, 1]))
    return joined, page


def _shifts(repeat: Repeat) -> Floats:
    """(copies, 2) mm, from the first copy to each."""
    row, column = np.divmod(np.arange(repeat.columns * repeat.rows), repeat.columns)
    return np.asarray(np.stack([column, row], axis=1) * repeat.pitch)


def _hull(one: shapely.Polygon, repeat: Repeat) -> shapely.Polygon:
    """The convex hull of all copies."""
    x, y = ((n - 1) * pitch for n, pitch in zip((repeat.columns, repeat.rows), repeat.pitch, strict=True))
    ends = [affinity.translate(one, dx, dy) for dx in (0.0, x) for dy in (0.0, y)]
    return shapely.convex_hull(shapely.geometrycollections(ends))


def _joined(copies: NDArray[np.object_]) -> shapely.MultiPolygon:
    """Copies that overlap or share edges, as one area.

    On the grid, edges that agree up to rounding are identical, so that no slit is left between them. Only
    where a corner meets an edge can a slit remain, which `tidy` closes.
    """
    per_mm = round(1 / GRID)
    shapely.set_coordinates(copies, np.round(shapely.get_coordinates(copies) * per_mm) / per_mm)
    whole = union([copy if copy.is_valid else valid(copy) for copy in copies])
    return _polygons(tidy(whole) if shapely.get_num_coordinates(whole) < _TIDIED else whole)
