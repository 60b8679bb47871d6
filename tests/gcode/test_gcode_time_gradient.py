"""The derivative of the write time against differences of the planner's own write time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import examples

from gcode import Limits, Moves
from gcode.motion import profile, time_gradient

FREE = Limits(segment_rate=1e9)
STEP = 1e-7


def wandering(seed: int, moves: int = 30) -> Moves:
    """A path of lengths from 10 µm to 2 mm, bends of all sizes, some rapids, some slow feeds."""
    rng = np.random.default_rng(seed)
    angle, length = np.cumsum(rng.normal(0, 0.4, moves)), 10 ** rng.uniform(-2, 0.3, moves)
    steps = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    rapid = rng.random(moves) < 0.1
    speed = np.where(rapid, 100.0, rng.uniform(20, 50, moves))
    xy = np.vstack([[0, 0], np.cumsum(steps, axis=0)])
    return Moves.straight(xy, np.where(rapid, 0, 0.5), speed, rapid)


def moved(moves: Moves, xy: np.ndarray) -> Moves:
    return Moves.straight(xy, moves.power, moves.speed, moves.rapid)


@examples(25)
@given(
    seed=st.integers(0, 2**32 - 1),
    limits=st.sampled_from(
        [
            FREE,
            Limits(look_ahead=4, segment_rate=1e9),
            Limits(acceleration=(500, 200), speed_max=(50, 30), segment_rate=1e9),
            Limits(segment_rate=300),
        ]
    ),
)
def test_it_is_the_slope_of_the_write_time(seed: int, limits: Limits) -> None:
    """Along a random direction of all vertices: a kink would have to lie within 0.1 nm of the path."""
    moves = wandering(seed)
    found = time_gradient(moves, limits)
    assert found.time == pytest.approx(profile(moves, limits).write_time, rel=1e-12)
    rng = np.random.default_rng(seed)
    along = rng.normal(size=moves.xy.shape)
    up, down = (profile(moved(moves, moves.xy + sign * STEP * along), limits).write_time for sign in (1, -1))
    assert (found.xy * along).sum() == pytest.approx((up - down) / (2 * STEP), rel=1e-4, abs=1e-5)


def test_a_straight_line_is_quicker_where_a_vertex_on_it_gives_in() -> None:
    """A bend in the middle: moved onto the line, it costs less."""
    bent = Moves.straight([[0, 0], [1, 0.2], [2, 0]], [0.5, 0.5], [50.0, 50.0], [False, False])
    slope = time_gradient(bent, FREE).xy
    assert slope[1, 1] > 0
    assert slope[1, 0] == pytest.approx(0, abs=1e-9)


def test_it_does_not_change_when_the_whole_path_is_shifted() -> None:
    gradient = time_gradient(wandering(1), FREE).xy
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-12)


def test_where_the_link_sets_the_time_no_vertex_changes_it() -> None:
    assert not time_gradient(wandering(2), Limits(segment_rate=1.0)).xy.any()


@pytest.mark.parametrize("xy", [[[0, 0]], [[1, 1], [1, 1]]])
def test_a_path_without_length_takes_no_time(xy: list) -> None:
    n = len(xy) - 1
    found = time_gradient(Moves.straight(xy, np.zeros(n), np.full(n, 50.0), np.zeros(n, bool)), FREE)
    assert found.time == 0
    assert found.xy.shape == (n + 1, 2) and not found.xy.any()
