"""Between laserpath's mW and the machine's fractions."""

from __future__ import annotations

import numpy as np
import pytest

import gcode
from gcode import Kind, Limits
from gcode.motion import Grbl, Klipper, Marlin
from laserpath.base.errors import InputError
from laserpath.machine import convert
from laserpath.types import Machine, Toolpath

MACHINE = Machine(power_max=10.0)
PATH = Toolpath([[0, 0], [1, 0], [5, 0], [5, 5]], [0, 4, 10], [7, 50, 20])


def test_there_and_back() -> None:
    moves = convert.to_moves(PATH, MACHINE)
    assert moves.kind.tolist() == [Kind.LINE, Kind.LINE, Kind.LINE]
    np.testing.assert_array_equal(moves.speed, PATH.speed)
    assert moves.dynamic.all(), "GRBL scales the power itself"
    assert not convert.to_moves(PATH, Machine(dialect="klipper")).dynamic.any()
    np.testing.assert_allclose(moves.power, [0, 0.4, 1])
    back = convert.from_moves(moves, MACHINE)
    np.testing.assert_allclose(back.line_energy, PATH.line_energy)
    np.testing.assert_array_equal(back.xy, PATH.xy)


@pytest.mark.parametrize("dialect", ["grbl", "marlin", "klipper", "linuxcnc"])
def test_a_dark_move_is_a_rapid_only_if_it_is_as_fast_as_one(dialect: str) -> None:
    """A rapid ignores its speed, so a dark move below that is a line without power, in the text, too."""
    machine = Machine(dialect=dialect, rapid_speed=(200.0, 200.0))
    path = Toolpath(PATH.xy, [0, 0, 4], [200, 60, 20])
    moves = convert.to_moves(path, machine)
    assert moves.kind.tolist() == [Kind.RAPID, Kind.LINE, Kind.LINE]
    own = gcode.dialect(dialect)
    back = gcode.parse(gcode.write(moves, own, machine.s_max), own, machine.s_max, rapid_speed=200.0)
    assert back.kind[-3:].tolist() == [Kind.RAPID, Kind.LINE, Kind.LINE]
    np.testing.assert_allclose(back.speed[-2:], [60, 20])
    assert back.on[-3:].tolist() == [False, False, True]


def test_through_the_text() -> None:
    dialect = gcode.dialect(MACHINE.dialect)
    text = gcode.write(convert.to_moves(PATH, MACHINE), dialect, MACHINE.s_max)
    back = convert.from_moves(gcode.parse(text, dialect, MACHINE.s_max), MACHINE)
    np.testing.assert_allclose(back.line_energy, PATH.line_energy, rtol=1e-5)


@pytest.mark.parametrize("passes", [1, 2, 3, 7])
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(("level_min", "offset"), [(1, 0.0), (4, 0.0), (1, 1.0), (7, -6.0)])
def test_passes_add_up_to_the_same_energy(passes: int, order: int, level_min: int, offset: float) -> None:
    machine = Machine(level_min=level_min, level_offset=offset)
    power = machine.power_of(np.arange(level_min, 256))
    n = len(power)
    path = Toolpath(np.c_[np.arange(n + 1), np.zeros(n + 1)], power, np.full(n, 50.0))
    moves = convert.to_moves(path, machine, passes, order)
    assert len(moves) == passes * n + passes - 1
    dealt = np.stack([moves.power[k * (n + 1) : k * (n + 1) + n] for k in range(passes)]) * machine.power_max
    np.testing.assert_allclose((dealt**order).sum(axis=0), power**order)
    lit = dealt > 0
    assert dealt[lit].min() >= machine.power_min * (1 - 1e-9), "no pass is below the smallest usable level"
    last = lit & (np.cumsum(lit, axis=0) == lit.sum(axis=0))
    levels = machine.level_for(dealt[lit & ~last])
    np.testing.assert_allclose(levels, np.rint(levels), atol=1e-6)
    assert moves.rapid.sum() == passes - 1
    np.testing.assert_array_equal(moves.xy[-n - 1], path.xy[0])


