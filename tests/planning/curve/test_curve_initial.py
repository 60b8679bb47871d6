"""Choosing, subdividing and joining: Design → a path of one line energy.

The random walk: the same for the same seed, one stroke within the design's bounds.
"""

import numpy as np
import pytest
import shapely
from builders import FWHM, design
from hypothesis import given
from hypothesis import strategies as st

from laserpath.base.arrays import runs
from laserpath.base.errors import InputError
from laserpath.planning.curve import CURVES, initial_curve, join, random_walk, subdivided
from laserpath.types import Machine, Process, Settings

DESIGN = design(shapely.box(1, 1, 2, 1.6), shapely.box(3, 1, 3.03, 2))
PROCESS = Process()


@pytest.mark.parametrize("initial", [name for name in CURVES if name != "strokes"])
def test_every_curve_is_a_toolpath_of_one_line_energy(initial):
    settings = Settings(initial=initial)
    toolpath = initial_curve(DESIGN, PROCESS, settings)
    lit = toolpath.energy[toolpath.on]
    np.testing.assert_allclose(lit, lit[0])
    assert toolpath.length[toolpath.on].max() <= settings.segment_fwhm * FWHM * (1 + 1e-9)
    assert toolpath.length.min() > 0
    machine = PROCESS.machine
    assert (toolpath.speed[toolpath.on] == min(machine.speed_max)).all()
    assert (toolpath.speed[~toolpath.on] == min(machine.rapid_speed)).all()
    assert toolpath.on[0] and toolpath.on[-1]


def test_the_mean_dose_inside_is_a_third_above_critical():
    """q/pitch = 4/3 D_c."""
    toolpath = initial_curve(DESIGN, PROCESS, Settings())
    expected = 4 / 3 * PROCESS.resin.critical_dose * 1.2 * FWHM
    assert toolpath.energy[toolpath.on][0] == pytest.approx(expected)


def test_the_seed_decides_the_random_curve_only():
    def curve(initial, seed):
        return initial_curve(DESIGN, PROCESS, Settings(initial=initial, seed=seed)).xy

    np.testing.assert_array_equal(curve("random", 3), curve("random", 3))
    assert (curve("random", 3)[:5] != curve("random", 4)[:5]).any()
    np.testing.assert_array_equal(curve("contour", 3), curve("contour", 4))


def test_an_unknown_curve_is_named():
    with pytest.raises(
        InputError,
        match="'peano' is unknown; known: auto, contour, spiral, hatch, outline, centreline, strokes, random",
    ):
        initial_curve(DESIGN, PROCESS, Settings(initial="peano"))


def test_islands_between_the_hatch_lines_get_strokes_of_their_own():
    dots = shapely.MultiPolygon(
        [shapely.box(i, j * 0.3, i + 0.08, j * 0.3 + 0.08) for i in (0, 1) for j in range(4)]
    )
    curve = initial_curve(design(dots), PROCESS, Settings(initial="hatch"))
    for dot in dots.geoms:
        assert shapely.contains_xy(dot, *curve.xy[1:].T).any()
    thin = initial_curve(design(shapely.box(0, 0, 0.02, 1)), PROCESS, Settings(initial="hatch"))
    assert thin.length[thin.on].sum() > 0.5


places = st.integers(-5000, 5000).map(lambda n: n / 1000)
vertices = st.lists(st.tuples(places, places), min_size=2, max_size=8, unique=True)


@given(xy=vertices, longest=st.floats(0.05, 3))
def test_subdividing_keeps_the_line_and_its_corners(xy, longest):
    stroke = np.array(xy)
    (fine,) = subdivided([stroke], longest)
    length = np.hypot(*np.diff(fine, axis=0).T)
    assert length.max() <= longest * (1 + 1e-8)
    assert length.sum() == pytest.approx(np.hypot(*np.diff(stroke, axis=0).T).sum())
    assert {tuple(v) for v in stroke} <= {tuple(v) for v in fine}
    assert shapely.distance(shapely.points(fine), shapely.LineString(stroke)).max() < 1e-9


def test_pieces_of_one_segment_are_equal_and_no_more_than_needed():
    (fine,) = subdivided([np.array([[0.0, 0], [1, 0]])], 0.3)
    np.testing.assert_allclose(fine[:, 0], [0, 0.25, 0.5, 0.75, 1])
    # 3 × 0.1 is a little above 0.3: rounding makes no fourth piece.
    assert len(subdivided([np.array([[0.0, 0], [3 * 0.1, 0]])], 0.1)[0]) == 4


def test_a_subdivided_ring_is_still_closed():
    ring = np.array([[0.1, 0.1], [1.3, 0.2], [0.7, 1.1], [0.1, 0.1]])
    (fine,) = subdivided([ring], 0.07)
    assert (fine[0] == fine[-1]).all()


def test_strokes_subdivided_together_are_as_each_alone():
    strokes = [
        np.array(xy, float) for xy in ([(0, 0), (1, 0)], [(5, 5)], [(2, 2), (2, 3), (4, 3)], [(9, 9), (8, 9)])
    ]
    together = subdivided(strokes, 0.3)
    assert len(together) == len(strokes) and subdivided([], 0.3) == []
    for stroke, fine in zip(strokes, together, strict=True):
        np.testing.assert_array_equal(fine, subdivided([stroke], 0.3)[0])
        np.testing.assert_array_equal(fine[[0, -1]], stroke[[0, -1]])


def test_joining_adds_a_travel_only_where_there_is_a_gap():
    a, b, c = np.array([[0.0, 0], [1, 0]]), np.array([[1.0, 0], [1, 1]]), np.array([[5.0, 5], [6, 5]])
    machine = Machine()
    joined = join([a, b, c], [np.array([0.01]), np.array([0.02]), np.array([0.03])], machine)
    np.testing.assert_array_equal(joined.xy, [[0, 0], [1, 0], [1, 1], [5, 5], [6, 5]])
    np.testing.assert_array_equal(joined.on, [True, True, False, True])
    np.testing.assert_allclose(joined.energy, [0.01, 0.02, 0, 0.03])
    assert runs(joined.on) == [(0, 2), (3, 4)]


@pytest.mark.parametrize(("former", "name"), [("rim", "outline"), ("tracks", "centreline")])
def test_names_of_version_0_1_mean_the_same(former, name):
    assert Settings(initial=former) == Settings(initial=name)


AREA = design(shapely.box(1, 2, 2, 4)).area


def walk(seed, pitch=0.1):
    return random_walk(AREA, pitch, np.random.default_rng(seed))


@given(seed=st.integers(0, 2**32 - 1))
def test_the_seed_decides(seed):
    np.testing.assert_array_equal(walk(seed)[0], walk(seed)[0])
    assert (walk(seed)[0] != walk(seed + 1)[0]).any()


@given(seed=st.integers(0, 2**32 - 1), pitch=st.floats(0.02, 3))
def test_it_is_one_stroke_within_the_bounds(seed, pitch):
    (stroke,) = walk(seed, pitch)
    assert (stroke >= (1, 2)).all() and (stroke <= (2, 4)).all()


def test_steps_are_about_a_pitch_and_cover_the_bounds_once():
    (stroke,) = walk(0, 0.02)
    length = np.hypot(*np.diff(stroke, axis=0).T)
    assert np.sqrt((length**2).mean()) == pytest.approx(0.02, rel=0.05)
    assert length.sum() * 0.02 == pytest.approx(2, rel=0.2)
