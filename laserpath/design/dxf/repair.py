"""Damaged DXF files: repaired by ezdxf, or, if it gives up, read without the entities that it cannot read.

ezdxf checks little of its input, and one entity that it cannot interpret makes the whole file unreadable. If
its own recovery fails too, the file is read once more, entity by entity:

- subclass markers (group 100) that lack the first, AcDbEntity, as in old exports of Inkscape, get it;
- entities without any marker, as KLayout writes LWPOLYLINE and HATCH into R12 files, get both;
- a file with such markers that names no version is taken as R2000, since R12 has no markers;
- entities that still cannot be read are left out by name.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from ezdxf import recover
from ezdxf.document import Drawing
from ezdxf.entities import factory
from ezdxf.lldxf.const import DXF12, DXFError
from ezdxf.lldxf.extendedtags import ExtendedTags
from ezdxf.lldxf.types import DXFTag

from laserpath.base.errors import InputError

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