def test_too_much_power_is_refused() -> None:
    with pytest.raises(InputError, match="power 11 mW is above the machine's 10 mW"):
        convert.to_moves(Toolpath([[0, 0], [1, 0]], [11], [1]), MACHINE)
    with pytest.raises(InputError, match="passes is 0, but must be at least 1"):
        convert.to_moves(PATH, MACHINE, 0)


def test_limits_are_the_machine_s() -> None:
    limits = convert.limits(Machine(acceleration=(500, 200), look_ahead=8, rapid_speed=(90, 80)))
    # A planner of 8 moves sees 7 of them ahead of the one that it plans.
    assert (limits.acceleration, limits.look_ahead, limits.rapid) == ((500, 200), 7, (90, 80))


@pytest.mark.parametrize(
    ("dialect", "kind"),
    [("grbl", Grbl), ("grblhal", Grbl), ("marlin", Marlin), ("klipper", Klipper), ("linuxcnc", Limits)],
)
def test_each_dialect_moves_as_its_controller(dialect: str, kind: type) -> None:
    machine = Machine(dialect=dialect, steps=(80, 160), acceleration=(400, 300), baud=250000)
    controller = convert.controller(machine)
    assert isinstance(controller, kind)
    if isinstance(controller, Grbl | Marlin):
        assert (controller.acceleration[:2], controller.steps[:2]) == ((400, 300), (80, 160))
        assert controller.baud == 250000


def test_marlin_needs_more_than_a_few_blocks() -> None:
    """The sentence has the key of the profile, not the buffer of the model."""
    said = "machine look_ahead is 2, but must be at least 3 for Marlin"
    with pytest.raises(InputError, match=said):
        Machine(dialect="marlin", look_ahead=2)
    small = Machine(look_ahead=2)
    with pytest.raises(InputError, match=said):
        convert.envelope(small, gcode.dialect("marlin"))
    assert convert.controller(small) == convert.envelope(small, gcode.dialect("grbl")).controller
    assert isinstance(convert.controller(Machine(dialect="marlin", look_ahead=3)), Marlin)


def test_full_power_is_the_dialect_s_unless_given() -> None:
    assert (Machine().s_max, Machine(dialect="marlin").s_max) == (1000, 255)
    assert Machine(dialect="marlin", s_max=100).s_max == 100


def test_klipper_plans_with_its_square_corner() -> None:
    machine = Machine(dialect="klipper", square_corner_velocity=8)
    assert convert.limits(machine).junction_deviation == pytest.approx(64 * (2**0.5 - 1) / 500)


def test_a_lit_dwell_keeps_its_energy_at_its_place() -> None:
    xy = [[0, 0], [1, 0], [1, 0], [1, 0], [3, 0]]
    power, kind, dwell = [0.5, 0.2, 0, 0.5], [1, 4, 4, 1], [0, 0.5, 0.5, 0]
    moves = gcode.Moves(xy, power, [10, 1, 1, 10], kind, dwell=dwell)
    path = convert.from_moves(moves, MACHINE)
    energy = path.power / path.speed * path.length
    assert energy.sum() == pytest.approx(10 * (0.5 * 0.1 + 0.2 * 0.5 + 0.5 * 0.2))
    there = path.length < 1e-3
    assert energy[there].sum() == pytest.approx(10 * 0.2 * 0.5)
    np.testing.assert_allclose(path.xy[:-1][there][0], [1, 0], atol=1e-5)


def test_an_arc_becomes_its_chords() -> None:
    moves = gcode.Moves([[5, 0], [-5, 0]], [0.5], [20], [3], centre=[[0, 0]])
    path, row = convert.toolpath_of(moves, MACHINE)
    assert set(row) == {0}
    assert path.length.sum() == pytest.approx(5 * np.pi, rel=1e-3)
    np.testing.assert_allclose(np.hypot(*path.xy.T), 5)
