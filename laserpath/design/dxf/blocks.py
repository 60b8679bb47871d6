"""The entities of a drawing and the blocks placed by INSERT, as curves in the coordinates of the model space.

A block is drawn once for each power of 2 that it is scaled by, since the tolerance of its strokes and splines
depends on the scale, and is then placed by each INSERT, whole arrays at once.  places: (K, 2, 3), x' = A x +
t. Entities on layer 0 of a block take the layer of its INSERT.

DXF fills HATCH, SOLID, TRACE, and polylines with a width; they become rings of cubics. The style of a hatch
decides which of its boundaries count: all, alternating (nested), the outer one without those flagged
'outermost', or the external one alone. Flags say which boundary is which.

The copies of a block are counted before they are made. A block that places ten others, which place ten
others, …, takes a few lines a level, but ten times the curves of the level below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from ezdxf.entities.boundary_paths import ArcEdge, EllipseEdge, LineEdge, PolylinePath, SplineEdge
from ezdxf.math import BSpline, Vec3, fit_points_to_cad_cv
from ezdxf.render.trace import TraceBuilder
from ezdxf.xclip import XClip
from numpy.typing import NDArray

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.curves import Chain, Pen, arc, lines, polylines, stroke
from laserpath.design.dxf import shapes
from laserpath.design.dxf.drawing import DAMAGE, DrawingFile, reason
from laserpath.design.dxf.shapes import Wide, chain, flattened, plane, xy

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


DEPTH = 100  # nested blocks


def grid(dxf: Any) -> tuple[int, int]:
    """The columns and rows in which an INSERT places its block; copies in the same place are one."""
    columns, rows = max(int(dxf.column_count), 1), max(int(dxf.row_count), 1)
    return columns if dxf.column_spacing else 1, rows if dxf.row_spacing else 1


OPEN, CLOSED, FILLED, WIDE = 0, 1, 2, 3
_PER_CUBIC = 600
"""Bytes of memory for a piece of a curve, until it is flattened."""
LARGEST = 1e5  # mm from the origin

SILENT = frozenset({"VIEWPORT", "SEQEND", "VERTEX"})
"""Entities that draw nothing and need no warning."""

_CURVES = {"LINE": shapes.line, "ARC": shapes.circle, "CIRCLE": shapes.circle, "ELLIPSE": shapes.ellipse}

Ints = NDArray[np.int64]
Other = tuple[str, str, int]
"""(problem, name, layer) of an entity that is not read as drawn, for a warning.

