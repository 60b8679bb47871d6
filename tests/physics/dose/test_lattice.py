"""Energies on pixels: the dose of the same points by another engine, and the adjoint of itself."""

import numpy as np
import pytest
from builders import FWHM, SPOT, centred_grid

from laserpath.physics.dose import engine
from laserpath.physics.dose.fft import LatticeDose
from laserpath.types import Grid, Spot

GRIDS = {"6 pixels": centred_grid(0.9, 6), "2.4 pixels": centred_grid(0.9, 2.4)}
SPOTS = {"airy": SPOT, "gaussian": Spot(FWHM, "gaussian"), "ellipse": Spot(FWHM, aspect=1.4)}
every_case = pytest.mark.parametrize(
    ("grid", "spot"), [(g, s) for g in GRIDS.values() for s in SPOTS.values()],
    ids=[f"{s}, {g}" for g in GRIDS for s in SPOTS],
)  # fmt: skip


def lit(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Every second pixel of the middle, and energies there, brighter to the right."""
    chosen = np.zeros(grid.shape, dtype=bool)
    rows, columns = grid.shape
    chosen[rows // 4 : -rows // 4 : 2, columns // 4 : -columns // 4 : 2] = True
    return chosen, 0.5 + np.linspace(0, 1, columns)[np.nonzero(chosen)[1]]


@every_case
def test_the_dose_is_that_of_the_points(grid, spot):
    chosen, energy = lit(grid)
    lattice = LatticeDose.of(engine(grid, spot), chosen, energy)
    exact = engine(grid, spot, precision="f64", tolerance=1e-5).spread(lattice.xy, energy)
    np.testing.assert_allclose(lattice.spread(energy), exact, atol=2e-3 * exact.max())


@every_case
def test_slopes_are_the_adjoint_of_the_dose(grid, spot):
    chosen, energy = lit(grid)
    lattice = LatticeDose.of(engine(grid, spot, precision="f64"), chosen, energy)
    slope = np.random.default_rng(1).normal(size=grid.shape)
    total = float(np.vdot(lattice.spread(energy), slope))
    assert lattice.gather(slope) @ energy == pytest.approx(total, rel=1e-10)


def test_the_far_tail_follows_the_energy():
    """It is held in shape: of other energies it is nearly right, and far nearer than without it."""
    grid = GRIDS["6 pixels"]
    chosen, energy = lit(grid)
    lattice = LatticeDose.of(engine(grid, SPOT, precision="f64"), chosen, np.ones(len(energy)))
    exact = engine(grid, SPOT, precision="f64", tolerance=1e-5).spread(lattice.xy, 3 * energy)
    without = LatticeDose(lattice.engine, chosen, lattice.xy).spread(3 * energy)
    off, off_without = (
        np.abs(one - exact).max() / exact.max() for one in (lattice.spread(3 * energy), without)
    )
    assert off < 1e-3 < off_without


def test_an_engine_without_a_grid_of_its_own_takes_them_as_points():
    grid, spot = GRIDS["6 pixels"], SPOTS["gaussian"]
    chosen, energy = lit(grid)
    fft, direct = (
        LatticeDose.of(engine(grid, spot, method=one), chosen, energy) for one in ("fft", "direct")
    )
    dose = direct.spread(energy)
    np.testing.assert_allclose(fft.spread(energy), dose, atol=2e-3 * dose.max())
    np.testing.assert_allclose(fft.gather(dose), direct.gather(dose), rtol=5e-3)
