"""A plan: design → target → starting curve → optimise → learn what to command → G-code → parse → measure.

Each step is a public function of its own. What counts is the G-code as the controller executes it: it is
parsed back, executed by the controller's motion model, and exposed. If the starting curve prints better that
way than the optimised path, the starting curve is shipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import shapely

from laserpath import report
from laserpath.base.compute import workers
from laserpath.base.compute.beside import Beside
from laserpath.base.compute.workers import Aside
from laserpath.base.errors import InputError, one_line
from laserpath.base.files import write_all
from laserpath.base.plan_steps import PlanPart
from laserpath.config.project import text as project_text
from laserpath.design import as_design, tolerance_for
from laserpath.design.partition import is_alone, partition_of
from laserpath.design.target import rasterise
from laserpath.machine import convert
from laserpath.machine.attenuation import check_exposes, check_process, too_strong
from laserpath.machine.convert import slow_host
from laserpath.machine.heights import check_bed, unfollowed
from laserpath.machine.phase import phase_warnings
from laserpath.machine.placement import placed, too_fine
from laserpath.machine.powers import energies, to_levels
from laserpath.machine.program import MachineProgram
from laserpath.measure import Limit, inspect, rounded_off
from laserpath.measure.by_field import FieldsMeasured
from laserpath.measure.exposure import Exposure, by_fields, lost_in_motion, missing
from laserpath.measure.window import WIDTHS, print_and_window
from laserpath.operators.volume import cured_depth
from laserpath.physics.dose import usual_model
from laserpath.planning.costs import measures_aside
from laserpath.planning.curve.follow import too_wide
from laserpath.planning.dots import run_out
from laserpath.planning.keeping import Keeping, Solved
from laserpath.planning.optimise.fields import begin
from laserpath.planning.optimise.loop import Progress, dose_to_size, tell
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.output import Planned, files_of, header
from laserpath.planning.stages import final_loss, solve_within
from laserpath.planning.start import directed, start_curve
from laserpath.planning.task import Task
from laserpath.planning.unconstrained import EVALUATIONS, is_wanted, unconstrained_optimum
from laserpath.report import PageData, PageText, Picture
from laserpath.report.wording import number
from laserpath.types import Design, Process, Settings, Target, Toolpath
from laserpath.types.results import (
    Measurement,
    MotionFigures,
    ProcessWindow,
    Report,
    Sensitivity,
    Solution,
)

_SAME_FWHM = 5e-4
"""Difference of two mean edge errors, in FWHM, up to which neither print counts as worse, because positions
and powers are rounded. A larger one ships optimised paths that are slightly worse than their starts."""

_WRONG = 0.05
"""Overlap with the design that a start lacks, beside the plan's, for which it is not shipped though the plan
has more edges missing. A larger one ships starts that are worse as a whole; a smaller one plans without a
dot that the start prints."""

Listener = Callable[[Progress], None]
ColourListener = Callable[[int, int, Progress], None]
"""(number of the plan, from 0; how many; its progress)."""


@dataclass(frozen=True)
class Plan(Planned):
    """The result of `plan`. shipped: the program as written, read back and executed.

    settings: the given ones, with the origin and the pixels per FWHM in effect.
    notes: one sentence for each choice made for the user, such as the work zero.
    sensitivity: to the machine (`laserpath.sensitivity`), which the report then has too; None: not computed.
    """

    design: Design
    process: Process
    settings: Settings
    start: Toolpath
    solution: Solution
    shipped: MachineProgram
    report: Report
    notes: tuple[str, ...] = ()
    sensitivity: Sensitivity | None = None

    __repr__ = one_line

    def _repr_html_(self) -> str:
        """Verdict and picture, for a notebook."""
        return report.in_notebook(self.page_data, self.run)

    @property
    def within_tolerance(self) -> bool:
        """Whether 95 % of the edge, as executed, is within the given tolerance."""
        limit = self.settings.max_epe_fwhm
        return limit is None or self.report.epe_p95 <= limit

    @property
    def verdict(self) -> tuple[str, str]:
        """'good', 'fair' or 'poor', and the reason in one line; the report begins with them."""
        return report.headline_of(self.page_data)

    @property
    def project(self) -> str:
        """Text of a project file that repeats this plan."""
        return project_text(self.design, self.process, self.settings)

    def write(
        self, folder: str | Path = ".", *, frame: bool = False, project: bool = False
    ) -> tuple[Path, ...]:
        """Write NAME.gcode, NAME.toolpath.svg and NAME.report.html, all or none; return their paths.

        frame: also write NAME.frame.gcode, a faint or dark pass around the bounding box.  project: also write
        laserpath.toml.
        """
        return write_all(self.files(folder, frame=frame, project=project))

    def files(
        self, folder: str | Path = ".", *, frame: bool = False, project: bool = False
    ) -> dict[Path, str]:
        """The texts that `write` writes, by their paths."""
        return files_of(self, self.design.name, self._page, folder, frame=frame, project=project)

    def _page(self) -> str:
        """The report."""
        comments = header(self.design, self.process, self.settings, self.report.warnings)
        pictures, answers = self._in_depth()
        text = PageText(
            self.design.name, header=comments, project=self.project, sensitivity=self.sensitivity,
            pictures=pictures, answers=answers, illustrated=not self.settings.brief,
        )  # fmt: skip
        return report.render(self.page_data, text, self.run)

    def _in_depth(self) -> tuple[Sequence[Picture], Sequence[tuple[str, str]]]:
        """Pictures and answer of how deep the plan cures, if the resin's working curve is known."""
        if self.process.resin.e_c is None:
            return (), ()
        from laserpath.report import depth

        done, executed = self.page_data.done, self.report.executed
        lit = executed.by_dose or executed
        try:
            cured = cured_depth(self.shipped.executed, lit.grid, lit.dose, self.process)
        except InputError as error:  # of a spot that spreads too far: the rest of the plan stands
            return (), ((f"How deep it {done}s", f"That cannot be computed: {error}."),)
        shown = () if self.settings.brief else depth.pictures(cured, done)
        return shown, (depth.said(cured, done),)

    @cached_property
    def target(self) -> Target:
        """The design on the grid of the measurements."""
        return rasterise(self.design, self.report.executed.grid)

    @cached_property
    def page_data(self) -> PageData:
        """What the report is made from."""
        return PageData.of(
            self.report, self.design, self.toolpath, self.process, self.settings, self.solution.loss
        )


