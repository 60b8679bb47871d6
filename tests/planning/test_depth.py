"""Light in depth: layers are dimmed where that of the layers above does their work."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from builders import executed

import laserpath
from laserpath.base.arrays import Floats
from laserpath.design.target import rasterise
from laserpath.measure.columns import Columns, Curing
from laserpath.physics.dose import usual_model
from laserpath.planning import depth
from laserpath.planning.stack import _thickness
from laserpath.types import Machine, Process, Resin, Settings, Spot

H = 0.05
CURVE = Resin(critical_dose=0.085 * math.exp(0.5), e_c=0.085, penetration_depth=0.1)
PROCESS = Process(Spot(0.1), CURVE, Machine())
QUICK = Settings(initial="contour", iterations=0, pixels_per_fwhm=3.0)
LEG, TOP = shapely.box(0, 0, 0.5, 0.6), shapely.box(0, 0, 1.2, 0.6)
TABLE = [(H * k, LEG if k <= 4 else TOP) for k in range(1, 11)]
"""A leg of four layers and a top of six, of which 0.7 mm lie over nothing."""


@cache
def table() -> laserpath.LayerPlans:
    return laserpath.plan_layers(TABLE, PROCESS, QUICK, name="table")


def in_depth() -> depth.InDepth:
    found = table().in_depth
    assert found is not None
    return found


def test_an_overhang_prints_through_by_less_than_20_um() -> None:
    found = in_depth()
    (before,), (after,) = found.undimmed.overhangs, found.cured.overhangs
    assert before.z == after.z == pytest.approx(4 * H)
    assert before.through > 0.09, "D_p ln(Σ e^(−j/2)) = 93 µm, if each layer's light just cured it"
    assert after.through < 0.02
    assert after.short < 0.02
    assert found.cured.wrong < 0.3 * found.undimmed.wrong
    assert f"{1000 * before.through:.0f} µm undimmed" in found.sentence
    assert len(table().each) == 2, "dimming plans no path"


def doses() -> list[Floats]:
    """Of the layers, lowest first, as the controller executes the joined program."""
    run = executed(table().program, PROCESS)
    grid = depth.grid_for(table().stack.whole, PROCESS.spot, depth._PIXELS_PER_FWHM)
    model, found = usual_model(grid, PROCESS.spot), []
    for z, _ in TABLE:
        here = np.abs(run.xyz[1:, 2] - z) < 1e-6
        energy = np.where(here, run.light * run.duration, 0.0) * PROCESS.machine.power_max
        length = np.hypot(*np.diff(run.xyz[:, :2], axis=0).T)
        lit = energy * (length > 0)
        found.append(np.maximum(model.line_dose(run.xyz[:, :2], lit / np.maximum(length, 1e-12)), 0.0))
    return found


def test_what_is_told_is_what_the_program_cures() -> None:
    """Executed as a whole, and added up from its light."""
    grid = depth.grid_for(table().stack.whole, PROCESS.spot, depth._PIXELS_PER_FWHM)
    stack = table().stack
    solid = [rasterise(stack.drawn[number], grid).coverage >= 0.5 for number in stack.plan_of]
    curing = Curing(Columns.of(grid, solid, np.full(len(TABLE), H), 0.1), CURVE)
    for dose in reversed(doses()):
        curing.add(dose)
    found, told = curing.result(), in_depth().cured
    assert found.wrong == pytest.approx(told.wrong, rel=0.05)
    assert found.through == pytest.approx(told.through, abs=1e-3)


def test_layers_gel_by_their_own_light_above_what_is_solid() -> None:
    """All but a twentieth of what is not at an edge has D_c in its own turn."""
    for k, dose in enumerate(doses()):
        inside = LEG.buffer(-0.06) if k <= 6 else TOP.buffer(-0.06)
        grid = depth.grid_for(table().stack.whole, PROCESS.spot, depth._PIXELS_PER_FWHM)
        x, y = np.meshgrid(grid.x(), grid.y())
        own = dose[shapely.contains_xy(inside, x, y)]
        if k != 6:  # the first one that is written over nothing, whose dose is what is left to give
            assert np.mean(own >= 0.97 * CURVE.critical_dose) > 0.9, k


def test_a_resin_without_a_working_curve_is_planned_as_before() -> None:
    plain = replace(PROCESS, resin=replace(CURVE, e_c=None, penetration_depth=None))
    assert laserpath.plan_layers(TABLE[3:5], plain, QUICK).in_depth is None


def test_the_lowest_layer_is_as_thick_as_it_is_high_or_as_the_next() -> None:
    assert _thickness([0.05, 0.1, 0.15]) == pytest.approx([0.05] * 3)
    assert _thickness([0.08, 0.13, 0.18]) == pytest.approx([0.08, 0.05, 0.05])
    assert _thickness([0.0, 0.05, 0.1]) == pytest.approx([0.05] * 3)
    assert _thickness([5.0, 5.05, 5.1]) == pytest.approx([0.05] * 3)
