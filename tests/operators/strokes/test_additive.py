"""Additive strokes: their dose against the laser's, their gradient against differences, and the fit."""

from dataclasses import replace

import numpy as np
import pytest
from builders import FWHM, centred_grid

from laserpath.base.errors import InputError
from laserpath.operators.strokes import AdditiveStrokes, StrokeModel, fit_additive, lay_strokes
from laserpath.physics.dose import accurate_model
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
    for name, part in zip(("vertices", "width", "energy"), gradient, strict=True):
        value, h = getattr(strokes, name), 1e-6
        for at in np.ndindex(value.shape):
            step = np.zeros_like(value)
            step[at] = h
            up, down = (
                (weight * model.dose(replace(strokes, **{name: value + s}))).sum() for s in (step, -step)
            )
            assert part[at] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-7 * np.abs(part).max())


SIGMA = FWHM / np.sqrt(8 * np.log(2))


@pytest.mark.parametrize("length", [0.0, 1e-12, 1.2e-3 * SIGMA, 0.01 * SIGMA, 0.049 * SIGMA, 0.051 * SIGMA])
@pytest.mark.parametrize("width", [0.0, 3 * SIGMA])
def test_a_short_stroke_is_a_dot_about_its_middle_and_has_the_gradient_of_differences(length, width):
    middle, along, weight = np.array([0.021, -0.013]), np.array([0.6, 0.8]), 2e-3
    lines = middle + np.multiply.outer([-length / 2, length / 2], along)
    stroke = AdditiveStrokes(lines, np.array([[0, 1]]), np.array([width]), np.array([weight]))
    fine = centred_grid(0.8, 12.0)
    model = StrokeModel.of(stroke, fine, FWHM)
    dose = model.dose(stroke)
    total = weight * max(length, 0.05 * SIGMA)
    # What is left out beyond 3.2 σ or more of the middle is 0.6 % of a round dot.
    assert dose.sum() * fine.pitch**2 == pytest.approx(total, rel=8e-3)
    x, y = np.meshgrid(fine.x(), fine.y())
    found = np.array([(dose * x).sum(), (dose * y).sum()]) / dose.sum()
    assert np.abs(found - middle).max() < 1e-2 * SIGMA
    slope = np.cos(np.array(7 * x - 9 * y)) + x**2
    vertices, h = model.gradient(stroke, slope)[0], 1e-4 * min(max(length, 1e-3 * SIGMA), SIGMA)
    for at in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[at] = h
        up, down = (
            (slope * model.dose(replace(stroke, vertices=lines + one))).sum() for one in (step, -step)
        )
        assert vertices[at] == pytest.approx(
            (up - down) / (2 * h), rel=1e-4, abs=1e-5 * np.abs(vertices).max()
        )


def test_a_fit_finds_strokes_again_from_beside_them():
    """Only strokes that do not overlap can be told apart."""
    rng, apart = np.random.default_rng(6), 0.25 * np.arange(4) - 0.375
    vertices = np.array([[[-0.3, y], [0.3, y + 0.05]] for y in apart]).reshape(-1, 2)
    strokes = AdditiveStrokes(
        vertices,
        np.arange(8).reshape(4, 2),
        np.array([0.05, 0.1, 0.06, 0.12]),
        np.array([0.02, 0.05, 0.03, 0.04]),
    )
    target = StrokeModel.of(strokes, GRID, FWHM).dose(strokes)

    def loss(dose):
        return float(((dose - target) ** 2).sum() / 2), dose - target

    beside = replace(strokes, vertices=strokes.vertices + rng.uniform(-0.02, 0.02, strokes.vertices.shape),
                     energy=strokes.energy * rng.uniform(0.7, 1.3, len(strokes)))  # fmt: skip
    fitted = fit_additive(beside, GRID, FWHM, loss, 200)
    found, history = fitted.strokes, fitted.losses
    assert history[-1] < 1e-4 * history[0]
    assert np.abs(found.vertices - strokes.vertices).max() < 0.02 * FWHM
    assert np.abs(found.width - strokes.width).max() < 0.05 * FWHM
    assert np.abs(found.energy / strokes.energy - 1).max() < 0.02


