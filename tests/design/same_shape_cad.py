"""The shape of `same_shape` in CAD formats: DXF, GDSII and OASIS."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ezdxf
import gdstk
from same_shape import ANGLE, BAR, HOLE, LENGTH, RADIUS, WIDTH, L, disc, shape

Draw = Callable[[Any, Any], None]


def dxf(draw: Draw, units: int = 4, version: str = "R2010", binary: bool = False) -> bytes:
    """A drawing made by `draw(document, model space)`. units: $INSUNITS."""
    document = ezdxf.new(version, units=units)
    draw(document, document.modelspace())
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.dxf")
        document.saveas(path, fmt="bin" if binary else "asc")
        return path.read_bytes()


def as_dxf(scale: float = 1.0, **how: Any) -> bytes:
    """Lines, a circle of two arcs, a rotated block. scale: units of the drawing per mm."""

    def draw(document: Any, model: Any) -> None:
        corners = [(x * scale, y * scale) for x, y in L]
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            model.add_line(a, b)
        centre, r = (HOLE[0] * scale, HOLE[1] * scale), RADIUS * scale
        model.add_arc(centre, r, 20, 200)
        model.add_arc(centre, r, 200, 20)
        bar = document.blocks.new("BAR", base_point=(LENGTH * scale / 2, WIDTH * scale / 2))
        bar.add_lwpolyline([(0, 0), (LENGTH, 0), (LENGTH, WIDTH), (0, WIDTH)], close=True).scale(
            scale, scale, 1
        )
        model.add_blockref("BAR", (BAR[0] * scale, BAR[1] * scale), {"rotation": ANGLE})

    return dxf(draw, **how)


def as_gds(oasis: bool = False, unit: float = 1e-6, tolerance: float = 1e-4) -> bytes:
    """A polygon with a cut line to its hole, and a path in a rotated cell. unit: m."""
    mm = 1e-3 / unit
    library = gdstk.Library(unit=unit, precision=1e-9)
    solid, hole = gdstk.Polygon(L).scale(mm, mm), gdstk.Polygon(disc(tolerance).exterior.coords).scale(mm, mm)
    top, bar = library.new_cell("TOP"), library.new_cell("BAR")
    top.add(*gdstk.boolean(solid, hole, "not", precision=1e-6))
    bar.add(gdstk.FlexPath([(-LENGTH / 2 * mm, 0), (LENGTH / 2 * mm, 0)], WIDTH * mm, simple_path=True))
    top.add(gdstk.Reference(bar, (BAR[0] * mm, BAR[1] * mm), rotation=ANGLE * 3.141592653589793 / 180))
    return written(library, oasis)


def written(library: Any, oasis: bool = False) -> bytes:
    """The file of a library."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some tests write invalid files
        path = Path(folder, "a")
        (library.write_oas if oasis else library.write_gds)(path)
        return path.read_bytes()


def text(entities: str, header: str = "  9\n$INSUNITS\n 70\n4\n", blocks: str = "") -> bytes:
    """A small DXF by hand: pairs of lines, or `code value; code value`."""
    sections = [("HEADER", header), ("BLOCKS", blocks), ("ENTITIES", entities)]
    out = io.StringIO()
    for name, content in sections:
        if content:
            pairs = "\n".join(part.strip().replace(" ", "\n", 1) for part in content.split(";"))
            out.write(f"0\nSECTION\n2\n{name}\n{pairs if ';' in content else content.strip()}\n0\nENDSEC\n")
    out.write("0\nEOF\n")
    return out.getvalue().encode()


__all__ = ["as_dxf", "as_gds", "dxf", "shape", "text", "written"]
