"""Every reader and every kind of bad input: one sentence, and nothing written.

The table is FORMATS; a format that is added there is put through all of it. What is particular to one format
is in its own tests.
"""

from __future__ import annotations

import io
import json
import random
import resource
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gdstk
import in_process
import numpy as np
import pytest
from pace_of_machine import unit
from PIL import Image
from refusals import refusal
from same_shape import as_geojson, as_gerber, as_png, as_svg, as_wkt
from same_shape_cad import as_dxf, as_gds, dxf, text, written
from sets import one_fast

from laserpath.base.errors import InputError
from laserpath.cli import main
from laserpath.design import load, suffixes
from laserpath.types import Design

pytestmark = in_process.HERE

TOLERANCE = 0.002
NAN, BOW = "nan", [(0, 0), (4, 4), (4, 0), (0, 4)]
"""A ring that crosses itself in its middle; it encloses 8 mm² by either rule."""

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{0}mm" height="{0}mm" viewBox="0 0 {0} {0}">{1}</svg>'
GERBER = "%FSLAX46Y46*%\n%MOMM*%\n%ADD10C,{width}*%\n%LPD*%\n{body}\nM02*\n"


@dataclass(frozen=True)
class Format:
    """What a reader gets. good: a drawing.  gigantic, nan: with such a coordinate; None: it cannot have one.

    crossing: BOW.  million: that many shapes.  refers: to a file beside it, and what it draws itself, mm²;
    None: it cannot.
    """

    suffixes: tuple[str, ...]
    good: Callable[[], bytes]
    gigantic: Callable[[], bytes]
    nan: Callable[[], bytes] | None
    crossing: Callable[[], bytes] | None
    million: Callable[[], bytes]
    refers: Callable[[str], bytes] | None = None


def svg(body: str, size: float = 10) -> bytes:
    return SVG.format(size, body).encode()


def svg_ring(points: list[tuple[Any, Any]]) -> bytes:
    return svg('<polygon points="' + " ".join(f"{x},{y}" for x, y in points) + '"/>')


def dxf_circle(x: str) -> bytes:
    return text(f"0 CIRCLE; 8 0; 10 {x}; 20 0; 40 1")


def gds(points: list[tuple[float, float]], unit: float = 1e-3, oasis: bool = False) -> bytes:
    """unit: m."""
    library = gdstk.Library(unit=unit, precision=unit / 1000)
    library.new_cell("TOP").add(gdstk.Polygon(points))
    return written(library, oasis)


def gerber(body: str, width: Any = 1) -> bytes:
    return GERBER.format(width=width, body=body).encode()


def gerber_ring(points: list[tuple[float, float]]) -> bytes:
    at = [f"X{round(x * 1e6)}Y{round(y * 1e6)}" for x, y in (*points, points[0])]
    return gerber("\n".join(["G36*", f"{at[0]}D02*", "G01*", *(f"{one}D01*" for one in at[1:]), "G37*"]))


def picture(pixels: Any, kind: str = "PNG", **how: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **how)
    return out.getvalue()


