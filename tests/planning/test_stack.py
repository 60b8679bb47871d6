"""Layers at heights: one zero, equal ones planned once, and one program, dark wherever Z moves."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import SPOKEN, executed
from sets import one_fast
from shapely import affinity
from shapes import NODING

import gcode
import laserpath
from gcode import Kind
from laserpath.base.arrays import Floats
from laserpath.base.compute import runtime
from laserpath.base.errors import InputError, told_once
from laserpath.base.plan_steps import PlanPart
from laserpath.config import project, request
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.heights import write_time
from laserpath.machine.rest import one_after_another
from laserpath.measure.surface import thickness_of
from laserpath.planning import stack as stacks
from laserpath.planning.stack import forecast_stack, same, searched, stacked
from laserpath.types import Design, Kinetics, LayerChange, Machine, Process, Resin, Settings, Spot

WIDE = Process(Spot(0.4), Resin(critical_dose=0.2), Machine())
QUICK = Settings(initial="contour", iterations=2, pixels_per_fwhm=3.0)
NEEDLE = shapely.Polygon([(0, 0), (2, 0), (2, 0.4), (3, 0.4), (3, 0.45), (2, 0.45), (2, 1), (0, 1)])
CONE = [(0.1 * k, shapely.Point(20, 30).buffer(1.6 - 0.4 * math.ceil(k / 2))) for k in (1, 2, 3, 4)]
"""Radii 1.2, 1.2, 0.8, 0.8 mm."""


@cache
def cone(name: str) -> laserpath.LayerPlans:
    """The cone in a dialect, planned when a test needs it."""
    return laserpath.plan_layers(CONE, replace(WIDE, machine=SPOKEN[name]), QUICK, name="cone", settle=2.0)


def moves_of(program: str, machine: Machine) -> gcode.Moves:
    return gcode.parse(program, gcode.dialect(machine.dialect), machine.s_max)


def lit_at(moves: gcode.Moves, z: float) -> Floats:
    """Ends of the lit moves at a height."""
    return moves.xy[1:][moves.on & (np.abs(moves.z[1:] - z) < 1e-6)]


def test_a_cone_s_layers_are_over_each_other() -> None:
    """In the coordinates that they were given; each one's own corner would put them side by side."""
    done = cone("grbl")
    assert (len(done.plans), len(done.each)) == (4, 2), "equal layers are planned once"
    moves = moves_of(done.program, SPOKEN["grbl"])
    for (z, _), radius in zip(CONE, (1.2, 1.2, 0.8, 0.8), strict=True):
        low, high = lit_at(moves, z).min(axis=0), lit_at(moves, z).max(axis=0)
        assert (low + high) / 2 == pytest.approx((20, 30), abs=0.02)
        assert np.all((2 * radius - 0.5 < high - low) & (high - low < 2 * radius))
    assert np.array_equal(lit_at(moves, 0.1), lit_at(moves, 0.2))


@pytest.mark.parametrize("name", one_fast(SPOKEN, "marlin"))
def test_every_controller_is_dark_while_z_moves(name: str) -> None:
    machine, dialect, done = SPOKEN[name], gcode.dialect(name), cone(name)
    moves = moves_of(done.program, machine)
    climbs = np.diff(moves.z) != 0
    assert sorted(set(np.round(moves.z[1:][moves.on], 6))) == [0.1, 0.2, 0.3, 0.4]
    assert not moves.on[climbs | moves.rapid].any()
    later = climbs & (np.arange(len(moves)) > np.argmax(moves.on))
    assert not np.diff(moves.xy, axis=0)[later].any(), "straight up, before it goes anywhere"
    assert np.count_nonzero(moves.dwell == 2.0) == 4, "it settles at each height"
    found = gcode.check(done.program, dialect, convert.envelope(machine, dialect))
    assert [one for one in found if one.severity == "error"] == []


CHANGE = LayerChange("above", 3.0, 2.0, 1.5, (0.0, 5.0), (0.0, 80.0), 20.0, 4.0)


