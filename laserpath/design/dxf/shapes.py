"""DXF entities → cubics, in the coordinates of their block, seen from above.

Flat entities have a plane of their own (OCS): its x and y axes are projected, so that an entity drawn from
below is mirrored. A bulge b joins p to q by an arc of θ = 4 atan b, anticlockwise for b > 0, about
(p + q)/2 + (1 − b²)/(4 b) · n, with n the chord turned left. Splines of any degree, rational or not, are
flattened here: pieces are halved until the curve at ¼, ½ and ¾ of each is within the tolerance of its chord.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ezdxf.math import OCS
from scipy.interpolate import BSpline

from laserpath.base.arrays import Bools, Floats
from laserpath.design.curves import arc, lines

FRAME = 16  # flag of a vertex that controls a spline and is not on the curve
MOST_PIECES = 100_000  # pieces of one spline
_FULL = 2 * np.pi
_STRAIGHT = 1e-9  # bulge


@dataclass(frozen=True, slots=True)
class Curve:
    """A line without a width. cubics: (n, 4, 2)."""

    cubics: Floats
    closed: bool


@dataclass(frozen=True, slots=True)
class Wide:
    """A polyline with widths. vertices: (n, 3) x, y, bulge.  cubics: its centreline, in its own plane.

    width: (n, 2) at the start and at the end of each segment.
    """

    vertices: Floats
    cubics: Floats
    width: Floats
    closed: bool
    plane: Plane


@dataclass(frozen=True, slots=True)
class Plane:
    """The map x' = axes · x + shift from an entity's own plane to its block's, without z."""

    axes: Floats
    shift: Floats

    def __call__(self, points: Floats) -> Floats:
        """(…, 2) → (…, 2)."""
        moved: Floats = points @ self.axes.T + self.shift
        return moved


