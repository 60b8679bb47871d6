"""The model's gradients against its own dose, on random and on degenerate curves, in f32 and in f64."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, D_DOSE, DEGENERATE, NAMES, RANDOM, by_engine, model, random_curve, toolpath
from discretisation import relative
from sets import one_fast

from laserpath.base.errors import InputError

PRECISIONS = ("f32", "f64")


@pytest.mark.parametrize("name", RANDOM)
def test_no_gradient_is_zero_by_construction(name):
    """The trap of the integer cast: a dose that does not depend on where the points are."""
    (_, power, _), (_, gradient) = CASES[name], by_engine(CASES[name], "f64")
    lit = power > 0
    assert (gradient["power"][lit] != 0).all()
    assert (gradient["speed"][lit] != 0).all()
    assert (gradient["x"] != 0).all()
    assert (gradient["y"] != 0).all()


def quartic_difference(value, step: float) -> float:
    """f′(0) by central differences of fourth order."""
    return (8 * (value(step) - value(-step)) - (value(2 * step) - value(-2 * step))) / (12 * step)


@pytest.mark.parametrize("name", one_fast(RANDOM, "random curve 0"))
@pytest.mark.parametrize("which", range(4), ids=NAMES)
def test_four_gradients_are_central_differences(name, which):
    """Every number of a random curve alone. Dark moves are left out: they stay dark by definition."""
    xy, power, speed = CASES[name]
    _, gradient = by_engine(CASES[name], "f64")
    found = gradient[NAMES[which]]

    def loss(k: int, change: float) -> float:
        parts = [xy.copy(), power.copy(), speed.copy()]
        flat = (parts[0][:, 0], parts[0][:, 1], parts[1], parts[2])[which]
        flat[k] += change
        return float((model("airy", "f64").dose(toolpath(tuple(parts))) * D_DOSE).sum())

    step = 1e-5 if which < 2 else 1e-2
    moved = range(len(found)) if which < 2 else np.flatnonzero(power)
    expected = {k: quartic_difference(lambda c, k=k: loss(k, c), step) for k in moved}
    assert relative(found[list(expected)], np.array(list(expected.values()))) <= 1e-7


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_two_calls_give_the_same_bits_and_no_nan(name, precision):
    first, second = by_engine(CASES[name], precision), by_engine(CASES[name], precision)
    np.testing.assert_array_equal(first[0], second[0])
    for one in NAMES:
        np.testing.assert_array_equal(first[1][one], second[1][one])
        assert np.isfinite(first[1][one]).all()
    assert np.isfinite(first[0]).all()


def test_what_has_no_energy_gives_no_dose():
    for name in ("all in one place", "zero power at all", "one point", "no point"):
        dose, gradient = by_engine(DEGENERATE[name], "f64")
        assert not dose.any(), name
        assert not any(one.any() for one in gradient.values()), name


def test_a_zero_length_segment_changes_nothing():
    xy, power, speed = random_curve(2, 8)
    with_it = np.insert(xy, 4, xy[4], axis=0), np.insert(power, 4, 3.0), np.insert(speed, 4, 9.0)
    np.testing.assert_array_equal(by_engine(with_it, "f64")[0], by_engine((xy, power, speed), "f64")[0])


@pytest.mark.parametrize("far", [(0.6, 0.0), (0.0, -0.5), (-9.0, 0.0), (1e300, 0.0)])
def test_points_outside_the_grid_are_refused_with_a_sentence(far):
    path = toolpath((np.array([[0.0, 0.0], far]), np.ones(1), np.ones(1)))
    with pytest.raises(InputError, match="outside the grid"):
        model("airy", "f32").dose(path)
    with pytest.raises(InputError, match="outside the grid"):
        model("airy", "f32").gradient(path, D_DOSE)


def test_dark_moves_may_leave_the_grid():
    xy, power, speed = random_curve(1, 8)
    away = np.concatenate([xy, [[50.0, 3.0]]]), np.append(power, 0.0), np.append(speed, 9.0)
    np.testing.assert_array_equal(by_engine(away, "f64")[0], by_engine((xy, power, speed), "f64")[0])
    for name, one in by_engine(away, "f64")[1].items():
        np.testing.assert_array_equal(one[: len(one) - 1], by_engine((xy, power, speed), "f64")[1][name])
        assert one[-1] == 0
