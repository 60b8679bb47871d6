"""GRBL line by line: closed forms, the planner where the line keeps up, and what a starving line does.

Its axes stand where their counters have come to, and vertices are in whole steps, as the firmware's single
precision decides.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pace_of_machine import within

import gcode
from gcode.controllers.common import whole_steps
from gcode.controllers.grbl import INSTANT
from gcode.controllers.grbl.planner import GrblRows, plan, runs, whole_steps_of_digits
from gcode.errors import GcodeError
from gcode.motion import Executed, Grbl, Limits, execute, profile
from gcode.move import Kind, Moves, approached, way_to

A, TOP, JD, STEPS = 500.0, 100.0, 0.01, 80.0
REAL = Grbl()  # 115200 baud on an atmega328p
IDEAL = Grbl(baud=None, idle_lock=0.0)  # neither line nor processor take time
WIRE = Grbl(times=INSTANT)  # only the line takes time


def run(xy, speed, limits=IDEAL, *, rapid=False, dwell=np.nan, characters=21):
    xy = np.asarray(xy, dtype=float)
    n = len(xy) - 1
    columns = (np.broadcast_to(c, n) for c in (speed, rapid, dwell, characters))
    return plan(np.column_stack([xy, np.zeros(n + 1)]), *columns, limits)


def row(n, pitch, start=0.0):
    return np.column_stack([start + pitch * np.arange(n + 1), np.zeros(n + 1)])


def circle(radius, chord):
    angle = np.linspace(0, 2 * np.pi, round(2 * np.pi * radius / chord) + 1)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def leaving(r, k):
    """mm/s at the end of row k."""
    return r.speed[np.flatnonzero(r.row == k)[-1]]


# Closed forms.


def test_a_diagonal_has_the_acceleration_and_the_rapid_speed_of_both_axes():
    length, v, a = 20 * np.sqrt(2), TOP * np.sqrt(2), A * np.sqrt(2)
    r = run([[0, 0], [20, 20]], 1.0, rapid=True)
    assert r.time == pytest.approx(length / v + v / a)
    assert r.speed.max() == pytest.approx(v)


def test_a_polygon_is_passed_as_the_circle_that_it_is():
    radius, v = 5.0, 20.0
    path = circle(radius, 0.5)
    length = np.hypot(*np.diff(np.rint(path * STEPS) / STEPS, axis=0).T).sum()
    r = run(path, v)
    # Each side has its own acceleration, 500…707 mm/s².
    assert length / v + v / (A * np.sqrt(2)) < r.time < length / v + v / A
    assert r.speed[(r.row > 5) & (r.row < 55)] == pytest.approx(v)


@pytest.mark.parametrize("pitch", [0.05, 0.1, 0.2])
def test_short_moves_are_as_fast_as_the_blocks_ahead_let_them_stop(pitch):
    r = run(row(400, pitch), 100.0)
    assert leaving(r, 200) ** 2 == pytest.approx(2 * A * pitch * (IDEAL.blocks - 1))


def test_more_blocks_are_faster():
    times = [run(row(400, 0.05), 100.0, replace(IDEAL, blocks=n)).time for n in (4, 8, 15, 30)]
    assert times == sorted(times, reverse=True) and times[0] > 2 * times[-1]


# Stops.


def test_a_stop_parts_the_motion_and_a_dwell_lasts():
    xy = [[0, 0], [8, 0], [8, 0], [16, 0]]
    half = run([[0, 0], [8, 0]], 50.0).time
    for pause in (0.0, 0.25):
        r = run(xy, 50.0, dwell=[np.nan, pause, np.nan])
        assert r.time == pytest.approx(2 * half + pause)
        assert leaving(r, 0) == 0
        assert r.duration[r.row == 1].sum() == pytest.approx(pause)


def test_a_stop_costs_the_idle_lock():
    xy = [[0, 0], [8, 0], [8, 0], [16, 0]]
    free, locked = (
        run(xy, 50.0, replace(IDEAL, idle_lock=lock), dwell=[np.nan, 0, np.nan]).time for lock in (0, 0.025)
    )
    assert locked == pytest.approx(free + 0.025)


def test_rows_without_a_step_are_passed_over():
    xy = [[0, 0], [8, 0], [8.001, 0], [16, 0]]
    assert run(xy, 50.0).time == pytest.approx(run([[0, 0], [16, 0]], 50.0).time)
    assert run([[0, 0], [0, 0]], 50.0).time == 0
    assert len(run([[1, 2]], 50.0)) == 0


# Where the line keeps up, it is the planner.

paths = hnp.arrays(np.int64, st.tuples(st.integers(2, 40), st.just(2)), elements=st.integers(-200, 200))


@given(paths, st.floats(1, 150), st.sampled_from([0.0125, 0.05, 1.0]), st.randoms(use_true_random=False))
def test_it_equals_the_planner_where_the_line_keeps_up(points, speed, scale, random):
    xy = np.rint(np.cumsum(points, axis=0) * scale * STEPS) / STEPS
    rapid = np.array([random.random() < 0.2 for _ in xy[1:]])
    limits = Limits(
        speed_max=(TOP, TOP), rapid=(TOP, TOP), acceleration=(A, A), junction_deviation=JD,
        look_ahead=IDEAL.blocks - 1, segment_rate=1e9, steps=(STEPS, STEPS),
    )  # fmt: skip
    n = len(rapid)
    known = profile(Moves.straight(xy, np.zeros(n), np.full(n, speed), rapid), limits)
    r = run(xy, speed, rapid=rapid)
    assert np.bincount(r.row, r.duration, n) == pytest.approx(known.duration, rel=1e-6, abs=1e-6)


@given(paths, st.floats(1, 150), st.sampled_from([0.0125, 0.05, 1.0]), st.sampled_from([REAL, IDEAL]))
def test_pieces_make_up_the_path(points, speed, scale, limits):
    xy = np.rint(np.cumsum(points, axis=0) * scale * STEPS) / STEPS
    xyz = np.column_stack([xy, 0 * xy[:, 0]])
    r = run(xy, speed, limits)
    assert r.start[1:] == pytest.approx(r.start[:-1] + r.duration[:-1])
    assert (np.diff(r.row) >= 0).all() and (r.duration >= 0).all()
    length = np.linalg.norm(np.diff(xyz, axis=0), axis=1)
    assert np.bincount(r.row, np.ones(len(r)), len(length))[length > 0].all()
    last = np.flatnonzero(np.append(np.diff(r.row) > 0, True))[: len(r)]
    assert r.end[last] == pytest.approx(length[r.row[last]])
    assert (r.speed <= max(speed, 1 / 60) * (1 + 1e-9)).all()
    if len(r):
        assert r.at(r.time, xyz)[0] == pytest.approx(xyz[-1])
        assert r.at(0.0, xyz)[0] == pytest.approx(xyz[0])


@given(paths, st.sampled_from([0.0125, 0.05, 1.0]))
def test_a_line_only_ever_slows_down(points, scale):
    xy = np.cumsum(points, axis=0) * scale
    assert run(xy, 50.0, replace(REAL, idle_lock=0.0)).time >= run(xy, 50.0).time - 1e-9


# Where it starves.


def test_a_starving_line_gives_the_time_of_its_bytes():
    n, characters = 3000, 40
    r = run(row(n, 0.05), 100.0, WIRE, characters=characters)
    assert r.time == pytest.approx(n * characters * 10 / 115200, rel=0.01)


def test_a_longer_line_and_fewer_baud_are_slower():
    times = [run(row(1000, 0.05), 50.0, REAL, characters=c).time for c in (20, 30, 40, 60)]
    assert times == sorted(times) and times[-1] > 1.5 * times[0]
    slow = run(row(1000, 0.05), 50.0, replace(REAL, baud=57600.0), characters=40).time
    assert slow == pytest.approx(1000 * 40 * 10 / 57600, rel=0.05)


def test_a_buffer_for_one_line_sends_only_when_the_last_is_done():
    xy = row(1000, 0.05)
    one = run(xy, 50.0, replace(REAL, receive_buffer=21)).time
    assert one > 1.1 * run(xy, 50.0, REAL).time


def test_a_line_that_comes_while_the_head_stops_is_executed_after_the_idle_lock():
    """And not only when the next line has come. Each of these lines comes about as the one before ends."""
    for host in np.arange(0.024, 0.03, 0.0005):
        r = run(row(12, 0.1), 20.0, replace(REAL, counts_characters=False, host_delay=host))
        assert r.duration[r.speed == 0].max() < REAL.idle_lock + 0.01


@pytest.mark.parametrize(("chord", "seconds"), [(0.05, 7.7), (0.1, 4.3), (0.2, 2.5)])
def test_a_circle_at_50_mm_per_s_lasts_as_recorded(chord, seconds):
    # The real firmware, at 500 mm/s² and 21 bytes a line; 2.5 s is the ideal time.
    assert run(circle(19.1, chord), 50.0, REAL).time == pytest.approx(seconds, rel=0.03)


@pytest.mark.parametrize(
    ("rate", "clean"), [(250, True), (350, True), (400, True), (440, False), (600, False)]
)
def test_400_lines_a_second_run_clean_and_440_starve(rate, clean):
    """As GRBL 1.1h does with 22 bytes a line: at 440 it is down to 9 of 11 mm/s."""
    speed = 0.025 * rate
    r = run(row(1500, 0.025), speed, REAL)
    steady = r.speed[(r.row > 300) & (r.row < 1200)]
    assert (steady.min() > 0.999 * speed) == clean


def test_a_starving_line_does_not_bend_the_path():
    xy = circle(5.0, 0.05)
    xyz = np.column_stack([xy, 0 * xy[:, 0]])
    r = run(xy, 50.0, REAL)
    assert np.hypot(*r.at(np.linspace(0, r.time, 500), xyz)[:, :2].T) == pytest.approx(5.0, abs=1e-3)


# The laser.


def test_dynamic_power_is_that_of_the_speed_at_the_end_of_each_tick():
    r = run([[0, 0], [16, 0]], 50.0)
    power = r.power(0.3, np.array([50.0]), True, None)
    assert power == pytest.approx(0.3 * r.speed / 50)
    assert power[-1] == 0 and power.max() == pytest.approx(0.3)
    # Each tick of a ramp shows its end, so what is gained on the way up is lost on the way down.
    assert (power * r.duration).sum() == pytest.approx(0.3 * 16 / 50, rel=1e-3)


@given(hnp.arrays(np.int64, (6, 2), elements=st.integers(-300, 300)), st.sampled_from([5.0, 40.0]))
def test_segments_end_at_whole_steps(steps, speed):
    r = run(steps / 80, speed)
    taken = r.path(steps / 80)[1:] * 80
    major = np.abs(np.diff(steps, axis=0)).argmax(axis=1)[r.row]
    np.testing.assert_allclose(taken[np.arange(len(r)), major] % 1 % (1 - 1e-6), 0, atol=1e-6)
    assert (r.duration >= 0).all()


def test_a_level_ends_with_a_step_where_the_head_crawls_to_rest():
    """The end of a recorded plan: two of the last three steps have its last level, which took 6.90 ms."""
    r = run([[0, 0], [0.0625, -0.0625], [0.1, -0.1]], [12.838, 12.778])
    taken = np.rint(r.end[r.row == 1] * 80 / np.sqrt(2))
    assert taken.tolist() == [2, 3]
    assert r.duration[r.row == 1][0] == pytest.approx(6.90e-3, abs=0.1e-3)


def test_pwm_has_the_level_above():
    r = run([[0, 0], [16, 0]], 50.0)
    power = r.power(0.3, np.array([50.0]), True)
    assert power.max() == pytest.approx((np.floor(254 * 0.3) + 1) / 255)
    assert power.min() == 0
    assert (r.power(0.0, np.array([50.0]), True) == 0).all()
    assert (r.power(1.0, np.array([50.0]), False) == 1).all()


def test_constant_power_stays_lit_where_the_head_stands_and_dynamic_does_not():
    xy, speed = [[0, 0], [8, 0], [8, 0], [16, 0]], np.full(3, 50.0)
    r = run(xy, speed, dwell=[np.nan, 0.25, np.nan])
    still = r.row == 1
    assert (r.power(0.5, speed, False, None)[still] == 0.5).all()
    assert (r.power(0.5, speed, True)[still] == 0).all()


def test_a_run_with_more_pieces_than_expected_is_the_same(monkeypatch):
    xy = np.cumsum(np.random.default_rng(4).uniform(-2, 2, (60, 2)), axis=0)
    expected = run(xy, 40.0, REAL)
    monkeypatch.setattr("gcode.controllers.grbl.planner._ticks", lambda blocks, limits: 1 - len(xy))
    found = run(xy, 40.0, REAL)
    for name in ("row", "start", "duration", "end", "speed"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@given(
    paths, st.sampled_from([REAL, WIRE, IDEAL, replace(REAL, counts_characters=False, host_delay=1e-3)]),
    st.integers(1, 9), st.randoms(use_true_random=False),
)  # fmt: skip
def test_a_run_in_parts_is_that_of_the_whole(points, limits, most, random):
    """Wherever it is cut: lines on their way, blocks in the planner and pieces go on."""
    xy = np.cumsum(points, axis=0) * 0.05
    n = len(xy) - 1
    stops = np.array([random.choice([np.nan, np.nan, np.nan, 0.0, 0.1]) for _ in range(n)])
    xy[1:] = xy[np.maximum.accumulate(np.where(np.isnan(stops), np.arange(1, n + 1), 0))]
    xyz, sent = np.column_stack([xy, 0 * xy[:, 0]]), np.array([random.randrange(60) for _ in range(n)], float)
    speed, rapid = np.full(n, 60.0), np.array([random.random() < 0.2 for _ in range(n)])
    whole = plan(xyz, speed, rapid, stops, sent, limits)

    def rows(first, end):
        return GrblRows(xyz[first : end + 1], speed[first:end], rapid[first:end], stops[first:end])

    parts = list(runs(rows, sent, limits, most))
    for name in ("row", "start", "duration", "end", "speed"):
        found = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(found, getattr(whole, name)), name
    for before, after in pairwise([part for part in parts if len(part)]):
        assert before.row[-1] < after.row[0], "each part has whole rows"


@pytest.mark.parametrize("stepped", [False, True])
def test_an_execution_in_parts_is_that_of_the_whole(monkeypatch, stepped):
    limits = replace(REAL, stepped=stepped)
    xy = np.cumsum(np.random.default_rng(7).uniform(-2, 2, (80, 2)), axis=0)
    power = np.random.default_rng(8).uniform(0, 1, 79)
    kind, z = np.where(np.arange(79) % 7 == 5, Kind.DWELL, Kind.LINE), np.repeat(np.arange(16.0), 5)
    xy[np.flatnonzero(kind == Kind.DWELL) + 1] = xy[:-1][kind == Kind.DWELL]
    z[np.flatnonzero(kind == Kind.DWELL) + 1] = z[:-1][kind == Kind.DWELL]
    moves = Moves(
        xy, power, np.full(79, 40.0), kind.astype(np.int8), z=z[:80],
        dwell=np.where(kind == Kind.DWELL, 0.05, 0.0), dynamic=np.full(79, True),
    )  # fmt: skip
    sent, whole = np.full(80, 30), limits.run(approached(moves, 50.0), np.full(80, 30), 255, 0.05)
    monkeypatch.setattr("gcode.controllers.grbl.planner.ROWS_AT_ONCE", 9)
    parts = list(limits.run_in_parts(way_to(moves, 50.0), moves, sent, 255, 0.05))
    assert (len(parts) > 4) is not stepped
    for name in ("row", "duration", "power"):
        found = np.concatenate([getattr(part, name) for part in parts])
        assert np.array_equal(found, getattr(whole, name)), name
    ends = np.vstack([parts[0].xyz[:1], *(part.xyz[1:] for part in parts)])
    assert np.array_equal(ends, whole.xyz)
    assert all((one.xyz[-1] == other.xyz[0]).all() for one, other in pairwise(parts))


def test_a_recording_begins_with_the_first_step():
    xyz = np.array([[0, 0, 0], [16.0, 0, 0]])
    r = run(xyz[:, :2], 50.0)
    first, last = r.stepping(r.path(xyz), REAL.steps)
    assert r.at([first, last], xyz)[:, 0] == pytest.approx([0.5 / STEPS, 16 - 0.5 / STEPS])
    assert 0 < first < 0.01 and r.time - 0.01 < last < r.time


# Bad input, and how long it all takes.


def test_bad_input_is_refused():
    for bad in ({"junction_deviation": -1.0}, {"steps": (80.0, 0.0, 80.0)}, {"baud": np.nan}, {"blocks": 0}):
        with pytest.raises(GcodeError, match=next(iter(bad))):
            Grbl(**bad)
    with pytest.raises(GcodeError, match="xyz"):
        plan(np.zeros((3, 2)), [1, 1], [0, 0], [np.nan] * 2, [9, 9], REAL)
    with pytest.raises(GcodeError, match="characters"):
        plan(np.zeros((3, 3)), [1, 1], [0, 0], [np.nan] * 2, [9], REAL)


@pytest.mark.slow
def test_a_million_moves_take_a_second():
    run(circle(1.0, 0.1), 50.0, REAL)  # compiles
    xy = np.tile(circle(15.9, 0.1)[:-1], (1000, 1))
    within(80, lambda: run(xy, 50.0, REAL))


PER_MM = 80
STEPPED = Grbl(baud=None)
EVEN = replace(STEPPED, stepped=False)
Point = tuple[int, int]


def driven(
    steps: list[Point], controller: Grbl, speed: float = 20, power: float = 0.5, longest: float = 0.05
) -> Executed:
    """The execution of a path through these places, in steps, with one power and speed."""
    rows = len(steps) - 1
    dark = np.zeros(rows, bool)
    moves = gcode.Moves.straight(
        np.array(steps) / PER_MM, np.full(rows, power), np.full(rows, float(speed)), dark, dynamic=False
    )
    return execute(moves, controller, longest=longest)


def counted(by: Point, ticks: int, parts: int) -> np.ndarray:
    """(N·parts, 2) steps at the middles of parts of the main axis' steps, as the firmware counts."""
    taken, counter, out, main = np.zeros(2), np.zeros(2), np.zeros(2), max(np.abs(by))
    counter += main * ticks / 2
    places = []
    for _ in range(main * ticks):
        places += [taken.copy()] * (parts // ticks)
        counter += np.abs(by)
        out = counter > main * ticks
        counter -= out * main * ticks
        taken = taken + out * np.sign(by)
    return np.array(places)


@pytest.mark.parametrize(
    ("speed", "ticks"),
    [pytest.param(10, 8, marks=pytest.mark.slow), pytest.param(40, 4, marks=pytest.mark.slow), (80, 2)],
)
@pytest.mark.parametrize("by", [(1600, 0), (1600, 77), (-600, 1600), (1280, -1280), (1601, 3)])
def test_pieces_have_the_mean_place_of_the_counted_steps(by: Point, speed: float, ticks: int) -> None:
    """Averaged over a spot's length, where the head cruises."""
    quick, main, parts = replace(STEPPED, acceleration=(5e3, 5e3, 5e3)), max(np.abs(by)), 8
    # The rate is that of the main axis.
    feed = speed * np.hypot(*by) / main
    even, done = (driven([(0, 0), by], replace(quick, stepped=stepped), feed) for stepped in (False, True))
    gone = np.abs(even.xyz[:, np.argmax(np.abs(by))]) * PER_MM
    middle = slice(main * parts * 3 // 10, main * parts * 7 // 10)
    at = ((np.arange(main * parts) + 0.5) / parts)[middle]
    found = done.at(np.interp(at, gone, np.append(0, even.end)))[:, :2] * PER_MM
    off, window = found - counted(by, ticks, parts)[middle], np.hanning(16 * parts)
    for axis in (0, 1):
        assert np.abs(np.convolve(off[:, axis], window / window.sum(), "valid")).max() < 0.06


def test_the_main_axis_trails_by_a_tick() -> None:
    """An eighth of a step at low rates, both ways."""
    for way in (1, -1):
        even, real = (driven([(0, 0), (way * 800, 0)], one, 10) for one in (EVEN, STEPPED))
        times = np.linspace(0.2, 0.8, 50) * even.write_time
        trail = (even.at(times) - real.at(times))[:, 0] * PER_MM
        assert trail == pytest.approx(way / 8, abs=1e-3)


step_paths = st.lists(st.tuples(st.integers(-200, 200), st.integers(-200, 200)), min_size=2, max_size=6)


@given(step_paths, st.sampled_from([5, 30, 90]))
def test_time_light_and_the_ends_stay(steps: list[Point], speed: float) -> None:
    even, real = driven(steps, EVEN, speed), driven(steps, STEPPED, speed)
    rows = len(steps) - 1
    assert real.durations(rows) == pytest.approx(even.durations(rows))
    assert real.energies(rows) == pytest.approx(even.energies(rows))
    assert real.xyz[[0, -1]] == pytest.approx(even.xyz[[0, -1]], abs=1e-12)
    assert (real.duration >= 0).all()
    times = np.linspace(0, even.write_time, 200)
    assert np.abs(real.at(times) - even.at(times)).max() * PER_MM < 2.5


def test_a_head_that_waits_stands_still_on_a_step() -> None:
    dwell = gcode.Moves.straight(
        np.array([[0, 0], [3, 0.1], [3, 0.1], [6, 0.4]]), np.full(3, 0.5), np.full(3, 20.0), np.zeros(3, bool)
    )
    moves = replace(dwell, kind=np.array([1, gcode.Kind.DWELL, 1], np.int8), dwell=np.array([0, 0.1, 0]))
    done = execute(moves, STEPPED)
    still = np.flatnonzero(done.row == 1)
    assert (done.xyz[still] == done.xyz[still + 1]).all()
    assert done.xyz[still[0]] * PER_MM == pytest.approx([240, 8, 0], abs=1e-9)


def test_fine_steps_and_wide_spots_leave_the_line() -> None:
    for controller, longest in ((replace(STEPPED, steps=(250.0, 250.0, 250.0)), 0.05), (STEPPED, 0.13)):
        one, other = (
            driven([(0, 0), (800, 37)], c, longest=longest)
            for c in (controller, replace(controller, stepped=False))
        )
        assert (one.xyz == other.xyz).all()


def test_only_steps_far_apart_make_more_pieces() -> None:
    for by, more in (((800, 0), False), ((800, 800), False), ((800, 400), False), ((800, 10), True)):
        even, real = (driven([(0, 0), by], one) for one in (EVEN, STEPPED))
        assert (len(real) > len(even)) is more


def read_float(text: str) -> np.float32:
    """A number as GRBL reads it: digits one by one, then the point."""
    digits, _, decimals = text.partition(".")
    value, left = np.float32(int(digits + decimals)), len(decimals)
    while left >= 2:
        value, left = np.float32(value * np.float32(0.01)), left - 2
    return np.float32(value * np.float32(0.1)) if left else value


@given(st.integers(0, 3_000_000), st.sampled_from([80, 250, 400]))
def test_digits_are_read_one_by_one(tenths_of_microns: int, per_mm: int) -> None:
    mm = tenths_of_microns / 1e4
    text = f"{mm:.4f}".rstrip("0").rstrip(".")
    exact = float(read_float(text) * np.float32(per_mm))
    assert whole_steps_of_digits([mm, -mm], per_mm).tolist() == [
        np.floor(exact + 0.5),
        -np.floor(exact + 0.5),
    ]


def test_halves_go_away_from_zero() -> None:
    assert whole_steps([0.5, 1.5, 2.5, -0.5, -2.5], 1).tolist() == [1, 2, 3, -1, -3]
    # Even numbers would be 388 and 390; 1.554 is 1554 · 0.01 · 0.1, a little above.
    assert whole_steps_of_digits([1.554, 1.562], 250).tolist() == [389, 391]


@given(st.floats(-300, 300), st.sampled_from([80, 250, 10_000]))
def test_any_place_is_at_its_nearest_step(mm: float, per_mm: int) -> None:
    """To within the single precision of 300 mm: 0.03 µm."""
    for rounded in (whole_steps, whole_steps_of_digits):
        assert abs(rounded([mm], per_mm)[0] / per_mm - mm) <= 0.5 / per_mm + 1e-4
