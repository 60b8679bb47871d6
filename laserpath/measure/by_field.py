"""The exposure of a large design, measured field by field: in bounded memory, and by all processors.

A field's dose is that of the lines in its window, computed as for a small design, and the light of all
others, which is smooth there, from one coarse dose of all (`design.partition`). It is measured in its core,
and at the points of the outline that are there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Bools, Floats, Indices, by_cell
from laserpath.design.partition import (
    FieldView,
    Partition,
    PlacesByField,
    PlanField,
    given_model,
    partition_of,
    worked_on,
)
from laserpath.design.scene import Scene
from laserpath.design.target import COARSEST, PIXELS_MAX
from laserpath.measure.edges import errors_at, hairs_right, rounded_off
from laserpath.measure.figures import CuredAreas, ErrorSpread, print_figures
from laserpath.physics.resin import path_energy
from laserpath.types import Grid, Spot, Toolpath
from laserpath.types.results import Edges, Measurement, MotionFigures


@dataclass(frozen=True, slots=True, eq=False)
class LitLines:
    """Lines that expose. ends: (N, 2, 2) mm.  energy: (N,) mJ/mm for each of K spots, (K, N)."""

    ends: Floats
    energy: Floats

    @classmethod
    def of(cls, paths: Sequence[Toolpath], spots: Sequence[Spot]) -> LitLines:
        """The lit lines of some paths, for some spots."""
        lit = [path.on & (path.length > 0) for path in paths]
        ends = np.empty((sum(int(on.sum()) for on in lit), 2, 2))
        for k, part in enumerate((slice(None, -1), slice(1, None))):
            each = [path.xy[part][on] for path, on in zip(paths, lit, strict=True)]
            np.concatenate(each, out=ends[:, k])
        energy = [
            np.concatenate([path_energy(path, spot)[on] for path, on in zip(paths, lit, strict=True)])
            for spot in spots
        ]
        return cls(ends, np.array(energy))

    @property
    def start(self) -> Floats:
        """(N, 2) mm."""
        return self.ends[:, 0]

    @property
    def end(self) -> Floats:
        """(N, 2) mm."""
        return self.ends[:, 1]

    def within(self, grid: Grid, zero: Floats) -> LitLines:
        """The parts in a grid's window whose zero is at (2,) mm, from there (Liang and Barsky 1984)."""
        x0, x1, y0, y1 = grid.extent
        low, high = np.array([x0, y0]) + 1e-9, np.array([x1, y1]) - 1e-9
        a, way = self.start - zero, self.end - self.start
        with np.errstate(divide="ignore", invalid="ignore"):
            enter, leave = np.sort([(low - a) / way, (high - a) / way], axis=0)
        still = way == 0
        beside = still & ((a < low) | (a > high))
        first = np.max(np.where(still, 0.0, enter), axis=1).clip(0.0)
        last = np.min(np.where(still, 1.0, leave), axis=1).clip(max=1.0)
        kept = (first < last) & ~beside.any(axis=1)
        a, way, first, last = a[kept], way[kept], first[kept, None], last[kept, None]
        return LitLines(np.stack([a + first * way, a + last * way], axis=1), self.energy[:, kept])

    @property
    def xy(self) -> Floats:
        """(2N, 2) mm, the lines as a polyline, with dark ones between."""
        return self.ends.reshape(-1, 2)

    def along(self, k: int) -> Floats:
        """(2N − 1,) line energies of spot k along `xy`."""
        return np.stack([self.energy[k], np.zeros(len(self.ends))], axis=1).ravel()[:-1]


@dataclass(frozen=True, slots=True, eq=False)
class LinesByField:
    """Lines, sorted once by the fields whose windows they may reach: both may be many.

    order: numbers of the lines, field by field.  start: (fields + 1,) where those of each begin.
    """

    lines: LitLines
    partition: Partition
    order: Indices
    start: Indices

    @classmethod
    def of(cls, lines: LitLines, partition: Partition) -> LinesByField:
        """A line is taken to reach what its bounding box does."""
        ends = [partition.grid.to_pixels(one)[:, ::-1] for one in (lines.start, lines.end)]
        side, beyond = np.array(partition.side), partition.rim + 1.0
        low = np.ceil((np.minimum(*ends) - beyond) / side - 1)
        high = np.floor((np.maximum(*ends) + beyond) / side)
        return cls(lines, partition, *by_cell(low, high, partition.counts))

    def within(self, field: PlanField) -> LitLines:
        """The parts of the lines that are in the window of a field, counted from its origin."""
        k, lines = self.partition.number(field), self.lines
        some = self.order[self.start[k] : self.start[k + 1]]
        near = LitLines(lines.ends[some], lines.energy[:, some])
        return near.within(self.partition.window, self.partition.origin(field))


