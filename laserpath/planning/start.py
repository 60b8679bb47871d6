"""Choice of the starting curve: each candidate is optimised briefly, and each region takes its best one.

A drawing of lines about as wide as the spot has fitted strokes as a further candidate, for the whole design:
they have energies of their own, which other curves beside them would not know.

A region is a connected part of the design on a coarse grid, with the pixels that are nearer to it than to any
other. Its score is the loss of these pixels, as the controller executes the path, plus the weighted time of
its strokes, travels to them included. Regions hardly expose each other, so that the best curve of each region
is nearly the best choice for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import shapely
from scipy import ndimage
from scipy.spatial import cKDTree

import gcode
from gcode.compiled import cached
from laserpath.base.arrays import Bools, Floats, Indices, ends_of, return_freed
from laserpath.base.compute.workers import meanwhile
from laserpath.base.errors import InputError
from laserpath.base.plan_steps import PlanPart
from laserpath.design.partition import is_alone
from laserpath.machine import convert
from laserpath.machine.powers import executable, exposing, within_power
from laserpath.machine.program import MachineProgram, early, joined, with_energies
from laserpath.physics import optics
from laserpath.physics.dose import usual_model
from laserpath.physics.resin import path_energy
from laserpath.planning.curve import (
    CURVES,
    drawn,
    fitted_curve,
    initial_curve,
    main_direction,
    one_way,
    order,
    quicker,
)
from laserpath.planning.curve.follow import lines_of, with_ends
from laserpath.planning.dots import drawn_out
from laserpath.planning.optimise.fields import PathProblem, optimised
from laserpath.planning.optimise.loop import Progress, Schedule, dose_to_size, share_of, vertex_bounds
from laserpath.planning.optimise.loss import share_of_peak, terms_of_path, unhindered, unit_of, weight_for
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.task import Task
from laserpath.types import Design, EnergyPath, Process, Settings, Target, Toolpath

_SAME = 1e-6
"""mm, distance of places that differ by rounding only."""

_COVERED = 1e-6
"""Coverage above which a pixel belongs to the design; less is rounding error."""

ITERATIONS_EACH = 10
"""Iterations of each trial: more take longer and hardly choose better. On nine designs the choice after 8, by
its score after 40, is within 1 % of the choice after 40."""

CANDIDATES = 3
"""Curves that `candidates` names."""

SETTLING = 160
"""Iterations of strokes before the stages: more place them better."""

_DEEPER, _WIDER = 1.25, 1.125
"""Inset and pitch of the candidates, relative to the given ones. Larger values give stronger lines, and so
steeper edges, but less dose between the lines. Midway between lines of an Airy spot the dose is half of that
on the lines at a pitch of 1.35 FWHM, and a third at 1.5 FWHM, which leaves no margin at an over-dose limit
of 3."""

_MOST = (2.0, 10.0)
"""Largest inset and pitch of a candidate, in FWHM: those that `Settings` allows."""


_LINE_FWHM, _LINE_LENGTH, _WIDE_SHARE = 1.5, 8.0, 0.1
"""Largest width of a drawing's lines for which strokes are tried, least mean length of a line, relative to
its width, and largest share of the area in wider parts. A larger width or share tries strokes, in vain, where
lines need several beside each other; a smaller length tries them for dots."""


_FARTHEST = 65530
"""Third parts of a pixel up to which the nearest region is known, as they fit 16 bits."""

njit = cached()


@dataclass(frozen=True, slots=True)
class Start:
    """path: the starting curve, the best so far if the user has stopped the trials.

    initial: its name, 'auto' if regions have different ones.  tried: the curve as its trials left it, which
    the optimiser continues; None: nothing was tried.
    """

    path: EnergyPath
    initial: str
    stopped: bool = False
    tried: EnergyPath | None = None


class _TrialStopped(Exception):
    """The user stopped a trial. path: its best so far."""

    def __init__(self, path: EnergyPath) -> None:
        super().__init__()
        self.path = path


def start_curve(task: Task, progress: Callable[[Progress], None] | None = None) -> Start:
    """The curve that the settings name; for 'auto', the candidate with the best score in each region."""
    design, process, settings = task.design, task.process, task.settings
    if task.follows:
        if settings.initial != "auto":
            raise InputError(
                f"--follow exposes the drawing's lines, so that --initial {settings.initial} says nothing"
            )
        path = drawn(quicker(order(lines_of(design)), process.machine), process, settings)
        return Start(with_ends(path, process), "auto")
    if settings.initial == "strokes":
        path, stopped = fitted_curve(design, process, settings, progress)
        if stopped:
            return Start(drawn_out(path, process), "strokes", stopped=True)
        return _settled(path, task, progress)
    if settings.initial != "auto":
        return Start(initial_curve(design, process, settings), settings.initial)
    tried: list[_Trial] = []
    every = candidates(task)
    regions = _Regions.of(every[0].scene.target)  # all are tried on one scene
    try:
        for k, (candidate, strokes) in enumerate(zip(every, _drawings(every), strict=True)):
            listen = share_of(progress, k * ITERATIONS_EACH, CANDIDATES * ITERATIONS_EACH)
            return_freed()  # which is much after curves of thousands of islands
            if strokes and not any(_alike(strokes, trial.strokes) for trial in tried):
                tour = order(strokes)
                trial = _Trial.of(
                    candidate, strokes, drawn(tour, process, candidate.settings), regions, listen
                )
                tried.append(trial)
                _ = [trial.score for trial in tried[:-1]]  # while a worker executes the last one
        fitted = _fitted_trial(task, progress) if is_line_drawing(design, optics.fwhm(process.spot)) else None
    except _TrialStopped as stop:
        done = min(tried, key=lambda trial: trial.score.sum(), default=None)
        return Start(drawn_out(done.path if done else stop.path, process), "auto", stopped=True)
    if not tried:
        return Start(initial_curve(design, process, replace(settings, initial="contour")), "contour")
    scores = np.array([trial.score for trial in tried])
    if fitted is not None and fitted.score.sum() < scores.min(axis=0).sum():
        listen = share_of(progress, ITERATIONS_EACH, ITERATIONS_EACH + SETTLING)
        return _settled(fitted.path, task, listen)
    best = np.argmin(scores, axis=0)
    settings = tried[int(np.bincount(best).argmax())].task.settings
    strokes, moved = list[Floats](), []
    for k in range(len(tried)):
        trial = tried.pop(0)  # of a large design each takes much memory
        strokes += trial.strokes_of(best == k)
        moved.append(trial.moved(best == k))
    del trial, every, regions
    path = drawn(quicker(order(strokes), process.machine), process, settings)
    return Start(path, "auto", tried=_as_tried(path, moved, task))


def directed(start: Start, task: Task) -> Start:
    """The start with its open lines in one direction, if the settings want that."""
    if not task.settings.one_way:
        return start
    machine, spot = task.machine, task.process.spot

    def turned(path: EnergyPath) -> EnergyPath:
        return within_power(one_way(path, machine), machine, spot)

    tried = None if start.tried is None else turned(start.tried)
    return replace(start, path=turned(start.path), tried=tried)


def _as_tried(
    path: EnergyPath, moved: Sequence[tuple[Floats, Floats, Floats, Floats]], task: Task
) -> EnergyPath:
    """The path with each vertex and energy as the trial of its stroke left them. moved: by each trial.

    The vertices are those of the trials, though strokes may be reversed and rings begun elsewhere. A stroke
    that reaches into a region where another trial was better stays there as it is drawn.
    """
    places, shifts, middles, energies = (np.concatenate(part) for part in zip(*moved, strict=True))
    if not len(middles):
        return path
    away, nearest = cKDTree(places).query(path.xy)
    xy = path.xy + np.where(away[:, None] < _SAME, shifts[nearest], 0.0)
    away, nearest = cKDTree(middles).query((path.xy[1:] + path.xy[:-1]) / 2)
    energy = np.where(away < _SAME, energies[nearest], path.energy)
    tried = EnergyPath(xy, np.where(path.on, energy, 0.0), path.speed)
    return within_power(tried, task.machine, task.process.spot)


def is_line_drawing(design: Design, fwhm: float) -> bool:
    """Whether a design is long lines, all about as wide as the spot or narrower. fwhm: of the spot, mm.

    A line of width w and length l has the area w l and an outline of 2 l.
    """
    area, outline = design.area.area, design.area.length
    width, widest = 2 * area / max(outline, 1e-300), _LINE_FWHM * fwhm
    if width > widest or outline < 2 * _LINE_LENGTH * width * len(design.area.geoms):
        return False
    wide = design.area.buffer(-widest / 2).buffer(widest / 2)
    return bool(wide.area <= _WIDE_SHARE * area)


def _fitted_trial(task: Task, progress: Callable[[Progress], None] | None) -> _Trial | None:
    """The trial of fitted strokes, scored as the other curves; None if the design needs too many."""
    settings = replace(task.settings, initial="strokes")
    try:
        path, stopped = fitted_curve(task.design, task.process, settings, progress)
    except InputError:
        return None
    if stopped:
        raise _TrialStopped(path)
    scored = _coarse(task, "auto")
    regions = _Regions.of(scored.scene.target)
    return _Trial.of(scored, [], path, regions, share_of(progress, 0, ITERATIONS_EACH + SETTLING))


def _settled(path: EnergyPath, task: Task, progress: Callable[[Progress], None] | None) -> Start:
    """Fitted strokes after `SETTLING` iterations."""
    coarse = _coarse(task, "strokes")
    try:
        path = _tried(path, coarse, min(SETTLING, coarse.settings.iterations), progress)
    except _TrialStopped as stop:
        return Start(drawn_out(stop.path, task.process), "strokes", stopped=True)
    return Start(drawn_out(path, task.process), "strokes")


def _tried(
    path: EnergyPath, task: Task, iterations: int, progress: Callable[[Progress], None] | None
) -> EnergyPath:
    """The path at its best dose after some iterations."""
    scene, process, settings = task.scene, task.process, task.settings
    objective, model = Objective.of(scene), usual_model(scene.grid, process.spot)
    start = dose_to_size(path, model, objective, process.machine)
    own = terms_of_path(start, task, weight_for(task))
    schedule = Schedule(iterations, contrast=(process.resin.contrast,) * 2, finish=0.0, stage=PlanPart.TRY)
    bounds = vertex_bounds(scene.grid, process.machine, settings.origin == "centre")
    problem = PathProblem(scene, objective, process, bounds, settings.field_fwhm, own)
    best = optimised(start, problem, schedule, progress)
    if best.stopped:
        raise _TrialStopped(best.path)
    return best.path


def candidates(task: Task) -> list[Task]:
    """The task of each candidate; all are tried on one coarse scene."""
    settings = task.settings
    along = main_direction(task.design.area)
    inset = min(_DEEPER * settings.inset_fwhm, _MOST[0])
    pitch = min(_WIDER * settings.pitch_fwhm, _MOST[1])
    settings = replace(settings, inset_fwhm=inset, pitch_fwhm=pitch)
    each = (
        replace(settings, initial="contour"),
        replace(settings, initial="centreline"),
        replace(settings, initial="outline", angle=along),
    )
    return [_coarse(replace(task, settings=candidate), candidate.initial) for candidate in each]


def _drawings(every: Sequence[Task]) -> Iterator[list[Floats]]:
    """The strokes of each candidate; those of a large design but the first are drawn by workers meanwhile."""
    first, *others = ((one.design, one.process, one.settings) for one in every)
    if is_alone(len(every[0].partition)):
        yield from map(_strokes, (first, *others))
        return
    begun = [meanwhile(_strokes_drawn_there, one) for one in others]
    yield _strokes(first)
    for one in begun:
        yield one()


def _strokes(sent: tuple[Design, Process, Settings]) -> list[Floats]:
    """The strokes of the curve that settings name."""
    design, process, settings = sent
    return CURVES[settings.initial](design, process, settings)


def _strokes_drawn_there(sent: tuple[Design, Process, Settings]) -> list[Floats]:
    """The same by a worker, which lets go of what it drew them from: 0.3 GB of a thousand islands."""
    strokes = _strokes(sent)
    return_freed(0.0)
    return strokes


def _coarse(task: Task, initial: str) -> Task:
    """The task on its coarse scene, with another starting curve."""
    return replace(task, scene=task.scene.coarse, settings=replace(task.settings, initial=initial))


def _alike(some: Sequence[Floats], others: Sequence[Floats]) -> bool:
    """Whether two candidates have the same strokes, so that one trial is enough."""
    return len(some) == len(others) and all(map(np.array_equal, some, others))


@dataclass(frozen=True, slots=True)
class _Trial:
    """A candidate after its trial. before: (N+1, 2) mm, the vertices along its strokes.  path: after it.

    region: (strokes,) index of the region that each stroke is in.  scored: what gives the score.
    regions: of the design.
    """

    before: Floats
    path: EnergyPath
    task: Task
    strokes: list[Floats]
    region: Indices
    scored: Callable[[], Floats]
    regions: _Regions

    @classmethod
    def of(
        cls,
        task: Task,
        strokes: list[Floats],
        path: EnergyPath,
        regions: _Regions,
        progress: Callable[[Progress], None] | None = None,
    ) -> _Trial:
        """Optimise one candidate, the path along its strokes, briefly, and have it executed to be scored.

        Of a large design a worker does that, while the next candidate is tried.
        """
        best = _tried(path, task, ITERATIONS_EACH, progress)
        sent = best, task.process, share_of_peak(weight_for(task))
        execute = partial(_executed, sent) if is_alone(len(task.partition)) else meanwhile(_executed, sent)
        scored = _once(partial(_score, best, execute, task, regions))
        lines = [shapely.LineString(stroke) for stroke in strokes]
        middles = shapely.get_coordinates(shapely.line_interpolate_point(lines, 0.5, normalized=True))
        return cls(path.xy, best, task, strokes, regions.at(middles), scored, regions)

    @property
    def score(self) -> Floats:
        """(regions,), lower is better."""
        return self.scored()

    def moved(self, chosen: Bools) -> tuple[Floats, Floats, Floats, Floats]:
        """Of what is drawn in the chosen regions (regions,), before the trial and by how much it has changed:

        vertices (V, 2) and their displacements (V, 2), middles of moves (M, 2), mm, and line energies (M,).
        """
        regions, before, on = self.regions, self.before, self.path.on
        lit = ends_of(on)
        middle = (before[1:] + before[:-1]) / 2
        vertices, moves = lit & chosen[regions.at(before)], on & chosen[regions.at(middle)]
        return before[vertices], (self.path.xy - before)[vertices], middle[moves], self.path.energy[moves]

    def strokes_of(self, chosen: Bools) -> list[Floats]:
        """The strokes in the chosen regions. chosen: (regions,)."""
        return [stroke for stroke, region in zip(self.strokes, self.region, strict=True) if chosen[region]]


def _executed(sent: tuple[EnergyPath, Process, float]) -> Toolpath:
    """A path as the controller executes it. sent: it, the process, and the share of short strokes' speed."""
    path, process, share = sent
    exact = executable(path, process.spot, process.machine, share)
    moves = early(with_energies(joined(exact, process), process), process)
    return MachineProgram.of(convert.from_moves(moves, process.machine), process).executed


