"""A minimisation by L-BFGS-B that its user may stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from laserpath.base.arrays import Floats


def minimised(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Sequence[tuple[float | None, float | None]],
    options: dict[str, Any],
    report: Callable[[int, float], None] | None = None,
) -> tuple[Floats, list[float], bool]:
    """(the last numbers, the loss after each iteration, whether the user stopped).

    loss: of the numbers, with its gradient.  bounds, options: those of `scipy.optimize.minimize`.
    report: called with iteration and loss; a KeyboardInterrupt, from it or from the user, ends the search.
    """
    latest, losses, stopped = start, [], False

    def note(intermediate_result: OptimizeResult) -> None:
        nonlocal latest
        latest = np.array(intermediate_result.x)
        losses.append(float(intermediate_result.fun))
        if report is not None:
            report(len(losses), losses[-1])

    try:
        minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=note, options=options)
    except KeyboardInterrupt:
        stopped = True
    return latest, losses, stopped