@dataclass(frozen=True, slots=True, eq=False)
class MeasureJob:
    """A field to be measured. lines: near it.  core: its pixels that count.  own: (M,) samples that do.

    shown: those of the core whose dose is kept; None: none is.
    exposures: relative doses at which edges are wanted.  searched: spots whose edges are, the first ones.
    areas: whether areas and dose are, too; then the second spot is the one out of focus, 1 is among the
    exposures, and errors at all of them are wanted as a spread, for each point at relative dose 1 in focus.
    """

    view: FieldView
    lines: LitLines
    spots: tuple[Spot, ...]
    core: tuple[slice, slice]
    shown: tuple[slice, slice] | None
    own: Bools
    exposures: tuple[float, ...]
    searched: int
    areas: bool


@dataclass(frozen=True, slots=True, eq=False)
class FieldMeasure:
    """epe, missing: (K, D, m) of K spots and D exposures, at its own samples; with areas (1, 1, m).

    spread: of all K and D.
    counted: (m,) each, in focus at relative dose 1, with corners that are rounded off (`edges`).
    dose: (rows, columns) of what is shown of its core, f32, in focus.
    areas: None, as these three, if they were not wanted.
    """

    epe: Floats
    missing: Bools
    spread: ErrorSpread | None = None
    counted: tuple[Floats, Bools] | None = None
    dose: Floats | None = None
    areas: CuredAreas | None = None


def measure_field(job: MeasureJob) -> FieldMeasure:
    """The doses of a field, and what they print."""
    scene, doses, xy = job.view.scene, [], job.lines.xy
    for k, (spot, given) in enumerate(zip(job.spots, job.view.given, strict=True)):
        if not len(job.lines.ends):
            doses.append(job.view.read(given))
            continue
        path = xy, job.lines.along(k)
        rest = job.view.read(given - job.view.light(*path, spot))
        doses.append(given_model(scene.grid, spot).line_dose(*path) + rest)
    searched = doses[: job.searched] if job.own.any() else []
    found = [errors_at(dose, scene, job.exposures) for dose in searched]
    epe, missing = (np.array([one[k][:, job.own] for one in found]) for k in (0, 1))
    if not job.areas:
        return FieldMeasure(epe, missing)
    if not found:
        none = job.searched, len(job.exposures), 0
        epe, missing = np.zeros(none), np.zeros(none, dtype=bool)
    spread, one = ErrorSpread.of(epe, missing, scene.fwhm), job.exposures.index(1.0)
    epe, missing = (part[:1, one : one + 1] for part in (epe, missing))
    shown = np.zeros((0, 0), np.float32) if job.shown is None else doses[0][job.shown].astype(np.float32)
    areas = CuredAreas.of(doses[0], doses[1], scene, job.core)
    return FieldMeasure(epe, missing, spread, _counted(job, found, doses[0]), shown, areas)


def _counted(job: MeasureJob, found: Sequence[tuple[Floats, Bools]], dose: Floats) -> tuple[Floats, Bools]:
    """As in `FieldMeasure`. found: by `errors_at` for each spot.  dose: (rows, columns) mJ/mm², in focus."""
    if not found:
        return np.zeros(0), np.zeros(0, dtype=bool)
    samples, one = job.view.scene.samples, job.exposures.index(1.0)
    epe, missing = (part[one] for part in found[0])
    edges = Edges(samples.xy, samples.normal, epe, missing, samples.corner)
    counted = rounded_off(edges, dose, job.view.scene)
    return counted.epe[job.own], counted.missing[job.own]


