"""A ring by its arc length: points on it, places near it, pieces of it."""

from __future__ import annotations

import numpy as np
import shapely

from laserpath.base.arrays import Floats


class Ring:
    """A closed polyline by its arc length s, mm, which may be beyond one turn.  xy: (K, 2) mm."""

    def __init__(self, xy: Floats) -> None:
        self.xy, self.line = xy, shapely.LineString(xy)
        self._s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
        self.length = float(self._s[-1])

    def at(self, s: Floats) -> Floats:
        """(N, 2) points at arc lengths (N,)."""
        s = np.mod(s, self.length)
        return np.stack([np.interp(s, self._s, x) for x in self.xy.T], axis=1)

    def nearest(self, xy: Floats) -> Floats:
        """(N,) arc lengths of the places nearest to points (N, 2)."""
        return shapely.line_locate_point(self.line, shapely.points(xy))

    def turned(self) -> Ring:
        """The same, the other way round."""
        return Ring(self.xy[::-1])

    def piece(self, start: float, end: float, apart: float) -> Floats:
        """(N, 2) from one arc length to a larger one; vertices less than `apart` from the ends left out."""
        turns = np.arange(np.floor(start / self.length), np.floor(end / self.length) + 1)
        s = (turns[:, None] * self.length + self._s[:-1]).ravel()
        between = s[(s > start + apart) & (s < end - apart)]
        return self.at(np.concatenate([[start], between, [end]]))

    def seams(self, count: int) -> Floats:
        """(count,) arc lengths: the middles of the longest moves, and as many all around."""
        longest = np.argsort(-np.diff(self._s), kind="stable")[: count // 2]
        around = np.linspace(0, self.length, count - len(longest), endpoint=False)
        return np.concatenate([(self._s[longest] + self._s[longest + 1]) / 2, around])
