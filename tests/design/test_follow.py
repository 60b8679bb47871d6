"""Line mode: the lines of a drawing with their widths, from every format that has lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boards
import gdstk
import in_process
import numpy as np
import pytest
import shapely
from same_shape import feature, geojson
from same_shape_cad import dxf, written
from shapes import differing_area, plus

from laserpath.base.errors import InputError
from laserpath.design import load, load_colours, load_layers
from laserpath.design.arrange import Arrangement, Repeat
from laserpath.design.reading import Reading
from laserpath.machine.placement import placed
from laserpath.types import Design, Machine, Resin, Spot

pytestmark = in_process.HERE

TOLERANCE = 0.001
BENT, STRAIGHT = [(1.0, 1.0), (3.0, 2.0), (5.0, 1.0)], [(1.0, 3.0), (5.0, 3.0)]
WIDTHS = (0.2, 0.1)


def svg() -> bytes:
    """Both lines, y down on a page of 6 × 4 mm, in groups that move and scale; a filled box; a white line."""
    return b"""<svg xmlns="http://www.w3.org/2000/svg" width="6mm" height="4mm" viewBox="0 0 6 4" fill="none">
    <g transform="translate(1 2) scale(2)" stroke="#000"><path d="M0 .5 L1 0 L2 .5" stroke-width=".1"/></g>
    <path d="M1 1 H5" stroke="black" stroke-width=".1" stroke-linecap="square"/>
    <rect x="1" y="1" width="1" height="1" fill="black"/><path d="M0 0 H6" stroke="white"/></svg>"""


def gerber() -> bytes:
    draws = [boards.line(f"D{10 + k}", *line) for k, line in enumerate((BENT, STRAIGHT))]
    head = "%FSLAX36Y36*%\n%MOMM*%\n%ADD10C,0.2*%\n%ADD11C,0.1*%\nG01*\n"
    return (head + "\n".join([*draws, boards.at(0, 0, "D03")]) + "\nM02*\n").encode()


def as_geojson() -> bytes:
    lines = [
        feature(shapely.LineString(line), width=width)
        for line, width in zip((BENT, STRAIGHT), WIDTHS, strict=True)
    ]
    return geojson(*lines, feature(shapely.Polygon([(0, 0), (1, 0), (1, 1)])))


def gds() -> bytes:
    """The lines at half their size, in a cell that is placed turned and magnified."""
    library = gdstk.Library(unit=1e-3, precision=1e-9)
    cell, top = library.new_cell("lines"), library.new_cell("top")
    for line, width in zip((BENT, STRAIGHT), WIDTHS, strict=True):
        xy = np.array(line) @ [[0, -1], [1, 0]] / 2  # turned by -90 degrees
        cell.add(gdstk.FlexPath(xy, width / 2, simple_path=True))
    top.add(gdstk.Reference(cell, rotation=np.pi / 2, magnification=2))
    return written(library)


def as_dxf() -> bytes:
    """The lines have no width; one is drawn twice, and a hatch is filled."""

    def draw(_: Any, model: Any) -> None:
        model.add_lwpolyline(BENT)
        model.add_line(*STRAIGHT)
        model.add_line(*STRAIGHT[::-1])
        model.add_hatch().paths.add_polyline_path([(0, 0), (1, 0), (1, 1)])

    return dxf(draw)


def wide_dxf() -> bytes:
    """Polylines with widths, in a block that is placed at twice its size and turned."""

    def draw(document: Any, model: Any) -> None:
        block = document.blocks.new("lines")
        for line, width in zip((BENT, STRAIGHT), WIDTHS, strict=True):
            turned = np.array(line) @ [[0, -1], [1, 0]] / 2
            block.add_lwpolyline(turned.tolist()).dxf.const_width = width / 2
        model.add_blockref("lines", (0, 0), {"xscale": 2, "yscale": 2, "rotation": 90})

    return dxf(draw)


def wkt() -> bytes:
    return shapely.MultiLineString([BENT, STRAIGHT]).wkt.encode()


def followed(
    folder: Path, suffix: str, data: bytes, arrangement: Arrangement | None = None, **options: object
) -> Design:
    path = folder / f"drawn.{suffix}"
    path.write_bytes(data)
    reading = Reading(TOLERANCE, follow=True, **options)  # type: ignore[arg-type]
    return load(path, tolerance=TOLERANCE, reading=reading, arrangement=arrangement)


def drawn(design: Design) -> dict[float, list[tuple[float, float]]]:
    """Width → vertices of each line, from the left."""
    assert design.lines is not None
    lines = [np.round(shapely.get_coordinates(one), 6) for one in design.lines.paths.geoms]
    return {
        round(width, 6): [
            tuple(point) for point in (line if line[0, 0] < line[-1, 0] else line[::-1]).tolist()
        ]
        for line, width in zip(lines, design.lines.widths, strict=True)
    }


@pytest.mark.parametrize(("suffix", "left"), [("svg", 1), ("gbr", 1), ("geojson", 1), ("gds", 0), ("dxf", 0)])
def test_lines_and_widths_are_those_of_the_file(suffix: str, left: int, tmp_path: Path) -> None:
    makers = {"svg": svg, "gbr": gerber, "geojson": as_geojson, "gds": gds, "dxf": wide_dxf}
    design = followed(tmp_path, suffix, makers[suffix]())
    assert drawn(design) == {0.2: BENT, 0.1: STRAIGHT}
    pens = [
        shapely.LineString(line).buffer(width / 2, quad_segs=64)
        for line, width in zip((BENT, STRAIGHT), WIDTHS, strict=True)
    ]
    assert differing_area(design.area, plus(*pens)) < 0.01
    assert any("filled shape is left out" in one for one in design.warnings) == bool(left)
    assert "2 lines followed" in design.source
    assert "follow = true" in design.recipe


@pytest.mark.parametrize(("suffix", "data"), [("dxf", as_dxf), ("wkt", wkt)])
def test_lines_without_a_width_take_the_given_one_or_the_spot_s(suffix: str, data, tmp_path: Path) -> None:
    """A line that is drawn twice counts once; the width is that on the part."""
    given = followed(tmp_path, suffix, data(), Arrangement(scale=0.5), line_width=0.3)
    assert given.lines is not None
    assert given.lines.widths == pytest.approx((0.3, 0.3))
    assert shapely.total_bounds(given.lines.paths) == pytest.approx([0.5, 0.5, 2.5, 1.5])
    spot = followed(tmp_path, suffix, data())
    assert spot.lines is not None and spot.lines.widths == pytest.approx((50 * TOLERANCE,) * 2)
    assert any("2 lines have no width" in one for one in spot.warnings)


def test_lines_are_arranged_and_placed_with_their_area(tmp_path: Path) -> None:
    arrangement = Arrangement(mirror="x", rotate=90, scale=2, repeat=Repeat(2, 1, (20, 20)))
    design = placed(
        followed(tmp_path, "svg", svg(), arrangement), Resin(), Machine(), Spot(), "design"
    ).design
    assert design.lines is not None
    assert sorted(np.round(design.lines.widths, 9)) == [0.2, 0.2, 0.4, 0.4]
    pens = [
        line.buffer(width / 2, quad_segs=64)
        for line, width in zip(design.lines.paths.geoms, design.lines.widths, strict=True)
    ]
    assert differing_area(design.area, plus(*pens)) < 0.04


def in_layers(suffix: str) -> tuple[bytes, list[str]]:
    """A bent line in the first layer, a straight one in the second, and in the third a filled square."""
    square = shapely.box(1, 1, 2, 2)
    if suffix == "svg":
        head = (
            b'<svg xmlns="http://www.w3.org/2000/svg" width="6mm" height="4mm" viewBox="0 0 6 4" fill="none">'
        )
        groups = b"""<g id="a" stroke="#c00"><path d="M1 3 L3 2 L5 3" stroke-width=".2"/></g>
        <g id="b" stroke="#00c"><path d="M1 1 H5" stroke-width=".1"/></g>
        <g id="c"><rect x="1" y="2" width="1" height="1" fill="black"/></g></svg>"""
        return head + groups, ["a", "b", "c"]
    if suffix == "geojson":
        lines = zip((BENT, STRAIGHT), WIDTHS, "ab", strict=True)
        made = (feature(shapely.LineString(xy), width=width, layer=name) for xy, width, name in lines)
        return geojson(*made, feature(square, layer="c")), ["a", "b", "c"]
    if suffix == "dxf":

        def draw(_: Any, model: Any) -> None:
            for line, width, name in zip((BENT, STRAIGHT), WIDTHS, "ab", strict=True):
                model.add_lwpolyline(line, dxfattribs={"layer": name}).dxf.const_width = width
            hatch = model.add_hatch(dxfattribs={"layer": "c"})
            hatch.paths.add_polyline_path(list(square.exterior.coords)[:-1])

        return dxf(draw), ["a", "b", "c"]
    library = gdstk.Library(unit=1e-3, precision=1e-9)
    cell = library.new_cell("top")
    for k, (line, width) in enumerate(zip((BENT, STRAIGHT), WIDTHS, strict=True), 1):
        cell.add(gdstk.FlexPath(line, width, simple_path=True, layer=k))
    cell.add(gdstk.rectangle((1, 1), (2, 2), layer=3))
    return written(library), ["1/0", "2/0", "3/0"]


@pytest.mark.parametrize("suffix", ["svg", "geojson", "dxf", "gds"])
def test_each_layer_is_followed_or_filled(suffix: str, tmp_path: Path) -> None:
    """All with one zero, and the lines of a layer as if it were followed alone."""
    data, names = in_layers(suffix)
    path = tmp_path / f"drawn.{suffix}"
    path.write_bytes(data)
    reading = Reading(TOLERANCE, followed=tuple(names[:2]))
    bent, straight, filled = load_layers(path, names, tolerance=TOLERANCE, reading=reading)
    assert (drawn(bent), drawn(straight)) == ({0.2: BENT}, {0.1: STRAIGHT})
    assert filled.lines is None
    assert differing_area(filled.area, shapely.box(1, 1, 2, 2)) < 1e-6
    assert len({one.extent for one in (bent, straight, filled)}) == 1
    listed = ", ".join([*(f'{{name = "{name}", follow = true}}' for name in names[:2]), f'"{names[2]}"'])
    assert f"layers = [{listed}]" in bent.recipe and f"layers = [{listed}]" in filled.recipe
    with pytest.raises(InputError, match=f"layer '{names[2]}': there is no line to follow"):
        load_layers(path, names, tolerance=TOLERANCE, reading=Reading(TOLERANCE, follow=True))


def test_each_colour_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "drawn.svg"
    path.write_bytes(in_layers("svg")[0])
    reading = Reading(TOLERANCE, follow=True)
    red, blue = load_colours(path, 2, tolerance=TOLERANCE, reading=reading)
    assert (drawn(red), drawn(blue)) == ({0.2: BENT}, {0.1: STRAIGHT})
    assert red.page == blue.page == (0, 0, 6, 4)
    assert red.extent == blue.extent
    assert any("1 filled shape is left out" in one for one in red.warnings)
    with pytest.raises(InputError, match="colours is 3, but only 2 colours besides the paper"):
        load_colours(path, 3, tolerance=TOLERANCE, reading=reading)


def test_a_line_is_cut_where_its_clip_ends(tmp_path: Path) -> None:
    clipped = b"""<svg xmlns="http://www.w3.org/2000/svg" width="6mm" height="4mm" viewBox="0 0 6 4">
    <clipPath id="a"><rect x="2" y="0" width="2" height="4"/></clipPath>
    <path clip-path="url(#a)" d="M1 1 H5" stroke="black" stroke-width=".1"/></svg>"""
    assert drawn(followed(tmp_path, "svg", clipped)) == {0.1: [(2, 3), (4, 3)]}


def test_what_has_no_lines_is_refused_in_one_sentence(tmp_path: Path) -> None:
    filled = (
        b'<svg xmlns="http://www.w3.org/2000/svg" width="2mm" height="2mm"><rect width="3" height="3"/></svg>'
    )
    with pytest.raises(InputError, match="there is no line to follow, only 1 filled shape: without --follow"):
        followed(tmp_path, "svg", filled)
    with pytest.raises(InputError, match="--negative cannot be used with --follow"):
        followed(tmp_path, "svg", svg(), Arrangement(negative=True))
    with pytest.raises(InputError, match="--follow needs a negative tone"):
        placed(followed(tmp_path, "svg", svg()), Resin(tone="positive"), Machine(), Spot())
    polygon = gdstk.Library(unit=1e-3, precision=1e-9)
    polygon.new_cell("top").add(gdstk.rectangle((0, 0), (1, 1)))
    with pytest.raises(InputError, match="there is no line to follow: cell 'top' has no path"):
        followed(tmp_path, "gds", written(polygon))
