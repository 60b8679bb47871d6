"""Groups, reuse, viewports, style sheets, clips and paint order, by areas in closed form."""

from __future__ import annotations

import math
import re

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from sets import examples

from laserpath.base.errors import InputError
from laserpath.design.reading import Reading
from laserpath.design.svg import read
from laserpath.types import Design

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
MM = f'{NS} width="100mm" height="100mm" viewBox="0 0 100 100"'
PX = 25.4 / 96


def svg(body: str, attributes: str = MM) -> Design:
    return read(f"<svg {attributes}>{body}</svg>", "test", Reading(1e-3))


def area(body: str, attributes: str = MM) -> float:
    return svg(body, attributes).area.area


def box(body: str, attributes: str = MM) -> tuple[float, float, float, float]:
    """Bounds with y down, as in the file."""
    design = svg(body, attributes)
    assert design.page is not None
    x0, y0, x1, y1 = design.bounds
    return x0, design.page[3] - y1, x1, design.page[3] - y0


# The page


@pytest.mark.parametrize(
    ("attributes", "page"),
    [
        ('width="100mm" height="5cm"', (100, 50)),
        ('width="192" height="96px"', (50.8, 25.4)),
        ('width="2in" height="72pt"', (50.8, 25.4)),
        ('width="40mm" viewBox="0 0 20 10"', (40, 20)),
        ('height="40mm" viewBox="0 0 20 10"', (80, 40)),
        ('width="100%" height="100%" viewBox="0 0 96 192"', (25.4, 50.8)),
        ('viewBox="0 0 96 192"', (25.4, 50.8)),
    ],
)
def test_page_size(attributes: str, page: tuple[float, float]) -> None:
    design = svg('<rect width="5" height="5"/>', f"{NS} {attributes}")
    assert design.page == pytest.approx((0, 0, *page))


def test_a_page_without_size_is_in_px_with_a_warning() -> None:
    design = svg('<rect width="12" height="12"/>', f'{NS} viewBox="0 0 24 24"')
    assert design.size == pytest.approx((12 * PX, 12 * PX))
    assert any("px" in warning for warning in design.warnings)


@pytest.mark.parametrize(
    ("aspect", "expected"),
    [
        ("", (30, 0, 70, 40)), ("xMinYMid", (0, 0, 40, 40)), ("xMaxYMid meet", (60, 0, 100, 40)),
        ("none", (0, 0, 100, 40)), ("xMidYMin slice", (0, 0, 100, 40)),
    ],
)  # fmt: skip
def test_preserve_aspect_ratio(aspect: str, expected: tuple[float, ...]) -> None:
    root = f'{NS} width="100mm" height="40mm" viewBox="5 5 10 10" preserveAspectRatio="{aspect}"'
    assert box('<rect x="5" y="5" width="10" height="10"/>', root) == pytest.approx(expected)


def test_what_lies_off_the_page_is_cut_with_a_warning() -> None:
    design = svg('<rect x="90" y="90" width="20" height="20"/>')
    assert design.area.area == pytest.approx(100)
    assert "300 mm²" in design.warnings[0]
    assert "outside the page" in design.warnings[0]


# Reuse and viewports


def test_use_draws_again_at_its_place_with_its_style() -> None:
    body = """<defs><rect id="r" width="10" height="10"/></defs>
    <defs><rect id="k" width="10" height="10" fill="black"/></defs>
    <use href="#r" x="5" y="6"/><use xlink:href="#r" transform="translate(40 0) scale(2)" x="1"/>
    <g fill="none"><use href="#r" y="50"/><use href="#k" y="70"/></g>"""
    assert area(body) == pytest.approx(100 + 400 + 100)
    assert box(body) == pytest.approx((0, 0, 62, 80))


