"""What cures by conversion: the executed program of a resin with kinetics, through time.

The conversion c is nearly a step at the edge: 0 as long as there is oxygen, soon 1 when there is none. Edges
between pixels are therefore found, and corrected, on

    u = ((J + e)/(G + e))^⅓,   J = −ln(1 − c),   G = −ln(1 − gel),   e = G/1000,

which is 1 at the gel point, and rises and falls there about as a relative dose does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.kinetics import KineticModel
from laserpath.kinetics.timeline import light_of
from laserpath.machine.program import MachineProgram
from laserpath.types import Grid, Kinetics, Resin

_LEAST = 1e-3
"""e, in G: a smaller one makes the slope steeper where hardly anything converts."""

_LEFT = 1e-6
"""Monomer that is always left, so that J stays finite."""


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


def equivalent_dose(program: MachineProgram, grid: Grid) -> Floats:
    """(rows, columns) mJ/mm², u times the critical dose, of a program as executed.

    What takes a dose and a threshold, from edges to pictures, then goes by conversion.
    """
    resin = program.process.resin
    return resin.critical_dose * relative(conversion_of(program, grid), kinetics_of(resin).gel_conversion)[0]


def relative(conversion: Floats, gel: float) -> tuple[Floats, Floats]:
    """(u, ∂u/∂c) of conversions; gel: that of the gel point."""
    at_gel = -np.log1p(-gel)
    left = np.maximum(1 - conversion, _LEFT)
    least = _LEAST * at_gel
    u = np.cbrt((least - np.log(np.minimum(left, 1.0))) / (at_gel + least))
    slope = 1 / (3 * u**2 * (at_gel + least) * left)
    return u, np.where((left > _LEFT) & (left < 1), slope, 0.0)


def by_conversion(scene: Scene, grid: Grid | None = None) -> Scene:
    """The scene whose dose is u, on its grid or another."""
    highest = float(relative(np.ones(1), kinetics_of(scene.resin).gel_conversion)[0][0])
    # No conversion is too high.
    resin = replace(scene.resin, kinetics=None, critical_dose=1.0, over_dose=max(2 * highest, 2.0))
    return replace(scene, resin=resin, grid=grid or scene.grid)
