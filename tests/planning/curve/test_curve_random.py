"""The random walk: the same for the same seed, one stroke within the design's bounds."""

import numpy as np
import pytest
import shapely
from builders import design
from hypothesis import given
from hypothesis import strategies as st

from laserpath.planning.curve import random_walk

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
