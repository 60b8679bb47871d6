"""GeoJSON, WKT and shapely geometry: areas, lines with a width, and bad files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from builders import polygons
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within
from refusals import refusal
from same_shape import as_geojson, as_wkt, feature, geojson
from shapes import NODING, differing_area

from laserpath.base.errors import InputError
from laserpath.base.limits import limits
from laserpath.design.reading import Reading
from laserpath.design.vector import from_geometry, read

READING = Reading(1e-3)
SQUARE = shapely.box(1, 2, 3, 5)


# Polygons


@given(st.lists(polygons(), min_size=1, max_size=4))
def test_polygons_come_back_as_their_union(shapes: list[shapely.Polygon]) -> None:
    apart = [shapely.affinity.translate(g, 1.5 * k, 0) for k, g in enumerate(shapes)]
    union = shapely.union_all(apart, grid_size=NODING)
    many = shapely.GeometryCollection(apart)
    for data in (
        geojson(*map(feature, apart)),
        geojson(feature(many)),
        json.dumps(shapely.geometry.mapping(many)).encode(),
        json.dumps(feature(many)).encode(),
        shapely.to_wkt(many, rounding_precision=-1).encode(),
        "\n".join(shapely.to_wkt(apart, rounding_precision=-1)).encode(),
    ):
        design = read(data, "a", READING)
        assert design.area.is_valid
        assert differing_area(design.area, union) < 1e-9
    assert differing_area(from_geometry(many).area, union) < 1e-9


def test_a_ring_that_crosses_itself_is_filled_by_even_odd() -> None:
    t = np.radians(90 + 144 * np.arange(5))
    star = shapely.Polygon(np.stack([np.cos(t), np.sin(t)], axis=1))
    inner = np.cos(np.radians(72)) / np.cos(np.radians(36))  # radius of the pentagon in its middle
    points = 5 * np.sin(np.radians(36)) * inner - 5 / 2 * inner**2 * np.sin(np.radians(72))
    for design in (
        read(geojson(feature(star)), "a", READING),
        read(star.wkt.encode(), "a", READING),
        from_geometry(star),
    ):
        assert design.area.area == pytest.approx(points, rel=1e-6)
        assert not design.area.contains(shapely.Point(0, 0))


def test_height_and_closing_positions_are_not_needed() -> None:
    closed = {"type": "Polygon", "coordinates": [[[0, 0, 9], [2, 0, 9], [2, 1, 9], [0, 0, 9]]]}
    open_ = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 1]]]}
    for geometry in (closed, open_):
        assert read(geojson(feature(geometry)), "a", READING).area.area == pytest.approx(1)
    assert read(b"POLYGON Z((0 0 9,2 0 9,2 1 9,0 0 9))", "a", READING).area.area == pytest.approx(1)


def test_features_without_a_place_are_nothing() -> None:
    empty = {"type": "Polygon", "coordinates": []}
    data = geojson(feature(SQUARE), {"type": "Feature", "properties": None, "geometry": None}, feature(empty))
    assert read(data, "a", READING).area.equals(SQUARE)


@pytest.mark.parametrize("data", [geojson(feature(SQUARE)), SQUARE.wkt.encode()])
def test_the_unit_is_mm_unless_another_is_given(data: bytes) -> None:
    assert read(data, "a", READING).bounds == (1, 2, 3, 5)
    design = read(data, "a", Reading(1e-3, unit="in"))
    assert design.bounds == pytest.approx((25.4, 50.8, 76.2, 127))
    assert "in in" in design.source[0]


def test_layers_are_chosen_by_the_property() -> None:
    data = geojson(feature(SQUARE, layer="top"), feature(shapely.box(9, 9, 10, 10), layer="bottom"))
    assert read(data, "a", Reading(1e-3, layers=("top",))).area.equals(SQUARE)
    assert len(read(data, "a", Reading(1e-3, layers=("top", "bottom"))).area.geoms) == 2
    with pytest.raises(InputError, match=r"'tip'.*'top'"):
        read(data, "a", Reading(1e-3, layers=("tip",)))


def test_a_reference_system_gives_a_warning_and_is_not_looked_up() -> None:
    crs = {"type": "link", "properties": {"href": "http://localhost:1/crs", "type": "proj4"}}
    (warning,) = read(geojson(feature(SQUARE), crs=crs), "a", READING).warnings
    assert "crs" in warning
    assert read(b"SRID=4326;" + SQUARE.wkt.encode(), "a", READING).area.equals(SQUARE)


# Lines


@given(
    places=st.lists(st.tuples(st.integers(-500, 500), st.integers(-500, 500)), min_size=2, max_size=6),
    width=st.floats(0.05, 2),
)
def test_a_line_with_a_width_is_what_lies_that_near(places: list[tuple[int, int]], width: float) -> None:
    line = shapely.LineString(np.array(places) / 100)
    near = line.buffer(width / 2, quad_segs=200)
    for area in (
        read(geojson(feature(line, width=width)), "a", READING).area,
        from_geometry(line, width=width).area,
    ):
        assert differing_area(area, near) <= 1e-3 * near.length + 1e-9


def test_points_with_a_width_are_discs() -> None:
    points = shapely.MultiPoint([(0, 0), (5, 5)])
    area = from_geometry(points, width=2, tolerance=1e-4).area
    assert area.area == pytest.approx(2 * np.pi, rel=1e-3)
    assert read(geojson(feature(points, width=2)), "a", READING).area.area == pytest.approx(
        2 * np.pi, rel=1e-2
    )


def test_a_closed_line_has_no_ends() -> None:
    ring = shapely.LinearRing([(0, 0), (4, 0), (4, 3)])
    area = from_geometry(ring, width=0.2).area
    assert len(area.geoms[0].interiors) == 1
    assert differing_area(area, ring.buffer(0.1, quad_segs=100)) < 1e-3 * ring.length


def test_in_python_what_has_no_area_and_no_width_is_refused() -> None:
    with pytest.raises(InputError, match=r"geometry is a Point, which has no area"):
        from_geometry(shapely.Point(0, 0))


@pytest.mark.parametrize("width", [0, -1, "1", True, [1], float("inf"), 10**400])
def test_a_width_must_be_a_number_above_zero(width: Any) -> None:
    line = shapely.LineString([(0, 0), (1, 1)])
    with pytest.raises(InputError, match=r"width|finite|Infinity"):
        read(geojson(feature(line, width=width)), "a", READING)
    with pytest.raises(InputError, match="width"):
        from_geometry(line, width=width)


# Bad input

RING = '{"type":"Polygon","coordinates":[[[0,0],[1,0],[%s,1]]]}'
BAD = {
    "TopoJSON": (b'{"type": "Topology", "arcs": []}', "looks like TopoJSON"),
    "zeros": (b"POLYGON((0 0,\0 1))", "not text"),
    "text": (b"hello world", "the WKT is broken"),
    "a number": (b"12345", "neither GeoJSON nor WKT"),
    "a list": (b"[1, 2]", "it holds a list"),
    "other JSON": (b'{"polygons": []}', "not an object with a type"),
    "features missing": (b'{"type": "FeatureCollection"}', "features are nothing"),
    "a feature of nothing": (b'{"type":"FeatureCollection","features":[5]}', "feature 1 is a number"),
    "no polygon": (geojson(), "none of its polygons has an area"),
    "flat": (b"POLYGON((0 0,1 1,2 2,0 0))", "none of its polygons has an area"),
    "empty WKT": (b"POLYGON EMPTY", "none of its polygons has an area"),
    "NaN": ((RING % "NaN").encode(), "the JSON holds NaN"),
    "infinity": ((RING % "-Infinity").encode(), "the JSON holds -Infinity"),
    "overflow": ((RING % "1e999").encode(), "not finite"),
    "large integer": ((RING % ("9" * 400)).encode(), "not finite"),
    "very large integer": ((RING % ("9" * 9999)).encode(), "cannot be read"),
    "gigantic": ((RING % "1e300").encode(), "from the origin"),
    "a word": ((RING % '"1"').encode(), "the position ['1', 1]"),
    "nothing": ((RING % "null").encode(), "the position [None, 1]"),
    "one number": (b'{"type":"Polygon","coordinates":[[[0,0],[1],[1,1]]]}', "the position [1]"),
    "two positions": (b'{"type":"Polygon","coordinates":[[[0,0],[1,1]]]}', "a ring of 2 positions"),
    "flat list": (b'{"type":"Polygon","coordinates":[0,0,1,1]}', "a number where a list"),
    "cut off": (as_geojson(0.01)[:-9], "broken or cut off"),
    "WKT that is cut off": (as_wkt(0.01)[:-9], "broken or cut off"),
    "no coordinates": (b'{"type":"MultiPolygon"}', "nothing where a list"),
    "deep JSON": (b"[" * 100_000, "nested too deep"),
    "deep collections": (
        b'{"type":"GeometryCollection","geometries":[' * 300 + b"]}" * 300,
        "nests collections more than 50 deep",
    ),
    "NaN in WKT": (b"POLYGON((0 0,nan 1,1 1,0 0))", "not finite"),
    "infinity in WKT": (b"POLYGON((0 0,inf 1,1 1,0 0))", "not finite"),
    "gigantic WKT": (b"POLYGON((0 0,1e300 1,1 1,0 0))", "from the origin"),
    "deep WKT": (b"GEOMETRYCOLLECTION(" * 100_000, "nests geometries 100000 deep, but 50 is the most"),
    "curves": (b"CURVEPOLYGON(CIRCULARSTRING(0 0,4 0,4 4,0 4,0 0))", ""),
    "not closed": (b"POLYGON((0 0,1 0,1 1))", "the WKT is broken"),
    "two words": (b"POLYGON((0 0,1 0,1 1,0 0)) and more", "the WKT is broken"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_sentence_that_names_it(case: str, tmp_path: Path) -> None:
    content, words = BAD[case]
    assert words in refusal(tmp_path / "bad.geojson", content)


@pytest.mark.parametrize("geometry", [None, "POLYGON((0 0,1 0,1 1,0 0))", [SQUARE]])
def test_only_geometry_is_taken(geometry: Any) -> None:
    with pytest.raises(InputError, match="must be a shapely geometry"):
        from_geometry(geometry)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_geometry_must_be_finite(value: float) -> None:
    with np.errstate(all="ignore"), pytest.raises(InputError, match=r"not finite|from the origin"):
        from_geometry(shapely.Polygon([(0, 0), (value, 0), (1, 1)]))


def squares(n: int) -> list[str]:
    """n × n squares, 0.5 mm wide."""
    corners = [(i, j) for i in range(n) for j in range(n)]
    return [f"[[[{i},{j}],[{i}.5,{j}],[{i}.5,{j}.5],[{i},{j}.5],[{i},{j}]]]" for i, j in corners]


def many(n: int) -> bytes:
    return f'{{"type":"MultiPolygon","coordinates":[{",".join(squares(n))}]}}'.encode()


@pytest.mark.slow
def test_forty_thousand_polygons_take_a_second() -> None:
    """Measured 0.6 s; the bound catches quadratic growth."""
    data = many(200)
    design = within(20, lambda: read(data, "a", READING))
    assert design.area.area == pytest.approx(10_000)


def test_a_file_that_would_fill_the_memory_is_refused() -> None:
    some = r"about \S+ MiB of memory, but 10 MiB is the limit: split the file, or --limit memory=1\dMiB"
    with limits(memory=10 << 20), pytest.raises(InputError, match=some):
        read(many(100), "a", READING)