@pytest.mark.parametrize("name", SPOKEN)
def test_each_layer_is_preceded_by_what_the_machine_does_in_the_dark(name: str) -> None:
    """It lifts, waits, comes back, draws its wiper over the resin, waits, and goes to the layer."""
    machine, heights = replace(SPOKEN[name], layer_change=CHANGE), (0.1, 0.2)
    line = gcode.Moves(np.array([(10.0, 10.0), (20.0, 10.0)]), np.array([0.5]), np.array([10.0]),
                       np.array([Kind.LINE], np.int8))  # fmt: skip
    asked, plain = (
        one_after_another([("", line, z) for z in heights], machine, one) for one in (CHANGE, None)
    )
    text, _ = verified(asked, machine)
    moves = moves_of(text, machine)
    for z in heights:
        (top,) = np.flatnonzero((np.abs(moves.z[1:] - z - 3) < 1e-9) & ~moves.still)
        (settled,) = np.flatnonzero((moves.dwell == 4) & (np.abs(moves.z[1:] - z) < 1e-9))
        rows = np.arange(top, settled + 1)
        rows = rows[~moves.still[rows] | (moves.dwell[rows] > 0)]
        assert not moves.on[rows].any()
        assert moves.z[rows + 1] == pytest.approx([z + 3, z + 3, z, z, z, z])
        assert moves.xy[rows[3:] + 1] == pytest.approx(np.array([(0, 5), (0, 80), (0, 80)]))
        assert (moves.dwell[rows[1]], moves.speed[rows[0]], moves.speed[rows[4]]) == (1.5, 2, 20)
        assert len(lit_at(moves, z)) == 1
    found = gcode.check(text, gcode.dialect(name), convert.envelope(machine, gcode.dialect(name)))
    assert [one for one in found if one.severity == "error"] == []
    longer = np.subtract(*(write_time(one, replace(WIDE, machine=machine)) for one in (asked, plain)))
    least = 2 * CHANGE.seconds(z_speed=1.0)
    assert least == pytest.approx(2 * (4 + 1.5 + 3 + 75 / 20))
    assert least < longer < least + 2 * 4, "and the ways to the wiper and back"


def test_a_part_that_hangs_is_mirrored_and_a_lift_is_within_the_machine() -> None:
    """Its layers are those of the part turned upside down: with Z down, x has to change its sign."""
    layers = [(z, affinity.translate(shapely.Polygon([(0, 0), (3, 0), (0, 2)]), 5, 1)) for z in (0.1, 0.2)]
    machine = Machine(z_travel=(0.0, 40.0), layer_change=LayerChange("below"))
    made, upright = (stacked(layers, replace(WIDE, machine=one), QUICK) for one in (machine, Machine()))
    hung, stood = (np.array(one.whole.area.geoms[0].exterior.coords) for one in (made, upright))
    assert {tuple(p) for p in hung.round(6)} == {(292, 1), (295, 1), (295, 3)}, "on a machine of 300 mm"
    assert {tuple(p) for p in stood.round(6)} == {(5, 1), (8, 1), (5, 3)}
    higher = replace(machine, layer_change=LayerChange(lift=39.9))
    with pytest.raises(InputError, match=r"layer 2 at z 0\.2 mm and the lift of 39\.9 mm before it"):
        stacked(layers, replace(WIDE, machine=higher), QUICK)


@pytest.mark.parametrize("name", one_fast(SPOKEN, "grbl", "marlin", "klipper"))
def test_each_layer_gets_the_light_of_its_plan(name: str) -> None:
    """As the controller executes the joined program."""
    done = cone(name)
    run = executed(done.program, replace(WIDE, machine=SPOKEN[name]))
    for (z, _), one in zip(CONE, done.plans, strict=True):
        here = np.abs(run.xyz[1:, 2] - z) < 1e-6
        light = float((run.light * run.duration)[here].sum())
        assert light == pytest.approx(one.run.exposure, rel=1e-3 if name == "marlin" else 1e-4)
    rests = (np.diff(run.xyz, axis=0) == 0).all(axis=1)
    assert not (run.light[rests] * run.duration[rests]).any()
    machine, dialect = SPOKEN[name], gcode.dialect(name)
    told = gcode.examine(done.program, dialect, convert.envelope(machine, dialect)).write_time
    assert done.write_time == pytest.approx(told, rel=0.01)


