"""The design, the marks by which it is aligned, and the pixel grid on which it is compared with the dose."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
import shapely
from numpy.typing import ArrayLike
from shapely import Geometry, affinity
from shapely.geometry import MultiLineString, MultiPolygon, Polygon

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.checks import number, positive
from laserpath.base.entry_points import ALIGN_FITS
from laserpath.base.errors import InputError, figure, one_line
from laserpath.base.overlay import valid

_FARTHEST = 1e5
"""mm from the zero, as for designs."""

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fiducial:
    """A mark. design: (x, y) mm in the drawing's coordinates.  machine: where the machine finds it, mm."""

    design: Pair
    machine: Pair
    name: str = ""

    def __post_init__(self) -> None:
        for where in ("design", "machine"):
            value = getattr(self, where)
            number(f"mark {where}", value)
            if np.shape(value) != (2,) or not np.abs(value).max() <= _FARTHEST:
                raise InputError(f"mark {where} is {value} mm, but must be x and y within {_FARTHEST:g} mm")
            object.__setattr__(self, where, (float(value[0]), float(value[1])))

    def __str__(self) -> str:
        """Its name, or the place in the drawing."""
        return self.name or "{:g},{:g}".format(*self.design)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted value ± half of its 95 % interval. half: None for one that was not fitted, or exactly."""

    value: float
    half: float | None = None

    def text(self, decimals: int) -> str:
        """`1.0012 +/- 0.0003`, in characters that a program's comment may have."""
        bound = "" if self.half is None else f" +/- {figure(self.half, 2)}"
        return f"{self.value:.{decimals}f}{bound}"


@dataclass(frozen=True, slots=True)
class Alignment:
    """The transform from a drawing to the machine, fitted to marks, x' = R(rotation) K x + shift.

    marks: as given.  fit: one of `ALIGN_FITS`.  matrix: (a, b, d, e, tx, ty), x' = a x + b y + tx and
    y' = d x + e y + ty, mm, of the drawing as mirrored, turned and scaled by its other options.
    residuals: (x, y) mm of each mark, where it is found minus where the transform puts it.
    rotation: degrees, counter-clockwise, of the x axis.  scale: of x and of y.  skew: degrees by which the
    angle between the axes exceeds 90.  placed: mm, the drawing's farthest corner lies within this of its true
    place in x and in y, with 95 % confidence each; None as in `Fitted`.
    suspect: a sentence on a mark that disagrees with all others, or ''.
    """

    marks: tuple[Fiducial, ...]
    fit: str
    matrix: tuple[float, float, float, float, float, float]
    residuals: tuple[Pair, ...]
    rotation: Fitted
    scale: tuple[Fitted, Fitted]
    skew: Fitted
    placed: float | None = None
    suspect: str = ""

    def in_short(self) -> str:
        """`aligned to 4 marks`."""
        return f"aligned to {len(self.marks)} mark{'s' * (len(self.marks) != 1)}"

    def in_words(self) -> str:
        """One phrase: what was fitted, and how far off the marks are."""
        return f"{self.in_short()}: " + ", ".join(" ".join(row) for row in self.figures())

    def figures(self) -> Iterator[tuple[str, str]]:
        """(name, text) of what was fitted, for a report."""
        rank = ALIGN_FITS.index(self.fit)
        yield "shift", f"{figure(self.matrix[4], 6)}, {figure(self.matrix[5], 6)} mm"
        if rank >= 1:
            yield "rotation", f"{self.rotation.text(4)} degrees"
        if rank == 2:
            yield "scale", self.scale[0].text(6)
        if rank == 3:
            yield "scale in x", self.scale[0].text(6)
            yield "scale in y", self.scale[1].text(6)
            yield "skew", f"{self.skew.text(4)} degrees"
        if self.placed is not None:
            yield "farthest corner placed within", f"+/- {figure(1000 * self.placed, 2)} um"
        most = max(float(np.hypot(*off)) for off in self.residuals)
        yield "marks off by", f"up to {_um(most, sign=False)} um"

    def of_marks(self) -> Iterator[tuple[str, str]]:
        """(mark, text) of each mark: where it is drawn, where it was found, and how far off that is."""
        for mark, (dx, dy) in zip(self.marks, self.residuals, strict=True):
            places = ("{:.6g}, {:.6g}".format(*place) for place in (mark.design, mark.machine))
            yield f"mark {mark}", f"{' mm found at '.join(places)} mm, off by {_um(dx)}, {_um(dy)} um"

    def as_dict(self) -> dict[str, object]:
        """All of it as plain values, for JSON; lengths in mm, angles in degrees, null where unknown."""

        def bound(one: Fitted) -> dict[str, float | None]:
            return {"value": one.value, "half_of_95_percent": one.half}

        return {
            "fit": self.fit,
            "matrix": list(self.matrix),
            "rotation_deg": bound(self.rotation),
            "scale": [bound(one) for one in self.scale],
            "skew_deg": bound(self.skew),
            "placed_within_mm": self.placed,
            "suspect": self.suspect,
            "marks": [
                {"name": str(m), "design_mm": m.design, "machine_mm": m.machine, "off_mm": off}
                for m, off in zip(self.marks, self.residuals, strict=True)
            ],
        }


