"""No more moves a second than the link delivers."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, expose, path

import gcode
from gcode.motion import peak_rate
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.convert import envelope
from laserpath.machine.program import MachineProgram
from laserpath.planning.rate import crowding, decimate, executable, fed, limit_peak_speed, share_of_speed
from laserpath.planning.smooth import to_levels
from laserpath.types import Design, Machine, Process, Toolpath

MACHINE = Machine(acceleration=(5000.0, 5000.0))


def circle(radius: float, step: float, power: float = 2.0):
    n = int(2 * np.pi * radius / step)
    angle = np.linspace(0, 2 * np.pi, n + 1)
    return path(10 + radius * np.column_stack([np.cos(angle), np.sin(angle)]), power)


def test_short_moves_at_full_speed_crowd_the_link():
    """0.1 mm at up to 50 mm/s are 500 moves/s where the link has 250; 0.5 mm are 100."""
    assert crowding(circle(5, 0.1), MACHINE).max() == pytest.approx(2, rel=0.02)
    assert crowding(circle(5, 0.5), MACHINE).max() == pytest.approx(0.4, rel=0.02)


def test_every_move_of_a_crowded_run_is_crowded():
    rates = crowding(circle(5, 0.1), MACHINE)
    assert rates.shape == (len(circle(5, 0.1)),)
    middle = len(rates) // 2
    assert (rates[middle - 20 : middle + 20] > 1.9).all()


def test_thinning_takes_out_vertices_within_the_tolerance():
    start = circle(5, 0.1)
    thinned = decimate(start, SPOT, MACHINE, 0.1)
    assert crowding(start, MACHINE).max() > 1.9
    assert crowding(thinned, MACHINE).max() < 1
    assert set(map(tuple, thinned.xy)) < set(map(tuple, start.xy))
    assert off(start, thinned).max() <= 0.1 * FWHM + 1e-12


def test_what_learning_crowds_is_fed_without_moving_a_vertex_or_an_energy():
    """Vertices that have come close to each other, two motor steps apart, at the link's full rate."""
    start = circle(5, 0.21)
    near = np.arange(40, 60)
    xy = np.insert(start.xy, near + 1, start.xy[near] + 0.04 * (start.xy[near + 1] - start.xy[near]), axis=0)
    crowded = Toolpath(xy, np.full(len(xy) - 1, 2.0), np.full(len(xy) - 1, 50.0))
    assert crowding(crowded, MACHINE).max() > 1.2
    kept = fed(crowded, SPOT, MACHINE)
    assert crowding(kept, MACHINE).max() <= 1.01
    assert set(map(tuple, kept.xy)) < set(map(tuple, crowded.xy))
    assert off(crowded, kept).max() < 0.02 * FWHM
    energies = [(one.line_energy * one.length).sum() for one in (crowded, kept)]
    assert energies[1] == pytest.approx(energies[0], rel=1e-3)
    np.testing.assert_array_equal(fed(start, SPOT, MACHINE).xy, start.xy)


def test_where_every_vertex_shapes_an_edge_the_head_is_slower_instead():
    angle = np.arange(120) * np.pi / 3
    zigzag = np.column_stack([10 + 0.05 * np.arange(120), 10 + 0.05 * np.sin(angle)])
    crowded = path(zigzag, 2.0)
    quick = replace(MACHINE, acceleration=(1e6, 1e6), junction_deviation=1.0)
    assert crowding(crowded, quick).max() > 2
    kept = fed(crowded, SPOT, quick)
    assert crowding(kept, quick).max() <= 1.01
    assert kept.speed.min() < 25
    energies = [(one.line_energy * one.length).sum() for one in (crowded, kept)]
    assert energies[1] == pytest.approx(energies[0], rel=1e-9)


def off(start, thinned):
    """(N,) mm from the vertices of the one path to the other."""
    return shapely.distance(shapely.points(start.xy), shapely.LineString(thinned.xy))


def test_what_is_inside_may_be_thinned_more_than_the_edge():
    start = circle(5, 0.1)
    upper = start.xy[:, 1] > 10
    thinned = decimate(start, SPOT, MACHINE, 0.02, np.where(upper, 10.0, 1.0))
    above = (thinned.xy[:, 1] > 10).sum()
    assert above < 0.7 * (len(thinned.xy) - above)
    assert off(start, thinned)[~upper].max() <= 0.02 * FWHM + 1e-12
    assert 0.02 * FWHM < off(start, thinned)[upper].max() <= 0.2 * FWHM


