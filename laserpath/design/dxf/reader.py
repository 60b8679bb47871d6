"""The bytes of a DXF file → `Design`.

Solid are the areas that DXF fills (hatches, solids, lines with a width), and the areas that outlines enclose
by the even-odd rule over all layers that count: an outline in another is a hole, and an outline in a hole is
an island. An outline that is drawn twice counts once. Lines that branch enclose what is between them, unless
a width is given. Lines that enclose nothing are drawn in the width of the reading; without one they are left
out, unless there is nothing else: then they are as wide as the spot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.design import scattered
from laserpath.design.curves import Chain, polylines
from laserpath.design.dxf import messages
from laserpath.design.dxf.blocks import CLOSED, FILLED, LARGEST, OPEN, Curves, EntityReader
from laserpath.design.dxf.copies import check_copies
from laserpath.design.dxf.drawing import DrawingFile, Layers
from laserpath.design.enclosed import SAME, enclosed
from laserpath.design.fill import EVENODD
from laserpath.design.reading import Reading
from laserpath.design.shapes import hairlines
from laserpath.design.stroke import Pen, stroke
from laserpath.types import Design

METRE = 1000.0  # mm: units of at least this are taken for mm if they make the drawing too large
NEAR = 10.0  # spots: loose ends no farther apart look as if they were meant to meet
FARTHEST = 1e10  # mm from the origin: up to here the coordinates are good to 2 nm


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a DXF. name: of the design."""
    with np.errstate(all="ignore"):  # overflows are refused later, by name
        return _design(DrawingFile(data, reading), name, reading)


def _design(drawing: DrawingFile, name: str, reading: Reading) -> Design:
    check_copies(drawing)
    curves = EntityReader(drawing, reading.tolerance).curves()
    drawing.layers.check()
    if drawing.unit >= METRE and (size := _size(curves) * drawing.unit) > LARGEST:
        drawing.take_mm(size)
        curves = EntityReader(drawing, reading.tolerance).curves()
    counts = np.array([drawing.layers.counts(k) for k in range(len(drawing.layers.names))])
    warnings = [*drawing.warnings, *messages.left_out(curves.other, drawing.layers)]
    warnings += messages.hidden(curves, counts, drawing.layers)
    builder = _AreaBuilder(curves, counts[curves.layer], drawing.unit, reading.tolerance)
    area, notes = builder.area(drawing.layers, reading)
    warnings += [*builder.notes, *notes]
    if area.is_empty:
        raise InputError(messages.why_empty(warnings, reading.layers))
    return Design(
        area, name, None, tuple(warnings), (*drawing.source, messages.summary(curves, counts, drawing.layers))
    )


