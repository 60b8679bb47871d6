"""Fields that vary slowly from pixel to pixel: convolutions on coarse nodes, without periodicity.

Points go to the nodes by a cubic B-spline, pixels take the field from them by linear interpolation. Both keep
the energy, and both are exactly differentiated by the adjoint.

**The tail**: removes the wrap-around dose of the FFT's periodic images, the far tail that is diffracted at an
aperture. An Airy spot falls only as r^−3. Averaged over its rings it is h̄(r) = c/r³ (`optics.tail`), so with
a period L the copies add at a displacement d

    C(d) = Σ_{n ≠ 0} h̄(d + n L) ≈ Σ_{0 < |n|∞ ≤ 4} h̄(d + n L) + (1/L_x L_y) [∫_{beyond} h̄ dA − …],

with ∫ = c Σ_corners √(a² + b²)/(a b), a and b the distances of d from the sides of the rectangle of those
images, and the first term of Euler and Maclaurin. Beside its copy, a large exposed area has a dose too high
by the fraction 2 c/(distance): 0.06 FWHM/distance for an Airy spot, small, but not as small as the tolerance.
C is smooth, since no copy is nearer than the padding: coarse nodes, without periodicity (padded to twice
their number), hold it. h̄ leaves out the oscillation of the rings, which the padding keeps below
half of the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil
from typing import Self

import numpy as np
from scipy import fft

from gcode.compiled import njit
from laserpath.base.arrays import Floats
from laserpath.physics import optics
from laserpath.physics.dose.engines import DTYPE, quadratic_form
from laserpath.physics.dose.kernels import interpolation, splatting
from laserpath.types import Grid, Spot

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
        return self.of_parts([(xy, energy)])

    def of_parts(self, parts: Iterable[tuple[Floats, Floats]]) -> Floats:
        """The field of all points together, which come in parts."""
        nodes = np.zeros(self.shape, DTYPE[self.precision])
        whole = np.array([0, len(nodes)], np.int32)
        for xy, energy in parts:
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


_IMAGES = 4


def copies_of(grid: Grid, padded: Grid, spot: Spot, precision: str, tolerance: float) -> SmoothField | None:
    """−C for a picture and its padded grid, to be added; None for a spot that falls faster than r^−3."""
    if not optics.tail(spot):
        return None
    size, period = np.array(grid.shape) * grid.pitch, np.array(padded.shape) * padded.pitch
    gap = (period - size).min()
    ratio = nodes_apart(spot, gap, grid.pitch, tolerance)

    def kernel(x: Floats, y: Floats) -> Floats:
        if quadratic_form(spot)[1]:  # an ellipse that is turned
            return -copies(spot, x, y, (period[1], period[0]), gap / 2)
        # Even in x and in y: a quarter of the displacements tells all.
        (wide, column), (high, row) = (np.unique(np.abs(one), return_inverse=True) for one in (x, y))
        quarter = -copies(spot, wide[None, :], high[:, None], (period[1], period[0]), gap / 2)
        return quarter[np.ix_(row.ravel(), column.ravel())]

    return SmoothField.of(grid, ratio, kernel, precision)


def nodes_apart(spot: Spot, gap: float, pitch: float, tolerance: float) -> int:
    """Pixels between the nodes that hold the far tail of points at a distance of at least `gap`, mm.

    Spline and interpolation change 2 c/gap by about (pitch/gap)²/2 of itself: an eighth of the tolerance.
    """
    return max(1, int(gap / (1 + np.sqrt(8 * optics.tail(spot) / (gap * tolerance))) / pitch))


def copies(spot: Spot, x: Floats, y: Floats, period: tuple[float, float], nearest: float) -> Floats:
    """C at displacements x, y (mm, broadcast together) for a period (x, y) in mm; 1/mm².

    h̄ is that of the round spot whose stretched image the elliptical one is. No copy counts as nearer than
    `nearest`; only nodes outside the picture are that near.
    """
    lx, ly = period
    far = optics.tail(replace(spot, aspect=1.0))
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    wide, high = (np.broadcast_to(one, total.shape).ravel() for one in (x, y))
    _add_images(wide, high, np.array(period), quadratic_form(spot), nearest, total.ravel())
    a, b = (_IMAGES + 0.5) * lx, (_IMAGES + 0.5) * ly
    corners = [(a + i * x, b + j * y) for i in (-1, 1) for j in (-1, 1)]
    beyond = sum(np.hypot(i, j) / (i * j) for i, j in corners) - _midpoint(a, b, lx) - _midpoint(b, a, ly)
    return far * total + optics.tail(spot) * beyond / (lx * ly)


@njit
def _add_images(x: Floats, y: Floats, period: Floats, form: Floats, nearest: float, total: Floats) -> None:
    """Add Σ r^−3 of the images of displacements x, y (K,), mm, in place. form: (A, B, C) of r²."""
    a, b, c = form
    for k in range(len(total)):
        for m in range(-_IMAGES, _IMAGES + 1):
            for n in range(-_IMAGES, _IMAGES + 1):
                if m != 0 or n != 0:
                    u, v = x[k] + m * period[0], y[k] + n * period[1]
                    square = max(a * u * u + b * u * v + c * v * v, nearest * nearest)
                    total[k] += 1 / (square * math.sqrt(square))


def _midpoint(a: float, b: float, step: float) -> float:
    """(step²/24) ∫ ∂²(r^−3)/∂a² outside the rectangle: the integral less the sum at midpoints."""
    return step**2 / 24 * 4 * b * (3 * a**2 + 2 * b**2) / (a**3 * np.hypot(a, b) ** 3)


def mean_tail(spot: Spot, x: Floats, y: Floats, nearest: float) -> Floats:
    """h̄ at (x, y): c/r³ of the round spot whose stretched image the elliptical one is; 1/mm².

    Nearer than `nearest`, mm, it is what it is there.
    """
    a, b, c = quadratic_form(spot)
    square = np.maximum(a * x**2 + b * x * y + c * y**2, nearest**2)
    return optics.tail(replace(spot, aspect=1.0)) * square**-1.5
