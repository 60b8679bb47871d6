"""Conversion of the resin after an exposure, through time, and its gradient by every point of light.

Time is cut into intervals (`interval`). Within one, each cell is on its own: points of light add radicals,
and the dark between them is one step (`kernels`, `reaction`). Before and after it oxygen diffuses and is
supplied for half of the interval (`OxygenSupply`), so that any interval is stable; one of a few per cent of
FWHM²/D is accurate. The far tail of an interval's light (`FarTail`) adds its radicals in two halves, at the
two ends of the interval; where they are fewer than 1e-12 of the oxygen at rest, they are left out. Only tiles
that light or radicals have reached are computed. For the gradient, the states between intervals are kept or
computed again: `compute.checkpointing`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from laserpath.base.arrays import Floats
from laserpath.base.checks import finite_array, number, on_cpu_only
from laserpath.base.compute.checkpointing import Checkpointed, checked_memory, checkpointed
from laserpath.base.compute.runtime import device
from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.dose.direct import radial_table
from laserpath.physics.kinetics.interval import FarTail, Intervals, Layer, OxygenSupply, Slope
from laserpath.physics.kinetics.light import Light, LightGradient
from laserpath.types import Grid, Kinetics, Spot

__all__ = ["Conversion", "KineticModel", "usual_interval"]

_TABLE_TOLERANCE = 1e-5
"""Part of the peak below which the table of the spot may end."""
_FARTHEST = (1.0, 1000.0)
"""Least and largest reach of the spot's table, in FWHM."""
_OF_DIFFUSION = 0.02
"""Longest interval that is chosen by itself, in FWHM²/D, the time in which oxygen crosses the spot."""
_OF_TERMINATION = 0.3
"""Longest interval that is chosen by itself, in lifetimes 1/(k₁ + k₂) of a radical where R = 1. The
conversion is then wrong by less than half a per cent where termination and inhibition compete."""
_LONGEST = 1.0
"""Longest interval that is chosen by itself, s."""


class Conversion:
    """What an exposure has made of the resin.

    conversion: (rows, columns), 0..1.  oxygen, radicals: (rows, columns), in units of the oxygen at rest.
    outside: the part of the spot's energy that is not simulated: what is beyond the model's reach, unless
    the spot falls as r^−3 there.
    """

    def __init__(self, intervals: Intervals, run: Checkpointed[Floats, Slope], outside: float) -> None:
        self._intervals, self._run = intervals, run
        rows = intervals.layer.grid.shape[0]
        self.radicals, self.oxygen, monomer = (run.final[n * rows : (n + 1) * rows] for n in range(3))
        self.conversion = 1 - monomer
        self.outside = outside

    def gradient(self, d_conversion: ArrayLike) -> LightGradient:
        """∂L/∂light from ∂L/∂conversion (rows, columns). Raises InputError unless that is finite."""
        layer = self._intervals.layer
        rows, columns = layer.grid.shape
        slope = finite_array(d_conversion, "d_conversion", (rows, columns), np.float64)
        d_state = np.zeros((3 * rows, columns))
        d_state[2 * rows :] = -slope
        points = self._run.gradient(Slope(d_state, np.zeros((self._intervals.points, 4)))).points
        return LightGradient(
            xy=points[:, 1:3] / layer.grid.pitch,
            energy=points[:, 0] / layer.kinetics.radical_dose,
            time=points[:, 3],
        )


class KineticModel:
    """Light → conversion on a grid, on the CPU.

    interval: s between two steps of diffusion; by default 0.02 FWHM²/D, at most 1 s and 0.3 of a radical's
    life.  farthest: reach of the spot itself, 1 to 1000 FWHM; beyond it, an Airy spot is its mean over the
    rings (`tail`), whose light counts as spread over its interval.  memory: states that are kept for the
    gradient; see `checkpointed`.  Raises InputError for a photographed spot, which has no profile over a
    radius.
    """

    def __init__(
        self,
        grid: Grid,
        spot: Spot,
        kinetics: Kinetics,
        *,
        interval: float | None = None,
        farthest: float = 4.0,
        memory: int | None = None,
    ) -> None:
        on_cpu_only("resins react", device())
        if not spot.round:
            raise InputError("the kinetic model has no photographed spot; give its FWHM and a profile")
        if interval is None:
            interval = usual_interval(spot, kinetics)
        number("interval", interval)
        if not 0 < interval < np.inf:
            raise InputError(f"interval is {interval:g} s, but must be finite and above 0 s")
        number("farthest", farthest)
        if not _FARTHEST[0] <= farthest <= _FARTHEST[1]:
            raise InputError(
                f"farthest is {farthest:g} FWHM, but must be between {_FARTHEST[0]:g} and {_FARTHEST[1]:g}"
            )
        self.grid, self.spot, self.kinetics, self.interval = grid, spot, kinetics, interval
        self.memory = checked_memory(memory)
        table = radial_table(grid, spot, _TABLE_TOLERANCE, farthest)
        tail = FarTail(grid, spot, table) if optics.tail(spot) else None
        self.outside = 0.0 if tail else table.outside
        self._layer = Layer(grid, kinetics, table, tail, OxygenSupply(grid, kinetics))

    def expose(self, light: Light, end: float | None = None) -> Conversion:
        """The resin at the time `end`, s; by default at the last flash."""
        last = float(light.time[-1]) if len(light.time) else 0.0
        end = last if end is None else end
        number("end", end)
        if not np.isfinite(end):
            raise InputError(f"end is {end:g} s, but must be finite")
        if end < last:
            raise InputError(f"end is {end:.9g} s, but the last light is at {last:.9g} s")
        intervals = Intervals(self._layer, light, end, self.interval)
        run = checkpointed(intervals, self._layer.at_rest(), intervals.count, self.memory)
        return Conversion(intervals, run, self.outside)


def usual_interval(spot: Spot, kinetics: Kinetics) -> float:
    """The interval of a model that is given none, s."""
    diffusing = kinetics.diffusion / optics.fwhm(spot) ** 2
    ending = kinetics.termination + kinetics.pair_termination
    return 1 / max(1 / _LONGEST, diffusing / _OF_DIFFUSION, ending / _OF_TERMINATION)
