"""A GDSII or OASIS file → a table of its cells, read by gdstk in a subprocess.

gdstk is C++ and trusts the file: a few changed bytes crash the process that reads it. So this file is run
by itself, not imported: `python extract.py FILE OUT TOLERANCE POLYGONS MEMORY SECONDS`. It needs only gdstk
and NumPy, which start fast, and writes OUT, an npz file. Lengths are in mm.

names, dbu (mm), notes · points (P, 2), ring (R+1,) where each begins, layer (R, 2), ring_cell (R,)
ref_cell (K,), ref_name (K,), matrix (K, 2, 3), offsets (O, 2), shift (K+1,) where those of each begin
labels, hairlines (C,): numbers of labels and of paths without width, which have no area, in each cell.
"""

from __future__ import annotations

import errno
import sys
import warnings
from types import SimpleNamespace
from typing import Any

import gdstk
import numpy as np

from laserpath.base import bounds

MM = 1e-3  # m
_READING = "reading the file takes"


class TooMuchError(ValueError):
    """A sound file of too many polygons. count: of them, as far as they were counted."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


def main(file: str, out: str, tolerance: str, polygons: str, follow: str, memory: str, seconds: str) -> None:
    """Read the file and write the table, or only `error`, a sentence; `memory`, what takes too much of it;
    or the `count` of too many polygons.
    """
    bounds.keep_within(int(memory), float(seconds))
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            library = _library(file, float(tolerance))
            table = _table(library, int(polygons), _middles if follow else _shapes)
        table["notes"] = np.array([str(one.message).rstrip(".") for one in notes], dtype=np.str_)
        table["dbu"] = np.array(library.precision / MM)
    except TooMuchError as error:
        table = {"count": np.array(str(error.count))}  # which may have more than 64 bits
    except MemoryError:
        table = {"memory": np.array(_READING)}
    except (OSError, RuntimeError, ValueError, TypeError, OverflowError) as error:
        short = "memory" in str(error).lower() or getattr(error, "errno", 0) == errno.ENOMEM
        table = {"error": np.array(f"the file is damaged: {str(error) or type(error).__name__}")}
        if short or "zlib" in str(error):  # which says no more than that
            table = {"memory": np.array(_READING if short else "a compressed block is damaged, or takes")}
    np.savez(out, **table)


def _library(file: str, tolerance: float) -> Any:
    with open(file, "rb") as stream:
        oasis = stream.read(5) == b"%SEMI"
    read = gdstk.read_oas if oasis else gdstk.read_gds
    return read(file, unit=MM, tolerance=tolerance)


def _table(library: Any, most: int, shapes: Any) -> dict[str, Any]:
    """The cells as plain arrays. most: polygons of all cells, each cell once.  shapes: those of a cell."""
    cells = [cell for cell in library.cells if isinstance(cell, gdstk.Cell)]
    number = {cell.name: k for k, cell in enumerate(cells)}
    rings, layers, owner = [], [], []
    hairlines = np.zeros(len(cells), dtype=np.int64)
    for k, cell in enumerate(cells):
        for shape, hair in shapes(cell):
            hairlines[k] += hair
            for ring in _copies(shape, most):
                rings.append(ring)
                layers.append((shape.layer, shape.datatype))
                owner.append(k)
            if len(rings) > most:
                raise TooMuchError(len(rings))
    return {
        "names": np.array([cell.name for cell in cells], dtype=np.str_),
        "points": np.concatenate(rings) if rings else np.zeros((0, 2)),
        "ring": np.concatenate([[0], np.cumsum([len(ring) for ring in rings], dtype=np.int64)]),
        "layer": np.array(layers, dtype=np.int64).reshape(-1, 2),
        "ring_cell": np.array(owner, dtype=np.int64),
        "labels": np.array([len(cell.labels) for cell in cells], dtype=np.int64),
        "hairlines": hairlines,
        **_references([(k, r) for k, cell in enumerate(cells) for r in cell.references], number, most),
    }


def _shapes(cell: Any) -> Any:
    """Each polygon of a cell and of its paths, with 1 for that of a path without width, else 0."""
    for polygon in cell.polygons:
        if len(polygon.points) >= 3:
            yield polygon, 0
    for path in cell.paths:
        made = path.to_polygons()
        for polygon in made:
            hair = int(len(polygon.points) < 3 or abs(polygon.area()) == 0)
            polygon.repetition = path.repetition
            yield polygon, hair


def _middles(cell: Any) -> Any:
    """The middle line of each path, as the points of a ring, and 0.

    Its last point is as far from the one before as the path is wide, so that the width is magnified with it.
    """
    for path in cell.paths:
        middle, widths = path.spine(), path.widths()
        for k, (layer, datatype) in enumerate(zip(path.layers, path.datatypes, strict=True)):
            points = np.vstack([middle, middle[-1] + (0.0, float(widths[-1][k]))])
            line = SimpleNamespace(points=points, layer=layer, datatype=datatype, repetition=path.repetition)
            yield line, 0


def _copies(shape: Any, most: int) -> Any:
    """The rings of a polygon and of its repetitions."""
    points = shape.points
    if _size(shape.repetition, most) == 0:
        return [points]
    offsets = shape.repetition.get_offsets()
    return list(points + offsets[:, None])


def _size(repetition: Any, most: int) -> int:
    """The number of copies, 0 for a single shape; checked before the copies are made."""
    columns, rows = repetition.columns, repetition.rows
    size = int(repetition.size) if columns is None or rows is None else int(columns) * int(rows)
    if size > most:
        raise TooMuchError(size)
    return size


def _references(references: list[tuple[int, Any]], number: dict[str, int], most: int) -> dict[str, Any]:
    """The placements of cells in others: x' = matrix · (x, 1) + offset."""
    matrix, offsets, names = [], [], []
    for _, one in references:
        c, s = (round(float(f(one.rotation)), 15) for f in (np.cos, np.sin))  # right angles exactly
        m, flip = one.magnification, -1 if one.x_reflection else 1
        matrix.append([[m * c, -m * s * flip, one.origin[0]], [m * s, m * c * flip, one.origin[1]]])
        single = _size(one.repetition, most) == 0
        offsets.append(np.zeros((1, 2)) if single else one.repetition.get_offsets())
        names.append(one.cell_name)
    return {
        "ref_cell": np.array([k for k, _ in references], dtype=np.int64),
        "ref_name": np.array(names, dtype=np.str_),
        "ref_target": np.array([number.get(name, -1) for name in names], dtype=np.int64),
        "matrix": np.array(matrix, dtype=np.float64).reshape(-1, 2, 3),
        "offsets": np.concatenate(offsets) if offsets else np.zeros((0, 2)),
        "shift": np.concatenate([[0], np.cumsum([len(one) for one in offsets], dtype=np.int64)]),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