def _once(make: Callable[[], Floats]) -> Callable[[], Floats]:
    """What make() gives; it is made when it is first asked for, and what it is made of is then let go."""
    waiting, found = [make], list[Floats]()

    def get() -> Floats:
        if waiting:
            found.append(waiting[0]())
            waiting.clear()
        return found[0]

    return get


def _score(path: EnergyPath, executed: Callable[[], Toolpath], task: Task, regions: _Regions) -> Floats:
    """(regions,) the loss as executed, and the weighted time of a path; lower is better."""
    scene, process = task.scene, task.process
    objective, model = Objective.of(scene), usual_model(scene.grid, process.spot)
    score: Floats = weight_for(task) / unit_of(task.design, task.machine) * regions.times(path, process)
    exposed = executed()
    dose = model.dose_by_rows(exposed.xy, path_energy(exposed, process.spot))
    for rows, loss in objective.by_pixel(dose):
        score += np.bincount(regions.nearest[rows].ravel(), loss.ravel(), regions.count)
    return score


def _labelled(inside: Bools) -> tuple[Indices, int]:
    """The connected regions of pixels (rows, columns), from 1, and their number."""
    touching = np.ones((3, 3))
    label: Any = np.empty(inside.shape, np.uint16)
    try:
        return label, int(ndimage.label(inside, touching, output=label))
    except RuntimeError:  # more regions than such numbers
        return ndimage.label(inside, touching)


