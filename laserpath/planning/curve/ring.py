"""A ring parametrised by its arc length: points on it, nearest points, pieces of it."""

from __future__ import annotations

import numpy as np
import shapely

from laserpath.base.arrays import Floats


class Ring:
    """A closed polyline (K, 2) mm. Its arc length s, mm, is taken modulo the ring's length."""

    def __init__(self, xy: Floats) -> None:
        self.xy, self.line = xy, shapely.LineString(xy)
        self._s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
        self.length = float(self._s[-1])

    def at(self, s: Floats) -> Floats:
        """(N, 2) points at arc lengths (N,)."""
        s = np.mod(s, self.length)
        return np.stack([np.interp(s, self._s, x) for x in self.xy.T], axis=1)

    def nearest(self, xy: Floats) -> Floats:
        """(N,) arc lengths of the ring's points nearest to points (N, 2)."""
        return shapely.line_locate_point(self.line, shapely.points(xy))

    def turned(self) -> Ring:
        """The ring in the opposite direction."""
        return Ring(self.xy[::-1])

    def piece(self, start: float, end: float, apart: float) -> Floats:
        """(N, 2) mm, from one arc length to a larger one, without vertices within `apart` of the ends."""
        turns = np.arange(np.floor(start / self.length), np.floor(end / self.length) + 1)
        s = (turns[:, None] * self.length + self._s[:-1]).ravel()
        between = s[(s > start + apart) & (s < end - apart)]
        return self.at(np.concatenate([[start], between, [end]]))

    def seams(self, count: int) -> Floats:
        """(count,) arc lengths: half are the middles of the longest moves, half are evenly spaced."""
        longest = np.argsort(-np.diff(self._s), kind="stable")[: count // 2]
        around = np.linspace(0, self.length, count - len(longest), endpoint=False)
        return np.concatenate([(self._s[longest] + self._s[longest + 1]) / 2, around])
