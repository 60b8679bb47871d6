"""The way from the bytes of a GDSII or OASIS file to a `Design`: which cell, which layers."""

from __future__ import annotations

import difflib
import re

import numpy as np

from laserpath.arrays import Bools, Floats
from laserpath.design import scattered
from laserpath.design.gds.hierarchy import Cells, Hierarchy, Ints, Rings, below
from laserpath.design.gds.isolate import table
from laserpath.design.reading import Reading
from laserpath.errors import InputError
from laserpath.types import Design

LARGEST = 1e5  # mm from the origin
LISTED = 12  # names in a sentence
_LAYER = re.compile(r"\s*(\d{1,9})\s*(?:/\s*(\d{1,9})\s*)?")
_OASIS = b"%SEMI-OASIS\r\n"
_END = 256  # bytes of the last record of OASIS, with its padding


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a GDSII or OASIS file. name: of the design."""
    _sniff(data)
    with np.errstate(all="ignore"):  # what overflows is refused by name
        return _design(data, name, reading)


def _design(data: bytes, name: str, reading: Reading) -> Design:
    tree = _tree(data, reading.tolerance, reading.cell)
    stretch = tree.stretch()
    if stretch > 1:  # round ends and circles are polygons before they are magnified
        tree = _tree(data, reading.tolerance / stretch, reading.cell)
    tree.check_size()
    wanted = _wanted(tree, reading.layers)
    chosen = _listed(_layers(tree, wanted))
    area = scattered.covered(_pieces(tree.polygons(wanted), tree.name))
    if area.is_empty:
        raise InputError(
            f"the design is empty: no polygon on layer {chosen} of cell {tree.name!r} has an area"
        )
    return Design(area, name, None, _warnings(tree), (f"layer {chosen} of cell {tree.name!r}",))


def _sniff(data: bytes) -> None:
    """Refuse what is plainly something else, or not all of a file."""
    if not data.strip(b"\0 \r\n\t"):
        raise InputError("the file is empty")
    if data.startswith(_OASIS):
        if len(data) < _END + len(_OASIS) or data[-_END] != 2:
            raise InputError("the OASIS file is cut off: it does not finish with an END record")
        return
    if data.startswith(b"\x1f\x8b"):
        raise InputError("the file is compressed (gzip); unpack it first")
    if data[:4] != b"\0\x06\0\x02":
        raise InputError("the file is neither GDSII nor OASIS: it begins with the header of neither")
    if not data.rstrip(b"\0").endswith(b"\0\x04\x04"):  # tapes were filled up with zeros
        raise InputError("the GDSII file is cut off: it does not finish with an ENDLIB record")


def _tree(data: bytes, tolerance: float, wanted: str | None) -> Hierarchy:
    """The cell to read, with what it places."""
    cells = Cells(table(data, tolerance))
    unit = float(cells.table["dbu"])
    if not (np.isfinite(unit) and 1e-12 <= unit <= 1e3):
        raise InputError(f"the file's database unit is {unit:g} mm, but must be between 1e-12 and 1000 mm")
    if not cells.names:
        raise InputError("the design is empty: there is no cell in it")
    return below(cells, _named(cells, wanted)) if wanted is not None else _top(cells)


def _named(cells: Cells, wanted: str) -> int:
    if wanted not in cells.names:
        near = difflib.get_close_matches(wanted, cells.names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"there is no cell {wanted!r}; there are {_quoted(cells.names)}{hint}")
    return cells.names.index(wanted)


def _top(cells: Cells) -> Hierarchy:
    """The cell that no other places. Where there are several, the only one with polygons."""
    placed = set(cells.table["ref_target"].tolist())
    tops = [k for k in range(len(cells.names)) if k not in placed]
    if not tops:
        return below(cells, 0)  # raises: every cell is in a circle, or below one
    trees = [below(cells, k) for k in tops]
    drawn = [tree for tree in trees if tree.drawn]
    if len(drawn) > 1:
        raise InputError(
            f"no other cell places {_quoted([tree.name for tree in drawn])}: choose one of these cells"
        )
    return (drawn or trees)[0]


def _layers(tree: Hierarchy, rings: Bools) -> Ints:
    """(L, 2) layer and datatype of some rings, each once, in order."""
    layers: Ints = np.unique(tree.cells.table["layer"][rings], axis=0).reshape(-1, 2)
    return layers


def _wanted(tree: Hierarchy, chosen: tuple[str, ...]) -> Bools:
    """(R,) which rings count."""
    drawn = tree.rings()
    there = _layers(tree, drawn)
    if len(there) == 0:
        raise InputError(f"the design is empty: there is no polygon in cell {tree.name!r}")
    if chosen:
        layer = tree.cells.table["layer"]
        picked = [_matches(layer, text, there, tree.name) for text in chosen]
        return np.any(picked, axis=0) & drawn
    if len(there) > 1:
        raise InputError(
            f"cell {tree.name!r} holds {len(there)} layers, and which to expose must be chosen: "
            f"{_with_areas(tree, there)}"
        )
    return drawn


def _matches(layer: Ints, text: str, there: Ints, cell: str) -> Bools:
    """(R,) which rings are on a layer as it is written: 1 or 1/0."""
    found = _LAYER.fullmatch(text)
    if not found:
        raise InputError(f"layer {text!r} is no number, nor layer/datatype; there are {_listed(there)}")
    number, datatype = int(found[1]), found[2]

    def on(pairs: Ints) -> Bools:
        same: Bools = pairs[:, 0] == number
        return same if datatype is None else same & (pairs[:, 1] == int(datatype))

    if not on(there).any():
        raise InputError(f"there is no layer {text.strip()} in cell {cell!r}; there are {_listed(there)}")
    return on(layer)


def _pieces(rings: Rings, cell: str) -> scattered.Geometries:
    """The polygons, valid."""
    xy, ends = rings
    if not (np.isfinite(xy).all() and np.abs(xy).max(initial=0) <= LARGEST):
        raise InputError(f"cell {cell!r} reaches farther than {LARGEST / 1000:g} m from its origin")
    return scattered.polygons(xy, ends)


def _with_areas(tree: Hierarchy, layers: Ints) -> str:
    """Layers with the sum of their polygons, which is told for a choice: overlaps count twice."""
    told = []
    for pair in layers[:LISTED]:
        rings = tree.polygons(tree.rings() & (tree.cells.table["layer"] == pair).all(axis=1))
        told.append(f"{pair[0]}/{pair[1]} ({np.abs(_shoelace(*rings)).sum():.3g} mm²)")
    return ", ".join(told) + _more(len(layers))


def _shoelace(xy: Floats, ends: Ints) -> Floats:
    """(R,) signed area of each ring, mm²."""
    following = np.arange(1, len(xy) + 1)
    following[ends[1:] - 1] = ends[:-1]
    cross = xy[:, 0] * xy[following, 1] - xy[following, 0] * xy[:, 1]
    area: Floats = np.add.reduceat(cross, ends[:-1]) / 2
    return area


def _warnings(tree: Hierarchy) -> tuple[str, ...]:
    """What of the file has no area."""
    out = [f"gdstk says: {note}" for note in np.unique(tree.cells.table["notes"])]
    if labels := tree.count("labels"):
        out.append(f"{labels} label{'s' * (labels > 1)}: text is not exposed")
    if hairs := tree.count("hairlines"):
        out.append(f"{hairs} path{'s' * (hairs > 1)} without a width: a line needs one to have an area")
    return tuple(out)


def _listed(layers: Ints) -> str:
    """1/0, 2/0 and so on."""
    return ", ".join(f"{layer}/{datatype}" for layer, datatype in layers[:LISTED]) + _more(len(layers))


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:LISTED]) + _more(len(names))


def _more(count: int) -> str:
    return f" and {count - LISTED} more" if count > LISTED else ""
