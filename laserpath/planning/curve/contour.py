"""Curves of one pitch: parallel to the outline, to the middle of bars, or to each other.

`contour` draws rings at a first inset and then every pitch, and strokes where rings leave gaps.

Rings at depths inset, inset + pitch, … are the level lines of the distance to the edge. Their corners are
rounded, because a machine nearly stops in a sharp one; the optimiser sharpens those that the design needs.
Where the design is thinner than twice the inset, no ring fits. Where two opposite innermost rings are more
than a pitch apart, an uncured seam remains. Both places get a stroke along the medial axis.

`centreline` gives a narrow bar as few lines along it as it needs, and other islands their rings. In a bar one
or two spots wide, a ring turns at both ends, where the machine is slow, and rounds square corners. One line
in the middle cures a bar up to three insets wide; two lines cure one a pitch wider.

`hatch` draws parallel lines back and forth (boustrophedon). `outline` draws one ring along the edge, for
accuracy, and such lines inside, for speed, with the centre lines where it is too narrow for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.compute.beside import pool
from laserpath.base.overlay import NODING, buffered, crossings, outside
from laserpath.planning.curve.skeleton import medial_axis

_CORNER = 1.25
"""Radius of a ring's corners, in insets: a larger one is faster, and the optimiser corrects more."""

_TURNS = 4
"""Vertices per corner of 90°: a controller takes several small turns much faster than one large turn."""

_CORNER_OFF = 1.0
"""Largest distance, in radii, by which rounding may cut a corner; a square corner is cut by √2 − 1."""

_FLATTER = 0.5
"""Tolerance for simplifying a ring, relative to the flatness: a larger value removes vertices of corners."""

_SEAM = 0.6
"""Half the gap between innermost rings, in pitches, above which a centre line is added: a larger value leaves
wider seams."""


