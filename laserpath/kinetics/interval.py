"""One step of the simulation: an interval of time, and its adjoint.

    half of the oxygen's diffusion and supply, half of the tail's radicals,
    reaction: each cell on its own, from flash to flash that reaches it (`kernels`),
    the other halves.

A state is (3·rows, columns): radicals R, oxygen O, monomer m, one below the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import InputError, figure
from laserpath.dose.direct import RadialTable
from laserpath.kinetics.kernels import kernels
from laserpath.kinetics.light import Light
from laserpath.kinetics.oxygen import OxygenSupply
from laserpath.kinetics.tail import FarTail
from laserpath.kinetics.tiles import lit_tiles
from laserpath.types import Grid, Kinetics

_FEWEST = 1e-12
"""Radicals below which a cell has none, in units of the oxygen at rest."""
MOST_INTERVALS = 10_000_000
"""Intervals of an exposure: some hours of computation even for a few cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """What is the same in all intervals: the resin on a grid, and the spot. tail: None if it has none."""

    grid: Grid
    kinetics: Kinetics
    table: RadialTable
    tail: FarTail | None
    oxygen: OxygenSupply

    @property
    def rates(self) -> Floats:
        """(4,) k_o, k₁, k₂, k_p, in 1/s."""
        k = self.kinetics
        return np.array([k.inhibition, k.termination, k.pair_termination, k.propagation])

    def at_rest(self) -> Floats:
        """The state before any light."""
        rows, columns = self.grid.shape
        state = np.zeros((3 * rows, columns))
        state[rows : 2 * rows], state[2 * rows :] = self.kinetics.oxygen, 1
        return state


class Slope(NamedTuple):
    """∂L/∂state, and what has been collected of ∂L/∂(radicals, u, v, time) of each point, (M, 4)."""

    state: Floats
    points: Floats


class Intervals:
    """The intervals of one exposure to a light, equally long, from 0 s to `end`.

    count: of the intervals.  points: M, of the points of light.

    What it needs of the light it copies, so that a later change of the light's arrays changes nothing.
    """

    def __init__(self, layer: Layer, light: Light, end: float, longest: float) -> None:
        needed = end / longest
        if not needed <= MOST_INTERVALS:
            raise InputError(
                f"end is {end:g} s and the interval {longest:g} s, which are {figure(needed)} intervals, "
                f"but must be at most {MOST_INTERVALS}"
            )
        self.layer, self.count = layer, max(1, int(np.ceil(needed)))
        self._edges = np.linspace(0, end, self.count + 1)
        self._time, self.points = light.time.copy(), len(light.time)
        self._first = np.searchsorted(self._time, self._edges[:-1])
        self._last = np.append(self._first[1:], len(self._time))
        self._uv = np.ascontiguousarray(layer.grid.to_pixels(light.xy))
        self._radicals = light.energy / layer.kinetics.radical_dose
        self._rates = layer.rates
        if layer.tail:
            self._xy, self._near = light.xy.copy(), layer.tail.is_near(self._uv)
            self._background = layer.tail.field(self._uv[self._near])

    def forward(self, state: Floats, k: int) -> Floats:
        """The state at the end of interval k, of that at its begin."""
        rows = self.layer.grid.shape[0]
        half = self._half(k)
        state = self._begun(state, k, half)
        kernels().forward(*self._arguments(state, k), state)
        radicals, oxygen = state[:rows], state[rows : 2 * rows]
        if half is not None:
            radicals += half
        radicals[radicals < _FEWEST] = 0
        self._diffuse(oxygen, k, 1.0)
        return state

    def adjoint(self, state: Floats, k: int, slope: Slope) -> Slope:
        """∂L/∂state at the begin of interval k, and the points' derivatives with what its own add."""
        rows = self.layer.grid.shape[0]
        d_state, d_points = slope.state.copy(), slope.points.copy()
        d_oxygen = d_state[rows : 2 * rows]
        self._diffuse(d_oxygen, k, 0.0)
        state = self._begun(state, k, self._half(k))
        part = self._in_tail(k)
        d_end = d_state[:rows].copy() if len(part) else None
        arguments = self._arguments(state, k)
        lit: Indices = arguments[2]
        d_entry = np.zeros((len(lit), 4))
        kernels().backward(*arguments, state, np.empty((len(lit) + 1, 4)), d_state, d_entry)
        for column, values in zip(d_points.T, d_entry.T, strict=True):
            column += np.bincount(lit, values, minlength=len(column))
        if d_end is not None:
            self._pull(part, (d_end + d_state[:rows]) / 2, d_points)
        self._diffuse(d_oxygen, k, 0.0)
        return Slope(d_state, d_points)

    def _begun(self, state: Floats, k: int, half: Floats | None) -> Floats:
        """A copy of a state after the first half of the diffusion, with half of the tail's radicals."""
        rows = self.layer.grid.shape[0]
        state = state.copy()
        self._diffuse(state[rows : 2 * rows], k, 1.0)
        if half is not None:
            state[:rows] += half
        return state

    def _diffuse(self, oxygen: Floats, k: int, rest: float) -> None:
        """Half of interval k's diffusion and supply, in place. rest: oxygen at rest; 0 for the adjoint."""
        if self.layer.oxygen:
            seconds = float(self._edges[k + 1] - self._edges[k]) / 2
            oxygen[...] = rest + self.layer.oxygen.spread(oxygen - rest, seconds)

    def _in_tail(self, k: int) -> Indices:
        """The points of interval k whose tail counts; none for a spot that has no tail."""
        if not self.layer.tail:
            return np.zeros(0, np.int64)
        first = self._first[k]
        return first + np.flatnonzero(self._near[first : self._last[k]])

    def _half(self, k: int) -> Floats | None:
        """(rows, columns) half of the radicals that the tail of the light of interval k makes; None: none."""
        part = self._in_tail(k)
        if not self._radicals[part].any():
            return None
        made = np.zeros(self.layer.grid.shape)
        self._background.add(made, self._background.field(self._xy[part], self._radicals[part]))
        made[made < _FEWEST] = 0  # and the noise of the FFT
        return made / 2

    def _pull(self, part: Indices, d_made: Floats, d_points: Floats) -> None:
        """Add the adjoint of `_half`, of the whole, to ∂L/∂(radicals, u, v, time) of the points, in place."""
        d_radicals, d_xy = np.zeros(len(part)), np.zeros((len(part), 2))
        self._background.pull(self._xy[part], self._radicals[part], d_made, d_radicals, d_xy)
        d_points[part, 0] += d_radicals
        d_points[part, 1:3] += d_xy * self.layer.grid.pitch

    def _arguments(self, state: Floats, k: int) -> tuple[Any, ...]:
        """The kernels' arguments of interval k, all but the state."""
        table, first = self.layer.table, self._first[k]
        radicals = state[: self.layer.grid.shape[0]] > 0
        tiles = lit_tiles(self._uv[first : self._last[k]], table.reach, radicals)
        return (
            tiles.corner, tiles.first, (first + tiles.lit).astype(np.int32), self._uv, self._radicals,
            self._time, float(self._edges[k]), float(self._edges[k + 1]), self._rates,
            table.form, table.value, table.slope,
        )  # fmt: skip
