"""The minimum between limits, for many numbers: that of SciPy's L-BFGS-B, without its lists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from laserpath.base.arrays import Floats
from laserpath.base.compute.minimise import minimised_between


@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_of_a_convex_loss_is_that_of_scipy(seed: int) -> None:
    """Σ max(0, lo − A w)² + max(0, A w − hi)², which no w makes 0, for 0 ≤ w ≤ 1."""
    rng = np.random.default_rng(seed)
    spread = rng.random((120, 40)) ** 4
    lo = 10 * rng.random(120)
    hi = lo + rng.random(120)

    def loss(w: Floats) -> tuple[float, Floats]:
        lack, more = np.maximum(lo - spread @ w, 0), np.maximum(spread @ w - hi, 0)
        return float((lack**2 + more**2).sum()), 2 * spread.T @ (more - lack)

    start = np.full(40, 0.5)
    found = minimised_between(loss, start, (0.0, 1.0), iterations=500, gain=1e-12)
    known = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * 40)
    assert found.converged
    assert ((found.x >= 0) & (found.x <= 1)).all()
    assert {0.0, 1.0} <= set(found.x.tolist()), "some are held at each of the limits"
    assert found.losses == sorted(found.losses, reverse=True)
    assert found.losses[-1] == pytest.approx(known.fun, rel=1e-6)
    assert found.x == pytest.approx(known.x, abs=1e-3)


def test_a_minimum_at_the_start_is_left_where_it_is() -> None:
    at_limit = minimised_between(
        lambda w: (float(w.sum()), np.ones(3)), np.zeros(3), (0.0, 1.0), iterations=9, gain=0.0
    )
    assert at_limit.converged
    assert at_limit.losses == []
    assert (at_limit.x == 0).all()


def test_a_search_ends_after_the_allowed_iterations() -> None:
    def valley(w: Floats) -> tuple[float, Floats]:
        """Rosenbrock's, whose floor bends."""
        a, b = w
        slope = np.array([-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)])
        return float((1 - a) ** 2 + 100 * (b - a**2) ** 2), slope

    few, many = (
        minimised_between(valley, np.array([-1.0, 1.0]), (-2.0, 2.0), iterations=n, gain=0.0)
        for n in (3, 200)
    )
    assert not few.converged
    assert len(few.losses) == 3
    assert many.x == pytest.approx([1.0, 1.0], abs=1e-4)
