"""Lines without a width in GeoJSON and WKT: left out, of a given width, or as wide as the spot."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import shapely
from same_shape_cad import dxf

from laserpath.base.errors import InputError
from laserpath.design import Arrangement, load
from laserpath.design.reading import FLATTEN_FWHM, Reading
from laserpath.design.vector import read
from laserpath.types import Design

SPOT = 0.1
TOLERANCE = FLATTEN_FWHM * SPOT
READING = Reading(TOLERANCE)
LINE = shapely.LineString([(0, 0), (10, 0)])
SQUARE = shapely.box(20, 0, 22, 2)
POINT = shapely.Point(5, 5)


Write = Callable[..., bytes]


def geojson(*shapes: shapely.Geometry) -> bytes:
    features = [
        {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(shape)} for shape in shapes
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def wkt(*shapes: shapely.Geometry) -> bytes:
    return "\n".join(shape.wkt for shape in shapes).encode()


def stadium(length: float, width: float) -> float:
    return length * width + math.pi * width**2 / 4


@pytest.mark.parametrize("write", [geojson, wkt])
class TestRead:
    def test_lines_alone_are_as_wide_as_the_spot(self, write: Write) -> None:
        design = read(write(LINE, shapely.affinity.translate(LINE, 0, 3)), "a", READING)
        assert design.area.area == pytest.approx(2 * stadium(10, SPOT), rel=0.01)
        (warning,) = design.warnings
        assert "the 2 lines have no width, and are drawn 0.1 mm wide, as the spot is: --line-width" in warning

    def test_beside_polygons_they_are_left_out(self, write: Write) -> None:
        design = read(write(LINE, SQUARE), "a", READING)
        assert design.area.area == pytest.approx(4)
        (warning,) = design.warnings
        assert "1 line is left out" in warning and "--line-width 0.2mm" in warning

    def test_with_a_width_they_are_drawn(self, write: Write) -> None:
        design = read(write(LINE, SQUARE), "a", Reading(TOLERANCE, line_width=0.5, unit="cm"))
        assert design.area.area == pytest.approx(400 + stadium(100, 0.5), abs=0.1)
        assert design.warnings == ()

    def test_points_are_left_out(self, write: Write) -> None:
        design = read(write(POINT, LINE, POINT), "a", READING)
        assert design.area.area == pytest.approx(stadium(10, SPOT), rel=0.01)
        assert "2 points are left out" in design.warnings[0]
        with pytest.raises(InputError, match=r"design is empty: .*1 point is left out"):
            read(write(POINT), "a", READING)


# As wide on the part, whatever the drawing grows by


def spread(design: Design) -> float:
    """The height of a level line."""
    return design.size[1]


FILES = {
    "a.geojson": geojson(LINE),
    "a.wkt": wkt(LINE),
    "a.dxf": dxf(lambda _, m: m.add_line((0, 0), (10, 0))),
}
ARRANGED = {
    "larger": Arrangement(scale=20),
    "smaller": Arrangement(scale=0.03),
    "a little smaller": Arrangement(scale=0.5),
    "sized": Arrangement(size=(3.0, None)),
    "sized up": Arrangement(size=(50.0, None)),
}


@pytest.mark.parametrize("how", ARRANGED)
@pytest.mark.parametrize("name", FILES)
def test_the_width_is_that_on_the_part(name: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    for width in (None, 0.2):
        reading = Reading(TOLERANCE, line_width=width)
        design = load(path, tolerance=TOLERANCE, reading=reading, arrangement=ARRANGED[how])
        assert spread(design) == pytest.approx(width or SPOT, rel=2e-3, abs=TOLERANCE)
        warnings = " ".join(design.warnings)
        assert ("drawn 0.1 mm wide, as the spot is" in warnings) is (width is None)
