"""Entities of a DXF that are no outlines: left out with one sentence that counts them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from same_shape_cad import Draw, dxf, text

from laserpath.base.errors import InputError
from laserpath.design.dxf import read
from laserpath.design.reading import Reading
from laserpath.types import Design

TOLERANCE = 0.002


def drawn(draw: Draw, **how: Any) -> Design:
    return read(dxf(draw), "test", Reading(TOLERANCE, **how))


def everything(document: Any, model: Any) -> None:
    """A disc, and beside it entities of CAD programs that have no shape."""
    model.add_circle((0, 0), 1)
    model.add_text("a label")
    model.add_text("another", dxfattribs={"layer": "Notes"})
    model.add_mtext("a note")
    model.add_attdef("TAG", (0, 0), "value")
    model.add_point((50, 50))
    model.add_linear_dim((0, 3), (0, 0), (3, 0), dxfattribs={"layer": "Dim"}).render()
    model.add_leader([(0, 0), (5, 5)])
    model.add_image(document.add_image_def("a.png", (9, 9)), (0, 0), (1, 1))
    model.add_wipeout([(0, 0), (9, 9)])
    model.add_xline((0, 0), (1, 0))
    model.add_ray((0, 0), (1, 0))
    with model.add_mesh().edit_data() as mesh:
        mesh.vertices, mesh.faces = [(0, 0, 0), (9, 0, 0), (9, 9, 9)], [(0, 1, 2)]
    block = document.blocks.new("B")
    block.add_attdef("NAME", (0, 0))  # a template: nothing of it is drawn
    reference = model.add_blockref("B", (20, 0))
    reference.add_attrib("NAME", "shown", (0, 0))
    reference.add_attrib("HIDDEN", "not shown", (0, 0)).is_invisible = True


def test_what_is_no_outline_is_counted_by_kind_in_one_sentence() -> None:
    design = drawn(everything)
    assert design.area.area == pytest.approx(math.pi, abs=0.01)
    (warning,) = design.warnings
    for part in (
        "2 TEXT, ", "1 MTEXT", "1 ATTDEF", "1 ATTRIB", "1 POINT", "1 DIMENSION", "1 LEADER", "1 IMAGE",
        "1 WIPEOUT", "1 XLINE", "1 RAY", "1 MESH",
        "are left out, because they are not outlines: explode in the CAD program",
    ):  # fmt: skip
        assert part in warning, part


def test_solids_and_regions_are_left_out() -> None:
    common = "100 AcDbEntity; 8 0; 100 AcDbModelerGeometry; 70 1"
    kinds = "; ".join(f"0 {kind}; {common}" for kind in ("3DSOLID", "REGION", "BODY"))
    design = read(text(f"0 CIRCLE; 8 0; 10 0; 20 0; 40 1; {kinds}"), "test", Reading(TOLERANCE))
    assert design.area.area == pytest.approx(math.pi, abs=0.01)
    assert "1 3DSOLID, 1 REGION and 1 BODY are left out" in design.warnings[0]


def test_layers_that_do_not_count_give_no_warning() -> None:
    assert drawn(everything, layers=("0",)).warnings[0].startswith("1 TEXT")
    with pytest.raises(InputError, match=r"nothing on layer 'notes' encloses an area \(1 TEXT is left out"):
        drawn(everything, layers=("notes",))


def test_text_in_a_block_counts_as_often_as_the_block_is_placed() -> None:
    def draw(document: Any, model: Any) -> None:
        block = document.blocks.new("B")
        block.add_mtext("Hi")
        block.add_circle((0, 0), 1)
        model.add_blockref("B", (0, 0), {"column_count": 3, "column_spacing": 10})

    design = drawn(draw)
    assert design.area.area == pytest.approx(3 * math.pi, abs=0.05)
    assert design.warnings[0].startswith("3 MTEXT are left out")


def test_a_block_that_is_not_there_is_left_out() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_circle((0, 0), 1)
        model.add_blockref("NUT", (0, 0))

    design = drawn(draw)
    assert design.area.area == pytest.approx(math.pi, abs=0.01)
    assert design.warnings == ("block 'NUT' is placed on layer '0', but is not in the file: left out",)


def test_a_damaged_entity_is_left_out_by_name() -> None:
    spline = (
        "0 SPLINE; 5 6E; 100 AcDbEntity; 8 0; 100 AcDbSpline; 70 8; 71 3; 73 4; 40 0; 40 0; 40 1; 40 1"
        + "; 10 {}; 20 0; 30 0" * 4
    )
    data = text(f"0 CIRCLE; 8 0; 10 0; 20 0; 40 1; {spline.format(0, 1, 2, 3)}")
    design = read(data, "test", Reading(TOLERANCE))
    assert design.area.area == pytest.approx(math.pi, abs=0.01)
    assert any("SPLINE #6E is damaged: " in warning for warning in design.warnings)


def test_a_flat_3dface_is_filled() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_3dface([(0, 0, 5), (4, 0, 5), (4, 3, 5), (0, 3, 5)])
        model.add_3dface([(10, 0), (14, 0), (10, 3), (10, 3)])
        model.add_3dface([(0, 0, 0), (4, 0, 0), (4, 0, 5), (0, 0, 5)])  # upright: nothing is seen of it

    design = drawn(draw)
    assert design.area.area == pytest.approx(12 + 6)
    assert design.warnings == ()


def test_of_a_drawing_on_paper_alone_the_fullest_sheet_is_read() -> None:
    def draw(document: Any, _: Any) -> None:
        document.layout("Layout1").add_point((0, 0))
        sheet = document.layouts.new("Plate")
        sheet.add_circle((0, 0), 1)
        sheet.add_text("Hi")

    design = drawn(draw)
    assert design.area.area == pytest.approx(math.pi, abs=0.01)
    assert design.warnings[0] == "the model space is empty: paper space 'Plate' is read in its place"


def test_a_file_that_lacks_its_last_line_alone_is_read() -> None:
    data = dxf(lambda _, m: m.add_circle((0, 0), 1))
    design = read(
        data[: data.rindex(b"  0\r\nEOF" if b"\r\n" in data else b"  0\nEOF")], "test", Reading(TOLERANCE)
    )
    assert design.area.area == pytest.approx(math.pi, abs=0.01)
    assert "does not finish with EOF" in design.warnings[0]
    more = read(data + b"trailing words\n", "test", Reading(TOLERANCE))
    assert more.area.equals(design.area)


@pytest.mark.parametrize(("measurement", "size"), [(0, 50.8), (1, 2.0)])
def test_without_a_unit_imperial_measures_are_inches(measurement: int, size: float) -> None:
    def draw(document: Any, model: Any) -> None:
        document.header["$MEASUREMENT"] = measurement
        model.add_circle((0, 0), 1)

    design = read(dxf(draw, units=0), "test", Reading(TOLERANCE))
    assert design.size == pytest.approx((size, size), abs=2 * TOLERANCE)
    assert "names no unit" in design.warnings[0]
    assert read(dxf(draw, units=0), "test", Reading(TOLERANCE, unit="mm")).size[0] == pytest.approx(
        2, abs=0.01
    )


def test_metres_that_make_a_drawing_too_large_are_mm() -> None:
    design = read(dxf(lambda _, m: m.add_circle((0, 0), 60), units=6), "test", Reading(TOLERANCE))
    assert design.size == pytest.approx((120, 120), abs=0.01)
    assert "would be 120 m large, drawn in metres, as its header says: mm are assumed" in design.warnings[0]
    kept = read(dxf(lambda _, m: m.add_circle((0, 0), 4), units=6), "test", Reading(TOLERANCE))
    assert kept.size == pytest.approx((8000, 8000), abs=0.01)


def test_a_drawing_in_coordinates_of_a_map_is_moved_to_the_origin() -> None:
    def draw(_: Any, model: Any) -> None:
        model.add_lwpolyline([(3.5e8, 5e9), (3.5e8 + 4, 5e9), (3.5e8, 5e9 + 3)], close=True)

    design = drawn(draw)
    assert design.bounds == pytest.approx((0, 0, 4, 3), abs=1e-5)
    assert design.area.area == pytest.approx(6, abs=1e-5)
    assert "350000, 5e+06 m from the origin, and is moved there" in design.warnings[0]
