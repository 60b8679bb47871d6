"""A relief's plan: raster → line energies → levels → G-code → parse → execute → expose → measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.base.choices import STROKES_MAX
from laserpath.base.errors import figure
from laserpath.base.plan_steps import PlanPart
from laserpath.config import project as project_file
from laserpath.dose import accurate_model
from laserpath.machine.attenuation import LEVELS, check_exposes
from laserpath.machine.program import MachineProgram
from laserpath.planning.headers import header
from laserpath.planning.optimise.loop import Progress, outcome, tell
from laserpath.planning.output import write_files
from laserpath.planning.relief.layout import ReliefLayout, lay_out, strength_for
from laserpath.planning.relief.page import page
from laserpath.planning.relief.result import ReliefFigures, ReliefResult
from laserpath.planning.relief.solve import ReliefSolution, solve
from laserpath.planning.relief.strokes import STROKES
from laserpath.types import Design, Grid, Process, Relief, Settings

_DOSE_MARGIN = 1e-9

_MISSING = 0.1
"""Share of the wanted dose that strokes may leave out without a warning."""


class ReliefPlan(ReliefResult):
    """The result of `plan_relief`, and the files made from it. Doses are on `grid`, mJ/mm².

    shipped: the program, read back and executed.  target: on `grid`.  dose: as the controller executes the
    program.  executed: its error against the target.  commanded: the error of the path that was written.
    notes: a sentence for each choice made for the user.
    """

    __slots__ = ()

    @property
    def project(self) -> str:
        """Text of a project file that repeats this plan."""
        return project_file.text(self.design, self.process, self.settings)

    def write(
        self, folder: str | Path = ".", *, frame: bool = False, project: bool = False
    ) -> tuple[Path, ...]:
        """Write NAME.gcode, NAME.toolpath.svg and NAME.report.html, all or none; return their paths.

        frame: also write NAME.frame.gcode, a low-power pass around the picture.  project: also write
        laserpath.toml.
        """
        head = header(self.design, self.process, self.settings, self.warnings)
        report = page(self, head, self.project)
        return write_files(self, self.relief.name, report, folder, frame=frame, project=project)


def plan_relief(
    relief: Relief,
    process: Process,
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ReliefPlan:
    """Plan a relief for a process; `progress` is called in each iteration.

    Only these settings have an effect: iterations, pixels_per_fwhm, origin, offset and passes; and strokes,
    if the initial curve is 'strokes'.
    Raises InputError for a relief that cannot be exposed.
    """
    return plan_layout(lay_out(relief, process, settings, progress), progress)


def plan_layout(layout: ReliefLayout, progress: Callable[[Progress], None] | None = None) -> ReliefPlan:
    """Plan a laid-out relief. A KeyboardInterrupt ends the optimisation with the latest powers."""
    process, settings, target, grid = layout.process, layout.settings, layout.target, layout.grid
    relief, design = layout.relief, layout.design
    solution = solve(layout, _listener(progress, settings.iterations))
    tell(progress, PlanPart.MEASURE)
    path, roomy = layout.toolpath(solution.energy)
    model = accurate_model(grid, process.spot)
    commanded = model.dose(path)
    warnings = (*_warnings(layout, solution, roomy), *_left_out(layout, commanded))
    lines = header(design, process, settings, warnings)
    shipped = MachineProgram.written(path, process, settings.passes, lines)
    check_exposes(shipped.executed, shipped.path, path, design, process, settings)
    seconds = shipped.run.write_time
    dose, picture = model.dose(shipped.executed), _picture(grid, design)
    return ReliefPlan(
        relief, process, settings, grid, target, shipped, dose,
        commanded=ReliefFigures.of(commanded, target, picture, seconds),
        executed=ReliefFigures.of(dose, target, picture, seconds),
        loss=solution.loss, warnings=warnings, design=design, notes=layout.notes,
    )  # fmt: skip


def _listener(progress: Callable[[Progress], None] | None, iterations: int) -> Callable[[int, float], None]:
    def listen(k: int, loss: float) -> None:
        if progress is not None:
            progress(Progress("powers", k, iterations, loss))

    return listen


def _picture(grid: Grid, design: Design) -> Bools:
    """(rows, columns) whether a pixel is in the picture; the rest of the grid is a margin."""
    x0, y0, x1, y1 = design.bounds
    x, y = grid.x(), grid.y()
    return ((x0 <= x) & (x <= x1))[None, :] & ((y0 <= y) & (y <= y1))[:, None]


def _warnings(layout: ReliefLayout, solution: ReliefSolution, roomy: bool) -> Iterator[str]:
    """The plan's warnings. roomy: whether the head has room to reach its speed beside every line."""
    if layout.stopped:
        yield "the fit of the strokes was stopped by the user, so their powers are not optimised"
    elif solution.stopped:
        yield f"the optimiser was {outcome(len(solution.loss), layout.settings.iterations, stopped=True)}"
    yield from layout.relief.warnings
    yield from _overdosed(layout.relief, layout.process)
    if not roomy:
        run = layout.ramp
        yield (
            f"the head needs {figure(run)} mm beside the picture to come up to speed, which is off the "
            f"machine; move the picture by --offset {figure(run)},0mm, or its first and last columns come "
            "out wrong"
        )
    yield from _few_levels(layout)


def _left_out(layout: ReliefLayout, dose: Floats) -> Iterator[str]:
    """A sentence if strokes leave out much of the wanted dose. dose: of the path to be written."""
    if layout.settings.initial != "strokes" or layout.stopped:
        return
    wanted, most = layout.target.dose, layout.settings.strokes or STROKES
    share = float(np.maximum(wanted - dose, 0).sum() / wanted.sum())
    if share > _MISSING:
        yield (
            f"{most} strokes leave {share:.0%} of the wanted dose out; more --strokes, up to {STROKES_MAX}, "
            "or the raster, without --initial strokes, leave out less"
        )


def _few_levels(layout: ReliefLayout) -> Iterator[str]:
    """A sentence if there are only a few of the controller's power levels up to black."""
    machine = layout.process.machine
    strength = strength_for(layout.target, layout.speed, layout.process)
    if (levels := strength.levels) < LEVELS:
        yield (
            f"black is only {figure(levels, 2)} of the laser's {machine.power_levels} power levels, so "
            f"greys come in steps as executed; {strength.filter}"
        )


def _overdosed(relief: Relief, process: Process) -> Iterator[str]:
    """A sentence if the target is above the resin's largest dose."""
    resin = process.resin
    most = float(relief.dose.max()) / resin.critical_dose
    if most > resin.over_dose * (1 + _DOSE_MARGIN):
        yield (
            f"the darkest place is to get {figure(most)} critical doses, above the resin's limit of "
            f"{resin.over_dose:g} (over_dose in its profile): take less for --grey"
        )
