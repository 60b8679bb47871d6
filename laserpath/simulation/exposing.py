"""What shines → dose → figures, on one grid for what is commanded and what is executed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.dose import accurate_model
from laserpath.machine.program import MachineProgram
from laserpath.measure import best_exposure, edges_at
from laserpath.measure.exposure import Exposure
from laserpath.simulation.alignment import translation
from laserpath.simulation.figures import PathExposure, dose_figures
from laserpath.simulation.result import Tuned
from laserpath.simulation.view import grid_around, lit_box, rim, seen
from laserpath.types import Design, Grid, Point, Process, Settings, Toolpath

_MARGINS = (6.0, 18.0)
"""FWHM beyond the usual margin, tried one after the other where what cures reaches the rim."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """commanded, executed: on one grid.  overflow: whether what cures reaches beyond it."""

    commanded: PathExposure
    executed: PathExposure
    overflow: bool


def shift_onto(design: Design, program: MachineProgram, settings: Settings, name: str) -> Point:
    """How far a program must move to lie on its design, mm."""
    spot = program.process.spot
    grid = grid_around(lit_box(program.executed), spot, settings.pixels_per_fwhm, 0.0, repr(name))
    dose = accurate_model(grid, spot).dose(program.executed)
    x, y = translation(dose, grid, design, spot)
    return -x, -y


def exposures(program: MachineProgram, design: Design | None, settings: Settings, name: str) -> Found:
    """Both doses, on a grid that holds what cures if there can be one."""
    critical, spot = program.process.resin.critical_dose, program.process.spot
    box = seen(lit_box(program.commanded, program.executed), design, spot)
    what = f"{name!r} with its design (--align lays one on the other)" if design else repr(name)
    grid = grid_around(box, spot, settings.pixels_per_fwhm, 0.0, what)
    executed = _exposure(program, program.executed, design, grid)
    for extra in _MARGINS:
        if rim(executed.dose) < critical:
            break
        try:
            grid = grid_around(box, spot, settings.pixels_per_fwhm, extra, what)
        except InputError:
            break  # what there is room for is better than nothing
        executed = _exposure(program, program.executed, design, grid)
    commanded = _exposure(program, program.commanded, design, grid)
    return Found(commanded, executed, rim(executed.dose) >= critical)


def _exposure(program: MachineProgram, path: Toolpath, design: Design | None, grid: Grid) -> PathExposure:
    """What shines along one of its paths, measured as far as there is something to measure it by."""
    resin = program.process.resin
    if design is not None:
        measured = Exposure(program, Scene(design, grid, program.process.spot, resin)).of(path)
        dose = measured.dose
        return PathExposure(dose_figures(dose, grid, resin), program.motion, grid, dose, measured)
    dose = accurate_model(grid, program.process.spot).dose(path)
    if not np.isfinite(dose).all():
        raise InputError("the dose is not finite; the program holds values that cannot be exposed")
    return PathExposure(dose_figures(dose, grid, resin), program.motion, grid, dose)


def tuned(executed: PathExposure, design: Design, process: Process) -> Tuned | None:
    """The power at which the same path would be truest; None without light along the outline."""
    scene = Scene(design, executed.grid, process.spot, process.resin)
    try:
        factor = best_exposure(executed.dose, scene)
    except InputError:
        return None
    (edges,) = edges_at(executed.dose, scene, (factor,))
    error = np.abs(edges.epe) / scene.fwhm
    return Tuned(factor, edges, float(error.mean()), float(np.percentile(error, 95)))
