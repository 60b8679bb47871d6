"""GeoJSON, WKT and shapely geometry → `Design`.

Coordinates are plane, y up, in `Reading.unit` (mm by default); they are never longitude and latitude,
whatever reference system the file names. A polygon whose rings cross is filled by the even-odd rule over all
its rings, and polygons that overlap are joined. Lines and points have an area only with a width, and round
ends and joins; in GeoJSON it is a feature's property "width", in the unit of the coordinates. Lines without
one are drawn in `Reading.line_width`, or as wide as the spot if there is nothing else. Linked files are not
opened.

WKT is parsed by GEOS in this process. Its parser is a small recursive one, whose depth is limited before, and
it asks for no memory that the text does not fill: 144 000 damaged texts made no crash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gcode.files import shown_size
from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.base.quantities import LENGTH
from laserpath.design import geojson
from laserpath.design.joined import Polygons, check_reach, joined
from laserpath.design.reading import Reading
from laserpath.design.shapes import Shapes, as_width, needs_width
from laserpath.types import Design

TOLERANCE = 1e-3  # mm, default for round ends and joins


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a GeoJSON or WKT file, told apart by the first letter. name: of the design."""
    text = _text(data)
    unit = reading.unit or "mm"
    shapes = Shapes(float(LENGTH[unit]), reading.tolerance)
    is_json = text.startswith(("{", "["))
    if is_json:
        geojson.gather(text, shapes, reading.layers)
    elif reading.layers:
        raise InputError(f"WKT has no layers, but layer {reading.layers[0]!r} is requested")
    else:
        _gather_wkt(text, shapes)
    shapes.settle(reading)
    area = joined(shapes.polygons())
    if area.is_empty:
        reasons = f" ({'; '.join(shapes.warnings())})" if shapes.warnings() else ""
        raise InputError(f"the design is empty: none of its polygons has an area{reasons}")
    source = (f"{'GeoJSON' if is_json else 'WKT'} in {unit}",)
    return Design(shapely.normalize(area), name, warnings=shapes.warnings(), source=source)


@np.errstate(all="ignore")  # GEOS divides by lengths of 0, and heeds it
def from_geometry(
    geometry: BaseGeometry, name: str = "design", width: float | None = None, tolerance: float = TOLERANCE
) -> Design:
    """The design of a shapely geometry of any kind, in mm, y up.

    width: of its lines and points, mm; without one they are refused.  tolerance: of their round ends, mm.
    """
    if not isinstance(geometry, BaseGeometry):
        raise InputError(f"geometry is a {type(geometry).__name__}, but must be a shapely geometry")
    shapes = Shapes(1.0, tolerance)
    if width is not None:
        width = as_width(width, "geometry")
    for part in _simple(geometry, "geometry"):
        if part.geom_type != "Polygon":
            needs_width(part.geom_type, "geometry", width)
    _add([("geometry", geometry)], width, shapes)
    area = joined(shapes.polygons())
    if area.is_empty:
        raise InputError(f"design {name!r} is empty: no part of its geometry has an area")
    return Design(shapely.normalize(area), name)


def _text(data: bytes) -> str:
    """The file as text; raises for a binary file."""
    if not data.strip():
        raise InputError("the file is empty")
    if len(data) > limits.now().text_bytes:
        raise limits.exceeded(f"the file has {shown_size(len(data))}", "text_bytes", len(data), "split it")
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not text, but GeoJSON and WKT are") from None
    if "\0" in text:
        raise InputError("the file is not text, but GeoJSON and WKT are")
    return text.strip()


def _gather_wkt(text: str, shapes: Shapes) -> None:
    """Add the geometries of a WKT text to the shapes: one, or one on each line."""
    text = re.sub(r"(?im)^[^\S\n]*+SRID=\d+;", "", text)
    if not re.match(r"[A-Za-z]+[\s(]", text):
        raise InputError(
            "the file is neither GeoJSON nor WKT: it begins with neither '{' nor a geometry's name"
        )
    depth = np.cumsum([(c == "(") - (c == ")") for c in re.sub(r"[^()]+", "", text)])
    if depth.size and depth.max() > limits.now().depth:
        raise limits.exceeded(f"the WKT nests geometries {depth.max()} deep", "depth", int(depth.max()))
    _add(_wkt_geometries(text), None, shapes)


def _wkt_geometries(text: str) -> list[tuple[str, BaseGeometry]]:
    """(name in messages, geometry) of each line, or of the text if its lines are not one geometry each."""
    lines = [(f"line {k}", line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    names, texts = zip(*lines, strict=True)
    try:
        return list(zip(names, _parsed(texts), strict=True))
    except shapely.GEOSException:
        pass
    try:
        return [("the geometry", _parsed([text])[0])]
    except shapely.GEOSException as error:
        what = str(error).removeprefix("ParseException: ").splitlines()[0][:120]
        raise InputError(f"the WKT is broken or cut off ({what})") from None


def _parsed(texts: Sequence[str]) -> Polygons:
    """Geometries of any kind, one a text."""
    try:
        with np.errstate(all="ignore"):  # non-finite coordinates are refused later, by name
            return shapely.from_wkt(texts)
    except NotImplementedError:
        raise InputError("the WKT has curves, which are not read: make them polygons") from None


def _add(named: list[tuple[str, BaseGeometry]], width: float | None, shapes: Shapes) -> None:
    """Add shapely geometries to the shapes, each with its name in messages."""
    polygons: list[BaseGeometry] = []
    for where, geometry in named:
        for part in _simple(geometry, where):
            if part.geom_type == "Polygon":
                polygons.append(part)
            elif width is None:
                shapes.without_width(part.geom_type, shapely.get_coordinates(part), where)
            else:
                shapes.line(shapely.get_coordinates(part), width, where)
    scaled = shapely.transform(shapely.force_2d(np.array(polygons, object)), lambda xy: xy * shapes.scale)
    check_reach("the design", shapely.get_coordinates(scaled))
    shapes.pieces += scaled.tolist()


def _simple(geometry: BaseGeometry, where: str, depth: int = 0) -> Iterator[BaseGeometry]:
    """The polygons, lines and points that a geometry consists of."""
    kind = geometry.geom_type
    if depth > limits.now().depth:
        raise limits.uncounted(f"{where} nests collections more than {{}} deep", "depth")
    if kind in ("Polygon", "LineString", "LinearRing", "Point"):
        if not geometry.is_empty:
            yield geometry
    elif kind in ("MultiPolygon", "MultiLineString", "MultiPoint", "GeometryCollection"):
        try:
            parts = shapely.get_parts(geometry)
        except NotImplementedError:
            raise InputError(f"{where} has curves, which are not read: make them polygons") from None
        for part in parts:
            yield from _simple(part, where, depth + 1)
    else:
        raise InputError(f"{where} is a {kind}, but curves are not read: make it a polygon")
