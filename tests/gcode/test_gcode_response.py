"""The light of an execution as a function of the commanded powers, and the powers for given energies.

How a level becomes light: the pin of an ATmega, the timers of other boards, a diode with a threshold.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcode
from gcode import GcodeError, Limits, Moves
from gcode.motion import (
    Board,
    Controller,
    Grbl,
    Klipper,
    LightCurve,
    Marlin,
    Response,
    energies_due,
    execute,
    with_energies,
)
from gcode.motion.response import PowerRules, light
from gcode.move import Floats
from gcode.writing.layout import power_digit

LEVELS, LONGEST = 255, 0.05
PIN = Board(LEVELS, LightCurve(1.0), digit=1e-4, level_min=2)
EXACT = pytest.mark.parametrize(
    "controller", [Grbl(steps=(250, 250, 250)), Klipper(), Limits()], ids=["grbl", "klipper", "limits"]
)
ALL = pytest.mark.parametrize("controller", [Grbl(), Klipper(), Limits(), Marlin()])


def wiggle(controller: Controller, moves: int = 40) -> Moves:
    """Lines of 0.1 to 0.4 mm with corners, three of them dark, that the head seldom takes at full speed."""
    rng = np.random.default_rng(3)
    turn = np.cumsum(rng.normal(0, 0.6, moves))
    way = rng.uniform(0.1, 0.4, moves)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    power = rng.uniform(0.02, 0.6, moves)
    power[[0, 13, 27]] = 0
    return Moves.straight(
        np.vstack([[1, 1], [1, 1] + np.cumsum(way, axis=0)]), power, np.full(moves, 20.0), power < 0,
        dynamic=isinstance(controller, Grbl),
    )  # fmt: skip


def shone(moves: Moves, controller: Controller, board: Board) -> Floats:
    """(P,) the light that the controller's model gives."""
    return execute(
        moves, controller, power_levels=board.power_levels, light=board.light, longest=LONGEST
    ).light


@EXACT
@pytest.mark.parametrize("board", [PIN, Board(), replace(PIN, light=LightCurve(-3.0))])
def test_the_light_is_that_of_an_execution_with_the_powers(controller: Controller, board: Board) -> None:
    moves, rng = wiggle(controller), np.random.default_rng(5)
    response = Response.of(moves, controller, board, longest=LONGEST)
    for _ in range(3):
        power = np.where(moves.on, rng.uniform(0.01, 1.0, len(moves)), 0.0)
        executed = shone(replace(moves, power=power), controller, board)
        np.testing.assert_allclose(response.light(power), executed, rtol=1e-12, atol=1e-12)


def test_marlin_s_light_is_within_a_level_of_an_execution() -> None:
    """Its own trapezoid depends on the power; the response is that around the commanded one."""
    moves = wiggle(Marlin())
    response = Response.of(moves, Marlin(), PIN, longest=LONGEST)
    light, level = response.light(moves.power), np.maximum(response.share, 1) / LEVELS
    assert (np.abs(light - shone(moves, Marlin(), PIN)) <= level).all()
    assert light.max() > 20 * level.min()


@ALL
def test_no_power_comes_nearer_to_an_energy(controller: Controller) -> None:
    moves = wiggle(controller)
    response = Response.of(moves, controller, PIN, longest=LONGEST)
    due = energies_due(moves) * np.random.default_rng(2).uniform(0.5, 1.5, len(moves))
    reached = response.energies(response.light(response.powers(due)))
    # All powers that can be written, from that of the smallest level on.
    digits = np.arange(response.rules.lowest, response.rules.highest + 1, dtype=np.float64)
    for row in np.flatnonzero(due)[:6]:
        here = slice(response.first[row], response.first[row + 1])
        one = Response(_pieces(response, here), response.share[here], np.array([0, 0]), response.rules)
        possible = np.array([
            float(one.light(np.array([digit * PIN.digit])) @ one.run.duration) for digit in digits[::4]
        ])  # fmt: skip
        assert abs(reached[row] - due[row]) <= np.abs(possible - due[row]).min() * (1 + 1e-9)


def _pieces(response: Response, here: slice) -> gcode.motion.Executed:
    """The pieces of one row, as an execution of their own."""
    run = response.run
    return replace(
        run, row=np.zeros(here.stop - here.start, np.int64), duration=run.duration[here],
        xyz=run.xyz[here.start : here.stop + 1], power=run.power[here], light=run.light[here],
    )  # fmt: skip