def test_the_head_of_the_program_has_the_project_of_its_machine() -> None:
    """With which `laserpath frame` and `resume` read it."""
    done = cone("grbl")
    saved = project.in_head(done.program, "cone.gcode")
    assert saved is not None
    process = request.process_of(saved.values)
    assert (process.machine.name, process.spot.fwhm) == (SPOKEN["grbl"].name, 0.4)
    assert "; Layers: 4, 2 of them planned, z 0.1 to 0.4 mm" in done.program


def test_one_program_for_each_layer(tmp_path: Path) -> None:
    done = cone("grbl")
    together = moves_of(done.program, SPOKEN["grbl"])
    written = done.write(tmp_path, apart=True)
    assert [path.name for path in written] == [f"cone-00{k}.gcode" for k in (1, 2, 3, 4)]
    for path, (z, _) in zip(written, CONE, strict=True):
        alone = moves_of(path.read_text(encoding="ascii"), SPOKEN["grbl"])
        assert set(np.round(alone.z[1:][alone.on], 6)) == {round(z, 6)}
        assert np.array_equal(lit_at(alone, z), lit_at(together, z))
    assert [path.name for path in done.write(tmp_path)] == ["cone.gcode"]


@pytest.mark.parametrize("name", one_fast(SPOKEN, "grbl"))
def test_a_layer_at_zero_of_several_goes_there(name: str, tmp_path: Path) -> None:
    """Its own program, too, is run after that of another height. A single layer at z 0 leaves Z alone."""
    process = replace(WIDE, machine=SPOKEN[name])
    layers, settings = [(0.0, SQUARE), (0.1, SQUARE)], replace(QUICK, iterations=0)
    done = laserpath.plan_layers(layers, process, settings)
    for path, (z, _) in zip(done.write(tmp_path, apart=True), layers, strict=True):
        rows = [line for line in path.read_text().splitlines() if line.startswith(("G0 X", "G1 X"))]
        assert f" Z{z:g}" in rows[0], rows[0]
    assert " Z" not in laserpath.plan_layers(layers[:1], process, settings).program


@pytest.mark.parametrize(
    ("tone", "origin"),
    [
        ("negative", "centre"),
        pytest.param("positive", "design", marks=pytest.mark.slow),
        pytest.param("negative", "design", marks=pytest.mark.slow),
        pytest.param("positive", "centre", marks=pytest.mark.slow),
    ],
)
def test_the_origin_is_that_of_all_layers(origin: str, tone: str) -> None:
    """Also of a positive resist, whose exposed sheet is larger than what is drawn."""
    process = replace(WIDE, resin=replace(WIDE.resin, tone=tone))
    settings = replace(QUICK, iterations=0, origin=origin, offset=(3.0, 4.0))
    layers = [(0.1, shapely.box(50, 50, 54, 54)), (0.2, shapely.box(51, 51, 52, 52))]
    done = laserpath.plan_layers(layers, process, settings)
    x0, y0, x1, y1 = done.stack.whole.bounds
    corner = (x0, y0) if origin == "design" else ((x0 + x1) / 2, (y0 + y1) / 2)
    assert corner == pytest.approx((3, 4))
    first, second = (one.design.bounds for one in done.plans)
    shift = np.subtract(second[:2], first[:2])
    assert shift == pytest.approx((1, 1)), "as drawn"


