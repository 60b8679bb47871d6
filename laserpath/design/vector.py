"""GeoJSON, WKT and shapely geometry → `Design`.

Coordinates are plane, y up, in `Reading.unit` (mm by default); they are never longitude and latitude,
whatever reference system the file names. A polygon whose rings cross is filled by the even-odd rule over all
its rings, and polygons that overlap are joined. Lines and points have an area only with a width, and round
ends and joins; in GeoJSON it is a feature's property "width", in the unit of the coordinates. Lines without
one are drawn in `Reading.line_width`, or as wide as the spot if there is nothing else. Linked files are not
opened.

`followed` is for all formats: the lines of a drawing as the path of the spot. The area is what they cover in
their widths, with round ends and joins, as a round spot leaves them. What a file fills is left out.

WKT is parsed by GEOS in this process. Its parser is a small recursive one, whose depth is limited before, and
it asks for no memory that the text does not fill: 144 000 damaged texts made no crash.

GeoJSON is that of RFC 7946, and of the specification of 2008.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.quantities import LENGTH
from laserpath.design.curves import Pen, Polyline, stroke
from laserpath.design.fill import Polygons, check_reach, joined
from laserpath.design.reading import LayersRead, Reading, each_alone, unknown
from laserpath.types import Design, DrawnLines


@dataclass(slots=True)
class Shapes:
    """The shapes of a file. scale: its unit in mm.  tolerance: mm, of round ends and joins.

    Coordinates, rings and polygons are flat lists, so that 10⁶ polygons are built at once.
    """

    scale: float
    tolerance: float
    numbers: list[float] = field(default_factory=list)
    vertices: list[int] = field(default_factory=list)  # of each ring
    rings: list[int] = field(default_factory=list)  # of each polygon
    pieces: list[BaseGeometry] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    bare: list[tuple[ArrayLike, str]] = field(default_factory=list)  # lines without a width
    points: int = 0  # without a width
    drawn: list[tuple[Floats, float]] = field(default_factory=list)  # lines and their widths, mm
    filled: int = 0  # polygons among the pieces

    def warn(self, sentence: str) -> None:
        """Add a warning, once."""
        self.notes[sentence] = None

    def warnings(self) -> tuple[str, ...]:
        """A sentence each."""
        return tuple(self.notes)

    def line(self, xy: ArrayLike, width: float, where: str) -> None:
        """Add a stroke along xy (n, 2), n ≥ 1, or a dot; in the file's unit. where: its name in messages."""
        points = self.scale * np.asarray(xy, dtype=np.float64)
        check_reach(where, points)
        pen = Pen(self.scale * width, "round", "round", 4.0, self.tolerance)
        check_reach(f"the width of {where}", np.array([pen.width]))
        self.drawn.append((points, pen.width))
        closed = len(points) > 2 and bool((points[0] == points[-1]).all())
        points = points[:-1] if closed else points
        joint = np.ones(len(points) + closed, dtype=bool)
        outline = Polyline(np.vstack([points, points[:1]]) if closed else points, joint)
        self.pieces += stroke(outline, closed, pen)

    def without_width(self, kind: str, xy: ArrayLike, where: str) -> None:
        """Add a line or a point that has no width of its own."""
        if "Point" in kind:
            self.points += 1
        else:
            self.bare.append((xy, where))

    def settle(self, reading: Reading) -> None:
        """Draw the lines without a width or leave them out, leave out the points, and warn of it."""
        width, n = reading.line_width, len(self.bare)
        if self.points:
            self.warn(left_out(self.points, "point", 'give it a "width", or draw a circle'))
        if n and width is None and not (self.rings or self.pieces):
            width = reading.hairline
            self.warn(hairlines(n, width))
        if width is None and n:
            self.warn(left_out(n, "line", "draw the lines with --line-width 0.2mm"))
        elif width is not None:
            for xy, where in self.bare:
                self.line(xy, width / reading.grown / self.scale, where)

    def polygons(self) -> Polygons:
        """(n,) polygons of all shapes, mm."""
        pieces = np.fromiter(self.pieces, dtype=object)
        if not self.rings:
            return pieces
        xy = self.scale * np.array(self.numbers, dtype=np.float64).reshape(-1, 2)
        check_reach("the design", xy)
        vertices = np.repeat(np.arange(len(self.vertices)), self.vertices)
        rings = shapely.linearrings(xy, indices=vertices)
        polygons = shapely.polygons(rings, indices=np.repeat(np.arange(len(self.rings)), self.rings))
        return np.concatenate([polygons, pieces])


