"""SVG → `Design`: the visible drawing, with dark paint as solid and white as empty.

`read(data, name, reading)`. The way through: `document` (safe XML, names, warnings) → `style`
(CSS cascade, and which values count) → `tree` (layers that count, all elements, with
transforms, viewports, `use` and clips) → `paint` (fills, strokes, paint order) → here: the area in mm, y up,
origin at the page's lower left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import shapely
from shapely.affinity import translate
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import tidy, within
from laserpath.base.quantities import LENGTH
from laserpath.design import colours
from laserpath.design.colours import MOST
from laserpath.design.fill import without_specks
from laserpath.design.reading import LayersRead, Reading, any_shown, each_alone, unknown
from laserpath.design.svg import shapes, values
from laserpath.design.svg.document import Document, tag
from laserpath.design.svg.paint import LIGHT, WHITE, Ink, Kind, Painter, PaintLayer, compose
from laserpath.design.svg.shapes import Leaf, State
from laserpath.design.svg.style import INHERITED, Styles
from laserpath.design.svg.tree import Traversal, choose, shown_layers
from laserpath.design.svg.values import PX_PER_MM, NotFinite, matrix
from laserpath.design.vector import Line, followed
from laserpath.types import Design

SPECK = 1e-3  # smallest area of parts and holes, in tolerance²; smaller ones are rounding errors
LOST = 1e-6  # share of the drawing that may lie outside the page without a warning
NESTED = "elements, clips and `use` are nested too deep"
Made = TypeVar("Made")
UNSIZED = 100.0  # px that percentages refer to if the page has no size


@dataclass(frozen=True, slots=True)
class _SvgDrawing:
    """An SVG file while it is read: its elements, its page, and its style sheets, parsed once."""

    document: Document
    page: values.Page
    styles: Styles


def read(data: str | bytes, name: str, reading: Reading) -> Design:
    """The design in an SVG. name: of the design."""
    return _read(data, reading, lambda drawing: _design(drawing, name, reading))


def read_colours(data: str | bytes, name: str, reading: Reading) -> tuple[Design, ...]:
    """A design for each of `reading.colours` colours, the largest first. name: of the drawing."""
    return _read(data, reading, lambda drawing: _colours(drawing, name, reading))


def read_layers(data: str | bytes, name: str, reading: Reading) -> LayersRead:
    """A design for each layer of `reading.split`, or why it has none. name: of the drawing."""
    return _read(data, reading, lambda drawing: _split(drawing, name, reading))


def _read(data: str | bytes, reading: Reading, make: Callable[[_SvgDrawing], Made]) -> Made:
    document = Document(data)
    page = _page(document, reading)
    try:
        with np.errstate(all="ignore"):  # overflows are refused later, by name
            return make(_SvgDrawing(document, page, Styles(document)))
    except RecursionError:
        raise InputError(NESTED) from None


def _design(drawing: _SvgDrawing, name: str, reading: Reading, placed: _OnPage | None = None) -> Design:
    """The design. placed: where the whole drawing is, of which it is a layer; None: it is the whole."""
    if reading.follow:
        return _followed(drawing, name, reading, placed)
    drawn = _layers(drawing, reading, lambda ink: ink.dark)
    area = compose(drawn)
    placed = placed or _fitted(drawing, area, reading)
    area = placed.fit(area)
    if area.is_empty:
        raise InputError(_why_empty(drawing.document, drawn))
    return Design(shapely.normalize(area), name, placed.sheet, drawing.document.warnings(), _source(reading))


def _split(drawing: _SvgDrawing, name: str, reading: Reading) -> LayersRead:
    """What shows of each layer: Inkscape's, else the outermost groups with an id."""
    shown = any_shown(shown_layers(drawing.document, drawing.styles))
    reading = replace(reading, split=reading.split or tuple(shown))
    if not reading.split:
        return LayersRead({}, ())
    whole = compose(_layers(drawing, replace(reading, layers=reading.split), lambda ink: ink.dark))
    placed = _fitted(drawing, whole, reading)  # without a page, the whole drawing is it
    parts = each_alone(reading, lambda alone: _design(drawing, name, alone, placed))
    within_others = not set(reading.split) <= set(shown)
    unlisted = (one for one, seen in shown.items() if seen and one not in reading.split)
    return LayersRead(shown, parts, () if within_others else tuple(unlisted))


