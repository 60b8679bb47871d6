"""Designs with known faults, or none: each fault is named with its place, and nothing is red without one.

Printed is the drawing with the faults in it, blurred by the spot; judged is that against the drawing without.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest
import shapely
from exposures import STILL, exposure, make_job, rings
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from sets import examples, one_fast
from shapely.affinity import rotate, translate
from shapes import minus, plus

from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.measure import edge_errors, inspect
from laserpath.measure.inspection import labelled
from laserpath.report import PageData
from laserpath.report.data import marked, worst_places
from laserpath.report.verdict import Verdict, judge
from laserpath.report.wording import kind_of, listed, number, sentences
from laserpath.types import Design, Grid, Point, Process
from laserpath.types.results import Fault, Inspection, Measurement, Report

PROCESS = Process()
FWHM = PROCESS.spot.fwhm
CRITICAL = PROCESS.resin.critical_dose
box = shapely.box
Area = shapely.Geometry


def design(area: Area) -> Design:
    return Design(shapely.MultiPolygon([p for p in shapely.get_parts(area) if p.area > 0]), "faulty")


def scene(drawn: Design, grid: Grid) -> Scene:
    return Scene(drawn, grid, PROCESS.spot, PROCESS.resin)


@lru_cache(32)
def printed(drawn: Area, lit: Area, level: float = 2.0) -> Measurement:
    """What cures where `lit` is exposed, measured against `drawn`."""
    made = exposure(design(drawn), PROCESS, level, lit=design(lit))
    return replace(made, motion=replace(STILL, write_time=10.0, ideal_time=9.0))


@lru_cache(32)
def inspected(drawn: Area, lit: Area, level: float = 2.0) -> Inspection:
    exposure = printed(drawn, lit, level)
    return inspect(exposure, scene(design(drawn), exposure.grid))


PATH = rings(design(box(0, 0, 1, 1)), PROCESS.machine)


def verdict(drawn: Area, lit: Area, level: float = 2.0) -> Verdict:
    outline, executed = design(drawn), printed(drawn, lit, level)
    report = Report(executed, executed, executed, inspection=inspected(drawn, lit, level))
    return judge(PageData.of(report, outline, PATH, PROCESS))


# Drawings

SQUARE = box(0, 0, 3, 3)
BARS = plus(box(0, 0, 1, 3), box(1.3, 0, 2.3, 3))
LINES = plus(*[box(0, 0.5 * i, 3, 0.5 * i + 0.2) for i in range(5)])
RING = minus(shapely.Point(0, 0).buffer(1, quad_segs=64), shapely.Point(0, 0).buffer(0.8, quad_segs=64))
SLIT = box(0.5, -0.15, 2, 0.15)
OPEN_RING = minus(RING, SLIT)
HOLED = minus(SQUARE, box(1, 1, 1.3, 1.3))
DOTTED = plus(SQUARE, box(3.5, 1, 3.7, 1.2))
COMB = plus(box(0, 0, 3, 0.3), *(box(0.3 * i, 0, 0.3 * i + 0.15, 2) for i in range(10)))
PADS = plus(*[shapely.Point(x, y).buffer(0.3) for x in range(6) for y in range(6)])
CHECKED = shapely.MultiPolygon([box(0, 0, 1, 1), box(1, 1, 2, 2)])
BOARD = plus(*[box(0, 0.8 * i, 10, 0.8 * i + 0.4) for i in range(13)])
SMALL_BOARD = plus(*[box(0, 0.8 * i, 6, 0.8 * i + 0.4) for i in range(7)])


@dataclass(frozen=True)
class Case:
    """drawn, lit: what is outline and what is exposed.  found: (kind, place) of each fault and flaw."""

    drawn: Area
    lit: Area
    level: str
    found: tuple[tuple[str, Point], ...] = ()


CASES = {
    # Nothing red without a fault, and a corner that the spot rounds off is none.
    "a square": Case(SQUARE, SQUARE, "good"),
    "two bars": Case(BARS, BARS, "good"),
    "a ring": Case(RING, RING, "good"),
    "an open ring": Case(OPEN_RING, OPEN_RING, "good"),
    "a comb": Case(COMB, COMB, "fair"),
    "pads": Case(PADS, PADS, "good"),
    "squares that touch at a point": Case(CHECKED, CHECKED, "good"),
    "a hair between two squares": Case(
        plus(box(0, 0, 1, 1), box(1.001, 0, 2, 1)), box(0, 0, 2, 1), "fair"
    ),
    "squares on a hair": Case(
        plus(box(0, 0, 1, 1), box(1, 0.5, 1.5, 0.5005), box(1.5, 0, 2.5, 1)),
        plus(box(0, 0, 1, 1), box(1.5, 0, 2.5, 1)),
        "fair",
    ),
    "all a twentieth of a spot aside": Case(BARS, translate(BARS, 0.05 * FWHM), "good"),
    "lines half a spot too wide": Case(LINES, LINES.buffer(0.25 * FWHM), "fair"),
    # Topology.
    "a dot lost": Case(DOTTED, SQUARE, "poor", (("lost", (3.6, 1.1)),)),
    "a line lost": Case(LINES, minus(LINES, box(-1, 0.9, 4, 1.3)), "poor", (("lost", (1.5, 1.1)),)),
    "a line below the spot": Case(
        plus(SQUARE, box(0, 4, 3, 4.03)), SQUARE, "poor", (("lost", (1.5, 4.015)),)
    ),
    "a hole filled": Case(HOLED, SQUARE, "poor", (("filled", (1.15, 1.15)),)),
    "a slit below the spot": Case(
        plus(box(0, 0, 1, 3), box(1.03, 0, 2, 3)), box(0, 0, 2, 3), "poor",
        (("joined", (1.015, 1.5)),),
    ),
    "two bars bridged": Case(BARS, plus(BARS, box(0.9, 1, 1.4, 1.2)), "poor", (("joined", (1.15, 1.1)),)),
    "two bars bridged twice": Case(
        BARS, plus(plus(BARS, box(0.9, 0.5, 1.4, 0.7)), box(0.9, 2, 1.4, 2.3)), "poor",
        (("joined", (1.15, 0.6)), ("joined", (1.15, 2.15))),
    ),
    "an open ring bridged": Case(OPEN_RING, RING, "poor", (("closed", (0.9, 0)),)),
    "a line cut": Case(LINES, minus(LINES, box(1.5, 0.9, 1.7, 1.3)), "poor", (("cut", (1.6, 1.1)),)),
    "a ring cut": Case(RING, OPEN_RING, "poor", (("cut", (0.9, 0)),)),
    "a ring cut twice": Case(
        RING, minus(RING, box(-2, -0.15, 2, 0.15)), "poor", (("cut", (0.9, 0)), ("cut", (-0.9, 0)))
    ),
    "a dot lost and a bar bridged": Case(
        plus(BARS, box(3, 1, 3.2, 1.2)), plus(BARS, box(0.9, 1, 1.4, 1.2)), "poor",
        (("lost", (3.1, 1.1)), ("joined", (1.15, 1.1))),
    ),
    # Shares.
    "a pinhole": Case(
        BOARD, minus(BOARD, box(5, 4.13, 5.11, 4.26)), "fair", (("pinhole", (5.055, 4.195)),)
    ),
    "a speck": Case(BOARD, plus(BOARD, box(5, 4.54, 5.1, 4.64)), "fair", (("speck", (5.05, 4.59)),)),
    "a fortieth of the area": Case(
        SQUARE, minus(SQUARE, box(2.5, 1, 4, 1.5)), "poor", (("bite", (2.7, 1.25)),)
    ),
    "printed beside": Case(SQUARE, plus(SQUARE, box(2.5, 1, 3.4, 1.5)), "poor", (("blob", (3.2, 1.25)),)),
    "a hole in the middle": Case(
        SQUARE, minus(SQUARE, box(1, 1, 2, 2)), "poor", (("pinhole", (1.5, 1.5)),)
    ),
    "the end of a line, 1.5 % of the outline": Case(
        BOARD, minus(BOARD, box(8.0, 7, 11, 7.7)), "poor", (("bite", (9, 7.4)),)
    ),
}  # fmt: skip


FAST = (
    *("a line cut", "a dot lost", "a hole filled", "two bars bridged", "an open ring"),
    *("squares on a hair", "printed beside", "a line below the spot"),
)
"""One of each kind."""


@pytest.mark.parametrize("name", one_fast(CASES, *FAST))
def test_what_is_wrong_is_named_with_its_place(name: str) -> None:
    case = CASES[name]
    judged = verdict(case.drawn, case.lit)
    found = inspected(case.drawn, case.lit)
    named = [(one.kind, one.at) for one in (*found.faults, *found.flaws)]
    assert sorted(kind for kind, _ in named) == sorted(kind for kind, _ in case.found), named
    for kind, place in case.found:
        assert min(math.dist(place, at) for other, at in named if other == kind) < 1.5 * FWHM, named
    assert judged.level == case.level, judged.headline


@pytest.mark.parametrize("name", one_fast(CASES, "a line cut", "an open ring bridged"))
def test_a_large_print_has_the_same_faults_window_by_window(name: str, alone, monkeypatch) -> None:
    """Windows of 22 FWHM, whose borders cross what is wrong."""
    case = CASES[name]
    whole = inspected(case.drawn, case.lit)
    monkeypatch.setattr("laserpath.measure.faults._WINDOWED_FROM", 0)
    monkeypatch.setattr("laserpath.measure.faults._SIDE_FWHM", 22.0)
    exposed = printed(case.drawn, case.lit)
    found = inspect(exposed, scene(design(case.drawn), exposed.grid))
    ours, theirs = ([*one.faults, *one.flaws] for one in (found, whole))
    slit = (
        name == "a slit below the spot"
    )  # the bridge is as long as several windows: each has its part of it
    assert len(ours) == len(theirs) or slit
    assert {one.kind for one in ours} == {one.kind for one in theirs}
    for one in theirs:
        nearest = min(ours, key=lambda other: math.dist(one.at, other.at))
        assert math.dist(one.at, nearest.at) < 1.5 * FWHM or slit
        assert nearest.size == pytest.approx(one.size, abs=FWHM / 4) or slit
    assert found.wrong_area == pytest.approx(whole.wrong_area, rel=0.05, abs=1e-3)
    for ours_all, all_ in ((found.missing, whole.missing), (found.excess, whole.excess)):
        assert (ours_all and ours_all.at) == (all_ and pytest.approx(all_.at, abs=FWHM / 4))


def test_size_and_count_are_in_the_headline_and_further_places_below() -> None:
    lit = BOARD
    for k in range(4):
        lit = minus(lit, box(1 + k, 4.13, 1.11 + 0.01 * k + k, 4.26))
    judged = verdict(BOARD, lit)
    assert "4 pinholes, the largest 0.1" in judged.headline and "(4.0" in judged.headline
    (where,) = [answer for question, answer in judged.answers if question.startswith("Where it will miss")]
    assert "others at (" in where and "and 1 more" in where


def test_a_share_is_red_where_a_large_board_shrugs_it_off() -> None:
    """A pinhole of a spot's area is 0.3 % of a small part and 0.01 % of a board."""

    def holed(size: float) -> Inspection:
        part = box(0, 0, size, size)
        return inspected(part, minus(part, box(0.4, 0.4, 0.51, 0.53)))

    small, large = holed(1.0), holed(4.0)
    assert large.wrong_area == pytest.approx(small.wrong_area, rel=0.1)
    assert small.wrong_share == pytest.approx(16 * large.wrong_share, rel=0.1)
    assert verdict(box(0, 0, 1, 1), minus(box(0, 0, 1, 1), box(0.4, 0.4, 0.51, 0.53))).level == "poor"
    assert verdict(box(0, 0, 4, 4), minus(box(0, 0, 4, 4), box(0.4, 0.4, 0.51, 0.53))).level == "fair"


