"""The dose on a large grid, tile by tile: one FFT of all would hold several arrays of its size.

The points in a window, a tile with a rim R around it, are exposed as on a grid of their own (`fft`). Those
beyond add the far tail of the spot, h̄(r) = c/r³ (`tail`), which is smooth there. It is computed on coarse
nodes of the whole grid, for all points with h̄(max(r, R)); what the points of the window have of that is
computed on the window's nodes, which are the same places, and taken off,

    D = D_window + S(all) − S(window).

R is that beyond which the rings of the spot do not count (`fft`). A tile without points in its window stays
0, and as NumPy's zeros take no memory before they are changed, what is empty costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from math import ceil

import numpy as np

from laserpath.base.arrays import Floats, Indices
from laserpath.physics import optics
from laserpath.physics.dose.engines import DTYPE, TOLERANCE, SpotGradient, check, checked_points
from laserpath.physics.dose.fft import FftEngine, rim_of
from laserpath.physics.dose.kernels import interpolation
from laserpath.physics.dose.smooth import SmoothField
from laserpath.physics.dose.tail import mean_tail, nodes_apart
from laserpath.types import Grid, Spot

TILED_FROM = 1 << 25
"""Pixels above which a grid is tiled: a smaller value takes less memory, with as much of the tolerance."""

_SIDE = 512
"""Pixels along a tile: more cost more memory, fewer more time for rims."""

_RINGS = 5e-5
"""Least tolerance that a rim is chosen for: a smaller one makes rims wider."""


class TiledEngine:
    """Points → dose by tiles. Its derivatives are those of one FFT of all, made where they are wanted."""

    def __init__(self, grid: Grid, spot: Spot, precision: str = "f32", tolerance: float = TOLERANCE) -> None:
        check(grid, spot, precision, tolerance)
        self.grid, self.spot, self.precision, self.tolerance = grid, spot, precision, tolerance
        # All of an edge's rings meet at the end of a window. An elliptical spot is a round one, stretched.
        rim = rim_of(spot, max(tolerance / 2, _RINGS)) * max(spot.aspect, 1 / spot.aspect) ** 0.5
        self._ratio = nodes_apart(spot, rim, grid.pitch, tolerance)
        self._rim, self._side = (self._ratio * ceil(n / self._ratio) for n in (rim / grid.pitch, _SIDE))
        self._side = max(self._side, self._rim)
        window = Grid((0.0, 0.0), grid.pitch, (self._side + 2 * self._rim,) * 2)
        self._near = FftEngine(window, spot, precision, tolerance)
        self._tails: tuple[SmoothField, SmoothField] | None = None
        if optics.tail(spot):

            def kernel(x: Floats, y: Floats) -> Floats:
                return mean_tail(spot, x, y, rim)

            far, near = (SmoothField.of(one, self._ratio, kernel, "f64") for one in (grid, window))
            self._tails = far, near

    def spread(self, xy: Floats, energy: Floats) -> Floats:
        """Dose (rows, columns) mJ/mm² of energies (M,) mJ at xy (M, 2) mm."""
        xy, energy = checked_points(xy, energy, self)
        picture = np.zeros(self.grid.shape, DTYPE[self.precision])
        far = self._tails and self._tails[0].field(xy, energy)
        for tile, points in self._tiles(xy):
            rows, columns = (slice(k * self._side, (k + 1) * self._side) for k in tile)
            picture[rows, columns] = self._tile(tile, xy[points], energy[points], far)
        return picture

    def gather(self, xy: Floats, energy: Floats, d_dose: Floats) -> tuple[Floats, Floats]:
        """∂L/∂energy (M,) and ∂L/∂xy (M, 2) from ∂L/∂D (rows, columns)."""
        return self._whole.gather(xy, energy, d_dose)

    def spot_gradient(self, xy: Floats, energy: Floats, d_dose: Floats) -> SpotGradient:
        """∂L/∂(FWHM, defocus) from ∂L/∂D (rows, columns)."""
        return self._whole.spot_gradient(xy, energy, d_dose)

    @cached_property
    def _whole(self) -> FftEngine:
        return FftEngine(self.grid, self.spot, self.precision, self.tolerance)

    def _tiles(self, xy: Floats) -> Iterator[tuple[tuple[int, int], Indices]]:
        """Each tile (row, column) that has points in its window, and the numbers of these, rising."""
        at = self.grid.to_pixels(xy)[:, ::-1]
        most = (np.array(self.grid.shape) - 1) // self._side
        tile = np.clip(np.floor(at / self._side).astype(np.int64), 0, most)
        number = tile[:, 0] * (most[1] + 1) + tile[:, 1]
        order = np.argsort(number, kind="stable")
        lit, first = np.unique(number[order], return_index=True)
        near: dict[tuple[int, int], list[Indices]] = {}
        for k, points in zip(lit.tolist(), np.split(order, first[1:]), strict=True):
            row, column = divmod(k, int(most[1]) + 1)
            for down, across in product((-1, 0, 1), repeat=2):
                if 0 <= row + down <= most[0] and 0 <= column + across <= most[1]:
                    near.setdefault((row + down, column + across), []).append(points)
        for around in sorted(near):
            points = np.sort(np.concatenate(near[around]))
            low = np.array(around) * self._side - self._rim
            high = low + self._side + 2 * self._rim - 1
            inside = ((at[points] >= low) & (at[points] <= high)).all(axis=1)
            if inside.any():
                yield around, points[inside]

    def _tile(self, tile: tuple[int, int], xy: Floats, energy: Floats, far: Floats | None) -> Floats:
        """The dose of a tile, of the points (K, 2) mm in its window, and of the far light of all."""
        row, column = (k * self._side - self._rim for k in tile)
        xy = xy - (np.array(self.grid.origin) + self.grid.pitch * np.array([column, row]))
        shape = [min(self._side, n - k * self._side) for n, k in zip(self.grid.shape, tile, strict=True)]
        core = tuple(slice(self._rim, self._rim + n) for n in shape)
        dose = np.ascontiguousarray(self._near.spread(xy, energy)[core])
        if self._tails is not None and far is not None:
            whole, window = self._tails
            own, count = window.field(xy, energy), [ceil(n / self._ratio) + 1 for n in shape]
            here = tuple(
                slice(a := whole.margin + k * self._side // self._ratio, a + n)
                for k, n in zip(tile, count, strict=True)
            )
            there = tuple(slice(a := window.margin + self._rim // self._ratio, a + n) for n in count)
            nodes = np.ascontiguousarray(far[here] - own[there], dose.dtype)
            interpolation(self.precision).add(nodes, self._ratio, 0, dose)
        return dose