def test_strokes_that_do_not_fit_together_are_refused():
    good = {
        "vertices": np.zeros((2, 2)),
        "ends": np.array([[0, 1]]),
        "width": np.zeros(1),
        "energy": np.ones(1),
    }
    for name, value, sentence in (
        ("width", np.zeros(2), r"strokes width has shape \(2,\), but \(1,\) is needed"),
        ("width", np.array([-0.1]), "strokes width is -0.1 mm, but must be between 0 and 1e"),
        ("energy", np.array([np.nan]), "strokes energy is not finite in 1 of 1 values"),
        ("vertices", np.zeros((2, 3)), r"strokes vertices has shape \(2, 3\)"),
        ("vertices", np.full((2, 2), np.nan), "strokes vertices is not finite in 4 of 4 values"),
        ("vertices", np.full((2, 2), 1e9), r"strokes vertices reach 1e\+09 mm, but must be within"),
        ("ends", np.array([[0, 2]]), "strokes name vertices 0 to 2, but there are 2"),
        ("ends", np.array([[0, 1.5]]), r"strokes ends are of shape \(1, 2\) and type float64, but must be"),
        ("ends", np.array([0, 1]), r"strokes ends are of shape \(2,\)"),
    ):
        with pytest.raises(InputError, match=sentence):
            AdditiveStrokes(**{**good, name: value})
    with pytest.raises(ValueError, match="read-only"):
        AdditiveStrokes(**good).vertices[0] = 1


def test_no_strokes_leave_no_dose_and_fit_at_once():
    none = AdditiveStrokes(np.zeros((0, 2)), np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0))
    assert not StrokeModel.of(none, GRID, FWHM).dose(none).any()
    fitted = fit_additive(none, GRID, FWHM, lambda dose: (float((dose**2).sum()), 2 * dose))
    assert len(fitted.strokes) == 0 and fitted.losses[-1] == 0


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
    """A stroke of the usual size covers a 30th of it, so eight would leave most of it without dose. Nowhere
    is more than twice the wanted dose.
    """
    target, inside = np.zeros(GRID.shape), slice(20, -20)
    target[inside, inside] = 1.0
    first = lay_strokes(target, GRID, FWHM / 8, 8)
    dose = StrokeModel.of(first, GRID, FWHM / 8).dose(first)
    assert (dose[inside, inside] > 0.5).mean() > 0.6
    assert dose.max() < 2
    assert dose.sum() == pytest.approx(target.sum(), rel=0.3)


def test_bad_input_of_a_fit_is_refused():
    strokes, target = some(8), np.zeros(GRID.shape)
    with pytest.raises(InputError, match="FWHM of the strokes' spot is 0 mm, but must be above 0"):
        fit_additive(strokes, GRID, 0, lambda dose: (0.0, dose))
    with pytest.raises(InputError, match="loss of the strokes is nan, but must be finite"):
        fit_additive(strokes, GRID, FWHM, lambda dose: (float("nan"), dose))
    with pytest.raises(InputError, match=r"target has shape \(3, 3\), but its grid has"):
        lay_strokes(np.zeros((3, 3)), GRID, FWHM, 4)
    with pytest.raises(
        InputError, match="most strokes is -1, but must be a whole number between 0 and 1000000"
    ):
        lay_strokes(target, GRID, FWHM, -1)
    with pytest.raises(InputError, match=r"most strokes is 2.5, but must be a whole number"):
        lay_strokes(target, GRID, FWHM, 2.5)
    with pytest.raises(InputError, match="FWHM of the strokes' spot is nan mm"):
        lay_strokes(target, GRID, float("nan"), 4)
    with pytest.raises(InputError, match="iterations is -1, but must be a whole number between 0"):
        fit_additive(strokes, GRID, FWHM, lambda dose: (0.0, dose), -1)
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
