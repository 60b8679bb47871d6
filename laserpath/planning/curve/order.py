"""The order of the strokes: always the nearest one next, entered at its nearest point.

Closed rings may be entered at any vertex, open strokes at either end. A greedy tour is about a quarter longer
than the shortest (Johnson and McGeoch 1997), but travel is a small part of the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from laserpath.base.arrays import Floats, Indices
from laserpath.types import Point


def is_closed(stroke: Floats) -> bool:
    """Whether a polyline (K, 2) ends where it starts."""
    return len(stroke) > 2 and bool((stroke[0] == stroke[-1]).all())


def order(strokes: Sequence[Floats], start: Point = (0.0, 0.0)) -> list[Floats]:
    """The strokes reordered and reversed, and rings begun elsewhere, to shorten travel from `start`, mm."""
    entries = [stroke[:-1] if is_closed(stroke) else stroke[[0, -1]] for stroke in strokes]
    counts = np.array([len(e) for e in entries], dtype=np.int64)
    if len(counts) == 0:
        return []
    owner = np.repeat(np.arange(len(strokes)), counts)
    first = np.cumsum(counts) - counts
    open_entries = _OpenEntries(np.concatenate(entries), owner)
    position, tour = np.asarray(start, dtype=np.float64), []
    for _ in range(len(strokes)):
        entry = open_entries.nearest(position)
        k = int(owner[entry])
        open_entries.close(k)
        tour.append(_entered(strokes[k], entry - int(first[k])))
        position = tour[-1][-1]
    return tour


class _OpenEntries:
    """Entry points (M, 2) mm of the strokes that are not yet drawn.

    A k-d tree cannot drop points, so it is rebuilt whenever half of its points are closed.
    """

    def __init__(self, points: Floats, owner: Indices) -> None:
        self._points, self._owner = points, owner
        self._open = np.ones(int(owner[-1]) + 1, dtype=bool)
        self._build()

    def nearest(self, position: Floats) -> int:
        """Index of the open point nearest to a position (2,) mm."""
        k = 4
        while True:
            k = min(k, len(self._ids))
            _, neighbours = self._tree.query(position, k=k)
            ids = self._ids[np.atleast_1d(neighbours)]
            ids = ids[self._open[self._owner[ids]]]
            if len(ids):
                return int(ids[0])
            k *= 4

    def close(self, stroke: int) -> None:
        """Drop all points of a stroke."""
        self._open[stroke] = False
        self._closed += int(
            np.searchsorted(self._owner, stroke, "right") - np.searchsorted(self._owner, stroke)
        )
        if 2 * self._closed > len(self._ids) and self._open.any():
            self._build()

    def _build(self) -> None:
        self._ids = np.flatnonzero(self._open[self._owner])
        self._tree = cKDTree(self._points[self._ids])
        self._closed = 0


def _entered(stroke: Floats, entry: int) -> Floats:
    """The stroke begun at its entry: a ring is rotated, an open stroke reversed if entered at its end."""
    if is_closed(stroke):
        return np.vstack([stroke[entry:-1], stroke[: entry + 1]])
    return stroke if entry == 0 else stroke[::-1]