def test_a_flaw_of_a_tenth_of_a_spot_is_never_red() -> None:
    found = Inspection(wrong_area=0.09 * FWHM**2, wrong_share=0.01)
    job = make_job(design(box(0, 0, 0.3, 0.3)))
    report = replace(job.report, inspection=found)
    data = replace(job, report=report).page_data
    assert judge(data).level != "poor"
    data = replace(data, inspection=replace(found, wrong_area=0.11 * FWHM**2))
    assert judge(data).level == "poor"


def test_too_much_dose_is_a_flaw_that_is_named() -> None:
    executed = printed(SQUARE, SQUARE)
    burnt = replace(executed, figures=replace(executed.figures, dose_max=21.0))
    report = Report(burnt, burnt, burnt)
    judged = judge(PageData.of(report, design(SQUARE), PATH, PROCESS))
    assert judged.level == "fair", "all that is drawn is there"
    assert "up to 21.0 × the critical dose" in judged.headline


@examples(12)
@given(st.floats(0, 2 * math.pi), st.floats(0.2, 2.8), st.floats(0, 1))
def test_a_bridge_is_found_wherever_it_is(turn: float, y: float, aside: float) -> None:
    """Pixels lie otherwise after each turn; the place turns along."""
    bridge = box(0.9, y - 0.1, 1.4, y + 0.1)
    turned = [
        translate(rotate(area, turn, (0, 0), use_radians=True), aside * FWHM)
        for area in (BARS, plus(BARS, bridge), shapely.Point(1.15, y))
    ]
    (fault,) = inspected(*turned[:2]).faults
    assert fault.kind == "joined"
    assert math.dist(fault.at, turned[2].coords[0]) < FWHM / 4
    assert fault.size == pytest.approx(0.2, abs=FWHM / 2)


