"""Files of unsupported formats: their names, and the format to save them in instead.

They are recognised by their first bytes; where those are not conclusive, by their suffix.
"""

from __future__ import annotations

import io
import re
import zipfile

from laserpath.design.opening import head, root

_PICTURE = "save it as PNG or TIFF"
_DRAWING = "save it as SVG"
_CAD = "save it as DXF"
_BOARD = "export the layer as Gerber"
_COPPER = "it says where holes are, and not where copper is; take the Gerber file of the layer"
_MODEL = "slice it and take `laserpath slicer`, or save a section of it as SVG or DXF"
_PROGRAM = "`laserpath simulate` shows what it would cure, `laserpath check` what the machine makes of it"
_ARCHIVE = "unpack it, and plan the file in it"
_WEB = "it is the page about the file; download the file itself"
_LAYOUT = "save it as GDSII or OASIS"

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
    (rb"\s*%PDF-", ("PDF", _DRAWING)),
    (rb"\s*%!PS|\xc5\xd0\xd3\xc6", ("PostScript", _DRAWING)),
    (rb"RIFF.{4}(?:CDR|cdr)", ("CorelDRAW", _DRAWING)),
    (rb"\xd7\xcd\xc6\x9a|\x01\0\0\0.{36} EMF", ("a Windows metafile", _DRAWING)),
    (rb"AC10\d\d|AC1\.", ("DWG", _CAD)),
    (rb"\x10[\x00\x80].\0", ("a board of Eagle 5 or earlier", _BOARD)),
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
    "eagle": ("an Eagle board or schematic", _BOARD),
    "lightburnproject": ("a LightBurn project", _DRAWING),
    "kml": ("KML", "save it as GeoJSON in mm"),
    "gpx": ("GPX", "save it as GeoJSON in mm"),
    "collada": ("a Collada model", _MODEL),
    "amf": ("an AMF model", _MODEL),
    "mxfile": ("a draw.io drawing", _DRAWING),
    "visiodocument": ("a Visio drawing", _DRAWING),
    "document": ("an office document", _DRAWING),
}
"""Root element of an XML file → its format."""

_TEXTS: tuple[tuple[str, Look], ...] = (
    (r"\((?:kicad_pcb|footprint|module)\b", ("a KiCad board", _BOARD)),
    (r"\(kicad_sch\b|EESchema\b", ("a KiCad schematic", "export the board's layer as Gerber")),
    (r"PCBNEW-BOARD\b", ("an old KiCad board", _BOARD)),
    (r"\$HEADER\b", ("GenCAD", _BOARD)),
    (r"(?:;[^\n]*\n|%?\s)*M48\b", ("a drill file (Excellon)", _COPPER)),
    (r"[^*]{0,4000}?^T\d+(?:[FS]\d+)*C[\d.]+\s*$", ("a drill file (Excellon)", _COPPER)),
    (r"solid\b[^\n]*\n\s*(?:facet|endsolid)\b", ("an STL model", _MODEL)),
    (r"(?:#[^\n]*\n|\s|mtllib[^\n]*\n|[og] [^\n]*\n)*v\s+\S+\s+\S+\s+\S+\s*\nv\s", ("an OBJ model", _MODEL)),
    (r"ply\r?\n", ("a PLY model", _MODEL)),
    (r'[{\[].{0,4000}?"type"\s*:\s*"Topology"', ("TopoJSON", "save it as GeoJSON in mm")),
    (r'[{\[].{0,4000}?"docType"', ("an EasyEDA board", _BOARD)),
    (r"\{\\rtf", ("a text document (RTF)", _DRAWING)),
    (r"(?:\([^;]{0,2000}\)\s*;\s*)*DS\s+\d+(?:\s+\d+\s+\d+)?\s*;", ("CIF", _LAYOUT)),
    (r"\(edif\b", ("EDIF", _LAYOUT)),
    (r"(?:IN;|PU|SP\d)[^\n]{0,200}?;", ("a plotter file (HPGL)", _DRAWING)),
)
_TEXT_PATTERNS = tuple((re.compile(pattern, re.DOTALL | re.MULTILINE), look) for pattern, look in _TEXTS)

_GCODE = re.compile(
    r"^[^\S\n]*+(?:N\d+\s*)?(?:G0*(?:[0123]|17|2[01]|90|91)|M0*[345])(?![\d.])[^*\n]*$", re.MULTILINE
)
_LINES_OF_GCODE = 3  # lines that look like G-code from which on a text counts as such

_IN_ZIP: tuple[tuple[str, Look], ...] = (
    ("3D/", ("a 3MF model", _MODEL)),
    ("word/", ("a text document", _DRAWING)),
    ("visio/", ("a Visio drawing", _DRAWING)),
    ("content.xml", ("an office document", _DRAWING)),
    ("Document.xml", ("a FreeCAD document", _CAD)),
    ("maindata.xml", ("a Krita image", _PICTURE)),
)
"""Beginning of the name of a ZIP archive's member → the format of the archive."""

_NAMED: tuple[tuple[str, str, str], ...] = (
    (".jpg .jpeg .jfif", "JPEG", _PICTURE),
    (".bmp .gif .webp .heic .heif .avif .xcf .psd .kra .tga .ico .dng", "an image of another kind", _PICTURE),
    (".pdf", "PDF", _DRAWING),
    (".ai .eps .ps", "PostScript", _DRAWING),
    (".cdr .afdesign .sketch .fig .wmf .emf .vsd .odg", "a drawing of one program", _DRAWING),
    (".plt .hpgl .hpg", "a plotter file (HPGL)", _DRAWING),
    (".lbrn .lbrn2", "a LightBurn project", _DRAWING),
    (".dwg", "DWG", _CAD),
    (".fcstd .skp .sldprt .sldasm .f3d .ipt .iam .3dm", "a CAD model", _CAD),
    (".stl .obj .3mf .step .stp .iges .igs .ply .amf", "a 3-D model", _MODEL),
    (".kicad_pcb .brd .pcbdoc .pcb .dip .fzz", "a board", _BOARD),
    (".sch .kicad_sch .schdoc", "a schematic", "export the board's layer as Gerber"),
    (".drl .xln .exc .drd .ncd .drill", "a drill file (Excellon)", _COPPER),
    (".gcode .nc .ngc .gc .tap .cnc", "G-code", _PROGRAM),
    (".zip .7z .rar .tar .tgz .xz .bz2", "an archive", _ARCHIVE),
    (".cif", "CIF", _LAYOUT),
    (".html .htm", "a web page (HTML)", _WEB),
)
_SUFFIXES: dict[str, Look] = {
    suffix: (what, mend) for suffixes, what, mend in _NAMED for suffix in suffixes.split()
}
"""Suffix → the format that usually has it."""

_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_STL_HEADER, _STL_FACET = 84, 50
"""Bytes of a binary STL: the header with the number of facets, and one facet."""


def by_content(data: bytes, suffix: str) -> str | None:
    """The refusal of a file that is recognised but not supported; None: it is not recognised."""
    look = _binary(data, suffix) or _text(head(data))
    return look and _sentence(f"the file looks like {look[0]}", look[1])


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
    if data.startswith(b"PK\x03\x04"):
        return _zipped(data)
    if data.startswith(_COMPOUND):
        return _SUFFIXES.get(suffix) or (
            "a document of Altium or Office",
            "export Gerber, SVG or DXF from it",
        )
    facets = int.from_bytes(data[80:_STL_HEADER], "little")
    if facets and len(data) == _STL_HEADER + _STL_FACET * facets:
        return "an STL model", _MODEL
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
    return "a ZIP archive", _ARCHIVE


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
