"""Conversion of the resin after an exposure, through time, and its gradient by every point of light.

Time is cut into intervals. Within one, each cell is on its own: points of light add radicals, and the dark
between them is one step (`kernels`, `reaction`). Before and after it oxygen diffuses and is supplied for half
of the interval, by the exact solution of the discrete equation, so that any interval is stable; one of a few
per cent of FWHM²/D is accurate. The far tail of an interval's light (`tail`) adds its radicals in two halves,
at the two ends of the interval. Only tiles that light or radicals have reached are computed; where the tail
of an interval makes fewer than `_FEWEST`, it is left out. For the gradient, the states between intervals are
kept or computed again: `compute.checkpointing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.compute.checkpointing import Checkpointed, checkpointed
from laserpath.dose.direct import radial_table
from laserpath.kinetics.kernels import SIDE, kernels
from laserpath.kinetics.tail import FarTail
from laserpath.types import Grid, Kinetics, Spot

__all__ = ["Conversion", "KineticModel", "Light", "LightGradient"]

_FEWEST = 1e-12
"""Radicals below which a cell has none, in units of the oxygen at rest."""
_PART = 0.02
"""Longest interval in FWHM²/D, unless it is given."""
_ENDED = 0.3
"""The same in lives of a radical among as many as there is oxygen at rest. The conversion is then wrong by
less than half a per cent where termination and inhibition compete."""
_LONGEST = 1.0
"""Largest interval that is chosen by itself, s."""


@dataclass(frozen=True, slots=True)
class Light:
    """Flashes of light. xy: (M, 2) mm.  energy: (M,) mJ.  time: (M,) s, ascending, from 0.

    Contiguous arrays of float64 are kept as they are; others are copied.
    """

    xy: Floats
    energy: Floats
    time: Floats

    def __post_init__(self) -> None:
        for name in ("xy", "energy", "time"):  # as the kernels take them
            object.__setattr__(self, name, np.require(getattr(self, name), np.float64, "C"))
        n = self.energy.size
        if self.energy.shape != (n,) or self.xy.shape != (n, 2) or self.time.shape != (n,):
            raise InputError(
                f"light has places of shape {self.xy.shape}, energies of shape {self.energy.shape} and times "
                f"of shape {self.time.shape}, but must have (M, 2), (M,) and (M,)"
            )
        if not all(np.isfinite(a).all() for a in (self.xy, self.energy, self.time)):
            raise InputError("light is not finite in a place, an energy or a time")
        if n and (self.time[0] < 0 or (np.diff(self.time) < 0).any()):
            raise InputError("light has times that do not ascend from 0 s")
        if n and self.energy.min() < 0:
            raise InputError(f"light has an energy of {self.energy.min():g} mJ, but must be at least 0 mJ")


@dataclass(frozen=True, slots=True)
class LightGradient:
    """Derivatives of a scalar. xy: (M, 2) per mm.  energy: (M,) per mJ.  time: (M,) per s."""

    xy: Floats
    energy: Floats
    time: Floats


class _Slope(NamedTuple):
    """∂L/∂state, and what has been collected of ∂L/∂(radicals, u, v, time) of each point."""

    state: Floats
    points: Floats


class _Interval:
    """The steps of a simulation: each is an interval of time. A state is (3·rows, columns): R, O, m."""

    def __init__(self, model: KineticModel, light: Light, count: int, end: float) -> None:
        self.model, self.light = model, light
        self.times = np.linspace(0, end, count + 1)
        self.first = np.searchsorted(light.time, self.times[:-1])
        self.last = np.append(self.first[1:], len(light.time))
        self.uv = np.ascontiguousarray(model.grid.to_pixels(light.xy))
        self.radicals = light.energy / model.kinetics.radical_dose
        self.background = model.tail.field(self.uv) if model.tail else None

    def forward(self, state: Floats, k: int) -> Floats:
        """The state at the end of interval k: half of the diffusion, reaction, the other half."""
        rows = self.model.grid.shape[0]
        half = self._half(k)
        state = self._begun(state, k, half)
        kernels().forward(*self._arguments(state, k), state)
        radicals, oxygen = state[:rows], state[rows : 2 * rows]
        if half is not None:
            radicals += half
        radicals[radicals < _FEWEST] = 0
        self._diffuse(oxygen, k, 1.0)
        return state

    def _begun(self, state: Floats, k: int, half: Floats | None) -> Floats:
        """A copy of a state after the first half of the diffusion, with half of the tail's radicals."""
        rows = self.model.grid.shape[0]
        state = state.copy()
        self._diffuse(state[rows : 2 * rows], k, 1.0)
        if half is not None:
            state[:rows] += half
        return state

    def _diffuse(self, oxygen: Floats, k: int, rest: float) -> None:
        """Half of interval k's diffusion and supply, in place. rest: oxygen at rest; 0 for the adjoint."""
        if self.model.renews:
            seconds = float(self.times[k + 1] - self.times[k]) / 2
            oxygen[...] = rest + self.model.spread_oxygen(oxygen - rest, seconds)

    def adjoint(self, state: Floats, k: int, slope: _Slope) -> _Slope:
        """∂L/∂state at the begin of interval k, and what its points add to their derivatives."""
        rows = self.model.grid.shape[0]
        d_state = slope.state.copy()
        d_oxygen = d_state[rows : 2 * rows]
        self._diffuse(d_oxygen, k, 0.0)
        state = self._begun(state, k, self._half(k))
        d_end = d_state[:rows].copy() if self.background else d_state[:rows]
        arguments = self._arguments(state, k)
        lit: NDArray[np.int32] = arguments[2]
        d_entry = np.zeros((len(lit), 4))
        kernels().backward(*arguments, state, np.empty((len(lit) + 1, 4)), d_state, d_entry)
        for column, values in zip(slope.points.T, d_entry.T, strict=True):
            column += np.bincount(lit, values, minlength=len(column))
        self._pull(k, (d_end + d_state[:rows]) / 2, slope.points)
        self._diffuse(d_oxygen, k, 0.0)
        return _Slope(d_state, slope.points)

    def _half(self, k: int) -> Floats | None:
        """(rows, columns) half of the radicals that the tail of the light of interval k makes; None: none."""
        part = slice(self.first[k], self.last[k])
        if not self.background or not self.radicals[part].any():
            return None
        made = np.zeros(self.model.grid.shape)
        self.background.add(made, self.background.field(self.light.xy[part], self.radicals[part]))
        made[made < _FEWEST] = 0  # and the noise of the FFT
        return made / 2

    def _pull(self, k: int, d_made: Floats, d_points: Floats) -> None:
        """Add the adjoint of `_half`, of the whole, to ∂L/∂(radicals, u, v, time) of the points, in place."""
        part = slice(self.first[k], self.last[k])
        count = self.last[k] - self.first[k]
        if self.background and count:
            d_radicals, d_xy = np.zeros(count), np.zeros((count, 2))
            self.background.pull(self.light.xy[part], self.radicals[part], d_made, d_radicals, d_xy)
            d_points[part, 0] += d_radicals
            d_points[part, 1:3] += d_xy * self.model.grid.pitch

    def _arguments(self, state: Floats, k: int) -> tuple[Any, ...]:
        model, points = self.model, np.arange(self.first[k], self.last[k])
        corner, first, lit = model.tiles(self.uv[points], state)
        return (
            corner, first, points[lit].astype(np.int32), self.uv, self.radicals, self.light.time,
            float(self.times[k]), float(self.times[k + 1]), model.rates, *model.stencil,
        )  # fmt: skip


