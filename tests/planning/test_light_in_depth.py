"""Light in depth: layers are dimmed where that of the layers above does their work."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from builders import executed

import laserpath
from laserpath.base.arrays import Floats
from laserpath.base.overlay import minus, union, within
from laserpath.design.target import grid_for, rasterise
from laserpath.measure.columns import Columns, CuredPart, Curing
from laserpath.measure.surface import COLUMN_PIXELS, thickness_of
from laserpath.physics.absorption import Absorption
from laserpath.physics.dose import usual_model
from laserpath.planning import depth
from laserpath.types import Machine, Process, Resin, Settings, Spot

Layers = list[tuple[float, shapely.Geometry]]

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


@pytest.mark.slow
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
    assert max(one.motion.segment_rate for one in found.programs) <= PROCESS.machine.segment_rate


def doses() -> list[Floats]:
    """Of the layers, lowest first, as the controller executes the joined program."""
    run = executed(table().program, PROCESS)
    grid = grid_for(table().stack.whole, PROCESS.spot, COLUMN_PIXELS)
    model, found = usual_model(grid, PROCESS.spot), []
    for z, _ in TABLE:
        here = np.abs(run.xyz[1:, 2] - z) < 1e-6
        energy = np.where(here, run.light * run.duration, 0.0) * PROCESS.machine.power_max
        length = np.hypot(*np.diff(run.xyz[:, :2], axis=0).T)
        lit = energy * (length > 0)
        found.append(np.maximum(model.line_dose(run.xyz[:, :2], lit / np.maximum(length, 1e-12)), 0.0))
    return found


@pytest.mark.slow
def test_what_is_told_is_what_the_program_cures() -> None:
    """Executed as a whole, and added up from its light."""
    grid = grid_for(table().stack.whole, PROCESS.spot, COLUMN_PIXELS)
    stack = table().stack
    solid = [rasterise(stack.drawn[number], grid).coverage >= 0.5 for number in stack.plan_of]
    curing = Curing(Columns.of(grid, solid, np.full(len(TABLE), H), 0.1), CURVE)
    for dose in reversed(doses()):
        curing.add(dose)
    found, told = curing.result(), in_depth().cured
    assert found.wrong == pytest.approx(told.wrong, rel=0.05)
    assert found.through == pytest.approx(told.through, abs=1e-3)


@pytest.mark.slow
def test_layers_gel_by_their_own_light_above_what_is_solid() -> None:
    """All but a twentieth of what is not at an edge has D_c in its own turn."""
    for k, dose in enumerate(doses()):
        inside = LEG.buffer(-0.06) if k <= 6 else TOP.buffer(-0.06)
        grid = grid_for(table().stack.whole, PROCESS.spot, COLUMN_PIXELS)
        x, y = np.meshgrid(grid.x(), grid.y())
        own = dose[shapely.contains_xy(inside, x, y)]
        if k != 6:  # the first one that is written over nothing, whose dose is what is left to give
            assert np.mean(own >= 0.97 * CURVE.critical_dose) > 0.9, k


@pytest.mark.slow
def test_equal_layers_share_their_programs() -> None:
    """Of a tower, all but those near its top, above which the light differs."""
    tower = [(H * (k + 1), shapely.box(0, 0, 0.6, 0.5)) for k in range(30)]
    found = laserpath.plan_layers(tower, PROCESS, QUICK).in_depth
    assert found is not None
    assert found.dimmed <= 6
    assert all(one is found.programs[0] for one in found.programs[:22])


@pytest.mark.slow
def test_a_run_that_was_killed_while_layers_were_dimmed_goes_on_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its third search is the first that it does again."""
    at_once, search, searches = table().program, depth.minimised_between, list[Any]()

    def killed(*given: Any, **named: Any) -> Any:
        searches.append(given)
        if len(searches) == 3:
            raise KeyboardInterrupt
        return search(*given, **named)

    monkeypatch.setattr(depth, "minimised_between", killed)
    with pytest.raises(KeyboardInterrupt):
        laserpath.plan_layers(TABLE, PROCESS, QUICK, name="table", keep=tmp_path)
    after = laserpath.plan_layers(TABLE, PROCESS, QUICK, name="table", keep=tmp_path)
    again = len(searches) - 3
    assert after.program == at_once
    assert again > 0
    laserpath.plan_layers(TABLE, PROCESS, QUICK, name="table", keep=tmp_path)
    assert len(searches) == 3 + again, "all are kept until the program is written"


