"""GDSII and OASIS → `Design`: the polygons of one layer in one cell and the cells that it places.

`read(data, name, reading)`. The way through: `extract` (gdstk reads the file, in a subprocess)
→ `hierarchy` (cells placed in cells, arrays) → here: which cell, which layers, and their area in mm.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, did_you_mean, figure
from laserpath.design import fill
from laserpath.design.gds.hierarchy import CONTEXT, Cells, Hierarchy, Ints, Rings, below, table
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