def contour(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; rings are closed: their last vertex repeats the first.

    inset, pitch: mm.  flatness: largest distance of a ring from the true offset curve, mm.
    """
    if area.is_empty:
        return []
    strokes = rings(area, inset, pitch, flatness)
    return strokes + centre_lines(area, inset, pitch, flatness, strokes)


def rings(
    area: MultiPolygon, inset: float, pitch: float, flatness: float, most: int | None = None
) -> list[Floats]:
    """The rings at the first `most` depths, or at all depths if it is None, with rounded corners."""
    each = list(area.geoms)
    work = partial(_rings_of, inset=inset, pitch=pitch, flatness=flatness, most=most)
    # Most of it is GEOS's, without Python's lock.
    by_island = (map if len(each) == 1 else pool().map)(work, each)
    by_depth = zip_longest(*by_island, fillvalue=())
    return [stroke for found in by_depth for some in found for stroke in some]


def _rings_of(
    island: Polygon, inset: float, pitch: float, flatness: float, most: int | None
) -> list[list[Floats]]:
    """The rings of one island, depth by depth."""
    found: list[list[Floats]] = []
    while len(found) != most:
        region = island.buffer(-inset - len(found) * pitch, join_style="mitre")
        if region.is_empty:
            break
        found.append([])
        for polygon in _polygons(region):
            rounded = _rounded(polygon, _CORNER * inset)
            for ring in (rounded.exterior, *rounded.interiors):
                found[-1].append(shapely.get_coordinates(ring.simplify(_FLATTER * flatness)))
    return found


def _rounded(polygon: Polygon, radius: float) -> Polygon:
    """The polygon with corners of a radius, mm, or of a smaller one if an arm or a hole would be lost."""
    for r in (radius, radius / 2, radius / 4):
        shrunk = polygon.buffer(-r, join_style="mitre")
        rounded = shrunk.buffer(2 * r, quad_segs=_TURNS).buffer(-r, quad_segs=_TURNS)
        # A rounded square corner is (√2 − 1) r off; a lost arm is further off.
        whole = isinstance(rounded, Polygon) and len(rounded.interiors) == len(polygon.interiors)
        if whole and polygon.within(rounded.buffer(_CORNER_OFF * r)):
            return rounded
    return polygon


def _polygons(region: BaseGeometry) -> list[Polygon]:
    return [polygon for polygon in getattr(region, "geoms", [region]) if not polygon.is_empty]


def centre_lines(
    area: MultiPolygon, inset: float, pitch: float, flatness: float, drawn: Sequence[Floats] = ()
) -> list[Floats]:
    """Strokes along the medial axis where rings leave a gap, and dots in islands too small for both.

    drawn: all rings (K, 2). At a reflex corner the mitred level lines lie deeper than the distance to the
    edge says, so that the innermost ring may be missing; where none is within a pitch, an axis is drawn too.
    """
    axis = medial_axis(area, spacing=min(max(inset, pitch / 4), pitch) / 4)
    below = axis.radius - inset
    gap = np.mod(below, pitch)
    uncured = (below <= 0) | (gap > _SEAM * pitch)
    if len(drawn):
        near = shapely.MultiLineString(drawn)
        shapely.prepare(near)
        uncured |= ~shapely.dwithin(near, shapely.points((axis.start + axis.end) / 2), pitch)
    strokes = axis.strokes(uncured, shortest=pitch / 2, flatness=max(flatness, pitch / 50))
    return strokes + _dots(area, inset, strokes, pitch / 5)


def _dots(area: MultiPolygon, inset: float, strokes: list[Floats], length: float) -> list[Floats]:
    """A short stroke in each island without ring or centre line (with M4 a head at rest leaves it dark)."""
    lines = shapely.MultiLineString(strokes) if strokes else shapely.MultiLineString()
    dots = []
    for polygon in area.geoms:
        if polygon.buffer(-inset).is_empty and not polygon.intersects(lines):
            centre = np.array(shapely.maximum_inscribed_circle(polygon).coords[0])
            corners = shapely.get_coordinates(polygon.minimum_rotated_rectangle)
            if len(corners) < 4:
                continue
            side = max(corners[1] - corners[0], corners[2] - corners[1], key=lambda s: float(np.hypot(*s)))
            half = side / np.hypot(*side) * length / 2
            dots.append(np.stack([centre - half, centre + half]))
    return dots


_BAR = 0.9
"""Share of its smallest rectangle that an island must fill to be a bar: a larger value allows fewer bars."""

_MOST = 3
"""Most lines in a bar: a wider bar is written faster with an outline and a hatch."""

_ONE = 3.0
"""Width, in insets, up to which one line cures a bar: a larger value leaves the sides of bars uncured."""


def centreline(area: MultiPolygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; islands that are neither bars nor narrow get the rings of `contour`.

    inset: distance of the outermost line from the edge, mm.  pitch: largest distance between lines, mm.
    flatness: tolerance for simplifying centre lines, mm.
    """
    narrow = [_narrow(polygon, inset, pitch, flatness) for polygon in area.geoms]
    wide = [p for p, strokes in zip(area.geoms, narrow, strict=True) if not strokes]
    return [s for strokes in narrow for s in strokes] + contour(MultiPolygon(wide), inset, pitch, flatness)


def _narrow(polygon: Polygon, inset: float, pitch: float, flatness: float) -> list[Floats]:
    """The lines of one island; none if it is neither a bar nor narrow."""
    box = polygon.minimum_rotated_rectangle
    if not isinstance(box, Polygon) or polygon.interiors:
        return []
    if polygon.area >= _BAR * box.area:
        return _bar(shapely.get_coordinates(box), inset, pitch)
    if 2 * shapely.maximum_inscribed_circle(polygon).length > _ONE * inset:
        return []
    axis = medial_axis(MultiPolygon([polygon]), spacing=inset / 4)
    return axis.strokes(np.ones(len(axis.radius), dtype=bool), shortest=pitch / 2, flatness=flatness)


def _bar(corners: Floats, inset: float, pitch: float) -> list[Floats]:
    """Lines (2, 2) mm along a rectangle's longer side, back and forth; none if it needs more than `_MOST`."""
    along, across = corners[1] - corners[0], corners[3] - corners[0]
    if np.hypot(*along) < np.hypot(*across):
        along, across = across, along
    width, length = float(np.hypot(*across)), float(np.hypot(*along))
    count = 1 if width < _ONE * inset else 2 + int((width - 2 * inset) / (pitch * (1 + 1e-9)))
    if count > _MOST:
        return []
    middle, room = corners[0] + across / 2, across / width * max(width / 2 - inset, 0)
    sides = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    middle += along / 2
    # A dot needs a short stroke: with M4 the laser is dark while the head stands still.
    half = along / length * max(length, pitch / 5) / 2
    lines = [np.stack([middle + s * room - half, middle + s * room + half]) for s in sides]
    return [line[::-1] if k % 2 else line for k, line in enumerate(lines)]


def hatch(area: MultiPolygon, inset: float, pitch: float, angle: float) -> list[Floats]:
    """Strokes (2, 2) in mm inside `area` shrunk by `inset` mm; angle in degrees from +x.

    Lines lie a pitch apart, symmetric about the middle of the shrunk area, so that a symmetric design
    gets symmetric lines.
    """
    region = affinity.rotate(buffered(area, -inset), -angle, origin=(0, 0))
    if region.is_empty:
        return []
    x0, y0, x1, y1 = region.bounds
    count = int(np.floor((y1 - y0) / pitch)) + 1
    levels = (y0 + y1) / 2 + pitch * (np.arange(count) - (count - 1) / 2)
    strokes: list[Floats] = []
    polygons = shapely.STRtree(shapely.get_parts(region))
    for n, y in enumerate(levels):
        near = polygons.query(shapely.box(x0, y - NODING, x1, y + NODING))
        line = shapely.LineString([(x0 - 1, y), (x1 + 1, y)])
        row = crossings(line, shapely.multipolygons(polygons.geometries[near]))
        lines = [shapely.get_coordinates(g) for g in getattr(row, "geoms", [row]) if g.length > 0]
        lines = sorted((line[[0, -1]] for line in lines), key=lambda line: float(line[0, 0]))
        strokes += [line[::-1] for line in lines[::-1]] if n % 2 else lines
    turn = np.radians(angle)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return [stroke @ rotation for stroke in strokes]


_EVEN = 1e-6
"""Share of the outline that must prefer one direction: below it, rounding would choose the direction."""

_REACHED = 0.75
"""Distance from a hatch line, in pitches, within which a place counts as exposed: a larger value adds fewer
centre lines."""


def outline(area: MultiPolygon, inset: float, pitch: float, angle: float, flatness: float) -> list[Floats]:
    """Polylines (K, 2) in mm; rings are closed.  angle: of the hatch, degrees from +x."""
    if area.is_empty:
        return []
    lines = hatch(area, inset + pitch, pitch, angle)
    near, reach = shapely.STRtree([shapely.LineString(line) for line in lines]), _REACHED * pitch
    added = []
    for stroke in centre_lines(area, inset, pitch, flatness):
        line = shapely.LineString(stroke)
        beside = near.geometries[near.query(line, predicate="dwithin", distance=reach)]
        if outside(line, shapely.multilinestrings(beside).buffer(reach)).length > line.length / 2:
            added.append(stroke)
    return rings(area, inset, pitch, flatness, most=1) + lines + added


def main_direction(area: MultiPolygon) -> float:
    """The direction in degrees from +x, 0 to below 90, that most of the outline runs along or across.

    0 if no direction prevails.
    """
    edges = [np.diff(shapely.get_coordinates(ring), axis=0) for ring in shapely.get_parts(area.boundary)]
    step = np.concatenate(edges)
    # With angles times four, directions a quarter turn apart are equal.
    turned = (np.hypot(*step.T) * np.exp(4j * np.arctan2(step[:, 1], step[:, 0]))).sum()
    if abs(turned) < _EVEN * area.length:
        return 0.0
    return round(float(np.degrees(np.angle(turned))) / 4, 6) % 90
