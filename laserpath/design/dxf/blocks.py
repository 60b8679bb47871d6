"""The entities of a drawing and the blocks placed by INSERT, as curves in the coordinates of the model space.

A block is drawn once for each power of 2 that it is scaled by, since the tolerance of its strokes and splines
depends on the scale, and is then placed by each INSERT, whole arrays at once.  places: (K, 2, 3), x' = A x +
t. Entities on layer 0 of a block take the layer of its INSERT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ezdxf.xclip import XClip
from numpy.typing import NDArray

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.dxf import fills, shapes
from laserpath.design.dxf.copies import DEPTH, check, grid
from laserpath.design.dxf.drawing import DrawingFile
from laserpath.design.dxf.repair import DAMAGE, reason

OPEN, CLOSED, FILLED = 0, 1, 2
LARGEST = 1e5  # mm from the origin

SILENT = frozenset({"VIEWPORT", "SEQEND", "VERTEX"})
"""Entities that draw nothing and need no warning."""

_CURVES = {
    "LINE": shapes.line,
    "ARC": shapes.circle,
    "CIRCLE": shapes.circle,
    "ELLIPSE": shapes.ellipse,
}

Ints = NDArray[np.int64]
Other = tuple[str, str, int]
"""(problem, name, layer) of an entity that is not read as drawn, for a warning.

problem: unread, damaged, missing, pattern, reference or clipped.
"""


@dataclass(frozen=True, slots=True)
class Curves:
    """cubics: (n, 4, 2).  size: (m,) number of cubics of each curve.  role: (m,) OPEN, CLOSED or FILLED.

    layer: (m,) numbers.  group: (m,) rings of the same number are filled together, by the even-odd rule.
    other: how often each problem was met.
    """

    cubics: Floats
    size: Ints
    role: Ints
    layer: Ints
    group: Ints
    other: Counter[Other]


@dataclass(slots=True)
class _Builder:
    """Curves being gathered. copies: how many of them and of their cubics are from blocks."""

    cubics: list[Floats] = field(default_factory=lambda: [np.zeros((0, 4, 2))])
    columns: list[Ints] = field(default_factory=lambda: [np.zeros((4, 0), dtype=np.int64)])
    other: Counter[Other] = field(default_factory=Counter)
    groups: int = 0
    copies: tuple[int, int] = (0, 0)

    def reserve(self, curves: int, cubics: int) -> None:
        """Count what a block will add; raises if all copies together are too many."""
        self.copies = self.copies[0] + curves, self.copies[1] + cubics
        check(self.copies)

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
    """Reads the entities of a drawing, and the blocks that they place. tolerance: mm."""

    def __init__(self, drawing: DrawingFile, tolerance: float) -> None:
        self._layers, self._blocks = drawing.layers, drawing.ezdxf.blocks
        self._model, self._unit = drawing.space, drawing.unit
        self._tolerance = tolerance / drawing.unit
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
        elif kind == "LWPOLYLINE" or (kind == "POLYLINE" and not _is_mesh(entity)):
            drawn = shapes.polyline(entity)
            if isinstance(drawn, shapes.Wide):
                self._check_reach(drawn, scale, entity)
                for piece in fills.wide(drawn, entity, tolerance):
                    builder.fill(_finite(piece, entity), layer)
            else:
                self._pen(drawn, layer, builder)
        elif kind in ("SOLID", "TRACE", "3DFACE"):
            builder.fill(_finite(fills.solid(entity), entity), layer)
        elif kind == "HATCH":
            builder.fill(_finite(fills.hatch(entity, tolerance), entity), layer)
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


def _is_clipped(insert: Any) -> bool:
    clip = XClip(insert)
    return bool(clip.has_clipping_path and clip.is_clipping_enabled)


def _is_mesh(entity: Any) -> bool:
    return bool(entity.is_polygon_mesh or entity.is_poly_face_mesh)


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
    if columns * rows > limits.now().curves:
        raise limits.exceeded(
            f"{_name(insert)} repeats a block {limits.counted(columns * rows)} times",
            "curves",
            columns * rows,
        )
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
