"""GRBL's axes stand where their counters have come to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcode
from gcode.motion import Executed, Grbl, execute

PER_MM = 80
STEPPED = Grbl(baud=None)
EVEN = replace(STEPPED, stepped=False)
Point = tuple[int, int]


def run(
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


@pytest.mark.parametrize(("speed", "ticks"), [(10, 8), (40, 4), (80, 2)])
@pytest.mark.parametrize("by", [(1600, 0), (1600, 77), (-600, 1600), (1280, -1280), (1601, 3)])
def test_pieces_have_the_mean_place_of_the_counted_steps(by: Point, speed: float, ticks: int) -> None:
    """Averaged over a spot's length, where the head cruises."""
    quick, main, parts = replace(STEPPED, acceleration=(5e3, 5e3, 5e3)), max(np.abs(by)), 8
    # The rate is that of the main axis.
    feed = speed * np.hypot(*by) / main
    even, done = (run([(0, 0), by], replace(quick, stepped=stepped), feed) for stepped in (False, True))
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
        even, real = (run([(0, 0), (way * 800, 0)], one, 10) for one in (EVEN, STEPPED))
        times = np.linspace(0.2, 0.8, 50) * even.write_time
        trail = (even.at(times) - real.at(times))[:, 0] * PER_MM
        assert trail == pytest.approx(way / 8, abs=1e-3)


paths = st.lists(st.tuples(st.integers(-200, 200), st.integers(-200, 200)), min_size=2, max_size=6)


@given(paths, st.sampled_from([5, 30, 90]))
def test_time_light_and_the_ends_stay(steps: list[Point], speed: float) -> None:
    even, real = run(steps, EVEN, speed), run(steps, STEPPED, speed)
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
            run([(0, 0), (800, 37)], c, longest=longest)
            for c in (controller, replace(controller, stepped=False))
        )
        assert (one.xyz == other.xyz).all()


def test_only_steps_far_apart_make_more_pieces() -> None:
    for by, more in (((800, 0), False), ((800, 800), False), ((800, 400), False), ((800, 10), True)):
        even, real = (run([(0, 0), by], one) for one in (EVEN, STEPPED))
        assert (len(real) > len(even)) is more
