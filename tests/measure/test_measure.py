"""A toolpath as commanded and as executed: energy, times, and what the controller changes."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import SPOT, coordinates, design, expose, path

from laserpath.design.target import MARGIN_FWHM, grid_for, rasterise
from laserpath.machine.program import MachineProgram, Transmitted
from laserpath.physics.dose.segments import to_points
from laserpath.physics.optics import energy_outside, profile
from laserpath.types import Machine, Process, Toolpath

BAR = design(shapely.box(1, 1, 2, 1.2))
TARGET = rasterise(BAR, grid_for(BAR, SPOT, 6))
PROCESS = Process()
LEVEL = PROCESS.machine.power_step
PATH = path(
    np.array([[1.05, 1.05], [1.95, 1.05], [1.95, 1.15], [1.05, 1.15], [1.05, 1.1], [1.9, 1.1]]),
    np.array([50, 40, 50, 0, 20]) * LEVEL,
)
# A controller that reaches any speed at once, stops anywhere, and shines in proportion to the level.
IDEAL = replace(
    PROCESS,
    machine=Machine(
        acceleration=(1e9, 1e9), junction_deviation=1e3, segment_rate=1e9, steps=None, level_offset=0
    ),
)
# One whose light is level/255, rather than (level + 1)/256.
PROPORTIONAL = replace(PROCESS, machine=Machine(level_offset=0))


def test_the_dose_holds_the_energy_of_the_path_but_for_the_tails_beyond_the_grid():
    """A lone part: what an Airy spot has outside the dark rim is lost, and nothing comes in from copies."""
    measured = expose(PATH, BAR, TARGET, PROCESS).commanded
    energy = (PATH.line_energy * PATH.length).sum()
    outside = energy_outside(PROCESS.spot, MARGIN_FWHM * PROCESS.spot.fwhm)
    assert 1 - outside < measured.dose.sum() * measured.grid.pixel_area / energy < 1


def test_the_dose_of_a_lone_part_is_the_plain_sum_of_its_spots():
    points = to_points(PATH.xy, PATH.line_energy, PROCESS.spot.fwhm, 1e-5)
    x, y = coordinates(TARGET.grid)
    plain = sum(
        energy * profile(PROCESS.spot, x - at[0], y - at[1])
        for at, energy in zip(points.xy, points.energy, strict=True)
    )
    measured = expose(PATH, BAR, TARGET, PROCESS).commanded.dose
    np.testing.assert_allclose(measured, plain, atol=1e-4 * plain.max())


def test_executed_by_an_ideal_controller_is_what_was_commanded():
    """So slow that GRBL's tick of 10 ms, the last of which is dark before a stop, is 0.02 FWHM long."""
    power = np.rint(PATH.power / 10 * 255) / 255 * 10  # its light is level/255
    slow = replace(PATH, power=power, speed=np.full(5, 0.2))
    commanded = expose(slow, BAR, TARGET, IDEAL).commanded
    executed = expose(slow, BAR, TARGET, IDEAL).executed
    np.testing.assert_allclose(executed.dose, commanded.dose, atol=0.02 * commanded.dose.max())
    assert executed.dose.sum() == pytest.approx(commanded.dose.sum(), rel=5e-3)
    assert executed.dose.sum() < commanded.dose.sum()


def test_a_real_controller_changes_the_dose_but_not_the_path_s_figures():
    exposure = expose(PATH, BAR, TARGET, PROPORTIONAL, Transmitted(np.full(len(PATH), 25), 17))
    commanded, executed = exposure.commanded, exposure.executed
    assert np.abs(executed.dose - commanded.dose).max() > 1e-4 * commanded.dose.max()
    # In M4 the power follows the speed, so the energy is nearly kept.
    assert executed.dose.sum() == pytest.approx(commanded.dose.sum(), rel=0.1)
    assert executed.motion == commanded.motion
    assert commanded.motion.lines == 17


def test_the_pin_of_an_atmega_gives_a_level_more_of_light():
    """Lit for (n + 1)/256 rather than n/255 of the time; both move alike."""
    plain, pin = (expose(PATH, BAR, TARGET, p).executed for p in (PROPORTIONAL, PROCESS))
    run = MachineProgram.of(PATH, PROPORTIONAL).run
    n = (run.power @ run.duration) / run.duration[run.power > 0].sum() * 255
    assert n < 50, "levels at which one more counts"
    assert pin.dose.sum() / plain.dose.sum() == pytest.approx((n + 1) / 256 / (n / 255), rel=1e-3)
    assert pin.motion == plain.motion


def test_times_and_lengths_include_the_way_from_the_work_zero():
    measured = expose(PATH, BAR, TARGET, PROCESS).commanded.motion
    dark = 18 / 250  # mm, that the head comes back on the first line in 0.12 s, while GRBL's planner fills
    approach = np.hypot(1.05 + dark, 1.05)
    assert measured.write_length == pytest.approx(0.9 + 0.1 + 0.9 + 0.85)
    assert measured.travel_length == pytest.approx(approach + dark + 0.05)
    assert measured.toggles == 4
    # The travel within the path keeps the speed it is written with; the way there is a rapid.
    assert measured.ideal_time == pytest.approx(approach / 100 + 0.12 + (2.75 + 0.05) / 50)
    assert measured.write_time > measured.ideal_time


def test_a_slow_controller_takes_longer_and_an_ideal_one_the_ideal_time():
    slow = [replace(PROCESS, machine=Machine(acceleration=(a, a))) for a in (100.0, 500.0, 5000.0)]
    times = [expose(PATH, BAR, TARGET, process).commanded.motion.write_time for process in slow]
    assert times[0] > times[1] > times[2]
    ideal = expose(PATH, BAR, TARGET, IDEAL).commanded.motion
    rest = 0.1  # s, at most, of the rest before the path
    assert ideal.ideal_time < ideal.write_time <= ideal.ideal_time + rest


def test_twice_the_power_is_twice_the_largest_dose():
    twice = replace(PATH, power=2 * PATH.power)
    once = expose(PATH, BAR, TARGET, PROCESS).commanded.figures.dose_max
    assert expose(twice, BAR, TARGET, PROCESS).commanded.figures.dose_max == pytest.approx(2 * once)


def test_a_fine_polyline_needs_a_higher_segment_rate():
    x = np.linspace(1.05, 1.95, 181)
    fine = path(np.stack([x, np.full(181, 1.1)], axis=1), 20 * LEVEL)
    coarse = path(fine.xy[[0, -1]], 20 * LEVEL)
    rates = [expose(p, BAR, TARGET, PROCESS).commanded.motion.segment_rate for p in (coarse, fine)]
    assert rates[1] > 20 * rates[0]


def test_an_empty_path_cures_nothing_and_is_measured_all_the_same():
    measured = expose(
        Toolpath(np.ones((1, 2)), np.zeros(0), np.zeros(0)), BAR, TARGET, PROCESS
    ).commanded.figures
    assert measured.iou == 0
    assert measured.missing_edges == measured.samples
    assert measured.undercure == pytest.approx(0.2)
