"""Dose D(x) = Σ_k q_k ∫ h(x − γ_k(s)) ds of a toolpath on a grid, and its adjoint.

Power and speed become line energies q (`resin`): power/speed in mJ/mm, or E_N P^N/v where N photons are
absorbed at once. Segments become points (`segments`), points become dose (`engine`). A spot with a map of
the dose that acts at each place (`uneven`) gives each point its share.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gcode.move import numbered
from laserpath.base.arrays import Floats, Indices, not_complex, return_freed
from laserpath.base.checks import one_of
from laserpath.base.compute.runtime import start
from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.dose.engines import TOLERANCE, Engine, SpotGradient, check, check_inside, check_memory
from laserpath.physics.dose.fft import TILED_FROM, FftEngine, TiledDose, TiledEngine
from laserpath.physics.dose.segments import PathGradient, Points, from_points, to_points
from laserpath.physics.dose.uneven import acting
from laserpath.physics.resin import line_energy_slopes, path_energy
from laserpath.types import DoseMap, Grid, Spot, Toolpath

METHODS = ("auto", "fft", "direct", "autodiff")


def engine(
    grid: Grid,
    spot: Spot,
    *,
    method: str = "auto",
    device: str = "auto",
    precision: str = "f32",
    tolerance: float = TOLERANCE,
) -> Engine:
    """The engine for a grid and a spot.

    method: 'fft' (CPU only), 'direct', 'autodiff' (a reference), or 'auto': fft where there is one, of a
    grid of more than 2^22 pixels tile by tile.
    device: 'cpu', 'cuda', 'vulkan' (run on a software renderer only), 'metal' (never run), or 'auto': the
    device that Taichi runs on already, else the CPU.  precision: 'f32', or 'f64' on cpu and cuda. tolerance:
    largest error relative to the peak of the dose, 1e-6 (with f64) to 0.1; of tiles at least 1e-4.
    """
    one_of("method", method, METHODS)
    runs_on = start(device)
    if precision == "f64" and runs_on not in ("cpu", "cuda"):
        raise InputError(f"precision 'f64' is not available on {runs_on}; use 'f32'")
    if method == "fft" and runs_on != "cpu":
        raise InputError(f"method 'fft' is not available on {runs_on}; use 'direct'")
    if method == "auto" and runs_on == "cpu" and math.prod(grid.shape) > TILED_FROM:
        return TiledEngine(grid, spot, precision, tolerance)
    if method == "auto":
        method = "fft" if runs_on == "cpu" else "direct"
    if method == "fft":
        return FftEngine(grid, spot, precision, tolerance)
    if method == "direct":
        from laserpath.physics.dose.direct import direct_engine  # SciPy's splines, which plans do not need

        return direct_engine(grid, spot, precision, tolerance)
    check(grid, spot, precision, tolerance)
    check_memory(grid.shape, precision)
    from laserpath.physics.dose.autodiff import AutodiffEngine  # a reference for tests

    return AutodiffEngine(grid, spot, precision)


@dataclass(frozen=True, slots=True)
class ToolpathGradient:
    """Derivatives of a scalar. xy: (N+1, 2) per mm.  power: (N,) per mW.  speed: (N,) per mm/s."""

    xy: Floats
    power: Floats
    speed: Floats


class DoseModel:
    """Dose of polylines on one grid, within `tolerance` of its peak; the options are those of `engine`."""

    def __init__(
        self,
        grid: Grid,
        spot: Spot,
        *,
        method: str = "auto",
        device: str = "auto",
        precision: str = "f32",
        tolerance: float = TOLERANCE,
    ) -> None:
        self.grid, self.spot, self.tolerance = grid, spot, tolerance
        self.engine = engine(
            grid, spot, method=method, device=device, precision=precision, tolerance=tolerance
        )
        self._width = optics.finest_width(spot, tolerance)

    def dose(self, toolpath: Toolpath) -> Floats:
        """Dose (rows, columns), mJ/mm², of all exposing moves."""
        return self.line_dose(toolpath.xy, path_energy(toolpath, self.spot))

    def gradient(self, toolpath: Toolpath, d_dose: Floats) -> ToolpathGradient:
        """∂L/∂(xy, power, speed) from ∂L/∂D. Dark moves have no derivative, and so stay dark."""
        path = self.line_gradient(toolpath.xy, path_energy(toolpath, self.spot), d_dose)
        per_power, per_speed = line_energy_slopes(toolpath.power, toolpath.speed, self.spot)
        return ToolpathGradient(path.xy, path.line_energy * per_power, path.line_energy * per_speed)

    def spot_gradient(self, toolpath: Toolpath, d_dose: Floats) -> SpotGradient:
        """∂L/∂(FWHM, defocus) from ∂L/∂D, at the same line energies.

        With N > 1 photons the line energies at a given power depend on the spot too: q = E_N P^N/v.
        """
        points = self.points(toolpath.xy, path_energy(toolpath, self.spot))
        return self.engine.spot_gradient(points.xy, points.energy, d_dose)

    def line_dose(self, xy: Floats, line_energy: Floats) -> Floats:
        """Dose of the polyline xy: (N+1, 2) mm with line energies (N,) mJ/mm."""
        dose = self.dose_by_rows(xy, line_energy)
        return dose.whole if isinstance(dose, TiledDose) else dose

    def dose_by_rows(self, xy: Floats, line_energy: Floats) -> Floats | TiledDose:
        """`line_dose`, of a tiled grid as what is read slice by slice, and takes the memory of some rows."""
        if not isinstance(self.engine, TiledEngine):
            return self.spread(self.points(xy, line_energy))
        xy, line_energy = self._checked(xy, line_energy)
        return_freed()
        xy, line_energy = _cut(xy, line_energy, _LONGEST * self.grid.pitch)
        lit = np.flatnonzero(line_energy)

        def points(some: Indices) -> tuple[Floats, Floats]:
            lines = lit[some]
            ends = np.stack([xy[lines], xy[lines + 1]], axis=1).reshape(-1, 2)
            energies = np.stack([line_energy[lines], np.zeros(len(lines))], axis=1).ravel()
            found = self._points(ends, energies[:-1])
            return found.xy, found.energy

        low, high = (corner(xy[lit], xy[lit + 1]) for corner in (np.minimum, np.maximum))
        return self.engine.dose_of(low, high, points)

    def line_gradient(self, xy: Floats, line_energy: Floats, d_dose: Floats) -> PathGradient:
        """∂L/∂(xy, line energy) from ∂L/∂D (rows, columns). Dark segments have no derivative."""
        return self.pull(self.points(xy, line_energy), d_dose, xy, line_energy)

    def points(self, xy: Floats, line_energy: Floats) -> Points:
        """The quadrature points of a polyline, for `spread` and `pull`."""
        return self._points(*self._checked(xy, line_energy))

    def _points(self, xy: Floats, line_energy: Floats) -> Points:
        """`points` of arrays that are checked."""
        points = to_points(xy, line_energy, self._width, self.tolerance)
        if self.spot.dose_map is None:
            return points
        share, log_slope = acting(self.spot.dose_map, points.xy)
        return replace(points, energy=points.energy * share, acting=(share, log_slope))

    def _checked(self, xy: Floats, line_energy: Floats) -> tuple[Floats, Floats]:
        """A polyline as arrays; refused unless it is one, of finite places in the grid where it is lit."""
        xy = np.asarray(not_complex(xy, "path"), dtype=np.float64)
        line_energy = np.asarray(not_complex(line_energy, "line energy"), dtype=np.float64)
        if xy.ndim != 2 or xy.shape[1] != 2 or line_energy.shape != (max(len(xy) - 1, 0),):
            raise InputError(
                f"path has vertices of shape {xy.shape} and line energies of shape {line_energy.shape}, "
                "but must have (N + 1, 2) and (N,)"
            )
        if bad := int((~np.isfinite(xy)).sum()):
            raise InputError(f"path is not finite in {bad} of {xy.size} coordinates")
        lit = line_energy != 0
        check_inside(xy[:-1][lit], self.grid)
        check_inside(xy[1:][lit], self.grid)
        return xy, line_energy

    def uneven(self, dose_map: DoseMap | None) -> DoseModel:
        """This model for a spot that differs in its map alone; what takes long to make is shared."""
        if dose_map == self.spot.dose_map:
            return self
        model = copy.copy(self)
        model.spot = replace(self.spot, dose_map=dose_map)
        return model

    def near(self, points: Points) -> DoseModel:
        """The model for paths near the one with these points: what hardly changes with them is held.

        That of a tiled grid is exposed as a whole, as its derivatives are.
        """
        model = self.at_once
        if not isinstance(model.engine, FftEngine):
            return model
        held = copy.copy(model)
        held.engine = model.engine.holding(points.xy, points.energy)
        return held

    @property
    def at_once(self) -> DoseModel:
        """The model that exposes a tiled grid at once, as its derivatives do: for a descent."""
        if not isinstance(self.engine, TiledEngine):
            return self
        model = copy.copy(self)
        model.engine = self.engine.whole
        return model

    def spread(self, points: Points) -> Floats:
        """Dose (rows, columns), mJ/mm², of the points."""
        return self.engine.spread(points.xy, points.energy)

    def pull(self, points: Points, d_dose: Floats, xy: Floats, line_energy: Floats) -> PathGradient:
        """`line_gradient` of a polyline whose points are given."""
        xy, line_energy = np.asarray(xy, dtype=np.float64), np.asarray(line_energy, dtype=np.float64)
        d_energy, d_xy = self.engine.gather(points.xy, points.energy, d_dose)
        if points.acting is not None:
            share, log_slope = points.acting
            d_xy = d_xy + (d_energy * points.energy)[:, None] * log_slope
            d_energy = d_energy * share
        return from_points(points, d_energy, d_xy, xy, line_energy)


_LONGEST = 256.0
"""Pixels of a line that a tile has all points of: longer ones reach tiles in which few of them are."""


def _cut(xy: Floats, line_energy: Floats, longest: float) -> tuple[Floats, Floats]:
    """A polyline whose lit lines are at most `longest` mm."""
    way = np.diff(xy, axis=0)
    count = np.where(line_energy != 0, np.ceil(np.hypot(*way.T) / longest), 1.0).clip(1).astype(np.int64)
    if (count == 1).all():
        return xy, line_energy
    line, nth = numbered(count)
    cut = xy[line] + (nth / count[line])[:, None] * way[line]
    return np.vstack([cut, xy[-1:]]), line_energy[line]


def usual_model(grid: Grid, spot: Spot) -> DoseModel:
    """The model of a grid and a spot with the default options, built once: the stages of a plan share it."""
    return _usual(grid, spot.even).uneven(spot.dose_map)


def accurate_model(grid: Grid, spot: Spot) -> DoseModel:
    """The model behind reported figures: double precision, within 1e-4 of the peak."""
    return _accurate(grid, spot.even).uneven(spot.dose_map)


@lru_cache(maxsize=8)
def _usual(grid: Grid, spot: Spot) -> DoseModel:
    return DoseModel(grid, spot)


@lru_cache(maxsize=4)
def _accurate(grid: Grid, spot: Spot) -> DoseModel:
    return DoseModel(grid, spot, precision="f64", tolerance=1e-4)
