"""A plan that ended early says so before it blames the design or the spot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from exposures import Job, make_job

import laserpath
from laserpath import Settings
from laserpath.planning.optimise.loop import Progress
from laserpath.report import PageData
from laserpath.report.verdict import Verdict, judge
from laserpath.types import Design

FLAT = 0.2 * np.exp(-np.arange(200) / 20) + 0.03
FALLING = np.linspace(1.0, 0.5, 200)
STOPPED = "stopped by the user after 12 of 500 iterations"


@pytest.fixture(scope="module")
def lost() -> Job:
    left, right = shapely.box(0, 0, 1, 1), shapely.box(2, 0, 2.05, 1)
    return make_job(
        Design(shapely.MultiPolygon([left, right]), "half"),
        lost=Design(shapely.MultiPolygon([right]), "half"),
    )


def verdict_on(
    job: Job, ended: str, *, stopped: bool = False, iterations: int = 500, loss: np.ndarray = FLAT
) -> Verdict:
    report = replace(job.report, unfinished=ended, stopped=stopped)
    settings = replace(job.settings, iterations=iterations)
    return judge(PageData.of(report, job.design, job.toolpath, job.process, settings, loss))


def where(verdict: Verdict) -> str:
    (answer,) = (answer for question, answer in verdict.answers if question.startswith("Where it will miss"))
    return answer


def test_a_stop_by_the_user_comes_first(lost: Job) -> None:
    verdict = verdict_on(lost, STOPPED, stopped=True, loss=FALLING)
    assert verdict.level == "poor"
    assert verdict.advice[0].startswith(f"The optimiser was {STOPPED}, ")
    assert where(verdict).startswith(f"The optimiser was {STOPPED}, ")
    assert sum("optimiser" in one for one in verdict.advice) == 1


def test_few_iterations_come_first(lost: Job) -> None:
    verdict = verdict_on(lost, "all 25 iterations done", iterations=25, loss=FLAT[:25])
    assert "did not converge (all 25 iterations done)" in verdict.advice[0]
    assert f"take --iterations {Settings().iterations} before anything else" in verdict.advice[0]
    assert "did not converge" in where(verdict)
    assert sum("--iterations" in one for one in verdict.advice) == 1


def test_many_iterations_that_gain_nothing_more_are_not_blamed(lost: Job) -> None:
    for iterations in (200, 500):
        advice = verdict_on(lost, f"all {iterations} iterations done", iterations=iterations).advice
        assert "optimiser" not in " ".join(advice)
    verdict = verdict_on(lost, "all 500 iterations done", loss=FALLING)
    assert "--iterations 1000" in verdict.advice[0]


def test_what_has_converged_is_not_unfinished(lost: Job) -> None:
    verdict = verdict_on(lost, "", iterations=25)
    assert "optimiser" not in " ".join((*verdict.advice, where(verdict)))


def test_a_good_plan_needs_no_more() -> None:
    job = make_job(Design(shapely.MultiPolygon([shapely.box(0, 0, 3, 3)]), "square"))
    verdict = verdict_on(job, "all 25 iterations done", iterations=25)
    assert verdict.level == "good"
    assert "optimiser" not in " ".join((*verdict.advice, where(verdict)))


def test_a_plan_tells_how_its_optimiser_ended() -> None:
    """Six iterations do not converge; Ctrl-C while the shape is found ends it there."""
    square = Design(shapely.MultiPolygon([shapely.box(1, 1, 1.6, 1.6)]), "square")
    few = Settings(iterations=6, initial="contour", report="brief")
    found = laserpath.plan(square, settings=few)
    assert (found.report.unfinished, found.report.stopped) == ("all 6 iterations done", False)

    def stop(progress: Progress) -> None:
        if progress.stage == "shape":
            raise KeyboardInterrupt

    found = laserpath.plan(square, settings=few, progress=stop)
    assert found.report.stopped
    assert found.report.unfinished.startswith("stopped by the user after ")
