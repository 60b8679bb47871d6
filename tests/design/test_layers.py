"""The layers of a drawing as one design each: the same in every format, and all with one zero."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gdstk
import in_process
import pytest
import shapely
from same_shape import feature, geojson
from same_shape_cad import dxf, written
from shapes import differing_area

from laserpath.base.errors import InputError
from laserpath.design import Arrangement, Reading, found_parts, load, load_layers

pytestmark = in_process.HERE

BOXES = {"1": (2.0, 1.0, 4.0, 2.0), "2": (5.0, 3.0, 6.0, 4.5), "3": (0.5, 0.5, 1.0, 1.0)}
"""Layer → its only shape, mm."""
HULL = (0.5, 0.5, 6.0, 4.5)
PAGE = 'xmlns="http://www.w3.org/2000/svg" width="8mm" height="6mm" viewBox="0 0 8 6"'


def as_svg(page: str = PAGE, hidden: str = "") -> bytes:
    """Inkscape's layers, in one of which there is a group."""
    space = "http://www.inkscape.org/namespaces/inkscape"
    style = {name: ' style="display:none"' if name == hidden else "" for name in BOXES}
    groups = "".join(
        f'<g xmlns:i="{space}" i:groupmode="layer" i:label="{name}" id="g{name}"'
        f'{style[name]}><g id="in{name}">'
        f'<rect x="{x0}" y="{6 - y1}" width="{x1 - x0}" height="{y1 - y0}"/></g></g>'
        for name, (x0, y0, x1, y1) in BOXES.items()
    )
    return f"<svg {page}>{groups}</svg>".encode()


def as_dxf(x: float = 0.0, off: str = "") -> bytes:
    """x: mm by which the drawing is moved.  off: a layer that is switched off."""

    def draw(document: Any, model: Any) -> None:
        document.layers.add("empty")
        for name, (x0, y0, x1, y1) in BOXES.items():
            layer = document.layers.add(name)
            corners = [(x0 + x, y0), (x1 + x, y0), (x1 + x, y1), (x0 + x, y1)]
            model.add_lwpolyline(corners, close=True, dxfattribs={"layer": name})
            if name == off:
                layer.off()

    return dxf(draw)


def as_gds(oasis: bool = False) -> bytes:
    library = gdstk.Library(unit=1e-6, precision=1e-9)
    cell = library.new_cell("TOP")
    for name, (x0, y0, x1, y1) in BOXES.items():
        cell.add(gdstk.rectangle((1e3 * x0, 1e3 * y0), (1e3 * x1, 1e3 * y1), layer=int(name)))
    return written(library, oasis)


def as_geojson() -> bytes:
    return geojson(*(feature(shapely.box(*box), layer=name) for name, box in BOXES.items()))


FILES: dict[str, Callable[[], bytes]] = {
    "a.svg": as_svg, "a.dxf": as_dxf, "a.gds": as_gds, "a.oas": lambda: as_gds(oasis=True),
    "a.geojson": as_geojson,
}  # fmt: skip


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    path.write_bytes(FILES[request.param]())
    return path


def names(path: Path) -> dict[str, bool]:
    """The layers that are found in a file, and whether each is shown."""
    return {one.name: one.shown for one in found_parts(path, Reading(0.001))}


def test_a_design_for_each_layer_in_the_order_asked_for(file: Path) -> None:
    parts = load_layers(file, ["3", "1"], tolerance=0.001)
    assert [one.name for one in parts] == ["a-3", "a-1"]
    for one, name in zip(parts, ("3", "1"), strict=True):
        assert differing_area(one.area, shapely.box(*BOXES[name])) < 1e-6
        assert one.part
        assert (one.part.drawing, one.part.name, one.part.kind) == ("a", name, "layer")
        assert one.extent == pytest.approx(
            (0.5, 0.5, 4, 2)
        )  # of both, but not of the layer that is not listed


def test_layers_that_are_not_listed_are_named(file: Path) -> None:
    """But for those of a layout, which has dozens."""
    told = [] if file.suffix in (".gds", ".oas") else ["layers '1', '2' are not listed, and are left out"]
    (one,) = load_layers(file, ["3"], tolerance=0.001)
    assert [text for text in one.warnings if "listed" in text] == told
    (one,) = load_layers(file, list(BOXES), tolerance=0.001, reading=Reading(0.001, layers=("1",)))
    assert not any("listed" in text for text in one.warnings)


