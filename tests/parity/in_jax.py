"""The discretisation in plain JAX, float64; gradients by JAX's reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from discretisation import Canvas, Cuts, Discretisation

from laserpath.base.arrays import Floats

jax.config.update("jax_enable_x64", True)


def splat(canvas: Canvas, xy: jax.Array, energy: jax.Array) -> jax.Array:
    """Points (M, 2) mm of energy (M,) mJ on a canvas, with a scattered add."""
    taps = jnp.arange(canvas.order) - canvas.order // 2 + 1
    u, v = (xy - jnp.array(canvas.origin)).T / jnp.array(canvas.pitch)[:, None]
    j, i = (jnp.floor(one).astype(int)[:, None] + taps for one in (u, v))
    along, across = (canvas.weight(jnp, at - one[:, None]) for at, one in ((j, u), (i, v)))
    parts = jnp.einsum("p,pi,pj->pij", energy, across, along)
    return jnp.zeros(canvas.shape).at[i[:, :, None], j[:, None, :]].add(parts)


def spread(how: Discretisation, xy: jax.Array, energy: jax.Array) -> jax.Array:
    """Dose (rows, columns) of points (M, 2) mm of energy (M,) mJ."""
    # More points, without energy, since JAX compiles anew for every number of points.
    more = -len(energy) % 1024
    spare = jnp.broadcast_to(jnp.array(how.corner), (more, 2))
    return _spread(how, jnp.concatenate([xy, spare]), jnp.pad(energy, (0, more)))


@partial(jax.jit, static_argnums=0)
def _spread(how: Discretisation, xy: jax.Array, energy: jax.Array) -> jax.Array:
    columns = how.modes[1] + 1
    spectrum = jnp.fft.rfft2(splat(how.canvas, xy, energy))
    kept = spectrum[how.rows(how.canvas.shape[0]), :columns] * how.filter
    fine = jnp.zeros((how.fine[0], how.fine[1] // 2 + 1), kept.dtype)
    fine = fine.at[how.rows(how.fine[0]), :columns].set(kept)
    dose = jnp.fft.irfft2(fine, s=how.fine)[how.crop]
    if how.tail is None:
        return dose
    tail, (n, m) = how.tail, how.tail.canvas.shape
    nodes = jnp.fft.rfft2(splat(tail.canvas, xy, energy), s=tail.wide) * tail.transfer
    return dose - tail.rows @ jnp.fft.irfft2(nodes, s=tail.wide)[:n, :m] @ tail.columns.T


def dose(how: Discretisation, xy: jax.Array, power: jax.Array, speed: jax.Array, cuts: Cuts) -> jax.Array:
    """Dose of moves between the vertices xy: (N+1, 2) mm, power (N,) mW, speed (N,) mm/s."""
    start, end = xy[cuts.segment], xy[cuts.segment + 1]
    points = start + cuts.fraction[:, None] * (end - start)
    length = jnp.sqrt(jnp.sum((end - start) ** 2, axis=1))
    return spread(how, points, (power / speed)[cuts.segment] * length * cuts.share)


def cuts_of(how: Discretisation, xy: Floats, power: Floats, speed: Floats) -> Cuts:
    """The Gauss points, from numbers and outside what is differentiated; more of no energy as in `spread`."""
    cuts = how.cuts(np.hypot(*np.diff(xy, axis=0).T), power / speed)
    more = -len(cuts.share) % 1024
    return Cuts(
        np.concatenate([cuts.segment, np.repeat(cuts.segment[:1], more)]),
        np.concatenate([cuts.fraction, np.repeat(cuts.fraction[:1], more)]),
        np.concatenate([cuts.share, np.repeat(0 * cuts.share[:1], more)]),
    )


def pull(
    function: Callable[..., jax.Array], arguments: tuple[Floats, ...], d_dose: Floats
) -> tuple[Floats, tuple[Floats, ...]]:
    """The dose, and ∂L/∂arguments from ∂L/∂D."""
    found, back = jax.vjp(function, *map(jnp.asarray, arguments))
    return np.asarray(found), tuple(np.asarray(one) for one in back(jnp.asarray(d_dose)))
