"""Between laserpath's mW and the machine's fractions."""

from __future__ import annotations

import numpy as np
import pytest

import gcode
from laserpath import convert
from laserpath.errors import InputError
from laserpath.types import Machine, Toolpath

MACHINE = Machine(power_max=10.0)
PATH = Toolpath([[0, 0], [1, 0], [5, 0], [5, 5]], [0, 4, 10], [7, 50, 20])


def test_there_and_back() -> None:
    moves = convert.to_moves(PATH, MACHINE)
    assert moves.kind.tolist() == ["rapid", "lit", "lit"]
    np.testing.assert_allclose(moves.power, [0, 0.4, 1])
    back = convert.from_moves(moves, MACHINE)
    np.testing.assert_allclose(back.line_energy, PATH.line_energy)
    np.testing.assert_array_equal(back.xy, PATH.xy)


def test_through_the_text() -> None:
    dialect = gcode.dialect(MACHINE.dialect)
    text = gcode.write(convert.to_moves(PATH, MACHINE), dialect, MACHINE.s_max)
    back = convert.from_moves(gcode.parse(text, dialect, MACHINE.s_max), MACHINE)
    np.testing.assert_allclose(back.line_energy, PATH.line_energy, rtol=1e-5)


@pytest.mark.parametrize("passes", [1, 2, 3, 7])
@pytest.mark.parametrize("level_min", [1, 4])
def test_passes_add_up_to_the_same_energy_in_whole_levels(passes: int, level_min: int) -> None:
    machine = Machine(level_min=level_min)
    levels = np.arange(4, 256)
    n = len(levels)
    path = Toolpath(np.c_[np.arange(n + 1), np.zeros(n + 1)], levels * machine.power_step, np.full(n, 50.0))
    moves = convert.to_moves(path, machine, passes)
    assert len(moves) == passes * n + passes - 1
    dealt = np.stack([moves.power[k * (n + 1) : k * (n + 1) + n] for k in range(passes)]) * 255
    np.testing.assert_allclose(dealt, np.rint(dealt), atol=1e-9)
    np.testing.assert_allclose(dealt.sum(axis=0), levels)
    assert (np.rint(dealt[dealt > 0]) >= level_min).all()
    assert moves.rapid.sum() == passes - 1
    np.testing.assert_array_equal(moves.xy[-n - 1], path.xy[0])


def test_too_much_power_is_refused() -> None:
    with pytest.raises(InputError, match="power 11 mW is above the machine's 10 mW"):
        convert.to_moves(Toolpath([[0, 0], [1, 0]], [11], [1]), MACHINE)
    with pytest.raises(InputError, match="passes is 0, but must be at least 1"):
        convert.to_moves(PATH, MACHINE, 0)


def test_limits_are_the_machine_s() -> None:
    limits = convert.limits(Machine(acceleration=(500, 200), look_ahead=8, rapid_speed=(90, 80)))
    assert (limits.acceleration, limits.look_ahead, limits.rapid) == ((500, 200), 8, (90, 80))
