"""Compensation of the machine: split → refine the executed dose → motor steps → energies → program → levels.

What the optimiser's path loses in execution is deterministic: braking, segments, steps, levels. So the model
executes it, the executed dose is optimised as the commanded one was, with the pieces' distortion held
(`shape`), and it is executed again. Vertices then go to the nearest motor steps, as the controller would put
them, and the energies are optimised once more with all vertices held. At last `levels` chooses the powers,
and `places` and `levels` in turn the steps and the powers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.spatial import cKDTree

import gcode
from laserpath.base.arrays import Bools, Floats, return_freed, runs
from laserpath.base.plan_steps import PlanPart
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.powers import energies, exposing, within_power
from laserpath.machine.program import MachineProgram, early, joined, prepared, with_energies
from laserpath.measure import edge_errors, rounded_off
from laserpath.physics.dose import DoseModel, usual_model
from laserpath.planning.compensation.levels import best_levels
from laserpath.planning.compensation.places import best_places, restored
from laserpath.planning.compensation.shape import ExecutedShape
from laserpath.planning.dots import dots_of, drawn_out, filled, is_short, run_out, shortest_stroke
from laserpath.planning.optimise.fields import PathProblem, cut_at_borders, optimised
from laserpath.planning.optimise.loop import (
    Progress,
    Schedule,
    bounds_of,
    share_of,
    tell,
)
from laserpath.planning.optimise.loss import PathTerm, terms_of_path, unit_of
from laserpath.planning.optimise.objective import EdgeTerm, Objective
from laserpath.planning.smooth import fed
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Machine, Process, Spot, Toolpath

Listener = Callable[[Progress], None]

_ROUNDS = (0.35, 0.3), (0.35,)
"""Shares of the iterations for each round with moving and with fixed vertices; each begins with an
execution."""

_SHAPED_ROUNDS = (0.25, 0.2, 0.2, 0.15), (0.2,)
"""Those behind an input shaper, where the motion changes more with the vertices: rounds are shorter, and only
one of the `_PARTS` of their way is gone, if that is better as executed."""

_PARTS = (1.0, 0.5, 0.25)
"""Parts of a round's way that are tried: more of them follow the motion more closely, and take longer."""

_LOST_DOT_FWHM = 0.5
"""Extent of a stroke up to which it is slowed down if it is lost: a longer one is no dot."""

_BRIGHTEST = 1.015
"""Largest dose, relative to the resin's, of a round that is taken though a brighter one has more edges."""

_BRIGHTER = 1.01
"""Largest dose, relative to the old one, of a round that is taken though both are too bright: a larger one
trades bright spots for edges."""

_ROUNDED = 1 - 1e-6
"""Share of the shortest move from which a move of whole steps counts as so long."""

_HARMLESS = 1.01
"""Mean edge error of a program that is not dark within strokes, relative to one that is, up to which that
does no harm: a larger one leaves fewer dark moves. The levels, chosen after that, make up for it."""

_LEVELLINGS = 3
"""Most choices of the powers in turn on Marlin: more leave fewer bright spots, and take longer."""

_RESTORINGS = 4
"""Most times that what is around worse places is put back after a round of steps and powers, each time wider:
with fewer the round is in vain for more designs, and each takes an execution."""

_NEARLY_TRUE = 0.007
"""Mean edge error, FWHM, up to which the powers are chosen after the places only: before them, too, they take
a sixteenth of a large plan's time. With 0.01 the edges of ten squares of tracks, at 0.0074, are a quarter
worse; with 0.006 those of a board, at 0.0064, would be 3 % better."""

_FEW_BRIGHT = 1e-4
"""Pixels too bright to be shipped ÷ points of the outline up to which the powers wait for the motor steps, as
for a nearly true print. A large design has one by chance; of a small one the edges are then a tenth worse."""

_SLOWER = (0.95, 0.9, 0.8)
"""Shares of their speed that are tried for lost dots: smaller ones bring fainter dots back, but wide."""

ROUNDS = {"draft": 1, "standard": 1, "fine": 3}
"""Most rounds of motor steps and powers by quality: a second one gains 1 % for a tenth of a plan's time."""


@dataclass(frozen=True, slots=True)
class Learned:
    """path: has the energies to be exposed, and vertices on motor steps if the controller rounds them.

    loss: (iterations,) history, of the executed dose.  stopped: by the user.
    """

    path: EnergyPath
    loss: Floats
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class LearnedProgram:
    """program: to write.  stopped: by the user, before all rounds were done."""

    program: MachineProgram
    stopped: bool = False