class Conversion:
    """What an exposure has made of the resin.

    conversion: (rows, columns), 0..1.  oxygen, radicals: (rows, columns), in units of the oxygen at rest.
    outside: the part of the spot's energy that is not simulated: what is beyond the model's reach, unless
    the spot falls as r^−3 there.
    """

    def __init__(self, interval: _Interval, run: Checkpointed[Floats, _Slope]) -> None:
        self._interval, self._run = interval, run
        rows = interval.model.grid.shape[0]
        self.radicals, self.oxygen, monomer = (run.final[n * rows : (n + 1) * rows] for n in range(3))
        self.conversion = 1 - monomer
        self.outside = interval.model.outside

    def gradient(self, d_conversion: Floats) -> LightGradient:
        """∂L/∂light from ∂L/∂conversion (rows, columns)."""
        model, light = self._interval.model, self._interval.light
        rows, columns = model.grid.shape
        if np.shape(d_conversion) != (rows, columns):
            raise InputError(
                f"d_conversion has shape {np.shape(d_conversion)}, but the grid has {(rows, columns)}"
            )
        d_state = np.zeros((3 * rows, columns))
        d_state[2 * rows :] = -np.asarray(d_conversion, dtype=np.float64)
        points = self._run.gradient(_Slope(d_state, np.zeros((len(light.energy), 4)))).points
        return LightGradient(
            xy=points[:, 1:3] / model.grid.pitch,
            energy=points[:, 0] / model.kinetics.radical_dose,
            time=points[:, 3],
        )


