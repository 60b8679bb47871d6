"""Worst places and their reasons; what the verdict makes of them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from exposures import Job, exposure, make_job, with_figures

from laserpath.design.scene import Scene
from laserpath.measure import inspect
from laserpath.report import data
from laserpath.report.canvas import OVER, RIGHT, UNDER
from laserpath.report.data import LISTED, coarser, cure_picture, window, worst_places
from laserpath.report.pictures import doses
from laserpath.report.verdict import Verdict, judge
from laserpath.types import Design, Machine, Process, Settings, Toolpath
from laserpath.types.results import Edges, Fault, Measurement, Report

PROCESS = Process()
FWHM = PROCESS.spot.fwhm


def solid(*polygons: shapely.Polygon) -> Design:
    return Design(shapely.MultiPolygon(list(polygons)), "solid")


def patches(exposed: Measurement, design: Design) -> tuple[Fault | None, Fault | None]:
    """Of an inspection, (not cured inside, cured outside)."""
    found = inspect(exposed, Scene(design, exposed.grid, PROCESS.spot, PROCESS.resin))
    return found.missing, found.excess


def verdict(job: Job) -> Verdict:
    return judge(job.page_data)


@cache
def disc() -> Job:
    """A disc of 3 mm, printed right."""
    return make_job(solid(shapely.Point(0, 0).buffer(1.5, quad_segs=100)))


def test_a_square_is_worst_at_its_four_corners() -> None:
    design = solid(shapely.box(0, 0, 2, 2))
    places = worst_places(exposure(design, PROCESS).edges, design, FWHM)
    assert [p.kind for p in places] == ["corner"] * 4
    assert all(p.epe < 0 for p in places)
    corners = {(round(p.xy[0] / 2) * 2, round(p.xy[1] / 2) * 2) for p in places}
    assert corners == {(0, 0), (0, 2), (2, 0), (2, 2)}
    assert all(np.hypot(*(np.array(p.xy) - np.round(np.array(p.xy) / 2) * 2)) < FWHM for p in places)


def test_a_disc_printed_right_has_no_worst_place() -> None:
    design = solid(shapely.Point(0, 0).buffer(3, quad_segs=200))
    assert worst_places(exposure(design, PROCESS).edges, design, FWHM) == ()


@pytest.mark.parametrize("width", [0.03, 0.05])
def test_a_line_below_the_spot_is_a_feature_of_that_width(width: float) -> None:
    design = solid(shapely.box(0, 0, 3, 1), shapely.box(0, 2, 3, 2 + width))
    worst = worst_places(exposure(design, PROCESS).edges, design, FWHM)[0]
    assert (worst.kind, worst.missing) == ("feature", True)
    assert worst.width == pytest.approx(width, rel=0.05)
    assert worst.extent == pytest.approx(2 * (3 + width), rel=0.1)


def test_a_corner_is_not_a_feature_of_no_width() -> None:
    """A sample at the very corner looks along the edge around it."""
    square = solid(shapely.box(0, 0, 1.5 * FWHM, 1.5 * FWHM))
    at = 1.5 * FWHM
    n = 24  # the others, right, are on the opposite edge
    first = np.arange(n) == 0
    edges = Edges(
        xy=np.where(first[:, None], (at, at), (0.0, at / 2)),
        normal=np.where(first[:, None], (1.0, 0.0), (-1.0, 0.0)),
        epe=np.where(first, -0.2 * FWHM, 0.0),
        missing=np.zeros(n, dtype=bool),
        corner=first,
    )
    (place,) = worst_places(edges, square, FWHM)
    assert (place.kind, place.width) == ("corner", None)


def test_a_slit_below_the_spot_is_a_gap_of_that_width() -> None:
    design = solid(shapely.box(0, 0, 3, 1), shapely.box(0, 1.04, 3, 2))
    worst = worst_places(exposure(design, PROCESS).edges, design, FWHM)[0]
    assert worst.kind == "gap"
    assert worst.epe > 0
    assert worst.width == pytest.approx(0.04, rel=0.05)


@pytest.mark.parametrize(("width", "words"), [(0.98, "narrower than"), (1.04, "hardly wider than")])
def test_a_gap_is_called_narrower_than_the_spot_only_if_it_is(width: float, words: str) -> None:
    design = solid(shapely.box(0, 0, 3, 1), shapely.box(0, 1 + width * FWHM, 3, 2.2))
    worst = worst_places(exposure(design, PROCESS, 6.0).edges, design, FWHM)[0]
    assert worst.kind == "gap"
    assert worst.cause.startswith(f"gap {words} the spot, ")
    assert worst.width == pytest.approx(width * FWHM, rel=0.01)
    assert worst.narrower == (width < 1)


def test_a_large_shape_that_was_left_out_has_no_edge_and_an_uncured_inside() -> None:
    left, right = shapely.box(0, 0, 1, 1), shapely.box(2, 0, 3, 1)
    design = solid(left, right)
    exposed = exposure(design, PROCESS, lost=solid(right))
    worst = worst_places(exposed.edges, design, FWHM)[0]
    assert (worst.kind, worst.missing) == ("no edge", True)
    inside, outside = patches(exposed, design)
    assert outside is None
    assert inside is not None
    assert inside.area == pytest.approx((1 - 2 * FWHM) ** 2, rel=0.1)
    assert right.contains(shapely.Point(inside.at))


def test_stray_light_is_seen_outside() -> None:
    exposed = exposure(solid(shapely.box(0, 0, 1, 1), shapely.box(2, 0, 3, 1)), PROCESS)
    inside, outside = patches(exposed, solid(shapely.box(0, 0, 1, 1)))
    assert inside is None
    assert outside is not None
    assert outside.area == pytest.approx(1.0, rel=0.1)


def test_places_are_sorted_and_few() -> None:
    dots = [shapely.Point(0.4 * i, 0.4 * j).buffer(0.03 + 0.002 * i) for i in range(6) for j in range(6)]
    places = worst_places(exposure(solid(*dots), PROCESS).edges, solid(*dots), FWHM)
    assert len(places) == LISTED
    errors = [abs(p.epe) for p in places]
    assert errors == sorted(errors, reverse=True)


def test_colours_share_the_area_as_the_figures_do() -> None:
    design = solid(shapely.box(0, 0, 2, 2))
    exposed = exposure(design, PROCESS, 2.6)
    field = window(exposed, (-0.5, -0.5, 2.5, 2.5), PROCESS.resin.critical_dose, 100)
    image, _ = cure_picture(field, design)
    pixel = field.grid.pixel_area

    def area(colour: str) -> float:
        return float((image == [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).all(axis=2).sum()) * pixel

    assert area(RIGHT) == pytest.approx(4, rel=0.06)
    assert area(OVER) <= exposed.figures.overcure
    assert area(UNDER) <= exposed.figures.undercure


def test_a_picture_in_strips_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    design = solid(shapely.box(0, 0, 2, 1.3), shapely.Point(2.5, 1).buffer(0.4))
    field = window(exposure(design, PROCESS), (-0.5, -0.5, 3, 2), PROCESS.resin.critical_dose, 100)
    whole, _ = cure_picture(field, design)
    monkeypatch.setattr(data, "_STRIP", 7 * field.grid.shape[1])
    assert np.abs(cure_picture(field, design)[0].astype(int) - whole).max() <= 1  # by rounding


def test_a_picture_of_many_pixels_is_averaged_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    design = solid(shapely.box(0, 0, 2, 1.3), shapely.Point(2.5, 1).buffer(0.4))
    field = window(exposure(design, PROCESS), (-0.5, -0.5, 3, 2), PROCESS.resin.critical_dose, 100)
    whole, (x0, _, y0, _) = cure_picture(field, design)
    monkeypatch.setattr(data, "SHARPEST", math.ceil(max(field.grid.shape) / 3))
    monkeypatch.setattr(data, "_STRIP", 8 * field.grid.shape[1])
    few, (u0, u1, v0, v1) = cure_picture(field, design)
    rows, columns = (3 * n for n in few.shape[:2])
    assert (rows, columns) == tuple(n // 3 * 3 for n in whole.shape[:2])
    means = whole[:rows, :columns].reshape(rows // 3, 3, columns // 3, 3, 3).mean(axis=(1, 3))
    assert np.abs(few - means).max() <= 1  # by rounding
    assert (u0, v0) == (x0, y0)
    assert (u1 - u0, v1 - v0) == pytest.approx((columns * field.grid.pitch, rows * field.grid.pitch))


def test_doses_are_counted_in_strips_as_in_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    job = disc()
    exposed = job.page_data.exposed(job.run)
    whole = doses(exposed)
    monkeypatch.setattr(data, "_STRIP", 7 * exposed.grid.shape[1])
    assert doses(exposed) == whole


def test_a_coarser_raster_has_the_mean_doses_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    field = window(exposure(solid(shapely.box(0, 0, 2, 1)), PROCESS), (-1, -1, 3, 2), 0.2, 1)
    monkeypatch.setattr(data, "SHARPEST", math.ceil(max(field.grid.shape) / 3))
    coarse = coarser(field)
    assert coarse.grid.pitch == pytest.approx(3 * field.grid.pitch)
    assert coarse.dose[4, 9] == pytest.approx(field.dose[12:15, 27:30].mean())
    assert coarse.grid.x()[9] == pytest.approx(field.grid.x()[28])
    assert coarse.grid.y()[4] == pytest.approx(field.grid.y()[13])


def test_a_finer_window_keeps_the_dose() -> None:
    exposed = exposure(solid(shapely.box(0, 0, 1, 1)), PROCESS)
    coarse = window(exposed, (-0.2, -0.2, 0.4, 0.4), 0.2, 1)
    fine = window(exposed, (-0.2, -0.2, 0.4, 0.4), 0.2, 4 * max(coarse.grid.shape))
    assert fine.grid.pitch == pytest.approx(coarse.grid.pitch / 4)
    assert fine.dose[::4, ::4] == pytest.approx(coarse.dose, abs=1e-6)
    assert fine.extent[0] == pytest.approx(coarse.extent[0], abs=coarse.grid.pitch)


def test_verdicts_follow_the_edge() -> None:
    good = disc()
    assert verdict(good).level == "good"
    assert verdict(replace(good, settings=Settings(max_epe_fwhm=0.001))).level == "fair"
    hollow = make_job(solid(shapely.box(0, 0, 3, 3)), lost=solid(shapely.box(1, 1, 2, 2)))
    judged = verdict(hollow)
    assert judged.level == "poor"
    assert "of the inside stays uncured" in judged.headline
    assert judged.advice[0] == "Lines are too far apart or too weak inside the design: take --pitch 0.8fwhm."


def test_advice_names_what_limits_the_plan() -> None:
    job = disc()
    machine = Machine()

    def advice(path: Toolpath | None = None, report: Report | None = None, loss: object = None) -> str:
        changed = replace(job, toolpath=path or job.toolpath, report=report or job.report)
        return " ".join(verdict(replace(changed, loss=job.loss if loss is None else loss)).advice)

    lit = job.toolpath.on
    weakest = replace(job.toolpath, power=np.where(lit, machine.power_max / machine.power_levels, 0))
    full = replace(job.toolpath, power=np.where(lit, machine.power_max, 0))
    assert "attenuate" in advice(weakest)
    assert "attenuate" not in advice()
    assert "full power" in advice(full)
    assert "still falling" in advice(loss=np.linspace(1, 0.5, 100))
    assert "still falling" not in advice()
    executed = job.report.executed
    hasty = with_figures(executed, segment_rate=900.0, epe_mean=0.2)
    sentences = advice(report=replace(job.report, executed=hasty))
    assert "900 moves/s" not in sentences, "our own plans keep to the link"
    assert "brakes in bends" in sentences
    hot = replace(executed.figures, dose_max=4.4)
    braked = replace(job.report, executed=replace(job.report.executed, figures=hot))
    assert "4.40 × critical" not in advice(report=braked), "lines 1.2 FWHM apart are not too close"
    assert "rises to" not in advice(report=braked), "a good plan needs no less"
    made_elsewhere = replace(job, settings=None, report=replace(braked, commanded=None))
    assert "4.40 × critical" in " ".join(verdict(made_elsewhere).advice)
    burnt = replace(job.report, executed=replace(job.report.executed, figures=replace(hot, dose_max=6.4)))
    assert "rises to 6.40 × critical" in advice(report=burnt)


@pytest.mark.parametrize(
    ("dialect", "joins"), [pytest.param("grbl", False, marks=pytest.mark.slow), ("marlin", True)]
)
def test_coarse_steps_are_named_rather_than_braking(dialect: str, joins: bool) -> None:
    job = disc()
    off = replace(job.report.executed, figures=replace(job.report.executed.figures, epe_mean=0.2))
    job = replace(job, report=replace(job.report, executed=off))

    def advice(steps: tuple[float, float] | None) -> str:
        machine = Machine(dialect=dialect, steps=steps)
        return " ".join(verdict(replace(job, process=replace(job.process, machine=machine))).advice)

    assert "steps of 12.5 µm round every place" in advice((80, 80))
    assert ("fewer than 7 steps" in advice((80, 80))) == joins
    assert "brakes in bends" not in advice((80, 80))
    # Each line of a plan for Marlin has the power for its real speed: a slower machine changes nothing.
    for steps in ((400, 400), None):
        assert ("brakes in bends" in advice(steps)) == (not joins)
        assert ("speed_max" in advice(steps)) == (not joins)


def test_advice_on_write_time_and_edges_names_the_next_quality() -> None:
    job = disc()
    executed = job.report.executed

    def advice(settings: Settings, **figures: float) -> str:
        changed = with_figures(executed, **figures)
        judged = verdict(replace(job, settings=settings, report=replace(job.report, executed=changed)))
        return " ".join(judged.advice)

    slow = {"write_time": 400.0, "ideal_time": 300.0}
    coarse = {"epe_mean": 0.04, "epe_p95": 0.2, "write_time": 3.0}
    assert "If 6 min 40 s is too long: --quality draft writes faster" in advice(Settings(), **slow)
    assert "--quality standard writes faster" in advice(Settings(quality="fine"), **slow)
    assert "writes faster" not in advice(Settings(quality="draft"), **slow)
    bends = {"write_time": 40.0, "ideal_time": 10.0}
    assert "4.0 times the ideal time" in advice(Settings(), **bends)
    assert "--quality fine takes more of it for edges truer on average" in advice(Settings(), **coarse)
    assert "--quality" not in advice(Settings(), **{**coarse, "epe_mean": 0.015})
    assert "--quality" not in advice(Settings(quality="fine"), **coarse)
    assert "--quality" not in advice(Settings(max_epe_fwhm=0.15), **coarse)
    assert "--quality" not in advice(Settings(), epe_p95=0.1, write_time=3.0)


def test_what_the_controller_loses_is_the_only_advice() -> None:
    """Hollow as executed only: a smaller pitch would not mend it."""
    job = make_job(solid(shapely.box(0, 0, 3, 3)), lost=solid(shapely.box(1, 1, 2, 2)))
    right = make_job(solid(shapely.box(0, 0, 3, 3))).report.commanded
    (advice,) = verdict(replace(job, report=replace(job.report, commanded=right))).advice
    assert re.match(r"As executed [\d.]+ % of the area is missing", advice)
    assert "take speed_max_mm_per_min = " in advice
    advice = " ".join(verdict(job).advice)
    assert "--pitch 0.8fwhm" in advice and "--pitch 1.2fwhm" not in advice


def test_the_controller_is_blamed_only_where_the_command_was_right() -> None:
    design = solid(shapely.box(0, 0, 2, 2))
    executed = exposure(design, PROCESS).edges
    same = worst_places(executed, design, FWHM, commanded=executed)
    assert {p.kind for p in same} == {"corner"}
    left = executed.xy[:, 0] < 1
    better = replace(executed, epe=np.where(left, 0.1, 1) * executed.epe)
    blamed = worst_places(executed, design, FWHM, commanded=better)
    assert {(p.kind, p.xy[0] < 1) for p in blamed} == {("motion", True), ("corner", False)}


def test_smaller_pitches_are_advised_until_lines_are_even_and_no_further() -> None:
    job = make_job(solid(shapely.box(0, 0, 3, 3)), lost=solid(shapely.box(1, 1, 2, 2)))
    advised = [
        re.findall(r"--pitch ([\d.]+)fwhm", " ".join(verdict(replace(job, settings=one)).advice))
        for one in (Settings(pitch_fwhm=p) for p in (2.0, 1.2, 0.8))
    ]
    assert advised == [["1.2"], ["0.8"], []]
