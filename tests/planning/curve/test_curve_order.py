"""The order of strokes: the same strokes, less travel."""

import numpy as np
import shapely
from builders import design
from hypothesis import given
from hypothesis import strategies as st

from laserpath.planning.curve import is_closed, order
from laserpath.planning.curve.contour import contour

seeds = st.integers(0, 2**32 - 1)


def some_strokes(seed):
    """Open lines and closed rings at random places."""
    rng = np.random.default_rng(seed)
    strokes = []
    for _ in range(rng.integers(1, 40)):
        line = rng.uniform(0, 10, 2) + rng.uniform(-0.5, 0.5, (int(rng.integers(2, 7)), 2))
        strokes.append(np.vstack([line, line[:1]]) if len(line) > 2 and rng.random() < 0.5 else line)
    return strokes


def travel(strokes, start=(0, 0)):
    ends = np.array([start, *(s[-1] for s in strokes[:-1])])
    return np.hypot(*(np.array([s[0] for s in strokes]) - ends).T).sum()


def canonical(stroke):
    """The same for a stroke reversed, and for a ring begun elsewhere."""
    if is_closed(stroke):
        k = int(np.lexsort(stroke[:-1].T)[0])
        return ("ring", np.roll(stroke[:-1], -k, axis=0).tobytes())
    return ("open", min(stroke.tobytes(), stroke[::-1].tobytes()))


@given(seed=seeds)
def test_all_strokes_are_still_there(seed):
    strokes = some_strokes(seed)
    assert sorted(map(canonical, order(strokes))) == sorted(map(canonical, strokes))


@given(seed=seeds)
def test_the_next_stroke_is_the_nearest(seed):
    tour = order(some_strokes(seed), start=(3, 4))
    here = np.array([3, 4])
    for k, stroke in enumerate(tour):
        rest = [s[:-1] if is_closed(s) else s[[0, -1]] for s in tour[k:]]
        nearest = np.hypot(*(np.concatenate(rest) - here).T).min()
        assert np.hypot(*(stroke[0] - here)) <= nearest + 1e-12
        here = stroke[-1]


def test_travel_gets_shorter():
    rng = np.random.default_rng(0)
    strokes = [x + np.array([[0, 0], [0.1, 0]]) for x in rng.uniform(0, 10, (300, 2))]
    assert travel(order(strokes)) < 0.2 * travel(strokes)


def test_a_grid_is_walked_with_hardly_a_detour():
    points = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    strokes = [p + np.array([[0, 0], [1e-3, 0]]) for p in np.random.default_rng(1).permutation(points)]
    # The best tour has 99 steps of 1 mm; a greedy one is about a quarter longer.
    assert travel(order(strokes)) < 1.4 * 99


def test_rings_are_entered_where_they_are_nearest():
    ring = np.array([[5.0, 5], [6, 5], [6, 6], [5, 6], [5, 5]])
    (entered,) = order([ring], start=(7, 7))
    np.testing.assert_array_equal(entered, [[6, 6], [5, 6], [5, 5], [6, 5], [6, 6]])


def test_the_rings_of_a_design_stay_closed():
    strokes = contour(design(shapely.Point(0, 0).buffer(1)).area, 0.04, 0.12, 0.001)
    assert sum(map(is_closed, order(strokes))) == sum(map(is_closed, strokes)) > 5


def test_no_strokes_no_order():
    assert order([]) == []