@njit
def _label_nearest(label: Indices) -> None:
    """Give each pixel (rows, columns) without a label, 0, that of the nearest one with a label.

    By two passes of chamfers, 3 along rows and columns and 4 across (Borgefors 1986). Of two labels about as
    near, that of the one up to 12 % further away may be taken; exact distances take ten times as long.
    """
    rows, columns = label.shape
    away = np.empty((rows, columns), np.uint16)
    for i in range(rows):
        for j in range(columns):
            best, found = (0, label[i, j]) if label[i, j] else (_FARTHEST, label[i, j])
            for k, n, step in ((i, j - 1, 3), (i - 1, j - 1, 4), (i - 1, j, 3), (i - 1, j + 1, 4)):
                if k >= 0 and 0 <= n < columns and away[k, n] + step < best:
                    best, found = away[k, n] + step, label[k, n]
            away[i, j], label[i, j] = best, found
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best, found = away[i, j], label[i, j]
            for k, n, step in ((i, j + 1, 3), (i + 1, j + 1, 4), (i + 1, j, 3), (i + 1, j - 1, 4)):
                if k < rows and 0 <= n < columns and away[k, n] + step < best:
                    best, found = away[k, n] + step, label[k, n]
            away[i, j], label[i, j] = best, found


@dataclass(frozen=True, slots=True)
class _Regions:
    """nearest: (rows, columns) index of the region nearest to each pixel, or about so.  count: of regions."""

    target: Target
    nearest: Indices
    count: int

    @classmethod
    def of(cls, target: Target) -> _Regions:
        inside = target.coverage > _COVERED
        label, count = _labelled(inside)
        if count <= 1:  # 0: the design is too small to cover any pixel
            return cls(target, np.zeros(inside.shape, dtype=np.int32), 1)
        _label_nearest(label)
        np.maximum(label, 1, out=label)  # a pixel beyond `_FARTHEST` has none
        label -= 1
        return cls(target, label, count)

    def at(self, xy: Floats) -> Indices:
        """(K,) the region nearest to each point; xy: (K, 2) mm."""
        columns, rows = np.rint(self.target.grid.to_pixels(xy)).astype(np.int64).T
        regions: Indices = self.nearest[rows, columns]
        return regions

    def times(self, path: EnergyPath, process: Process) -> Floats:
        """(regions,) s, write time of each region's strokes and the travels to them, without a link limit."""
        moves = convert.to_moves(exposing(path, process.machine, process.spot), process.machine)
        duration = gcode.motion.profile(moves, unhindered(process.machine)).duration
        middle = (path.xy[1:] + path.xy[:-1]) / 2
        # A travel belongs to the exposing move after it.
        after = np.minimum.accumulate(np.where(path.on, np.arange(len(path)), len(path))[::-1])[::-1]
        owner = self.at(middle[np.minimum(after, len(path) - 1)])
        times: Floats = np.bincount(owner, duration, self.count).astype(np.float64)
        return times
