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

from laserpath.report import canvas, pictures
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
        r"M(-?\d+) (-?\d+)l((?:-?\d+ -?\d+ )*)", ElementTree.fromstring(list(ax._elements())[-1]).attrib["d"]
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
    assert list(ax._elements())[-1].count("M") == 2
    assert points(ax).tolist() == np.rint(ax.units(xy[[0, 1, 2, 3, 4]])).tolist()


def test_holes_of_a_design_stay_open() -> None:
    ax = made()
    ring = shapely.box(1, 1, 4, 4).difference(shapely.box(2, 2, 3, 3), grid_size=1e-6)
    ax.design(Design(shapely.MultiPolygon([ring])), fill="#123456")
    assert list(ax._elements())[-1].count("M") == 2
    assert 'fill-rule="evenodd"' in list(ax._elements())[-1]


def picture(ax: Axes) -> np.ndarray:
    """(rows, columns, 4) the last thing drawn, which is a picture over all of the axes, by pixel."""
    drawn = ElementTree.fromstring(list(ax._elements())[-1]).attrib
    assert float(drawn["width"]) == pytest.approx(1920, abs=1) and float(drawn["height"]) == pytest.approx(
        960, abs=1
    )
    return np.asarray(Image.open(BytesIO(b64decode(drawn["href"].split(",")[1]))).convert("RGBA"))


def middles(ax: Axes, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """x and y, in units of the axes, of the pixels (rows, columns) of a picture of them."""
    rows, columns = shape[:2]
    x = np.interp(np.arange(columns) / columns, (0, 1), ax.x)
    y = np.interp(np.arange(rows) / rows, (0, 1), ax.y[::-1])
    return np.meshgrid(x, y)


def test_what_has_too_many_points_is_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """An area with a hole, an island in it, lines and dots over it, each in its colour where it is."""
    monkeypatch.setattr(canvas, "_VERTICES", 10)
    ax = made()
    ring = shapely.Point(4, 2.5).buffer(2).difference(shapely.Point(4, 2.5).buffer(1.2), grid_size=1e-6)
    area = shapely.MultiPolygon([ring, shapely.Point(4, 2.5).buffer(0.5)])
    ax.design(Design(area), fill="#123456")
    ax.line(np.array([[7.0, 0.0], [7.0, 5.0]]), Line("#abcdef", 2))
    ax.specks(np.array([[9.0, 1.0], [9.0, 4.0]]), "#fedcba", 6)
    shown = picture(ax)
    x, y = (one[::4, ::4] for one in middles(ax, shown.shape))
    shown = shown[::4, ::4]
    near = 0.015  # points are on tenths of CSS pixels, 0.005 apart, and so are pixels
    inside, rim = (
        shapely.contains_xy(area, x, y),
        shapely.distance(area.boundary, shapely.points(x, y)) < near,
    )
    assert (shown[~rim & (x < 6.5)][:, 3] > 0).tolist() == inside[~rim & (x < 6.5)].tolist()
    assert {tuple(one) for one in shown[inside & ~rim]} == {(0x12, 0x34, 0x56, 255)}
    half = 2 * 96 / 72 / 19.2 / 2
    line = np.abs(x - 7) < half - near
    assert {tuple(one) for one in shown[line]} == {(0xAB, 0xCD, 0xEF, 255)}
    assert not shown[(np.abs(x - 7) > half + near) & (x > 6.5) & (x < 8)][:, 3].any()
    disc = np.min([np.hypot(x - 9, y - at) for at in (1, 4)], axis=0)
    radius = 6 * 96 / 72 / 19.2 / 2
    assert {tuple(one) for one in shown[disc < radius - near]} == {(0xFE, 0xDC, 0xBA, 255)}
    assert not shown[(disc > radius + near) & (x > 8)][:, 3].any()


def test_a_dot_is_as_large_in_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of no length, and the round ends of one that has some."""
    monkeypatch.setattr(canvas, "_VERTICES", 1)
    ax = made()
    ax.line(np.array([[2.0, 2.5], [2.0, 2.5]]), Line("#123456", 6))
    ax.line(np.array([[6.0, 2.5], [8.0, 2.5]]), Line("#123456", 6))
    shown = picture(ax)
    x, y = middles(ax, shown.shape)
    away = np.min([np.hypot(x - 2, y - 2.5), np.hypot(x - np.clip(x, 6, 8), y - 2.5)], axis=0)
    radius = 6 * 96 / 72 / 19.2 / 2
    lit = shown[..., 3] > 0
    assert lit[away < radius - 0.015].all() and not lit[away > radius + 0.015].any()


def test_what_lets_through_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "_VERTICES", 1)
    ax = made()
    ax.area(np.array([[1.0, 1], [2, 1], [2, 2]]), "#123456", opacity=0.3)
    (drawn,) = ax._elements()
    assert ElementTree.fromstring(drawn).attrib["fill-opacity"] == "0.3"


def test_pictures_are_only_so_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise, which no file makes small, and very many lines."""
    rng = np.random.default_rng(7)
    monkeypatch.setattr(canvas, "_LARGEST", 40_000)
    ax = made()
    ax.image(rng.integers(0, 255, (500, 700, 3), np.uint8), (0, 10, 0, 5))
    monkeypatch.setattr(canvas, "_VERTICES", 10)
    ax.line(rng.uniform((0, 0), (10, 5), (3000, 2)), Line())
    noise, lines = ax._elements()
    assert len(noise) < 41_000 and len(lines) < 41_000
    assert picture(ax)[..., 3].any()


def test_a_design_is_drawn_where_it_is_seen() -> None:
    """Of a far part nothing is written, and of one that reaches far beyond the axes only what is near."""
    teeth = [shapely.box(k, 0, k + 0.5, 3) for k in range(1000)]
    far = shapely.MultiPolygon([*teeth, shapely.box(-5, 4, 2000, 4.5)])
    ax = made()
    ax.design(Design(far), pen=Line())
    assert (np.abs(points(ax) - (960, 480)) <= (1.5 * 1920, 1.5 * 960)).all(), "a width beyond the axes"
    before = made(x=(-20, -10))
    before.design(Design(far), pen=Line())
    assert not list(before._elements())


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
    drawn = ElementTree.fromstring(list(ax._elements())[-1]).attrib
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
