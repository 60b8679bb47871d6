"""Klipper's motion against closed forms, written down here without it; axes stand at the nearest step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within

import gcode
from gcode.controllers.klipper.planner import Trapezoids, plan, stepping
from gcode.errors import GcodeError
from gcode.motion import Executed, Klipper, execute

A, V, SCV = 500.0, 50.0, 5.0
FREE = Klipper(max_velocity=100, max_accel=A, square_corner_velocity=SCV, minimum_cruise_ratio=0)


def vertices(points: Any) -> np.ndarray:
    xy = np.asarray(points, dtype=float)
    return np.pad(xy, ((0, 0), (0, 3 - xy.shape[1])))


def run(points: Any, limits: Klipper = FREE, speed: Any = V, dwell: Any = np.nan) -> Trapezoids:
    rows = np.ones(len(points) - 1)
    return plan(vertices(points), speed * rows, dwell * rows, limits)


def bend(degrees: float, legs: tuple[float, float] = (30, 30)) -> np.ndarray:
    """Two lines that turn by so much."""
    turn = np.radians(degrees)
    return np.array([[-legs[0], 0], [0, 0], legs[1] * np.array([np.cos(turn), np.sin(turn)])])


def zigzag(seed: int, rows: int = 60, longest: float = 3.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.vstack([[0, 0], np.cumsum(rng.normal(0, longest / 3, (rows, 2)), axis=0)])


def test_a_long_line_is_a_trapezoid() -> None:
    assert run([[0, 0], [20, 0]]).duration.sum() == pytest.approx(20 / V + V / A)


def test_a_short_line_is_a_triangle() -> None:
    motion = run([[0, 0], [0, 2]])
    assert motion.duration.sum() == pytest.approx(2 * np.sqrt(2 / A))
    assert motion.peak[0] == pytest.approx(np.sqrt(2 * A))


def test_a_diagonal_has_no_more_acceleration_than_an_axis() -> None:
    assert run([[0, 0], [12, 16]]).duration.sum() == pytest.approx(20 / V + V / A)


def test_the_commanded_speed_is_capped() -> None:
    assert run([[0, 0], [200, 0]], speed=500).peak[0] == pytest.approx(100)


@pytest.mark.parametrize("degrees", [20.0, 60.0, 90.0, 120.0, 170.0])
def test_a_bend_is_taken_as_fast_as_its_circle_allows(degrees: float) -> None:
    # A circle that touches both lines and passes the corner at distance d has r = d·s/(1 − s) with
    # s = sin(θ/2), θ the inner angle; at a right angle √(a·r) is the square corner velocity.
    s = np.sin(np.radians(180 - degrees) / 2)
    d = SCV**2 / A * (np.sqrt(2) - 1)
    motion = run(bend(degrees))
    assert motion.exit[0] == pytest.approx(min(V, np.sqrt(A * d * s / (1 - s))))
    assert motion.entry[1] == pytest.approx(motion.exit[0])


def test_a_right_angle_is_taken_at_the_square_corner_velocity() -> None:
    for scv in (0.0, 2.0, 8.0):
        assert run(bend(90), replace(FREE, square_corner_velocity=scv)).exit[0] == pytest.approx(scv)


def test_a_reversal_stops_and_a_straight_line_does_not() -> None:
    assert run([[0, 0], [20, 0], [0, 0]]).exit[0] == 0
    for scv in (0.0, SCV):
        assert run([[0, 0], [20, 0], [40, 0]], replace(FREE, square_corner_velocity=scv)).exit[0] == V


@pytest.mark.parametrize(("sides", "radius"), [(2000, 40.0), (500, 2.0), (80, 4.0)])
def test_a_fine_polygon_is_taken_at_the_speed_of_its_circle(sides: int, radius: float) -> None:
    # The circle that touches each side in its middle is the inscribed one: v² = a·r.
    turn = np.linspace(0, 2 * np.pi, sides + 1)
    motion = run(radius * np.stack([np.cos(turn), np.sin(turn)], axis=1), speed=100)
    middle = motion.entry[sides // 2]
    assert middle == pytest.approx(min(100, np.sqrt(A * radius * np.cos(np.pi / sides))))


def test_the_shorter_side_decides_at_a_slight_bend() -> None:
    # r·(1/tan(θ/2)) is how far from the corner the circle touches: at most half of the shorter side.
    half = np.radians(180 - 2) / 2
    points = np.vstack([[-60, 0], bend(2, (30, 0.05)), bend(2, (30, 60))[2]])
    assert run(points).exit[1] == pytest.approx(np.sqrt(A * 0.5 * 0.05 * np.tan(half)))


@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=300), st.sampled_from([0.0, 0.5, 0.9]))
def test_a_row_of_short_moves_is_one_line(lengths: list[float], ratio: float) -> None:
    limits = replace(FREE, minimum_cruise_ratio=ratio)
    x = np.append(0, np.cumsum(lengths))
    row, line = run(np.stack([x, 0 * x], axis=1), limits), run([[0, 0], [x[-1], 0]], limits)
    if ratio == 0:
        assert row.duration.sum() == pytest.approx(line.duration.sum())
    # The smoothing sees moves, not the line: it may cut the top only within the move that has it.
    assert row.peak.max() <= line.peak.max() * (1 + 1e-9)
    assert row.duration.sum() >= line.duration.sum() * (1 - 1e-9)


def test_look_ahead_has_no_end() -> None:
    # 15 moves of 0.01 mm would let GRBL's planner reach no more than √(2·500·0.15) = 12 mm/s.
    x = np.arange(4001) * 0.01
    motion = run(np.stack([x, 0 * x], axis=1))
    assert motion.peak.max() == pytest.approx(V)
    assert motion.duration.sum() == pytest.approx(40 / V + V / A)


@pytest.mark.parametrize("pause", [0.0, 0.25])
def test_a_dwell_stops(pause: float) -> None:
    points = [[0, 0], [20, 0], [20, 0], [40, 0]]
    motion = run(points, dwell=np.array([np.nan, pause, np.nan]))
    assert motion.duration[1] == pause
    assert motion.duration.sum() == pytest.approx(2 * (20 / V + V / A) + pause)
    assert motion.exit[0] == motion.entry[2] == 0


def test_dwells_may_begin_and_end_and_stand_alone() -> None:
    motion = run([[0, 0]] * 2 + [[20, 0]] * 3, dwell=np.array([0.1, np.nan, 0.2, 0.3]))
    np.testing.assert_allclose(motion.duration, [0.1, 20 / V + V / A, 0.2, 0.3])
    assert run([[1, 1], [1, 1]], dwell=0.5).duration.sum() == 0.5
    assert len(plan(np.zeros((1, 3)), np.zeros(0), np.zeros(0), FREE).duration) == 0


def test_a_row_without_length_is_not_seen() -> None:
    with_it, without = run([[0, 0], [20, 0], [20, 0], [40, 5]]), run([[0, 0], [20, 0], [40, 5]])
    assert with_it.duration[1] == 0
    np.testing.assert_array_equal(with_it.duration[[0, 2]], without.duration)


@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.5, 0.9])
def test_a_line_cruises_the_minimum_ratio_of_its_length(ratio: float) -> None:
    length = 4.0  # too short to reach 100 mm/s
    motion = run([[0, 0], [length, 0]], replace(FREE, minimum_cruise_ratio=ratio), speed=100)
    top = motion.peak[0]
    assert 1 - top**2 / A / length == pytest.approx(ratio)
    assert motion.duration[0] == pytest.approx(2 * top / A + ratio * length / top)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 0.8])
def test_an_accelerating_and_a_braking_move_share_a_peak(ratio: float) -> None:
    # 3 mm up and 1 mm down in one line: at a·(1 − r) the peak of 4 mm lies 2 mm in, within the first.
    motion = run([[0, 0], [3, 0], [4, 0]], replace(FREE, minimum_cruise_ratio=ratio), speed=100)
    peak = A * (1 - ratio) * 4
    exit_square = min(peak, 2 * A * 1)
    np.testing.assert_allclose(motion.peak**2, [peak, exit_square])
    np.testing.assert_allclose(motion.exit**2, [exit_square, 0], atol=1e-9)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_speeds_join_and_keep_every_limit(seed: int, ratio: float) -> None:
    motion = run(zigzag(seed), replace(FREE, minimum_cruise_ratio=ratio), speed=100)
    v0, top, v1, length = motion.entry, motion.peak, motion.exit, motion.length
    np.testing.assert_allclose(v0[1:], v1[:-1], atol=1e-6)
    assert v0[0] == v1[-1] == 0
    assert np.all(top <= 100) and np.all(top >= np.maximum(v0, v1))
    ramps = (2 * top**2 - v0**2 - v1**2) / (2 * A)
    assert np.all(ramps <= length + 1e-9)
    assert np.all(motion.duration > 0)


@given(st.integers(0, 10_000), st.floats(0.0, 0.8), st.floats(0.01, 0.19))
def test_smoothing_only_slows(seed: int, ratio: float, more: float) -> None:
    points = zigzag(seed)
    less = run(points, replace(FREE, minimum_cruise_ratio=ratio)).duration.sum()
    assert run(points, replace(FREE, minimum_cruise_ratio=ratio + more)).duration.sum() >= less * (1 - 1e-9)


@given(st.integers(0, 10_000), st.floats(0.1, 10), st.floats(0.1, 10), st.sampled_from([0.0, 0.5]))
def test_other_units_of_length_and_time_change_nothing(seed: int, k: float, q: float, ratio: float) -> None:
    # Lengths ×k and times ×q: speeds ×k/q, accelerations ×k/q².
    here = replace(FREE, minimum_cruise_ratio=ratio)
    there = replace(
        here, max_velocity=100 * k / q, max_accel=A * k / q**2, square_corner_velocity=SCV * k / q
    )
    a, b = run(zigzag(seed), here), run(zigzag(seed) * k, there, V * k / q)
    np.testing.assert_allclose(b.duration, a.duration * q, rtol=1e-6)
    np.testing.assert_allclose(b.peak, a.peak * k / q, rtol=1e-6)


@given(st.integers(0, 10_000))
def test_backwards_takes_as_long(seed: int) -> None:
    points = zigzag(seed)
    forth, back = run(points), run(points[::-1])
    np.testing.assert_allclose(back.duration[::-1], forth.duration, rtol=1e-6)
    np.testing.assert_allclose(back.exit[::-1], forth.entry, atol=1e-6)


@given(st.integers(0, 10_000), st.floats(-np.pi, np.pi))
def test_the_direction_of_the_axes_does_not_matter(seed: int, turn: float) -> None:
    c, s = np.cos(turn), np.sin(turn)
    points = zigzag(seed)
    turned = run(points @ np.array([[c, s], [-s, c]]))
    np.testing.assert_allclose(turned.duration, run(points).duration, rtol=1e-6)


def test_z_has_its_own_limits() -> None:
    limits = replace(FREE, max_z_velocity=5, max_z_accel=100)
    assert run([[0, 0, 0], [0, 0, 10]], limits).duration.sum() == pytest.approx(10 / 5 + 5 / 100)
    # 3 up and 4 along: the whole move has 5/3 of the limits in Z.
    v, a = 5 * 5 / 3, 100 * 5 / 3
    assert run([[0, 0, 0], [4, 0, 3]], limits).duration.sum() == pytest.approx(5 / v + v / a)
    assert run([[0, 0, 0], [20, 0, 0]], limits).duration.sum() == pytest.approx(20 / V + V / A)


def test_a_turn_into_z_is_a_corner_too() -> None:
    assert run([[0, 0, 0], [20, 0, 0], [20, 0, 20]]).exit[0] == pytest.approx(SCV)
    # d belongs to the machine's acceleration, but the corner is taken with the lesser of the two moves'.
    slow = replace(FREE, max_z_accel=A / 4)
    for corner in ([[0, 0, 0], [20, 0, 0], [20, 0, 20]], [[0, 0, 0], [0, 0, 20], [20, 0, 20]]):
        assert run(corner, slow).exit[0] == pytest.approx(SCV / 2)


def test_smoothing_leaves_a_slow_z_alone() -> None:
    # Half of 500 mm/s² is above what Z does anyway.
    limits = replace(FREE, max_z_accel=100, minimum_cruise_ratio=0.5)
    assert run([[0, 0, 0], [0, 0, 4]], limits).duration.sum() == pytest.approx(2 * np.sqrt(4 / 100))


def test_the_first_and_the_last_step_lie_half_a_step_inside() -> None:
    limits = replace(FREE, steps=(80, 80, 400))
    points = [[0, 0], [12, 16]]  # y is the faster axis: half a step of it comes after 1/160·5/4 mm
    motion = run(points, limits)
    first, last = stepping(vertices(points), motion, limits)
    assert first == pytest.approx(np.sqrt(2 * 5 / 4 / 160 / A))
    assert last == pytest.approx(motion.duration.sum() - first)
    assert stepping(vertices(points), motion, FREE) == (0, motion.duration.sum())


def test_steps_end_with_the_last_motion_and_may_be_none() -> None:
    limits = replace(FREE, steps=(80, 80, 400))
    points = [[0, 0]] * 2 + [[20, 0]] * 2
    motion = run(points, limits, dwell=np.array([1.0, np.nan, 2.0]))
    half = np.sqrt(2 / 160 / A)
    end = 1 + 20 / V + V / A
    assert stepping(vertices(points), motion, limits) == pytest.approx((1 + half, end - half))
    assert stepping(vertices(points), motion, FREE) == pytest.approx((0, end))
    still = run([[0, 0], [0, 0]], dwell=1.0)
    assert stepping(vertices([[0, 0], [0, 0]]), still, limits) == (0, 0)


def travelled(motion: Trapezoids, row: int, t: float) -> float:
    """Mm from the start of a row at t s after it began: the area under its speed."""
    rates = (motion.entry, motion.peak, motion.exit, motion.acceleration, motion.duration)
    v0, top, v1, a, end = (float(rate[row]) for rate in rates)
    corners = np.maximum.accumulate([0.0, (top - v0) / a, end - (top - v1) / a, end])
    times = np.append(corners[corners < t], t)
    speed = np.interp(times, corners, [v0, top, top, v1])
    return float(((speed[1:] + speed[:-1]) / 2 * np.diff(times)).sum())


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_place_and_time_are_inverse(seed: int, share: float) -> None:
    motion = run(zigzag(seed, rows=20))
    for row in range(20):
        s = share * motion.length[row]
        assert travelled(motion, row, motion.reached(row, s)) == pytest.approx(s, abs=1e-7)


def test_two_hundred_thousand_moves_take_a_fifth_of_a_second() -> None:
    points = np.cumsum(np.random.default_rng(0).normal(0.05, 0.1, (200_001, 2)), axis=0)
    run(points[:99], FREE)  # compiles
    within(12, lambda: run(points, replace(FREE, minimum_cruise_ratio=0.5)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_velocity": 0.0}, "max_velocity is 0.0"),
        ({"max_z_accel": -1.0}, "max_z_accel is -1.0"),
        ({"square_corner_velocity": -1.0}, "square_corner_velocity is -1.0"),
        ({"minimum_cruise_ratio": 1.0}, "minimum_cruise_ratio is 1.0"),
        ({"steps": (80.0, 0.0, 80.0)}, "steps is"),
    ],
)
def test_impossible_limits_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(GcodeError, match=message):
        replace(FREE, **change)


def test_impossible_rows_are_refused() -> None:
    line = [[0, 0], [1, 0]]
    with pytest.raises(GcodeError, match="row 0 has speed 0"):
        run(line, speed=0.0)
    with pytest.raises(GcodeError, match="row 0 dwells for -1"):
        run([[0, 0], [0, 0]], dwell=-1.0)
    with pytest.raises(GcodeError, match="at rest"):
        run(line, dwell=1.0)
    with pytest.raises(GcodeError, match="vertex 1"):
        run([[0, 0], [np.nan, 0]])
    with pytest.raises(GcodeError, match=r"1 rows need \(2, 3\)"):
        plan(np.zeros((2, 2)), np.ones(1), np.ones(1), FREE)


PER_MM = 80
PLANNED = Klipper(max_velocity=100, max_accel=500)
STEPPED = replace(PLANNED, steps=(PER_MM, PER_MM, 400))


def driven(
    xy: list[tuple[float, float]], controller: Klipper, power: float = 0.5, speed: float = 20
) -> Executed:
    """The execution of a path with one power and speed."""
    rows = len(xy) - 1
    dark = np.zeros(rows, bool)
    moves = gcode.Moves.straight(
        np.array(xy), np.full(rows, power), np.full(rows, float(speed)), dark, dynamic=False
    )
    return execute(moves, controller)


def steps_at(done: Executed, times: np.ndarray) -> np.ndarray:
    """(T, 2) places in steps."""
    return done.at(times)[:, :2] * PER_MM


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=2, max_size=6),
    st.sampled_from([0.0, 0.5]),
)
def test_no_axis_is_further_than_half_a_step_from_its_plan(
    xy: list[tuple[float, float]], power: float
) -> None:
    planned, real = driven(xy, PLANNED, power), driven(xy, STEPPED, power)
    assert real.write_time == pytest.approx(planned.write_time)
    assert real.energies(len(xy) - 1) == pytest.approx(planned.energies(len(xy) - 1))
    assert (real.duration >= 0).all()
    times = np.linspace(0, planned.write_time, 200)
    assert np.abs(steps_at(real, times) - steps_at(planned, times)).max() <= 0.5 + 1e-4


def test_a_line_between_two_steps_is_written_on_the_nearer() -> None:
    y = 40.3 / PER_MM
    done = driven([(0, 0), (0, y), (3, y)], STEPPED)
    along = (done.at(done.end)[:, 0] > 0.1) & (done.row == 1)
    assert done.at(done.end)[along, 1] * PER_MM == pytest.approx(40, abs=1e-9)


@pytest.mark.parametrize(("ahead", "stand"), [(0.0, 41), (60 / PER_MM, 40)])
def test_at_a_middle_an_axis_goes_on_in_its_direction(ahead: float, stand: float) -> None:
    y = 40.5 / PER_MM
    done = driven([(0, ahead), (0, y), (3, y)], STEPPED)
    assert done.at([0.9 * done.write_time])[0, 1] * PER_MM == pytest.approx(stand)


def test_a_nearly_parallel_line_is_a_staircase_of_whole_steps() -> None:
    rise = 5
    times = np.linspace(0.2, 0.8, 4001)
    done = driven([(0, 0), (20, rise / PER_MM)], STEPPED)
    y = steps_at(done, times * done.write_time)[:, 1]
    whole = np.abs(y - np.rint(y)) < 1e-6
    assert whole.mean() > 0.98, "between steps only within a step's length of path"
    assert set(np.rint(y[whole])) == {1, 2, 3, 4}
    assert y.mean() == pytest.approx(rise / 2, abs=0.05), "it rises about its middle"


def test_short_treads_are_not_followed() -> None:
    """A diagonal's treads are shorter than any spot, so the line stays one."""
    planned, real = driven([(0, 0), (3, 3)], PLANNED), driven([(0, 0), (3, 3)], STEPPED)
    times = np.linspace(0.01, 0.99, 50) * planned.write_time
    assert real.at(times) == pytest.approx(planned.at(times), abs=1e-7)
    assert len(real) < len(planned) + 10


