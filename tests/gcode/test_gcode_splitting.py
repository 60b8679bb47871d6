"""Moves split where the speed of the head changes."""

from __future__ import annotations

import numpy as np
import pytest

from gcode import Limits, Moves
from gcode.motion import Controller, Grbl, Klipper, Marlin, execute, prepared
from gcode.move import Floats

SPEED, SHORTEST = 20.0, 0.05
DIRECT = Grbl(baud=None)
ALL = pytest.mark.parametrize("controller", [DIRECT, Klipper(), Marlin(), Limits()])


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
@ALL
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
