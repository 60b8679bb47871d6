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

import math
from dataclasses import dataclass

import numpy as np

from gcode.compiled import cached
from laserpath.base.arrays import Floats, Indices

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
    acting: (M,) shares of the energy that act by a spot's map, in which `energy` has them, and (M, 2) the
    slopes of their logs, 1/mm; None without a map.
    """

    lit: Indices
    start: Indices
    fraction: Floats
    share: Floats
    xy: Floats
    energy: Floats
    acting: tuple[Floats, Floats] | None = None

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
    xy, line_energy = _as_compiled(xy), _as_compiled(line_energy)
    limits, segments = longest(tolerance) * fwhm, len(line_energy)
    lit, pieces, nodes = (np.empty(segments, dtype=np.int64) for _ in range(3))
    start = np.zeros(segments + 1, dtype=np.int64)
    count = _divide(xy, line_energy, limits, lit, pieces, nodes, start)
    total = int(start[count])
    points = Points(
        lit[:count], start[: count + 1],
        np.empty(total), np.empty(total), np.empty((total, 2)), np.empty(total),
    )  # fmt: skip
    _expand(
        xy, line_energy, points.lit, points.start, pieces, nodes, NODE, WEIGHT,
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
    gradient = PathGradient(np.zeros((len(xy), 2)), np.zeros(len(line_energy)))
    d_energy, d_xy = (np.ascontiguousarray(one, dtype=np.float64) for one in (d_energy, d_xy))
    xy, line_energy = _as_compiled(xy), _as_compiled(line_energy)
    _collect(
        points.lit, points.start, points.fraction, points.share, d_energy, d_xy, xy, line_energy,
        gradient.xy, gradient.line_energy,
    )  # fmt: skip
    return gradient


def _as_compiled(values: Floats) -> Floats:
    """The values, not to be written to, as those of paths: other types of arrays are compiled once more."""
    array = np.ascontiguousarray(values, dtype=np.float64).view()
    array.flags.writeable = False
    return array


# One segment after the other, as short as a path: a launch of a Taichi kernel would take as long.
njit = cached(nogil=True)


@njit
def _length(xy: Floats, k: int) -> float:
    """mm, of segment k."""
    return math.hypot(xy[k + 1, 0] - xy[k, 0], xy[k + 1, 1] - xy[k, 1])


@njit
def _divide(
    xy: Floats, energy: Floats, limits: Floats, lit: Indices, pieces: Indices, nodes: Indices, start: Indices
) -> int:
    """Fill in the exposing segments, with the pieces and the points a piece of each; return their number."""
    count = 0
    for k in range(len(energy)):
        length = _length(xy, k)
        if energy[k] != 0 and length > 0:
            parts = max(1, math.ceil(length / limits[-1]))
            n = np.searchsorted(limits[:-1], length / parts) + 1
            lit[count], pieces[count], nodes[count] = k, parts, n
            start[count + 1] = start[count] + parts * n
            count += 1
    return count


@njit
def _expand(
    xy: Floats, energy: Floats, lit: Indices, start: Indices, pieces: Indices, nodes: Indices, node: Floats,
    weight: Floats, place: Floats, carried: Floats, fraction: Floats, share: Floats,
) -> None:  # fmt: skip
    """Fill in the points of the segments: their places, energies, fractions and shares."""
    for s in range(len(lit)):
        k, n = lit[s], nodes[s]
        total, at = energy[k] * _length(xy, k), start[s]
        for piece in range(pieces[s]):
            for i in range(n):
                f = (piece + node[n, i]) / pieces[s]
                fraction[at], share[at] = f, weight[n, i] / pieces[s]
                carried[at] = total * share[at]
                for c in range(2):
                    place[at, c] = xy[k, c] + f * (xy[k + 1, c] - xy[k, c])
                at += 1


@njit
def _collect(
    lit: Indices, start: Indices, fraction: Floats, share: Floats, d_energy: Floats, d_xy: Floats, xy: Floats,
    energy: Floats, by_xy: Floats, by_energy: Floats,
) -> None:  # fmt: skip
    """Add the derivatives of the points to those of the vertices and line energies."""
    for s in range(len(lit)):
        k, by_total = lit[s], 0.0
        for m in range(start[s], start[s + 1]):
            by_total += share[m] * d_energy[m]
            for c in range(2):
                by_xy[k, c] += (1 - fraction[m]) * d_xy[m, c]
                by_xy[k + 1, c] += fraction[m] * d_xy[m, c]
        length = _length(xy, k)
        by_energy[k] = by_total * length
        for c in range(2):
            stretch = by_total * energy[k] * (xy[k + 1, c] - xy[k, c]) / length  # longer is more energy
            by_xy[k, c] -= stretch
            by_xy[k + 1, c] += stretch
