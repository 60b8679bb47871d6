"""Trials of starting curves: each region gets its best curve."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, design
from scipy import ndimage

from laserpath import plan
from laserpath.base.arrays import runs
from laserpath.design.target import grid_for, rasterise
from laserpath.physics.dose import DoseModel
from laserpath.planning import start
from laserpath.planning.curve import CURVES, drawn, initial_curve, order
from laserpath.planning.optimise.loop import dose_to_size
from laserpath.planning.optimise.loss import TIME_WEIGHTS, unit_of, weight_for
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.start import (
    ITERATIONS_EACH,
    _labelled,
    _Regions,
    _Trial,
    candidates,
    directed,
    start_curve,
)
from laserpath.planning.task import Task
from laserpath.types import Process, Settings

PROCESS, AUTO = Process(), Settings()
IN_SECOND = ITERATIONS_EACH + 3
"""An iteration in the second of the trials."""

TWO = design(shapely.box(1, 1, 2.4, 2.4), shapely.box(3.4, 1, 3.4 + 0.5 * FWHM, 2))
TASK = Task.of(TWO, PROCESS, AUTO)


@cache
def started():
    """The start of `TASK`."""
    return start_curve(TASK)


def trial_of(candidate):
    """The trial of a candidate of `TASK`."""
    settings = candidate.settings
    strokes = CURVES[settings.initial](TWO, PROCESS, settings)
    regions = _Regions.of(candidate.scene.target)
    return _Trial.of(candidate, strokes, drawn(order(strokes), PROCESS, settings), regions)


def test_a_named_curve_is_not_tried():
    named = replace(AUTO, initial="contour")
    np.testing.assert_array_equal(
        start_curve(Task.of(TWO, PROCESS, named)).path.xy, initial_curve(TWO, PROCESS, named).xy
    )


@pytest.mark.slow
def test_every_region_has_strokes():
    path = started().path
    lines = [shapely.LineString(path.xy[a : b + 1]) for a, b in runs(path.on)]
    for part in TWO.area.geoms:
        assert any(part.intersects(line) for line in lines)


@pytest.mark.slow
def test_it_is_no_worse_than_any_candidate_region_by_region():
    tried = [trial_of(candidate) for candidate in candidates(TASK)]
    assert {trial.score.shape for trial in tried} == {(2,)}
    best = np.argmin([trial.score for trial in tried], axis=0)
    path = started().path
    lines = shapely.MultiLineString([path.xy[a : b + 1] for a, b in runs(path.on)])
    for region, part in enumerate(sorted(TWO.area.geoms, key=lambda g: g.bounds)):
        for stroke in tried[best[region]].strokes_of(np.arange(2) == region):
            assert part.buffer(1e-9).intersects(shapely.LineString(stroke))
            assert lines.buffer(1e-6).covers(shapely.LineString(stroke))


def test_a_candidate_is_scored_by_what_is_executed(monkeypatch):
    """With a controller that keeps the laser dark, the score is the loss of no dose at all, and the time."""
    task = candidates(TASK)[0]
    lit = trial_of(task)
    real = start.MachineProgram.of

    def dark(path, process):
        return real(replace(path, power=0 * path.power), process)

    assert lit.score.sum() > 0
    monkeypatch.setattr(start.MachineProgram, "of", dark)
    unlit = trial_of(task)
    nothing = Objective.of(task.scene)(np.zeros(task.scene.grid.shape))[0]
    regions, weight = _Regions.of(task.scene.target), TIME_WEIGHTS[task.settings.quality]
    times = weight / unit_of(task.design, task.machine) * regions.times(unlit.path, PROCESS).sum()
    assert unlit.score.sum() == pytest.approx(nothing + times, rel=1e-3)
    assert lit.score.sum() < 0.5 * unlit.score.sum()


def test_regions_share_out_the_whole_grid_by_nearness():
    target = rasterise(TWO, grid_for(TWO, SPOT, 4))
    regions = _Regions.of(target)
    assert regions.count == 2
    assert set(np.unique(regions.nearest)) == {0, 1}
    left, right = regions.at(np.array([[2.8, 1.5], [3.0, 1.5]]))
    assert left != right


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_a_pixel_has_the_nearest_label(kind):
    """But where two are about as near."""
    rng = np.random.default_rng(seed := 5)
    given = np.where(rng.random((120, 170)) < 0.002, rng.integers(1, 60, (120, 170)), 0).astype(kind)
    found = given.copy()
    start._label_nearest(found)
    away = [ndimage.distance_transform_edt(given != one) for one in np.unique(given[given > 0]).tolist()]
    nearest = np.unique(given[given > 0])[np.argmin(away, axis=0)]
    first, second = np.sort(away, axis=0)[:2]
    clear = second > 1.15 * first
    assert clear.mean() > 0.5 and (found[clear] == nearest[clear]).all(), seed


def test_more_regions_than_short_numbers_are_told_apart() -> None:
    dots = np.zeros((520, 520), bool)
    dots[::2, ::2] = True
    label, count = _labelled(dots)
    assert count == 260**2 > np.iinfo(np.uint16).max and label.max() == count
    few, number = _labelled(dots[:100])
    assert number == 50 * 260 and few.itemsize == 2


@pytest.mark.slow
def test_the_same_every_time():
    first, second = (start_curve(TASK).path for _ in range(2))
    np.testing.assert_array_equal(first.xy, second.xy)
    assert first.energy.tolist() == pytest.approx(second.energy.tolist(), abs=0)


@pytest.mark.slow
def test_stopped_while_curves_are_tried_the_best_so_far_is_written():
    stages = []

    def progress(news):
        stages.append(news.stage)
        if len(stages) == IN_SECOND:
            raise KeyboardInterrupt

    planned = plan(TWO, PROCESS, replace(AUTO, report="brief"), progress)
    assert stages[:IN_SECOND] == ["try"] * IN_SECOND and set(stages[IN_SECOND:]) == {"measure"}
    assert planned.solution.stopped
    assert planned.solution.result == "stopped by the user while curves were tried"
    assert planned.report.executed.figures.iou > 0.8


def test_stopped_early_in_a_later_trial_the_best_finished_one_is_taken():
    def stopping(after):
        count = 0

        def progress(news):
            nonlocal count
            count += 1
            if count == after:
                raise KeyboardInterrupt

        return start_curve(TASK, progress)

    first, early = stopping(ITERATIONS_EACH), stopping(ITERATIONS_EACH + 1)
    assert early.stopped
    np.testing.assert_array_equal(early.path.xy, first.path.xy)


def test_fitting_strokes_is_reported_and_stopped_there_its_best_is_the_start():
    strokes = Settings(initial="strokes", iterations=8)
    stages = []

    def progress(news, last="measure"):
        stages.append(news.stage)
        if news.stage == last and news.iteration == 3:
            raise KeyboardInterrupt

    start_curve(Task.of(TWO, PROCESS, strokes), progress)
    assert stages == ["fit"] * 8 + ["try"] * 8
    stages.clear()
    start = start_curve(Task.of(TWO, PROCESS, strokes), lambda news: progress(news, "fit"))
    assert stages == ["fit"] * 3
    assert start.stopped
    assert start.path.on.any()


def test_a_curve_that_is_the_same_as_another_is_tried_once():
    disc, count = design(shapely.Point(2, 2).buffer(0.8)), 0

    def progress(news):
        nonlocal count
        count += 1

    start_curve(Task.of(disc, PROCESS, AUTO), progress)
    assert count == ITERATIONS_EACH * 2  # centrelines are the rings here


def test_a_sliver_that_no_pixel_holds_is_one_region():
    sliver = design(shapely.box(1, 1, 2, 1 + 1e-8))
    assert start_curve(Task.of(sliver, PROCESS, AUTO)).path.on.any()


BEND = design(shapely.LineString([(1, 1), (2, 1), (2, 1.8)]).buffer(FWHM / 2))


def line(length, width):
    return shapely.LineString([(1, 1), (1 + length, 1)]).buffer(width / 2)


@pytest.mark.parametrize(
    ("drawing", "lines"),
    [
        (BEND, True),
        (design(line(2, 1.8 * FWHM)), False),
        (design(line(2, 0.5 * FWHM), shapely.affinity.translate(line(2, 2 * FWHM), 0, 1)), False),
        (design(*(shapely.Point(k, 1).buffer(FWHM / 2) for k in (1, 2, 3))), False),
        (design(shapely.box(1, 1, 3, 3)), False),
    ],
    ids=["bend", "wide line", "half of it wide", "dots", "square"],
)
def test_a_line_drawing_is_of_lines_about_as_wide_as_the_spot(drawing, lines):
    assert start.is_line_drawing(drawing, FWHM) == lines


@pytest.mark.parametrize("better", [True, False])
def test_strokes_are_taken_if_they_score_better(better, monkeypatch):
    real = start._Trial.of.__func__

    def scored(cls, task, strokes, path, regions, progress=None):
        trial = real(cls, task, strokes, path, regions, progress)
        return replace(trial, scored=lambda: np.array([1.0 if strokes else 0.5 if better else 2.0]))

    weights = []

    def untouched(path, task, *_):
        weights.append(weight_for(task))
        return path

    monkeypatch.setattr(start, "_tried", untouched)
    monkeypatch.setattr(start._Trial, "of", classmethod(scored))
    task = Task.of(BEND, PROCESS, replace(AUTO, iterations=1))
    found = start_curve(task)
    assert found.initial == ("strokes" if better else "auto")
    assert found.path.on.any()
    # All are compared by one weight of the time, and what is taken is then optimised by its own.
    own = [weight_for(replace(task, settings=replace(AUTO, initial="strokes")))] if better else []
    assert weights == [weight_for(task)] * (len(weights) - len(own)) + own


def test_the_optimiser_continues_where_the_trials_ended():
    """The curve as tried has its vertices and energies from the trial of its region, and prints better."""
    begun = started()
    assert begun.tried is not None and len(begun.tried) == len(begun.path)
    np.testing.assert_array_equal(begun.tried.on, begun.path.on)
    moved = np.hypot(*(begun.tried.xy - begun.path.xy).T)
    assert 0 < moved.max() < FWHM
    # A ring stays closed, wherever it begins.
    for first, last in runs(begun.path.on):
        closed = (begun.path.xy[first] == begun.path.xy[last]).all()
        assert not closed or (begun.tried.xy[first] == begun.tried.xy[last]).all()
    model, objective = DoseModel(TASK.scene.grid, SPOT), Objective.of(TASK.scene)
    before, after = (
        objective(model.line_dose(path.xy, dose_to_size(path, model, objective, TASK.machine).energy))[0]
        for path in (begun.path, begun.tried)
    )
    assert after < 0.7 * before


def test_what_no_trial_has_drawn_stays_as_it_is():
    """A vertex of another curve, however near, does not move as one of the trial's does."""
    trial = trial_of(candidates(TASK)[0])
    other = initial_curve(TWO, PROCESS, replace(AUTO, initial="hatch", pitch_fwhm=0.77))
    other = replace(other, xy=other.xy + 1e-4)
    left = start._as_tried(other, [trial.moved(np.ones(2, dtype=bool))], TASK)
    np.testing.assert_array_equal(left.xy, other.xy)
    np.testing.assert_array_equal(left.energy, other.energy)


def test_a_hatch_goes_one_way_if_the_settings_want_that() -> None:
    square = design(shapely.box(1, 1, 2.4, 2.4))
    both = replace(AUTO, initial="hatch")
    for settings, directions in ((both, {-1.0, 1.0}), (replace(both, one_way=True), {1.0})):
        task = Task.of(square, PROCESS, settings)
        path = directed(start_curve(task), task).path
        ways = {float(np.sign(path.xy[last, 0] - path.xy[first, 0])) for first, last in runs(path.on)}
        assert ways == directions
