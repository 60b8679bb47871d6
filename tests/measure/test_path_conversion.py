"""The conversion of a toolpath: its gradient against differences, and what the times do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sets import one_fast

from laserpath.base.errors import InputError
from laserpath.measure.conversion import PathConversion
from laserpath.physics.kinetics import KineticModel, Kinetics
from laserpath.types import Grid, Spot, Toolpath

GRID, SPOT = Grid((0.0, 0.0), 0.02, (20, 30)), Spot(fwhm=0.08, profile="gaussian")
RATES = Kinetics(
    radical_dose=0.15, propagation=2.0, inhibition=100.0, termination=0.5, pair_termination=1.0,
    diffusion=1e-3, supply=0.1,
)  # fmt: skip
END = 4.0


def path_of_four() -> Toolpath:
    """Two lit moves, a dark one, and a lit one that comes back beside the first; none near a new flash."""
    xy = np.array([[0.1, 0.15], [0.2451, 0.16], [0.4037, 0.15], [0.4137, 0.2313], [0.1517, 0.24]])
    return Toolpath(xy, np.array([0.8, 0.9, 0.0, 0.7]), np.array([20.3, 18.7, 1.3, 0.91]))


@pytest.fixture(scope="module")
def model() -> KineticModel:
    return KineticModel(GRID, SPOT, RATES)


@pytest.mark.parametrize("name", one_fast(["xy", "power", "speed"], "xy"))
def test_the_gradient_is_that_of_differences(model: KineticModel, name: str) -> None:
    rng = np.random.default_rng(5)
    path, weight = path_of_four(), rng.normal(size=GRID.shape)
    given = getattr(path, name)
    free = path.on if name == "power" else np.ones(len(given), bool)
    found = getattr(PathConversion(model, path, END).gradient(weight), name)
    size, h = (0.08 if name == "xy" else given), 1e-5  # a larger step moves flashes to another interval

    def value(change: np.ndarray) -> float:
        moved = replace(path, **{name: given + change})
        return float((weight * PathConversion(model, moved, END).conversion).sum())

    for k in [*np.flatnonzero(free)[::3], None]:  # every third vertex or move, and all together
        way = np.zeros_like(given)
        way[free if k is None else k] = 1
        way *= size * rng.normal(size=given.shape)
        expected = (value(h * way) - value(-h * way)) / (2 * h)
        assert (found * way).sum() == pytest.approx(expected, rel=1e-6)
    assert not found[~free].any()


def test_slower_travel_leaves_more_oxygen_for_what_follows(model: KineticModel) -> None:
    path = path_of_four()
    quick = PathConversion(model, replace(path, speed=path.speed * [1, 1, 20, 1]), END)
    slow = PathConversion(model, path, END)
    assert slow.conversion.sum() < quick.conversion.sum()
    assert slow.gradient(np.ones(GRID.shape)).speed[2] > 0


def test_the_end_is_a_wait_after_the_path(model: KineticModel) -> None:
    path = path_of_four()
    assert PathConversion(model, path).end == pytest.approx((path.length / path.speed).sum() + RATES.wait)


def test_a_path_that_shines_nowhere_converts_nothing(model: KineticModel) -> None:
    path = path_of_four()
    run = PathConversion(model, replace(path, power=np.zeros(4)), END)
    found = run.gradient(np.ones(GRID.shape))
    assert not run.conversion.any()
    assert not any(values.any() for values in (found.xy, found.power, found.speed))


def test_a_move_of_no_length_has_no_derivative_of_its_own(model: KineticModel) -> None:
    path = path_of_four()
    xy = np.insert(path.xy, 2, path.xy[2], axis=0)
    stopped = Toolpath(xy, np.insert(path.power, 2, 0.5), np.insert(path.speed, 2, 5.0))
    weight = np.random.default_rng(3).normal(size=GRID.shape)
    one, other = (PathConversion(model, some, END).gradient(weight) for some in (path, stopped))
    assert other.power[2] == other.speed[2] == 0
    np.testing.assert_allclose(np.delete(other.speed, 2), one.speed, rtol=1e-12)
    np.testing.assert_allclose(other.xy[2] + other.xy[3], one.xy[2], rtol=1e-9)


def test_an_end_before_the_last_light_and_several_photons_are_refused(model: KineticModel) -> None:
    with pytest.raises(InputError, match=r"end is 0.1 s, but the last light is at 0\.\d+ s"):
        PathConversion(model, path_of_four(), 0.1)
    with pytest.raises(InputError, match="spot has 2 photons, but kinetics are of absorption order 1"):
        PathConversion(KineticModel(GRID, replace(SPOT, photons=2), RATES), path_of_four())
