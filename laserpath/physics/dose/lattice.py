"""Energies on pixels of the picture itself ↔ dose: no splat, and two small FFTs each way.

Energies e (rows, columns) at pixel centres are already a canvas, so that

    D = h ∗ e,   ∂L/∂e = h(−·) ∗ ∂L/∂D,

are one filter each, with the modes and the dark rim of `FftEngine`. What the periodic copies add (`tail`) is
at most some thousandths of the dose. It depends on where the light is only from afar, so it keeps the shape t
that it has for energies e⁰, and grows with the sum of all: D = h ∗ e + t Σe/Σe⁰.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.physics.dose.engines import Engine
from laserpath.physics.dose.fft import FftEngine


@dataclass(frozen=True, slots=True, eq=False)
class LatticeDose:
    """Dose of energies at chosen pixels. chosen: (rows, columns).  xy: (M, 2) mm, of these, row by row.

    far: (rows, columns) 1/mm², the dose of the copies to be added for each mJ; None: of an engine without
    copies.
    """

    engine: Engine
    chosen: Bools
    xy: Floats
    far: Floats | None = None

    @classmethod
    def of(cls, engine: Engine, chosen: Bools, energy: Floats) -> LatticeDose:
        """energy: (M,) mJ, about those to come, e⁰."""
        rows, columns = np.nonzero(chosen)
        grid = engine.grid
        xy = np.asarray(grid.origin) + grid.pitch * np.column_stack([columns, rows])
        far = engine.far_copies(xy, energy) if isinstance(engine, FftEngine) else None
        return cls(engine, chosen, xy, None if far is None else far / far.dtype.type(energy.sum()))

    def spread(self, energy: Floats) -> Floats:
        """Dose (rows, columns), mJ/mm², of energies (M,) mJ."""
        if not isinstance(self.engine, FftEngine):
            return self.engine.spread(self.xy, energy)
        canvas = np.zeros(self.chosen.shape, np.float32 if self.engine.precision == "f32" else np.float64)
        canvas[self.chosen] = energy
        dose = self.engine.convolved(canvas)
        if self.far is not None:
            dose += dose.dtype.type(energy.sum()) * self.far
        return dose

    def gather(self, d_dose: Floats) -> Floats:
        """∂L/∂energy (M,) from ∂L/∂D (rows, columns)."""
        if not isinstance(self.engine, FftEngine):
            return self.engine.gather(self.xy, np.zeros(len(self.xy)), d_dose)[0]
        d_energy = self.engine.convolved(d_dose, adjoint=True)[self.chosen].astype(np.float64)
        if self.far is not None:
            d_energy += float(np.vdot(self.far, d_dose))
        return d_energy