class _AreaBuilder:
    """The curves that count, in mm. keep: (m,) which count."""

    def __init__(self, curves: Curves, keep: Bools, unit: float, tolerance: float) -> None:
        begin = np.cumsum(curves.size) - curves.size
        self._role, self._group, self._layer = curves.role[keep], curves.group[keep], curves.layer[keep]
        size = curves.size[keep]
        which = np.repeat(begin[keep] + size - np.cumsum(size), size) + np.arange(size.sum())
        cubics = curves.cubics[which] * unit
        cubics, self.notes = _near(cubics)
        if not (np.isfinite(cubics).all() and np.abs(cubics).max(initial=0) <= LARGEST):
            raise InputError(
                f"what is drawn reaches farther than {LARGEST / 1000:g} m; check the unit, and look for "
                "something far off the rest"
            )
        self._cubics = np.split(cubics, np.cumsum(size)[:-1]) if len(size) else []
        self._tolerance = tolerance

    def _filled(self) -> scattered.Geometries:
        """The polygons that DXF fills."""
        at = np.flatnonzero(self._role == FILLED)
        rings = self._flattened([self._cubics[k] for k in at])
        groups = self._group[at]
        cuts = np.flatnonzero(np.diff(groups)) + 1
        single = np.diff(np.concatenate([[0], cuts, [len(at)]])) == 1 if len(at) else np.zeros(0, dtype=bool)
        spans = np.split(np.arange(len(at)), cuts) if len(at) else []
        alone = [rings[int(span[0])] for span, one in zip(spans, single, strict=True) if one]
        together = [
            scattered.filled([rings[k] for k in span], EVENODD)
            for span, one in zip(spans, single, strict=True)
            if not one
        ]
        return np.concatenate(
            [scattered.polygons(*scattered.flat(alone), EVENODD), scattered.parts(*together)]
        )

    def area(self, layers: Layers, reading: Reading) -> tuple[scattered.Geometry, list[str]]:
        """The solid area, and warnings about it."""
        outlined, lines, notes = self._outlined(reading)
        pieces = np.concatenate([self._filled(), scattered.parts(outlined)])
        width = reading.line_width
        if width is None and len(pieces) == 0 and lines:
            width = reading.hairline
            near = lines[0].near(NEAR * width / reading.grown)
            notes.append(hairlines(sum(len(line.curves) for line in lines), width) + near)
        elif len(pieces) == 0 and self._cubics and not lines:
            notes.append("its outlines cancel each other by the even-odd rule: choose a layer by --layer")
        elif width is None:
            notes += [messages.not_drawn(line, layers) for line in lines]
        if width is not None:
            drawn = [self._cubics[k] for line in lines for k in line.curves]
            pieces = np.concatenate([pieces, stroked(drawn, width / reading.grown, self._tolerance)])
        return scattered.covered(pieces), notes

    def _outlined(self, reading: Reading) -> tuple[scattered.Geometry, list[messages.OpenLines], list[str]]:
        """The area that outlines enclose, the lines that enclose nothing, and warnings about both."""
        whole = self._flattened([self._cubics[k] for k in np.flatnonzero(self._role == CLOSED)])
        pen, twice = self._once(np.flatnonzero(self._role == OPEN))
        strokes = self._flattened([self._cubics[k] for k in pen])
        spot = reading.hairline / reading.grown
        found = enclosed(whole, strokes, self._tolerance, spot, branching=reading.line_width is None)
        lines = [
            messages.OpenLines(
                pen[which].tolist(), np.unique(self._layer[pen[which]]).tolist(), found.nearest, branching
            )
            for which, branching in ((found.open, False), (found.branching, True))
            if which.any()
        ]
        return found.area, lines, [*messages.twice(twice + found.again), *found.notes(spot)]

    def _flattened(self, cubics: Sequence[Floats]) -> list[Floats]:
        return [line.points for line in polylines([Chain(one, self._tolerance) for one in cubics])]

    def _once(self, pen: scattered.Indices) -> tuple[scattered.Indices, int]:
        """The curves without duplicates, which may run in either direction; and how many are dropped."""
        seen: set[bytes] = set()
        keep = []
        for k in pen.tolist():
            points = np.round(self._cubics[k] / SAME)
            forward, backward = points.tobytes(), points[::-1, ::-1].tobytes()
            if forward in seen or backward in seen:
                continue
            seen.add(forward)
            keep.append(k)
        return np.array(keep, dtype=np.intp), len(pen) - len(keep)


def _size(curves: Curves) -> float:
    """The larger side of the drawing, in its unit; inf if it is not finite."""
    if not len(curves.cubics):
        return 0.0
    size = float(np.ptp(curves.cubics, axis=(0, 1)).max())
    return size if np.isfinite(size) else np.inf


def _near(cubics: Floats) -> tuple[Floats, list[str]]:
    """The curves, moved to the origin if they are far from it, as map coordinates are; and a note of it."""
    if not len(cubics) or not LARGEST < np.abs(cubics).max() < FARTHEST:
        return cubics, []
    low = np.floor(cubics.min(axis=(0, 1)))
    x, y = (low / 1000).tolist()
    return cubics - low, [f"what is drawn lies {x:.6g}, {y:.6g} m from the origin, and is moved there"]


def stroked(cubics: Sequence[Floats], width: float, tolerance: float) -> scattered.Geometries:
    """The pieces whose union is the area of lines with round ends and corners. width: mm."""
    pen = Pen(width, "round", "round", 4.0, tolerance)
    drawn = polylines([Chain(one, tolerance / 2, pen.turn) for one in cubics])
    return scattered.parts(*(piece for line in drawn for piece in stroke(line, False, pen)))
