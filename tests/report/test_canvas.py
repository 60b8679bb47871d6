"""Sheets drawn as SVG: places, paths, ticks, colours and words."""

from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from laserpath.report import pictures
from laserpath.report.canvas import (
    CIVIDIS,
    Axes,
    Dot,
    Line,
    Mark,
    Paper,
    coloured,
    hexes,
    log_ticks,
    tick_texts,
    ticks,
)
from laserpath.types import Design


def made(x: tuple[float, float] = (0, 10), y: tuple[float, float] = (0, 5), *, log: bool = False) -> Axes:
    """Axes of 2 × 1 inches, so of 1920 × 960 tenths of CSS pixels."""
    return Axes(Paper(3, 2), (0.5, 0.5, 2, 1), x, y, log=log)


def points(ax: Axes) -> np.ndarray:
    """(N, 2) the points of the last path that was drawn, as its reader follows them."""
    found, at = [], np.zeros(2)
    for x, y, steps in re.findall(
        r"M(-?\d+) (-?\d+)l((?:-?\d+ -?\d+ )*)", ElementTree.fromstring(ax._parts[-1]).attrib["d"]
    ):
        at = np.array([int(x), int(y)])
        found.append(at)
        for step in np.array(steps.split(), dtype=int).reshape(-1, 2):
            at = at + step
            found.append(at)
    return np.array(found)


def test_y_is_up_and_limits_are_the_corners() -> None:
    corners = np.array([[0.0, 0.0], [10.0, 5.0], [5.0, 2.5]])
    assert made().units(corners) == pytest.approx(np.array([[0, 960], [1920, 0], [960, 480]]))
    assert made(y=(1, 100), log=True).units(np.array([[0.0, 10.0]]))[0] == pytest.approx([0, 480])


def test_a_path_is_followed_to_within_half_a_tenth_of_a_pixel() -> None:
    ax, rng = made(), np.random.default_rng(1)
    line = np.cumsum(rng.normal(0, 0.2, (500, 2)), axis=0)
    ax.line(line, Line())
    drawn = points(ax)
    assert len(drawn) == 500
    assert np.abs(drawn - ax.units(line)).max() <= 0.5 + 1e-9


def test_what_is_drawn_twice_at_one_place_is_drawn_once() -> None:
    ax = made()
    ax.line(np.repeat([[1.0, 1.0], [2.0, 1.0]], 50, axis=0), Line())
    assert len(points(ax)) == 3  # a dot where it begins, and its end
    ax.line(np.array([[1.0, 1.0]]), Line())
    assert points(ax).tolist() == [[192, 768], [192, 768]]


def test_pieces_that_go_on_are_one_line() -> None:
    ax, xy = made(), np.array([[0.0, 0], [1, 0], [1, 1], [3, 3], [4, 3]])
    pieces = np.stack([xy[:-1], xy[1:]], axis=1)[[0, 1, 3]]
    ax.pieces(pieces, Line())
    assert ax._parts[-1].count("M") == 2
    assert points(ax).tolist() == np.rint(ax.units(xy[[0, 1, 2, 3, 4]])).tolist()


def test_holes_of_a_design_stay_open() -> None:
    ax = made()
    ring = shapely.box(1, 1, 4, 4).difference(shapely.box(2, 2, 3, 3), grid_size=1e-6)
    ax.design(Design(shapely.MultiPolygon([ring])), fill="#123456")
    assert ax._parts[-1].count("M") == 2
    assert 'fill-rule="evenodd"' in ax._parts[-1]


def test_words_from_files_stay_words() -> None:
    sheet = Paper(2, 1)
    sheet.legend([Mark('<script> & "', fill="#fff"), Mark("b", dot=Dot("s"))], columns=2)
    assert '<script> & "' in ElementTree.fromstring(sheet.svg()).itertext()


def test_axes_have_their_numbers_and_labels() -> None:
    ax = made(x=(-1, 1))
    ax.note("here", np.array([0.0, 1.0]), (0, 0))
    ax.close("x, mm", "<y>", title="both")
    ax.scale("top", "µm", factor=1000)
    words = set(ElementTree.fromstring(ax._sheet.svg()).itertext())
    assert {"x, mm", "<y>", "both", "here", "µm", "−1.0", "0.5", "−1000"} <= words


def test_an_axis_may_point_downward() -> None:
    ax = made(y=(100, 0))
    assert ax.units(np.array([[0.0, 100.0]]))[0] == pytest.approx([0, 960])
    ax.close()
    words = list(ElementTree.fromstring(ax._sheet.svg()).itertext())
    assert {"0", "50", "100"} <= set(words)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 12))
def test_ticks_are_few_even_and_within(low: float, span: float, most: int) -> None:
    high = low + span
    found = ticks(low, high, most)
    assert len(found) <= most + 1
    slack = 1e-6 * span + 1e-9 * abs(low)
    assert all(low - slack <= one <= high + slack for one in found)
    assert np.ptp(np.diff(found)) <= slack if len(found) > 2 else True


def test_ticks_at_limits_without_room_between() -> None:
    assert ticks(3, 3, 5) == [3]
    assert tick_texts([-0.5, 0.0, 0.5]) == ["−0.5", "0.0", "0.5"]
    assert tick_texts([0, 1e9, 2e9]) == ["0", "1e+09", "2e+09"]
    assert log_ticks(0.03, 0.6) == pytest.approx([0.05, 0.1, 0.2, 0.5])


def test_colours_run_from_the_first_stop_to_the_last() -> None:
    assert hexes(np.array([-1.0, 0, 1, 2]), CIVIDIS) == [CIVIDIS[0], CIVIDIS[0], CIVIDIS[-1], CIVIDIS[-1]]
    light = coloured(np.linspace(0, 1, 50), CIVIDIS) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) > 0).all(), "brighter all the way, so that the order is kept in grey"


def test_a_raster_finer_than_a_screen_is_averaged_and_stays_in_its_place() -> None:
    """4001 pixels a row: three make one, the last of two; the left half is black, the right half white."""
    ax, pixels = made(), np.zeros((30, 4001, 3), np.uint8)
    pixels[:, 2001:] = 255
    ax.image(pixels, (0.0, 10.0, 0.0, 5.0))
    drawn = ElementTree.fromstring(ax._parts[-1]).attrib
    image = np.asarray(Image.open(BytesIO(b64decode(drawn["href"].split(",")[1]))).convert("L"))
    assert image.shape == (10, 1334)
    assert float(drawn["width"]) == pytest.approx(1920 * 4002 / 4001, rel=1e-3)
    assert np.flatnonzero(image[0] > 128)[0] * float(drawn["width"]) / 1334 == pytest.approx(960, abs=2)


def test_a_contour_has_the_points_that_are_seen() -> None:
    """A disc on 1000 × 1000 pixels: within a tenth of a CSS pixel, with a tenth of the points."""
    ax, at = made(x=(0, 5)), np.linspace(0, 5, 1001)
    pictures.add_contour(ax, at, at, np.hypot(at - 2.5, (at - 2.5)[:, None]), 2.0, Line())
    drawn, centre = points(ax), ax.units(np.array([2.5, 2.5]))
    radius = np.hypot(*((drawn - centre) / (1920 / 5, 960 / 5)).T)
    assert np.abs(radius - 2).max() < 1.1 * 5 / 192
    assert 20 < len(drawn) < 320