def refined(
    path: Toolpath,
    task: Task,
    objective: Objective,
    time_weight: float,
    iterations: int,
    progress: Listener | None = None,
) -> Learned:
    """The path, split and optimised for its executed dose. objective: the loss of that dose.

    time_weight: of the write time.  iterations: in all.
    """
    process, scene, spot = task.process, objective.scene, task.scene.spot
    bounds, losses = bounds_of(task), list[Floats]()
    problem = PathProblem(
        scene, objective, process, bounds, task.settings.field_fwhm, blur=task.settings.blur
    )
    best, stopped = cut_at_borders(_split(path, task), problem.partition), False
    first = _feasible(best, task)
    shaped = convert.controller(task.machine).impulses is not None
    moving, standing = _iterations_of(_SHAPED_ROUNDS if shaped else _ROUNDS, iterations)
    for still, counts in ((task.follows, moving), (True, standing)):
        if still:
            # As the controller would round it; and moving vertices may have crowded the link.
            best = _filled(_feasible(best, task), task) if losses else first
        for count in counts:
            if stopped or not count:
                continue
            own = () if still else terms_of_path(best, task, time_weight)
            shape = ExecutedShape.of(exposing(best, task.machine, spot), process, moving=not still)
            contrast = (objective.contrast,) * 2
            schedule = Schedule(count, contrast=contrast, finish=1.0, stage=PlanPart.EXECUTE, still=still)
            listen = share_of(progress, sum(map(len, losses)), iterations)
            done = optimised(best, replace(problem, own=own, shape=shape), schedule, listen)
            losses.append(done.loss)
            way = _parts_of_way(best, done.path) if shaped and not still else [done.path]
            best, stopped = _least(way, objective, task, own), done.stopped
    if not losses:
        return Learned(first, np.zeros(0))
    return Learned(_least([best, first], objective, task), np.concatenate(losses), stopped)


def _iterations_of(rounds: tuple[tuple[float, ...], ...], iterations: int) -> list[list[int]]:
    """The iterations of each round, which are all together. rounds: their shares."""
    ends = np.cumsum([share for shares in rounds for share in shares])
    each = np.diff(np.rint(iterations * ends), prepend=0.0).astype(int)
    return [part.tolist() for part in np.split(each, np.cumsum([len(shares) for shares in rounds])[:-1])]


def _least(
    paths: list[EnergyPath], objective: Objective, task: Task, own: tuple[PathTerm, ...] = ()
) -> EnergyPath:
    """The path with the least loss of its executed dose and of the path itself, in the whole design."""
    if len(paths) == 1:
        return paths[0]
    model = usual_model(objective.scene.grid, objective.scene.spot)

    def loss(path: EnergyPath) -> float:
        terms = sum(term(path.xy, path.energy)[0] for term in own)
        return float(objective.at_factors(_executed_dose(path, model, task), np.ones(1))[0]) + terms

    return min(paths, key=loss)


def _parts_of_way(old: EnergyPath, new: EnergyPath) -> list[EnergyPath]:
    """Paths on the way from one to another, places in proportion and energies in ratio: `_PARTS`."""
    return [
        replace(
            new,
            xy=old.xy + part * (new.xy - old.xy),
            energy=old.energy ** (1 - part) * new.energy**part,
        )
        for part in _PARTS
    ]


def _split(path: Toolpath, task: Task) -> EnergyPath:
    """The path with its moves split where the head speeds up or brakes; no dot is too short to shine."""
    process, machine, spot = task.process, task.machine, task.scene.spot
    drawn = exposing(drawn_out(energies(path, spot), process), machine, spot)
    return energies(run_out(prepared(drawn, process), task), spot)


def _feasible(path: EnergyPath, task: Task) -> EnergyPath:
    """The path as the controller would round it, of moves that it takes, within the link's rate."""
    spot, machine = task.scene.spot, task.machine
    drawn = _taken(drawn_out(path, task.process), task.process)
    return _at_peak(fed(on_steps(drawn, machine, spot), spot, machine), task.process)


def _taken(path: EnergyPath, process: Process) -> EnergyPath:
    """The path with strokes drawn again of which the controller would leave a move out, and its light."""
    shortest = convert.controller(process.machine).shortest_move
    extent = np.abs(np.diff(path.xy, axis=0)).max(axis=1)
    if not (path.on & (extent < _ROUNDED * shortest)).any():
        return path
    drawn = joined(exposing(path, process.machine, process.spot), process)
    return energies(convert.from_moves(drawn, process.machine), process.spot)


