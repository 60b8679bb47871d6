"""Levels and places of a large design, field by field: the executed run is cut as paths are.

The run is executed as a whole, since the controller's planner looks at all moves. A field is given the pieces
of its rows and of those around it, and answers for its own (`design.partition`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from laserpath.base.arrays import Bools, Floats, Indices, ends_of, joined, picked, runs, widened
from laserpath.design.partition import (
    WHOLE,
    FieldView,
    Partition,
    PlacesByField,
    PlanField,
    lines_by_field,
    worked_on,
)
from laserpath.design.scene import Scene
from laserpath.physics.dose import TiledDose

_CONTEXT = 2
"""Rows before and after a field's own that its corners' speeds are computed with."""

Answer = TypeVar("Answer")
Job = TypeVar("Job")
JobOf = TypeVar("JobOf", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class FieldDose:
    """The dose of a run in a field, or in a design of one. dose: (rows, columns) of the scene, relative.

    core: its rows and columns without the rim, and within the design's grid.
    """

    scene: Scene
    dose: Floats
    core: tuple[slice, slice] = WHOLE


class JobOfField(Protocol[JobOf]):
    """What makes a job of a field when its dose is known: `partial` of its class."""

    def __call__(self, *, seen: FieldDose) -> JobOf:
        """The job."""


@dataclass(frozen=True, slots=True, eq=False)
class RunPart:
    """Rows of a run that belong to a field, with some before and after. Dark rows join those apart.

    row: (n,) of the run, −1 for those that join.  piece: (p,) likewise.  end: (p+1,), vertex: (n+1,) of the
    run.  first: (n+1,) first piece of each row.  own: (n,) whether the field answers for a row.  vertices:
    (n+1,) likewise.
    """

    row: Indices
    piece: Indices
    end: Indices
    vertex: Indices
    first: Indices
    own: Bools
    vertices: Bools

    @classmethod
    def of(cls, first: Indices, own: Bools, vertices: Bools, some: tuple[Indices, Indices]) -> RunPart | None:
        """first: (rows + 1,) first piece of each row of the run.  own: (n,).  vertices: (n + 1,).

        some: the rows (n,) and vertices (n + 1,) that these are of, as of `joined`. None: the field has no
        rows.
        """
        if not own.any():
            return None
        spans = runs(widened(own | vertices[1:] | vertices[:-1], _CONTEXT))
        here, there = joined(spans)
        rows, at = picked(some[0], here, -1), some[1][there]
        pieces, ends = joined([(first[some[0][a]], first[some[0][b - 1] + 1]) for a, b in spans])
        counts = np.where(rows < 0, 1, first[rows + 1] - first[rows])
        begins = np.append(0, np.cumsum(counts)).astype(np.int64)
        mine = picked(own, here, False)
        return cls(rows, pieces, ends, at, begins, mine, vertices[there] & ~ends_of(rows < 0))

    def of_rows(self, values: Any, join: Any) -> Any:
        """(n, …) of the run's rows. join: of the rows that join."""
        return picked(values, self.row, join)

    def of_pieces(self, values: Any, join: Any) -> Any:
        """(p, …) of the run's pieces. join: of the pieces that join."""
        return picked(values, self.piece, join)


def run_parts(
    partition: Partition, xy: Floats, first: Indices, lit: Bools
) -> list[tuple[PlanField, RunPart]]:
    """The fields that have rows, each with its part of a run.

    xy: (rows + 1, 2) mm, the ends of the rows.  first: (rows + 1,) first piece of each.  lit: (rows,).
    """
    found = []
    for field, some in lines_by_field(partition, xy, _CONTEXT + 1):
        shines, inside = picked(lit, some.line, False), some.near[1:] & some.near[:-1]
        # A vertex may move if all that is lit beside it is near.
        movable = some.ends & some.near & ~ends_of(shines & ~inside)
        part = RunPart.of(first, shines & some.own & inside, movable, (some.line, some.vertex))
        if part is not None:
            found.append((field, part))
    return found


def by_fields(
    partition: Partition,
    parts: Sequence[tuple[PlanField, RunPart]],
    light: Callable[[], Floats | TiledDose],
    job: Callable[[FieldView, RunPart, Floats], JobOfField[Job]],
    function: Callable[[Job], Answer],
    scene: Scene,
) -> Iterator[tuple[RunPart, Answer]]:
    """Each field's part of a run, and its answer: first of one colour, then of the other.

    light: the given light as it is now, in critical doses.  job: of a view, a part, and the view's zero (2,)
    mm; what makes it of the view's dose.
    """
    samples = PlacesByField.of(partition, scene.samples.xy)
    for colour in (0, 1):
        now = [(field, part) for field, part in parts if field.colour == colour]
        if now:
            given = light()
            views = ((one, part, partition.view(one, scene, [given], samples)) for one, part in now)
            jobs = (
                (view, partition.core(one)[1], job(view, part, partition.origin(one)))
                for one, part, view in views
            )
            answers = worked_on(partial(_answer, function), jobs, len(parts))
            yield from ((part, answer) for (_, part), answer in zip(now, answers, strict=True))


def _answer(
    function: Callable[[Job], Answer], one: tuple[FieldView, tuple[slice, slice], JobOfField[Job]]
) -> Answer:
    """A field's answer. Its pixels are read here, by the process that needs them: they are many to send."""
    view, core, made = one
    dose = view.read(view.given[0]).astype(np.float64)
    return function(made(seen=FieldDose(view.scene, dose, core)))