@dataclass(frozen=True, slots=True, eq=False)
class FieldsMeasured:
    """The exposure of paths by K spots, measured by fields. epe (mm, f32), missing: (K, D, M) at D exposures.

    With areas these are those in focus at relative dose 1, (1, 1, M); of all there is the spread.
    counted: (M,) each, spread and areas: as in `FieldMeasure`.
    dose: (rows, columns) mJ/mm² of the first spot, f32, on `grid`, which has every `_every`-th pixel of the
    scene's; (0, 0) if it was not to be kept.
    """

    epe: Floats
    missing: Bools
    spread: ErrorSpread | None
    counted: tuple[Floats, Bools]
    grid: Grid
    dose: Floats
    areas: CuredAreas | None
    exposures: tuple[float, ...]

    @classmethod
    def of(
        cls,
        paths: Sequence[Toolpath],
        scene: Scene,
        spots: Sequence[Spot],
        exposures: Sequence[float] = (1.0,),
        *,
        searched: int | None = None,
        areas: bool = True,
        kept: bool = True,
    ) -> FieldsMeasured:
        """spots: the first in focus, the second out of it.  searched, areas: as in `MeasureJob`; None: all.

        kept: whether the dose is.
        """
        partition, lines = partition_of(scene), LitLines.of(paths, spots)
        path = lines.xy
        given = [
            given_model(partition.given_grid, spot).dose_by_rows(path, lines.along(k))
            for k, spot in enumerate(spots)
        ]
        samples, near_lines = PlacesByField.of(partition, scene.samples.xy), LinesByField.of(lines, partition)
        every = _every(scene)
        fields = [
            (number, field)
            for number, field in enumerate(partition)
            # Of a very large grid what is empty is left at 0.
            if every == 1 or partition.draws(field, scene) or len(near_lines.within(field).ends)
        ]

        def job(number: int, field: PlanField) -> MeasureJob:
            view = partition.view(field, scene, given, samples)
            zero, inside = partition.origin(field), near_lines.within(field)
            own = samples.owner[samples.near(field)] == number
            at, core = partition.core(field)
            rows, columns = (
                slice(b.start + -a.start % every, b.stop, every) for a, b in zip(at, core, strict=True)
            )
            seen = tuple(spot.seen_from(zero) for spot in spots)
            return MeasureJob(
                view, inside, seen, core, (rows, columns) if kept else None, own, tuple(exposures), of, areas
            )

        of = len(spots) if searched is None else searched
        shape = *((1, 1) if areas else (of, len(exposures))), len(scene.samples.xy)
        epe, missing = np.empty(shape, np.float32), np.empty(shape, dtype=bool)
        grid = scene.grid.part(slice(None, None, every), slice(None, None, every))
        dose = np.zeros(grid.shape if areas and kept else (0, 0), np.float32)
        counted = np.zeros(shape[2], np.float32), np.zeros(shape[2], dtype=bool)
        parts, spread = [], None
        jobs = (job(number, field) for number, field in fields)
        answers = worked_on(measure_field, jobs, len(fields))
        for (_, field), found in zip(fields, answers, strict=True):
            mine = samples.own(field)
            if len(mine):
                epe[..., mine], missing[..., mine] = found.epe, found.missing
            if found.spread is not None:
                spread = found.spread if spread is None else spread + found.spread
            if found.areas is None or found.counted is None:
                continue
            parts.append(found.areas)
            if len(mine):
                counted[0][mine], counted[1][mine] = found.counted
            if kept:
                inside, _ = partition.core(field)
                rows, columns = (slice(-(-one.start // every), -(-one.stop // every)) for one in inside)
                dose[rows, columns] = found.dose
        areas_of_all = CuredAreas.added(parts) if parts else None
        known = (1.0,) if areas else tuple(exposures)
        return cls(epe, missing, spread, counted, grid, dose, areas_of_all, known)

    def printed(self, scene: Scene, motion: MotionFigures) -> Measurement:
        """The print in focus at relative dose 1. motion: of the program that exposed it."""
        assert self.areas is not None, "areas were not asked for"
        samples, one = scene.samples, self.exposures.index(1.0)
        edges, counted = (
            Edges(samples.xy, samples.normal, epe.astype(np.float64), missing, samples.corner)
            for epe, missing in ((self.epe[0, one], self.missing[0, one]), self.counted)
        )
        figures = print_figures(self.areas, edges, hairs_right(counted, scene), scene)
        return Measurement(figures, motion, self.grid, self.dose, edges)


def _every(scene: Scene) -> int:
    """Pixels of a scene of which the dose of one is kept, along each axis: 1 but of a very large grid.

    At `COARSEST` pixels per FWHM a dose is still known between them.
    """
    if math.prod(scene.grid.shape) <= PIXELS_MAX:
        return 1
    return max(1, int(scene.fwhm / scene.grid.pitch / COARSEST + 1e-6))
