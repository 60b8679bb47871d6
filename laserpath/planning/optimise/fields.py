"""Optimisation by fields: squares of a large design, each with the light of the others as it is.

A descent over a whole design holds arrays of all its pixels, follows one step length for all its parts, and
uses one processor. So a large design is cut into fields. In a field its own vertices and line energies
change; what all other moves expose is given there,

    D = D_own(own moves) + D_given,    D_given = D_all − D_own(own moves as they were),

with D_all of the whole path on one coarse grid. The dose is band-limited by the spot, so a few pixels a FWHM
hold all of it, and it is read between them (`scene.reading`). The loss of a field is that of its core and of
a rim around it, which its moves light, too. Fields are like the squares of a chessboard: first those of one
colour are optimised, at the same time, then those of the other, with the light that the first now give. This
is block Gauss-Seidel (Bertsekas, *Nonlinear programming*, 2.7), one sweep for each stage. Its results do not
depend on how many are optimised at the same time. The units of the loss are those of the whole design.

One evaluation takes 2.6 µs per FWHM² in a field of 60 FWHM, 1.6 in one of 120, 1.15 in one of 160 and 1.2 in
one of 400: smaller ones cost more launches and a wider rim, larger ones more memory. A design of one field is
optimised as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import Any, Protocol

import numpy as np

from laserpath.base.arrays import Bools, Floats, Indices, runs
from laserpath.base.compute.workers import each, worker_count
from laserpath.design.scene import Sampler, Scene, reading
from laserpath.physics.dose import DoseModel, PathGradient, usual_model
from laserpath.planning.optimise.loop import Free, Listener, Optimised, Progress, Schedule, optimise, outcome
from laserpath.planning.optimise.loss import ExposedShape, Loss, defocused, out_of_focus
from laserpath.planning.optimise.objective import EdgeTerm, Objective
from laserpath.planning.optimise.write_time import WriteTimeTerm
from laserpath.types import EnergyPath, Grid, Process, Spot, Target

_MARGIN_FWHM = 4.0
"""Width of the rim of a field whose pixels count: an Airy spot changes the dose beyond by less than 2 %."""

_NEAR_FWHM = 3.0
"""Width of the rim whose outline counts, and in which all of a field's own moves lie. It is below the other,
since samples are read from pixels around."""

_LONG_FWHM = 1.0
"""Length of a move on either side of a border from which it is cut there."""

_GIVEN_PIXELS = 4.0
"""Pixels per FWHM of the light that is given."""

_AROUND = 8
"""Pixels of the given light around a field, from which its rim is read."""

_FEWEST_FIELDS = 4
"""Fields from which workers take them: they take some seconds to start."""

_CONTEXT = 6
"""Moves before and after a field's own that its write time is computed with."""

