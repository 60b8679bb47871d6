"""GDSII and OASIS files that cannot be read: one clear sentence each, and the process never crashes."""

from __future__ import annotations

import os
import random
import re
import struct
from pathlib import Path
from typing import Any

import gdstk
import pytest
from refusals import refusal
from same_shape_cad import as_gds, written
from sets import one_fast

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.design import gds as reader
from laserpath.design.gds import read
from laserpath.design.reading import Reading

GDS, OASIS = as_gds(), as_gds(oasis=True)


def record(kind: int, data: bytes = b"") -> bytes:
    """A GDSII record. kind: its number and type of data, as 0x0206."""
    return struct.pack(">HH", 4 + len(data), kind) + data


def real(mantissa: int, exponent: int) -> bytes:
    """mantissa / 2⁵⁶ · 16^exponent in GDSII's own floating point."""
    return bytes([64 + exponent]) + mantissa.to_bytes(7, "big")


UNIT = real(0x4189374BC6A7F0, 0) + real(0x44B82FA09B5A54, -7)  # 0.001 user units, 1e-9 m


def gds(*elements: bytes, units: bytes = UNIT, name: bytes = b"TOP\0") -> bytes:
    """A library of one cell with these elements, record by record."""
    head = (
        record(0x0002, b"\2\x58")
        + record(0x0102, bytes(24))
        + record(0x0206, b"LIB\0")
        + record(0x0305, units)
    )
    cell = record(0x0502, bytes(24)) + record(0x0606, name) + b"".join(elements) + record(0x0700)
    return head + cell + record(0x0400)


def boundary(*points: tuple[int, int]) -> bytes:
    xy = b"".join(struct.pack(">ii", *p) for p in points)
    return (
        record(0x0800)
        + record(0x0D02, b"\0\1")
        + record(0x0E02, b"\0\0")
        + record(0x1003, xy)
        + record(0x1100)
    )


def place(name: bytes, xy: tuple[int, int] = (0, 0)) -> bytes:
    return record(0x0A00) + record(0x1206, name) + record(0x1003, struct.pack(">ii", *xy)) + record(0x1100)


def array_of_itself(columns: int, rows: int) -> bytes:
    xy = struct.pack(">6i", 0, 0, 1000, 0, 0, 1000)
    return (
        record(0x0B00)
        + record(0x1206, b"TOP\0")
        + record(0x1302, struct.pack(">hh", columns, rows))
        + record(0x1003, xy)
        + record(0x1100)
    )


SQUARE = boundary((0, 0), (1000, 0), (1000, 1000), (0, 1000), (0, 0))


def build(draw: Any, oasis: bool = False) -> bytes:
    library = gdstk.Library(unit=1e-3, precision=1e-9)
    draw(library, library.new_cell("TOP"))
    return written(library, oasis)


def circular(library: Any, top: Any) -> None:
    other = library.new_cell("OTHER")
    top.add(gdstk.Reference(other), gdstk.rectangle((0, 0), (1, 1)))
    other.add(gdstk.Reference(top))


def array(columns: int, rows: int, pitch: float = 2.0) -> Any:
    def draw(library: Any, top: Any) -> None:
        cell = library.new_cell("A")
        cell.add(gdstk.rectangle((0, 0), (1, 1)))
        top.add(gdstk.Reference(cell, columns=columns, rows=rows, spacing=(pitch, pitch)))

    return draw


def laughing(library: Any, top: Any) -> None:
    cell = library.new_cell("C0")
    cell.add(gdstk.rectangle((0, 0), (1, 1)))
    for k in range(1, 30):
        above = library.new_cell(f"C{k}")
        above.add(gdstk.Reference(cell, columns=10, rows=1, spacing=(1, 1)))
        cell = above
    top.add(gdstk.Reference(cell))


