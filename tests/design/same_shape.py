"""One shape in every format that can be read: an L with a round hole, and beside it a bar at 30°.

Each writer uses its format's own means (an arc, a flash, a rotated rectangle), not the same polygon.
All in mm, y up, the page from (0, 0) to PAGE.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import shapely
from PIL import Image
from shapely import affinity
from shapes import NODING

from laserpath.design.target import rasterise
from laserpath.types import Design, Grid

PAGE = (12.0, 10.0)
L = ((1, 1), (9, 1), (9, 4), (4, 4), (4, 8), (1, 8))
HOLE, RADIUS = (2.5, 2.5), 0.9
BAR, LENGTH, WIDTH, ANGLE = (8.0, 7.0), 5.0, 0.8, 30.0  # its centre and size; degrees, counter-clockwise


def disc(tolerance: float) -> shapely.Polygon:
    """The hole, with vertices on the circle and edges within the tolerance of it."""
    n = int(np.ceil(np.pi / np.arccos(1 - tolerance / RADIUS)))
    angle = 2 * np.pi * np.arange(n) / n
    return shapely.Polygon(np.array(HOLE) + RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def bar() -> shapely.Polygon:
    """The rectangle at 30°."""
    x, y = BAR
    box = shapely.box(x - LENGTH / 2, y - WIDTH / 2, x + LENGTH / 2, y + WIDTH / 2)
    return affinity.rotate(box, ANGLE, origin=BAR)


def shape(tolerance: float = 1e-7) -> shapely.MultiPolygon:
    """The area itself."""
    return shapely.MultiPolygon([shapely.Polygon(L).difference(disc(tolerance), grid_size=NODING), bar()])


AREA = 8 * 3 + 3 * 4 - np.pi * RADIUS**2 + LENGTH * WIDTH
"""mm², exactly."""


def as_svg() -> bytes:
    """A path with a hole of two arcs, and a rotated rect; y down, as in SVG."""
    w, h = PAGE
    outline = " ".join(f"{x} {h - y}" for x, y in L)
    x, y = HOLE[0] - RADIUS, h - HOLE[1]
    arcs = "".join(f"a{RADIUS} {RADIUS} 0 0 0 {d} 0" for d in (2 * RADIUS, -2 * RADIUS))
    cx, cy = BAR[0], h - BAR[1]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}mm" height="{h}mm" viewBox="0 0 {w} {h}">'
        f'<path fill-rule="evenodd" d="M{outline}Z M{x} {y}{arcs}Z"/>'
        f'<rect x="{cx - LENGTH / 2}" y="{cy - WIDTH / 2}" width="{LENGTH}" height="{WIDTH}" '
        f'transform="rotate({-ANGLE} {cx} {cy})"/></svg>'
    ).encode()


def as_gerber() -> bytes:
    """A region, the hole as a clear flash of a round aperture, the bar as a flash of a rotated macro."""

    def at(x: float, y: float) -> str:
        return f"X{round(x * 1e6)}Y{round(y * 1e6)}"

    start, *corners = (*L, L[0])
    return "\n".join(
        [
            "%FSLAX36Y36*%",
            "%MOMM*%",
            f"%AMBAR*\n21,1,{LENGTH},{WIDTH},0,0,{ANGLE}*%",
            f"%ADD10C,{2 * RADIUS}*%",
            "%ADD11BAR*%",
            "%LPD*%",
            "G36*",
            f"{at(*start)}D02*",
            "G01*",
            *(f"{at(*corner)}D01*" for corner in corners),
            "G37*",
            "%LPC*%",
            "D10*",
            f"{at(*HOLE)}D03*",
            "%LPD*%",
            "D11*",
            f"{at(*BAR)}D03*",
            "M02*",
            "",
        ]
    ).encode()


def as_png(pixels_per_mm: float) -> bytes:
    """Black on white, with greys by the coverage of each pixel; the resolution is in the file."""
    pitch = 1 / pixels_per_mm
    columns, rows = (round(side * pixels_per_mm) for side in PAGE)
    grid = Grid((pitch / 2, pitch / 2), pitch, (rows, columns))
    coverage = rasterise(Design(shape()), grid).coverage
    grey = np.round(255 * (1 - coverage[::-1])).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(grey).save(out, "PNG", dpi=(25.4 * pixels_per_mm, 25.4 * pixels_per_mm))
    return out.getvalue()


def as_geojson(tolerance: float = 1e-4) -> bytes:
    """Two features; GeoJSON has no arcs."""
    return geojson(*(feature(part) for part in shape(tolerance).geoms))


def feature(geometry: shapely.Geometry | dict[str, Any], **properties: Any) -> dict[str, Any]:
    """One of GeoJSON."""
    drawn = geometry if isinstance(geometry, dict) else shapely.geometry.mapping(geometry)
    return {"type": "Feature", "properties": properties, "geometry": drawn}


def geojson(*features: dict[str, Any], **members: Any) -> bytes:
    """A file of some features. members: of the collection, besides them."""
    return json.dumps({"type": "FeatureCollection", "features": features, **members}).encode()


def as_wkt(tolerance: float = 1e-4) -> bytes:
    """One multipolygon."""
    return shapely.to_wkt(shape(tolerance), rounding_precision=-1).encode()
