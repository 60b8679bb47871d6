"""Layers of an SVG: Inkscape's by label, any group by id; and the unit of a page that names none."""

from __future__ import annotations

from pathlib import Path

import pytest
import shapely
from shapes import NODING, differing_area

from laserpath.base.errors import InputError
from laserpath.design.reading import Reading
from laserpath.design.svg import read
from laserpath.types import Design

FILE = (Path(__file__).parents[1] / "data" / "drawings" / "svg_torture_layers.svg").read_text(
    encoding="utf-8"
)
ROOT = '<svg xmlns="http://www.w3.org/2000/svg" width="100mm" height="100mm" viewBox="0 0 100 100">'


def layers(*names: str, svg: str = FILE) -> Design:
    return read(svg, "test", Reading(1e-3, layers=names))


def same(a: Design, b: shapely.Geometry) -> bool:
    return differing_area(a.area, b) < 1e-6 * b.area


def test_the_layers_of_a_drawing_without_overlaps_add_up_to_it() -> None:
    svg = f"""{ROOT}<g id="a" transform="scale(2)"><rect width="9" height="9"/></g>
    <g id="b"><circle cx="50" cy="50" r="20"/></g><rect id="c" y="80" width="9" height="9"/></svg>"""
    whole, a, b = layers(svg=svg), layers("a", svg=svg), layers("b", svg=svg)
    assert a.bounds == pytest.approx((0, 82, 18, 100))
    assert a.area.area + b.area.area + 81 == pytest.approx(whole.area.area)
    assert same(layers("a", "b", svg=svg), shapely.union(a.area, b.area, grid_size=NODING))
    assert a.page == whole.page


def test_a_layer_is_found_by_its_label_and_by_its_id() -> None:
    assert same(layers("Outline"), layers("layer1").area)
    assert same(layers("Not by this", svg=FILE.replace("Outline", "Not by this")), layers("layer1").area)


def test_a_layer_keeps_the_transforms_styles_and_clips_around_it() -> None:
    """The left half is moved by its parent, rotated and clipped; the right half is a clone of its shape."""
    left, right = layers("Left half"), layers("Right half")
    assert same(layers("Left half", "Right half"), shapely.union(left.area, right.area, grid_size=NODING))
    assert same(layers("Parts"), shapely.union(left.area, right.area, grid_size=NODING))
    whole = layers().area
    assert shapely.difference(left.area, whole, grid_size=NODING).area < 1e-6
    assert shapely.difference(right.area, whole, grid_size=NODING).area < 1e-6


def test_what_a_layer_refers_to_may_lie_in_another() -> None:
    assert layers("Right half").bounds[0] > 25


def test_white_of_another_layer_removes_nothing() -> None:
    black, white = '<rect width="90" height="90"/>', '<rect width="50" height="50" fill="white"/>'
    svg = f'{ROOT}<g id="a">{black}</g><g id="b">{white}</g></svg>'
    assert layers(svg=svg).area.area == pytest.approx(8100 - 2500)
    assert layers("a", svg=svg).area.area == pytest.approx(8100)


def test_a_layer_that_is_switched_off_is_read_if_it_is_chosen() -> None:
    svg = f"""{ROOT}<g id="outer" display="none"><g id="inner" style="display:none">
    <rect width="9" height="9"/><g id="draft" display="none"><rect y="50" width="9" height="9"/></g></g></g>
    <rect x="50" width="5" height="5"/></svg>"""
    assert layers(svg=svg).area.area == pytest.approx(25)
    assert layers("inner", svg=svg).area.area == pytest.approx(81)
    assert layers("draft", svg=svg).area.area == pytest.approx(81)
    assert layers("draft", svg=svg).bounds[1] == pytest.approx(41)
    with pytest.raises(InputError, match="empty"):
        layers("outer", svg=svg)  # what is hidden inside it stays hidden


def test_text_in_a_layer_that_is_not_chosen_gives_no_warning() -> None:
    assert layers("Outline", "Parts").area.area > 0
    assert layers("Outline", "Parts").warnings == ()
    assert any("'word': text is left out" in warning for warning in layers("Notes").warnings)


def test_groups_inside_what_is_not_drawn_are_no_layers() -> None:
    square = '<rect width="9" height="9"/>'
    svg = f'{ROOT}<defs><g id="spare">{square}</g></defs><g id="used">{square}</g></svg>'
    with pytest.raises(InputError, match="'spare' is unknown; known: 'used'"):
        layers("spare", svg=svg)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Outlin", "did you mean 'Outline'?"),
        ("outline", "did you mean 'Outline'?"),
        ("left half", "did you mean 'Left half'"),
        ("Not a layer", "known: 'Outline', 'Parts', 'Left half', 'Right half', 'Notes', 'Words', 'layer1'"),
        ("xyzzy", "layer 'xyzzy' is unknown; known: "),
    ],
)
def test_an_unknown_layer_is_an_error_with_the_known_ones(name: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        layers("Outline", name)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_without_groups_says_so() -> None:
    with pytest.raises(InputError, match="the file has no layers"):
        layers("a", svg=f'{ROOT}<rect width="9" height="9"/></svg>')


def test_the_source_names_the_layers() -> None:
    assert layers("Outline", "Parts").source == ("layers 'Outline', 'Parts'",)
    assert layers().source == ()


# The unit


@pytest.mark.parametrize(
    ("unit", "mm"), [("mm", 1), ("um", 1e-3), ("in", 25.4), ("cm", 10), (None, 25.4 / 96)]
)
@pytest.mark.parametrize(
    "size", ['width="40" height="20"', 'viewBox="0 0 40 20"', 'width="40" viewBox="0 0 40 20"', ""]
)
def test_a_page_without_a_unit_counts_in_the_one_given(unit: str | None, mm: float, size: str) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect x="5" width="8" height="4"/></svg>'
    design = read(svg, "test", Reading(1e-4 * mm, unit=unit))
    assert design.size == pytest.approx((8 * mm, 4 * mm))
    if size:
        assert design.page == pytest.approx((0, 0, 40 * mm, 20 * mm))
    if unit is not None:
        assert design.warnings == ()


def test_a_page_that_names_its_unit_keeps_it() -> None:
    svg = f'{ROOT}<rect width="8" height="4"/></svg>'
    assert read(svg, "test", Reading(1e-3, unit="in")).size == pytest.approx((8, 4))
    px = svg.replace("100mm", "96px").replace("0 0 100 100", "0 0 8 8")
    assert read(px, "test", Reading(1e-3, unit="mm")).size == pytest.approx((25.4, 12.7))


def test_the_toolpath_that_inkscape_shows_is_not_a_part_of_the_drawing() -> None:
    path = '<g id="laserpath-toolpath"><path d="M0 0h9v9h-9z"/></g>'
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9mm" height="9mm" viewBox="0 0 9 9">{}</svg>'
    square = '<rect x="1" y="1" width="2" height="2"/>'
    design = read(drawing.format(square + path), "test", Reading(0.01))
    assert design.area.area == pytest.approx(4)
    assert any("toolpath that laserpath drew is left out" in warning for warning in design.warnings)
