"""The dose of the copies of a periodic grid, to be subtracted: the far tail, diffracted at an aperture.

An Airy spot falls only as r^−3. Averaged over its rings it is h̄(r) = c/r³ (`optics.tail`), so with a
period L the copies add at a displacement d

    C(d) = Σ_{n ≠ 0} h̄(d + n L) ≈ Σ_{0 < |n|∞ ≤ 4} h̄(d + n L) + (1/L_x L_y) [∫_{beyond} h̄ dA − …],

with ∫ = c Σ_corners √(a² + b²)/(a b), a and b the distances of d from the sides of the rectangle of those
images, and the first term of Euler and Maclaurin. Beside its copy, a large exposed area has a dose too high
by the fraction 2 c/(distance): 0.06 FWHM/distance for an Airy spot, small, but not as small as the tolerance.
C is smooth, since no copy is nearer than the padding: coarse nodes, without periodicity (padded to twice
their number), hold it. h̄ leaves out the oscillation of the rings, which the padding keeps below half of the
tolerance. Points go to the nodes by a cubic B-spline, pixels by linear interpolation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from scipy import fft

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.dose.engines import DTYPE, quadratic_form
from laserpath.dose.kernels import interpolation, splatting
from laserpath.types import Grid, Spot

_IMAGES = 4
_MARGIN = 2
"""Nodes outside the picture, for the splat of points at its edge."""


@dataclass(frozen=True, slots=True)
class FarTail:
    """The field of all copies on nodes `ratio` pixels apart. transfer: FFT of C on twice the nodes."""

    grid: Grid
    ratio: int
    shape: tuple[int, int]
    transfer: Floats
    precision: str

    @classmethod
    def of(cls, grid: Grid, padded: Grid, spot: Spot, precision: str, tolerance: float) -> FarTail | None:
        """The tail for a picture and its padded grid; None for a spot that falls faster than r^−3."""
        if not (c := optics.tail(spot)):
            return None
        size, period = np.array(grid.shape) * grid.pitch, np.array(padded.shape) * padded.pitch
        gap = (period - size).min()
        # Spline and interpolation change 2 c/gap by about (pitch/gap)²/2 of itself: an eighth of the
        # tolerance.
        ratio = max(1, int(gap / (1 + np.sqrt(8 * c / (gap * tolerance))) / grid.pitch))
        rows, columns = (ceil(n / ratio) + 2 * _MARGIN + 1 for n in grid.shape)
        wide = tuple(fft.next_fast_len(2 * n, real=True) for n in (rows, columns))
        y, x = (np.fft.fftfreq(n, 1 / n) * ratio * grid.pitch for n in wide)
        kernel = copies(spot, x[None, :], y[:, None], (period[1], period[0]), gap / 2)
        transfer = fft.rfft2(kernel).real.astype(DTYPE[precision])
        return cls(grid, ratio, (rows, columns), transfer, precision)

    def field(self, xy: Floats, energy: Floats) -> Floats:
        """The dose of the copies at the nodes."""
        nodes = np.zeros(self.shape, DTYPE[self.precision])
        whole = np.array([0, len(nodes)], np.int32)
        splatting(self.precision, 4).splat(xy, energy, *self._place(), whole, nodes)
        return self._apply(nodes)

    def subtract(self, dose: Floats, field: Floats) -> None:
        """Take the field off the pixels of `dose`, in place."""
        interpolation(self.precision).subtract(field, self.ratio, _MARGIN, dose)

    def pull(self, xy: Floats, energy: Floats, d_dose: Floats, d_energy: Floats, d_xy: Floats) -> None:
        """Add the adjoint of `field` and `subtract` to the derivatives of the points, in place."""
        along = np.zeros((len(d_dose), self.shape[1]), d_dose.dtype)
        interpolation(self.precision).restrict(d_dose, self.ratio, _MARGIN, along)
        t = (np.arange(len(d_dose)) % self.ratio / self.ratio).astype(d_dose.dtype)[:, None]
        first = np.arange(0, len(d_dose), self.ratio)
        nodes = np.zeros(self.shape, d_dose.dtype)
        nodes[_MARGIN : _MARGIN + len(first)] -= np.add.reduceat((1 - t) * along, first)
        nodes[_MARGIN + 1 : _MARGIN + 1 + len(first)] -= np.add.reduceat(t * along, first)
        field = self._apply(nodes)
        splatting(self.precision, 4).gather(xy, energy, *self._place(), field, d_energy, d_xy)

    def _apply(self, nodes: Floats) -> Floats:
        """Convolve with C; symmetric, so its own adjoint."""
        rows, columns = self.shape
        wide = self._wide()
        spectrum = fft.rfft2(nodes, s=wide) * self.transfer
        return np.ascontiguousarray(fft.irfft2(spectrum, s=wide)[:rows, :columns])

    def _wide(self) -> tuple[int, int]:
        rows, columns = (fft.next_fast_len(2 * n, real=True) for n in self.shape)
        return rows, columns

    def _place(self) -> tuple[float, float, float, float]:
        """x0, y0, 1/p, 1/p of the nodes."""
        pitch = self.ratio * self.grid.pitch
        x0, y0 = self.grid.origin
        return x0 - _MARGIN * pitch, y0 - _MARGIN * pitch, 1 / pitch, 1 / pitch


def copies(spot: Spot, x: Floats, y: Floats, period: tuple[float, float], nearest: float) -> Floats:
    """C at displacements x, y (mm, broadcast together) for a period (x, y) in mm; 1/mm².

    No copy counts as nearer than `nearest`; only nodes outside the picture are that near.
    """
    lx, ly = period
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for m in range(-_IMAGES, _IMAGES + 1):
        for n in range(-_IMAGES, _IMAGES + 1):
            if (m, n) != (0, 0):
                total += _mean_tail(spot, x + m * lx, y + n * ly, nearest)
    a, b = (_IMAGES + 0.5) * lx, (_IMAGES + 0.5) * ly
    corners = [(a + i * x, b + j * y) for i in (-1, 1) for j in (-1, 1)]
    beyond = sum(np.hypot(i, j) / (i * j) for i, j in corners) - _midpoint(a, b, lx) - _midpoint(b, a, ly)
    return total + optics.tail(spot) * beyond / (lx * ly)


def _midpoint(a: float, b: float, step: float) -> float:
    """(step²/24) ∫ ∂²(r^−3)/∂a² outside the rectangle: the integral less the sum at midpoints."""
    return step**2 / 24 * 4 * b * (3 * a**2 + 2 * b**2) / (a**3 * np.hypot(a, b) ** 3)


def _mean_tail(spot: Spot, x: Floats, y: Floats, nearest: float) -> Floats:
    """h̄ at (x, y): c/r³ of the round spot whose stretched image the elliptical one is."""
    a, b, c = quadratic_form(spot)
    square = np.maximum(a * x**2 + b * x * y + c * y**2, nearest**2)
    return optics.tail(replace(spot, aspect=1.0)) * square**-1.5