Line = tuple[Floats, float | None]
"""(vertices (n, 2), width), mm; one vertex is a dot; None: the file gives no width."""


def followed(
    lines: Sequence[Line], name: str, reading: Reading, filled: int = 0, warnings: Sequence[str] = ()
) -> Design:
    """The design of lines, each of them once. filled: number of shapes that are left out."""
    once = {np.round(min(xy.tolist(), xy[::-1].tolist()), 9).tobytes(): (xy, width) for xy, width in lines}
    if not once:
        only = f", only {filled} filled shape{'s' * (filled > 1)}" if filled else ""
        raise InputError(f"there is no line to follow{only}: without --follow areas are exposed")
    notes = [*warnings]
    if filled:
        are = "s are" if filled > 1 else " is"
        notes.append(f"{filled} filled shape{are} left out, because --follow exposes lines alone")
    bare = sum(width is None for _, width in once.values())
    if bare and reading.line_width is None:
        notes.append(hairlines(bare, reading.hairline))
    own = (reading.line_width or reading.hairline) / reading.grown
    shapes, paths, widths = Shapes(1.0, reading.tolerance), [], []
    for xy, width in once.values():
        widths.append(own if width is None else width)
        shapes.line(xy, widths[-1], "a line")
        paths.append(xy if len(xy) > 1 else np.vstack([xy, xy]))
    drawn = DrawnLines(shapely.MultiLineString(paths), tuple(widths))
    area = shapely.normalize(joined(shapes.polygons()))
    source = (f"{len(paths)} line{'s' * (len(paths) > 1)} followed",)
    return Design(area, name, warnings=tuple(notes), source=source, lines=drawn)


def left_out(n: int, what: str, instead: str) -> str:
    """The warning about lines or points that have no area."""
    return (
        f"{n} {what}{'s are' if n > 1 else ' is'} left out, because what has no width has no area: {instead}"
    )


def hairlines(n: int, width: float) -> str:
    """The warning about lines that are drawn in the spot's width."""
    some = "the line has" if n == 1 else f"the {n} lines have"
    be = "is" if n == 1 else "are"
    return (
        f"{some} no width, and {be} drawn {figure(width, 4)} mm wide, as the spot is: "
        "--line-width 0.2mm would make that 0.2 mm"
    )


def needs_width(kind: str, where: str, width: float | None) -> None:
    """Raise for a line or point without a width."""
    if width is None:
        raise InputError(
            f'{where} is a {kind}, which has no area: in GeoJSON give its feature a property "width", '
            "in Python a width, or buffer it"
        )


def as_width(width: Any, where: str) -> float:
    """A given width, checked."""
    if isinstance(width, bool) or not isinstance(width, (int, float, np.number)):
        raise InputError(f"the width of {where} is {json_kind(width)}, but must be a number")
    if not (0 < width < 1e30):
        raise InputError(f"the width of {where} is {str(width)[:20]}, but must be above 0")
    return float(width)


def json_kind(value: Any) -> str:
    """The kind of a JSON value, for a message."""
    if value is None:
        return "nothing"
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false"}.get(
        type(value), "a number"
    )


_LINES = ("LineString", "MultiLineString", "Point", "MultiPoint")


def _json_object(text: str) -> dict[str, Any]:
    """The object of a GeoJSON text."""
    try:
        root = json.loads(text, parse_constant=_not_finite)
    except json.JSONDecodeError as error:
        raise InputError(
            f"the JSON is broken or cut off at line {error.lineno}, column {error.colno} ({error.msg})"
        ) from None
    except RecursionError:
        raise InputError("the JSON is nested too deep") from None
    except InputError:
        raise
    except ValueError as error:  # a whole number of thousands of digits
        raise InputError(f"the JSON holds what cannot be read: {str(error).partition(';')[0]}") from None
    if not isinstance(root, dict):
        raise InputError(f"the file is not GeoJSON: it holds {json_kind(root)}, not an object with a type")
    return root


