"""Where no edge is found within the cap, the edge error is a lower bound, and is shown as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import shapely
from exposures import Job, make_job

from laserpath.report import PageText, render
from laserpath.report.figure_table import (
    ROWS,
    at_least,
    cell,
    mean_explained,
    means_explained,
    tolerance_missed,
)
from laserpath.types import Design
from laserpath.types.results import EPE_CAP_FWHM


def squares(*corners: tuple[float, float]) -> Design:
    return Design(shapely.MultiPolygon([shapely.box(x, y, x + 1, y + 1) for x, y in corners]), "squares")


@pytest.fixture(scope="module")
def whole() -> Job:
    return make_job(squares((0, 0), (2, 0)))


@pytest.fixture(scope="module")
def half_lost() -> Job:
    return make_job(squares((0, 0), (2, 0)), lost=squares((2, 0)))


def test_only_what_is_at_the_cap_is_at_least_so_large(whole: Job, half_lost: Job) -> None:
    assert whole.report.executed.figures.epe_capped == ()
    lost = half_lost.report.executed.figures
    assert {"epe_p95", "epe_max", "epe_max_smooth"} <= set(lost.epe_capped)
    assert lost.missing_edges and "epe_mean" not in lost.epe_capped
    assert at_least("iou", 2.0) == at_least("epe_max", 1.99) == at_least("epe_max", float("inf")) == ""


def test_every_table_says_so(half_lost: Job) -> None:
    figures = half_lost.report.executed.as_dict()
    row = ROWS["epe_max"]
    assert row.text(figures) == "≥ 2.00"
    assert row.micrometres(figures, 0.1) == "≥ 200 µm"
    assert cell("epe_max", figures, 0.1) == "≥ 200 µm (2.0)"
    assert not ROWS["epe_mean"].text(figures).startswith("≥")


def test_a_tolerance_missed_by_the_cap_is_not_kept_at_it() -> None:
    assert tolerance_missed(0.2, 0.1, 0.1) == "95 % of the edge is within 20 µm, above the 10 µm asked for"
    assert tolerance_missed(EPE_CAP_FWHM, 0.1, 0.1).startswith("less than 95 % of the edge is within 200 µm")


def test_a_mean_above_the_95_percent_is_explained(whole: Job) -> None:
    figures = whole.report.executed.figures
    assert mean_explained(figures.as_dict()) == ""
    few = replace(figures, missing_edges=20, samples=1000, epe_mean=0.06, epe_p95=0.05)
    assert "20 of 1000 points have no edge, and each counts as 2 FWHM" in mean_explained(few.as_dict())
    assert mean_explained(replace(few, epe_p95=0.07).as_dict()) == ""
    assert mean_explained({}) == ""
    columns = (("As commanded", few.as_dict()), ("As executed", figures.as_dict()))
    assert means_explained(columns) == [("As commanded", mean_explained(few.as_dict()))]


def test_the_page_explains_it(whole: Job) -> None:
    executed = whole.report.executed
    figures = replace(executed.figures, missing_edges=20, samples=1000, epe_mean=0.06, epe_p95=0.05)
    odd = replace(whole, report=replace(whole.report, executed=replace(executed, figures=figures)))
    assert "The mean edge error is above what 95 % of the edge keep" in page(odd)
    assert "The mean edge error is above" not in page(whole)


def page(job: Job) -> str:
    return render(job.page_data, PageText("squares", illustrated=False), job.run)
