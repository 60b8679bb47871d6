"""Boards: a folder of Gerbers and drill files → one design for each layer, all with one zero.

    board = load_board([Path("board.zip")], tolerance=0.002)
    front, back = board.designs(BoardExposure(), tone="negative")

**Zero.** All layers are placed by one box, that of the board's outline. The back is mirrored about the middle
of that box, so that it lies over the front when the board is turned over.

**What a layer means.** Of copper, what is drawn stays; of a solder mask or a stencil, the board without what
is drawn, as their files draw the openings. A negative resist stays where it is exposed. A positive one
washes away there, so what does not stay is exposed: for copper out to a rim around the board. With
`isolation` a band of that width around the copper is all that is removed. Holes may be kept free of copper,
wholly (`drill_clear`) or by a mark in their middle (`drill_marks`).

The outline is what the closed lines of its file enclose, as their middle and not their edge is meant;
outlines in it are holes of the board. Without such a file, or if nothing in it is closed, the board is the
box around all layers that are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.checks import one_of
from laserpath.base.errors import InputError, figure, one_line, short
from laserpath.base.overlay import EMPTY, clipped, minus, union, valid, within
from laserpath.design import gerber
from laserpath.design.arrange import Arrangement, Repeat, arrange
from laserpath.design.board.excellon import BESIDE, Digits, Hole, lie_in
from laserpath.design.board.excellon import read as read_drills
from laserpath.design.board.files import (
    DRILLS,
    EXPOSABLE,
    INNER,
    BoardFiles,
    LayerFile,
    check_exposable,
    gather,
    side_of,
)
from laserpath.design.enclosed import enclosed
from laserpath.design.reading import SHOWS_ABSENCE, Reading
from laserpath.types import Design, Fiducial, Pads, Part

__all__ = ["CircuitBoard", "BoardExposure", "BoardLayer", "Hole", "check_exposable", "load_board"]

Page = tuple[float, float, float, float]
"""(x0, y0, x1, y1), mm."""

_GAPS = (0.02, 0.1, 0.3, 1.0)
"""mm: gaps in an outline that are closed, the smallest that gives one. CAD programs leave gaps; larger values
join what is apart."""
_ALL = 0.95
"""Share of the copper that counts as all of it: some programs draw text beside the board."""
_UNIT_OFF = 0.05
"""Relative difference from 25.4 at which the sizes of two layers are taken for a mistaken unit."""
_SMALLEST, _WIDEST = 1e-3, 1000.0
"""mm, of what a user chooses: a smaller width is below any spot, a larger one is no board's."""
_BAND = 20.0
"""mm that `isolation` and what is said of holes may be at most: 400 was meant in µm."""
_COLOURS = {"copper": ("#b4531a", "#1f5fa8"), "mask": ("#2c7a3f", "#5a9a2c"), "paste": ("#6f6f6f", "#8f8f8f"),
            "silk": ("#8a7a3a", "#6a5a9a"), "inner": ("#a8862c", "#3f8f8f")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoardExposure:
    """What is exposed of a board.

    mirror: how it is turned over for its back: `x` swaps left and right, `y` top and bottom.  rim: mm
    around the board that a positive resist is exposed, too.  isolation: width in mm of the band around
    the copper, which is all that is removed; None: all that is not copper is.  drill_clear: mm around
    each hole that stay free of copper, 0 for the hole alone; None: copper as drawn.  drill_marks:
    diameter in mm of a mark in the middle of each hole.  columns, rows, gap: copies, and the mm between
    them.  rotate: degrees, counter-clockwise, seen from the front.  align, align_fit: marks found on the
    part, as in `Arrangement`, drawn in the coordinates of the board's files; for the layers of one side.
    """

    mirror: str = "x"
    rim: float = 1.0
    isolation: float | None = None
    drill_clear: float | None = None
    drill_marks: float | None = None
    columns: int = 1
    rows: int = 1
    gap: float = 2.0
    rotate: float = 0.0
    align: tuple[Fiducial, ...] = ()
    align_fit: str = "auto"

    def __post_init__(self) -> None:
        one_of("mirror", self.mirror, ("x", "y"))
        Arrangement(rotate=self.rotate, align=self.align, align_fit=self.align_fit)  # which checks them
        for name in ("isolation", "drill_marks", "rim", "drill_clear", "gap"):
            value = getattr(self, name)
            least = _SMALLEST if name in ("isolation", "drill_marks") else 0.0
            most = _WIDEST if name in ("rim", "gap") else _BAND
            if value is not None and not least <= value <= most:
                meant = f"; was {value:g}um meant?" if most < value < math.inf else ""
                raise InputError(
                    f"{name.replace('_', ' ')} is {value:g} mm, but must be {least:g} to {most:g} mm{meant}"
                )
        if self.drill_clear is not None and self.drill_marks is not None:
            raise InputError(
                "drill_clear and drill_marks both say what is left free at holes; give one of them"
            )

    def name_of(self, board: CircuitBoard) -> str:
        """The name of the files of all its layers: a side that is aligned has its own place, and name."""
        return f"{board.name}-{board.layers[0].side}" if self.align else board.name


@dataclass(frozen=True, slots=True)
class BoardLayer:
    """A layer as drawn. kind: of `EXPOSABLE`.  file: its name.  said: who said its kind.

    area: what is drawn, mm, in the coordinates of the board's files.  pads: those of copper, there too.
    """

    kind: str
    file: str
    said: str
    area: shapely.MultiPolygon
    warnings: tuple[str, ...] = ()
    pads: Pads | None = None

    __repr__ = one_line

    @property
    def side(self) -> str:
        """`top` or `bottom`; of inner copper the side of its core."""
        return side_of(self.kind)

    @property
    def what(self) -> str:
        """`copper`, `mask`, `paste` or `silk`."""
        return self.kind.partition("-")[2]


@dataclass(frozen=True, slots=True)
class CircuitBoard:
    """A board, in the coordinates of its files, mm, y up.

    outline: without what is cut out of it.  layers: those that were asked for.  holes: of all drill files.
    unknown: files of which nothing says the layer.  notes: how outline and drills were read, a sentence each.
    kinds: of all layers that could be exposed.
    """

    name: str
    outline: shapely.MultiPolygon
    layers: tuple[BoardLayer, ...]
    holes: tuple[Hole, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    __repr__ = one_line

    @property
    def box(self) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1) of the outline, mm."""
        x0, y0, x1, y1 = self.outline.bounds
        return float(x0), float(y0), float(x1), float(y1)

    def designs(self, how: BoardExposure | None = None, tone: str = "negative") -> tuple[Design, ...]:
        """A design for each layer, with one zero: the lower left corner of the board, or of its rim.

        tone: of the resist that they will be planned for.
        """
        how = how or BoardExposure()
        if how.align and len({layer.side for layer in self.layers}) > 1:
            raise InputError(
                "the back is aligned by marks of its own: choose the layers of one side with --layers; that "
                "run prints the command for the other side"
            )
        board = self._turned(how.rotate)
        designs = (_design(board, layer, number, how, tone) for number, layer in enumerate(board.layers, 1))
        far = tuple(map(short, self._far(how.align)))
        return tuple(replace(design, warnings=(*far, *design.warnings)) for design in designs)

    def _far(self, marks: Sequence[Fiducial]) -> Iterator[str]:
        """A warning for each mark that is so far off the board that its sign or unit may be wrong.

        Two marks fit wherever they are, so only their place shows it.
        """
        x0, y0, x1, y1 = self.box
        box = shapely.box(x0, y0, x1, y1)
        for mark in marks:
            if (far := box.distance(shapely.Point(mark.design))) > max(x1 - x0, y1 - y0):
                yield (
                    f"mark {mark} is {figure(far)} mm off the board, which has x {x0:.5g} to {x1:.5g} and "
                    f"y {y0:.5g} to {y1:.5g} in its files: is its sign right?"
                )

    def under(self, how: BoardExposure | None = None, tone: str = "negative") -> tuple[Design, Design | None]:
        """The outline and the holes, in the coordinates of the designs; None: no holes.

        They are those of the front, unless the back is aligned.
        """
        how = how or BoardExposure()
        side = "bottom" if how.align and self.layers[0].side == "bottom" else "top"
        board = self._turned(how.rotate)
        outline = _laid_out(board, board.outline, side, how, tone)
        if not board.holes:
            return outline, None
        return outline, _laid_out(board, union([hole.area() for hole in board.holes]), side, how, tone)

    def _turned(self, angle: float) -> CircuitBoard:
        """The board turned about the origin. angle: degrees."""
        if angle == 0:
            return self

        def turned(geometry: BaseGeometry) -> Any:
            return affinity.rotate(geometry, angle, origin=(0, 0))

        return replace(
            self,
            outline=turned(self.outline),
            layers=tuple(
                replace(
                    layer,
                    area=turned(layer.area),
                    pads=layer.pads and replace(layer.pads, areas=turned(layer.pads.areas)),
                )
                for layer in self.layers
            ),
            holes=tuple(
                replace(hole, points=tuple(turned(shapely.Point(point)).coords[0] for point in hole.points))
                for hole in self.holes
            ),
        )


# What is exposed


def _design(board: CircuitBoard, layer: BoardLayer, number: int, how: BoardExposure, tone: str) -> Design:
    """The design of one layer, with the box of all."""
    margin, _ = _page(board, how, tone)
    solid = board_solid(board)
    stays, meaning = _stays(board, layer, how)
    inside = within(stays, solid)
    warnings = list(layer.warnings)
    if (beyond := 1 - inside.area / stays.area) > 1e-3:
        warnings.append(
            f"{layer.kind}: {figure(100 * beyond, 2)} % of it lies off the board, and is left out"
        )
    if tone == "negative":
        exposed, done = inside, f"{meaning} is exposed"
    elif layer.what == "copper" and how.isolation is None:
        rim = solid.buffer(margin, join_style="mitre") if margin else solid
        exposed, done = (
            minus(rim, inside),
            f"all but {meaning} is exposed, and {margin:g} mm around the board",
        )
    else:
        exposed, done = minus(solid, inside), f"all but {meaning} is exposed"
    if exposed.is_empty:
        raise InputError(f"{board.name}: nothing of {layer.kind} is left to expose ({layer.file})")
    pads = layer.pads if layer.what == "copper" and tone == "negative" and how.isolation is None else None
    laid = _laid_out(board, exposed, layer.side, how, tone, pads)
    assert laid.page is not None
    inner, back = layer.kind in INNER, layer.side == "bottom"
    seen = f"; laminated later, on the {'back' if back else 'front'} of its core" if inner else ""
    return replace(
        laid,
        name=f"{board.name}-{layer.kind}",
        area=laid.area if tone == "negative" else _polygons(minus(shapely.box(*laid.page), laid.area)),
        warnings=tuple(map(short, (*warnings, *laid.warnings))),
        source=(f"from {layer.file} (by {layer.said})", done + seen + ", mirrored" * back, *laid.source),
        recipe=(f"# one layer of a board: laserpath board, layer {layer.kind}",),
        part=laid.part
        and replace(
            laid.part, number=number, name=layer.kind, colour=_COLOURS["inner" if inner else layer.what][back]
        ),
    )


def _laid_out(
    board: CircuitBoard,
    area: BaseGeometry,
    side: str,
    how: BoardExposure,
    tone: str,
    pads: Pads | None = None,
) -> Design:
    """An area of the board's files, mirrored if it is of the back, with its copies, aligned."""
    margin, page = _page(board, how, tone)
    x, y = (-1.0 if side == "bottom" and how.mirror == axis else 1.0 for axis in "xy")
    x0, y0, x1, y1 = board.box
    matrix = (x, 0, 0, y, margin - (x0 if x > 0 else -x1), margin - (y0 if y > 0 else -y1))
    marks = [
        replace(
            mark,
            design=affinity.affine_transform(
                affinity.rotate(shapely.Point(mark.design), how.rotate, origin=(0, 0)), matrix
            ).coords[0],
            name=str(mark),
        )
        for mark in how.align
    ]
    copies = how.columns * how.rows > 1
    pitch = (page[2] + how.gap, page[3] + how.gap)
    arrangement = Arrangement(
        repeat=Repeat(how.columns, how.rows, pitch) if copies else None,
        align=tuple(marks),
        align_fit=how.align_fit,
    )
    part = Part(board.name, 1, side, "#000000", shapely.box(*page), "layer")
    moved = Design(
        _polygons(affinity.affine_transform(area, matrix)),
        board.name,
        page,
        part=part,
        pads=pads and pads.mapped(matrix),
    )
    return arrange(moved, arrangement)


def board_solid(board: CircuitBoard) -> BaseGeometry:
    """The board with what is cut out of it."""
    return union([shapely.Polygon(one.exterior) for one in board.outline.geoms])


def _page(board: CircuitBoard, how: BoardExposure, tone: str) -> tuple[float, Page]:
    """(the mm around the board's box, the same for all layers; the page of one copy)."""
    wide = tone == "positive" and how.isolation is None and any(one.what == "copper" for one in board.layers)
    margin = how.rim if wide else 0.0
    x0, y0, x1, y1 = board.box
    return margin, (0.0, 0.0, x1 - x0 + 2 * margin, y1 - y0 + 2 * margin)


def _polygons(area: BaseGeometry) -> shapely.MultiPolygon:
    return shapely.MultiPolygon([one for one in shapely.get_parts(valid(area)) if one.area > 0])


def _stays(board: CircuitBoard, layer: BoardLayer, how: BoardExposure) -> tuple[BaseGeometry, str]:
    """(the area where resist stays, what it is in words)."""
    if layer.what in ("mask", "paste"):
        return minus(board.outline, layer.area), "the board without its openings"
    if layer.what == "silk":
        return layer.area, "what is drawn"
    copper, words = layer.area, "the copper as drawn"
    if board.holes and how.drill_clear is not None:
        copper = minus(copper, union([hole.area(how.drill_clear) for hole in board.holes]))
        words = "the copper without the holes" + (
            f" and {how.drill_clear:g} mm around them" if how.drill_clear else ""
        )
    elif board.holes and how.drill_marks is not None:
        marks = [shapely.Point(hole.centre).buffer(how.drill_marks / 2) for hole in board.holes]
        copper = minus(copper, union(marks))
        words = f"the copper as drawn with marks of {how.drill_marks:g} mm in the middle of its holes"
    if how.isolation is not None:
        band = minus(valid(copper.buffer(how.isolation)), copper)
        return minus(
            board_solid(board), band
        ), f"the board without a band of {how.isolation:g} mm around the copper"
    return copper, words


# Reading


def load_board(
    paths: str | Path | Sequence[str | Path],
    *,
    tolerance: float,
    layers: Sequence[str] | None = None,
    files: Mapping[str, str] | None = None,
) -> CircuitBoard:
    """Read a board: a folder, a ZIP archive, or several files.

    tolerance: of flattened curves, mm.  layers: those to read, of `EXPOSABLE`; None: the outer copper.
    files: kind of layer → name of its file, where nothing else says it.  Raises InputError.
    """
    given = [paths] if isinstance(paths, str | Path) else paths
    found = gather([Path(path) for path in given], files)
    with limits.work(found.name), np.errstate(all="ignore"):
        return _Loading(found, tolerance).board(layers)


@dataclass(slots=True)
class _Loading:
    """One board while it is read."""

    found: BoardFiles
    tolerance: float
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    read: dict[str, BoardLayer] = field(default_factory=dict)
    digits: Digits | None = None
    absent: dict[str, str] = field(default_factory=dict)

    def board(self, wanted: Sequence[str] | None) -> CircuitBoard:
        """The board with the layers that are wanted."""
        layers = tuple(self.layers(wanted))
        if not layers:
            raise InputError(f"{self.found.name} has nothing to expose: {'; '.join(self.notes)}")
        outline = self.outline(layers)
        layers = tuple(self.present(one, outline) for one in layers)
        self.check_units(layers, outline)
        holes = self.holes(outline)
        name, unknown = self.found.name, self.found.unknown
        if unknown:
            self.warnings.append(
                f"nothing says which layer {_listed(unknown)} {'is' if len(unknown) == 1 else 'are'}: "
                "--layer top-copper=FILE settles it"
            )
        said = tuple(self.notes), tuple(self.warnings)
        return CircuitBoard(name, outline, layers, holes, unknown, *said, self.there)

    @property
    def there(self) -> tuple[str, ...]:
        """The kinds of all layers that could be exposed."""
        return tuple(kind for kind in EXPOSABLE if self.found.every(kind))

    def layers(self, wanted: Sequence[str] | None) -> Iterator[BoardLayer]:
        """The wanted layers; without a wish, the copper on which something is drawn."""
        kinds = list(dict.fromkeys(wanted or ("top-copper", "bottom-copper")))
        there = self.there
        if not wanted and (inner := [kind for kind in there if kind in INNER]):
            self.notes.append(f"inner copper is planned if it is asked for: --layers {','.join(inner)}")
        if not wanted and not set(kinds) & set(there):
            unknown = _listed(self.found.unknown)
            raise InputError(
                f"{self.found.name} has no copper that is known as such"
                + (f", only {_listed(there)}: --layers chooses among them" if there else "")
                + (f"; --layer top-copper=FILE says which of {unknown} it is" if unknown else "")
            )
        for kind in kinds:
            check_exposable(kind)
            file = self.found.one(kind)
            if file is None and wanted:
                raise InputError(
                    f"{self.found.name} has no {kind}; it has {_listed(there) or 'no layer to expose'}"
                )
            if file is None:
                continue
            try:
                yield self.layer(file)
            except _EmptyLayer as error:
                if wanted:
                    raise
                self.notes.append(str(error))

    def layer(self, file: LayerFile) -> BoardLayer:
        """A layer as drawn."""
        if file.kind in self.read:
            return self.read[file.kind]
        try:
            design = gerber.read(file.data, "layer", Reading(self.tolerance))
        except InputError as error:
            empty = "nothing is drawn" in str(error)
            if empty and file.kind.endswith("mask"):  # of a side without pads
                self.notes.append(f"{file.kind} has no openings ({file.name})")
                return BoardLayer(file.kind, file.name, file.said, EMPTY)
            kind = _EmptyLayer if empty else InputError
            raise kind(f"{self.found.name}: {file.name}: {error}") from None
        warnings = tuple(f"{file.kind}: {text}" for text in design.warnings if text != SHOWS_ABSENCE)
        # Planes draw what is absent, and do not always say so.
        if SHOWS_ABSENCE in design.warnings or (file.is_plane and b"FilePolarity" not in file.data):
            self.absent[file.kind] = "a plane of Altium" if file.is_plane else "FilePolarity Negative"
        layer = self.read[file.kind] = BoardLayer(
            file.kind, file.name, file.said, design.area, warnings, design.pads
        )
        return layer

    def present(self, layer: BoardLayer, outline: shapely.MultiPolygon) -> BoardLayer:
        """The layer itself, also if its file shows where it is absent; of a mask, files draw the openings."""
        if layer.kind not in self.absent or layer.what == "mask":
            return layer
        why = self.absent[layer.kind]
        self.notes.append(
            f"{layer.file} shows where the {layer.what} is absent ({why}), so the rest of the board has it"
        )
        return replace(layer, area=_polygons(minus(outline, layer.area)), pads=None)

    def copper(self) -> list[BoardLayer]:
        """The copper of both sides, as far as there is any."""
        out = []
        for kind in ("top-copper", "bottom-copper"):
            try:
                file = self.found.one(kind)
                out += [self.layer(file)] if file else []
            except InputError:
                continue  # it was not asked for
        return out

    def check_units(self, layers: Sequence[BoardLayer], outline: BaseGeometry) -> None:
        """Refuse a layer that lies off the board, or is 25.4 times as large as another."""
        name, (x0, y0, x1, y1) = self.found.name, outline.bounds
        drawn = [one for one in layers if not one.area.is_empty]
        for one in drawn:
            if clipped(one.area, x0, y0, x1, y1).area < one.area.area / 2:
                low, high = _place(one.area.bounds[:2]), _place(one.area.bounds[2:])
                raise InputError(
                    f"{name}: {one.kind} reaches from {low} to {high} mm, and most of it lies off the board, "
                    f"from {_place((x0, y0))} to {_place((x1, y1))} mm: is {one.file} of another board, or "
                    "in another unit?"
                )
        for one, other in permutations(drawn, 2):
            size, its = (np.subtract(each.area.bounds[2:], each.area.bounds[:2]) for each in (one, other))
            if np.allclose(size / its, 25.4, rtol=_UNIT_OFF):
                raise InputError(
                    f"{name}: {one.kind} is 25.4 times as large as {other.kind}: is one of {one.file} and "
                    f"{other.file} in another unit than it says?"
                )

    # The outline

    def outline(self, layers: Sequence[BoardLayer]) -> shapely.MultiPolygon:
        """The board."""
        file = self.found.one("outline")
        if file is None:
            reason = "no file is known as the outline"
        else:
            area = self.enclosed(file)
            if not area.is_empty:
                return self.settled(area, file.name)
            reason = f"no closed line in {file.name} has the board in it"
        x0, y0, x1, y1 = shapely.total_bounds([one.area for one in (*layers, *self.copper()) if one.area])
        self.warnings.append(
            f"{reason}, so the board is the box around its layers, {figure(x1 - x0, 4)} × "
            f"{figure(y1 - y0, 4)} mm: --layer outline=FILE names one"
        )
        return shapely.MultiPolygon([shapely.box(x0, y0, x1, y1)])

    def enclosed(self, file: LayerFile) -> BaseGeometry:
        """What the lines of the outline's file enclose; empty if most of what is drawn lies outside."""
        try:
            rings, lines = gerber.traced(file.data, self.tolerance)
        except InputError as error:
            raise InputError(f"{self.found.name}: {file.name}: {error}") from None
        drawn = _Sample.of(self.drawn())
        for reach in _GAPS:
            found = enclosed(rings, lines, self.tolerance, reach)
            hull = union([shapely.Polygon(one.exterior) for one in shapely.get_parts(found.area)])
            if found.area.is_empty or drawn.share(hull) < 0.5:
                continue
            if found.closed:
                gap, n = max(found.closed, key=lambda one: one.width), len(found.closed)
                gaps = "a gap" if n == 1 else f"{n} gaps, the widest"
                self.notes.append(f"{file.name}: {gaps} of {figure(gap.width)} mm at {gap.at} closed")
            return found.area
        return EMPTY

    def drawn(self) -> list[BaseGeometry]:
        """What is drawn on the layers that are read, or on the copper if none is."""
        return [one.area for one in self.read.values()] or [one.area for one in self.copper()]

    def settled(self, area: BaseGeometry, name: str) -> shapely.MultiPolygon:
        """The board among closed lines: the smallest with the copper in it, or all that hold some.

        Others in it are cut out, unless copper lies there: they are the boards of a panel, or a drawing.
        """
        parts = [one for one in shapely.get_parts(valid(area)) if one.area > 0]
        lines = [shapely.Polygon(ring) for one in parts for ring in (one.exterior, *one.interiors)]
        if len(lines) == 1:
            return shapely.MultiPolygon(parts)
        copper = [one.area for one in self.copper()] or self.drawn()
        sample = _Sample.of(copper)
        around = [one for one in lines if sample.share(one) >= _ALL]
        if around:
            boards = [min(around, key=lambda one: one.area)]
        else:
            outer = [shapely.Polygon(part.exterior) for part in parts]
            boards = [one for one in outer if any(one.intersects(each) for each in copper)]
        boards = boards or parts
        inner = [one for one in lines if any(_is_in(one, board) for board in boards)]
        if left := len(lines) - len(inner) - len(boards):
            self.notes.append(
                f"{name}: {left} closed line{'s' * (left > 1)} around or beside the board left out"
            )
        cut = [one for one in inner if not _is_covered(one, copper, sample)]
        if across := len(inner) - len(cut):
            self.notes.append(
                f"{name}: {across} closed line{'s' * (across > 1)} with copper in it not cut out"
            )
        return _polygons(minus(union(boards), union(cut)))

    # Drills

    def holes(self, outline: shapely.MultiPolygon) -> tuple[Hole, ...]:
        """The holes of all drill files."""
        fits, out = cache(lambda: lie_in(outline, [one.area for one in self.copper()])), []

        def share(xy: Floats) -> float:  # copper is read only for files that leave their format open
            return fits()(xy)

        # The largest first: others of the board have its format, and may be too small to show it.
        for file in sorted(self.found.every(*DRILLS), key=lambda one: -len(one.data)):
            out += self.drilled(file, share, outline)
        return tuple(dict.fromkeys(out))

    def drilled(self, file: LayerFile, fits: Callable[[Floats], float], outline: BaseGeometry) -> list[Hole]:
        """The holes of one file."""
        if file.is_gerber:
            holes = self.flashed(file)
        else:
            drills = read_drills(file.data, file.name, fits, self.digits)
            self.digits = self.digits or drills.digits
            self.notes += drills.notes
            holes = list(drills.holes)
        plated = {"plated-drill": True, "unplated-drill": False}.get(file.kind)
        holes = [replace(hole, plated=plated) if hole.plated is None else hole for hole in holes]
        if not holes:
            return []
        near = shapely.box(*outline.bounds).buffer(BESIDE)
        off = [hole for hole in holes if not near.contains(shapely.Point(hole.centre))]
        if 2 * len(off) > len(holes):
            low, high = _place(outline.bounds[:2]), _place(outline.bounds[2:])
            raise InputError(
                f"{self.found.name}: {len(off)} of {len(holes)} holes of {file.name} lie off the board, one "
                f"at {_place(off[0].centre)}, which reaches from {low} to {high} mm: is it of another board, "
                "or in another unit?"
            )
        if off:
            one = _place(off[0].centre)
            self.warnings.append(
                f"{file.name}: {len(off)} of {len(holes)} holes lie off the board, one at {one} mm"
            )
        return holes

    def flashed(self, file: LayerFile) -> list[Hole]:
        """The holes of a drill file that is a Gerber: discs, and slots as long as they are drawn."""
        try:
            area = gerber.read(file.data, "drills", Reading(self.tolerance)).area
        except InputError as error:
            if "nothing is drawn" in str(error):
                return []
            raise InputError(f"{self.found.name}: {file.name}: {error}") from None
        return [Hole.of(one) for one in area.geoms]


class _EmptyLayer(InputError):
    """A file on which nothing is drawn."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """A point in each part of what is drawn, (n, 2) mm, and the part's area, (n,) mm²."""

    points: Floats
    weights: Floats

    @classmethod
    def of(cls, drawn: Sequence[BaseGeometry]) -> _Sample:
        parts = shapely.get_parts(shapely.get_parts(list(drawn)))
        return cls(shapely.get_coordinates(shapely.point_on_surface(parts)), shapely.area(parts))

    def share(self, area: BaseGeometry) -> float:
        """How much of what is drawn lies in an area; 1 if nothing is drawn."""
        if not len(self.weights):
            return 1.0
        return float(self.weights @ shapely.contains_xy(area, self.points) / self.weights.sum())


def _is_in(one: shapely.Polygon, board: shapely.Polygon) -> bool:
    """Whether a closed line lies in another one."""
    return bool(one.area < board.area and board.contains(one.representative_point()))


def _is_covered(line: shapely.Polygon, copper: Sequence[BaseGeometry], sample: _Sample) -> bool:
    """Whether copper lies in a closed line, so that it is not cut out."""
    if sample.share(line) > 1 - _ALL:
        return True
    return any(within(one, line).area > line.area / 2 for one in copper)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _place(xy: Sequence[float]) -> str:
    return f"({figure(xy[0], 4)}, {figure(xy[1], 4)})"
