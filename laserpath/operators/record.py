"""An operator: arrays → arrays by a kernel, and back by its adjoint.

    y₁ … y_m = f(x₁ … x_n),   ∂L/∂x_i = Σ_j (∂y_j/∂x_i)ᵀ ∂L/∂y_j

A kernel takes arrays and writes into the last of them. `forward(*x, *y)` writes the outputs, and
`adjoint(*x, *∂L/∂y, *∂L/∂x)` the derivatives, one for each input that is no constant. What they write into
comes as zeros, so they may add. They write nothing else: not even into their inputs. Functions for NumPy
alone (`on_host`) return their results instead. What the adjoint needs of the way forward, and is not to be
computed twice, is `saved`: forward(*x, *y, *s), adjoint(*x, *s, *∂L/∂y, *∂L/∂x).

All arrays are contiguous, and those of real numbers have one precision, f64 if an input has it and f32 else.
Constants of whole numbers keep their type. Floats in a kernel's code, such as `0.1` or `s = 0.0`, are of that
precision too; `ti.f32(…)` says otherwise.

An operator applied many times is an operator, too (`repeated`); few states are kept for its gradient:

    s_0 = the first inputs,   s_(k+1) = f(s_k, p),   y = s_n

The outputs of f are the next state: as many as there are outputs, the first inputs are the state. The other
inputs p are the same in each step, or a step's own: those of `each` have one more axis in front, of length n.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base.arrays import Floats
from laserpath.base.checks import check_real, whole_between
from laserpath.base.compute.checkpointing import MOST_STEPS, checked_memory, checkpointed
from laserpath.base.compute.runtime import Kernel, own_copy
from laserpath.base.errors import InputError

Shape = tuple[int, ...]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Operator:
    """A function of arrays with its adjoint, for NumPy, PyTorch (`torch_function`) and JAX (`jax_function`).

    name: 'namespace::name', by which PyTorch knows it; operators that differ in a setting may share it.
    forward, adjoint: kernels of Taichi, or functions of arrays like them.  inputs: their names, in order.
    outputs: each one's name, and its shape as a function of the inputs' shapes.  constants: the inputs that
    have no derivative.  on_host: the functions take NumPy arrays, and return one, or a tuple of several.

    saved: like `outputs`, of what the forward function writes behind the outputs for the adjoint alone, which
    reads it behind the inputs.  selective: the adjoint, a function on the host, is told by `wanted=`, a bool
    for each input that has a derivative, which ones are asked for; the others may be None.
    """

    name: str
    forward: Function
    adjoint: Function
    inputs: tuple[str, ...]
    outputs: Mapping[str, Callable[..., Shape]]
    constants: tuple[str, ...] = ()
    on_host: bool = False
    saved: Mapping[str, Callable[..., Shape]] = field(default_factory=dict)
    selective: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", self.name):
            raise InputError(f"operator name {self.name!r} must be of the form 'namespace::name'")
        names = [*self.inputs, *self.outputs, *self.saved]
        for one in names:
            if not one.isidentifier() or keyword.iskeyword(one) or names.count(one) > 1:
                raise InputError(f"operator {self.name} has a name {one!r}, but needs different identifiers")
            if one in ("self", "which"):  # "which" of the operators of a name: laserpath.operators.torch
                raise InputError(f"operator {self.name} has a name {one!r}, which is taken")
        if not self.inputs or not self.outputs:
            raise InputError(f"operator {self.name} must have an input and an output")
        if strange := set(self.constants) - set(self.inputs):
            raise InputError(f"operator {self.name} has a constant {min(strange)!r}, which is not an input")
        if self.selective and not self.on_host:
            raise InputError(f"operator {self.name} is selective, but its adjoint is not on the host")
        for name in ("forward", "adjoint"):
            object.__setattr__(self, name, callable_anywhere(getattr(self, name)))

    @property
    def differentiated(self) -> tuple[bool, ...]:
        """Of each input, whether it has a derivative."""
        return tuple(name not in self.constants for name in self.inputs)

    def shapes(self, *inputs: Shape) -> tuple[Shape, ...]:
        """The shapes of the outputs, and of what is saved, by the inputs'."""
        self._counted(inputs)
        return tuple(tuple(shape(*inputs)) for shape in (*self.outputs.values(), *self.saved.values()))

    def __call__(self, *inputs: ArrayLike) -> Any:
        """The output as a NumPy array, or a tuple of several."""
        return self.without_saved(self.all_of(inputs))

    def gradient(self, inputs: Sequence[ArrayLike], slopes: Sequence[ArrayLike]) -> tuple[Floats, ...]:
        """∂L/∂ of each input that has one, from ∂L/∂ of each output. What is saved is computed again."""
        arrays, m = self.prepared(inputs), len(self.outputs)
        real = precision(self.name, arrays)
        for name, slope in zip(self.outputs, slopes, strict=False):
            check_real(f"∂L/∂{name}", np.asarray(slope))
        above = [np.require(slope, real, "C") for slope in slopes]
        needed = self.shapes(*(a.shape for a in arrays))[:m]
        if tuple(slope.shape for slope in above) != needed:
            raise InputError(
                f"operator {self.name} has slopes of shapes {[a.shape for a in above]}, not {list(needed)}"
            )
        saved = self.all_of(arrays)[m:] if self.saved else ()
        return self.pulled(arrays, saved, above, (True,) * sum(self.differentiated))

    def pulled(
        self,
        arrays: Sequence[NDArray[Any]],
        saved: Sequence[Floats],
        above: Sequence[Floats],
        wanted: Sequence[bool],
    ) -> tuple[Any, ...]:
        """The adjoint of prepared inputs. wanted: of each derivative; one that is not may be None."""
        shapes = [a.shape for a, has in zip(arrays, self.differentiated, strict=True) if has]
        return self._run(self.adjoint_of(wanted), [*arrays, *saved, *above], shapes, arrays)

    def adjoint_of(self, wanted: Sequence[bool]) -> Function:
        """The adjoint function, told which derivatives are wanted if it can be told."""
        return partial(self.adjoint, wanted=tuple(wanted)) if self.selective else self.adjoint

    def without_saved(self, found: Sequence[Any]) -> Any:
        """Of what the forward function writes or returns, the output, or a tuple of several."""
        m = len(self.outputs)
        return tuple(found[:m]) if m > 1 else found[0]

    def prepared(self, inputs: Sequence[ArrayLike]) -> list[NDArray[Any]]:
        """The inputs as contiguous arrays of one precision: the same memory where they are that already."""
        self._counted(inputs)
        arrays = [np.asarray(one) for one in inputs]
        self.check_types(arrays)
        real = precision(self.name, arrays)
        return [
            np.require(a, real if has or a.dtype.kind == "f" else a.dtype, "C")
            for a, has in zip(arrays, self.differentiated, strict=True)
        ]

    def all_of(self, inputs: Sequence[ArrayLike]) -> tuple[Floats, ...]:
        """The outputs, and behind them what is saved for the adjoint."""
        arrays = self.prepared(inputs)
        return self._run(self.forward, arrays, self.shapes(*(a.shape for a in arrays)), arrays)

    def _run(
        self,
        function: Function,
        arrays: Sequence[NDArray[Any]],
        shapes: Sequence[Shape],
        inputs: Sequence[NDArray[Any]],
    ) -> tuple[Any, ...]:
        """What the function writes or returns, in the precision of the inputs."""
        real = precision(self.name, inputs)
        if self.on_host:
            found = returned(function(*arrays))
            return tuple(None if one is None else np.require(one, real, "C") for one in found)
        written = tuple(np.zeros(shape, real) for shape in shapes)
        function(*arrays, *written)
        return written

    def check_types(self, arrays: Sequence[Any]) -> None:
        """Raise InputError unless the inputs that have a derivative, of any library, are of real numbers."""
        self._counted(arrays)
        for name, one in zip(self.inputs, arrays, strict=True):
            if name not in self.constants:
                check_real(name, one)

    def _counted(self, inputs: Sequence[object]) -> None:
        if len(inputs) != len(self.inputs):
            names = ", ".join(self.inputs)
            raise InputError(f"operator {self.name} was given {len(inputs)} inputs, but has {names}")


