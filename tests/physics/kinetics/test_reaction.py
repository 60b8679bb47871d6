"""One cell in the dark, apart from all else: against an ODE solver, conservation laws, and differences."""

from __future__ import annotations

import numpy as np
import pytest
from reaction_kernels import CASES, adjoint_all, after_all, case
from scipy.integrate import solve_ivp
from sets import one_fast


def exact(cell: np.ndarray, s: float, rates: np.ndarray) -> np.ndarray:
    """R, O, m after s seconds, by an implicit solver."""
    k_o, k_1, k_2, k_p = rates

    def slopes(t: float, y: np.ndarray) -> list[float]:
        r, o, m = y
        return [-k_o * r * o - k_1 * r - k_2 * r * r, -k_o * r * o, -k_p * r * m]

    return solve_ivp(slopes, (0, s), cell, method="Radau", rtol=1e-10, atol=1e-13).y[:, -1]


def of_one_flow(name: str) -> bool:
    """Whether only oxygen, or only termination, takes radicals: then a step is exact."""
    radicals, oxygen, _, _, k_o, k_1, k_2, _ = CASES[name]
    return k_1 == k_2 == 0 or k_o * oxygen == 0 or radicals == 0


OF_ONE_FLOW = [name for name in CASES if of_one_flow(name)]
LONGEST = {"just below the branch", "as many"}


@pytest.mark.parametrize("name", one_fast(OF_ONE_FLOW, *(set(OF_ONE_FLOW) - LONGEST)))
def test_a_flow_alone_is_exact(name: str) -> None:
    cell, s, rates = case(name)
    np.testing.assert_allclose(
        after_all(cell, s, rates)[0], exact(cell[0], s[0], rates[0]), rtol=1e-7, atol=1e-10
    )


@pytest.mark.slow
def test_half_the_steps_have_four_times_the_error() -> None:
    """Both flows at once, equally fast."""
    cell, end, rates = np.array([[0.8, 1.0, 0.9]]), 0.4, np.array([[5.0, 2.0, 5.0, 3.0]])
    errors = []
    for count in (8, 16, 32):
        now = cell
        for _ in range(count):
            now = after_all(now, np.array([end / count]), rates)
        errors.append(np.abs(now[0] - exact(cell[0], end, rates[0])).max())
    assert errors[0] / errors[1] == pytest.approx(4, abs=0.2)
    assert errors[1] / errors[2] == pytest.approx(4, abs=0.2)


def test_any_step_stays_within_bounds_and_oxygen_takes_as_many_radicals() -> None:
    rng = np.random.default_rng(11)
    cell = np.stack([10 ** rng.uniform(-9, 3, 4000), 10 ** rng.uniform(-9, 0, 4000), np.ones(4000)], axis=1)
    s, rates = 10 ** rng.uniform(-6, 6, 4000), 10 ** rng.uniform(-6, 6, (4000, 4))
    found = after_all(cell, s, rates)
    assert np.isfinite(found).all() and found.min() >= 0 and found[:, 2].max() <= 1
    assert (found[:, :2] <= cell[:, :2] * (1 + 1e-12)).all()
    rates[:, 1:3] = 0
    both = after_all(cell, s, rates)[:, :2] - cell[:, :2]
    np.testing.assert_allclose(both[:, 0], both[:, 1], atol=1e-12 * cell[:, :2].max())
    assert np.isfinite(adjoint_all(cell, s, rates, np.ones((4000, 3)))).all()


@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("no time", "no radicals", "no oxygen")]
)
def test_the_adjoint_is_that_of_differences(name: str) -> None:
    """Away from 0, below which no amount and no time can be."""
    cell, s, rates = case(name)
    slope = np.array([[0.7, -0.4, 1.1]])
    found = adjoint_all(cell, s, rates, slope)[0]
    for n, h in enumerate((*np.maximum(1e-6, 3e-6 * cell[0]), 3e-6 * s[0])):
        h = min(h, 1e-3 * (*cell[0], s[0])[n])
        sides = []
        for sign in (-1, 1):
            moved, time = cell.copy(), s.copy()
            (moved[0] if n < 3 else time)[n % 3 if n < 3 else 0] += sign * h
            sides.append(float((slope * after_all(moved, time, rates)).sum()))
        assert (sides[1] - sides[0]) / (2 * h) == pytest.approx(found[n], rel=1e-6, abs=1e-6)
