"""An operator's adjoint against central differences, on an example.

With random g = ∂L/∂y, element by element: ∂L/∂x_e ≈ Σ g · [f(x + h e) − f(x − h e)] / 2h. Truncation grows
as h², rounding as ε/h, so h = ε^⅓ · max(1, |x_e|).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.operators.record import Operator, returned

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