def test_symbol_scales_its_viewbox_and_clips_to_it() -> None:
    symbol = '<symbol id="s" viewBox="0 0 10 10" {}><rect x="5" width="10" height="10"/></symbol>'
    use = '<use href="#s" x="10" y="20" width="30" height="30"/>'
    assert box(symbol.format("") + use) == pytest.approx((25, 20, 40, 50))
    assert box(symbol.format('overflow="visible"') + use) == pytest.approx((25, 20, 55, 50))
    wide = '<use href="#s" width="60" height="30"/>'
    assert box(symbol.format('preserveAspectRatio="xMaxYMid"') + wide) == pytest.approx((45, 0, 60, 30))


def test_nested_svg_has_its_own_units_percentages_and_window() -> None:
    inner = '<svg x="10" y="10" width="50%" height="20" viewBox="0 0 100 40">{}</svg>'
    assert box(inner.format('<rect width="50%" height="999"/>')) == pytest.approx((10, 10, 35, 30))


def test_percentages_of_radii_are_of_the_diagonal() -> None:
    wide = f'{NS} width="30mm" height="40mm" viewBox="0 0 30 40"'
    radius = 0.1 * math.hypot(30, 40) / math.sqrt(2)
    assert area('<circle cx="50%" cy="50%" r="10%"/>', wide) == pytest.approx(math.pi * radius**2, rel=2e-3)


def test_switch_takes_the_first_that_applies() -> None:
    body = """<switch><foreignObject requiredExtensions="http://example.com/x"><p>text</p></foreignObject>
    <rect systemLanguage="xx" width="90" height="90"/><rect width="10" height="10"/>
    <rect width="50" height="50"/></switch>"""
    assert area(body) == pytest.approx(100)


TILES = [(0.7 * column + 0.35 * row, 0.7 * row) for row in range(9) for column in range(9)]


def test_what_touches_is_one_area_without_a_slit() -> None:
    """Bricks that share edges only up to rounding: the contour is that of the wall, not of each brick."""
    bricks = "".join(f'<rect x="{x:.3f}" y="{y:.3f}" width=".7" height=".7"/>' for x, y in TILES)
    steps = 9 * (2 * 0.7) + 8 * 2 * 0.35 + 2 * 9 * 0.7
    wall = svg(f'<g transform="translate(50 20) rotate(30)">{bricks}</g>').area
    assert len(wall.geoms) == 1
    assert wall.area == pytest.approx(81 * 0.49, rel=1e-5)
    assert wall.length == pytest.approx(steps, rel=1e-5)
    hollow = svg(
        f'<g transform="rotate(30)"><rect x="35" width="20" height="20"/>'
        f'<g fill="white" transform="translate(40 5)">{bricks}</g></g>'
    ).area
    assert hollow.length == pytest.approx(80 + steps, rel=1e-5)
    assert shapely.get_precision(wall) == 0


# Style


@pytest.mark.parametrize(
    ("sheet", "attributes", "solid"),
    [
        ("rect{fill:none}", "", False),
        ("rect{fill:none}", 'style="fill:black"', True),
        ("rect{fill:none!important}", 'style="fill:black"', False),
        (".a{fill:none}", 'class="b a" fill="black"', False),
        ("#r{fill:black} .a{fill:none}", 'id="r" class="a"', True),
        ("g > .a{fill:none}", 'class="a"', False),
        ("svg > .a{fill:none}", 'class="a"', True),
        ("rect[width='20']{display:none}", "", False),
        ("@media print{rect{fill:none}}", "", True),
        ("@media screen{rect{fill:none}}", "", False),
        ("rect{fill:none} rect{fill:#000}", "", True),
        ("g{display:none}", "", False),
        ("g{visibility:hidden}", "", False),
        ("g{visibility:hidden} rect{visibility:visible}", "", True),
        ("g{fill:none}", 'fill="inherit"', False),
        ("g{color:white}", 'fill="currentColor"', False),
        ("g{opacity:0}", "", False),
        ("", 'fill-opacity="0"', False),
        ("", 'fill="transparent"', False),
        ("", 'fill="#00000000"', False),
        ("", 'style="/* fill:none */ fill: rgb(0 0 0)"', True),
    ],
)
def test_cascade(sheet: str, attributes: str, solid: bool) -> None:
    body = f'<style>{sheet}</style><g><rect width="20" height="20" {attributes}/></g>'
    assert (area(body + '<circle cx="60" cy="60" r="1"/>') > 100) is solid


