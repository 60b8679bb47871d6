"""Cells that place cells → all places of each cell in the top cell, and its polygons there.

Parents come first: T(child) = T(parent) · reference · array, for all places of a cell at once. The number of
polygons is checked before any is made.  places: (K, 2, 3), x' = A x + t, mm.

The cells come from `extract`, which runs in a subprocess: there gdstk reads the file into a table. The file's
bytes are written to a temporary folder, which is removed; no name in them is followed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laserpath.base import isolated, limits
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError

_PER_VERTEX = 100
"""Bytes of memory for each vertex of a polygon in its places."""
_EXTRACT = Path(__file__).with_name("extract.py")

Table = Mapping[str, NDArray[Any]]


def table(data: bytes, tolerance: float, follow: bool = False) -> Table:
    """The table of cells of a GDSII or OASIS file. tolerance: of round ends and circles, mm.

    follow: its rings are the middles of paths, and not their areas (`extract`).
    """
    try:
        with TemporaryDirectory(prefix="laserpath-") as folder:
            file, out = Path(folder, "design"), Path(folder, "cells.npz")
            file.write_bytes(data)
            # Twice as many, since not all cells need be placed in the end.
            _run(
                [
                    str(file),
                    str(out),
                    repr(tolerance),
                    str(2 * int(limits.now().shapes)),
                    "follow" if follow else "",
                ]
            )
            with np.load(out, allow_pickle=False) as columns:
                cells = {name: columns[name] for name in columns.files}
    except OSError as error:
        raise InputError(f"no temporary folder can be used to read the file: {error.strerror}") from None
    except (EOFError, zipfile.BadZipFile):
        raise InputError("the file is damaged: gdstk cannot read it") from None
    if "count" in cells:
        count = int(cells["count"])
        limits.check("shapes", count, f"its cells hold {limits.counted(count)} polygons or more")
    if "memory" in cells:
        raise limits.no_memory(str(cells["memory"]))
    if "error" in cells:
        raise InputError(isolated.plain(str(cells["error"])))
    return cells


def _run(arguments: list[str]) -> None:
    isolated.run(_EXTRACT, arguments, "gdstk")


DIGITS = 9  # decimals of coordinates in mm, far below any database unit

CONTEXT = "$$$CONTEXT_INFO$$$"
"""The cell in which KLayout records how it generated the others."""

Ints = NDArray[np.int64]
Box = Floats
"""(2, 2) lower left and upper right corner, mm."""
Rings = tuple[Floats, Ints]
"""(P, 2) points, mm, and (R+1,) where each ring begins in them."""


class Cells:
    """A table of cells, and the cells that each places."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.names = [str(name) for name in table["names"]]
        self.drawn = frozenset(table["ring_cell"].tolist())
        self.boxes: dict[int, Box | None] = {}

    @cached_property
    def tops(self) -> list[int]:
        """The cells that no other places, without KLayout's record."""
        noted = [k for k, name in enumerate(self.names) if name == CONTEXT]
        target = self.table["ref_target"][~np.isin(self.table["ref_cell"], noted)]
        placed = {*target.tolist(), *noted}
        return [k for k in range(len(self.names)) if k not in placed]

    @cached_property
    def lost(self) -> Mapping[int, list[str]]:
        """Cell → the names of the cells that it places and that are missing in the file."""
        out: dict[int, list[str]] = {}
        for k in np.flatnonzero(self.table["ref_target"] < 0).tolist():
            names = out.setdefault(int(self.table["ref_cell"][k]), [])
            if (name := str(self.table["ref_name"][k])) not in names:
                names.append(name)
        return out

    @cached_property
    def children(self) -> Mapping[int, list[tuple[int, Ints]]]:
        """Cell → (cell that it places, numbers of the references) for each."""
        cell, target = self.table["ref_cell"], self.table["ref_target"]
        order = np.lexsort((target, cell))
        steps = np.flatnonzero(np.diff(cell[order]) | np.diff(target[order])) + 1
        out: dict[int, list[tuple[int, Ints]]] = {}
        for group in np.split(order, steps) if len(order) else []:
            if target[group[0]] < 0:
                continue
            out.setdefault(int(cell[group[0]]), []).append((int(target[group[0]]), group))
        return out

    def placing(self, references: Ints) -> Floats:
        """(J, 2, 3) maps of some references, with all their copies."""
        table = self.table
        begin, end = table["shift"][references], table["shift"][references + 1]
        own = np.repeat(table["matrix"][references], end - begin, axis=0)
        which = np.repeat(end - np.cumsum(end - begin), end - begin) + np.arange(len(own))
        own[:, :, 2] += table["offsets"][which]
        maps: Floats = own
        return maps

    def copies(self, references: Ints) -> int:
        """The number of those maps."""
        return int((self.table["shift"][references + 1] - self.table["shift"][references]).sum())


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A cell and all cells below it; each comes before the cells that it places."""

    cells: Cells
    order: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of the top cell."""
        return self.cells.names[self.order[0]]

    @property
    def drawn(self) -> bool:
        """Whether there is a polygon in any of the cells."""
        return any(cell in self.cells.drawn for cell in self.order)

    @property
    def lost(self) -> list[tuple[str, str]]:
        """(cell, missing cell that it places), by name."""
        cells = self.cells
        return [(cells.names[cell], name) for cell in self.order for name in cells.lost.get(cell, [])]

    def size(self) -> tuple[float, float]:
        """Width and height of the drawing, mm; an upper bound for cells turned by odd angles."""
        boxes, drawn = self.cells.boxes, self._own_boxes()
        for cell in reversed(self.order):  # each after those that it places
            if cell in boxes:
                continue
            corners = [drawn[cell]] if cell in drawn else []
            for child, references in self.cells.children.get(cell, []):
                if (box := boxes[child]) is not None:
                    four = np.array([[x, y] for x in box[:, 0] for y in box[:, 1]])
                    maps = self.cells.placing(references)
                    corners.append(
                        (np.einsum("kij,pj->kpi", maps[:, :, :2], four) + maps[:, None, :, 2]).reshape(-1, 2)
                    )
            every = np.concatenate(corners) if corners else None
            boxes[cell] = None if every is None else np.array([every.min(axis=0), every.max(axis=0)])
        box = boxes[self.order[0]]
        return (0.0, 0.0) if box is None else (float(np.ptp(box[:, 0])), float(np.ptp(box[:, 1])))

    def _own_boxes(self) -> dict[int, Box]:
        """Cell → bounding box of its own polygons."""
        table = self.cells.table
        owner = np.repeat(table["ring_cell"], np.diff(table["ring"]))
        low, high = np.full((len(self.cells.names), 2), np.inf), np.full((len(self.cells.names), 2), -np.inf)
        np.minimum.at(low, owner, table["points"])
        np.maximum.at(high, owner, table["points"])
        return {cell: np.array([low[cell], high[cell]]) for cell in self.cells.drawn}

    def outlines(self) -> tuple[Floats, Floats]:
        """(R,), (R,) length in mm and area in mm² of each ring, summed over all places of its cell."""
        table, places = self.cells.table, self._places()
        xy, ends = table["points"], table["ring"]
        if len(ends) < 2:
            return np.zeros(0), np.zeros(0)
        following = np.arange(1, len(xy) + 1)
        following[ends[1:] - 1] = ends[:-1]
        steps = np.hypot(*(xy[following] - xy).T)
        cross = xy[:, 0] * xy[following, 1] - xy[following, 0] * xy[:, 1]
        once, squared = np.zeros(len(self.cells.names)), np.zeros(len(self.cells.names))
        for cell, maps in places.items():
            factor = np.hypot(maps[:, 0, 0], maps[:, 1, 0])
            once[cell], squared[cell] = factor.sum(), (factor**2).sum()
        owner = table["ring_cell"]
        length = np.add.reduceat(steps, ends[:-1]) * once[owner]
        return length, np.abs(np.add.reduceat(cross, ends[:-1])) / 2 * squared[owner]

    def rings(self) -> Bools:
        """(R,) whether a ring of the table is in these cells."""
        return np.isin(self.cells.table["ring_cell"], self.order)

    def count(self, per_cell: str) -> int:
        """The sum of a column of the table over these cells."""
        return int(self.cells.table[per_cell][list(self.order)].sum())

    def stretch(self) -> float:
        """The largest magnification of a cell."""
        largest = dict.fromkeys(self.order, 0.0)
        largest[self.order[0]] = 1.0
        for cell in self.order:
            for child, references in self.cells.children.get(cell, []):
                factor = np.hypot(*self.cells.table["matrix"][references][:, :, 0].T).max()
                largest[child] = max(largest[child], largest[cell] * float(factor))
        return max(largest.values())

    def check_size(self) -> None:
        """Raise if there would be too many polygons, with all copies."""
        table, cells = self.cells.table, len(self.cells.names)
        times = dict.fromkeys(self.order, 0)
        times[self.order[0]] = 1
        for cell in self.order:
            for child, references in self.cells.children.get(cell, []):
                times[child] += times[cell] * self.cells.copies(references)
        rings = np.bincount(table["ring_cell"], minlength=cells).tolist()
        weights = np.diff(table["ring"])
        points = np.bincount(table["ring_cell"], weights=weights, minlength=cells).tolist()
        shapes = max(sum(times.values()) - 1, sum(n * rings[cell] for cell, n in times.items()))
        limits.check("shapes", shapes, f"cell {self.name!r} holds {limits.counted(shapes)} shapes")
        limits.reserve(_PER_VERTEX * sum(n * int(points[cell]) for cell, n in times.items()))

    def polygons(self, chosen: Bools) -> Rings:
        """The chosen rings (R,) of the table in all places of their cells in the top cell."""
        table, places = self.cells.table, self._places()
        points, sizes = [np.zeros((0, 2))], [np.zeros(1, dtype=np.int64)]
        begin, size = table["ring"][:-1], np.diff(table["ring"])
        numbers = np.flatnonzero(chosen)
        owner = table["ring_cell"][numbers]
        for cell in self.order:
            rings = numbers[np.searchsorted(owner, cell) : np.searchsorted(owner, cell, "right")]
            length = size[rings]
            which = np.repeat(begin[rings] + length - np.cumsum(length), length) + np.arange(length.sum())
            maps = places[cell]
            moved = np.einsum("kij,pj->kpi", maps[:, :, :2], table["points"][which]) + maps[:, None, :, 2]
            points.append(moved.reshape(-1, 2))
            sizes.append(np.tile(length, len(maps)))
        # Both sides of a cut line to a hole must agree to the last bit, or they leave a slit.
        return np.round(np.concatenate(points), DIGITS), np.cumsum(np.concatenate(sizes))

    def _places(self) -> dict[int, Floats]:
        """Cell → (K, 2, 3) maps of all its places in the top cell."""
        gathered: dict[int, list[Floats]] = {cell: [] for cell in self.order}
        gathered[self.order[0]].append(np.eye(2, 3)[None])
        places = {}
        for cell in self.order:
            places[cell] = np.concatenate(gathered.pop(cell))
            for child, references in self.cells.children.get(cell, []):
                gathered[child].append(_product(places[cell], self.cells.placing(references)))
        return places


def below(cells: Cells, top: int) -> Hierarchy:
    """A cell with all cells below it; raises if cells contain each other."""
    needs: dict[int, list[int]] = {}
    left = [top]
    while left:
        cell = left.pop()
        if cell in needs:
            continue
        needs[cell] = [child for child, _ in cells.children.get(cell, [])]
        left += needs[cell]
    try:
        order = tuple(TopologicalSorter(needs).static_order())[::-1]
    except CycleError as error:
        chain = " in ".join(repr(cells.names[cell]) for cell in error.args[1])
        raise InputError(f"cells contain each other in a circle: {chain}") from None
    return Hierarchy(cells, order)


def _product(outer: Floats, inner: Floats) -> Floats:
    """(K, 2, 3), (J, 2, 3) → (K·J, 2, 3): first the inner map, then the outer."""
    both = np.einsum("kab,jbc->kjac", outer[:, :, :2], inner)
    both[..., 2] += outer[:, None, :, 2]
    product: Floats = both.reshape(-1, 2, 3)
    return product