def plan(
    design: str | Path | Design | shapely.Polygon | shapely.MultiPolygon,
    process: Process | None = None,
    settings: Settings | None = None,
    progress: Listener | None = None,
    *,
    keeping: Keeping | None = None,
) -> Plan:
    """Plan a design for a process; `progress` is called in each iteration.

    design: a file, a `Design`, or polygons of Shapely, which become a `Design` named 'design'; mm, y up.
    keeping: of what takes long, to go on after an interruption.
    Raises InputError for input that cannot be used. A KeyboardInterrupt while optimising stops the optimiser;
    the plan is then finished with the best path so far.
    """
    process, settings = process or Process(), settings or Settings()
    spot, machine = process.spot, process.machine
    given = as_design(design, tolerance_for(spot))
    placement = placed(given, process.resin, machine, spot, settings.origin, settings.offset)
    design = placement.design
    settings = replace(settings, origin=placement.origin)
    check_process(process, settings, design)
    check_bed(design, process)

    task = Task.affordable(design, process, settings)
    if not is_alone(len(task.partition)):
        workers.prepare(begin)
    if is_wanted(task.overview, task.settings):
        _ = task.overview.target, task.overview.sampler  # once, before two threads ask for them
    with Beside(partial(affordable_limit, task)) as limit, Aside() as aside:
        others = _OtherPrints(task, aside)
        make = partial(_solved, task, others, progress)
        solved = make() if keeping is None else keeping.solved((design, process, settings), make)
        return replace(_planned(task, solved, others, limit, progress), notes=placement.notes)


