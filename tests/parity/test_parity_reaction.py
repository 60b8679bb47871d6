"""The kinetic model against autograd of the same model in PyTorch, in float64, to 1e-9."""

from __future__ import annotations

from dataclasses import replace

import kinetics_in_torch
import numpy as np
import pytest
import torch
from reaction_kernels import CASES, adjoint_all, after_all, case

from laserpath.physics.dose.direct import radial_table
from laserpath.physics.kinetics import KineticModel, Kinetics, Light
from laserpath.types import Grid, Spot

pytestmark = pytest.mark.parity

GRID = Grid((0.1, -0.2), 0.02, (21, 26))
SPOT = Spot(fwhm=0.09, profile="gaussian", aspect=1.3, angle=25.0)
RESIN = Kinetics(
    radical_dose=0.15, propagation=2.0, inhibition=100.0, termination=0.5, pair_termination=4.0,
    diffusion=1e-3, supply=0.05,
)  # fmt: skip
STILL = replace(RESIN, diffusion=0.0, supply=0.0)


def near(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are as far apart as 1e-9 of their norm at most."""
    return float(np.linalg.norm(one - other)) <= 1e-9 * float(np.linalg.norm(other))


@pytest.mark.parametrize("name", CASES)
def test_a_step_in_the_dark(name: str):
    cell, s, rates = case(name)
    given = [torch.tensor(one, requires_grad=True) for one in (*cell[0], s[0])]
    found = torch.stack(kinetics_in_torch.after(tuple(given[:3]), given[3], rates[0]))
    slope = np.array([0.7, -0.4, 1.1])
    (found @ torch.from_numpy(slope)).backward()
    assert near(after_all(cell, s, rates)[0], found.detach().numpy())
    assert near(adjoint_all(cell, s, rates, slope[None])[0], np.array([one.grad.item() for one in given]))


@pytest.mark.parametrize(
    "resin", [RESIN, STILL, replace(STILL, oxygen=0.0)], ids=["oxygen", "still", "nitrogen"]
)
def test_an_exposure(resin: Kinetics):
    rng = np.random.default_rng(12)
    n, end = 24, 1.5
    xy = np.stack([np.linspace(0.15, 0.55, n), rng.uniform(-0.15, 0.15, n)], axis=1)
    arrays = xy, rng.uniform(0.5, 1.5, n) * 2e-3, np.sort(rng.uniform(0, 1, n))
    weight = rng.standard_normal(GRID.shape)
    run = KineticModel(GRID, SPOT, resin, interval=0.25, memory=2).expose(Light(*arrays), end)
    gradient = run.gradient(weight)
    given = [torch.tensor(one, requires_grad=True) for one in arrays]
    table = radial_table(GRID, SPOT, 1e-5, 4.0)
    expected = kinetics_in_torch.conversion(GRID, table, resin, given, np.linspace(0, end, 7))
    (expected * torch.from_numpy(weight)).sum().backward()
    assert 0.2 < expected.max() < 0.99
    assert near(run.conversion, expected.detach().numpy())
    for one, other in zip((gradient.xy, gradient.energy, gradient.time), given, strict=True):
        assert near(one, other.grad.numpy())