@pytest.mark.slow
def test_designs_and_files_are_layers_too(tmp_path: Path) -> None:
    (tmp_path / "low.wkt").write_text("POLYGON ((5 5, 8 5, 8 8, 5 8, 5 5))")
    layers = [(0.1, tmp_path / "low.wkt"), (0.2, Design(shapely.box(6, 6, 7, 7), "top"))]
    done = laserpath.plan_layers(layers, WIDE, replace(QUICK, iterations=0))
    assert [one.design.bounds for one in done.plans] == [(5, 5, 8, 8), (6, 6, 7, 7)]


@pytest.mark.slow
def test_uneven_layers_are_warned_of() -> None:
    layers = [(z, shapely.box(5, 5, 6, 6)) for z in (0.1, 0.2, 0.4)]
    done = laserpath.plan_layers(layers, WIDE, replace(QUICK, iterations=0))
    assert any(one.startswith("the layers are 0.1 to 0.2 mm thick") for one in done.warnings)
    from_zero = laserpath.plan_layers([(0.0, CONE[0][1]), *CONE[:1]], WIDE, replace(QUICK, iterations=0))
    assert not any("thick" in one for one in from_zero.warnings), "the first is not 0 mm thick"
    assert any(
        "as if alone, since resin 'generic 405 nm resin' has no working" in one for one in done.warnings
    )


SQUARE = shapely.box(5, 5, 6, 6)
TRAVELS = replace(WIDE, machine=Machine(z_travel=(0.0, 40.0), z_steps=400.0))


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        ([], "there are no layers to plan"),
        ([(0.2, SQUARE), (0.1, SQUARE)], r"layer 2 at z 0\.1 mm is below layer 1 at 0\.2 mm; give"),
        ([(0.1, SQUARE), (0.1, SQUARE)], r"layers 1 and 2 are both at z 0\.1 mm; join their areas"),
        ([(0.1, SQUARE), (0.2, shapely.Polygon())], r"layer at z 0\.2 mm: design 'design' is empty"),
        ([(0.1, SQUARE), (41.0, SQUARE)], r"layer 2 at z 41 mm is outside the 0 to 40 mm in which machine"),
        ([(float("nan"), SQUARE)], "the height of layer 1 is nan mm, but must be finite"),
        ([("low", SQUARE)], "the height of layer 1 is 'low', but must be a number"),
        ([SQUARE], r"layer 1 is of type Polygon, but must be a pair \(z, area\)"),
        ([(0.1, 5)], r"layer at z 0\.1 mm: design is of type int, but must be a file's name"),
        ([(0.1, SQUARE), (0.2, shapely.box(-1, 5, 1, 6))], r"layer at z 0\.2 mm: .* reaches from x = -1 to"),
        ([(0.1, SQUARE), (0.1024, SQUARE)], r"layers 1 and 2 are 2\.4 µm apart, less than the 2\.5 µm o"),
        ([(0.1, SQUARE), (0.2, shapely.box(8, 5, 9, 6))], r"layer 2 at z 0\.2 mm lies over nothing of layer"),
        ([(0.1, shapely.box(0, 0, 301, 1))], r"layer at z 0\.1 mm: .* scale or turn all of it where it was"),
    ],
    ids=["none", "falling", "equal", "empty", "beyond", "nan", "text", "no pair", "no area", "off", "thin",
         "beside", "long"],
)  # fmt: skip
def test_layers_that_cannot_be_planned_are_refused(layers: list[tuple[float, object]], sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}"):
        laserpath.plan_layers(layers, TRAVELS, QUICK)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [3, None, "cone.svg", SQUARE])
def test_what_is_no_list_of_layers_is_refused(given: object) -> None:
    with pytest.raises(InputError, match=r"^layers is of type \w+, but must be a list of pairs \(z, area\)$"):
        laserpath.plan_layers(given, TRAVELS, QUICK)  # type: ignore[arg-type]


def test_a_wait_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="settle is -1 s, but must be 0 s or more"):
        laserpath.plan_layers(CONE, WIDE, QUICK, settle=-1)
    with pytest.raises(InputError, match=r"machine z_travel is \(40, 40\) mm, but must be the lowest and"):
        Machine(z_travel=(40, 40))


