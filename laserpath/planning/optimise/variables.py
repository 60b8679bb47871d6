"""The optimiser's variables: smooth displacements and line energies of a path.

The vertices of one stroke (a run of exposing moves) are displaced by K z, where z is free and K is a Gaussian
with a σ of a third of the FWHM along the stroke, each row summing to one. The path can therefore not become
jagged, and the machine can follow it. A closed ring is smoothed across its seam and stays closed. Line
energies are q = q₀ exp(K_q u), with a narrower K_q, so they stay positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gcode.compiled import njit
from laserpath.base.arrays import Floats, Indices, runs
from laserpath.types import EnergyPath

_REACH = 3.0
"""Gaussians are cut off at this many σ."""
_SHORTEST = 1e-3
"""Shortest column, relative to the median, that a unit makes up for: a move without length has none."""
_LOG_MAX = 50.0
"""Largest change of a log energy, so that no step of a line search overflows."""


@dataclass(frozen=True, slots=True)
class Variables:
    """A linear map from free variables to a path's vertices and line energies.

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
    def of(cls, path: EnergyPath, shift_sigma: float, energy_sigma: float) -> Variables:
        """Variables of all exposing moves of a path; σ in mm."""
        vertices, knots, middles = [], _Lengthwise(), _Lengthwise()
        lengths = path.length
        for first, last in runs(path.on):
            length = lengths[first:last]
            s = np.concatenate([[0.0], np.cumsum(length)])
            meets = bool((path.xy[first] == path.xy[last]).all())
            closed = last - first > 2 and meets and s[-1] > 0
            period = float(s[-1]) if closed else 0.0
            vertices.append(np.arange(first, last + 1))
            nodes = s[:-1] if closed else s
            # The last row of a ring is its first: otherwise rounding opens it, and the next stage takes it
            # for open.
            knots.add(np.append(nodes, nodes[:1]) if closed else nodes, nodes, _shares(nodes, period), period)
            middle = (s[:-1] + s[1:]) / 2
            middles.add(middle, middle, length, period)
        return cls(
            xy=path.xy,
            line_energy=path.energy,
            vertices=np.concatenate(vertices),
            lit=np.flatnonzero(path.on),
            shift=knots.gaussian(shift_sigma),
            log_energy=middles.gaussian(energy_sigma),
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


def _inverse_lengths(matrix: sparse.csr_matrix) -> Floats:
    """One over the Euclidean length of each column, relative to the median."""
    length = np.sqrt(np.bincount(matrix.indices, matrix.data**2, matrix.shape[1]))
    middle = np.median(length)
    return np.asarray(middle / np.maximum(length, _SHORTEST * middle)) if middle > 0 else np.ones(len(length))


def _shares(s: Floats, period: float) -> Floats:
    """The length of curve that belongs to each node, mm. period: 0 of an open stroke."""
    if len(s) == 1:
        return np.ones(1)
    if period > 0:
        gap = np.diff(np.concatenate([s, [s[0] + period]]))
        return (gap + np.roll(gap, 1)) / 2
    gap = np.diff(s)
    return np.concatenate([[gap[0]], gap[:-1] + gap[1:], [gap[-1]]]) / 2


class _Lengthwise:
    """Strokes by arc length: places where there are values, and nodes with their shares of the curve, mm."""

    def __init__(self) -> None:
        self._places: list[Floats] = []
        self._nodes: list[Floats] = []
        self._shares: list[Floats] = []
        self._periods: list[float] = []

    def add(self, places: Floats, nodes: Floats, share: Floats, period: float) -> None:
        """Add a stroke; its nodes ascend. period: of a ring; 0: open."""
        self._places.append(places)
        self._nodes.append(nodes)
        # In a design far smaller than the spot a stroke may shrink to a point; its nodes then count alike.
        self._shares.append(share if share.any() else np.ones(len(nodes)))
        self._periods.append(period)

    def gaussian(self, sigma: float) -> sparse.csr_matrix:
        """(places, nodes) Gaussian weights over arc length along each stroke; each row sums to one."""
        places, nodes, share = (np.concatenate(part) for part in (self._places, self._nodes, self._shares))
        rows, columns = (
            np.cumsum([0, *map(len, part)], dtype=np.int64) for part in (self._places, self._nodes)
        )
        curve = (places, rows, nodes, share, columns, np.array(self._periods))
        pointer = np.zeros(len(places) + 1, dtype=np.int64)
        index, value = np.empty(0, dtype=np.int64), np.empty(0)
        _weigh(*curve, sigma, pointer, index, value)
        pointer = np.cumsum(pointer)
        index, value = np.empty(pointer[-1], dtype=np.int64), np.empty(pointer[-1])
        _weigh(*curve, sigma, pointer, index, value)
        matrix = sparse.csr_matrix((value, index, pointer), shape=(len(places), len(nodes)))
        matrix.sum_duplicates()  # a small ring reaches around itself
        return matrix


@njit
def _weigh(
    places: Floats, rows: Indices, nodes: Floats, share: Floats, columns: Indices, periods: Floats,
    sigma: float, pointer: Indices, index: Indices, value: Floats,
) -> None:  # fmt: skip
    """Fill in the weights of a CSR matrix; without `value` count them: pointer[k + 1] of row k.

    rows, columns: first place and node of each stroke, and the end.
    """
    reach = _REACH * sigma
    for stroke in range(len(periods)):
        first, period = columns[stroke], periods[stroke]
        own = nodes[first : columns[stroke + 1]]
        turns = int(reach // period) + 1 if period > 0 else 0
        for k in range(rows[stroke], rows[stroke + 1]):
            entry, total = pointer[k], 0.0
            for turn in range(-turns, turns + 1):
                at = places[k] - turn * period
                low, high = np.searchsorted(own, at - reach), np.searchsorted(own, at + reach, side="right")
                if len(value) == 0:
                    pointer[k + 1] += high - low
                    continue
                for n in range(low, high):
                    weight = share[first + n] * math.exp(-0.5 * ((at - own[n]) / sigma) ** 2)
                    index[entry], value[entry] = first + n, weight
                    entry, total = entry + 1, total + weight
            for e in range(pointer[k], entry):
                value[e] /= total
