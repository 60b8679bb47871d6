"""Cubic Bézier curves → polylines within a stated distance.

Every curve is a chain of cubics B(t) = Σ bᵢ(t) Pᵢ: lines and quadratics exactly, elliptic
arcs in pieces of at most 22.5°, whose largest radial error is 7e-8 of the radius. Cubics are
affine-invariant, so they can be transformed before they are flattened.

Flatness: the distance to the segment P₀P₃ is a convex function, so on the curve it is at most
Σ bᵢ dᵢ = b₁ d₁ + b₂ d₂ ≤ ¾ max(d₁, d₂), with dᵢ the distance of Pᵢ. A piece that may be farther
than the tolerance is halved (de Casteljau).

cubics: (n, 4, 2), piece k from [k, 0] to [k, 3], which is [k+1, 0].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats

ARC_STEP = np.pi / 8  # largest angle of one cubic of an arc, radians
ROUNDS = 24  # most halvings: 2²⁴ pieces per curve


@dataclass(frozen=True, slots=True)
class Subpath:
    """One stroke of the pen. cubics: (n, 4, 2), n ≥ 1."""

    cubics: Floats
    closed: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """Cubics to be flattened. tolerance: largest distance from the curve.

    turn: pieces are also halved until their end tangents differ by less (radians). Strokes need
    this, since their edges lie off the curve.
    """

    cubics: Floats
    tolerance: float
    turn: float = np.inf


@dataclass(frozen=True, slots=True)
class Polyline:
    """points: (n, 2) vertices.  joint: (n,) whether a vertex is the end of a cubic, not of a piece of one."""

    points: Floats
    joint: Bools


def lines(points: ArrayLike) -> Floats:
    """(n+1, 2) vertices → (n, 4, 2) straight cubics."""
    p = np.asarray(points, dtype=np.float64)
    return np.stack([p[:-1], p[:-1], p[1:], p[1:]], axis=1)


def arc(centre: ArrayLike, x_axis: ArrayLike, y_axis: ArrayLike, start: float, sweep: float) -> Floats:
    """The elliptic arc centre + x_axis·cos θ + y_axis·sin θ, θ from `start` over `sweep` (radians)."""
    n = max(1, int(np.ceil(abs(sweep) / ARC_STEP - 1e-9)))
    step = sweep / n
    theta = start + step * np.arange(n + 1)
    unit = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    tangent = 4 / 3 * np.tan(step / 4) * np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    controls = np.stack(
        [unit[:-1], unit[:-1] + tangent[:-1], unit[1:] - tangent[1:], unit[1:]],
        axis=1,
    )
    return np.asarray(controls @ np.array([x_axis, y_axis], dtype=np.float64) + centre, dtype=np.float64)


def flatten(cubics: Floats, tolerance: float) -> Floats:
    """(m+1, 2) vertices of the polyline, first point included."""
    return polylines([Chain(cubics, tolerance)])[0].points


def polylines(chains: Sequence[Chain]) -> list[Polyline]:
    """Each chain flattened. Flatten many at once: a thousand take little longer than one."""
    if not chains:
        return []
    sizes = np.array([len(c.cubics) for c in chains])
    cubics = np.concatenate([c.cubics for c in chains])
    tolerance = np.repeat([c.tolerance for c in chains], sizes)
    turn = np.repeat([c.turn for c in chains], sizes)
    key, end = _pieces(cubics, tolerance, turn)
    out = []
    first = np.cumsum(sizes) - sizes  # index of each chain's first cubic
    splits = np.searchsorted(key, first[1:])
    for c, k, xy in zip(chains, np.split(key, splits), np.split(end, splits), strict=True):
        joint = np.concatenate([[True], k[1:] % 1 == 0, [True]])  # where a piece begins a cubic
        out.append(Polyline(np.concatenate([c.cubics[:1, 0], xy]), joint))
    return out


def _pieces(cubics: Floats, tolerance: Floats, turn: Floats) -> tuple[Floats, Floats]:
    """(m,) where each flat piece begins, counted in cubics (cubic k spans k to k+1); (m, 2) its end point."""
    key = np.arange(len(cubics), dtype=np.float64)
    width = 1.0
    keys, ends, done = [], [], 0
    for _ in range(ROUNDS):
        flat = _is_flat(cubics, tolerance) & _is_straight(cubics, turn, tolerance)
        keys.append(key[flat])
        ends.append(cubics[flat, 3])
        bent = ~flat
        done += len(cubics)
        if done > limits.now().pieces:
            raise limits.uncounted(
                "its curves take more than {} straight pieces",
                "pieces",
                "split the design, check its unit, take a wider spot",
            )
        if not bent.any():
            break
        width /= 2
        cubics, tolerance, turn = (
            _halve(cubics[bent]),
            np.repeat(tolerance[bent], 2),
            np.repeat(turn[bent], 2),
        )
        key = np.stack([key[bent], key[bent] + width], axis=1).ravel()
    else:
        keys.append(key)
        ends.append(cubics[:, 3])
    begin = np.concatenate(keys)
    order = np.argsort(begin)
    return begin[order], np.concatenate(ends)[order]


def _is_flat(c: Floats, tolerance: Floats) -> Bools:
    """(n,) whether the curve is within the tolerance of its chord."""
    chord = c[:, 3] - c[:, 0]
    square = np.einsum("ij,ij->i", chord, chord)
    worst = np.zeros(len(c))
    for k in (1, 2):
        arm = c[:, k] - c[:, 0]
        along = np.einsum("ij,ij->i", arm, chord)
        s = np.clip(np.divide(along, square, out=np.zeros_like(along), where=square > 0), 0, 1)
        foot = arm - s[:, None] * chord
        worst = np.maximum(worst, np.einsum("ij,ij->i", foot, foot))
    flat: Bools = 0.75**2 * worst <= tolerance**2
    return flat


def _is_straight(c: Floats, turn: Floats, tolerance: Floats) -> Bools:
    """(n,) whether the end tangents differ by at most `turn`; pieces far below the tolerance always pass."""
    if not np.isfinite(turn).any():
        return np.ones(len(c), dtype=bool)
    chord = c[:, 3] - c[:, 0]
    first = np.where((c[:, 1] != c[:, 0]).any(1)[:, None], c[:, 1] - c[:, 0], chord)
    last = np.where((c[:, 2] != c[:, 3]).any(1)[:, None], c[:, 3] - c[:, 2], chord)
    cross = first[:, 0] * last[:, 1] - first[:, 1] * last[:, 0]
    angle = np.abs(np.arctan2(cross, np.einsum("ij,ij->i", first, last)))
    span = np.abs(c - c[:, :1]).max(axis=(1, 2))
    straight: Bools = (angle <= turn) | (span < 0.01 * tolerance)
    return straight


def _halve(c: Floats) -> Floats:
    """(n, 4, 2) → (2n, 4, 2), both halves of each in order."""
    p0, p1, p2, p3 = c[:, 0], c[:, 1], c[:, 2], c[:, 3]
    p01, p12, p23 = (p0 + p1) / 2, (p1 + p2) / 2, (p2 + p3) / 2
    p012, p123 = (p01 + p12) / 2, (p12 + p23) / 2
    middle = (p012 + p123) / 2
    halves = [p0, p01, p012, middle, middle, p123, p23, p3]
    return np.stack(halves, axis=1).reshape(-1, 4, 2)