@examples(12)
@given(st.floats(0, 2 * math.pi), st.floats(0.35, 1.0), st.floats(1.0, 2.0))
def test_wide_enough_lines_have_no_fault_however_they_lie(turn: float, gap: float, level: float) -> None:
    """Lines and gaps of a spot and more, also somewhat under-dosed."""
    width = 1.5 * FWHM
    lines = plus(*[box(0, k * (width + gap), 2, k * (width + gap) + width) for k in range(4)])
    lines = rotate(lines, turn, (0, 0), use_radians=True)
    assert inspected(lines, lines, 1.6 + 0.4 * level).faults == ()


def test_pixels_have_the_number_of_the_polygon_that_their_centre_is_in() -> None:
    """Also with holes, islands in holes, and gaps and polygons narrower than a pixel."""
    ring = minus(shapely.Point(5, 5).buffer(4), shapely.Point(5, 5).buffer(3))
    parts = [ring, shapely.Point(5, 5).buffer(2.9), box(10.01, 1, 10.3, 9.2), box(10.31, 0.6, 14, 9)]
    grid = Grid((0.13, 0.27), 0.5, (20, 28))
    found = labelled(parts, grid)
    x, y = np.meshgrid(grid.x(), grid.y())
    expected = sum((k + 1) * shapely.contains_xy(part, x, y) for k, part in enumerate(parts))
    assert np.array_equal(found, expected)


