"""Power for the actual speed: lines are split, and the executed line energy is the target."""

from __future__ import annotations

import numpy as np
import pytest

from gcode import GcodeError, Limits, Moves
from gcode.motion import Board, Controller, Grbl, Klipper, Marlin, at_peak, corrected, execute, prepared
from gcode.move import Floats

SPEED, SHORTEST = 20.0, 0.05
DIRECT = Grbl(baud=None)
EACH = pytest.mark.parametrize("controller", [DIRECT, Klipper(), Marlin(), Limits()])


def corners(controller: Controller) -> Moves:
    """A meander of lines of 2 and 0.5 mm, with a travel in its middle."""
    xy = np.array([[1, 1], [3, 1], [3, 1.5], [1, 1.5], [1, 2], [3, 2], [5, 3], [7, 3], [7, 3.5], [5, 3.5]])
    power = np.array([0.3, 0.3, 0.2, 0.2, 0.3, 0, 0.4, 0.4, 0.4])
    return Moves.straight(
        xy, power, np.where(power > 0, SPEED, 100), power == 0, dynamic=isinstance(controller, Grbl)
    )


def energy_at(moves: Moves, place: Floats, order: int = 1) -> Floats:
    """∫ power^order/speed from the first vertex to places along the path, mm."""
    due = np.where(moves.on, moves.power**order * moves.length / moves.speed, 0.0)
    return np.interp(place, np.append(0, np.cumsum(moves.length)), np.append(0, np.cumsum(due)))


@pytest.mark.parametrize("order", [1, 2, 3])
@EACH
def test_parts_keep_energy_and_place(controller: Controller, order: int) -> None:
    """N photons: the dose falls with power^N/speed, so slower lines need the N-th root of less power."""
    moves = corners(controller)
    parts = prepared(moves, controller, shortest=SHORTEST, order=order)
    assert len(parts) > len(moves) or isinstance(controller, Marlin)
    assert parts.length.sum() == pytest.approx(moves.length.sum(), rel=1e-12)
    place = np.linspace(0, moves.length.sum(), 500)
    np.testing.assert_allclose(
        energy_at(parts, place, order), energy_at(moves, place, order), rtol=1e-9, atol=1e-12
    )
    for vertex in moves.xy:
        assert np.hypot(*(parts.xy - vertex).T).min() < 1e-9
    assert parts.rapid.sum() == moves.rapid.sum()


@pytest.mark.parametrize("baud", [None, 115200.0, 57600.0])
def test_grbl_loses_no_write_time(baud: float | None) -> None:
    """Where the link is too slow for short parts they are longer, or the lines stay whole."""
    controller = Grbl(baud=baud)
    moves = corners(controller)
    parts = prepared(moves, controller, shortest=SHORTEST, segment_rate=250)
    before, after = (execute(m, controller).write_time for m in (moves, parts))
    assert after <= 1.005 * before


@pytest.mark.parametrize("controller", [Klipper(), Limits()])
def test_lines_are_cut_only_where_the_head_speeds_up_or_brakes(controller: Controller) -> None:
    moves = corners(controller)
    ends, new = (np.cumsum(m.length) for m in (moves, prepared(moves, controller, shortest=SHORTEST)))
    ramp = SPEED**2 / (2 * 500)  # mm, from rest
    assert np.abs(new[:, None] - np.append(0, ends)).min(axis=1).max() < ramp + SHORTEST


@pytest.mark.parametrize("controller", [DIRECT, Klipper(), Marlin(), Limits()])
def test_a_line_at_one_speed_stays_whole(controller: Controller) -> None:
    """Dark run-ups and run-outs take the ramps."""
    moves = Moves.straight(
        [[1, 1], [3, 1], [8, 1], [10, 1]], [0, 0.3, 0], [SPEED] * 3, [0, 0, 0],
        dynamic=isinstance(controller, Grbl),
    )  # fmt: skip
    assert len(prepared(moves, controller, shortest=SHORTEST)) == 3


def test_grbl_s_parts_are_no_faster_than_the_link() -> None:
    moves = corners(DIRECT)
    free = prepared(moves, DIRECT, shortest=SHORTEST)
    slow = prepared(moves, DIRECT, shortest=SHORTEST, segment_rate=50)
    assert len(moves) < len(slow) < len(free)
    row = np.searchsorted(np.cumsum(moves.length), np.cumsum(slow.length) - 1e-9)
    parts = np.bincount(row)
    lasts = execute(moves, DIRECT).durations(len(moves))
    assert (lasts / parts)[parts > 1].min() >= 1 / 50


SQUARE = Moves.straight(
    [[0, 0], [2, 2], [12, 2], [12, 12], [2, 12], [2, 2]], [0, *[0.3] * 4], [100, *[20] * 4], [1, 0, 0, 0, 0]
)
PWM = Board(255)
CONSTANT = pytest.mark.parametrize("controller", [Limits(), Grbl(), Klipper(minimum_cruise_ratio=0)])
ALL = pytest.mark.parametrize("controller", [Limits(), Grbl(), Klipper(minimum_cruise_ratio=0), Marlin()])


