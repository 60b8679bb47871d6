"""Additive strokes: their dose against the laser's, their gradient against differences, and the fit."""

from dataclasses import replace

import numpy as np
import pytest
from builders import FWHM, centred_grid

from laserpath.base.errors import InputError
from laserpath.dose import accurate_model
from laserpath.strokes import AdditiveStrokes, StrokeModel, fit_additive, lay_strokes
from laserpath.types import Spot

GRID = centred_grid(0.8, 4.0)
SPOT = Spot(fwhm=FWHM, profile="gaussian")


def some(seed: int, count: int = 6) -> AdditiveStrokes:
    """Random strokes; the first two share a vertex, the third is a point, the fourth is dark."""
    rng = np.random.default_rng(seed)
    ends = np.arange(2 * count).reshape(count, 2)
    ends[1, 0] = ends[0, 1]
    vertices = rng.uniform(-0.4, 0.4, (2 * count, 2))
    vertices[ends[2, 1]] = vertices[ends[2, 0]]
    energy = rng.uniform(0.01, 0.05, count)
    energy[3] = 0
    return AdditiveStrokes(vertices, ends, rng.uniform(0.02, 0.2, count), energy)


def test_a_stroke_of_no_width_leaves_the_dose_of_a_line():
    line = np.array([[-0.3, -0.2], [0.35, 0.25]])
    stroke = AdditiveStrokes(line, np.array([[0, 1]]), np.zeros(1), np.full(1, 0.05))
    dose = StrokeModel.of(stroke, GRID, FWHM).dose(stroke)
    expected = accurate_model(GRID, SPOT).line_dose(line, np.full(1, 0.05))
    assert np.abs(dose - expected).max() < 2e-3 * expected.max()


def test_a_wide_stroke_leaves_the_dose_of_many_lines_side_by_side():
    count, width = 40, 0.25
    stroke = AdditiveStrokes(
        np.array([[-0.3, 0.0], [0.3, 0.0]]), np.array([[0, 1]]), np.full(1, width), np.ones(1)
    )
    model, expected = accurate_model(GRID, SPOT), 0.0
    for y in width * ((np.arange(count) + 0.5) / count - 0.5):
        expected = expected + model.line_dose(np.array([[-0.3, y], [0.3, y]]), np.full(1, 1 / count))
    dose = StrokeModel.of(stroke, GRID, FWHM).dose(stroke)
    assert np.abs(dose - expected).max() < 3e-3 * expected.max()


def test_the_gradient_equals_central_differences():
    strokes, rng = some(3), np.random.default_rng(4)
    model, weight = StrokeModel.of(strokes, GRID, FWHM), rng.normal(size=GRID.shape)
    gradient = model.gradient(strokes, weight)
    assert all(np.isfinite(part).all() for part in gradient)
    apart = ~np.isin(np.arange(len(strokes.vertices)), strokes.ends[2])  # a point has no direction
    for name, part in zip(("vertices", "width", "energy"), gradient, strict=True):
        value, h = getattr(strokes, name), 1e-6
        for at in np.ndindex(value.shape):
            if name == "vertices" and not apart[at[0]]:
                continue
            step = np.zeros_like(value)
            step[at] = h
            up, down = (
                (weight * model.dose(replace(strokes, **{name: value + s}))).sum() for s in (step, -step)
            )
            assert part[at] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-7 * np.abs(part).max())


def test_a_fit_finds_strokes_again_from_beside_them():
    strokes, rng = some(5), np.random.default_rng(6)
    strokes = replace(strokes, energy=np.maximum(strokes.energy, 0.01))
    target = StrokeModel.of(strokes, GRID, FWHM).dose(strokes)

    def loss(dose):
        return float(((dose - target) ** 2).sum() / 2), dose - target

    beside = replace(strokes, vertices=strokes.vertices + rng.uniform(-0.02, 0.02, strokes.vertices.shape),
                     energy=strokes.energy * rng.uniform(0.7, 1.3, len(strokes)))  # fmt: skip
    fitted = fit_additive(beside, GRID, FWHM, loss, 60)
    found, history = fitted.strokes, fitted.losses
    assert history[-1] < history[0] / 100
    assert (found.energy >= 0).all() and (found.width >= 0).all()


