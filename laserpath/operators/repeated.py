"""An operator applied many times, as an operator: few states are kept for its gradient.

    s_0 = the first inputs,   s_(k+1) = f(s_k, p),   y = s_n

The outputs of f are the next state: as many as there are outputs, the first inputs are the state. The other
inputs p are the same in each step, or a step's own: those of `each` have one more axis in front, of length n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from laserpath.base.arrays import Floats
from laserpath.base.checks import whole_between
from laserpath.base.errors import InputError
from laserpath.compute.checkpointing import MOST_STEPS, checked_memory, checkpointed
from laserpath.operators.record import Operator, returned

State = tuple[NDArray[Any], ...]


def repeated(
    operator: Operator, n: int, *, each: Sequence[str] = (), memory: int | None = None, name: str = ""
) -> Operator:
    """The operator after n steps, each from the outputs of the one before; see the module's docstring.

    The result is an operator on the host, for NumPy, PyTorch and JAX, with the same inputs and outputs. Its
    gradient runs the steps once more, keeps `memory` states (by default about √(2n)), and computes the others
    again: see `laserpath.compute.checkpointing`.  each: inputs of which step k takes the part [k].  name: by
    default the operator's with `_repeated`. Raises InputError for an operator whose outputs cannot be its
    next inputs.
    """
    m = len(operator.outputs)
    _check_repeatable(operator, each)
    whole_between("n", n, 0, MOST_STEPS)
    memory = checked_memory(memory)

    def final(*inputs: Floats) -> State:
        run = checkpointed(_RepeatedStep(operator, inputs, n, tuple(each)), inputs[:m], n, memory)
        return tuple(one.copy() for one in run.final)  # that of the run is read-only

    def adjoint(*read: Floats) -> State:
        inputs, slopes = read[:-m], read[-m:]
        step = _RepeatedStep(operator, inputs, n, tuple(each))
        return step.gathered(checkpointed(step, inputs[:m], n, memory).gradient(step.slope(slopes)))

    return Operator(
        name or f"{operator.name}_repeated",
        final,
        adjoint,
        inputs=operator.inputs,
        # A default of each function, since they are called when the loop has ended.
        outputs={one: lambda *shapes, at=at: shapes[at] for at, one in enumerate(operator.outputs)},
        constants=operator.constants,
        on_host=True,
    )


def _check_repeatable(operator: Operator, each: Sequence[str]) -> None:
    m = len(operator.outputs)
    if m > len(operator.inputs) or set(operator.inputs[:m]) & set(operator.constants):
        raise InputError(
            f"operator {operator.name} cannot be repeated: its first {m} inputs must be its state, and no "
            f"constants, but it has {', '.join(operator.inputs)}"
        )
    if strange := set(each) - set(operator.inputs[m:]):
        raise InputError(f"operator {operator.name} has no input {min(strange)!r} besides its state")


class _RepeatedSlope(NamedTuple):
    """∂L/∂state, and what has been added up of ∂L/∂p, of those that have a derivative."""

    state: State
    parameters: State


@dataclass(frozen=True, slots=True)
class _RepeatedStep:
    """A step for `checkpointed`. inputs: of the whole run; the first ones are the state before it."""

    operator: Operator
    inputs: State
    n: int
    each: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, one in zip(self.operator.inputs, self.inputs, strict=True):
            if name in self.each and one.shape[:1] != (self.n,):
                raise InputError(f"{name} has shape {one.shape}, but must have one of each of {self.n} steps")

    def forward(self, state: State, k: int) -> State:
        after = returned(self.operator(*self._inputs(state, k)))
        for name, new, old in zip(self.operator.outputs, after, state, strict=True):
            if new.shape != old.shape:
                raise InputError(
                    f"operator {self.operator.name} cannot be repeated: {name} has shape {new.shape} after a "
                    f"step, but the state had {old.shape}"
                )
        return after

    def adjoint(self, state: State, k: int, slope: _RepeatedSlope) -> _RepeatedSlope:
        """The sums of the parameters' derivatives are this run's own, and are added to in place."""
        found = self.operator.gradient(self._inputs(state, k), slope.state)
        m = len(state)
        for name, total, new in zip(self._moved(), slope.parameters, found[m:], strict=True):
            if name in self.each:
                total[k] = new
            else:
                total += new
        return _RepeatedSlope(found[:m], slope.parameters)

    def slope(self, above: State) -> _RepeatedSlope:
        """At the end of the run."""
        values = dict(zip(self.operator.inputs, self.inputs, strict=True))
        return _RepeatedSlope(
            above, tuple(np.zeros(values[name].shape, above[0].dtype) for name in self._moved())
        )

    @staticmethod
    def gathered(slope: _RepeatedSlope) -> State:
        """In the order of the inputs."""
        return (*slope.state, *slope.parameters)

    def _moved(self) -> list[str]:
        """The parameters that have a derivative."""
        names = self.operator.inputs[len(self.operator.outputs) :]
        return [name for name in names if name not in self.operator.constants]

    def _inputs(self, state: State, k: int) -> list[NDArray[Any]]:
        names = self.operator.inputs[len(state) :]
        rest = zip(names, self.inputs[len(state) :], strict=True)
        return [*state, *(one[k] if name in self.each else one for name, one in rest)]
