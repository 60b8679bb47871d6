"""Working curve, development and absorption order: the physics, and that dose and planner agree with it."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, centred_grid, design, path, random_path
from hypothesis import given
from hypothesis import strategies as st

from laserpath.base.errors import InputError, PlausibilityWarning
from laserpath.design.scene import Scene
from laserpath.design.target import rasterise
from laserpath.physics import optics, resin
from laserpath.physics.dose import DoseModel
from laserpath.planning.optimise.objective import DOSE_WINDOW, OVER_DOSE_WEIGHT, Objective
from laserpath.types import Resin, Spot, process

E_C, D_P = 0.085, 0.11  # mJ/mm², mm
RESIN = Resin()
positive = st.floats(1e-3, 1e3)
orders = st.integers(1, 4)


def spot(order, profile="gaussian"):
    return Spot(FWHM, profile=profile, photons=order)


# In depth


def test_at_e_c_nothing_is_cured_and_every_e_fold_adds_one_penetration_depth():
    depths = resin.cure_depth(E_C * np.exp([0, 1, 2, 3]), E_C, D_P)
    np.testing.assert_allclose(depths, D_P * np.arange(4), atol=1e-15)


def test_below_e_c_nothing_is_cured():
    np.testing.assert_array_equal(resin.cure_depth([0, 0.5 * E_C], E_C, D_P), 0)


@given(depth=st.floats(0, 2), e_c=positive, d_p=st.floats(0.01, 1))
def test_dose_and_depth_are_each_other_s_inverse(depth, e_c, d_p):
    assert resin.cure_depth(resin.dose_for_depth(depth, e_c, d_p), e_c, d_p) == pytest.approx(
        depth, abs=1e-12
    )


@given(layer=st.floats(1e-3, 1), d_p=st.floats(0.01, 1), e_c=positive)
def test_one_penetration_depth_more_of_layer_needs_e_times_the_dose(layer, d_p, e_c):
    thin, thick = (resin.critical_dose(e_c, d_p, t) for t in (layer, layer + d_p))
    assert thick == pytest.approx(np.e * thin, rel=1e-9)
    assert resin.cure_depth(thin, e_c, d_p) == pytest.approx(layer)


# In the plane


def test_the_threshold_is_half_at_the_critical_dose():
    u = np.array([0.0, 0.9, 1.0, 1.1, 3.0])
    cured = resin.development(u * RESIN.critical_dose, RESIN)
    assert cured[2] == 0.5
    assert cured[1] + cured[3] == pytest.approx(1)
    assert (np.diff(cured) > 0).all() and cured[0] < 1e-4 and cured[-1] > 1 - 1e-4


def test_far_from_the_threshold_nothing_overflows():
    dose = np.array([0.0, 1e6]) * RESIN.critical_dose
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(resin.development(dose, Resin(contrast=1000)), [0, 1])


@given(gamma=st.floats(0.5, 20))
def test_the_logistic_is_as_steep_over_log_dose_as_the_resist(gamma):
    resist = Resin(contrast=resin.contrast_of(gamma))
    h = 1e-6
    low, high = (resin.development(resist.critical_dose * 10**t, resist) for t in (-h, h))
    assert (high - low) / (2 * h) == pytest.approx(gamma, rel=1e-6)
    assert resin.gamma_of(resist.contrast) == pytest.approx(gamma)


def test_gamma_is_one_where_the_thickness_falls_over_a_decade():
    assert resin.gamma(10, 100) == 1
    assert resin.gamma(50, 100) == pytest.approx(3.32, abs=0.01)
    assert resin.gamma(0.5, 1) == resin.gamma(50, 100)  # whatever the unit


def test_a_working_curve_has_the_contrast_of_its_thickness():
    """Thickness in layers over log dose rises from 0 at E_c to 1 at D_c, in a straight line of slope γ."""
    layer = 0.05
    d_c = resin.critical_dose(E_C, D_P, layer)
    slope = resin.cure_depth(np.sqrt(E_C * d_c), E_C, D_P) / layer / np.log10(np.sqrt(d_c / E_C))
    assert resin.gamma(E_C, d_c) == pytest.approx(slope) == pytest.approx(np.log(10) * D_P / layer)


def test_over_dose_counts_critical_doses_above_the_limit():
    dose = np.array([0, 2.9, 3, 3.5]) * RESIN.critical_dose
    np.testing.assert_allclose(resin.over_dose(dose, RESIN), [0, 0, 0, 0.5], atol=1e-12)


def test_the_objective_has_this_threshold_and_this_over_dose():
    """It writes both out for speed, to e⁻¹⁴ of a pixel; over-dose costs from 0.985 of the limit on."""
    grid = centred_grid(0.3, 4)
    square = design(shapely.box(-0.1, -0.1, 0.1, 0.1))
    target = rasterise(square, grid)
    objective = Objective.of(Scene.of(square, target, SPOT, RESIN))
    dose = RESIN.critical_dose * np.random.default_rng(0).uniform(0, 5, grid.shape)
    area = sum(
        w * ((resin.development(d * dose, RESIN) - target.coverage) ** 2).sum() for d, w in DOSE_WINDOW
    )
    earlier = replace(RESIN, over_dose=0.985 * RESIN.over_dose)
    over = (resin.over_dose(dose, earlier) ** 2).sum()
    unit = grid.pixel_area / (square.area.length * FWHM)
    assert objective(dose)[0] == pytest.approx(unit * (area + OVER_DOSE_WEIGHT * over), rel=1e-6)


# From power and speed to dose


@given(power=positive, speed=positive)
def test_one_photon_at_once_gives_power_over_speed(power, speed):
    for profile in ("airy", "gaussian"):
        assert resin.line_energy(power, speed, spot(1, profile)) == power / speed


@given(power=positive, speed=positive, order=orders, k=st.floats(0.1, 10))
def test_a_line_energy_goes_with_power_to_the_order_over_speed(power, speed, order, k):
    q = resin.line_energy(power, speed, spot(order))
    assert resin.line_energy(k * power, speed, spot(order)) == pytest.approx(k**order * q)
    assert resin.line_energy(power, k * speed, spot(order)) == pytest.approx(q / k)


@given(power=positive, speed=positive, order=orders)
def test_power_and_speed_are_found_again(power, speed, order):
    q = resin.line_energy(power, speed, spot(order))
    assert resin.power_for(q, speed, spot(order)) == pytest.approx(power)
    assert resin.speed_for(q, power, spot(order)) == pytest.approx(speed)


def test_no_line_energy_needs_no_power_at_any_speed():
    assert resin.power_for(0.0, 50, spot(2)) == 0
    assert resin.speed_for(0.0, 10, spot(2)) == np.inf


@given(power=positive, speed=positive, order=orders)
def test_slopes_are_central_differences(power, speed, order):
    def difference(step_p, step_v):
        high = resin.line_energy(power + step_p, speed + step_v, spot(order))
        return (high - resin.line_energy(power - step_p, speed - step_v, spot(order))) / 2

    per_power, per_speed = resin.line_energy_slopes(power, speed, spot(order))
    h = 1e-5
    assert per_power == pytest.approx(difference(h * power, 0) / (h * power), rel=1e-6)
    assert per_speed == pytest.approx(difference(0, h * speed) / (h * speed), rel=1e-6)


@pytest.mark.parametrize("profile", ["airy", "gaussian"])
def test_the_dose_is_intensity_to_the_order_times_time(profile):
    """A line of dwells: Σ (P h₁)^N Δt over short steps is the dose of the model, for N = 2."""
    grid, power, speed = centred_grid(0.25, 8), 3.0, 20.0
    xy = np.array([[-0.1, 0.02], [0.12, -0.03]])
    length = float(np.hypot(*(xy[1] - xy[0])))
    node, weight = np.polynomial.legendre.leggauss(60)
    dose = np.zeros(grid.shape)
    for t, w in zip((1 + node) / 2, weight / 2, strict=True):
        x, y = xy[0] + t * (xy[1] - xy[0])
        intensity = power * optics.profile(spot(1, profile), *np.meshgrid(grid.x() - x, grid.y() - y))
        dose += intensity**2 * w * length / speed
    model = DoseModel(grid, spot(2, profile), precision="f64", tolerance=1e-5)
    found = model.dose(path(xy, power, speed))
    np.testing.assert_allclose(found, dose, atol=1e-4 * dose.max())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_dose_model_takes_the_same_line_energy(order):
    model, line = DoseModel(centred_grid(0.5, 8), spot(order)), random_path(np.random.default_rng(0))
    np.testing.assert_allclose(
        model.line_dose(line.xy, resin.path_energy(line, spot(order))), model.dose(line), rtol=1e-6
    )


# Words


def test_the_unit_of_the_dose_is_named_by_the_order():
    assert [resin.dose_unit(n) for n in (1, 2)] == ["mJ/mm²", "(mW/mm²)² s"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: resin.cure_depth(1, 0, D_P), "e_c is 0, but must be above 0"),
        (lambda: resin.cure_depth(1, E_C, -1), "penetration_depth is -1, but must be above 0"),
        (lambda: resin.cure_depth([1, np.nan], E_C, D_P), "dose is nan, but must be at least 0"),
        (lambda: resin.cure_depth(-2, E_C, D_P), "dose is -2, but must be at least 0"),
        (lambda: resin.dose_for_depth(-1, E_C, D_P), "depth is -1, but must be at least 0"),
        (lambda: resin.critical_dose(E_C, D_P, 0), "layer is 0, but must be above 0"),
        (lambda: resin.critical_dose(E_C, 1e-3, 1), "depth 1 is 1000 penetration depths, too deep"),
        (lambda: resin.gamma(2, 1), "d_100 is 1, but must be above d_0, 2"),
        (lambda: resin.contrast_of(0), "gamma is 0, but must be above 0"),
        (lambda: resin.gamma_of(np.inf), "contrast is inf, but must be above 0"),
        (lambda: resin.line_energy(-1, 50, SPOT), "power is -1, but must be at least 0"),
        (lambda: resin.line_energy(1, [50, 0], SPOT), "speed is 0 mm/s, but must be above 0 mm/s"),
        (lambda: resin.power_for(np.nan, 50, SPOT), "line_energy is nan, but must be at least 0"),
    ],
)
def test_impossible_values_are_refused_in_a_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_a_dose_in_the_wrong_unit_is_doubted_once_at_the_line_that_gives_it() -> None:
    process._doubt.cache_clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        wrong = Resin(critical_dose=35)
        for name in "abc":
            replace(wrong, name=name)
        Resin(critical_dose=10)
        Resin(critical_dose=1e9, order=2)  # in another unit
    assert [(one.category, Path(one.filename).name) for one in told] == [
        (PlausibilityWarning, "test_resin.py")
    ]
    assert str(told[0].message).startswith("resin critical_dose is 35 mJ/mm², which is 3500 mJ/cm²")
    assert str(told[0].message).endswith("if 35 mJ/cm² is meant, it is 0.35 mJ/mm²")
