"""Entities that DXF fills: HATCH, SOLID, TRACE, and polylines with a width → rings of cubics.

The style of a hatch decides which of its boundaries count: all, alternating (nested), the outer one without
those flagged 'outermost', or the external one alone. Flags say which boundary is which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import shapely
from ezdxf.entities.boundary_paths import ArcEdge, EllipseEdge, LineEdge, PolylinePath, SplineEdge
from ezdxf.math import BSpline, Vec3, fit_points_to_cad_cv
from ezdxf.render.trace import TraceBuilder

from laserpath.base.arrays import Floats
from laserpath.design.curves import Chain, arc, lines, polylines
from laserpath.design.dxf.shapes import Wide, chain, flattened, plane, xy
from laserpath.design.stroke import Pen, stroke

MITRE = 4.0  # longest mitre of a wide polyline, in widths: as in SVG
MEET = 1e-6  # gap between a hatch's edges that counts as none, relative to the largest coordinate

Rings = list[Floats]
"""Closed chains of cubics, filled by the even-odd rule."""


def solid(entity: Any) -> Rings:
    """SOLID, TRACE and 3DFACE: three or four corners."""
    corners = np.array([xy(p) for p in entity.wcs_vertices(close=True)], dtype=np.float64)
    return [lines(corners)]


def hatch(entity: Any, tolerance: float) -> Rings:
    """HATCH: the boundaries that count in its style."""
    paths = list(entity.paths.rendering_paths(entity.dxf.hatch_style)) or list(entity.paths)
    to_block = plane(entity, entity.dxf.elevation.z)
    return [to_block(ring) for path in paths for ring in _boundary(path, tolerance)]


def _boundary(path: Any, tolerance: float) -> Iterator[Floats]:
    if isinstance(path, PolylinePath):
        yield chain(np.array(path.vertices, dtype=np.float64).reshape(-1, 3), True)
        return
    loop: Rings = []
    for edge in (_edge(edge, tolerance) for edge in path.edges):
        if len(edge) == 0:
            continue
        reach = MEET * max(np.abs(edge).max(), 1e-9)
        if loop and _apart(loop[-1][-1, 3], loop[0][0, 0]) <= reach:
            yield _closed(loop)
            loop = []
        if len(loop) == 1 and _apart(loop[0][0, 0], edge[[0, -1], [0, 3]]) < _apart(
            loop[0][-1, 3], edge[[0, -1], [0, 3]]
        ):
            loop[0] = _reversed(loop[0])
        if loop and _apart(loop[-1][-1, 3], edge[-1, 3]) < _apart(loop[-1][-1, 3], edge[0, 0]):
            edge = _reversed(edge)
        loop.append(edge)
    if loop:
        yield _closed(loop)


def _closed(loop: Rings) -> Floats:
    """The ring of consecutive edges, with gaps closed by straight lines."""
    parts = []
    for edge, following in zip(loop, loop[1:] + loop[:1], strict=True):
        parts += [edge, lines(np.array([edge[-1, 3], following[0, 0]]))]
    return np.concatenate(parts)


def _apart(p: Floats, q: Floats) -> float:
    """Distance from a point to the nearest of others."""
    return float(np.hypot(*np.atleast_2d(p - q).T).min())


def _reversed(cubics: Floats) -> Floats:
    return cubics[::-1, ::-1]


def _edge(edge: Any, tolerance: float) -> Floats:
    """One edge of a hatch's boundary."""
    if isinstance(edge, LineEdge):
        return lines(np.array([xy(edge.start), xy(edge.end)]))
    if isinstance(edge, ArcEdge):
        r, start, end = edge.radius, np.radians(edge.start_angle), np.radians(edge.end_angle)
        return _turned(arc(xy(edge.center), (r, 0), (0, r), start, _span(start, end)), edge.ccw)
    if isinstance(edge, EllipseEdge):
        x, y = xy(edge.major_axis)
        minor = (-y * edge.ratio, x * edge.ratio)
        start, end = edge.start_param, edge.end_param
        whole = abs(edge.end_angle - edge.start_angle) >= 360 - 1e-7
        sweep = 2 * np.pi if whole else _span(start, end)
        return _turned(arc(xy(edge.center), (x, y), minor, start, sweep), edge.ccw)
    if isinstance(edge, SplineEdge):
        return lines(flattened(_curve(edge), tolerance))
    raise TypeError(f"{type(edge).__name__} is not an edge of a hatch")


def _turned(cubics: Floats, anticlockwise: bool) -> Floats:
    return cubics if anticlockwise else _reversed(cubics)


def _span(start: float, end: float) -> float:
    """The anticlockwise angle from `start` to `end`; a whole turn if they are the same."""
    turn = (end - start) % (2 * np.pi)
    return turn if turn > 1e-9 else 2 * np.pi


def _curve(edge: Any) -> BSpline:
    if edge.control_points:
        return BSpline(
            [Vec3(p) for p in edge.control_points],
            order=edge.degree + 1,
            knots=edge.knot_values or None,
            weights=edge.weights or None,
        )
    tangents = [Vec3(t) for t in (edge.start_tangent, edge.end_tangent) if t]
    return fit_points_to_cad_cv([Vec3(p) for p in edge.fit_points], tangents if len(tangents) == 2 else None)


def wide(line: Wide, entity: Any, tolerance: float) -> list[Rings]:
    """The pieces whose union is the area of a polyline with a width."""
    if len(line.cubics) == 0:
        return []
    if np.ptp(line.width) > 0:
        return _tapered(line, entity, tolerance)
    pen = Pen(float(line.width[0, 0]), "butt", "miter", MITRE, tolerance)
    drawn = polylines([Chain(line.cubics, tolerance / 2, pen.turn)])[0]
    pieces = stroke(drawn, line.closed, pen)
    rings = [shapely.get_coordinates(shapely.get_exterior_ring(piece)) for piece in pieces]
    return [[lines(line.plane(ring))] for ring in rings]


def _tapered(line: Wide, entity: Any, tolerance: float) -> list[Rings]:
    """The same for a polyline whose width changes: a quadrangle for each segment or piece of an arc."""
    p, b = line.vertices[:, :2], line.vertices[:, 2]
    chord = np.hypot(*(np.roll(p, -1, axis=0) - p).T)
    bent = np.abs(b) > 1e-9
    radius = (chord * (1 + b**2))[bent] / (4 * np.abs(b[bent]))
    outer = radius.max(initial=0) + line.width.max() / 2
    step = np.arccos(1 - min(tolerance / 2 / outer, 0.5))
    trace = TraceBuilder.from_polyline(entity, segments=int(np.ceil(np.pi / step)))
    faces = [np.array([xy(corner) for corner in face], dtype=np.float64) for face in trace.faces()]
    return [[lines(line.plane(np.vstack([face, face[:1]])))] for face in faces]
