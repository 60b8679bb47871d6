"""A spot that laserpath does not know, a measured beam with a depth of its own, made in this file alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from builders import centred_grid, coordinates, path, random_path
from scipy.optimize import brentq
from scipy.special import erf
from shapely import box

import laserpath
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.operators.volume.depth import cured_depth
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel
from laserpath.physics.optics.shape import Round
from laserpath.physics.resin import path_energy
from laserpath.types import Design, MeasuredBeam, Process, Resin, Settings, Spot, Toolpath

SHARES, WIDTHS = np.array([0.7, 0.3]), np.array([1.0, 2.2])
"""Energies of a core and a halo, and their FWHM in some unit."""


def density(rho: Floats, rates: Floats) -> Floats:
    """Σ w a/π exp(−a ρ²)."""
    return (SHARES * rates / np.pi * np.exp(-rates * rho[..., None] ** 2)).sum(axis=-1)


UNIT = brentq(
    lambda s: (
        density(np.array(0.5 * s), 4 * np.log(2) / WIDTHS**2)
        - density(np.array(0.0), 4 * np.log(2) / WIDTHS**2) / 2
    ),
    0.5,
    2,
)
"""The FWHM of both together, in that unit."""


class CoreAndHalo(Round):
    """Two Gaussians about one axis, which widen by √(1 + ψ²)."""

    def __init__(self, psi: float) -> None:
        self._psi = psi
        self._rates = 4 * np.log(2) * (UNIT / WIDTHS) ** 2 / (1 + psi**2)
        self.power_integral = 1.0

    def radial(self, rho: Floats) -> Floats:
        return density(np.asarray(rho), self._rates)

    def radial_slope(self, rho: Floats) -> Floats:
        square = np.asarray(rho)[..., None] ** 2
        return (-SHARES * self._rates**2 / np.pi * np.exp(-self._rates * square)).sum(axis=-1)

    def hankel(self, kappa: Floats) -> Floats:
        return (SHARES * self._bells(kappa)).sum(axis=-1)

    def hankel_slopes(self, kappa: Floats) -> tuple[Floats, Floats]:
        falls = SHARES * self._bells(kappa) * 2 * np.pi**2 / self._rates
        slope = -kappa * falls.sum(axis=-1)
        return slope, kappa * slope * self._psi / (1 + self._psi**2)

    def _bells(self, kappa: Floats) -> Floats:
        return np.exp(-((np.pi * np.asarray(kappa)[..., None]) ** 2) / self._rates)

    def beyond(self, rho: Floats) -> Floats:
        return (SHARES * np.exp(-self._rates * np.asarray(rho)[..., None] ** 2)).sum(axis=-1)

    def far(self, tolerance: float) -> float:
        return float(np.sqrt(-np.log(tolerance) / self._rates.min())) if tolerance > 0 else np.inf

    def cutoff(self, tolerance: float) -> float:
        return float(np.sqrt(-np.log(tolerance) * self._rates.max()) / np.pi) if tolerance > 0 else np.inf

    @cached_property
    def width(self) -> float:
        return float(np.sqrt(1 + self._psi**2))


class Caustic(MeasuredBeam):
    """A beam measured at several heights: its FWHM in focus, and the defocus at which it is √2 as wide."""

    title = "caustic"
    defocuses = True

    def __init__(self, fwhm: float, rayleigh: float) -> None:
        self.fwhm, self.rayleigh = fwhm, rayleigh

    def defocus_per_mm(self, fwhm: float, wavelength: float | None) -> float:
        return (self.fwhm / fwhm) ** 2 / self.rayleigh

    def shape(self, defocus: float, photons: int) -> CoreAndHalo:
        if photons != 1:
            raise InputError(f"photons is {photons}, but a caustic was measured with 1")
        return CoreAndHalo(defocus)


SPOT = Spot(0.1, "measured", measured=Caustic(0.1, 0.4))
SPOTS = {"in focus": SPOT, "out of focus": replace(SPOT, defocus=0.3), "oval": replace(SPOT, aspect=1.2)}


def integral(toolpath: Toolpath, spot: Spot, x: Floats, y: Floats) -> Floats:
    """The dose of a path in closed form, Σ over moves and Gaussians; of a spot along the axes."""
    stretch = np.array([spot.aspect**-0.5, spot.aspect**0.5])
    rayleigh = 0.4 * (spot.fwhm / 0.1) ** 2
    unit = spot.fwhm * np.sqrt(1 + (spot.defocus / rayleigh) ** 2) / UNIT
    dose = np.zeros(np.shape(x))
    for start, end, energy in zip(
        toolpath.xy[:-1], toolpath.xy[1:], path_energy(toolpath, spot), strict=True
    ):
        move = (end - start) * stretch
        length = np.hypot(*move)
        along = ((x - start[0]) * stretch[0] * move[0] + (y - start[1]) * stretch[1] * move[1]) / length
        across = ((x - start[0]) * stretch[0] * move[1] - (y - start[1]) * stretch[1] * move[0]) / length
        for share, fwhm in zip(SHARES, WIDTHS * unit, strict=True):
            a = 4 * np.log(2) / fwhm**2
            ends = erf(np.sqrt(a) * along) - erf(np.sqrt(a) * (along - length))
            line = share * np.sqrt(a / np.pi) * np.exp(-a * across**2) * ends / 2
            dose += energy * line * np.hypot(*(end - start)) / length
    return dose


@pytest.mark.parametrize("spot", SPOTS.values(), ids=SPOTS.keys())
@pytest.mark.parametrize("method", ["fft", "direct"])
def test_its_dose_is_the_integral_along_the_path(spot: Spot, method: str) -> None:
    grid = centred_grid(0.9, 6)
    toolpath = random_path(np.random.default_rng(0), half=0.3)
    exact = integral(toolpath, spot, *coordinates(grid))
    found = DoseModel(grid, spot, method=method, precision="f64").dose(toolpath)
    assert np.abs(found - exact).max() <= 1e-3 * exact.max()


def test_its_derivatives_are_central_differences() -> None:
    spot, grid = SPOTS["out of focus"], centred_grid(0.9, 6)
    toolpath = random_path(np.random.default_rng(1), half=0.3)
    x, y = coordinates(grid)
    d_dose = 1 + np.sin(20 * x * y) + 20 * (x**2 + y**2)
    found = DoseModel(grid, spot, precision="f64").spot_gradient(toolpath, d_dose)
    for name, step in (("fwhm", 1e-4), ("defocus", 1e-3)):
        low, high = (
            integral(toolpath, replace(spot, **{name: getattr(spot, name) + s * step}), x, y) for s in (-1, 1)
        )
        expected = float(((high - low) * d_dose).sum()) / (2 * step)
        assert getattr(found, name) == pytest.approx(expected, rel=5e-3)


def test_it_spreads_in_depth_as_it_was_measured() -> None:
    """Without a wavelength: the beam itself says how wide it is at 0.6 mm in the resin, 0.4 mm in air."""
    assert optics.fwhm(optics.at_depth(SPOT, 0.6, 1.5)) == pytest.approx(0.1 * np.sqrt(2))
    assert optics.fwhm(optics.widened(SPOTS["out of focus"], 1.15)) == pytest.approx(
        1.15 * optics.fwhm(SPOTS["out of focus"])
    )
    grid, resin = centred_grid(0.6, 6), Resin(critical_dose=0.5, e_c=0.1, penetration_depth=0.3)
    line = path(np.array([[-0.3, 0.0], [0.3, 0.0]]), power=4.0)
    cured = cured_depth(line, grid, DoseModel(grid, SPOT).dose(line), Process(SPOT, resin), 1.5)
    at = tuple(n // 2 for n in grid.shape)
    below = optics.at_depth(SPOT, float(cured.depth[at]), 1.5)
    dose = float(integral(line, below, np.zeros(1), np.zeros(1))[0])
    assert cured.spreads
    assert dose * np.exp(-cured.depth[at] / 0.3) == pytest.approx(0.1, rel=0.02)


@pytest.mark.slow
def test_a_plan_is_made_for_it() -> None:
    """Its edges are where they were drawn by the closed form of the dose, too."""
    design = Design(box(0, 0, 0.6, 0.4), name="plate")
    plan = laserpath.plan(design, Process(SPOT), Settings(initial="hatch", iterations=15, report="brief"))
    assert "measured caustic" in plan.program
    assert plan.report.executed.figures.epe_mean < 0.1
    side = np.stack([np.linspace(0.15, 0.45, 31), np.zeros(31)])  # of the lower edge, off its corners
    low, high = (integral(plan.toolpath, SPOT, side[0], side[1] + d) for d in (-0.02, 0.02))
    assert (low < plan.process.resin.critical_dose).all()
    assert (high > plan.process.resin.critical_dose).all()


def test_a_spot_of_it_is_checked() -> None:
    with pytest.raises(InputError, match="photons is 2, but a caustic was measured with 1"):
        optics.profile(replace(SPOT, photons=2), 0.0)
