"""Two descent methods on arrays: Adam to approach a minimum, and L-BFGS to converge to it.

Adam (Kingma and Ba 2015) takes steps of a given size whatever the slope, and so escapes poor starts and
small local minima. L-BFGS (Liu and Nocedal 1989; scipy's L-BFGS-B) estimates the curvature from the last
slopes. Near the minimum it needs a quarter of Adam's evaluations for the same loss, but it does not leave the
local minimum that it starts in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.compute.minimise import minimised

_BETA1, _BETA2 = 0.9, 0.99
_MEMORY = 20
"""Slopes that L-BFGS remembers: more describe the curvature better and cost memory."""

_WINDOW = 20
"""Iterations over which the gain is judged, as a single one gains little at a kink of the loss: a larger
value stops later."""

Slopes = Sequence[Floats]
"""Derivatives with respect to the displacements z (k, 2), mm, and the log energies u (m,)."""


class Adam:
    """Adam's state: displacements and log energies, which start at zero, with their first and second moments.

    rates: largest step of the displacements, mm, and of the log energies.
    """

    def __init__(self, sizes: tuple[int, int], rates: tuple[float, float]) -> None:
        k, m = sizes
        self.values: tuple[Floats, Floats] = (np.zeros((k, 2)), np.zeros(m))
        self._mean = [np.zeros_like(v) for v in self.values]
        self._square = [np.zeros_like(v) for v in self.values]
        self._rates = rates
        self._count = 0

    def step(self, slopes: Slopes, relative: float) -> None:
        """Take one step. relative: its size as a share of the largest step."""
        self._count += 1
        for value, mean, square, slope, rate in zip(
            self.values, self._mean, self._square, slopes, self._rates, strict=True
        ):
            mean += (1 - _BETA1) * (slope - mean)
            # x and y share a scale, so that a step keeps the direction of the gradient.
            size = (slope**2).sum(axis=1, keepdims=True) if slope.ndim == 2 else slope**2
            square += (1 - _BETA2) * (size - square)
            unbiased = np.sqrt(square / (1 - _BETA2**self._count)) + 1e-300
            value -= rate * relative * (mean / (1 - _BETA1**self._count)) / unbiased


def lbfgs(
    function: Callable[[Floats, Floats], tuple[float, Slopes]],
    units: tuple[Floats, Floats],
    evaluations: int,
    tolerance: float,
) -> bool:
    """Minimise function(z, u) from zero; return whether the descent ended by itself, as in `downhill`.

    units: (k,) mm of displacement and (m,) changes of log energy that count alike.
    """
    k = len(units[0])
    scale = np.concatenate([np.repeat(units[0], 2), units[1]])

    def flat(x: Floats) -> tuple[float, Floats]:
        values = scale * x
        loss, (d_z, d_u) = function(values[: 2 * k].reshape(k, 2), values[2 * k :])
        return loss, scale * np.concatenate([d_z.ravel(), d_u])

    return downhill(flat, np.zeros(len(scale)), evaluations, tolerance)


def downhill(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, evaluations: int, tolerance: float
) -> bool:
    """Minimise function(x) → (loss, ∂loss/∂x) by L-BFGS from `start` (n,); return whether it ended by itself.

    It ends by itself when the last 20 iterations gained less than `tolerance` of the loss, or when no step
    reduces the loss; otherwise after `evaluations`. The function has to record the best x itself.
    """
    first, losses = 0.0, []

    def scaled(x: Floats) -> tuple[float, Floats]:
        nonlocal first
        loss, slope = function(x)
        first = first or abs(loss) or 1.0  # scipy's own thresholds are for losses of about 1
        return loss / first, slope / first

    def watch(_: int, loss: float) -> None:
        losses.append(loss)
        if len(losses) > _WINDOW and losses[-1 - _WINDOW] - loss < tolerance * loss:
            raise StopIteration

    many = 2 * evaluations  # more than SciPy will need
    options = {"maxfun": many, "maxiter": many, "maxcor": _MEMORY, "ftol": 0.0, "gtol": 0.0}
    found = minimised(scaled, start, options, evaluations=evaluations, report=watch)
    if found.stopped:
        raise KeyboardInterrupt
    return found.converged
