"""Klipper's axes stand at the step that is nearest to the planned place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcode
from gcode.motion import Executed, Klipper, execute

PER_MM = 80
FREE = Klipper(max_velocity=100, max_accel=500)
STEPPED = replace(FREE, steps=(PER_MM, PER_MM, 400))


def run(
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
    planned, real = run(xy, FREE, power), run(xy, STEPPED, power)
    assert real.write_time == pytest.approx(planned.write_time)
    assert real.energies(len(xy) - 1) == pytest.approx(planned.energies(len(xy) - 1))
    assert (real.duration >= 0).all()
    times = np.linspace(0, planned.write_time, 200)
    assert np.abs(steps_at(real, times) - steps_at(planned, times)).max() <= 0.5 + 1e-4


def test_a_line_between_two_steps_is_written_on_the_nearer() -> None:
    y = 40.3 / PER_MM
    done = run([(0, 0), (0, y), (3, y)], STEPPED)
    along = (done.at(done.end)[:, 0] > 0.1) & (done.row == 1)
    assert done.at(done.end)[along, 1] * PER_MM == pytest.approx(40, abs=1e-9)


@pytest.mark.parametrize(("ahead", "stand"), [(0.0, 41), (60 / PER_MM, 40)])
def test_at_a_middle_an_axis_goes_on_in_its_direction(ahead: float, stand: float) -> None:
    y = 40.5 / PER_MM
    done = run([(0, ahead), (0, y), (3, y)], STEPPED)
    assert done.at([0.9 * done.write_time])[0, 1] * PER_MM == pytest.approx(stand)


def test_a_nearly_parallel_line_is_a_staircase_of_whole_steps() -> None:
    rise = 5
    times = np.linspace(0.2, 0.8, 4001)
    done = run([(0, 0), (20, rise / PER_MM)], STEPPED)
    y = steps_at(done, times * done.write_time)[:, 1]
    whole = np.abs(y - np.rint(y)) < 1e-6
    assert whole.mean() > 0.98, "between steps only within a step's length of path"
    assert set(np.rint(y[whole])) == {1, 2, 3, 4}
    assert y.mean() == pytest.approx(rise / 2, abs=0.05), "it rises about its middle"


def test_short_treads_are_not_followed() -> None:
    """A diagonal's treads are shorter than any spot, so the line stays one."""
    planned, real = run([(0, 0), (3, 3)], FREE), run([(0, 0), (3, 3)], STEPPED)
    times = np.linspace(0.01, 0.99, 50) * planned.write_time
    assert real.at(times) == pytest.approx(planned.at(times), abs=1e-7)
    assert len(real) < len(planned) + 10


def test_fine_steps_change_nothing() -> None:
    xy = [(0.0, 0.0), (1.0, 0.2), (1.1, 0.9), (0.0, 0.9)]
    fine = replace(FREE, steps=(1e5, 1e5, 1e5))
    times = np.linspace(0, run(xy, FREE).write_time, 100)
    assert run(xy, fine).at(times) == pytest.approx(run(xy, FREE).at(times), abs=0.5e-5 + 1e-9)


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
        gcode.motion.corrected(moves, one, gcode.motion.Board(), shortest=0.05) for one in (FREE, STEPPED)
    )
    assert len(smooth) == len(stepped)
    assert smooth.power == pytest.approx(stepped.power)
    text = gcode.write(smooth, gcode.dialect("klipper"))
    machine = gcode.Envelope(box=(-1, -1, 30, 30), speed_max=(20.001, 20.001), controller=STEPPED)
    found = gcode.check(text, gcode.dialect("klipper"), machine)
    assert not [finding for finding in found if "mm/s" in finding.message], found