def plane(entity: Any, z: float = 0.0) -> Plane:
    """The plane of a flat entity at height z in its own coordinates."""
    ocs = OCS(entity.dxf.extrusion)
    x, y, up = (ocs.to_wcs(axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    return Plane(np.array([[x.x, y.x], [x.y, y.y]]), z * np.array([up.x, up.y]))


def line(entity: Any) -> Curve:
    """LINE."""
    return Curve(lines(np.array([xy(entity.dxf.start), xy(entity.dxf.end)])), False)


def circle(entity: Any) -> Curve:
    """CIRCLE and ARC."""
    centre, r = entity.dxf.center, entity.dxf.radius
    start, sweep = 0.0, _FULL
    if entity.dxftype() == "ARC":
        start = np.radians(entity.dxf.start_angle)
        sweep = _sweep(start, np.radians(entity.dxf.end_angle))
    bow = arc(xy(centre), (r, 0), (0, r), start, sweep)
    return Curve(plane(entity, centre.z)(bow), sweep == _FULL)


def ellipse(entity: Any) -> Curve:
    """ELLIPSE, whole or an arc."""
    major = entity.dxf.major_axis
    minor = entity.dxf.extrusion.normalize().cross(major) * entity.dxf.ratio
    sweep = _sweep(entity.dxf.start_param, entity.dxf.end_param)
    bow = arc(xy(entity.dxf.center), xy(major), xy(minor), entity.dxf.start_param, sweep)
    return Curve(bow, sweep == _FULL)


def spline(entity: Any, tolerance: float) -> Curve:
    """SPLINE, by its control points, or through its fit points if it has none."""
    points = flattened(entity.construction_tool(), tolerance)
    closed = bool(entity.closed) or bool(np.abs(points[0] - points[-1]).max() <= 1e-9 * np.abs(points).max())
    return Curve(lines(points), closed)


def polyline(entity: Any) -> Curve | Wide:
    """LWPOLYLINE, and POLYLINE that is no mesh."""
    if entity.dxftype() == "LWPOLYLINE":
        rows = np.array(entity.get_points("xybse"), dtype=np.float64).reshape(-1, 5)
        if constant := entity.dxf.const_width:
            rows[:, 3:] = constant
        return _drawn(rows, bool(entity.closed), plane(entity, entity.dxf.elevation))
    if entity.is_3d_polyline:
        points = np.array([xy(p) for p in entity.points()], dtype=np.float64).reshape(-1, 2)
        return Curve(
            chain(np.column_stack([points, np.zeros(len(points))]), entity.is_closed), entity.is_closed
        )
    widths = (entity.dxf.default_start_width, entity.dxf.default_end_width)
    shown = [v.dxf for v in entity.vertices if not v.dxf.flags & FRAME]
    rows = np.array(
        [
            (*xy(v.location), v.bulge, v.get("start_width", widths[0]), v.get("end_width", widths[1]))
            for v in shown
        ],
        dtype=np.float64,
    ).reshape(-1, 5)
    height = shown[0].location.z if shown else 0.0
    return _drawn(rows, bool(entity.is_closed), plane(entity, height))


def _drawn(rows: Floats, closed: bool, to_block: Plane) -> Curve | Wide:
    """rows: (n, 5) x, y, bulge, width at the start and at the end of the segment that begins there."""
    cubics = chain(rows[:, :3], closed)
    width = rows[:, 3:] if closed else rows[:-1, 3:]
    if (width > 0).any():
        return Wide(rows[:, :3], cubics, width, closed, to_block)
    return Curve(to_block(cubics), closed)


def chain(vertices: Floats, closed: bool) -> Floats:
    """(n, 3) x, y, bulge → cubics; the last vertex is joined to the first if closed."""
    if closed and len(vertices):
        vertices = np.vstack([vertices, vertices[:1]])
    points, bulges = vertices[:, :2], vertices[:-1, 2]
    if len(points) < 2:
        return np.zeros((0, 4, 2))
    straight = lines(points)
    bent = np.flatnonzero(np.abs(bulges) > _STRAIGHT)
    if len(bent) == 0:
        return straight
    parts, done = [], 0
    for k in bent.tolist():
        parts += [straight[done:k], bow(points[k], points[k + 1], float(bulges[k]))]
        done = k + 1
    return np.concatenate([*parts, straight[done:]])


def bow(p: Floats, q: Floats, bulge: float) -> Floats:
    """The arc of a bulge from p to q, with exactly these ends."""
    chord = q - p
    centre = (p + q) / 2 + (1 - bulge**2) / (4 * bulge) * np.array([-chord[1], chord[0]])
    x, y = p - centre
    cubics = arc(centre, (x, y), (-y, x), 0.0, 4 * float(np.arctan(bulge)))
    cubics[0, 0], cubics[-1, 3] = p, q
    return cubics


def flattened(curve: Any, tolerance: float) -> Floats:
    """A B-spline of ezdxf, rational or not → (m, 2) points within the tolerance."""
    point, knots = _evaluator(curve)
    spans = np.stack([knots[:-1], knots[1:]], axis=1)[np.diff(knots) > 0]
    pieces = np.linspace(spans[:, 0], spans[:, 1], 5)  # (5, spans): four of each to begin with
    begin, end = pieces[:-1].T.ravel(), pieces[1:].T.ravel()
    ends = []
    for _ in range(20):
        bent = _bends(point, begin, end, tolerance)
        ends.append(end[~bent])
        if not bent.any():
            break
        if bent.sum() > MOST_PIECES:
            raise ValueError(f"it takes more than {MOST_PIECES} straight pieces at the tolerance")
        middle = (begin[bent] + end[bent]) / 2
        begin = np.stack([begin[bent], middle], axis=1).ravel()
        end = np.stack([middle, end[bent]], axis=1).ravel()
    else:
        ends.append(end)
    return point(np.concatenate([knots[:1], np.sort(np.concatenate(ends))]))


def _evaluator(curve: Any) -> tuple[Callable[[Floats], Floats], Floats]:
    """The function from parameters to (m, 2) points, and the knots of the curve's domain."""
    control = np.array([xy(p) for p in curve.control_points], dtype=np.float64)
    weights = np.array(curve.weights() or np.ones(len(control)), dtype=np.float64)
    knots, degree = np.array(curve.knots(), dtype=np.float64), int(curve.degree)
    homogeneous = BSpline(knots, np.column_stack([control * weights[:, None], weights]), degree)

    def point(t: Floats) -> Floats:
        weighted = homogeneous(t)
        points: Floats = weighted[..., :2] / weighted[..., 2:]
        return points

    return point, np.unique(knots[degree : len(control) + 1])


def _bends(point: Callable[[Floats], Floats], begin: Floats, end: Floats, tolerance: float) -> Bools:
    """(m,) whether the curve leaves the chord of a piece by more than the tolerance."""
    p = point(begin)
    chord = point(end) - p
    square = np.maximum((chord**2).sum(axis=1), 1e-300)
    bent = np.zeros(len(begin), dtype=bool)
    for part in (0.25, 0.5, 0.75):
        arm = point(begin + part * (end - begin)) - p
        along = np.clip((arm * chord).sum(axis=1) / square, 0, 1)
        bent |= np.hypot(*(arm - along[:, None] * chord).T) > tolerance
    return bent


def xy(point: Any) -> tuple[float, float]:
    """The first two coordinates of a point."""
    return float(point[0]), float(point[1])


def _sweep(start: float, end: float) -> float:
    """The anticlockwise angle from `start` to `end`, radians; a whole turn if they are the same."""
    turn = (end - start) % _FULL
    return turn if 1e-9 < turn < _FULL - 1e-9 else _FULL
