"""Kinetics against closed forms, an ODE solver, and differences."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sets import one_fast

from laserpath import operators
from laserpath.operators.kinetics import kinetics_operator
from laserpath.physics import optics
from laserpath.physics.kinetics import KineticModel, Kinetics, Light
from laserpath.physics.kinetics.interval import OxygenSupply
from laserpath.types import Grid, Spot

GRID = Grid((0.0, 0.0), 0.01, (37, 50))
SPOT = Spot(fwhm=0.08, profile="gaussian")
MIDDLE = (0.25, 0.18)
PIXEL = (18, 25)
POINT = Grid(MIDDLE, 0.01, (1, 1))

ALL_RATES = Kinetics(
    radical_dose=0.3,
    propagation=3.0,
    inhibition=50.0,
    termination=2.0,
    pair_termination=5.0,
    diffusion=1e-4,
    supply=0.05,
)


def steady(intensity: float, seconds: float, flashes: int = 2000) -> Light:
    """Light of an intensity (mW/mm²) at the middle, as flashes close to each other."""
    energy = intensity * seconds / flashes / optics.profile(SPOT, np.zeros(1))[0]
    time = (np.arange(flashes) + 0.5) * seconds / flashes
    return Light(np.tile(MIDDLE, (flashes, 1)), np.full(flashes, energy), time)


def used(
    kinetics: Kinetics, light: Light, end: float, grid: Grid = POINT, interval: float | None = None
) -> float:
    """ln(1/m) at the middle, which is k_p ∫ R dt."""
    conversion = KineticModel(grid, SPOT, kinetics, interval=interval).expose(light, end).conversion
    return float(-np.log1p(-conversion[grid.shape[0] // 2, grid.shape[1] // 2]))


def test_of_first_order_only_the_dose_counts() -> None:
    rng = np.random.default_rng(2)
    kinetics = Kinetics(radical_dose=0.4, propagation=0.7, termination=3.0, oxygen=0.0)
    xy = rng.uniform(0.1, 0.4, (40, 2)) * [1, 0.7]
    light = Light(xy, rng.uniform(0, 1e-3, 40), np.sort(rng.uniform(0, 5, 40)))
    run = KineticModel(GRID, SPOT, kinetics).expose(light, 25.0)
    x, y = np.meshgrid(GRID.x(), GRID.y())
    far = np.hypot(x[..., None] - xy[:, 0], y[..., None] - xy[:, 1])
    dose = optics.profile(SPOT, far) @ light.energy
    expected = 1 - np.exp(-kinetics.propagation * dose / (kinetics.radical_dose * kinetics.termination))
    np.testing.assert_allclose(run.conversion, expected, atol=2e-5 * expected.max())


@pytest.mark.parametrize(
    ("rates", "slope"),
    [pytest.param({"termination": 4.0}, 1, marks=pytest.mark.slow), ({"pair_termination": 40.0}, 2)],
)
def test_the_slope_of_the_working_curve(rates: dict[str, float], slope: int) -> None:
    """Depth of the gel over ln(time): D_p where one radical ends alone, 2 D_p where two end each other.

    All depths in one run: beside a Gaussian spot the light falls as exp(−4 ln 2 r²/FWHM²), and so as it does
    at that depth. Without oxygen the interval changes nothing.
    """
    kinetics = Kinetics(radical_dose=1.0, propagation=0.2, oxygen=0.0, gel_conversion=0.05, **rates)
    row = Grid(MIDDLE, SPOT.fwhm / 16, (1, 30))
    depth = 4 * np.log(2) * (np.arange(30) / 16) ** 2  # in D_p
    model = KineticModel(row, SPOT, kinetics, interval=1.0)
    reached = []
    for seconds in (40.0, 80.0):
        gone = -np.log1p(-model.expose(steady(1.0, seconds), seconds).conversion[0])
        reached.append(np.interp(-np.log(-np.log1p(-0.05)), -np.log(gone), depth))
    assert (reached[1] - reached[0]) / np.log(2) == pytest.approx(slope, rel=0.03)


def test_of_second_order_the_root_of_the_intensity_counts() -> None:
    kinetics = Kinetics(radical_dose=1.0, propagation=0.3, pair_termination=100.0, oxygen=0.0)
    slow, fast = (
        used(kinetics, steady(intensity, seconds), seconds, interval=1.0)
        for intensity, seconds in ((1.0, 40.0), (4.0, 10.0))
    )
    assert slow == pytest.approx(0.3 * 40 * np.sqrt(1 / 100), rel=0.01)
    assert fast == pytest.approx(slow / 2, rel=0.01)


@pytest.mark.slow
def test_no_conversion_before_the_oxygen_is_gone() -> None:
    kinetics = Kinetics(radical_dose=0.5, propagation=1.0, inhibition=1e5, termination=1.0)
    for dose, expected in ((0.45, 0.0), (0.5, 0.0), (0.75, 0.5), (1.0, 1.0)):
        assert used(kinetics, steady(dose / 10, 10.0), 40.0) == pytest.approx(expected, abs=0.01)


@pytest.mark.slow
def test_oxygen_comes_back_between_two_exposures() -> None:
    """A second exposure at once cures more than one after the oxygen has returned."""
    kinetics = Kinetics(
        radical_dose=0.5, propagation=1.0, inhibition=1e4, termination=10.0, diffusion=1e-4, supply=0.0
    )
    once = steady(0.6, 0.5, 100)

    def after_a_rest(rest: float) -> float:
        twice = Light(
            np.concatenate([once.xy] * 2),
            np.concatenate([once.energy] * 2),
            np.concatenate([once.time, once.time + 0.5 + rest]),
        )
        return used(kinetics, twice, 1.5 + rest, coarse)

    coarse = Grid((0.0, 0.0), 0.02, (19, 25))
    at_once, later = after_a_rest(0.0), after_a_rest(4.0)
    assert at_once > 2 * later


def test_diffusion_keeps_the_oxygen_and_spreads_it() -> None:
    oxygen = OxygenSupply(GRID, Kinetics(radical_dose=1, propagation=1, diffusion=1e-4))
    lack = np.zeros(GRID.shape)
    lack[PIXEL] = 1
    later = oxygen.spread(lack, 2.0)
    assert later.sum() == pytest.approx(1) and later.min() > -1e-12
    x, y = np.meshgrid(GRID.x() - GRID.x()[PIXEL[1]], GRID.y() - GRID.y()[PIXEL[0]])
    assert (later * (x**2 + y**2)).sum() == pytest.approx(4 * 1e-4 * 2.0, rel=1e-3)


def test_a_cell_is_that_of_an_ode_solver() -> None:
    """With twice as many flashes the error is a quarter, so that the two results give the limit."""
    kinetics = Kinetics(0.3, 0.3, inhibition=20.0, termination=0.5, pair_termination=5.0)

    def at_end(flashes: int) -> np.ndarray:
        run = KineticModel(POINT, SPOT, kinetics, interval=5.0).expose(steady(0.2, 6.0, flashes), 10.0)
        return np.array([run.radicals[0, 0], run.oxygen[0, 0], 1 - run.conversion[0, 0]])

    def rates(t: float, y: np.ndarray, born: float) -> list[float]:
        r, o, m = y
        return [born - 20 * r * o - 0.5 * r - 5 * r * r, -20 * r * o, -0.3 * r * m]

    exact = np.array([0.0, 1.0, 1.0])
    for born, seconds in ((0.2 / 0.3, 6.0), (0.0, 4.0)):
        exact = solve_ivp(rates, (0, seconds), exact, args=(born,), rtol=1e-10, atol=1e-13).y[:, -1]
    coarse, fine = at_end(1500) - exact, at_end(3000) - exact
    np.testing.assert_allclose(coarse, 0, atol=1e-4)
    assert np.abs(4 * fine - coarse).max() / 3 < 0.05 * np.abs(coarse).max()


@pytest.mark.parametrize("interval", one_fast([0.5, 5.0, 50.0], 5.0, 50.0))
def test_a_coarse_interval_stays_within_bounds(interval: float) -> None:
    """40 to 4000 times as long as the usual one, 0.0128 s: wrong, but stable."""
    rng = np.random.default_rng(8)
    light = Light(rng.uniform(0, 0.5, (80, 2)), rng.uniform(0, 9e-3, 80), np.sort(rng.uniform(0, 90, 80)))
    rates = replace(ALL_RATES, diffusion=1e-2)
    run = KineticModel(GRID, SPOT, rates, interval=interval).expose(light, 100.0)
    assert run.conversion.min() >= 0 and 0.1 < run.conversion.max() <= 1
    assert run.radicals.min() >= 0
    assert run.oxygen.min() >= -1e-12 and run.oxygen.max() <= 1 + 1e-12  # as the cosines are rounded
    gradient = run.gradient(np.ones(GRID.shape))
    assert all(np.isfinite(one).all() for one in (gradient.xy, gradient.energy, gradient.time))


def test_a_later_change_of_the_arrays_changes_no_gradient() -> None:
    rng = np.random.default_rng(5)
    for spot in (SPOT, Spot(fwhm=0.08)):  # without and with a tail
        light = Light(rng.uniform(0.1, 0.3, (9, 2)), np.full(9, 2e-4), np.sort(rng.uniform(0, 3, 9)))
        run = KineticModel(GRID, spot, ALL_RATES, interval=0.5, memory=1).expose(light, 4.0)
        before = run.gradient(np.ones(GRID.shape))
        for one in (light.xy, light.energy, light.time):
            one[...] = 7
        after = run.gradient(np.ones(GRID.shape))
        np.testing.assert_array_equal(before.xy, after.xy)
        np.testing.assert_array_equal(before.energy, after.energy)
        np.testing.assert_array_equal(before.time, after.time)


def test_half_the_interval_changes_little() -> None:
    rng = np.random.default_rng(3)
    light = Light(np.tile(MIDDLE, (50, 1)), np.full(50, 2e-4), np.sort(rng.uniform(0, 1, 50)))
    usual = KineticModel(GRID, SPOT, ALL_RATES)
    finer = KineticModel(GRID, SPOT, ALL_RATES, interval=usual.interval / 2)
    a, b = usual.expose(light, 1.5).conversion, finer.expose(light, 1.5).conversion
    assert np.abs(a - b).max() < 0.01 * a.max()


@pytest.mark.slow
def test_half_the_interval_has_a_quarter_of_the_error() -> None:
    """Without diffusion, whose pixels and fronts would mix in: the cells of a radius stand for all.
    Radicals end and meet oxygen equally fast.
    """
    radius = Grid(MIDDLE, 0.01, (1, 13))
    rng = np.random.default_rng(3)
    light = Light(np.tile(MIDDLE, (50, 1)), np.full(50, 2e-4), np.sort(rng.uniform(0, 2, 50)))
    rates = replace(ALL_RATES, diffusion=0.0, inhibition=5.0)
    fine, coarse, finest = (
        KineticModel(radius, SPOT, rates, interval=s).expose(light, 3.0).conversion
        for s in (0.01, 0.02, 0.002)
    )
    ratio = np.linalg.norm(coarse - finest) / np.linalg.norm(fine - finest)
    assert 3.5 < ratio < 4.5
    assert np.abs(fine - finest).max() < 1e-3


@pytest.mark.parametrize("memory", one_fast([None, 1, 100], 1))
def test_gradient_by_places_energies_and_times(memory: int | None) -> None:
    rng = np.random.default_rng(4)
    n = 30
    xy = np.stack([np.linspace(0.15, 0.35, n), 0.18 + 0.02 * np.sin(np.arange(n))], axis=1)
    light = Light(xy, rng.uniform(0.5, 1.5, n) * 2e-4, np.sort(rng.uniform(0, 3, n)))
    model = KineticModel(GRID, SPOT, ALL_RATES, interval=0.25, memory=memory)
    weight = rng.normal(size=GRID.shape)
    gradient = model.expose(light, 5.0).gradient(weight)

    def value(h: float, way: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
        moved = Light(light.xy + h * way[0], light.energy + h * way[1], light.time + h * way[2])
        return float((weight * model.expose(moved, 5.0).conversion).sum())

    ways = [rng.normal(size=a.shape) for a in (light.xy, light.energy, light.time)]
    scales = (1e-2, 1e-4, 1e-3)
    for which in range(3):
        way = tuple(ways[i] * scales[i] * (i == which) for i in range(3))
        slope = sum(
            float((g * w).sum())
            for g, w in zip((gradient.xy, gradient.energy, gradient.time), way, strict=True)
        )
        h = 1e-4
        assert (value(h, way) - value(-h, way)) / (2 * h) == pytest.approx(slope, rel=1e-6)


def test_the_operator_is_the_model_and_its_adjoint_that_of_differences() -> None:
    """In units in which places, energies and times are about 1, as the step of the differences takes them."""
    resin = replace(ALL_RATES, radical_dose=0.02, diffusion=1.0)
    model = KineticModel(Grid((0.0, 0.0), 1.0, (12, 15)), Spot(fwhm=6.0), resin, interval=0.5)
    rng = np.random.default_rng(9)
    example = rng.uniform(3, 10, (6, 2)), rng.uniform(0.5, 1.5, 6), np.sort(rng.uniform(0, 2, 6))
    operator = kinetics_operator(model, 2.5)
    expected = model.expose(Light(*example), 2.5).conversion
    assert 0.2 < expected.max() < 0.9
    np.testing.assert_array_equal(operator(*example), expected)
    operators.check(operator, example)
    single = operator(*(one.astype(np.float32) for one in example))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-5)
    assert not operator(np.zeros((0, 2)), np.zeros(0), np.zeros(0)).any()  # no light


def test_light_keeps_the_arrays_that_the_kernels_can_take() -> None:
    given = np.zeros((4, 2)), np.ones(4), np.arange(4.0)
    light = Light(*given)
    for one, other in zip(given, (light.xy, light.energy, light.time), strict=True):
        assert one is other
    single = Light(*(one.astype(np.float32) for one in given))
    assert {one.dtype for one in (single.xy, single.energy, single.time)} == {np.dtype(np.float64)}


@pytest.mark.parametrize("inhibition", [0.0, 1.0, 1e12])
def test_nothing_is_nan_where_divisors_vanish(inhibition: float) -> None:
    """As many radicals as oxygen, no rate at all, or one that no step could follow."""
    kinetics = Kinetics(radical_dose=1.0, propagation=1.0, inhibition=inhibition)
    peak = optics.profile(SPOT, np.zeros(1))[0]
    light = Light(np.array([GRID.x()[25], GRID.y()[18]])[None], np.array([1 / peak]), np.zeros(1))
    run = KineticModel(GRID, SPOT, kinetics).expose(light, 1.0)
    gradient = run.gradient(np.ones(GRID.shape))
    for values in (run.conversion, run.oxygen, run.radicals, gradient.xy, gradient.energy, gradient.time):
        assert np.isfinite(values).all()
    assert run.conversion.min() >= 0 and run.oxygen.min() >= 0 and gradient.energy[0] > 0


@pytest.mark.slow(seconds=5)
def test_the_table_of_the_page_is_what_its_code_gives() -> None:
    """docs/questions/kinetics.md: rows such as `| 10 s | 0.11 | 0.19 mm: two lines |`."""
    page = (Path(__file__).parents[3] / "docs" / "questions" / "kinetics.md").read_text(encoding="utf-8")
    (code,) = (one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def two_lines" in one)
    names: dict[str, Any] = {}
    exec(code.partition("for wait in")[0], names)
    rows = re.findall(r"^\| ([\d.]+) s \| ([\d.]+) \| ([\d.]+) mm", page, re.MULTILINE)
    assert len(rows) == 4
    for wait, middle, width in rows:
        across = names["two_lines"](float(wait))
        assert f"{across[20]:.2f}" == middle
        assert f"{0.01 * (across > names['resin'].gel_conversion).sum():.2f}" == width
