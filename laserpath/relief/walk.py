"""The walk of a relief: raster → line energies → levels → G-code → parsed back → exposed, measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import shapely

import gcode
from laserpath import convert, files, framing, optics, project, toolpath_svg
from laserpath.arrays import Bools, Floats
from laserpath.attenuation import check_exposes, check_power
from laserpath.dose import DoseModel, accurate_model
from laserpath.measure import execute, shone
from laserpath.optimise import Progress
from laserpath.placement import placed
from laserpath.program import header, write_program
from laserpath.relief.lines import PIECE_FWHM, PITCH_FWHM, raster, resample, with_runs
from laserpath.relief.solve import Residual, solve
from laserpath.resin import line_energy, power_for
from laserpath.smooth import to_levels
from laserpath.target import grid_for
from laserpath.types import Design, Grid, Machine, Process, Relief, Settings, Toolpath

_DOSE_MARGIN = 1e-9
_LEVELS = 32
"""Power levels that black should have: half of one is then 1.6 % of it."""


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
    """Everything that one walk made. `toolpath` is the G-code parsed back; doses are on `grid`, mJ/mm².

    wanted: what each place of the grid shall get.  dose: as executed by the controller.
    """

    relief: Relief
    process: Process
    settings: Settings
    grid: Grid
    wanted: Residual
    toolpath: Toolpath
    program: str
    dose: Floats
    commanded: ReliefFigures
    executed: ReliefFigures
    loss: Floats
    warnings: tuple[str, ...]
    design: Design

    @property
    def project(self) -> str:
        """The project file that plans the same again."""
        return project.text(self.design, self.process, self.settings)

    @property
    def program_header(self) -> tuple[str, ...]:
        """What made the program."""
        return header(self.design, self.process, self.settings, self.warnings)

    @property
    def run(self) -> gcode.motion.Executed:
        """What the controller does."""
        return execute(self.toolpath, self.process)

    def write(
        self, folder: str | Path = ".", *, frame: bool = False, save_project: bool = False
    ) -> tuple[Path, ...]:
        """Write NAME.gcode, NAME.toolpath.svg and NAME.report.html, all or none; return their paths.

        frame: NAME.frame.gcode too, a weak pass around the picture.  save_project: laserpath.toml too.
        """
        from laserpath.relief.page import page

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
    settings = replace(settings or Settings(), pitch_fwhm=PITCH_FWHM)
    check_power(process, settings)
    relief, design, origin = _placed(relief, process, settings)
    settings = replace(settings, origin=origin)
    spot, machine, fwhm = process.spot, process.machine, optics.fwhm(process.spot)
    grid = grid_for(design, spot, settings.pixels_per_fwhm)
    height = None if relief.height is None else resample(relief, relief.height, grid)
    wanted = Residual(resample(relief, relief.dose, grid), height, process.resin)
    speed = min(*machine.speed_max, PIECE_FWHM * fwhm * machine.segment_rate)
    xy, lit = raster(wanted.dose, grid, fwhm, PIECE_FWHM * fwhm)
    energy, loss = solve(
        xy, lit, _start(wanted, grid, xy, lit, fwhm), float(line_energy(machine.power_max, speed, spot)),
        DoseModel(grid, spot), wanted, settings.iterations, _listener(progress, settings.iterations),
    )  # fmt: skip
    power = np.minimum(power_for(energy, speed, spot), machine.power_max)
    path = Toolpath(xy, power, np.where(power > 0, speed, min(machine.rapid_speed)))
    share = speed / min(machine.speed_max)
    path = to_levels(path, machine, spot, share)
    ramp = speed**2 / (2 * machine.acceleration[0])
    path, roomy = with_runs(path, ramp, *_ends(machine, settings))
    warnings = (
        *relief.warnings,
        *_too_much(wanted, process),
        *_no_room(ramp, roomy),
        *_too_coarse(wanted, speed, process),
    )
    program = write_program(path, design, process, settings, warnings)
    spoken = gcode.dialect(machine.dialect)
    shipped = convert.from_moves(gcode.parse(program, spoken, machine.s_max), machine)
    model, run = accurate_model(grid, spot), execute(shipped, process)
    exposed = shone(run, process)
    check_exposes(exposed, shipped, path, design, process, settings)
    dose, inside = model.dose(exposed), _within(grid, design)
    return ReliefPlan(
        relief, process, settings, grid, wanted, shipped, program, dose,
        commanded=_figures(model.dose(shipped), wanted, inside, run.write_time),
        executed=_figures(dose, wanted, inside, run.write_time),
        loss=loss, warnings=warnings, design=design,
    )  # fmt: skip


def _placed(relief: Relief, process: Process, settings: Settings) -> tuple[Relief, Design, str]:
    """The relief at the work zero, the rectangle that it fills as a design, and the origin in effect."""
    x0, x1, y0, y1 = relief.grid.extent
    sheet = Design(
        shapely.box(x0, y0, x1, y1),
        relief.name,
        (x0, y0, x1, y1),
        relief.warnings,
        relief.source,
        relief.recipe,
        relief.file,
    )
    resin = replace(process.resin, tone="negative")
    at = placed(sheet, resin, process.machine, process.spot, settings.origin, settings.offset)
    design = at.design
    p = relief.grid.pitch / 2
    origin = (design.bounds[0] + p, design.bounds[1] + p)
    return replace(relief, grid=replace(relief.grid, origin=origin)), design, at.origin


def _start(wanted: Residual, grid: Grid, xy: Floats, lit: np.ndarray, fwhm: float) -> Floats:
    """A wide area of lines a pitch apart has the dose q/pitch."""
    middle = grid.to_pixels((xy[1:] + xy[:-1]) / 2)
    column, row = np.clip(np.rint(middle).astype(int), 0, np.array(grid.shape[::-1]) - 1).T
    start: Floats = wanted.dose[row, column] * PITCH_FWHM * fwhm * lit
    return np.maximum(start, 1e-3 * start.max() * lit)


def _listener(progress: Callable[[Progress], None] | None, iterations: int) -> Callable[[int, float], None]:
    def listen(k: int, loss: float) -> None:
        if progress is not None:
            progress(Progress("powers", k, iterations, loss))

    return listen


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


def _ends(machine: Machine, settings: Settings) -> tuple[float, float]:
    """Where the machine ends in x, mm."""
    width = machine.size[0]
    return (-width / 2, width / 2) if settings.origin == "centre" else (0.0, width)


def _no_room(run: float, roomy: bool) -> tuple[str, ...]:
    """A sentence if the head cannot come up to speed beside the picture."""
    if roomy:
        return ()
    return (
        f"the head needs {run:.3g} mm beside the picture to come up to speed, which is off the machine; "
        f"move the picture by an offset of {run:.3g} mm, or its first and last columns come out wrong",
    )


def _too_coarse(wanted: Residual, speed: float, process: Process) -> tuple[str, ...]:
    """A sentence if black is only a few of the controller's power levels."""
    q = float(wanted.dose.max()) * PITCH_FWHM * optics.fwhm(process.spot)
    levels = float(power_for(q, speed, process.spot)) / process.machine.power_step
    if levels >= _LEVELS:
        return ()
    return (
        f"black is only {levels:.2g} of the laser's {process.machine.power_levels} power levels, so that "
        f"greys come in steps as executed; attenuate the beam to {levels / _LEVELS:.2g} of its power or less",
    )


def _too_much(wanted: Residual, process: Process) -> tuple[str, ...]:
    """A sentence if more is wanted than the resin should get."""
    resin = process.resin
    most = float(wanted.dose.max()) / resin.critical_dose
    if most <= resin.over_dose * (1 + _DOSE_MARGIN):
        return ()
    return (
        f"black stands for {most:.3g} critical doses, above the {resin.over_dose:g} that are wanted at most",
    )
