"""Strokes fitted to a picture, and the painter as an operator."""

from __future__ import annotations

import numpy as np
import pytest
from greedy import greedy, smooth_drawing

from laserpath import operators
from laserpath.base.errors import InputError
from laserpath.operators.strokes import (
    Canvas,
    FitSettings,
    StrokePainter,
    Strokes,
    fit_strokes,
    strokes_operator,
)


@pytest.mark.slow
def test_a_picture_of_strokes_is_found():
    """Three strokes that do not touch, by three strokes."""
    points = [[[10.0, 8], [36, 14]], [[8, 24], [14, 40]], [[26, 30], [40, 40]]]
    given = Strokes(points, [6.0, 8, 5], [[0.9, 0.1, 0.1], [0.1, 0.2, 0.8], [0.2, 0.7, 0.2]], [1.0, 0.9, 1])
    painter = StrokePainter(Canvas((48, 48)))
    target = painter.paint(given)
    found = fit_strokes(painter, target, FitSettings(strokes=3, steps=300, rounds=3, moves=0))
    assert found.loss < 1e-3 * found.losses[0]
    assert len(found.losses) == 301 and found.loss == pytest.approx(
        np.mean((painter.paint(found.strokes) - target) ** 2)
    )


def bow_fitted(**settings):
    """The fit of one curved stroke, on 24² in float64."""
    painter = StrokePainter(Canvas((24, 24)), "f64")
    bow = Strokes([[[4.0, 19], [12, -5], [20, 19]]], [3.5], [[0.1, 0.2, 0.8]], [1.0])
    return fit_strokes(painter, painter.paint(bow), FitSettings(strokes=2, rounds=2, **settings))


@pytest.mark.slow
def test_strokes_bend_where_the_picture_does():
    found = bow_fitted(steps=160, moves=0)
    straight = bow_fitted(steps=160, moves=0, curved=False)
    assert found.strokes.points.shape == (2, 3, 2) and straight.strokes.points.shape == (2, 2, 2)
    assert found.loss < 0.7 * straight.loss


@pytest.mark.slow
def test_straight_strokes_are_fitted_as_before_there_were_curved_ones():
    """The loss that `fit_strokes` came to when it knew lines only."""
    assert bow_fitted(steps=24, moves=1, curved=False).loss == pytest.approx(0.0614823545401857, rel=1e-6)


@pytest.mark.slow
def test_a_fit_takes_as_many_steps_as_it_is_given():
    painter, target = StrokePainter(Canvas((20, 20))), np.zeros((20, 20, 3))
    for steps in (8, 9, 31):
        found = fit_strokes(painter, target, FitSettings(strokes=2, steps=steps, rounds=2, moves=2))
        assert len(found.losses) == steps + 1


@pytest.mark.slow(100)
def test_a_fit_is_as_good_as_a_greedy_one_with_ten_times_the_steps():
    """32 lines on 256²: the loss falls to a tenth at most, and the median of three seeds is within 5 % of
    the greedy fit's, which has lines too.
    """
    painter, target = StrokePainter(Canvas((256, 256))), smooth_drawing(256)
    fits = [fit_strokes(painter, target, FitSettings(seed=seed, curved=False)) for seed in range(3)]
    assert all(found.loss <= 0.1 * found.losses[0] for found in fits)
    peer = greedy(painter, target, 32, 10 * (len(fits[0].losses) - 1))
    assert np.median([found.loss for found in fits]) <= 1.05 * peer


@pytest.mark.slow
def test_the_operator_s_adjoint_is_that_of_differences():
    rng = np.random.default_rng(4)
    operator = strokes_operator(StrokePainter(Canvas((14, 17)), "f64"))
    example = (
        rng.uniform(2, 13, (3, 2, 2)), rng.uniform(2, 5, 3), rng.random((3, 3)), rng.uniform(0.3, 0.7, 3),
    )  # fmt: skip
    operators.check(operator, example)
    np.testing.assert_array_equal(
        operator(*example), StrokePainter(Canvas((14, 17)), "f64").paint(Strokes(*example))
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: FitSettings(strokes=0), "strokes is 0, but must be between 1 and 65536"),
        (lambda: FitSettings(strokes=4, rounds=5), "rounds is 5, but must be between 1 and 4"),
        (lambda: FitSettings(steps=1.5), "steps is 1.5, but must be a whole number"),
        (
            lambda: FitSettings(steps=31),
            "steps is 31, but must be at least 32, two for each of 8 rounds and 8",
        ),
        (
            lambda: fit_strokes(StrokePainter(Canvas((9, 9))), np.zeros((9, 8, 3))),
            r"target has shape \(9, 8, 3\), but must have \(9, 9, 3\)",
        ),
        (
            lambda: fit_strokes(StrokePainter(Canvas((9, 9))), np.full((9, 9, 3), np.inf)),
            "target is not finite in 243 values",
        ),
        (
            lambda: fit_strokes(StrokePainter(Canvas((9, 9))), np.full((9, 9, 3), 255, np.uint8)),
            "target has values from 255 to 255, but must be between 0 and 1: divide one of 8 bits by 255",
        ),
        (
            lambda: fit_strokes(StrokePainter(Canvas((9, 9), mode="add")), np.full((9, 9, 3), 255.0)),
            "target has values from 255 to 255, but must be between 0 and 32: divide one of 8 bits by 255",
        ),
        (
            lambda: fit_strokes(StrokePainter(Canvas((9, 9))), np.full((9, 9, 3), 0.5 + 1j)),
            "target is complex, but must have real values",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