def test_strokes_that_do_not_fit_together_are_refused():
    with pytest.raises(InputError, match=r"1 strokes have widths of shape \(2,\).* must have \(1,\)"):
        AdditiveStrokes(np.zeros((2, 2)), np.array([[0, 1]]), np.zeros(2), np.zeros(1))
    with pytest.raises(InputError, match="strokes name vertices 0 to 2, but there are 2"):
        AdditiveStrokes(np.zeros((2, 2)), np.array([[0, 2]]), np.zeros(1), np.zeros(1))


def test_a_fit_reports_each_iteration_and_a_stop_keeps_the_best_so_far():
    strokes, seen = replace(some(7), energy=np.full(6, 0.02)), []
    target = 1.3 * StrokeModel.of(strokes, GRID, FWHM).dose(strokes)

    def loss(dose):
        return float(((dose - target) ** 2).sum()), 2 * (dose - target)

    def stop(iteration, now):
        seen.append((iteration, now))
        if iteration == 3:
            raise KeyboardInterrupt

    fitted = fit_additive(strokes, GRID, FWHM, loss, 60, stop)
    assert fitted.stopped
    assert [k for k, _ in seen] == [1, 2, 3]
    assert fitted.losses[1:].tolist() == [value for _, value in seen]
    dose = StrokeModel.of(strokes, GRID, FWHM).dose(fitted.strokes)
    assert loss(dose)[0] == pytest.approx(fitted.losses[-1]), "the strokes are those of the last loss"
    assert fitted.losses[-1] < fitted.losses[0]


def test_few_strokes_reach_all_of_a_large_picture():
    """A stroke of the usual size covers a 30th of it, so eight would leave most of it without dose."""
    target, inside = np.zeros(GRID.shape), slice(20, -20)
    target[inside, inside] = 1.0
    first = lay_strokes(target, GRID, FWHM / 8, 8)
    dose = StrokeModel.of(first, GRID, FWHM / 8).dose(first)
    assert (dose[inside, inside] > 0.5).mean() > 0.6


def test_bad_input_of_a_fit_is_refused():
    strokes, target = some(8), np.zeros(GRID.shape)
    with pytest.raises(InputError, match="FWHM of the strokes' spot is 0 mm, but must be above 0"):
        fit_additive(strokes, GRID, 0, lambda dose: (0.0, dose))
    with pytest.raises(InputError, match="loss of the strokes is nan, but must be finite"):
        fit_additive(strokes, GRID, FWHM, lambda dose: (float("nan"), dose))
    with pytest.raises(InputError, match=r"target has shape \(3, 3\), but its grid has"):
        lay_strokes(np.zeros((3, 3)), GRID, FWHM, 4)
    target[0, 0] = np.nan
    with pytest.raises(InputError, match="target is not finite in 1 values"):
        lay_strokes(target, GRID, FWHM, 4)


def test_strokes_are_laid_where_dose_is_missing():
    """A picture of three bands is fitted to a few percent by few strokes; an empty one has none."""
    bands = AdditiveStrokes(
        np.array([[-0.5, -0.3], [0.5, -0.3], [-0.4, 0.0], [0.4, 0.2], [0.0, 0.4], [0.3, 0.4]]),
        np.arange(6).reshape(3, 2), np.array([0.1, 0.2, 0.1]), np.array([0.05, 0.03, 0.02]),
    )  # fmt: skip
    target = StrokeModel.of(bands, GRID, FWHM).dose(bands)

    def loss(dose):
        return float(((dose - target) ** 2).sum()), 2 * (dose - target)

    first = lay_strokes(target, GRID, FWHM, 16)
    assert 3 <= len(first) <= 16
    history = fit_additive(first, GRID, FWHM, loss, 60).losses
    assert history[-1] < history[0] / 10
    assert history[-1] < 2e-3 * (target**2).sum()
    assert len(lay_strokes(np.zeros(GRID.shape), GRID, FWHM, 16)) == 0
