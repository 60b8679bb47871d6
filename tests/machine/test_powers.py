"""Line energies as powers on the machine's levels, no superfluous travels, no more moves a second than the
link delivers.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, energy_path, expose, path
from hypothesis import assume, given
from hypothesis import strategies as st

import gcode
from gcode.motion import peak_rate
from laserpath.base.errors import InputError
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.convert import envelope
from laserpath.machine.powers import (
    crowding,
    drop_dark,
    energies,
    executable,
    exposing,
    limit_peak_speed,
    share_of_speed,
    to_levels,
    within_speed,
)
from laserpath.machine.program import MachineProgram
from laserpath.physics.resin import path_energy
from laserpath.types import Design, Machine, Process, Spot, Toolpath

MACHINE = Machine()
FULL = min(MACHINE.speed_max)
BRISK = Machine(acceleration=(5000.0, 5000.0))
seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, order=st.sampled_from([1, 2]))
def test_powers_and_speeds_give_the_line_energies_and_back(seed, order):
    rng, spot = np.random.default_rng(seed), Spot(FWHM, photons=order)
    start = path(
        rng.uniform(0, 1, (31, 2)), rng.uniform(0, 2 * MACHINE.power_max, 30), rng.uniform(1, 50, 30)
    )
    again = exposing(energies(start, spot), MACHINE, spot)
    np.testing.assert_allclose(path_energy(again, spot), path_energy(start, spot))
    assert again.power.max() <= MACHINE.power_max
    enough = start.power <= MACHINE.power_max
    np.testing.assert_allclose(again.power[enough], start.power[enough])
    np.testing.assert_allclose(again.speed[enough], start.speed[enough])
    np.testing.assert_allclose(again.power[~enough], MACHINE.power_max)


def test_a_wider_spot_needs_more_power_for_the_same_dose_of_two_photons():
    """E_2 falls with the square of the width; one photon does not care."""
    for photons, factor in ((1, 1), (2, 2)):
        spot = Spot(FWHM, photons=photons)
        line = path(np.array([[0.0, 0], [1, 0], [2, 0]]), [2.0, 0.0])
        moved = exposing(energies(line, spot), MACHINE, replace(spot, fwhm=2 * FWHM))
        np.testing.assert_allclose(moved.power, factor * line.power)


def test_a_move_is_slowed_down_no_further_than_its_smallest_power_allows():
    xy = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    made = within_speed(energy_path(xy, [5.0, 2 * MACHINE.power_min, 0.0]), np.full(3, 10.0), MACHINE, SPOT)
    np.testing.assert_array_equal(made.speed, [10, 50, 50])


def test_the_level_below_a_power_is_usable_and_no_brighter():
    for machine in (
        MACHINE,
        Machine(level_offset=3.2),
        Machine(power_levels=1000, level_min=5, level_offset=-4.0),
    ):
        level = np.arange(machine.level_min, machine.power_levels + 1)
        own = machine.power_of(level)
        np.testing.assert_array_equal(machine.level_below(own), level)
        np.testing.assert_array_equal(machine.level_below(0.999 * own)[1:], level[:-1])
        assert machine.level_below(own[-1] * 2) == level[-1]
        assert machine.level_below(own[0] / 2) == level[0]


@given(seed=seeds)
def test_levels_keep_the_line_energy_exactly(seed):
    rng = np.random.default_rng(seed)
    needed = rng.uniform(MACHINE.power_min, 1.2 * MACHINE.power_max, 30) / FULL
    start = energy_path(rng.uniform(0, 1, (31, 2)), needed * FULL)
    assume(start.length.min() > 0)
    levelled = to_levels(start, MACHINE, SPOT)
    level = MACHINE.level_for(levelled.power)
    np.testing.assert_allclose(level, np.rint(level), atol=1e-9)
    assert level.min() >= 1 and level.max() <= MACHINE.power_levels
    np.testing.assert_allclose(levelled.line_energy, start.energy, rtol=1e-8)
    assert levelled.speed.max() <= FULL
    inside = needed * FULL <= MACHINE.power_max
    slowest = (levelled.power / MACHINE.power_of(level + 1))[inside] * FULL
    assert (levelled.speed[inside] >= slowest * (1 - 1e-9)).all()


@pytest.mark.parametrize(("levels", "expected"), [(0.45, 0), (0.55, 1), (0.95, 1), (1.5, 1), (2.0, 2)])
def test_too_weak_a_move_is_dark_or_at_the_smallest_level(levels, expected):
    xy = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    linear = replace(MACHINE, level_offset=0.0)
    start = energy_path(xy, np.array([5, levels, 5]) * linear.power_step)
    levelled = to_levels(start, linear, SPOT)
    assert levelled.power[1] == pytest.approx(expected * linear.power_step)
    assert levelled.speed[1] == pytest.approx(
        min(MACHINE.rapid_speed) if expected == 0 else min(expected / levels, 1) * FULL
    )


def test_the_smallest_usable_level_is_the_machine_s():
    machine = replace(MACHINE, level_min=10)
    start = energy_path(np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([7, 20]) * 10 / 255)
    levelled = to_levels(start, machine, SPOT)
    np.testing.assert_allclose(levelled.power, machine.power_of([10, 19]))


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_a_level_is_as_bright_as_its_board_makes_it(share):
    """Level 1 of an ATmega is twice as bright as 1/255: a line that needs less has it at full speed."""
    xy = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    board = replace(MACHINE, level_offset=1.0)
    assert board.power_min == pytest.approx(2 / 256 * board.power_max)
    start = energy_path(xy, np.array([1.5, 0.9, 8]) / 256 * board.power_max)
    levelled = to_levels(start, board, SPOT, share)
    assert levelled.power[:2] == pytest.approx([board.power_min, 0.0])
    assert levelled.speed[0] == FULL


def test_a_laser_too_strong_for_the_whole_path_is_named():
    xy = np.array([[0.0, 0], [1, 0]])
    with pytest.raises(InputError, match=r"smallest usable power 78\.1 mW at 50 mm/s .* 10 mW .* attenuate"):
        to_levels(energy_path(xy, 10.0), Machine(power_max=10_000), SPOT)


@pytest.mark.parametrize("share", [0.9, 0.5, 0.05, 0.001])
def test_going_slower_changes_no_line_energy_and_loses_no_move(share):
    """Where the smallest power is already too much for that speed, the move is as slow as it allows."""
    machine = Machine(level_min=20)
    start = energies(to_levels(energy_path([[0, 0], [1, 0], [2, 0]], [1.0, 8.0]), machine, SPOT), SPOT)
    slower = to_levels(start, machine, SPOT, share)
    np.testing.assert_allclose(slower.line_energy, start.energy)
    needed = start.energy * 50 / machine.power_min  # times the smallest power, at full speed
    np.testing.assert_array_less(slower.speed, np.maximum(share, 1 / needed) * 50 * (1 + 1e-9))


@st.composite
def toolpaths(draw):
    """Moves on a coarse lattice, so that many have no length, and many dark."""
    n = draw(st.integers(1, 12))
    corner = st.tuples(st.integers(0, 2), st.integers(0, 2))
    xy = np.array(draw(st.lists(corner, min_size=n + 1, max_size=n + 1)), dtype=float)
    power = np.array(draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0]), min_size=n, max_size=n)))
    return path(xy, power)


def lit_moves(toolpath):
    keep = toolpath.on & (toolpath.length > 0)
    return np.column_stack([toolpath.xy[:-1], toolpath.xy[1:], toolpath.power, toolpath.speed])[keep]


@given(start=toolpaths())
def test_dropping_the_dark_keeps_every_exposing_move(start):
    np.testing.assert_array_equal(lit_moves(drop_dark(start)), lit_moves(start))


@given(start=toolpaths())
def test_dropping_the_dark_leaves_single_travels_and_no_points(start):
    dropped = drop_dark(start)
    assert (dropped.length > 0).all()
    assert not (~dropped.on[:-1] & ~dropped.on[1:]).any()
    assert len(dropped) == 0 or dropped.on[-1]


def test_a_stop_within_a_stroke_does_not_switch_the_laser_off():
    """A lit move of no length once became a travel of no length."""
    dropped = drop_dark(path(np.array([[0.0, 0], [1, 0], [1, 0], [2, 0]])))
    np.testing.assert_array_equal(dropped.xy, [[0, 0], [1, 0], [2, 0]])
    assert dropped.on.all()


def test_an_empty_path_stays_one():
    assert len(drop_dark(Toolpath(np.zeros((1, 2)), np.zeros(0), np.zeros(0)))) == 0


def circle(radius, step, power=2.0):
    n = int(2 * np.pi * radius / step)
    angle = np.linspace(0, 2 * np.pi, n + 1)
    return energy_path(10 + radius * np.column_stack([np.cos(angle), np.sin(angle)]), power)


def test_short_moves_at_full_speed_crowd_the_link():
    """0.1 mm at up to 50 mm/s are 500 moves/s where the link has 250; 0.5 mm are 100."""
    assert crowding(circle(5, 0.1), BRISK).max() == pytest.approx(2, rel=0.02)
    assert crowding(circle(5, 0.5), BRISK).max() == pytest.approx(0.4, rel=0.02)


def test_every_move_of_a_crowded_run_is_crowded():
    rates = crowding(circle(5, 0.1), BRISK)
    assert rates.shape == (len(circle(5, 0.1)),)
    middle = len(rates) // 2
    assert (rates[middle - 20 : middle + 20] > 1.9).all()


def test_a_slower_path_keeps_to_the_rate_and_to_its_line_energies():
    start = circle(5, 0.1)
    slower = to_levels(start, BRISK, SPOT, share_of_speed(start, BRISK))
    assert crowding(slower, BRISK).max() <= 1.01
    np.testing.assert_allclose(slower.line_energy, start.energy)
    assert np.median(slower.speed) == pytest.approx(25, rel=0.1)


def test_the_share_is_one_where_the_link_keeps_up():
    assert (share_of_speed(circle(5, 0.5), BRISK) == 1).all()


def test_it_is_the_figure_that_the_report_shows():
    start = circle(5, 0.1)
    duration = start.length / 50
    inside = peak_rate(duration[50:-50], BRISK.look_ahead)
    assert crowding(start, BRISK).max() * BRISK.segment_rate == pytest.approx(inside, rel=0.02)


def test_the_way_from_the_work_zero_counts():
    """A path that the head enters straight on, at full speed, crowds the link from its first move."""
    line = path(np.column_stack([np.linspace(100, 103, 31), np.zeros(31)]), 2.0)
    brisk = replace(BRISK, acceleration=(1e5, 1e5))
    assert crowding(line, brisk)[0] == pytest.approx(2, rel=0.1)


def test_the_peak_of_a_short_stroke_is_cut_off_and_a_long_one_left_alone():
    """From rest to rest on L = 0.16 mm at a = 500 mm/s² the head reaches √(aL) = 8.9 mm/s."""
    xy = np.array([[10, 10], [10.16, 10], [10.16, 20], [50, 20]])
    line = path(xy, [2.0, 0.0, 2.0])
    share = limit_peak_speed(line, replace(BRISK, acceleration=(500.0, 500.0), junction_deviation=1e-6), 0.5)
    assert share[0] * 50 == pytest.approx(0.5 * np.sqrt(500 * 0.16), rel=0.05)
    assert share[1:].tolist() == [1, 1]


def test_a_long_stroke_is_not_limited_however_low_its_commanded_speed():
    """A weak laser writes at 10 of 50 mm/s: the peak is compared with the commanded speed."""
    slow = path(np.array([[10, 10], [60, 10]]), 2.0, 10.0)
    assert limit_peak_speed(slow, BRISK, 0.5)[0] == pytest.approx(10 / 50)


def test_the_longer_of_two_strokes_is_never_limited_to_a_lower_speed():
    """Up to v²/a = 5 mm, where 50 mm/s is reached, and beyond."""
    machine = replace(BRISK, acceleration=(500.0, 500.0), junction_deviation=1e-6)
    share = [
        limit_peak_speed(
            path(np.array([[10, 10], [10 + length, 10], [10 + length, 40]]), [2.0, 0.0]), machine, 0.5
        )[0]
        for length in np.linspace(0.1, 8, 40)
    ]
    assert (np.diff(share) >= -1e-9).all()
    assert share[-1] == 1


def test_weak_moves_too_are_as_slow_as_the_link():
    """Moves near the smallest level cannot be weaker, but they can be slower."""
    machine = replace(BRISK, power_max=200.0)
    circle_ = circle(5, 0.05, power=2.0)
    slowed = executable(circle_, SPOT, machine, 0.9)
    slowest = machine.power_min / circle_.energy.min()
    assert slowed.speed.max() == pytest.approx(slowest, rel=0.1)


def test_planning_and_checking_use_the_same_model_of_the_link():
    """`check` says of a program that the link slows down how long it takes, as the report does."""
    process, design = Process(), Design(shapely.MultiPolygon([shapely.Point(10, 10).buffer(5)]))
    drawn = exposing(circle(5, 0.05), process.machine, process.spot)
    motion = measured(drawn, design, process)
    program = MachineProgram.written(drawn, process)
    grbl = gcode.dialect(process.machine.dialect)
    checked = gcode.examine(program.text, grbl, envelope(process.machine, grbl))
    assert checked.write_time == pytest.approx(program.run.write_time, rel=1e-3)
    (message,) = [f.message for f in checked.findings if "the link" in f.message]
    linked, free = map(float, re.findall(r"([\d.]+) s\b", message))
    assert linked == pytest.approx(program.run.write_time, rel=5e-3)
    assert linked > 1.1 * free
    assert motion.segment_rate > 1.5 * process.machine.segment_rate


def measured(drawn, design, process):
    """The figures of the motion."""
    target = rasterise(design, grid_for(design, process.spot, 4))
    return expose(drawn, design, target, process).executed.motion
