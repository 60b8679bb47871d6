"""The walk of a relief: raster → line energies → levels → G-code → parsed back → exposed, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gcode
from laserpath.base import files
from laserpath.base.arrays import Bools, Floats
from laserpath.config import project
from laserpath.dose import DoseModel, accurate_model
from laserpath.machine import framing
from laserpath.machine.attenuation import LEVELS, check_exposes
from laserpath.machine.program import MachineProgram
from laserpath.planning.headers import header
from laserpath.planning.optimise.loop import Progress, outcome, report_measuring
from laserpath.planning.relief.layout import Layout, lay_out, strength_for
from laserpath.planning.relief.solve import Residual, Solved, solve
from laserpath.report import toolpath_svg
from laserpath.resin import line_energy
from laserpath.types import Design, Grid, Process, Relief, Settings, Toolpath

_DOSE_MARGIN = 1e-9


@dataclass(frozen=True, slots=True)
class ReliefFigures:
    """How near the dose, or the height, comes to what is wanted.

    rmse: root of the mean square over the picture, p95: what 95 % of it keep; both relative to what black
    stands for.  mean: signed, likewise.  dose_max: mJ/mm².  write_time: s.
    """

    rmse: float
    p95: float
    mean: float
    dose_max: float
    write_time: float


@dataclass(frozen=True, slots=True, eq=False)
class ReliefPlan:
    """Everything that one walk made. Doses are on `grid`, mJ/mm².

    shipped: its program, read back and executed.  wanted: what each place of the grid shall get.
    dose: as executed by the controller.  notes: a sentence each about what was settled for the user.
    """

    relief: Relief
    process: Process
    settings: Settings
    grid: Grid
    wanted: Residual
    shipped: MachineProgram
    dose: Floats
    commanded: ReliefFigures
    executed: ReliefFigures
    loss: Floats
    warnings: tuple[str, ...]
    design: Design
    notes: tuple[str, ...] = ()

    @property
    def project(self) -> str:
        """The project file that plans the same again."""
        return project.text(self.design, self.process, self.settings)

    @property
    def program_header(self) -> tuple[str, ...]:
        """What made the program."""
        return header(self.design, self.process, self.settings, self.warnings)

    @property
    def toolpath(self) -> Toolpath:
        """The commanded toolpath, parsed back from the G-code."""
        return self.shipped.path

    @property
    def run(self) -> gcode.motion.Executed:
        """What the controller does with it."""
        return self.shipped.run

    @property
    def program(self) -> str:
        """The G-code."""
        return self.shipped.text

    def write(
        self, folder: str | Path = ".", *, frame: bool = False, save_project: bool = False
    ) -> tuple[Path, ...]:
        """Write NAME.gcode, NAME.toolpath.svg and NAME.report.html, all or none; return their paths.

        frame: NAME.frame.gcode too, a weak pass around the picture.  save_project: laserpath.toml too.
        """
        from laserpath.planning.relief.page import page

        name = self.relief.name
        texts = {
            "gcode": self.program,
            "toolpath.svg": toolpath_svg.draw(self.toolpath, self.design, self.process.machine),
            "report.html": page(self),
        }
        if frame:
            texts["frame.gcode"] = framing.frame(self.design, self.process.machine)
        places = {Path(folder) / f"{name}.{end}": text for end, text in texts.items()}
        if save_project:
            text = project.text(self.design, self.process, self.settings, folder)
            places[Path(folder) / project.NAME] = text
        return files.write_all(places)


def plan_relief(
    relief: Relief,
    process: Process,
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ReliefPlan:
    """Plan a relief. Of the settings count iterations, pixels_per_fwhm, origin, offset and passes."""
    return plan_layout(lay_out(relief, process, settings), progress)


def plan_layout(layout: Layout, progress: Callable[[Progress], None] | None = None) -> ReliefPlan:
    """Find the powers of a relief that is laid out. A KeyboardInterrupt ends that with the best so far."""
    process, settings, wanted, grid = layout.process, layout.settings, layout.wanted, layout.grid
    spot, machine, relief, design = process.spot, process.machine, layout.relief, layout.design
    highest = float(line_energy(machine.power_max, layout.speed, spot))
    found = solve(
        layout.xy, layout.lit, layout.start, highest, DoseModel(grid, spot), wanted, settings.iterations,
        _listener(progress, settings.iterations),
    )  # fmt: skip
    report_measuring(progress, found.loss)
    path, roomy = layout.toolpath(found.energy)
    warnings = (
        *_stopped(found, settings),
        *relief.warnings,
        *_too_much(relief, process),
        *_no_room(layout.ramp, roomy),
        *_too_coarse(wanted, layout.speed, process),
    )
    lines = header(design, process, settings, warnings)
    shipped = MachineProgram.written(path, process, settings.passes, lines)
    check_exposes(shipped.executed, shipped.path, path, design, process, settings)
    model, seconds = accurate_model(grid, spot), shipped.run.write_time
    dose, inside = model.dose(shipped.executed), _within(grid, design)
    return ReliefPlan(
        relief, process, settings, grid, wanted, shipped, dose,
        commanded=_figures(model.dose(shipped.path), wanted, inside, seconds),
        executed=_figures(dose, wanted, inside, seconds),
        loss=found.loss, warnings=warnings, design=design, notes=layout.notes,
    )  # fmt: skip


def _listener(progress: Callable[[Progress], None] | None, iterations: int) -> Callable[[int, float], None]:
    def listen(k: int, loss: float) -> None:
        if progress is not None:
            progress(Progress("powers", k, iterations, loss))

    return listen


def _stopped(found: Solved, settings: Settings) -> tuple[str, ...]:
    """A sentence if the user ended the search."""
    if not found.stopped:
        return ()
    return (f"the optimiser was {outcome(len(found.loss), settings.iterations, stopped=True)}",)


def _within(grid: Grid, design: Design) -> Bools:
    """(rows, columns) what of the grid is the picture; around it there is a margin."""
    x0, y0, x1, y1 = design.bounds
    x, y = grid.x(), grid.y()
    return ((x0 <= x) & (x <= x1))[None, :] & ((y0 <= y) & (y <= y1))[:, None]


def _figures(dose: Floats, wanted: Residual, inside: Bools, seconds: float) -> ReliefFigures:
    """Over the picture, relative to its black."""
    full = float((wanted.dose if wanted.height is None else wanted.height).max())
    wrong = wanted(dose)[0][inside] / full
    return ReliefFigures(
        rmse=float(np.sqrt(np.mean(wrong**2))),
        p95=float(np.percentile(np.abs(wrong), 95)),
        mean=float(wrong.mean()),
        dose_max=float(dose.max()),
        write_time=seconds,
    )


def _no_room(run: float, roomy: bool) -> tuple[str, ...]:
    """A sentence if the head cannot come up to speed beside the picture."""
    if roomy:
        return ()
    return (
        f"the head needs {run:.3g} mm beside the picture to come up to speed, which is off the machine; "
        f"move the picture by --offset {run:.3g},0mm, or its first and last columns come out wrong",
    )


def _too_coarse(wanted: Residual, speed: float, process: Process) -> tuple[str, ...]:
    """A sentence if black is only a few of the controller's power levels."""
    found = strength_for(wanted, speed, process)
    levels = found.power / process.machine.power_step
    if levels >= LEVELS:
        return ()
    return (
        f"black is only {levels:.2g} of the laser's {process.machine.power_levels} power levels, so that "
        f"greys come in steps as executed; {found.filter}",
    )


def _too_much(relief: Relief, process: Process) -> tuple[str, ...]:
    """A sentence if more is wanted than the resin should get."""
    resin = process.resin
    most = float(relief.dose.max()) / resin.critical_dose
    if most <= resin.over_dose * (1 + _DOSE_MARGIN):
        return ()
    return (
        f"the darkest place is to get {most:.3g} critical doses, above the resin's limit of "
        f"{resin.over_dose:g} (over_dose in its profile): take less for --grey",
    )