def huge_png() -> bytes:
    """One that says that it has 10⁵ × 10⁵ pixels, packed into a hundred bytes."""
    data = bytearray(picture(np.zeros((4, 4), dtype=np.uint8)))
    data[16:24] = (100_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


def nan_tiff() -> bytes:
    pixels = np.zeros((20, 20), dtype=np.float32)
    pixels[5, 5] = np.nan
    return picture(pixels, "TIFF", dpi=(254, 254))


def geojson_ring(points: list[tuple[float, float]]) -> bytes:
    return json.dumps({"type": "Polygon", "coordinates": [[*points, points[0]]]}).encode()


def wkt_ring(points: list[tuple[Any, Any]]) -> bytes:
    return f"POLYGON (({', '.join(f'{x} {y}' for x, y in (*points, points[0]))}))".encode()


def grid(n: int) -> list[tuple[int, int]]:
    side = round(n**0.5)
    return [(k % side, k // side) for k in range(n)]


def a_million() -> list[tuple[int, int]]:
    return grid(1_000_000)


def gds_million(oasis: bool = False) -> bytes:
    library = gdstk.Library()
    cell = library.new_cell("TOP")
    cell.add(*(gdstk.rectangle((x, y), (x + 0.5, y + 0.5)) for x, y in a_million()))
    return written(library, oasis)


def dots(kind: str) -> bytes:
    pixels = np.full((2000, 2000), 255, dtype=np.uint8)
    pixels[::2, ::2] = 0
    return picture(pixels, kind, dpi=(2540, 2540))


FAR = [(0, 0), (1e30, 0), (0, 1)]
NOWHERE: list[tuple[Any, Any]] = [(0, 0), (NAN, 0), (0, 1)]

FORMATS = {
    "SVG": Format(
        (".svg", ".svgz"),
        as_svg,
        lambda: svg_ring(FAR),
        lambda: svg_ring(NOWHERE),
        lambda: svg_ring(BOW),
        lambda: svg("".join(f'<rect x="{x}" y="{y}" width=".5" height=".5"/>' for x, y in a_million()), 1000),
        lambda path: svg(f'<image href="{path}" width="9" height="9"/><use href="{path}#a"/>'),
    ),
    "DXF": Format(
        (".dxf",),
        as_dxf,
        lambda: dxf_circle("1e30"),
        lambda: dxf_circle(NAN),
        lambda: dxf(lambda drawing, model: model.add_lwpolyline(BOW, close=True)),
        lambda: text("; ".join(f"0 CIRCLE; 8 0; 10 {x}; 20 {y}; 40 .3" for x, y in a_million())),
        lambda path: dxf(lambda drawing, model: model.add_image(
            drawing.add_image_def(path, (10, 10)), (0, 0), (9, 9)
        )),
    ),
    "GDSII": Format(
        (".gds", ".gdsii"),
        as_gds,
        lambda: gds([(0, 0), (2e6, 0), (0, 1)], unit=1.0),
        None,
        lambda: gds(BOW),
        gds_million,
    ),
    "OASIS": Format(
        (".oas", ".oasis"),
        lambda: as_gds(oasis=True),
        lambda: gds([(0, 0), (2e6, 0), (0, 1)], unit=1.0, oasis=True),
        None,
        lambda: gds(BOW, oasis=True),
        lambda: gds_million(oasis=True),
    ),
    "Gerber": Format(
        (".gbr", ".ger", ".gtl", ".gbl", ".gts", ".gbs", ".gto", ".gbo", ".gko", ".gm1"),
        as_gerber,
        lambda: gerber("D10*\nX0Y0D03*", width="1" + "0" * 30),
        lambda: gerber("D10*\nX0Y0D03*", width=NAN),
        lambda: gerber_ring(BOW),
        lambda: gerber("D10*\n" + "\n".join(f"X{x}000000Y{y}000000D03*" for x, y in a_million()), width=0.5),
        lambda path: gerber(f"%IF{path}*%\nD10*\nX0Y0D03*"),
    ),
    "PNG": Format((".png",), lambda: as_png(40), huge_png, None, None, lambda: dots("PNG")),
    "TIFF": Format(
        (".tif", ".tiff"),
        lambda: picture(np.kron(np.eye(2), np.full((9, 9), 255)).astype(np.uint8), "TIFF", dpi=(254, 254)),
        lambda: picture(np.zeros((9, 200_000), dtype=np.uint8), "TIFF", dpi=(0.0254, 0.0254)),
        nan_tiff,
        None,
        lambda: dots("TIFF"),
    ),
    "GeoJSON": Format(
        (".geojson", ".json"),
        as_geojson,
        lambda: geojson_ring(FAR),
        lambda: geojson_ring([(0, 0), (float("nan"), 0), (0, 1)]),
        lambda: geojson_ring(BOW),
        lambda: json.dumps({"type": "MultiPolygon", "coordinates": [
            [[[x, y], [x + 0.5, y], [x, y + 0.5], [x, y]]] for x, y in a_million()
        ]}).encode(),
        lambda path: json.dumps({"type": "Topology", "href": path, "$ref": path}).encode(),
    ),
    "WKT": Format(
        (".wkt",),
        as_wkt,
        lambda: wkt_ring(FAR),
        lambda: wkt_ring(NOWHERE),
        lambda: wkt_ring(BOW),
        lambda: ("MULTIPOLYGON (" + ", ".join(
            f"(({x} {y}, {x}.5 {y}, {x} {y}.5, {x} {y}))" for x, y in a_million()
        ) + ")").encode(),
    ),
}  # fmt: skip
"""By name; each file is made when a test wants it."""


@cache
def good(name: str) -> bytes:
    return FORMATS[name].good()


def encrypted_zip() -> bytes:
    """A zip whose entries are marked as encrypted."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("design.svg", as_svg())
    data = bytearray(out.getvalue())
    data[6] |= 1  # bit 0 of the flags of the local header
    return bytes(data)


NOISE = random.Random(0).randbytes(20_000)
NOT_DESIGNS = {
    "empty": b"",
    "blank": b" \r\n\t\n",
    "zeros": bytes(5000),
    "noise": NOISE,
    "an encrypted zip": encrypted_zip(),
    "an encrypted PDF": b"%PDF-1.7\n1 0 obj\n<< /Filter /Standard /V 4 >>\nstream\n" + NOISE + b"\nendstream",
    "a PGP message": b"-----BEGIN PGP MESSAGE-----\n\njA0EBwMC\n=abcd\n-----END PGP MESSAGE-----\n",
    "OpenSSL": b"Salted__" + NOISE,
    "a program": b"\x7fELF\x02\x01\x01" + bytes(9) + NOISE,
    "gzip": b"\x1f\x8b\x08\x00" + NOISE,
    "a JPEG": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + NOISE,
    "prose": b"Sehr geehrte Damen und Herren,\nanbei die Zeichnung.\n",
    "prose in UTF-16": "Sehr geehrte Damen und Herren\n".encode("utf-16"),
    "HTML": b"<!DOCTYPE html><html><body><p>404 Not Found</p></body></html>",
    "an empty object": b"{}",
}
"""None of them is a design in any format."""


def write(folder: Path, name: str, suffix: str, data: bytes) -> Path:
    path = folder / f"{name}{suffix}"
    path.write_bytes(data)
    return path


def test_every_suffix_is_in_the_table() -> None:
    assert sorted(s for format_ in FORMATS.values() for s in format_.suffixes) == sorted(suffixes())


@pytest.mark.parametrize("name", FORMATS)
def test_the_good_file_is_good(name: str, tmp_path: Path) -> None:
    for suffix in FORMATS[name].suffixes:
        assert load(write(tmp_path, "good", suffix, good(name)), tolerance=TOLERANCE).area.area > 1
        assert load(write(tmp_path, "good", suffix.upper(), good(name)), tolerance=TOLERANCE).area.area > 1


CASES, SUFFIXES = list(NOT_DESIGNS), suffixes()
DIAGONAL = {
    (CASES[k % len(CASES)], SUFFIXES[k % len(SUFFIXES)]) for k in range(max(len(CASES), len(SUFFIXES)))
}
"""Of the cross of cases and suffixes those that are fast: each case and each suffix at least once."""


@pytest.mark.parametrize(
    ("case", "suffix"),
    [
        pytest.param(case, suffix, marks=[] if (case, suffix) in DIAGONAL else [pytest.mark.slow])
        for case in CASES
        for suffix in SUFFIXES
    ],
)
def test_what_is_no_design_is_one_sentence(case: str, suffix: str, tmp_path: Path) -> None:
    refusal(tmp_path / f"bad{suffix}", NOT_DESIGNS[case])


@cache
def read_rightly(name: str) -> Design:
    """The drawing of a format under its own suffix."""
    with TemporaryDirectory() as folder:
        return load(write(Path(folder), "good", FORMATS[name].suffixes[0], good(name)), tolerance=TOLERANCE)


NAMES = tuple(FORMATS)
ENDINGS = (*(known.suffixes[0] for known in FORMATS.values()), ".zip", ".bmp", "")
UNDER = [(ENDINGS[(k + step) % len(ENDINGS)], name) for k, name in enumerate(NAMES) for step in (1, 3, 9)]
"""Every format under the suffixes of two others, or none of a format."""


@pytest.mark.parametrize("case", one_fast(product(ENDINGS, NAMES), *UNDER), ids=str)
def test_the_content_counts_and_not_the_suffix(case: tuple[str, str], tmp_path: Path) -> None:
    """It is read as what it is, and says so."""
    suffix, name = case
    design = load(write(tmp_path, "other", suffix, good(name)), tolerance=TOLERANCE)
    assert design.area.equals(read_rightly(name).area)
    own = suffix in FORMATS[name].suffixes
    assert design.source[0] == f"from other{suffix}" + ("" if own else f", which is {name}")


@pytest.mark.parametrize("tenth", range(1, 10))
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_cut_off(name: str, tenth: int, tmp_path: Path) -> None:
    data = good(name)
    refusal(tmp_path / f"cut{FORMATS[name].suffixes[0]}", data[: len(data) * tenth // 10])


@pytest.mark.parametrize("name", FORMATS)
def test_gigantic_coordinates(name: str, tmp_path: Path) -> None:
    refusal(tmp_path / f"far{FORMATS[name].suffixes[0]}", FORMATS[name].gigantic())


@pytest.mark.parametrize("name", [name for name, format_ in FORMATS.items() if format_.nan])
def test_not_a_number(name: str, tmp_path: Path) -> None:
    make = FORMATS[name].nan
    assert make is not None
    refusal(tmp_path / f"nan{FORMATS[name].suffixes[0]}", make())


@pytest.mark.parametrize("name", [name for name, format_ in FORMATS.items() if format_.crossing])
def test_a_ring_that_crosses_itself_is_what_it_encloses(name: str, tmp_path: Path) -> None:
    make = FORMATS[name].crossing
    assert make is not None
    design = load(write(tmp_path, "bow", FORMATS[name].suffixes[0], make()), tolerance=TOLERANCE)
    assert design.area.area == pytest.approx(8)
    assert design.area.is_valid


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", [name for name, format_ in FORMATS.items() if format_.refers])
def test_a_file_that_it_refers_to_makes_no_difference(name: str, there: bool, tmp_path: Path) -> None:
    """Whether it is there or missing; that it is not even opened is in the tests of each format."""
    make = FORMATS[name].refers
    assert make is not None
    if there:
        (tmp_path / "other.bin").write_bytes(good(name))
    path = write(tmp_path, "refers", FORMATS[name].suffixes[0], make("other.bin"))
    try:
        design = load(path, tolerance=TOLERANCE)
    except InputError:
        refusal(path, path.read_bytes())
    else:
        assert any("other.bin" in warning or "not" in warning for warning in design.warnings)
        assert design.area.area < 1


MILLION = """
import resource, sys, time
import laserpath
from laserpath.design import load
from laserpath.base.errors import InputError
start = time.process_time()
try:
    with laserpath.limits(memory=3800 << 20):
        shapes = len(load(sys.argv[1], tolerance=0.002).area.geoms)
    assert shapes > 900_000, shapes
except InputError as error:
    print(error)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""

READ = ("Gerber", "PNG", "GeoJSON")
"""Formats of which a million shapes are not refused. Measured 16, 29 and 20 s, and up to 3.7 GiB."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_million_shapes_are_read_or_refused_in_time(name: str, tmp_path: Path) -> None:
    """In a process of its own, whose time (s) and memory (GiB) are counted."""
    path = write(tmp_path, "million", FORMATS[name].suffixes[0], FORMATS[name].million())

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))

    before = unit()
    done = subprocess.run(
        [sys.executable, "-c", MILLION, str(path)], capture_output=True, text=True, check=False,
        preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    *messages, figures = done.stdout.strip().splitlines()
    seconds, gibibytes = map(float, figures.split())
    assert len(messages) <= (0 if name in READ else 1)
    assert seconds < 2000 * max(before, unit())
    assert gibibytes < 4


# On the command line


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case", ["empty", "noise", "cut off"])
def test_the_command_prints_one_sentence_and_writes_nothing(
    case: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = good(name)[: len(good(name)) // 2] if case == "cut off" else NOT_DESIGNS[case]
    path = write(tmp_path, "bad", FORMATS[name].suffixes[0], data)
    with pytest.raises(SystemExit) as stopped:
        main(["plan", path.name, "-o", "out"])
    printed = capsys.readouterr()
    assert stopped.value.code == 2
    assert printed.out == ""
    assert path.name in printed.err
    assert len(printed.err.strip().splitlines()) == 1, printed.err
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [path.name]
