"""The dose of one straight segment in closed form, or by adaptive quadrature.

Gaussian spot, h = exp(−r²/2σ²)/(2πσ²), FWHM = σ√(8 ln 2). With t and n the distances of a pixel from the
start, along the segment and across it, and line energy q:

    D = q exp(−n²/2σ²)/(σ√(2π)) · ½ [erf((L − t)/(σ√2)) + erf(t/(σ√2))].

An elliptical spot is a round one in coordinates stretched along its axes, where the segment's length
changes and with it the line energy. Airy: h = (π NA²/λ²) [2 J₁(x)/x]², x = 2π NA r/λ, integrated along the
segment by Gauss–Kronrod with bisection (scipy.integrate.quad_vec).
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad_vec
from scipy.special import erf, j1

from laserpath.base.arrays import Floats
from laserpath.types import Grid, Spot


def gaussian_segment(grid: Grid, spot: Spot, start: Floats, end: Floats, q: float = 1.0) -> Floats:
    """Dose (rows, columns) mJ/mm² of a Gaussian spot in focus, elliptical or round."""
    turn = np.deg2rad(spot.angle)
    axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    round_ = axes / np.array([[np.sqrt(spot.aspect)], [1 / np.sqrt(spot.aspect)]])  # area stays
    x, y = np.meshgrid(grid.x(), grid.y())
    a, b = round_ @ start, round_ @ end
    length, before = np.hypot(*(b - a)), np.hypot(*(np.subtract(end, start)))
    if length == 0:
        return np.zeros(grid.shape)
    along = (b - a) / length
    px, py = round_ @ np.stack([x.ravel(), y.ravel()]) - a[:, None]
    t, n = px * along[0] + py * along[1], py * along[0] - px * along[1]
    sigma = spot.fwhm / np.sqrt(8 * np.log(2) * spot.photons)
    across = np.exp(-(n**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))
    root = sigma * np.sqrt(2)
    ends = 0.5 * (erf((length - t) / root) + erf(t / root))
    energy = (4 * np.log(2) / (np.pi * spot.fwhm**2)) ** (spot.photons - 1) / spot.photons
    return (energy * q * before / length * across * ends).reshape(grid.shape)


def airy_segment(grid: Grid, spot: Spot, start: Floats, end: Floats, q: float = 1.0) -> Floats:
    """Dose (rows, columns) mJ/mm² of an Airy spot in focus, to 1e-9 of its peak."""
    length = float(np.hypot(*np.subtract(end, start)))
    x, y = np.meshgrid(grid.x(), grid.y())
    k = 2 * 1.6163399483107026 / spot.fwhm  # 2π NA/λ

    def along(fraction: float) -> Floats:
        cx, cy = np.asarray(start) + fraction * np.subtract(end, start)
        r = np.maximum(k * np.hypot(x - cx, y - cy), 1e-9)
        return k**2 / (4 * np.pi) * (2 * j1(r) / r) ** 2

    step = 2 * spot.fwhm / max(length, 1e-300)
    breaks = np.arange(step, 1, step) if step < 1 else None
    peak = k**2 / (4 * np.pi)
    total, _ = quad_vec(along, 0, 1, epsabs=1e-10 * peak, epsrel=0, norm="max", points=breaks)
    return q * length * total
