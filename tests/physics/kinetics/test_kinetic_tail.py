"""The far tail of an Airy spot in the kinetic model: its energy, what it converts, and its gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sets import one_fast

from laserpath.physics import optics
from laserpath.physics.kinetics import Conversion, KineticModel, Kinetics, Light
from laserpath.types import Grid, Spot

FWHM = 0.08
SPOT = Spot(fwhm=FWHM)
TURNED = Spot(fwhm=FWHM, aspect=1.4, angle=30.0)
STRIP = Grid((0.0, 0.0), FWHM / 4, (80, 60))
NITROGEN = Kinetics(radical_dose=0.3, propagation=0.3, termination=2.0, oxygen=0.0)
AIR = Kinetics(0.3, 3.0, inhibition=50.0, termination=2.0, pair_termination=5.0, diffusion=1e-4, supply=0.05)


def hatch(lines: int, energy: float = 4e-4) -> Light:
    """Lines 0.6 FWHM apart along x, at one edge of the strip and longer than it."""
    x = np.arange(-1.0, 2.2, 0.008)
    y = 0.1 + 0.6 * FWHM * np.arange(lines)
    xy = np.concatenate([np.stack([x, np.full(len(x), at)], axis=1) for at in y])
    return Light(xy, np.full(len(xy), energy), 0.002 * np.arange(len(xy)))


def near_and_far(kinetics: Kinetics, light: Light) -> tuple[Conversion, Conversion]:
    """With the usual reach of the spot, and with one of 40 FWHM."""
    models = (KineticModel(STRIP, SPOT, kinetics, interval=0.1, farthest=reach) for reach in (4.0, 40.0))
    usual, wide = (model.expose(light, light.time[-1] + 10) for model in models)
    return usual, wide


def far_rows(values: np.ndarray) -> np.ndarray:
    """Means over the rings: of blocks of 3 FWHM, from 6 FWHM beyond the lines on."""
    return values[44:80].reshape(3, -1).mean(axis=1)


@pytest.mark.parametrize("spot", [SPOT, TURNED, Spot(fwhm=FWHM, wavelength=405e-6, defocus=0.03)])
def test_no_energy_is_lost(spot: Spot) -> None:
    fwhm = optics.fwhm(spot)
    grid = Grid((0.0, 0.0), fwhm / 4, (209, 209))
    at = fwhm * np.array([26.2, 25.9])
    run = KineticModel(grid, spot, NITROGEN).expose(Light(at[None], np.ones(1), np.zeros(1)))
    x, y = np.meshgrid(grid.x() - at[0], grid.y() - at[1])
    inside = np.hypot(x, y) < 25 * fwhm
    energy = NITROGEN.radical_dose * run.radicals[inside].sum() * grid.pixel_area
    assert run.outside == 0
    assert energy == pytest.approx(1 - optics.energy_outside(spot, 25 * fwhm), abs=3e-4)


@pytest.mark.parametrize("lines", [1, pytest.param(9, marks=pytest.mark.slow)])
def test_far_from_lines_it_converts_as_a_spot_that_reaches_further(lines: int) -> None:
    usual, wide = near_and_far(NITROGEN, hatch(lines))
    np.testing.assert_allclose(far_rows(usual.conversion), far_rows(wide.conversion), rtol=0.05)
    assert np.abs(usual.conversion - wide.conversion).max() < 2e-3 * wide.conversion.max()


@pytest.mark.slow
def test_far_from_lines_it_uses_up_oxygen_as_a_spot_that_reaches_further() -> None:
    usual, wide = near_and_far(AIR, hatch(3, 1.2e-3))
    np.testing.assert_allclose(far_rows(1 - usual.oxygen), far_rows(1 - wide.oxygen), rtol=0.05)
    assert far_rows(1 - usual.oxygen).min() > 1e-3


def test_light_outside_the_grid_counts() -> None:
    """The tail alone, from 12 FWHM beyond the strip."""
    x = np.arange(0.0, 1.2, 0.008)
    xy = np.stack([x, np.full(len(x), -12 * FWHM)], axis=1)
    usual, wide = near_and_far(NITROGEN, Light(xy, np.full(len(xy), 4e-3), 0.002 * np.arange(len(xy))))
    np.testing.assert_allclose(far_rows(usual.conversion), far_rows(wide.conversion), rtol=0.05)


def test_light_far_outside_the_grid_is_left_out_and_takes_no_memory() -> None:
    """A flash 10 m away, and one just beyond what counts, beside one on the grid."""
    model = KineticModel(STRIP, SPOT, NITROGEN, interval=0.1)
    xy = np.array([[0.4, 0.3], [1e4, -1e4], [0.4, -600 * FWHM]])
    alone = model.expose(Light(xy[:1], np.ones(1), np.zeros(1)), 1.0)
    run = model.expose(Light(xy, np.array([1.0, 1e3, 1e3]), np.zeros(3)), 1.0)
    np.testing.assert_array_equal(run.conversion, alone.conversion)
    gradient = run.gradient(np.ones(STRIP.shape))
    assert not gradient.xy[1:].any() and not gradient.energy[1:].any()
    np.testing.assert_array_equal(gradient.xy[:1], alone.gradient(np.ones(STRIP.shape)).xy)


def test_a_gaussian_has_no_tail() -> None:
    model = KineticModel(STRIP, Spot(fwhm=FWHM, profile="gaussian"), NITROGEN)
    assert 0 < model.outside < 1e-4


@pytest.mark.parametrize("first", one_fast([0, 40], 40))
@pytest.mark.parametrize("which", ["xy", "energy"])
def test_gradient_everywhere_and_where_the_tail_alone_reaches(which: str, first: int) -> None:
    rng = np.random.default_rng(6)
    n = 30
    xy = np.stack([np.linspace(0.3, 0.9, n), 0.1 + 0.02 * np.sin(np.arange(n))], axis=1)
    light = Light(xy, rng.uniform(0.5, 1.5, n) * 3e-2, np.sort(rng.uniform(0, 3, n)))
    model = KineticModel(STRIP, TURNED, replace(AIR, oxygen=0.002), interval=0.25, memory=3)
    weight = 1 + rng.normal(size=STRIP.shape)
    weight[:first] = 0
    found = getattr(model.expose(light, 5.0).gradient(weight), which)
    way = rng.normal(size=found.shape) * (1e-2 if which == "xy" else 1e-4)

    def value(h: float) -> float:
        moved = {"xy": light.xy, "energy": light.energy, "time": light.time}
        moved[which] = moved[which] + h * way
        return float((weight * model.expose(Light(**moved), 5.0).conversion).sum())

    h = 1e-3
    assert (value(h) - value(-h)) / (2 * h) == pytest.approx(float((found * way).sum()), rel=1e-6)
