"""What the default engine sums, as numbers: the description that `in_torch` and `in_jax` compute anew.

Written from the documented formulas, without the engine's kernels, filters or transforms; of the engine
itself only the sizes that it publishes are read. With points x_p of energy e_p,

    D = crop irfft2( F · rfft2( Σ_p e_p B((x − x_p)/p_x) B((y − y_p)/p_y) ) ) − far tail of the copies,

B the B-spline of even order n on the splat's grid, F = H/(blur · pixel area), at the modes that are kept,
blur = [sinc(f_x p_x) sinc(f_y p_y)]^n. The copies of an Airy spot on the periodic grid have the mean tail

    C(d) = Σ_{n ≠ 0} h̄(d + n L),   h̄(r) = c/r³,   c = 1/(π² k),   k = 2π NA/λ

(from J₁²(x) → (2/πx) cos²(x − 3π/4), averaged), convolved on coarse nodes and interpolated linearly.
Segments become Gauss–Legendre points: as many as the table of `segments` says for their length.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, factorial, pi
from typing import Any

import numpy as np
from scipy.fft import next_fast_len
from scipy.integrate import quad

from laserpath.base.arrays import Floats, Indices
from laserpath.physics.dose.fft import FftEngine
from laserpath.physics.dose.segments import longest
from laserpath.types import Grid, Spot

_HALF_MAXIMUM = 1.6163399483107026
"""x of [2 J₁(x)/x]² = 1/2."""
_IMAGES, _MARGIN = 4, 2


@dataclass(frozen=True)
class Canvas:
    """A grid to write points on. order: of the B-spline, and how many pixels wide it is.

    origin, pitch: (x, y) mm.  shape: (rows, columns).  rate: a of exp(−a t²), which then is the weight at t
    pixels instead of the spline.
    """

    order: int
    origin: tuple[float, float]
    pitch: tuple[float, float]
    shape: tuple[int, int]
    rate: float | None = None

    def weight(self, xp: Any, t: Any) -> Any:
        """B(t) or the Gaussian, with the functions of torch or jax.numpy."""
        return spline(xp, t, self.order) if self.rate is None else xp.exp(-self.rate * t**2)


@dataclass(frozen=True)
class FarTail:
    """canvas: the nodes.  transfer: rfft2 of C on `wide` nodes.  rows, columns: node → pixel, linearly."""

    canvas: Canvas
    wide: tuple[int, int]
    transfer: Floats
    rows: Floats
    columns: Floats


@dataclass(frozen=True, eq=False)
class Discretisation:
    """modes: largest whole frequencies (K_y, K_x).  filter: (2 K_y + 1, K_x + 1).

    fine: shape of the inverse FFT.  crop: which of its rows and columns are the picture's.
    limits: longest segment for 1 … 8 points, mm.
    """

    canvas: Canvas
    modes: tuple[int, int]
    filter: Floats
    fine: tuple[int, int]
    crop: tuple[slice, slice]
    limits: Floats
    tail: FarTail | None

    @property
    def corner(self) -> tuple[float, float]:
        """Where the picture begins, (x, y) mm: a place to put a point."""
        (x0, y0), (px, py), (rows, columns) = self.canvas.origin, self.canvas.pitch, self.canvas.shape
        top, left = (s.start / n for s, n in zip(self.crop, self.fine, strict=True))
        return x0 + px * columns * left, y0 + py * rows * top

    def rows(self, count: int) -> Indices:
        """Where the kept rows of the spectrum are in an FFT over `count` rows."""
        ky = self.modes[0]
        return np.concatenate([np.arange(ky + 1), np.arange(count - ky, count)])

    def cuts(self, length: Floats, line_energy: Floats) -> Cuts:
        """The Gauss points of the segments that have a length and a line energy."""
        found = []
        for k in np.flatnonzero((line_energy != 0) & (length > 0)):
            pieces = max(1, ceil(length[k] / self.limits[-1]))
            enough = np.flatnonzero(self.limits >= length[k] / pieces)
            points = int(enough[0]) + 1 if len(enough) else len(self.limits)
            node, weight = np.polynomial.legendre.leggauss(points)
            found += [
                (k, (i + (1 + x) / 2) / pieces, w / 2 / pieces)
                for i in range(pieces)
                for x, w in zip(node, weight, strict=True)
            ]
        segment, fraction, share = zip(*found, strict=True) if found else ((), (), ())
        return Cuts(np.array(segment, dtype=np.int64), np.array(fraction), np.array(share))


@dataclass(frozen=True)
class Cuts:
    """(M,) each: the segment of every Gauss point, its place 0..1 along it, its part of the energy."""

    segment: Indices
    fraction: Floats
    share: Floats


def spline(xp: Any, t: Any, order: int) -> Any:
    """B(t) of an even order, n pixels wide, by truncated powers, with the functions of torch or jax.numpy.

    Σ_k (−1)^k C(n, k) (n/2 − |t| − k)₊^{n−1}/(n−1)!, from the nearer end, where the terms stay small.
    """
    from_end = order / 2 - xp.abs(t)
    zero = 0 * from_end
    powers = [
        (-1) ** k * comb(order, k) * xp.where(from_end > k, from_end - k, zero) ** (order - 1)
        for k in range(order // 2 + 1)
    ]
    return sum(powers) / factorial(order - 1)


def stencil(grid: Grid, spot: Spot, width: int) -> tuple[Canvas, float]:
    """The direct engine's, of a round Gaussian: a box of `width` pixels on the picture, and the peak of h."""
    rate = 4 * np.log(2) * (grid.pitch / spot.fwhm) ** 2
    canvas = Canvas(width, grid.origin, (grid.pitch, grid.pitch), grid.shape, rate)
    return canvas, rate / (pi * grid.pitch**2)


