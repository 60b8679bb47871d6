"""Minimisation by L-BFGS (Liu and Nocedal 1989), which its user may stop.

`minimised` is SciPy's L-BFGS-B. It takes bounds as lists: among 200,000 numbers a search spends more time on
these than on the loss. For many numbers between the same two limits there is `minimised_between`, a projected
L-BFGS (Bertsekas, *SIAM J. Control Optim.* 20, 221, 1982): a step is taken among the numbers that the slope
does not hold at a limit, and what would leave the limits stays at them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from laserpath.base.arrays import Bools, Floats
from laserpath.base.compute.beside import one_blas_thread
from laserpath.base.errors import one_line

Bounds = Sequence[tuple[float | None, float | None]]
"""The least and the largest of each number; None: any."""


@dataclass(frozen=True, slots=True, eq=False)
class Minimum:
    """x: (n,) the numbers of the last iteration.  losses: after each iteration.

    converged: False if the allowed evaluations or iterations are used up.  stopped: by the user.
    """

    x: Floats
    losses: list[float]
    converged: bool
    stopped: bool

    __repr__ = one_line


_MEMORY = 10
"""Steps that describe the curvature: more describe it better, and take memory."""
_SUFFICIENT = 1e-4
"""Share of the gain that the slope promises, from which a step is taken (Armijo)."""
_HALVINGS = 20


class _Enough(Exception):
    """All allowed evaluations are used up."""


def minimised(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    options: dict[str, Any],
    *,
    bounds: Bounds | None = None,
    evaluations: int | None = None,
    report: Callable[[int, float], None] | None = None,
) -> Minimum:
    """The minimum of a loss near the start (n,).

    loss: of the numbers, with its gradient.  options: those of SciPy.  evaluations: the most, in the midst of
    a line search too, which SciPy would finish first.
    report: called with iteration and loss. A StopIteration from it is convergence; a KeyboardInterrupt, from
    it or from the user, ends the search.
    """
    latest, losses, count = start, [], 0

    def counted(x: Floats) -> tuple[float, Floats]:
        nonlocal count
        if count == evaluations:
            raise _Enough
        count += 1
        return loss(x)

    def note(intermediate_result: OptimizeResult) -> None:
        nonlocal latest
        latest = np.array(intermediate_result.x)
        losses.append(float(intermediate_result.fun))
        if report is not None:
            report(len(losses), losses[-1])

    try:
        # The vectors are too short for threads: if another program uses a core, waiting for threads takes
        # eight times as long as the whole descent.
        with one_blas_thread():
            result = minimize(
                counted, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=note, options=options
            )
    except _Enough:
        return Minimum(latest, losses, converged=False, stopped=False)
    except KeyboardInterrupt:
        return Minimum(latest, losses, converged=False, stopped=True)
    return Minimum(latest, losses, converged=bool(result.status != 1), stopped=False)  # 1: a limit


def minimised_between(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    limits: tuple[float, float],
    *,
    iterations: int,
    gain: float,
) -> Minimum:
    """The minimum of a loss near the start (n,), all numbers between the same two limits.

    loss: of the numbers, with its gradient.  iterations: the most.  gain: of the loss in an iteration,
    relative to it, from which on the search goes on.
    """
    low, high = limits
    x = np.clip(start, low, high)
    value, slope = loss(x)
    losses: list[float] = []
    steps: deque[tuple[Floats, Floats]] = deque(maxlen=_MEMORY)
    for _ in range(iterations):
        free = ~(((x <= low) & (slope >= 0)) | ((x >= high) & (slope <= 0)))
        taken = _step(loss, (x, value, slope), _direction(slope, free, steps), limits)
        if taken is None and steps:
            steps.clear()  # the curvature misleads: down the slope itself
            taken = _step(loss, (x, value, slope), _direction(slope, free, steps), limits)
        if taken is None:
            return Minimum(x, losses, converged=True, stopped=False)
        new, new_value, new_slope = taken
        steps.append((new - x, new_slope - slope))
        small = value - new_value <= gain * abs(value)
        x, value, slope = taken
        losses.append(value)
        if small:
            return Minimum(x, losses, converged=True, stopped=False)
    return Minimum(x, losses, converged=False, stopped=False)


def _direction(slope: Floats, free: Bools, steps: Sequence[tuple[Floats, Floats]]) -> Floats:
    """(n,) the step of L-BFGS among the numbers that are free, and 0 for the others.

    steps: latest changes of the numbers and of the slope.  Without any, the slope, such that no number
    changes by more than 1.
    """
    found = np.where(free, -slope, 0.0)
    used, scale = [], 0.0
    for moved, bent in steps:
        moved, bent = moved * free, bent * free
        curvature, size = float(moved @ bent), float(bent @ bent)
        if curvature > 1e-10 * size:
            used.append((moved, bent, curvature))
            scale = curvature / size
    if not used:
        return found / max(float(np.abs(found).max(initial=0.0)), 1e-300)
    shares = []
    for moved, bent, curvature in reversed(used):
        shares.append(float(moved @ found) / curvature)
        found -= shares[-1] * bent
    found *= scale
    for (moved, bent, curvature), share in zip(used, reversed(shares), strict=True):
        found += (share - float(bent @ found) / curvature) * moved
    return np.where(free, found, 0.0)


_Place = tuple[Floats, float, Floats]
"""The numbers, their loss and its slope."""


def _step(
    loss: Callable[[Floats], tuple[float, Floats]], at: _Place, along: Floats, limits: tuple[float, float]
) -> _Place | None:
    """The place after a step along a direction, shortened until it gains enough; None if none does."""
    x, value, slope = at
    if not float(slope @ along) < 0:
        return None
    length = 1.0
    for _ in range(_HALVINGS):
        new = np.clip(x + length * along, *limits)
        promised = float(slope @ (new - x))
        if not promised < 0:
            return None
        new_value, new_slope = loss(new)
        if new_value <= value + _SUFFICIENT * promised:
            return new, new_value, new_slope
        # To the minimum of the parabola through both values and the slope at the first.
        best = -promised / (2 * (new_value - value - promised))
        length *= min(max(best, 0.1), 0.5)
    return None
