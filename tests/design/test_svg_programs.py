"""SVG as drawing programs write it: read, or left out with a warning. All files are our own."""

from __future__ import annotations

import pytest

from laserpath.design.reading import Reading
from laserpath.design.svg import read
from laserpath.types import Design

NS = 'xmlns="http://www.w3.org/2000/svg"'
SQUARE = '<rect width="9" height="9"/>'
SIZE = 'width="100mm" height="100mm" viewBox="0 0 100 100"'
PUBLIC = 'PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd"'

ILLUSTRATOR = f"""<?xml version="1.0" encoding="utf-8"?>
<!-- Generator: a program that preserves its editing capabilities -->
<!DOCTYPE svg {PUBLIC} [
    <!ENTITY ns_extend "http://ns.adobe.com/Extensibility/1.0/">
    <!ENTITY ns_ai "http://ns.adobe.com/AdobeIllustrator/10.0/">
    <!ENTITY ns_svg "http://www.w3.org/2000/svg">
    <!ENTITY ns_xlink "http://www.w3.org/1999/xlink">
    <!ENTITY st0 "fill:none;stroke:#000000;stroke-width:2;">
]>
<svg version="1.1" xmlns:x="&ns_extend;" xmlns:i="&ns_ai;" xmlns="&ns_svg;" xmlns:xlink="&ns_xlink;"
     x="0px" y="0px" width="283.465px" height="283.465px" viewBox="0 0 283.465 283.465"
     enable-background="new 0 0 283.465 283.465" xml:space="preserve">
<metadata><i:viewOrigins>some text</i:viewOrigins></metadata>
<switch>
    <foreignObject requiredExtensions="&ns_ai;" x="0" y="0" width="1" height="1">
        <i:pgfRef xlink:href="#adobe_illustrator_pgf"></i:pgfRef>
    </foreignObject>
    <g i:extraneous="self">
        <g id="Layer_1">
            <rect x="50" y="50" width="100" height="80"/>
            <line style="&st0;" x1="10" y1="10" x2="60" y2="10"/>
        </g>
    </g>
</switch>
<i:pgf id="adobe_illustrator_pgf"><![CDATA[eJzsvW1vXc2xHPh9gfkPdz8ssAYi]]></i:pgf>
<i:aipgf id="other"><i:aipgfRef xlink:href="#x"/></i:aipgf>
</svg>"""


def drawn(svg: str | bytes) -> Design:
    return read(svg, "test", Reading(0.002))


def page(
    body: str, head: str = 'width="100mm" height="100mm" viewBox="0 0 100 100"', before: str = ""
) -> Design:
    return drawn(f"{before}<svg {NS} {head}>{body}</svg>")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_illustrators_file_with_its_own_data_is_read_without_a_word(encoding: str) -> None:
    data = (
        ILLUSTRATOR.replace('encoding="utf-8"', 'encoding="utf-16"') if encoding == "utf-16" else ILLUSTRATOR
    )
    design = drawn(data.encode(encoding))
    px = 25.4 / 96
    assert design.area.area == pytest.approx((8000 + 100) * px**2)
    assert design.page is not None and design.page[2] == pytest.approx(75.0, abs=0.01)
    assert design.warnings == ()


def test_an_entity_counts_where_it_is_used_in_text_too() -> None:
    head = '<!DOCTYPE svg [<!ENTITY ink "rect { fill: none }">]>'
    design = page(f"<style>&ink;</style>{SQUARE}<circle cx='50' cy='50' r='2'/>", before=head)
    assert design.area.area == pytest.approx(12.566, abs=0.05)


@pytest.mark.parametrize(
    "body",
    [
        f'<g inkscape:label="cut" sodipodi:nodetypes="cc">{SQUARE}</g>',
        f'<sodipodi:namedview showgrid="false"/>{SQUARE}',
        f'<defs>{SQUARE.replace("rect", "rect id=" + chr(34) + "a" + chr(34))}</defs><use xlink:href="#a"/>',
        f'<vectornator:layer name="1"/>{SQUARE}',
    ],
)
def test_prefixes_that_nothing_declares_are_guessed_with_a_word(body: str) -> None:
    design = page(body)
    assert design.area.area == pytest.approx(81)
    (warning,) = design.warnings
    assert "does not say what its XML prefixes mean" in warning


def test_an_undeclared_svg_prefix_is_svg() -> None:
    design = drawn('<svg:svg width="96" height="96"><svg:rect width="96" height="48"/></svg:svg>')
    assert design.area.area == pytest.approx(25.4**2 / 2)


def test_a_blank_line_before_the_declaration_is_no_matter() -> None:
    assert page(SQUARE, before='\n  <?xml version="1.0"?>').area.area == pytest.approx(81)


@pytest.mark.parametrize(
    "head", ["", 'width="100%" height="100%"', 'width="50%" height="9"', 'height="100%"']
)
def test_without_a_size_the_drawing_is_the_page_in_px(head: str) -> None:
    design = page(SQUARE, head)
    assert design.size == pytest.approx((9 * 25.4 / 96, 9 * 25.4 / 96))
    assert design.page == pytest.approx(design.bounds)
    assert any("the page is what is drawn" in warning for warning in design.warnings)


def test_a_drawing_beside_its_page_is_read_where_it_lies() -> None:
    design = page('<rect x="200" y="-50" width="9" height="9"/>')
    assert design.area.area == pytest.approx(81)
    assert design.bounds == pytest.approx((0, 0, 9, 9))
    (warning,) = design.warnings
    assert "all that is drawn lies outside the page of 100 × 100 mm: what is drawn is the page" in warning


def test_a_font_and_a_picture_inside_the_file_are_left_out() -> None:
    design = page(
        """<defs><font horiz-adv-x="2048"><font-face font-family="A"/>
        <glyph unicode="A" d="M0 0H9V9Z"/></font>
        <style>@font-face { font-family: B; src: url("data:font/woff2;base64,d09GMgABAAAA") }</style></defs>
        <image width="20" height="20" href="data:image/png;base64,iVBORw0KGgo="/>
        <text id="word" font-family="B">Hi</text>"""
        + SQUARE
    )
    assert design.area.area == pytest.approx(81)
    assert [("picture" in w, "text is left out" in w) for w in design.warnings] == [
        (True, False),
        (False, True),
    ]