def of(engine: FftEngine, spot: Spot, tolerance: float) -> Discretisation:
    """The discretisation of an engine for a round spot in focus, Airy or Gaussian."""
    splat, padded, (ky, kx) = engine.splat, engine.padded, engine.modes
    canvas = Canvas(splat.order, splat.origin, splat.pitch, splat.shape)
    (rows, columns), p = padded.shape, padded.pitch
    fy = np.concatenate([np.arange(ky + 1), np.arange(-ky, 0)])[:, None] / (rows * p)
    fx = np.arange(kx + 1)[None, :] / (columns * p)
    blur = (np.sinc(fx * splat.pitch[0]) * np.sinc(fy * splat.pitch[1])) ** splat.order
    return Discretisation(
        canvas=canvas,
        modes=(ky, kx),
        filter=transfer(spot, np.hypot(fx, fy)) / blur / p**2,
        fine=padded.shape,
        crop=engine.crop,
        limits=longest(tolerance) * spot.fwhm,
        tail=_tail(engine, spot) if spot.profile == "airy" else None,
    )


def transfer(spot: Spot, frequency: Floats) -> Floats:
    """H(f) of a round spot in focus: the circular aperture's self-overlap, or the Gaussian's transform."""
    if spot.profile == "gaussian":
        sigma = spot.fwhm / np.sqrt(8 * np.log(2))
        return np.exp(-2 * (pi * sigma * frequency) ** 2)
    nu = np.minimum(frequency * spot.fwhm * pi / (2 * _HALF_MAXIMUM), 1)  # FWHM = 2·1.616/(2π) λ/NA
    return 2 / pi * (np.arccos(nu) - nu * np.sqrt(1 - nu**2))


def _tail(engine: FftEngine, spot: Spot) -> FarTail:
    grid, padded, ratio = engine.grid, engine.padded, engine._tail.ratio
    step = ratio * grid.pitch
    shape = tuple(ceil(n / ratio) + 2 * _MARGIN + 1 for n in grid.shape)
    wide = tuple(next_fast_len(2 * n, real=True) for n in shape)
    y, x = (np.fft.fftfreq(n, 1 / n) * step for n in wide)
    period = np.array(padded.shape) * padded.pitch
    gap = (period - np.array(grid.shape) * grid.pitch).min()
    c = spot.fwhm / (2 * _HALF_MAXIMUM * pi**2)
    field = _copies(x[None, :], y[:, None], period[1], period[0], gap / 2) * c
    x0, y0 = grid.origin
    return FarTail(
        canvas=Canvas(4, (x0 - _MARGIN * step, y0 - _MARGIN * step), (step, step), shape),
        wide=wide,
        transfer=np.fft.rfft2(field).real,
        rows=_linear(grid.shape[0], shape[0], ratio),
        columns=_linear(grid.shape[1], shape[1], ratio),
    )


def _copies(x: Floats, y: Floats, lx: float, ly: float, nearest: float) -> Floats:
    """Σ r^−3 over all copies but the one in the middle: the near ones summed, the far ones as an integral."""
    total = np.zeros((y.shape[0], x.shape[1]))
    images = range(-_IMAGES, _IMAGES + 1)
    for m, n in [(m, n) for m in images for n in images if m or n]:
        total += np.maximum(np.hypot(x + m * lx, y + n * ly), nearest) ** -3.0
    a, b = (_IMAGES + 0.5) * lx, (_IMAGES + 0.5) * ly
    for i, j in [(a + x, b + y), (a + x, b - y), (a - x, b + y), (a - x, b - y)]:
        total += np.hypot(i, j) / (i * j) / (lx * ly)
    return total - (_midpoint(a, b, lx) + _midpoint(b, a, ly)) / (lx * ly)


def _midpoint(a: float, b: float, step: float) -> float:
    """What a sum at midpoints lacks of the integral beyond x = ±a: step²/24 · 2 ∫ |∂(r^−3)/∂x| dy."""
    return step**2 / 12 * quad(lambda y: 3 * a / np.hypot(a, y) ** 5, -b, b, epsabs=0, epsrel=1e-12)[0]


def _linear(pixels: int, nodes: int, ratio: int) -> Floats:
    """(pixels, nodes): the weights of linear interpolation."""
    weight, i = np.zeros((pixels, nodes)), np.arange(pixels)
    weight[i, _MARGIN + i // ratio] = 1 - i % ratio / ratio
    weight[i, _MARGIN + i // ratio + 1] = i % ratio / ratio
    return weight


def relative(found: Floats, expected: Floats) -> float:
    """Largest deviation ÷ largest value of the expected array: the error of an array as a whole."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape
    assert np.isfinite(found).all()
    return float(np.abs(found - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-300))
