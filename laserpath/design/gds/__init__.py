"""GDSII and OASIS → `Design`: the polygons of one layer in one cell and the cells that it places.

`read(data, name, reading)`. The way through: `extract` (gdstk reads the file, in a subprocess) → which cell,
which layers, and their area in mm.

**Cells that place cells** → all places of each cell in the top cell, and its polygons there. Parents come
first: T(child) = T(parent) · reference · array, for all places of a cell at once. The number of polygons is
checked before any is made.  places: (K, 2, 3), x' = A x + t, mm.

In the subprocess gdstk reads the file into a table. The file's bytes are written to a temporary folder, which
is removed; no name in them is followed.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laserpath.base import isolated, limits
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, did_you_mean, figure
from laserpath.design import fill
from laserpath.design.reading import LayersRead, Reading, each_alone
from laserpath.design.vector import Line, followed
from laserpath.types import Design

LARGEST = 1e5  # mm from the origin
LISTED = 12  # names in a sentence
_LAYER = re.compile(r"\s*(\d{1,9})\s*(?:/\s*(\d{1,9})\s*)?")
_OASIS = b"%SEMI-OASIS\r\n"
_END = 256  # bytes of OASIS's END record, with its padding


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a GDSII or OASIS file. name: of the design."""
    _sniff(data)
    with np.errstate(all="ignore"):  # overflows are refused later, by name
        tree, choice = _checked(data, reading)
        return _design(tree, choice, name, reading)


def read_layers(data: bytes, name: str, reading: Reading) -> LayersRead:
    """A design for each layer of `reading.split`, or why it has none. name: of the drawing.

    That others are not listed is no surprise: a layout has dozens, most of them for other steps.
    """
    _sniff(data)
    with np.errstate(all="ignore"):
        checked = cache(lambda follow: _checked(data, replace(reading, follow=follow)))
        whole, _ = checked(False)  # to follow, only the layers with paths are there
        _chosen(whole, reading.split)  # which refuses those that are not there
        shown = _shown(whole)
        split = replace(reading, split=reading.split or tuple(shown))
        return LayersRead(
            shown, each_alone(split, lambda alone: _design(*checked(alone.follow), name, alone))
        )


def _shown(tree: Hierarchy) -> dict[str, bool]:
    """Each layer as 1/0, and whether it is the one that is read if none is named."""
    usual = _layers(tree, _chosen(tree, ())[0]).tolist()
    known = _layers(tree, tree.rings()).tolist()
    return {f"{layer}/{datatype}": [layer, datatype] in usual for layer, datatype in known}


def _checked(data: bytes, reading: Reading) -> tuple[Hierarchy, str]:
    """`_tree`, with round shapes as fine as asked for, and of a size that can be read."""
    tree, choice = _tree(data, reading.tolerance, reading)
    stretch = tree.stretch()
    if stretch > 1:  # round ends and circles are polygons before they are magnified
        tree, choice = _tree(data, reading.tolerance / stretch, reading)
    tree.check_size()
    return tree, choice


def _design(tree: Hierarchy, choice: str, name: str, reading: Reading) -> Design:
    """The design of the layers of a cell. choice: a warning about the cell."""
    if reading.follow and not tree.rings().any():
        raise InputError(f"there is no line to follow: cell {tree.name!r} has no path")
    try:
        chosen, layered = _chosen(tree, reading.layers)
    except InputError as error:
        if reading.follow:
            raise InputError(f"there is no line to follow: among the layers with paths {error}") from None
        raise
    layers = _listed(_layers(tree, chosen))
    if reading.follow:
        lines = _lines(tree.polygons(chosen), tree.name)
        made = followed(lines, name, reading, 0, (*filter(None, (choice, layered)), *_warnings(tree)))
        return replace(made, source=(f"layer {layers} of cell {tree.name!r}", *made.source))
    area = fill.covered(_pieces(tree.polygons(chosen), tree.name))
    if area.is_empty:
        raise InputError(
            f"the design is empty: no polygon on layer {layers} of cell {tree.name!r} has an area"
        )
    return Design(
        area,
        name,
        None,
        (*filter(None, (choice, layered)), *_warnings(tree)),
        (f"layer {layers} of cell {tree.name!r}",),
    )


