"""Good files of each format, small ones for speed: tests/data, samples, examples/, and some made here."""

from __future__ import annotations

import io
import re
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gdstk
import numpy as np
import trimesh
from PIL import Image, PngImagePlugin

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
OWN = Path(__file__).with_name("examples")
for _folder in (TESTS, TESTS / "design"):  # pytest does the same
    if str(_folder) not in sys.path:
        sys.path.append(str(_folder))

import boards  # noqa: E402
import same_shape  # noqa: E402  the shape that each reader's tests read
import same_shape_cad  # noqa: E402

LARGEST = 9_000
"""Bytes of an example; reading a larger one takes longer, and finds no more."""


def files(*patterns: str, root: Path = DATA, most: int = LARGEST) -> list[bytes]:
    """Small files whose names match."""
    paths = sorted(path for pattern in patterns for path in root.glob(pattern))
    return [path.read_bytes() for path in paths if path.is_file() and path.stat().st_size <= most]


def svg() -> list[bytes]:
    small = files("drawings/*.svg", "designs/*.svg", most=5000)
    small += files("*.svg", root=ROOT / "samples", most=4000)
    return [*small, *files("svg/*", root=OWN), same_shape.as_svg()]


def dxf() -> list[bytes]:
    def circle(drawing: Any, model: Any) -> None:
        model.add_circle((1, 1), 2)

    binary = same_shape_cad.dxf(circle, units=0, version="R12", binary=True)
    return [*files("dxf/*", root=OWN), *files("drawings/*.dxf"), binary]


def _library(oasis: bool) -> bytes:
    """Paths of all kinds, repeated cells, labels, a cell in a cell in a cell."""
    library = gdstk.Library("LIB", unit=1e-6, precision=1e-9)
    top, cell, deep = (library.new_cell(name) for name in ("TOP", "A", "DEEP"))
    deep.add(gdstk.rectangle((0, 0), (5, 3), layer=2, datatype=1))
    cell.add(gdstk.Reference(deep, (1, 1), magnification=2, x_reflection=True))
    cell.add(gdstk.Polygon([(0, 0), (40, 0), (40, 40), (20, 60), (0, 40)]))
    top.add(gdstk.Reference(cell, (10, 10), columns=3, rows=2, spacing=(100, 90), rotation=0.5))
    top.add(gdstk.FlexPath([(0, 0), (30, 0), (30, 40)], 4, ends="round", simple_path=True))
    top.add(gdstk.FlexPath([(0, 5), (30, 5)], 3, ends=(1, 2), simple_path=True), gdstk.Label("x", (1, 2)))
    top.add(gdstk.RobustPath((0, 9), 2, simple_path=True).segment((30, 9)))
    top.add(gdstk.rectangle((70, 0), (75, 30)), gdstk.ellipse((50, 50), 7, tolerance=0.5))
    return same_shape_cad.written(library, oasis)


def gdsii() -> list[bytes]:
    plain = same_shape_cad.as_gds(tolerance=0.01)
    return [plain, _library(False), *files("drawings/*.gds")]


def oasis() -> list[bytes]:
    out = [same_shape_cad.as_gds(oasis=True, tolerance=0.01), _library(True), *files("drawings/*.oas")]
    library = gdstk.Library()
    library.new_cell("T").add(gdstk.rectangle((0, 0), (9, 9)))
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "a")
        for level, circles in ((0, 0.1), (9, 0)):
            library.write_oas(path, compression_level=level, circle_tolerance=circles, validation="crc32")
            out.append(path.read_bytes())
    return out


def gerber() -> list[bytes]:
    return [same_shape.as_gerber(), *files("gerber/*", root=OWN), *files("drawings/gerber_*")]


def drills() -> list[bytes]:
    """Each way to write coordinates, tools, slots, routes, repeats and panels."""
    return [
        boards.drill(*boards.HOLES),
        b"M48\nINCH,LZ,00.0000\nT01C0.0320F200S65\n;TYPE=NON_PLATED\nT2C0.1\n%\nG05\nT01\nX0125Y-00325\nR3X0100\n"
        b"T2\nX01Y01G85X02Y01\nM30\n",
        b"%\nM48\nM71\n;FILE_FORMAT=3:3\nT1C1.0\n%\nG90\nT1\nG00X0Y0\nM15\nG01X5000\nG03X9000Y0A2000\n"
        b"G02X9000Y4000I0J2000\nM16\nM30\n",
        b"M48\nMETRIC\nT1C0.8\nT2C1.0\n%\nT1\nM25\nX1.0Y2.0\nR2X3.0\nT2\nX5.0\nM01\nM02X10.0\nR3M02Y5.0\nM02\nM01\n"
        b"M02Y40.0\nM02\nM08\nM30\n",
        b";   Holesize 1. = 12.0 Tolerance = +0.0/-0.0 PLATED MILS Quantity = 2\n%\nT01\nX00125Y00325\nM30\n",
    ]


