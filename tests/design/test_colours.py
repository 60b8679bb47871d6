"""A drawing or picture in several colours: what is of each, and that all have one zero."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import in_process
import numpy as np
import pytest
import shapely
import shapely.affinity
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from sets import one_fast
from shapes import both, differing_area, minus, plus

from laserpath.base.errors import InputError
from laserpath.design import Arrangement, Reading, load, load_colours
from laserpath.design.arrange import Repeat
from laserpath.design.colours import merged, named
from laserpath.machine.placement import placed
from laserpath.types import Design, Machine, Resin, Spot

pytestmark = in_process.HERE

RED, BLUE, GREEN = shapely.box(1, 1, 5, 5), shapely.box(3, 2, 8, 4), shapely.box(2, 3.5, 4, 6)
"""In the order in which they are painted, y up."""
HOLE = shapely.box(6, 2.5, 7, 3.5)
SIZE = (10.0, 8.0)


def svg(path: Path, *painted: tuple[shapely.Polygon, str]) -> Path:
    """A drawing in mm of boxes with their colours, the lowest first."""
    boxes = []
    for shape, colour in painted:
        x0, y0, x1, y1 = shape.bounds
        boxes.append(
            f'<rect x="{x0}" y="{SIZE[1] - y1}" width="{x1 - x0}" height="{y1 - y0}" fill="{colour}"/>'
        )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE[0]}mm" height="{SIZE[1]}mm" '
        f'viewBox="0 0 {SIZE[0]} {SIZE[1]}">{"".join(boxes)}</svg>'
    )
    return path


@pytest.fixture
def drawing(tmp_path: Path) -> Path:
    return svg(tmp_path / "boxes.svg", (RED, "#d02020"), (BLUE, "#2040d0"), (GREEN, "green"), (HOLE, "white"))


def areas(parts: tuple[Design, ...]) -> dict[str, shapely.Geometry]:
    return {part.part.name: part.area for part in parts if part.part}


def test_later_paint_hides_earlier_and_white_is_paper(drawing: Path) -> None:
    parts = load_colours(drawing, 3, tolerance=0.002)
    assert [part.name for part in parts] == ["boxes-1-red", "boxes-2-blue", "boxes-3-green"]
    expected = {"red": minus(RED, BLUE, GREEN), "blue": minus(BLUE, GREEN, HOLE), "green": GREEN}
    found = areas(parts)
    assert {name: differing_area(found[name], area) for name, area in expected.items()} == pytest.approx(
        dict.fromkeys(expected, 0.0), abs=1e-6
    )


def test_hidden_paint_is_no_colour(tmp_path: Path) -> None:
    path = svg(tmp_path / "hidden.svg", (HOLE, "purple"), (RED, "red"), (BLUE, "blue"))
    assert list(areas(load_colours(path, 2, tolerance=0.002))) == ["red", "blue"]
    with pytest.raises(InputError, match="only 2 colours besides the paper can be told apart: red #ff0000"):
        load_colours(path, 3, tolerance=0.002)


def test_similar_colours_count_as_one_and_a_warning_names_them(tmp_path: Path) -> None:
    path = svg(tmp_path / "shades.svg", (RED, "#d02020"), (BLUE, "#2040d0"), (GREEN, "#d83028"))
    parts = load_colours(path, 2, tolerance=0.002)
    assert differing_area(areas(parts)["red"], plus(minus(RED, BLUE), GREEN)) < 1e-6
    (warning,) = parts[0].warnings
    assert "3 colours are drawn" in warning
    assert "#d83028 as red #d02020" in warning


def test_a_pale_colour_is_one(tmp_path: Path) -> None:
    path = svg(tmp_path / "pale.svg", (RED, "lightpink"), (BLUE, "black"))
    assert set(areas(load_colours(path, 2, tolerance=0.002))) == {"pink", "black"}


def test_one_of_the_colours_by_number_or_name(drawing: Path) -> None:
    parts = load_colours(drawing, 3, tolerance=0.002)
    for which in ("2", "blue", "Blue", "2-blue"):
        one = load(drawing, tolerance=0.002, reading=Reading(0.002, colours=3, colour=which))
        assert one.area.equals(parts[1].area)
    assert 'colour = "2"' in parts[1].recipe
    with pytest.raises(InputError, match="'violet' is none of them; the colours are 1 red, 2 blue, 3 green"):
        load(drawing, tolerance=0.002, reading=Reading(0.002, colours=3, colour="violet"))
    with pytest.raises(InputError, match="choose one with --colour"):
        load(drawing, tolerance=0.002, reading=Reading(0.002, colours=3))


@pytest.mark.parametrize(
    "arrangement",
    [
        Arrangement(),
        Arrangement(mirror="x", rotate=30.0, size=(20.0, None)),
        Arrangement(scale=2.0, repeat=Repeat(2, 3, (25.0, 20.0))),
    ],
)
@pytest.mark.parametrize("origin", ["auto", "page", "design", "centre"])
def test_all_colours_have_one_zero(drawing: Path, arrangement: Arrangement, origin: str) -> None:
    """Put together they are the drawing, placed as a drawing of one colour is."""
    path = drawing.with_name("black.svg")
    black = {"#d02020": "black", "#2040d0": "black", "green": "black"}
    text = drawing.read_text()
    for colour in black:
        text = text.replace(colour, "black")
    path.write_text(text)
    whole = load(path, tolerance=0.002, arrangement=arrangement)
    parts = load_colours(drawing, 3, tolerance=0.002, arrangement=arrangement)
    resin, machine, spot = Resin(), Machine(), Spot(fwhm=0.1)
    moved = [placed(one, resin, machine, spot, origin, (3.0, 4.0)).design.area for one in (whole, *parts)]
    assert differing_area(moved[0], plus(*moved[1:])) < 1e-5
    assert all(both(a, b).area < 1e-6 for a, b in combinations(moved[1:], 2))


def test_a_positive_resist_is_in_register_too(drawing: Path) -> None:
    parts = load_colours(drawing, 3, tolerance=0.002)
    resin = Resin(tone="positive")
    for part in parts:
        left = minus(shapely.box(0, 0, *SIZE), placed(part, resin, Machine(), Spot(fwhm=0.1)).design.area)
        assert differing_area(left, part.area) < 1e-6


# Pictures


def picture(path: Path, *, finer: int = 8, paper: str = "white", noise: float = 0.0) -> Path:
    """100 x 80 pixels of 0.1 mm with the same boxes; anti-aliased if `finer` is above 1."""
    image = Image.new("RGB", (100 * finer, 80 * finer), paper)
    draw = ImageDraw.Draw(image)
    for shape, colour in ((RED, "#d02020"), (BLUE, "#2040d0"), (GREEN, "green"), (HOLE, paper)):
        x0, y0, x1, y1 = (10 * finer * value for value in shape.bounds)
        shift = 0.3 * finer if finer > 1 else 0.0  # so that edges run within pixels
        draw.rectangle([x0 + shift, 80 * finer - y1, x1 + shift - 1, 80 * finer - y0 - 1], fill=colour)
    pixels = np.asarray(image.resize((100, 80), Image.Resampling.BOX)).astype(float)
    pixels += np.random.default_rng(1).normal(0, noise, pixels.shape)
    Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8)).save(path, dpi=(254, 254))
    return path


@pytest.mark.parametrize("paper", one_fast(["white", "#102040"], "#102040"))
@pytest.mark.parametrize("noise", [4.0, pytest.param(0.0, marks=pytest.mark.slow)])
def test_a_picture_s_edges_are_located_between_pixels(tmp_path: Path, paper: str, noise: float) -> None:
    """Mixtures at edges are of the two colours beside them, and no colours of their own."""
    parts = load_colours(picture(tmp_path / "boxes.png", paper=paper, noise=noise), 3, tolerance=1e-3)
    shift = 0.025  # of 0.3 pixels, 2 eighths are drawn
    expected = {"red": minus(RED, BLUE, GREEN), "blue": minus(BLUE, GREEN, HOLE), "green": GREEN}
    for name, area in areas(parts).items():
        target = shapely.affinity.translate(expected[name], shift)
        off = (
            differing_area(area, target) / target.length
        )  # mean distance of the edges, mm; a pixel is 0.1 mm
        assert off < 0.006 + 0.001 * noise


def test_a_picture_without_mixtures_is_its_squares(tmp_path: Path) -> None:
    parts = load_colours(picture(tmp_path / "boxes.png", finer=1), 3, tolerance=1e-4)
    found = areas(parts)
    assert differing_area(found["green"], GREEN) < 1e-9
    assert differing_area(found["red"], minus(RED, BLUE, GREEN)) < 1e-9
    assert "background white #ffffff" in parts[0].source[1]


def test_a_transparent_background_is_paper(tmp_path: Path) -> None:
    image = Image.new("RGBA", (40, 30), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle([5, 5, 14, 14], fill="#d02020")
    ImageDraw.Draw(image).rectangle([20, 5, 34, 14], fill="#2040d0")
    image.save(tmp_path / "clear.png", dpi=(254, 254))
    found = areas(load_colours(tmp_path / "clear.png", 2, tolerance=1e-3))
    assert {name: round(area.area, 9) for name, area in found.items()} == {"red": 1.0, "blue": 1.5}


@pytest.mark.parametrize("mode", ["1", "L", "RGB"])
def test_a_picture_of_greys_has_no_colours(tmp_path: Path, mode: str) -> None:
    path = picture(tmp_path / "grey.png")
    Image.open(path).convert("1" if mode == "1" else "L").convert(mode).save(path, dpi=(254, 254))
    with pytest.raises(InputError, match="has no colours, only black, white or greys"):
        load_colours(path, 2, tolerance=0.002)


@pytest.mark.slow
def test_a_picture_of_fewer_colours_is_refused(tmp_path: Path) -> None:
    path = picture(tmp_path / "boxes.png", noise=3.0)
    with pytest.raises(InputError, match="colours is 5, but only 3 colours besides the paper"):
        load_colours(path, 5, tolerance=0.002)


@pytest.mark.parametrize("colours", [-1, 0, 1, 13, 2.5, True])
def test_the_number_of_colours_is_checked(drawing: Path, colours: int) -> None:
    with pytest.raises(InputError, match="colours is"):
        load_colours(drawing, colours, tolerance=0.002)


# Merging

CHANNEL = st.integers(0, 255).map(lambda level: level / 255)
SHADES = st.dictionaries(st.tuples(CHANNEL, CHANNEL, CHANNEL), st.floats(0.0, 1e3), min_size=1, max_size=30)


@given(weights=SHADES, count=st.integers(1, 8))
@example(weights={(0.0, 0.0, 0.0): 0.0, (0.0, 0.0, 1 / 255): 9e-16}, count=1)
def test_every_colour_is_in_one_group(weights: dict[tuple[float, float, float], float], count: int) -> None:
    groups = merged(weights, count)
    assert len(groups) == min(count, len(weights))
    assert sorted(rgb for group in groups for rgb in group) == sorted(weights)
    assert all(weights[group[0]] == max(weights[rgb] for rgb in group) for group in groups)


def test_a_small_area_of_its_own_colour_survives_shades_of_a_large_one() -> None:
    reds = {(0.8 + k / 255, 0.1, 0.1): 100.0 for k in range(5)}
    groups = merged({**reds, (0.1, 0.2, 0.9): 1.0, (0.9, 0.9, 0.1): 1.0}, 3)
    assert sorted(map(len, groups)) == [1, 1, 5]


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ("3c6049", "green"), ("25477b", "blue"), ("8db0e9", "blue"), ("606050", "grey"), ("101830", "black"),
        ("d0e0f0", "white"), ("a02030", "red"),
    ],
)  # fmt: skip
def test_muted_colours_of_photographs_have_the_names_that_they_look_like(colour: str, name: str) -> None:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (0, 2, 4))
    assert named((red, green, blue)) == name
