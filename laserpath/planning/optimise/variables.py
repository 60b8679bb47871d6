"""The optimiser's variables: smooth displacements and line energies of a toolpath.

The vertices of one stroke (a run of exposing moves) are displaced by K z, where z is free and K is a Gaussian
with a σ of a third of the FWHM along the stroke, each row summing to one. The path can therefore not become
jagged, and the machine can follow it. A closed ring is smoothed across its seam and stays closed. Line
energies are q = q₀ exp(K_q u), with a narrower K_q, so they stay positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.types import Toolpath

_REACH = 3.0
"""Gaussians are cut off at this many σ."""
_SHORTEST = 1e-3
"""Shortest column, relative to the median, that a unit makes up for: a move without length has none."""
_LOG_MAX = 50.0
"""Largest change of a log energy, so that no step of a line search overflows."""


@dataclass(frozen=True, slots=True)
class Variables:
    """A linear map from free variables to a toolpath's vertices and line energies.

    vertices: (n,) indices of the vertices that move.  lit: (m,) indices of exposing moves.
    shift: (n, k) matrix; the last vertex of a closed ring has the same row as the first one.
    log_energy: (m, m) matrix.
    """

    xy: Floats
    line_energy: Floats
    vertices: Indices
    lit: Indices
    shift: sparse.csr_matrix
    log_energy: sparse.csr_matrix

    @classmethod
    def of(cls, path: Toolpath, line_energy: Floats, shift_sigma: float, energy_sigma: float) -> Variables:
        """Variables of all exposing moves of `path`, whose line energies (N,) are given; σ in mm."""
        vertices, columns, shifts, energies = [], 0, [], []
        for first, last in runs(path.on):
            length = path.length[first:last]
            s = np.concatenate([[0.0], np.cumsum(length)])
            meets = bool((path.xy[first] == path.xy[last]).all())
            closed = last - first > 2 and meets and s[-1] > 0
            period = float(s[-1]) if closed else None
            vertices.append(np.arange(first, last + 1))
            nodes = s[:-1] if closed else s
            kernel = _gaussian(nodes, nodes, _shares(nodes, period), shift_sigma, period)
            # The rows are identical: otherwise rounding opens the ring, and the next stage takes it for open.
            shifts.append(kernel[np.append(np.arange(len(nodes)), 0)] if closed else kernel)
            middle = (s[:-1] + s[1:]) / 2
            energies.append(_gaussian(middle, middle, length, energy_sigma, period))
            columns += len(nodes)
        return cls(
            xy=path.xy,
            line_energy=line_energy,
            vertices=np.concatenate(vertices),
            lit=np.flatnonzero(path.on),
            shift=sparse.block_diag(shifts, format="csr"),
            log_energy=sparse.block_diag(energies, format="csr"),
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """(k, m): the number of displacements, of x and y each, and of log energies."""
        return self.shift.shape[1], self.log_energy.shape[1]

    @property
    def units(self) -> tuple[Floats, Floats]:
        """(k,) and (m,): changes of each variable that change the path alike, about 1.

        A node of a long move displaces more of the curve than one of a short move: its column of the matrix
        is longer, about as the root of its share of the curve. Without these units a descent depends on where
        the vertices are, and is slow where their distances differ.
        """
        shift, log_energy = (_inverse_lengths(matrix) for matrix in (self.shift, self.log_energy))
        return shift, log_energy

    def path(self, z: Floats, u: Floats) -> tuple[Floats, Floats]:
        """(N+1, 2) vertices and (N,) line energies for z: (k, 2) mm and u: (m,)."""
        xy, energy = self.xy.copy(), self.line_energy.copy()
        xy[self.vertices] += self.shift @ z
        energy[self.lit] *= np.exp(np.clip(self.log_energy @ u, -_LOG_MAX, _LOG_MAX))
        return xy, energy

    def pull(self, d_xy: Floats, d_energy: Floats, energy: Floats) -> tuple[Floats, Floats]:
        """Derivatives by vertex and line energy → derivatives by z (k, 2) and u (m,)."""
        return self.shift.T @ d_xy[self.vertices], self.log_energy.T @ (d_energy * energy)[self.lit]


def runs(on: Bools) -> list[tuple[int, int]]:
    """(first, last + 1) of each run of exposing moves."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _inverse_lengths(matrix: sparse.csr_matrix) -> Floats:
    """One over the Euclidean length of each column, relative to the median."""
    length = np.sqrt(np.bincount(matrix.indices, matrix.data**2, matrix.shape[1]))
    middle = np.median(length)
    return np.asarray(middle / np.maximum(length, _SHORTEST * middle)) if middle > 0 else np.ones(len(length))


def _shares(s: Floats, period: float | None) -> Floats:
    """The length of curve that belongs to each node, mm."""
    if len(s) == 1:
        return np.ones(1)
    if period is not None:
        gap = np.diff(np.concatenate([s, [s[0] + period]]))
        return (gap + np.roll(gap, 1)) / 2
    gap = np.diff(s)
    return np.concatenate([[gap[0]], gap[:-1] + gap[1:], [gap[-1]]]) / 2


def _gaussian(
    places: Floats, nodes: Floats, share: Floats, sigma: float, period: float | None
) -> sparse.csr_matrix:
    """(len(places), len(nodes)) Gaussian weights over arc length; each row sums to one."""
    n = len(nodes)
    # In a design far smaller than the spot a stroke may shrink to a point; its nodes then count alike.
    share = share if share.any() else np.ones(n)
    column, where, weight = np.arange(n), nodes, share
    if period is not None:
        turns = range(-int(_REACH * sigma // period) - 1, int(_REACH * sigma // period) + 2)
        where = np.concatenate([nodes + t * period for t in turns])
        column, weight = np.tile(column, len(turns)), np.tile(share, len(turns))
    low = np.searchsorted(where, places - _REACH * sigma, side="left")
    high = np.searchsorted(where, places + _REACH * sigma, side="right")
    count = high - low
    row = np.repeat(np.arange(len(places)), count)
    k = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + low[row]
    value = weight[k] * np.exp(-0.5 * ((places[row] - where[k]) / sigma) ** 2)
    value /= np.bincount(row, value, len(places))[row]
    return sparse.csr_matrix((value, (row, column[k])), shape=(len(places), n))