def precision(name: str, arrays: Sequence[NDArray[Any]]) -> type[np.floating[Any]]:
    """In what an operator computes: f32 if its real inputs have no more, else f64."""
    for array in arrays:
        if array.dtype.kind not in "biuf":
            raise InputError(f"operator {name} has an input of type {array.dtype}, but needs real numbers")
    return np.float32 if single(a.dtype.itemsize for a in arrays if a.dtype.kind == "f") else np.float64


def single(sizes: Iterable[int]) -> bool:
    """Whether f32 is enough for real inputs of so many bytes a number: there is one, and none has more."""
    return 0 < max(sizes, default=0) <= 4


def returned(found: Any) -> tuple[Any, ...]:
    """The results of a function that returns one, or a tuple of several."""
    return found if isinstance(found, tuple) else (found,)


def callable_anywhere(function: Function) -> Function:
    """A kernel of Taichi as one that may be called from any thread; another function as it is.

    It is a copy: the caller may have compiled the kernel already, with f32 for the floats in its code.
    """
    if not getattr(function, "_is_wrapped_kernel", False):
        return function
    return Kernel(own_copy(function), literals_as_arrays=True)


State = tuple[NDArray[Any], ...]


def repeated(
    operator: Operator, n: int, *, each: Sequence[str] = (), memory: int | None = None, name: str = ""
) -> Operator:
    """The operator after n steps, each from the outputs of the one before; see the module's docstring.

    The result is an operator on the host, for NumPy, PyTorch and JAX, with the same inputs and outputs. Its
    gradient runs the steps once more, keeps `memory` states (by default about √(2n)), and computes the others
    again: see `laserpath.base.compute.checkpointing`.  each: inputs of which step k takes the part [k].
    name: by default the operator's with `_repeated`. Raises InputError for an operator whose outputs cannot
    be its next inputs.
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