def test_geometry_and_transforms_may_come_from_a_style_sheet() -> None:
    body = '<style>rect{width:40px;height:20px;transform:translate(10px,5px)}</style><rect width="1"/>'
    assert box(body) == pytest.approx((10, 5, 50, 25))
    turned = '<rect x="10" y="70" width="20" height="10" style="transform-box:fill-box;{}:rotate(90deg)"/>'
    assert box(turned.format("transform-origin:center;transform")) == pytest.approx((15, 65, 25, 85))


# Clips and masks

CIRCLE = '<circle cx="50" cy="50" r="30"/>'


def test_clip_is_the_union_of_its_shapes() -> None:
    body = f"""<clipPath id="c">{CIRCLE}<rect width="10" height="10"/></clipPath>
    <g clip-path="url(#c)"><rect width="50" height="100"/></g>"""
    assert area(body) == pytest.approx(math.pi * 450 + 100, rel=1e-3)


def test_clip_rule_counts_and_fill_does_not() -> None:
    rings = '<clipPath id="c"><path d="M0 0H90V90H0Z M30 30H60V60H30Z" fill="none" {}/></clipPath>'
    sheet = '<rect clip-path="url(#c)" width="100" height="100"/>'
    assert area(rings.format("") + sheet) == pytest.approx(8100)
    assert area(rings.format('clip-rule="evenodd"') + sheet) == pytest.approx(7200)
    assert area(rings.format('fill-rule="evenodd"') + sheet) == pytest.approx(8100)


def test_clip_in_units_of_the_bounding_box() -> None:
    half = '<clipPath id="c" clipPathUnits="objectBoundingBox"><rect width=".5" height="1"/></clipPath>'
    assert box(half + '<rect clip-path="url(#c)" x="20" y="10" width="40" height="6"/>') == pytest.approx(
        (20, 10, 40, 16)
    )
    group = (
        '<g clip-path="url(#c)"><rect x="20" width="10" height="6"/><rect x="50" width="30" height="6"/></g>'
    )
    assert area(half + group) == pytest.approx(60)
    stroked = (
        '<rect clip-path="url(#c)" x="20" y="20" width="40" height="40" stroke="black" stroke-width="10"/>'
    )
    assert box(half + stroked) == pytest.approx((20, 20, 40, 60))


def test_clips_of_clips_and_of_their_children() -> None:
    clips = """<clipPath id="a"><rect width="50" height="50"/></clipPath>
    <clipPath id="b" clip-path="url(#a)"><rect x="40" y="40" width="50" height="50"/></clipPath>
    <clipPath id="d"><rect clip-path="url(#a)" x="30" width="60" height="9"/></clipPath>"""
    sheet = '<rect clip-path="url(#{})" width="100" height="100"/>'
    assert area(clips + sheet.format("b")) == pytest.approx(100)
    assert area(clips + sheet.format("d")) == pytest.approx(180)
    both = f'<g clip-path="url(#a)">{sheet.format("d")}<rect x="49" y="49" width="9" height="9"/></g>'
    assert area(clips + both) == pytest.approx(180 + 1)


def test_clip_moves_with_the_element_and_by_its_own_transform() -> None:
    body = """<clipPath id="c" transform="translate(5 0)"><use href="#q"/></clipPath>
    <defs><rect id="q" width="10" height="10"/></defs>
    <g transform="scale(2) translate(10 10)" clip-path="url(#c)"><rect x="-9" width="60" height="60"/></g>"""
    assert box(body) == pytest.approx((30, 20, 50, 40))


