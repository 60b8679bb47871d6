"""Slack of the axes: the play operator, and commands whose head goes where it should."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from gcode import GcodeError, Kind, Limits, Moves
from gcode.controllers.common import Executed
from gcode.motion import Board, Controller, Grbl, Klipper, TakeUp, corrected, execute, played, taken_up
from gcode.move import Floats

SLACK = (0.1, 0.06)
CONTROLLERS = pytest.mark.parametrize("controller", [Klipper(), Limits(), Grbl(baud=None)])


def drive(x: list[float], y: list[float] | None = None) -> Executed:
    """An axis that goes from place to place in 1 s each."""
    xyz = np.column_stack([x, np.zeros(len(x)) if y is None else y, np.zeros(len(x))])
    n = len(x) - 1
    return Executed(np.arange(n), np.ones(n), xyz, np.full(n, 0.5))


def test_a_reversal_stands_still_for_the_slack() -> None:
    """Forward by 1 the head is 0.05 behind; it stands for the first 0.1 of the way back."""
    head = played(drive([0, 1, 0]), (0.1, 0.0))
    np.testing.assert_allclose(head.at([0.05, 0.5, 1, 1.1, 1.5, 2])[:, 0], [0, 0.45, 0.95, 0.95, 0.55, 0.05])
    assert head.write_time == pytest.approx(2)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=12), st.floats(0.001, 0.5))
def test_the_head_stays_within_the_slack_and_moves_only_at_its_ends(x: list[float], slack: float) -> None:
    motion = drive(x)
    found = played(motion, (slack, 0.0))
    behind = np.abs(motion.at(np.append(0.0, found.end))[:, 0] - found.xyz[:, 0])
    assert behind.max() <= slack / 2 + 1e-12
    moves = np.abs(np.diff(found.xyz[:, 0])) > 1e-9
    np.testing.assert_allclose(behind[1:][moves], slack / 2, atol=1e-9)
    np.testing.assert_allclose(behind[:-1][moves], slack / 2, atol=1e-9)


def test_axes_have_their_own_slack() -> None:
    head = played(drive([0, 1, 0], [0, 1, 0]), (0.1, 0.04))
    np.testing.assert_allclose(head.xyz[-1], [0.05, 0.02, 0], atol=1e-12)
    motion = drive([0, 1])
    assert played(motion, (0.0, 0.0)) is motion


def shapes(controller: Controller) -> Moves:
    """A part of a circle, whose axes reverse under light, and lines forth and back, cut on their ramps."""
    turn = np.linspace(0.2, 6, 60)
    circle = np.column_stack([4 + np.cos(turn), 3 + np.sin(turn)])
    lines = [[6, 2], [9, 2], [9, 1.8], [6, 1.8], [6, 1.6], [9, 1.6], [9, 1]]
    xy = np.vstack([[[7, 4]], circle, lines])
    lit = np.array([False] + [True] * 59 + [False] + [True, False] * 3)
    moves = Moves.straight(xy, 0.5 * lit, np.where(lit, 20, 80), ~lit, dynamic=isinstance(controller, Grbl))
    return corrected(moves, controller, Board(), shortest=0.05)


def commanded(moves: Moves, controller: Controller, tolerance: float = 0.001) -> Moves:
    board = Board(backlash=SLACK)
    take = TakeUp(SLACK, tolerance=tolerance)
    return taken_up(moves, controller, board, take, rate=1000, shortest=0.05, longest=0.02)


def head(moves: Moves, controller: Controller, slack: tuple[float, float] = (0.0, 0.0)) -> Moves:
    zero = Moves.straight([[0, 0], moves.xy[0]], [0], [100], [True])
    return played(execute(zero + moves, controller, longest=0.02), slack).moves()


def lit(moves: Moves) -> shapely.MultiLineString:
    ends = np.stack([moves.xy[:-1], moves.xy[1:]], axis=1)[moves.on & (moves.length > 1e-9)]
    return shapely.MultiLineString(list(ends))


def exposed(moves: Moves, along: shapely.LineString) -> Floats:
    """(K,) s, the energy of the light up to 2000 places along a line."""
    place = shapely.line_locate_point(along, shapely.points(moves.xy))
    gone = np.append(0.0, np.cumsum(moves.power * moves.duration))
    return np.interp(np.linspace(0, along.length, 2000), np.maximum.accumulate(place), gone)


@CONTROLLERS
def test_the_light_is_on_the_drawn_lines(controller: Controller) -> None:
    moves = shapes(controller)
    due = head(moves, controller)
    for made, off in ((moves, 0.04), (commanded(moves, controller), 0.0)):
        distance = shapely.hausdorff_distance(lit(head(made, controller, SLACK)), lit(due), densify=0.01)
        if off:
            assert distance > off
        else:
            assert distance < 0.015, "0.5 steps of GRBL's 80 per mm, and its motion step by step"


@CONTROLLERS
def test_each_part_has_its_energy(controller: Controller) -> None:
    moves = shapes(controller)
    along = shapely.LineString(moves.xy)
    due = exposed(head(moves, controller), along)
    got = exposed(head(commanded(moves, controller), controller, SLACK), along)
    assert np.abs(got - due).mean() < 0.001 * due[-1]
    assert got[-1] == pytest.approx(due[-1], rel=0.01)


@CONTROLLERS
def test_jumps_are_dark_and_the_laser_stays_on_nowhere_else(controller: Controller) -> None:
    found = commanded(shapes(controller), controller)
    jumps = found.rapid & (found.length < 0.2)
    assert jumps.any()
    assert not found.on[found.rapid].any()


def test_small_reversals_are_left_to_the_slack() -> None:
    x = np.arange(7) * 0.5 + 1
    y = 1 + 0.004 * (np.arange(7) % 2)
    moves = Moves.straight(np.column_stack([x, y]), [0.5] * 6, [20] * 6, [False] * 6)
    assert not commanded(moves, Klipper(), tolerance=0.005).rapid.any()
    assert commanded(moves, Klipper(), tolerance=0.003).rapid.sum() >= 4


def test_a_travel_takes_up_the_slack_on_its_way() -> None:
    """Back and forth in x, each stroke in the direction of the travel to it: one move each, no jump."""
    xy = [[1, 1], [3, 1], [4, 1], [6, 1]]
    moves = Moves.straight(xy, [0.5, 0, 0.5], [20, 80, 20], [False, True, False])
    assert len(commanded(moves, Limits())) - len(moves) == commanded(moves, Limits()).on.sum() - 2
    back = Moves.straight([[1, 1], [3, 1], [3, 2], [1, 2]], [0.5, 0, 0.5], [20, 80, 20], [False, True, False])
    jump = commanded(back, Limits())
    assert (jump.rapid & np.isclose(jump.length, 0.1)).sum() == 1


def test_a_jump_is_of_whole_steps_where_vertices_are_rounded() -> None:
    low, high = TakeUp((0.1, 0.1), (0.0125, 0.004)).sides
    np.testing.assert_allclose((high - low) / [0.0125, 0.004], [8, 25])
    np.testing.assert_allclose(high / [0.0125, 0.004], [4, 12])


def test_nothing_to_take_up_and_what_cannot_be() -> None:
    moves = shapes(Limits())
    none = TakeUp((0.0, 0.0))
    assert taken_up(moves, Limits(), Board(), none, rate=100, shortest=1, longest=1) is moves
    arc = Moves([[1, 0], [0, 1]], [0.5], [1], [Kind.COUNTERCLOCKWISE])
    with pytest.raises(GcodeError, match="arcs cannot take up slack"):
        commanded(arc, Limits())
