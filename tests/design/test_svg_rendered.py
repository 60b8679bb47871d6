"""The area that is read from an SVG is the area that resvg and Chromium draw.

Twice: the areas differ by at most 0.5 %, and the difference of the pictures, spread along the edges of the
drawing, is a small part of a pixel. Equal areas alone would hide a hole in one place and a blot in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sets import one_fast
from svg_features import FEATURES, whole
from svg_renderers import PX, Coverage, chromium, on_pixels, resvg

from laserpath.design.reading import Reading
from laserpath.design.svg import read
from laserpath.types import Design

DATA = Path(__file__).parents[1] / "data" / "drawings"
TORTURE = (DATA / "svg_torture.svg").read_text(encoding="utf-8")
NEWER = (DATA / "svg_torture_css.svg").read_text(encoding="utf-8")
LAYERS = (DATA / "svg_torture_layers.svg").read_text(encoding="utf-8")

SCALE, WHOLE = 6, 4
"""Pixels to the px, of a feature and of a whole drawing."""
TOLERANCE = 5e-4
AREA = 0.005
"""Of the drawn area."""
EDGE = 0.35
"""Mean distance in pixels between a renderer's edge and ours; renderers place curves and dashes no better."""

Renderer = Callable[[str, int], Coverage]

NOT_RESVG = {
    "transforms: fill-box": "it does not know transform-box",
    "transforms: css transform": "it does not know units in a transform",
    "pages: pc, cm, Q": "it does not know the unit Q",
    "pages: a transform of the whole page": "it turns the outermost svg about 0 0, but as a CSS box it turns "
    "about its centre (CSS Transforms 1, transform-origin)",
    "reuse: symbol with a place of its own": "it does not know x, y, width and height of a symbol (SVG 2)",
    "clips: clip of a use of a symbol": "it takes it inside the symbol, but it is in the coordinates of "
    "the element that refers to it (CSS Masking 1, clipPathUnits), here the use",
    "clips: clip of the page": "it takes it inside the viewBox, but the outermost svg is a CSS box",
    "clips: clip by use of use": "it follows it, but there `use` must refer to a shape itself "
    "(CSS Masking 1)",
    "styles: important in style beats important sheet": "it does not know !important in a style attribute",
    "styles: combinators": "it does not know :not",
    "styles: nth-child": "it knows few selectors",
    "styles: media": "it does not know @media",
    "styles: geometry by css": "it does not know geometry in CSS (SVG 2)",
    "styles: values that are none": "it does not drop declarations that it does not understand "
    "(CSS Syntax 3)",
    "styles: lengths without units by css": "it does not know geometry in CSS (SVG 2)",
    "styles: is and where": "it knows few selectors",
    "styles: root": "it knows few selectors",
    "styles: media of a sheet": "it does not know media of a style element",
    "strokes: pathLength": "it does not know pathLength",
    "strokes: pathLength 0": "it does not know pathLength",
    "strokes: pathLength and offset": "it does not know pathLength",
    "strokes: pathLength of several subpaths": "it does not know pathLength",
    "strokes: pathLength of a circle": "it does not know pathLength",
    "strokes: non-scaling-stroke": "it does not know vector-effect",
}
"""Features in which resvg deviates from the specification, and Chromium does not."""

NOT_CHROMIUM = {
    "clips: clip without display": "it drops the clip, but display does not apply to a clipPath "
    "(CSS Masking 1)",
}
"""Features in which Chromium deviates, and resvg does not."""


def compare(svg: str, draw: Renderer, scale: int = SCALE) -> None:
    """Assert that a renderer's image of a drawing agrees with ours."""
    same(read(svg, "drawing", Reading(TOLERANCE)), draw(svg, scale), scale)


def same(design: Design, theirs: Coverage, scale: int) -> None:
    mine = on_pixels(design, scale)
    assert theirs.shape == mine.shape
    assert theirs.sum() == pytest.approx(mine.sum(), rel=AREA)
    assert np.abs(theirs - mine).sum() < EDGE * design.area.length / (PX / scale)


