"""Corners that any spot rounds off are no lost edges; what is lost at a corner is one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import shapely
from exposures import STILL
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from scipy.special import ndtr
from sets import examples
from shapely.affinity import rotate

from laserpath.base import quantities
from laserpath.base.quantities import decimals
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.program import MachineProgram
from laserpath.measure import cure_figures, edge_errors, inspect, rounded_off, summary, unprintable
from laserpath.measure.exposure import missing
from laserpath.report import PageData
from laserpath.report.figure_table import ROWS, cell
from laserpath.report.verdict import judge
from laserpath.report.wording import number, rounded
from laserpath.types import Design, Process, Settings, Toolpath
from laserpath.types.results import Edges, Inspection, Measurement, Report, Unprintable

PROCESS = Process()
FWHM = PROCESS.spot.fwhm
CRITICAL = PROCESS.resin.critical_dose
AT = 2.0
"""mm, both coordinates of the corner that is looked at."""


def solid(*polygons: shapely.Geometry) -> Design:
    return Design(shapely.MultiPolygon(list(polygons)), "cornered")


def scene(drawn: Design) -> Scene:
    """The drawing on 8 pixels per FWHM."""
    return Scene.around(drawn, PROCESS.spot, PROCESS.resin, 8)


def measured(drawn: Design, lit: Design, level: float) -> Measurement:
    """Printed is `lit` under a Gaussian spot; at a level of 2 a straight edge is where it is drawn."""
    grid = grid_for(drawn, PROCESS.spot, 8)
    dose = gaussian_filter(rasterise(lit, grid).coverage, FWHM / 2.355 / grid.pitch) * level * CRITICAL
    seen = scene(drawn)
    edges = edge_errors(dose, seen)
    at_corner = replace_first(edges, (AT, AT), (1.0, 0.0))
    figures = cure_figures(dose, dose, at_corner, seen)
    return Measurement(figures, replace(STILL, write_time=1.0, ideal_time=1.0), grid, dose, at_corner)


def replace_first(edges: Edges, xy: tuple[float, float], normal: tuple[float, float]) -> Edges:
    """With the first point right at a corner, where the figures find no edge along one of its walls."""
    first = np.arange(len(edges.epe)) == 0
    return Edges(
        np.where(first[:, None], xy, edges.xy),
        np.where(first[:, None], normal, edges.normal),
        np.where(first, -2 * FWHM, edges.epe),
        edges.missing | first,
        edges.corner | first,
    )


SQUARE = solid(shapely.box(0, 0, AT, AT))


def test_a_round_corner_is_no_lost_edge() -> None:
    """Half-planes' doses multiply: on the diagonal the edge is at Φ(t/√2σ)² = ½, 0.77 σ inside the corner."""
    exposure = measured(SQUARE, SQUARE, 2.0)
    edges = rounded_off(exposure.edges, exposure.dose, scene(SQUARE))
    assert exposure.edges.missing.sum() == 1
    assert not edges.missing.any()
    way = np.linspace(0, 2, 2001)
    inside = float(way[np.argmax(ndtr(way / math.sqrt(2)) ** 2 >= 0.5)])
    assert edges.epe[0] == pytest.approx(-inside * FWHM / 2.355, abs=0.01 * FWHM)
    found = inspect(exposure, scene(SQUARE))
    assert (found.rounded, found.wrong_outline) == (1, 0)
    assert missing(edges, FWHM) == ()


def test_of_a_large_dose_the_blocks_around_corners_are_read(monkeypatch) -> None:
    exposure = measured(SQUARE, SQUARE, 2.0)
    whole = rounded_off(exposure.edges, exposure.dose, scene(SQUARE))
    monkeypatch.setattr("laserpath.measure.edges._BLOCK", 10)
    edges = rounded_off(exposure.edges, exposure.dose, scene(SQUARE))
    assert exposure.dose.size > 1000, "in several blocks"
    assert edges.epe == pytest.approx(whole.epe, abs=1e-9 * FWHM)


def test_the_next_part_is_not_where_a_corner_s_edge_is() -> None:
    """Along the other wall, which is a hair too far in, the first edge is that of another part."""
    exposure = measured(SQUARE, SQUARE, 2.0)
    first = np.arange(len(exposure.edges.epe)) == 0
    edges = exposure.edges
    astray = replace(edges, epe=np.where(first, 1.9 * FWHM, edges.epe), missing=edges.missing & ~first)
    found = inspect(replace(exposure, edges=astray), scene(SQUARE))
    assert found.edges is not None
    assert -0.4 * FWHM < found.edges.epe[0] < 0
    assert (found.rounded, found.astray) == (0, 1), "the figures found it an edge"
    assert rounded(found, FWHM).startswith("1 point at a corner finds the edge of another wall or part")
    assert inspect(exposure, scene(SQUARE)).astray == 0


