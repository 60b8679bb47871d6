"""What is fixed before a relief's powers are sought: place, grid, raster, speed; and what it will take.

The write time is that of the raster with a first guess of the powers, run by the controller's planner: for
six pictures of 5 to 30 mm it was 0.98 to 1.05 of the plan's. Planning takes, for p pixels of the grid and n
moves of the raster, in processor seconds

    iterations   (60 ns p + 1.2 µs n + 5 ms) each, `_MOST` at most, of which L-BFGS-B does half
    the rest     1 µs p + 20 µs n + 2.5 s, for preparing, measuring and drawing
    memory       400 MB + 130 B p

For the same pictures that was 0.5 to 2.3 of what was measured: a smooth picture is right after one iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely

import gcode
from laserpath import optics
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.design.target import affordable, grid_for
from laserpath.machine import convert
from laserpath.machine.attenuation import Strength, check_power
from laserpath.machine.placement import placed
from laserpath.planning.forecasts import BASE_BYTES, Forecast, coarser, slowed, tight
from laserpath.planning.relief.lines import PIECE_FWHM, PITCH_FWHM, raster, resample, with_runs
from laserpath.planning.relief.solve import Residual
from laserpath.planning.smooth import to_levels
from laserpath.resin import power_for, speed_for
from laserpath.types import Design, Grid, Process, Relief, Settings, Toolpath

_HEADROOM = 1.25
"""Of the line energy that a wide black area needs: at its edges lines need more."""

_MOST, _DONE = 60, 0.5
"""Iterations, if as many are allowed, and how many of them are done: a smooth picture needs one."""

_BYTES = 130.0
"""Of memory for a pixel."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A relief on the machine, before its powers are sought. settings: with the origin and pixels in effect.

    wanted: on `grid`.  design: the rectangle that the picture fills.  xy: (N+1, 2) mm, the raster, of
    which the moves `lit` (N,) may shine.  start: (N,) mJ/mm, the line energies to begin with.  speed: mm/s.
    asked: pixels per FWHM that the settings gave.  notes: why it lies elsewhere than its file says.
    """

    relief: Relief
    process: Process
    settings: Settings
    design: Design
    grid: Grid
    wanted: Residual
    xy: Floats
    lit: Bools
    start: Floats
    speed: float
    asked: float
    notes: tuple[str, ...]

    @property
    def ramp(self) -> float:
        """The way that the head needs to come up to speed, mm."""
        return float(self.speed**2 / (2 * self.process.machine.acceleration[0]))

    def toolpath(self, energy: Floats) -> tuple[Toolpath, bool]:
        """The path for line energies (N,) mJ/mm, with powers that exist and room to come up to speed.

        The second says whether the machine has that room.  Raises InputError if each line needs less than
        half of the laser's lowest level, so that all stay dark.
        """
        machine, spot = self.process.machine, self.process.spot
        power = np.minimum(power_for(energy, self.speed, spot), machine.power_max)
        path = Toolpath(self.xy, power, np.where(power > 0, self.speed, min(machine.rapid_speed)))
        path = to_levels(path, machine, spot, self.speed / min(machine.speed_max))
        width = machine.size[0]
        ends = (-width / 2, width / 2) if self.settings.origin == "centre" else (0.0, width)
        return with_runs(path, self.ramp, *ends)


def lay_out(relief: Relief, process: Process, settings: Settings | None = None) -> Layout:
    """Put a relief on the machine, and lines over it.

    Of the settings count iterations, pixels_per_fwhm, origin, offset and passes.
    """
    settings = replace(settings or Settings(), pitch_fwhm=PITCH_FWHM)
    check_power(process, settings)
    relief, design, origin, notes = _placed(relief, process, settings)
    fine = affordable(design, process.spot, settings.pixels_per_fwhm)
    asked, settings = settings.pixels_per_fwhm, replace(settings, origin=origin, pixels_per_fwhm=fine)
    spot, machine, fwhm = process.spot, process.machine, optics.fwhm(process.spot)
    grid = grid_for(design, spot, fine)
    height = None if relief.height is None else resample(relief, relief.height, grid)
    wanted = Residual(resample(relief, relief.dose, grid), height, process.resin)
    black = _HEADROOM * float(wanted.dose.max()) * PITCH_FWHM * fwhm
    allowed = float(speed_for(black, machine.power_max, spot))
    speed = min(*machine.speed_max, PIECE_FWHM * fwhm * machine.segment_rate, allowed)
    xy, lit = raster(wanted.dose, grid, fwhm, PIECE_FWHM * fwhm)
    start = _start(wanted, grid, xy, lit, fwhm)
    return Layout(relief, process, settings, design, grid, wanted, xy, lit, start, speed, asked, notes)


def forecast_relief(layout: Layout) -> Forecast:
    """What planning a relief takes, and writing it. Raises InputError where nothing would be exposed."""
    pixels, moves = float(np.prod(layout.grid.shape)), float(len(layout.lit))
    _check_levels(layout)
    path, _ = layout.toolpath(layout.start)
    machine = layout.process.machine
    motion = gcode.motion.profile(convert.to_moves(path, machine), convert.limits(machine))
    most = min(layout.settings.iterations, _MOST)
    iteration = 60e-9 * pixels + 1.2e-6 * moves + 5e-3
    memory = BASE_BYTES + _BYTES * pixels
    return Forecast(
        trying=1.0,
        solving=_DONE * most * iteration,
        finishing=1.5 + 1e-6 * pixels + 2e-5 * moves,
        memory=memory,
        write_seconds=layout.settings.passes * float(motion.duration.sum()),
        notes=_slow(layout),
        warnings=(*coarser(layout.settings, layout.asked), *tight(memory)),
        iterations=most,
    )


def strength_for(wanted: Residual, speed: float, process: Process) -> Strength:
    """The laser, and what black needs at a speed in mm/s."""
    q = float(wanted.dose.max()) * PITCH_FWHM * optics.fwhm(process.spot)
    return Strength(process.machine, float(power_for(q, speed, process.spot)), speed)


def _check_levels(layout: Layout) -> None:
    """Refuse a laser of which the weakest level is so strong that not even black is written."""
    found = strength_for(layout.wanted, layout.speed, layout.process)
    if found.ratio > 2:
        raise InputError(
            f"{found.sentence('black')}, so that the program would expose nothing; {found.filter}"
        )


def _slow(layout: Layout) -> tuple[str, ...]:
    """A sentence if lines are slower than the machine could."""
    machine, fwhm = layout.process.machine, optics.fwhm(layout.process.spot)
    told = min(machine.speed_max)
    if layout.speed >= told:
        return ()
    if layout.speed < PIECE_FWHM * fwhm * machine.segment_rate:
        return (slowed(machine, layout.speed, "black"),)
    return (
        f"the link carries {machine.segment_rate:g} moves/s, each of half a spot: lines are written at "
        f"{layout.speed:.2g} mm/s, below the {told:g} mm/s of the machine",
    )


def _placed(
    relief: Relief, process: Process, settings: Settings
) -> tuple[Relief, Design, str, tuple[str, ...]]:
    """The relief at the work zero, the rectangle that it fills as a design, the origin in effect, and why."""
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
    p = relief.grid.pitch / 2
    origin = (at.design.bounds[0] + p, at.design.bounds[1] + p)
    moved = replace(relief, grid=replace(relief.grid, origin=origin))
    return moved, at.design, at.origin, at.notes


def _start(wanted: Residual, grid: Grid, xy: Floats, lit: Bools, fwhm: float) -> Floats:
    """A wide area of lines a pitch apart has the dose q/pitch."""
    middle = grid.to_pixels((xy[1:] + xy[:-1]) / 2)
    column, row = np.clip(np.rint(middle).astype(int), 0, np.array(grid.shape[::-1]) - 1).T
    start: Floats = wanted.dose[row, column] * PITCH_FWHM * fwhm * lit
    return np.maximum(start, 1e-3 * start.max() * lit)