def _gather(root: dict[str, Any], shapes: Shapes, layers: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Add the geometries of a GeoJSON object to the shapes; return the layers that it has, in their order.

    layers: values of the property "layer" that count; (): all.
    """
    if root.get("crs") is not None:
        shapes.warn("the file's reference system (crs) is ignored: its coordinates are read as plane lengths")
    seen = dict[str, None]()
    for where, width, geometry in _geometries(root, layers, seen):
        _add_geometry(geometry, where, width, shapes)
    if missing := [layer for layer in layers if layer not in seen]:
        raise unknown("layer", missing[0], sorted(seen))
    return tuple(seen)


def _not_finite(word: str) -> float:
    raise InputError(f"the JSON holds {word}, but numbers must be finite")


def _geometries(
    root: dict[str, Any], layers: tuple[str, ...], seen: dict[str, None]
) -> Iterator[tuple[str, float | None, Any]]:
    """(its name in messages, width, geometry) of each geometry; layers are added to `seen`."""
    if root.get("type") == "FeatureCollection":
        features = root.get("features")
        if not isinstance(features, list):
            raise InputError(f"the FeatureCollection's features are {json_kind(features)}, not a list")
        numbered = [(f"feature {k}", feature) for k, feature in enumerate(features, 1)]
    else:
        numbered = [("the geometry", root)]
    for where, feature in numbered:
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            yield where, None, feature
            continue
        properties = feature.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        layer = properties.get("layer", properties.get("Layer"))
        if layer is not None:
            seen[str(layer)] = None
        if layers and str(layer) not in layers:
            continue
        width = properties.get("width")
        yield where, None if width is None else as_width(width, where), feature.get("geometry")


def _add_geometry(geometry: Any, where: str, width: float | None, shapes: Shapes, depth: int = 0) -> None:
    """Gather one geometry object."""
    limits.spend()
    if geometry is None:
        return  # a feature without a location: RFC 7946, section 3.2
    if not isinstance(geometry, dict) or not isinstance(geometry.get("type"), str):
        raise InputError(f"{where} is {json_kind(geometry)}, not an object with a type")
    kind = geometry["type"]
    if kind == "GeometryCollection":
        parts = geometry.get("geometries")
        if not isinstance(parts, list):
            raise InputError(f"{where} is a GeometryCollection whose geometries are {json_kind(parts)}")
        if depth > DEEPEST:
            raise InputError(f"{where} nests collections more than {DEEPEST} deep")
        for part in parts:
            _add_geometry(part, where, width, shapes, depth + 1)
    elif kind in ("Polygon", "MultiPolygon"):
        coordinates = geometry.get("coordinates")
        for rings in [coordinates] if kind == "Polygon" else _list(coordinates, where):
            _add_rings(_list(rings, where), where, shapes)
    elif kind in _LINES:
        for line in _lines(kind, geometry.get("coordinates"), where):
            if width is None:
                shapes.without_width(kind, _positions(line, where), where)
            else:
                shapes.line(_positions(line, where), width, where)
    else:
        raise InputError(f"{where} has the type {kind[:40]!r}, which is none of GeoJSON's geometries")


def _lines(kind: str, coordinates: Any, where: str) -> list[Any]:
    """The lists of positions of lines or points, without empty ones."""
    if kind in ("Point", "LineString"):
        lines = [coordinates] if kind == "LineString" else [[coordinates]] if coordinates else []
    else:
        parts = _list(coordinates, where)
        lines = parts if kind == "MultiLineString" else [[point] for point in parts]
    return [line for line in lines if line != []]


def _add_rings(rings: list[Any], where: str, shapes: Shapes) -> None:
    """One polygon, converted fast; positions are checked one by one only after that has failed."""
    if not rings or rings == [[]]:
        return
    numbers = shapes.numbers
    for ring in rings:
        ring = _list(ring, where)
        if len(ring) < 3:
            raise InputError(f"{where} has a ring of {len(ring)} positions, but a polygon needs at least 3")
        before = len(numbers)
        try:
            for position in ring:
                x, y, *_ = position
                if x.__class__ is bool or y.__class__ is bool:  # true + 0.0 is a number
                    raise TypeError
                numbers += (x + 0.0, y + 0.0)
        except (TypeError, ValueError, OverflowError):
            del numbers[before:]
            _positions(ring, where)
            raise InputError(f"{where} has positions that are not numbers") from None
        if (closing := numbers[-2:]) != numbers[before : before + 2]:
            numbers += numbers[before : before + 2]
        elif len(ring) == 3:
            numbers += closing  # a line there and back is a ring without area
        shapes.vertices.append((len(numbers) - before) // 2)
    shapes.rings.append(len(rings))


def _positions(line: Any, where: str) -> Any:
    """(n, 2) numbers of a list of positions."""
    out = []
    for position in _list(line, where):
        if (
            not isinstance(position, list)
            or len(position) < 2
            or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in position[:2])
        ):
            raise InputError(f"{where} has the position {str(position)[:40]}, but it must be two numbers")
        out.append(position[:2])
    try:
        return np.array(out, dtype=np.float64)
    except OverflowError:
        raise InputError(f"{where} has coordinates that are not finite") from None


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where} has {json_kind(value)} where a list of coordinates belongs")
    return value


TOLERANCE = 1e-3  # mm, default for round ends and joins


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a GeoJSON or WKT file, told apart by the first letter. name: of the design."""
    text = _text(data)
    if _is_json(text):
        return _of_json(_json_object(text), name, reading)
    if reading.layers:
        raise InputError(f"WKT has no layers, but layer {reading.layers[0]!r} is requested")
    shapes = _shapes(reading)
    _gather_wkt(text, shapes)
    return _design(shapes, name, reading, "WKT")


def _is_json(text: str) -> bool:
    return text.startswith(("{", "["))


def _shapes(reading: Reading) -> Shapes:
    return Shapes(float(LENGTH[reading.unit or "mm"]), reading.tolerance)


def _of_json(root: dict[str, Any], name: str, reading: Reading) -> Design:
    """The design of a GeoJSON object."""
    shapes = _shapes(reading)
    _gather(root, shapes, reading.layers)
    return _design(shapes, name, reading, "GeoJSON")


def _design(shapes: Shapes, name: str, reading: Reading, format_: str) -> Design:
    """The design of what a file has."""
    if reading.follow:
        bare = [(shapes.scale * np.asarray(xy, np.float64), None) for xy, _ in shapes.bare]
        filled = shapes.filled + len(shapes.rings)
        return followed([*shapes.drawn, *bare], name, reading, filled, shapes.warnings())
    shapes.settle(reading)
    area = joined(shapes.polygons())
    if area.is_empty:
        reasons = f" ({'; '.join(shapes.warnings())})" if shapes.warnings() else ""
        raise InputError(f"the design is empty: none of its polygons has an area{reasons}")
    source = (f"{format_} in {reading.unit or 'mm'}",)
    return Design(shapely.normalize(area), name, warnings=shapes.warnings(), source=source)


def read_layers(data: bytes, name: str, reading: Reading) -> LayersRead:
    """A design for each layer of `reading.split`, or why it has none. name: of the drawing."""
    text = _text(data)
    if not _is_json(text):
        if reading.split:
            raise InputError(f"WKT has no layers, but layer {reading.split[0]!r} is requested")
        return LayersRead({}, ())
    root = _json_object(text)
    seen = _gather(root, _shapes(reading), reading.split)  # which refuses those that are not there
    split = replace(reading, split=reading.split or tuple(seen))
    found = each_alone(split, lambda alone: _of_json(root, name, alone))
    others = (layer for layer in seen if layer not in split.split)
    return LayersRead(dict.fromkeys(seen, True), found, tuple(others))


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


_PER_BYTE = 30
"""Bytes of memory for each byte of a file."""
DEEPEST = 50
"""Collections in each other."""


def _text(data: bytes) -> str:
    """The file as text; raises for a binary file."""
    limits.reserve(_PER_BYTE * len(data))
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
    if depth.size and depth.max() > DEEPEST:
        raise InputError(f"the WKT nests geometries {depth.max()} deep, but {DEEPEST} is the most")
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
    shapes.filled += len(scaled)


def _simple(geometry: BaseGeometry, where: str, depth: int = 0) -> Iterator[BaseGeometry]:
    """The polygons, lines and points that a geometry consists of."""
    kind = geometry.geom_type
    if depth > DEEPEST:
        raise InputError(f"{where} nests collections more than {DEEPEST} deep")
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