problem: unread, damaged, missing, pattern, reference or clipped.
"""


@dataclass(frozen=True, slots=True)
class Curves:
    """cubics: (n, 4, 2).  size: (m,) number of cubics of each curve.  role: (m,) one of the four above.

    layer: (m,) numbers.  group: (m,) rings of the same number are filled together, by the even-odd rule.
    other: how often each problem was met.

    The last cubic of a WIDE curve is no part of it, but as long as the curve is wide, at any scale.
    """

    cubics: Floats
    size: Ints
    role: Ints
    layer: Ints
    group: Ints
    other: Counter[Other]


@dataclass(slots=True)
class _Builder:
    """Curves being gathered. copies: how many of them are from blocks."""

    cubics: list[Floats] = field(default_factory=lambda: [np.zeros((0, 4, 2))])
    columns: list[Ints] = field(default_factory=lambda: [np.zeros((4, 0), dtype=np.int64)])
    other: Counter[Other] = field(default_factory=Counter)
    groups: int = 0
    copies: int = 0

    def reserve(self, curves: int, cubics: int) -> None:
        """Count what a block will add; raises if all copies together are too many."""
        self.copies += curves
        if self.copies > limits.now().shapes:
            what = "blocks are repeated too often: there would be more than {} curves"
            raise limits.exceeded(what, "shapes")
        limits.reserve(_PER_CUBIC * cubics)

    def add(self, cubics: Floats, role: int, layer: int) -> None:
        """Add one curve to the current group."""
        if len(cubics):
            self.cubics.append(cubics)
            self.columns.append(np.array([[len(cubics)], [role], [layer], [self.groups]], dtype=np.int64))

    def fill(self, rings: Iterable[Floats], layer: int) -> None:
        """Add rings that are filled together."""
        for ring in rings:
            self.add(ring, FILLED, layer)
        self.groups += 1

    def extend(self, curves: Curves) -> None:
        """Add all of other curves."""
        self.cubics.append(curves.cubics)
        self.columns.append(np.stack([curves.size, curves.role, curves.layer, curves.group + self.groups]))
        self.groups += int(curves.group.max(initial=-1)) + 1
        self.other.update(curves.other)

    def curves(self) -> Curves:
        """The curves so far."""
        size, role, layer, group = np.concatenate(self.columns, axis=1)
        return Curves(np.concatenate(self.cubics), size, role, layer, group, self.other)


class EntityReader:
    """Reads the entities of a drawing, and the blocks that they place. tolerance: mm.

    follow: lines with a width are WIDE curves, not the areas that they fill.
    """

    def __init__(self, drawing: DrawingFile, tolerance: float, *, follow: bool = False) -> None:
        self._layers, self._blocks = drawing.layers, drawing.ezdxf.blocks
        self._model, self._unit = drawing.space, drawing.unit
        self._tolerance, self._follow = tolerance / drawing.unit, follow
        self._drawn: dict[tuple[str, int], Curves] = {}

    def curves(self) -> Curves:
        """All curves of the drawing."""
        return self._read(self._model, 0, ())

    def _read(self, entities: Iterable[Any], scale: int, within: tuple[str, ...]) -> Curves:
        """The curves of one block's entities. scale: it is enlarged by up to 2^scale."""
        builder = _Builder()
        for entity in entities:
            try:
                self._draw(entity, scale, within, builder)
            except InputError:
                raise
            except DAMAGE as error:
                what = f"{_name(entity)} is damaged: {reason(error)}"
                builder.other["damaged", what, self._layers.number(_layer(entity))] += 1
        return builder.curves()

    def _draw(self, entity: Any, scale: int, within: tuple[str, ...], builder: _Builder) -> None:
        limits.spend()
        if entity.dxf.get("invisible", 0):
            return
        kind, layer = entity.dxftype(), self._layers.number(entity.dxf.get("layer", "0"))
        tolerance = self._tolerance / 2.0**scale
        if kind == "INSERT":
            self._place(entity, layer, scale, within, builder)
        elif kind in _CURVES:
            self._pen(_CURVES[kind](entity), layer, builder)
        elif kind == "SPLINE":
            self._pen(shapes.spline(entity, tolerance), layer, builder)
        elif kind == "LWPOLYLINE" or (
            kind == "POLYLINE" and not entity.is_polygon_mesh and not entity.is_poly_face_mesh
        ):
            drawn = shapes.polyline(entity)
            if isinstance(drawn, shapes.Wide):
                self._check_reach(drawn, scale, entity)
                if self._follow:
                    builder.add(_with_width(drawn), WIDE, layer)
                    return
                for piece in wide(drawn, entity, tolerance):
                    builder.fill(_finite(piece, entity), layer)
            else:
                self._pen(drawn, layer, builder)
        elif kind in ("SOLID", "TRACE", "3DFACE"):
            builder.fill(_finite(solid(entity), entity), layer)
        elif kind == "HATCH":
            builder.fill(_finite(hatch(entity, tolerance), entity), layer)
            if not entity.dxf.solid_fill and not entity.has_gradient_data:
                builder.other["pattern", entity.dxf.pattern_name, layer] += 1
        elif kind not in SILENT and not (kind == "ATTDEF" and within):  # ATTDEF in a block is only a template
            builder.other["unread", kind, layer] += 1

    def _check_reach(self, line: shapes.Wide, scale: int, entity: Any) -> None:
        """Refuse a gigantic line before it becomes polygons; smaller excesses are refused once placed."""
        size = np.ptp(line.cubics, axis=(0, 1)).max() if len(line.cubics) else 0.0
        if not max(size, line.width.max()) * 2.0**scale <= 8 * LARGEST / self._unit:
            raise InputError(f"{_name(entity)} is longer than {LARGEST / 1000:g} m")

    def _pen(self, curve: shapes.Curve, layer: int, builder: _Builder) -> None:
        builder.add(curve.cubics, CLOSED if curve.closed else OPEN, layer)

    def _place(self, insert: Any, layer: int, scale: int, within: tuple[str, ...], builder: _Builder) -> None:
        """Add a block's curves where INSERT places them."""
        for attribute in insert.attribs:
            if not attribute.is_invisible:
                builder.other["unread", "ATTRIB", self._own(attribute, layer)] += 1
        name = insert.dxf.get("name", "")
        block = self._blocks.get(name)
        if block is None:
            builder.other["missing", name, layer] += 1
            return
        if block.block.is_xref or block.block.is_xref_overlay:
            builder.other["reference", str(block.block.dxf.get("xref_path", name)), layer] += 1
            return
        key = name.lower()
        if key in within:
            raise InputError(f"block {name!r} contains itself")
        if len(within) >= DEPTH:
            raise InputError(f"blocks are nested more than {DEPTH} deep")
        if self._layers.hides_blocks(layer):
            return
        if insert.has_extension_dict and _is_clipped(insert):
            builder.other["clipped", name, layer] += 1
        places = _places(insert)
        deeper = scale + _octave(places[0])
        if (key, deeper) not in self._drawn:
            self._drawn[key, deeper] = self._read(block, deeper, (*within, key))
        curves = self._drawn[key, deeper]
        builder.reserve(len(places) * len(curves.size), len(places) * len(curves.cubics))
        builder.extend(_placed(curves, places, layer))

    def _own(self, entity: Any, host: int) -> int:
        return self._layers.number(entity.dxf.get("layer", "0")) or host


