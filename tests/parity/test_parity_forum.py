"""The forum's set-up: 512² pixels, 5000 points of a random walk without segments, the butterfly to draw.

Both engines. 'fft': an Airy spot of 3.5 pixels FWHM, of which the forum's 15 × 15 stencil holds what lies
within twice the FWHM, and this engine all. 'direct': a Gaussian of that FWHM on 16 × 16 pixels. A point
has the energy power/speed, mJ with a speed in 1/s (a pulsed laser that steps through them at that rate).
∂L/∂D is that of the thresholded resist's squared deviation from the butterfly, at this dose.
"""

from __future__ import annotations

from functools import cache

import discretisation
import in_jax
import in_torch
import numpy as np
import pytest
from cases import NAMES, in_four
from discretisation import relative

from laserpath.physics.dose import Engine, engine
from laserpath.types import Grid, Spot

pytestmark = pytest.mark.parity

SIZE, POINTS = 512, 5000
GRID = Grid(origin=(-10.0, -10.0), pitch=20 / (SIZE - 1), shape=(SIZE, SIZE))
FWHM = 3.5 * GRID.pitch
SPOTS = {"fft": Spot(fwhm=FWHM), "direct": Spot(fwhm=FWHM, profile="gaussian")}
WIDTH, TOLERANCE = 16, {"fft": 1e-3, "direct": 1e-5}
"""Pixels of the stencil that the direct engine takes at this tolerance."""
CRITICAL, CONTRAST = 0.2, 10.0
LIMIT = {"f32": 1e-5, "f64": 1e-9}


@cache
def walk() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps of a normal distribution, folded back 0.5 mm inside the edges; power and speed at random."""
    rng = np.random.default_rng(42)
    half = 9.5
    steps = np.cumsum(rng.normal(0, 0.5, (POINTS, 2)), axis=0)
    xy = np.abs(np.mod(steps - half, 4 * half) - 2 * half) - half
    return xy, rng.uniform(0.1, 0.3, POINTS), rng.uniform(20, 50, POINTS)


def butterfly() -> np.ndarray:
    """1 inside r(θ) = 10/√2 · √max(exp(sin θ) − 2 cos 4θ + sin⁵((2θ − π)/24), 0) mm, 0 outside."""
    x, y = np.meshgrid(GRID.x(), GRID.y())
    t = np.mod(np.arctan2(y, x), 2 * np.pi)
    f = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5
    return (np.hypot(x, y) < 10 / np.sqrt(2) * np.sqrt(np.maximum(f, 0))).astype(float)


def slope(dose: np.ndarray) -> np.ndarray:
    """∂L/∂D of L = Σ (1/(1 + exp(−c(D/D_c − 1))) − butterfly)²."""
    cured = 1 / (1 + np.exp(-CONTRAST * (dose / CRITICAL - 1)))
    return 2 * (cured - butterfly()) * cured * (1 - cured) * CONTRAST / CRITICAL


def loss(dose: np.ndarray) -> float:
    return float(((1 / (1 + np.exp(-CONTRAST * (dose / CRITICAL - 1))) - butterfly()) ** 2).sum())


@cache
def made(method: str, precision: str) -> Engine:
    return engine(GRID, SPOTS[method], method=method, precision=precision, tolerance=TOLERANCE[method])


@cache
def d_dose(method: str) -> np.ndarray:
    xy, power, speed = walk()
    return slope(made(method, "f64").spread(xy, power / speed))


@cache
def by_engine(method: str, precision: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    (xy, power, speed), one = walk(), made(method, precision)
    d_energy, d_xy = one.gather(xy, power / speed, d_dose(method))
    dose = one.spread(xy, power / speed)
    return dose, in_four(d_xy, d_energy / speed, -d_energy * power / speed**2)


@cache
def by_peer(peer: str, method: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    module = {"PyTorch": in_torch, "JAX": in_jax}[peer]
    how = discretisation.of(made("fft", "f64"), SPOTS["fft"], TOLERANCE["fft"])
    canvas, peak = discretisation.stencil(GRID, SPOTS["direct"], WIDTH)

    def spread(xy, power, speed):
        if method == "fft":
            return module.spread(how, xy, power / speed)
        return module.splat(canvas, xy, peak * power / speed)

    dose, gradient = module.pull(spread, walk(), d_dose(method))
    return dose, in_four(*gradient)


def test_the_set_up_means_something():
    xy, *_ = walk()
    assert np.abs(xy).max() <= 9.5
    assert 0.3 < butterfly().mean() < 0.7
    for method in SPOTS:
        assert 0.1 < (by_engine(method, "f64")[0] > CRITICAL).mean() < 0.9


@pytest.mark.parametrize("peer", ["PyTorch", "JAX"])
@pytest.mark.parametrize("precision", LIMIT)
@pytest.mark.parametrize("method", SPOTS)
def test_dose_and_four_gradients_are_those_of(peer, method, precision):
    (dose, gradient), (right_dose, right) = by_engine(method, precision), by_peer(peer, method)
    errors = {"dose": relative(dose, right_dose)} | {n: relative(gradient[n], right[n]) for n in NAMES}
    assert max(errors.values()) <= LIMIT[precision], errors


@pytest.mark.parametrize("which", range(4), ids=NAMES)
@pytest.mark.parametrize("method", SPOTS)
def test_four_gradients_are_central_differences_of_the_loss(method, which):
    """Of the loss itself, threshold and all, for the points that matter most and some at random."""
    xy, power, speed = walk()
    found = by_engine(method, "f64")[1][NAMES[which]]
    chosen = [*np.argsort(np.abs(found))[-2:], *np.random.default_rng(0).integers(0, POINTS, 2)]
    step = 1e-3 * FWHM if which < 2 else 1e-3

    def value(k: int, change: float) -> float:
        parts = [xy.copy(), power.copy(), speed.copy()]
        (parts[0][:, 0], parts[0][:, 1], parts[1], parts[2])[which][k] += change
        return loss(made(method, "f64").spread(parts[0], parts[1] / parts[2]))

    for k in chosen:
        a, b = (value(k, c * step) - value(k, -c * step) for c in (1, 2))
        assert found[k] == pytest.approx((8 * a - b) / (12 * step), abs=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("method", SPOTS)
def test_no_gradient_is_zero_by_construction(method):
    for name, one in by_engine(method, "f64")[1].items():
        assert (one != 0).mean() > 0.99, name


@pytest.mark.parametrize("precision", LIMIT)
@pytest.mark.parametrize("method", SPOTS)
def test_two_calls_give_the_same_bits(method, precision):
    (xy, power, speed), one = walk(), made(method, precision)
    np.testing.assert_array_equal(one.spread(xy, power / speed), by_engine(method, precision)[0])
    d_energy, _ = one.gather(xy, power / speed, d_dose(method))
    np.testing.assert_array_equal(d_energy / speed, by_engine(method, precision)[1]["power"])
