"""The executed path → dose → figures, on a grid that holds all of the cured area."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.dose import accurate_model
from laserpath.machine.program import MachineProgram
from laserpath.measure import best_exposure, edges_at
from laserpath.measure.exposure import Exposure
from laserpath.simulation.alignment import translation
from laserpath.simulation.figures import PathExposure, dose_figures
from laserpath.simulation.result import BestExposure
from laserpath.simulation.view import box_of, grid_around, lit_box, rim
from laserpath.types import Design, Grid, Point, Settings

_MARGINS = (6.0, 18.0)
"""FWHM beyond the usual margin, tried in turn while the cured area reaches the grid's rim."""


def shift_onto(design: Design, program: MachineProgram, settings: Settings, name: str) -> Point:
    """The translation that lays a program on its design, mm. name: of the program, for errors."""
    spot = program.process.spot
    grid = grid_around(lit_box(program.executed), spot, settings.pixels_per_fwhm, 0.0, repr(name))
    dose = accurate_model(grid, spot).dose(program.executed)
    x, y = translation(dose, grid, design, spot)
    return -x, -y


def exposure_of(
    program: MachineProgram, design: Design | None, settings: Settings, name: str
) -> PathExposure:
    """The exposure, on a grid that holds all of the cured area if memory allows. name: of the program."""
    critical, spot = program.process.resin.critical_dose, program.process.spot
    box = box_of(lit_box(program.shifted_path, program.executed), design, spot)
    what = f"{name!r} with its design (--align lays one on the other)" if design else repr(name)
    grid = grid_around(box, spot, settings.pixels_per_fwhm, 0.0, what)
    scene = Scene(design, grid, spot, program.process.resin) if design else None
    executed = _exposure(program, scene, grid)
    for extra in _MARGINS:
        if rim(executed.dose) < critical:
            break
        try:
            grid = grid_around(box, spot, settings.pixels_per_fwhm, extra, what)
        except InputError:
            break  # keep the largest grid so far
        scene = replace(scene, grid=grid) if scene else None
        executed = _exposure(program, scene, grid)
    return replace(executed, overflow=rim(executed.dose) >= critical)


def _exposure(program: MachineProgram, scene: Scene | None, grid: Grid) -> PathExposure:
    """The exposure of the executed path, measured in the scene on this grid if there is one."""
    resin = program.process.resin
    if scene is not None:
        measured = Exposure(program, scene).executed
        figures = dose_figures(measured.light, measured.dose, grid, resin)
        return PathExposure(figures, program.motion, grid, measured.dose, measured.light, scene, measured)
    dose = accurate_model(grid, program.process.spot).dose(program.executed)
    if not np.isfinite(dose).all():
        raise InputError("the dose is not finite; the program holds values that cannot be exposed")
    light = dose
    if resin.kinetics is not None:
        from laserpath.measure.conversion import equivalent_dose  # Taichi, which others need not wait for

        dose = equivalent_dose(program, grid)
    return PathExposure(dose_figures(light, dose, grid, resin), program.motion, grid, dose, light)


def at_best_power(executed: PathExposure) -> BestExposure | None:
    """The power at which the same path is most accurate; None without a design, or light along its outline.

    None for a resin with kinetics, too, whose conversion is not scaled by the power.
    """
    scene = executed.scene
    if scene is None or scene.resin.kinetics is not None:
        return None
    try:
        factor = best_exposure(executed.dose, scene)
    except InputError:
        return None
    (edges,) = edges_at(executed.dose, scene, (factor,))
    error = np.abs(edges.epe) / scene.fwhm
    return BestExposure(factor, edges, float(error.mean()), float(np.percentile(error, 95)))