def test_areas_that_are_the_same() -> None:
    one = shapely.box(0, 0, 5, 5)
    assert same(one, shapely.box(0.0005, 0, 5, 5.0005), 0.001)
    assert not same(one, shapely.box(0, 0, 5, 5.01), 0.001)
    assert not same(one, one.difference(shapely.box(2, 2, 3, 3), grid_size=NODING), 0.001)
    assert not same(one, affinity.translate(one, 0.5), 0.001)


def test_a_part_has_a_page_if_light_in_depth_is_planned() -> None:
    curve = Resin(critical_dose=0.14, e_c=0.085, penetration_depth=0.1)
    layers = [(0.05, shapely.box(0, 0, 1, 1)), (0.1, shapely.box(0, 0, 1, 1))]

    def names(resin: Resin, *, apart: bool = False, report: str = "full") -> list[str]:
        made = stacked(layers, Process(Spot(0.1), resin, Machine()), Settings(report=report), name="part")
        return [one.name for one in made.places(apart=apart)]

    assert names(Resin()) == ["part.gcode"]
    assert names(curve) == ["part.gcode", "part.report.html"]
    assert names(curve, apart=True) == ["part-001.gcode", "part-002.gcode", "part.report.html"]
    assert names(curve, report="brief") == ["part.gcode"]


def test_the_forecast_counts_the_dimming_of_layers() -> None:
    """Those near a change of area, above which the light differs from layer to layer, are searched for."""
    curve = Resin(critical_dose=0.14, e_c=0.085, penetration_depth=0.1)
    block, top = shapely.box(0, 0, 1, 1), shapely.box(0, 0, 2, 1)
    layers = [(0.05 * (k + 1), top if k >= 60 else block) for k in range(65)]

    def seconds(resin: Resin) -> float:
        stack = stacked(layers, Process(Spot(0.1), resin, Machine()), Settings())
        return sum(one.seconds([PlanPart.DIM]) for one in forecast_stack(stack))

    stack = stacked(layers, Process(Spot(0.1), curve, Machine()), Settings())
    assert searched(stack) == 21 + 5
    assert seconds(curve) > 0
    assert seconds(Resin()) == 0


def test_bottom_layers_are_refused_where_a_plan_aims_at_no_dose() -> None:
    with pytest.raises(InputError, match="bottom_layers is 2, but must be 0 in a resin with kinetics"):
        Resin(kinetics=Kinetics(0.15, 2.0, 100.0), bottom_layers=2, bottom_exposure=3)


def test_bottom_layers_get_more_light_than_those_above_and_are_planned_by_themselves() -> None:
    process = Process(Spot(0.2), Resin(bottom_layers=2, bottom_exposure=3), Machine())
    square = shapely.box(0, 0, 0.8, 0.8)
    done = laserpath.plan_layers([(0.05 * k, square) for k in (1, 2, 3, 4)], process, QUICK)
    assert done.stack.plan_of == (0, 0, 1, 1)
    peak = [float(one.report.executed.dose.max()) for one in done.each]
    assert 2.5 < peak[0] / peak[1] < 3.5
    said = " ".join(done.program.replace(";", "").split())
    assert "z 0.05 to 0.2 mm, the lowest 2 with 3 times the critical dose" in said
    assert done.stack.bottom([0]) == ", the lowest with 3 times the critical dose"
    assert not done.stack.bottom([2, 3])