def test_layers_that_are_not_wanted_still_size_and_place_the_drawing(file: Path) -> None:
    reading, double = Reading(0.001, layers=("1",)), Arrangement(size=(11.0, None))
    (one,) = load_layers(file, list(BOXES), tolerance=0.001, reading=reading, arrangement=double)
    assert one.bounds == pytest.approx([2 * value for value in BOXES["1"]], abs=1e-3)
    assert one.extent == pytest.approx([2 * value for value in HULL], abs=1e-3)
    assert load(
        file, tolerance=0.001, reading=Reading(0.001, ("1",), split=tuple(BOXES))
    ).extent == pytest.approx(HULL)


def test_a_layer_that_is_not_there_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match=r"layer '?7\b"):
        load_layers(file, ["1", "7"], tolerance=0.001)


def test_the_layers_are_listed(file: Path) -> None:
    """Of a layout only the layer that is read without --layer counts as shown."""
    found = names(file)
    assert list(found) == [f"{name}/0" if file.suffix in (".gds", ".oas") else name for name in BOXES]
    assert list(found.values()) == ([True, False, False] if file.suffix in (".gds", ".oas") else [True] * 3)


def test_hidden_layers_are_listed_as_such_and_can_be_read(tmp_path: Path) -> None:
    for name, data in (("a.svg", as_svg(hidden="2")), ("a.dxf", as_dxf(off="2"))):
        path = tmp_path / name
        path.write_bytes(data)
        assert names(path) == {"1": True, "2": False, "3": True}
        (one,) = load_layers(path, ["2"], tolerance=0.001)
        assert one.area.area == pytest.approx(1.5)


def test_without_inkscapes_layers_the_outermost_groups_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_bytes(as_svg().replace(b"i:label", b"data"))
    assert list(names(path)) == ["g1", "g2", "g3"]
    assert load_layers(path, ["g1"], tolerance=0.001)[0].area.area == pytest.approx(2)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(as_svg('xmlns="http://www.w3.org/2000/svg"'), id="no page.svg"),
        pytest.param(as_dxf(x=2e8), id="far away.dxf"),
    ],
)
def test_layers_stay_in_register_where_the_drawing_is_moved(data: bytes, tmp_path: Path) -> None:
    """A drawing without a page, or 200 km from its origin, is moved as a whole, and not each layer of it."""
    path = tmp_path / ("a.svg" if data.startswith(b"<") else "a.dxf")
    path.write_bytes(data)
    one, two, three = (part.bounds for part in load_layers(path, list(BOXES), tolerance=0.001))
    px = (one[2] - one[0]) / 2
    for found, name in ((two, "2"), (three, "3")):
        for k in range(4):
            assert found[k] - one[k % 2] == pytest.approx(px * (BOXES[name][k] - BOXES["1"][k % 2]), abs=1e-4)


def test_an_empty_layer_is_refused_if_it_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_bytes(as_svg().replace(b"</svg>", b'<g id="empty"/></svg>'))
    with pytest.raises(InputError, match="layer 'empty': the design is empty"):
        load_layers(path, ["1", "empty"], tolerance=0.001)
    assert len(load_layers(path, ["1", "empty"], tolerance=0.001, reading=Reading(0.001, ("1",)))) == 1


def test_file_names_of_layers_are_plain_and_differ(tmp_path: Path) -> None:
    path = tmp_path / "a.geojson"
    layers = ["a/b", "A b", "..", "größe", "x" * 300]
    path.write_bytes(geojson(*(feature(shapely.box(0, 0, 1, 1), layer=name) for name in layers)))
    found = [one.name for one in load_layers(path, layers, tolerance=0.001)]
    assert found == ["a-a-b", "a-A-b-2", "a-3", "a-größe", "a-" + "x" * 60]


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("a.wkt", b"POLYGON ((0 0, 1 0, 1 1, 0 0))", "WKT has no layers, but layer '1' is requested"),
        (
            "a.gbr",
            b"%FSLAX26Y26*%%MOMM*%%ADD10C,1*%D10*X0Y0D03*M02*",
            "--layers says nothing about Gerber files",
        ),
    ],
)
def test_formats_without_layers_say_so(name: str, data: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=sentence):
        load_layers(tmp_path / name, ["1"], tolerance=0.001)
    assert names(tmp_path / name) == {}


def test_a_reading_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(
        InputError, match="layer 'text' is none of the --layers 'texts'; did you mean 'texts'"
    ):
        Reading(0.1, ("text",), split=("texts",))
    with pytest.raises(InputError, match="--colours and --layers both say"):
        Reading(0.1, colours=2, split=("a",))
    with pytest.raises(InputError, match="layer 'a' is listed twice"):
        Reading(0.1, split=("a", "a"))