def _sniff(data: bytes) -> None:
    """Refuse files of another format, and files that are cut off."""
    if not data.strip(b"\0 \r\n\t"):
        raise InputError("the file is empty")
    if data.startswith(_OASIS):
        if len(data) < _END + len(_OASIS) or data[-_END] != 2:
            raise InputError("the OASIS file is cut off: it does not finish with an END record")
        return
    if data[:4] != b"\0\x06\0\x02":
        raise InputError("the file is neither GDSII nor OASIS: it begins with the header of neither")
    if not data.rstrip(b"\0").endswith(b"\0\x04\x04"):  # tapes were filled up with zeros
        raise InputError("the GDSII file is cut off: it does not finish with an ENDLIB record")


def _tree(data: bytes, tolerance: float, reading: Reading) -> tuple[Hierarchy, str]:
    """The cell to read, with those that it places; and a warning if it is one of several."""
    cells, name = Cells(table(data, tolerance, reading.follow)), reading.cell
    unit = float(cells.table["dbu"])
    if not (np.isfinite(unit) and 1e-12 <= unit <= 1e3):
        raise InputError(f"the file's database unit is {unit:g} mm, but must be between 1e-12 and 1000 mm")
    if not set(cells.names) - {CONTEXT}:
        raise InputError("the design is empty: there is no cell in it")
    return (below(cells, _named(cells, name)), "") if name is not None else _top(cells)


def _named(cells: Cells, name: str) -> int:
    if name not in cells.names:
        names = [one for one in cells.names if one != CONTEXT]
        near = did_you_mean(name, names, repr)
        raise InputError(f"there is no cell {name!r}; there are {_quoted(names)}{near}")
    return cells.names.index(name)


def _top(cells: Cells) -> tuple[Hierarchy, str]:
    """The top cell; of several the largest with polygons, with a warning that lists them."""
    if not cells.tops:
        first = next(k for k, name in enumerate(cells.names) if name != CONTEXT)
        return below(cells, first), ""  # raises: every cell is in a cycle, or below one
    trees = [below(cells, k) for k in cells.tops]
    drawn = [tree for tree in trees if tree.drawn]
    if len(drawn) < 2:
        return (drawn or trees)[0], ""
    sizes = {tree.name: tree.size() for tree in drawn}
    drawn.sort(key=lambda tree: -np.hypot(*sizes[tree.name]))  # equal sizes keep the file's order
    listed = ", ".join(f"{tree.name!r} ({_extent(*sizes[tree.name])})" for tree in drawn[:LISTED])
    return drawn[0], (
        f"no other cell places {listed}{_more(len(drawn))}: the largest is read; --cell NAME chooses another"
    )


def _extent(width: float, height: float) -> str:
    """A size in mm, or in µm if both sides are below 1 mm."""
    if max(width, height) < 1:
        return f"{figure(1e3 * width, 4)} × {figure(1e3 * height, 4)} µm"
    return f"{figure(width, 4)} × {figure(height, 4)} mm"


def _layers(tree: Hierarchy, rings: Bools) -> Ints:
    """(L, 2) layer and datatype of some rings, each pair once, in order."""
    layers: Ints = np.unique(tree.cells.table["layer"][rings], axis=0).reshape(-1, 2)
    return layers


def _chosen(tree: Hierarchy, names: tuple[str, ...]) -> tuple[Bools, str]:
    """(R,) which rings count, and a warning if only one of several layers counts.

    A mask is one layer; all layers on top of each other are hardly ever intended.
    """
    drawn = tree.rings()
    known = _layers(tree, drawn)
    if len(known) == 0:
        raise InputError(_lost(tree) or f"the design is empty: there is no polygon in cell {tree.name!r}")
    layer = tree.cells.table["layer"]
    if names:
        matches = [_matches(layer, text, known, tree.name) for text in names]
        return np.any(matches, axis=0) & drawn, ""
    if len(known) == 1:
        return drawn, ""
    length, area = tree.outlines()
    rings = [drawn & (layer == pair).all(axis=1) for pair in known]
    order = sorted(range(len(known)), key=lambda k: -float(length[rings[k]].sum()))
    areas = ", ".join(f"{known[k][0]}/{known[k][1]} ({_area(area[rings[k]].sum())})" for k in order[:LISTED])
    first, second = known[order[0]], known[order[1]]
    return rings[order[0]], (
        f"cell {tree.name!r} holds {len(known)} layers, the one with the longest outline first: {areas}"
        f"{_more(len(known))}; {first[0]}/{first[1]} is read, and --layer {second[0]}/{second[1]} would read "
        "the next"
    )


