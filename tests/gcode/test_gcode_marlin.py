"""Marlin's planner and laser against closed forms and the documented formulas, written out again here."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gcode.controllers.marlin import Marlin
from gcode.controllers.marlin.planner import Pieces, PlannedRows, pieces, plan
from gcode.errors import GcodeError

# Steps so fine, and a link and a queue so fast and long, that only the ideal trapezoid is left.
IDEAL = Marlin(steps=(4000.0,) * 3, blocks=400, minimum_segment_time=0.0, baud=None, shortest=1)
REAL = replace(IDEAL, steps=(80.0,) * 3)
SLOWEST = math.sqrt(500 / 2 / 4000)  # mm/s, at which IDEAL's motion begins and ends


def run(xy, speed: float, m: Marlin = IDEAL, dwell=None, characters: int = 30) -> PlannedRows:
    xy = np.asarray(xy, dtype=float)
    n = len(xy) - 1
    dwell = np.full(n, np.nan) if dwell is None else np.asarray(dwell)
    return plan(np.column_stack([xy, np.zeros(n + 1)]), np.full(n, speed), dwell, np.full(n, characters), m)


def lit(p: PlannedRows, power: float, m: Marlin = IDEAL, longest: float = 0.1) -> Pieces:
    return pieces(p, np.full(len(p.count), power), m, longest)


def circle(radius: float, chord: float, turns: float = 1.0) -> np.ndarray:
    angle = np.arange(0, 2 * math.pi * turns, chord / radius)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("speed", [20.0, 50.0, 90.0])
def test_a_line_takes_length_over_speed_and_a_ramp_at_each_end(speed):
    p = run([(0, 0), (30, 0)], speed)
    assert p.time == pytest.approx(30 / speed + (speed - SLOWEST) ** 2 / (500 * speed), rel=1e-3)
    assert p.peak[0] == pytest.approx(speed, rel=1e-3)


def test_a_line_too_short_for_its_speed_takes_twice_its_ramp():
    p = run([(0, 0), (1, 0)], 90)
    peak = math.sqrt(500 * 1 + SLOWEST**2)
    assert p.time == pytest.approx(2 * (peak - SLOWEST) / 500, rel=0.01)
    assert p.peak[0] == pytest.approx(peak, rel=5e-3)


def test_a_diagonal_is_limited_along_the_path_and_by_each_axis():
    diagonal = [(0, 0), (20, 20)]
    assert run(diagonal, 50).acceleration[0] == pytest.approx(500, rel=1e-3)
    free = replace(IDEAL, along=5000.0)
    assert run(diagonal, 50, free).acceleration[0] == pytest.approx(500 * math.sqrt(2), rel=1e-3)
    assert run(diagonal, 300, free).nominal[0] == pytest.approx(100 * math.sqrt(2), rel=1e-3)


def test_each_step_follows_after_one_over_the_rate_worked_out_at_it():
    """The rule of the stepper, plainly: t counts from half the first interval, r = r₀ ± A·t."""
    n, ramp, rate = 800, 40000.0, 4000.0
    first = float(round(math.sqrt(500 / 2 / 80) * 80))
    up = math.ceil((rate**2 - first**2) / 2 / ramp)
    time, since, r = 1 / first, 0.5 / first, first
    for k in range(1, n):
        if k < up:
            r = min(first + ramp * since, rate)
        elif k < n - up:
            r, since = rate, -0.5 / rate
        else:
            r = max(rate - ramp * since, first)
        time, since = time + 1 / r, since + 1 / r
    assert run([(0, 0), (10, 0)], 50, REAL).time == pytest.approx(time, rel=1e-4)


@pytest.mark.parametrize("turn", [10.0, 30.0, 45.0, 90.0, 150.0])
@pytest.mark.parametrize("deviation", [0.01, 0.05])
def test_two_lines_meet_at_the_speed_of_the_junction_deviation(turn, deviation):
    heading = np.array([math.cos(math.radians(turn)), math.sin(math.radians(turn))])
    corner = np.array([20.0, 0.0])
    m = replace(IDEAL, junction_deviation=deviation, along=2000.0)
    p = run([(0, 0), corner, corner + 20 * heading], 50, m)
    turned = heading - [1, 0]
    across = min(500 / np.abs(turned / np.linalg.norm(turned)).max(), 500 / np.abs(heading).max())
    s = math.cos(math.radians(turn) / 2)
    expected = min(50.0, math.sqrt(across * deviation * s / (1 - s)))
    assert p.exit[0] == pytest.approx(expected, rel=5e-3)
    assert p.entry[1] == pytest.approx(expected, rel=5e-3)


def test_a_reversal_stops():
    p = run([(0, 0), (20, 0), (0, 0)], 50)
    assert p.exit[0] == pytest.approx(SLOWEST, rel=0.02)
    assert p.time == pytest.approx(2 * (20 / 50 + 50 / 500), rel=5e-3)


@pytest.mark.parametrize("jerk", [2.0, 10.0])
def test_classic_jerk_changes_no_axis_speed_by_more(jerk):
    p = run([(0, 0), (20, 0), (30, 10)], 50, replace(IDEAL, jerk=(jerk,) * 3))
    before, after = p.exit[0] * np.array([1, 0]), p.entry[1] * np.array([1, 1]) / math.sqrt(2)
    assert np.abs(after - before).max() == pytest.approx(jerk, rel=0.01)


def test_chords_of_a_circle_are_as_fast_as_its_radius_allows():
    """The small-segment rule: v² = a·R; its acos is up to 0.8 % too large."""
    chords = circle(5.0, 0.3)
    p = run(chords, 90)
    inner = slice(40, -40)
    assert np.median(p.entry[inner]) ** 2 == pytest.approx(500 * 5.0, rel=0.02)
    without = run(chords, 90, replace(IDEAL, small_segments=False))
    assert without.time < p.time


def test_long_chords_are_not_small_segments():
    chords = circle(20.0, 1.5)
    small = replace(IDEAL, small_segments=True)
    assert run(chords, 90, small).time == run(chords, 90, replace(small, small_segments=False)).time


def test_a_queue_of_short_segments_is_as_fast_as_it_can_still_stop():
    row = np.column_stack([np.arange(0, 20, 0.1), np.zeros(200)])
    m = replace(IDEAL, blocks=16)
    fastest = run(row, 90, m).peak.max()
    most = math.sqrt(2 * 500 * 0.1 * 15)
    assert 0.9 * most < fastest <= most
    assert run(row, 90, replace(m, blocks=32)).peak.max() > fastest


def test_a_row_of_ten_lines_is_one_line():
    row = np.column_stack([np.linspace(0, 30, 11), np.zeros(11)])
    assert run(row, 50).time == pytest.approx(run([(0, 0), (30, 0)], 50).time, rel=2e-3)


def test_a_block_that_finds_few_others_is_stretched():
    """Row 1 finds row 0 and M3 I; then row 0 runs, and row 2 finds row 1, row 3 two, row 4 three."""
    row = np.column_stack([[0, 5, 5.1, 5.2, 5.3, 5.4], np.zeros(6)])
    p = run(row, 50, replace(REAL, blocks=16, minimum_segment_time=0.02, shortest=1))
    lasts = np.array([0.02, 0.002, 0.02, 0.002 + 2 * 0.018 / 3])
    assert np.allclose(p.nominal[1:], 0.1 / lasts, rtol=1e-6)


def test_lines_below_the_shortest_are_left_to_the_next():
    row = np.column_stack([np.arange(0, 2.01, 0.05), np.zeros(41)])
    p = run(row, 20, replace(REAL, shortest=6))
    assert np.array_equal(p.duration > 0, np.arange(40) % 2 == 1)
    assert np.array_equal(p.origin[1::2], np.arange(0, 40, 2))
    assert lit(p, 0.5, REAL).xyz[-1, 0] == pytest.approx(2.0)


def test_a_stop_ends_one_motion_and_begins_another():
    row = [(0, 0), (20, 0), (20, 0), (40, 0), (60, 0), (80, 0)]
    still = [np.nan, 0.0, np.nan, np.nan, np.nan]
    p = run(row, 50, dwell=still)
    assert p.exit[0] < 0.5 and p.entry[2] < 0.5
    line = run([(0, 0), (20, 0)], 50).time + run([(0, 0), (60, 0)], 50).time
    assert p.time - p.wait.sum() == pytest.approx(line, rel=2e-3)
    assert p.wait[2] <= 2e-3


def test_one_block_after_a_stop_waits_a_tenth_of_a_second_for_others():
    p = run([(0, 0), (20, 0), (20, 0), (40, 0)], 50, dwell=[np.nan, 0.0, np.nan])
    assert p.wait[2] == pytest.approx(0.1, abs=2e-3)


def test_a_dwell_adds_its_time_and_its_light():
    row = [(0, 0), (20, 0), (20, 0), (40, 0)]
    times = [run(row, 50, dwell=[np.nan, s, np.nan]).time for s in (0.0, 0.5)]
    assert times[1] - times[0] == pytest.approx(0.5, abs=2e-3)
    p = run(row, 50, dwell=[np.nan, 0.5, np.nan])
    executed = pieces(p, [0.0, 0.4, 0.0], IDEAL)
    here = executed.row == 1
    assert executed.duration[here].sum() == pytest.approx(0.5 + p.wait[2])
    assert executed.exposure == pytest.approx(0.4 * (0.5 + p.wait[2]), rel=1e-6)


def test_a_dark_stop_of_no_time_ends_the_light_of_the_line_before():
    """M5 waits for it, and darkens at once; the block behind waits for others, and is then dark."""
    p = run([(0, 0), (5, 0), (5, 0), (9, 0)], 30, dwell=[np.nan, 0.0, np.nan])
    one = pieces(p, [0.5, 0.0, 0.0], IDEAL)
    still = np.flatnonzero((np.diff(one.xyz, axis=0, prepend=[[0, 0, 0]]) == 0).all(axis=1))
    assert one.duration[still].sum() == pytest.approx(0.1, rel=0.05)
    assert (one.power[still] == 0).all()


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_power_rises_by_equal_parts_per_step_so_a_ramp_has_a_third_of_its_exposure(power):
    """P·(s/s_a) with s = a·t²/2 gives ∫ = P·t_a/3, up and down; the cut to whole levels takes half of one."""
    p = run([(0, 0), (30, 0)], 50)
    level = round(power * 255)
    ramp = 50 / 500
    expected = power * (30 / 50 - ramp) + 2 * ramp * (level / 3 - 0.5) / 255
    assert lit(p, power).exposure == pytest.approx(expected, rel=2e-3)


def test_power_is_full_at_the_peak_of_a_line_that_never_reaches_its_speed():
    p = run([(0, 0), (2, 0)], 90)
    executed = lit(p, 1.0, longest=0.01)
    assert executed.power.max() > 0.99
    assert executed.exposure == pytest.approx(p.time / 3, rel=0.02)


@pytest.mark.parametrize("longest", [0.02, 0.5, np.inf])
def test_pieces_are_gapless_and_their_length_does_not_change_the_exposure(longest):
    p = run(circle(5.0, 0.7), 60, REAL)
    fine, executed = lit(p, 0.5, REAL, 0.001), lit(p, 0.5, REAL, longest)
    assert executed.duration.sum() == pytest.approx(p.time, rel=1e-4)
    assert executed.exposure == pytest.approx(fine.exposure, rel=5e-3)
    assert np.allclose(executed.xyz[-1], p.vertex[-1])


def test_a_block_that_only_brakes_runs_below_zero_which_wraps_or_is_dark():
    row = np.column_stack([np.linspace(0, 2, 5), np.zeros(5)])
    p = run(row, 90, REAL)
    last = lambda m: lit(p, 0.3, m, 0.01).power[lit(p, 0.3, m, 0.01).row == 3]  # noqa: E731
    assert last(replace(REAL, wraps=True)).max() > 0.8
    assert last(replace(REAL, wraps=False)).max() <= 0.3
    assert last(replace(REAL, wraps=False)).min() == 0


def test_g0_is_dark_but_a_starving_laser_shines_on():
    row = np.column_stack([np.arange(0, 8, 0.2), np.zeros(40)])
    slow = replace(REAL, baud=2400.0)
    p = run(row, 50, slow)
    assert p.wait.sum() > 0
    assert lit(p, 0.0, slow).exposure == 0
    executed = lit(p, 0.5, slow)
    assert executed.duration.sum() == pytest.approx(p.time, rel=1e-4)


@pytest.mark.parametrize("baud", [9600.0, 38400.0])
@pytest.mark.parametrize("slowdown", [0.0, 0.02])
def test_a_starving_machine_takes_as_long_as_its_lines(baud, slowdown):
    row = np.column_stack([np.arange(0, 120, 0.1), np.zeros(1200)])
    p = run(row, 90, replace(REAL, blocks=16, baud=baud, minimum_segment_time=slowdown))
    assert p.time == pytest.approx(1199 * 30 * 10 / baud, rel=0.03)


def test_a_reply_that_takes_time_slows_each_line():
    row = np.column_stack([np.arange(0, 120, 0.1), np.zeros(1200)])
    m = replace(REAL, blocks=16, baud=None, reply=0.008)
    assert run(row, 90, m).time == pytest.approx(1199 * 0.008, rel=0.03)


def test_no_rows_are_nothing():
    p = run([(0, 0)], 50)
    assert p.time == 0 and p.first_step == 0
    assert len(lit(p, 1.0).row) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"along": 0.0}, "along is 0.0"),
        ({"steps": (80.0, np.nan, 80.0)}, "steps is"),
        ({"reply": -1.0}, "reply is -1.0"),
        ({"blocks": 3}, "blocks is 3"),
    ],
)
def test_bad_limits_are_named(change, says):
    with pytest.raises(GcodeError, match=says):
        Marlin(**change)


def test_bad_arguments_are_named():
    with pytest.raises(GcodeError, match=r"speed of row 0 is 0.0 mm/s"):
        run([(0, 0), (1, 0)], 0.0)
    with pytest.raises(GcodeError, match="longest is 0"):
        lit(run([(0, 0), (1, 0)], 1.0), 1.0, longest=0.0)