def _at_peak(path: EnergyPath, process: Process) -> EnergyPath:
    """The path with the peak speed of each lit move as its speed, where the power's ramps depend on that."""
    machine, spot = process.machine, process.spot
    if not convert.controller(machine).ramp_levels:
        return path
    moves = convert.to_moves(exposing(path, machine, spot), machine)
    peak = gcode.motion.at_peak(moves, convert.controller(machine))
    return replace(path, speed=np.where(path.on, peak.speed, path.speed))


def _filled(path: EnergyPath, task: Task) -> EnergyPath:
    """The path with dots where strokes that were drawn again leave the inside uncured, as executed."""
    if task.follows or not convert.controller(task.machine).shortest_move:
        return path
    scene = task.overview
    dose = _executed_dose(path, usual_model(scene.grid, scene.spot), task)
    return _at_peak(filled(path, dose, scene, task.process), task.process)


def _executed_dose(path: EnergyPath, model: DoseModel, task: Task) -> Floats:
    """(rows, columns) mJ/mm² of a path as executed."""
    shape = ExecutedShape.of(exposing(path, task.machine, model.spot), task.process)
    return model.line_dose(*shape(path.xy, path.energy))


def learned(
    refined: Learned,
    task: Task,
    objective: Objective,
    time_weight: float,
    progress: Listener | None = None,
) -> LearnedProgram:
    """The program of a refined path, with the powers and the motor steps that place its edges best.

    objective: the loss of its executed dose.  time_weight: of the write time.
    After a stop by the user the powers are chosen once, and the steps stay. So they do on a machine with a
    lag, whose commands come early, between the moves.
    """
    machine, process = task.machine, task.process
    if any(machine.backlash):
        done = learned(refined, task.punctual, objective, time_weight, progress)
        return replace(done, program=_with_slack(done, task))
    # Moves too short for Marlin are not joined: its model adds them to their neighbours, as it does.
    path = exposing(refined.path, machine, process.spot)
    program, known = _delivering(
        convert.to_moves(path, machine, task.settings.passes, process.resin.order), task
    )
    if convert.strokes_move(machine, task.scene.fwhm):
        return LearnedProgram(program, refined.stopped)
    stopped, printed = tell(progress, PlanPart.LEVELS) or refined.stopped, None
    if stopped or task.follows or convert.controller(machine).impulses is not None:
        done = LearnedProgram(_levelled(program, task), stopped)
    else:
        printed = known or _Print.of(program, task)
        waits = printed.error <= _NEARLY_TRUE and len(printed.bright) <= _FEW_BRIGHT * len(printed.missing)
        if not waits:
            program = _levelled(program, task)
            printed = _Print.of(program, task)
        done, printed = _placed(program, printed, task, (objective, time_weight), progress)
        if waits and done.program is program:  # stopped, or no place was better
            done, printed = replace(done, program=_levelled(program, task)), None
    return replace(done, program=_without_lost_dots(done.program, printed, task))


def _delivering(moves: gcode.Moves, task: Task) -> tuple[MachineProgram, _Print | None]:
    """The program whose moves deliver their energies as executed, and its print if it had to be looked at.

    A move within a stroke that needs less than half of the smallest level is dark, or has that level: as
    prints better, but where GRBL takes its pin off the timer in the dark, and may flash in the light after
    it, it is lit unless that does harm.
    """
    broken, unbroken = (with_energies(moves, task.process, unbroken=always) for always in (False, True))
    dark = MachineProgram.of_moves(early(broken, task.process), task.process)
    if np.array_equal(broken.power, unbroken.power):
        return dark, None
    lit = MachineProgram.of_moves(early(unbroken, task.process), task.process)
    if np.array_equal(lit.path.power, dark.path.power):
        return dark, None
    before, after = (_Print.of(one, task) for one in (dark, lit))
    if len(worse := after.worse_than(before, task)):
        lit = restored(lit, dark, worse)
        after = _Print.of(lit, task)
    most = _HARMLESS if convert.controller(task.machine).unplugs_pin else 1.0
    harmless = after.error <= most * before.error and after.shows_as_much_as(before, task)
    return (lit, after) if harmless else (dark, before)


def _with_slack(done: LearnedProgram, task: Task) -> MachineProgram:
    """The program of a machine without slack, for one with it; jumps stop the head, so levels are new."""
    (part,) = done.program.parts
    program = MachineProgram.of_moves(
        early(convert.to_moves(part.path, task.machine), task.process), task.process
    )
    return program if done.stopped else best_levels(program, task)