def test_coarse_pixels_are_made_fine_enough() -> None:
    """Three pixels a spot are as many as may be planned with."""
    fine = printed(BARS, plus(BARS, box(0.9, 1, 1.4, 1.2)))
    coarse_grid = grid_for(design(BARS), PROCESS.spot, 3)
    spots = [rasterise(design(plus(BARS, box(0.9, 1, 1.4, 1.2))), coarse_grid).coverage]
    dose = gaussian_filter(spots[0], FWHM / 2.355 / coarse_grid.pitch) * 2 * CRITICAL
    coarse = replace(fine, grid=coarse_grid, dose=dose)
    (a,), (b,) = (inspect(one, scene(design(BARS), one.grid)).faults for one in (fine, coarse))
    assert math.dist(a.at, b.at) < FWHM / 3


def test_faults_that_no_edge_shows_are_marked_before_the_worst_places() -> None:
    executed = printed(SMALL_BOARD, minus(SMALL_BOARD, box(5, 4.13, 5.11, 4.26)))
    found = inspect(executed, scene(design(SMALL_BOARD), executed.grid))
    first, *others = marked(worst_places(executed.edges, design(SMALL_BOARD), FWHM), found, FWHM)
    assert (first.kind, first.size, first.cause) == ("pinhole", found.flaws[0].size, "pinhole in a part")
    assert others and all(one.size is None for one in others)
    exposed = printed(DOTTED, SQUARE)
    lost = inspect(exposed, scene(design(DOTTED), exposed.grid))
    places = worst_places(exposed.edges, design(DOTTED), FWHM)
    assert marked(places, lost, FWHM) == places, "the dot's own outline shows it"


@pytest.mark.slow
def test_a_pinhole_of_half_a_spot_does_not_spoil_a_board() -> None:
    """80 × 80 mm: in 6400 mm² a pinhole of 0.05 mm is a flaw, judged with size and place."""
    board = design(plus(*[box(0, 2 * k, 80, 2 * k + 1.5) for k in range(40)]))
    grid = grid_for(board, PROCESS.spot, 6)
    dose = gaussian_filter(rasterise(board, grid).coverage, FWHM / 2.355 / grid.pitch) * 2 * CRITICAL
    x, y = np.meshgrid(grid.x(), grid.y(), sparse=True)
    dose[np.hypot(x - 40.2, y - 12.6) < 0.025] = 0
    strip = replace(grid, shape=(400, grid.shape[1]))
    edges = edge_errors(dose[:400], scene(design(box(0, 0, 80, 1.5)), strip))
    found = inspect(Measurement(None, None, grid, dose, edges), scene(board, grid))  # type: ignore[arg-type]
    (flaw,) = found.flaws
    assert (flaw.kind, found.faults) == ("pinhole", ())
    assert math.dist(flaw.at, (40.2, 12.6)) < 0.03
    assert flaw.size == pytest.approx(0.05, abs=0.02)
    assert found.wrong_share < 1e-6


