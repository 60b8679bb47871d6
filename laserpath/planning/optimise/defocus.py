"""The loss out of focus: the same moves, at the same power and speed, through a spot w times as wide.

    B = w_b L(D_w),   D_w(x) = Σ_k r q_k ∫ h(x − γ_k(s); w·FWHM) ds,   r = E_N(w·FWHM)/E_N(FWHM),

where L is the area term of `objective` at all its doses. r is 1 for one-photon absorption and w^(2−2N) for N
photons, because the wider spot is less intense. `measure.window` reports the same widths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.dose import DoseModel, PathGradient
from laserpath.planning.optimise.objective import Objective
from laserpath.types import Spot

BLUR_WEIGHT = 0.3
"""w_b, weight of the loss out of focus, relative to that in focus: a larger value tolerates more defocus and
costs accuracy in focus."""


@dataclass(frozen=True, slots=True)
class DefocusTerm:
    """B and its gradient. model: dose of the wider spot.  objective: L.  strength: r.  weight: w_b."""

    model: DoseModel
    objective: Objective
    strength: float
    weight: float

    @classmethod
    def of(cls, width: float, objective: Objective, spot: Spot, weight: float = BLUR_WEIGHT) -> DefocusTerm:
        """The term for a spot `width` times as wide as `spot`; the objective's edge term is left out."""
        wide = optics.widened(spot, width)
        return cls(
            model=DoseModel(objective.target.grid, wide),
            objective=replace(objective, edge=None, edge_weight=0.0),
            strength=optics.power_integral(wide) / optics.power_integral(spot),
            weight=weight,
        )

    def __call__(self, xy: Floats, line_energy: Floats, contrast: float) -> tuple[float, PathGradient]:
        """(B, ∂B/∂(xy, line energy)) of the polyline xy (N+1, 2) mm; line_energy: (N,), in focus."""
        energy = self.strength * line_energy
        points = self.model.points(xy, energy)
        loss, slope = self.objective.at_contrast(contrast)(self.model.spread(points))
        gradient = self.model.pull(points, slope, xy, energy)
        per_line = self.weight * self.strength * gradient.line_energy
        return self.weight * loss, PathGradient(self.weight * gradient.xy, per_line)