def test_a_good_verdict_says_what_its_missing_edges_are() -> None:
    exposure = measured(SQUARE, SQUARE, 2.0)
    path = Toolpath(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1.0]), np.array([1.0]))
    report = Report(exposure, exposure, exposure)
    data = PageData.of(report, SQUARE, path, PROCESS, Settings())
    verdict = judge(data)
    assert verdict.level == "good"
    text = " ".join([verdict.headline, *(answer for _, answer in verdict.answers)])
    assert "no printed edge" not in text and "without a printed edge" not in text
    assert rounded(data.inspection, FWHM).startswith(
        "1 of the points without an edge is at a corner, which a spot of 100 µm rounds off"
    )
    assert rounded(Inspection(), FWHM) == ""


def test_the_worst_error_is_the_same_wherever_it_is_told() -> None:
    """Straight out from its corner the square has no edge, and the search's cap is no error of the print."""
    exposure = measured(SQUARE, SQUARE, 2.0)
    assert exposure.figures.missing_edges == 1 and exposure.figures.epe_p95 < 0.3
    path = Toolpath(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1.0]), np.array([1.0]))
    data = PageData.of(Report(exposure, exposure, exposure), SQUARE, path, PROCESS, Settings())
    assert np.abs(data.edges.epe).max() == pytest.approx(FWHM * exposure.figures.epe_max)
    worst = f"{number(1000 * FWHM * exposure.figures.epe_max, 2)} µm"
    figures = exposure.as_dict()
    assert f"at worst {worst} off" in judge(data).headline
    assert data.places[0].off == f"−{worst}"
    assert cell("epe_max", figures, FWHM).startswith(f"{worst} (")
    assert ROWS["epe_max"].micrometres(figures, FWHM).startswith(worst.split()[0])
    exposed = data.exposed(MachineProgram.of(path, PROCESS).run)
    assert exposed.edges is not None and not exposed.edges.missing.any()


def test_an_unprinted_hair_is_not_the_worst_error() -> None:
    """A sliver of FWHM/50 is no part; a line of a third is one, and lost."""
    for width, capped in ((0.002, False), (0.03, True)):
        drawn = solid(SQUARE.area.geoms[0], shapely.box(2.5, 0, 2.5 + width, AT))
        exposure = measured(drawn, SQUARE, 2.0)
        assert ("epe_max_smooth" in exposure.figures.epe_capped) == capped
        assert (inspect(exposure, scene(drawn)).wrong_outline > 0.1) == capped


@pytest.mark.parametrize(
    ("drawn", "lit", "level"),
    [
        pytest.param(SQUARE, solid(shapely.box(0, 0, 0.8, AT)), 2.0, id="printed too far away"),
        pytest.param(SQUARE, solid(shapely.box(0, 0, AT + 0.35, AT + 0.35)), 2.0, id="all printed around it"),
        pytest.param(SQUARE, SQUARE, 0.9, id="nothing printed"),
    ],
)
def test_a_corner_without_an_edge_across_it_is_lost(drawn: Design, lit: Design, level: float) -> None:
    exposure = measured(drawn, lit, level)
    edges = rounded_off(exposure.edges, exposure.dose, scene(drawn))
    assert edges.missing[0]
    found = inspect(exposure, scene(drawn))
    assert found.rounded == 0
    assert found.wrong_outline >= 1 / len(edges.epe)
    (sentence,) = missing(edges, FWHM)
    assert f"{edges.missing.sum()} of {len(edges.epe)} points" in sentence


def test_the_next_line_is_no_edge_of_a_lost_one() -> None:
    lines = [shapely.box(0, AT - 0.1 - k, AT, AT - k) for k in (0, 0.2)]
    exposure = measured(solid(*lines), solid(lines[1]), 2.6)
    found = inspect(exposure, scene(solid(*lines)))
    assert found.edges is not None
    assert found.edges.missing[0], "its corner has nothing printed near"
    assert [one.kind for one in found.faults] == ["lost"]


@examples(10)
@given(st.floats(0, 90), st.floats(1.7, 2.2))
def test_however_it_lies_a_corner_is_judged_the_same(turn: float, level: float) -> None:
    """Also a print that is a little too small, or too large, all along the other wall."""
    turned = Design(shapely.MultiPolygon([rotate(SQUARE.area.geoms[0], turn, (AT, AT))]), "turned")
    exposure = measured(turned, turned, level)
    found = inspect(exposure, scene(turned))
    assert (found.rounded, found.wrong_outline) == (exposure.edges.missing.sum(), 0)


