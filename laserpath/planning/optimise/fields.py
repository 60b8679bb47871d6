"""Optimisation by fields: squares of a large design, each with the light of the others as it is.

A descent over a whole design holds arrays of all its pixels, follows one step length for all its parts, and
uses one processor. So a large design is optimised field by field (`design.partition`), in one sweep for
each stage. The loss of a field is that of its core and of a rim around it, which its moves light, too. The
units of the loss are those of the whole design. A design of one field is optimised as a whole.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from laserpath.base.arrays import Bools, Floats, Indices, ends_of, joined, picked, runs, widened
from laserpath.base.compute import runtime
from laserpath.design.partition import (
    FieldView,
    Partition,
    PlacesByField,
    PlanField,
    add_light,
    given_model,
    is_alone,
    lines_by_field,
    partition_of,
    worked_on,
)
from laserpath.design.scene import Scene
from laserpath.physics.dose import DoseModel, PathGradient, TiledDose, usual_model
from laserpath.planning.optimise.loop import Free, Listener, Optimised, Progress, Schedule, optimise, outcome
from laserpath.planning.optimise.loss import ExposedShape, Loss, PathTerm, defocused, out_of_focus
from laserpath.planning.optimise.objective import Objective
from laserpath.types import EnergyPath, Process, Spot

_LONG_FWHM = 1.0
"""Length of a move on either side of a border from which it is cut there."""

_CONTEXT = 6
"""Moves before and after a field's own that its write time is computed with."""


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
    field, FWHM.  own: terms of the path itself.  blur: width of the spot out of focus,
    relative; 1: none.  shape: what the machine makes of the path.
    """

    scene: Scene
    objective: Objective
    process: Process
    bounds: tuple[Floats, Floats]
    side: float
    own: tuple[PathTerm, ...] = ()
    blur: float = 1.0
    shape: CuttableShape | None = None

    @property
    def spot(self) -> Spot:
        """The spot in focus."""
        return self.scene.spot

    @property
    def partition(self) -> Partition:
        """The fields of the scene's grid."""
        return partition_of(self.scene, self.side)

    def loss(self) -> Loss:
        """The loss of the whole path."""
        model = usual_model(self.scene.grid, self.spot)
        blurred = out_of_focus(self.blur, self.objective, self.spot) if self.blur > 1 else None
        return Loss.of(self.objective, model, path=self.own, blurred=blurred, shape=self.shape)


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
            _GivenLight.of(given_model(partition.given_grid, spot).dose_by_rows(ends, strength * energies))
            for spot, strength in _spots(problem.spot, problem.blur)
        ]
        self._samples = PlacesByField.of(partition, problem.scene.samples.xy)

    def run(self, progress: Listener | None) -> Optimised:
        """Optimise the fields of one colour, then those of the other."""
        histories: list[Floats] = []
        stopped, converged = False, True
        owned = self._owned()
        try:
            for colour in (0, 1):
                now = [(field, own) for field, own in owned if field.colour == colour]
                # All fields of one colour begin with the same, however many are done at the same time.
                coming, done = deque(now), len(histories)
                jobs = self._jobs(coming, self.path)
                changes = deque[tuple[PlanField, Sequence[Floats]]]()
                for (field, own), found in zip(
                    now, self._solved(jobs, progress, done, len(owned)), strict=True
                ):
                    self._take(field, own, found)
                    changes.append((field, found.change))
                    # Windows of one colour meet at corners: those of the row before and of the next one.
                    rows = coming[0][0].index[0] - 1 if coming else self._partition.counts[0]
                    self._shine(changes, rows)
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
        return EnergyPath(self._xy, self._energy, self._speed)  # which copies them

    def _owned(self) -> list[tuple[PlanField, _Own]]:
        """The fields in which something is lit, each with its moves."""
        path = self._start
        rings, on, found = _rings(path), path.on, []
        last = np.full(len(path.xy), -1)
        last[rings[:, 0]] = rings[:, 1]
        for field, some in lines_by_field(self._partition, path.xy, _CONTEXT + 1):
            own = _Own.of(
                picked(on, some.line, False), _within(last, some.vertex), some.own, some.ends, some.near
            )
            if own is not None:
                found.append((field, own.of_whole(some.line, some.vertex)))
        return found

    def _jobs(self, coming: deque[tuple[PlanField, _Own]], path: EnergyPath) -> Iterator[FieldJob]:
        """What fields optimise, made when it is needed. coming: is left with those of which none is made."""
        while coming:
            yield self._job(*coming.popleft(), path)

    def _job(self, field: PlanField, own: _Own, path: EnergyPath) -> FieldJob:
        """What a field optimises, beside the others of a path and their given light."""
        problem, partition, pitch = self._problem, self._partition, self._partition.grid.pitch
        zero = partition.origin(field)
        given = [light.around(partition.given_window(field)) for light in self._given]
        view = partition.view(field, problem.scene, given, self._samples)
        edge, share = problem.objective.edge, len(view.scene.samples.xy) / len(problem.scene.samples.xy)
        objective = replace(
            problem.objective,
            scene=view.scene,
            edge=replace(edge, scene=view.scene) if edge and share else None,
            share=share,
        )
        low, high = (bound - zero for bound in problem.bounds)
        far = pitch * (np.array(view.grid.shape[::-1]) - 2.0)
        return FieldJob(
            view=view,
            path=EnergyPath(
                path.xy[own.vertex] - zero, own.energies(path.energy), own.of_moves(path.speed, 1.0)
            ),
            free=own.free,
            objective=objective,
            process=problem.process,
            bounds=(np.maximum(low, pitch), np.minimum(high, far)),
            schedule=self._schedule,
            own=tuple(term.of_moves(own.of_moves) for term in problem.own),
            blur=problem.blur,
            shape=problem.shape and problem.shape.part(own.move, own.vertex, zero),
        )

    def _solved(
        self, jobs: Iterator[FieldJob], progress: Listener | None, done: int, of: int
    ) -> Iterator[FieldResult]:
        """The results of jobs in their order, by workers if that is worth it. done: fields before, of all."""
        if is_alone(of):
            for k, job in enumerate(jobs, done):
                yield solve_field(job, _part_of(progress, k, of))
            return
        stage, iterations = self._schedule.stage, self._schedule.iterations
        for k, found in enumerate(worked_on(solve_field, jobs, of), done + 1):
            if progress is not None:
                latest = float(found.loss[-1]) if len(found.loss) else math.nan
                progress(Progress(stage, iterations * k // of, iterations, latest))
            yield found

    def _take(self, field: PlanField, own: _Own, found: FieldResult) -> None:
        """Take over the path that a field has found."""
        zero, moved = self._partition.origin(field), own.free.moves
        for at in (own.vertex, own.twin):
            here = own.free.vertices & (at >= 0)
            self._xy[at[here]] = found.path.xy[here] + zero
        self._energy[own.move[moved]] = found.path.energy[moved]
        self._speed[own.move[moved]] = found.path.speed[moved]

    def _shine(self, changes: deque[tuple[PlanField, Sequence[Floats]]], before: int) -> None:
        """Add the changes of light of the first fields, in rows before one, to what is given; drop them."""
        while changes and changes[0][0].index[0] < before:
            field, each = changes.popleft()
            for light, change in zip(self._given, each, strict=True):
                add_light(light.picture, self._partition.given_window(field), change)


@dataclass(slots=True, eq=False)
class _GivenLight:
    """Light that is computed as fields come to need it, and then changes with them. picture: (rows, columns).

    tiles: that it is computed from; None: it is there.  known: rows that are.
    """

    picture: Floats
    tiles: TiledDose | None = None
    known: int = 0

    @classmethod
    def of(cls, dose: Floats | TiledDose) -> _GivenLight:
        return cls(np.zeros(dose.shape, dose.dtype), dose) if isinstance(dose, TiledDose) else cls(dose)

    def around(self, window: tuple[slice, slice]) -> Floats:
        """The picture, where a window is known."""
        if self.tiles is not None:
            self.known = self.tiles.fill(self.picture, self.known, window[0].stop)
            if self.known >= len(self.picture):
                self.tiles = None
        return self.picture


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
    def of(cls, on: Bools, rings: Indices, moves: Bools, vertices: Bools, inside: Bools) -> _Own | None:
        """None: nothing of the field is lit.

        on: (n,) of each move.  rings: (R, 2) first and last vertex of closed strokes.  moves, vertices:
        whether each is in the field's core.  inside: whether each vertex is near enough to it.
        """
        mine = on & (moves | vertices[1:] | vertices[:-1]) & inside[1:] & inside[:-1]
        if not (mine & moves).any():
            return None
        # A vertex may move if no lit move beside it is another field's; the ends of a ring are one vertex.
        others = on & ~mine
        alone = vertices.copy()
        alone[ends_of(others)] = False
        alone[rings] = alone[rings].all(axis=1, keepdims=True)
        parts = _parts(mine, rings)
        move, vertex = joined([(first, last) for first, last, _ in parts])
        twin = np.full(len(vertex), -1)
        # Where the rest of a ring goes on at its beginning, the vertex is there twice, and no travel between.
        ends = np.cumsum([last - first + 1 for first, last, _ in parts]) - 1
        met = ends[[goes_on for _, _, goes_on in parts]]
        twin[met] = vertex[met + 1]
        vertex, twin, move = np.delete(vertex, met + 1), np.delete(twin, met + 1), np.delete(move, met)
        own = picked(mine, move, False)
        return cls(
            vertex, twin, move, own, Free(alone[vertex] & ends_of(own), own & picked(moves, move, False))
        )

    def of_whole(self, move: Indices, vertex: Indices) -> _Own:
        """The same by numbers of the whole path, from those of a part of it (`joined`)."""
        short = partial(np.asarray, dtype=np.int32)  # all fields together keep as many as the path has
        return replace(
            self,
            vertex=short(vertex[self.vertex]),
            twin=short(picked(vertex, self.twin, -1)),
            move=short(picked(move, self.move, -1)),
        )

    def of_moves(self, values: Any, join: Any) -> Any:
        """(n,) of the whole path's moves. join: of the travels that join."""
        return picked(values, self.move, join)

    def energies(self, energy: Floats) -> Floats:
        """(n,) line energies; 0 of the neighbours, whose light is given."""
        return np.where(self.mine, self.of_moves(energy, 0.0), 0.0)


def _rings(path: EnergyPath) -> Indices:
    """(R, 2) first and last vertex of each closed stroke."""
    strokes = np.array(runs(path.on)).reshape(-1, 2)
    return strokes[(path.xy[strokes[:, 0]] == path.xy[strokes[:, 1]]).all(axis=1)]


def _within(last: Indices, vertex: Indices) -> Indices:
    """(R, 2) the rings whose ends are among these rising vertices (n,), by their places there.

    last: of each ring by its first vertex (N+1,), −1 for other vertices. Of many rings few are in a field.
    """
    first = np.flatnonzero(last[vertex] >= 0)
    ends = last[vertex[first]]
    at = np.minimum(np.searchsorted(vertex, ends), len(vertex) - 1)
    known = vertex[at] == ends
    return np.stack([first[known], at[known]], axis=1)


def _parts(mine: Bools, rings: Indices) -> list[tuple[int, int, bool]]:
    """(first move, end, whether the next part goes on where it ends) of a field's moves, with neighbours.

    A ring that leaves the field and begins inside is two parts, its end first.
    """
    around = widened(mine, _CONTEXT)
    before = np.append(0, np.cumsum(mine))
    first, last = rings.T
    cut = rings[mine[first] & mine[last - 1] & (before[last] - before[first] < last - first)]
    broken = np.zeros(len(mine) + 1, dtype=bool)
    broken[cut] = True
    # Of a ring that leaves the field for a few moves all is around, so that it is parted in between.
    broken[[start + _away(mine[start:end]) for start, end in cut if around[start:end].all()]] = True
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


def _away(mine: Bools) -> int:
    """The vertex in the middle of the longest run of moves that are not a field's own."""
    first, last = max(runs(~mine), key=lambda run: run[1] - run[0])
    return (first + last + 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class FieldJob:
    """What one field optimises: all that it needs, as in `PathProblem`."""

    view: FieldView
    path: EnergyPath
    free: Free
    objective: Objective
    process: Process
    bounds: tuple[Floats, Floats]
    schedule: Schedule
    own: tuple[PathTerm, ...]
    blur: float
    shape: ExposedShape | None

    @property
    def spots(self) -> tuple[tuple[Spot, float], ...]:
        """The spots that expose, and the strength of each."""
        return _spots(self.view.scene.spot, self.blur)


@dataclass(frozen=True, slots=True, eq=False)
class FieldResult:
    """path: of the field.  loss: (iterations,) history.  change: of the given light, for each spot."""

    path: EnergyPath
    loss: Floats
    change: Sequence[Floats]
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
        dose = self.model.spread(points)
        dose += self.given
        return dose

    def pull(self, points: Any, d_dose: Floats, xy: Floats, line_energy: Floats) -> PathGradient:
        """As of the model: what is given does not change."""
        return self.model.pull(points, d_dose, xy, line_energy)


def begin() -> None:
    """What a worker does before its first field: it has loaded this module, and starts Taichi."""
    runtime.start()


def solve_field(job: FieldJob, progress: Listener | None = None) -> FieldResult:
    """Optimise one field; needs nothing but the job, so that another process can do it."""
    view, before = job.view, _lights(job, job.path)
    rest = [view.read(whole - own) for whole, own in zip(view.given, before, strict=True)]
    models = [usual_model(view.grid, spot) for spot, _ in job.spots]
    light, *out = (_LitBeside(model, given) for model, given in zip(models, rest, strict=True))
    objective, spot = job.objective, view.scene.spot
    blurred = replace(out_of_focus(job.blur, objective, spot), model=out[0]) if out else None
    loss = Loss.of(objective, light, path=job.own, blurred=blurred, shape=job.shape)
    found = optimise(job.path, loss, job.process, job.schedule, progress, job.bounds, job.free)
    change = [now - then for now, then in zip(_lights(job, found.path), before, strict=True)]
    return FieldResult(found.path, found.loss, change, found.stopped, found.converged)


def _lights(job: FieldJob, path: EnergyPath) -> list[Floats]:
    """The light of the field's own moves around it, of each spot."""
    ends, energies = job.shape(path.xy, path.energy) if job.shape else (path.xy, path.energy)
    return [job.view.light(ends, strength * energies, spot) for spot, strength in job.spots]


def _added(histories: Sequence[Floats]) -> Floats:
    """The sum of losses of several fields; one that ended earlier keeps its last."""
    total = np.zeros(max(map(len, histories), default=0))
    for one in histories:
        total += np.append(one, np.repeat(one[-1:], len(total) - len(one)))
    return total


def _part_of(progress: Listener | None, done: int, of: int) -> Listener | None:
    """A listener for one field, when `done` of `of` have ended."""
    if progress is None:
        return None

    def told(now: Progress) -> None:
        progress(replace(now, iteration=int((done * now.of + now.iteration) / of)))

    return told
