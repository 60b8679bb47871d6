"""Open curves whose ends meet → closed loops.

Ends no farther apart than the tolerance are one node. Two loose ends, each the nearest to the other, are
one node too if the gap between them is small. Curves with a loose end are removed, one after the other.
Where an even number of ends is left at every node, the curves are a sum of closed loops, and every way
to traverse them gives the same even-odd area. Where three curves meet, say at a line that divides a
rectangle, that is undefined: such curves branch, and are no loops.

ends: (n, 2, 2), the first and the last point of n curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from laserpath.base.arrays import Bools, Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap between two ends. width: mm.  place: its middle, mm."""

    width: float
    place: tuple[float, float]

    @property
    def at(self) -> str:
        """The place for a message: `(10, 6) mm`."""
        return f"({self.place[0]:.5g}, {self.place[1]:.5g}) mm"


@dataclass(frozen=True, slots=True)
class Loops:
    """loops: the curves of each in order, and whether each is reversed.  open, branching: (n,) the other
    curves.

    nearest: the smallest gap between two loose ends; None if there are fewer.
    """

    loops: list[list[tuple[int, bool]]]
    open: Bools
    branching: Bools
    nearest: Gap | None


def joined(ends: Floats, tolerance: float, gap: float = 0.0) -> Loops:
    """The loops of curves. gap: largest distance of two loose ends that are taken to meet."""
    if len(ends) == 0:
        none = np.zeros(0, dtype=bool)
        return Loops([], none, none.copy(), None)
    nodes = _bridged(ends, _nodes(ends.reshape(-1, 2), tolerance).reshape(-1, 2), gap)
    live = _without_loose(nodes)
    degree = np.bincount(nodes[live].ravel(), minlength=nodes.max() + 1)
    links = (np.ones(live.sum()), (nodes[live, 0], nodes[live, 1]))
    graph = coo_array(links, shape=(len(degree), len(degree)))
    island = connected_components(graph, directed=False)[1]
    odd = np.isin(island, island[degree % 2 == 1])
    branching = live & odd[nodes[:, 0]]
    return Loops(_trails(nodes, live & ~branching), ~live, branching, _nearest(ends, nodes))


def _nodes(points: Floats, tolerance: float) -> Ints:
    """(m,) node of each point; points within the tolerance, directly or in chains, share a node."""
    pairs = cKDTree(points).query_pairs(tolerance, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
    nodes: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return nodes


def _bridged(ends: Floats, nodes: Ints, gap: float) -> Ints:
    """The nodes, (n, 2), with loose ends across small gaps merged."""
    loose = np.flatnonzero(np.bincount(nodes.ravel())[nodes.ravel()] == 1)
    if len(loose) < 2:
        return nodes
    points = ends.reshape(-1, 2)[loose]
    far, near = cKDTree(points).query(points, k=2)
    partner = np.where(near[:, 0] == np.arange(len(loose)), near[:, 1], near[:, 0])
    mutual = (partner[partner] == np.arange(len(loose))) & (far[:, 1] <= gap)
    first = np.flatnonzero(mutual & (np.arange(len(loose)) < partner))
    flat = nodes.ravel().copy()
    flat[loose[partner[first]]] = flat[loose[first]]
    return flat.reshape(-1, 2)


def _without_loose(nodes: Ints) -> Bools:
    """(n,) whether a curve remains when curves with a loose end are removed repeatedly."""
    touching: dict[int, list[int]] = {}
    for curve, pair in enumerate(nodes.tolist()):
        for node in pair:
            touching.setdefault(node, []).append(curve)
    degree = np.bincount(nodes.ravel())
    live = np.ones(len(nodes), dtype=bool)
    loose = np.flatnonzero(degree == 1).tolist()
    while loose:
        node = loose.pop()
        for curve in touching[node]:
            if live[curve] and degree[node] == 1:
                live[curve] = False
                for end in nodes[curve].tolist():
                    degree[end] -= 1
                    if degree[end] == 1:
                        loose.append(end)
    return live


def _trails(nodes: Ints, live: Bools) -> list[list[tuple[int, bool]]]:
    """Closed trails over the live curves, each curve once. Every node has an even number of ends."""
    leaving: dict[int, list[tuple[int, bool]]] = {}
    for curve in np.flatnonzero(live).tolist():
        a, b = nodes[curve].tolist()
        leaving.setdefault(a, []).append((curve, False))
        leaving.setdefault(b, []).append((curve, True))
    used = ~live
    loops = []
    for first in np.flatnonzero(live).tolist():
        if used[first]:
            continue
        used[first] = True
        start, at = nodes[first].tolist()
        loop = [(first, False)]
        while at != start:
            curve, back = leaving[at].pop()
            if used[curve]:
                continue
            used[curve] = True
            loop.append((curve, back))
            at = int(nodes[curve, 0 if back else 1])
        loops.append(loop)
    return loops


def _nearest(ends: Floats, nodes: Ints) -> Gap | None:
    """The smallest gap between loose ends, where an outline may have been intended to close."""
    loose = ends[np.bincount(nodes.ravel())[nodes] == 1]
    if len(loose) < 2:
        return None
    apart, near = cKDTree(loose).query(loose, k=2)
    k = int(apart[:, 1].argmin())
    return between(loose[k], loose[near[k, 1]])


def between(p: Floats, q: Floats) -> Gap:
    """The gap between two points, mm."""
    x, y = ((p + q) / 2).tolist()
    return Gap(float(np.hypot(*(p - q))), (x, y))
