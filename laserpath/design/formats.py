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

To look at the content, a file is unpacked, its beginning is decoded, and the root element of its XML is
found. Programs put a byte order mark, blank lines or comments before a format's first word, write UTF-16, and
pack files with gzip. None of this changes the format.

Files of unsupported formats are refused with their name, and the format to save them in instead. They are
recognised by their first bytes; where those are not conclusive, by their suffix.
"""

from __future__ import annotations

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from laserpath.base import entry_points, limits
from laserpath.base.errors import InputError

HEAD = 1 << 16  # bytes from which the format is detected

_GZIP = b"\x1f\x8b"
_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_ENCODING = re.compile(r"""^(<\?xml[^>]*?)\s+encoding\s*=\s*(".*?"|'.*?')""")


def unpacked(data: bytes) -> bytes:
    """The content of a gzip file (.svgz, .gds.gz); any other file unchanged."""
    if not data.startswith(_GZIP):
        return data
    most = limits.now().bytes
    stream = zlib.decompressobj(wbits=31)
    try:
        out = stream.decompress(data, most)  # more is refused before it fills the memory
    except zlib.error:
        raise InputError("the file is compressed (gzip) and damaged; unpack it, or save it again") from None
    if not stream.eof:
        if len(out) >= most:
            raise limits.exceeded("the file is compressed (gzip) and holds more than {}", "bytes")
        raise InputError("the file is compressed (gzip) and is cut off")
    return out


def head(data: bytes) -> str:
    """The beginning of a text file, without leading blanks; '' for a binary file."""
    first = data[:HEAD]
    encoding = _utf16(first)
    text = first.decode(encoding or "utf-8-sig", "replace").lstrip("\ufeff \t\r\n\v\f")
    return "" if "\0" in text else text


def plain(data: bytes, xml: bool = False) -> bytes:
    """A text from its first letter on, in UTF-8 if it was in UTF-16, else in its own encoding.

    xml: its encoding declaration is removed if the encoding was changed.
    """
    encoding = _utf16(data[:HEAD])
    if encoding:
        text = data.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
        return (_ENCODING.sub(r"\1", text, count=1) if xml else text).encode("utf-8", "replace")
    bare = data.removeprefix(codecs.BOM_UTF8)
    stripped = bare.lstrip()
    # An XML parser reads the mark; only blanks before the declaration are an error.
    return data if xml and stripped == bare else stripped


def root(text: str) -> str:
    """The name of the root element of an XML text, in lower case without its prefix, or ''."""
    at = 0
    while (opening := re.compile(r"\s*<([?!]?)([\w:.-]*)").match(text, at)) is not None:
        mark, name = opening.groups()
        if not mark:
            return name.rpartition(":")[2].lower()
        if name.upper() == "DOCTYPE":
            # It names the root element, and its entities may contain anything.
            declared = re.compile(r"\s+([\w:.-]+)").match(text, opening.end())
            return declared[1].rpartition(":")[2].lower() if declared else ""
        end = {"?": "?>"}.get(mark, "-->" if name.startswith("--") else ">")
        closes = text.find(end, opening.start() + 2)
        if closes < 0:
            return ""
        at = closes + len(end)
    return ""


def _utf16(first: bytes) -> str | None:
    """The encoding of a UTF-16 text, by its mark or by the zeros between its letters; None: another."""
    for mark, encoding in _UTF16:
        if first.startswith(mark):
            return encoding
    if re.match(rb"(?:[\t\n\r -~]\0){4}", first):
        return "utf-16-le"
    return "utf-16-be" if re.match(rb"(?:\0[\t\n\r -~]){4}", first) else None


_PICTURE = "save it as PNG or TIFF"
_AS_DRAWING = "save it as SVG"
_CAD = "save it as DXF"
_AS_BOARD = "export the layer as Gerber"
_COPPER = "it says where holes are, not where copper is: take the Gerber of the layer, or `laserpath board`"
_MODEL = "save it as STL or 3MF, and `laserpath plan part.stl --layer 50um` cuts a part into layers"
_PART = "`laserpath plan part.stl --layer 50um` cuts a part into layers; end its name in .stl, .3mf or .obj"
_PROGRAM = "`laserpath simulate` shows what it would cure, `laserpath check` what the machine makes of it"
_ARCHIVE = "unpack it, and plan the file in it"
_LAYERS = "`laserpath board` plans its layers; for one of them alone, unpack it and take its Gerber"
_WEB = "it is the page about the file; download the file itself"
_AS_LAYOUT = "save it as GDSII or OASIS"

Look = tuple[str, str]
"""(name of the file's format, advice)"""

_MAGIC: tuple[tuple[bytes, Look], ...] = (
    (rb"\xff\xd8\xff", ("JPEG", _PICTURE)),
    (rb"GIF8[79]a", ("GIF", _PICTURE)),
    (rb"BM.{4}\0\0\0\0.{4}[\x0c\x28\x38\x40\x6c\x7c]\0\0\0", ("BMP", _PICTURE)),
    (rb"RIFF.{4}WEBP", ("WebP", _PICTURE)),
    (rb".{4}ftyp(?:hei[cfsx]|hev|mif1|msf1)", ("HEIC", _PICTURE)),
    (rb".{4}ftypavi", ("AVIF", _PICTURE)),
    (rb"\0\0\0\x0cJXL |\xff\x0a", ("JPEG XL", _PICTURE)),
    (rb"\0\0\0\x0cjP  ", ("JPEG 2000", _PICTURE)),
    (rb"gimp xcf", ("a GIMP image", _PICTURE)),
    (rb"8BPS", ("a Photoshop image", _PICTURE)),
    (rb"\0\0\x01\0[\x01-\x20]\0", ("an icon", _PICTURE)),
    (rb"P[1-7]\s+(?:#[^\n]*\n\s*)*\d+\s+\d+\s", ("a Netpbm image (PBM, PGM, PPM)", _PICTURE)),
    (rb"\s*%PDF-", ("PDF", _AS_DRAWING)),
    (rb"\s*%!PS|\xc5\xd0\xd3\xc6", ("PostScript", _AS_DRAWING)),
    (rb"RIFF.{4}(?:CDR|cdr)", ("CorelDRAW", _AS_DRAWING)),
    (rb"\xd7\xcd\xc6\x9a|\x01\0\0\0.{36} EMF", ("a Windows metafile", _AS_DRAWING)),
    (rb"AC10\d\d|AC1\.", ("DWG", _CAD)),
    (rb"\x10[\x00\x80].\0", ("a board of Eagle 5 or earlier", _AS_BOARD)),
    (rb"ISO-10303-21", ("a STEP model", _MODEL)),
    (rb"glTF", ("a glTF model", _MODEL)),
    (rb"7z\xbc\xaf\x27\x1c", ("a 7z archive", _ARCHIVE)),
    (rb"Rar!\x1a\x07", ("a RAR archive", _ARCHIVE)),
    (rb"BZh\d|\xfd7zXZ\0|\x28\xb5\x2f\xfd", ("a compressed file", _ARCHIVE)),
    (rb".{257}ustar", ("a tar archive", _ARCHIVE)),
    (rb"version https://git-lfs", ("a pointer of Git LFS", "fetch the file itself with `git lfs pull`")),
)  # fmt: skip
_MAGIC_PATTERNS = tuple((re.compile(pattern, re.DOTALL), look) for pattern, look in _MAGIC)

_ROOTS: dict[str, Look] = {
    "html": ("a web page (HTML)", _WEB),
    "eagle": ("an Eagle board or schematic", _AS_BOARD),
    "lightburnproject": ("a LightBurn project", _AS_DRAWING),
    "kml": ("KML", "save it as GeoJSON in mm"),
    "gpx": ("GPX", "save it as GeoJSON in mm"),
    "collada": ("a Collada model", _MODEL),
    "amf": ("an AMF model", _MODEL),
    "mxfile": ("a draw.io drawing", _AS_DRAWING),
    "visiodocument": ("a Visio drawing", _AS_DRAWING),
    "document": ("an office document", _AS_DRAWING),
}
"""Root element of an XML file → its format."""

_TEXTS: tuple[tuple[str, Look], ...] = (
    (r"\((?:kicad_pcb|footprint|module)\b", ("a KiCad board", _AS_BOARD)),
    (r"\(kicad_sch\b|EESchema\b", ("a KiCad schematic", "export the board's layer as Gerber")),
    (r"PCBNEW-BOARD\b", ("an old KiCad board", _AS_BOARD)),
    (r"\$HEADER\b", ("GenCAD", _AS_BOARD)),
    (r"(?:;[^\n]*\n|%?\s)*M48\b", ("a drill file (Excellon)", _COPPER)),
    (r"[^*]{0,4000}?^T\d+(?:[FS]\d+)*C[\d.]+\s*$", ("a drill file (Excellon)", _COPPER)),
    (r"solid\b[^\n]*\n\s*(?:facet|endsolid)\b", ("an STL model", _PART)),
    (r"(?:#[^\n]*\n|\s|mtllib[^\n]*\n|[og] [^\n]*\n)*v\s+\S+\s+\S+\s+\S+\s*\nv\s", ("an OBJ model", _PART)),
    (r"ply\r?\n", ("a PLY model", _MODEL)),
    (r'[{\[].{0,4000}?"type"\s*:\s*"Topology"', ("TopoJSON", "save it as GeoJSON in mm")),
    (r'[{\[].{0,4000}?"docType"', ("an EasyEDA board", _AS_BOARD)),
    (r"\{\\rtf", ("a text document (RTF)", _AS_DRAWING)),
    (r"(?:\([^;]{0,2000}\)\s*;\s*)*DS\s+\d+(?:\s+\d+\s+\d+)?\s*;", ("CIF", _AS_LAYOUT)),
    (r"\(edif\b", ("EDIF", _AS_LAYOUT)),
    (r"(?:IN;|PU|SP\d)[^\n]{0,200}?;", ("a plotter file (HPGL)", _AS_DRAWING)),
)
_TEXT_PATTERNS = tuple((re.compile(pattern, re.DOTALL | re.MULTILINE), look) for pattern, look in _TEXTS)

_GCODE = re.compile(
    r"^[^\S\n]*+(?:N\d+\s*)?(?:G0*(?:[0123]|17|2[01]|90|91)|M0*[345])(?![\d.])[^*\n]*$", re.MULTILINE
)
_LINES_OF_GCODE = 3  # lines that look like G-code from which on a text counts as such

_IN_ZIP: tuple[tuple[str, Look], ...] = (
    ("3D/", ("a 3MF model", _PART)),
    ("word/", ("a text document", _AS_DRAWING)),
    ("visio/", ("a Visio drawing", _AS_DRAWING)),
    ("content.xml", ("an office document", _AS_DRAWING)),
    ("Document.xml", ("a FreeCAD document", _CAD)),
    ("maindata.xml", ("a Krita image", _PICTURE)),
)
"""Beginning of the name of a ZIP archive's member → the format of the archive."""

_OF_A_BOARD = re.compile(r"\.(?:gbr|ger|gbrjob|gtl|gbl|cmp|sol|pho|art|drl|xln|drd)$")
"""Names of files that only boards have."""

_NAMED: tuple[tuple[str, str, str], ...] = (
    (".jpg .jpeg .jfif", "JPEG", _PICTURE),
    (".bmp .gif .webp .heic .heif .avif .xcf .psd .kra .tga .ico .dng", "an image of another kind", _PICTURE),
    (".pdf", "PDF", _AS_DRAWING),
    (".ai .eps .ps", "PostScript", _AS_DRAWING),
    (".cdr .afdesign .sketch .fig .wmf .emf .vsd .odg", "a drawing of one program", _AS_DRAWING),
    (".plt .hpgl .hpg", "a plotter file (HPGL)", _AS_DRAWING),
    (".lbrn .lbrn2", "a LightBurn project", _AS_DRAWING),
    (".dwg", "DWG", _CAD),
    (".fcstd .skp .sldprt .sldasm .f3d .ipt .iam .3dm", "a CAD model", _CAD),
    (".stl .obj .3mf", "a part", _PART),
    (".step .stp .iges .igs .ply .amf", "a 3-D model", _MODEL),
    (".kicad_pcb .brd .pcbdoc .pcb .dip .fzz", "a board", _AS_BOARD),
    (".sch .kicad_sch .schdoc", "a schematic", "export the board's layer as Gerber"),
    (".drl .xln .exc .drd .ncd .drill", "a drill file (Excellon)", _COPPER),
    (".gcode .nc .ngc .gc .tap .cnc", "G-code", _PROGRAM),
    (".zip .7z .rar .tar .tgz .xz .bz2", "an archive", _ARCHIVE),
    (".cif", "CIF", _AS_LAYOUT),
    (".html .htm", "a web page (HTML)", _WEB),
)
_SUFFIXES: dict[str, Look] = {
    suffix: (what, mend) for suffixes, what, mend in _NAMED for suffix in suffixes.split()
}
"""Suffix → the format that usually has it."""

_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STL_HEADER, _STL_FACET = 84, 50
"""Bytes of a binary STL: the header with the number of facets, and one facet."""


def foreign_by_content(data: bytes, suffix: str) -> str | None:
    """The refusal of a file that is recognised but not supported; None: it is not recognised."""
    look = _binary(data, suffix) or _text(head(data))
    return look and _sentence(f"the file looks like {look[0]}", look[1])


def looks_like(data: bytes, suffix: str) -> str | None:
    """What a file that is no part of a board looks like, and what to do with it; None: not recognised."""
    if drawing := by_content(data):
        return f"it looks like {drawing}: `laserpath plan` plans a drawing"
    look = _binary(data, suffix) or _text(head(data))
    return look and f"it looks like {look[0]}: {look[1]}"


def model(data: bytes, suffix: str) -> str | None:
    """`an STL model`, if a file is a part or another 3-D model; None: it is not."""
    look = _binary(data, suffix) or _text(head(data))
    return look[0] if look and look[1] in (_PART, _MODEL) else None


def by_suffix(suffix: str) -> str | None:
    """The same by the suffix alone, in lower case."""
    look = _SUFFIXES.get(suffix)
    return look and _sentence(f"the file ends in {suffix!r}, as {look[0]} does", look[1])


def _sentence(what: str, mend: str) -> str:
    return f"{what}, which is not read as a design: {mend}"


def _binary(data: bytes, suffix: str) -> Look | None:
    """By magic bytes, by the members of a container, or by the length of a binary STL."""
    for pattern, look in _MAGIC_PATTERNS:
        if pattern.match(data):
            return look
    if is_archive(data):
        return _zipped(data)
    if data.startswith(_COMPOUND):
        return _SUFFIXES.get(suffix) or (
            "a document of Altium or Office",
            "export Gerber, SVG or DXF from it",
        )
    facets = int.from_bytes(data[80:_STL_HEADER], "little")
    if facets and len(data) == _STL_HEADER + _STL_FACET * facets:
        return "an STL model", _PART
    return None


def _zipped(data: bytes) -> Look:
    """By the members of a ZIP archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        names = []
    for beginning, look in _IN_ZIP:
        if any(name.startswith(beginning) for name in names):
            return look
    board = any(_OF_A_BOARD.search(name.lower()) for name in names)
    return ("a board in a ZIP archive", _LAYERS) if board else ("a ZIP archive", _ARCHIVE)


def _text(text: str) -> Look | None:
    """By the beginning of a text."""
    if text.startswith("<"):
        return _ROOTS.get(root(text))
    for pattern, look in _TEXT_PATTERNS:
        if pattern.match(text):
            return look
    return ("G-code", _PROGRAM) if is_gcode(text) else None


def is_gcode(text: str) -> bool:
    """Whether the beginning of a text has enough lines that look like G-code."""
    return len(_GCODE.findall(text)) >= _LINES_OF_GCODE


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
    design for each colour; if it heeds `split`, with `read_layers` → the `LayersRead` of it, of all layers
    if it is empty.
    suffixes: the usual ones.  heeds: the fields of `Reading` that apply to it.
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


_DRAWING = frozenset({"layers", "split", "unit", "line_width", "follow", "followed"})
_LAYOUT = frozenset({"layers", "split", "cell", "follow", "followed"})
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
            frozenset({"layers", "split", "unit", "colours", "colour", "follow", "followed"}),
            is_text=_is_svg,
        ),
        FileFormat("DXF", "dxf", (".dxf",), _DRAWING, (b"AutoCAD Binary DXF",), _is_dxf),
        FileFormat("GDSII", "gds", (".gds", ".gdsii"), _LAYOUT, (b"\0\x06\0\x02",)),
        FileFormat("OASIS", "gds", (".oas", ".oasis"), _LAYOUT, (b"%SEMI-OASIS",)),
        FileFormat(
            "Gerber", "gerber", _BOARD, frozenset({"unit", "line_width", "follow"}), is_text=_is_gerber
        ),
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
    if refused := foreign_by_content(data, suffix):
        raise InputError(refused)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    raise InputError(by_suffix(suffix) or _unknown(suffix))


def is_archive(data: bytes) -> bool:
    """Whether a file is a ZIP archive, with files in it."""
    return data.startswith(b"PK\x03\x04")


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