def converted(
    refined: Learned,
    before: LearnedProgram,
    task: Task,
    loss_of: Callable[[Scene], Objective],
    progress: Listener | None = None,
) -> LearnedProgram:
    """The program of a refined path, corrected by what its executed timeline converts.

    before: what was learned by the dose.  loss_of: the loss of a scene.
    """
    from laserpath.planning.compensation import conversion  # Taichi's kernels, which others need not wait for

    if before.stopped:
        return before
    path, feasible = refined.path, partial(_feasible, task=task)
    return LearnedProgram(*conversion.converted(path, before.program, task, loss_of, feasible, progress))


def _levelled(program: MachineProgram, task: Task) -> MachineProgram:
    """The program with the powers that place its edges best.

    Marlin cuts the powers of a ramp to whole levels, so that another power gives another ramp than foreseen:
    there the powers are chosen again while a spot is too bright.
    """
    program = best_levels(program, task)
    for _ in range(_LEVELLINGS - 1 if convert.controller(task.machine).ramp_levels else 0):
        if _is_bearable(_dose_of(program, task).max() / task.scene.critical_dose, task):
            break
        program = best_levels(program, task)
    return program


def _dose_of(program: MachineProgram, task: Task) -> Floats:
    """(rows, columns) mJ/mm² of a program as executed, on the grid that shows all of the design."""
    return task.overview_model.dose(program.executed)


def _is_bearable(brightest: float, task: Task) -> bool:
    """Whether a largest dose, in critical doses, is not too bright to be shipped."""
    return bool(brightest <= _BRIGHTEST * task.scene.resin.over_dose)


def _without_lost_dots(program: MachineProgram, printed: _Print | None, task: Task) -> MachineProgram:
    """The program with lost dots slower, and so brighter, if fewer edges are missing then.

    printed: by it, if that is known.

    Nothing is left of a dot below the critical dose, which is far worse than its edge error tells; and where
    the power is a few levels, the next one is too bright.
    """
    (part,) = program.parts
    if printed is None and dots_of(part.path, _LOST_DOT_FWHM * task.scene.fwhm):
        printed = _Print.of(program, task)
    if printed is None or not printed.lost:
        return program
    best, fewest = program, printed.gone
    for share in _SLOWER:
        speed = part.path.speed.copy()
        for first, last in printed.lost:
            speed[first:last] *= share
        other = MachineProgram.of_moves(
            convert.to_moves(replace(part.path, speed=speed), task.machine), task.process
        )
        if (gone := _Print.of(other, task).gone) < fewest:
            best, fewest = other, gone
    return best


def _lost_dots(path: Toolpath, dose: Floats, missing: Bools, task: Task) -> list[tuple[int, int]]:
    """First move and end of each dot of a path whose middle stays below the critical dose, or which has no
    edge at some of the outline's points around it.

    dose: (rows, columns) mJ/mm², as executed.  missing: (M,) edges along the normals.
    """
    scene = task.overview
    dots = dots_of(path, _LOST_DOT_FWHM * scene.fwhm)
    if not dots:
        return []
    middle = np.array([path.xy[first : last + 1].mean(axis=0) for first, last in dots])
    column, row = np.rint(scene.grid.to_pixels(middle)).astype(np.int64).T
    dark = dose[row, column] < scene.critical_dose
    edgeless = scene.samples.xy[missing]
    if len(edgeless):
        dark |= cKDTree(edgeless).query(middle)[0] <= _LOST_DOT_FWHM * scene.fwhm
    return [dot for dot, is_dark in zip(dots, dark, strict=True) if is_dark]


def _placed(
    program: MachineProgram,
    printed: _Print,
    task: Task,
    loss: tuple[Objective, float],
    progress: Listener | None,
) -> tuple[LearnedProgram, _Print]:
    """The best program of all rounds of steps and powers, or of those before a stop by the user; its print.

    printed: by the program.  loss: of its dose, and the weight of its write time.
    """
    moved = best = program
    objective, time_weight = loss
    per_second = time_weight / objective.edge_weight
    rounds = ROUNDS[task.settings.quality]
    for k in range(rounds):
        if tell(progress, PlanPart.PLACE, k, rounds):
            return LearnedProgram(best, stopped=True), printed
        moved = _levelled(best_places(moved, task, objective.edge_weight, time_weight), task)
        now = _Print.of(moved, task)
        for wider in range(1, _RESTORINGS + 1):
            if now.shows_as_much_as(printed, task):
                break
            # One place that is worse does not undo what all others have gained.
            back = restored(moved, best, now.worse_than(printed, task), wider)
            if back is moved:  # it has other moves, which cannot be put back
                break
            moved, now = back, _Print.of(back, task)
        if now.error + per_second * now.time < printed.error + per_second * printed.time and (
            now.shows_as_much_as(printed, task)
        ):
            best, printed = moved, now
    return LearnedProgram(best, stopped=tell(progress, PlanPart.PLACE, rounds, rounds)), printed


