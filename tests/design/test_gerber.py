"""Gerber files: each command has the area that the specification defines and that gerbv draws."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import shapely
from pace_of_machine import within
from PIL import Image
from refusals import refusal
from sets import one_fast
from shapely import affinity
from shapes import NODING, both, differing_area, minus, plus

from laserpath.base.errors import InputError
from laserpath.design import load
from laserpath.design.arrange import Arrangement, Repeat, arrange
from laserpath.design.gerber import read
from laserpath.design.reading import Reading
from laserpath.design.target import rasterise
from laserpath.types import Design, Grid

FILES = Path(__file__).parents[1] / "data" / "drawings"
TOLERANCE = 5e-4  # mm
HEAD = "%FSLAX36Y36*%\n%MOMM*%\n"
END = "M02*\n"


def gerber(text: str, head: str = HEAD, tolerance: float = TOLERANCE) -> Design:
    return read((head + text + END).encode(), "test", Reading(tolerance))


def disc(diameter: float, x: float = 0, y: float = 0) -> shapely.Polygon:
    return shapely.Point(x, y).buffer(diameter / 2, quad_segs=100)


def box(w: float, h: float, x: float = 0, y: float = 0) -> shapely.Polygon:
    return shapely.box(x - w / 2, y - h / 2, x + w / 2, y + h / 2)


def polygon(diameter: float, n: int, degrees: float, x: float = 0, y: float = 0) -> shapely.Polygon:
    angle = np.radians(degrees) + 2 * np.pi * np.arange(n) / n
    return shapely.Polygon(np.array([x, y]) + diameter / 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def stroke(width: float, *xy: tuple[float, float]) -> shapely.Polygon:
    return shapely.LineString(xy).buffer(width / 2, quad_segs=100)


def circle_line(width: float, radius: float, start: float, end: float) -> shapely.Polygon:
    """A stroke along a circle about the origin, degrees."""
    t = np.radians(np.linspace(start, end, 1000))
    return stroke(width, *zip(radius * np.cos(t), radius * np.sin(t), strict=True))


def turned(area: shapely.Geometry, degrees: float) -> shapely.Geometry:
    return affinity.rotate(area, degrees, origin=(0, 0))


def assert_same(got: shapely.Geometry, expected: shapely.Geometry, tolerance: float = TOLERANCE) -> None:
    """Assert that the areas differ by at most the tolerance along their edges."""
    assert differing_area(got, expected) <= tolerance * (expected.length + got.length) / 2 + 1e-9
    assert shapely.hausdorff_distance(got.boundary, expected.boundary, densify=0.2) <= 1.5 * tolerance


# Apertures

APERTURES = {
    "circle": ("C,2", disc(2)),
    "circle with a hole": ("C,2X1", minus(disc(2), disc(1))),
    "circle with a rectangular hole": ("C,2X1X0.5", minus(disc(2), box(1, 0.5))),
    "rectangle": ("R,2X1X0.5", minus(box(2, 1), disc(0.5))),
    "obround": ("O,3X1", stroke(1, (-1, 0), (1, 0))),
    "upright obround": ("O,1X3X0.5", minus(stroke(1, (0, -1), (0, 1)), disc(0.5))),
    "square obround": ("O,2X2", disc(2)),
    "polygon": ("P,2X6", polygon(2, 6, 0)),
    "turned polygon": ("P,2X5X-18.0X0.5", minus(polygon(2, 5, -18), disc(0.5))),
}


@pytest.mark.parametrize("case", APERTURES)
def test_an_aperture_is_flashed(case: str) -> None:
    definition, expected = APERTURES[case]
    got = gerber(f"%ADD10{definition}*%\nD10*\nX3000000Y-2000000D03*\n")
    assert_same(got.area, affinity.translate(expected, 3, -2))


def test_what_lies_below_a_hole_shows_through() -> None:
    got = gerber("%ADD10C,3*%\n%ADD11C,2X1*%\nD10*\nX0Y0D03*\nD11*\nX0Y0D03*\n")
    assert_same(got.area, disc(3))


MACROS = {
    "circle": ("1,1,2,3,0,90", "", disc(2, 0, 3)),
    "vector line": ("20,1,1,0,0,3,4,30", "", turned(affinity.rotate(box(5, 1, 1.5, 2), 53.130102354), 30)),
    "centre line": ("21,1,3,1,2,0.5,30", "", turned(box(3, 1, 2, 0.5), 30)),
    "lower left line": ("22,1,3,1,2,0.5,30", "", turned(shapely.box(2, 0.5, 5, 1.5), 30)),
    "outline": ("4,1,3,0,0,2,0,2,2,0,0,45", "", turned(shapely.Polygon([(0, 0), (2, 0), (2, 2)]), 45)),
    "polygon": ("5,1,8,2,0,2,10", "", turned(polygon(2, 8, 0, 2, 0), 10)),
    "thermal": ("7,1,0.5,4,2,0.4,20", "",
        turned(minus(disc(4, 1, 0.5), disc(2, 1, 0.5), box(9, 0.4, 1, 0.5), box(0.4, 9, 1, 0.5)), 20)),
    "moiré": ("6,0,0,5,0.5,0.5,2,0.1,6,30", "",
        turned(plus(minus(disc(5), disc(4)), minus(disc(3), disc(2)), box(6, 0.1), box(0.1, 6)), 30)),
    "exposure off": ("1,1,2,0,0*1,0,1,0,0*21,1,0.2,0.2,0,0,0", "",
        plus(minus(disc(2), disc(1)), box(0.2, 0.2))),
    "variables": ("$4=$1x0.5*$5=($1+$2)/3-$4*1,1,$5X2,$2,0", ",2X4", disc(2, 4, 0)),
    "undefined variables are 0": ("1,1,2,$7,$8", "", disc(2)),
    "signs": ("1,1,-$1--+3,0,-(1-2)", ",1", disc(2, 0, 1)),
    "comments and spaces": ("0 $1 is the size*\n 1, 1, 2 , 0,0 ", "", disc(2)),
}  # fmt: skip


@pytest.mark.parametrize("case", MACROS)
def test_a_macro_is_flashed(case: str) -> None:
    body, sizes, expected = MACROS[case]
    got = gerber(f"%AMM1*\n{body}*%\n%ADD10M1{sizes}*%\nD10*\nX1000000Y0D03*\n")
    assert_same(got.area, affinity.translate(expected, 1, 0))


def test_a_macro_is_in_the_unit_of_the_file() -> None:
    got = gerber("%AMM*20,1,0.1,0,0,1,0,0*%\n%ADD10M*%\nD10*\nX0Y0D03*\n", "%FSLAX24Y24*%\n%MOIN*%\n")
    assert_same(got.area, shapely.box(0, -1.27, 25.4, 1.27))


# Strokes

STROKES = {
    "lines": ("X0Y0D02*\nG01X3000000D01*\nY2000000D01*\n", stroke(0.2, (0, 0), (3, 0), (3, 2))),
    "a dot": ("X1000000Y0D02*\nX1000000Y0D01*\n", disc(0.2, 1, 0)),
    "a closed one": ("X0Y0D02*\nX3000000D01*\nY2000000D01*\nX0Y0D01*\n",
        stroke(0.2, (0, 0), (3, 0), (3, 2), (0, 0))),
    "there and back": ("X0Y0D02*\nX3000000D01*\nX1000000D01*\n", stroke(0.2, (0, 0), (3, 0))),
    "D01 goes on": ("X0Y0D02*\nX3000000D01*\nY2000000*\n", stroke(0.2, (0, 0), (3, 0), (3, 2))),
    "full circle": ("G75*\nX1000000Y0D02*\nG03*\nI-1000000J0D01*\n", minus(disc(2.2), disc(1.8))),
    "anticlockwise": ("G75*\nX1000000Y0D02*\nG03*\nX0Y1000000I-1000000J0D01*\n",
        circle_line(0.2, 1, 0, 90)),
    "clockwise": ("G75*\nX1000000Y0D02*\nG02*\nX0Y1000000I-1000000J0D01*\n", circle_line(0.2, 1, 0, -270)),
    "quadrants": (
        "G74*\nX1000000Y0D02*\nG03*\nX0Y1000000I1000000J0D01*\nX-1000000Y0I0J1000000D01*\n"
        "X0Y-1000000I1000000J0D01*\n",
        circle_line(0.2, 1, 0, 270),
    ),
    "a quadrant clockwise": ("G74*\nX1000000Y0D02*\nG02*\nX0Y-1000000I1000000J0D01*\n",
        circle_line(0.2, 1, 0, -90)),
    "a quadrant without length": ("G74*\nX1000000Y0D02*\nG02*\nI1000000J0D01*\n", disc(0.2, 1, 0)),
}  # fmt: skip


@pytest.mark.parametrize("case", STROKES)
def test_a_stroke_is_drawn(case: str) -> None:
    body, expected = STROKES[case]
    got = gerber(f"%ADD10C,0.2*%\nD10*\n{body}")
    assert_same(got.area, expected)


def test_a_wide_arc_keeps_the_tolerance_at_its_outer_edge() -> None:
    got = gerber("%ADD10C,2*%\nD10*\nG75*\nX1100000Y0D02*\nG03*\nI-1100000J0D01*\n", tolerance=0.01)
    radius = np.hypot(*shapely.get_coordinates(got.area.geoms[0].exterior).T)
    chord = got.area.geoms[0].exterior
    assert radius.max() <= 2.11
    assert chord.distance(shapely.Point(0, 0)) >= 2.1 - 0.0101


def test_a_rectangle_draws_the_hull_of_its_ends() -> None:
    got = gerber("%ADD10R,1X1*%\nD10*\nX0Y0D02*\nX3000000Y3000000D01*\n")
    assert_same(got.area, plus(box(1, 1), box(1, 1, 3, 3)).convex_hull)


def test_a_line_without_width_leaves_nothing_with_a_warning() -> None:
    got = gerber("%ADD10C,0*%\n%ADD11C,1*%\nD10*\nX0Y0D02*\nX3000000D01*\nD11*\nX0Y0D03*\n")
    assert_same(got.area, disc(1))
    assert "1 line is left out, because what has no width has no area" in got.warnings[0]


PROFILE = (
    "%ADD10C,0*%\nD10*\nX0Y0D02*\nX9000000D01*\nY5000000D01*\n"
    "X0Y5000000D02*\nY0D01*\nX0Y5000000D02*\nX9000000D01*\n"
)


def test_a_profile_of_lines_without_width_is_what_they_enclose() -> None:
    got = gerber(PROFILE)
    assert_same(got.area, box(9, 5, 4.5, 2.5))
    assert "only lines without a width, and what they enclose is solid: --line-width" in got.warnings[0]


def test_lines_without_width_are_as_wide_as_is_said() -> None:
    got = read((HEAD + PROFILE + END).encode(), "test", Reading(TOLERANCE, line_width=0.2))
    assert got.area.area == pytest.approx(2 * 14 * 0.2 - (4 - np.pi) * 0.01, abs=0.01)
    assert got.warnings == ()


RECTANGLE = "%ADD10R,1X2*%\nD10*\nX3000000Y1000000D03*\n"


@pytest.mark.parametrize(
    ("command", "x", "y"), [("A1B0", -3, 1), ("A0B1", 3, -1), ("A1B1", -3, -1), ("B0", 3, 1)]
)
def test_an_image_is_mirrored(command: str, x: float, y: float) -> None:
    got = gerber(f"%MI{command}*%\n{RECTANGLE}")
    assert_same(got.area, box(1, 2, x, y))
    assert any("mirrored, as its command MI says" in one for one in got.warnings) is ("1" in command)


def test_an_image_is_mirrored_as_a_whole_or_not() -> None:
    with pytest.raises(InputError, match="'A1B0' of the image comes after something is drawn"):
        gerber(f"{RECTANGLE}%MIA1B0*%\n")
    with pytest.raises(InputError, match="'A2' of the image is not like A1B0"):
        gerber(f"%MIA2*%\n{RECTANGLE}")


# Regions

SQUARE = "X0Y0D02*\nG01*\nX2000000D01*\nY2000000D01*\nX0D01*\nY0D01*\n"
REGIONS = {
    "square": (SQUARE, shapely.box(0, 0, 2, 2)),
    "not closed": ("X0Y0D02*\nX2000000D01*\nY2000000D01*\nX0D01*\n", shapely.box(0, 0, 2, 2)),
    "two that overlap": (
        SQUARE + "X1000000Y1000000D02*\nX3000000D01*\nY3000000D01*\nX1000000D01*\nY1000000D01*\n",
        plus(shapely.box(0, 0, 2, 2), shapely.box(1, 1, 3, 3)),
    ),
    "cut-in": (
        "X0Y0D02*\nX4000000D01*\nY4000000D01*\nX0D01*\nY1000000D01*\nX1000000D01*\nY3000000D01*\n"
        "X3000000D01*\nY1000000D01*\nX0D01*\nY0D01*\n",
        minus(shapely.box(0, 0, 4, 4), shapely.box(1, 1, 3, 3)),
    ),
    "arc": ("G75*\nX0Y0D02*\nG01*\nX2000000D01*\nG03*\nX0Y2000000I-2000000J0D01*\nG01*\nX0Y0D01*\n",
        both(disc(4), shapely.box(0, 0, 2, 2))),
    "crossing itself": ("X0Y0D02*\nX2000000Y2000000D01*\nX2000000Y0D01*\nX0Y2000000D01*\nX0Y0D01*\n",
        plus(shapely.Polygon([(0, 0), (1, 1), (0, 2)]), shapely.Polygon([(2, 0), (1, 1), (2, 2)]))),
}  # fmt: skip


@pytest.mark.parametrize("case", REGIONS)
def test_a_region_is_filled(case: str) -> None:
    body, expected = REGIONS[case]
    assert_same(gerber(f"G36*\n{body}G37*\n").area, expected)


# Order, copies, transforms


def test_clear_removes_only_what_was_drawn_before() -> None:
    got = gerber(
        "%ADD10C,3*%\n%ADD11C,2*%\n%ADD12C,1*%\n%LPD*%\nD10*\nX0Y0D03*\n%LPC*%\nD11*\nX0Y0D03*\n"
        "%LPD*%\nD12*\nX0Y0D03*\n"
    )
    assert_same(got.area, plus(minus(disc(3), disc(2)), disc(1)))


def test_step_and_repeat() -> None:
    got = gerber(
        "%ADD10C,1*%\n%ADD11C,0.5*%\n%SRX3Y2I2.0J3.0*%\nD10*\nX0Y0D03*\n%LPC*%\nD11*\nX0Y0D03*\n%SR*%\n"
        "%LPD*%\nD11*\nX0Y-2000000D03*\n"
    )
    ring = minus(disc(1), disc(0.5))
    rings = [affinity.translate(ring, 2 * i, 3 * j) for i in range(3) for j in range(2)]
    assert_same(got.area, shapely.union_all([*rings, disc(0.5, 0, -2)], grid_size=NODING))


def test_copies_that_overlap_are_painted_upward_first() -> None:
    """The specification's order: a copy's clear part erases the copies below and left of it."""
    got = gerber(
        "%ADD10C,1*%\n%ADD11R,1.2X0.3*%\n%SRX2Y2I0.4J0.5*%\nD10*\nX0Y0D03*\n%LPC*%\nD11*\nX0Y0D03*\n%SR*%\n"
    )
    expected = shapely.MultiPolygon()
    for x, y in ((0, 0), (0, 0.5), (0.4, 0), (0.4, 0.5)):
        expected = minus(plus(expected, disc(1, x, y)), box(1.2, 0.3, x, y))
    assert_same(got.area, expected)


def test_regions_are_repeated_too() -> None:
    got = gerber(f"%SRX3Y2I4.0J4.0*%\nG36*\n{SQUARE}G37*\n%SR*%\n")
    squares = [shapely.box(4 * i, 4 * j, 4 * i + 2, 4 * j + 2) for i in range(3) for j in range(2)]
    assert_same(got.area, shapely.MultiPolygon(squares))


BLOCK = (
    "%ADD10R,1X1*%\n%ADD11R,2X2*%\n%ABD12*%\nD11*\nX0Y0D03*\n"
    "%LPC*%\nD10*\nX500000Y500000D03*\n%AB*%\n%LPD*%\n"
)


def test_a_block_aperture_brings_its_clear_parts_along() -> None:
    got = gerber(f"%ADD13R,9X9*%\n{BLOCK}D13*\nX0Y0D03*\nD12*\nX0Y0D03*\nX9000000D03*\n")
    one = minus(box(2, 2), box(1, 1, 0.5, 0.5))
    expected = plus(minus(plus(box(9, 9), box(2, 2)), box(1, 1, 0.5, 0.5)), affinity.translate(one, 9, 0))
    assert_same(got.area, expected)


def test_a_clear_block_swaps_its_parts() -> None:
    got = gerber(f"%ADD13R,9X9*%\n{BLOCK}D13*\nX0Y0D03*\n%LPC*%\nD12*\nX0Y0D03*\n")
    assert_same(got.area, plus(minus(box(9, 9), box(2, 2)), box(1, 1, 0.5, 0.5)))


def test_blocks_inside_blocks_turn_together() -> None:
    got = gerber(f"{BLOCK}%ABD20*%\n%LR90*%\nD12*\nX3000000Y0D03*\n%LR0*%\n%AB*%\n%LR180*%\nD20*\nX0Y0D03*\n")
    one = turned(minus(box(2, 2), box(1, 1, 0.5, 0.5)), 90)
    assert_same(got.area, turned(affinity.translate(one, 3, 0), 180))


FLAG = "%AMFLAG*4,1,3,0,0,2,0,0,1,0,0,0*%\n%ADD10FLAG*%\n"
TRIANGLE = shapely.Polygon([(0, 0), (2, 0), (0, 1)])
TURNS: dict[str, tuple[str, Callable[[shapely.Polygon], shapely.Polygon]]] = {
    "LMX": ("%LMX*%", lambda g: affinity.scale(g, -1, 1, origin=(0, 0))),
    "LMY": ("%LMY*%", lambda g: affinity.scale(g, 1, -1, origin=(0, 0))),
    "LMXY": ("%LMXY*%", lambda g: affinity.scale(g, -1, -1, origin=(0, 0))),
    "LR": ("%LR30*%", lambda g: turned(g, 30)),
    "LS": ("%LS1.5*%", lambda g: affinity.scale(g, 1.5, 1.5, origin=(0, 0))),
    "mirror, then turn": (
        "%LR30*%\n%LMX*%\n%LS2.0*%",
        lambda g: turned(affinity.scale(g, -2, 2, origin=(0, 0)), 30),
    ),
    "and back": ("%LR30*%\n%LMX*%\n%LR0*%\n%LMN*%", lambda g: g),
}


@pytest.mark.parametrize("case", TURNS)
@pytest.mark.parametrize("order", ["before the aperture is chosen", "after"])
def test_apertures_are_mirrored_turned_and_scaled(case: str, order: str) -> None:
    words, transform = TURNS[case]
    body = f"{words}\nD10*\n" if order == "before the aperture is chosen" else f"D10*\n{words}\n"
    got = gerber(f"{FLAG}{body}X5000000Y5000000D03*\n")
    assert_same(got.area, affinity.translate(transform(TRIANGLE), 5, 5))


def test_strokes_are_scaled_too() -> None:
    got = gerber("%ADD10C,0.2*%\n%LS3*%\nD10*\nX0Y0D02*\nX3000000D01*\n")
    assert_same(got.area, stroke(0.6, (0, 0), (3, 0)))


# Numbers

NUMBERS = {
    "leading zeros left out": ("%FSLAX24Y24*%\n%MOIN*%\n", "X10000Y-5000D03*\n", (25.4, -12.7)),
    "leading zeros there": ("%FSLAX24Y24*%\n%MOIN*%\n", "X010000Y-005000D03*\n", (25.4, -12.7)),
    "trailing zeros left out": ("%FSTAX24Y24*%\n%MOIN*%\n", "X01Y-005D03*\n", (25.4, -12.7)),
    "incremental": ("%FSLIX24Y24*%\n%MOIN*%\n", "X4000Y-5000D02*\nX6000D03*\n", (25.4, -12.7)),
    "G91": ("%FSLAX24Y24*%\n%MOIN*%\nG91*\n", "X4000Y-5000D02*\nX6000D03*\n", (25.4, -12.7)),
    "G70": ("%FSLAX24Y24*%\nG70*\n", "X10000Y-5000D03*\n", (25.4, -12.7)),
    "mm": ("%FSLAX46Y46*%\n%MOMM*%\n", "X25400000Y-12700000D03*\n", (25.4, -12.7)),
    "one command between two %": ("%FSLAX46Y46*MOMM*%\n", "X+25400000Y-12700000D03*\n", (25.4, -12.7)),
    "points": ("%FSLAX24Y24*%\n%MOIN*%\n", "X1.0Y-0.5D03*\n", (25.4, -12.7)),
    "N words": ("N1%FSLAX24Y24*%\n%MOIN*%\n".removeprefix("N1"), "N20X10000Y-5000D03*\n", (25.4, -12.7)),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_coordinates_are_read_as_their_format_says(case: str) -> None:
    head, body, expected = NUMBERS[case]
    got = gerber(f"%ADD10R,0.1X0.1*%\nG54D10*\n{body}", head)
    assert got.area.centroid.coords[0] == pytest.approx(expected, abs=1e-9)


def test_a_file_without_a_unit_takes_the_one_that_is_given() -> None:
    text = f"%FSLAX24Y24*%\n%ADD10R,0.1X0.1*%\nD10*\nX10000Y0D03*\n{END}".encode()
    assert read(text, "a", Reading(0.01, unit="in")).size == pytest.approx((2.54, 2.54))
    assert read(text, "a", Reading(0.01, unit="in")).warnings == ()
    assert read(text, "a", Reading(0.01, unit="mm")).size == pytest.approx((0.1, 0.1))


def test_a_file_that_names_no_unit_is_taken_to_be_in_inches() -> None:
    text = f"%FSLAX13Y13*%\n%ADD010R,0.1X0.1*%\nG54D10*\nX500Y-250D03*\n{END}".encode()
    guessed = read(text, "a", Reading(0.01))
    assert guessed.area.centroid.coords[0] == pytest.approx((12.7, -6.35))
    (warning,) = guessed.warnings
    assert "names no unit" in warning and "inches are assumed: --unit mm if it is mm" in warning
    assert guessed.source == ("Gerber in inches",)


@pytest.mark.parametrize("late", ["%MOMM*%", "G71*", "G70*"])
def test_a_unit_after_it_is_needed_is_refused(late: str) -> None:
    text = f"%FSLAX24Y24*%\n%ADD10R,0.1X0.1*%\n{late}\nD10*\nX10000Y0D03*\n{END}".encode()
    with pytest.raises(InputError, match="after it is needed: give it, as in --unit mm"):
        read(text, "a", Reading(0.01))


def test_what_older_programs_write_is_heeded_or_harmless() -> None:
    got = gerber(
        "%ASAXBY*%\n%IPPOS*%\n%OFA0.0B0.0*%\n%MIA0B0*%\n%SFA1.0B1.0*%\n%IR0*%\n%INTOP*%\n%LNCOPPER*%\n%ICAS*%\n"
        "G04 #@! %TF.Part,Single*%*\n%ADD10C,1*%\nG04 Comment with % and , signs*\nD10*\nM01*\nX0Y0D03*\n"
    )
    assert_same(got.area, disc(1))
    assert got.warnings == ()


def test_flashes_of_copper_are_pads_with_pin_and_net() -> None:
    """Not what is cleared, and of two that meet the larger one; copies are pads, too."""
    text = (
        "%ADD10C,1*%\n%ADD11C,0.5*%\n%TO.P,R1,2,in*%\n%TO.N,A\\u0042*%\nD10*\nX0Y0D03*\n"
        "%TD.P*%\nX1000000Y0D02*\nX5000000Y0D01*\n%SRX2Y1I3J0*%\nX2000000Y2000000D03*\n%SR*%\n"
        "%TD*%\n%TO.N,N/C*%\nD11*\nX0Y0D03*\nX7000000Y0D03*\n%LPC*%\nX8000000Y0D03*\n"
    )
    pads = gerber(text).pads
    assert pads is not None
    found = {
        (round(area.centroid.x, 6), round(area.centroid.y, 6)): (pin, net)
        for area, pin, net in zip(pads.areas.geoms, pads.pins, pads.nets, strict=True)
    }
    assert found == {(0, 0): ("R1.2", "AB"), (2, 2): ("", "AB"), (5, 2): ("", "AB"), (7, 0): ("", "")}
    assert pads.areas.area == pytest.approx(3 * disc(1).area + disc(0.5).area, rel=0.01)
    assert gerber("%TF.FileFunction,Soldermask,Top*%\n" + text).pads is None
    hidden = gerber(re.sub(r"%(T[OD][^*]*\*)%", r"G04 #@! \1", text)).pads
    assert hidden is not None and (hidden.pins, hidden.nets) == (pads.pins, pads.nets)


def test_a_macro_of_one_area_is_a_pad() -> None:
    """Octagons, and rectangles rounded by circles at their corners; not two discs apart from each other."""
    text = (
        "%AMROUND*\n21,1,2,1,0,0,0*\n1,1,0.5,1,0*\n1,1,0.5,-1,0*%\n%AMOC8*\n5,1,8,0,0,1.08239X$1,22.5*%\n"
        "%AMTWO*\n1,1,0.5,1,0*\n1,1,0.5,-1,0*%\n%ADD10ROUND*%\n%ADD11OC8,1*%\n%ADD12TWO*%\n"
        "D10*\nX0Y0D03*\nD11*\nX4000000Y0D03*\nD12*\nX8000000Y0D03*\n"
    )
    pads = gerber(text).pads
    assert pads is not None
    assert sorted(round(area.centroid.x) for area in pads.areas.geoms) == [0, 4]


def test_pads_are_moved_with_their_copper() -> None:
    drawn = gerber("%MIA1B0*%\n%ADD10C,1*%\nD10*\nX3000000Y1000000D03*\nX7000000Y0D03*\n")
    moved = arrange(drawn, Arrangement(mirror="y", rotate=30, scale=2, repeat=Repeat(2, 1, (40, 40))))
    assert moved.pads is not None and len(moved.pads.nets) == 4
    assert_same(moved.pads.areas, moved.area)
    assert arrange(drawn, Arrangement(negative=True)).pads is None


def test_the_attributes_of_the_file_are_reported() -> None:
    got = gerber(
        "%TF.FileFunction,Soldermask,Top*%\n%TF.FilePolarity,Negative*%\n%ADD10C,1*%\nD10*\nX0Y0D03*\n"
    )
    assert "--negative" in got.warnings[0]
    assert arrange(got, Arrangement(rotate=90)).warnings == got.warnings
    assert arrange(got, Arrangement(negative=True)).warnings == ()
    assert got.source == ("Gerber Soldermask,Top in mm",)


# Whole files against gerbv


def by_gerbv(program: str, path: Path, grid: Grid, out: Path) -> np.ndarray:
    """Coverage of each pixel, row 0 the lowest."""
    inches = [(value - grid.pitch / 2) / 25.4 for value in grid.origin]
    rows, columns = grid.shape
    command = [
        program, "--export=png", "--antialias", "--border=0", f"--dpi={25.4 / grid.pitch:g}",
        f"--origin={inches[0]:.2f}x{inches[1]:.2f}", f"--window={columns}x{rows}", "--background=#ffffff",
        "--foreground=#000000ff", f"--output={out}", str(path),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return 1 - np.asarray(Image.open(out).convert("L"), dtype=float)[::-1] / 255


@pytest.mark.parametrize("name", ["gerber_kicad-F_Cu.gbr", "gerber_eagle_inch.gtl", "gerber_old_words.gbr"])
def test_gerbv_draws_the_same(name: str, tmp_path: Path, need: Callable[[str], str]) -> None:
    """gerbv does not know commands from after 2010; its pixels are up to half a pixel off."""
    design = load(FILES / name, tolerance=TOLERANCE)
    x0, y0, x1, y1 = design.bounds
    pitch = 0.01
    low = [np.floor((v - 0.2) / 0.254) * 0.254 for v in (x0, y0)]  # gerbv takes two decimals of an inch
    shape = tuple(int(np.ceil((hi + 0.2 - lo) / pitch)) for lo, hi in ((low[1], y1), (low[0], x1)))
    grid = Grid((low[0] + pitch / 2, low[1] + pitch / 2), pitch, (shape[0], shape[1]))
    ours = rasterise(design, grid).coverage
    theirs = by_gerbv(need("gerbv"), FILES / name, grid, tmp_path / "gerbv.png")
    assert theirs.sum() == pytest.approx(ours.sum(), rel=2e-3)
    assert np.abs(ours - theirs).sum() * pitch <= 0.5 * design.area.length


def test_the_new_words_give_their_shapes() -> None:
    """gerbv does not know them; three parts of the file are checked by hand."""
    area = load(FILES / "gerber_new_words.gbr", tolerance=TOLERANCE).area
    flag = minus(shapely.Polygon([(-0.2, 0), (1, 0), (0.4, 0.5), (-0.2, 0.8)]), disc(0.2, 0.1, 0.2))
    assert_same(both(area, shapely.box(0, 0, 2, 2.5)), affinity.translate(flag, 1, 1))
    scaled = affinity.translate(affinity.scale(flag, 1.5, 1.5, origin=(0, 0)), 1, 3)
    assert_same(both(area, shapely.box(0, 2.7, 2.6, 5)), scaled)
    bars = plus(box(1, 0.3), box(1, 0.3, 0, 0.6))
    left = shapely.box(0, 5.1, 1.45, 7)
    assert_same(both(area, left), both(affinity.translate(minus(bars, disc(0.4, 0.3, 0)), 1, 5.5), left))


# Bad input

BAD = {
    "PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is PNG: the image is broken or cut off (Truncated File Read)"),
    "binary": (bytes(range(256)) * 9, "not text"),
    "encrypted": (os.urandom(10) + b"\0" + os.urandom(3000), "not text"),
    "Excellon with comments": (b"; made by hand\nM48\nINCH\n%\nT1*\nM30\n", "drill file (Excellon)"),
    "G-code": (b"G21\nG0 X1 Y1 * 3\n", "G21 is not a command of Gerber"),
    "no end": (f"{HEAD}%ADD10C,1*%\nD10*\nX0Y0D03*\n".encode(), "does not end with M02"),
    "cut in a word": (f"{HEAD}%ADD10C,1*%\nD10*\nX0Y0D".encode(), "line 5: the file is cut off in 'X0Y0D'"),
    "cut in an extended command": (f"{HEAD}%ADD10C,1".encode(), "line 3: a '%' opens"),
    "cut in a region": (f"{HEAD}G36*\nX0Y0D02*\nX9Y0D01*\n{END}".encode(), "inside a region"),
    "cut in a block": (f"{HEAD}%ABD10*%\n{END}".encode(), "inside a block"),
    "nothing": (f"{HEAD}{END}".encode(), "nothing is drawn"),
    "all cleared": (f"{HEAD}%ADD10C,1*%\nD10*\nX0Y0D03*\n%LPC*%\nX0Y0D03*\n{END}".encode(),
        "all is cleared again"),
    "no format": (f"%MOMM*%\n%ADD10C,1*%\nD10*\nX0Y0D03*\n{END}".encode(), "line 4: coordinates come before"),
    "odd format": (f"%FSLAX3*%\n{END}".encode(), "the format 'LAX3'"),
    "two formats": (f"%FSLAX24Y36*%\n{END}".encode(), "the format"),
    "odd unit": (f"%MOFT*%\n{END}".encode(), "neither MM nor IN"),
    "unknown aperture": (f"{HEAD}D10*\nX0Y0D03*\n{END}".encode(), "line 3: aperture D10 is not defined"),
    "no aperture": (f"{HEAD}X0Y0D03*\n{END}".encode(), "before an aperture"),
    "line without aperture": (f"{HEAD}X0Y0D02*\nX5Y5D01*\n{END}".encode(), "before an aperture"),
    "unknown macro": (f"{HEAD}%ADD10NEVER*%\n{END}".encode(), "'NEVER', which is not defined"),
    "D9": (f"{HEAD}%ADD9C,1*%\n{END}".encode(), "below D10"),
    "negative size": (f"{HEAD}%ADD10C,-1*%\n{END}".encode(), "below 0"),
    "sizes missing": (f"{HEAD}%ADD10R,1*%\n{END}".encode(), "1 sizes"),
    "NaN size": (f"{HEAD}%ADD10C,nan*%\n{END}".encode(), "not numbers"),
    "two corners": (f"{HEAD}%ADD10P,1X2*%\n{END}".encode(), "2 corners"),
    "primitive 99": (f"{HEAD}%AMA*99,1,1*%\n%ADD10A*%\n{END}".encode(), "not the number of a primitive"),
    "primitive without numbers": (f"{HEAD}%AMA*1,1*%\n%ADD10A*%\n{END}".encode(), "lacks numbers"),
    "division by zero": (f"{HEAD}%AMA*1,1,1/0,0,0*%\n%ADD10A*%\n{END}".encode(), "divides by zero"),
    "deep brackets": (f"{HEAD}%AMA*1,1,{'(' * 999}1,0,0*%\n%ADD10A*%\n{END}".encode(),
        "cannot be worked out"),
    "huge macro": (f"{HEAD}%AMA*4,1,3,0,0,1e300,0,1,1,0,0,0*%\n%ADD10A*%\n{END}".encode(),
        "from the origin"),
    "gigantic": (f"{HEAD}%ADD10C,1*%\nD10*\nX{'9' * 300}Y0D03*\n{END}".encode(), "from the origin"),
    "infinite": (f"{HEAD}%ADD10C,1*%\nD10*\nX{'9' * 400}Y0D03*\n{END}".encode(), "not finite"),
    "NaN": (f"{HEAD}%ADD10C,1*%\nD10*\nXnanY0D03*\n{END}".encode(), "'XnanY0D03' is not a command"),
    "include": (f"{HEAD}%IF/etc/passwd*%\n{END}".encode(), "'/etc/passwd', which is not opened"),
    "image negative": (f"{HEAD}%IPNEG*%\n{END}".encode(), "--negative"),
    "image scaled": (f"{HEAD}%SFA2B2*%\n{END}".encode(), "--scale"),
    "image moved": (f"{HEAD}%OFA1B0*%\n{END}".encode(), "--offset"),
    "image turned": (f"{HEAD}%IR90*%\n{END}".encode(), "--rotate"),
    "unknown extended": (f"{HEAD}%KOC*%\n{END}".encode(), "'KOC' is not a command"),
    "unknown G": (f"{HEAD}G77*\n{END}".encode(), "G77 is not a command"),
    "G74 without a centre": (
        f"{HEAD}%ADD10C,1*%\nD10*\nG74*\nX0Y0D02*\nG03*\nX1000000Y0I500000J0D01*\n{END}".encode(),
        "no centre that fits",
    ),
    "flash in a region": (f"{HEAD}%ADD10C,1*%\nD10*\nG36*\nX0Y0D03*\n{END}".encode(), "inside a region"),
    "line with a macro": (
        f"{HEAD}%AMA*1,1,1,0,0*1,1,1,3,0*%\n%ADD10A*%\nD10*\nX0Y0D02*\nX9Y9D01*\n{END}".encode(),
        "which is not convex",
    ),
    "too many copies": (f"{HEAD}%ADD10C,1*%\n%SRX9999Y9999I1J1*%\nD10*\nX0Y0D03*\n%SR*%\n{END}".encode(),
        "copies"),
    "copies of copies": (
        HEAD.encode()
        + b"%ADD10C,1*%\n%ABD11*%\nD10*\nX0Y0D03*\nX9000000D03*\n%LPC*%\nX0D03*\n%LPD*%\n%AB*%\n"
        + b"%SRX1000Y1000I1J1*%\nD11*\n" + b"X0Y0D03*\n" * 9 + b"%SR*%\n" + END.encode(),
        "makes 27 000 000 polygons, but 3 000 000 is the limit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", one_fast(BAD, *(set(BAD) - {"copies of copies"})))
def test_a_bad_file_is_one_sentence_that_names_it(case: str, tmp_path: Path) -> None:
    content, words = BAD[case]
    assert words in refusal(tmp_path / "bad.gbr", content)


def test_layers_are_refused() -> None:
    with pytest.raises(InputError, match="one layer"):
        read(b"*", "a", Reading(0.01, layers=("top",)))


@pytest.mark.parametrize(("rows", "units"), [(50, 10), pytest.param(200, 35, marks=pytest.mark.slow)])
def test_forty_thousand_flashes_take_a_second(rows: int, units: float) -> None:
    """Measured 0.6 s; the bound catches quadratic growth. First with a fourth."""
    flashes = "".join(f"X{i * 200000}Y{j * 200000}D03*\n" for i in range(200) for j in range(rows))
    design = within(units, lambda: gerber(f"%ADD10R,0.1X0.1*%\nD10*\n{flashes}"))
    assert design.area.area == pytest.approx(2 * rows)
