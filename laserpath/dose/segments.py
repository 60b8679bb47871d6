"""Segments ↔ points: the quadrature of D(x) = Σ_k q_k ∫_segment_k h(x − γ(s)) ds.

A segment is executed with a constant line energy q (mJ/mm). A segment of length L becomes the n ≤ 8 points of
a Gauss–Legendre rule; one too long for 8 is first cut into equal pieces. A point with weight w (Σ w = 1)
carries q L w (mJ). n is the smallest that keeps the dose of a single segment within half of the tolerance of
its own peak everywhere, its ends included: `_LONGEST` is the largest L/FWHM for n = 1 … 8, the smaller of an
Airy and a Gaussian spot, measured by `docs/figures/quadrature.py`. So a segment of one FWHM takes 4 points
and a long one 2.5 per FWHM, where 2 points on every half FWHM took 4.

A segment of length zero has no energy and no gradient (M4 is dark standing still).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats, Indices
from laserpath.dose.kernels import quadrature

_LONGEST = {
    5e-4: (0.046, 0.39, 0.86, 1.34, 1.81, 2.27, 2.72, 3.17),
    5e-5: (0.014, 0.21, 0.58, 0.99, 1.41, 1.82, 2.23, 2.63),
    5e-6: (0.004, 0.12, 0.39, 0.74, 1.11, 1.48, 1.85, 2.22),
    5e-7: (0.001, 0.069, 0.27, 0.55, 0.87, 1.21, 1.55, 1.89),
}  # fmt: skip
"""Error relative to the peak → longest segment, in FWHM, for 1 … 8 points."""

_MOST = 8


def _rules() -> tuple[Floats, Floats]:
    """Nodes in 0..1 and weights of sum 1, (9, 8): row n is the rule with n points."""
    node, weight = np.zeros((_MOST + 1, _MOST)), np.zeros((_MOST + 1, _MOST))
    for n in range(1, _MOST + 1):
        x, w = np.polynomial.legendre.leggauss(n)
        node[n, :n], weight[n, :n] = (1 + x) / 2, w / 2
    return node, weight


NODE, WEIGHT = _rules()


@dataclass(frozen=True, slots=True)
class Points:
    """Quadrature points of a polyline.

    lit: (S,) the exposing segments.  start: (S + 1,) where the points of each begin, and the end.
    fraction: (M,) place along the segment, 0..1.  share: (M,) part of the segment's energy.
    xy: (M, 2) mm.  energy: (M,) mJ.
    """

    lit: Indices
    start: Indices
    fraction: Floats
    share: Floats
    xy: Floats
    energy: Floats

    @property
    def segment(self) -> Indices:
        """(M,) index of each point's segment, ascending."""
        return np.repeat(self.lit, np.diff(self.start))


@dataclass(frozen=True, slots=True)
class PathGradient:
    """Derivatives of a scalar. xy: (N+1, 2) per mm.  line_energy: (N,) per mJ/mm."""

    xy: Floats
    line_energy: Floats


def longest(tolerance: float) -> Floats:
    """Longest segment, in FWHM, for 1 … 8 points within half of the tolerance of a segment's peak dose."""
    return np.array(_LONGEST[max(error for error in _LONGEST if error <= tolerance / 2 * (1 + 1e-9))])


def to_points(xy: Floats, line_energy: Floats, fwhm: float, tolerance: float) -> Points:
    """Quadrature points of the exposing segments of a polyline; fwhm: of the spot's narrow axis, mm."""
    xy = np.ascontiguousarray(xy, dtype=np.float64)
    step = np.diff(xy, axis=0)
    length = np.hypot(step[:, 0], step[:, 1])
    lit = np.flatnonzero((line_energy != 0) & (length > 0))
    limits = longest(tolerance) * fwhm
    pieces = np.maximum(1, np.ceil(length[lit] / limits[-1])).astype(np.int32)
    nodes = np.searchsorted(limits[:-1], length[lit] / pieces) + 1
    start = np.concatenate([[0], np.cumsum(pieces * nodes)])
    total = int(start[-1])
    points = Points(lit, start, np.empty(total), np.empty(total), np.empty((total, 2)), np.empty(total))
    energy = (line_energy * length)[lit]
    if total:
        quadrature().expand(
            xy, energy, lit, start.astype(np.int32), pieces, nodes.astype(np.int32), NODE, WEIGHT,
            points.xy, points.energy, points.fraction, points.share,
        )  # fmt: skip
    return points


def from_points(
    points: Points, d_energy: Floats, d_xy: Floats, xy: Floats, line_energy: Floats
) -> PathGradient:
    """The chain rule back: derivatives per point → per vertex and line energy.

    d_energy: (M,) derivative with respect to the points' energies; d_xy: (M, 2) to their
    positions (their energies included: ∂L/∂x of a point of energy e is e ∇g).
    """
    n = len(points.lit)
    per_energy, at_start, at_end = np.zeros(n), np.zeros((n, 2)), np.zeros((n, 2))
    if n:
        quadrature().collect(
            points.start.astype(np.int32),
            points.fraction,
            points.share,
            d_energy,
            d_xy,
            per_energy,
            at_start,
            at_end,
        )
    step = xy[points.lit + 1] - xy[points.lit]
    length = np.hypot(step[:, 0], step[:, 1])
    # Longer is more energy.
    stretch = (per_energy * line_energy[points.lit] / length)[:, None] * step
    gradient, per_line = np.zeros(xy.shape), np.zeros(len(line_energy))
    gradient[points.lit] += at_start - stretch
    gradient[points.lit + 1] += at_end + stretch
    per_line[points.lit] = per_energy * length
    return PathGradient(xy=gradient, line_energy=per_line)
