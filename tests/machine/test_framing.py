"""The framing pass goes around the box, and leaves less than a hundredth of the critical dose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from scipy.integrate import quad

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.machine import convert
from laserpath.machine.framing import LAPS, SAFE, dim_tour, frame, frame_dose, framing_pass
from laserpath.machine.program import MachineProgram
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel
from laserpath.types import Design, Grid, Machine, Process, Resin, Spot

DESIGN = Design(
    shapely.MultiPolygon([shapely.Point(12, 7).buffer(3), shapely.box(20, 1, 22, 4)]), "two parts"
)
NAMES = ("grbl", "grblhal", "marlin", "klipper", "linuxcnc", "smoothieware", "generic")


def slow_resin(machine: Machine) -> Process:
    """For which two laps of the machine's weakest light, and not three, are safe."""
    once = frame_dose(Process(machine=machine), 1) * Process().resin.critical_dose
    return Process(Spot(), Resin(critical_dose=2.5 * once / SAFE), machine)


def moves(process: Process, lit: bool = False) -> gcode.Moves:
    machine = process.machine
    return gcode.parse(frame(DESIGN, process, lit=lit), gcode.dialect(machine.dialect), machine.s_max)


def lit_lines(framed: gcode.Moves) -> Floats:
    return shapely.linestrings(np.stack([framed.xy[:-1], framed.xy[1:]], axis=1)[framed.on])


@pytest.mark.parametrize("lit", [False, True])
@pytest.mark.parametrize("process", [Process(), slow_resin(Machine())], ids=["usual", "slow resin"])
def test_it_goes_around_the_bounding_box(process: Process, lit: bool) -> None:
    framed = moves(process, lit)
    assert (*framed.xy.min(axis=0), *framed.xy.max(axis=0)) == pytest.approx(DESIGN.bounds, abs=1e-3)
    box = shapely.box(*DESIGN.bounds).exterior
    assert shapely.distance(box, shapely.points(framed.xy)).max() < 1e-3
    assert framed.length.sum() >= 2 * box.length * (1 - 1e-3)


def test_it_is_dark_where_one_lap_is_too_much() -> None:
    assert frame_dose(Process(), 1) > SAFE
    assert not moves(Process()).on.any()
    assert not framing_pass(DESIGN.extent, Process()).lit


def test_it_is_dark_where_the_head_never_reaches_its_speed() -> None:
    done = framing_pass((0, 0, 3, 3), slow_resin(Machine()))
    assert not done.lit
    assert done.dose == 0


def test_on_demand_it_is_lit_all_the_way_round() -> None:
    framed, box = moves(Process(), lit=True), shapely.box(*DESIGN.bounds).exterior
    assert shapely.distance(lit_lines(framed), box).max() < 1e-3
    assert framed.length[framed.on].sum() == pytest.approx(LAPS * box.length, rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_what_it_leaves_is_below_a_hundredth_wherever_it_is_looked_for(name: str) -> None:
    """As executed, at corners and along the sides; each side holds about 5 mm of light."""
    machine = replace(Machine(dialect=name), speed_max=(40.0, 40.0), acceleration=(800.0, 800.0))
    process = slow_resin(machine)
    box = (5.0, 5.0, 12.0, 13.0)
    done = framing_pass(box, process)
    assert done.lit and done.laps == 2
    assert done.dose <= SAFE
    text = frame(Design(shapely.box(*box)), process)
    read = gcode.parse(text, gcode.dialect(name), machine.s_max, rapid_speed=min(machine.rapid_speed))
    executed = MachineProgram.of(convert.from_moves(read, machine), process).executed
    grid = Grid((4.8, 4.8), 0.04, (211, 186))
    dose = DoseModel(grid, process.spot).dose(executed) / process.resin.critical_dose
    assert dose.max() == pytest.approx(done.dose, rel=0.05)
    corners = dose[np.ix_([*range(10), *range(-10, 0)], [*range(10), *range(-10, 0)])]
    assert corners.max() < 0.1 * SAFE


def test_it_burns_at_the_smallest_usable_power() -> None:
    machine = replace(Machine(), level_min=3)
    framed = moves(Process(machine=machine), lit=True)
    assert framed.power[framed.on] == pytest.approx(3 / machine.power_levels, rel=1e-3)


def test_its_program_says_what_it_does_to_resin() -> None:
    assert "CAUTION: laser radiation" in frame(DESIGN, Process())
    assert "2 dark laps" in frame(DESIGN, Process())
    assert "with it covered" in " ".join(frame(DESIGN, Process(), lit=True).split("\n; "))


def test_the_dose_that_it_states_is_that_of_a_line() -> None:
    spot = Spot(0.07)
    process = replace(Process(), spot=spot)
    across = 2 * sum(
        quad(lambda r: float(optics.profile(spot, r)), k * spot.fwhm, (k + 1) * spot.fwhm)[0]
        for k in range(300)
    )
    machine = process.machine
    q = LAPS * machine.power_min / min(machine.speed_max)
    assert frame_dose(process) == pytest.approx(q * across / process.resin.critical_dose, rel=1e-3)


# A dim tour of marks

AT = {"A": (5.0, 5.0), "B": (15.0, 5.0)}


def weak(name: str, share: float) -> Process:
    """A process whose weakest light leaves a share of `SAFE` in 2 s at rest."""
    machine, usual = Machine(dialect=name), Process()
    dose = float(machine.power_of(machine.level_min)) * 2.0 * float(optics.profile(usual.spot, 0.0))
    power = machine.power_max * share * SAFE * usual.resin.critical_dose / dose
    return replace(usual, machine=replace(machine, power_max=power))


@pytest.mark.parametrize("name", ["grbl", "grblhal", "klipper", "linuxcnc"])
def test_a_dim_tour_stays_below_a_hundredth_while_it_waits(name: str) -> None:
    """By the program as it is read back and executed; and one whose light is too bright is refused."""
    process = weak(name, 0.99)
    dialect, full = convert.dialect_of(process.machine), process.machine.s_max
    text, left = dim_tour(AT, process, "board", 2.0)
    assert left == pytest.approx(0.99 * SAFE, rel=0.005)  # the last line is sent while it still stands lit
    read = gcode.verify(text, dialect, full, asked=gcode.parse(text, dialect, full)).moves
    assert read.still[read.on].all()
    assert read.xy[1:][read.on].tolist() == [list(xy) for xy in AT.values()]
    with pytest.raises(
        InputError, match=r"leaves 0\.010\d critical doses where it stands for 2 s, above 0\.01"
    ):
        dim_tour(AT, weak(name, 1.01), "board", 2.0)


@pytest.mark.parametrize("name", ["marlin", "smoothieware", "generic"])
def test_some_controllers_light_no_head_at_rest(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} does not light a head at rest"):
        dim_tour(AT, Process(machine=Machine(dialect=name)), "board", 2.0)


def test_marks_in_one_spot_add_up() -> None:
    process = weak("grbl", 0.6)
    dim_tour(AT, process, "board", 2.0)
    with pytest.raises(InputError, match=r"leaves 0\.012 critical doses"):
        dim_tour({"A": (5.0, 5.0), "B": (5.0, 5.001)}, process, "board", 2.0)
