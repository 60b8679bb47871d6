"""The penalty on light above the largest acceptable dose, for a loss that is not of the dose.

    O = 32 p²/(P·F) Σ_pixels max(0, D/D_c − u_max)²,

as in `objective`, which has it where the loss is of the dose itself. Of a resin with kinetics the loss is of
the conversion, which is never too high, but too much light burns and scatters in it as in any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.dose import DoseModel, PathGradient
from laserpath.planning.optimise.objective import OVER_DOSE_SHARE, OVER_DOSE_WEIGHT


@dataclass(frozen=True, slots=True)
class OverDoseTerm:
    """O and its gradient. model: D.  limit: u_max D_c, mJ/mm².  scale: 32 p²/(P·F D_c²)."""

    model: DoseModel
    limit: float
    scale: float

    @classmethod
    def of(cls, scene: Scene) -> OverDoseTerm:
        """The term of a scene's resin, on its grid."""
        critical, unit = scene.critical_dose, scene.design.area.length * scene.fwhm
        return cls(
            model=DoseModel(scene.grid, scene.spot),
            limit=OVER_DOSE_SHARE * scene.resin.over_dose * critical,
            scale=OVER_DOSE_WEIGHT * scene.grid.pixel_area / unit / critical**2,
        )

    def __call__(self, xy: Floats, line_energy: Floats) -> tuple[float, PathGradient]:
        """(O, ∂O/∂(xy, line energy)) of the polyline xy (N+1, 2) mm; line_energy: (N,) mJ/mm."""
        points = self.model.points(xy, line_energy)
        over = np.maximum(self.model.spread(points) - self.limit, 0)
        loss = self.scale * float(np.vdot(over, over))
        return loss, self.model.pull(points, 2 * self.scale * over, xy, line_energy)
