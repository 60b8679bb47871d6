"""Write time as a term of the loss."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import design, path

import gcode
from laserpath.base.entry_points import QUALITIES
from laserpath.machine import convert
from laserpath.planning.optimise.loss import TIME_WEIGHTS, WriteTimeTerm, weight_for
from laserpath.planning.task import Task
from laserpath.types import Machine, Process, Settings, Spot

MACHINE = Machine()
SQUARE = design(shapely.box(1, 1, 2, 2))
ZIGZAG = path(np.array([[1, 1.3], [1.5, 1.1], [2, 1], [2.1, 2], [1, 1.8]]), np.array([1.0, 1, 0, 1]))


def test_it_is_the_planner_s_time_in_units_of_the_outline_s_at_full_speed():
    pace = WriteTimeTerm.of(ZIGZAG, SQUARE, MACHINE, 0.5)
    moves = convert.to_moves(
        path(np.vstack([[0, 0], ZIGZAG.xy]), np.concatenate([[0], ZIGZAG.power])), MACHINE
    )
    time = gcode.motion.profile(moves, convert.limits(MACHINE)).write_time
    assert pace(ZIGZAG.xy, ZIGZAG.power)[0] == pytest.approx(0.5 * time / (4 / 50))


def test_its_slope_is_that_of_its_value():
    pace = WriteTimeTerm.of(ZIGZAG, SQUARE, MACHINE, 0.5)
    along = np.random.default_rng(0).normal(size=ZIGZAG.xy.shape)
    up, down = (pace(ZIGZAG.xy + sign * 1e-7 * along, ZIGZAG.power)[0] for sign in (1, -1))
    assert (pace(ZIGZAG.xy, ZIGZAG.power)[1].xy * along).sum() == pytest.approx((up - down) / 2e-7, rel=1e-5)


def test_a_slow_link_changes_nothing():
    slow = replace(MACHINE, segment_rate=1.0)
    both = [
        WriteTimeTerm.of(ZIGZAG, SQUARE, machine, 1.0)(ZIGZAG.xy, ZIGZAG.power)[0]
        for machine in (slow, MACHINE)
    ]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("acceleration", "width", "times"), [(500, 0.1, 1), (1500, 0.1, 2.04), (1e5, 0.1, 2.5), (1500, 0.002, 1)]
)
def test_time_weighs_more_behind_a_shaper_the_faster_the_head_gets_over_one_spot(acceleration, width, times):
    fast = replace(Machine(dialect="klipper"), acceleration=(acceleration, acceleration))
    shaped = replace(fast, shapers=(gcode.motion.Shaper("mzv", 50.0),) * 2)
    plain, other = (
        weight_for(Task.of(SQUARE, Process(Spot(width), machine=machine), Settings()))
        for machine in (fast, shaped)
    )
    assert other / plain == pytest.approx(times, rel=0.01)


def test_every_quality_has_a_weight_and_fine_the_smallest():
    weights = [TIME_WEIGHTS[quality] for quality in QUALITIES]
    assert weights == sorted(weights, reverse=True)
