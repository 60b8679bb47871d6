"""The format is detected from the content, whatever a file's suffix and whatever an editor put before it."""

from __future__ import annotations

import gzip
import io
import zipfile
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import in_process
import pytest
from PIL import Image
from same_shape import as_geojson, as_gerber, as_png, as_svg, as_wkt
from same_shape_cad import as_dxf, as_gds

from laserpath.base.errors import InputError
from laserpath.base.limits import limits
from laserpath.cli import main
from laserpath.cli.plan import plan
from laserpath.design import Reading, formats, load, refuse_drawing

pytestmark = in_process.HERE

TOLERANCE = 0.002

EAGLE = """G75*
%MOIN*%
%OFA0B0*%
%FSLAX24Y24*%
%IPPOS*%
%LPD*%
%ADD10C,0.0100*%
D10*
X001000Y001000D02*
X003000Y001000D01*
M02*
"""
DIPTRACE = (
    "%TF.GenerationSoftware,Novarm,DipTrace*%\n%FSLAX35Y35*%\n%MOMM*%\n%ADD10C,0.5*%\nG71*\nG01*\nD10*\n"
    + ("X100000Y100000D02*\nX300000D01*\nM02*\n")
)
COMMENTED = "G04 Made by hand*\nG04 and blank lines*\n\n%FSLAX46Y46*%\n%MOMM*%\n%ADD10C,0.5*%\n" + (
    "D10*\nX0Y0D03*\nM02*\n"
)
LAYERS = ".cmp .sol .stc .sts .plc .pls .pho .art .gdo .Top .Bot .gtp .gbp .gml .g1 .gl2 .GTL .gbr .gm2 .txt"
BOARDS = [*LAYERS.split(), ".1", ""]