def star(points: int, inner: float) -> shapely.Polygon:
    turn = np.pi / points * np.arange(2 * points)
    radius = np.where(np.arange(2 * points) % 2, inner, 1.0)
    return shapely.Polygon(np.stack([radius * np.sin(turn), radius * np.cos(turn)], axis=1))


def unprinted(*drawn: shapely.Geometry, lit: tuple[shapely.Geometry, ...] = ()) -> tuple[Unprintable, ...]:
    """What a blurred exposure of `lit`, or else of the drawing, does not print of it."""
    made = solid(*drawn)
    dose = gaussian_filter(
        rasterise(solid(*(lit or drawn)), grid_for(made, PROCESS.spot, 8)).coverage, 8 / 2.355
    )
    return unprintable(dose * 2.0 * CRITICAL, scene(made))


def test_the_tips_of_a_star_are_corners_and_nothing_is_lost() -> None:
    found = unprinted(star(8, 0.45))
    assert {place.lost for place in found} == {False}
    tips = [place for place in found if place.kind == "corner" and math.hypot(*place.at) > 0.9]
    assert len(tips) == 8
    for tip in tips:
        assert not tip.capped and -1.5 * FWHM < tip.error < -0.3 * FWHM
    assert not any("lost" in sentence for sentence in summary(found))


def test_the_end_of_a_notch_is_no_closed_gap() -> None:
    notched = shapely.Polygon([(0, 0), (2, 0), (2, 1), (1.15, 1), (1, 0.2), (0.85, 1), (0, 1)])
    found = unprinted(notched)
    assert {place.lost for place in found} == {False}
    (end,) = (place for place in found if math.dist(place.at, (1, 0.2)) < 0.05)
    assert end.kind == "corner" and end.error > 0.3 * FWHM


@pytest.mark.parametrize(
    ("drawn", "lit"),
    [
        pytest.param((shapely.Polygon([(2, 0), (2.06, 0), (2.03, 0.06)]),), (), id="a small triangle"),
        pytest.param((shapely.Polygon([(1, 0.4), (1.8, 0.43), (1.8, 0.37)]),), (), id="a spike of its own"),
        pytest.param((shapely.box(2, 0.4, 3, 0.43),), (), id="a stroke"),
        pytest.param((), (shapely.box(0, 0, 1, 1), shapely.box(2, 0, 3, 1)), id="a neck"),
    ],
)
def test_what_does_not_appear_or_is_cut_is_lost(
    drawn: tuple[shapely.Polygon, ...], lit: tuple[shapely.Polygon, ...]
) -> None:
    square = shapely.box(0, 0, 0.9, 1)
    half = [(0, 0), (1, 0), (1, 0.4), (1.5, 0.485), (2, 0.4), (2, 0), (3, 0)]
    waist = shapely.Polygon([*half, *((x, 1 - y) for x, y in reversed(half))])
    found = unprinted(square, *drawn, lit=(square,)) if drawn else unprinted(waist, lit=lit)
    assert [place.kind for place in found if place.lost and place.exposure == 1] == ["feature"]


def test_places_have_as_many_decimals_as_the_spot_needs() -> None:
    """A thousandth of a mm is all of a spot of 1 µm."""
    nothing = Edges(
        np.array([[1.23456789, 0.5]]), np.array([[1.0, 0]]), np.zeros(1), np.ones(1, bool), np.zeros(1, bool)
    )
    assert "(1.235, 0.500) mm" in missing(nothing, 0.1)[0]
    assert "(1.23457, 0.50000) mm" in missing(nothing, 0.001)[0]
    place = Unprintable(
        "gap", True, (1.23456789, 0.5), 0.00051, 0.002, np.zeros(1, int), decimals=decimals(0.001)
    )
    assert place.sentence == "gap of 0.00051 mm at (1.23457, 0.50000): closes"
    (limit,) = summary([place])
    assert limit == "1 gap closes at (1.23457, 0.50000) mm"


@given(st.floats(1e-4, 5.0))
def test_digits_resolve_a_twentieth_of_the_spot(fwhm: float) -> None:
    assert 10.0 ** -decimals(fwhm) <= fwhm / 20
    first, second = (quantities.place((x, 0.0), fwhm) for x in (1.0, 1.0 + fwhm / 20))
    assert first != second
