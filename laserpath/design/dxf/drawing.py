"""The bytes of a DXF file → ezdxf's drawing, its unit, and the layers that count.

Nothing outside the file is opened: ezdxf loads neither external references nor images.

Damaged files are repaired by ezdxf, or, if it gives up, read without the entities that it cannot read. ezdxf
checks little of its input, and one entity that it cannot interpret makes the whole file unreadable. If its
own recovery fails too, the file is read once more, entity by entity:

- subclass markers (group 100) that lack the first, AcDbEntity, as in old exports of Inkscape, get it;
- entities without any marker, as KLayout writes LWPOLYLINE and HATCH into R12 files, get both;
- a file with such markers that names no version is taken as R2000, since R12 has no markers;
- entities that still cannot be read are left out by name.
"""

from __future__ import annotations

import logging
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ezdxf import recover
from ezdxf.document import Drawing
from ezdxf.entities import factory
from ezdxf.filemanagement import readfile
from ezdxf.lldxf.const import DXF12, DXFError
from ezdxf.lldxf.extendedtags import ExtendedTags
from ezdxf.lldxf.types import DXFTag

from laserpath.base import limits
from laserpath.base.errors import InputError, did_you_mean, figure
from laserpath.base.quantities import LENGTH
from laserpath.design.reading import Reading

DAMAGE = (DXFError, ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, RecursionError,
          RuntimeError, StopIteration, TypeError, ValueError, struct.error)  # fmt: skip
"""Exceptions that ezdxf, which checks little of its input, raises on damaged files."""

NAMED = 3  # repairs that a warning lists

_STRUCTURE = frozenset({"SECTION", "BLOCK", "ENDBLK", "TABLE", "ENDTAB", "SEQEND"})
_SECOND = frozenset({"AcDbPolyline", "AcDbSpline", "AcDbHatch"})
"""Second markers of the entities in which ezdxf misses the first, AcDbEntity."""

_MARKS = {
    "LWPOLYLINE": "AcDbPolyline",
    "SPLINE": "AcDbSpline",
    "HATCH": "AcDbHatch",
    "ELLIPSE": "AcDbEllipse",
}
"""Second marker of the entities that ezdxf does not read without it."""

_COMMON = frozenset({0, 5, 6, 8, 48, 60, 62, 67, 102, 330, 360, 370, 420, 430, 440})
"""Group codes that may stand before the second marker: handle, layer, line type, colour and such."""

_VERSION = b"0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1015\n0\nENDSEC\n"


def recovered(path: Path, error: Exception) -> tuple[Any, str]:
    """The drawing in a damaged file, and a warning about it. error: that of ezdxf's ordinary reader."""
    why = reason(error)
    try:
        drawing, audit = recover.readfile(path)
    except DAMAGE:
        drawing, audit = _by_entity(path.read_bytes(), why)
    if audit.errors:
        raise InputError(f"the DXF is damaged: {plain(audit.errors[0].message)}")
    done = _in_short([plain(fix.message) for fix in audit.fixes])
    more = f" and {len(done) - NAMED} more" if len(done) > NAMED else ""
    warning = f"the DXF is damaged ({why}) and was repaired, look at the result"
    return drawing, warning + (f": {'; '.join(done[:NAMED])}{more}" if done else "")


def reason(error: Exception) -> str:
    """Why a file or an entity is damaged, without Python's messages about ezdxf's internals."""
    if isinstance(error, (DXFError, ValueError)):
        return plain(error)
    return "it is not as the format demands"


