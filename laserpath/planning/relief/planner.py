"""A relief's plan: raster → line energies → levels → G-code → parse → execute → expose → measure.

The result has the program, its dose, and the error of the dose or height; its report is the page of any
exposure, with maps of the target, the result and the error.

`solve` finds the line energies q ≥ 0 whose dose is nearest to the target: least squares, by L-BFGS-B with
bounds.

    dose:    r = D − D_target
    height:  r = h(D) − h_target,  h(D) = D_p ln(D/E_c) above E_c, D_p (D/E_c − 1) below, so that a dose too
             low to cure has a slope as well; where the target height is 0, r = max(h(D), 0)

    L = ½ mean r²,   ∂L/∂q by the adjoint of the dose (`dose.model`)

D is linear in q, so L is convex if the target is a dose. L-BFGS-B: Byrd and others, SIAM J. Sci. Comput. 16,
1190, 1995.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.base.compute.minimise import minimised
from laserpath.base.entry_points import STROKES_MAX
from laserpath.base.errors import figure, one_line
from laserpath.base.plan_steps import PlanPart
from laserpath.config import project as project_file
from laserpath.design.scene import Scene
from laserpath.machine.attenuation import LEVELS, check_exposes
from laserpath.machine.program import MachineProgram
from laserpath.physics.dose import DoseModel, accurate_model
from laserpath.planning.optimise.loop import Progress, outcome, tell
from laserpath.planning.output import Planned, header, write_files
from laserpath.planning.relief.layout import STROKES, ReliefLayout, lay_out, strength_for
from laserpath.planning.relief.target import GreyTarget
from laserpath.report import PageText, Picture, ShownProgram, render_exposure
from laserpath.report.canvas import CIVIDIS, DIVERGING, WIDTH, Axes, ColourKey, Paper, add_key, coloured
from laserpath.types import Design, Grid, Process, Relief, Settings


@dataclass(frozen=True, slots=True)
class ReliefFigures:
    """The error of the dose, or of the height, against its target.

    rmse: root mean square error over the picture.  p95: 95th percentile of the absolute error.  mean: mean
    signed error.  All three are relative to the value of black.  dose_max: mJ/mm².  write_time: s.
    """

    rmse: float
    p95: float
    mean: float
    dose_max: float
    write_time: float

    @classmethod
    def of(cls, dose: Floats, target: GreyTarget, picture: Bools, write_time: float) -> ReliefFigures:
        """The figures of a dose (rows, columns) mJ/mm². picture: (rows, columns) whether a pixel counts."""
        error = target.residual(dose)[0][picture] / target.black
        return cls(
            rmse=float(np.sqrt(np.mean(error**2))),
            p95=float(np.percentile(np.abs(error), 95)),
            mean=float(error.mean()),
            dose_max=float(dose.max()),
            write_time=write_time,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ReliefPlan(Planned):
    """The result of `plan_relief`, and the files made from it. Doses are (rows, columns) mJ/mm² on `grid`.

    design: the rectangle of the picture.  target: on `grid`.  shipped: the program, read back and executed.
    dose: as the controller executes the program.  executed: its error against the target.  commanded: the
    error of the path that was written.  loss: one value for each iteration.
    notes: a sentence for each choice made for the user.
    """

    relief: Relief
    process: Process
    settings: Settings
    grid: Grid
    target: GreyTarget
    shipped: MachineProgram
    dose: Floats
    commanded: ReliefFigures
    executed: ReliefFigures
    loss: Floats
    warnings: tuple[str, ...]
    design: Design
    notes: tuple[str, ...] = ()

    __repr__ = one_line

    @property
    def project(self) -> str:
        """Text of a project file that repeats this plan."""
        return project_file.text(self.design, self.process, self.settings)

    def write(
        self, folder: str | Path = ".", *, frame: bool = False, project: bool = False
    ) -> tuple[Path, ...]:
        """Write NAME.gcode, NAME.toolpath.svg and NAME.report.html, all or none; return their paths.

        frame: also write NAME.frame.gcode, a faint or dark pass around the picture.  project: also write
        laserpath.toml.
        """
        head = header(self.design, self.process, self.settings, self.warnings)
        made = partial(page, self, head, self.project)
        return write_files(self, self.relief.name, made, folder, frame=frame, project=project)


def in_words(result: ReliefPlan) -> str:
    """The errors as commanded and as executed, in percent of black, in one sentence."""
    what = "height" if result.relief.height is not None else "dose"
    executed, commanded = result.executed, result.commanded
    return (
        f"The {what} is off by {figure(100 * executed.rmse, 2)} % of black (root mean square), "
        f"95 % of the picture by less than {figure(100 * executed.p95, 2)} %; "
        f"as commanded by {figure(100 * commanded.rmse, 2)} % and {figure(100 * commanded.p95, 2)} %."
    )


_TITLES = ("target", "as executed", "error")


def page(result: ReliefPlan, header: Sequence[str], project: str) -> str:
    """The report as the text of one HTML file. header: of the program.  project: text of a laserpath.toml."""
    process = result.process
    scene = Scene(result.design, result.grid, process.spot, process.resin)
    exposed = ShownProgram(result.toolpath, result.run, result.grid, result.dose, process, scene)
    text = PageText(
        name=result.relief.name,
        warnings=result.warnings,
        answers=[("How near it comes to the target", in_words(result))],
        pictures=[
            Picture.from_svg(
                "Target, and as executed",
                maps(result),
                "Maps of the target, of the result as executed, and of the error.",
                unit(result),
            )
        ],
        header=header,
        project=project,
        illustrated=not result.settings.brief,
        headline=in_words(result).split(";")[0] + ".",
    )
    return render_exposure(exposed, text)


def unit(result: ReliefPlan) -> str:
    """The quantity and the unit of the maps, in one sentence."""
    if result.relief.height is not None:
        return "Height in µm, by the resin's working curve."
    return "Surface dose in mJ/cm²."


def maps(result: ReliefPlan) -> str:
    """The target, the result and the error side by side, as one SVG."""
    target, executed, error = _values(result)
    top, most = float(target.max()), float(np.percentile(np.abs(error), 99.5)) or 1.0
    wide = WIDTH / 3
    high = min(1.6 * wide, max(0.5 * wide, wide * result.grid.shape[0] / result.grid.shape[1]))
    sheet, (x0, x1, y0, y1) = Paper(WIDTH, high + 0.9), result.grid.extent
    for k, (title, values) in enumerate(zip(_TITLES, (target, executed, error), strict=True)):
        low, end, stops = (-most, most, DIVERGING) if title == "error" else (0.0, top, CIVIDIS)
        ax = Axes(sheet, _fitted((k * wide + 0.5, 0.75, wide - 0.6, high - 0.25), (x1 - x0) / (y1 - y0)),
                  (x0, x1), (y0, y1))  # fmt: skip
        ax.image(coloured((_small(values) - low) / (end - low), stops), result.grid.extent)
        ax.close("x, mm", title=title)
        add_key(sheet, ColourKey(stops, (low, end)), k * wide + 0.5, 0.22, wide - 0.6)
    return sheet.svg()


def _fitted(place: tuple[float, float, float, float], ratio: float) -> tuple[float, float, float, float]:
    """The part of a place (left, bottom, width, height) that has a ratio of width to height."""
    left, bottom, width, height = place
    wide, high = min(width, height * ratio), min(height, width / ratio)
    return left + (width - wide) / 2, bottom + (height - high) / 2, wide, high


def _values(result: ReliefPlan) -> tuple[Floats, Floats, Floats]:
    """(target, executed, error), (rows, columns) each: µm of height, or mJ/cm²."""
    target, dose = result.target, result.dose
    if target.height is None:
        return 100.0 * target.dose, 100.0 * dose, 100.0 * target.residual(dose)[0]
    depth = np.maximum(1000.0 * target.depth(dose)[0], 0)
    return 1000.0 * target.height, depth, 1000.0 * target.residual(dose)[0]


def _small(values: Floats, most: int = 500) -> Floats:
    step = max(1, max(values.shape) // most)
    return values[::step, ::step]


_DOSE_MARGIN = 1e-9

_MISSING = 0.1
"""Share of the wanted dose that strokes may leave out without a warning."""


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


_GAIN = 1e-7
"""Relative gain of the loss in one iteration below which L-BFGS-B stops: a larger value stops earlier."""

_FAINT = 1e-12
"""Smallest line energy, in units of the largest initial one: at 0 a move would have no gradient."""


@dataclass(frozen=True, slots=True, eq=False)
class ReliefSolution:
    """energy: (N,) mJ/mm.  loss: one value for each iteration.  stopped: by the user, before convergence."""

    energy: Floats
    loss: Floats
    stopped: bool


def solve(layout: ReliefLayout, progress: Callable[[int, float], None]) -> ReliefSolution:
    """The line energies of a relief's raster whose dose is nearest to the target.

    progress: called with the number and the loss of each iteration. A KeyboardInterrupt ends the search with
    the latest energies; after a fit of strokes that the user has stopped there is none.
    """
    if layout.stopped:
        return ReliefSolution(layout.start, np.zeros(0), stopped=True)
    problem = _Problem.of(layout)
    bounds = [(0.0, layout.energy_max / problem.unit)] * int(layout.lit.sum())
    options = {"maxiter": layout.settings.iterations, "ftol": _GAIN, "gtol": 0.0}
    start = layout.start[layout.lit] / problem.unit
    found = minimised(problem.loss, start, options, bounds=bounds, report=progress)
    return ReliefSolution(problem.energy(found.x), np.array(found.losses), found.stopped)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """L as a function of the energies of the M lit moves, both scaled to about 1, as L-BFGS-B expects.

    unit: mJ/mm, of the energies.  scale: root mean square of the residual without light, divided by √2.
    """

    layout: ReliefLayout
    model: DoseModel
    unit: float
    scale: float

    @classmethod
    def of(cls, layout: ReliefLayout) -> _Problem:
        dark, _ = layout.target.residual(np.zeros(layout.grid.shape))
        return cls(
            layout,
            DoseModel(layout.grid, layout.process.spot).at_once,
            unit=max(float(layout.start.max()), 1e-30),
            scale=max(float(np.sqrt(0.5 * np.mean(dark**2))), 1e-30),
        )

    def energy(self, scaled: Floats) -> Floats:
        """(N,) mJ/mm, the line energies of all moves. scaled: (M,) those of the lit moves, in `unit`."""
        energy = np.zeros(len(self.layout.lit))
        energy[self.layout.lit] = scaled * self.unit
        return energy

    def loss(self, scaled: Floats) -> tuple[float, Floats]:
        """L and its gradient (M,)."""
        xy, lit, energy = self.layout.xy, self.layout.lit, self.energy(scaled)
        error, slope = self.layout.target.residual(self.model.line_dose(xy, energy))
        error = error / self.scale
        gradient = self.model.line_gradient(
            xy, np.maximum(energy, _FAINT * self.unit * lit), error * slope / self.scale / error.size
        )
        return 0.5 * float(np.mean(error**2)), gradient.line_energy[lit] * self.unit
