"""How many curves a drawing has with all copies of its blocks, counted before any of them is drawn.

A block that places ten others, which place ten others, …, takes a few lines a level, but ten times the curves
of the level below. Counted is what is certain to be drawn: entities that may draw nothing count 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from laserpath.base import limits
from laserpath.design.dxf.drawing import DrawingFile
from laserpath.design.dxf.repair import DAMAGE

DEPTH = 100  # nested blocks

Count = tuple[int, int]
"""Curves, and the cubic pieces that they have."""

_CUBICS = {"LINE": 1, "CIRCLE": 16, "ARC": 1, "ELLIPSE": 1, "SOLID": 1, "TRACE": 1}
"""The fewest pieces of the curves of an entity."""


def check_copies(drawing: DrawingFile) -> None:
    """Raise if there would be too many curves, or pieces of curves."""
    check(_Counter(drawing).total(drawing.space, ()))


def check(count: Count) -> None:
    """Raise if a number of curves, or of their pieces, is above its limit."""
    for number, name, what in zip(count, ("curves", "cubics"), ("curves", "pieces of curves"), strict=True):
        if number > getattr(limits.now(), name):
            raise limits.exceeded(
                f"blocks are repeated too often: there would be {limits.counted(number)} {what}", name, number
            )


def grid(dxf: Any) -> tuple[int, int]:
    """The columns and rows in which an INSERT places its block; copies in the same place are one."""
    columns, rows = max(int(dxf.column_count), 1), max(int(dxf.row_count), 1)
    return columns if dxf.column_spacing else 1, rows if dxf.row_spacing else 1


class _Counter:
    """Counts the curves of blocks, each block once."""

    def __init__(self, drawing: DrawingFile) -> None:
        self._layers, self._blocks = drawing.layers, drawing.ezdxf.blocks
        self._known: dict[str, Count] = {}

    def total(self, entities: Iterable[Any], within: tuple[str, ...]) -> Count:
        """The curves of some entities, with all copies of the blocks that they place."""
        curves = cubics = 0
        for entity in entities:
            try:
                more = self._of(entity, within)
            except DAMAGE:
                continue  # it is left out when it is drawn, too
            curves, cubics = curves + more[0], cubics + more[1]
        return curves, cubics

    def _of(self, entity: Any, within: tuple[str, ...]) -> Count:
        kind = entity.dxftype()
        if entity.dxf.get("invisible", 0):
            return 0, 0
        if kind != "INSERT":
            pieces = max(len(entity) - 1, 0) if kind == "LWPOLYLINE" else _CUBICS.get(kind, 0)
            return min(pieces, 1), pieces
        if self._layers.hides(entity.dxf.get("layer", "0")):
            return 0, 0
        columns, rows = grid(entity.dxf)
        curves, cubics = self._block(entity.dxf.get("name", ""), within)
        return columns * rows * curves, columns * rows * cubics

    def _block(self, name: str, within: tuple[str, ...]) -> Count:
        """The curves of a block; none if it is missing, external, in itself or too deep: the reader warns."""
        block, key = self._blocks.get(name), name.lower()
        if block is None or key in within or len(within) >= DEPTH:
            return 0, 0
        if block.block.is_xref or block.block.is_xref_overlay:
            return 0, 0
        if key not in self._known:
            self._known[key] = self.total(block, (*within, key))
        return self._known[key]
