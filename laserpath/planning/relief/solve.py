"""The line energies q ≥ 0 whose dose is nearest to the target: least squares, by L-BFGS-B with bounds.

    dose:    r = D − D_target
    height:  r = h(D) − h_target,  h(D) = D_p ln(D/E_c) above E_c, D_p (D/E_c − 1) below, so that a dose too
             low to cure has a slope as well; where the target height is 0, r = max(h(D), 0)

    L = ½ mean r²,   ∂L/∂q by the adjoint of the dose (`dose.model`)

D is linear in q, so L is convex if the target is a dose. L-BFGS-B: Byrd and others, SIAM J. Sci. Comput. 16,
1190, 1995.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.compute.minimise import minimised
from laserpath.physics.dose import DoseModel
from laserpath.planning.relief.layout import ReliefLayout

_GAIN = 1e-7
"""Relative gain of the loss in one iteration below which L-BFGS-B stops: a larger value stops earlier."""

_FAINT = 1e-12
"""Smallest line energy, in units of the largest initial one: at 0 a move would have no gradient."""


@dataclass(frozen=True, slots=True, eq=False)
class ReliefSolution:
    """energy: (N,) mJ/mm.  loss: one value for each iteration.  stopped: by the user, before convergence."""

    energy: Floats
    loss: Floats
    stopped: bool


def solve(layout: ReliefLayout, progress: Callable[[int, float], None]) -> ReliefSolution:
    """The line energies of a relief's raster whose dose is nearest to the target.

    progress: called with the number and the loss of each iteration. A KeyboardInterrupt ends the search with
    the latest energies; after a fit of strokes that the user has stopped there is none.
    """
    if layout.stopped:
        return ReliefSolution(layout.start, np.zeros(0), stopped=True)
    problem = _Problem.of(layout)
    bounds = [(0.0, layout.energy_max / problem.unit)] * int(layout.lit.sum())
    options = {"maxiter": layout.settings.iterations, "ftol": _GAIN, "gtol": 0.0}
    start = layout.start[layout.lit] / problem.unit
    found = minimised(problem.loss, start, options, bounds=bounds, report=progress)
    return ReliefSolution(problem.energy(found.x), np.array(found.losses), found.stopped)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """L as a function of the energies of the M lit moves, both scaled to about 1, as L-BFGS-B expects.

    unit: mJ/mm, of the energies.  scale: root mean square of the residual without light, divided by √2.
    """

    layout: ReliefLayout
    model: DoseModel
    unit: float
    scale: float

    @classmethod
    def of(cls, layout: ReliefLayout) -> _Problem:
        dark, _ = layout.target.residual(np.zeros(layout.grid.shape))
        return cls(
            layout,
            DoseModel(layout.grid, layout.process.spot),
            unit=max(float(layout.start.max()), 1e-30),
            scale=max(float(np.sqrt(0.5 * np.mean(dark**2))), 1e-30),
        )

    def energy(self, scaled: Floats) -> Floats:
        """(N,) mJ/mm, the line energies of all moves. scaled: (M,) those of the lit moves, in `unit`."""
        energy = np.zeros(len(self.layout.lit))
        energy[self.layout.lit] = scaled * self.unit
        return energy

    def loss(self, scaled: Floats) -> tuple[float, Floats]:
        """L and its gradient (M,)."""
        xy, lit, energy = self.layout.xy, self.layout.lit, self.energy(scaled)
        error, slope = self.layout.target.residual(self.model.line_dose(xy, energy))
        error = error / self.scale
        gradient = self.model.line_gradient(
            xy, np.maximum(energy, _FAINT * self.unit * lit), error * slope / self.scale / error.size
        )
        return 0.5 * float(np.mean(error**2)), gradient.line_energy[lit] * self.unit