def _solved(task: Task, others: _OtherPrints, progress: Listener | None) -> Solved:
    """The optimiser's result, and the path that it started from."""
    settings, spot, machine = task.settings, task.scene.spot, task.machine
    curve = directed(start_curve(task, progress), task)
    model, objective = usual_model(task.overview.grid, spot), Objective.of(task.overview)
    start = to_levels(dose_to_size(curve.path, model, objective, machine), machine, spot)
    ship = partial(_program, task=task)
    chosen = replace(task, settings=replace(settings, initial=curve.initial))
    begun, stopped = energies(start, spot) if curve.tried is None else curve.tried, curve.stopped
    del curve  # a large design's takes memory while it is solved
    others.begin_start(start)
    solution = solve_within(begun, chosen, progress, stopped=stopped, ship=ship, aimed=others.begin_aim)
    return Solved(start, solution)


def _planned(
    task: Task,
    solved: Solved,
    others: _OtherPrints,
    limit: Beside[Limit | None],
    progress: Listener | None,
) -> Plan:
    """The plan of a task that is solved. limit: its unconstrained optimum, which is computed meanwhile."""
    design, spot, solution = task.design, task.scene.spot, solved.solution
    tell(progress, PlanPart.MEASURE)
    if not task.partition.single:
        task.overview.let_go()  # fields are measured by themselves
    ended = (f"the optimiser was {solution.result}",) if solution.stopped else ()
    warnings = (*ended, *design.warnings, *too_fine(design, spot), *too_wide(design, task.process))
    warnings = (*warnings, *unfollowed(design, task.process))
    finished = _finished(solved.start, solution, others, warnings)
    found = limit.result(lambda now: tell(progress, now.stage, now.iteration, now.of))
    return replace(finished, report=replace(finished.report, limit=found))


def _finished(start: Toolpath, solution: Solution, others: _OtherPrints, warnings: tuple[str, ...]) -> Plan:
    """The plan of the solution, or of the start if that prints better; both are executed.

    warnings: after that of a laser too strong, which may be the reason for all others.
    """
    task = others.task
    design, process, settings, scene = task.design, task.process, task.settings, task.scene
    strong = too_strong(process, settings, design)
    # Written again, even if a tolerance has measured its path: its header has the warnings, too.
    program = _program(solution, task, (*strong, *warnings))
    exposure = Exposure(program, scene, solution.toolpath)
    widths = sorted({*WIDTHS, settings.blur})
    began = time.perf_counter()
    measured = print_and_window(exposure, widths)
    others.patience = time.perf_counter() - began
    first = others.start(start, measured[0])
    if worse := worse_than_start(measured[0], first, task):
        solution, warnings = replace(solution, toolpath=start, written=None), (worse, *warnings)
        exposure = Exposure(_shipped(start, task, (*strong, *warnings)), scene, start)
        measured = print_and_window(exposure, widths)
    shipped, first = exposure.program, _lasting(first, task)
    check_exposes(shipped.executed, shipped.path, solution.toolpath, design, process, settings)
    result = _reported(exposure, measured, first, solution, others, (*strong, *warnings))
    return Plan(design, process, settings, start, solution, shipped, result)


_Sent = tuple[Toolpath, Task]
Found = TypeVar("Found")
_Begun = tuple[Toolpath, Callable[[float], Found | None]]


