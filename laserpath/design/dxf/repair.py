"""Damaged DXF files: what ezdxf repairs, and where it gives up, the rest without the entities that stop it.

ezdxf trusts most of what it reads, and one entity that it cannot make sense of ends the whole file. Where its
own recovery ends so too, the file is gone through once more, entity by entity:

- one whose subclass markers (group 100) lack the first, AcDbEntity, as old exports of Inkscape write them,
  gets it;
- a file with such markers that names no version is not of R12, which has none, but of R2000;
- what even so cannot be made sense of is left out by name.
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
"""What ezdxf raises at files that are not as they should be: it trusts most of what it reads."""

NAMED = 3
"""Repairs that are told."""

_STRUCTURE = frozenset({"SECTION", "BLOCK", "ENDBLK", "TABLE", "ENDTAB", "SEQEND"})
_SECOND = frozenset({"AcDbPolyline", "AcDbSpline", "AcDbHatch"})
"""Markers after AcDbEntity, of the kinds of which ezdxf does not take them for the first."""

_VERSION = b"0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1015\n0\nENDSEC\n"


def recovered(path: Path, error: Exception) -> tuple[Any, str]:
    """The drawing in a damaged file, and a sentence about it. error: what ezdxf said when it read it."""
    why = reason(error)
    try:
        drawing, audit = recover.readfile(path)
    except DAMAGE:
        drawing, audit = _by_entity(path.read_bytes(), why)
    if audit.errors:
        raise InputError(f"the DXF is damaged: {plain(audit.errors[0].message)}")
    done = _in_short([plain(fix.message) for fix in audit.fixes])
    more = f" and {len(done) - NAMED} more" if len(done) > NAMED else ""
    said = f"the DXF is damaged ({why}) and was repaired, look at the result"
    return drawing, said + (f": {'; '.join(done[:NAMED])}{more}" if done else "")


def reason(error: Exception) -> str:
    """Why a file or an entity is damaged. What Python says of our tools' insides helps nobody."""
    if isinstance(error, (DXFError, ValueError)):
        return plain(error)
    return "it is not as the format demands"


def plain(error: object) -> str:
    """One line of a message."""
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    text = re.sub(r"^(DXFStructureError|DXF structure error): ", "", text)
    return text.encode("utf-8", "replace").decode()[:200]


def _by_entity(data: bytes, why: str) -> tuple[Any, Any]:
    """(drawing, ezdxf's audit of it) of what can be read of a text DXF."""
    if b"$ACADVER" not in data and b"AcDbEntity" in data:
        data = _VERSION + data
    for without in (None, "OBJECTS"):  # nothing is drawn of those
        try:
            return _loaded(data, without)
        except DAMAGE:
            continue
    raise InputError(
        f"the DXF is damaged ({why}), and cannot be repaired: open it in a CAD program and save it again"
    )


def _loaded(data: bytes, without: str | None) -> tuple[Any, Any]:
    """The same. without: a section that is dropped."""
    tool: Any = recover.Recover.run(BytesIO(data))
    if without in tool.section_dict:
        del tool.section_dict[without]
        tool.fixes.append((0, f"section {without} was dropped"))
    host = Drawing.new("R12" if tool.dxfversion <= DXF12 else "R2000")  # what entities ask for the version
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
        try:
            factory.load(ExtendedTags(tags), host)
        except DAMAGE as error:
            if kind in _STRUCTURE:
                raise
            tool.fixes.insert(0, (0, f"{_called(tags)} is left out ({reason(error)})"))
            continue
        yield tags


def _called(tags: Any) -> str:
    """What an entity is, with its handle."""
    handle = next((tag.value for tag in tags if tag.code == 5), None)
    return f"{tags[0].value} #{handle}" if handle else str(tags[0].value)


def _in_short(fixes: list[str]) -> list[str]:
    """The same without what is told again and again of one tag each."""
    outside = re.compile(r"found tag outside section: .*")
    counts = Counter(outside.sub("tags outside of a section were dropped", fix) for fix in fixes)
    return list(counts)
