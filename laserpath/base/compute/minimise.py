"""Minimisation by L-BFGS (Liu and Nocedal 1989; SciPy's L-BFGS-B, with bounds), which its user may stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from laserpath.base.arrays import Floats
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