def _um(value: float, *, sign: bool = True) -> str:
    """A length given in mm, in µm to a tenth."""
    return f"{1000 * value + 0.0:{'+' if sign else ''}.1f}"


Point = tuple[float, float]

Affine = tuple[float, float, float, float, float, float]
"""Shapely's affine map (a, b, d, e, tx, ty): x' = a x + b y + tx, y' = d x + e y + ty."""


@dataclass(frozen=True, slots=True)
class Part:
    """One colour or layer of a drawing that several programs expose.

    drawing: its name.  number: from 1, of colours the largest area first, of layers in their order.
    name: `red`.  colour: `#e02010`, of a layer the one in which it is shown.  hull: convex hull of the whole
    drawing, mm. It is what is sized and put at the work zero, so that all parts are in register.  kind:
    `colour` or `layer`.
    """

    drawing: str
    number: int
    name: str
    colour: str
    hull: Polygon
    kind: str = "colour"

    __repr__ = one_line


@dataclass(frozen=True, slots=True, eq=False)
class Pads:
    """The pads of a board's copper, in the coordinates of its design.

    areas: a polygon each, mm; no two meet.  pins: (n,) as `R1.2`.  nets: (n,) names.  '' is unknown.
    """

    areas: MultiPolygon
    pins: tuple[str, ...]
    nets: tuple[str, ...]

    __repr__ = one_line

    def mapped(self, matrix: Affine) -> Pads:
        """The pads under an affine map."""
        return replace(self, areas=affinity.affine_transform(self.areas, matrix))

    def copied(self, shifts: Floats) -> Pads:
        """The pads of copies. shifts: (n, 2) mm, to each."""
        return Pads(
            MultiPolygon(_copies(self.areas, shifts)), self.pins * len(shifts), self.nets * len(shifts)
        )


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLines:
    """The lines of a drawing that the spot is to follow. paths: a line each, mm.  widths: (n,) mm."""

    paths: MultiLineString
    widths: tuple[float, ...]

    __repr__ = one_line

    def mapped(self, matrix: Affine) -> DrawnLines:
        """The lines under an affine map."""
        a, b, d, e, *_ = matrix
        scale = math.sqrt(abs(a * e - b * d))
        widths = tuple(scale * width for width in self.widths)
        return DrawnLines(affinity.affine_transform(self.paths, matrix), widths)

    def copied(self, shifts: Floats) -> DrawnLines:
        """The lines of copies. shifts: (n, 2) mm, to each."""
        return DrawnLines(MultiLineString(_copies(self.paths, shifts)), self.widths * len(shifts))


def _copies(shapes: MultiPolygon | MultiLineString, shifts: Floats) -> list[Geometry]:
    return [one for x, y in shifts for one in affinity.translate(shapes, x, y).geoms]


