"""Fields: the squares into which a large design is cut, and what each of them sees of the rest.

The fields of a grid are of one size, with a rim that overlaps their neighbours. In a field its own moves
change; what all others expose is given,

    D = D_own(own moves) + D_given,    D_given = D_all − D_own(own moves as they were),

with D_all of all moves on one coarse grid. The dose is band-limited by the spot, so a few pixels a FWHM hold
all of it, and it is read between them (`design.scene`). Fields are like the squares of a chessboard: first
those of one colour are worked on, at the same time, then those of the other, with the light that the first
now give. This is block Gauss-Seidel (Bertsekas, *Nonlinear programming*, 2.7). Its results do not depend on
how many are worked on at the same time.

One evaluation of the loss takes 2.6 µs per FWHM² in a field of 60 FWHM, 1.6 in one of 120, 1.15 in one of 160
and 1.2 in one of 400: smaller ones cost more launches and a wider rim, larger ones more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil, prod
from typing import Any, TypeVar

import numpy as np
import shapely
from shapely import affinity

from laserpath.base.arrays import Bools, Floats, Indices, by_cell, by_group, joined, picked, spans_around
from laserpath.base.compute.workers import each, worker_count
from laserpath.design.scene import Samples, Scene, reading
from laserpath.physics.dose import DoseModel, TiledDose
from laserpath.types import Grid, Spot
from laserpath.types.settings import FIELD_FWHM

Job = TypeVar("Job")
Result = TypeVar("Result")

_MARGIN_FWHM = 4.0
"""Width of the rim of a field whose pixels count: an Airy spot changes the dose beyond by less than 2 %."""

_NEAR_FWHM = 3.0
"""Width of the rim whose outline counts, and in which all of a field's own moves lie. It is below the other,
since samples are read from pixels around."""

_GIVEN_PIXELS = 3.0
"""Pixels per FWHM of the light that is given, if they hold what the spot passes: more take more memory."""

_AROUND = 8
"""Pixels of the given light around a field, from which its rim is read."""

_FEWEST_FIELDS = 4
"""Fields from which workers take them: they take some seconds to start."""

_DIVIDED = 1.5
"""Area, in fields, from which a design is cut into four at least: a smaller one gains less by a second
processor than it loses by the rims.
"""

_AROUND_FIELD = 1 << 20
"""Pixels of given light up to which its models are kept apart from those of large designs, which take longer
to make: a process that measures a field of several spots would drop these."""

_TOLERANCE = 1e-5
"""Of the given light, relative to its peak: the finest of single precision."""


WHOLE = (slice(None), slice(None))
"""Rows and columns of the core of a design of one field: all of them."""


@dataclass(frozen=True, slots=True)
class PlanField:
    """A square of a design. window: (rows, columns) slices of its core and rim, which may leave the grid.

    index: (row, column) among the fields.
    """

    index: tuple[int, int]
    window: tuple[slice, slice]

    @property
    def colour(self) -> int:
        """0 or 1, as a square of a chessboard."""
        return sum(self.index) % 2


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The fields of a grid, all of one size. cuts: x and y, mm, of the borders between them.

    every: fine pixels after which a fine and a given pixel meet; the latter are `every`/2 pixels apart.
    """

    grid: Grid
    fwhm: float
    counts: tuple[int, int]
    side: tuple[int, int]
    rim: int
    every: int

    @classmethod
    def of(cls, grid: Grid, fwhm: float, side: float = FIELD_FWHM, passed: float = 0.0) -> Partition:
        """side: of a field, FWHM; it may be half as large again.  passed: as of a `Scene`."""
        pixels = fwhm / grid.pitch
        every = max(2, int(2 * pixels / max(_GIVEN_PIXELS, passed) + 1e-6))
        counts = _counts([n / (side * pixels) for n in grid.shape])
        sides = tuple(every * ceil(n / many / every) for n, many in zip(grid.shape, counts, strict=True))
        rim = every * ceil(_MARGIN_FWHM * pixels / every)
        return cls(grid, fwhm, (counts[0], counts[1]), (sides[0], sides[1]), rim, every)

    @property
    def single(self) -> bool:
        """Whether there is one field, the whole grid."""
        return len(self) == 1

    @property
    def cuts(self) -> tuple[Floats, Floats]:
        """(x, y) mm, of the borders between fields."""
        y, x = (
            zero + self.grid.pitch * (size * np.arange(1, count) - 0.5)
            for zero, size, count in zip(self.grid.origin[::-1], self.side, self.counts, strict=True)
        )
        return x, y

    def core(self, field: PlanField) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """(rows, columns) slices of the grid that are a field's core, and of its window."""
        inner = (slice(one.start + self.rim, one.stop - self.rim) for one in field.window)
        inside, there = _overlap(self.grid.shape, tuple(inner))
        rows, columns = (slice(one.start + self.rim, one.stop + self.rim) for one in there)
        return inside, (rows, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of each field, its rim included."""
        rows, columns = (size + 2 * self.rim for size in self.side)
        return rows, columns

    @property
    def window(self) -> Grid:
        """The grid of each field, counted from its `origin`."""
        return Grid((0.0, 0.0), self.grid.pitch, self.shape)

    def __len__(self) -> int:
        return prod(self.counts)

    def __iter__(self) -> Iterator[PlanField]:
        for row in range(self.counts[0]):
            for column in range(self.counts[1]):
                starts = (row * self.side[0] - self.rim, column * self.side[1] - self.rim)
                rows, columns = (slice(a, a + n) for a, n in zip(starts, self.shape, strict=True))
                yield PlanField((row, column), (rows, columns))

    def owner(self, xy: Floats) -> Indices:
        """(K,) number of the field, in the order of iteration, in whose core each place (K, 2) mm is."""
        x, y = self.cuts
        column, row = np.searchsorted(x, xy[:, 0]), np.searchsorted(y, xy[:, 1])
        return row * self.counts[1] + column

    def number(self, field: PlanField) -> int:
        """The number of a field in the order of iteration."""
        return field.index[0] * self.counts[1] + field.index[1]

    def origin(self, field: PlanField) -> Floats:
        """(x, y) mm, of the first pixel of a field's window."""
        rows, columns = field.window
        return self.grid.of_pixels([columns.start, rows.start])

    def near(self, field: PlanField, xy: Floats) -> Bools:
        """(K,) whether places (K, 2) mm are in the core of a field or within `_NEAR_FWHM` of it."""
        near = np.ones(len(xy), np.bool_)
        for low, high, index in zip(*(one.T for one in self._span_near(xy)), field.index, strict=True):
            near &= (low <= index) & (index <= high)
        return near

    def fields_near(self, xy: Floats) -> tuple[Indices, Indices]:
        """Numbers of places (K, 2) mm that are `near` each field, field by field, and where each's begin.

        They rise in each field.
        """
        return by_cell(*self._span_near(xy), self.counts)

    def _span_near(self, xy: Floats) -> tuple[Floats, Floats]:
        """(K, 2) row and column of the first, and of the last field that each place (K, 2) mm is near."""
        pixels, side = self.grid.to_pixels(xy)[:, ::-1], np.array(self.side)
        beyond = _NEAR_FWHM * self.fwhm / self.grid.pitch
        return np.floor((pixels - beyond + 1) / side), np.ceil((pixels + beyond) / side) - 1

    @property
    def given_grid(self) -> Grid:
        """The coarse grid of the whole design's light, as far around it as fields see."""
        pitch, around = self.grid.pitch * self.every / 2, self._around
        rows, columns = (ceil(2 * n / self.every) + 1 + 2 * around for n in self.grid.shape)
        x0, y0 = (start - around * pitch for start in self.grid.origin)
        return Grid((x0, y0), pitch, (rows, columns))

    def given_window(self, field: PlanField) -> tuple[slice, slice]:
        """(rows, columns) slices of the coarse grid around a field."""
        starts = (2 * one.start // self.every - _AROUND + self._around for one in field.window)
        rows, columns = (slice(a, a + n) for a, n in zip(starts, self.given_shape, strict=True))
        return rows, columns

    @property
    def _around(self) -> int:
        """Coarse pixels around the grid."""
        return 2 * self.rim // self.every + _AROUND

    @property
    def given_shape(self) -> tuple[int, int]:
        """(rows, columns) of the coarse grid around a field."""
        rows, columns = (2 * n // self.every + 2 * _AROUND + 1 for n in self.shape)
        return rows, columns

    def draws(self, field: PlanField, scene: Scene) -> bool:
        """Whether something of a scene on this grid is drawn in the window of a field."""
        return not _clipped(scene, self.window, self.origin(field)).is_empty

    def view(
        self, field: PlanField, scene: Scene, given: Sequence[Floats | TiledDose], places: PlacesByField
    ) -> FieldView:
        """What a field sees of a scene on this grid, and of the given light. places: of the samples."""
        zero, window = self.origin(field), self.window
        samples, near = scene.samples, places.near(field)
        inside = Samples(samples.xy[near] - zero, samples.normal[near], samples.corner[near])
        area, spot = _clipped(scene, window, zero), scene.spot.seen_from(zero)
        part = replace(scene, spot=spot).part(area, window, inside)
        around = self.given_window(field)
        return FieldView(part, tuple(_window(one, around) for one in given), self.every)


@dataclass(frozen=True, eq=False)
class PlacesByField:
    """Places (K, 2) mm, sorted once by the field in whose core they are: both may be many.

    owner: (K,) of each.  order: (K,) numbers of the places, field by field.  start: (fields + 1,) where those
    of each begin.
    """

    partition: Partition
    xy: Floats
    owner: Indices
    order: Indices
    start: Indices

    @classmethod
    def of(cls, partition: Partition, xy: Floats) -> PlacesByField:
        """xy: (K, 2) mm."""
        owner = partition.owner(xy)
        return cls(partition, xy, owner, *by_group(owner, len(partition)))

    def own(self, field: PlanField) -> Indices:
        """Rising numbers of those in the core of a field."""
        k = self.partition.number(field)
        return self.order[self.start[k] : self.start[k + 1]]

    def near(self, field: PlanField) -> Indices:
        """Rising numbers of those in the core of a field, or near it (`Partition.near`)."""
        (order, start), k = self._beside, self.partition.number(field)
        return order[start[k] : start[k + 1]]

    @cached_property
    def _beside(self) -> tuple[Indices, Indices]:
        """As `order` and `start`, of the places near each field; some are near several."""
        return self.partition.fields_near(self.xy)


@dataclass(frozen=True, slots=True, eq=False)
class LinesOfField:
    """Lines of a polyline in the core of a field, with some before and after. Dark lines join those apart.

    line: (n,) of the polyline, −1 for those that join.  vertex: (n+1,) likewise.  own: (n,) whether the
    middle of each is in the core.  ends: (n+1,) whether each vertex is.  near: (n+1,) whether it is near.
    """

    line: Indices
    vertex: Indices
    own: Bools
    ends: Bools
    near: Bools


def lines_by_field(partition: Partition, xy: Floats, reach: int) -> Iterator[tuple[PlanField, LinesOfField]]:
    """Fields whose core has a vertex of a polyline (K+1, 2) mm, or the middle of a line, with these lines.

    reach: how many before and after them. What follows sees no others: there may be many fields, and many
    lines.
    """
    middles, ends = (PlacesByField.of(partition, one) for one in ((xy[1:] + xy[:-1]) / 2, xy))
    count = len(xy) - 1
    for number, field in enumerate(partition):
        at = ends.own(field)
        touched = np.unique(np.concatenate([middles.own(field), at, at - 1]))
        touched = touched[(touched >= 0) & (touched < count)]
        if len(touched):
            line, vertex = joined(spans_around(touched, reach, count))
            own, inside = picked(middles.owner, line, -1) == number, ends.owner[vertex] == number
            yield field, LinesOfField(line, vertex, own, inside, partition.near(field, xy[vertex]))


def partition_of(scene: Scene, side: float = FIELD_FWHM) -> Partition:
    """The fields of a scene's grid. side: of a field, FWHM."""
    return Partition.of(scene.grid, scene.fwhm, side, scene.passed)


@dataclass(frozen=True, slots=True, eq=False)
class FieldView:
    """A field's window of a scene, whose first pixel is at zero, and the light around it.

    given: on the coarse grid, of each spot.  every: as in `Partition`.
    """

    scene: Scene
    given: tuple[Floats, ...]
    every: int

    @property
    def grid(self) -> Grid:
        """The field's pixels, with its rim."""
        return self.scene.grid

    @property
    def given_grid(self) -> Grid:
        """The coarse grid around the field."""
        pitch = self.grid.pitch * self.every / 2
        rows, columns = self.given[0].shape
        return Grid((-_AROUND * pitch, -_AROUND * pitch), pitch, (rows, columns))

    def light(self, xy: Floats, line_energy: Floats, spot: Spot) -> Floats:
        """What a polyline (N+1, 2) mm with line energies (N,) adds to given light of a spot."""
        return given_model(self.given_grid, spot).line_dose(xy, line_energy)

    def read(self, given: Floats) -> Floats:
        """Light on the coarse grid around the field, at the field's pixels."""
        rows, columns = (
            _reading(2 / self.every, fine, coarse)
            for fine, coarse in zip(self.grid.shape, given.shape, strict=True)
        )
        return np.asarray(rows @ (columns @ given.T).T, dtype=given.dtype)


def worked_on(function: Callable[[Job], Result], jobs: Iterable[Job], fields: int) -> Iterator[Result]:
    """The results of function(job) in the order of the jobs; by workers if there are many fields."""
    return map(function, jobs) if is_alone(fields) else each(function, jobs)


def is_alone(fields: int) -> bool:
    """Whether this process works on so many fields by itself."""
    return fields < _FEWEST_FIELDS or not worker_count()


def _counts(sides: Sequence[float]) -> tuple[int, int]:
    """Fields along each side, (rows, columns). sides: of the grid, in sides of a field.

    Two or three fields, or a single large one, would keep one processor busy: those become four.
    """
    rows, columns = (max(1, round(side)) for side in sides)
    if rows * columns >= _FEWEST_FIELDS or sides[0] * sides[1] < _DIVIDED:
        return rows, columns
    four = ((2, 2), (1, 4), (4, 1))
    return min(four, key=lambda each: max(side / count for side, count in zip(sides, each, strict=True)))


def _clipped(scene: Scene, window: Grid, zero: Floats) -> shapely.MultiPolygon:
    """The part of a scene's area in a window at zero (2,) mm, from there; it may be empty."""
    x0, x1, y0, y1 = window.extent
    box = x0 + zero[0], y0 + zero[1], x1 + zero[0], y1 + zero[1]
    return affinity.translate(scene.outline.within(*box), -zero[0], -zero[1])


@lru_cache(maxsize=4)
def _reading(step: float, fine: int, coarse: int) -> Any:
    """The matrix that reads `coarse` pixels `fine` times, from pixel `_AROUND` on, every `step` pixels."""
    return reading(_AROUND + step * np.arange(fine), coarse)


def given_model(grid: Grid, spot: Spot) -> DoseModel:
    """The model of light of single precision, within 1e-5: of a whole design, or in and around a field."""
    made = _given_around if prod(grid.shape) <= _AROUND_FIELD else _given
    return made(grid, spot.even).uneven(spot.dose_map)


@lru_cache(maxsize=4)
def _given(grid: Grid, spot: Spot) -> DoseModel:
    return DoseModel(grid, spot, tolerance=_TOLERANCE)


@lru_cache(maxsize=8)
def _given_around(grid: Grid, spot: Spot) -> DoseModel:
    return DoseModel(grid, spot, tolerance=_TOLERANCE)


def _window(picture: Floats | TiledDose, window: tuple[slice, slice]) -> Floats:
    """A copy of a part of a picture (rows, columns), 0 where it reaches beyond."""
    found = np.zeros([one.stop - one.start for one in window], picture.dtype)
    inside, there = _overlap(picture.shape, window)
    found[there] = picture[inside]
    return found


def add_light(picture: Floats, window: tuple[slice, slice], change: Floats) -> None:
    """Add to a part of given light, in place; what reaches beyond is left out."""
    inside, there = _overlap(picture.shape, window)
    picture[inside] += change[there]


def _overlap(
    shape: tuple[int, ...], window: tuple[slice, ...]
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """The part of a picture that is in a window, and that part in the window."""
    inside = [slice(max(one.start, 0), min(one.stop, n)) for one, n in zip(window, shape, strict=True)]
    there = [slice(a.start - b.start, a.stop - b.start) for a, b in zip(inside, window, strict=True)]
    return (inside[0], inside[1]), (there[0], there[1])
