"""Actual speed and power: where the head is slow, constant power burns and dynamic power does not."""

from __future__ import annotations

import numpy as np
import pytest

from gcode import GcodeError, Limits, Moves
from gcode.motion import execute, profile, quantise

LIMITS = Limits(segment_rate=1e9)
CORNER = Moves(
    [[0, 0], [5, 0], [15, 0], [15, 10], [0, 10]],
    [0, 0.5, 0.25, 0],
    [100, 50, 50, 100],
    [True, False, False, True],
)
WAYS = pytest.mark.parametrize("tick", [None, 0.01])


def line_energy(m: Moves) -> np.ndarray:
    return m.power / m.speed


@WAYS
def test_pieces_cover_the_path_in_the_planner_s_time(tick: float | None) -> None:
    m = execute(CORNER, LIMITS, dynamic_power=True, power_levels=None, longest=0.05, tick=tick)
    assert m.length.sum() == pytest.approx(CORNER.length.sum())
    assert (m.length / m.speed).sum() == pytest.approx(profile(CORNER, LIMITS).write_time)
    for vertex in CORNER.xy:
        assert (m.xy == vertex).all(axis=1).any(), "vertices stay where they are"
    assert m.rapid.sum() == 2, "travel stays one piece"


def test_with_dynamic_power_every_piece_has_the_commanded_line_energy() -> None:
    m = execute(CORNER, LIMITS, dynamic_power=True, power_levels=None, longest=0.05)
    on = m.on
    wanted = np.where(m.xy[1:, 1] > 0, 0.25 / 50, 0.5 / 50)
    np.testing.assert_allclose(line_energy(m)[on], wanted[on])
    assert (m.power[on] <= wanted[on] * 50 * (1 + 1e-12)).all()


def test_with_constant_power_corners_and_ends_burn() -> None:
    m = execute(CORNER, LIMITS, dynamic_power=False, power_levels=None, longest=0.05)
    assert set(m.power) == {0.0, 0.25, 0.5}
    excess = line_energy(m) / np.where(m.xy[1:, 1] > 0, 0.25 / 50, 0.5 / 50)
    middle = (m.xy[1:] + m.xy[:-1]) / 2
    near = m.on & (np.hypot(*(middle - [15, 0]).T) < 0.1)
    far = m.on & (abs(middle[:, 0] - 10) < 1)
    np.testing.assert_allclose(excess[far], 1)
    assert excess[near].min() > 2.5
    assert excess[m.on].min() >= 1 - 1e-12


def test_pieces_are_short_where_the_speed_changes() -> None:
    m = execute(CORNER, LIMITS, dynamic_power=True, power_levels=None, longest=0.05)
    changing = m.on & (m.speed < 49.99)
    assert m.length[changing].max() <= 0.05 * (1 + 1e-9)
    assert (m.length[m.on] > 1).sum() == 2, "one steady piece each"


def test_a_tick_s_power_is_that_of_its_last_speed() -> None:
    """From standstill at 500 mm/s², tick k of 10 ms runs at 5·(k − ½) mm/s and is lit for 5·k mm/s."""
    line = Moves([[0, 0], [20, 0]], [1], [50], [False])
    m = execute(line, LIMITS, dynamic_power=True, power_levels=None, longest=1, tick=0.01)
    k = np.arange(1, 11)
    np.testing.assert_allclose(m.speed[:10], 5 * (k - 0.5))
    np.testing.assert_allclose(m.power[:10], k / 10)
    np.testing.assert_allclose(m.power[-10:], 1 - k / 10, atol=1e-9)
    np.testing.assert_allclose((m.length / m.speed)[:-1], 0.01)


def test_ticks_give_the_pwm_levels_that_real_firmware_showed() -> None:
    """GRBL 1.1h: rapid (0, 0) → (2, 2), then G1 X18 F3000 S300; levels seen every 20 ms."""
    line = Moves([[0, 0], [2, 2], [18, 2]], [0, 0.3], [100, 50], [True, False])
    m = execute(
        line, Limits(speed_max=(100, 100)), dynamic_power=True, power_levels=255, longest=1, tick=0.01
    )
    levels = np.rint(m.power[m.on] * 255).astype(int)
    assert levels[[0, 2, 4, 6]].tolist() == [20, 36, 51, 66]
    assert levels.max() == 77


def test_the_link_slows_the_pieces_too() -> None:
    n = 300
    short = Moves(
        np.c_[np.arange(n + 1) * 0.05, np.zeros(n + 1)], np.full(n, 0.5), np.full(n, 20.0), np.zeros(n, bool)
    )
    slow = Limits(segment_rate=100)
    m = execute(short, slow, dynamic_power=True, power_levels=None, longest=1)
    assert (m.length / m.speed).sum() == pytest.approx(profile(short, slow).write_time)
    assert np.median(m.speed) == pytest.approx(5, rel=0.02)
    np.testing.assert_allclose(line_energy(m), 0.5 / 20)


def test_quantised_power_is_what_grbl_s_pwm_gives() -> None:
    assert quantise(np.array([0, 1e-9, 1.0]), 255).tolist() == [0, 1 / 255, 1]
    n = np.arange(256)
    np.testing.assert_allclose(quantise(n / 255, 255), n / 255)
    p = np.linspace(0, 1, 1000)
    assert abs(quantise(p, 255) - p).max() <= 1 / 255 + 1e-12
    assert (np.diff(quantise(p, 255)) >= 0).all()
    m = execute(CORNER, LIMITS, dynamic_power=True, power_levels=255, longest=0.05)
    np.testing.assert_allclose(m.power * 255, np.rint(m.power * 255))


@WAYS
@pytest.mark.parametrize("steps", [None, (80.0, 80.0)])
def test_any_path_keeps_its_time_and_darkness(tick: float | None, steps: tuple[float, float] | None) -> None:
    rng = np.random.default_rng(1)
    n = 200
    xy = np.cumsum(rng.normal(0, 0.1, (n + 1, 2)) * (rng.random((n + 1, 1)) > 0.1), axis=0)
    rapid = rng.random(n) < 0.2
    moves = Moves(xy, np.where(rapid, 0, rng.random(n)), rng.uniform(1, 50, n), rapid)
    limits = Limits(steps=steps)
    m = execute(moves, limits, dynamic_power=True, power_levels=255, longest=0.03, tick=tick)
    assert (m.length / m.speed).sum() == pytest.approx(profile(moves, limits).write_time, rel=1e-3)
    assert not m.power[m.rapid].any()
    np.testing.assert_allclose(m.xy[-1], xy[-1], atol=0.007)


def test_nothing_executes_as_nothing() -> None:
    still = Moves([[1, 2], [1, 2]], [1], [5], [False])
    for moves in (still, Moves([[1, 2]], [], [], [])):
        m = execute(moves, LIMITS, dynamic_power=True, power_levels=255, longest=0.1)
        assert len(m) == 0 and m.xy.tolist() == [[1, 2]]
    with pytest.raises(GcodeError, match="longest is 0"):
        execute(still, LIMITS, dynamic_power=True, power_levels=255, longest=0)
