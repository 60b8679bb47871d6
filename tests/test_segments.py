"""The quadrature of segments, and its chain rule."""

import numpy as np
from builders import random_path
from hypothesis import given
from hypothesis import strategies as st

from laserpath.dose.segments import from_points, to_points

seeds = st.integers(0, 2**32 - 1)
pieces = st.floats(0.01, 1.0)


@given(seed=seeds, piece=pieces)
def test_points_carry_the_energy_and_the_centre_of_each_segment(seed, piece):
    toolpath = random_path(np.random.default_rng(seed))
    points = to_points(toolpath.xy, toolpath.line_energy, piece)
    n = len(toolpath)
    energy = np.bincount(points.segment, points.energy, n)
    np.testing.assert_allclose(energy, toolpath.line_energy * toolpath.length, rtol=1e-12)
    middle = (toolpath.xy[:-1] + toolpath.xy[1:]) / 2
    for axis in (0, 1):
        moment = np.bincount(points.segment, points.energy * points.xy[:, axis], n)
        np.testing.assert_allclose(moment, energy * middle[:, axis], atol=1e-12)


@given(seed=seeds, piece=pieces)
def test_cubics_are_integrated_exactly(seed, piece):
    toolpath = random_path(np.random.default_rng(seed))
    points = to_points(toolpath.xy, toolpath.line_energy, piece)
    found = np.bincount(points.segment, points.share * points.fraction**3, len(toolpath))
    np.testing.assert_allclose(found[toolpath.on], 0.25, rtol=1e-12)


@given(piece=pieces, length=st.floats(1e-6, 5))
def test_two_points_for_each_piece(piece, length):
    points = to_points(np.array([[0, 0], [length, 0]]), np.ones(1), piece)
    assert len(points.energy) == 2 * max(1, np.ceil(length / piece))
    assert np.diff(points.xy[:, 0]).max() <= piece


def test_dark_moves_and_moves_of_no_length_have_no_points():
    xy = np.array([[0.0, 0], [1, 0], [1, 0], [2, 0]])
    points = to_points(xy, np.array([0.0, 1.0, 1.0]), 0.5)
    assert set(points.segment) == {2}
    assert len(to_points(xy, np.zeros(3), 0.5).energy) == 0


@given(seed=seeds)
def test_the_chain_rule_is_that_of_the_sum(seed):
    """For L = Σ e_k g(x_k) with a linear g all is exact, and the step may be any size."""
    rng = np.random.default_rng(seed)
    toolpath = random_path(rng)
    xy, energy = toolpath.xy, toolpath.line_energy
    slope = rng.normal(size=2)

    def loss(vertices, q):
        points = to_points(vertices, q, 10.0)
        return float(points.energy @ (1 + points.xy @ slope))

    points = to_points(xy, energy, 10.0)
    gradient = from_points(points, 1 + points.xy @ slope, points.energy[:, None] * slope, xy, energy)
    step_xy, step_q = rng.normal(size=xy.shape), rng.normal(size=energy.shape) * (energy > 0)
    h = 1e-6
    by_xy = (loss(xy + h * step_xy, energy) - loss(xy - h * step_xy, energy)) / (2 * h)
    by_q = (loss(xy, energy + h * step_q) - loss(xy, energy - h * step_q)) / (2 * h)
    np.testing.assert_allclose((gradient.xy * step_xy).sum(), by_xy, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(gradient.line_energy @ step_q, by_q, rtol=1e-6, atol=1e-8)