def test_a_missing_clip_gives_a_warning_and_an_empty_one_hides() -> None:
    frame = '<rect x="90" width="1" height="1"/>'
    missing = svg('<rect clip-path="url(#zz)" width="10" height="10"/>')
    assert missing.area.area == pytest.approx(100)
    assert "'#zz'" in missing.warnings[0]
    assert area(
        f'<clipPath id="c"/><rect clip-path="url(#c)" width="9" height="9"/>{frame}'
    ) == pytest.approx(1)


def test_mask_shows_where_it_is_light() -> None:
    light, dark = (
        '<rect width="99" height="99" fill="white"/>',
        '<rect x="20" y="20" width="10" height="10"/>',
    )
    mask = f'<mask id="m">{light}{dark}</mask>'
    assert area(mask + '<rect mask="url(#m)" x="10" y="10" width="40" height="40"/>') == pytest.approx(1500)


# Paint order


def test_white_removes_what_is_below_and_only_that() -> None:
    black, white = (
        '<rect width="60" height="60"/>',
        '<rect x="20" y="20" width="20" height="20" fill="white"/>',
    )
    dot = '<rect x="25" y="25" width="10" height="10"/>'
    assert area(black + white) == pytest.approx(3200)
    assert area(white + black) == pytest.approx(3600)
    assert area(black + white + dot) == pytest.approx(3300)
    paper = '<rect width="100%" height="100%" fill="#fff"/>'
    assert area(paper + black + white) == pytest.approx(3200)


def test_a_white_stroke_cuts_and_paint_order_moves_it() -> None:
    shape = '<rect x="20" y="20" width="50" height="50" stroke="white" stroke-width="10" {}/>'
    assert area(shape.format("")) == pytest.approx(1600)
    assert area(shape.format('paint-order="stroke"')) == pytest.approx(2500)


@given(
    rects=st.lists(st.tuples(*(st.integers(0, 9) for _ in range(4)), st.booleans()), min_size=1, max_size=12)
)
@examples(40)
def test_paint_order_is_that_of_a_painter(rects: list[tuple[int, int, int, int, bool]]) -> None:
    """Random black and white rectangles on a grid, against painting its cells one by one."""
    cells = [[False] * 20 for _ in range(20)]
    body = ""
    for x, y, w, h, dark in [*rects, (19, 19, 0, 0, True)]:
        body += (
            f'<rect x="{x}" y="{y}" width="{w + 1}" height="{h + 1}" fill="{"black" if dark else "white"}"/>'
        )
        for row in range(y, y + h + 1):
            cells[row][x : x + w + 1] = [dark] * (w + 1)
    assert area(body) == pytest.approx(sum(map(sum, cells)))


@pytest.mark.parametrize(
    "ink", ["black", "#333", "red", "lime", "yellow", "cyan", "navy", "#808080", "hsl(60 100% 50%)"]
)
def test_ink_that_adds(ink: str) -> None:
    assert area(f'<rect width="9" height="9" fill="{ink}"/>') == pytest.approx(81)


@pytest.mark.parametrize(
    ("ink", "warned"), [("white", False), ("#fdfdfd", False), ("#ccc", True), ("pink", True)]
)
def test_ink_that_erases_gives_a_warning_unless_it_is_white(ink: str, warned: bool) -> None:
    design = svg(f'<rect width="9" height="9"/><rect id="r" width="3" height="3" fill="{ink}"/>')
    assert design.area.area == pytest.approx(72)
    assert any("rect 'r'" in warning and "pale" in warning for warning in design.warnings) is warned


def test_half_transparent_ink_counts_as_opaque_or_not_at_all_with_a_warning() -> None:
    design = svg(
        '<rect id="a" width="9" height="9" opacity=".7"/>'
        '<g opacity=".5"><rect id="b" width="30" height="9" opacity=".5"/></g>'
    )
    assert design.area.area == pytest.approx(81)
    assert any("rect 'a'" in w and "opaque" in w for w in design.warnings)
    assert any("rect 'b'" in w and "left out" in w for w in design.warnings)