FILES = {
    "noise": (random.Random(0).randbytes(5000), "neither GDSII nor OASIS"),
    "noise between header and end": (GDS[:6] + random.Random(0).randbytes(900) + record(0x0400), "damaged"),
    "noise in OASIS": (OASIS[:30] + random.Random(0).randbytes(900) + b"\2" + bytes(255), "damaged|unit"),
    "cut after the header": (GDS[:6], "cut off"),
    "cut in a record": (GDS[: len(GDS) // 2], "cut off"),
    "cut at a record": (GDS[:-4], "cut off"),
    "OASIS, cut": (OASIS[:-1], "cut off"),
    "OASIS, cut at a third": (OASIS[: len(OASIS) // 3], "cut off"),
    "OASIS, only its name": (b"%SEMI-OASIS\r\n", "cut off"),
    "no cell": (written(gdstk.Library()), "there is no cell in it"),
    "no polygon": (build(lambda library, top: top.add(gdstk.Label("x", (0, 0)))), "no polygon in cell 'TOP'"),
    "no area": (gds(boundary((0, 0), (1000, 0), (500, 0), (0, 0))), "no polygon on layer 1/0 .* has an area"),
    "missing cell": (gds(place(b"GONE")), "'TOP' places a cell 'GONE' that is not in the file"),
    "missing cell, OASIS": (
        build(lambda library, top: top.add(gdstk.Reference("GONE")), oasis=True),
        "'TOP' places a cell 'GONE' that is not in the file",
    ),
    "in a circle": (build(circular), "contain each other in a circle: .* in 'TOP'"),
    "unit 0": (gds(SQUARE, units=bytes(16)), "database unit is 0 mm"),
    "unit of 1e20 m": (gds(SQUARE, units=real(1 << 52, 0) + real(1 << 52, 18)), "database unit is"),
    "far away": (
        gds(boundary((0, 0), (2**31 - 1, 0), (0, 2**31 - 1)), units=real(1 << 52, 0) + real(1 << 52, -2)),
        "farther than 100 m",
    ),
    "10⁹ squares": (build(array(32000, 32000)), "1 024 000 000 polygons or more, but 3 000 000 is the limit"),
    "columns and rows of -1, 2⁶⁴ - 1 to gdstk": (
        gds(SQUARE, array_of_itself(-1, -1)), "its cells hold about 10\\^39 polygons or more"),
    "10³⁰ squares": (build(laughing), "holds about 10\\^29 shapes, but 3 000 000 is the limit$"),
    "everything on everything": (build(array(300, 300, pitch=0.001)), "takes more than 1 s"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("how", one_fast(["forking", "as it is"], "forking"))
@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_one_sentence_that_names_it(
    case: str, how: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """In a fork of this process, and in the subprocess that a plan has, which takes longer to start."""
    if how == "forking":
        request.getfixturevalue(how)
    content, words = FILES[case]
    with limits.limits(seconds=1 if "takes more" in words else 5):
        assert re.search(words, refusal(tmp_path / "bad.gds", content))


@pytest.mark.usefixtures("forking")
def test_records_by_hand_are_read() -> None:
    """The good file is read, so that those above fail for the intended reason."""
    design = read(gds(SQUARE), "square", Reading(0.001))
    assert design.bounds == pytest.approx((0, 0, 0.001, 0.001))
    assert read(gds(SQUARE) + bytes(2000), "tape", Reading(0.001)).area.equals(design.area)


@pytest.mark.usefixtures("forking")
def test_a_box_is_a_polygon() -> None:
    box = SQUARE.replace(record(0x0800), record(0x2D00)).replace(
        record(0x0E02, b"\0\0"), record(0x2E02, b"\0\0")
    )
    assert read(gds(box), "box", Reading(0.001)).area.area == pytest.approx(1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("forking")
def test_names_with_control_characters_stay_on_one_line() -> None:
    design = read(gds(SQUARE, name=b"A\nB\0"), "name", Reading(0.001))
    assert "\n" not in design.source[0]


@pytest.mark.slow
def test_limits_are_checked_before_anything_is_made() -> None:
    some = "'TOP' holds 100 shapes, but 99 is the limit: --limit shapes=100 raises it"
    with limits.limits(shapes=99), pytest.raises(InputError, match=some):
        read(build(array(10, 10)), "many", Reading(0.001))
    some = "reading takes about 1102 MiB of memory, but 1024 MiB is the limit: split the file, or"
    with limits.limits(shapes=1e8, memory=1 << 30), pytest.raises(InputError, match=some):
        read(build(array(1700, 1700)), "many", Reading(0.001))


def test_a_reader_that_takes_too_long_is_stopped() -> None:
    some = (
        r"than 0\.001 s, which is the limit: split the design, or --limit seconds=1 raises it, but more may"
    )
    with limits.limits(seconds=0.001), pytest.raises(InputError, match=some):
        read(GDS, "slow", Reading(0.001))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_a_reader_that_crashes_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(reader, "_EXTRACT", crash)
    with pytest.raises(InputError, match="gdstk stopped at it with signal 11"):
        read(GDS, "crash", Reading(0.001))


@pytest.mark.slow
def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    read(GDS, "good", Reading(0.001))
    with pytest.raises(InputError):
        read(gds(place(b"GONE")), "bad", Reading(0.001))
    assert list(tmp_path.iterdir()) == []


def test_a_full_temporary_folder_is_not_the_files_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    full = tmp_path / "full.py"
    full.write_text("import errno, os\nraise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n")
    monkeypatch.setattr(reader, "_EXTRACT", full)
    with pytest.raises(InputError, match=r"no temporary folder can be used.*No space left"):
        reader.table(b"", 1.0)
