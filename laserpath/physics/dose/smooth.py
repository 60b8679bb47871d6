"""A smooth field of points: a convolution on coarse nodes without periodicity, for fields that vary slowly
from pixel to pixel.

Points go to the nodes by a cubic B-spline, pixels take the field from them by linear interpolation. Both keep
the energy, and both are exactly differentiated by the adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np
from scipy import fft

from laserpath.base.arrays import Floats
from laserpath.physics.dose.engines import DTYPE
from laserpath.physics.dose.kernels import interpolation, splatting
from laserpath.types import Grid

MARGIN = 2
"""Fewest nodes outside the picture, for the splat of points at its edge."""


@dataclass(frozen=True, slots=True)
class SmoothField:
    """The field of points on nodes `ratio` pixels apart. transfer: FFT of the kernel on twice the nodes.

    margin: nodes around the picture. Points must stay one node within them.
    """

    grid: Grid
    ratio: int
    margin: int
    shape: tuple[int, int]
    transfer: Floats
    precision: str

    @classmethod
    def of(
        cls,
        grid: Grid,
        ratio: int,
        kernel: Callable[[Floats, Floats], Floats],
        precision: str,
        margin: int = MARGIN,
    ) -> Self:
        """The field of a kernel, 1/mm², of displacements x, y in mm, broadcast; it must be even."""
        rows, columns = (ceil(n / ratio) + 2 * margin + 1 for n in grid.shape)
        wide = tuple(fft.next_fast_len(2 * n, real=True) for n in (rows, columns))
        y, x = (np.fft.fftfreq(n, 1 / n) * ratio * grid.pitch for n in wide)
        transfer = fft.rfft2(kernel(x[None, :], y[:, None])).real.astype(DTYPE[precision])
        return cls(grid, ratio, margin, (rows, columns), transfer, precision)

    def field(self, xy: Floats, energy: Floats) -> Floats:
        """The field at the nodes, mJ/mm², of energies (M,) mJ at xy (M, 2) mm."""
        nodes = np.zeros(self.shape, DTYPE[self.precision])
        whole = np.array([0, len(nodes)], np.int32)
        splatting(self.precision, 4).splat(xy, energy, *self._place(), whole, nodes)
        return self._apply(nodes)

    def add(self, picture: Floats, field: Floats) -> None:
        """Add the field to the pixels of a picture (rows, columns), in place."""
        interpolation(self.precision).add(field, self.ratio, self.margin, picture)

    def pull(self, xy: Floats, energy: Floats, d_dose: Floats, d_energy: Floats, d_xy: Floats) -> None:
        """Add the adjoint of `field` and `add` to the derivatives of the points, in place."""
        along = np.zeros((len(d_dose), self.shape[1]), d_dose.dtype)
        interpolation(self.precision).restrict(d_dose, self.ratio, self.margin, along)
        t = (np.arange(len(d_dose)) % self.ratio / self.ratio).astype(d_dose.dtype)[:, None]
        first = np.arange(0, len(d_dose), self.ratio)
        nodes = np.zeros(self.shape, d_dose.dtype)
        nodes[self.margin : self.margin + len(first)] += np.add.reduceat((1 - t) * along, first)
        nodes[self.margin + 1 : self.margin + 1 + len(first)] += np.add.reduceat(t * along, first)
        field = self._apply(nodes)
        splatting(self.precision, 4).gather(xy, energy, *self._place(), field, d_energy, d_xy)

    def _apply(self, nodes: Floats) -> Floats:
        """Convolve with the kernel; it is even, so this is its own adjoint."""
        rows, columns = self.shape
        wide = [fft.next_fast_len(2 * n, real=True) for n in self.shape]
        spectrum = fft.rfft2(nodes, s=wide) * self.transfer
        return np.ascontiguousarray(fft.irfft2(spectrum, s=wide)[:rows, :columns])

    def _place(self) -> tuple[float, float, float, float]:
        """x0, y0, 1/p, 1/p of the nodes."""
        pitch = self.ratio * self.grid.pitch
        x0, y0 = self.grid.origin
        return x0 - self.margin * pitch, y0 - self.margin * pitch, 1 / pitch, 1 / pitch


@dataclass(frozen=True, slots=True, eq=False)
class HeldField:
    """A field of points that is held while they move. picture: (rows, columns) of it, mJ/mm²."""

    picture: Floats

    @classmethod
    def of(cls, field: SmoothField, xy: Floats, energy: Floats) -> Self:
        """The field of energies (M,) mJ at xy (M, 2) mm."""
        picture = np.zeros(field.grid.shape, DTYPE[field.precision])
        field.add(picture, field.field(xy, energy))
        return cls(picture)

    def field(self, xy: Floats, energy: Floats) -> Floats:
        """(rows, columns) the same for all points."""
        return self.picture

    def add(self, picture: Floats, field: Floats) -> None:
        """Add the field to the pixels of a picture (rows, columns), in place."""
        picture += field

    def pull(self, xy: Floats, energy: Floats, d_dose: Floats, d_energy: Floats, d_xy: Floats) -> None:
        """Nothing: it does not depend on the points."""
