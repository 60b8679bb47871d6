"""The loss: its slope, its limits, its size, and what the edge term measures."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, centred_grid, coordinates, design
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from laserpath.base.errors import InputError
from laserpath.design.scene import Samples, Scene
from laserpath.design.target import rasterise
from laserpath.planning.optimise.objective import (
    _SERIES,
    DOSE_WINDOW,
    OVER_DOSE_WEIGHT,
    EdgeTerm,
    Objective,
    _artanh,
    _exp,
)
from laserpath.types import Grid, Resin

GRID = centred_grid(0.5, 4)
SQUARE = design(shapely.box(-0.2125, -0.2125, 0.2125, 0.2125))  # on pixel edges
DISC = design(shapely.Point(0, 0).buffer(0.3, quad_segs=64))
RESIN = Resin()


def objective(made=SQUARE, grid=GRID, edge_weight=None):
    return Objective.of(Scene(made, grid, SPOT, RESIN), edge_weight)


def disc_dose(radius, grid=GRID, slope=2.0):
    """Dose in mJ/mm² that falls through D_c at `radius`, by `slope` D_c per FWHM."""
    x, y = coordinates(grid)
    return RESIN.critical_dose * np.maximum(1 + slope * (radius - np.hypot(x, y)) / FWHM, 0)


def slope_of(term, u):
    """(rows, columns) ∂E/∂u."""
    slope, (value, steep) = np.zeros_like(u), term.sampler(u)
    term.of_edges(value, steep)
    term.sampler.pull(value, steep, slope)
    return slope


@given(seed=st.integers(0, 2**32 - 1), contrast=st.floats(4, 20))
def test_the_slope_is_the_central_difference(seed, contrast):
    """Over the whole range of doses, the region above the over-dose limit included."""
    rng = np.random.default_rng(seed)
    loss = objective().at_contrast(contrast)
    dose = RESIN.critical_dose * rng.uniform(0, 5, GRID.shape)
    direction = rng.normal(size=GRID.shape)
    h = 1e-6
    expected = (loss(dose + h * direction)[0] - loss(dose - h * direction)[0]) / (2 * h)
    assert (loss(dose)[1] * direction).sum() == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_edge_term_s_slope_is_that_at_frozen_steepness(seed):
    rng = np.random.default_rng(seed)
    u = disc_dose(0.31) / RESIN.critical_dose + 0.05 * rng.normal(size=GRID.shape)
    direction, h = rng.normal(size=GRID.shape), 1e-6
    term = EdgeTerm(Scene(DISC, GRID, SPOT, RESIN))
    steepness = np.maximum(np.abs(term.sampler(u)[1]), 0.5)

    def frozen(v):
        return float(np.mean(np.sqrt(((term.sampler(v)[0] - 1) / steepness) ** 2 + 0.003**2) - 0.003))

    assert term(u) == pytest.approx(frozen(u), rel=1e-12)
    expected = (frozen(u + h * direction) - frozen(u - h * direction)) / (2 * h)
    assert (slope_of(term, u) * direction).sum() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_edge_term_adds_the_shift_where_the_dose_is_off(seed):
    """η/s with its slope; the steepness s is the only part that moves with a dose of the same edge error."""
    rng = np.random.default_rng(seed)
    u = disc_dose(0.31) / RESIN.critical_dose + 0.05 * rng.normal(size=GRID.shape)
    direction, h, scene = rng.normal(size=GRID.shape), 1e-6, Scene(DISC, GRID, SPOT, RESIN)
    plain, term = EdgeTerm(scene), EdgeTerm(scene, 0.4)

    def shift(v):
        return float(np.mean(0.4 / np.maximum(np.abs(term.sampler(v)[1]), 0.5)))

    assert term(u) - plain(u) == pytest.approx(shift(u), rel=1e-9)
    expected = (shift(u + h * direction) - shift(u - h * direction)) / (2 * h)
    added = slope_of(term, u) - slope_of(plain, u)
    assert (added * direction).sum() == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("side", [1e-7, 1e-4])
def test_the_smallest_design_has_an_outline_and_an_edge_error(side):
    scene = Scene.around(design(shapely.box(0, 0, side, side)), SPOT, RESIN, 3.0)
    dark = np.zeros(scene.grid.shape)
    # Without dose an edge is misplaced by 1/s at the least steepness.
    assert EdgeTerm(scene)(dark) == pytest.approx(1 / 0.5, rel=0.01)


def test_an_edge_term_without_an_outline_is_refused():
    none = Samples(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, dtype=bool))
    nowhere = Scene(DISC, GRID, SPOT, RESIN).part(shapely.MultiPolygon(), GRID, none)
    with pytest.raises(InputError, match="no samples of an outline"):
        EdgeTerm(nowhere)


@pytest.mark.parametrize("slope", [1.0, 2.0, 4.0])
def test_of_two_exact_edges_the_steeper_one_costs_less(slope):
    scene = Scene(DISC, GRID, SPOT, RESIN)
    term = EdgeTerm(scene, 0.4)
    flat, steep = (term(disc_dose(0.3, slope=k) / RESIN.critical_dose) for k in (slope, 1.5 * slope))
    assert steep < flat


def test_the_edge_term_counts_by_its_weight():
    dose = disc_dose(0.33)
    light, heavy = (objective(DISC, edge_weight=weight) for weight in (0.1, 0.4))
    u = dose / RESIN.critical_dose
    error, pull = light.edge(u), slope_of(light.edge, u)
    assert heavy(dose)[0] - light(dose)[0] == pytest.approx(0.3 * error, rel=1e-9)
    expected = 0.3 * pull / RESIN.critical_dose
    np.testing.assert_allclose(heavy(dose)[1] - light(dose)[1], expected, atol=1e-13)


@pytest.mark.parametrize("u", [0.6, 0.97, 1.0, 1.02, 1.5, 10.0])
@pytest.mark.parametrize("s", [0.7, 2.5, 30.0])
@pytest.mark.parametrize("contrast", [12.0, 60.0])
def test_the_area_term_at_an_edge_is_the_integral_along_its_normal(u, s, contrast):
    """Of a dose u − s n, within half a pixel; by the trapezoidal rule on 20 001 places."""
    scene = Scene(DISC, GRID, SPOT, RESIN)
    edge, count = EdgeTerm(scene), len(scene.samples.xy)
    value, steep = np.full(count, u), np.full(count, -s)
    plain = edge.of_edges(value.copy(), steep.copy())
    found = edge.of_edges(value, steep, contrast=contrast) - plain
    assert np.isfinite(value).all() and np.isfinite(steep).all()
    n = np.linspace(-scene.band, scene.band, 20_001)
    expected = sum(
        weight * np.trapezoid((expit(contrast * (d * (u - s * n) - 1)) - (n < 0)) ** 2, n, axis=0)
        for d, weight in DOSE_WINDOW
    )
    assert found == pytest.approx(expected.mean(), rel=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_slope_of_the_area_term_at_edges_is_the_central_difference(seed):
    rng = np.random.default_rng(seed)
    scene = Scene(DISC, GRID, SPOT, RESIN)
    edge, count, h = EdgeTerm(scene), len(scene.samples.xy), 1e-6
    u, s, (du, ds) = rng.uniform(0, 3, count), -rng.uniform(0.6, 5, count), rng.normal(size=(2, count))

    def of(value, steep):
        plain = value.copy(), steep.copy()
        value, steep = value.copy(), steep.copy()
        whole = edge.of_edges(value, steep, contrast=12.0) - edge.of_edges(*plain)
        return whole, value - plain[0], steep - plain[1]

    _, by_u, by_s = of(u, s)
    expected = (of(u + h * du, s + h * ds)[0] - of(u - h * du, s - h * ds)[0]) / (2 * h)
    assert (by_u * du + by_s * ds).sum() == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_with_the_edge_term_the_area_term_hardly_depends_on_where_the_pixels_are():
    """Without it a coarse pixel that the outline crosses is right or wrong by chance."""
    coarse, losses = centred_grid(0.6, 3.0), ([], [])
    for shift in np.linspace(0, 1, 8, endpoint=False) * coarse.pitch:
        grid = replace(coarse, origin=(coarse.origin[0] + shift, coarse.origin[1] + 0.6 * shift))
        x, y = coordinates(grid)
        dose = 2 * RESIN.critical_dose / (1 + np.exp((np.hypot(x, y) - 0.303) / (0.25 * FWHM)))
        for found, weight in zip(losses, (None, 0.0), strict=True):
            found.append(Objective.of(Scene(DISC, grid, SPOT, RESIN), weight)(dose)[0])
    without, beside = losses
    assert np.std(beside) < 0.2 * np.std(without)


def test_a_perfect_dose_costs_nothing():
    target = np.rint(rasterise(SQUARE, GRID).coverage)
    np.testing.assert_allclose(rasterise(SQUARE, GRID).coverage, target, atol=1e-12)
    dose = 2 * RESIN.critical_dose * target
    losses = [objective().at_contrast(contrast)(dose)[0] for contrast in (5, 10, 20, 40)]
    assert (np.diff(losses) <= 0).all() and losses[0] > 0
    assert losses[-1] < 1e-12


@given(k=st.floats(3.05, 20))
def test_over_dose_costs_by_its_square(k):
    """Far above the threshold only the over-dose is left: λ (u − 0.985·3)² for each pixel of the design."""
    target = rasterise(SQUARE, GRID).coverage.astype(np.float64)
    loss, _ = objective().at_contrast(40)(k * RESIN.critical_dose * target)
    area, perimeter = 0.425**2, 4 * 0.425
    assert loss == pytest.approx(OVER_DOSE_WEIGHT * (k - 2.955) ** 2 * area / (perimeter * FWHM), rel=1e-6)


def test_no_dose_at_all_costs_the_area():
    loss, slope = objective()(np.zeros(GRID.shape))
    assert loss == pytest.approx(0.425**2 / (4 * 0.425 * FWHM), rel=1e-3)
    inside = rasterise(SQUARE, GRID).coverage > 0.5
    assert (slope[inside] < 0).all() and (slope[~inside] >= 0).all()


def test_two_far_copies_cost_what_one_does():
    grid = centred_grid(1.6, 4)
    left, right = shapely.box(-1.2125, -0.2125, -0.7875, 0.2125), shapely.box(0.7875, -0.2125, 1.2125, 0.2125)

    def loss(made):
        target = rasterise(made, grid)
        dose = 1.5 * RESIN.critical_dose * gaussian_filter(target.coverage, 3, truncate=6)
        return Objective.of(Scene.of(made, target, SPOT, RESIN), 0.05)(dose)[0]

    assert loss(design(left, right)) == pytest.approx(loss(design(left)), rel=1e-6)


@pytest.mark.parametrize("shift", [-0.2, -0.1, 0.1, 0.2])
def test_the_edge_term_is_the_mean_edge_error_in_fwhm(shift):
    grid = centred_grid(0.6)
    term = EdgeTerm(Scene(DISC, grid, SPOT, RESIN))
    x, y = coordinates(grid)
    error = term(1 + 2 * (0.3 + shift * FWHM - np.hypot(x, y)) / FWHM)  # without a kink where it is dark
    assert error == pytest.approx(np.hypot(shift, 0.003) - 0.003, abs=3e-3)


def test_where_the_dose_is_flat_the_edge_term_stays_finite():
    term = EdgeTerm(Scene(DISC, GRID, SPOT, RESIN))
    error, slope = term(np.zeros(GRID.shape)), slope_of(term, np.zeros(GRID.shape))
    assert error == pytest.approx(2, abs=0.02)  # (1 − 0)/½
    assert np.isfinite(slope).all() and slope.any()


def test_single_precision_gives_the_same_loss_and_keeps_its_type():
    dose = disc_dose(0.32)
    loss, slope = objective(DISC, edge_weight=0.05)(dose)
    loss32, slope32 = objective(DISC, edge_weight=0.05)(dose.astype(np.float32))
    assert slope32.dtype == np.float32
    assert loss32 == pytest.approx(loss, rel=1e-4)
    np.testing.assert_allclose(slope32, slope, atol=1e-4 * np.abs(slope).max())


def test_the_dose_is_not_written_to_and_the_loss_is_the_same_again():
    dose = disc_dose(0.32)
    dose.flags.writeable = False
    made = objective(DISC, edge_weight=0.05)
    first, second = made(dose), made(dose)
    assert first[0] == second[0]
    assert (first[1] == second[1]).all()


def test_the_pixels_add_up_to_the_loss():
    dose = disc_dose(0.33)
    each = np.concatenate([part for _, part in objective(DISC).by_pixel(dose)])
    assert each.shape == dose.shape and each.min() >= 0
    assert each.sum() == pytest.approx(objective(DISC)(dose)[0], rel=1e-9)


def test_multiples_of_a_dose_have_the_loss_that_each_has():
    made, factors = objective(DISC, edge_weight=0.05), np.array([0.7, 1.0, 1.4])
    each = [made(factor * disc_dose(0.33))[0] for factor in factors]
    np.testing.assert_allclose(made.at_factors(disc_dose(0.33), factors), each, rtol=1e-9)


def test_a_fourth_of_a_large_grid_tells_which_multiple_is_best():
    """Strips of 128 rows, of which the design is in 37; of few strips all count."""
    pitch = FWHM / 4
    grid = Grid((0.0, 0.0), pitch, (6144, 512))
    discs = [shapely.Point(256 * pitch, (60 + 77 * k) * pitch).buffer(30 * pitch) for k in range(60)]
    tall = objective(design(shapely.MultiPolygon(discs)), grid)
    dose = 1.7 * RESIN.critical_dose * gaussian_filter(tall.scene.target.coverage, 3)
    factors = np.geomspace(0.4, 3, 9)
    whole, some = (tall.at_factors(dose, factors, every) for every in (1, 4))
    np.testing.assert_allclose(some, whole, rtol=0.1)
    assert np.argmin(some) == np.argmin(whole) and (some != whole).any()
    made, dose = objective(DISC), disc_dose(0.33)
    assert (made.at_factors(dose, factors, 4) == made.at_factors(dose, factors)).all()


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("column", [0, 5, -1])
def test_a_dose_that_is_not_finite_is_no_finite_loss(real, bad, column):
    """Whichever of several pixels at a time it is."""
    dose = np.ones(GRID.shape, real)
    dose[3, column] = bad
    assert not np.isfinite(Objective.of(Scene(DISC, GRID, SPOT, RESIN))(dose)[0])


def test_the_series_are_as_exact_as_is_said():
    x, z = np.linspace(-80, 0, 4001), np.linspace(-1 / 3, 1 / 3, 4001)
    assert max(abs(_exp(one, _SERIES) / np.exp(one) - 1) for one in x) < 1e-11
    assert max(abs(_artanh(one) - np.arctanh(one)) for one in z) < 2e-12


@pytest.mark.parametrize("dose", [np.nan, np.inf])
def test_a_dose_that_is_not_finite_is_told(dose):
    made = objective(DISC, edge_weight=0.05)
    doses = disc_dose(0.3)
    doses[len(doses) // 2] = dose
    assert not np.isfinite(made(doses)[0])
