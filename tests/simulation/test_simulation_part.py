"""A program of a part, all of whose layers are executed and exposed: it gets the figures of its plan."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
import shapely
from builders import design

import gcode
import laserpath
from laserpath.base.errors import InputError
from laserpath.machine.convert import envelope
from laserpath.simulation import PlacedPart, simulate_part
from laserpath.simulation.part import _LayerDoses
from laserpath.types import Grid, LayerChange, Machine, Process, Resin, Settings, Spot

CURVE = Resin(critical_dose=0.085 * math.exp(0.5), e_c=0.085, penetration_depth=0.1)
MACHINE = Machine(z_travel=(0.0, 40.0), layer_change=LayerChange("below", 1.0, settle=2.0))
PROCESS = Process(Spot(0.1), CURVE, MACHINE)
QUICK = Settings(origin="design", initial="contour", iterations=0, pixels_per_fwhm=3.0)
BOX = shapely.box(1.0, 1.0, 1.4, 1.2)
LEG, TOP = shapely.box(0, 0, 0.4, 0.4), shapely.box(0, 0, 0.8, 0.4)
SHELF = [(0.05, LEG), (0.1, LEG), (0.15, TOP), (0.2, TOP), (0.25, TOP)]


@cache
def shelf() -> laserpath.LayerPlans:
    return laserpath.plan_layers(SHELF, PROCESS, QUICK, name="shelf")


def placed() -> PlacedPart:
    stack = shelf().stack
    return PlacedPart(stack.whole, stack.layers)


ROW = "G1 X0.2 S500 F300\n"
LAYERS = {
    "G2 X0.2 Y0.1 I0.1 J-0.05 S500 F300\n": "G2 X0.2 Y0.1 I0.1 J0 S500 F300\n",
    ROW: "M4\n" + ROW,
    ROW + "G4 P0.1\n": ROW + "G4 P0.4\n",
}
"""Layers, and others that differ in one way: the centre of an arc, the mode of the laser, a lit wait."""


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_has_the_dose_of_an_earlier_one_if_both_are_alike(layer: str) -> None:
    def dose(one: str, other: str) -> list[object]:
        text = f"G21 G90\nM3\nG0 X0 Y0.1\nS500\n{one}S0\nM3\nG0 X0 Y0.1\nS500\n{other}S0\nM5\n"
        program = gcode.read(text, gcode.dialect("grbl"), 1000, start=(0, 0))
        moves = program.moves
        cut = next(k for k in range(len(moves) // 2, len(moves)) if not moves.on[k])
        source = SimpleNamespace(moves=moves, program=program)
        doses = _LayerDoses(source, PROCESS, Grid((-0.2, -0.2), 0.02, (40, 40)))
        return [doses.of(0, cut), doses.of(cut, len(moves))]

    first, second = dose(layer, layer)
    assert first is second
    first, second = dose(layer, LAYERS[layer])
    assert first is not second


def block(*heights: float, power: int = 15, hop: float = 0.0) -> str:
    """A program of any tool: lines that fill 0.4 × 0.2 mm at each height. hop: mm, of Z between lines."""
    lines = ["G17", "G21", "G90", "M4 S0"]
    for z in heights:
        lines.append(f"G0 Z{z:g}")
        for k, y in enumerate((0.025, 0.075, 0.125, 0.175)):
            start = f"G0 X1.03 Y{1 + y:g}"
            lines += [f"G0 Z{z + hop:g}", start, f"G0 Z{z:g}"] if hop and k else [start]
            lines += [f"G1 X1.37 Y{1 + y:g} S{power} F600"]
    return "\n".join([*lines, "M5", ""])


BLOCK = PlacedPart(
    design(BOX, name="block"), tuple((z, design(BOX, name="block")) for z in (0.05, 0.1, 0.15))
)


def test_any_tool_s_program_cures_more_with_more_power_and_the_same_if_z_is_lifted_between_lines() -> None:
    once, lifted, twice = (
        simulate_part(program, PROCESS, BLOCK)
        for program in (
            block(0.05, 0.1, 0.15), block(0.05, 0.1, 0.15, hop=0.2), block(0.05, 0.1, 0.15, power=30)
        )
    )  # fmt: skip
    assert once.warnings == ()
    assert once.cured.wrong < 0.5 * once.cured.volume
    assert twice.cured.excess > 1.2 * once.cured.excess
    # Not quite: each line begins at rest, so its ends are a little brighter or darker.
    assert lifted.cured.excess == pytest.approx(once.cured.excess, rel=0.05)
    assert lifted.cured.missing == pytest.approx(once.cured.missing, abs=0.01 * once.cured.volume)
    assert lifted.write_time > once.write_time


def test_a_rest_of_a_part_names_the_layers_that_it_lacks() -> None:
    with pytest.raises(InputError, match=r"has 2 of the 3 layers of 'block', and none at Z 0\.05 mm"):
        simulate_part(block(0.1, 0.15), PROCESS, BLOCK)
    with pytest.raises(InputError, match=r"simulate one layer, as by --z 0\.05, or put e_c"):
        simulate_part(block(0.1), replace(PROCESS, resin=Resin()), BLOCK)


def test_plan_check_and_simulation_tell_the_same_write_time() -> None:
    """The way from the work zero is part of it, and every stop. A part's plan takes lines of usual length."""
    done, grbl = shelf(), gcode.dialect("grbl")
    checked = gcode.examine(done.program, grbl, envelope(MACHINE, grbl)).write_time
    assert done.write_time == pytest.approx(checked, rel=4e-3)
    assert simulate_part(done.program, PROCESS, placed()).write_time == pytest.approx(checked, rel=1e-3)


@pytest.mark.slow
def test_a_plan_s_own_program_gets_the_figures_of_the_plan() -> None:
    """Light from below, so that its layers are mirrored and Z is lifted between them."""
    done = simulate_part(shelf().program, PROCESS, placed(), name="shelf.gcode")
    found = shelf().in_depth
    assert found is not None
    assert done.cured.missing == pytest.approx(found.cured.missing, rel=0.02)
    assert done.cured.excess == pytest.approx(found.cured.excess, rel=0.02)
    assert done.cured.overhangs[0].through == pytest.approx(found.cured.overhangs[0].through, abs=1e-3)
    assert done.surface.mean == pytest.approx(found.surface.mean, rel=0.02)
    assert "each layer alone" not in done.page()
    assert done.as_dict()["cured"]["missing_mm3"] == done.cured.missing


@pytest.mark.slow
def test_twice_the_power_cures_farther_through() -> None:
    """What is found is of the program, not of a plan."""
    brighter = replace(PROCESS, machine=replace(MACHINE, power_max=20.0))
    once, twice = (simulate_part(shelf().program, one, placed()) for one in (PROCESS, brighter))
    more = twice.cured.overhangs[0].through - once.cured.overhangs[0].through
    assert 0.02 < more <= 0.1 * math.log(2) * 1.1, "D_p ln 2 at most, and less down to the plate"


@pytest.mark.slow
def test_a_program_of_other_layers_is_refused() -> None:
    fewer = replace(placed(), layers=placed().layers[:-1])
    with pytest.raises(
        InputError, match=r"has 5 layers, Z 0\.05 to 0\.25 mm, and 'shelf' has 4, 0\.05 to 0\.2 mm"
    ):
        simulate_part(shelf().program, PROCESS, fewer)
    with pytest.raises(InputError, match="has no working curve, so what the light of all layers cures"):
        simulate_part(shelf().program, replace(PROCESS, resin=Resin()), placed())