class _OtherPrints:
    """The prints that a report sets beside the plan's: of its start, and of the path that it aims at.

    Of a design of many fields a process aside measures each as soon as it is known. Otherwise, and if that is
    not done in time, they are measured when they are asked for.
    patience: s to wait for it, about as long as measuring takes here.
    """

    def __init__(self, task: Task, aside: Aside) -> None:
        self.task, self.patience, self._aside = task, 0.0, aside
        self._start: _Begun[tuple[FieldsMeasured, MotionFigures]] | None = None
        self._aim: _Begun[FieldsMeasured] | None = None
        if measures_aside(task):
            aside.begin(_ready, None)  # it loads what it needs while curves are drawn

    def begin_start(self, path: Toolpath) -> None:
        """Let a starting path be written, executed and measured."""
        self._start = self._begun(_shipped_and_measured, path)

    def begin_aim(self, path: Toolpath) -> None:
        """Let a path be measured as it is."""
        self._aim = self._begun(_measured, path)

    def start(self, path: Toolpath, executed: Measurement) -> Measurement:
        """The print of a start; of several fields with its dose only if that decides (`worse_than_start`).

        executed: the plan's.
        """
        task, single = self.task, self.task.partition.single
        if partition_of(task.scene).single or not _by_dose(task):
            return Exposure(_shipped(path, task), task.scene, path).printed(kept=single)
        found = self._found(self._start, path) or _shipped_and_measured((path, task), kept=single)
        fields, motion = found
        printed = fields.printed(task.scene, motion)
        if executed.figures.missing_edges <= printed.figures.missing_edges or single:
            return printed
        fields, motion = _shipped_and_measured((path, task), kept=True)
        return fields.printed(task.scene, motion)

    def aim(self, path: Toolpath, exposure: Exposure) -> Measurement:
        """The print of a path as it is, with the times and lengths of an exposure's program."""
        if found := self._found(self._aim, path):
            return found.printed(self.task.scene, exposure.program.motion)
        return exposure.of(path, kept=self.task.partition.single)

    def _begun(self, function: Callable[[_Sent], Found], path: Toolpath) -> _Begun[Found] | None:
        task = self.task
        if not measures_aside(task):
            return None
        return path, self._aside.begin(function, (path, replace(task, scene=task.scene.bare)))

    def _found(self, begun: _Begun[Found] | None, path: Toolpath) -> Found | None:
        return begun[1](self.patience) if begun is not None and begun[0] is path else None


def _ready(_: None) -> None:
    """What a process aside does first: it has loaded this module, and starts Taichi."""
    begin()


def _shipped_and_measured(sent: _Sent, *, kept: bool = False) -> tuple[FieldsMeasured, MotionFigures]:
    """The print of a path as shipped, in several fields, and the times and lengths of its program.

    kept: whether the dose is.
    """
    path, task = sent
    program = _shipped(path, task)
    parts, motion = program.executed_parts, program.motion
    del program  # which takes much memory
    return by_fields(parts, task.scene, kept=kept), motion


def _measured(sent: _Sent) -> FieldsMeasured:
    """The print of a path as it is."""
    path, task = sent
    return by_fields([path], task.scene, kept=False)


def _by_dose(task: Task) -> bool:
    """Whether a dose is aimed at: of a resin with kinetics the path is corrected to convert what is drawn."""
    return task.process.resin.kinetics is None


def _lasting(measured: Measurement, task: Task) -> Measurement:
    """A measurement as a report keeps it: of several fields without the dose, which takes much memory."""
    return measured if task.partition.single else measured.without_dose