def _with_width(line: shapes.Wide) -> Floats:
    """The cubics of a line in its block, and one as long as it is wide, on average."""
    if len(line.cubics) == 0:
        return line.cubics
    end = line.cubics[-1, 3]
    aside = lines([end, end + (0.0, float(line.width.mean()))])
    return line.plane(np.concatenate([line.cubics, aside]))


def _is_clipped(insert: Any) -> bool:
    clip = XClip(insert)
    return bool(clip.has_clipping_path and clip.is_clipping_enabled)


def _finite(rings: list[Floats], entity: Any) -> list[Floats]:
    for ring in rings:
        if not np.isfinite(ring).all():
            raise InputError(f"{_name(entity)} has coordinates that are not finite")
    return rings


def _places(insert: Any) -> Floats:
    """(K, 2, 3) maps, one for each row and column of an INSERT."""
    m, dxf = insert.matrix44(), insert.dxf
    x, y, t = (np.array(v.xyz[:2]) for v in (*(m.transform_direction(a) for a in _AXES), m.origin))
    columns, rows = grid(dxf)
    what = f"{_name(insert)} repeats a block {limits.counted(columns * rows)} times"
    limits.check("shapes", columns * rows, what)
    turn = np.radians(dxf.rotation)
    along = shapes.plane(insert).axes @ np.array(
        [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    )
    i, j = np.meshgrid(np.arange(columns) * dxf.column_spacing, np.arange(rows) * dxf.row_spacing)
    shifts = np.stack([i.ravel(), j.ravel()], axis=1) @ along.T
    places = np.repeat(np.column_stack([x, y, t])[None], len(shifts), axis=0)
    places[:, :, 2] += shifts
    if not np.isfinite(places).all():
        raise InputError(f"{_name(insert)} has coordinates that are not finite")
    return places


_AXES = ((1, 0, 0), (0, 1, 0))


def _octave(place: Floats) -> int:
    """log₂ of the largest scale of a map, rounded up."""
    largest = float(np.linalg.norm(place[:, :2], 2))
    return int(np.ceil(np.log2(max(min(largest, 1e12), 1e-12)) - 1e-9))


def _placed(curves: Curves, places: Floats, layer: int) -> Curves:
    """Copies of a block's curves."""
    k = len(places)
    cubics = np.einsum("kij,nvj->knvi", places[:, :, :2], curves.cubics) + places[:, None, None, :, 2]
    groups = int(curves.group.max(initial=-1)) + 1
    own = np.where(curves.layer == 0, layer, curves.layer)
    other: Counter[Other] = Counter()
    for (what, name, at), n in curves.other.items():
        other[what, name, at or layer] += n * k
    return Curves(
        cubics.reshape(-1, 4, 2),
        np.tile(curves.size, k),
        np.tile(curves.role, k),
        np.tile(own, k),
        (curves.group + groups * np.arange(k)[:, None]).ravel(),
        other,
    )


def _layer(entity: Any) -> str:
    """The layer of an entity, even of a damaged one."""
    try:
        return str(entity.dxf.get("layer", "0"))
    except DAMAGE:
        return "0"


def _name(entity: Any) -> str:
    """The name of an entity in messages: its type and its handle."""
    handle = entity.dxf.handle
    return f"{entity.dxftype()} #{handle}" if handle else str(entity.dxftype())