def board() -> list[bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a")
        boards.archive(path, boards.small())
        return [path.read_bytes()]


def _meshes(kind: str) -> list[bytes]:
    """A box, and one with a cavity and a hole in it, as a part."""
    box, cavity = trimesh.creation.box((2, 2, 2)), trimesh.creation.box((1, 1, 1))
    cavity.invert()
    torn = trimesh.util.concatenate([box, cavity])
    torn.update_faces(np.arange(len(torn.faces)) != 3)
    saved = (one.export(file_type=kind) for one in (box, torn))
    return [one.encode() if isinstance(one, str) else one for one in saved]


def stl() -> list[bytes]:
    return [*_meshes("stl"), *_meshes("stl_ascii")]


def obj() -> list[bytes]:
    return _meshes("obj")


def threemf() -> list[bytes]:
    return _meshes("3mf")


def sl1() -> list[bytes]:
    """An archive of two pictures, stored as they are, so that damage reaches what is in it."""
    white = np.zeros((6, 8), np.uint8)
    white[2:4, 2:6] = 255
    drawn, made = io.BytesIO(), io.BytesIO()
    Image.fromarray(white).save(drawn, "PNG")
    display = "display_width = 4\ndisplay_height = 3\ndisplay_pixels_x = 8\ndisplay_pixels_y = 6\n"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("config.ini", "layerHeight = 0.05\n")
        lies = "display_orientation = landscape\ndisplay_mirror_x = 1\ndisplay_mirror_y = 0\n"
        archive.writestr("prusaslicer.ini", display + lies)
        for k in range(2):
            archive.writestr(f"part{k:05d}.png", drawn.getvalue())
    return [made.getvalue()]


def geojson() -> list[bytes]:
    return [same_shape.as_geojson(0.02), *files("geojson/*", root=OWN)]


def wkt() -> list[bytes]:
    return [same_shape.as_wkt(0.02), *files("wkt/*", root=OWN)]


def _pictures() -> list[Image.Image]:
    """A blot in the modes that cameras and programs write."""
    y, x = np.mgrid[:30, :40]
    blot = np.where((x - 20) ** 2 + (y - 15) ** 2 < 90, 0, 255).astype(np.uint8)
    grey = Image.fromarray((np.minimum((x - 20) ** 2 + (y - 15) ** 2, 255)).astype(np.uint8))
    alpha = Image.merge("RGBA", [Image.fromarray(blot)] * 3 + [grey])
    deep = Image.fromarray(blot.astype(np.uint16) * 257)
    return [
        Image.fromarray(blot), grey, alpha, deep, grey.convert("1"), grey.convert("P"), alpha.convert("LA"),
    ]  # fmt: skip


def _saved(picture: Image.Image, kind: str, **how: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, dpi=(254, 254), **how)
    return out.getvalue()


def png() -> list[bytes]:
    text = PngImagePlugin.PngInfo()
    text.add_text("Title", "blot")
    text.add_itxt("Comment", "é", zip=True)
    out = [_saved(one, "PNG") for one in _pictures()]
    return [*out, _saved(_pictures()[0], "PNG", pnginfo=text, transparency=0), same_shape.as_png(5)]


def tiff() -> list[bytes]:
    out = [_saved(one, "TIFF") for one in _pictures()]
    pictures = _pictures()
    ways = ("tiff_lzw", "tiff_adobe_deflate", "packbits", "group4", "jpeg")
    out += [_saved(pictures[4 if way == "group4" else 1], "TIFF", compression=way) for way in ways]
    out.append(_saved(Image.fromarray(np.linspace(0, 1, 300, dtype=np.float32).reshape(15, 20)), "TIFF"))
    out.append(_saved(pictures[0], "TIFF", save_all=True, append_images=pictures[1:3]))
    return out


def gcode() -> list[bytes]:
    return files("gcode/foreign/*", "firmware/*.gcode", "docs/part.gcode", most=1200)[:90]


def slicer() -> list[bytes]:
    prusa = (DATA / "slicer/prusaslicer.gcode").read_bytes()
    lines = prusa.splitlines(keepends=True)
    return [*files("slicer/*.gcode", "docs/part.gcode", "gcode/foreign/slicer*"), b"".join(lines[:260])]


def _profiles(kind: str) -> list[bytes]:
    return files("*.toml", root=ROOT / f"laserpath/config/profiles/{kind}s")


def machine() -> list[bytes]:
    whole = b'name = "x"\nbase = "grbl"\n' + _profiles("machine")[0]
    return [*_profiles("machine"), *(re.sub(rb"#.*", b"", one) for one in _profiles("machine")), whole]


def resin() -> list[bytes]:
    return [*_profiles("resin"), *(re.sub(rb"#.*", b"", one) for one in _profiles("resin"))]


def spot() -> list[bytes]:
    return [
        *_profiles("spot"),
        b'profile = "measured"\nmeasured = "beam.csv"\nsmooth_um = 5\nfwhm_um = 100\n',
    ]


def dialect() -> list[bytes]:
    template = (ROOT / "samples/dialect-template.toml").read_bytes()
    bare = re.sub(rb"\n\s*\n+", b"\n", re.sub(rb"(?m)^#.*\n|  +#.*$", b"", template))
    small = b'base = "marlin"\nname = "own"\nheader = ["G21", "G90", "G28 X Y"]\npower_max = 255\n'
    return [template, bare, small, bare.replace(b'name = "my-controller"', b'base = "klipper"')]


def project() -> list[bytes]:
    drawing, picture = files("project/*", root=OWN)
    own = "".join(f"[{kind}]\n{_profiles(kind)[0].decode()}\n" for kind in ("machine", "resin"))
    return [drawing, picture, picture + own.encode(), b'na = 0.1\nwavelength = "405nm"\n']


def sheet() -> list[bytes]:
    return files("sheet/*", root=OWN)


def marks() -> list[bytes]:
    return files("marks/*", root=OWN)


def bed() -> list[bytes]:
    rows = [(x, y, 0.002 * x - 0.001 * y) for y in (0, 40, 80) for x in (0, 50, 100)]
    grid = "".join(f"{x},{y},{z:.4f}\n" for x, y, z in rows)
    some = "".join(f"{x + y / 7:.3f};{y};{z:.4f}\n" for x, y, z in rows)
    lines = "".join("#*# \t" + ", ".join(f"{0.001 * (i + j):.6f}" for i in range(4)) + "\n" for j in range(3))
    ends = "".join(f"#*# {name} = {value}\n" for name, value in
                   (("min_x", 10.0), ("max_x", 290.0), ("min_y", 5.5), ("max_y", 180.0)))  # fmt: skip
    mesh = f"[bed_mesh]\nspeed: 120\n\n#*# [bed_mesh default]\n#*# version = 1\n#*# points =\n{lines}{ends}"
    return [f"x_mm,y_mm,z_mm\n{grid}".encode(), f"x;y;z_um\n{some}".encode(), mesh.encode()]


def beam_table() -> list[bytes]:
    radii = np.arange(0, 200, 12.5)
    rows = "".join(f"{r:g},{np.exp(-((r / 60) ** 2)):.5g}\n" for r in radii)
    return [f"radius_um,intensity\n{rows}".encode(), f"# measured\nradius_mm, intensity\n{rows}".encode()]


def beam_photo() -> list[bytes]:
    y, x = np.mgrid[:48, :56]
    out = []
    for wide, deep in ((5.0, False), (9.0, True)):
        light = np.exp(-(((x - 28) / wide) ** 2) - ((y - 24) / 6) ** 2)
        light += 0.01 * np.random.default_rng(1).random(light.shape)
        values = (light * 60000).astype(np.uint16) if deep else (light * 220).astype(np.uint8)
        out.append(_saved(Image.fromarray(values), "PNG"))
    return [*out, _saved(Image.fromarray((light * 220).astype(np.uint8)).convert("RGB"), "PNG")]


def lines() -> list[bytes]:
    """Line work as numbers: x, y in px; a nan ends a line."""
    square = [0, 0, 50, 0, 50, 50, 0, 50, 0, 0]
    two = [*square, np.nan, np.nan, 10, 10, 90, 90, 90, 10]
    return [np.array(one, dtype=np.float64).tobytes() for one in (square, two)]


def everything() -> list[bytes]:
    makers: tuple[Callable[[], list[bytes]], ...] = (
        svg, dxf, gdsii, oasis, gerber, geojson, wkt, png, tiff, gcode, slicer, machine, project, sheet
    )  # fmt: skip
    foreign = [
        b"%PDF-1.7\n", b"GIF89a", b"PK\x03\x04", b"\x1f\x8b\x08\0", b"ISO-10303-21;\n", b"(kicad_pcb (v 4))",
    ]  # fmt: skip
    return [one for make in makers for one in make()[:4]] + foreign
