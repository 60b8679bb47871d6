"""Small files that ask for a lot of work: name → (suffix, content).

Each must be read soon, or refused in one sentence.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import gdstk

Bomb = tuple[str, bytes]


def _svg(body: str, size: float = 100) -> Bomb:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}mm" height="{size}mm" viewBox="0 0 100 100">'
    )
    return ".svg", f"{head}{body}</svg>".encode()


def svg_masks() -> Bomb:
    """Masks of ten rectangles, each under the next mask, twelve levels deep."""
    masks = "".join(
        f'<mask id="m{k}">'
        + "".join(
            f'<rect x="{i}" width="{1 + i}" height="9" fill="white" mask="url(#m{k + 1})"/>'
            for i in range(10)
        )
        + "</mask>"
        for k in range(12)
    )
    last = '<mask id="m12"><rect width="50" height="50" fill="white"/></mask>'
    return _svg(f'<defs>{masks}{last}</defs><rect width="90" height="90" mask="url(#m0)"/>')


def svg_even_odd(count: int = 20_000) -> Bomb:
    """A path through random points: its edges cross count²/4 times or so."""
    xy = np.random.default_rng(1).uniform(0, 100, (count, 2))
    d = " ".join(f"{x:.3f},{y:.3f}" for x, y in xy)
    return _svg(f'<path fill-rule="evenodd" d="M{d}Z"/>')


def svg_circles(count: int = 2000) -> Bomb:
    """Circles that all overlap each other."""
    xy = np.random.default_rng(2).uniform(30, 70, (count, 2))
    return _svg("".join(f'<circle cx="{x:.3f}" cy="{y:.3f}" r="30"/>' for x, y in xy))


def svg_rectangles(count: int = 20_000) -> Bomb:
    """Rectangles that touch no other."""
    side = int(np.ceil(np.sqrt(count)))
    step = 100 / side
    return _svg(
        "".join(
            f'<rect x="{step * (k % side):.3f}" y="{step * (k // side):.3f}" '
            f'width="{step / 2:.3f}" height="{step / 2:.3f}"/>'
            for k in range(count)
        )
    )


def svg_css(count: int = 20_000) -> Bomb:
    """Selectors that every element has to be compared with."""
    rules = "".join(f".a{k}>.b{k} *{{fill:red}}" for k in range(count))
    return _svg(f"<style>{rules}</style>" + '<g><rect width="9" height="9"/></g>' * 200)


def svg_beziers(count: int = 900) -> Bomb:
    """Stroked quadratic curves across the page."""
    n = np.random.default_rng(3).uniform(0, 100, (count, 6))
    paths = "".join("<path d='M{:.2f},{:.2f}Q{:.2f},{:.2f} {:.2f},{:.2f}'/>".format(*row) for row in n)
    return _svg(f'<g fill="none" stroke="black" stroke-width=".1">{paths}</g>')


def svg_lines(count: int = 7000) -> Bomb:
    """Stroked lines across the page."""
    n = np.random.default_rng(4).uniform(0, 100, (count, 4))
    paths = "".join("<path d='M{:.2f},{:.2f}L{:.2f},{:.2f}'/>".format(*row) for row in n)
    return _svg(f'<g fill="none" stroke="black" stroke-width=".05">{paths}</g>')


def _gerber(body: str) -> Bomb:
    return ".gbr", f"%FSLAX46Y46*%%MOMM*%{body}M02*".encode()


def gerber_blocks() -> Bomb:
    """Block apertures that flash the next ten times, twelve levels deep."""
    out = ["%ADD10C,0.1*%"]
    for k in range(12):
        flashes = "".join(f"X{200000 * i}Y{100000 * k}D03*" for i in range(10))
        out.append(f"%ABD{11 + k}*%D{10 + k}*{flashes}%AB*%")
    return _gerber("".join(out) + "D22*X0Y0D03*")


def gerber_repeat() -> Bomb:
    """A flash repeated 1000 × 1000 times in one place."""
    return _gerber("%ADD10C,0.1*%D10*%SRX1000Y1000I0J0*%X0Y0D03*X50000Y0D03*%SR*%")


def gerber_macro(count: int = 200_000) -> Bomb:
    """A macro with a sum of very many terms."""
    return _gerber(f"%AMM*$1={'+'.join(['1'] * count)}*1,1,1,0,0*%%ADD10M,1*%D10*X0Y0D03*")


def gerber_flashes(count: int = 200_000) -> Bomb:
    """Flashes of four apertures, which touch their neighbours."""
    side = int(np.sqrt(count / 4))
    out = ["".join(f"%ADD{10 + k}C,{0.1 + 0.02 * k}*%" for k in range(4))]
    for k in range(4):
        out.append(f"D{10 + k}*")
        out += [f"X{100000 * i}Y{100000 * j}D03*\n" for i in range(side) for j in range(side)]
    return _gerber("".join(out))


def _made(draw: Callable[..., None], units: int = 4) -> Bomb:
    import ezdxf

    drawing = ezdxf.new(units=units)
    draw(drawing, drawing.modelspace())
    out = io.StringIO()
    drawing.write(out)
    return ".dxf", out.getvalue().encode()


def dxf_hatches(count: int = 3000) -> Bomb:
    """Hatches of large discs that all overlap each other."""
    rng = np.random.default_rng(5)

    def draw(_: object, model: object) -> None:
        for x, y in rng.uniform(30, 70, (count, 2)):
            path = model.add_hatch().paths.add_edge_path()  # type: ignore[attr-defined]
            path.add_arc((x, y), 30, 0, 360)

    return _made(draw)


def dxf_spline(count: int = 20_000) -> Bomb:
    """A closed spline through random control points."""
    xy = np.random.default_rng(6).uniform(0, 1, (count, 2))
    return _made(lambda drawing, model: model.add_open_spline(xy))


def dxf_metres() -> Bomb:
    """A thousand circles of 30 m, which are 20 000 straight pieces each."""

    def draw(_: object, model: object) -> None:
        for x in range(1000):
            model.add_circle((x / 100, 0), 30)  # type: ignore[attr-defined]

    return _made(draw, units=6)


def dxf_inserts() -> Bomb:
    """Blocks that place the next ten times, twelve levels deep."""

    def draw(drawing: object, model: object) -> None:
        for k in range(12):
            block = drawing.blocks.new(f"B{k}")  # type: ignore[attr-defined]
            for i in range(10):
                block.add_blockref(f"B{k + 1}", (i, k))
        drawing.blocks.new("B12").add_circle((0, 0), 1)  # type: ignore[attr-defined]
        model.add_blockref("B0", (0, 0))  # type: ignore[attr-defined]

    return _made(draw)


def dxf_array() -> Bomb:
    """An insert of 900 × 900 circles that overlap."""

    def draw(drawing: object, model: object) -> None:
        drawing.blocks.new("B").add_circle((0, 0), 1)  # type: ignore[attr-defined]
        insert = model.add_blockref("B", (0, 0))  # type: ignore[attr-defined]
        insert.dxf.row_count = insert.dxf.column_count = 900
        insert.dxf.row_spacing = insert.dxf.column_spacing = 1e-3

    return _made(draw)


def wkt_copies(count: int = 12_000) -> Bomb:
    """The same polygon again and again."""
    a = np.linspace(0, 2 * np.pi, 200)
    ring = ", ".join(f"{10 * np.cos(t):.6f} {10 * np.sin(t):.6f}" for t in a[:-1])
    polygon = f"(({ring}, 10.000000 0.000000))"
    return ".wkt", f"MULTIPOLYGON ({', '.join([polygon] * count)})".encode()


def png_noise(side: int = 1500) -> Bomb:
    """Random black and white pixels."""
    from PIL import Image

    noise = np.random.default_rng(7).integers(0, 2, (side, side), dtype=np.uint8) * 255
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "PNG", dpi=(2540, 2540))
    return ".png", out.getvalue()


def _records(*records: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack(">HH", len(data) + 4, kind) + data for kind, data in records)


_HEADER = _records(
    (0x0002, struct.pack(">h", 600)), (0x0102, bytes(24)), (0x0206, b"LIB\0"),
    (0x0305, bytes.fromhex("3e4189374bc6a7f0" "3944b82fa09b5a54")),
)  # fmt: skip


def _cell(name: str, *records: tuple[int, bytes]) -> bytes:
    name += "\0" * (len(name) % 2)
    return _records((0x0502, bytes(24)), (0x0606, name.encode()), *records, (0x0700, b""))


def gds_point() -> Bomb:
    """A boundary of a single point."""
    boundary = (
        (0x0800, b""), (0x0D02, b"\0\1"), (0x0E02, b"\0\0"), (0x1003, bytes(8)), (0x1100, b""),
    )  # fmt: skip
    return ".gds", _HEADER + _cell("TOP", *boundary) + _records((0x0400, b""))


def gds_levels(depth: int = 5000) -> Bomb:
    """Cells that place the next eight times, 5000 levels deep: 8^5000 polygons."""
    square = struct.pack(">10i", 0, 0, 1000, 0, 1000, 1000, 0, 1000, 0, 0)
    out = [_HEADER]
    for k in range(depth):
        place = ((0x0A00, b""), (0x1206, f"C{k + 1:05d}".encode()), (0x1003, struct.pack(">ii", k, 0)),
                 (0x1100, b""))  # fmt: skip
        out.append(_cell(f"C{k:05d}", *place * 8))
    boundary = ((0x0800, b""), (0x0D02, b"\0\1"), (0x0E02, b"\0\0"), (0x1003, square), (0x1100, b""))
    out.append(_cell(f"C{depth:05d}", *boundary))
    return ".gds", b"".join(out) + _records((0x0400, b""))


def _tens(suffix: str) -> Bomb:
    """Cells that place the next ten times, twelve levels deep."""
    import gdstk

    library = gdstk.Library()
    below = library.new_cell("C12")
    below.add(gdstk.rectangle((0, 0), (1, 1)))
    for k in range(11, -1, -1):
        cell = library.new_cell(f"C{k}")
        cell.add(*(gdstk.Reference(below, (i, k)) for i in range(10)))
        below = cell
    return suffix, _written(library, suffix)


def _written(library: gdstk.Library, suffix: str) -> bytes:
    """The bytes of a file."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a{suffix}")
        (library.write_gds if suffix == ".gds" else library.write_oas)(path)
        return path.read_bytes()