@dataclass(frozen=True, slots=True, eq=False)
class _Print:
    """What a program's executed dose prints. error: mean edge error, FWHM.  missing: (M,) whether an edge is,
    other than at rounded corners.

    brightest: its largest dose ÷ critical.  bright: (K, 2) mm, places that are too bright to be shipped.
    time: write time in units of the term of the write time.  lost: dots, as of `_lost_dots`.
    """

    error: float
    missing: Bools
    brightest: float
    bright: Floats
    time: float
    lost: list[tuple[int, int]]

    @classmethod
    def of(cls, program: MachineProgram, task: Task) -> _Print:
        return_freed()
        bare = program.bare
        path, seconds = bare.executed, bare.run.write_time
        del bare  # what they are computed from takes more memory than the dose
        scene, dose = task.overview, task.overview_model.dose(path)
        edges = edge_errors(dose, scene)
        missing = rounded_off(edges, dose, scene).missing
        lost = _lost_dots(program.path, dose, edges.missing, task)
        dose /= dose.dtype.type(scene.critical_dose)
        rows, columns = np.nonzero(dose > _BRIGHTEST * task.scene.resin.over_dose)
        return cls(
            error=EdgeTerm(scene)(dose),
            missing=missing,
            brightest=float(dose.max()),
            bright=scene.grid.of_pixels(np.column_stack([columns, rows])),
            time=seconds / unit_of(task.design, task.machine),
            lost=lost,
        )

    @property
    def gone(self) -> int:
        """Number of edges that are missing."""
        return int(np.count_nonzero(self.missing))

    def shows_as_much_as(self, old: _Print, task: Task) -> bool:
        """Whether no more edges are missing, or only because the old print was too bright to be shipped.

        And it is not too bright itself, or hardly brighter than the old one.
        """
        fit, old_fit = (_is_bearable(one.brightest, task) for one in (self, old))
        if fit != old_fit:
            return fit
        return self.gone <= old.gone and (fit or self.brightest <= _BRIGHTER * old.brightest)

    def worse_than(self, old: _Print, task: Task) -> Floats:
        """(K, 2) mm, places whose edges are missing, but were not, and those that are too bright."""
        return np.vstack([task.overview.samples.xy[self.missing & ~old.missing], self.bright])


def on_steps(path: EnergyPath, machine: Machine, spot: Spot) -> EnergyPath:
    """The path with its vertices on the nearest motor steps, with the energy of each move.

    Klipper rounds the motion, not the vertices, and LinuxCNC's steps are far below the spot. A stroke that is
    then too short for a dot, or below one step, becomes a line of as many steps, so that a dot is not lost.
    Where full power is too little for the energy, the move is slower.
    """
    per_mm = convert.vertex_steps(machine)
    if per_mm is None or not path.on.any():
        return path
    steps, deposited = np.asarray(per_mm), path.energy * path.length
    least, fewest = shortest_stroke(machine, spot), convert.controller(machine).shortest_steps
    at: Floats = np.rint(path.xy * steps)
    for first, last in runs(path.on):
        stroke = at[first : last + 1]
        short = is_short(stroke / steps, least) or np.ptp(stroke, axis=0).max() < fewest
        if short or (stroke == stroke[0]).all():
            start, end = path.xy[first] * steps, path.xy[last] * steps
            at[first:last], at[last] = _line_of_steps(start, end, least * steps)
            deposited[last - 1] = deposited[first:last].sum()
    length = np.hypot(*np.diff(at / steps, axis=0).T)
    kept = np.append(True, length > 0)
    moves = kept[1:]
    rounded = EnergyPath((at / steps)[kept], deposited[moves] / length[moves], path.speed[moves])
    return within_power(rounded, machine, spot)


def _line_of_steps(start: Floats, end: Floats, least: Floats) -> tuple[Floats, Floats]:
    """Both ends (2,), in whole steps, of the line along an axis through the middle of another, in steps.

    least: (2,) steps, its length along each axis; at least one step.
    """
    way, middle = end - start, (start + end) / 2
    along = np.arange(2) == np.argmax(np.abs(way))
    count = np.maximum(np.ceil(np.round(least, 6)), 1) * along
    low = np.where(along, np.floor(middle - (count - 1) / 2), np.rint(middle))
    return (low, low + count) if way[along][0] >= 0 else (low + count, low)