def only(svg: str, group: str) -> str:
    """The drawing with one of its outermost groups."""
    root = ElementTree.fromstring(svg)
    for child in list(root):
        if child.tag.endswith("}g") and child.get("id") != group:
            root.remove(child)
    return ElementTree.tostring(root, encoding="unicode")


def groups(svg: str) -> list[str]:
    return [child.get("id", "") for child in ElementTree.fromstring(svg) if child.tag.endswith("}g")]


@pytest.fixture(scope="module")
def browser(need: Callable[[str], str]) -> Iterator[Renderer]:
    with chromium(need("chromium")) as draw:
        yield draw


# Features, one by one


BY_RESVG = [name for name in FEATURES if name not in NOT_RESVG]
FIRST = {name.partition(":")[0]: name for name in reversed(BY_RESVG)}
"""Of each group of features, the one that the fast tests draw."""


@pytest.mark.parametrize("name", one_fast(BY_RESVG, *FIRST.values()))
def test_a_feature_is_drawn_as_by_resvg(name: str) -> None:
    compare(whole(FEATURES[name]), resvg)


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in NOT_CHROMIUM])
def test_a_feature_is_drawn_as_by_chromium(name: str, browser: Renderer) -> None:
    compare(whole(FEATURES[name]), browser)


@pytest.mark.parametrize("name", NOT_RESVG)
def test_what_resvg_draws_otherwise_is_drawn_as_by_chromium(name: str, browser: Renderer) -> None:
    compare(whole(FEATURES[name]), browser)


def test_every_feature_is_drawn_as_by_one_of_them() -> None:
    assert set(NOT_RESVG) | set(NOT_CHROMIUM) <= set(FEATURES)
    assert set(NOT_RESVG).isdisjoint(NOT_CHROMIUM)


# Whole drawings


@pytest.mark.slow
def test_the_torture_drawing_is_drawn_as_by_resvg() -> None:
    compare(TORTURE, resvg, WHOLE)


def test_the_torture_drawing_is_drawn_as_by_chromium(browser: Renderer) -> None:
    compare(TORTURE, browser, WHOLE)


@pytest.mark.parametrize("group", groups(TORTURE))
def test_a_group_of_the_torture_drawing_by_itself(group: str, browser: Renderer) -> None:
    """Each group is chosen by its id as a layer; the renderers get a file with that group alone."""
    design = read(TORTURE, "drawing", Reading(TOLERANCE, layers=(group,)))
    for draw in (resvg, browser):
        same(design, draw(only(TORTURE, group), WHOLE), WHOLE)


def test_newer_features_together_are_drawn_as_by_chromium(browser: Renderer) -> None:
    compare(NEWER, browser, WHOLE)


@pytest.mark.parametrize("group", groups(NEWER))
def test_a_group_of_newer_features_by_itself(group: str, browser: Renderer) -> None:
    design = read(NEWER, "drawing", Reading(TOLERANCE, layers=(group,)))
    same(design, browser(only(NEWER, group), WHOLE), WHOLE)


def test_layers_are_drawn_as_by_both(browser: Renderer) -> None:
    for draw in (resvg, browser):
        compare(LAYERS, draw)


# Where both renderers leave the specification


def test_a_bounding_box_is_the_smallest_in_the_element_s_own_coordinates(browser: Renderer) -> None:
    """SVG 2 section 8.10. Both renderers take the box around each child's turned box, which is larger."""
    clip = '<clipPath id="c" clipPathUnits="objectBoundingBox"><rect width=".25" height="1"/></clipPath>'
    disc = '<circle r="30" transform="translate(48 48) rotate(30)"/>'
    svg = whole(f'{clip}<g clip-path="url(#c)">{disc}</g>')
    r, angle = 30 * PX, np.pi / 3
    segment = r**2 * (angle - np.sin(angle) * np.cos(angle))
    assert read(svg, "drawing", Reading(TOLERANCE)).area.area == pytest.approx(segment, rel=1e-3)
    for draw in (resvg, browser):
        assert draw(svg, SCALE).sum() * (PX / SCALE) ** 2 < 0.7 * segment
