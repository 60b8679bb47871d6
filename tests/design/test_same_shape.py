"""One shape gives one design from every format, within the flattening tolerance."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

import in_process
import pytest
import shapely
from same_shape import AREA, PAGE, as_geojson, as_gerber, as_png, as_svg, as_wkt, shape
from same_shape_cad import as_dxf, as_gds
from sets import one_fast
from shapes import differing_area

from laserpath.design.reading import Reading
from laserpath.types import Design

pytestmark = in_process.HERE

TOLERANCE = 0.005  # mm
PIXELS_PER_MM = 200  # corners are rounded within a pixel

FORMATS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "svg": ("svg", as_svg),
    "gerber": ("gerber", as_gerber),
    "png": ("image", lambda: as_png(PIXELS_PER_MM)),
    "geojson": ("vector", as_geojson),
    "wkt": ("vector", as_wkt),
    "dxf": ("dxf", as_dxf),
    "gds": ("gds", as_gds),
    "oasis": ("gds", lambda: as_gds(oasis=True)),
}


@cache
def design(format_: str) -> Design:
    """The shape read from the format."""
    module, write = FORMATS[format_]
    read: Callable[[bytes, str, Reading], Design] = import_module(f"laserpath.design.{module}").read
    return read(write(), "shape", Reading(TOLERANCE))


@pytest.mark.parametrize("format_", one_fast(FORMATS, *(set(FORMATS) - {"png"})))
def test_it_is_the_shape_itself(format_: str) -> None:
    area, expected = design(format_).area, shape()
    assert len(area.geoms) == 2 and sum(len(part.interiors) for part in area.geoms) == 1
    assert differing_area(area, expected) <= TOLERANCE * expected.length
    assert shapely.hausdorff_distance(area.boundary, expected.boundary, densify=0.5) <= TOLERANCE
    assert area.area == pytest.approx(AREA, rel=1e-3)


@pytest.mark.parametrize("format_", ["svg", "png"])
def test_the_page_comes_along(format_: str) -> None:
    assert design(format_).page == pytest.approx((0, 0, *PAGE))


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_is_warned_of(format_: str) -> None:
    assert design(format_).warnings == ()
