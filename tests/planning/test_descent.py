"""Adam and L-BFGS find the minimum of a function that has one."""

import numpy as np
import pytest

from laserpath.planning.optimise.descent import Adam, lbfgs

Z, U = np.array([[0.3, -0.2], [0.1, 0.4]]), np.array([1.0, -2.0, 0.5])
SIZES = (2, 3)
UNITS = (np.full(2, 0.1), np.ones(3))


def bowl(z, u):
    """Much steeper along some variables than along others."""
    stiff = np.array([1.0, 30.0, 900.0])
    loss = ((z - Z) ** 2).sum() * 100 + (stiff * (u - U) ** 2).sum()
    return float(loss), (200 * (z - Z), 2 * stiff * (u - U))


def test_lbfgs_reaches_the_minimum_and_reports_it():
    seen = []

    def watched(z, u):
        seen.append((*(np.array(v) for v in (z, u)), bowl(z, u)[0]))
        return bowl(z, u)

    assert lbfgs(watched, UNITS, evaluations=200, tolerance=1e-3)
    z, u, _ = min(seen, key=lambda evaluation: evaluation[2])
    np.testing.assert_allclose(z, Z, atol=1e-4)
    np.testing.assert_allclose(u, U, atol=1e-4)
    assert len(seen) < 60


def test_lbfgs_stops_at_its_number_of_evaluations():
    count = 0

    def counted(z, u):
        nonlocal count
        count += 1
        return bowl(z, u)

    assert not lbfgs(counted, (1e-6 * UNITS[0], UNITS[1]), evaluations=5, tolerance=0)
    assert 5 <= count <= 7


def test_the_scale_of_the_loss_does_not_matter():
    """A loss of 1e-6 is not taken for zero."""
    ends = []

    def tiny(z, u):
        loss, slopes = bowl(z, u)
        ends.append(loss)
        return 1e-9 * loss, tuple(1e-9 * s for s in slopes)

    lbfgs(tiny, UNITS, evaluations=200, tolerance=1e-3)
    assert min(ends) < 1e-6


def test_adam_s_first_step_goes_downhill_by_the_rate():
    """Displacements keep the gradient's direction; each log energy has a rate of its own."""
    adam = Adam(SIZES, (0.02, 0.05))
    adam.step((np.array([[3.0, 4.0], [0.0, -1e-9]]), np.array([5.0, -1e-6, 0.0])), 1.0)
    z, u = adam.values
    np.testing.assert_allclose(z, [[-0.012, -0.016], [0, 0.02]])
    np.testing.assert_allclose(u, [-0.05, 0.05, 0])


def test_adam_comes_near():
    adam = Adam(SIZES, (0.02, 0.1))
    for k in range(300):
        adam.step(bowl(*adam.values)[1], 1 - k / 300)
    assert bowl(*adam.values)[0] == pytest.approx(0, abs=1e-3)