def test_a_long_move_may_be_off_by_less_than_one_that_the_spot_blurs():
    """Half as much at twice the length."""
    start = circle(5, 0.05)
    thinned = decimate(start, SPOT, MACHINE, 0.1)
    chord = thinned.length.max()
    assert chord > 1.2 * FWHM
    assert off(start, thinned).max() <= 0.1 * FWHM * 1.2 * FWHM / chord + 1e-9


def test_thinning_keeps_the_energy():
    start = circle(5, 0.1)
    thinned = decimate(start, SPOT, MACHINE, 0.05)
    energy = [(moves.line_energy * moves.length).sum() for moves in (start, thinned)]
    assert energy[1] == pytest.approx(energy[0])


def test_nothing_is_thinned_where_the_link_keeps_up():
    fast = replace(MACHINE, segment_rate=1e6)
    start = circle(5, 0.1)
    assert len(decimate(start, SPOT, fast, 0.05)) == len(start)


def test_a_slower_path_keeps_to_the_rate_and_to_its_line_energies():
    start = circle(5, 0.1)
    slower = to_levels(start, MACHINE, SPOT, share_of_speed(start, MACHINE))
    assert crowding(slower, MACHINE).max() <= 1.01
    np.testing.assert_allclose(slower.line_energy, start.line_energy)
    assert np.median(slower.speed) == pytest.approx(25, rel=0.1)


def test_the_share_is_one_where_the_link_keeps_up():
    assert (share_of_speed(circle(5, 0.5), MACHINE) == 1).all()


def test_it_is_the_figure_that_the_report_shows():
    start = circle(5, 0.1)
    duration = start.length / 50
    inside = peak_rate(duration[50:-50], MACHINE.look_ahead)
    assert crowding(start, MACHINE).max() * MACHINE.segment_rate == pytest.approx(inside, rel=0.02)


def test_the_way_from_the_work_zero_counts():
    """A path that the head enters straight on, at full speed, crowds the link from its first move."""
    line = path(np.column_stack([np.linspace(100, 103, 31), np.zeros(31)]), 2.0)
    brisk = replace(MACHINE, acceleration=(1e5, 1e5))
    assert crowding(line, brisk)[0] == pytest.approx(2, rel=0.1)


def test_the_peak_of_a_short_stroke_is_cut_off_and_a_long_one_left_alone():
    """From rest to rest on L = 0.16 mm at a = 500 mm/s² the head reaches √(aL) = 8.9 mm/s."""
    xy = np.array([[10, 10], [10.16, 10], [10.16, 20], [50, 20]])
    line = path(xy, [2.0, 0.0, 2.0])
    share = limit_peak_speed(
        line, replace(MACHINE, acceleration=(500.0, 500.0), junction_deviation=1e-6), 0.5
    )
    assert share[0] * 50 == pytest.approx(0.5 * np.sqrt(500 * 0.16), rel=0.05)
    assert share[1:].tolist() == [1, 1]


def test_a_long_stroke_is_not_limited_however_low_its_commanded_speed():
    """A weak laser writes at 10 of 50 mm/s: the peak is compared with the commanded speed."""
    slow = path(np.array([[10, 10], [60, 10]]), 2.0, 10.0)
    assert limit_peak_speed(slow, MACHINE, 0.5)[0] == pytest.approx(10 / 50)


def test_the_longer_of_two_strokes_is_never_limited_to_a_lower_speed():
    """Up to v²/a = 5 mm, where 50 mm/s is reached, and beyond."""
    machine = replace(MACHINE, acceleration=(500.0, 500.0), junction_deviation=1e-6)
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
    machine = replace(MACHINE, power_max=200.0)
    circle_ = circle(5, 0.05, power=2.0)
    slowed = executable(circle_, SPOT, machine, 1e-3)
    slowest = circle_.line_energy.max() and machine.power_min / circle_.line_energy.min()
    assert slowed.speed.max() == pytest.approx(slowest, rel=0.1)


def test_planning_and_checking_use_the_same_rate_of_the_link():
    """The report and `check` state the same peak rate for a program."""
    process, design = Process(), Design(shapely.MultiPolygon([shapely.Point(10, 10).buffer(5)]))
    drawn = circle(5, 0.05)
    motion = measured(drawn, design, process)
    program = MachineProgram.written(drawn, process).text
    grbl = gcode.dialect(process.machine.dialect)
    findings = gcode.check(program, grbl, envelope(process.machine, grbl))
    (message,) = [f.message for f in findings if "the moves come" in f.message]
    assert motion.segment_rate > 1.5 * process.machine.segment_rate
    assert float(message.split()[3]) == pytest.approx(motion.segment_rate, rel=0.01)


def measured(drawn, design, process):
    """The figures of the motion."""
    target = rasterise(design, grid_for(design, process.spot, 4))
    return expose(drawn, design, target, process).executed.motion