def gds_tens() -> Bomb:
    """Cells that place the next ten times, twelve levels deep."""
    return _tens(".gds")


def oasis_tens() -> Bomb:
    """Cells that place the next ten times, twelve levels deep."""
    return _tens(".oas")


def oasis_repetition(side: int = 65_000) -> Bomb:
    """A square that is repeated side × side times."""
    import gdstk

    library = gdstk.Library()
    square = gdstk.rectangle((0, 0), (1, 1))
    square.repetition = gdstk.Repetition(columns=side, rows=side, spacing=(0.5, 0.5))
    library.new_cell("TOP").add(square)
    return ".oas", _written(library, ".oas")


def oasis_block() -> Bomb:
    """A compressed block of 1 GB of zeros in 1 MB."""
    import zlib

    import gdstk

    library = gdstk.Library()
    library.new_cell("TOP").add(gdstk.rectangle((0, 0), (1, 1)))
    data = _written(library, ".oas")
    squeeze = zlib.compressobj(9, wbits=-15)
    packed = b"".join(squeeze.compress(bytes(1 << 20)) for _ in range(1000)) + squeeze.flush()
    block = b"\x22\x00" + _unsigned(1000 << 20) + _unsigned(len(packed)) + packed  # CBLOCK, DEFLATE
    at = len(data) - 256
    return ".oas", data[:at] + block + data[at:]


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


BOMBS: dict[str, Callable[[], Bomb]] = {
    name: made
    for name, made in list(globals().items())
    if name.partition("_")[0] in ("svg", "gerber", "dxf", "wkt", "png", "gds", "oasis") and callable(made)
}
