"""Adjoints that Taichi derives from a kernel, where they are right; and the check of any adjoint.

Taichi 1.7 derives an adjoint for kernels on ndarrays, and is silently wrong if a local variable is carried
over an inner loop at run time, or an element is read and then overwritten. So a derived adjoint is compared
with differences before it is given out.

What is to be known of `kernel.grad`, and is kept from the caller here: it takes the derivatives from the
arrays' own `grad`, it adds to those of the inputs, and it sets those of the outputs to zero; it may read the
outputs, so these are computed again first.

**Check**, against central differences on an example. With random g = ∂L/∂y, element by element: ∂L/∂x_e ≈ Σ g
· [f(x + h e) − f(x − h e)] / 2h. Truncation grows as h², rounding as ε/h, so h = ε^⅓ · max(1, |x_e|).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base.arrays import Floats
from laserpath.base.compute.runtime import REAL, Kernel, own_copy, ti
from laserpath.base.errors import InputError
from laserpath.operators.record import Operator, Shape, returned

TOLERANCE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-2}
"""Largest deviation, relative to an input's largest derivative. A larger one lets wrong adjoints pass; a
smaller one refuses right ones for their rounding."""

MOST = 100
"""Elements of an input that are tried; of a larger one as many are drawn at random. More take longer."""


def check(operator: Operator, example: Sequence[ArrayLike], *, adjoint: str = "its adjoint") -> None:
    """Raise InputError if the operator is not pure, or its adjoint differs from central differences.

    example: small inputs, in f64 if the kernels can. It should reach every branch, and every loop at least
    three times: an adjoint may be right for one pass and wrong for more.
    """
    rng = np.random.default_rng(0)
    inputs = [array.copy() for array in operator.prepared(example)]
    before = [one.copy() for one in inputs]
    value = returned(operator(*inputs))
    slopes = [rng.normal(size=one.shape).astype(one.dtype) for one in value]
    before += [one.copy() for one in slopes]
    gradients = iter(operator.gradient(inputs, slopes))
    names = [*operator.inputs, *(f"∂L/∂{name}" for name in operator.outputs)]
    for name, one, other in zip(names, (*inputs, *slopes), before, strict=True):
        if not np.array_equal(one, other, equal_nan=True):
            raise InputError(f"operator {operator.name} writes into {name}, which it may only read")
    for number, differentiated in enumerate(operator.differentiated):
        if differentiated:
            _compare(operator, inputs, slopes, number, next(gradients), adjoint)


def _compare(
    operator: Operator,
    inputs: list[NDArray[Any]],
    slopes: Sequence[Floats],
    number: int,
    gradient: Floats,
    adjoint: str,
) -> None:
    """Raise InputError if the derivative by one input is not that of differences."""
    of, precision = inputs[number], gradient.dtype
    chosen = np.random.default_rng(1).permutation(of.size)[:MOST]
    expected = np.array([_difference(operator, inputs, slopes, number, int(at)) for at in chosen])
    found = gradient.reshape(-1)[chosen].astype(float)
    allowed = TOLERANCE[precision] * np.abs([*found, *expected]).max(initial=0.0)
    # A comparison with nan is false.
    wrong = np.flatnonzero(~(np.abs(found - expected) <= allowed))
    if len(wrong):
        at = np.unravel_index(chosen[wrong[0]], of.shape)
        place = f"{operator.inputs[number]}[{', '.join(map(str, at))}]"
        raise InputError(
            f"operator {operator.name}: {adjoint} is wrong; by {place} it is {found[wrong[0]]:.6g}, "
            f"but differences give {expected[wrong[0]]:.6g}"
        )


def _difference(
    operator: Operator, inputs: list[NDArray[Any]], slopes: Sequence[Floats], number: int, at: int
) -> float:
    """∂L/∂x by one element of one input."""
    values = inputs[number].reshape(-1)  # a view
    middle = values[at]
    step = np.cbrt(np.finfo(values.dtype).eps) * max(1.0, abs(float(middle)))
    loss, places = [], []
    for sign in (1, -1):
        values[at] = middle + sign * step
        places.append(float(values[at]))
        found = returned(operator(*inputs))
        loss.append(sum(float(np.vdot(g.astype(float), y)) for g, y in zip(slopes, found, strict=True)))
    values[at] = middle
    return (loss[0] - loss[1]) / (places[0] - places[1])


def derived(
    name: str,
    forward: Callable[..., None],
    *,
    inputs: tuple[str, ...],
    outputs: Mapping[str, Callable[..., Shape]],
    example: Sequence[ArrayLike],
    constants: tuple[str, ...] = (),
) -> Operator:
    """An operator whose adjoint is the one that Taichi derives from its kernel `forward`.

    example: small inputs, on which that adjoint is compared with central differences; see `check`. Raises
    InputError if they differ: then write the adjoint by hand. Its cost: a run of the forward kernel; and for
    NumPy and JAX a copy of each array. Tensors of PyTorch are not copied, except the outputs' derivatives.
    """
    if not getattr(forward, "_is_wrapped_kernel", False):
        raise InputError(f"operator {name} has no kernel of Taichi to derive an adjoint from; use @ti.kernel")
    differentiated = tuple(one not in constants for one in inputs)
    adjoint = Kernel(DerivedAdjoint(own_copy(forward), differentiated), literals_as_arrays=True)
    operator = Operator(name, forward, adjoint, inputs, outputs, constants)
    check(operator, example, adjoint="the adjoint that Taichi derives")
    return operator


@dataclass(frozen=True)
class DerivedAdjoint:
    """`kernel.grad` as a function of arrays, NumPy's or PyTorch's: (*x, *∂L/∂y, *∂L/∂x) writes the last."""

    kernel: Any
    differentiated: tuple[bool, ...]

    def __call__(self, *arrays: Any) -> None:
        """Not from any thread: Taichi must have compiled all that is called here."""
        n, written = len(self.differentiated), sum(self.differentiated)
        inputs, slopes, found = arrays[:n], arrays[n : len(arrays) - written], arrays[len(arrays) - written :]
        of_torch = hasattr(arrays[0], "requires_grad_")
        with_grad = _tensor if of_torch else _ndarray
        gradients = iter(found)
        given = [
            with_grad(x, next(gradients)) if has else x
            for x, has in zip(inputs, self.differentiated, strict=True)
        ]
        # Fresh outputs, and copies of their derivatives, which Taichi sets to zero.
        results = [with_grad(0 * slope, 1 * slope) for slope in slopes]
        self.kernel(*given, *results)
        self.kernel.grad(*given, *results)
        if of_torch:
            return
        kept = [x for x, has in zip(given, self.differentiated, strict=True) if has]
        for one, into in zip(kept, found, strict=True):
            if into.size:
                into[...] = one.grad.to_numpy()


def _tensor(values: Any, gradient: Any) -> Any:
    """A tensor of the same memory, whose `grad` is the memory of another."""
    tensor = values.detach().requires_grad_()
    tensor.grad = gradient
    return tensor


def _ndarray(values: Any, gradient: Any) -> Any:
    """A copy for Taichi, with a place for derivatives. Taichi has no empty one: NumPy's stands for it."""
    values = np.asarray(values)  # a scalar, where NumPy made one
    if not values.size:
        return values
    array = ti.ndarray(REAL[f"f{8 * values.dtype.itemsize}"], values.shape, needs_grad=True)
    array.from_numpy(values)
    array.grad.from_numpy(np.asarray(gradient))
    return array
