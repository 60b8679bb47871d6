"""DXF files that cannot be read: one clear sentence each, and no other file is opened."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from ezdxf import xref
from listening import listening
from refusals import refusal
from same_shape_cad import as_dxf, dxf, text

from laserpath.base.errors import InputError
from laserpath.base.limits import limits
from laserpath.design import load
from laserpath.design.dxf import read
from laserpath.design.reading import Reading

GOOD = as_dxf()
BINARY = as_dxf(binary=True)
CIRCLE = "0 CIRCLE; 8 0; 10 {x}; 20 0; 40 {r}"


def circle(x: str = "0", r: str = "1") -> bytes:
    return text(CIRCLE.format(x=x, r=r))


def nested(depth: int, columns: int = 1) -> bytes:
    """Blocks in blocks, each placing the one below in a row."""

    def draw(drawing: Any, model: Any) -> None:
        drawing.blocks.new("B0").add_circle((0, 0), 1)
        for k in range(depth):
            array = {"column_count": columns, "column_spacing": 1}
            drawing.blocks.new(f"B{k + 1}").add_blockref(f"B{k}", (0, 0), array)
        model.add_blockref(f"B{depth}", (0, 0))

    return dxf(draw)


def circular(drawing: Any, model: Any) -> None:
    drawing.blocks.new("A").add_blockref("B", (0, 0))
    drawing.blocks.new("B").add_blockref("a", (0, 0))
    model.add_blockref("A", (0, 0))


SHARP = [(0, 0, 1, 0.5), (1e9, 0, 1, 0.5), (0, 1, 1, 0.5)]

FILES = {
    "noise": (random.Random(0).randbytes(4000), "is not DXF"),
    "no end of the last section": (GOOD[: GOOD.rindex(b"ENDSEC") - 2], "cut off"),
    "cut at a third": (GOOD[: len(GOOD) // 3], "cut off"),
    "cut in the last line": (GOOD.rstrip()[:-1], "cut off"),
    "binary, cut": (BINARY[: len(BINARY) // 2], "cut off"),
    "binary, noise": (BINARY[:22] + random.Random(0).randbytes(500) + b"EOF\0", "damaged"),
    "nothing": (dxf(lambda d, m: None), "the design is empty"),
    "only a picture": (
        dxf(lambda d, m: m.add_image(d.add_image_def("a.png", (9, 9)), (0, 0), (1, 1))),
        "1 IMAGE is left out, because it is not an outline",
    ),
    "missing block": (dxf(lambda d, m: m.add_blockref("NUT", (0, 0))), "block 'NUT' .* is not in the file"),
    "only a reference": (
        dxf(lambda d, m: (xref.define(d, "X", "plan.dxf"), m.add_blockref("X", (0, 0)))),
        "external reference 'plan.dxf' .* never read",
    ),
    "circular blocks": (dxf(circular), "block 'a' contains itself"),
    "deep": (nested(150), "nested more than 100 deep"),
    "many": (nested(9, 10), "reading takes about 9155 MiB of memory, but .* is the limit: split the file"),
    "huge array": (
        dxf(
            lambda d, m: (
                d.blocks.new("B").add_circle((0, 0), 1),
                m.add_blockref(
                    "B",
                    (0, 0),
                    {"column_count": 30000, "row_count": 30000, "column_spacing": 1, "row_spacing": 1},
                ),
            )
        ),
        "repeats a block 900 000 000 times, but 3 000 000 is the limit",
    ),
    "NaN": (circle(r="nan"), "damaged|not finite|reaches"),
    "infinity": (circle(x="inf"), "damaged|not finite|reaches"),
    "1e300": (circle(x="1e300"), "farther than 100 m"),
    "1e12": (circle(x="1e12"), "farther than 100 m"),
    "a radius of 1e12": (circle(r="1e12"), "farther than 100 m"),
    "metres": (dxf(lambda d, m: m.add_circle((5e9, 0), 9), units=6), "farther than 100 m.*check the unit"),
    "a wide line without end": (
        dxf(lambda d, m: m.add_lwpolyline(SHARP, format="xysb")),
        "LWPOLYLINE #.* is longer than 100 m",
    ),
    "a spline without end": (
        dxf(lambda d, m: m.add_spline_control_frame([(0, 0), (1e14, 1e13), (-1e14, 5), (0, 1)])),
        "more than 100000 straight pieces",
    ),
    "light years": (dxf(lambda d, m: m.add_circle((0, 0), 1), units=19), "is 19, which is not a known unit"),
    "no number": (circle(x="abc"), "damaged"),
    "no group code": (GOOD.replace(b"ENTITIES", b"ENTITIES\nxyz", 1), "damaged"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_one_sentence_that_names_it(case: str, tmp_path: Path) -> None:
    content, words = FILES[case]
    assert re.search(words, refusal(tmp_path / "bad.dxf", content))


@pytest.mark.slow
def test_more_entities_than_can_be_read_are_refused_before_they_are() -> None:
    data = text("\n".join(["0\nPOINT\n8\n0"] * 500_001))
    some = "reading takes about 1907 MiB of memory, but 1024 MiB is the limit: split the file, or --limit"
    with limits(memory=1 << 30), pytest.raises(InputError, match=some):
        read(data, "many", Reading(0.01))


def test_a_million_shapes_are_bounded() -> None:
    some = "there would be more than 999 curves, which is the limit: --limit shapes=2000"
    with limits(shapes=999), pytest.raises(InputError, match=some):
        read(nested(3, 10), "many", Reading(0.01))


def test_a_repair_gives_a_warning() -> None:
    """A group code with an extra letter: ezdxf's recovery reads its number."""
    broken = GOOD.replace(b"AcDbCircle\n 10\n", b"AcDbCircle\n 10x\n", 1)
    assert broken != GOOD
    design = read(broken, "broken", Reading(0.01))
    assert design.area.equals(read(GOOD, "good", Reading(0.01)).area)
    assert any("was repaired, look at the result" in warning for warning in design.warnings)


def test_old_text_encodings_are_fine() -> None:
    data = dxf(lambda d, m: m.add_circle((0, 0), 1, {"layer": "Fräsen µ"}), version="R2000")
    assert b"Fr\xe4sen" in data
    design = read(data, "old", Reading(0.01, layers=("fräsen µ",)))
    assert design.area.area == pytest.approx(3.14, abs=0.05)


def test_no_file_that_a_drawing_names_is_opened(tmp_path: Path) -> None:
    other, picture = tmp_path / "other.dxf", tmp_path / "picture.png"
    other.write_bytes(dxf(lambda d, m: m.add_circle((0, 0), 50)))
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")

    def draw(drawing: Any, model: Any) -> None:
        model.add_circle((0, 0), 1)
        xref.define(drawing, "X", str(other))
        model.add_blockref("X", (0, 0))
        model.add_image(drawing.add_image_def(str(picture), (9, 9)), (0, 0), (1, 1))
        model.add_underlay(drawing.add_underlay_def(str(tmp_path / "sheet.pdf"), "pdf", "1"))

    path = tmp_path / "names.dxf"
    path.write_bytes(dxf(draw))
    with listening("open") as opened:
        design = load(path, tolerance=0.01)
    assert any(str(path) in event for event in opened)
    assert not [event for event in opened for one in (other, picture, "sheet.pdf") if str(one) in event]
    assert all(kind in " ".join(design.warnings) for kind in (str(other), "IMAGE", "PDFUNDERLAY"))
