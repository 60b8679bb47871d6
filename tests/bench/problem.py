"""What every row computes, and the three sizes: dose, thresholded resist, loss, and its gradient.

    D(x) = Σ_k e_k h(x − x_k)                    mJ/mm², at the centres of the pixels
    L    = mean over the pixels of (σ(β (D/D_c − 1)) − T)²,    σ(z) = 1/(1 + exp(−z))

Wanted are L, ∂L/∂x_k, ∂L/∂y_k and ∂L/∂e_k. A power P and a speed v act by e ∝ P/v only, so that ∂L/∂P and
∂L/∂v are two products a point from ∂L/∂e: the same for all, and counted for none.

h is a Gaussian with a FWHM of 0.1 mm, which is K/4.3 pixels where the stencil has K² pixels: outside the
stencil it is below 3e-6 of its peak, so that a stencil cut there and an FFT compute the same dose. The
points are those of a random walk that stays more than half a stencil inside the grid, so that nobody needs
to pad an FFT. A step is as long as lets the walk cover the field; the energies are random, and the largest
dose is 3 D_c. The target T is a lattice of discs with edges as soft as the spot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from laserpath.types import Grid, Spot

Array = NDArray[np.floating]
Result = tuple[float, Array, Array]
"""Loss, ∂L/∂xy (M, 2) per mm, ∂L/∂energy (M,) per mJ."""

FWHM = 0.1
"""mm."""
SIGMA = FWHM / np.sqrt(8 * np.log(2))
AIRY_CUTOFF = 1.0289936 / FWHM
"""2 NA/λ, 1/mm."""
CRITICAL_DOSE = 0.2
"""D_c, mJ/mm²."""
CONTRAST = 10.0
"""β."""
LARGEST_DOSE = 3.0
"""D_c."""

_STENCIL_FWHM = 4.3
_STEP = 2.0
"""Standard deviation of a step, in the field's size ÷ √points."""
_DISC_PERIOD, _DISC_RADIUS, _DISC_EDGE = 16 * FWHM, 5 * FWHM, 0.25 * FWHM


@dataclass(frozen=True)
class Problem:
    """A row: pixels × pixels, `points` points, a stencil of stencil × stencil pixels.

    used: how many of the points are used; 0: all.
    """

    name: str
    pixels: int
    points: int
    stencil: int
    used: int = 0
    profile: str = "gaussian"

    @property
    def spot(self) -> Spot:
        return Spot(fwhm=FWHM, profile=self.profile)

    @property
    def pitch(self) -> float:
        """mm."""
        return FWHM * _STENCIL_FWHM / self.stencil

    @property
    def size(self) -> float:
        """mm."""
        return self.pixels * self.pitch

    @property
    def count(self) -> int:
        """How many points are used."""
        return self.used or self.points

    def grid(self, pixels: int = 0) -> Grid:
        """The row's pixels, or so many pixels across the same square."""
        pitch = self.size / (pixels or self.pixels)
        return Grid((pitch / 2, pitch / 2), pitch, (pixels or self.pixels,) * 2)

    def pixels_at(self, per_fwhm: float) -> int:
        """Pixels across a grid of about so many a FWHM: of small prime factors, not more than the row's."""
        least = int(np.ceil(self.size / FWHM * per_fwhm / 2))
        return min(2 * next(n for n in range(least, 2 * least + 2) if _has_small_factors(n)), self.pixels)

    def first(self, used: int) -> Problem:
        """The same with the first of the points only."""
        return replace(self, used=min(used, self.points))

    def points_and_energies(self) -> tuple[Array, Array]:
        """(M, 2) mm and (M,) mJ, float64."""
        rng = np.random.default_rng(20)
        rim = (self.stencil // 2 + 3) * self.pitch
        step = _STEP * self.size / np.sqrt(self.points)
        walk = self.size / 2 + np.cumsum(rng.normal(0, step, (self.points, 2)), axis=0)
        span = self.size - 2 * rim
        xy = np.abs(np.mod(walk - rim, 2 * span) - span) + rim  # folded back at the rim
        energy = rng.uniform(0.5, 1.5, self.points)
        energy *= LARGEST_DOSE * CRITICAL_DOSE / self._about_the_largest(xy, energy)
        return np.ascontiguousarray(xy[: self.count]), energy[: self.count].copy()

    def _about_the_largest(self, xy: Array, energy: Array) -> float:
        """The largest dose within some per cent, from a histogram."""
        bins = int(6 * self.size / FWHM)
        cell = self.size / bins
        column, row = np.minimum((xy / cell).astype(np.int64), bins - 1).T
        counts = np.bincount(row * bins + column, energy, bins**2).reshape(bins, bins)
        return float(gaussian_filter(counts, SIGMA / cell).max() / cell**2)

    def transfer(self, fx: Array, fy: Array) -> Array:
        """H of the spot at frequencies in 1/mm, broadcast."""
        if self.profile == "gaussian":
            return np.exp(-2 * (np.pi * SIGMA) ** 2 * (fx**2 + fy**2))
        nu = np.minimum(np.hypot(fx, fy) / AIRY_CUTOFF, 1)
        return 2 / np.pi * (np.arccos(nu) - nu * np.sqrt(1 - nu**2))

    def cutoff(self) -> float:
        """f_c in 1/mm, above which H is zero, or adds less than 5e-4 of the peak: ∫ beyond f_c ÷ ∫."""
        if self.profile == "gaussian":
            return float(np.sqrt(np.log(2e3) / 2) / (np.pi * SIGMA))
        return AIRY_CUTOFF

    def target(self, grid: Grid) -> Array:
        """T (rows, columns), float32, at the centres of a grid's pixels."""
        x, y = (np.mod(v, _DISC_PERIOD) - _DISC_PERIOD / 2 for v in (grid.x(), grid.y()))
        target = np.hypot(x[None, :].astype(np.float32), y[:, None].astype(np.float32))
        target -= np.float32(_DISC_RADIUS)
        target /= np.float32(_DISC_EDGE)
        return expit(np.negative(target, out=target), out=target)


SIZES = {
    "S": Problem("S", 512, 5_000, 15),
    "M": Problem("M", 2048, 200_000, 31),
    "L": Problem("L", 4096, 1_000_000, 63),
}


def problem(name: str, used: int = 0, profile: str = "gaussian") -> Problem:
    """The row of that name."""
    return replace(SIZES[name], used=used, profile=profile)


@cache
def _has_small_factors(n: int) -> bool:
    for factor in (2, 3, 5):
        while n % factor == 0:
            n //= factor
    return n == 1


def spline_filter(task: Problem, grid: Grid, order: int = 4) -> Array:
    """What a half spectrum of points splatted with a B-spline is multiplied with to be that of the dose.

    H/(B̂_x B̂_y)/pixel area, (rows, columns//2 + 1): the splat's own blur is taken out.
    """
    rows, columns = grid.shape
    fy, fx = np.fft.fftfreq(rows, grid.pitch)[:, None], np.fft.rfftfreq(columns, grid.pitch)[None, :]
    blur = (np.sinc(fx * grid.pitch) * np.sinc(fy * grid.pitch)) ** order
    return task.transfer(fx, fy) / blur / grid.pixel_area