def written(folder: Path, name: str, data: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def read(folder: Path, name: str, data: bytes | str):
    return load(written(folder, name, data), tolerance=TOLERANCE)


def picture(kind: str, **options) -> bytes:
    image = Image.new("L", (12, 8), 255)
    image.paste(0, (3, 2, 9, 6))
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def packed(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/"), text)
    return out.getvalue()


@pytest.mark.parametrize("suffix", BOARDS)
@pytest.mark.parametrize("board", [EAGLE, DIPTRACE, COMMENTED], ids=["Eagle", "DipTrace", "comments"])
def test_a_board_is_gerber_whatever_its_layer_is_called(board: str, suffix: str, tmp_path: Path):
    found = read(tmp_path, f"board{suffix}", board)
    assert found.area.area > 0
    assert "Gerber" in " ".join(found.source)


GOOD = {
    "SVG": as_svg,
    "DXF": as_dxf,
    "GDSII": as_gds,
    "Gerber": as_gerber,
    "PNG": lambda: as_png(20),
    "TIFF": lambda: picture("TIFF", dpi=(254, 254)),
    "GeoJSON": as_geojson,
    "WKT": as_wkt,
}


def good(name: str) -> bytes:
    made = GOOD[name]()
    return made.encode() if isinstance(made, str) else made


BEFORE = {
    "a byte order mark": lambda text: "\ufeff".encode() + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "blank lines": lambda text: b"\r\n\n  \n" + text.encode(),
    "a mark and a blank line": lambda text: "\ufeff\n".encode() + text.encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
}


@pytest.mark.parametrize("name", ["SVG", "DXF", "Gerber", "GeoJSON", "WKT"])
@pytest.mark.parametrize("how", BEFORE)
def test_what_an_editor_puts_before_it_changes_nothing(how: str, name: str, tmp_path: Path):
    text = good(name).decode()
    found = read(tmp_path, "drawing.txt", BEFORE[how](text))
    assert found.area.equals(read(tmp_path, "plain.txt", text).area)


@pytest.mark.parametrize(
    "head",
    [
        '<?xml version="1.0" encoding="UTF-8"?>\n<!-- Generator: a drawing program -->\n',
        '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">',
        "<!-- " + "x" * 5000 + " <html> -->\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_an_svg_after_declarations_and_comments(head: str, encoding: str, tmp_path: Path):
    svg = as_svg() if isinstance(as_svg(), str) else as_svg().decode()
    svg = svg[svg.index("<svg") :]
    found = read(tmp_path, "drawing.xml", (head + svg).encode(encoding))
    assert found.area.equals(read(tmp_path, "plain.svg", svg).area)


def test_a_packed_drawing_and_a_packed_chip(tmp_path: Path):
    assert read(tmp_path, "a.svgz", gzip.compress(good("SVG"))).area.area > 1
    assert read(tmp_path, "a.gds.gz", gzip.compress(good("GDSII"))).area.area > 1


def test_a_packed_file_that_is_cut_off_is_refused_as_such(tmp_path: Path):
    with pytest.raises(InputError, match=r"compressed \(gzip\) and is cut off"):
        read(tmp_path, "a.svgz", gzip.compress(good("SVG"))[:-20])


def test_a_packed_file_that_grows_without_end_is_stopped(tmp_path: Path):
    some = "holds more than 1 MiB, which is the limit: --limit bytes=2MiB raises it"
    with limits(bytes=1 << 20), pytest.raises(InputError, match=some):
        read(tmp_path, "a.svgz", gzip.compress(bytes(1 << 22)))


FOREIGN = {
    "JPEG": (picture("JPEG"), "save it as PNG"),
    "BMP": (picture("BMP"), "save it as PNG"),
    "GIF": (picture("GIF"), "save it as PNG"),
    "WebP": (b"RIFF\x24\0\0\0WEBPVP8 " + bytes(30), "save it as PNG"),
    "HEIC": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "save it as PNG"),
    "GIMP": (b"gimp xcf v011\0", "save it as PNG"),
    "Photoshop": (b"8BPS\0\1" + bytes(20), "save it as PNG"),
    "PDF": (b"%PDF-1.7\n1 0 obj\n", "save it as SVG"),
    "PostScript": (b"%!PS-Adobe-3.0 EPSF-3.0\n", "save it as SVG"),
    "CorelDRAW": (b"RIFF\x10\0\0\0CDRAvrsn", "save it as SVG"),
    "DWG": (b"AC1032\0\0\0\0", "save it as DXF"),
    "STL": ("solid cube\n facet normal 0 0 1\n  outer loop\n", "cuts a"),
    "an STL model": (bytes(80) + b"\2\0\0\0" + bytes(100), "cuts a"),
    "3MF": (packed(**{"3D__3dmodel.model": "<model/>"}), "cuts a"),
    "STEP": ("ISO-10303-21;\nHEADER;\n", "cuts a"),
    "OBJ": ("# a cube\no cube\nv 0 0 0\nv 1 0 0\n", "cuts a"),
    "a KiCad board": ("(kicad_pcb (version 20221018)\n", "export the layer as Gerber"),
    "an Eagle board": ('<?xml version="1.0"?><!DOCTYPE eagle SYSTEM "eagle.dtd"><eagle/>', "as Gerber"),
    "drill file": ("M48\n;DRILL file\nMETRIC,TZ\nT1C0.8\n%\nT1\nX1Y1\n", "where holes are"),
    "Excellon": ("%\nM48\nM72\nT01C0.0236\n%\nT01\nX2588Y7000\n", "where holes are"),
    "G-code": ("; a job\nG21\nG90\nM4 S0\nG0 X1 Y1\nG1 X5 S100 F600\n", "laserpath simulate"),
    "board": (packed(**{"board.gbr": EAGLE}), "for one of them alone, unpack it"),
    "ZIP": (packed(**{"letter.txt": "Dear reader"}), "unpack it"),
    "a web page": ("\n<!DOCTYPE html>\n<html><svg></svg></html>", "download the file itself"),
    "a LightBurn project": ('<?xml version="1.0"?>\n<LightBurnProject AppVersion="1.4">', "save it as SVG"),
    "GenCAD": ("$HEADER\nGENCAD 1.4\n", "as Gerber"),
    "CIF": ("(a cell);\nDS 1 1 1;\nB 10 10 0 0;\nDF;\nE\n", "GDSII"),
    "Git LFS": ("version https://git-lfs.github.com/spec/v1\noid sha256:12\n", "git lfs pull"),
}


@pytest.mark.parametrize("suffix", ["", ".svg", ".png", ".gbr", ".dat"])
@pytest.mark.parametrize("what", FOREIGN)
def test_a_foreign_file_says_what_it_is_and_what_to_save(what: str, suffix: str, tmp_path: Path):
    data, mend = FOREIGN[what]
    with pytest.raises(InputError) as error:
        read(tmp_path, f"file{suffix}", data)
    message = str(error.value)
    assert what in message
    assert mend in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("suffix", "mend"),
    [
        (".jpg", "PNG"), (".heic", "PNG"), (".PSD", "PNG"), (".ai", "SVG"), (".CDR", "SVG"),
        (".lbrn2", "SVG"), (".dwg", "DXF"),
        (".3mf", "cuts a part"), (".PcbDoc", "Gerber"), (".brd", "Gerber"), (".drl", "holes"),
        (".nc", "laserpath simulate"), (".rar", "unpack"), (".html", "download"),
    ],
)  # fmt: skip
def test_where_the_content_says_nothing_the_suffix_does(suffix: str, mend: str, tmp_path: Path):
    with pytest.raises(InputError, match=mend):
        read(tmp_path, f"file{suffix}", b"\x01\x02 neither this nor that \x00\xff")


@pytest.mark.parametrize(
    ("file", "name"),
    [("board.cmp", "board.cmp"), ("board.sol", "board.sol"), ("board.GTL", "board.GTL"),
     ("board.gbr", "board"), ("board.GER", "board"), ("board-F_Cu.gerber", "board-F_Cu"), ("board", "board")],
)  # fmt: skip
def test_layers_that_differ_by_their_suffix_have_names_of_their_own(
    file: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.write_bytes(b"%FSLAX24Y24*%\n%MOMM*%\n%ADD10R,0.1X0.1*%\nD10*\nX0Y0D03*\nM02*\n")
    assert load(path, tolerance=0.01).name == name


@pytest.mark.parametrize("suffix", [".gbr", ".cmp", "", ".jpg"])
@pytest.mark.parametrize("data", [b"", b" \r\n", "\ufeff".encode()])
def test_an_empty_file_is_called_empty(data: bytes, suffix: str, tmp_path: Path):
    with pytest.raises(InputError, match="the file is empty"):
        read(tmp_path, f"file{suffix}", data)


def test_a_file_of_which_nothing_is_known_names_what_can_be_read(tmp_path: Path):
    with pytest.raises(InputError, match=r"ends in '.xyz'.*SVG, DXF, GDSII, OASIS, Gerber, PNG"):
        read(tmp_path, "file.xyz", "Some prose.\n")
    with pytest.raises(InputError, match="has no ending"):
        read(tmp_path, "file", "Some prose.\n")


@pytest.mark.parametrize("name", GOOD)
def test_a_drawing_in_the_place_of_a_program_is_called_so(name: str):
    with pytest.raises(InputError, match=rf"^my file is a (drawing|picture) \({name}\), .*plan 'my file'`"):
        refuse_drawing(good(name), "my file")


def test_a_part_in_the_place_of_a_program_is_called_so():
    for data, name in (
        (b"solid a\n facet normal 0 0 1\n", "an STL model"),
        (bytes(80) + b"\1" + bytes(53), "an STL"),
    ):
        with pytest.raises(
            InputError, match=rf"^a\.stl is {name}.*plan a\.stl --layer 50um` makes a program"
        ):
            refuse_drawing(data, "a.stl")


@pytest.mark.parametrize(
    "program",
    [
        b"G21\nG4 P0.1 ; settle * now\nM4 S0\nG1 X1 F600 S9\nM5\n",
        b"%\n(POLYGON)\nG1 X1\n%\n",
        b"; <svg>\nG0 X1\n",
        b"N1 G04 P5*33\n",
        b"",
    ],
)
def test_a_program_is_no_drawing(program: bytes):
    refuse_drawing(program, "a.nc")


def test_what_says_nothing_about_the_format_goes_by_the_content_too(tmp_path: Path, capsys):
    path = written(tmp_path, "board.svg", EAGLE)
    with pytest.raises(SystemExit) as stopped:
        main(["plan", str(path), "--pixel", "10um", "-o", str(tmp_path)])
    assert stopped.value.code == 2
    assert "--pixel says nothing about Gerber files" in capsys.readouterr().err


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_format_is_whole(name: str):
    """Its entry names a reader and options that exist; the help and the docs name it."""
    known = formats.FORMATS[name]
    assert callable(import_module(f"laserpath.design.{known.module}").read)
    assert known.heeds <= {field.name for field in fields(Reading)} - {"tolerance", "grown"}
    assert known.magic or known.is_text
    designs = (Path(__file__).parents[2] / "docs" / "designs.md").read_text(encoding="utf-8")
    (row,) = [line for line in designs.splitlines() if line.startswith("| [") and name in line.split("|")[1]]
    assert known.suffixes[0] in row
    assert plan.help and name in plan.help
