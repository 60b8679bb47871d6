"""The line energies q ≥ 0 whose dose is what is wanted: least squares, by L-BFGS-B with bounds.

    dose:    r = D − W
    height:  r = h(D) − h_W,  h(D) = D_p ln(D/E_c) above E_c, D_p (D/E_c − 1) below, so that what is too
             faint to cure has a slope as well; where no height is wanted r = max(h(D), 0)

    L = ½ mean r²,   ∂L/∂q by the adjoint of the dose (`dose.model`)

D is linear in q, so L is convex for a dose. L-BFGS-B: Byrd and others, SIAM J. Sci. Comput. 16, 1190, 1995.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from laserpath.base.arrays import Bools, Floats
from laserpath.dose import DoseModel
from laserpath.types import Resin

_GAIN = 1e-7
_FAINT = 1e-12


@dataclass(frozen=True, slots=True)
class Residual:
    """What is wanted, on the dose's grid. dose: mJ/mm²; height: mm, or None where only the dose counts."""

    dose: Floats
    height: Floats | None
    resin: Resin

    def __call__(self, dose: Floats) -> tuple[Floats, Floats]:
        """The residual of a dose, and its slope, (rows, columns) each."""
        if self.height is None:
            return dose - self.dose, np.ones_like(dose)
        height, slope = self.depth(dose)
        bare = self.height <= 0
        wrong = np.where(bare, np.maximum(height, 0.0), height - self.height)
        return wrong, np.where(bare & (height <= 0), 0.0, slope)

    def depth(self, dose: Floats) -> tuple[Floats, Floats]:
        """h(D), and its slope."""
        e_c, d_p = self.resin.e_c or 1.0, self.resin.penetration_depth or 1.0
        above = np.maximum(dose, e_c)
        return d_p * (np.log(above / e_c) + np.minimum(dose / e_c - 1, 0.0)), d_p / above


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """energy: (N,) mJ/mm.  loss: of each iteration.  stopped: by the user, before it had converged."""

    energy: Floats
    loss: Floats
    stopped: bool


def solve(
    xy: Floats,
    lit: Bools,
    start: Floats,
    highest: float,
    model: DoseModel,
    residual: Residual,
    iterations: int,
    progress: Callable[[int, float], None],
) -> Solved:
    """The line energies of a path whose dose is nearest to what is wanted.

    xy: (N+1, 2) mm.  lit: (N,) which may shine.  start: (N,) to begin with.  highest: that the machine
    can give. A KeyboardInterrupt ends it with the latest.
    """
    unit = max(float(start.max()), 1e-30)
    # The loss is 1 where nothing is exposed: what L-BFGS-B stops by is meant for numbers of that size.
    scale = max(float(np.sqrt(0.5 * np.mean(residual(np.zeros(model.grid.shape))[0] ** 2))), 1e-30)
    losses: list[float] = []
    latest = start[lit] / unit

    def loss(scaled: Floats) -> tuple[float, Floats]:
        energy = np.zeros(len(lit))
        energy[lit] = scaled * unit
        wrong, slope = residual(model.line_dose(xy, energy))
        wrong = wrong / scale
        pull = model.line_gradient(
            xy, np.maximum(energy, 1e-12 * unit * lit), wrong * slope / scale / wrong.size
        )
        return 0.5 * float(np.mean(wrong**2)), pull.line_energy[lit] * unit

    def note(intermediate_result: object) -> None:
        nonlocal latest
        latest = np.array(intermediate_result.x)  # type: ignore[attr-defined]
        losses.append(float(intermediate_result.fun))  # type: ignore[attr-defined]
        progress(len(losses), losses[-1])

    stopped = False
    try:
        minimize(
            loss, latest, jac=True, method="L-BFGS-B", bounds=[(0.0, highest / unit)] * int(lit.sum()),
            callback=note, options={"maxiter": iterations, "ftol": _GAIN, "gtol": 0.0},
        )  # fmt: skip
    except KeyboardInterrupt:
        stopped = True
    energy = np.zeros(len(lit))
    energy[lit] = latest * unit
    return Solved(energy, np.array(losses), stopped)