_TOLERANCE = 1e-4
"""Of the given light, relative to its peak."""


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
    def of(cls, grid: Grid, fwhm: float, side: float) -> Partition:
        """side: of a field, FWHM; it may be half as large again."""
        pixels = fwhm / grid.pitch
        every = max(2, int(2 * pixels / _GIVEN_PIXELS + 1e-6))
        counts = tuple(max(1, round(n / (side * pixels))) for n in grid.shape)
        sides = tuple(every * ceil(n / many / every) for n, many in zip(grid.shape, counts, strict=True))
        rim = every * ceil(_MARGIN_FWHM * pixels / every)
        return cls(grid, fwhm, (counts[0], counts[1]), (sides[0], sides[1]), rim, every)

    @property
    def single(self) -> bool:
        """Whether there is one field, the whole grid."""
        return self.counts == (1, 1)

    @property
    def cuts(self) -> tuple[Floats, Floats]:
        """(x, y) mm, of the borders between fields."""
        y, x = (
            zero + self.grid.pitch * (size * np.arange(1, count) - 0.5)
            for zero, size, count in zip(self.grid.origin[::-1], self.side, self.counts, strict=True)
        )
        return x, y

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of each field, its rim included."""
        rows, columns = (size + 2 * self.rim for size in self.side)
        return rows, columns

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

    def origin(self, field: PlanField) -> Floats:
        """(x, y) mm, of the first pixel of a field's window."""
        rows, columns = field.window
        return np.array(self.grid.origin) + self.grid.pitch * np.array([columns.start, rows.start])

    def near(self, field: PlanField, xy: Floats) -> Bools:
        """(K,) whether places (K, 2) mm are in the core of a field or within `_NEAR_FWHM` of it."""
        pixels, beyond = self.grid.to_pixels(xy), self.rim - _NEAR_FWHM * self.fwhm / self.grid.pitch
        rows, columns = field.window
        low, high = np.array([[one.start + beyond, one.stop - 1 - beyond] for one in (columns, rows)]).T
        return np.asarray(((pixels > low) & (pixels < high)).all(axis=1))

    @property
    def given_grid(self) -> Grid:
        """The coarse grid of the whole design's light."""
        shape = tuple(ceil(2 * n / self.every) + 1 for n in self.grid.shape)
        return Grid(self.grid.origin, self.grid.pitch * self.every / 2, (shape[0], shape[1]))

    def given_window(self, field: PlanField) -> tuple[slice, slice]:
        """(rows, columns) slices of the coarse grid around a field."""
        starts = (2 * one.start // self.every - _AROUND for one in field.window)
        rows, columns = (slice(a, a + n) for a, n in zip(starts, self.given_shape, strict=True))
        return rows, columns

    @property
    def given_shape(self) -> tuple[int, int]:
        """(rows, columns) of the coarse grid around a field."""
        rows, columns = (2 * n // self.every + 2 * _AROUND + 1 for n in self.shape)
        return rows, columns


def cut_at_borders(path: EnergyPath, partition: Partition) -> EnergyPath:
    """The path with long lit moves cut where they cross a border, so that each part is in one field."""
    start, way, length = path.xy[:-1], np.diff(path.xy, axis=0), path.length
    least = _LONG_FWHM * partition.fwhm
    found = []
    for axis, lines in enumerate(partition.cuts):
        for line in lines:
            away = line - start[:, axis]
            t = np.divide(away, way[:, axis], out=np.zeros(len(way)), where=way[:, axis] != 0)
            found.append((np.flatnonzero(path.on & (np.minimum(t, 1 - t) * length >= least)), t))
    if not sum(len(moves) for moves, _ in found):
        return path
    move = np.concatenate([moves for moves, _ in found])
    t = np.concatenate([part[moves] for moves, part in found])
    order = np.lexsort((t, move))
    move, t = move[order], t[order]
    xy = np.insert(path.xy, move + 1, start[move] + t[:, None] * way[move], axis=0)
    energy, speed = (np.insert(one, move, one[move]) for one in (path.energy, path.speed))
    return EnergyPath(xy, energy, speed)


class CuttableShape(ExposedShape, Protocol):
    """What the machine makes of a path, of which a part can be had (`compensation.shape`)."""

    def part(self, moves: Indices, vertices: Indices, zero: Floats) -> ExposedShape:
        """That of a part of the path. moves: (n,) of the path, −1 for travels that join.

        vertices: (n+1,) of the path.  zero: (2,) mm, of the part.
        """


@dataclass(frozen=True, slots=True, eq=False)
class PathProblem:
    """A loss of a whole design's path, as it can be cut into fields.

    scene: on the grid of the objective.  bounds: corners (2,) mm of the range of the vertices.  side: of a
    field, FWHM.  time: of the path that is optimised, or None.  blur: width of the spot out of focus,
    relative; 1: none.  shape: what the machine makes of the path.
    """

    scene: Scene
    objective: Objective
    process: Process
    bounds: tuple[Floats, Floats]
    side: float
    time: WriteTimeTerm | None = None
    blur: float = 1.0
    shape: CuttableShape | None = None

    @property
    def spot(self) -> Spot:
        """The spot in focus."""
        return self.scene.spot

    @property
    def partition(self) -> Partition:
        """The fields of the scene's grid."""
        return Partition.of(self.scene.grid, self.scene.fwhm, self.side)

    def loss(self) -> Loss:
        """The loss of the whole path."""
        model = usual_model(self.scene.grid, self.spot)
        blurred = out_of_focus(self.blur, self.objective, self.spot) if self.blur > 1 else None
        return Loss.of(self.objective, model, time=self.time, blurred=blurred, shape=self.shape)


def _spots(spot: Spot, blur: float) -> tuple[tuple[Spot, float], ...]:
    """The spots that expose, and the strength of each."""
    return ((spot, 1.0),) if blur <= 1 else ((spot, 1.0), defocused(spot, blur))


def optimised(
    start: EnergyPath, problem: PathProblem, schedule: Schedule, progress: Listener | None = None
) -> Optimised:
    """The path of least loss; of a large design, field by field."""
    partition = problem.partition
    if partition.single:
        return optimise(start, problem.loss(), problem.process, schedule, progress, problem.bounds)
    return _Sweep(start, problem, partition, schedule).run(progress)


class _Sweep:
    """One pass over all fields. path: the best so far.  given: the light of all of it, of each spot."""

    def __init__(
        self, start: EnergyPath, problem: PathProblem, partition: Partition, schedule: Schedule
    ) -> None:
        self._start, self._problem, self._partition, self._schedule = start, problem, partition, schedule
        self._xy, self._energy, self._speed = start.xy.copy(), start.energy.copy(), start.speed.copy()
        ends, energies = problem.shape(start.xy, start.energy) if problem.shape else (start.xy, start.energy)
        self._given = [
            _given_model(partition.given_grid, spot).line_dose(ends, strength * energies)
            for spot, strength in _spots(problem.spot, problem.blur)
        ]

    def run(self, progress: Listener | None) -> Optimised:
        """Optimise the fields of one colour, then those of the other."""
        histories: list[Floats] = []
        stopped, converged = False, True
        owned = self._owned()
        try:
            for colour in (0, 1):
                now = [(field, own) for field, own in owned if field.colour == colour]
                # All fields of one colour begin with the same, however many are done at the same time.
                path, given = self.path, [one.copy() for one in self._given]
                jobs = (self._job(field, own, path, given) for field, own in now)
                done = len(histories)
                for (field, own), found in zip(now, _solved(jobs, progress, done, len(owned)), strict=False):
                    self._take(field, own, found)
                    histories.append(found.loss)
                    converged = converged and found.converged
                    if found.stopped:
                        raise KeyboardInterrupt
        except KeyboardInterrupt:
            stopped, converged = True, False
        loss = _added(histories)
        text = outcome(len(loss), self._schedule.iterations, stopped, converged)
        return Optimised(self.path, loss, text, stopped, converged)

    @property
    def path(self) -> EnergyPath:
        """The path as the fields so far have left it."""
        return EnergyPath(self._xy.copy(), self._energy.copy(), self._speed.copy())

    def _owned(self) -> list[tuple[PlanField, _Own]]:
        """The fields in which something is lit, each with its moves."""
        path, partition = self._start, self._partition
        rings = _rings(path)
        moves, vertices = partition.owner((path.xy[1:] + path.xy[:-1]) / 2), partition.owner(path.xy)
        found = []
        for number, field in enumerate(partition):
            inside = partition.near(field, path.xy)
            own = _Own.of(path, rings, moves == number, vertices == number, inside)
            if own is not None:
                found.append((field, own))
        return found

    def _job(self, field: PlanField, own: _Own, path: EnergyPath, given: Sequence[Floats]) -> FieldJob:
        """What a field optimises, beside the others of a path and their given light."""
        problem, partition, pitch = self._problem, self._partition, self._partition.grid.pitch
        zero = partition.origin(field)
        window = Grid((0.0, 0.0), pitch, partition.shape)
        target = Target(window, _window(problem.objective.target.coverage, field.window))
        samples = problem.scene.samples
        near = partition.near(field, samples.xy)
        edge, share = problem.objective.edge, near.sum() / len(samples.xy)
        objective = replace(
            problem.objective,
            target=target,
            coverage=target.coverage.astype(np.float32),
            edge=None,
            edge_weight=share * problem.objective.edge_weight,
        )
        time = problem.time and replace(
            problem.time, on=own.lit(problem.time.on), speed=own.of_moves(problem.time.speed, 1.0)
        )
        low, high = (bound - zero for bound in problem.bounds)
        return FieldJob(
            path=EnergyPath(
                path.xy[own.vertex] - zero, own.energies(path.energy), own.of_moves(path.speed, 1.0)
            ),
            free=own.free,
            objective=objective,
            outline=(samples.xy[near] - zero, samples.normal[near] * partition.fwhm),
            dose_error=edge.dose_error if edge else 0.0,
            process=problem.process,
            spot=problem.spot,
            given=[_window(one, partition.given_window(field)) for one in given],
            every=partition.every,
            bounds=(np.maximum(low, pitch), np.minimum(high, pitch * (np.array(window.shape[::-1]) - 2.0))),
            schedule=self._schedule,
            time=time,
            blur=problem.blur,
            shape=problem.shape and problem.shape.part(own.move, own.vertex, zero),
        )

    def _take(self, field: PlanField, own: _Own, found: FieldResult) -> None:
        """Take over what a field has found, and its light."""
        zero, moved = self._partition.origin(field), own.free.moves
        for at in (own.vertex, own.twin):
            here = own.free.vertices & (at >= 0)
            self._xy[at[here]] = found.path.xy[here] + zero
        self._energy[own.move[moved]] = found.path.energy[moved]
        self._speed[own.move[moved]] = found.path.speed[moved]
        for light, change in zip(self._given, found.change, strict=True):
            _add(light, self._partition.given_window(field), change)


def _solved(jobs: Iterator[FieldJob], progress: Listener | None, done: int, of: int) -> Iterator[FieldResult]:
    """The results of jobs in their order, by workers if that is worth it. done: fields before, of all."""
    if of < _FEWEST_FIELDS or not worker_count():
        for k, job in enumerate(jobs, done):
            yield solve_field(job, _part_of(progress, k, of))
        return
    for k, found in enumerate(each(solve_field, jobs), done + 1):
        if progress is not None:
            progress(replace(found.latest, iteration=found.latest.of * k // of))
        yield found


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """The moves of a field as a path of their own, with some of their neighbours.

    vertex: (n+1,) of the whole path.  twin: (n+1,) the last vertex of a ring whose first it is, or −1.
    move: (n,) of the whole path, −1 for travels that join.  mine: (n,) whether its light is the field's.
    free: which vertices and line energies it may change.
    """

    vertex: Indices
    twin: Indices
    move: Indices
    mine: Bools
    free: Free

    @classmethod
    def of(
        cls, path: EnergyPath, rings: Indices, moves: Bools, vertices: Bools, inside: Bools
    ) -> _Own | None:
        """None: nothing of the field is lit.

        rings: (R, 2) first and last vertex of closed strokes.  moves, vertices: whether each of the path's is
        in the field's core.  inside: whether each vertex is near enough to it.
        """
        on = path.on
        mine = on & (moves | vertices[1:] | vertices[:-1]) & inside[1:] & inside[:-1]
        if not (mine & moves).any():
            return None
        # A vertex may move if no lit move beside it is another field's; the ends of a ring are one vertex.
        others = on & ~mine
        alone = vertices & ~(np.append(others, False) | np.append(False, others))
        alone[rings] = alone[rings].all(axis=1)[:, None]
        parts = _parts(mine, rings)
        vertex = np.concatenate([np.arange(first, last + 1) for first, last, _ in parts])
        twin = np.full(len(vertex), -1)
        move = np.concatenate([np.append(np.arange(first, last), -1) for first, last, _ in parts])[:-1]
        # Where the rest of a ring goes on at its beginning, the vertex is there twice, and no travel between.
        ends = np.cumsum([last - first + 1 for first, last, _ in parts]) - 1
        met = ends[[goes_on for _, _, goes_on in parts]]
        twin[met] = vertex[met + 1]
        vertex, twin, move = np.delete(vertex, met + 1), np.delete(twin, met + 1), np.delete(move, met)
        own = mine[np.maximum(move, 0)] & (move >= 0)
        lit = np.append(own, False) | np.append(False, own)
        return cls(vertex, twin, move, own, Free(alone[vertex] & lit, own & moves[np.maximum(move, 0)]))

    def of_moves(self, values: Any, join: float) -> Any:
        """(n,) of the whole path's moves. join: of the travels that join."""
        return np.where(self.move >= 0, values[np.maximum(self.move, 0)], join)

    def energies(self, energy: Floats) -> Floats:
        """(n,) line energies; 0 of the neighbours, whose light is given."""
        return np.where(self.mine, energy[np.maximum(self.move, 0)], 0.0)

    def lit(self, on: Bools) -> Bools:
        """(n,) whether each move is lit, here or in another field."""
        return (self.move >= 0) & on[np.maximum(self.move, 0)]


def _rings(path: EnergyPath) -> Indices:
    """(R, 2) first and last vertex of each closed stroke."""
    strokes = np.array(runs(path.on)).reshape(-1, 2)
    return strokes[(path.xy[strokes[:, 0]] == path.xy[strokes[:, 1]]).all(axis=1)]


def _parts(mine: Bools, rings: Indices) -> list[tuple[int, int, bool]]:
    """(first move, end, whether the next part goes on where it ends) of a field's moves, with neighbours.

    A ring that leaves the field and begins inside is two parts, its end first.
    """
    around = np.convolve(mine, np.ones(2 * _CONTEXT + 1), "same") > 0.5
    before = np.append(0, np.cumsum(mine))
    first, last = rings.T
    cut = rings[mine[first] & mine[last - 1] & (before[last] - before[first] < last - first)]
    broken = np.zeros(len(mine) + 1, dtype=bool)
    broken[cut] = True
    found: dict[int, int] = {}
    for start, end in runs(around):
        places = [start, *(start + 1 + np.flatnonzero(broken[start + 1 : end])), end]
        found.update(zip(map(int, places[:-1]), map(int, places[1:]), strict=True))
    begins = {int(end): int(start) for start, end in cut}
    heads = set(begins.values())
    parts = []
    for start, end in found.items():
        if start in heads:
            continue
        parts.append((start, end, end in begins))
        if end in begins:
            parts.append((begins[end], found[begins[end]], False))
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class FieldJob:
    """What one field optimises, on a grid whose first pixel is zero: all that it needs.

    outline: (M, 2) mm, samples that count, and their normals times the FWHM.  given: the light of the whole
    path as it was, around the field, of each spot.  every: as in `Partition`.  Others as in `PathProblem`.
    """

    path: EnergyPath
    free: Free
    objective: Objective
    outline: tuple[Floats, Floats]
    dose_error: float
    process: Process
    spot: Spot
    given: Sequence[Floats]
    every: int
    bounds: tuple[Floats, Floats]
    schedule: Schedule
    time: WriteTimeTerm | None
    blur: float
    shape: ExposedShape | None

    @property
    def grid(self) -> Grid:
        """The field's pixels, with its rim."""
        return self.objective.target.grid

    @property
    def given_grid(self) -> Grid:
        """The coarse grid around the field."""
        pitch = self.grid.pitch * self.every / 2
        rows, columns = self.given[0].shape
        return Grid((-_AROUND * pitch, -_AROUND * pitch), pitch, (rows, columns))


@dataclass(frozen=True, slots=True, eq=False)
class FieldResult:
    """path: of the field.  loss: (iterations,) history.  change: of the given light, for each spot.

    latest: where the stage is after it.
    """

    path: EnergyPath
    loss: Floats
    change: Sequence[Floats]
    latest: Progress
    stopped: bool
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class _LitBeside:
    """The dose of a field's own moves beside given light (rows, columns)."""

    model: DoseModel
    given: Floats

    def points(self, xy: Floats, line_energy: Floats) -> Any:
        """As of the model."""
        return self.model.points(xy, line_energy)

    def near(self, points: Any) -> _LitBeside:
        """As of the model."""
        return replace(self, model=self.model.near(points))

    def spread(self, points: Any) -> Floats:
        """(rows, columns) dose, mJ/mm², of the points and what is given."""
        return np.asarray(self.model.spread(points) + self.given)

    def pull(self, points: Any, d_dose: Floats, xy: Floats, line_energy: Floats) -> PathGradient:
        """As of the model: what is given does not change."""
        return self.model.pull(points, d_dose, xy, line_energy)


def solve_field(job: FieldJob, progress: Listener | None = None) -> FieldResult:
    """Optimise one field; needs nothing but the job, so that another process can do it."""
    before = _lights(job, job.path)
    rest = [all_of_it - own for all_of_it, own in zip(job.given, before, strict=True)]
    objective = job.objective
    xy, normal = job.outline
    if objective.edge_weight:
        objective = replace(objective, edge=EdgeTerm(Sampler.of(job.grid, xy, normal), job.dose_error))
    blurred = None
    if job.blur > 1:
        blurred = out_of_focus(job.blur, objective, job.spot)
        (_, (wide, _)) = _spots(job.spot, job.blur)
        blurred = replace(blurred, model=_LitBeside(usual_model(job.grid, wide), _read(rest[1], job)))
    model = _LitBeside(usual_model(job.grid, job.spot), _read(rest[0], job))
    loss = Loss.of(objective, model, time=job.time, blurred=blurred, shape=job.shape)
    found = optimise(job.path, loss, job.process, job.schedule, progress, job.bounds, job.free)
    change = [now - then for now, then in zip(_lights(job, found.path), before, strict=True)]
    latest = Progress(job.schedule.stage, job.schedule.iterations, job.schedule.iterations, found.loss[-1])
    return FieldResult(found.path, found.loss, change, latest, found.stopped, found.converged)


def _lights(job: FieldJob, path: EnergyPath) -> list[Floats]:
    """The light of the field's own moves around it, of each spot."""
    ends, energies = job.shape(path.xy, path.energy) if job.shape else (path.xy, path.energy)
    return [
        _given_model(job.given_grid, spot).line_dose(ends, r * energies)
        for spot, r in _spots(job.spot, job.blur)
    ]


def _read(given: Floats, job: FieldJob) -> Floats:
    """Light on the coarse grid around a field, at the field's pixels."""
    rows, columns = (
        _reading(2 / job.every, fine, coarse)
        for fine, coarse in zip(job.grid.shape, given.shape, strict=True)
    )
    return np.asarray(rows @ (columns @ given.T).T, dtype=given.dtype)


@lru_cache(maxsize=4)
def _reading(step: float, fine: int, coarse: int) -> Any:
    """The matrix that reads `coarse` pixels `fine` times, from pixel `_AROUND` on, every `step` pixels."""
    return reading(_AROUND + step * np.arange(fine), coarse).astype(np.float32)


@lru_cache(maxsize=4)
def _given_model(grid: Grid, spot: Spot) -> DoseModel:
    return DoseModel(grid, spot, tolerance=_TOLERANCE)


def _window(picture: Floats, window: tuple[slice, slice]) -> Floats:
    """A copy of a part of a picture (rows, columns), 0 where it reaches beyond."""
    found = np.zeros([one.stop - one.start for one in window], picture.dtype)
    inside, there = _overlap(picture.shape, window)
    found[there] = picture[inside]
    return found


def _add(picture: Floats, window: tuple[slice, slice], change: Floats) -> None:
    """Add to a part of a picture, in place; what reaches beyond is left out."""
    inside, there = _overlap(picture.shape, window)
    picture[inside] += change[there]


def _overlap(
    shape: tuple[int, ...], window: tuple[slice, slice]
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """The part of a picture that is in a window, and that part in the window."""
    inside = [slice(max(one.start, 0), min(one.stop, n)) for one, n in zip(window, shape, strict=True)]
    there = [slice(a.start - b.start, a.stop - b.start) for a, b in zip(inside, window, strict=True)]
    return (inside[0], inside[1]), (there[0], there[1])


def _added(histories: Sequence[Floats]) -> Floats:
    """The sum of losses of several fields; one that ended earlier keeps its last."""
    count = max(map(len, histories), default=0)
    return np.sum([np.append(one, np.repeat(one[-1:], count - len(one))) for one in histories], axis=0)


def _part_of(progress: Listener | None, done: int, of: int) -> Listener | None:
    """A listener for one field, when `done` of `of` have ended."""
    if progress is None:
        return None

    def told(now: Progress) -> None:
        progress(replace(now, iteration=int((done * now.of + now.iteration) / of)))

    return told
