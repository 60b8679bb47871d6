"""The format of a design file: what its content says, and its suffix only where the content does not.

A suffix is a habit: Gerber files end in .gbr, .cmp, .sol, .GTL, .pho and a dozen more, and a DXF may be
called drawing.txt. Each format has a beginning of its own:

| format | it begins with, or holds near its beginning |
| --- | --- |
| SVG | XML whose first element, or whose DOCTYPE, is `svg`; packed with gzip too |
| DXF | group 0, SECTION; or `AutoCAD Binary DXF` |
| GDSII, OASIS | a HEADER record; `%SEMI-OASIS` |
| Gerber | `%FS`, `%MO`, `%AD` …, `G04 …*`, or coordinates that end with `D01*` |
| PNG, TIFF | their magic bytes |
| GeoJSON, WKT | an object with one of GeoJSON's types; a geometry's name and a bracket |
"""

from __future__ import annotations

import codecs
import re

from laserpath.base import entry_points
from laserpath.base.errors import InputError
from laserpath.design import foreign
from laserpath.design.opening import head, plain, root

MODULES = {
    "SVG": "svg",
    "DXF": "dxf",
    "GDSII": "gds",
    "OASIS": "gds",
    "Gerber": "gerber",
    "PNG": "image",
    "TIFF": "image",
    "GeoJSON": "vector",
    "WKT": "vector",
}
"""Format → module of this room, each with a function `read`."""

SUFFIXES = {
    ".svg": "SVG",
    ".svgz": "SVG",
    ".dxf": "DXF",
    ".gds": "GDSII",
    ".gdsii": "GDSII",
    ".oas": "OASIS",
    ".oasis": "OASIS",
    **dict.fromkeys(
        (".gbr", ".ger", ".gtl", ".gbl", ".gts", ".gbs", ".gto", ".gbo", ".gko", ".gm1"), "Gerber"
    ),
    ".png": "PNG",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".geojson": "GeoJSON",
    ".json": "GeoJSON",
    ".wkt": "WKT",
}
"""Suffix → the format that it promises, where the content says nothing."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"\0\x06\0\x02", "GDSII"),
    (b"%SEMI-OASIS", "OASIS"),
    (b"AutoCAD Binary DXF", "DXF"),
)
_DXF = re.compile(r"(?:999[ \t]*\r?\n[^\n]*\n\s*)*0[ \t]*\r?\n[ \t]*SECTION\s")
_GERBER = re.compile(
    r"%\s*(?:FS[LTD]?[AI]?\w*X\d\d|MO(?:IN|MM)\*|ADD\d+\w|AM[^*%\s]+\*|LP[DC]\*|T[FAO]\.\w)"
    r"|^\s*G0?4\b(?!\s*P[\d.]+\*\d+\s*$)[^*\n]*\*"  # a comment, and no dwell of G-code with its checksum
    r"|(?:^|\*)\s*(?:G0?[123]\s*)?(?:[XYIJ][+-]?\d+){1,4}D0?[123]\*",
    re.MULTILINE,
)
_GEOMETRIES = "(?:Multi)?(?:Point|LineString|Polygon)|GeometryCollection"
_GEOJSON = re.compile(rf'"type"\s*:\s*"(?:Feature(?:Collection)?|{_GEOMETRIES})"')
_WKT = re.compile(
    rf"(?:SRID=\d+;\s*)?(?:{_GEOMETRIES}|CircularString|CompoundCurve|CurvePolygon|Multi(?:Curve|Surface)"
    r"|PolyhedralSurface|TIN|Triangle)\s*(?:\s[ZM]{1,2}\s*)?(?:\(|EMPTY\b)",
    re.IGNORECASE,
)


def found(data: bytes, suffix: str) -> str:
    """The format of a file, a key of `MODULES`; raises for one that is not read, and says what to save."""
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError("the file is empty")
    said = by_content(data)
    if said:
        return said
    suffix = suffix.lower()
    if refused := foreign.by_content(data, suffix):
        raise InputError(refused)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    raise InputError(foreign.by_suffix(suffix) or _unknown(suffix))


def by_content(data: bytes) -> str | None:
    """The format that a file's first bytes show; None: none that is read."""
    for magic, name in _MAGIC:
        if data.startswith(magic):
            return name
    text = head(data)
    if text.startswith("<"):
        return "SVG" if root(text) == "svg" else None
    if _DXF.match(text):
        return "DXF"
    if text.startswith(("{", "[")):
        return "GeoJSON" if _GEOJSON.search(text) else None
    if _WKT.match(text):
        return "WKT"
    return "Gerber" if _GERBER.search(text) else None


def readable(data: bytes, name: str) -> bytes:
    """The bytes as the reader of that format takes them: without what an editor put before them."""
    if name in ("PNG", "TIFF", "GDSII", "OASIS") or not head(data):
        return data
    return plain(data, xml=name == "SVG")


def _unknown(suffix: str) -> str:
    """What can be read, for a file of which nothing is known."""
    plugins = (f"files that end in .{name}" for name in entry_points.found(entry_points.DESIGNS))
    ending = f"ends in {suffix!r}" if suffix else "has no ending"
    known = ", ".join((*MODULES, *plugins))
    return f"the file {ending}, and its content is of no format that can be read: {known}"
