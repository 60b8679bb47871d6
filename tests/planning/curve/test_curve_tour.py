"""The tour is through the same strokes, and quicker."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sets import examples

from laserpath.base.arrays import runs
from laserpath.planning.curve.order import _times, is_closed, join, one_way, order, quicker, write_time
from laserpath.types import Machine

MACHINE = Machine()


def strokes(seed: int, count: int = 12):
    """Lines and rings of about 1 mm here and there."""
    rng = np.random.default_rng(seed)
    drawn, side = [], 8 * (count / 12) ** 0.5
    for k in range(count):
        at = 1 + rng.uniform(0, side, 2)
        if k % 2:
            angle = np.linspace(0, 2 * np.pi, 13)
            ring = at + 0.4 * np.column_stack([np.cos(angle), np.sin(angle)])
            ring[-1] = ring[0]
            drawn.append(ring)
        else:
            drawn.append(at + np.array([[0, 0], rng.uniform(-1, 1, 2)]))
    return drawn


def shape(stroke):
    """The same for a stroke that is reversed, or a ring that begins elsewhere."""
    return tuple(sorted(map(tuple, np.round(stroke[:-1] if is_closed(stroke) else stroke, 9))))


def test_ways_that_are_planned_together_take_the_time_of_each_alone():
    drawn = strokes(3, 9)
    ways = [[drawn[k - 1][-3:], drawn[k], drawn[k + 1][:4]] for k in range(1, 8)]
    ways += [[np.zeros((1, 2)), drawn[0], np.zeros((0, 2))], [drawn[0][-1:], drawn[1], drawn[2][:1]]]
    alone = [_times([way], MACHINE)[0] for way in ways]
    np.testing.assert_allclose(_times(ways, MACHINE), alone, rtol=1e-12)
    assert write_time([drawn[0]], MACHINE) == pytest.approx(alone[-2], rel=1e-6)


@examples(15)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=33251)
def test_the_same_strokes_in_less_time(seed):
    start = order(strokes(seed))
    tour = quicker(start, MACHINE)
    assert sorted(map(shape, tour)) == sorted(map(shape, start))
    assert write_time(tour, MACHINE) <= write_time(start, MACHINE)
    for stroke in tour:
        assert is_closed(stroke) == (len(stroke) > 2)


def test_a_stroke_far_off_its_turn_is_moved():
    """Three in a row, the middle one last: the greedy way would not have done it, the tour mends it."""
    row = [np.array([[x, 1.0], [x + 0.5, 1.0]]) for x in (1.0, 2.0, 3.0)]
    tour = quicker([row[0], row[2], row[1]], MACHINE)
    assert [stroke[0, 0] for stroke in tour] == [1.0, 2.0, 3.0]


def test_a_pair_is_moved_together():
    """Each of the two by itself would be further from its neighbours than it was."""
    row = [np.array([[x, 1.0], [x + 0.5, 1.0]]) for x in (1.0, 2.0, 6.0, 7.0)]
    pair = [np.array([[x, 1.0], [x + 0.5, 1.0]]) for x in (3.5, 4.5)]
    tour = quicker([*row, *pair], MACHINE)
    assert [stroke[0, 0] for stroke in tour] == [1.0, 2.0, 3.5, 4.5, 6.0, 7.0]


@pytest.mark.slow
def test_of_many_strokes_the_tour_is_as_much_quicker_as_of_few():
    """Above 400 strokes the greedy order was kept, which took an eighth longer to write."""
    start = order(strokes(5, 1200))
    tour = quicker(start, MACHINE)
    assert sorted(map(shape, tour)) == sorted(map(shape, start))
    assert write_time(tour, MACHINE) < 0.9 * write_time(start, MACHINE)


def test_a_line_is_drawn_in_the_direction_of_travel():
    """Entered at its far end, the head would have to turn back."""
    (line,) = quicker([np.array([[3.0, 3.0], [2.0, 2.0]])], MACHINE)
    np.testing.assert_array_equal(line[0], [2.0, 2.0])


def test_no_stroke_at_all():
    assert quicker([], MACHINE) == []


def test_one_way_draws_open_strokes_to_the_right_or_up_and_leaves_rings() -> None:
    ring = np.array([[0.0, 0], [0, 1], [1, 0], [0, 0]])
    strokes = [np.array([[3.0, 1], [2, 1.2], [1, 1]]), ring, np.array([[5.0, 4], [5.2, 1]])]
    energies = [np.array([1.0, 2]), np.array([3.0, 4, 5]), np.array([6.0])]
    found = one_way(join(strokes, energies, MACHINE), MACHINE)
    assert found.xy[found.on.argmax()].tolist() == [1, 1]
    lit = [found.xy[first : last + 1] for first, last in runs(found.on)]
    np.testing.assert_array_equal(lit[0], strokes[0][::-1])
    np.testing.assert_array_equal(lit[1], ring)
    np.testing.assert_array_equal(lit[2], strokes[2][::-1])
    assert found.energy[found.on].tolist() == [2, 1, 3, 4, 5, 6]
