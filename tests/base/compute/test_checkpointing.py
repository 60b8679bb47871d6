"""Checkpointing: the gradient of the full tape, with the fewest steps that the memory allows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import one_fast

from laserpath.base.compute.checkpointing import checkpointed
from laserpath.base.errors import InputError


class Logistic:
    """x ← x + c·x·(1 − x), elementwise; the slope is (∂L/∂x, ∂L/∂c)."""

    def __init__(self, c: float) -> None:
        self.c = c

    def forward(self, x: np.ndarray, k: int) -> np.ndarray:
        return x + self.c * x * (1 - x)

    def adjoint(self, x: np.ndarray, k: int, slope: tuple) -> tuple:
        dx, dc = slope
        return dx * (1 + self.c * (1 - 2 * x)), dc + float((dx * x * (1 - x)).sum())


class Counting:
    """The state is its own index, so that a wrong one is noticed."""

    def forward(self, state: int, k: int) -> int:
        assert state == k
        return k + 1

    def adjoint(self, state: int, k: int, slope: list[int]) -> list[int]:
        assert state == k
        return [*slope, k]


@cache
def fewest(count: int, slots: int) -> int:
    """Steps forward of the best schedule, by trying all, without the one to the final state."""
    if count == 1:
        return 0
    if slots == 1:
        return count * (count - 1) // 2
    return min(m + fewest(count - m, slots - 1) + fewest(m, slots) for m in range(1, count))


@given(st.integers(0, 70), st.integers(1, 9))
def test_no_schedule_needs_fewer_steps(n: int, memory: int) -> None:
    run = checkpointed(Counting(), 0, n, memory)
    assert run.final == n
    assert run.gradient([]) == list(reversed(range(n)))
    assert run.computed == (fewest(n, memory) + 1 if n else 0)


@pytest.mark.parametrize("n", one_fast([1, 2, 3, 10, 1000, 20_000], 1, 2, 3, 10, 1000))
def test_by_default_one_more_forward_and_a_root_of_states(n: int) -> None:
    run = checkpointed(Counting(), 0, n)
    run.gradient([])
    assert run.computed <= 2 * n
    assert run.memory <= np.sqrt(2 * n) + 1


@given(st.integers(1, 60), st.integers(1, 6), st.floats(-1, 1))
def test_equal_to_the_full_tape_and_to_differences(n: int, memory: int, c: float) -> None:
    x = np.array([0.1, 0.5, 0.9])
    run = checkpointed(Logistic(c), x, n, memory)
    ones = np.ones(3)
    dx, dc = run.gradient((ones, 0.0))
    states = [x]
    for k in range(n):
        states.append(Logistic(c).forward(states[-1], k))
    slope = (ones, 0.0)
    for k in reversed(range(n)):
        slope = Logistic(c).adjoint(states[k], k, slope)
    np.testing.assert_array_equal(dx, slope[0])
    assert dc == slope[1]
    h = 1e-6
    ahead, behind = (checkpointed(Logistic(c + d), x, n).final.sum() for d in (h, -h))
    assert dc == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-6)


def test_a_second_gradient_is_the_first() -> None:
    run = checkpointed(Logistic(0.3), np.array([0.2]), 50, 3)
    first = run.gradient((np.ones(1), 0.0))
    assert run.gradient((np.ones(1), 0.0)) == first


def test_whole_numbers_of_numpy_will_do() -> None:
    run = checkpointed(Counting(), 0, np.int64(5), np.int32(2))
    assert run.final == 5 and run.memory == 2


@pytest.mark.parametrize(("n", "memory"), [(-1, 3), (2.5, 3), (5, 0), (True, 1), (np.float64(4), 1)])
def test_wrong_numbers_are_a_sentence(n: int, memory: int) -> None:
    with pytest.raises(InputError, match=r"must be a whole number from"):
        checkpointed(Counting(), 0, n, memory)


class Overwriting(Logistic):
    """Writes the next state into the one it was given."""

    def forward(self, x: np.ndarray, k: int) -> np.ndarray:
        x += self.c * x * (1 - x)
        return x


class Taking(Logistic):
    """Writes the next state into one of its own arrays, which take turns."""

    def __init__(self, c: float, arrays: int) -> None:
        super().__init__(c)
        self.arrays = np.zeros((arrays, 2))

    def forward(self, x: np.ndarray, k: int) -> np.ndarray:
        own = self.arrays[k % len(self.arrays)]
        own[:] = super().forward(x, k)
        return own


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (Overwriting(0.1), "step 0 forward writes into its state, but that is kept for the gradient"),
        (Taking(0.1, 1), "step 1 forward returns the memory of an earlier state, but that is kept"),
        (Taking(0.1, 2), "step 11 forward returns the memory of an earlier state, but that is kept"),
    ],
)
def test_a_step_that_writes_over_a_state_is_refused(step: Logistic, sentence: str) -> None:
    """It would give (0.023, 0.0052) for (26.2, 0.023)."""
    with pytest.raises(InputError, match=sentence):
        checkpointed(step, np.array([0.01, 0.5]), 50)


def test_arrays_within_a_state_are_read_only_and_the_caller_s_stays_as_it_was() -> None:
    class Nested:
        def forward(self, state: dict, k: int) -> dict:
            with pytest.raises(ValueError, match="read-only"):
                state["pair"][0][0] = 1
            return state if k == 1 else {"pair": (state["pair"][0] + 1, [2.0])}  # the same state will do

        def adjoint(self, state: dict, k: int, slope: float) -> float:
            state["pair"][0][:] = 0
            return slope

    first = np.zeros(2)
    run = checkpointed(Nested(), {"pair": (first, [1.0])}, 4)
    assert run.final["pair"][0].tolist() == [3, 3] and first.flags.writeable
    with pytest.raises(InputError, match="step 3 adjoint writes into its state, but that is kept"):
        run.gradient(1.0)


def test_a_step_may_write_its_states_into_places_that_are_not_used_again() -> None:
    run = checkpointed(Taking(0.3, 50), np.array([0.2, 0.4]), 50)
    right = checkpointed(Logistic(0.3), np.array([0.2, 0.4]), 50)
    np.testing.assert_array_equal(run.final, right.final)
