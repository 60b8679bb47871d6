"""What cures by conversion: the executed program of a kinetic resin through time, against its design."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.kinetics import KineticModel
from laserpath.kinetics.timeline import light_of
from laserpath.machine.program import MachineProgram
from laserpath.measure.figures import cured_fraction, edge_errors
from laserpath.types import Grid, Kinetics, Resin
from laserpath.types.results import ConvertedPrint


def kinetics_of(resin: Resin) -> Kinetics:
    """The kinetics of a resin; raises InputError for one that knows only its critical dose."""
    if resin.kinetics is None:
        raise InputError(f'resin {resin.name!r} has no kinetics; its profile needs model = "kinetics"')
    return resin.kinetics


def conversion_of(program: MachineProgram, grid: Grid) -> Floats:
    """(rows, columns) 0..1, the conversion when the rest is washed away, of a program as executed."""
    kinetics = kinetics_of(program.process.resin)
    light, end = light_of(program)
    return KineticModel(grid, program.process.spot, kinetics).expose(light, end + kinetics.wait).conversion


def converted_print(program: MachineProgram, scene: Scene) -> ConvertedPrint:
    """What a program cures by conversion, as executed, against the design of a scene."""
    return measured(conversion_of(program, scene.grid), by_conversion(scene))


def by_conversion(scene: Scene, grid: Grid | None = None) -> Scene:
    """The scene with the conversion at the gel point in place of the critical dose, on its grid or another.

    What takes a dose then takes a conversion.
    """
    gel = kinetics_of(scene.resin).gel_conversion
    # No conversion is too high.
    resin = replace(scene.resin, kinetics=None, critical_dose=gel, over_dose=2 / gel)
    return replace(scene, resin=resin, grid=grid or scene.grid)


def measured(conversion: Floats, scene: Scene) -> ConvertedPrint:
    """The figures of a conversion (rows, columns) in a scene of `by_conversion`."""
    edges, coverage = edge_errors(conversion, scene), scene.target.coverage
    error = np.abs(edges.epe) / optics.fwhm(scene.spot)
    cured, area = cured_fraction(conversion, scene.critical_dose), scene.grid.pixel_area
    return ConvertedPrint(
        epe_mean=float(error.mean()),
        epe_p95=float(np.percentile(error, 95)),
        epe_max=float(error.max()),
        missing_edges=int(edges.missing.sum()),
        iou=float(np.minimum(cured, coverage).sum() / np.maximum(cured, coverage).sum()),
        overcure=float(np.maximum(cured - coverage, 0).sum() * area),
        undercure=float(np.maximum(coverage - cured, 0).sum() * area),
        conversion=conversion,
        edges=edges,
    )
