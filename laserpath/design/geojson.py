"""GeoJSON (RFC 7946, and the specification of 2008) → polygons, lines and points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.design.names import unknown
from laserpath.design.shapes import Shapes, as_width, json_kind

_LINES = ("LineString", "MultiLineString", "Point", "MultiPoint")


def gather(text: str, shapes: Shapes, layers: tuple[str, ...] = ()) -> None:
    """Add the geometries of a GeoJSON text to the shapes. layers: values of the property "layer"; (): all."""
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
    if root.get("crs") is not None:
        shapes.warn("the file's reference system (crs) is ignored: its coordinates are read as plane lengths")
    seen: set[str] = set()
    for where, width, geometry in _geometries(root, layers, seen):
        _add(geometry, where, width, shapes)
    if missing := [layer for layer in layers if layer not in seen]:
        raise unknown("layer", missing[0], sorted(seen))


def _not_finite(word: str) -> float:
    raise InputError(f"the JSON holds {word}, but numbers must be finite")


def _geometries(
    root: dict[str, Any], layers: tuple[str, ...], seen: set[str]
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
            seen.add(str(layer))
        if layers and str(layer) not in layers:
            continue
        width = properties.get("width")
        yield where, None if width is None else as_width(width, where), feature.get("geometry")


def _add(geometry: Any, where: str, width: float | None, shapes: Shapes, depth: int = 0) -> None:
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
        if depth > limits.now().depth:
            raise limits.uncounted(f"{where} nests collections more than {{}} deep", "depth")
        for part in parts:
            _add(part, where, width, shapes, depth + 1)
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
