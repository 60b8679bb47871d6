"""The way from the bytes of an SVG file to a `Design`."""

from __future__ import annotations

import numpy as np
import shapely
from shapely.affinity import translate
from shapely.geometry.base import BaseGeometry

from laserpath.design.overlay import EMPTY, tidy, within
from laserpath.design.svg import viewport
from laserpath.design.svg.document import Document
from laserpath.design.svg.leaf import State
from laserpath.design.svg.paint import Layer, Painter, compose
from laserpath.design.svg.style import INHERITED, Styles
from laserpath.design.svg.tree import Walk
from laserpath.design.svg.values import PX_PER_MM, NotFinite, matrix
from laserpath.errors import InputError
from laserpath.types import Design

SPECK = 1e-3  # parts and holes smaller than this times tolerance² are rounding, not drawing
LOST = 1e-6  # share of the drawing that may lie off the page without a word
UNSIZED = 100.0  # px that percentages refer to where the page has no size


def read(data: str | bytes, name: str, tolerance: float) -> Design:
    """The design in an SVG. name: of the design.  tolerance: of flattened curves, mm."""
    document = Document(data)
    page = _page(document)
    try:
        with np.errstate(all="ignore"):  # what overflows is refused by name
            return _design(document, page, name, tolerance)
    except RecursionError:
        raise InputError("elements, clips and `use` are nested too deep") from None


def _design(document: Document, page: viewport.Page, name: str, tolerance: float) -> Design:
    area, drawn = _area(document, page, tolerance)
    if page.width is None or page.height is None:
        x0, y0, x1, y1 = area.bounds if not area.is_empty else (0.0, 0.0, 1.0, 1.0)
        area, sheet = translate(area, -x0, -y0), (0.0, 0.0, x1 - x0, y1 - y0)
    else:
        sheet = (0.0, 0.0, round(page.width / PX_PER_MM, 9), round(page.height / PX_PER_MM, 9))
        area = _on_page(document, area, sheet)
    area = _without_specks(tidy(area), SPECK * tolerance**2)
    if area.is_empty:
        raise InputError(_why_empty(document, drawn))
    return Design(shapely.normalize(area), name, sheet, document.warnings())


def _page(document: Document) -> viewport.Page:
    root = document.root
    try:
        page = viewport.page(root.get("width"), root.get("height"), root.get("viewBox"))
    except NotFinite as error:
        raise InputError(f"the size or viewBox of the page {error}") from None
    if page.warning:
        document.warn(None, page.warning)
    return page


def _area(document: Document, page: viewport.Page, tolerance: float) -> tuple[BaseGeometry, list[Layer]]:
    """What is solid, mm, y up from the page's lower edge (upper, if it has no height); its layers."""
    root, styles = document.root, Styles(document)
    walk = Walk(document, styles, tolerance)
    w, h = page.width, page.height
    host = matrix(1 / PX_PER_MM, 0, 0, -1 / PX_PER_MM, 0, (h or 0.0) / PX_PER_MM)
    place = (0.0, 0.0, w or UNSIZED, h or UNSIZED)
    state = State(host, host, INHERITED, place[2:])
    leaves = walk.page(root, state, place)
    layers = Painter(document, styles, tolerance).layers(leaves, lambda ink: ink.dark)
    return compose(layers), layers


def _on_page(document: Document, area: BaseGeometry, sheet: viewport.Box) -> BaseGeometry:
    """The area on the page; what is cut off is told."""
    if area.is_empty:
        return area
    x0, y0, x1, y1 = area.bounds
    if x0 >= sheet[0] and y0 >= sheet[1] and x1 <= sheet[2] and y1 <= sheet[3]:
        return area
    inside = within(area, shapely.box(*sheet))
    size = f"{sheet[2]:.4g} × {sheet[3]:.4g} mm"
    if inside.area == 0:
        raise InputError(f"all that is drawn lies outside the page of {size}")
    lost = area.area - inside.area
    if lost > LOST * area.area:
        document.warn(None, f"{lost:.3g} mm² of the drawing lie outside the page of {size}, and are left out")
    return inside


def _without_specks(area: BaseGeometry, smallest: float) -> BaseGeometry:
    """Polygons and holes larger than a rounding error."""
    parts = []
    for part in shapely.get_parts(area):
        if part.geom_type == "Polygon" and part.area > smallest:
            rings = [r for r in part.interiors if shapely.Polygon(r).area > smallest]
            parts.append(shapely.Polygon(part.exterior, rings) if len(rings) < len(part.interiors) else part)
    return shapely.MultiPolygon(parts) if parts else EMPTY


def _why_empty(document: Document, drawn: list[Layer]) -> str:
    """Why there is no area."""
    if any(not layer.solid for layer in drawn) and not any(layer.solid for layer in drawn):
        return "all that is drawn is white or pale, which removes: what shall be solid must be dark"
    if drawn:
        return "the design is empty: what is filled or stroked has no area, or is covered by white"
    warnings = document.warnings()
    return "the design is empty: nothing in it is filled or stroked" + (
        f" ({'; '.join(warnings)})" if warnings else ""
    )
