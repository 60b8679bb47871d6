"""How a level becomes light: the pin of an ATmega, the timers of other boards, a diode with a threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcode import GcodeError, Limits, Moves
from gcode.motion import Controller, Grbl, Klipper, LightCurve, Marlin, execute
from gcode.motion.response import PowerRules, light

LINE = Moves.straight([[0, 0], [2, 2], [18, 2]], [0, 0.1], [100, 50], [True, False], dynamic=True)
CONTROLLERS = pytest.mark.parametrize("controller", [Limits(), Grbl(), Klipper(), Marlin()])


def test_fast_pwm_is_lit_for_one_clock_more_than_its_register_says() -> None:
    """Simulated as the data sheet has it: the counter runs 0…255, and the pin is lit up to the register."""
    counter = np.arange(256)
    lit = [float((counter <= level).mean()) for level in range(1, 256)]
    np.testing.assert_allclose(LightCurve(1).of(np.arange(1, 256) / 255, 255), lit)
    assert LightCurve(1).of(np.zeros(1), 255) == 0, "GRBL takes the timer off the pin"


def test_other_boards_shine_in_proportion_to_the_level() -> None:
    power = np.arange(256) / 255
    np.testing.assert_allclose(LightCurve().of(power, 255), power)


def test_a_diode_is_dark_up_to_its_threshold() -> None:
    light = LightCurve(-20).of(np.arange(101) / 100, 100)
    assert not light[:21].any()
    np.testing.assert_allclose(light[20:], np.arange(81) / 80)


@given(st.floats(-99, 300), st.integers(100, 5000))
def test_more_power_is_never_less_light(offset: float, levels: int) -> None:
    light = LightCurve(offset).of(np.linspace(0, 1, 3001), levels)
    assert (np.diff(light) >= 0).all()
    assert light[0] == 0 and light[-1] == pytest.approx(1)


@given(st.floats(-50, 50), st.lists(st.integers(0, 1), min_size=2, max_size=9))
def test_levels_0_and_1_in_turn_have_the_mean_of_their_light(offset: float, levels: list[int]) -> None:
    curve, power = LightCurve(offset), np.array(levels) / 255
    assert curve.of(power.mean(keepdims=True), 255) == pytest.approx(curve.of(power, 255).mean())


@given(st.floats(-3, 50), st.integers(4, 1000), st.integers(1, 1000))
def test_the_level_of_a_light_gives_that_light(offset: float, levels: int, level: int) -> None:
    level = min(max(level, 1 + int(-min(offset, 0))), levels)
    curve = LightCurve(offset)
    light = curve.of(np.array([level / levels]), levels)
    assert curve.level(light, levels) == pytest.approx(level)
    assert curve.of(curve.level(0.7 * light, levels) / levels, levels) == pytest.approx(0.7 * light)


@given(st.integers(0, 255), st.sampled_from([0.0, 1.0, -3.0]), st.booleans())
def test_compiled_code_has_the_same_light(level: int, offset: float, after: bool) -> None:
    rules = PowerRules(after, 255, offset, 1 / 255, 1, 255, 1)
    assert light(rules, 1.0, level) == pytest.approx(float(LightCurve(offset).of(np.array(level / 255), 255)))


@CONTROLLERS
def test_the_light_of_an_execution_is_that_of_its_levels(controller: Controller) -> None:
    done = execute(LINE, controller, power_levels=255, light=LightCurve(1))
    plain = execute(LINE, controller, power_levels=255)
    np.testing.assert_array_equal(done.power, plain.power)
    np.testing.assert_array_equal(plain.light, plain.power)
    lit = done.power >= 1 / 255
    np.testing.assert_allclose(done.light[lit], (done.power[lit] * 255 + 1) / 256)
    assert not done.light[done.power == 0].any()


@CONTROLLERS
def test_exposure_energies_and_moves_are_of_light(controller: Controller) -> None:
    done = execute(LINE, controller, power_levels=255, light=LightCurve(1))
    real = float(done.light @ done.duration)
    assert real > 1.02 * float(done.power @ done.duration), "one level of some 25 more"
    assert done.exposure == pytest.approx(real)
    assert done.energies(2).sum() == pytest.approx(real)
    moves = done.moves()
    assert moves.power @ moves.duration == pytest.approx(real)


def test_continuous_power_is_light() -> None:
    done = execute(LINE, Limits(), light=LightCurve(1))
    np.testing.assert_array_equal(done.light, done.power)


def test_an_offset_that_leaves_all_dark_is_refused() -> None:
    with pytest.raises(GcodeError, match="light offset is -255, but must be above -255, or all is dark"):
        LightCurve(-255).of(np.ones(1), 255)
    with pytest.raises(GcodeError, match="light offset is nan, but must be finite"):
        LightCurve(float("nan"))
