"""DXF files on which ezdxf's own recovery fails are read, without the entities that stop it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from same_shape_cad import Draw, dxf

from laserpath.base.errors import InputError
from laserpath.design.dxf import read
from laserpath.design.reading import Reading

READING = Reading(0.01)
TRIANGLE = [(0, 0), (2, 0), (2, 1)]
INTERNAL = r"NoneType|object has no|get_xlist|index out of|unhashable|Traceback|Error:"


def triangle(_: Any, model: Any) -> None:
    model.add_lwpolyline(TRIANGLE, close=True, dxfattribs={"layer": "A"})


def spline(_: Any, model: Any) -> None:
    model.add_spline([(0, 0), (5, 3), (9, -2), (0, 0)], dxfattribs={"layer": "A"})


def hatch(_: Any, model: Any) -> None:
    model.add_hatch(dxfattribs={"layer": "A"}).paths.add_polyline_path(TRIANGLE)


def entities(data: bytes) -> int:
    """Where the section begins."""
    return data.index(b"ENTITIES")


def bare(data: bytes) -> bytes:
    """The file without the first subclass marker of its entities."""
    at = entities(data)
    return data[:at] + data[at:].replace(b"100\nAcDbEntity\n", b"")


@pytest.mark.parametrize("draw", [triangle, spline, hatch])
def test_entities_without_their_first_marker_are_read(draw: Draw) -> None:
    data = dxf(draw)
    design = read(bare(data), "bare", READING)
    assert design.area.equals(read(data, "whole", READING).area)
    assert "1 curve on layer 'A'" in design.source
    (warning,) = design.warnings
    assert "was repaired, look at the result" in warning
    assert not re.search(INTERNAL, warning)


@pytest.mark.parametrize("draw", [triangle, hatch])
def test_entities_without_any_marker_are_read_in_old_files(draw: Draw) -> None:
    """LWPOLYLINE and HATCH in a file that says it is of R10, as KLayout writes them."""
    data = dxf(draw)
    at = entities(data)
    body = re.sub(rb"\n *(5|330|100)\n[^\n]*(?=\n)", b"", data[at : data.index(b"ENDSEC", at)])
    start = b"0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1006\n0\nENDSEC\n0\nSECTION\n2\n"
    design = read(start + body + b"ENDSEC\n0\nEOF\n", "old", READING)
    assert design.area.area == pytest.approx(1.0)
    assert "was repaired, look at the result" in design.warnings[0]


def test_tables_outside_of_a_section_and_layers_after_the_marker_are_read() -> None:
    """The TABLES section ends twice, as in Inkscape's export for OpenSCAD."""
    design = read(dxf(triangle), "whole", READING)
    data = bare(dxf(triangle))
    first = data.index(b"ENDTAB\n") + len(b"ENDTAB\n")
    data = data[:first] + b"  0\nENDSEC\n  0\nENDTAB\n" + data[first:]
    data = data.replace(b"  8\nA\n100\nAcDbPolyline\n", b"100\nAcDbPolyline\n  8\nA\n")
    broken = read(data, "broken", READING)
    assert broken.area.equals(design.area)
    assert "1 curve on layer 'A'" in broken.source
    (warning,) = (one for one in broken.warnings if "damaged" in one)
    assert "found ENDSEC tag without previous SECTION tag" in warning
    assert warning.count("outside of a section") == 1


VIEWPORT = (
    b"  0\nVIEWPORT\n  5\nFF1\n100\nAcDbEntity\n 67\n     1\n  8\n0\n100\nAcDbViewport\n 10\n1.0\n 20\n1.0\n"
)


def test_a_part_of_a_file_without_header_is_read_as_what_its_markers_say() -> None:
    body = dxf(triangle)
    part = b"  0\nSECTION\n  2\n" + body[entities(body) :]
    part = part.replace(b"ENTITIES\n", b"ENTITIES\n" + VIEWPORT, 1)
    design = read(part, "part", READING)
    assert design.area.area == pytest.approx(1)
    assert not re.search(INTERNAL, " ".join(design.warnings))


def test_what_cannot_be_read_is_left_out_by_name() -> None:
    data = bare(dxf(triangle))
    lost = b"  0\nLWPOLYLINE\n  5\nABC\n100\nAcDbEntity\n  8\nA\n 10\n1.0\n 20\n2.0\n"
    design = read(data.replace(b"ENTITIES\n", b"ENTITIES\n" + lost, 1), "lost", READING)
    assert design.area.area == pytest.approx(1)
    assert "LWPOLYLINE #ABC is left out" in " ".join(design.warnings)


def test_blocks_that_nothing_places_give_a_warning() -> None:
    data = dxf(lambda drawing, _: [drawing.blocks.new(name).add_circle((0, 0), 1) for name in ("A", "B")])
    with pytest.raises(InputError, match="model space is empty, and nothing places the 2 blocks that the"):
        read(data, "blocks", READING)


def test_messages_about_python_s_internals_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise AttributeError("'NoneType' object has no attribute 'get_xlist'")

    for name in ("drawing.readfile", "drawing.recover.readfile", "drawing.factory.load"):
        monkeypatch.setattr(f"laserpath.design.dxf.{name}", fails)
    with pytest.raises(InputError, match="cannot be repaired: open it in a CAD program") as error:
        read(dxf(triangle), "a", READING)
    assert not re.search(INTERNAL, str(error.value))