def _followed(drawing: _SvgDrawing, name: str, reading: Reading, placed: _OnPage | None) -> Design:
    """The lines that are drawn, on their page or, if it has no size, from their own corner on.

    placed: where the whole drawing is, of which they are a part.
    """
    painter, leaves = _painter(drawing, reading)
    lines, filled = painter.lines(leaves, lambda ink: ink.dark)
    sheet, shift = (placed.sheet, placed.shift) if placed else (_sheet(drawing.page, reading), np.zeros(2))
    if sheet is None and lines:
        shift = -np.min([xy.min(axis=0) for _, xy, _ in lines], axis=0)
    moved = [(xy + shift, width) for _, xy, width in lines]
    design = followed(moved, name, reading, filled, drawing.document.warnings())
    return replace(design, page=sheet, source=(*(_source(reading) if placed else ()), *design.source))


def _colours(drawing: _SvgDrawing, name: str, reading: Reading) -> tuple[Design, ...]:
    """What shows of each colour: later paint hides earlier, and white paint is paper."""
    drawn = _layers(drawing, reading, _hue, WHITE)
    whole = compose(drawn)
    placed = _fitted(drawing, whole, reading)
    if reading.follow:
        return _lines_by_colour(drawing, name, reading, placed)
    if placed.fit(whole).is_empty:
        raise InputError(_why_empty(drawing.document, drawn))
    painted: dict[colours.RGB, float] = {}
    for layer in drawn:
        if isinstance(layer.kind, tuple):
            painted[layer.kind] = painted.get(layer.kind, 0.0) + sum(piece.area for piece in layer.pieces)
    # Similar ones are grouped first: a traced photograph has thousands of shades, and each is an overlay.
    groups = colours.merged(painted, MOST)
    shown = [(group, placed.fit(compose(drawn, frozenset(group).__contains__))) for group in groups]
    inks = [colours.Patch(group, area) for group, area in shown if not area.is_empty]
    said = drawing.document.warnings(), _source(reading)
    return colours.designs(inks, name, placed.sheet, reading, said)


def _lines_by_colour(
    drawing: _SvgDrawing, name: str, reading: Reading, placed: _OnPage
) -> tuple[Design, ...]:
    """The lines of each colour. They cover what lies below them, and hide no line."""
    painter, leaves = _painter(drawing, reading, WHITE)
    lines, filled = painter.lines(leaves, _hue)
    of: dict[colours.RGB, list[Line]] = {}
    for kind, xy, width in lines:
        of.setdefault(kind, []).append((xy + placed.shift, width))
    patches = []
    for group in colours.merged({rgb: _painted(some) for rgb, some in of.items()}, MOST) if of else ():
        some = [line for rgb in group for line in of[rgb]]
        patches.append(colours.Patch(group, followed(some, name, reading).area, tuple(some)))
    said = drawing.document.warnings(), _source(reading)
    return colours.designs(patches, name, placed.sheet, reading, said, filled)


def _painted(lines: Sequence[Line]) -> float:
    """mm² that lines would cover if none met another."""
    return sum(shapely.linestrings(xy).length * (width or 0.0) for xy, width in lines if len(xy) > 1)


def _hue(ink: Ink) -> colours.RGB | None:
    """The colour of an ink; None: it is paper."""
    return ink.rgb if ink.darkest < WHITE else None


def _source(reading: Reading) -> tuple[str, ...]:
    names = ", ".join(map(repr, reading.layers))
    return (f"layer{'s' * (len(reading.layers) > 1)} {names}",) if reading.layers else ()


@dataclass(frozen=True, slots=True)
class _OnPage:
    """Where a drawing is. fit: puts it, or a part of it, on the page.  shift: (2,) mm, by which it moves."""

    fit: Callable[[BaseGeometry], BaseGeometry]
    sheet: values.Box
    shift: Floats


def _fitted(drawing: _SvgDrawing, area: BaseGeometry, reading: Reading) -> _OnPage:
    """Where the drawing is on its page. area: of all."""
    speck = SPECK * reading.tolerance**2
    sheet = _sheet(drawing.page, reading)
    if sheet is None or _is_off(drawing.document, area, sheet):
        x0, y0, x1, y1 = area.bounds if not area.is_empty else (0.0, 0.0, 1.0, 1.0)
        return _OnPage(
            lambda one: without_specks(tidy(translate(one, -x0, -y0)), speck),
            (0.0, 0.0, x1 - x0, y1 - y0),
            np.array([-x0, -y0]),
        )
    here = np.zeros(2)
    inside = _on_page(drawing.document, area, sheet)
    if inside is area:
        return _OnPage(lambda one: without_specks(tidy(one), speck), sheet, here)
    box = shapely.box(*sheet)
    return _OnPage(
        lambda one: without_specks(tidy(inside if one is area else within(one, box)), speck), sheet, here
    )


def _sheet(page: values.Page, reading: Reading) -> values.Box | None:
    """The page, mm; None: it has no size."""
    if page.width is None or page.height is None:
        return None
    px = _px(page, reading)
    return 0.0, 0.0, round(page.width * px, 9), round(page.height * px, 9)


