"""A dose of which a share acts that depends on the place: forwards, backwards, moved, and in fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import FWHM, centred_grid, design, random_path
from hypothesis import given
from hypothesis import strategies as st
from shapely import box

from laserpath.base.errors import InputError
from laserpath.design.partition import Partition, given_model
from laserpath.design.scene import Scene
from laserpath.measure.by_field import FieldsMeasured
from laserpath.measure.edges import edge_errors
from laserpath.physics.dose import DoseModel, accurate_model, usual_model
from laserpath.physics.dose.uneven import acting, basis, range_of
from laserpath.types import DoseMap, Kinetics, Process, Resin, Spot, Toolpath


def random_map(seed: int, shape: tuple[int, int] = (4, 6)) -> DoseMap:
    logs = np.random.default_rng(seed).uniform(-0.3, 0.3, shape[0] * shape[1])
    return DoseMap((-0.5, -0.4, 0.6, 0.5), shape, tuple(logs.tolist()))


@given(seed=st.integers(0, 2**32 - 1))
def test_the_share_is_within_its_coefficients_and_has_its_slope(seed: int) -> None:
    made, rng = random_map(seed), np.random.default_rng(seed)
    xy = rng.uniform(-0.39, 0.39, (20, 2))
    share, slope = acting(made, xy)
    logs = np.array(made.coefficients)
    assert (np.log(share) >= logs.min()).all()
    assert (np.log(share) <= logs.max()).all()
    number, weight = basis(made, xy)
    np.testing.assert_allclose((logs[number] * weight).sum(axis=1), np.log(share), atol=1e-12)
    for axis in (0, 1):
        step = 1e-5 * np.eye(2)[axis]
        ahead, behind = (np.log(acting(made, xy + sign * step)[0]) for sign in (1, -1))
        np.testing.assert_allclose(slope[:, axis], (ahead - behind) / 2e-5, atol=1e-6)


def test_beyond_its_box_the_share_is_that_of_the_border() -> None:
    made = random_map(1)
    (x0, y0, x1, y1), away = made.box, 3.0
    inside = np.array([[x0, 0.1], [x1, 0.1], [0.1, y0], [0.1, y1], [x1, y1]])
    out = np.array([[-away, 0.0], [away, 0.0], [0.0, -away], [0.0, away], [away, away]])
    share, slope = acting(made, inside + out)
    np.testing.assert_allclose(share, acting(made, inside)[0], rtol=1e-12)
    assert slope[4].tolist() == [0.0, 0.0]


def test_straight_coefficients_are_an_exponential_dose() -> None:
    """B-splines of equal steps reproduce straight lines."""
    made = DoseMap((0.0, 0.0, 3.0, 1.0), (4, 6), tuple(np.tile(0.1 * np.arange(6), 4).tolist()))
    share, slope = acting(made, np.array([[0.0, 0.2], [1.5, 0.7], [3.0, 1.0]]))
    np.testing.assert_allclose(np.log(share), [0.1, 0.25, 0.4], atol=1e-12)
    np.testing.assert_allclose(slope, [[0.1, 0.0]] * 3, atol=1e-12)


def test_the_range_is_that_inside_the_box() -> None:
    """Outer coefficients belong to places beyond it."""
    made = DoseMap((0.0, 0.0, 1.0, 1.0), (4, 4), tuple(np.tile(0.1 * np.array([-3, -1, 1, 3]), 4).tolist()))
    assert np.log(range_of(made)) == pytest.approx((-0.1, 0.1))


def test_an_even_map_scales_the_dose() -> None:
    grid, path = centred_grid(0.8), random_path(np.random.default_rng(2))
    plain = DoseModel(grid, Spot(FWHM)).dose(path)
    made = DoseMap((-0.5, -0.5, 0.5, 0.5), (4, 4), (np.log(1.2),) * 16)
    stronger = DoseModel(grid, Spot(FWHM, dose_map=made)).dose(path)
    np.testing.assert_allclose(stronger, 1.2 * plain, atol=1e-5 * plain.max())
    # One model is built for both spots.
    assert usual_model(grid, Spot(FWHM, dose_map=made)).engine is usual_model(grid, Spot(FWHM)).engine


def test_the_adjoint_is_the_derivative() -> None:
    grid, path = centred_grid(0.8), random_path(np.random.default_rng(3))
    model = DoseModel(grid, Spot(FWHM, dose_map=random_map(4)), precision="f64", tolerance=1e-4)
    weight = np.random.default_rng(5).normal(size=grid.shape)
    found = model.gradient(path, weight)

    def loss(one: Toolpath) -> float:
        return float((weight * model.dose(one)).sum())

    way = np.random.default_rng(6).normal(size=path.xy.shape)
    h = 1e-6
    ahead, behind = (loss(replace(path, xy=path.xy + sign * h * way)) for sign in (1, -1))
    assert (found.xy * way).sum() == pytest.approx((ahead - behind) / (2 * h), rel=1e-3)
    stronger = np.random.default_rng(7).uniform(0.5, 1.0, len(path)) * path.power
    ahead, behind = (loss(replace(path, power=path.power + sign * h * stronger)) for sign in (1, -1))
    assert (found.power * stronger).sum() == pytest.approx((ahead - behind) / (2 * h), rel=1e-4)


def test_fields_see_the_same_shares_as_the_whole() -> None:
    """A field counts places from its own corner."""
    spot = Spot(FWHM, dose_map=DoseMap((0, 0, 24, 1), (4, 5), tuple(np.tile(np.linspace(-0.2, 0.2, 5), 4))))
    scene = Scene.around(design(box(0, 0, 24, 0.4)), spot, Resin(), 6)
    assert not Partition.of(scene.grid, scene.fwhm).single
    lines = np.array([[x, y] for y in (0.1, 0.2, 0.3) for x in (0.05, 23.95)])
    path = Toolpath(lines, np.tile([1.5, 0.0], 3)[:5], np.full(5, 50.0))
    by_fields = FieldsMeasured.of([path], scene, (spot,), areas=False)
    whole = edge_errors(accurate_model(scene.grid, spot).dose(path), scene)
    both = ~whole.missing & ~by_fields.missing[0, 0]
    assert both.mean() > 0.8
    np.testing.assert_allclose(by_fields.epe[0, 0][both], whole.epe[both], atol=2e-3 * FWHM)
    given = given_model(Partition.of(scene.grid, scene.fwhm).given_grid, spot)
    assert given.spot.dose_map == spot.dose_map


def test_a_reaction_through_time_has_no_map() -> None:
    resin = Resin(kinetics=Kinetics(radical_dose=0.1, propagation=1.0, inhibition=1.0, termination=1.0))
    with pytest.raises(InputError, match="cannot have a dose map"):
        Process(Spot(FWHM, dose_map=random_map(1)), resin)