def test_a_gradient_is_one_colour_with_a_warning_unless_it_is_one() -> None:
    stops = {"one": '<stop stop-color="black"/>', "two": '<stop stop-color="#000"/><stop stop-color="#444"/>'}
    for name, warned in (("one", False), ("two", True)):
        design = svg(
            f'<linearGradient id="g">{stops[name]}</linearGradient>'
            '<rect fill="url(#g)" width="9" height="9"/>'
        )
        assert design.area.area == pytest.approx(81)
        assert bool(design.warnings) is warned


# Text and what is not understood


@pytest.mark.parametrize(
    "body",
    [
        '<text id="label" y="9">Hi</text>',
        '<text id="label" fill="none"><tspan stroke="black">Hi</tspan></text>',
        '<flowRoot id="label"><flowPara>Hi</flowPara></flowRoot>',
        '<foreignObject id="label"><p xmlns="http://www.w3.org/1999/xhtml">Hi</p></foreignObject>',
        '<defs><text id="label">Hi</text></defs><use href="#label"/>',
        '<clipPath id="c"><text id="label">Hi</text></clipPath><circle r="9" clip-path="url(#c)"/>',
    ],
)
def test_text_is_left_out_with_the_way_out(body: str) -> None:
    design = svg('<rect width="9" height="9"/>' + body)
    (warning,) = design.warnings
    assert re.search("'label': text is left out, because .* Path > Object to Path", warning)
    assert design.area.area == pytest.approx(81)
    with pytest.raises(InputError, match=r"design is empty.*'label': text is left out.*Object to Path"):
        svg(body)


def test_text_that_does_not_show_is_no_matter() -> None:
    hidden = """<text display="none">a</text><text visibility="hidden">a</text><text> </text>
    <text fill="none">a</text><g opacity="0"><text>a</text></g><defs><text>a</text></defs>
    <title>a</title><desc>a</desc>"""
    design = svg('<rect width="9" height="9"/>' + hidden)
    assert design.warnings == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<image id="it" href="a.png"/>', "<image>"),
        ('<blob id="it"/>', "<blob>"),
        ('<rect id="it" filter="url(#f)" width="2" height="2"/>', "filter"),
        ('<pattern id="p"/><rect id="it" fill="url(#p)" width="2" height="2"/>', "pattern"),
        ('<path id="it" d="M0 0H9" stroke="black" marker-end="url(#m)"/>', "marker"),
        ('<use id="it" href="other.svg#a"/>', "outside the file"),
        ('<use id="it" href="#nowhere"/>', "not in this file"),
        ('<path id="it" d="M0 0H9V9 X 12"/>', "mistake"),
        ('<rect id="it" x="1 2" width="2" height="2"/>', "not a length"),
        ('<rect id="it" transform="spin(3)" width="2" height="2"/>', "transform"),
        ('<rect id="it" fill="bananas" width="2" height="2"/>', "not a colour"),
        ('<rect id="it" width="-2" height="2"/>', "below 0"),
        ('<style id="it">@import "a.css";</style>', "@import"),
        ('<style id="it">rect[[{fill:none}</style>', "style sheet"),
        ('<rect id="it" clip-path="circle(3px)" width="2" height="2"/>', "clip-path"),
        ('<rect id="it" width="2" height="2"><animate attributeName="x" to="9"/></rect>', "animations"),
        ('<rect id="it" width="2" height="2" stroke="black" stroke-linejoin="arcs"/>', "linejoin"),
    ],
)
def test_what_is_not_understood_is_a_warning_that_names_the_element(body: str, words: str) -> None:
    design = svg('<rect width="9" height="9"/>' + body)
    assert any("'it'" in warning and words in warning for warning in design.warnings), design.warnings


def test_many_alike_make_one_warning() -> None:
    design = svg('<rect width="9" height="9"/>' + '<image href="a.png"/>' * 1000)
    (warning,) = design.warnings
    assert "image number 1" in warning
    assert "997 more" in warning


def test_a_path_with_a_mistake_is_drawn_until_there() -> None:
    assert area('<path d="M0 0H10V10H0Z M20 20H30V30 X"/>') == pytest.approx(150)