def zigzag() -> Moves:
    rng = np.random.default_rng(1)
    n = 200
    xy = np.vstack([[0, 0], [2, 2], 2 + np.cumsum(rng.normal(0, 0.15, (n, 2)) + [0.1, 0], axis=0)])
    return Moves.straight(
        xy, np.r_[0, rng.uniform(0.1, 0.6, n)], np.r_[100, np.full(n, 30.0)], np.arange(n + 1) == 0
    )


def unevenness(commanded: Moves, target: Moves, controller: Controller, cell: float = 0.2) -> float:
    """RMS of the energy in cells along the path, as executed, against the target; relative to the mean."""
    done = execute(commanded, controller, power_levels=255, longest=0.02)
    way = np.append(0, np.cumsum(np.linalg.norm(np.diff(done.xyz, axis=0), axis=1)))
    energy = np.append(0, np.cumsum(done.power * done.duration))
    at = np.arange(target.length[0] + cell, min(way[-1], target.length.sum()) - cell, cell)
    should = np.append(0, np.cumsum(target.power * target.length / target.speed))
    there = np.interp(at, np.append(0, np.cumsum(target.length)), should)
    error = np.diff(np.interp(at, way, energy)) - np.diff(there)
    return float(np.sqrt((error**2).mean()) / np.diff(there).mean())


@CONSTANT
@pytest.mark.parametrize("moves", [SQUARE, zigzag()], ids=["square", "zigzag"])
def test_corners_do_not_burn(controller: Controller, moves: Moves) -> None:
    commanded = corrected(moves, controller, PWM, shortest=0.05)
    assert unevenness(commanded, moves, controller) < unevenness(moves, moves, controller) / 4
    np.testing.assert_allclose(commanded.length.sum(), moves.length.sum())


def test_a_line_that_only_brakes_does_not_wrap_once_its_peak_is_its_speed() -> None:
    """Told more than it reaches, its power runs below 0 and shines at nearly full: a bright spot."""
    row = Moves.straight([(0.5 * k, 0) for k in range(5)], [0.3] * 4, [90.0] * 4, [False] * 4)
    marlin = Marlin(blocks=400, minimum_segment_time=0.0, baud=None, shortest=1)
    slow = at_peak(row, marlin)
    told, done = (execute(moves, marlin, longest=0.01) for moves in (row, slow))
    assert told.power.max() > 0.8
    assert done.power.max() <= 0.3
    assert done.write_time == pytest.approx(told.write_time, rel=0.02)
    np.testing.assert_allclose(slow.power / slow.speed, row.power / row.speed)


def test_marlin_s_own_trapezoid_is_helped_on_short_lines() -> None:
    """Its ramps are split, and F is the speed that is reached: the motion stays nearly as it was."""
    commanded = corrected(zigzag(), Marlin(), PWM, shortest=0.05)
    assert unevenness(commanded, zigzag(), Marlin()) < unevenness(zigzag(), zigzag(), Marlin()) / 3
    before, after = (execute(m, Marlin()).write_time for m in (zigzag(), commanded))
    assert after < 1.05 * before


@ALL
def test_the_total_energy_is_the_target(controller: Controller) -> None:
    commanded = corrected(SQUARE, controller, PWM, shortest=0.05)
    assert execute(commanded, controller, power_levels=255).exposure == pytest.approx(0.3 * 40 / 20, rel=0.01)


@ALL
def test_it_costs_little_time(controller: Controller) -> None:
    commanded = corrected(SQUARE, controller, PWM, shortest=0.05)
    before, after = (execute(m, controller).write_time for m in (SQUARE, commanded))
    assert after < 1.1 * before


def test_powers_are_levels_and_parts_no_shorter_than_allowed() -> None:
    commanded = corrected(SQUARE, Klipper(), Board(100, level_min=10), shortest=0.3, segment_rate=50)
    levels = commanded.power * 100
    np.testing.assert_allclose(levels, np.rint(levels), atol=1e-9)
    assert levels[commanded.on].min() >= 10
    assert commanded.length[1:].min() >= 0.3 * (1 - 1e-9)
    took = execute(commanded, Klipper()).durations(len(commanded))[1:]
    assert took.min() >= 1 / 50 * 0.8


def test_travel_and_dwells_stay_as_they_are() -> None:
    moves = Moves(
        [[0, 0], [5, 0], [10, 0], [10, 0], [20, 0]], [0, 0.5, 0.2, 0.5], [100, 20, 1, 20], [0, 1, 4, 1],
        dwell=[0, 0, 0.3, 0], comments=[(2, "wait"), (4, "end")],
    )  # fmt: skip
    commanded = corrected(moves, Klipper(), Board(), shortest=0.1)
    (still,) = np.flatnonzero(commanded.still)
    assert (commanded.power[still], commanded.dwell[still]) == (0.2, 0.3)
    assert commanded.comments == ((still, "wait"), (len(commanded), "end"))
    assert commanded.rapid.sum() == 1


def test_what_cannot_be() -> None:
    with pytest.raises(GcodeError, match="shortest is 0"):
        corrected(SQUARE, Klipper(), Board(), shortest=0)
    with pytest.raises(GcodeError, match="an arc has one power"):
        corrected(Moves([[1, 0], [0, 1]], [0.5], [1], [3]), Klipper(), Board(), shortest=1)