def test_fine_steps_change_nothing() -> None:
    xy = [(0.0, 0.0), (1.0, 0.2), (1.1, 0.9), (0.0, 0.9)]
    fine = replace(PLANNED, steps=(1e5, 1e5, 1e5))
    times = np.linspace(0, driven(xy, PLANNED).write_time, 100)
    assert driven(xy, fine).at(times) == pytest.approx(driven(xy, PLANNED).at(times), abs=0.5e-5 + 1e-9)


def test_a_lit_rest_is_on_a_step() -> None:
    place = 7.3 / PER_MM
    moves = gcode.read(
        f"G90\nG1 X{place} F600\nSET_PIN PIN=laser VALUE=100\nG4 P500\nSET_PIN PIN=laser VALUE=0\nG1 X1",
        gcode.dialect("klipper"), 1000, start=(0, 0),
    ).moves  # fmt: skip
    done = execute(moves, STEPPED)
    (rest,) = np.flatnonzero((done.power > 0) & (done.duration > 0.4))
    assert done.xyz[rest : rest + 2, 0] * PER_MM == pytest.approx(7)


def test_steps_are_no_changes_of_speed() -> None:
    """A slanted line at constant speed needs no other power, and is nowhere too fast."""
    moves = gcode.Moves.straight(
        np.array([[0, 0], [5, 0], [15, 10 / PER_MM], [20, 10 / PER_MM]]),
        np.array([0, 0.5, 0]), np.full(3, 20.0), np.array([True, False, True]), dynamic=False,
    )  # fmt: skip
    smooth, stepped = (
        gcode.motion.corrected(moves, one, gcode.motion.Board(), shortest=0.05) for one in (PLANNED, STEPPED)
    )
    assert len(smooth) == len(stepped)
    assert smooth.power == pytest.approx(stepped.power)
    text = gcode.write(smooth, gcode.dialect("klipper"))
    machine = gcode.Envelope(box=(-1, -1, 30, 30), speed_max=(20.001, 20.001), controller=STEPPED)
    found = gcode.check(text, gcode.dialect("klipper"), machine)
    assert not [finding for finding in found if "mm/s" in finding.message], found
