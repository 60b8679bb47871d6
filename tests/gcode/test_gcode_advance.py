"""A late laser on a gantry: its light as executed is where it is due, across corners and changes of level."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from gcode import GcodeError, Limits, Moves
from gcode.motion import Board, Controller, Grbl, Klipper, Lag, advanced, corrected, execute, lagged
from gcode.move import Floats

FINE, LONGEST = 1e-3, 0.02
WAY = np.array([[0, 0], [2, 0], [6, 0], [10, 0], [10, 4], [10, 8], [8, 9], [2, 9], [0, 9]])
PLACES = np.linspace(0, np.hypot(*np.diff(WAY, axis=0).T).sum(), 2000)
CONTROLLERS = pytest.mark.parametrize("controller", [Klipper(), Limits(), Grbl(baud=None)])


def zigzag(controller: Controller) -> Moves:
    """Travel, a lit line of two levels and its corner, a travel, a line back, a travel; cut on its ramps."""
    power = np.array([0, 0.4, 0.8, 0.8, 0, 0, 0.5, 0])
    moves = Moves.straight(
        WAY, power, np.where(power > 0, 20, 60), power == 0, dynamic=isinstance(controller, Grbl)
    )
    return corrected(moves, controller, Board(), shortest=LONGEST)


def exposed(moves: Moves, controller: Controller, lag: Lag) -> Floats:
    """(K,) s, the energy executed with a late laser up to each of `PLACES` along the way."""
    found = lagged(execute(moves, controller, longest=LONGEST).moves(), lag, FINE)
    along = shapely.line_locate_point(shapely.LineString(WAY), shapely.points(found.xy))
    gone = np.append(0.0, np.cumsum(found.power * found.duration))
    return np.interp(PLACES, np.maximum.accumulate(along), gone)


def board(delay: float) -> Board:
    return Board(delay=delay)


def commanded(moves: Moves, controller: Controller, lag: Lag) -> Moves:
    delay = (lag.on_delay + lag.off_delay) / 2
    return advanced(moves, controller, board(delay), lag, rate=1e4, shortest=FINE, longest=LONGEST)


@CONTROLLERS
@pytest.mark.parametrize(("delays", "share"), [((5e-3, 5e-3), 0.2), ((4e-3, 2e-3), 0.5)])
def test_the_light_is_where_it_is_due(
    controller: Controller, delays: tuple[float, float], share: float
) -> None:
    """GRBL sets a power that follows the speed for 10 ms at a time, from each vertex on: cuts change that."""
    lag, moves = Lag(0, *delays), zigzag(controller)
    made = commanded(moves, controller, lag)
    due = exposed(moves, controller, Lag())
    late, early = (np.abs(exposed(one, controller, lag) - due) for one in (moves, made))
    assert early.mean() < share * late.mean()
    assert early.max() < 0.5 * late.max()
    assert early[-1] < 0.005 * due[-1]


@CONTROLLERS
def test_a_line_begins_and_ends_where_it_should(controller: Controller) -> None:
    """The last line is entered and left at full speed, 3 ms × 20 mm/s = 60 µm too far without this."""
    lag, moves = Lag(0, 3e-3, 3e-3), zigzag(controller)
    for made, within in ((moves, False), (commanded(moves, controller, lag), True)):
        found = lagged(execute(made, controller, longest=LONGEST).moves(), lag, FINE)
        lit = np.concatenate([found.xy[:-1][found.on], found.xy[1:][found.on]])
        last = lit[lit[:, 1] > 8.9]
        assert (abs(last[:, 0].min() - 2) < 0.015 and abs(last[:, 0].max() - 8) < 0.015) == within


@CONTROLLERS
def test_the_way_and_its_time_stay(controller: Controller) -> None:
    """Klipper takes corners of short moves more slowly."""
    moves = zigzag(controller)
    found = commanded(moves, controller, Lag(0, 1e-3, 1e-3))
    assert found.length.sum() == pytest.approx(moves.length.sum(), rel=1e-12)
    for vertex in WAY:
        assert np.hypot(*(found.xy - vertex).T).min() < 1e-12
    before, after = (execute(one, controller).write_time for one in (moves, found))
    assert after == pytest.approx(before, rel=0.05)


def test_a_change_of_level_that_the_link_cannot_feed_stays_at_its_vertex() -> None:
    moves = Moves.straight(WAY[:5], [0, 0.4, 0.8, 0.8], [60, 20, 20, 20], [True, False, False, False])
    slow, fast = (
        advanced(moves, Limits(), board(1e-3), Lag(0, 1e-3, 1e-3), rate=rate, shortest=FINE, longest=4.0)
        for rate in (5.0, 10_000.0)
    )
    assert not np.isclose(slow.xy[:, 0], 5.98).any()
    assert np.isclose(fast.xy[:, 0], 5.98).any(), "1 ms before x = 6 at 20 mm/s"


def test_nothing_late_is_nothing_done() -> None:
    moves = zigzag(Klipper())
    assert commanded(moves, Klipper(), Lag()) is moves
    dark = Moves.straight([[0, 0], [1, 0]], [0], [10], [True])
    assert commanded(dark, Klipper(), Lag(0, 1e-3, 1e-3)) is dark


def test_arcs_are_refused() -> None:
    arc = Moves([[1, 0], [0, 1]], [0.5], [1], [3])
    with pytest.raises(GcodeError, match="arcs cannot be commanded early"):
        commanded(arc, Klipper(), Lag(0, 1e-3, 1e-3))
