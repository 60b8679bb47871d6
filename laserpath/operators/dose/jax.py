"""The dose as a function of JAX: `jax.grad`, `jax.jit` and `jax.vmap` work on it.

    dose = dose_function(grid, spot);   D = dose(xy, power, speed)

xy: (N+1, 2) mm, power: (N,) mW, speed: (N,) mm/s, D: (rows, columns) mJ/mm², in the arrays' dtype: f32, or
f64 where JAX has `jax_enable_x64`. The engine computes in its own `precision`.

By `jax.pure_callback` with a `custom_vjp` (`laserpath.operators.jax` says why not by `jax.ffi`): the engine
runs on the host, `vmap` calls it once for each path, and a second derivative is refused. Bad input raises
JAX's own error, with the sentence in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laserpath.operators.dose import dose_operator
from laserpath.physics.dose.engines import TOLERANCE
from laserpath.physics.dose.model import DoseModel
from laserpath.types import Grid, Spot

if __name__ == "jax":  # a script's own folder comes first in Python's search path
    raise ImportError("this is laserpath/operators/dose/jax.py, not JAX: start Python in another folder")
from laserpath.operators import jax_function

__all__ = ["dose_function"]


def dose_function(
    grid: Grid,
    spot: Spot,
    *,
    method: str = "auto",
    device: str = "auto",
    precision: str = "f32",
    tolerance: float = TOLERANCE,
) -> Callable[..., Any]:
    """A function (xy, power, speed) → dose of JAX arrays. The options are those of `DoseModel`."""
    model = DoseModel(grid, spot, method=method, device=device, precision=precision, tolerance=tolerance)
    return jax_function(dose_operator(model))
