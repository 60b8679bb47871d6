"""The planner's model against closed forms, written down here without it; its derivative by differences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import examples

from gcode import GcodeError, Limits, Moves
from gcode.motion import Motion, profile, time_gradient

A, V = 500.0, 50.0
FREE = Limits(segment_rate=1e9)


def lit(xy: object, speed: float = V) -> Moves:
    n = len(np.asarray(xy)) - 1
    return Moves.straight(xy, np.full(n, 0.5), np.full(n, speed), np.zeros(n, bool))


def run(xy: object, speed: float = V, limits: Limits = FREE) -> Motion:
    return profile(lit(xy, speed), limits)


def test_a_long_line_is_a_trapezoid() -> None:
    assert run([[0, 0], [20, 0]]).write_time == pytest.approx(20 / V + V / A)


def test_a_short_line_is_a_triangle() -> None:
    motion = run([[0, 0], [0, 2]])
    assert motion.write_time == pytest.approx(2 * np.sqrt(2 / A))
    assert motion.peak[0] == pytest.approx(np.sqrt(2 * A))


def test_both_axes_push_a_diagonal() -> None:
    a = A * np.sqrt(2)
    assert run([[0, 0], [20, 20]]).write_time == pytest.approx(20 * np.sqrt(2) / V + V / a)


def test_each_axis_has_its_own_limits() -> None:
    limits = Limits(speed_max=(50, 20), acceleration=(500, 100), rapid=(100, 30))
    assert run([[0, 0], [0, 40]], 50, limits).write_time == pytest.approx(40 / 20 + 20 / 100)
    rapid = Moves.straight([[0, 0], [0, 40]], [0], [1], [True])
    assert profile(rapid, limits).write_time == pytest.approx(40 / 30 + 30 / 100)


@pytest.mark.parametrize("degrees", [10.0, 45.0, 90.0, 150.0])
def test_a_bend_is_taken_as_fast_as_its_circle_allows(degrees: float) -> None:
    # A circle that touches both lines and passes the corner at distance d has r = d·s/(1 − s),
    # s = sin(θ/2), θ the inner angle; the turn is symmetric about y, so a_j = a/cos 0 on that axis.
    half = np.radians(degrees) / 2
    s = np.cos(half)
    v = min(V, np.sqrt(A * 0.01 * s / (1 - s)))
    leg = 30 * np.array([np.cos(half), np.sin(half)])
    motion = run([-leg * [1, 1], [0, 0], leg * [1, -1]])
    assert motion.exit[0] == pytest.approx(v)
    assert motion.entry[1] == pytest.approx(v)
    a = A / max(abs(leg)) * 30
    # From standstill to V, down to v, and the same backwards: what a stop would cost, less the part above v.
    each = 30 / V + V / (2 * a) + (V - v) ** 2 / (2 * a * V)
    assert motion.write_time == pytest.approx(2 * each)


def test_straight_on_does_not_slow_and_back_again_stops() -> None:
    straight = run(np.c_[np.linspace(0, 20, 11), np.zeros(11)])
    assert straight.write_time == pytest.approx(20 / V + V / A)
    back = run([[0, 0], [20, 0], [0, 0]])
    assert back.exit[0] == 0
    assert back.write_time == pytest.approx(2 * (20 / V + V / A))


def test_a_fine_polygon_is_driven_at_the_circle_s_own_speed() -> None:
    # Chords of angle β turn by β: s/(1 − s) ≈ 8/β², so v_j² = a·d·8/β²: with 30 chords
    # 21 mm/s or more.
    n, radius = 30, 5.0
    t = np.linspace(0, 20 * np.pi, 10 * n + 1)
    motion = run(radius * np.c_[np.cos(t), np.sin(t)])
    s = np.cos(np.pi / n)
    slow, fast = (np.sqrt(a * 0.01 * s / (1 - s)) for a in (A, A * np.sqrt(2)))
    inside = motion.entry[n:-n]
    assert inside.min() >= slow * 0.999
    assert inside.max() <= fast * 1.001


def test_the_planner_must_be_able_to_stop_at_the_last_move_it_sees() -> None:
    limits = Limits(look_ahead=15, segment_rate=1e9)
    motion = run(np.c_[np.arange(401) * 0.05, np.zeros(401)], V, limits)
    top = np.sqrt(2 * A * 15 * 0.05)
    assert motion.entry.max() == pytest.approx(top)
    assert motion.write_time == pytest.approx(20 / top + top / A, rel=0.02)
    assert motion.write_time > 1.4 * (20 / V + V / A)


def test_the_link_slows_what_is_too_short() -> None:
    xy = np.c_[np.arange(601) * 0.05, np.zeros(601)]
    motion = run(xy, 20, Limits(segment_rate=250, look_ahead=15))
    assert motion.write_time == pytest.approx(600 / 250, rel=0.02)
    assert motion.duration.sum() == motion.write_time
    assert run(xy * 10, 20, Limits(segment_rate=250)).write_time == pytest.approx(300 / 20 + 20 / A)


def test_rounding_to_steps_costs_time_on_short_moves_only() -> None:
    t = np.arange(0, 400) * 0.05
    spiral = np.c_[t * np.cos(t * 3), t * np.sin(t * 3)] * 0.5
    coarse = run(spiral, V, Limits(segment_rate=1e9, steps=(80, 80))).write_time
    assert 1.005 * run(spiral).write_time < coarse < 1.2 * run(spiral).write_time
    assert run([[0, 0], [20.001, 0]], V, Limits(steps=(80, 80))).write_time == pytest.approx(20 / V + V / A)


def test_no_moves_and_moves_without_length_take_no_time() -> None:
    assert run([[0, 0]]).write_time == 0
    assert run([[1, 1], [1, 1], [1, 1]]).write_time == 0
    # A corner is a corner, with or without a second vertex on it.
    with_it, without = run([[0, 0], [9, 0], [9, 0], [9, 9]]), run([[0, 0], [9, 0], [9, 9]])
    assert with_it.write_time == pytest.approx(without.write_time)
    assert with_it.duration[1] == 0
    assert with_it.entry[1] == with_it.exit[1] == pytest.approx(without.exit[0])


@given(
    st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=2, max_size=30), st.floats(0.1, 80)
)
def test_any_motion_obeys_the_limits(points: list[tuple[float, float]], speed: float) -> None:
    moves = lit(points, speed)
    motion = profile(moves, FREE)
    for v in (motion.entry, motion.peak, motion.exit):
        assert (v >= 0).all() and (v <= speed * (1 + 1e-9)).all()
    assert motion.entry[0] == motion.exit[-1] == 0 or (moves.length < 1e-8).any()
    np.testing.assert_allclose(motion.exit[:-1], motion.entry[1:], atol=1e-4)
    longest = abs(motion.entry**2 - motion.exit**2) - 2 * motion.acceleration * moves.length
    assert (longest <= 1e-4).all()
    assert (motion.duration >= moves.length / speed * (1 - 1e-9) - 1e-7).all()


@given(st.lists(st.floats(0.01, 5), min_size=1, max_size=20))
def test_a_plan_backwards_takes_as_long(steps: list[float]) -> None:
    x = np.concatenate([[0], np.cumsum(steps)])
    xy = np.c_[x, np.cumsum(np.arange(len(x)) % 3)]
    wide = Limits(segment_rate=1e9, look_ahead=1000)
    assert run(xy[::-1], V, wide).write_time == pytest.approx(run(xy, V, wide).write_time)


def test_a_planner_written_as_two_loops_agrees() -> None:
    rng = np.random.default_rng(3)
    moves = lit(np.cumsum(rng.normal(0, 0.7, (300, 2)), axis=0), 40)
    motion = profile(moves, FREE)
    a, length = motion.acceleration, moves.length
    unit = np.diff(moves.xy, axis=0) / length[:, None]
    square = [0.0]
    for k, (u, w) in enumerate(pairwise(unit), start=1):
        s = np.sqrt((1 + u @ w) / 2)
        turn = (w - u) / np.linalg.norm(w - u)
        junction = min(A / abs(turn)) * 0.01 * s / (1 - s)
        square.append(min(junction, 40**2, sum(2 * a[k : k + 15] * length[k : k + 15])))
    square.append(0.0)
    for k in reversed(range(300 - 1)):
        square[k] = min(square[k], square[k + 1] + 2 * a[k] * length[k])
    for k in range(300 - 1):
        square[k + 1] = min(square[k + 1], square[k] + 2 * a[k] * length[k])
    np.testing.assert_allclose(motion.entry, np.sqrt(square[:-1]), atol=1e-4)


C30, S30 = 8 * np.cos(np.pi / 6), 4.0
LINE = [[0, 0], [2, 2], [18, 2]]
ROW = [[0, 0], *([2 + k, 3] for k in range(13))]


@pytest.mark.parametrize(
    ("xy", "speed", "seconds"),
    [
        (LINE, 20, 0.9390),
        (LINE, 50, 0.5161),
        ([[0, 0], [2, 10], [10, 10], [10 + C30, 10 + S30]], 20, 1.1042),
        ([[0, 0], [2, 10], [10, 10], [10 + C30, 10 + S30]], 50, 0.7273),
        ([[0, 0], [2, 10], [10, 10], [10, 18]], 50, 0.7645),
        ([[0, 0], [2, 10], [10, 10], [10 - C30, 10 + S30]], 50, 0.7617),
        (ROW, 20, 0.7745),
        (ROW, 50, 0.4678),
    ],
)
def test_grbl_itself_took_as_long(xy: list[list[float]], speed: float, seconds: float) -> None:
    """First to last step of GRBL 1.1h (atmega328p, 100 mm/s, 500 mm/s², 80 steps/mm), rapid first.

    The first step comes √(2/80/500) = 7 ms after the start of the motion.
    """
    n = len(xy) - 1
    moves = Moves.straight(xy, np.r_[0, np.full(n - 1, 0.5)], np.full(n, speed), np.arange(n) == 0)
    limits = Limits(speed_max=(100, 100), steps=(80, 80))
    assert profile(moves, limits).write_time == pytest.approx(seconds, abs=0.008)


def test_limits_are_checked() -> None:
    with pytest.raises(GcodeError, match="limit acceleration is \\(0, 500\\), but must be above 0"):
        Limits(acceleration=(0, 500))


UNLINKED = Limits(segment_rate=1e9)
STEP = 1e-7


def wandering(seed: int, moves: int = 30) -> Moves:
    """A path of lengths from 10 µm to 2 mm, bends of all sizes, some rapids, some slow feeds."""
    rng = np.random.default_rng(seed)
    angle, length = np.cumsum(rng.normal(0, 0.4, moves)), 10 ** rng.uniform(-2, 0.3, moves)
    steps = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    rapid = rng.random(moves) < 0.1
    speed = np.where(rapid, 100.0, rng.uniform(20, 50, moves))
    xy = np.vstack([[0, 0], np.cumsum(steps, axis=0)])
    return Moves.straight(xy, np.where(rapid, 0, 0.5), speed, rapid)


def moved(moves: Moves, xy: np.ndarray) -> Moves:
    return Moves.straight(xy, moves.power, moves.speed, moves.rapid)


@examples(25)
@given(
    seed=st.integers(0, 2**32 - 1),
    limits=st.sampled_from(
        [
            UNLINKED,
            Limits(look_ahead=4, segment_rate=1e9),
            Limits(acceleration=(500, 200), speed_max=(50, 30), segment_rate=1e9),
            Limits(segment_rate=300),
        ]
    ),
)
def test_it_is_the_slope_of_the_write_time(seed: int, limits: Limits) -> None:
    """Along a random direction of all vertices: a kink would have to lie within 0.1 nm of the path."""
    moves = wandering(seed)
    found = time_gradient(moves, limits)
    assert found.time == pytest.approx(profile(moves, limits).write_time, rel=1e-12)
    rng = np.random.default_rng(seed)
    along = rng.normal(size=moves.xy.shape)
    up, down = (profile(moved(moves, moves.xy + sign * STEP * along), limits).write_time for sign in (1, -1))
    assert (found.xy * along).sum() == pytest.approx((up - down) / (2 * STEP), rel=1e-4, abs=1e-5)


def test_a_straight_line_is_quicker_where_a_vertex_on_it_gives_in() -> None:
    """A bend in the middle: moved onto the line, it costs less."""
    bent = Moves.straight([[0, 0], [1, 0.2], [2, 0]], [0.5, 0.5], [50.0, 50.0], [False, False])
    slope = time_gradient(bent, UNLINKED).xy
    assert slope[1, 1] > 0
    assert slope[1, 0] == pytest.approx(0, abs=1e-9)


def test_it_does_not_change_when_the_whole_path_is_shifted() -> None:
    gradient = time_gradient(wandering(1), UNLINKED).xy
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-12)


def test_where_the_link_sets_the_time_no_vertex_changes_it() -> None:
    assert not time_gradient(wandering(2), Limits(segment_rate=1.0)).xy.any()


@pytest.mark.parametrize("xy", [[[0, 0]], [[1, 1], [1, 1]]])
def test_a_path_without_length_takes_no_time(xy: list) -> None:
    n = len(xy) - 1
    found = time_gradient(Moves.straight(xy, np.zeros(n), np.full(n, 50.0), np.zeros(n, bool)), UNLINKED)
    assert found.time == 0
    assert found.xy.shape == (n + 1, 2) and not found.xy.any()
