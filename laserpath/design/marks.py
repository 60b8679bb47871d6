"""The marks of a drawing by which a part is aligned: discs, round holes, drills of a size, parts of a layer.

A ring with area A and length P is round if 4πA/P² is nearly 1 (a regular polygon of 12 sides has 0.977, a
square 0.785); its diameter is 2√(A/π). Of many marks those are taken that lie farthest apart: the first is
the one nearest to the lower left corner, and each next one has the largest distance from all before it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import shapely

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import union
from laserpath.base.quantities import LENGTH, convert, parse
from laserpath.design import content, formats
from laserpath.design.alignment import COLUMNS, measured_in, point_of
from laserpath.design.board import excellon
from laserpath.types import Design, Fiducial, Point

_ROUND = 0.97
_SAME, _SAME_MM = 0.03, 0.01
"""Relative and absolute difference of diameters, mm, that count as one size."""
_APART = 1e-3
"""mm; marks nearer to each other are the same."""
_KINDS = re.compile(r"(round|hole|drill|layer):(.+)")


@dataclass(frozen=True, slots=True)
class DrawnMark:
    """A mark of a drawing. xy: mm, in the file's own coordinates."""

    name: str
    xy: Point


def drills(path: Path) -> Design | None:
    """The holes of a drill file as discs; None: it is another file."""
    data = content(path)
    foreign = None if formats.by_content(data) else formats.foreign_by_content(data, path.suffix)
    if "Excellon" not in (foreign or formats.by_suffix(path.suffix.lower()) or ""):
        return None
    with limits.work(str(path)):
        found = excellon.read(data, path.name)
        if not found.holes:
            raise InputError(f"{path}: it has no holes")
        discs = union([hole.area() for hole in found.holes])
    area = shapely.MultiPolygon([g for g in shapely.get_parts(discs) if g.geom_type == "Polygon"])
    return Design(area, path.stem, source=(f"holes from {path.name}",), warnings=found.notes)


def find_marks(
    which: Sequence[str], drawn: Design, layer: Callable[[str], Design], most: int
) -> tuple[DrawnMark, ...]:
    """The marks that some words name, at most so many of those that are found by their shape.

    which: `round:1mm`, discs; `hole:1mm` or `drill:1mm`, round holes, or the discs of a drill file;
    `layer:NAME`, the centres of all parts there; `10,20` or `NW:10,20`, a place.  layer: reads one by name.
    """
    places: list[tuple[str, Point]] = []
    found: list[Point] = []
    for word in which:
        if match := _KINDS.fullmatch(word.strip()):
            some = list(_found(match[1], match[2], drawn, layer))
            if not some:
                raise InputError(f"no mark of {drawn.name!r} is {word}{_sizes(match[1], drawn)}")
            found += some
        else:
            places.append(_place(word))
    spread = _spread(np.array(found).reshape(-1, 2), most)
    middle = spread.mean(axis=0) if len(spread) else np.zeros(2)
    turn = np.arctan2(*(spread - middle).T[::-1])
    order = np.argsort((turn - turn[:1] + 1e-9) % (2 * np.pi))  # counter-clockwise from the first
    named = [(f"M{k}", (float(x), float(y))) for k, (x, y) in enumerate(spread[order], 1)]
    marks = tuple(DrawnMark(name or f"P{k}", xy) for k, (name, xy) in enumerate([*named, *places], 1))
    if len({mark.name for mark in marks}) < len(marks):
        raise InputError(f"two marks have one name: {', '.join(mark.name for mark in marks)}")
    if not marks:
        raise InputError("no marks are named: --marks round:1mm, drill:0.8mm, layer:NAME or NW:10,20")
    return marks


def _place(word: str) -> tuple[str, Point]:
    """`NW:10,20mm` → name and place."""
    name, _, text = word.rpartition(":")
    parts = text.split(",")
    if len(parts) != 2:
        raise InputError(f"{word!r} is no mark: round:1mm, hole:1mm, drill:1mm, layer:NAME, or NW:10,20")
    return name.strip(), point_of(parts)


def _found(kind: str, value: str, drawn: Design, layer: Callable[[str], Design]) -> Iterator[Point]:
    """The centres of the marks of one kind."""
    if kind == "layer":
        yield from (_centre(part) for part in layer(value).area.geoms)
        return
    size = convert(*parse(value, LENGTH, "mm"), LENGTH)
    for centre, diameter in _circles(kind, drawn):
        if abs(diameter - size) <= max(_SAME * size, _SAME_MM):
            yield centre


def _circles(kind: str, drawn: Design) -> Iterator[tuple[Point, float]]:
    """(centre, diameter) of all discs, or of all round holes."""
    for part in drawn.area.geoms:
        solid = kind == "round" or (kind == "drill" and not part.interiors)
        for ring in [part.exterior] if solid else part.interiors:
            disc = shapely.Polygon(ring)
            if 4 * np.pi * disc.area / disc.length**2 >= _ROUND:
                yield _centre(disc), float(2 * np.sqrt(disc.area / np.pi))


def _sizes(kind: str, drawn: Design) -> str:
    """The sizes that there are, as a hint."""
    if kind == "layer":
        return ""
    sizes = sorted({float(f"{diameter:.2g}") for _, diameter in _circles(kind, drawn)})
    what = "round parts" if kind == "round" else "round holes"
    listed = ", ".join(f"{figure(one)} mm" for one in sizes[:8]) + (" …" if len(sizes) > 8 else "")
    return f"; there are {what} of {listed}" if sizes else f"; there are no {what}"


def _centre(part: shapely.Polygon) -> Point:
    return float(part.centroid.x), float(part.centroid.y)


def _spread(places: Floats, most: int) -> Floats:
    """(N, 2) at most so many places, far from each other."""
    if len(places) < 2:
        return places
    chosen = [int(np.argmin(places.sum(axis=1)))]
    away = np.hypot(*(places - places[chosen[0]]).T)
    while len(chosen) < most and away.max() > _APART:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, np.hypot(*(places - places[chosen[-1]]).T))
    return places[chosen]


def table(marks: Sequence[DrawnMark]) -> str:
    """The table to fill in, as `--align` reads it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for mark in marks:
        writer.writerow([mark.name, *(f"{value:.4f}" for value in mark.xy), "", ""])
    return out.getvalue()


def as_drawn(marks: Sequence[Fiducial]) -> tuple[DrawnMark, ...]:
    """The marks that a design was aligned to, where they are drawn: for another side, or another run."""
    return tuple(DrawnMark(one.name or f"M{k}", one.design) for k, one in enumerate(marks, 1))


def is_filled(sheet: Path) -> bool:
    """Whether the table is there already, with places that somebody has filled in."""
    if not sheet.exists():
        return False
    try:
        return bool(measured_in(sheet))
    except InputError:
        return True  # what cannot be read may have places all the same


def keep(sheet: Path) -> None:
    """Raise InputError if the table is there already, with places that somebody has filled in."""
    if is_filled(sheet):
        raise InputError(f"{str(sheet)!r} is there already, and has places that would be lost; move it first")