@ALL
def test_what_a_level_cannot_give_the_next_rows_make_up_for(controller: Controller) -> None:
    """With all of the error kept, the sum along the path stays within a level of one row; else it drifts."""
    moves = wiggle(controller, 300)
    # So bright that the smallest level is below all.
    moves = replace(moves, power=np.where(moves.on, np.maximum(moves.power, 0.1), 0.0))
    response = Response.of(moves, controller, PIN, longest=LONGEST)
    strokes = np.cumsum(~moves.on)
    due = np.where(moves.on, energies_due(moves), 0.0)
    level = response.energies(np.maximum(response.share, 1)) / LEVELS

    def off(keep: float) -> Floats:
        """(rows,) s, sum of the errors since the last dark row."""
        error = np.where(due > 0, response.energies(response.light(response.powers(due, keep))) - due, 0.0)
        return np.concatenate([np.cumsum(error[strokes == k]) for k in np.unique(strokes)])

    assert (np.abs(off(1.0)) <= level * (1 + 1e-9)).all()
    assert np.abs(off(1.0)).mean() < np.abs(off(0.0)).mean() / 2


@pytest.mark.parametrize(("dialect", "controller"), [("grbl", Grbl()), ("klipper", Klipper())])
def test_powers_are_what_the_program_can_say(dialect: str, controller: Controller) -> None:
    """Written and read back they give the same light, piece by piece."""
    own, s_max = gcode.dialect(dialect), 1000.0 if dialect == "grbl" else 1.0
    board = replace(PIN, digit=power_digit(own, s_max))
    moves = wiggle(controller)
    response = Response.of(moves, controller, board, longest=LONGEST)
    power = response.powers(energies_due(moves), 1.0)
    digits = power / board.digit
    np.testing.assert_allclose(digits, np.rint(digits), atol=1e-6)
    text = gcode.write(replace(moves, power=power), own, s_max)
    read = gcode.parse(text, own, s_max).power[-len(moves) :]
    np.testing.assert_array_equal(response.light(read), response.light(power))


@ALL
def test_a_row_that_the_smallest_level_would_burn_is_dark(controller: Controller) -> None:
    moves, board = wiggle(controller), replace(PIN, level_min=20)
    response = Response.of(moves, controller, board, longest=LONGEST)
    least = response.energies(response.light(np.full(len(moves), response.rules.lowest * board.digit)))
    faint = np.arange(len(moves)) % 2 == 1
    due = np.where(moves.on, np.where(faint, 0.3, 4.0) * least, 0.0)
    done = with_energies(moves, due, controller, board, longest=LONGEST)
    np.testing.assert_array_equal(done.on, moves.on & ~faint)
    lit = shone(done, controller, board)
    assert lit.max() < 0.5, "no row is bright that was to be faint"


@ALL
def test_no_row_within_a_stroke_is_dark_if_it_is_to_be_unbroken(controller: Controller) -> None:
    """Faint rows at its ends are, and so is a stroke of nothing else."""
    moves = wiggle(controller)
    response = Response.of(moves, controller, PIN, longest=LONGEST)
    faint = np.isin(np.arange(len(moves)), [1, 2, 6, 7, 12, 20, 26, *range(28, 40)])
    due = np.where(moves.on, np.where(faint, 0.3, 4.0) * response.least_energies, 0.0)
    done = with_energies(moves, due, controller, PIN, longest=LONGEST, unbroken=True)
    assert np.flatnonzero(moves.on & ~done.on).tolist() == [1, 2, 12, 26, *range(28, 40)]
    smallest = response.rules.lowest * response.rules.digit
    np.testing.assert_allclose(done.power[[6, 7, 20]], smallest, rtol=0.5)


def test_the_mean_light_has_no_steps() -> None:
    """It is that of continuous power, but for the offset, and near the staircase everywhere."""
    moves = wiggle(Grbl())
    response = Response.of(moves, Grbl(), PIN, longest=LONGEST)
    power = np.where(moves.on, 0.3, 0.0)
    mean, more = response.mean_light(power), response.mean_light(power * 1.001)
    above = mean > 2 / LEVELS
    assert (more[above] > mean[above]).all()
    np.testing.assert_allclose(mean, response.light(power), atol=0.51 / 256)


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
