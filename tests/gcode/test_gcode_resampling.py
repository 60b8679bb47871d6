"""Strokes drawn again without lines that a controller would leave out."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from gcode import GcodeError, Kind, Moves, join_short, without_short
from gcode.move import Floats

SHORTEST = 0.0875


def stroke(xy: object, power: object = 0.2, speed: object = 20.0) -> Moves:
    """A lit stroke between two travels of 1 mm."""
    xy = np.asarray(xy, dtype=float)
    n = len(xy) - 1
    xy = np.vstack([xy[:1] - [1, 0], xy, xy[-1:] + [1, 0]])
    light = np.concatenate([[0], np.broadcast_to(power, n), [0]])
    pace = np.concatenate([[100], np.broadcast_to(speed, n), [100]])
    return Moves.straight(xy, light, pace, light == 0)


def energy(moves: Moves, order: int = 1) -> float:
    """∫ power^order dt, s."""
    return float((moves.power**order * moves.length / moves.speed).sum())


def extents(moves: Moves) -> Floats:
    """mm along x or y of the lit lines, the larger."""
    return np.abs(np.diff(moves.xy, axis=0)).max(axis=1)[moves.on]


def away(moves: Moves, old: Moves) -> float:
    """Mean distance of the old lit path from the new one, mm."""
    line = shapely.LineString(old.xy[1:-1])
    places = shapely.line_interpolate_point(line, np.linspace(0, line.length, 2000))
    return float(shapely.distance(shapely.LineString(moves.xy[1:-1]), places).mean())


@given(
    st.lists(st.floats(0.001, 1.0), min_size=1, max_size=40), st.floats(-0.3, 0.3), st.sampled_from([1, 2])
)
def test_no_line_is_short_and_the_energy_stays(steps: list[float], bend: float, order: int) -> None:
    turn = bend * np.arange(len(steps))
    xy = np.vstack([[0, 0], np.cumsum(np.column_stack([np.cos(turn), np.sin(turn)]) * np.c_[steps], axis=0)])
    moves = stroke(xy, np.linspace(0.1, 0.3, len(steps)), np.linspace(10, 40, len(steps)))
    drawn = without_short(moves, SHORTEST, order)
    assert extents(drawn).min() >= SHORTEST * (1 - 1e-9)
    assert energy(drawn, order) == pytest.approx(energy(moves, order)) or drawn.power.max() == 1
    assert (drawn.kind[[0, -1]] == Kind.RAPID).all()


def test_a_stroke_without_short_lines_is_not_touched() -> None:
    moves = stroke([[0, 0], [1, 0], [1, 0.1], [0, 0.3]])
    drawn = without_short(moves, SHORTEST)
    np.testing.assert_array_equal(drawn.xy, moves.xy)
    np.testing.assert_array_equal(drawn.power, moves.power)


@pytest.mark.parametrize("radius", [0.15, 0.3, 1.0])
def test_curves_are_followed_more_closely_than_by_joining(radius: float) -> None:
    turn = np.arange(0, 1.5 * np.pi, 0.05 / radius)  # chords of 0.05 mm
    moves = stroke(radius * np.column_stack([np.cos(turn), np.sin(turn)]))
    assert away(without_short(moves, SHORTEST), moves) < 0.9 * away(join_short(moves, SHORTEST), moves)


def test_a_corner_between_long_lines_is_kept_beside_short_ones() -> None:
    """One short line after a corner takes what it lacks from the long line behind it."""
    moves = stroke([[0, 0], [1, 0], [1, 0.03], [1, 2]])
    drawn = without_short(moves, SHORTEST)
    assert away(drawn, moves) < 1e-6


def test_light_stays_where_it_was() -> None:
    """The energy up to each new vertex is that of the old path up to there."""
    power = np.where(np.arange(60) < 30, 0.1, 0.4)
    moves = stroke(np.column_stack([0.04 * np.arange(61), np.zeros(61)]), power)
    drawn = without_short(moves, SHORTEST)
    at = np.concatenate([[0], np.cumsum(drawn.power * drawn.length / drawn.speed)])[1:-1]
    expected = np.interp(
        drawn.xy[1:-1, 0], moves.xy[1:-1, 0],
        np.concatenate([[0], np.cumsum((moves.power * moves.length / moves.speed)[1:-1])]),
    )  # fmt: skip
    np.testing.assert_allclose(at, expected, rtol=1e-9)


@pytest.mark.parametrize("shortest", [0, -1, float("nan"), float("inf")])
def test_a_length_that_is_none(shortest: float) -> None:
    with pytest.raises(GcodeError, match=r"shortest is .*, but must be above 0"):
        without_short(stroke([[0, 0], [1, 0]]), shortest)
