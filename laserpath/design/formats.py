"""The formats that are read, one entry of `FORMATS` each, and which of them a file has.

The content decides; the suffix counts only where the content shows nothing. Gerber files end in .gbr, .cmp,
.sol, .GTL, .pho and a dozen more, and a DXF may be called drawing.txt. How each format begins:

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
from collections.abc import Callable
from dataclasses import dataclass

from laserpath.base import entry_points
from laserpath.base.errors import InputError
from laserpath.design import foreign
from laserpath.design.opening import head, plain, root

_DXF = re.compile(r"(?:999[ \t]*\r?\n[^\n]*\n\s*)*0[ \t]*\r?\n[ \t]*SECTION\s")
_GERBER = re.compile(
    r"%\s*(?:FS[LTD]?[AI]?\w*X\d\d|MO(?:IN|MM)\*|ADD\d+\w|AM[^*%\s]+\*|LP[DC]\*|T[FAO]\.\w)"
    r"|^[^\S\n]*+G0?4\b(?!\s*P[\d.]+\*\d+\s*$)[^*\n]*\*"  # a comment, no dwell of G-code with its checksum
    r"|(?:^|\*)[^\S\n]*+(?:G0?[123]\s*)?(?:[XYIJ][+-]?\d+){1,4}D0?[123]\*",
    re.MULTILINE,
)
_GEOMETRIES = "(?:Multi)?(?:Point|LineString|Polygon)|GeometryCollection"
_GEOJSON = re.compile(rf'"type"\s*:\s*"(?:Feature(?:Collection)?|{_GEOMETRIES})"')
_WKT = re.compile(
    rf"(?:SRID=\d+;\s*)?(?:{_GEOMETRIES}|CircularString|CompoundCurve|CurvePolygon|Multi(?:Curve|Surface)"
    r"|PolyhedralSurface|TIN|Triangle)\s*(?:\s[ZM]{1,2}\s*)?(?:\(|EMPTY\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format that can be read.

    module: in `laserpath/design/`, with `read(data: bytes, name: str, reading: Reading) → Design`;
    `vector.py` is a short one. If it heeds `colours`, also with `read_colours`, of the same arguments, → a
    design for each colour.  suffixes: the usual ones.  heeds: the fields of `Reading` that apply to it.
    magic: first bytes of its files, any of them.  is_text: whether a text, from its first letter on, is of
    this format; None only for a binary format, which then has `magic`.
    """

    name: str
    module: str
    suffixes: tuple[str, ...]
    heeds: frozenset[str]
    magic: tuple[bytes, ...] = ()
    is_text: Callable[[str], bool] | None = None


def _is_svg(text: str) -> bool:
    return text.startswith("<") and root(text) == "svg"


def _is_dxf(text: str) -> bool:
    return _DXF.match(text) is not None


def _is_geojson(text: str) -> bool:
    return text.startswith(("{", "[")) and _GEOJSON.search(text) is not None


def _is_wkt(text: str) -> bool:
    return _WKT.match(text) is not None


def _is_gerber(text: str) -> bool:
    """Whether a text has a Gerber command anywhere, and does not look like another format."""
    return not (text.startswith(("<", "{", "[")) or _is_wkt(text)) and _GERBER.search(text) is not None


_DRAWING = frozenset({"layers", "unit", "line_width"})
_LAYOUT = frozenset({"layers", "cell"})
_IMAGE = frozenset({"pixel", "threshold", "grey", "colours", "colour"})
_BOARD = (".gbr", ".ger", ".gtl", ".gbl", ".gts", ".gbs", ".gto", ".gbo", ".gko", ".gm1")
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

FORMATS = {
    one.name: one
    for one in (
        FileFormat(
            "SVG",
            "svg",
            (".svg", ".svgz"),
            frozenset({"layers", "unit", "colours", "colour"}),
            is_text=_is_svg,
        ),
        FileFormat("DXF", "dxf", (".dxf",), _DRAWING, (b"AutoCAD Binary DXF",), _is_dxf),
        FileFormat("GDSII", "gds", (".gds", ".gdsii"), _LAYOUT, (b"\0\x06\0\x02",)),
        FileFormat("OASIS", "gds", (".oas", ".oasis"), _LAYOUT, (b"%SEMI-OASIS",)),
        FileFormat("Gerber", "gerber", _BOARD, frozenset({"unit", "line_width"}), is_text=_is_gerber),
        FileFormat("PNG", "image", (".png",), _IMAGE, (b"\x89PNG\r\n\x1a\n",)),
        FileFormat("TIFF", "image", (".tif", ".tiff"), _IMAGE, _TIFF),
        FileFormat("GeoJSON", "vector", (".geojson", ".json"), _DRAWING, is_text=_is_geojson),
        FileFormat("WKT", "vector", (".wkt",), _DRAWING, is_text=_is_wkt),
    )
}
"""Name → format. The first that recognises a file wins."""

SUFFIXES = {suffix: one.name for one in FORMATS.values() for suffix in one.suffixes}
"""Suffix → name of the format that is assumed where the content shows none."""


def detect(data: bytes, suffix: str) -> str:
    """The format of a file, a key of `FORMATS`; an unsupported file is refused with what to save instead."""
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise InputError("the file is empty")
    if known := by_content(data):
        return known
    suffix = suffix.lower()
    if refused := foreign.by_content(data, suffix):
        raise InputError(refused)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    raise InputError(foreign.by_suffix(suffix) or _unknown(suffix))


def by_content(data: bytes) -> str | None:
    """The format that the beginning of a file shows; None: no format that can be read."""
    for one in FORMATS.values():
        if data.startswith(one.magic):
            return one.name
    text = head(data)
    return next((one.name for one in FORMATS.values() if one.is_text and one.is_text(text)), None)


def readable(data: bytes, name: str) -> bytes:
    """The bytes as the reader of that format takes them: text in UTF-8, from its first letter on."""
    if FORMATS[name].is_text is None or not head(data):
        return data
    return plain(data, xml=name == "SVG")


def _unknown(suffix: str) -> str:
    """The refusal of a file of unknown format; it lists the formats that can be read."""
    plugins = (f"files that end in .{name}" for name in entry_points.found(entry_points.DESIGNS))
    ending = f"ends in {suffix!r}" if suffix else "has no ending"
    known = ", ".join((*FORMATS, *plugins))
    return f"the file {ending}, and its content is of no format that can be read: {known}"
