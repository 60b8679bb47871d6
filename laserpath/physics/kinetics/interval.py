"""One step of the simulation: an interval of time, and its adjoint.

    half of the oxygen's diffusion and supply, half of the tail's radicals,
    reaction: each cell on its own, from flash to flash that reaches it (`kernels`),
    the other halves.

A state is (3·rows, columns): radicals R, oxygen O, monomer m, one below the other.

**Oxygen** between two reactions diffuses in the plane and comes through the surface:

    ∂O/∂t = D ∇²O + s (1 − O), with no flow through the edges of the grid.

Of the differences from 1 the discrete equation is linear, and its eigenvectors are cosines (DCT): each decays
by exp(−(D λ + s) t), with λ = (4/p²)(sin²(π m/2M) + sin²(π n/2N)) of mode (m, n) on (M, N) cells of pitch p.
That is exact, so any time is stable.

**The far tail** of a spot, which no table of the kinetic model reaches, is a smooth background of light. A
table ends at R, 4 FWHM, and 4.8 % of the energy of an Airy spot is beyond it, spread over the plane. The mean
over its rings is h̄(r) = c/r³ (`optics.tail`), so the background is the convolution of the light with

    b(r) = h̄(r) (1 − w(r)) (1 + β (R/r)²),   β such that ∫ b dA = 1 − ∫ h w dA,

where w is the part of h that is in the table. β, some per cent, makes up for the table's end within a ring.
b is smooth over a FWHM, so nodes that far apart hold it (`dose.smooth`). What is left out are the rings:
beside a line, a wave of a fifth of the background near R, and less further away; and light that is more than
some 500 FWHM outside the grid.

Only tiles of the grid that have something to compute are gone through, with the points of light that reach
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from gcode.move import numbered
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError, figure
from laserpath.physics import optics
from laserpath.physics.dose.direct import RadialTable, window
from laserpath.physics.dose.smooth import MARGIN, SmoothField, mean_tail
from laserpath.physics.kinetics.kernels import SIDE, kernels
from laserpath.physics.kinetics.light import Light
from laserpath.types import Grid, Kinetics, Spot


class OxygenSupply:
    """Diffusion and supply of oxygen on a grid."""

    def __init__(self, grid: Grid, kinetics: Kinetics) -> None:
        self._diffusion = kinetics.diffusion / grid.pitch**2  # pixels² per s
        self._supply = kinetics.supply
        self._modes = _modes(grid)

    def __bool__(self) -> bool:
        """Whether any oxygen moves."""
        return self._diffusion > 0 or self._supply > 0

    def spread(self, lack: Floats, seconds: float) -> Floats:
        """O − 1 (rows, columns) after some seconds, of that before them. Linear, and its own adjoint."""
        if self._diffusion == 0:
            return lack * np.exp(-self._supply * seconds)
        waves = fft.dctn(lack, norm="ortho", workers=-1)
        waves *= np.exp(-(self._diffusion * self._modes + self._supply) * seconds)
        return np.asarray(fft.idctn(waves, norm="ortho", workers=-1))


def _modes(grid: Grid) -> Floats:
    """Eigenvalues of the discrete −∇² with no flow through the edges, (rows, columns), per pixel²."""
    rows, columns = (4 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2 for n in grid.shape)
    return np.asarray(rows[:, None] + columns)


_APART = 1.0
"""Distance of the nodes, in FWHM along the narrow axis. A larger one blurs the background near R."""
_WITHIN = 4
"""Samples of b along a side of the square that a node stands for."""
_BLOCK = 8
"""Nodes by which the margin grows for light outside the grid, so that it is the same for similar light."""
_FARTHEST = 500
"""Nodes, about as many FWHM, from the grid to light that counts. A half-plane full of light beyond 500 FWHM
would add 1.2e-4 of its dose at the edge of the grid; twice as far would need four times the memory."""


class FarTail:
    """The background of light on a grid, for a spot that falls as r^−3."""

    def __init__(self, grid: Grid, spot: Spot, table: RadialTable) -> None:
        self._grid, self._spot = grid, spot
        narrow = optics.fwhm(spot) * min(spot.aspect, 1 / spot.aspect) ** 0.5
        self._ratio = max(1, int(_APART * narrow / grid.pitch))
        self._form = table.form / grid.pitch**2 / (len(table.value) - 1)  # of (r/R)²
        a, b, c = self._form
        self._radius = float((4 / (4 * a * c - b**2)) ** 0.25)
        s = np.linspace(0.9, 1, 201)
        out = 1 - window(s**2)[0]
        whole, inner = (np.trapezoid(out * s**-n, s) + 1 / (n - 1) for n in (2, 4))
        mean = 2 * np.pi * optics.tail(replace(spot, aspect=1.0)) / self._radius
        self._more = ((1 - table.energy * grid.pixel_area) / mean - whole) / inner
        self._fields: dict[int, SmoothField] = {}

    def is_near(self, uv: Floats) -> Bools:
        """(M,) whether points at fractional columns and rows uv (M, 2) add to the background of the grid."""
        return self._beyond(uv) <= _FARTHEST * self._ratio

    def _beyond(self, uv: Floats) -> Floats:
        """(M,) pixels by which points are outside the grid, along the axis on which they are further out."""
        return np.maximum(-uv, uv - self._grid.shape[::-1]).max(axis=1).clip(0)

    def field(self, uv: Floats) -> SmoothField:
        """The background of points at fractional columns and rows uv (M, 2), all of which are near."""
        beyond = float(self._beyond(uv).max(initial=0.0))
        margin = MARGIN + _BLOCK * int(np.ceil(beyond / self._ratio / _BLOCK))
        if margin not in self._fields:
            self._fields[margin] = SmoothField.of(self._grid, self._ratio, self._kernel, "f64", margin)
        return self._fields[margin]

    def _kernel(self, x: Floats, y: Floats) -> Floats:
        """The mean of b, 1/mm², over the square of a node at displacements x, y in mm."""
        within = (np.arange(_WITHIN) - (_WITHIN - 1) / 2) / _WITHIN * self._ratio * self._grid.pitch
        a, b, c = self._form
        total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
        for u, v in ((x + dx, y + dy) for dx in within for dy in within):
            square = np.maximum(a * u**2 + b * u * v + c * v**2, 0.5)
            far = (1 - window(square)[0]) * (1 + self._more / square)
            total += mean_tail(self._spot, u, v, self._radius / 2) * far
        return total / _WITHIN**2


class LitTiles(NamedTuple):
    """Tiles and their points, as the kernels take them.

    corner: (T, 2) first row and column.  first: (T + 1,) where the points of each begin in `lit`.
    lit: (E,) points, ascending within a tile.
    """

    corner: NDArray[np.int32]
    first: NDArray[np.int32]
    lit: NDArray[np.int64]


def lit_tiles(uv: Floats, reach: int, radicals: Bools) -> LitTiles:
    """Tiles that points at fractional columns and rows uv (M, 2) reach, or that hold radicals.

    reach: pixels.  radicals: (rows, columns), whether a cell has any.
    """
    rows, columns = radicals.shape
    down, across = -(-rows // SIDE), -(-columns // SIDE)
    low = np.clip(np.floor((uv - reach) / SIDE), 0, [across, down]).astype(np.int64)
    high = np.clip(np.floor((uv + reach) / SIDE), -1, [across - 1, down - 1]).astype(np.int64)
    size = np.maximum(high - low + 1, 0)
    count = size[:, 0] * size[:, 1]
    point, within = numbered(count)
    width = np.maximum(size[point, 0], 1)
    tile = (low[point, 1] + within // width) * across + low[point, 0] + within % width
    order = np.argsort(tile, kind="stable")
    padded = np.zeros((down * SIDE, across * SIDE), bool)
    padded[:rows, :columns] = radicals
    active = padded.reshape(down, SIDE, across, SIDE).any(axis=(1, 3)).ravel()
    active[tile] = True
    used = np.flatnonzero(active)
    first = np.searchsorted(tile[order], np.append(used, down * across)).astype(np.int32)
    corner = np.stack([used // across, used % across], axis=1).astype(np.int32) * SIDE
    return LitTiles(corner, first, point[order])


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