def _page(document: Document, reading: Reading) -> values.Page:
    root = document.root
    try:
        page = values.page(root.get("width"), root.get("height"), root.get("viewBox"))
    except NotFinite as error:
        raise InputError(f"the size or viewBox of the page {error}") from None
    if page.warning and (page.named or not reading.unit):
        document.warn(None, page.warning)
    return page


def _px(page: values.Page, reading: Reading) -> float:
    """A px in mm: 1/96 inch, or the unit of the reading if the file names none."""
    if reading.unit is None or page.named:
        return 1 / PX_PER_MM
    if reading.unit not in LENGTH:
        raise unknown("unit", reading.unit, list(LENGTH))
    return float(LENGTH[reading.unit])


def _layers(drawing: _SvgDrawing, reading: Reading, kind: Kind, light: float = LIGHT) -> list[PaintLayer]:
    """The layers, mm, y up from the page's lower edge (upper, if it has no height). kind, light: of ink."""
    painter, leaves = _painter(drawing, reading, light)
    return painter.layers(leaves, kind)


def _painter(drawing: _SvgDrawing, reading: Reading, light: float = LIGHT) -> tuple[Painter, Iterable[Leaf]]:
    """What paints the shapes of the page, and these."""
    document, page, styles = drawing.document, drawing.page, drawing.styles
    tree = Traversal(document, styles, reading.tolerance, choose(document, reading.layers))
    w, h, px = page.width, page.height, _px(page, reading)
    host = matrix(px, 0, 0, -px, 0, (h or 0.0) * px)
    place = (0.0, 0.0, w or UNSIZED, h or UNSIZED)
    state = State(host, host, INHERITED, place[2:])
    leaves = tree.page(document.root, state, place)
    return Painter(document, styles, reading.tolerance, light), leaves


def _on_page(document: Document, area: BaseGeometry, sheet: values.Box) -> BaseGeometry:
    """The area on the page, with a warning if a part is cut off."""
    if area.is_empty:
        return area
    x0, y0, x1, y1 = area.bounds
    if x0 >= sheet[0] and y0 >= sheet[1] and x1 <= sheet[2] and y1 <= sheet[3]:
        return area
    inside = within(area, shapely.box(*sheet))
    size = f"{figure(sheet[2], 4)} × {figure(sheet[3], 4)} mm"
    lost = area.area - inside.area
    if lost > LOST * area.area:
        document.warn(
            None, f"{figure(lost)} mm² of the drawing lie outside the page of {size}, and are left out"
        )
    return inside


def _is_off(document: Document, area: BaseGeometry, sheet: values.Box) -> bool:
    """Whether the whole drawing lies outside the page, which is then ignored; with a warning."""
    if area.is_empty or _meets(area, sheet):
        return False
    _, _, w, h = sheet
    document.warn(
        None,
        f"all that is drawn lies outside the page of {figure(w, 4)} × {figure(h, 4)} mm: what is drawn "
        "is the page",
    )
    return True


def _meets(area: BaseGeometry, page: values.Box) -> bool:
    """Whether a part of the area lies on the page. An area inside needs no set operation."""
    box = shapely.box(*page)
    inside = shapely.contains_properly(box, shapely.get_parts(area)).any()
    return bool(inside) or within(area, box).area > 0


def _why_empty(document: Document, drawn: list[PaintLayer]) -> str:
    """The error about a drawing without an area."""
    if any(not layer.solid for layer in drawn) and not any(layer.solid for layer in drawn):
        why = "all that is drawn is white or pale, which removes: what should be solid must be dark"
    elif drawn:
        why = "the design is empty: what is filled or stroked has no area, or is covered by white"
    else:
        why = f"the design is empty: nothing in it is filled or stroked{_undrawn(document)}"
    warnings = document.warnings()
    return why + (f" ({'; '.join(warnings)})" if warnings else "")


def _undrawn(document: Document) -> str:
    """What to do about the shapes of an empty drawing that are hidden, or only defined."""
    defined = [one for one in document.root.iter() if tag(one) in ("defs", "symbol")]
    hidden, unused = (
        len({shape for one in some for shape in one.iter() if tag(shape) in shapes.TAGS})
        for some in (document.hidden, defined)
    )
    if hidden:
        return f"; hidden in it: {_count(hidden)} (show them, or name their layer with --layer)"
    if unused:
        return f"; defined in it but not used: {_count(unused)} (place what should be solid with <use>)"
    return ""


def _count(shape_count: int) -> str:
    return f"{shape_count} shape{'s' * (shape_count != 1)}"
