"""Good files of each format, small ones for speed: those of tests/data and samples, and some made here."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import gdstk
import numpy as np
from PIL import Image, PngImagePlugin

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
for _folder in (TESTS, TESTS / "design"):  # pytest does the same
    if str(_folder) not in sys.path:
        sys.path.append(str(_folder))

import same_shape  # noqa: E402  the shape that each reader's tests read
import same_shape_cad  # noqa: E402

LARGEST = 9_000
"""Bytes of an example; reading a larger one takes longer, and finds no more."""


def files(*patterns: str, root: Path = DATA, most: int = LARGEST) -> list[bytes]:
    """Small files whose names match."""
    paths = sorted(path for pattern in patterns for path in root.glob(pattern))
    return [path.read_bytes() for path in paths if path.is_file() and path.stat().st_size <= most]


def _svg(body: str, more: str = "") -> bytes:
    head = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    return f'{head}width="20mm" height="10mm" viewBox="0 0 20 10"{more}>{body}</svg>'.encode()


_SVG = (
    '<path d="M1 1h5v3l-2 .5zM7,7C8 9 9 9 10 7S12 5 13 7Q14 8 15 7T17 7A2 1 30 1 0 3 3z" fill-rule="evenodd"/>',
    '<g transform="translate(3 2) rotate(30) scale(.5) skewX(5) matrix(1 0 0 1 2 2)">'
    '<rect x="1" y="1" width="40%" height="5mm" rx="1"/></g><circle cx="5" cy="5" r="2"/><ellipse rx="2" ry="1"/>',
    '<polyline points="1,1 5,5 9,1" fill="none" stroke="#000" stroke-width=".5" stroke-linejoin="miter" '
    'stroke-dasharray="1 .5 2" stroke-linecap="round"/><line x2="9" y2="9" stroke="red"/><polygon points="0 0 3 0 3 3"/>',
    '<defs><clipPath id="c"><circle r="4" cx="5" cy="5"/></clipPath><mask id="m"><rect width="9" height="9" '
    'fill="white"/></mask><g id="g"><rect width="3" height="2"/></g></defs><use href="#g" x="2" clip-path="url(#c)"/>'
    '<use xlink:href="#g" y="4" mask="url(#m)"/>',
    '<style>rect.a{fill:none;stroke:blue;stroke-width:1px} #b > * {display:none} g rect:not(.x){opacity:.5}</style>'
    '<rect class="a" x="1" y="1" width="5" height="5"/><g id="b"><rect width="2" height="2"/></g>',
    '<symbol id="s" viewBox="0 0 4 4"><path d="m0 0 4 0 0 4z"/></symbol><use href="#s" width="8" height="8"/>'
    '<svg x="5" y="1" width="5" height="5" viewBox="0 0 10 10" preserveAspectRatio="xMinYMax slice">'
    '<rect width="9" height="9"/></svg><switch><g systemLanguage="de"/><rect width="1" height="1"/></switch>',
    '<linearGradient id="l"><stop offset="0" stop-color="#fff"/></linearGradient><pattern id="p" width="2" '
    'height="2"><rect width="1" height="1"/></pattern><marker id="k" markerWidth="3"><path d="M0 0h3v3z"/></marker>'
    '<rect width="5" height="5" fill="url(#l)"/><path d="M1 1 9 9" stroke="black" marker-end="url(#k)"/>'
    '<rect x="6" width="3" height="3" fill="url(#p)"/><text x="1" y="5">laser</text><image width="3" height="3"/>',
)  # fmt: skip


def svg() -> list[bytes]:
    small = files("drawings/*.svg", "designs/*.svg", most=5000)
    small += list(files("*.svg", root=ROOT / "samples", most=4000))
    layered = '<g inkscape:groupmode="layer" inkscape:label="cut" id="a"><rect width="5" height="5"/></g>'
    more = ' xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'
    entity = b'<!DOCTYPE svg [<!ENTITY s "5">]><svg xmlns="http://www.w3.org/2000/svg"><rect width="&s;" height="5"/></svg>'
    return [*small, same_shape.as_svg(), *map(_svg, _SVG), _svg(layered, more), entity]


_DXF = (
    "0 CIRCLE; 8 0; 10 1; 20 1; 40 2; 0 CIRCLE; 8 cut; 10 1; 20 1; 40 1",
    "0 LINE; 8 0; 10 0; 20 0; 11 5; 21 0; 0 LINE; 8 0; 10 5; 20 0; 11 5; 21 4; 0 LINE; 8 0; 10 5; 20 4; 11 0; 21 0",
    "0 ARC; 8 0; 10 0; 20 0; 40 3; 50 0; 51 180; 0 LINE; 8 0; 10 -3; 20 0; 11 3; 21 0",
    "0 LWPOLYLINE; 8 0; 90 4; 70 1; 43 0.2; 10 0; 20 0; 42 0.5; 10 5; 20 0; 10 5; 20 5; 40 .1; 41 .3; 10 0; 20 5",
    "0 POLYLINE; 8 0; 66 1; 70 1; 0 VERTEX; 8 0; 10 0; 20 0; 0 VERTEX; 8 0; 10 4; 20 0; 42 1; 0 VERTEX; 8 0; 10 4; "
    "20 4; 0 SEQEND",
    "0 ELLIPSE; 8 0; 10 1; 20 1; 11 3; 21 1; 40 0.5; 41 0; 42 6.283185",
    "0 SPLINE; 8 0; 70 11; 71 3; 72 8; 73 4; 40 0; 40 0; 40 0; 40 0; 40 1; 40 1; 40 1; 40 1; 10 0; 20 0; 10 2; 20 4; "
    "10 4; 20 -4; 10 0; 20 0",
    "0 HATCH; 8 0; 10 0; 20 0; 30 0; 210 0; 220 0; 230 1; 2 SOLID; 70 1; 71 0; 91 1; 92 2; 72 0; 73 1; 93 4; 10 0; "
    "20 0; 10 4; 20 0; 10 4; 20 4; 10 0; 20 4; 97 0; 75 0; 76 1; 98 0",
    "0 HATCH; 8 0; 10 0; 20 0; 30 0; 2 SOLID; 70 1; 71 0; 91 1; 92 1; 93 2; 72 1; 10 0; 20 0; 72 2; 10 0; 20 0; 40 2; "
    "50 0; 51 360; 73 1; 97 0; 75 0; 76 1; 98 0",
    "0 SOLID; 8 0; 10 0; 20 0; 11 4; 21 0; 12 0; 22 4; 13 4; 23 4; 0 TRACE; 8 0; 10 5; 20 0; 11 9; 21 0; 12 5; 22 4",
    "0 3DFACE; 8 0; 10 0; 20 0; 30 1; 11 4; 21 0; 12 4; 22 4; 0 POINT; 8 0; 10 1; 20 1; 0 TEXT; 8 0; 10 0; 20 0; 40 1; "
    "1 laser; 0 MTEXT; 8 0; 10 1; 20 1; 1 a; 0 LEADER; 8 0; 76 2; 10 0; 20 0; 10 3; 20 3; 0 RAY; 8 0; 10 0; 11 1",
)  # fmt: skip
_BLOCKS = (
    "0 BLOCK; 8 0; 2 B; 70 0; 10 0; 20 0; 0 CIRCLE; 8 0; 10 0; 20 0; 40 1; 0 ENDBLK; 0 BLOCK; 2 C; 10 1; 20 1; "
    "0 INSERT; 2 B; 10 2; 20 2; 0 ENDBLK"
)
_INSERT = (
    "0 INSERT; 8 0; 2 B; 10 1; 20 1; 41 2; 42 -1; 50 30; 70 3; 71 2; 44 5; 45 5; 0 INSERT; 2 C; 10 9; 20 9"
)


def dxf() -> list[bytes]:
    made = [same_shape_cad.text(one) for one in _DXF]
    made.append(same_shape_cad.text(_INSERT, blocks=_BLOCKS))
    made.append(same_shape_cad.text("; ".join(_DXF[:4])))
    binary = same_shape_cad.dxf(
        lambda drawing, model: model.add_circle((1, 1), 2), version="R12", binary=True
    )
    return [*made, *files("drawings/*.dxf"), binary]


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


_GERBER = (
    "%FSLAX26Y26*%\n%MOIN*%\n%ADD10R,0.1X0.05X0.02*%\n%ADD11O,0.1X.05*%\n%ADD12P,.1X6X30*%\nD10*\nX0Y0D03*\nD11*\n"
    "X500000Y0D03*\nD12*\nX1000000Y0D03*\nD10*\nG75*\nG01X0Y0D02*\nX100000Y100000D01*\nM02*\n",
    "%FSLAX36Y36*%\n%MOMM*%\n%AMX*1,1,$1,0,0*20,1,.2,0,0,3,3,0*4,1,3,0,0,1,0,1,1,0,0,30*5,1,6,0,0,2,0*"
    "7,0,0,3,2,.3,0*21,1,$1x2,1,0,0,45*%\n%ADD10X,2*%\n%ADD11C,.3*%\nD10*\nX0Y0D03*\nD11*\nG75*\nX0Y5000000D02*\n"
    "G03X5000000Y0I0J-5000000D01*\nG36*\nX9000000Y0D02*\nG01X12000000D01*\nY3000000D01*\nX9000000Y0D01*\nG37*\nM02*\n",
    "%FSLAX36Y36*%\n%MOMM*%\n%ADD10C,1*%\n%SRX3Y2I4J5*%\nD10*\nX0Y0D03*\n%SR*%\n%ABD12*%\n%LPD*%\nD10*\nX0Y0D03*\n%LPC*%\n"
    "X500000Y0D03*\n%AB*%\n%LPD*%\n%LMX*%\n%LR45*%\n%LS2*%\nD12*\nX20000000Y0D03*\nG74*\nM02*\n",
)  # fmt: skip


def gerber() -> list[bytes]:
    return [same_shape.as_gerber(), *(one.encode() for one in _GERBER), *files("drawings/gerber_*")]


def geojson() -> list[bytes]:
    rest = (
        '{"type":"LineString","coordinates":[[0,0],[5,5,1],[9,0]]}',
        '{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"MultiPolygon",'
        '"coordinates":[[[[0,0],[9,0],[9,9],[0,0]],[[5,1],[8,1],[8,2],[5,1]]]]}]}',
        '{"type":"FeatureCollection","crs":{"type":"name"},"bbox":[0,0,1,1],"features":[{"type":"Feature","id":1,'
        '"properties":{"layer":"a","unit":"mm"},"geometry":null},{"type":"Feature","properties":null,"geometry":'
        '{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3],[4,0],[2,2]]]}}]}',
        '{"type":"Polygon","coordinates":[[[0,0],[4,4],[4,0],[0,4],[0,0]]]}',
    )  # fmt: skip
    return [same_shape.as_geojson(0.02), *(one.encode() for one in rest)]


def wkt() -> list[bytes]:
    rest = (
        "POLYGON Z ((0 0 1, 9 0 1, 9 9 1, 0 0 1), (5 1 1, 8 1 1, 8 2 1, 5 1 1))",
        "SRID=4326;MULTILINESTRING ((0 0, 5 5), (1 1, 2 2, 3 0, 1 1))\nLINESTRING (0 0, 9 9)",
        "GEOMETRYCOLLECTION (POINT (1 2), MULTIPOINT ((1 2), (3 4)), POLYGON ((0 0, 4 4, 4 0, 0 4, 0 0)))",
        "CURVEPOLYGON (CIRCULARSTRING (0 0, 4 0, 4 4, 0 4, 0 0))",
        "MULTIPOLYGON (((0 0, 9 0, 9 9, 0 0)), EMPTY)\nTRIANGLE ((0 0, 1 0, 0 1, 0 0))",
        "COMPOUNDCURVE (CIRCULARSTRING (0 0, 1 1, 2 0), (2 0, 0 0))",
    )  # fmt: skip
    return [same_shape.as_wkt(0.02), *(one.encode() for one in rest)]


def _pictures() -> list[Image.Image]:
    """A blot in the modes that cameras and programs write."""
    y, x = np.mgrid[:30, :40]
    blot = np.where((x - 20) ** 2 + (y - 15) ** 2 < 90, 0, 255).astype(np.uint8)
    grey = Image.fromarray((np.minimum((x - 20) ** 2 + (y - 15) ** 2, 255)).astype(np.uint8))
    alpha = Image.merge("RGBA", [Image.fromarray(blot)] * 3 + [grey])
    deep = Image.fromarray(blot.astype(np.uint16) * 257)
    return [
        Image.fromarray(blot),
        grey,
        alpha,
        deep,
        grey.convert("1"),
        grey.convert("P"),
        alpha.convert("LA"),
    ]


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


_PROJECT = """design = "board.gbr"
machine = "grbl-diode-405"
critical_dose = "35 mJ/cm2"
spot_fwhm = "80um"
layer = ["1/0", "cut"]
unit = "mm"
line_width = "0.1mm"
rotate = 90
mirror = "x"
size = "20x30mm"
repeat = "3x2@10mm"
origin = "centre"
offset = [5, 3]
quality = "fine"
initial = "contour"
pitch = "0.5fwhm"
angle = 45
iterations = 100
seed = 7
passes = 2
max_epe = "10um"
"""
_TABLES = """design = "a.png"
tone = "positive"
pixel = 0.05
threshold = 0.4
grey = "60um"
scale = 2.5
negative = true
blur = "2um"
inset_fwhm = 0.4
[spot]
na = 0.1
wavelength_nm = 405
profile = "airy"
"""


def project() -> list[bytes]:
    own = "".join(f"[{kind}]\n{_profiles(kind)[0].decode()}\n" for kind in ("machine", "resin"))
    return [
        _PROJECT.encode(),
        _TABLES.encode(),
        (_TABLES + own).encode(),
        b'na = 0.1\nwavelength = "405nm"\n',
    ]


def sheet() -> list[bytes]:
    lines = (DATA / "docs/measured.csv").read_bytes().splitlines(keepends=True)
    head, rows = lines[:8], lines[8:]
    half = b"".join([*head, *rows[20:36], *rows[-12:]])
    plain = b"power_mW,speed_mm_per_s,width_um\n1,10,80\n2,10,100\n4,10,130\n4,20,100\n"
    german = plain.replace(b",", b";").replace(b"80", b"80,5")
    levels = b"# power_levels = 255\n# level_offset = 0.5\nid;level;power_mW;speed_mm_per_s;width_mm;note\n"
    levels += b"a;10;0,5;20;0,08;x\nb;20;1;20;0,1;\nc;40;2;20;0,12;\nd;80;4;20;0,14;\n"
    tabs = b"id\tkind\tpower_mW\tspeed_mm_per_min\tdiameter_um\tvisible\nq\tdot\t1\t600\t90\tja\nr\tdot\t2\t600\t99\t\n"
    return [half, plain, german, levels, tabs]


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
        b"%PDF-1.7\n",
        b"GIF89a",
        b"PK\x03\x04",
        b"\x1f\x8b\x08\0",
        b"ISO-10303-21;\n",
        b"(kicad_pcb (version 4))",
    ]
    return [one for make in makers for one in make()[:4]] + foreign
