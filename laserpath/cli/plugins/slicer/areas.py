"""Outer walls → the layers' areas.

The middle of a wall of width w lies w/2 inside the model's edge, with sharp corners. So a closed wall P
bounds P ⊕ w/2 (mitred) if it is an outer boundary, or P ⊖ w/2 if it is a hole. By the even-odd rule, it is an
outer boundary if an even number of other closed walls is around it. If w changes along a wall, P is widened
or narrowed by its pieces instead, each with its own w and round ends. An open wall is one line of plastic,
and its area is that of its pieces.

A closed wall ends a little before its start, so that no blob is left at the seam. A gap of at most its width
is closed, with a corner if its ends are not in line. Areas are simplified by 1 µm, the
last digit that slicers write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import areas, minus, plus, union
from laserpath.cli.plugins.slicer.walls import Wall
from laserpath.design.fill import check_reach

_LAST_DIGIT = 1e-3
"""mm, of the coordinates that slicers write."""
_ROUNDING = 1.5 * _LAST_DIGIT
"""mm, largest distance of a rounded point from the line that it lay on: at most √2 digits."""
_SPECK = 3 * _LAST_DIGIT
_SURE = 5 * _LAST_DIGIT
"""mm, shortest piece with a usable direction: rounding turns it by at most a tenth of a radian."""
_IN_LINE = 0.05
"""rad, largest turn between pieces that need no corner."""
_SAME_WIDTH = 0.01
"""Largest relative change of a width that counts as constant; slicers round it."""
_MITRE = 3.0
"""Limit of mitred corners in half widths, that of Slic3r; sharper ones are cut."""


@dataclass(frozen=True, slots=True)
class SlicedLayer:
    """The solid area at one height. z: mm."""

    z: float
    area: shapely.MultiPolygon


def layers(walls: Sequence[Wall]) -> list[SlicedLayer]:
    """One layer for each height, from the lowest up; objects that were printed one by one are joined."""
    for wall in walls:
        check_reach(f"a wall at z {wall.z:g} mm", wall.xy)
        check_reach(f"the width of a wall at z {wall.z:g} mm", wall.width)
    heights = np.array([wall.z for wall in walls])
    order = np.argsort(heights, kind="stable")
    cuts = np.flatnonzero(np.diff(heights[order]) > _LAST_DIGIT) + 1
    with np.errstate(all="ignore"):  # GEOS divides by lengths of 0, and heeds it
        return [_layer([walls[k] for k in group]) for group in np.split(order, cuts)]


def _layer(walls: list[Wall]) -> SlicedLayer:
    closed = [wall for wall in walls if _is_closed(wall)]
    area = _filled(closed)
    lines = [_bars(wall) for wall in walls if not _is_closed(wall)]
    whole = shapely.simplify(union([area, *lines]), _LAST_DIGIT)
    parts = [part for part in shapely.get_parts(whole) if part.geom_type == "Polygon" and part.area > 0]
    if not parts:
        raise InputError(f"the walls at z {walls[0].z:g} mm bound no area")
    return SlicedLayer(walls[0].z, shapely.MultiPolygon(parts))


def _is_closed(wall: Wall) -> bool:
    gap = float(np.hypot(*(wall.xy[-1] - wall.xy[0])))
    return len(wall.xy) > 3 and gap <= wall.width.max() and _middle(wall).area > wall.width.max() ** 2 / 4


def _middle(wall: Wall) -> shapely.Geometry:
    """The area that the middle of a closed wall encloses."""
    # The direction of a piece of one micrometre is due to rounding, and its mitre would become a bevel.
    way = shapely.LineString(_without_seam(wall.xy))
    points = shapely.get_coordinates(shapely.remove_repeated_points(way, _SPECK))
    # Without these pieces a tiny arc may have too few points for a ring.
    return areas(shapely.make_valid(shapely.Polygon(points))) if len(points) > 3 else shapely.Polygon()


def _without_seam(xy: Floats) -> Floats:
    """A closed wall (N, 2) mm without the ends that its seam made, or with the corner that its gap hides.

    An end in line with its neighbours is no corner of the model. The piece between such an end and a
    corner a few micrometres away has no usable direction, so keeping it would turn the corner.
    """
    ring = xy[1:] if _off_line(xy[0], xy[-1], xy[1]) <= _ROUNDING else xy
    ring = ring[:-1] if _off_line(ring[-1], ring[-2], ring[0]) <= _ROUNDING else ring
    return ring if len(ring) < len(xy) else np.vstack([xy, _corner_at_seam(xy)])


def _off_line(point: Floats, a: Floats, b: Floats) -> float:
    """Mm between a point and the line from a to b."""
    return float(shapely.Point(point).distance(shapely.LineString([a, b])))


def _corner_at_seam(xy: Floats) -> Floats:
    """(0 or 1, 2): where the last piece of a closed wall, carried on, meets the first, carried back.

    p + a u = s − b v, with a and b at least 0. Pieces too short for a direction are taken together.
    """
    gap = xy[0] - xy[-1]
    u, v = -_direction(xy[::-1]), _direction(xy)
    turn = u[0] * v[1] - u[1] * v[0]
    if abs(turn) < _IN_LINE:
        return np.empty((0, 2))
    a, b = (gap[0] * v[1] - gap[1] * v[0]) / turn, (u[0] * gap[1] - u[1] * gap[0]) / turn
    near = min(a, b) >= 0 and max(a, b) <= 2 * np.hypot(*gap)
    return xy[-1:] + a * u if near else np.empty((0, 2))


def _direction(xy: Floats) -> Floats:
    """Unit vector from the first point to the next one far enough away, or 0 if none is."""
    ways = xy[1:] - xy[0]
    lengths = np.hypot(*ways.T)
    far = int(np.argmax(lengths >= _SURE))
    return ways[far] / lengths[far] if lengths[far] >= _SURE else np.zeros(2)


def _filled(walls: list[Wall]) -> shapely.Geometry:
    """The area of closed walls: outer boundaries and holes alternate from the outside in."""
    middles = [_middle(wall) for wall in walls]
    depths = _depths(middles)
    area: shapely.Geometry = shapely.Polygon()
    for k in np.argsort(depths, kind="stable"):
        if depths[k] % 2:
            area = minus(area, _offset(walls[k], middles[k], -1))
        else:
            area = plus(area, _offset(walls[k], middles[k], 1))
    return area


def _depths(middles: list[shapely.Geometry]) -> list[int]:
    """For each ring, the number of other rings around it."""
    tree = shapely.STRtree(middles)
    inside = [shapely.point_on_surface(middle.boundary) for middle in middles]
    return [int((tree.query(point, predicate="within") != k).sum()) for k, point in enumerate(inside)]


def _offset(wall: Wall, middle: shapely.Geometry, sign: int) -> shapely.Geometry:
    """The enclosed area, half a width larger or smaller."""
    width = wall.width
    if np.ptp(width) <= _SAME_WIDTH * width.max():
        return middle.buffer(sign * width.mean() / 2, join_style="mitre", mitre_limit=_MITRE)
    bars = _bars(wall)
    return plus(middle, bars) if sign > 0 else minus(middle, bars)


def _bars(wall: Wall) -> shapely.Geometry:
    """The area that the plastic of a wall covers."""
    pieces = shapely.linestrings(np.stack([wall.xy[:-1], wall.xy[1:]], axis=1))
    return union(shapely.buffer(pieces, wall.width / 2))
