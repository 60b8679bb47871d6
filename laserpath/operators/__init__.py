"""Differentiable parts that are of use without a plan, and how a kernel becomes an operator.

`Operator`, `derived` and `repeated` make kernels with their adjoints operators of NumPy, PyTorch and JAX.
Of that kind are `dose` and `kinetics` (what they compute is in `physics`), `strokes`, a painter and strokes
whose doses add up, and `volume`, a ray marcher and the depth to which a path cures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laserpath.operators.derived import check, derived
from laserpath.operators.record import Operator, repeated

__all__ = ["Operator", "check", "derived", "jax_function", "repeated", "torch_function"]


def torch_function(operator: Operator) -> Callable[..., Any]:
    """The operator as a function of tensors, registered in `torch.library` under its name.

    It returns a tensor, or a tuple of several, on the inputs' device and in their widest floating dtype, and
    it can be differentiated once: a second derivative is refused. `torch.compile(fullgraph=True)` takes it
    without a break, as one node of the graph. Keep the function as long as a compiled one uses it.

    Contiguous f32 and f64 tensors on the CPU are read and written where they are; so are those on a GPU if
    Taichi runs there (`laserpath.base.compute.runtime.start("cuda")`) and the operator is not `on_host`. Else
    they are copied: strided ones, those of another dtype, those on another device.
    """
    from laserpath.operators.torch import function

    return function(operator)


def jax_function(operator: Operator) -> Callable[..., Any]:
    """The operator as a function of JAX arrays, with a `custom_vjp`; under `jit` too.

    It returns an array, or a tuple of several, in the inputs' widest floating dtype: f64 where JAX has
    `jax_enable_x64`. `vmap` calls it once for each element. A second derivative is refused, and so is forward
    mode. JAX copies what goes into the call and what comes out, once each; from and to a GPU if need be.
    An InputError in a call arrives as JAX's own error, with the sentence in it.
    """
    from laserpath.operators.jax import function

    return function(operator)