@pytest.mark.parametrize("turn", one_fast([0.0, 30.0], 30.0))
@pytest.mark.parametrize(("width", "length"), [(0.04, 2.0), (0.05, 0.8)])
def test_a_slit_is_reported_with_its_width_and_length(turn: float, width: float, length: float) -> None:
    """One that is filled, and one that is left open; also a turned one."""
    slit = rotate(box(0.5, 1.5, 0.5 + length, 1.5 + width), turn, (1, 1))
    (closed,) = inspected(minus(SQUARE, slit), SQUARE).faults
    assert (closed.kind, closed.size) == ("closed", pytest.approx(length, rel=0.01))
    assert closed.width == pytest.approx(width, rel=0.01)
    assert f"gap closed, {number(width, 2)} × {number(length, 2)} mm at (" in (
        verdict(minus(SQUARE, slit), SQUARE).headline
    )
    wide = rotate(box(0.5, 1.5, 0.5 + length, 1.5 + 0.15), turn, (1, 1))
    (flaw,) = inspected(SQUARE, minus(SQUARE, wide)).flaws
    assert flaw.kind == "pinhole" and flaw.width is not None
    assert flaw.width * flaw.size == pytest.approx(flaw.area)
    first, *_ = sentences(inspected(SQUARE, minus(SQUARE, wide)), FWHM)
    assert kind_of(flaw, FWHM) == "slit"
    assert re.match(r"1 slit left in a part, 0\.1\d+ × [0-9.]+ mm at \(", first)


def test_a_ring_of_a_gap_is_as_long_as_it_goes_round() -> None:
    gap = minus(shapely.Point(1.5, 1.5).buffer(0.72), shapely.Point(1.5, 1.5).buffer(0.69))
    (fault, *_) = inspected(minus(SQUARE, gap), SQUARE).faults
    assert fault.width is None or fault.width == pytest.approx(0.03, rel=0.1)


@pytest.mark.parametrize("width", [0.14, 0.2])
def test_a_ring_left_open_is_a_slit_as_wide_and_long_as_it_is(width: float) -> None:
    middle = shapely.Point(1.5, 1.5)
    ring = minus(middle.buffer(1 + width / 2), middle.buffer(1 - width / 2))
    (flaw,) = inspected(SQUARE, minus(SQUARE, ring)).flaws
    assert kind_of(flaw, FWHM) == "slit"
    assert flaw.width == pytest.approx(width, abs=0.1 * FWHM)
    assert flaw.size == pytest.approx(2 * math.pi, rel=0.05)


def test_a_square_hole_is_no_slit() -> None:
    (closed,) = inspected(HOLED, SQUARE).faults
    assert closed.width is None
    assert "×" not in verdict(HOLED, SQUARE).headline.split(", 9")[0]


def test_of_many_kinds_three_are_named_and_all_are_listed() -> None:
    kinds = ("lost", "closed", "cut", "joined", "pinhole", "speck")
    faults = tuple(Fault(kind, (1.0 + k, 2.0), 0.5 - 0.01 * k, 0.01) for k, kind in enumerate(kinds[:4]))
    flaws = tuple(Fault(kind, (6.0 + k, 2.0), 0.05, 0.01) for k, kind in enumerate(kinds[4:]))
    found = Inspection(faults=faults, flaws=flaws * 150, wrong_share=0.01)
    lines = list(sentences(found, FWHM))
    first = [one.split(",")[0] for one in lines[:3]]
    assert first == ["1 feature lost", "1 gap closed", "1 cut through a part"]
    assert lines[3] == "3 more kinds of fault are in the list below."
    assert list(sentences(Inspection(faults=faults), FWHM))[3] == "1 more kind of fault is in the list below."
    rows, more = listed(found, FWHM)
    assert rows[0] == ("feature lost", "0.50 mm", "(1.000, 2.000)")
    assert len(rows) + more == 304
    assert listed(Inspection(faults=faults[:1]), FWHM) == ((), 0), "the sentence has its place"