def plain(error: object) -> str:
    """A message in one line."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    text = re.sub(r"^(DXFStructureError|DXF structure error): ", "", text)
    return text.encode("utf-8", "replace").decode()[:200]


def _by_entity(data: bytes, why: str) -> tuple[Any, Any]:
    """(drawing, ezdxf's audit) of the readable entities of a text DXF."""
    if b"$ACADVER" not in data and b"AcDbEntity" in data:
        data = _VERSION + data
    for without in (None, "OBJECTS"):  # objects draw nothing
        try:
            return _loaded(data, without)
        except DAMAGE:
            continue
    raise InputError(
        f"the DXF is damaged ({why}), and cannot be repaired: open it in a CAD program and save it again"
    )


def _loaded(data: bytes, without: str | None) -> tuple[Any, Any]:
    """The same. without: a section to drop."""
    tool: Any = recover.Recover.run(BytesIO(data))
    if without in tool.section_dict:
        del tool.section_dict[without]
        tool.fixes.append((0, f"section {without} was dropped"))
    host = Drawing.new("R12" if tool.dxfversion <= DXF12 else "R2000")  # tells entities their version
    for name in ("BLOCKS", "ENTITIES", "OBJECTS"):
        if name in tool.section_dict:
            tool.section_dict[name] = list(_sound(tool, tool.section_dict[name], host))
    drawing, audit = recover._load_and_audit_document(tool)
    return drawing, audit


def _sound(tool: Any, entities: list[Any], host: Any) -> Iterator[Any]:
    """The entities (tags of each) that can be read. host: a drawing of the same version."""
    for tags in entities:
        kind = str(tags[0].value)
        marker = next((k for k, tag in enumerate(tags) if tag.code == 100), None)
        if marker is not None and tags[marker].value in _SECOND:
            tags.insert(marker, DXFTag(100, "AcDbEntity"))
        elif marker is None and kind in _MARKS:
            first = next((k for k, tag in enumerate(tags) if tag.code not in _COMMON), len(tags))
            tags[first:first] = [DXFTag(100, "AcDbEntity"), DXFTag(100, _MARKS[kind])]
        try:
            factory.load(ExtendedTags(tags), host)
        except DAMAGE as error:
            if kind in _STRUCTURE:
                raise
            tool.fixes.insert(0, (0, f"{_called(tags)} is left out ({reason(error)})"))
            continue
        yield tags


def _called(tags: Any) -> str:
    """The name of an entity in messages: its type and its handle."""
    handle = next((tag.value for tag in tags if tag.code == 5), None)
    return f"{tags[0].value} #{handle}" if handle else str(tags[0].value)


def _in_short(fixes: list[str]) -> list[str]:
    """The repairs, each once; those of single tags outside a section as one."""
    outside = re.compile(r"found tag outside section: .*")
    counts = Counter(outside.sub("tags outside of a section were dropped", fix) for fix in fixes)
    return list(counts)


LISTED = 12  # names in a sentence
FROZEN = "frozen"

_INCH = Fraction(254, 10)
_UNITS = {
    1: ("inches", _INCH),
    2: ("feet", 12 * _INCH),
    3: ("miles", 63360 * _INCH),
    4: ("millimetres", Fraction(1)),
    5: ("centimetres", Fraction(10)),
    6: ("metres", Fraction(1000)),
    7: ("kilometres", Fraction(10**6)),
    8: ("microinches", _INCH / 10**6),
    9: ("mils", _INCH / 1000),
    10: ("yards", 36 * _INCH),
    11: ("ångströms", Fraction(1, 10**7)),
    12: ("nanometres", Fraction(1, 10**6)),
    13: ("microns", Fraction(1, 1000)),
    14: ("decimetres", Fraction(100)),
}
"""$INSUNITS → (name, size in mm)."""

_BINARY = b"AutoCAD Binary DXF\r\n\x1a\x00"
_PER_ENTITY = 4000
"""Bytes of memory for an entity."""
_ENTITY = re.compile(rb"^[ \t]*0[ \t]*\r?\n[ \t]*[A-Z]", re.MULTILINE)
_END = re.compile(rb"\n[ \t]*0[ \t]*\r?\n[ \t]*EOF\s*(\Z|\n)")
_SECTION_ENDS = re.compile(rb"\n[ \t]*0[ \t]*\r?\n[ \t]*ENDSEC\s*\Z")

logging.getLogger("ezdxf").addHandler(logging.NullHandler())  # without a handler it writes to stderr


class DrawingFile:
    """One DXF file. warnings: sentences about it.  source: phrases about how it was read."""

    def __init__(self, data: bytes, reading: Reading) -> None:
        _sniff(data)
        self.warnings: list[str] = []
        if not data.startswith(_BINARY) and not _END.search(data):
            self.warnings.append("the DXF does not finish with EOF, but its last section is whole")
            data = data.rstrip() + b"\n  0\nEOF\n"
        self.source: list[str] = []
        self.ezdxf = self._loaded(data)
        imperial = b"$MEASUREMENT" in data and self.ezdxf.header.get("$MEASUREMENT", 1) == 0
        self.unit = self._unit(b"$INSUNITS" in data, reading.unit, imperial)
        self.layers = Layers(self.ezdxf, reading.layers)
        self.space = self._space()

    def _loaded(self, data: bytes) -> Any:
        # ezdxf detects the encoding, and binary files, only when it is given a path.
        try:
            with TemporaryDirectory(prefix="laserpath-") as folder:
                path = Path(folder, "drawing.dxf")
                path.write_bytes(data)
                try:
                    return readfile(path)
                except DAMAGE as error:
                    drawing, warning = recovered(path, error)
                    self.warnings.append(warning)
                    return drawing
        except OSError as error:
            reason = error.strerror or plain(error)
            raise InputError(f"no temporary folder can be used to read the file: {reason}") from None

    def _space(self) -> Any:
        """The model space, or, if it is empty, the paper space with the most entities.

        Paper space usually holds frames and views, at a scale of its own.
        """
        model = self.ezdxf.modelspace()
        drawn = {
            layout: n
            for layout in self.ezdxf.layouts
            if not layout.is_modelspace and (n := sum(one.dxftype() != "VIEWPORT" for one in layout))
        }
        if drawn and len(model) == 0:
            fullest = max(drawn, key=drawn.__getitem__)
            self.warnings.append(
                f"the model space is empty: paper space {fullest.name!r} is read in its place"
            )
            return fullest
        blocks = sum(not (one.is_any_layout or one.name.startswith("*")) for one in self.ezdxf.blocks)
        if blocks and len(model) == 0:
            self.warnings.append(
                f"the model space is empty, and nothing places the {blocks} blocks that the file holds"
                if blocks > 1
                else "the model space is empty, and nothing places the block that the file holds"
            )
        for layout, n in drawn.items():
            self.warnings.append(
                f"paper space {layout.name!r} holds {n} entit{'ies' if n > 1 else 'y'}: "
                "only the model space is read"
            )
        return model

    def _unit(self, stated: bool, given: str | None, imperial: bool) -> float:
        """The unit of the drawing in mm. stated: whether the file has $INSUNITS.  given: by the user.

        imperial: whether $MEASUREMENT says so.
        """
        # For a file without $INSUNITS, ezdxf's own header says metres.
        number = self.ezdxf.header.get("$INSUNITS", 0) if stated else 0
        if number:
            if number not in _UNITS:
                raise InputError(f"the header's unit ($INSUNITS) is {number}, which is not a known unit")
            name, size = _UNITS[number]
            self.source.append(f"drawn in {name}, as its header says")
            if given is not None and LENGTH[given] != size:
                self.warnings.append(
                    f"the header says that the unit is {name}: {given} is for files that name none"
                )
            return float(size)
        if given is not None:
            self.source.append(f"drawn in {given}, as asked for")
            return float(LENGTH[given])
        if imperial:
            self.warnings.append(
                "the header names no unit but imperial measures, so inches are assumed: --unit mm if it is mm"
            )
            self.source.append("taken to be drawn in inches")
            return float(_INCH)
        self.warnings.append("the header names no unit, so mm are assumed: --unit in if it is inches")
        self.source.append("taken to be drawn in mm")
        return 1.0

    def take_mm(self, size: float) -> None:
        """Take mm as the unit, since the header's unit would make the drawing `size` mm large."""
        name = self.source.pop()
        self.unit = 1.0
        self.warnings.append(
            f"the drawing would be {figure(size / 1000, 4)} m large, {name}: mm are assumed instead; "
            "check its size"
        )
        self.source.append("taken to be drawn in mm")


class Layers:
    """The layers by number, ignoring case, and which of them count.

    chosen: names of those that count, hidden or not; none: all visible ones.
    """

    def __init__(self, drawing: Any, chosen: Iterable[str]) -> None:
        self.names = ["0"]
        self._number = {"0": 0}
        self.choose(chosen)
        self._hidden: dict[int, str] = {}
        for layer in drawing.layers:
            number = self.number(layer.dxf.name)
            if layer.is_frozen():
                self._hidden[number] = FROZEN
            elif layer.is_off():
                self._hidden[number] = "off"
            elif layer.dxf.get("plot", 1) == 0:
                self._hidden[number] = "not printed"

    def choose(self, chosen: Iterable[str]) -> None:
        """Let the layers of these names count; none: all visible ones."""
        self._chosen = {name.lower(): name for name in chosen}

    def number(self, name: str) -> int:
        """The number of a layer, which need not be in the file's table of layers."""
        key = name.lower()
        if key not in self._number:
            self._number[key] = len(self.names)
            self.names.append(name)
        return self._number[key]

    def check(self) -> None:
        """Raise if a chosen layer does not exist; to be called when all entities have been read."""
        for key, name in self._chosen.items():
            if key not in self._number:
                near = did_you_mean(name, self.names, repr)
                raise InputError(f"there is no layer {name!r}; there are {listed(self.names)}{near}")

    def counts(self, layer: int) -> bool:
        """Whether entities on the layer belong to the design."""
        if self._chosen:
            return self.names[layer].lower() in self._chosen
        return layer not in self._hidden

    def hides_blocks(self, layer: int) -> bool:
        """Whether blocks placed on the layer are hidden, whatever the layers of their entities."""
        return self._hidden.get(layer) == FROZEN and self.names[layer].lower() not in self._chosen

    def hides(self, name: str) -> bool:
        """The same by the layer's name, which need not be known yet."""
        return name.lower() in self._number and self.hides_blocks(self._number[name.lower()])

    def why_not(self, layer: int) -> str:
        """Why a layer does not count; '' if it was not chosen."""
        return "" if self._chosen else self.hidden(layer)

    def hidden(self, layer: int) -> str:
        """Why a layer is not shown; '' if it is."""
        return self._hidden.get(layer, "")


def listed(names: Iterable[str]) -> str:
    """The first names of a list, for a message."""
    names = list(names)
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(repr(name) for name in names[:LISTED]) + more


def _sniff(data: bytes) -> None:
    """Refuse files of another format, files that are cut off, and files of too many entities."""
    if data.startswith(_BINARY):
        if not data.rstrip(b"\0\r\n").endswith(b"EOF"):
            raise InputError("the DXF is cut off: it does not finish with EOF")
        return
    head = data[:4096].removeprefix(b"\xef\xbb\xbf")
    if not re.match(rb"\s*(999\r?\n[^\n]*\n\s*)*0[ \t]*\r?\n[ \t]*SECTION", head):
        raise InputError("the file is not DXF: it does not begin with a SECTION")
    if not _END.search(data) and not _SECTION_ENDS.search(data[-4096:]):
        raise InputError("the DXF is cut off: it does not finish with EOF")
    limits.reserve(_PER_ENTITY * sum(1 for _ in _ENTITY.finditer(data)))