@dataclass(frozen=True, slots=True)
class Design:
    """The area that should become solid.

    area: valid polygons in mm, y up, never empty.
    page: lower-left and upper-right corner of the sheet (x0, y0, x1, y1) in mm, if there is one.
    warnings: a sentence for each element of the file that was not understood.
    source: the file, and how it was read and arranged: a phrase each, for the report.
    recipe: the same as lines of a project file.  file: the path that it was read from.
    part: which colour or layer of a drawing it is; None: all of it.
    alignment: by which it is where the marks of the part are; None: it is still to be placed.
    pads: of a board's copper; None: another drawing, or none are known.
    lines: those that the spot is to follow, which cover the area; None: the path is free.
    """

    area: MultiPolygon
    name: str = "design"
    page: tuple[float, float, float, float] | None = None
    warnings: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    recipe: tuple[str, ...] = ()
    file: str | None = None
    part: Part | None = None
    alignment: Alignment | None = None
    pads: Pads | None = None
    lines: DrawnLines | None = None

    __repr__ = one_line

    def __post_init__(self) -> None:
        if not self.name or self.name != PurePath(self.name).name:
            raise InputError(f"design name {self.name!r} is not a plain file name")
        area = MultiPolygon([self.area]) if isinstance(self.area, Polygon) else self.area
        object.__setattr__(self, "area", area)
        if not isinstance(area, MultiPolygon):
            raise InputError(
                f"design area is a {type(area).__name__}, but must be a Polygon or a MultiPolygon, in mm; "
                "lines and points get an area by .buffer(width / 2)"
            )
        if area.is_empty or area.area == 0:
            raise InputError(f"design {self.name!r} is empty: nothing in it is filled or stroked")
        if not np.isfinite(area.bounds).all():
            raise InputError(f"design {self.name!r} has coordinates that are not finite")
        if not area.is_valid:
            raise InputError(f"design {self.name!r} is not valid: {shapely.is_valid_reason(area)}")

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1), mm."""
        x0, y0, x1, y1 = self.area.bounds
        return float(x0), float(y0), float(x1), float(y1)

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """The bounds of the whole drawing, of which this may be one colour or layer, mm."""
        if self.part is None:
            return self.bounds
        x0, y0, x1, y1 = self.part.hull.bounds
        return float(x0), float(y0), float(x1), float(y1)

    @property
    def size(self) -> Point:
        """(width, height), mm."""
        x0, y0, x1, y1 = self.bounds
        return x1 - x0, y1 - y0

    def moved(self, x: float, y: float) -> Design:
        """The design with all that lies in it, translated by x and y mm."""
        page, part, matrix = self.page, self.part, (1.0, 0.0, 0.0, 1.0, x, y)
        return replace(
            self,
            area=valid(affinity.translate(self.area, x, y)),
            page=page and (page[0] + x, page[1] + y, page[2] + x, page[3] + y),
            part=part and replace(part, hull=affinity.translate(part.hull, x, y)),
            pads=self.pads and self.pads.mapped(matrix),
            lines=self.lines and self.lines.mapped(matrix),
        )


@dataclass(frozen=True, slots=True)
class Grid:
    """Square pixels. Arrays are indexed [row, column] = [y, x]; row 0 is the lowest y.

    origin: centre of pixel [0, 0], (x, y) mm.  pitch: mm.  shape: (rows, columns).
    """

    origin: Point
    pitch: float
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or not all(isinstance(n, (int, np.integer)) for n in self.shape):
            raise InputError(f"grid shape is {self.shape}, but must be two whole numbers, (rows, columns)")
        positive(self, "pitch", "shape")
        number("grid origin", self.origin)
        if not np.isfinite(self.origin).all():
            raise InputError(f"grid origin is {self.origin}, but must be finite")

    @property
    def pixel_area(self) -> float:
        """The area of one pixel, mm²."""
        return self.pitch**2

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Outer edges (x0, x1, y0, y1) in mm."""
        (x0, y0), (rows, columns), p = self.origin, self.shape, self.pitch
        return x0 - p / 2, x0 + (columns - 0.5) * p, y0 - p / 2, y0 + (rows - 0.5) * p

    def x(self) -> Floats:
        """Centres of the columns, (columns,) mm."""
        return self.origin[0] + self.pitch * np.arange(self.shape[1])

    def y(self) -> Floats:
        """Centres of the rows, (rows,) mm."""
        return self.origin[1] + self.pitch * np.arange(self.shape[0])

    def to_pixels(self, xy: ArrayLike) -> Floats:
        """(N, 2) positions in mm → (N, 2) fractional (column, row) indices."""
        return (np.asarray(xy, dtype=np.float64) - self.origin) / self.pitch

    def of_pixels(self, pixels: ArrayLike) -> Floats:
        """(N, 2) fractional (column, row) indices → (N, 2) positions in mm, as `to_pixels` takes them."""
        return self.origin + self.pitch * np.asarray(pixels, dtype=np.float64)

    def part(self, rows: slice, columns: slice) -> Grid:
        """The grid of array[rows, columns]. Steps, if there are any, are above 0 and equal."""
        down, across = (range(n)[some] for n, some in zip(self.shape, (rows, columns), strict=True))
        zero = self.origin[0] + across.start * self.pitch, self.origin[1] + down.start * self.pitch
        return Grid(zero, across.step * self.pitch, (len(down), len(across)))


@dataclass(frozen=True, slots=True)
class Target:
    """The design on a grid. coverage: (rows, columns) f32, the fraction of each pixel inside the design."""

    grid: Grid
    coverage: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        coverage = frozen_array(self.coverage, "coverage", self.grid.shape, np.float32)
        object.__setattr__(self, "coverage", coverage)


@dataclass(frozen=True, slots=True, eq=False)
class Relief:
    """A target dose for each pixel: a greyscale design.

    dose: (rows, columns) mJ/mm² at the surface, on `grid`; 0 where nothing should cure.
    height: (rows, columns) mm, the target depth of cure; None if only the dose is a target.
    """

    grid: Grid
    dose: Floats
    height: Floats | None = None
    name: str = "relief"
    warnings: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    recipe: tuple[str, ...] = ()
    file: str | None = None

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "dose", frozen_array(self.dose, "relief dose", self.grid.shape))
        if self.dose.min() < 0 or not self.dose.max() > 0:
            raise InputError(
                f"relief {self.name!r} must have a dose of at least 0 everywhere, and above 0 somewhere"
            )
        if self.height is not None:
            height = frozen_array(self.height, "relief height", self.grid.shape)
            object.__setattr__(self, "height", height)
            if height.min() < 0:
                raise InputError(f"relief {self.name!r} has a height of {height.min():g} mm, below 0")

    @property
    def size(self) -> Point:
        """(width, height) of the picture, mm."""
        rows, columns = self.grid.shape
        return columns * self.grid.pitch, rows * self.grid.pitch
