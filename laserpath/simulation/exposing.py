"""What shines → dose → figures, on one grid for what is commanded and what is executed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import gcode
from laserpath import measure, optics
from laserpath.dose import accurate_model
from laserpath.errors import InputError
from laserpath.measure import Sent
from laserpath.metrics import best_exposure, edges_at
from laserpath.simulation.alignment import translation
from laserpath.simulation.figures import NONE, Outcome, light
from laserpath.simulation.result import Tuned
from laserpath.simulation.view import grid_around, lit_box, rim, seen
from laserpath.target import rasterise
from laserpath.types import Design, Grid, Point, Process, Settings, Toolpath

_MARGINS = (6.0, 18.0)
"""FWHM beyond the usual margin, tried one after the other where what cures reaches the rim."""


@dataclass(frozen=True, slots=True, eq=False)
class Exposed:
    """commanded, executed: what shines where, mm.  path: as commanded, where the file has it."""

    commanded: Toolpath
    executed: Toolpath
    path: Toolpath
    run: gcode.motion.Executed
    sent: Sent

    def moved(self, by: Point) -> Exposed:
        """All of it somewhere else; how far the head comes from its zero stays as it is."""
        commanded, executed = (replace(p, xy=p.xy + by) for p in (self.commanded, self.executed))
        run = replace(self.run, xyz=self.run.xyz + (*by, 0.0))
        return replace(self, commanded=commanded, executed=executed, run=run)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """commanded, executed: on one grid.  overflow: whether what cures reaches beyond it."""

    commanded: Outcome
    executed: Outcome
    overflow: bool


def shift_onto(design: Design, exposed: Exposed, process: Process, settings: Settings, name: str) -> Point:
    """How far a program must move to lie on its design, mm."""
    spot = process.spot
    grid = grid_around(lit_box(exposed.executed), spot, settings.pixels_per_fwhm, 0.0, repr(name))
    dose = accurate_model(grid, spot).dose(exposed.executed)
    x, y = translation(dose, grid, design, spot)
    return -x, -y


def expose(exposed: Exposed, design: Design | None, process: Process, settings: Settings, name: str) -> Found:
    """Both doses, on a grid that holds what cures if there can be one."""
    critical, spot = process.resin.critical_dose, process.spot
    box = seen(lit_box(exposed.commanded, exposed.executed), design, spot)
    what = f"{name!r} with its design (--align lays one on the other)" if design else repr(name)
    grid = grid_around(box, spot, settings.pixels_per_fwhm, 0.0, what)
    executed = _outcome(exposed.executed, grid, exposed, design, process)
    for extra in _MARGINS:
        if rim(executed.dose) < critical:
            break
        try:
            grid = grid_around(box, spot, settings.pixels_per_fwhm, extra, what)
        except InputError:
            break  # what there is room for is better than nothing
        executed = _outcome(exposed.executed, grid, exposed, design, process)
    commanded = _outcome(exposed.commanded, grid, exposed, design, process)
    return Found(commanded, executed, rim(executed.dose) >= critical)


def _outcome(
    path: Toolpath, grid: Grid, exposed: Exposed, design: Design | None, process: Process
) -> Outcome:
    """One exposure, measured as far as there is something to measure it by."""
    if design is not None:
        target = rasterise(design, grid)
        found = measure.expose(path, exposed.run, exposed.path, design, target, process, exposed.sent)
        return Outcome(grid, found.dose, light(found.dose, grid, process.resin, found.figures), found)
    dose = accurate_model(grid, process.spot).dose(path)
    if not np.isfinite(dose).all():
        raise InputError("the dose is not finite; the program holds values that cannot be exposed")
    along = measure.with_motion(NONE, exposed.path, exposed.run, process, exposed.sent)
    return Outcome(grid, dose, light(dose, grid, process.resin, along))


def tuned(executed: Outcome, design: Design, process: Process) -> Tuned | None:
    """The power at which the same path would be truest; None without light along the outline."""
    spot, critical = process.spot, process.resin.critical_dose
    try:
        factor = best_exposure(executed.dose, executed.grid, design, spot, critical)
    except InputError:
        return None
    (edges,) = edges_at(executed.dose, executed.grid, design, spot, critical, (factor,))
    error = np.abs(edges.epe) / optics.fwhm(spot)
    return Tuned(factor, edges, float(error.mean()), float(np.percentile(error, 95)))