def worse_than_start(executed: Measurement, start: Measurement, task: Task) -> str:
    """A sentence if a print has a larger mean edge error than its start's, or more edges missing; else ''.

    Both are as executed, and a corner that the spot rounds off is not missing. Some edges more are no reason
    if the start prints much more of the area wrongly, or has more faults, such as cut tracks. A larger mean
    edge error is none if the plan keeps the tolerance asked for: the user wants the fastest such plan.
    """
    figures, before = executed.figures, start.figures
    limit = task.settings.max_epe_fwhm
    kept = limit is not None and figures.epe_p95 <= limit
    nearer = kept or figures.epe_mean <= before.epe_mean + _SAME_FWHM
    gone, gone_before = figures.missing_edges, before.missing_edges
    if gone > gone_before:
        gone, gone_before = (
            int(rounded_off(one.edges, one.dose, task.scene.on(one.grid)).missing.sum())
            for one in (executed, start)
        )
    if nearer and (gone <= gone_before or before.iou < figures.iou - _WRONG):
        return ""
    # A large design has thousands of edges, of which a few that are missing tell less than what they do.
    if nearer and len(inspect(executed, task.scene).faults) < len(inspect(start, task.scene).faults):
        return ""
    micrometres = 1000 * task.scene.fwhm
    now, then = (f"{number(micrometres * one.epe_mean, 2)} µm" for one in (figures, before))
    missing = ""
    if gone or gone_before:
        missing = (
            f", and {gone} instead of {gone_before} of {figures.samples} "
            "points of the outline without a printed edge near"
        )
    return (
        "the starting curve is written as it is, because the optimised path would print worse as executed: "
        f"mean edge error {now} instead of {then}{missing}"
    )


def _program(solution: Solution, task: Task, warnings: Iterable[str] = ()) -> MachineProgram:
    """The program of a solution, with a header that records how it was made."""
    if solution.written is None:
        return _shipped(solution.toolpath, task, warnings)
    lines = header(task.design, task.process, task.settings, warnings)
    moves = convert.to_moves(solution.written, task.machine)
    return MachineProgram.of_moves(moves, task.process, lines)


def _shipped(path: Toolpath, task: Task, warnings: Iterable[str] = ()) -> MachineProgram:
    """The program that exposes a path in all passes, a dot at its end included, with the same header."""
    return MachineProgram.written(*_to_write(path, task, warnings))


def _to_write(
    path: Toolpath, task: Task, warnings: Iterable[str] = ()
) -> tuple[Toolpath, Process, int, Sequence[str]]:
    """What `MachineProgram.written` is given for a path: it, the process, the passes and the header."""
    lines = header(task.design, task.process, task.settings, warnings)
    return run_out(path, task), task.process, task.settings.passes, lines


def _reported(
    exposure: Exposure,
    measured: tuple[Measurement, ProcessWindow | None],
    start: Measurement,
    solution: Solution,
    others: _OtherPrints,
    warnings: tuple[str, ...],
) -> Report:
    """The measurements of the shipped program, which is `measured`, and of its starting curve."""
    task, shipped = others.task, exposure.program
    scene, process, (executed, window) = task.scene, task.process, measured
    commanded = _lasting(others.aim(solution.toolpath, exposure), task) if _by_dose(task) else None
    inspection = inspect(executed, scene)
    edgeless = missing(inspection.edges or executed.edges, scene.fwhm)
    lost = commanded and lost_in_motion(commanded, executed, shipped.path, task.design, process)
    return Report(
        executed=executed,
        start=start,
        commanded=commanded,
        warnings=(
            *warnings,
            *edgeless,
            *((str(lost),) if lost else ()),
            *phase_warnings(shipped.run, process),
            *slow_host(process.machine),
        ),
        window=window,
        inspection=inspection,
        unfinished=solution.unfinished,
        stopped=solution.stopped,
    )


def affordable_limit(task: Task, progress: Listener | None = None) -> Limit | None:
    """The unconstrained optimum, which estimates the best of all paths.

    None for a large design, or a brief report.
    """
    scene = task.scene
    if not is_wanted(scene, task.settings):
        return None

    def told(evaluations: int) -> None:
        tell(progress, PlanPart.LIMIT, evaluations, EVALUATIONS)

    told(0)
    return unconstrained_optimum(scene, final_loss(scene), told=told)


def listener_of(
    progress: ColourListener | None, number: int, count: int
) -> Callable[[Progress], None] | None:
    """The listener of one of `count` plans, that tells the listener of all."""
    return None if progress is None else lambda now: progress(number, count, now)
