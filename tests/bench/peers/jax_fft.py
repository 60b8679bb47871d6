"""JAX: cubic B-splines by `at[].add`, `rfft2`, filter, `irfft2`; `jit` of `value_and_grad`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from problem import CONTRAST, CRITICAL_DOSE, Array, Problem, Result, spline_filter

from laserpath.types import Grid


class Peer:
    def __init__(self, task: Problem, grid: Grid, device: str) -> None:
        self._shape, self._pitch = grid.shape, grid.pitch
        self._filter = jnp.asarray(spline_filter(task, grid), jnp.float32)
        self._target = jnp.asarray(task.target(grid))
        self._jitted = jax.jit(self._dose)
        self._gradient = jax.jit(jax.value_and_grad(self._loss, argnums=(0, 1)))

    def dose(self, xy: Array, energy: Array) -> Array:
        return np.asarray(self._jitted(*_arrays(xy, energy), self._filter))

    def __call__(self, xy: Array, energy: Array) -> Result:
        loss, slopes = self._gradient(*_arrays(xy, energy), self._filter, self._target)
        return float(loss), *(np.asarray(one) for one in slopes)

    def _loss(self, xy: jax.Array, energy: jax.Array, spectrum: jax.Array, target: jax.Array) -> jax.Array:
        cured = jax.nn.sigmoid(CONTRAST * (self._dose(xy, energy, spectrum) / CRITICAL_DOSE - 1))
        return jnp.mean((cured - target) ** 2)

    def _dose(self, xy: jax.Array, energy: jax.Array, spectrum: jax.Array) -> jax.Array:
        place = xy / self._pitch - 0.5
        first = jnp.floor(place)
        weights = _cubic(place - jax.lax.stop_gradient(first))
        tap = first.astype(jnp.int32)[:, :, None] + jnp.arange(-1, 3)
        parts = (energy[:, None] * weights[:, 1])[:, :, None] * weights[:, 0, None, :]
        canvas = jnp.zeros(self._shape).at[tap[:, 1, :, None], tap[:, 0, None, :]].add(parts)
        return jnp.fft.irfft2(jnp.fft.rfft2(canvas) * spectrum, s=self._shape)


def _arrays(*arrays: Array) -> list[jax.Array]:
    return [jnp.asarray(one, jnp.float32) for one in arrays]


def _cubic(t: jax.Array) -> jax.Array:
    """(M, 2) fractions → (M, 2, 4) weights of the cubic B-spline."""
    s = 1 - t
    return jnp.stack([s**3, 4 - 6 * t**2 + 3 * t**3, 4 - 6 * s**2 + 3 * s**3, t**3], axis=-1) / 6