class KineticModel:
    """Light → conversion on a grid.

    interval: s between two steps of diffusion; by default 0.02 FWHM²/D, at most 1 s and 0.3 of a radical's
    life.  farthest: reach of the spot itself, in FWHM; beyond it, an Airy spot is its mean over the rings
    (`tail`), whose light counts as spread over its interval.  memory: states that are kept for the gradient;
    see `checkpointed`.
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
        self.grid, self.spot, self.kinetics, self.memory = grid, spot, kinetics, memory
        if interval is None:
            interval = usual_interval(spot, kinetics)
        if not 0 < interval < float("inf"):
            raise InputError(f"interval is {interval:g} s, but must be finite and above 0 s")
        self.interval = interval
        table = radial_table(grid, spot, 1e-5, farthest)
        self.stencil = (table.form, table.value, table.slope)
        self._reach = table.reach
        self.tail = FarTail(grid, spot, table) if optics.tail(spot) else None
        self.outside = 0.0 if self.tail else table.outside
        k = kinetics
        self.rates = np.array([k.inhibition, k.termination, k.pair_termination, k.propagation])
        self.renews = k.diffusion > 0 or k.supply > 0
        self._modes = _modes(grid)

    def expose(self, light: Light, end: float | None = None) -> Conversion:
        """The resin at the time `end`, s; by default at the last flash."""
        last = float(light.time[-1]) if len(light.time) else 0.0
        end = last if end is None else end
        if not last <= end < float("inf"):
            raise InputError(f"end is {end:.9g} s, but the last light is at {last:.9g} s")
        count = max(1, int(np.ceil(end / self.interval)))
        interval = _Interval(self, light, count, end)
        rows, columns = self.grid.shape
        state = np.zeros((3 * rows, columns))
        state[rows : 2 * rows], state[2 * rows :] = self.kinetics.oxygen, 1
        return Conversion(interval, checkpointed(interval, state, count, self.memory))

    def spread_oxygen(self, lack: Floats, seconds: float) -> Floats:
        """Oxygen's difference from that at rest, after diffusion and supply. Linear, and its own adjoint."""
        k = self.kinetics
        if k.diffusion == 0:
            return lack * np.exp(-k.supply * seconds)
        waves = fft.dctn(lack, norm="ortho", workers=-1)
        waves *= np.exp(-(k.diffusion / self.grid.pitch**2 * self._modes + k.supply) * seconds)
        return np.asarray(fft.idctn(waves, norm="ortho", workers=-1))

    def tiles(
        self, uv: Floats, state: Floats
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Tiles that points (M, 2) reach, or that hold radicals: corner (T, 2), first (T + 1,), lit (E,)."""
        rows, columns = self.grid.shape
        down, across = -(-rows // SIDE), -(-columns // SIDE)
        reach = self._reach
        low = np.clip((np.floor(uv) - reach) // SIDE, 0, [across, down]).astype(np.int64)
        high = np.clip((np.ceil(uv) + reach) // SIDE, -1, [across - 1, down - 1]).astype(np.int64)
        size = np.maximum(high - low + 1, 0)
        count = size[:, 0] * size[:, 1]
        point = np.repeat(np.arange(len(uv)), count)
        within = np.arange(len(point)) - np.repeat(np.cumsum(count) - count, count)
        width = np.maximum(size[point, 0], 1)
        tile = (low[point, 1] + within // width) * across + low[point, 0] + within % width
        order = np.argsort(tile, kind="stable")
        radicals = np.zeros((down * SIDE, across * SIDE), bool)
        radicals[:rows, :columns] = state[:rows] > 0
        active = radicals.reshape(down, SIDE, across, SIDE).any(axis=(1, 3)).ravel()
        active[tile] = True
        used = np.flatnonzero(active)
        first = np.searchsorted(tile[order], np.append(used, down * across)).astype(np.int32)
        corner = np.stack([used // across, used % across], axis=1).astype(np.int32) * SIDE
        return corner, first, point[order]


def usual_interval(spot: Spot, kinetics: Kinetics) -> float:
    """The interval of a model that is given none, s."""
    diffusing = kinetics.diffusion / optics.fwhm(spot) ** 2
    ending = kinetics.termination + kinetics.pair_termination
    return 1 / max(1 / _LONGEST, diffusing / _PART, ending / _ENDED)


def _modes(grid: Grid) -> Floats:
    """Eigenvalues of the discrete −∇² with no flow through the edges, (rows, columns), per pixel²."""
    rows, columns = (4 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2 for n in grid.shape)
    return np.asarray(rows[:, None] + columns)