def test_the_time_of_many_layers_is_that_of_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the hundredths of a second in which a program begins, however many are executed at once."""
    done = cone("grbl")
    whole = done.write_time
    monkeypatch.setattr(stacks, "TIMED_AT_ONCE", 1)
    assert replace(done).write_time == pytest.approx(whole, abs=3 * 0.06)


@pytest.mark.slow
def test_layers_that_are_planned_at_the_same_time_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, by another process or by this one."""
    layers = [(0.1 * k, shapely.Point(5, 5).buffer(2.1 - 0.3 * k)) for k in (1, 2, 3)]
    alone = laserpath.plan_layers(layers, WIDE, QUICK)
    runtime.use_processors(2)
    monkeypatch.setattr(stacks, "_SEVERAL", 0)
    heard: list[int] = []
    try:
        done = laserpath.plan_layers(layers, WIDE, QUICK, progress=lambda number, *_: heard.append(number))
        assert done.program == alone.program
        assert [one.solution.loss.tolist() for one in done.each] == [
            one.solution.loss.tolist() for one in alone.each
        ]
        assert heard == sorted(heard)
        assert len(set(heard)) < 3, "a worker does the others, and is not heard"
    finally:
        runtime.use_processors(None)


def test_layers_thicker_than_the_critical_dose_cures_are_warned_of_before_they_are_planned() -> None:
    """By the working curve it cures D_p ln(D_c/E_c): here through 0.05 mm."""
    resin = Resin(critical_dose=0.085 * np.exp(0.5), e_c=0.085, penetration_depth=0.1)
    warned = {
        h: any("do not hold together" in one for one in stack.notes)
        for h in (0.05, 0.1)
        for stack in [stacked([(h, SQUARE), (2 * h, SQUARE)], replace(WIDE, resin=resin), QUICK)]
    }
    assert warned == {0.05: False, 0.1: True}


@pytest.mark.parametrize("origin", ["own", "design", "centre"])
def test_what_cannot_print_is_named_where_it_was_drawn_also_if_the_part_hangs(origin: str) -> None:
    steps = [
        shapely.box(5, 5, 8, 8),
        shapely.MultiPolygon([shapely.box(5, 5, 6, 8), shapely.box(9, 5, 10, 6)]),
    ]
    layers = list(zip((0.05, 0.1), steps, strict=True))
    below = replace(WIDE, machine=replace(WIDE.machine, layer_change=LayerChange("below")))
    settings = replace(QUICK, origin=origin)
    above, hung = (stacked(layers, process, settings).hanging for process in (WIDE, below))
    assert [one.sentence for one in hung] == [one.sentence for one in above] != []
    assert hung[0].place != above[0].place, "which is exposed at the other end"


def test_layers_that_begin_high_above_are_as_thick_as_they_are_apart() -> None:
    assert thickness_of([5.0, 5.1, 5.2]) == pytest.approx([0.1] * 3)
    assert thickness_of([0.0, 0.1]) == pytest.approx([0.1] * 2)
    assert thickness_of([0.2]) == pytest.approx([0.2])


def test_each_warning_of_layers_is_told_once_with_its_layers() -> None:
    """What the machine says of all of them has no layer; what differs in figures only is one warning."""
    slow = replace(Machine(), host_delay=16e-3)
    areas = [shapely.box(0, 0, 2, 1)] * 2 + [NEEDLE, affinity.scale(NEEDLE, 1, 0.8), shapely.box(0, 0, 2, 1)]
    layers = [(0.1 * k, area) for k, area in enumerate(areas, 1)]
    done = laserpath.plan_layers(layers, replace(WIDE, machine=slow), replace(QUICK, iterations=0))
    (host,) = [one for one in done.warnings if "host" in one]
    assert host.startswith("the host answers after 16 ms")
    (fine,) = [one for one in done.warnings if "narrower than" in one]
    assert fine.startswith("layers 3 to 4 (figures of layer 3): 1 feature narrower than 0.2 mm")
    assert f"Warning: {fine}"[:60] in done.program
    assert told_once([["a 1", "a 2"], []], stacks.layers_named) == ("layer 1: a 1", "layer 1: a 2")
    assert told_once([["a"], ["b 1"], [], ["a", "b 1"], ["a"]], stacks.layers_named) == (
        "layers 1 and 4 to 5: a", "layers 2 and 4: b 1",
    )  # fmt: skip