def _area(area: float) -> str:
    """An area in mm², or in µm² if it is below 0.001 mm²; overlaps count twice."""
    return f"{figure(area)} mm²" if area >= 0.001 else f"{figure(1e6 * area)} µm²"


def _lost(tree: Hierarchy) -> str:
    """The warning about cells that are placed but missing, or ''."""
    if not tree.lost:
        return ""
    cell, name = tree.lost[0]
    more = f" ({len(tree.lost) - 1} more like it)" if len(tree.lost) > 1 else ""
    return f"cell {cell!r} places a cell {name!r} that is not in the file{more}"


def _matches(layer: Ints, text: str, known: Ints, cell: str) -> Bools:
    """(R,) which rings are on a layer that is written 1 or 1/0."""
    match = _LAYER.fullmatch(text)
    if not match:
        raise InputError(f"layer {text!r} is neither a number nor layer/datatype; there are {_listed(known)}")
    number, datatype = int(match[1]), match[2]

    def on(pairs: Ints) -> Bools:
        same: Bools = pairs[:, 0] == number
        return same if datatype is None else same & (pairs[:, 1] == int(datatype))

    if not on(known).any():
        raise InputError(f"there is no layer {text.strip()} in cell {cell!r}; there are {_listed(known)}")
    return on(layer)


def _lines(rings: Rings, cell: str) -> list[Line]:
    """The middles of paths; a path of width 0 has none."""
    xy, ends = rings
    _check_reach(xy, cell)
    lines: list[Line] = []
    for points in np.split(xy, ends[1:-1]) if len(ends) > 1 else ():
        width = float(np.hypot(*(points[-1] - points[-2])))
        lines.append((points[:-1], width or None))
    return lines


def _pieces(rings: Rings, cell: str) -> fill.Polygons:
    """The rings as valid polygons."""
    xy, ends = rings
    _check_reach(xy, cell)
    return fill.polygons(xy, ends)


def _check_reach(xy: Floats, cell: str) -> None:
    if not (np.isfinite(xy).all() and np.abs(xy).max(initial=0) <= LARGEST):
        raise InputError(f"cell {cell!r} reaches farther than {LARGEST / 1000:g} m from its origin")


def _warnings(tree: Hierarchy) -> tuple[str, ...]:
    """The warnings about parts of the file that have no area."""
    out = [f"gdstk says: {note}" for note in _notes(tree)]
    if tree.lost:
        out.append(f"{_lost(tree)}: it is left out")
    if labels := tree.count("labels"):
        out.append(f"{labels} label{'s' * (labels > 1)}: text is not exposed")
    if hairs := tree.count("hairlines"):
        out.append(f"{hairs} path{'s' * (hairs > 1)} without a width: a line needs one to have an area")
    return tuple(out)


def _notes(tree: Hierarchy) -> list[str]:
    """The warnings of gdstk, except those about missing cells: `_lost` warns of the ones that matter."""
    notes = [str(note) for note in np.unique(tree.cells.table["notes"])]
    return [note for note in notes if not ("missing" in note.lower() and "reference" in note.lower())]


def _listed(layers: Ints) -> str:
    """Layers as 1/0, 2/0, …, for a message."""
    return ", ".join(f"{layer}/{datatype}" for layer, datatype in layers[:LISTED]) + _more(len(layers))


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:LISTED]) + _more(len(names))


def _more(count: int) -> str:
    return f" and {count - LISTED} more" if count > LISTED else ""


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
