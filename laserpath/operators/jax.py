"""Operators in JAX, by `jax.pure_callback` with a `custom_vjp`.

Why not by JAX's foreign functions (`jax.ffi`): they need a library compiled against jaxlib's headers, for
each system, and it would call Taichi's kernels through Python again. A callback is Python alone, and costs
half a millisecond and one copy of each input and output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from laserpath.operators.record import precision

if __name__ == "jax":  # a script's own folder comes first in Python's search path
    raise ImportError("this is laserpath/operators/jax.py, not JAX: start Python in another folder")
try:
    import jax
    import jax.numpy as jnp
    from jax.custom_derivatives import SymbolicZero
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "jax":
        raise
    raise ModuleNotFoundError(
        "laserpath.operators.jax needs JAX, which is not installed: pip install laserpath[jax]", name="jax"
    ) from error

if TYPE_CHECKING:
    from laserpath.operators.record import Operator

__all__ = ["function"]


def function(operator: Operator) -> Callable[..., Any]:
    """The operator as a function of JAX arrays: see `laserpath.operators.jax_function`."""
    differentiable = _differentiable(operator)

    def call(*inputs: Any) -> Any:
        arrays = [jnp.asarray(one) for one in inputs]
        operator.check_types(arrays)
        real = _dtype(arrays)
        # Whole numbers become real before JAX differentiates, which has derivatives of real ones only.
        reals = [
            one.astype(real) if has and not jnp.issubdtype(one.dtype, jnp.floating) else one
            for one, has in zip(arrays, operator.differentiated, strict=True)
        ]
        return operator.without_saved(differentiable(*reals))

    return call


def _differentiable(operator: Operator) -> Callable[..., tuple[Any, ...]]:
    """Forward, and what it saves, with its `custom_vjp`, whose adjoint has one that refuses."""
    m = len(operator.outputs)

    @jax.custom_vjp
    def forward(*inputs: Any) -> Any:
        dtype, shapes = _dtype(inputs), operator.shapes(*(one.shape for one in inputs))
        dtypes = [dtype] * m + [jnp.promote_types(dtype, np.float32)] * (len(shapes) - m)
        like = [jax.ShapeDtypeStruct(one, kind) for one, kind in zip(shapes, dtypes, strict=True)]
        return _called(operator, _values, like, inputs)

    def keep(*inputs: Any) -> Any:
        found = forward(*(one.value for one in inputs))
        # JAX takes a structure without arrays, () or None, as a constant: whether a derivative is wanted.
        asked = tuple(() if one.perturbed else None for one in inputs)
        return found, (tuple(one.value for one in inputs), found[m:], asked)

    def pull(kept: tuple[Any, ...], above: tuple[Any, ...]) -> tuple[Any, ...]:
        inputs, saved, asked = kept
        pairs = zip(asked, operator.differentiated, strict=True)
        wanted = tuple(one is not None for one, has in pairs if has)
        slopes = [
            jnp.zeros(one.shape, one.dtype) if isinstance(one, SymbolicZero) else one for one in above[:m]
        ]
        found, each = iter(_adjoint(operator, wanted)(*inputs, *saved, *slopes)), iter(wanted)
        return tuple(next(found) if has and next(each) else None for has in operator.differentiated)

    # JAX differentiates the first of these, too, if it is asked for a second derivative.
    forward.defvjp(keep, pull, symbolic_zeros=True)
    return forward


def _adjoint(operator: Operator, wanted: tuple[bool, ...]) -> Callable[..., tuple[Any, ...]]:
    """The derivatives that are wanted, of the inputs, what is saved, and the slopes."""

    @jax.custom_vjp
    def adjoint(*read: Any) -> Any:
        pairs = zip(read, operator.differentiated)  # noqa: B905  # behind the inputs comes the rest
        kept = [one for one, has in pairs if has]
        like = [
            jax.ShapeDtypeStruct(one.shape, one.dtype)
            for one, asked in zip(kept, wanted, strict=True)
            if asked
        ]
        return _called(operator, partial(_gradients, wanted=wanted), like, read)

    def refuse(*_: Any) -> Any:
        raise RuntimeError(
            f"{operator.name} has no second derivative, so its gradient cannot be differentiated"
        )

    adjoint.defvjp(refuse, refuse)
    return adjoint


def _called(operator: Operator, function: Callable[..., Any], results: list[Any], arrays: Any) -> Any:
    return jax.pure_callback(
        lambda *given: function(operator, given, results), tuple(results), *arrays, vmap_method="sequential"
    )


def _values(operator: Operator, inputs: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
    found = operator.all_of(_arrays(inputs))
    return tuple(np.asarray(one, like.dtype) for one, like in zip(found, results, strict=True))


def _gradients(
    operator: Operator, read: Sequence[Any], results: Sequence[Any], wanted: tuple[bool, ...]
) -> tuple[Any, ...]:
    n, m = len(operator.inputs), len(operator.outputs)
    inputs, rest = operator.prepared(arrays := _arrays(read)[:n]), _arrays(read)[n:]
    real = precision(operator.name, arrays)
    rest = [np.require(one, real, "C") for one in rest]
    found = operator.pulled(inputs, rest[:-m], rest[-m:], wanted)
    kept = [one for one, asked in zip(found, wanted, strict=True) if asked]
    return tuple(np.asarray(one, like.dtype) for one, like in zip(kept, results, strict=True))


def _arrays(given: Sequence[Any]) -> list[Any]:
    """Views of the arrays; bfloat16, which NumPy does not have, as float32."""
    arrays = [np.asarray(one) for one in given]
    return [one.astype(np.float32) if one.dtype.name == "bfloat16" else one for one in arrays]


def _dtype(arrays: Sequence[Any]) -> Any:
    """The widest floating dtype of the arrays; JAX's default if none is floating."""
    floating = [one.dtype for one in arrays if jnp.issubdtype(one.dtype, jnp.floating)]
    return jnp.result_type(*floating) if floating else jnp.zeros(0).dtype
