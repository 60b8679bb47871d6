"""A scanner that lags and a laser that is late: closed forms, and that compensation restores the path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from shapely.geometry import LineString

from gcode import GcodeError, Kind, Moves
from gcode.motion.lag import Lag, compensated, lagged

STEP = 1e-4


def stroke(length: float, speed: float, angle: float = 0.0) -> Moves:
    """A rest at the origin, a lit line, a rapid onward."""
    u = np.array([np.cos(angle), np.sin(angle)])
    return Moves.straight([[0, 0], length * u, 2 * length * u], [0.5, 0], [speed, 5 * speed], [False, True])


def lit(moves: Moves) -> np.ndarray:
    """(M, 2, 2) the ends of each lit row."""
    return np.stack([moves.xy[:-1], moves.xy[1:]], axis=1)[moves.on]


def energy(moves: Moves) -> float:
    return float((moves.power * moves.duration).sum())


def test_a_line_from_rest_follows_the_closed_form() -> None:
    tau, v = 2e-3, 100.0
    moves = Moves.straight([[0, 0], [2, 0]], [0.5], [v], [False])
    found = lagged(moves, Lag(tau), STEP)
    t = np.concatenate([[0], np.cumsum(found.duration)])
    command = np.minimum(v * t, 2)
    end = 2 / v
    y = v * t - tau * v * (1 - np.exp(-t / tau))
    settled = 2 - tau * v * (1 - np.exp(-end / tau)) * np.exp(-(t - end) / tau)
    np.testing.assert_allclose(found.xy[:, 0], np.where(command < 2, y, settled), atol=1e-9)


def test_at_steady_speed_it_is_tau_v_behind() -> None:
    found = lit(lagged(stroke(20, 200), Lag(1e-3), STEP))
    assert found[-1, 1, 0] == pytest.approx(20 - 1e-3 * 200, abs=1e-6)


def test_a_late_laser_moves_the_light_along() -> None:
    found = lit(lagged(stroke(10, 100), Lag(0, 2e-3, 2e-3), STEP))
    assert found[0, 0, 0] == pytest.approx(0.2)
    assert found[-1, 1, 0] == pytest.approx(10 + 5 * 0.2)  # the rapid is five times as fast


@given(st.floats(0, 5e-3), st.floats(0, 5e-3))
def test_the_laser_shines_longer_by_the_difference_of_its_delays(on: float, off: float) -> None:
    moves = stroke(10, 100)
    assert energy(lagged(moves, Lag(0, on, off), STEP)) == pytest.approx(energy(moves) + 0.5 * (off - on))


def test_a_pulse_shorter_than_the_difference_never_comes() -> None:
    moves = Moves.straight([[0, 0], [1, 0], [1.1, 0], [2, 0]], [0, 0.5, 0], [100] * 3, [True, False, True])
    assert energy(lagged(moves, Lag(0, 1.5e-3, 0), STEP)) == 0
    assert energy(lagged(moves, Lag(0, 0.5e-3, 0), STEP)) == pytest.approx(0.5 * 0.5e-3)


def test_mirrors_alone_leave_the_energy_and_a_dwell_stays_where_they_are() -> None:
    moves = Moves([[0, 0], [10, 0], [10, 0]], [0.5, 0.2], [100, 1], [Kind.LINE, Kind.DWELL], dwell=[0, 0.05])
    found = lagged(moves, Lag(1e-3), STEP)
    assert energy(found) == pytest.approx(energy(moves))
    np.testing.assert_allclose(found.xy[-1], [10, 0], atol=1e-6)


@settings(deadline=None)
@given(
    st.floats(1e-4, 2e-3), st.floats(0, 1e-3), st.floats(0, 1e-3), st.floats(20, 500), st.floats(0, 6.28),
    st.floats(5, 20),
)  # fmt: skip
def test_a_compensated_stroke_begins_and_ends_at_its_target(
    tau: float, on: float, off: float, speed: float, angle: float, length: float
) -> None:
    lag, moves = Lag(tau, on, off), stroke(length, speed, angle)
    assume(length > speed * (tau + off))
    found = lit(lagged(compensated(moves, lag), lag, STEP))
    unit = moves.xy[1] / length
    # The rapid leaves an offset that has faded by e⁻⁵ when the first light comes.
    start = np.exp(-5) * tau * 5 * speed * 3 + 1e-9
    assert abs(found[0, 0] @ unit) <= start
    assert found[-1, 1] @ unit == pytest.approx(length, abs=start)
    across = found.reshape(-1, 2) @ np.array([-unit[1], unit[0]])
    assert np.abs(across).max() <= start


def test_a_compensated_corner_is_truer() -> None:
    target = Moves.straight([[0, 0], [5, 0], [15, 0], [15, 10]], [0, 0.5, 0.5], [1000, 200, 200], [1, 0, 0])
    lag, line = Lag(1e-3), LineString(target.xy[1:])
    ends = [lit(lagged(m, lag, STEP))[200:] for m in (target, compensated(target, lag))]
    off = [max(LineString(pair).distance(line) for pair in e) for e in ends]
    assert off[1] < 0.6 * off[0]


def test_a_gantry_is_slow_where_the_lag_would_show() -> None:
    moves, lag = stroke(10, 100), Lag(1e-3, 1e-3, 1e-3)
    same = compensated(moves, lag, acceleration=500)
    np.testing.assert_array_equal(same.xy, moves.xy)
    assert len(compensated(moves, lag, acceleration=1e6)) > len(moves)


@pytest.mark.parametrize("levels", [(0.9,), (0.1,), (0.2, 0.8), (0.8, 0.2)])
def test_the_pwm_is_late_by_half_a_pulse_on_average(levels: tuple[float, ...]) -> None:
    """Against the pin: each level holds from the start of the next period on; dark at once."""
    period, speed, length = 1e-3, 100.0, 2.0
    ends = np.arange(len(levels) + 1) * length
    xy = np.column_stack([ends, np.zeros(len(ends))])
    moves = Moves.straight(xy, levels, [speed] * len(levels), [False] * len(levels))
    t = np.arange(0, ends[-1] / speed, 1e-6) + 5e-7
    mean = np.zeros(len(t))
    phases = (np.arange(500) + 0.5) / 500 * period
    for phase in phases:
        start = np.floor((t - phase) / period) * period + phase
        level = np.where(start >= 0, np.array(levels)[np.maximum(start * speed / length, 0).astype(int)], 0)
        mean += (t - start < level * period) / len(phases)
    pin = float(mean.sum() * 1e-6), float((mean * t).sum() * 1e-6)
    late = lagged(moves, Lag(pwm=period), STEP)
    when = np.cumsum(late.duration) - late.duration / 2
    model = energy(late), float((late.power * late.duration * when).sum())
    np.testing.assert_allclose(model, pin, rtol=2e-4)


@settings(deadline=None)
@given(st.floats(1e-4, 2e-3), st.floats(0.1, 1), st.floats(20, 500))
def test_a_compensated_pwm_leaves_light_and_place(period: float, light: float, speed: float) -> None:
    length = speed * 0.05
    moves = Moves.straight([[0, 0], [length, 0]], [light], [speed], [False])
    found = lagged(compensated(moves, Lag(pwm=period)), Lag(pwm=period), STEP)
    assert energy(found) == pytest.approx(energy(moves))
    assert lit(found)[0, 0, 0] == pytest.approx(0, abs=1e-6)
    assert lit(found)[-1, 1, 0] == pytest.approx(length)


def test_nothing_to_do_is_nothing_done() -> None:
    moves = stroke(1, 10)
    assert lagged(moves, Lag(), STEP) is moves
    assert compensated(moves, Lag()) is moves


def test_what_cannot_be() -> None:
    with pytest.raises(GcodeError, match="lag tau is -1 s, but must be 0 or more"):
        Lag(-1)
    arc = Moves([[1, 0], [0, 1]], [0.5], [1], [3])
    with pytest.raises(GcodeError, match="arcs cannot be compensated"):
        compensated(arc, Lag(1e-3))
