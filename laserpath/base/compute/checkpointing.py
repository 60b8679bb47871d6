"""Gradients through many steps with few states in memory: each segment is computed again when it is needed.

A simulation of n steps that keeps every state for its gradient soon needs all the memory there is. One that
keeps s states, and computes the others again from the nearest, needs at most r·n steps forward if

    n ≤ C(s + r, s),

and no schedule does with less. With r = 2, the default, s is about √(2n).

Source: A. Griewank and A. Walther, "Algorithm 799: revolve", ACM Transactions on Mathematical Software 26
(2000), 19–45, doi:10.1145/347837.347846.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import fields, is_dataclass
from math import comb
from operator import index
from typing import Any, Generic, Protocol, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

from laserpath.base.errors import InputError

__all__ = ["Checkpointed", "Step", "checkpointed"]

State = TypeVar("State")
Slope = TypeVar("Slope")

MOST_STEPS = 10**9
"""Steps of a simulation."""


class Step(Protocol[State, Slope]):
    """One step of a simulation, and its adjoint. Both depend on their arguments alone, and leave them
    as they are: a state that is written over, at once or by a later step, would spoil the gradient.

    So NumPy's arrays in a state, also within tuples, lists, dicts and dataclasses, are passed read-only, and
    a step that returns memory of a state that is kept is refused, unless it is that array, unchanged. States
    of other types are trusted.

    The slope is ∂L/∂state; what else it holds, such as ∂L/∂parameters, the adjoint adds up.
    """

    def forward(self, state: State, k: int, /) -> State:
        """The state after step k, of the state before it; k counts from 0."""

    def adjoint(self, state: State, k: int, slope: Slope, /) -> Slope:
        """The slope before step k: of the state before the step, and of the slope after it."""


class Checkpointed(Generic[State, Slope]):
    """A simulation that has run forward, and can be differentiated any number of times.

    final: the state after all steps.  memory: states that are kept at once, besides `final`, the one before
    it and the one in work.  computed: steps forward so far.
    """

    def __init__(self, step: Step[State, Slope], state: State, n: int, memory: int) -> None:
        self.memory, self.computed = memory, 0
        self._step, self._n, self._first = step, n, state
        state = _read_only(state)
        self._kept, self._last = [(0, state)], state
        self._places = set(map(_place, _arrays(state)))
        self.final = state
        if n:
            self._last = self._forward_to(n - 1)
            self.final = self._forward(self._last, n - 1, n)

    def gradient(self, slope: Slope) -> Slope:
        """The slope of the first state, of that of `final`."""
        for k in reversed(range(self._n)):
            state = self._last if k == self._n - 1 else self._forward_to(k)
            with _refused_writes("adjoint", k):
                slope = self._step.adjoint(state, k, slope)
            if self._kept[-1][0] == k and k:
                self._places.difference_update(map(_place, _arrays(self._kept.pop()[1])))
        return slope

    def _forward_to(self, end: int) -> State:
        """The state before step `end`, from the last that is kept; some on the way are kept as well."""
        first, state = self._kept[-1]
        while first < end:
            goal = first + _split(end + 1 - first, self.memory + 1 - len(self._kept))
            state, first = self._forward(state, first, goal), goal
            if first < end:
                self._kept.append((first, state))
                self._places.update(map(_place, _arrays(state)))
        return state

    def _forward(self, state: State, first: int, goal: int) -> State:
        for k in range(first, goal):
            before = state
            with _refused_writes("forward", k):
                state = self._step.forward(before, k)
            self._check_own(state, before, k)
            state = _read_only(state)
        self.computed += goal - first
        return state

    def _check_own(self, after: State, before: State, k: int) -> None:
        """Raise InputError if a step returns memory that it may write into, of a state still needed."""
        found = [one for one in _arrays(after) if one.flags.writeable and one.size]
        if any(np.may_share_memory(one, other) for other in _arrays(before) for one in found) or any(
            _place(one) in self._places for one in found
        ):
            raise InputError(
                f"step {k} forward returns the memory of an earlier state, but that is kept for the "
                "gradient: return a new array"
            )


def checkpointed(
    step: Step[State, Slope], state: State, n: int, memory: int | None = None
) -> Checkpointed[State, Slope]:
    """Run n steps from a state, so that they can be differentiated with few states in memory.

    memory: states to keep at once. By default the fewest, about √(2n), with which the gradient takes no more
    than another n steps forward, besides the n adjoint ones. Raises InputError if n is negative or memory is
    below 1.
    """
    n, memory = _whole("n", n, 0), checked_memory(memory)
    if memory is None:
        memory = 1
        while comb(memory + 2, 2) < n:
            memory += 1
    return Checkpointed(step, state, n, memory)


def checked_memory(memory: int | None) -> int | None:
    """Raise InputError unless `memory` is None or a number of states that may be kept."""
    return None if memory is None else _whole("memory", memory, 1)


def _split(count: int, slots: int) -> int:
    """After how many of `count` steps the next state is kept. slots: states to keep, with the first.

    Let r be the least number with `count` ≤ C(slots + r, slots) = C(slots + r - 1, slots) +
    C(slots + r - 1, slots - 1). The first part is gone through again with all slots, and may have as many
    steps as the first term says; the second has one slot less, and may have as many as the second term says.
    Any split within both is one of the best (Griewank and Walther). This one has the largest first part that
    leaves the second C(slots + r - 2, slots - 1) steps, as many as r - 1 would do for.
    """
    if slots == 1:
        return count - 1
    r = 1
    while comb(slots + r, slots) < count:
        r += 1
    return min(comb(slots + r - 1, slots), count - comb(slots + r - 2, slots - 1))


def _whole(name: str, value: SupportsIndex, least: int) -> int:
    """The value as an int, also of NumPy's integers."""
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= MOST_STEPS:
        raise InputError(f"{name} is {value}, but must be a whole number from {least} to {MOST_STEPS}")
    return number


def _mapped(function: Callable[[NDArray[Any]], Any], state: Any) -> Any:
    """The state with its NumPy arrays replaced; itself if it has none."""
    if isinstance(state, np.ndarray):
        return function(state)
    if isinstance(state, dict):
        return {name: _mapped(function, one) for name, one in state.items()}
    if isinstance(state, (tuple, list)):
        parts = [_mapped(function, one) for one in state]
        return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
    if is_dataclass(state) and not isinstance(state, type):
        state = copy(state)
        for field in fields(state):
            object.__setattr__(state, field.name, _mapped(function, getattr(state, field.name)))
    return state


def _read_only(state: State) -> State:
    """The state with views of its arrays that cannot be written into."""

    def view(array: NDArray[Any]) -> NDArray[Any]:
        array = array.view()
        array.flags.writeable = False
        return array

    return _mapped(view, state)


def _arrays(state: Any) -> list[NDArray[Any]]:
    """The NumPy arrays in a state."""
    found: list[NDArray[Any]] = []
    _mapped(found.append, state)
    return found


def _place(array: NDArray[Any]) -> int:
    """Where the array begins in memory. To compare each with each would take longer than a small step."""
    return int(array.__array_interface__["data"][0])


@contextmanager
def _refused_writes(what: str, k: int) -> Iterator[None]:
    """NumPy's error where a step writes into its state, as a sentence."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise InputError(
            f"step {k} {what} writes into its state, but that is kept for the gradient: return a new array"
        ) from error
