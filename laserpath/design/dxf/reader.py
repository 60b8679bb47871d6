"""The way from the bytes of a DXF file to a `Design`.

Solid is what DXF fills (hatches, solids, lines with a width), and what the outlines enclose by the even-odd
rule, all layers that count together: an outline in another is a hole, one in that an island. An outline that
is drawn twice counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from laserpath.arrays import Bools, Floats
from laserpath.design import scattered
from laserpath.design.curves import Chain, polylines
from laserpath.design.dxf import told
from laserpath.design.dxf.blocks import CLOSED, FILLED, LARGEST, OPEN, Ink, Walk
from laserpath.design.dxf.document import Document, Layers
from laserpath.design.dxf.loops import Loops, joined
from laserpath.design.fill import EVENODD
from laserpath.design.reading import Reading
from laserpath.errors import InputError
from laserpath.types import Design

SAME = 1e-6  # mm: outlines closer than this are drawn twice


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a DXF. name: of the design."""
    with np.errstate(all="ignore"):  # what overflows is refused by name
        return _design(Document(data, reading), name, reading)


def _design(document: Document, name: str, reading: Reading) -> Design:
    ink = Walk(document, reading.tolerance).ink()
    document.layers.check()
    counts = np.array([document.layers.counts(k) for k in range(len(document.layers.names))])
    warnings = [*document.warnings, *told.left_out(ink.other, document.layers)]
    warnings += told.hidden(ink, counts, document.layers)
    curves = _Curves(ink, counts[ink.layer], document.unit, reading.tolerance)
    filled = curves.filled()
    outlined, said = curves.outlined(document.layers)
    warnings += said
    area = scattered.covered(np.concatenate([filled, scattered.parts(outlined)]))
    if area.is_empty:
        raise InputError(told.why_empty(warnings, reading.layers))
    return Design(
        area, name, None, tuple(warnings), (*document.source, told.of(ink, counts, document.layers))
    )


class _Curves:
    """The curves that count, in mm. keep: (m,) which of the ink's do."""

    def __init__(self, ink: Ink, keep: Bools, unit: float, tolerance: float) -> None:
        begin = np.cumsum(ink.size) - ink.size
        self._role, self._group, self._layer = ink.role[keep], ink.group[keep], ink.layer[keep]
        size = ink.size[keep]
        which = np.repeat(begin[keep] + size - np.cumsum(size), size) + np.arange(size.sum())
        cubics = ink.cubics[which] * unit
        if not (np.isfinite(cubics).all() and np.abs(cubics).max(initial=0) <= LARGEST):
            raise InputError(
                f"what is drawn reaches farther than {LARGEST / 1000:g} m from the origin; "
                "move it there, and check the unit"
            )
        self._cubics = np.split(cubics, np.cumsum(size)[:-1]) if len(size) else []
        self._tolerance = tolerance

    def filled(self) -> scattered.Geometries:
        """Polygons of what DXF fills."""
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

    def outlined(self, layers: Layers) -> tuple[scattered.Geometry, list[str]]:
        """The area that outlines enclose, and what is to be said of them."""
        whole = [self._cubics[k] for k in np.flatnonzero(self._role == CLOSED)]
        pen = np.flatnonzero(self._role == OPEN)
        pen, twice = self._once(pen)
        ends = np.array([(self._cubics[k][0, 0], self._cubics[k][-1, 3]) for k in pen]).reshape(-1, 2, 2)
        found = joined(ends, self._tolerance)
        for loop in found.loops:
            parts = [self._cubics[pen[k]][::-1, ::-1] if back else self._cubics[pen[k]] for k, back in loop]
            whole.append(np.concatenate(parts))
        rings, again = _each_once(self._flattened(whole))
        return scattered.even_odd(rings), [
            *told.twice(twice + again),
            *self._left_open(found, pen, layers),
        ]

    def _flattened(self, cubics: Sequence[Floats]) -> list[Floats]:
        return [line.points for line in polylines([Chain(one, self._tolerance) for one in cubics])]

    def _once(self, pen: scattered.Indices) -> tuple[scattered.Indices, int]:
        """Without lines that lie on others, from either end; and how many those are."""
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

    def _left_open(self, found: Loops, pen: scattered.Indices, layers: Layers) -> list[str]:
        """A sentence for each layer with lines that enclose nothing."""
        out = []
        near = f", the nearest loose ends are {found.gap:.3g} mm apart" if np.isfinite(found.gap) else ""
        for which, why in (
            (found.open, f"not closed{near}: close it, or give it a width"),
            (found.branching, "branching, so that it does not say what is inside: hatch what shall be solid"),
        ):
            for layer, n in sorted(Counter(self._layer[pen[which]].tolist()).items()):
                lines = "1 line" if n == 1 else f"{n} lines"
                out.append(f"{lines} on layer {layers.names[layer]!r}: no area, because the outline is {why}")
        return out


def _each_once(rings: list[Floats]) -> tuple[list[Floats], int]:
    """Without rings that lie on others, wherever they begin and whichever way they go; how many those are."""
    if not rings:
        return [], 0
    points, ends = scattered.flat(rings)
    first = ends[:-1]
    box = np.column_stack([np.minimum.reduceat(points, first), np.maximum.reduceat(points, first)])
    _, which, count = np.unique(np.round(box / SAME), axis=0, return_inverse=True, return_counts=True)
    drop, seen = set(), set()
    for k in np.flatnonzero(count[which.ravel()] > 1).tolist():  # the others' boxes are their own
        vertices = np.unique(np.round(rings[k] / SAME), axis=0).tobytes()
        if vertices in seen:
            drop.add(k)
        seen.add(vertices)
    return [ring for k, ring in enumerate(rings) if k not in drop], len(drop)
