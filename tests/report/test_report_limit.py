"""The report says what no path could print with this spot, and how near to that the plan is."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import shapely
from exposures import Job, blurred_limit, exposure, make_job

from laserpath.report import PageText, pictures, render, wording
from laserpath.types import Design, Process, Settings
from laserpath.types.results import Limit, PrintFigures, Report

FWHM = Process().spot.fwhm
GAP = 0.15 * FWHM
PICTURE = "What light without a path would"


def bars(gap: float) -> Design:
    """Two upright bars of 0.5 mm × 2 mm from (1, 1) on, with a gap between them."""
    left, right = shapely.box(1, 1, 1.5, 3), shapely.box(1.5 + gap, 1, 2 + gap, 3)
    return Design(shapely.MultiPolygon([left, right]), "bars", page=(0, 0, 4, 4))


def with_limit(design: Design, process: Process | None = None) -> Job:
    process = process or Process()
    job = make_job(design, process)
    return replace(job, report=replace(job.report, limit=blurred_limit(design, process)))


def html_of(job: Job, illustrated: bool = True) -> str:
    text = PageText("bars", illustrated=illustrated)
    return render(job.page_data, text, job.run).replace("\u00a0", " ")


def section(html: str) -> str:
    """What is between the heading of the limit and the next one."""
    return re.search(r"<h2>What cannot be printed</h2>(.*?)<h2>", html, re.S)[1]  # type: ignore[index]


@pytest.fixture(scope="module")
def close() -> Job:
    return with_limit(bars(GAP))


@pytest.fixture(scope="module")
def html(close: Job) -> str:
    return html_of(close)


def changed(report: Report, plan: dict[str, float], best: dict[str, float]) -> tuple[Report, Limit]:
    """The report with other figures as executed, and of the limit."""
    assert report.limit
    limit = replace(report.limit, figures=replace(report.limit.figures, **best))
    figures = replace(report.executed.figures, **plan)
    return replace(report, executed=replace(report.executed, figures=figures), limit=limit), limit


def words(job: Job, plan: dict[str, float], best: dict[str, float]) -> str:
    report, limit = changed(job.report, plan, best)
    return wording.limit_in_words(report, limit, lambda fwhms: f"{1000 * FWHM * fwhms:.1f} µm")


@pytest.mark.slow
def test_a_gap_that_no_path_keeps_open_is_named_with_its_place(html: str) -> None:
    (place,) = re.findall(r"<li>1 gap closes at \((\d\.\d+), (\d\.\d+)\) mm\.</li>", section(html))
    x, y = map(float, place)
    assert x == pytest.approx(1.5 + GAP / 2, abs=0.001)
    assert 1 < y < 3


@pytest.mark.slow
def test_the_places_are_marked_in_a_picture_with_a_text(close: Job, html: str) -> None:
    assert close.report.limit
    (alt,) = re.findall(r'<img src="data:image/svg\+xml,[^"]+" alt="([^"]+)"', section(html))
    assert f"marks at {len(close.report.limit.unprintable)} place" in alt
    assert f"{PICTURE} cure</h3>" in section(html)


def test_the_rings_are_where_the_places_are() -> None:
    job = with_limit(bars(GAP))
    limit = job.report.limit
    assert limit
    # Alone in the picture, so that only its ring differs from the same picture with the ring elsewhere.
    (gap,) = (one for one in limit.unprintable if one.kind == "gap")

    def ring(y: float) -> tuple[float, float]:
        moved = replace(limit, unprintable=(replace(gap, at=(gap.at[0], y)),))
        drawn = ElementTree.fromstring(pictures.limit_map(moved, job.design, job.process))
        # The first is in the map, the second in the legend.
        mark, _ = (one for one in drawn.iter() if one.tag.endswith(("circle", "polygon")))
        return centre(mark)

    (x, low), (_, middle), (_, high) = ring(1.2), ring(2.0), ring(2.8)
    assert low > middle > high  # down is positive in an SVG
    assert low - middle == pytest.approx(middle - high, abs=0.5)
    map_ = ElementTree.fromstring(pictures.limit_map(limit, job.design, job.process))
    inner = next(one for one in map_ if one.tag.endswith("svg"))
    assert 0 < x < float(inner.attrib["width"]) * 10


def centre(mark: ElementTree.Element) -> tuple[float, float]:
    if "cx" in mark.attrib:
        return float(mark.attrib["cx"]), float(mark.attrib["cy"])
    points = np.array([one.split(",") for one in mark.attrib["points"].split()], dtype=float)
    return points[:, 0].mean(), points[:, 1].mean()


def test_limit_and_plan_are_compared_by_the_same_figures(close: Job, html: str) -> None:
    assert close.report.limit
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', section(html), re.S)
    cells = [re.findall(r'<td class="n">(?:≥.)?([\d.]+)', row) for row in rows]
    shown = (close.report.limit.figures, close.report.executed.figures)
    assert [[float(c) for c in row] for row in cells] == [
        pytest.approx([getattr(f, key) * (100 if key == "iou" else 1) for f in shown], rel=5e-3)
        for key in wording.ROWS_OF_LIMIT
    ]


def test_the_verdict_says_how_many_times_the_limit_the_plan_is(close: Job, html: str) -> None:
    assert "What could be done at best" in html
    text = words(close, {"epe_mean": 0.065, "missing_edges": 9}, {"epe_mean": 0.05, "missing_edges": 4})
    assert "The best light found is 5.0 µm (0.050 FWHM) off on average with this spot" in text
    assert "this plan is at 1.3 times that, 6.5 µm as executed" in text
    assert "4 cannot have an edge; in this plan 9 have none." in text


def test_a_plan_nearer_than_the_limit_is_not_called_impossible(close: Job) -> None:
    text = words(close, {"epe_mean": 0.03, "missing_edges": 2}, {"epe_mean": 0.05, "missing_edges": 0})
    assert "No path" not in text
    assert "This plan is nearer: 3.0 µm as executed." in text
    assert "all could have an edge; in this plan 2 have none." in text


def test_missing_edges_are_not_mentioned_where_there_are_none(close: Job) -> None:
    none = {"missing_edges": 0}
    assert "points" not in words(close, {"epe_mean": 0.05, **none}, {"epe_mean": 0.05, **none})


@pytest.mark.parametrize(
    ("plan", "best", "times"), [(0.2, 0.1, 2.0), (0.0, 0.0, 1.0), (0.1, 0.0, float("inf"))]
)
def test_times_the_limit(close: Job, plan: float, best: float, times: float) -> None:
    report, _ = changed(close.report, {"epe_mean": plan}, {"epe_mean": best})
    assert wording.times_the_limit(report) == times


def test_no_better_quality_is_advised_where_the_limit_is_reached(close: Job) -> None:
    fair: PrintFigures = exposure(bars(3 * FWHM), Process()).figures
    fair = replace(fair, epe_mean=0.1, epe_p95=0.2, missing_edges=0)

    def advised(best: float) -> bool:
        job = with_limit(bars(3 * FWHM))
        report, _ = changed(job.report, {"epe_mean": 0.1}, {"epe_mean": best})
        job = replace(job, report=replace(report, executed=replace(report.executed, figures=fair)))
        return "--quality fine" in html_of(replace(job, settings=Settings()), illustrated=False)

    assert advised(0.05)
    assert not advised(0.099)


@pytest.mark.slow
def test_where_everything_prints_there_is_no_picture_of_what_does_not() -> None:
    job = with_limit(bars(3 * FWHM))
    assert job.report.limit
    clean = replace(job, report=replace(job.report, limit=replace(job.report.limit, unprintable=())))
    html = section(html_of(clean))
    assert "Nothing: no edge has to be off" in html
    assert "<img" not in html


@pytest.mark.parametrize(
    ("report", "why"), [("full", "for so large a design it would take long"), ("brief", "a brief report was")]
)
def test_without_a_limit_the_page_says_only_that_it_was_not_computed(
    close: Job, report: str, why: str
) -> None:
    job = replace(close, report=replace(close.report, limit=None), settings=Settings(report=report))
    html = html_of(job, illustrated=False)
    assert re.fullmatch(rf"<p>Not computed: {why}[^<]*</p>", section(html).strip())
    assert "What could be done at best" not in html
    assert PICTURE not in html


def test_positive_resists_are_cleared_by_the_limit_too(close: Job) -> None:
    positive = replace(close.process, resin=replace(close.process.resin, tone="positive"))
    assert f"{PICTURE} clear</h3>" in html_of(replace(close, process=positive))
