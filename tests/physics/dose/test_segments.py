"""The quadrature of segments, and its chain rule."""

import numpy as np
import pytest
from builders import random_path
from hypothesis import given
from hypothesis import strategies as st
from sets import one_fast

from laserpath.physics import optics
from laserpath.physics.dose.segments import NODE, WEIGHT, from_points, longest, to_points
from laserpath.types import Spot

seeds = st.integers(0, 2**32 - 1)
widths = st.floats(0.01, 1.0)
tolerances = st.sampled_from([1e-2, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6])


@given(seed=seeds, fwhm=widths, tolerance=tolerances)
def test_points_carry_the_energy_and_the_centre_of_each_segment(seed, fwhm, tolerance):
    toolpath = random_path(np.random.default_rng(seed))
    points = to_points(toolpath.xy, toolpath.line_energy, fwhm, tolerance)
    n = len(toolpath)
    energy = np.bincount(points.segment, points.energy, n)
    np.testing.assert_allclose(energy, toolpath.line_energy * toolpath.length, rtol=1e-12)
    middle = (toolpath.xy[:-1] + toolpath.xy[1:]) / 2
    for axis in (0, 1):
        moment = np.bincount(points.segment, points.energy * points.xy[:, axis], n)
        np.testing.assert_allclose(moment, energy * middle[:, axis], atol=1e-12)


@pytest.mark.parametrize("n", range(1, 9))
def test_the_rules_are_exact_for_polynomials(n):
    for power in range(2 * n):
        assert WEIGHT[n] @ NODE[n] ** power == pytest.approx(1 / (power + 1), rel=1e-13)


@pytest.mark.parametrize("profile", ["airy", "gaussian"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("share", one_fast([0.3, 0.97, 1.0], 1.0))
def test_the_longest_segment_of_each_rule_is_within_half_of_the_tolerance(profile, tolerance, share):
    """At any place around it, relative to its own peak."""
    spot, fine = Spot(1.0, profile), np.polynomial.legendre.leggauss(60)
    x, y = np.meshgrid(np.linspace(-3, 3, 121), np.linspace(0, 1.5, 16))
    for n, length in enumerate(share * longest(tolerance), start=1):
        found = sum(
            w * optics.profile(spot, x - (t - 0.5) * length, y)
            for t, w in zip(NODE[n], WEIGHT[n], strict=True)
        )
        exact = sum(w / 2 * optics.profile(spot, x - t / 2 * length, y) for t, w in zip(*fine, strict=True))
        assert np.abs(found - exact).max() <= 0.52 * tolerance * exact.max()


@given(length=st.floats(1e-6, 50), tolerance=tolerances)
def test_as_few_points_as_do(length, tolerance):
    points = to_points(np.array([[0, 0], [length, 0]]), np.ones(1), 1.0, tolerance)
    limits = longest(tolerance)
    pieces = max(1, int(np.ceil(length / limits[-1])))
    each = len(points.energy) // pieces
    assert pieces * each == len(points.energy)
    assert length / pieces <= limits[each - 1] * (1 + 1e-12)
    assert each == 1 or length / pieces > limits[each - 2]
    assert (np.diff(points.xy[:, 0]) > 0).all()


def test_dark_moves_and_moves_of_no_length_have_no_points():
    xy = np.array([[0.0, 0], [1, 0], [1, 0], [2, 0]])
    points = to_points(xy, np.array([0.0, 1.0, 1.0]), 1.0, 1e-3)
    assert set(points.segment) == {2}
    assert len(to_points(xy, np.zeros(3), 1.0, 1e-3).energy) == 0


@given(seed=seeds, fwhm=widths)
def test_the_chain_rule_is_that_of_the_sum(seed, fwhm):
    """For L = Σ e_k g(x_k) with a linear g all is exact, and the step may be any size."""
    rng = np.random.default_rng(seed)
    toolpath = random_path(rng)
    xy, energy = toolpath.xy, toolpath.line_energy
    slope = rng.normal(size=2)

    def loss(vertices, q):
        points = to_points(vertices, q, fwhm, 1e-3)
        return float(points.energy @ (1 + points.xy @ slope))

    points = to_points(xy, energy, fwhm, 1e-3)
    gradient = from_points(points, 1 + points.xy @ slope, points.energy[:, None] * slope, xy, energy)
    step_xy, step_q = rng.normal(size=xy.shape), rng.normal(size=energy.shape) * (energy > 0)
    h = 1e-6
    by_xy = (loss(xy + h * step_xy, energy) - loss(xy - h * step_xy, energy)) / (2 * h)
    by_q = (loss(xy, energy + h * step_q) - loss(xy, energy - h * step_q)) / (2 * h)
    np.testing.assert_allclose((gradient.xy * step_xy).sum(), by_xy, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(gradient.line_energy @ step_q, by_q, rtol=1e-6, atol=1e-8)
