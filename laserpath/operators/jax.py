"""Operators in JAX, by `jax.pure_callback` with a `custom_vjp`.

Why not by JAX's foreign functions (`jax.ffi`): they need a library compiled against jaxlib's headers, for
each system, and it would call Taichi's kernels through Python again. A callback is Python alone, and costs
half a millisecond and one copy of each input and output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laserpath.operators.record import returned

if __name__ == "jax":  # a script's own folder comes first in Python's search path
    raise ImportError("this is laserpath/operators/jax.py, not JAX: start Python in another folder")
try:
    import jax
    import jax.numpy as jnp
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
        found = differentiable(*reals)
        return found if len(found) > 1 else found[0]

    return call


def _differentiable(operator: Operator) -> Callable[..., tuple[Any, ...]]:
    """Forward with its `custom_vjp`, whose adjoint has one that refuses."""

    @jax.custom_vjp
    def forward(*inputs: Any) -> Any:
        dtype, shapes = _dtype(inputs), operator.shapes(*(one.shape for one in inputs))
        return _called(operator, _values, [jax.ShapeDtypeStruct(one, dtype) for one in shapes], inputs)

    @jax.custom_vjp
    def adjoint(*read: Any) -> Any:
        pairs = zip(read, operator.differentiated)  # noqa: B905  # behind the inputs come the slopes
        like = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one, has in pairs if has]
        return _called(operator, _gradients, like, read)

    def pull(inputs: tuple[Any, ...], above: tuple[Any, ...]) -> tuple[Any, ...]:
        found = iter(adjoint(*inputs, *above))
        return tuple(next(found) if has else None for has in operator.differentiated)

    def refuse(*_: Any) -> Any:
        raise RuntimeError(
            f"{operator.name} has no second derivative, so its gradient cannot be differentiated"
        )

    # JAX differentiates the first of these, too, if it is asked for a second derivative.
    forward.defvjp(lambda *inputs: (forward(*inputs), inputs), pull)
    adjoint.defvjp(refuse, refuse)
    return forward


def _called(operator: Operator, function: Callable[..., Any], results: list[Any], arrays: Any) -> Any:
    return jax.pure_callback(
        lambda *given: function(operator, given, results), tuple(results), *arrays, vmap_method="sequential"
    )


def _values(operator: Operator, inputs: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
    found = returned(operator(*_arrays(inputs)))
    return tuple(np.asarray(one, like.dtype) for one, like in zip(found, results, strict=True))


def _gradients(operator: Operator, read: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
    n = len(operator.inputs)
    arrays = _arrays(read)
    found = operator.gradient(arrays[:n], arrays[n:])
    return tuple(np.asarray(one, like.dtype) for one, like in zip(found, results, strict=True))


def _arrays(given: Sequence[Any]) -> list[Any]:
    """Views of the arrays; bfloat16, which NumPy does not have, as float32."""
    arrays = [np.asarray(one) for one in given]
    return [one.astype(np.float32) if one.dtype.name == "bfloat16" else one for one in arrays]


def _dtype(arrays: Sequence[Any]) -> Any:
    """The widest floating dtype of the arrays; JAX's default if none is floating."""
    floating = [one.dtype for one in arrays if jnp.issubdtype(one.dtype, jnp.floating)]
    return jnp.result_type(*floating) if floating else jnp.zeros(0).dtype