@pytest.mark.slow
def test_a_resin_without_a_working_curve_is_planned_as_before() -> None:
    plain = replace(PROCESS, resin=replace(CURVE, e_c=None, penetration_depth=None))
    assert laserpath.plan_layers(TABLE[3:5], plain, QUICK).in_depth is None


@pytest.mark.slow
def test_bottom_layers_get_more_light_inside_and_have_walls_as_before() -> None:
    """Three critical doses inside, and no more cured beside them than without."""
    strong = replace(PROCESS, resin=replace(CURVE, bottom_layers=2, bottom_exposure=3.0))
    done = laserpath.plan_layers(TABLE, strong, QUICK).in_depth
    assert done is not None
    assert done.cured.excess < 1.2 * in_depth().cured.excess
    grid = grid_for(table().stack.whole, PROCESS.spot, COLUMN_PIXELS)
    inside = shapely.contains_xy(LEG.buffer(-0.1), *np.meshgrid(grid.x(), grid.y()))
    for program, lowest in ((done.programs[0], True), (done.programs[2], False)):
        dose = usual_model(grid, PROCESS.spot).dose(program.executed)[inside] / CURVE.critical_dose
        assert (np.quantile(dose, 0.1) >= 2.9) == lowest


def stairs() -> Layers:
    """Four steps of 0.2 mm, each 0.4 mm farther out."""
    return [(H * (k + 1), shapely.box(0, 0, 0.6 + 0.4 * (k // 4), 0.8)) for k in range(16)]


def bridge() -> Layers:
    """A beam of 0.4 mm over a gap of 1.2 mm."""
    legs = union([shapely.box(0, 0, 0.4, 0.6), shapely.box(1.6, 0, 2.0, 0.6)])
    return [(H * (k + 1), legs if k < 8 else shapely.box(0, 0, 2.0, 0.6)) for k in range(16)]


def channel() -> Layers:
    """A channel of 0.3 × 0.3 mm through a block."""
    block = shapely.box(0, 0, 1.5, 0.8)
    open_ = minus(block, shapely.box(0.6, 0, 0.9, 0.8))
    return [(H * (k + 1), open_ if 4 <= k < 10 else block) for k in range(18)]


def text() -> Layers:
    """A plate with a T cut into it from below, and another on top."""
    plate = shapely.box(0, 0, 1.5, 1.4)
    t = union([shapely.box(0.3, 0.9, 1.2, 1.1), shapely.box(0.65, 0.3, 0.85, 1.1)])
    return [(H * (k + 1), minus(plate, t) if k < 4 else plate if k < 12 else t) for k in range(16)]


def lattice() -> Layers:
    """Four courses of bars, 0.25 mm wide and 0.3 mm high, each across those below."""
    along = union([shapely.box(0, y, 1.7, y + 0.25) for y in (0, 0.48, 0.96, 1.44)])
    across = union([shapely.box(x, 0, x + 0.25, 1.69) for x in (0, 0.48, 0.96, 1.44)])
    return [(H * (k + 1), across if (k // 6) % 2 else along) for k in range(24)]


BENCHMARKS = (stairs, bridge, channel, text, lattice)
PLANNED = Settings(initial="contour", iterations=20, pixels_per_fwhm=4.0)


@cache
def cured(part: Callable[[], Layers]) -> tuple[CuredPart, CuredPart]:
    """A benchmark part as planned, and as planned with each layer as if alone."""
    done = laserpath.plan_layers(part(), PROCESS, PLANNED)
    plain = replace(PROCESS, resin=replace(CURVE, e_c=None, penetration_depth=None))
    alone = laserpath.plan_layers(part(), plain, PLANNED)
    grid = grid_for(alone.stack.whole, PROCESS.spot, COLUMN_PIXELS)
    model, drawn = usual_model(grid, PROCESS.spot), alone.stack.drawn
    solid = [rasterise(one, grid).coverage >= 0.5 for one in drawn]
    doses = [np.maximum(model.dose(one.shipped.executed), 0.0) for one in alone.each]
    layers = alone.stack.plan_of
    curing = Curing(Columns.of(grid, [solid[k] for k in layers], np.full(len(layers), H), 0.1), CURVE)
    for k in reversed(layers):
        curing.add(doses[k])
    assert done.in_depth is not None
    return done.in_depth.cured, curing.result()


@pytest.mark.slow
@pytest.mark.parametrize("part", BENCHMARKS, ids=lambda one: one.__name__)
def test_much_less_is_cured_wrongly_than_if_each_layer_is_planned_alone(
    part: Callable[[], Layers],
) -> None:
    """Of text, which has the narrowest strokes, 0.26; of the others 0.15 to 0.21."""
    planned, alone = cured(part)
    assert planned.volume == pytest.approx(alone.volume)
    assert planned.wrong < (0.27 if part is text else 0.22) * alone.wrong


@pytest.mark.slow
def test_undersides_of_all_benchmarks_print_through_by_20_um_on_average() -> None:
    """By 150 to 200 µm if each layer is planned alone; and each is gelled, some layers later."""
    each = [cured(part) for part in BENCHMARKS]
    assert min(alone.through for _, alone in each) > 0.15
    assert np.mean([planned.through for planned, _ in each]) < 0.02
    assert max(planned.short for planned, _ in each) < 0.006
    assert all(planned.later is not None and planned.later <= 8 for planned, _ in each)


@pytest.mark.slow
def test_a_resin_that_bleaches_prints_through_less_if_that_is_known() -> None:
    """Its light reaches twice as deep where it has had much: stairs as planned with and without that."""
    clears = replace(CURVE, bleached_depth=0.2, bleaching_dose=0.2)
    clears = replace(clears, critical_dose=float(Absorption.of(clears).above(CURVE.e_c or 0.0, H)))
    known = laserpath.plan_layers(stairs(), replace(PROCESS, resin=clears), PLANNED).in_depth
    plain = laserpath.plan_layers(stairs(), PROCESS, PLANNED)
    assert known is not None
    assert plain.in_depth is not None
    grid = grid_for(plain.stack.whole, PROCESS.spot, COLUMN_PIXELS)
    model, drawn = usual_model(grid, PROCESS.spot), plain.stack.drawn
    solid = [rasterise(one, grid).coverage >= 0.5 for one in drawn]
    layers = plain.stack.plan_of
    curing = Curing(Columns.of(grid, [solid[k] for k in layers], np.full(len(layers), H), 0.1), clears)
    for program in reversed(plain.in_depth.programs):
        curing.add(model.dose(program.executed))
    unknown = curing.result()
    assert known.cured.through < unknown.through / 2
    assert known.cured.short < 0.006
    assert known.cured.wrong < 0.6 * unknown.wrong


def test_what_is_narrow_keeps_its_width() -> None:
    """An inset of 20 µm; a bar of one spot is not narrowed, and corners stay corners."""
    plate, bar = shapely.box(0, 0, 1, 1), shapely.box(1, 0.4, 2, 0.5)
    found = depth.inset(shapely.MultiPolygon([plate]), 0.1)
    assert found.normalize().equals_exact(
        shapely.MultiPolygon([shapely.box(0.02, 0.02, 0.98, 0.98)]).normalize(), 1e-9
    )
    both = depth.inset(shapely.MultiPolygon([union([plate, bar])]), 0.1)
    assert both.bounds == pytest.approx((0.02, 0.02, 2.0, 0.98))
    assert within(both, shapely.box(1.3, 0, 1.7, 1)).area == pytest.approx(0.04)
    hair = shapely.MultiPolygon([shapely.box(0, 0, 1, 0.02)])
    assert depth.inset(hair, 0.1).area == pytest.approx(0.02), "nothing of it is lost"


def test_the_lowest_layer_is_as_thick_as_it_is_high_or_as_the_next() -> None:
    assert thickness_of([0.05, 0.1, 0.15]) == pytest.approx([0.05] * 3)
    assert thickness_of([0.08, 0.13, 0.18]) == pytest.approx([0.08, 0.05, 0.05])
    assert thickness_of([0.0, 0.05, 0.1]) == pytest.approx([0.05] * 3)
    assert thickness_of([5.0, 5.05, 5.1]) == pytest.approx([0.05] * 3)
